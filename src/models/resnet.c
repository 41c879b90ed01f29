/* Residual networks: He et al., "Deep Residual Learning for Image Recognition", with the stride in the 3x3 convolution
 * of a bottleneck (v1.5) and names as in torchvision. At 1000 classes: resnet18 11,689,512, resnet34 21,797,672,
 * resnet50 25,557,032, resnet101 44,549,160, resnet152 60,192,808 parameters. */
#include "config.h"

#include "models/blocks.h"
#include "models/zoo.h"

static ct_status build(ct_graph *g, const ct_model_spec *spec, bool bottlenecks, const int blocks[4], ct_val x,
                       bool training, ct_val out[])
{
    int64_t width = ct_model_channels(spec, 64);
    const ct_builder b = { g, spec, training };
    CT_TRY(ct_block_conv_bn(&b, "conv1", "bn1", x, width, 7, 2, &x));
    CT_TRY(ct_layer_activation(g, "relu1", x, CT_ACT_RELU, &x));
    CT_TRY(ct_layer_maxpool(g, "maxpool", x, 3, 2, 1, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    for (int layer = 0; layer < 4; layer++) {
        for (int i = 0; i < blocks[layer]; i++) {
            char block[CT_BLOCK_NAME];
            int64_t mid = width << layer, stride = layer > 0 && i == 0 ? 2 : 1;
            ct_block_name(block, "layer%d.%d.", layer + 1, i);
            CT_TRY((bottlenecks ? ct_block_bottleneck : ct_block_basic)(&b, block, x, mid, stride, &x));
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

static ct_status build_resnet101(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    return build(g, spec, true, (const int[]){ 3, 4, 23, 3 }, x, training, out);
}

static ct_status build_resnet152(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    return build(g, spec, true, (const int[]){ 3, 8, 36, 3 }, x, training, out);
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
    { .name = "resnet101",
      .doc = "residual network of 101 layers, bottlenecks, v1.5",
      .task = "text", .output = { "logits" },
      .height = 224, .width = 224, .channels = 3, .positions = 1, .classes = 1000,
      .head = CT_HEAD_POSITIONS, .build = build_resnet101 },
    { .name = "resnet152",
      .doc = "residual network of 152 layers, bottlenecks, v1.5",
      .task = "text", .output = { "logits" },
      .height = 224, .width = 224, .channels = 3, .positions = 1, .classes = 1000,
      .head = CT_HEAD_POSITIONS, .build = build_resnet152 },
    { .name = NULL },
};
