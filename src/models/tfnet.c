/* Continuous sign language: what every picture of a clip shows, how that changes, and which glosses are signed. x
 * [N*F,H,W,C] holds N clips of F pictures in a row.
 *
 * | part | what it does | at width 1 |
 * |---|---|---|
 * | mam0 .. mam3 | a gate for every number, from the pictures before and behind: four convolutions over time | 16, 64, 64, 64 |
 * | conv1, bn1, layer1 .. layer4 | ResNet34, but with a 2x2 pool; mam0 before it, mam1 .. mam3 behind layers 1 .. 3 | 64 to 512 |
 * | mean over the pixels | f [N,F,512]; g, the magnitudes of its Fourier transform over the 512 | |
 * | tconv_a on f, tconv_b on g | twice a convolution of 5 pictures, batch norm, ReLU, maxima of 2 | hidden |
 * | lstm_a, lstm_b | BiLSTM of two layers, hidden/2 units each way | hidden |
 * | c1, c3, c5 | scores: products with columns of length 1 | classes |
 *
 * With a, b what the convolutions over time give and la, lb what the LSTMs do: lp1 = c1(la), lp2 = c1(a), lp3 = c3(lb),
 * lp4 = c3(b), lp5 = c5(la + lb), each [T,N,classes]. Names are those of torchvision's ResNet34 where there are such
 * layers, so that weights trained on ImageNet can be read. 73,274,003 parameters at 3516 classes. */
#include "config.h"

#include <math.h>

#include "models/blocks.h"
#include "models/zoo.h"

enum { BLOCKS = 4, TCONV_KER = 5, LSTM_LAYERS = 2 };

/* Channels before the width multiplier. */
typedef struct plan {
    int64_t stem;     /* of conv1 and layer1; the layers behind it have 2, 4 and 8 times as many */
    int64_t gate[2];  /* inside mam0, and inside mam1 to mam3 */
} plan;

static const int blocks[BLOCKS] = { 3, 4, 6, 3 };

/* T of F pictures: each of two convolutions takes 4 off, each of two pools halves. */
static int64_t steps(const ct_model_spec *spec, int64_t pictures)
{
    (void)spec;
    const int64_t once = (pictures - (TCONV_KER - 1)) / 2;
    return pictures < TCONV_KER || once < TCONV_KER ? 0 : (once - (TCONV_KER - 1)) / 2;
}

static ct_status view(const ct_builder *b, const char *name, int64_t ndim, int64_t d0, int64_t d1, int64_t d2,
                      int64_t d3, ct_val *x)
{
    const ct_attrs a = { .shape = { .ndim = ndim, .d0 = d0, .d1 = d1, .d2 = d2, .d3 = d3 } };
    return ct_graph_node(b->g, CT_OP_RESHAPE, &a, name, 1, x, 1, 1, x);
}

/* ---- pictures ---- */

/* x times a sigmoid of four convolutions over time with `hidden` channels, each pixel for itself: [N,F,H*W,C] is the
 * same memory, and a pixel's times are a column of it. */
static ct_status gate(const ct_builder *b, const char *name, int64_t hidden, ct_val *x)
{
    char part[CT_BLOCK_NAME];
    const ct_desc d = *ct_graph_desc(b->g, *x);
    const int64_t frames = b->spec->frames, clips = d.dim[0] / frames;
    ct_val v = *x;
    ct_block_name(part, "%s.clip", name);
    CT_TRY(view(b, part, 4, clips, frames, d.dim[1] * d.dim[2], d.dim[3], &v));
    for (int i = 0; i < 4; i++) {
        ct_block_name(part, "%s.convs.%d", name, i);
        CT_TRY(ct_layer_conv2d(b->g, part, v, i < 3 ? hidden : d.dim[3], 3, 1, 1, 1, 0, true, false, &v));
        ct_block_name(part, "%s.act.%d", name, i);
        CT_TRY(ct_layer_activation(b->g, part, v, i < 3 ? CT_ACT_LEAKY_RELU : CT_ACT_SIGMOID, &v));
    }
    ct_block_name(part, "%s.pictures", name);
    CT_TRY(view(b, part, 4, d.dim[0], d.dim[1], d.dim[2], d.dim[3], &v));
    ct_block_name(part, "%s.gated", name);
    CT_TRY(ct_graph_node(b->g, CT_OP_MUL, NULL, part, 2, (ct_val[]){ *x, v }, 1, 1, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

/* [N*F,H,W,C] -> [N,F,C']. */
static ct_status pictures(const ct_builder *b, const plan *p, ct_val *x)
{
    char name[CT_BLOCK_NAME];
    const int64_t frames = b->spec->frames, clips = ct_graph_desc(b->g, *x)->dim[0] / frames;
    const int64_t first = ct_model_channels_by(b->spec, p->gate[0], 4), others = ct_model_channels(b->spec, p->gate[1]);
    CT_TRY(gate(b, "mam0", first, x));
    CT_TRY(ct_block_conv_bn(b, "conv1", "bn1", *x, ct_model_channels(b->spec, p->stem), 7, 2, x));
    CT_TRY(ct_layer_activation(b->g, "relu1", *x, CT_ACT_RELU, x));
    CT_TRY(ct_layer_maxpool(b->g, "maxpool", *x, 2, 2, 0, x));
    CT_TRY(ct_graph_mark_checkpoint(b->g, *x));
    for (int layer = 0; layer < BLOCKS; layer++) {
        for (int i = 0; i < blocks[layer]; i++) {
            ct_block_name(name, "layer%d.%d.", layer + 1, i);
            CT_TRY(ct_block_basic(b, name, *x, ct_model_channels(b->spec, p->stem << layer),
                                  layer > 0 && i == 0 ? 2 : 1, x));
        }
        ct_block_name(name, "mam%d", layer + 1);
        if (layer < BLOCKS - 1) CT_TRY(gate(b, name, others, x));
    }
    CT_TRY(ct_layer_global_avgpool(b->g, "avgpool", *x, x));
    CT_TRY(view(b, "clips", 3, clips, frames, ct_graph_desc(b->g, *x)->dim[1], 0, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

/* ---- clips ---- */

/* x [N,F,C] -> [N,F',hidden]: convolution number i of `name`, batch norm, ReLU, maxima of 2 steps. */
static ct_status shorten(const ct_builder *b, const char *name, int i, ct_val *x)
{
    static const int64_t two[2] = { 1, 2 }, none[2] = { 0, 0 };
    char part[CT_BLOCK_NAME];
    ct_block_name(part, "%s.conv%d", name, i);
    CT_TRY(ct_layer_conv1d(b->g, part, *x, b->spec->hidden, TCONV_KER, 0, true, x));
    ct_block_name(part, "%s.bn%d", name, i);
    CT_TRY(ct_layer_batchnorm(b->g, part, *x, b->training, x));
    ct_block_name(part, "%s.relu%d", name, i);
    CT_TRY(ct_layer_activation(b->g, part, *x, CT_ACT_RELU, x));
    const ct_desc d = *ct_graph_desc(b->g, *x);
    ct_block_name(part, "%s.row%d", name, i);
    CT_TRY(view(b, part, 4, d.dim[0], 1, d.dim[1], d.dim[2], x));
    ct_block_name(part, "%s.pool%d", name, i);
    CT_TRY(ct_layer_maxpool_hw(b->g, part, *x, two, two, none, x));
    ct_block_name(part, "%s.line%d", name, i);
    CT_TRY(view(b, part, 3, d.dim[0], d.dim[1] / 2, d.dim[2], 0, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

/* One of the two branches, 'a' or 'b': x [N,F,C] -> near [T,N,hidden] of the convolutions, far [T,N,hidden] of the
 * LSTMs. */
static ct_status branch(const ct_builder *b, char letter, ct_val x, ct_val len, ct_val *near, ct_val *far)
{
    char part[CT_BLOCK_NAME];
    ct_block_name(part, "tconv_%c", letter);
    CT_TRY(shorten(b, part, 1, &x));
    CT_TRY(shorten(b, part, 2, &x));
    ct_block_name(part, "tconv_%c.steps", letter);
    CT_TRY(ct_graph_node(b->g, CT_OP_SWAP, NULL, part, 1, &x, 1, 1, near));
    CT_TRY(ct_graph_mark_checkpoint(b->g, *near));
    ct_block_name(part, "lstm_%c", letter);
    CT_TRY(ct_layer_lstm(b->g, part, *near, len, b->spec->hidden / 2, LSTM_LAYERS, true, far));
    return ct_graph_mark_checkpoint(b->g, *far);
}

/* ---- scores ---- */

/* Rows of length 1 [classes,hidden], learnt as "<name>.weight", xavier_uniform with gain sqrt 2. */
static ct_status directions(const ct_builder *b, const char *name, ct_val *w)
{
    char part[CT_BLOCK_NAME];
    const int64_t in = b->spec->hidden, out = b->spec->classes;
    const ct_init init = { CT_INIT_UNIFORM, sqrt(12 / (double)(in + out)) };
    ct_block_name(part, "%s.weight", name);
    CT_TRY(ct_graph_param(b->g, part, ct_desc2(b->spec->dtype, out, in), init, true, w));
    b->g->values[*w].layout = CT_PARAM_TRANSPOSED;
    ct_block_name(part, "%s.unit", name);
    return ct_graph_node(b->g, CT_OP_L2_NORMALIZE, NULL, part, 1, w, 1, 1, w);
}

static ct_status score(const ct_builder *b, const char *name, ct_val x, ct_val w, ct_val *y)
{
    return ct_graph_node(b->g, CT_OP_LINEAR, NULL, name, 2, (ct_val[]){ x, w }, 1, 1, y);
}

static ct_status scores(const ct_builder *b, const ct_val near[2], const ct_val far[2], ct_val out[5])
{
    ct_val c1, c3, c5, sum;
    CT_TRY(directions(b, "c1", &c1));
    CT_TRY(score(b, "c1.far", far[0], c1, &out[0]));
    CT_TRY(score(b, "c1.near", near[0], c1, &out[1]));
    CT_TRY(directions(b, "c3", &c3));
    CT_TRY(score(b, "c3.far", far[1], c3, &out[2]));
    CT_TRY(score(b, "c3.near", near[1], c3, &out[3]));
    CT_TRY(directions(b, "c5", &c5));
    CT_TRY(ct_block_add(b, "far.sum", far[0], far[1], &sum));
    return score(b, "c5.far", sum, c5, &out[4]);
}

static ct_status build(ct_graph *g, const ct_model_spec *spec, const plan *p, ct_val x, ct_val len, bool training,
                       ct_val out[])
{
    const ct_builder b = { g, spec, training };
    ct_val spectrum[2], near[2], far[2]; /* magnitudes, parts */
    if (spec->hidden % 2 != 0)
        return ct_fail(CT_ECONFIG, "model.hidden: %s has an LSTM of half as many units each way; must be even",
                       spec->name);
    CT_TRY(pictures(&b, p, &x));
    CT_TRY(ct_graph_node(g, CT_OP_DFT_MAGNITUDE, NULL, "spectrum", 1, &x, 2, 3, spectrum));
    CT_TRY(ct_graph_mark_checkpoint(g, spectrum[0]));
    CT_TRY(branch(&b, 'a', x, len, &near[0], &far[0]));
    CT_TRY(branch(&b, 'b', spectrum[0], len, &near[1], &far[1]));
    return scores(&b, near, far, out);
}

static ct_status build_tfnet(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    static const plan p = { .stem = 64, .gate = { 16, 64 } };
    return build(g, spec, &p, x, len, training, out);
}

/* For a CPU and few clips: a quarter of the channels. */
static ct_status build_tfnet_small(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training,
                                   ct_val out[])
{
    static const plan p = { .stem = 16, .gate = { 4, 16 } };
    return build(g, spec, &p, x, len, training, out);
}

/* What torchvision's ResNet34 has, and what it classifies with. */
#define TRUNK "conv1 bn1 layer1 layer2 layer3 layer4"
#define CLASSIFIER "fc"
#define SCORES { "lp1", "lp2", "lp3", "lp4", "lp5" }

const ct_model_info ct_models_tfnet[] = {
    { .name = "tfnet",
      .doc = "ResNet34 with gates over time, two branches of convolutions and BiLSTMs over the pictures of a clip, CTC",
      .task = "gloss", .output = SCORES,
      .height = 224, .width = 224, .channels = 3, .frames = 112, .clip = { .front = 6, .extra = 12, .multiple = 4 },
      .positions = 16, .classes = 3516, .hidden = 1024,
      .head = CT_HEAD_CTC, .trunk = TRUNK, .others = CLASSIFIER, .build = build_tfnet, .steps = steps },
    { .name = "tfnet-small",
      .doc = "the same with a quarter of the channels, for clips of 64x64 pixels on a CPU",
      .task = "gloss", .output = SCORES,
      .height = 64, .width = 64, .channels = 3, .frames = 52, .clip = { .front = 6, .extra = 12, .multiple = 4 },
      .positions = 8, .classes = 64, .hidden = 256,
      .head = CT_HEAD_CTC, .build = build_tfnet_small, .steps = steps },
    { .name = NULL },
};
