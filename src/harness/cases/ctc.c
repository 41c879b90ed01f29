/* Cases of CTC: with and without lengths and smoothing, labels that just fit, one class, one time step, one character; ties: labels
 * of two different characters (repeats); special: log-probabilities far from 0, some of them -infinity, so that samples
 * become infeasible. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(TIES) | CT_D(SPECIAL))

const ct_case_row ct_cases_ctc[] = {
    { "ctc_loss(A[9,4,6], i32[4,3])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss(A[12,5,11], i32[5,6], i32[5])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss(A[25,7,37], i32[7,5], i32[7])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss(A[5,6,4], i32[6,5])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss(A[1,3,3], i32[3,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss(A[4,2,1], i32[2,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss{smoothing=0.1}(A[9,4,6], i32[4,3])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss{smoothing=0.3}(A[25,7,37], i32[7,5], i32[7])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss(A[40,3,5], i32[3,19], i32[3])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[9,4,6], i32[4,3], -, A[4], A[4,9,7], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[12,5,11], i32[5,6], i32[5], A[5], A[5,12,13], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[25,7,37], i32[7,5], i32[7], A[7], A[7,25,11], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[5,6,4], i32[6,5], -, A[6], A[6,5,11], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[1,3,3], i32[3,1], -, A[3], A[3,1,3], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[4,2,1], i32[2,2], -, A[2], A[2,4,5], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd{smoothing=0.1}(A[9,4,6], i32[4,3], -, A[4], A[4,9,7], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd{smoothing=0.3}(A[25,7,37], i32[7,5], i32[7], A[7], A[7,25,11], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_loss_bwd(A[40,3,5], i32[3,19], i32[3], A[3], A[3,40,39], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    { "ctc_loss(A[24,64,63], i32[64,7], i32[64])", CT_TYPES_ACCUM, DATA, 1 },
    { "ctc_loss(A[100,32,4000], i32[32,20], i32[32])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "ctc_loss_bwd(A[24,64,63], i32[64,7], i32[64], A[64], A[64,24,15], A[1])", CT_TYPES_ACCUM, DATA, 1 },
    { "ctc_loss_bwd(A[100,32,4000], i32[32,20], i32[32], A[32], A[32,100,41], A[1])", CT_TYPES_ACCUM, CT_D(UNIFORM),
      1 },
    { .text = NULL },
};
