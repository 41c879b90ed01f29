#include "config.h"

#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "formats/st_internal.h"

typedef struct entry {
    char *name;
    ct_desc desc;
    const void *data;
    size_t bytes, offset;
} entry;

struct ct_st_writer {
    entry *tensor;
    size_t count, cap;
    ct_st_meta *meta; /* owns its strings */
    size_t metas, meta_cap;
};

ct_status ct_st_writer_new(ct_st_writer **out)
{
    *out = ct_calloc(1, sizeof **out, "safetensors writer");
    return *out ? CT_OK : CT_ENOMEM;
}

void ct_st_writer_free(ct_st_writer *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->count; i++) ct_free(w->tensor[i].name);
    for (size_t i = 0; i < w->metas; i++) {
        ct_free((char *)(uintptr_t)w->meta[i].key);
        ct_free((char *)(uintptr_t)w->meta[i].value);
    }
    ct_free(w->tensor);
    ct_free(w->meta);
    ct_free(w);
}

ct_status ct_st_writer_meta(ct_st_writer *w, const char *key, const char *value)
{
    if (strcmp(key, "xxh3") == 0 || strncmp(key, "xxh3:", 5) == 0)
        return ct_fail(CT_EINVAL, "safetensors metadata '%s' is the writer's own", key);
    for (size_t i = 0; i < w->metas; i++)
        if (strcmp(w->meta[i].key, key) == 0) return ct_fail(CT_EINVAL, "safetensors metadata '%s' given twice", key);
    CT_TRY(ct_grow(&w->meta, w->metas, &w->meta_cap, sizeof *w->meta, "safetensors metadata"));
    char *k = ct_strdup(key, "safetensors metadata"), *v = ct_strdup(value, "safetensors metadata");
    if (!k || !v) {
        ct_free(k);
        ct_free(v);
        return CT_ENOMEM;
    }
    w->meta[w->metas++] = (ct_st_meta){ k, v };
    return CT_OK;
}

ct_status ct_st_writer_add(ct_st_writer *w, const char *name, const ct_desc *desc, const void *data)
{
    if (strcmp(name, "__metadata__") == 0) return ct_fail(CT_EINVAL, "a tensor cannot be named '%s'", name);
    CT_TRY(ct_grow(&w->tensor, w->count, &w->cap, sizeof *w->tensor, "safetensors index"));
    char *n = ct_strdup(name, "tensor name");
    if (!n) return CT_ENOMEM;
    w->tensor[w->count++] = (entry){ .name = n, .desc = *desc, .data = data, .bytes = ct_desc_bytes(desc) };
    return CT_OK;
}

/* Offsets: tensors of 8-byte elements first, then 4, 2, 1, so each is aligned to its element. */
static void place(ct_st_writer *w)
{
    size_t at = 0;
    for (size_t size = 8; size > 0; size /= 2)
        for (size_t i = 0; i < w->count; i++)
            if (ct_dtype_size(w->tensor[i].desc.dtype) == size) {
                w->tensor[i].offset = at;
                at += w->tensor[i].bytes;
            }
}

static ct_status tensor_json(const entry *t, json_t *header)
{
    json_t *v = json_object(), *shape = json_array(), *offsets = json_array();
    ct_status st = CT_OK;
    if (!v || !shape || !offsets) goto memory;
    for (int i = 0; i < t->desc.ndim; i++)
        if (json_array_append_new(shape, json_integer(t->desc.dim[i])) != 0) goto memory;
    if (json_array_append_new(offsets, json_integer((json_int_t)t->offset)) != 0 ||
        json_array_append_new(offsets, json_integer((json_int_t)(t->offset + t->bytes))) != 0)
        goto memory;
    CT_GOTO(st, ct_json_set(v, "dtype", json_string(ct_st_dtype_name(t->desc.dtype))));
    CT_GOTO(st, ct_json_set(v, "shape", json_incref(shape)));
    CT_GOTO(st, ct_json_set(v, "data_offsets", json_incref(offsets)));
    CT_GOTO(st, ct_json_set(header, t->name, json_incref(v)));
    goto fail;
memory:
    st = ct_fail(CT_ENOMEM, "out of memory: safetensors header");
fail:
    json_decref(v);
    json_decref(shape);
    json_decref(offsets);
    return st;
}

/* What the header's checksum covers, and the tensors' own checksums as metadata. */
typedef struct sums {
    ct_st_index *index; /* count */
    ct_st_meta *meta;   /* the writer's and one for each tensor */
    size_t metas;
    char (*hex)[33];    /* per tensor */
    char **key;         /* per tensor, "xxh3:<name>" */
    char header[33];
} sums;

static void sums_free(const ct_st_writer *w, sums *s)
{
    for (size_t i = 0; s->key && i < w->count; i++) ct_free(s->key[i]);
    ct_free(s->key);
    ct_free(s->hex);
    ct_free(s->meta);
    ct_free(s->index);
}

static ct_status sums_make(const ct_st_writer *w, sums *s)
{
    *s = (sums){ 0 };
    if (!(s->index = ct_calloc(w->count, sizeof *s->index, "safetensors index"))) return CT_ENOMEM;
    if (!(s->meta = ct_calloc(w->metas + w->count, sizeof *s->meta, "safetensors metadata"))) return CT_ENOMEM;
    if (!(s->hex = ct_calloc(w->count, sizeof *s->hex, "checksums"))) return CT_ENOMEM;
    if (!(s->key = ct_calloc(w->count, sizeof *s->key, "checksums"))) return CT_ENOMEM;
    for (; s->metas < w->metas; s->metas++) s->meta[s->metas] = w->meta[s->metas];
    for (size_t i = 0; i < w->count; i++) {
        const entry *t = &w->tensor[i];
        if (!(s->key[i] = ct_asprintf("xxh3:%s", t->name))) return CT_ENOMEM;
        ct_hash_hex(t->data, t->bytes, s->hex[i]);
        s->meta[s->metas++] = (ct_st_meta){ s->key[i], s->hex[i] };
        s->index[i] = (ct_st_index){ t->name, &t->desc, t->offset };
    }
    CT_TRY(ct_st_header_hash(s->index, w->count, s->meta, s->metas, s->header));
    for (size_t i = 1; i < w->count; i++) /* sorted by now */
        if (strcmp(s->index[i].name, s->index[i - 1].name) == 0)
            return ct_fail(CT_EINVAL, "tensor '%s' was given twice", s->index[i].name);
    return CT_OK;
}

/* The JSON text, padded with blanks so that the data begins at a multiple of 64 bytes. */
static ct_status header_text(const ct_st_writer *w, char **text, size_t *len)
{
    json_t *header = json_object(), *meta = json_object();
    char *raw = NULL;
    size_t n;
    sums s;
    ct_status st = CT_OK;
    *text = NULL;
    CT_GOTO(st, sums_make(w, &s));
    if (!header || !meta) {
        st = ct_fail(CT_ENOMEM, "out of memory: safetensors header");
        goto fail;
    }
    for (size_t i = 0; i < s.metas; i++) CT_GOTO(st, ct_json_set_text(meta, s.meta[i].key, s.meta[i].value));
    CT_GOTO(st, ct_json_set(meta, "xxh3", json_string(s.header)));
    CT_GOTO(st, ct_json_set(header, "__metadata__", json_incref(meta)));
    for (size_t i = 0; i < w->count; i++) CT_GOTO(st, tensor_json(&w->tensor[i], header));
    if (!(raw = ct_json_text(header, 0))) {
        st = CT_ENOMEM;
        goto fail;
    }
    n = strlen(raw);
    *len = ct_align_up(8 + n, 64) - 8;
    if (*len > CT_ST_MAX_HEADER) {
        st = ct_fail(CT_EINVAL, "a safetensors header of %zu bytes is more than the format allows", *len);
        goto fail;
    }
    if (!(*text = ct_malloc(*len, "safetensors header"))) {
        st = CT_ENOMEM;
        goto fail;
    }
    memcpy(*text, raw, n);
    memset(*text + n, ' ', *len - n);
fail:
    sums_free(w, &s);
    ct_free(raw);
    json_decref(meta);
    json_decref(header);
    return st;
}

ct_status ct_st_writer_save(ct_st_writer *w, const char *path)
{
    ct_atomic_file *f = NULL;
    char *text = NULL;
    size_t len = 0;
    uint8_t head[8];
    ct_status st = CT_OK;
    place(w);
    st = header_text(w, &text, &len);
    if (st != CT_OK) return ct_fail_context(st, "%s", path);
    for (int i = 0; i < 8; i++) head[i] = (uint8_t)((uint64_t)len >> (8 * i));
    CT_GOTO(st, ct_atomic_open(path, &f));
    CT_GOTO(st, ct_atomic_write(f, head, 8));
    CT_GOTO(st, ct_atomic_write(f, text, len));
    for (size_t size = 8; size > 0; size /= 2)
        for (size_t i = 0; i < w->count; i++)
            if (ct_dtype_size(w->tensor[i].desc.dtype) == size && w->tensor[i].bytes > 0)
                CT_GOTO(st, ct_atomic_write(f, w->tensor[i].data, w->tensor[i].bytes));
    st = ct_atomic_commit(f);
    f = NULL;
fail:
    ct_atomic_abort(f);
    ct_free(text);
    return st;
}
