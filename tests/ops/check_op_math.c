/* The arithmetic that all backends share (src/ops/math), against values worked out by hand or by another formula. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "ops/math/dropout_math.h"
#include "ops/math/exp_math.h"
#include "ops/math/image_math.h"
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
    int kept = 0, same_step = 0, same_stream = 0, same_rank = 0;
    for (int i = 0; i < n; i++) {
        int a = ct_dropout_keep(1, 2, 0, 3, (uint64_t)i, 0.3);
        kept += a;
        same_step += a == ct_dropout_keep(1, 2, 0, 4, (uint64_t)i, 0.3);
        same_stream += a == ct_dropout_keep(1, 3, 0, 3, (uint64_t)i, 0.3);
        same_rank += a == ct_dropout_keep(1, 2, 1, 3, (uint64_t)i, 0.3);
        ct_philox w = ct_dropout_words(1, 2, 0, 3, (uint64_t)i / 4);
        ck_assert_int_eq(a, !((double)ct_u01(w.v[i % 4]) < 0.3));
    }
    /* Standard deviations: sqrt(n*0.21) = 92; agreement of independent draws 0.58 +- sqrt(n*0.58*0.42) = 99. */
    ck_assert_int_lt(abs(kept - (int)(0.7 * n)), 5 * 92);
    ck_assert_int_lt(abs(same_step - (int)(0.58 * n)), 5 * 99);
    ck_assert_int_lt(abs(same_stream - (int)(0.58 * n)), 5 * 99);
    ck_assert_int_lt(abs(same_rank - (int)(0.58 * n)), 5 * 99);
    for (uint64_t i = 0; i < 1000; i++) ck_assert_int_eq(ct_dropout_keep(9, 0, 0, 0, i, 0), 1);
}
END_TEST

/* The counters are part of what a run can be repeated from: one alone, and the first of a group, draw blocks 0, 1, ... */
START_TEST(test_dropout_counters)
{
    const uint64_t hi = (uint64_t)CT_RNG_DROPOUT << 56 | (uint64_t)2 << 40 | 3;
    for (uint64_t rank = 0; rank < CT_DROPOUT_RANKS; rank += 4681) /* 0 and 65534 among them */
        for (uint64_t block = 0; block < 3; block++) {
            ct_philox got = ct_dropout_words(1, 2, rank, 3, block), want = ct_philox4x32(1, hi, rank << 48 | block);
            ck_assert_mem_eq(&got, &want, sizeof got);
        }
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

/* ---- images ---- */

static ct_image_attrs plain(int64_t h, int64_t w)
{
    ct_image_attrs a = { .out_h = h, .out_w = w, .nstd = 3, .std = { 1, 1, 1 } };
    return a;
}

static double sample(const ct_image_attrs *a, const ct_image_draw *d, const uint8_t *src, int64_t hs, int64_t ws,
                     int64_t i, int64_t j)
{
    ct_image_point p = ct_image_locate(d, hs, ws, i, j);
    return ct_image_fetch(src, ws, 1, &p, 0, a->fill);
}

START_TEST(test_image_identity_is_exact)
{
    uint8_t src[6 * 5];
    for (int i = 0; i < 30; i++) src[i] = (uint8_t)(i * 37);
    ct_image_attrs a = plain(6, 5);
    a.mean[0] = 0.25;
    a.std[0] = 0.5;
    ct_image_draw d = ct_image_draw_sample(&a, 6, 5, 3, 4);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 5; j++) {
            double v = sample(&a, &d, src, 6, 5, i, j);
            ck_assert(v == src[i * 5 + j]);
            ck_assert(ct_image_finish(&a, &d, v, 0, 0) == (src[i * 5 + j] / 255.0 - 0.25) / 0.5);
        }
}
END_TEST

/* Half-pixel centres: [0,100] to four pixels is 0, 25, 75, 100; four pixels 0,40,80,120 to two are 20, 100. */
START_TEST(test_image_resize)
{
    const uint8_t two[2] = { 0, 100 }, four[4] = { 0, 40, 80, 120 };
    ct_image_attrs up = plain(1, 4), down = plain(1, 2);
    ct_image_draw d = ct_image_draw_sample(&up, 1, 2, 0, 0);
    NEAR(sample(&up, &d, two, 1, 2, 0, 0), 0);
    NEAR(sample(&up, &d, two, 1, 2, 0, 1), 25);
    NEAR(sample(&up, &d, two, 1, 2, 0, 2), 75);
    NEAR(sample(&up, &d, two, 1, 2, 0, 3), 100);
    d = ct_image_draw_sample(&down, 1, 4, 0, 0);
    NEAR(sample(&down, &d, four, 1, 4, 0, 0), 20);
    NEAR(sample(&down, &d, four, 1, 4, 0, 1), 100);
}
END_TEST

/* A shift by whole pixels moves the picture, and `fill` comes in from outside; half a pixel mixes. */
START_TEST(test_image_shift)
{
    const uint8_t src[4] = { 10, 20, 30, 40 };
    ct_image_attrs a = plain(1, 4);
    a.fill = 1;
    ct_image_draw d = ct_image_draw_sample(&a, 1, 4, 0, 0);
    d.augmented = true;
    d.shift_x = 1;
    NEAR(sample(&a, &d, src, 1, 4, 0, 0), 255);
    NEAR(sample(&a, &d, src, 1, 4, 0, 1), 10);
    NEAR(sample(&a, &d, src, 1, 4, 0, 3), 30);
    d.shift_x = -0.5;
    NEAR(sample(&a, &d, src, 1, 4, 0, 0), 15);
    NEAR(sample(&a, &d, src, 1, 4, 0, 3), 0.5 * 40 + 0.5 * 255);
    d.shift_x = 100;
    NEAR(sample(&a, &d, src, 1, 4, 0, 0), 255);
}
END_TEST

/* A quarter turn about the centre of a 3x3 picture, through the same matrix the draws fill. Rows grow downwards, so the
 * forward map (x,y) -> (-y,x) takes the right column to the bottom row. */
START_TEST(test_image_rotation)
{
    const uint8_t src[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const int turned[9] = { 7, 4, 1, 8, 5, 2, 9, 6, 3 };
    ct_image_attrs a = plain(3, 3);
    ct_image_draw d = ct_image_draw_sample(&a, 3, 3, 0, 0);
    d.augmented = true;
    d.ixx = 0, d.ixy = 1, d.iyx = -1, d.iyy = 0; /* inverse of (x,y) -> (-y,x) */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) NEAR(sample(&a, &d, src, 3, 3, i, j), turned[i * 3 + j]);
}
END_TEST

/* The drawn inverse undoes scale * rotation * shear, and every parameter keeps to its range and uses it. */
START_TEST(test_image_draws)
{
    ct_image_attrs a = plain(60, 160);
    a.augment = 1, a.seed = 11, a.prob = 1, a.shift_x = 3, a.shift_y = 2, a.scale = 0.2, a.rotate = 30, a.shear = 20;
    a.brightness = 0.1, a.contrast = 0.3, a.noise = 0.05, a.blur = 1.5;
    double low[7] = { 9, 9, 9, 9, 9, 9, 9 }, high[7] = { -9, -9, -9, -9, -9, -9, -9 };
    int radii[3] = { 0 };
    for (int id = 0; id < 2000; id++) {
        ct_image_draw d = ct_image_draw_sample(&a, 60, 160, id, 7);
        double det = d.ixx * d.iyy - d.ixy * d.iyx, s = 1 / sqrt(det);
        /* Forward matrix = inverse of the inverse; its first column is s(cos, sin). */
        double fx = d.iyy / det, fy = -d.iyx / det, gx = -d.ixy / det, gy = d.ixx / det;
        double angle = atan2(fy, fx);
        double k = (gx * fx + gy * fy) / (s * s); /* shear: projection of the second column on the first */
        double got[7] = { d.shift_x / 3,
                          d.shift_y / 2,
                          (s - 1) / 0.2,
                          angle / (30 * M_PI / 180),
                          atan(k) / (20 * M_PI / 180),
                          d.brightness / 0.1,
                          (d.contrast - 1) / 0.3 };
        for (int i = 0; i < 7; i++) {
            ck_assert_msg(fabs(got[i]) <= 1 + 1e-9, "parameter %d is %g of its range", i, got[i]);
            low[i] = fmin(low[i], got[i]);
            high[i] = fmax(high[i], got[i]);
        }
        NEAR(fx * fx + fy * fy, s * s);
        ck_assert(d.noise >= 0 && d.noise < 0.05);
        double taps = d.tap[0] + 2 * (d.tap[1] + d.tap[2]);
        NEAR(taps, 1);
        ck_assert_int_le(d.radius, 2);
        radii[d.radius]++;
    }
    for (int i = 0; i < 7; i++)
        ck_assert_msg(low[i] < -0.98 && high[i] > 0.98, "parameter %d stays in [%g, %g]", i, low[i], high[i]);
    ck_assert_int_gt(radii[1], 500);
    ck_assert_int_gt(radii[2], 500);
}
END_TEST

/* A draw depends on (seed, epoch, sample) alone, and on each of them; prob is the share of samples augmented. */
START_TEST(test_image_draw_keys)
{
    ct_image_attrs a = plain(10, 10);
    a.augment = 1, a.seed = 5, a.prob = 1, a.shift_x = 4;
    double x = ct_image_draw_sample(&a, 10, 10, 3, 1).shift_x;
    ck_assert(x == ct_image_draw_sample(&a, 10, 10, 3, 1).shift_x);
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 4, 1).shift_x);
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 3, 2).shift_x);
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 1, 3).shift_x);
    a.seed = 6;
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 3, 1).shift_x);
    int augmented = 0;
    a.prob = 0.25;
    for (int i = 0; i < 4000; i++) augmented += ct_image_draw_sample(&a, 10, 10, i, 0).augmented;
    ck_assert_int_lt(abs(augmented - 1000), 5 * 28); /* sqrt(4000*0.25*0.75) = 27.4 */
    a.prob = 0;
    ck_assert(!ct_image_draw_sample(&a, 10, 10, 0, 0).augmented);
}
END_TEST

/* What is drawn for a sample is part of what a run can be repeated from. */
START_TEST(test_image_draws_stay)
{
    ct_image_attrs a = plain(60, 160);
    a.augment = 1, a.seed = 11, a.prob = 1, a.shift_x = 4, a.shift_y = 2, a.brightness = 0.5, a.contrast = 0.25, a.noise = 1;
    const ct_image_draw d = ct_image_draw_sample(&a, 60, 160, 3, 7);
    ck_assert(d.shift_x == -0x1.d40a4p+1 && d.shift_y == -0x1.53bfap-1 && d.brightness == -0x1.1f32cp-6);
    ck_assert(d.contrast == 0x1.befd0bp-1 && d.noise == 0x1.083e98p-2 && d.ratio_x == 1 && d.ratio_y == 1);
    ck_assert(d.left == 0 && d.top == 0 && !d.mirrored);
    a.crop_h = 30, a.crop_w = 80, a.flip = 1; /* drawn beside them */
    const ct_image_draw e = ct_image_draw_sample(&a, 60, 160, 3, 7);
    ck_assert(e.shift_x == d.shift_x && e.shift_y == d.shift_y && e.brightness == d.brightness);
    ck_assert(e.contrast == d.contrast && e.noise == d.noise && e.ratio_x == 0.5 && e.ratio_y == 0.5 && e.mirrored);
}
END_TEST

/* A crop lies anywhere in the source, both ends included, as likely here as there, and mirrors are as many as was
 * asked, independent of it; whatever prob says. Without augmentation it is the middle, rounded to the left and up. */
START_TEST(test_image_view)
{
    enum { N = 8000, DOWN = 4, ACROSS = 9 };
    ct_image_attrs a = plain(13, 10);
    int down[DOWN + 1] = { 0 }, across[ACROSS + 1] = { 0 }, mirrored = 0, low = 0, first = 0;
    a.crop_h = 13, a.crop_w = 10;
    ct_image_draw d = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, 3, 4);
    ck_assert(d.top == 2 && d.left == 4 && !d.mirrored && d.ratio_x == 1 && d.ratio_y == 1);
    a.augment = 1, a.prob = 0, a.shift_x = 3, a.flip = 0.3, a.seed = 2;
    for (int i = 0; i < N; i++) {
        d = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, i, 1);
        ck_assert(!d.augmented && d.top >= 0 && d.top <= DOWN && d.left >= 0 && d.left <= ACROSS);
        ck_assert(d.top == floor(d.top) && d.left == floor(d.left));
        down[(int)d.top]++;
        across[(int)d.left]++;
        mirrored += d.mirrored;
        low += d.mirrored && d.left < 5;
        first += d.top < 1 && d.left < 5;
    }
    /* Standard deviations: sqrt(N p (1-p)). */
    for (int i = 0; i <= DOWN; i++) ck_assert_int_lt(abs(down[i] - N / 5), 5 * 36);
    for (int i = 0; i <= ACROSS; i++) ck_assert_int_lt(abs(across[i] - N / 10), 5 * 27);
    ck_assert_int_lt(abs(mirrored - 3 * N / 10), 5 * 41);
    ck_assert_int_lt(abs(low - 15 * N / 100), 5 * 32);
    ck_assert_int_lt(abs(first - N / 10), 5 * 27);
    int again = 0;
    for (int i = 0; i < 1000; i++) { /* another epoch, another place */
        const ct_image_draw e = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, i, 2);
        d = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, i, 1);
        again += d.top == e.top && d.left == e.left;
    }
    ck_assert_int_lt(again, 20 + 5 * 5);
}
END_TEST

/* With a crop, what an augmentation moves in is the source's own as far as there is any; a mirror turns the picture before
 * it is moved, and a point goes where its pixel does. */
START_TEST(test_image_crop_and_mirror)
{
    const uint8_t src[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };
    ct_image_attrs a = plain(1, 4);
    a.fill = 1, a.crop_h = 1, a.crop_w = 4;
    ct_image_draw d = ct_image_draw_sample(&a, 1, 8, 0, 0);
    for (int j = 0; j < 4; j++) ck_assert(sample(&a, &d, src, 1, 8, 0, j) == 30 + 10 * j);
    d.mirrored = true;
    for (int j = 0; j < 4; j++) ck_assert(sample(&a, &d, src, 1, 8, 0, j) == 60 - 10 * j);
    d.augmented = true;
    d.shift_x = 1; /* 60 50 40 30 moves right, and 70 comes in */
    for (int j = 0; j < 4; j++) ck_assert(sample(&a, &d, src, 1, 8, 0, j) == 70 - 10 * j);
    d.shift_x = 4; /* 70, 80 and then nothing */
    ck_assert(sample(&a, &d, src, 1, 8, 0, 0) == 255 && sample(&a, &d, src, 1, 8, 0, 1) == 255);
    ck_assert(sample(&a, &d, src, 1, 8, 0, 2) == 80 && sample(&a, &d, src, 1, 8, 0, 3) == 70);
    double x, y;
    ct_image_move(&d, 6.5, 0.5, &x, &y); /* the middle of 70 */
    ck_assert(x == 3.5 && y == 0.5);
    const double window[4] = { 7, 0, 8, 1 }; /* pixels of the source: that of 80 */
    for (int j = 0; j < 4; j++) ck_assert_int_eq(ct_image_inside(&d, window, 1, 8, 0, j), j == 2);
}
END_TEST

START_TEST(test_image_noise_is_normal)
{
    ct_image_attrs a = plain(10, 10);
    a.augment = 1, a.prob = 1, a.noise = 0.1;
    ct_image_draw d = ct_image_draw_sample(&a, 10, 10, 1, 1);
    const int blocks = 20000;
    double sum = 0, squares = 0, fourth = 0, pairs = 0;
    for (int b = 0; b < blocks; b++) {
        double z[4];
        ct_image_noise4(&d, (uint64_t)b, z);
        for (int i = 0; i < 4; i++) {
            sum += z[i];
            squares += z[i] * z[i];
            fourth += z[i] * z[i] * z[i] * z[i];
        }
        pairs += z[0] * z[1] + z[1] * z[2];
    }
    const double n = 4.0 * blocks;
    ck_assert_double_lt(fabs(sum / n), 5 / sqrt(n));
    ck_assert_double_lt(fabs(squares / n - 1), 5 * sqrt(2 / n));
    ck_assert_double_lt(fabs(fourth / n - 3), 5 * sqrt(96 / n));
    ck_assert_double_lt(fabs(pairs / blocks), 5 * sqrt(2.0 / blocks));
}
END_TEST

START_TEST(test_image_values)
{
    ct_image_attrs a = plain(1, 1);
    a.mean[1] = 0.5, a.std[1] = 0.25;
    ct_image_draw d = ct_image_draw_sample(&a, 1, 1, 0, 0);
    d.augmented = true;
    d.contrast = 2;
    d.brightness = 0.1;
    NEAR(ct_image_finish(&a, &d, 0.4 * 255, 0, 0), 0.4); /* (0.4-0.5)*2 + 0.5 + 0.1 */
    NEAR(ct_image_finish(&a, &d, 0.4 * 255, 0, 1), (0.4 - 0.5) / 0.25);
    NEAR(ct_image_finish(&a, &d, 255, 0, 0), 1); /* clamped */
    NEAR(ct_image_finish(&a, &d, 0, 0, 0), 0);
    d.noise = 0.05;
    NEAR(ct_image_finish(&a, &d, 0.4 * 255, -2, 0), 0.3);
    d.augmented = false; /* nothing but the scaling */
    NEAR(ct_image_finish(&a, &d, 51, -2, 0), 0.2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("operator arithmetic");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_schedule_constant_and_warmup);
    tcase_add_test(t, test_schedule_cosine);
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
    tcase_add_test(t, test_image_identity_is_exact);
    tcase_add_test(t, test_image_resize);
    tcase_add_test(t, test_image_shift);
    tcase_add_test(t, test_image_rotation);
    tcase_add_test(t, test_image_draws);
    tcase_add_test(t, test_image_draw_keys);
    tcase_add_test(t, test_image_draws_stay);
    tcase_add_test(t, test_image_view);
    tcase_add_test(t, test_image_crop_and_mirror);
    tcase_add_test(t, test_image_noise_is_normal);
    tcase_add_test(t, test_image_values);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
