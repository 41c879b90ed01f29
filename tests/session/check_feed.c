/* Batches on their way to the emulated card, whose copies are put off as long as CUDA's rules allow; events and times of its calls. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "exec/exec.h"
#include "session/feed.h"
#include "session/readback.h"
#include "tests/ct_check.h"

enum { N = 512, BATCHES = 11 };

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

/* Adds a + b, both inputs, to an accumulator. */
typedef struct sum {
    ct_graph *g;
    ct_val a, b, y, weight;
    ct_arenas *store;
    ct_plan *plan;
} sum;

static void open_sum_as(sum *s, const ct_backend *backend, bool eager)
{
    const ct_device_opts opts = { .threads = 1, .eager = eager };
    const ct_arenas_needs needs = { .train = true, .sums = 1 };
    const ct_attrs add = { .scale = { .alpha = 1, .beta = 1 } };
    ct_val acc;
    ct_layout l;
    ok(ct_graph_create(&s->g));
    ok(ct_graph_input(s->g, "a", ct_desc1(CT_F32, N), &s->a));
    ok(ct_graph_input(s->g, "b", ct_desc1(CT_F32, N), &s->b));
    ok(ct_graph_param(s->g, "weight", ct_desc1(CT_F32, N), (ct_init){ CT_INIT_ZERO, 0 }, false, &s->weight)); /* gives the arena its size */
    ct_val in[2] = { s->a, s->b };
    ok(ct_graph_node(s->g, CT_OP_ADD, NULL, "y", 2, in, 1, 1, &s->y));
    ok(ct_graph_range(s->g, "acc", CT_ARENA_GACC, CT_F32, 0, N, &acc));
    ct_val sums[2] = { s->y, acc };
    ok(ct_graph_node(s->g, CT_OP_ACCUMULATE, &add, "accumulate", 2, sums, 0, 0, NULL));
    ok(ct_layout_make(s->g, &l));
    ok(ct_arenas_create(backend, &opts, &l, &needs, false, &s->store));
    ok(ct_plan_create(s->store, s->g, false, &s->plan));
}

static void open_sum(sum *s, const ct_backend *backend)
{
    open_sum_as(s, backend, false);
}

static void close_sum(sum *s)
{
    ct_plan_free(s->plan);
    ct_arenas_free(s->store);
    ct_graph_free(s->g);
}

static const ct_backend *emulated(bool late)
{
    const ct_backend *b;
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
    if (late) setenv("EMULATE_LATE", "1", 1);
    else unsetenv("EMULATE_LATE");
    ok(ct_backend_load("cuda", &b));
    return b;
}

static float part_a(int k, int i) { return (float)(7 * k * k + i); }
static float part_b(int k, int i) { return (float)(k * i); }

/* The host overwrites its memory as soon as a batch is sent and waits for nothing; every step still sees its own batch. Waiting for a
 * slot leaves nothing behind that a later launch would be blamed for, which only steps that are queued call by call would notice. */
START_TEST(ring)
{
    const ct_backend *b = emulated(_i & 1);
    sum s;
    ct_feed *f;
    float x[2][N], acc[N];
    open_sum_as(&s, b, _i & 2);
    ok(ct_feed_open(s.store, sizeof x, &f));
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(ct_feed_bytes(f), 2 * (int64_t)sizeof x);
    const ct_feed_part part[2] = { { s.a, x[0] }, { s.b, x[1] } };
    for (int k = 0; k < BATCHES; k++) {
        for (int i = 0; i < N; i++) {
            x[0][i] = part_a(k, i);
            x[1][i] = part_b(k, i);
        }
        ok(ct_feed_send(f, s.plan, part, 2));
        memset(x, 0xff, sizeof x);
        ok(ct_plan_run(s.plan)); /* captured at the third, if not eager */
    }
    ok(ct_arenas_get(s.store, s.g, s.weight, CT_ARENA_GACC, acc));
    for (int i = 0; i < N; i++) {
        float want = 0;
        for (int k = 0; k < BATCHES; k++) want += part_a(k, i) + part_b(k, i);
        ck_assert_msg(acc[i] == want, "element %d: %g instead of %g", i, (double)acc[i], (double)want);
    }
    ct_feed_close(f);
    close_sum(&s);
}
END_TEST

/* An event that is not done yet is not done, and that is all. */
START_TEST(waiting)
{
    const ct_backend *b = emulated(true);
    sum s;
    ct_event *e;
    bool done = true;
    open_sum_as(&s, b, true);
    ok(b->event_create(s.store->device, &e));
    ok(b->clear(s.store->device, s.store->stream, s.store->base[CT_ARENA_INPUT], N * sizeof(float)));
    ok(b->event_record(s.store->device, e, s.store->stream));
    ok(b->event_done(s.store->device, e, &done));
    ck_assert(!done);
    ok(ct_plan_run(s.plan));
    ok(ct_arenas_await(s.store, e));
    ok(b->event_done(s.store->device, e, &done));
    ck_assert(done);
    b->event_destroy(s.store->device, e);
    close_sum(&s);
}
END_TEST

/* Work that has failed is no answer: what the host would read was never written. */
START_TEST(failed_work)
{
    const ct_backend *b = emulated(true);
    sum s;
    ct_readback *r;
    ct_feed *f;
    float x[N] = { 0 };
    double metrics[CT_METRIC_COUNT], state[CT_STATE_COUNT];
    bool there;
    open_sum(&s, b);
    ok(ct_readback_open(s.store, &r));
    ok(ct_feed_open(s.store, sizeof x, &f));
    const ct_feed_part part = { s.a, x };
    for (int k = 0; k < 3; k++) ok(ct_feed_send(f, s.plan, &part, 1));
    ok(ct_readback_ask(r));
    setenv("EMULATE_WRONG", "events", 1);
    ck_assert_int_eq(ct_readback_there(r, &there), CT_EBACKEND);
    ck_assert_msg(strstr(ct_error_message(), "unspecified launch failure") != NULL, "%s", ct_error_message());
    ck_assert_int_eq(ct_readback_take(r, metrics, state), CT_EBACKEND);
    ck_assert_int_eq(ct_feed_send(f, s.plan, &part, 1), CT_EBACKEND);
    unsetenv("EMULATE_WRONG");
    ok(ct_readback_take(r, metrics, state));
    ct_feed_close(f);
    ct_readback_close(r);
    close_sum(&s);
}
END_TEST

/* CUDA refuses it, and the capture is lost: a step that asks while it is recorded would fail on a card, so it does here. */
START_TEST(asking_while_capturing)
{
    const ct_backend *b = emulated(false);
    sum s;
    ct_event *e;
    ct_capture *c;
    bool done;
    open_sum_as(&s, b, true);
    ok(b->event_create(s.store->device, &e));
    ok(b->capture_begin(s.store->device, s.store->stream));
    ok(ct_plan_run(s.plan));
    ck_assert_int_eq(b->event_done(s.store->device, e, &done), CT_EBACKEND);
    ck_assert_int_eq(b->capture_end(s.store->device, s.store->stream, &c), CT_EBACKEND);
    ok(ct_plan_run(s.plan));
    b->event_destroy(s.store->device, e);
    close_sum(&s);
}
END_TEST

START_TEST(too_large)
{
    const ct_backend *b = emulated(false);
    sum s;
    ct_feed *f;
    float x[N] = { 0 };
    open_sum(&s, b);
    ok(ct_feed_open(s.store, sizeof x, &f));
    const ct_feed_part part[2] = { { s.a, x }, { s.b, x } };
    ck_assert_int_eq(ct_feed_send(f, s.plan, part, 2), CT_EINTERNAL);
    const ct_feed_part no_input = { s.y, x };
    ck_assert_int_eq(ct_feed_send(f, s.plan, &no_input, 1), CT_EINVAL);
    ct_feed_close(f);
    close_sum(&s);
}
END_TEST

/* A device that works on the host's memory has no ring, and closing none is fine. */
START_TEST(no_ring)
{
    sum s;
    ct_feed *f;
    open_sum(&s, &ct_backend_cpu);
    ok(ct_feed_open(s.store, 4096, &f));
    ck_assert_ptr_null(f);
    ck_assert_int_eq(ct_feed_bytes(f), 0);
    ct_feed_close(f);
    close_sum(&s);
}
END_TEST

/* Times of calls come from events, and their sum is within that of the whole run; nothing is captured meanwhile. */
START_TEST(times)
{
    const ct_backend *b = emulated(_i == 1);
    sum s;
    float x[N] = { 0 };
    open_sum(&s, b);
    ok(ct_plan_upload(s.plan, s.a, x));
    ok(ct_plan_upload(s.plan, s.b, x));
    ok(ct_plan_set_timing(s.plan, true));
    const double t0 = ct_now();
    for (int k = 0; k < 5; k++) ok(ct_plan_run(s.plan));
    const double all = ct_now() - t0, add = ct_plan_seconds(s.plan, 0), accumulate = ct_plan_seconds(s.plan, 1);
    ck_assert_msg(add > 0 && accumulate > 0 && add + accumulate <= all + 1e-5, "%g + %g of %g s", add, accumulate, all);
    ok(ct_plan_set_timing(s.plan, false));
    ok(ct_plan_run(s.plan));
    ck_assert_double_eq(ct_plan_seconds(s.plan, 0), add);
    close_sum(&s);
}
END_TEST

START_TEST(pinned)
{
    const ct_backend *b = emulated(false);
    sum s;
    void *p;
    open_sum(&s, b);
    ok(b->host_alloc(s.store->device, 1000, "test", &p));
    memset(p, 1, 1000);
    b->host_free(s.store->device, p);
    b->host_free(s.store->device, NULL);
    ck_assert_int_eq(b->host_alloc(s.store->device, (size_t)1 << 60, "a test's block", &p), CT_ENOMEM);
    ck_assert_msg(strstr(ct_error_message(), "a test's block: 1152921504606846976 bytes of pinned host memory") != NULL, "%s", ct_error_message());
    close_sum(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed");
    TCase *t = tcase_create("feed"); /* each in a process of its own: the plug-in looks at its environment once */
    tcase_set_timeout(t, 60);
    if (getenv("CT_SANITIZERS") && *getenv("CT_SANITIZERS")) {
        puts("only without a card: sanitizers do not know the emulator's fibers");
    } else {
        tcase_add_loop_test(t, ring, 0, 4);
        tcase_add_test(t, waiting);
        tcase_add_test(t, failed_work);
        tcase_add_test(t, asking_while_capturing);
        tcase_add_test(t, too_large);
        tcase_add_loop_test(t, times, 0, 2);
        tcase_add_test(t, pinned);
    }
    tcase_add_test(t, no_ring);
    suite_add_tcase(suite, t);
    return ct_check_main(suite);
}
