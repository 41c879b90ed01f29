#include "config.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "data/pack.h"

enum { HEADER_BYTES = 4096, BYTE_ORDER_MARK = 0x01020304, WRITE_CHUNK = 16 << 20 };

static const char magic[8] = { 'C', 'T', 'P', 'A', 'C', 'K', '1', '\n' };

typedef struct pack_header {
    char magic[8];
    uint32_t order;
    int32_t h, w, c;
    int64_t n;
    uint64_t record_bytes;
    char key[40];           /* 32 hex digits, zero padded */
    char px_hash[40];
    char record_hash[40];
    char header_hash[40];   /* over the bytes in front of it */
} pack_header;

_Static_assert(sizeof(pack_header) == 200 && sizeof(pack_header) <= HEADER_BYTES, "the header has no padding");

/* Writers of one process must not share a temporary file (its name has the process id only). */
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t px_bytes(int64_t n, int h, int w, int c)
{
    return (size_t)n * (size_t)h * (size_t)w * (size_t)c;
}

void ct_pack_free(ct_pack *p)
{
    if (!p) return;
    if (p->own_text) {
        for (int64_t i = 0; i < p->n; i++) ct_free(p->own_text[i]);
    }
    ct_free(p->own_text);
    ct_free(p->own_state);
    ct_free(p->own_px);
    if (p->text && !p->own_text) ct_free((void *)p->text);
    ct_mmap_close(&p->map);
    *p = (ct_pack){ 0 };
}

ct_status ct_pack_make(int64_t n, int h, int w, int c, ct_pack *out)
{
    *out = (ct_pack){ .n = n, .h = h, .w = w, .c = c };
    if (n < 1 || h < 1 || w < 1 || c < 1 || (uint64_t)n > SIZE_MAX / 2 / ((size_t)h * (size_t)w * (size_t)c)) {
        return ct_fail(CT_EINVAL, "no pack of %lld pictures of %dx%dx%d", (long long)n, w, h, c);
    }
    size_t bytes = px_bytes(n, h, w, c);
    out->own_px = ct_aligned_alloc(bytes, "packed pixels");
    out->own_state = out->own_px ? ct_calloc((size_t)n, 1, "packed states") : NULL;
    out->own_text = out->own_state ? ct_calloc((size_t)n, sizeof *out->own_text, "packed texts") : NULL;
    if (!out->own_text) {
        ct_pack_free(out);
        return CT_ENOMEM;
    }
    out->px = out->own_px;
    out->state = out->own_state;
    out->text = (const char **)out->own_text;
    return CT_OK;
}

static ct_status damaged(const char *path, const char *what)
{
    return ct_fail(CT_EFORMAT, "%s: damaged cache: %s", path, what);
}

/* Reads the n records into state and text. */
static ct_status read_records(const char *path, const uint8_t *p, size_t size, ct_pack *out)
{
    const uint8_t *end = p + size;
    out->text = ct_malloc((size_t)out->n * sizeof *out->text, "packed texts");
    out->own_state = out->text ? ct_malloc((size_t)out->n, "packed states") : NULL;
    if (!out->own_state) return CT_ENOMEM;
    out->state = out->own_state;
    for (int64_t i = 0; i < out->n; i++) {
        const uint8_t *nul = end - p > 1 ? memchr(p + 1, 0, (size_t)(end - p - 1)) : NULL;
        if (!nul || p[0] > CT_PACK_BAD) return damaged(path, "records");
        out->own_state[i] = p[0];
        out->text[i] = (const char *)p + 1;
        p = nul + 1;
    }
    return p == end ? CT_OK : damaged(path, "records");
}

ct_status ct_pack_load(const char *path, const char key[33], int64_t n, int h, int w, int c, ct_pack *out)
{
    ct_status st = CT_OK;
    pack_header head;
    char hash[33];
    *out = (ct_pack){ 0 };
    ct_mmap map;
    CT_TRY(ct_mmap_open(path, &map));
    *out = (ct_pack){ .n = n, .h = h, .w = w, .c = c, .map = map };
    size_t bytes = px_bytes(n, h, w, c);

    if (map.size < HEADER_BYTES) {
        st = damaged(path, "too short");
        goto fail;
    }
    memcpy(&head, map.data, sizeof head);
    ct_hash_hex(&head, offsetof(pack_header, header_hash), hash);
    const char *wrong = NULL;
    size_t rest = map.size - HEADER_BYTES;
    if (memcmp(head.magic, magic, sizeof magic) != 0) wrong = "not a cache of this program";
    else if (head.order != BYTE_ORDER_MARK) wrong = "other byte order";
    else if (memcmp(hash, head.header_hash, 33) != 0) wrong = "header checksum";
    else if (memcmp(head.key, key, 33) != 0 || head.n != n) wrong = "other data";
    else if (head.h != h || head.w != w || head.c != c) wrong = "other geometry";
    else if (rest < bytes || rest - bytes != head.record_bytes) wrong = "wrong length";
    if (wrong) {
        st = damaged(path, wrong);
        goto fail;
    }

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
    CT_GOTO(st, read_records(path, out->px + bytes, head.record_bytes, out));
    return CT_OK;
fail:
    ct_pack_free(out);
    return st;
}

static ct_status make_records(const ct_pack *p, char **blob, size_t *size)
{
    *size = 0;
    for (int64_t i = 0; i < p->n; i++) *size += 2 + (p->text[i] ? strlen(p->text[i]) : 0);
    char *at = *blob = ct_malloc(*size, "cache records");
    if (!at) return CT_ENOMEM;
    for (int64_t i = 0; i < p->n; i++) {
        const char *text = p->text[i] ? p->text[i] : "";
        size_t len = strlen(text) + 1;
        *at++ = (char)p->state[i];
        memcpy(at, text, len);
        at += len;
    }
    return CT_OK;
}

ct_status ct_pack_store(const char *path, const char key[33], const ct_pack *p)
{
    ct_status st = CT_OK;
    char *blob = NULL, *dir = NULL;
    size_t blob_size = 0, bytes = px_bytes(p->n, p->h, p->w, p->c);
    ct_atomic_file *f = NULL;
    union { pack_header h; uint8_t bytes[HEADER_BYTES]; } head;

    CT_GOTO(st, make_records(p, &blob, &blob_size));
    memset(&head, 0, sizeof head);
    memcpy(head.h.magic, magic, sizeof magic);
    head.h.order = BYTE_ORDER_MARK;
    head.h.h = p->h;
    head.h.w = p->w;
    head.h.c = p->c;
    head.h.n = p->n;
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
