/* `captrain bench`: the time of whole training steps on data that is already where it is needed. doc/performance.md
 * states the method. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/sized.h"
#include "bench/bench.h"
#include "program/random.h"
#include "program/spec.h"
#include "session/memory.h"

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
    int64_t steps, warmup;
    ct_device_opts device;
    ct_choices *choices;        /* of --tune; NULL: none */
    int64_t max_rss;            /* bytes, before the peaks are measured */
    ct_peaks peaks;             /* with --ops or --calls */
    ct_op_times by_op, by_call; /* empty unless asked for */
} bench;

static void free_bench(bench *b)
{
    ct_plan_free(b->plan);
    ct_arenas_free(b->store);
    ct_program_free(&b->program);
    ct_op_times_free(&b->by_op);
    ct_op_times_free(&b->by_call);
    ct_choices_free(b->choices);
    ct_free(b->times);
}

static ct_status upload_random(const bench *b)
{
    ct_random_batch batch = { .host = { NULL } };
    ct_status st = ct_random_batch_make(&b->spec, &b->program, &batch);
    if (st == CT_OK) st = ct_random_batch_send(&batch, &b->program, b->plan);
    if (st == CT_OK) st = b->backend->stream_sync(b->store->device, b->store->stream);
    ct_random_batch_free(&batch);
    return st;
}

static ct_status set_up(bench *b)
{
    const ct_arenas_needs needs = ct_program_needs(&b->spec, true);
    double state[CT_STATE_COUNT];
    CT_TRY(ct_program_build(&b->spec, CT_PROGRAM_STEP, NULL, &b->layout, &b->program));
    CT_TRY(ct_arenas_create(b->backend, &b->device, &b->layout, &needs, true, &b->store));
    CT_TRY(ct_plan_create(b->store, b->program.graph, false, &b->plan));
    CT_TRY(ct_memory_take(b->store, &b->spec, "--batch"));
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

/* Most memory this process ever held, bytes. */
static int64_t max_resident(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (int64_t)u.ru_maxrss * 1024 : -1;
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
    b->max_rss = max_resident();
    return CT_OK;
}

/* Seconds in which the host queues one call of the step; 0 where the device has no clock of its own. */
static ct_status measure_queue(const bench *b, double *out)
{
    const size_t calls = ct_plan_graph(b->plan)->nnodes;
    *out = 0;
    if (!b->backend->event_seconds) return CT_OK;
    for (int i = 0; i < 3; i++) {
        const double t0 = ct_now();
        CT_TRY(ct_plan_run_nodes(b->plan, 0, calls));
        const double s = (ct_now() - t0) / (double)calls;
        CT_TRY(b->backend->stream_sync(b->store->device, b->store->stream));
        if (i == 0 || s < *out) *out = s;
    }
    return CT_OK;
}

/* Operators are timed in steps of their own: waiting after each call is not what a step does. */
static ct_status measure_ops(bench *b)
{
    const int64_t runs = b->steps < 5 ? b->steps : 5;
    double queue;
    if (!b->opts->ops && !b->opts->calls) return CT_OK;
    CT_TRY(measure_queue(b, &queue));
    CT_TRY(ct_plan_set_timing(b->plan, true));
    for (int64_t i = 0; i < runs; i++) CT_TRY(one_step(b));
    CT_TRY(ct_plan_set_timing(b->plan, false));
    if (b->opts->ops) CT_TRY(ct_op_times_sum(b->plan, runs, false, &b->by_op));
    if (b->opts->calls) CT_TRY(ct_op_times_sum(b->plan, runs, true, &b->by_call));
    b->by_op.told = b->by_call.told = true;
    b->by_op.queue = b->by_call.queue = queue;
    return ct_measure_peaks(b->backend, b->store->device, &b->device, b->spec.compute, &b->peaks);
}

static double median(const bench *b)
{
    int64_t n = b->steps;
    return n % 2 ? b->times[n / 2] : 0.5 * (b->times[n / 2 - 1] + b->times[n / 2]);
}

/* ---- results ---- */

static ct_status print_json(const bench *b, FILE *to)
{
    double s = median(b);
    ct_status st;
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
    CT_GOTO(st, ct_json_set(o, "max_rss_bytes", json_integer(b->max_rss)));
    CT_GOTO(st, ct_json_set(o, "device", json_string(b->info.name)));
    if (b->opts->ops || b->opts->calls) CT_GOTO(st, ct_peaks_json(&b->peaks, o));
    if (b->opts->ops) CT_GOTO(st, ct_op_times_json(&b->by_op, &b->peaks, o, "ops"));
    if (b->opts->calls) CT_GOTO(st, ct_op_times_json(&b->by_call, &b->peaks, o, "calls"));
    st = ct_json_print(o, 0, to);
fail:
    json_decref(o);
    return st;
}

static void print_text(const bench *b, FILE *to)
{
    double s = median(b);
    fprintf(to, "%s, batch %lld, %s, %s with %d thread%s (%s)\n", b->spec.model.name, (long long)b->spec.batch,
            ct_spec_precision_name(&b->spec), b->backend->name, b->info.threads, b->info.threads == 1 ? "" : "s",
            b->info.name);
    fprintf(to, "%lld parameters, planned peak %.1f MB, resident %.1f MB at most\n", (long long)b->layout.params,
            (double)b->stats.peak_bytes * 1e-6, (double)b->max_rss * 1e-6);
    fprintf(to,
            "%.2f ms per step by the host's clock (median of %lld; fastest %.2f, slowest %.2f), %.1f samples/s, "
            "%.1f GFLOP/s\n",
            1e3 * s, (long long)b->steps, 1e3 * b->times[0], 1e3 * b->times[b->steps - 1], (double)b->spec.batch / s,
            b->stats.flops / s * 1e-9);
    if (b->opts->ops || b->opts->calls) ct_peaks_print(&b->peaks, to);
    if (b->opts->ops) {
        fputc('\n', to);
        ct_op_times_print(&b->by_op, &b->peaks, to);
    }
    if (b->opts->calls) {
        fputc('\n', to);
        ct_op_times_print(&b->by_call, &b->peaks, to);
    }
}

static ct_status bench_steps(bench *b, FILE *to)
{
    const ct_bench_opts *opts = b->opts;
    CT_TRY(ct_spec_from_model(opts->model, opts->batch < 0 ? 1 : opts->batch, opts->precision, &b->spec));
    CT_TRY(ct_spec_sizes(&b->spec, &opts->sizes));
    CT_TRY(ct_spec_loss(&b->spec, opts->loss));
    CT_TRY(ct_spec_device(&b->spec, b->backend, &b->device));
    ct_spec_pixels(&b->spec, b->backend);
    ct_spec_fit_device(&b->spec, b->backend, &b->device);
    if (opts->recompute) b->spec.recompute = 0;
    if (opts->batch < 0)
        CT_TRY(ct_memory_auto_batch(&b->spec, b->backend, &b->device, CT_MAX_BATCH, "--batch auto", &b->spec.batch));
    CT_TRY(ct_spec_settle(&b->spec, b->backend, &b->device));
    CT_TRY(set_up(b));
    CT_TRY(measure(b));
    CT_TRY(measure_ops(b));
    if (opts->json) return print_json(b, to);
    print_text(b, to);
    return CT_OK;
}

ct_status ct_run_bench(const ct_bench_opts *given, FILE *to)
{
    ct_bench_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_bench_opts"));
    const ct_bench_opts *opts = &own;
    bench b = { .opts = opts,
                .steps = opts->steps > 0 ? opts->steps : 20,
                .warmup = opts->warmup > 0 ? opts->warmup : 3,
                .device = { .threads = opts->common.threads,
                            .exact = opts->exact,
                            .deterministic = opts->deterministic,
                            .eager = opts->no_graph,
                            .tf32 = opts->precision && strcmp(opts->precision, "tf32") == 0 } };
    ct_status st;
    if (!opts->model && !opts->op) return ct_fail(CT_ECONFIG, "bench: which model?");
    if (opts->op && opts->batch < 0)
        return ct_fail(CT_ECONFIG, "bench: --op times calls of a batch that is said; --batch auto is for steps");
    if (opts->op && opts->tune)
        return ct_fail(CT_ECONFIG, "bench: --op times every implementation, --tune has chosen one");
    CT_TRY(ct_backend_choose(opts->common.backend, &b.backend, NULL, 0));
    if (opts->tune) CT_TRY(ct_choices_read(opts->tune, &b.choices));
    b.device.choices = b.choices;
    st = opts->op ? ct_bench_calls(opts, b.backend, &b.device, to) : bench_steps(&b, to);
    free_bench(&b);
    return st;
}
