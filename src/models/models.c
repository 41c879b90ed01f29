#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/zoo.h"

/* Families of models, one file each; within a family the row that ends it has no name. */
static const ct_model_info *const family[] = { ct_models_textcnn, ct_models_crnn,  ct_models_reader, ct_models_resnet,
                                              ct_models_slider,  ct_models_hrnet, ct_models_tfnet };

enum { ADDED_MAX = 8 };
static const ct_model_info *added[ADDED_MAX];
static size_t nadded;

const ct_model_info *ct_model_at(size_t i)
{
    for (size_t f = 0; f < sizeof family / sizeof family[0]; f++)
        for (const ct_model_info *m = family[f]; m->name; m++)
            if (i-- == 0) return m;
    return i < nadded ? added[i] : NULL;
}

/* The row of a known name, NULL otherwise; no message. */
static const ct_model_info *row_of(const char *name)
{
    const ct_model_info *m = NULL;
    for (size_t i = 0; name && (m = ct_model_at(i)); i++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

ct_status ct_model_add(const ct_model_info *row)
{
    if (row_of(row->name)) return ct_fail(CT_EINVAL, "there is a model '%s' already", row->name);
    if (nadded == ADDED_MAX) return ct_fail(CT_EINVAL, "model '%s': no more than %d can be added", row->name, ADDED_MAX);
    added[nadded++] = row;
    return CT_OK;
}

static int distance(const char *a, const char *b) { return ct_word_distance(a, strlen(a), b, strlen(b)); }

const ct_model_info *ct_model_find(const char *name)
{
    if (!name) name = "";
    const ct_model_info *m = row_of(name), *near = ct_model_at(0);
    char known[512] = "";
    size_t n = 0;
    if (m) return m;
    for (size_t i = 0; (m = ct_model_at(i)); i++) {
        if (distance(name, m->name) < distance(name, near->name)) near = m;
        if (n < sizeof known) n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", m->name);
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
    if (spec->frames <= 0) spec->frames = m->frames > 0 ? m->frames : 1;
    if (spec->channels <= 0) spec->channels = m->channels;
    if (spec->positions <= 0) spec->positions = m->positions;
    if (spec->classes <= 0) spec->classes = m->classes;
    if (spec->hidden <= 0) spec->hidden = m->hidden;
    if (!(spec->width_mult > 0)) spec->width_mult = 1;
    if (spec->dropout < 0) spec->dropout = m->dropout;
    if (spec->fuse != CT_FUSE_MODEL && m->fuse == CT_FUSE_MODEL)
        return ct_fail(CT_ECONFIG, "model %s: has no neck that joins maps, and so no choice of how (got '%s')",
                       spec->name, ct_fuse_name(spec->fuse));
    if (spec->fuse == CT_FUSE_MODEL) spec->fuse = m->fuse;
    CT_TRY(in_range(spec, "image height", spec->height, 65536));
    CT_TRY(in_range(spec, "image width", spec->width, 65536));
    CT_TRY(in_range(spec, "image channels", spec->channels, 1024));
    CT_TRY(in_range(spec, "number of positions", spec->positions, 4096));
    CT_TRY(in_range(spec, "number of classes", spec->classes, 1 << 24));
    if (m->head == CT_HEAD_CTC && spec->classes < 2)
        return ct_fail(CT_ECONFIG, "model %s: a blank and at least one character are 2 classes (got %" PRId64 ")", spec->name, spec->classes);
    if (m->clip.multiple == 0 && spec->frames != 1)
        return ct_fail(CT_ECONFIG, "model %s: looks at one picture, not at clips of %" PRId64, spec->name, spec->frames);
    CT_TRY(in_range(spec, "number of frames", spec->frames, 65536));
    if (m->steps && m->steps(spec, ct_model_length(spec)) < 1)
        return m->clip.multiple > 0
                   ? ct_fail(CT_ECONFIG, "model %s: a clip of %" PRId64 " pictures, copies at its ends included, is too "
                             "short for one time step", spec->name, spec->frames)
                   : ct_fail(CT_ECONFIG, "model %s: an image of %" PRId64 " pixels is too narrow for one time step",
                             spec->name, spec->width);
    if (!(spec->width_mult <= 64))
        return ct_fail(CT_ECONFIG, "model %s: width multiplier %g is above 64", spec->name, spec->width_mult);
    if (!(spec->dropout < 1))
        return ct_fail(CT_ECONFIG, "model %s: dropout %g is not below 1", spec->name, spec->dropout);
    if (spec->dtype != CT_F32 && spec->dtype != CT_F64)
        return ct_fail(CT_EINVAL, "model %s: parameters are f32 or f64, not %s", spec->name,
                       ct_dtype_name(spec->dtype));
    return CT_OK;
}

const char *ct_fuse_name(ct_fuse f)
{
    switch (f) {
    case CT_FUSE_WEIGHTED: return "weighted";
    case CT_FUSE_ADD: return "add";
    case CT_FUSE_ATTENTION: return "attention";
    case CT_FUSE_MODEL: break;
    }
    return "";
}

ct_head ct_model_head(const ct_model_spec *spec)
{
    const ct_model_info *m = row_of(spec->name);
    return m ? m->head : CT_HEAD_POSITIONS;
}

bool ct_model_elastic(const ct_model_spec *spec)
{
    const ct_model_info *m = row_of(spec->name);
    return m && m->steps;
}

const ct_clip_rule *ct_model_clip(const ct_model_spec *spec)
{
    const ct_model_info *m = row_of(spec->name);
    return m && m->clip.multiple > 0 ? &m->clip : NULL;
}

int64_t ct_model_length(const ct_model_spec *spec) { return ct_model_clip(spec) ? spec->frames : spec->width; }

void ct_model_set_length(ct_model_spec *spec, int64_t length)
{
    *(ct_model_clip(spec) ? &spec->frames : &spec->width) = length;
}

int64_t ct_model_steps(const ct_model_spec *spec, int64_t length)
{
    const ct_model_info *m = row_of(spec->name);
    return m && m->steps ? m->steps(spec, length) : 0;
}

int ct_model_outputs(const ct_model_spec *spec)
{
    const ct_model_info *m = row_of(spec->name);
    int n = 0;
    while (m && n < CT_MODEL_OUTPUTS && m->output[n]) n++;
    return n;
}

ct_status ct_model_build(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    const ct_model_info *m = ct_model_find(spec->name);
    if (!m) return CT_ECONFIG;
    ct_status st = m->build(g, spec, x, len, training, out);
    return st == CT_OK ? st
                       : ct_fail_context(st, "model %s at %" PRId64 "x%" PRId64 "x%" PRId64, spec->name, spec->height,
                                         spec->width, spec->channels);
}
