/* What a process tells when it dies of a fault: signal, version, build, what it was doing, the call stack. To stderr
 * and, once there is one, to a log; by means that are allowed in a signal handler; then it ends by that signal, as it
 * would have. */
#ifndef CT_BASE_CRASH_H
#define CT_BASE_CRASH_H

#include <stdbool.h>
#include <stdint.h>

/* What a process is at, for those that wait for it. */
typedef enum ct_activity {
    CT_AT_START, /* up to the first step */
    CT_AT_STEP,
    CT_AT_BATCH,
    CT_AT_CACHE,
    CT_AT_TUNE,
    CT_AT_SCORE,
    CT_AT_SAVE,
    CT_AT_REPORT,
    CT_AT_COUNT
} ct_activity;

/* Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, unless a sanitizer does so itself. */
void ct_crash_begin(void);
void ct_crash_log(int fd);       /* second destination; -1: none */
void ct_crash_step(int64_t step); /* of a training; -1: none */
/* Strings that outlive what is done: they are not copied. NULL: none. */
void ct_crash_backend(const char *name);
void ct_crash_doing(const char *node, const char *impl); /* the operator call that runs */
ct_activity ct_crash_at(ct_activity now); /* gives what it was at before */

/* "loading a batch", "saving" ...; CT_AT_STEP: "between two operators". */
const char *ct_activity_name(ct_activity a);
/* True for what may take as long as it likes while others wait: not for steps and their batches. */
bool ct_activity_alone(ct_activity a);

typedef struct ct_whereabouts {
    ct_activity at;
    int64_t step;  /* complete ones; -1: none */
    char doing[64]; /* the operator call, else the activity's name */
} ct_whereabouts;
/* As any thread may ask, while no graph is freed. */
void ct_crash_where(ct_whereabouts *out);

#endif
