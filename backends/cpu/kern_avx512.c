/* The inner loops for x86 processors with AVX-512 F, BW, DQ, VL: 16 floats a vector, 32 registers. */
#include "config.h"

#include "backends/cpu/kern.h"

#if defined(__x86_64__) && !defined(CT_NO_AVX)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/math/dropout_math.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))),              \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif

#define KERN_VL 16
#define KERN_NV 4
#define KERN_MR 6
#define KERN_WINO_MR 12
#define KERN_WINO_WMR 8
#define KERN_F16C 1
#define KERN_WIDEN(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define KERN_NARROW(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8((__m512i)(v)))
#define KERN_WIDEN16(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define KERN_NARROW16(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtepi32_epi16((__m512i)(v)))
#define KERN_BITS(v) _mm512_movepi32_mask((__m512i)(v))
#define KERN_LANES(bits) _mm512_movm_epi32((__mmask16)(bits))
#define KERN_STREAM(p, v) _mm512_stream_ps(p, (__m512)(v))
#define KERN_STREAM_END() _mm_sfence()
#define KERN_MUL_EVEN(a, b) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#define KERN_L2_BYTES ((int64_t)1 << 20)
#define KERN_TABLE ct_kern_avx512
#define KERN_NAME "avx512"
#include "backends/cpu/kern_table.h"

/* The same set with products of bf16, for processors that have AVX512-BF16 as well. The whole list again: of two targets that hold
 * for one function, clang keeps one and drops the other. */
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))),   \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
#define KERN_DOT(sum, a, b) ((vf)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b)))
#define KERN_STORE_BF16(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#include "backends/cpu/kern_pairs.h"

const ct_kern ct_kern_avx512bf16 = { .name = "avx512bf16", .l2_bytes = KERN_L2_BYTES, .pairs = &pairs_kernels, KERN_MEMBERS };

/* And with products of tiles of bf16, for processors that have AMX as well. The instructions stand as they are: the compilers' own names for
 * them do not say that they read and write memory. */
static const struct {
    uint8_t palette, row, zero[14];
    uint16_t bytes[16]; /* of a row of each register */
    uint8_t rows[16];
} tiles __attribute__((aligned(64))) = { .palette = 1,
                                         .bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
                                         .rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };
#define TILE_BEGIN() __asm__ volatile("ldtilecfg %0" : : "m"(tiles))
#define TILE_END() __asm__ volatile("tilerelease" : : : "memory")
#define TILE_ZERO(c) __asm__ volatile("tilezero %%tmm" #c : : : "memory")
#define TILE_LOAD(t, p, ld) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((int64_t)(ld) * 4) : "memory")
#define TILE_LOAD_A(t, p, ld) TILE_LOAD(t, p, ld)
#define TILE_STORE(c, p, ld) __asm__ volatile("tilestored %%tmm" #c ", (%0,%1,1)" : : "r"(p), "r"((int64_t)(ld) * 4) : "memory")
#define TILE_DOT(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#include "backends/cpu/kern_amx.h"
#include "backends/cpu/kern_split.h"

const ct_kern ct_kern_amx = { .name = "amx", .l2_bytes = (int64_t)2 << 20, .pairs = &tiles_kernels, .split = &split_kernels, KERN_MEMBERS };

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
const ct_kern ct_kern_avx512 = { .name = NULL };
const ct_kern ct_kern_avx512bf16 = { .name = NULL };
const ct_kern ct_kern_amx = { .name = NULL };
#endif
