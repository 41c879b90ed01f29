/* Reading configurations: files, texts, --set, single keys. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/config.h"
#include "config/internal.h"

/* "key=value" of --set number i. */
static void read_set(ct_config *cfg, const char *set, int layer, ct_problems *p)
{
    char q[CT_CONFIG_QUOTE + 4];
    const char *eq = strchr(set, '=');
    char *where = ct_asprintf("--set %s", ct_config_quote(set, q)), *key = NULL;
    if (!where) {
        p->fatal = CT_ENOMEM;
    } else if (!eq || eq == set) {
        ct_problem(p, where, "must be KEY=VALUE");
    } else if ((key = ct_strndup(set, (size_t)(eq - set), "configuration key"))) {
        ct_config_read_pair(cfg, key, eq + 1, where, layer, p);
    } else {
        p->fatal = CT_ENOMEM;
    }
    ct_free(key);
    ct_free(where);
}

ct_status ct_config_parse(const char *text, size_t size, const char *source, const char *const *sets, size_t nsets,
                          ct_config **out)
{
    ct_problems p = { 0 };
    ct_config *cfg;
    ct_status st;
    *out = NULL;
    CT_TRY(ct_config_new(&cfg));
    ct_config_read_text(cfg, text, size, source, &p);
    for (size_t i = 0; i < nsets && p.fatal == CT_OK; i++) read_set(cfg, sets[i], 2 + (int)i, &p);
    cfg->info->read_notes = cfg->info->notes;
    /* Checking keys against each other makes sense only when each of them was understood. */
    if (p.count == 0) ct_config_finish(cfg, &p);
    if ((st = ct_problems_report(&p)) != CT_OK) {
        ct_config_free(cfg);
        return st;
    }
    *out = cfg;
    return CT_OK;
}

ct_status ct_config_defaults(ct_config **out)
{
    return ct_config_parse("", 0, "defaults", NULL, 0, out);
}

/* Whether `config` is the built-in configuration under one of its names. */
static bool is_builtin(const char *config)
{
    return strcmp(config, "quickstart") == 0 || strcmp(config, "quickstart.yaml") == 0 ||
           strcmp(config, "examples/quickstart.yaml") == 0;
}

/* The configuration that a run keeps in its folder; NULL: it is no run's. */
static ct_status kept_in(const char *dir, char **path)
{
    if (!(*path = ct_path_join(dir, "config.yaml"))) return CT_ENOMEM;
    if (ct_path_is_file(*path)) return CT_OK;
    ct_free(*path);
    *path = NULL;
    return CT_OK;
}

/* A bare word (no folder, no extension) is an example's name first: in a source tree `quickstart` is also a shell
 * script. *found is the path to read (ct_free), NULL with CT_OK for the built-in text. */
static ct_status locate(const char *config, char **found)
{
    bool bare = !strpbrk(config, "/.");
    *found = NULL;
    if (bare || !ct_path_exists(config)) {
        *found = ct_config_find_example(config);
        if (*found || is_builtin(config)) return CT_OK;
    }
    if (ct_path_is_dir(config)) {
        CT_TRY(kept_in(config, found));
        if (*found) return CT_OK;
        return ct_fail(CT_ECONFIG, "%s is a folder, not a configuration file (images are given by data.train)", config);
    }
    if (!ct_path_exists(config))
        return ct_fail(CT_ECONFIG, "%s: there is no such file, and no example of that name is installed", config);
    *found = ct_strdup(config, "a path");
    return *found ? CT_OK : CT_ENOMEM;
}

ct_status ct_config_load(const char *config, const char *const *sets, size_t nsets, ct_config **out)
{
    uint8_t *text = NULL;
    size_t size;
    char *found = NULL;
    ct_status st = CT_OK;
    *out = NULL;
    if (config) CT_TRY(locate(config, &found));
    if (found) {
        CT_GOTO(st, ct_file_read(found, CT_CONFIG_MAX_BYTES, &text, &size));
        st = ct_config_parse((const char *)text, size, found, sets, nsets, out);
    } else {
        st = ct_config_parse(ct_config_quickstart, strlen(ct_config_quickstart), "built-in quickstart", sets, nsets,
                             out);
    }
fail:
    ct_free(text);
    ct_free(found);
    return st;
}

ct_status ct_config_set(ct_config *cfg, const char *key, const char *value, const char *origin)
{
    ct_problems p = { 0 };
    ct_config *c;
    ct_status st;
    CT_TRY(ct_config_clone(cfg, &c));
    ct_config_read_pair(c, key, value, origin, 2, &p);
    c->info->read_notes = c->info->notes;
    if (p.count == 0) ct_config_finish(c, &p);
    st = ct_problems_report(&p);
    if (st == CT_OK) {
        ct_config old = *cfg;
        *cfg = *c;
        *c = old;
    }
    ct_config_free(c);
    return st;
}
