/* `captrain bench`: the time of whole training steps on data that is already where it is needed. doc/performance.md
 * states the method. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "formats/json.h"
#include "train/spec.h"

typedef struct bench {
    const ct_bench_opts *opts;
    const ct_backend *backend;
    ct_program_spec spec;
    ct_layout layout;
    ct_program program;
    ct_arenas *store;
    ct_plan *plan;
    ct_plan_stats stats;
    ct_device_info info;
    double *times; /* [steps] seconds, sorted after the run */
    int64_t steps, warmup, timed_ops;
} bench;

static void free_bench(bench *b)
{
    ct_plan_free(b->plan);
    ct_arenas_free(b->store);
    ct_program_free(&b->program);
    ct_free(b->times);
}

/* Random pixels in [0,1) and classes: a function of nothing. */
static ct_status upload_random(bench *b)
{
    const ct_graph *g = b->program.graph;
    const ct_desc *dx = ct_graph_desc(g, b->program.x), *dt = ct_graph_desc(g, b->program.target);
    size_t bytes = ct_desc_bytes(dx) > ct_desc_bytes(dt) ? ct_desc_bytes(dx) : ct_desc_bytes(dt);
    void *host = ct_aligned_alloc(bytes, "random data");
    if (!host) return CT_ENOMEM;
    ct_rng rng;
    ct_status st;
    ct_rng_init(&rng, 1, CT_RNG_TEST, 0);
    for (int64_t i = 0; i < ct_desc_numel(dx); i++) ct_store(dx->dtype, host, i, ct_rng_uniform(&rng, 0, 1));
    CT_GOTO(st, ct_plan_upload(b->plan, b->program.x, host));
    CT_GOTO(st, b->backend->stream_sync(b->store->device, b->store->stream));
    for (int64_t i = 0; i < ct_desc_numel(dt); i++)
        ((int32_t *)host)[i] = (int32_t)ct_rng_below(&rng, (uint32_t)b->spec.model.classes);
    CT_GOTO(st, ct_plan_upload(b->plan, b->program.target, host));
    st = b->backend->stream_sync(b->store->device, b->store->stream);
fail:
    ct_free(host);
    return st;
}

static ct_status set_up(bench *b)
{
    const ct_device_opts opts = { .threads = b->opts->common.threads };
    const ct_arenas_needs needs = ct_program_needs(&b->spec, true);
    double state[CT_STATE_COUNT];
    CT_TRY(ct_program_build(&b->spec, CT_PROGRAM_STEP, NULL, &b->layout, &b->program));
    CT_TRY(ct_arenas_create(b->backend, &opts, &b->layout, &needs, false, &b->store));
    CT_TRY(ct_plan_create(b->store, b->program.graph, false, &b->plan));
    CT_TRY(b->backend->info(b->store->device, &b->info));
    ct_plan_get_stats(b->plan, &b->stats);
    CT_TRY(ct_arenas_init(b->store, b->program.graph, 1));
    ct_program_initial_state(&b->spec, state);
    CT_TRY(ct_arenas_set_state(b->store, state));
    b->times = ct_calloc((size_t)b->steps, sizeof *b->times, "step times");
    if (!b->times) return CT_ENOMEM;
    return upload_random(b);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static ct_status one_step(bench *b)
{
    CT_TRY(ct_plan_run(b->plan));
    return b->backend->stream_sync(b->store->device, b->store->stream);
}

static ct_status measure(bench *b)
{
    for (int64_t i = 0; i < b->warmup; i++) CT_TRY(one_step(b));
    for (int64_t i = 0; i < b->steps; i++) {
        double t0 = ct_now();
        CT_TRY(one_step(b));
        b->times[i] = ct_now() - t0;
    }
    qsort(b->times, (size_t)b->steps, sizeof *b->times, ascending);
    if (!b->opts->ops) return CT_OK;
    /* Operators are timed in steps of their own: waiting after each call is not what a step does. */
    b->timed_ops = b->steps < 5 ? b->steps : 5;
    ct_plan_set_timing(b->plan, true);
    for (int64_t i = 0; i < b->timed_ops; i++) CT_TRY(one_step(b));
    ct_plan_set_timing(b->plan, false);
    return CT_OK;
}

static double median(const bench *b)
{
    int64_t n = b->steps;
    return n % 2 ? b->times[n / 2] : 0.5 * (b->times[n / 2 - 1] + b->times[n / 2]);
}

/* ---- per operator and implementation ---- */

typedef struct op_time {
    ct_op op;
    const char *impl;
    int calls;
    double seconds, flops, bytes; /* per step */
} op_time;

static int slowest_first(const void *a, const void *b)
{
    const op_time *p = a, *q = b;
    return p->seconds < q->seconds ? 1 : p->seconds > q->seconds ? -1 : 0;
}

/* Sums the plan's nodes by (operator, implementation) into *out (ct_free). */
static ct_status sum_ops(const bench *b, op_time **out, size_t *count)
{
    const ct_graph *g = b->program.graph;
    op_time *t = ct_calloc(g->nnodes + 1, sizeof *t, "operator times");
    size_t n = 0;
    if (!t) return CT_ENOMEM;
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_call call;
        ct_graph_call(g, i, &call);
        if (ct_op_get(call.op)->rules->flags & CT_OPF_VIEW) continue;
        size_t k = 0;
        while (k < n && (t[k].op != call.op || strcmp(t[k].impl, ct_plan_impl(b->plan, i)) != 0)) k++;
        if (k == n) t[n++] = (op_time){ .op = call.op, .impl = ct_plan_impl(b->plan, i) };
        t[k].calls++;
        t[k].seconds += ct_plan_seconds(b->plan, i) / (double)b->timed_ops;
        t[k].flops += ct_call_flops(&call);
        t[k].bytes += ct_call_bytes(&call);
    }
    qsort(t, n, sizeof *t, slowest_first);
    *out = t;
    *count = n;
    return CT_OK;
}

static ct_status print_ops(const bench *b, FILE *to)
{
    op_time *t;
    size_t n;
    double sum = 0;
    CT_TRY(sum_ops(b, &t, &n));
    for (size_t i = 0; i < n; i++) sum += t[i].seconds;
    fprintf(to, "\n%-22s %-24s %5s %9s %6s %9s %8s\n", "operator", "implementation", "calls", "ms", "share", "GFLOP/s",
            "GB/s");
    for (size_t i = 0; i < n; i++) {
        double s = t[i].seconds > 0 ? t[i].seconds : 1e-12;
        fprintf(to, "%-22s %-24s %5d %9.3f %5.1f%% %9.1f %8.2f\n", ct_op_get(t[i].op)->name, t[i].impl, t[i].calls,
                1e3 * t[i].seconds, 100 * t[i].seconds / (sum > 0 ? sum : 1), t[i].flops / s * 1e-9,
                t[i].bytes / s * 1e-9);
    }
    ct_free(t);
    return CT_OK;
}

static ct_status json_ops(const bench *b, json_t *into)
{
    op_time *t;
    size_t n;
    CT_TRY(sum_ops(b, &t, &n));
    ct_status st = CT_OK;
    json_t *list = json_array();
    for (size_t i = 0; i < n && st == CT_OK; i++) {
        json_t *o = json_pack("{s:s, s:s, s:i, s:f, s:f, s:f}", "op", ct_op_get(t[i].op)->name, "impl", t[i].impl,
                              "calls", t[i].calls, "ms", 1e3 * t[i].seconds, "flops", t[i].flops, "bytes", t[i].bytes);
        if (json_array_append_new(list, o) != 0) st = ct_fail(CT_ENOMEM, "out of memory: operator times");
    }
    ct_free(t);
    if (st != CT_OK) {
        json_decref(list);
        return st;
    }
    return ct_json_set(into, "ops", list);
}

/* ---- results ---- */

/* Most memory this process ever held, bytes. */
static int64_t max_resident(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (int64_t)u.ru_maxrss * 1024 : -1;
}

static ct_status print_json(const bench *b, FILE *to)
{
    double s = median(b);
    ct_status st;
    char *text = NULL;
    json_t *o = json_object();
    CT_GOTO(st, ct_json_set(o, "model", json_string(b->spec.model.name)));
    CT_GOTO(st, ct_json_set(o, "batch", json_integer(b->spec.batch)));
    CT_GOTO(st, ct_json_set(o, "params", json_integer(b->layout.params)));
    CT_GOTO(st, ct_json_set(o, "ms_per_step", ct_json_number(1e3 * s)));
    CT_GOTO(st, ct_json_set(o, "samples_per_s", ct_json_number((double)b->spec.batch / s)));
    CT_GOTO(st, ct_json_set(o, "peak_bytes", json_integer(b->stats.peak_bytes)));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(b->backend->name)));
    CT_GOTO(st, ct_json_set(o, "precision", json_string(ct_spec_precision_name(&b->spec))));
    CT_GOTO(st, ct_json_set(o, "threads", json_integer(b->info.threads)));
    CT_GOTO(st, ct_json_set(o, "steps", json_integer(b->steps)));
    CT_GOTO(st, ct_json_set(o, "warmup", json_integer(b->warmup)));
    CT_GOTO(st, ct_json_set(o, "ms_min", ct_json_number(1e3 * b->times[0])));
    CT_GOTO(st, ct_json_set(o, "ms_max", ct_json_number(1e3 * b->times[b->steps - 1])));
    CT_GOTO(st, ct_json_set(o, "flops_per_step", ct_json_number(b->stats.flops)));
    CT_GOTO(st, ct_json_set(o, "gflops_per_s", ct_json_number(b->stats.flops / s * 1e-9)));
    CT_GOTO(st, ct_json_set(o, "recompute", json_boolean(b->spec.recompute >= 0)));
    CT_GOTO(st, ct_json_set(o, "max_rss_bytes", json_integer(max_resident())));
    CT_GOTO(st, ct_json_set(o, "device", json_string(b->info.name)));
    if (b->opts->ops) CT_GOTO(st, json_ops(b, o));
    text = ct_json_text(o, 0);
    if (text) fprintf(to, "%s\n", text);
    else st = CT_ENOMEM;
fail:
    ct_free(text);
    json_decref(o);
    return st;
}

static ct_status print_text(const bench *b, FILE *to)
{
    double s = median(b);
    fprintf(to, "%s, batch %lld, %s, %s with %d thread%s (%s)\n", b->spec.model.name, (long long)b->spec.batch,
            ct_spec_precision_name(&b->spec), b->backend->name, b->info.threads, b->info.threads == 1 ? "" : "s",
            b->info.name);
    fprintf(to, "%lld parameters, planned peak %.1f MB, resident %.1f MB at most\n", (long long)b->layout.params,
            (double)b->stats.peak_bytes * 1e-6, (double)max_resident() * 1e-6);
    fprintf(to, "%.2f ms per step (median of %lld; fastest %.2f, slowest %.2f), %.1f samples/s, %.1f GFLOP/s\n",
            1e3 * s, (long long)b->steps, 1e3 * b->times[0], 1e3 * b->times[b->steps - 1], (double)b->spec.batch / s,
            b->stats.flops / s * 1e-9);
    return b->opts->ops ? print_ops(b, to) : CT_OK;
}

ct_status ct_run_bench(const ct_bench_opts *opts, FILE *to)
{
    bench b = { .opts = opts,
                .steps = opts->steps > 0 ? opts->steps : 20,
                .warmup = opts->warmup > 0 ? opts->warmup : 3 };
    ct_status st;
    if (!opts->model) return ct_fail(CT_ECONFIG, "bench: which model?");
    CT_TRY(ct_spec_from_model(opts->model, opts->batch, opts->precision, &b.spec));
    if (opts->recompute) b.spec.recompute = 0;
    CT_TRY(ct_backend_choose(opts->common.backend, &b.backend, NULL, 0));
    CT_GOTO(st, set_up(&b));
    CT_GOTO(st, measure(&b));
    st = opts->json ? print_json(&b, to) : print_text(&b, to);
fail:
    free_bench(&b);
    return st;
}
