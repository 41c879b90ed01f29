#include "config.h"

#include "pickle/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"

enum {
    MAX_ENTRIES = 1 << 18,
    END = 22,       /* bytes of the record at the end, without its comment */
    END64 = 56,
    LOCATOR64 = 20,
    CENTRAL = 46,
    LOCAL = 30,
    LEAST_ROOM = 64 << 20 /* that what is inflated may take, whatever the size of the file */
};

struct ct_zip {
    const uint8_t *data;
    size_t size;
    char *source;
    ct_zip_entry *entry;
    size_t n;
    uint64_t directory; /* where it begins: data end before it */
    uint64_t inflated;  /* bytes so far */
};

static uint64_t get(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

static bool is(const uint8_t *p, const char *signature) { return memcmp(p, signature, 4) == 0; }

#define DAMAGED(z, ...) ct_fail_context(ct_fail(CT_EFORMAT, __VA_ARGS__), "%s: damaged archive", (z)->source)

/* ---- the end: where the directory lies ---- */

typedef struct place { uint64_t at, bytes, entries, end; } place; /* end: where the records behind it begin */

static ct_status find_end(const ct_zip *z, place *p)
{
    const size_t size = z->size, most = END + 65535;
    size_t at = size < END ? 0 : size - END + 1;
    for (size_t tried = 0; at > 0 && tried <= most; tried++) {
        const uint8_t *e = z->data + --at;
        if (!is(e, "PK\5\6") || get(e + 20, 2) != size - at - END) continue;
        if (get(e + 4, 2) != 0 || get(e + 6, 2) != 0)
            return ct_fail(CT_EUNSUPPORTED, "%s: an archive in several parts", z->source);
        *p = (place){ get(e + 16, 4), get(e + 12, 4), get(e + 10, 2), at };
        if (at < LOCATOR64 || !is(e - LOCATOR64, "PK\6\7")) return CT_OK;
        const uint64_t far = get(e - LOCATOR64 + 8, 8);
        if (far > at - LOCATOR64 || at - LOCATOR64 - far < END64 || !is(z->data + far, "PK\6\6"))
            return DAMAGED(z, "no end of its directory at byte %" PRIu64, far);
        const uint8_t *l = z->data + far;
        *p = (place){ get(l + 48, 8), get(l + 40, 8), get(l + 32, 8), far };
        return CT_OK;
    }
    return DAMAGED(z, "no directory at its end: it may be cut off");
}

/* ---- entries ---- */

static bool name_is_safe(const char *s)
{
    if (*s == '/' || strchr(s, '\\')) return false;
    for (const char *part = s; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
    }
    return true;
}

/* Sizes and the place of an entry that do not fit into 32 bits: field 1 of the extra fields, those alone that are
 * 0xffffffff, in this order. */
static bool read_wide(const uint8_t *extra, size_t bytes, uint64_t *v[3])
{
    while (bytes >= 4) {
        const uint64_t id = get(extra, 2), len = get(extra + 2, 2);
        if (len > bytes - 4) return false;
        if (id == 1) {
            size_t at = 0;
            for (int i = 0; i < 3; i++) {
                if (*v[i] != 0xffffffff) continue;
                if (at + 8 > len) return false;
                *v[i] = get(extra + 4 + at, 8);
                at += 8;
            }
            return true;
        }
        extra += 4 + len;
        bytes -= 4 + len;
    }
    return *v[0] != 0xffffffff && *v[1] != 0xffffffff && *v[2] != 0xffffffff;
}

/* Where the data of an entry begin: behind its local header, which must say the same as the directory. */
static ct_status look_in_front(const ct_zip *z, const ct_zip_entry *e, uint64_t *data)
{
    if (e->at > z->directory || z->directory - e->at < LOCAL || !is(z->data + e->at, "PK\3\4"))
        return DAMAGED(z, "'%s' is not where its directory says", e->name);
    const uint8_t *l = z->data + e->at;
    const uint64_t name = get(l + 26, 2), extra = get(l + 28, 2), left = z->directory - e->at - LOCAL;
    if (name + extra > left || e->packed > left - name - extra)
        return DAMAGED(z, "'%s' is larger than what is left of the file", e->name);
    if (name != strlen(e->name) || memcmp(l + LOCAL, e->name, (size_t)name) != 0 ||
        get(l + 8, 2) != (e->deflated ? 8 : 0))
        return DAMAGED(z, "'%s' has another header in front of its data than in the directory", e->name);
    *data = e->at + LOCAL + name + extra;
    return CT_OK;
}

/* The entry at *at of the directory, which ends at `end`. */
static ct_status read_entry(ct_zip *z, uint64_t *at, uint64_t end, ct_zip_entry *e)
{
    const uint8_t *c = z->data + *at;
    if (end - *at < CENTRAL || !is(c, "PK\1\2")) return DAMAGED(z, "its directory is cut off");
    const uint64_t flags = get(c + 8, 2), method = get(c + 10, 2), name = get(c + 28, 2), extra = get(c + 30, 2),
                   comment = get(c + 32, 2);
    if (name + extra + comment > end - *at - CENTRAL) return DAMAGED(z, "its directory is cut off");
    if (!(e->name = ct_strndup((const char *)c + CENTRAL, (size_t)name, "archive"))) return CT_ENOMEM;
    if (strlen(e->name) != name || name == 0 || !name_is_safe(e->name))
        return ct_fail(CT_EFORMAT, "%s: refused: an entry of the archive is called '%s', which leads out of it",
                       z->source, e->name);
    if (flags & 1) return ct_fail(CT_EUNSUPPORTED, "%s: '%s' is encrypted", z->source, e->name);
    if (method != 0 && method != 8)
        return ct_fail(CT_EUNSUPPORTED, "%s: '%s' is packed by method %d; stored and deflated are supported", z->source,
                       e->name, (int)method);
    e->crc = (uint32_t)get(c + 16, 4);
    e->packed = get(c + 20, 4);
    e->size = get(c + 24, 4);
    e->at = get(c + 42, 4);
    e->deflated = method == 8;
    if (!read_wide(c + CENTRAL + name, (size_t)extra, (uint64_t *[3]){ &e->size, &e->packed, &e->at }))
        return DAMAGED(z, "'%s' has no sizes", e->name);
    if (!e->deflated && e->size != e->packed)
        return DAMAGED(z, "'%s' is stored, but takes %" PRIu64 " bytes for %" PRIu64, e->name, e->packed, e->size);
    *at += CENTRAL + name + extra + comment;
    return CT_OK;
}

static int by_place(const void *a, const void *b)
{
    const ct_zip_entry *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ct_zip_entry *)a)->name, ((const ct_zip_entry *)b)->name);
}

/* No two entries may share bytes or a name; afterwards .at is where their data are. */
static ct_status check_entries(ct_zip *z)
{
    uint64_t last = 0;
    if (z->n == 0) return DAMAGED(z, "there is nothing in it");
    qsort(z->entry, z->n, sizeof *z->entry, by_place);
    for (size_t i = 0; i < z->n; i++) {
        ct_zip_entry *e = &z->entry[i];
        uint64_t data = 0;
        if (e->at < last) return DAMAGED(z, "'%s' overlaps '%s'", e->name, z->entry[i - 1].name);
        CT_TRY(look_in_front(z, e, &data));
        e->at = data;
        last = data + e->packed;
    }
    qsort(z->entry, z->n, sizeof *z->entry, by_name);
    for (size_t i = 1; i < z->n; i++)
        if (strcmp(z->entry[i - 1].name, z->entry[i].name) == 0)
            return DAMAGED(z, "two entries are called '%s'", z->entry[i].name);
    return CT_OK;
}

static ct_status read_directory(ct_zip *z)
{
    place p = { 0, 0, 0, 0 };
    CT_TRY(find_end(z, &p));
    if (p.at > p.end || p.bytes > p.end - p.at)
        return DAMAGED(z, "its directory of %" PRIu64 " bytes does not fit in", p.bytes);
    if (p.entries > MAX_ENTRIES || p.entries > p.bytes / CENTRAL)
        return DAMAGED(z, "%" PRIu64 " entries in a directory of %" PRIu64 " bytes", p.entries, p.bytes);
    z->directory = p.at;
    if (!(z->entry = ct_calloc((size_t)p.entries + 1, sizeof *z->entry, "archive"))) return CT_ENOMEM;
    for (uint64_t i = 0, at = p.at; i < p.entries; i++) {
        z->n++; /* ct_zip_close() frees what it has */
        CT_TRY(read_entry(z, &at, p.at + p.bytes, &z->entry[i]));
    }
    return check_entries(z);
}

ct_status ct_zip_open(const uint8_t *data, size_t size, const char *source, ct_zip **out)
{
    ct_status st = CT_ENOMEM;
    *out = NULL;
    ct_zip *z = ct_calloc(1, sizeof *z, "archive");
    if (!z) return CT_ENOMEM;
    z->data = data;
    z->size = size;
    if (!(z->source = ct_strdup(source, "archive"))) goto fail;
    CT_GOTO(st, read_directory(z));
    *out = z;
    return CT_OK;
fail:
    ct_zip_close(z);
    return st;
}

void ct_zip_close(ct_zip *z)
{
    if (!z) return;
    for (size_t i = 0; i < z->n; i++) {
        ct_free(z->entry[i].name);
        ct_free(z->entry[i].inflated);
    }
    ct_free(z->entry);
    ct_free(z->source);
    ct_free(z);
}

size_t ct_zip_count(const ct_zip *z) { return z->n; }

const ct_zip_entry *ct_zip_at(const ct_zip *z, size_t i) { return i < z->n ? &z->entry[i] : NULL; }

const ct_zip_entry *ct_zip_find(const ct_zip *z, const char *name)
{
    size_t low = 0, high = z->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int c = strcmp(z->entry[mid].name, name);
        if (c == 0) return &z->entry[mid];
        if (c < 0) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

/* ---- bytes ---- */

static ct_status inflate_entry(ct_zip *z, ct_zip_entry *e)
{
    const uint64_t room = z->size > LEAST_ROOM / 8 ? 8 * (uint64_t)z->size : LEAST_ROOM;
    if (e->size > room - z->inflated)
        return ct_fail(CT_EFORMAT, "%s: refused: '%s' would grow from %" PRIu64 " to %" PRIu64 " bytes", z->source,
                       e->name, e->packed, e->size);
    if (!(e->inflated = ct_malloc((size_t)e->size, "an entry of an archive"))) return CT_ENOMEM;
    z->inflated += e->size;
    z_stream s = { .next_in = (Bytef *)(uintptr_t)(z->data + e->at), .next_out = e->inflated };
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return ct_fail(CT_ENOMEM, "%s: no memory to inflate", z->source);
    uint64_t in = e->packed, out = e->size; /* zlib counts in 32 bits */
    int rc = Z_OK;
    while (rc == Z_OK) {
        const uInt in_now = in > 1 << 30 ? 1 << 30 : (uInt)in, out_now = out > 1 << 30 ? 1 << 30 : (uInt)out;
        s.avail_in = in_now;
        s.avail_out = out_now;
        rc = inflate(&s, Z_NO_FLUSH);
        in -= in_now - s.avail_in;
        out -= out_now - s.avail_out;
    }
    inflateEnd(&s);
    if (rc == Z_STREAM_END && in == 0 && out == 0) return CT_OK;
    ct_free(e->inflated);
    e->inflated = NULL;
    return rc == Z_MEM_ERROR ? ct_fail(CT_ENOMEM, "%s: no memory to inflate '%s'", z->source, e->name)
                             : DAMAGED(z, "'%s' does not inflate to its %" PRIu64 " bytes", e->name, e->size);
}

ct_status ct_zip_bytes(ct_zip *z, const ct_zip_entry *entry, const uint8_t **bytes)
{
    ct_zip_entry *e = &z->entry[entry - z->entry];
    if (e->deflated && !e->inflated) CT_TRY(inflate_entry(z, e));
    const uint8_t *p = e->deflated ? e->inflated : z->data + e->at;
    if (!e->checked) {
        const uint32_t crc = (uint32_t)crc32_z(0, p, (size_t)e->size);
        if (crc != e->crc)
            return DAMAGED(z, "the checksum of '%s' is %08" PRIx32 ", the directory says %08" PRIx32, e->name, crc,
                           e->crc);
        e->checked = true;
    }
    *bytes = p;
    return CT_OK;
}
