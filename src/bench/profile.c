/* `captrain profile`: where the time of a training step goes, on the host and on the device, and what to do about it.
 */
#include "config.h"

#include "bench/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "bench/bench.h"
#include "measure/tune.h"
#include "program/random.h"
#include "program/spec.h"
#include "run/run.h"

enum { WARM_STEPS = 4, OPERATOR_STEPS = 5, READS = 5 };

/* Seconds of one kind of steps, summed. */
typedef struct stages {
    double loader, copy, launch, run;
} stages;

typedef struct profile {
    const ct_profile_opts *opts;
    int64_t steps;
    ct_run run; /* the training of a configuration; else only the members below are used */
    bool from_model;
    ct_program_spec spec;
    ct_layout layout;
    ct_program program;
    ct_arenas *store;
    ct_plan *plan;
    ct_random_batch random; /* input of the model */
    ct_device_opts device;
    const ct_backend *backend;
    ct_device_info info;
    int64_t *ran; /* [units] runs of each training program while operators were timed */

    stages joined, apart,
        eager; /* of `steps` steps: as training runs them; waiting for each stage; the same without captures */
    double wall;                 /* of the joined ones */
    double readback;             /* of one */
    double communication;        /* per step */
    double waited;               /* of several processes: for sums, in the joined steps */
    ct_op_times by_op, by_call;
    ct_peaks peaks;
    ct_profile_facts facts;
    ct_verdict verdict;
} profile;

static void release(profile *p)
{
    ct_op_times_free(&p->by_op);
    ct_op_times_free(&p->by_call);
    ct_free(p->ran);
    ct_random_batch_free(&p->random);
    if (!p->from_model) {
        ct_run_release(&p->run);
        return;
    }
    ct_plan_free(p->plan);
    ct_arenas_free(p->store);
    ct_program_free(&p->program);
}

/* ---- what is profiled ---- */

static ct_status set_up_model(profile *p)
{
    const ct_profile_opts *o = p->opts;
    double state[CT_STATE_COUNT];
    CT_TRY(ct_spec_from_model(o->model, o->batch, o->precision, &p->spec));
    CT_TRY(ct_backend_choose(o->common.backend, &p->backend, NULL, 0));
    p->device.threads = o->common.threads;
    CT_TRY(ct_spec_device(&p->spec, p->backend, &p->device));
    ct_spec_pixels(&p->spec, p->backend);
    ct_spec_fit_device(&p->spec, p->backend, &p->device);
    const ct_arenas_needs needs = ct_program_needs(&p->spec, true);
    CT_TRY(ct_program_build(&p->spec, CT_PROGRAM_STEP, NULL, &p->layout, &p->program));
    CT_TRY(ct_arenas_create(p->backend, &p->device, &p->layout, &needs, false, &p->store));
    CT_TRY(ct_plan_create(p->store, p->program.graph, false, &p->plan));
    CT_TRY(ct_arenas_init(p->store, p->program.graph, 1));
    ct_program_initial_state(&p->spec, state);
    CT_TRY(ct_arenas_set_state(p->store, state));
    return ct_random_batch_make(&p->spec, &p->program, &p->random);
}

static ct_status build_run(ct_run *r)
{
    if (*r->cfg->train.tune && !ct_tune_is_auto(r->cfg)) CT_TRY(ct_choices_read(r->cfg->train.tune, &r->choices));
    CT_TRY(ct_run_build(r));
    return ct_run_start(r, NULL);
}

static ct_status set_up_config(profile *p)
{
    const ct_profile_opts *o = p->opts;
    ct_run *r = &p->run;
    const ct_train_opts opts = {
        .size = sizeof opts, .common = o->common, .config = o->config, .sets = o->sets, .nsets = o->nsets
    };
    ct_loader_spec l;
    CT_TRY(ct_run_meet(r, ct_run_configure(r, &opts)));
    if (!r->lead) ct_log_set_level(CT_LOG_WARN); /* the first one tells */
    CT_TRY(ct_run_agree(r, build_run(r)));
    CT_TRY(ct_group_share(r->session.group));
    ct_spec_loader(r->cfg, &r->data.train, &l);
    l.rank = ct_peers_rank(r->peers);
    l.size = ct_peers_size(r->peers);
    l.resident = r->session.resident != NULL;
    l.parts = ct_session_parts(&r->session);
    l.workers = ct_session_workers(&r->session, l.workers);
    CT_TRY(ct_loader_open(&l, &r->loader));
    p->spec = r->session.spec;
    p->store = r->session.store;
    p->backend = r->session.backend;
    p->device = r->session.device_opts;
    p->layout = r->session.layout;
    p->ran = ct_calloc(r->session.units, sizeof *p->ran, "runs of programs");
    return p->ran ? CT_OK : CT_ENOMEM;
}

/* ---- a step, stage by stage ---- */

static ct_status wait_for_device(const profile *p)
{
    return p->backend->stream_sync(p->store->device, p->store->stream);
}

static ct_status send_model(const profile *p)
{
    return ct_random_batch_send(&p->random, &p->program, p->plan);
}

static ct_status start(profile *p, ct_unit *u)
{
    if (!u) return ct_plan_run(p->plan);
    p->ran[u - p->run.session.unit]++;
    return ct_session_run(&p->run.session, u);
}

static ct_status timed_start(profile *p, ct_unit *u, bool apart, stages *t)
{
    const double t0 = ct_now();
    CT_TRY(start(p, u));
    const double t1 = ct_now();
    if (apart) CT_TRY(wait_for_device(p));
    t->launch += t1 - t0;
    t->run += ct_now() - t0;
    return CT_OK;
}

static ct_status send_and_start(profile *p, ct_unit *u, const ct_batch *b, bool apart, stages *t)
{
    const double t0 = ct_now();
    CT_TRY(u ? ct_session_upload(&p->run.session, u, b) : send_model(p));
    if (apart) CT_TRY(wait_for_device(p));
    t->copy += ct_now() - t0;
    return timed_start(p, u, apart, t);
}

/* Micro-step k of *group, which the first one learns from the loader: a group does not reach over the end of an epoch.
 */
static ct_status micro_step(profile *p, int64_t k, int64_t *group, bool apart, stages *t)
{
    ct_run *r = &p->run;
    ct_session *s = &r->session;
    const ct_batch *b = NULL;
    const double t0 = ct_now();
    if (p->from_model) return send_and_start(p, NULL, NULL, apart, t);
    CT_TRY(ct_loader_next(r->loader, &b));
    t->loader += ct_now() - t0;
    if (k == 0) *group = r->batches - b->batch < r->accumulate ? r->batches - b->batch : r->accumulate;
    const ct_program_kind kind = r->accumulate == 1 ? CT_PROGRAM_STEP
                                 : k == 0           ? CT_PROGRAM_MICRO_FIRST
                                                    : CT_PROGRAM_MICRO_NEXT;
    for (int part = 0; part < ct_session_parts(s); part++) {
        ct_batch rows;
        ct_loader_part(r->loader, b, part, &rows);
        if (rows.n == 0) {
            CT_TRY(ct_session_idle(s, kind, part));
            continue;
        }
        ct_unit *u = ct_session_find(s, kind, b->all, b->length, *group, false, part);
        if (!u) return ct_fail(CT_EINTERNAL, "no program for a batch of %d samples of length %d", b->all, b->length);
        CT_TRY(send_and_start(p, u, &rows, apart, t));
    }
    return CT_OK;
}

static ct_status one_step(profile *p, bool apart, stages *t)
{
    ct_run *r = &p->run;
    int64_t group = 1;
    for (int64_t k = 0; k < group; k++) CT_TRY(micro_step(p, k, &group, apart, t));
    if (p->from_model || r->accumulate == 1) return CT_OK;
    ct_session *s = &r->session;
    ct_unit *u = ct_session_find(s, CT_PROGRAM_UPDATE, r->batch, ct_session_length(s), r->accumulate, false, 0);
    return u ? timed_start(p, u, apart, t) : ct_fail(CT_EINTERNAL, "no update program");
}

static ct_status some_steps(profile *p, int64_t n, bool apart, stages *t)
{
    *t = (stages){ 0 };
    for (int64_t i = 0; i < n; i++) CT_TRY(one_step(p, apart, t));
    return wait_for_device(p);
}

/* ---- measuring ---- */

static ct_status set_timing(profile *p, bool on)
{
    ct_session *s = &p->run.session;
    if (p->from_model) return ct_plan_set_timing(p->plan, on);
    for (size_t i = 0; i < s->units; i++) {
        if (s->unit[i].kind == CT_PROGRAM_EVAL) continue;
        CT_TRY(ct_plan_set_timing(s->unit[i].plan, on));
        p->ran[i] = 0;
    }
    return CT_OK;
}

static bool same_row(const ct_op_time *a, const ct_op_time *b)
{
    return a->op == b->op && strcmp(a->impl, b->impl) == 0 && (!a->call || strcmp(a->call, b->call) == 0);
}

static int slowest_first(const void *a, const void *b)
{
    const ct_op_time *p = a, *q = b;
    return p->seconds < q->seconds ? 1 : p->seconds > q->seconds ? -1 : 0;
}

/* Adds the table of a plan that ran in `share` of the steps. Takes the calls' texts over. */
static ct_status merge(ct_op_times *into, size_t *cap, ct_op_times *from, double share)
{
    for (size_t i = 0; i < from->n; i++) {
        ct_op_time *r = &from->row[i];
        size_t k = 0;
        while (k < into->n && !same_row(&into->row[k], r)) k++;
        if (k == into->n) {
            CT_TRY(ct_grow(&into->row, into->n, cap, sizeof *into->row, "operator times"));
            into->row[into->n++] = (ct_op_time){ .op = r->op, .impl = r->impl, .call = r->call };
            r->call = NULL;
        }
        ct_op_time *t = &into->row[k];
        t->calls += r->calls;
        t->seconds += r->seconds;
        t->flops += share * r->flops;
        t->bytes += share * r->bytes;
        into->seconds += r->seconds;
    }
    if (into->n > 1) qsort(into->row, into->n, sizeof *into->row, slowest_first);
    return CT_OK;
}

static ct_status sum_operators(profile *p, int64_t steps, bool by_call, ct_op_times *out)
{
    const ct_session *s = &p->run.session;
    size_t cap = 0;
    *out = (ct_op_times){ .row = NULL };
    if (p->from_model) return ct_op_times_sum(p->plan, steps, by_call, out);
    for (size_t i = 0; i < s->units; i++) {
        ct_op_times t;
        if (p->ran[i] == 0 || s->unit[i].kind == CT_PROGRAM_EVAL) continue;
        CT_TRY(ct_op_times_sum(s->unit[i].plan, steps, by_call, &t));
        ct_status st = merge(out, &cap, &t, (double)p->ran[i] / (double)steps);
        ct_op_times_free(&t);
        CT_TRY(st);
    }
    return CT_OK;
}

static ct_status measure_operators(profile *p)
{
    const int64_t n = p->steps < OPERATOR_STEPS ? p->steps : OPERATOR_STEPS;
    stages unused;
    CT_TRY(set_timing(p, true));
    CT_TRY(some_steps(p, n, false, &unused));
    CT_TRY(sum_operators(p, n, false, &p->by_op));
    CT_TRY(sum_operators(p, n, true, &p->by_call));
    return set_timing(p, false);
}

static ct_status measure_readback(profile *p)
{
    double sums[CT_METRIC_COUNT], state[CT_STATE_COUNT], t0 = ct_now();
    for (int i = 0; i < READS; i++) {
        CT_TRY(ct_arenas_get_metrics(p->store, sums, true));
        CT_TRY(ct_arenas_get_state(p->store, state));
    }
    p->readback = (ct_now() - t0) / READS;
    return CT_OK;
}

/* The sums over the group alone; in a group of one they are nothing, and are measured the same way. */
static ct_status measure_communication(profile *p)
{
    ct_session *s = &p->run.session;
    if (p->from_model) return CT_OK;
    for (size_t i = 0; i < s->units; i++) {
        const ct_buckets *b = &s->unit[i].buckets;
        if (!b->bucket) continue;
        CT_TRY(ct_peers_settle(p->run.peers, CT_OK, NULL)); /* what is measured is not waiting for who comes late */
        const double t0 = ct_now();
        for (size_t k = 0; k < b->n; k++) CT_TRY(ct_comm_reduce_gradients(s->group, b, k));
        CT_TRY(ct_group_wait(s->group));
        p->communication = ct_group_size(s->group) > 1 ? ct_now() - t0 : 0;
        return CT_OK;
    }
    return CT_OK;
}

/* For sums over processes, so far. */
static double seconds_waited(const profile *p)
{
    double sums, waited = 0;
    if (p->run.peers) ct_group_times(p->run.session.group, &sums, &waited);
    return waited;
}

static ct_status measure(profile *p)
{
    stages unused;
    CT_TRY(p->backend->info(p->store->device, &p->info));
    CT_TRY(some_steps(p, WARM_STEPS, false, &unused));
    const double started = ct_now(), before = seconds_waited(p);
    CT_TRY(some_steps(p, p->steps, false, &p->joined));
    p->wall = ct_now() - started;
    p->waited = (seconds_waited(p) - before) / (double)p->steps;
    CT_TRY(some_steps(p, p->steps, true, &p->apart));
    p->eager = p->apart;
    if (p->backend->capture_begin && !p->device.eager) {
        p->store->opts.eager = true;
        ct_status st = some_steps(p, p->steps, true, &p->eager);
        p->store->opts.eager = false;
        CT_TRY(st);
    }
    CT_TRY(measure_readback(p));
    CT_TRY(measure_communication(p));
    CT_TRY(measure_operators(p));
    return ct_measure_peaks(p->backend, p->store->device, &p->device, p->spec.compute, &p->peaks);
}

/* Which ceiling a call is nearer to; without ceilings, by operations per byte. */
static bool moves_more(const ct_op_time *t, const ct_peaks *k)
{
    if (k->flops > 0 && k->bytes > 0) return t->bytes / k->bytes >= t->flops / k->flops;
    return t->flops < 8 * t->bytes;
}

static void judge(profile *p)
{
    const ct_run *r = &p->run;
    const double n = (double)p->steps;
    ct_profile_facts *f = &p->facts;
    *f = (ct_profile_facts){ .step = p->wall / n,
                             .loader = p->joined.loader / n,
                             .copy = p->apart.copy / n,
                             .run = p->apart.run / n,
                             .operators = p->by_call.seconds,
                             .communication = r->peers ? p->waited : p->communication,
                             .parts = !p->from_model && r->cfg->train.parts > 0,
                             .far = p->backend->host_alloc != NULL,
                             .overlaps = !p->from_model && r->session.feed,
                             .resident = !p->from_model && r->session.resident,
                             .fresh = !p->from_model && r->cfg->data.synth.fresh,
                             .data = !p->from_model,
                             .captures = p->backend->capture_begin != NULL,
                             .eager = p->device.eager,
                             .full = p->spec.compute == CT_F32 || p->spec.compute == CT_F64,
                             .tuned = p->device.choices != NULL };
    for (size_t i = 0; i < p->by_call.n; i++) {
        const ct_op_time *t = &p->by_call.row[i];
        *(moves_more(t, &p->peaks) ? &f->memory : &f->compute) += t->seconds;
    }
    ct_profile_judge(f, &p->verdict);
}

/* ---- results ---- */

static void print_stage(const char *what, double seconds, double step, FILE *to)
{
    fprintf(to, "  %-44s %10.3f ms %6.1f%%\n", what, 1e3 * seconds, 100 * seconds / (step > 0 ? step : 1e-12));
}

/* What to do, before the numbers that say so. */
static void print_verdict(const profile *p, FILE *to)
{
    const ct_profile_facts *f = &p->facts;
    const ct_verdict *v = &p->verdict;
    fprintf(to, "bound by: %s: %s\nturn: %s\nshares of a step:", ct_bound_name(v->bound), v->why, v->knob);
    for (int b = 0; b < CT_BOUND_COUNT; b++)
        fprintf(to, "%s %s %.0f%%", b ? "," : "", ct_bound_name((ct_bound)b), 100 * v->share[b]);
    fputc('\n', to);
    if (ct_profile_disagrees(f))
        fprintf(to, "two measurements disagree: operators one by one take %.3f ms, all of them in a row %.3f ms; "
                    "something else was using this machine, or its clock changed: measure again before you believe "
                    "the shares\n", 1e3 * f->operators, 1e3 * f->run);
    fputc('\n', to);
}

static void print_text(const profile *p, FILE *to)
{
    const ct_profile_facts *f = &p->facts;
    const double n = (double)p->steps, step = f->step;
    const int processes = ct_peers_size(p->run.peers);
    fprintf(to, "%s, batch %" PRId64 " x %" PRId64 ", %s, %s with %d thread%s (%s), %" PRId64 " steps\n",
            p->spec.model.name, p->spec.batch, p->spec.accumulate, ct_spec_precision_name(&p->spec), p->backend->name,
            p->info.threads, p->info.threads == 1 ? "" : "s", p->info.name, p->steps);
    if (processes > 1)
        fprintf(to, "the first of %d processes over %s, which share this batch\n", processes,
                ct_peers_means(p->run.peers));
    if (p->spec.small.steps > 0) {
        ct_program_spec small = p->spec;
        ct_program_shrink(&small);
        fprintf(to,
                "of whole pictures; the first %" PRId64 " steps of a training see %" PRId64 "x%" PRId64
                " pixels (train.progressive)\n",
                small.small.steps, small.model.height, small.model.width);
    }
    print_verdict(p, to);
    ct_peaks_print(&p->peaks, to);
    fputs("\nhost and device                                        per step   of it\n", to);
    print_stage("step, as training runs it", step, step, to);
    if (f->data) print_stage("waiting for the loader", f->loader, step, to);
    print_stage(f->overlaps ? "copy of a batch, alone (runs beside steps)" : "copy of a batch", f->copy, step, to);
    if (f->far)
        print_stage(f->captures && !f->eager ? "queueing, replayed in one piece" : "queueing", p->apart.launch / n,
                    step, to);
    if (f->captures && !f->eager) print_stage("queueing, call by call", p->eager.launch / n, step, to);
    print_stage(f->captures && !f->eager ? "run on data that is there, replayed" : "run on data that is there", f->run,
                step, to);
    if (f->captures && !f->eager) print_stage("run, call by call", p->eager.run / n, step, to);
    print_stage("operators, sum of their own times", f->operators, step, to);
    print_stage("summing gradients over the group", p->communication, step, to);
    if (p->run.peers) print_stage("waiting for these sums within a step", p->waited, step, to);
    fprintf(to, "  %-44s %10.3f ms, not in every step\n\n", "reading metrics and state", 1e3 * p->readback);
    ct_op_times_print(&p->by_op, &p->peaks, to);
    fputc('\n', to);
    ct_op_times_print(&p->by_call, &p->peaks, to);
}

static ct_status set_ms(json_t *o, const char *key, double seconds)
{
    return ct_json_set(o, key, ct_json_number(1e3 * seconds));
}

static ct_status json_stages(const profile *p, json_t *o)
{
    const ct_profile_facts *f = &p->facts;
    const double n = (double)p->steps;
    const bool replays = f->captures && !f->eager;
    CT_TRY(set_ms(o, "ms_step", f->step));
    CT_TRY(f->data ? set_ms(o, "ms_loader", f->loader) : ct_json_set(o, "ms_loader", json_null()));
    CT_TRY(set_ms(o, "ms_copy", f->copy));
    /* a device that works on the host's memory computes while the host queues */
    CT_TRY(f->far ? set_ms(o, "ms_launch", p->apart.launch / n) : ct_json_set(o, "ms_launch", json_null()));
    CT_TRY(set_ms(o, "ms_run", f->run));
    CT_TRY(replays ? set_ms(o, "ms_launch_eager", p->eager.launch / n)
                   : ct_json_set(o, "ms_launch_eager", json_null()));
    CT_TRY(replays ? set_ms(o, "ms_run_eager", p->eager.run / n) : ct_json_set(o, "ms_run_eager", json_null()));
    CT_TRY(set_ms(o, "ms_operators", f->operators));
    CT_TRY(set_ms(o, "ms_communication", p->communication));
    CT_TRY(set_ms(o, "ms_communication_waited", p->waited));
    return set_ms(o, "ms_readback", p->readback);
}

static ct_status print_json(const profile *p, FILE *to)
{
    const ct_verdict *v = &p->verdict;
    ct_status st;
    json_t *o = json_object(), *share = json_object();
    CT_GOTO(st, ct_json_set(o, "share", share));
    for (int b = 0; b < CT_BOUND_COUNT; b++)
        CT_GOTO(st, ct_json_set(share, ct_bound_name((ct_bound)b), ct_json_number(v->share[b])));
    CT_GOTO(st, ct_json_set(o, "bound", json_string(ct_bound_name(v->bound))));
    CT_GOTO(st, ct_json_set(o, "why", json_string(v->why)));
    CT_GOTO(st, ct_json_set(o, "knob", json_string(v->knob)));
    CT_GOTO(st, ct_json_set(o, "disagree", json_boolean(ct_profile_disagrees(&p->facts))));
    CT_GOTO(st, ct_json_set(o, "model", json_string(p->spec.model.name)));
    CT_GOTO(st, ct_json_set(o, "batch", json_integer(p->spec.batch)));
    CT_GOTO(st, ct_json_set(o, "accumulate", json_integer(p->spec.accumulate)));
    CT_GOTO(st, ct_json_set(o, "precision", json_string(ct_spec_precision_name(&p->spec))));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(p->backend->name)));
    CT_GOTO(st, ct_json_set(o, "device", json_string(p->info.name)));
    CT_GOTO(st, ct_json_set(o, "threads", json_integer(p->info.threads)));
    CT_GOTO(st, ct_json_set(o, "processes", json_integer(ct_peers_size(p->run.peers))));
    CT_GOTO(st, ct_json_set(o, "steps", json_integer(p->steps)));
    CT_GOTO(st, ct_json_set(o, "resident", json_boolean(p->facts.resident)));
    CT_GOTO(st, json_stages(p, o));
    CT_GOTO(st, ct_peaks_json(&p->peaks, o));
    CT_GOTO(st, ct_op_times_json(&p->by_op, &p->peaks, o, "ops"));
    CT_GOTO(st, ct_op_times_json(&p->by_call, &p->peaks, o, "calls"));
    st = ct_json_print(o, 0, to);
fail:
    json_decref(o);
    return st;
}

/* From the other processes; what failed keeps its message, unless another one tells it. */
static void part(ct_run *r, ct_status st)
{
    char why[4096];
    snprintf(why, sizeof why, "%s", ct_error_message());
    const bool told = r->told;
    if (r->peers) ct_run_part(r, st);
    if (st != CT_OK && told) ct_fail_told(st);
    else if (st != CT_OK) ct_fail(st, "%s", why);
}

ct_status ct_run_profile(const ct_profile_opts *given, FILE *to)
{
    ct_profile_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_profile_opts"));
    const ct_profile_opts *opts = &own;
    profile p = { .opts = opts, .steps = opts->steps > 0 ? opts->steps : 20, .from_model = opts->model != NULL };
    ct_status st;
    if (opts->model && (opts->config || opts->nsets))
        return ct_fail(CT_ECONFIG, "profile: a model of the catalogue, or a configuration with its settings, not both");
    if (!opts->model && (opts->batch || opts->precision))
        return ct_fail(
            CT_ECONFIG,
            "profile: batch and precision go with a model; a configuration has train.batch_size and train.precision");
    CT_GOTO(st, opts->model ? set_up_model(&p) : set_up_config(&p));
    CT_GOTO(st, measure(&p));
    judge(&p);
    if (p.run.peers && !p.run.lead) goto fail;
    if (!opts->json) print_text(&p, to);
    else st = print_json(&p, to);
fail:
    part(&p.run, st);
    release(&p);
    return st;
}
