/* A training so small that it takes a moment: does a backend compute at all, and right? */
#ifndef CT_API_SMOKE_H
#define CT_API_SMOKE_H

#include "exec/exec.h"

enum { CT_SMOKE_STEPS = 10 };
#define CT_SMOKE_SECONDS 2.0    /* no step is begun after these, but for the second */
#define CT_SMOKE_TOLERANCE 2e-3 /* of the loss: rounding grows from step to step, a wrong kernel is off by far more */

typedef struct ct_smoke {
    int steps;                   /* that were run: 2..CT_SMOKE_STEPS */
    double loss[CT_SMOKE_STEPS]; /* before each of them */
    double seconds;              /* of all of them, without setting up */
} ct_smoke;

/* Trains a textcnn-small in fp32 on a few fixed pictures with the backend's normal implementations, or its references
 * if opts say so. */
ct_status ct_smoke_run(const ct_backend *b, const ct_device_opts *opts, ct_smoke *out);
/* CT_EINTERNAL, saying what is wrong: a loss that is not finite, that does not fall, or that is not the reference's.
 * *worst: the largest difference from it, as a share of it. */
ct_status ct_smoke_judge(const ct_smoke *s, const ct_smoke *reference, double *worst);

#endif
