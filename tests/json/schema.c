#include "config.h"

#include "tests/json/schema.h"

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

static bool wrong(schema *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(schema *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    return false;
}

/* A value as text, cut; static storage, for one use in a message. */
static const char *shown(const json_t *v)
{
    static char buf[80];
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    snprintf(buf, sizeof buf, "%s%s", text ? text : "?", text && strlen(text) >= sizeof buf ? "..." : "");
    free(text);
    return buf;
}

/* ---- references ---- */

/* "FILE#/$defs/NAME" or "#/$defs/NAME", seen from `file`. NULL if there is no such definition; *in is the file it
 * stands in. */
static const json_t *resolve(const schema *s, const char *file, const char *ref, const char **in)
{
    static const char defs[] = "#/$defs/";
    const char *mark = strstr(ref, defs);
    char name[128];
    if (!mark || (size_t)(mark - ref) >= sizeof name) return NULL;
    memcpy(name, ref, (size_t)(mark - ref));
    name[mark - ref] = '\0';
    const char *key = *name ? name : file;
    void *at = json_object_iter_at(s->files, key);
    *in = at ? json_object_iter_key(at) : NULL;
    return at ? json_object_get(json_object_get(json_object_iter_value(at), "$defs"), mark + strlen(defs)) : NULL;
}

/* ---- the form of a schema ---- */

enum kind { TEXT, NUMBER, COUNT, SCHEMA, SCHEMAS, NAMED_SCHEMAS, STRINGS, LIST, ANY, TYPE, PATTERN, REF, NEVER };

static const struct keyword { const char *name; enum kind kind; } keywords[] = {
    { "$schema", TEXT }, { "title", TEXT }, { "description", TEXT }, { "$defs", NAMED_SCHEMAS }, { "$ref", REF },
    { "type", TYPE }, { "enum", LIST }, { "const", ANY },
    { "minimum", NUMBER }, { "maximum", NUMBER }, { "pattern", PATTERN },
    { "required", STRINGS }, { "properties", NAMED_SCHEMAS }, { "propertyNames", SCHEMA },
    { "additionalProperties", SCHEMA }, { "unevaluatedProperties", NEVER },
    { "items", SCHEMA }, { "minItems", COUNT }, { "maxItems", COUNT },
    { "allOf", SCHEMAS }, { "anyOf", SCHEMAS }, { "oneOf", SCHEMAS },
};

static const char *const type_names[] = { "object", "array", "string", "number", "integer", "boolean", "null" };

static bool known_type(const json_t *v)
{
    for (size_t i = 0; json_is_string(v) && i < sizeof type_names / sizeof *type_names; i++)
        if (strcmp(json_string_value(v), type_names[i]) == 0) return true;
    return false;
}

static bool good_type(const json_t *v)
{
    const json_t *one;
    size_t i;
    if (!json_is_array(v)) return known_type(v);
    json_array_foreach (v, i, one)
        if (!known_type(one)) return false;
    return json_array_size(v) > 0;
}

/* POSIX's extended expressions and ECMAScript's mean the same without \d, \w, \s, \b and (?...). */
static bool good_pattern(const json_t *v)
{
    regex_t r;
    const char *text = json_string_value(v);
    if (!text || strstr(text, "(?")) return false;
    for (const char *p = text; (p = strchr(p, '\\')); p += 2)
        if (!p[1] || strchr("dDwWsSbB123456789", p[1])) return false;
    if (regcomp(&r, text, REG_EXTENDED | REG_NOSUB) != 0) return false;
    regfree(&r);
    return true;
}

static bool list_of_strings(const json_t *v)
{
    const json_t *one;
    size_t i;
    json_array_foreach (v, i, one)
        if (!json_is_string(one)) return false;
    return json_is_array(v);
}

static bool load(schema *s, const char *name);
static bool form(schema *s, const char *file, const json_t *v, const char *path);

/* The schemas in a list or an object. */
static bool forms(schema *s, const char *file, const json_t *v, const char *path)
{
    char at[512];
    const char *key;
    json_t *one;
    size_t i;
    json_array_foreach (v, i, one) {
        snprintf(at, sizeof at, "%s/%zu", path, i);
        if (!form(s, file, one, at)) return false;
    }
    json_object_foreach ((json_t *)v, key, one) {
        snprintf(at, sizeof at, "%s/%s", path, key);
        if (!form(s, file, one, at)) return false;
    }
    return true;
}

/* Loads the file that is referred to, if it is another one. */
static bool good_ref(schema *s, const char *file, const json_t *v, const char *path)
{
    const char *ref = json_string_value(v), *mark = ref ? strchr(ref, '#') : NULL, *in;
    char name[128];
    if (!mark || (size_t)(mark - ref) >= sizeof name)
        return wrong(s, "%s#%s: a reference is FILE#/$defs/NAME", file, path);
    memcpy(name, ref, (size_t)(mark - ref));
    name[mark - ref] = '\0';
    if (*name && !load(s, name)) return false;
    return resolve(s, file, ref, &in) ? true : wrong(s, "%s#%s: '%s' is nowhere defined", file, path, ref);
}

static bool good_value(schema *s, const char *file, enum kind kind, const json_t *v, const char *path)
{
    bool good = true;
    switch (kind) {
    case TEXT: good = json_is_string(v); break;
    case NUMBER: good = json_is_number(v); break;
    case COUNT: good = json_is_integer(v) && json_integer_value(v) >= 0; break;
    case LIST: good = json_array_size(v) > 0; break;
    case STRINGS: good = list_of_strings(v); break;
    case TYPE: good = good_type(v); break;
    case PATTERN: good = good_pattern(v); break;
    case NEVER: good = json_is_false(v); break;
    case REF: return good_ref(s, file, v, path);
    case SCHEMA: return form(s, file, v, path);
    case SCHEMAS:
        if (json_array_size(v) > 0) return forms(s, file, v, path);
        good = false;
        break;
    case NAMED_SCHEMAS:
        if (json_is_object(v)) return forms(s, file, v, path);
        good = false;
        break;
    case ANY: break;
    }
    return good ? true : wrong(s, "%s#%s: %s is no value for it", file, path, shown(v));
}

/* Everything a schema at `path` may hold has a meaning here. */
static bool form(schema *s, const char *file, const json_t *v, const char *path)
{
    char at[512];
    const char *key;
    json_t *value;
    if (json_is_boolean(v)) return true;
    if (!json_is_object(v)) return wrong(s, "%s#%s: neither an object nor true nor false", file, path);
    json_object_foreach ((json_t *)v, key, value) {
        size_t k = 0;
        const size_t n = sizeof keywords / sizeof *keywords;
        while (k < n && strcmp(keywords[k].name, key) != 0) k++;
        snprintf(at, sizeof at, "%s/%s", path, key);
        if (k == n) return wrong(s, "%s#%s: an unknown keyword", file, at);
        if (!good_value(s, file, keywords[k].kind, value, at)) return false;
    }
    return true;
}

static bool load(schema *s, const char *name)
{
    char path[1024];
    json_error_t error;
    if (json_object_get(s->files, name)) return true;
    if (!s->folder || strchr(name, '/')) return wrong(s, "%s: references lead to files of the same folder", name);
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    json_t *v = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!v) return wrong(s, "%s:%d: %s", path, error.line, error.text);
    if (json_object_set_new(s->files, name, v) != 0) return wrong(s, "out of memory");
    return form(s, name, v, "");
}

bool schema_open(schema *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    *s = (schema){ .files = json_object(), .name = slash ? slash + 1 : path };
    s->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    return load(s, s->name);
}

bool schema_parse(schema *s, const char *text)
{
    json_error_t error;
    *s = (schema){ .files = json_object(), .name = "text" };
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!v) return wrong(s, "line %d: %s", error.line, error.text);
    json_object_set_new(s->files, s->name, v);
    return form(s, s->name, v, "");
}

void schema_close(schema *s)
{
    json_decref(s->files);
    free(s->folder);
}

/* ---- documents ---- */

/* Where a subschema stands and what it is about. seen: names of the object's members that a schema has judged, for
 * unevaluatedProperties. */
typedef struct place {
    const char *file; /* that the schema stands in */
    const json_t *value;
    const char *path; /* of the value */
    json_t *seen;
} place;

static bool judge(schema *s, const json_t *rule, const place *at);

static bool is_integer(const json_t *v)
{
    return json_is_integer(v) || (json_is_real(v) && floor(json_real_value(v)) == json_real_value(v));
}

static bool of_type(const json_t *v, const char *name)
{
    switch (name[0]) {
    case 'o': return json_is_object(v);
    case 'a': return json_is_array(v);
    case 's': return json_is_string(v);
    case 'b': return json_is_boolean(v);
    case 'i': return is_integer(v);
    default: return strcmp(name, "null") == 0 ? json_is_null(v) : json_is_number(v);
    }
}

static bool judge_type(schema *s, const json_t *type, const place *at)
{
    const json_t *one;
    size_t i;
    if (!type || (json_is_string(type) && of_type(at->value, json_string_value(type)))) return true;
    json_array_foreach (type, i, one)
        if (of_type(at->value, json_string_value(one))) return true;
    char what[80];
    snprintf(what, sizeof what, "%s", shown(type));
    return wrong(s, "%s: %s is not of type %s", at->path, shown(at->value), what);
}

/* Numbers are equal by value: 1 and 1.0. */
static bool equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static bool judge_value(schema *s, const json_t *rule, const place *at)
{
    const json_t *v = at->value, *r, *one;
    char what[80];
    size_t i;
    if ((r = json_object_get(rule, "const")) && !equal(r, v)) {
        snprintf(what, sizeof what, "%s", shown(r));
        return wrong(s, "%s: %s instead of %s", at->path, shown(v), what);
    }
    if ((r = json_object_get(rule, "enum"))) {
        bool found = false;
        json_array_foreach (r, i, one) found = found || equal(one, v);
        snprintf(what, sizeof what, "%s", shown(r));
        if (!found) return wrong(s, "%s: %s is none of %s", at->path, shown(v), what);
    }
    if (json_is_number(v)) {
        if ((r = json_object_get(rule, "minimum")) && json_number_value(v) < json_number_value(r))
            return wrong(s, "%s: %s is below %g", at->path, shown(v), json_number_value(r));
        if ((r = json_object_get(rule, "maximum")) && json_number_value(v) > json_number_value(r))
            return wrong(s, "%s: %s is above %g", at->path, shown(v), json_number_value(r));
    }
    if (json_is_string(v) && (r = json_object_get(rule, "pattern"))) {
        regex_t re;
        regcomp(&re, json_string_value(r), REG_EXTENDED | REG_NOSUB); /* form() has compiled it before */
        bool match = regexec(&re, json_string_value(v), 0, NULL, 0) == 0;
        regfree(&re);
        if (!match) return wrong(s, "%s: %s does not match %s", at->path, shown(v), json_string_value(r));
    }
    return true;
}

static bool judge_array(schema *s, const json_t *rule, const place *at)
{
    const json_t *r, *items = json_object_get(rule, "items");
    json_t *one;
    char path[512];
    size_t i, n = json_array_size(at->value);
    if (!json_is_array(at->value)) return true;
    if ((r = json_object_get(rule, "minItems")) && (json_int_t)n < json_integer_value(r))
        return wrong(s, "%s: %zu items are too few", at->path, n);
    if ((r = json_object_get(rule, "maxItems")) && (json_int_t)n > json_integer_value(r))
        return wrong(s, "%s: %zu items are too many", at->path, n);
    if (!items) return true;
    json_array_foreach (at->value, i, one) {
        snprintf(path, sizeof path, "%s[%zu]", at->path, i);
        if (!judge(s, items, &(place){ at->file, one, path, NULL })) return false;
    }
    return true;
}

static bool judge_name(schema *s, const json_t *rule, const place *at, const char *name)
{
    json_t *text = json_string(name);
    bool good = judge(s, rule, &(place){ at->file, text, at->path, NULL });
    json_decref(text);
    return good;
}

static bool judge_object(schema *s, const json_t *rule, const place *at)
{
    const json_t *required = json_object_get(rule, "required"), *properties = json_object_get(rule, "properties");
    const json_t *more = json_object_get(rule, "additionalProperties"), *names = json_object_get(rule, "propertyNames");
    const json_t *one;
    json_t *member;
    const char *key;
    char path[512];
    size_t i;
    if (!json_is_object(at->value)) return true;
    json_array_foreach (required, i, one)
        if (!json_object_get(at->value, json_string_value(one)))
            return wrong(s, "%s: '%s' is missing", at->path, json_string_value(one));
    json_object_foreach ((json_t *)at->value, key, member) {
        const json_t *r = json_object_get(properties, key);
        if (names && !judge_name(s, names, at, key)) return false;
        if (!r) r = more;
        if (!r) continue;
        if (json_is_false(r)) return wrong(s, "%s: '%s' is unknown", at->path, key);
        snprintf(path, sizeof path, "%s.%s", at->path, key);
        if (!judge(s, r, &(place){ at->file, member, path, NULL })) return false;
        json_object_set_new(at->seen, key, json_true());
    }
    return true;
}

/* allOf, anyOf and oneOf; members are seen by the alternatives that hold. */
static bool judge_several(schema *s, const char *keyword, const json_t *rule, const place *at)
{
    const json_t *list = json_object_get(rule, keyword), *one;
    char reasons[SCHEMA_WHY] = "";
    size_t i, n = 0, used = 0;
    json_array_foreach (list, i, one) {
        json_t *seen = json_object();
        const bool good = judge(s, one, &(place){ at->file, at->value, at->path, seen });
        if (good) json_object_update(at->seen, seen);
        else if (used < sizeof reasons)
            used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%s", used ? "; " : "", s->why);
        n += good;
        json_decref(seen);
        if (!good && strcmp(keyword, "allOf") == 0) return false;
    }
    if (!list || strcmp(keyword, "allOf") == 0) return true;
    if (n == 0 && i == 1) return wrong(s, "%s", reasons);
    if (n == 0) return wrong(s, "%s: fits none of its forms (%.1400s)", at->path, reasons);
    if (n > 1 && strcmp(keyword, "oneOf") == 0) return wrong(s, "%s: fits %zu of its forms", at->path, n);
    return true;
}

static bool judge_ref(schema *s, const json_t *ref, const place *at)
{
    const char *in = NULL;
    if (!ref) return true;
    const json_t *rule = resolve(s, at->file, json_string_value(ref), &in);
    return judge(s, rule, &(place){ in, at->value, at->path, at->seen });
}

static bool judge_unseen(schema *s, const json_t *rule, const place *at)
{
    const char *key;
    json_t *member;
    if (!json_object_get(rule, "unevaluatedProperties")) return true;
    json_object_foreach ((json_t *)at->value, key, member)
        if (!json_object_get(at->seen, key)) return wrong(s, "%s: '%s' is unknown", at->path, key);
    return true;
}

static bool judge(schema *s, const json_t *rule, const place *at)
{
    if (json_is_true(rule)) return true;
    if (json_is_false(rule)) return wrong(s, "%s: must not be there", at->path);
    json_t *seen = json_object();
    const place here = { at->file, at->value, at->path, seen };
    bool good = judge_type(s, json_object_get(rule, "type"), &here) && judge_value(s, rule, &here) &&
                judge_array(s, rule, &here) && judge_object(s, rule, &here) &&
                judge_ref(s, json_object_get(rule, "$ref"), &here) && judge_several(s, "allOf", rule, &here) &&
                judge_several(s, "anyOf", rule, &here) && judge_several(s, "oneOf", rule, &here) &&
                judge_unseen(s, rule, &here);
    if (good && at->seen) json_object_update(at->seen, seen);
    json_decref(seen);
    return good;
}

bool schema_accepts(schema *s, const json_t *document)
{
    s->why[0] = '\0';
    return judge(s, json_object_get(s->files, s->name), &(place){ s->name, document, "$", NULL });
}
