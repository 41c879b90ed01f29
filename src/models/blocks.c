#include "config.h"

#include "models/blocks.h"

#include <stdarg.h>
#include <stdio.h>

const char *ct_block_name(char buf[CT_BLOCK_NAME], const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, CT_BLOCK_NAME, fmt, ap);
    va_end(ap);
    return buf;
}

ct_status ct_block_activate(const ct_builder *b, const char *name, ct_val x, ct_block_act act, ct_val *y)
{
    *y = x;
    if (act == CT_BLOCK_LINEAR) return CT_OK;
    return ct_layer_activation(b->g, name, x, act == CT_BLOCK_RELU ? CT_ACT_RELU : CT_ACT_SILU, y);
}

ct_status ct_block_add(const ct_builder *b, const char *name, ct_val x, ct_val y, ct_val *sum)
{
    const ct_val in[2] = { x, y };
    return ct_graph_node(b->g, CT_OP_ADD, NULL, name, 2, in, 1, 1, sum);
}

ct_status ct_block_conv_bn(const ct_builder *b, const char *conv, const char *bn, ct_val x, int64_t channels,
                           int64_t ker, int64_t stride, ct_val *y)
{
    CT_TRY(ct_layer_conv2d(b->g, conv, x, channels, ker, ker, stride, ker / 2, ker / 2, false, true, &x));
    return ct_layer_batchnorm(b->g, bn, x, b->training, y);
}

ct_status ct_block_cba(const ct_builder *b, const char *name, ct_val x, const ct_cba *c, ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_conv_layer conv = { .channels = c->channels,
                                 .ker_h = c->ker,
                                 .ker_w = c->ker,
                                 .stride = c->stride,
                                 .pad_h = c->ker / 2,
                                 .pad_w = c->ker / 2,
                                 .groups = c->depthwise ? c->channels : 1,
                                 .bias = c->bias,
                                 .filter_init = ct_init_fan_out(c->channels, c->ker, c->ker),
                                 .bias_init = { CT_INIT_ZERO, 0 } };
    ct_block_name(part, "%s.conv", name);
    CT_TRY(ct_layer_conv(b->g, part, x, &conv, &x));
    ct_block_name(part, "%s.bn", name);
    CT_TRY(ct_layer_batchnorm(b->g, part, x, b->training, &x));
    ct_block_name(part, "%s.act", name);
    return ct_block_activate(b, part, x, c->act, y);
}

ct_status ct_block_time_first(ct_graph *g, const char *name, ct_val x, ct_val *y)
{
    char part[CT_BLOCK_NAME];
    const ct_desc d = *ct_graph_desc(g, x);
    ct_attrs rows = { .shape = { .ndim = 3, .d0 = d.dim[0] * d.dim[1], .d1 = d.dim[2], .d2 = d.dim[3] } };
    ct_attrs steps = { .shape = { .ndim = 3, .d0 = d.dim[2], .d1 = d.dim[0], .d2 = d.dim[1] * d.dim[3] } };
    CT_TRY(ct_graph_node(g, CT_OP_RESHAPE, &rows, ct_block_name(part, "%s.rows", name), 1, &x, 1, 1, &x));
    CT_TRY(ct_graph_node(g, CT_OP_SWAP, NULL, ct_block_name(part, "%s.columns", name), 1, &x, 1, 1, &x));
    CT_TRY(ct_graph_node(g, CT_OP_RESHAPE, &steps, ct_block_name(part, "%s.steps", name), 1, &x, 1, 1, y));
    return ct_graph_mark_checkpoint(g, *y);
}

/* ---- residual blocks ---- */

/* "<block>conv<i>", "<block>bn<i>" */
static ct_status numbered(const ct_builder *b, const char *block, int i, ct_val x, int64_t channels, int64_t ker,
                          int64_t stride, ct_val *y)
{
    char conv[CT_BLOCK_NAME], bn[CT_BLOCK_NAME];
    ct_block_name(conv, "%sconv%d", block, i);
    ct_block_name(bn, "%sbn%d", block, i);
    return ct_block_conv_bn(b, conv, bn, x, channels, ker, stride, y);
}

static ct_status relu(const ct_builder *b, const char *block, int i, ct_val x, ct_val *y)
{
    char name[CT_BLOCK_NAME];
    ct_block_name(name, "%srelu%d", block, i);
    return ct_layer_activation(b->g, name, x, CT_ACT_RELU, y);
}

/* x, or its projection by a 1x1 convolution where the block changes size or channels. It comes before the block's own
 * convolutions, so that the last batch normalisation can take the sum and the ReLU in. */
static ct_status shortcut(const ct_builder *b, const char *block, ct_val x, int64_t channels, int64_t stride, ct_val *y)
{
    char conv[CT_BLOCK_NAME], bn[CT_BLOCK_NAME];
    *y = x;
    if (stride == 1 && ct_graph_desc(b->g, x)->dim[3] == channels) return CT_OK;
    ct_block_name(conv, "%sdownsample.0", block);
    ct_block_name(bn, "%sdownsample.1", block);
    return ct_block_conv_bn(b, conv, bn, x, channels, 1, stride, y);
}

static ct_status sum_relu(const ct_builder *b, const char *block, int i, ct_val branch, ct_val residual, ct_val *y)
{
    char name[CT_BLOCK_NAME];
    ct_block_name(name, "%sadd", block);
    CT_TRY(ct_block_add(b, name, branch, residual, &branch));
    CT_TRY(relu(b, block, i, branch, y));
    return ct_graph_mark_checkpoint(b->g, *y);
}

ct_status ct_block_basic(const ct_builder *b, const char *block, ct_val x, int64_t mid, int64_t stride, ct_val *y)
{
    ct_val r, v;
    CT_TRY(shortcut(b, block, x, mid, stride, &r));
    CT_TRY(numbered(b, block, 1, x, mid, 3, stride, &v));
    CT_TRY(relu(b, block, 1, v, &v));
    CT_TRY(numbered(b, block, 2, v, mid, 3, 1, &v));
    return sum_relu(b, block, 2, v, r, y);
}

ct_status ct_block_bottleneck(const ct_builder *b, const char *block, ct_val x, int64_t mid, int64_t stride, ct_val *y)
{
    ct_val r, v;
    CT_TRY(shortcut(b, block, x, 4 * mid, stride, &r));
    CT_TRY(numbered(b, block, 1, x, mid, 1, 1, &v));
    CT_TRY(relu(b, block, 1, v, &v));
    CT_TRY(numbered(b, block, 2, v, mid, 3, stride, &v));
    CT_TRY(relu(b, block, 2, v, &v));
    CT_TRY(numbered(b, block, 3, v, 4 * mid, 1, 1, &v));
    return sum_relu(b, block, 3, v, r, y);
}
