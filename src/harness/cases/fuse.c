/* Cases of the weighted sum of two maps: one element, lengths around those of a vector, enough for several threads. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))

const ct_case_row ct_cases_fuse[] = {
    { "fuse_weighted(T[2,3,5,8], T[2,3,5,8], A[2])", CT_TYPES_ALL, DATA, 0 },
    { "fuse_weighted(T[1,1,1,1], T[1,1,1,1], A[2])", CT_TYPES_ALL, DATA, 0 },
    { "fuse_weighted(T[3,5,7,19], T[3,5,7,19], A[2])", CT_TYPES_ALL, DATA, 0 },
    { "fuse_weighted_bwd(T[2,3,5,8], T[2,3,5,8], T[2,3,5,8], A[2])", CT_TYPES_ALL, DATA, 0 },
    { "fuse_weighted_bwd(T[1,1,1,1], T[1,1,1,1], T[1,1,1,1], A[2])", CT_TYPES_ALL, DATA, 0 },
    { "fuse_weighted_bwd(T[3,5,7,19], T[3,5,7,19], T[3,5,7,19], A[2])", CT_TYPES_ALL, DATA, 0 },

    /* Large enough to be divided among threads. */
    { "fuse_weighted(T[2,60,70,11], T[2,60,70,11], A[2])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "fuse_weighted_bwd(T[2,60,70,11], T[2,60,70,11], T[2,60,70,11], A[2])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "fuse_weighted(T[8,64,128,64], T[8,64,128,64], A[2])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "fuse_weighted_bwd(T[8,64,128,64], T[8,64,128,64], T[8,64,128,64], A[2])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
