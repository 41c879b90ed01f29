/* The reference implementations against PyTorch (values in ref_values.h, made by make_ref_values.py), and what PyTorch
 * has no value for: error messages, refusals, NaN and ties. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/ref/ref.h"
#include "base/alloc.h"
#include "harness/harness_priv.h"
#include "ops/math/dropout_math.h"
#include "ops/math/image_math.h"
#include "tests/ct_check.h"
#include "tests/harness/ref_fixture.h"
#include "tests/harness/ref_values.h"

START_TEST(test_against_torch)
{
    ct_call c = make(ref_values[_i].call);
    run(&c);
    for (int o = 0; o < ref_values[_i].count; o++)
        assert_near(project(&c.out[o]), ref_values[_i].value[o], ref_values[_i].call);
    ct_host_free(&c);
}
END_TEST

/* Three steps of grad_norm, the optimizer and step_end, sharing p, the moments and the state. */
static void three_steps(const char *gradient, const char *text, const double *want)
{
    double state[CT_STATE_COUNT] = { 0 };
    state[CT_STATE_LOSS_SCALE] = 1;
    state[CT_STATE_LR] = 0.01;
    ct_call norm = make(gradient), end = make("step_end(f64[16])"), step = make(text);
    for (int k = 2; k + 1 < step.nin; k++) memset(step.in[k].data, 0, ct_desc_bytes(&step.in[k].desc));
    ct_call *calls[3] = { &norm, &step, &end };
    for (int s = 0; s < 3; s++) {
        fill(&norm.in[0], s + 1);
        fill(&step.in[1], s + 1);
        for (int i = 0; i < 3; i++) {
            void *there = calls[i]->in[calls[i]->nin - 1].data;
            memcpy(there, state, sizeof state);
            run(calls[i]);
            memcpy(state, there, sizeof state);
        }
    }
    ck_assert(state[CT_STATE_STEP] == 3 && state[CT_STATE_APPLIED] == 3);
    assert_near(project(&step.in[0]), want[0], text);
    for (int k = 2; k + 1 < step.nin; k++) assert_near(project(&step.in[k]), want[k - 1], text);
    for (int i = 0; i < 3; i++) ct_host_free(calls[i]);
}

START_TEST(test_optimizers_against_torch)
{
    const char *norm = "grad_norm{max_norm=2}(f64[23], f64[16])";
    three_steps(norm,
                "adamw{beta1=0.9 beta2=0.99 eps=1e-6 weight_decay=0.1 decoupled=1}(f64[23], f64[23], f64[23], f64[23], "
                "f64[16])",
                optim_values);
    three_steps(norm,
                "adamw{beta1=0.9 beta2=0.99 eps=1e-6 weight_decay=0.1}(f64[23], f64[23], f64[23], f64[23], f64[16])",
                optim_values + 3);
    three_steps(norm, "sgd{momentum=0.9 weight_decay=0.1}(f64[23], f64[23], f64[23], f64[16])", optim_values + 6);
    three_steps(norm, "sgd{momentum=0.9 weight_decay=0.1 nesterov=1}(f64[23], f64[23], f64[23], f64[16])",
                optim_values + 8);
}
END_TEST

/* Weights after three steps of torch.optim.Muon, computed in f64. */
START_TEST(test_muon_against_torch)
{
    const char *norm = "grad_norm{max_norm=2}(f64[24], f64[16])";
    three_steps(norm,
                "muon{rows=4 cols=6 stride=24 steps=5 momentum=0.95 nesterov=1 scale=0.48989794855663565}"
                "(f64[24], f64[24], f64[24], f64[16])",
                muon_values);
    three_steps(norm,
                "muon{rows=6 cols=4 stride=24 steps=3 weight_decay=0.1 momentum=0.9 scale=1.224744871391589}"
                "(f64[24], f64[24], f64[24], f64[16])",
                muon_values + 2);
}
END_TEST

/* Tensor t holds the values of `from`. */
static void copy(const ct_tensor *t, const ct_tensor *from)
{
    ck_assert(ct_desc_equal(&t->desc, &from->desc));
    memcpy(t->data, from->data, ct_desc_bytes(&t->desc));
}

/* A quarter of input k's values. */
static void fill_quarter(const ct_tensor *t, int k)
{
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) ct_store(t->desc.dtype, t->data, i, element(k, i) / 4);
}

/* A layer as a model has it: linear and lstm, and their gradients; that of x is summed over the directions. */
static void lstm_layer(const char *linear_text, const char *lstm_text, const int32_t *len, int directions,
                       const double *want)
{
    static const char *const names[] = { "dw_ih", "dw_hh", "db_ih", "db_hh" };
    ct_call linear[2], f = make(lstm_text), dx[2];
    int per_direction = ct_present(&f.in[2]) ? 4 : 2;
    for (int d = 0; d < directions; d++) {
        linear[d] = make(linear_text);
        fill_quarter(&linear[d].in[1], 4 * d + 1);
        if (ct_present(&linear[d].in[2])) fill_quarter(&linear[d].in[2], 4 * d + 3);
        run(&linear[d]);
        copy(&f.in[3 * d], &linear[d].out[0]);
        fill_quarter(&f.in[3 * d + 1], 4 * d + 2);
        if (ct_present(&f.in[3 * d + 2])) fill_quarter(&f.in[3 * d + 2], 4 * d + 4);
    }
    if (len) memcpy(f.in[6].data, len, ct_desc_bytes(&f.in[6].desc));
    run(&f);
    assert_near(project(&f.out[0]), want[0], "y");

    ct_call b = { .op = CT_OP_LSTM_BWD, .nin = 7, .nout = 2 * directions };
    const ct_tensor *from[7] = { &f.out[0], &f.out[0], &f.out[1], &f.out[2], &f.in[1], &f.in[4], &f.in[6] };
    for (int k = 0; k < 7; k++) b.in[k].desc = from[k]->desc;
    ck_assert_msg(ct_call_infer(&b) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_host_alloc(&b), CT_OK);
    for (int k = 1; k < 7; k++)
        if (ct_present(&b.in[k])) copy(&b.in[k], from[k]);
    fill(&b.in[0], 9);
    run(&b);
    for (int d = 0; d < directions; d++) {
        const double *values = want + 2 + per_direction * d;
        ct_call dw = { .op = CT_OP_LINEAR_WGRAD, .nin = 2, .nout = 1, .in = { linear[d].in[0], b.out[2 * d] } };
        ct_call db = { .op = CT_OP_BIAS_GRAD, .nin = 1, .nout = 1, .in = { b.out[2 * d] } };
        dx[d] = (ct_call){ .op = CT_OP_LINEAR_DGRAD, .nin = 2, .nout = 1, .in = { b.out[2 * d], linear[d].in[1] } };
        ct_call *calls[3] = { &dw, &db, &dx[d] };
        for (int k = 0; k < 3; k++) {
            ck_assert_int_eq(ct_call_infer(calls[k]), CT_OK);
            calls[k]->out[0].data = ct_aligned_alloc(ct_desc_bytes(&calls[k]->out[0].desc), "gradient");
            run(calls[k]);
        }
        const ct_tensor *got[4] = { &dw.out[0], &b.out[2 * d + 1], &db.out[0], &db.out[0] };
        for (int k = 0; k < per_direction; k++) assert_near(project(got[k]), values[k], names[k]);
        ct_free(dw.out[0].data);
        ct_free(db.out[0].data);
    }
    double sum = 0;
    for (int d = 0; d < directions; d++) {
        sum += project(&dx[d].out[0]);
        ct_free(dx[d].out[0].data);
        ct_host_free(&linear[d]);
    }
    assert_near(sum, want[1], "dx");
    ct_host_free(&f);
    ct_host_free(&b);
}

START_TEST(test_lstm_against_torch)
{
    lstm_layer("linear(f64[6,4,5], f64[12,5], f64[12])",
               "lstm(f64[6,4,12], f64[12,3], f64[12], f64[6,4,12], f64[12,3], f64[12], i32[4])",
               (const int32_t[]){ 4, 6, 1, 5 }, 2, lstm_values);
    lstm_layer("linear(f64[5,3,4], f64[8,4])", "lstm(f64[5,3,8], f64[8,2])", NULL, 1, lstm_plain_values);
}
END_TEST

START_TEST(test_lstm_lengths)
{
    static const int32_t lengths[][2] = { { 0, 3 }, { 4, 2 }, { 3, -1 } };
    ct_call f = make("lstm(f32[3,2,8], f32[8,2], -, -, -, -, i32[2])");
    ct_call b = make("lstm_bwd(f32[3,2,2], f32[3,2,2], f32[1,3,2,8], f32[1,3,2,2], f32[8,2], -, i32[2])");
    for (int i = 0; i < 3; i++) {
        memcpy(f.in[6].data, lengths[i], sizeof lengths[i]);
        memcpy(b.in[6].data, lengths[i], sizeof lengths[i]);
        ck_assert_int_eq(ct_reference_run(&f), CT_EDATA);
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "lstm: len of sample "));
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "not within [1, 3]"));
        ck_assert_int_eq(ct_reference_run(&b), CT_EDATA);
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "lstm_bwd: len of sample "));
    }
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

START_TEST(test_resize_against_torch)
{
    static const char *const sizes[2] = { "out_h=5 out_w=13", "out_h=14 out_w=4" };
    for (int s = 0; s < 2; s++) {
        char text[200];
        snprintf(text, sizeof text,
                 "preprocess{%s dtype=1 mean=0.5,0.25,0.125 std=0.5,0.25,0.2}"
                 "(u8[2,7,9,3], i32[2,3])",
                 sizes[s]);
        ct_call c;
        ck_assert_msg(ct_call_parse(text, &c) == CT_OK, "%s", ct_error_message());
        ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
        for (int i = 0; i < 2 * 7 * 9 * 3; i++) ((uint8_t *)c.in[0].data)[i] = (uint8_t)((37 * i + 11) % 256);
        int32_t *index = c.in[1].data;
        for (int n = 0; n < 2; n++) index[3 * n] = n, index[3 * n + 1] = 100 + n, index[3 * n + 2] = 0;
        run(&c);
        assert_near(project(&c.out[0]), resize_values[s], text);
        ct_host_free(&c);
    }
}
END_TEST

/* First of equal maxima; the first NaN wins; -inf is taken where there is nothing else; padding never. */
START_TEST(test_maxpool_ties_and_nan)
{
    static const float x[2][8] = { { 1, 1, -INFINITY, -INFINITY, NAN, 5, 2, 3 },
                                   { 1, 0, -INFINITY, -INFINITY, 9, NAN, 3, 3 } };
    ct_call c = make("maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2}(f32[1,2,8,1])");
    memcpy(c.in[0].data, x, sizeof x);
    run(&c);
    const float *y = c.out[0].data;
    const uint8_t *index = c.out[1].data;
    ck_assert(y[0] == 1 && index[0] == 0);
    ck_assert(y[1] == -INFINITY && index[1] == 0);
    ck_assert(isnan(y[2]) && index[2] == 0);
    ck_assert(y[3] == 3 && index[3] == 1);
    ct_host_free(&c);
    c = make("maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2 pad_h=1 pad_w=1}(f32[1,2,2,1])");
    for (int i = 0; i < 4; i++) ((float *)c.in[0].data)[i] = -3;
    run(&c);
    for (int i = 0; i < 4; i++) {
        ck_assert(((float *)c.out[0].data)[i] == -3);
        ck_assert_int_eq(((uint8_t *)c.out[1].data)[i], 3 - i);
    }
    ct_host_free(&c);
}
END_TEST

START_TEST(test_argmax_and_sums)
{
    static const float logits[6] = { 0, 0, -1, 1, 2, 2 }; /* [1, 2*3] */
    ct_call c = make("argmax{positions=2 classes=3}(f32[1,6])");
    memcpy(c.in[0].data, logits, sizeof logits);
    run(&c);
    const int32_t *pred = c.out[0].data;
    const float *conf = c.out[1].data;
    ck_assert(pred[0] == 0 && pred[1] == 1);
    ck_assert_double_eq_tol((double)conf[0], 1 / (2 + exp(-1)), 1e-7);
    ck_assert_double_eq_tol((double)conf[1], 1 / (2 + exp(-1)), 1e-7);
    ct_host_free(&c);
    /* 3 samples of 2: one right, one half right, one wrong */
    static const int32_t p[6] = { 1, 2, 3, 4, 5, 6 }, t[6] = { 1, 2, 3, 0, 0, 0 };
    static const double want[CT_METRIC_COUNT] = { 10, 0, 0, 0, 0, 1, 6, 3 };
    ck_assert_int_eq(ct_call_parse("metric_sums{first=5}(i32[3,2], i32[3,2], f64[64])", &c), CT_OK);
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    memcpy(c.in[0].data, p, sizeof p);
    memcpy(c.in[1].data, t, sizeof t);
    memset(c.in[2].data, 0, CT_METRIC_COUNT * sizeof(double));
    ((double *)c.in[2].data)[CT_METRIC_SAMPLES] = 10;
    run(&c);
    ck_assert_mem_eq(c.in[2].data, want, sizeof want);
    ct_host_free(&c);
    /* 3 samples, loss 0.5, terms 0.25 and 2 */
    static const double sums[CT_METRIC_COUNT] = { 10 + 3, 1.5, 1, 0, 0, 0.75, 6 };
    ck_assert_int_eq(ct_call_parse("batch_sums{samples=3 first=5}(f64[1], f64[64], f64[1], f64[1])", &c), CT_OK);
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    memset(c.in[1].data, 0, CT_METRIC_COUNT * sizeof(double));
    ((double *)c.in[1].data)[CT_METRIC_SAMPLES] = 10;
    *(double *)c.in[0].data = 0.5;
    *(double *)c.in[2].data = 0.25;
    *(double *)c.in[3].data = 2;
    run(&c);
    ck_assert_mem_eq(c.in[1].data, sums, sizeof sums);
    ct_host_free(&c);
}
END_TEST

/* One-input, one-formula operators on values that can be checked by eye. */
static void assert_output(const char *text, int n, const double *in0, const double *want)
{
    ct_call c = make(text);
    if (in0) memcpy(c.in[0].data, in0, ct_desc_bytes(&c.in[0].desc));
    run(&c);
    for (int i = 0; i < n; i++) assert_near(ct_load(c.out[0].desc.dtype, c.out[0].data, i), want[i], text);
    ct_host_free(&c);
}

START_TEST(test_small_operators)
{
    ct_call c = make("dropout_apply{p=0.75}(f64[3], u8[3])");
    memcpy(c.in[0].data, (double[]){ 1, 2, 3 }, 24);
    memcpy(c.in[1].data, (uint8_t[]){ 1, 0, 1 }, 3);
    run(&c);
    ck_assert_mem_eq(c.out[0].data, ((double[]){ 4, 0, 12 }), 24);
    ct_host_free(&c);

    c = make("accumulate{alpha=0.5 beta=2}(f64[2], f64[2])");
    memcpy(c.in[0].data, (double[]){ 4, 6 }, 16);
    memcpy(c.in[1].data, (double[]){ 1, 10 }, 16);
    run(&c);
    ck_assert_mem_eq(c.in[1].data, ((double[]){ 4, 23 }), 16);
    ct_host_free(&c);
    c = make("accumulate{alpha=3}(f64[2], f64[2])"); /* beta 0: whatever was there */
    memcpy(c.in[0].data, (double[]){ 4, 6 }, 16);
    memcpy(c.in[1].data, (double[]){ NAN, INFINITY }, 16);
    run(&c);
    ck_assert_mem_eq(c.in[1].data, ((double[]){ 12, 18 }), 16);
    ct_host_free(&c);

    c = make("add(f64[2], f64[2])");
    run(&c);
    for (int i = 0; i < 2; i++) ck_assert(((double *)c.out[0].data)[i] == element(0, i) + element(1, i));
    ct_host_free(&c);
    c = make("mul(f64[2], f64[2])");
    run(&c);
    for (int i = 0; i < 2; i++) ck_assert(((double *)c.out[0].data)[i] == element(0, i) * element(1, i));
    ct_host_free(&c);

    /* Halfway cases of bf16 (8 bits): 1 + 2^-8 to even 1, 1 + 3*2^-8 to 1 + 2^-6; the f64 just above does not tie. */
    assert_output("cast{dtype=2}(f64[3])", 3, (double[]){ 1 + 0x1p-8, 1 + 0x3p-8, 1 + 0x1p-8 + 0x1p-40 },
                  (double[]){ 1, 1 + 0x1p-6, 1 + 0x1p-7 });
    assert_output("cast{dtype=3}(f64[3])", 3, (double[]){ 70000, -1e-9, 0.1 }, (double[]){ INFINITY, 0, 0x1.998p-4 });
    assert_output("global_avgpool_bwd{in_h=1 in_w=2}(f64[1,2])", 4, (double[]){ 4, 6 }, (double[]){ 2, 3, 2, 3 });

    double state[CT_STATE_COUNT] = { 0 };
    state[CT_STATE_LOSS_SCALE] = 1024;
    assert_output("loss_seed{alpha=0.25 dtype=1}(f64[16])", 1, state, (double[]){ 256 });

    c = make("ema{decay=0.75}(f64[1], f64[1], f64[16])");
    memcpy(c.in[2].data, state, sizeof state);
    *(double *)c.in[0].data = 2;
    *(double *)c.in[1].data = 6;
    run(&c);
    assert_near(*(double *)c.in[0].data, 3, "ema");
    ct_host_free(&c);

    c = make("lr_schedule{base_lr=0.5}(f64[16])");
    memcpy(c.in[0].data, state, sizeof state);
    run(&c);
    assert_near(((double *)c.in[0].data)[CT_STATE_LR], 0.5, "lr_schedule");
    ct_host_free(&c);
}
END_TEST

/* softmax_xent_bwd is the derivative of softmax_xent by its formula: dloss/rows * (softmax - (1-e)*onehot - e/K). */
START_TEST(test_xent_backward)
{
    ct_call c = make("softmax_xent_bwd{positions=1 classes=3 smoothing=0.3}(f64[1,3], i32[1,1], f64[1,1], f64[1])");
    const double x[3] = { log(1), log(2), log(5) }, lse = log(8), dloss = 2;
    static const double want[3] = { 2 * (0.125 - 0.1), 2 * (0.25 - 0.7 - 0.1), 2 * (0.625 - 0.1) };
    memcpy(c.in[0].data, x, sizeof x);
    *(int32_t *)c.in[1].data = 1;
    *(double *)c.in[2].data = lse;
    *(double *)c.in[3].data = dloss;
    run(&c);
    for (int i = 0; i < 3; i++) assert_near(((double *)c.out[0].data)[i], want[i], "softmax_xent_bwd");
    ct_host_free(&c);
}
END_TEST

/* A mask is the keep decision of every element at the state's step. */
START_TEST(test_dropout_mask)
{
    ct_call c = make("dropout_mask{p=0.4 seed=3 stream=2 first=24 run=20 pitch=40 ndim=2 d0=10 d1=8}(f64[16])");
    ((double *)c.in[0].data)[CT_STATE_DRAWS] = 17;
    run(&c);
    for (int i = 0; i < 80; i++)
        ck_assert_int_eq(((uint8_t *)c.out[0].data)[i], ct_dropout_keep(3, 2, 17, (uint64_t)(24 + i / 20 * 40 + i % 20), 0.4));
    ct_host_free(&c);
}
END_TEST

/* Prepares one h x w image of one channel (zero but for what the caller sets) as sample 5 of epoch 2. */
static ct_call one_image(const char *text)
{
    ct_call c;
    ck_assert_msg(ct_call_parse(text, &c) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    memset(c.in[0].data, 0, ct_desc_bytes(&c.in[0].desc));
    memcpy(c.in[1].data, (int32_t[]){ 0, 5, 2 }, 12);
    return c;
}

/* The blur of a single point is the product of the taps along both axes; edges repeat, so that gray stays gray. */
START_TEST(test_blur)
{
    ct_call c =
        one_image("preprocess{out_h=7 out_w=7 dtype=1 augment=1 seed=1 prob=1 blur=2 std=1}(u8[1,7,7,1], i32[1,3])");
    ct_image_draw d = ct_image_draw_sample(&c.attrs.image, 7, 7, 5, 2);
    ck_assert_int_gt(d.radius, 0);
    ((uint8_t *)c.in[0].data)[3 * 7 + 3] = 255;
    run(&c);
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            int r = abs(i - 3), s = abs(j - 3);
            double want = r <= d.radius && s <= d.radius ? d.tap[r] * d.tap[s] : 0;
            assert_near(((double *)c.out[0].data)[i * 7 + j], want, "blurred point");
        }
    memset(c.in[0].data, 51, 49);
    run(&c);
    for (int i = 0; i < 49; i++) assert_near(((double *)c.out[0].data)[i], 0.2, "blurred gray");
    ct_host_free(&c);
}
END_TEST

/* Noise of an element is one number of the sample's stream, counted over [H,W,C]. */
START_TEST(test_noise)
{
    ct_call c = one_image(
        "preprocess{out_h=3 out_w=5 dtype=1 augment=1 seed=1 prob=1 noise=0.05 std=1}(u8[1,3,5,1], i32[1,3])");
    ct_image_draw d = ct_image_draw_sample(&c.attrs.image, 3, 5, 5, 2);
    memset(c.in[0].data, 127, 15);
    run(&c);
    for (int e = 0; e < 15; e++) {
        double z[4];
        ct_image_noise4(&d, (uint64_t)e / 4, z);
        assert_near(((double *)c.out[0].data)[e], 127 / 255.0 + d.noise * z[e % 4], "noise");
    }
    ct_host_free(&c);
}
END_TEST

/* Of a clip's frames, the fourth column of the index is part of the draw; rows of one frame are alike. */
START_TEST(test_noise_of_frames)
{
    ct_call c = one_image(
        "preprocess{out_h=3 out_w=5 dtype=1 augment=1 seed=1 prob=1 noise=0.05 std=1}(u8[1,3,5,1], i32[3,4])");
    ct_image_draw d = ct_image_draw_sample(&c.attrs.image, 3, 5, 5, 2);
    memset(c.in[0].data, 127, 15);
    memcpy(c.in[1].data, (int32_t[]){ 0, 5, 2, 0, 0, 5, 2, 6, 0, 5, 2, 6 }, 48);
    run(&c);
    const double *y = c.out[0].data;
    for (int e = 0; e < 15; e++) {
        double z[4];
        d.frame = 0;
        ct_image_noise4(&d, (uint64_t)e / 4, z);
        assert_near(y[e], 127 / 255.0 + d.noise * z[e % 4], "noise of frame 0");
        d.frame = 6;
        ct_image_noise4(&d, (uint64_t)e / 4, z);
        assert_near(y[15 + e], 127 / 255.0 + d.noise * z[e % 4], "noise of frame 6");
        ck_assert(y[15 + e] == y[30 + e] && y[e] != y[15 + e]);
    }
    ct_host_free(&c);
}
END_TEST

START_TEST(test_step_skipped)
{
    static const char *const calls[] = {
        "adamw{beta1=0.9 beta2=0.999 eps=1e-8}(f32[9], f32[9], f32[9], f32[9], f64[16])",
        "sgd{momentum=0.9}(f32[9], f32[9], f32[9], f64[16])",
        "muon{rows=3 cols=3 stride=9 steps=5 momentum=0.9 scale=1}(f32[9], f32[9], f32[9], f64[16])",
        "ema{decay=0.9}(f32[9], f32[9], f64[16])"
    };
    for (int k = 0; k < 4; k++) {
        ct_call c = make(calls[k]);
        double *state = c.in[c.nin - 1].data;
        memset(state, 0, CT_STATE_COUNT * sizeof *state);
        state[CT_STATE_LOSS_SCALE] = state[CT_STATE_CLIP_COEF] = state[CT_STATE_LR] = state[CT_STATE_FOUND_INF] = 1;
        run(&c);
        for (int i = 0; i < c.nin - 1; i++)
            for (int64_t e = 0; e < 9; e++) ck_assert(((float *)c.in[i].data)[e] == (float)element(i, e));
        state[CT_STATE_FOUND_INF] = 0;
        run(&c);
        ck_assert(((float *)c.in[0].data)[0] != (float)element(0, 0));
        ct_host_free(&c);
    }
}
END_TEST

START_TEST(test_messages)
{
    ct_call c = make("softmax_xent{positions=2 classes=3}(f32[4,6], i32[4,2])");
    ((int32_t *)c.in[1].data)[5] = 3;
    ck_assert_int_eq(ct_reference_run(&c), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(
        ct_error_message(), "softmax_xent: target of sample 2, position 1 of the batch is 3, not one of 3 classes"));
    ((int32_t *)c.in[1].data)[5] = -1;
    ck_assert_int_eq(ct_reference_run(&c), CT_EDATA);
    ct_host_free(&c);
    c = make("soft_margin{positions=2 classes=3}(f32[4,6], i32[4,2])");
    ((int32_t *)c.in[1].data)[0] = 7;
    ck_assert_int_eq(ct_reference_run(&c), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "soft_margin: target of sample 0"));
    ct_host_free(&c);
    ck_assert_int_eq(ct_call_parse("preprocess{out_h=2 out_w=2 std=1}(u8[3,2,2,1], i32[2,3])", &c), CT_OK);
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    memset(c.in[1].data, 0, 24);
    ((int32_t *)c.in[1].data)[3] = 3;
    ck_assert_int_eq(ct_reference_run(&c), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "preprocess: index row 1 asks for image 3 of 3"));
    ct_host_free(&c);
}
END_TEST

/* accept() looks at types itself: a plan may be wrong. */
START_TEST(test_refusals)
{
    ct_call c;
    ck_assert_int_eq(ct_call_parse("add(f32[3], f32[3])", &c), CT_OK);
    ck_assert(ct_ref_find(CT_OP_ADD)->accept(NULL, &c).ok);
    c.in[1].desc.dtype = CT_I32;
    ct_accept a = ct_ref_find(CT_OP_ADD)->accept(NULL, &c);
    ck_assert(!a.ok);
    ck_assert_str_eq(a.reason, "an input is not floating point");
    ck_assert_int_eq(ct_call_parse("step_end(f64[16])", &c), CT_OK);
    c.in[0].desc.dtype = CT_F32;
    a = ct_ref_find(CT_OP_STEP_END)->accept(NULL, &c);
    ck_assert(!a.ok);
    ck_assert_str_eq(a.reason, "the state is not f64[16]");
    ck_assert_ptr_null(ct_ref_find(CT_OP_RESHAPE));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reference");
    TCase *t = tcase_create("torch");
    tcase_add_loop_test(t, test_against_torch, 0, (int)(sizeof ref_values / sizeof ref_values[0]));
    tcase_add_test(t, test_optimizers_against_torch);
    tcase_add_test(t, test_muon_against_torch);
    tcase_add_test(t, test_lstm_against_torch);
    tcase_add_test(t, test_lstm_lengths);
    tcase_add_test(t, test_resize_against_torch);
    suite_add_tcase(s, t);
    t = tcase_create("rules");
    tcase_add_test(t, test_maxpool_ties_and_nan);
    tcase_add_test(t, test_argmax_and_sums);
    tcase_add_test(t, test_small_operators);
    tcase_add_test(t, test_xent_backward);
    tcase_add_test(t, test_dropout_mask);
    tcase_add_test(t, test_blur);
    tcase_add_test(t, test_noise);
    tcase_add_test(t, test_noise_of_frames);
    tcase_add_test(t, test_step_skipped);
    tcase_add_test(t, test_messages);
    tcase_add_test(t, test_refusals);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
