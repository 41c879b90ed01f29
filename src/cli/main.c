#include "config.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const cli_command *const commands[] = {
    &cli_train, &cli_eval, &cli_predict, &cli_gen, &cli_check, &cli_import, &cli_export, &cli_plan, &cli_bench, &cli_tune, &cli_profile, &cli_selftest, &cli_doctor, &cli_monitor, &cli_help, NULL
};

const cli_command *const *cli_commands(void)
{
    return commands;
}

const cli_command *cli_find(const char *name)
{
    for (const cli_command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

int cli_finish(ct_status st)
{
    if (st == CT_OK) return 0;
    const char *msg = ct_error_message();
    fprintf(stderr, "captrain: %s\n", *msg ? msg : ct_status_name(st));
    return ct_exit_code(st);
}

int cli_close_stdout(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("captrain: standard output could not be written\n", stderr);
        return code ? code : 1;
    }
    return code;
}

int main(int argc, char **argv)
{
    cli_args a;
    const cli_command *cmd;
    setlocale(LC_CTYPE, "");
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is then a write error like a full disk: with a message, nothing lost */
#endif
    int code = cli_parse(argc, argv, &a, &cmd);
    if (code == 0) {
        ct_set_verbosity(a.quiet ? 0 : a.verbose ? 2 : 1);
        if (a.version)
            printf("captrain %s\n", ct_version());
        else if (a.help && cmd)
            cli_print_command_help(cmd, stdout);
        else if (a.help)
            cli_print_usage(stdout);
        else
            code = (cmd ? cmd : &cli_train)->run(&a); /* no verb: the main job, the built-in configuration */
    }
    cli_args_free(&a);
    return cli_close_stdout(code);
}
