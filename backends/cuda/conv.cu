/* Convolutions as plain loops with f64 sums ("cuda.direct"): the yardstick on the device, and what remains where cuDNN has no plan.
 * x [N,H,W,C], w [K,R,S,C/g], y [N,P,Q,K]; one thread per output element. */
#include "backends/cuda/dev.cuh"

struct conv_shape {
    int64_t n, h, w, c, k, r, s, p, q, cg, kg; /* cg, kg: channels and filters of a group */
    int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w;
};

static conv_shape shape_of(const ct_conv_attrs *a, const ct_desc *x, const ct_desc *w, const ct_desc *y)
{
    conv_shape s;
    s.n = x->dim[0];
    s.h = x->dim[1];
    s.w = x->dim[2];
    s.c = x->dim[3];
    s.k = w->dim[0];
    s.r = w->dim[1];
    s.s = w->dim[2];
    s.cg = w->dim[3];
    s.p = y->dim[1];
    s.q = y->dim[2];
    s.kg = s.k / a->groups;
    s.stride_h = a->stride_h;
    s.stride_w = a->stride_w;
    s.pad_h = a->pad_h;
    s.pad_w = a->pad_w;
    s.dil_h = a->dil_h;
    s.dil_w = a->dil_w;
    return s;
}

template <typename T> __global__ void direct(const T *x, const T *w, const T *bias, T *y, conv_shape s)
{
    for (CT_EACH(i, s.n * s.p * s.q * s.k)) {
        int64_t k = i % s.k, q = i / s.k % s.q, p = i / (s.k * s.q) % s.p, n = i / (s.k * s.q * s.p), g = k / s.kg;
        double sum = bias ? (double)ct_get(bias[k]) : 0;
        for (int64_t r = 0; r < s.r; r++) {
            int64_t row = p * s.stride_h - s.pad_h + r * s.dil_h;
            if (row < 0 || row >= s.h) continue;
            for (int64_t j = 0; j < s.s; j++) {
                int64_t col = q * s.stride_w - s.pad_w + j * s.dil_w;
                if (col < 0 || col >= s.w) continue;
                const T *px = x + ((n * s.h + row) * s.w + col) * s.c + g * s.cg, *tap = w + ((k * s.r + r) * s.s + j) * s.cg;
                for (int64_t c = 0; c < s.cg; c++) sum += (double)ct_get(px[c]) * (double)ct_get(tap[c]);
            }
        }
        ct_put(y + i, (float)sum);
    }
}

/* The output coordinate whose tap r reads input coordinate i, or -1. */
__device__ static inline int64_t source_of(int64_t i, int64_t r, int64_t stride, int64_t pad, int64_t dil, int64_t count)
{
    int64_t d = i + pad - r * dil;
    if (d < 0 || d % stride != 0 || d / stride >= count) return -1;
    return d / stride;
}

template <typename T> __global__ void direct_dgrad(const T *dy, const T *w, T *dx, conv_shape s)
{
    for (CT_EACH(i, s.n * s.h * s.w * s.c)) {
        int64_t c = i % s.c, col = i / s.c % s.w, row = i / (s.c * s.w) % s.h, n = i / (s.c * s.w * s.h), g = c / s.cg;
        double sum = 0;
        for (int64_t r = 0; r < s.r; r++) {
            int64_t p = source_of(row, r, s.stride_h, s.pad_h, s.dil_h, s.p);
            if (p < 0) continue;
            for (int64_t j = 0; j < s.s; j++) {
                int64_t q = source_of(col, j, s.stride_w, s.pad_w, s.dil_w, s.q);
                if (q < 0) continue;
                const T *from = dy + ((n * s.p + p) * s.q + q) * s.k + g * s.kg;
                const T *tap = w + ((g * s.kg * s.r + r) * s.s + j) * s.cg + (c - g * s.cg);
                for (int64_t k = 0; k < s.kg; k++)
                    sum += (double)ct_get(from[k]) * (double)ct_get(tap[k * s.r * s.s * s.cg]);
            }
        }
        ct_put(dx + i, (float)sum);
    }
}

/* A block for each element of dw: its threads share the output pixels. */
template <typename T> __global__ void direct_wgrad(const T *x, const T *dy, T *dw, conv_shape s)
{
    __shared__ double room[CT_THREADS / 32];
    int64_t pixels = s.n * s.p * s.q;
    for (int64_t i = blockIdx.x; i < s.k * s.r * s.s * s.cg; i += gridDim.x) {
        int64_t c = i % s.cg, j = i / s.cg % s.s, r = i / (s.cg * s.s) % s.r, k = i / (s.cg * s.s * s.r), g = k / s.kg;
        double sum = 0;
        for (int64_t m = threadIdx.x; m < pixels; m += CT_THREADS) {
            int64_t q = m % s.q, p = m / s.q % s.p, n = m / (s.q * s.p);
            int64_t row = p * s.stride_h - s.pad_h + r * s.dil_h, col = q * s.stride_w - s.pad_w + j * s.dil_w;
            if (row < 0 || row >= s.h || col < 0 || col >= s.w) continue;
            sum += (double)ct_get(x[((n * s.h + row) * s.w + col) * s.c + g * s.cg + c]) * (double)ct_get(dy[m * s.k + k]);
        }
        sum = ct_block_sum(sum, room);
        if (threadIdx.x == 0) ct_put(dw + i, (float)sum);
    }
}

static ct_accept conv2d_direct_accept(const ct_device *dev, const ct_call *c)
{
    if (c->nout > 1) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return ct_cuda_factors(dev, c);
}
static ct_status conv2d_direct_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    conv_shape g = shape_of(&c->attrs.conv, &c->in[0].desc, &c->in[1].desc, &c->out[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &direct<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc))), CT_THREADS, s, (const T *)c->in[0].data,
                  (const T *)c->in[1].data, ct_cuda_has(c, 2) ? (const T *)c->in[2].data : (const T *)NULL, (T *)c->out[0].data, g);
    })
    CT_LAUNCHED("conv2d");
}
static ct_accept conv2d_dgrad_direct_accept(const ct_device *dev, const ct_call *c)
{
    if (ct_cuda_has(c, 2)) return ct_accept_no(CT_CUDA_NO_SUM);
    return ct_cuda_factors(dev, c);
}
static ct_status conv2d_dgrad_direct_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    conv_shape g = shape_of(&c->attrs.conv, &c->out[0].desc, &c->in[1].desc, &c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &direct_dgrad<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc))), CT_THREADS, s, (const T *)c->in[0].data,
                  (const T *)c->in[1].data, (T *)c->out[0].data, g);
    })
    CT_LAUNCHED("conv2d_dgrad");
}
static ct_accept conv2d_wgrad_direct_accept(const ct_device *dev, const ct_call *c)
{
    return ct_cuda_factors(dev, c);
}
static ct_status conv2d_wgrad_direct_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    conv_shape g = shape_of(&c->attrs.conv, &c->in[0].desc, &c->out[0].desc, &c->in[1].desc);
    int64_t n = ct_cuda_numel(&c->out[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &direct_wgrad<T>;
        CT_LAUNCH(k, CT_GRID1(n < 65535 ? n : 65535), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data,
                  (T *)c->out[0].data, g);
    })
    CT_LAUNCHED("conv2d_wgrad");
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cuda.direct", CT_CUDA_YARDSTICK, conv2d_direct_accept, conv2d_direct_run },
    { CT_OP_CONV2D_DGRAD, "cuda.direct", CT_CUDA_YARDSTICK, conv2d_dgrad_direct_accept, conv2d_dgrad_direct_run },
    { CT_OP_CONV2D_WGRAD, "cuda.direct", CT_CUDA_YARDSTICK, conv2d_wgrad_direct_accept, conv2d_wgrad_direct_run },
};
CT_CUDA_SET(conv)
