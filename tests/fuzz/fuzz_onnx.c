/* libFuzzer target: any bytes as a file of ONNX: taken apart, made a graph of our operators, compared with itself. */
#include "config.h"

#include <stdlib.h>

#include "onnx/read.h"
#include "tests/fuzz/fuzz_util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    Onnx__ModelProto *m;
    ct_onnx_graph x;
    if (ct_onnx_parse(data, bytes, "fuzz", &m) != CT_OK) return 0;
    const bool clip = m->graph->input[0]->type->tensor_type->shape->n_dim == 5;
    const ct_onnx_size size = { 1, clip ? 20 : 0, 32, 64 };
    if (ct_onnx_graph_make("fuzz", m, &size, &x) == CT_OK) {
        if (x.outs < 1 || (size_t)x.outs != m->graph->n_output) abort();
        for (int i = 0; i < x.outs; i++)
            if (x.out[i] < 0 || (size_t)x.out[i] >= x.g->nvalues) abort();
        ct_onnx_graph_free(&x);
    }
    if (ct_onnx_compare("fuzz", m, m) == CT_EDATA) abort(); /* names may stand twice, but a model is itself */
    ct_onnx_meta(m, "captrain");
    ct_onnx_close(m);
    return 0;
}
