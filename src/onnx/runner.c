/* A graph of a file on the CPU. */
#include "config.h"

#include "onnx/runner.h"

#include <string.h>

#include "base/alloc.h"

/* The graph's weights, which the store has from now on. */
static ct_status put_weights(ct_onnx_graph *x, ct_arenas *store, bool first)
{
    for (size_t i = 0; i < x->weights; i++) {
        ct_onnx_weight *w = &x->weight[i];
        if (first) CT_TRY(ct_arenas_set(store, x->g, w->val, CT_ARENA_PARAM, w->data));
        ct_free(w->data);
        w->data = NULL;
    }
    return CT_OK;
}

ct_status ct_onnx_runner_open(const char *source, const Onnx__ModelProto *m, const ct_device_opts *opts,
                              const ct_onnx_size *size, ct_onnx_store *shared, ct_onnx_runner *out)
{
    const ct_backend *cpu;
    const ct_arenas_needs needs = { .train = false };
    ct_onnx_store *store = shared ? shared : &out->own;
    ct_layout layout;
    ct_status st;
    memset(out, 0, sizeof *out);
    CT_GOTO(st, ct_backend_load("cpu", &cpu));
    CT_GOTO(st, ct_onnx_graph_make(source, m, size, &out->graph));
    ct_graph *g = out->graph.g;
    const bool first = !store->arenas;
    for (int i = 0; i < out->graph.outs; i++) out->out[i] = *ct_graph_desc(g, out->graph.out[i]);
    CT_GOTO(st, ct_pass_dead(g));
    if (first) {
        CT_GOTO(st, ct_layout_make(g, &layout));
        CT_GOTO(st, ct_arenas_create(cpu, opts, &layout, &needs, false, &store->arenas));
        store->first = g;
    } else {
        CT_GOTO(st, ct_layout_apply(g, store->first));
    }
    CT_GOTO(st, ct_plan_create(store->arenas, g, false, &out->plan));
    CT_GOTO(st, put_weights(&out->graph, store->arenas, first));
    return CT_OK;
fail:
    ct_onnx_runner_close(out);
    return st;
}

void ct_onnx_runner_close(ct_onnx_runner *r)
{
    ct_plan_free(r->plan);
    ct_arenas_free(r->own.arenas);
    ct_onnx_graph_free(&r->graph);
    memset(r, 0, sizeof *r);
}

ct_status ct_onnx_runner_run(ct_onnx_runner *r, const float *x, float *const out[])
{
    CT_TRY(ct_plan_upload(r->plan, r->graph.x, x));
    CT_TRY(ct_plan_run(r->plan));
    for (int i = 0; i < r->graph.outs; i++) CT_TRY(ct_plan_download(r->plan, r->graph.out[i], out[i]));
    return CT_OK;
}
