/* What the processes of a run tell each other where no MPI knows them: each keeps a connection to process 0, which
 * hands on to all what it got of each. For words alone: names, settings, signals, the name of a group of cards. Sums
 * do not go this way.
 *
 * All calls come from one thread, in the same order in every process. */
#ifndef CT_GROUP_STAR_H
#define CT_GROUP_STAR_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/engine.h"

typedef struct ct_star ct_star;

typedef struct ct_star_at {
    int rank, size;
    const char *address; /* of process 0's machine */
    int port;
    const char *named;   /* what says so: "group.port" */
    const char *run;     /* what tells this run from others; "": nothing does */
    bool here;           /* all processes are on this machine: nobody else need reach the port */
} ct_star_at;

/* Returns when all have come, or within `deadline` seconds with a failure: CT_EBACKEND naming process, address, port
 * and what says so. Whoever connects but is no process of this run is turned away. */
ct_status ct_star_meet(const ct_star_at *at, double deadline, ct_star **out);
/* Every process gets the `bytes` of each, in the order of ranks: all [size * bytes]. CT_EBACKEND when one of them is
 * gone, or did not come within the deadline, or as the judge says. */
ct_status ct_star_gather(ct_star *s, const void *mine, size_t bytes, void *all, double deadline);
/* CT_EBACKEND where one is gone, whom nobody waits for at the moment; behind the first process where that one is. */
ct_status ct_star_check(ct_star *s);
/* Who judges how long is waited, instead of deadlines; NULL: those again. It must stay. */
void ct_star_patience(ct_star *s, const ct_patience *p);
/* True when a connection broke: a process is gone. */
bool ct_star_broke(const ct_star *s);
void ct_star_close(ct_star *s); /* NULL is fine */

#endif
