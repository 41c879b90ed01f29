/* Looking at a folder of samples: what `captrain check` does, and `captrain init` before and after it writes. */
#ifndef CT_API_LOOK_H
#define CT_API_LOOK_H

#include "captrain.h"
#include "check/check.h"
#include "config/config.h"
#include "task/task.h"

/* Pictures lie in the folder itself, or in images/ there; clips are folders of them. */
bool ct_look_pictures(const char *path);
/* The task whose samples o->data holds, as far as anybody can tell; else that of the built-in configuration. */
ct_status ct_look_task(const ct_check_opts *o, const ct_task **task);
/* Judges o->data, with validation samples `val` (NULL: what cfg says). cfg NULL: labels are read as the built-in
 * configuration says, of the task that ct_look_task() finds; else by doing what a training does first, too. */
ct_status ct_look_judge(const ct_check_opts *o, const char *val, ct_config *cfg, ct_check_report *r);

#endif
