/* Where the samples of a folder and their labels are. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "lists/label_files.h"
#include "task/slider/slider.h"

static const char form[] = "Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png";

/* ---- the folders ---- */

/* A file of the folder that ends in .npy into name[256]. */
static bool has_batches(const char *dir, char name[256])
{
    DIR *d = opendir(dir);
    struct dirent *e;
    bool found = false;
    while (d && !found && (e = readdir(d))) {
        const size_t n = strlen(e->d_name);
        found = n > 4 && n < 256 && strcmp(e->d_name + n - 4, ".npy") == 0;
        if (found) memcpy(name, e->d_name, n + 1);
    }
    if (d) closedir(d);
    return found;
}

/* The reference's preprocessed data: images/ and labels/, in them train/, val/, test/ with batches of arrays. */
static ct_status refuse_batches(const char *path)
{
    static const char *const inside[] = { ".", "images", "images/train", "images/val", "images/test", "train", "val" };
    char name[256];
    for (size_t k = 0; k < sizeof inside / sizeof inside[0]; k++) {
        char *dir = ct_path_join(path, inside[k]);
        if (!dir) return CT_ENOMEM;
        const bool found = has_batches(dir, name);
        ct_free(dir);
        if (found)
            return ct_fail(CT_EDATA, "%s: holds preprocessed batches (%s/%s), which are not read; give the folder they "
                           "were made from, with captchas/ and labels/all_labels.json (targets are drawn on the "
                           "device)",
                           path, inside[k], name);
    }
    return CT_OK;
}

/* path/below if it is a folder, else path; ct_free(). */
static char *folder_or(const char *path, const char *below)
{
    char *dir = ct_path_join(path, below);
    if (dir && !ct_path_is_dir(dir)) {
        ct_free(dir);
        dir = ct_strdup(path, "folder");
    }
    return dir;
}

/* The file of labels: *out NULL where there is none. */
static ct_status find_json(const char *path, char **out)
{
    /* beside the pictures' folder, too, if that is what was given */
    static const char *const place[] = { "labels/all_labels.json", "all_labels.json", "../labels/all_labels.json" };
    const size_t n = strlen(path), below = strlen("captchas");
    const bool pictures = n >= below && strcmp(path + n - below, "captchas") == 0;
    for (size_t k = 0; k < (pictures ? 3 : 2); k++) {
        bool there;
        *out = NULL;
        CT_TRY(ct_label_file_there(path, place[k], &there));
        if (there) return (*out = ct_path_join(path, place[k])) ? CT_OK : CT_ENOMEM;
    }
    return CT_OK;
}

ct_status ct_slider_claims(const char *path, bool *yes)
{
    char *dir, *json;
    struct dirent *e;
    ct_slider_label l;
    *yes = false;
    CT_TRY(find_json(path, &json));
    *yes = json != NULL;
    ct_free(json);
    if (*yes) return CT_OK;
    if (!(dir = folder_or(path, "captchas"))) return CT_ENOMEM;
    DIR *d = opendir(dir);
    while (d && !*yes && (e = readdir(d))) *yes = ct_slider_name_parse(e->d_name, &l);
    if (d) closedir(d);
    ct_free(dir);
    return CT_OK;
}

/* ---- labels ---- */

/* An entry and the file it is for. */
typedef struct named {
    char name[256];
    const json_t *entry;
    size_t number; /* in the file, from 1 */
    bool used;
} named;

typedef struct book {
    json_t *root;
    named *n;
    size_t count;
} book;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const int c = strcmp(x->name, y->name);
    return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

/* The file of an entry: the last part of paths.composite, else its sample_id. */
static bool name_of(const json_t *entry, char name[256])
{
    const char *s = json_string_value(json_object_get(json_object_get(entry, "paths"), "composite"));
    const char *id = json_string_value(json_object_get(entry, "sample_id")), *slash = s ? strrchr(s, '/') : NULL;
    if (!s && !id) return false;
    const bool suffix = s || strchr(id, '.');
    const int n = snprintf(name, 256, "%s%s", slash ? slash + 1 : s ? s : id, suffix ? "" : ".png");
    return n > 0 && n < 256;
}

static ct_status open_book(const char *path, book *b)
{
    *b = (book){ 0 };
    CT_TRY(ct_json_read(path, CT_LABEL_FILE_BYTES, &b->root));
    if (!json_is_array(b->root)) return ct_fail(CT_EFORMAT, "%s: is not a list of entries, one for each picture", path);
    b->count = json_array_size(b->root);
    b->n = ct_calloc(b->count + 1, sizeof *b->n, "labels");
    if (!b->n) return CT_ENOMEM;
    for (size_t i = 0; i < b->count; i++) {
        b->n[i].entry = json_array_get(b->root, i);
        b->n[i].number = i + 1;
        if (!name_of(b->n[i].entry, b->n[i].name))
            return ct_fail(CT_EFORMAT, "%s: entry %zu names no picture (paths.composite or sample_id)", path, i + 1);
    }
    if (b->count > 1) qsort(b->n, b->count, sizeof *b->n, by_name);
    return CT_OK;
}

static void close_book(book *b)
{
    json_decref(b->root);
    ct_free(b->n);
}

static named *look_up(const book *b, const char *name)
{
    size_t lo = 0, hi = b->count;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (strcmp(b->n[mid].name, name) < 0) lo = mid + 1;
        else hi = mid;
    }
    return lo < b->count && strcmp(b->n[lo].name, name) == 0 ? &b->n[lo] : NULL;
}

/* The label of a picture into s->text, or why it has none into s->bad. */
static ct_status take_label(const book *b, const char *json, ct_sample *s)
{
    ct_slider_label label, named_so;
    named *e = json ? look_up(b, s->name) : NULL;
    ct_status st = CT_OK;
    const bool says = ct_slider_name_parse(s->name, &named_so);
    if (json && !e) st = ct_fail(CT_EDATA, "%s: not in %s", s->name, json);
    else if (!json && !says)
        st = ct_fail(CT_EDATA, "%s: has no label: its name is not like %s, and there is no labels/all_labels.json",
                     s->name, form);
    else if (e && e + 1 < b->n + b->count && strcmp(e[1].name, e->name) == 0)
        st = ct_fail(CT_EDATA, "%s: has two entries in %s, %zu and %zu", s->name, json, e->number, e[1].number);
    else if (e && !says && ct_slider_name_like(s->name))
        st = ct_fail(CT_EDATA, "%s: begins like %s, but goes on otherwise", s->name, form);
    else if (e) st = ct_slider_label_take(s->name, e->entry, &label);
    if (e) e->used = true;
    if (st == CT_EDATA) return (s->bad = ct_reason_dup(s->name)) ? CT_OK : CT_ENOMEM;
    CT_TRY(st);
    if (!e) label = named_so;
    else if (label.pic < 0 && says) label.pic = named_so.pic;
    ct_free(s->text);
    return (s->text = ct_slider_label_text(&label)) ? CT_OK : CT_ENOMEM;
}

/* Is entry i for the file of the one in front of it? */
static bool again(const book *b, size_t i) { return i > 0 && strcmp(b->n[i].name, b->n[i - 1].name) == 0; }

/* Entries whose pictures are not there. */
static ct_status add_absent(const book *b, const char *json, ct_scan *out)
{
    size_t absent = 0, k = out->n;
    for (size_t i = 0; i < b->count; i++) absent += !b->n[i].used && !again(b, i);
    if (absent == 0) return CT_OK;
    ct_sample *s = ct_realloc(out->s, (out->n + absent), sizeof *s, "samples");
    if (!s) return CT_ENOMEM;
    out->s = s;
    for (size_t i = 0; i < b->count; i++) {
        if (b->n[i].used || again(b, i)) continue;
        s[k] = (ct_sample){ .name = ct_strdup(b->n[i].name, "sample name"), .line = (int64_t)b->n[i].number };
        s[k].bad = ct_asprintf("entry %zu of %s, but there is no such picture", b->n[i].number, json);
        out->n = ++k;
        if (!s[k - 1].name || !s[k - 1].bad) return CT_ENOMEM;
    }
    return CT_OK;
}

static int by_sample_name(const void *a, const void *b)
{
    const ct_sample *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static ct_status label_all(ct_scan *out)
{
    ct_status st = CT_OK;
    book b = { 0 };
    const char *json = out->label_file;
    if (json) CT_GOTO(st, open_book(json, &b));
    for (size_t i = 0; i < out->n; i++)
        if (!out->s[i].bad) CT_GOTO(st, take_label(&b, json, &out->s[i]));
    if (json) CT_GOTO(st, add_absent(&b, json, out));
    qsort(out->s, out->n, sizeof *out->s, by_sample_name);
fail:
    close_book(&b);
    return st;
}

ct_status ct_slider_scan(ct_labels *l, const char *path, ct_scan *out)
{
    ct_status st;
    char *dir = NULL, *json = NULL;
    (void)l;
    *out = (ct_scan){ 0 };
    if (!path || !*path) return ct_fail(CT_EINVAL, "no data folder is given");
    CT_GOTO(st, find_json(path, &json));
    if (!(dir = folder_or(path, "captchas"))) CT_GOTO(st, CT_ENOMEM);
    st = ct_scan_unlabelled(dir, out);
    if (st == CT_EDATA) { /* no pictures: perhaps what became of them */
        ct_status other = refuse_batches(path);
        CT_GOTO(st, other == CT_OK ? ct_scan_unlabelled(dir, out) : other);
    }
    if (st != CT_OK) goto fail;
    out->label_file = json;
    json = NULL;
    CT_GOTO(st, label_all(out));
fail:
    ct_free(dir);
    ct_free(json);
    if (st != CT_OK) ct_scan_free(out);
    return st;
}
