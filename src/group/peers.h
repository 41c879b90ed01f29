/* The processes of a run before and beside its devices: they meet, tell each other what must be the same, and part.
 * Every function is called by all of them in the same order; for one alone (NULL) there is nothing to do. */
#ifndef CT_GROUP_PEERS_H
#define CT_GROUP_PEERS_H

#include <stdbool.h>

#include "exec/comm.h"
#include "group/identity.h"

typedef struct ct_peers ct_peers;

#define CT_GROUP_PORT 29501 /* where process 0 is met if nobody says anything */

typedef struct ct_meeting {
    const char *engine;        /* group.engine */
    int64_t port;              /* group.port; 0: MASTER_PORT + 1, or CT_GROUP_PORT */
    const ct_backend *backend; /* that they compute on; NULL: this process could not find that out, and meets the
                                  others to tell them */
    double deadline;           /* seconds that waiting for the others may take, now and later */
} ct_meeting;

/* Meets the processes that `id` says there are; *out stays NULL where there is one alone. Sums go over NCCL where the
 * backend's devices add by themselves and the engine is "nccl" or "auto", else over MPI. Words go over MPI where a
 * process manager says that it is there, else over TCP. Each gets a device of its own, or, over MPI, shares one.
 * CT_EBACKEND or CT_ECONFIG, naming what to do about it: no engine, a launcher that it does not know, members that do
 * not come, too few cards. Failures that others may have come to as well reach process 0 at once and the others two
 * seconds later, when a launcher that ends all processes with the first has done so: told once as a rule, and never not
 * at all. *told: as of ct_peers_settle(). */
ct_status ct_peers_meet(const ct_identity *id, const ct_meeting *m, bool *told, ct_peers **out);
/* Parts: in peace where `well`, which waits for the others. Without, the process should end: the others may be
 * waiting. */
void ct_peers_part(ct_peers *p, bool well);
/* Before parting: this process failed by itself, and the others end with its failure as soon as they wait for it. */
void ct_peers_over(ct_peers *p, ct_status st, const char *message);
/* True when waiting for the others ended because one of them is behind (group/watch.h), or gone. */
bool ct_peers_broke(const ct_peers *p);

int ct_peers_rank(const ct_peers *p); /* 0 */
int ct_peers_size(const ct_peers *p); /* 1 */
int ct_peers_hosts(const ct_peers *p); /* machines they run on; 1 */
int ct_peers_device(const ct_peers *p); /* which of its machine's devices this process computes on; 0 */
const char *ct_peers_means(const ct_peers *p); /* what carries their sums and words: "Open MPI 4.1.4"; "" */
const char *ct_peers_host(const ct_peers *p, int rank); /* of several */
/* "process 3 of 4 (HOST)", counted from 0. */
const char *ct_peers_name(const ct_peers *p);
/* For ct_session.join, whose pointers stay valid until they part; and, when all are ready to join, the name of a group
 * of cards, which process 0 makes. */
ct_group_opts ct_peers_join(const ct_peers *p);
ct_status ct_peers_name_group(ct_peers *p, const ct_backend *b, ct_group_opts *join);

/* How all of them fared: CT_OK if st is that for everyone. Else the failure of the first that failed, at all of
 * them, with its name in front of its message where it is another's; *told (NULL is fine) is true for those who need
 * not tell it, because process 0 does. */
ct_status ct_peers_settle(ct_peers *p, ct_status st, bool *told);
/* Everyone gets the text of process 0; that of others is freed. ct_free() */
ct_status ct_peers_text(ct_peers *p, char **text);
/* CT_ECONFIG at all of them, naming the first process whose `text` is another than that of process 0, and both texts
 * up to where they are long: for numbers and hashes. */
ct_status ct_peers_same(ct_peers *p, const char *what, const char *text);
/* The largest number of all; with `least` the smallest. */
ct_status ct_peers_extreme(ct_peers *p, bool least, int64_t *number);

#endif
