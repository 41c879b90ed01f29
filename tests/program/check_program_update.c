/* Updates by parameter: Muon for matrices, groups with rates and decay of their own. */
#include "tests/program/check_program.h"

#include <math.h>

#include "base/alloc.h"
#include "program/groups.h"

/* The optimizer's node that updates a parameter; how many do. */
static const ct_node *node_of(const ct_graph *g, const ct_value *v, int *found)
{
    const ct_node *last = NULL;
    *found = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        if (n->op != CT_OP_MUON && n->op != CT_OP_ADAMW && n->op != CT_OP_SGD) continue;
        const ct_value *p = &g->values[n->in[0]];
        if (v->offset < p->offset || v->offset >= p->offset + (int64_t)ct_desc_bytes(&p->desc)) continue;
        ck_assert_int_le(v->offset + (int64_t)ct_desc_bytes(&v->desc), p->offset + (int64_t)ct_desc_bytes(&p->desc));
        last = n;
        (*found)++;
    }
    return last;
}

typedef struct owner {
    const char *name;
    ct_op op;
} owner;

/* Every trained parameter is updated by one node, those listed by the operator beside them. */
static void owners(const test_run *r, int program, const owner *want)
{
    const ct_graph *w = r->p[0].graph, *g = r->p[program].graph;
    for (size_t i = 0; i < w->nvalues; i++) {
        const ct_value *v = &w->values[i];
        int found;
        if (!ct_graph_is_weight(w, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
        const ct_node *n = node_of(g, v, &found);
        ck_assert_msg(found == (v->grad != CT_NOVAL), "%s: updated by %d nodes", v->name, found);
        if (!n || n->op != CT_OP_MUON) continue;
        ck_assert_int_eq(n->attrs.optim.rows, v->desc.dim[0]);
        ck_assert_int_eq(n->attrs.optim.rows * n->attrs.optim.cols, ct_desc_numel(&v->desc));
        ck_assert_int_eq((v->offset - g->values[n->in[0]].offset) % (4 * n->attrs.optim.stride), 0);
    }
    for (; want->name; want++) {
        const ct_val v = ct_graph_find(w, want->name);
        int found;
        ck_assert_msg(v != CT_NOVAL, "no %s", want->name);
        const ct_node *n = node_of(g, &w->values[v], &found);
        ck_assert_msg(n && n->op == want->op, "%s: %s", want->name, n ? ct_op_get(n->op)->name : "nothing");
    }
}

static void muon_spec(ct_program_spec *s, const char *model)
{
    small_spec(s, model, 4);
    s->model.height = s->model.width = 32;
    s->optimizer = CT_OPT_MUON;
}

START_TEST(muon_takes_matrices)
{
    static const owner crnn[] = { { "cnn.0.weight", CT_OP_MUON }, { "cnn.0.bias", CT_OP_ADAMW },
                                  { "cnn.4.weight", CT_OP_MUON }, { "cnn.5.weight", CT_OP_ADAMW },
                                  { "fold.0.weight", CT_OP_MUON }, { "rnn.weight_ih_l0", CT_OP_MUON },
                                  { "rnn.weight_hh_l0_reverse", CT_OP_MUON }, { "rnn.bias_ih_l0", CT_OP_ADAMW },
                                  { "fc.weight", CT_OP_ADAMW }, { NULL, CT_OP_COUNT } };
    static const owner ends[] = { { "cnn.0.weight", CT_OP_ADAMW }, { "cnn.4.weight", CT_OP_MUON },
                                  { "fc.weight", CT_OP_MUON }, { NULL, CT_OP_COUNT } };
    static const owner named[] = { { "cnn.4.weight", CT_OP_ADAMW }, { "cnn.0.weight", CT_OP_MUON },
                                   { "fc.weight", CT_OP_MUON }, { "fc.bias", CT_OP_ADAMW }, { NULL, CT_OP_COUNT } };
    static char *rules[] = { "cnn.4 by=adamw", "fc by=muon" }, *frozen[] = { "cnn.0" };
    const owner *const want[] = { crnn, ends, named, crnn + 2, crnn };
    for (int k = 0; k < 5; k++) {
        ct_program_spec s;
        test_run r;
        muon_spec(&s, "crnn-small");
        if (k == 1) {
            s.muon.first = false;
            s.muon.last = true;
        }
        if (k == 2) s.groups = rules, s.ngroups = 2;
        if (k == 3) s.freeze = frozen, s.freezes = 1;
        if (k == 4) s.accumulate = 2;
        run_open(&r, &s, false);
        owners(&r, k == 4 ? run_add(&r, CT_PROGRAM_UPDATE, 4, false) : 0, want[k]);
        run_close(&r);
    }
}
END_TEST

/* Both LSTM directions have weights of one shape: one node takes them. */
START_TEST(muon_batches_shapes)
{
    ct_program_spec s;
    test_run r;
    int a, b;
    muon_spec(&s, "crnn-small");
    run_open(&r, &s, false);
    const ct_graph *g = r.p[0].graph;
    const ct_node *n = node_of(g, &g->values[ct_graph_find(g, "rnn.weight_ih_l0")], &a);
    ck_assert_ptr_eq(n, node_of(g, &g->values[ct_graph_find(g, "rnn.weight_ih_l0_reverse")], &b));
    ck_assert_int_eq(ct_desc_numel(&g->values[n->in[0]].desc), 2 * n->attrs.optim.stride);
    run_close(&r);
}
END_TEST

/* A step of SGD without momentum moves weights by the rate times the gradient: of a group by its factor of that. What
 * decays shrinks by the rate times the decay. */
START_TEST(groups_scale_rates)
{
    static char *rules[] = { "*.bias lr=3", "fc decay=0.5", "features.0.weight lr=0.25 decay=0.1", "features.0 lr=0.5" };
    static const struct { const char *name; float lr, decay; } want[] = {
        { "features.4.weight", 1, 0 }, { "features.4.bias", 3, 0 }, { "fc.weight", 1, 0.5f }, { "fc.bias", 3, 0.5f },
        { "features.0.weight", 0.5f, 0.1f }, { "features.0.bias", 0.5f, 0 }, { "features.1.weight", 1, 0 },
    };
    ct_program_spec s;
    test_run r;
    small_spec(&s, "textcnn-small", 4);
    s.optimizer = CT_OPT_SGD;
    s.optim.momentum = s.optim.weight_decay = 0;
    s.schedule.base_lr = 0.125;
    s.groups = rules;
    s.ngroups = 4;
    run_open(&r, &s, false);
    const size_t n = r.store->bytes[CT_ARENA_PARAM] / sizeof(float);
    float *before = ct_malloc(n * sizeof *before, "test");
    memcpy(before, r.store->base[CT_ARENA_PARAM], n * sizeof *before);
    run_step(&r, 0, 0);
    const float *now = r.store->base[CT_ARENA_PARAM], *grad = r.store->base[CT_ARENA_GRAD];
    for (size_t k = 0; k < sizeof want / sizeof want[0]; k++) {
        const ct_value *v = &r.p[0].graph->values[ct_graph_find(r.p[0].graph, want[k].name)];
        for (int64_t i = v->offset / 4; i < v->offset / 4 + ct_desc_numel(&v->desc); i++) {
            const float moved = before[i] - 0.125f * want[k].lr * (grad[i] + want[k].decay * before[i]);
            ck_assert_msg(fabsf(now[i] - moved) <= 1e-6f * (1 + fabsf(moved)), "%s: %g -> %g, not %g", want[k].name,
                          (double)before[i], (double)now[i], (double)moved);
        }
    }
    ct_free(before);
    run_close(&r);
}
END_TEST

/* Gradients that are not finite leave weights and momentum alone. */
START_TEST(muon_learns_and_skips)
{
    ct_program_spec s;
    test_run r;
    double state[CT_STATE_COUNT];
    muon_spec(&s, "crnn-small");
    s.optim.max_norm = 1;
    s.schedule.base_lr = 5e-3;
    run_open(&r, &s, false);
    const double first = run_step(&r, 0, 0);
    double last = first;
    for (int k = 0; k < 30; k++) last = run_step(&r, 0, 0);
    ck_assert_msg(last < 0.5 * first, "loss %g -> %g", first, last);
    const size_t bytes = r.store->bytes[CT_ARENA_PARAM];
    char *weights = ct_malloc(2 * bytes, "test");
    memcpy(weights, r.store->base[CT_ARENA_PARAM], bytes);
    memcpy(weights + bytes, r.store->base[CT_ARENA_OPT1], bytes);
    ok(ct_arenas_get_state(r.store, state));
    state[CT_STATE_LOSS_SCALE] = HUGE_VAL;
    ok(ct_arenas_set_state(r.store, state));
    run_step(&r, 0, 0);
    ok(ct_arenas_get_state(r.store, state));
    ck_assert(state[CT_STATE_SKIPPED] == 1);
    ck_assert(memcmp(weights, r.store->base[CT_ARENA_PARAM], bytes) == 0);
    ck_assert(memcmp(weights + bytes, r.store->base[CT_ARENA_OPT1], bytes) == 0);
    ct_free(weights);
    run_close(&r);
}
END_TEST

START_TEST(rules_read)
{
    ct_group_rule r;
    static const struct { const char *text, *part; } bad[] = {
        { "", "is no pattern" }, { "fc", "nothing but a pattern" }, { "fc lr=0", "'lr=0' must be a factor" },
        { "fc lr=x", "'lr=x' must be a factor" }, { "fc decay=-1", "'decay=-1' must be" },
        { "fc decay=nan", "'decay=nan' must be" }, { "fc by=sgd", "'by=sgd' is none of" }, { "fc lr", "'lr' is none of" },
    };
    ok(ct_group_rule_read("  *.bias  lr=0.1 decay=0 ", &r));
    ck_assert_str_eq(r.pattern, "*.bias");
    ck_assert(r.lr == 0.1 && r.decay == 0 && r.by == CT_BY_ANY);
    ok(ct_group_rule_read("fc by=muon", &r));
    ck_assert(r.lr < 0 && r.decay < 0 && r.by == CT_BY_MUON);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        says(ct_group_rule_read(bad[i].text, &r), CT_ECONFIG, bad[i].part);
}
END_TEST

START_TEST(rules_refused)
{
    static char *none[] = { "layer9 lr=2" }, *by[] = { "fc by=muon" };
    ct_program_spec s;
    ct_program p;
    ct_layout l;
    small_spec(&s, "textcnn", 2);
    s.ngroups = 1;
    s.groups = none;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_ECONFIG, "'layer9' matches no parameter of the model");
    s.groups = by;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_ECONFIG, "by= is for optimizer.name: muon alone");
}
END_TEST

/* Filters of channels that are read give these; all else starts as ever. */
START_TEST(dirac_starts)
{
    ct_program_spec s;
    test_run a, b;
    small_spec(&s, "textcnn-small", 4);
    run_open(&a, &s, false);
    s.dirac = true;
    run_open(&b, &s, false);
    const ct_graph *g = b.p[0].graph;
    int64_t ones = 0;
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        const ct_desc *d = &v->desc;
        if (!ct_graph_is_weight(g, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
        const float *was = (const float *)((char *)a.store->base[CT_ARENA_PARAM] + v->offset);
        const float *is = (const float *)((char *)b.store->base[CT_ARENA_PARAM] + v->offset);
        const bool filter = d->ndim == 4;
        for (int64_t e = 0; e < ct_desc_numel(d); e++) {
            const int64_t each = filter ? ct_desc_numel(d) / d->dim[0] : 1, k = e / each, tap = filter ? e % each : 0;
            const int64_t middle = filter ? (d->dim[1] / 2 * d->dim[2] + d->dim[2] / 2) * d->dim[3] + k : 0;
            const bool one = filter && k < d->dim[3] && tap == middle;
            const float want = filter && k < d->dim[3] ? (float)one : was[e];
            ck_assert_msg(is[e] == want, "%s[%lld] is %g, not %g", v->name, (long long)e, (double)is[e], (double)want);
            ones += one;
        }
    }
    ck_assert_int_gt(ones, 16);
    ck_assert(isfinite(run_step(&b, 0, 0)));
    run_close(&a);
    run_close(&b);
}
END_TEST

TCase *update_case(void)
{
    TCase *t = tcase_create("update");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, muon_takes_matrices);
    tcase_add_test(t, muon_batches_shapes);
    tcase_add_test(t, groups_scale_rates);
    tcase_add_test(t, muon_learns_and_skips);
    tcase_add_test(t, dirac_starts);
    tcase_add_test(t, rules_read);
    tcase_add_test(t, rules_refused);
    return t;
}
