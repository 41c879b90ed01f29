/* Programs whose images have channels of padding: the same results as without. */
#include "tests/program/check_program.h"

#include <math.h>
#include <string.h>

/* FLOPs of the convolutions of a step. */
static double conv_flops(const ct_graph *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_call c;
        ct_graph_call(g, i, &c);
        if (c.op == CT_OP_CONV2D || c.op == CT_OP_CONV2D_DGRAD || c.op == CT_OP_CONV2D_WGRAD) sum += ct_call_flops(&c);
    }
    return sum;
}

/* A step with images of 8 channels in place of 1 or 3: zeros are added to sums and nothing else, so loss and gradients
 * agree to the rounding of sums in another order; the arenas of the weights do not change at all, so that plain and
 * padded programs share them. */
static void compare_padded(const char *model, int64_t channels, ct_dtype type, ct_dtype compute, double tolerance)
{
    ct_program_spec s;
    test_run plain, padded;
    small_spec(&s, model, 4);
    s.model.channels = channels;
    s.model.frames = strncmp(model, "tfnet", 5) == 0 ? 28 : 0; /* four steps */
    s.model.dtype = type;
    s.compute = compute;
    s.loss_scale = compute == CT_F16 ? 256 : 1;
    run_open(&plain, &s, false);
    s.channel_multiple = 8;
    run_open(&padded, &s, false);
    const ct_desc *x = ct_graph_desc(padded.p[0].graph, ct_graph_find(padded.p[0].graph, "x"));
    ck_assert_msg(x->dim[3] == 8 && x->dtype == type, "%s: x has %d channels", model, (int)x->dim[3]);
    ck_assert_double_eq(conv_flops(plain.p[0].graph), conv_flops(padded.p[0].graph));
    int eval = run_add(&padded, CT_PROGRAM_EVAL, 3, false);
    ck_assert_int_eq(run_add(&plain, CT_PROGRAM_EVAL, 3, false), eval);
    double a = run_step(&plain, eval, 5), b = run_step(&padded, eval, 5);
    ck_assert_msg(fabs(a - b) <= tolerance * a, "%s in %s: evaluated, losses %.12g and %.12g", model,
                  ct_dtype_name(compute), a, b);
    a = run_step(&plain, 0, 0);
    b = run_step(&padded, 0, 0);
    double g = arena_difference(&plain, &padded, CT_ARENA_GRAD);
    ck_assert_msg(fabs(a - b) <= tolerance * a, "%s in %s: losses %.12g and %.12g", model, ct_dtype_name(compute), a,
                  b);
    ck_assert_msg(g <= tolerance, "%s in %s: gradients differ by %g", model, ct_dtype_name(compute), g);
    run_close(&plain);
    run_close(&padded);
}

START_TEST(padded_channels)
{
    compare_padded("textcnn", 1, CT_F64, CT_F64, 1e-12);
    compare_padded("textcnn", 3, CT_F32, CT_F32, 1e-4);
    compare_padded("resnet18", 3, CT_F64, CT_F64, 1e-11);
    compare_padded("tfnet-small", 3, CT_F64, CT_F64, 1e-11); /* gates, and a gradient of what they let through */
    compare_padded("textcnn", 1, CT_F32, CT_BF16, 0.03);
    compare_padded("textcnn", 3, CT_F32, CT_F16, 0.01);
}
END_TEST

/* From pixels: preprocessing writes the padding, its draws are those of the image without; three training steps agree.
 */
START_TEST(padded_pixels)
{
    double loss[2], conf[2];
    for (int k = 0; k < 2; k++) {
        ct_program_spec s;
        test_run r;
        small_spec(&s, "textcnn", 4);
        s.model.channels = 3;
        s.src_h = 13;
        s.src_w = 24;
        s.image = (ct_image_attrs){ .augment = 1, .seed = 4, .prob = 1, .rotate = 10, .noise = 0.1,
                                    .nmean = 3, .nstd = 3,
                                    .mean = { 0.5, 0, 0.25 }, .std = { 0.25, 1, 0.5 } };
        s.channel_multiple = k ? 8 : 0;
        run_open(&r, &s, false);
        ck_assert_int_eq(ct_graph_desc(r.p[0].graph, ct_graph_find(r.p[0].graph, "x"))->dim[3], k ? 8 : 3);
        uint8_t px[4 * 13 * 24 * 3];
        int32_t index[12], target[8] = { 0, 1, 2, 3, 4, 0, 1, 2 };
        for (size_t i = 0; i < sizeof px; i++) px[i] = (uint8_t)(i * 37 + i / 50);
        for (int i = 0; i < 4; i++) {
            index[3 * i] = 3 - i;
            index[3 * i + 1] = i;
            index[3 * i + 2] = 1;
        }
        for (int step = 0; step < 3; step++) {
            ok(ct_plan_upload(r.plan[0], ct_program_port(&r.p[0], "src"), px));
            ok(ct_plan_upload(r.plan[0], ct_program_port(&r.p[0], "index"), index));
            ok(ct_plan_upload(r.plan[0], ct_program_port(&r.p[0], "target"), target));
            ok(ct_plan_run(r.plan[0]));
        }
        float c[8];
        loss[k] = run_loss(&r, 0);
        ok(ct_plan_download(r.plan[0], ct_program_port(&r.p[0], "conf"), c));
        conf[k] = (double)c[3];
        run_close(&r);
    }
    ck_assert_msg(fabs(loss[0] - loss[1]) < 1e-3 * loss[0] && fabs(conf[0] - conf[1]) < 1e-2,
                  "losses %.9g and %.9g, %g and %g", loss[0], loss[1], conf[0], conf[1]);
}
END_TEST

TCase *pad_case(void)
{
    TCase *c = tcase_create("pad");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, padded_channels);
    tcase_add_test(c, padded_pixels);
    return c;
}
