/* The passes over a graph, by their structure: what they remove, insert and leave alone. Their numbers are tested in
 * check_graph_grad.c. */
#include "config.h"

#include <stdio.h>

#include "tests/ct_check.h"
#include "tests/graph/graph_run.h"

static const ct_init zero = { CT_INIT_ZERO, 0 };

START_TEST(test_dead)
{
    test_net t;
    ct_val w, v, outs[3];
    test_net_small(&t, &w);
    ct_graph *g = t.g;
    size_t nodes = g->nnodes;
    ct_attrs relu = { .act = { .kind = CT_ACT_RELU } }, flat = { .shape = { .ndim = 1, .d0 = 6 } };
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &relu, "dead1", 1, &t.logits, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "dead2", 1, &v, 1, 1, &v));
    ct_val deadv = v;
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "kept_view", 1, &t.logits, 1, 1, &v));
    ct_graph_keep(g, v);
    /* A norm that nobody reads still updates its statistics. */
    ct_val in[5] = { t.logits, ct_graph_find(g, "bn.weight"), ct_graph_find(g, "bn.bias"),
                     ct_graph_find(g, "bn.running_mean"), ct_graph_find(g, "bn.running_var") };
    ct_attrs b = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } };
    MUST(ct_graph_node(g, CT_OP_BATCHNORM, &b, "updates", 5, in, 3, 7, outs));
    b.norm.update_stats = 0;
    MUST(ct_graph_node(g, CT_OP_BATCHNORM, &b, "idle", 5, in, 3, 7, outs));
    MUST(ct_pass_dead(g));
    graph_check_valid(g);
    ck_assert_uint_eq(g->nnodes, nodes + 2);
    graph_find_node(g, "kept_view");
    graph_find_node(g, "updates");
    ck_assert_int_eq(g->values[deadv].producer, -1);
    int first[64], last[64];
    ck_assert_uint_lt(g->nvalues, 64);
    MUST(ct_liveness(g, first, last));
    ck_assert(first[deadv] == -1 && last[deadv] == -1);
    ct_graph_free(g);
}
END_TEST

START_TEST(test_cast)
{
    test_net t;
    ct_val w;
    test_net_small(&t, &w);
    ct_graph *g = t.g;
    MUST(ct_pass_fuse(g, NULL));
    size_t before = g->nnodes;
    MUST(ct_pass_cast(g, CT_F32));
    ck_assert_uint_eq(g->nnodes, before);
    MUST(ct_pass_cast(g, CT_BF16));
    graph_check_valid(g);
    /* x, the shared filter once, the linear layer's weight and bias; and the logits back. */
    ck_assert_int_eq(graph_count_op(g, CT_OP_CAST), 5);
    ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, "conv"))->dtype, CT_BF16);
    ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, "relu"))->dtype, CT_BF16);
    ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, "bn.1"))->dtype, CT_F32);
    ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, "fc"))->dtype, CT_BF16);
    ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, "fc.f32"))->dtype, CT_F32);
    ck_assert_int_eq(ct_graph_desc(g, t.loss)->dtype, CT_F32);
    ck_assert_int_eq(ct_graph_desc(g, w)->dtype, CT_F32);
    test_net_backward(&t);
    graph_check_valid(g);
    for (size_t v = 0; v < g->nvalues; v++)
        if (ct_graph_is_weight(g, (ct_val)v) && g->values[v].grad != CT_NOVAL)
            ck_assert_int_eq(g->values[g->values[v].grad].desc.dtype, CT_F32);
    ct_graph_free(g);

    test_net_small(&t, &w);
    REFUSES(ct_pass_cast(t.g, CT_U8), "no type to compute in");
    ct_graph_free(t.g);
    test_net_random(&t, 1, CT_F64, 3);
    REFUSES(ct_pass_cast(t.g, CT_F16), "needs a model of f32");
    ct_graph_free(t.g);
}
END_TEST

/* What is put beside 16-bit channels becomes 16 bits too, whatever its number of channels. */
START_TEST(test_cast_alike)
{
    test_net t;
    ct_val w, more, y;
    test_net_small(&t, &w);
    ct_graph *g = t.g;
    MUST(ct_graph_input(g, "more", ct_desc4(CT_F32, 2, 4, 4, 5), &more));
    const ct_val in[2] = { ct_graph_find(g, "relu"), more };
    MUST(ct_graph_node(g, CT_OP_CONCAT_CHANNELS, NULL, "both", 2, in, 1, 1, &y));
    ct_graph_keep(g, y);
    MUST(ct_pass_cast(g, CT_BF16));
    graph_check_valid(g);
    const ct_desc *d = ct_graph_desc(g, graph_find_node(g, "both")->out[0]);
    ck_assert_int_eq(d->dtype, CT_BF16);
    ck_assert_int_eq(d->dim[3], 5 + ct_graph_desc(g, in[0])->dim[3]);
    ck_assert_int_eq(graph_find_node(g, "more.bf16")->op, CT_OP_CAST);
    ct_graph_free(g);
}
END_TEST

/* Two convolutions read the images, one the norm's output with the same filter: only the first two are padded, their filter once. */
START_TEST(test_pad)
{
    test_net t;
    ct_val w, v;
    test_net_small(&t, &w);
    ct_graph *g = t.g;
    ct_attrs c = graph_find_node(g, "conv")->attrs;
    MUST(ct_graph_node(g, CT_OP_CONV2D, &c, "other", 2, (ct_val[]){ t.x, w }, 1, 1, &v));
    ct_graph_keep(g, v);
    MUST(ct_pass_cast(g, CT_BF16));
    size_t before = g->nnodes;
    MUST(ct_pass_pad(g, 0));
    MUST(ct_pass_pad(g, 1));
    MUST(ct_pass_pad(g, 3)); /* there are three */
    ck_assert_uint_eq(g->nnodes, before);
    MUST(ct_pass_pad(g, 8));
    graph_check_valid(g);
    ck_assert_uint_eq(g->nnodes, before + 1);
    ck_assert_int_eq(graph_count_op(g, CT_OP_FIT_CHANNELS), 1);
    const ct_node *first = graph_find_node(g, "conv"), *other = graph_find_node(g, "other"), *again = graph_find_node(g, "conv_again");
    ck_assert(first->attrs.conv.data_c == 3 && other->attrs.conv.data_c == 3 && again->attrs.conv.data_c == 0);
    ck_assert(first->in[1] == other->in[1] && first->in[1] != again->in[1]);
    ck_assert_int_eq(ct_graph_desc(g, first->in[1])->dim[3], 8);
    ck_assert_int_eq(ct_graph_desc(g, first->in[0])->dim[3], 8);
    ck_assert_int_eq(ct_graph_desc(g, t.x)->dim[3], 8); /* whoever uploads it brings the zeros along */
    ck_assert_int_eq(ct_graph_desc(g, w)->dim[3], 3);
    ck_assert_int_eq(ct_graph_desc(g, again->in[0])->dim[3], 3);
    test_net_backward(&t);
    graph_check_valid(g);
    REFUSES(ct_pass_pad(g, 8), "has gradients already");
    ck_assert_int_eq(graph_count_op(g, CT_OP_CONV2D_WGRAD), 2); /* nobody asks for the gradient of what "other" gives */
    ck_assert_int_eq(graph_count_op(g, CT_OP_FIT_CHANNELS), 2);
    ck_assert_int_eq(graph_count_op(g, CT_OP_CONV2D_DGRAD), 1);
    ck_assert(g->values[w].grad != CT_NOVAL && ct_desc_equal(ct_graph_desc(g, g->values[w].grad), ct_graph_desc(g, w)));
    ct_graph_free(g);
    test_net_small(&t, &w);
    REFUSES(ct_pass_pad(t.g, -1), "multiples of -1");
    ct_graph_free(t.g);
}
END_TEST

/* Where somebody else would see the padding, or it would help nobody, images stay as they are. */
START_TEST(test_pad_declines)
{
    for (int reason = 0; reason < 5; reason++) {
        test_net t;
        ct_val w, v;
        test_net_small(&t, &w);
        ct_graph *g = t.g;
        ct_node *conv = &g->nodes[g->values[ct_graph_find(g, "conv")].producer];
        ct_attrs relu = { .act = { .kind = CT_ACT_RELU } };
        switch (reason) {
        case 0: ct_graph_keep(g, t.x); break;
        case 1: MUST(ct_graph_node(g, CT_OP_ACTIVATION, &relu, "other", 1, &t.x, 1, 1, &v)); break;
        case 2: /* a group for each channel */
            MUST(ct_graph_param(g, "thin", ct_desc4(CT_F32, 3, 3, 3, 1), (ct_init){ CT_INIT_ZERO, 0 }, true, &v));
            conv = &g->nodes[g->values[ct_graph_find(g, "conv")].producer];
            conv->attrs.conv.groups = 3;
            conv->in[1] = v;
            break;
        case 3: /* images as filters */
            MUST(ct_graph_node(g, CT_OP_CONV2D, &conv->attrs, "other", 2, (ct_val[]){ t.x, t.x }, 1, 1, &v));
            break;
        default: /* a cast that the host reads */
            MUST(ct_pass_cast(g, CT_F16));
            ct_graph_keep(g, graph_find_node(g, "conv")->in[0]);
        }
        size_t nodes = g->nnodes;
        MUST(ct_pass_pad(g, 8));
        graph_check_valid(g);
        ck_assert_uint_eq(g->nnodes, nodes);
        ck_assert_int_eq(ct_graph_desc(g, t.x)->dim[3], 3);
        ck_assert_int_eq(graph_count_op(g, CT_OP_FIT_CHANNELS), 0);
        ct_graph_free(g);
    }
}
END_TEST

/* Preprocessing writes the zeros itself. */
START_TEST(test_pad_preprocess)
{
    ct_graph *g;
    ct_val in[2], x, w, y;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "src", ct_desc4(CT_U8, 2, 8, 8, 1), &in[0]));
    MUST(ct_graph_input(g, "index", ct_desc2(CT_I32, 2, 3), &in[1]));
    ct_attrs a = { .image = { .out_h = 8, .out_w = 8, .dtype = CT_F32, .nstd = 1, .std = { 1 } } };
    MUST(ct_graph_node(g, CT_OP_PREPROCESS, &a, "x", 2, in, 1, 1, &x));
    MUST(ct_graph_param(g, "w", ct_desc4(CT_F32, 5, 3, 3, 1), (ct_init){ CT_INIT_ZERO, 0 }, true, &w));
    ct_attrs c = { .conv = { .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    MUST(ct_graph_node(g, CT_OP_CONV2D, &c, "conv", 2, (ct_val[]){ x, w }, 1, 1, &y));
    ct_graph_keep(g, y);
    MUST(ct_pass_cast(g, CT_F16));
    MUST(ct_pass_pad(g, 4));
    graph_check_valid(g);
    ck_assert_int_eq(graph_find_node(g, "x")->attrs.image.channels, 4);
    ck_assert_int_eq(graph_find_node(g, "conv")->attrs.conv.data_c, 1);
    ct_desc want = ct_desc4(CT_F16, 2, 8, 8, 4);
    ck_assert(ct_desc_equal(ct_graph_desc(g, x), &want));
    ct_graph_free(g);
}
END_TEST

/* The mask is the last channel that holds data; that it is pooled as well keeps nobody from padding. */
START_TEST(test_pad_mask)
{
    ct_graph *g;
    ct_val in[3], x, w, y, pooled[2];
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "src", ct_desc4(CT_U8, 2, 8, 8, 3), &in[0]));
    MUST(ct_graph_input(g, "index", ct_desc2(CT_I32, 2, 3), &in[1]));
    MUST(ct_graph_input(g, "window", ct_desc2(CT_F32, 2, 4), &in[2]));
    ct_attrs a = { .image = { .out_h = 8, .out_w = 8, .dtype = CT_F32, .nstd = 3, .std = { 1, 1, 1 } } };
    MUST(ct_graph_node(g, CT_OP_PREPROCESS, &a, "x", 3, in, 1, 1, &x));
    ck_assert_int_eq(ct_graph_desc(g, x)->dim[3], 4);
    ct_attrs m = { .points = { .channel = 3, .factor = 4 } };
    MUST(ct_graph_node(g, CT_OP_MASK_POOL, &m, "mask", 1, &x, 2, 3, pooled));
    MUST(ct_graph_param(g, "w", ct_desc4(CT_F32, 5, 3, 3, 4), (ct_init){ CT_INIT_ZERO, 0 }, true, &w));
    ct_attrs c = { .conv = { .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    MUST(ct_graph_node(g, CT_OP_CONV2D, &c, "conv", 2, (ct_val[]){ x, w }, 1, 1, &y));
    for (int i = 0; i < 2; i++) ct_graph_keep(g, pooled[i]);
    ct_graph_keep(g, y);
    MUST(ct_pass_cast(g, CT_BF16));
    MUST(ct_pass_pad(g, 8));
    graph_check_valid(g);
    ck_assert_int_eq(graph_find_node(g, "x")->attrs.image.channels, 8);
    ck_assert_int_eq(graph_find_node(g, "conv")->attrs.conv.data_c, 4);
    ck_assert_int_eq(graph_find_node(g, "mask")->attrs.points.channel, 3);
    ck_assert_int_eq(ct_graph_desc(g, graph_find_node(g, "mask")->in[0])->dim[3], 8);
    ck_assert_int_eq(ct_graph_desc(g, in[2])->dtype, CT_F32);
    ck_assert_int_eq(ct_graph_desc(g, pooled[0])->dtype, CT_F32);
    ct_graph_free(g);
}
END_TEST

/* conv(x * sigmoid(gate(view of x))): views and products of padded images are padded images, the gate itself is not. With
 * `flat` the view mixes channels and pixels, and nothing is padded. */
static ct_graph *gated(bool flat)
{
    ct_graph *g;
    ct_val x, w[2], v;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "x", ct_desc4(CT_F32, 6, 4, 4, 3), &x));
    MUST(ct_graph_param(g, "gate.w", ct_desc4(CT_F32, flat ? 6 : 3, 3, 1, flat ? 6 : 3), (ct_init){ CT_INIT_ZERO, 0 }, true, &w[0]));
    MUST(ct_graph_param(g, "w", ct_desc4(CT_F32, 5, 3, 3, 3), (ct_init){ CT_INIT_ZERO, 0 }, true, &w[1]));
    ct_attrs c = { .conv = { .stride_h = 1, .stride_w = 1, .pad_h = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    ct_attrs view = { .shape = { .ndim = 4, .d0 = 2, .d1 = 3, .d2 = flat ? 8 : 16, .d3 = flat ? 6 : 3 } };
    ct_attrs back = { .shape = { .ndim = 4, .d0 = 6, .d1 = 4, .d2 = 4, .d3 = 3 } }, sigmoid = { .act = { .kind = CT_ACT_SIGMOID } };
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &view, "clip", 1, &x, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_CONV2D, &c, "gate", 2, (ct_val[]){ v, w[0] }, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &sigmoid, "open", 1, &v, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &back, "pictures", 1, &v, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_MUL, NULL, "gated", 2, (ct_val[]){ x, v }, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_CONV2D, &c, "conv", 2, (ct_val[]){ v, w[1] }, 1, 1, &v));
    ct_graph_keep(g, v);
    return g;
}

START_TEST(test_pad_gated)
{
    ct_graph *g = gated(false);
    const size_t before = g->nnodes;
    MUST(ct_pass_pad(g, 8));
    graph_check_valid(g);
    ck_assert_uint_eq(g->nnodes, before + 3); /* both filters and what the images are multiplied with */
    static const char *const padded[] = { "x", "clip", "gated" }, *const plain[] = { "gate", "open", "pictures" };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, padded[i]))->dim[3], 8);
        ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, plain[i]))->dim[3], 3);
    }
    ck_assert_int_eq(graph_find_node(g, "clip")->attrs.shape.d3, 8);
    ck_assert_int_eq(graph_find_node(g, "gate")->attrs.conv.data_c, 3);
    ck_assert_int_eq(graph_find_node(g, "conv")->attrs.conv.data_c, 3);
    ck_assert_int_eq(graph_find_node(g, "gated")->in[0], ct_graph_find(g, "x"));
    ck_assert_int_eq(graph_find_node(g, "gated")->in[1], ct_graph_find(g, "pictures.padded"));
    ct_graph_free(g);

    g = gated(true);
    MUST(ct_pass_pad(g, 8));
    graph_check_valid(g);
    ck_assert_uint_eq(g->nnodes, before);
    ck_assert_int_eq(ct_graph_desc(g, ct_graph_find(g, "x"))->dim[3], 3);
    ct_graph_free(g);

    g = gated(false); /* the host reads the product */
    ct_graph_keep(g, ct_graph_find(g, "gated"));
    MUST(ct_pass_pad(g, 8));
    ck_assert_uint_eq(g->nnodes, before);
    ct_graph_free(g);
}
END_TEST

START_TEST(test_recompute_structure)
{
    test_net t;
    int n = -1;
    test_net_deep(&t, CT_F32, 4, 2, 6, 4);
    MUST(ct_pass_fuse(t.g, NULL));
    test_net_backward(&t);
    size_t before = t.g->nnodes;
    MUST(ct_pass_recompute(t.g, 0, &n));
    graph_check_valid(t.g);
    ck_assert_int_gt(n, 0);
    ck_assert_uint_eq(t.g->nnodes, before + (size_t)n);
    int clones = 0, last_block = 0;
    for (size_t i = 0; i < t.g->nnodes; i++) {
        const ct_node *c = &t.g->nodes[i];
        if (c->clone_of < 0) continue;
        clones++;
        const ct_node *f = &t.g->nodes[c->clone_of];
        ck_assert_int_eq(c->op, f->op);
        ck_assert_int_eq(c->phase, CT_PHASE_BACKWARD);
        if (c->op == CT_OP_BATCHNORM) ck_assert_int_eq(c->attrs.norm.update_stats, 0);
        /* The last block ends where the backward pass begins; its parts are l27 and later (4 blocks of at least 6
         * layers, one more). */
        if (c->clone_of > (int)t.g->values[t.g->checkpoints[3]].producer) last_block++;
        /* Blocks' ends stay: they are never computed again. */
        for (size_t k = 0; k < t.g->ncheckpoints; k++) ck_assert_int_ne(f->out[0], t.g->checkpoints[k]);
    }
    ck_assert_int_eq(clones, n);
    ck_assert_int_eq(last_block, 0);
    /* Convolution, norm and relu in one, and convolution: three per block, and the stem's convolution; block 2 has a
     * dropout of two nodes. The stem and three blocks are computed again. */
    ck_assert_int_eq(n, 1 + 3 * 3 + 2);
    ct_graph_free(t.g);

    /* One segment: nothing to gain. No checkpoints: nothing to do. */
    test_net_deep(&t, CT_F32, 4, 2, 6, 4);
    test_net_backward(&t);
    MUST(ct_pass_recompute(t.g, 1, &n));
    ck_assert_int_eq(n, 0);
    REFUSES(ct_pass_recompute(t.g, -1, &n), "-1 segments");
    t.g->ncheckpoints = 0;
    MUST(ct_pass_recompute(t.g, 0, &n));
    ck_assert_int_eq(n, 0);
    graph_check_valid(t.g);
    ct_graph_free(t.g);
}
END_TEST

/* A weight read only through a view: the view is nobody's, and goes. A gradient in its arena stays. */
START_TEST(test_dead_views)
{
    test_net t;
    ct_val w, view, d;
    test_net_small(&t, &w);
    ct_attrs flat = { .shape = { .ndim = 1, .d0 = 81 } };
    size_t nodes = t.g->nnodes;
    MUST(ct_graph_node(t.g, CT_OP_RESHAPE, &flat, "view", 1, &w, 1, 1, &view));
    MUST(ct_pass_dead(t.g));
    ck_assert_uint_eq(t.g->nnodes, nodes);
    test_net_backward(&t);
    nodes = t.g->nnodes;
    MUST(ct_pass_dead(t.g));
    ck_assert_uint_eq(t.g->nnodes, nodes);
    d = t.g->values[w].grad;
    ck_assert(d != CT_NOVAL && t.g->values[d].producer >= 0);
    graph_check_valid(t.g);
    ct_graph_free(t.g);
}
END_TEST

/* Pixels are preprocessed into the compute type without a cast. */
START_TEST(test_cast_preprocess)
{
    ct_graph *g;
    ct_val in[2], x, w, y;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "src", ct_desc4(CT_U8, 2, 8, 8, 1), &in[0]));
    MUST(ct_graph_input(g, "index", ct_desc2(CT_I32, 2, 3), &in[1]));
    ct_attrs p = { .image = { .out_h = 8, .out_w = 8, .dtype = CT_F32, .nstd = 1, .std = { 1 } } };
    MUST(ct_graph_node(g, CT_OP_PREPROCESS, &p, "pixels", 2, in, 1, 1, &x));
    MUST(ct_graph_param(g, "w", ct_desc4(CT_F32, 4, 3, 3, 1), zero, true, &w));
    ct_attrs c = { .conv = { .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    MUST(ct_graph_node(g, CT_OP_CONV2D, &c, "conv", 2, (ct_val[]){ x, w }, 1, 1, &y));
    MUST(ct_pass_cast(g, CT_F16));
    graph_check_valid(g);
    ck_assert_int_eq(graph_count_op(g, CT_OP_CAST), 1);
    ck_assert_int_eq(ct_graph_desc(g, x)->dtype, CT_F16);
    ct_graph_free(g);
}
END_TEST

static ct_val chain(ct_graph *g, ct_op op, const ct_attrs *a, const char *name, ct_val x, ct_val other)
{
    ct_val y[2];
    MUST(ct_graph_node(g, op, a, name, other == CT_NOVAL ? 1 : 2, (ct_val[]){ x, other }, op == CT_OP_MAXPOOL2D ? 2 : 1,
                       op == CT_OP_MAXPOOL2D ? 3 : 1, y));
    return y[0];
}

/* What is not computed again although backward nodes read it: what later segments read too, the index of a pool that
 * ends a segment, and a norm's statistics when its output is not read. */
START_TEST(test_recompute_spares)
{
    test_net t = { .classes = 4 };
    ct_graph *g;
    ct_val x, w, v, skip, in[5], outs[3];
    int n = -1;
    MUST(ct_graph_create(&t.g));
    g = t.g;
    ct_attrs c = { .conv = { .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    ct_attrs silu = { .act = { .kind = CT_ACT_SILU } },
             norm = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } };
    ct_attrs pool = { .pool = { .ker_h = 3, .ker_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1 } };
    MUST(ct_graph_input(g, "x", ct_desc4(CT_F32, 2, 8, 8, 4), &x));
    MUST(ct_graph_param(g, "w", ct_desc4(CT_F32, 4, 1, 1, 4), zero, true, &w));
    static const char *const names[] = { "", "gamma", "beta", "mean", "var" };
    for (int i = 1; i < 3; i++) MUST(ct_graph_param(g, names[i], ct_desc1(CT_F32, 4), zero, true, &in[i]));
    for (int i = 3; i < 5; i++) MUST(ct_graph_buffer(g, names[i], ct_desc1(CT_F32, 4), zero, &in[i]));
    skip = chain(g, CT_OP_CONV2D, &c, "skip", x, w);
    v = chain(g, CT_OP_ACTIVATION, &silu, "first", skip, CT_NOVAL);   /* reads skip again in the backward pass */
    v = chain(g, CT_OP_MAXPOOL2D, &pool, "pool", v, CT_NOVAL);
    MUST(ct_graph_mark_checkpoint(g, v));
    in[0] = chain(g, CT_OP_CONV2D, &c, "normed", v, w);
    MUST(ct_graph_node(g, CT_OP_BATCHNORM, &norm, "norm", 5, in, 3, 7, outs));
    v = chain(g, CT_OP_ADD, NULL, "add", outs[0], skip);
    MUST(ct_graph_mark_checkpoint(g, v));
    for (int i = 0; i < 6; i++) v = chain(g, CT_OP_ACTIVATION, &silu, "tail", v, CT_NOVAL);
    v = chain(g, CT_OP_GLOBAL_AVGPOOL, NULL, "mean_pool", v, CT_NOVAL);
    MUST(ct_graph_input(g, "target", ct_desc2(CT_I32, 2, 1), &t.target));
    ct_attrs l = { .loss = { .positions = 1, .classes = 4 } };
    MUST(ct_graph_node(g, CT_OP_SOFTMAX_XENT, &l, "loss", 2, (ct_val[]){ v, t.target }, 2, 3, outs));
    t.loss = outs[0];
    test_net_backward(&t);
    MUST(ct_pass_recompute(g, 0, &n));
    graph_check_valid(g);
    /* Only the input of the norm: skip is read behind the first checkpoint, the pool's index comes with its kept
     * output, the norm's mean and deviation are small, and nothing reads what the norm gives. */
    ck_assert_int_eq(n, 1);
    ck_assert_str_eq(graph_find_node(g, "normed.again")->name, "normed.again");
    ct_graph_free(g);
}
END_TEST

/* Two residual blocks with a shortcut's norm in the first: conv, norm, relu, conv, norm + shortcut, relu. Applied again
 * are the inner norms, the first block's end with its shortcut, and not the second block's, which needs the first's. Where
 * there is memory the first ones are kept, and what is kept is there for a summand. */
static const struct { int64_t keep; const char *again; } reapplied[] = {
    { 0, "b0.n1 b0.short b0.n2 b1.n1" }, { 511, "b0.n1 b0.short b0.n2 b1.n1" }, { 512, "b0.short b0.n2 b1.n1" },
    { 1024, "b1.n1 b1.n2" }, { 1536, "b1.n2" }, { INT64_MAX, "" },
};
START_TEST(test_reapply_structure)
{
    const int64_t keep = reapplied[_i].keep;
    const char *const again = reapplied[_i].again;
    test_net t = { .classes = 4 };
    ct_graph *g;
    ct_val x, v, w, in[5], outs[3];
    int n = -1;
    MUST(ct_graph_create(&t.g));
    g = t.g;
    REFUSES(ct_pass_reapply(g, 0, &n), "no gradients yet");
    ct_attrs c = { .conv = { .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    ct_attrs relu = { .act = { .kind = CT_ACT_RELU } },
             norm = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } };
    MUST(ct_graph_input(g, "x", ct_desc4(CT_F32, 2, 4, 4, 4), &x));
    MUST(ct_graph_param(g, "w", ct_desc4(CT_F32, 4, 1, 1, 4), zero, true, &w));
    static const char *const names[] = { "", "gamma", "beta", "mean", "var" };
    for (int i = 1; i < 3; i++) MUST(ct_graph_param(g, names[i], ct_desc1(CT_F32, 4), zero, true, &in[i]));
    v = chain(g, CT_OP_CONV2D, &c, "stem", x, w);
    for (int b = 0; b < 2; b++) {
        const char *const parts[3] = { b ? "b1.n1" : "b0.n1", b ? "b1.n2" : "b0.n2", "b0.short" };
        ct_val shortcut = v, y[3];
        for (int k = 0; k < (b ? 2 : 3); k++) {
            char name[32];
            in[0] = chain(g, CT_OP_CONV2D, &c, "conv", k == 1 ? v : shortcut, w);
            for (int i = 3; i < 5; i++) {
                snprintf(name, sizeof name, "%s.%s", parts[k], names[i]);
                MUST(ct_graph_buffer(g, name, ct_desc1(CT_F32, 4), zero, &in[i]));
            }
            MUST(ct_graph_node(g, CT_OP_BATCHNORM, &norm, parts[k], 5, in, 3, 7, outs));
            y[k] = outs[0];
            if (k == 0) v = chain(g, CT_OP_ACTIVATION, &relu, "relu", y[0], CT_NOVAL);
        }
        v = chain(g, CT_OP_ADD, NULL, "sum", y[1], b ? shortcut : y[2]);
        v = chain(g, CT_OP_ACTIVATION, &relu, "end", v, CT_NOVAL);
    }
    v = chain(g, CT_OP_CONV2D, &c, "head", v, w);
    v = chain(g, CT_OP_GLOBAL_AVGPOOL, NULL, "mean_pool", v, CT_NOVAL);
    MUST(ct_graph_input(g, "target", ct_desc2(CT_I32, 2, 1), &t.target));
    ct_attrs l = { .loss = { .positions = 1, .classes = 4 } };
    MUST(ct_graph_node(g, CT_OP_SOFTMAX_XENT, &l, "loss", 2, (ct_val[]){ v, t.target }, 2, 3, outs));
    t.loss = outs[0];
    MUST(ct_pass_fuse(g, NULL));
    test_net_backward(&t);
    const size_t before = g->nnodes;
    MUST(ct_pass_reapply(g, keep, &n));
    graph_check_valid(g);
    ck_assert_uint_eq(g->nnodes, before + (size_t)n);
    int found = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *m = &g->nodes[i];
        if (m->clone_of < 0) continue;
        ck_assert_int_eq(m->op, CT_OP_BATCHNORM_INFER);
        ck_assert_int_eq(m->phase, CT_PHASE_BACKWARD);
        ck_assert_int_eq(m->attrs.norm.given_invstd, 1);
        ck_assert_int_eq(m->attrs.norm.act, g->nodes[m->clone_of].attrs.norm.act);
        ck_assert_int_eq(m->in[0], g->nodes[m->clone_of].in[0]);
        found++;
    }
    ck_assert_int_eq(found, n);
    for (const char *name = again; *name; name += strcspn(name, " "), name += *name == ' ', n--) {
        char node[32];
        snprintf(node, sizeof node, "%.*s.again", (int)strcspn(name, " "), name);
        graph_find_node(g, node);
    }
    ck_assert_int_eq(n, 0);
    ct_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("passes");
    TCase *t = tcase_create("structure");
    tcase_add_test(t, test_dead);
    tcase_add_test(t, test_dead_views);
    tcase_add_test(t, test_cast);
    tcase_add_test(t, test_cast_alike);
    tcase_add_test(t, test_cast_preprocess);
    tcase_add_test(t, test_pad);
    tcase_add_test(t, test_pad_declines);
    tcase_add_test(t, test_pad_preprocess);
    tcase_add_test(t, test_pad_mask);
    tcase_add_test(t, test_pad_gated);
    tcase_add_test(t, test_recompute_structure);
    tcase_add_test(t, test_recompute_spares);
    tcase_add_loop_test(t, test_reapply_structure, 0, (int)(sizeof reapplied / sizeof reapplied[0]));
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
