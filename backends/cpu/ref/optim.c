/* Optimizer operators: loops over the shared arithmetic of ops/math/optim_math.h and schedule_math.h. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/optim_math.h"
#include "ops/math/schedule_math.h"

#include <math.h>

/* Place of the state among the inputs: behind it stands at most what is optional. */
static int state_at(const ct_call *call)
{
    return call->op == CT_OP_ADAMW ? 4 : call->op == CT_OP_SGD ? 3 : call->op == CT_OP_GRAD_NORM ? 1 : call->nin - 1;
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
    { CT_OP_EMA, "ref", CT_REF_FLAGS, accept_optim, ema },
    { CT_OP_STEP_END, "ref", CT_REF_FLAGS, accept_optim, step_end },
    { CT_OP_NEXT_DRAW, "ref", CT_REF_FLAGS, accept_optim, next_draw },
};
const ct_impl_set ct_ref_optim_impls = CT_IMPL_SET(impls);
