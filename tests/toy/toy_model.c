/* A small network with two heads: a point and two classes. */
#include "config.h"

#include <stdio.h>

#include "toy/toy.h"

/* Convolution 3x3 (bias left to the batch norm), batch normalisation, ReLU, then a 2x2 max-pool if `pool`. */
static ct_status block(ct_graph *g, int k, int64_t channels, bool pool, bool training, ct_val *x)
{
    char conv[16], bn[16], relu[16], maxpool[16];
    snprintf(conv, sizeof conv, "conv%d", k);
    snprintf(bn, sizeof bn, "bn%d", k);
    snprintf(relu, sizeof relu, "relu%d", k);
    snprintf(maxpool, sizeof maxpool, "pool%d", k);
    CT_TRY(ct_layer_conv2d(g, conv, *x, channels, 3, 3, 1, 1, 1, false, false, x));
    CT_TRY(ct_layer_batchnorm(g, bn, *x, training, x));
    CT_TRY(ct_layer_activation(g, relu, *x, CT_ACT_RELU, x));
    if (pool) CT_TRY(ct_layer_maxpool(g, maxpool, *x, 2, 2, 0, x));
    return ct_graph_mark_checkpoint(g, *x);
}

/* x [N,32,32,1] -> [N,16,16,16] -> [N,8,8,32] -> [N,8,8,32] -> point [N,2], as shares of the picture's sides, and
 * bright [N,2] */
static ct_status build(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* no time steps */
    CT_TRY(block(g, 1, 16, true, training, &x));
    CT_TRY(block(g, 2, 32, true, training, &x));
    CT_TRY(block(g, 3, 32, false, training, &x));
    const ct_desc *d = ct_graph_desc(g, x);
    const int64_t hwc[3] = { d->dim[1], d->dim[2], d->dim[3] };
    CT_TRY(ct_layer_flatten(g, "flatten", x, &x));
    CT_TRY(ct_layer_linear(g, "point_head", x, 2, hwc, &out[0]));
    return ct_layer_linear(g, "bright_head", x, spec->classes, hwc, &out[1]);
}

const ct_model_info toy_model = {
    .name = "dotnet",
    .doc = "3 convolutions with two heads: where the dot is, and whether it is bright",
    .task = "dot", .output = { "point", "bright" },
    .height = TOY_SIZE, .width = TOY_SIZE, .channels = 1, .positions = 1, .classes = 2,
    .build = build,
};
