/* upsample_bilinear, upsample_nearest and their gradients; the weights are those of ops/math/resample_math.h. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/resample_math.h"

static ct_accept accept(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(2 * (size_t)ct_ref_cols(&call->in[0]) * sizeof(double));
}

/* sum += weight * pixel (n,i,j) of t [N,H,W,C]; buf is room for its channels. */
static void add_pixel(const ct_tensor *t, int64_t n, int64_t i, int64_t j, double weight, double *sum, double *buf)
{
    const int64_t *d = t->desc.dim;
    ct_ref_load(t, ((n * d[1] + i) * d[2] + j) * d[3], d[3], buf);
    for (int64_t c = 0; c < d[3]; c++) sum[c] += weight * buf[c];
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_tensor *x = &call->in[0];
    const int64_t *xd = x->desc.dim, *yd = call->out[0].desc.dim, channels = xd[3];
    const int shift = ct_upsample_shift(call->attrs.resample.scale);
    double *sum = scratch, *buf = sum + channels;
    for (int64_t n = 0; n < yd[0]; n++)
        for (int64_t p = 0; p < yd[1]; p++)
            for (int64_t q = 0; q < yd[2]; q++) {
                int64_t i0, i1, j0, j1;
                const double wi = ct_upsample_axis(p, shift, xd[1], &i0, &i1);
                const double wj = ct_upsample_axis(q, shift, xd[2], &j0, &j1);
                for (int64_t c = 0; c < channels; c++) sum[c] = 0;
                add_pixel(x, n, i0, j0, (1 - wi) * (1 - wj), sum, buf);
                add_pixel(x, n, i0, j1, (1 - wi) * wj, sum, buf);
                add_pixel(x, n, i1, j0, wi * (1 - wj), sum, buf);
                add_pixel(x, n, i1, j1, wi * wj, sum, buf);
                ct_ref_store(&call->out[0], ((n * yd[1] + p) * yd[2] + q) * channels, channels, sum);
            }
    return CT_OK;
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *xd = call->out[0].desc.dim, channels = xd[3];
    const int shift = ct_upsample_shift(call->attrs.resample.scale);
    double *sum = scratch, *buf = sum + channels;
    for (int64_t n = 0; n < xd[0]; n++)
        for (int64_t i = 0; i < xd[1]; i++)
            for (int64_t j = 0; j < xd[2]; j++) {
                int64_t p0, p1, q0, q1;
                ct_upsample_range(i, shift, xd[1], &p0, &p1);
                ct_upsample_range(j, shift, xd[2], &q0, &q1);
                for (int64_t c = 0; c < channels; c++) sum[c] = 0;
                for (int64_t p = p0; p < p1; p++) {
                    const double wp = ct_upsample_weight(p, i, shift, xd[1]);
                    for (int64_t q = q0; q < q1; q++)
                        add_pixel(&call->in[0], n, p, q, wp * ct_upsample_weight(q, j, shift, xd[2]), sum, buf);
                }
                ct_ref_store(&call->out[0], ((n * xd[1] + i) * xd[2] + j) * channels, channels, sum);
            }
    return CT_OK;
}

static ct_status nearest(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *xd = call->in[0].desc.dim, *yd = call->out[0].desc.dim, channels = xd[3];
    const int64_t s = call->attrs.resample.scale;
    double *pixel = scratch;
    for (int64_t n = 0; n < yd[0]; n++)
        for (int64_t p = 0; p < yd[1]; p++)
            for (int64_t q = 0; q < yd[2]; q++) {
                ct_ref_load(&call->in[0], ((n * xd[1] + p / s) * xd[2] + q / s) * channels, channels, pixel);
                ct_ref_store(&call->out[0], ((n * yd[1] + p) * yd[2] + q) * channels, channels, pixel);
            }
    return CT_OK;
}

static ct_status nearest_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *xd = call->out[0].desc.dim, channels = xd[3], s = call->attrs.resample.scale;
    double *sum = scratch, *buf = sum + channels;
    for (int64_t n = 0; n < xd[0]; n++)
        for (int64_t i = 0; i < xd[1]; i++)
            for (int64_t j = 0; j < xd[2]; j++) {
                for (int64_t c = 0; c < channels; c++) sum[c] = 0;
                for (int64_t p = s * i; p < s * (i + 1); p++)
                    for (int64_t q = s * j; q < s * (j + 1); q++) add_pixel(&call->in[0], n, p, q, 1, sum, buf);
                ct_ref_store(&call->out[0], ((n * xd[1] + i) * xd[2] + j) * channels, channels, sum);
            }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_UPSAMPLE_BILINEAR, "ref", CT_REF_FLAGS, accept, forward },
    { CT_OP_UPSAMPLE_BILINEAR_BWD, "ref", CT_REF_FLAGS, accept, backward },
    { CT_OP_UPSAMPLE_NEAREST, "ref", CT_REF_FLAGS, accept, nearest },
    { CT_OP_UPSAMPLE_NEAREST_BWD, "ref", CT_REF_FLAGS, accept, nearest_bwd },
};
const ct_impl_set ct_ref_resample_impls = CT_IMPL_SET(impls);
