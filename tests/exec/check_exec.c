/* Registry, table validation, dispatch, arenas and plans. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "exec/exec.h"
#include "program/program.h"
#include "tests/ct_check.h"

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part,
                  ct_error_message());
}

/* ---- registry ---- */

static void search_in(const char *variant)
{
    char path[4200];
    snprintf(path, sizeof path, "/nonexistent:%s/tests/plugins/%s/.libs", ct_check_builddir(), variant);
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
}

START_TEST(names)
{
    const ct_backend *b;
    ck_assert_uint_ge(ct_backend_count(), 2);
    for (size_t i = 0; i < ct_backend_count(); i++) ck_assert_ptr_nonnull(ct_backend_name(i));
    ck_assert_ptr_null(ct_backend_name(ct_backend_count()));
    says(ct_backend_load("tpu", &b), CT_EBACKEND, "there is no backend 'tpu'; the names are auto, cuda, cpu");
    ck_assert_int_eq(ct_backend_load("cpu", &b), CT_OK);
    ck_assert_ptr_eq(b, &ct_backend_cpu);
}
END_TEST

START_TEST(plugin_messages)
{
    const ct_backend *b;
    char dir[] = "/tmp/ct_exec_XXXXXX", file[64];
    setenv("CAPTRAIN_BACKEND_PATH", "/nonexistent", 1);
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "backend cuda: no plug-in captrain-cuda.so in /nonexistent or ");
    ck_assert_ptr_null(b);
    search_in("nosymbol");
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "has no symbol ct_backend_entry");
    search_in("abi");
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "was built for another captrain (plug-in ABI");
    search_in("nodevice");
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "backend cuda: no device: the driver sees no card");
    search_in("refuses");
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "captrain-cuda.so: the driver is older than 525");
    /* one that says nothing does not get the blame of another */
    search_in("silent");
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "captrain-cuda.so: it gives no table, and no reason");
    ck_assert_ptr_null(strstr(ct_error_message(), "525"));
    /* A library that cannot be loaded: the loader's own words. */
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/captrain-cuda.so", dir);
    ck_assert_int_eq(ct_file_write_atomic(file, "no library", 10), CT_OK);
    setenv("CAPTRAIN_BACKEND_PATH", dir, 1);
    says(ct_backend_load("cuda", &b), CT_EBACKEND, "captrain-cuda.so cannot be loaded: ");
    unlink(file);
    rmdir(dir);
}
END_TEST

START_TEST(choose)
{
    const ct_backend *b;
    char why[512];
    setenv("CAPTRAIN_BACKEND_PATH", "/nonexistent", 1);
    ck_assert_int_eq(ct_backend_choose("auto", &b, why, sizeof why), CT_OK);
    ck_assert_str_eq(b->name, "cpu");
    /* a plug-in that was not built is no news, but where its driver is */
    const char *want = access("/proc/driver/nvidia", F_OK) == 0 ? "cpu: taken by auto; backend cuda: no plug-in" : "cpu: taken by auto";
    ck_assert_msg(strncmp(why, want, strlen(want)) == 0 && (strchr(want, ';') || !strchr(why, ';')), "%s", why);
    search_in("silent");
    ck_assert_int_eq(ct_backend_choose("auto", &b, why, sizeof why), CT_OK);
    ck_assert_msg(strstr(why, "cpu: taken by auto; backend cuda: ") != NULL, "%s", why);
    setenv("CAPTRAIN_BACKEND_PATH", "/nonexistent", 1);
    ck_assert_int_eq(ct_backend_choose(NULL, &b, NULL, 0), CT_OK);
    says(ct_backend_choose("cuda", &b, why, sizeof why), CT_EBACKEND, "no plug-in");
    ck_assert_int_eq(ct_backend_choose("cpu", &b, why, sizeof why), CT_OK);
    ck_assert_str_eq(why, "cpu: asked for");
}
END_TEST

START_TEST(plugin_works)
{
    const ct_backend *b;
    char why[512];
    search_in("good");
    ck_assert_msg(ct_backend_choose("auto", &b, why, sizeof why) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(strcmp(b->name, "cuda") == 0, "chose %s (%s)", b->name, why);
    ct_device *dev;
    const ct_device_opts opts = { .threads = 1 };
    ck_assert_int_eq(b->open(&opts, &dev), CT_OK);
    ct_call call;
    ct_choice choice;
    ck_assert_int_eq(ct_call_parse("add(f32[3], f32[3]) -> (f32[3])", &call), CT_OK);
    ck_assert_int_eq(ct_dispatch(b, dev, &opts, &call, &choice), CT_OK);
    ck_assert_str_eq(choice.impl->name, "plain");
    /* What it lacks is an error with its reasons, never another backend's work. */
    ck_assert_int_eq(ct_call_parse("add(f64[3], f64[3]) -> (f64[3])", &call), CT_OK);
    says(ct_dispatch(b, dev, &opts, &call, &choice), CT_EUNSUPPORTED, "plain: only f32");
    ck_assert_int_eq(ct_call_parse("mul(f32[3], f32[3]) -> (f32[3])", &call), CT_OK);
    says(ct_dispatch(b, dev, &opts, &call, &choice), CT_EUNSUPPORTED, "it has no implementation of this operator");
    b->close(dev);
}
END_TEST

/* ---- validation ---- */

static ct_accept yes(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_yes(0);
}

static ct_accept no_first(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_no("first says no");
}

static ct_accept no_silent(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_no(NULL);
}

static ct_status run_nothing(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)call;
    (void)scratch;
    return CT_OK;
}

#define REFERENCE (CT_IMPL_REFERENCE | CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC)

static void bad_impls(const ct_impl *impls, size_t n, const char *part)
{
    const ct_impl_set set = { impls, n }, *const sets[] = { &set };
    ct_backend b = ct_backend_cpu;
    b.sets = sets;
    b.nsets = 1;
    says(ct_backend_validate(&b), CT_EBACKEND, part);
}

START_TEST(validate_good)
{
    ck_assert_msg(ct_backend_validate(&ct_backend_cpu) == CT_OK, "%s", ct_error_message());
}
END_TEST

START_TEST(validate_head)
{
    ct_backend b = ct_backend_cpu;
    says(ct_backend_validate(NULL), CT_EBACKEND, "no table");
    b.abi++;
    says(ct_backend_validate(&b), CT_EBACKEND, "ABI");
    b = ct_backend_cpu;
    b.size--;
    says(ct_backend_validate(&b), CT_EBACKEND, "bytes");
    b = ct_backend_cpu;
    b.name = "";
    says(ct_backend_validate(&b), CT_EBACKEND, "no name");
    b = ct_backend_cpu;
    b.download = NULL;
    says(ct_backend_validate(&b), CT_EBACKEND, "member download is NULL");
    b = ct_backend_cpu;
    b.event_done = NULL;
    says(ct_backend_validate(&b), CT_EBACKEND, "member event_done is NULL");
    b = ct_backend_cpu;
    b.capture_begin = b.stream_sync;
    says(ct_backend_validate(&b), CT_EBACKEND, "1 of the 4 capture members");
    bad_impls(NULL, 0, "no implementations");
}
END_TEST

START_TEST(validate_rows)
{
    const ct_impl a = { CT_OP_ADD, "a", CT_IMPL_EXACT, yes, run_nothing },
                  b = { CT_OP_ADD, "b", CT_IMPL_EXACT, yes, run_nothing };
    const ct_impl ref = { CT_OP_ADD, "ref", REFERENCE, yes, run_nothing };
    ct_impl x = a;
    x.op = CT_OP_COUNT;
    bad_impls(&x, 1, "which does not exist");
    x = a;
    x.name = NULL;
    bad_impls(&x, 1, "implementation 0 (add) of set 0 has no name");
    x = a;
    x.accept = NULL;
    bad_impls(&x, 1, "add.a lacks accept");
    x = a;
    x.run = NULL;
    bad_impls(&x, 1, "add.a lacks run");
    x = a;
    x.flags = 64;
    bad_impls(&x, 1, "add.a has unknown flags 0x40");
    x = ref;
    x.flags = CT_IMPL_REFERENCE;
    bad_impls(&x, 1, "add.ref is a reference but not exact");
    bad_impls((const ct_impl[]){ ref, a }, 2, "add.a stands behind the reference");
    bad_impls((const ct_impl[]){ a, b, a }, 3, "two implementations are called add.a");
}
END_TEST

/* Sets go in any order of operators; of one operator the order counts, within a set and from set to set. */
START_TEST(validate_sets)
{
    static const ct_impl tuned[] = { { CT_OP_MUL, "a", CT_IMPL_EXACT, yes, run_nothing },
                                     { CT_OP_ADD, "a", CT_IMPL_EXACT, yes, run_nothing },
                                     { CT_OP_CONV2D, "c", 0, yes, run_nothing },
                                     { CT_OP_ADD, "b", CT_IMPL_EXACT, yes, run_nothing } };
    static const ct_impl again[] = { { CT_OP_ADD, "b", CT_IMPL_EXACT, yes, run_nothing } };
    static const ct_impl refs[] = { { CT_OP_ADD, "ref", REFERENCE, yes, run_nothing },
                                    { CT_OP_MUL, "ref", REFERENCE, yes, run_nothing } };
    const ct_impl_set t = CT_IMPL_SET(tuned), r = CT_IMPL_SET(refs), twice = CT_IMPL_SET(again), empty = { NULL, 0 },
                      missing = { NULL, 1 };
    const ct_impl_set *sets[] = { &t, &empty, &r };
    ct_backend b = ct_backend_cpu;
    b.sets = sets;
    b.nsets = 3;
    ck_assert_msg(ct_backend_validate(&b) == CT_OK, "%s", ct_error_message());
    const ct_impl *m = ct_impl_next(&b, CT_OP_ADD, NULL);
    ck_assert_ptr_eq(m, &tuned[1]);
    ck_assert_ptr_eq(m = ct_impl_next(&b, CT_OP_ADD, m), &tuned[3]);
    ck_assert_ptr_eq(m = ct_impl_next(&b, CT_OP_ADD, m), &refs[0]);
    ck_assert_ptr_null(ct_impl_next(&b, CT_OP_ADD, m));
    ck_assert_ptr_null(ct_impl_next(&b, CT_OP_CAST, NULL));
    sets[0] = &r;
    sets[2] = &t;
    says(ct_backend_validate(&b), CT_EBACKEND, "mul.a stands behind the reference");
    sets[0] = &twice;
    says(ct_backend_validate(&b), CT_EBACKEND, "two implementations are called add.b");
    sets[0] = &t;
    says(ct_backend_validate(&b), CT_EBACKEND, "sets 0 and 2 of implementations are one");
    sets[0] = &missing;
    says(ct_backend_validate(&b), CT_EBACKEND, "set 0 of implementations is NULL");
    sets[0] = NULL;
    says(ct_backend_validate(&b), CT_EBACKEND, "set 0 of implementations is NULL");
}
END_TEST

/* ---- dispatch ---- */

START_TEST(dispatch_reasons)
{
    static const ct_impl impls[] = {
        { CT_OP_ADD, "first", CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC, no_first, run_nothing },
        { CT_OP_ADD, "loose", CT_IMPL_DETERMINISTIC, yes, run_nothing },
        { CT_OP_ADD, "threads", CT_IMPL_EXACT, yes, run_nothing },
        { CT_OP_ADD, "ref", REFERENCE, yes, run_nothing },
        { CT_OP_MUL, "one", CT_IMPL_EXACT, no_first, run_nothing },
        { CT_OP_MUL, "two", CT_IMPL_EXACT, no_silent, run_nothing },
    };
    ct_backend b = ct_backend_cpu;
    ct_call call;
    ct_choice c;
    const ct_impl_set set = CT_IMPL_SET(impls), *const sets[] = { &set };
    b.sets = sets;
    b.nsets = 1;
    ck_assert_int_eq(ct_call_parse("add(f32[3], f32[3]) -> (f32[3])", &call), CT_OK);
    const struct {
        ct_device_opts opts;
        const char *want;
    } cases[] = {
        { { .threads = 1 }, "loose" },          { { .exact = true }, "threads" },
        { { .deterministic = true }, "loose" }, { { .exact = true, .deterministic = true }, "ref" },
        { { .reference = true }, "ref" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(ct_dispatch(&b, NULL, &cases[i].opts, &call, &c), CT_OK);
        ck_assert_msg(strcmp(c.impl->name, cases[i].want) == 0, "case %zu: %s", i, c.impl->name);
    }
    ck_assert_int_eq(ct_call_parse("mul(f32[3], f32[3]) -> (f32[3])", &call), CT_OK);
    says(ct_dispatch(&b, NULL, &cases[0].opts, &call, &c), CT_EUNSUPPORTED,
         "backend cpu cannot run mul(f32[3], f32[3]) -> (f32[3]) (one: first says no; two: no reason given)");
    says(ct_dispatch(&b, NULL, &cases[4].opts, &call, &c), CT_EUNSUPPORTED,
         "one: not the reference, which was asked for");
    ck_assert_int_eq(ct_call_parse("cast{dtype=1}(f32[3]) -> (f64[3])", &call), CT_OK);
    says(ct_dispatch(&b, NULL, &cases[0].opts, &call, &c), CT_EUNSUPPORTED,
         "it has no implementation of this operator");
}
END_TEST

/* ---- plans ---- */

static void small_spec(ct_program_spec *s, int64_t batch)
{
    ct_program_defaults(s);
    s->model = (ct_model_spec){ .name = "textcnn",
                                .height = 16,
                                .width = 24,
                                .channels = 1,
                                .positions = 2,
                                .classes = 5,
                                .width_mult = 0.25,
                                .hidden = 16,
                                .dropout = 0.25,
                                .dtype = CT_F32,
                                .seed = 3 };
    s->batch = batch;
}

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static void fill_random(ct_plan *plan, const ct_program *p, const ct_program_spec *s, uint64_t seed)
{
    ct_rng rng;
    ct_rng_init(&rng, seed, CT_RNG_TEST, 0);
    const ct_desc *d = ct_graph_desc(p->graph, ct_program_port(p, "x"));
    float *x = ct_malloc(ct_desc_bytes(d), "test");
    int32_t *t = ct_malloc((size_t)(s->batch * s->model.positions) * sizeof *t, "test");
    for (int64_t i = 0; i < ct_desc_numel(d); i++) x[i] = (float)ct_rng_uniform(&rng, -1, 1);
    for (int64_t i = 0; i < s->batch * s->model.positions; i++)
        t[i] = (int32_t)ct_rng_below(&rng, (uint32_t)s->model.classes);
    ok(ct_plan_upload(plan, ct_program_port(p, "x"), x));
    if (ct_program_port(p, "target") != CT_NOVAL) ok(ct_plan_upload(plan, ct_program_port(p, "target"), t));
    ct_free(x);
    ct_free(t);
}

typedef struct rig {
    ct_program_spec spec;
    ct_layout layout;
    ct_program p;
    ct_arenas *store;
    ct_plan *plan;
} rig;

static void set_up(rig *r, int64_t batch)
{
    const ct_device_opts opts = { .threads = 2 };
    small_spec(&r->spec, batch);
    ct_arenas_needs needs = ct_program_needs(&r->spec, true);
    ok(ct_program_build(&r->spec, CT_PROGRAM_STEP, NULL, &r->layout, &r->p));
    ok(ct_arenas_create(&ct_backend_cpu, &opts, &r->layout, &needs, false, &r->store));
    ok(ct_plan_create(r->store, r->p.graph, false, &r->plan));
    ok(ct_arenas_init(r->store, r->p.graph, 7));
}

static void tear_down(rig *r)
{
    ct_plan_free(r->plan);
    ct_arenas_free(r->store);
    ct_program_free(&r->p);
}

/* Runs the nodes of the graph one by one, every value in memory of its own. */
typedef struct direct {
    const ct_graph *g;
    ct_device *dev;
    ct_stream *stream;
    char *flat[CT_ARENA_COUNT];
    char **own; /* [nvalues] of INPUT and ACT roots */
} direct;

static void *direct_address(const direct *d, ct_val v)
{
    if (v == CT_NOVAL) return NULL;
    ct_val root = d->g->values[v].root;
    const ct_value *r = &d->g->values[root];
    return r->arena == CT_ARENA_ACT || r->arena == CT_ARENA_INPUT ? d->own[root] : d->flat[r->arena] + r->offset;
}

static void direct_open(direct *d, const rig *r)
{
    const ct_device_opts opts = { .threads = 2 };
    d->g = r->p.graph;
    ok(ct_backend_cpu.open(&opts, &d->dev));
    ok(ct_backend_cpu.stream_create(d->dev, &d->stream));
    d->own = ct_calloc(d->g->nvalues, sizeof *d->own, "test");
    for (int a = 0; a < CT_ARENA_COUNT; a++) {
        d->flat[a] = ct_aligned_alloc(r->store->bytes[a] + 1, "test");
        memset(d->flat[a], 0, r->store->bytes[a] + 1);
    }
    for (size_t v = 0; v < d->g->nvalues; v++) {
        d->own[v] = ct_aligned_alloc(ct_desc_bytes(&d->g->values[v].desc) + 64, "test");
        memset(d->own[v], 0xff, ct_desc_bytes(&d->g->values[v].desc)); /* NaN: what is not written shows */
    }
}

static void direct_run(const direct *d)
{
    const ct_device_opts opts = { .threads = 2 };
    for (size_t i = 0; i < d->g->nnodes; i++) {
        const ct_node *n = &d->g->nodes[i];
        ct_call call;
        ct_choice choice;
        if (ct_op_get(n->op)->rules->flags & CT_OPF_VIEW) continue;
        ct_graph_call(d->g, i, &call);
        ok(ct_dispatch(&ct_backend_cpu, d->dev, &opts, &call, &choice));
        for (int k = 0; k < n->nin; k++) call.in[k].data = direct_address(d, n->in[k]);
        for (int k = 0; k < n->nout; k++) call.out[k].data = direct_address(d, n->out[k]);
        void *scratch = ct_aligned_alloc(choice.scratch + 64, "test");
        ok(choice.impl->run(d->dev, d->stream, &call, scratch));
        ct_free(scratch);
    }
}

static void direct_close(direct *d)
{
    for (size_t v = 0; v < d->g->nvalues; v++) ct_free(d->own[v]);
    ct_free(d->own);
    for (int a = 0; a < CT_ARENA_COUNT; a++) ct_free(d->flat[a]);
    ct_backend_cpu.stream_destroy(d->dev, d->stream);
    ct_backend_cpu.close(d->dev);
}

START_TEST(plan_equals_direct)
{
    rig r;
    direct d;
    set_up(&r, 3);
    direct_open(&d, &r);
    /* the same start: weights, state, inputs */
    fill_random(r.plan, &r.p, &r.spec, 11);
    for (int a = 0; a < CT_ARENA_COUNT; a++)
        if (a != CT_ARENA_ACT && a != CT_ARENA_INPUT && r.store->base[a])
            memcpy(d.flat[a], r.store->base[a], r.store->bytes[a]);
    const ct_val inputs[2] = { ct_graph_find(r.p.graph, "x"), ct_program_port(&r.p, "target") };
    for (int i = 0; i < 2; i++) ok(ct_plan_download(r.plan, inputs[i], direct_address(&d, inputs[i])));
    for (int step = 0; step < 3; step++) {
        if (step)
            fill_random(r.plan, &r.p, &r.spec, 11); /* inputs may be overwritten once nobody reads them any more */
        ok(ct_plan_run(r.plan));
        direct_run(&d);
        float a, b;
        ok(ct_plan_download(r.plan, ct_program_port(&r.p, "loss"), &a));
        memcpy(&b, direct_address(&d, ct_program_port(&r.p, "loss")), sizeof b);
        ck_assert_msg(a == b && isfinite(a), "step %d: loss %.9g, directly %.9g", step, a, b);
    }
    for (int a = 0; a < CT_ARENA_COUNT; a++)
        if (a != CT_ARENA_ACT && a != CT_ARENA_INPUT && r.store->base[a])
            ck_assert_msg(memcmp(d.flat[a], r.store->base[a], r.store->bytes[a]) == 0, "arena %s differs",
                          ct_arena_name((ct_arena)a));
    ct_plan_stats stats;
    ct_plan_get_stats(r.plan, &stats);
    ck_assert_msg(stats.act_bytes < stats.unshared_bytes && stats.act_bytes >= stats.lower_bound,
                  "memory is not shared: %lld of %lld", (long long)stats.act_bytes, (long long)stats.unshared_bytes);
    ck_assert(stats.flops > 0 && stats.bytes > 0);
    direct_close(&d);
    tear_down(&r);
}
END_TEST

START_TEST(arenas_grow)
{
    rig r;
    set_up(&r, 2);
    fill_random(r.plan, &r.p, &r.spec, 5);
    float first, again;
    double state[CT_STATE_COUNT];
    ok(ct_arenas_get_state(r.store, state));
    ck_assert(state[CT_STATE_LOSS_SCALE] == 1 && state[CT_STATE_CLIP_COEF] == 1 && state[CT_STATE_STEP] == 0);
    ok(ct_plan_run(r.plan));
    ok(ct_plan_download(r.plan, ct_program_port(&r.p, "loss"), &first));
    /* A larger plan takes more memory; the first one still works, in the new place. */
    ct_program_spec larger = r.spec;
    larger.batch = 64;
    ct_program p;
    ct_plan *plan;
    size_t before = r.store->bytes[CT_ARENA_ACT];
    ok(ct_program_build(&larger, CT_PROGRAM_STEP, r.p.graph, &r.layout, &p));
    ok(ct_plan_create(r.store, p.graph, false, &plan));
    ck_assert_uint_gt(r.store->bytes[CT_ARENA_ACT], before);
    ok(ct_arenas_init(r.store, r.p.graph, 7));
    ok(ct_arenas_set_state(r.store, state));
    fill_random(r.plan, &r.p, &r.spec, 5);
    ok(ct_plan_run(r.plan));
    ok(ct_plan_download(r.plan, ct_program_port(&r.p, "loss"), &again));
    ck_assert_msg(first == again, "%g, then %g", first, again);
    fill_random(plan, &p, &larger, 6);
    ok(ct_plan_run(plan));
    /* plans may go in any order */
    ct_plan_free(r.plan);
    r.plan = NULL;
    ok(ct_plan_run(plan));
    ct_plan_free(plan);
    ct_program_free(&p);
    tear_down(&r);
}
END_TEST

START_TEST(planned_only)
{
    rig r = { .plan = NULL };
    const ct_device_opts opts = { .threads = 1 };
    small_spec(&r.spec, 4);
    ct_arenas_needs needs = ct_program_needs(&r.spec, true);
    ok(ct_program_build(&r.spec, CT_PROGRAM_STEP, NULL, &r.layout, &r.p));
    ok(ct_arenas_create(&ct_backend_cpu, &opts, &r.layout, &needs, true, &r.store));
    ok(ct_plan_create(r.store, r.p.graph, false, &r.plan));
    for (int a = 0; a < CT_ARENA_COUNT; a++) ck_assert_ptr_null(r.store->base[a]);
    ct_plan_stats stats;
    ct_plan_get_stats(r.plan, &stats);
    int64_t sum = 0;
    for (int a = 0; a < CT_ARENA_COUNT; a++) sum += (int64_t)r.store->bytes[a];
    ck_assert_int_eq(stats.peak_bytes, sum);
    ck_assert_int_eq(stats.optimizer_bytes, 2 * stats.param_bytes);
    says(ct_plan_run(r.plan), CT_EINVAL, "printing only");
    says(ct_arenas_init(r.store, r.p.graph, 1), CT_EINVAL, "planned only");
    tear_down(&r);
}
END_TEST

START_TEST(access_errors)
{
    rig r;
    float buf[64];
    set_up(&r, 2);
    ct_val w = ct_graph_find(r.p.graph, "features.0.bias"), m = ct_graph_find(r.p.graph, "features.1.running_mean");
    ck_assert_int_ne(w, CT_NOVAL);
    ck_assert_int_ne(m, CT_NOVAL);
    ok(ct_arenas_get(r.store, r.p.graph, w, CT_ARENA_PARAM, buf));
    ok(ct_arenas_get(r.store, r.p.graph, w, CT_ARENA_OPT2, buf));
    ok(ct_arenas_get(r.store, r.p.graph, m, CT_ARENA_BUFFER, buf));
    says(ct_arenas_get(r.store, r.p.graph, w, CT_ARENA_EMA, buf), CT_EINVAL, "no arena ema");
    says(ct_arenas_get(r.store, r.p.graph, w, CT_ARENA_BUFFER, buf), CT_EINVAL,
         "'features.0.bias' lives in arena param");
    says(ct_arenas_set(r.store, r.p.graph, m, CT_ARENA_OPT1, buf), CT_EINVAL,
         "'features.1.running_mean' lives in arena buffer");
    /* A part of a tensor is set alone, and none beyond its end. */
    float whole[2][64];
    const size_t bytes = ct_desc_bytes(&r.p.graph->values[w].desc), at = bytes / 2;
    ck_assert_uint_le(bytes, sizeof whole[0]);
    ok(ct_arenas_get(r.store, r.p.graph, w, CT_ARENA_PARAM, whole[0]));
    for (size_t i = at / sizeof(float); i < bytes / sizeof(float); i++) whole[0][i] = (float)i + 0.5f;
    ok(ct_arenas_set_part(r.store, r.p.graph, w, CT_ARENA_PARAM, at, (char *)whole[0] + at, bytes - at));
    ok(ct_arenas_get(r.store, r.p.graph, w, CT_ARENA_PARAM, whole[1]));
    ck_assert_mem_eq(whole[0], whole[1], bytes);
    says(ct_arenas_set_part(r.store, r.p.graph, w, CT_ARENA_PARAM, at, buf, bytes - at + 1), CT_EINVAL, "are not in it");
    says(ct_plan_upload(r.plan, ct_program_port(&r.p, "logits"), buf), CT_EINVAL, "is not an input");
    ct_plan *other;
    says(ct_plan_create(r.store, r.p.graph, true, &other), CT_EINVAL, "averaged weights");
    tear_down(&r);
}
END_TEST

START_TEST(initial_values)
{
    rig a, b;
    set_up(&a, 2);
    set_up(&b, 5);
    /* a function of the seed and the model, not of the batch */
    ck_assert_int_eq(
        memcmp(a.store->base[CT_ARENA_PARAM], b.store->base[CT_ARENA_PARAM], a.store->bytes[CT_ARENA_PARAM]), 0);
    ok(ct_arenas_init(b.store, b.p.graph, 8));
    ck_assert_int_ne(
        memcmp(a.store->base[CT_ARENA_PARAM], b.store->base[CT_ARENA_PARAM], a.store->bytes[CT_ARENA_PARAM]), 0);
    const ct_graph *g = a.p.graph;
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        if (!ct_graph_is_weight(g, (ct_val)i)) continue;
        int64_t n = ct_desc_numel(&v->desc);
        float *x = ct_malloc((size_t)n * sizeof *x, "test");
        double most = 0, sum = 0;
        ok(ct_arenas_get(a.store, g, (ct_val)i, v->arena, x));
        for (int64_t k = 0; k < n; k++) {
            most = fmax(most, fabs((double)x[k]));
            sum += (double)x[k];
        }
        if (v->init.kind == CT_INIT_ZERO) ck_assert_msg(most == 0, "%s", v->name);
        if (v->init.kind == CT_INIT_ONE) ck_assert_msg(most == 1 && sum == (double)n, "%s", v->name);
        if (v->init.kind == CT_INIT_UNIFORM)
            ck_assert_msg(most > 0.5 * v->init.bound && most <= v->init.bound * 1.0000001, "%s", v->name);
        if (v->init.kind == CT_INIT_UNIFORM && n > 500)
            ck_assert_msg(fabs(sum / (double)n) < 6 * v->init.bound / sqrt(3.0 * (double)n), "%s: mean %g", v->name,
                          sum / (double)n);
        ct_free(x);
    }
    tear_down(&a);
    tear_down(&b);
}
END_TEST

/* Every allocation in turn fails: the message is there, nothing is left behind (the sanitizers look), and the next try
 * works. */
START_TEST(out_of_memory)
{
    rig r;
    const ct_device_opts opts = { .threads = 1 };
    small_spec(&r.spec, 2);
    ct_arenas_needs needs = ct_program_needs(&r.spec, true);
    int failures = 0;
    for (long n = 0;; n += n < 40 ? 1 : 7) {
        r = (rig){ .spec = r.spec };
        ct_alloc_fail_after(n);
        ct_status st = ct_program_build(&r.spec, CT_PROGRAM_STEP, NULL, &r.layout, &r.p);
        if (st == CT_OK) st = ct_arenas_create(&ct_backend_cpu, &opts, &r.layout, &needs, false, &r.store);
        if (st == CT_OK) st = ct_plan_create(r.store, r.p.graph, false, &r.plan);
        if (st == CT_OK) st = ct_arenas_init(r.store, r.p.graph, 7);
        ct_alloc_fail_after(-1);
        tear_down(&r);
        if (st == CT_OK) break;
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s: %s", n, ct_status_name(st), ct_error_message());
        failures++;
    }
    ck_assert_int_gt(failures, 40);
}
END_TEST

START_TEST(timing)
{
    rig r;
    set_up(&r, 2);
    fill_random(r.plan, &r.p, &r.spec, 5);
    ok(ct_plan_run(r.plan));
    double sum = 0;
    for (size_t i = 0; i < r.p.graph->nnodes; i++) sum += ct_plan_seconds(r.plan, i);
    ck_assert(sum == 0);
    ck_assert_int_eq(ct_plan_set_timing(r.plan, true), CT_OK);
    ok(ct_plan_run(r.plan));
    int views = 0;
    for (size_t i = 0; i < r.p.graph->nnodes; i++) {
        sum += ct_plan_seconds(r.plan, i);
        bool view = strcmp(ct_plan_impl(r.plan, i), "view") == 0;
        views += view;
        if (!view) ck_assert_msg(strncmp(ct_plan_impl(r.plan, i), "cpu.", 4) == 0, "%s", ct_plan_impl(r.plan, i));
    }
    ck_assert(sum > 0);
    ck_assert_int_ge(views, 1);
    tear_down(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("exec");
    TCase *c = tcase_create("registry");
    tcase_add_test(c, names);
    tcase_add_test(c, plugin_messages);
    tcase_add_test(c, choose);
    tcase_add_test(c, validate_good);
    tcase_add_test(c, validate_head);
    tcase_add_test(c, validate_rows);
    tcase_add_test(c, validate_sets);
    tcase_add_test(c, dispatch_reasons);
    suite_add_tcase(s, c);
    c = tcase_create("plan");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, plan_equals_direct);
    tcase_add_test(c, arenas_grow);
    tcase_add_test(c, planned_only);
    tcase_add_test(c, access_errors);
    tcase_add_test(c, initial_values);
    tcase_add_test(c, out_of_memory);
    tcase_add_test(c, timing);
    suite_add_tcase(s, c);
    c = tcase_create("plug-in"); /* last: a backend that was loaded stays loaded */
    tcase_add_test(c, plugin_works);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
