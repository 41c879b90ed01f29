/* Inside backends/cpu/ref only: tensors as arrays of double. */
#ifndef CT_BACKENDS_CPU_REF_REF_UTIL_H
#define CT_BACKENDS_CPU_REF_REF_UTIL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "backends/cpu/ref/ref.h"

#define CT_REF_FLAGS (CT_IMPL_REFERENCE | CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC)
#define CT_REF_BLOCK 512 /* elements that elementwise loops convert at a time */

/* Elements first .. first+n-1 of t as doubles in buf. */
void ct_ref_load(const ct_tensor *t, int64_t first, int64_t n, double *buf);
/* Rounds n doubles to elements first .. of t. */
void ct_ref_store(const ct_tensor *t, int64_t first, int64_t n, const double *buf);

/* Whole tensors. A f64 tensor is used where it lies; any other gets room from *scratch, which moves on. */
const double *ct_ref_in(const ct_tensor *t, double **scratch); /* values of t */
double *ct_ref_out(const ct_tensor *t, double **scratch);      /* room for the values of t */
void ct_ref_flush(const ct_tensor *t, const double *values);   /* rounds them into t, unless they lie there already */
size_t ct_ref_scratch(const ct_tensor *t);                     /* bytes the above take from scratch for t */

/* Length of the last dimension, and the product of the others. A scalar has one row of one. */
int64_t ct_ref_cols(const ct_tensor *t);
int64_t ct_ref_rows(const ct_tensor *t);

static inline double ct_ref_at(const ct_tensor *t, int64_t i)
{
    return ct_load(t->desc.dtype, t->data, i);
}
static inline void ct_ref_put(const ct_tensor *t, int64_t i, double v)
{
    ct_store(t->desc.dtype, t->data, i, v);
}
static inline int64_t ct_ref_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Scalar product of n elements, in four partial sums, so that the additions do not wait for each other. */
static inline double ct_ref_dot(const double *a, const double *b, int64_t n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++) s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
}

static inline double ct_ref_sigmoid(double x)
{
    /* The argument of exp is never positive, so it cannot overflow. */
    if (x >= 0) return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

/* Derivative of x sigmoid(x). */
static inline double ct_ref_silu_slope(double x)
{
    double s = ct_ref_sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* Dtype checks that accept() functions share: NULL, or the reason for a refusal. */
const char *ct_ref_all_float(const ct_call *call); /* every present input and output is floating */
bool ct_ref_is_state(const ct_tensor *t);          /* f64[CT_STATE_COUNT] */

#endif
