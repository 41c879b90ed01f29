/* Which elements a dropout keeps: a pure function of (run seed, stream, rank, draw, element), the same on every backend
 * and for any division of the work. Elements 4b..4b+3 share one Philox block. */
#ifndef CT_OPS_MATH_DROPOUT_MATH_H
#define CT_OPS_MATH_DROPOUT_MATH_H

#include <math.h>
#include <stdint.h>

#include "base/philox.h"

/* Random words of elements 4*block .. 4*block+3, block < 2^48. stream: number of the dropout within the model, < 2^16;
 * rank: member of a group of devices, < 2^16: each draws blocks of its own; draw: CT_STATE_DRAWS, < 2^40. */
CT_HD static inline ct_philox ct_dropout_words(uint64_t seed, uint64_t stream, uint64_t rank, uint64_t draw, uint64_t block)
{
    uint64_t hi = ((uint64_t)CT_RNG_DROPOUT << 56) ^ ((stream & 0xffffu) << 40) ^ (draw & 0xffffffffffu);
    return ct_philox4x32(seed, hi, (rank & 0xffffu) << 48 ^ block);
}

/* Words below this many (of 2^24) are dropped: keep = (word >> 8) >= threshold, the same as ct_u01(word) >= p. */
CT_HD static inline uint32_t ct_dropout_threshold(double p)
{
    return (uint32_t)ceil(p * 16777216.0);
}

CT_HD static inline uint8_t ct_dropout_keep_word(uint32_t word, uint32_t threshold)
{
    return (uint8_t)((word >> 8) >= threshold);
}

/* One element on its own: 1 = keep. */
CT_HD static inline uint8_t ct_dropout_keep(uint64_t seed, uint64_t stream, uint64_t rank, uint64_t draw, uint64_t element, double p)
{
    ct_philox b = ct_dropout_words(seed, stream, rank, draw, element >> 2);
    return ct_dropout_keep_word(b.v[element & 3], ct_dropout_threshold(p));
}

#endif
