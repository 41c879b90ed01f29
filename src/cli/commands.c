/* The table of verbs. */
#include "config.h"

#include "cli/cli.h"

static const cli_command *const commands[] = {
    &cli_train,    &cli_eval,  &cli_predict, &cli_gen,     &cli_check,    &cli_init,   &cli_import,  &cli_export,
    &cli_plan,     &cli_bench, &cli_tune,    &cli_profile, &cli_selftest, &cli_doctor, &cli_monitor, &cli_launch,
    &cli_compare,  &cli_race,  &cli_fit_style, &cli_completion, &cli_help,   NULL
};

const cli_command *const *cli_commands(void)
{
    return commands;
}
