/* The inner loops for x86 processors with AVX2, FMA and F16C: 8 floats a vector, 16 registers. */
#include "config.h"

#include "backends/cpu/kern.h"

#if defined(__x86_64__) && !defined(CT_NO_AVX)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/math/dropout_math.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

/* The lowest byte of each number: in each half to its beginning, then both beginnings side by side. */
static inline void narrow(void *p, __m256i v)
{
    const __m256i first = _mm256_set1_epi32(0x0c080400), half = _mm256_shuffle_epi8(v, first);
    _mm_storel_epi64(p, _mm_unpacklo_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

#define KERN_VL 8
#define KERN_NV 2
#define KERN_MR 6
#define KERN_WINO_MR 6
#define KERN_WINO_WMR 4
#define KERN_F16C 1
#define KERN_WIDEN(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define KERN_NARROW(p, v) narrow(p, (__m256i)(v))
#define KERN_WIDEN16(p) _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define KERN_BITS(v) _mm256_movemask_ps((__m256)(v))
#define KERN_STREAM(p, v) _mm256_stream_ps(p, (__m256)(v))
#define KERN_STREAM_END() _mm_sfence()
#define KERN_MUL_EVEN(a, b) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#define KERN_L2_BYTES ((int64_t)512 << 10)
#define KERN_TABLE ct_kern_avx2
#define KERN_NAME "avx2"
#include "backends/cpu/kern_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
const ct_kern ct_kern_avx2 = { .name = NULL };
#endif
