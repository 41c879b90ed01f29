/* From YAML (and so JSON) and --set to fields. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/alloc.h"
#include "config/config.h"
#include "config/internal.h"

/* ---- one key ---- */

/* Is `key` the beginning of a longer key's name? */
static bool is_section(const char *key)
{
    size_t len = strlen(key);
    const ct_config_row *row;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (strncmp(row->name, key, len) == 0 && row->name[len] == '.') return true;
        for (const char *p = row->aliases ? row->aliases : ""; *p; p += *p == ' ') {
            if (strncmp(p, key, len) == 0 && p[len] == '.') return true;
            p += strcspn(p, " ");
        }
    }
    return false;
}

static void unknown_key(const char *key, const char *where, ct_problems *p)
{
    char q[CT_CONFIG_QUOTE + 4], name[CT_CONFIG_QUOTE + 16];
    if (p->count >= CT_CONFIG_MAX_ERRORS) { /* counted only: looking for likeness takes time */
        p->count++;
        return;
    }
    ct_config_quote(key, q);
    snprintf(name, sizeof name, "%s.name", q);
    if (is_section(key)) {
        if (ct_config_find_row(name))
            ct_problem(p, where, "'%s' is a section, not a key; did you mean '%s'?", q, name);
        else
            ct_problem(p, where, "'%s' is a section: its keys stand below it, as in '%s: {...}'", q, q);
    } else {
        ct_problem(p, where, "unknown key '%s'; did you mean '%s'?", q, ct_config_nearest_key(key));
    }
}

static const char *shown_key(const char *key, const ct_config_row *row, char buf[2 * CT_CONFIG_QUOTE + 8])
{
    char q[CT_CONFIG_QUOTE + 4];
    if (strcmp(key, row->name) == 0) return row->name;
    snprintf(buf, 2 * CT_CONFIG_QUOTE + 8, "%s (%s)", ct_config_quote(key, q), row->name);
    return buf;
}

static bool is_null(const ct_value *v)
{
    return !v->is_list && !v->quoted &&
           (v->text[0] == '\0' || strcmp(v->text, "~") == 0 || strcasecmp(v->text, "null") == 0);
}

static void note_key(ct_config *cfg, const char *where, const char *key, const ct_config_row *row, ct_problems *p)
{
    char q[CT_CONFIG_QUOTE + 4];
    if (ct_config_add_note(cfg, "%s: %s is not used: %s", where, ct_config_quote(key, q), row->doc) != CT_OK)
        p->fatal = CT_ENOMEM;
}

/* Stores v under `row`. `key` is the name that was used, `where` its place; value_where, if not NULL, is printed to
 * get the place of a bad value: "source:line:column". */
static void store(ct_config *cfg, const ct_config_row *row, const char *key, const ct_value *v, const char *where,
                  const char *source, int layer, ct_problems *p)
{
    char err[400], shown[2 * CT_CONFIG_QUOTE + 8];
    size_t i = ct_config_row_index(row);
    struct ct_config_info *info = cfg->info;
    void *field = row->cls == CT_CLASS_MERGED ? (char *)info + row->offset : ct_config_field(cfg, row);
    const ct_value *bad;

    if (info->layer[i] == layer && layer == 1) {
        ct_problem(p, where, "%s is given twice (before at %s)", shown_key(key, row, shown), info->origin[i]);
        return;
    }
    ct_status st = ct_value_store(row, v, field, err, sizeof err, &bad);
    if (st == CT_ECONFIG) {
        char *at = source ? ct_asprintf("%s:%zu:%zu", source, bad->line, bad->column) : NULL;
        if (source && !at) p->fatal = CT_ENOMEM;
        else ct_problem(p, at ? at : where, "%s: %s", shown_key(key, row, shown), err);
        ct_free(at);
        return;
    }
    char *origin = st == CT_OK ? ct_strdup(where, "configuration origin") : NULL;
    if (!origin) {
        p->fatal = CT_ENOMEM;
        return;
    }
    ct_free(info->origin[i]);
    info->origin[i] = origin;
    info->layer[i] = layer;
}

/* ---- YAML ---- */

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool have_event, stop;
    ct_config *cfg;
    const char *source;
    ct_problems *p;
} reader;

static void problem_at(reader *r, yaml_mark_t mark, const char *what)
{
    char *at = ct_asprintf("%s:%zu:%zu", r->source, mark.line + 1, mark.column + 1);
    if (at) ct_problem(r->p, at, "%s", what);
    else r->p->fatal = CT_ENOMEM;
    ct_free(at);
}

/* Reads the next event; false when reading has to stop (the reason is recorded). */
static bool next(reader *r)
{
    if (r->have_event) yaml_event_delete(&r->event);
    r->have_event = false;
    if (r->stop || r->p->fatal != CT_OK) return false;
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        char msg[256];
        r->stop = true;
        if (r->parser.error == YAML_MEMORY_ERROR) {
            r->p->fatal = ct_fail(CT_ENOMEM, "%s: out of memory while reading", r->source);
        } else if (r->parser.error == YAML_READER_ERROR) {
            snprintf(msg, sizeof msg, "byte %zu: %s (files are UTF-8)", r->parser.problem_offset,
                     r->parser.problem ? r->parser.problem : "cannot be read");
            ct_problem(r->p, r->source, "%s", msg);
        } else {
            snprintf(msg, sizeof msg, "not valid YAML: %s%s%s", r->parser.problem ? r->parser.problem : "syntax error",
                     r->parser.context ? ", " : "", r->parser.context ? r->parser.context : "");
            problem_at(r, r->parser.problem_mark, msg);
        }
        return false;
    }
    r->have_event = true;
    const char *refused = NULL;
    switch (r->event.type) {
    case YAML_ALIAS_EVENT: refused = "aliases ('*name') are not supported"; break;
    case YAML_SCALAR_EVENT:
        if (r->event.data.scalar.anchor) refused = "anchors ('&name') are not supported";
        else if (r->event.data.scalar.tag) refused = "tags ('!name') are not supported";
        else if (strlen((const char *)r->event.data.scalar.value) != r->event.data.scalar.length)
            refused = "a NUL character in a text";
        break;
    case YAML_SEQUENCE_START_EVENT:
        if (r->event.data.sequence_start.anchor) refused = "anchors ('&name') are not supported";
        else if (r->event.data.sequence_start.tag) refused = "tags ('!name') are not supported";
        break;
    case YAML_MAPPING_START_EVENT:
        if (r->event.data.mapping_start.anchor) refused = "anchors ('&name') are not supported";
        else if (r->event.data.mapping_start.tag) refused = "tags ('!name') are not supported";
        break;
    default: break;
    }
    if (refused) {
        problem_at(r, r->event.start_mark, refused);
        r->stop = true;
        return false;
    }
    return true;
}

/* Leaves the current event at the end of the node it starts. The time that libyaml takes for a token grows with the
 * depth it stands at, so that depth is limited. */
static bool skip_node(reader *r)
{
    int depth = 0;
    for (;;) {
        yaml_event_type_t t = r->event.type;
        if (t == YAML_MAPPING_START_EVENT || t == YAML_SEQUENCE_START_EVENT) depth++;
        if (depth > CT_CONFIG_MAX_DEPTH) {
            problem_at(r, r->event.start_mark, "lists or maps are nested too deeply");
            r->stop = true;
            return false;
        }
        if (t == YAML_MAPPING_END_EVENT || t == YAML_SEQUENCE_END_EVENT) depth--;
        if (depth == 0) return true;
        if (!next(r)) return false;
    }
}

static bool take_scalar(reader *r, ct_value *v)
{
    *v = (ct_value){ 0 };
    v->text = ct_strndup((const char *)r->event.data.scalar.value, r->event.data.scalar.length, "configuration value");
    if (!v->text) {
        r->p->fatal = CT_ENOMEM;
        return false;
    }
    v->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    v->line = r->event.start_mark.line + 1;
    v->column = r->event.start_mark.column + 1;
    return true;
}

/* The current event starts a sequence. */
static bool take_list(reader *r, ct_value *v)
{
    size_t cap = 0;
    *v = (ct_value){ .is_list = true, .line = r->event.start_mark.line + 1, .column = r->event.start_mark.column + 1 };
    while (next(r)) {
        if (r->event.type == YAML_SEQUENCE_END_EVENT) return true;
        if (r->event.type != YAML_SCALAR_EVENT) {
            v->nested = true;
            if (!skip_node(r)) return false;
            continue;
        }
        if (ct_grow(&v->item, v->n, &cap, sizeof *v->item, "configuration list") != CT_OK) {
            r->p->fatal = CT_ENOMEM;
            return false;
        }
        if (!take_scalar(r, &v->item[v->n])) return false;
        v->n++;
    }
    return false;
}

static bool read_map(reader *r, const char *prefix, int depth);

/* The current event starts the value of `key`, which stands at `where`. */
static bool read_node(reader *r, const char *key, const char *where, int depth)
{
    const ct_config_row *row = ct_config_find_row(key);
    ct_value v = { 0 };
    char shown[2 * CT_CONFIG_QUOTE + 8];
    bool ok = true;
    if (row && row->cls == CT_CLASS_NOTED) {
        note_key(r->cfg, where, key, row, r->p);
        return skip_node(r);
    }
    switch (r->event.type) {
    case YAML_MAPPING_START_EVENT:
        if (row && !is_section(key)) { /* some programs have a name or a map there */
            ct_problem(r->p, where, "%s: must be %s (got a map)", shown_key(key, row, shown),
                       ct_key_type_name(row->type));
            return skip_node(r);
        }
        return read_map(r, key, depth + 1);
    case YAML_SEQUENCE_START_EVENT: ok = take_list(r, &v); break;
    default: ok = take_scalar(r, &v); break;
    }
    if (ok && !row) {
        if (!is_null(&v) || !is_section(key)) unknown_key(key, where, r->p);
    } else if (ok && is_null(&v)) {
        /* A forgotten value must not silently become the default, unless that means "none". */
        if (row->type == CT_KEY_COLOR)
            ct_problem(r->p, where, "%s: has no value; \"#rrggbb\" needs quotes, # starts a comment", row->name);
        else if (row->def[0] != '\0' && strcmp(row->def, "[]") != 0)
            ct_problem(r->p, where, "%s: has no value", shown_key(key, row, shown));
    } else if (ok) {
        store(r->cfg, row, key, &v, where, r->source, 1, r->p);
    }
    ct_value_clear(&v);
    return ok;
}

/* The current event starts a map whose keys are below `prefix`. */
static bool read_map(reader *r, const char *prefix, int depth)
{
    bool any = false;
    yaml_mark_t start = r->event.start_mark;
    if (depth > CT_CONFIG_MAX_DEPTH) {
        problem_at(r, start, "maps are nested too deeply");
        r->stop = true;
        return false;
    }
    while (next(r)) {
        if (r->event.type == YAML_MAPPING_END_EVENT) {
            if (!any && *prefix && !is_section(prefix)) {
                char *at = ct_asprintf("%s:%zu:%zu", r->source, start.line + 1, start.column + 1);
                if (at) unknown_key(prefix, at, r->p);
                else r->p->fatal = CT_ENOMEM;
                ct_free(at);
            }
            return true;
        }
        any = true;
        if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length == 0) {
            problem_at(r, r->event.start_mark, "a key must be a plain name");
            r->stop = true;
            return false;
        }
        yaml_mark_t m = r->event.start_mark;
        char *key = ct_asprintf("%s%s%s", prefix, *prefix ? "." : "", (const char *)r->event.data.scalar.value);
        char *where = ct_asprintf("%s:%zu:%zu", r->source, m.line + 1, m.column + 1);
        bool ok = false;
        if (!key || !where) r->p->fatal = CT_ENOMEM;
        else ok = next(r) && read_node(r, key, where, depth);
        ct_free(key);
        ct_free(where);
        if (!ok) return false;
    }
    return false;
}

static bool open_text(reader *r, const char *text, size_t size)
{
    if (!yaml_parser_initialize(&r->parser)) {
        r->p->fatal = ct_fail(CT_ENOMEM, "%s: no memory for the YAML parser", r->source);
        return false;
    }
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, size);
    return true;
}

static void close_text(reader *r)
{
    if (r->have_event) yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
}

void ct_config_read_text(ct_config *cfg, const char *text, size_t size, const char *source, ct_problems *p)
{
    reader r = { .cfg = cfg, .source = source, .p = p };
    if (size > CT_CONFIG_MAX_BYTES) {
        ct_problem(p, source, "%zu bytes are too many for a configuration (at most %zu)", size, CT_CONFIG_MAX_BYTES);
        return;
    }
    if (!open_text(&r, text, size)) return;
    for (int documents = 0; next(&r) && r.event.type != YAML_STREAM_END_EVENT;) {
        if (r.event.type == YAML_STREAM_START_EVENT || r.event.type == YAML_DOCUMENT_END_EVENT) continue;
        if (r.event.type == YAML_DOCUMENT_START_EVENT) {
            if (documents++ > 0) {
                problem_at(&r, r.event.start_mark, "a configuration is one document, this is a second one");
                break;
            }
        } else if (r.event.type == YAML_MAPPING_START_EVENT) {
            if (!read_map(&r, "", 0)) break;
        } else if (r.event.type != YAML_SCALAR_EVENT || r.event.data.scalar.length > 0) {
            problem_at(&r, r.event.start_mark, "a configuration is a map of keys to values");
            break;
        }
    }
    close_text(&r);
}

/* ---- --set ---- */

/* Does an item of the list stand in quotes? */
static bool has_quotes(const char *list)
{
    for (list += strspn(list, "[ "); *list; list += strspn(list, ", ")) {
        if (*list == '"' || *list == '\'') return true;
        list += strcspn(list, ",");
    }
    return false;
}

/* A list with items in quotes, "[\"a, b\", c]", as YAML reads it. */
static void read_list(ct_config *cfg, const char *list, const char *where, ct_value *v, ct_problems *p)
{
    reader r = { .cfg = cfg, .source = where, .p = p };
    char *text = ct_asprintf(*list == '[' ? "%s" : "[%s]", list);
    if (!text) p->fatal = CT_ENOMEM;
    else if (open_text(&r, text, strlen(text))) {
        while (next(&r) && r.event.type != YAML_STREAM_END_EVENT) {
            if (r.event.type == YAML_STREAM_START_EVENT || r.event.type == YAML_DOCUMENT_START_EVENT ||
                r.event.type == YAML_DOCUMENT_END_EVENT)
                continue;
            if (v->is_list || r.event.type != YAML_SEQUENCE_START_EVENT) {
                problem_at(&r, r.event.start_mark, "must be one list");
                break;
            }
            if (!take_list(&r, v)) break;
        }
        close_text(&r);
    }
    ct_free(text);
}

/* "[a, b]" or "a,b" as a list of unquoted scalars. */
static ct_status split_list(const char *s, ct_value *v)
{
    size_t cap = 0, n = strlen(s);
    *v = (ct_value){ .is_list = true };
    if (n >= 2 && s[0] == '[' && s[n - 1] == ']') {
        s++;
        n -= 2;
    }
    const char *end = s + n;
    while (s < end && (*s == ' ' || end[-1] == ' ')) {
        if (*s == ' ') s++;
        else end--;
    }
    while (s < end) {
        const char *comma = memchr(s, ',', (size_t)(end - s)), *to = comma ? comma : end;
        const char *from = s, *stop = to;
        while (from < stop && *from == ' ') from++;
        while (stop > from && stop[-1] == ' ') stop--;
        CT_TRY(ct_grow(&v->item, v->n, &cap, sizeof *v->item, "configuration list"));
        v->item[v->n] = (ct_value){ .text = ct_strndup(from, (size_t)(stop - from), "configuration value") };
        if (!v->item[v->n].text) return CT_ENOMEM;
        v->n++;
        s = comma ? comma + 1 : end;
    }
    return CT_OK;
}

void ct_config_read_row(ct_config *cfg, const ct_config_row *row, const char *key, const char *value, const char *where,
                        int layer, ct_problems *p)
{
    ct_value v = { 0 };
    bool list = row->type == CT_KEY_INT_LIST || row->type == CT_KEY_FLOAT_LIST || row->type == CT_KEY_STR_LIST;
    /* a folder that is called so may be given as ./[a] */
    const bool paths = row->type == CT_KEY_PATH && row->list_max > 0 && value[0] == '[' &&
                       value[strlen(value) - 1] == ']';
    const size_t problems = p->count;
    if ((list || paths) && has_quotes(value)) {
        read_list(cfg, value, where, &v, p);
    } else if (list || paths || (row->type == CT_KEY_COLOR && strchr(value, ','))) {
        if (split_list(value, &v) != CT_OK) p->fatal = CT_ENOMEM;
    } else if (!(v.text = ct_strdup(value, "configuration value"))) {
        p->fatal = CT_ENOMEM;
    }
    if (p->fatal == CT_OK && p->count == problems) store(cfg, row, key, &v, where, NULL, layer, p);
    ct_value_clear(&v);
}

void ct_config_read_pair(ct_config *cfg, const char *key, const char *value, const char *where, int layer,
                         ct_problems *p)
{
    const ct_config_row *row = ct_config_find_row(key);
    if (!row) unknown_key(key, where, p);
    else if (row->cls == CT_CLASS_NOTED) note_key(cfg, where, key, row, p);
    else ct_config_read_row(cfg, row, key, value, where, layer, p);
}
