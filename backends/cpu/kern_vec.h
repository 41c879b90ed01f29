/* What several bodies of kernels share beside the vectors of kern_conv.h. */

/* Sums run in f32 over blocks of at most so many rows and then in double, so that neither the length of the array nor
 * the number of threads costs accuracy. */
#define KERN_BLOCK 64

typedef int32_t vi __attribute__((vector_size(KERN_VL * 4)));
typedef uint32_t vw __attribute__((vector_size(KERN_VL * 4)));
typedef uint8_t vb __attribute__((vector_size(KERN_VL)));

/* Bytes -> 32-bit integers, and integers of 0 to 255 -> bytes; gcc 12 takes __builtin_convertvector apart here, one
 * number after another, so sets with instructions for it name them. */
KERN_INLINE vi vwiden(const uint8_t *p)
{
#ifdef KERN_WIDEN
    return (vi)KERN_WIDEN(p);
#else
    vb small;
    memcpy(&small, p, sizeof small);
    return __builtin_convertvector(small, vi);
#endif
}

KERN_INLINE void vnarrow(uint8_t *p, vi v)
{
#ifdef KERN_NARROW
    KERN_NARROW(p, v);
#else
    const vb small = __builtin_convertvector(v, vb);
    memcpy(p, &small, sizeof small);
#endif
}

/* Where v takes the place of the largest so far: it is greater, or the first NaN. */
KERN_INLINE vi vwins(vf v, vf best) { return ~(v <= best) & (best == best); }

KERN_INLINE vf vselect(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }

/* total[i] += v[i]; through memory, so that the widening is done by vectors. */
KERN_INLINE void vadd_to(double *restrict total, vf v)
{
    float part[KERN_VL];
    vstore(part, v);
    for (int i = 0; i < KERN_VL; i++) total[i] += (double)part[i];
}

/* Column reductions take nv vectors of columns side by side (KERN_WIDE, KERN_NV, 2 or 1): long pieces of a
 * row, which is what the memory is good at, and independent sums. */
#define KERN_WIDE (2 * KERN_NV)

typedef uint16_t vh __attribute__((vector_size(KERN_VL * 2)));
typedef uint16_t vhu __attribute__((vector_size(KERN_VL * 2), aligned(2), may_alias));

/* 16-bit numbers -> 32-bit integers. */
KERN_INLINE vi vwiden16(const uint16_t *p)
{
#ifdef KERN_WIDEN16
    return (vi)KERN_WIDEN16(p);
#else
    return __builtin_convertvector(*(const vhu *)p, vi);
#endif
}

/* bf16, rounded to nearest even as ct_f32_to_bf16 does, NaN stays one. */
KERN_INLINE vf vload_bf16(const uint16_t *p) { return (vf)(vwiden16(p) << 16); }

/* In the lower halves, the upper ones zero. */
KERN_INLINE vi vround_bf16(vf v)
{
    const vi bits = (vi)v, upper = bits >> 16, nan = v != v;
    const vi rounded = (vi)(((vw)bits + 0x7fff + ((vw)upper & 1)) >> 16); /* unsigned: of the largest NaNs the sum wraps */
    return ((nan & (upper | 0x40)) | (rounded & ~nan)) & 0xffff;
}

KERN_INLINE void vstore_bf16(uint16_t *p, vf v)
{
    const vi narrow = vround_bf16(v);
#ifdef KERN_NARROW16
    KERN_NARROW16(p, narrow);
#else
    *(vhu *)p = __builtin_convertvector(narrow, vh);
#endif
}
