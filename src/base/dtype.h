/* Element types, conversions of 16-bit floats, and the tensor descriptor. */
#ifndef CT_BASE_DTYPE_H
#define CT_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum ct_dtype {
    CT_F32,
    CT_F64,
    CT_BF16, /* upper half of an f32, round to nearest even */
    CT_F16,  /* IEEE binary16 */
    CT_U8,
    CT_I32,
    CT_I64,
    CT_DTYPE_COUNT
} ct_dtype;

size_t ct_dtype_size(ct_dtype d);            /* bytes per element */
const char *ct_dtype_name(ct_dtype d);       /* "f32", "f64", "bf16", "f16", "u8", "i32", "i64" */
bool ct_dtype_parse(const char *s, ct_dtype *out);
bool ct_dtype_is_float(ct_dtype d);
double ct_dtype_eps(ct_dtype d);             /* distance from 1 to the next number; 0 for integers */

/* 16-bit conversions, round to nearest even, NaN stays NaN, overflow gives infinity. */
static inline float ct_bf16_to_f32(uint16_t h)
{
    union { uint32_t u; float f; } v = { (uint32_t)h << 16 };
    return v.f;
}
static inline uint16_t ct_f32_to_bf16(float f)
{
    union { float f; uint32_t u; } v = { f };
    if ((v.u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((v.u >> 16) | 0x40u); /* quiet NaN */
    return (uint16_t)((v.u + 0x7fffu + ((v.u >> 16) & 1u)) >> 16);
}
float ct_f16_to_f32(uint16_t h);
uint16_t ct_f32_to_f16(float f);

/* Reads or writes element i of an array of dtype d through a double (integers are exact to 2^53). */
double ct_load(ct_dtype d, const void *p, int64_t i);
void ct_store(ct_dtype d, void *p, int64_t i, double v);

/* A dense row-major tensor: the last dimension is contiguous. Activations are NHWC `[N,H,W,C]`, filters
 * KRSC `[K,R,S,C/g]`, sequences `[T,N,C]`. ndim 0 is a scalar (one element). */
#define CT_MAX_DIMS 5
typedef struct ct_desc {
    ct_dtype dtype;
    int ndim;
    int64_t dim[CT_MAX_DIMS];
} ct_desc;

ct_desc ct_desc_make(ct_dtype d, int ndim, const int64_t *dim);
ct_desc ct_desc1(ct_dtype d, int64_t a);
ct_desc ct_desc2(ct_dtype d, int64_t a, int64_t b);
ct_desc ct_desc4(ct_dtype d, int64_t a, int64_t b, int64_t c, int64_t e);
int64_t ct_desc_numel(const ct_desc *t);                    /* elements; product of dim */
size_t ct_desc_bytes(const ct_desc *t);                     /* bytes */
bool ct_desc_equal(const ct_desc *a, const ct_desc *b);     /* dtype and shape */
bool ct_desc_same_shape(const ct_desc *a, const ct_desc *b);

/* "f32[64,60,160,1]" into buf (always terminated); returns buf. */
#define CT_DESC_STR 96
char *ct_desc_str(const ct_desc *t, char buf[CT_DESC_STR]);
/* The reverse; false if s is not such a string. */
bool ct_desc_parse(const char *s, ct_desc *out);

#endif
