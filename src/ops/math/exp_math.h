/* exp, sigmoid and tanh in f32, without branches and tables, so that a compiler makes vector code of a loop over them.
 * The polynomials are minimax fits (relative error of the function) made for this file; the errors that the comments
 * name are the largest found over the whole range, in units of the last place (ulp) of the result. NaN gives NaN.
 * And the sigmoid in f64. */
#ifndef CT_OPS_MATH_EXP_MATH_H
#define CT_OPS_MATH_EXP_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/philox.h"

/* (e^r - 1 - r) / r^2 for |r| <= ln(2)/2, of a number or a vector of them. */
#define CT_EXP_FIT(r) ((((0.0013814539f * (r) + 0.008368745f) * (r) + 0.04166839f) * (r) + 0.16666521f) * (r) + 0.49999994f)

/* e^x = *scale (1 + p), *scale = 2^n with n = round(x / ln 2), p = e^r - 1, |r| <= ln(2)/2; returns p. x is held to
 * [-87, 88], where result and steps are normal numbers. */
CT_HD static inline float ct_exp_parts_f32(float x, float *scale)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: the sum's last bits are the integer */
    x = x > 88.0f ? 88.0f : x;
    x = x < -87.0f ? -87.0f : x;
    float t = x * 1.44269504f + shift, n = t - shift;
    uint32_t bits;
    memcpy(&bits, &t, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    memcpy(scale, &bits, sizeof bits);
    float r = x - n * 0.693145752f; /* ln 2 in two parts: n times the first is exact */
    r = r - n * 1.42860677e-6f;
    return CT_EXP_FIT(r) * (r * r) + r;
}

/* 1.1 ulp within [-87, 88]; 1.6e-38 below, 1.7e38 above. */
CT_HD static inline float ct_exp_f32(float x)
{
    float scale, p = ct_exp_parts_f32(x, &scale);
    return scale + scale * p;
}

/* 2.5 ulp, down to x = -87. */
CT_HD static inline float ct_sigmoid_f32(float x)
{
    return 1.0f / (1.0f + ct_exp_f32(-x));
}

/* m/(m + 2) with m = e^2x - 1, which keeps its accuracy near 0. 2.7 ulp. */
CT_HD static inline float ct_tanh_f32(float x)
{
    float scale, p = ct_exp_parts_f32(2.0f * x, &scale), m = scale * p + (scale - 1.0f);
    return m / (m + 2.0f);
}

/* ---- f64, by the library's exp ---- */

/* exp of a number <= 0 only: no overflow on either side */
CT_HD static inline double ct_sigmoid_f64(double x)
{
    double e = exp(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

#endif
