/* preprocess: src u8 [M,Hs,Ws,C], index i32 [N,3] or [N,4], window? [N,4] -> x [N,H,W,C or more]: gather, crop, mirror, resize, augment, normalise, mask, cast and
 * pad channels in one pass. ops/math/image_math.h says what each of these is. What is drawn for a sample, where a pixel lies in the source and
 * whether it is picture are computed in f64 as there: rounded to f32, a place in a large picture would be off by more than the result may be,
 * and the mask would be another. Everything behind that is f32: weights, values, blur, colours and the normal numbers, which are made of the
 * same words of Philox.
 * A row outside src cannot be reported from here (the loader never makes one): its pixels become NaN, which the run's NaN policy
 * finds. */
#include <limits.h>

#include "backends/cuda/dev.cuh"
#include "ops/math/image_math.h"

/* What the pixels of a sample share, computed once by a thread of its own. */
struct alignas(16) view {
    double u0, ui, uj, v0, vi, vj; /* output pixel (i,j) -> column u0 + ui*i + uj*j, row v0 + vi*i + vj*j of the source; centres are whole numbers */
    float tap[CT_BLUR_MAX_RADIUS + 1];
    float slope, offset, noise; /* of values in 0..255 and of normal numbers, to [0,1] */
    ct_image_draw draw;
};

/* Of all samples of a call. */
struct picture {
    int hs, ws, h, w, channels, stored;
    float mean[CT_IMAGE_CHANNELS], scale[CT_IMAGE_CHANNELS], fill; /* scale: 1 / std */
};

__global__ void draw_samples(const int32_t *index, int64_t columns, int64_t samples, ct_image_attrs a, int64_t hs, int64_t ws, view *views)
{
    for (CT_EACH(n, samples)) {
        const ct_image_draw d = ct_image_draw_row(&a, hs, ws, index + columns * n, columns);
        const double x = 0.5 - d.cx - d.shift_x, y = 0.5 - d.cy - d.shift_y; /* of pixel (0,0), from the centre that it is turned about */
        view *s = views + n;
        const double u = d.augmented ? d.cx + d.ixx * x + d.ixy * y : 0.5, across = d.mirrored ? -d.ratio_x : d.ratio_x;
        s->draw = d;
        s->u0 = (d.mirrored ? 2 * d.cx - u : u) * d.ratio_x + (d.left - 0.5);
        s->v0 = (d.augmented ? d.cy + d.iyx * x + d.iyy * y : 0.5) * d.ratio_y + (d.top - 0.5);
        s->ui = d.ixy * across;
        s->uj = d.ixx * across;
        s->vi = d.iyy * d.ratio_y;
        s->vj = d.iyx * d.ratio_y;
        for (int i = 0; i <= CT_BLUR_MAX_RADIUS; i++) s->tap[i] = (float)d.tap[i];
        s->slope = (float)(d.contrast / 255);
        s->offset = (float)(0.5 - 0.5 * d.contrast + d.brightness);
        s->noise = (float)d.noise;
    }
}

/* ---- where a pixel comes from ---- */

/* A place on a line of pixels: a whole number and what is beyond it, so that f32 holds the weights of pictures of any size. */
struct place { int at; float beyond; };
__device__ static inline place place_of(double u)
{
    const double held = fmin(fmax(u, -(double)(INT_MAX / 4)), (double)(INT_MAX / 4)), whole = floor(held);
    place p = { (int)whole, (float)(held - whole) };
    return p;
}

/* ct_image_axis() of place p + step: the two nearest pixels, the weight of the second, the share that falls on real pixels. */
struct axis { int first, second; float weight, cover; };
__device__ static inline axis axis_of(place p, float step, int n)
{
    const float f = p.beyond + step, whole = floorf(f);
    axis a = { p.at + (int)whole, 0, f - whole, 1 };
    if (a.first < 0) {
        a.cover = a.first == -1 ? a.weight : 0;
        a.first = 0;
        a.weight = 0;
    } else if (a.first >= n - 1) {
        a.cover = a.first == n - 1 ? 1 - a.weight : 0;
        a.first = n - 1;
        a.weight = 0;
    }
    a.second = a.first + 1 < n ? a.first + 1 : a.first;
    return a;
}

__device__ static inline int clamp_index(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* Adds `share` of the source's values at columns c and rows r to those of a pixel's channels. */
__device__ static inline void add_values(const picture &g, const uint8_t *src, const axis &c, const axis &r, float share, float v[CT_IMAGE_CHANNELS])
{
    const uint8_t *top = src + (int64_t)r.first * g.ws * g.channels, *bottom = src + (int64_t)r.second * g.ws * g.channels;
    const int left = c.first * g.channels, right = c.second * g.channels;
    const bool whole = c.weight == 0 && r.weight == 0; /* neither moved nor resized: one pixel of the source */
#pragma unroll
    for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++) {
        if (ch >= g.channels) break;
        float here = (float)top[left + ch];
        if (!whole) {
            const float below = (float)bottom[left + ch];
            here += ((float)top[right + ch] - here) * c.weight;
            here += (below + ((float)bottom[right + ch] - below) * c.weight - here) * r.weight;
        }
        v[ch] += share * here;
    }
}

/* Values in 0..255 of the channels of output pixel (i,j), blurred: weights over the neighbouring output pixels, edge pixels repeated. */
__device__ static void sample_pixel(const picture &g, const view *s, const uint8_t *src, int i, int j, float v[CT_IMAGE_CHANNELS])
{
    const place column = place_of(s->u0 + s->ui * i + s->uj * j), row = place_of(s->v0 + s->vi * i + s->vj * j);
    const bool augmented = s->draw.augmented;
    const int radius = s->draw.radius;
    float missing = 0; /* share that falls outside of the source */
    for (int a = -radius; a <= radius; a++) {
        const float down = (float)(clamp_index(i + a, g.h) - i);
        for (int b = -radius; b <= radius; b++) {
            const float across = (float)(clamp_index(j + b, g.w) - j), tap = s->tap[a < 0 ? -a : a] * s->tap[b < 0 ? -b : b];
            const axis c = axis_of(column, (float)s->ui * down + (float)s->uj * across, g.ws),
                       r = axis_of(row, (float)s->vi * down + (float)s->vj * across, g.hs);
            const float cover = augmented ? c.cover * r.cover : 1;
            add_values(g, src, c, r, tap * cover, v);
            missing += tap * (1 - cover);
        }
    }
#pragma unroll
    for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++) v[ch] += 255 * g.fill * missing;
}

/* ---- what becomes of its values ---- */

/* ct_image_noise4()'s number of `element`, of whose block the words are given, and none of the three beside it. Of a number close to 1 the
 * logarithm is that of 1 less what it lacks, which f32 holds. */
__device__ static inline float normal_of(const ct_philox &words, unsigned element)
{
    const uint32_t size = element & 2 ? words.v[2] : words.v[0], turn = element & 2 ? words.v[3] : words.v[1];
    const float unit = 1.0f / 4294967296.0f, angle = (float)(int32_t)turn * (2 * unit); /* in half turns */
    const float length = sqrtf(-2 * (size >> 31 ? log1pf(-(float)~size * unit) : logf((float)(size + 1) * unit)));
    return length * (element & 1 ? sinpif(angle) : cospif(angle));
}

/* Contrast, brightness, noise, clamping and normalising, in place: values in 0..255 become those of x. */
__device__ static void finish_pixel(const picture &g, const view *s, int pixel, float v[CT_IMAGE_CHANNELS])
{
    const float noise = s->noise;
    uint64_t block = 0; /* of random words, four elements of [H,W,C] each */
    ct_philox words = { { 0, 0, 0, 0 } };
#pragma unroll
    for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++) {
        if (ch >= g.channels) break;
        float x = v[ch] * s->slope + s->offset;
        if (noise > 0) {
            const uint64_t element = (uint64_t)pixel * (unsigned)g.channels + (unsigned)ch;
            if (ch == 0 || element >> 2 != block) words = ct_image_noise_words(&s->draw, block = element >> 2);
            x += noise * normal_of(words, (unsigned)element);
        }
        if (s->draw.augmented) x = x < 0 ? 0 : x > 1 ? 1 : x;
        v[ch] = (x - g.mean[ch]) * g.scale[ch];
    }
}

/* Is pixel (i,j) of a sample picture? */
__device__ static inline bool inside(const picture &g, const view *s, const float *window, int i, int j)
{
    const double w[4] = { (double)window[0], (double)window[1], (double)window[2], (double)window[3] };
    return ct_image_inside(&s->draw, w, g.hs, g.ws, i, j);
}

/* Writes a pixel of g.stored channels: those of the image, with windows the mask, zeros behind them. With P > 1 they go out as packs of P
 * elements, the first of which holds all of the at most 3 channels of an image and the mask. */
template <typename T, int P> __device__ static inline void put_pixel(const picture &g, T *to, const float v[CT_IMAGE_CHANNELS], float mask)
{
    if constexpr (P > 1) {
        float first[P] = { 0 }, zeros[P] = { 0 };
#pragma unroll
        for (int ch = 0; ch <= CT_IMAGE_CHANNELS && ch < P; ch++)
            first[ch] = ch == g.channels ? mask : ch < g.channels && ch < CT_IMAGE_CHANNELS ? v[ch] : 0;
        ct_put_n<T, P>(to, first);
        for (int ch = P; ch < g.stored; ch += P) ct_put_n<T, P>(to + ch, zeros);
    } else {
#pragma unroll
        for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++)
            if (ch < g.channels) ct_put(to + ch, v[ch]);
        for (int ch = g.channels; ch < g.stored; ch++) ct_put(to + ch, ch == g.channels ? mask : 0);
    }
}

/* A thread to a pixel, rows of blocks to samples. */
template <typename T, int P>
__global__ void preprocess(const uint8_t *src, const int32_t *index, int64_t columns, const float *windows, const view *views, T *x, int64_t samples,
                           int64_t rows, picture g)
{
    const int pixels = g.h * g.w;
    for (int64_t n = blockIdx.y; n < samples; n += gridDim.y) {
        const int32_t row = index[columns * n];
        const uint8_t *image = src + (int64_t)row * g.hs * g.ws * g.channels;
        for (int pixel = (int)(blockIdx.x * blockDim.x + threadIdx.x); pixel < pixels; pixel += (int)(gridDim.x * blockDim.x)) {
            const int i = pixel / g.w, j = pixel - i * g.w;
            const bool shown = !windows || inside(g, views + n, windows + 4 * n, i, j);
            float v[CT_IMAGE_CHANNELS] = { 0 };
            if (row < 0 || row >= rows) {
#pragma unroll
                for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++) v[ch] = NAN;
            } else if (shown) {
                sample_pixel(g, views + n, image, i, j, v);
                finish_pixel(g, views + n, pixel, v);
            } else {
#pragma unroll
                for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++) v[ch] = (g.fill - g.mean[ch]) * g.scale[ch];
            }
            put_pixel<T, P>(g, x + (n * pixels + pixel) * g.stored, v, windows && shown ? 1.0f : 0.0f);
        }
    }
}

template <typename T, int P> static void launch(ct_stream *s, const ct_call *c, const view *views)
{
    const ct_image_attrs *a = &c->attrs.image;
    const int64_t *sd = c->in[0].desc.dim, *xd = c->out[0].desc.dim;
    picture g = { (int)sd[1], (int)sd[2], (int)xd[1], (int)xd[2], (int)sd[3], (int)xd[3], { 0 }, { 0 }, (float)a->fill };
    for (int ch = 0; ch < CT_IMAGE_CHANNELS; ch++) {
        g.mean[ch] = (float)a->mean[ch];
        g.scale[ch] = (float)(1 / a->std[ch]);
    }
    auto k = &preprocess<T, P>;
    CT_LAUNCH(k, CT_GRID2(ct_blocks(xd[1] * xd[2]), xd[0] < 65535 ? xd[0] : 65535), CT_THREADS, s, (const uint8_t *)c->in[0].data,
              (const int32_t *)c->in[1].data, c->in[1].desc.dim[1], ct_cuda_has(c, 2) ? (const float *)c->in[2].data : (const float *)NULL, views,
              (T *)c->out[0].data, xd[0], sd[0], g);
}

static ct_accept preprocess_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const int64_t *sd = c->in[0].desc.dim, *xd = c->out[0].desc.dim;
    if (!ct_cuda_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    if (ct_cuda_has(c, 2) && c->in[2].desc.dtype != CT_F32) return ct_accept_no("cuda: the window is not f32");
    if (sd[1] * sd[2] > INT_MAX / 4 || xd[1] * xd[2] > INT_MAX / 4) return ct_accept_no("cuda: pictures of more than 2^29 pixels");
    return ct_accept_yes((size_t)c->in[1].desc.dim[0] * sizeof(view));
}
static ct_status preprocess_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t *sd = c->in[0].desc.dim, samples = c->in[1].desc.dim[0];
    view *views = (view *)scratch;
    CT_LAUNCH(&draw_samples, CT_GRID1(ct_blocks(samples)), CT_THREADS, s, (const int32_t *)c->in[1].data, c->in[1].desc.dim[1], samples,
              c->attrs.image, sd[1], sd[2], views);
    CT_BY_TYPE(c->out[0].desc.dtype, {
        if (c->out[0].desc.dim[3] % ct_width<T>::value == 0) launch<T, ct_width<T>::value>(s, c, views);
        else launch<T, 1>(s, c, views);
    })
    CT_LAUNCHED("preprocess");
}

/* ---- move_points: a thread to a point; there are few, so each draws for itself ---- */

__global__ void move(const float *points, const int32_t *index, int64_t columns, float *moved, int64_t total, int64_t each,
                     ct_image_attrs a)
{
    for (CT_EACH(i, total)) {
        const int64_t n = i / each;
        const ct_image_draw d = ct_image_draw_row(&a, a.src_h, a.src_w, index + columns * n, columns);
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
              (const int32_t *)c->in[1].data, c->in[1].desc.dim[1], (float *)c->out[0].data, d[0] * d[1], d[1], c->attrs.image);
    CT_LAUNCHED("move_points");
}

static const ct_impl impls[] = {
    { CT_OP_PREPROCESS, "cuda.kernel", CT_CUDA_TUNED, preprocess_accept, preprocess_run },
    { CT_OP_MOVE_POINTS, "cuda.kernel", CT_CUDA_TUNED, move_points_accept, move_points_run },
};
CT_CUDA_SET(image)
