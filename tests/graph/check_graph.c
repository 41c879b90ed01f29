/* Building graphs, autodiff's structure, layout, printing, and running out of memory. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/ct_check.h"
#include "tests/graph/graph_run.h"

static const ct_init zero = { CT_INIT_ZERO, 0 };

START_TEST(test_build)
{
    ct_graph *g;
    ct_val x, w, y, s, s2, m, r, outs[2], none = CT_NOVAL;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "x", ct_desc2(CT_F32, 4, 6), &x));
    MUST(ct_graph_param(g, "w", ct_desc2(CT_F32, 5, 6), zero, true, &w));
    MUST(ct_graph_node(g, CT_OP_LINEAR, NULL, "fc", 2, (ct_val[]){ x, w }, 1, 1, &y));
    ck_assert_str_eq(g->values[y].name, "fc");
    ck_assert(g->values[y].needs_grad && g->values[w].needs_grad && !g->values[x].needs_grad);
    ck_assert_int_eq(g->values[y].producer, 0);
    ck_assert_int_eq(ct_graph_find(g, "fc"), y);
    ck_assert_int_eq(ct_graph_find(g, "nothing"), CT_NOVAL);

    ct_attrs a = { .loss = { .positions = 1, .classes = 5 } };
    MUST(ct_graph_node(g, CT_OP_ARGMAX, &a, "pred", 1, &y, 2, 3, outs));
    ck_assert_str_eq(g->values[outs[1]].name, "pred.1");
    ck_assert(!g->values[outs[0]].needs_grad); /* integers */
    MUST(ct_graph_node(g, CT_OP_ARGMAX, &a, "pred", 1, &y, 2, 3, outs));
    ck_assert_str_eq(g->values[outs[0]].name, "pred~2");
    ck_assert_str_eq(g->values[outs[1]].name, "pred.1~2");

    ct_attrs flat = { .shape = { .ndim = 1, .d0 = 30 } };
    ct_val view;
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "view", 1, &w, 1, 1, &view));
    ck_assert_int_eq(g->values[view].root, w);
    ck_assert_int_eq(g->values[view].arena, CT_ARENA_PARAM);
    ck_assert(ct_graph_is_weight(g, w) && !ct_graph_is_weight(g, view));

    MUST(ct_graph_state(g, &s));
    MUST(ct_graph_state(g, &s2));
    ck_assert_int_eq(s, s2);
    MUST(ct_graph_metrics(g, &m));
    ck_assert_int_eq(ct_desc_numel(ct_graph_desc(g, m)), CT_METRIC_COUNT);
    MUST(ct_graph_range(g, "part", CT_ARENA_OPT1, CT_F64, 16, 32, &r));
    ck_assert_int_eq(g->values[r].offset, 128);
    ck_assert(g->values[r].range);

    size_t nodes = g->nnodes, values = g->nvalues;
    ct_val out;
    REFUSES(ct_graph_input(g, "w", ct_desc1(CT_F32, 1), &out), "already a value named 'w'");
    REFUSES(ct_graph_input(g, "z", ct_desc1(CT_F32, 0), &out), "dimension 0 must be at least 1");
    REFUSES(ct_graph_param(g, "z", ct_desc1(CT_BF16, 3), zero, true, &out), "'z' is bf16[3], but parameters");
    REFUSES(ct_graph_range(g, "z", CT_ARENA_ACT, CT_F32, 0, 1, &out), "arena act is not flat");
    REFUSES(ct_graph_range(g, "z", CT_ARENA_PARAM, CT_F32, -1, 1, &out), "no range");
    REFUSES(ct_graph_node(g, CT_OP_LINEAR, NULL, "bad", 2, (ct_val[]){ x, view }, 1, 1, &out),
            "graph: node 'bad': linear: w is f32[30]");
    REFUSES(ct_graph_node(g, CT_OP_LINEAR, NULL, "bad", 2, (ct_val[]){ x, 999 }, 1, 1, &out),
            "value 999, which does not exist");
    REFUSES(ct_graph_node(g, CT_OP_LINEAR, NULL, "bad", 2, (ct_val[]){ x, none }, 1, 1, &out), "input 1 is absent");
    REFUSES(ct_graph_node(g, CT_OP_LINEAR, NULL, "bad", 2, (ct_val[]){ x, w }, 1, 0, &out),
            "output 0 cannot be left out");
    REFUSES(ct_graph_node(g, CT_OP_LINEAR, NULL, "bad", CT_MAX_IN + 1, (ct_val[]){ x, w }, 1, 1, &out), "too many");
    REFUSES(ct_graph_node(g, CT_OP_COUNT, NULL, "bad", 1, &x, 1, 1, &out), "does not exist");
    REFUSES(ct_graph_mark_checkpoint(g, x), "some node gives");
    REFUSES(ct_graph_mark_checkpoint(g, 999), "some node gives");
    MUST(ct_graph_mark_checkpoint(g, y));
    MUST(ct_graph_mark_checkpoint(g, y));
    ck_assert_uint_eq(g->ncheckpoints, 1);
    ck_assert_uint_eq(g->nnodes, nodes);
    ck_assert_uint_eq(g->nvalues, values);
    graph_check_valid(g);
    ct_graph_free(g);
}
END_TEST

START_TEST(test_autodiff_structure)
{
    test_net t;
    ct_val w, unused;
    test_net_small(&t, &w);
    MUST(ct_graph_param(t.g, "unused", ct_desc1(CT_F32, 7), zero, true, &unused));
    test_net_backward(&t);
    graph_check_valid(t.g);
    ct_graph *g = t.g;
    /* The second convolution needs the gradient of its input, the first does not; the shared filter has two gradients
     * and their sum. */
    ck_assert_int_eq(graph_count_op(g, CT_OP_CONV2D_DGRAD), 1);
    ck_assert_int_eq(graph_count_op(g, CT_OP_CONV2D_WGRAD), 2);
    ck_assert_int_eq(graph_count_op(g, CT_OP_ADD), 1);
    graph_find_node(g, "conv_again.dgrad");
    graph_find_node(g, "conv.weight.grad_sum");
    graph_find_node(g, "fc.bias_grad");
    graph_find_node(g, "relu.bwd");
    ck_assert_int_eq(graph_find_node(g, "bn.bwd")->op, CT_OP_BATCHNORM_BWD);
    for (size_t v = 0; v < g->nvalues; v++) {
        if (!ct_graph_is_weight(g, (ct_val)v) || g->values[v].arena != CT_ARENA_PARAM) continue;
        ct_val d = g->values[v].grad;
        if ((ct_val)v == unused) {
            ck_assert_int_eq(d, CT_NOVAL);
            continue;
        }
        ck_assert_int_ne(d, CT_NOVAL);
        ck_assert_int_eq(g->values[d].arena, CT_ARENA_GRAD);
        ck_assert(ct_desc_equal(&g->values[d].desc, &g->values[v].desc));
    }
    ck_assert_int_eq(g->values[t.x].grad, CT_NOVAL);
    for (size_t i = 0; i < g->nnodes; i++)
        ck_assert_int_eq(g->nodes[i].phase, (int)i > g->values[t.loss].producer ? CT_PHASE_BACKWARD : CT_PHASE_FORWARD);

    ct_layout l;
    MUST(ct_layout_make(g, &l));
    ck_assert_int_eq(l.params, 81 + 3 + 3 + 9 + 3 + 7);
    ck_assert_int_eq(l.decay_elems, 96 + 16);                   /* conv 81 -> 96, fc 9 -> 16 */
    ck_assert_int_eq(l.train_elems, 96 + 16 + 3 * 16);
    ck_assert_int_eq(l.param_elems, 96 + 16 + 3 * 16 + 16);     /* the unused one lies behind */
    ck_assert_int_eq(l.buffer_elems, 32);
    ck_assert_int_eq(g->values[unused].offset, l.train_elems * 4);
    for (size_t v = 0; v < g->nvalues; v++)
        if (ct_graph_is_weight(g, (ct_val)v) && g->values[v].grad != CT_NOVAL)
            ck_assert_int_eq(g->values[v].offset, g->values[g->values[v].grad].offset);

    REFUSES(ct_autodiff(g, t.loss, t.loss), "gradients already");
    REFUSES(ct_pass_fuse(g, NULL), "gradients already");
    REFUSES(ct_pass_cast(g, CT_BF16), "gradients already");
    ct_graph_free(g);
}
END_TEST

START_TEST(test_autodiff_refuses)
{
    test_net t;
    ct_val w, s, seed;
    test_net_small(&t, &w);
    ct_attrs a = { .loss = { .alpha = 1, .dtype = CT_F64 } };
    MUST(ct_graph_state(t.g, &s));
    MUST(ct_graph_node(t.g, CT_OP_LOSS_SEED, &a, "seed64", 1, &s, 1, 1, &seed));
    REFUSES(ct_autodiff(t.g, t.loss, seed), "the loss 'loss' is f32[1], but the seed 'seed64' is f64[1]");
    REFUSES(ct_autodiff(t.g, t.logits, seed), "'fc' is f32[2,3], not one number");
    REFUSES(ct_autodiff(t.g, 12345, seed), "does not exist");
    REFUSES(ct_pass_recompute(t.g, 0, NULL), "no gradients yet");
    a.loss.dtype = CT_F32;
    MUST(ct_graph_node(t.g, CT_OP_LOSS_SEED, &a, "seed", 1, &s, 1, 1, &seed));
    REFUSES(ct_autodiff(t.g, seed, seed), "does not depend on any parameter");
    ct_graph_free(t.g);

    /* A gradient that reaches an operator without a rule. */
    test_net_small(&t, &w);
    ct_val in[5] = { t.logits }, y, outs[2];
    ct_attrs n = { .norm = { .eps = 1e-5 } }, l = { .loss = { .positions = 1, .classes = 3 } };
    for (int i = 1; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "inf%d", i);
        MUST(ct_graph_buffer(t.g, name, ct_desc1(CT_F32, 3), zero, &in[i]));
    }
    MUST(ct_graph_node(t.g, CT_OP_BATCHNORM_INFER, &n, "frozen", 5, in, 1, 1, &y));
    MUST(ct_graph_node(t.g, CT_OP_SOFTMAX_XENT, &l, "loss2", 2, (ct_val[]){ y, t.target }, 2, 3, outs));
    MUST(ct_graph_state(t.g, &s));
    MUST(ct_graph_node(t.g, CT_OP_LOSS_SEED, &a, "seed", 1, &s, 1, 1, &seed));
    REFUSES(ct_autodiff(t.g, outs[0], seed), "node 'frozen': batchnorm_infer is not differentiable");
    ct_graph_free(t.g);

    /* A gradient that is wanted of what an operator takes as given: points that depend on a parameter. */
    ct_val rank[3], weighed[2];
    const ct_attrs margin = { .heat = { .margin = 0.2 } };
    MUST(ct_graph_create(&t.g));
    MUST(ct_graph_param(t.g, "s", ct_desc2(CT_F32, 2, 1), zero, true, &rank[0]));
    MUST(ct_graph_param(t.g, "fake", ct_desc2(CT_F32, 2, 3), zero, true, &rank[1]));
    MUST(ct_graph_param(t.g, "points", (ct_desc){ CT_F32, 3, { 2, 3, 2 } }, zero, true, &rank[2]));
    MUST(ct_graph_node(t.g, CT_OP_MARGIN_RANK, &margin, "rank", 3, rank, 2, 3, weighed));
    MUST(ct_graph_state(t.g, &s));
    MUST(ct_graph_node(t.g, CT_OP_LOSS_SEED, &a, "seed", 1, &s, 1, 1, &seed));
    REFUSES(ct_autodiff(t.g, weighed[0], seed), "node 'rank': margin_rank has no gradient for its input 2, 'points'");
    ct_graph_free(t.g);
}
END_TEST

/* A gradient that is a view, the seed itself, or shared by two parameters must be copied into its place. */
START_TEST(test_gradients_have_places)
{
    ct_graph *g;
    ct_val p, q, sum, view, loss, state, seed;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_param(g, "p", ct_desc1(CT_F64, 1), zero, true, &p));
    MUST(ct_graph_param(g, "q", ct_desc2(CT_F64, 1, 1), zero, true, &q));
    ct_attrs flat = { .shape = { .ndim = 1, .d0 = 1 } };
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "view", 1, &q, 1, 1, &view));
    MUST(ct_graph_node(g, CT_OP_ADD, NULL, "sum", 2, (ct_val[]){ p, view }, 1, 1, &sum));
    MUST(ct_graph_node(g, CT_OP_ADD, NULL, "loss", 2, (ct_val[]){ sum, p }, 1, 1, &loss));
    ct_attrs a = { .loss = { .alpha = 0.5, .dtype = CT_F64 } };
    MUST(ct_graph_state(g, &state));
    MUST(ct_graph_node(g, CT_OP_LOSS_SEED, &a, "seed", 1, &state, 1, 1, &seed));
    ct_graph_keep(g, seed);
    test_net t = { .g = g, .loss = loss };
    MUST(ct_autodiff(g, loss, seed));
    graph_check_valid(g);
    ck_assert_int_eq(g->values[seed].arena, CT_ARENA_ACT);
    ct_layout l;
    MUST(ct_layout_make(g, &l));
    graph_run r;
    graph_run_open(&r, g, true);
    graph_run_nodes(&r, 0, g->nnodes);
    ck_assert_double_eq(graph_run_get(&r, g->values[p].grad, 0), 1.0);
    ck_assert_double_eq(graph_run_get(&r, g->values[q].grad, 0), 0.5);
    ck_assert_int_eq(g->values[g->values[q].grad].arena, CT_ARENA_GRAD);
    ck_assert_int_ne(g->values[g->values[q].grad].offset, g->values[g->values[p].grad].offset);
    graph_run_close(&r);
    ct_graph_free(t.g);
}
END_TEST

/* One value that is the gradient of two parameters: the second gets a copy. */
START_TEST(test_shared_gradient)
{
    ct_graph *g;
    ct_val p, q, c, sum, loss, state, seed;
    MUST(ct_graph_create(&g));
    MUST(ct_graph_param(g, "p", ct_desc1(CT_F64, 1), zero, true, &p));
    MUST(ct_graph_param(g, "q", ct_desc1(CT_F64, 1), zero, true, &q));
    MUST(ct_graph_input(g, "c", ct_desc1(CT_F64, 1), &c));
    MUST(ct_graph_node(g, CT_OP_ADD, NULL, "sum", 2, (ct_val[]){ p, q }, 1, 1, &sum));
    MUST(ct_graph_node(g, CT_OP_MUL, NULL, "loss", 2, (ct_val[]){ sum, c }, 1, 1, &loss));
    ct_attrs a = { .loss = { .alpha = 0.5, .dtype = CT_F64 } };
    MUST(ct_graph_state(g, &state));
    MUST(ct_graph_node(g, CT_OP_LOSS_SEED, &a, "seed", 1, &state, 1, 1, &seed));
    MUST(ct_autodiff(g, loss, seed));
    graph_check_valid(g);
    ct_layout l;
    MUST(ct_layout_make(g, &l));
    graph_run r;
    graph_run_open(&r, g, true);
    graph_run_set(&r, c, 0, 3);
    graph_run_nodes(&r, 0, g->nnodes);
    ck_assert_int_ne(g->values[p].grad, g->values[q].grad);
    ck_assert_double_eq(graph_run_get(&r, g->values[p].grad, 0), 1.5);
    ck_assert_double_eq(graph_run_get(&r, g->values[q].grad, 0), 1.5);
    ck_assert_int_ne(g->values[g->values[q].grad].offset, g->values[g->values[p].grad].offset);
    graph_run_close(&r);
    ct_graph_free(g);
}
END_TEST

START_TEST(test_layout_apply)
{
    test_net a, b;
    ct_val w;
    ct_layout l;
    test_net_small(&a, &w);
    test_net_backward(&a);
    MUST(ct_layout_make(a.g, &l));
    test_net_small(&b, &w);
    test_net_backward(&b);
    MUST(ct_layout_apply(b.g, a.g));
    for (size_t v = 0; v < a.g->nvalues; v++) {
        if (!ct_graph_is_weight(a.g, (ct_val)v)) continue;
        const ct_value *x = &b.g->values[ct_graph_find(b.g, a.g->values[v].name)];
        ck_assert_int_eq(x->offset, a.g->values[v].offset);
        if (x->grad != CT_NOVAL) ck_assert_int_eq(b.g->values[x->grad].offset, x->offset);
    }
    ct_val extra;
    MUST(ct_graph_param(b.g, "extra.weight", ct_desc1(CT_F32, 3), zero, true, &extra));
    REFUSES(ct_layout_apply(b.g, a.g), "no parameter 'extra.weight'");
    ct_graph_free(b.g);
    test_net_small(&b, &w);
    REFUSES(ct_layout_apply(a.g, b.g), "has no place in the other graph");
    b.g->values[w].desc.dim[0] = 4;
    REFUSES(ct_layout_apply(a.g, b.g), "'conv.weight' is f32[3,3,3,3] here and f32[4,3,3,3]");
    MUST(ct_graph_param(b.g, "double", ct_desc1(CT_F64, 3), zero, true, &extra));
    REFUSES(ct_layout_make(b.g, &l), "'double' is f64, but 'conv.weight' is f32");
    ct_graph_free(a.g);
    ct_graph_free(b.g);
}
END_TEST

START_TEST(test_print)
{
    test_net t;
    ct_val w;
    char *text = NULL;
    size_t size = 0;
    test_net_small(&t, &w);
    test_net_backward(&t);
    const char *impl[64];
    for (int i = 0; i < 64; i++) impl[i] = i == 0 ? "cpu.\"quoted\"" : "ref";
    ck_assert_uint_lt(t.g->nnodes, 64);
    FILE *f = open_memstream(&text, &size);
    ct_graph_print(t.g, impl, f);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "conv_again.dgrad"));
    ck_assert_ptr_nonnull(strstr(text, "f32[2,4,4,3]"));
    ck_assert_ptr_nonnull(strstr(text, "5.18k")); /* 2*2*4*4*3*27 operations of a convolution */
    ck_assert_ptr_nonnull(strstr(text, "implementation"));
    ck_assert_ptr_nonnull(strstr(text, "backward total"));
    free(text);
    f = open_memstream(&text, &size);
    ct_graph_print_json(t.g, impl, f);
    fclose(f);
    size_t lines = 0;
    for (const char *s = text; (s = strchr(s, '\n')); s++) lines++;
    ck_assert_uint_eq(lines, t.g->nnodes);
    ck_assert_ptr_nonnull(strstr(
        text,
        "{\"node\":0,\"phase\":\"forward\",\"clone_of\":null,\"name\":\"conv\",\"op\":\"conv2d\","
        "\"call\":\"conv2d{stride_h=1"));
    ck_assert_ptr_nonnull(
        strstr(text, "\"inputs\":[\"x\",\"conv.weight\"],\"outputs\":[\"conv\"],\"flops\":5184,\"bytes\":"));
    ck_assert_ptr_nonnull(strstr(text, "\"impl\":\"cpu.\\\"quoted\\\"\""));
    free(text);
    double flops, bytes;
    ct_graph_cost(t.g, CT_PHASE_UPDATE, &flops, &bytes);
    ck_assert(flops == 0 && bytes == 0);
    ck_assert_str_eq(ct_arena_name(CT_ARENA_EMABUF), "emabuf");
    ck_assert_str_eq(ct_phase_name(CT_PHASE_UPDATE), "update");
    ct_graph_free(t.g);
}
END_TEST

/* Everything a plan needs from this floor, without a single ck_assert on the way, so that any step may fail. */
static ct_status whole_way(ct_graph **out)
{
    ct_graph *g = *out = NULL;
    ct_status st;
    ct_memplan plan;
    ct_layout layout;
    ct_val x, w, y, state, seed, target, outs[3], in[5];
    CT_TRY(ct_graph_create(out));
    g = *out;
    ct_attrs c = { .conv = {
                       .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    ct_attrs b = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } },
             relu = { .act = { .kind = CT_ACT_RELU } };
    CT_TRY(ct_graph_input(g, "x", ct_desc4(CT_F32, 2, 4, 4, 4), &x));
    for (int i = 0; i < 4; i++) {
        char name[5][3];
        for (int k = 0; k < 5; k++) memcpy(name[k], (char[3]){ "wgbmv"[k], (char)('0' + i), '\0' }, 3);
        CT_TRY(ct_graph_param(g, name[0], ct_desc4(CT_F32, 4, 3, 3, 4), zero, true, &w));
        CT_TRY(ct_graph_node(g, CT_OP_CONV2D, &c, "conv", 2, (ct_val[]){ x, w }, 1, 1, &in[0]));
        CT_TRY(ct_graph_param(g, name[1], ct_desc1(CT_F32, 4), zero, false, &in[1]));
        CT_TRY(ct_graph_param(g, name[2], ct_desc1(CT_F32, 4), zero, false, &in[2]));
        CT_TRY(ct_graph_buffer(g, name[3], ct_desc1(CT_F32, 4), zero, &in[3]));
        CT_TRY(ct_graph_buffer(g, name[4], ct_desc1(CT_F32, 4), zero, &in[4]));
        CT_TRY(ct_graph_node(g, CT_OP_BATCHNORM, &b, "bn", 5, in, 3, 7, outs));
        CT_TRY(ct_graph_node(g, CT_OP_ADD, NULL, "add", 2, (ct_val[]){ outs[0], x }, 1, 1, &y));
        CT_TRY(ct_graph_node(g, CT_OP_ACTIVATION, &relu, "relu", 1, &y, 1, 1, &x));
        CT_TRY(ct_graph_mark_checkpoint(g, x));
    }
    CT_TRY(ct_graph_node(g, CT_OP_GLOBAL_AVGPOOL, NULL, "pool", 1, &x, 1, 1, &x));
    CT_TRY(ct_graph_input(g, "target", ct_desc2(CT_I32, 2, 2), &target));
    ct_attrs l = { .loss = { .positions = 2, .classes = 2, .alpha = 1, .dtype = CT_F32 } };
    CT_TRY(ct_graph_node(g, CT_OP_SOFTMAX_XENT, &l, "loss", 2, (ct_val[]){ x, target }, 2, 3, outs));
    CT_TRY(ct_pass_fuse(g, NULL));
    CT_TRY(ct_pass_cast(g, CT_BF16));
    CT_TRY(ct_graph_state(g, &state));
    g->phase = CT_PHASE_BACKWARD;
    CT_TRY(ct_graph_node(g, CT_OP_LOSS_SEED, &l, "seed", 1, &state, 1, 1, &seed));
    CT_TRY(ct_autodiff(g, outs[0], seed));
    CT_TRY(ct_pass_recompute(g, 0, NULL));
    CT_TRY(ct_pass_dead(g));
    CT_TRY(ct_layout_make(g, &layout));
    st = ct_memplan_make(g, NULL, &plan);
    if (st == CT_OK) ct_memplan_free(&plan);
    return st;
}

START_TEST(test_out_of_memory)
{
    long n = 0;
    for (;; n++) {
        ct_graph *g;
        ck_assert_int_lt(n, 5000);
        ct_alloc_fail_after(n);
        ct_status st = whole_way(&g);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) graph_check_valid(g);
        ct_graph_free(g);
        if (st == CT_OK) break;
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
    }
    ck_assert_int_gt(n, 200);
}
END_TEST

/* A failing addition leaves the graph as it was. */
START_TEST(test_failed_node_changes_nothing)
{
    ct_graph *g;
    ct_val x, y[2];
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "x", ct_desc4(CT_F32, 1, 4, 4, 2), &x));
    ct_attrs p = { .pool = { .ker_h = 2, .ker_w = 2, .stride_h = 2, .stride_w = 2 } };
    for (long n = 0;; n++) {
        size_t nodes = g->nnodes, values = g->nvalues;
        ct_alloc_fail_after(n);
        ct_status st = ct_graph_node(g, CT_OP_MAXPOOL2D, &p, "pool", 1, &x, 2, 3, y);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) break;
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_uint_eq(g->nnodes, nodes);
        ck_assert_uint_eq(g->nvalues, values);
        ck_assert_int_lt(n, 20);
    }
    graph_check_valid(g);
    ct_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("graph");
    TCase *t = tcase_create("structure");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_build);
    tcase_add_test(t, test_autodiff_structure);
    tcase_add_test(t, test_autodiff_refuses);
    tcase_add_test(t, test_gradients_have_places);
    tcase_add_test(t, test_shared_gradient);
    tcase_add_test(t, test_layout_apply);
    tcase_add_test(t, test_print);
    tcase_add_test(t, test_out_of_memory);
    tcase_add_test(t, test_failed_node_changes_nothing);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
