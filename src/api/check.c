/* captrain check: what is in a folder of labelled pictures, and whether a training would take it. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/sized.h"
#include "api/look.h"
#include "captrain.h"
#include "config/config.h"
#include "check/check.h"
#include "data/scan.h"
#include "exec/exec.h"
#include "program/spec.h"
#include "task/datasets.h"

/* The analysis judges files one by one; what only the whole set shows (labels of several lengths, a model that does not
 * fit the geometry) is found by doing what a training does first. A failure becomes the verdict. */
static ct_status try_training(const ct_config *cfg, ct_check_report *r)
{
    ct_datasets d;
    ct_program_spec spec;
    const ct_backend *backend;
    char why[512];
    int64_t shared;
    ct_status st = ct_datasets_open(cfg, &d);
    if (st == CT_OK) {
        const ct_dataset *t = d.train.data;
        int64_t batches, steps;
        st = ct_spec_epoch_of(cfg, &d.train, &batches, &steps);
        if (st == CT_OK)
            st = ct_spec_from_config(cfg, d.facts, ct_dataset_height(t), ct_dataset_width(t),
                                     ct_spec_longest(cfg, &d.train), steps, &spec);
        if (st == CT_OK) st = ct_backend_choose(cfg->train.backend, &backend, why, sizeof why);
        /* duplicates across two folders stand in the report already */
        if (st == CT_OK && d.val.data == d.train.data) st = ct_datasets_shared(&d.train, &d.val, &shared);
        ct_datasets_close(&d);
    }
    if (st == CT_OK || st == CT_ENOMEM) return st;
    char *verdict = ct_strdup(ct_error_message(), "verdict");
    if (!verdict) return CT_ENOMEM;
    ct_free(r->verdict);
    r->verdict = verdict;
    r->ok = false;
    return CT_OK;
}

/* The task whose samples are clips, which alone have label files that must be named. */
static const ct_task *task_of_clips(void)
{
    const ct_model_info *m;
    for (size_t i = 0; (m = ct_model_at(i)); i++)
        if (m->clip.multiple > 0) return ct_task_find(m->task);
    return NULL;
}

bool ct_look_pictures(const char *path)
{
    char *inner = ct_path_join(path, "images"), **picture;
    size_t n = 0;
    bool yes = inner && ct_path_is_dir(inner);
    ct_free(inner);
    if (!yes && ct_scan_pictures(path, &picture, &n) == CT_OK) {
        for (size_t i = 0; i < n; i++) ct_free(picture[i]);
        ct_free(picture);
        yes = true;
    }
    return yes;
}

/* --labels: of what is looked at. */
static ct_status name_labels(const ct_check_opts *o, bool clips, ct_config *cfg)
{
    CT_TRY(ct_config_set(cfg, "data.train", o->data, "check"));
    return ct_config_set(cfg, clips ? "data.train_labels" : "data.labels", o->labels, "--labels");
}

ct_status ct_look_task(const ct_check_opts *o, const ct_task **task)
{
    ct_config *usual;
    CT_TRY(ct_task_claiming(o->data, NULL, task));
    if (!*task && o->labels && !ct_look_pictures(o->data)) *task = task_of_clips();
    if (*task) return CT_OK;
    CT_TRY(ct_config_defaults(&usual));
    *task = ct_task_of(usual->model.name);
    ct_config_free(usual);
    return *task ? CT_OK : CT_ECONFIG;
}

ct_status ct_look_judge(const ct_check_opts *o, const char *val, ct_config *cfg, ct_check_report *r)
{
    ct_check_spec spec = { .with_config = cfg != NULL, .val_path = val,
                           .workers = o->threads > 0 ? o->threads : ct_cpus() };
    ct_config *usual = NULL;
    ct_labels *labels;
    const ct_task *task = NULL;
    if (cfg && !(task = ct_task_of(cfg->model.name))) return CT_ECONFIG;
    if (!cfg) CT_TRY(ct_look_task(o, &task));
    ct_status st = cfg ? CT_OK : ct_config_defaults(&usual);
    if (st == CT_OK && o->labels) st = name_labels(o, task == task_of_clips(), cfg ? cfg : usual);
    if (st == CT_OK) st = task->labels(cfg ? cfg : usual, NULL, &labels);
    if (cfg && st == CT_OK) {
        ct_datasets_spec(cfg, task, o->data, &spec.data);
        if (*cfg->data.val && strncmp(cfg->data.val, "synth:", 6) != 0) spec.val_path = cfg->data.val;
    } else {
        ct_dataset_spec_init(&spec.data);
        spec.data.path = o->data;
    }
    if (st == CT_OK) st = ct_check_run(&spec, labels, r);
    ct_config_free(usual); /* readers may look at it while they read */
    return st == CT_OK && cfg && r->ok ? try_training(cfg, r) : st;
}

ct_status ct_run_check(const ct_check_opts *given, FILE *to)
{
    ct_check_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_check_opts"));
    const ct_check_opts *o = &own;
    ct_status st = CT_OK;
    ct_config *cfg = NULL;
    ct_check_report r;
    memset(&r, 0, sizeof r);
    if (!o->config && o->nsets) return ct_fail(CT_ECONFIG, "check: --set needs --config");
    if (!o->config && o->backend)
        return ct_fail(CT_ECONFIG, "check: --backend needs --config: without a training nothing is computed on one");
    if (o->config) {
        CT_GOTO(st, ct_config_load(o->config, o->sets, o->nsets, &cfg));
        CT_GOTO(st, ct_config_set(cfg, "data.train", o->data, "check"));
        if (o->backend) CT_GOTO(st, ct_config_set(cfg, "train.backend", o->backend, "--backend"));
        ct_config_log_notes(cfg);
    }
    CT_GOTO(st, ct_look_judge(o, NULL, cfg, &r));
    if (o->json) CT_GOTO(st, ct_check_write_json(&r, to));
    else ct_check_print(&r, to);
    if (!r.ok) st = ct_fail(CT_EDATA, "%s: %s", o->data, r.verdict ? r.verdict : "cannot be used");
fail:
    ct_check_free(&r);
    ct_config_free(cfg);
    return st;
}
