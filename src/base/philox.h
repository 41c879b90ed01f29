/* Philox4x32-10 counter-based random numbers (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC11). A draw is a pure function of (key, counter): the same numbers on every backend and
 * for any number of threads. Used for dropout, augmentation, shuffling, initialisation and synthesis. */
#ifndef CT_BASE_PHILOX_H
#define CT_BASE_PHILOX_H

#include <stdint.h>

#if defined(__CUDACC__)
#define CT_HD __host__ __device__
#else
#define CT_HD
#endif

typedef struct ct_philox { uint32_t v[4]; } ct_philox;

/* One block of four 32-bit words for 64-bit key `seed` and 128-bit counter (hi, lo). */
CT_HD static inline ct_philox ct_philox4x32(uint64_t seed, uint64_t hi, uint64_t lo)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)lo, c1 = (uint32_t)(lo >> 32), c2 = (uint32_t)hi, c3 = (uint32_t)(hi >> 32);
    for (int r = 0; r < 10; r++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    ct_philox o = { { c0, c1, c2, c3 } };
    return o;
}

/* 32 random bits -> [0,1) with 24 bits of resolution: exact in f32, never 1. */
CT_HD static inline float ct_u01(uint32_t r) { return (float)(r >> 8) * (1.0f / 16777216.0f); }

/* The streams a run draws from: mixed into the counter's high word so that no two uses share numbers. */
enum ct_rng_stream {
    CT_RNG_INIT = 1,     /* parameter initialisation: (seed, stream, parameter index, element) */
    CT_RNG_SHUFFLE,      /* sample order: (seed, stream, epoch) */
    CT_RNG_AUGMENT,      /* augmentation: (seed, stream, epoch, sample index) */
    CT_RNG_DROPOUT,      /* dropout: (seed, stream, step, operator id, element) */
    CT_RNG_SYNTH,        /* generators: (seed, stream, sample index) */
    CT_RNG_SPLIT,        /* train/validation split */
    CT_RNG_TEST,         /* harness */
    CT_RNG_TEMPO         /* frames of clips: (seed, stream, epoch, sample index) */
};

/* Sequential generator over one counter range; for host code that wants a stream of draws. */
typedef struct ct_rng {
    uint64_t seed, hi, lo; /* next block */
    uint32_t buf[4];
    int left;              /* unused words in buf */
} ct_rng;

void ct_rng_init(ct_rng *r, uint64_t seed, uint32_t stream, uint64_t index);
uint32_t ct_rng_u32(ct_rng *r);
uint32_t ct_rng_below(ct_rng *r, uint32_t n);      /* uniform integer in [0,n), unbiased; n > 0 */
double ct_rng_uniform(ct_rng *r, double lo, double hi);  /* [lo,hi) */
double ct_rng_normal(ct_rng *r);                   /* N(0,1), Box-Muller */
/* The permutation of 0..n-1 (Fisher-Yates) drawn from (seed, stream, index). */
void ct_rng_permutation(uint64_t seed, uint32_t stream, uint64_t index, int64_t n, int64_t *out);

#endif
