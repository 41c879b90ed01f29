/* A reader of clips for tests: the sub-folders a_1 to d_4 that there are are clips, and their names their labels; the
 * field "length" i32 [1] is the number of frames. A clip of 13 frames is bad. */
#ifndef CT_TESTS_CLIP_LABELS_H
#define CT_TESTS_CLIP_LABELS_H

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/labels.h"
#include "data/scan.h"
#include "tests/data/data_util.h"

static const ct_clip_rule rule = { .front = 6, .extra = 12, .multiple = 4 };

static inline ct_status clip_scan(ct_labels *l, const char *path, ct_scan *out)
{
    static const char *const name[] = { "a_1", "b_2", "c_3", "d_4" };
    (void)l;
    *out = (ct_scan){ .n = 0 };
    out->root = ct_strdup(path, "root");
    out->dir = ct_strdup(path, "dir");
    out->s = ct_calloc(4, sizeof *out->s, "samples");
    for (size_t i = 0; i < 4; i++) {
        ct_sample *s = &out->s[out->n];
        char **frame;
        if (ct_scan_frames(ct_util_path(path, name[i]), &frame, &s->frames) != CT_OK) continue;
        for (int64_t k = 0; k < s->frames; k++) {
            char *full = ct_path_join(name[i], frame[k]);
            ct_free(frame[k]);
            frame[k] = full;
        }
        s->frame = frame;
        s->name = ct_strdup(name[i], "name");
        s->text = ct_strdup(name[i], "text");
        out->n++;
    }
    return CT_OK;
}

static inline ct_status clip_learn(ct_labels *l, const char *const *text, int64_t n)
{
    (void)text;
    (void)n;
    l->fields = 1;
    l->field[0] = (ct_field){ .name = "length", .dtype = CT_I32, .kind = CT_FIELD_IDS, .ndim = 1, .dim = { 1 } };
    return CT_OK;
}

static inline ct_status clip_encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    (void)l;
    *(int32_t *)row[0] = in->frames;
    return in->frames == 13 ? ct_fail(CT_EDATA, "%s: 13 frames", in->name) : CT_OK;
}

static inline void clip_blank(const ct_labels *l, void *const row[])
{
    (void)l;
    *(int32_t *)row[0] = 0;
}

static inline int clip_least(const ct_labels *l, const char *text)
{
    (void)l;
    return (int)strlen(text);
}

static inline void clip_close(ct_labels *l) { ct_free(l); }

static inline ct_labels *reader(void)
{
    static const ct_labels_ops ops = { .scan = clip_scan, .learn = clip_learn, .encode = clip_encode, .blank = clip_blank,
                                       .least = clip_least, .close = clip_close };
    ct_labels *l = ct_calloc(1, sizeof *l, "reader");
    l->ops = &ops;
    l->clip = rule;
    return l;
}

#endif
