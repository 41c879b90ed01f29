/* upsample_bilinear and its gradient: a thread for V neighbouring channels of an output pixel. The gradient gathers
 * from the pixels that read one, rows before columns, so nothing is added atomically. upsample_nearest and its gradient: a thread for V
 * neighbouring channels of a pixel of the small image and its square of the large one. */
#include "backends/cuda/dev.cuh"
#include "ops/math/resample_math.h"

struct upsample_shape {
    int64_t n, h, w, c; /* of the small image */
    int shift;
};

template <typename T, int V> __global__ void upsample(const T *x, T *y, upsample_shape s)
{
    const int64_t cv = s.c / V, p = s.h << s.shift, q = s.w << s.shift;
    for (CT_EACH(i, s.n * p * q * cv)) {
        const ct_pixel t = ct_locate(i, cv, q, p, V);
        int64_t r0, r1, c0, c1;
        const float wr = (float)ct_upsample_axis(t.a, s.shift, s.h, &r0, &r1);
        const float wc = (float)ct_upsample_axis(t.b, s.shift, s.w, &c0, &c1);
        const T *top = x + (t.n * s.h + r0) * s.w * s.c + t.c, *low = x + (t.n * s.h + r1) * s.w * s.c + t.c;
        float a[V], b[V], c[V], d[V];
        ct_get_n<T, V>(top + c0 * s.c, a);
        ct_get_n<T, V>(top + c1 * s.c, b);
        ct_get_n<T, V>(low + c0 * s.c, c);
        ct_get_n<T, V>(low + c1 * s.c, d);
#pragma unroll
        for (int k = 0; k < V; k++)
            a[k] = (1 - wr) * ((1 - wc) * a[k] + wc * b[k]) + wr * ((1 - wc) * c[k] + wc * d[k]);
        ct_put_n<T, V>(y + i * V, a);
    }
}

template <typename T, int V> __global__ void upsample_bwd(const T *dy, T *dx, upsample_shape s)
{
    const int64_t cv = s.c / V, p = s.h << s.shift, q = s.w << s.shift;
    for (CT_EACH(i, s.n * s.h * s.w * cv)) {
        const ct_pixel t = ct_locate(i, cv, s.w, s.h, V);
        int64_t p0, p1, q0, q1;
        float sum[V] = {}, g[V];
        ct_upsample_range(t.a, s.shift, s.h, &p0, &p1);
        ct_upsample_range(t.b, s.shift, s.w, &q0, &q1);
        for (int64_t row = p0; row < p1; row++) {
            const float wr = (float)ct_upsample_weight(row, t.a, s.shift, s.h);
            const T *from = dy + (t.n * p + row) * q * s.c + t.c;
            for (int64_t col = q0; col < q1; col++) {
                const float w = wr * (float)ct_upsample_weight(col, t.b, s.shift, s.w);
                ct_get_n<T, V>(from + col * s.c, g);
#pragma unroll
                for (int k = 0; k < V; k++) sum[k] += w * g[k];
            }
        }
        ct_put_n<T, V>(dx + i * V, sum);
    }
}

template <typename T, int V> static void launch(ct_stream *s, const ct_call *c, bool bwd)
{
    const int64_t *d = bwd ? c->out[0].desc.dim : c->in[0].desc.dim;
    const upsample_shape shape = { d[0], d[1], d[2], d[3], ct_upsample_shift(c->attrs.resample.scale) };
    auto k = bwd ? &upsample_bwd<T, V> : &upsample<T, V>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc) / V)), CT_THREADS, s, (const T *)c->in[0].data,
              (T *)c->out[0].data, shape);
}

static ct_status run(ct_stream *s, const ct_call *c, bool bwd)
{
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) launch<T, ct_width<T>::value>(s, c, bwd);
        else launch<T, 1>(s, c, bwd);
    })
    CT_LAUNCHED(bwd ? "upsample_bilinear_bwd" : "upsample_bilinear");
}

static ct_accept accept(const ct_call *c)
{
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}

static ct_accept upsample_bilinear_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept(c);
}
static ct_status upsample_bilinear_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run(s, c, false);
}
static ct_accept upsample_bilinear_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept(c);
}
static ct_status upsample_bilinear_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run(s, c, true);
}

/* ---- nearest ---- */

/* The first element of the square of pixel t in the large image. */
__device__ static inline int64_t square_of(ct_pixel t, upsample_shape s)
{
    return (((t.n * s.h + t.a) << s.shift) * s.w + t.b) * (s.c << s.shift) + t.c;
}

template <typename T, int V> __global__ void nearest(const T *x, T *y, upsample_shape s)
{
    const int64_t scale = (int64_t)1 << s.shift, line = s.w * s.c << s.shift;
    for (CT_EACH(i, s.n * s.h * s.w * (s.c / V))) {
        const ct_pack<T, V> v = *reinterpret_cast<const ct_pack<T, V> *>(x + i * V);
        T *to = y + square_of(ct_locate(i, s.c / V, s.w, s.h, V), s);
        for (int64_t p = 0; p < scale; p++)
            for (int64_t q = 0; q < scale; q++) *reinterpret_cast<ct_pack<T, V> *>(to + p * line + q * s.c) = v;
    }
}

template <typename T, int V> __global__ void nearest_bwd(const T *dy, T *dx, upsample_shape s)
{
    const int64_t scale = (int64_t)1 << s.shift, line = s.w * s.c << s.shift;
    for (CT_EACH(i, s.n * s.h * s.w * (s.c / V))) {
        const T *from = dy + square_of(ct_locate(i, s.c / V, s.w, s.h, V), s);
        float sum[V] = {}, g[V];
        for (int64_t p = 0; p < scale; p++)
            for (int64_t q = 0; q < scale; q++) {
                ct_get_n<T, V>(from + p * line + q * s.c, g);
#pragma unroll
                for (int k = 0; k < V; k++) sum[k] += g[k];
            }
        ct_put_n<T, V>(dx + i * V, sum);
    }
}

template <typename T, int V> static void launch_nearest(ct_stream *s, const ct_call *c, bool bwd)
{
    const ct_desc *small = bwd ? &c->out[0].desc : &c->in[0].desc;
    const int64_t *d = small->dim;
    const upsample_shape shape = { d[0], d[1], d[2], d[3], ct_upsample_shift(c->attrs.resample.scale) };
    auto k = bwd ? &nearest_bwd<T, V> : &nearest<T, V>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(small) / V)), CT_THREADS, s, (const T *)c->in[0].data, (T *)c->out[0].data, shape);
}

static ct_status run_nearest(ct_stream *s, const ct_call *c, bool bwd)
{
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) launch_nearest<T, ct_width<T>::value>(s, c, bwd);
        else launch_nearest<T, 1>(s, c, bwd);
    })
    CT_LAUNCHED(bwd ? "upsample_nearest_bwd" : "upsample_nearest");
}

static ct_accept upsample_nearest_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept(c);
}
static ct_status upsample_nearest_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_nearest(s, c, false);
}
static ct_accept upsample_nearest_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept(c);
}
static ct_status upsample_nearest_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_nearest(s, c, true);
}

static const ct_impl impls[] = {
    { CT_OP_UPSAMPLE_BILINEAR, "cuda.kernel", CT_CUDA_TUNED, upsample_bilinear_accept, upsample_bilinear_run },
    { CT_OP_UPSAMPLE_BILINEAR_BWD, "cuda.kernel", CT_CUDA_TUNED, upsample_bilinear_bwd_accept, upsample_bilinear_bwd_run },
    { CT_OP_UPSAMPLE_NEAREST, "cuda.kernel", CT_CUDA_TUNED, upsample_nearest_accept, upsample_nearest_run },
    { CT_OP_UPSAMPLE_NEAREST_BWD, "cuda.kernel", CT_CUDA_TUNED, upsample_nearest_bwd_accept, upsample_nearest_bwd_run },
};
CT_CUDA_SET(resample)
