/* Cases of activations and dropout. kind: 0 relu, 1 leaky_relu, 2 sigmoid, 3 tanh, 4 silu, 5 softplus. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))

const ct_case_row ct_cases_activation[] = {
    { "activation{kind=0}(T[3,5,7,3])", CT_TYPES_ALL, DATA, 0 },
    { "activation{kind=1 alpha=0.01}(T[131])", CT_TYPES_ALL, DATA, 0 },
    { "activation{kind=2}(T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation{kind=3}(T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation{kind=4}(T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation{kind=5}(T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation{kind=0}(T[1])", CT_TYPES_ALL, DATA, 0 },
    { "activation_bwd{kind=0}(T[3,5,7,3], T[3,5,7,3])", CT_TYPES_ALL, DATA, 0 },
    { "activation_bwd{kind=1 alpha=0.2}(T[131], T[131])", CT_TYPES_ALL, DATA, 0 },
    { "activation_bwd{kind=2}(T[2,67], T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation_bwd{kind=3}(T[2,67], T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation_bwd{kind=4}(T[2,67], T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "activation_bwd{kind=5}(T[2,67], T[2,67])", CT_TYPES_ALL, DATA, 0 },
    { "dropout_mask{p=0.5 seed=7 stream=3 ndim=3 d0=3 d1=5 d2=9}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_mask{p=0.1 seed=-9 stream=0 ndim=1 d0=1001}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_mask{seed=1 stream=1 ndim=2 d0=1 d1=1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_mask{p=0.25 seed=12345678901 stream=65535 ndim=2 d0=130 d1=131}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM),
      0 },
    { "dropout_mask{p=0.5 seed=7 stream=3 first=36 run=60 pitch=180 ndim=3 d0=3 d1=5 d2=12}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_mask{p=0.5 seed=7 stream=3 first=17179868784 run=800 pitch=17179868784 ndim=2 d0=2 d1=800}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_mask{p=0.3 seed=5 first=1056 run=8844 pitch=8844 ndim=2 d0=67 d1=132}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_apply{p=0.5}(T[7,33], u8[7,33])", CT_TYPES_ALL, DATA, 0 },
    { "dropout_apply{p=0.3}(T[1], u8[1])", CT_TYPES_ALL, DATA, 0 },
    { "dropout_apply{p=0.1}(T[2,3,4,5,6], u8[2,3,4,5,6])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "dropout_apply(T[65], u8[65])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    /* Large enough to be divided among threads. */
    { "activation{kind=0}(T[70001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "activation_bwd{kind=0}(T[70001], T[70001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "dropout_mask{p=0.5 seed=7 stream=3 ndim=1 d0=70001}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "dropout_apply{p=0.5}(T[70001], u8[70001])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "activation{kind=0}(T[8,60,160,32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "activation_bwd{kind=0}(T[8,60,160,32], T[8,60,160,32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "dropout_mask{p=0.5 seed=7 stream=3 ndim=2 d0=64 d1=17920}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
