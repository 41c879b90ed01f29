/* Signal handlers of a training run. */
#include "config.h"

#include "train/signals.h"

#include <string.h>

volatile sig_atomic_t ct_stop_signal;

enum { COUNT = 5 };
static const int caught[COUNT] = { SIGINT, SIGTERM, SIGUSR1, SIGXFSZ, SIGPIPE };
static struct sigaction former[COUNT];

static void handle(int sig) { ct_stop_signal = sig; }

void ct_signals_begin(void)
{
    ct_stop_signal = 0;
    for (int i = 0; i < COUNT; i++) {
        struct sigaction a;
        memset(&a, 0, sizeof a);
        sigemptyset(&a.sa_mask);
        a.sa_handler = i < 3 ? handle : SIG_IGN;
        a.sa_flags = SA_RESTART;
        if (caught[i] == SIGINT) a.sa_flags |= SA_RESETHAND;
        sigaction(caught[i], &a, &former[i]);
    }
}

void ct_signals_end(void)
{
    for (int i = 0; i < COUNT; i++) sigaction(caught[i], &former[i], NULL);
}
