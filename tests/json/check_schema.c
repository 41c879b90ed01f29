/* Checks JSON documents against schemas, and itself.
 *
 *   check_schema                           tests the validator: every keyword, with documents it must accept and refuse
 *   check_schema [--lines] SCHEMA FILE...  does each FILE (with --lines: each of its lines) satisfy SCHEMA? 0 yes,
 *                                          1 no, 2 it could not be said. Each document is also hurt in many places,
 *                                          and must then be refused.
 */
#include "config.h"

#include <string.h>

#include "tests/ct_check.h"
#include "tests/json/schema.h"

/* ---- documents in files ---- */

#define HURT_ITEMS 2 /* of each array; its items are alike */

static int still_accepted(schema *s, const json_t *document, const char *what)
{
    if (!schema_accepts(s, document)) return 0;
    printf("%s accepts a document with %s\n", s->name, what);
    return 1;
}

/* Puts an unknown member into every object below v, and something that is never right into the place of every member.
 * Returns how often the document was accepted nevertheless; leaves it as it was. */
static int hurt(schema *s, const json_t *document, json_t *v)
{
    int accepted = 0;
    char what[200];
    for (size_t i = 0; i < json_array_size(v) && i < HURT_ITEMS; i++)
        accepted += hurt(s, document, json_array_get(v, i));
    if (!json_is_object(v)) return accepted;
    for (void *at = json_object_iter(v); at; at = json_object_iter_next(v, at)) {
        json_t *old = json_incref(json_object_iter_value(at));
        snprintf(what, sizeof what, "an object as '%s'", json_object_iter_key(at));
        json_object_iter_set_new(v, at, json_pack("{s:{}}", "no such key"));
        accepted += still_accepted(s, document, what);
        json_object_iter_set_new(v, at, old);
        accepted += hurt(s, document, old);
    }
    json_object_set_new(v, "no such key", json_string("x"));
    accepted += still_accepted(s, document, "an unknown key");
    json_object_del(v, "no such key");
    return accepted;
}

static int judge_text(schema *s, const char *text, const char *file, size_t line)
{
    json_error_t error;
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!v) {
        printf("%s:%zu: no JSON: %s\n", file, line + (size_t)error.line - 1, error.text);
        return 1;
    }
    const bool good = schema_accepts(s, v);
    if (!good) printf("%s:%zu: %s: %s\n", file, line, s->name, s->why);
    const bool firm = good && hurt(s, v, v) == 0;
    json_decref(v);
    return firm ? 0 : 1;
}

/* The whole file as text; free(). */
static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, cap = 1 << 16;
    char *text = f ? malloc(cap) : NULL;
    while (text && !feof(f) && !ferror(f)) {
        if (cap - n < 2) text = realloc(text, cap *= 2);
        if (text) n += fread(text + n, 1, cap - n - 1, f);
    }
    if (text) text[n] = '\0';
    if (f) fclose(f);
    return text;
}

static int judge_file(schema *s, const char *path, bool lines)
{
    char *text = slurp(path), *rest = text;
    int bad = 0;
    size_t n = 0;
    if (!text || !*text) {
        printf("%s: cannot be read, or is empty\n", path);
        free(text);
        return 1;
    }
    if (!lines) bad = judge_text(s, text, path, 1);
    while (lines && rest && *rest) {
        char *line = strsep(&rest, "\n");
        bad |= judge_text(s, line, path, ++n);
    }
    free(text);
    return bad;
}

static int judge_files(int argc, char **argv)
{
    const bool lines = strcmp(argv[1], "--lines") == 0;
    const int first = lines ? 2 : 1;
    schema s;
    int bad = 0;
    if (argc < first + 1) {
        fputs("check_schema [--lines] SCHEMA FILE...\n", stderr);
        return 2;
    }
    if (!schema_open(&s, argv[first])) {
        printf("%s\n", s.why);
        bad = 2;
    }
    for (int i = first + 1; i < argc && bad < 2; i++) bad |= judge_file(&s, argv[i], lines);
    schema_close(&s);
    return bad;
}

/* ---- the validator itself ---- */

/* Documents of one schema: those it must accept, and those it must refuse with the reason's beginning. */
static const struct row {
    const char *schema, *good[6], *bad[6][2];
} rows[] = {
    { "{\"type\": \"integer\"}", { "1", "-3", "2.0" },
      { { "1.5", "$: 1.5 is not of type" }, { "\"1\"", "$:" }, { "null", "$:" }, { "true", "$:" } } },
    { "{\"type\": [\"number\", \"null\"]}", { "1", "1.5", "null" },
      { { "\"x\"", "$:" }, { "false", "$:" }, { "[]", "$:" } } },
    { "{\"type\": \"object\", \"required\": [\"a\"], \"additionalProperties\": false,"
      " \"properties\": {\"a\": {\"type\": \"string\"}, \"b\": true}}",
      { "{\"a\": \"x\"}", "{\"a\": \"\", \"b\": []}" },
      { { "{}", "$: 'a' is missing" },
        { "{\"a\": 1}", "$.a: 1 is not of type" },
        { "{\"a\": \"x\", \"c\": 1}", "$: 'c' is unknown" },
        { "[]", "$:" } } },
    { "{\"additionalProperties\": {\"type\": \"integer\"}, \"propertyNames\": {\"pattern\": \"^[0-9]+$\"}}",
      { "{}", "{\"12\": 3}", "7" },
      { { "{\"12\": \"x\"}", "$.12: " }, { "{\"x\": 1}", "$: \"x\" does not match" } } },
    { "{\"items\": {\"enum\": [1, \"x\", null]}, \"minItems\": 1, \"maxItems\": 2}", { "[1]", "[\"x\", null]", "3" },
      { { "[]", "$: 0 items" }, { "[1, 1, 1]", "$: 3 items" }, { "[1, 2]", "$[1]: 2 is none of" } } },
    { "{\"const\": 1}", { "1", "1.0" }, { { "2", "$: 2 instead of 1" }, { "true", "$:" } } },
    { "{\"minimum\": 0, \"maximum\": 1}", { "0", "0.5", "1", "\"x\"" },
      { { "-0.1", "$: -0.1" }, { "1.01", "$: 1.01" } } },
    { "{\"pattern\": \"^a+(b|\\\\.)$\"}", { "\"ab\"", "\"aa.\"", "5" },
      { { "\"b\"", "$: \"b\" does not match" }, { "\"abb\"", "$:" } } },
    { "{\"$ref\": \"#/$defs/list\","
      " \"$defs\": {\"list\": {\"type\": [\"array\", \"null\"], \"items\": {\"$ref\": \"#/$defs/list\"}}}}",
      { "null", "[]", "[[null], []]" }, { { "[[1]]", "$[0][0]: 1" }, { "{}", "$:" } } },
    { "{\"oneOf\": [{\"type\": \"integer\"}, {\"minimum\": 5}]}", { "1", "5.5", "\"x\"" },
      { { "6", "$: fits 2" }, { "1.5", "$: fits none" } } },
    { "{\"anyOf\": [{\"type\": \"integer\"}, {\"minimum\": 5}]}", { "1", "6", "5.5" }, { { "1.5", "$: fits none" } } },
    { "{\"allOf\": [{\"type\": \"integer\"}, {\"minimum\": 5}]}", { "6" },
      { { "1", "$: 1 is below" }, { "6.5", "$: 6.5 is not" } } },
    { "{\"properties\": {\"a\": true}, \"unevaluatedProperties\": false,"
      " \"oneOf\": [{\"required\": [\"b\"], \"properties\": {\"b\": true}},"
      " {\"required\": [\"c\"], \"properties\": {\"c\": true}}]}",
      { "{\"a\": 1, \"b\": 2}", "{\"c\": 2}" },
      { { "{\"a\": 1}", "$: fits none" },
        { "{\"b\": 1, \"d\": 2}", "$: 'd' is unknown" },
        { "{\"b\": 1, \"c\": 1}", "$: fits 2" } } },
    /* what an alternative that does not hold has seen does not count */
    { "{\"anyOf\": [{\"properties\": {\"a\": true, \"b\": {\"type\": \"string\"}}}, true],"
      " \"unevaluatedProperties\": false}",
      { "{\"a\": 1}", "{\"a\": 1, \"b\": \"x\"}" }, { { "{\"a\": 1, \"b\": 2}", "$: 'a' is unknown" } } },
    { "{\"properties\": {\"a\": false}}", { "{}", "{\"b\": 1}" }, { { "{\"a\": 1}", "$: 'a' is unknown" } } },
    { "false", { NULL }, { { "1", "$: must not" } } },
};

START_TEST(documents_are_accepted_and_refused)
{
    const struct row *r = &rows[_i];
    schema s;
    json_t *v;
    ck_assert_msg(schema_parse(&s, r->schema), "%s: %s", r->schema, s.why);
    for (size_t i = 0; i < 6 && r->good[i]; i++) {
        v = json_loads(r->good[i], JSON_DECODE_ANY, NULL);
        ck_assert_ptr_nonnull(v);
        ck_assert_msg(schema_accepts(&s, v), "%s refuses %s: %s", r->schema, r->good[i], s.why);
        json_decref(v);
    }
    for (size_t i = 0; i < 6 && r->bad[i][0]; i++) {
        v = json_loads(r->bad[i][0], JSON_DECODE_ANY, NULL);
        ck_assert_ptr_nonnull(v);
        ck_assert_msg(!schema_accepts(&s, v), "%s accepts %s", r->schema, r->bad[i][0]);
        ck_assert_msg(strncmp(s.why, r->bad[i][1], strlen(r->bad[i][1])) == 0, "%s: says '%s', not '%s'", r->bad[i][0],
                      s.why, r->bad[i][1]);
        json_decref(v);
    }
    schema_close(&s);
}
END_TEST

/* Schemas that are none, and what must be said. */
static const char *const no_schemas[][2] = {
    { "{\"typ\": \"integer\"}", "text#/typ: an unknown keyword" },
    { "{\"properties\": {\"a\": {\"oneof\": []}}}", "text#/properties/a/oneof: an unknown keyword" },
    { "{\"items\": [{\"min\": 1}]}", "text#/items:" },
    { "{\"$defs\": {\"unused\": {\"minimum\": \"1\"}}}", "text#/$defs/unused/minimum: \"1\"" },
    { "{\"type\": \"int\"}", "text#/type: \"int\"" },
    { "{\"type\": []}", "text#/type:" },
    { "{\"enum\": []}", "text#/enum:" },
    { "{\"oneOf\": []}", "text#/oneOf:" },
    { "{\"required\": [1]}", "text#/required:" },
    { "{\"minItems\": -1}", "text#/minItems:" },
    { "{\"pattern\": \"\\\\d+\"}", "text#/pattern:" },
    { "{\"pattern\": \"(?:a)\"}", "text#/pattern:" },
    { "{\"pattern\": \"(\"}", "text#/pattern:" },
    { "{\"unevaluatedProperties\": true}", "text#/unevaluatedProperties:" },
    { "{\"$ref\": \"#/$defs/gone\"}", "text#/$ref: '#/$defs/gone' is nowhere defined" },
    { "{\"$ref\": \"gone.json#/$defs/a\"}", "gone.json:" },
    { "{\"$ref\": \"here\"}", "text#/$ref: a reference is" },
    { "[]", "text#: neither" },
    { "{", "line 1:" },
};

START_TEST(schemas_without_meaning_are_errors)
{
    schema s;
    ck_assert_msg(!schema_parse(&s, no_schemas[_i][0]), "%s is taken for a schema", no_schemas[_i][0]);
    ck_assert_msg(strncmp(s.why, no_schemas[_i][1], strlen(no_schemas[_i][1])) == 0, "%s: says '%s'",
                  no_schemas[_i][0], s.why);
    schema_close(&s);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1) return judge_files(argc, argv);
    Suite *suite = suite_create("schema");
    TCase *c = tcase_create("schema");
    tcase_add_loop_test(c, documents_are_accepted_and_refused, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(c, schemas_without_meaning_are_errors, 0, (int)(sizeof no_schemas / sizeof *no_schemas));
    suite_add_tcase(suite, c);
    return ct_check_main(suite);
}
