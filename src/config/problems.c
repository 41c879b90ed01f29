/* What a configuration is told to a person with: problems, notes, and the places keys were given at. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "config/config.h"
#include "config/internal.h"

/* ---- problems ---- */

void ct_problem(ct_problems *p, const char *where, const char *fmt, ...)
{
    va_list ap;
    char msg[512];
    if (p->count++ >= CT_CONFIG_MAX_ERRORS || p->fatal != CT_OK) return;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    p->text[p->count - 1] = ct_asprintf("%s: %s", where, msg);
    if (!p->text[p->count - 1]) p->fatal = CT_ENOMEM;
}

ct_status ct_problems_report(ct_problems *p)
{
    size_t kept = p->count < CT_CONFIG_MAX_ERRORS ? p->count : CT_CONFIG_MAX_ERRORS, len = 1;
    char *all = NULL;
    ct_status st = p->fatal;
    if (st != CT_OK || p->count == 0) goto done;
    for (size_t i = 0; i < kept; i++) len += strlen(p->text[i]) + 1;
    if (!(all = ct_malloc(len, "configuration messages"))) {
        st = CT_ENOMEM;
        goto done;
    }
    char *end = all;
    for (size_t i = 0; i < kept; i++) end += sprintf(end, "%s%s", i ? "\n" : "", p->text[i]);
    if (p->count > kept)
        st = ct_fail(CT_ECONFIG, "%s\nand %zu more", all, p->count - kept);
    else
        st = ct_fail(CT_ECONFIG, "%s", all);
done:
    for (size_t i = 0; i < kept; i++) ct_free(p->text[i]);
    ct_free(all);
    *p = (ct_problems){ 0 };
    return st;
}

/* ---- notes ---- */

ct_status ct_config_add_note(ct_config *cfg, const char *fmt, ...)
{
    va_list ap;
    char text[512];
    struct ct_config_info *info = cfg->info;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CT_TRY(ct_grow(&info->note, info->notes, &info->note_cap, sizeof *info->note, "configuration notes"));
    if (!(info->note[info->notes] = ct_strdup(text, "configuration note"))) return CT_ENOMEM;
    info->notes++;
    return CT_OK;
}

size_t ct_config_note_count(const ct_config *cfg)
{
    return cfg->info->notes;
}

const char *ct_config_note(const ct_config *cfg, size_t i)
{
    return i < cfg->info->notes ? cfg->info->note[i] : "";
}

void ct_config_log_notes(const ct_config *cfg)
{
    for (size_t i = 0; i < cfg->info->notes; i++) ct_info("note: %s", cfg->info->note[i]);
}

/* ---- places ---- */

const char *ct_config_origin(const ct_config *cfg, const char *key)
{
    const ct_config_row *row = ct_config_find_row(key);
    return row ? cfg->info->origin[ct_config_row_index(row)] : NULL;
}

const char *ct_config_place(const ct_config *cfg, const char *key, const char *other)
{
    const char *o = ct_config_origin(cfg, key);
    if (!o && other) o = ct_config_origin(cfg, other);
    return o ? o : "configuration";
}

bool ct_config_is_set(const ct_config *cfg, const char *key)
{
    const ct_config_row *row = ct_config_find_row(key);
    return row && row->cls != CT_CLASS_NOTED && cfg->info->origin[ct_config_row_index(row)] != NULL;
}
