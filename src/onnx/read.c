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

/* The input: pictures [N,C,H,W], or clips [N,F,C,H,W]. */
static ct_status build_input(ct_onnx_graph *x)
{
    const Onnx__ValueInfoProto *in = x->model->graph->input[0];
    const Onnx__TensorShapeProto *s = in->type->tensor_type->shape;
    const ct_onnx_size *z = &x->size;
    const size_t clip = z->frames > 0, first = 1 + clip;
    const int64_t channels = s->n_dim == 4 + clip && s->dim[first]->has_dim_value ? s->dim[first]->dim_value : 0;
    if (channels < 1 || channels > CT_ONNX_CHANNELS || !allows(s, 0, z->batch) || (clip && !allows(s, 1, z->frames)) ||
        !allows(s, first + 1, z->height) || !allows(s, first + 2, z->width))
        return ct_fail(CT_EFORMAT, "%s: its input takes no %" PRId64 " %s of %" PRId64 "x%" PRId64 " pixels",
                       x->source, z->batch, clip ? "clips" : "pictures", z->height, z->width);
    const int64_t pictures = clip ? z->batch * z->frames : z->batch;
    CT_TRY(ct_graph_input(x->g, "x", ct_desc4(CT_F32, pictures, z->height, z->width, channels), &x->x));
    return ct_onnx_name(x, in->name, x->x, clip ? CT_ONNX_FRAMES : CT_ONNX_IMAGE);
}

/* Output o: scores of rows, classes of a sample, or a map. */
static ct_status find_output(ct_onnx_graph *x, const Onnx__ValueInfoProto *o)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, o->name);
    const int ndim = t ? ct_graph_desc(x->g, t->val)->ndim : 0;
    const bool scores = t && t->form == CT_ONNX_ALIKE && (ndim == 3 || ndim == 2), map = t && t->form == CT_ONNX_IMAGE;
    if (!scores && !map)
        return ct_fail(CT_EFORMAT, "%s: no node gives scores or a map as its output %s", x->source, o->name);
    x->out[x->outs++] = t->val;
    ct_graph_keep(x->g, t->val);
    return CT_OK;
}

static ct_status build(ct_onnx_graph *x)
{
    const Onnx__GraphProto *g = x->model->graph;
    CT_TRY(ct_graph_create(&x->g));
    CT_TRY(build_input(x));
    for (size_t i = 0; i < g->n_node; i++) {
        if (x->ids) return ct_onnx_refuse(x, g->node[i], "stands behind the ids");
        CT_TRY(ct_onnx_read_node(x, g->node[i]));
    }
    for (size_t i = 0; i < g->n_output; i++) CT_TRY(find_output(x, g->output[i]));
    return CT_OK;
}

ct_status ct_onnx_graph_make(const char *source, const Onnx__ModelProto *m, const ct_onnx_size *size,
                             ct_onnx_graph *out)
{
    *out = (ct_onnx_graph) { .source = source, .model = m, .size = *size };
    const ct_status st = build(out);
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
