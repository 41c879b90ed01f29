/* What every file that writes a graph does: weights, names, nodes. */
#include "config.h"

#include "onnx/writer.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

ct_status ct_onnx_beyond(const ct_onnx_writer *w, const char *why)
{
    return ct_fail(CT_EUNSUPPORTED,
                   "export: %s cannot be written as ONNX: %s has operator %s%s%s; --format safetensors "
                   "writes its weights",
                   w->use->session.spec.model.name, w->in->name, ct_op_get(w->in->op)->name, *why ? ", " : "", why);
}

const ct_desc *ct_onnx_desc(const ct_onnx_writer *w, ct_val v)
{
    return ct_graph_desc(w->g, v);
}

ct_onnx_place ct_onnx_at(const ct_onnx_writer *w, int input)
{
    return w->at[w->in->in[input]];
}

static double *read_weight(ct_onnx_writer *w, ct_val v)
{
    ct_session *s = &w->use->session;
    const char *name = w->g->values[v].name;
    const int64_t n = ct_desc_numel(ct_onnx_desc(w, v));
    double *out = ct_onnx_take(w->k, (size_t)n * sizeof *out);
    size_t i = 0;
    while (i < s->tensors && strcmp(s->tensor[i].name, name) != 0) i++;
    if (!out) return NULL;
    if (i == s->tensors || ct_desc_numel(&s->tensor[i].desc) != n) {
        w->k->status = ct_fail(CT_EINTERNAL, "export: the model has no tensor %s", name);
        return NULL;
    }
    w->k->status = ct_session_get(s, i, s->tensor[i].arena, s->host);
    if (w->k->status != CT_OK) return NULL;
    for (int64_t e = 0; e < n; e++)
        out[e] = s->tensor[i].desc.dtype == CT_F64 ? ((const double *)s->host)[e] : (double)((const float *)s->host)[e];
    return out;
}

double *ct_onnx_weight(ct_onnx_writer *w, ct_val v)
{
    const int made = w->g->values[v].producer;
    const ct_node *n = made < 0 ? NULL : &w->g->nodes[made];
    if (!n || n->op != CT_OP_L2_NORMALIZE) return read_weight(w, v);
    const ct_desc *d = ct_onnx_desc(w, v);
    const int64_t row = d->dim[d->ndim - 1], all = ct_desc_numel(d);
    double *out = read_weight(w, n->in[0]);
    for (int64_t i = 0; out && i < all; i += row) {
        double square = 0;
        for (int64_t e = 0; e < row; e++) square += out[i + e] * out[i + e];
        for (int64_t e = 0; e < row; e++) out[i + e] /= fmax(sqrt(square), CT_NORM_LEAST);
    }
    return out;
}

const char *ct_onnx_weight_name(const ct_onnx_writer *w, ct_val v)
{
    return w->g->values[v].name;
}

int ct_onnx_only_reader(const ct_onnx_writer *w, ct_val v)
{
    int found = -1;
    for (size_t i = 0; i < w->g->nnodes; i++)
        for (int k = 0; k < w->g->nodes[i].nin; k++) {
            if (w->g->nodes[i].in[k] != v) continue;
            if (found >= 0) return -1;
            found = (int)i;
        }
    return w->g->values[v].keep ? -1 : found;
}

void ct_onnx_give(ct_onnx_writer *w, ct_val v, ct_onnx_kind f, const char *name)
{
    w->at[v] = (ct_onnx_place) { f, name };
}

Onnx__NodeProto *ct_onnx_emit(ct_onnx_writer *w, const char *op, const char *name, const char *a, const char *b,
                              const char *c, ct_val v, ct_onnx_kind f)
{
    const char *in[4] = { a, b, c, NULL };
    Onnx__NodeProto *n = ct_onnx_node(w->k, op, name, in);
    if (n && v != CT_NOVAL) ct_onnx_give(w, v, f, n->name);
    return n;
}

char *ct_onnx_part(ct_onnx_writer *w, const char *tail)
{
    return ct_onnx_text(w->k, "%s.%s", w->in->name, tail);
}

Onnx__NodeProto *ct_onnx_turn(ct_onnx_writer *w, const char *tail, const char *from, int dims, const int64_t *perm)
{
    Onnx__NodeProto *n =
        ct_onnx_emit(w, "Transpose", ct_onnx_part(w, tail), from, NULL, NULL, CT_NOVAL, CT_ONNX_SAME);
    if (n) ct_onnx_attr_ints(w->k, n, "perm", dims, perm);
    return n;
}

const char *ct_onnx_shape(ct_onnx_writer *w, int n, const int64_t *dim)
{
    char *name = ct_onnx_part(w, "shape");
    int64_t *shape = name ? ct_onnx_ints(w->k, name, n) : NULL;
    if (shape) memcpy(shape, dim, (size_t)n * sizeof *shape);
    return name;
}

void ct_onnx_windows(ct_onnx_writer *w, Onnx__NodeProto *n, ct_onnx_kind form, const int64_t ker[2],
                     const int64_t stride[2], const int64_t pad[2])
{
    const int more = form == CT_ONNX_CLIP || form == CT_ONNX_TIMES, rank = 2 + more;
    /* the numbers over time stand beside the frames, whose pixels have none */
    const int64_t k[3] = { form == CT_ONNX_TIMES ? ker[0] : 1, form == CT_ONNX_TIMES ? 1 : ker[0], ker[1] };
    const int64_t s[3] = { form == CT_ONNX_TIMES ? stride[0] : 1, form == CT_ONNX_TIMES ? 1 : stride[0], stride[1] };
    const int64_t p[3] = { form == CT_ONNX_TIMES ? pad[0] : 0, form == CT_ONNX_TIMES ? 0 : pad[0], pad[1] };
    int64_t both[6];
    for (int i = 0; i < rank; i++) both[i] = both[rank + i] = p[3 - rank + i];
    ct_onnx_attr_ints(w->k, n, "kernel_shape", rank, k + 3 - rank);
    ct_onnx_attr_ints(w->k, n, "strides", rank, s + 3 - rank);
    ct_onnx_attr_ints(w->k, n, "pads", 2 * rank, both);
}
