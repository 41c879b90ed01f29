/* The examples that are shipped with the program. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/place.h"
#include "config/config.h"

/* Set by the Makefile: the directory where `make install` puts examples/. */
#ifndef CT_PKGDATADIR
#define CT_PKGDATADIR "/usr/local/share/captrain"
#endif

char *ct_config_find_example(const char *name)
{
    static const char prefix[] = "examples/";
    const char *dirs[3];
    char *moved = NULL, *found = NULL;
    size_t n = 0, len;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
    len = strlen(name);
    if (len > 5 && strcmp(name + len - 5, ".yaml") == 0) len -= 5;
    /* Only names: a path is a path. */
    if (len == 0 || len > 100 || memchr(name, '/', len) || name[0] == '.') return NULL;

    /* CAPTRAIN_DATADIR, if set, is the only place; otherwise the installed one, then the source tree one stands in. */
    if (ct_env_get(CT_ENV_DATA_DIR)) {
        dirs[n++] = ct_env_get(CT_ENV_DATA_DIR);
    } else {
        if (ct_place_installed(CT_PKGDATADIR, &moved) != CT_OK) return NULL;
        if (moved) dirs[n++] = moved;
        dirs[n++] = CT_PKGDATADIR;
        dirs[n++] = ".";
    }
    for (size_t i = 0; i < n && !found; i++) {
        char *path = ct_asprintf("%s/examples/%.*s.yaml", dirs[i], (int)len, name);
        if (path && ct_path_exists(path)) found = path;
        else ct_free(path);
        if (!path) break;
    }
    ct_free(moved);
    return found;
}
