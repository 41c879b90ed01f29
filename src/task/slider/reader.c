/* Labels become fields: places in the picture as the set holds it. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "data/scan.h"
#include "task/slider/slider.h"

static const ct_field fields[CT_SLIDER_FIELDS] = {
    [CT_SLIDER_POINTS] = { .name = "points", .dtype = CT_F32, .kind = CT_FIELD_POINTS, .ndim = 2, .dim = { 2, 2 } },
    [CT_SLIDER_FAKE] = { .name = "fakes", .dtype = CT_F32, .kind = CT_FIELD_POINTS, .ndim = 2,
                         .dim = { CT_SLIDER_MAX_FAKES, 2 } },
    [CT_SLIDER_DIRECTION] = { .name = "direction", .dtype = CT_F32, .kind = CT_FIELD_POINTS, .ndim = 2,
                              .dim = { 2, 2 } },
    [CT_SLIDER_SCALE] = { .name = "scale", .dtype = CT_F32, .kind = CT_FIELD_IDS, .ndim = 1, .dim = { 1 } },
};

/* ---- what can be wrong ---- */

const ct_label_fault ct_slider_faults[] = {
    { "name", "name and JSON contradict each other" },
    { "units", "numbers in other units than pixels and degrees" },
    { "outside", "points outside of the picture" },
    { "overlap", "gap and piece overlap" },
    { "rows", "gap and piece in different rows" },
    { "fake", "fake gaps on the gap" },
    { NULL, NULL },
};

static bool near(const double a[2], const double b[2], double by)
{
    return fabs(a[0] - b[0]) <= by && fabs(a[1] - b[1]) <= by;
}

/* Does the name say something else than the label, by more than a pixel? */
static bool contradicts(const ct_label_in *in, const ct_slider_label *l, char *why, size_t size)
{
    ct_slider_label n;
    if (!ct_slider_name_parse(in->name, &n) || (near(n.gap, l->gap, 1) && near(n.piece, l->piece, 1))) return false;
    snprintf(why, size,
             "its name says gap %g, %g and piece %g, %g, its label gap %g, %g and piece %g, %g: more than 1 px apart",
             n.gap[0], n.gap[1], n.piece[0], n.piece[1], l->gap[0], l->gap[1], l->piece[0], l->piece[1]);
    return true;
}

static bool other_units(const ct_label_in *in, const ct_slider_label *l, char *why, size_t size)
{
    const bool sized = in->from_width > 0;
    if (sized && l->width > 0 && (l->width != in->from_width || l->height != in->from_height)) {
        snprintf(why, size, "its label is for a picture of %dx%d pixels (image_size), the picture has %dx%d", l->width,
                 l->height, in->from_width, in->from_height);
        return true;
    }
    if (!(l->gap[0] > 0 && l->gap[0] < 1 && l->gap[1] > 0 && l->gap[1] < 1)) return false;
    snprintf(why, size, "the gap is at %g, %g: shares of the picture's sides? Places are in pixels", l->gap[0],
             l->gap[1]);
    return true;
}

static bool outside(const ct_label_in *in, const double p[2], const char *what, char *why, size_t size)
{
    const bool sized = in->from_width > 0;
    if (p[0] >= 0 && p[1] >= 0 && !(sized && (p[0] > in->from_width || p[1] > in->from_height)) && isfinite(p[0]) &&
        isfinite(p[1]))
        return false;
    if (sized)
        snprintf(why, size, "the %s at %g, %g is outside of the picture (%dx%d pixels)", what, p[0], p[1],
                 in->from_width, in->from_height);
    else snprintf(why, size, "the %s at %g, %g is outside of the picture", what, p[0], p[1]);
    return true;
}

static const char *judge_places(const ct_label_in *in, const ct_slider_label *l, char *why, size_t size)
{
    const int height = in->from_height > 0 ? in->from_height : l->height;
    const double side = l->side > 0 ? l->side : fmin(CT_SLIDER_SIDE, height > 0 ? 0.2 * height : CT_SLIDER_SIDE);
    const double row = fmax(4, 0.05 * height);
    if (outside(in, l->gap, "gap", why, size) || outside(in, l->piece, "piece", why, size)) return "outside";
    for (int k = 0; k < l->fakes; k++)
        if (outside(in, l->fake[k], "fake gap", why, size)) return "outside";
    if (near(l->gap, l->piece, side / 2)) {
        snprintf(why, size, "the gap at %g, %g and the piece at %g, %g overlap", l->gap[0], l->gap[1], l->piece[0],
                 l->piece[1]);
        return "overlap";
    }
    if (fabs(l->gap[1] - l->piece[1]) > row) {
        snprintf(why, size, "the gap is at height %g, the piece at %g: in different rows", l->gap[1], l->piece[1]);
        return "rows";
    }
    for (int k = 0; k < l->fakes; k++)
        if (near(l->fake[k], l->gap, side / 4)) {
            snprintf(why, size, "a fake gap at %g, %g is on the gap at %g, %g", l->fake[k][0], l->fake[k][1], l->gap[0],
                     l->gap[1]);
            return "fake";
        }
    return NULL;
}

ct_status ct_slider_judge(const ct_label_in *in, ct_slider_label *l, const char **fault, char *why, size_t size)
{
    ct_status st = ct_slider_label_parse(in->name, in->text, l);
    *fault = NULL;
    if (st == CT_EDATA) {
        const char *m = ct_error_message();
        const size_t n = strlen(in->name);
        snprintf(why, size, "%s", strncmp(m, in->name, n) == 0 && m[n] == ':' ? m + n + 2 : m);
        *fault = "label";
        return CT_OK;
    }
    CT_TRY(st);
    if (contradicts(in, l, why, size)) *fault = "name";
    else if (other_units(in, l, why, size)) *fault = "units";
    else *fault = judge_places(in, l, why, size);
    return CT_OK;
}

/* ---- fields ---- */

static ct_status learn(ct_labels *l, const char *const *text, int64_t n)
{
    (void)text;
    (void)n;
    l->fields = CT_SLIDER_FIELDS;
    memcpy(l->field, fields, sizeof fields);
    return CT_OK;
}

static void blank(const ct_labels *l, void *const row[])
{
    (void)l;
    for (int k = 0; k < CT_SLIDER_FIELDS; k++) {
        float *v = row[k];
        for (int64_t i = 0; i < ct_field_elems(&fields[k]); i++) v[i] = k == CT_SLIDER_SCALE ? 1 : NAN;
    }
}

/* A place in the stored picture, as the set holds it. */
static void put(const ct_fit *f, double x, double y, float *out)
{
    out[0] = (float)(f->scale[0] * x + f->shift[0]);
    out[1] = (float)(f->scale[1] * y + f->shift[1]);
}

static ct_status encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    const ct_fit *f = &in->fit;
    char why[512];
    ct_slider_label label;
    const char *fault;
    CT_TRY(ct_slider_judge(in, &label, &fault, why, sizeof why));
    if (fault) return ct_fail(CT_EDATA, "%s: %s", in->name, why);
    float *points = row[CT_SLIDER_POINTS], *fakes = row[CT_SLIDER_FAKE], *direction = row[CT_SLIDER_DIRECTION];
    blank(l, row);
    put(f, label.gap[0], label.gap[1], points);
    put(f, label.piece[0], label.piece[1], points + 2);
    for (int k = 0; k < label.fakes; k++) put(f, label.fake[k][0], label.fake[k][1], fakes + 2 * k);
    *(float *)row[CT_SLIDER_SCALE] = (float)sqrt(f->scale[0] * f->scale[1]);
    if (isnan(label.angle)) return CT_OK;
    const double a = label.angle * (M_PI / 180);
    direction[0] = points[0];
    direction[1] = points[1];
    direction[2] = (float)((double)points[0] + CT_SLIDER_ARROW * cos(a));
    direction[3] = (float)((double)points[1] - CT_SLIDER_ARROW * sin(a)); /* y grows downwards */
    return CT_OK;
}

static const char *fault_of(const ct_labels *l, const ct_label_in *in)
{
    char why[512];
    ct_slider_label label;
    const char *fault;
    (void)l;
    return ct_slider_judge(in, &label, &fault, why, sizeof why) == CT_OK && fault ? fault : "label";
}

typedef struct reader {
    ct_labels base;
    bool apart; /* pictures of one background need not stay together */
} reader;

static int64_t group(const ct_labels *l, const char *name, const char *text)
{
    ct_slider_label label;
    if (((const reader *)l)->apart) return -1;
    return ct_slider_label_parse(name, text, &label) == CT_OK ? label.pic : -1;
}

static void close_labels(ct_labels *l) { ct_free(l); }

ct_status ct_slider_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out)
{
    static const ct_labels_ops ops = { .scan = ct_slider_scan, .learn = learn, .encode = encode, .blank = blank,
                                       .group = group, .fault = fault_of, .faults = ct_slider_faults,
                                       .survey = ct_slider_survey, .close = close_labels };
    reader *r = ct_calloc(1, sizeof *r, "label reader");
    (void)facts; /* there are none */
    *out = r ? &r->base : NULL;
    if (!r) return CT_ENOMEM;
    r->base.ops = &ops;
    r->apart = cfg && !cfg->data_split.stratify_by_image;
    return CT_OK;
}
