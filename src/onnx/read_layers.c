/* Layers with weights. */
#include "config.h"

#include "onnx/read.h"

#include <string.h>

/* Filters [K,C,pixels] of the file as [K,pixels,C]. */
static void take_filters(float *to, const Onnx__TensorProto *w, int64_t K, int64_t C, int64_t P)
{
    for (int64_t k = 0; k < K; k++)
        for (int64_t c = 0; c < C; c++)
            for (int64_t p = 0; p < P; p++) to[(k * P + p) * C + c] = ct_onnx_number_at(w, (k * C + c) * P + p);
}

/* A clip [N*F,H,W,C] as [N,F,H*W,C], whose windows of F x 1 are frames in a row, and back. */
static ct_status conv_over_times(ct_onnx_graph *x, const Onnx__NodeProto *n, const ct_attrs *a, int nin, ct_val *in,
                                 ct_val *y)
{
    const ct_desc d = *ct_graph_desc(x->g, in[0]);
    const int64_t N = x->size.batch, F = x->size.frames, lines[4] = { N, F, d.dim[1] * d.dim[2], d.dim[3] };
    CT_TRY(ct_onnx_view(x, n, ".clip", in[0], 4, lines, &in[0]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_CONV2D, a, "", nin, in, 1, y));
    const int64_t back[4] = { N * F, d.dim[1], d.dim[2], ct_graph_desc(x->g, *y)->dim[3] };
    if (ct_graph_desc(x->g, *y)->dim[1] != F) return ct_onnx_refuse(x, n, "gives another number of frames");
    return ct_onnx_view(x, n, ".frames", *y, 4, back, y);
}

ct_status ct_onnx_read_conv(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    int64_t dil[3];
    ct_onnx_tensor t;
    ct_onnx_window s;
    ct_val in[3], y;
    float *to;
    CT_TRY(ct_onnx_first(x, n, &t));
    const size_t rank = t.form == CT_ONNX_CLIP ? 3 : 2;
    const Onnx__TensorProto *w = ct_onnx_floats_of(x, n, 1, 2 + rank);
    if (t.form != CT_ONNX_CLIP && t.form != CT_ONNX_IMAGE)
        return ct_onnx_refuse(x, n, "reads a tensor whose dimensions mean something else");
    if (!w || !ct_onnx_window_of(n, t.form, &s) || !ct_onnx_list(n, "dilations", rank, dil) ||
        (rank == 3 && dil[0] != 1) || (s.times && (dil[1] != 1 || dil[2] != 1)))
        return ct_onnx_refuse(x, n, "has no filters, or not kernel_shape, strides, even pads and dilations");
    const int64_t K = w->dims[0], C = w->dims[1], *filter = w->dims + 2;
    const int64_t own[3] = { s.times ? s.ker[0] : 1, s.times ? 1 : s.ker[0], s.ker[1] };
    for (size_t i = 0; i < rank; i++)
        if (filter[i] != own[3 - rank + i])
            return ct_onnx_refuse(x, n, "has a kernel_shape that its filters have not");
    in[0] = t.val;
    CT_TRY(ct_onnx_weight_add(x, w->name, "", ct_desc4(CT_F32, K, s.ker[0], s.ker[1], C), &in[1], &to));
    take_filters(to, w, K, C, s.ker[0] * s.ker[1]);
    const int nin = n->n_input > 2 ? 3 : 2;
    if (nin > 2) CT_TRY(ct_onnx_vector(x, n, 2, &in[2]));
    const ct_attrs a = { .conv = { .stride_h = s.stride[0],
                                   .stride_w = s.stride[1],
                                   .pad_h = s.pad[0],
                                   .pad_w = s.pad[1],
                                   .dil_h = dil[rank - 2],
                                   .dil_w = dil[rank - 1],
                                   .groups = ct_onnx_whole(n, "group", 1) } };
    if (s.times)
        CT_TRY(conv_over_times(x, n, &a, nin, in, &y));
    else
        CT_TRY(ct_onnx_op(x, n, CT_OP_CONV2D, &a, "", nin, in, 1, &y));
    return ct_onnx_define(x, n, y, t.form);
}

ct_status ct_onnx_read_norm(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const ct_attrs a = { .norm = { .eps = ct_onnx_number(n, "epsilon", 1e-5), .momentum = 0.1 } };
    ct_onnx_tensor t;
    ct_val in[5], y;
    CT_TRY(ct_onnx_first(x, n, &t));
    if (t.form != CT_ONNX_IMAGE && t.form != CT_ONNX_SWAPPED && t.form != CT_ONNX_CLIP)
        return ct_onnx_refuse(x, n, "reads a tensor whose second dimension is none of channels");
    in[0] = t.val;
    for (size_t i = 1; i < 5; i++) CT_TRY(ct_onnx_vector(x, n, i, &in[i]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_BATCHNORM_INFER, &a, "", 5, in, 1, &y));
    return ct_onnx_define(x, n, y, t.form);
}

ct_status ct_onnx_read_gemm(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *w = ct_onnx_floats_of(x, n, 1, 2);
    ct_val in[3], y;
    float *to;
    if (!w || ct_onnx_whole(n, "transB", 0) != 1 || n->n_input != 3 || ct_onnx_attribute(n, "alpha") ||
        ct_onnx_attribute(n, "beta") || ct_onnx_whole(n, "transA", 0) != 0)
        return ct_onnx_refuse(x, n, "is not x w^T + b");
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_ALIKE, &in[0]));
    CT_TRY(ct_onnx_weight_add(x, w->name, "", ct_desc2(CT_F32, w->dims[0], w->dims[1]), &in[1], &to));
    memcpy(to, w->raw_data.data, w->raw_data.len);
    CT_TRY(ct_onnx_vector(x, n, 2, &in[2]));
    CT_TRY(ct_onnx_op(x, n, CT_OP_LINEAR, NULL, "", 3, in, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

/* A product [..,I] x [I,O] is a linear, to which the Add behind it gives its bias. */
ct_status ct_onnx_read_matmul(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *w = ct_onnx_floats_of(x, n, 1, 2);
    ct_val in[2], y;
    float *to;
    if (!w) return ct_onnx_refuse(x, n, "has no matrix of weights");
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_ALIKE, &in[0]));
    CT_TRY(ct_onnx_weight_add(x, w->name, "", ct_desc2(CT_F32, w->dims[1], w->dims[0]), &in[1], &to));
    for (int64_t i = 0; i < w->dims[0]; i++)
        for (int64_t o = 0; o < w->dims[1]; o++) to[o * w->dims[0] + i] = ct_onnx_number_at(w, i * w->dims[1] + o);
    CT_TRY(ct_onnx_op(x, n, CT_OP_LINEAR, NULL, "", 2, in, 1, &y));
    return ct_onnx_define(x, n, y, CT_ONNX_ALIKE);
}

/* Rows [4H,n] in the file's order of gates i, o, f, c, as ours: i, f, g, o. */
static void take_gates(float *to, const Onnx__TensorProto *t, int64_t first, int64_t hidden, int64_t n)
{
    static const int64_t gate[4] = { 0, 2, 3, 1 };
    for (int64_t q = 0; q < 4; q++)
        for (int64_t e = 0; e < hidden * n; e++)
            to[q * hidden * n + e] = ct_onnx_number_at(t, first + gate[q] * hidden * n + e);
}

ct_status ct_onnx_read_lstm(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *W = ct_onnx_floats_of(x, n, 1, 3), *R = ct_onnx_floats_of(x, n, 2, 3),
                            *B = ct_onnx_floats_of(x, n, 3, 2);
    const int64_t H = ct_onnx_whole(n, "hidden_size", 0);
    const bool both = ct_onnx_says(n, "direction", "bidirectional");
    static const char *const tail[2][4] = { { "", "", ".ih", ".hh" }, { ".r", ".r", ".ih.r", ".hh.r" } };
    ct_val from, in[6], y[3];
    if (!W || !R || !B || H < 1 || H > 1 << 20 || n->n_input != 4)
        return ct_onnx_refuse(x, n, "has not W, R, B and hidden_size");
    const int64_t D = both ? 2 : 1, I = W->dims[2];
    if (!both && !ct_onnx_says(n, "direction", "forward"))
        return ct_onnx_refuse(x, n, "is neither forward nor bidirectional");
    if (W->dims[0] != D || W->dims[1] != 4 * H || R->dims[0] != D || R->dims[1] != 4 * H || R->dims[2] != H ||
        B->dims[0] != D || B->dims[1] != 8 * H)
        return ct_onnx_refuse(x, n, "has weights of other shapes");
    CT_TRY(ct_onnx_input(x, n, 0, CT_ONNX_ALIKE, &from));
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
        CT_TRY(ct_onnx_op(x, n, CT_OP_LINEAR, NULL, d ? ".back" : ".ahead", 3, w, 1, &in[3 * d]));
    }
    CT_TRY(ct_onnx_op(x, n, CT_OP_LSTM, NULL, "", (int)(3 * D), in, 3, y));
    return ct_onnx_define(x, n, y[0], CT_ONNX_STACKED);
}
