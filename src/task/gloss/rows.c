#include "config.h"

#include "lists/label_files.h"
#include "task/gloss/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "data/scan.h"
#include "lists/table.h"
#include "task/gloss/cleanup.h"

enum { GLOSS_BYTES = 1000 };

static const char header[] = "Number,Translator,Chinese Sentences,Gloss,Note";

void ct_gloss_rows_free(ct_gloss_list *r)
{
    if (!r) return;
    for (int64_t i = 0; i < r->n; i++) {
        ct_free(r->row[i].id);
        ct_free(r->row[i].folder);
        ct_free(r->row[i].signer);
        ct_free(r->row[i].words);
        ct_free(r->row[i].bad);
    }
    ct_free(r->row);
    ct_free(r->path);
    *r = (ct_gloss_list){ 0 };
}

ct_status ct_gloss_each(const char *words, ct_gloss_see *see, void *user)
{
    for (const char *s = words; *s;) {
        const size_t n = strcspn(s, "/");
        CT_TRY(see(user, s, n));
        s += n + (s[n] == '/');
    }
    return CT_OK;
}

/* ---- glosses ---- */

/* Cleaned glosses of `text`, '/' between them; those that become empty are dropped, as in the original. *open: the
 * first, as it stands there, that has a bracket which nothing closes; NULL: none. */
static ct_status clean_all(const char *where, const char *text, const char *separators, bool clean, char **words,
                           char **open)
{
    char *out = *words = ct_malloc(3 * strlen(text) + 4, "glosses");
    size_t n = 0;
    *open = NULL;
    if (!out) return CT_ENOMEM;
    for (const char *s = text; *s;) {
        const size_t bytes = strcspn(s, separators);
        char *to = out + n + (n > 0);
        size_t k = bytes;
        bool closed = true;
        if (bytes > GLOSS_BYTES)
            return ct_fail(CT_EFORMAT, "%s: a gloss of %zu bytes; at most %d are possible", where, bytes, GLOSS_BYTES);
        if (clean) k = ct_gloss_clean(s, bytes, to, &closed);
        else memcpy(to, s, bytes);
        if (!closed && !*open && !(*open = ct_strndup(s, bytes, "gloss"))) return CT_ENOMEM;
        if (k > 0) {
            if (n > 0) out[n++] = '/';
            n += k;
        }
        s += bytes;
        s += strspn(s, separators);
    }
    out[n] = '\0';
    return CT_OK;
}

/* ---- rows ---- */

/* Where a file has what. */
typedef struct columns {
    int id, folder, signer, words; /* -1: nowhere */
    const char *separators;        /* of glosses */
    bool clean;
} columns;

static int find(char *const *field, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(field[i], name) == 0) return i;
    return -1;
}

/* What the first record says. */
static ct_status read_header(const ct_table *t, char *const *field, int n, columns *c)
{
    *c = (columns){ .id = find(field, n, "Number"), .folder = -1, .signer = find(field, n, "Translator"),
                    .words = find(field, n, "Gloss"), .separators = "/", .clean = true };
    if (c->id >= 0 && c->words >= 0) return CT_OK;
    *c = (columns){ .id = find(field, n, "id"), .folder = find(field, n, "folder"), .signer = find(field, n, "signer"),
                    .words = find(field, n, "annotation"), .separators = " \t/", .clean = false };
    if (c->id >= 0 && c->words >= 0) return CT_OK;
    return ct_fail(CT_EFORMAT, "%s:1: the first line must name the columns: %s, or id|folder|signer|annotation",
                   t->path, header);
}

static const char *value(char *const *field, int n, int column)
{
    return column >= 0 && column < n ? field[column] : "";
}

/* Folder "a/b/1/" of "a/b/1/" and a pattern "*.png". */
static char *folder_of(const char *text)
{
    const char *slash = strrchr(text, '/');
    return strpbrk(text, "*?") ? ct_strndup(text, slash ? (size_t)(slash - text) : 0, "folder of a clip")
                               : ct_strdup(text, "folder of a clip");
}

/* *why: why `text`, the `what` of a row, cannot be used as text; NULL: it can. */
static ct_status judge_text(const char *what, const char *text, char **why)
{
    *why = NULL;
    if (ct_utf8_len(text) < 0) *why = ct_asprintf("its %s not UTF-8", what);
    for (const char *s = text; !*why && *s;) {
        const int32_t cp = ct_utf8_next(&s);
        if (cp < 0) return CT_ENOMEM; /* of the message above */
        if (ct_utf8_control((uint32_t)cp) && !(*why = ct_asprintf("its %s not plain text: U+%04X", what, (unsigned)cp)))
            return CT_ENOMEM;
    }
    return CT_OK;
}

/* A signer is a part of a path, and stands in brackets behind the words of a sample. */
static ct_status judge_signer(const char *signer, char **why)
{
    char shown[96];
    CT_TRY(judge_text("signer is", signer, why));
    if (*why || !strpbrk(signer, "/()")) return CT_OK;
    *why = ct_asprintf("its signer '%s' has a slash or a bracket", ct_text_visible(signer, shown, sizeof shown));
    return *why ? CT_OK : CT_ENOMEM;
}

/* *why: why a row with these glosses, of which `open` has an open bracket or is NULL, cannot be used; NULL: it can. */
static ct_status judge(const ct_gloss_row *r, const char *glosses, const char *open, char **why)
{
    char shown[96];
    CT_TRY(judge_text("glosses are", r->words, why));
    if (!*why) CT_TRY(judge_signer(r->signer, why));
    if (*why || (!open && *r->words)) return CT_OK;
    if (open) *why = ct_asprintf("nothing closes the bracket in '%s'", ct_text_visible(open, shown, sizeof shown));
    else *why = ct_asprintf("no gloss is left of '%s' after cleaning", ct_text_visible(glosses, shown, sizeof shown));
    return *why ? CT_OK : CT_ENOMEM;
}

static ct_status add_row(const ct_table *t, int64_t line, char *const *field, int n, const columns *c, size_t *cap,
                         ct_gloss_list *out)
{
    const char *id = value(field, n, c->id), *words = value(field, n, c->words);
    if (!*id) return ct_fail(CT_EFORMAT, "%s:%" PRId64 ": a row without a number", t->path, line);
    if (strchr(id, '/') || strcmp(id, "..") == 0 || strcmp(id, ".") == 0)
        return ct_fail(CT_EFORMAT, "%s:%" PRId64 ": '%.80s' is no name of a clip", t->path, line, id);
    CT_TRY(ct_grow(&out->row, (size_t)out->n, cap, sizeof *out->row, "label file"));
    ct_gloss_row *r = &out->row[out->n++];
    *r = (ct_gloss_row){ .line = line };
    r->id = ct_strdup(id, "label file");
    r->folder = folder_of(value(field, n, c->folder));
    r->signer = ct_strdup(value(field, n, c->signer), "label file");
    if (!r->id || !r->folder || !r->signer) return CT_ENOMEM;
    char where[512];
    snprintf(where, sizeof where, "%.400s:%" PRId64, t->path, line);
    char *open;
    ct_status st = clean_all(where, words, c->separators, c->clean, &r->words, &open);
    if (st == CT_OK) st = judge(r, words, open, &r->bad);
    ct_free(open);
    return st;
}

static int by_id(const void *a, const void *b)
{
    const ct_gloss_row *const *x = a, *const *y = b;
    const int c = strcmp((*x)->id, (*y)->id);
    return c ? c : (*x)->line < (*y)->line ? -1 : (*x)->line > (*y)->line;
}

static ct_status check_ids(const ct_gloss_list *r)
{
    ct_status st = CT_OK;
    const ct_gloss_row **sorted = ct_calloc(r->n > 0 ? (size_t)r->n : 1, sizeof *sorted, "label file");
    if (!sorted) return CT_ENOMEM;
    for (int64_t i = 0; i < r->n; i++) sorted[i] = &r->row[i];
    qsort(sorted, (size_t)r->n, sizeof *sorted, by_id);
    for (int64_t i = 1; i < r->n && st == CT_OK; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0)
            st = ct_fail(CT_EFORMAT, "%s:%" PRId64 ": %s is in line %" PRId64 " already", r->path, sorted[i]->line,
                         sorted[i]->id, sorted[i - 1]->line);
    ct_free(sorted);
    return st;
}

/* The first line that is not blank says what separates. */
static ct_status open_table(char *text, size_t size, const char *path, ct_table *t)
{
    CT_TRY(ct_table_open(text, size, path, t));
    const char *first = t->at + strspn(t->at, " \t\r\n");
    const size_t line = strcspn(first, "\n");
    t->quotes = !memchr(first, '|', line);
    t->sep = !t->quotes ? '|' : memchr(first, ',', line) ? ',' : memchr(first, '\t', line) ? '\t' : ';';
    return CT_OK;
}

/* The next record that is no blank line: *n fields; 0: there is none. */
static ct_status next_record(ct_table *t, char *field[CT_TABLE_FIELDS], int *n, int64_t *line)
{
    for (*n = 0; t->at < t->end;) {
        *line = t->line;
        CT_TRY(ct_table_next(t, field, n));
        if (*n > 1 || field[0][strspn(field[0], " \t")]) return CT_OK;
        *n = 0;
    }
    return CT_OK;
}

static ct_status parse(char *text, size_t size, const char *path, ct_gloss_list *out)
{
    ct_table t;
    columns c = { 0 };
    size_t cap = 0;
    char *field[CT_TABLE_FIELDS];
    int n;
    int64_t line;
    CT_TRY(open_table(text, size, path, &t));
    CT_TRY(next_record(&t, field, &n, &line));
    CT_TRY(read_header(&t, field, n, &c));
    for (;;) {
        CT_TRY(next_record(&t, field, &n, &line));
        if (n == 0) break;
        CT_TRY(add_row(&t, line, field, n, &c, &cap, out));
    }
    if (out->n == 0) return ct_fail(CT_EFORMAT, "%s: has no rows", path);
    return check_ids(out);
}

ct_status ct_gloss_rows_parse(char *text, size_t size, const char *path, ct_gloss_list *out)
{
    *out = (ct_gloss_list){ .path = ct_strdup(path, "label file") };
    if (!out->path) return CT_ENOMEM;
    const ct_status st = parse(text, size, path, out);
    if (st != CT_OK) ct_gloss_rows_free(out);
    return st;
}

ct_status ct_gloss_rows_read(const char *path, ct_gloss_list *out)
{
    uint8_t *data;
    size_t size;
    *out = (ct_gloss_list){ 0 };
    CT_TRY(ct_file_read_plain(path, CT_LABEL_FILE_BYTES, &data, &size));
    const ct_status st = ct_gloss_rows_parse((char *)data, size, path, out);
    ct_free(data);
    return st;
}

ct_status ct_gloss_rows_known(const char *path, bool *yes)
{
    uint8_t *data;
    size_t size;
    ct_table t;
    columns c;
    char *field[CT_TABLE_FIELDS];
    int n = 0;
    int64_t line;
    *yes = false;
    ct_status st = ct_file_read_plain(path, CT_LABEL_FILE_BYTES, &data, &size);
    if (st != CT_OK) return st == CT_ENOMEM ? st : CT_OK;
    st = open_table((char *)data, size, path, &t);
    if (st == CT_OK) st = next_record(&t, field, &n, &line);
    *yes = st == CT_OK && read_header(&t, field, n, &c) == CT_OK;
    ct_free(data);
    return st == CT_ENOMEM ? st : CT_OK;
}
