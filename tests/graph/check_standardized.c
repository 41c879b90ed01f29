/* Graphs whose pictures are standardized: what each pass makes of them, run with the reference implementations. */
#include "config.h"

#include <math.h>

#include "base/alloc.h"
#include "models/models.h"
#include "tests/ct_check.h"
#include "tests/graph/graph_compare.h"

enum { SAMPLES = 3, SIDE = 8, CLASSES = 4 };

/* Pictures of bytes -> preprocess -> standardize -> conv -> relu -> conv -> mean -> loss; the first a checkpoint. */
static void net_of_pixels(test_net *t, int64_t channels)
{
    ct_val in[2], v, target, outs[2];
    *t = (test_net){ .classes = CLASSES };
    MUST(ct_graph_create(&t->g));
    MUST(ct_graph_input(t->g, "src", ct_desc4(CT_U8, SAMPLES, SIDE, SIDE, channels), &in[0]));
    MUST(ct_graph_input(t->g, "index", ct_desc2(CT_I32, SAMPLES, 3), &in[1]));
    const ct_attrs p = { .image = { .out_h = SIDE, .out_w = SIDE, .dtype = CT_F32, .nstd = channels, .std = { 1, 1, 1 } } };
    MUST(ct_graph_node(t->g, CT_OP_PREPROCESS, &p, "pixels", 2, in, 1, 1, &t->x));
    MUST(ct_layer_standardize(t->g, "even", t->x, &v));
    MUST(ct_layer_conv2d(t->g, "first", v, 6, 3, 3, 1, 1, 1, true, false, &v));
    MUST(ct_layer_activation(t->g, "relu", v, CT_ACT_RELU, &v));
    MUST(ct_graph_mark_checkpoint(t->g, v));
    MUST(ct_layer_conv2d(t->g, "second", v, CLASSES, 3, 3, 1, 1, 1, true, false, &v));
    MUST(ct_layer_global_avgpool(t->g, "mean", v, &t->logits));
    MUST(ct_graph_input(t->g, "target", ct_desc2(CT_I32, SAMPLES, 1), &target));
    const ct_attrs l = { .loss = { .positions = 1, .classes = CLASSES } };
    MUST(ct_graph_node(t->g, CT_OP_SOFTMAX_XENT, &l, "loss", 2, (ct_val[]){ t->logits, target }, 2, 3, outs));
    t->loss = outs[0];
    ct_graph_keep(t->g, t->loss);
}

/* A layer in the middle, with weights below and above it and a residual around it; two checkpoints before the tail. */
static void net_between(test_net *t, ct_dtype dtype)
{
    ct_val v, skip, target, outs[2];
    *t = (test_net){ .classes = CLASSES };
    MUST(ct_graph_create(&t->g));
    MUST(ct_graph_input(t->g, "x", ct_desc4(dtype, SAMPLES, SIDE, SIDE, 2), &t->x));
    MUST(ct_layer_conv2d(t->g, "first", t->x, 6, 3, 3, 1, 1, 1, true, false, &skip));
    MUST(ct_layer_standardize(t->g, "even", skip, &v));
    MUST(ct_layer_activation(t->g, "silu", v, CT_ACT_SILU, &v));
    MUST(ct_layer_conv2d(t->g, "second", v, 6, 3, 3, 1, 1, 1, true, false, &v));
    MUST(ct_graph_node(t->g, CT_OP_ADD, NULL, "add", 2, (ct_val[]){ v, skip }, 1, 1, &v));
    MUST(ct_graph_mark_checkpoint(t->g, v));
    for (int i = 0; i < 3; i++) MUST(ct_layer_activation(t->g, (const char *[]){ "a", "b", "c" }[i], v, CT_ACT_SILU, &v));
    MUST(ct_layer_conv2d(t->g, "third", v, CLASSES, 3, 3, 1, 1, 1, true, false, &v));
    MUST(ct_graph_mark_checkpoint(t->g, v));
    for (int i = 0; i < 4; i++) MUST(ct_layer_activation(t->g, (const char *[]){ "d", "e", "f", "h" }[i], v, CT_ACT_SILU, &v));
    MUST(ct_layer_global_avgpool(t->g, "mean", v, &t->logits));
    MUST(ct_graph_input(t->g, "target", ct_desc2(CT_I32, SAMPLES, 1), &target));
    const ct_attrs l = { .loss = { .positions = 1, .classes = CLASSES } };
    MUST(ct_graph_node(t->g, CT_OP_SOFTMAX_XENT, &l, "loss", 2, (ct_val[]){ t->logits, target }, 2, 3, outs));
    t->loss = outs[0];
    ct_graph_keep(t->g, t->loss);
}

START_TEST(test_finite_differences)
{
    test_net net;
    graph_run r;
    ct_layout layout;
    net_between(&net, CT_F64);
    test_net_backward(&net);
    graph_check_valid(net.g);
    ck_assert_int_eq(graph_count_op(net.g, CT_OP_STANDARDIZE_BWD), 1);
    MUST(ct_layout_make(net.g, &layout));
    graph_run_open(&r, net.g, false);
    graph_run_fill(&r, 5, CLASSES);
    graph_run_nodes(&r, 0, net.g->nnodes);
    const double loss = graph_run_get(&r, net.loss, 0);
    int checked = 0;
    for (size_t v = 0; v < net.g->nvalues; v++) {
        if (!ct_graph_is_weight(net.g, (ct_val)v) || net.g->values[v].grad == CT_NOVAL) continue;
        graph_check_gradient(&r, net.loss, loss, (ct_val)v, 5);
        checked++;
    }
    ck_assert_int_eq(checked, 6);
    graph_run_close(&r);
    ct_graph_free(net.g);
}
END_TEST

/* In planned memory, with y on x where x is read no more, and computed again: the same bits. */
START_TEST(test_variants_agree)
{
    static const unsigned variants[] = { GRAPH_SHARED, GRAPH_RECOMPUTED, GRAPH_SHARED | GRAPH_RECOMPUTED, GRAPH_SHARED | GRAPH_FUSED };
    static const ct_dtype types[] = { CT_F32, CT_F64 };
    for (int t = 0; t < 2; t++) {
        graph_step plain, other;
        test_net net;
        net_between(&net, types[t]);
        graph_step_run(&net, GRAPH_PLAIN, 9, &plain);
        ck_assert(isfinite(plain.loss));
        for (int i = 0; i < 4; i++) {
            net_between(&net, types[t]);
            graph_step_run(&net, variants[i], 9, &other);
            ck_assert_int_eq(other.recomputed > 0, (variants[i] & GRAPH_RECOMPUTED) != 0);
            graph_steps_equal(&plain, &other, "standardized", 9);
            graph_step_free(&other);
        }
        graph_step_free(&plain);
    }
}
END_TEST

/* The layer is among what is computed again, with its invstd. */
START_TEST(test_recomputed)
{
    test_net net;
    int n = 0;
    net_between(&net, CT_F32);
    test_net_backward(&net);
    MUST(ct_pass_recompute(net.g, 0, &n));
    graph_check_valid(net.g);
    ck_assert_int_gt(n, 0);
    const ct_node *again = graph_find_node(net.g, "even.again");
    ck_assert_int_eq(again->op, CT_OP_STANDARDIZE);
    ck_assert(again->attrs.norm.eps > 0 && again->nout == 2);
    ct_graph_free(net.g);
}
END_TEST

/* Pixels stay f32 until they are standardized, and what is read is 16 bits; other pixels are 16 bits from the start. */
START_TEST(test_cast)
{
    static const ct_dtype types[] = { CT_BF16, CT_F16 };
    for (int t = 0; t < 2; t++) {
        test_net net;
        net_of_pixels(&net, 1);
        ct_graph *g = net.g;
        MUST(ct_pass_cast(g, types[t]));
        graph_check_valid(g);
        const ct_node *even = graph_find_node(g, "even"), *first = graph_find_node(g, "first");
        ck_assert_int_eq(ct_graph_desc(g, net.x)->dtype, CT_F32);
        ck_assert_int_eq(even->in[0], net.x);
        ck_assert_int_eq(ct_graph_desc(g, even->out[0])->dtype, CT_F32);
        ck_assert_int_eq(ct_graph_desc(g, even->out[1])->dtype, CT_F32);
        const ct_node *cast = &g->nodes[g->values[first->in[0]].producer];
        ck_assert(cast->op == CT_OP_CAST && cast->in[0] == even->out[0]);
        ck_assert_int_eq(ct_graph_desc(g, first->out[0])->dtype, types[t]);
        test_net_backward(&net);
        graph_check_valid(g);
        ck_assert_int_eq(graph_count_op(g, CT_OP_STANDARDIZE_BWD), 0); /* nobody asks for the gradient of pixels */
        ct_graph_free(g);
    }
    test_net net;
    net_between(&net, CT_F32); /* in the middle it flows in 16 bits */
    MUST(ct_pass_cast(net.g, CT_BF16));
    graph_check_valid(net.g);
    const ct_node *even = graph_find_node(net.g, "even");
    ck_assert_int_eq(ct_graph_desc(net.g, even->out[0])->dtype, CT_BF16);
    ck_assert_int_eq(ct_graph_desc(net.g, even->out[1])->dtype, CT_F32);
    test_net_backward(&net);
    graph_check_valid(net.g);
    ck_assert_int_eq(graph_count_op(net.g, CT_OP_STANDARDIZE_BWD), 1);
    ct_graph_free(net.g);
}
END_TEST

/* Runs a step over faint pictures: grey values from `low` on, `range` of them. */
static void run_faint(test_net *net, graph_run *r, int low, int range, double *loss, double *grad, size_t n)
{
    ct_layout layout;
    test_net_backward(net);
    graph_check_valid(net->g);
    MUST(ct_layout_make(net->g, &layout));
    graph_run_open(r, net->g, true);
    graph_run_fill(r, 3, CLASSES);
    const ct_val src = ct_graph_find(net->g, "src"), index = ct_graph_find(net->g, "index");
    for (int64_t i = 0; i < ct_desc_numel(ct_graph_desc(net->g, src)); i++) graph_run_set(r, src, i, low + (int)(i * 37 % range));
    for (int64_t i = 0; i < SAMPLES; i++)
        for (int k = 0; k < 3; k++) graph_run_set(r, index, 3 * i + k, k == 2 ? 0 : (double)(SAMPLES - 1 - i)); /* in another order */
    graph_run_nodes(r, 0, net->g->nnodes);
    *loss = graph_run_get(r, net->loss, 0);
    ck_assert_uint_eq(r->bytes[CT_ARENA_GRAD] / sizeof(float), n);
    for (size_t i = 0; i < n; i++) grad[i] = ct_load(CT_F32, r->base[CT_ARENA_GRAD], (int64_t)i);
}

static size_t count_weights(void)
{
    ct_layout layout;
    size_t n;
    test_net copy;
    net_of_pixels(&copy, 1);
    test_net_backward(&copy);
    MUST(ct_layout_make(copy.g, &layout));
    graph_run r;
    graph_run_open(&r, copy.g, true);
    n = r.bytes[CT_ARENA_GRAD] / sizeof(float);
    graph_run_close(&r);
    ct_graph_free(copy.g);
    return n;
}

/* Five grey values about 200 are in bf16 what they are in f32, up to the rounding of layers. */
START_TEST(test_faint_in_16_bits)
{
    const size_t n = count_weights();
    double loss[2], *grad[2] = { ct_calloc(n, sizeof(double), "test"), ct_calloc(n, sizeof(double), "test") };
    for (int k = 0; k < 2; k++) {
        test_net net;
        graph_run r;
        net_of_pixels(&net, 1);
        MUST(ct_pass_cast(net.g, k ? CT_BF16 : CT_F32));
        run_faint(&net, &r, 200, 5, &loss[k], grad[k], n);
        const ct_node *even = graph_find_node(net.g, "even");
        if (k) ck_assert_int_eq(ct_graph_desc(net.g, even->in[0])->dtype, CT_F32);
        graph_run_close(&r);
        ct_graph_free(net.g);
    }
    double error = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        error += (grad[0][i] - grad[1][i]) * (grad[0][i] - grad[1][i]);
        size += grad[0][i] * grad[0][i];
    }
    ck_assert_double_le(fabs(loss[0] - loss[1]), 0.01 * loss[0]);
    ck_assert_msg(sqrt(error) <= 0.02 * sqrt(size), "gradients are %g off", sqrt(error / size));
    ct_free(grad[0]);
    ct_free(grad[1]);
}
END_TEST

/* Channels of padding never get into the statistics: they stand behind them, and change no number. */
START_TEST(test_pad)
{
    const size_t n = count_weights();
    double loss[2], *grad[2] = { ct_calloc(n, sizeof(double), "test"), ct_calloc(n, sizeof(double), "test") };
    for (int k = 0; k < 2; k++) {
        test_net net;
        graph_run r;
        net_of_pixels(&net, 1);
        MUST(ct_pass_cast(net.g, CT_BF16));
        MUST(ct_pass_pad(net.g, k ? 8 : 1));
        const ct_node *even = graph_find_node(net.g, "even"), *first = graph_find_node(net.g, "first");
        ck_assert_int_eq(ct_graph_desc(net.g, net.x)->dim[3], 1);
        ck_assert_int_eq(ct_graph_desc(net.g, even->out[0])->dim[3], 1);
        ck_assert_int_eq(ct_graph_desc(net.g, first->in[0])->dim[3], k ? 8 : 1);
        ck_assert_int_eq(ct_graph_desc(net.g, first->in[1])->dim[3], k ? 8 : 1);
        ck_assert_int_eq(first->attrs.conv.data_c, k ? 1 : 0);
        ck_assert_int_eq(graph_count_op(net.g, CT_OP_FIT_CHANNELS), k ? 2 : 0); /* of pictures and filters */
        ck_assert_int_eq(graph_find_node(net.g, "pixels")->attrs.image.channels, 0);
        run_faint(&net, &r, 10, 200, &loss[k], grad[k], n);
        graph_run_close(&r);
        ct_graph_free(net.g);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-6);
    for (size_t i = 0; i < n; i++) ck_assert_double_eq_tol(grad[0][i], grad[1][i], 1e-6);
    ct_free(grad[0]);
    ct_free(grad[1]);
}
END_TEST

/* Without 16 bits there is no cast to pad behind; and where something else than a convolution reads, nothing is padded. */
START_TEST(test_pad_elsewhere)
{
    for (int k = 0; k < 2; k++) {
        test_net net;
        ct_val v;
        net_of_pixels(&net, 3);
        const ct_val even = graph_find_node(net.g, "even")->out[0];
        if (k) MUST(ct_layer_activation(net.g, "other", even, CT_ACT_RELU, &v));
        if (k) ct_graph_keep(net.g, v);
        MUST(ct_pass_pad(net.g, 4));
        graph_check_valid(net.g);
        ck_assert_int_eq(ct_graph_desc(net.g, even)->dim[3], 3);
        ck_assert_int_eq(ct_graph_desc(net.g, graph_find_node(net.g, "first")->in[0])->dim[3], k ? 3 : 4);
        ck_assert_int_eq(graph_count_op(net.g, CT_OP_FIT_CHANNELS), k ? 0 : 2);
        test_net_backward(&net);
        graph_check_valid(net.g);
        ct_graph_free(net.g);
    }
}
END_TEST

START_TEST(test_no_gradient_of_invstd)
{
    ct_graph *g;
    ct_val x, w, outs[2], y, seed;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_param(g, "w", ct_desc2(CT_F32, 4, 6), (ct_init){ CT_INIT_ZERO, 0 }, true, &w));
    const ct_attrs a = { .norm = { .eps = 1e-5 } }, two = { .weights = { .n = 1, .w = { 1 } } };
    MUST(ct_graph_node(g, CT_OP_STANDARDIZE, &a, "even", 1, &w, 2, 3, outs));
    const ct_attrs flat = { .shape = { .ndim = 1, .d0 = 4 } }, one = { .channels = { .first = 0, .channels = 1 } };
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "flat", 1, &outs[1], 1, 1, &x));
    MUST(ct_graph_node(g, CT_OP_SLICE_CHANNELS, &one, "one", 1, &x, 1, 1, &x));
    MUST(ct_graph_node(g, CT_OP_WEIGHTED_SUM, &two, "loss", 1, &x, 1, 1, &y));
    g->phase = CT_PHASE_BACKWARD;
    MUST(ct_graph_state(g, &x));
    const ct_attrs s = { .loss = { .alpha = 1, .dtype = CT_F32 } };
    MUST(ct_graph_node(g, CT_OP_LOSS_SEED, &s, "seed", 1, &x, 1, 1, &seed));
    REFUSES(ct_autodiff(g, y, seed), "invstd");
    ct_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("standardized");
    TCase *t = tcase_create("passes");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_finite_differences);
    tcase_add_test(t, test_variants_agree);
    tcase_add_test(t, test_recomputed);
    tcase_add_test(t, test_cast);
    tcase_add_test(t, test_faint_in_16_bits);
    tcase_add_test(t, test_pad);
    tcase_add_test(t, test_pad_elsewhere);
    tcase_add_test(t, test_no_gradient_of_invstd);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
