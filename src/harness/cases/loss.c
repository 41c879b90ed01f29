/* Cases of the losses: one and several positions, two classes and many, label smoothing, logits far from 0. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(TIES) | CT_D(SPECIAL))

const ct_case_row ct_cases_loss[] = {
    { "loss_seed{alpha=1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "loss_seed{alpha=0.25 dtype=1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "softmax_xent{positions=4 classes=36}(A[3,144], i32[3,4])", CT_TYPES_ACCUM, DATA, 0 },
    { "softmax_xent{positions=5 classes=19 smoothing=0.1}(A[7,95], i32[7,5])", CT_TYPES_ACCUM, DATA, 0 },
    { "softmax_xent{positions=1 classes=1000}(A[2,1000], i32[2,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "softmax_xent{positions=1 classes=1}(A[2,1], i32[2,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "softmax_xent_bwd{positions=4 classes=36}(A[3,144], i32[3,4], A[3,4], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "softmax_xent_bwd{positions=5 classes=19 smoothing=0.1}(A[7,95], i32[7,5], A[7,5], A[1])", CT_TYPES_ACCUM, DATA,
      0 },
    { "softmax_xent_bwd{positions=1 classes=1000}(A[2,1000], i32[2,1], A[2,1], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "soft_margin{positions=4 classes=36}(A[3,144], i32[3,4])", CT_TYPES_ACCUM, DATA, 0 },
    { "soft_margin{positions=1 classes=2}(A[1,2], i32[1,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "soft_margin{positions=5 classes=19}(A[64,95], i32[64,5])", CT_TYPES_ACCUM, DATA, 0 },
    { "soft_margin_bwd{positions=4 classes=36}(A[3,144], i32[3,4], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "soft_margin_bwd{positions=5 classes=19}(A[64,95], i32[64,5], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "weighted_sum{w=1}(A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "weighted_sum{w=1,0.25,0}(A[1], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "weighted_sum{w=1,2,3,4,5,6,7,8,9,10,11,12,13,-14,0.15,1e-3}(A[1], A[1], A[1], A[1], A[1], A[1], A[1], A[1], "
      "A[1], A[1], A[1], A[1], A[1], A[1], A[1], A[1])",
      CT_TYPES_ACCUM, DATA, 0 },

    { "softmax_xent{positions=4 classes=36}(A[256,144], i32[256,4])", CT_TYPES_ACCUM, DATA, 1 },
    { "softmax_xent_bwd{positions=4 classes=36}(A[256,144], i32[256,4], A[256,4], A[1])", CT_TYPES_ACCUM, DATA, 1 },
    { .text = NULL },
};
