/* Options of verbs that a task decides: {key, value}. */
#ifndef CT_API_OPTIONS_H
#define CT_API_OPTIONS_H

#include "task/task.h"

/* CT_ECONFIG naming the first option that `task` does not have for this verb, and the ones it has. A key is the
 * option's name without its dashes, "beam_width" for --beam-width. */
ct_status ct_options_check(const ct_task *task, const char *verb, const ct_option *option, size_t n);

#endif
