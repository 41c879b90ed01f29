/* captrain predict: an evaluation of pictures without labels, with a model file and nothing else. Pictures come and go
 * in chunks: nothing is kept but what --json collects. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/inputs.h"
#include "base/alloc.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/text.h"
#include "captrain.h"
#include "data/dataset.h"
#include "serve/pool.h"
#include "serve/stack.h"
#include "session/evaluate.h"
#include "task/datasets.h"
#include "task/task.h"
#include "weights/use.h"

#define BATCH 64    /* pictures per run of the model, at most; clips one by one */
#define CHUNK 1024  /* pictures that are in memory at a time, at most */
#define CLIP_CHUNK 8 /* clips */

typedef struct reader {
    const ct_predict_opts *o;
    char *path; /* of the model file */
    ct_model_file file;
    ct_pool pool;         /* of one session */
    ct_dataset_spec spec; /* geometry, as training had it */
    const ct_clip_rule *clip; /* samples are folders of frames; NULL: pictures */
    int64_t batch;        /* samples */
    size_t chunk;
    ct_inputs in;
    char *name[CHUNK];    /* of the chunk at hand */
    int workers;
    json_t *all;          /* rows, with --json */
    FILE *to;
    size_t done, failed, rejected;
} reader;

/* ---- what is told of a sample ---- */

/* An answer that is not sure enough is none. */
static ct_status reject(const ct_task *task, json_t *row)
{
    for (const char *const *key = task->answer; key && *key; key++)
        CT_TRY(ct_json_set(row, *key, json_null()));
    return ct_json_set(row, "rejected", json_true());
}

static ct_status fill_row(reader *rd, const ct_findings *f, int64_t i, const char *error, bool rejected, json_t *row)
{
    if (error) return ct_json_set(row, "error", ct_json_any(error));
    CT_TRY(f->task->predict_json(f, i, row));
    if (rejected) return reject(f->task, row);
    return rd->o->reject_below > 0 ? ct_json_set(row, "rejected", json_false()) : CT_OK;
}

static ct_status put_json(reader *rd, const ct_findings *f, const char *path, int64_t i, const char *error,
                          bool rejected)
{
    json_t *row = json_object();
    if (!row) return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    ct_status st = ct_json_set(row, "file", ct_json_any(path));
    if (st == CT_OK) st = fill_row(rd, f, i, error, rejected, row);
    if (st == CT_OK && !rd->all) st = ct_json_print(row, 0, rd->to);
    if (st == CT_OK && rd->all && json_array_append(rd->all, row) != 0)
        st = ct_fail(CT_ENOMEM, "out of memory writing predictions");
    json_decref(row);
    return st;
}

static ct_status put_line(reader *rd, const ct_findings *f, const char *path, int64_t i, const char *error,
                          bool rejected)
{
    if (error) {
        ct_error("%s: %s", path, error);
        return CT_OK;
    }
    ct_text_put(rd->to, path, false);
    fputc('\t', rd->to);
    if (rejected) fprintf(rd->to, "\t%.4f\trejected", f->task->confidence(f, i));
    else CT_TRY(f->task->predict_text(f, i, rd->to));
    fputc('\n', rd->to);
    return CT_OK;
}

/* Sample i of the findings; with an error there is none. */
static ct_status tell(reader *rd, const ct_findings *f, const char *path, int64_t i, const char *error)
{
    const ct_task *task = rd->file.task;
    char why[256];
    if (!error && task->unread) error = task->unread(f, i, why, sizeof why);
    const bool rejected = !error && rd->o->reject_below > 0 && task->confidence(f, i) < rd->o->reject_below;
    rd->done++;
    rd->failed += error != NULL;
    rd->rejected += rejected;
    return rd->o->json || rd->o->jsonl ? put_json(rd, f, path, i, error, rejected)
                                       : put_line(rd, f, path, i, error, rejected);
}

/* Tells what was found in the n samples of a chunk, in their order: good and bad ones keep it in the set, too. */
static ct_status tell_all(reader *rd, char *const *path, size_t n, const ct_dataset *ds, const ct_findings *f)
{
    int64_t good = 0, bad = 0;
    for (size_t k = 0; k < n; k++) {
        const bool fine = good < ct_dataset_size(ds) && strcmp(ct_dataset_name(ds, good), path[k]) == 0;
        if (!fine && bad == ct_dataset_bad_count(ds))
            return ct_fail(CT_EINTERNAL, "%s: was neither read nor refused", path[k]);
        CT_TRY(tell(rd, f, path[k], good, fine ? NULL : ct_dataset_bad(ds, bad++).reason));
        good += fine;
    }
    return CT_OK;
}

/* ---- reading ---- */

/* What the model finds in a set of samples; *f is to be dropped, also on failure. */
static ct_status look(reader *rd, const ct_dataset *ds, ct_findings **f)
{
    const ct_view view = { ds, NULL, ct_dataset_size(ds) };
    double sums[CT_METRIC_COUNT];
    ct_pool_need *need = NULL;
    ct_pool_slot *slot = NULL;
    size_t n;
    *f = NULL;
    if (view.n == 0) return CT_OK;
    ct_status st = ct_pool_needs(ds, rd->clip, rd->batch, &need, &n);
    if (st == CT_OK) st = ct_pool_take(&rd->pool, need, n, &slot);
    if (st == CT_OK) {
        const ct_place place = ct_session_place(&slot->session, rd->file.cfg, rd->file.facts);
        st = rd->file.task->look(&place, &view, false, rd->o->option, rd->o->noptions, f);
        if (st == CT_OK) st = ct_evaluate(&slot->session, false, &view, rd->batch, 0, NULL, *f, sums);
        ct_pool_give(&rd->pool, slot);
    }
    ct_free(need);
    return st;
}

static ct_status read_chunk(reader *rd, size_t n)
{
    ct_dataset *ds = NULL;
    ct_findings *f = NULL;
    ct_labels *none;
    ct_status st;
    CT_TRY(ct_labels_none(rd->clip, &none));
    CT_TRY(ct_dataset_open_files(&rd->spec, none, (const char *const *)rd->name, (int64_t)n, rd->workers, &ds));
    CT_GOTO(st, look(rd, ds, &f));
    st = tell_all(rd, rd->name, n, ds, f);
fail:
    rd->file.task->drop(f);
    ct_dataset_close(ds);
    return st;
}

static bool is_samples(ct_status st) { return st == CT_EINVAL || st == CT_EIO || st == CT_EFORMAT || st == CT_EDATA; }

/* The picture that stood on standard input. */
static ct_status read_bytes(reader *rd)
{
    const ct_picture p = { .size = sizeof p, .data = rd->in.picture, .bytes = rd->in.picture_bytes, .name = "-" };
    ct_stack stack = { 0 };
    ct_dataset *ds = NULL;
    ct_findings *f = NULL;
    ct_status st;
    if (rd->clip) return ct_fail(CT_EDATA, "%s reads clips, not the single picture on standard input", rd->o->model);
    CT_TRY(ct_stack_make(&stack, &rd->spec, 1));
    st = ct_stack_add(&stack, &p, 1, "-");
    if (is_samples(st)) {
        const char *why = ct_error_message();
        st = tell(rd, NULL, "-", 0, strncmp(why, "-: ", 3) == 0 ? why + 3 : why);
        goto fail;
    }
    if (st != CT_OK) goto fail;
    CT_GOTO(st, ct_stack_open(&stack, NULL, &ds));
    CT_GOTO(st, look(rd, ds, &f));
    st = tell(rd, f, "-", 0, NULL);
fail:
    rd->file.task->drop(f);
    ct_dataset_close(ds);
    ct_stack_free(&stack);
    return st;
}

/* ---- the whole ---- */

/* Options are looked at before anything is read. */
static ct_status check_options(reader *rd, const ct_session *s)
{
    const ct_predict_opts *o = rd->o;
    const ct_task *task = rd->file.task;
    const ct_view nothing = { 0 };
    const ct_place place = ct_session_place(s, rd->file.cfg, rd->file.facts);
    ct_findings *f = NULL;
    if (o->json && o->jsonl)
        return ct_fail(CT_ECONFIG, "--json (one array) and --jsonl (an object a line) exclude each other");
    if (!(o->reject_below >= 0 && o->reject_below <= 1))
        return ct_fail(CT_ECONFIG, "--reject-below: %g is not a confidence from 0 to 1", o->reject_below);
    if (o->reject_below > 0 && !task->confidence)
        return ct_fail(CT_ECONFIG, "--reject-below: models of the task %s have no confidence", task->name);
    CT_TRY(ct_options_check(task, "predict", o->option, o->noptions));
    const ct_status st = task->look(&place, &nothing, false, o->option, o->noptions, &f);
    task->drop(f);
    return st;
}

static ct_status prepare(reader *rd)
{
    const ct_predict_opts *o = rd->o;
    ct_session probe;
    rd->workers = o->common.threads > 0 ? o->common.threads : ct_cpus();
    CT_TRY(ct_model_path(o->model, &rd->path));
    CT_TRY(ct_model_file_open(rd->path, &rd->file));
    CT_TRY(ct_model_choose(&rd->file, &o->common));
    ct_datasets_spec(rd->file.cfg, rd->file.task, NULL, &rd->spec);
    rd->spec.cache = false;
    ct_status st = ct_model_session(&rd->file, &o->common, &probe);
    if (st == CT_OK) rd->clip = ct_model_clip(&probe.spec.model);
    if (st == CT_OK) st = check_options(rd, &probe);
    ct_session_end(&probe);
    CT_TRY(st);
    rd->batch = rd->clip ? 1 : BATCH;
    rd->chunk = rd->clip ? (o->jsonl ? 1 : CLIP_CHUNK) : o->jsonl ? BATCH : CHUNK;
    rd->in = (ct_inputs){ .file = o->files, .files = o->nfiles, .clips = rd->clip != NULL };
    if (o->json && !(rd->all = json_array())) return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    return ct_pool_make(&rd->pool, rd->path, &rd->file, &o->common, 1);
}

static ct_status read_all(reader *rd)
{
    for (;;) {
        size_t n;
        ct_status st = ct_inputs_take(&rd->in, rd->chunk, rd->name, &n);
        if (st == CT_OK && n > 0) st = rd->in.picture ? read_bytes(rd) : read_chunk(rd, n);
        for (size_t k = 0; k < n; k++) ct_free(rd->name[k]);
        CT_TRY(st);
        if (n == 0) return CT_OK;
        if (!rd->all && (fflush(rd->to) != 0 || ferror(rd->to)))
            return ct_fail(CT_EIO, "predict: the result cannot be written");
    }
}

static ct_status conclude(reader *rd)
{
    const char *what = rd->clip ? "clips" : "pictures";
    if (rd->all) CT_TRY(ct_json_print(rd->all, 2, rd->to));
    if (fflush(rd->to) != 0 || ferror(rd->to)) return ct_fail(CT_EIO, "predict: the result cannot be written");
    if (rd->o->reject_below > 0)
        ct_info("%zu of %zu %s are rejected: their confidence is below %g", rd->rejected, rd->done - rd->failed, what,
                rd->o->reject_below);
    if (rd->failed == 0) return CT_OK;
    return ct_fail(CT_EDATA, "%zu of %zu %s could not be read", rd->failed, rd->done, what);
}

ct_status ct_run_predict(const ct_predict_opts *given, FILE *to)
{
    ct_predict_opts own;
    ct_status st;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_predict_opts"));
    if (!own.model || own.nfiles == 0)
        return ct_fail(CT_EINVAL, "predict: needs a model file and at least one picture");
    reader *rd = ct_calloc(1, sizeof *rd, "predict");
    if (!rd) return CT_ENOMEM;
    rd->o = &own;
    rd->to = to;
    CT_GOTO(st, prepare(rd));
    CT_GOTO(st, read_all(rd));
    st = conclude(rd);
fail:
    json_decref(rd->all);
    ct_inputs_free(&rd->in);
    ct_pool_free(&rd->pool);
    ct_model_file_close(&rd->file);
    ct_free(rd->path);
    ct_free(rd);
    return st;
}
