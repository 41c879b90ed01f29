#include "config.h"

#include "tests/fuzz/fuzz_util.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/dtype.h"

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
    return path;
}

/* ---- safetensors ---- */

static unsigned state;

static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return below ? (state >> 8) % below : 0;
}

/* Text that JSON takes: what is no ASCII becomes '?'. */
static json_t *text_value(const uint8_t *p, size_t n)
{
    char *s = malloc(n + 1);
    if (!s) return NULL;
    for (size_t i = 0; i < n; i++) s[i] = p[i] && p[i] < 0x80 ? (char)p[i] : '?';
    json_t *v = json_stringn(s, n);
    free(s);
    return v;
}

static json_t *mutated_text(const char *old)
{
    uint8_t buf[4096];
    size_t n = strlen(old);
    if (n > sizeof buf / 2) n = sizeof buf / 2;
    memcpy(buf, old, n);
    n = LLVMFuzzerMutate(buf, n, sizeof buf);
    return text_value(buf, n);
}

/* The k-th member of an object. */
static const char *pick(json_t *o, json_t **v)
{
    const size_t n = json_object_size(o);
    void *it = json_object_iter(o);
    for (size_t k = draw((unsigned)n); it && k > 0; k--) it = json_object_iter_next(o, it);
    *v = it ? json_object_iter_value(it) : NULL;
    return it ? json_object_iter_key(it) : NULL;
}

static void change_meta(json_t *header)
{
    json_t *meta = json_object_get(header, "__metadata__"), *v;
    const char *key = pick(meta, &v);
    if (!key) return;
    if (draw(16) == 0) json_object_del(meta, key);
    else if (json_is_string(v)) json_object_set_new(meta, key, mutated_text(json_string_value(v)));
}

static void change_tensor(json_t *header)
{
    static const char *const dtype[] = { "F32", "F64", "BF16", "F16", "U8", "I32", "I64", "F8" };
    json_t *v, *shape;
    const char *name = pick(header, &v);
    if (!name || strcmp(name, "__metadata__") == 0 || !(shape = json_object_get(v, "shape"))) return;
    switch (draw(5)) {
    case 0: json_object_set_new(v, "dtype", json_string(dtype[draw(8)])); break;
    case 1: json_array_append_new(shape, json_integer(draw(3))); break;
    case 2: json_array_remove(shape, draw((unsigned)json_array_size(shape))); break;
    case 3:
        if (json_array_size(shape))
            json_array_set_new(shape, draw((unsigned)json_array_size(shape)), json_integer(draw(2) ? draw(9) : 1 << draw(20)));
        break;
    default: {
        char other[300];
        snprintf(other, sizeof other, "%.250s%u", name, draw(4));
        json_object_set(header, other, v);
        json_object_del(header, name);
    }
    }
}

static uint64_t bytes_of(const json_t *v)
{
    static const struct { const char *name; unsigned bytes; } kinds[] = {
        { "F64", 8 }, { "I64", 8 }, { "F32", 4 }, { "I32", 4 }, { "BF16", 2 }, { "F16", 2 }, { "U8", 1 },
    };
    const char *dtype = json_string_value(json_object_get(v, "dtype"));
    uint64_t n = 0;
    for (size_t i = 0; dtype && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, dtype) == 0) n = kinds[i].bytes;
    json_t *shape = json_object_get(v, "shape");
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const uint64_t d = (uint64_t)json_integer_value(json_array_get(shape, i));
        n = d > 1 << 20 || n > 1 << 20 ? 1 << 20 : n * d;
    }
    return n;
}

/* Header and data, tensors one behind the other, without checksums. 0: it does not fit. */
static size_t lay_out(json_t *header, const uint8_t *data, size_t data_size, uint8_t *to, size_t max)
{
    json_t *v, *meta = json_object_get(header, "__metadata__");
    const char *key;
    void *next;
    uint64_t at = 0;
    uint8_t *block = calloc(1, max);
    size_t n = 0;
    if (!block) return 0;
    json_object_foreach_safe (meta, next, key, v)
        if (strncmp(key, "xxh3", 4) == 0) json_object_del(meta, key);
    json_object_foreach (header, key, v) {
        if (strcmp(key, "__metadata__") == 0) continue;
        const uint64_t bytes = bytes_of(v);
        json_t *offsets = json_object_get(v, "data_offsets");
        const uint64_t from = (uint64_t)json_integer_value(json_array_get(offsets, 0));
        if (at + bytes > max) goto fail;
        if (from < data_size) memcpy(block + at, data + from, bytes < data_size - from ? bytes : data_size - from);
        json_object_set_new(v, "data_offsets", json_pack("[I,I]", (json_int_t)at, (json_int_t)(at + bytes)));
        at += bytes;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    if (text && 8 + strlen(text) + at <= max) {
        const size_t len = strlen(text);
        for (int i = 0; i < 8; i++) to[i] = (uint8_t)((uint64_t)len >> (8 * i));
        memcpy(to + 8, text, len);
        memcpy(to + 8 + len, block, at);
        n = 8 + len + (size_t)at;
    }
    free(text);
fail:
    free(block);
    return n;
}

size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t max, unsigned seed, const uint8_t *base,
                               size_t base_size)
{
    uint64_t len = 0;
    state = seed;
    if (draw(8) == 0) return LLVMFuzzerMutate(data, size, max);
    for (int i = 7; i >= 0 && size >= 8; i--) len = len << 8 | data[i];
    json_t *header = size >= 8 && len <= size - 8 ? json_loadb((const char *)data + 8, (size_t)len, 0, NULL) : NULL;
    if (!json_is_object(header)) {
        json_decref(header);
        if (base_size == 0 || base_size > max) return LLVMFuzzerMutate(data, size, max);
        memcpy(data, base, base_size);
        return base_size;
    }
    const size_t data_size = size - 8 - (size_t)len;
    uint8_t *old = malloc(data_size + 1);
    if (!old) return size;
    memcpy(old, data + 8 + len, data_size);
    if (draw(4) == 0) LLVMFuzzerMutate(old, data_size, data_size);
    else if (draw(3)) change_meta(header);
    else change_tensor(header);
    const size_t n = lay_out(header, old, data_size, data, max);
    free(old);
    json_decref(header);
    return n > 0 ? n : size;
}
