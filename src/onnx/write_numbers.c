/* What is done number by number, or with the channels of one pixel, or with all of a picture. */
#include "config.h"

#include "onnx/writer.h"

#include <math.h>
#include <string.h>

ct_status ct_onnx_write_activation(ct_onnx_writer *w)
{
    static const char *const names[CT_ACT_COUNT] = { [CT_ACT_RELU] = "Relu",
                                                     [CT_ACT_LEAKY_RELU] = "LeakyRelu",
                                                     [CT_ACT_SIGMOID] = "Sigmoid",
                                                     [CT_ACT_TANH] = "Tanh",
                                                     [CT_ACT_SOFTPLUS] = "Softplus" };
    const ct_act_attrs *a = &w->in->attrs.act;
    const ct_onnx_place x = ct_onnx_at(w, 0);
    if (!names[a->kind]) { /* silu */
        Onnx__NodeProto *s =
            ct_onnx_emit(w, "Sigmoid", ct_onnx_part(w, "sigmoid"), x.name, NULL, NULL, CT_NOVAL, x.form);
        if (s) ct_onnx_emit(w, "Mul", w->in->name, x.name, s->name, NULL, w->in->out[0], x.form);
        return w->k->status;
    }
    Onnx__NodeProto *n = ct_onnx_emit(w, names[a->kind], w->in->name, x.name, NULL, NULL, w->in->out[0], x.form);
    if (n && a->kind == CT_ACT_LEAKY_RELU) ct_onnx_attr_float(w->k, n, "alpha", a->alpha);
    return w->k->status;
}

/* Of two tensors of one shape. */
static ct_status write_both(ct_onnx_writer *w, const char *op)
{
    const ct_onnx_place x = ct_onnx_at(w, 0), y = ct_onnx_at(w, 1);
    if (x.form != y.form) return ct_onnx_beyond(w, "of unlike shapes");
    ct_onnx_emit(w, op, w->in->name, x.name, y.name, NULL, w->in->out[0], x.form);
    return w->k->status;
}

ct_status ct_onnx_write_add(ct_onnx_writer *w)
{
    return write_both(w, "Add");
}

ct_status ct_onnx_write_mul(ct_onnx_writer *w)
{
    return write_both(w, "Mul");
}

/* Node `name` over `from` times a number, initializer "<name>.factor". */
static Onnx__NodeProto *times(ct_onnx_writer *w, const char *name, const char *from, double factor)
{
    const int64_t one = 1;
    const char *constant = ct_onnx_text(w->k, "%s.factor", name);
    float *to = constant ? ct_onnx_floats(w->k, constant, 1, &one) : NULL;
    if (!to) return NULL;
    *to = (float)factor;
    return ct_onnx_emit(w, "Mul", name, from, constant, NULL, CT_NOVAL, CT_ONNX_SAME);
}

ct_status ct_onnx_write_scale(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    Onnx__NodeProto *n = times(w, w->in->name, x.name, w->in->attrs.scale.alpha);
    if (n) ct_onnx_give(w, w->in->out[0], x.form, n->name);
    return w->k->status;
}

/* A factor for each channel of each picture [N,C,1,1], or of each line [N,C,H,1]. */
ct_status ct_onnx_write_scale_channels(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0), g = ct_onnx_at(w, 1);
    if ((x.form != CT_ONNX_MAP && x.form != CT_ONNX_LINES) || g.form != CT_ONNX_MEANS)
        return ct_onnx_beyond(w, "of unlike shapes");
    ct_onnx_emit(w, "Mul", w->in->name, x.name, g.name, NULL, w->in->out[0], x.form);
    return w->k->status;
}

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* y = (p a + q b)/(p + q + 1e-4), whose weights are constants by now. */
ct_status ct_onnx_write_fuse(ct_onnx_writer *w)
{
    static const char *const tail[2] = { "first", "second" };
    const double *learnt = ct_onnx_weight(w, w->in->in[2]);
    const ct_onnx_place a = ct_onnx_at(w, 0), b = ct_onnx_at(w, 1);
    const char *part[2] = { NULL, NULL };
    if (a.form != b.form) return ct_onnx_beyond(w, "of unlike shapes");
    if (!learnt) return w->k->status;
    const double p[2] = { softplus(learnt[0]), softplus(learnt[1]) };
    for (int i = 0; i < 2; i++) {
        const char *name = ct_onnx_part(w, tail[i]);
        Onnx__NodeProto *n = name ? times(w, name, i ? b.name : a.name, p[i] / (p[0] + p[1] + 1e-4)) : NULL;
        if (!n) return w->k->status;
        part[i] = n->name;
    }
    ct_onnx_emit(w, "Add", w->in->name, part[0], part[1], NULL, w->in->out[0], a.form);
    return w->k->status;
}

/* Vectors of length 1: those of pixels by a node; those of a weight are constants. */
ct_status ct_onnx_write_unit(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    if (ct_graph_is_weight(w->g, w->in->in[0])) return CT_OK;
    if (x.form != CT_ONNX_MAP) return ct_onnx_beyond(w, "of no picture");
    Onnx__NodeProto *n =
        ct_onnx_emit(w, "LpNormalization", w->in->name, x.name, NULL, NULL, w->in->out[0], CT_ONNX_MAP);
    if (!n) return w->k->status;
    ct_onnx_attr_int(w->k, n, "axis", 1);
    ct_onnx_attr_int(w->k, n, "p", 2);
    return w->k->status;
}

/* The mean [N,1,1,1] of all numbers of pictures `from`, as nodes "<node>.<tail>.lines" and so on. Over one dimension at
 * a time: runtimes add f32 in a row, which over the hundred thousand numbers of a large picture costs four digits. */
static Onnx__NodeProto *mean_of(ct_onnx_writer *w, const char *from, const char *tail)
{
    static const char *const of[] = { "lines", "columns", "channels" };
    Onnx__NodeProto *n = NULL;
    for (int i = 0; i < 3 && from; i++) {
        const int64_t axis = 3 - i;
        const char *name = ct_onnx_text(w->k, "%s.%s.%s", w->in->name, tail, of[i]), *axes = NULL;
        if (w->form->opset >= 18) { /* an input from there on */
            axes = ct_onnx_text(w->k, "%s.%s.%s.axes", w->in->name, tail, of[i]);
            int64_t *to = axes ? ct_onnx_ints(w->k, axes, 1) : NULL;
            if (to) *to = axis;
        }
        n = name ? ct_onnx_emit(w, "ReduceMean", name, from, axes, NULL, CT_NOVAL, CT_ONNX_SAME) : NULL;
        if (n && !axes) ct_onnx_attr_ints(w->k, n, "axes", 1, &axis);
        if (n) ct_onnx_attr_int(w->k, n, "keepdims", 1);
        from = n ? n->name : NULL;
    }
    return n;
}

/* Step by step, as no operator of all these sets does it: batch and width are known to who runs the file alone. */
ct_status ct_onnx_write_standardize(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const int64_t one = 1;
    if (x.form != CT_ONNX_MAP) return ct_onnx_beyond(w, "of no picture");
    const char *eps = ct_onnx_part(w, "eps");
    float *to = eps ? ct_onnx_floats(w->k, eps, 1, &one) : NULL;
    if (to) *to = (float)w->in->attrs.norm.eps;
    Onnx__NodeProto *n = mean_of(w, x.name, "mean");
    if (n) n = ct_onnx_emit(w, "Sub", ct_onnx_part(w, "less"), x.name, n->name, NULL, CT_NOVAL, CT_ONNX_MAP);
    const char *less = n ? n->name : NULL;
    if (n) n = ct_onnx_emit(w, "Mul", ct_onnx_part(w, "squares"), less, less, NULL, CT_NOVAL, CT_ONNX_MAP);
    if (n) n = mean_of(w, n->name, "variance");
    if (n) n = ct_onnx_emit(w, "Add", ct_onnx_part(w, "above"), n->name, eps, NULL, CT_NOVAL, CT_ONNX_SAME);
    if (n) n = ct_onnx_emit(w, "Sqrt", ct_onnx_part(w, "deviation"), n->name, NULL, NULL, CT_NOVAL, CT_ONNX_SAME);
    if (n) ct_onnx_emit(w, "Div", w->in->name, less, n->name, NULL, w->in->out[0], CT_ONNX_MAP);
    return w->k->status;
}

/* |X[k]|/C of the C channels of each step: the real and the imaginary parts are products with constants, which stand
 * there as filters of one pixel. */
ct_status ct_onnx_write_spectrum(ct_onnx_writer *w)
{
    static const char *const tail[2] = { "real", "imaginary" };
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const ct_desc *d = ct_onnx_desc(w, w->in->in[0]);
    const int64_t C = d->dim[d->ndim - 1], dims[4] = { C, C, 1, 1 }, one[2] = { 1, 1 }, none[2] = { 0, 0 };
    const double turn = 6.283185307179586477 / (double)C;
    Onnx__NodeProto *square[2];
    if (x.form != CT_ONNX_ROWS) return ct_onnx_beyond(w, "of this shape");
    for (int i = 0; i < 2; i++) {
        const char *weight = ct_onnx_text(w->k, "%s.%s.weight", w->in->name, tail[i]);
        float *to = weight ? ct_onnx_floats(w->k, weight, 4, dims) : NULL;
        for (int64_t k = 0; to && k < C; k++)
            for (int64_t c = 0; c < C; c++) {
                const double angle = turn * (double)(k * c % C);
                to[k * C + c] = (float)((i ? sin(angle) : cos(angle)) / (double)C);
            }
        Onnx__NodeProto *n =
            ct_onnx_emit(w, "Conv", ct_onnx_part(w, tail[i]), x.name, weight, NULL, CT_NOVAL, CT_ONNX_MAP);
        if (!n) return w->k->status;
        ct_onnx_windows(w, n, CT_ONNX_MAP, one, one, none);
        ct_onnx_attr_ints(w->k, n, "dilations", 2, one);
        ct_onnx_attr_int(w->k, n, "group", 1);
        const char *name = ct_onnx_text(w->k, "%s.%s.square", w->in->name, tail[i]);
        square[i] = ct_onnx_emit(w, "Mul", name, n->name, n->name, NULL, CT_NOVAL, CT_ONNX_MAP);
        if (!square[i]) return w->k->status;
    }
    Onnx__NodeProto *n = ct_onnx_emit(w, "Add", ct_onnx_part(w, "power"), square[0]->name, square[1]->name, NULL,
                                      CT_NOVAL, CT_ONNX_MAP);
    if (n) ct_onnx_emit(w, "Sqrt", w->in->name, n->name, NULL, NULL, w->in->out[0], CT_ONNX_ROWS);
    return w->k->status;
}
