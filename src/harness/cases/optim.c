/* Cases of the optimizer operators. SPECIAL data are the first step, SKIPPED ones a step whose gradients were not
 * finite. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED) | CT_D(SMALL))
#define ADAM "beta1=0.9 beta2=0.999 eps=1e-8"

/* Of one 16-bit type H, as plans of that type have them. */
#define HALVES(H)                                                                                                      \
    { "grad_norm{max_norm=0.001}(" H "[1003], f64[16])", CT_TYPES_ONCE, DATA | CT_D(LARGE), 0 },                       \
    { "grad_norm{max_norm=0.001}(" H "[1003], f64[16], f32[515])", CT_TYPES_ONCE, DATA, 0 },                           \
    { "grad_norm(" H "[2], f64[16], f32[1])", CT_TYPES_ONCE, DATA, 0 },                                                \
    { "grad_norm{max_norm=1}(" H "[70016], f64[16], f32[5001])", CT_TYPES_ONCE, DATA, 0 },                             \
    { "adamw{" ADAM " weight_decay=0.01 decoupled=1}(f32[1003], " H "[1003], f32[1003], f32[1003], f64[16], " H        \
      "[1003])", CT_TYPES_ONCE, DATA, 0 },                                                                             \
    { "adamw{" ADAM " weight_decay=0.01}(f32[5], f32[5], f32[5], f32[5], f64[16], " H "[5])", CT_TYPES_ONCE, DATA, 0 },\
    { "adamw{" ADAM "}(f32[70001], " H "[70001], f32[70001], f32[70001], f64[16])", CT_TYPES_ONCE, DATA, 0 },          \
    { "sgd{momentum=0.9 weight_decay=0.0005}(f32[4099], " H "[4099], f32[4099], f64[16], " H "[4099])",                \
      CT_TYPES_ONCE, DATA, 0 },                                                                                        \
    { "sgd{momentum=0.9 nesterov=1}(f32[65], f32[65], f32[65], f64[16], " H "[65])", CT_TYPES_ONCE, DATA, 0 },         \
    { "sgd(f32[64], " H "[64], f32[64], f64[16])", CT_TYPES_ONCE, DATA, 0 }

const ct_case_row ct_cases_optim[] = {
    { "lr_schedule{base_lr=0.1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(SPECIAL), 0 },
    { "lr_schedule{kind=1 base_lr=0.1 min_lr=0.001 warmup_steps=100 total_steps=2000}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(TIES) | CT_D(SPECIAL), 0 },
    { "lr_schedule{kind=1 base_lr=0.1 warmup_steps=2000 total_steps=3000}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "lr_schedule{kind=2 base_lr=0.1 milestones=100,200,800 gamma=0.5}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "lr_schedule{kind=3 base_lr=0.1 min_lr=1e-5 t0=30 t_mult=2}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(TIES),
      0 },
    { "lr_schedule{kind=3 base_lr=0.1 t0=7 t_mult=1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "grad_norm(A[1], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "grad_norm{max_norm=0.001}(A[1003], f64[16])", CT_TYPES_ACCUM, DATA | CT_D(LARGE), 0 },
    { "grad_norm{max_norm=1e9}(A[5000], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "adamw{" ADAM " weight_decay=0.01 decoupled=1}(A[1003], A[1003], A[1003], A[1003], f64[16])", CT_TYPES_ACCUM,
      DATA, 0 },
    { "adamw{" ADAM " weight_decay=0.01 decoupled=1}(A[1], A[1], A[1], A[1], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "adamw{" ADAM " weight_decay=0.01}(A[515], A[515], A[515], A[515], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "adamw{" ADAM "}(A[64], A[64], A[64], A[64], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd(A[1003], A[1003], A[1003], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd{momentum=0.9 weight_decay=0.0005}(A[515], A[515], A[515], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd{momentum=0.9 weight_decay=0.0005}(A[516], A[516], A[516], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd{momentum=0.9 nesterov=1}(A[64], A[64], A[64], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd{momentum=0.9 nesterov=1}(A[65], A[65], A[65], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "ema{decay=0.999}(A[1003], A[1003], f64[16])", CT_TYPES_ACCUM, DATA, 0 },

    /* Gradients and copies of the parameters in 16 bits; behind them gradients in f32, from any element on. */
    HALVES("bf16"),
    HALVES("f16"),
    { "ema{decay=0.999 warmup=1}(A[1], A[1], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "ema{decay=0.999 warmup=1}(A[17], A[17], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "step_end(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED) | CT_D(TIES), 0 },
    { "step_end{dynamic=1 growth=2 backoff=0.5 growth_interval=2 max_scale=65536}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED) | CT_D(TIES) | CT_D(SMALL), 0 },
    { "step_end{dynamic=1 growth=2 backoff=0.5 growth_interval=1 max_scale=1e9}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED), 0 },
    { "next_draw(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },

    /* Large enough to be divided among threads. */
    { "grad_norm{max_norm=0.5}(A[100003], f64[16])", CT_TYPES_ACCUM, CT_D(UNIFORM) | CT_D(SPECIAL), 0 },
    { "adamw{" ADAM " weight_decay=0.01 decoupled=1}(A[70001], A[70001], A[70001], A[70001], f64[16])", CT_TYPES_ACCUM,
      CT_D(UNIFORM), 0 },
    { "sgd{momentum=0.9}(A[70001], A[70001], A[70001], f64[16])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },
    { "ema{decay=0.999}(A[70001], A[70001], f64[16])", CT_TYPES_ACCUM, CT_D(UNIFORM), 0 },

    { "adamw{" ADAM " weight_decay=0.01 decoupled=1}(A[19072400], A[19072400], A[19072400], A[19072400], f64[16])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "grad_norm{max_norm=1}(A[19072400], f64[16])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "grad_norm{max_norm=1}(bf16[2200003], f64[16], f32[5])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { .text = NULL },
};
