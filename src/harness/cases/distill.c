/* Cases of the divergence between two branches: with and without lengths, with and without the first class, one class,
 * high and low temperatures, one gradient and two; special: scores far from 0. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT) | CT_D(SPECIAL))
#define SOFT "{temperature=8 first=1}"

const ct_case_row ct_cases_distill[] = {
    { "distill" SOFT "(A[5,3,11], A[5,3,11])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill" SOFT "(A[6,2,40], A[6,2,40], i32[2])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill{temperature=1}(A[2,3,1], A[2,3,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill{temperature=0.5}(A[1,4,70], A[1,4,70], i32[4])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill{temperature=8 first=3}(A[4,2,17], A[4,2,17])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill_bwd" SOFT "(A[5,3,11], A[5,3,11], -, A[5,3], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill_bwd" SOFT "(A[6,2,40], A[6,2,40], i32[2], A[6,2], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill_bwd{temperature=1}(A[2,3,1], A[2,3,1], -, A[2,3], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill_bwd{temperature=0.5}(A[1,4,70], A[1,4,70], i32[4], A[1,4], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "distill_bwd{temperature=8 first=3 detach=1}(A[4,2,17], A[4,2,17], -, A[4,2], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    { "distill" SOFT "(A[28,2,3516], A[28,2,3516], i32[2])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "distill_bwd" SOFT "(A[28,2,3516], A[28,2,3516], i32[2], A[28,2], A[1])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
