/* How a verb ends. */
#include "config.h"

#include <signal.h>

#include "base/status.h"
#include "base/text.h"
#include "cli/cli.h"

void cli_say(const char *message)
{
    ct_text_say(stderr, "captrain: ", message); /* it may hold names of files */
}

int cli_finish(ct_status st)
{
    if (st == CT_OK) return 0;
    const char *msg = ct_error_message();
    if (!ct_error_told()) cli_say(*msg ? msg : ct_status_name(st));
    return ct_exit_code(st);
}

int cli_signal_code(int signal)
{
    return signal == SIGINT ? 130 : signal == SIGTERM ? 143 : signal == SIGHUP ? 129 : 75;
}

int cli_close_stdout(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("captrain: standard output could not be written\n", stderr);
        return code ? code : 1;
    }
    return code;
}
