/* Whole graphs, run with the reference implementations: gradients against finite differences, and the passes and the
 * memory plan against the plain graph. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/ct_check.h"
#include "tests/graph/graph_run.h"

static size_t first_backward(const ct_graph *g)
{
    size_t i = 0;
    while (i < g->nnodes && g->nodes[i].phase == CT_PHASE_FORWARD) i++;
    return i;
}

/* The loss with parameter p moved by t along direction d [n]. */
static double moved_loss(graph_run *r, const test_net *net, ct_val p, const double *at, const double *d, int64_t n,
                         double t)
{
    for (int64_t i = 0; i < n; i++) graph_run_set(r, p, i, at[i] + t * d[i]);
    graph_run_nodes(r, 0, first_backward(r->g));
    double loss = graph_run_get(r, net->loss, 0);
    for (int64_t i = 0; i < n; i++) graph_run_set(r, p, i, at[i]);
    return loss;
}

/* Compares the gradient of p along a random direction with a five-point difference. A step across the kink of a relu or
 * a maximum gives a wrong difference; such a step is not repeated at every step size, a wrong gradient is. */
static void check_param(graph_run *r, const test_net *net, ct_val p, uint64_t seed, double loss)
{
    int64_t n = ct_desc_numel(ct_graph_desc(r->g, p));
    double *at = ct_calloc((size_t)n, sizeof *at, "test"), *d = ct_calloc((size_t)n, sizeof *d, "test");
    double norm = 0, slope = 0, fd = 0, tolerance = 0;
    ct_rng rng;
    ck_assert(at && d);
    ct_rng_init(&rng, seed, CT_RNG_TEST, 77);
    for (int64_t i = 0; i < n; i++) {
        at[i] = graph_run_get(r, p, i);
        d[i] = ct_rng_normal(&rng);
        norm += d[i] * d[i];
    }
    double size = 0;
    for (int64_t i = 0; i < n; i++) {
        double g = graph_run_get(r, r->g->values[p].grad, i);
        d[i] /= sqrt(norm);
        slope += g * d[i];
        size += g * g;
    }
    bool fine = false;
    for (double h = 1e-4; h > 1e-6 && !fine; h /= 8) {
        double f1 = moved_loss(r, net, p, at, d, n, h), f_1 = moved_loss(r, net, p, at, d, n, -h);
        double f2 = moved_loss(r, net, p, at, d, n, 2 * h), f_2 = moved_loss(r, net, p, at, d, n, -2 * h);
        fd = (8 * (f1 - f_1) - (f2 - f_2)) / (12 * h);
        tolerance = 1e-6 * sqrt(size) + 64 * 0x1p-52 * fabs(loss) / h;
        fine = fabs(fd - slope) <= tolerance;
    }
    ck_assert_msg(fine, "net %llu: '%s': difference quotient %.12g, gradient %.12g, allowed %.3g",
                  (unsigned long long)seed, r->g->values[p].name, fd, slope, tolerance);
    ct_free(at);
    ct_free(d);
}

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
        check_param(&r, &net, (ct_val)v, seed, loss);
        checked++;
    }
    ck_assert_int_ge(checked, 3);
    graph_run_close(&r);
    ct_graph_free(net.g);
}
END_TEST

/* Everything a step leaves behind. */
typedef struct result {
    double loss;
    size_t grad_bytes, buffer_bytes;
    char *grad, *buffer;
    int64_t act_bytes, lower_bound;
    int recomputed;
} result;

static void result_free(result *x)
{
    ct_free(x->grad);
    ct_free(x->buffer);
}

enum variant { PLAIN = 0, SHARED = 1, FUSED = 2, RECOMPUTED = 4, MERGED = 8, REAPPLIED = 16 };

static void run_variant(const test_net *built, unsigned variant, uint64_t seed, result *out)
{
    test_net net = *built;
    graph_run r;
    ct_layout layout;
    memset(out, 0, sizeof *out);
    if (variant & FUSED) MUST(ct_pass_fuse(net.g, NULL));
    test_net_backward(&net);
    if (variant & RECOMPUTED) MUST(ct_pass_recompute(net.g, variant & MERGED ? 3 : 0, &out->recomputed));
    if (variant & REAPPLIED) MUST(ct_pass_reapply(net.g, &out->recomputed));
    MUST(ct_layout_make(net.g, &layout));
    graph_run_open(&r, net.g, variant & SHARED);
    graph_run_fill(&r, seed, net.classes);
    graph_run_nodes(&r, 0, net.g->nnodes);
    out->loss = graph_run_get(&r, net.loss, 0);
    out->grad_bytes = r.bytes[CT_ARENA_GRAD];
    out->buffer_bytes = r.bytes[CT_ARENA_BUFFER];
    out->grad = ct_malloc(out->grad_bytes + 1, "test");
    out->buffer = ct_malloc(out->buffer_bytes + 1, "test");
    ck_assert(out->grad && out->buffer);
    memcpy(out->grad, r.base[CT_ARENA_GRAD], out->grad_bytes);
    memcpy(out->buffer, r.base[CT_ARENA_BUFFER], out->buffer_bytes);
    out->act_bytes = r.plan.act_bytes;
    out->lower_bound = r.plan.lower_bound;
    graph_run_close(&r);
    ct_graph_free(net.g);
}

static void must_be_equal(const result *a, const result *b, const char *what, uint64_t seed)
{
    ck_assert_msg(memcmp(&a->loss, &b->loss, sizeof a->loss) == 0, "net %llu: %s: loss %.17g and %.17g",
                  (unsigned long long)seed, what, a->loss, b->loss);
    ck_assert_uint_eq(a->grad_bytes, b->grad_bytes);
    ck_assert_uint_eq(a->buffer_bytes, b->buffer_bytes);
    ck_assert_msg(memcmp(a->grad, b->grad, a->grad_bytes) == 0, "net %llu: %s: gradients differ",
                  (unsigned long long)seed, what);
    ck_assert_msg(memcmp(a->buffer, b->buffer, a->buffer_bytes) == 0, "net %llu: %s: running statistics differ",
                  (unsigned long long)seed, what);
}

/* In shared memory, with recomputation, and with batch norms applied again, the same bits as with a place for every value. */
START_TEST(test_variants_agree)
{
    uint64_t seed = (uint64_t)_i;
    ct_dtype dtype = seed % 3 ? CT_F32 : CT_F64;
    unsigned fused = seed % 2 ? FUSED : 0;
    const unsigned variants[] = { SHARED,    RECOMPUTED,         SHARED | RECOMPUTED, SHARED | RECOMPUTED | MERGED,
                                  REAPPLIED, SHARED | REAPPLIED };
    result plain, other;
    test_net net;
    test_net_random(&net, seed, dtype, 14);
    run_variant(&net, PLAIN | fused, seed, &plain);
    ck_assert(isfinite(plain.loss));
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        test_net_random(&net, seed, dtype, 14);
        run_variant(&net, variants[i] | fused, seed, &other);
        must_be_equal(&plain, &other,
                      i == 0   ? "memory plan"
                      : i == 1 ? "recompute"
                      : i < 4  ? "recompute in planned memory"
                               : "norms applied again",
                      seed);
        ck_assert_int_ge(other.act_bytes, other.lower_bound);
        result_free(&other);
    }
    result_free(&plain);
}
END_TEST

/* Fusing changes no number beyond rounding. */
START_TEST(test_fused_agrees)
{
    uint64_t seed = (uint64_t)_i;
    result plain, fused;
    test_net net;
    test_net_random(&net, seed, CT_F64, 14);
    run_variant(&net, SHARED, seed, &plain);
    test_net_random(&net, seed, CT_F64, 14);
    run_variant(&net, SHARED | FUSED, seed, &fused);
    ck_assert_double_le(fabs(plain.loss - fused.loss), 1e-12 * fabs(plain.loss));
    ck_assert_uint_eq(plain.grad_bytes, fused.grad_bytes);
    double error = 0, size = 0;
    for (size_t i = 0; i < plain.grad_bytes / sizeof(double); i++) {
        double a = ct_load(CT_F64, plain.grad, (int64_t)i), b = ct_load(CT_F64, fused.grad, (int64_t)i);
        error += (a - b) * (a - b);
        size += a * a;
    }
    ck_assert_msg(sqrt(error) <= 1e-11 * sqrt(size), "net %llu: gradients differ by %g of %g", (unsigned long long)seed,
                  sqrt(error), sqrt(size));
    result_free(&plain);
    result_free(&fused);
}
END_TEST

/* A deep network needs much less memory with recomputation, for the same bits. */
START_TEST(test_recompute_deep)
{
    result plain, again, merged, reapplied;
    test_net net;
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    run_variant(&net, SHARED | FUSED | REAPPLIED, 1, &reapplied);
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    run_variant(&net, SHARED | FUSED, 1, &plain);
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    run_variant(&net, SHARED | FUSED | RECOMPUTED, 1, &again);
    test_net_deep(&net, CT_F32, 9, 2, 12, 8);
    run_variant(&net, SHARED | FUSED | RECOMPUTED | MERGED, 1, &merged);
    must_be_equal(&plain, &again, "recompute", 1);
    must_be_equal(&plain, &merged, "recompute in three segments", 1);
    /* 9 blocks keep 4 maps each; with recomputation 1 each, and one block's worth. */
    ck_assert_msg(again.act_bytes * 2 < plain.act_bytes, "%lld bytes with recomputation, %lld without",
                  (long long)again.act_bytes, (long long)plain.act_bytes);
    ck_assert_msg(merged.act_bytes * 3 < plain.act_bytes * 2, "%lld bytes with three segments, %lld without",
                  (long long)merged.act_bytes, (long long)plain.act_bytes);
    ck_assert_int_gt(again.recomputed, 0);
    /* Norms applied again give back one of those four, and of the blocks' ends every other one; the last end is needed for its
     * mask alone. */
    must_be_equal(&plain, &reapplied, "norms applied again", 1);
    ck_assert_int_eq(reapplied.recomputed, 9 + 4);
    ck_assert_msg(reapplied.act_bytes * 100 < plain.act_bytes * 75, "%lld bytes with norms applied again, %lld without",
                  (long long)reapplied.act_bytes, (long long)plain.act_bytes);
    result_free(&reapplied);
    result_free(&plain);
    result_free(&again);
    result_free(&merged);
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
    tcase_add_test(t, test_recompute_deep);
    tcase_add_test(t, test_cast_runs);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
