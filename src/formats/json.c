#include "config.h"

#include "formats/json.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

json_t *ct_json_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
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

char *ct_json_text(const json_t *v, int indent)
{
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(17);
    buffer b = { 0 };
    flags |= indent > 0 ? JSON_INDENT((size_t)indent) : JSON_COMPACT;
    if (json_dump_callback(v, append, &b, flags) != 0 || b.failed) {
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

bool ct_json_no_memory(const json_error_t *e)
{
    return json_error_code(e) == json_error_out_of_memory || e->text[0] == '\0';
}

ct_status ct_json_parse(const char *text, size_t size, const char *source, json_t **out)
{
    json_error_t e;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (*out) return CT_OK;
    if (ct_json_no_memory(&e))
        return ct_fail(CT_ENOMEM, "%s: out of memory while reading JSON", source);
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
