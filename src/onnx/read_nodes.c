/* Nodes of ONNX as operators of ours: those that export writes, with the attributes it writes. */
#include "config.h"

#include <string.h>

#include "onnx/read.h"

/* ---- what a node says ---- */

static const Onnx__AttributeProto *attribute(const Onnx__NodeProto *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (strcmp(n->attribute[i]->name, name) == 0) return n->attribute[i];
    return NULL;
}

static int64_t whole(const Onnx__NodeProto *n, const char *name, int64_t without)
{
    const Onnx__AttributeProto *a = attribute(n, name);
    return a && a->has_i ? a->i : without;
}

static double number(const Onnx__NodeProto *n, const char *name, double without)
{
    const Onnx__AttributeProto *a = attribute(n, name);
    return a && a->has_f ? (double)a->f : without;
}

/* `count` numbers of 0..4095 into v; false where there are not so many. */
static bool list(const Onnx__NodeProto *n, const char *name, size_t count, int64_t *v)
{
    const Onnx__AttributeProto *a = attribute(n, name);
    if (!a || a->n_ints != count) return false;
    for (size_t i = 0; i < count; i++) {
        if (a->ints[i] < 0 || a->ints[i] > 4095) return false;
        v[i] = a->ints[i];
    }
    return true;
}

/* Input 0 as a tensor of this form. */
static ct_status input(ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, ct_onnx_form_of form, ct_val *v)
{
    const ct_onnx_tensor *t = i < n->n_input ? ct_onnx_tensor_of(x, n->input[i]) : NULL;
    if (!t) return ct_onnx_refuse(x, n, "reads what no node before it gives");
    if (t->form != form) return ct_onnx_refuse(x, n, "reads a tensor whose dimensions mean something else");
    *v = t->val;
    return CT_OK;
}

static const Onnx__TensorProto *constant(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, int type,
                                         size_t dims)
{
    const Onnx__TensorProto *t = ct_onnx_constant(x, n, i);
    return t && t->data_type == type && t->n_dims == dims ? t : NULL;
}

static const Onnx__TensorProto *floats(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, size_t dims)
{
    return constant(x, n, i, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, dims);
}

static float at(const Onnx__TensorProto *t, int64_t e)
{
    float v;
    memcpy(&v, t->raw_data.data + e * 4, sizeof v);
    return v;
}

/* One operator; a failure of its shape rule is the file's. */
static ct_status node(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_op op, const ct_attrs *a, const char *tail,
                      int nin, const ct_val *in, int nout, ct_val *out)
{
    char name[160];
    const size_t fits = sizeof name - 16, len = strlen(n->name);
    if (len >= fits) return ct_onnx_refuse(x, n, "too long a name");
    memcpy(name, n->name, len);
    strcpy(name + len, tail);
    const ct_status st = ct_graph_node(x->g, op, a, name, nin, in, nout, (1u << nout) - 1, out);
    return st == CT_OK || st == CT_ENOMEM ? st : ct_fail_context(CT_EFORMAT, "%s", x->source);
}

/* A vector as a weight. */
static ct_status vector(ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, ct_val *v)
{
    const Onnx__TensorProto *t = floats(x, n, i, 1);
    float *data;
    if (!t) return ct_onnx_refuse(x, n, "has no vector where one belongs");
    CT_TRY(ct_onnx_weight_add(x, t->name, "", ct_desc1(CT_F32, t->dims[0]), v, &data));
    memcpy(data, t->raw_data.data, t->raw_data.len);
    return CT_OK;
}

/* ---- operators ---- */

static ct_status read_conv(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    int64_t ker[2], stride[2], pad[4], dil[2];
    ct_val in[3], y;
    float *to;
    const Onnx__TensorProto *w = floats(x, n, 1, 4);
    if (!w || !list(n, "kernel_shape", 2, ker) || !list(n, "strides", 2, stride) || !list(n, "pads", 4, pad) ||
        !list(n, "dilations", 2, dil) || ker[0] != w->dims[2] || ker[1] != w->dims[3] || pad[0] != pad[2] ||
        pad[1] != pad[3])
        return ct_onnx_refuse(x, n, "has no filters, or not kernel_shape, strides, even pads and dilations");
    const int64_t K = w->dims[0], C = w->dims[1], P = ker[0] * ker[1];
    CT_TRY(input(x, n, 0, CT_ONNX_IMAGE, &in[0]));
    CT_TRY(ct_onnx_weight_add(x, w->name, "", ct_desc4(CT_F32, K, ker[0], ker[1], C), &in[1], &to));
    for (int64_t k = 0; k < K; k++)
        for (int64_t c = 0; c < C; c++)
            for (int64_t p = 0; p < P; p++) to[(k * P + p) * C + c] = at(w, (k * C + c) * P + p);
    if (n->n_input > 2) CT_TRY(vector(x, n, 2, &in[2]));
    const ct_attrs a = { .conv = { .stride_h = stride[0],
                                   .stride_w = stride[1],
                                   .pad_h = pad[0],
                                   .pad_w = pad[1],
                                   .dil_h = dil[0],
                                   .dil_w = dil[1],
                                   .groups = whole(n, "group", 1) } };
    CT_TRY(node(x, n, CT_OP_CONV2D, &a, "", n->n_input > 2 ? 3 : 2, in, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}

static ct_status read_norm(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    const ct_attrs a = { .norm = { .eps = number(n, "epsilon", 1e-5), .momentum = 0.1 } };
    ct_val in[5], y;
    if (!t || (t->form != CT_ONNX_IMAGE && t->form != CT_ONNX_SWAPPED))
        return ct_onnx_refuse(x, n, "reads a tensor whose second dimension is none of channels");
    const ct_onnx_form_of form = t->form;
    in[0] = t->val;
    for (size_t i = 1; i < 5; i++) CT_TRY(vector(x, n, i, &in[i]));
    CT_TRY(node(x, n, CT_OP_BATCHNORM_INFER, &a, "", 5, in, 1, &y));
    return ct_onnx_define(x, n, y, form);
}

static ct_status read_activation(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_act_kind kind)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    const ct_attrs a = { .act = { .kind = kind, .alpha = kind == CT_ACT_LEAKY_RELU ? number(n, "alpha", 0.01) : 0 } };
    ct_val y;
    if (!t) return ct_onnx_refuse(x, n, "reads what no node before it gives");
    const ct_onnx_form_of form = t->form;
    CT_TRY(node(x, n, CT_OP_ACTIVATION, &a, "", 1, &t->val, 1, &y));
    return ct_onnx_define(x, n, y, form);
}

static ct_status read_pool(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    int64_t ker[2], stride[2], pad[4];
    ct_val v, y[2];
    if (!list(n, "kernel_shape", 2, ker) || !list(n, "strides", 2, stride) || !list(n, "pads", 4, pad) ||
        pad[0] != pad[2] || pad[1] != pad[3] || whole(n, "ceil_mode", 0) != 0)
        return ct_onnx_refuse(x, n, "has not kernel_shape, strides and even pads");
    const ct_attrs a = { .pool = { .ker_h = ker[0],
                                   .ker_w = ker[1],
                                   .stride_h = stride[0],
                                   .stride_w = stride[1],
                                   .pad_h = pad[0],
                                   .pad_w = pad[1] } };
    CT_TRY(input(x, n, 0, CT_ONNX_IMAGE, &v));
    CT_TRY(node(x, n, CT_OP_MAXPOOL2D, &a, "", 1, &v, 2, y));
    return ct_onnx_define(x, n, y[0], CT_ONNX_IMAGE);
}

static ct_status read_mean(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_val v, y;
    CT_TRY(input(x, n, 0, CT_ONNX_IMAGE, &v));
    CT_TRY(node(x, n, CT_OP_GLOBAL_AVGPOOL, NULL, "", 1, &v, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_POOLED);
}

static ct_status shape(ct_onnx_graph *x, const Onnx__NodeProto *n, const char *tail, ct_val v, int ndim, int64_t d0,
                       int64_t d1, int64_t d2, ct_val *y)
{
    const ct_attrs a = { .shape = { .ndim = ndim, .d0 = d0, .d1 = d1, .d2 = d2 } };
    return node(x, n, CT_OP_RESHAPE, &a, tail, 1, &v, 1, y);
}

static ct_status read_flatten(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    if (!t || whole(n, "axis", 1) != 1 || (t->form != CT_ONNX_PIXELS && t->form != CT_ONNX_POOLED))
        return ct_onnx_refuse(x, n, "flattens something else than pixels or means of channels");
    if (t->form == CT_ONNX_POOLED) return ct_onnx_define(x, n, t->val, CT_ONNX_ALIKE);
    const ct_desc d = *ct_graph_desc(x->g, t->val);
    ct_val y;
    CT_TRY(shape(x, n, "", t->val, 2, d.dim[0], d.dim[1] * d.dim[2] * d.dim[3], 0, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

static bool is(const int64_t *perm, const char *what)
{
    for (; *what; what++, perm++)
        if (*perm != *what - '0') return false;
    return true;
}

static ct_status read_transpose(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    int64_t p[4];
    ct_val y;
    if (!t) return ct_onnx_refuse(x, n, "reads what no node before it gives");
    const ct_val v = t->val;
    if (t->form == CT_ONNX_IMAGE && list(n, "perm", 4, p)) {
        if (is(p, "0231")) return ct_onnx_define(x, n, v, CT_ONNX_PIXELS);
        if (is(p, "3021")) return ct_onnx_define(x, n, v, CT_ONNX_COLUMNS);
    }
    if (t->form == CT_ONNX_STACKED && list(n, "perm", 4, p) && is(p, "0213"))
        return ct_onnx_define(x, n, v, CT_ONNX_BESIDE);
    if (t->form == CT_ONNX_SWAPPED && list(n, "perm", 3, p) && is(p, "021"))
        return ct_onnx_define(x, n, v, CT_ONNX_ALIKE);
    if (t->form == CT_ONNX_ALIKE && ct_graph_desc(x->g, v)->ndim == 3 && list(n, "perm", 3, p)) {
        if (is(p, "021")) return ct_onnx_define(x, n, v, CT_ONNX_SWAPPED);
        if (is(p, "102")) {
            CT_TRY(node(x, n, CT_OP_SWAP, NULL, "", 1, &v, 1, &y));
            return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
        }
    }
    return ct_onnx_refuse(x, n, "has a perm that export does not write there");
}

/* [W,N,H,C] -> [T,N,H*C], [T,N,D,H] -> [T,N,D*H], [N,P*K] -> [N,P,K]: as shapes 0, ... in the file say. */
static ct_status read_reshape(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    const Onnx__TensorProto *s = constant(x, n, 1, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1);
    int64_t to[3];
    if (!t || !s || s->dims[0] != 3) return ct_onnx_refuse(x, n, "has no shape of three dimensions");
    memcpy(to, s->raw_data.data, sizeof to);
    const ct_onnx_tensor from = *t;
    const ct_desc d = *ct_graph_desc(x->g, from.val);
    ct_val y = from.val;
    if (from.form == CT_ONNX_BESIDE && to[0] == 0 && to[1] == 0 && to[2] == d.dim[2])
        return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
    if (from.form == CT_ONNX_COLUMNS && to[0] == 0 && to[1] == 0 && to[2] == d.dim[1] * d.dim[3]) {
        CT_TRY(shape(x, n, ".rows", y, 3, d.dim[0] * d.dim[1], d.dim[2], d.dim[3], &y));
        CT_TRY(node(x, n, CT_OP_SWAP, NULL, ".columns", 1, &y, 1, &y));
        CT_TRY(shape(x, n, "", y, 3, d.dim[2], d.dim[0], d.dim[1] * d.dim[3], &y));
        return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
    }
    if (from.form == CT_ONNX_ALIKE && d.ndim == 2 && to[0] == 0 && to[1] > 0 && to[2] > 0 && d.dim[1] % to[1] == 0 &&
        d.dim[1] / to[1] == to[2]) {
        CT_TRY(shape(x, n, "", y, 3, d.dim[0], to[1], to[2], &y));
        return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
    }
    return ct_onnx_refuse(x, n, "has a shape that export does not write there");
}

static ct_status read_gemm(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *w = floats(x, n, 1, 2);
    ct_val in[3], y;
    float *to;
    if (!w || whole(n, "transB", 0) != 1 || n->n_input != 3 || attribute(n, "alpha") || attribute(n, "beta") ||
        whole(n, "transA", 0) != 0)
        return ct_onnx_refuse(x, n, "is not x w^T + b");
    CT_TRY(input(x, n, 0, CT_ONNX_ALIKE, &in[0]));
    CT_TRY(ct_onnx_weight_add(x, w->name, "", ct_desc2(CT_F32, w->dims[0], w->dims[1]), &in[1], &to));
    memcpy(to, w->raw_data.data, w->raw_data.len);
    CT_TRY(vector(x, n, 2, &in[2]));
    CT_TRY(node(x, n, CT_OP_LINEAR, NULL, "", 3, in, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

/* A product [..,I] x [I,O] is a linear, to which the Add behind it gives its bias. */
static ct_status read_matmul(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *w = floats(x, n, 1, 2);
    ct_val in[2], y;
    float *to;
    if (!w) return ct_onnx_refuse(x, n, "has no matrix of weights");
    CT_TRY(input(x, n, 0, CT_ONNX_ALIKE, &in[0]));
    CT_TRY(ct_onnx_weight_add(x, w->name, "", ct_desc2(CT_F32, w->dims[1], w->dims[0]), &in[1], &to));
    for (int64_t i = 0; i < w->dims[0]; i++)
        for (int64_t o = 0; o < w->dims[1]; o++) to[o * w->dims[0] + i] = at(w, i * w->dims[1] + o);
    CT_TRY(node(x, n, CT_OP_LINEAR, NULL, "", 2, in, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

static ct_status read_add(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    ct_val in[2], y;
    if (!t || n->n_input != 2) return ct_onnx_refuse(x, n, "adds something else than two");
    const ct_onnx_form_of form = t->form;
    in[0] = t->val;
    if (!ct_onnx_constant(x, n, 1)) {
        CT_TRY(input(x, n, 1, form, &in[1]));
        CT_TRY(node(x, n, CT_OP_ADD, NULL, "", 2, in, 1, &y));
        return ct_onnx_define(x, n, y, form);
    }
    const int made = x->g->values[in[0]].producer;
    if (form != CT_ONNX_ALIKE || made < 0 || x->g->nodes[made].op != CT_OP_LINEAR || x->g->nodes[made].nin != 2)
        return ct_onnx_refuse(x, n, "adds a constant to something else than a product");
    const ct_node *product = &x->g->nodes[made];
    ct_val all[3] = { product->in[0], product->in[1], CT_NOVAL };
    CT_TRY(vector(x, n, 1, &all[2]));
    CT_TRY(node(x, n, CT_OP_LINEAR, NULL, "", 3, all, 1, &y)); /* the product alone is read by nobody then */
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

/* Rows [4H,n] in the file's order of gates i, o, f, c, as ours: i, f, g, o. */
static void take_gates(float *to, const Onnx__TensorProto *t, int64_t first, int64_t hidden, int64_t n)
{
    static const int64_t gate[4] = { 0, 2, 3, 1 };
    for (int64_t q = 0; q < 4; q++)
        for (int64_t e = 0; e < hidden * n; e++) to[q * hidden * n + e] = at(t, first + gate[q] * hidden * n + e);
}

static ct_status read_lstm(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *W = floats(x, n, 1, 3), *R = floats(x, n, 2, 3), *B = floats(x, n, 3, 2);
    const int64_t H = whole(n, "hidden_size", 0);
    const Onnx__AttributeProto *way = attribute(n, "direction");
    static const char *const tail[2][4] = { { "", "", ".ih", ".hh" }, { ".r", ".r", ".ih.r", ".hh.r" } };
    ct_val from, in[6], y[3];
    if (!W || !R || !B || H < 1 || H > 1 << 20 || n->n_input != 4 || !way || !way->has_s)
        return ct_onnx_refuse(x, n, "has not W, R, B, hidden_size and direction");
    const int64_t D = way->s.len == 13 && memcmp(way->s.data, "bidirectional", 13) == 0 ? 2 : 1, I = W->dims[2];
    if (D == 1 && (way->s.len != 7 || memcmp(way->s.data, "forward", 7) != 0))
        return ct_onnx_refuse(x, n, "is neither forward nor bidirectional");
    if (W->dims[0] != D || W->dims[1] != 4 * H || R->dims[0] != D || R->dims[1] != 4 * H || R->dims[2] != H ||
        B->dims[0] != D || B->dims[1] != 8 * H)
        return ct_onnx_refuse(x, n, "has weights of other shapes");
    CT_TRY(input(x, n, 0, CT_ONNX_ALIKE, &from));
    for (int64_t d = 0; d < D; d++) {
        ct_val w[3] = { from };
        float *wi, *bi, *wh, *bh;
        CT_TRY(ct_onnx_weight_add(x, W->name, tail[d][0], ct_desc2(CT_F32, 4 * H, I), &w[1], &wi));
        CT_TRY(ct_onnx_weight_add(x, R->name, tail[d][1], ct_desc2(CT_F32, 4 * H, H), &in[3 * d + 1], &wh));
        CT_TRY(ct_onnx_weight_add(x, B->name, tail[d][2], ct_desc1(CT_F32, 4 * H), &w[2], &bi));
        CT_TRY(ct_onnx_weight_add(x, B->name, tail[d][3], ct_desc1(CT_F32, 4 * H), &in[3 * d + 2], &bh));
        take_gates(wi, W, d * 4 * H * I, H, I);
        take_gates(wh, R, d * 4 * H * H, H, H);
        take_gates(bi, B, d * 8 * H, H, 1);
        take_gates(bh, B, d * 8 * H + 4 * H, H, 1);
        CT_TRY(node(x, n, CT_OP_LINEAR, NULL, d ? ".back" : ".ahead", 3, w, 1, &in[3 * d]));
    }
    CT_TRY(node(x, n, CT_OP_LSTM, NULL, "", (int)(3 * D), in, 3, y));
    return ct_onnx_define(x, n, y[0], CT_ONNX_STACKED);
}

static ct_status read_identity(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_onnx_tensor *t = ct_onnx_tensor_of(x, n->input[0]);
    return t ? ct_onnx_define(x, n, t->val, t->form) : ct_onnx_refuse(x, n, "reads what no node before it gives");
}

/* Ids of the best class, which nothing may read: the scores stand for them. */
static ct_status read_best(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    if (whole(n, "axis", 0) != 2 || whole(n, "keepdims", 1) != 0)
        return ct_onnx_refuse(x, n, "is not over the classes");
    x->ids = true;
    return read_identity(x, n);
}

ct_status ct_onnx_read_node(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    static const struct {
        const char *op;
        ct_status (*read)(ct_onnx_graph *x, const Onnx__NodeProto *n);
    } reader[] = { { "Add", read_add },
                   { "ArgMax", read_best },
                   { "BatchNormalization", read_norm },
                   { "Conv", read_conv },
                   { "Flatten", read_flatten },
                   { "Gemm", read_gemm },
                   { "GlobalAveragePool", read_mean },
                   { "Identity", read_identity },
                   { "LSTM", read_lstm },
                   { "MatMul", read_matmul },
                   { "MaxPool", read_pool },
                   { "Reshape", read_reshape },
                   { "Transpose", read_transpose } };
    static const struct {
        const char *op;
        ct_act_kind kind;
    } activation[] = { { "Relu", CT_ACT_RELU },
                       { "LeakyRelu", CT_ACT_LEAKY_RELU },
                       { "Sigmoid", CT_ACT_SIGMOID },
                       { "Tanh", CT_ACT_TANH },
                       { "Softplus", CT_ACT_SOFTPLUS } };
    for (size_t i = 0; i < sizeof reader / sizeof *reader; i++)
        if (strcmp(n->op_type, reader[i].op) == 0) return reader[i].read(x, n);
    for (size_t i = 0; i < sizeof activation / sizeof *activation; i++)
        if (strcmp(n->op_type, activation[i].op) == 0) return read_activation(x, n, activation[i].kind);
    return ct_onnx_refuse(x, n, "export writes no such operator");
}
