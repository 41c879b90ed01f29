/* Where the clips of a folder and their labels are. */
#include "config.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "task/gloss/gloss.h"
#include "task/gloss/reader.h"

/* ---- the label file ---- */

static size_t without_slashes(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return n;
}

ct_status ct_gloss_find_labels(const char *folder, char **out, char **tried)
{
    const int n = (int)without_slashes(folder);
    int base = n;
    while (base > 0 && folder[base - 1] != '/') base--;
    char *place[3] = { ct_asprintf("%.*s.csv", n, folder), ct_asprintf("%.*s.corpus.csv", n, folder),
                       ct_asprintf("%.*s/../../../annotations/manual/%.*s.corpus.csv", n, folder, n - base,
                                   folder + base) };
    ct_status st = CT_OK;
    *out = *tried = NULL;
    for (int k = 0; k < 3; k++) {
        if (!place[k]) CT_GOTO(st, CT_ENOMEM);
        if (*out || !ct_path_exists(place[k])) continue;
        *out = place[k];
        place[k] = NULL;
    }
    if (!*out && !(*tried = ct_asprintf("%s, %s, %s", place[0], place[1], place[2]))) st = CT_ENOMEM;
fail:
    for (int k = 0; k < 3; k++) ct_free(place[k]);
    return st;
}

/* ---- folders of clips ---- */

/* Folders that hold clips, relative to the root. */
typedef struct folders {
    char **name; /* [n] ascending */
    size_t n, cap;
} folders;

static void folders_free(folders *f)
{
    for (size_t i = 0; i < f->n; i++) ct_free(f->name[i]);
    ct_free(f->name);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool has(const folders *f, const char *name)
{
    return f->n > 0 && bsearch(&name, f->name, f->n, sizeof *f->name, by_name) != NULL;
}

/* The sub-folders of root/below into *f, which takes their names relative to root. */
static ct_status list(const char *root, const char *below, folders *f)
{
    ct_status st = CT_OK;
    char *dir = *below ? ct_path_join(root, below) : ct_strdup(root, "folder");
    struct dirent *e;
    if (!dir) return CT_ENOMEM;
    DIR *d = opendir(dir);
    if (!d) st = ct_fail(CT_EIO, "%s: cannot open the folder", dir);
    while (st == CT_OK && (e = readdir(d))) {
        if (e->d_name[0] == '.') continue;
        char *name = *below ? ct_path_join(below, e->d_name) : ct_strdup(e->d_name, "folder");
        char *full = name ? ct_path_join(root, name) : NULL;
        if (!full) st = CT_ENOMEM;
        if (st == CT_OK && ct_path_is_dir(full)) {
            st = ct_grow(&f->name, f->n, &f->cap, sizeof *f->name, "folders of clips");
            if (st == CT_OK) {
                f->name[f->n++] = name;
                name = NULL;
            }
        }
        ct_free(name);
        ct_free(full);
    }
    if (d) closedir(d);
    ct_free(dir);
    if (f->n > 1) qsort(f->name, f->n, sizeof *f->name, by_name);
    return st;
}

/* All folders without sub-folders, at most three levels down. */
static ct_status list_leaves(const char *root, const char *below, int depth, folders *out)
{
    folders inside = { 0 };
    ct_status st = list(root, below, &inside);
    if (st == CT_OK && *below && inside.n == 0) {
        char *name = ct_strdup(below, "folder");
        if (!name) st = CT_ENOMEM;
        if (st == CT_OK) st = ct_grow(&out->name, out->n, &out->cap, sizeof *out->name, "folders of clips");
        if (st == CT_OK) out->name[out->n++] = name;
        else ct_free(name);
    }
    for (size_t i = 0; st == CT_OK && depth > 0 && i < inside.n; i++)
        st = list_leaves(root, inside.name[i], depth - 1, out);
    folders_free(&inside);
    return st;
}

/* The folder of a row among those there are: *out NULL if there is none. */
static ct_status place_of(const ct_gloss_row *r, const folders *f, char **out)
{
    char *place[5] = { ct_asprintf("%s/%s", r->signer, r->id), ct_strdup(r->id, "folder"), ct_asprintf("%s/1", r->id),
                       ct_strdup(r->folder, "folder"), ct_asprintf("%s/%s/1", r->signer, r->id) };
    ct_status st = CT_OK;
    *out = NULL;
    for (int k = 0; k < 5; k++) {
        if (!place[k]) st = CT_ENOMEM;
        else if (!*out && has(f, place[k])) *out = place[k];
        if (*out != place[k]) ct_free(place[k]);
    }
    if (st == CT_OK) return CT_OK;
    ct_free(*out);
    *out = NULL;
    return st;
}

/* ---- samples ---- */

/* Frames of the clip in dir/name, with their paths relative to dir; a clip that has none that can be used is bad. */
static ct_status find_frames(const char *dir, ct_sample *s)
{
    char *path = ct_path_join(dir, s->name);
    if (!path) return CT_ENOMEM;
    ct_status st = ct_scan_frames(path, &s->frame, &s->frames);
    for (int64_t k = 0; st == CT_OK && k < s->frames; k++) {
        char *file = ct_path_join(s->name, s->frame[k]);
        if (!file) {
            st = CT_ENOMEM;
            break;
        }
        ct_free(s->frame[k]);
        s->frame[k] = file;
    }
    if (st == CT_EDATA || st == CT_EIO) st = (s->bad = ct_reason_dup(path)) ? CT_OK : CT_ENOMEM;
    ct_free(path);
    return st;
}

static char *text_of(const ct_gloss_row *r)
{
    return *r->signer ? ct_asprintf("%s (%s)", r->words, r->signer) : ct_strdup(r->words, "label");
}

static ct_status add_row(const ct_gloss_list *rows, const ct_gloss_row *r, const folders *f, ct_scan *out)
{
    ct_sample *s = &out->s[out->n++];
    *s = (ct_sample){ .line = r->line };
    CT_TRY(place_of(r, f, &s->name));
    s->file = s->name != NULL;
    if (!s->name) {
        if (!(s->name = ct_strdup(r->id, "clip"))) return CT_ENOMEM;
        s->bad = ct_asprintf("line %" PRId64 " of %s names it, but there is no such folder", r->line, rows->path);
        return s->bad ? CT_OK : CT_ENOMEM;
    }
    if (r->bad) {
        s->bad = ct_asprintf("line %" PRId64 " of %s: %s", r->line, rows->path, r->bad);
        return s->bad ? CT_OK : CT_ENOMEM;
    }
    if (!(s->text = text_of(r))) return CT_ENOMEM;
    return find_frames(out->dir, s);
}

static int by_sample(const void *a, const void *b)
{
    const ct_sample *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Folders that no row names; samples [0,listed) are those of rows, by name. */
static ct_status add_unlisted(const ct_gloss_list *rows, const folders *f, ct_scan *out)
{
    const size_t listed = out->n;
    for (size_t i = 0; i < f->n; i++) {
        const ct_sample key = { .name = f->name[i] };
        if (listed > 0 && bsearch(&key, out->s, listed, sizeof *out->s, by_sample)) continue;
        ct_sample *s = &out->s[out->n++];
        *s = (ct_sample){ .file = true };
        s->name = ct_strdup(f->name[i], "clip");
        s->bad = ct_asprintf("%s has no row for it", rows->path);
        if (!s->name || !s->bad) return CT_ENOMEM;
    }
    qsort(out->s, out->n, sizeof *out->s, by_sample);
    return CT_OK;
}

static ct_status scan_rows(const ct_gloss_list *rows, ct_scan *out)
{
    folders f = { 0 };
    ct_status st;
    CT_GOTO(st, list_leaves(out->dir, "", 3, &f));
    if (f.n > 1) qsort(f.name, f.n, sizeof *f.name, by_name);
    out->s = ct_calloc((size_t)rows->n + f.n, sizeof *out->s, "clips");
    if (!out->s) CT_GOTO(st, CT_ENOMEM);
    for (int64_t i = 0; i < rows->n; i++) CT_GOTO(st, add_row(rows, &rows->row[i], &f, out));
    qsort(out->s, out->n, sizeof *out->s, by_sample);
    st = add_unlisted(rows, &f, out);
fail:
    folders_free(&f);
    return st;
}

ct_status ct_gloss_scan(const char *folder, const char *labels, ct_scan *out)
{
    ct_gloss_list rows;
    *out = (ct_scan){ 0 };
    if (!ct_path_is_dir(folder)) return ct_fail(CT_EIO, "%s: is no folder", folder);
    CT_TRY(ct_gloss_rows_read(labels, &rows));
    out->root = ct_strdup(folder, "data set");
    out->dir = ct_strdup(folder, "data set");
    out->label_file = ct_strdup(labels, "data set");
    ct_status st = out->root && out->dir && out->label_file ? scan_rows(&rows, out) : CT_ENOMEM;
    ct_gloss_rows_free(&rows);
    if (st != CT_OK) ct_scan_free(out);
    return st;
}

/* A folder beside whose name a label file of clips stands. */
ct_status ct_gloss_claims(const char *path, bool *yes)
{
    char *labels, *tried;
    ct_gloss_list rows;
    *yes = false;
    CT_TRY(ct_gloss_find_labels(path, &labels, &tried));
    ct_free(tried);
    if (!labels) return CT_OK;
    const ct_status st = ct_gloss_rows_read(labels, &rows);
    *yes = st == CT_OK;
    if (st == CT_OK) ct_gloss_rows_free(&rows);
    ct_free(labels);
    return st == CT_ENOMEM ? st : CT_OK;
}
