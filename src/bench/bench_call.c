/* `captrain bench --op`: single calls, every implementation that accepts. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "bench/bench.h"
#include "program/spec.h"

#define CALL_SECONDS 0.2 /* for each implementation */

/* Whose shapes stand for an operator when no model is named: the models and batches doc/performance.md compares. */
static const struct {
    const char *model;
    int64_t batch;
} models[] = { { "textcnn", 64 }, { "resnet18", 16 }, { "resnet50", 8 } };

typedef struct calls_bench {
    const ct_bench_opts *opts;
    const ct_backend *backend;
    const ct_device_opts *device_opts;
    ct_device *dev;
    ct_device_info info;
    ct_call_list list;
    ct_peaks peaks;
    json_t *calls; /* NULL: text */
} calls_bench;

/* The calls of `op` in the training step of a model. */
static ct_status add_model(calls_bench *b, const char *model, int64_t batch, ct_op op)
{
    ct_program_spec spec;
    ct_program p;
    ct_layout layout;
    CT_TRY(ct_spec_from_model(model, batch, b->opts->precision, &spec));
    CT_TRY(ct_spec_sizes(&spec, &b->opts->sizes));
    CT_TRY(ct_spec_loss(&spec, b->opts->loss));
    ct_spec_pixels(&spec, b->backend);
    ct_spec_fit_device(&spec, b->backend, b->device_opts);
    if (b->opts->recompute) spec.recompute = 0;
    CT_TRY(ct_program_build(&spec, CT_PROGRAM_STEP, NULL, &layout, &p));
    ct_status st = ct_call_list_add_graph(&b->list, p.graph, op);
    ct_program_free(&p);
    return st;
}

static ct_status find_calls(calls_bench *b)
{
    const ct_bench_opts *o = b->opts;
    ct_op op;
    if (strchr(o->op, '(')) {
        ct_call call;
        if (o->model) return ct_fail(CT_ECONFIG, "bench: a model's shapes belong to --op NAME; a CALL has its own");
        if (ct_call_parse(o->op, &call) != CT_OK) return ct_fail_context(CT_ECONFIG, "--op");
        if (ct_op_get(call.op)->rules->flags & CT_OPF_VIEW)
            return ct_fail(CT_ECONFIG, "--op: %s is a view, nothing runs", ct_op_get(call.op)->name);
        return ct_call_list_add(&b->list, &call);
    }
    if (!ct_op_find(o->op, &op)) return ct_fail(CT_ECONFIG, "--op: there is no operator '%s'", o->op);
    if (o->model) CT_TRY(add_model(b, o->model, o->batch, op));
    for (size_t i = 0; !o->model && i < sizeof models / sizeof models[0]; i++)
        CT_TRY(add_model(b, models[i].model, o->batch ? o->batch : models[i].batch, op));
    if (b->list.n == 0) return ct_fail(CT_ECONFIG, "--op: no training step has the operator '%s'; give a CALL", o->op);
    return CT_OK;
}

/* Type the peaks are measured in: that of the first call's first floating tensor. */
static ct_dtype type_of(const ct_call *call)
{
    for (int i = 0; i < call->nin; i++)
        if (ct_present(&call->in[i]) && ct_dtype_is_float(call->in[i].desc.dtype)) return call->in[i].desc.dtype;
    return CT_F32;
}

static ct_status measure_all(calls_bench *b, FILE *to)
{
    for (size_t i = 0; i < b->list.n; i++) {
        ct_measured m;
        const ct_call_use *u = &b->list.use[i];
        CT_TRY(ct_measure_call(b->backend, b->dev, b->device_opts, &u->call, CALL_SECONDS, &m));
        ct_status st = CT_OK;
        if (b->calls) st = ct_measured_json(u, &m, m.first, &b->peaks, b->calls);
        else ct_measured_print(u, &m, m.first, &b->peaks, to);
        ct_measured_free(&m);
        if (st != CT_OK) return st;
        fflush(to);
    }
    return CT_OK;
}

static ct_status bench_json(calls_bench *b, FILE *to)
{
    ct_status st;
    json_t *o = json_object();
    b->calls = json_array();
    CT_GOTO(st, ct_json_set(o, "calls", b->calls));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(b->backend->name)));
    CT_GOTO(st, ct_json_set(o, "device", json_string(b->info.name)));
    CT_GOTO(st, ct_json_set(o, "threads", json_integer(b->info.threads)));
    CT_GOTO(st, ct_peaks_json(&b->peaks, o));
    CT_GOTO(st, measure_all(b, to));
    st = ct_json_print(o, 0, to);
fail:
    json_decref(o);
    return st;
}

ct_status ct_bench_calls(const ct_bench_opts *opts, const ct_backend *backend, const ct_device_opts *device, FILE *to)
{
    calls_bench b = { .opts = opts, .backend = backend, .device_opts = device };
    ct_status st;
    CT_GOTO(st, find_calls(&b));
    CT_GOTO(st, backend->open(device, &b.dev));
    CT_GOTO(st, backend->info(b.dev, &b.info));
    CT_GOTO(st, ct_measure_peaks(backend, b.dev, device, type_of(&b.list.use[0].call), &b.peaks));
    if (opts->json) {
        st = bench_json(&b, to);
        goto fail;
    }
    fprintf(to, "%s with %d thread%s (%s)\n", backend->name, b.info.threads, b.info.threads == 1 ? "" : "s",
            b.info.name);
    ct_peaks_print(&b.peaks, to);
    st = measure_all(&b, to);
fail:
    backend->close(b.dev);
    ct_call_list_free(&b.list);
    return st;
}
