/* Cases of reshape (a gradient alone), add, mul, scale, cast between all floating types, accumulate, fit_channels both
 * ways. cast dtype: 0 f32, 1 f64, 2 bf16, 3 f16. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(INTS) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))
#define CASTS (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT) | CT_D(SPECIAL))

const ct_case_row ct_cases_elementwise[] = {
    { "reshape{ndim=2 d0=6 d1=20}(T[2,3,4,5])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "add(T[3,5,7,3], T[3,5,7,3])", CT_TYPES_ALL, DATA, 0 },
    { "add(T[1], T[1])", CT_TYPES_ALL, DATA, 0 },
    { "add(T[1025], T[1025])", CT_TYPES_ALL, DATA, 0 },
    { "mul(T[3,5,7,3], T[3,5,7,3])", CT_TYPES_ALL, DATA, 0 },
    { "mul(T[1], T[1])", CT_TYPES_ALL, DATA, 0 },
    { "scale{alpha=-0.3}(T[3,5,7,3])", CT_TYPES_ALL, DATA, 0 },
    { "scale{alpha=2}(T[1])", CT_TYPES_ALL, DATA, 0 },
    { "scale(T[1025])", CT_TYPES_ALL, DATA, 0 },
    { "cast{dtype=0}(T[2,333])", CT_TYPES_ALL, CASTS, 0 },
    { "cast{dtype=1}(T[2,333])", CT_TYPES_ALL, CASTS, 0 },
    { "cast{dtype=2}(T[2,333])", CT_TYPES_ALL, CASTS, 0 },
    { "cast{dtype=3}(T[2,333])", CT_TYPES_ALL, CASTS, 0 },
    { "group_sum(f64[2,33])", CT_TYPES_ALL, DATA, 0 },
    { "accumulate{alpha=1 beta=1}(T[777], A[777])", CT_TYPES_ALL, DATA, 0 },
    { "accumulate{alpha=0.5 beta=2}(T[3,5], A[3,5])", CT_TYPES_ALL, DATA, 0 },
    { "accumulate{alpha=1}(T[130], A[130])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=8}(T[2,5,7,3])", CT_TYPES_ALL, CASTS, 0 },
    { "fit_channels{channels=3}(T[2,5,7,8])", CT_TYPES_ALL, CASTS, 0 },
    { "fit_channels{channels=8}(T[16,3,3,1])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=1}(T[16,3,3,8])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=4}(T[6,1])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=5}(T[5])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=16}(T[9,13])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=7}(T[11,24])", CT_TYPES_ALL, DATA, 0 },
    { "fit_channels{channels=1}(T[1])", CT_TYPES_ALL, DATA, 0 },

    /* Large enough to be divided among threads. */
    { "add(T[3,23001], T[3,23001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "mul(T[3,23001], T[3,23001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "scale{alpha=1.25}(T[3,23001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "cast{dtype=0}(T[70001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "cast{dtype=2}(T[70001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "accumulate{alpha=1 beta=1}(T[70001], A[70001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "fit_channels{channels=8}(T[3,67,107,3])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "fit_channels{channels=3}(T[3,67,107,8])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "add(T[8,60,160,32], T[8,60,160,32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "cast{dtype=2}(f32[19072400])", CT_TYPES_ONCE, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
