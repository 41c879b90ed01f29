/* preprocess: src u8 [M,Hs,Ws,C], index i32 [N,3], window? [N,4] -> x [N,H,W,C or more], with the arithmetic of ops/math/image_math.h:
 * gather, resize, augment, normalise, mask, cast and pad channels in one pass. What is drawn for a sample is computed once by a thread of its own.
 * A row outside src cannot be reported from here (the loader never makes one): its pixels become NaN, which the run's NaN policy
 * finds. */
#include "backends/cuda/dev.cuh"
#include "ops/math/image_math.h"

__global__ void draw_samples(const int32_t *index, int64_t samples, ct_image_attrs a, int64_t hs, int64_t ws, ct_image_draw *draw)
{
    for (CT_EACH(n, samples)) draw[n] = ct_image_draw_sample(&a, hs, ws, index[3 * n + 1], index[3 * n + 2]);
}

__device__ static inline int64_t clamp_index(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* The sampled image at (i,j), blurred: weights over the neighbouring output pixels, edge pixels repeated. */
__device__ static double blurred(const ct_image_attrs *a, const ct_image_draw *d, const uint8_t *src, int64_t hs, int64_t ws,
                                 int64_t channels, int64_t i, int64_t j, int64_t ch)
{
    double sum = 0;
    for (int r = -d->radius; r <= d->radius; r++)
        for (int s = -d->radius; s <= d->radius; s++) {
            ct_image_point p = ct_image_locate(d, hs, ws, clamp_index(i + r, a->out_h), clamp_index(j + s, a->out_w));
            sum += d->tap[r < 0 ? -r : r] * d->tap[s < 0 ? -s : s] * ct_image_fetch(src, ws, channels, &p, ch, a->fill);
        }
    return sum;
}

/* One channel of an output pixel of a sample, by its number within the image. */
__device__ static float channel_of(const ct_image_attrs *a, const ct_image_draw *d, const uint8_t *src, int64_t hs, int64_t ws,
                                   int64_t channels, int64_t pixel, int64_t ch)
{
    int64_t element = pixel * channels + ch;
    double normal[4] = { 0, 0, 0, 0 };
    if (!src) return NAN;
    if (d->noise > 0) ct_image_noise4(d, (uint64_t)element >> 2, normal);
    double v = blurred(a, d, src, hs, ws, channels, pixel / a->out_w, pixel % a->out_w, ch);
    return (float)ct_image_finish(a, d, v, normal[element & 3], ch);
}

/* The same where there is no picture. */
__device__ static float padding_of(const ct_image_attrs *a, const uint8_t *src, int64_t ch)
{
    return src ? (float)ct_image_normalise(a, a->fill, ch) : NAN;
}

/* Is a pixel of a sample picture? */
__device__ static bool inside(const ct_image_attrs *a, const ct_image_draw *d, const float *window, int64_t hs,
                              int64_t ws, int64_t pixel)
{
    const double w[4] = { (double)window[0], (double)window[1], (double)window[2], (double)window[3] };
    return ct_image_inside(d, w, hs, ws, pixel / a->out_w, pixel % a->out_w);
}

/* A thread writes a pixel, `stored` channels: C of the image, with windows the mask, zeros behind them. With P > 1 they go out as packs
 * of P elements, the first of which holds all of the at most 3 channels of an image and the mask. */
template <typename T, int P>
__global__ void preprocess(const uint8_t *src, const int32_t *index, const float *windows, const ct_image_draw *draw,
                           T *x, int64_t samples, int64_t rows, int64_t hs, int64_t ws, int64_t channels,
                           int64_t stored, ct_image_attrs a)
{
    int64_t pixels = a.out_h * a.out_w;
    for (CT_EACH(e, samples * pixels)) {
        int64_t n = e / pixels, pixel = e % pixels;
        int32_t row = index[3 * n];
        const uint8_t *image = row < 0 || row >= rows ? NULL : src + row * hs * ws * channels;
        const bool picture = !windows || inside(&a, draw + n, windows + 4 * n, hs, ws, pixel);
        const float mask = windows && picture ? 1.0f : 0.0f;
        T *to = x + e * stored;
        if (P > 1) {
            float v[P] = { 0 }, zeros[P] = { 0 };
#pragma unroll
            for (int ch = 0; ch < 3 && ch < P; ch++)
                if (ch < channels)
                    v[ch] = picture ? channel_of(&a, draw + n, image, hs, ws, channels, pixel, ch)
                                    : padding_of(&a, image, ch);
#pragma unroll
            for (int ch = 1; ch < 4 && ch < P; ch++)
                if (ch == channels) v[ch] = mask;
            ct_put_n<T, P>(to, v);
            for (int64_t ch = P; ch < stored; ch += P) ct_put_n<T, P>(to + ch, zeros);
        } else {
            for (int64_t ch = 0; ch < stored; ch++)
                ct_put(to + ch, ch > channels    ? 0
                                : ch == channels ? mask
                                : picture        ? channel_of(&a, draw + n, image, hs, ws, channels, pixel, ch)
                                                 : padding_of(&a, image, ch));
        }
    }
}

template <typename T, int P> static void launch(ct_stream *s, const ct_call *c, const ct_image_draw *draw)
{
    const int64_t *sd = c->in[0].desc.dim, *xd = c->out[0].desc.dim;
    auto k = &preprocess<T, P>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(xd[0] * xd[1] * xd[2])), CT_THREADS, s, (const uint8_t *)c->in[0].data,
              (const int32_t *)c->in[1].data, ct_cuda_has(c, 2) ? (const float *)c->in[2].data : (const float *)NULL,
              draw, (T *)c->out[0].data, xd[0], sd[0], sd[1], sd[2], sd[3], xd[3], c->attrs.image);
}

static ct_accept preprocess_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (!ct_cuda_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    if (ct_cuda_has(c, 2) && c->in[2].desc.dtype != CT_F32) return ct_accept_no("cuda: the window is not f32");
    return ct_accept_yes((size_t)c->in[1].desc.dim[0] * sizeof(ct_image_draw));
}
static ct_status preprocess_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t *sd = c->in[0].desc.dim, samples = c->in[1].desc.dim[0];
    ct_image_draw *draw = (ct_image_draw *)scratch;
    CT_LAUNCH(&draw_samples, CT_GRID1(ct_blocks(samples)), CT_THREADS, s, (const int32_t *)c->in[1].data, samples, c->attrs.image,
              sd[1], sd[2], draw);
    CT_BY_TYPE(c->out[0].desc.dtype, {
        if (c->out[0].desc.dim[3] % ct_width<T>::value == 0) launch<T, ct_width<T>::value>(s, c, draw);
        else launch<T, 1>(s, c, draw);
    })
    CT_LAUNCHED("preprocess");
}

/* ---- move_points: a thread to a point; there are few, so each draws for itself ---- */

__global__ void move(const float *points, const int32_t *index, float *moved, int64_t total, int64_t each,
                     ct_image_attrs a)
{
    for (CT_EACH(i, total)) {
        const int64_t n = i / each;
        const ct_image_draw d = ct_image_draw_sample(&a, a.src_h, a.src_w, index[3 * n + 1], index[3 * n + 2]);
        double x, y;
        ct_image_move(&d, (double)points[2 * i], (double)points[2 * i + 1], &x, &y);
        moved[2 * i] = (float)x;
        moved[2 * i + 1] = (float)y;
    }
}

static ct_accept move_points_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: points are not f32");
}
static ct_status move_points_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    CT_LAUNCH(&move, CT_GRID1(ct_blocks(d[0] * d[1])), CT_THREADS, s, (const float *)c->in[0].data,
              (const int32_t *)c->in[1].data, (float *)c->out[0].data, d[0] * d[1], d[1], c->attrs.image);
    CT_LAUNCHED("move_points");
}

static const ct_impl impls[] = {
    { CT_OP_PREPROCESS, "cuda.kernel", CT_CUDA_TUNED, preprocess_accept, preprocess_run },
    { CT_OP_MOVE_POINTS, "cuda.kernel", CT_CUDA_TUNED, move_points_accept, move_points_run },
};
CT_CUDA_SET(image)
