/* What programs for devices leave out: casts of single tensors, gradients that are zero. The results are the same. */
#include "tests/program/check_program.h"

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

static void same_arenas(const test_run *a, const test_run *b, const char *model)
{
    for (int i = 0; i < CT_ARENA_COUNT; i++) {
        const ct_arena x = (ct_arena)i;
        if (x == CT_ARENA_ACT || x == CT_ARENA_INPUT || !a->store->base[i]) continue;
        ck_assert_msg(memcmp(a->store->base[i], b->store->base[i], a->store->bytes[i]) == 0, "%s: arena %s", model, ct_arena_name(x));
    }
}

static void compare(const char *model, ct_dtype compute, int64_t accumulate, int recompute, double ema)
{
    ct_program_spec s;
    test_run each, flat;
    small_spec(&s, model, 4);
    s.model.height = s.model.width = 32;
    s.compute = compute;
    s.loss_scale = compute == CT_F16 ? 256 : 1;
    s.accumulate = accumulate;
    s.recompute = recompute;
    s.optim.decay = ema;
    s.channel_multiple = 8;
    run_open(&each, &s, false);
    s.flat_casts = true;
    run_open(&flat, &s, false);
    const int had = count_casts(each.p[0].graph, false), left = count_casts(flat.p[0].graph, false);
    ck_assert_int_eq(count_casts(each.p[0].graph, true), 0);
    ck_assert_int_ge(count_casts(flat.p[0].graph, true), 2); /* parameters, and at least one run of gradients */
    ck_assert_msg(left <= had / 2 && left >= 2, "%s: %d casts instead of %d", model, left, had);
    const int update = accumulate > 1 ? run_add(&each, CT_PROGRAM_UPDATE, 4, false) : 0;
    if (accumulate > 1) ck_assert_int_eq(run_add(&flat, CT_PROGRAM_UPDATE, 4, false), update);
    const int eval = run_add(&each, CT_PROGRAM_EVAL, 3, ema > 0);
    ck_assert_int_eq(run_add(&flat, CT_PROGRAM_EVAL, 3, ema > 0), eval);
    for (int step = 0; step < 3; step++) {
        const double a = run_step(&each, 0, 10 * step), b = run_step(&flat, 0, 10 * step);
        ck_assert_msg(a == b, "%s: %.17g %.17g", model, a, b);
        if (update) ok(ct_plan_run(each.plan[update]));
        if (update) ok(ct_plan_run(flat.plan[update]));
        same_arenas(&each, &flat, model);
    }
    const double a = run_step(&each, eval, 5), b = run_step(&flat, eval, 5);
    ck_assert_msg(a == b, "%s evaluated: %.17g %.17g", model, a, b);
    run_close(&each);
    run_close(&flat);
}

START_TEST(flat_casts)
{
    compare("textcnn", CT_BF16, 1, -1, 0);
    compare("textcnn", CT_F16, 2, -1, 0);
    compare("resnet18", CT_BF16, 1, 0, 0.9);
    compare("crnn-small", CT_BF16, 1, -1, 0);
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
        const char *name = g->values[v].name, *one = (char *)some.store->base[CT_ARENA_GRAD] + at;
        const ct_val w = ct_graph_find(all.p[0].graph, name);
        ck_assert_int_eq(all.p[0].graph->values[w].offset, (int64_t)at); /* checkpoints of one are the other's */
        ck_assert(!all.p[0].graph->values[w].still);
        if (g->values[v].still) {
            still++;
            ck_assert_msg(strncmp(name, "features.", 9) == 0 && strstr(name, ".bias"), "%s", name);
            for (size_t i = 0; i < bytes / 4; i++) ck_assert_float_eq(((const float *)(const void *)one)[i], 0);
        } else {
            others++;
            ck_assert_msg(memcmp(one, (char *)all.store->base[CT_ARENA_GRAD] + at, bytes) == 0, "the gradient of %s", name);
        }
    }
    ck_assert_int_eq(still, 7);
    ck_assert_int_gt(others, 20);
    run_close(&all);
    run_close(&some);
}
END_TEST

TCase *flat_case(void)
{
    TCase *t = tcase_create("flat");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, flat_casts);
    tcase_add_test(t, not_flat);
    tcase_add_loop_test(t, still_biases, 0, 3);
    return t;
}
