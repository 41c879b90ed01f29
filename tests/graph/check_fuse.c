/* The passes that merge batch norms with what stands around them, by their structure. Their numbers are tested in check_graph_grad.c. */
#include "config.h"

#include "tests/ct_check.h"
#include "tests/graph/graph_run.h"

static const ct_init zero = { CT_INIT_ZERO, 0 };

START_TEST(test_fuse)
{
    test_net t;
    ct_val w;
    int removed = -1;
    test_net_small(&t, &w);
    MUST(ct_pass_fuse(t.g, &removed));
    graph_check_valid(t.g);
    ck_assert_int_eq(removed, 1);
    const ct_node *n = graph_find_node(t.g, "bn");
    ck_assert_int_eq(n->attrs.norm.act, 1);
    ck_assert_int_eq(n->out[0], ct_graph_find(t.g, "relu"));
    ck_assert_int_eq(graph_count_op(t.g, CT_OP_ACTIVATION), 0);
    test_net_backward(&t);
    graph_check_valid(t.g);
    ck_assert_int_eq(graph_find_node(t.g, "bn.bwd")->nin, 6);
    ct_graph_free(t.g);

    /* SiLU instead: no mask, but what it takes to compute its argument again. */
    test_net_small(&t, &w);
    t.g->nodes[t.g->values[ct_graph_find(t.g, "relu")].producer].attrs.act.kind = CT_ACT_SILU;
    MUST(ct_pass_fuse(t.g, &removed));
    graph_check_valid(t.g);
    ck_assert_int_eq(removed, 1);
    n = graph_find_node(t.g, "bn");
    ck_assert_int_eq(n->attrs.norm.act, CT_NORM_SILU);
    ck_assert_int_eq(n->nout, 3);
    test_net_backward(&t);
    graph_check_valid(t.g);
    const ct_node *back = graph_find_node(t.g, "bn.bwd");
    ck_assert_int_eq(back->nin, 7);
    ck_assert_int_eq(back->in[6], graph_find_node(t.g, "bn")->in[2]); /* nodes have moved */
    ct_graph_free(t.g);

    /* Residual blocks: norm + add + relu, with the shortcut behind the norm. The block's first norm + relu as well. */
    test_net_deep(&t, CT_F32, 3, 2, 4, 4);
    MUST(ct_pass_fuse(t.g, &removed));
    graph_check_valid(t.g);
    ck_assert_int_eq(graph_count_op(t.g, CT_OP_ADD), 0);
    ck_assert_int_eq(graph_count_op(t.g, CT_OP_ACTIVATION), 0);
    ck_assert_int_eq(graph_count_op(t.g, CT_OP_BATCHNORM), 7);
    ck_assert_int_eq(removed, 4 + 2 * 3);
    test_net_backward(&t);
    int with_add = 0;
    for (size_t i = 0; i < t.g->nnodes; i++)
        with_add += t.g->nodes[i].op == CT_OP_BATCHNORM_BWD && t.g->nodes[i].nout == 4;
    ck_assert_int_eq(with_add, 3);
    ct_graph_free(t.g);
}
END_TEST

/* Norm + add without an activation: the add is the norm's, on whichever side it stands; the other summand may be a
 * norm as well, which stays. A norm that somebody else reads, or that an add has twice, stays, too. */
START_TEST(test_fuse_sums)
{
    for (int which = 0; which < 4; which++) {
        test_net t;
        ct_val w, v, sum, relu;
        int removed = -1;
        test_net_small(&t, &w);
        ct_graph *g = t.g;
        const ct_val bn = ct_graph_find(g, "bn");
        const ct_val conv = g->nodes[g->values[bn].producer].in[0];
        const ct_val in[4][2] = { { bn, conv }, { conv, bn }, { bn, bn }, { bn, conv } };
        relu = ct_graph_find(g, "relu");
        /* the ReLU's place is taken by an add, which ends the network */
        MUST(ct_graph_node(g, CT_OP_ADD, NULL, "sum", 2, in[which], 1, 1, &sum));
        ct_graph_keep(g, sum);
        if (which == 3) MUST(ct_graph_node(g, CT_OP_GLOBAL_AVGPOOL, NULL, "other", 1, &bn, 1, 1, &v));
        g->nodes[g->values[relu].producer].in[0] = conv;
        MUST(ct_pass_fuse(g, &removed));
        graph_check_valid(g);
        const ct_node *n = graph_find_node(g, "bn");
        ck_assert_int_eq(removed, which < 2);
        ck_assert_int_eq(n->attrs.norm.act, CT_NORM_LINEAR);
        ck_assert_int_eq(n->out[0], which < 2 ? sum : bn);
        ck_assert_int_eq(n->nin, which < 2 ? 6 : 5);
        if (which < 2) ck_assert_int_eq(n->in[5], conv);
        ct_graph_free(g);
    }
}
END_TEST

/* Where somebody else has an interest in the value in between, nothing is fused. */
START_TEST(test_fuse_declines)
{
    for (int reason = 0; reason < 5; reason++) {
        test_net t;
        ct_val w, v;
        int removed = -1;
        test_net_small(&t, &w);
        ct_graph *g = t.g;
        ct_val y = ct_graph_find(g, "bn"), mean = ct_graph_find(g, "bn.1");
        switch (reason) {
        case 0: ct_graph_keep(g, y); break;
        case 1: MUST(ct_graph_mark_checkpoint(g, y)); break;
        case 2: MUST(ct_graph_node(g, CT_OP_GLOBAL_AVGPOOL, NULL, "other", 1, &y, 1, 1, &v)); break;
        case 3: ct_graph_keep(g, mean); break;
        default: g->nodes[g->values[ct_graph_find(g, "relu")].producer].attrs.act.kind = CT_ACT_TANH; break;
        }
        MUST(ct_pass_fuse(g, &removed));
        graph_check_valid(g);
        ck_assert_int_eq(removed, 0);
        ct_graph_free(g);
    }
}
END_TEST

/* Batch norm with ReLU and a max-pooling that halves become one, unless somebody else has an interest in what lies between, or windows are others. */
START_TEST(test_fuse_pool)
{
    for (int reason = -1; reason < 7; reason++) { /* -1 and 0: none, with windows of 3x3 and 2x2 */
        const bool fits = reason <= 0;
        ct_attrs norm = { .norm = { .eps = 1e-5, .momentum = 0.1, .act = CT_NORM_RELU, .update_stats = 1 } };
        ct_attrs window = { .pool = { .ker_h = 2, .ker_w = 2, .stride_h = 2, .stride_w = reason == 1 ? 1 : 2 } };
        if (reason == -1) window.pool = (ct_pool_attrs){ .ker_h = 3, .ker_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1 };
        if (reason == 6) window.pool.ker_h = window.pool.ker_w = 3; /* no padding */
        ct_graph *g;
        ct_val in[6], outs[4], y[2], other;
        int removed = -1;
        MUST(ct_graph_create(&g));
        MUST(ct_graph_input(g, "x", ct_desc4(CT_F32, 2, 5, 4, 3), &in[0]));
        MUST(ct_graph_param(g, "gamma", ct_desc1(CT_F32, 3), zero, false, &in[1]));
        MUST(ct_graph_param(g, "beta", ct_desc1(CT_F32, 3), zero, false, &in[2]));
        MUST(ct_graph_buffer(g, "mean", ct_desc1(CT_F32, 3), zero, &in[3]));
        MUST(ct_graph_buffer(g, "var", ct_desc1(CT_F32, 3), zero, &in[4]));
        in[5] = in[0];
        MUST(ct_graph_node(g, CT_OP_BATCHNORM, &norm, "norm", reason == 2 ? 6 : 5, in, 4, 15, outs));
        MUST(ct_graph_node(g, CT_OP_MAXPOOL2D, &window, "pool", 1, outs, 2, 3, y));
        ct_graph_keep(g, y[0]);
        if (reason == 3) ct_graph_keep(g, outs[0]);
        if (reason == 4) ct_graph_keep(g, outs[3]);
        if (reason == 5) {
            MUST(ct_graph_node(g, CT_OP_GLOBAL_AVGPOOL, NULL, "other", 1, outs, 1, 1, &other));
            ct_graph_keep(g, other);
        }
        MUST(ct_pass_fuse_more(g, &removed));
        graph_check_valid(g);
        ck_assert_int_eq(removed, fits);
        const ct_node *n = graph_find_node(g, "norm");
        ck_assert_int_eq(n->op, fits ? CT_OP_BATCHNORM_POOL : CT_OP_BATCHNORM);
        if (fits) {
            ck_assert_int_eq(n->out[0], y[0]);
            ck_assert_int_eq(n->out[1], outs[1]);
            ck_assert_int_eq(n->out[3], y[1]);
            ck_assert_int_eq(n->attrs.norm.update_stats, 1);
            ck_assert_int_eq(n->attrs.norm.overlap, reason == -1);
        }
        ct_graph_free(g);
    }
}
END_TEST

/* Batch norm with ReLU, with a summand or without, and the mean over all pixels become one, unless somebody else has
 * an interest in what lies between, or there is no ReLU. */
START_TEST(test_fuse_mean)
{
    for (int reason = -2; reason < 6; reason++) { /* -2 to 0: none, at a block's end, with a summand, and without */
        const bool fits = reason <= 0, relu = reason != 1;
        static const char *const names[] = { "x", "gamma", "beta", "mean", "var" };
        ct_attrs norm = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } };
        ct_graph *g;
        ct_val in[6], outs[4], y, other;
        int removed = -1;
        MUST(ct_graph_create(&g));
        MUST(ct_graph_input(g, names[0], ct_desc4(CT_F32, 2, 5, 4, 3), &in[0]));
        for (int i = 1; i < 5; i++) MUST(ct_graph_buffer(g, names[i], ct_desc1(CT_F32, 3), zero, &in[i]));
        MUST(ct_graph_input(g, "add", ct_desc4(CT_F32, 2, 5, 4, 3), &in[5]));
        norm.norm.act = relu ? CT_NORM_RELU : CT_NORM_SILU;
        MUST(ct_graph_node(g, CT_OP_BATCHNORM, &norm, "norm", reason == -1 ? 6 : 5, in, relu ? 4 : 3, relu ? 15 : 7,
                           outs));
        MUST(ct_graph_node(g, CT_OP_GLOBAL_AVGPOOL, NULL, "pool", 1, outs, 1, 1, &y));
        ct_graph_keep(g, y);
        if (reason == -2) MUST(ct_graph_mark_checkpoint(g, outs[0]));
        if (reason == 2) ct_graph_keep(g, outs[0]);
        if (reason == 3) ct_graph_keep(g, outs[3]);
        if (reason == 4) ct_graph_keep(g, outs[2]);
        if (reason == 5) {
            MUST(ct_graph_node(g, CT_OP_ADD, NULL, "other", 2, (ct_val[]){ outs[0], outs[0] }, 1, 1, &other));
            ct_graph_keep(g, other);
        }
        MUST(ct_pass_fuse_more(g, &removed));
        graph_check_valid(g);
        ck_assert_msg(removed == fits, "reason %d: %d removed", reason, removed);
        const ct_node *n = graph_find_node(g, "norm");
        ck_assert_int_eq(n->op, fits ? CT_OP_BATCHNORM_MEAN : CT_OP_BATCHNORM);
        if (fits) {
            ck_assert_int_eq(n->nin, reason == -1 ? 6 : 5);
            for (int k = 0; k < n->nin; k++) ck_assert_int_eq(n->in[k], in[k]);
            ck_assert_int_eq(n->out[0], y);
            if (reason == -2) ck_assert_int_eq(g->checkpoints[0], y);
            for (int k = 1; k < 4; k++) ck_assert_int_eq(n->out[k], outs[k]);
            ck_assert(n->attrs.norm.update_stats == 1 && n->attrs.norm.momentum == 0.1 && n->attrs.norm.eps == 1e-5);
        }
        ct_graph_free(g);
    }
}
END_TEST

/* A norm with ReLU and the norm that gives its summand become one, unless somebody else has an interest in what that gives, or they are unlike. */
START_TEST(test_fuse_summand)
{
    for (int reason = 0; reason < 7; reason++) {
        ct_graph *g;
        ct_val in[2][6], outs[2][4], other;
        int removed = -1;
        MUST(ct_graph_create(&g));
        for (int k = 0; k < 2; k++) {
            ct_attrs norm = { .norm = { .eps = 1e-5, .momentum = k == 0 && reason == 1 ? 0.2 : 0.1, .update_stats = 1 } };
            static const char *const names[2][5] = { { "x2", "gamma2", "beta2", "mean2", "var2" }, { "x", "gamma", "beta", "mean", "var" } };
            MUST(ct_graph_input(g, names[k][0], ct_desc2(CT_F32, 4, 3), &in[k][0]));
            for (int i = 1; i < 5; i++) MUST(ct_graph_buffer(g, names[k][i], ct_desc1(CT_F32, 3), zero, &in[k][i]));
            if (reason == 6 && k == 1) in[1][3] = in[0][3]; /* one running mean for both */
            in[k][5] = outs[0][0];
            if (k == 1) norm.norm.act = reason == 2 ? CT_NORM_SILU : CT_NORM_RELU;
            MUST(ct_graph_node(g, CT_OP_BATCHNORM, &norm, k == 0 ? "shortcut" : "norm", k == 0 ? 5 : 6, in[k], k == 1 && reason != 2 ? 4 : 3,
                               k == 1 && reason != 2 ? 15 : 7, outs[k]));
        }
        ct_graph_keep(g, outs[1][0]);
        if (reason == 3) ct_graph_keep(g, outs[0][0]);
        if (reason == 4) ct_graph_keep(g, outs[0][1]);
        if (reason == 5) {
            MUST(ct_graph_node(g, CT_OP_ADD, NULL, "other", 2, (ct_val[]){ outs[0][0], outs[1][0] }, 1, 1, &other));
            ct_graph_keep(g, other);
        }
        MUST(ct_pass_fuse_more(g, &removed));
        graph_check_valid(g);
        ck_assert_msg(removed == (reason == 0), "reason %d: %d removed", reason, removed);
        const ct_node *n = graph_find_node(g, "norm");
        ck_assert_int_eq(n->op, reason == 0 ? CT_OP_BATCHNORM_SUM : CT_OP_BATCHNORM);
        for (int k = 0; k < 10 && reason == 0; k++) ck_assert_int_eq(n->in[k], in[k < 5][k % 5]);
        if (reason == 0) ck_assert(n->out[3] == outs[1][3] && n->out[4] == outs[0][1] && n->out[5] == outs[0][2]);
        ct_graph_free(g);
    }
}
END_TEST

/* A second gradient that comes through a 1x1 convolution with a stride has no zeros in between. */
START_TEST(test_join_sparse)
{
    test_net t;
    int sums = 0;
    test_net_shrinking(&t, CT_F32);
    MUST(ct_pass_fuse(t.g, NULL));
    MUST(ct_pass_fuse_more(t.g, NULL));
    test_net_backward(&t);
    MUST(ct_pass_join(t.g, &sums));
    graph_check_valid(t.g);
    int step[4] = { 0 };
    for (size_t i = 0; i < t.g->nnodes; i++) {
        const ct_node *n = &t.g->nodes[i];
        const bool two = n->op == CT_OP_BATCHNORM_SUM_BWD;
        if ((!two && n->op != CT_OP_BATCHNORM_BWD) || n->nin < (two ? 11 : 9)) continue;
        const ct_desc *dy = ct_graph_desc(t.g, n->in[0]), *dy2 = ct_graph_desc(t.g, n->in[two ? 10 : 8]);
        const int64_t s = n->attrs.norm.dy2_step;
        ck_assert(s >= 0 && s < 4);
        step[s]++;
        ck_assert_int_eq(dy2->dim[1], s ? (dy->dim[1] + s - 1) / s : dy->dim[1]);
        ck_assert_int_eq(dy2->dim[2], s ? (dy->dim[2] + s - 1) / s : dy->dim[2]);
    }
    ck_assert(step[2] == 1 && step[3] == 1);
    ck_assert_int_eq(step[0] + 2 + 1, sums); /* one in front of the pooling, which takes no fewer pixels */
    ct_graph_free(t.g);
}
END_TEST

/* Two norms that share running statistics, the second between the first and its relu: moving the first would swap their
 * updates. */
START_TEST(test_fuse_keeps_order)
{
    ct_graph *g;
    ct_val in[5], a[3], b[3], relu;
    int removed = -1;
    static const char *const names[] = { "x", "gamma", "beta", "mean", "var" };
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, names[0], ct_desc2(CT_F32, 4, 3), &in[0]));
    for (int i = 1; i < 5; i++) MUST(ct_graph_buffer(g, names[i], ct_desc1(CT_F32, 3), zero, &in[i]));
    ct_attrs n = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } },
             r = { .act = { .kind = CT_ACT_RELU } };
    MUST(ct_graph_node(g, CT_OP_BATCHNORM, &n, "a", 5, in, 3, 7, a));
    MUST(ct_graph_node(g, CT_OP_BATCHNORM, &n, "b", 5, in, 3, 7, b));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &r, "relu", 1, &a[0], 1, 1, &relu));
    MUST(ct_pass_fuse(g, &removed));
    ck_assert_int_eq(removed, 0);
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &r, "relu_b", 1, &b[0], 1, 1, &relu));
    MUST(ct_pass_fuse(g, &removed));
    ck_assert_int_eq(removed, 1);
    graph_check_valid(g);
    ct_graph_free(g);
}
END_TEST

/* Every norm behind a convolution takes the moments that this gives, pooling and sums of two norms too. */
START_TEST(test_measure)
{
    test_net t;
    int norms = 0, seen = 0;
    test_net_shrinking(&t, CT_F32);
    MUST(ct_pass_fuse(t.g, NULL));
    MUST(ct_pass_fuse_more(t.g, NULL));
    test_net_backward(&t);
    MUST(ct_pass_measure(t.g, &norms));
    graph_check_valid(t.g);
    for (size_t i = 0; i < t.g->nnodes; i++) {
        const ct_node *n = &t.g->nodes[i];
        const bool two = n->op == CT_OP_BATCHNORM_SUM;
        if (!two && n->op != CT_OP_BATCHNORM && n->op != CT_OP_BATCHNORM_POOL) continue;
        for (int k = 0; k < (two ? 2 : 1); k++) {
            const ct_node *conv = &t.g->nodes[t.g->values[n->in[5 * k]].producer];
            ck_assert_int_eq(conv->op, CT_OP_CONV2D);
            ck_assert(conv->attrs.conv.moments == 1 && conv->nout == 2);
            ck_assert_int_eq(n->in[two ? 10 + k : 6], conv->out[1]);
            seen++;
        }
    }
    ck_assert_int_eq(norms, 12);
    ck_assert_int_eq(seen, norms);
    ct_graph_free(t.g);

    /* not where results are rounded to 16 bits first */
    test_net_shrinking(&t, CT_F32);
    MUST(ct_pass_cast(t.g, CT_BF16));
    MUST(ct_pass_measure(t.g, &norms));
    ck_assert_int_eq(norms, 0);
    ct_graph_free(t.g);
}
END_TEST

/* A data gradient is added to the other summand, which comes before it; reason 1: that has another reader, 2: the host keeps it, 3: it comes later, 4: sums of 16
 * bits would be rounded once, 5: groups. */
START_TEST(test_accumulate)
{
    for (int reason = 0; reason < 6; reason++) {
        const ct_dtype type = reason == 4 ? CT_BF16 : CT_F32;
        const ct_attrs conv = { .conv = { .stride_h = 2, .stride_w = 2, .dil_h = 1, .dil_w = 1, .groups = reason == 5 ? 2 : 1, .in_h = 4, .in_w = 6 } };
        const ct_attrs thrice = { .scale = { .alpha = 3 } };
        ct_graph *g;
        ct_val dy, w, x, part[2], sum, more;
        int sums = -1;
        MUST(ct_graph_create(&g));
        MUST(ct_graph_input(g, "dy", ct_desc4(type, 2, 2, 3, 8), &dy));
        MUST(ct_graph_input(g, "w", ct_desc4(type, 8, 1, 1, reason == 5 ? 3 : 6), &w));
        MUST(ct_graph_input(g, "x", ct_desc4(type, 2, 4, 6, 6), &x));
        g->phase = CT_PHASE_BACKWARD;
        for (int i = 0; i < 2; i++) {
            if ((i == 0) != (reason == 3)) MUST(ct_graph_node(g, CT_OP_SCALE, &thrice, "other", 1, &x, 1, 1, &part[0]));
            else MUST(ct_graph_node(g, CT_OP_CONV2D_DGRAD, &conv, "dgrad", 2, (ct_val[]){ dy, w }, 1, 1, &part[1]));
        }
        MUST(ct_graph_node(g, CT_OP_ADD, NULL, "sum", 2, part, 1, 1, &sum));
        MUST(ct_graph_node(g, CT_OP_SCALE, &thrice, "more", 1, reason == 1 ? &part[0] : &sum, 1, 1, &more));
        if (reason == 2) ct_graph_keep(g, part[0]);
        ct_graph_keep(g, sum);
        ct_graph_keep(g, more);
        MUST(ct_pass_accumulate(g, &sums));
        graph_check_valid(g);
        ck_assert_msg(sums == (reason == 0), "reason %d: %d sums", reason, sums);
        const ct_node *n = graph_find_node(g, "dgrad");
        ck_assert_int_eq(n->nin, reason == 0 ? 3 : 2);
        ck_assert_int_eq(graph_count_op(g, CT_OP_ADD), reason != 0);
        if (reason == 0) ck_assert(n->in[2] == part[0] && n->out[0] == sum);
        ct_graph_free(g);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("structure");
    Suite *s = suite_create("fuse");
    tcase_add_test(t, test_fuse);
    tcase_add_test(t, test_fuse_sums);
    tcase_add_test(t, test_fuse_declines);
    tcase_add_test(t, test_fuse_pool);
    tcase_add_test(t, test_fuse_mean);
    tcase_add_test(t, test_fuse_summand);
    tcase_add_test(t, test_join_sparse);
    tcase_add_test(t, test_measure);
    tcase_add_test(t, test_accumulate);
    tcase_add_test(t, test_fuse_keeps_order);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
