/* Opening a data set: samples, labels, buckets of widths. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "data/build.h"
#include "data/dataset_internal.h"
#include "image/image_internal.h"

void ct_dataset_spec_init(ct_dataset_spec *spec)
{
    *spec = (ct_dataset_spec){ .channels = 1, .size_rule = CT_SIZE_RESIZE, .width_step = 32,
                               .min_width = 1, .background = { 255, 255, 255 }, .label = CT_LABEL_RULE_DEFAULT,
                               .cache = true };
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
    ct_free(ds->bucket_width);
    ct_free(ds->bucket_count);
    ct_free(ds->bucket_first);
    ct_free(ds->bucket);
    ct_free(ds->rank);
    ct_free(ds->root);
    ct_charset_free(&ds->charset);
    ct_pack_free(&ds->pack);
    if (ds->stream.release) ds->stream.release(ds->stream.user);
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

/* A sequence model must have the time steps that a label needs. */
static ct_status judge_steps(const ct_dataset *ds, int64_t row, const char *name, const char *text, const int32_t *id)
{
    if (!ds->spec.steps) return CT_OK;
    int need = ct_label_steps(id, ds->L), width = ds->pack.width[row];
    int64_t have = ds->spec.steps(ds->spec.steps_user, width);
    if (need <= have) return CT_OK;
    return ct_fail(CT_EDATA, "%s: label '%s' needs %d time steps, the image of %d pixels gives %" PRId64, name, text,
                   need, width, have > 0 ? have : 0);
}

/* Class ids of candidate i, behind those of the samples kept so far. CT_EDATA: the sample is bad. */
static ct_status encode(ct_dataset *ds, int64_t i)
{
    int32_t *id = ds->label + ds->n * ds->L;
    CT_TRY(ct_label_encode(&ds->charset, ds->name[i], ds->text[i], ds->spec.label_len, id, ds->L, NULL));
    return judge_steps(ds, ds->row[i], ds->name[i], ds->text[i], id);
}

/* Characters of the longest of the first n texts. */
static int longest(const ct_dataset *ds, int64_t n)
{
    int most = 0;
    for (int64_t i = 0; i < n; i++) {
        int len = (int)ct_utf8_len(ds->text[i]);
        if (len > most) most = len;
    }
    return most > 0 ? most : 1;
}

/* Charset, columns, class ids; samples whose labels do not fit go over to the bad ones. */
static ct_status encode_labels(ct_dataset *ds)
{
    int64_t n = ds->n;
    int fixed = ds->spec.label_len > 0 ? ds->spec.label_len : ds->spec.label_max;
    if (ds->spec.charset) {
        CT_TRY(ct_charset_copy(ds->spec.charset, &ds->charset));
    } else if (n > 0) {
        CT_TRY(ct_charset_collect((const char *const *)ds->text, n, &ds->charset));
    }
    ds->spec.charset = NULL;
    ds->L = fixed > 0 ? fixed : longest(ds, n);
    ds->label = ct_malloc((size_t)(n > 0 ? n : 1) * (size_t)ds->L * sizeof *ds->label, "class ids");
    if (!ds->label) return CT_ENOMEM;

    ds->n = 0; /* samples in front of i that stay; the strings of those behind are reachable through i */
    ct_status st = CT_OK;
    int64_t i = 0;
    for (; i < n; i++) {
        char *name = ds->name[i], *text = ds->text[i];
        st = encode(ds, i);
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
    /* what was left out may have been the longest */
    return st == CT_OK && fixed == 0 ? ct_dataset_set_columns(ds, longest(ds, ds->n)) : st;
}

ct_status ct_dataset_set_columns(ct_dataset *ds, int L)
{
    if (L == ds->L) return CT_OK;
    if (L < longest(ds, ds->n) || L > CT_LABEL_MAX) {
        return ct_fail(CT_EINVAL, "%s: labels in %d columns; the longest has %d characters", ds->root, L,
                       longest(ds, ds->n));
    }
    int32_t *label = ct_malloc((size_t)(ds->n > 0 ? ds->n : 1) * (size_t)L * sizeof *label, "class ids");
    if (!label) return CT_ENOMEM;
    for (int64_t i = 0; i < ds->n; i++) {
        const int32_t *from = ds->label + i * ds->L;
        for (int k = 0; k < L; k++) label[i * L + k] = k < ds->L ? from[k] : -1;
    }
    ct_free(ds->label);
    ds->label = label;
    ds->L = L;
    return CT_OK;
}

/* ---- buckets ---- */

static int width_of(const ct_dataset *ds, int64_t i)
{
    return ct_pack_width(&ds->pack.shape, ds->pack.width[ds->row[i]]);
}

static ct_status bucket_arrays(ct_dataset *ds, int n)
{
    size_t k = (size_t)n;
    ds->n_buckets = n;
    ds->bucket_width = ct_calloc(k, sizeof *ds->bucket_width, "buckets");
    ds->bucket_count = ct_calloc(k, sizeof *ds->bucket_count, "buckets");
    ds->bucket_first = ct_calloc(k, sizeof *ds->bucket_first, "buckets");
    return ds->bucket_width && ds->bucket_count && ds->bucket_first ? CT_OK : CT_ENOMEM;
}

/* Sorts the samples into the buckets that occur: number[w] becomes 1 + the bucket of width w. */
static ct_status fill_buckets(ct_dataset *ds, int32_t *number)
{
    int widest = ds->pack.shape.w, n = 0;
    for (int64_t i = 0; i < ds->n; i++) number[width_of(ds, i)] = 1;
    for (int w = 1; w <= widest; w++) n += number[w];
    CT_TRY(bucket_arrays(ds, n));
    n = 0;
    for (int w = 1; w <= widest; w++) {
        if (!number[w]) continue;
        ds->bucket_width[n] = w;
        number[w] = ++n;
    }
    if (n > 1) {
        ds->bucket = ct_malloc((size_t)ds->n * sizeof *ds->bucket, "buckets");
        ds->rank = ct_malloc((size_t)ds->n * sizeof *ds->rank, "buckets");
        if (!ds->bucket || !ds->rank) return CT_ENOMEM;
    }
    for (int64_t i = 0; i < ds->n; i++) {
        int b = number[width_of(ds, i)] - 1;
        if (ds->bucket_count[b] == 0) ds->bucket_first[b] = i;
        if (ds->bucket) {
            ds->bucket[i] = b;
            ds->rank[i] = ds->bucket_count[b];
        }
        ds->bucket_count[b]++;
    }
    return CT_OK;
}

static ct_status find_buckets(ct_dataset *ds)
{
    int32_t *number = ct_calloc((size_t)ds->pack.shape.w + 1, sizeof *number, "buckets");
    ct_status st = number ? fill_buckets(ds, number) : CT_ENOMEM;
    ct_free(number);
    return st;
}

/* ---- opening ---- */

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
    if (s->size_rule == CT_SIZE_FIT_HEIGHT &&
        (s->height == 0 || s->width_step < 1 || s->min_width < 1 || s->min_width > s->width)) {
        return ct_fail(CT_EINVAL,
                       "data: fit_height to %dx%d pixels, least width %d, buckets of %d pixels: height, step and least "
                       "width must be 1 or more, the least width not above the width", s->width, s->height,
                       s->min_width, s->width_step);
    }
    if (s->height > 0) CT_TRY(ct_image_check_size("data.width x data.height", (uint64_t)s->width, (uint64_t)s->height));
    if (s->label_len < 0 || s->label_len > CT_LABEL_MAX) {
        return ct_fail(CT_EINVAL, "data: label length %d; it must be 0 (any) to %d", s->label_len, CT_LABEL_MAX);
    }
    if (s->label_max < 0 || s->label_max > CT_LABEL_MAX) {
        return ct_fail(CT_EINVAL, "data: labels of up to %d characters; 0 (any) to %d are possible", s->label_max,
                       CT_LABEL_MAX);
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
    CT_GOTO(st, find_buckets(ds));
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
    CT_GOTO(st, find_buckets(ds));
    *out = ds;
    return CT_OK;
fail:
    ct_dataset_close(ds);
    return st;
}

/* ---- a generator that draws when it is asked ---- */

/* Every label of a stream must be feasible, since none of them is known yet. */
static ct_status check_stream(const ct_dataset_spec *s, const ct_source *src)
{
    int most = s->label_len > 0 ? s->label_len : s->label_max, need = 2 * most - 1;
    if (src->n < 1 || src->first < 0) return ct_fail(CT_EDATA, "%s: no samples are asked for", src->name);
    if (most < 1 || !s->charset || s->width < 1 || s->height < 1)
        return ct_fail(CT_EINVAL, "%s: a stream needs a size, a charset and a length of labels", src->name);
    if (!s->steps || s->steps(s->steps_user, s->width) >= need) return CT_OK;
    return ct_fail(CT_EDATA,
                   "%s: a label of %d characters may need %d time steps, an image of %d pixels gives %" PRId64, src->name, most,
                   need, s->width, s->steps(s->steps_user, s->width));
}

/* Names, empty texts, labels of -1. */
static ct_status fill_stream(ct_dataset *ds, const ct_source *src)
{
    CT_TRY(room_for(ds, src->n));
    ds->label = ct_malloc((size_t)src->n * (size_t)ds->L * sizeof *ds->label, "class ids");
    if (!ds->label) return CT_ENOMEM;
    for (int64_t i = 0; i < src->n; i++) {
        char *name = ct_asprintf("%s/new/%" PRId64, src->name, i), *text = name ? ct_strdup("", "label") : NULL;
        if (!text) {
            ct_free(name);
            return CT_ENOMEM;
        }
        keep(ds, name, text, i);
        for (int k = 0; k < ds->L; k++) ds->label[i * ds->L + k] = -1;
    }
    return CT_OK;
}

ct_status ct_dataset_open_stream(const ct_dataset_spec *spec, const ct_source *src, ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_dataset *ds = NULL;
    char *text = NULL, *root = NULL;
    *out = NULL;
    CT_TRY(check_stream(spec, src));
    if (!(root = ct_asprintf("%s, new ones in every epoch", src->name))) return CT_ENOMEM;
    CT_GOTO(st, start(spec, root, &ds));
    const ct_pack_shape shape = { .h = spec->height, .w = spec->width, .c = spec->channels, .step = 0 };
    ds->L = spec->label_len > 0 ? spec->label_len : spec->label_max;
    CT_GOTO(st, ct_charset_copy(spec->charset, &ds->charset));
    ds->spec.charset = NULL;
    CT_GOTO(st, ct_pack_make(src->n, &shape, &ds->pack)); /* no pixels are added */
    CT_GOTO(st, fill_stream(ds, src));
    CT_GOTO(st, find_buckets(ds));
    if (!(text = ct_asprintf("stream %s %" PRId64 " %" PRId64, src->key, src->first, src->n))) CT_GOTO(st, CT_ENOMEM);
    ct_hash_hex(text, strlen(text), ds->key);
    ds->stream = *src;
    *out = ds;
    ds = NULL;
fail:
    ct_free(text);
    ct_free(root);
    ct_dataset_close(ds);
    return st;
}
