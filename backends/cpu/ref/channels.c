/* concat_channels, slice_channels, place_channels, scale_channels and its gradient. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

static ct_accept accept(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static ct_accept accept_scale_bwd(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes((size_t)ct_ref_cols(&call->in[0]) * sizeof(double));
}

static ct_status concat(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_tensor *y = &call->out[0];
    const int64_t rows = ct_ref_rows(y), cols = ct_ref_cols(y);
    for (int64_t m = 0; m < rows; m++) {
        int64_t at = m * cols;
        for (int i = 0; i < call->nin; i++) {
            const int64_t n = ct_ref_cols(&call->in[i]);
            for (int64_t c = 0; c < n; c++) ct_ref_put(y, at++, ct_ref_at(&call->in[i], m * n + c));
        }
    }
    return CT_OK;
}

static ct_status slice(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t first = call->attrs.channels.first, rows = ct_ref_rows(&call->out[0]);
    const int64_t have = ct_ref_cols(&call->in[0]), want = ct_ref_cols(&call->out[0]);
    for (int64_t m = 0; m < rows; m++)
        for (int64_t c = 0; c < want; c++)
            ct_ref_put(&call->out[0], m * want + c, ct_ref_at(&call->in[0], m * have + first + c));
    return CT_OK;
}

static ct_status place(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t first = call->attrs.channels.first, rows = ct_ref_rows(&call->out[0]);
    const int64_t have = ct_ref_cols(&call->in[0]), want = ct_ref_cols(&call->out[0]);
    for (int64_t m = 0; m < rows; m++)
        for (int64_t c = 0; c < want; c++) {
            const bool there = c >= first && c < first + have;
            ct_ref_put(&call->out[0], m * want + c, there ? ct_ref_at(&call->in[0], m * have + c - first) : 0);
        }
    return CT_OK;
}

static ct_status scale(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t *d = call->in[0].desc.dim, pixels = d[1] * d[2], channels = d[3];
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t c = 0; c < channels; c++) {
                const int64_t at = (n * pixels + i) * channels + c;
                ct_ref_put(&call->out[0], at, ct_ref_at(&call->in[0], at) * ct_ref_at(&call->in[1], n * channels + c));
            }
    return CT_OK;
}

static ct_status scale_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *d = call->in[0].desc.dim, pixels = d[1] * d[2], channels = d[3];
    double *sum = scratch;
    for (int64_t n = 0; n < d[0]; n++) {
        for (int64_t c = 0; c < channels; c++) sum[c] = 0;
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t c = 0; c < channels; c++) {
                const int64_t at = (n * pixels + i) * channels + c;
                sum[c] += ct_ref_at(&call->in[0], at) * ct_ref_at(&call->in[1], at);
            }
        ct_ref_store(&call->out[0], n * channels, channels, sum);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONCAT_CHANNELS, "ref", CT_REF_FLAGS, accept, concat },
    { CT_OP_SLICE_CHANNELS, "ref", CT_REF_FLAGS, accept, slice },
    { CT_OP_PLACE_CHANNELS, "ref", CT_REF_FLAGS, accept, place },
    { CT_OP_SCALE_CHANNELS, "ref", CT_REF_FLAGS, accept, scale },
    { CT_OP_SCALE_CHANNELS_BWD, "ref", CT_REF_FLAGS, accept_scale_bwd, scale_bwd },
};
const ct_impl_set ct_ref_channels_impls = CT_IMPL_SET(impls);
