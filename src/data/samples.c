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

void ct_dataset_keep(ct_dataset *ds, char *name, char *text, int64_t row)
{
    ds->name[ds->n] = name;
    ds->text[ds->n] = text;
    ds->row[ds->n++] = row;
}
