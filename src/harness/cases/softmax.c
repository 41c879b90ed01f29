/* Cases of log_softmax: one class and many, a few dimensions, values far from 0. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT) | CT_D(SPECIAL))
#define DATA_BWD (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(TIES) | CT_D(SPECIAL))

const ct_case_row ct_cases_softmax[] = {
    { "log_softmax(A[5,3,11])", CT_TYPES_ACCUM, DATA, 0 },
    { "log_softmax(A[2,36])", CT_TYPES_ACCUM, DATA, 0 },
    { "log_softmax(A[2,3,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "log_softmax(A[7])", CT_TYPES_ACCUM, DATA, 0 },
    { "log_softmax(A[3,2,1000])", CT_TYPES_ACCUM, DATA, 0 },
    { "log_softmax_bwd(A[5,3,11], A[5,3,11])", CT_TYPES_ACCUM, DATA_BWD, 0 },
    { "log_softmax_bwd(A[2,36], A[2,36])", CT_TYPES_ACCUM, DATA_BWD, 0 },
    { "log_softmax_bwd(A[2,3,1], A[2,3,1])", CT_TYPES_ACCUM, DATA_BWD, 0 },
    { "log_softmax_bwd(A[7], A[7])", CT_TYPES_ACCUM, DATA_BWD, 0 },
    { "log_softmax_bwd(A[3,2,1000], A[3,2,1000])", CT_TYPES_ACCUM, DATA_BWD, 0 },

    { "log_softmax(A[24,32,63])", CT_TYPES_ACCUM, DATA, 1 },
    { "log_softmax(A[24,64,4000])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "log_softmax_bwd(A[24,32,63], A[24,32,63])", CT_TYPES_ACCUM, DATA_BWD, 1 },
    { "log_softmax_bwd(A[24,64,4000], A[24,64,4000])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
