/* The input of a graph, with its normalisation, and its outputs. */
#include "config.h"

#include "onnx/writer.h"

#include <math.h>
#include <string.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

/* Whether files for ddddocr need no node for the normalisation: a convolution alone reads the picture, and around it
 * no zeros stand that would have to be something else. */
static bool enters_first(ct_onnx_writer *w, ct_val x)
{
    const int i = w->form->target == CT_ONNX_DDDDOCR && w->form->fold ? ct_onnx_only_reader(w, x) : -1;
    const ct_node *n = i < 0 ? NULL : &w->g->nodes[i];
    if (!n || n->op != CT_OP_CONV2D || n->attrs.conv.groups != 1) return false;
    for (int64_t c = 0; c < w->use->session.spec.model.channels; c++)
        if (w->shift[c] != 0 && (n->attrs.conv.pad_h > 0 || n->attrs.conv.pad_w > 0)) return false;
    w->first = n;
    return true;
}

/* From the numbers that are given to those the model takes: in the first convolution, or one batch norm with given
 * statistics. */
static const char *write_affine(ct_onnx_writer *w, ct_val x, const char *input)
{
    const ct_onnx_affine from = ct_onnx_given(w->form, w->use), to = ct_onnx_wanted(w->use);
    const int64_t c = w->use->session.spec.model.channels;
    bool same = true;
    for (int64_t i = 0; i < c; i++) {
        same = same && fabs(from.mean[i] - to.mean[i]) < 1e-9 && fabs(from.std[i] - to.std[i]) < 1e-9;
        w->scale[i] = from.std[i] / to.std[i];
        w->shift[i] = (from.mean[i] - to.mean[i]) / to.std[i];
    }
    if (same || enters_first(w, x)) return input;
    static const char *const names[4] = { "normalise.scale", "normalise.shift", "normalise.mean", "normalise.var" };
    for (int k = 0; k < 4; k++) {
        float *v = ct_onnx_floats(w->k, names[k], 1, &c);
        for (int64_t i = 0; v && i < c; i++)
            v[i] = (float)(k == 0   ? w->scale[i]
                           : k == 2 ? (to.mean[i] - from.mean[i]) / from.std[i]
                                    : k == 3);
    }
    Onnx__NodeProto *n = ct_onnx_node(w->k, "BatchNormalization", "normalise",
                                      (const char *const[]) { input, names[0], names[1], names[2], names[3], NULL });
    if (n) ct_onnx_attr_float(w->k, n, "epsilon", 0);
    return n ? n->name : NULL;
}

/* Clips are [N,F,C,H,W] for who gives them, as PyTorch's readers of videos and the model's authors have them, and
 * [N,C,F,H,W] for the layers. */
ct_status ct_onnx_write_input(ct_onnx_writer *w, ct_val x)
{
    const ct_model_spec *m = &w->use->session.spec.model;
    const bool one = w->form->target != CT_ONNX_ANYONE, wide = ct_model_elastic(m), clip = ct_model_clip(m) != NULL;
    const char *name = one ? "input1" : "input", *from = name;
    const char *const pictures[4] = { one ? NULL : "N", NULL, NULL, wide ? "W" : NULL };
    static const char *const clips[5] = { "N", "F", NULL, NULL, NULL };
    const int64_t size[5] = { 1, 1, m->channels, m->height, m->width };
    ct_onnx_port(w->k, false, name, FLOAT, clip ? 5 : 4, clip ? size : size + 1, clip ? clips : pictures);
    if (clip) {
        Onnx__NodeProto *n = ct_onnx_node(w->k, "Transpose", "input.clips", (const char *const[]) { name, NULL });
        if (n) ct_onnx_attr_ints(w->k, n, "perm", 5, (const int64_t[]) { 0, 2, 1, 3, 4 });
        from = n ? n->name : NULL;
    }
    ct_onnx_give(w, x, clip ? CT_ONNX_CLIP : CT_ONNX_MAP, from ? write_affine(w, x, from) : NULL);
    return w->k->status;
}

/* ---- outputs ---- */

/* Scores of symbols, [T,N,K] or [N,P*K], as [N,T,K] and [N,P,K]; for ddddocr [T,1,K], or the ids [1,T] of the best. */
static ct_status write_rows(ct_onnx_writer *w, const char *name, const char *from)
{
    const ct_model_spec *m = &w->use->session.spec.model;
    const bool ctc = ct_model_head(m) == CT_HEAD_CTC, spread = ct_onnx_spread(w->form, w->use);
    const ct_onnx_target target = w->form->target;
    const int64_t steps = spread ? 2 * m->positions - 1 : m->positions, classes = m->classes + spread;
    const bool time_first = target == CT_ONNX_DDDDOCR;
    Onnx__NodeProto *n = NULL;
    if (target != CT_ONNX_ANYONE) name = "output";
    if (!ctc) {
        int64_t *shape = ct_onnx_ints(w->k, "scores.shape", 3);
        if (shape) shape[1] = steps, shape[2] = classes;
        n = ct_onnx_emit(w, "Reshape", target == CT_ONNX_ANYONE ? name : "scores", from, "scores.shape", NULL, CT_NOVAL,
                         CT_ONNX_SAME);
    }
    if (ctc != time_first) {
        n = ct_onnx_emit(w, "Transpose", target == CT_ONNX_DDDDOCR_15 ? "scores.steps" : name, n ? n->name : from, NULL,
                         NULL, CT_NOVAL, CT_ONNX_SAME);
        if (n) ct_onnx_attr_ints(w->k, n, "perm", 3, (const int64_t[]) { 1, 0, 2 });
    } else if (ctc) {
        n = ct_onnx_emit(w, "Identity", name, from, NULL, NULL, CT_NOVAL, CT_ONNX_SAME);
    }
    const int64_t t = time_first ? 0 : 1;
    int64_t dim[3] = { 1, 1, classes };
    const char *param[3] = { NULL, NULL, NULL };
    dim[t] = steps;
    if (ctc) param[t] = "T";
    if (target == CT_ONNX_ANYONE) param[0] = "N";
    if (target == CT_ONNX_DDDDOCR_15 && n) {
        n = ct_onnx_emit(w, "ArgMax", name, n->name, NULL, NULL, CT_NOVAL, CT_ONNX_SAME);
        if (n) ct_onnx_attr_int(w->k, n, "axis", 2);
        if (n) ct_onnx_attr_int(w->k, n, "keepdims", 0);
        ct_onnx_port(w->k, true, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 2, dim, param);
    } else {
        ct_onnx_port(w->k, true, name, FLOAT, 3, dim, param);
    }
    return w->k->status;
}

ct_status ct_onnx_write_output(ct_onnx_writer *w, const ct_leaving_output *o, ct_val v)
{
    static const char *const param[4] = { "N", NULL, NULL, NULL };
    const ct_onnx_place x = w->at[v];
    const int64_t *d = ct_onnx_desc(w, v)->dim;
    const bool map = x.form == CT_ONNX_MAP;
    const int64_t dim[4] = { 1, map ? d[3] : d[1], d[1], d[2] };
    if (o->rows) return write_rows(w, o->name, x.name);
    if (!map && (x.form != CT_ONNX_SAME || ct_onnx_desc(w, v)->ndim != 2))
        return ct_fail(CT_EUNSUPPORTED, "export: output %s of %s has a shape that is not written as ONNX", o->output,
                       w->use->session.spec.model.name);
    ct_onnx_emit(w, "Identity", o->name, x.name, NULL, NULL, CT_NOVAL, x.form);
    ct_onnx_port(w->k, true, o->name, FLOAT, map ? 4 : 2, dim, param);
    return w->k->status;
}
