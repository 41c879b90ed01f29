/* What a process tells when it dies of a fault: signal, version, build, what it was doing, the call stack. To stderr
 * and, once there is one, to a log; by means that are allowed in a signal handler; then it ends by that signal, as it
 * would have. */
#ifndef CT_BASE_CRASH_H
#define CT_BASE_CRASH_H

#include <stdint.h>

/* Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, unless a sanitizer does so itself. */
void ct_crash_begin(void);
void ct_crash_log(int fd);       /* second destination; -1: none */
void ct_crash_step(int64_t step); /* of a training; -1: none */
/* Strings that outlive what is done: they are not copied. NULL: none. */
void ct_crash_backend(const char *name);
void ct_crash_doing(const char *node, const char *impl); /* the operator call that runs */

#endif
