/* Signal handlers of a training run. */
#include "config.h"

#include "base/signals.h"

#include <string.h>

volatile sig_atomic_t ct_stop_signal;

enum { COUNT = 6, STOPPING = 4 };
/* the first STOPPING ask to end */
static const int caught[COUNT] = { SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGXFSZ, SIGPIPE };
static struct sigaction former[COUNT];

static void handle(int sig) { ct_stop_signal = sig; }

const char *ct_signal_name(int sig)
{
    return sig == SIGINT ? "SIGINT" : sig == SIGTERM ? "SIGTERM" : sig == SIGHUP ? "SIGHUP" : "SIGUSR1";
}

void ct_signals_begin(void)
{
    ct_stop_signal = 0;
    for (int i = 0; i < COUNT; i++) {
        struct sigaction a;
        memset(&a, 0, sizeof a);
        sigemptyset(&a.sa_mask);
        a.sa_handler = i < STOPPING ? handle : SIG_IGN;
        a.sa_flags = SA_RESTART;
        if (caught[i] == SIGINT) a.sa_flags |= SA_RESETHAND;
        sigaction(caught[i], NULL, &former[i]);
        /* nohup has SIGHUP ignored: then the run outlives its terminal */
        if (caught[i] != SIGHUP || former[i].sa_handler != SIG_IGN) sigaction(caught[i], &a, NULL);
    }
}

void ct_signals_end(void)
{
    for (int i = 0; i < COUNT; i++) sigaction(caught[i], &former[i], NULL);
}
