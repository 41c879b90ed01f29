/* A label reader for tests: labels are small letters; "letters" i32 [longest] has their numbers and -1 behind them,
 * "mark" f32 [2,2] the points (letters, width of the picture) and (width, height) of the picture before it was resized.
 * Labels of more than `most` letters are bad. */
#ifndef CT_TESTS_TINY_LABELS_H
#define CT_TESTS_TINY_LABELS_H

#include <string.h>

#include "base/alloc.h"
#include "data/labels.h"
#include "data/scan.h"

typedef struct tiny_labels {
    ct_labels base;
    int most;
    int *closed; /* counts closes; may be NULL */
} tiny_labels;

/* The stem of the name. */
static inline ct_status tiny_label(const void *user, const char *name, const char *text, char **out)
{
    (void)user;
    *out = text ? ct_strdup(text, "label") : ct_strndup(name, strcspn(name, "_."), "label");
    return *out ? CT_OK : CT_ENOMEM;
}

static inline ct_status tiny_scan(ct_labels *l, const char *path, ct_scan *out)
{
    return ct_scan_folder(path, tiny_label, l, out);
}

static inline ct_status tiny_shape(ct_labels *l, const char *const *text, int64_t n)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < n; i++)
        if ((int64_t)strlen(text[i]) > longest) longest = (int64_t)strlen(text[i]);
    l->fields = 2;
    l->field[0] = (ct_field){ .name = "letters", .dtype = CT_I32, .kind = CT_FIELD_IDS, .ndim = 1, .dim = { longest } };
    l->field[1] = (ct_field){ .name = "mark", .dtype = CT_F32, .kind = CT_FIELD_POINTS, .ndim = 2, .dim = { 2, 2 } };
    return CT_OK;
}

static inline void tiny_blank(const ct_labels *l, void *const row[])
{
    for (int64_t k = 0; k < l->field[0].dim[0]; k++) ((int32_t *)row[0])[k] = -1;
    memset(row[1], 0, 4 * sizeof(float));
}

static inline ct_status tiny_encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    const int64_t n = (int64_t)strlen(in->text), most = ((const tiny_labels *)l)->most;
    const float mark[4] = { (float)n, (float)in->width, (float)in->from_width, (float)in->from_height };
    tiny_blank(l, row);
    if (n > most || n > l->field[0].dim[0])
        return ct_fail(CT_EDATA, "%s: %d letters are too many", in->name, (int)n);
    for (int64_t k = 0; k < n; k++) ((int32_t *)row[0])[k] = in->text[k] - 'a';
    memcpy(row[1], mark, sizeof mark);
    return CT_OK;
}

static inline void tiny_close(ct_labels *l)
{
    if (((tiny_labels *)l)->closed) ++*((tiny_labels *)l)->closed;
    ct_free(l);
}

static inline ct_status tiny_labels_new(int most, int *closed, ct_labels **out)
{
    static const ct_labels_ops ops = { .scan = tiny_scan, .learn = tiny_shape, .shape = tiny_shape,
                                       .encode = tiny_encode, .blank = tiny_blank, .close = tiny_close };
    tiny_labels *l = ct_calloc(1, sizeof *l, "label reader");
    *out = l ? &l->base : NULL;
    if (!l) return CT_ENOMEM;
    l->base.ops = &ops;
    l->most = most;
    l->closed = closed;
    return CT_OK;
}

#endif
