#include "config.h"

#include "formats/safetensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/json.h"
#include "formats/st_internal.h"

struct ct_safetensors {
    char *source;        /* for messages */
    ct_mmap map;         /* empty when the caller's memory is read */
    json_t *header;      /* owns the names and metadata strings */
    ct_st_tensor *tensor;
    size_t count;
    ct_st_meta *meta;    /* without the checksums */
    size_t metas;
    bool checksums;
};

static const struct { ct_dtype d; const char *name; } dtypes[] = {
    { CT_F32, "F32" }, { CT_F64, "F64" }, { CT_BF16, "BF16" }, { CT_F16, "F16" },
    { CT_U8, "U8" },   { CT_I32, "I32" }, { CT_I64, "I64" },
};
#define DTYPES (sizeof dtypes / sizeof dtypes[0])

#define WINDOW ((size_t)4 << 20) /* bytes of a file that lie in memory while a tensor is read through */

const char *ct_st_dtype_name(ct_dtype d)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].d == d) return dtypes[i].name;
    return "?";
}

/* ---- the header's checksum ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const ct_st_meta *)a)->key, ((const ct_st_meta *)b)->key);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ct_st_tensor *)a)->name, ((const ct_st_tensor *)b)->name);
}

static int by_index_name(const void *a, const void *b)
{
    return strcmp(((const ct_st_index *)a)->name, ((const ct_st_index *)b)->name);
}

/* Appends n bytes and a NUL to a block that is grown. */
static ct_status append(char **buf, size_t *n, size_t *cap, const char *s)
{
    size_t len = strlen(s) + 1;
    if (*n + len > *cap) {
        size_t want = (*n + len) * 2;
        char *p = ct_realloc(*buf, want, 1, "safetensors header text");
        if (!p) return CT_ENOMEM;
        *buf = p;
        *cap = want;
    }
    memcpy(*buf + *n, s, len);
    *n += len;
    return CT_OK;
}

/* The hashed text: "key\0value\0" of the metadata in key order, then "\0" and "name\0desc\0offset\0" of the tensors
 * in name order; desc is ct_desc_str(). It does not depend on how the JSON was written. */
ct_status ct_st_header_hash(ct_st_index *t, size_t count, ct_st_meta *m, size_t metas, char out[33])
{
    char *buf = NULL, desc[CT_DESC_STR], offset[32];
    size_t n = 0, cap = 0;
    ct_status st = CT_OK;
    if (count) qsort(t, count, sizeof *t, by_index_name);
    if (metas) qsort(m, metas, sizeof *m, by_key);
    for (size_t i = 0; i < metas; i++) {
        if (strcmp(m[i].key, "xxh3") == 0) continue;
        CT_GOTO(st, append(&buf, &n, &cap, m[i].key));
        CT_GOTO(st, append(&buf, &n, &cap, m[i].value));
    }
    CT_GOTO(st, append(&buf, &n, &cap, ""));
    for (size_t i = 0; i < count; i++) {
        snprintf(offset, sizeof offset, "%zu", t[i].offset);
        CT_GOTO(st, append(&buf, &n, &cap, t[i].name));
        CT_GOTO(st, append(&buf, &n, &cap, ct_desc_str(t[i].desc, desc)));
        CT_GOTO(st, append(&buf, &n, &cap, offset));
    }
    ct_hash_hex(buf, n, out);
fail:
    ct_free(buf);
    return st;
}

/* ---- reading ---- */

/* A non-negative JSON integer. */
static bool get_size(const json_t *v, uint64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0) return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static ct_status read_tensor(const ct_safetensors *st, const char *name, const json_t *v, const uint8_t *data,
                             uint64_t data_bytes, ct_st_tensor *t)
{
    const char *src = st->source;
    const json_t *shape = json_object_get(v, "shape"), *offsets = json_object_get(v, "data_offsets");
    const char *dtype = json_string_value(json_object_get(v, "dtype"));
    uint64_t begin, end, bytes;
    size_t k = 0;
    if (!json_is_object(v)) return ct_fail(CT_EFORMAT, "%s: tensor '%s': not a JSON object", src, name);
    if (!dtype) return ct_fail(CT_EFORMAT, "%s: tensor '%s': no dtype", src, name);
    while (k < DTYPES && strcmp(dtypes[k].name, dtype) != 0) k++;
    if (k == DTYPES)
        return ct_fail(CT_EUNSUPPORTED, "%s: tensor '%s': dtype '%.32s' is not supported", src, name, dtype);
    if (!json_is_array(shape)) return ct_fail(CT_EFORMAT, "%s: tensor '%s': no shape", src, name);
    if (json_array_size(shape) > CT_MAX_DIMS)
        return ct_fail(CT_EUNSUPPORTED, "%s: tensor '%s': %zu dimensions, at most %d are supported", src, name,
                       json_array_size(shape), CT_MAX_DIMS);
    *t = (ct_st_tensor){ .name = name, .desc = { .dtype = dtypes[k].d, .ndim = (int)json_array_size(shape) } };
    bytes = ct_dtype_size(t->desc.dtype);
    bool empty = false, overflow = false;
    for (int i = 0; i < t->desc.ndim; i++) {
        uint64_t d;
        if (!get_size(json_array_get(shape, (size_t)i), &d))
            return ct_fail(CT_EFORMAT, "%s: tensor '%s': dimension %d is not a size", src, name, i);
        t->desc.dim[i] = (int64_t)d;
        empty |= d == 0;
        if (d != 0 && bytes > (uint64_t)INT64_MAX / d) overflow = true;
        else if (d != 0) bytes *= d;
    }
    if (empty) bytes = 0;
    if (overflow) return ct_fail(CT_EFORMAT, "%s: tensor '%s': its shape is too large", src, name);
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 || !get_size(json_array_get(offsets, 0), &begin) ||
        !get_size(json_array_get(offsets, 1), &end))
        return ct_fail(CT_EFORMAT, "%s: tensor '%s': no data_offsets", src, name);
    if (begin > end || end > data_bytes)
        return ct_fail(CT_EFORMAT, "%s: tensor '%s': data_offsets [%" PRIu64 ", %" PRIu64 "] are outside the %" PRIu64
                       " bytes of data", src, name, begin, end, data_bytes);
    if (end - begin != bytes)
        return ct_fail(CT_EFORMAT, "%s: tensor '%s': %" PRIu64 " bytes of data, its shape takes %" PRIu64, src, name,
                       end - begin, bytes);
    t->data = data + begin;
    t->bytes = (size_t)bytes;
    return CT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const ct_st_tensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty ones first */
}

/* The tensors must tile the data: what none of them covers would be lost when the file is copied. */
static ct_status check_tiling(const ct_safetensors *st, const uint8_t *data, uint64_t data_bytes)
{
    const uint8_t *at = data;
    if (st->count) qsort(st->tensor, st->count, sizeof *st->tensor, by_offset);
    for (size_t i = 0; i < st->count; i++) {
        const ct_st_tensor *t = &st->tensor[i];
        if (t->data != at)
            return ct_fail(CT_EFORMAT, "%s: tensor '%s' begins at byte %zu of the data, %s byte %zu", st->source,
                           t->name, (size_t)(t->data - data),
                           t->data < at ? "inside the tensor that ends at" : "behind a hole from", (size_t)(at - data));
        at += t->bytes;
    }
    if ((uint64_t)(at - data) != data_bytes)
        return ct_fail(CT_EFORMAT, "%s: %" PRIu64 " bytes of data, the tensors take %zu", st->source, data_bytes,
                       (size_t)(at - data));
    return CT_OK;
}

static const char *meta_value(const ct_st_meta *m, size_t n, const char *key)
{
    ct_st_meta want = { .key = key };
    const ct_st_meta *hit = n ? bsearch(&want, m, n, sizeof *m, by_key) : NULL;
    return hit ? hit->value : NULL;
}

void ct_safetensors_rest(const ct_safetensors *st, const ct_st_tensor *t)
{
    if (st->map.data) ct_pages_rest((void *)(uintptr_t)t->data, t->bytes);
}

ct_st_tensor ct_st_window(const ct_st_tensor *t, size_t *at)
{
    const size_t size = ct_dtype_size(t->desc.dtype), from = *at, left = t->bytes / size - from, most = WINDOW / size;
    const size_t n = left < most ? left : most;
    *at = from + n;
    return (ct_st_tensor){ .name = t->name,
                           .desc = ct_desc1(t->desc.dtype, (int64_t)n),
                           .data = t->data + from * size,
                           .bytes = n * size };
}

/* XXH3-128 of a tensor's bytes, of which the memory goes back as it is read. */
static ct_status hash_tensor(const ct_safetensors *st, const ct_st_tensor *t, char hex[33])
{
    ct_st_tensor w;
    ct_hashing *h = ct_hash_begin();
    if (!h) return CT_ENOMEM;
    for (size_t at = 0; (w = ct_st_window(t, &at)).bytes; ct_safetensors_rest(st, &w)) ct_hash_add(h, w.data, w.bytes);
    ct_hash_end_hex(h, hex);
    ct_safetensors_rest(st, t);
    return CT_OK;
}

/* Verifies the checksums, if there are any, and takes them out of the metadata. A file either has all or none. */
static ct_status check_sums(ct_safetensors *st, const uint8_t *data)
{
    char hex[33], *key = NULL;
    size_t sums = 0, kept = 0;
    const char *want = meta_value(st->meta, st->metas, "xxh3");
    for (size_t i = 0; i < st->metas; i++) sums += strncmp(st->meta[i].key, "xxh3:", 5) == 0;
    if (!want && sums == 0) return CT_OK;
    ct_st_index *index = ct_calloc(st->count, sizeof *index, "safetensors index");
    if (!index) return CT_ENOMEM;
    for (size_t i = 0; i < st->count; i++)
        index[i] = (ct_st_index){ st->tensor[i].name, &st->tensor[i].desc, (size_t)(st->tensor[i].data - data) };
    ct_status s = ct_st_header_hash(index, st->count, st->meta, st->metas, hex);
    ct_free(index);
    if (s != CT_OK) return s;
    if (!want || strcmp(want, hex) != 0)
        return ct_fail(CT_EFORMAT, "%s: damaged: the header's checksum is %s, the file says %.40s", st->source, hex,
                       want ? want : "nothing");
    for (size_t i = 0; i < st->count; i++) {
        const ct_st_tensor *t = &st->tensor[i];
        if (!(key = ct_asprintf("xxh3:%s", t->name))) return CT_ENOMEM;
        want = meta_value(st->meta, st->metas, key);
        ct_free(key);
        CT_TRY(hash_tensor(st, t, hex));
        if (!want) return ct_fail(CT_EFORMAT, "%s: tensor '%s': no checksum, but others have one", st->source, t->name);
        if (strcmp(want, hex) != 0)
            return ct_fail(CT_EFORMAT, "%s: tensor '%s': damaged: the checksum of its data is %s, the file says %.40s",
                           st->source, t->name, hex, want);
    }
    if (sums != st->count)
        return ct_fail(CT_EFORMAT, "%s: %zu checksums for %zu tensors", st->source, sums, st->count);
    for (size_t i = 0; i < st->metas; i++)
        if (strcmp(st->meta[i].key, "xxh3") != 0 && strncmp(st->meta[i].key, "xxh3:", 5) != 0)
            st->meta[kept++] = st->meta[i];
    st->metas = kept;
    st->checksums = true;
    return CT_OK;
}

static ct_status read_meta(ct_safetensors *st, json_t *meta)
{
    const char *key;
    json_t *v;
    if (!json_is_object(meta)) return ct_fail(CT_EFORMAT, "%s: __metadata__ is not a JSON object", st->source);
    if (!(st->meta = ct_calloc(json_object_size(meta), sizeof *st->meta, "safetensors metadata"))) return CT_ENOMEM;
    json_object_foreach(meta, key, v) {
        if (!json_is_string(v))
            return ct_fail(CT_EFORMAT, "%s: __metadata__ '%s' is not a string", st->source, key);
        st->meta[st->metas++] = (ct_st_meta){ key, json_string_value(v) };
    }
    return CT_OK;
}

static ct_status parse(ct_safetensors *st, const uint8_t *p, size_t size)
{
    uint64_t len = 0;
    json_error_t e;
    const char *name;
    json_t *v;
    if (size < 8) return ct_fail(CT_EFORMAT, "%s: %zu bytes, too short for a safetensors file", st->source, size);
    for (int i = 7; i >= 0; i--) len = len << 8 | p[i];
    if (len > CT_ST_MAX_HEADER || len > size - 8)
        return ct_fail(CT_EFORMAT,
                       "%s: no safetensors file, or a damaged one: its first bytes mean a header of %" PRIu64
                       " bytes, but it has %zu in all",
                       st->source, len, size);
    if (len == 0 || p[8] != '{') return ct_fail(CT_EFORMAT, "%s: not a safetensors file: no JSON header", st->source);
    ct_status loaded = ct_json_load((const char *)p + 8, (size_t)len, JSON_REJECT_DUPLICATES, &e, &st->header);
    if (loaded == CT_ENOMEM) return ct_fail_context(loaded, "%s: the header", st->source);
    if (loaded != CT_OK)
        return ct_fail(CT_EFORMAT, "%s: damaged header: byte %d: %s", st->source, 8 + e.position, e.text);
    const uint8_t *data = p + 8 + len;
    uint64_t data_bytes = size - 8 - len;
    st->tensor = ct_calloc(json_object_size(st->header), sizeof *st->tensor, "safetensors index");
    if (!st->tensor) return CT_ENOMEM;
    json_object_foreach(st->header, name, v) {
        if (strcmp(name, "__metadata__") == 0) {
            CT_TRY(read_meta(st, v));
            continue;
        }
        CT_TRY(read_tensor(st, name, v, data, data_bytes, &st->tensor[st->count]));
        st->count++;
    }
    CT_TRY(check_tiling(st, data, data_bytes));
    if (st->count) qsort(st->tensor, st->count, sizeof *st->tensor, by_name);
    if (st->metas) qsort(st->meta, st->metas, sizeof *st->meta, by_key);
    return check_sums(st, data);
}

static ct_status open_block(const char *source, ct_safetensors **out)
{
    ct_safetensors *st = ct_calloc(1, sizeof *st, "safetensors file");
    *out = NULL;
    if (!st) return CT_ENOMEM;
    if (!(st->source = ct_strdup(source, "safetensors file"))) {
        ct_free(st);
        return CT_ENOMEM;
    }
    *out = st;
    return CT_OK;
}

ct_status ct_safetensors_open(const char *path, ct_safetensors **out)
{
    ct_safetensors *st;
    ct_status s;
    *out = NULL;
    CT_TRY(open_block(path, &st));
    CT_GOTO(s, ct_mmap_open(path, &st->map));
    CT_GOTO(s, parse(st, st->map.data, st->map.size));
    *out = st;
    return CT_OK;
fail:
    ct_safetensors_close(st);
    return s;
}

ct_status ct_safetensors_open_memory(const void *data, size_t size, const char *source, ct_safetensors **out)
{
    ct_safetensors *st;
    ct_status s;
    *out = NULL;
    CT_TRY(open_block(source, &st));
    CT_GOTO(s, parse(st, data, size));
    *out = st;
    return CT_OK;
fail:
    ct_safetensors_close(st);
    return s;
}

void ct_safetensors_close(ct_safetensors *st)
{
    if (!st) return;
    json_decref(st->header);
    if (st->map.data) ct_mmap_close(&st->map);
    ct_free(st->source);
    ct_free(st->tensor);
    ct_free(st->meta);
    ct_free(st);
}

size_t ct_safetensors_count(const ct_safetensors *st)
{
    return st->count;
}

const ct_st_tensor *ct_safetensors_at(const ct_safetensors *st, size_t i)
{
    return i < st->count ? &st->tensor[i] : NULL;
}

const ct_st_tensor *ct_safetensors_find(const ct_safetensors *st, const char *name)
{
    ct_st_tensor want = { .name = name };
    return st->count ? bsearch(&want, st->tensor, st->count, sizeof want, by_name) : NULL;
}

ct_status ct_safetensors_need(const ct_safetensors *st, const char *name, int ndim, const ct_st_tensor **out)
{
    char s[CT_DESC_STR];
    *out = ct_safetensors_find(st, name);
    if (!*out) return ct_fail(CT_EFORMAT, "%s: no tensor '%s'", st->source, name);
    if (ndim >= 0 && (*out)->desc.ndim != ndim)
        return ct_fail(CT_EFORMAT, "%s: '%s' is %s, but must have %d dimensions", st->source, name,
                       ct_desc_str(&(*out)->desc, s), ndim);
    return CT_OK;
}

bool ct_safetensors_has_checksums(const ct_safetensors *st)
{
    return st->checksums;
}

size_t ct_safetensors_meta_count(const ct_safetensors *st)
{
    return st->metas;
}

const char *ct_safetensors_meta_key(const ct_safetensors *st, size_t i)
{
    return i < st->metas ? st->meta[i].key : NULL;
}

const char *ct_safetensors_meta(const ct_safetensors *st, const char *key)
{
    return meta_value(st->meta, st->metas, key);
}

ct_status ct_safetensors_get(const ct_safetensors *st, const char *name, const ct_desc *want, void *dst)
{
    char a[CT_DESC_STR], b[CT_DESC_STR];
    const ct_st_tensor *t = ct_safetensors_find(st, name);
    if (!t) return ct_fail(CT_EFORMAT, "%s: no tensor '%s' (expected %s)", st->source, name, ct_desc_str(want, a));
    if (!ct_desc_equal(&t->desc, want))
        return ct_fail(CT_EFORMAT, "%s: tensor '%s' is %s, expected %s", st->source, name, ct_desc_str(&t->desc, a),
                       ct_desc_str(want, b));
    if (t->bytes) memcpy(dst, t->data, t->bytes);
    return CT_OK;
}

void ct_st_read(const ct_st_tensor *t, ct_dtype d, void *dst)
{
    size_t size = ct_dtype_size(t->desc.dtype), n = t->bytes / size;
    if (d == t->desc.dtype) {
        if (t->bytes) memcpy(dst, t->data, t->bytes);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t elem = 0; /* aligned for every dtype */
        memcpy(&elem, t->data + i * size, size);
        ct_store(d, dst, (int64_t)i, ct_load(t->desc.dtype, &elem, 0));
    }
}

int64_t ct_st_not_finite(const ct_st_tensor *t)
{
    const size_t size = ct_dtype_size(t->desc.dtype), n = t->bytes / size;
    if (t->desc.dtype == CT_U8 || t->desc.dtype == CT_I32 || t->desc.dtype == CT_I64) return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t elem = 0; /* aligned for every dtype */
        memcpy(&elem, t->data + i * size, size);
        if (!isfinite(ct_load(t->desc.dtype, &elem, 0))) return (int64_t)i;
    }
    return -1;
}
