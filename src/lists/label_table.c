#include "config.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "lists/label_files.h"
#include "lists/table.h"

static bool one_of(const char *s, const char *const *words)
{
    for (; *words; words++) {
        if (strcasecmp(s, *words) == 0) return true;
    }
    return false;
}

void ct_label_table_free(ct_label_table *t)
{
    ct_free(t->row);
    ct_free(t->words);
    *t = (ct_label_table){ 0 };
}

static const char *const name_words[] = { "file", "filename", "file_name", "filepath", "file_path", "image", "img",
                                          "image_name", "img_name", "image_path", "img_path", "image_file", "name",
                                          "path", NULL };
static const char *const text_words[] = { "label", "labels", "text", "words", "transcription", "gt", "captcha", "value",
                                          "target", "string", "solution", NULL };

bool ct_label_word(const char *word, bool text)
{
    return one_of(word, text ? text_words : name_words);
}

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
                       "%s:1: the header names no label column (label, text, words, transcription, gt, captcha, value, "
                       "target, string or solution)", j->path);
    }
    for (int i = *text_col + 1; i < n; i++) {
        if (i != *name_col && one_of(field[i], text_words))
            return ct_fail(CT_EFORMAT, "%s:1: the header names two label columns, %s and %s; rename the one that is "
                           "not meant", j->path, field[*text_col], field[i]);
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

/* Two columns with the name first: the label is the rest of the line, commas and all, as EasyOCR writes it. More: a
 * record must not have more fields than the first, or a label has lost what stands behind its comma. */
static ct_status settle_columns(ct_table *j, bool headed, int n, int name_col, int text_col)
{
    if (n == 2 && name_col < text_col && j->sep != ' ') j->most = 2;
    if (!headed && n > 2)
        return ct_fail(CT_EFORMAT, "%s:1: %d fields and no header that says which are name and label, such as "
                       "file_name,text", j->path, n);
    return CT_OK;
}

static ct_status check_width(const ct_table *j, int64_t line, int n, int columns)
{
    if (n <= columns || j->sep == ' ') return CT_OK;
    return ct_fail(CT_EFORMAT, "%s:%lld: %d fields, the first line has %d; a label with the separator in it needs "
                   "quotes", j->path, (long long)line, n, columns);
}

ct_status ct_label_table_parse(char *text, size_t size, char kind, const char *path,
                               bool (*exists)(void *user, const char *name), void *user, ct_label_table *out)
{
    ct_status st = CT_OK;
    size_t cap = 0;
    ct_table j;
    int name_col = 0, text_col = 1, columns = 0;
    const bool must = kind == 'h';

    *out = (ct_label_table){ 0 };
    CT_TRY(ct_table_open(text, size, path, &j));
    if (must) kind = 'c';
    j.sep = pick_separator(j.at, kind);
    j.quotes = kind == 'c';

    while (j.at < j.end) {
        char *field[CT_TABLE_FIELDS];
        int n;
        int64_t line = j.line;
        CT_GOTO(st, ct_table_next(&j, field, &n));
        if (n == 1 && field[0][strspn(field[0], " \t")] == '\0') continue;
        if (columns == 0) {
            const bool headed = is_header(field, n, exists, user);
            columns = n;
            if (headed) CT_GOTO(st, header(&j, field, n, &name_col, &text_col));
            else if (must)
                CT_GOTO(st, ct_fail(CT_EFORMAT, "%s:1: the first line is no header with file_name and text", path));
            CT_GOTO(st, settle_columns(&j, headed, n, name_col, text_col));
            if (headed) continue;
        }
        CT_GOTO(st, check_width(&j, line, n, columns));
        CT_GOTO(st, ct_grow(&out->row, out->n, &cap, sizeof *out->row, "label file"));
        out->row[out->n++] = (ct_label_row){
            .name = name_col < n ? field[name_col] : field[0],
            .text = name_col < n && text_col < n ? field[text_col] : NULL,
            .line = line,
        };
    }
    return CT_OK;
fail:
    ct_label_table_free(out);
    return st;
}
