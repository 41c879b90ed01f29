/* The arithmetic that all backends share (src/ops/math), against values worked out by hand or by another formula. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "ops/math/dropout_math.h"
#include "ops/math/exp_math.h"
#include "ops/math/lstm_math.h"
#include "ops/math/mask_math.h"
#include "ops/math/optim_math.h"
#include "ops/math/schedule_math.h"
#include "tests/ct_check.h"

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-12)

/* ---- learning rate ---- */

START_TEST(test_schedule_constant_and_warmup)
{
    ct_schedule_attrs a = { .kind = CT_SCHED_CONSTANT, .base_lr = 0.8, .warmup_steps = 4 };
    NEAR(ct_schedule_lr(&a, 0), 0.2);
    NEAR(ct_schedule_lr(&a, 3), 0.8);
    NEAR(ct_schedule_lr(&a, 4), 0.8);
    NEAR(ct_schedule_lr(&a, 1e6), 0.8);
}
END_TEST

/* torch.optim.lr_scheduler.OneCycleLR of PyTorch 2.15: max_lr 0.1, total_steps 50, pct_start 0.23, div_factor 5,
 * final_div_factor 4, anneal_strategy cos and linear. */
START_TEST(test_schedule_cycles)
{
    static const double step[] = { 0, 1, 5, 10, 11, 12, 25, 40, 48, 49 }, want[2][10] = {
        { 0.02, 0.021777087768554373, 0.05701079625654303, 0.09955323304900515, 0.09996047046886769,
          0.09964462886832381, 0.07045341831787306, 0.01724387915729718, 0.005158052331525822, 0.005 },
        { 0.02, 0.02761904761904762, 0.05809523809523809, 0.09619047619047619, 0.09876623376623377,
          0.0962987012987013, 0.06422077922077923, 0.02720779220779221, 0.00746753246753247, 0.005 }
    };
    ct_schedule_attrs a = { .base_lr = 0.1, .start_lr = 0.02, .min_lr = 0.005, .total_steps = 50, .peak = 0.23 * 50 - 1 };
    for (int k = 0; k < 2; k++) {
        a.kind = k == 0 ? CT_SCHED_ONE_CYCLE : CT_SCHED_TRIANGULAR;
        for (int i = 0; i < 10; i++) NEAR(ct_schedule_lr(&a, step[i]), want[k][i]);
        NEAR(ct_schedule_lr(&a, 50), 0.005);
        NEAR(ct_schedule_lr(&a, 1e9), 0.005);
    }
    a.peak = -1; /* down from the first step on */
    NEAR(ct_schedule_lr(&a, 0), 0.1);
    NEAR(ct_schedule_lr(&a, 24.5), 0.0525);
    a.total_steps = 1;
    NEAR(ct_schedule_lr(&a, 0), 0.005);
}
END_TEST

START_TEST(test_schedule_cosine)
{
    ct_schedule_attrs a = {
        .kind = CT_SCHED_COSINE, .base_lr = 1, .min_lr = 0.1, .warmup_steps = 10, .total_steps = 110
    };
    NEAR(ct_schedule_lr(&a, 0), 0.1); /* warm-up: 1/10 */
    NEAR(ct_schedule_lr(&a, 10), 1);
    NEAR(ct_schedule_lr(&a, 60), 0.55);                         /* half way: the mean */
    NEAR(ct_schedule_lr(&a, 35), 0.1 + 0.45 * (1 + sqrt(0.5))); /* a quarter: cos(pi/4) */
    ck_assert(ct_schedule_lr(&a, 109) > 0.1);
    ck_assert(ct_schedule_lr(&a, 110) == 0.1);
    ck_assert(ct_schedule_lr(&a, 5000) == 0.1);
    for (int s = 10; s < 110; s++) ck_assert(ct_schedule_lr(&a, s + 1) < ct_schedule_lr(&a, s));
    a.total_steps = 10; /* all warm-up */
    ck_assert(ct_schedule_lr(&a, 10) == 0.1);
}
END_TEST

START_TEST(test_schedule_multistep)
{
    ct_schedule_attrs a = { .kind = CT_SCHED_MULTISTEP, .base_lr = 1, .gamma = 0.1, .nmilestones = 3,
                            .milestones = { 30, 60, 90 } };
    NEAR(ct_schedule_lr(&a, 0), 1);
    NEAR(ct_schedule_lr(&a, 29), 1);
    NEAR(ct_schedule_lr(&a, 30), 0.1);
    NEAR(ct_schedule_lr(&a, 59), 0.1);
    NEAR(ct_schedule_lr(&a, 60), 0.01);
    NEAR(ct_schedule_lr(&a, 90), 0.001);
}
END_TEST

/* A first cycle of one epoch that doubles each time restarts at epochs 1, 3, 7, 15 and 31. */
START_TEST(test_schedule_warm_restarts)
{
    const int epoch = 50;
    ct_schedule_attrs a = { .kind = CT_SCHED_WARM_RESTARTS, .base_lr = 1, .min_lr = 0.01, .t0 = epoch, .t_mult = 2 };
    static const int restart[] = { 0, 1, 3, 7, 15, 31 };
    size_t next = 0;
    for (int s = 0; s < 40 * epoch; s++) {
        bool starts = next < 6 && s == restart[next] * epoch;
        if (starts) {
            ck_assert_msg(ct_schedule_lr(&a, s) == 1, "no restart at epoch %d", restart[next]);
            next++;
        } else {
            ck_assert_msg(ct_schedule_lr(&a, s) < ct_schedule_lr(&a, s - 1), "a restart at step %d", s);
        }
    }
    ck_assert_int_eq((int)next, 6);
    NEAR(ct_schedule_lr(&a, 2 * epoch), 0.505); /* the middle of the second cycle, epochs 1 to 3 */
    a.t_mult = 1;
    for (int s = 0; s < 5 * epoch; s += epoch) ck_assert(ct_schedule_lr(&a, s) == 1);
    NEAR(ct_schedule_lr(&a, 3.5 * epoch), 0.505);
    a.warmup_steps = 10; /* cycles begin after it */
    ck_assert(ct_schedule_lr(&a, 10) == 1);
    ck_assert(ct_schedule_lr(&a, 10 + epoch) == 1);
}
END_TEST

/* ---- step state ---- */

static void fresh(double state[CT_STATE_COUNT])
{
    memset(state, 0, CT_STATE_COUNT * sizeof *state);
    state[CT_STATE_LOSS_SCALE] = 1;
    state[CT_STATE_CLIP_COEF] = 1;
    state[CT_STATE_LR] = 0.1;
}

START_TEST(test_scaler_growth_and_backoff)
{
    double s[CT_STATE_COUNT];
    ct_optim_attrs a = { .dynamic = 1, .growth = 2, .backoff = 0.5, .growth_interval = 3, .max_scale = 4096 };
    fresh(s);
    s[CT_STATE_LOSS_SCALE] = 1024;
    for (int i = 0; i < 2; i++) ct_step_end(&a, s);
    NEAR(s[CT_STATE_LOSS_SCALE], 1024);
    NEAR(s[CT_STATE_GOOD_STEPS], 2);
    s[CT_STATE_FOUND_INF] = 1; /* skipped: halved, and the count begins anew */
    ct_step_end(&a, s);
    NEAR(s[CT_STATE_LOSS_SCALE], 512);
    NEAR(s[CT_STATE_GOOD_STEPS], 0);
    NEAR(s[CT_STATE_STEP], 3);
    NEAR(s[CT_STATE_APPLIED], 2);
    NEAR(s[CT_STATE_SKIPPED], 1);
    NEAR(s[CT_STATE_LAST_INF], 1);
    NEAR(s[CT_STATE_FOUND_INF], 0);
    for (int i = 0; i < 3; i++) ct_step_end(&a, s);
    NEAR(s[CT_STATE_LOSS_SCALE], 1024);
    NEAR(s[CT_STATE_GOOD_STEPS], 0);
    NEAR(s[CT_STATE_LAST_INF], 0);
    for (int i = 0; i < 9; i++) ct_step_end(&a, s);
    NEAR(s[CT_STATE_LOSS_SCALE], 4096); /* 2048, 4096, and not above */
    for (int i = 0; i < 2000; i++) {
        s[CT_STATE_FOUND_INF] = 1;
        ct_step_end(&a, s);
    }
    NEAR(s[CT_STATE_LOSS_SCALE], 0x1p-64); /* never 0 */
    ck_assert(s[CT_STATE_LOSS_SCALE] > 0);
}
END_TEST

START_TEST(test_static_scale)
{
    double s[CT_STATE_COUNT];
    ct_optim_attrs a = { .dynamic = 0, .growth = 2, .backoff = 0.5, .growth_interval = 1 };
    fresh(s);
    ct_step_end(&a, s);
    s[CT_STATE_FOUND_INF] = 1;
    ct_step_end(&a, s);
    NEAR(s[CT_STATE_LOSS_SCALE], 1);
    NEAR(s[CT_STATE_STEP], 2);
    NEAR(s[CT_STATE_APPLIED], 1);
    NEAR(s[CT_STATE_SKIPPED], 1);
}
END_TEST

START_TEST(test_grad_norm)
{
    double s[CT_STATE_COUNT];
    fresh(s);
    s[CT_STATE_LOSS_SCALE] = 10;
    ct_grad_norm_finish(0, 2500, true, s); /* norm 50 of scaled gradients is 5 */
    NEAR(s[CT_STATE_GRAD_NORM], 5);
    NEAR(s[CT_STATE_CLIP_COEF], 1);
    ct_grad_norm_finish(1, 2500, true, s);
    NEAR(s[CT_STATE_CLIP_COEF], 1 / (5 + 1e-6));
    NEAR(ct_grad_factor(s), 1 / (5 + 1e-6) / 10);
    ct_grad_norm_finish(100, 2500, true, s);
    NEAR(s[CT_STATE_CLIP_COEF], 1);
    ck_assert(!ct_step_skipped(s));
    ct_grad_norm_finish(1, 4, false, s);
    ck_assert(ct_step_skipped(s));
    ck_assert(isinf(s[CT_STATE_GRAD_NORM]));
    NEAR(s[CT_STATE_CLIP_COEF], 1);
    ct_grad_norm_finish(1, 4, true, s); /* another range: the flag stays */
    ck_assert(ct_step_skipped(s));
    fresh(s);
    ct_grad_norm_finish(1, INFINITY, true, s);
    ck_assert(ct_step_skipped(s));
}
END_TEST

/* ---- optimizers ---- */

/* Two AdamW steps written out: lr 0.1, weight decay 0.5, betas 0.9 and 0.99, gradients 2 and -1. */
START_TEST(test_adamw_two_steps)
{
    double s[CT_STATE_COUNT], p = 1, m = 0, v = 0;
    ct_optim_attrs a = { .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.5, .decoupled = 1 };
    fresh(s);
    ct_adam_coef c = ct_adam_coefficients(&a, s);
    ct_adam_f64(&c, 2, &p, &m, &v);
    /* m = 0.2, v = 0.04; unbiased 2 and 4; p = 1*(1-0.05) - 0.1*2/(2+1e-8) */
    NEAR(m, 0.2);
    NEAR(v, 0.04);
    NEAR(p, 0.95 - 0.1 * 2 / (2 + 1e-8));
    double p1 = p;
    s[CT_STATE_APPLIED] = 1;
    c = ct_adam_coefficients(&a, s);
    ct_adam_f64(&c, -1, &p, &m, &v);
    /* m = 0.18-0.1 = 0.08, /0.19; v = 0.0396+0.01 = 0.0496, /0.0199 */
    NEAR(m, 0.08);
    NEAR(v, 0.0496);
    NEAR(p, p1 * 0.95 - 0.1 * (0.08 / 0.19) / (sqrt(0.0496 / 0.0199) + 1e-8));
}
END_TEST

/* L2 instead: the decay goes through the moments. Gradient 2 + 0.5*1 = 2.5. */
START_TEST(test_adam_l2)
{
    double s[CT_STATE_COUNT], p = 1, m = 0, v = 0;
    ct_optim_attrs a = { .beta1 = 0.9, .beta2 = 0.99, .eps = 0.5, .weight_decay = 0.5 };
    fresh(s);
    ct_adam_coef c = ct_adam_coefficients(&a, s);
    ct_adam_f64(&c, 2, &p, &m, &v);
    NEAR(m, 0.25);
    NEAR(v, 0.0625);
    NEAR(p, 1 - 0.1 * 2.5 / (2.5 + 0.5)); /* eps is added after the bias correction */
}
END_TEST

/* Clip coefficient and loss scale act on the gradient alone: a scaled gradient gives the same step. */
START_TEST(test_adam_sees_the_unscaled_gradient)
{
    double s[CT_STATE_COUNT], p[2] = { 1, 1 }, m[2] = { 0, 0 }, v[2] = { 0, 0 };
    ct_optim_attrs a = { .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-3, .weight_decay = 0.1, .decoupled = 1 };
    fresh(s);
    ct_adam_coef c = ct_adam_coefficients(&a, s);
    ct_adam_f64(&c, 0.75, &p[0], &m[0], &v[0]);
    s[CT_STATE_LOSS_SCALE] = 1024;
    s[CT_STATE_CLIP_COEF] = 0.5;
    c = ct_adam_coefficients(&a, s);
    ct_adam_f64(&c, 0.75 * 2048, &p[1], &m[1], &v[1]);
    NEAR(p[0], p[1]);
    NEAR(m[0], m[1]);
    NEAR(v[0], v[1]);
}
END_TEST

START_TEST(test_sgd_momentum)
{
    double s[CT_STATE_COUNT], p = 1, buf = NAN;
    ct_optim_attrs a = { .momentum = 0.9, .weight_decay = 0.1 };
    fresh(s);
    ct_sgd_coef c = ct_sgd_coefficients(&a, s);
    ct_sgd_f64(&c, 1, &p, &buf); /* g = 1 + 0.1; the buffer is g, not 0.9*garbage + g */
    NEAR(buf, 1.1);
    NEAR(p, 1 - 0.11);
    s[CT_STATE_APPLIED] = 1;
    c = ct_sgd_coefficients(&a, s);
    ct_sgd_f64(&c, 2, &p, &buf); /* g = 2 + 0.089; buf = 0.99 + 2.089 */
    NEAR(buf, 3.079);
    NEAR(p, 0.89 - 0.3079);
    a.nesterov = 1;
    a.weight_decay = 0;
    p = 0;
    buf = 1;
    c = ct_sgd_coefficients(&a, s);
    ct_sgd_f64(&c, 2, &p, &buf); /* buf = 2.9; step = 2 + 0.9*2.9 = 4.61 */
    NEAR(buf, 2.9);
    NEAR(p, -0.461);
}
END_TEST

START_TEST(test_sgd_plain)
{
    double s[CT_STATE_COUNT], p = 1, buf = 7;
    ct_optim_attrs a = { .momentum = 0 };
    fresh(s);
    s[CT_STATE_APPLIED] = 5;
    ct_sgd_coef c = ct_sgd_coefficients(&a, s);
    ct_sgd_f64(&c, 3, &p, &buf);
    NEAR(p, 0.7);
}
END_TEST

/* f32 and f64 versions of one formula agree to f32 rounding over many steps. */
START_TEST(test_f32_follows_f64)
{
    double s[CT_STATE_COUNT], p = 0.3, m = 0, v = 0, q = 0.3, b = 0;
    float pf = 0.3f, mf = 0, vf = 0, qf = 0.3f, bf = 0;
    ct_optim_attrs a = {
        .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01, .decoupled = 1, .momentum = 0.9, .nesterov = 1
    };
    fresh(s);
    s[CT_STATE_LR] = 1e-3;
    for (int i = 0; i < 100; i++) {
        double g = sin(0.7 * i) + 0.2;
        s[CT_STATE_APPLIED] = i;
        ct_adam_coef c = ct_adam_coefficients(&a, s);
        ct_adam_coef_f32 cf = ct_adam_narrow(&c);
        ct_adam_f64(&c, g, &p, &m, &v);
        ct_adam_f32(&cf, (float)g, &pf, &mf, &vf);
        ct_sgd_coef k = ct_sgd_coefficients(&a, s);
        ct_sgd_f64(&k, g, &q, &b);
        ct_sgd_f32(&k, (float)g, &qf, &bf);
    }
    ck_assert_double_eq_tol(p, (double)pf, 1e-6);
    ck_assert_double_eq_tol(q, (double)qf, 1e-6);
    ck_assert_double_eq_tol((double)ct_ema_f32(0.75f, 0.25f, 2, 6), ct_ema_f64(0.75, 2, 6), 1e-7);
}
END_TEST

START_TEST(test_ema_decay)
{
    double s[CT_STATE_COUNT];
    ct_optim_attrs a = { .decay = 0.999, .warmup = 1 };
    fresh(s);
    NEAR(ct_ema_decay(&a, s), 2.0 / 11);
    s[CT_STATE_APPLIED] = 89;
    NEAR(ct_ema_decay(&a, s), 91.0 / 100);
    s[CT_STATE_APPLIED] = 1e6;
    NEAR(ct_ema_decay(&a, s), 0.999);
    a.warmup = 0;
    s[CT_STATE_APPLIED] = 0;
    NEAR(ct_ema_decay(&a, s), 0.999);
    NEAR(ct_ema_f64(0.75, 2, 6), 3);
}
END_TEST

/* ---- bit masks ---- */

/* Packed by bytes and written one by one it is the same mask, read back as it went in; NaN and what is stored as zero are not positive. */
START_TEST(test_mask)
{
    const float y[19] = { 1, -1, 0, NAN, INFINITY, -INFINITY, 1e-40f, -0.0f, 2, 0x1p-25f, 0x1.8p-25f, 0, 3, -2, 1e-30f, 0, 5, 0, 7 };
    const bool positive[19] = { 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1 };
    ck_assert_int_eq((int)ct_mask_bytes(1), 1);
    ck_assert_int_eq((int)ct_mask_bytes(8), 1);
    ck_assert_int_eq((int)ct_mask_bytes(19), 3);
    uint8_t packed[3], put[3] = { 0xff, 0xff, 0xff };
    for (int b = 0; b < 3; b++) packed[b] = ct_mask_pack(y + 8 * b, b < 2 ? 8 : 3, 0);
    for (int c = 0; c < 19; c++) ct_mask_put(put, c, positive[c]);
    ck_assert_mem_eq(packed, put, 3);
    ck_assert_int_eq(packed[2] >> 3, 0);
    for (int c = 0; c < 19; c++) {
        ck_assert_int_eq(ct_mask_at(packed, c), positive[c]);
        for (int k = 0; c % 8 + k < 8 && c + k < 19; k++) ck_assert_int_eq(ct_mask_from(packed, c) >> k & 1u, positive[c + k]);
    }
    ck_assert_int_eq(ct_mask_pack(y + 8, 8, 0x1p-25f), 1 << 0 | 1 << 2 | 1 << 4); /* what f16 keeps of these */
}
END_TEST

/* ---- dropout ---- */

START_TEST(test_dropout_share_and_independence)
{
    const int n = 40000;
    int kept = 0, same_step = 0, same_stream = 0;
    for (int i = 0; i < n; i++) {
        int a = ct_dropout_keep(1, 2, 3, (uint64_t)i, 0.3);
        kept += a;
        same_step += a == ct_dropout_keep(1, 2, 4, (uint64_t)i, 0.3);
        same_stream += a == ct_dropout_keep(1, 3, 3, (uint64_t)i, 0.3);
        ct_philox w = ct_dropout_words(1, 2, 3, (uint64_t)i / 4);
        ck_assert_int_eq(a, !((double)ct_u01(w.v[i % 4]) < 0.3));
    }
    /* Standard deviations: sqrt(n*0.21) = 92; agreement of independent draws 0.58 +- sqrt(n*0.58*0.42) = 99. */
    ck_assert_int_lt(abs(kept - (int)(0.7 * n)), 5 * 92);
    ck_assert_int_lt(abs(same_step - (int)(0.58 * n)), 5 * 99);
    ck_assert_int_lt(abs(same_stream - (int)(0.58 * n)), 5 * 99);
    for (uint64_t i = 0; i < 1000; i++) ck_assert_int_eq(ct_dropout_keep(9, 0, 0, i, 0), 1);
}
END_TEST

/* The counters are part of what a run can be repeated from. */
START_TEST(test_dropout_counters)
{
    const uint64_t hi = (uint64_t)CT_RNG_DROPOUT << 56 | (uint64_t)2 << 40 | 3;
    for (uint64_t block = 0; block < 1000000; block += 99991) {
        ct_philox got = ct_dropout_words(1, 2, 3, block), want = ct_philox4x32(1, hi, block);
        ck_assert_mem_eq(&got, &want, sizeof got);
    }
    /* rows 2 and 3 of 5 in a mask [3,5,4]; all of one */
    for (int64_t t = 0; t < 3; t++)
        for (int64_t k = 0; k < 8; k++) ck_assert_int_eq(ct_dropout_element(8, 8, 20, t * 8 + k), t * 20 + 8 + k);
    ck_assert_int_eq(ct_dropout_element(0, 0, 0, 77), 77);
}
END_TEST

/* ---- LSTM ---- */

START_TEST(test_exp_sigmoid_tanh)
{
    double worst[3] = { 0, 0, 0 };
    for (int i = -870000; i <= 870000; i += 13) {
        float x = (float)i * 1e-4f;
        double got[3] = { (double)ct_exp_f32(x), (double)ct_sigmoid_f32(x), (double)ct_tanh_f32(x / 8) };
        double want[3] = { exp((double)x), 1 / (1 + exp(-(double)x)), tanh((double)(x / 8)) };
        for (int k = 0; k < 3; k++) {
            int exponent;
            frexp(want[k], &exponent);
            double ulps = fabs(got[k] - want[k]) / ldexp(1, exponent - 24);
            if (ulps > worst[k]) worst[k] = ulps;
        }
    }
    ck_assert_double_le(worst[0], 1.1);
    ck_assert_double_le(worst[1], 2.5);
    ck_assert_double_le(worst[2], 2.7);
    for (int e = -126; e < -1; e++) { /* near 0 tanh is as good relative to its value */
        float x = ldexpf(1.25f, e);
        ck_assert_double_eq_tol((double)ct_tanh_f32(x) / tanh((double)x), 1, 3e-7);
        ck_assert(ct_tanh_f32(-x) <= 0);
    }
    ck_assert(ct_exp_f32(0) == 1 && ct_sigmoid_f32(0) == 0.5f && ct_tanh_f32(0) == 0);
    ck_assert(ct_sigmoid_f32(INFINITY) == 1 && ct_tanh_f32(INFINITY) == 1 && ct_tanh_f32(-INFINITY) == -1);
    ck_assert(ct_sigmoid_f32(-INFINITY) < 1e-37f && ct_exp_f32(-INFINITY) < 2e-38f && ct_exp_f32(200) > 1e38f);
    ck_assert(isnan(ct_exp_f32(NAN)) && isnan(ct_sigmoid_f32(NAN)) && isnan(ct_tanh_f32(NAN)));
}
END_TEST

/* One unit in f32 against f64, and the gradient of w . (c, h) against differences. */
START_TEST(test_lstm_unit)
{
    const double in[5] = { 0.3, -0.7, 1.1, 0.2, -0.4 }, dc0 = 0.6, dh = -1.3; /* a_i, a_f, a_g, a_o, c_prev */
    double loss[5][2], dc = dc0, c, h;
    ct_lstm_gates_f64 v = ct_lstm_unit_f64((ct_lstm_gates_f64){ in[0], in[1], in[2], in[3] }, in[4], &c, &h);
    NEAR(v.i, 1 / (1 + exp(-0.3)));
    NEAR(c, -0.4 / (1 + exp(0.7)) + v.i * tanh(1.1));
    NEAR(h, tanh(c) / (1 + exp(-0.2)));
    ct_lstm_gates_f64 d = ct_lstm_unit_bwd_f64(v, c, in[4], dh, &dc);
    for (int k = 0; k < 5; k++)
        for (int s = 0; s < 2; s++) {
            double x[5], cell, out;
            memcpy(x, in, sizeof x);
            x[k] += s ? 1e-5 : -1e-5;
            ct_lstm_unit_f64((ct_lstm_gates_f64){ x[0], x[1], x[2], x[3] }, x[4], &cell, &out);
            loss[k][s] = dc0 * cell + dh * out;
        }
    const double got[5] = { d.i, d.f, d.g, d.o, dc };
    for (int k = 0; k < 5; k++) ck_assert_double_eq_tol((loss[k][1] - loss[k][0]) / 2e-5, got[k], 1e-9);

    float cf, hf, dcf = (float)dc0;
    ct_lstm_gates_f32 vf = ct_lstm_unit_f32((ct_lstm_gates_f32){ 0.3f, -0.7f, 1.1f, 0.2f }, -0.4f, &cf, &hf);
    ct_lstm_gates_f32 df = ct_lstm_unit_bwd_f32(vf, cf, -0.4f, (float)dh, &dcf);
    const double wide[11] = { v.i, v.f, v.g, v.o, c, h, d.i, d.f, d.g, d.o, dc };
    const float narrow[11] = { vf.i, vf.f, vf.g, vf.o, cf, hf, df.i, df.f, df.g, df.o, dcf };
    for (int k = 0; k < 11; k++) ck_assert_double_eq_tol((double)narrow[k], wide[k], 5e-7);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("operator arithmetic");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_schedule_constant_and_warmup);
    tcase_add_test(t, test_schedule_cosine);
    tcase_add_test(t, test_schedule_cycles);
    tcase_add_test(t, test_schedule_multistep);
    tcase_add_test(t, test_schedule_warm_restarts);
    tcase_add_test(t, test_scaler_growth_and_backoff);
    tcase_add_test(t, test_static_scale);
    tcase_add_test(t, test_grad_norm);
    tcase_add_test(t, test_adamw_two_steps);
    tcase_add_test(t, test_adam_l2);
    tcase_add_test(t, test_adam_sees_the_unscaled_gradient);
    tcase_add_test(t, test_sgd_momentum);
    tcase_add_test(t, test_sgd_plain);
    tcase_add_test(t, test_f32_follows_f64);
    tcase_add_test(t, test_ema_decay);
    tcase_add_test(t, test_mask);
    tcase_add_test(t, test_dropout_share_and_independence);
    tcase_add_test(t, test_dropout_counters);
    tcase_add_test(t, test_exp_sigmoid_tanh);
    tcase_add_test(t, test_lstm_unit);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
