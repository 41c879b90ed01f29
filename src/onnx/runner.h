/* Inside src/onnx: a graph of a file on the CPU. */
#ifndef CT_ONNX_RUNNER_H
#define CT_ONNX_RUNNER_H

#include "exec/exec.h"
#include "onnx/read.h"

/* Memory of graphs that differ in their sizes alone: the weights once, and room for the largest. Zeroed: none yet. */
typedef struct ct_onnx_store {
    ct_arenas *arenas;
    const ct_graph *first; /* whose layout they have */
} ct_onnx_store;

typedef struct ct_onnx_runner {
    ct_onnx_graph graph;
    ct_onnx_store own; /* where none is shared */
    ct_plan *plan;
    ct_desc out[CT_MODEL_OUTPUTS]; /* as the file gives them, but maps are [N,H,W,C] */
} ct_onnx_runner;

/* shared (NULL: nothing is): of runners of one file, the first of which is closed last; ct_arenas_free() its arenas.
 * What a run gave is gone when another one begins. */
ct_status ct_onnx_runner_open(const char *source, const Onnx__ModelProto *m, const ct_device_opts *opts,
                              const ct_onnx_size *size, ct_onnx_store *shared, ct_onnx_runner *out);
void ct_onnx_runner_close(ct_onnx_runner *r); /* empties; a zeroed one is fine */
/* x [N,H,W,C], of clips [N*F,H,W,C] -> outputs. */
ct_status ct_onnx_runner_run(ct_onnx_runner *r, const float *x, float *const out[]);

#endif
