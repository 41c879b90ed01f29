#include "config.h"

#include "base/paths.h"

#include <string.h>

#include "base/alloc.h"

static const char between[] = CT_PATHS_BETWEEN;

bool ct_paths_several(const char *paths) { return strstr(paths, between) != NULL; }

ct_status ct_paths_next(const char **at, char **one)
{
    *one = NULL;
    if (!*at || !**at) return CT_OK;
    const char *end = strstr(*at, between);
    const size_t n = end ? (size_t)(end - *at) : strlen(*at);
    *one = ct_strndup(*at, n, "a path");
    *at = end ? end + sizeof between - 1 : *at + n;
    return *one ? CT_OK : CT_ENOMEM;
}

char *ct_paths_show(const char *paths)
{
    /* what stands between is longer than ", " */
    char *text = ct_strdup(paths, "a path");
    if (!text) return NULL;
    for (char *at = text; (at = strstr(at, between));) {
        memcpy(at, ", ", 2);
        memmove(at + 2, at + sizeof between - 1, strlen(at + sizeof between - 1) + 1);
    }
    return text;
}
