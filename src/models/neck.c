/* A light feature pyramid and its heads.
 *
 * | step | what |
 * |---|---|
 * | lat.k | 1x1 convolution and batch norm bring every map to the same number of channels |
 * | fpn_sm.0 | 3x3 on the coarsest |
 * | fuse.k, fpn_sm.k+1 | three times: bilinear x2, joined with the next finer map (ct_fuse), 3x3 |
 * | match, fine | before the last, where a model wants it: cells compared with the piece; 1x1 to fewer channels |
 * | heat_gap, heat_piece, offset, angle_head | each 3x3, batch norm, ReLU (pre), then 1x1 (out) |
 *
 * Joining "weighted" is that of BiFPN (Tan, Pang, Le, "EfficientDet", 2020), "attention" a squeeze and excitation
 * (Hu et al., 2018) over the two maps side by side. */
#include "config.h"

#include "models/neck.h"

#include <inttypes.h>

ct_status ct_neck_check(const ct_model_spec *spec)
{
    if (spec->height % 32 != 0 || spec->width % 32 != 0)
        return ct_fail(
            CT_ECONFIG,
            "image height and width: must be multiples of 32 pixels, so that maps of every stride fit each other "
            "(got %" PRId64 "x%" PRId64 ")",
            spec->height, spec->width);
    if (spec->channels < 2)
        return ct_fail(CT_ECONFIG,
                       "image channels: the last is the mask of the picture, so there are at least 2 (got %" PRId64 ")",
                       spec->channels);
    return CT_OK;
}

/* ---- joining two maps [N,H,W,C] ---- */

/* "<name>.w" [2]: two weights, 1 at the start. */
static ct_status join_weighted(const ct_builder *b, const char *name, const ct_val map[2], ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_dtype dtype = ct_accum_dtype(ct_graph_desc(b->g, map[0])->dtype);
    ct_val in[3] = { map[0], map[1], CT_NOVAL };
    CT_TRY(ct_graph_param(b->g, ct_block_name(part, "%s.w", name), ct_desc1(dtype, 2), (ct_init){ CT_INIT_ONE, 0 },
                          false, &in[2]));
    return ct_graph_node(b->g, CT_OP_FUSE_WEIGHTED, NULL, name, 3, in, 1, 1, y);
}

/* 1x1 convolution with bias of [N,1,1,C]. */
static ct_status dense(const ct_builder *b, const char *name, int64_t channels, ct_act_kind act, ct_val *x)
{
    char part[CT_BLOCK_NAME];
    const ct_conv_layer conv = { .channels = channels, .ker_h = 1, .ker_w = 1, .stride = 1, .groups = 1, .bias = true,
                                 .filter_init = ct_init_fan_out(channels, 1, 1), .bias_init = { CT_INIT_ZERO, 0 } };
    CT_TRY(ct_layer_conv(b->g, name, *x, &conv, x));
    return ct_layer_activation(b->g, ct_block_name(part, "%s.act", name), *x, act, x);
}

/* Means over the pixels of both maps [N,2C] -> a factor for every channel of either. */
static ct_status join_attention(const ct_builder *b, const char *name, const ct_val map[2], ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_desc d = *ct_graph_desc(b->g, map[0]);
    const int64_t n = d.dim[0], c = d.dim[3];
    const ct_attrs pixel = { .shape = { .ndim = 4, .d0 = n, .d1 = 1, .d2 = 1, .d3 = 2 * c } };
    const ct_attrs row = { .shape = { .ndim = 2, .d0 = n, .d1 = 2 * c } };
    ct_val in[2], all;
    for (int i = 0; i < 2; i++)
        CT_TRY(ct_layer_global_avgpool(b->g, ct_block_name(part, "%s.mean.%d", name, i), map[i], &in[i]));
    CT_TRY(ct_graph_node(b->g, CT_OP_CONCAT_CHANNELS, NULL, ct_block_name(part, "%s.mean", name), 2, in, 1, 1, &all));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &pixel, ct_block_name(part, "%s.pixel", name), 1, &all, 1, 1, &all));
    CT_TRY(dense(b, ct_block_name(part, "%s.fc1", name), c / 4, CT_ACT_RELU, &all));
    CT_TRY(dense(b, ct_block_name(part, "%s.fc2", name), 2 * c, CT_ACT_SIGMOID, &all));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &row, ct_block_name(part, "%s.gate", name), 1, &all, 1, 1, &all));
    for (int i = 0; i < 2; i++) {
        const ct_attrs half = { .channels = { .first = i * c, .channels = c } };
        ct_val with[2] = { map[i], CT_NOVAL };
        CT_TRY(ct_graph_node(b->g, CT_OP_SLICE_CHANNELS, &half, ct_block_name(part, "%s.gate.%d", name, i), 1, &all, 1,
                             1, &with[1]));
        CT_TRY(ct_graph_node(b->g, CT_OP_SCALE_CHANNELS, NULL, ct_block_name(part, "%s.scaled.%d", name, i), 2, with, 1,
                             1, &in[i]));
    }
    return ct_block_add(b, name, in[0], in[1], y);
}

static ct_status join(const ct_builder *b, const char *name, const ct_val map[2], ct_val *y)
{
    switch (b->spec->fuse) {
    case CT_FUSE_WEIGHTED: return join_weighted(b, name, map, y);
    case CT_FUSE_ADD: return ct_block_add(b, name, map[0], map[1], y);
    case CT_FUSE_ATTENTION: return join_attention(b, name, map, y);
    case CT_FUSE_MODEL: break;
    }
    return ct_fail(CT_EINVAL, "'%s': how the neck joins two maps is not decided (ct_model_resolve)", name);
}

/* ---- what looks like the piece ---- */

/* A gap has the outline of its piece, and lies in its row. A gate picks the cells of the piece; the mean over a row of
 * what they hold, together with the rows next to it, is what is sought in that row: its product with what a cell holds
 * is large where the two are alike. x [N,h,w,C] + what the products say. A row is a sample to the operators that do
 * something for each sample. */
static ct_status match(const ct_builder *b, ct_val x, ct_val *y)
{
    const ct_desc d = *ct_graph_desc(b->g, x);
    const int64_t n = d.dim[0], h = d.dim[1], w = d.dim[2], c = d.dim[3];
    const ct_attrs lines = { .shape = { .ndim = 4, .d0 = n * h, .d1 = 1, .d2 = w, .d3 = c } };
    const ct_attrs column = { .shape = { .ndim = 4, .d0 = n, .d1 = h, .d2 = 1, .d3 = c } };
    const ct_attrs factors = { .shape = { .ndim = 2, .d0 = n * h, .d1 = c } };
    const ct_attrs map = { .shape = { .ndim = 4, .d0 = n, .d1 = h, .d2 = w, .d3 = c } };
    const ct_conv_layer near = { .channels = c, .ker_h = 3, .ker_w = 1, .stride = 1, .pad_h = 1, .groups = 1,
                                 .filter_init = ct_init_fan_out(c, 3, 1) };
    const ct_cba mix = { .channels = c, .ker = 1, .stride = 1 };
    ct_val gate = x, piece, alike[2];
    CT_TRY(dense(b, "match.gate", c, CT_ACT_SIGMOID, &gate));
    CT_TRY(ct_graph_node(b->g, CT_OP_MUL, NULL, "match.piece", 2, (ct_val[]){ x, gate }, 1, 1, &piece));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &lines, "match.lines", 1, &piece, 1, 1, &piece));
    CT_TRY(ct_layer_global_avgpool(b->g, "match.mean", piece, &piece));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &column, "match.column", 1, &piece, 1, 1, &piece));
    CT_TRY(ct_layer_conv(b->g, "match.sought.conv", piece, &near, &piece));
    CT_TRY(ct_layer_batchnorm(b->g, "match.sought.bn", piece, b->training, &piece));
    CT_TRY(ct_block_cba(b, "match.held", x, &mix, &alike[0]));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &lines, "match.held", 1, &alike[0], 1, 1, &alike[0]));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &factors, "match.sought", 1, &piece, 1, 1, &alike[1]));
    CT_TRY(ct_graph_node(b->g, CT_OP_SCALE_CHANNELS, NULL, "match.alike", 2, alike, 1, 1, y));
    CT_TRY(ct_graph_node(b->g, CT_OP_RESHAPE, &map, "match.map", 1, y, 1, 1, y));
    CT_TRY(ct_block_cba(b, "match.out", *y, &mix, y));
    CT_TRY(ct_block_add(b, "match.add", x, *y, y));
    return ct_graph_mark_checkpoint(b->g, *y);
}

/* ---- the pyramid: *p [N,H/4,W/4,channels] ---- */

static int64_t fine(const ct_neck *n) { return n->fine > 0 ? n->fine : n->channels; }

/* What has to be done on the last but one map, and need not be done on the last, which is the largest. */
static ct_status before_finest(const ct_builder *b, const ct_neck *n, ct_val *p)
{
    const ct_cba thin = { .channels = fine(n), .ker = 1, .stride = 1 };
    if (n->match) CT_TRY(match(b, *p, p));
    return thin.channels == n->channels ? CT_OK : ct_block_cba(b, "fine", *p, &thin, p);
}

static ct_status build_pyramid(const ct_builder *b, const ct_neck *n, const ct_val x[CT_NECK_MAPS], ct_val *p)
{
    const ct_attrs twice = { .resample = { .scale = 2 } };
    ct_cba smooth = { .channels = n->channels, .ker = 3, .stride = 1, .act = n->act };
    char name[CT_BLOCK_NAME];
    ct_val lat[CT_NECK_MAPS];
    for (int k = 0; k < CT_NECK_MAPS; k++) {
        const ct_cba lateral = { .channels = k == 0 ? fine(n) : n->channels, .ker = 1, .stride = 1 };
        CT_TRY(ct_block_cba(b, ct_block_name(name, "lat.%d", k), x[k], &lateral, &lat[k]));
    }
    CT_TRY(ct_block_cba(b, "fpn_sm.0", lat[CT_NECK_MAPS - 1], &smooth, p));
    CT_TRY(ct_graph_mark_checkpoint(b->g, *p));
    for (int k = 0; k < CT_NECK_MAPS - 1; k++) {
        const ct_val finer = lat[CT_NECK_MAPS - 2 - k];
        const bool last = k == CT_NECK_MAPS - 2;
        ct_val up;
        if (last) CT_TRY(before_finest(b, n, p));
        if (last) smooth.channels = fine(n);
        ct_block_name(name, "fuse.%d.up", k);
        CT_TRY(ct_graph_node(b->g, CT_OP_UPSAMPLE_BILINEAR, &twice, name, 1, p, 1, 1, &up));
        /* the finest map comes first, the others second: it matters to the weights of a published model */
        const ct_val map[2] = { last ? finer : up, last ? up : finer };
        CT_TRY(join(b, ct_block_name(name, "fuse.%d", k), map, p));
        CT_TRY(ct_block_cba(b, ct_block_name(name, "fpn_sm.%d", k + 1), *p, &smooth, p));
        CT_TRY(ct_graph_mark_checkpoint(b->g, *p));
    }
    return CT_OK;
}

/* ---- heads ---- */

/* "<name>.out": 1x1 convolution to `channels`, which starts as a constant all over the map: filters next to 0, the
 * bias as given. */
static ct_status head_out(const ct_builder *b, const char *name, ct_val x, int64_t channels, double bias, ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_conv_layer conv = { .channels = channels, .ker_h = 1, .ker_w = 1, .stride = 1, .groups = 1, .bias = true,
                                 .filter_init = { CT_INIT_NORMAL, 1e-3 }, .bias_init = { CT_INIT_CONSTANT, bias } };
    CT_TRY(ct_layer_conv(b->g, ct_block_name(part, "%s.out", name), x, &conv, y));
    return ct_graph_mark_checkpoint(b->g, *y);
}

static ct_status head(const ct_builder *b, const ct_neck *n, const char *name, ct_val x, int64_t channels, double bias,
                      ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_cba pre = { .channels = n->head, .ker = 3, .stride = 1, .bias = true, .act = CT_BLOCK_RELU };
    if (!n->shared) CT_TRY(ct_block_cba(b, ct_block_name(part, "%s.pre", name), x, &pre, &x));
    return head_out(b, name, x, channels, bias, y);
}

ct_status ct_neck_build(const ct_builder *b, const ct_neck *n, const ct_val x[CT_NECK_MAPS], ct_val out[])
{
    const double prior = -2.19; /* sigmoid: 0.1 */
    const ct_attrs half = { .scale = { .alpha = 0.5 } };
    ct_val p;
    CT_TRY(build_pyramid(b, n, x, &p));
    if (n->shared) {
        const ct_cba pre = { .channels = n->head, .ker = 3, .stride = 1, .act = n->act };
        CT_TRY(ct_block_cba(b, "head", p, &pre, &p));
        CT_TRY(ct_graph_mark_checkpoint(b->g, p));
    }
    CT_TRY(head(b, n, "heat_gap", p, 1, prior, &out[0]));
    CT_TRY(head(b, n, "heat_piece", p, 1, prior, &out[1]));
    CT_TRY(head(b, n, "offset", p, 4, 0, &out[2]));
    CT_TRY(ct_layer_activation(b->g, "offset.tanh", out[2], CT_ACT_TANH, &out[2]));
    CT_TRY(ct_graph_node(b->g, CT_OP_SCALE, &half, "offset.half", 1, &out[2], 1, 1, &out[2]));
    CT_TRY(head(b, n, "angle_head", p, 2, 0, &out[3]));
    return ct_graph_node(b->g, CT_OP_L2_NORMALIZE, NULL, "angle_head.unit", 1, &out[3], 1, 1, &out[3]);
}
