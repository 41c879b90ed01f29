#include "config.h"

#include "formats/json.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/shortest.h"
#include "base/text.h"

json_t *ct_json_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *ct_json_float(float v)
{
    return ct_json_number(ct_shortest_float(v));
}

ct_status ct_json_set(json_t *obj, const char *key, json_t *value)
{
    if (!value || json_object_set_new(obj, key, value) != 0)
        return ct_fail(CT_ENOMEM, "out of memory: JSON member '%s'", key);
    return CT_OK;
}

ct_status ct_json_set_text(json_t *obj, const char *key, const char *text)
{
    if (ct_utf8_len(text) < 0) {
        char shown[256];
        return ct_fail(CT_EINVAL, "'%s' is to be stored as text, but is no UTF-8: %s", key,
                       ct_text_visible(text, shown, sizeof shown));
    }
    return ct_json_set(obj, key, json_string(text));
}

typedef struct buffer {
    char *s;
    size_t n, cap;
    bool failed;
} buffer;

/* jansson (2.14) overlooks a failed write of a key and goes on, so the failure is remembered here. */
static int append(const char *text, size_t n, void *user)
{
    buffer *b = user;
    if (b->failed) return -1;
    if (b->cap - b->n <= n) {
        size_t cap = 2 * (b->n + n) + 256;
        char *p = ct_realloc(b->s, cap, 1, "JSON text");
        if (!p) {
            b->failed = true;
            return -1;
        }
        b->s = p;
        b->cap = cap;
    }
    memcpy(b->s + b->n, text, n);
    b->n += n;
    b->s[b->n] = '\0';
    return 0;
}

static void put(buffer *b, const char *text) { append(text, strlen(text), b); }

/* A string, a number or a word. Numbers are not jansson's, which have 17 digits or too few. */
static void put_leaf(buffer *b, const json_t *v)
{
    char number[CT_SHORTEST_BYTES];
    if (json_is_real(v)) put(b, ct_shortest(json_real_value(v), number));
    else if (json_dump_callback(v, append, b, JSON_ENCODE_ANY | JSON_COMPACT) != 0) b->failed = true;
}

static void put_break(buffer *b, int indent, int depth)
{
    if (indent == 0) return;
    put(b, "\n");
    for (int i = 0; i < indent * depth; i++) put(b, " ");
}

static void put_key(buffer *b, const char *key, int indent)
{
    json_t *name = json_string_nocheck(key); /* it has been a key */
    if (!name || json_dump_callback(name, append, b, JSON_ENCODE_ANY) != 0) b->failed = true;
    json_decref(name);
    put(b, indent > 0 ? ": " : ":");
}

static void put_value(buffer *b, const json_t *v, int indent, int depth)
{
    const bool list = json_is_array(v);
    const char *key;
    json_t *member;
    size_t i, n = 0;
    if (!list && !json_is_object(v)) {
        put_leaf(b, v);
        return;
    }
    put(b, list ? "[" : "{");
    if (list) {
        json_array_foreach(v, i, member) {
            if (n++ > 0) put(b, ",");
            put_break(b, indent, depth + 1);
            put_value(b, member, indent, depth + 1);
        }
    } else {
        json_object_foreach((json_t *)(uintptr_t)v, key, member) {
            if (n++ > 0) put(b, ",");
            put_break(b, indent, depth + 1);
            put_key(b, key, indent);
            put_value(b, member, indent, depth + 1);
        }
    }
    if (n > 0) put_break(b, indent, depth);
    put(b, list ? "]" : "}");
}

char *ct_json_text(const json_t *v, int indent)
{
    buffer b = { 0 };
    put_value(&b, v, indent, 0);
    if (b.failed || !b.s) {
        ct_fail(CT_ENOMEM, "out of memory: JSON text");
        ct_free(b.s);
        return NULL;
    }
    return b.s;
}

json_t *ct_json_any(const char *text)
{
    json_t *v = json_string(text);
    if (v) return v;
    size_t n = 0;
    char *clean = ct_malloc(3 * strlen(text) + 1, "a name");
    if (!clean) return NULL;
    for (const char *s = text; *s;) {
        const char *from = s;
        if (ct_utf8_next(&s) >= 0) {
            memcpy(clean + n, from, (size_t)(s - from));
            n += (size_t)(s - from);
        } else {
            memcpy(clean + n, "\xef\xbf\xbd", 3);
            n += 3;
            s++;
        }
    }
    v = json_stringn(clean, n);
    ct_free(clean);
    return v;
}

/* ---- reading ----
 * Where jansson (2.14) gets no memory for a byte of a string it goes on without it, and ends in an assertion when that
 * byte was an escape. So what it asks for while there is none comes out of a reserve; the text ends there, and what
 * was read of it is thrown away. */

static char reserve[1 << 18];
static pthread_mutex_t reserve_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t reserve_used; /* bytes handed out since it was last whole */
static int64_t reserve_live; /* blocks of it that are in use: with the last one given back it is whole again */
static _Thread_local bool reading, starved;

static void *take(size_t n)
{
    void *p = ct_malloc(n, "JSON");
    if (p || !reading) return p;
    starved = true;
    n = (n + 15) / 16 * 16;
    pthread_mutex_lock(&reserve_lock);
    if (n <= sizeof reserve - reserve_used) {
        p = reserve + reserve_used;
        reserve_used += n;
        reserve_live++;
    }
    pthread_mutex_unlock(&reserve_lock);
    return p;
}

static void give(void *p)
{
    if ((char *)p < reserve || (char *)p >= reserve + sizeof reserve) {
        ct_free(p);
        return;
    }
    pthread_mutex_lock(&reserve_lock);
    if (--reserve_live == 0) reserve_used = 0;
    pthread_mutex_unlock(&reserve_lock);
}

static pthread_once_t reserve_once = PTHREAD_ONCE_INIT;
static void set_reserve(void) { json_set_alloc_funcs(take, give); }

typedef struct rest {
    const char *text;
    size_t size;
} rest;

static size_t read_on(void *to, size_t size, void *user)
{
    rest *r = user;
    if (starved) return (size_t)-1;
    if (size > r->size) size = r->size;
    if (size > 0) memcpy(to, r->text, size);
    r->text += size;
    r->size -= size;
    return size;
}

ct_status ct_json_load(const char *text, size_t size, size_t flags, json_error_t *e, json_t **out)
{
    rest r = { text, size };
    pthread_once(&reserve_once, set_reserve);
    starved = false;
    reading = true;
    *out = json_load_callback(read_on, &r, flags, e);
    reading = false;
    if (*out && !starved) return CT_OK;
    json_decref(*out);
    *out = NULL;
    if (starved || json_error_code(e) == json_error_out_of_memory || e->text[0] == '\0')
        return ct_fail(CT_ENOMEM, "out of memory while reading JSON");
    return CT_EFORMAT;
}

ct_status ct_json_parse(const char *text, size_t size, const char *source, json_t **out)
{
    json_error_t e;
    ct_status st = ct_json_load(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e, out);
    if (st == CT_OK) return CT_OK;
    if (st == CT_ENOMEM) return ct_fail_context(st, "%s", source);
    return ct_fail(CT_EFORMAT, "%s:%d:%d: not valid JSON: %s", source, e.line, e.column, e.text);
}

ct_status ct_json_read(const char *path, size_t max_bytes, json_t **out)
{
    uint8_t *data;
    size_t size;
    *out = NULL;
    CT_TRY(ct_file_read(path, max_bytes, &data, &size));
    ct_status st = ct_json_parse((const char *)data, size, path, out);
    ct_free(data);
    return st;
}

ct_status ct_json_print(const json_t *v, int indent, FILE *to)
{
    char *text = ct_json_text(v, indent);
    if (!text) return CT_ENOMEM;
    fprintf(to, "%s\n", text);
    ct_free(text);
    return CT_OK;
}

ct_status ct_json_write(const char *path, const json_t *v, int indent)
{
    char *text = ct_json_text(v, indent);
    if (!text) return CT_ENOMEM;
    size_t n = strlen(text);
    text[n] = '\n'; /* in place of the NUL: the block is written by its size */
    ct_status st = ct_file_write_atomic(path, text, n + 1);
    ct_free(text);
    return st;
}
