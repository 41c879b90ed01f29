/* Cases of the optimizer operators. SPECIAL data are the first step, SKIPPED ones a step whose gradients were not
 * finite. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED) | CT_D(SMALL) | CT_D(FAINT))
/* Matrices of `rows` x `cols`, `stride` elements apart, `steps` of Newton-Schulz. */
#define MUON(rows, cols, stride, steps)                                                                                \
    "rows=" #rows " cols=" #cols " stride=" #stride " steps=" #steps " momentum=0.95 lr_factor=1000"
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
    { "sgd(f32[64], " H "[64], f32[64], f64[16])", CT_TYPES_ONCE, DATA, 0 },                                           \
    { "muon{" MUON(16, 36, 576, 5) " nesterov=1 scale=1}(f32[1152], " H "[1152], f32[1152], f64[16], " H "[1152])",    \
      CT_TYPES_ONCE, DATA, 0 },                                                                                        \
    { "muon{" MUON(70, 40, 2816, 5) " nesterov=1 scale=1}(f32[2816], f32[2816], f32[2816], f64[16], " H "[2816])",     \
      CT_TYPES_ONCE, DATA, 0 }

const ct_case_row ct_cases_optim[] = {
    { "lr_schedule{base_lr=0.1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(SPECIAL), 0 },
    { "lr_schedule{kind=1 base_lr=0.1 min_lr=0.001 warmup_steps=100 total_steps=2000}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(TIES) | CT_D(SPECIAL), 0 },
    { "lr_schedule{kind=1 base_lr=0.1 warmup_steps=2000 total_steps=3000}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "lr_schedule{kind=2 base_lr=0.1 milestones=100,200,800 gamma=0.5}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "lr_schedule{kind=3 base_lr=0.1 min_lr=1e-5 t0=30 t_mult=2}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(TIES),
      0 },
    { "lr_schedule{kind=3 base_lr=0.1 t0=7 t_mult=1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "lr_schedule{kind=4 base_lr=0.1 min_lr=1e-5 total_steps=1000 start_lr=0.01 peak=299}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(TIES) | CT_D(SPECIAL), 0 },
    { "lr_schedule{kind=4 base_lr=0.1 total_steps=900 peak=-1}(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM), 0 },
    { "lr_schedule{kind=5 base_lr=0.1 min_lr=0.007 total_steps=1000 start_lr=0.02 peak=229.5}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(TIES), 0 },
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
    { "sgd{momentum=0.9 lr_factor=30}(A[64], A[64], A[64], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "adamw{" ADAM " lr_factor=30}(A[64], A[64], A[64], A[64], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd{momentum=0.9 nesterov=1}(A[64], A[64], A[64], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "sgd{momentum=0.9 nesterov=1}(A[65], A[65], A[65], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "ema{decay=0.999}(A[1003], A[1003], f64[16])", CT_TYPES_ACCUM, DATA, 0 },

    /* Wide, tall and square matrices, several of them with room in between, blocks that do not come out even. The rate
     * is a thousand times that of the state, so that what is added is of the size of what is there. */
    { "muon{" MUON(32, 9, 288, 5) " nesterov=1 weight_decay=0.01 scale=1}(A[288], A[288], A[288], f64[16])",
      CT_TYPES_ACCUM, DATA | CT_D(LARGE), 0 },
    { "muon{" MUON(9, 32, 304, 5) " scale=0.5}(A[912], A[912], A[912], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "muon{" MUON(7, 7, 64, 3) " nesterov=1 scale=1}(A[192], A[192], A[192], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "muon{" MUON(1, 5, 16, 5) " scale=1}(A[64], A[64], A[64], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "muon{" MUON(5, 1, 5, 1) " scale=1 weight_decay=0.1}(A[10], A[10], A[10], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "muon{" MUON(1, 1, 1, 2) " scale=1}(A[3], A[3], A[3], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "muon{" MUON(96, 200, 19200, 5) " nesterov=1 scale=1}(A[19200], A[19200], A[19200], f64[16])", CT_TYPES_ACCUM,
      CT_D(UNIFORM), 0 },
    { "muon{" MUON(300, 101, 30304, 5) " nesterov=1 scale=1}(A[60608], A[60608], A[60608], f64[16])", CT_TYPES_ACCUM,
      CT_D(UNIFORM) | CT_D(SPECIAL), 0 },
    { "muon{" MUON(130, 290, 37700, 4) " nesterov=1 scale=1}(A[37700], A[37700], A[37700], f64[16])", CT_TYPES_ACCUM,
      CT_D(UNIFORM), 0 },
    { "muon{" MUON(194, 194, 37648, 5) " nesterov=1 scale=1}(A[37648], A[37648], A[37648], f64[16])", CT_TYPES_ACCUM,
      CT_D(UNIFORM), 0 },
    { "muon{" MUON(256, 2304, 589824, 5) " nesterov=1 scale=1}(A[1179648], A[1179648], A[1179648], f64[16])",
      CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },

    /* Gradients and copies of the parameters in 16 bits; behind them gradients in f32, from any element on. */
    HALVES("bf16"),
    HALVES("f16"),
    { "ema{decay=0.999 warmup=1}(A[1], A[1], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "ema{decay=0.999 warmup=1}(A[17], A[17], f64[16])", CT_TYPES_ACCUM, DATA, 0 },
    { "step_end(f64[16])", CT_TYPES_ONCE, CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED) | CT_D(TIES), 0 },
    { "step_end{dynamic=1 growth=2 backoff=0.5 growth_interval=2 max_scale=65536}(f64[16])", CT_TYPES_ONCE,
      CT_D(UNIFORM) | CT_D(SPECIAL) | CT_D(SKIPPED) | CT_D(TIES) | CT_D(SMALL) | CT_D(FAINT), 0 },
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
