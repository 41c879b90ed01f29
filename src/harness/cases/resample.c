/* Cases of enlarging: each scale, lines of one pixel and of odd numbers of them, one channel and numbers around those
 * of a vector. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))
#define COPIED (DATA | CT_D(SPECIAL))
#define SUMS (DATA | CT_D(INTS))

const ct_case_row ct_cases_resample[] = {
    { "upsample_bilinear{scale=2}(T[2,3,5,1])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=4}(T[1,7,3,3])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=8}(T[2,2,3,8])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=2}(T[1,1,1,1])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=8}(T[3,1,5,1])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=4}(T[1,5,1,16])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=2}(T[2,5,9,19])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear{scale=4}(T[1,3,7,33])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=2}(T[2,6,10,1])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=4}(T[1,28,12,3])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=8}(T[2,16,24,8])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=2}(T[1,2,2,1])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=8}(T[3,8,40,1])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=4}(T[1,20,4,16])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=2}(T[2,10,18,19])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_bilinear_bwd{scale=4}(T[1,12,28,33])", CT_TYPES_ALL, DATA, 0 },
    { "upsample_nearest{scale=2}(T[2,3,5,1])", CT_TYPES_ALL, COPIED, 0 },
    { "upsample_nearest{scale=4}(T[1,7,3,3])", CT_TYPES_ALL, COPIED, 0 },
    { "upsample_nearest{scale=8}(T[2,2,3,8])", CT_TYPES_ALL, COPIED, 0 },
    { "upsample_nearest{scale=2}(T[1,1,1,1])", CT_TYPES_ALL, COPIED, 0 },
    { "upsample_nearest{scale=2}(T[2,5,9,19])", CT_TYPES_ALL, COPIED, 0 },
    { "upsample_nearest{scale=2}(T[2,15,40,33])", CT_TYPES_ALL, COPIED, 0 },
    { "upsample_nearest_bwd{scale=2}(T[2,6,10,1])", CT_TYPES_ALL, SUMS, 0 },
    { "upsample_nearest_bwd{scale=4}(T[1,28,12,3])", CT_TYPES_ALL, SUMS, 0 },
    { "upsample_nearest_bwd{scale=8}(T[2,16,24,8])", CT_TYPES_ALL, SUMS, 0 },
    { "upsample_nearest_bwd{scale=2}(T[1,2,2,1])", CT_TYPES_ALL, SUMS, 0 },
    { "upsample_nearest_bwd{scale=2}(T[2,10,18,19])", CT_TYPES_ALL, SUMS, 0 },
    { "upsample_nearest_bwd{scale=2}(T[2,30,80,33])", CT_TYPES_ALL, SUMS, 0 },

    { "upsample_nearest{scale=2}(T[8,32,64,64])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "upsample_nearest_bwd{scale=2}(T[8,64,128,64])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "upsample_bilinear{scale=2}(T[8,32,64,64])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "upsample_bilinear_bwd{scale=2}(T[8,64,128,64])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "upsample_bilinear{scale=8}(T[8,32,64,1])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "upsample_bilinear_bwd{scale=8}(T[8,256,512,1])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
