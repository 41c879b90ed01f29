/* What only moves numbers, takes some of them, or means of them. */
#include "config.h"

#include "onnx/read.h"

/* ---- windows ---- */

ct_status ct_onnx_read_max(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t;
    ct_onnx_window s;
    ct_val y[2];
    CT_TRY(ct_onnx_first(x, n, &t));
    if (t.form != CT_ONNX_CLIP && t.form != CT_ONNX_IMAGE)
        return ct_onnx_refuse(x, n, "reads a tensor whose dimensions mean something else");
    if (!ct_onnx_window_of(n, t.form, &s) || s.times || ct_onnx_whole(n, "ceil_mode", 0) != 0)
        return ct_onnx_refuse(x, n, "has not kernel_shape, strides and even pads");
    const ct_attrs a = { .pool = { s.ker[0], s.ker[1], s.stride[0], s.stride[1], s.pad[0], s.pad[1], 0, 0 } };
    CT_TRY(ct_onnx_op(x, n, CT_OP_MAXPOOL2D, &a, "", 1, &t.val, 2, y));
    return ct_onnx_define(x, n, y[0], t.form);
}

/* Means without padding, which would count or not. */
ct_status ct_onnx_read_average(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t;
    ct_onnx_window s;
    ct_val y;
    CT_TRY(ct_onnx_first(x, n, &t));
    if (t.form != CT_ONNX_CLIP && t.form != CT_ONNX_IMAGE)
        return ct_onnx_refuse(x, n, "reads a tensor whose dimensions mean something else");
    if (!ct_onnx_window_of(n, t.form, &s) || s.times || s.pad[0] != 0 || s.pad[1] != 0 ||
        ct_onnx_whole(n, "ceil_mode", 0) != 0)
        return ct_onnx_refuse(x, n, "has not kernel_shape, strides and pads of 0");
    const ct_attrs a = { .pool = { s.ker[0], s.ker[1], s.stride[0], s.stride[1], 0, 0, 0, 0 } };
    CT_TRY(ct_onnx_op(x, n, CT_OP_AVGPOOL2D, &a, "", 1, &t.val, 1, &y));
    return ct_onnx_define(x, n, y, t.form);
}

ct_status ct_onnx_read_mean(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_val v, y;
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_IMAGE, &v));
    CT_TRY(ct_onnx_op(x, n, CT_OP_GLOBAL_AVGPOOL, NULL, "", 1, &v, 1, &y));
    const ct_desc d = *ct_graph_desc(x->g, y);
    CT_TRY(ct_onnx_view(x, n, ".pixel", y, 4, (const int64_t[]) { d.dim[0], 1, 1, d.dim[1] }, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}

/* ---- views ---- */

ct_status ct_onnx_read_flatten(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t;
    CT_TRY(ct_onnx_first(x, n, &t));
    const ct_desc d = *ct_graph_desc(x->g, t.val);
    const bool means = t.form == CT_ONNX_IMAGE && d.dim[1] == 1 && d.dim[2] == 1;
    if (ct_onnx_whole(n, "axis", 1) != 1 || (t.form != CT_ONNX_PIXELS && !means))
        return ct_onnx_refuse(x, n, "flattens something else than pixels or means of channels");
    ct_val y;
    CT_TRY(ct_onnx_view(x, n, "", t.val, 2, (const int64_t[]) { d.dim[0], d.dim[1] * d.dim[2] * d.dim[3] }, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

static bool is(const int64_t *perm, const char *what)
{
    for (; *what; what++, perm++)
        if (*perm != *what - '0') return false;
    return true;
}

ct_status ct_onnx_read_transpose(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t;
    int64_t p[5];
    ct_val y;
    CT_TRY(ct_onnx_first(x, n, &t));
    const ct_val v = t.val;
    if (t.form == CT_ONNX_FRAMES && ct_onnx_list(n, "perm", 5, p) && is(p, "02134"))
        return ct_onnx_define(x, n, v, CT_ONNX_CLIP);
    if (t.form == CT_ONNX_IMAGE && ct_onnx_list(n, "perm", 4, p)) {
        if (is(p, "0231")) return ct_onnx_define(x, n, v, CT_ONNX_PIXELS);
        if (is(p, "3021")) return ct_onnx_define(x, n, v, CT_ONNX_COLUMNS);
    }
    if (t.form == CT_ONNX_STACKED && ct_onnx_list(n, "perm", 4, p) && is(p, "0213"))
        return ct_onnx_define(x, n, v, CT_ONNX_BESIDE);
    if (t.form == CT_ONNX_SWAPPED && ct_onnx_list(n, "perm", 3, p) && is(p, "021"))
        return ct_onnx_define(x, n, v, CT_ONNX_ALIKE);
    if (t.form == CT_ONNX_ALIKE && ct_graph_desc(x->g, v)->ndim == 3 && ct_onnx_list(n, "perm", 3, p)) {
        if (is(p, "021")) return ct_onnx_define(x, n, v, CT_ONNX_SWAPPED);
        if (is(p, "102")) {
            CT_TRY(ct_onnx_op(x, n, CT_OP_SWAP, NULL, "", 1, &v, 1, &y));
            return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
        }
    }
    return ct_onnx_refuse(x, n, "has a perm that export does not write there");
}

/* [W,N,H,C] -> [T,N,H*C]. */
static ct_status rows_in_time(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_val v, ct_val *y)
{
    const int64_t *d = ct_graph_desc(x->g, v)->dim, N = d[0], H = d[1], T = d[2], C = d[3];
    CT_TRY(ct_onnx_view(x, n, ".rows", v, 3, (const int64_t[]) { N * H, T, C }, y));
    CT_TRY(ct_onnx_op(x, n, CT_OP_SWAP, NULL, ".columns", 1, y, 1, y));
    return ct_onnx_view(x, n, "", *y, 3, (const int64_t[]) { T, N, H * C }, y);
}

/* [W,N,H,C] -> [T,N,H*C], [T,N,D,H] -> [T,N,D*H], [N,P*K] -> [N,P,K], [N,C,F,1,1] -> [N,C,1,F]: as shapes 0, ... in the
 * file say. */
ct_status ct_onnx_read_reshape(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *three = ct_onnx_ints_of(x, n, 1, 3), *four = ct_onnx_ints_of(x, n, 1, 4);
    int64_t to[4] = { 0, 0, 0, 0 };
    ct_onnx_tensor t;
    CT_TRY(ct_onnx_first(x, n, &t));
    if (!three && !four) return ct_onnx_refuse(x, n, "has no shape of three or four dimensions");
    for (int i = 0; i < (three ? 3 : 4); i++) to[i] = ct_onnx_int_at(three ? three : four, i);
    const ct_desc d = *ct_graph_desc(x->g, t.val);
    ct_val y = t.val;
    if (three && t.form == CT_ONNX_BESIDE && to[0] == 0 && to[1] == 0 && to[2] == d.dim[2])
        return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
    if (three && t.form == CT_ONNX_COLUMNS && to[0] == 0 && to[1] == 0 && to[2] == d.dim[1] * d.dim[3]) {
        CT_TRY(rows_in_time(x, n, t.val, &y));
        return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
    }
    if (three && t.form == CT_ONNX_ALIKE && d.ndim == 2 && to[0] == 0 && to[1] > 0 && to[2] > 0 &&
        d.dim[1] % to[1] == 0 && d.dim[1] / to[1] == to[2]) {
        CT_TRY(ct_onnx_view(x, n, "", y, 3, (const int64_t[]) { d.dim[0], to[1], to[2] }, &y));
        return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
    }
    if (four && t.form == CT_ONNX_CLIP && d.dim[1] == 1 && d.dim[2] == 1 && to[0] == 0 && to[1] == 0 && to[2] == 1 &&
        to[3] == -1) {
        CT_TRY(ct_onnx_view(x, n, "", y, 4, (const int64_t[]) { x->size.batch, 1, x->size.frames, d.dim[3] }, &y));
        return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
    }
    return ct_onnx_refuse(x, n, "has a shape that export does not write there");
}

/* ---- larger maps ---- */

ct_status ct_onnx_read_resize(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *s = ct_onnx_floats_of(x, n, 2, 1);
    const bool linear = ct_onnx_says(n, "mode", "linear") && n->n_attribute == 2 &&
                        ct_onnx_says(n, "coordinate_transformation_mode", "half_pixel");
    const bool nearest = ct_onnx_says(n, "mode", "nearest") && n->n_attribute == 3 &&
                         ct_onnx_says(n, "coordinate_transformation_mode", "asymmetric") &&
                         ct_onnx_says(n, "nearest_mode", "floor");
    ct_val v, y;
    if (!linear && !nearest)
        return ct_onnx_refuse(x, n, "is neither linear of half pixels nor nearest with a floor, and nothing else");
    if (n->n_input != 3 || !s || s->dims[0] != 4) return ct_onnx_refuse(x, n, "has no scales of four dimensions");
    const double scale = (double)ct_onnx_number_at(s, 2);
    if (ct_onnx_number_at(s, 0) != 1 || ct_onnx_number_at(s, 1) != 1 || (double)ct_onnx_number_at(s, 3) != scale ||
        (scale != 2 && scale != 4 && scale != 8))
        return ct_onnx_refuse(x, n, "makes pixels larger by something else than 2, 4 or 8");
    const ct_attrs a = { .resample = { .scale = (int64_t)scale } };
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_IMAGE, &v));
    CT_TRY(ct_onnx_op(x, n, linear ? CT_OP_UPSAMPLE_BILINEAR : CT_OP_UPSAMPLE_NEAREST, &a, "", 1, &v, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}

/* ---- channels ---- */

ct_status ct_onnx_read_concat(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_val in[CT_MAX_IN], y;
    if (ct_onnx_whole(n, "axis", 0) != 1 || n->n_input < 2 || n->n_input > CT_MAX_IN)
        return ct_onnx_refuse(x, n, "puts something else than channels side by side");
    for (size_t i = 0; i < n->n_input; i++) CT_TRY(ct_onnx_input(x, n, i, CT_ONNX_IMAGE, &in[i]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_CONCAT_CHANNELS, NULL, "", (int)n->n_input, in, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}

ct_status ct_onnx_read_slice(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *starts = ct_onnx_ints_of(x, n, 1, 1), *ends = ct_onnx_ints_of(x, n, 2, 1),
                            *axes = ct_onnx_ints_of(x, n, 3, 1);
    ct_val v, y;
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_IMAGE, &v));
    if (!starts || !ends || !axes || n->n_input != 4 || ct_onnx_int_at(axes, 0) != 1)
        return ct_onnx_refuse(x, n, "takes something else than channels");
    const int64_t first = ct_onnx_int_at(starts, 0), end = ct_onnx_int_at(ends, 0);
    if (first < 0 || end <= first || end > ct_graph_desc(x->g, v)->dim[3])
        return ct_onnx_refuse(x, n, "takes channels that are not there");
    const ct_attrs a = { .channels = { .first = first, .channels = end - first } };
    CT_TRY(ct_onnx_op(x, n, CT_OP_SLICE_CHANNELS, &a, "", 1, &v, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_IMAGE);
}
