/* What `captrain check` tells about texts: their characters and lengths, and whether their pictures give the time
 * steps they need. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/text/reader.h"

static const ct_text_survey *of(const ct_survey *s) { return (const ct_text_survey *)s; }

/* ---- counting ---- */

/* Counts are kept by code point, in pages of a plane that are made when they are needed: a character costs the same,
 * however many there are. */
static ct_status count_char(ct_text_survey *v, uint32_t cp)
{
    int64_t **page = &v->page[cp / CT_CHAR_PAGE];
    if (!*page && !(*page = ct_calloc(CT_CHAR_PAGE, sizeof **page, "characters"))) return CT_ENOMEM;
    v->n_chars += (*page)[cp % CT_CHAR_PAGE]++ == 0;
    return CT_OK;
}

bool ct_text_survey_next(const ct_text_survey *v, ct_char_count *c)
{
    for (uint32_t cp = c->n > 0 ? c->cp + 1 : 0; cp < CT_CHAR_PAGES * CT_CHAR_PAGE; cp++) {
        const int64_t *page = v->page[cp / CT_CHAR_PAGE];
        if (!page) cp |= CT_CHAR_PAGE - 1;
        else if (page[cp % CT_CHAR_PAGE] > 0) {
            *c = (ct_char_count){ cp, page[cp % CT_CHAR_PAGE] };
            return true;
        }
    }
    return false;
}

/* Time steps that a label needs: characters, and a blank between equal neighbours. */
static int steps_of(const ct_labels *l, const char *text)
{
    int32_t id[CT_LABEL_MAX];
    int n = 0;
    for (int32_t cp; n < CT_LABEL_MAX && (cp = ct_utf8_next(&text)) > 0; n++)
        id[n] = ct_charset_find(ct_text_reader_charset(l), (uint32_t)cp);
    return ct_label_steps(id, n);
}

static ct_status count_steps(ct_text_survey *v, int set, const ct_label_in *in)
{
    CT_TRY(ct_grow(&v->steps, v->n_steps, &v->cap_steps, sizeof *v->steps, "time steps"));
    ct_step_count c = { .set = set, .needs = steps_of(v->labels, in->text) };
    c.gives = ct_text_reader_steps(v->labels, in->width);
    if (!(c.name = ct_strdup(in->name, "time steps"))) return CT_ENOMEM;
    v->steps[v->n_steps++] = c;
    return CT_OK;
}

static ct_status add(ct_survey *s, int set, const ct_label_in *in, const char *fault)
{
    ct_text_survey *v = (ct_text_survey *)s;
    const int64_t len = ct_utf8_len(in->text);
    const char *text = in->text;
    if (len >= 0 && len <= CT_LABEL_MAX) v->lengths[len]++;
    for (int32_t cp; (cp = ct_utf8_next(&text)) > 0;) CT_TRY(count_char(v, (uint32_t)cp));
    if (in->width > 0 && !fault) {
        const double tight = (double)steps_of(v->labels, in->text) * in->height / in->width;
        if (tight > v->tightest) v->tightest = tight;
    }
    const bool readable = !fault || strcmp(fault, "steps") == 0;
    return in->width > 0 && readable && ct_text_reader_sequence(v->labels) ? count_steps(v, set, in) : CT_OK;
}

/* ---- text ---- */

/* The charset in quotes; what nobody sees, and marks that would stand on the character before them, as \u{200b}. */
static void print_charset(const ct_charset *cs, FILE *to)
{
    fprintf(to, "\ncharset, %d characters: \"", cs->n);
    for (int i = 0; i < cs->n; i++) {
        char c[5];
        if ((cs->cp[i] != ' ' && ct_invisible_name(cs->cp[i])) || ct_label_mark(cs->cp[i])) {
            fprintf(to, "\\u{%x}", (unsigned)cs->cp[i]);
            continue;
        }
        ct_utf8_put(cs->cp[i], c);
        fprintf(to, "%s%s", strchr("\"\\", c[0]) ? "\\" : "", c);
    }
    fputs("\"\n", to);
}

static void print_invisible(const ct_text_survey *v, FILE *to)
{
    for (ct_char_count c = { 0 }; ct_text_survey_next(v, &c);) {
        const char *name = ct_invisible_name(c.cp);
        if (name) fprintf(to, "  U+%04X %s, which nobody sees: %" PRId64 " times\n", (unsigned)c.cp, name, c.n);
    }
}

static void print_labels(const ct_text_survey *v, FILE *to)
{
    const ct_charset *cs = ct_text_reader_charset(v->labels);
    fprintf(to, "\nlabel lengths (characters):\n");
    for (int i = 0; i <= CT_LABEL_MAX; i++) {
        if (v->lengths[i] > 0) fprintf(to, "  %5d         %8" PRId64 "\n", i, v->lengths[i]);
    }
    print_charset(cs, to);
    print_invisible(v, to);
    ct_char_count least = { 0 }, most = { 0 };
    for (ct_char_count c = { 0 }; ct_text_survey_next(v, &c);) {
        if (least.n == 0 || c.n < least.n) least = c;
        if (c.n > most.n) most = c;
    }
    if (least.n > 0) {
        char a[32], b[32];
        fprintf(to, "rarest: %s, %" PRId64 " times; most frequent: %s, %" PRId64 " times\n", ct_utf8_show(least.cp, a),
                least.n, ct_utf8_show(most.cp, b), most.n);
    }
}

/* How much room CTC has: labels that only just fit are hard to learn. */
static void print_steps(const ct_text_survey *v, const char *const mark[2], FILE *to)
{
    int64_t tight = 0, fits = 0;
    const ct_step_count *least = NULL; /* of those that fit, the one with the fewest steps to spare */
    for (size_t i = 0; i < v->n_steps; i++) {
        const ct_step_count *c = &v->steps[i];
        if (c->needs > c->gives) continue;
        fits++;
        tight += c->gives == c->needs;
        if (!least || c->gives - c->needs < least->gives - least->needs) least = c;
    }
    if (v->n_steps == 0) return;
    fprintf(to, "\ntime steps (CTC): %" PRId64 " of %zu labels fit their pictures, %" PRId64 " with none to spare\n",
            fits, v->n_steps, tight);
    if (least) {
        fprintf(to, "  tightest: %s", mark[least->set]);
        ct_text_put(to, least->name, false);
        fprintf(to, " needs %d of %" PRId64 "\n", least->needs, least->gives);
    }
}

static void print(const ct_survey *s, ct_survey_part part, const char *const mark[2], FILE *to)
{
    if (part == CT_SURVEY_LABELS) print_labels(of(s), to);
    else print_steps(of(s), mark, to);
}

/* ---- JSON ---- */

static ct_status labels_json(const ct_text_survey *v, json_t *into)
{
    json_t *lengths = json_object(), *chars = json_object();
    ct_status st = ct_json_set(into, "lengths", lengths);
    if (st == CT_OK) st = ct_json_set(into, "characters", chars);
    else json_decref(chars);
    for (int i = 0; i <= CT_LABEL_MAX && st == CT_OK; i++) {
        char key[16];
        if (v->lengths[i] == 0) continue;
        snprintf(key, sizeof key, "%d", i);
        st = ct_json_set(lengths, key, json_integer(v->lengths[i]));
    }
    for (ct_char_count c = { 0 }; st == CT_OK && ct_text_survey_next(v, &c);) {
        char key[5];
        ct_utf8_put(c.cp, key);
        st = ct_json_set(chars, key, json_integer(c.n));
    }
    return st;
}

static ct_status steps_json(const ct_text_survey *v, json_t *into)
{
    json_t *all = json_array();
    CT_TRY(ct_json_set(into, "time_steps", all));
    for (size_t i = 0; i < v->n_steps; i++) {
        const ct_step_count *c = &v->steps[i];
        json_t *o = json_object();
        if (json_array_append_new(all, o) != 0) return ct_fail(CT_ENOMEM, "out of memory writing JSON");
        CT_TRY(ct_json_set(o, "set", json_string(c->set ? "val" : "train")));
        CT_TRY(ct_json_set(o, "file", ct_json_any(c->name)));
        CT_TRY(ct_json_set(o, "needs", json_integer(c->needs)));
        CT_TRY(ct_json_set(o, "gives", json_integer(c->gives)));
    }
    const char *utf8 = ct_text_reader_charset(v->labels)->utf8;
    return ct_json_set(into, "charset", json_string(utf8 ? utf8 : ""));
}

static ct_status json(const ct_survey *s, ct_survey_part part, json_t *into)
{
    return part == CT_SURVEY_LABELS ? labels_json(of(s), into) : steps_json(of(s), into);
}

/* ---- opening ---- */

static void close_survey(ct_survey *s)
{
    ct_text_survey *v = (ct_text_survey *)s;
    for (size_t i = 0; i < v->n_steps; i++) ct_free(v->steps[i].name);
    ct_free(v->steps);
    for (size_t i = 0; i < CT_CHAR_PAGES; i++) ct_free(v->page[i]);
    ct_free(v);
}

ct_status ct_text_survey_open(const ct_labels *l, ct_survey **out)
{
    static const ct_survey_ops ops = { .add = add, .print = print, .json = json, .close = close_survey };
    ct_text_survey *v = ct_calloc(1, sizeof *v, "survey of labels");
    *out = v ? &v->base : NULL;
    if (!v) return CT_ENOMEM;
    v->base.ops = &ops;
    v->labels = l;
    return CT_OK;
}
