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
} ct_mpi_state;
extern ct_mpi_state ct_mpi;

double ct_mpi_now(void);
/* Lets others have the processor while something is waited for, which has taken `waited` seconds. */
void ct_mpi_breathe(double waited);
/* CT_EINTERNAL in any thread but the one that started the engine, CT_EBACKEND where it is not running. */
ct_status ct_mpi_usable(void);
/* Records what MPI says to its error code and that the engine is broken: CT_EBACKEND. */
ct_status ct_mpi_failed(int code, const char *what);

#endif
