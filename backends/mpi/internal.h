/* Between the files of the MPI engine. */
#ifndef CT_MPI_INTERNAL_H
#define CT_MPI_INTERNAL_H

#include <stdbool.h>

#include "backends/engine.h"
#include "base/env.h"

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


/* ---- sums in memory that processes of one machine share (shared.c) ---- */

typedef struct ct_shared ct_shared;

/* What members tell each other before they map each other's memory. */
typedef struct ct_shared_card {
    char place[256]; /* equal where files of each other can be opened */
    char no[160];    /* why this member cannot; "": it can */
    uint64_t nonce, size;
    int32_t pid, fd;
} ct_shared_card;

/* This member's memory, with room for what is to be lent. NULL: CT_ENOMEM recorded; a card is filled in any case. */
ct_shared *ct_shared_new(const ct_comm_memory *m, ct_shared_card *card);
/* Maps that of all [ct_mpi.size]; `no` says why it cannot be, else it is empty. */
void ct_shared_map(ct_shared *s, const ct_shared_card *cards, char *no, size_t size);
/* When all have mapped all: sums may begin. Gives the memory that was asked for, if any was. */
void ct_shared_begin(ct_shared *s, void **mine, void **common);
void ct_shared_free(ct_shared *s); /* but for what was lent; NULL is fine */
void ct_shared_release(void *mine);

/* Whether a sum goes this way: one of lent memory, or a short one. */
bool ct_shared_takes(const ct_shared *s, const void *buf, int64_t n, ct_dtype type);
/* Begins one, f32 or f64. */
ct_status ct_shared_sum(ct_shared *s, void *buf, int64_t n, ct_dtype type);
/* Does what can be done without waiting. */
void ct_shared_advance(ct_shared *s);
bool ct_shared_done(const ct_shared *s); /* all that this member began is there */

#endif
