/* Resuming: the newest usable checkpoint, and which changes of the configuration it may be continued with. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "program/spec.h"
#include "run/run.h"

#define MAX_LOG ((size_t)256 << 20) /* bytes of run.log that are read back */

/* Keys that may change between the parts of a run: they say how long, where and how visibly it trains, not what a step
 * computes. The data's paths are judged by content instead; train.epochs and train.steps by the learning rate they
 * give. */
static const char *const harmless[] = {
    "name",
    "data.train",
    "data.val",
    "data.test",
    "data.labels",
    "data.root",
    "data.cache",
    "data.resident",
    "data.max_bad",
    "data.val_fraction",
    "train.epochs",
    "train.steps",
    "train.batch_per_process", /* train.batch_size follows from it */
    "train.workers",
    "train.threads",
    "train.graph",
    "train.strict",
    "train.backend",
    "train.recompute",
    "train.nan_policy",
    "train.nan_limit",
    "train.loss_scale",
    "train.target",
    "eval.every_epochs",
    "eval.every_steps",
    "early_stopping.*",
    "checkpoint.*",
    "group.*",
    "log.*",
    "report.*",
};

static bool is_harmless(const ct_task *task, const char *key)
{
    for (const char *const *k = task->in_facts; k && *k; k++)
        if (strcmp(key, *k) == 0) return true;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        size_t n = strlen(harmless[i]);
        bool group = harmless[i][n - 1] == '*';
        if (group ? strncmp(key, harmless[i], n - 1) == 0 : strcmp(key, harmless[i]) == 0) return true;
    }
    return false;
}

static ct_status add_conflict(char **list, const char *key, const char *old, const char *now)
{
    char *longer = ct_asprintf("%s%s%s (%s -> %s)", *list ? *list : "", *list ? ", " : "", key, old, now);
    if (!longer) return CT_ENOMEM;
    ct_free(*list);
    *list = longer;
    return CT_OK;
}

ct_status ct_resume_conflicts(const ct_config *old, const ct_config *now, bool same_schedule, char **list)
{
    ct_status st = CT_OK;
    const ct_task *task = ct_task_of(now->model.name);
    const ct_config_row *row;
    *list = NULL;
    if (!task) return CT_ECONFIG;
    for (size_t i = 0; st == CT_OK && (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY) continue;
        bool length = strcmp(row->name, "train.epochs") == 0 || strcmp(row->name, "train.steps") == 0;
        if (is_harmless(task, row->name) && !(length && !same_schedule)) continue;
        char *a = ct_config_value(old, row->name), *b = ct_config_value(now, row->name);
        if (!a || !b)
            st = CT_ENOMEM;
        else if (strcmp(a, b) != 0)
            st = add_conflict(list, row->name, a, b);
        ct_free(a);
        ct_free(b);
    }
    if (st != CT_OK) {
        ct_free(*list);
        *list = NULL;
    }
    return st;
}

/* Whether a different train.epochs or train.steps leaves every learning rate as it was. */
static ct_status schedule_kept(const ct_run *r, const ct_config *old, bool *same)
{
    ct_program_spec a;
    const ct_schedule_attrs *x, *y = &r->session.spec.schedule;
    CT_TRY(ct_spec_from_config(old, r->data.facts, (int)r->session.spec.src_h, (int)r->session.spec.src_w,
                               r->session.spec.model.frames, r->steps_per_epoch, &a));
    x = &a.schedule;
    const bool ends = x->kind == CT_SCHED_COSINE || x->kind == CT_SCHED_ONE_CYCLE || x->kind == CT_SCHED_TRIANGULAR;
    *same = x->kind == y->kind && (!ends || x->total_steps == y->total_steps);
    return CT_OK;
}

static ct_status compare(const ct_run *r, const ct_safetensors *st, const char *path)
{
    ct_config *old = NULL;
    char *list = NULL;
    bool same;
    ct_status s;
    const ct_task *task = r->data.task;
    ct_facts *facts = NULL;
    char why[512] = "";
    const char *json = ct_safetensors_meta(st, "config");
    const char *train = ct_safetensors_meta(st, "dataset"), *val = ct_safetensors_meta(st, "validation"),
               *kernels = ct_safetensors_meta(st, "kernels");
    if (!json || !train || !val || !kernels)
        return ct_fail(CT_EFORMAT, "%s: its metadata is incomplete", path);
    CT_GOTO(s, ct_config_parse(json, strlen(json), path, NULL, 0, &old));
    CT_GOTO(s, ct_facts_get(st, path, task, &facts));
    CT_GOTO(s, schedule_kept(r, old, &same));
    CT_GOTO(s, ct_resume_conflicts(old, r->cfg, same, &list));
    if (list) {
        s = ct_fail(
            CT_ECONFIG,
            "--resume: the configuration would train differently from the run in %s: %s; a new run can start from its "
            "weights: --init %s --out ANOTHER",
            r->out, list, r->out);
    } else if (!task->same(r->data.facts, facts, why, sizeof why)) {
        s = ct_fail(CT_ECONFIG, "--resume: %s in the run in %s", why, r->out);
    } else if (strcmp(train, r->meta.train_key) != 0) {
        s = ct_fail(CT_ECONFIG,
                    "--resume: the training samples (data.train, data.val_fraction) are not those of the run in %s",
                    r->out);
    } else if (strcmp(val, r->meta.val_key) != 0) {
        s = ct_fail(CT_ECONFIG,
                    "--resume: the validation samples (data.val, data.val_fraction) are not those of the run in %s",
                    r->out);
    } else if (strcmp(kernels, r->meta.kernels) != 0) {
        ct_warn(
            "other implementations are chosen than in the earlier part of the run: the weights will not be "
                "bit-identical");
    }
fail:
    task->forget(facts);
    ct_free(list);
    ct_config_free(old);
    return s;
}

static ct_status note_checkpoint(void *user, const char *event, const json_t *line)
{
    if (strcmp(event, "checkpoint") == 0) *(int64_t *)user = json_integer_value(json_object_get(line, "step"));
    return CT_OK;
}

/* There is no checkpoint. Where metrics.jsonl or run.log tell that one was saved, it has been lost, and starting anew
 * over what is left would hide that. */
static ct_status none_lost(const ct_run *r)
{
    static const char saved[] = "and saved; captrain train";
    int64_t step = -1;
    uint8_t *log = NULL;
    size_t size = 0;
    CT_TRY(ct_journal_read(r->out, note_checkpoint, &step));
    if (step >= 0)
        return ct_fail(CT_EFORMAT,
                       "--resume: %s/metrics.jsonl says that a checkpoint was saved at step %" PRId64
                       ", but there is none in %s; to start anew give another --out", r->out, step, r->checkpoints);
    char *path = ct_path_join(r->out, "run.log");
    if (!path) return CT_ENOMEM;
    ct_status st = ct_file_read_plain(path, MAX_LOG, &log, &size);
    ct_free(path);
    if (st == CT_ENOMEM) return st;
    const bool told = st == CT_OK && memmem(log, size, saved, sizeof saved - 1);
    ct_free(log);
    if (!told) return CT_OK;
    return ct_fail(CT_EFORMAT,
                   "--resume: %s/run.log says that a checkpoint was saved, but there is none in %s; to start anew give "
                   "another --out", r->out, r->checkpoints);
}

ct_status ct_run_look_back(ct_run *r)
{
    CT_TRY(ct_checkpoint_newest(r->checkpoints, &r->from, &r->from_path));
    if (!r->from) return none_lost(r);
    const char *choices = r->from ? ct_safetensors_meta(r->from, "choices") : NULL;
    if (!choices) return CT_OK;
    ct_status st = ct_choices_parse(choices, r->from_path, &r->choices);
    if (st == CT_OK)
        ct_info("implementations as the run began with: %zu measured choices of its checkpoint",
                ct_choices_count(r->choices));
    return st;
}

ct_status ct_run_resume(ct_run *r)
{
    CT_TRY(compare(r, r->from, r->from_path));
    CT_TRY(ct_checkpoint_restore(&r->session, r->from, r->from_path, &r->p));
    if (r->p.batch > r->batches || (r->p.batch % r->accumulate != 0 && r->p.batch != r->batches))
        return ct_fail(CT_EFORMAT, "%s: position %" PRId64 " in an epoch of %" PRId64 " batches", r->from_path,
                       r->p.batch, r->batches);
    if (r->p.epoch >= r->cfg->train.epochs)
        ct_info("resuming from %s: step %" PRId64 ", all %" PRId64
                " epochs are done; the best weights are scored once more",
                r->from_path, r->p.step, r->p.epoch);
    else
        ct_info("resuming from %s: step %" PRId64 ", epoch %" PRId64 ", batch %" PRId64 " of %" PRId64, r->from_path,
                r->p.step, r->p.epoch + 1, r->p.batch, r->batches);
    ct_safetensors_close(r->from);
    r->from = NULL;
    return CT_OK;
}
