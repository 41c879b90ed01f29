/* Networks made for the shortest way to a model that reads: text of any length, CTC. What that takes was found by training (doc/accuracy.md):
 * a picture is standardised inside the network, so that faint letters look like strong ones from the first step on; only the first convolution
 * sees its full size; no LSTM reads along the text: convolutions see a letter and what overlaps it, and CTC learns from them within
 * hundreds of steps instead of thousands. Residual branches start as nothing.
 * Names: "stem", "narrow", "wide" and "fold" have a "conv" and a "bn" each; "wide.more.<i>" and "along.<i>" are residual branches; "fc" gives the
 * scores. */
#include "config.h"

#include <inttypes.h>

#include "models/blocks.h"
#include "models/zoo.h"

/* What tells the members of the family apart: channels, residual convolutions at the size of "wide", residual branches along the text, and
 * whether what is small in a picture is looked at before it is halved: `fine` halves it behind the first convolution and behind the second, else the
 * first one does so and the pool behind it. Where letters differ by a pixel or two, as 0 and O may, that decides. */
typedef struct reader {
    int64_t stem, narrow, wide;
    int more, along;
    bool fine;
} reader;

static const reader reader_base = { 32, 64, 128, 1, 1, false }, reader_large = { 32, 64, 128, 1, 3, true };

enum { ALONG = 7 }; /* columns a filter along the text sees: 28 pixels */

/* The stem leaves ceil(width/2) columns, the pool behind it half of them. */
static int64_t steps(const ct_model_spec *spec, int64_t width)
{
    (void)spec;
    return width < 1 ? 0 : (width + 1) / 2 / 2;
}

/* Two pools leave floor(width/2) columns and half of them. */
static int64_t fine_steps(const ct_model_spec *spec, int64_t width)
{
    (void)spec;
    return width < 1 ? 0 : width / 2 / 2;
}

static ct_status pool(const ct_builder *b, const char *name, int64_t rows, int64_t columns, ct_val *x)
{
    const int64_t ker[2] = { rows, columns }, none[2] = { 0, 0 };
    CT_TRY(ct_layer_maxpool_hw(b->g, name, *x, ker, ker, none, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

static ct_status cba(const ct_builder *b, const char *name, int64_t channels, int64_t ker, int64_t stride, ct_val *x)
{
    return ct_block_cba(b, name, *x, &(ct_cba){ .channels = ct_model_channels(b->spec, channels), .ker = ker, .stride = stride, .act = CT_BLOCK_RELU }, x);
}

/* A convolution of ker_h x ker_w that keeps channels and columns; where it is depthwise, each channel has its own filter. */
static ct_status keeping(const ct_builder *b, const char *name, int64_t ker_h, int64_t ker_w, bool depthwise, ct_val x, ct_val *y)
{
    const int64_t channels = ct_graph_desc(b->g, x)->dim[3];
    const ct_conv_layer conv = { .channels = channels, .ker_h = ker_h, .ker_w = ker_w, .stride = 1, .pad_h = ker_h / 2, .pad_w = ker_w / 2,
                                 .groups = depthwise ? channels : 1, .filter_init = ct_init_fan_out(channels, ker_h, ker_w) };
    return ct_layer_conv(b->g, name, x, &conv, y);
}

/* x = relu(x + bn(branch)), whose norm starts at 0. */
static ct_status join(const ct_builder *b, const char *name, ct_val branch, ct_val *x)
{
    char part[CT_BLOCK_NAME];
    CT_TRY(ct_layer_batchnorm_zero(b->g, ct_block_name(part, "%s.bn", name), branch, b->training, &branch));
    CT_TRY(ct_block_add(b, ct_block_name(part, "%s.add", name), branch, *x, x));
    CT_TRY(ct_layer_activation(b->g, ct_block_name(part, "%s.relu", name), *x, CT_ACT_RELU, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

static ct_status more(const ct_builder *b, int i, ct_val *x)
{
    char name[CT_BLOCK_NAME], part[CT_BLOCK_NAME];
    ct_val y;
    ct_block_name(name, "wide.more.%d", i);
    CT_TRY(keeping(b, ct_block_name(part, "%s.conv", name), 3, 3, false, *x, &y));
    return join(b, name, y, x);
}

/* x [N,1,T,C]: each channel along the text, then the channels of a column among each other. */
static ct_status along(const ct_builder *b, int i, ct_val *x)
{
    char name[CT_BLOCK_NAME], part[CT_BLOCK_NAME];
    ct_val y;
    ct_block_name(name, "along.%d", i);
    CT_TRY(keeping(b, ct_block_name(part, "%s.depth.conv", name), 1, ALONG, true, *x, &y));
    CT_TRY(ct_layer_batchnorm(b->g, ct_block_name(part, "%s.depth.bn", name), y, b->training, &y));
    CT_TRY(keeping(b, ct_block_name(part, "%s.conv", name), 1, 1, false, y, &y));
    return join(b, name, y, x);
}

/* [N,H,T,C] -> [N,1,T,hidden]: one filter bank over what is left of the height, in every column. */
static ct_status fold(const ct_builder *b, ct_val *x)
{
    const int64_t height = ct_graph_desc(b->g, *x)->dim[1], hidden = b->spec->hidden;
    const ct_conv_layer conv = { .channels = hidden, .ker_h = height, .ker_w = 1, .stride = 1, .groups = 1,
                                 .filter_init = ct_init_fan_out(hidden, height, 1) };
    CT_TRY(ct_layer_conv(b->g, "fold.conv", *x, &conv, x));
    CT_TRY(ct_layer_batchnorm(b->g, "fold.bn", *x, b->training, x));
    CT_TRY(ct_layer_activation(b->g, "fold.relu", *x, CT_ACT_RELU, x));
    return ct_graph_mark_checkpoint(b->g, *x);
}

static ct_status build(ct_graph *g, const ct_model_spec *spec, const reader *r, ct_val x, bool training, ct_val out[])
{
    const ct_builder b = { .g = g, .spec = spec, .training = training };
    CT_TRY(ct_layer_standardize(g, "standardize", x, &x));
    CT_TRY(cba(&b, "stem", r->stem, 5, r->fine ? 1 : 2, &x));
    CT_TRY(pool(&b, "stem.pool", 2, 2, &x));
    CT_TRY(cba(&b, "narrow", r->narrow, 3, 1, &x));
    CT_TRY(pool(&b, "narrow.pool", r->fine ? 4 : 2, r->fine ? 2 : 1, &x));
    CT_TRY(cba(&b, "wide", r->wide, 3, 1, &x));
    for (int i = 0; i < r->more; i++) CT_TRY(more(&b, i, &x));
    CT_TRY(pool(&b, "wide.pool", 2, 1, &x));
    CT_TRY(fold(&b, &x));
    for (int i = 0; i < r->along; i++) CT_TRY(along(&b, i, &x));
    CT_TRY(ct_block_time_first(g, "fold", x, &x));
    if (training) CT_TRY(ct_layer_dropout(g, "drop", x, spec, 0, 1, &x));
    return ct_layer_linear(g, "fc", x, spec->classes, NULL, out);
}

/* Paddings of shorter texts are columns like others: len is the loss's business. */
static ct_status build_reader(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len;
    return build(g, spec, &reader_base, x, training, out);
}

static ct_status build_reader_large(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len;
    return build(g, spec, &reader_large, x, training, out);
}

const ct_model_info ct_models_reader[] = {
    { .name = "reader",
      .doc = "standardised pictures, convolutions alone, CTC: text of any length, reads after fewer pictures than crnn-small",
      .task = "text", .output = { "logits" },
      .height = 60, .width = 160, .channels = 1, .positions = 16, .classes = 37, .hidden = 256, .dropout = 0.1,
      .head = CT_HEAD_CTC, .build = build_reader, .steps = steps },
    { .name = "reader-large",
      .doc = "reader that halves pictures later and looks further along the text: for letters that differ by a pixel or two",
      .task = "text", .output = { "logits" },
      .height = 60, .width = 160, .channels = 1, .positions = 16, .classes = 37, .hidden = 256, .dropout = 0.1,
      .head = CT_HEAD_CTC, .build = build_reader_large, .steps = fine_steps },
    { .name = NULL },
};
