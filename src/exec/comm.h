/* Groups of devices that train one model together: each member runs the same steps on its own part of a batch, and gradients are
 * summed before the optimizer reads them. A group of one is a member like any other: the same calls, which then do nothing.
 *
 * Running statistics of batch norms are each member's own in a step, and their mean over the group behind it. Where nodes group_sum join the statistics, they are the last member's, which has a sample
 * of every batch: all members who have one have the same.
 *
 * The flat gradient arena is cut into buckets of whole tensors. A bucket is complete behind the last node that writes into it, and
 * its sum over the group is queued there, in a stream of its own, beside what is left of the backward pass. Where sums are the device's
 * own they are recorded with the step. An engine's sums for a device with memory of its own go through the host's (exec/staged.h). */
#ifndef CT_EXEC_COMM_H
#define CT_EXEC_COMM_H

#include "backends/engine.h"
#include "exec/exec.h"

/* ---- buckets ---- */

#define CT_BUCKET_BYTES ((int64_t)25 << 20) /* about: a bucket holds whole tensors */
#define CT_BUCKET_LEAST ((int64_t)1 << 20)  /* of those that are made smaller on purpose */
#define CT_BUCKET_WHOLE INT64_MAX           /* all gradients of the step at its end */

typedef struct ct_bucket {
    int64_t first, end; /* bytes [first, end) of the arena */
    int ready;          /* node behind which all of it is there; -1: it was before the program began */
} ct_bucket;

typedef struct ct_buckets {
    ct_bucket *bucket; /* [n], the first complete one first */
    size_t n;
    ct_arena arena;    /* CT_ARENA_GRAD or CT_ARENA_GACC */
    int update;        /* first node of the update, which reads sums */
} ct_buckets;

/* Cuts the gradients of a program with an update (STEP: arena GRAD; UPDATE: GACC) into buckets of about `bytes`: every byte of the
 * trained range [0, train_elems) of the arena is in exactly one. The arena is cut from its end, whose gradients the backward pass
 * gives first, and where weight decay begins, because the gradients without it are complete last. Nothing hides the sum of what is
 * complete last, so buckets become smaller towards the beginning: each has at most three quarters of what is left, down to
 * CT_BUCKET_LEAST. CT_EINVAL: a program without an
 * update. CT_EINTERNAL: one that writes gradients in it. */
ct_status ct_buckets_make(const ct_graph *g, const ct_layout *layout, ct_arena arena, int64_t bytes, ct_buckets *out);
void ct_buckets_free(ct_buckets *b); /* empties; a zeroed one is fine */

/* ---- groups ---- */

typedef struct ct_group ct_group;

/* Another way for members to tell each other things than their sums take: gather() as in ct_comm_ops. */
typedef struct ct_group_talk {
    ct_status (*gather)(void *self, const void *mine, size_t bytes, void *all, double deadline);
    void *self;
} ct_group_talk;

typedef struct ct_group_opts {
    int rank, size;               /* this member, and how many there are; size 0 or 1: alone */
    bool one;                     /* who is alone has the calls made that members make, to see that they work */
    int here;                     /* of them those that are processes of this machine; 0: this one alone */
    int beside;                   /* of these those that compute on the same processors as this one; 0: this one alone */
    unsigned char id[CT_COMM_ID]; /* names the group; of the first member: ct_group_id(). An engine's has none */
    bool tree;                    /* gradients and running statistics of members 0 and 1 are added, then those of 2 and 3, then both sums,
                                     ..., so that bits do not depend on who computed what; of an engine that can, and members
                                     whose number is a power of two */
    bool sync;                    /* nodes group_sum of the store's plans are sums over the group; of an engine. Else of one member alone */
    bool divides;                 /* ct_group_divides() all graphs of the store's plans: members of one machine may hold weights, moments and
                                     averages once, and each computes a share of the update; of an engine that can */
    double deadline;              /* seconds that joining, and later waiting for the others, may take; 0: 60 */
    const ct_comm_ops *ops;       /* of an engine that was started (exec/engine.h): the group is of processes. NULL: the backend's own */
    const ct_group_talk *talk;    /* what ct_group_gather() goes over; it must stay. NULL: as the sums */
    const ct_patience *patience;  /* judges how long the host waits for a device that sums by itself; it must stay. NULL: `deadline` */
} ct_group_opts;

/* A name for a new group, for one member to make and the launcher to carry to the others. CT_EUNSUPPORTED: this backend has groups of
 * one only. */
ct_status ct_group_id(const ct_backend *b, unsigned char id[CT_COMM_ID]);
/* Whether this backend's devices can have groups of their own here: CT_OK, CT_EUNSUPPORTED as above, or CT_EBACKEND with the reason. */
ct_status ct_group_ready(const ct_backend *b);

/* Joins with the device of `store`, which must outlive the group; returns when all members have. opts NULL: alone. CT_EUNSUPPORTED as
 * above, for a tree of groups that have none, or for an engine where the host can neither read the device's memory nor pin its own; CT_EINVAL for a rank outside the group, CT_EBACKEND when
 * the deadline passed. */
ct_status ct_group_join(ct_arenas *store, const ct_group_opts *opts, ct_group **out);
void ct_group_leave(ct_group *g); /* NULL is fine */
/* For a member that has failed and ends without the others: what is on its way over the group is not waited for. NULL is fine. */
void ct_group_abandon(ct_group *g);
int ct_group_rank(const ct_group *g);
int ct_group_size(const ct_group *g);

/* Whether shares of this graph's update can be computed by different members: nothing but nodes with CT_OPF_FLAT behind the backward
 * pass writes into weights, moments and averages, and there are no copies of the weights in 16 bits. */
bool ct_group_divides(const ct_graph *g);

/* Gives every member the weights, running statistics, optimizer and step state of member 0. From the first time on gradients may lie in
 * memory of the engine's, and weights, moments and averages, if the group divides updates, in memory of all its members: they change in
 * updates alone, or when no other member looks, with ct_group_share() behind it. Gone when the group is left. */
ct_status ct_group_share(ct_group *g);

/* Queues the sum of one bucket over the group behind what the store's stream holds now. Nothing for a group of one. */
ct_status ct_comm_reduce_gradients(ct_group *g, const ct_buckets *b, size_t bucket);
/* Runs a plan of a program with an update, its gradients summed over the group (programs scale them by 1/size:
 * ct_program_spec.members). NaN or infinity in one member's is in the sum: all skip that step, or none. Alone: ct_plan_run(). `all`: every member
 * runs it, none ct_group_idle_step(); where sums are the device's own, such a step is recorded as ct_plan_run() does it, sums and all. Else
 * calls are queued anew: whether a sum is recorded must be the same for all. */
ct_status ct_group_step(ct_group *g, ct_plan *p, const ct_buckets *b, bool all);
/* A step for a member that has no sample of this batch: its gradients are zero. Of the nodes in front of the update those from `settle`
 * on run, which take in what a backward pass gave. */
ct_status ct_group_idle_step(ct_group *g, ct_plan *p, const ct_buckets *b, size_t settle);
/* Of its nodes [first, end), for programs without an update: those from `settle` on run, and of those before them group_sum takes part
 * with zeros. */
ct_status ct_group_idle_nodes(ct_group *g, ct_plan *p, size_t settle, size_t first, size_t end);
/* Sums the metrics (row 0) of all members in place: every member has the group's sums then. All must call it at the same step. */
ct_status ct_group_metrics(ct_group *g);
/* Waits for the store's stream. Here and wherever else the host waits for the device of a member (ct_arenas_await), a member that is gone, or that does not come within the deadline, is CT_EBACKEND and the group's end:
 * its work is given up. Alone: nothing to wait for, whoever reads from the device waits itself. */
ct_status ct_group_wait(ct_group *g);

/* Gives every member the `bytes` of each, in the order of ranks: all [size * bytes]. All must call it at the same place, and it waits for
 * them; for what is small and seldom. CT_EUNSUPPORTED where groups have no such thing: those of cards without opts.talk. */
ct_status ct_group_gather(ct_group *g, const void *mine, size_t bytes, void *all);

/* How long sums that an engine carries took since ct_group_share(), in seconds: from the first of a step until all of them were seen to be
 * done, and what of that the host did nothing but wait; the rest was hidden behind the backward pass. False, and 0, where they are the
 * device's own: part of its step, of which nobody knows how long they take. */
bool ct_group_times(const ct_group *g, double *sums, double *waited);

#endif
