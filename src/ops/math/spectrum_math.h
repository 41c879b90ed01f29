/* The slope of a magnitude, shared by every backend that computes in f32. */
#ifndef CT_OPS_MATH_SPECTRUM_MATH_H
#define CT_OPS_MATH_SPECTRUM_MATH_H

#include <math.h>

#include "base/philox.h"

/* (re, im) divided by its magnitude; 0 where there is no direction. The larger of both is taken out first: of numbers that are not normal the
 * magnitude has few bits, and one over it may be beyond the largest number. */
CT_HD static inline void ct_direction(float re, float im, float *along, float *across)
{
    const float most = fmaxf(fabsf(re), fabsf(im));
    *along = *across = 0;
    if (re == 0 && im == 0) return;
    const float x = re / most, y = im / most, size = sqrtf(x * x + y * y);
    *along = x / size;
    *across = y / size;
}

#endif
