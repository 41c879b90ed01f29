/* Label readers in general, and the one for pictures without labels. */
#include "config.h"

#include "base/alloc.h"
#include "data/labels.h"
#include "data/scan.h"

void ct_labels_close(ct_labels *l)
{
    if (l) l->ops->close(l);
}

static ct_status none_scan(ct_labels *l, const char *path, ct_scan *out)
{
    (void)l;
    return ct_scan_unlabelled(path, out);
}

static ct_status none_learn(ct_labels *l, const char *const *text, int64_t n)
{
    (void)l;
    (void)text;
    (void)n;
    return CT_OK; /* there are no fields */
}

static ct_status none_encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    (void)l;
    (void)in;
    (void)row;
    return CT_OK;
}

static void none_blank(const ct_labels *l, void *const row[])
{
    (void)l;
    (void)row;
}

static void none_close(ct_labels *l)
{
    ct_free(l);
}

ct_status ct_labels_none(const ct_clip_rule *clip, ct_labels **out)
{
    static const ct_labels_ops ops = { .scan = none_scan, .learn = none_learn, .encode = none_encode,
                                       .blank = none_blank, .close = none_close };
    ct_labels *l = ct_calloc(1, sizeof *l, "label reader");
    *out = l;
    if (!l) return CT_ENOMEM;
    l->ops = &ops;
    if (clip) l->clip = *clip;
    return CT_OK;
}
