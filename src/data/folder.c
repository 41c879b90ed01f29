/* The files of a folder, and samples made of them. */
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
#include "data/scan_internal.h"
#include "image/image.h"
#include "lists/label_files.h"

char *ct_reason_dup(const char *name)
{
    const char *m = ct_error_message();
    size_t n = strlen(name);
    if (strncmp(m, name, n) == 0 && m[n] == ':' && m[n + 1] == ' ') m += n + 2;
    return ct_strdup(m, "reason");
}

/* ---- the folder ---- */

void ct_listing_free(ct_listing *l)
{
    for (size_t i = 0; i < l->n; i++) ct_free(l->name[i]);
    ct_free(l->name);
    *l = (ct_listing){ 0 };
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

static int by_string(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

ct_status ct_listing_make(const char *path, ct_listing *out)
{
    ct_status st = CT_OK;
    *out = (ct_listing){ 0 };
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
        } else if (!ct_label_kind(name)) {
            out->ignored++;
        }
    }
    if (st != CT_OK) goto fail;
    closedir(d);
    if (out->n > 1) qsort(out->name, out->n, sizeof *out->name, by_string);
    return CT_OK;
fail:
    closedir(d);
    ct_listing_free(out);
    return st;
}

/* ---- samples ---- */

ct_status ct_scan_add(ct_scan *s, size_t *cap, const char *name, const char *text, const char *bad, int64_t line)
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

ct_status ct_scan_add_read(ct_scan *s, size_t *cap, const char *name, const ct_scan_labels *r, const char *text,
                           int64_t line)
{
    char *label = NULL, *why = NULL;
    ct_status st = r->label(r->user, name, text, &label);
    if (st == CT_EDATA) {
        st = (why = ct_reason_dup(name)) ? CT_OK : CT_ENOMEM;
    }
    if (st == CT_OK) st = ct_scan_add(s, cap, name, label, why, line);
    ct_free(label);
    ct_free(why);
    return st;
}

bool ct_scan_is_file(const char *dir, const char *name, ct_status *st)
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
