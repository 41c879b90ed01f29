/* Lite-HRNet-18 with a light pyramid: a network of four resolutions that exchange what they know after every stage,
 * built of depthwise and 1x1 convolutions. x [N,256,512,4] with the mask of the picture as last channel; 3,284,846
 * parameters. At width 1:
 *
 * | part | branches at strides 4, 8, 16, 32 | bottlenecks each | then |
 * |---|---|---|---|
 * | stem | 3x3 s2, 3x3 s2: 32 | 2 | |
 * | s2 | 32, 64 | 2 | exchange |
 * | s3 | 32, 64, 128 | 3 | exchange |
 * | s4 | 32, 64, 128, 256 | 2 | exchange |
 * | neck.c | 128 | | heads of 64 |
 *
 * A batch norm stands behind every convolution, and SiLU behind most of them. */
#include "config.h"


#include "models/neck.h"
#include "models/zoo.h"

enum { BRANCHES = CT_NECK_MAPS };

/* The module "<name>.<i>". */
static ct_status numbered(const ct_builder *b, const char *name, int i, ct_val x, const ct_cba *c, ct_val *y)
{
    char part[CT_BLOCK_NAME];
    ct_block_name(part, "%s.%d", name, i);
    return ct_block_cba(b, part, x, c, y);
}

static int64_t channels_of(const ct_builder *b, ct_val x) { return ct_graph_desc(b->g, x)->dim[3]; }

/* Half the size: depthwise 3x3 with steps of 2, 1x1. */
static ct_status halve(const ct_builder *b, const char *name, int64_t channels, ct_val *x)
{
    const ct_cba space = {
        .channels = channels_of(b, *x), .ker = 3, .stride = 2, .depthwise = true, .act = CT_BLOCK_SILU
    };
    const ct_cba mix = { .channels = channels, .ker = 1, .stride = 1, .act = CT_BLOCK_SILU };
    CT_TRY(numbered(b, name, 0, *x, &space, x));
    return numbered(b, name, 1, *x, &mix, x);
}

/* 1x1 to twice the channels, depthwise 3x3, 1x1 back, and x added. */
static ct_status bottleneck(const ct_builder *b, const char *name, ct_val *x)
{
    const int64_t c = channels_of(b, *x);
    const ct_cba wide = { .channels = 2 * c, .ker = 1, .stride = 1, .act = CT_BLOCK_SILU };
    const ct_cba space = { .channels = 2 * c, .ker = 3, .stride = 1, .depthwise = true, .act = CT_BLOCK_SILU };
    const ct_cba narrow = { .channels = c, .ker = 1, .stride = 1 };
    char body[CT_BLOCK_NAME], sum[CT_BLOCK_NAME];
    ct_val v;
    ct_block_name(body, "%s.body", name);
    ct_block_name(sum, "%s.add", name);
    CT_TRY(numbered(b, body, 0, *x, &wide, &v));
    CT_TRY(numbered(b, body, 1, v, &space, &v));
    CT_TRY(numbered(b, body, 2, v, &narrow, &v));
    CT_TRY(ct_block_add(b, sum, *x, v, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

/* Larger by `scale`, other channels: bilinear, 1x1, batch norm. The 1x1 has no bias and comes first: both maps are
 * linear and act on different dimensions, so the result is the same, for scale^2 times less arithmetic. The batch
 * norm does not change places: its statistics are those of the large map. */
static ct_status enlarge(const ct_builder *b, const char *name, ct_val x, int64_t channels, int64_t scale, ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_attrs up = { .resample = { .scale = scale } };
    ct_block_name(part, "%s.conv", name);
    CT_TRY(ct_layer_conv2d(b->g, part, x, channels, 1, 1, 1, 0, 0, false, true, &x));
    ct_block_name(part, "%s.up", name);
    CT_TRY(ct_graph_node(b->g, CT_OP_UPSAMPLE_BILINEAR, &up, part, 1, &x, 1, 1, &x));
    ct_block_name(part, "%s.bn", name);
    return ct_layer_batchnorm(b->g, part, x, b->training, y);
}

/* Branch j as branch i has it, `name` = "<exchange>.paths.<i>_<j>"; its own channels until the last halving. */
static ct_status path(const ct_builder *b, const char *name, const int64_t channels[], int i, int j, ct_val x,
                      ct_val *y)
{
    char part[CT_BLOCK_NAME];
    if (j > i) return enlarge(b, name, x, channels[i], INT64_C(1) << (j - i), y);
    for (int k = 0; k < i - j; k++) {
        ct_block_name(part, "%s.%d", name, k);
        CT_TRY(halve(b, part, k == i - j - 1 ? channels[i] : channels[j], &x));
    }
    *y = x;
    return CT_OK;
}

/* Every branch becomes the sum of all, smoothed by a 3x3 convolution. */
static ct_status exchange(const ct_builder *b, const char *name, int branches, const int64_t channels[], ct_val x[])
{
    char part[CT_BLOCK_NAME], sum[CT_BLOCK_NAME];
    ct_val out[BRANCHES], v;
    for (int i = 0; i < branches; i++) {
        const ct_cba smooth = { .channels = channels[i], .ker = 3, .stride = 1, .act = CT_BLOCK_SILU };
        out[i] = x[i];
        for (int j = 0; j < branches; j++) {
            if (j == i) continue;
            ct_block_name(part, "%s.paths.%d_%d", name, i, j);
            CT_TRY(path(b, part, channels, i, j, x[j], &v));
            ct_block_name(sum, "%s.add", part);
            CT_TRY(ct_block_add(b, sum, out[i], v, &out[i]));
        }
        ct_block_name(part, "%s.smooth.%d", name, i);
        CT_TRY(ct_block_cba(b, part, out[i], &smooth, &out[i]));
        CT_TRY(ct_graph_mark_checkpoint(b->g, out[i]));
    }
    for (int i = 0; i < branches; i++) x[i] = out[i];
    return CT_OK;
}

static ct_status stage(const ct_builder *b, int number, int branches, int blocks, const int64_t channels[], ct_val x[])
{
    char name[CT_BLOCK_NAME];
    for (int i = 0; i < branches; i++)
        for (int k = 0; k < blocks; k++) {
            ct_block_name(name, "s%d_lb.%d.%d", number, i, k);
            CT_TRY(bottleneck(b, name, &x[i]));
        }
    ct_block_name(name, "s%d_ex", number);
    return exchange(b, name, branches, channels, x);
}

static ct_status build_slider(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* no time steps */
    const ct_builder b = { g, spec, training };
    const int64_t channels[BRANCHES] = { ct_model_channels(spec, 32), ct_model_channels(spec, 64),
                                         ct_model_channels(spec, 128), ct_model_channels(spec, 256) };
    const ct_cba half = { .channels = channels[0], .ker = 3, .stride = 2, .act = CT_BLOCK_SILU };
    const ct_cba first = { .channels = channels[0], .ker = 1, .stride = 1, .act = CT_BLOCK_SILU };
    const ct_neck neck = { .channels = ct_model_channels(spec, 128),
                           .act = CT_BLOCK_SILU,
                           .head = ct_model_channels(spec, 64) };
    ct_val map[BRANCHES];
    CT_TRY(ct_neck_check(spec));
    CT_TRY(ct_block_cba(&b, "stem.0", x, &half, &x));
    CT_TRY(ct_block_cba(&b, "stem.1", x, &half, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    CT_TRY(bottleneck(&b, "stem.2", &x));
    CT_TRY(bottleneck(&b, "stem.3", &x));
    CT_TRY(ct_block_cba(&b, "s2_in.0", x, &first, &map[0]));
    map[1] = x;
    CT_TRY(halve(&b, "s2_in.1", channels[1], &map[1]));
    CT_TRY(stage(&b, 2, 2, 2, channels, map));
    map[2] = map[1];
    CT_TRY(halve(&b, "s3_in", channels[2], &map[2]));
    CT_TRY(stage(&b, 3, 3, 3, channels, map));
    map[3] = map[2];
    CT_TRY(halve(&b, "s4_in", channels[3], &map[3]));
    CT_TRY(stage(&b, 4, 4, 2, channels, map));
    return ct_neck_build(&b, &neck, map, out);
}

/* ---- for a CPU ---- */

/* A residual network on a quarter of the pixels, with a twenty-third of the multiplications, in 3x3 convolutions, which
 * processors do at full speed, rather than depthwise ones, which wait for memory:
 *
 * | part | stride | channels | residual blocks of two 3x3 |
 * |---|---|---|---|
 * | stem | 4 | 16 at stride 2, 32 | |
 * | layer1 to layer4 | 4, 8, 16, 32 | 32, 64, 96, 128 | 1, 2, 2, 1 |
 * | neck.c | 4 | 64, at stride 4 32 | one head of 48 for all outputs |
 *
 * A cell of the coarsest map sees the whole picture. What only looks like a gap is told from one by comparing it with
 * the piece: the neck does so at stride 8, and joins by attention. */
static ct_status build_small(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* no time steps */
    static const struct {
        int64_t channels;
        int blocks;
    } layer[CT_NECK_MAPS] = { { 32, 1 }, { 64, 2 }, { 96, 2 }, { 128, 1 } };
    const ct_builder b = { g, spec, training };
    const ct_cba first = { .channels = ct_model_channels(spec, 16), .ker = 3, .stride = 2, .act = CT_BLOCK_RELU };
    const ct_cba second = { .channels = ct_model_channels(spec, 32), .ker = 3, .stride = 2, .act = CT_BLOCK_RELU };
    const ct_neck neck = { .channels = ct_model_channels(spec, 64),
                           .act = CT_BLOCK_RELU,
                           .fine = ct_model_channels(spec, 32),
                           .match = true,
                           .head = ct_model_channels(spec, 48),
                           .shared = true };
    ct_val map[CT_NECK_MAPS];
    char name[CT_BLOCK_NAME];
    CT_TRY(ct_neck_check(spec));
    CT_TRY(ct_block_cba(&b, "stem.0", x, &first, &x));
    CT_TRY(ct_block_cba(&b, "stem.1", x, &second, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    for (int k = 0; k < CT_NECK_MAPS; k++) {
        for (int i = 0; i < layer[k].blocks; i++) {
            ct_block_name(name, "layer%d.%d.", k + 1, i);
            CT_TRY(
                ct_block_basic(&b, name, x, ct_model_channels(spec, layer[k].channels), k > 0 && i == 0 ? 2 : 1, &x));
        }
        map[k] = x;
    }
    return ct_neck_build(&b, &neck, map, out);
}

const ct_model_info ct_models_slider[] = {
    { .name = "slider",
      .doc = "Lite-HRNet-18 with a light pyramid: gap and piece of a slider puzzle",
      .task = "slider", .output = CT_NECK_OUTPUTS,
      .height = 256, .width = 512, .channels = 4, .positions = 1, .classes = 1,
      .mask = true, .fuse = CT_FUSE_WEIGHTED, .build = build_slider },
    { .name = "slider-small",
      .doc = "a small residual network with the same outputs, quick on a CPU",
      .task = "slider", .output = CT_NECK_OUTPUTS,
      .height = 128, .width = 256, .channels = 4, .positions = 1, .classes = 1,
      .mask = true, .fuse = CT_FUSE_ATTENTION, .build = build_small },
    { .name = NULL },
};
