/* What kernels share: storage types, vectors of 16 bytes, launches, reductions.
 *
 * Every kernel runs any number of elements on a grid whose size is a function of the shape alone, and every sum has an order that
 * is fixed by the shape: the same bits in every run and on every card. No atomics on floating-point numbers. */
#ifndef CT_CUDA_DEV_CUH
#define CT_CUDA_DEV_CUH

#include <math.h>

#include "backends/cuda/cuda.h"
#include "base/philox.h"

#if defined(CT_CUDA_EMULATE)
#include "emulate.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
/* kernel<<<blocks, threads, 0, stream>>>(...) */
#define CT_LAUNCH(kernel, blocks, threads, stream, ...) \
    (kernel)<<<(blocks), (unsigned)(threads), 0, (stream)->s>>>(__VA_ARGS__)
#define CT_GRID1(x) dim3((unsigned)(x))
#define CT_GRID2(x, y) dim3((unsigned)(x), (unsigned)(y))
#endif

/* Ends a run(): a launch that was refused (bad configuration, no kernel for this card) is reported at once. */
#define CT_LAUNCHED(what)                                  \
    do {                                                   \
        cudaError_t e_ = cudaGetLastError();               \
        return e_ == cudaSuccess ? CT_OK : ct_cuda_fail(e_, what); \
    } while (0)

/* ---- storage types ---- */

struct ct_b16 { uint16_t v; }; /* bf16 */
struct ct_h16 { uint16_t v; }; /* f16 */

__device__ __forceinline__ float ct_get(float x) { return x; }
__device__ __forceinline__ float ct_get(ct_b16 x) { return __uint_as_float((unsigned)x.v << 16); }
__device__ __forceinline__ float ct_get(ct_h16 x)
{
#if defined(CT_CUDA_EMULATE)
    return emu_half_to_float(x.v);
#else
    __half_raw r;
    r.x = x.v;
    return __half2float(__half(r));
#endif
}
__device__ __forceinline__ void ct_put(float *p, float v) { *p = v; }
__device__ __forceinline__ void ct_put(ct_b16 *p, float v)
{
#if defined(CT_CUDA_EMULATE)
    p->v = ct_f32_to_bf16(v);
#else
    p->v = __bfloat16_as_ushort(__float2bfloat16_rn(v));
#endif
}
__device__ __forceinline__ void ct_put(ct_h16 *p, float v)
{
#if defined(CT_CUDA_EMULATE)
    p->v = emu_float_to_half(v);
#else
    p->v = __half_as_ushort(__float2half_rn(v));
#endif
}

/* What is left of v when it is stored as T. */
template <typename T> __device__ __forceinline__ float ct_stored(float v)
{
    T t;
    ct_put(&t, v);
    return ct_get(t);
}

/* V consecutive elements, moved as one access where V * sizeof(T) is a power of two up to 16 bytes. */
template <typename T, int V> struct alignas(sizeof(T) * V) ct_pack { T e[V]; };

/* As they are stored: many of these can be on their way at once. */
template <typename T, int V> __device__ __forceinline__ ct_pack<T, V> ct_fetch(const T *p) { return *reinterpret_cast<const ct_pack<T, V> *>(p); }

template <typename T, int V> __device__ __forceinline__ void ct_get_n(const T *p, float out[V])
{
    ct_pack<T, V> k = *reinterpret_cast<const ct_pack<T, V> *>(p);
#pragma unroll
    for (int i = 0; i < V; i++) out[i] = ct_get(k.e[i]);
}
template <typename T, int V> __device__ __forceinline__ void ct_put_n(T *p, const float in[V])
{
    ct_pack<T, V> k;
#pragma unroll
    for (int i = 0; i < V; i++) ct_put(&k.e[i], in[i]);
    *reinterpret_cast<ct_pack<T, V> *>(p) = k;
}

/* V consecutive elements as words, for those of many rows that are held at once: packs of 16-bit elements that a condition chooses between take a
 * register for each element, words half as many. */
template <typename T, int V> struct ct_words {
    static const int N = sizeof(T) * V / 4;
    static_assert(N * 4 == sizeof(T) * V, "whole words");
    alignas(4 * N) uint32_t w[N];
    __device__ __forceinline__ float get(int k) const
    {
        if constexpr (sizeof(T) == 4) {
            return __uint_as_float(w[k]);
        } else {
            T t;
            t.v = (uint16_t)(k % 2 ? w[k / 2] >> 16 : w[k / 2]);
            return ct_get(t);
        }
    }
};
template <> struct ct_words<ct_b16, 8> {
    alignas(16) uint32_t w[4];
    __device__ __forceinline__ float get(int k) const { return __uint_as_float(k % 2 ? w[k / 2] & 0xffff0000u : w[k / 2] << 16); }
};

/* Elements of a 16-byte access. */
template <typename T> struct ct_width { static const int value = 16 / (int)sizeof(T); };

/* ---- choosing a template by storage type: CT_BY_TYPE(dtype, body) with T defined in body ---- */
#define CT_BY_TYPE(dtype, ...)                                     \
    switch (dtype) {                                               \
    case CT_F32: { typedef float T; __VA_ARGS__ } break;           \
    case CT_BF16: { typedef ct_b16 T; __VA_ARGS__ } break;         \
    case CT_F16: { typedef ct_h16 T; __VA_ARGS__ } break;          \
    default: return ct_core->fail(CT_EINTERNAL, "cuda: a storage type that accept() refuses"); \
    }

/* ---- grids ---- */

enum { CT_THREADS = 256 };

/* Blocks for n items, one to a thread; loops take what is beyond the limit. */
static inline int64_t ct_blocks(int64_t n)
{
    int64_t b = (n + CT_THREADS - 1) / CT_THREADS;
    return b < 1 ? 1 : b > 65536 ? 65536 : b;
}

/* for (CT_EACH(i, n)): this thread's items. */
#define CT_EACH(i, n)                                                                    \
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, ct_step_ = (int64_t)gridDim.x * blockDim.x; i < (n); \
        i += ct_step_

/* for (CT_EACH_WARP(i, rows)): this warp's rows; ct_blocks(rows * 32) blocks. */
#define CT_EACH_WARP(i, rows)                                                                                      \
    int64_t i = (int64_t)blockIdx.x * (CT_THREADS / 32) + threadIdx.x / 32; i < (rows); i += (int64_t)gridDim.x * (CT_THREADS / 32)

/* Vector number i of [N,A,B,C], v channels each, cv of them to a pixel -> its coordinates. */
struct ct_pixel { int64_t n, a, b, c; };
__device__ static inline ct_pixel ct_locate(int64_t i, int64_t cv, int64_t nb, int64_t na, int v)
{
    ct_pixel t;
    t.c = i % cv * v;
    i /= cv;
    t.b = i % nb;
    i /= nb;
    t.a = i % na;
    t.n = i / na;
    return t;
}

/* ---- functions ---- */

__device__ static inline float ct_sigmoid(float x)
{
    /* The argument of exp is never positive, so it cannot overflow. The quotient is the hardware's, a unit in the last place from the nearest; it
     * takes a third of the instructions of one that is rounded right, and batch norms with SiLU were bound by them. */
    float e = expf(-fabsf(x));
#if defined(CT_CUDA_EMULATE)
    return (x >= 0 ? 1 : e) / (1 + e);
#else
    return __fdividef(x >= 0 ? 1 : e, 1 + e);
#endif
}

/* Derivative of x sigmoid(x). */
__device__ static inline float ct_silu_slope(float x)
{
    float s = ct_sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* ---- reductions ---- */

__device__ __forceinline__ float ct_warp_sum(float v)
{
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
__device__ __forceinline__ double ct_warp_sum(double v)
{
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
__device__ __forceinline__ float ct_warp_max(float v)
{
    for (int d = 16; d > 0; d >>= 1) {
        float o = __shfl_xor_sync(0xffffffffu, v, d);
        v = o > v ? o : v;
    }
    return v;
}

/* Sum over a block of CT_THREADS threads; every thread gets it. `room` [CT_THREADS/32] is shared memory. */
__device__ __forceinline__ double ct_block_sum(double v, double *room)
{
    v = ct_warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
    __syncthreads();
    double s = 0;
    for (int i = 0; i < CT_THREADS / 32; i++) s += room[i];
    return s;
}

#endif
