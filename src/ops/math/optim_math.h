/* Optimizer arithmetic shared by every backend: one element's update, the coefficients computed once per call, and the
 * scalar operators on the step state. Plain C inline functions that CUDA compiles too; nothing here reads memory beyond
 * its arguments.
 *
 * Coefficients are always f64; the element functions exist for f32 (fast kernels) and f64 (reference, f64 plans).
 * Sources: Loshchilov & Hutter, "Decoupled weight decay regularization" (AdamW); Kingma & Ba, "Adam"; the update order
 * is that of torch.optim.AdamW / Adam / SGD, so that runs can be compared number by number. */
#ifndef CT_OPS_MATH_OPTIM_MATH_H
#define CT_OPS_MATH_OPTIM_MATH_H

#include <math.h>
#include <stdbool.h>

#include "base/philox.h"
#include "ops/ops.h"

/* What multiplies a stored gradient before anything uses it: clipping and the loss scale taken out again. */
CT_HD static inline double ct_grad_factor(const double *state)
{
    return state[CT_STATE_CLIP_COEF] / state[CT_STATE_LOSS_SCALE];
}

/* Learning rate of a call: the step's times what its parameters have of their own. */
CT_HD static inline double ct_optim_lr(const ct_optim_attrs *a, const double *state)
{
    return a->lr_factor > 0 ? state[CT_STATE_LR] * a->lr_factor : state[CT_STATE_LR];
}

/* Whether this step's updates are left out. */
CT_HD static inline bool ct_step_skipped(const double *state)
{
    return state[CT_STATE_FOUND_INF] != 0;
}

/* ---- AdamW and Adam ---- */

typedef struct ct_adam_coef {
    double grad; /* factor of the stored gradient */
    double beta1, beta2, one_minus_beta1, one_minus_beta2;
    double keep;      /* factor of p before the step: 1 - lr*weight_decay if decoupled, else 1 */
    double l2;        /* added to the gradient times p: 0 if decoupled, else weight_decay */
    double step_size; /* lr / (1 - beta1^t) */
    double inv_bc2;   /* 1 / sqrt(1 - beta2^t) */
    double eps;
} ct_adam_coef;

CT_HD static inline ct_adam_coef ct_adam_coefficients(const ct_optim_attrs *a, const double *state)
{
    double t = state[CT_STATE_APPLIED] + 1, lr = ct_optim_lr(a, state);
    ct_adam_coef c;
    c.grad = ct_grad_factor(state);
    c.beta1 = a->beta1;
    c.beta2 = a->beta2;
    c.one_minus_beta1 = 1 - a->beta1;
    c.one_minus_beta2 = 1 - a->beta2;
    c.keep = a->decoupled ? 1 - lr * a->weight_decay : 1;
    c.l2 = a->decoupled ? 0 : a->weight_decay;
    c.step_size = lr / (1 - pow(a->beta1, t));
    c.inv_bc2 = 1 / sqrt(1 - pow(a->beta2, t));
    c.eps = a->eps;
    return c;
}

/* One element: p, m, v are read and written; g is the stored gradient. */
CT_HD static inline void ct_adam_f64(const ct_adam_coef *c, double g, double *p, double *m, double *v)
{
    double pk = *p * c->keep;
    g = g * c->grad + c->l2 * *p;
    *m = c->beta1 * *m + c->one_minus_beta1 * g;
    *v = c->beta2 * *v + c->one_minus_beta2 * g * g;
    *p = pk - c->step_size * *m / (sqrt(*v) * c->inv_bc2 + c->eps);
}

typedef struct ct_adam_coef_f32 {
    float grad, beta1, beta2, one_minus_beta1, one_minus_beta2, keep, l2, step_size, inv_bc2, eps;
} ct_adam_coef_f32;

CT_HD static inline ct_adam_coef_f32 ct_adam_narrow(const ct_adam_coef *c)
{
    ct_adam_coef_f32 r;
    r.grad = (float)c->grad;
    r.beta1 = (float)c->beta1;
    r.beta2 = (float)c->beta2;
    r.one_minus_beta1 = (float)c->one_minus_beta1;
    r.one_minus_beta2 = (float)c->one_minus_beta2;
    r.keep = (float)c->keep;
    r.l2 = (float)c->l2;
    r.step_size = (float)c->step_size;
    r.inv_bc2 = (float)c->inv_bc2;
    r.eps = (float)c->eps;
    return r;
}

CT_HD static inline void ct_adam_f32(const ct_adam_coef_f32 *c, float g, float *p, float *m, float *v)
{
    float pk = *p * c->keep;
    g = g * c->grad + c->l2 * *p;
    *m = c->beta1 * *m + c->one_minus_beta1 * g;
    *v = c->beta2 * *v + c->one_minus_beta2 * g * g;
    *p = pk - c->step_size * *m / (sqrtf(*v) * c->inv_bc2 + c->eps);
}

/* ---- SGD with momentum, L2 and Nesterov, as torch.optim.SGD with dampening 0 ---- */

typedef struct ct_sgd_coef {
    double grad, lr, weight_decay, momentum;
    bool first; /* first applied step: the momentum buffer becomes the gradient, whatever it holds */
    bool nesterov;
} ct_sgd_coef;

CT_HD static inline ct_sgd_coef ct_sgd_coefficients(const ct_optim_attrs *a, const double *state)
{
    ct_sgd_coef c;
    c.grad = ct_grad_factor(state);
    c.lr = ct_optim_lr(a, state);
    c.weight_decay = a->weight_decay;
    c.momentum = a->momentum;
    c.first = state[CT_STATE_APPLIED] == 0;
    c.nesterov = a->nesterov != 0;
    return c;
}

/* One element. With momentum 0 the buffer just follows the gradient and is not used. */
CT_HD static inline void ct_sgd_f64(const ct_sgd_coef *c, double g, double *p, double *buf)
{
    g = g * c->grad + c->weight_decay * *p;
    double b = c->first ? g : c->momentum * *buf + g;
    *buf = b;
    *p -= c->lr * (c->nesterov ? g + c->momentum * b : b);
}

CT_HD static inline void ct_sgd_f32(const ct_sgd_coef *c, float g, float *p, float *buf)
{
    float momentum = (float)c->momentum;
    g = g * (float)c->grad + (float)c->weight_decay * *p;
    float b = c->first ? g : momentum * *buf + g;
    *buf = b;
    *p -= (float)c->lr * (c->nesterov ? g + momentum * b : b);
}

/* ---- Muon: momentum, made orthogonal ----
 * K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024; the order of the update, eps and
 * where decay comes in are those of torch.optim.Muon. A step of Newton-Schulz takes X of norm <= 1 to
 * a X + b (X X') X + c (X X')^2 X, a polynomial of the singular values of X that, with these coefficients, carries all
 * but the smallest of them to between 0.7 and 1.2 within five steps. */
#define CT_MUON_A 3.4445
#define CT_MUON_B -4.7750
#define CT_MUON_C 2.0315
#define CT_MUON_EPS 1e-7 /* what the norm of an update is taken to be at least */

typedef struct ct_muon_coef {
    double grad;            /* factor of the stored gradient */
    double momentum, fresh; /* fresh = 1 - momentum */
    double keep, step;      /* p := keep p - step NS(u) */
    bool nesterov;
} ct_muon_coef;

CT_HD static inline ct_muon_coef ct_muon_coefficients(const ct_optim_attrs *a, const double *state)
{
    const double lr = ct_optim_lr(a, state);
    ct_muon_coef c;
    c.grad = ct_grad_factor(state);
    c.momentum = a->momentum;
    c.fresh = 1 - a->momentum;
    c.keep = 1 - lr * a->weight_decay;
    c.step = lr * a->scale;
    c.nesterov = a->nesterov != 0;
    return c;
}

/* One element of the momentum; returns that of u. g is the stored gradient. */
CT_HD static inline double ct_muon_f64(const ct_muon_coef *c, double g, double *m)
{
    g = g * c->grad;
    *m = c->momentum * *m + c->fresh * g;
    return c->nesterov ? c->fresh * g + c->momentum * *m : *m;
}
CT_HD static inline float ct_muon_f32(const ct_muon_coef *c, float g, float *m)
{
    const float momentum = (float)c->momentum, fresh = (float)c->fresh;
    g = g * (float)c->grad;
    *m = momentum * *m + fresh * g;
    return c->nesterov ? fresh * g + momentum * *m : *m;
}

/* ---- exponential moving average ---- */

/* The decay of this step: min(decay, (1+t)/(10+t)) with t = applied steps + 1 when warming up, else decay. */
CT_HD static inline double ct_ema_decay(const ct_optim_attrs *a, const double *state)
{
    double t = state[CT_STATE_APPLIED] + 1, ramp = (1 + t) / (10 + t);
    return a->warmup && ramp < a->decay ? ramp : a->decay;
}

CT_HD static inline double ct_ema_f64(double d, double shadow, double src)
{
    return d * shadow + (1 - d) * src;
}
CT_HD static inline float ct_ema_f32(float d, float one_minus_d, float shadow, float src)
{
    return d * shadow + one_minus_d * src;
}

/* ---- scalar operators on the step state ---- */

/* grad_norm, last part. sum_sq: sum of squares of the stored gradient; finite: every element was. A sum that overflows
 * counts as non-finite; GRAD_NORM is then infinity on every backend. torch.nn.utils.clip_grad_norm_: the 1e-6 and the
 * min are its. */
CT_HD static inline void ct_grad_norm_finish(double max_norm, double sum_sq, bool finite, double *state)
{
    double norm = sqrt(sum_sq) / state[CT_STATE_LOSS_SCALE];
    bool bad = !finite || !(norm <= 1.7976931348623157e308);
    double coef = 1;
    if (!bad && max_norm > 0) {
        coef = max_norm / (norm + 1e-6);
        if (coef > 1) coef = 1;
    }
    state[CT_STATE_GRAD_NORM] = bad ? HUGE_VAL : norm;
    state[CT_STATE_CLIP_COEF] = coef;
    if (bad) state[CT_STATE_FOUND_INF] = 1;
}

/* The loss scale never falls below this, so that dividing by it stays finite however long a run diverges. */
#define CT_MIN_LOSS_SCALE 5.421010862427522e-20 /* 2^-64 */

/* step_end: closes a step. Applied: counters move on and, with a dynamic scale, growth_interval applied steps in a row
 * multiply the scale by `growth` (up to max_scale where that is > 0). Skipped: the scale is multiplied by `backoff`. */
CT_HD static inline void ct_step_end(const ct_optim_attrs *a, double *state)
{
    bool bad = ct_step_skipped(state);
    state[CT_STATE_STEP] += 1;
    if (bad) {
        state[CT_STATE_SKIPPED] += 1;
        if (a->dynamic) {
            double scale = state[CT_STATE_LOSS_SCALE] * a->backoff;
            state[CT_STATE_LOSS_SCALE] = scale < CT_MIN_LOSS_SCALE ? CT_MIN_LOSS_SCALE : scale;
            state[CT_STATE_GOOD_STEPS] = 0;
        }
    } else {
        state[CT_STATE_APPLIED] += 1;
        state[CT_STATE_GOOD_STEPS] += 1;
        if (a->dynamic && state[CT_STATE_GOOD_STEPS] >= (double)a->growth_interval) {
            double scale = state[CT_STATE_LOSS_SCALE] * a->growth;
            if (a->max_scale > 0 && scale > a->max_scale) scale = a->max_scale;
            state[CT_STATE_LOSS_SCALE] = scale;
            state[CT_STATE_GOOD_STEPS] = 0;
        }
    }
    state[CT_STATE_LAST_INF] = bad ? 1 : 0;
    state[CT_STATE_FOUND_INF] = 0;
}

#endif
