/* Cases of the convolution family: 1x1, odd sizes, strides, padding, dilation, groups, depthwise, one image, channel
 * counts that are no multiple of a vector, long reductions; the real shapes of textcnn and resnet at small batch in
 * full runs. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(INTS))
#define MORE (DATA | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))
#define S11 "stride_h=1 stride_w=1 dil_h=1 dil_w=1 groups=1"
#define S22 "stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1"

const ct_case_row ct_cases_conv[] = {
    { "conv2d{" S11 "}(T[2,5,7,8], T[16,1,1,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 "}(T[1,1,1,3], T[5,1,1,3], T[5])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[2,6,9,3], T[8,3,3,3], T[8])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[2,13,21,1], T[32,3,3,1], T[32])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[3,8,8,16], T[32,3,3,16])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[1,7,5,17], T[19,3,3,17], T[19])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 "}(T[2,4,6,5], T[7,4,6,5], T[7])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(T[2,9,11,6], T[10,3,3,6])", CT_TYPES_ALL,
      DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1}(T[2,8,8,12], T[24,1,1,12])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1}(T[1,17,15,3], T[12,7,7,3])", CT_TYPES_ALL,
      DATA, 0 },
    { "conv2d{stride_h=3 stride_w=1 pad_h=0 pad_w=2 dil_h=1 dil_w=1 groups=1}(T[2,10,5,4], T[6,2,5,4], T[6])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=2 pad_w=4 dil_h=2 dil_w=4 groups=1}(T[1,9,10,5], T[8,3,3,5])", CT_TYPES_ALL,
      DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=2}(T[2,6,6,8], T[12,3,3,4], T[12])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=18}(T[2,7,8,18], T[18,3,3,1])", CT_TYPES_ALL,
      DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=4}(T[1,5,5,4], T[8,3,3,1], T[8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_w=1}(T[1,1,40,6], T[9,1,3,6], T[9])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[1,4,4,256], T[20,3,3,256])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[3,20,40,20], T[36,3,3,20], T[36])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 "}(T[3,20,40,20], T[36,1,1,20])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=32}(T[2,9,10,32], T[32,3,3,1], T[32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=7}(T[1,6,5,7], T[7,5,5,1], T[7])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=1 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=21}(T[2,8,7,21], T[21,3,3,1], T[21])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1}(T[2,5,500,1], T[9,7,7,1], T[9])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=2 dil_h=1 dil_w=1 groups=1}(T[70,3,5,2], T[17,3,3,2], T[17])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=2 pad_h=2 pad_w=4 dil_h=1 dil_w=1 groups=1}(T[3,4,2,3], T[33,5,5,3], T[33])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=2 groups=1}(T[2,9,12,7], T[8,3,3,7], T[8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=1 groups=1}(T[2,9,12,2], T[40,3,5,2], T[40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1}(T[3,9,4,5], T[8,3,1,5], T[8])",
      CT_TYPES_ALL, DATA, 0 },

    /* What is split into numbers of bf16, laid out as tiles: few pixels and many, more than one block of them, channels and columns that fill no tile, more
     * channels than are laid out at a time, groups; and Winograd's positions, of filters that stay in the cache and others. */
    { "conv2d{" S11 "}(T[2,18,17,40], T[50,1,1,40], T[50])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(T[3,40,29,33], T[70,3,3,33], T[70])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(T[2,9,10,35], T[300,3,3,35], T[300])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 "}(f32[1,23,27,600], f32[40,1,1,600], f32[40])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{" S11 "}(f32[1,7,10,1100], f32[80,1,1,1100])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=2 dil_w=1 groups=2}(T[2,11,9,40], T[48,3,3,20], T[48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=0 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[3,23,31,16], f32[530,1,3,16])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(f32[2,27,28,70], f32[75,3,3,70], f32[75])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{" S11 " pad_h=0 pad_w=2}(f32[2,30,27,136], f32[130,3,3,136], f32[130])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },

    /* Moments beside y: of one pixel, of lists and windows, of slices of channels, of groups, of Winograd's tiles, of planes. */
    { "conv2d{" S11 " moments=1}(T[1,1,1,3], T[5,1,1,3], T[5])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " moments=1}(T[2,5,7,8], T[16,1,1,8])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d{" S11 " moments=1}(T[3,20,40,20], T[86,1,1,20], T[86])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 moments=1}(T[2,13,21,3], T[35,3,3,3], T[35])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1 moments=1}(T[1,17,15,3], T[12,7,7,3])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=2 groups=1 moments=1}(T[2,9,12,7], T[8,3,3,7], T[8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " moments=1}(f32[1,23,27,600], f32[40,1,1,600], f32[40])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=2 dil_w=1 groups=2 moments=1}(T[2,11,9,40], T[48,3,3,20], T[48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 moments=1}(T[3,20,40,20], T[36,3,3,20], T[36])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 moments=1}(f32[2,14,15,64], f32[70,3,3,64], f32[70])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 moments=1}(f32[1,7,7,256], f32[132,3,3,256])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{" S22 " moments=1}(f32[2,15,18,32], f32[45,3,3,32], f32[45])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 moments=1}(T[2,13,21,1], T[2,3,3,1], T[2])", CT_TYPES_ALL, DATA, 0 },

    /* A gradient that is added to another: with a stride, of taps that some pixels do not see, of slices of channels, of Winograd's tiles, whole and at edges. */
    { "conv2d_dgrad{" S11 " in_h=5 in_w=7}(T[2,5,7,16], T[16,1,1,8], T[2,5,7,8])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 in_h=8 in_w=9}(T[2,4,5,24], T[24,1,1,12], T[2,8,9,12])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=29 in_w=31}(T[2,15,16,36], T[36,3,3,40], T[2,29,31,40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=23 in_w=27}(f32[1,23,27,600], f32[600,1,1,41], f32[1,23,27,41])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=7 in_w=10}(f32[1,7,10,1100], f32[1100,1,1,80], f32[1,7,10,80])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=2 dil_w=1 groups=2 in_h=11 in_w=9}(T[2,9,9,48], T[48,3,3,20], T[2,11,9,40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=14 in_w=15}(f32[2,14,15,64], f32[64,3,3,64], f32[2,14,15,64])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=13 in_w=22}(f32[3,13,22,70], f32[70,3,3,75], f32[3,13,22,75])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=7 in_w=7}(f32[1,7,7,256], f32[256,3,3,132], f32[1,7,7,132])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{" S22 " in_h=15 in_w=18}(f32[2,8,9,48], f32[48,3,3,32], f32[2,15,18,32])", CT_TYPES_ONCE, DATA, 0 },

    { "conv2d_dgrad{" S11 " in_h=5 in_w=7}(T[2,5,7,16], T[16,1,1,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=6 in_w=9}(T[2,6,9,8], T[8,3,3,3])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=13 in_w=10}(T[2,13,10,32], T[32,3,3,1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=8 in_w=8}(T[3,8,8,32], T[32,3,3,16])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=7 in_w=5}(T[1,7,5,19], T[19,3,3,17])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=4 in_w=6}(T[2,1,1,7], T[7,4,6,5])", CT_TYPES_ALL, DATA, 0 },
    /* one row of results, each row of x seen by some taps, by none, or of more rows than classes */
    { "conv2d_dgrad{" S11 " in_h=3 in_w=9}(T[2,1,9,16], T[16,3,1,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=4 stride_w=2 pad_h=0 pad_w=1 dil_h=3 dil_w=1 groups=2 in_h=6 in_w=9}(T[2,1,5,12], "
      "T[12,2,3,4])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=2 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1 in_h=40 in_w=5}(T[1,1,3,6], "
      "T[6,40,1,4])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=9 in_w=11}(T[2,5,6,10], "
      "T[10,3,3,6])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 in_h=8 in_w=8}(T[2,4,4,24], T[24,1,1,12])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1 in_h=17 in_w=15}(T[1,9,8,12], "
      "T[12,7,7,3])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=3 stride_w=1 pad_h=0 pad_w=2 dil_h=1 dil_w=1 groups=1 in_h=10 in_w=5}(T[2,3,5,6], "
      "T[6,2,5,4])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=4 dil_h=2 dil_w=4 groups=1 in_h=9 in_w=10}(T[1,9,10,8], "
      "T[8,3,3,5])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=2 in_h=6 in_w=6}(T[2,6,6,12], "
      "T[12,3,3,4])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=18 in_h=7 in_w=8}(T[2,4,4,18], "
      "T[18,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=4 in_w=4}(T[1,4,4,256], T[256,3,3,20])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=20 in_w=40}(T[3,20,40,36], T[36,3,3,20])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=32 in_h=9 in_w=10}(T[2,9,10,32], "
      "T[32,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=7 in_h=6 in_w=5}(T[1,6,5,7], "
      "T[7,5,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=1 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=21 in_h=8 in_w=7}(T[2,4,7,21], "
      "T[21,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },

    { "conv2d_dgrad{" S11 " in_h=18 in_w=17}(T[2,18,17,40], T[40,1,1,50])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=60 in_w=41}(T[2,30,21,33], T[33,3,3,70])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=14 in_w=15}(T[3,7,8,35], T[35,3,3,300])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=3 stride_w=3 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1 in_h=29 in_w=31}(T[2,10,11,20], T[20,2,1,24])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=23 in_w=27}(f32[1,23,27,600], f32[600,1,1,40])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=7 in_w=10}(f32[1,7,10,1100], f32[1100,1,1,80])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=2 dil_w=1 groups=2 in_h=11 in_w=9}(T[2,9,9,48], T[48,3,3,20])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=27 in_w=28}(f32[2,27,28,70], f32[70,3,3,75])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=0 pad_w=2 in_h=30 in_w=27}(f32[2,28,29,136], f32[136,3,3,130])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },

    { "conv2d_wgrad{" S11 " ker_h=1 ker_w=1}(T[2,18,17,40], T[2,18,17,50])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(T[3,40,59,33], T[3,20,30,70])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " ker_h=1 ker_w=1}(f32[1,10,11,530], f32[1,10,11,40])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_wgrad{" S11 " ker_h=1 ker_w=1}(f32[1,10,11,20], f32[1,10,11,1050])", CT_TYPES_ONCE, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=2 dil_w=1 groups=2 ker_h=3 ker_w=3}(T[2,11,9,40], T[2,9,9,48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(f32[6,27,28,130], f32[6,27,28,136])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },

    { "conv2d_wgrad{" S11 " ker_h=1 ker_w=1}(T[2,5,7,8], T[2,5,7,16])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1 ker_h=7 ker_w=7}(T[2,5,500,1], T[2,3,250,9])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1 ker_h=7 ker_w=7}(T[2,5,500,1], T[2,3,250,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=2 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(T[70,3,5,2], T[70,3,7,17])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=2 pad_h=2 pad_w=4 dil_h=1 dil_w=1 groups=1 ker_h=5 ker_w=5}(T[3,4,2,3], T[3,4,3,33])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=2 groups=1 ker_h=3 ker_w=3}(T[2,9,12,7], T[2,5,12,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=1 groups=1 ker_h=3 ker_w=5}(T[2,9,12,2], T[2,9,12,40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=1}(T[3,9,4,5], T[3,7,4,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[2,6,9,3], T[2,6,9,8])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[2,13,21,1], T[2,13,21,32])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[3,8,8,16], T[3,8,8,32])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[1,7,5,17], T[1,7,5,19])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " ker_h=4 ker_w=6}(T[2,4,6,5], T[2,1,1,7])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(T[2,9,11,6], "
      "T[2,5,6,10])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 ker_h=1 ker_w=1}(T[2,8,8,12], T[2,4,4,24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1 ker_h=7 ker_w=7}(T[1,17,15,3], "
      "T[1,9,8,12])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=3 stride_w=1 pad_h=0 pad_w=2 dil_h=1 dil_w=1 groups=1 ker_h=2 ker_w=5}(T[2,10,5,4], "
      "T[2,3,5,6])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=4 dil_h=2 dil_w=4 groups=1 ker_h=3 ker_w=3}(T[1,9,10,5], "
      "T[1,9,10,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=2 ker_h=3 ker_w=3}(T[2,6,6,8], "
      "T[2,6,6,12])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=18 ker_h=3 ker_w=3}(T[2,7,8,18], "
      "T[2,4,4,18])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[6,20,30,4], T[6,20,30,5])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[3,20,40,20], T[3,20,40,36])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=32 ker_h=3 ker_w=3}(T[2,9,10,32], "
      "T[2,9,10,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=7 ker_h=5 ker_w=5}(T[1,6,5,7], "
      "T[1,6,5,7])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=1 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=21 ker_h=3 ker_w=3}(T[2,8,7,21], "
      "T[2,4,7,21])",
      CT_TYPES_ALL, DATA, 0 },

    /* for Winograd: every padding, tiles cut by the edge of 7x7, 14x14 and odd images, both tile sizes, channels that
     * are no multiple of a vector, one image, several blocks of tiles, slabs of filters, panels, slices and
     * chunks */
    { "conv2d{" S11 " pad_w=2}(T[6,9,13,24], T[20,3,3,24], T[20])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d{" S11 " pad_h=2}(T[4,11,9,17], T[33,3,3,17])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=2}(T[2,13,14,16], T[48,3,3,16], T[48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 "}(T[4,16,16,8], T[40,3,3,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[1,26,38,20], T[36,3,3,20], T[36])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[9,7,7,40], T[64,3,3,40], T[64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[3,14,14,64], T[24,3,3,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2 pad_w=2}(T[8,7,6,33], T[40,3,3,33], T[40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[16,2,2,64], T[64,3,3,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[3,2,30,40], T[48,3,3,40], T[48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_w=1}(T[6,4,10,64], T[48,3,3,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2}(T[6,2,8,50], T[64,3,3,50], T[64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[5,30,22,16], T[19,3,3,16], T[19])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[7,5,6,288], T[260,3,3,288], T[260])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[14,5,6,288], T[260,3,3,288])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(f32[29,5,5,288], f32[260,3,3,288])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[2,8,8,131], T[90,3,3,131], T[90])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[16,2,2,160], T[71,3,3,160])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "conv2d_dgrad{" S11 " pad_w=2 in_h=9 in_w=13}(T[6,7,15,20], T[20,3,3,24])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_dgrad{" S11 " pad_h=2 in_h=11 in_w=9}(T[4,13,7,33], T[33,3,3,17])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=2 in_h=13 in_w=14}(T[2,13,16,48], T[48,3,3,16])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=16 in_w=16}(T[4,14,14,40], T[40,3,3,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=26 in_w=38}(T[1,26,38,36], T[36,3,3,20])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=7 in_w=7}(T[9,7,7,64], T[64,3,3,40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=14 in_w=14}(T[3,14,14,24], T[24,3,3,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=2 pad_w=2 in_h=7 in_w=6}(T[8,9,8,40], T[40,3,3,33])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=2 in_w=2}(T[16,2,2,64], T[64,3,3,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=2 in_w=30}(T[3,2,30,48], T[48,3,3,40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_w=1 in_h=4 in_w=10}(T[6,2,10,48], T[48,3,3,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=2 in_h=2 in_w=8}(T[6,4,6,64], T[64,3,3,50])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=30 in_w=22}(T[5,30,22,19], T[19,3,3,16])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=5 in_w=6}(T[7,5,6,260], T[260,3,3,288])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=5 in_w=6}(T[14,5,6,260], T[260,3,3,288])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=5 in_w=5}(f32[29,5,5,260], f32[260,3,3,288])", CT_TYPES_ONCE,
      CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=8 in_w=8}(T[2,8,8,131], T[131,3,3,90])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=2 in_w=2}(T[16,2,2,160], T[160,3,3,71])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },

    { "conv2d_wgrad{" S11 " pad_w=2 ker_h=3 ker_w=3}(T[6,9,13,24], T[6,7,15,20])", CT_TYPES_ALL, MORE, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 ker_h=3 ker_w=3}(T[4,11,9,17], T[4,13,7,33])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=2 ker_h=3 ker_w=3}(T[2,13,14,16], T[2,13,16,48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " ker_h=3 ker_w=3}(T[4,16,16,8], T[4,14,14,40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[1,26,38,20], T[1,26,38,36])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[9,7,7,40], T[9,7,7,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[3,14,14,64], T[3,14,14,24])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 pad_w=2 ker_h=3 ker_w=3}(T[8,7,6,33], T[8,9,8,40])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[16,2,2,64], T[16,2,2,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[3,2,30,40], T[3,2,30,48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_w=1 ker_h=3 ker_w=3}(T[6,4,10,64], T[6,2,10,48])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 ker_h=3 ker_w=3}(T[6,2,8,50], T[6,4,6,64])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[5,30,22,16], T[5,30,22,19])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[7,5,6,288], T[7,5,6,260])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },

    /* and with stride 2: rows and columns that two taps or one see at every edge, panels of 32 channels, slices, panels of many filters */
    { "conv2d{" S22 "}(T[5,45,47,32], T[44,3,3,32], T[44])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S22 " in_h=45 in_w=47}(T[5,23,24,44], T[44,3,3,32])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S22 " ker_h=3 ker_w=3}(T[5,45,47,32], T[5,23,24,44])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S22 "}(T[2,31,42,96], T[72,3,3,96], T[72])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S22 " in_h=31 in_w=42}(T[2,16,21,72], T[72,3,3,96])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d_wgrad{" S22 " ker_h=3 ker_w=3}(T[2,31,42,96], T[2,16,21,72])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "conv2d{" S22 "}(f32[20,14,13,128], f32[168,3,3,128])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S22 " in_h=14 in_w=13}(f32[20,7,7,168], f32[168,3,3,128])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "conv2d_wgrad{" S22 " ker_h=3 ker_w=3}(f32[20,14,13,128], f32[20,7,7,168])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "conv2d{" S22 "}(f32[11,29,28,160], f32[176,3,3,160], f32[176])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "conv2d_dgrad{" S22 " in_h=29 in_w=28}(f32[11,15,14,176], f32[176,3,3,160])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "conv2d_wgrad{" S22 " ker_h=3 ker_w=3}(f32[11,29,28,160], f32[11,15,14,176])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },

    /* depthwise: kernels of 3, 5, 7 and 3x5 taps, every vector width and none, more channels than a block takes, padding that is
     * wider than the filter, one pixel */
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=8}"
      "(T[2,6,9,8], T[8,3,3,1], T[8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=24}"
      "(T[2,5,11,24], T[24,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=40}"
      "(T[2,9,7,40], T[40,3,3,1], T[40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=24}"
      "(T[1,9,10,24], T[24,5,5,1], T[24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=40}"
      "(T[2,8,9,40], T[40,5,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=4 pad_w=4 dil_h=2 dil_w=2 groups=8}"
      "(T[1,9,11,8], T[8,5,5,1], T[8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=2 groups=40}"
      "(T[2,7,9,40], T[40,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}"
      "(T[3,7,8,1], T[1,3,3,1], T[1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=3}"
      "(T[2,7,9,3], T[3,3,3,1], T[3])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=3}(T[2,6,9,3], T[3,5,5,1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=8}(T[1,8,9,8], T[8,7,7,1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=2 pad_h=1 pad_w=2 dil_h=1 dil_w=1 groups=24}"
      "(T[2,6,11,24], T[24,3,5,1], T[24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=72}"
      "(T[2,12,17,72], T[72,3,3,1], T[72])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=8}(T[1,5,6,8], T[8,3,3,1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=8}(T[2,1,1,8], T[8,3,3,1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=1 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=24}"
      "(T[2,9,8,24], T[24,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },

    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=8 in_h=6 in_w=9}"
      "(T[2,6,9,8], T[8,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=24 in_h=5 in_w=11}"
      "(T[2,5,11,24], T[24,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=40 in_h=9 in_w=7}"
      "(T[2,5,4,40], T[40,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=24 in_h=9 in_w=10}"
      "(T[1,9,10,24], T[24,5,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=40 in_h=8 in_w=9}"
      "(T[2,4,5,40], T[40,5,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=4 pad_w=4 dil_h=2 dil_w=2 groups=8 in_h=9 in_w=11}"
      "(T[1,9,11,8], T[8,5,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=2 groups=40 in_h=7 in_w=9}"
      "(T[2,7,9,40], T[40,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=7 in_w=8}"
      "(T[3,7,8,1], T[1,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=3 in_h=7 in_w=9}"
      "(T[2,4,5,3], T[3,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=3 in_h=6 in_w=9}"
      "(T[2,6,9,3], T[3,5,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=8 in_h=8 in_w=9}"
      "(T[1,8,9,8], T[8,7,7,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=2 pad_h=1 pad_w=2 dil_h=1 dil_w=1 groups=24 in_h=6 in_w=11}"
      "(T[2,6,6,24], T[24,3,5,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=72 in_h=12 in_w=17}"
      "(T[2,12,17,72], T[72,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=8 in_h=5 in_w=6}"
      "(T[1,9,10,8], T[8,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=8 in_h=1 in_w=1}"
      "(T[2,1,1,8], T[8,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{stride_h=2 stride_w=1 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=24 in_h=9 in_w=8}"
      "(T[2,5,8,24], T[24,3,3,1])",
      CT_TYPES_ALL, DATA, 0 },

    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=8 ker_h=3 ker_w=3}"
      "(T[2,6,9,8], T[2,6,9,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=24 ker_h=3 ker_w=3}"
      "(T[2,5,11,24], T[2,5,11,24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=40 ker_h=3 ker_w=3}"
      "(T[2,9,7,40], T[2,5,4,40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=24 ker_h=5 ker_w=5}"
      "(T[1,9,10,24], T[1,9,10,24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=40 ker_h=5 ker_w=5}"
      "(T[2,8,9,40], T[2,4,5,40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=4 pad_w=4 dil_h=2 dil_w=2 groups=8 ker_h=5 ker_w=5}"
      "(T[1,9,11,8], T[1,9,11,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=2 dil_w=2 groups=40 ker_h=3 ker_w=3}"
      "(T[2,7,9,40], T[2,7,9,40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}"
      "(T[3,7,8,1], T[3,7,8,1])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=3 ker_h=3 ker_w=3}"
      "(T[2,7,9,3], T[2,4,5,3])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=2 pad_w=2 dil_h=1 dil_w=1 groups=3 ker_h=5 ker_w=5}"
      "(T[2,6,9,3], T[2,6,9,3])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=8 ker_h=7 ker_w=7}"
      "(T[1,8,9,8], T[1,8,9,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=2 pad_h=1 pad_w=2 dil_h=1 dil_w=1 groups=24 ker_h=3 ker_w=5}"
      "(T[2,6,11,24], T[2,6,6,24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=72 ker_h=3 ker_w=3}"
      "(T[2,12,17,72], T[2,12,17,72])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=8 ker_h=3 ker_w=3}"
      "(T[1,5,6,8], T[1,9,10,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=8 ker_h=3 ker_w=3}"
      "(T[2,1,1,8], T[2,1,1,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=1 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=24 ker_h=3 ker_w=3}"
      "(T[2,9,8,24], T[2,5,8,24])",
      CT_TYPES_ALL, DATA, 0 },

    /* few channels on both sides, pixels along the vector: gates over time, pieces of a row, more rows than an item's,
     * filters of all kinds, more padding than they reach */
    { "conv2d{" S11 " pad_h=1}(T[2,5,37,3], T[4,3,1,3], T[4])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 in_h=5 in_w=37}(T[2,5,37,4], T[4,3,1,3])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 ker_h=3 ker_w=1}(T[2,5,37,3], T[2,5,37,4])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[1,35,70,2], T[8,3,3,2])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=35 in_w=70}(T[1,35,70,8], T[8,3,3,2])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[1,35,70,2], T[1,35,70,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2 pad_w=2}(T[1,3,1100,5], T[1,5,5,5], T[1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=2 pad_w=2 in_h=3 in_w=1100}(T[1,3,1100,1], T[1,5,5,5])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 pad_w=2 ker_h=5 ker_w=5}(T[1,3,1100,5], T[1,3,1100,1])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=3 pad_w=2}(T[2,4,9,7], T[6,2,1,7], T[6])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=3 pad_w=2 in_h=4 in_w=9}(T[2,9,13,6], T[6,2,1,7])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=3 pad_w=2 ker_h=2 ker_w=1}(T[2,4,9,7], T[2,9,13,6])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 "}(T[3,6,8,8], T[3,1,4,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " in_h=6 in_w=8}(T[3,6,5,3], T[3,1,4,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " ker_h=1 ker_w=4}(T[3,6,8,8], T[3,6,5,3])", CT_TYPES_ALL, DATA, 0 },

    /* channels of padding in x change nothing */
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=3}(T[2,6,9,8], T[16,3,3,8], T[16])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=1}(T[2,7,10,8], T[8,3,3,8])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=3}(T[2,6,9,8], T[2,6,9,16])", CT_TYPES_ALL, DATA, 0 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=6 in_w=9 data_c=3}(T[2,6,9,16], T[16,3,3,8])", CT_TYPES_ALL, DATA, 0 },

    /* few products a pixel: one to three channels of data with and without padding behind them, 3x3 and 5x5 taps, strides of 1 and 2, widths that no
     * segment divides, a single pixel, filters that fill no team of lanes; for the filters' gradient more shares of pixels than one, and folds of them */
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=1}(T[2,7,13,8], T[32,3,3,8], T[32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=1}"
      "(T[2,7,13,8], T[2,7,13,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=2}(T[2,6,11,8], T[40,3,3,8], T[40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=2}"
      "(T[2,6,11,8], T[2,6,11,40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=0 pad_w=2 data_c=3}(T[1,9,10,8], T[8,3,3,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=0 pad_w=2 ker_h=3 ker_w=3 data_c=3}"
      "(T[1,9,10,8], T[1,7,12,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2 pad_w=2 data_c=1}(T[2,9,12,8], T[24,5,5,8], T[24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 pad_w=2 ker_h=5 ker_w=5 data_c=1}"
      "(T[2,9,12,8], T[2,9,12,24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=1 pad_w=1 data_c=1}(T[3,10,15,8], T[16,3,3,8], T[16])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=1}"
      "(T[3,10,15,8], T[3,5,8,16])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=1 dil_h=1 dil_w=1 groups=1 pad_h=1 pad_w=0 data_c=3}(T[2,9,9,8], T[32,3,3,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=1 dil_h=1 dil_w=1 groups=1 pad_h=1 pad_w=0 ker_h=3 ker_w=3 data_c=3}"
      "(T[2,9,9,8], T[2,5,7,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=1 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=2 pad_w=1 data_c=2}(T[2,8,13,8], T[8,3,3,8], T[8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=1 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=2 pad_w=1 ker_h=3 ker_w=3 data_c=2}"
      "(T[2,8,13,8], T[2,10,7,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=2 pad_w=1 data_c=1}(T[1,11,14,8], T[40,5,5,8], T[40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=2 pad_w=1 ker_h=5 ker_w=5 data_c=1}"
      "(T[1,11,14,8], T[1,6,6,40])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[2,6,7,3], T[32,3,3,3], T[32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}"
      "(T[2,6,7,3], T[2,6,7,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=0 pad_w=1}(T[2,7,9,3], T[8,3,3,3])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1 pad_h=0 pad_w=1 ker_h=3 ker_w=3}"
      "(T[2,7,9,3], T[2,3,5,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2 pad_w=0}(T[1,8,6,2], T[16,3,3,2], T[16])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 pad_w=0 ker_h=3 ker_w=3}"
      "(T[1,8,6,2], T[1,10,4,16])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=3}(T[2,9,11,4], T[16,3,3,4])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=3}"
      "(T[2,9,11,4], T[2,9,11,16])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2 pad_w=2}(T[2,5,8,1], T[128,5,5,1], T[128])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 pad_w=2 ker_h=5 ker_w=5}"
      "(T[2,5,8,1], T[2,5,8,128])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=1}(T[1,1,1,8], T[32,3,3,8], T[32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=1}"
      "(T[1,1,1,8], T[1,1,1,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=0 pad_w=0 data_c=3}(T[1,3,3,8], T[128,3,3,8], T[128])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=0 pad_w=0 ker_h=3 ker_w=3 data_c=3}"
      "(T[1,3,3,8], T[1,1,1,128])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=2}(T[3,2,1,8], T[24,3,3,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=2}"
      "(T[3,2,1,8], T[3,2,1,24])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=2 pad_w=2 data_c=1}(T[1,1,2,8], T[8,5,5,8], T[8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=2 pad_w=2 ker_h=5 ker_w=5 data_c=1}"
      "(T[1,1,2,8], T[1,1,2,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=1}(T[40,31,33,8], T[32,3,3,8], T[32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=1}"
      "(T[40,31,33,8], T[40,31,33,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d{" S11 " pad_h=1 pad_w=1 data_c=3}(T[6,33,30,8], T[40,3,3,8])",
      CT_TYPES_ALL, DATA, 0 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3 data_c=3}"
      "(T[6,33,30,8], T[6,33,30,40])",
      CT_TYPES_ALL, DATA, 0 },

    /* textcnn (60x160 gray) and resnet, batch 4 */
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[4,60,160,1], T[32,3,3,1], T[32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[4,30,80,32], T[64,3,3,32], T[64])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[4,30,80,64], T[64,3,3,64], T[64])", CT_TYPES_ALL, DATA, 1 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[4,15,40,128], T[128,3,3,128])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1}(T[1,224,224,3], T[64,7,7,3])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "conv2d{stride_h=2 stride_w=2 dil_h=1 dil_w=1 groups=1}(T[1,56,56,256], T[512,1,1,256])", CT_TYPES_ACCUM,
      CT_D(UNIFORM), 1 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[1,7,7,512], T[512,3,3,512])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "conv2d{" S11 "}(T[1,14,14,1024], T[256,1,1,1024])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=30 in_w=80}(T[4,30,80,64], T[64,3,3,64])", CT_TYPES_ALL, DATA, 1 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=15 in_w=40}(T[4,15,40,128], T[128,3,3,128])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=28 in_w=28}(T[1,14,14,256], "
      "T[256,3,3,256])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[4,60,160,1], T[4,60,160,32])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[4,30,80,64], T[4,30,80,64])", CT_TYPES_ALL, DATA, 1 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[4,15,40,128], T[4,15,40,128])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(T[1,28,28,256], "
      "T[1,14,14,256])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[17,14,14,288], T[288,3,3,288])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "conv2d{" S11 " pad_h=1 pad_w=1}(T[4,28,28,128], T[128,3,3,128])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=14 in_w=14}(T[17,14,14,288], T[288,3,3,288])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "conv2d_dgrad{" S11 " pad_h=1 pad_w=1 in_h=28 in_w=28}(T[4,28,28,128], T[128,3,3,128])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[17,14,14,288], T[17,14,14,288])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "conv2d_wgrad{" S11 " pad_h=1 pad_w=1 ker_h=3 ker_w=3}(T[4,28,28,128], T[4,28,28,128])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { .text = NULL },
};
