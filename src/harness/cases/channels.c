/* Cases of concat_channels from two to sixteen inputs, slices and places at either end and in between, and factors of
 * channels: one channel, numbers around those of a vector, one pixel. */
#include "config.h"

#include "harness/harness.h"

#define COPIED (CT_D(UNIFORM) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT) | CT_D(SPECIAL))
#define DATA (CT_D(UNIFORM) | CT_D(INTS) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))

const ct_case_row ct_cases_channels[] = {
    { "concat_channels(T[2,3,5,1], T[2,3,5,1])", CT_TYPES_ALL, COPIED, 0 },
    { "concat_channels(T[2,3,5,8], T[2,3,5,3], T[2,3,5,16])", CT_TYPES_ALL, COPIED, 0 },
    { "concat_channels(T[7,19], T[7,1], T[7,33])", CT_TYPES_ALL, COPIED, 0 },
    { "concat_channels(T[3], T[2])", CT_TYPES_ALL, COPIED, 0 },
    { "concat_channels(T[3,1], T[3,2], T[3,1], T[3,3], T[3,1], T[3,1], T[3,5], T[3,1], T[3,1], T[3,2], T[3,1], T[3,1], "
      "T[3,4], T[3,1], T[3,8], T[3,1])", CT_TYPES_ALL, COPIED, 0 },
    { "slice_channels{channels=3}(T[2,3,5,8])", CT_TYPES_ALL, COPIED, 0 },
    { "slice_channels{first=5 channels=3}(T[2,3,5,8])", CT_TYPES_ALL, COPIED, 0 },
    { "slice_channels{first=2 channels=17}(T[9,24])", CT_TYPES_ALL, COPIED, 0 },
    { "slice_channels{first=3 channels=1}(T[11,4])", CT_TYPES_ALL, COPIED, 0 },
    { "slice_channels{channels=5}(T[2,5])", CT_TYPES_ALL, COPIED, 0 },
    { "place_channels{channels=8}(T[2,3,5,3])", CT_TYPES_ALL, COPIED, 0 },
    { "place_channels{first=5 channels=8}(T[2,3,5,3])", CT_TYPES_ALL, COPIED, 0 },
    { "place_channels{first=2 channels=24}(T[9,17])", CT_TYPES_ALL, COPIED, 0 },
    { "place_channels{first=1 channels=3}(T[1])", CT_TYPES_ALL, COPIED, 0 },
    { "place_channels{channels=5}(T[2,5])", CT_TYPES_ALL, COPIED, 0 },
    { "scale_channels(T[2,3,5,8], T[2,8])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels(T[3,4,1,19], T[3,19])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels(T[2,1,1,33], T[2,33])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels(T[1,7,9,1], T[1,1])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels_bwd(T[2,3,5,8], T[2,3,5,8])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels_bwd(T[3,4,1,19], T[3,4,1,19])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels_bwd(T[2,1,1,33], T[2,1,1,33])", CT_TYPES_ALL, DATA, 0 },
    { "scale_channels_bwd(T[1,7,9,1], T[1,7,9,1])", CT_TYPES_ALL, DATA, 0 },

    /* Large enough to be divided among threads. */
    { "concat_channels(T[2,60,70,8], T[2,60,70,5])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "slice_channels{first=3 channels=9}(T[2,60,70,13])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "place_channels{first=3 channels=13}(T[2,60,70,9])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "scale_channels(T[2,60,70,20], T[2,20])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "scale_channels_bwd(T[2,60,70,20], T[2,60,70,20])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "concat_channels(T[8,64,128,32], T[8,64,128,32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "slice_channels{first=32 channels=32}(T[8,64,128,64])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "place_channels{first=32 channels=64}(T[8,64,128,32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "scale_channels(T[8,32,64,256], T[8,256])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "scale_channels_bwd(T[8,32,64,256], T[8,32,64,256])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
