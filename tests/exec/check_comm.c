/* Groups of devices: buckets of gradients on every model, and groups of threads on the CPU backend with a group of
 * our own. */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "program/spec.h"
#include "session/feed.h"
#include "session/readback.h"
#include "session/session.h"
#include "tests/exec/comm_suite.h"

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

/* What is complete last is little, or one tensor. */
static void check_last(const ct_graph *g, const ct_layout *l, ct_arena arena)
{
    ct_buckets b;
    ok(ct_buckets_make(g, l, arena, CT_BUCKET_BYTES, &b));
    for (size_t i = 0; i < b.n; i++) {
        const ct_bucket *k = &b.bucket[i];
        int tensors = 0;
        if (k->first > 0) continue;
        for (size_t v = 0; v < g->nvalues; v++) {
            const ct_value *x = &g->values[v];
            tensors += x->arena == arena && !x->range && x->root == (ct_val)v && x->offset >= k->first && x->offset < k->end;
        }
        ck_assert_msg(tensors == 1 || k->end - k->first <= CT_BUCKET_LEAST, "%d tensors, %lld bytes", tensors,
                      (long long)(k->end - k->first));
    }
    ct_buckets_free(&b);
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
    ck_assert_uint_eq(check_buckets(step.graph, &l, CT_ARENA_GRAD, CT_BUCKET_WHOLE), l.decay_elems < l.train_elems ? 2 : 1);
    /* tensors are not cut, so a bucket is larger than asked for by less than its largest one; then smaller ones, by a quarter each */
    ck_assert_uint_le(few, (size_t)(l.train_elems * 4 / CT_BUCKET_BYTES + 7));
    check_last(step.graph, &l, CT_ARENA_GRAD);
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

enum { CALLS = 4096 };

/* What all members share. */
static struct {
    pthread_barrier_t barrier;
    void *part[MOST];
    bool silent;     /* create: the others do not come */
    int broken_at;   /* check: fails from this call on; 0: never */
    bool never_done; /* events are never done */
    bool late, bad_poll; /* of the engine: finish() and poll() fail */
    _Atomic int polls;
} meeting;

struct ct_comm {
    int rank, size, checks;
    bool aborted;
    struct {
        void *buf;
        int64_t n;
        ct_dtype type;
        int root; /* -1: a sum */
    } queued[CALLS]; /* of the engine */
    int nqueued;
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

static const ct_comm_ops fake = { .id = fake_id,
                                  .create = fake_create,
                                  .all_reduce_sum = fake_sum,
                                  .broadcast = fake_broadcast,
                                  .check = fake_check,
                                  .abort = fake_abort,
                                  .destroy = fake_destroy };

/* An engine that does nothing before it is waited for: whoever reads a sum earlier has his own part alone. Queueing takes longer than the
 * time between two polls, so there is one behind the next node. */
static ct_status lazy_queue(ct_comm *c, void *buf, int64_t n, ct_dtype type, int root)
{
    ck_assert_int_lt(c->nqueued, CALLS);
    c->queued[c->nqueued].buf = buf;
    c->queued[c->nqueued].n = n;
    c->queued[c->nqueued].type = type;
    c->queued[c->nqueued++].root = root;
    usleep(300);
    return CT_OK;
}

static ct_status lazy_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    (void)s;
    return lazy_queue(c, buf, n, type, -1);
}

static ct_status lazy_broadcast(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root)
{
    (void)s;
    return lazy_queue(c, buf, bytes, CT_U8, root);
}

static ct_status lazy_poll(ct_comm *c, bool *done)
{
    ck_assert_int_gt(c->nqueued, 0);
    meeting.polls++;
    *done = false;
    return meeting.bad_poll ? ct_fail(CT_EBACKEND, "member %d of %d: the cable was pulled", c->rank, c->size) : CT_OK;
}

static ct_status lazy_finish(ct_comm *c, double deadline)
{
    if (meeting.late) return ct_fail(CT_EBACKEND, "member %d of %d waited %g s", c->rank, c->size, deadline);
    for (int i = 0; i < c->nqueued; i++) {
        if (c->queued[i].root < 0) combine(c, c->queued[i].buf, c->queued[i].n, c->queued[i].type);
        else fake_broadcast(c, NULL, c->queued[i].buf, c->queued[i].n, c->queued[i].root);
    }
    c->nqueued = 0;
    return CT_OK;
}

static ct_status lazy_gather(ct_comm *c, const void *mine, size_t bytes, void *all, double deadline)
{
    ct_status st = lazy_finish(c, deadline);
    if (st != CT_OK) return st;
    char *own = ct_malloc(bytes, "test");
    memcpy(own, mine, bytes);
    meeting.part[c->rank] = own;
    pthread_barrier_wait(&meeting.barrier);
    for (int k = 0; k < c->size; k++) memcpy((char *)all + (size_t)k * bytes, meeting.part[k], bytes);
    pthread_barrier_wait(&meeting.barrier);
    ct_free(own);
    return CT_OK;
}

static const ct_comm_ops lazy = { .id = fake_id,
                                  .create = fake_create,
                                  .all_reduce_sum = lazy_sum,
                                  .broadcast = lazy_broadcast,
                                  .check = fake_check,
                                  .abort = fake_abort,
                                  .destroy = fake_destroy,
                                  .poll = lazy_poll,
                                  .finish = lazy_finish,
                                  .gather = lazy_gather };

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

/* ---- groups of threads ---- */

static void *train_thread(void *arg)
{
    member_train(arg);
    return NULL;
}

/* Trains all members at the same time. */
static void together(member *m, int n)
{
    pthread_t t[MOST];
    for (int i = 0; i < n; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, train_thread, &m[i]), 0);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}

/* Every scenario: with sums that move by themselves, with an engine's, and with these for a device that has to copy to the host. */
START_TEST(all_scenarios)
{
    const scenario *s = &scenarios[_i / 3];
    const int how = _i % 3;
    ct_backend b = how == 0 ? grouped() : ct_backend_cpu;
    member m[MOST];
    if (how == 2) {
        b.host_memory = false;
        b.host_alloc = host_alloc;
        b.host_free = host_free;
    }
    for (int i = 0; i < s->members; i++) {
        m[i] = member_one(&b, i, s->members, 0);
        if (how > 0) m[i].ops = &lazy;
    }
    meet(s->members);
    s->prepare(m, s->members, s->variant);
    together(m, s->members);
    s->judge(m, s->members, s->variant);
    for (int i = 0; i < s->members; i++) {
        const bool moved = m[i].sums > 0 && m[i].waited > 0 && m[i].waited <= m[i].sums;
        ck_assert_msg(how > 0 ? moved : m[i].sums == 0 && m[i].waited == 0, "%g s, waited %g s", m[i].sums, m[i].waited);
        member_forget(&m[i]);
    }
    ck_assert_int_eq(meeting.polls > 0, how == 2 || (how == 1 && s->variant == 1));
}
END_TEST

/* An engine's failures end the group: while the backward pass goes on, when it is waited for. */
START_TEST(engine_fails)
{
    member m[2] = { member_one(&ct_backend_cpu, 0, 2, 0), member_one(&ct_backend_cpu, 1, 2, 0) };
    m[0].ops = m[1].ops = &lazy;
    meet(2);
    meeting.late = _i == 0;
    meeting.bad_poll = _i == 1;
    together(m, 2);
    for (int i = 0; i < 2; i++) {
        const char *part = _i == 0 ? "waited 0.2 s" : i == 0 ? "member 0 of 2: the cable was pulled" : "member 1 of 2: the cable was pulled";
        ck_assert_int_eq(m[i].st, CT_EBACKEND);
        ck_assert_msg(strstr(m[i].message, part) != NULL, "%s", m[i].message);
    }
    ck_assert_int_eq(aborts, 2);
}
END_TEST

START_TEST(engines_need_host_memory)
{
    ct_backend b = ct_backend_cpu;
    member m = member_one(&b, 0, 2, 0);
    b.host_memory = false;
    m.ops = &lazy;
    meet(1);
    says(member_train(&m), CT_EUNSUPPORTED, "backend cpu: groups of processes need a device whose memory the host reads, or copies");
}
END_TEST

START_TEST(errors)
{
    ct_backend b = grouped();
    member m = member_one(&ct_backend_cpu, 0, 2, 0);
    unsigned char id[CT_COMM_ID];
    meet(1);
    says(member_train(&m), CT_EUNSUPPORTED, "backend cpu has groups of one device only, not of 2");
    says(ct_group_id(&ct_backend_cpu, id), CT_EUNSUPPORTED, "groups of one");
    m = member_one(&b, 2, 2, 0);
    says(member_train(&m), CT_EINVAL, "member 2 of a group of 2");
    m = member_one(&b, 0, 2, 0);
    meeting.silent = true;
    says(member_train(&m), CT_EBACKEND, "1 of 2 members came within 0.2 s");
}
END_TEST

/* A member that fails, and one that never comes: the work is given up, with a message; nobody hangs. */
START_TEST(gone)
{
    const ct_backend b = grouped();
    member m[2] = { member_one(&b, 0, 2, 0), member_one(&b, 1, 2, 0) };
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
    tcase_add_loop_test(t, all_scenarios, 0, 3 * scenario_count);
    tcase_add_loop_test(t, engine_fails, 0, 2);
    tcase_add_test(t, engines_need_host_memory);
    tcase_add_test(t, errors);
    tcase_add_loop_test(t, gone, 0, 2);
    tcase_add_loop_test(t, gone_while_waiting, 0, 4);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
