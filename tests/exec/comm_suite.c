#include "config.h"

#include "tests/exec/comm_suite.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "program/spec.h"

/* ---- a member's training ---- */

void upload_samples(ct_plan *plan, const ct_program *p, const ct_program_spec *s, int data, int step, bool bad)
{
    const ct_desc *dx = ct_graph_desc(p->graph, ct_program_port(p, "x"));
    float *x = ct_malloc(ct_desc_bytes(dx), "test");
    int32_t target[BATCH * 8];
    ct_rng rng;
    ct_rng_init(&rng, 5, CT_RNG_TEST, (uint64_t)(100 * data + step));
    for (int64_t i = 0; i < ct_desc_numel(dx); i++) x[i] = (float)ct_rng_uniform(&rng, -1, 1);
    if (bad) x[0] = NAN;
    for (int64_t i = 0; i < BATCH * s->model.positions; i++)
        target[i] = (int32_t)ct_rng_below(&rng, (uint32_t)s->model.classes);
    ok(ct_plan_upload(plan, ct_program_port(p, "x"), x));
    ok(ct_plan_upload(plan, ct_program_port(p, "target"), target));
    ct_free(x);
}

ct_program_spec small_model(int rank, int size, double dropout)
{
    ct_program_spec s;
    ct_program_defaults(&s);
    s.model = (ct_model_spec){ .name = "textcnn-small",
                               .height = 16,
                               .width = 24,
                               .channels = 1,
                               .positions = 2,
                               .classes = 5,
                               .width_mult = 0.25,
                               .hidden = 16,
                               .dropout = dropout,
                               .dtype = CT_F32,
                               .seed = 3,
                               .row = size > 1 ? (int64_t)rank * BATCH : 0,
                               .of = size > 1 ? (int64_t)size * BATCH : 0 };
    s.batch = BATCH;
    s.members = size;
    return s;
}

/* Keeps what the training left. */
static void keep(member *m, ct_arenas *store, ct_arena gradients)
{
    ok(ct_arenas_get_state(store, m->state));
    ok(ct_arenas_get_metrics(store, m->metrics, false));
    m->bytes = store->bytes[CT_ARENA_PARAM];
    m->weights = ct_malloc(m->bytes, "test");
    m->gradients = ct_malloc(m->bytes, "test");
    m->statistics_bytes = store->bytes[CT_ARENA_BUFFER];
    m->statistics = ct_malloc(m->statistics_bytes, "test");
    memcpy(m->weights, store->base[CT_ARENA_PARAM], m->bytes);
    memcpy(m->statistics, store->base[CT_ARENA_BUFFER], m->statistics_bytes);
    memcpy(m->gradients, store->base[gradients], m->bytes);
}

/* Members tell each other who they are, where they can. */
static void tell(ct_group *g, const member *m)
{
    const int mine[2] = { ct_group_rank(g), 7 * ct_group_rank(g) };
    int all[2 * MOST] = { 0 };
    const ct_status st = ct_group_gather(g, mine, sizeof mine, all);
    if (m->size > 1 && !m->ops) {
        says(st, CT_EUNSUPPORTED, "members cannot tell each other anything");
        return;
    }
    ok(st);
    for (int i = 0; i < m->size; i++) ck_assert_int_eq(all[2 * i], i);
    for (int i = 0; i < m->size; i++) ck_assert_int_eq(all[2 * i + 1], 7 * i);
}

ct_status member_train(member *m)
{
    ct_program_spec s = small_model(m->rank, m->size, m->dropout);
    s.accumulate = m->accumulate;
    const bool micro = m->accumulate > 1;
    const ct_device_opts opts = { .threads = 1 };
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    ct_group_opts named = { .rank = m->rank, .size = m->size, .deadline = m->deadline, .ops = m->ops };
    ct_layout l;
    ct_program first, next, update;
    ct_plan *plan = NULL, *more = NULL, *last = NULL;
    ct_arenas *store;
    ct_group *g;
    ct_buckets b;
    double state[CT_STATE_COUNT];
    ok(ct_program_build(&s, micro ? CT_PROGRAM_MICRO_FIRST : CT_PROGRAM_STEP, NULL, &l, &first));
    ok(ct_arenas_create(m->b, &opts, &l, &needs, false, &store));
    ok(ct_plan_create(store, first.graph, false, &plan));
    if (micro) {
        ok(ct_program_build(&s, CT_PROGRAM_MICRO_NEXT, first.graph, &l, &next));
        ok(ct_program_build(&s, CT_PROGRAM_UPDATE, first.graph, &l, &update));
        ok(ct_plan_create(store, next.graph, false, &more));
        ok(ct_plan_create(store, update.graph, false, &last));
    }
    ok(ct_arenas_init(store, first.graph, m->seed));
    ct_program_initial_state(&s, state);
    ok(ct_arenas_set_state(store, state));
    if (m->ops) ok(m->ops->id(named.id));
    else if (m->b->comm) ok(ct_group_id(m->b, named.id));
    named.divides = ct_group_divides(first.graph) && (!micro || ct_group_divides(update.graph));
    ct_status st = ct_group_join(store, m->size > 1 ? &named : NULL, &g);
    if (st == CT_OK) {
        ok(ct_buckets_make(micro ? update.graph : first.graph, &l, micro ? CT_ARENA_GACC : CT_ARENA_GRAD, m->bucket,
                           &b));
        st = ct_group_share(g);
        for (int i = 0; i < STEPS && st == CT_OK; i++) {
            upload_samples(plan, &first, &s, m->data, i, i == m->bad_step);
            if (micro) ok(ct_plan_run(plan));
            for (int64_t k = 1; k < m->accumulate; k++) {
                upload_samples(more, &next, &s, m->data, i, false);
                ok(ct_plan_run(more));
            }
            st = ct_group_step(g, micro ? last : plan, &b, true);
            if (st == CT_OK) st = ct_group_wait(g);
        }
        if (st == CT_OK) ok(ct_group_metrics(g));
        if (st == CT_OK) tell(g, m);
        ct_group_times(g, &m->sums, &m->waited);
        ct_buckets_free(&b);
    }
    if (st == CT_OK) keep(m, store, micro ? CT_ARENA_GACC : CT_ARENA_GRAD);
    snprintf(m->message, sizeof m->message, "%s", ct_error_message());
    ct_group_leave(g);
    ct_plan_free(plan);
    ct_plan_free(more);
    ct_plan_free(last);
    ct_arenas_free(store);
    ct_program_free(&first);
    if (micro) {
        ct_program_free(&next);
        ct_program_free(&update);
    }
    return m->st = st;
}

member member_one(const ct_backend *b, int rank, int size, int data)
{
    return (member){ .b = b, .deadline = 0.2, .rank = rank, .size = size, .data = data, .bad_step = -1, .bucket = 4096, .accumulate = 1, .seed = 7 };
}

void member_forget(member *m)
{
    ct_free(m->weights);
    ct_free(m->gradients);
    ct_free(m->statistics);
}

/* ---- scenarios ---- */

static void same_weights(const member *a, const member *b)
{
    ck_assert_msg(a->st == CT_OK, "%s", a->message);
    ck_assert_msg(b->st == CT_OK, "%s", b->message);
    ck_assert_uint_eq(a->bytes, b->bytes);
    ck_assert_mem_eq(a->weights, b->weights, a->bytes);
}

static void all_same(const member *m, int size)
{
    for (int i = 1; i < size; i++) {
        same_weights(&m[0], &m[i]);
        ck_assert_mem_eq(m[0].gradients, m[i].gradients, m[0].bytes);
        ck_assert_mem_eq(m[0].metrics, m[i].metrics, sizeof m[0].metrics);
        ck_assert_mem_eq(m[0].statistics, m[i].statistics, m[0].statistics_bytes); /* the mean of all */
    }
}

/* Member 0's samples and choices, for one alone. */
static member alone_like(const member *m)
{
    member alone = member_one(&ct_backend_cpu, 0, 1, 0);
    alone.accumulate = m->accumulate;
    alone.dropout = m->dropout;
    ok(member_train(&alone));
    return alone;
}

static void prepare_same(member *m, int size, int variant)
{
    for (int i = 0; i < size; i++) {
        m[i].accumulate = variant;
        m[i].bucket = variant == 1 ? 4096 : CT_BUCKET_BYTES;
        if (i > 0) m[i].seed = 8;
    }
}

/* Members with the same samples: of two, halves of a gradient add up to it exactly, so the weights are those of one alone. Their first
 * weights differ: sharing makes them member 0's. */
static void judge_same(const member *m, int size, int variant)
{
    (void)variant;
    member alone = alone_like(m);
    all_same(m, size);
    if (size == 2) same_weights(&m[0], &alone);
    if (size == 2) ck_assert_mem_eq(m[0].gradients, alone.gradients, alone.bytes);
    ck_assert_double_eq(m[0].metrics[CT_METRIC_SAMPLES], size * alone.metrics[CT_METRIC_SAMPLES]);
    member_forget(&alone);
}

static void prepare_own(member *m, int size, int variant)
{
    (void)variant;
    for (int i = 0; i < size; i++) m[i].data = i;
}

/* Members with samples of their own end with the same weights, which are not those of any of them alone. */
static void judge_own(const member *m, int size, int variant)
{
    (void)variant;
    member alone = alone_like(m);
    all_same(m, size);
    ck_assert_mem_ne(m[0].weights, alone.weights, alone.bytes);
    ck_assert_mem_ne(m[0].statistics, alone.statistics, alone.statistics_bytes);
    member_forget(&alone);
}

static void prepare_masks(member *m, int size, int variant)
{
    for (int i = 0; i < size; i++) {
        m[i].dropout = 0.5;
        m[i].accumulate = variant;
    }
}

static void prepare_nan(member *m, int size, int variant)
{
    prepare_own(m, size, variant);
    m[size - 1].bad_step = 1;
}

/* NaN at one member: nobody applies that step. */
static void judge_nan(const member *m, int size, int variant)
{
    (void)variant;
    for (int i = 0; i < size; i++) {
        same_weights(&m[0], &m[i]);
        ck_assert_double_eq(m[i].state[CT_STATE_STEP], STEPS);
        ck_assert_double_eq(m[i].state[CT_STATE_SKIPPED], 1);
    }
}

const scenario scenarios[] = {
    { "same samples", 1, 2, prepare_same, judge_same },
    { "same samples, 2 micro-steps", 2, 2, prepare_same, judge_same },
    { "same samples, 3 micro-steps", 3, 2, prepare_same, judge_same },
    { "own samples", 1, 3, prepare_own, judge_own },
    /* The same samples, each with masks of its own: if all dropped the same elements, the weights were those of one alone. */
    { "own masks", 1, 2, prepare_masks, judge_own },
    { "own masks, 2 micro-steps", 2, 2, prepare_masks, judge_own },
    { "one member's NaN", 1, 2, prepare_nan, judge_nan },
};
const int scenario_count = sizeof scenarios / sizeof scenarios[0];
