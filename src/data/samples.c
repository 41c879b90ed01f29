/* Samples of a set, one after another, and those that are bad. */
#include "config.h"

#include "base/alloc.h"
#include "data/dataset_internal.h"

ct_status ct_dataset_add_bad(ct_dataset *ds, const char *name, const char *reason)
{
    CT_TRY(ct_grow(&ds->bad, ds->n_bad, &ds->cap_bad, sizeof *ds->bad, "bad samples"));
    bad_entry b = { ct_strdup(name, "bad sample"), ct_strdup(reason, "bad sample") };
    if (!b.name || !b.reason) {
        ct_free(b.name);
        ct_free(b.reason);
        return CT_ENOMEM;
    }
    ds->bad[ds->n_bad++] = b;
    return CT_OK;
}

ct_status ct_dataset_room(ct_dataset *ds, int64_t n)
{
    const size_t k = n > 0 ? (size_t)n : 1;
    ds->name = ct_calloc(k, sizeof *ds->name, "sample names");
    ds->text = ct_calloc(k, sizeof *ds->text, "labels");
    ds->row = ct_calloc(k, sizeof *ds->row, "sample rows");
    if (!ds->name || !ds->text || !ds->row) return CT_ENOMEM;
    if (ds->labels->clip.multiple == 0) return CT_OK;
    ds->frames = ct_calloc(k, sizeof *ds->frames, "lengths of clips");
    ds->least = ct_calloc(k, sizeof *ds->least, "lengths of clips");
    return ds->frames && ds->least ? CT_OK : CT_ENOMEM;
}

void ct_dataset_keep(ct_dataset *ds, char *name, char *text, int64_t row, int frames)
{
    const ct_labels *l = ds->labels;
    ds->name[ds->n] = name;
    ds->text[ds->n] = text;
    if (ds->frames) {
        ds->frames[ds->n] = frames;
        ds->least[ds->n] = l->ops->least ? l->ops->least(l, text) : 1;
    }
    ds->row[ds->n++] = row;
}
