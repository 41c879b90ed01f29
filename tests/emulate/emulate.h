/* CUDA kernels as plain C++: the threads of a block are fibers of one host thread, blocks run one after another.
 *
 * A fiber runs until it ends or meets a barrier; when all that are left have met it, they go on. Warps work the same way with 32
 * fibers. So a kernel whose threads reach different barriers, or whose result hangs on the order of threads between two barriers
 * (threads run in falling order here, not in rising order), is found by the operator tests. Not seen here: the memory model of real
 * cards, alignment faults, limits of registers and shared memory. */
#ifndef CT_EMULATE_H
#define CT_EMULATE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <cmath>
#include <functional>

#include "cuda_runtime_api.h"

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct emu_dim { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
extern emu_dim threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
void __syncwarp(unsigned mask = 0xffffffffu);
/* Blocks run one after another, so what one has written is there for the next. */
static inline void __threadfence() {}
static inline unsigned atomicInc(unsigned *p, unsigned last)
{
    const unsigned old = *p;
    *p = old >= last ? 0 : old + 1;
    return old;
}
/* Of pi x, as the card has it without a detour through pi. */
static inline void sincospi(double x, double *s, double *c)
{
    *s = sin(3.141592653589793 * x);
    *c = cos(3.141592653589793 * x);
}
/* Every lane of the warp gives 8 bytes and gets those of lane `from`. */
uint64_t emu_exchange(uint64_t mine, int from);
int emu_lane();

template <typename T> static inline T __shfl_sync(unsigned, T v, int from)
{
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = emu_exchange(bits, from & 31);
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T v, int d) { return __shfl_sync(mask, v, emu_lane() ^ d); }
template <typename T> static inline T __shfl_up_sync(unsigned mask, T v, int d)
{
    int from = emu_lane() - d;
    return __shfl_sync(mask, v, from < 0 ? emu_lane() : from);
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T v, int d)
{
    int from = emu_lane() + d;
    return __shfl_sync(mask, v, from > 31 ? emu_lane() : from);
}

/* d += a b on the warp's matrix units, fragments of bf16 as mma.sync.m16n8k16 has them. */
void emu_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]);

/* Of half turns. */
static inline float sinpif(float x) { return (float)std::sin(3.14159265358979323846 * (double)x); }
static inline float cospif(float x) { return (float)std::cos(3.14159265358979323846 * (double)x); }

static inline float __uint_as_float(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
float emu_half_to_float(uint16_t h);
uint16_t emu_float_to_half(float f);

/* For the stand-ins of the libraries: work for a stream; whether EMULATE_WRONG names this fault; element i of an array, by cudaDataType. */
void emu_submit(cudaStream_t s, std::function<void()> work);
bool emu_wrong(const char *what);
float emu_load(int type, const void *p, int64_t i);
void emu_store(int type, void *p, int64_t i, float v);

/* Runs body once for every thread of every block. A capture in progress keeps it instead. */
void emu_launch(cudaStream_t s, dim3 grid, unsigned threads, std::function<void()> body);

#define CT_LAUNCH(kernel, blocks, threads, stream, ...) \
    emu_launch((stream)->s, (blocks), (unsigned)(threads), emu_bind((kernel), __VA_ARGS__))
template <typename F, typename... A> static inline std::function<void()> emu_bind(F f, A... a)
{
    return [=]() { f(a...); };
}
#define CT_GRID1(x) dim3((unsigned)(x))
#define CT_GRID2(x, y) dim3((unsigned)(x), (unsigned)(y))

#endif
