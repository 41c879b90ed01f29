/* The inner loops for x86 processors with AVX-512 F, BW, DQ, VL: 16 floats a vector, 32 registers. */
#include "config.h"

#include "backends/cpu/kern.h"

#if defined(__x86_64__) && !defined(CT_NO_AVX)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"

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
#define KERN_BITS(v) _mm512_movepi32_mask((__m512i)(v))
#define KERN_LANES(bits) _mm512_movm_epi32((__mmask16)(bits))
#define KERN_TABLE ct_kern_avx512
#define KERN_NAME "avx512"
#include "backends/cpu/kern_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
const ct_kern ct_kern_avx512 = { .name = NULL };
#endif
