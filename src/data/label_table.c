#include "config.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "data/scan.h"
#include "data/table.h"

static bool one_of(const char *s, const char *const *words)
{
    for (; *words; words++) {
        if (strcasecmp(s, *words) == 0) return true;
    }
    return false;
}

static const char *const name_words[] = { "file", "filename", "file_name", "image", "img", "name", "path", NULL };
static const char *const text_words[] = { "label", "labels", "text", "captcha", "value", "target", "string",
                                          "solution", NULL };

static int find_word(char *const *field, int n, const char *const *words)
{
    for (int i = 0; i < n; i++) {
        if (one_of(field[i], words)) return i;
    }
    return -1;
}

/* Is the first record a header? One whose name column comes first may call the label column anything (header() says so
 * if it is not known); elsewhere both words are asked for, or a label such as "name" would make one. */
static bool is_header(char *const *field, int n, bool (*exists)(void *user, const char *name), void *user)
{
    int name = find_word(field, n, name_words), text = find_word(field, n, text_words);
    if (n < 2 || name < 0 || (name > 0 && text < 0)) return false;
    return !(exists && exists(user, field[name]));
}

static ct_status header(const ct_table *j, char *const *field, int n, int *name_col, int *text_col)
{
    *name_col = *text_col = -1;
    for (int i = 0; i < n; i++) {
        if (*name_col < 0 && one_of(field[i], name_words)) *name_col = i;
        else if (*text_col < 0 && one_of(field[i], text_words)) *text_col = i;
    }
    if (*text_col < 0 && n == 2) *text_col = 1 - *name_col;
    if (*text_col < 0) {
        return ct_fail(CT_EFORMAT,
                       "%s:1: the header names no label column (label, text, captcha, value, target, string or "
                       "solution)", j->path);
    }
    return CT_OK;
}

static char pick_separator(const char *text, char kind)
{
    size_t first = strcspn(text, "\n");
    if (kind == 'v') return '\t';
    if (kind == 'c') return memchr(text, ',', first) || !memchr(text, ';', first) ? ',' : ';';
    return memchr(text, '\t', first) ? '\t' : memchr(text, ',', first) ? ',' : ' ';
}

ct_status ct_label_table_parse(char *text, size_t size, char kind, const char *path,
                               bool (*exists)(void *user, const char *name), void *user, ct_label_table *out)
{
    ct_status st = CT_OK;
    size_t cap = 0;
    ct_table j;
    int name_col = 0, text_col = 1;
    bool first = true;

    *out = (ct_label_table){ 0 };
    CT_TRY(ct_table_open(text, size, path, &j));
    j.sep = pick_separator(j.at, kind);
    j.quotes = kind == 'c';

    while (j.at < j.end) {
        char *field[CT_TABLE_FIELDS];
        int n;
        int64_t line = j.line;
        CT_GOTO(st, ct_table_next(&j, field, &n));
        if (n == 1 && field[0][strspn(field[0], " \t")] == '\0') continue;
        if (first) {
            first = false;
            if (is_header(field, n, exists, user)) {
                CT_GOTO(st, header(&j, field, n, &name_col, &text_col));
                continue;
            }
        }
        CT_GOTO(st, ct_grow(&out->row, out->n, &cap, sizeof *out->row, "label file"));
        out->row[out->n++] = (ct_label_row){
            .name = name_col < n ? field[name_col] : field[0],
            .text = name_col < n && text_col < n ? field[text_col] : NULL,
            .line = line,
        };
    }
    return CT_OK;
fail:
    ct_free(out->row);
    *out = (ct_label_table){ 0 };
    return st;
}
