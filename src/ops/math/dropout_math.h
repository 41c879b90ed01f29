/* Which elements a dropout keeps: a pure function of (run seed, stream, draw, element), the same on every backend
 * and for any division of the work. Elements 4b..4b+3 share one Philox block. */
#ifndef CT_OPS_MATH_DROPOUT_MATH_H
#define CT_OPS_MATH_DROPOUT_MATH_H

#include <math.h>
#include <stdint.h>

#include "base/philox.h"

/* Element of the whole batch's mask that element i of a member's is: runs of `run` elements, `pitch` apart. run 0: i. */
CT_HD static inline int64_t ct_dropout_element(int64_t first, int64_t run, int64_t pitch, int64_t i)
{
    return run == 0 ? i : first + i / run * pitch + i % run;
}

/* Upper half of the counter of a dropout's random words. stream: number of the dropout within the model, < 2^16; draw: CT_STATE_DRAWS,
 * < 2^40. */
CT_HD static inline uint64_t ct_dropout_upper(uint64_t stream, uint64_t draw)
{
    return ((uint64_t)CT_RNG_DROPOUT << 56) ^ ((stream & 0xffffu) << 40) ^ (draw & 0xffffffffffu);
}

/* Random words of elements 4*block .. 4*block+3, block < 2^62. */
CT_HD static inline ct_philox ct_dropout_words(uint64_t seed, uint64_t stream, uint64_t draw, uint64_t block)
{
    return ct_philox4x32(seed, ct_dropout_upper(stream, draw), block);
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
CT_HD static inline uint8_t ct_dropout_keep(uint64_t seed, uint64_t stream, uint64_t draw, uint64_t element, double p)
{
    ct_philox b = ct_dropout_words(seed, stream, draw, element >> 2);
    return ct_dropout_keep_word(b.v[element & 3], ct_dropout_threshold(p));
}

#endif
