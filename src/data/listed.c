/* Samples that a label file lists. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "data/scan_internal.h"
#include "lists/label_files.h"

enum { TRIED_ROWS = 16, MAX_STRIP = 8 }; /* rows that tell where pictures are; folders that lists have in front */

static bool leaves_folder(const char *name)
{
    if (name[0] == '/') return true;
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') return true;
        p += n + (p[n] == '/');
    }
    return false;
}

/* Where names of a list lead. */
typedef struct base {
    const char *dir; /* as given, and */
    char whole[PATH_MAX]; /* without links, both with no slash behind: absolute names begin with one of
                             them; "": no such folder */
    bool inner;      /* the folder images/ of the list's, which its names may have in front */
    int strip;       /* folders in front of every name that are not there */
} base;

/* `name` as it stands in the folder: without ./, without the folder itself in front of an absolute name, without what
 * is stripped. */
static const char *within(const base *b, const char *name)
{
    const char *const front[2] = { b->dir, b->whole };
    while (name[0] == '.' && name[1] == '/') name += 2;
    for (int i = 0; i < 2 && name[0] == '/'; i++) {
        const size_t n = strlen(front[i]);
        if (n > 0 && strncmp(name, front[i], n) == 0 && name[n] == '/') return name + n + strspn(name + n, "/");
    }
    if (name[0] == '/') return name;
    if (b->inner && strncmp(name, "images/", 7) == 0) return name + 7;
    for (int k = 0; k < b->strip; k++) {
        const char *slash = strchr(name, '/');
        if (slash) name = slash + 1;
    }
    return name;
}

typedef struct look { const base *b; ct_status st; } look;

static bool names_file(void *user, const char *name)
{
    look *l = user;
    const char *in = within(l->b, name);
    return *in && !leaves_folder(in) && ct_scan_is_file(l->b->dir, in, &l->st);
}

static base first_base(char *const dir[2])
{
    return (base){ .dir = dir[0] ? dir[0] : dir[1], .inner = dir[0] != NULL };
}

/* Which folder the first rows are in, and how much of their names is in front of it: lists of other trainers name
 * pictures from where they were made. Nothing found: as they stand. */
static ct_status find_base(const ct_label_table *t, char *const dir[2], bool *found, base *b)
{
    *found = false;
    const size_t rows = t->n < TRIED_ROWS ? t->n : TRIED_ROWS;
    for (int strip = 0; strip <= MAX_STRIP; strip++) {
        for (int k = 0; k < 2; k++) {
            base maybe = { .dir = dir[k], .inner = k == 0, .strip = strip };
            look l = { &maybe, CT_OK };
            if (!dir[k]) continue;
            if (!realpath(dir[k], maybe.whole)) maybe.whole[0] = '\0';
            for (size_t i = 0; i < rows && !*found; i++) *found = names_file(&l, t->row[i].name);
            if (*found) *b = maybe;
            if (*found || l.st != CT_OK) return l.st;
        }
    }
    *b = first_base(dir);
    return CT_OK;
}

/* ---- samples ---- */

static ct_status add_row(ct_scan *s, size_t *cap, const base *b, const ct_label_row *row, const ct_scan_labels *how)
{
    const char *name = within(b, row->name);
    if (name[0] == '\0') return ct_scan_add(s, cap, "(no name)", NULL, "the line names no file", row->line);
    if (leaves_folder(name))
        return ct_scan_add(s, cap, name, NULL, "the name leads out of the folder (data.root says where pictures are)",
                           row->line);
    if (!row->text || !*row->text) {
        char why[64];
        snprintf(why, sizeof why, "line %lld of the label file has no label", (long long)row->line);
        return ct_scan_add(s, cap, name, NULL, why, row->line);
    }
    return ct_scan_add_read(s, cap, name, how, row->text, row->line);
}

static int by_name(const void *a, const void *b)
{
    const ct_sample *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

static void sort(ct_scan *s)
{
    if (s->n > 1) qsort(s->s, s->n, sizeof *s->s, by_name);
}

static int by_key(const void *key, const void *member)
{
    return strcmp(key, ((const ct_sample *)member)->name);
}

/* Pictures of the folder that the list does not have. */
static ct_status add_unlisted(ct_scan *s, size_t *cap, const ct_listing *l)
{
    const size_t listed = s->n;
    for (size_t i = 0; i < l->n; i++) {
        if (listed > 0 && bsearch(l->name[i], s->s, listed, sizeof *s->s, by_key)) continue;
        CT_TRY(ct_scan_add(s, cap, l->name[i], NULL, "not in the label file", 0));
    }
    if (s->n > listed) sort(s);
    return CT_OK;
}

/* Names that stand twice, names without a file. header: the list's first line might have been meant as one. */
static ct_status judge(ct_scan *s, bool header)
{
    ct_status st = CT_OK;
    for (size_t i = 0; i < s->n; i++) {
        ct_sample *x = &s->s[i];
        char *why = NULL;
        const bool again = i > 0 && x->line > 0 && strcmp(x->name, s->s[i - 1].name) == 0;
        x->file = !leaves_folder(x->name) && ct_scan_is_file(s->dir, x->name, &st);
        CT_TRY(st);
        if (!again && (x->bad || x->file)) continue;
        if (again)
            why = ct_asprintf("listed again in line %lld (first in line %lld)", (long long)x->line,
                              (long long)s->s[i - 1].line);
        else
            why = ct_asprintf("named in line %lld of the label file, but there is no such file%s", (long long)x->line,
                              header && x->line == 1 ? "; if this is a header, call its columns filename and label"
                                                     : "");
        if (!why) return CT_ENOMEM;
        ct_free(x->bad);
        x->bad = why;
    }
    return CT_OK;
}

static ct_status parse(const char *path, char kind, base *first, uint8_t *data, size_t size, ct_label_table *t)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcasecmp(dot, ".json") == 0)
        return ct_fail(CT_EFORMAT, "%s: a list in one piece of JSON is not read; as metadata.jsonl it has a line "
                       "{\"file_name\": \"a.png\", \"text\": \"AB\"} for each picture", path);
    if (strchr("gpmj", kind)) return ct_label_lines_parse((char *)data, size, kind, path, t);
    look l = { first, CT_OK };
    CT_TRY(ct_label_table_parse((char *)data, size, kind, path, names_file, &l, t));
    return l.st;
}

/* A list that somebody named, but none of the first pictures is where it says. Absolute names are said to be outside,
 * each by itself. */
static ct_status no_picture(const char *path, const ct_label_table *t, const char *dir)
{
    char name[128];
    if (t->row[0].name[0] == '/') return CT_OK;
    return ct_fail(CT_EFORMAT, "%s:%lld: there is no picture '%s' in %s, and none of those in the next lines; "
                   "data.root names their folder", path, (long long)t->row[0].line,
                   ct_text_visible(t->row[0].name, name, sizeof name), dir);
}

ct_status ct_scan_listed(ct_scan *s, char kind, char *const dir[2], bool all, const ct_scan_labels *how)
{
    ct_status st = CT_OK;
    uint8_t *data = NULL;
    size_t size = 0, cap = 0;
    ct_label_table t = { 0 };
    ct_listing l = { 0 };
    base b = first_base(dir);
    bool found;

    CT_GOTO(st, ct_file_read_plain(s->label_file, CT_LABEL_FILE_BYTES, &data, &size));
    CT_GOTO(st, parse(s->label_file, kind, &b, data, size, &t));
    if (t.n == 0) CT_GOTO(st, ct_fail(CT_EDATA, "%s: lists no pictures", s->label_file));
    CT_GOTO(st, find_base(&t, dir, &found, &b));
    if (!all && !found) CT_GOTO(st, no_picture(s->label_file, &t, b.dir));
    if (!(s->dir = ct_strdup(b.dir, "folder"))) CT_GOTO(st, CT_ENOMEM);
    if (all) CT_GOTO(st, ct_listing_make(s->dir, &l));
    s->ignored = l.ignored;
    s->folders = l.folders;
    for (size_t i = 0; i < t.n; i++) CT_GOTO(st, add_row(s, &cap, &b, &t.row[i], how));
    ct_label_table_free(&t);
    sort(s);
    CT_GOTO(st, add_unlisted(s, &cap, &l));
    CT_GOTO(st, judge(s, strchr("tcv", kind) != NULL));
fail:
    ct_listing_free(&l);
    ct_label_table_free(&t);
    ct_free(data);
    return st;
}
