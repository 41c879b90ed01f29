/* Losses on maps of cells: a cell and a row at a time, value and derivative, shared by every backend. Plain C inline
 * functions that CUDA compiles too. All of it is f64 whatever the tensors are stored in: a loss looks at a thousandth
 * of the numbers of a step, its sums then cost no digits, and every backend gives what the reference gives.
 *
 * doc/operators/heatmap.md has the formulas and their sources. Comparisons are written so that NaN goes through. */
#ifndef CT_OPS_MATH_HEATMAP_MATH_H
#define CT_OPS_MATH_HEATMAP_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/philox.h"

/* A logit z as a probability: p = sigmoid(z), q = 1 - p, loss = -log q = softplus(z), each exact where it is tiny. */
typedef struct ct_heat_cell {
    double p, q, loss;
} ct_heat_cell;

CT_HD static inline ct_heat_cell ct_heat_cell_at(double z)
{
    const double e = exp(-fabs(z)), large = 1 / (1 + e), small = e / (1 + e);
    ct_heat_cell c;
    c.p = z < 0 ? small : large;
    c.q = z < 0 ? large : small;
    c.loss = (z > 0 ? z : 0) + log1p(e);
    return c;
}

/* x^a for x >= 0; the exponents that the losses have by default need no logarithm. */
CT_HD static inline double ct_heat_power(double x, double a)
{
    if (a == 1.5) return x * sqrt(x);
    if (a == 4) return (x * x) * (x * x);
    return pow(x, a);
}

/* The focal term of a cell without its mask. Of a positive cell (heat >= threshold) q^alpha * -log p, of any other
 * (1 - heat)^beta * p^alpha * -log q: the one is the other at -z. p and q are held to at least eps, and where they are
 * they have no derivative. *slope: derivative with respect to z. */
CT_HD static inline double ct_heat_focal(double z, double heat, double alpha, double beta, double threshold, double eps,
                                         double *slope)
{
    const bool positive = heat >= threshold;
    const ct_heat_cell c = ct_heat_cell_at(positive ? -z : z);
    const bool low = c.p < eps, high = c.q < eps;
    const double weight = positive ? 1 : ct_heat_power(1 - heat, beta);
    const double power = weight * ct_heat_power(low ? eps : c.p, alpha), loss = high ? -log(eps) : c.loss;
    const double rise = power * ((low ? 0 : alpha * c.q * loss) + (high ? 0 : c.p));
    *slope = positive ? -rise : rise;
    return power * loss;
}

/* SmoothL1 of a difference as torch.nn.SmoothL1Loss; beta 0 is L1. */
CT_HD static inline double ct_heat_smooth(double difference, double beta, double *slope)
{
    const double size = fabs(difference);
    if (size < beta) {
        *slope = difference / beta;
        return 0.5 * difference * difference / beta;
    }
    *slope = difference > 0 ? 1 : difference < 0 ? -1 : difference;
    return size - 0.5 * beta;
}

/* -log(1 - p) with p held to [eps, 1 - eps], outside of which it has no derivative. */
CT_HD static inline double ct_heat_padding(double z, double eps, double *slope)
{
    const ct_heat_cell c = ct_heat_cell_at(z);
    const bool low = c.p < eps, high = c.q < eps;
    *slope = low || high ? 0 : c.p;
    return high ? -log(eps) : low ? -log1p(-eps) : c.loss;
}

/* ---- rows: q [h] is the distribution of a map over its rows ---- */

/* Row of the map in which a point (x,y) in pixels lies; -1: there is no point, or it lies above or below the map. */
CT_HD static inline int64_t ct_heat_row(double x, double y, double stride, int64_t h)
{
    const double row = floor(y / stride);
    return x == x && row >= 0 && row < (double)h ? (int64_t)row : -1;
}

/* q = softmax(log(mean + eps)/tau) of the means of p over the rows, [h]. Returns r, with which
 * -log q[k] = r - log(mean[k] + eps)/tau. */
CT_HD static inline double ct_heat_rows(const double *mean, int64_t h, double eps, double tau, double *q)
{
    double top = -INFINITY, sum = 0;
    for (int64_t k = 0; k < h; k++) {
        q[k] = log(mean[k] + eps) / tau;
        top = q[k] > top ? q[k] : top;
    }
    for (int64_t k = 0; k < h; k++) {
        q[k] = exp(q[k] - top);
        sum += q[k];
    }
    for (int64_t k = 0; k < h; k++) q[k] /= sum;
    return top + log(sum);
}

/* Earth mover's distance of two distributions over the rows, in rows: the sum of |difference of their sums up to a
 * row|. That of the last row is 0. */
CT_HD static inline double ct_heat_emd(const double *q0, const double *q1, int64_t h)
{
    double c0 = 0, c1 = 0, sum = 0;
    for (int64_t k = 0; k + 1 < h; k++) {
        c0 += q0[k];
        c1 += q1[k];
        sum += fabs(c0 - c1);
    }
    return sum;
}

CT_HD static inline double ct_heat_sign(double v) { return v > 0 ? 1 : v < 0 ? -1 : v; }

/* From distributions q0 and q1 to the derivative with respect to the means of map `of` (0 or 1), which replaces them in
 * mean [h]. emd: factor of the distance, ce: factor of -log q[row]; row -1: there is none.
 * With a = log(mean + eps)/tau,
 *   d distance/d q[k] = +-(sum of the signs from row k on),   d(-log q[row])/d a[k] = q[k] - (k == row) */
CT_HD static inline void ct_heat_rows_slope(const double *q0, const double *q1, int of, int64_t h, double emd,
                                            double ce, int64_t row, double eps, double tau, double *mean)
{
    const double *q = of ? q1 : q0, factor = of ? -emd : emd;
    double c0 = 0, c1 = 0, before = 0, inner = 0, total = 0;
    for (int64_t k = 0; k < h; k++) { /* signs before row k, and their mean under q */
        inner += q[k] * before;
        total += q[k];
        c0 += q0[k];
        c1 += q1[k];
        if (k + 1 < h) before += ct_heat_sign(c0 - c1);
    }
    const double all = before;
    c0 = c1 = before = 0;
    for (int64_t k = 0; k < h; k++) {
        double slope = factor * q[k] * ((all - before) - (all * total - inner));
        if (row >= 0) slope += ce * (q[k] - (k == row ? 1 : 0));
        mean[k] = slope / (tau * (mean[k] + eps));
        c0 += q0[k];
        c1 += q1[k];
        before += ct_heat_sign(c0 - c1);
    }
}

#endif
