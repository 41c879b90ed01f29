/* Networks that read text of any length: convolutions fold the height of an image into channels, LSTMs look along what is left, one score per
 * class and time step, for CTC (Shi, Bai, Yao: "An End-to-End Trainable Neural Network for Image-based Sequence Recognition", 2015).
 * Names are those of nn.Sequential "cnn", pools and activations counted, and of nn.LSTM and nn.Linear behind it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "models/blocks.h"
#include "models/zoo.h"

typedef struct sequence {
    ct_graph *g;
    const ct_model_spec *spec;
    bool training;
    int number; /* of the next module */
    char name[32];
} sequence;

static const char *next_name(sequence *s)
{
    snprintf(s->name, sizeof s->name, "cnn.%d", s->number++);
    return s->name;
}

/* Convolution with bias, batch normalisation if wanted, ReLU. */
static ct_status block(sequence *s, int64_t channels, int64_t ker_h, int64_t ker_w, int64_t pad_h, int64_t pad_w, bool norm, ct_val *x)
{
    CT_TRY(ct_layer_conv2d(s->g, next_name(s), *x, channels, ker_h, ker_w, 1, pad_h, pad_w, true, false, x));
    if (norm) CT_TRY(ct_layer_batchnorm(s->g, next_name(s), *x, s->training, x));
    return ct_layer_activation(s->g, next_name(s), *x, CT_ACT_RELU, x);
}

/* Max-pool by 2x2: steps of two pixels, or of two down and one to the right with a pixel of padding at the sides. */
static ct_status pool(sequence *s, bool halve_width, ct_val *x)
{
    const int64_t ker[2] = { 2, 2 }, stride[2] = { 2, halve_width ? 2 : 1 }, pad[2] = { 0, halve_width ? 0 : 1 };
    CT_TRY(ct_layer_maxpool_hw(s->g, next_name(s), *x, ker, stride, pad, x));
    return ct_graph_mark_checkpoint(s->g, *x);
}

/* ---- the authors' network ---- */

/* | 3x3 convolution, the last 2x2 without padding | channels | BN | then a pool: 2 = 2x2, 1 = 2x2 with steps (2,1) |
 * 32x100: 26 steps of 512. */
static const struct {
    int64_t channels;
    bool norm;
    int pool;
} trunk[] = { { 64, false, 2 }, { 128, false, 2 }, { 256, true, 0 }, { 256, false, 1 }, { 512, true, 0 }, { 512, false, 1 }, { 512, true, 0 } };

#define TRUNK_LEN (sizeof trunk / sizeof trunk[0])

static ct_status build_trunk(ct_graph *g, const ct_model_spec *spec, ct_val x, bool training, ct_val *y)
{
    sequence s = { .g = g, .spec = spec, .training = training };
    if (spec->height < 32 || spec->height > 47)
        return ct_fail(CT_ECONFIG, "image height: must be 32 to 47 pixels, so that one row is left of it (got %" PRId64 ")", spec->height);
    for (size_t i = 0; i < TRUNK_LEN; i++) {
        int64_t ker = i == TRUNK_LEN - 1 ? 2 : 3, pad = i == TRUNK_LEN - 1 ? 0 : 1;
        CT_TRY(block(&s, ct_model_channels(spec, trunk[i].channels), ker, ker, pad, pad, trunk[i].norm, &x));
        if (trunk[i].pool) CT_TRY(pool(&s, trunk[i].pool == 2, &x));
        else CT_TRY(ct_graph_mark_checkpoint(g, x));
    }
    return ct_block_time_first(g, "cnn", x, y);
}

static int64_t steps(const ct_model_spec *spec, int64_t width)
{
    (void)spec;
    return width < 4 ? 0 : width / 2 / 2 + 1;
}

/* BiLSTM, linear, BiLSTM: 8,331,301 parameters at 37 classes. */
static ct_status build_crnn(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    CT_TRY(build_trunk(g, spec, x, training, &x));
    CT_TRY(ct_layer_lstm(g, "rnn1", x, len, spec->hidden, 1, true, &x));
    CT_TRY(ct_layer_linear(g, "emb", x, spec->hidden, NULL, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    CT_TRY(ct_layer_lstm(g, "rnn2", x, len, spec->hidden, 1, true, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    return ct_layer_linear(g, "fc", x, spec->classes, NULL, out);
}

/* A BiLSTM of two layers, as most reimplementations have it: 8,724,261 parameters at 37 classes. */
static ct_status build_crnn_stacked(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    CT_TRY(build_trunk(g, spec, x, training, &x));
    CT_TRY(ct_layer_lstm(g, "rnn", x, len, spec->hidden, 2, true, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    return ct_layer_linear(g, "fc", x, spec->classes, NULL, out);
}

/* ---- for a CPU and few images ---- */

#define SMALL_INPUT 256 /* features a time step gives the LSTM */

static int64_t steps_small(const ct_model_spec *spec, int64_t width)
{
    (void)spec;
    return width / 2 / 2;
}

/* Three convolutions with BN and ReLU, each before a pool, leave an eighth of the height and a quarter of the width; a linear layer turns
 * what is above each other there into 256 features, whatever the height; a BiLSTM of 96 reads along them. Height 50, 20 classes: 566,228
 * parameters. */
static ct_status build_crnn_small(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    sequence s = { .g = g, .spec = spec, .training = training };
    CT_TRY(block(&s, ct_model_channels(spec, 32), 3, 3, 1, 1, true, &x));
    CT_TRY(pool(&s, true, &x));
    CT_TRY(block(&s, ct_model_channels(spec, 64), 3, 3, 1, 1, true, &x));
    CT_TRY(pool(&s, true, &x));
    CT_TRY(block(&s, ct_model_channels(spec, 128), 3, 3, 1, 1, true, &x));
    const int64_t ker[2] = { 2, 1 }, none[2] = { 0, 0 };
    CT_TRY(ct_layer_maxpool_hw(g, next_name(&s), x, ker, ker, none, &x));
    const ct_desc *d = ct_graph_desc(g, x);
    const int64_t hwc[3] = { d->dim[1], 1, d->dim[3] };
    CT_TRY(ct_block_time_first(g, "cnn", x, &x));
    CT_TRY(ct_layer_linear(g, "fold.0", x, ct_model_channels(spec, SMALL_INPUT), hwc, &x));
    CT_TRY(ct_layer_batchnorm(g, "fold.1", x, training, &x));
    CT_TRY(ct_layer_activation(g, "fold.2", x, CT_ACT_RELU, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    CT_TRY(ct_layer_lstm(g, "rnn", x, len, spec->hidden, 1, true, &x));
    if (training) CT_TRY(ct_layer_dropout(g, "drop", x, spec, 0, 1, &x));
    CT_TRY(ct_graph_mark_checkpoint(g, x));
    return ct_layer_linear(g, "fc", x, spec->classes, NULL, out);
}

const ct_model_info ct_models_crnn[] = {
    { .name = "crnn",
      .doc = "7 convolutions, BiLSTM, linear, BiLSTM, CTC: text of any length, the authors' network",
      .task = "text", .output = { "logits" },
      .height = 32, .width = 100, .channels = 1, .positions = 8, .classes = 37, .hidden = 256,
      .head = CT_HEAD_CTC, .build = build_crnn, .steps = steps },
    { .name = "crnn-stacked",
      .doc = "the same convolutions and a BiLSTM of two layers",
      .task = "text", .output = { "logits" },
      .height = 32, .width = 100, .channels = 1, .positions = 8, .classes = 37, .hidden = 256,
      .head = CT_HEAD_CTC, .build = build_crnn_stacked, .steps = steps },
    { .name = "crnn-small",
      .doc = "3 narrower convolutions, a BiLSTM of 96, CTC: text of any length, quick on a CPU, good with few images",
      .task = "text", .output = { "logits" },
      .height = 48, .width = 160, .channels = 1, .positions = 16, .classes = 37, .hidden = 96, .dropout = 0.3,
      .head = CT_HEAD_CTC, .build = build_crnn_small, .steps = steps_small },
    { .name = NULL },
};
