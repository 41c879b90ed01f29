#include "config.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "data/pack.h"

enum { HEADER_BYTES = 4096, BYTE_ORDER_MARK = 0x01020304, WRITE_CHUNK = 16 << 20, SCRATCH_FROM = 256 << 20 };

static const char magic[8] = { 'C', 'T', 'P', 'A', 'C', 'K', '4', '\n' };

typedef struct pack_header {
    char magic[8];
    uint32_t order;
    int32_t h, w, c, step;
    uint32_t files;
    int64_t n;
    uint64_t px_bytes, record_bytes;
    char key[40];           /* 32 hex digits, zero padded */
    char px_hash[40];
    char record_hash[40];
    char header_hash[40];   /* over the bytes in front of it */
} pack_header;

_Static_assert(sizeof(pack_header) == 216 && sizeof(pack_header) <= HEADER_BYTES, "the header has no padding");

/* Writers of one process must not share a temporary file (its name has the process id only). */
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

void ct_pack_free(ct_pack *p)
{
    if (!p) return;
    if (p->own_text) {
        for (int64_t i = 0; i < p->n; i++) ct_free(p->own_text[i]);
    }
    ct_free(p->own_text);
    ct_free(p->at);
    ct_free(p->width);
    ct_free(p->from);
    ct_free(p->size);
    ct_free(p->own_state);
    if (!p->map.data) ct_free(p->own_px);
    if (p->text && !p->own_text) ct_free((void *)p->text);
    ct_mmap_close(&p->map);
    *p = (ct_pack){ 0 };
}

size_t ct_pack_bytes(const ct_pack *p, int64_t i)
{
    if (p->size) return (size_t)p->size[i];
    return (size_t)p->shape.h * (size_t)ct_pack_width(&p->shape, p->width[i]) * (size_t)p->shape.c;
}

/* Files lie in the order of their numbers. */
static ct_status lay_out_files(ct_pack *p)
{
    size_t at = 0;
    p->at = ct_malloc((size_t)p->n * sizeof *p->at, "pack layout");
    if (!p->at) return CT_ENOMEM;
    for (int64_t i = 0; i < p->n; i++) {
        p->at[i] = at;
        at += (size_t)p->size[i];
    }
    p->px_bytes = at;
    return CT_OK;
}

/* The number of an item's width among the possible ones: 0, step, 2 step ... w. */
static size_t kind_of(const ct_pack *p, int64_t i)
{
    int step = p->shape.step > 0 ? p->shape.step : p->shape.w, w = ct_pack_width(&p->shape, p->width[i]);
    return (size_t)(w / step + (w % step != 0));
}

/* at and px_bytes from the widths: a counting sort by item width. */
static ct_status lay_out(ct_pack *p)
{
    if (p->size) return lay_out_files(p);
    int step = p->shape.step > 0 ? p->shape.step : p->shape.w;
    size_t kinds = (size_t)(p->shape.w / step) + 2, at = 0;
    size_t *next = ct_calloc(kinds, sizeof *next, "pack layout"); /* bytes of a kind, then where its next item goes */
    p->at = ct_malloc((size_t)p->n * sizeof *p->at, "pack layout");
    if (!next || !p->at) {
        ct_free(next);
        return CT_ENOMEM;
    }
    for (int64_t i = 0; i < p->n; i++) next[kind_of(p, i)] += ct_pack_bytes(p, i);
    for (size_t k = 0; k < kinds; k++) {
        size_t bytes = next[k];
        next[k] = at;
        at += bytes;
    }
    for (int64_t i = 0; i < p->n; i++) {
        size_t *to = &next[kind_of(p, i)];
        p->at[i] = *to;
        *to += ct_pack_bytes(p, i);
    }
    p->px_bytes = at;
    ct_free(next);
    return CT_OK;
}

ct_status ct_pack_make(int64_t n, const ct_pack_shape *s, ct_pack *out)
{
    *out = (ct_pack){ .n = n, .shape = *s };
    if (n < 1 || s->h < 1 || s->w < 1 || s->c < 1 || s->step < 0 ||
        (uint64_t)n > SIZE_MAX / 2 / ((size_t)s->h * (size_t)s->w * (size_t)s->c)) {
        return ct_fail(CT_EINVAL, "no pack of %lld pictures of %dx%dx%d", (long long)n, s->w, s->h, s->c);
    }
    out->own_state = ct_calloc((size_t)n, 1, "packed states");
    out->width = out->own_state ? ct_malloc((size_t)n * sizeof *out->width, "packed widths") : NULL;
    out->from = out->width ? ct_calloc((size_t)n, sizeof *out->from, "packed sizes") : NULL;
    if (s->files) out->size = ct_calloc((size_t)n, sizeof *out->size, "packed sizes");
    out->own_text = out->from && (out->size || !s->files) ? ct_calloc((size_t)n, sizeof *out->own_text, "packed texts")
                                                          : NULL;
    if (!out->own_text) {
        ct_pack_free(out);
        return CT_ENOMEM;
    }
    for (int64_t i = 0; i < n; i++) out->width[i] = s->w;
    out->state = out->own_state;
    out->text = (const char **)out->own_text;
    return CT_OK;
}

ct_status ct_pack_add_pixels(ct_pack *p, const char *scratch)
{
    CT_TRY(lay_out(p));
    if (scratch && p->px_bytes > SCRATCH_FROM && ct_mmap_scratch(scratch, p->px_bytes, &p->map, &p->own_px) == CT_OK) {
        p->px = p->own_px;
        return CT_OK;
    } /* otherwise in memory, if that has the room */
    p->own_px = ct_aligned_alloc(p->px_bytes > 0 ? p->px_bytes : 1, "packed pixels");
    if (!p->own_px) return CT_ENOMEM;
    p->px = p->own_px;
    return CT_OK;
}

static ct_status damaged(const char *path, const char *what)
{
    return ct_fail(CT_EFORMAT, "%s: damaged cache: %s", path, what);
}

/* Bytes of a record in front of its string. */
static size_t fixed_bytes(const ct_pack *p) { return 1 + 3 * sizeof(int32_t) + (p->size ? sizeof(int64_t) : 0); }

/* Reads the n records into state, width, from and text. */
static ct_status read_records(const char *path, const uint8_t *p, size_t size, ct_pack *out)
{
    const uint8_t *end = p + size;
    const size_t n = (size_t)out->n;
    if (out->shape.files && !(out->size = ct_malloc(n * sizeof *out->size, "packed sizes"))) return CT_ENOMEM;
    const size_t fixed = fixed_bytes(out);
    size_t room = out->px_bytes; /* what sizes may add up to */
    out->text = ct_malloc((size_t)out->n * sizeof *out->text, "packed texts");
    out->width = out->text ? ct_malloc((size_t)out->n * sizeof *out->width, "packed widths") : NULL;
    out->from = out->width ? ct_malloc((size_t)out->n * sizeof *out->from, "packed sizes") : NULL;
    out->own_state = out->from ? ct_malloc((size_t)out->n, "packed states") : NULL;
    if (!out->own_state) return CT_ENOMEM;
    out->state = out->own_state;
    for (int64_t i = 0; i < out->n; i++) {
        const size_t left = (size_t)(end - p);
        const uint8_t *nul = left > fixed ? memchr(p + fixed, 0, left - fixed) : NULL;
        if (!nul || p[0] > CT_PACK_BAD) return damaged(path, "records");
        out->own_state[i] = p[0];
        memcpy(&out->width[i], p + 1, sizeof out->width[i]);
        memcpy(out->from[i], p + 1 + sizeof out->width[i], sizeof out->from[i]);
        if (out->width[i] < (p[0] == CT_PACK_GOOD) || out->width[i] > out->shape.w) return damaged(path, "records");
        if (out->size) {
            memcpy(&out->size[i], p + 1 + 3 * sizeof(int32_t), sizeof out->size[i]);
            if (out->size[i] < 0 || (uint64_t)out->size[i] > room) return damaged(path, "records");
            room -= (size_t)out->size[i];
        }
        out->text[i] = (const char *)p + fixed;
        p = nul + 1;
    }
    return p == end ? CT_OK : damaged(path, "records");
}

ct_status ct_pack_load(const char *path, const char key[33], int64_t n, const ct_pack_shape *s, ct_pack *out)
{
    ct_status st = CT_OK;
    pack_header head;
    char hash[33];
    *out = (ct_pack){ 0 };
    ct_mmap map;
    CT_TRY(ct_mmap_open(path, &map));
    *out = (ct_pack){ .n = n, .shape = *s, .map = map };

    if (map.size < HEADER_BYTES) {
        st = damaged(path, "too short");
        goto fail;
    }
    memcpy(&head, map.data, sizeof head);
    ct_hash_hex(&head, offsetof(pack_header, header_hash), hash);
    const char *wrong = NULL;
    size_t rest = map.size - HEADER_BYTES;
    if (memcmp(head.magic, magic, sizeof magic) != 0)
        wrong = memcmp(head.magic, magic, 6) == 0 ? "written by another version" : "not a cache of this program";
    else if (head.order != BYTE_ORDER_MARK) wrong = "other byte order";
    else if (memcmp(hash, head.header_hash, 33) != 0) wrong = "header checksum";
    else if (memcmp(head.key, key, 33) != 0 || head.n != n) wrong = "other data";
    else if (head.h != s->h || head.w != s->w || head.c != s->c || head.step != s->step ||
             head.files != (uint32_t)s->files)
        wrong = "other geometry";
    else if (rest < head.px_bytes || rest - head.px_bytes != head.record_bytes) wrong = "wrong length";
    if (wrong) {
        st = damaged(path, wrong);
        goto fail;
    }

    const size_t bytes = head.px_bytes;
    out->px = map.data + HEADER_BYTES;
    ct_hash_hex(out->px, bytes, hash);
    if (memcmp(hash, head.px_hash, 33) != 0) {
        st = damaged(path, "pixel checksum");
        goto fail;
    }
    ct_hash_hex(out->px + bytes, head.record_bytes, hash);
    if (memcmp(hash, head.record_hash, 33) != 0) {
        st = damaged(path, "record checksum");
        goto fail;
    }
    out->px_bytes = bytes;
    CT_GOTO(st, read_records(path, out->px + bytes, head.record_bytes, out));
    CT_GOTO(st, lay_out(out));
    if (out->px_bytes != bytes) CT_GOTO(st, damaged(path, "widths"));
    return CT_OK;
fail:
    ct_pack_free(out);
    return st;
}

static ct_status make_records(const ct_pack *p, char **blob, size_t *size)
{
    *size = 0;
    for (int64_t i = 0; i < p->n; i++) {
        *size += fixed_bytes(p) + 1 + (p->text[i] ? strlen(p->text[i]) : 0);
    }
    char *at = *blob = ct_malloc(*size, "cache records");
    if (!at) return CT_ENOMEM;
    for (int64_t i = 0; i < p->n; i++) {
        const char *text = p->text[i] ? p->text[i] : "";
        size_t len = strlen(text) + 1;
        *at++ = (char)p->state[i];
        memcpy(at, &p->width[i], sizeof p->width[i]);
        at += sizeof p->width[i];
        memcpy(at, p->from[i], sizeof p->from[i]);
        at += sizeof p->from[i];
        if (p->size) {
            memcpy(at, &p->size[i], sizeof p->size[i]);
            at += sizeof p->size[i];
        }
        memcpy(at, text, len);
        at += len;
    }
    return CT_OK;
}

ct_status ct_pack_store(const char *path, const char key[33], const ct_pack *p)
{
    ct_status st = CT_OK;
    char *blob = NULL, *dir = NULL;
    size_t blob_size = 0, bytes = p->px_bytes;
    ct_atomic_file *f = NULL;
    union { pack_header h; uint8_t bytes[HEADER_BYTES]; } head;

    CT_GOTO(st, make_records(p, &blob, &blob_size));
    memset(&head, 0, sizeof head);
    memcpy(head.h.magic, magic, sizeof magic);
    head.h.order = BYTE_ORDER_MARK;
    head.h.h = p->shape.h;
    head.h.w = p->shape.w;
    head.h.c = p->shape.c;
    head.h.step = p->shape.step;
    head.h.files = p->shape.files;
    head.h.n = p->n;
    head.h.px_bytes = bytes;
    head.h.record_bytes = blob_size;
    memcpy(head.h.key, key, 33);
    ct_hash_hex(p->px, bytes, head.h.px_hash);
    ct_hash_hex(blob, blob_size, head.h.record_hash);
    ct_hash_hex(&head.h, offsetof(pack_header, header_hash), head.h.header_hash);

    const char *slash = strrchr(path, '/');
    if (slash) {
        dir = ct_strndup(path, (size_t)(slash - path), "cache folder");
        if (!dir) {
            st = CT_ENOMEM;
            goto fail;
        }
        CT_GOTO(st, ct_mkdir_p(dir));
    }
    pthread_mutex_lock(&store_lock);
    st = ct_atomic_open(path, &f);
    if (st == CT_OK) st = ct_atomic_write(f, head.bytes, sizeof head);
    for (size_t at = 0; st == CT_OK && at < bytes; at += WRITE_CHUNK) {
        st = ct_atomic_write(f, p->px + at, bytes - at < WRITE_CHUNK ? bytes - at : WRITE_CHUNK);
    }
    if (st == CT_OK) st = ct_atomic_write(f, blob, blob_size);
    if (st == CT_OK) st = ct_atomic_commit(f);
    else ct_atomic_abort(f);
    pthread_mutex_unlock(&store_lock);
fail:
    ct_free(dir);
    ct_free(blob);
    return st;
}
