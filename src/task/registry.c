/* The list of tasks. */
#include "config.h"

#include <string.h>

#include "task/task.h"
#include "task/text/text.h"

static const ct_task *const tasks[] = { &ct_task_text };

const char *ct_pairs_find(const ct_pair *pair, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(pair[i].key, key) == 0) return pair[i].value;
    return NULL;
}

const ct_task *const *ct_task_table(size_t *count)
{
    *count = sizeof tasks / sizeof *tasks;
    return tasks;
}

const ct_task *ct_task_find(const char *name)
{
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(tasks[i]->name, name) == 0) return tasks[i];
    ct_fail(CT_ECONFIG, "unknown task '%s'", name);
    return NULL;
}

const ct_task *ct_task_of(const char *model)
{
    const ct_model_info *m = ct_model_find(model);
    return m ? ct_task_find(m->task) : NULL;
}
