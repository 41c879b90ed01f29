/* Label files of other programs whose lines are no table: gt.txt of ICDAR, lists of PaddleOCR and of MJSynth, JSON
 * lines as those of Hugging Face. */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "lists/label_files.h"
#include "lists/table.h"

enum { JSON_LINE_BYTES = 1 << 20 }; /* of one line, at most */

typedef struct source {
    const char *path;
    int64_t line;
} source;

/* ---- gt.txt ---- */

/* Where the name ends: at a tab; at the comma in front of a quoted text; else at the first comma or blank. */
static char *end_of_name(char *line, size_t len)
{
    char *cut = strchr(line, '\t');
    if (cut) return cut;
    if (len > 1 && line[len - 1] == '"') {
        for (cut = line; (cut = strchr(cut, ',')); cut++)
            if (cut[1 + strspn(cut + 1, " ")] == '"') return cut;
    }
    return line + strcspn(line, ", ");
}

/* Takes the quotes off, in place: \" and \\ stand for the second of the two. */
static ct_status unquote(const source *from, char *text, size_t len)
{
    char *w = text;
    size_t i = 1;
    for (; i < len && text[i] != '"'; i++) {
        if (text[i] == '\\' && i + 1 < len && strchr("\"\\", text[i + 1])) i++;
        *w++ = text[i];
    }
    if (i >= len)
        return ct_fail(CT_EFORMAT, "%s:%lld: the quote opened here is not closed", from->path, (long long)from->line);
    if (i + 1 < len)
        return ct_fail(CT_EFORMAT, "%s:%lld: text behind a closing quote; a quote within a text is \\\"", from->path,
                       (long long)from->line);
    *w = '\0';
    return CT_OK;
}

static ct_status gt_row(const source *from, char *line, size_t len, ct_label_row *row)
{
    char *cut = end_of_name(line, len);
    row->name = line;
    if (!*cut) return CT_OK;
    const bool comma = *cut == ',';
    char *text = cut + 1;
    if (*cut != '\t') text += strspn(text, " ");
    *cut = '\0';
    row->text = text;
    return comma && *text == '"' ? unquote(from, text, strlen(text)) : CT_OK;
}

/* ---- rec_gt*.txt ---- */

static ct_status paddle_row(const source *from, char *line, size_t len, ct_label_row *row)
{
    char *cut = memchr(line, '\t', len);
    if (line[0] == '[')
        return ct_fail(CT_EFORMAT, "%s:%lld: a list of alternative pictures for one label, which is not read; write a "
                       "line for each of them", from->path, (long long)from->line);
    row->name = line;
    if (!cut) return CT_OK;
    *cut = '\0';
    row->text = cut + 1;
    return CT_OK;
}

/* ---- MJSynth ---- */

static size_t digits(const char *s) { return strspn(s, "0123456789"); }

/* ./2425/1/115_Lube_45484.jpg 45484: the label is in the name, behind it its number in the lexicon, which lists of
 * names alone (imlist.txt) do not have. The parts of the name into word [len]. */
static bool mjsynth_word(const char *line, const char **word, size_t *len)
{
    const size_t name = strcspn(line, " \r\n");
    const char *base = line, *end = line + name;
    for (const char *p = line; p < end; p++)
        if (*p == '/') base = p + 1;
    const size_t number = digits(base);
    if (number == 0 || base[number] != '_') return false;
    *word = base + number + 1;
    const char *last = NULL;
    for (const char *p = *word; p < end; p++)
        if (*p == '_') last = p;
    if (!last || last == *word) return false;
    *len = (size_t)(last - *word);
    const size_t lexicon = digits(last + 1);
    if (lexicon == 0 || last[1 + lexicon] != '.') return false;
    const char *rest = end + strspn(end, " ");
    const size_t again = digits(rest);
    if (again == 0) return *rest == '\0' || *rest == '\r' || *rest == '\n';
    return again == lexicon && memcmp(rest, last + 1, again) == 0;
}

bool ct_label_lines_mjsynth(const char *line)
{
    const char *word;
    size_t len;
    return mjsynth_word(line, &word, &len);
}

/* The word goes to `own`: its copy needs a NUL where the name goes on. */
static ct_status mjsynth_row(const source *from, char *line, char *own, ct_label_row *row)
{
    const char *word;
    size_t len;
    if (!mjsynth_word(line, &word, &len))
        return ct_fail(CT_EFORMAT, "%s:%lld: is no line of MJSynth, NUMBER_WORD_NUMBER.jpg NUMBER", from->path,
                       (long long)from->line);
    memcpy(own, word, len);
    own[len] = '\0';
    line[strcspn(line, " ")] = '\0';
    row->name = line;
    row->text = own;
    return CT_OK;
}

/* ---- JSON lines ---- */

static ct_status json_member(const source *from, json_t *o, bool text, const char **out)
{
    const char *key, *found = NULL;
    json_t *v;
    *out = NULL;
    json_object_foreach(o, key, v) {
        if (!ct_label_word(key, text)) continue;
        if (found)
            return ct_fail(CT_EFORMAT, "%s:%lld: %s and %s could both be the %s", from->path, (long long)from->line,
                           found, key, text ? "label" : "name");
        if (!json_is_string(v))
            return ct_fail(CT_EFORMAT, "%s:%lld: %s is no text: a label needs quotes, even one of digits", from->path,
                           (long long)from->line, key);
        found = key;
        *out = json_string_value(v);
    }
    if (!found && !text)
        return ct_fail(CT_EFORMAT, "%s:%lld: no member names the picture (file_name)", from->path,
                       (long long)from->line);
    return CT_OK;
}

/* Strings without their escapes are no longer than with them: both go where the line stood. */
static ct_status json_row(const source *from, char *line, size_t len, ct_label_row *row)
{
    json_error_t why;
    const char *name, *text;
    if (len > JSON_LINE_BYTES)
        return ct_fail(CT_EFORMAT, "%s:%lld: a line of %zu bytes; at most %d are read", from->path,
                       (long long)from->line, len, JSON_LINE_BYTES);
    json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(o)) {
        json_decref(o);
        return ct_fail(CT_EFORMAT, "%s:%lld: is no JSON object%s%s", from->path, (long long)from->line,
                       o ? "" : ": ", o ? "" : why.text);
    }
    ct_status st = json_member(from, o, false, &name);
    if (st == CT_OK) st = json_member(from, o, true, &text);
    if (st == CT_OK) {
        const size_t n = strlen(name) + 1;
        row->name = memcpy(line, name, n);
        row->text = text ? strcpy(line + n, text) : NULL;
    }
    json_decref(o);
    return st;
}

/* ---- all of them ---- */

ct_status ct_label_lines_parse(char *text, size_t size, char kind, const char *path, ct_label_table *out)
{
    ct_status st = CT_OK;
    size_t cap = 0;
    ct_table j;
    *out = (ct_label_table){ 0 };
    CT_TRY(ct_table_open(text, size, path, &j));
    if (kind == 'm' && !(out->words = ct_malloc(size + 1, "label file"))) return CT_ENOMEM;
    char *own = out->words;
    for (source from = { path, 1 }; j.at < j.end; from.line++) {
        char *line = j.at, *nl = memchr(line, '\n', (size_t)(j.end - line)), *stop = nl ? nl : j.end;
        ct_label_row row = { .line = from.line };
        j.at = nl ? nl + 1 : j.end;
        while (stop > line && (stop[-1] == '\r' || (kind != 'p' && strchr(" \t", stop[-1])))) stop--;
        *stop = '\0';
        const size_t len = (size_t)(stop - line);
        if (line[strspn(line, " \t")] == '\0') continue;
        CT_GOTO(st, kind == 'g'   ? gt_row(&from, line, len, &row)
                    : kind == 'p' ? paddle_row(&from, line, len, &row)
                    : kind == 'm' ? mjsynth_row(&from, line, own, &row)
                                  : json_row(&from, line, len, &row));
        if (kind == 'm') own += strlen(own) + 1;
        CT_GOTO(st, ct_grow(&out->row, out->n, &cap, sizeof *out->row, "label file"));
        out->row[out->n++] = row;
    }
    return CT_OK;
fail:
    ct_label_table_free(out);
    return st;
}
