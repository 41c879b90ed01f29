/* High-resolution networks: Sun et al., "Deep High-Resolution Representation Learning for Human Pose Estimation",
 * 2019, with all four maps of the last module, a light pyramid behind them and the heads of neck.c. The trunk is
 * called as in the authors' code and in timm, so that their weights can be imported. x [N,256,512,4], the mask of
 * the picture as last channel: hrnet-w32 30,255,630, hrnet-w48 66,305,934 parameters.
 *
 * | part | branches at strides 4, 8, 16, 32 | modules of 4 residual blocks on every branch, then an exchange |
 * |---|---|---|
 * | conv1, conv2 | 64, by 3x3 s2 each | |
 * | layer1 | 256 | 4 bottlenecks instead |
 * | stage2 | W, 2W | 1 |
 * | stage3 | W, 2W, 4W | 4 |
 * | stage4 | W, 2W, 4W, 8W | 3 | */
#include "config.h"


#include "models/neck.h"
#include "models/zoo.h"

enum { BRANCHES = CT_NECK_MAPS, BLOCKS = 4 };

/* 3x3 convolution "<name>.0", batch norm "<name>.1", ReLU. */
static ct_status conv_bn(const ct_builder *b, const char *name, int64_t channels, int64_t stride, bool relu, ct_val *x)
{
    char conv[CT_BLOCK_NAME], bn[CT_BLOCK_NAME], act[CT_BLOCK_NAME];
    ct_block_name(conv, "%s.0", name);
    ct_block_name(bn, "%s.1", name);
    ct_block_name(act, "%s.2", name);
    CT_TRY(ct_block_conv_bn(b, conv, bn, *x, channels, 3, stride, x));
    return ct_block_activate(b, act, *x, relu ? CT_BLOCK_RELU : CT_BLOCK_LINEAR, x);
}

/* Branch j as branch i has it, `name` = "<module>.fuse_layers.<i>.<j>": 1x1, batch norm and nearest upsampling from
 * below, 3x3 with steps of two from above, its own channels until the last of them. */
static ct_status path(const ct_builder *b, const char *name, const int64_t channels[], int i, int j, ct_val *x)
{
    char part[CT_BLOCK_NAME], bn[CT_BLOCK_NAME];
    if (j > i) {
        const ct_attrs up = { .resample = { .scale = INT64_C(1) << (j - i) } };
        ct_block_name(part, "%s.0", name);
        ct_block_name(bn, "%s.1", name);
        CT_TRY(ct_block_conv_bn(b, part, bn, *x, channels[i], 1, 1, x));
        ct_block_name(part, "%s.2", name);
        return ct_graph_node(b->g, CT_OP_UPSAMPLE_NEAREST, &up, part, 1, x, 1, 1, x);
    }
    for (int k = 0; k < i - j; k++) {
        const bool last = k == i - j - 1;
        ct_block_name(part, "%s.%d", name, k);
        CT_TRY(conv_bn(b, part, last ? channels[i] : channels[j], 2, !last, x));
    }
    return CT_OK;
}

/* Branch i of an exchange: ReLU of the sum of all. The finest comes last, so that the batch norm behind it can take
 * the sum and the ReLU in. */
static ct_status collect(const ct_builder *b, const char *module, int branches, const int64_t channels[], int i,
                         const ct_val x[], ct_val *y)
{
    char name[CT_BLOCK_NAME], sum[CT_BLOCK_NAME];
    for (int j = branches - 1; j >= 0; j--) {
        ct_val v = x[j];
        ct_block_name(name, "%s.fuse_layers.%d.%d", module, i, j);
        ct_block_name(sum, "%s.add", name);
        CT_TRY(path(b, name, channels, i, j, &v));
        if (j == branches - 1) *y = v;
        else CT_TRY(ct_block_add(b, sum, *y, v, y));
    }
    ct_block_name(name, "%s.relu.%d", module, i);
    CT_TRY(ct_layer_activation(b->g, name, *y, CT_ACT_RELU, y));
    return ct_graph_mark_checkpoint(b->g, *y);
}

static ct_status module(const ct_builder *b, const char *name, int branches, const int64_t channels[], ct_val x[])
{
    char block[CT_BLOCK_NAME];
    ct_val out[BRANCHES];
    for (int i = 0; i < branches; i++)
        for (int k = 0; k < BLOCKS; k++) {
            ct_block_name(block, "%s.branches.%d.%d.", name, i, k);
            CT_TRY(ct_block_basic(b, block, x[i], channels[i], 1, &x[i]));
        }
    for (int i = 0; i < branches; i++) CT_TRY(collect(b, name, branches, channels, i, x, &out[i]));
    for (int i = 0; i < branches; i++) x[i] = out[i];
    return CT_OK;
}

/* Stage `number` works on `number` branches; the last of them begins here. */
static ct_status stage(const ct_builder *b, int number, int modules, const int64_t channels[], ct_val x[])
{
    char name[CT_BLOCK_NAME];
    const int last = number - 1;
    x[last] = x[last - 1];
    if (number == 2) CT_TRY(conv_bn(b, "transition1.0", channels[0], 1, true, &x[0]));
    ct_block_name(name, "transition%d.%d.0", last, last);
    CT_TRY(conv_bn(b, name, channels[last], 2, true, &x[last]));
    for (int m = 0; m < modules; m++) {
        ct_block_name(name, "stage%d.%d", number, m);
        CT_TRY(module(b, name, number, channels, x));
    }
    return CT_OK;
}

static ct_status build(ct_graph *g, const ct_model_spec *spec, int64_t width, ct_val x, bool training, ct_val out[])
{
    const ct_builder b = { g, spec, training };
    const int64_t stem = ct_model_channels(spec, 64);
    const ct_neck neck = { .channels = ct_model_channels(spec, 128),
                           .act = CT_BLOCK_SILU,
                           .head = ct_model_channels(spec, 64) };
    int64_t channels[BRANCHES];
    ct_val map[BRANCHES];
    char name[CT_BLOCK_NAME];
    for (int i = 0; i < BRANCHES; i++) channels[i] = ct_model_channels(spec, width << i);
    CT_TRY(ct_neck_check(spec));
    CT_TRY(ct_block_conv_bn(&b, "conv1", "bn1", x, stem, 3, 2, &x));
    CT_TRY(ct_layer_activation(g, "relu1", x, CT_ACT_RELU, &x));
    CT_TRY(ct_block_conv_bn(&b, "conv2", "bn2", x, stem, 3, 2, &x));
    CT_TRY(ct_layer_activation(g, "relu2", x, CT_ACT_RELU, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    for (int k = 0; k < BLOCKS; k++) {
        ct_block_name(name, "layer1.%d.", k);
        CT_TRY(ct_block_bottleneck(&b, name, x, stem, 1, &x));
    }
    map[0] = x;
    CT_TRY(stage(&b, 2, 1, channels, map));
    CT_TRY(stage(&b, 3, 4, channels, map));
    CT_TRY(stage(&b, 4, 3, channels, map));
    return ct_neck_build(&b, &neck, map, out);
}

static ct_status build_w32(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* no time steps */
    return build(g, spec, 32, x, training, out);
}

static ct_status build_w48(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* no time steps */
    return build(g, spec, 48, x, training, out);
}

/* Networks that classify ImageNet have the trunk, a stem of three channels, and these behind it. */
#define TRUNK "conv1 bn1 conv2 bn2 layer1 transition1 stage2 transition2 stage3 transition3 stage4"
#define CLASSIFIER "incre_modules downsamp_modules final_layer classifier"

const ct_model_info ct_models_hrnet[] = {
    { .name = "hrnet-w32",
      .doc = "HRNet-W32 with a light pyramid: gap and piece of a slider puzzle",
      .task = "slider", .output = CT_NECK_OUTPUTS,
      .height = 256, .width = 512, .channels = 4, .positions = 1, .classes = 1,
      .mask = true, .fuse = CT_FUSE_WEIGHTED,
      .trunk = TRUNK, .others = CLASSIFIER, .stem = "conv1.weight", .build = build_w32 },
    { .name = "hrnet-w48",
      .doc = "HRNet-W48 with a light pyramid: gap and piece of a slider puzzle",
      .task = "slider", .output = CT_NECK_OUTPUTS,
      .height = 256, .width = 512, .channels = 4, .positions = 1, .classes = 1,
      .mask = true, .fuse = CT_FUSE_WEIGHTED,
      .trunk = TRUNK, .others = CLASSIFIER, .stem = "conv1.weight", .build = build_w48 },
    { .name = NULL },
};
