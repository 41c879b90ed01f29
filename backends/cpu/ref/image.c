/* preprocess: src u8 [M,Hs,Ws,C], index i32 [N,3] = (row of src, sample id, epoch) or [N,4], window? [N,4] -> x [N,H,W,C], with
 * a window one channel more for the mask, or more channels with zeros in them. See ops/math/image_math.h. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/image_math.h"

#include <inttypes.h>

static ct_accept accept_preprocess(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (call->in[0].desc.dtype != CT_U8) return ct_accept_no("the source is not u8");
    if (call->in[1].desc.dtype != CT_I32) return ct_accept_no("the index is not i32");
    if (!ct_dtype_is_float(call->out[0].desc.dtype)) return ct_accept_no("x is not floating point");
    return ct_accept_yes(0);
}

static int64_t clamp_index(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* The sampled image at (i,j), blurred: weights over the neighbouring output pixels, edge pixels repeated. */
static double blurred(const ct_image_attrs *a, const ct_image_draw *d, const uint8_t *src, int64_t hs, int64_t ws,
                      int64_t channels, int64_t i, int64_t j, int64_t ch)
{
    double sum = 0;
    for (int r = -d->radius; r <= d->radius; r++)
        for (int s = -d->radius; s <= d->radius; s++) {
            ct_image_point p = ct_image_locate(d, hs, ws, clamp_index(i + r, a->out_h), clamp_index(j + s, a->out_w));
            double weight = d->tap[r < 0 ? -r : r] * d->tap[s < 0 ? -s : s];
            sum += weight * ct_image_fetch(src, ws, channels, &p, ch, a->fill);
        }
    return sum;
}

/* One sample: n of the batch, `src` its picture. */
static void preprocess_sample(const ct_call *call, int64_t n, const uint8_t *src)
{
    const ct_image_attrs *a = &call->attrs.image;
    const int64_t columns = call->in[1].desc.dim[1];
    const int32_t *index = (const int32_t *)call->in[1].data + columns * n;
    const int64_t hs = call->in[0].desc.dim[1], ws = call->in[0].desc.dim[2], channels = call->in[0].desc.dim[3];
    const int64_t stored = ct_ref_cols(&call->out[0]);
    const ct_image_draw d = ct_image_draw_row(a, hs, ws, index, columns);
    const bool windowed = ct_present(&call->in[2]);
    double window[4] = { 0 };
    if (windowed) ct_ref_load(&call->in[2], 4 * n, 4, window);
    for (int64_t i = 0; i < a->out_h; i++)
        for (int64_t j = 0; j < a->out_w; j++) {
            const int64_t pixel = i * a->out_w + j, to = (n * a->out_h * a->out_w + pixel) * stored;
            const bool inside = !windowed || ct_image_inside(&d, window, hs, ws, i, j);
            for (int64_t ch = 0; ch < channels; ch++) {
                int64_t element = pixel * channels + ch; /* within the sample, for its draws */
                double normal[4] = { 0 };
                if (d.noise > 0) ct_image_noise4(&d, (uint64_t)element >> 2, normal);
                double v = blurred(a, &d, src, hs, ws, channels, i, j, ch);
                v = ct_image_finish(a, &d, v, normal[element & 3], ch);
                ct_ref_put(&call->out[0], to + ch, inside ? v : ct_image_normalise(a, a->fill, ch));
            }
            for (int64_t ch = channels; ch < stored; ch++)
                ct_ref_put(&call->out[0], to + ch, windowed && ch == channels ? inside : 0);
        }
}

static ct_status preprocess(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t *sd = call->in[0].desc.dim, samples = call->in[1].desc.dim[0], columns = call->in[1].desc.dim[1];
    const int32_t *index = call->in[1].data;
    for (int64_t n = 0; n < samples; n++) {
        int32_t row = index[columns * n];
        if (row < 0 || row >= sd[0])
            return ct_fail(CT_EINVAL, "preprocess: index row %" PRId64 " asks for image %" PRId32 " of %" PRId64, n,
                           row, sd[0]);
        preprocess_sample(call, n, (const uint8_t *)call->in[0].data + row * sd[1] * sd[2] * sd[3]);
    }
    return CT_OK;
}

static ct_accept accept_points(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("points are not floating point");
    if (call->in[1].desc.dtype != CT_I32) return ct_accept_no("the index is not i32");
    return ct_accept_yes(0);
}

static ct_status move_points(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_image_attrs *a = &call->attrs.image;
    const int32_t *index = call->in[1].data;
    const int64_t columns = call->in[1].desc.dim[1];
    const int64_t samples = call->in[0].desc.dim[0], points = call->in[0].desc.dim[1];
    for (int64_t n = 0; n < samples; n++) {
        const ct_image_draw d = ct_image_draw_row(a, a->src_h, a->src_w, index + columns * n, columns);
        for (int64_t i = n * points; i < (n + 1) * points; i++) {
            double x, y;
            ct_image_move(&d, ct_ref_at(&call->in[0], 2 * i), ct_ref_at(&call->in[0], 2 * i + 1), &x, &y);
            ct_ref_put(&call->out[0], 2 * i, x);
            ct_ref_put(&call->out[0], 2 * i + 1, y);
        }
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_PREPROCESS, "ref", CT_REF_FLAGS, accept_preprocess, preprocess },
    { CT_OP_MOVE_POINTS, "ref", CT_REF_FLAGS, accept_points, move_points },
};
const ct_impl_set ct_ref_image_impls = CT_IMPL_SET(impls);
