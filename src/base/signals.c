/* Signal handlers of a training run. */
#include "config.h"

#include "base/signals.h"

#include <string.h>
#include <time.h>

volatile sig_atomic_t ct_stop_signal;

enum { COUNT = 6, STOPPING = 4 };
/* the first STOPPING ask to end */
static const int caught[COUNT] = { SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGXFSZ, SIGPIPE };
static struct sigaction former[COUNT];

/* Seconds of CLOCK_MONOTONIC when the first signal came. */
static volatile sig_atomic_t stop_second;

/* The first signal asks to save and end. One that comes later means that this takes too long, or hangs: it ends the
 * process by itself. Those within the same moment are one: timeout(1) and closing terminals send twice. */
static void handle(int sig)
{
    struct timespec t = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (ct_stop_signal == 0) {
        ct_stop_signal = sig;
        stop_second = (sig_atomic_t)t.tv_sec;
    } else if (t.tv_sec - stop_second >= 2) { /* at least one second */
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

const char *ct_signal_name(int sig)
{
    return sig == SIGINT ? "SIGINT" : sig == SIGTERM ? "SIGTERM" : sig == SIGHUP ? "SIGHUP" : "SIGUSR1";
}

static void install(int i)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    sigemptyset(&a.sa_mask);
    a.sa_handler = i < STOPPING ? handle : SIG_IGN;
    a.sa_flags = SA_RESTART;
    if (caught[i] == SIGINT) a.sa_flags |= SA_RESETHAND;
    /* nohup has SIGHUP ignored: then the run outlives its terminal */
    if (caught[i] != SIGHUP || former[i].sa_handler != SIG_IGN) sigaction(caught[i], &a, NULL);
}

void ct_signals_begin(void)
{
    ct_stop_signal = 0;
    for (int i = 0; i < COUNT; i++) {
        sigaction(caught[i], NULL, &former[i]);
        install(i);
    }
}

void ct_signals_again(void)
{
    for (int i = 0; i < COUNT; i++) install(i);
}

void ct_signals_end(void)
{
    for (int i = 0; i < COUNT; i++) sigaction(caught[i], &former[i], NULL);
}
