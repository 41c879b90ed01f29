/* A trained model as a graph of ONNX: from the operators of its evaluation graph, node by node. Pictures are
 * [N,C,H,W] there and [N,H,W,C] here; what else there is has the same shape in both. */
#include "config.h"

#include "onnx/write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define NEVER (-1e4) /* score of what cannot be chosen; exp of it is 0 in every type */
#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

/* How a value of ours stands in the file. */
typedef enum kind {
    ABSENT,
    IMAGE,   /* ours [N,H,W,C], there [N,C,H,W] */
    ALIKE,   /* the same shape */
    ROWS,    /* ours [N*H,T,C], there still [N,C,H,T] */
    COLUMNS, /* ours [T,N*H,C], there still [N,C,H,T] */
    GATES    /* of a linear before an LSTM: not there, the operator has it inside */
} kind;

typedef struct place {
    kind form;
    const char *name;
} place;

typedef struct writer {
    ct_onnx_maker *k;
    ct_model_use *use;
    const ct_onnx_form *form;
    ct_graph *g;
    place *at;         /* [values] */
    const ct_node *in; /* the node being written */
    const ct_node *first; /* the convolution that the normalisation went into; NULL: none */
    double scale[CT_IMAGE_CHANNELS], shift[CT_IMAGE_CHANNELS]; /* from what is given to what the model takes */
    bool *done;        /* [nodes] folded into one before */
} writer;

static ct_status beyond(const writer *w, const char *why)
{
    return ct_fail(CT_EUNSUPPORTED,
                   "export: %s cannot be written as ONNX: %s has operator %s%s%s; --format safetensors "
                   "writes its weights",
                   w->use->session.spec.model.name, w->in->name, ct_op_get(w->in->op)->name, *why ? ", " : "", why);
}

static const ct_desc *desc(const writer *w, ct_val v)
{
    return ct_graph_desc(w->g, v);
}

/* Elements of a weight as double, from the pool; NULL on failure, which the maker keeps. */
static double *weight(writer *w, ct_val v)
{
    ct_session *s = &w->use->session;
    const char *name = w->g->values[v].name;
    const int64_t n = ct_desc_numel(desc(w, v));
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

static const char *weight_name(const writer *w, ct_val v)
{
    return w->g->values[v].name;
}

/* The only node that reads v; -1: none or several, or v is an output. */
static int only_reader(const writer *w, ct_val v)
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

static void give(writer *w, ct_val v, kind f, const char *name)
{
    w->at[v] = (place) { f, name };
}

/* A node over the first input's name and so many constants; its output is v's. */
static Onnx__NodeProto *emit(writer *w, const char *op, const char *name, const char *a, const char *b, const char *c,
                             ct_val v, kind f)
{
    const char *in[4] = { a, b, c, NULL };
    Onnx__NodeProto *n = ct_onnx_node(w->k, op, name, in);
    if (n && v != CT_NOVAL) give(w, v, f, n->name);
    return n;
}

static char *part(writer *w, const char *tail)
{
    return ct_onnx_text(w->k, "%s.%s", w->in->name, tail);
}

/* ---- batch norms ---- */

/* What a batch norm does to channel c: y = a[c] x + b[c]. */
typedef struct line {
    double *a, *b;
    const ct_node *norm; /* NULL: nothing */
} line;

static line norm_line(writer *w, const ct_node *n)
{
    const int64_t c = desc(w, n->in[1])->dim[0];
    const double *gamma = weight(w, n->in[1]), *beta = weight(w, n->in[2]), *mean = weight(w, n->in[3]),
                 *var = weight(w, n->in[4]);
    line l = { ct_onnx_take(w->k, (size_t)c * sizeof(double)), ct_onnx_take(w->k, (size_t)c * sizeof(double)), n };
    for (int64_t i = 0; w->k->status == CT_OK && i < c; i++) {
        l.a[i] = gamma[i] / sqrt(var[i] + n->attrs.norm.eps);
        l.b[i] = beta[i] - mean[i] * l.a[i];
    }
    return l;
}

/* The batch norm that alone reads what this node gives goes into its weights. */
static line take_norm(writer *w)
{
    const int i = w->form->fold ? only_reader(w, w->in->out[0]) : -1;
    const ct_node *n = i < 0 ? NULL : &w->g->nodes[i];
    if (!n || n->op != CT_OP_BATCHNORM_INFER || n->nin > 5 || n->in[0] != w->in->out[0] || n->attrs.norm.given_invstd ||
        n->attrs.norm.act != CT_NORM_LINEAR)
        return (line) { NULL, NULL, NULL };
    w->done[i] = true;
    return norm_line(w, n);
}

/* The output of this node, and of the norm that went into it. */
static void give_both(writer *w, const line *l, kind f, const char *name)
{
    give(w, w->in->out[0], f, name);
    if (l->norm) give(w, l->norm->out[0], f, name);
}

static ct_status write_norm(writer *w)
{
    const ct_node *n = w->in;
    const place x = w->at[n->in[0]];
    if (n->nin > 5 || n->attrs.norm.given_invstd || n->attrs.norm.act != CT_NORM_LINEAR)
        return beyond(w, "with more than a norm in it");
    const char *from = x.name, *in[6] = { NULL };
    const bool steps = x.form == ALIKE && desc(w, n->in[0])->ndim == 3;
    if (steps) { /* [T,N,C] -> [T,C,N]: channels are second */
        Onnx__NodeProto *t = emit(w, "Transpose", part(w, "channels"), from, NULL, NULL, CT_NOVAL, ALIKE);
        if (t) ct_onnx_attr_ints(w->k, t, "perm", 3, (const int64_t[]) { 0, 2, 1 });
        from = t ? t->name : NULL;
    }
    in[0] = from;
    for (int i = 1; i < 5; i++) {
        const int64_t c = desc(w, n->in[i])->dim[0];
        const double *v = weight(w, n->in[i]);
        float *to = ct_onnx_floats(w->k, weight_name(w, n->in[i]), 1, &c);
        for (int64_t e = 0; v && to && e < c; e++) to[e] = (float)v[e];
        in[i] = weight_name(w, n->in[i]);
    }
    if (w->k->status != CT_OK) return w->k->status;
    Onnx__NodeProto *b = ct_onnx_node(w->k, "BatchNormalization", n->name, in);
    if (!b) return w->k->status;
    ct_onnx_attr_float(w->k, b, "epsilon", n->attrs.norm.eps);
    give(w, n->out[0], x.form, b->name);
    if (!steps) return w->k->status;
    Onnx__NodeProto *t = emit(w, "Transpose", part(w, "steps"), b->name, NULL, NULL, n->out[0], ALIKE);
    if (t) ct_onnx_attr_ints(w->k, t, "perm", 3, (const int64_t[]) { 0, 2, 1 });
    return w->k->status;
}

/* ---- convolutions and products ---- */

/* The first filters [K,P,C] take over what is to be done to the picture; the new bias. */
static double *take_input(writer *w, double *v, const double *bias, int64_t K, int64_t P, int64_t C)
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

static ct_status write_conv(writer *w)
{
    const ct_node *n = w->in;
    const ct_conv_attrs *a = &n->attrs.conv;
    const ct_desc *f = desc(w, n->in[1]);
    const int64_t K = f->dim[0], R = f->dim[1], S = f->dim[2], C = f->dim[3], dims[4] = { K, C, R, S };
    const line l = take_norm(w);
    double *v = weight(w, n->in[1]), *bias = n->nin > 2 ? weight(w, n->in[2]) : NULL;
    if (v && n == w->first) bias = take_input(w, v, bias, K, R * S, C);
    float *to = ct_onnx_floats(w->k, weight_name(w, n->in[1]), 4, dims);
    const char *bias_name = NULL;
    for (int64_t k = 0; w->k->status == CT_OK && k < K; k++)
        for (int64_t p = 0; p < R * S; p++)
            for (int64_t c = 0; c < C; c++)
                to[(k * C + c) * R * S + p] = (float)(v[(k * R * S + p) * C + c] * (l.norm ? l.a[k] : 1));
    if (bias || l.norm) {
        bias_name = n->nin > 2 ? weight_name(w, n->in[2]) : part(w, "bias");
        float *b = bias_name ? ct_onnx_floats(w->k, bias_name, 1, &K) : NULL;
        for (int64_t k = 0; w->k->status == CT_OK && k < K; k++)
            b[k] = (float)(l.norm ? l.a[k] * (bias ? bias[k] : 0) + l.b[k] : bias[k]);
    }
    Onnx__NodeProto *o =
        emit(w, "Conv", n->name, w->at[n->in[0]].name, weight_name(w, n->in[1]), bias_name, CT_NOVAL, IMAGE);
    if (!o) return w->k->status;
    ct_onnx_attr_ints(w->k, o, "kernel_shape", 2, (const int64_t[]) { R, S });
    ct_onnx_attr_ints(w->k, o, "strides", 2, (const int64_t[]) { a->stride_h, a->stride_w });
    ct_onnx_attr_ints(w->k, o, "pads", 4, (const int64_t[]) { a->pad_h, a->pad_w, a->pad_h, a->pad_w });
    ct_onnx_attr_ints(w->k, o, "dilations", 2, (const int64_t[]) { a->dil_h, a->dil_w });
    ct_onnx_attr_int(w->k, o, "group", a->groups);
    give_both(w, &l, IMAGE, o->name);
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

/* x [..,I] w [O,I]: Gemm of two dimensions, MatMul and Add of more. */
static ct_status write_linear(writer *w)
{
    const ct_node *n = w->in;
    const ct_desc *f = desc(w, n->in[1]);
    const ct_model_spec *m = &w->use->session.spec.model;
    const bool flat = desc(w, n->in[0])->ndim == 2;
    const bool spread = ct_onnx_spread(w->form, w->use) && w->g->values[n->out[0]].keep;
    const int64_t I = f->dim[1], O = spread ? (2 * m->positions - 1) * (m->classes + 1) : f->dim[0];
    const int next = only_reader(w, n->out[0]);
    if (next >= 0 && w->g->nodes[next].op == CT_OP_LSTM) {
        give(w, n->out[0], GATES, w->at[n->in[0]].name);
        return CT_OK;
    }
    const line l = take_norm(w);
    const double *v = weight(w, n->in[1]), *bias = n->nin > 2 ? weight(w, n->in[2]) : NULL;
    const char *bias_name = bias ? weight_name(w, n->in[2]) : part(w, "bias");
    float *to = ct_onnx_floats(w->k, weight_name(w, n->in[1]), 2, flat ? (int64_t[]) { O, I } : (int64_t[]) { I, O });
    float *b = bias_name ? ct_onnx_floats(w->k, bias_name, 1, &O) : NULL;
    for (int64_t o = 0; w->k->status == CT_OK && o < O; o++) {
        int64_t own = o;
        double score = 0;
        if (spread) spread_row(o, m->classes, &own, &score);
        const double a = l.norm ? l.a[own] : 1;
        if (own >= 0) score = a * (bias ? bias[own] : 0) + (l.norm ? l.b[own] : 0);
        b[o] = (float)score;
        for (int64_t i = 0; i < I; i++) to[flat ? o * I + i : i * O + o] = own < 0 ? 0 : (float)(a * v[own * I + i]);
    }
    Onnx__NodeProto *p;
    if (flat) {
        p = emit(w, "Gemm", n->name, w->at[n->in[0]].name, weight_name(w, n->in[1]), bias_name, CT_NOVAL, ALIKE);
        if (p) ct_onnx_attr_int(w->k, p, "transB", 1);
    } else {
        p = emit(w, "MatMul", part(w, "product"), w->at[n->in[0]].name, weight_name(w, n->in[1]), NULL, CT_NOVAL,
                 ALIKE);
        if (p) p = emit(w, "Add", n->name, p->name, bias_name, NULL, CT_NOVAL, ALIKE);
    }
    if (p) give_both(w, &l, ALIKE, p->name);
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

static ct_status write_lstm(writer *w)
{
    const ct_node *n = w->in;
    const int dirs = n->nin > 3 && n->in[3] != CT_NOVAL ? 2 : 1;
    const int64_t H = desc(w, n->in[1])->dim[1];
    const ct_node *from = &w->g->nodes[w->g->values[n->in[0]].producer];
    if (w->at[n->in[0]].form != GATES) return beyond(w, "without a linear layer before it");
    const int64_t I = desc(w, from->in[1])->dim[1];
    float *W = ct_onnx_floats(w->k, part(w, "W"), 3, (int64_t[]) { dirs, 4 * H, I });
    float *R = ct_onnx_floats(w->k, part(w, "R"), 3, (int64_t[]) { dirs, 4 * H, H });
    float *B = ct_onnx_floats(w->k, part(w, "B"), 2, (int64_t[]) { dirs, 8 * H });
    for (int d = 0; d < dirs && w->k->status == CT_OK; d++) {
        const ct_node *l = &w->g->nodes[w->g->values[n->in[3 * d]].producer];
        const double *wi = weight(w, l->in[1]), *bi = weight(w, l->in[2]), *wh = weight(w, n->in[3 * d + 1]);
        const double *bh = n->in[3 * d + 2] == CT_NOVAL ? NULL : weight(w, n->in[3 * d + 2]);
        if (w->k->status != CT_OK) break;
        put_gates(W + d * 4 * H * I, wi, H, I);
        put_gates(R + d * 4 * H * H, wh, H, H);
        put_gates(B + d * 8 * H, bi, H, 1);
        if (bh) put_gates(B + d * 8 * H + 4 * H, bh, H, 1);
    }
    const char *in[5] = { w->at[n->in[0]].name, part(w, "W"), part(w, "R"), part(w, "B"), NULL };
    if (w->k->status != CT_OK) return w->k->status;
    Onnx__NodeProto *o = ct_onnx_node(w->k, "LSTM", part(w, "steps"), in); /* [T,D,N,H] */
    if (!o) return w->k->status;
    ct_onnx_attr_int(w->k, o, "hidden_size", H);
    ct_onnx_attr_text(w->k, o, "direction", dirs == 2 ? "bidirectional" : "forward");
    Onnx__NodeProto *t = emit(w, "Transpose", part(w, "beside"), o->name, NULL, NULL, CT_NOVAL, ALIKE); /* [T,N,D,H] */
    if (!t) return w->k->status;
    ct_onnx_attr_ints(w->k, t, "perm", 4, (const int64_t[]) { 0, 2, 1, 3 });
    int64_t *shape = ct_onnx_ints(w->k, part(w, "shape"), 3);
    if (shape) shape[2] = dirs * H;
    emit(w, "Reshape", n->name, t->name, part(w, "shape"), NULL, n->out[0], ALIKE);
    return w->k->status;
}

/* ---- the rest ---- */

static ct_status write_activation(writer *w)
{
    static const char *const names[CT_ACT_COUNT] = { [CT_ACT_RELU] = "Relu",
                                                     [CT_ACT_LEAKY_RELU] = "LeakyRelu",
                                                     [CT_ACT_SIGMOID] = "Sigmoid",
                                                     [CT_ACT_TANH] = "Tanh",
                                                     [CT_ACT_SOFTPLUS] = "Softplus" };
    const ct_act_attrs *a = &w->in->attrs.act;
    const place x = w->at[w->in->in[0]];
    if (!names[a->kind]) return beyond(w, "silu");
    Onnx__NodeProto *n = emit(w, names[a->kind], w->in->name, x.name, NULL, NULL, w->in->out[0], x.form);
    if (n && a->kind == CT_ACT_LEAKY_RELU) ct_onnx_attr_float(w->k, n, "alpha", a->alpha);
    return w->k->status;
}

static ct_status write_pool(writer *w)
{
    const ct_pool_attrs *a = &w->in->attrs.pool;
    Onnx__NodeProto *n = emit(w, "MaxPool", w->in->name, w->at[w->in->in[0]].name, NULL, NULL, w->in->out[0], IMAGE);
    if (!n) return w->k->status;
    ct_onnx_attr_ints(w->k, n, "kernel_shape", 2, (const int64_t[]) { a->ker_h, a->ker_w });
    ct_onnx_attr_ints(w->k, n, "strides", 2, (const int64_t[]) { a->stride_h, a->stride_w });
    ct_onnx_attr_ints(w->k, n, "pads", 4, (const int64_t[]) { a->pad_h, a->pad_w, a->pad_h, a->pad_w });
    return w->k->status;
}

static ct_status write_mean(writer *w)
{
    Onnx__NodeProto *n =
        emit(w, "GlobalAveragePool", part(w, "mean"), w->at[w->in->in[0]].name, NULL, NULL, CT_NOVAL, IMAGE);
    if (n) n = emit(w, "Flatten", w->in->name, n->name, NULL, NULL, w->in->out[0], ALIKE);
    if (n) ct_onnx_attr_int(w->k, n, "axis", 1);
    return w->k->status;
}

static Onnx__NodeProto *transpose(writer *w, const char *tail, const char *from, const int64_t perm[4])
{
    Onnx__NodeProto *n = emit(w, "Transpose", part(w, tail), from, NULL, NULL, CT_NOVAL, ALIKE);
    if (n) ct_onnx_attr_ints(w->k, n, "perm", 4, perm);
    return n;
}

/* Views that take a picture apart: [N,H,W,C] -> [N,HWC]; and in two steps around a swap [N,H,T,C] -> [T,N,HC]. */
static ct_status write_reshape(writer *w)
{
    const place x = w->at[w->in->in[0]];
    const ct_desc *d = desc(w, w->in->in[0]), *y = desc(w, w->in->out[0]);
    Onnx__NodeProto *n;
    if (x.form == IMAGE && y->ndim == 2 && y->dim[0] == d->dim[0]) {
        n = transpose(w, "pixels", x.name, (const int64_t[]) { 0, 2, 3, 1 });
        if (n) n = emit(w, "Flatten", w->in->name, n->name, NULL, NULL, w->in->out[0], ALIKE);
        if (n) ct_onnx_attr_int(w->k, n, "axis", 1);
        return w->k->status;
    }
    if (x.form == IMAGE && y->ndim == 3 && y->dim[0] == d->dim[0] * d->dim[1] && y->dim[1] == d->dim[2]) {
        give(w, w->in->out[0], ROWS, x.name);
        return CT_OK;
    }
    if (x.form == COLUMNS && y->ndim == 3 && y->dim[0] == d->dim[0] && d->dim[1] % y->dim[1] == 0) {
        n = transpose(w, "pixels", x.name, (const int64_t[]) { 3, 0, 2, 1 });
        int64_t *shape = ct_onnx_ints(w->k, part(w, "shape"), 3);
        if (shape) shape[2] = y->dim[2];
        if (n) emit(w, "Reshape", w->in->name, n->name, part(w, "shape"), NULL, w->in->out[0], ALIKE);
        return w->k->status;
    }
    return beyond(w, "of this shape");
}

static ct_status write_node(writer *w)
{
    const place x = w->at[w->in->in[0]];
    switch (w->in->op) {
    case CT_OP_CONV2D: return x.form == IMAGE ? write_conv(w) : beyond(w, "of no picture");
    case CT_OP_LINEAR: return x.form == ALIKE ? write_linear(w) : beyond(w, "of a picture");
    case CT_OP_BATCHNORM_INFER: return write_norm(w);
    case CT_OP_ACTIVATION: return write_activation(w);
    case CT_OP_MAXPOOL2D: return write_pool(w);
    case CT_OP_GLOBAL_AVGPOOL: return write_mean(w);
    case CT_OP_RESHAPE: return write_reshape(w);
    case CT_OP_LSTM: return write_lstm(w);
    case CT_OP_SWAP:
        if (x.form != ROWS) return beyond(w, "of this shape");
        give(w, w->in->out[0], COLUMNS, x.name);
        return CT_OK;
    case CT_OP_ADD:
        if (w->at[w->in->in[1]].form != x.form) return beyond(w, "of unlike shapes");
        emit(w, "Add", w->in->name, x.name, w->at[w->in->in[1]].name, NULL, w->in->out[0], x.form);
        return w->k->status;
    default: return beyond(w, "");
    }
}

/* ---- ends ---- */

/* Whether files for ddddocr need no node for the normalisation: a convolution alone reads the picture, and around it
 * no zeros stand that would have to be something else. */
static bool enters_first(writer *w, ct_val x)
{
    const int i = w->form->target == CT_ONNX_DDDDOCR && w->form->fold ? only_reader(w, x) : -1;
    const ct_node *n = i < 0 ? NULL : &w->g->nodes[i];
    if (!n || n->op != CT_OP_CONV2D || n->attrs.conv.groups != 1) return false;
    for (int64_t c = 0; c < w->use->session.spec.model.channels; c++)
        if (w->shift[c] != 0 && (n->attrs.conv.pad_h > 0 || n->attrs.conv.pad_w > 0)) return false;
    w->first = n;
    return true;
}

/* From the numbers that are given to those the model takes: in the first convolution, or one batch norm with given
 * statistics. */
static const char *write_affine(writer *w, ct_val x, const char *input)
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

static void write_input(writer *w, ct_val x)
{
    const ct_model_spec *m = &w->use->session.spec.model;
    const bool one = w->form->target != CT_ONNX_ANYONE, wide = ct_model_elastic(m);
    const char *name = one ? "input1" : "input";
    ct_onnx_port(w->k, false, name, FLOAT, 4, (const int64_t[]) { 1, m->channels, m->height, m->width },
                 (const char *const[]) { one ? NULL : "N", NULL, NULL, wide ? "W" : NULL });
    give(w, x, IMAGE, write_affine(w, x, name));
}

/* The scores behind value v: [N,T,K] and [N,P,K]; for ddddocr [T,1,K], or the ids [1,T] of the best. */
static ct_status write_output(writer *w, ct_val v)
{
    const ct_model_spec *m = &w->use->session.spec.model;
    const bool ctc = ct_model_head(m) == CT_HEAD_CTC, spread = ct_onnx_spread(w->form, w->use);
    const ct_onnx_target target = w->form->target;
    const char *name = target == CT_ONNX_ANYONE ? "scores" : "output", *from = w->at[v].name;
    const int64_t steps = spread ? 2 * m->positions - 1 : m->positions, classes = m->classes + spread;
    const bool time_first = target == CT_ONNX_DDDDOCR;
    Onnx__NodeProto *n = NULL;
    if (!ctc) {
        int64_t *shape = ct_onnx_ints(w->k, "scores.shape", 3);
        if (shape) shape[1] = steps, shape[2] = classes;
        n = emit(w, "Reshape", target == CT_ONNX_ANYONE ? name : "scores", from, "scores.shape", NULL, CT_NOVAL, ALIKE);
    }
    if (ctc != time_first) {
        n = emit(w, "Transpose", target == CT_ONNX_DDDDOCR_15 ? "scores.steps" : name, n ? n->name : from, NULL, NULL,
                 CT_NOVAL, ALIKE);
        if (n) ct_onnx_attr_ints(w->k, n, "perm", 3, (const int64_t[]) { 1, 0, 2 });
    } else if (ctc) {
        n = emit(w, "Identity", name, from, NULL, NULL, CT_NOVAL, ALIKE);
    }
    const int64_t t = time_first ? 0 : 1;
    int64_t dim[3] = { 1, 1, classes };
    const char *param[3] = { NULL, NULL, NULL };
    dim[t] = steps;
    if (ctc) param[t] = "T";
    if (target == CT_ONNX_ANYONE) param[0] = "N";
    if (target == CT_ONNX_DDDDOCR_15 && n) {
        n = emit(w, "ArgMax", name, n->name, NULL, NULL, CT_NOVAL, ALIKE);
        if (n) ct_onnx_attr_int(w->k, n, "axis", 2);
        if (n) ct_onnx_attr_int(w->k, n, "keepdims", 0);
        ct_onnx_port(w->k, true, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 2, dim, param);
    } else {
        ct_onnx_port(w->k, true, name, FLOAT, 3, dim, param);
    }
    return w->k->status;
}

/* What the file is, beside its graph. */
static ct_status write_head(writer *w)
{
    Onnx__ModelProto *m = w->k->model;
    const int64_t o = w->form->opset;
    Onnx__OperatorSetIdProto *set = ct_onnx_take(w->k, sizeof *set);
    Onnx__OperatorSetIdProto **list = ct_onnx_take(w->k, sizeof *list);
    m->producer_name = ct_onnx_text(w->k, "captrain");
    m->producer_version = ct_onnx_text(w->k, "%s", PACKAGE_VERSION);
    m->graph->name = ct_onnx_text(w->k, "%s", w->use->session.spec.model.name);
    if (w->k->status != CT_OK) return w->k->status;
    onnx__operator_set_id_proto__init(set);
    m->has_ir_version = set->has_version = true;
    m->ir_version = o <= 11 ? 6 : o <= 14 ? 7 : o <= 18 ? 8 : 9; /* the oldest that has the operator set */
    set->version = o;
    set->domain = ct_onnx_text(w->k, "%s", "");
    list[0] = set;
    m->n_opset_import = 1;
    m->opset_import = list;
    return ct_onnx_write_text(w->k, w->use, w->form);
}

static ct_status write_graph(writer *w)
{
    const ct_model_spec *m = &w->use->session.spec.model;
    ct_val x, out[CT_MODEL_OUTPUTS];
    CT_TRY(ct_graph_input(w->g, "x", ct_desc4(m->dtype, 2, m->height, m->width, m->channels), &x));
    CT_TRY(ct_model_build(w->g, m, x, CT_NOVAL, false, out));
    ct_graph_keep(w->g, out[0]);
    w->at = ct_onnx_take(w->k, w->g->nvalues * sizeof *w->at);
    w->done = ct_onnx_take(w->k, w->g->nnodes * sizeof *w->done);
    if (w->k->status != CT_OK) return w->k->status;
    write_input(w, x);
    for (size_t i = 0; i < w->g->nnodes && w->k->status == CT_OK; i++) {
        w->in = &w->g->nodes[i];
        if (!w->done[i]) CT_TRY(write_node(w));
    }
    if (w->k->status != CT_OK) return w->k->status;
    return write_output(w, out[0]);
}

ct_status ct_onnx_write(ct_onnx_maker *k, ct_model_use *use, const ct_onnx_form *form)
{
    writer w = { .k = k, .use = use, .form = form };
    const ct_model_spec *m = &use->session.spec.model;
    if (ct_model_clip(m) || ct_model_outputs(m) != 1)
        return ct_fail(CT_EUNSUPPORTED,
                       "export: %s cannot be written as ONNX: it %s; --format safetensors writes its weights", m->name,
                       ct_model_clip(m) ? "reads clips" : "has several outputs");
    ct_status st = write_head(&w);
    if (st == CT_OK) st = ct_graph_create(&w.g);
    if (st == CT_OK) st = write_graph(&w);
    ct_graph_free(w.g);
    return st;
}
