/* Activations and dropout, element by element. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/dropout_math.h"

#include <math.h>

static double activate(const ct_act_attrs *a, double x)
{
    switch ((ct_act_kind)a->kind) {
    case CT_ACT_RELU: return x < 0 ? 0 : x;
    case CT_ACT_LEAKY_RELU: return x < 0 ? a->alpha * x : x;
    case CT_ACT_SIGMOID: return ct_ref_sigmoid(x);
    case CT_ACT_TANH: return tanh(x);
    case CT_ACT_SILU: return x * ct_ref_sigmoid(x);
    case CT_ACT_SOFTPLUS: return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
    case CT_ACT_COUNT: break;
    }
    return NAN;
}

/* Derivative from what the forward operator saved: y for relu, leaky_relu, sigmoid, tanh; x for silu, softplus. */
static double derivative(const ct_act_attrs *a, double saved)
{
    switch ((ct_act_kind)a->kind) {
    case CT_ACT_RELU: return saved > 0 ? 1 : 0;
    case CT_ACT_LEAKY_RELU: return saved > 0 ? 1 : a->alpha;
    case CT_ACT_SIGMOID: return saved * (1 - saved);
    case CT_ACT_TANH: return 1 - saved * saved;
    case CT_ACT_SILU: return ct_ref_silu_slope(saved);
    case CT_ACT_SOFTPLUS: return ct_ref_sigmoid(saved);
    case CT_ACT_COUNT: break;
    }
    return NAN;
}

static ct_accept accept_activation(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (call->attrs.act.kind < 0 || call->attrs.act.kind >= CT_ACT_COUNT) return ct_accept_no("unknown activation");
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double v[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, v);
        for (int64_t i = 0; i < n; i++) v[i] = activate(&call->attrs.act, v[i]);
        ct_ref_store(&call->out[0], at, n, v);
    }
    return CT_OK;
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double dy[CT_REF_BLOCK], saved[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, dy);
        ct_ref_load(&call->in[1], at, n, saved);
        for (int64_t i = 0; i < n; i++) dy[i] *= derivative(&call->attrs.act, saved[i]);
        ct_ref_store(&call->out[0], at, n, dy);
    }
    return CT_OK;
}

static ct_accept accept_mask(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_ref_is_state(&call->in[0])) return ct_accept_no("the state is not f64[16]");
    if (call->out[0].desc.dtype != CT_U8) return ct_accept_no("the mask is not u8");
    return ct_accept_yes(0);
}

static ct_status mask(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_dropout_attrs *a = &call->attrs.dropout;
    const double *state = call->in[0].data;
    uint8_t *m = call->out[0].data;
    int64_t total = ct_desc_numel(&call->out[0].desc);
    for (int64_t i = 0; i < total; i++)
        m[i] = ct_dropout_keep((uint64_t)a->seed, (uint64_t)a->stream, (uint64_t)state[CT_STATE_DRAWS],
                               (uint64_t)ct_dropout_element(a->first, a->run, a->pitch, i), a->p);
    return CT_OK;
}

static ct_accept accept_apply(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("x is not floating point");
    if (call->in[1].desc.dtype != CT_U8) return ct_accept_no("the mask is not u8");
    return ct_accept_yes(0);
}

static ct_status apply(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double v[CT_REF_BLOCK], factor = 1 / (1 - call->attrs.dropout.p);
    const uint8_t *m = call->in[1].data;
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, v);
        for (int64_t i = 0; i < n; i++) v[i] = m[at + i] ? v[i] * factor : 0;
        ct_ref_store(&call->out[0], at, n, v);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_ACTIVATION, "ref", CT_REF_FLAGS, accept_activation, forward },
    { CT_OP_ACTIVATION_BWD, "ref", CT_REF_FLAGS, accept_activation, backward },
    { CT_OP_DROPOUT_MASK, "ref", CT_REF_FLAGS, accept_mask, mask },
    { CT_OP_DROPOUT_APPLY, "ref", CT_REF_FLAGS, accept_apply, apply },
};
const ct_impl_set ct_ref_activation_impls = CT_IMPL_SET(impls);
