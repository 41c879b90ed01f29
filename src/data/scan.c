#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "image/image.h"


char *ct_reason_dup(const char *name)
{
    const char *m = ct_error_message();
    size_t n = strlen(name);
    if (strncmp(m, name, n) == 0 && m[n] == ':' && m[n + 1] == ' ') m += n + 2;
    return ct_strdup(m, "reason");
}

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

/* ---- the folder ---- */

typedef struct listing {
    char **name; /* [n] files that are samples, sorted */
    size_t n, cap;
    int64_t ignored, folders;
} listing;

static void listing_free(listing *l)
{
    for (size_t i = 0; i < l->n; i++) ct_free(l->name[i]);
    ct_free(l->name);
    *l = (listing){ 0 };
}

static bool image_extension(const char *name)
{
    static const char *const ext[] = { "png", "jpg", "jpeg", "gif", "bmp", "webp", "tif", "tiff" };
    const char *dot = strrchr(name, '.');
    if (!dot) return false;
    for (size_t i = 0; i < sizeof ext / sizeof *ext; i++) {
        if (strcasecmp(dot + 1, ext[i]) == 0) return true;
    }
    return false;
}

static bool begins_like_image(int dir, const char *name)
{
    uint8_t head[16];
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    return n > 0 && ct_image_sniff(head, (size_t)n, NULL);
}

static const struct { const char *name; char kind; } label_files[3] = {
    { "labels.txt", 't' }, { "labels.csv", 'c' }, { "labels.tsv", 'v' },
};

static bool is_label_file(const char *name)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, label_files[i].name) == 0) return true;
    }
    return false;
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ct_status list_folder(const char *path, listing *out)
{
    ct_status st = CT_OK;
    *out = (listing){ 0 };
    DIR *d = opendir(path);
    if (!d) {
        return errno == ENOTDIR ? ct_fail(CT_EIO, "%s: is not a folder", path)
                                : ct_fail(CT_EIO, "%s: cannot open the folder: %s", path, strerror(errno));
    }
    for (;;) {
        struct stat info;
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e) {
            if (errno) st = ct_fail(CT_EIO, "%s: cannot read the folder: %s", path, strerror(errno));
            break;
        }
        const char *name = e->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (name[0] == '.') continue;
        bool known = fstatat(dirfd(d), name, &info, 0) == 0; /* false: a dangling link, or no permission to look */
        if (known && S_ISDIR(info.st_mode)) {
            out->folders++;
        } else if (image_extension(name) || (known && S_ISREG(info.st_mode) && begins_like_image(dirfd(d), name))) {
            CT_GOTO(st, ct_grow(&out->name, out->n, &out->cap, sizeof *out->name, "file list"));
            char *copy = ct_strdup(name, "file list");
            if (!copy) {
                st = CT_ENOMEM;
                goto fail;
            }
            out->name[out->n++] = copy;
        } else if (!is_label_file(name)) {
            out->ignored++;
        }
    }
    if (st != CT_OK) goto fail;
    closedir(d);
    if (out->n > 1) qsort(out->name, out->n, sizeof *out->name, by_string);
    return CT_OK;
fail:
    closedir(d);
    listing_free(out);
    return st;
}

/* ---- samples ---- */

/* Adds a sample; name is copied, text (may be NULL) too; bad is copied if not NULL. */
static ct_status add(ct_scan *s, size_t *cap, const char *name, const char *text, const char *bad, int64_t line)
{
    CT_TRY(ct_grow(&s->s, s->n, cap, sizeof *s->s, "samples"));
    ct_sample x = { .line = line };
    x.name = ct_strdup(name, "sample name");
    if (text) x.text = ct_strdup(text, "label");
    if (bad) x.bad = ct_strdup(bad, "reason");
    if (!x.name || (text && !x.text) || (bad && !x.bad)) {
        ct_free(x.name);
        ct_free(x.text);
        ct_free(x.bad);
        return CT_ENOMEM;
    }
    s->s[s->n++] = x;
    return CT_OK;
}

/* How labels are read. */
typedef struct reading {
    ct_scan_label *label;
    const void *user;
} reading;

/* Adds sample `name` with the label that is read from text, or from the name. */
static ct_status add_read(ct_scan *s, size_t *cap, const char *name, const reading *r, const char *text, int64_t line)
{
    char *label = NULL, *why = NULL;
    ct_status st = r->label(r->user, name, text, &label);
    if (st == CT_EDATA) {
        st = (why = ct_reason_dup(name)) ? CT_OK : CT_ENOMEM;
    }
    if (st == CT_OK) st = add(s, cap, name, label, why, line);
    ct_free(label);
    ct_free(why);
    return st;
}

static bool is_file(const char *dir, const char *name, ct_status *st)
{
    struct stat info;
    char *path = ct_path_join(dir, name);
    if (!path) {
        *st = CT_ENOMEM;
        return false;
    }
    bool is = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    ct_free(path);
    return is;
}

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

typedef struct look { const char *dir; ct_status st; } look;

static bool dir_has_file(void *user, const char *name)
{
    look *l = user;
    return is_file(l->dir, name, &l->st);
}

static const char *strip_images(const ct_scan *s, const char *name)
{
    while (name[0] == '.' && name[1] == '/') name += 2;
    if (strcmp(s->dir, s->root) != 0 && strncmp(name, "images/", 7) == 0) name += 7;
    return name;
}

static int by_name(const void *a, const void *b)
{
    const ct_sample *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

static bool has_name(const ct_scan *s, size_t n, const char *name)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(s->s[mid].name, name);
        if (c == 0) return true;
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return false;
}

static ct_status from_table(ct_scan *s, const listing *l, char kind, const reading *how)
{
    ct_status st = CT_OK;
    uint8_t *data = NULL;
    size_t size = 0, cap = 0;
    ct_label_table t = { 0 };
    look header_look = { s->dir, CT_OK };

    CT_GOTO(st, ct_file_read_plain(s->label_file, CT_SCAN_LABEL_BYTES, &data, &size));
    CT_GOTO(st, ct_label_table_parse((char *)data, size, kind, s->label_file, dir_has_file, &header_look, &t));
    CT_GOTO(st, header_look.st);
    for (size_t i = 0; i < t.n; i++) {
        const char *name = strip_images(s, t.row[i].name);
        if (name[0] == '\0') {
            CT_GOTO(st, add(s, &cap, "(no name)", NULL, "the line names no file", t.row[i].line));
        } else if (leaves_folder(name)) {
            CT_GOTO(st, add(s, &cap, name, NULL, "the name leads out of the folder", t.row[i].line));
        } else if (!t.row[i].text) {
            CT_GOTO(st, add(s, &cap, name, NULL, "the line has no label", t.row[i].line));
        } else {
            CT_GOTO(st, add_read(s, &cap, name, how, t.row[i].text, t.row[i].line));
        }
    }
    if (s->n > 1) qsort(s->s, s->n, sizeof *s->s, by_name);
    size_t listed = s->n;
    for (size_t i = 0; i < l->n; i++) {
        if (!has_name(s, listed, l->name[i])) CT_GOTO(st, add(s, &cap, l->name[i], NULL, "not in the label file", 0));
    }
    if (s->n > listed) qsort(s->s, s->n, sizeof *s->s, by_name);

    for (size_t i = 0; i < s->n; i++) {
        ct_sample *x = &s->s[i];
        char *why = NULL;
        bool again = i > 0 && x->line > 0 && strcmp(x->name, s->s[i - 1].name) == 0;
        x->file = !leaves_folder(x->name) && is_file(s->dir, x->name, &st);
        if (st != CT_OK) goto fail;
        if (again) {
            why = ct_asprintf("listed again in line %lld (first in line %lld)", (long long)x->line,
                              (long long)s->s[i - 1].line);
            if (!why) st = CT_ENOMEM;
        } else if (!x->bad && !x->file) {
            why = ct_asprintf("named in line %lld of the label file, but there is no such file", (long long)x->line);
            if (!why) st = CT_ENOMEM;
        }
        if (st != CT_OK) goto fail;
        if (why) {
            ct_free(x->bad);
            x->bad = why;
        }
    }
fail:
    ct_free(t.row);
    ct_free(data);
    return st;
}

static ct_status from_names(ct_scan *s, const listing *l, const reading *how)
{
    size_t cap = 0;
    for (size_t i = 0; i < l->n; i++) {
        CT_TRY(add_read(s, &cap, l->name[i], how, NULL, 0));
        ct_sample *x = &s->s[s->n - 1];
        ct_status st = CT_OK;
        x->file = is_file(s->dir, x->name, &st);
        CT_TRY(st);
        if (x->file || x->bad) continue;
        x->bad = ct_strdup("not a regular file, or not reachable", "reason");
        if (!x->bad) return CT_ENOMEM;
    }
    return CT_OK;
}

ct_status ct_scan_label_file(const char *dir, const char *name, bool *there)
{
    struct stat info;
    ct_status st = CT_OK;
    char *path = ct_path_join(dir, name);
    *there = false;
    if (!path) return CT_ENOMEM;
    if (lstat(path, &info) == 0) {
        *there = true;
        if (stat(path, &info) != 0) st = ct_fail(CT_EIO, "%s: cannot be read: %s", path, strerror(errno));
        else if (!S_ISREG(info.st_mode))
            st = ct_fail(CT_EIO, "%s: is a label file by its name, but not a regular file", path);
    }
    ct_free(path);
    return st;
}

/* Finds labels.txt, labels.csv or labels.tsv in the folder; more than one is an error. *kind is 0 if there is none. */
static ct_status find_label_file(ct_scan *s, char *kind)
{
    *kind = 0;
    for (int i = 0; i < 3; i++) {
        bool there;
        CT_TRY(ct_scan_label_file(s->root, label_files[i].name, &there));
        if (!there) continue;
        if (s->label_file) {
            return ct_fail(CT_EFORMAT, "%s: there is %s, too; only one label file may be there", s->label_file,
                           label_files[i].name);
        }
        s->label_file = ct_path_join(s->root, label_files[i].name);
        if (!s->label_file) return CT_ENOMEM;
        *kind = label_files[i].kind;
    }
    return CT_OK;
}

static ct_status no_pictures(const char *path, const listing *l)
{
    return ct_fail(CT_EDATA,
                   "%s: no PNG or JPEG pictures in this folder (%lld other files, %lld sub-folders; sub-folders are "
                   "not searched%s)", path, (long long)l->ignored, (long long)l->folders,
                   l->folders > 0 ? ": a label stands in a picture's name, or in labels.txt beside images/" : "");
}

ct_status ct_scan_pictures(const char *path, char ***paths, size_t *n)
{
    listing l;
    ct_status st = CT_OK;
    *paths = NULL;
    *n = 0;
    CT_TRY(list_folder(path, &l));
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
    listing_free(&l);
    return st;
}

/* The folders of a scan: with a label file, pictures may lie in images/. */
static ct_status find_folders(const char *path, bool labelled, ct_scan *out, char *kind)
{
    *kind = 0;
    if (!path || !path[0]) return ct_fail(CT_EINVAL, "no data folder is given");
    out->root = ct_strdup(path, "folder");
    if (!out->root) return CT_ENOMEM;
    if (labelled) CT_TRY(find_label_file(out, kind));
    if (*kind) {
        out->dir = ct_path_join(path, "images");
        if (out->dir && !ct_path_is_dir(out->dir)) {
            ct_free(out->dir);
            out->dir = ct_strdup(path, "folder");
        }
    } else {
        out->dir = ct_strdup(path, "folder");
    }
    return out->dir ? CT_OK : CT_ENOMEM;
}

static ct_status scan(const char *path, bool labelled, const reading *how, ct_scan *out)
{
    ct_status st = CT_OK;
    listing l = { 0 };
    char kind;
    *out = (ct_scan){ 0 };
    CT_GOTO(st, find_folders(path, labelled, out, &kind));
    CT_GOTO(st, list_folder(out->dir, &l));
    out->ignored = l.ignored;
    out->folders = l.folders;
    if (kind) CT_GOTO(st, from_table(out, &l, kind, how));
    else CT_GOTO(st, from_names(out, &l, how));
    if (!kind && labelled) CT_GOTO(st, ct_scan_other_lists(out));
    if (out->n == 0) {
        st = no_pictures(out->dir, &l);
        goto fail;
    }
    listing_free(&l);
    return CT_OK;
fail:
    listing_free(&l);
    ct_scan_free(out);
    return st;
}

ct_status ct_scan_folder(const char *path, ct_scan_label *label, const void *user, ct_scan *out)
{
    const reading how = { label, user };
    return scan(path, true, &how, out);
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
    const reading how = { no_label, NULL };
    return scan(path, false, &how, out);
}
