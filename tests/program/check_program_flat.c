/* What programs for devices leave out: casts of single tensors, gradients that are zero. The results are the same. */
#include "tests/program/check_program.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "bench/bench.h"

/* Casts that read a parameter or write a gradient, those of flat arenas counted like others; `flat`: these alone. */
static int count_casts(const ct_graph *g, bool flat)
{
    int n = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (g->nodes[i].op != CT_OP_CAST) continue;
        const ct_value *in = &g->values[g->nodes[i].in[0]], *out = &g->values[g->nodes[i].out[0]];
        if (in->arena != CT_ARENA_PARAM && out->arena != CT_ARENA_GRAD) continue;
        n += flat ? in->range && out->range : 1;
    }
    return n;
}

/* What two runs leave in a parameter's `arena`: equal, wherever the gradients of the second lie. */
static void same_tensors(const test_run *a, const test_run *b, ct_arena arena, const char *model)
{
    const ct_graph *g = a->p[0].graph, *h = b->p[0].graph;
    for (size_t v = 0; v < g->nvalues; v++) {
        if (!ct_graph_is_weight(g, (ct_val)v) || g->values[v].arena != CT_ARENA_PARAM) continue;
        const size_t bytes = ct_desc_bytes(&g->values[v].desc);
        char *x = ct_malloc(bytes, "test"), *y = ct_malloc(bytes, "test");
        ok(ct_arenas_get(a->store, g, (ct_val)v, arena, x));
        ok(ct_arenas_get(b->store, h, ct_graph_find(h, g->values[v].name), arena, y));
        ck_assert_msg(memcmp(x, y, bytes) == 0, "%s: %s in arena %s", model, g->values[v].name, ct_arena_name(arena));
        ct_free(x);
        ct_free(y);
    }
}

static int count_nodes(const test_run *r, ct_op op)
{
    int n = 0;
    for (size_t i = 0; i < r->p[0].graph->nnodes; i++) n += r->p[0].graph->nodes[i].op == op;
    return n;
}

static void same_arenas(const test_run *a, const test_run *b, const char *model)
{
    ok(a->store->backend->stream_sync(a->store->device, a->store->stream));
    ok(b->store->backend->stream_sync(b->store->device, b->store->stream));
    for (int i = 0; i < CT_ARENA_COUNT; i++) {
        const ct_arena x = (ct_arena)i;
        if (x == CT_ARENA_ACT || x == CT_ARENA_INPUT || x == CT_ARENA_GRAD || !a->store->base[i]) continue;
        ck_assert_msg(memcmp(a->store->base[i], b->store->base[i], a->store->bytes[i]) == 0, "%s: arena %s", model, ct_arena_name(x));
    }
    same_tensors(a, b, CT_ARENA_GRAD, model);
}

/* Behind a step or update all parameters, whoever reads them, stand in PARAM16 as a cast would give them. */
static void copies_hold(const test_run *r, ct_dtype half)
{
    ck_assert_int_eq(r->store->copied, CT_ARENA_PARAM);
    ok(r->store->backend->stream_sync(r->store->device, r->store->stream));
    const uint16_t *copy = r->store->base[CT_ARENA_PARAM16];
    for (int64_t i = 0; i < r->layout.param_elems; i++) {
        uint16_t want;
        ct_store(half, &want, 0, ct_load(CT_F32, r->store->base[CT_ARENA_PARAM], i));
        ck_assert_msg(copy[i] == want, "element %lld of %lld", (long long)i, (long long)r->layout.param_elems);
    }
}

/* The first parameter of the first program that is cast becomes half of what it is. */
static void halve_filter(test_run *r)
{
    const ct_graph *g = r->p[0].graph;
    for (size_t v = 0; v < g->nvalues; v++) {
        const ct_desc *d = &g->values[v].desc;
        if (!ct_graph_is_weight(g, (ct_val)v) || d->ndim != 4) continue;
        float *w = ct_malloc(ct_desc_bytes(d), "test");
        ok(ct_arenas_get(r->store, g, (ct_val)v, CT_ARENA_PARAM, w));
        for (int64_t i = 0; i < ct_desc_numel(d); i++) w[i] *= 0.5f;
        ok(ct_arenas_set(r->store, g, (ct_val)v, CT_ARENA_PARAM, w));
        ct_free(w);
        return;
    }
    ck_abort_msg("no filter");
}

/* How the two kinds of programs are compared. */
typedef struct flat_test {
    const char *model;
    ct_dtype compute;
    int64_t accumulate;
    int recompute;
    double ema, max_norm, loss_scale;
    ct_optimizer_kind optimizer;
    char *const *frozen;  /* [frozens] layers */
    size_t frozens;
    bool fused;           /* fuse_more in the second kind */
    bool emulated, eager; /* on the emulated card; there without a graph */
    int steps;
} flat_test;

static char *const first_layer[] = { "features.0" };
static char *const all_but_a_block[] = { "conv1", "bn1", "layer1", "layer2", "layer3", "layer4.0" };

static const flat_test flat_tests[] = { /* those on the emulated card last */
    { .model = "textcnn", .compute = CT_BF16, .accumulate = 1, .recompute = -1, .loss_scale = 1, .steps = 4 },
    { .model = "textcnn", .compute = CT_F16, .accumulate = 2, .recompute = -1, .loss_scale = 256, .steps = 4 },
    { .model = "resnet18", .compute = CT_BF16, .accumulate = 1, .recompute = 0, .ema = 0.9, .loss_scale = 1,
      .steps = 3 },
    { .model = "crnn-small", .compute = CT_BF16, .accumulate = 1, .recompute = -1, .loss_scale = 1, .steps = 3 },
    { .model = "textcnn", .compute = CT_BF16, .accumulate = 1, .recompute = -1, .max_norm = 0.01, .loss_scale = 1,
      .optimizer = CT_OPT_SGD, .frozen = first_layer, .frozens = 1, .ema = 0.5, .steps = 4 },
    { .model = "textcnn", .compute = CT_F16, .accumulate = 1, .recompute = -1, .loss_scale = 0x1p24, .steps = 12 },
    { .model = "textcnn", .compute = CT_BF16, .accumulate = 1, .recompute = -1, .max_norm = 0.01, .loss_scale = 1,
      .optimizer = CT_OPT_MUON, .frozen = first_layer, .frozens = 1, .ema = 0.5, .steps = 4 },
    { .model = "crnn-small", .compute = CT_F16, .accumulate = 1, .recompute = -1, .loss_scale = 0x1p20,
      .optimizer = CT_OPT_MUON, .steps = 10 },
    { .model = "textcnn", .compute = CT_BF16, .accumulate = 1, .recompute = -1, .max_norm = 0.01, .loss_scale = 1,
      .emulated = true, .ema = 0.5, .steps = 5 },
    { .model = "textcnn", .compute = CT_F16, .accumulate = 1, .recompute = -1, .loss_scale = 256, .emulated = true,
      .eager = true, .optimizer = CT_OPT_SGD, .steps = 5 },
    { .model = "textcnn", .compute = CT_BF16, .accumulate = 1, .recompute = -1, .loss_scale = 1, .emulated = true,
      .optimizer = CT_OPT_MUON, .steps = 5 },
    { .model = "textcnn", .compute = CT_BF16, .accumulate = 2, .recompute = -1, .loss_scale = 1, .emulated = true,
      .steps = 5 },
};

static void open_flat(test_run *r, const flat_test *t, bool flat)
{
    const ct_device_opts opts = { .threads = 2, .eager = t->eager };
    const ct_backend *b = &ct_backend_cpu;
    ct_program_spec s;
    small_spec(&s, t->model, 4);
    s.model.height = s.model.width = 32;
    s.compute = t->compute;
    s.loss_scale = t->loss_scale;
    s.optim.dynamic = t->compute == CT_F16;
    s.optim.max_norm = t->max_norm;
    s.optim.decay = t->ema;
    s.optimizer = t->optimizer;
    s.accumulate = t->accumulate;
    s.recompute = t->recompute;
    s.channel_multiple = 8;
    s.flat_casts = flat;
    s.fuse_more = flat && t->fused;
    s.freeze = t->frozen;
    s.freezes = t->frozens;
    if (t->emulated) {
        char path[1024];
        snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
        setenv("CAPTRAIN_BACKEND_PATH", path, 1);
        ok(ct_backend_load("cuda", &b));
    }
    run_open_on(r, &s, b, &opts);
}

/* Fewer casts than one a tensor; on the whole, fewer bytes by what the casts of parameters read (4 an element) and
 * those of gradients read and wrote (6), and by two of the four bytes that the norm and the optimizer read each. */
static void check_plans(const test_run *each, const test_run *flat, const flat_test *t)
{
    const char *model = t->model;
    const int had = count_casts(each->p[0].graph, false), left = count_casts(flat->p[0].graph, false);
    ck_assert_int_eq(count_casts(each->p[0].graph, true), 0);
    ck_assert_int_ge(count_casts(flat->p[0].graph, true), 1); /* parameters, in phase LOAD */
    ck_assert_msg(left <= had / 2, "%s: %d casts instead of %d", model, left, had);
    ck_assert_int_eq(flat->p[0].graph->nodes[0].phase, CT_PHASE_LOAD);
    ck_assert_int_ne(flat->p[0].graph->nodes[1].phase, CT_PHASE_LOAD);
    ct_plan_stats a, b;
    ct_plan_get_stats(each->plan[0], &a);
    ct_plan_get_stats(flat->plan[0], &b);
    if (t->accumulate > 1 || t->frozen) return;
    ck_assert_msg(a.bytes - b.bytes >= 0.95 * 14 * (double)flat->layout.decay_elems,
                  "%s: %g bytes a step instead of %g", model, b.bytes, a.bytes);
}

static void compare(const flat_test *t)
{
    const bool ema = t->ema > 0, micro = t->accumulate > 1;
    test_run each, flat;
    open_flat(&each, t, false);
    open_flat(&flat, t, true);
    check_plans(&each, &flat, t);
    const int update = micro ? run_add(&each, CT_PROGRAM_UPDATE, 4, false) : 0;
    if (micro) ck_assert_int_eq(run_add(&flat, CT_PROGRAM_UPDATE, 4, false), update);
    const int eval = run_add(&each, CT_PROGRAM_EVAL, 3, ema);
    ck_assert_int_eq(run_add(&flat, CT_PROGRAM_EVAL, 3, ema), eval);
    for (int step = 0; step < t->steps; step++) {
        if (step == 2) { /* weights that nobody has cast yet */
            halve_filter(&each);
            halve_filter(&flat);
        }
        const double a = run_step(&each, 0, 10 * step), b = run_step(&flat, 0, 10 * step);
        ck_assert_msg(a == b || (isnan(a) && isnan(b)), "%s: %.17g %.17g", t->model, a, b);
        if (update) ok(ct_plan_run(each.plan[update]));
        if (update) ok(ct_plan_run(flat.plan[update]));
        same_arenas(&each, &flat, t->model);
        copies_hold(&flat, t->compute);
        if (step == 0) continue;
        /* Of other weights, if there is an average. */
        const double c = run_step(&each, eval, 5), d = run_step(&flat, eval, 5);
        ck_assert_msg(c == d, "%s evaluated: %.17g %.17g", t->model, c, d);
    }
    double state[CT_STATE_COUNT];
    ok(ct_arenas_get_state(flat.store, state));
    ck_assert_int_eq(state[CT_STATE_SKIPPED] > 0, t->loss_scale > 1e6);
    ck_assert_double_gt(state[CT_STATE_APPLIED], 0);
    run_close(&each);
    run_close(&flat);
}

START_TEST(flat_casts)
{
    compare(&flat_tests[_i]);
}
END_TEST

/* The copies of the parameters are made where weights changed behind the update's back, and only there. */
START_TEST(loads)
{
    test_run r;
    open_flat(&r, &flat_tests[4], true);
    const int eval = run_add(&r, CT_PROGRAM_EVAL, 3, false), ema = run_add(&r, CT_PROGRAM_EVAL, 3, true);
    ck_assert_int_eq(r.store->copied, CT_ARENA_INPUT); /* weights were drawn */
    run_step(&r, 0, 0);
    ck_assert_int_eq(r.store->copied, CT_ARENA_PARAM);
    run_step(&r, eval, 0);
    ck_assert_int_eq(r.store->copied, CT_ARENA_PARAM);
    run_step(&r, ema, 0);
    ck_assert_int_eq(r.store->copied, CT_ARENA_EMA);
    halve_filter(&r);
    ck_assert_int_eq(r.store->copied, CT_ARENA_EMA); /* still what the averages are */
    ok(ct_arenas_reset_ema(r.store));
    ck_assert_int_eq(r.store->copied, CT_ARENA_INPUT);
    run_step(&r, 0, 1);
    ck_assert_int_eq(r.store->copied, CT_ARENA_PARAM);
    halve_filter(&r);
    ck_assert_int_eq(r.store->copied, CT_ARENA_INPUT);
    ct_op_times times; /* of what each step does */
    int casts = 0;
    ok(ct_op_times_sum(r.plan[0], 1, false, &times));
    for (size_t i = 0; i < times.n; i++) casts += times.row[i].op == CT_OP_CAST ? (int)times.row[i].calls : 0;
    ck_assert_int_eq(casts, count_nodes(&r, CT_OP_CAST) - 1);
    ct_op_times_free(&times);
    run_close(&r);
}
END_TEST

/* In f32 nothing is cast, and in a group nothing is cast flat: gradients there are summed as they come. */
START_TEST(not_flat)
{
    ct_program_spec s;
    ct_layout l;
    ct_program p;
    small_spec(&s, "textcnn", 4);
    s.flat_casts = true;
    ck_assert(!ct_program_needs(&s, true).half);
    s.compute = CT_BF16;
    ck_assert(ct_program_needs(&s, true).half);
    s.members = 2;
    ck_assert(!ct_program_needs(&s, true).half);
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    ck_assert_int_eq(count_casts(p.graph, true), 0);
    ct_program_free(&p);
}
END_TEST

/* The biases of all convolutions in front of batch norms, and no others, are left alone: their gradients, and with no weight decay they
 * themselves, are what they were; every other gradient is the same bit for bit in the first step. */
START_TEST(still_biases)
{
    ct_program_spec s;
    test_run all, some;
    small_spec(&s, "textcnn", 4);
    s.compute = _i ? CT_BF16 : CT_F32;
    s.flat_casts = _i == 2;
    run_open(&all, &s, false);
    s.skip_still = true;
    run_open(&some, &s, false);
    const ct_graph *g = some.p[0].graph;
    const double a = run_step(&all, 0, 0), b = run_step(&some, 0, 0);
    ck_assert_msg(a == b, "%.17g %.17g", a, b);
    int still = 0, others = 0;
    for (size_t v = 0; v < g->nvalues; v++) {
        if (!ct_graph_is_weight(g, (ct_val)v) || g->values[v].arena != CT_ARENA_PARAM) continue;
        const size_t at = (size_t)g->values[v].offset, bytes = ct_desc_bytes(&g->values[v].desc);
        const char *name = g->values[v].name;
        char *one = ct_malloc(bytes, "test"), *other = ct_malloc(bytes, "test");
        ok(ct_arenas_get(some.store, g, (ct_val)v, CT_ARENA_GRAD, one));
        const ct_val w = ct_graph_find(all.p[0].graph, name);
        ck_assert_int_eq(all.p[0].graph->values[w].offset, (int64_t)at); /* checkpoints of one are the other's */
        ck_assert(!all.p[0].graph->values[w].still);
        if (g->values[v].still) {
            still++;
            ck_assert_msg(strncmp(name, "features.", 9) == 0 && strstr(name, ".bias"), "%s", name);
            for (size_t i = 0; i < bytes / 4; i++) ck_assert_float_eq(((float *)(void *)one)[i], 0);
        } else {
            others++;
            ok(ct_arenas_get(all.store, all.p[0].graph, w, CT_ARENA_GRAD, other));
            ck_assert_msg(memcmp(one, other, bytes) == 0, "the gradient of %s", name);
        }
        ct_free(one);
        ct_free(other);
    }
    ck_assert_int_eq(still, 7);
    ck_assert_int_gt(others, 20);
    run_close(&all);
    run_close(&some);
}
END_TEST

/* The last norm of a residual network takes in the mean over all pixels: fewer bytes, and on the emulated card the
 * same weights, with the last block computed again, too. Everything else is frozen, so that nothing else is fused
 * which rounds in another order. */
START_TEST(fused_mean)
{
    const flat_test t = { .model = "resnet18", .compute = CT_F32, .accumulate = 1, .recompute = _i - 1,
                          .loss_scale = 1, .emulated = true, .fused = true,
                          .frozen = all_but_a_block, .frozens = 6 };
    test_run each, more;
    ct_plan_stats a, b;
    open_flat(&each, &t, false);
    open_flat(&more, &t, true);
    ct_plan_get_stats(each.plan[0], &a);
    ct_plan_get_stats(more.plan[0], &b);
    const ct_val last = ct_graph_find(each.p[0].graph, "layer4.1.relu2");
    ck_assert_int_ne(last, CT_NOVAL);
    /* y and its gradient, written and read */
    const double each_y = (double)ct_desc_bytes(ct_graph_desc(each.p[0].graph, last));
    ck_assert(_i == 0 ? a.bytes - b.bytes == 4 * each_y : a.bytes - b.bytes >= 4 * each_y);
    ck_assert_int_eq(count_nodes(&each, CT_OP_BATCHNORM_MEAN), 0);
    ck_assert_int_eq(count_nodes(&more, CT_OP_BATCHNORM_MEAN), 1);
    for (int step = 0; step < 4; step++) {
        const double x = run_step(&each, 0, 10 * step), y = run_step(&more, 0, 10 * step);
        ck_assert_msg(x == y, "%.17g %.17g", x, y);
        same_arenas(&each, &more, t.model);
    }
    run_close(&each);
    run_close(&more);
}
END_TEST

TCase *flat_case(void)
{
    TCase *t = tcase_create("flat");
    tcase_set_timeout(t, 120);
    const char *sanitizers = getenv("CT_SANITIZERS"); /* they do not know the emulator's fibers */
    int tests = (int)(sizeof flat_tests / sizeof flat_tests[0]);
    while (sanitizers && *sanitizers && flat_tests[tests - 1].emulated) tests--;
    tcase_add_loop_test(t, flat_casts, 0, tests);
    tcase_add_test(t, loads);
    if (!sanitizers || !*sanitizers) tcase_add_loop_test(t, fused_mean, 0, 2);
    tcase_add_test(t, not_flat);
    tcase_add_loop_test(t, still_biases, 0, 3);
    return t;
}
