/* Residual networks: He et al., "Deep Residual Learning for Image Recognition", with the stride in the 3x3 convolution
 * of a bottleneck (v1.5) and names as in torchvision. At 1000 classes: resnet18 11,689,512, resnet34 21,797,672,
 * resnet50 25,557,032 parameters. */
#include "config.h"

#include <stdio.h>

#include "models/zoo.h"

#define NAME_BYTES 64

/* Convolution without bias, then batch normalisation: "<block>conv<i>", "<block>bn<i>". */
static ct_status conv_bn(ct_graph *g, const char *block, int i, ct_val x, int64_t out_ch, int64_t ker, int64_t stride,
                         bool training, ct_val *y)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%sconv%d", block, i);
    CT_TRY(ct_layer_conv2d(g, name, x, out_ch, ker, ker, stride, ker / 2, ker / 2, false, true, &x));
    snprintf(name, sizeof name, "%sbn%d", block, i);
    return ct_layer_batchnorm(g, name, x, training, y);
}

static ct_status relu(ct_graph *g, const char *block, int i, ct_val x, ct_val *y)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%srelu%d", block, i);
    return ct_layer_activation(g, name, x, CT_ACT_RELU, y);
}

/* x, or its projection by a 1x1 convolution where the block changes size or channels. It comes before the block's own
 * convolutions, so that the last batch normalisation can take the sum and the ReLU in. */
static ct_status shortcut(ct_graph *g, const char *block, ct_val x, int64_t out_ch, int64_t stride, bool training,
                          ct_val *y)
{
    *y = x;
    if (stride == 1 && ct_graph_desc(g, x)->dim[3] == out_ch) return CT_OK;
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%sdownsample.0", block);
    CT_TRY(ct_layer_conv2d(g, name, x, out_ch, 1, 1, stride, 0, 0, false, true, &x));
    snprintf(name, sizeof name, "%sdownsample.1", block);
    return ct_layer_batchnorm(g, name, x, training, y);
}

static ct_status sum_relu(ct_graph *g, const char *block, int i, ct_val branch, ct_val residual, ct_val *y)
{
    char name[NAME_BYTES];
    ct_val in[2] = { branch, residual }, sum;
    snprintf(name, sizeof name, "%sadd", block);
    CT_TRY(ct_graph_node(g, CT_OP_ADD, NULL, name, 2, in, 1, 1, &sum));
    CT_TRY(relu(g, block, i, sum, y));
    return ct_graph_mark_checkpoint(g, *y);
}

/* 3x3 - 3x3 */
static ct_status basic_block(ct_graph *g, const char *block, ct_val x, int64_t mid, int64_t stride, bool training,
                             ct_val *y)
{
    ct_val r, v;
    CT_TRY(shortcut(g, block, x, mid, stride, training, &r));
    CT_TRY(conv_bn(g, block, 1, x, mid, 3, stride, training, &v));
    CT_TRY(relu(g, block, 1, v, &v));
    CT_TRY(conv_bn(g, block, 2, v, mid, 3, 1, training, &v));
    return sum_relu(g, block, 2, v, r, y);
}

/* 1x1 - 3x3 - 1x1 to four times the channels */
static ct_status bottleneck(ct_graph *g, const char *block, ct_val x, int64_t mid, int64_t stride, bool training,
                            ct_val *y)
{
    ct_val r, v;
    CT_TRY(shortcut(g, block, x, 4 * mid, stride, training, &r));
    CT_TRY(conv_bn(g, block, 1, x, mid, 1, 1, training, &v));
    CT_TRY(relu(g, block, 1, v, &v));
    CT_TRY(conv_bn(g, block, 2, v, mid, 3, stride, training, &v));
    CT_TRY(relu(g, block, 2, v, &v));
    CT_TRY(conv_bn(g, block, 3, v, 4 * mid, 1, 1, training, &v));
    return sum_relu(g, block, 3, v, r, y);
}

static ct_status build(ct_graph *g, const ct_model_spec *spec, bool bottlenecks, const int blocks[4], ct_val x,
                       bool training, ct_val out[])
{
    int64_t width = ct_model_channels(spec, 64);
    CT_TRY(conv_bn(g, "", 1, x, width, 7, 2, training, &x));
    CT_TRY(relu(g, "", 1, x, &x));
    CT_TRY(ct_layer_maxpool(g, "maxpool", x, 3, 2, 1, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    for (int layer = 0; layer < 4; layer++) {
        for (int i = 0; i < blocks[layer]; i++) {
            char block[NAME_BYTES];
            int64_t mid = width << layer, stride = layer > 0 && i == 0 ? 2 : 1;
            snprintf(block, sizeof block, "layer%d.%d.", layer + 1, i);
            CT_TRY((bottlenecks ? bottleneck : basic_block)(g, block, x, mid, stride, training, &x));
        }
    }
    CT_TRY(ct_layer_global_avgpool(g, "avgpool", x, &x));
    return ct_layer_linear(g, "fc", x, spec->positions * spec->classes, NULL, out);
}

static ct_status build_resnet18(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    return build(g, spec, false, (const int[]){ 2, 2, 2, 2 }, x, training, out);
}

static ct_status build_resnet34(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    return build(g, spec, false, (const int[]){ 3, 4, 6, 3 }, x, training, out);
}

static ct_status build_resnet50(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    return build(g, spec, true, (const int[]){ 3, 4, 6, 3 }, x, training, out);
}

const ct_model_info ct_models_resnet[] = {
    { .name = "resnet18",
      .doc = "residual network of 18 layers",
      .task = "text", .output = { "logits" },
      .height = 224, .width = 224, .channels = 3, .positions = 1, .classes = 1000,
      .head = CT_HEAD_POSITIONS, .build = build_resnet18 },
    { .name = "resnet34",
      .doc = "residual network of 34 layers",
      .task = "text", .output = { "logits" },
      .height = 224, .width = 224, .channels = 3, .positions = 1, .classes = 1000,
      .head = CT_HEAD_POSITIONS, .build = build_resnet34 },
    { .name = "resnet50",
      .doc = "residual network of 50 layers, bottlenecks, v1.5",
      .task = "text", .output = { "logits" },
      .height = 224, .width = 224, .channels = 3, .positions = 1, .classes = 1000,
      .head = CT_HEAD_POSITIONS, .build = build_resnet50 },
    { .name = NULL },
};
