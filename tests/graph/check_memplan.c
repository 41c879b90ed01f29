/* Liveness and the memory plan: a plan is played through on a map that says whose bytes are whose. */
#include "config.h"

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/ct_check.h"
#include "tests/graph/graph_run.h"

/* ---- random graphs: structure only, they are never run ---- */

/* Values of few sizes and random lifetimes: elementwise operators, views, casts, pools, some kept values. */
static ct_graph *random_graph(uint64_t seed, int nodes)
{
    ct_graph *g;
    ct_rng rng;
    ct_val pool[512], out[CT_MAX_OUT];
    int n = 0;
    ct_rng_init(&rng, seed, CT_RNG_TEST, 9);
    MUST(ct_graph_create(&g));
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "in%d", i);
        MUST(ct_graph_input(g, name, ct_desc4(CT_F32, 1 + ct_rng_below(&rng, 3), 4, 3, 1 + ct_rng_below(&rng, 9)),
                            &pool[n++]));
    }
    for (int i = 0; i < nodes && n < 500; i++) {
        /* Mostly recent values, now and then an old one. */
        int back = ct_rng_below(&rng, 8) ? (n < 6 ? n : 6) : n;
        ct_val x = pool[n - 1 - (int)ct_rng_below(&rng, (uint32_t)back)];
        ct_desc d = *ct_graph_desc(g, x);
        ct_attrs a;
        char name[16];
        memset(&a, 0, sizeof a);
        snprintf(name, sizeof name, "n%d", i);
        switch (ct_rng_below(&rng, 6)) {
        case 0: MUST(ct_graph_node(g, CT_OP_ACTIVATION, &a, name, 1, &x, 1, 1, out)); break;
        case 1: {
            ct_val y = x;
            for (int k = 0; k < n; k++)
                if (ct_desc_equal(ct_graph_desc(g, pool[k]), &d) && ct_rng_below(&rng, 2)) y = pool[k];
            MUST(ct_graph_node(g, ct_rng_below(&rng, 2) ? CT_OP_ADD : CT_OP_MUL, NULL, name, 2, (ct_val[]){ x, y }, 1,
                               1, out));
            break;
        }
        case 2:
            a.cast.dtype = ct_rng_below(&rng, 2) ? CT_BF16 : CT_F32;
            MUST(ct_graph_node(g, CT_OP_CAST, &a, name, 1, &x, 1, 1, out));
            break;
        case 3: {
            int64_t all = ct_desc_numel(&d);
            if (d.ndim == 4) a.shape = (ct_shape_attrs){ .ndim = 2, .d0 = d.dim[0], .d1 = all / d.dim[0] };
            else a.shape = (ct_shape_attrs){ .ndim = 4, .d0 = d.dim[0], .d1 = 4, .d2 = 3, .d3 = all / d.dim[0] / 12 };
            MUST(ct_graph_node(g, CT_OP_RESHAPE, &a, name, 1, &x, 1, 1, out));
            break;
        }
        case 4:
            if (d.ndim != 4) continue;
            a.pool = (ct_pool_attrs){ .ker_h = 3, .ker_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1 };
            MUST(ct_graph_node(g, CT_OP_MAXPOOL2D, &a, name, 1, &x, 2, 3, out));
            break;
        default: MUST(ct_graph_node(g, CT_OP_BIAS_GRAD, NULL, name, 1, &x, 1, 1, out)); break;
        }
        if (ct_rng_below(&rng, 12) == 0) ct_graph_keep(g, out[0]);
        if (ct_graph_desc(g, out[0])->ndim != 1) pool[n++] = out[0];
    }
    return g;
}

/* ---- playing a plan ---- */

typedef struct map {
    int *owner;      /* per CT_ALIGN bytes of ACT: the root value whose bytes lie there, or -1 */
    size_t units;
} map;

static void paint(map *m, int64_t offset, int64_t bytes, int owner, const char *what)
{
    ck_assert_msg(offset >= 0 && offset % CT_ALIGN == 0, "%s: offset %lld", what, (long long)offset);
    size_t first = (size_t)offset / CT_ALIGN, end = ((size_t)(offset + bytes) + CT_ALIGN - 1) / CT_ALIGN;
    ck_assert_msg(end <= m->units, "%s lies outside the arena", what);
    for (size_t i = first; i < end; i++) m->owner[i] = owner;
}

static bool intact(const map *m, const ct_graph *g, ct_val root)
{
    const ct_value *v = &g->values[root];
    size_t first = (size_t)v->offset / CT_ALIGN,
           end = ((size_t)v->offset + ct_desc_bytes(&v->desc) + CT_ALIGN - 1) / CT_ALIGN;
    for (size_t i = first; i < end; i++)
        if (m->owner[i] != (int)root) return false;
    return true;
}

/* Plays all nodes: inputs must be intact when a node starts, and still when its scratch and outputs are written
 * (operators may read late), but for the one input that an output is allowed to lie on; kept values must be intact at
 * the end. */
static void play(const ct_graph *g, const size_t *scratch, const ct_memplan *plan, int *in_place)
{
    map m = { NULL, (size_t)plan->act_bytes / CT_ALIGN };
    m.owner = ct_malloc((m.units + 1) * sizeof *m.owner, "test map");
    ck_assert_ptr_nonnull(m.owner);
    for (size_t i = 0; i < m.units; i++) m.owner[i] = -1;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        const ct_op_rules *r = ct_op_get(n->op)->rules;
        if (r->flags & CT_OPF_VIEW) {
            ck_assert_int_eq(g->values[n->out[0]].offset, g->values[n->in[0]].offset);
            continue;
        }
        for (int k = 0; k < n->nin; k++) {
            ct_val root = n->in[k] == CT_NOVAL ? CT_NOVAL : g->values[n->in[k]].root;
            if (root != CT_NOVAL && g->values[root].arena == CT_ARENA_ACT)
                ck_assert_msg(intact(&m, g, root), "node %zu '%s': input '%s' was overwritten", i, n->name,
                              g->values[root].name);
        }
        if (scratch && scratch[i]) {
            ck_assert_int_eq(plan->scratch_offset[i] % CT_DEVICE_ALIGN, 0);
            paint(&m, plan->scratch_offset[i], (int64_t)scratch[i], -2, "scratch");
        }
        else {
            ck_assert_int_eq(plan->scratch_offset[i], -1);
        }
        for (int k = 0; k < n->nout; k++) {
            const ct_value *v = &g->values[n->out[k]];
            if (v->arena == CT_ARENA_ACT)
                paint(&m, v->offset, (int64_t)ct_desc_bytes(&v->desc), (int)n->out[k], v->name);
        }
        for (int k = 0; k < n->nin; k++) {
            ct_val root = n->in[k] == CT_NOVAL ? CT_NOVAL : g->values[n->in[k]].root;
            if (root == CT_NOVAL || g->values[root].arena != CT_ARENA_ACT || intact(&m, g, root)) continue;
            bool allowed = k == r->inplace_in && g->values[n->out[r->inplace_out]].offset == g->values[root].offset;
            ck_assert_msg(allowed, "node %zu '%s': input '%s' is overwritten while it runs", i, n->name,
                          g->values[root].name);
            (*in_place)++;
        }
        for (int k = 0; k < n->nout; k++)
            if (g->values[n->out[k]].arena == CT_ARENA_ACT)
                ck_assert_msg(intact(&m, g, n->out[k]), "outputs of '%s' overlap", n->name);
        /* Scratch is free again. */
        if (scratch && scratch[i]) {
            size_t first = (size_t)plan->scratch_offset[i] / CT_ALIGN, units = (scratch[i] + CT_ALIGN - 1) / CT_ALIGN;
            for (size_t u = first; u < first + units; u++)
                ck_assert_msg(m.owner[u] == -2, "outputs of '%s' lie in its scratch", n->name);
        }
    }
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].keep && g->values[g->values[v].root].arena == CT_ARENA_ACT)
            ck_assert_msg(intact(&m, g, g->values[v].root), "kept value '%s' was overwritten", g->values[v].name);
    ct_free(m.owner);
}

static void check_bounds(const ct_graph *g, const size_t *scratch, const ct_memplan *plan)
{
    int64_t most_scratch = 0;
    for (size_t i = 0; i < g->nnodes; i++)
        if (scratch && (int64_t)scratch[i] > most_scratch) most_scratch = (int64_t)scratch[i];
    ck_assert_int_le(plan->lower_bound, plan->act_bytes);
    ck_assert_int_le(plan->act_bytes, plan->unshared_bytes + most_scratch + CT_DEVICE_ALIGN);
    ck_assert_uint_eq(plan->nscratch, g->nnodes);
    /* INPUT values lie side by side. */
    for (size_t a = 0; a < g->nvalues; a++) {
        const ct_value *v = &g->values[a];
        if (v->arena != CT_ARENA_INPUT || v->root != (ct_val)a) continue;
        ck_assert(v->offset >= 0 && v->offset % CT_ALIGN == 0);
        ck_assert_int_le(v->offset + (int64_t)ct_desc_bytes(&v->desc), plan->input_bytes);
        for (size_t b = 0; b < a; b++) {
            const ct_value *w = &g->values[b];
            if (w->arena != CT_ARENA_INPUT || w->root != (ct_val)b) continue;
            bool apart = v->offset >= w->offset + (int64_t)ct_desc_bytes(&w->desc) ||
                         w->offset >= v->offset + (int64_t)ct_desc_bytes(&v->desc);
            ck_assert_msg(apart, "inputs '%s' and '%s' overlap", v->name, w->name);
        }
    }
}

START_TEST(test_random_plans)
{
    int in_place = 0;
    for (uint64_t k = 0; k < 25; k++) {
        uint64_t seed = (uint64_t)_i * 25 + k;
        ct_graph *g = random_graph(seed, 20 + (int)(seed % 7) * 30);
        ct_memplan plan, again;
        size_t *scratch = ct_calloc(g->nnodes + 1, sizeof *scratch, "test");
        ck_assert_ptr_nonnull(scratch);
        ct_rng rng;
        ct_rng_init(&rng, seed, CT_RNG_TEST, 10);
        for (size_t i = 0; i < g->nnodes; i++)
            if (!(ct_op_get(g->nodes[i].op)->rules->flags & CT_OPF_VIEW) && ct_rng_below(&rng, 3) == 0)
                scratch[i] = 1 + ct_rng_below(&rng, 2000);
        MUST(ct_memplan_make(g, scratch, &plan));
        play(g, scratch, &plan, &in_place);
        check_bounds(g, scratch, &plan);
        /* The same graph gives the same plan. */
        int64_t sum = 0, sum_again = 0;
        for (size_t v = 0; v < g->nvalues; v++) sum += g->values[v].offset * (int64_t)(v + 1);
        MUST(ct_memplan_make(g, scratch, &again));
        for (size_t v = 0; v < g->nvalues; v++) sum_again += g->values[v].offset * (int64_t)(v + 1);
        ck_assert_int_eq(sum, sum_again);
        ck_assert_int_eq(plan.act_bytes, again.act_bytes);
        ct_memplan_free(&plan);
        ct_memplan_free(&again);
        ct_free(scratch);
        ct_graph_free(g);
    }
    ck_assert_msg(in_place > 0, "no operator ran in place");
}
END_TEST

/* Training graphs, with and without recomputation: what plans are for. The plan must also be good. */
START_TEST(test_training_plans)
{
    for (int again = 0; again < 2; again++) {
        test_net net;
        ct_memplan plan;
        ct_layout layout;
        int in_place = 0;
        test_net_deep(&net, CT_F32, 8, 4, 16, 16);
        MUST(ct_pass_fuse(net.g, NULL));
        test_net_backward(&net);
        if (again) MUST(ct_pass_recompute(net.g, 0, NULL));
        MUST(ct_layout_make(net.g, &layout));
        size_t *scratch = ct_calloc(net.g->nnodes + 1, sizeof *scratch, "test");
        ck_assert_ptr_nonnull(scratch);
        for (size_t i = 0; i < net.g->nnodes; i++)
            if (net.g->nodes[i].op == CT_OP_CONV2D) scratch[i] = 100000;
        MUST(ct_memplan_make(net.g, scratch, &plan));
        play(net.g, scratch, &plan, &in_place);
        check_bounds(net.g, scratch, &plan);
        ck_assert_int_gt(in_place, 0);
        ck_assert_msg(plan.act_bytes * 100 <= plan.lower_bound * 105, "%lld bytes planned, %lld at least needed",
                      (long long)plan.act_bytes, (long long)plan.lower_bound);
        ct_memplan_free(&plan);
        ct_free(scratch);
        ct_graph_free(net.g);
    }
}
END_TEST

START_TEST(test_chain)
{
    /* a -> b -> c -> d by relu: each in place of the one before; conv-like operators need two places. */
    ct_graph *g;
    ct_val x, v, w[2];
    ct_memplan plan;
    ct_attrs a;
    memset(&a, 0, sizeof a);
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "x", ct_desc4(CT_F32, 1, 8, 8, 4), &x));
    v = x;
    for (int i = 0; i < 5; i++) MUST(ct_graph_node(g, CT_OP_ACTIVATION, &a, "relu", 1, &v, 1, 1, &v));
    MUST(ct_memplan_make(g, NULL, &plan));
    ck_assert_int_eq(plan.act_bytes, 1024); /* the input is not overwritten, the first relu's place serves all */
    ck_assert_int_eq(plan.lower_bound, 1024);
    ck_assert_int_eq(plan.unshared_bytes, 5 * 1024);
    ck_assert_int_eq(plan.input_bytes, 1024);
    ct_memplan_free(&plan);

    ct_attrs p = { .pool = { .ker_h = 1, .ker_w = 1, .stride_h = 1, .stride_w = 1 } };
    for (int i = 0; i < 4; i++) MUST(ct_graph_node(g, CT_OP_AVGPOOL2D, &p, "pool", 1, &v, 1, 1, &v));
    MUST(ct_memplan_make(g, NULL, &plan));
    ck_assert_int_eq(plan.act_bytes, 2048);
    ct_memplan_free(&plan);

    /* A kept value cannot be overwritten, nor one that is read later, nor a view's source while the view is read. */
    ct_graph_keep(g, v);
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &a, "kept", 1, &v, 1, 1, &w[0]));
    ct_graph_keep(g, w[0]);
    MUST(ct_memplan_make(g, NULL, &plan));
    ck_assert_int_ne(g->values[v].offset, g->values[w[0]].offset);
    ct_memplan_free(&plan);
    ct_attrs flat = { .shape = { .ndim = 1, .d0 = 256 } };
    ct_val view, y, z;
    MUST(ct_graph_node(g, CT_OP_AVGPOOL2D, &p, "source", 1, &v, 1, 1, &v));
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "view", 1, &v, 1, 1, &view));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &a, "y", 1, &v, 1, 1, &y));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &a, "z", 1, &view, 1, 1, &z));
    MUST(ct_memplan_make(g, NULL, &plan));
    ck_assert_int_ne(g->values[y].offset, g->values[v].offset);
    ck_assert_int_eq(g->values[z].offset, g->values[v].offset); /* here it dies, read through the view */
    ct_memplan_free(&plan);
    ct_graph_free(g);
}
END_TEST

START_TEST(test_liveness)
{
    ct_graph *g;
    ct_val x, a, b, c, k;
    int first[8], last[8];
    ct_attrs act, flat = { .shape = { .ndim = 1, .d0 = 6 } };
    memset(&act, 0, sizeof act);
    MUST(ct_graph_create(&g));
    MUST(ct_graph_input(g, "x", ct_desc2(CT_F32, 2, 3), &x));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &act, "a", 1, &x, 1, 1, &a));
    MUST(ct_graph_node(g, CT_OP_RESHAPE, &flat, "b", 1, &a, 1, 1, &b));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &act, "k", 1, &x, 1, 1, &k));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &act, "c", 1, &b, 1, 1, &c));
    MUST(ct_graph_node(g, CT_OP_ACTIVATION, &act, "d", 1, &x, 1, 1, &x));
    ct_graph_keep(g, k);
    MUST(ct_liveness(g, first, last));
    ck_assert(first[0] == 0 && last[0] == 4);
    ck_assert(first[a] == 0 && last[a] == 3);
    ck_assert(first[b] == 0 && last[b] == 3);
    ck_assert(first[k] == 2 && last[k] == 4);
    ck_assert(first[c] == 3 && last[c] == 3);
    ct_graph_free(g);
}
END_TEST

START_TEST(test_empty)
{
    ct_graph *g;
    ct_memplan plan;
    MUST(ct_graph_create(&g));
    MUST(ct_memplan_make(g, NULL, &plan));
    ck_assert_int_eq(plan.act_bytes, 0);
    ck_assert_int_eq(plan.lower_bound, 0);
    ct_memplan_free(&plan);
    ct_memplan_free(NULL);
    ct_graph_free(g);
    ct_graph_free(NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memplan");
    TCase *t = tcase_create("plans");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_random_plans, 0, 12);
    tcase_add_test(t, test_training_plans);
    tcase_add_test(t, test_chain);
    tcase_add_test(t, test_liveness);
    tcase_add_test(t, test_empty);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
