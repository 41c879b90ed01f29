#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan_internal.h"
#include "lists/label_files.h"

void ct_scan_free(ct_scan *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n; i++) {
        ct_free(s->s[i].name);
        ct_free(s->s[i].text);
        ct_free(s->s[i].bad);
        for (int64_t k = 0; k < s->s[i].frames; k++) ct_free(s->s[i].frame[k]);
        ct_free(s->s[i].frame);
    }
    ct_free(s->s);
    ct_free(s->root);
    ct_free(s->dir);
    ct_free(s->label_file);
    *s = (ct_scan){ 0 };
}

static ct_status from_names(ct_scan *s, const ct_listing *l, const ct_scan_labels *how)
{
    size_t cap = 0;
    for (size_t i = 0; i < l->n; i++) {
        CT_TRY(ct_scan_add_read(s, &cap, l->name[i], how, NULL, 0));
        ct_sample *x = &s->s[s->n - 1];
        ct_status st = CT_OK;
        x->file = ct_scan_is_file(s->dir, x->name, &st);
        CT_TRY(st);
        if (x->file || x->bad) continue;
        x->bad = ct_strdup("not a regular file, or not reachable", "reason");
        if (!x->bad) return CT_ENOMEM;
    }
    return CT_OK;
}

static ct_status no_pictures(const char *path, const ct_listing *l)
{
    return ct_fail(CT_EDATA,
                   "%s: no PNG, JPEG, BMP or WebP pictures in this folder (%lld other files, %lld sub-folders; "
                   "sub-folders are not searched%s)", path, (long long)l->ignored, (long long)l->folders,
                   l->folders > 0 ? ": a label stands in a picture's name, or in labels.txt beside images/" : "");
}

ct_status ct_scan_pictures(const char *path, char ***paths, size_t *n)
{
    ct_listing l;
    ct_status st = CT_OK;
    *paths = NULL;
    *n = 0;
    CT_TRY(ct_listing_make(path, &l));
    if (l.n == 0) {
        st = no_pictures(path, &l);
        goto fail;
    }
    for (size_t i = 0; i < l.n; i++) {
        char *full = ct_path_join(path, l.name[i]);
        if (!full) {
            st = CT_ENOMEM;
            goto fail;
        }
        ct_free(l.name[i]);
        l.name[i] = full;
        /* nobody waits for a pipe that lies in a folder */
        if (ct_path_exists(full) && !ct_path_is_file(full)) {
            st = ct_fail(CT_EDATA, "%s: not a regular file", full);
            goto fail;
        }
    }
    *paths = l.name;
    *n = l.n;
    return CT_OK;
fail:
    ct_listing_free(&l);
    return st;
}

/* ---- folders, lists ---- */

/* The folder that a file lies in (ct_free()); NULL: no memory. */
static char *folder_of(const char *path)
{
    char *dir = ct_strdup(path, "folder"), *slash = dir ? strrchr(dir, '/') : NULL;
    if (!dir) return NULL;
    if (slash) slash[slash == dir] = '\0'; /* of /labels.csv it is / */
    else memcpy(dir, ".", strlen(dir) > 0 ? 2 : 1);
    return dir;
}

/* The label file that is read, and its kind; 0: labels are in the names. *found: nobody named it. */
static ct_status choose_list(const ct_scan_source *from, ct_scan *out, char *kind, bool *found)
{
    *kind = 0;
    *found = false;
    if (!ct_path_is_dir(from->path) && ct_path_is_file(from->path)) {
        out->label_file = ct_strdup(from->path, "label file");
    } else if (from->labels && *from->labels) {
        out->label_file = from->labels[0] == '/' ? NULL : ct_path_join(from->path, from->labels);
        if (!out->label_file || !ct_path_exists(out->label_file)) {
            ct_free(out->label_file);
            out->label_file = ct_strdup(from->labels, "label file");
        }
    } else {
        *found = true;
        return ct_label_file_find(from->path, &out->label_file, kind);
    }
    if (!out->label_file) return CT_ENOMEM;
    *kind = ct_label_kind_given(out->label_file);
    return CT_OK;
}

static ct_status scan_list(const ct_scan_source *from, char kind, bool found, const ct_scan_labels *how, ct_scan *out)
{
    char *dir[2] = { NULL, NULL };
    const bool rooted = from->root && *from->root, folder = ct_path_is_dir(from->path);
    dir[1] = rooted || folder ? ct_strdup(rooted ? from->root : from->path, "folder") : folder_of(from->path);
    if (dir[1] && !rooted) dir[0] = ct_path_join(dir[1], "images");
    ct_status st = dir[1] && (rooted || dir[0]) ? CT_OK : CT_ENOMEM;
    if (dir[0] && !ct_path_is_dir(dir[0])) {
        ct_free(dir[0]);
        dir[0] = NULL;
    }
    if (st == CT_OK && rooted && !ct_path_is_dir(from->root))
        st = ct_fail(CT_EIO, "data.root: %s: is no folder", from->root);
    for (size_t n; dir[1] && (n = strlen(dir[1])) > 1 && dir[1][n - 1] == '/';) dir[1][n - 1] = '\0';
    if (st == CT_OK) st = ct_scan_listed(out, kind, dir, found && !rooted, how);
    ct_free(dir[0]);
    ct_free(dir[1]);
    return st;
}

static ct_status scan_names(const char *path, bool labelled, const ct_scan_labels *how, ct_scan *out)
{
    ct_listing l = { 0 };
    if (!(out->dir = ct_strdup(path, "folder"))) return CT_ENOMEM;
    CT_TRY(ct_listing_make(out->dir, &l));
    out->ignored = l.ignored;
    out->folders = l.folders;
    ct_status st = from_names(out, &l, how);
    if (st == CT_OK && labelled) st = ct_scan_other_lists(out);
    if (st == CT_OK && out->n == 0) st = no_pictures(out->dir, &l);
    ct_listing_free(&l);
    return st;
}

static ct_status scan(const ct_scan_source *from, bool labelled, const ct_scan_labels *how, ct_scan *out)
{
    ct_status st = CT_OK;
    char kind = 0;
    bool found = false;
    *out = (ct_scan){ 0 };
    if (!from->path || !from->path[0]) return ct_fail(CT_EINVAL, "no data folder is given");
    if (!(out->root = ct_strdup(from->path, "folder"))) return CT_ENOMEM;
    bool database = false;
    if (labelled && !(from->labels && *from->labels)) CT_GOTO(st, ct_scan_database_there(from->path, &database));
    if (database) {
        CT_GOTO(st, ct_scan_database(from->path, how, out));
        return CT_OK;
    }
    if (labelled) CT_GOTO(st, choose_list(from, out, &kind, &found));
    if (kind) CT_GOTO(st, scan_list(from, kind, found, how, out));
    else CT_GOTO(st, scan_names(from->path, labelled, how, out));
    return CT_OK;
fail:
    ct_scan_free(out);
    return st;
}

ct_status ct_scan_from(const ct_scan_source *from, ct_scan_label *label, const void *user, ct_scan *out)
{
    const ct_scan_labels how = { label, user };
    return scan(from, true, &how, out);
}

ct_status ct_scan_folder(const char *path, ct_scan_label *label, const void *user, ct_scan *out)
{
    const ct_scan_source from = { .path = path };
    return ct_scan_from(&from, label, user, out);
}

static ct_status no_label(const void *user, const char *name, const char *text, char **out)
{
    (void)user;
    (void)name;
    (void)text;
    return (*out = ct_strdup("", "label")) ? CT_OK : CT_ENOMEM;
}

ct_status ct_scan_unlabelled(const char *path, ct_scan *out)
{
    const ct_scan_labels how = { no_label, NULL };
    const ct_scan_source from = { .path = path };
    return scan(&from, false, &how, out);
}
