/* Cases of standardize: pictures and rows, of one element, two, numbers around those of a vector register and of the blocks that
 * are summed, data far from 0. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(SPECIAL))
#define MORE (DATA | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))
#define BWD (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))

const ct_case_row ct_cases_standardize[] = {
    { "standardize{eps=1e-5}(T[4,3,5,8])", CT_TYPES_ALL, MORE, 0 },
    { "standardize{eps=1e-5}(T[3,7,11,1])", CT_TYPES_ALL, MORE, 0 },
    { "standardize{eps=0.001}(T[5,2])", CT_TYPES_ALL, DATA, 0 },
    { "standardize{eps=1e-5}(T[7,1])", CT_TYPES_ALL, DATA, 0 },
    { "standardize{eps=1e-5}(T[1,33])", CT_TYPES_ALL, MORE, 0 },
    { "standardize{eps=1e-12}(T[2,3,5,7,2])", CT_TYPES_ALL, DATA, 0 },
    { "standardize_bwd(T[4,3,5,8], T[4,3,5,8], A[4])", CT_TYPES_ALL, BWD, 0 },
    { "standardize_bwd(T[3,7,11,1], T[3,7,11,1], A[3])", CT_TYPES_ALL, BWD, 0 },
    { "standardize_bwd(T[5,2], T[5,2], A[5])", CT_TYPES_ALL, BWD, 0 },
    { "standardize_bwd(T[7,1], T[7,1], A[7])", CT_TYPES_ALL, BWD, 0 },
    { "standardize_bwd(T[1,33], T[1,33], A[1])", CT_TYPES_ALL, BWD, 0 },

    /* More than a block, whole ones and not, and samples that no wide access fits. */
    { "standardize{eps=1e-5}(T[3,60,160,1])", CT_TYPES_ALL, DATA, 0 },
    { "standardize{eps=1e-5}(T[2,41,67,3])", CT_TYPES_ALL, DATA, 0 },
    { "standardize{eps=1e-5}(T[2,2048])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "standardize_bwd(T[3,60,160,1], T[3,60,160,1], A[3])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "standardize_bwd(T[2,41,67,3], T[2,41,67,3], A[2])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "standardize{eps=1e-5}(T[128,60,160,1])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "standardize{eps=1e-5}(T[32,64,256,3])", CT_TYPES_ALL, DATA, 1 },
    { "standardize_bwd(T[128,60,160,1], T[128,60,160,1], A[128])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "standardize_bwd(T[32,64,256,3], T[32,64,256,3], A[32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
