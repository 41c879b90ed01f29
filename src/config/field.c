/* Fields of ct_config seen through their rows: copy, compare, write as text. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/paths.h"
#include "base/text.h"
#include "config/config.h"
#include "config/internal.h"

static ct_status copy_block(void *dst, const void *src, size_t bytes)
{
    void *p = NULL;
    if (bytes > 0) {
        if (!(p = ct_malloc(bytes, "configuration list"))) return CT_ENOMEM;
        memcpy(p, src, bytes);
    }
    memcpy(dst, &p, sizeof p);
    return CT_OK;
}

ct_status ct_value_copy_field(const ct_config_row *row, void *dst, const void *src)
{
    switch (row->type) {
    case CT_KEY_BOOL: *(bool *)dst = *(const bool *)src; return CT_OK;
    case CT_KEY_INT: *(int64_t *)dst = *(const int64_t *)src; return CT_OK;
    case CT_KEY_FLOAT: *(double *)dst = *(const double *)src; return CT_OK;
    case CT_KEY_ENUM: *(int *)dst = *(const int *)src; return CT_OK;
    case CT_KEY_COLOR: memcpy(dst, src, 3); return CT_OK;
    case CT_KEY_INT_LIST: {
        const ct_int_list *s = src;
        CT_TRY(copy_block(&((ct_int_list *)dst)->v, s->v, s->n * sizeof *s->v));
        ((ct_int_list *)dst)->n = s->n;
        return CT_OK;
    }
    case CT_KEY_FLOAT_LIST: {
        const ct_float_list *s = src;
        CT_TRY(copy_block(&((ct_float_list *)dst)->v, s->v, s->n * sizeof *s->v));
        ((ct_float_list *)dst)->n = s->n;
        return CT_OK;
    }
    case CT_KEY_STR_LIST: {
        const ct_str_list *s = src;
        ct_str_list d = { 0 };
        if (s->n > 0 && !(d.v = ct_calloc(s->n, sizeof *d.v, "configuration list"))) return CT_ENOMEM;
        for (; d.n < s->n; d.n++)
            if (!(d.v[d.n] = ct_strdup(s->v[d.n], "configuration value"))) {
                ct_value_free_field(row, &d);
                return CT_ENOMEM;
            }
        *(ct_str_list *)dst = d;
        return CT_OK;
    }
    default: {
        char *s = ct_strdup(*(char *const *)src, "configuration value");
        if (!s) return CT_ENOMEM;
        *(char **)dst = s;
        return CT_OK;
    }
    }
}

bool ct_value_equal_field(const ct_config_row *row, const void *a, const void *b)
{
    switch (row->type) {
    case CT_KEY_BOOL: return *(const bool *)a == *(const bool *)b;
    case CT_KEY_INT: return *(const int64_t *)a == *(const int64_t *)b;
    case CT_KEY_FLOAT: return *(const double *)a == *(const double *)b;
    case CT_KEY_ENUM: return *(const int *)a == *(const int *)b;
    case CT_KEY_COLOR: return memcmp(a, b, 3) == 0;
    case CT_KEY_INT_LIST: {
        const ct_int_list *x = a, *y = b;
        return x->n == y->n && (x->n == 0 || memcmp(x->v, y->v, x->n * sizeof *x->v) == 0);
    }
    case CT_KEY_FLOAT_LIST: {
        const ct_float_list *x = a, *y = b;
        if (x->n != y->n) return false;
        for (size_t i = 0; i < x->n; i++)
            if (x->v[i] != y->v[i]) return false;
        return true;
    }
    case CT_KEY_STR_LIST: {
        const ct_str_list *x = a, *y = b;
        if (x->n != y->n) return false;
        for (size_t i = 0; i < x->n; i++)
            if (strcmp(x->v[i], y->v[i]) != 0) return false;
        return true;
    }
    default: return strcmp(*(char *const *)a, *(char *const *)b) == 0;
    }
}

typedef struct text { char *s; size_t n, cap; } text;

static ct_status put(text *t, const char *s, size_t n)
{
    while (t->n + n + 1 > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        char *p = ct_realloc(t->s, cap, 1, "configuration text");
        if (!p) return CT_ENOMEM;
        t->s = p;
        t->cap = cap;
    }
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
    return CT_OK;
}

static ct_status puts_to(text *t, const char *s)
{
    return put(t, s, strlen(s));
}

/* Characters that a YAML reader refuses, or takes for the end of a line. */
static bool needs_number(int32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029 || cp == 0xfeff || cp == 0xfffe ||
           cp == 0xffff;
}

/* Double-quoted: the escapes used here mean the same in YAML and JSON. s is valid UTF-8. */
static ct_status put_quoted(text *t, const char *s)
{
    CT_TRY(puts_to(t, "\""));
    for (int32_t c; (c = ct_utf8_next(&s)) > 0;) {
        char esc[8];
        if (c == '"' || c == '\\') snprintf(esc, sizeof esc, "\\%c", (char)c);
        else if (c == '\n') snprintf(esc, sizeof esc, "\\n");
        else if (c == '\t') snprintf(esc, sizeof esc, "\\t");
        else if (c == '\r') snprintf(esc, sizeof esc, "\\r");
        else if (needs_number(c)) snprintf(esc, sizeof esc, "\\u%04x", (unsigned)c & 0xffff);
        else ct_utf8_put((uint32_t)c, esc);
        CT_TRY(puts_to(t, esc));
    }
    return puts_to(t, "\"");
}

/* Words that YAML readers leave as they are when unquoted: simple paths and names, nothing that looks like a number,
 * a boolean or null. Anything else is quoted. */
static bool plain_word(const char *s)
{
    static const char *const special[] = { "true", "false", "yes", "no", "on", "off", "null", "y", "n" };
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '/')) return false;
    for (const char *p = s; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("/._-", *p)))
            return false;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcasecmp(s, special[i]) == 0) return false;
    return true;
}

static ct_status put_string(text *t, const char *s, bool json)
{
    return !json && plain_word(s) ? puts_to(t, s) : put_quoted(t, s);
}

static ct_status put_path(text *t, const char *path, bool json)
{
    char *s = ct_config_path_text(path);
    ct_status st = s ? put_string(t, s, json) : CT_ENOMEM;
    ct_free(s);
    return st;
}

/* A path, or several of them. */
static ct_status put_paths(text *t, const char *paths, bool json)
{
    char *one;
    ct_status st = CT_OK;
    if (!ct_paths_several(paths)) return put_path(t, paths, json);
    for (const char *at = paths; st == CT_OK;) {
        const bool first = at == paths;
        CT_TRY(ct_paths_next(&at, &one));
        if (!one) break;
        st = puts_to(t, first ? "[" : ", ");
        if (st == CT_OK) st = put_path(t, one, true);
        ct_free(one);
    }
    return st == CT_OK ? puts_to(t, "]") : st;
}

static ct_status put_field(text *t, const ct_config_row *row, const void *field, bool json)
{
    char buf[64];
    switch (row->type) {
    case CT_KEY_BOOL: return puts_to(t, *(const bool *)field ? "true" : "false");
    case CT_KEY_INT:
        if (row->word && *(const int64_t *)field < row->min) return put_string(t, row->word, json);
        snprintf(buf, sizeof buf, "%" PRId64, *(const int64_t *)field);
        return puts_to(t, buf);
    case CT_KEY_FLOAT: return puts_to(t, ct_format_double(*(const double *)field, buf));
    case CT_KEY_ENUM:
        ct_config_value_name(row, *(const int *)field, buf, sizeof buf);
        return put_string(t, buf, json);
    case CT_KEY_COLOR: {
        const uint8_t *c = field;
        snprintf(buf, sizeof buf, "[%d, %d, %d]", c[0], c[1], c[2]);
        return puts_to(t, buf);
    }
    case CT_KEY_INT_LIST: {
        const ct_int_list *l = field;
        CT_TRY(puts_to(t, "["));
        for (size_t i = 0; i < l->n; i++) {
            snprintf(buf, sizeof buf, "%s%" PRId64, i ? ", " : "", l->v[i]);
            CT_TRY(puts_to(t, buf));
        }
        return puts_to(t, "]");
    }
    case CT_KEY_FLOAT_LIST: {
        const ct_float_list *l = field;
        CT_TRY(puts_to(t, "["));
        for (size_t i = 0; i < l->n; i++) {
            if (i) CT_TRY(puts_to(t, ", "));
            CT_TRY(puts_to(t, ct_format_double(l->v[i], buf)));
        }
        return puts_to(t, "]");
    }
    case CT_KEY_STR_LIST: {
        const ct_str_list *l = field;
        CT_TRY(puts_to(t, "["));
        for (size_t i = 0; i < l->n; i++) {
            if (i) CT_TRY(puts_to(t, ", "));
            CT_TRY(put_quoted(t, l->v[i]));
        }
        return puts_to(t, "]");
    }
    case CT_KEY_PATH: return put_paths(t, *(char *const *)field, json);
    default: return put_string(t, *(char *const *)field, json);
    }
}

char *ct_value_format(const ct_config_row *row, const void *field, bool json)
{
    text t = { 0 };
    if (put_field(&t, row, field, json) != CT_OK) {
        ct_free(t.s);
        return NULL;
    }
    return t.s;
}

char *ct_config_value(const ct_config *cfg, const char *key)
{
    const ct_config_row *row = ct_config_find_row(key);
    if (!row || row->cls != CT_CLASS_KEY) {
        ct_fail(CT_EINVAL, "'%s' is not a configuration key", key);
        return NULL;
    }
    return ct_value_format(row, ct_config_field(cfg, row), false);
}

bool ct_config_number(const ct_config *cfg, const char *key, double *out)
{
    const ct_config_row *row = ct_config_find_row(key);
    if (!row || row->cls != CT_CLASS_KEY) return false;
    const void *field = ct_config_field(cfg, row);
    switch (row->type) {
    case CT_KEY_BOOL: *out = *(const bool *)field; return true;
    case CT_KEY_FLOAT: *out = *(const double *)field; return true;
    case CT_KEY_INT:
        *out = (double)*(const int64_t *)field;
        return !row->word || *out >= row->min;
    default: return false;
    }
}

bool ct_config_equal(const ct_config *a, const ct_config *b)
{
    const ct_config_row *row;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++)
        if (row->cls == CT_CLASS_KEY &&
            !ct_value_equal_field(row, ct_config_field(a, row), ct_config_field(b, row)))
            return false;
    return true;
}

/* Length of what two dotted names have in common, up to and including a dot. */
static size_t common_sections(const char *a, const char *b)
{
    size_t same = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.') same = i + 1;
    return same;
}

static int depth_of(const char *name, size_t n)
{
    int d = 0;
    for (size_t i = 0; i < n; i++) d += name[i] == '.';
    return d;
}

/* The section headings of `name` that differ from those of the row before. Sections are contiguous in the table, so
 * none is opened twice. */
static ct_status put_yaml(text *t, const ct_config *cfg, bool comments)
{
    const ct_config_row *row;
    const char *last = "";
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY) continue;
        size_t from = common_sections(last, row->name);
        const char *dot;
        while ((dot = strchr(row->name + from, '.'))) {
            if (from == 0 && t->n > 0) CT_TRY(puts_to(t, "\n"));
            for (int d = depth_of(row->name, from); d > 0; d--) CT_TRY(puts_to(t, "  "));
            CT_TRY(put(t, row->name + from, (size_t)(dot - row->name) - from));
            CT_TRY(puts_to(t, ":\n"));
            from = (size_t)(dot - row->name) + 1;
        }
        if (comments) {
            for (int d = depth_of(row->name, from); d > 0; d--) CT_TRY(puts_to(t, "  "));
            CT_TRY(puts_to(t, "# "));
            CT_TRY(puts_to(t, row->doc));
            CT_TRY(puts_to(t, "\n"));
        }
        for (int d = depth_of(row->name, from); d > 0; d--) CT_TRY(puts_to(t, "  "));
        CT_TRY(puts_to(t, row->name + from));
        CT_TRY(puts_to(t, ": "));
        CT_TRY(put_field(t, row, ct_config_field(cfg, row), false));
        CT_TRY(puts_to(t, "\n"));
        last = row->name;
    }
    return CT_OK;
}

static ct_status put_json(text *t, const ct_config *cfg)
{
    const ct_config_row *row;
    const char *last = "";
    CT_TRY(puts_to(t, "{"));
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY) continue;
        size_t from = common_sections(last, row->name);
        for (int d = depth_of(last, strlen(last)) - depth_of(row->name, from); d > 0; d--) CT_TRY(puts_to(t, "}"));
        if (*last) CT_TRY(puts_to(t, ","));
        const char *dot;
        while ((dot = strchr(row->name + from, '.'))) {
            CT_TRY(puts_to(t, "\""));
            CT_TRY(put(t, row->name + from, (size_t)(dot - row->name) - from));
            CT_TRY(puts_to(t, "\":{"));
            from = (size_t)(dot - row->name) + 1;
        }
        CT_TRY(put_quoted(t, row->name + from));
        CT_TRY(puts_to(t, ":"));
        CT_TRY(put_field(t, row, ct_config_field(cfg, row), true));
        last = row->name;
    }
    for (int d = depth_of(last, strlen(last)); d > 0; d--) CT_TRY(puts_to(t, "}"));
    return puts_to(t, "}");
}

char *ct_config_yaml(const ct_config *cfg, bool comments)
{
    text t = { 0 };
    if (put_yaml(&t, cfg, comments) != CT_OK) {
        ct_free(t.s);
        return NULL;
    }
    return t.s;
}

char *ct_config_json(const ct_config *cfg)
{
    text t = { 0 };
    if (put_json(&t, cfg) != CT_OK) {
        ct_free(t.s);
        return NULL;
    }
    return t.s;
}
