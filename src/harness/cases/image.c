/* Cases of preprocessing: as it is, resized up and down, each augmentation alone, all together; one and three channels, and
 * more channels in x than there are; with windows, whose edges are in ties those of pixels; crops and mirrors. Points
 * alike. */
#include "config.h"

#include "harness/harness.h"

#define GRAY "std=1"
#define RGB "mean=0.485,0.456,0.406 std=0.229,0.224,0.225"
#define D CT_D(UNIFORM)
#define POINTS (CT_D(UNIFORM) | CT_D(SPECIAL))
#define WINDOW (CT_D(UNIFORM) | CT_D(TIES) | CT_D(SPECIAL))

const ct_case_row ct_cases_image[] = {
    { "preprocess{out_h=6 out_w=9 dtype=%d " GRAY "}(u8[4,6,9,1], i32[3,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=5 out_w=7 dtype=%d " RGB "}(u8[2,5,7,3], i32[4,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=11 out_w=5 dtype=%d " GRAY "}(u8[2,6,9,1], i32[2,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=1 out_w=1 dtype=%d " RGB "}(u8[1,7,4,3], i32[1,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=4 out_w=4 dtype=%d " GRAY "}(u8[1,1,1,1], i32[1,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=8 out_w=12 dtype=%d augment=1 seed=3 prob=1 shift_x=3 shift_y=2 fill=1 " GRAY
      "}(u8[3,8,12,1], i32[3,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=8 out_w=12 dtype=%d augment=1 seed=3 prob=1 rotate=30 shear=20 scale=0.2 fill=0.5 " RGB
      "}(u8[3,8,12,3], i32[3,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=8 out_w=12 dtype=%d augment=1 seed=4 prob=1 brightness=0.2 contrast=0.3 " GRAY
      "}(u8[3,8,12,1], i32[3,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=8 out_w=12 dtype=%d augment=1 seed=5 prob=1 noise=0.2 " RGB "}(u8[3,8,12,3], i32[3,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=8 out_w=13 dtype=%d augment=1 seed=6 prob=1 blur=1.5 " GRAY "}(u8[3,8,13,1], i32[3,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=10 out_w=17 dtype=%d augment=1 seed=-7 prob=0.5 shift_x=2 shift_y=2 scale=0.1 rotate=10 "
      "shear=5 "
      "brightness=0.1 contrast=0.1 noise=0.05 blur=1 fill=1 mean=0.5 std=0.25}(u8[5,14,30,1], i32[8,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=6 out_w=9 dtype=%d channels=8 " GRAY "}(u8[4,6,9,1], i32[3,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=31 out_w=37 dtype=%d channels=8 " RGB "}(u8[2,31,37,3], i32[4,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=7 out_w=9 dtype=%d channels=4 " RGB "}(u8[2,5,7,3], i32[4,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=5 out_w=6 dtype=%d channels=3 " RGB "}(u8[2,5,6,3], i32[2,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=5 out_w=6 dtype=%d channels=5 " GRAY "}(u8[2,4,6,1], i32[2,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=30 out_w=37 dtype=%d channels=8 augment=1 seed=9 prob=0.7 shift_x=2 shift_y=1 rotate=9 noise=0.1 "
      "blur=1 fill=1 " RGB "}(u8[3,28,33,3], i32[4,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=6 out_w=9 dtype=%d fill=1 " GRAY "}(u8[4,6,9,1], i32[5,3], f32[5,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=5 out_w=7 dtype=%d fill=0.25 " RGB "}(u8[2,5,7,3], i32[4,3], f64[4,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=14 out_w=37 dtype=%d fill=1 " RGB "}(u8[2,7,25,3], i32[6,3], f32[6,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=1 out_w=1 dtype=%d " GRAY "}(u8[1,7,4,1], i32[3,3], f32[3,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=16 out_w=19 dtype=%d channels=8 fill=1 " RGB "}(u8[2,16,19,3], i32[5,3], f32[5,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=9 out_w=11 dtype=%d channels=5 " RGB "}(u8[2,8,11,3], i32[3,3], f32[3,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=31 out_w=37 dtype=%d augment=1 seed=9 prob=0.7 shift_x=4 shift_y=3 scale=0.2 rotate=12 shear=9 "
      "brightness=0.3 contrast=0.3 noise=0.2 blur=1 fill=1 " RGB "}(u8[3,31,37,3], i32[8,3], f32[8,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=20 out_w=12 dtype=%d channels=4 augment=1 seed=2 prob=1 rotate=45 noise=0.1 fill=0.5 mean=0.5 "
      "std=0.25}(u8[3,31,37,1], i32[4,3], f32[4,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    /* crops, in the middle and by lot; mirrors; both, and with all the rest */
    { "preprocess{out_h=5 out_w=6 crop_h=5 crop_w=6 dtype=%d " GRAY "}(u8[4,8,9,1], i32[3,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=9 out_w=4 crop_h=5 crop_w=7 dtype=%d " RGB "}(u8[2,8,11,3], i32[4,3])", CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=7 out_w=9 crop_h=7 crop_w=9 dtype=%d augment=1 seed=5 " RGB "}(u8[3,12,17,3], i32[9,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=7 out_w=9 dtype=%d augment=1 seed=5 flip=1 " RGB "}(u8[3,7,9,3], i32[3,3])", CT_TYPES_ALL, D,
      0 },
    { "preprocess{out_h=6 out_w=8 dtype=%d channels=8 augment=1 seed=6 flip=0.5 " GRAY "}(u8[3,6,8,1], i32[8,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=12 out_w=5 dtype=%d augment=1 seed=6 flip=0.5 " RGB "}(u8[3,7,9,3], i32[8,3])", CT_TYPES_ALL, D,
      0 },
    { "preprocess{out_h=31 out_w=29 crop_h=31 crop_w=29 dtype=%d channels=4 augment=1 seed=8 flip=0.5 " RGB
      "}(u8[3,33,40,3], i32[8,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=9 out_w=8 crop_h=9 crop_w=8 dtype=%d augment=1 seed=8 flip=0.5 prob=0.5 brightness=0.2 noise=0.1 "
      "blur=1 " RGB "}(u8[3,12,11,3], i32[8,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=17 out_w=13 crop_h=11 crop_w=16 dtype=%d augment=1 seed=-3 flip=0.5 prob=0.6 shift_x=4 shift_y=3 "
      "scale=0.3 rotate=20 shear=9 brightness=0.1 contrast=0.1 noise=0.05 blur=1 fill=1 mean=0.5 std=0.25}"
      "(u8[5,14,30,1], i32[8,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=1 out_w=1 crop_h=1 crop_w=1 dtype=%d augment=1 seed=2 flip=0.5 " GRAY "}(u8[1,7,4,1], i32[5,3])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=21 out_w=27 crop_h=21 crop_w=27 dtype=%d augment=1 seed=9 flip=0.5 fill=1 " RGB
      "}(u8[3,31,37,3], i32[8,3], f32[8,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    { "preprocess{out_h=25 out_w=20 crop_h=21 crop_w=27 dtype=%d channels=8 augment=1 seed=9 flip=0.5 prob=0.7 shift_x=4 "
      "rotate=12 noise=0.2 blur=1 fill=1 " RGB "}(u8[3,31,37,3], i32[8,3], f32[8,4])",
      CT_TYPES_ALL, WINDOW, 0 },
    /* frames of clips: noise of their own */
    { "preprocess{out_h=8 out_w=12 dtype=%d augment=1 seed=5 prob=1 noise=0.2 " RGB "}(u8[3,8,12,3], i32[6,4])",
      CT_TYPES_ALL, D, 0 },
    { "preprocess{out_h=9 out_w=8 crop_h=9 crop_w=8 dtype=%d channels=8 augment=1 seed=8 flip=0.5 prob=0.7 rotate=9 "
      "noise=0.1 " RGB "}(u8[3,12,11,3], i32[8,4])",
      CT_TYPES_ALL, D, 0 },
    { "move_points{out_h=12 out_w=9 src_h=6 src_w=9 augment=1 seed=5 flip=0.5 prob=0.5 shift_x=2}(A[5,1,2], i32[5,4])",
      CT_TYPES_ACCUM, POINTS, 0 },
    { "move_points{out_h=6 out_w=9 src_h=6 src_w=9}(A[3,1,2], i32[3,3])", CT_TYPES_ACCUM, POINTS, 0 },
    { "move_points{out_h=20 out_w=36 src_h=31 src_w=50 crop_h=10 crop_w=18}(A[3,4,2], i32[3,3])", CT_TYPES_ACCUM, POINTS,
      0 },
    { "move_points{out_h=20 out_w=21 src_h=31 src_w=50 crop_h=20 crop_w=21 augment=1 seed=5 flip=0.5}(A[9,4,2], i32[9,3])",
      CT_TYPES_ACCUM, POINTS, 0 },
    { "move_points{out_h=40 out_w=30 src_h=50 src_w=40 crop_h=33 crop_w=32 augment=1 seed=-7 flip=0.5 prob=0.5 shift_x=2 "
      "shift_y=2 scale=0.3 rotate=30 shear=20}(A[70,7,2], i32[70,3])",
      CT_TYPES_ACCUM, POINTS, 0 },
    { "move_points{out_h=64 out_w=80 src_h=31 src_w=50}(A[2,5,2], i32[2,3])", CT_TYPES_ACCUM, POINTS, 0 },
    { "move_points{out_h=40 out_w=50 src_h=40 src_w=50 augment=1 seed=3 prob=1 shift_x=3 shift_y=2}"
      "(A[5,2,2], i32[5,3])",
      CT_TYPES_ACCUM, POINTS, 0 },
    { "move_points{out_h=40 out_w=30 src_h=50 src_w=20 augment=1 seed=-7 prob=0.5 shift_x=2 shift_y=2 scale=0.3 "
      "rotate=30 shear=20}(A[70,7,2], i32[70,3])",
      CT_TYPES_ACCUM, POINTS, 0 },

    { "preprocess{out_h=60 out_w=160 dtype=%d mean=0.5 std=0.25}(u8[64,60,160,1], i32[64,3])", CT_TYPES_ALL, D, 1 },
    { "preprocess{out_h=60 out_w=160 dtype=%d augment=1 seed=7 prob=1 shift_x=2 shift_y=2 scale=0.1 rotate=10 shear=5 "
      "brightness=0.1 contrast=0.1 noise=0.05 blur=1 fill=1 std=1}(u8[64,60,160,1], i32[64,3])",
      CT_TYPES_ALL, D, 1 },
    { "preprocess{out_h=224 out_w=224 crop_h=224 crop_w=224 dtype=%d augment=1 seed=7 flip=0.5 " RGB
      "}(u8[32,256,256,3], i32[32,3])",
      CT_TYPES_ALL, D, 1 },
    { "preprocess{out_h=256 out_w=512 dtype=%d fill=1 mean=0.5,0.5,0.5 std=0.25,0.25,0.25}"
      "(u8[4,256,512,3], i32[4,3], f32[4,4])",
      CT_TYPES_ALL, D, 1 },
    { .text = NULL },
};
