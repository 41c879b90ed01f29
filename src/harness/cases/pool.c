/* Cases of pooling: windows that overlap, leave pixels out or hang over the padding; ties, NaN and infinities. */
#include "config.h"

#include "harness/harness.h"

#define MAX (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(TIES) | CT_D(SPECIAL) | CT_D(LARGE))
#define DATA (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(INTS))

const ct_case_row ct_cases_pool[] = {
    { "maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2}(T[2,6,8,5])", CT_TYPES_ALL, MAX, 0 },
    { "maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2}(T[1,7,9,16])", CT_TYPES_ALL, MAX, 0 },
    { "maxpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}(T[2,7,8,19])", CT_TYPES_ALL, MAX, 0 },
    { "maxpool2d{ker_h=3 ker_w=2 stride_h=1 stride_w=3 pad_h=1 pad_w=1}(T[1,5,10,3])", CT_TYPES_ALL, MAX, 0 },
    { "maxpool2d{ker_h=1 ker_w=1 stride_h=1 stride_w=1}(T[1,1,1,1])", CT_TYPES_ALL, MAX, 0 },
    { "maxpool2d{ker_h=16 ker_w=16 stride_h=16 stride_w=16}(T[1,16,16,2])", CT_TYPES_ALL, MAX, 0 },
    { "maxpool2d_bwd{ker_h=2 ker_w=2 stride_h=2 stride_w=2 in_h=6 in_w=8}(T[2,3,4,5], u8[2,3,4,5])", CT_TYPES_ALL, DATA,
      0 },
    { "maxpool2d_bwd{ker_h=2 ker_w=2 stride_h=2 stride_w=2 in_h=7 in_w=9}(T[1,3,4,16], u8[1,3,4,16])", CT_TYPES_ALL,
      DATA, 0 },
    { "maxpool2d_bwd{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1 in_h=7 in_w=8}(T[2,4,4,19], u8[2,4,4,19])",
      CT_TYPES_ALL, DATA, 0 },
    { "maxpool2d_bwd{ker_h=3 ker_w=2 stride_h=1 stride_w=3 pad_h=1 pad_w=1 in_h=5 in_w=10}(T[1,5,4,3], u8[1,5,4,3])",
      CT_TYPES_ALL, DATA, 0 },
    { "avgpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2}(T[2,6,8,5])", CT_TYPES_ALL, DATA, 0 },
    { "avgpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}(T[2,7,8,19])", CT_TYPES_ALL, DATA, 0 },
    { "avgpool2d{ker_h=3 ker_w=2 stride_h=1 stride_w=3 pad_h=1 pad_w=1}(T[1,5,10,3])", CT_TYPES_ALL, DATA, 0 },
    { "avgpool2d_bwd{ker_h=2 ker_w=2 stride_h=2 stride_w=2 in_h=7 in_w=9}(T[2,3,4,5])", CT_TYPES_ALL, DATA, 0 },
    { "avgpool2d_bwd{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1 in_h=7 in_w=8}(T[2,4,4,19])", CT_TYPES_ALL,
      DATA, 0 },
    { "global_avgpool(T[3,5,7,18])", CT_TYPES_ALL, DATA, 0 },
    { "global_avgpool(T[1,1,1,1])", CT_TYPES_ALL, DATA, 0 },
    { "global_avgpool(T[2,30,40,3])", CT_TYPES_ALL, DATA, 0 },
    { "global_avgpool_bwd{in_h=5 in_w=7}(T[3,18])", CT_TYPES_ALL, DATA, 0 },
    { "global_avgpool_bwd{in_h=1 in_w=1}(T[1,1])", CT_TYPES_ALL, DATA, 0 },

    /* Large enough to be divided among threads. */
    { "maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2}(T[6,24,40,20])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "maxpool2d_bwd{ker_h=2 ker_w=2 stride_h=2 stride_w=2 in_h=24 in_w=40}(T[6,12,20,20], u8[6,12,20,20])",
      CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2}(T[8,60,160,32])", CT_TYPES_ALL, MAX, 1 },
    { "maxpool2d_bwd{ker_h=2 ker_w=2 stride_h=2 stride_w=2 in_h=60 in_w=160}(T[8,30,80,32], u8[8,30,80,32])",
      CT_TYPES_ALL, DATA, 1 },
    { "maxpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}(T[2,112,112,64])", CT_TYPES_ALL, MAX, 1 },
    { "global_avgpool(T[8,7,7,2048])", CT_TYPES_ALL, DATA, 1 },
    { .text = NULL },
};
