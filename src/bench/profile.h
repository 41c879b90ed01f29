/* `captrain profile`: from the times of a step to what holds it up. */
#ifndef CT_BENCH_PROFILE_H
#define CT_BENCH_PROFILE_H

#include <stdbool.h>

/* What is measured of a training, seconds per step. */
typedef struct ct_profile_facts {
    double step;          /* as training runs it, data and all */
    double loader;        /* waited for the loader */
    double copy;          /* a batch to the device, nothing else being done */
    double run;           /* a step on data that is there, nothing else being done */
    double operators;     /* sum of the operators' own times; memory + compute */
    double memory;        /* of them those that the ceiling of memory is nearer to, */
    double compute;       /* and those that the ceiling of products is nearer to */
    double communication; /* summing gradients over the group, nothing else being done; of processes what is waited for
                             within a step */
    bool far;             /* the device has memory of its own */
    bool overlaps;        /* copies run beside steps */
    bool resident;        /* images are on the device */
    bool fresh;           /* images are drawn anew in every epoch */
    bool data;            /* there are data: not a model of the catalogue alone */
    bool captures;        /* the device can replay a step in one piece */
    bool eager;           /* and is not asked to */
    bool full;            /* f32 or f64: not a 16-bit precision */
    bool tuned;           /* implementations were measured */
    bool parts;           /* train.parts, with which there are no micro-steps */
} ct_profile_facts;

typedef enum ct_bound {
    CT_BOUND_LOADER,
    CT_BOUND_COPY,
    CT_BOUND_LAUNCH,
    CT_BOUND_COMMUNICATION,
    CT_BOUND_MEMORY,
    CT_BOUND_COMPUTE,
    CT_BOUND_COUNT
} ct_bound;

typedef struct ct_verdict {
    ct_bound bound;               /* of the largest share; the first of equal ones */
    double share[CT_BOUND_COUNT]; /* of a step, 0..1 */
    const char *why, *knob;       /* static: what it means, and the one key to turn */
} ct_verdict;

const char *ct_bound_name(ct_bound b); /* "loader", ... */
/* Whether operators timed one by one and a whole run of them are further apart than a quarter: then something else was
 * going on, and the verdict is worth little. A far device that is given them one by one may take longer for all of
 * them: that is what the share of launches says. */
bool ct_profile_disagrees(const ct_profile_facts *f);
/* A pure function of the facts. What overlaps counts only where it shows. */
void ct_profile_judge(const ct_profile_facts *f, ct_verdict *out);

#endif
