/* Text CAPTCHA networks of fixed length: convolutions with batch normalisation, then two linear layers that give one score per position and
 * character, position-major [N, positions*classes]. */
#include "config.h"

#include <stdio.h>

#include "models/zoo.h"

typedef struct stage { int64_t channels; bool pool; } stage;

/* | 3x3 convolution + BN + ReLU | channels | then 2x2 max-pool |
 * The reference network: 60x160 -> 7x20x128 = 17920 features, 19,072,400 parameters with fc1 of 1024, 4 positions and 36 classes. */
static const stage textcnn[] = {
    { 32, true }, { 64, false }, { 64, true }, { 128, false }, { 128, false }, { 128, true }, { 128, false }, { 0, false },
};

/* For training on a CPU and on few images: narrower, and behind the trunk a convolution as high as what is left of the image, so that one filter
 * bank reads the characters in every column; another one along the row lets a column know its neighbours, and with them which character of the
 * string it is; only the layer behind that knows positions. `hidden` counts the channels of both.
 * 60x160: 20 columns of 128, 67 million multiplications forward (the network above: 396), 962,992 parameters. */
static const stage textcnn_small[] = {
    { 16, true }, { 32, true }, { 64, false }, { 64, true }, { 128, false }, { 0, false },
};

/* Names are those of nn.Sequential: each module takes the next number, pools and activations included. */
typedef struct sequence {
    ct_graph *g;
    const ct_model_spec *spec;
    bool training;
    int number;
    char name[32];
} sequence;

static const char *next_name(sequence *s)
{
    snprintf(s->name, sizeof s->name, "features.%d", s->number++);
    return s->name;
}

/* Convolution with bias, batch normalisation, ReLU. */
static ct_status block(sequence *s, int64_t channels, int64_t ker_h, int64_t ker_w, int64_t pad_h, int64_t pad_w, ct_val *x)
{
    CT_TRY(ct_layer_conv2d(s->g, next_name(s), *x, channels, ker_h, ker_w, 1, pad_h, pad_w, true, false, x));
    CT_TRY(ct_layer_batchnorm(s->g, next_name(s), *x, s->training, x));
    return ct_layer_activation(s->g, next_name(s), *x, CT_ACT_RELU, x);
}

static ct_status trunk(sequence *s, const stage *stages, ct_val *x)
{
    for (; stages->channels; stages++) {
        CT_TRY(block(s, ct_model_channels(s->spec, stages->channels), 3, 3, 1, 1, x));
        if (stages->pool) CT_TRY(ct_layer_maxpool(s->g, next_name(s), *x, 2, 2, 0, x));
        CT_TRY(ct_graph_mark_checkpoint(s->g, *x));
    }
    return CT_OK;
}

static ct_status build_textcnn(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    sequence s = { .g = g, .spec = spec, .training = training };
    CT_TRY(trunk(&s, textcnn, &x));
    const ct_desc *d = ct_graph_desc(g, x);
    const int64_t hwc[3] = { d->dim[1], d->dim[2], d->dim[3] };
    CT_TRY(ct_layer_flatten(g, "flatten", x, &x));
    CT_TRY(ct_layer_linear(g, "fc1", x, spec->hidden, hwc, &x));
    /* linear, dropout, relu: the order of the reference. */
    if (training) CT_TRY(ct_layer_dropout(g, "drop", x, spec, 0, 0, &x));
    CT_TRY(ct_layer_activation(g, "fc1.relu", x, CT_ACT_RELU, &x));
    return ct_layer_linear(g, "fc2", x, spec->positions * spec->classes, NULL, out);
}

static ct_status build_textcnn_small(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len; /* fixed length */
    sequence s = { .g = g, .spec = spec, .training = training };
    CT_TRY(trunk(&s, textcnn_small, &x));
    const int64_t height = ct_graph_desc(g, x)->dim[1];
    CT_TRY(block(&s, spec->hidden, height, 3, 0, 1, &x)); /* [N,h,w,C] -> [N,1,w,hidden] */
    CT_TRY(block(&s, spec->hidden, 1, 7, 0, 3, &x));      /* the columns of some 110 pixels of a 160 wide image */
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    const ct_desc *d = ct_graph_desc(g, x);
    const int64_t hwc[3] = { d->dim[1], d->dim[2], d->dim[3] };
    CT_TRY(ct_layer_flatten(g, "flatten", x, &x));
    if (training) CT_TRY(ct_layer_dropout(g, "drop", x, spec, 0, 0, &x));
    return ct_layer_linear(g, "fc", x, spec->positions * spec->classes, hwc, out);
}

const ct_model_info ct_models_textcnn[] = {
    { .name = "textcnn",
      .doc = "7 convolutions and a linear layer of 1024: the reference network for fixed-length text",
      .task = "text", .output = { "logits" },
      .height = 60, .width = 160, .channels = 1, .positions = 4, .classes = 36, .hidden = 1024, .dropout = 0.5,
      .head = CT_HEAD_POSITIONS, .build = build_textcnn },
    { .name = "textcnn-small",
      .doc = "6 narrower convolutions, the last one over whole columns: fixed-length text, quick on a CPU, good with few "
             "images",
      .task = "text", .output = { "logits" },
      .height = 60, .width = 160, .channels = 1, .positions = 4, .classes = 36, .hidden = 128, .dropout = 0.5,
      .head = CT_HEAD_POSITIONS, .build = build_textcnn_small },
    { .name = NULL },
};
