/* Opening a data set: samples, buckets of widths. */
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
                               .min_width = 1, .min_side = 1, .background = { 255, 255, 255 }, .cache = true };
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
    ct_free(ds->frames);
    ct_free(ds->least);
    ct_fields_free(ds);
    ct_free(ds->bucket_width);
    ct_free(ds->bucket_count);
    ct_free(ds->bucket_first);
    ct_free(ds->bucket);
    ct_free(ds->rank);
    ct_free(ds->root);
    ct_labels_close(ds->labels);
    ct_pack_free(&ds->pack);
    if (ds->stream.release) ds->stream.release(ds->stream.user);
    ct_free(ds);
}

static int by_bad_name(const void *a, const void *b)
{
    const bad_entry *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : strcmp(x->reason, y->reason);
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
    if (n == 0) n = number[widest] = 1; /* no sample at all, of files: one empty bucket */
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
        char name[151], reason[221]; /* a line each: a name must not be able to add one of its own */
        put(list, sizeof list, "\n  %s: %s", ct_text_visible(ds->bad[i].name, name, sizeof name),
            ct_text_visible(ds->bad[i].reason, reason, sizeof reason));
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
    if (s->size_rule == CT_SIZE_LETTERBOX && (s->height == 0 || s->min_side < 1))
        return ct_fail(CT_EINVAL, "data: letterbox needs a height, a width and a least side of 1 pixel or more");
    if (s->size_rule == CT_SIZE_FIT_HEIGHT &&
        (s->height == 0 || s->width_step < 1 || s->min_width < 1 || s->min_width > s->width)) {
        return ct_fail(CT_EINVAL,
                       "data: fit_height to %dx%d pixels, least width %d, buckets of %d pixels: height, step and least "
                       "width must be 1 or more, the least width not above the width", s->width, s->height,
                       s->min_width, s->width_step);
    }
    if (s->height > 0) CT_TRY(ct_image_check_size("data.width x data.height", (uint64_t)s->width, (uint64_t)s->height));
    if (s->max_bad < 0) return ct_fail(CT_EINVAL, "data: max_bad must not be negative");
    return CT_OK;
}

static bool is_clips(const ct_dataset *ds) { return ds->labels->clip.multiple > 0; }

/* Pictures of a clip have one size, whatever they were. */
static ct_status check_clips(const ct_dataset_spec *s)
{
    if (s->size_rule == CT_SIZE_FIT_HEIGHT || s->size_rule == CT_SIZE_LETTERBOX)
        return ct_fail(CT_ECONFIG, "data.size_rule: pictures of clips are resized or refused");
    return s->max_frames >= 0 ? CT_OK : ct_fail(CT_EINVAL, "data: max_frames must not be negative");
}

/* A set that owns the reader, also when this fails. */
static ct_status start(const ct_dataset_spec *spec, const char *root, ct_labels *labels, ct_dataset **out)
{
    ct_status st = check_spec(spec);
    if (st == CT_OK && labels->clip.multiple > 0) st = check_clips(spec);
    ct_dataset *ds = st == CT_OK ? ct_calloc(1, sizeof *ds, "data set") : NULL;
    *out = NULL;
    if (!ds) {
        ct_labels_close(labels);
        return st == CT_OK ? CT_ENOMEM : st;
    }
    ds->spec = *spec;
    ds->labels = labels;
    ds->root = ct_strdup(root, "data set");
    if (!ds->root) {
        ct_dataset_close(ds);
        return CT_ENOMEM;
    }
    *out = ds;
    return CT_OK;
}

/* ---- folders and files ---- */

/* Good items of the pack become samples; item k is sample candidate cand[k] of the scan. */
static ct_status take_files(ct_dataset *ds, ct_scan *scan, const size_t *cand, int64_t n)
{
    CT_TRY(ct_dataset_room(ds, n));
    for (int64_t k = 0; k < n; k++) {
        ct_sample *x = &scan->s[cand[k]];
        if (ds->pack.state[k] == CT_PACK_BAD) {
            CT_TRY(ct_dataset_add_bad(ds, x->name, ds->pack.text[k]));
            continue;
        }
        ct_dataset_keep(ds, x->name, x->text, k, 1);
        x->name = x->text = NULL;
    }
    return CT_OK;
}

/* The pixels of what the scan found; what is bad already is listed. */
static ct_status build_scanned(ct_dataset *ds, ct_scan *scan, int workers)
{
    ct_status st = CT_OK;
    int64_t n = 0;
    const char **name = ct_calloc(scan->n, sizeof *name, "sample names");
    size_t *cand = name ? ct_calloc(scan->n, sizeof *cand, "samples") : NULL;
    if (!cand) CT_GOTO(st, CT_ENOMEM);
    for (size_t i = 0; i < scan->n; i++) {
        if (scan->s[i].bad) {
            CT_GOTO(st, ct_dataset_add_bad(ds, scan->s[i].name, scan->s[i].bad));
            continue;
        }
        name[n] = scan->s[i].name;
        cand[n++] = i;
    }
    if (n == 0) goto fail;
    CT_GOTO(st, ct_build_files(&ds->spec, scan->dir, name, n, workers, &ds->pack, ds->key, &ds->cached));
    CT_GOTO(st, take_files(ds, scan, cand, n));
fail:
    ct_free(name);
    ct_free(cand);
    return st;
}

ct_status ct_dataset_open(const ct_dataset_spec *spec, ct_labels *labels, int workers, ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_dataset *ds = NULL;
    ct_scan scan = { 0 };

    *out = NULL;
    CT_TRY(start(spec, "", labels, &ds));
    if (!labels->ops->scan) {
        CT_GOTO(st, ct_fail(CT_EINVAL, "%s: labels of a generator are not read from a folder",
                            spec->path ? spec->path : "data"));
    }
    CT_GOTO(st, ct_scan_sources(labels, spec->path, &scan));
    ct_free(ds->root);
    if (!(ds->root = ct_strdup(ct_scan_place(&scan), "data set"))) CT_GOTO(st, CT_ENOMEM);
    if (scan.ignored > 0 || scan.folders > 0) {
        ct_info("%s: %" PRId64 " files that are no pictures and %" PRId64 " sub-folders are left alone",
                ct_scan_place(&scan),
                scan.ignored, scan.folders);
    }
    CT_GOTO(st, is_clips(ds) ? ct_clips_scanned(ds, &scan, workers) : build_scanned(ds, &scan, workers));
    CT_GOTO(st, ct_fields_read(ds));
    CT_GOTO(st, judge(ds, (int64_t)scan.n));
    CT_GOTO(st, find_buckets(ds));
    *out = ds;
    ds = NULL;
fail:
    ct_scan_free(&scan);
    ct_dataset_close(ds);
    return st;
}

/* The pictures path[0..n). */
static ct_status build_pictures(ct_dataset *ds, const char *const *path, int64_t n, int workers)
{
    CT_TRY(ct_build_files(&ds->spec, "", path, n, workers, &ds->pack, ds->key, &ds->cached));
    CT_TRY(ct_dataset_room(ds, n));
    for (int64_t i = 0; i < n; i++) {
        if (ds->pack.state[i] == CT_PACK_BAD) {
            CT_TRY(ct_dataset_add_bad(ds, path[i], ds->pack.text[i]));
            continue;
        }
        char *name = ct_strdup(path[i], "sample name"), *text = name ? ct_strdup("", "label") : NULL;
        if (!text) {
            ct_free(name);
            return CT_ENOMEM;
        }
        ct_dataset_keep(ds, name, text, i, 1);
    }
    return CT_OK;
}

ct_status ct_dataset_open_files(const ct_dataset_spec *spec, ct_labels *labels, const char *const *path, int64_t n,
                                int workers, ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_dataset *ds = NULL;
    *out = NULL;
    CT_TRY(start(spec, "", labels, &ds));
    if (n < 1) CT_GOTO(st, ct_fail(CT_EINVAL, "no pictures are asked for"));
    CT_GOTO(st, is_clips(ds) ? ct_clips_files(ds, path, n, workers) : build_pictures(ds, path, n, workers));
    CT_GOTO(st, ct_fields_read(ds));
    CT_GOTO(st, find_buckets(ds));
    *out = ds;
    return CT_OK;
fail:
    ct_dataset_close(ds);
    return st;
}

/* ---- generators ---- */

static ct_status check_source(const ct_dataset *ds, const ct_source *src)
{
    if ((src->clip != NULL) != is_clips(ds))
        return ct_fail(CT_EINVAL, "%s: draws %s, the reader of its labels is for %s", src->name,
                       src->clip ? "clips" : "pictures", src->clip ? "pictures" : "clips");
    if (src->n < 1 || src->first < 0) return ct_fail(CT_EDATA, "%s: no samples are asked for", src->name);
    return CT_OK;
}

/* Names and texts of what was packed. */
static ct_status take_drawn(ct_dataset *ds, const ct_source *src)
{
    CT_TRY(ct_dataset_room(ds, src->n));
    for (int64_t i = 0; i < src->n; i++) {
        char *name = ct_asprintf("%s/%" PRId64, src->name, src->first + i), *text = NULL;
        if (name) text = ct_strdup(ds->pack.text[i], "label");
        if (!text) {
            ct_free(name);
            return CT_ENOMEM;
        }
        ct_dataset_keep(ds, name, text, i, 1);
    }
    return CT_OK;
}

ct_status ct_dataset_open_source(const ct_dataset_spec *spec, const ct_source *src, ct_labels *labels, int workers,
                                 ct_dataset **out)
{
    ct_dataset *ds = NULL;
    *out = NULL;
    ct_status st = start(spec, src->name, labels, &ds);
    if (st == CT_OK) st = check_source(ds, src);
    if (st == CT_OK) st = ct_build_source(&ds->spec, src, workers, &ds->pack, ds->key, &ds->cached);
    if (st == CT_OK) st = src->clip ? ct_clips_drawn(ds, src) : take_drawn(ds, src);
    if (src->release) src->release(src->user);
    if (st != CT_OK) goto fail;
    CT_GOTO(st, ct_fields_read(ds));
    CT_GOTO(st, judge(ds, src->n));
    CT_GOTO(st, find_buckets(ds));
    *out = ds;
    return CT_OK;
fail:
    ct_dataset_close(ds);
    return st;
}

/* ---- a generator that draws when it is asked ---- */

static ct_status check_stream(const ct_dataset *ds, const ct_source *src)
{
    const ct_labels_ops *ops = ds->labels->ops;
    CT_TRY(check_source(ds, src));
    if (is_clips(ds)) return ct_fail(CT_ECONFIG, "data.synth.fresh: clips are drawn once, not anew in every epoch");
    if (ds->spec.width < 1 || ds->spec.height < 1) return ct_fail(CT_EINVAL, "%s: a stream needs a size", src->name);
    return ops->vouch ? ops->vouch(ds->labels, src->name, ds->spec.width) : CT_OK;
}

/* Names and empty texts. */
static ct_status name_stream(ct_dataset *ds, const ct_source *src)
{
    CT_TRY(ct_dataset_room(ds, src->n));
    for (int64_t i = 0; i < src->n; i++) {
        char *name = ct_asprintf("%s/new/%" PRId64, src->name, i), *text = name ? ct_strdup("", "label") : NULL;
        if (!text) {
            ct_free(name);
            return CT_ENOMEM;
        }
        ct_dataset_keep(ds, name, text, i, 1);
    }
    return CT_OK;
}

static ct_status stream_key(ct_dataset *ds, const ct_source *src)
{
    char *text = ct_asprintf("stream %s %" PRId64 " %" PRId64, src->key, src->first, src->n);
    if (!text) return CT_ENOMEM;
    ct_hash_hex(text, strlen(text), ds->key);
    ct_free(text);
    return CT_OK;
}

ct_status ct_dataset_open_stream(const ct_dataset_spec *spec, const ct_source *src, ct_labels *labels, ct_dataset **out)
{
    ct_dataset *ds = NULL;
    *out = NULL;
    char *root = ct_asprintf("%s, new ones in every epoch", src->name);
    ct_status st = start(spec, root ? root : "", labels, &ds);
    ct_free(root);
    if (st != CT_OK) {
        if (src->release) src->release(src->user);
        return st;
    }
    ds->stream = *src; /* what it owns goes with the set */
    const ct_pack_shape shape = { .h = spec->height, .w = spec->width, .c = spec->channels, .step = 0 };
    if (!root) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, check_stream(ds, src));
    CT_GOTO(st, ct_pack_make(src->n, &shape, &ds->pack)); /* no pixels are added */
    CT_GOTO(st, name_stream(ds, src));
    CT_GOTO(st, ct_fields_blank(ds));
    CT_GOTO(st, find_buckets(ds));
    CT_GOTO(st, stream_key(ds, src));
    *out = ds;
    return CT_OK;
fail:
    ct_dataset_close(ds);
    return st;
}
