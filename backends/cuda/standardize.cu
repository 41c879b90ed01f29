/* Each sample brought to mean 0 and variance 1 (ref/standardize.c has the formulas): a block to a sample, which goes through it for
 * the mean, against the first element, for the variance, against the mean, and to write; twice in the gradient. What a thread sums is f32,
 * what a block sums of that f64, both in an order that the size of a sample alone decides. Only the first
 * time need it come from memory, as far as the caches hold a sample. */
#include "backends/cuda/dev.cuh"

/* This thread's V elements of a sample of `size` at a time, `size` being a multiple of V. */
#define EACH_PACK(i, size) int64_t i = (int64_t)threadIdx.x * V; i < (size); i += CT_THREADS * V

/* Sums over a sample of x - shift and of its square; every thread gets them. */
template <typename T, int V> __device__ static inline void sample_moments(const T *x, int64_t size, float shift, double *room, double sum[2])
{
    float s = 0, q = 0;
    for (EACH_PACK(i, size)) {
        float v[V];
        ct_get_n<T, V>(x + i, v);
#pragma unroll
        for (int k = 0; k < V; k++) {
            const float d = v[k] - shift;
            s += d;
            q += d * d;
        }
    }
    sum[0] = ct_block_sum((double)s, room);
    sum[1] = ct_block_sum((double)q, room);
}

/* y may lie on x: all of a sample has been read when the second sums are there. */
template <typename T, int V> __global__ void standardize(const T *x, T *y, float *invstd, int64_t count, int64_t size, double eps)
{
    __shared__ double room[CT_THREADS / 32];
    for (int64_t m = blockIdx.x; m < count; m += gridDim.x) {
        const T *from = x + m * size;
        const float shift = ct_get(from[0]);
        double sum[2];
        sample_moments<T, V>(from, size, shift, room, sum);
        const float high = (float)((double)shift + sum[0] / (double)size);
        sample_moments<T, V>(from, size, high, room, sum);
        const double low = sum[0] / (double)size;
        double square = sum[1] - sum[0] * low; /* sum of (x - mean)^2 */
        if (square < 0) square = 0; /* NaN stays */
        const float rest = (float)low, scale = (float)(1 / sqrt(square / (double)size + eps));
        if (threadIdx.x == 0) invstd[m] = scale;
        for (EACH_PACK(i, size)) {
            float v[V];
            ct_get_n<T, V>(from + i, v);
#pragma unroll
            for (int k = 0; k < V; k++) v[k] = ((v[k] - high) - rest) * scale;
            ct_put_n<T, V>(y + m * size + i, v);
        }
    }
}

/* dx may lie on dy. */
template <typename T, int V>
__global__ void standardize_bwd(const T *dy, const T *y, const float *invstd, T *dx, int64_t count, int64_t size)
{
    __shared__ double room[CT_THREADS / 32];
    for (int64_t m = blockIdx.x; m < count; m += gridDim.x) {
        const int64_t at = m * size;
        float s = 0, a = 0, g[V], v[V];
        for (EACH_PACK(i, size)) {
            ct_get_n<T, V>(dy + at + i, g);
            ct_get_n<T, V>(y + at + i, v);
#pragma unroll
            for (int k = 0; k < V; k++) {
                s += g[k];
                a += g[k] * v[k];
            }
        }
        const float mean = (float)(ct_block_sum((double)s, room) / (double)size);
        const float along = (float)(ct_block_sum((double)a, room) / (double)size), scale = invstd[m];
        for (EACH_PACK(i, size)) {
            ct_get_n<T, V>(dy + at + i, g);
            ct_get_n<T, V>(y + at + i, v);
#pragma unroll
            for (int k = 0; k < V; k++) g[k] = scale * ((g[k] - mean) - v[k] * along);
            ct_put_n<T, V>(dx + at + i, g);
        }
    }
}

static ct_accept standardize_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}

static int64_t sample_blocks(int64_t count) { return count < 65536 ? count : 65536; }

template <typename T, int V> static void launch(ct_stream *s, const ct_call *c, int64_t count, int64_t size)
{
    auto k = &standardize<T, V>;
    CT_LAUNCH(k, CT_GRID1(sample_blocks(count)), CT_THREADS, s, (const T *)c->in[0].data, (T *)c->out[0].data, (float *)c->out[1].data, count, size,
              c->attrs.norm.eps);
}

template <typename T, int V> static void launch_bwd(ct_stream *s, const ct_call *c, int64_t count, int64_t size)
{
    auto k = &standardize_bwd<T, V>;
    CT_LAUNCH(k, CT_GRID1(sample_blocks(count)), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data, (const float *)c->in[2].data,
              (T *)c->out[0].data, count, size);
}

static ct_status standardize_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t count = c->in[0].desc.dim[0], size = ct_cuda_numel(&c->in[0].desc) / count;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (size % ct_width<T>::value == 0) launch<T, ct_width<T>::value>(s, c, count, size);
        else launch<T, 1>(s, c, count, size);
    })
    CT_LAUNCHED("standardize");
}

static ct_accept standardize_bwd_accept(const ct_device *dev, const ct_call *c)
{
    return standardize_accept(dev, c);
}

static ct_status standardize_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t count = c->in[0].desc.dim[0], size = ct_cuda_numel(&c->in[0].desc) / count;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (size % ct_width<T>::value == 0) launch_bwd<T, ct_width<T>::value>(s, c, count, size);
        else launch_bwd<T, 1>(s, c, count, size);
    })
    CT_LAUNCHED("standardize_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_STANDARDIZE, "cuda.kernel", CT_CUDA_TUNED, standardize_accept, standardize_run },
    { CT_OP_STANDARDIZE_BWD, "cuda.kernel", CT_CUDA_TUNED, standardize_bwd_accept, standardize_bwd_run },
};
CT_CUDA_SET(standardize)
