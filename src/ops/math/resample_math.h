/* Enlarging a line of n pixels 2^shift times by linear interpolation, as torch's interpolate with align_corners=False:
 * centres lie at whole numbers + 0.5, the value goes on beyond the outermost ones. Weights are multiples of
 * 1/2^(shift+1): exact in every type. */
#ifndef CT_OPS_MATH_RESAMPLE_MATH_H
#define CT_OPS_MATH_RESAMPLE_MATH_H

#include <stdint.h>

#include "base/philox.h"

#define CT_UPSAMPLE_TAPS 16 /* outputs that read one pixel, at most: 2 * 8 */

/* shift of a scale of 2, 4 or 8 */
CT_HD static inline int ct_upsample_shift(int64_t scale) { return scale == 2 ? 1 : scale == 4 ? 2 : 3; }

/* Output d is (1-w) times pixel i0 plus w times pixel i1; w is returned. At the ends of the line w is 0 and i1 = i0. */
CT_HD static inline double ct_upsample_axis(int64_t d, int shift, int64_t n, int64_t *i0, int64_t *i1)
{
    const int64_t scale = (int64_t)1 << shift, phase = d & (scale - 1);
    int64_t steps = 2 * phase + 1 - scale, at = d >> shift; /* from the centre of pixel d/scale, in 1/(2*scale) of it */
    if (steps < 0) {
        steps += 2 * scale;
        at--;
    }
    if (at < 0 || at + 1 >= n) {
        *i0 = *i1 = at < 0 ? 0 : n - 1;
        return 0;
    }
    *i0 = at;
    *i1 = at + 1;
    return (double)steps / (double)(2 * scale);
}

/* Outputs [first, end) are those that read pixel i. */
CT_HD static inline void ct_upsample_range(int64_t i, int shift, int64_t n, int64_t *first, int64_t *end)
{
    const int64_t scale = (int64_t)1 << shift;
    *first = i > 0 ? i * scale - scale / 2 : 0;
    *end = i + 1 < n ? (i + 1) * scale + scale / 2 : n * scale;
}

/* Weight of pixel i in output d, one of its range. */
CT_HD static inline double ct_upsample_weight(int64_t d, int64_t i, int shift, int64_t n)
{
    int64_t i0, i1;
    const double w = ct_upsample_axis(d, shift, n, &i0, &i1);
    return i == i0 ? 1 - w : w;
}

#endif
