/* Labels become fields: rows of small tensors beside the pixels. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "data/dataset_internal.h"
#include "data/scan.h"

static void rows_free(field_rows *r)
{
    for (int k = 0; k < r->fields; k++) ct_free(r->data[k]);
    *r = (field_rows){ 0 };
}

void ct_fields_free(ct_dataset *ds)
{
    rows_free(&ds->rows);
}

/* Memory for n samples with the fields that the reader has now. */
static ct_status rows_make(const ct_labels *l, int64_t n, field_rows *out)
{
    *out = (field_rows){ 0 };
    if (l->fields < 0 || l->fields > CT_MAX_FIELDS) return ct_fail(CT_EINTERNAL, "samples with %d fields", l->fields);
    for (int k = 0; k < l->fields; k++) {
        const ct_field *f = &l->field[k];
        const size_t bytes = ct_field_bytes(f);
        if (f->ndim < 1 || f->ndim > CT_FIELD_NDIM || bytes == 0) {
            rows_free(out);
            return ct_fail(CT_EINTERNAL, "field %s has %d dimensions and %zu bytes", f->name, f->ndim, bytes);
        }
        out->field[k] = *f;
        out->data[k] = ct_calloc((size_t)(n > 0 ? n : 1), bytes, "labels of samples");
        if (!out->data[k]) {
            rows_free(out);
            return CT_ENOMEM;
        }
        out->fields = k + 1;
    }
    return CT_OK;
}

/* Where sample k has its fields. */
static void row_of(const field_rows *r, int64_t k, void *row[CT_MAX_FIELDS])
{
    for (int f = 0; f < r->fields; f++) row[f] = r->data[f] + (size_t)k * ct_field_bytes(&r->field[f]);
}

/* Candidate i into row k. CT_EDATA: the sample is bad. */
static ct_status encode(const ct_dataset *ds, const field_rows *r, int64_t i, int64_t k)
{
    const int64_t at = ds->row[i];
    ct_label_in in = { .name = ds->name[i], .text = ds->text[i], .frames = ct_dataset_frames(ds, i),
                       .width = ds->pack.width[at], .height = ds->spec.height };
    ct_dataset_source_size(ds, i, &in.from_width, &in.from_height);
    ct_dataset_fit(ds, i, &in.fit);
    void *row[CT_MAX_FIELDS];
    row_of(r, k, row);
    return ds->labels->ops->encode(ds->labels, &in, row);
}

/* Encodes all n candidates; those whose labels do not fit go over to the bad ones. */
static ct_status encode_all(ct_dataset *ds, int64_t n)
{
    ct_status st = CT_OK;
    int64_t i = 0;
    ds->n = 0; /* samples in front of i that stay; the strings of those behind are reachable through i */
    for (; i < n; i++) {
        char *name = ds->name[i], *text = ds->text[i];
        const int frames = ct_dataset_frames(ds, i);
        st = encode(ds, &ds->rows, i, ds->n);
        if (st == CT_OK) {
            ct_dataset_keep(ds, name, text, ds->row[i], frames);
            continue;
        }
        if (st == CT_EDATA) {
            char *reason = ct_reason_dup(name);
            st = reason ? ct_dataset_add_bad(ds, name, reason) : CT_ENOMEM;
            ct_free(reason);
        }
        ct_free(name);
        ct_free(text);
        if (st != CT_OK) {
            i++;
            break;
        }
    }
    for (; i < n; i++) {
        ct_free(ds->name[i]);
        ct_free(ds->text[i]);
    }
    return st;
}

static bool same_fields(const field_rows *r, const ct_labels *l)
{
    bool same = r->fields == l->fields;
    for (int k = 0; same && k < r->fields; k++) {
        const ct_field *a = &r->field[k], *b = &l->field[k];
        same = a->dtype == b->dtype && a->ndim == b->ndim;
        for (int d = 0; same && d < a->ndim; d++) same = a->dim[d] == b->dim[d];
    }
    return same;
}

ct_status ct_fields_read(ct_dataset *ds)
{
    const ct_labels_ops *ops = ds->labels->ops;
    const int64_t n = ds->n;
    CT_TRY(ops->learn(ds->labels, (const char *const *)ds->text, n));
    CT_TRY(rows_make(ds->labels, n, &ds->rows));
    CT_TRY(encode_all(ds, n));
    if (ds->n == n || !ops->shape) return CT_OK;
    /* what was left out may have been the largest */
    CT_TRY(ops->shape(ds->labels, (const char *const *)ds->text, ds->n));
    return same_fields(&ds->rows, ds->labels) ? CT_OK : ct_dataset_refield(ds);
}

ct_status ct_fields_blank(ct_dataset *ds)
{
    CT_TRY(ds->labels->ops->learn(ds->labels, NULL, 0));
    return ct_dataset_refield(ds);
}

ct_status ct_dataset_refield(ct_dataset *ds)
{
    field_rows r;
    CT_TRY(rows_make(ds->labels, ds->n, &r));
    for (int64_t i = 0; i < ds->n; i++) {
        void *row[CT_MAX_FIELDS];
        ct_status st = CT_OK;
        row_of(&r, i, row);
        if (ct_dataset_stream(ds)) ds->labels->ops->blank(ds->labels, row);
        else st = encode(ds, &r, i, i);
        if (st == CT_OK) continue;
        rows_free(&r);
        return st;
    }
    rows_free(&ds->rows);
    ds->rows = r;
    return CT_OK;
}

/* ---- asking ---- */

const ct_field *ct_dataset_fields(const ct_dataset *ds, int *n)
{
    *n = ds->rows.fields;
    return ds->rows.field;
}

int ct_dataset_find_field(const ct_dataset *ds, const char *name)
{
    for (int k = 0; k < ds->rows.fields; k++)
        if (strcmp(ds->rows.field[k].name, name) == 0) return k;
    return -1;
}

const void *ct_dataset_field(const ct_dataset *ds, int k, int64_t i)
{
    return ds->rows.data[k] + (size_t)i * ct_field_bytes(&ds->rows.field[k]);
}

const char *ct_dataset_label_text(const ct_dataset *ds, int64_t i) { return ds->text[i]; }
ct_labels *ct_dataset_label_reader(const ct_dataset *ds) { return ds->labels; }
