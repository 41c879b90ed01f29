/* The small parts of the public interface. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "captrain.h"
#include "config/config.h"
#include "config/doc/doc.h"

int ct_exit_code(ct_status code)
{
    switch (code) {
    case CT_OK: return 0;
    case CT_ECONFIG:
    case CT_EBACKEND: return 2;
    default: return 1;
    }
}

void ct_set_verbosity(int level)
{
    ct_log_set_level(level <= 0 ? CT_LOG_ERROR : level == 1 ? CT_LOG_INFO : CT_LOG_DEBUG);
}

void ct_print_config_help(FILE *to)
{
    ct_config_print_help(to);
}

bool ct_print_config_topic(FILE *to, const char *topic)
{
    return ct_config_print_topic(to, topic);
}

bool ct_config_key(size_t i, const char **name, const char **values)
{
    const ct_config_row *row;
    size_t seen = 0;
    for (size_t k = 0; (row = ct_config_row_at(k)); k++) {
        if (row->cls != CT_CLASS_KEY || seen++ < i) continue;
        *name = row->name;
        *values = row->type == CT_KEY_BOOL ? "true false" : row->values ? row->values : row->word ? row->word : "";
        return true;
    }
    return false;
}

/* A key with a field; what is only accepted from other programs is none. */
static const char *usable_key(const char *name)
{
    const ct_config_row *row = ct_config_find_row(name);
    return row && row->cls == CT_CLASS_KEY ? row->name : NULL;
}

const char *ct_config_key_like(const char *word)
{
    static const char *const section[] = { "train",     "data",     "model", "augment",
                                           "optimizer", "schedule", "eval",  "checkpoint" };
    char name[64], full[96];
    if (strlen(word) >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%s", word);
    for (char *p = name; *p; p++)
        if (*p == '-') *p = '_';
    const char *key = usable_key(name);
    for (size_t i = 0; !key && i < sizeof section / sizeof *section; i++) {
        snprintf(full, sizeof full, "%s.%s", section[i], name);
        key = usable_key(full);
    }
    return key;
}

void ct_print_config_markdown(FILE *to)
{
    ct_config_print_markdown(to);
}

void ct_print_config_man(FILE *to)
{
    ct_config_print_roff(to);
}

void ct_print_environment_man(FILE *to)
{
    const ct_env_row *row = ct_env_table();
    fputs(".SH ENVIRONMENT\n", to);
    for (int i = 0; i < CT_ENV_COUNT; i++) fprintf(to, ".TP\n.B %s\n%s\n", row[i].name, row[i].doc);
}
