/* Measured choices of implementations: what `captrain tune` writes and a tuned run obeys. See
 * doc/formats.md. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/internal.h"
#include "formats/json.h"

#define FORMAT_NAME "captrain-choices"
#define FORMAT_VERSION 1
#define MAX_FILE ((size_t)16 << 20) /* bytes */

struct ct_choices {
    ct_chosen *row; /* sorted by call */
    size_t n, cap;
    char *made_for, *source; /* NULL: "" */
};

ct_status ct_choices_new(ct_choices **out)
{
    *out = ct_calloc(1, sizeof **out, "choices");
    return *out ? CT_OK : CT_ENOMEM;
}

void ct_choices_free(ct_choices *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n; i++) {
        ct_free(c->row[i].call);
        ct_free(c->row[i].impl);
    }
    ct_free(c->row);
    ct_free(c->made_for);
    ct_free(c->source);
    ct_free(c);
}

const char *ct_choices_made_for(const ct_choices *c)
{
    return c->made_for ? c->made_for : "";
}

const char *ct_choices_source(const ct_choices *c)
{
    return c->source ? c->source : "";
}

static ct_status replace(char **text, const char *with)
{
    char *copy = ct_strdup(with, "choices");
    if (!copy) return CT_ENOMEM;
    ct_free(*text);
    *text = copy;
    return CT_OK;
}

ct_status ct_choices_set_made_for(ct_choices *c, const char *text)
{
    return replace(&c->made_for, text);
}

size_t ct_choices_count(const ct_choices *c)
{
    return c ? c->n : 0;
}

const ct_chosen *ct_choices_at(const ct_choices *c, size_t i)
{
    return &c->row[i];
}

/* Where `call` stands or would stand; *found says which. */
static size_t place(const ct_choices *c, const char *call, bool *found)
{
    size_t lo = 0, hi = c->n;
    *found = false;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(c->row[mid].call, call);
        if (order == 0) *found = true;
        if (order >= 0) hi = mid;
        else lo = mid + 1;
    }
    return lo;
}

ct_status ct_choices_add(ct_choices *c, const char *call, const char *impl)
{
    bool found;
    size_t at = place(c, call, &found);
    if (found) return ct_fail(CT_EINVAL, "two choices for %s", call);
    CT_TRY(ct_grow(&c->row, c->n, &c->cap, sizeof *c->row, "choices"));
    ct_chosen row = { ct_strdup(call, "choices"), ct_strdup(impl, "choices") };
    if (!row.call || !row.impl) {
        ct_free(row.call);
        ct_free(row.impl);
        return CT_ENOMEM;
    }
    memmove(c->row + at + 1, c->row + at, (c->n - at) * sizeof *c->row);
    c->row[at] = row;
    c->n++;
    return CT_OK;
}

ct_status ct_choices_put(ct_choices *c, const char *call, const char *impl)
{
    bool found;
    size_t at = place(c, call, &found);
    return found ? replace(&c->row[at].impl, impl) : ct_choices_add(c, call, impl);
}

ct_status ct_choices_find(const ct_choices *c, const ct_call *call, const char **impl)
{
    *impl = NULL;
    if (!c || c->n == 0) return CT_OK;
    char *text = ct_call_text(call);
    if (!text) return CT_ENOMEM;
    bool found;
    size_t at = place(c, text, &found);
    ct_free(text);
    if (found) *impl = c->row[at].impl;
    return CT_OK;
}

/* ---- as JSON ---- */

static ct_status to_json(const ct_choices *c, json_t *o)
{
    CT_TRY(ct_json_set(o, "format", json_string(FORMAT_NAME)));
    CT_TRY(ct_json_set(o, "version", json_integer(FORMAT_VERSION)));
    if (c->made_for) CT_TRY(ct_json_set(o, "made_for", json_string(c->made_for)));
    json_t *list = json_array();
    CT_TRY(ct_json_set(o, "choices", list)); /* o owns it from here on */
    for (size_t i = 0; i < c->n; i++) {
        json_t *row = json_pack("{s:s, s:s}", "call", c->row[i].call, "impl", c->row[i].impl);
        if (json_array_append_new(list, row) != 0) return ct_fail(CT_ENOMEM, "out of memory: choices");
    }
    return CT_OK;
}

char *ct_choices_text(const ct_choices *c)
{
    json_t *o = json_object();
    char *text = o && to_json(c, o) == CT_OK ? ct_json_text(o, 0) : NULL;
    json_decref(o);
    return text;
}

ct_status ct_choices_write(const ct_choices *c, const char *path)
{
    json_t *o = json_object();
    ct_status st = o ? to_json(c, o) : ct_fail(CT_ENOMEM, "out of memory: choices");
    if (st == CT_OK) st = ct_json_write(path, o, 1);
    json_decref(o);
    return st;
}

static ct_status read_row(ct_choices *c, const json_t *row, size_t number, const char *source)
{
    const char *text = json_string_value(json_object_get(row, "call"));
    const char *impl = json_string_value(json_object_get(row, "impl"));
    ct_call call;
    if (!text || !impl || !*impl)
        return ct_fail(CT_EFORMAT, "%s: choice %zu lacks its call or its implementation", source, number);
    if (ct_call_parse(text, &call) != CT_OK)
        return ct_fail_context(CT_EFORMAT, "%s: choice %zu", source, number);
    /* As this program writes it, so that a row cannot fail to be found for its blanks. */
    char *canonical = ct_call_text(&call);
    if (!canonical) return CT_ENOMEM;
    ct_status st = ct_choices_add(c, canonical, impl);
    ct_free(canonical);
    return st == CT_EINVAL ? ct_fail_context(CT_EFORMAT, "%s: choice %zu", source, number) : st;
}

static ct_status from_json(const json_t *o, const char *source, ct_choices **out)
{
    const char *format = json_string_value(json_object_get(o, "format"));
    const json_t *version = json_object_get(o, "version"), *list = json_object_get(o, "choices");
    const char *made_for = json_string_value(json_object_get(o, "made_for"));
    ct_status st;
    *out = NULL;
    if (!format || strcmp(format, FORMAT_NAME) != 0)
        return ct_fail(CT_EFORMAT, "%s: not a file of choices as captrain tune writes it", source);
    if (json_integer_value(version) != FORMAT_VERSION)
        return ct_fail(CT_EUNSUPPORTED, "%s: version %lld of the format; this captrain reads %d", source,
                       (long long)json_integer_value(version), FORMAT_VERSION);
    if (!json_is_array(list)) return ct_fail(CT_EFORMAT, "%s: it has no list of choices", source);
    ct_choices *c;
    CT_TRY(ct_choices_new(&c));
    CT_GOTO(st, replace(&c->source, source));
    if (made_for) CT_GOTO(st, replace(&c->made_for, made_for));
    for (size_t i = 0; i < json_array_size(list); i++) CT_GOTO(st, read_row(c, json_array_get(list, i), i + 1, source));
    *out = c;
    return CT_OK;
fail:
    ct_choices_free(c);
    return st;
}

ct_status ct_choices_parse(const char *text, const char *source, ct_choices **out)
{
    json_t *o;
    *out = NULL;
    CT_TRY(ct_json_parse(text, strlen(text), source, &o));
    ct_status st = from_json(o, source, out);
    json_decref(o);
    return st;
}

ct_status ct_choices_read(const char *path, ct_choices **out)
{
    json_t *o;
    *out = NULL;
    CT_TRY(ct_json_read(path, MAX_FILE, &o));
    ct_status st = from_json(o, path, out);
    json_decref(o);
    return st;
}
