/* The command line as a function: the program is this and nothing else. */
#include "config.h"

#include <locale.h>
#include <signal.h>

#include "base/crash.h"
#include "cli/cli.h"

int cli_main(int argc, char **argv)
{
    cli_args a;
    const cli_command *cmd;
    cli_open_streams();
    ct_crash_begin();
    setlocale(LC_CTYPE, "");
#ifdef SIGXFSZ
    /* A file size limit is then a write error like a full disk: with a message, nothing lost. */
    signal(SIGXFSZ, SIG_IGN);
#endif
    int code = cli_parse(argc, argv, cli_commands(), &a, &cmd);
    cli_check_space(a.common.threads, code == 0 && !a.version && !a.help);
    if (code == 0) {
        ct_set_verbosity(a.quiet ? 0 : a.verbose ? 2 : 1);
        if (a.version)
            printf("captrain %s\n", ct_version());
        else if (a.help && cmd)
            cli_print_command_help(cmd, stdout);
        else if (a.help)
            cli_print_usage(a.commands, stdout);
        else
            code = (cmd ? cmd : a.commands[0])->run(&a); /* no verb: the main job, the built-in configuration */
    }
    cli_args_free(&a);
    return cli_close_stdout(code);
}
