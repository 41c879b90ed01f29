/* What is done number by number, or with the channels of one pixel. */
#include "config.h"

#include "onnx/read.h"

#include <math.h>

ct_status ct_onnx_read_activation(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_act_kind kind)
{
    const double alpha = kind == CT_ACT_LEAKY_RELU ? ct_onnx_number(n, "alpha", 0.01) : 0;
    const ct_attrs a = { .act = { .kind = kind, .alpha = alpha } };
    ct_onnx_tensor t;
    ct_val y;
    CT_TRY(ct_onnx_first(x, n, &t));
    CT_TRY(ct_onnx_op(x, n, CT_OP_ACTIVATION, &a, "", 1, &t.val, 1, &y));
    return ct_onnx_define(x, n, y, t.form);
}

/* ---- sums and products ---- */

/* What is added to a product of a matrix is its bias. */
static ct_status add_bias(ct_onnx_graph *x, const Onnx__NodeProto *n, const ct_onnx_tensor *t)
{
    const int made = x->g->values[t->val].producer;
    ct_val y;
    if (t->form != CT_ONNX_ALIKE || made < 0 || x->g->nodes[made].op != CT_OP_LINEAR || x->g->nodes[made].nin != 2)
        return ct_onnx_refuse(x, n, "adds a constant to something else than a product");
    const ct_node *product = &x->g->nodes[made];
    ct_val all[3] = { product->in[0], product->in[1], CT_NOVAL };
    CT_TRY(ct_onnx_vector(x, n, 1, &all[2]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_LINEAR, NULL, "", 3, all, 1, &y)); /* the product alone is read by nobody then */
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

ct_status ct_onnx_read_add(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t;
    ct_val in[2], y;
    CT_TRY(ct_onnx_first(x, n, &t));
    if (n->n_input != 2) return ct_onnx_refuse(x, n, "adds something else than two");
    if (ct_onnx_constant(x, n, 1)) return add_bias(x, n, &t);
    in[0] = t.val;
    CT_TRY(ct_onnx_input(x, n, 1, t.form, &in[1]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_ADD, NULL, "", 2, in, 1, &y));
    return ct_onnx_define(x, n, y, t.form);
}

/* [N,h,w,C] times [N,1,1,C] or [N,h,1,C]: a factor for the pixels of a picture or of a line, which is a sample to our
 * operator. */
static ct_status spread_factors(ct_onnx_graph *x, const Onnx__NodeProto *n, const ct_val in[2], ct_val *y)
{
    const ct_desc d = *ct_graph_desc(x->g, in[0]), e = *ct_graph_desc(x->g, in[1]);
    const int64_t N = d.dim[0], h = d.dim[1], w = d.dim[2], C = d.dim[3], lines = e.dim[1];
    ct_val part[2];
    if (e.dim[0] != N || e.dim[2] != 1 || e.dim[3] != C || (lines != 1 && lines != h))
        return ct_onnx_refuse(x, n, "multiplies tensors whose shapes do not go together");
    CT_TRY(ct_onnx_view(x, n, ".lines", in[0], 4, (const int64_t[]) { N * lines, h / lines, w, C }, &part[0]));
    CT_TRY(ct_onnx_view(x, n, ".factors", in[1], 2, (const int64_t[]) { N * lines, C }, &part[1]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_SCALE_CHANNELS, NULL, "", 2, part, 1, y));
    return ct_onnx_view(x, n, ".map", *y, 4, (const int64_t[]) { N, h, w, C }, y);
}

ct_status ct_onnx_read_mul(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *factor = ct_onnx_floats_of(x, n, 1, 1);
    ct_onnx_tensor t;
    ct_val in[2], y;
    CT_TRY(ct_onnx_first(x, n, &t));
    if (n->n_input != 2) return ct_onnx_refuse(x, n, "multiplies something else than two");
    in[0] = t.val;
    if (ct_onnx_constant(x, n, 1)) {
        if (!factor || factor->dims[0] != 1 || !isfinite(ct_onnx_number_at(factor, 0)))
            return ct_onnx_refuse(x, n, "multiplies with something else than one number");
        const ct_attrs a = { .scale = { .alpha = (double)ct_onnx_number_at(factor, 0) } };
        CT_TRY(ct_onnx_op(x, n, CT_OP_SCALE, &a, "", 1, in, 1, &y));
        return ct_onnx_define(x, n, y, t.form);
    }
    CT_TRY(ct_onnx_input(x, n, 1, t.form, &in[1]));
    if (t.form == CT_ONNX_IMAGE &&
        !ct_desc_same_shape(ct_graph_desc(x->g, in[0]), ct_graph_desc(x->g, in[1])))
        CT_TRY(spread_factors(x, n, in, &y));
    else
        CT_TRY(ct_onnx_op(x, n, CT_OP_MUL, NULL, "", 2, in, 1, &y));
    return ct_onnx_define(x, n, y, t.form);
}

/* ---- lengths ---- */

ct_status ct_onnx_read_unit(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_val v, y;
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_IMAGE, &v));
    if (ct_onnx_whole(n, "axis", -1) != 1 || ct_onnx_whole(n, "p", 2) != 2)
        return ct_onnx_refuse(x, n, "is of something else than channels");
    CT_TRY(ct_onnx_op(x, n, CT_OP_L2_NORMALIZE, NULL, "", 1, &v, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}

/* What is squared, if v is a*a; else CT_NOVAL. */
static ct_val squared(const ct_onnx_graph *x, ct_val v)
{
    const int made = x->g->values[v].producer;
    const ct_node *n = made < 0 ? NULL : &x->g->nodes[made];
    return n && n->op == CT_OP_MUL && n->in[0] == n->in[1] ? n->in[0] : CT_NOVAL;
}

/* sqrt(a*a + b*b) alone: (a, b) . (a, b)/|(a, b)|, there being no operator for a root. */
ct_status ct_onnx_read_root(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    static const char *const tail[2] = { ".first", ".second" };
    ct_val v, pair[2], both[2], y;
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_IMAGE, &v));
    const int made = x->g->values[v].producer;
    const ct_node *sum = made < 0 ? NULL : &x->g->nodes[made];
    const bool of_two = sum && sum->op == CT_OP_ADD;
    pair[0] = of_two ? squared(x, sum->in[0]) : CT_NOVAL;
    pair[1] = of_two ? squared(x, sum->in[1]) : CT_NOVAL;
    if (pair[0] == CT_NOVAL || pair[1] == CT_NOVAL)
        return ct_onnx_refuse(x, n, "is a root of something else than the sum of two squares");
    const ct_desc d = *ct_graph_desc(x->g, v);
    const int64_t one[2] = { ct_desc_numel(&d), 1 };
    for (int i = 0; i < 2; i++) CT_TRY(ct_onnx_view(x, n, tail[i], pair[i], 2, one, &pair[i]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_CONCAT_CHANNELS, NULL, ".pair", 2, pair, 1, &both[0]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_L2_NORMALIZE, NULL, ".unit", 1, both, 1, &both[1]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_MUL, NULL, ".parts", 2, both, 1, &y));
    for (int i = 0; i < 2; i++) {
        const ct_attrs a = { .channels = { .first = i, .channels = 1 } };
        CT_TRY(ct_onnx_op(x, n, CT_OP_SLICE_CHANNELS, &a, tail[i], 1, &y, 1, &pair[i]));
    }
    CT_TRY(ct_onnx_op(x, n, CT_OP_ADD, NULL, ".length", 2, pair, 1, &y));
    CT_TRY(ct_onnx_view(x, n, "", y, 4, d.dim, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}

/* ---- ends ---- */

ct_status ct_onnx_read_identity(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t;
    CT_TRY(ct_onnx_first(x, n, &t));
    return ct_onnx_define(x, n, t.val, t.form);
}

/* Ids of the best class, which nothing may read: the scores stand for them. */
ct_status ct_onnx_read_best(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    if (ct_onnx_whole(n, "axis", 0) != 2 || ct_onnx_whole(n, "keepdims", 1) != 0)
        return ct_onnx_refuse(x, n, "is not over the classes");
    x->ids = true;
    return ct_onnx_read_identity(x, n);
}
