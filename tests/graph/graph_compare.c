#include "config.h"

#include "tests/graph/graph_compare.h"

#include <math.h>

#include "base/alloc.h"

/* ---- gradients ---- */

static size_t first_backward(const ct_graph *g)
{
    size_t i = 0;
    while (i < g->nnodes && g->nodes[i].phase == CT_PHASE_FORWARD) i++;
    return i;
}

/* The loss with parameter p moved by t along direction d [n]. */
static double moved_loss(graph_run *r, ct_val loss_val, ct_val p, const double *at, const double *d, int64_t n,
                         double t)
{
    for (int64_t i = 0; i < n; i++) graph_run_set(r, p, i, at[i] + t * d[i]);
    graph_run_nodes(r, 0, first_backward(r->g));
    double loss = graph_run_get(r, loss_val, 0);
    for (int64_t i = 0; i < n; i++) graph_run_set(r, p, i, at[i]);
    return loss;
}

/* Compares the gradient of p along a random direction with a five-point difference. A step across the kink of a relu or
 * a maximum gives a wrong difference; such a step is not repeated at every step size, a wrong gradient is. Networks of
 * many relus need very small steps, which are taken as long as rounding leaves five digits of the gradient. */
void graph_check_gradient(graph_run *r, ct_val loss_val, double loss, ct_val p, uint64_t seed)
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
    const double rounding = 64 * 0x1p-52 * fabs(loss);
    for (double h = 1e-4; (h > 1e-6 || rounding / h < 1e-5 * sqrt(size)) && !fine; h /= 8) {
        double f1 = moved_loss(r, loss_val, p, at, d, n, h), f_1 = moved_loss(r, loss_val, p, at, d, n, -h);
        double f2 = moved_loss(r, loss_val, p, at, d, n, 2 * h), f_2 = moved_loss(r, loss_val, p, at, d, n, -2 * h);
        fd = (8 * (f1 - f_1) - (f2 - f_2)) / (12 * h);
        tolerance = 1e-6 * sqrt(size) + rounding / h;
        fine = fabs(fd - slope) <= tolerance;
    }
    ck_assert_msg(fine, "net %llu: '%s': difference quotient %.12g, gradient %.12g, allowed %.3g",
                  (unsigned long long)seed, r->g->values[p].name, fd, slope, tolerance);
    ct_free(at);
    ct_free(d);
}

/* ---- steps ---- */

void graph_step_free(graph_step *x)
{
    ct_free(x->grad);
    ct_free(x->buffer);
}

void graph_step_run(const test_net *built, unsigned variant, uint64_t seed, graph_step *out)
{
    test_net net = *built;
    graph_run r;
    ct_layout layout;
    memset(out, 0, sizeof *out);
    int pools = 0, sums = 0;
    if (variant & GRAPH_FUSED) MUST(ct_pass_fuse(net.g, NULL));
    if (variant & (GRAPH_MORE | GRAPH_MEASURED)) MUST(ct_pass_fuse_more(net.g, &pools));
    test_net_backward(&net);
    if (variant & GRAPH_MORE) MUST(ct_pass_join(net.g, &sums));
    out->recomputed = pools + sums;
    if (variant & GRAPH_MEASURED) MUST(ct_pass_accumulate(net.g, &out->recomputed));
    if (variant & GRAPH_RECOMPUTED) MUST(ct_pass_recompute(net.g, variant & GRAPH_MERGED ? 3 : 0, &out->recomputed));
    if (variant & GRAPH_REAPPLIED) MUST(ct_pass_reapply(net.g, 0, &out->recomputed));
    if (variant & GRAPH_MEASURED) {
        MUST(ct_pass_measure(net.g, &pools));
        out->recomputed += pools;
        graph_check_valid(net.g);
    }
    MUST(ct_layout_make(net.g, &layout));
    graph_run_open(&r, net.g, variant & GRAPH_SHARED);
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

void graph_steps_equal(const graph_step *a, const graph_step *b, const char *what, uint64_t seed)
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
