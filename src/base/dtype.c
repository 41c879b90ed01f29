#include "config.h"

#include "base/dtype.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size; /* bytes */
    double eps;  /* 0 for integers */
} types[CT_DTYPE_COUNT] = {
    [CT_F32] = { "f32", 4, 0x1p-23 },
    [CT_F64] = { "f64", 8, 0x1p-52 },
    [CT_BF16] = { "bf16", 2, 0x1p-7 },
    [CT_F16] = { "f16", 2, 0x1p-10 },
    [CT_U8] = { "u8", 1, 0 },
    [CT_I32] = { "i32", 4, 0 },
    [CT_I64] = { "i64", 8, 0 },
};

static bool valid(ct_dtype d)
{
    return (unsigned)d < (unsigned)CT_DTYPE_COUNT;
}

size_t ct_dtype_size(ct_dtype d)
{
    return valid(d) ? types[d].size : 0;
}

const char *ct_dtype_name(ct_dtype d)
{
    return valid(d) ? types[d].name : "?";
}

bool ct_dtype_parse(const char *s, ct_dtype *out)
{
    for (int d = 0; d < CT_DTYPE_COUNT; d++) {
        if (strcmp(s, types[d].name) == 0) {
            *out = (ct_dtype)d;
            return true;
        }
    }
    return false;
}

bool ct_dtype_is_float(ct_dtype d)
{
    return ct_dtype_eps(d) > 0;
}

double ct_dtype_eps(ct_dtype d)
{
    return valid(d) ? types[d].eps : 0;
}

static uint32_t f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float f32_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float ct_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;
    if (exponent == 0x1f) return f32_from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    /* Zero and subnormals: fraction * 2^-24, exact in f32. */
    float f = (float)fraction * 0x1p-24f;
    return sign ? -f : f;
}

uint16_t ct_f32_to_f16(float f)
{
    uint32_t u = f32_bits(f);
    uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu)); /* quiet NaN */
    if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);                               /* >= 2^16 */
    if (magnitude < 0x38800000u) {                                                                 /* < 2^-14 */
        /* Subnormal result: in units of 2^-24. Adding 1/2 makes the f32 unit in the last place exactly 2^-24, so the
         * addition rounds to nearest even; a carry into 2^-14 gives the smallest normal number by itself. */
        uint32_t r = f32_bits(f32_from_bits(magnitude) + 0.5f) - 0x3f000000u;
        return (uint16_t)(sign | r);
    }
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return (uint16_t)(sign | ((rounded >> 13) - (112u << 10)));
}

/* The f32 that has v's leading bits and, if bits were lost, an odd last bit ("round to odd"). A second rounding to a
 * type with at least two bits fewer then gives the same as rounding v once. */
static float to_odd_f32(double v)
{
    float f = (float)v;
    if (isnan(v) || (double)f == v) return f;
    uint32_t u = f32_bits(f);
    if (fabs((double)f) > fabs(v)) u--;
    return f32_from_bits(u | 1u);
}

double ct_load(ct_dtype d, const void *p, int64_t i)
{
    switch (d) {
    case CT_F32: return (double)((const float *)p)[i];
    case CT_F64: return ((const double *)p)[i];
    case CT_BF16: return (double)ct_bf16_to_f32(((const uint16_t *)p)[i]);
    case CT_F16: return (double)ct_f16_to_f32(((const uint16_t *)p)[i]);
    case CT_U8: return (double)((const uint8_t *)p)[i];
    case CT_I32: return (double)((const int32_t *)p)[i];
    case CT_I64: return (double)((const int64_t *)p)[i];
    case CT_DTYPE_COUNT: break;
    }
    return NAN;
}

/* v rounded to nearest even and held in [lo, hi]; NaN gives 0. hi must not be above the largest int64_t. */
static int64_t to_integer(double v, int64_t lo, int64_t hi)
{
    if (isnan(v)) return 0;
    v = nearbyint(v);
    if (v <= (double)lo) return lo;
    if (v >= (double)hi) return hi;
    return (int64_t)v;
}

void ct_store(ct_dtype d, void *p, int64_t i, double v)
{
    switch (d) {
    case CT_F32: ((float *)p)[i] = (float)v; break;
    case CT_F64: ((double *)p)[i] = v; break;
    case CT_BF16: ((uint16_t *)p)[i] = ct_f32_to_bf16(to_odd_f32(v)); break;
    case CT_F16: ((uint16_t *)p)[i] = ct_f32_to_f16(to_odd_f32(v)); break;
    case CT_U8: ((uint8_t *)p)[i] = (uint8_t)to_integer(v, 0, UINT8_MAX); break;
    case CT_I32: ((int32_t *)p)[i] = (int32_t)to_integer(v, INT32_MIN, INT32_MAX); break;
    case CT_I64: ((int64_t *)p)[i] = to_integer(v, INT64_MIN, INT64_MAX); break;
    case CT_DTYPE_COUNT: break;
    }
}

ct_desc ct_desc_make(ct_dtype d, int ndim, const int64_t *dim)
{
    assert(ndim >= 0 && ndim <= CT_MAX_DIMS);
    ct_desc t = { .dtype = d, .ndim = ndim };
    for (int i = 0; i < ndim && i < CT_MAX_DIMS; i++) t.dim[i] = dim[i];
    return t;
}

ct_desc ct_desc1(ct_dtype d, int64_t a)
{
    return ct_desc_make(d, 1, (const int64_t[]){ a });
}

ct_desc ct_desc2(ct_dtype d, int64_t a, int64_t b)
{
    return ct_desc_make(d, 2, (const int64_t[]){ a, b });
}

ct_desc ct_desc4(ct_dtype d, int64_t a, int64_t b, int64_t c, int64_t e)
{
    return ct_desc_make(d, 4, (const int64_t[]){ a, b, c, e });
}

int64_t ct_desc_numel(const ct_desc *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i] == 0) return 0;
    for (int i = 0; i < t->ndim; i++) {
        if (n > INT64_MAX / t->dim[i]) return INT64_MAX;
        n *= t->dim[i];
    }
    return n;
}

size_t ct_desc_bytes(const ct_desc *t)
{
    uint64_t n = (uint64_t)ct_desc_numel(t), size = ct_dtype_size(t->dtype);
    if (size != 0 && n > SIZE_MAX / size) return SIZE_MAX;
    return (size_t)(n * size);
}

bool ct_desc_same_shape(const ct_desc *a, const ct_desc *b)
{
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

bool ct_desc_equal(const ct_desc *a, const ct_desc *b)
{
    return a->dtype == b->dtype && ct_desc_same_shape(a, b);
}

char *ct_desc_str(const ct_desc *t, char buf[CT_DESC_STR])
{
    size_t n = (size_t)snprintf(buf, CT_DESC_STR, "%s[", ct_dtype_name(t->dtype));
    for (int i = 0; i < t->ndim && n < CT_DESC_STR; i++)
        n += (size_t)snprintf(buf + n, CT_DESC_STR - n, "%s%" PRId64, i ? "," : "", t->dim[i]);
    if (n < CT_DESC_STR) snprintf(buf + n, CT_DESC_STR - n, "]");
    return buf;
}

/* Reads a decimal number without sign or leading zeros at *s and moves *s behind it. */
static bool parse_dim(const char **s, int64_t *out)
{
    const char *p = *s;
    if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9')) return false;
    int64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (v > (INT64_MAX - (*p - '0')) / 10) return false;
        v = v * 10 + (*p - '0');
    }
    *s = p;
    *out = v;
    return true;
}

bool ct_desc_parse(const char *s, ct_desc *out)
{
    const char *open = strchr(s, '[');
    char name[8];
    ct_desc t = { .ndim = 0 };
    if (!open || (size_t)(open - s) >= sizeof name) return false;
    memcpy(name, s, (size_t)(open - s));
    name[open - s] = '\0';
    if (!ct_dtype_parse(name, &t.dtype)) return false;
    const char *p = open + 1;
    if (*p != ']') {
        for (;;) {
            if (t.ndim == CT_MAX_DIMS || !parse_dim(&p, &t.dim[t.ndim])) return false;
            t.ndim++;
            if (*p != ',') break;
            p++;
        }
    }
    if (p[0] != ']' || p[1] != '\0') return false;
    *out = t;
    return true;
}
