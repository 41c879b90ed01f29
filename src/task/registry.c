/* The tasks there are: the one place outside src/task/<name>/ that knows one by name. */
#include "config.h"

#include <string.h>

#include "task/gloss/gloss.h"
#include "task/slider/slider.h"
#include "task/task.h"
#include "task/text/text.h"

static const ct_task *const built_in[] = { &ct_task_text, &ct_task_slider, &ct_task_gloss };

enum { ADDED_MAX = 8 };
static const ct_task *added[ADDED_MAX];
static size_t nadded;

const ct_task *ct_task_at(size_t i)
{
    const size_t n = sizeof built_in / sizeof built_in[0];
    return i < n ? built_in[i] : i - n < nadded ? added[i - n] : NULL;
}

static const ct_task *find(const char *name)
{
    const ct_task *t;
    for (size_t i = 0; (t = ct_task_at(i)); i++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

const ct_task *ct_task_find(const char *name)
{
    const ct_task *t = find(name);
    if (!t) ct_fail(CT_ECONFIG, "there is no task '%s'", name);
    return t;
}

ct_status ct_task_claiming(const char *path, const ct_task *first, const ct_task **out)
{
    const ct_task *t = first;
    bool yes = false;
    if (t && t->claims) CT_TRY(t->claims(path, &yes));
    *out = yes ? t : NULL;
    for (size_t i = 0; !*out && (t = ct_task_at(i)); i++) {
        if (t != first && t->claims) CT_TRY(t->claims(path, &yes));
        if (yes) *out = t;
    }
    return CT_OK;
}

const ct_task *ct_task_of(const char *model)
{
    const ct_model_info *m = ct_model_find(model);
    return m ? ct_task_find(m->task) : NULL;
}

ct_status ct_task_add(const ct_task *task)
{
    if (find(task->name)) return ct_fail(CT_EINVAL, "there is a task '%s' already", task->name);
    if (nadded == ADDED_MAX)
        return ct_fail(CT_EINVAL, "task '%s': no more than %d can be added", task->name, ADDED_MAX);
    const ct_model_info *m;
    for (size_t i = 0; (m = ct_model_at(i)); i++)
        if (strcmp(m->task, task->name) == 0) CT_TRY(ct_config_add_value("model.name", m->name));
    for (int k = 0; k < task->generators; k++)
        CT_TRY(ct_config_add_value("data.train", task->generator[k].name));
    added[nadded++] = task;
    return CT_OK;
}
