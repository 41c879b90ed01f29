/* Pooling of x [N,H,W,C] to y [N,P,Q,C]; window cell (r,s) of output (p,q) is pixel (p*stride_h - pad_h + r, q*stride_w
 * - pad_w + s). */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <math.h>

static ct_accept accept_cols(const ct_call *call, int64_t rows)
{
    return ct_accept_yes((size_t)(rows * ct_ref_cols(&call->in[0])) * sizeof(double));
}

static ct_accept accept_max(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("x is not floating point");
    if (call->out[1].desc.dtype != CT_U8) return ct_accept_no("the index is not u8");
    if (call->attrs.pool.ker_h * call->attrs.pool.ker_w > 256)
        return ct_accept_no("a window of more than 256 cells has no u8 index");
    return accept_cols(call, 2);
}

static ct_status max_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_pool_attrs *a = &call->attrs.pool;
    const int64_t *xd = call->in[0].desc.dim, *yd = call->out[0].desc.dim;
    int64_t channels = xd[3];
    double *best = scratch, *pixel = best + channels;
    uint8_t *index = call->out[1].data;
    for (int64_t n = 0; n < yd[0]; n++)
        for (int64_t p = 0; p < yd[1]; p++)
            for (int64_t q = 0; q < yd[2]; q++) {
                int64_t out = ((n * yd[1] + p) * yd[2] + q) * channels;
                bool first = true;
                for (int64_t c = 0; c < channels; c++) {
                    best[c] = -INFINITY;
                    index[out + c] = 0;
                }
                for (int64_t r = 0; r < a->ker_h; r++)
                    for (int64_t s = 0; s < a->ker_w; s++) {
                        int64_t i = p * a->stride_h - a->pad_h + r, j = q * a->stride_w - a->pad_w + s;
                        if (i < 0 || i >= xd[1] || j < 0 || j >= xd[2]) continue;
                        ct_ref_load(&call->in[0], ((n * xd[1] + i) * xd[2] + j) * channels, channels, pixel);
                        for (int64_t c = 0; c < channels; c++) {
                            /* The first real cell is taken whatever it holds; the first NaN stays. */
                            if (!first && !(pixel[c] > best[c]) && !(isnan(pixel[c]) && !isnan(best[c]))) continue;
                            best[c] = pixel[c];
                            index[out + c] = (uint8_t)(r * a->ker_w + s);
                        }
                        first = false;
                    }
                ct_ref_store(&call->out[0], out, channels, best);
            }
    return CT_OK;
}

/* Whether window cell r of some output row covers input row i: the output row, or -1. */
static int64_t source_of(int64_t i, int64_t r, int64_t stride, int64_t pad, int64_t count)
{
    int64_t d = i + pad - r;
    if (d < 0 || d % stride != 0 || d / stride >= count) return -1;
    return d / stride;
}

static ct_accept accept_max_bwd(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("dy is not floating point");
    if (call->in[1].desc.dtype != CT_U8) return ct_accept_no("the index is not u8");
    return accept_cols(call, 2);
}

/* dx of one pixel is the sum over the windows that cover it: of their dy (max: where it won), times factor. */
static void spread(const ct_call *call, const uint8_t *index, double factor, double *sum, double *dy)
{
    const ct_pool_attrs *a = &call->attrs.pool;
    const int64_t *xd = call->out[0].desc.dim, *yd = call->in[0].desc.dim;
    int64_t channels = xd[3];
    for (int64_t n = 0; n < xd[0]; n++)
        for (int64_t i = 0; i < xd[1]; i++)
            for (int64_t j = 0; j < xd[2]; j++) {
                for (int64_t c = 0; c < channels; c++) sum[c] = 0;
                for (int64_t r = 0; r < a->ker_h; r++) {
                    int64_t p = source_of(i, r, a->stride_h, a->pad_h, yd[1]);
                    if (p < 0) continue;
                    for (int64_t s = 0; s < a->ker_w; s++) {
                        int64_t q = source_of(j, s, a->stride_w, a->pad_w, yd[2]);
                        if (q < 0) continue;
                        int64_t from = ((n * yd[1] + p) * yd[2] + q) * channels;
                        ct_ref_load(&call->in[0], from, channels, dy);
                        for (int64_t c = 0; c < channels; c++)
                            if (!index || index[from + c] == r * a->ker_w + s) sum[c] += dy[c] * factor;
                    }
                }
                ct_ref_store(&call->out[0], ((n * xd[1] + i) * xd[2] + j) * channels, channels, sum);
            }
}

static ct_status max_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    double *sum = scratch;
    spread(call, call->in[1].data, 1, sum, sum + ct_ref_cols(&call->in[0]));
    return CT_OK;
}

static ct_accept accept_avg(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : accept_cols(call, 2);
}

static ct_status avg_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_pool_attrs *a = &call->attrs.pool;
    const int64_t *xd = call->in[0].desc.dim, *yd = call->out[0].desc.dim;
    int64_t channels = xd[3];
    double *sum = scratch, *pixel = sum + channels, cells = (double)(a->ker_h * a->ker_w);
    for (int64_t n = 0; n < yd[0]; n++)
        for (int64_t p = 0; p < yd[1]; p++)
            for (int64_t q = 0; q < yd[2]; q++) {
                for (int64_t c = 0; c < channels; c++) sum[c] = 0;
                for (int64_t r = 0; r < a->ker_h; r++)
                    for (int64_t s = 0; s < a->ker_w; s++) {
                        int64_t i = p * a->stride_h - a->pad_h + r, j = q * a->stride_w - a->pad_w + s;
                        if (i < 0 || i >= xd[1] || j < 0 || j >= xd[2]) continue;
                        ct_ref_load(&call->in[0], ((n * xd[1] + i) * xd[2] + j) * channels, channels, pixel);
                        for (int64_t c = 0; c < channels; c++) sum[c] += pixel[c];
                    }
                for (int64_t c = 0; c < channels; c++) sum[c] /= cells;
                ct_ref_store(&call->out[0], ((n * yd[1] + p) * yd[2] + q) * channels, channels, sum);
            }
    return CT_OK;
}

static ct_status avg_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_pool_attrs *a = &call->attrs.pool;
    double *sum = scratch;
    spread(call, NULL, 1.0 / (double)(a->ker_h * a->ker_w), sum, sum + ct_ref_cols(&call->in[0]));
    return CT_OK;
}

static ct_status global_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *xd = call->in[0].desc.dim;
    int64_t pixels = xd[1] * xd[2], channels = xd[3];
    double *sum = scratch, *pixel = sum + channels;
    for (int64_t n = 0; n < xd[0]; n++) {
        for (int64_t c = 0; c < channels; c++) sum[c] = 0;
        for (int64_t i = 0; i < pixels; i++) {
            ct_ref_load(&call->in[0], (n * pixels + i) * channels, channels, pixel);
            for (int64_t c = 0; c < channels; c++) sum[c] += pixel[c];
        }
        for (int64_t c = 0; c < channels; c++) sum[c] /= (double)pixels;
        ct_ref_store(&call->out[0], n * channels, channels, sum);
    }
    return CT_OK;
}

static ct_status global_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *xd = call->out[0].desc.dim;
    int64_t pixels = xd[1] * xd[2], channels = xd[3];
    double *dy = scratch;
    for (int64_t n = 0; n < xd[0]; n++) {
        ct_ref_load(&call->in[0], n * channels, channels, dy);
        for (int64_t c = 0; c < channels; c++) dy[c] /= (double)pixels;
        for (int64_t i = 0; i < pixels; i++) ct_ref_store(&call->out[0], (n * pixels + i) * channels, channels, dy);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_MAXPOOL2D, "ref", CT_REF_FLAGS, accept_max, max_forward },
    { CT_OP_MAXPOOL2D_BWD, "ref", CT_REF_FLAGS, accept_max_bwd, max_backward },
    { CT_OP_AVGPOOL2D, "ref", CT_REF_FLAGS, accept_avg, avg_forward },
    { CT_OP_AVGPOOL2D_BWD, "ref", CT_REF_FLAGS, accept_avg, avg_backward },
    { CT_OP_GLOBAL_AVGPOOL, "ref", CT_REF_FLAGS, accept_avg, global_forward },
    { CT_OP_GLOBAL_AVGPOOL_BWD, "ref", CT_REF_FLAGS, accept_avg, global_backward },
};
const ct_impl_set ct_ref_pool_impls = CT_IMPL_SET(impls);
