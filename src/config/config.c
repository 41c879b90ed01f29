/* Making, copying and releasing configurations. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "base/alloc.h"
#include "config/config.h"
#include "config/internal.h"

void ct_config_free(ct_config *cfg)
{
    const ct_config_row *row;
    if (!cfg) return;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++)
        if (row->cls == CT_CLASS_KEY) ct_value_free_field(row, ct_config_field(cfg, row));
    if (cfg->info) {
        for (size_t i = 0, n = ct_config_row_count(); cfg->info->origin && i < n; i++) ct_free(cfg->info->origin[i]);
        for (size_t i = 0; i < cfg->info->notes; i++) ct_free(cfg->info->note[i]);
        ct_free(cfg->info->origin);
        ct_free(cfg->info->layer);
        ct_free(cfg->info->note);
        ct_free(cfg->info);
    }
    ct_free(cfg);
}

/* No key has a value yet. */
static ct_status new_empty(ct_config **out)
{
    const size_t n = ct_config_row_count();
    ct_config *cfg = NULL;
    *out = NULL;
    if (!(cfg = ct_calloc(1, sizeof *cfg, "configuration"))) goto fail;
    if (!(cfg->info = ct_calloc(1, sizeof *cfg->info, "configuration"))) goto fail;
    if (!(cfg->info->origin = ct_calloc(n, sizeof *cfg->info->origin, "configuration"))) goto fail;
    if (!(cfg->info->layer = ct_calloc(n, sizeof *cfg->info->layer, "configuration"))) goto fail;
    *out = cfg;
    return CT_OK;
fail:
    ct_config_free(cfg);
    return CT_ENOMEM;
}

ct_status ct_config_new(ct_config **out)
{
    const ct_config_row *row;
    ct_config *cfg;
    ct_problems p = { 0 };
    ct_status st = CT_OK;
    *out = NULL;
    CT_TRY(new_empty(&cfg));
    for (size_t i = 0; p.fatal == CT_OK && (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY) continue;
        ct_config_read_row(cfg, row, row->name, row->def, "default", 0, &p);
        ct_free(cfg->info->origin[i]);
        cfg->info->origin[i] = NULL;
    }
    st = ct_problems_report(&p);
    if (st != CT_OK) {
        ct_config_free(cfg);
        /* A default that is outside its own range is a mistake in the table. */
        return st == CT_ECONFIG ? ct_fail_context(CT_EINTERNAL, "configuration table") : st;
    }
    *out = cfg;
    return CT_OK;
}

ct_status ct_config_clone(const ct_config *cfg, ct_config **out)
{
    const ct_config_row *row;
    ct_config *c;
    ct_status st = CT_OK;
    CT_TRY(new_empty(&c));
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls == CT_CLASS_KEY)
            CT_GOTO(st, ct_value_copy_field(row, ct_config_field(c, row), ct_config_field(cfg, row)));
        c->info->layer[i] = cfg->info->layer[i];
        if (cfg->info->origin[i] && !(c->info->origin[i] = ct_strdup(cfg->info->origin[i], "configuration"))) {
            st = CT_ENOMEM;
            goto fail;
        }
    }
    c->info->amp = cfg->info->amp;
    c->info->input_channels = cfg->info->input_channels;
    c->info->sched_warmup = cfg->info->sched_warmup;
    c->info->ctc_blank = cfg->info->ctc_blank;
    c->info->crop_size = cfg->info->crop_size;
    c->info->ctc_reduction = cfg->info->ctc_reduction;
    for (size_t i = 0; i < cfg->info->read_notes; i++) CT_GOTO(st, ct_config_add_note(c, "%s", cfg->info->note[i]));
    c->info->read_notes = c->info->notes;
    *out = c;
    return CT_OK;
fail:
    ct_config_free(c);
    *out = NULL;
    return st;
}
