#include "config.h"

#include "exec/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/place.h"
#include "exec/build_tree.h"

#ifndef CT_PKGLIBDIR
#define CT_PKGLIBDIR "/usr/local/lib/captrain" /* the build gives the configured one */
#endif

/* ---- services for plug-ins ---- */

static void service_log(int level, const char *fmt, ...) CT_PRINTF(2, 3);

static void service_log(int level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    ct_log((ct_log_level)level, "%s", line);
}

static const char *service_env(int which)
{
    return ct_env_get((ct_env)which);
}

static const ct_services services = {
    .abi = CT_BACKEND_ABI,
    .size = sizeof(ct_services),
    .fail = ct_fail,
    .log = service_log,
    .env = service_env,
    .alloc = ct_aligned_alloc,
    .free = ct_free,
};

/* ---- opening ---- */

/* Opens `path` and asks it for its table. The library stays open for the rest of the process: its table points into it. */
static ct_status open_plugin(const ct_plugin_kind *k, const char *name, const char *path, const void **out)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return ct_fail(CT_EBACKEND, "%s %s: %s cannot be loaded: %s", k->noun, name, path, dlerror());
    void *symbol = dlsym(handle, k->symbol);
    ct_status st;
    if (!symbol) {
        st = ct_fail(CT_EBACKEND, "%s %s: %s has no symbol %s: it is not a captrain plug-in", k->noun, name, path, k->symbol);
        goto fail;
    }
    ct_fail(CT_EBACKEND, "it gives no table, and no reason"); /* what a plug-in says itself takes its place */
    uint32_t abi = 0, size = 0;
    const void *table = k->ask(symbol, &services, &abi, &size);
    if (!table) {
        st = ct_fail_context(CT_EBACKEND, "%s %s: %s", k->noun, name, path);
        goto fail;
    }
    if (abi != k->abi || size != k->size) {
        st = ct_fail(CT_EBACKEND,
                     "%s %s: %s was built for another captrain (plug-in ABI %u with a table of %u bytes, this "
                     "program ABI %u with %zu bytes); build both from the same source",
                     k->noun, name, path, (unsigned)abi, (unsigned)size, (unsigned)k->abi, k->size);
        goto fail;
    }
    *out = table;
    return CT_OK;
fail:
    dlclose(handle);
    return st;
}

/* ---- looking ---- */

/* Whether this program lies in the tree it was built in, whose folder was written down then: wherever it is started from, it has
 * its own plug-ins beside it, while one that was installed or copied away never looks there. */
static bool in_build_tree(void)
{
    char self[PATH_MAX], built[PATH_MAX];
    if (!ct_place_self(self, sizeof self) || !realpath(CT_BUILD_TREE, built)) return false;
    char *slash = strrchr(self, '/');
    *slash = '\0';
    const size_t len = strlen(built);
    return strncmp(self, built, len) == 0 && (self[len] == '\0' || strcmp(self + len, "/.libs") == 0);
}

/* Path of captrain-<name>.so in one of the directories of a list, which colons part; NULL in *out: in none. */
static ct_status search(const char *list, const char *name, char **out)
{
    *out = NULL;
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char *path = n ? ct_asprintf("%.*s/captrain-%s.so", (int)n, list, name) : NULL;
        if (n && !path) return CT_ENOMEM;
        if (path && ct_path_exists(path)) {
            *out = path;
            return CT_OK;
        }
        ct_free(path);
        list += n + (list[n] == ':');
    }
    return CT_OK;
}

/* The first there is; NULL in *out: none. The folders: *list (NULL: none of these), then *installed (ct_free(); NULL: the
 * configured one), beside this program or library, wherever its tree is now. */
static ct_status find(const char *name, const char **list, char **installed, char **out)
{
    *installed = NULL;
    *list = ct_env_get(CT_ENV_BACKEND_PATH);
    if (!*list && in_build_tree()) *list = CT_BUILD_TREE "/.libs";
    CT_TRY(search(*list, name, out));
    if (*out) return CT_OK;
    CT_TRY(ct_place_installed(CT_PKGLIBDIR, installed));
    if (*installed) CT_TRY(search(*installed, name, out));
    return *out ? CT_OK : search(CT_PKGLIBDIR, name, out);
}

bool ct_plugin_there(const char *name)
{
    const char *list;
    char *installed = NULL, *path = NULL;
    const bool there = find(name, &list, &installed, &path) == CT_OK && path;
    ct_free(installed);
    ct_free(path);
    return there;
}

ct_status ct_plugin_load(const ct_plugin_kind *kind, const char *name, const void **table)
{
    const char *list;
    char *installed = NULL, *path = NULL;
    ct_status st = find(name, &list, &installed, &path);
    if (st == CT_OK && path) st = open_plugin(kind, name, path, table);
    else if (st == CT_OK)
        st = ct_fail(CT_EBACKEND, "%s %s: no plug-in captrain-%s.so in %s%s%s%s", kind->noun, name, name, list ? list : "",
                     list ? " or " : "", installed ? installed : CT_PKGLIBDIR, kind->missing);
    ct_free(installed);
    ct_free(path);
    return st;
}
