/* Options of every verb, and looking verbs and options up. */
#include "config.h"

#include <string.h>

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option globals[] = {
    { "--backend", "NAME", CLI_STRING, OFF(common.backend), 0, 0,
      "backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a fall-back" },
    { "--threads", "N", CLI_THREADS, OFF(common.threads), 0, 4096,
      "compute threads; 0 = all cores this process may use" },
    { "--verbose", NULL, CLI_FLAG, OFF(verbose), 0, 0, "say more; also -v" },
    { "--quiet", NULL, CLI_FLAG, OFF(quiet), 0, 0, "errors only; also -q" },
    { "--help", NULL, CLI_FLAG, OFF(help), 0, 0, "help on the verb; also -h" },
    { "--version", NULL, CLI_FLAG, OFF(version), 0, 0, "print the version; also -V" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

const cli_option *cli_globals(void)
{
    return globals;
}

const cli_option *cli_find_option(const cli_option *t, const char *word, size_t len)
{
    for (; t && t->name; t++)
        if (strlen(t->name) == len && memcmp(t->name, word, len) == 0) return t;
    return NULL;
}

bool cli_find_task_option(const char *verb, const char *word, size_t len, ct_option_info *out)
{
    for (size_t i = 0; ct_option_at(verb, i, out); i++)
        if (strlen(out->name) == len && memcmp(out->name, word, len) == 0) return true;
    return false;
}

const cli_command *cli_find(const cli_command *const *commands, const char *name)
{
    for (; *commands; commands++)
        if (strcmp((*commands)->name, name) == 0) return *commands;
    return NULL;
}
