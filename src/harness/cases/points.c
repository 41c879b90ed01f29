/* Cases of points and maps: maps of one cell and of odd sizes, strides that are a power of two and that are not; places
 * inside, on the edges of cells and of the map (ties), outside, infinite and absent (special); maps on which nothing
 * may be chosen (special). */
#include "config.h"

#include "harness/harness.h"

#define ANY (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT) | CT_D(SPECIAL))
#define POINTS (CT_D(UNIFORM) | CT_D(TIES) | CT_D(FAINT) | CT_D(SPECIAL))

const ct_case_row ct_cases_points[] = {
    { "mask_pool{factor=1}(T[2,3,5,1])", CT_TYPES_ALL, ANY, 0 },
    { "mask_pool{channel=3 factor=4}(T[2,8,12,4])", CT_TYPES_ALL, ANY, 0 },
    { "mask_pool{channel=1 factor=3}(T[3,9,3,8])", CT_TYPES_ALL, ANY, 0 },
    { "mask_pool{channel=2 factor=7}(T[1,7,7,3])", CT_TYPES_ALL, ANY, 0 },
    { "mask_pool{channel=3 factor=4}(T[2,20,68,8])", CT_TYPES_ALL, ANY, 0 },

    { "heat_target{out_h=16 out_w=20 stride=4 sigma=1.5}(A[5,2,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "heat_target{out_h=1 out_w=1 stride=4 sigma=1.5}(A[9,1,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "heat_target{out_h=3 out_w=7 stride=8 sigma=0.3}(A[6,3,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "heat_target{out_h=9 out_w=13 stride=4 sigma=1.5 around=1}(A[5,3,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "heat_target{out_h=11 out_w=5 stride=6 sigma=4.25}(A[7,2,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "heat_target{out_h=13 out_w=9 stride=1 sigma=2}(A[3,5,2])", CT_TYPES_ACCUM, POINTS, 0 },

    { "sample_points{stride=4}(A[2,5,7,1], A[2,6,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points{stride=4 channel=1}(A[3,8,4,2], A[3,5,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points{stride=3 channel=4}(A[1,1,6,5], A[1,9,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points{stride=8}(A[4,3,1,1], A[4,1,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points{stride=16}(A[2,1,1,1], A[2,3,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points_bwd{out_h=5 out_w=7 channels=1 stride=4}(A[2,6], A[2,6,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points_bwd{out_h=8 out_w=4 channels=2 stride=4 channel=1}(A[3,5], A[3,5,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points_bwd{out_h=1 out_w=6 channels=5 stride=3 channel=4}(A[1,9], A[1,9,2])", CT_TYPES_ACCUM, POINTS, 0 },
    { "sample_points_bwd{out_h=1 out_w=1 channels=1 stride=16}(A[2,30], A[2,30,2])", CT_TYPES_ACCUM, POINTS, 0 },

    { "heat_decode{stride=4}(A[3,8,16,2], A[3,8,16,4], A[3,8,16])", CT_TYPES_ACCUM, ANY, 0 },
    { "heat_decode{stride=4 align=1}(A[9,8,16,2], A[9,8,16,4], A[9,8,16])", CT_TYPES_ACCUM, ANY, 0 },
    { "heat_decode{stride=8 align=1}(A[7,1,5,2], A[7,1,5,4], A[7,1,5])", CT_TYPES_ACCUM, ANY, 0 },
    { "heat_decode{stride=5 align=1}(A[6,21,37,2], A[6,21,37,4], A[6,21,37])", CT_TYPES_ACCUM, ANY, 0 },
    { "heat_decode{stride=4}(A[8,1,1,2], A[8,1,1,4], A[8,1,1])", CT_TYPES_ACCUM, ANY, 0 },
    { "heat_decode{stride=3}(A[2,9,7,5], A[2,9,7,10], A[2,9,7])", CT_TYPES_ACCUM, ANY, 0 },
    { "heat_decode{stride=2}(A[5,4,3,1], A[5,4,3,2], A[5,4,3])", CT_TYPES_ACCUM, ANY, 0 },

    { "point_sums{first=3 unit=1}(A[4,2,2], A[4,2,2], A[4,1], f64[64])", CT_TYPES_ACCUM, POINTS, 0 },
    { "point_sums{first=46 unit=2}(A[300,2,2], A[300,2,2], A[300,1], f64[64])", CT_TYPES_ACCUM, POINTS, 0 },
    { "point_sums{first=20 unit=0.37}(A[1,2,2], A[1,2,2], A[1,1], f64[64])", CT_TYPES_ACCUM, POINTS, 0 },

    { "mask_pool{channel=3 factor=4}(T[16,256,512,4])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "heat_target{out_h=64 out_w=128 stride=4 sigma=1.5}(A[64,2,2])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "sample_points{stride=4}(A[64,64,128,2], A[64,3,2])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "sample_points_bwd{out_h=64 out_w=128 channels=2 stride=4}(A[64,3], A[64,3,2])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "heat_decode{stride=4 align=1}(A[64,64,128,2], A[64,64,128,4], A[64,64,128])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
