/* Optimizer operators: loops over the shared arithmetic of ops/math/optim_math.h and schedule_math.h. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/optim_math.h"
#include "ops/math/schedule_math.h"

#include <math.h>

/* Place of the state among the inputs: behind it stands at most what is optional. */
static int state_at(const ct_call *call)
{
    switch (call->op) {
    case CT_OP_ADAMW: return 4;
    case CT_OP_SGD:
    case CT_OP_MUON: return 3;
    case CT_OP_GRAD_NORM: return 1;
    default: return call->nin - 1;
    }
}

/* Beside the state all inputs are floating. */
static ct_accept accept_optim(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_ref_is_state(&call->in[state_at(call)])) return ct_accept_no("the state is not f64[16]");
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static double *state_of(const ct_call *call)
{
    return call->in[state_at(call)].data;
}

/* Input i, if it is there, becomes elements [at, at+n) of p as they are stored. */
static void store_copy(const ct_call *call, int i, int64_t at, int64_t n)
{
    double p[CT_REF_BLOCK];
    if (call->nin <= i || !ct_present(&call->in[i])) return;
    ct_ref_load(&call->in[0], at, n, p);
    ct_ref_store(&call->in[i], at, n, p);
}

static ct_status lr_schedule(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double *state = state_of(call);
    state[CT_STATE_LR] = ct_schedule_lr(&call->attrs.schedule, state[CT_STATE_STEP]);
    return CT_OK;
}

static void add_squares(const ct_tensor *t, double *sum, bool *finite)
{
    double g[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&t->desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(t, at, n, g);
        for (int64_t i = 0; i < n; i++) {
            *sum += g[i] * g[i];
            if (!isfinite(g[i])) *finite = false;
        }
    }
}

static ct_status grad_norm(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double sum = 0;
    bool finite = true;
    add_squares(&call->in[0], &sum, &finite);
    if (call->nin > 2 && ct_present(&call->in[2])) add_squares(&call->in[2], &sum, &finite);
    ct_grad_norm_finish(call->attrs.optim.max_norm, sum, finite, state_of(call));
    return CT_OK;
}

static ct_status adamw(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const double *state = state_of(call);
    if (ct_step_skipped(state)) return CT_OK;
    ct_adam_coef coef = ct_adam_coefficients(&call->attrs.optim, state);
    double p[CT_REF_BLOCK], g[CT_REF_BLOCK], m[CT_REF_BLOCK], v[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, p);
        ct_ref_load(&call->in[1], at, n, g);
        ct_ref_load(&call->in[2], at, n, m);
        ct_ref_load(&call->in[3], at, n, v);
        for (int64_t i = 0; i < n; i++) ct_adam_f64(&coef, g[i], &p[i], &m[i], &v[i]);
        ct_ref_store(&call->in[0], at, n, p);
        ct_ref_store(&call->in[2], at, n, m);
        ct_ref_store(&call->in[3], at, n, v);
        store_copy(call, 5, at, n);
    }
    return CT_OK;
}

static ct_status sgd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const double *state = state_of(call);
    if (ct_step_skipped(state)) return CT_OK;
    ct_sgd_coef coef = ct_sgd_coefficients(&call->attrs.optim, state);
    double p[CT_REF_BLOCK], g[CT_REF_BLOCK], b[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, p);
        ct_ref_load(&call->in[1], at, n, g);
        ct_ref_load(&call->in[2], at, n, b);
        for (int64_t i = 0; i < n; i++) ct_sgd_f64(&coef, g[i], &p[i], &b[i]);
        ct_ref_store(&call->in[0], at, n, p);
        ct_ref_store(&call->in[2], at, n, b);
        store_copy(call, 4, at, n);
    }
    return CT_OK;
}

/* ---- Muon ---- */

/* y [r,r] = x x': products of the rows of x [r,c] with each other. */
static void rows_times_rows(int64_t r, int64_t c, const double *x, double *y)
{
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < r; j++) {
            double sum = 0;
            for (int64_t k = 0; k < c; k++) sum += x[i * c + k] * x[j * c + k];
            y[i * r + j] = sum;
        }
}

/* One step of Newton-Schulz: y [r,c] = A x + B (x x') x + C (x x')^2 x; s and t [r,r] are room. */
static void newton_schulz(int64_t r, int64_t c, const double *x, double *s, double *t, double *y)
{
    rows_times_rows(r, c, x, s);
    rows_times_rows(r, r, s, t); /* s is symmetric: s s' is its square */
    for (int64_t i = 0; i < r * r; i++) t[i] = CT_MUON_B * s[i] + CT_MUON_C * t[i];
    for (int64_t i = 0; i < r; i++)
        for (int64_t k = 0; k < c; k++) {
            double sum = CT_MUON_A * x[i * c + k];
            for (int64_t j = 0; j < r; j++) sum += t[i * r + j] * x[j * c + k];
            y[i * c + k] = sum;
        }
}

/* What a matrix needs room for: x and y [r,c], s and t [r,r], r the shorter side. */
static size_t muon_room(const ct_optim_attrs *a)
{
    const int64_t r = ct_ref_min(a->rows, a->cols);
    return (size_t)(2 * a->rows * a->cols + 2 * r * r) * sizeof(double);
}

/* Momentum and update of the matrix whose first element is `at`. It is turned over where it has more rows than columns,
 * so that its products are among the shorter side. */
static void muon_matrix(const ct_call *call, const ct_muon_coef *coef, int64_t at, double *x)
{
    const ct_optim_attrs *a = &call->attrs.optim;
    const bool turned = a->rows > a->cols;
    const int64_t n = a->rows * a->cols, r = turned ? a->cols : a->rows, c = n / r;
    double *y = x + n, *s = y + n, *t = s + r * r, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double g, m;
        ct_ref_load(&call->in[1], at + i, 1, &g);
        ct_ref_load(&call->in[2], at + i, 1, &m);
        const double u = ct_muon_f64(coef, g, &m);
        ct_ref_store(&call->in[2], at + i, 1, &m);
        x[turned ? i % a->cols * c + i / a->cols : i] = u;
        sum += u * u;
    }
    const double norm = fmax(sqrt(sum), CT_MUON_EPS);
    for (int64_t i = 0; i < n; i++) x[i] /= norm;
    for (int64_t step = 0; step < a->steps; step++) {
        newton_schulz(r, c, x, s, t, y);
        double *swap = x;
        x = y;
        y = swap;
    }
    for (int64_t i = 0; i < n; i++) {
        double p;
        ct_ref_load(&call->in[0], at + i, 1, &p);
        p = coef->keep * p - coef->step * x[turned ? i % a->cols * c + i / a->cols : i];
        ct_ref_store(&call->in[0], at + i, 1, &p);
        store_copy(call, 4, at + i, 1);
    }
}

static ct_accept accept_muon(const ct_device *dev, const ct_call *call)
{
    ct_accept a = accept_optim(dev, call);
    if (a.ok) a.scratch = muon_room(&call->attrs.optim);
    return a;
}

static ct_status muon(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const double *state = state_of(call);
    if (ct_step_skipped(state)) return CT_OK;
    const ct_muon_coef coef = ct_muon_coefficients(&call->attrs.optim, state);
    const int64_t total = ct_desc_numel(&call->in[0].desc), stride = call->attrs.optim.stride;
    for (int64_t at = 0; at < total; at += stride) muon_matrix(call, &coef, at, scratch);
    return CT_OK;
}

static ct_status ema(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const double *state = state_of(call);
    if (ct_step_skipped(state)) return CT_OK;
    double d = ct_ema_decay(&call->attrs.optim, state), shadow[CT_REF_BLOCK], src[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, shadow);
        ct_ref_load(&call->in[1], at, n, src);
        for (int64_t i = 0; i < n; i++) shadow[i] = ct_ema_f64(d, shadow[i], src[i]);
        ct_ref_store(&call->in[0], at, n, shadow);
    }
    return CT_OK;
}

static ct_status step_end(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    ct_step_end(&call->attrs.optim, state_of(call));
    return CT_OK;
}

static ct_status next_draw(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    state_of(call)[CT_STATE_DRAWS] += 1;
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_LR_SCHEDULE, "ref", CT_REF_FLAGS, accept_optim, lr_schedule },
    { CT_OP_GRAD_NORM, "ref", CT_REF_FLAGS, accept_optim, grad_norm },
    { CT_OP_ADAMW, "ref", CT_REF_FLAGS, accept_optim, adamw },
    { CT_OP_SGD, "ref", CT_REF_FLAGS, accept_optim, sgd },
    { CT_OP_MUON, "ref", CT_REF_FLAGS, accept_muon, muon },
    { CT_OP_EMA, "ref", CT_REF_FLAGS, accept_optim, ema },
    { CT_OP_STEP_END, "ref", CT_REF_FLAGS, accept_optim, step_end },
    { CT_OP_NEXT_DRAW, "ref", CT_REF_FLAGS, accept_optim, next_draw },
};
const ct_impl_set ct_ref_optim_impls = CT_IMPL_SET(impls);
