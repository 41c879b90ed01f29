/* The small parts of the public interface. */
#include "config.h"

#include "base/env.h"
#include "base/log.h"
#include "captrain.h"
#include "config/config.h"

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
