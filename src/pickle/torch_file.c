#include "config.h"

#include "pickle/torch_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "pickle/state_dict.h"
#include "pickle/torch_values.h"
#include "pickle/zip.h"

/* torch.save without its archive begins with a pickle of this number. */
static const uint8_t old_magic[] = { 0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c,
                                     0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19 };

enum { MAX_OLD = 8192 }; /* storages of an old file */

struct ct_torch_file {
    ct_mmap map;              /* empty when the caller's memory is read */
    const uint8_t *data;
    size_t size;
    ct_zip *zip;              /* NULL: an old file */
    char *prefix;             /* of the archive's entries: "archive/" */
    ct_torch_values values;
    ct_pickle *pickle;
    bool big_endian;
    const uint8_t **old_data; /* [values.storages] of an old file; NULL: none */
    ct_torch_tensor *tensor;
    size_t count;
    char *source;
};

static bool begins(const uint8_t *data, size_t size, const void *with, size_t n)
{
    return size >= n && memcmp(data, with, n) == 0;
}

bool ct_torch_is_file(const uint8_t *data, size_t size)
{
    return begins(data, size, "PK", 2) || (size >= 2 && data[0] == 0x80 && data[1] <= 5);
}

/* ---- archives ---- */

static ct_status entry(ct_torch_file *f, const char *name, const ct_zip_entry **e)
{
    char *path = ct_asprintf("%s%s", f->prefix, name);
    if (!path) return CT_ENOMEM;
    *e = ct_zip_find(f->zip, path);
    ct_free(path);
    return CT_OK;
}

/* The folder in which data.pkl lies. */
static ct_status find_prefix(ct_torch_file *f)
{
    static const char tail[] = "data.pkl";
    bool script = false;
    for (size_t i = 0; i < ct_zip_count(f->zip); i++) {
        const char *name = ct_zip_at(f->zip, i)->name;
        const size_t n = strlen(name), k = sizeof tail - 1;
        script |= strstr(name, "/constants.pkl") != NULL;
        if (n < k || strcmp(name + n - k, tail) != 0 || (n > k && name[n - k - 1] != '/')) continue;
        if (f->prefix) return ct_fail(CT_EFORMAT, "%s: two data.pkl are in the archive", f->source);
        if (!(f->prefix = ct_strndup(name, n - k, "archive"))) return CT_ENOMEM;
    }
    if (script)
        return ct_fail(CT_EUNSUPPORTED, "%s: refused: a TorchScript archive, a program. Where it is trusted, keep its "
                       "weights alone: python3 -c \"import torch; torch.save(torch.jit.load('%s', map_location='cpu')"
                       ".state_dict(), 'state.pth')\"", f->source, f->values.quoted);
    if (!f->prefix) return ct_fail(CT_EFORMAT, "%s: an archive, but none of torch.save: no data.pkl in it", f->source);
    return CT_OK;
}

/* byteorder: "little" or "big"; older archives have none and are little-endian. */
static ct_status read_order(ct_torch_file *f)
{
    const ct_zip_entry *e;
    const uint8_t *bytes;
    CT_TRY(entry(f, "byteorder", &e));
    if (!e) return CT_OK;
    CT_TRY(ct_zip_bytes(f->zip, e, &bytes));
    if (begins(bytes, (size_t)e->size, "big", 3) && e->size == 3) f->big_endian = true;
    else if (e->size != 6 || memcmp(bytes, "little", 6) != 0)
        return ct_fail(CT_EFORMAT, "%s: its byteorder is neither little nor big", f->source);
    return CT_OK;
}

/* version: the format's, in digits. */
static ct_status read_version(ct_torch_file *f)
{
    const ct_zip_entry *e;
    const uint8_t *bytes;
    char text[8] = "";
    CT_TRY(entry(f, "version", &e));
    if (!e) CT_TRY(entry(f, ".data/version", &e));
    if (!e) return ct_fail(CT_EFORMAT, "%s: an archive, but none of torch.save: no version in it", f->source);
    CT_TRY(ct_zip_bytes(f->zip, e, &bytes));
    for (size_t i = 0; i < e->size && i < sizeof text - 1; i++) text[i] = (char)bytes[i];
    const long v = strtol(text, NULL, 10);
    if (v < 1 || v > 10)
        return ct_fail(CT_EUNSUPPORTED, "%s: version %ld of torch's archives is unknown", f->source, v);
    return CT_OK;
}

static ct_status storage_entry(ct_torch_file *f, const ct_torch_storage *s, const ct_zip_entry **e)
{
    char name[96];
    snprintf(name, sizeof name, "data/%.*s", (int)s->key_len, s->key);
    CT_TRY(entry(f, name, e));
    if (!*e) return ct_fail(CT_EFORMAT, "%s: there is no '%s' in the archive", f->source, name);
    if ((*e)->size != (uint64_t)s->numel * s->type->bytes)
        return ct_fail(CT_EFORMAT, "%s: '%s' has %" PRIu64 " bytes, %" PRId64 " elements of %s are wanted", f->source,
                       name, (*e)->size, s->numel, s->type->name);
    return CT_OK;
}

static ct_status open_archive(ct_torch_file *f)
{
    const ct_zip_entry *e;
    const uint8_t *bytes;
    size_t used;
    CT_TRY(ct_zip_open(f->data, f->size, f->source, &f->zip));
    CT_TRY(find_prefix(f));
    CT_TRY(read_version(f));
    CT_TRY(read_order(f));
    CT_TRY(entry(f, "data.pkl", &e));
    if (e->size > CT_PICKLE_MAX_BYTES)
        return ct_fail(CT_EFORMAT, "%s: data.pkl has %" PRIu64 " bytes, at most %zu are read", f->source, e->size,
                       CT_PICKLE_MAX_BYTES);
    CT_TRY(ct_zip_bytes(f->zip, e, &bytes));
    const ct_pickle_rules rules = ct_torch_rules(&f->values);
    char *where = ct_asprintf("%s: data.pkl", f->source);
    if (!where) return CT_ENOMEM;
    ct_status st = ct_pickle_run(bytes, (size_t)e->size, where, &rules, &used, &f->pickle);
    ct_free(where);
    CT_TRY(st);
    for (size_t i = 0; i < f->values.storages; i++) CT_TRY(storage_entry(f, &f->values.storage[i], &e));
    return CT_OK;
}

/* ---- files before torch 1.6: magic number, version, system, the pickle, keys of storages, their bytes ---- */

/* Runs the pickle at *at, which may be no more than numbers, texts and dicts unless it is the main one. */
static ct_status run_next(ct_torch_file *f, size_t *at, bool whole, ct_pickle **out)
{
    size_t used;
    ct_pickle_rules rules = ct_torch_rules(&f->values);
    if (!whole) rules.persistent = NULL;
    CT_TRY(ct_pickle_run(f->data + *at, f->size - *at, f->source, &rules, &used, out));
    *at += used;
    return CT_OK;
}

static uint64_t number_at(const ct_torch_file *f, size_t at)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8; i++) v = v << 8 | f->data[at + (f->big_endian ? i : 7 - i)];
    return v;
}

/* Gives the storages of one key, of which there may be some with other types, their bytes. */
static ct_status place_storage(ct_torch_file *f, const ct_pickle_value *key, size_t *at)
{
    uint64_t bytes = 0;
    bool found = false;
    if (f->size - *at < 8) return ct_fail(CT_EFORMAT, "%s: cut off in front of a storage", f->source);
    const uint64_t numel = number_at(f, *at);
    *at += 8;
    for (size_t i = 0; i < f->values.storages; i++) {
        const ct_torch_storage *s = &f->values.storage[i];
        if (s->key_len != key->n || memcmp(s->key, key->s, key->n) != 0) continue;
        if ((uint64_t)s->numel != numel)
            return ct_fail(CT_EFORMAT, "%s: a storage of %" PRIu64 " elements, %" PRId64 " are wanted", f->source,
                           numel, s->numel);
        bytes = numel * s->type->bytes; /* numel is a storage's: no overflow */
        if (bytes > f->size - *at) return ct_fail(CT_EFORMAT, "%s: cut off in a storage", f->source);
        f->old_data[i] = f->data + *at;
        found = true;
    }
    if (!found) return ct_fail(CT_EFORMAT, "%s: a storage that no tensor has", f->source);
    *at += (size_t)bytes;
    return CT_OK;
}

static ct_status place_storages(ct_torch_file *f, const ct_pickle *keys, size_t at)
{
    const ct_pickle_value *v = ct_pickle_at(keys, ct_pickle_root(keys));
    /* one place for each storage and key: the square of many would take long */
    if (v->kind != CT_PY_LIST || v->n > f->values.storages || f->values.storages > MAX_OLD)
        return ct_fail(CT_EFORMAT, "%s: no list of its storages, or more than %d", f->source, MAX_OLD);
    if (!(f->old_data = ct_calloc(f->values.storages + 1, sizeof *f->old_data, "storages"))) return CT_ENOMEM;
    for (uint32_t i = 0; i < v->n; i++) {
        const ct_pickle_value *key = ct_pickle_at(keys, v->u.item[i]);
        if (key->kind != CT_PY_STR) return ct_fail(CT_EFORMAT, "%s: a storage's key is no str", f->source);
        CT_TRY(place_storage(f, key, &at));
    }
    for (size_t i = 0; i < f->values.storages; i++)
        if (!f->old_data[i]) return ct_fail(CT_EFORMAT, "%s: a storage is missing", f->source);
    return CT_OK;
}

static ct_status open_old(ct_torch_file *f)
{
    ct_pickle *number = NULL, *version = NULL, *system = NULL, *keys = NULL;
    size_t at = 0;
    ct_status st;
    CT_GOTO(st, run_next(f, &at, false, &number));
    CT_GOTO(st, run_next(f, &at, false, &version));
    const ct_pickle_value *v = ct_pickle_at(version, ct_pickle_root(version));
    if (v->kind != CT_PY_INT || v->u.i != 1001)
        CT_GOTO(st, ct_fail(CT_EUNSUPPORTED, "%s: not version 1001 of torch's old format", f->source));
    CT_GOTO(st, run_next(f, &at, false, &system));
    const ct_ref little = ct_pickle_get(system, ct_pickle_root(system), "little_endian");
    if (!little || ct_pickle_at(system, little)->kind != CT_PY_BOOL)
        CT_GOTO(st, ct_fail(CT_EFORMAT, "%s: does not say in what order its bytes are", f->source));
    f->big_endian = !ct_pickle_at(system, little)->u.i;
    CT_GOTO(st, run_next(f, &at, true, &f->pickle));
    CT_GOTO(st, run_next(f, &at, false, &keys));
    st = place_storages(f, keys, at);
fail:
    ct_pickle_free(number);
    ct_pickle_free(version);
    ct_pickle_free(system);
    ct_pickle_free(keys);
    return st;
}

/* ---- tensors ---- */

static ct_status describe(ct_torch_file *f, const ct_pickle_value *key, const ct_torch_view *w)
{
    ct_torch_tensor *t = &f->tensor[f->count];
    const ct_torch_type *type = f->values.storage[w->storage].type;
    if (memchr(key->s, '\0', key->n)) return ct_fail(CT_EFORMAT, "%s: a NUL in the name of a tensor", f->source);
    if (!(t->name = ct_strndup(key->s, key->n, "tensor name"))) return CT_ENOMEM;
    f->count++;
    t->storage = w->storage;
    t->offset = w->offset;
    t->odd = !type->readable ? type->name : w->ndim > CT_MAX_DIMS ? "more than 5 dimensions" : NULL;
    t->desc.dtype = type->dtype;
    if (w->ndim > CT_MAX_DIMS) return CT_OK;
    t->desc.ndim = w->ndim;
    memcpy(t->desc.dim, w->dim, sizeof t->desc.dim);
    for (int k = 0; k < w->ndim; k++) t->stride[k] = w->dim[k] > 1 ? w->stride[k] : 0;
    return CT_OK;
}

static ct_status list_tensors(ct_torch_file *f, ct_ref dict)
{
    const ct_pickle_value *v = ct_pickle_at(f->pickle, dict);
    char plain[64], shown[64];
    uint32_t left = 0;
    if (!(f->tensor = ct_calloc(v->n / 2 + 1, sizeof *f->tensor, "state dict"))) return CT_ENOMEM;
    for (uint32_t i = 0; i + 1 < v->n; i += 2) {
        const ct_pickle_value *key = ct_pickle_at(f->pickle, v->u.item[i]);
        const ct_torch_view *w = ct_torch_view_of(&f->values, f->pickle, v->u.item[i + 1]);
        if (key->kind == CT_PY_STR && w) {
            CT_TRY(describe(f, key, w));
            continue;
        }
        if (left++ >= 8) continue;
        snprintf(plain, sizeof plain, "%.*s", key->kind == CT_PY_STR ? (int)(key->n < 60 ? key->n : 60) : 9,
                 key->kind == CT_PY_STR ? key->s : "(no name)");
        ct_info("%s: '%s' is no tensor and left out", f->source, ct_text_visible(plain, shown, sizeof shown));
    }
    if (left > 8) ct_info("%s: %u more that are no tensors are left out", f->source, left - 8);
    return CT_OK;
}

static ct_status parse(ct_torch_file *f, const char *key)
{
    ct_ref dict;
    if (begins(f->data, f->size, "PK", 2)) CT_TRY(open_archive(f));
    else if (begins(f->data, f->size, old_magic, sizeof old_magic)) CT_TRY(open_old(f));
    else
        return ct_fail(CT_EFORMAT, "%s: no file of torch.save; where Python reads it with pickle, and it is trusted: "
                       "python3 -c \"import pickle, torch; torch.save(pickle.load(open('%s', 'rb')), 'state.pth')\"",
                       f->source, f->values.quoted);
    CT_TRY(ct_state_dict_find(&f->values, f->pickle, key, &dict));
    return list_tensors(f, dict);
}

static ct_status create(const char *source, ct_torch_file **out)
{
    *out = NULL;
    ct_torch_file *f = ct_calloc(1, sizeof *f, "file of torch.save");
    if (!f) return CT_ENOMEM;
    if (!(f->source = ct_strdup(source, "file of torch.save"))) {
        ct_free(f);
        return CT_ENOMEM;
    }
    f->values.source = f->source;
    f->values.quoted = strpbrk(f->source, "'\"\\$`!\n") ? "FILE" : f->source;
    *out = f;
    return CT_OK;
}

ct_status ct_torch_open(const char *path, const char *key, ct_torch_file **out)
{
    ct_torch_file *f;
    ct_status st;
    *out = NULL;
    CT_TRY(create(path, &f));
    CT_GOTO(st, ct_mmap_open(path, &f->map));
    f->data = f->map.data;
    f->size = f->map.size;
    CT_GOTO(st, parse(f, key));
    *out = f;
    return CT_OK;
fail:
    ct_torch_close(f);
    return st;
}

ct_status ct_torch_open_memory(const void *data, size_t size, const char *source, const char *key,
                               ct_torch_file **out)
{
    ct_torch_file *f;
    ct_status st;
    CT_TRY(create(source, &f));
    *out = NULL;
    f->data = data;
    f->size = size;
    CT_GOTO(st, parse(f, key));
    *out = f;
    return CT_OK;
fail:
    ct_torch_close(f);
    return st;
}

void ct_torch_close(ct_torch_file *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->count; i++) ct_free(f->tensor[i].name);
    ct_free(f->tensor);
    ct_free(f->old_data);
    ct_pickle_free(f->pickle);
    ct_torch_values_free(&f->values);
    ct_free(f->prefix);
    ct_zip_close(f->zip);
    if (f->map.data) ct_mmap_close(&f->map);
    ct_free(f->source);
    ct_free(f);
}

size_t ct_torch_count(const ct_torch_file *f) { return f->count; }

const ct_torch_tensor *ct_torch_at(const ct_torch_file *f, size_t i) { return i < f->count ? &f->tensor[i] : NULL; }

/* Copies one element, turned round where the file's order is not this machine's. */
static void copy_element(uint8_t *to, const uint8_t *from, size_t bytes, bool turn)
{
    if (!turn) memcpy(to, from, bytes);
    else
        for (size_t i = 0; i < bytes; i++) to[i] = from[bytes - 1 - i];
}

ct_status ct_torch_read(ct_torch_file *f, size_t i, void *dst)
{
    const ct_torch_tensor *t = &f->tensor[i];
    const ct_torch_storage *s = &f->values.storage[t->storage];
    const ct_desc *d = &t->desc;
    const int64_t n = ct_desc_numel(d);
    const size_t e = s->type->bytes;
    const uint16_t one = 1;
    const bool turn = f->big_endian == (*(const uint8_t *)&one == 1);
    const uint8_t *from;
    const ct_zip_entry *in;
    int64_t at[CT_MAX_DIMS] = { 0 }, off = t->offset, dense = 1;
    bool plain = !turn;
    if (n == 0) return CT_OK;
    if (f->zip) {
        CT_TRY(storage_entry(f, s, &in));
        CT_TRY(ct_zip_bytes(f->zip, in, &from));
    } else {
        from = f->old_data[t->storage];
    }
    for (int k = d->ndim - 1; k >= 0; dense *= d->dim[k--]) plain &= d->dim[k] == 1 || t->stride[k] == dense;
    if (plain) {
        memcpy(dst, from + (size_t)off * e, (size_t)n * e);
        return CT_OK;
    }
    for (int64_t j = 0; j < n; j++) {
        copy_element((uint8_t *)dst + (size_t)j * e, from + (size_t)off * e, e, turn);
        for (int k = d->ndim - 1; k >= 0; k--) {
            off += t->stride[k];
            if (++at[k] < d->dim[k]) break;
            off -= t->stride[k] * d->dim[k];
            at[k] = 0;
        }
    }
    return CT_OK;
}
