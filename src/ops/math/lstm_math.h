/* One hidden unit of an LSTM for one step, forward and backward, shared by every backend. Plain C inline functions that
 * CUDA compiles too; nothing here reads memory beyond its arguments.
 *
 * As torch.nn.LSTM (Hochreiter & Schmidhuber, "Long short-term memory"; Gers et al., "Learning to forget"), with a_*
 * what a gate's function is applied to:
 *   i = sigmoid(a_i)   f = sigmoid(a_f)   g = tanh(a_g)   o = sigmoid(a_o)
 *   c = f * c_prev + i * g                h = o * tanh(c)
 * The derivatives follow from sigmoid' = s (1 - s) and tanh' = 1 - t^2, so that the gates' values and c are all that
 * has to be kept. */
#ifndef CT_OPS_MATH_LSTM_MATH_H
#define CT_OPS_MATH_LSTM_MATH_H

#include <math.h>

#include "base/philox.h"
#include "ops/math/exp_math.h"

/* The four gates of a unit, or the gradients of what their functions are applied to. */
typedef struct ct_lstm_gates_f64 {
    double i, f, g, o;
} ct_lstm_gates_f64;

/* a: what the functions are applied to. *c and *h are the new cell and output; returns the gates' values. */
CT_HD static inline ct_lstm_gates_f64 ct_lstm_unit_f64(ct_lstm_gates_f64 a, double c_prev, double *c, double *h)
{
    ct_lstm_gates_f64 v;
    v.i = ct_sigmoid_f64(a.i);
    v.f = ct_sigmoid_f64(a.f);
    v.g = tanh(a.g);
    v.o = ct_sigmoid_f64(a.o);
    *c = v.f * c_prev + v.i * v.g;
    *h = v.o * tanh(*c);
    return v;
}

/* v: the gates' values. dh: gradient of h, from the output and from the next step together. *dc holds the part of the
 * gradient of c that comes from the next step, and becomes that of c_prev. Returns the gradients of a. */
CT_HD static inline ct_lstm_gates_f64 ct_lstm_unit_bwd_f64(ct_lstm_gates_f64 v, double c, double c_prev, double dh,
                                                           double *dc)
{
    ct_lstm_gates_f64 d;
    double t = tanh(c), e = *dc + dh * v.o * (1 - t * t);
    d.o = dh * t * (v.o * (1 - v.o));
    d.i = e * v.g * (v.i * (1 - v.i));
    d.f = e * c_prev * (v.f * (1 - v.f));
    d.g = e * v.i * (1 - v.g * v.g);
    *dc = e * v.f;
    return d;
}

/* ---- the same in f32 ---- */

typedef struct ct_lstm_gates_f32 {
    float i, f, g, o;
} ct_lstm_gates_f32;

CT_HD static inline ct_lstm_gates_f32 ct_lstm_unit_f32(ct_lstm_gates_f32 a, float c_prev, float *c, float *h)
{
    ct_lstm_gates_f32 v;
    v.i = ct_sigmoid_f32(a.i);
    v.f = ct_sigmoid_f32(a.f);
    v.g = ct_tanh_f32(a.g);
    v.o = ct_sigmoid_f32(a.o);
    float cell = v.f * c_prev + v.i * v.g;
    *c = cell;
    *h = v.o * ct_tanh_f32(cell);
    return v;
}

CT_HD static inline ct_lstm_gates_f32 ct_lstm_unit_bwd_f32(ct_lstm_gates_f32 v, float c, float c_prev, float dh,
                                                           float *dc)
{
    ct_lstm_gates_f32 d;
    float t = ct_tanh_f32(c), e = *dc + dh * v.o * (1 - t * t);
    d.o = dh * t * (v.o * (1 - v.o));
    d.i = e * v.g * (v.i * (1 - v.i));
    d.f = e * c_prev * (v.f * (1 - v.f));
    d.g = e * v.i * (1 - v.g * v.g);
    *dc = e * v.f;
    return d;
}

#endif
