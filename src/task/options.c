/* Options that a task decides. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "captrain.h"
#include "task/task.h"

static bool serves(const ct_task_option *o, const char *verb)
{
    const size_t n = strlen(verb);
    for (const char *p = o->verbs; (p = strstr(p, verb)); p += n)
        if ((p == o->verbs || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' ')) return true;
    return false;
}

static bool known(const ct_task *task, const char *verb, const char *key)
{
    for (int i = 0; i < task->options; i++)
        if (serves(&task->option[i], verb) && strcmp(task->option[i].key, key) == 0) return true;
    return false;
}

ct_status ct_options_check(const ct_task *task, const char *verb, const ct_option *option, size_t n)
{
    char list[256] = "none";
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (known(task, verb, option[i].key)) continue;
        for (int k = 0; k < task->options && at < sizeof list; k++)
            if (serves(&task->option[k], verb))
                at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", task->option[k].key);
        return ct_fail(CT_ECONFIG, "%s: a model of the task %s has no option '%s' (its own: %s)", verb, task->name,
                       option[i].key, list);
    }
    return CT_OK;
}

/* Has a task before number `task` the same option? */
static bool told(size_t task, const ct_task_option *o)
{
    for (size_t k = 0; k < task; k++) {
        const ct_task *t = ct_task_at(k);
        for (int j = 0; j < t->options; j++)
            if (strcmp(t->option[j].name, o->name) == 0 && strcmp(t->option[j].doc, o->doc) == 0) return true;
    }
    return false;
}

bool ct_option_at(const char *verb, size_t i, ct_option_info *out)
{
    const ct_task *t;
    for (size_t k = 0; (t = ct_task_at(k)); k++)
        for (int j = 0; j < t->options; j++) {
            const ct_task_option *o = &t->option[j];
            if ((verb && !serves(o, verb)) || told(k, o) || i-- > 0) continue;
            *out = (ct_option_info){ .task = t->name, .name = o->name, .arg = o->arg, .key = o->key, .doc = o->doc };
            return true;
        }
    return false;
}
