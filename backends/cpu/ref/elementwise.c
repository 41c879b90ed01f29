/* add, mul, scale, cast, accumulate, fit_channels. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <string.h>

static ct_accept accept_float(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static ct_status binary(const ct_call *call, bool multiply)
{
    double a[CT_REF_BLOCK], b[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, a);
        ct_ref_load(&call->in[1], at, n, b);
        for (int64_t i = 0; i < n; i++) a[i] = multiply ? a[i] * b[i] : a[i] + b[i];
        ct_ref_store(&call->out[0], at, n, a);
    }
    return CT_OK;
}

static ct_status add(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    return binary(call, false);
}

static ct_status mul(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    return binary(call, true);
}

static ct_status scale(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double v[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, v);
        for (int64_t i = 0; i < n; i++) v[i] *= call->attrs.scale.alpha;
        ct_ref_store(&call->out[0], at, n, v);
    }
    return CT_OK;
}

static ct_accept accept_any(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_yes(0);
}

static ct_status cast(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double v[CT_REF_BLOCK];
    int64_t total = ct_desc_numel(&call->in[0].desc);
    if (call->in[0].desc.dtype == call->out[0].desc.dtype) {
        memmove(call->out[0].data, call->in[0].data, ct_desc_bytes(&call->in[0].desc));
        return CT_OK;
    }
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, v);
        ct_ref_store(&call->out[0], at, n, v);
    }
    return CT_OK;
}

static ct_status accumulate(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double src[CT_REF_BLOCK], acc[CT_REF_BLOCK], alpha = call->attrs.scale.alpha, beta = call->attrs.scale.beta;
    int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, src);
        if (beta != 0) ct_ref_load(&call->in[1], at, n, acc);
        for (int64_t i = 0; i < n; i++) acc[i] = beta != 0 ? beta * acc[i] + alpha * src[i] : alpha * src[i];
        ct_ref_store(&call->in[1], at, n, acc);
    }
    return CT_OK;
}

static ct_status fit_channels(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    int64_t have = ct_ref_cols(&call->in[0]), want = ct_ref_cols(&call->out[0]), rows = ct_ref_rows(&call->out[0]);
    for (int64_t m = 0; m < rows; m++)
        for (int64_t c = 0; c < want; c++)
            ct_ref_put(&call->out[0], m * want + c, c < have ? ct_ref_at(&call->in[0], m * have + c) : 0);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_ADD, "ref", CT_REF_FLAGS, accept_float, add },
    { CT_OP_MUL, "ref", CT_REF_FLAGS, accept_float, mul },
    { CT_OP_SCALE, "ref", CT_REF_FLAGS, accept_float, scale },
    { CT_OP_CAST, "ref", CT_REF_FLAGS, accept_any, cast },
    { CT_OP_GROUP_SUM, "ref", CT_REF_FLAGS, accept_float, cast },
    { CT_OP_ACCUMULATE, "ref", CT_REF_FLAGS, accept_float, accumulate },
    { CT_OP_FIT_CHANNELS, "ref", CT_REF_FLAGS, accept_float, fit_channels },
};
const ct_impl_set ct_ref_elementwise_impls = CT_IMPL_SET(impls);
