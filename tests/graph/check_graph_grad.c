/* Whole graphs, run with the reference implementations: gradients against finite differences, and the passes and the
 * memory plan against the plain graph. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/ct_check.h"
#include "tests/graph/graph_compare.h"

START_TEST(test_finite_differences)
{
    uint64_t seed = (uint64_t)_i;
    test_net net;
    graph_run r;
    ct_layout layout;
    test_net_random(&net, seed, CT_F64, 8);
    if (seed % 2) MUST(ct_pass_fuse(net.g, NULL));
    test_net_backward(&net);
    MUST(ct_layout_make(net.g, &layout));
    graph_run_open(&r, net.g, false);
    graph_run_fill(&r, seed, net.classes);
    graph_run_nodes(&r, 0, net.g->nnodes);
    double loss = graph_run_get(&r, net.loss, 0);
    ck_assert(isfinite(loss));
    int checked = 0;
    /* The activations are overwritten by the moved runs, gradients lie in their own arena. */
    for (size_t v = 0; v < net.g->nvalues; v++) {
        if (!ct_graph_is_weight(net.g, (ct_val)v) || net.g->values[v].grad == CT_NOVAL) continue;
        graph_check_gradient(&r, net.loss, loss, (ct_val)v, seed);
        checked++;
    }
    ck_assert_int_ge(checked, 3);
    graph_run_close(&r);
    ct_graph_free(net.g);
}
END_TEST

/* In shared memory, with recomputation, and with batch norms applied again, the same bits as with a place for every value. */
START_TEST(test_variants_agree)
{
    uint64_t seed = (uint64_t)_i;
    ct_dtype dtype = seed % 3 ? CT_F32 : CT_F64;
    unsigned fused = seed % 2 ? GRAPH_FUSED : 0;
    const unsigned variants[] = { GRAPH_SHARED,    GRAPH_RECOMPUTED,         GRAPH_SHARED | GRAPH_RECOMPUTED, GRAPH_SHARED | GRAPH_RECOMPUTED | GRAPH_MERGED,
                                  GRAPH_REAPPLIED, GRAPH_SHARED | GRAPH_REAPPLIED };
    graph_step plain, other;
    test_net net;
    test_net_random(&net, seed, dtype, 14);
    graph_step_run(&net, GRAPH_PLAIN | fused, seed, &plain);
    ck_assert(isfinite(plain.loss));
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        test_net_random(&net, seed, dtype, 14);
        graph_step_run(&net, variants[i] | fused, seed, &other);
        graph_steps_equal(&plain, &other,
                      i == 0   ? "memory plan"
                      : i == 1 ? "recompute"
                      : i < 4  ? "recompute in planned memory"
                               : "norms applied again",
                      seed);
        ck_assert_int_ge(other.act_bytes, other.lower_bound);
        graph_step_free(&other);
    }
    graph_step_free(&plain);
}
END_TEST

/* The same gradients, of f64, but for their rounding. */
static void gradients_agree(const graph_step *want, const graph_step *got, uint64_t seed)
{
    ck_assert_uint_eq(want->grad_bytes, got->grad_bytes);
    double error = 0, size = 0;
    for (size_t i = 0; i < want->grad_bytes / sizeof(double); i++) {
        double a = ct_load(CT_F64, want->grad, (int64_t)i), b = ct_load(CT_F64, got->grad, (int64_t)i);
        error += (a - b) * (a - b);
        size += a * a;
    }
    ck_assert_msg(sqrt(error) <= 1e-11 * sqrt(size), "net %llu: gradients differ by %g of %g", (unsigned long long)seed,
                  sqrt(error), sqrt(size));
}

/* Fusing changes no number beyond rounding. */
START_TEST(test_fused_agrees)
{
    uint64_t seed = (uint64_t)_i;
    graph_step plain, fused;
    test_net net;
    test_net_random(&net, seed, CT_F64, 14);
    graph_step_run(&net, GRAPH_SHARED, seed, &plain);
    test_net_random(&net, seed, CT_F64, 14);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED, seed, &fused);
    ck_assert_double_le(fabs(plain.loss - fused.loss), 1e-12 * fabs(plain.loss));
    gradients_agree(&plain, &fused, seed);
    graph_step_free(&plain);
    graph_step_free(&fused);
}
END_TEST

/* Taken in by batch norms or not, poolings and sums of gradients give the same bits where sums are not rounded to less. */
START_TEST(test_more_agrees)
{
    uint64_t seed = (uint64_t)_i;
    graph_step plain, more;
    test_net net;
    test_net_random(&net, seed, CT_F64, 14);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED, seed, &plain);
    test_net_random(&net, seed, CT_F64, 14);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_MORE, seed, &more);
    graph_steps_equal(&plain, &more, "more fused", seed);
    graph_step_free(&plain);
    graph_step_free(&more);
    test_net_deep(&net, CT_F64, 3, 2, 12, 8);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED, seed, &plain);
    test_net_deep(&net, CT_F64, 3, 2, 12, 8);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_MORE, seed, &more);
    graph_steps_equal(&plain, &more, "sums joined", seed);
    ck_assert_int_gt(more.recomputed, 0);
    graph_step_free(&plain);
    graph_step_free(&more);
}
END_TEST

/* A whole ResNet of few channels: shortcuts' norms, and gradients of pixels that strides step over. */
START_TEST(test_more_shrinks)
{
    uint64_t seed = (uint64_t)_i;
    graph_step plain, more, again;
    test_net net;
    test_net_shrinking(&net, CT_F64);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED, seed, &plain);
    test_net_shrinking(&net, CT_F64);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_MORE, seed, &more);
    ck_assert_int_eq(more.recomputed, 4 + 4); /* norms of three shortcuts, and the pooling; sums behind all but the last block */
    graph_steps_equal(&plain, &more, "more fused", seed);
    test_net_shrinking(&net, CT_F64);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_MORE | GRAPH_RECOMPUTED, seed, &again);
    graph_steps_equal(&plain, &again, "more fused and recomputed", seed);
    graph_step_free(&plain);
    graph_step_free(&more);
    graph_step_free(&again);
}
END_TEST

/* Sums of gradients made in place change these by rounding alone, and where statistics come from changes nothing: the reference reads x for them all the same. */
START_TEST(test_measured_agrees)
{
    uint64_t seed = (uint64_t)_i;
    graph_step plain, measured;
    test_net net;
    for (int kind = 0; kind < 4; kind++) {
        const unsigned more = kind == 3 ? GRAPH_RECOMPUTED : 0;
        for (int way = 0; way < 2; way++) {
            if (kind == 0) test_net_random(&net, seed, CT_F64, 14);
            else if (kind == 1) test_net_deep(&net, CT_F64, 3, 2, 12, 8);
            else test_net_shrinking(&net, CT_F64);
            graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | (way ? GRAPH_MEASURED | more : GRAPH_PLAIN), seed, way ? &measured : &plain);
        }
        ck_assert(plain.loss == measured.loss);
        ck_assert_uint_eq(plain.buffer_bytes, measured.buffer_bytes);
        ck_assert_mem_eq(plain.buffer, measured.buffer, plain.buffer_bytes);
        gradients_agree(&plain, &measured, seed);
        if (kind > 0) ck_assert_int_gt(measured.recomputed, 0);
        if (kind == 2) ck_assert_int_eq(measured.recomputed, 4 + 12); /* sums; norms of the stem, of two a block, of three shortcuts */
        graph_step_free(&plain);
        graph_step_free(&measured);
    }
}
END_TEST

/* A deep network needs much less memory with recomputation, for the same bits. */
START_TEST(test_recompute_deep)
{
    graph_step plain, again, merged, reapplied;
    test_net net;
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_REAPPLIED, 1, &reapplied);
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED, 1, &plain);
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_RECOMPUTED, 1, &again);
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    graph_step_run(&net, GRAPH_SHARED | GRAPH_FUSED | GRAPH_RECOMPUTED | GRAPH_MERGED, 1, &merged);
    graph_steps_equal(&plain, &again, "recompute", 1);
    graph_steps_equal(&plain, &merged, "recompute in three segments", 1);
    /* 9 blocks keep 4 maps each; with recomputation 1 each, and one block's worth. */
    ck_assert_msg(again.act_bytes * 2 < plain.act_bytes, "%lld bytes with recomputation, %lld without",
                  (long long)again.act_bytes, (long long)plain.act_bytes);
    ck_assert_msg(merged.act_bytes * 3 < plain.act_bytes * 2, "%lld bytes with three segments, %lld without",
                  (long long)merged.act_bytes, (long long)plain.act_bytes);
    ck_assert_int_gt(again.recomputed, 0);
    /* Norms applied again give back one of those four, and of the blocks' ends every other one; the last end is needed for its
     * mask alone. */
    graph_steps_equal(&plain, &reapplied, "norms applied again", 1);
    ck_assert_int_eq(reapplied.recomputed, 9 + 4);
    ck_assert_msg(reapplied.act_bytes * 100 < plain.act_bytes * 75, "%lld bytes with norms applied again, %lld without",
                  (long long)reapplied.act_bytes, (long long)plain.act_bytes);
    graph_step_free(&reapplied);
    graph_step_free(&plain);
    graph_step_free(&again);
    graph_step_free(&merged);
}
END_TEST

/* bf16 activations: near the f32 gradients, in f32, and not the same. */
START_TEST(test_cast_runs)
{
    double grad[2][4096], loss[2];
    size_t n[2];
    for (int k = 0; k < 2; k++) {
        test_net net;
        graph_run r;
        ct_layout layout;
        test_net_deep(&net, CT_F32, 2, 4, 8, 6);
        MUST(ct_pass_fuse(net.g, NULL));
        MUST(ct_pass_cast(net.g, k ? CT_BF16 : CT_F32));
        test_net_backward(&net);
        MUST(ct_layout_make(net.g, &layout));
        ck_assert_int_eq(layout.dtype, CT_F32);
        graph_run_open(&r, net.g, true);
        graph_run_fill(&r, 3, net.classes);
        graph_run_nodes(&r, 0, net.g->nnodes);
        loss[k] = graph_run_get(&r, net.loss, 0);
        n[k] = r.bytes[CT_ARENA_GRAD] / sizeof(float);
        ck_assert_uint_le(n[k], 4096);
        for (size_t i = 0; i < n[k]; i++) grad[k][i] = ct_load(CT_F32, r.base[CT_ARENA_GRAD], (int64_t)i);
        graph_run_close(&r);
        ct_graph_free(net.g);
    }
    ck_assert_uint_eq(n[0], n[1]);
    double error = 0, size = 0;
    for (size_t i = 0; i < n[0]; i++) {
        error += (grad[0][i] - grad[1][i]) * (grad[0][i] - grad[1][i]);
        size += grad[0][i] * grad[0][i];
    }
    ck_assert_double_le(fabs(loss[0] - loss[1]), 0.02 * loss[0]);
    ck_assert_double_le(sqrt(error), 0.1 * sqrt(size));
    ck_assert_double_gt(sqrt(error), 1e-5 * sqrt(size));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("graph_grad");
    TCase *t = tcase_create("numbers");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_finite_differences, 0, 40);
    tcase_add_loop_test(t, test_variants_agree, 0, 40);
    tcase_add_loop_test(t, test_fused_agrees, 0, 20);
    tcase_add_loop_test(t, test_more_agrees, 0, 20);
    tcase_add_loop_test(t, test_more_shrinks, 0, 4);
    tcase_add_loop_test(t, test_measured_agrees, 0, 4);
    tcase_add_test(t, test_recompute_deep);
    tcase_add_test(t, test_cast_runs);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
