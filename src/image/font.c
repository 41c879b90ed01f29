/* Where fonts are. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "image/font.h"

static ct_status try_font(const char *dir, size_t len, const char *name, char **path)
{
    *path = ct_asprintf("%.*s/%s", (int)len, dir, name);
    if (!*path) return CT_ENOMEM;
    if (ct_path_exists(*path) && !ct_path_is_dir(*path)) return CT_OK;
    ct_free(*path);
    *path = NULL;
    return CT_OK;
}

ct_status ct_font_find(const char *name, char **path)
{
    static const char *const dirs[] = {
        "/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/truetype/liberation",
        "/usr/share/fonts/truetype/liberation2",
        "/usr/share/fonts/truetype/freefont", "/usr/share/fonts/dejavu", "/usr/share/fonts/dejavu-sans-fonts",
        "/usr/share/fonts/dejavu-sans-mono-fonts", "/usr/share/fonts/dejavu-serif-fonts", "/usr/share/fonts/TTF",
        "/usr/share/fonts", "/usr/local/share/fonts",
    };
    *path = NULL;
    if (strchr(name, '/')) {
        if (!ct_path_exists(name)) return ct_fail(CT_ECONFIG, "%s: there is no such font file", name);
        *path = ct_strdup(name, "font path");
        return *path ? CT_OK : CT_ENOMEM;
    }
    const char *own = ct_env_get(CT_ENV_FONT_PATH), *home = ct_env_get(CT_ENV_HOME);
    for (const char *p = own; p && *p && !*path;) {
        size_t n = strcspn(p, ":");
        if (n > 0) CT_TRY(try_font(p, n, name, path));
        p += n + (p[n] == ':');
    }
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs && !*path; i++) {
        CT_TRY(try_font(dirs[i], strlen(dirs[i]), name, path));
    }
    static const char *const home_dirs[] = { ".local/share/fonts", ".fonts" };
    for (int i = 0; i < 2 && home && !*path; i++) {
        char *dir = ct_path_join(home, home_dirs[i]);
        if (!dir) return CT_ENOMEM;
        ct_status st = try_font(dir, strlen(dir), name, path);
        ct_free(dir);
        CT_TRY(st);
    }
    if (*path) return CT_OK;
    return ct_fail(CT_ECONFIG, "font %s is not installed; %s, or name its folder in CAPTRAIN_FONT_PATH", name,
                   strncmp(name, "DejaVu", 6) == 0 ? "on Debian and Ubuntu: apt install fonts-dejavu-core"
                   : strncmp(name, "Liberation", 10) == 0 ? "on Debian and Ubuntu: apt install fonts-liberation"
                   : "install it");
}
