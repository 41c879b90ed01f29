/* Between the files of the MPI engine. */
#ifndef CT_MPI_INTERNAL_H
#define CT_MPI_INTERNAL_H

#include <stdbool.h>

#include "backends/engine.h"

extern const ct_services *ct_mpi_core;
extern const ct_comm_ops ct_mpi_comm;

/* After a failure nothing of MPI is called any more: requests that are still open can neither be freed nor cancelled,
 * and what calls nothing cannot hang. */
typedef struct ct_mpi_state {
    bool started, stopped, broken;
    int rank, size;
    const ct_patience *patience; /* NULL: deadlines of calls decide */
} ct_mpi_state;
extern ct_mpi_state ct_mpi;

double ct_mpi_now(void);
/* Lets others have the processor while something is waited for, which has taken `waited` seconds. */
void ct_mpi_breathe(double waited);
/* Whether to wait on, for which `waited` of `deadline` seconds have passed; *next (at first 0) is when to ask again.
 * CT_EBACKEND with no message of its own where the deadline has passed and nobody else judges, which *late tells. */
ct_status ct_mpi_wait_on(double waited, double deadline, double *next, bool *late);
/* CT_EINTERNAL in any thread but the one that started the engine, CT_EBACKEND where it is not running. */
ct_status ct_mpi_usable(void);
/* Records what MPI says to its error code and that the engine is broken: CT_EBACKEND. */
ct_status ct_mpi_failed(int code, const char *what);

#endif
