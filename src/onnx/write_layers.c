/* Layers with weights: convolutions, products, batch norms, which go into them, and LSTMs. */
#include "config.h"

#include "onnx/writer.h"

#include <math.h>

#define NEVER (-1e4) /* score of what cannot be chosen; exp of it is 0 in every type */

/* ---- batch norms ---- */

/* What a batch norm does to channel c: y = a[c] x + b[c]. */
typedef struct line {
    double *a, *b;
    const ct_node *norm; /* NULL: nothing */
} line;

static line norm_line(ct_onnx_writer *w, const ct_node *n)
{
    const int64_t c = ct_onnx_desc(w, n->in[1])->dim[0];
    const double *gamma = ct_onnx_weight(w, n->in[1]), *beta = ct_onnx_weight(w, n->in[2]),
                 *mean = ct_onnx_weight(w, n->in[3]), *var = ct_onnx_weight(w, n->in[4]);
    line l = { ct_onnx_take(w->k, (size_t)c * sizeof(double)), ct_onnx_take(w->k, (size_t)c * sizeof(double)), n };
    for (int64_t i = 0; w->k->status == CT_OK && i < c; i++) {
        l.a[i] = gamma[i] / sqrt(var[i] + n->attrs.norm.eps);
        l.b[i] = beta[i] - mean[i] * l.a[i];
    }
    return l;
}

/* The batch norm that alone reads what this node gives goes into its weights. */
static line take_norm(ct_onnx_writer *w)
{
    const int i = w->form->fold ? ct_onnx_only_reader(w, w->in->out[0]) : -1;
    const ct_node *n = i < 0 ? NULL : &w->g->nodes[i];
    if (!n || n->op != CT_OP_BATCHNORM_INFER || n->nin > 5 || n->in[0] != w->in->out[0] || n->attrs.norm.given_invstd ||
        n->attrs.norm.act != CT_NORM_LINEAR)
        return (line) { NULL, NULL, NULL };
    w->done[i] = true;
    return norm_line(w, n);
}

/* The output of this node, and of the norm that went into it. */
static void give_both(ct_onnx_writer *w, const line *l, ct_onnx_kind f, const char *name)
{
    ct_onnx_give(w, w->in->out[0], f, name);
    if (l->norm) ct_onnx_give(w, l->norm->out[0], f, name);
}

ct_status ct_onnx_write_norm(ct_onnx_writer *w)
{
    const ct_node *n = w->in;
    const ct_onnx_place x = w->at[n->in[0]];
    if (n->nin > 5 || n->attrs.norm.given_invstd || n->attrs.norm.act != CT_NORM_LINEAR)
        return ct_onnx_beyond(w, "with more than a norm in it");
    const char *from = x.name, *in[6] = { NULL };
    const bool steps = x.form == CT_ONNX_SAME && ct_onnx_desc(w, n->in[0])->ndim == 3;
    if (steps) { /* [T,N,C] -> [T,C,N]: channels are second */
        Onnx__NodeProto *t = ct_onnx_turn(w, "channels", from, 3, (const int64_t[]) { 0, 2, 1 });
        from = t ? t->name : NULL;
    }
    in[0] = from;
    for (int i = 1; i < 5; i++) {
        const int64_t c = ct_onnx_desc(w, n->in[i])->dim[0];
        const double *v = ct_onnx_weight(w, n->in[i]);
        float *to = ct_onnx_floats(w->k, ct_onnx_weight_name(w, n->in[i]), 1, &c);
        for (int64_t e = 0; v && to && e < c; e++) to[e] = (float)v[e];
        in[i] = ct_onnx_weight_name(w, n->in[i]);
    }
    if (w->k->status != CT_OK) return w->k->status;
    Onnx__NodeProto *b = ct_onnx_node(w->k, "BatchNormalization", n->name, in);
    if (!b) return w->k->status;
    ct_onnx_attr_float(w->k, b, "epsilon", n->attrs.norm.eps);
    ct_onnx_give(w, n->out[0], x.form, b->name);
    if (!steps) return w->k->status;
    Onnx__NodeProto *t = ct_onnx_turn(w, "steps", b->name, 3, (const int64_t[]) { 0, 2, 1 });
    if (t) ct_onnx_give(w, n->out[0], CT_ONNX_SAME, t->name);
    return w->k->status;
}

/* ---- convolutions and products ---- */

/* The first filters [K,P,C] take over what is to be done to the picture; the new bias. */
static double *take_input(ct_onnx_writer *w, double *v, const double *bias, int64_t K, int64_t P, int64_t C)
{
    double *b = ct_onnx_take(w->k, (size_t)K * sizeof *b);
    for (int64_t k = 0; b && k < K; k++) {
        b[k] = bias ? bias[k] : 0;
        for (int64_t e = 0; e < P * C; e++) {
            b[k] += v[k * P * C + e] * w->shift[e % C];
            v[k * P * C + e] *= w->scale[e % C];
        }
    }
    return b;
}

/* Filters [K,R,S,C] with the norm behind them: [K,C,R,S], of clips [K,C,1,R,S], and [K,C,R,1,1] of frames in a row. */
static void put_filters(float *to, const double *v, const line *l, const ct_desc *f)
{
    const int64_t P = f->dim[1] * f->dim[2], C = f->dim[3];
    for (int64_t k = 0; k < f->dim[0]; k++)
        for (int64_t p = 0; p < P; p++)
            for (int64_t c = 0; c < C; c++)
                to[(k * C + c) * P + p] = (float)(v[(k * P + p) * C + c] * (l->norm ? l->a[k] : 1));
}

/* The bias of K filters and the norm behind them; NULL: there is none. */
static const char *put_bias(ct_onnx_writer *w, const double *bias, const line *l, int64_t K)
{
    const ct_node *n = w->in;
    if (!bias && !l->norm) return NULL;
    const char *name = n->nin > 2 ? ct_onnx_weight_name(w, n->in[2]) : ct_onnx_part(w, "bias");
    float *b = name ? ct_onnx_floats(w->k, name, 1, &K) : NULL;
    for (int64_t k = 0; w->k->status == CT_OK && k < K; k++)
        b[k] = (float)(l->norm ? l->a[k] * (bias ? bias[k] : 0) + l->b[k] : bias[k]);
    return name;
}

ct_status ct_onnx_write_conv(ct_onnx_writer *w)
{
    const ct_node *n = w->in;
    const ct_conv_attrs *a = &n->attrs.conv;
    const ct_desc *f = ct_onnx_desc(w, n->in[1]);
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const int64_t K = f->dim[0], R = f->dim[1], S = f->dim[2], C = f->dim[3], dil[3] = { 1, a->dil_h, a->dil_w };
    const bool times = x.form == CT_ONNX_TIMES, clip = times || x.form == CT_ONNX_CLIP;
    const int64_t dims[5] = { K, C, times ? R : clip ? 1 : R, times ? 1 : clip ? R : S, times ? 1 : S };
    if (times && (S != 1 || a->pad_w != 0 || a->stride_h != 1 || a->stride_w != 1 || a->dil_h != 1))
        return ct_onnx_beyond(w, "over more than frames in a row");
    const line l = take_norm(w);
    double *v = ct_onnx_weight(w, n->in[1]), *bias = n->nin > 2 ? ct_onnx_weight(w, n->in[2]) : NULL;
    if (v && n == w->first) bias = take_input(w, v, bias, K, R * S, C);
    float *to = ct_onnx_floats(w->k, ct_onnx_weight_name(w, n->in[1]), clip ? 5 : 4, dims);
    if (w->k->status == CT_OK) put_filters(to, v, &l, f);
    const char *bias_name = w->k->status == CT_OK ? put_bias(w, bias, &l, K) : NULL;
    Onnx__NodeProto *o = ct_onnx_emit(w, "Conv", n->name, x.name, ct_onnx_weight_name(w, n->in[1]), bias_name,
                                      CT_NOVAL, x.form);
    if (!o) return w->k->status;
    ct_onnx_windows(w, o, x.form, (const int64_t[]) { R, S }, (const int64_t[]) { a->stride_h, a->stride_w },
                    (const int64_t[]) { a->pad_h, a->pad_w });
    ct_onnx_attr_ints(w->k, o, "dilations", clip ? 3 : 2, clip ? dil : dil + 1);
    ct_onnx_attr_int(w->k, o, "group", a->groups);
    give_both(w, &l, x.form, o->name);
    return w->k->status;
}

/* Row `r` of the last product, of a file that has a blank row between two positions (ct_onnx_spread): of 2P-1 rows of
 * K+1 scores every second is a position's, behind the blank's. *own: the row of ours, -1 for a constant, *score. */
static void spread_row(int64_t r, int64_t classes, int64_t *own, double *score)
{
    const int64_t step = r / (classes + 1), c = r % (classes + 1);
    *own = step % 2 == 0 && c > 0 ? step / 2 * classes + c - 1 : -1;
    *score = (step % 2 == 1) == (c == 0) ? 0 : NEVER;
}

/* What a product reads: means of pixels are [N,C,1,1] until here. */
static const char *product_of(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    if (x.form != CT_ONNX_MEANS) return x.name;
    Onnx__NodeProto *n =
        ct_onnx_emit(w, "Flatten", ct_onnx_part(w, "flat"), x.name, NULL, NULL, CT_NOVAL, CT_ONNX_SAME);
    if (n) ct_onnx_attr_int(w->k, n, "axis", 1);
    return n ? n->name : NULL;
}

/* The product alone, or with what is added to it behind it. */
static Onnx__NodeProto *put_product(ct_onnx_writer *w, bool flat, const char *from, const char *weight,
                                    const char *bias)
{
    const char *name = w->in->name;
    if (flat) {
        Onnx__NodeProto *p = ct_onnx_emit(w, "Gemm", name, from, weight, bias, CT_NOVAL, CT_ONNX_SAME);
        if (p) ct_onnx_attr_int(w->k, p, "transB", 1);
        return p;
    }
    if (!bias) return ct_onnx_emit(w, "MatMul", name, from, weight, NULL, CT_NOVAL, CT_ONNX_SAME);
    Onnx__NodeProto *p =
        ct_onnx_emit(w, "MatMul", ct_onnx_part(w, "product"), from, weight, NULL, CT_NOVAL, CT_ONNX_SAME);
    return p ? ct_onnx_emit(w, "Add", name, p->name, bias, NULL, CT_NOVAL, CT_ONNX_SAME) : NULL;
}

/* x [..,I] w [O,I]: Gemm of two dimensions, MatMul and Add of more. */
ct_status ct_onnx_write_linear(ct_onnx_writer *w)
{
    const ct_node *n = w->in;
    const ct_desc *f = ct_onnx_desc(w, n->in[1]);
    const ct_model_spec *m = &w->use->session.spec.model;
    const bool flat = ct_onnx_desc(w, n->in[0])->ndim == 2;
    const bool spread = ct_onnx_spread(w->form, w->use) && w->g->values[n->out[0]].keep;
    const int64_t I = f->dim[1], O = spread ? (2 * m->positions - 1) * (m->classes + 1) : f->dim[0];
    const int next = ct_onnx_only_reader(w, n->out[0]);
    if (next >= 0 && w->g->nodes[next].op == CT_OP_LSTM) {
        ct_onnx_give(w, n->out[0], CT_ONNX_GATES, w->at[n->in[0]].name);
        return CT_OK;
    }
    const line l = take_norm(w);
    const double *v = ct_onnx_weight(w, n->in[1]), *bias = n->nin > 2 ? ct_onnx_weight(w, n->in[2]) : NULL;
    const char *bias_name = bias ? ct_onnx_weight_name(w, n->in[2])
                            : flat || l.norm ? ct_onnx_part(w, "bias") : NULL;
    float *to = ct_onnx_floats(w->k, ct_onnx_weight_name(w, n->in[1]), 2,
                               flat ? (int64_t[]) { O, I } : (int64_t[]) { I, O });
    float *b = bias_name ? ct_onnx_floats(w->k, bias_name, 1, &O) : NULL;
    for (int64_t o = 0; w->k->status == CT_OK && o < O; o++) {
        int64_t own = o;
        double score = 0;
        if (spread) spread_row(o, m->classes, &own, &score);
        const double a = l.norm ? l.a[own] : 1;
        if (own >= 0) score = a * (bias ? bias[own] : 0) + (l.norm ? l.b[own] : 0);
        if (b) b[o] = (float)score;
        for (int64_t i = 0; i < I; i++) to[flat ? o * I + i : i * O + o] = own < 0 ? 0 : (float)(a * v[own * I + i]);
    }
    Onnx__NodeProto *p = put_product(w, flat, product_of(w), ct_onnx_weight_name(w, n->in[1]), bias_name);
    if (p) give_both(w, &l, CT_ONNX_SAME, p->name);
    return w->k->status;
}

/* ---- LSTM ---- */

/* Gates are i, f, g, o here and i, o, f, c there. */
static const int gate[4] = { 0, 3, 1, 2 };

/* Rows [4H,n] of ours in the file's order. */
static void put_gates(float *to, const double *from, int64_t hidden, int64_t n)
{
    for (int64_t q = 0; q < 4; q++)
        for (int64_t e = 0; e < hidden * n; e++) to[q * hidden * n + e] = (float)from[gate[q] * hidden * n + e];
}

ct_status ct_onnx_write_lstm(ct_onnx_writer *w)
{
    const ct_node *n = w->in;
    const int dirs = n->nin > 3 && n->in[3] != CT_NOVAL ? 2 : 1;
    const int64_t H = ct_onnx_desc(w, n->in[1])->dim[1];
    const ct_node *from = &w->g->nodes[w->g->values[n->in[0]].producer];
    if (w->at[n->in[0]].form != CT_ONNX_GATES) return ct_onnx_beyond(w, "without a linear layer before it");
    const int64_t I = ct_onnx_desc(w, from->in[1])->dim[1];
    float *W = ct_onnx_floats(w->k, ct_onnx_part(w, "W"), 3, (int64_t[]) { dirs, 4 * H, I });
    float *R = ct_onnx_floats(w->k, ct_onnx_part(w, "R"), 3, (int64_t[]) { dirs, 4 * H, H });
    float *B = ct_onnx_floats(w->k, ct_onnx_part(w, "B"), 2, (int64_t[]) { dirs, 8 * H });
    for (int d = 0; d < dirs && w->k->status == CT_OK; d++) {
        const ct_node *l = &w->g->nodes[w->g->values[n->in[3 * d]].producer];
        const double *wi = ct_onnx_weight(w, l->in[1]), *bi = ct_onnx_weight(w, l->in[2]),
                     *wh = ct_onnx_weight(w, n->in[3 * d + 1]);
        const double *bh = n->in[3 * d + 2] == CT_NOVAL ? NULL : ct_onnx_weight(w, n->in[3 * d + 2]);
        if (w->k->status != CT_OK) break;
        put_gates(W + d * 4 * H * I, wi, H, I);
        put_gates(R + d * 4 * H * H, wh, H, H);
        put_gates(B + d * 8 * H, bi, H, 1);
        if (bh) put_gates(B + d * 8 * H + 4 * H, bh, H, 1);
    }
    const char *in[5] = { w->at[n->in[0]].name, ct_onnx_part(w, "W"), ct_onnx_part(w, "R"), ct_onnx_part(w, "B"),
                          NULL };
    if (w->k->status != CT_OK) return w->k->status;
    Onnx__NodeProto *o = ct_onnx_node(w->k, "LSTM", ct_onnx_part(w, "steps"), in); /* [T,D,N,H] */
    if (!o) return w->k->status;
    ct_onnx_attr_int(w->k, o, "hidden_size", H);
    ct_onnx_attr_text(w->k, o, "direction", dirs == 2 ? "bidirectional" : "forward");
    Onnx__NodeProto *t = ct_onnx_turn(w, "beside", o->name, 4, (const int64_t[]) { 0, 2, 1, 3 }); /* [T,N,D,H] */
    if (!t) return w->k->status;
    const char *shape = ct_onnx_shape(w, 3, (const int64_t[]) { 0, 0, dirs * H });
    ct_onnx_emit(w, "Reshape", n->name, t->name, shape, NULL, n->out[0], CT_ONNX_SAME);
    return w->k->status;
}

