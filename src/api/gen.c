/* captrain gen: labelled samples from the generators. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/sized.h"
#include "captrain.h"
#include "config/config.h"
#include "task/task.h"
#include "weights/checkpoint.h"

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

/* Options, those of --like before those that are given. */
typedef struct options {
    ct_option *o; /* [n] */
    size_t n, cap, own; /* the first `own` have owned values, and the rest are the caller's */
} options;

static void options_free(options *all)
{
    for (size_t i = 0; i < all->own; i++) ct_free((char *)all->o[i].value);
    ct_free(all->o);
}

static ct_status put(void *user, const char *key, const char *value)
{
    options *all = user;
    char *own = ct_strdup(value, "option");
    if (!own) return CT_ENOMEM;
    ct_status st = ct_grow(&all->o, all->n, &all->cap, sizeof *all->o, "options");
    if (st != CT_OK) {
        ct_free(own);
        return st;
    }
    all->o[all->n++] = (ct_option){ key, own };
    all->own = all->n;
    return CT_OK;
}

static ct_status put_like(const ct_task *task, const ct_config *cfg, const ct_facts *facts, const char *from,
                          options *all)
{
    const ct_task *whose = ct_task_of(cfg->model.name);
    if (!whose) return CT_ECONFIG;
    if (whose != task)
        return ct_fail(CT_ECONFIG, "gen: --like: %s is about %s models, not about %s models", from, whose->name,
                       task->name);
    return task->like(cfg, facts, put, all);
}

static ct_status like_model(const ct_task *task, const char *path, options *all)
{
    ct_model_file file;
    char *model;
    CT_TRY(ct_model_path(path, &model));
    ct_status st = ct_model_file_open(model, &file);
    if (st == CT_OK) {
        st = put_like(task, file.cfg, file.facts, model, all);
        ct_model_file_close(&file);
    }
    ct_free(model);
    return st;
}

static ct_status like_config(const ct_task *task, const char *path, options *all)
{
    ct_config *cfg;
    ct_facts *facts = NULL;
    CT_TRY(ct_config_load(path, NULL, 0, &cfg));
    const ct_task *whose = ct_task_of(cfg->model.name);
    ct_status st = whose ? CT_OK : CT_ECONFIG;
    if (st == CT_OK && whose == task && task->foresee) st = task->foresee(cfg, true, &facts);
    if (st == CT_OK) st = put_like(task, cfg, facts, path, all);
    if (facts) task->forget(facts);
    ct_config_free(cfg);
    return st;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static ct_status gather(const ct_task *task, const ct_gen_opts *o, options *all)
{
    if (o->like) {
        if (!task->like)
            return ct_fail(CT_ECONFIG, "gen: --like: what is drawn of %s does not depend on a model", o->kind);
        const bool model = ct_path_is_dir(o->like) || ends_with(o->like, ".safetensors");
        CT_TRY(model ? like_model(task, o->like, all) : like_config(task, o->like, all));
    }
    for (size_t i = 0; i < o->noptions; i++) {
        CT_TRY(ct_grow(&all->o, all->n, &all->cap, sizeof *all->o, "options"));
        all->o[all->n++] = o->option[i];
    }
    return CT_OK;
}

ct_status ct_run_gen(const ct_gen_opts *given, FILE *to)
{
    ct_gen_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_gen_opts"));
    const ct_gen_opts *o = &own;
    const ct_task *task = find_kind(o->kind ? o->kind : "");
    if (!task) return CT_ECONFIG;
    CT_TRY(ct_options_check(task, "gen", o->option, o->noptions));
    const int threads = o->threads > 0 ? o->threads : ct_cpus();
    options all = { NULL, 0, 0, 0 };
    ct_status st = gather(task, o, &all);
    if (st == CT_OK) st = task->generate(all.o, all.n, o->out, o->count, o->seed, threads, o->force, to);
    options_free(&all);
    return st;
}
