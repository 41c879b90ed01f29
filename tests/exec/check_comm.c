/* Groups of devices: buckets of gradients on every model, and groups of two threads on the CPU backend with a group of
 * our own. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "exec/comm.h"
#include "program/program.h"
#include "program/spec.h"
#include "session/feed.h"
#include "session/readback.h"
#include "session/session.h"
#include "tests/ct_check.h"

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part,
                  ct_error_message());
}

/* ---- buckets ---- */

/* The last node that writes each block of CT_ALIGN bytes of an arena, found from the front. */
static int *writers(const ct_graph *g, ct_arena arena, int64_t blocks)
{
    int *last = ct_malloc((size_t)blocks * sizeof *last, "test");
    for (int64_t k = 0; k < blocks; k++) last[k] = -1;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        for (int k = 0; k < n->nout + n->nin; k++) {
            if (k >= n->nout && !(ct_op_get(n->op)->rules->mutates >> (k - n->nout) & 1)) continue;
            ct_val v = k < n->nout ? n->out[k] : n->in[k - n->nout];
            if (v == CT_NOVAL) continue;
            const ct_value *x = &g->values[g->values[v].root];
            if (x->arena != arena) continue;
            int64_t first = x->offset / CT_ALIGN, bytes = (int64_t)ct_desc_bytes(&x->desc);
            for (int64_t b = first; b < blocks && b * CT_ALIGN < x->offset + bytes; b++) last[b] = (int)i;
        }
    }
    return last;
}

static size_t check_buckets(const ct_graph *g, const ct_layout *l, ct_arena arena, int64_t bytes)
{
    ct_buckets b;
    ok(ct_buckets_make(g, l, arena, bytes, &b));
    const int64_t size = (int64_t)ct_dtype_size(l->dtype), blocks = l->train_elems * size / CT_ALIGN;
    int *last = writers(g, arena, blocks), *owner = ct_calloc((size_t)blocks, sizeof *owner, "test");
    ck_assert_int_eq(g->nodes[b.update].phase, CT_PHASE_UPDATE);
    ck_assert(b.update == 0 || g->nodes[b.update - 1].phase != CT_PHASE_UPDATE);
    for (size_t i = 0; i < b.n; i++) {
        const ct_bucket *k = &b.bucket[i];
        int latest = -1;
        ck_assert_int_eq(k->first % CT_ALIGN, 0);
        ck_assert_int_eq(k->end % CT_ALIGN, 0);
        ck_assert_int_lt(k->ready, b.update);
        ck_assert(i == 0 || b.bucket[i - 1].ready <= k->ready);
        for (int64_t j = k->first / CT_ALIGN; j < k->end / CT_ALIGN; j++) {
            owner[j]++;
            if (last[j] > latest) latest = last[j];
        }
        ck_assert_int_eq(k->ready, latest);
    }
    int64_t once = 0;
    for (int64_t j = 0; j < blocks; j++) once += owner[j] == 1;
    ck_assert_int_eq(once, blocks);
    const size_t n = b.n;
    ct_free(last);
    ct_free(owner);
    ct_buckets_free(&b);
    return n;
}

START_TEST(buckets_of_models)
{
    const char *name = ct_model_at((size_t)_i)->name;
    ct_program_spec s;
    ct_layout l;
    ct_program step, update;
    ok(ct_spec_from_model(name, 2, NULL, &s));
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &step));
    const size_t few = check_buckets(step.graph, &l, CT_ARENA_GRAD, CT_BUCKET_BYTES);
    const size_t many = check_buckets(step.graph, &l, CT_ARENA_GRAD, 100000);
    ck_assert_uint_ge(many, few);
    ck_assert_uint_eq(check_buckets(step.graph, &l, CT_ARENA_GRAD, INT64_MAX), l.decay_elems < l.train_elems ? 2 : 1);
    /* tensors are not cut, so a bucket is larger than asked for by less than its largest one */
    ck_assert_uint_le(few, (size_t)(l.train_elems * 4 / CT_BUCKET_BYTES + 2));
    s.accumulate = 3;
    ok(ct_program_build(&s, CT_PROGRAM_UPDATE, step.graph, &l, &update));
    check_buckets(update.graph, &l, CT_ARENA_GACC, CT_BUCKET_BYTES);
    check_buckets(update.graph, &l, CT_ARENA_GACC, 100000);
    ct_program_free(&update);
    ct_program_free(&step);
}
END_TEST

START_TEST(buckets_need_an_update)
{
    ct_program_spec s;
    ct_layout l;
    ct_program p;
    ct_buckets b;
    ok(ct_spec_from_model("textcnn-small", 2, NULL, &s));
    ok(ct_program_build(&s, CT_PROGRAM_EVAL, NULL, &l, &p));
    says(ct_buckets_make(p.graph, &l, CT_ARENA_GRAD, CT_BUCKET_BYTES, &b), CT_EINVAL, "without an update");
    ct_buckets_free(&b);
    ct_program_free(&p);
}
END_TEST

/* ---- a group of threads ---- */

enum { MOST = 4, CALLS = 4096 };

/* What all members share. */
static struct {
    pthread_barrier_t barrier;
    void *part[MOST];
    bool silent;     /* create: the others do not come */
    int broken_at;   /* check: fails from this call on; 0: never */
    bool never_done; /* events are never done */
} meeting;

struct ct_comm {
    int rank, size, checks;
    bool aborted;
    int64_t elements[CALLS]; /* of each sum, in order */
    int sums;
};

static ct_status fake_id(unsigned char id[CT_COMM_ID])
{
    memset(id, 7, CT_COMM_ID);
    return CT_OK;
}

static ct_status fake_create(ct_device *dev, const unsigned char id[CT_COMM_ID], int rank, int size, double deadline,
                             ct_comm **out)
{
    (void)dev;
    ck_assert_int_eq(id[CT_COMM_ID - 1], 7);
    if (meeting.silent) return ct_fail(CT_EBACKEND, "1 of %d members came within %g s", size, deadline);
    ct_comm *c = ct_calloc(1, sizeof *c, "test");
    c->rank = rank;
    c->size = size;
    *out = c;
    return CT_OK;
}

/* Every member computes the same from all parts, in the order of ranks. */
static ct_status combine(ct_comm *c, void *buf, int64_t n, ct_dtype type)
{
    const size_t bytes = (size_t)n * ct_dtype_size(type);
    char *sum = ct_malloc(bytes, "test");
    meeting.part[c->rank] = buf;
    pthread_barrier_wait(&meeting.barrier);
    for (int64_t i = 0; i < n; i++) {
        double v = ct_load(type, meeting.part[0], i);
        for (int k = 1; k < c->size; k++) v += ct_load(type, meeting.part[k], i);
        ct_store(type, sum, i, v);
    }
    pthread_barrier_wait(&meeting.barrier);
    memcpy(buf, sum, bytes);
    pthread_barrier_wait(&meeting.barrier);
    ct_free(sum);
    return CT_OK;
}

static ct_status fake_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    (void)s;
    if (c->sums < CALLS) c->elements[c->sums++] = n;
    return combine(c, buf, n, type);
}

static ct_status fake_broadcast(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root)
{
    (void)s;
    meeting.part[c->rank] = buf;
    pthread_barrier_wait(&meeting.barrier);
    if (c->rank != root) memcpy(buf, meeting.part[root], (size_t)bytes);
    pthread_barrier_wait(&meeting.barrier);
    return CT_OK;
}

static ct_status fake_check(ct_comm *c)
{
    if (meeting.broken_at && ++c->checks >= meeting.broken_at) return ct_fail(CT_EBACKEND, "the other card fell off");
    return CT_OK;
}

static _Atomic int aborts;
static void fake_abort(ct_comm *c)
{
    c->aborted = true;
    aborts++;
}

static void fake_destroy(ct_comm *c)
{
    ct_free(c);
}

static const ct_comm_ops fake = { fake_id,        fake_create, fake_sum,    fake_broadcast,
                                  fake_check,     fake_abort,  fake_destroy };

static ct_status fake_done(ct_device *dev, ct_event *e, bool *done)
{
    (void)dev;
    (void)e;
    *done = !meeting.never_done;
    return CT_OK;
}

/* Any memory will do. */
static ct_status host_alloc(ct_device *dev, size_t bytes, const char *what, void **out)
{
    (void)dev;
    return (*out = ct_aligned_alloc(bytes, what)) ? CT_OK : CT_ENOMEM;
}

static void host_free(ct_device *dev, void *p)
{
    (void)dev;
    ct_free(p);
}

static ct_backend grouped(void)
{
    ct_backend b = ct_backend_cpu;
    b.comm = &fake;
    b.event_done = fake_done;
    return b;
}

static void meet(int members)
{
    memset(&meeting, 0, sizeof meeting);
    ck_assert_int_eq(pthread_barrier_init(&meeting.barrier, NULL, (unsigned)members), 0);
    aborts = 0;
}

/* ---- a member's training ---- */

enum { BATCH = 4, STEPS = 3 };

typedef struct member {
    const ct_backend *b;
    int rank, size;
    int data;            /* which samples it sees */
    int bad_step;        /* its input holds a NaN in this step; -1: never */
    int64_t bucket;      /* bytes */
    int64_t accumulate;
    double dropout;
    void *weights, *gradients; /* as they are afterwards: ct_free() */
    size_t bytes;
    double state[CT_STATE_COUNT], metrics[CT_METRIC_COUNT];
    uint64_t seed;       /* of its first weights */
    ct_status st;
    char message[256];
} member;

static void upload(ct_plan *plan, const ct_program *p, const ct_program_spec *s, int data, int step, bool bad)
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

static ct_program_spec small_model(int rank, int size, double dropout)
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
                               .rank = rank };
    s.batch = BATCH;
    s.members = size;
    return s;
}

static ct_status train(member *m)
{
    ct_program_spec s = small_model(m->rank, m->size, m->dropout);
    s.accumulate = m->accumulate;
    const bool micro = m->accumulate > 1;
    const ct_device_opts opts = { .threads = 1 };
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    const ct_group_opts join = { .rank = m->rank, .size = m->size, .deadline = 0.2 };
    ct_group_opts named = join;
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
    if (m->b->comm) ok(ct_group_id(m->b, named.id));
    ct_status st = ct_group_join(store, m->size > 1 ? &named : NULL, &g);
    if (st == CT_OK) {
        ok(ct_buckets_make(micro ? update.graph : first.graph, &l, micro ? CT_ARENA_GACC : CT_ARENA_GRAD, m->bucket,
                           &b));
        st = ct_group_share(g);
        for (int i = 0; i < STEPS && st == CT_OK; i++) {
            upload(plan, &first, &s, m->data, i, i == m->bad_step);
            if (micro) ok(ct_plan_run(plan));
            for (int64_t k = 1; k < m->accumulate; k++) {
                upload(more, &next, &s, m->data, i, false);
                ok(ct_plan_run(more));
            }
            st = ct_group_step(g, micro ? last : plan, &b);
            if (st == CT_OK) st = ct_group_wait(g);
        }
        if (st == CT_OK) ok(ct_group_metrics(g));
        ct_buckets_free(&b);
    }
    if (st == CT_OK) {
        const ct_arena arena = micro ? CT_ARENA_GACC : CT_ARENA_GRAD;
        ok(ct_arenas_get_state(store, m->state));
        ok(ct_arenas_get_metrics(store, m->metrics, false));
        m->bytes = store->bytes[CT_ARENA_PARAM];
        m->weights = ct_malloc(m->bytes, "test");
        m->gradients = ct_malloc(m->bytes, "test");
        memcpy(m->weights, store->base[CT_ARENA_PARAM], m->bytes);
        memcpy(m->gradients, store->base[arena], m->bytes);
    }
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

static void *train_thread(void *arg)
{
    train(arg);
    return NULL;
}

static member one(const ct_backend *b, int rank, int size, int data)
{
    return (member){
        .b = b, .rank = rank, .size = size, .data = data, .bad_step = -1, .bucket = 4096, .accumulate = 1, .seed = 7
    };
}

/* Trains all members at the same time. */
static void together(member *m, int n)
{
    pthread_t t[MOST];
    for (int i = 0; i < n; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, train_thread, &m[i]), 0);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}

static void forget(member *m)
{
    ct_free(m->weights);
    ct_free(m->gradients);
}

static void same_weights(const member *a, const member *b)
{
    ck_assert_msg(a->st == CT_OK, "%s", a->message);
    ck_assert_msg(b->st == CT_OK, "%s", b->message);
    ck_assert_uint_eq(a->bytes, b->bytes);
    ck_assert_mem_eq(a->weights, b->weights, a->bytes);
}

/* Two members with the same samples: halves of a gradient add up to it exactly, so the weights are those of one alone.
 * Their first weights differ: sharing makes them member 0's. */
START_TEST(same_samples)
{
    const ct_backend b = grouped();
    member m[2] = { one(&b, 0, 2, 0), one(&b, 1, 2, 0) }, alone = one(&ct_backend_cpu, 0, 1, 0);
    m[1].seed = 8;
    m[0].accumulate = m[1].accumulate = alone.accumulate = _i;
    m[0].bucket = m[1].bucket = _i == 1 ? 4096 : CT_BUCKET_BYTES;
    meet(2);
    together(m, 2);
    ok(train(&alone));
    same_weights(&m[0], &m[1]);
    same_weights(&m[0], &alone);
    ck_assert_mem_eq(m[0].gradients, alone.gradients, alone.bytes);
    ck_assert_double_eq(m[0].metrics[CT_METRIC_SAMPLES], 2 * alone.metrics[CT_METRIC_SAMPLES]);
    ck_assert_double_eq(m[1].metrics[CT_METRIC_LOSS], m[0].metrics[CT_METRIC_LOSS]);
    for (int i = 0; i < 2; i++) forget(&m[i]);
    forget(&alone);
}
END_TEST

/* Three members with samples of their own end with the same weights, which are not those of any of them alone. */
START_TEST(own_samples)
{
    const ct_backend b = grouped();
    member m[3] = { one(&b, 0, 3, 0), one(&b, 1, 3, 1), one(&b, 2, 3, 2) }, alone = one(&ct_backend_cpu, 0, 1, 0);
    meet(3);
    together(m, 3);
    ok(train(&alone));
    same_weights(&m[0], &m[1]);
    same_weights(&m[0], &m[2]);
    ck_assert_mem_eq(m[0].gradients, m[1].gradients, m[0].bytes);
    ck_assert_mem_ne(m[0].weights, alone.weights, alone.bytes);
    for (int i = 0; i < 3; i++) forget(&m[i]);
    forget(&alone);
}
END_TEST

/* Two members with the same samples, each with masks of its own: they end with the same weights, but not with those of
 * one alone, as they would if both dropped the same elements (same_samples). */
START_TEST(own_masks)
{
    const ct_backend b = grouped();
    member m[2] = { one(&b, 0, 2, 0), one(&b, 1, 2, 0) }, alone = one(&ct_backend_cpu, 0, 1, 0);
    m[0].dropout = m[1].dropout = alone.dropout = 0.5;
    m[0].accumulate = m[1].accumulate = alone.accumulate = _i;
    meet(2);
    together(m, 2);
    ok(train(&alone));
    same_weights(&m[0], &m[1]);
    ck_assert_mem_ne(m[0].weights, alone.weights, alone.bytes);
    for (int i = 0; i < 2; i++) forget(&m[i]);
    forget(&alone);
}
END_TEST

/* NaN at one member: nobody applies that step. */
START_TEST(one_members_nan)
{
    const ct_backend b = grouped();
    member m[2] = { one(&b, 0, 2, 0), one(&b, 1, 2, 1) };
    m[1].bad_step = 1;
    meet(2);
    together(m, 2);
    same_weights(&m[0], &m[1]);
    for (int i = 0; i < 2; i++) {
        ck_assert_double_eq(m[i].state[CT_STATE_STEP], STEPS);
        ck_assert_double_eq(m[i].state[CT_STATE_SKIPPED], 1);
        forget(&m[i]);
    }
}
END_TEST

START_TEST(errors)
{
    ct_backend b = grouped();
    member m = one(&ct_backend_cpu, 0, 2, 0);
    unsigned char id[CT_COMM_ID];
    meet(1);
    says(train(&m), CT_EUNSUPPORTED, "backend cpu has groups of one device only, not of 2");
    says(ct_group_id(&ct_backend_cpu, id), CT_EUNSUPPORTED, "groups of one");
    m = one(&b, 2, 2, 0);
    says(train(&m), CT_EINVAL, "member 2 of a group of 2");
    m = one(&b, 0, 2, 0);
    meeting.silent = true;
    says(train(&m), CT_EBACKEND, "1 of 2 members came within 0.2 s");
}
END_TEST

/* A member that fails, and one that never comes: the work is given up, with a message; nobody hangs. */
START_TEST(gone)
{
    const ct_backend b = grouped();
    member m[2] = { one(&b, 0, 2, 0), one(&b, 1, 2, 0) };
    meet(2);
    meeting.broken_at = _i == 0 ? 2 : 0;
    meeting.never_done = _i == 1;
    together(m, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(m[i].st, CT_EBACKEND);
        const char *part = _i == 0 ? "the other card fell off" : "waited 0.2 s for the others";
        ck_assert_msg(strstr(m[i].message, part) != NULL, "%s", m[i].message);
        ck_assert(strstr(m[i].message, i == 0 ? "member 0 of 2" : "member 1 of 2") != NULL);
    }
    ck_assert_int_eq(aborts, 2);
}
END_TEST

/* Nor does the host hang that waits for a slot of the ring, or for numbers on their way: the step before it never ends. */
START_TEST(gone_while_waiting)
{
    ct_backend b = grouped();
    const ct_program_spec s = small_model(0, 2, 0);
    const ct_device_opts opts = { .threads = 1 };
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    ct_group_opts join = { .rank = 0, .size = 2, .deadline = 0.2 };
    double metrics[CT_METRIC_COUNT], state[CT_STATE_COUNT];
    const char *part = _i % 2 ? "member 0 of 2 waited 0.2 s for the others" : "the other card fell off";
    ct_layout l;
    ct_program p;
    ct_plan *plan;
    ct_arenas *store;
    ct_group *g;
    ct_feed *f;
    ct_readback *r;
    b.host_alloc = host_alloc;
    b.host_free = host_free;
    meet(1);
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    ok(ct_arenas_create(&b, &opts, &l, &needs, false, &store));
    ok(ct_plan_create(store, p.graph, false, &plan));
    ok(ct_group_id(&b, join.id));
    ok(ct_group_join(store, &join, &g));
    const ct_val x = ct_program_port(&p, "x");
    const size_t bytes = ct_desc_bytes(ct_graph_desc(p.graph, x));
    void *host = ct_calloc(1, bytes, "test");
    const ct_feed_part input = { x, host };
    ok(ct_feed_open(store, bytes, &f));
    ok(ct_readback_open(store, &r));
    for (int i = 0; i < 4; i++) ok(ct_feed_send(f, plan, &input, 1));
    ok(ct_readback_ask(r));
    meeting.broken_at = _i % 2 ? 0 : 1;
    meeting.never_done = true;
    if (_i < 2) says(ct_feed_send(f, plan, &input, 1), CT_EBACKEND, part);
    else says(ct_readback_take(r, metrics, state), CT_EBACKEND, part);
    ck_assert_int_eq(aborts, 1);
    says(ct_feed_send(f, plan, &input, 1), CT_EBACKEND, "this group of 2 devices was given up");
    ct_group_leave(g);
    ck_assert_ptr_null(store->watch);
    ct_readback_close(r);
    ct_feed_close(f);
    ct_plan_free(plan);
    ct_arenas_free(store);
    ct_program_free(&p);
    ct_free(host);
}
END_TEST

/* ---- what members draw ---- */

enum { DRAWN = 4 };

typedef struct drawing {
    uint8_t *mask[DRAWN]; /* [n] of each step: ct_free() */
    int64_t n;
    double state[DRAWN][CT_STATE_COUNT]; /* behind each step */
    void *weights;                       /* the first ones: ct_free() */
    size_t bytes;
} drawing;

static size_t mask_node(const ct_graph *g)
{
    size_t i = 0;
    while (i < g->nnodes && g->nodes[i].op != CT_OP_DROPOUT_MASK) i++;
    ck_assert_uint_lt(i, g->nnodes);
    return i;
}

/* Steps [first, DRAWN) of a member; `from`: the step state that a run left behind, NULL: a new one. */
static drawing draw(int rank, int size, int first, const double *from)
{
    drawing d = { .n = 0 };
    ct_program_spec s = small_model(rank, size, 0.5);
    const ct_device_opts opts = { .threads = 1 };
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    ct_layout l;
    ct_program p;
    ct_arenas *store;
    ct_plan *plan;
    double state[CT_STATE_COUNT];
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    const size_t drawn = mask_node(p.graph), nodes = p.graph->nnodes;
    const ct_val mask = p.graph->nodes[drawn].out[0];
    d.n = ct_desc_numel(ct_graph_desc(p.graph, mask));
    ok(ct_arenas_create(&ct_backend_cpu, &opts, &l, &needs, false, &store));
    ok(ct_plan_create(store, p.graph, false, &plan));
    ok(ct_arenas_init(store, p.graph, s.model.seed));
    ct_program_initial_state(&s, state);
    ok(ct_arenas_set_state(store, from ? from : state));
    d.bytes = store->bytes[CT_ARENA_PARAM];
    ck_assert_ptr_nonnull(d.weights = ct_malloc(d.bytes, "test"));
    memcpy(d.weights, store->base[CT_ARENA_PARAM], d.bytes);
    for (int i = first; i < DRAWN; i++) {
        ck_assert_ptr_nonnull(d.mask[i] = ct_malloc((size_t)d.n, "test"));
        upload(plan, &p, &s, 0, i, false);
        ok(ct_plan_run_nodes(plan, 0, drawn + 1));
        ok(ct_plan_download(plan, mask, d.mask[i]));
        ok(ct_plan_run_nodes(plan, drawn + 1, nodes));
        ok(ct_arenas_get_state(store, d.state[i]));
    }
    ct_plan_free(plan);
    ct_arenas_free(store);
    ct_program_free(&p);
    return d;
}

static void drop_drawing(drawing *d)
{
    for (int i = 0; i < DRAWN; i++) ct_free(d->mask[i]);
    ct_free(d->weights);
}

/* Masks are a function of seed, member and step: a member's are the same every time, nobody else's, and go on where a
 * run was left. The first of a group draws what one alone does. First weights know of no member. */
START_TEST(members_draw_their_own)
{
    drawing a = draw(0, 1, 0, NULL), b[3], again = draw(1, 2, 0, NULL), rest = draw(1, 2, 2, again.state[1]);
    for (int r = 0; r < 3; r++) b[r] = draw(r, 3, 0, NULL);
    ck_assert_int_gt(a.n, 50);
    for (int i = 0; i < DRAWN; i++) {
        ck_assert_mem_eq(b[0].mask[i], a.mask[i], (size_t)a.n);
        ck_assert_mem_eq(b[1].mask[i], again.mask[i], (size_t)a.n);
        if (i >= 2) ck_assert_mem_eq(rest.mask[i], again.mask[i], (size_t)a.n);
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < DRAWN; k++)
                for (int q = 0; q < r; q++) ck_assert_mem_ne(b[r].mask[i], b[q].mask[k], (size_t)a.n);
    }
    for (int r = 0; r < 3; r++) {
        ck_assert_uint_eq(b[r].bytes, a.bytes);
        ck_assert_mem_eq(b[r].weights, a.weights, a.bytes);
        drop_drawing(&b[r]);
    }
    drop_drawing(&a);
    drop_drawing(&again);
    drop_drawing(&rest);
}
END_TEST

/* A session tells its programs which member it is. */
START_TEST(sessions_pass_the_rank_on)
{
    const ct_program_spec s = small_model(0, 0, 0.5);
    const ct_device_opts opts = { .threads = 1 };
    for (int size = 1; size <= 3; size += 2)
        for (int rank = 0; rank < size; rank++) {
            ct_session session;
            ok(ct_session_begin(&session, &s, true, "cpu", &opts, NULL, 0));
            session.join = (ct_group_opts){ .rank = rank, .size = size };
            ok(ct_session_add(&session, CT_PROGRAM_MICRO_FIRST, BATCH, s.src_w, 2, false));
            ok(ct_session_add(&session, CT_PROGRAM_MICRO_NEXT, BATCH, s.src_w, 2, false));
            for (size_t i = 0; i < session.units; i++) {
                const ct_graph *g = session.unit[i].prog.graph;
                ck_assert_int_eq(g->nodes[mask_node(g)].attrs.dropout.rank, rank);
            }
            ct_session_end(&session);
        }
}
END_TEST

static Suite *suite(void)
{
    size_t n = 0;
    while (ct_model_at(n)) n++;
    Suite *s = suite_create("comm");
    TCase *t = tcase_create("buckets");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, buckets_of_models, 0, (int)n);
    tcase_add_test(t, buckets_need_an_update);
    suite_add_tcase(s, t);
    t = tcase_create("groups");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, same_samples, 1, 4);
    tcase_add_test(t, own_samples);
    tcase_add_loop_test(t, own_masks, 1, 3);
    tcase_add_test(t, one_members_nan);
    tcase_add_test(t, errors);
    tcase_add_loop_test(t, gone, 0, 2);
    tcase_add_loop_test(t, gone_while_waiting, 0, 4);
    suite_add_tcase(s, t);
    t = tcase_create("draws");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, members_draw_their_own);
    tcase_add_test(t, sessions_pass_the_rank_on);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
