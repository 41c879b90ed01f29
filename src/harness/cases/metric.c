/* Cases of predictions and metric sums. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(TIES) | CT_D(LARGE))

const ct_case_row ct_cases_metric[] = {
    { "argmax{positions=4 classes=36}(A[3,144])", CT_TYPES_ACCUM, DATA, 0 },
    { "argmax{positions=5 classes=19}(A[64,95])", CT_TYPES_ACCUM, DATA, 0 },
    { "argmax{positions=1 classes=1}(A[2,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "batch_sums{samples=64 first=3}(A[1], f64[64])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "batch_sums{samples=3 first=61}(A[1], f64[64], A[1], A[1], A[1])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "batch_sums{samples=7 first=20}(A[1], f64[64], A[1], A[1], A[1], A[1], A[1], A[1], A[1], A[1], A[1], A[1], A[1], "
      "A[1], A[1], A[1])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "metric_sums{first=3}(i32[3,4], i32[3,4], f64[64])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "metric_sums{first=61}(i32[64,1], i32[64,1], f64[64])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "metric_sums{first=9}(i32[1,5], i32[1,5], f64[64])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "ctc_greedy(A[9,4,6])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_greedy(A[25,7,37], i32[7])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_greedy(A[30,3,3], i32[3])", CT_TYPES_ACCUM, DATA, 0 },
    { "ctc_greedy(A[1,2,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "edit_sums{first=3}(i32[3,6], i32[3,4], f32[3], f64[64])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(TIES), 0 },
    { "edit_sums{first=55}(i32[64,24], i32[64,7], f32[64], f64[64])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(TIES), 0 },
    { "edit_sums{first=9}(i32[5,1], i32[5,9], -, f64[64])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(TIES), 0 },

    { "ctc_greedy(A[24,64,4000], i32[64])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
