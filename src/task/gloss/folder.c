/* Where the clips of a folder and their labels are. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
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

/* A folder's path by its name: "." and the like have none. ct_free(). */
static char *named(const char *folder)
{
    const size_t n = without_slashes(folder);
    size_t base = n;
    while (base > 0 && folder[base - 1] != '/') base--;
    const bool dots = n > base && n - base <= 2 && strspn(folder + base, ".") >= n - base;
    char full[PATH_MAX];
    return dots && realpath(folder, full) ? ct_strdup(full, "folder") : ct_strndup(folder, n, "folder");
}

/* The folder so many levels above, 2 or 3, by its name, for the folder may be a link; by "..", where the name has no
 * such parts. ct_free(). */
static char *above(const char *folder, int levels)
{
    size_t n = strlen(folder);
    for (int k = 0; k < levels; k++) {
        size_t at = n;
        while (at > 0 && folder[at - 1] != '/') at--;
        const bool dots = n - at <= 2 && strspn(folder + at, ".") >= n - at;
        if (at < 2 || dots) return ct_asprintf("%s/%s", folder, levels == 2 ? "../.." : "../../..");
        for (n = at; n > 1 && folder[n - 1] == '/';) n--;
    }
    return ct_strndup(folder, n, "folder");
}

/* Where the label file of a folder may be: beside it; as CE-CSL is laid out, video/train and train.csv or
 * label/train.csv; as PHOENIX-2014 is. Owned strings, NULL without memory. */
enum { PLACES = 5 };
static void list_places(const char *folder, char *place[PLACES])
{
    const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    char *two = above(folder, 2), *three = above(folder, 3);
    place[0] = ct_asprintf("%s.csv", folder);
    place[1] = ct_asprintf("%s.corpus.csv", folder);
    place[2] = two ? ct_asprintf("%s/%s.csv", two, name) : NULL;
    place[3] = two ? ct_asprintf("%s/label/%s.csv", two, name) : NULL;
    place[4] = three ? ct_asprintf("%s/annotations/manual/%s.corpus.csv", three, name) : NULL;
    ct_free(two);
    ct_free(three);
}

ct_status ct_gloss_find_labels(const char *given, char **out, char **tried)
{
    char *place[PLACES], *folder = named(given);
    ct_status st = CT_OK;
    *out = *tried = NULL;
    if (!folder) return CT_ENOMEM;
    list_places(folder, place);
    for (int k = 0; k < PLACES; k++) {
        bool yes = false;
        if (!place[k]) CT_GOTO(st, CT_ENOMEM);
        if (*out || !ct_path_exists(place[k])) continue;
        /* away from the folder there may be tables of anything */
        if (k > 1) CT_GOTO(st, ct_gloss_rows_known(place[k], &yes));
        if (k > 1 && !yes) continue;
        *out = place[k];
        place[k] = NULL;
    }
    if (!*out && !(*tried = ct_asprintf("%s, %s, %s, %s, %s", place[0], place[1], place[2], place[3], place[4])))
        st = CT_ENOMEM;
fail:
    ct_free(folder);
    for (int k = 0; k < PLACES; k++) ct_free(place[k]);
    if (st == CT_OK) return CT_OK;
    ct_free(*out);
    *out = NULL;
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

/* Takes root/below/e into *f if that is a folder. Most are pictures, which the system mostly tells by itself. */
static ct_status take_folder(const char *root, const char *below, const struct dirent *e, folders *f)
{
    if (e->d_name[0] == '.' || e->d_type == DT_REG) return CT_OK;
    char *name = *below ? ct_path_join(below, e->d_name) : ct_strdup(e->d_name, "folder");
    char *full = name ? ct_path_join(root, name) : NULL;
    ct_status st = full ? CT_OK : CT_ENOMEM;
    if (st == CT_OK && (e->d_type == DT_DIR || ct_path_is_dir(full))) {
        st = ct_grow(&f->name, f->n, &f->cap, sizeof *f->name, "folders of clips");
        if (st == CT_OK) {
            f->name[f->n++] = name;
            name = NULL;
        }
    }
    ct_free(name);
    ct_free(full);
    return st;
}

/* The sub-folders of root/below into *f, which takes their names relative to root. */
static ct_status list(const char *root, const char *below, folders *f)
{
    ct_status st = CT_OK;
    char *dir = *below ? ct_path_join(root, below) : ct_strdup(root, "folder");
    struct dirent *e;
    if (!dir) return CT_ENOMEM;
    DIR *d = opendir(dir);
    if (!d) st = ct_fail(CT_EIO, "%s: cannot open the folder: %s", dir, strerror(errno));
    while (st == CT_OK) {
        errno = 0;
        if ((e = readdir(d))) st = take_folder(root, below, e, f);
        else if (errno) st = ct_fail(CT_EIO, "%s: cannot read the folder: %s", dir, strerror(errno));
        if (!e) break;
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

/* A video instead of the folder of a row: *why says how it becomes one; NULL: there is none. */
static ct_status find_video(const char *dir, const ct_gloss_row *r, char **why)
{
    static const char *const suffix[] = { "mp4", "avi", "mov", "mkv" };
    *why = NULL;
    for (int k = 0; k < 8 && !*why; k++) {
        char **frame, *path = k < 4 ? ct_asprintf("%s/%s/%s.%s", dir, r->signer, r->id, suffix[k])
                                    : ct_asprintf("%s/%s.%s", dir, r->id, suffix[k - 4]);
        int64_t n;
        ct_status st = path ? CT_OK : CT_ENOMEM;
        if (st == CT_OK && ct_path_is_file(path) && (st = ct_scan_frames(path, &frame, &n)) == CT_EDATA)
            st = (*why = ct_strdup(ct_error_message(), "reason")) ? CT_OK : CT_ENOMEM;
        ct_free(path);
        CT_TRY(st);
    }
    return CT_OK;
}

static ct_status add_row(const ct_gloss_list *rows, const ct_gloss_row *r, const folders *f, ct_scan *out)
{
    ct_sample *s = &out->s[out->n++];
    *s = (ct_sample){ .line = r->line };
    CT_TRY(place_of(r, f, &s->name));
    s->file = s->name != NULL;
    if (!s->name) {
        if (!(s->name = ct_strdup(r->id, "clip"))) return CT_ENOMEM;
        CT_TRY(find_video(out->dir, r, &s->bad));
        if (!s->bad)
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
    const int c = strcmp(x->name, y->name);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

static int by_sample_name(const void *a, const void *b)
{
    const ct_sample *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Two rows may lead to one folder (PHOENIX names it); the second is bad. Samples are sorted. */
static ct_status refuse_again(const ct_gloss_list *rows, ct_scan *out)
{
    for (size_t i = 1; i < out->n; i++) {
        ct_sample *s = &out->s[i];
        if (strcmp(s->name, s[-1].name) != 0) continue;
        ct_free(s->bad);
        s->bad = ct_asprintf("line %" PRId64 " of %s names its folder again", s->line, rows->path);
        if (!s->bad) return CT_ENOMEM;
    }
    return CT_OK;
}

/* Folders that no row names; samples [0,listed) are those of rows, by name. */
static ct_status add_unlisted(const ct_gloss_list *rows, const folders *f, ct_scan *out)
{
    const size_t listed = out->n;
    for (size_t i = 0; i < f->n; i++) {
        const ct_sample key = { .name = f->name[i] };
        if (listed > 0 && bsearch(&key, out->s, listed, sizeof *out->s, by_sample_name)) continue;
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
    CT_GOTO(st, refuse_again(rows, out));
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

/* ---- whose folder it is ---- */

enum { LOOKED_AT = 8 }; /* folders of a level, at most, that are looked into */

/* 00001.jpg: a number of at least four digits. */
static bool is_numbered(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return digits >= 4 && name[digits] == '.';
}

/* Is dir a clip: pictures numbered without a gap? */
static ct_status is_clip(const char *dir, bool *yes)
{
    char **frame;
    int64_t n;
    *yes = false;
    const ct_status st = ct_scan_frames(dir, &frame, &n);
    if (st != CT_OK) return st == CT_ENOMEM ? st : CT_OK;
    *yes = n > 1;
    for (int64_t i = 0; i < n; i++) {
        *yes = *yes && is_numbered(frame[i]);
        ct_free(frame[i]);
    }
    ct_free(frame);
    return CT_OK;
}

/* Are there clips two levels below `root`, one for each signer? Looks into the first few folders. */
static ct_status has_clips(const char *root, const char *below, int depth, bool *yes)
{
    folders inside = { 0 };
    ct_status st = list(root, below, &inside);
    if (st == CT_EIO) st = CT_OK;
    for (size_t i = 0; st == CT_OK && !*yes && i < inside.n && i < LOOKED_AT; i++) {
        if (depth > 0) {
            st = has_clips(root, inside.name[i], depth - 1, yes);
            continue;
        }
        char *dir = ct_path_join(root, inside.name[i]);
        st = dir ? is_clip(dir, yes) : CT_ENOMEM;
        ct_free(dir);
    }
    folders_free(&inside);
    return st;
}

/* Adds to *list, ", " between them, root/below and the folders in it, `depth` levels down, that have a label file of
 * clips. Looks into the first few. */
static ct_status add_sets(const char *root, const char *below, int depth, char **list_of)
{
    folders inside = { 0 };
    ct_status st = list(root, below, &inside);
    if (st == CT_EIO) st = CT_OK;
    for (size_t i = 0; st == CT_OK && i < inside.n && i < LOOKED_AT; i++) {
        char *dir = ct_path_join(root, inside.name[i]), *labels = NULL, *tried = NULL;
        bool known = false;
        st = dir ? ct_gloss_find_labels(dir, &labels, &tried) : CT_ENOMEM;
        if (st == CT_OK && labels) st = ct_gloss_rows_known(labels, &known);
        if (st == CT_OK && known) {
            char *more = ct_asprintf("%s%s%s", *list_of ? *list_of : "", *list_of ? ", " : "", dir);
            if (!more) st = CT_ENOMEM;
            ct_free(*list_of);
            *list_of = more;
        } else if (st == CT_OK && depth > 0) {
            st = add_sets(root, inside.name[i], depth - 1, list_of);
        }
        ct_free(dir);
        ct_free(labels);
        ct_free(tried);
    }
    folders_free(&inside);
    return st;
}

ct_status ct_gloss_sets_in(const char *root, char **out)
{
    *out = NULL;
    const ct_status st = add_sets(root, "", 1, out);
    if (st == CT_OK) return CT_OK;
    ct_free(*out);
    *out = NULL;
    return st;
}

/* A folder of pictures with a list of their own may have numbered ones in sub-folders. */
static ct_status has_list(const char *path, bool *yes)
{
    static const char *const name[] = { "labels.txt", "labels.csv", "labels.tsv" };
    *yes = false;
    for (int k = 0; k < 3 && !*yes; k++) {
        char *file = ct_path_join(path, name[k]);
        if (!file) return CT_ENOMEM;
        *yes = ct_path_exists(file);
        ct_free(file);
    }
    return CT_OK;
}

/* A folder beside whose name a label file of clips stands, folders of such folders, or numbered pictures in folders of
 * folders. */
ct_status ct_gloss_claims(const char *path, bool *yes)
{
    char *labels, *tried, *sets = NULL;
    bool list = false;
    *yes = false;
    if (!ct_path_is_dir(path)) return CT_OK;
    CT_TRY(ct_gloss_find_labels(path, &labels, &tried));
    ct_free(tried);
    ct_status st = labels ? ct_gloss_rows_known(labels, yes) : CT_OK;
    ct_free(labels);
    if (st == CT_OK && !*yes) st = has_list(path, &list);
    if (st != CT_OK || *yes || list) return st;
    CT_TRY(ct_gloss_sets_in(path, &sets));
    *yes = sets != NULL;
    ct_free(sets);
    return *yes ? CT_OK : has_clips(path, "", 1, yes);
}
