#define _GNU_SOURCE /* dladdr() */
#include "config.h"

#include "base/place.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* The build gives the configured ones. */
#ifndef CT_BINDIR
#define CT_BINDIR "/usr/local/bin"
#endif
#ifndef CT_LIBDIR
#define CT_LIBDIR "/usr/local/lib"
#endif

/* What dladdr() says of a program is the word it was started by, hence the link of the system's. */
static bool is_library(const char *file)
{
    const char *slash = strrchr(file, '/');
    return strncmp(slash ? slash + 1 : file, "libcaptrain", 11) == 0;
}

bool ct_place_self(char *buf, size_t size)
{
    static const char mark = 0; /* something of this file that is in the library or in the program */
    Dl_info info;
    char path[PATH_MAX];
    if (dladdr(&mark, &info) != 0 && info.dli_fname && is_library(info.dli_fname)) {
        if (!realpath(info.dli_fname, path)) return false;
    } else {
        const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        if (n <= 0) return false;
        path[n] = '\0';
    }
    if (strlen(path) >= size) return false;
    memcpy(buf, path, strlen(path) + 1);
    return true;
}

/* Bytes that two paths have in common, whole names only: "/usr/lib" and "/usr/libexec" have "/usr". */
static size_t common(const char *a, const char *b)
{
    size_t n = 0, whole = 0;
    for (;; n++) {
        const bool end_a = a[n] == '/' || a[n] == '\0', end_b = b[n] == '/' || b[n] == '\0';
        if (end_a && end_b) whole = n;
        if (a[n] != b[n] || a[n] == '\0') return whole;
    }
}

ct_status ct_place_moved(const char *self, const char *home, const char *target, char **out)
{
    const size_t shared = common(home, target), tail = strlen(home + shared);
    const char *slash = strrchr(self, '/');
    *out = NULL;
    if (!slash) return CT_OK;
    const size_t folder = (size_t)(slash - self); /* of self, without its name */
    if (folder < tail || strncmp(self + folder - tail, home + shared, tail) != 0) return CT_OK;
    *out = ct_asprintf("%.*s%s", (int)(folder - tail), self, target + shared);
    return *out ? CT_OK : CT_ENOMEM;
}

ct_status ct_place_installed(const char *target, char **out)
{
    char self[PATH_MAX];
    *out = NULL;
    if (!ct_place_self(self, sizeof self)) return CT_OK;
    return ct_place_moved(self, is_library(self) ? CT_LIBDIR : CT_BINDIR, target, out);
}
