/* Philox numbers, as many blocks of four words at a time as a vector has lanes: the same bits as base/philox.h gives. */

#ifdef KERN_MUL_EVEN /* products of the lower halves of 64-bit lanes; without them one block at a time is faster */
typedef uint64_t vq __attribute__((vector_size(KERN_VL * 4)));

/* Upper and lower halves of c[i]*m; m is the same in all lanes. */
KERN_INLINE void philox_mul(vw c, vq m, vw *high, vw *low)
{
    const vq even = (vq)KERN_MUL_EVEN(c, m), odd = (vq)KERN_MUL_EVEN((vq)c >> 32, m), lower = (vq){ 0 } + 0xffffffffu;
    *high = (vw)((even >> 32) | (odd & ~lower));
    *low = (vw)((even & lower) | (odd << 32));
}

/* The elements of the blocks whose lower counters are lo + lanes, as keep has them. */
KERN_INLINE vi philox_keep(vw lanes, uint64_t seed, uint64_t hi, uint64_t lo, uint32_t threshold)
{
    const vq m0 = (vq){ 0 } + 0xD2511F53u, m1 = (vq){ 0 } + 0xCD9E8D57u;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    vw c0 = lanes + (uint32_t)lo, c1 = (vw){ 0 } + (uint32_t)(lo >> 32), c2 = (vw){ 0 } + (uint32_t)hi, c3 = (vw){ 0 } + (uint32_t)(hi >> 32);
    for (int r = 0; r < 10; r++) {
        vw high0, low0, high1, low1;
        philox_mul(c0, m0, &high0, &low0);
        philox_mul(c2, m1, &high1, &low1);
        c0 = high1 ^ c1 ^ k0;
        c2 = high0 ^ c3 ^ k1;
        c1 = low1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const vi least = (vi){ 0 } + (int32_t)threshold; /* at most 2^24, as the words' upper 24 bits */
    return (((vi)(c0 >> 8) >= least) & 1) | (((vi)(c1 >> 8) >= least) & 0x100) | (((vi)(c2 >> 8) >= least) & 0x10000) |
           (((vi)(c3 >> 8) >= least) & 0x1000000);
}
#endif

static void keep(int64_t blocks, uint64_t seed, uint64_t hi, uint64_t lo, uint32_t threshold, uint8_t *out)
{
    int64_t b = 0;
#ifdef KERN_MUL_EVEN
    vw lanes;
    for (uint32_t i = 0; i < KERN_VL; i++) lanes[i] = i;
    /* Vectors within which the counter's lower half overflows are left to the loop below. */
    for (; b + KERN_VL <= blocks && (uint32_t)(lo + (uint64_t)b) <= UINT32_MAX - KERN_VL; b += KERN_VL) {
        const vi kept = philox_keep(lanes, seed, hi, lo + (uint64_t)b, threshold);
        memcpy(out + 4 * b, &kept, sizeof kept);
    }
#endif
    for (; b < blocks; b++) {
        const ct_philox words = ct_philox4x32(seed, hi, lo + (uint64_t)b);
        for (int k = 0; k < 4; k++) out[4 * b + k] = ct_dropout_keep_word(words.v[k], threshold);
    }
}

static const ct_kern_random random_kernels = { .keep = keep };
