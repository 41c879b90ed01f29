/* libFuzzer target: any bytes as a file of ONNX: taken apart, made a graph of our operators, compared with itself. */
#include "config.h"

#include <stdlib.h>

#include "onnx/read.h"
#include "tests/fuzz/fuzz_util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Onnx__ModelProto *m;
    ct_onnx_graph x;
    if (ct_onnx_parse(data, size, "fuzz", &m) != CT_OK) return 0;
    if (ct_onnx_graph_make("fuzz", m, 1, 32, 64, &x) == CT_OK) {
        if (x.scores < 0 || (size_t)x.scores >= x.g->nvalues) abort();
        ct_onnx_graph_free(&x);
    }
    if (ct_onnx_compare("fuzz", m, m) == CT_EDATA) abort(); /* names may stand twice, but a model is itself */
    ct_onnx_meta(m, "captrain");
    ct_onnx_close(m);
    return 0;
}
