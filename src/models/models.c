#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/zoo.h"

static const ct_model_info table[] = {
    { "textcnn", "7 convolutions and a linear layer of 1024: the reference network for fixed-length text", 60, 160, 1, 4, 36, 1024, 0.5,
      CT_HEAD_POSITIONS, ct_build_textcnn, NULL },
    { "textcnn-small",
      "6 narrower convolutions, the last one over whole columns: fixed-length text, quick on a CPU, good with few "
      "images",
      60, 160, 1, 4, 36, 128, 0.5, CT_HEAD_POSITIONS, ct_build_textcnn_small, NULL },
    { "crnn", "7 convolutions, BiLSTM, linear, BiLSTM, CTC: text of any length, the authors' network", 32, 100, 1, 8, 37, 256, 0,
      CT_HEAD_CTC, ct_build_crnn, ct_steps_crnn },
    { "crnn-stacked", "the same convolutions and a BiLSTM of two layers", 32, 100, 1, 8, 37, 256, 0, CT_HEAD_CTC, ct_build_crnn_stacked,
      ct_steps_crnn },
    { "crnn-small", "3 narrower convolutions, a BiLSTM of 96, CTC: text of any length, quick on a CPU, good with few images", 48, 160, 1, 16,
      37, 96, 0.3, CT_HEAD_CTC, ct_build_crnn_small, ct_steps_crnn_small },
    { "resnet18", "residual network of 18 layers", 224, 224, 3, 1, 1000, 0, 0, CT_HEAD_POSITIONS, ct_build_resnet18, NULL },
    { "resnet34", "residual network of 34 layers", 224, 224, 3, 1, 1000, 0, 0, CT_HEAD_POSITIONS, ct_build_resnet34, NULL },
    { "resnet50", "residual network of 50 layers, bottlenecks, v1.5", 224, 224, 3, 1, 1000, 0, 0, CT_HEAD_POSITIONS, ct_build_resnet50, NULL },
};

#define NMODELS (sizeof table / sizeof table[0])

const ct_model_info *ct_model_table(size_t *count)
{
    *count = NMODELS;
    return table;
}

static int distance(const char *a, const char *b)
{
    return ct_word_distance(a, strlen(a), b, strlen(b));
}

const ct_model_info *ct_model_find(const char *name)
{
    if (!name) name = "";
    const ct_model_info *near = &table[0];
    char known[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < NMODELS; i++) {
        if (strcmp(table[i].name, name) == 0) return &table[i];
        if (distance(name, table[i].name) < distance(name, near->name)) near = &table[i];
        if (n < sizeof known) n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", table[i].name);
    }
    ct_fail(CT_ECONFIG, "there is no model '%s'; did you mean '%s'? (models: %s)", name, near->name, known);
    return NULL;
}

static ct_status in_range(const ct_model_spec *spec, const char *what, int64_t v, int64_t max)
{
    if (v >= 1 && v <= max) return CT_OK;
    return ct_fail(CT_ECONFIG, "model %s: %s must be between 1 and %" PRId64 " (got %" PRId64 ")", spec->name, what,
                   max, v);
}

ct_status ct_model_resolve(ct_model_spec *spec)
{
    const ct_model_info *m = ct_model_find(spec->name);
    if (!m) return CT_ECONFIG;
    if (spec->height <= 0) spec->height = m->height;
    if (spec->width <= 0) spec->width = m->width;
    if (spec->channels <= 0) spec->channels = m->channels;
    if (spec->positions <= 0) spec->positions = m->positions;
    if (spec->classes <= 0) spec->classes = m->classes;
    if (spec->hidden <= 0) spec->hidden = m->hidden;
    if (!(spec->width_mult > 0)) spec->width_mult = 1;
    if (spec->dropout < 0) spec->dropout = m->dropout;
    CT_TRY(in_range(spec, "image height", spec->height, 65536));
    CT_TRY(in_range(spec, "image width", spec->width, 65536));
    CT_TRY(in_range(spec, "image channels", spec->channels, 1024));
    CT_TRY(in_range(spec, "number of positions", spec->positions, 4096));
    CT_TRY(in_range(spec, "number of classes", spec->classes, 1 << 24));
    if (m->head == CT_HEAD_CTC && spec->classes < 2)
        return ct_fail(CT_ECONFIG, "model %s: a blank and at least one character are 2 classes (got %" PRId64 ")", spec->name, spec->classes);
    if (m->steps && m->steps(spec, spec->width) < 1)
        return ct_fail(CT_ECONFIG, "model %s: an image of %" PRId64 " pixels is too narrow for one time step", spec->name, spec->width);
    if (!(spec->width_mult <= 64))
        return ct_fail(CT_ECONFIG, "model %s: width multiplier %g is above 64", spec->name, spec->width_mult);
    if (!(spec->dropout < 1))
        return ct_fail(CT_ECONFIG, "model %s: dropout %g is not below 1", spec->name, spec->dropout);
    if (spec->dtype != CT_F32 && spec->dtype != CT_F64)
        return ct_fail(CT_EINVAL, "model %s: parameters are f32 or f64, not %s", spec->name,
                       ct_dtype_name(spec->dtype));
    return CT_OK;
}

/* The row of a known name, NULL otherwise; no message. */
static const ct_model_info *row_of(const ct_model_spec *spec)
{
    for (size_t i = 0; spec->name && i < NMODELS; i++)
        if (strcmp(table[i].name, spec->name) == 0) return &table[i];
    return NULL;
}

ct_head ct_model_head(const ct_model_spec *spec)
{
    const ct_model_info *m = row_of(spec);
    return m ? m->head : CT_HEAD_POSITIONS;
}

int64_t ct_model_steps(const ct_model_spec *spec, int64_t width)
{
    const ct_model_info *m = row_of(spec);
    return m && m->steps ? m->steps(spec, width) : 0;
}

ct_status ct_model_build(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits)
{
    const ct_model_info *m = ct_model_find(spec->name);
    if (!m) return CT_ECONFIG;
    ct_status st = m->build(g, spec, x, len, training, logits);
    return st == CT_OK ? st
                       : ct_fail_context(st, "model %s at %" PRId64 "x%" PRId64 "x%" PRId64, spec->name, spec->height,
                                         spec->width, spec->channels);
}
