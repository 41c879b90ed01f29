/* libFuzzer target: any command line, words between line ends. Nothing is run. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "tests/fuzz/fuzz_util.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *quiet;
    char *argv[66] = { NULL }, *text = malloc(size + 1), program[] = "captrain";
    int argc = 0;
    cli_args a;
    const cli_command *cmd;
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    argv[argc++] = program;
    for (char *s = strtok(text, "\n"); s && argc < 64; s = strtok(NULL, "\n")) argv[argc++] = s;
    if (!quiet) quiet = fopen("/dev/null", "w");
    FILE *old = stderr;
    stderr = quiet; /* a message for each of a million */
    const int code = cli_parse(argc, argv, cli_commands(), &a, &cmd);
    stderr = old;
    if (code != 0 && code != 2) abort();
    if (code == 0 && cmd && !a.help && !a.version && (a.npos < cmd->pos_min || (cmd->pos_max >= 0 && a.npos > cmd->pos_max))) abort();
    cli_args_free(&a);
    free(text);
    return 0;
}
