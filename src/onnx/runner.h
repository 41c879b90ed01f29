/* Inside src/onnx: a graph of a file on the CPU. */
#ifndef CT_ONNX_RUNNER_H
#define CT_ONNX_RUNNER_H

#include "exec/exec.h"
#include "onnx/read.h"

typedef struct ct_onnx_runner {
    ct_onnx_graph graph;
    ct_arenas *store;
    ct_plan *plan;
    ct_desc out; /* of the scores: as the file gives them */
} ct_onnx_runner;

ct_status ct_onnx_runner_open(const char *source, const Onnx__ModelProto *m, const ct_device_opts *opts, int64_t batch,
                              int64_t height, int64_t width, ct_onnx_runner *out);
void ct_onnx_runner_close(ct_onnx_runner *r); /* empties; a zeroed one is fine */
/* x [N,H,W,C] -> scores. */
ct_status ct_onnx_runner_run(ct_onnx_runner *r, const float *x, float *scores);

#endif
