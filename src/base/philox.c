#include "config.h"

#include "base/philox.h"

#include <math.h>

/* Counter of a sequential stream: high word = stream in the top byte, index in the lower 56 bits; the low word counts
 * blocks. */
void ct_rng_init(ct_rng *r, uint64_t seed, uint32_t stream, uint64_t index)
{
    r->seed = seed;
    r->hi = (uint64_t)stream << 56 ^ index;
    r->lo = 0;
    r->left = 0;
    for (int i = 0; i < 4; i++) r->buf[i] = 0;
}

uint32_t ct_rng_u32(ct_rng *r)
{
    if (r->left == 0) {
        ct_philox block = ct_philox4x32(r->seed, r->hi, r->lo++);
        for (int i = 0; i < 4; i++) r->buf[i] = block.v[i];
        r->left = 4;
    }
    return r->buf[4 - r->left--];
}

/* The upper half of a 32x32 bit product is uniform once the draws whose lower half falls into the uneven rest
 * (2^32 mod n values) are drawn again (Lemire, "Fast random integer generation in an interval", 2019). */
uint32_t ct_rng_below(ct_rng *r, uint32_t n)
{
    if (n == 0) return 0;
    uint64_t m = (uint64_t)ct_rng_u32(r) * n;
    if ((uint32_t)m < n) {
        uint32_t rest = (uint32_t)(0u - n) % n;
        while ((uint32_t)m < rest) m = (uint64_t)ct_rng_u32(r) * n;
    }
    return (uint32_t)(m >> 32);
}

double ct_rng_uniform(ct_rng *r, double lo, double hi)
{
    double v = lo + (hi - lo) * ((double)ct_rng_u32(r) * 0x1p-32);
    /* The addition can round up to hi when the interval is narrow beside its distance from 0. */
    return v < hi || hi <= lo ? v : nextafter(hi, lo);
}

double ct_rng_normal(ct_rng *r)
{
    double u = ((double)ct_rng_u32(r) + 1.0) * 0x1p-32; /* (0,1]: its logarithm is finite */
    double a = (double)ct_rng_u32(r) * 0x1p-32;         /* [0,1) of a turn */
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586476925 * a);
}

/* Uniform in [0,n) for n above 32 bits: two words, draws in the uneven rest are drawn again. */
static uint64_t below64(ct_rng *r, uint64_t n)
{
    if (n <= UINT32_MAX) return ct_rng_below(r, (uint32_t)n);
    uint64_t rest = (0u - n) % n, x;
    do {
        x = (uint64_t)ct_rng_u32(r) << 32;
        x |= ct_rng_u32(r);
    } while (x < rest);
    return x % n;
}

void ct_rng_permutation(uint64_t seed, uint32_t stream, uint64_t index, int64_t n, int64_t *out)
{
    ct_rng r;
    ct_rng_init(&r, seed, stream, index);
    for (int64_t i = 0; i < n; i++) out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)below64(&r, (uint64_t)i + 1), t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
}
