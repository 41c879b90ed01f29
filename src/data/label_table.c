#include "config.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "data/scan.h"

enum { MAX_FIELDS = 32 };

typedef struct table_job {
    char *at, *end;      /* rest of the text */
    int64_t line;        /* number of the line `at` begins */
    char sep;            /* '\t', ',', ';' or ' ' (the last run of blanks) */
    bool quotes;
    const char *path;
} table_job;

/* Cuts one field out of a csv record; *more: another one follows in the record. Quoted fields may hold separators,
 * doubled quotes and line ends. */
static ct_status csv_field(table_job *j, char **field, bool *more)
{
    int64_t first = j->line;
    char *out = j->at, *w = j->at, *r = j->at;
    bool quoted = *r == '"';
    if (quoted) {
        r++;
        for (;;) {
            if (r >= j->end) {
                return ct_fail(CT_EFORMAT, "%s:%lld: the quote opened here is not closed", j->path, (long long)first);
            }
            if (*r == '"' && r[1] == '"') {
                *w++ = '"';
                r += 2;
            } else if (*r == '"') {
                r++;
                break;
            } else {
                j->line += *r == '\n';
                *w++ = *r++;
            }
        }
        if (*r == '\r' && (r + 1 == j->end || r[1] == '\n')) r++;
        if (r < j->end && *r != j->sep && *r != '\n') {
            return ct_fail(CT_EFORMAT, "%s:%lld: text behind a closing quote", j->path, (long long)j->line);
        }
    } else {
        while (r < j->end && *r != j->sep && *r != '\n') r++;
        w = r;
        if (w > out && w[-1] == '\r' && (r >= j->end || *r == '\n')) w--;
    }
    *more = r < j->end && *r == j->sep;
    if (r < j->end && *r == '\n') j->line++;
    if (r < j->end) r++;
    *w = '\0'; /* behind the field: a separator, a line end, a quote or the NUL behind the text */
    j->at = r;
    *field = out;
    return CT_OK;
}

/* Cuts one line at its separator. */
static int plain_fields(table_job *j, char *field[MAX_FIELDS])
{
    char *line = j->at, *stop = memchr(line, '\n', (size_t)(j->end - line));
    int n = 0;
    j->at = stop ? stop + 1 : j->end;
    j->line++;
    if (!stop) stop = j->end;
    if (stop > line && stop[-1] == '\r') stop--;
    *stop = '\0';
    if (j->sep == ' ') {
        while (stop > line && (stop[-1] == ' ' || stop[-1] == '\t')) *--stop = '\0';
        while (*line == ' ' || *line == '\t') line++;
        char *cut = strrchr(line, ' ');
        field[n++] = line;
        if (cut) {
            field[n++] = cut + 1;
            while (cut > line && (cut[-1] == ' ' || cut[-1] == '\t')) cut--;
            *cut = '\0';
        }
        return n;
    }
    for (;;) {
        field[n++] = line;
        char *cut = n < MAX_FIELDS ? strchr(line, j->sep) : NULL;
        if (!cut) return n;
        *cut = '\0';
        line = cut + 1;
    }
}

static ct_status next_record(table_job *j, char *field[MAX_FIELDS], int *n)
{
    *n = 0;
    if (!j->quotes) {
        *n = plain_fields(j, field);
        return CT_OK;
    }
    bool more = true;
    while (more) {
        char *f = NULL;
        int64_t line = j->line;
        CT_TRY(csv_field(j, &f, &more));
        if (*n == MAX_FIELDS) {
            return ct_fail(CT_EFORMAT, "%s:%lld: more than %d fields", j->path, (long long)line, MAX_FIELDS);
        }
        field[(*n)++] = f;
    }
    return CT_OK;
}

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

static ct_status header(const table_job *j, char *const *field, int n, int *name_col, int *text_col)
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
    table_job j = { .at = text, .end = text + size, .line = 1, .path = path };
    int name_col = 0, text_col = 1;
    bool first = true;

    *out = (ct_label_table){ 0 };
    if (memchr(text, '\0', size)) return ct_fail(CT_EFORMAT, "%s: holds NUL bytes: not a text file", path);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) j.at += 3; /* byte order mark */
    j.sep = pick_separator(j.at, kind);
    j.quotes = kind == 'c';

    while (j.at < j.end) {
        char *field[MAX_FIELDS];
        int n;
        int64_t line = j.line;
        CT_GOTO(st, next_record(&j, field, &n));
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
