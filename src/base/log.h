/* Messages for people. Libraries never print anything else to the terminal.
 * Lines go to stderr and, if set, to the run's log file (with a UTC time stamp). */
#ifndef CT_BASE_LOG_H
#define CT_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

typedef enum ct_log_level { CT_LOG_ERROR, CT_LOG_WARN, CT_LOG_INFO, CT_LOG_DEBUG } ct_log_level;

/* Topics of CAPTRAIN_VERBOSE=topic[,topic...]: "dispatch" prints who refused an operator call and why,
 * "plan" the memory plan, "loader" the cache and ring, "samples" which samples a process trains with in each step,
 * "all" everything. Default: none. */
typedef enum ct_log_topic {
    CT_TOPIC_DISPATCH, CT_TOPIC_PLAN, CT_TOPIC_LOADER, CT_TOPIC_SAMPLES, CT_TOPIC_COUNT
} ct_log_topic;

void ct_log_set_level(ct_log_level level);     /* lines above this level are dropped; default CT_LOG_INFO */
ct_log_level ct_log_get_level(void);
bool ct_log_topic_on(ct_log_topic topic);
void ct_log_set_file(FILE *f);                 /* second destination, not owned; NULL removes it */

/* Nothing goes to the terminal any more; warnings and errors also go to `shared` (not owned), with `name` in front.
 * NULL: the terminal again. `name` must stay. */
void ct_log_set_quiet(FILE *shared, const char *name);

/* Called before and after a line goes to the terminal, so that a progress bar can step aside. */
void ct_log_set_hooks(void (*before)(void *), void (*after)(void *), void *user);

/* Where lines of this thread go instead: to nothing else, whatever is set above. A NULL function: nowhere. The level
 * is the sink's own. Gives the sink there was before; NULL: the usual places. The sink must stay. */
typedef struct ct_log_sink {
    void (*line)(void *user, int level, const char *text);
    void *user;
    ct_log_level level;
} ct_log_sink;
const ct_log_sink *ct_log_redirect(const ct_log_sink *sink);

void ct_log(ct_log_level level, const char *fmt, ...) CT_PRINTF(2, 3);
void ct_log_topic_line(ct_log_topic topic, const char *fmt, ...) CT_PRINTF(2, 3);

#define ct_info(...) ct_log(CT_LOG_INFO, __VA_ARGS__)
#define ct_warn(...) ct_log(CT_LOG_WARN, __VA_ARGS__)
#define ct_error(...) ct_log(CT_LOG_ERROR, __VA_ARGS__)
#define ct_debug(...) ct_log(CT_LOG_DEBUG, __VA_ARGS__)

#endif
