/* fuse_weighted and its gradient: one pass over memory. The two shares, which take logarithms and exponentials in f64, are computed
 * once for a block; the gradient's two sums are left by each block in scratch [blocks][2] and added by one block at the end. */
#include "backends/cuda/dev.cuh"
#include "ops/math/fuse_math.h"

enum { MOST_BLOCKS = 1024 }; /* few enough that the shares of each are not what it costs */

static inline int64_t blocks_for(int64_t vectors)
{
    int64_t b = ct_blocks(vectors);
    return b < MOST_BLOCKS ? b : (int64_t)MOST_BLOCKS;
}

/* The shares as f32; room [2] is shared memory. All threads of the block call it. */
__device__ static inline void shares(const float *w, float *room, float *p, float *q)
{
    if (threadIdx.x == 0) {
        ct_fuse_shares s = ct_fuse_shares_of((double)w[0], (double)w[1]);
        room[0] = (float)s.a;
        room[1] = (float)s.b;
    }
    __syncthreads();
    *p = room[0];
    *q = room[1];
}

template <typename T> __global__ void forward(const T *a, const T *b, const float *w, T *y, int64_t n)
{
    const int V = ct_width<T>::value;
    __shared__ float room[2];
    float p, q;
    shares(w, room, &p, &q);
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float u[V], v[V];
            ct_get_n<T, V>(a + at, u);
            ct_get_n<T, V>(b + at, v);
#pragma unroll
            for (int k = 0; k < V; k++) u[k] = p * u[k] + q * v[k];
            ct_put_n<T, V>(y + at, u);
        } else {
            for (int64_t k = at; k < n; k++) ct_put(y + k, p * ct_get(a[k]) + q * ct_get(b[k]));
        }
    }
}

/* da may lie on dy. */
template <typename T>
__global__ void backward(const T *dy, const T *a, const T *b, const float *w, T *da, T *db, double *part, int64_t n)
{
    const int V = ct_width<T>::value;
    __shared__ float coef[2];
    __shared__ double room[CT_THREADS / 32];
    float p, q;
    double sum_a = 0, sum_b = 0;
    shares(w, coef, &p, &q);
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float g[V], u[V], v[V], few_a = 0, few_b = 0;
            ct_get_n<T, V>(dy + at, g);
            ct_get_n<T, V>(a + at, u);
            ct_get_n<T, V>(b + at, v);
#pragma unroll
            for (int k = 0; k < V; k++) {
                few_a += g[k] * u[k];
                few_b += g[k] * v[k];
                u[k] = p * g[k];
                v[k] = q * g[k];
            }
            sum_a += (double)few_a;
            sum_b += (double)few_b;
            ct_put_n<T, V>(da + at, u);
            ct_put_n<T, V>(db + at, v);
        } else {
            for (int64_t k = at; k < n; k++) {
                float g = ct_get(dy[k]);
                sum_a += (double)g * (double)ct_get(a[k]);
                sum_b += (double)g * (double)ct_get(b[k]);
                ct_put(da + k, p * g);
                ct_put(db + k, q * g);
            }
        }
    }
    sum_a = ct_block_sum(sum_a, room);
    sum_b = ct_block_sum(sum_b, room);
    if (threadIdx.x != 0) return;
    part[2 * (int64_t)blockIdx.x] = sum_a;
    part[2 * (int64_t)blockIdx.x + 1] = sum_b;
}

__global__ void finish(const double *part, int64_t parts, const float *w, float *dw)
{
    __shared__ double room[CT_THREADS / 32];
    double a = 0, b = 0;
    for (int64_t i = threadIdx.x; i < parts; i += CT_THREADS) {
        a += part[2 * i];
        b += part[2 * i + 1];
    }
    a = ct_block_sum(a, room);
    b = ct_block_sum(b, room);
    if (threadIdx.x != 0) return;
    ct_fuse_shares d = ct_fuse_gradient((double)w[0], (double)w[1], a, b);
    dw[0] = (float)d.a;
    dw[1] = (float)d.b;
}

static int64_t blocks_of(const ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    return blocks_for(ct_cuda_numel(x) / (x->dtype == CT_F32 ? 4 : 8) + 1);
}

static ct_accept fuse_weighted_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status fuse_weighted_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &forward<T>;
        CT_LAUNCH(k, CT_GRID1(blocks_of(c)), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data,
                  (const float *)c->in[2].data, (T *)c->out[0].data, ct_cuda_numel(&c->in[0].desc));
    })
    CT_LAUNCHED("fuse_weighted");
}

static ct_accept fuse_weighted_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (!ct_cuda_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    return ct_accept_yes((size_t)blocks_of(c) * 2 * sizeof(double));
}
static ct_status fuse_weighted_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const float *w = (const float *)c->in[3].data;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &backward<T>;
        CT_LAUNCH(k, CT_GRID1(blocks_of(c)), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data,
                  (const T *)c->in[2].data, w, (T *)c->out[0].data, (T *)c->out[1].data, (double *)scratch,
                  ct_cuda_numel(&c->in[0].desc));
    })
    CT_LAUNCH(&finish, CT_GRID1(1), CT_THREADS, s, (const double *)scratch, blocks_of(c), w, (float *)c->out[2].data);
    CT_LAUNCHED("fuse_weighted_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_FUSE_WEIGHTED, "cuda.kernel", CT_CUDA_TUNED, fuse_weighted_accept, fuse_weighted_run },
    { CT_OP_FUSE_WEIGHTED_BWD, "cuda.kernel", CT_CUDA_TUNED, fuse_weighted_bwd_accept, fuse_weighted_bwd_run },
};
CT_CUDA_SET(fuse)
