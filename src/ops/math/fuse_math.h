/* The shares of two maps in their weighted sum y = shares.a a + shares.b b, of weights w that are learnt:
 *   p = softplus(w[0]), q = softplus(w[1]), shares p/(p + q + e) and q/(p + q + e), e = 1e-4.
 * With A = sum of dy a and B = sum of dy b over all elements,
 *   dw[0] = sigmoid(w[0]) ((q + e) A - q B)/(p + q + e)^2,  dw[1] = sigmoid(w[1]) ((p + e) B - p A)/(p + q + e)^2. */
#ifndef CT_OPS_MATH_FUSE_MATH_H
#define CT_OPS_MATH_FUSE_MATH_H

#include <math.h>

#include "base/philox.h"

#define CT_FUSE_EPS 1e-4

typedef struct ct_fuse_shares { double a, b; } ct_fuse_shares;

/* log(1 + e^w); the argument of exp is never positive. */
CT_HD static inline double ct_softplus(double w) { return (w > 0 ? w : 0) + log1p(exp(-fabs(w))); }

/* Its derivative, 1/(1 + e^-w). */
CT_HD static inline double ct_softplus_slope(double w)
{
    const double e = exp(-fabs(w));
    return (w < 0 ? e : 1) / (1 + e);
}

CT_HD static inline ct_fuse_shares ct_fuse_shares_of(double w0, double w1)
{
    const double p = ct_softplus(w0), q = ct_softplus(w1), s = p + q + CT_FUSE_EPS;
    const ct_fuse_shares shares = { p / s, q / s };
    return shares;
}

/* dw of the sums A and B. */
CT_HD static inline ct_fuse_shares ct_fuse_gradient(double w0, double w1, double sum_a, double sum_b)
{
    const double p = ct_softplus(w0), q = ct_softplus(w1), s = p + q + CT_FUSE_EPS;
    const ct_fuse_shares dw = { ct_softplus_slope(w0) * ((q + CT_FUSE_EPS) * sum_a - q * sum_b) / (s * s),
                                ct_softplus_slope(w1) * ((p + CT_FUSE_EPS) * sum_b - p * sum_a) / (s * s) };
    return dw;
}

#endif
