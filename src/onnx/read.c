/* Messages of ONNX as a graph of our operators: input, nodes, output. */
#include "config.h"

#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

/* Whether a shape that the file declares allows n of dimension i. */
static bool allows(const Onnx__TensorShapeProto *s, size_t i, int64_t n)
{
    return !s->dim[i]->has_dim_value || s->dim[i]->dim_value == n;
}

static ct_status build(ct_onnx_graph *x, int64_t batch, int64_t height, int64_t width)
{
    const Onnx__GraphProto *g = x->model->graph;
    const Onnx__TensorShapeProto *s = g->input[0]->type->tensor_type->shape;
    const int64_t channels = s->dim[1]->has_dim_value ? s->dim[1]->dim_value : 0;
    if (channels < 1 || channels > CT_IMAGE_CHANNELS || !allows(s, 0, batch) || !allows(s, 2, height) ||
        !allows(s, 3, width))
        return ct_fail(CT_EFORMAT, "%s: its input takes no %" PRId64 " pictures of %" PRId64 "x%" PRId64 " pixels",
                       x->source, batch, height, width);
    CT_TRY(ct_graph_create(&x->g));
    CT_TRY(ct_graph_input(x->g, "x", ct_desc4(CT_F32, batch, height, width, channels), &x->x));
    CT_TRY(ct_onnx_name(x, g->input[0]->name, x->x, CT_ONNX_IMAGE));
    for (size_t i = 0; i < g->n_node; i++) {
        if (x->ids) return ct_onnx_refuse(x, g->node[i], "stands behind the ids");
        CT_TRY(ct_onnx_read_node(x, g->node[i]));
    }
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, g->output[0]->name);
    if (!t || t->form != CT_ONNX_ALIKE || ct_graph_desc(x->g, t->val)->ndim != 3)
        return ct_fail(CT_EFORMAT, "%s: no node gives scores of three dimensions as its output %s", x->source,
                       g->output[0]->name);
    x->scores = t->val;
    ct_graph_keep(x->g, t->val);
    return CT_OK;
}

ct_status ct_onnx_graph_make(const char *source, const Onnx__ModelProto *m, int64_t batch, int64_t height,
                             int64_t width, ct_onnx_graph *out)
{
    *out = (ct_onnx_graph) { .source = source, .model = m };
    const ct_status st = build(out, batch, height, width);
    if (st != CT_OK) ct_onnx_graph_free(out);
    return st;
}

void ct_onnx_graph_free(ct_onnx_graph *x)
{
    for (size_t i = 0; i < x->weights; i++) ct_free(x->weight[i].data);
    ct_free(x->weight);
    ct_free(x->tensor);
    ct_graph_free(x->g);
    memset(x, 0, sizeof *x);
}
