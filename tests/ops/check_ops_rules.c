/* The operator catalogue: every operator has rules, arities agree, calls round-trip through text, shape rules accept what
 * they should (what they refuse: check_ops_refused.c), and gradient rules give gradients of the right type and shape. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/harness_priv.h"
#include "ops/ops.h"
#include "tests/ct_check.h"

/* Calls in the form ct_call_format writes, with the outputs they must have. */
static const char *const known[] = {
    "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[2,8,9,3], f32[16,3,3,3], f32[16])"
    " -> (f32[2,8,9,16])",
    "conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1}(bf16[2,60,160,3], bf16[64,7,7,3], -)"
    " -> (bf16[2,30,80,64])",
    "conv2d{stride_h=1 stride_w=2 pad_h=2 dil_h=2 dil_w=1 groups=4}(f64[1,5,7,8], f64[12,3,1,2]) -> (f64[1,5,4,12])",
    "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=2 in_h=9 in_w=8}"
    "(f32[2,5,4,6], f32[6,3,3,2])"
    " -> (f32[2,9,8,4])",
    "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=2 ker_h=3 ker_w=3}"
    "(f32[2,9,8,4], f32[2,5,4,6])"
    " -> (f32[6,3,3,2])",
    "linear(f32[4,10], f32[7,10], f32[7]) -> (f32[4,7])",
    "linear(f16[4,5,10], f16[7,10], -) -> (f16[4,5,7])",
    "linear_dgrad(f32[4,5,7], f32[7,10]) -> (f32[4,5,10])",
    "linear_wgrad(f32[4,5,10], f32[4,5,7]) -> (f32[7,10])",
    "bias_grad(bf16[4,5,7]) -> (bf16[7])",
    "batchnorm{eps=1e-05 momentum=0.1 act=1 update_stats=1}"
    "(f16[2,3,3,4], f32[4], f32[4], f32[4], f32[4], f16[2,3,3,4]) -> "
    "(f16[2,3,3,4], f32[4], f32[4], u8[2,3,3,1])",
    "batchnorm{eps=1e-05 momentum=0.1}(f64[6,4], f64[4], f64[4], f64[4], f64[4]) -> (f64[6,4], f64[4], f64[4])",
    "batchnorm_infer{eps=0.001 act=1}(f32[2,3,3,4], f32[4], f32[4], f32[4], f32[4], -) -> (f32[2,3,3,4])",
    "batchnorm_bwd{act=1 has_add=1}(bf16[2,3,3,4], bf16[2,3,3,4], f32[4], f32[4], f32[4], u8[2,3,3,1]) -> "
    "(bf16[2,3,3,4], f32[4], f32[4], bf16[2,3,3,4])",
    "batchnorm_bwd(f32[6,4], f32[6,4], f32[4], f32[4], f32[4]) -> (f32[6,4], f32[4], f32[4])",
    "batchnorm{eps=1e-05 momentum=0.1 act=2}(f32[6,4], f32[4], f32[4], f32[4], f32[4], f32[6,4])"
    " -> (f32[6,4], f32[4], f32[4])",
    "batchnorm_bwd{act=2 has_add=1}(bf16[6,4], bf16[6,4], f32[4], f32[4], f32[4], -, f32[4], bf16[6,4])"
    " -> (bf16[6,4], f32[4], f32[4], bf16[6,4])",
    "batchnorm_bwd{act=1}(bf16[6,4], bf16[6,4], f32[4], f32[4], f32[4], u8[6,1], -, -, bf16[6,4]) -> (bf16[6,4], f32[4], f32[4])",
    "batchnorm_bwd{act=1 dy2_step=2}(bf16[2,3,4,4], bf16[2,3,4,4], f32[4], f32[4], f32[4], u8[2,3,4,1], -, -, bf16[2,2,2,4])"
    " -> (bf16[2,3,4,4], f32[4], f32[4])",
    "batchnorm_sum{eps=1e-05 momentum=0.1 update_stats=1}(bf16[6,9], f32[9], f32[9], f32[9], f32[9], "
    "bf16[6,9], f32[9], f32[9], f32[9], f32[9]) -> (bf16[6,9], f32[9], f32[9], u8[6,2], f32[9], f32[9])",
    "batchnorm_sum_bwd(bf16[6,9], bf16[6,9], f32[9], f32[9], f32[9], u8[6,2], bf16[6,9], f32[9], f32[9], f32[9], bf16[6,9]) -> "
    "(bf16[6,9], f32[9], f32[9], bf16[6,9], f32[9], f32[9])",
    "batchnorm_pool{eps=1e-05 momentum=0.1 update_stats=1}(f16[2,5,6,3], f32[3], f32[3], f32[3], f32[3]) -> "
    "(f16[2,2,3,3], f32[3], f32[3], u8[2,2,3,3])",
    "batchnorm_pool{eps=1e-05 momentum=0.1 update_stats=1 overlap=1}(f16[2,5,6,3], f32[3], f32[3], f32[3], f32[3]) -> "
    "(f16[2,3,3,3], f32[3], f32[3], u8[2,3,3,3])",
    "batchnorm_pool_bwd{overlap=1}(f16[2,3,3,3], f16[2,5,6,3], f32[3], f32[3], f32[3], u8[2,3,3,3], f16[2,3,3,3]) -> "
    "(f16[2,5,6,3], f32[3], f32[3])",
    "batchnorm_pool_bwd(f16[2,2,3,3], f16[2,5,6,3], f32[3], f32[3], f32[3], u8[2,2,3,3]) -> (f16[2,5,6,3], f32[3], f32[3])",
    "batchnorm_mean{eps=1e-05 momentum=0.1 update_stats=1}(f16[2,5,6,9], f32[9], f32[9], f32[9], f32[9], f16[2,5,6,9])"
    " -> (f16[2,9], f32[9], f32[9], u8[2,5,6,2])",
    "batchnorm_mean_bwd(bf16[2,9], bf16[2,5,6,9], f32[9], f32[9], f32[9], u8[2,5,6,2])"
    " -> (bf16[2,5,6,9], f32[9], f32[9])",
    "batchnorm_mean_bwd{has_add=1}(f64[2,9], f64[2,5,6,9], f64[9], f64[9], f64[9], u8[2,5,6,2]) -> "
    "(f64[2,5,6,9], f64[9], f64[9], f64[2,5,6,9])",
    "l2_normalize(bf16[2,3,4,2]) -> (bf16[2,3,4,2])",
    "l2_normalize_bwd(f64[2,3,4,2], f64[2,3,4,2]) -> (f64[2,3,4,2])",
    "standardize{eps=1e-05}(bf16[2,3,4,2]) -> (bf16[2,3,4,2], f32[2])",
    "standardize_bwd(f64[2,7], f64[2,7], f64[2]) -> (f64[2,7])",
    "activation{kind=1 alpha=0.01}(f32[3,4]) -> (f32[3,4])",
    "activation{kind=4}(f64[]) -> (f64[])",
    "activation_bwd{kind=5}(f32[3,4], f32[3,4]) -> (f32[3,4])",
    "dropout_mask{p=0.3 seed=9 stream=2 ndim=3 d0=4 d1=5 d2=6}(f64[16]) -> (u8[4,5,6])",
    "dropout_apply{p=0.3}(f16[4,5,6], u8[4,5,6]) -> (f16[4,5,6])",
    "reshape{ndim=2 d0=4 d1=30}(f32[4,2,3,5]) -> (f32[4,30])",
    "reshape(f32[1]) -> (f32[])",
    "add(f32[3,4], f32[3,4]) -> (f32[3,4])",
    "mul(f32[3,4], f32[3,4]) -> (f32[3,4])",
    "scale{alpha=-0.5}(f16[3,4]) -> (f16[3,4])",
    "weighted_sum{w=1,0,0.1}(f32[1], f32[1], f32[1]) -> (f32[1])",
    "cast{dtype=2}(f32[3,4]) -> (bf16[3,4])",
    "cast(bf16[3,4]) -> (f32[3,4])",
    "accumulate{alpha=0.3333333333333333 beta=1}(bf16[12], f32[12]) -> ()",
    "fit_channels{channels=8}(bf16[2,3,3]) -> (bf16[2,3,8])",
    "fit_channels{channels=1}(f64[8]) -> (f64[1])",
    "maxpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}(f32[2,7,8,4]) -> (f32[2,4,4,4], u8[2,4,4,4])",
    "maxpool2d_bwd{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1 in_h=7 in_w=8}(f32[2,4,4,4], u8[2,4,4,4])"
    " -> (f32[2,7,8,4])",
    "avgpool2d{ker_h=2 ker_w=3 stride_h=2 stride_w=3}(f32[2,7,8,4]) -> (f32[2,3,2,4])",
    "avgpool2d_bwd{ker_h=2 ker_w=3 stride_h=2 stride_w=3 in_h=7 in_w=8}(f32[2,3,2,4]) -> (f32[2,7,8,4])",
    "global_avgpool(bf16[2,7,8,4]) -> (bf16[2,4])",
    "global_avgpool_bwd{in_h=7 in_w=8}(bf16[2,4]) -> (bf16[2,7,8,4])",
    "upsample_bilinear{scale=4}(bf16[2,7,8,4]) -> (bf16[2,28,32,4])",
    "upsample_bilinear_bwd{scale=8}(f32[2,56,64,4]) -> (f32[2,7,8,4])",
    "upsample_nearest{scale=4}(bf16[2,7,8,4]) -> (bf16[2,28,32,4])",
    "upsample_nearest_bwd{scale=8}(f32[2,56,64,4]) -> (f32[2,7,8,4])",
    "concat_channels(bf16[2,7,8,4], bf16[2,7,8,1], bf16[2,7,8,3]) -> (bf16[2,7,8,8])",
    "slice_channels{first=2 channels=3}(f16[2,7,8]) -> (f16[2,7,3])",
    "place_channels{first=2 channels=8}(f64[2,3]) -> (f64[2,8])",
    "scale_channels(bf16[2,7,8,4], bf16[2,4]) -> (bf16[2,7,8,4])",
    "scale_channels_bwd(f32[2,7,8,4], f32[2,7,8,4]) -> (f32[2,4])",
    "dft_magnitude(f32[2,3,7]) -> (f32[2,3,7], f32[2,3,8])",
    "dft_magnitude_bwd(f64[5,1], f64[5,2]) -> (f64[5,1])",
    "distill{temperature=8 first=1}(f32[5,2,9], f32[5,2,9], i32[2]) -> (f32[1], f32[5,2])",
    "distill_bwd{temperature=8 first=1}(f32[5,2,9], f32[5,2,9], -, f32[5,2], f32[1]) -> (f32[5,2,9], f32[5,2,9])",
    "distill_bwd{temperature=8 first=1 detach=1}(f32[5,2,9], f32[5,2,9], -, f32[5,2], f32[1]) -> (f32[5,2,9], -)",
    "fuse_weighted(bf16[2,7,8,4], bf16[2,7,8,4], f32[2]) -> (bf16[2,7,8,4])",
    "fuse_weighted_bwd(f16[2,7,8,4], f16[2,7,8,4], f16[2,7,8,4], f32[2]) -> (f16[2,7,8,4], f16[2,7,8,4], f32[2])",
    "swap(bf16[3,4,5]) -> (bf16[4,3,5])",
    "lstm(f32[5,2,12], f32[12,3]) -> (f32[5,2,3], f32[1,5,2,12], f32[1,5,2,3])",
    "lstm(bf16[5,2,12], bf16[12,3], bf16[12], bf16[5,2,12], bf16[12,3], bf16[12], i32[2])"
    " -> (bf16[5,2,6], bf16[2,5,2,12], f32[2,5,2,3])",
    "lstm_bwd(f32[5,2,3], f32[5,2,3], f32[1,5,2,12], f32[1,5,2,3], f32[12,3], -, i32[2])"
    " -> (f32[5,2,12], f32[12,3])",
    "lstm_bwd(f16[5,2,6], f16[5,2,6], f16[2,5,2,12], f32[2,5,2,3], f16[12,3], f16[12,3])"
    " -> (f16[5,2,12], f16[12,3], f16[5,2,12], f16[12,3])",
    "loss_seed{alpha=0.25 dtype=1}(f64[16]) -> (f64[1])",
    "softmax_xent{positions=4 classes=36 smoothing=0.1}(f32[2,144], i32[2,4]) -> (f32[1], f32[2,4])",
    "softmax_xent_bwd{positions=4 classes=36 smoothing=0.1}(f32[2,144], i32[2,4], f32[2,4], f32[1]) -> (f32[2,144])",
    "soft_margin{positions=4 classes=36}(f64[2,144], i32[2,4]) -> (f64[1])",
    "soft_margin_bwd{positions=4 classes=36}(f64[2,144], i32[2,4], f64[1]) -> (f64[2,144])",
    "argmax{positions=4 classes=36}(f32[2,144]) -> (i32[2,4], f32[2,4])",
    "batch_sums{samples=2 first=3}(f32[1], f64[64]) -> ()",
    "batch_sums{samples=2 first=60}(f64[1], f64[64], f64[1], f64[1]) -> ()",
    "metric_sums{first=3}(i32[2,4], i32[2,4], f64[64]) -> ()",
    "log_softmax(f32[5,2,37]) -> (f32[5,2,37])",
    "log_softmax_bwd(f64[5,2,37], f64[5,2,37]) -> (f64[5,2,37])",
    "ctc_loss(f32[25,2,37], i32[2,5], i32[2]) -> (f32[1], f32[2], f32[2,25,11])",
    "ctc_loss(f64[25,2,37], i32[2,5]) -> (f64[1], f64[2], f64[2,25,11])",
    "ctc_loss{smoothing=0.1}(f32[25,2,37], i32[2,5], i32[2]) -> (f32[1], f32[2], f32[2,25,11])",
    "ctc_loss_bwd(f32[25,2,37], i32[2,5], -, f32[2], f32[2,25,11], f32[1]) -> (f32[25,2,37])",
    "ctc_loss_bwd{smoothing=0.1}(f32[25,2,37], i32[2,5], -, f32[2], f32[2,25,11], f32[1]) -> (f32[25,2,37])",
    "heat_focal{alpha=1.5 beta=4 threshold=0.8 eps=1e-08}(f32[2,64,128,2], f32[2,64,128,2], f32[2,64,128])"
    " -> (f32[1], f32[2])",
    "heat_focal_bwd{alpha=1.5 beta=4 threshold=0.8 eps=1e-08}"
    "(f64[2,64,128,2], f64[2,64,128,2], f64[2,64,128], f64[2], f64[1]) -> (f64[2,64,128,2])",
    "heat_offset{beta=1}(f32[2,64,128,4], f32[2,64,128,4], f32[2,64,128,2], f32[2,64,128]) -> (f32[1], f32[2])",
    "heat_angle{threshold=0.7}(f32[2,64,128,2], f32[2,2], f32[2,64,128,2]) -> (f32[1], f32[1])",
    "heat_angle_bwd{threshold=0.7}(f32[2,2], f32[2,64,128,2], f32[1], f32[1]) -> (f32[2,64,128,2])",
    "margin_rank{margin=0.2}(f32[2,1], f32[2,4], f32[2,4,2]) -> (f32[1], f32[2,4])",
    "margin_rank_bwd{margin=0.2}(f32[2,1], f32[2,4], f32[2,4], f32[1]) -> (f32[2,1], f32[2,4])",
    "heat_padding{eps=0.0001 cap=10}(f32[2,64,128,2], f32[2,64,128]) -> (f32[1], f32[1])",
    "heat_rows{stride=4 tau=1 eps=1e-08}(f32[2,64,128,2], f32[2,2,2]) -> (f32[1], f32[1], f32[2,2,64])",
    "heat_rows_bwd{stride=4 tau=1 eps=1e-08}(f32[2,64,128,2], f32[2,2,2], f32[2,2,64], -, f32[1]) -> (f32[2,64,128,2])",
    "ctc_greedy(f32[25,2,37], i32[2]) -> (i32[2,25], f32[2,25])",
    "edit_sums{first=55}(i32[2,25], i32[2,5], f32[2], f64[64]) -> ()",
    "edit_sums{first=3}(i32[2,25], i32[2,5], -, f64[64]) -> ()",
    "lr_schedule{kind=2 base_lr=0.1 warmup_steps=5 milestones=30,60 gamma=0.1}(f64[16]) -> ()",
    "lr_schedule{kind=3 base_lr=0.0003 min_lr=1e-06 t0=10 t_mult=2}(f64[16]) -> ()",
    "grad_norm{max_norm=5}(f32[100], f64[16]) -> ()",
    "grad_norm{max_norm=5}(bf16[100], f64[16], f32[7]) -> ()",
    "adamw{beta1=0.9 beta2=0.999 eps=1e-08 weight_decay=0.01 decoupled=1}"
    "(f32[100], f32[100], f32[100], f32[100], f64[16])"
    " -> ()",
    "adamw{beta1=0.9 beta2=0.999}(f32[100], bf16[100], f32[100], f32[100], f64[16], bf16[100]) -> ()",
    "sgd{weight_decay=0.0001 momentum=0.9 nesterov=1}(f64[100], f64[100], f64[100], f64[16]) -> ()",
    "sgd(f32[100], f32[100], f32[100], f64[16], f16[100]) -> ()",
    "ema{decay=0.999 warmup=1}(f32[100], f32[100], f64[16]) -> ()",
    "step_end{dynamic=1 growth=2 backoff=0.5 growth_interval=2000 max_scale=65536}(f64[16]) -> ()",
    "next_draw(f64[16]) -> ()",
    "preprocess{out_h=60 out_w=160 dtype=2 augment=1 seed=7 prob=0.5 shift_x=2 rotate=5 noise=0.05 fill=1 "
    "mean=0.5 std=0.25}"
    "(u8[1000,50,200,1], i32[64,3]) -> (bf16[64,60,160,1])",
    "move_points{out_h=60 out_w=160 src_h=50 src_w=200 augment=1 seed=7 prob=0.5 shift_x=2 rotate=5}"
    "(f32[64,3,2], i32[64,3]) -> (f32[64,3,2])",
    "preprocess{out_h=256 out_w=512 dtype=2 channels=8 fill=1 std=1,1,1}(u8[9,256,512,3], i32[4,3], f32[4,4])"
    " -> (bf16[4,256,512,8])",
    "preprocess{out_h=8 out_w=8 std=1}(u8[9,8,8,1], i32[2,3], f32[2,4]) -> (f32[2,8,8,2])",
    "mask_pool{channel=3 factor=4}(bf16[2,8,12,4]) -> (f32[2,2,3], f32[2,2,3])",
    "heat_target{out_h=64 out_w=128 stride=4 sigma=1.5}(f64[2,3,2]) -> (f64[2,64,128,3], f64[2,64,128,6])",
    "sample_points{stride=4 channel=1}(f32[2,5,7,3], f32[2,6,2]) -> (f32[2,6])",
    "sample_points_bwd{out_h=5 out_w=7 channels=3 stride=4 channel=1}(f32[2,6], f32[2,6,2]) -> (f32[2,5,7,3])",
    "heat_decode{stride=4 align=1}(f32[2,5,7,2], f32[2,5,7,4], f32[2,5,7]) -> (f32[2,2,2], f32[2,2])",
    "point_sums{first=46 unit=1}(f32[2,2,2], f32[2,2,2], f32[2,1], f64[64]) -> ()",
};
#define NKNOWN (sizeof known / sizeof known[0])

/* These, and then every call of the harness's case tables: of whatever operators there are. */
static char *calls[4096];
static size_t ncalls;

static void add_call(const char *text)
{
    ck_assert_uint_lt(ncalls, sizeof calls / sizeof calls[0]);
    calls[ncalls] = strdup(text);
    ck_assert_ptr_nonnull(calls[ncalls++]);
}

static ct_status add_case(void *user, const ct_case *c)
{
    char text[CT_CALL_TEXT];
    (void)user;
    ck_assert_int_lt(ct_call_format(&c->call, text, sizeof text), (int)sizeof text);
    if (strcmp(calls[ncalls - 1], text) != 0) add_call(text); /* a case comes once for each pattern of data */
    return CT_OK;
}

static void collect_calls(void)
{
    const ct_selftest_opts o = { .seed = 1 };
    for (size_t i = 0; i < NKNOWN; i++) add_call(known[i]);
    ck_assert_msg(ct_cases_visit(&o, add_case, NULL) == CT_OK, "%s", ct_error_message());
    ck_assert_uint_gt(ncalls, NKNOWN + CT_OP_COUNT);
}

static void free_calls(void)
{
    while (ncalls > 0) free(calls[--ncalls]);
}

static bool has_mutation_output(const ct_op_rules *r, int nin)
{
    return (r->mutates >> nin) != 0;
}

START_TEST(test_rules_complete)
{
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const ct_op_info *info = ct_op_get((ct_op)op);
        const ct_op_rules *r = info->rules;
        ck_assert_msg(r != NULL, "%s has no rules", info->name);
        ck_assert_msg(r->op == (ct_op)op, "%s has the rules of another operator", info->name);
        ck_assert_msg(r->fields != NULL, "%s has no field table", info->name);
        ck_assert_msg((r->grad == NULL) == ((r->flags & CT_OPF_NO_GRAD) != 0), "%s: gradient rule and flag disagree",
                      info->name);
        ck_assert_msg(!has_mutation_output(r, info->in_max), "%s writes an input it does not have", info->name);
        ck_assert_msg(info->in_max <= CT_MAX_IN && info->out_max <= CT_MAX_OUT, "%s: arity", info->name);
        ck_assert_msg((r->inplace_out < 0) == (r->inplace_in < 0), "%s: half an in-place rule", info->name);
        ck_assert_msg((r->constants & r->mutates) == 0 && (r->constants >> info->in_max) == 0, "%s: constant inputs",
                      info->name);
        ck_assert_msg((r->grad_outs & 1u) == 0 && (r->grad_outs >> info->out_max) == 0, "%s: outputs with gradients",
                      info->name);
        ck_assert_msg(r->inplace_in < info->in_max && r->inplace_out < info->out_max, "%s: in-place rule out of range",
                      info->name);
        ck_assert_msg(info->out_min > 0 || r->mutates, "%s has no effect", info->name);
        for (const ct_attr_field *f = r->fields; f->name; f++) {
            size_t bytes = 8 * (f->max > 0 ? (size_t)f->max : 1);
            ck_assert_msg(f->offset + bytes <= sizeof(ct_attrs) && f->offset % 8 == 0 && f->count % 8 == 0,
                          "%s: field %s", info->name, f->name);
            for (const ct_attr_field *h = r->fields; h != f; h++)
                ck_assert_msg(h->offset != f->offset && strcmp(h->name, f->name) != 0, "%s: field %s twice", info->name,
                              f->name);
        }
        ct_op found = CT_OP_COUNT;
        ck_assert(ct_op_find(info->name, &found));
        ck_assert_int_eq(found, op);
    }
    ct_op found;
    ck_assert(!ct_op_find("convolve", &found));
}
END_TEST

/* A domain that stands for itself: of input i, or for special data. */
static void check_domain(const char *op, int i, const ct_domain *d)
{
    ck_assert_msg(d->kind != CT_DOM_UNSAID && d->kind != CT_DOM_BY_CALL, "%s: nothing is said of input %d", op, i);
    if (d->kind == CT_DOM_RANGE) ck_assert_msg(d->lo < d->hi, "%s: the range of input %d is empty", op, i);
    if (d->kind == CT_DOM_BELOW) ck_assert_msg(d->hi >= 1, "%s: no number is below the limit of input %d", op, i);
    if (d->kind == CT_DOM_FORWARD)
        ck_assert_msg(d->output < ct_op_get(d->of)->out_max, "%s: input %d is no output of %s", op, i,
                      ct_op_get(d->of)->name);
}

START_TEST(test_tolerance_complete)
{
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const ct_op_info *info = ct_op_get((ct_op)op);
        const ct_op_rules *r = info->rules;
        const bool chooses = (r->flags & CT_OPF_CHOOSES) != 0;
        ck_assert_msg(chooses ? r->roundings == 0 : r->roundings >= 1, "%s has no tolerance", info->name);
        ck_assert_msg(r->inexact == 0 || (r->inexact >= 1 && !chooses), "%s: factor for what is not exact", info->name);
        ck_assert_msg(!(chooses && (r->flags & CT_OPF_EXACT_INTS)), "%s is exact anyway", info->name);
        ck_assert_msg(r->mask_out == 0 || r->mask_out < info->out_max, "%s: output of the mask", info->name);
        ck_assert_msg(!r->keeps || r->mutates, "%s: what is never written is not left alone", info->name);
    }
}
END_TEST

START_TEST(test_domains_complete)
{
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const ct_op_info *info = ct_op_get((ct_op)op);
        for (int i = 0; i < CT_MAX_IN; i++) {
            const ct_domain *d = &info->rules->domain[i];
            if (i >= info->in_max) {
                ck_assert_msg(d->kind == CT_DOM_UNSAID, "%s has no input %d", info->name, i);
                continue;
            }
            ck_assert_msg((d->kind == CT_DOM_BY_CALL) == (d->by != NULL), "%s: half a rule for input %d", info->name, i);
            if (d->kind != CT_DOM_BY_CALL) check_domain(info->name, i, d);
            if (d->special) check_domain(info->name, i, d->special);
        }
    }
}
END_TEST

/* What is said of an input fits its type. */
START_TEST(test_domains_fit)
{
    for (size_t k = 0; k < ncalls; k++) {
        ct_call c;
        ck_assert_int_eq(ct_call_parse(calls[k], &c), CT_OK);
        for (int i = 0; i < c.nin; i++) {
            if (!ct_present(&c.in[i])) continue;
            const ct_domain d = ct_call_domain(&c, i);
            const ct_dtype t = c.in[i].desc.dtype;
            bool fits = ct_dtype_is_float(t);
            if (d.kind == CT_DOM_BELOW) fits = t == CT_I32 || t == CT_U8;
            if (d.kind == CT_DOM_TEXT || d.kind == CT_DOM_LEN || d.kind == CT_DOM_ROWS) fits = t == CT_I32;
            if (d.kind == CT_DOM_BITS || d.kind == CT_DOM_PLACES) fits = t == CT_U8;
            if (d.kind == CT_DOM_STATE || d.kind == CT_DOM_SUMS) fits = t == CT_F64;
            check_domain(calls[k], i, &d);
            ck_assert_msg(fits, "%s: domain %d of input %d", calls[k], d.kind, i);
        }
    }
}
END_TEST

START_TEST(test_every_operator_has_a_call)
{
    bool seen[CT_OP_COUNT] = { false };
    for (size_t i = 0; i < ncalls; i++) {
        ct_call c;
        ck_assert_msg(ct_call_parse(calls[i], &c) == CT_OK, "%s: %s", calls[i], ct_error_message());
        seen[c.op] = true;
    }
    for (int op = 0; op < CT_OP_COUNT; op++) ck_assert_msg(seen[op], "%s is not tested", ct_op_get((ct_op)op)->name);
}
END_TEST

START_TEST(test_round_trip)
{
    for (size_t i = 0; i < ncalls; i++) {
        ct_call c, d;
        char text[1024], again[1024], head[1024];
        ck_assert_msg(ct_call_parse(calls[i], &c) == CT_OK, "%s", ct_error_message());
        int n = ct_call_format(&c, text, sizeof text);
        ck_assert_str_eq(text, calls[i]);
        ck_assert_int_eq(n, (int)strlen(text));
        /* Every attribute that is left out is zero, so the bytes agree too. */
        ck_assert_int_eq(ct_call_parse(text, &d), CT_OK);
        ck_assert_mem_eq(&c.attrs, &d.attrs, sizeof c.attrs);
        ck_assert_int_eq(ct_call_format(&d, again, sizeof again), n);
        ck_assert_str_eq(again, text);
        /* Outputs may be left out. */
        snprintf(head, sizeof head, "%.*s", (int)(strstr(text, " ->") - text), text);
        ck_assert_msg(ct_call_parse(head, &d) == CT_OK, "%s: %s", head, ct_error_message());
        ct_call_format(&d, again, sizeof again);
        ck_assert_str_eq(again, text);
        /* A short buffer is cut, terminated, and the full length is told. */
        char small[16];
        ck_assert_int_eq(ct_call_format(&c, small, sizeof small), n);
        ck_assert_int_eq((int)strlen(small), 15);
        ck_assert_int_eq(strncmp(small, text, 15), 0);
    }
}
END_TEST

START_TEST(test_costs)
{
    for (size_t i = 0; i < ncalls; i++) {
        ct_call c;
        ck_assert_int_eq(ct_call_parse(calls[i], &c), CT_OK);
        const ct_op_rules *r = ct_op_get(c.op)->rules;
        int64_t red = r->reduction ? r->reduction(&c) : 1;
        ck_assert_msg(red >= 1, "%s: reduction", calls[i]);
        if (r->flags & CT_OPF_VIEW)
            ck_assert(ct_call_flops(&c) == 0 && ct_call_bytes(&c) == 0);
        else
            ck_assert_msg(ct_call_flops(&c) > 0 && ct_call_bytes(&c) > 0, "%s: cost", calls[i]);
    }
    ct_call c;
    ck_assert_int_eq(ct_call_parse(calls[1], &c), CT_OK);
    ck_assert_double_eq(ct_call_flops(&c), 2.0 * 2 * 30 * 80 * 64 * 7 * 7 * 3);
    ck_assert_double_eq(ct_call_bytes(&c), 2.0 * (2 * 60 * 160 * 3 + 64 * 7 * 7 * 3 + 2 * 30 * 80 * 64));
    ck_assert_int_eq(ct_op_get(c.op)->rules->reduction(&c), 7 * 7 * 3);
    /* Channels of padding cost bytes, but no operations that anybody asked for. */
    double flops = ct_call_flops(&c), bytes = ct_call_bytes(&c);
    ck_assert_int_eq(ct_call_parse("conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1 data_c=3}"
                                   "(bf16[2,60,160,8], bf16[64,7,7,8])", &c), CT_OK);
    ck_assert_double_eq(ct_call_flops(&c), flops);
    ck_assert_double_gt(ct_call_bytes(&c), bytes);
    ck_assert_int_eq(ct_call_parse("preprocess{out_h=8 out_w=8 std=1}(u8[9,8,8,1], i32[2,3])", &c), CT_OK);
    flops = ct_call_flops(&c);
    ck_assert_int_eq(ct_call_parse("preprocess{out_h=8 out_w=8 channels=8 std=1}(u8[9,8,8,1], i32[2,3])", &c), CT_OK);
    ck_assert_double_eq(ct_call_flops(&c), flops);
    ck_assert_double_eq(ct_call_bytes(&c), 2 * (8 * 8 + 3 * 4 + 4.0 * 8 * 8 * 8));
    ck_assert_int_eq(ct_call_parse("linear(f32[4,10], f32[7,10], f32[7])", &c), CT_OK);
    ck_assert_double_eq(ct_call_flops(&c), 2 * 4 * 10 * 7 + 4 * 7);
    ck_assert_int_eq(ct_call_parse("sgd{momentum=0.9}(f32[100], f32[100], f32[100], f64[16])", &c), CT_OK);
    ck_assert_double_eq(ct_call_bytes(&c), 4.0 * 500 + 8 * 16);
    /* A gradient of 16 bits is half as much to read, and a copy is only written. */
    ck_assert_int_eq(ct_call_parse("sgd(f32[100], bf16[100], f32[100], f64[16], bf16[100])", &c), CT_OK);
    ck_assert_double_eq(ct_call_bytes(&c), 4.0 * 400 + 2 * 200 + 8 * 16);
    ck_assert_int_eq(ct_call_parse("adamw(f32[100], f16[100], f32[100], f32[100], f64[16], f16[100])", &c), CT_OK);
    ck_assert_double_eq(ct_call_bytes(&c), 4.0 * 600 + 2 * 200 + 8 * 16);
    ck_assert_int_eq(ct_call_parse("grad_norm(f16[100], f64[16], f32[11])", &c), CT_OK);
    ck_assert_int_eq(ct_op_get(c.op)->rules->reduction(&c), 111);
}
END_TEST

/* ---- gradient rules ---- */

/* Enough of a graph for a gradient rule: descriptors, and the calls that were emitted. */
typedef struct tape {
    ct_desc desc[64];
    int count;
    ct_call emitted[CT_MAX_IN]; /* as weighted_sum's: one for each input */
    int nemitted;
} tape;

static const ct_desc *tape_desc(void *self, ct_val v)
{
    return &((tape *)self)->desc[v];
}

static ct_val tape_value(tape *t, const ct_desc *d)
{
    ck_assert_int_lt(t->count, 64);
    t->desc[t->count] = *d;
    return t->count++;
}

static ct_status tape_emit(void *self, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in, int nout,
                           unsigned out_mask, ct_val *outs)
{
    tape *t = self;
    ct_call c = { .op = op, .nin = nin, .nout = nout, .attrs = *attrs };
    for (int i = 0; i < nin; i++) c.in[i].desc = in[i] == CT_NOVAL ? ct_absent_desc() : t->desc[in[i]];
    CT_TRY(ct_call_infer(&c));
    ck_assert_int_eq(c.nout, nout);
    for (int i = 0; i < nout; i++) outs[i] = out_mask >> i & 1u ? tape_value(t, &c.out[i].desc) : CT_NOVAL;
    ck_assert_int_lt(t->nemitted, CT_MAX_IN);
    t->emitted[t->nemitted++] = c;
    return CT_OK;
}

/* The sets of wanted gradients to try: all, but of many inputs only none, each, all and all but one. */
static bool worth_trying(unsigned want, int nin)
{
    const int wanted = __builtin_popcount(want);
    return nin <= 8 || wanted <= 1 || wanted >= nin - 1;
}

/* For every differentiable call of the table and those sets of wanted gradients: exactly the wanted gradients of
 * floating inputs that have one come, in the type and shape of the input. */
START_TEST(test_gradients)
{
    int tried = 0;
    for (size_t n = 0; n < ncalls; n++) {
        ct_call c;
        ck_assert_int_eq(ct_call_parse(calls[n], &c), CT_OK);
        const ct_op_rules *r = ct_op_get(c.op)->rules;
        if (!r->grad) continue;
        tried++;
        for (unsigned want = 0; want < 1u << c.nin; want++) {
            if (!worth_trying(want, c.nin)) continue;
            tape t = { .count = 0 };
            ct_val in[CT_MAX_IN], out[CT_MAX_OUT], dout[CT_MAX_OUT], din[CT_MAX_IN];
            bool need[CT_MAX_IN] = { false };
            for (int i = 0; i < c.nin; i++) {
                in[i] = ct_present(&c.in[i]) ? tape_value(&t, &c.in[i].desc) : CT_NOVAL;
                bool floating = in[i] != CT_NOVAL && ct_dtype_is_float(c.in[i].desc.dtype) &&
                                !((r->mutates | r->constants) >> i & 1u);
                need[i] = floating && (want >> i & 1u);
                din[i] = CT_NOVAL;
            }
            for (int i = 0; i < c.nout; i++) {
                out[i] = tape_value(&t, &c.out[i].desc);
                dout[i] = i == 0 ? tape_value(&t, &c.out[i].desc) : CT_NOVAL;
            }
            ct_grad_ctx g = { &t, &c.attrs, c.nin, c.nout, in, out, dout, need, din, tape_desc, tape_emit };
            ck_assert_msg(r->grad(&g) == CT_OK, "%s: %s", calls[n], ct_error_message());
            for (int i = 0; i < c.nin; i++) {
                ck_assert_msg((din[i] != CT_NOVAL) == need[i], "%s: gradient of input %d with wants %x", calls[n], i,
                              want);
                if (din[i] != CT_NOVAL)
                    ck_assert_msg(ct_desc_equal(&t.desc[din[i]], &c.in[i].desc),
                                  "%s: gradient of input %d has another shape", calls[n], i);
            }
            bool any = false;
            for (int i = 0; i < c.nin; i++) any = any || need[i];
            ck_assert_msg(any || t.nemitted == 0, "%s: nothing wanted, but %d nodes emitted", calls[n], t.nemitted);
            /* No gradient flows in: none flows out. */
            for (int i = 0; i < c.nin; i++) din[i] = CT_NOVAL;
            dout[0] = CT_NOVAL;
            t.nemitted = 0;
            ck_assert_int_eq(r->grad(&g), CT_OK);
            ck_assert_int_eq(t.nemitted, 0);
            for (int i = 0; i < c.nin; i++) ck_assert_int_eq(din[i], CT_NOVAL);
        }
    }
    ck_assert_int_ge(tried, 15);
}
END_TEST

START_TEST(test_bad_operator)
{
    ct_call c = { .op = CT_OP_COUNT };
    ck_assert_int_eq(ct_call_infer(&c), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "does not exist"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ops_rules");
    TCase *t = tcase_create("catalogue");
    tcase_add_test(t, test_rules_complete);
    tcase_add_test(t, test_tolerance_complete);
    tcase_add_test(t, test_domains_complete);
    tcase_add_test(t, test_domains_fit);
    tcase_add_test(t, test_every_operator_has_a_call);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_costs);
    tcase_add_test(t, test_gradients);
    tcase_add_test(t, test_bad_operator);
    tcase_add_checked_fixture(t, collect_calls, free_calls);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
