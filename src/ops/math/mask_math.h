/* Bit masks: which elements of a tensor [...,C] are positive, a bit each. A row of C elements takes ct_mask_bytes(C) bytes, element k
 * is bit k%8 of byte k/8, and the bits behind the last element are 0. A ReLU's gradient needs no more of its output than this. */
#ifndef CT_OPS_MATH_MASK_MATH_H
#define CT_OPS_MATH_MASK_MATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/philox.h"

/* Bytes of a row of C elements. */
CT_HD static inline int64_t ct_mask_bytes(int64_t channels) { return (channels + 7) / 8; }

/* The byte of elements y[0..n), n <= 8: those above `floor`. NaN is not. */
CT_HD static inline uint8_t ct_mask_pack(const float *y, int n, float floor)
{
    unsigned bits = 0;
    for (int k = 0; k < n; k++) bits |= (unsigned)(y[k] > floor) << k;
    return (uint8_t)bits;
}

/* The bits of a row from element c on: bit 0 is element c's. Good for what is left of its byte. */
CT_HD static inline unsigned ct_mask_from(const uint8_t *row, int64_t c) { return (unsigned)row[c / 8] >> (c % 8); }

CT_HD static inline bool ct_mask_at(const uint8_t *row, int64_t c) { return (ct_mask_from(row, c) & 1u) != 0; }

/* Sets element c of a row; the first of a byte clears the others, so that rows are written in order. */
CT_HD static inline void ct_mask_put(uint8_t *row, int64_t c, bool positive)
{
    const unsigned before = c % 8 == 0 ? 0 : row[c / 8];
    row[c / 8] = (uint8_t)(before | (unsigned)positive << (c % 8));
}

#endif
