/* The pictures of a clip: a folder of frames. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"

typedef struct frame {
    char *name;     /* the file's, without folder */
    int64_t number; /* its name before the suffix; -1: that is no number */
} frame;

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "00017.jpg": 17. Up to 9 digits; -1: anything else. */
static int64_t number_of(const char *name)
{
    int64_t v = 0;
    int digits = 0;
    for (; name[digits] >= '0' && name[digits] <= '9' && digits < 10; digits++) v = 10 * v + (name[digits] - '0');
    return digits > 0 && digits < 10 && (name[digits] == '.' || name[digits] == '\0') ? v : -1;
}

static int by_number(const void *a, const void *b)
{
    const frame *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_video(const char *path)
{
    static const char *const suffix[] = { "mp4", "avi", "mov", "mkv", "webm", "mpg", "mpeg", "m4v" };
    const char *dot = strrchr(last_part(path), '.');
    for (size_t i = 0; dot && i < sizeof suffix / sizeof suffix[0]; i++)
        if (strcasecmp(dot + 1, suffix[i]) == 0) return true;
    return false;
}

static ct_status refuse_video(const char *path)
{
    const int n = (int)(strrchr(path, '.') - path);
    return ct_fail(CT_EDATA, "%s: is a video; clips are folders of pictures, which `mkdir %.*s; ffmpeg -i %s -vf "
                   "scale=256:256 -q:v 2 %.*s/%%05d.jpg` makes of it", path, n, path, path, n, path);
}

/* Numbers go up by one. */
static ct_status check_numbers(const char *path, const frame *f, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        if (f[i].number == f[i - 1].number + 1) continue;
        if (f[i].number == f[i - 1].number)
            return ct_fail(CT_EDATA, "%s: %s and %s have the same number", path, f[i - 1].name, f[i].name);
        return ct_fail(CT_EDATA, "%s: after frame %s comes %s: %" PRId64 " are missing", path, f[i - 1].name,
                       f[i].name, f[i].number - f[i - 1].number - 1);
    }
    return CT_OK;
}

/* Names and numbers of the n pictures, in the order of a clip; the names become f's. */
static ct_status sort_frames(const char *path, char *const *file, frame *f, int64_t n)
{
    bool numbers = true;
    for (int64_t i = 0; i < n; i++) {
        if (!(f[i].name = ct_strdup(last_part(file[i]), "name of a frame"))) return CT_ENOMEM;
        f[i].number = number_of(f[i].name);
        numbers = numbers && f[i].number >= 0;
    }
    for (int64_t i = 0; !numbers && i < n; i++) f[i].number = -1;
    qsort(f, (size_t)n, sizeof *f, by_number);
    return numbers ? check_numbers(path, f, n) : CT_OK;
}

ct_status ct_scan_frames(const char *path, char ***names, int64_t *count)
{
    ct_status st;
    char **file = NULL;
    size_t n = 0;
    *names = NULL;
    *count = 0;
    if (ct_path_is_file(path)) {
        if (is_video(path)) return refuse_video(path);
        return ct_fail(CT_EDATA, "%s: is a file; a clip is a folder of pictures", path);
    }
    CT_TRY(ct_scan_pictures(path, &file, &n));
    frame *f = ct_calloc(n, sizeof *f, "frames of a clip");
    *names = f ? ct_calloc(n, sizeof **names, "frames of a clip") : NULL;
    st = *names ? sort_frames(path, file, f, (int64_t)n) : CT_ENOMEM;
    for (size_t i = 0; st == CT_OK && i < n; i++) {
        (*names)[i] = f[i].name;
        f[i].name = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        ct_free(file[i]);
        if (f) ct_free(f[i].name);
    }
    ct_free(file);
    ct_free(f);
    if (st == CT_OK) {
        *count = (int64_t)n;
        return CT_OK;
    }
    ct_free(*names);
    *names = NULL;
    return st;
}
