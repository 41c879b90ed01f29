#include "config.h"

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
#include "exec/build_tree.h"
#include "exec/exec.h"

#ifndef CT_PKGLIBDIR
#define CT_PKGLIBDIR "/usr/local/lib/captrain" /* the build gives the configured one */
#endif

/* Every name there is, in the order `auto` prefers them. */
static struct entry {
    const char *name;
    const ct_backend *built_in; /* NULL: plug-in captrain-<name>.so */
    const ct_backend *loaded;   /* after the first success */
} entries[] = {
    { "cuda", NULL, NULL },
    { "cpu", &ct_backend_cpu, NULL },
};

#define NENTRIES (sizeof entries / sizeof entries[0])

size_t ct_backend_count(void)
{
    return NENTRIES;
}

const char *ct_backend_name(size_t i)
{
    return i < NENTRIES ? entries[i].name : NULL;
}

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

/* ---- plug-ins ---- */

/* Opens `path` and asks it for its table. The library stays open for the rest of the process: its table points into it.
 */
static ct_status open_plugin(const char *name, const char *path, const ct_backend **out)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return ct_fail(CT_EBACKEND, "backend %s: %s cannot be loaded: %s", name, path, dlerror());
    /* POSIX lets dlsym results become function pointers; ISO C has no cast for it, hence the union. */
    union {
        void *object;
        ct_backend_entry_fn function;
    } entry = { dlsym(handle, "ct_backend_entry") };
    ct_status st;
    if (!entry.object) {
        st = ct_fail(CT_EBACKEND, "backend %s: %s has no symbol ct_backend_entry: it is not a captrain plug-in", name,
                     path);
        goto fail;
    }
    ct_fail(CT_EBACKEND, "it gives no table, and no reason"); /* what a plug-in says itself takes its place */
    const ct_backend *b = entry.function(&services);
    if (!b) {
        st = ct_fail_context(CT_EBACKEND, "backend %s: %s", name, path);
        goto fail;
    }
    if (b->abi != CT_BACKEND_ABI || b->size != sizeof(ct_backend)) {
        st = ct_fail(CT_EBACKEND,
                     "backend %s: %s was built for another captrain (plug-in ABI %u with a table of %u bytes, this "
                     "program ABI %u "
                     "with %zu bytes); build both from the same source",
                     name, path, (unsigned)b->abi, (unsigned)b->size, (unsigned)CT_BACKEND_ABI, sizeof(ct_backend));
        goto fail;
    }
    *out = b;
    return CT_OK;
fail:
    dlclose(handle);
    return st;
}

/* Whether this program lies in the tree it was built in, whose folder was written down then: wherever it is started from, it has
 * its own plug-ins beside it, while one that was installed or copied away never looks there. */
static bool in_build_tree(void)
{
    char self[PATH_MAX], built[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0 || !realpath(CT_BUILD_TREE, built)) return false;
    self[n] = '\0';
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

/* Looks for captrain-<name>.so in the directories of CAPTRAIN_BACKEND_PATH, or without it beside a program that was not installed, then
 * in the installed one. */
static ct_status find_plugin(const char *name, const ct_backend **out)
{
    const char *list = ct_env_get(CT_ENV_BACKEND_PATH);
    char *path;
    if (!list && in_build_tree()) list = CT_BUILD_TREE "/.libs";
    CT_TRY(search(list, name, &path));
    if (!path) CT_TRY(search(CT_PKGLIBDIR, name, &path));
    if (!path)
        return ct_fail(CT_EBACKEND, "backend %s: no plug-in captrain-%s.so in %s%s%s", name, name, list ? list : "",
                       list ? " or " : "", CT_PKGLIBDIR);
    ct_status st = open_plugin(name, path, out);
    ct_free(path);
    return st;
}

static ct_status unknown_backend(const char *name)
{
    char known[256] = "auto";
    for (size_t i = 0, n = strlen(known); i < NENTRIES && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, ", %s", entries[i].name);
    return ct_fail(CT_EBACKEND, "there is no backend '%s'; the names are %s", name, known);
}

ct_status ct_backend_load(const char *name, const ct_backend **out)
{
    *out = NULL;
    struct entry *e = NULL;
    for (size_t i = 0; i < NENTRIES; i++)
        if (strcmp(entries[i].name, name) == 0) e = &entries[i];
    if (!e) return unknown_backend(name);
    if (!e->loaded) {
        const ct_backend *b = e->built_in;
        if (!b) CT_TRY(find_plugin(name, &b));
        CT_TRY(ct_backend_validate(b));
        if (strcmp(b->name, name) != 0)
            return ct_fail(CT_EBACKEND, "backend %s: the plug-in calls itself '%s'", name, b->name);
        ct_fail(CT_EBACKEND, "it names none, and no reason");
        if (b->device_count() <= 0) return ct_fail_context(CT_EBACKEND, "backend %s: no device", name);
        e->loaded = b;
    }
    *out = e->loaded;
    return CT_OK;
}

ct_status ct_backend_choose(const char *name, const ct_backend **out, char *why, size_t why_size)
{
    if (why && why_size) why[0] = '\0';
    if (name && *name && strcmp(name, "auto") != 0) {
        CT_TRY(ct_backend_load(name, out));
        if (why) snprintf(why, why_size, "%s: asked for", name);
        return CT_OK;
    }
    char refused[1536] = "";
    size_t n = 0;
    for (size_t i = 0; i < NENTRIES; i++) {
        ct_status st = ct_backend_load(entries[i].name, out);
        if (st == CT_OK) {
            if (why)
                snprintf(why, why_size, "%s: taken by auto%s%s", entries[i].name, n ? "; " : "", refused);
            return CT_OK;
        }
        if (st == CT_ENOMEM) return st;
        if (n < sizeof refused)
            n += (size_t)snprintf(refused + n, sizeof refused - n, "%s%s", n ? "; " : "", ct_error_message());
    }
    return ct_fail(CT_EBACKEND, "no backend works here: %s", refused);
}
