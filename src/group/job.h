/* Another program, started and waited for. */
#ifndef CT_GROUP_JOB_H
#define CT_GROUP_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Runs argv (its first word is the path of the program) and gives its exit code, or 128 + the signal that ended it. The
 * program has nothing to read, and stands in a process group of its own: what the terminal sends comes once, through
 * this process. The first signal that asks to end (ct_stop_signal, so ct_signals_begin() must have been called) is sent
 * on; `saves`: as SIGUSR1, whatever came, and a program whose processes here have all ended for some seconds, but which
 * has not, is ended: 75. The program ends with this process where the system has a way to say so; what it leaves behind
 * is ended in two seconds. What is said begins with `verb`.
 * CT_EIO where it cannot be started. */
ct_status ct_job_run(const char *verb, char *const argv[], bool saves, int *code);

/* Runs argv and keeps the beginning of what it writes. */
ct_status ct_job_ask(char *const argv[], char *said, size_t size);

#endif
