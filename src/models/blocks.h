/* Inside src/models only: what convolutional networks are built of. Parameters are called as in the PyTorch modules,
 * and every filter is drawn as kaiming_normal(fan_out), biases at 0. */
#ifndef CT_MODELS_BLOCKS_H
#define CT_MODELS_BLOCKS_H

#include "models/models.h"

#define CT_BLOCK_NAME 96 /* bytes of a layer's name */
/* The name of a layer, in buf, which is returned. Cut where it is too long: the graph then refuses the second layer
 * of that name. */
const char *ct_block_name(char buf[CT_BLOCK_NAME], const char *fmt, ...) CT_PRINTF(2, 3);

/* What every part of a network is built with. */
typedef struct ct_builder {
    ct_graph *g;
    const ct_model_spec *spec;
    bool training;
} ct_builder;

/* What stands behind a convolution's batch norm. */
typedef enum ct_block_act { CT_BLOCK_LINEAR, CT_BLOCK_RELU, CT_BLOCK_SILU } ct_block_act;
ct_status ct_block_activate(const ct_builder *b, const char *name, ct_val x, ct_block_act act, ct_val *y);

/* y = a + b */
ct_status ct_block_add(const ct_builder *b, const char *name, ct_val x, ct_val y, ct_val *sum);

/* Convolution `conv` of ker x ker pixels without bias, padded by ker/2, then batch norm `bn`: whole names. */
ct_status ct_block_conv_bn(const ct_builder *b, const char *conv, const char *bn, ct_val x, int64_t channels,
                           int64_t ker, int64_t stride, ct_val *y);

/* The module "<name>" of a convolution ("<name>.conv"), a batch norm ("<name>.bn") and what is behind it. depthwise:
 * a filter for each channel, channels as in x. */
typedef struct ct_cba {
    int64_t channels, ker, stride;
    bool depthwise, bias;
    ct_block_act act;
} ct_cba;
ct_status ct_block_cba(const ct_builder *b, const char *name, ct_val x, const ct_cba *c, ct_val *y);

/* [N,H,T,C] -> [T,N,H*C]: rows of all images one after another are [N*H,T,C], and with T in front a column's H pixels lie side by side.
 * Its nodes are "<name>.rows", "<name>.columns" and "<name>.steps"; a checkpoint is marked. */
ct_status ct_block_time_first(ct_graph *g, const char *name, ct_val x, ct_val *y);

/* Residual blocks of He et al., with the stride in the 3x3 convolution of a bottleneck (v1.5). `block` is what all
 * names begin with: "layer1.0.". x [N,H,W,C] -> 3x3 - 3x3 with `mid` channels, or 1x1 - 3x3 - 1x1 to 4 * mid; a 1x1
 * convolution on the shortcut where size or channels change. Mark a checkpoint behind them. */
ct_status ct_block_basic(const ct_builder *b, const char *block, ct_val x, int64_t mid, int64_t stride, ct_val *y);
ct_status ct_block_bottleneck(const ct_builder *b, const char *block, ct_val x, int64_t mid, int64_t stride, ct_val *y);

#endif
