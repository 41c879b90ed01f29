/* Cases of the losses on maps: one and several points, few cells and one row; large: probabilities at their bounds,
 * cells at their cap; special: no positive cell, no known direction, no fake, no padding, no point. A margin between
 * the hundredths that finite differences give to points and fakes keeps them off the kink. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT) | CT_D(SPECIAL))
#define FOCAL "{alpha=1.5 beta=4 threshold=0.8 eps=1e-08}"
#define PADDING "{eps=0.0001 cap=10}"
#define ROWS "{eps=1e-08 stride=4 tau=1}"

const ct_case_row ct_cases_heatmap[] = {
    { "heat_focal" FOCAL "(A[2,5,6,2], A[2,5,6,2], A[2,5,6])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_focal{alpha=2 beta=3 threshold=0.5 eps=0.001}(A[3,4,7,1], A[3,4,7,1], A[3,4,7])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_focal{threshold=0.5 eps=0.2}(A[1,9,40,3], A[1,9,40,3], A[1,9,40])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_focal_bwd" FOCAL "(A[2,5,6,2], A[2,5,6,2], A[2,5,6], A[2], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_focal_bwd{alpha=2 beta=3 threshold=0.5 eps=0.001}(A[3,4,7,1], A[3,4,7,1], A[3,4,7], A[1], A[1])",
      CT_TYPES_ACCUM, DATA, 0 },
    { "heat_focal_bwd{threshold=0.5 eps=0.2}(A[1,9,40,3], A[1,9,40,3], A[1,9,40], A[3], A[1])", CT_TYPES_ACCUM, DATA,
      0 },

    { "heat_offset{beta=1}(A[2,5,6,4], A[2,5,6,4], A[2,5,6,2], A[2,5,6])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_offset{beta=0.111}(A[3,4,3,2], A[3,4,3,2], A[3,4,3,1], A[3,4,3])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_offset(A[1,2,3,6], A[1,2,3,6], A[1,2,3,3], A[1,2,3])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_offset_bwd{beta=1}(A[2,5,6,4], A[2,5,6,4], A[2,5,6,2], A[2,5,6], A[2], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_offset_bwd{beta=0.111}(A[3,4,3,2], A[3,4,3,2], A[3,4,3,1], A[3,4,3], A[1], A[1])", CT_TYPES_ACCUM, DATA,
      0 },
    { "heat_offset_bwd(A[1,2,3,6], A[1,2,3,6], A[1,2,3,3], A[1,2,3], A[3], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    { "heat_angle{threshold=0.7}(A[4,5,6,2], A[4,2], A[4,5,6,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_angle{threshold=0.7}(A[40,3,5,2], A[40,2], A[40,3,5,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_angle{threshold=1}(A[2,3,5,2], A[2,2], A[2,3,5,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_angle_bwd{threshold=0.7}(A[4,2], A[4,5,6,2], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_angle_bwd{threshold=0.7}(A[40,2], A[40,3,5,1], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    { "margin_rank{margin=0.205}(A[5,1], A[5,4], A[5,4,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "margin_rank{margin=0.5}(A[300,1], A[300,1], A[300,1,2])", CT_TYPES_ACCUM, DATA & ~CT_D(UNIFORM), 0 },
    { "margin_rank{margin=-0.005}(A[1,1], A[1,9], A[1,9,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "margin_rank_bwd{margin=0.205}(A[5,1], A[5,4], A[5,4], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "margin_rank_bwd{margin=0.5}(A[300,1], A[300,1], A[300,1], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    { "heat_padding" PADDING "(A[2,5,6,2], A[2,5,6])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_padding{eps=0.25 cap=10}(A[2,5,6,1], A[2,5,6])", CT_TYPES_ACCUM, DATA & ~CT_D(UNIFORM), 0 },
    { "heat_padding{eps=0.0001 cap=2.1}(A[1,4,11,3], A[1,4,11])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_padding_bwd" PADDING "(A[2,5,6,2], A[2,5,6], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_padding_bwd{eps=0.25 cap=10}(A[2,5,6,1], A[2,5,6], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_padding_bwd{eps=0.0001 cap=2.1}(A[1,4,11,3], A[1,4,11], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    { "heat_rows" ROWS "(A[3,7,5,2], A[3,2,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_rows{eps=0.01 stride=8 tau=0.5}(A[6,4,9,2], A[6,2,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_rows" ROWS "(A[2,1,3,2], A[2,2,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_rows_bwd" ROWS "(A[3,7,5,2], A[3,2,2], A[3,2,7], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_rows_bwd{eps=0.01 stride=8 tau=0.5}(A[6,4,9,2], A[6,2,2], A[6,2,4], A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_rows_bwd{eps=0.01 stride=8 tau=0.5}(A[6,4,9,2], A[6,2,2], A[6,2,4], -, A[1])", CT_TYPES_ACCUM, DATA, 0 },
    { "heat_rows_bwd" ROWS "(A[2,1,3,2], A[2,2,2], A[2,2,1], A[1], A[1])", CT_TYPES_ACCUM, DATA, 0 },

    /* enough cells for several pieces of the sums */
    { "heat_focal" FOCAL "(A[3,32,40,2], A[3,32,40,2], A[3,32,40])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "heat_focal_bwd" FOCAL "(A[3,32,40,2], A[3,32,40,2], A[3,32,40], A[2], A[1])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "heat_offset{beta=2}(A[3,32,40,4], A[3,32,40,4], A[3,32,40,2], A[3,32,40])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "heat_offset_bwd{beta=2}(A[3,32,40,4], A[3,32,40,4], A[3,32,40,2], A[3,32,40], A[2], A[1])", CT_TYPES_ACCUM,
      CT_D(UNIFORM), 0 },
    { "heat_angle{threshold=0.7}(A[3,32,40,2], A[3,2], A[3,32,40,2])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "heat_angle_bwd{threshold=0.7}(A[3,2], A[3,32,40,2], A[1], A[1])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "heat_padding" PADDING "(A[3,32,40,2], A[3,32,40])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "heat_padding_bwd" PADDING "(A[3,32,40,2], A[3,32,40], A[1], A[1])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },

    { "heat_focal" FOCAL "(A[16,64,128,2], A[16,64,128,2], A[16,64,128])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_focal_bwd" FOCAL "(A[16,64,128,2], A[16,64,128,2], A[16,64,128], A[2], A[1])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_offset{beta=1}(A[16,64,128,4], A[16,64,128,4], A[16,64,128,2], A[16,64,128])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_offset_bwd{beta=1}(A[16,64,128,4], A[16,64,128,4], A[16,64,128,2], A[16,64,128], A[2], A[1])",
      CT_TYPES_ACCUM, DATA, 1 },
    { "heat_angle{threshold=0.7}(A[16,64,128,2], A[16,2], A[16,64,128,2])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_angle_bwd{threshold=0.7}(A[16,2], A[16,64,128,2], A[1], A[1])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_padding" PADDING "(A[16,64,128,2], A[16,64,128])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_padding_bwd" PADDING "(A[16,64,128,2], A[16,64,128], A[1], A[1])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_rows" ROWS "(A[16,64,128,2], A[16,2,2])", CT_TYPES_ACCUM, DATA, 1 },
    { "heat_rows_bwd" ROWS "(A[16,64,128,2], A[16,2,2], A[16,2,64], A[1], A[1])", CT_TYPES_ACCUM, DATA, 1 },
    { .text = NULL },
};
