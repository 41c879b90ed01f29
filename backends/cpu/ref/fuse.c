/* fuse_weighted and its gradient; ops/math/fuse_math.h has the formulas. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/fuse_math.h"

static ct_accept accept(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double a[CT_REF_BLOCK], b[CT_REF_BLOCK];
    const ct_fuse_shares share = ct_fuse_shares_of(ct_ref_at(&call->in[2], 0), ct_ref_at(&call->in[2], 1));
    const int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        const int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, a);
        ct_ref_load(&call->in[1], at, n, b);
        for (int64_t i = 0; i < n; i++) a[i] = share.a * a[i] + share.b * b[i];
        ct_ref_store(&call->out[0], at, n, a);
    }
    return CT_OK;
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double dy[CT_REF_BLOCK], a[CT_REF_BLOCK], b[CT_REF_BLOCK], sum_a = 0, sum_b = 0;
    const double w0 = ct_ref_at(&call->in[3], 0), w1 = ct_ref_at(&call->in[3], 1);
    const ct_fuse_shares share = ct_fuse_shares_of(w0, w1);
    const int64_t total = ct_desc_numel(&call->in[0].desc);
    for (int64_t at = 0; at < total; at += CT_REF_BLOCK) {
        const int64_t n = ct_ref_min(CT_REF_BLOCK, total - at);
        ct_ref_load(&call->in[0], at, n, dy);
        ct_ref_load(&call->in[1], at, n, a);
        ct_ref_load(&call->in[2], at, n, b);
        for (int64_t i = 0; i < n; i++) {
            sum_a += dy[i] * a[i];
            sum_b += dy[i] * b[i];
            a[i] = share.a * dy[i];
            b[i] = share.b * dy[i];
        }
        ct_ref_store(&call->out[0], at, n, a);
        ct_ref_store(&call->out[1], at, n, b);
    }
    const ct_fuse_shares dw = ct_fuse_gradient(w0, w1, sum_a, sum_b);
    ct_ref_put(&call->out[2], 0, dw.a);
    ct_ref_put(&call->out[2], 1, dw.b);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_FUSE_WEIGHTED, "ref", CT_REF_FLAGS, accept, forward },
    { CT_OP_FUSE_WEIGHTED_BWD, "ref", CT_REF_FLAGS, accept, backward },
};
const ct_impl_set ct_ref_fuse_impls = CT_IMPL_SET(impls);
