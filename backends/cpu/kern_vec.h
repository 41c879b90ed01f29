/* What several bodies of kernels share beside the vectors of kern_conv.h. */

/* Sums run in f32 over blocks of at most so many rows and then in double, so that neither the length of the array nor
 * the number of threads costs accuracy. */
#define KERN_BLOCK 64

typedef int32_t vi __attribute__((vector_size(KERN_VL * 4)));
typedef uint8_t vb __attribute__((vector_size(KERN_VL)));

/* Bytes -> 32-bit integers; gcc 12 takes __builtin_convertvector apart here, so sets with an instruction for it name
 * it. */
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
