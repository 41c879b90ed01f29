/* Samples of several folders, label files and databases as those of one set. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/paths.h"
#include "data/scan.h"

static int by_name(const void *a, const void *b)
{
    const ct_sample *x = a, *y = b;
    const int c = strcmp(x->name, y->name);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

/* Appends ", more", or `more` alone; *text is owned. */
static ct_status append(char **text, const char *more)
{
    char *all = ct_asprintf("%s%s%s", *text ? *text : "", *text ? ", " : "", more);
    ct_free(*text);
    *text = all;
    return all ? CT_OK : CT_ENOMEM;
}

/* Takes over the samples of `one`, by their whole paths: pictures of one name in two folders stay two. */
static ct_status take(ct_scan *one, ct_scan *all)
{
    ct_sample *more = ct_realloc(all->s, (all->n + one->n + 1), sizeof *more, "samples");
    if (!more) return CT_ENOMEM;
    all->s = more;
    for (size_t i = 0; i < one->n; i++) {
        ct_sample *x = &one->s[i];
        char *name = ct_path_join(one->dir, x->name);
        if (!name) return CT_ENOMEM;
        if (x->frame) {
            ct_free(name);
            return ct_fail(CT_EDATA, "%s: clips of several folders are not one set", one->root);
        }
        ct_free(x->name);
        x->name = name;
        all->s[all->n++] = *x;
        *x = (ct_sample){ 0 };
    }
    all->ignored += one->ignored;
    all->folders += one->folders;
    char *from = one->label_file ? ct_strdup(one->label_file, "label file")
                                 : ct_asprintf("the names of the files in %s", one->dir);
    ct_status st = from ? append(&all->label_file, from) : CT_ENOMEM;
    ct_free(from);
    return st;
}

/* A folder that is named again would be trained twice as often. */
static ct_status refuse_again(const char *paths, const char *one, const char *behind)
{
    char *other, a[PATH_MAX], b[PATH_MAX];
    const bool there = realpath(one, a) != NULL;
    ct_status st = CT_OK;
    for (const char *at = paths; st == CT_OK;) {
        CT_TRY(ct_paths_next(&at, &other));
        if (!other || at == behind) {
            ct_free(other);
            break;
        }
        if (strcmp(one, other) == 0 || (there && realpath(other, b) && strcmp(a, b) == 0))
            st = ct_fail(CT_EDATA, "%s: is named twice", one);
        ct_free(other);
    }
    return st;
}

ct_status ct_scan_sources(ct_labels *l, const char *paths, ct_scan *out)
{
    ct_status st = CT_OK;
    char *one = NULL;
    ct_scan part = { 0 };
    if (!paths || !ct_paths_several(paths)) return l->ops->scan(l, paths, out);
    *out = (ct_scan){ 0 };
    if (!(out->root = ct_paths_show(paths)) || !(out->dir = ct_strdup("", "folder"))) CT_GOTO(st, CT_ENOMEM);
    for (const char *at = paths;;) {
        CT_GOTO(st, ct_paths_next(&at, &one));
        if (!one) break;
        CT_GOTO(st, refuse_again(paths, one, at));
        CT_GOTO(st, l->ops->scan(l, one, &part));
        CT_GOTO(st, take(&part, out));
        ct_scan_free(&part);
        ct_free(one);
        one = NULL;
    }
    if (out->n > 1) qsort(out->s, out->n, sizeof *out->s, by_name);
fail:
    ct_free(one);
    ct_scan_free(&part);
    if (st != CT_OK) ct_scan_free(out);
    return st;
}

const char *ct_scan_place(const ct_scan *s) { return s->dir && *s->dir ? s->dir : s->root; }
