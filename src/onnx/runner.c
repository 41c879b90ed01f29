/* A graph of a file on the CPU. */
#include "config.h"

#include "onnx/runner.h"

#include <string.h>

#include "base/alloc.h"

ct_status ct_onnx_runner_open(const char *source, const Onnx__ModelProto *m, const ct_device_opts *opts,
                              const ct_onnx_size *size, ct_onnx_runner *out)
{
    const ct_backend *cpu;
    const ct_arenas_needs needs = { .train = false };
    ct_layout layout;
    ct_status st;
    memset(out, 0, sizeof *out);
    CT_GOTO(st, ct_backend_load("cpu", &cpu));
    CT_GOTO(st, ct_onnx_graph_make(source, m, size, &out->graph));
    ct_graph *g = out->graph.g;
    for (int i = 0; i < out->graph.outs; i++) out->out[i] = *ct_graph_desc(g, out->graph.out[i]);
    CT_GOTO(st, ct_pass_dead(g));
    CT_GOTO(st, ct_layout_make(g, &layout));
    CT_GOTO(st, ct_arenas_create(cpu, opts, &layout, &needs, false, &out->store));
    CT_GOTO(st, ct_plan_create(out->store, g, false, &out->plan));
    for (size_t i = 0; i < out->graph.weights; i++) {
        const ct_onnx_weight *w = &out->graph.weight[i];
        CT_GOTO(st, ct_arenas_set(out->store, g, w->val, CT_ARENA_PARAM, w->data));
    }
    return CT_OK;
fail:
    ct_onnx_runner_close(out);
    return st;
}

void ct_onnx_runner_close(ct_onnx_runner *r)
{
    ct_plan_free(r->plan);
    ct_arenas_free(r->store);
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
