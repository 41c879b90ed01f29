/* How a verb ends. */
#include "config.h"

#include "cli/cli.h"

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
