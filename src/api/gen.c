/* captrain gen: labelled samples from the generators. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "task/task.h"
#include "base/sized.h"
#include "captrain.h"

/* The task whose generator is "synth:<kind>"; NULL with a message that lists them. */
static const ct_task *find_kind(const char *kind)
{
    static const char synth[] = "synth:";
    char known[256] = "";
    size_t n = 0;
    const ct_task *t;
    for (size_t i = 0; (t = ct_task_at(i)); i++)
        for (int k = 0; t->generate && k < t->generators; k++) {
            const char *name = t->generator[k].name + strlen(synth);
            if (strcmp(name, kind) == 0) return t;
            if (n < sizeof known) n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", name);
        }
    ct_fail(CT_ECONFIG, "gen: unknown kind '%s'; the kinds are: %s", kind, known);
    return NULL;
}

ct_status ct_run_gen(const ct_gen_opts *given, FILE *to)
{
    ct_gen_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_gen_opts"));
    const ct_gen_opts *o = &own;
    const ct_task *task = find_kind(o->kind ? o->kind : "");
    if (!task) return CT_ECONFIG;
    CT_TRY(ct_options_check(task, "gen", o->option, o->noptions));
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = o->threads > 0 ? o->threads : cores > 0 ? (int)cores : 1;
    return task->generate(o->option, o->noptions, o->out, o->count, o->seed, threads, o->force, to);
}
