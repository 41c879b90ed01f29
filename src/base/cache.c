#include "config.h"

#include "base/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"

#define MOST_GB 20.0
#define REST (24 * 60 * 60) /* seconds in which nothing of what has been used goes */

ct_status ct_cache_dir(const char *what, char **dir)
{
    const char *own = ct_env_get(CT_ENV_CACHE_DIR), *xdg = ct_env_get(CT_ENV_XDG_CACHE_HOME);
    const char *home = ct_env_get(CT_ENV_HOME);
    *dir = NULL;
    if (own) *dir = ct_asprintf("%s/%s", own, what);
    else if (xdg && xdg[0] == '/') *dir = ct_asprintf("%s/captrain/%s", xdg, what);
    else if (home) *dir = ct_asprintf("%s/.cache/captrain/%s", home, what);
    else return CT_OK;
    return *dir ? CT_OK : CT_ENOMEM;
}

ct_status ct_cache_most(int64_t *bytes)
{
    const char *given = ct_env_get(CT_ENV_CACHE_GB);
    double gb = MOST_GB;
    *bytes = 0;
    if (given && (!ct_number_of(given, &gb) || !(gb >= 0) || gb > 1e9))
        return ct_fail(CT_ECONFIG, "CAPTRAIN_CACHE_GB: wants gigabytes, 0 for no limit (got '%s')", given);
    *bytes = (int64_t)ceil(gb * 1e9);
    return CT_OK;
}

void ct_cache_used(const char *path)
{
    (void)utimensat(AT_FDCWD, path, NULL, 0);
}

/* A file of a folder. */
typedef struct kept {
    char *path;
    int64_t bytes;
    time_t used;
    bool half; /* written by a process that has not come to its end */
} kept;

typedef struct folder {
    kept *file;
    size_t n, cap;
    int64_t bytes;
} folder;

static void folder_free(folder *f)
{
    for (size_t i = 0; i < f->n; i++) ct_free(f->file[i].path);
    ct_free(f->file);
}

/* 32 hexadecimal digits, perhaps a word (".files"), the suffix, and ".tmp.PID" if it is half-written. */
static bool ours(const char *name, const char *suffix, bool *half)
{
    if (strspn(name, "0123456789abcdef") != 32) return false;
    const char *end = strstr(name + 32, suffix);
    if (!end) return false;
    end += strlen(suffix);
    *half = strncmp(end, ".tmp.", 5) == 0;
    return *end == '\0' || (*half && end[5] && end[5 + strspn(end + 5, "0123456789")] == '\0');
}

static ct_status take(folder *f, const char *dir, const char *name, const char *suffix)
{
    struct stat s;
    bool half;
    if (!ours(name, suffix, &half)) return CT_OK;
    char *path = ct_path_join(dir, name);
    if (!path) return CT_ENOMEM;
    if (lstat(path, &s) != 0 || !S_ISREG(s.st_mode)) {
        ct_free(path);
        return CT_OK;
    }
    const ct_status st = ct_grow(&f->file, f->n, &f->cap, sizeof *f->file, "files of the cache");
    if (st != CT_OK) {
        ct_free(path);
        return st;
    }
    f->file[f->n++] = (kept){ path, (int64_t)s.st_size, s.st_mtime, half };
    f->bytes += (int64_t)s.st_size;
    return CT_OK;
}

static ct_status folder_read(const char *dir, const char *suffix, folder *f)
{
    ct_status st = CT_OK;
    *f = (folder){ 0 };
    DIR *d = opendir(dir);
    for (struct dirent *e; d && st == CT_OK && (e = readdir(d));) st = take(f, dir, e->d_name, suffix);
    if (d) closedir(d);
    return st;
}

int64_t ct_cache_bytes(const char *dir, const char *suffix)
{
    folder f;
    (void)folder_read(dir, suffix, &f);
    folder_free(&f);
    return f.bytes;
}

static int by_use(const void *a, const void *b)
{
    const kept *x = a, *y = b;
    return x->used != y->used ? (x->used < y->used ? -1 : 1) : strcmp(x->path, y->path);
}

ct_status ct_cache_trim(const char *dir, const char *suffix)
{
    folder f;
    int64_t most, gone = 0;
    size_t files = 0;
    char freed[32], limit[32];
    CT_TRY(ct_cache_most(&most));
    ct_status st = folder_read(dir, suffix, &f);
    if (st == CT_OK && f.n > 1) qsort(f.file, f.n, sizeof *f.file, by_use);
    const time_t rested = time(NULL) - REST;
    for (size_t i = 0; st == CT_OK && i < f.n && f.file[i].used < rested; i++) {
        const bool over = most > 0 && f.bytes - gone > most;
        if ((!over && !f.file[i].half) || unlink(f.file[i].path) != 0) continue;
        gone += f.file[i].bytes;
        files++;
    }
    if (files > 0)
        ct_info("cache: %zu file%s (%s) that had not been used for a day removed from %s, which keeps %s "
                "(CAPTRAIN_CACHE_GB)", files, files == 1 ? "" : "s", ct_text_bytes(gone, freed, sizeof freed), dir,
                most > 0 ? ct_text_bytes(most, limit, sizeof limit) : "everything");
    folder_free(&f);
    return st;
}
