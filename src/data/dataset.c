#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/philox.h"
#include "data/build.h"
#include "data/image_internal.h"

typedef struct bad_entry { char *name, *reason; } bad_entry;

struct ct_dataset {
    ct_dataset_spec spec;    /* path and charset are not used after the open */
    char *root;
    char key[33];
    bool cached;
    ct_charset charset;
    ct_pack pack;
    int64_t n;               /* good samples */
    int64_t *row;            /* [n] row of the pack */
    char **name, **text;     /* [n] owned */
    int32_t *label;          /* [n,L] */
    int L;
    bad_entry *bad;
    size_t n_bad, cap_bad;
};

void ct_dataset_spec_init(ct_dataset_spec *spec)
{
    *spec = (ct_dataset_spec){ .channels = 1, .size_rule = CT_SIZE_RESIZE, .background = { 255, 255, 255 },
                               .label = CT_LABEL_RULE_DEFAULT, .cache = true };
}

void ct_dataset_close(ct_dataset *ds)
{
    if (!ds) return;
    for (int64_t i = 0; i < ds->n; i++) {
        if (ds->name) ct_free(ds->name[i]);
        if (ds->text) ct_free(ds->text[i]);
    }
    for (size_t i = 0; i < ds->n_bad; i++) {
        ct_free(ds->bad[i].name);
        ct_free(ds->bad[i].reason);
    }
    ct_free(ds->bad);
    ct_free(ds->name);
    ct_free(ds->text);
    ct_free(ds->row);
    ct_free(ds->label);
    ct_free(ds->root);
    ct_charset_free(&ds->charset);
    ct_pack_free(&ds->pack);
    ct_free(ds);
}

static ct_status add_bad(ct_dataset *ds, const char *name, const char *reason)
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

static int by_bad_name(const void *a, const void *b)
{
    const bad_entry *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : strcmp(x->reason, y->reason);
}

/* Moves candidate i (name, text, row of the pack) to place ds->n; takes the two strings over. */
static void keep(ct_dataset *ds, char *name, char *text, int64_t row)
{
    ds->name[ds->n] = name;
    ds->text[ds->n] = text;
    ds->row[ds->n++] = row;
}

static ct_status room_for(ct_dataset *ds, int64_t n)
{
    ds->name = ct_calloc((size_t)n, sizeof *ds->name, "sample names");
    ds->text = ct_calloc((size_t)n, sizeof *ds->text, "labels");
    ds->row = ct_calloc((size_t)n, sizeof *ds->row, "sample rows");
    return ds->name && ds->text && ds->row ? CT_OK : CT_ENOMEM;
}

/* Charset, columns, class ids; samples whose labels do not fit go over to the bad ones. */
static ct_status encode_labels(ct_dataset *ds)
{
    int longest = 0;
    int64_t n = ds->n;
    if (ds->spec.charset) {
        CT_TRY(ct_charset_copy(ds->spec.charset, &ds->charset));
    } else if (n > 0) {
        CT_TRY(ct_charset_collect((const char *const *)ds->text, n, &ds->charset));
    }
    ds->spec.charset = NULL;
    for (int64_t i = 0; i < n; i++) {
        int len = (int)ct_utf8_len(ds->text[i]);
        if (len > longest) longest = len;
    }
    ds->L = ds->spec.label_len > 0 ? ds->spec.label_len : longest > 0 ? longest : 1;
    ds->label = ct_malloc((size_t)(n > 0 ? n : 1) * (size_t)ds->L * sizeof *ds->label, "class ids");
    if (!ds->label) return CT_ENOMEM;

    ds->n = 0; /* samples in front of i that stay; the strings of those behind are reachable through i */
    ct_status st = CT_OK;
    int64_t i = 0;
    for (; i < n; i++) {
        char *name = ds->name[i], *text = ds->text[i];
        st = ct_label_encode(&ds->charset, name, text, ds->spec.label_len, ds->label + ds->n * ds->L, ds->L, NULL);
        if (st == CT_OK) {
            keep(ds, name, text, ds->row[i]);
            continue;
        }
        if (st == CT_EDATA) {
            char *reason = ct_reason_dup(name);
            st = reason ? add_bad(ds, name, reason) : CT_ENOMEM;
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

/* Appends to buf; output that does not fit is cut. */
static void put(char *buf, size_t size, const char *fmt, ...) CT_PRINTF(3, 4);
static void put(char *buf, size_t size, const char *fmt, ...)
{
    size_t at = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + at, size - at, fmt, ap);
    va_end(ap);
}

/* Counts the bad samples against the limit; lists them in the error or in a warning. */
static ct_status judge(ct_dataset *ds, int64_t all)
{
    char list[3500] = "";
    if (ds->n_bad > 1) qsort(ds->bad, ds->n_bad, sizeof *ds->bad, by_bad_name);
    for (size_t i = 0; i < ds->n_bad && i < CT_BAD_SHOWN; i++) {
        if (strlen(list) > sizeof list - 400) {
            put(list, sizeof list, "\n  ...");
            break;
        }
        put(list, sizeof list, "\n  %.150s: %.220s", ds->bad[i].name, ds->bad[i].reason);
    }
    if (ds->n_bad > CT_BAD_SHOWN) put(list, sizeof list, "\n  and %zu more", ds->n_bad - CT_BAD_SHOWN);
    if ((int64_t)ds->n_bad > ds->spec.max_bad) {
        return ct_fail(CT_EDATA,
                       "%s: %zu of %" PRId64 " samples cannot be used (%" PRId64 " are tolerated, data.max_bad):%s",
                       ds->root, ds->n_bad, all, ds->spec.max_bad, list);
    }
    if (ds->n == 0) return ct_fail(CT_EDATA, "%s: none of the %" PRId64 " samples can be used:%s", ds->root, all, list);
    if (ds->n_bad > 0) {
        ct_warn("%s: %zu of %" PRId64 " samples are left out (data.max_bad is %" PRId64 "):%s", ds->root, ds->n_bad,
                all, ds->spec.max_bad, list);
    }
    return CT_OK;
}

static ct_status check_spec(const ct_dataset_spec *s)
{
    if (s->channels != 1 && s->channels != 3) {
        return ct_fail(CT_EINVAL, "data: channels must be 1 or 3, not %d", s->channels);
    }
    if (s->height < 0 || s->width < 0 || (s->height == 0) != (s->width == 0)) {
        return ct_fail(CT_EINVAL, "data: height %d and width %d: give both, or 0 for both", s->height, s->width);
    }
    if (s->height > 0) CT_TRY(ct_image_check_size("data.width x data.height", (uint64_t)s->width, (uint64_t)s->height));
    if (s->label_len < 0 || s->label_len > CT_LABEL_MAX) {
        return ct_fail(CT_EINVAL, "data: label length %d; it must be 0 (any) to %d", s->label_len, CT_LABEL_MAX);
    }
    if (s->max_bad < 0) return ct_fail(CT_EINVAL, "data: max_bad must not be negative");
    return CT_OK;
}

static ct_status start(const ct_dataset_spec *spec, const char *root, ct_dataset **out)
{
    *out = NULL;
    CT_TRY(check_spec(spec));
    ct_dataset *ds = ct_calloc(1, sizeof *ds, "data set");
    if (!ds) return CT_ENOMEM;
    ds->spec = *spec;
    ds->root = ct_strdup(root, "data set");
    if (!ds->root) {
        ct_free(ds);
        return CT_ENOMEM;
    }
    *out = ds;
    return CT_OK;
}

/* Good items of the pack become samples; item k is sample candidate cand[k] of the scan. */
static ct_status take_files(ct_dataset *ds, ct_scan *scan, const size_t *cand, int64_t n)
{
    CT_TRY(room_for(ds, n > 0 ? n : 1));
    for (int64_t k = 0; k < n; k++) {
        ct_sample *x = &scan->s[cand[k]];
        if (ds->pack.state[k] == CT_PACK_BAD) {
            CT_TRY(add_bad(ds, x->name, ds->pack.text[k]));
            continue;
        }
        keep(ds, x->name, x->text, k);
        x->name = x->text = NULL;
    }
    return CT_OK;
}

ct_status ct_dataset_open(const ct_dataset_spec *spec, int workers, ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_dataset *ds = NULL;
    ct_scan scan = { 0 };
    const char **name = NULL;
    size_t *cand = NULL;
    int64_t n = 0;

    *out = NULL;
    CT_GOTO(st, ct_scan_folder(spec->path, &spec->label, &scan));
    CT_GOTO(st, start(spec, scan.dir, &ds));
    if (scan.ignored > 0 || scan.folders > 0) {
        ct_info("%s: %" PRId64 " files that are no pictures and %" PRId64 " sub-folders are left alone", scan.dir,
                scan.ignored, scan.folders);
    }
    name = ct_calloc(scan.n, sizeof *name, "sample names");
    cand = ct_calloc(scan.n, sizeof *cand, "samples");
    if (!name || !cand) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (size_t i = 0; i < scan.n; i++) {
        if (scan.s[i].bad) {
            CT_GOTO(st, add_bad(ds, scan.s[i].name, scan.s[i].bad));
            continue;
        }
        name[n] = scan.s[i].name;
        cand[n++] = i;
    }
    if (n > 0) {
        CT_GOTO(st, ct_build_files(&ds->spec, scan.dir, name, n, workers, &ds->pack, ds->key, &ds->cached));
        CT_GOTO(st, take_files(ds, &scan, cand, n));
    }
    CT_GOTO(st, encode_labels(ds));
    CT_GOTO(st, judge(ds, (int64_t)scan.n));
    *out = ds;
    ds = NULL;
fail:
    ct_free(name);
    ct_free(cand);
    ct_scan_free(&scan);
    ct_dataset_close(ds);
    return st;
}

ct_status ct_dataset_open_source(const ct_dataset_spec *spec, const ct_source *src, int workers, ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_dataset *ds = NULL;
    *out = NULL;
    if (src->n < 1 || src->first < 0) return ct_fail(CT_EDATA, "%s: no samples are asked for", src->name);
    CT_TRY(start(spec, src->name, &ds));
    CT_GOTO(st, ct_build_source(&ds->spec, src, workers, &ds->pack, ds->key, &ds->cached));
    CT_GOTO(st, room_for(ds, src->n));
    for (int64_t i = 0; i < src->n; i++) {
        char *name = ct_asprintf("%s/%" PRId64, src->name, src->first + i), *text = NULL;
        if (name) text = ct_strdup(ds->pack.text[i], "label");
        if (!text) {
            ct_free(name);
            st = CT_ENOMEM;
            goto fail;
        }
        keep(ds, name, text, i);
    }
    CT_GOTO(st, encode_labels(ds));
    CT_GOTO(st, judge(ds, src->n));
    *out = ds;
    return CT_OK;
fail:
    ct_dataset_close(ds);
    return st;
}

int64_t ct_dataset_size(const ct_dataset *ds) { return ds->n; }
int ct_dataset_height(const ct_dataset *ds) { return ds->spec.height; }
int ct_dataset_width(const ct_dataset *ds) { return ds->spec.width; }
int ct_dataset_channels(const ct_dataset *ds) { return ds->spec.channels; }
int ct_dataset_label_len(const ct_dataset *ds) { return ds->L; }
const ct_charset *ct_dataset_charset(const ct_dataset *ds) { return &ds->charset; }
bool ct_dataset_contiguous(const ct_dataset *ds) { return ds->n == ds->pack.n; }
const int32_t *ct_dataset_labels(const ct_dataset *ds, int64_t i) { return ds->label + i * ds->L; }
const char *ct_dataset_name(const ct_dataset *ds, int64_t i) { return ds->name[i]; }
const char *ct_dataset_text(const ct_dataset *ds, int64_t i) { return ds->text[i]; }
const char *ct_dataset_root(const ct_dataset *ds) { return ds->root; }
const char *ct_dataset_key(const ct_dataset *ds) { return ds->key; }
bool ct_dataset_was_cached(const ct_dataset *ds) { return ds->cached; }
int64_t ct_dataset_bad_count(const ct_dataset *ds) { return (int64_t)ds->n_bad; }

const uint8_t *ct_dataset_pixels(const ct_dataset *ds, int64_t i)
{
    size_t bytes = (size_t)ds->spec.height * (size_t)ds->spec.width * (size_t)ds->spec.channels;
    return ds->pack.px + (size_t)ds->row[i] * bytes;
}

ct_bad ct_dataset_bad(const ct_dataset *ds, int64_t i)
{
    return (ct_bad){ ds->bad[i].name, ds->bad[i].reason };
}

/* ---- split ---- */

void ct_subset_free(ct_subset *s)
{
    if (!s) return;
    ct_free(s->index);
    *s = (ct_subset){ 0 };
}

ct_status ct_split(int64_t n, double fraction, uint64_t seed, ct_subset *kept, ct_subset *held)
{
    *kept = *held = (ct_subset){ 0 };
    if (!(fraction >= 0.0 && fraction < 1.0) || n < 0) {
        return ct_fail(CT_EINVAL, "a split of %" PRId64 " samples needs a fraction in [0,1), not %g", n, fraction);
    }
    if (fraction > 0.0 && n < 2) {
        return ct_fail(CT_EINVAL, "%" PRId64 " samples cannot be split into training and validation", n);
    }
    int64_t out = llround((double)n * fraction);
    if (fraction > 0.0 && out < 1) out = 1;
    if (fraction > 0.0 && out > n - 1) out = n - 1;
    int64_t *perm = ct_calloc((size_t)(n > 0 ? n : 1), sizeof *perm, "split");
    uint8_t *is_held = ct_calloc((size_t)(n > 0 ? n : 1), 1, "split");
    kept->index = ct_calloc((size_t)(n - out > 0 ? n - out : 1), sizeof *kept->index, "split");
    held->index = ct_calloc((size_t)(out > 0 ? out : 1), sizeof *held->index, "split");
    ct_status st = perm && is_held && kept->index && held->index ? CT_OK : CT_ENOMEM;
    if (st == CT_OK) {
        if (out > 0) ct_rng_permutation(seed, CT_RNG_SPLIT, 0, n, perm);
        for (int64_t i = 0; i < out; i++) is_held[perm[i]] = 1;
        for (int64_t i = 0; i < n; i++) {
            if (is_held[i]) held->index[held->n++] = i;
            else kept->index[kept->n++] = i;
        }
    } else {
        ct_subset_free(kept);
        ct_subset_free(held);
    }
    ct_free(perm);
    ct_free(is_held);
    return st;
}
