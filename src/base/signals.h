/* Signals that ask a run to save and end: SIGINT, SIGTERM, SIGUSR1, SIGHUP. */
#ifndef CT_BASE_SIGNALS_H
#define CT_BASE_SIGNALS_H

#include <signal.h>

/* The signal that asked, 0 as long as none did. */
extern volatile sig_atomic_t ct_stop_signal;

/* "SIGINT" */
const char *ct_signal_name(int sig);
/* Catches the four signals (a second SIGINT ends the process at once, a second one of the others if it comes
 * more than a second after the first; SIGHUP stays ignored where it was, under nohup) and ignores SIGXFSZ and SIGPIPE,
 * so that a full disk is an error of write() with a message. Clears ct_stop_signal. */
void ct_signals_begin(void);
/* Puts the former handlers back. */
/* Once more, behind a library that has taken signals for itself (MPICH has SIGUSR1). What came before still counts. */
void ct_signals_again(void);
void ct_signals_end(void);

#endif
