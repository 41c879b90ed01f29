/* Parts of a batch: what they leave is the tree of what each gives alone. */
#include "tests/program/check_program.h"

#include <math.h>

#include "base/alloc.h"
#include "program/tree.h"

enum { MOST = 8, ROWS = 3 };

static ct_program_spec part_spec(const char *model, int64_t part, int64_t parts, bool together)
{
    ct_program_spec s;
    small_spec(&s, model, ROWS);
    s.model.dropout = 0.5;
    s.model.row = part * ROWS;
    s.model.of = parts * ROWS;
    s.members = parts;
    s.parts = together ? parts : 1;
    s.part = together ? part : 0;
    return s;
}

/* What a part of a batch gives alone: [elems] of a flat arena, of type f32; ct_free() */
typedef struct given {
    float *grad, *stats;
    double metrics[CT_METRIC_COUNT];
} given;

static float *copy_of(const ct_arenas *store, ct_arena a)
{
    float *p = ct_malloc(store->bytes[a], "test");
    ck_assert_ptr_nonnull(p);
    memcpy(p, store->base[a], store->bytes[a]);
    return p;
}

static given give(const char *model, int64_t part, int64_t parts)
{
    given g;
    test_run r;
    const ct_program_spec s = part_spec(model, part, parts, false);
    run_open(&r, &s, false);
    run_feed(&r, 0, part * ROWS);
    ok(ct_plan_run_nodes(r.plan[0], 0, r.p[0].update));
    g.grad = copy_of(r.store, CT_ARENA_GRAD);
    g.stats = copy_of(r.store, CT_ARENA_BUFFER);
    ok(ct_arenas_get_metrics(r.store, g.metrics, false));
    run_close(&r);
    return g;
}

/* p[k] becomes p[k] + p[k+stride], and so on, until p[0] is all. */
static void sum_floats(float *p[], int64_t parts, int64_t n)
{
    for (int64_t stride = 1; stride < parts; stride *= 2)
        for (int64_t k = 0; k < parts; k += 2 * stride)
            for (int64_t i = 0; i < n; i++) p[k][i] += p[k + stride][i];
}

/* All parts on one device, up to the update. */
static void run_parts(const char *model, int64_t parts, ct_program p[], ct_plan *plan[], ct_arenas **store, ct_layout *l)
{
    const ct_device_opts opts = { .threads = 2 };
    double state[CT_STATE_COUNT];
    void *kept = NULL;
    for (int64_t k = 0; k < parts; k++) {
        const ct_program_spec s = part_spec(model, k, parts, true);
        const ct_arenas_needs needs = ct_program_needs(&s, true);
        ok(ct_program_build(&s, k < parts - 1 ? CT_PROGRAM_PART : CT_PROGRAM_STEP, k ? p[0].graph : NULL, l, &p[k]));
        if (k == 0) ok(ct_arenas_create(&ct_backend_cpu, &opts, l, &needs, false, store));
        ok(ct_plan_create(*store, p[k].graph, false, &plan[k]));
    }
    const ct_program_spec s = part_spec(model, 0, parts, true);
    ok(ct_arenas_init(*store, p[0].graph, 7));
    ct_program_initial_state(&s, state);
    ok(ct_arenas_set_state(*store, state));
    kept = copy_of(*store, CT_ARENA_BUFFER);
    for (int64_t k = 0; k < parts; k++) {
        test_run r = { .spec = part_spec(model, k, parts, true), .layout = *l, .p = { p[k] }, .plan = { plan[k] } };
        memcpy((*store)->base[CT_ARENA_BUFFER], kept, (*store)->bytes[CT_ARENA_BUFFER]);
        run_feed(&r, 0, k * ROWS);
        ok(ct_plan_run_nodes(plan[k], 0, p[k].update));
    }
    ct_free(kept);
}

static void near(double a, double b) { ck_assert_double_eq_tol(a, b, 1e-12 * (fabs(a) + 1)); }

START_TEST(parts_are_a_tree)
{
    static const char *const models[] = { "textcnn-small", "resnet18", "crnn-small" };
    const char *model = models[_i % 3];
    const int64_t parts = (int64_t)2 << _i / 3;
    float *grad[MOST], *stats[MOST];
    double *rows = ct_calloc((size_t)parts * CT_METRIC_COUNT, sizeof *rows, "test"), sums[CT_METRIC_COUNT] = { 0 };
    ct_program p[MOST];
    ct_plan *plan[MOST];
    ct_arenas *store;
    ct_layout l;
    run_parts(model, parts, p, plan, &store, &l);
    ok(ct_arenas_get_metric_rows(store, rows, true));
    for (int64_t k = 0; k < parts; k++) {
        given g = give(model, k, parts);
        ck_assert_mem_eq(rows + k * CT_METRIC_COUNT, g.metrics, sizeof g.metrics);
        for (int i = 0; i < CT_METRIC_COUNT; i++) sums[i] += g.metrics[i];
        grad[k] = g.grad;
        stats[k] = g.stats;
    }
    sum_floats(grad, parts, l.train_elems);
    sum_floats(stats, parts, l.buffer_elems);
    for (int64_t i = 0; i < l.buffer_elems; i++) stats[0][i] /= (float)parts;
    ck_assert_mem_eq(store->base[CT_ARENA_GRAD], grad[0], (size_t)l.train_elems * sizeof(float));
    if (l.buffer_elems > 0)
        ck_assert_mem_eq(store->base[CT_ARENA_BUFFER], stats[0], (size_t)l.buffer_elems * sizeof(float));
    ct_tree_sum(rows, parts, CT_METRIC_COUNT);
    ck_assert_double_eq(rows[CT_METRIC_SAMPLES], (double)(parts * ROWS));
    for (int i = 0; i < CT_METRIC_COUNT; i++) near(rows[i], sums[i]);
    double state[CT_STATE_COUNT];
    ok(ct_arenas_get_state(store, state));
    ck_assert_double_eq(state[CT_STATE_DRAWS], 1); /* all of a batch are one draw */
    for (int64_t k = 0; k < parts; k++) {
        ct_plan_free(plan[k]);
        ct_free(grad[k]);
        ct_free(stats[k]);
    }
    ct_arenas_free(store);
    for (int64_t k = 0; k < parts; k++) ct_program_free(&p[k]);
    ct_free(rows);
}
END_TEST

START_TEST(sums_of_pairs)
{
    double x[5 * 2] = { 1, 10, 2, 20, 4, 40, 8, 80, 16, 160 };
    for (int parts = 1; parts <= 5; parts++) { /* of metrics any number of members */
        double y[10];
        memcpy(y, x, sizeof y);
        ct_tree_sum(y, parts, 2);
        ck_assert_double_eq(y[0], (1 << parts) - 1);
        ck_assert_double_eq(y[1], 10 * ((1 << parts) - 1));
    }
    const double huge = 0x1p60;
    double z[4] = { huge, 1, -huge, 1 };
    ct_tree_sum(z, 4, 1); /* (huge + 1) + (-huge + 1), not from left to right, which is 1 */
    ck_assert_double_eq(z[0], 0);
    ck_assert_int_eq(ct_tree_levels(0), 0);
    ck_assert_int_eq(ct_tree_levels(1), 0);
    ck_assert_int_eq(ct_tree_levels(2), 1);
    ck_assert_int_eq(ct_tree_levels(8), 3);
}
END_TEST

START_TEST(refusals)
{
    ct_program_spec s = part_spec("textcnn-small", 0, 4, true);
    ct_layout l;
    ct_program p;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "the last part of a step alone has its update");
    s.part = 3;
    says(ct_program_build(&s, CT_PROGRAM_PART, NULL, &l, &p), CT_EINVAL, "the last part of a step alone has its update");
    s.accumulate = 2;
    says(ct_program_build(&s, CT_PROGRAM_MICRO_FIRST, NULL, &l, &p), CT_EINVAL, "parts have no micro-steps");
    s.accumulate = 1;
    s.parts = 6;
    says(ct_program_build(&s, CT_PROGRAM_PART, NULL, &l, &p), CT_EINVAL, "must be a power of two");
    s.parts = 2;
    says(ct_program_build(&s, CT_PROGRAM_PART, NULL, &l, &p), CT_EINVAL, "part 3 of 2");
}
END_TEST

TCase *parts_case(void)
{
    TCase *t = tcase_create("parts");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, parts_are_a_tree, 0, 9);
    tcase_add_test(t, sums_of_pairs);
    tcase_add_test(t, refusals);
    return t;
}
