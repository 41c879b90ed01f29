/* captrain eval: scores a model file on labelled samples. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "task/task.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/version.h"
#include "captrain.h"
#include "group/peers.h"
#include "session/evaluate.h"
#include "task/datasets.h"
#include "task/track.h"
#include "weights/checkpoint.h"
#include "weights/use.h"

enum { PICTURES = 64, CLIPS = 2 }; /* of a batch, where nothing is said */

typedef struct scoring {
    const ct_eval_opts *o;
    ct_peers *peers; /* the processes that score together; NULL: one alone */
    bool told;       /* the first of them says what failed */
    ct_model_use use;
    ct_config *cfg; /* how the folder is opened */
    ct_dataset *ds;
    ct_findings *findings;
    double sums[CT_METRIC_COUNT];
} scoring;

static ct_status write_json(const scoring *k, FILE *to)
{
    ct_status st;
    const ct_task *task = k->use.file.task;
    json_t *out = json_object();
    CT_GOTO(st, ct_json_set(out, "model", ct_json_any(k->o->model)));
    CT_GOTO(st, ct_json_set(out, "data", ct_json_any(k->o->data)));
    CT_GOTO(st, ct_json_set(out, "samples", json_integer((json_int_t)k->sums[CT_METRIC_SAMPLES])));
    CT_GOTO(st, ct_metrics_json(task, k->sums, out));
    CT_GOTO(st, ct_json_set(out, "left_out", json_integer(ct_dataset_bad_count(k->ds))));
    CT_GOTO(st, task->eval_json(k->findings, k->sums, out));
    st = ct_json_print(out, 2, to);
fail:
    json_decref(out);
    return st;
}

static ct_status print_table(const scoring *k, FILE *to)
{
    fprintf(to, "samples          %.0f\n", k->sums[CT_METRIC_SAMPLES]);
    if (ct_dataset_bad_count(k->ds) > 0)
        fprintf(to, "left out         %" PRId64 " (unusable)\n", ct_dataset_bad_count(k->ds));
    return k->use.file.task->eval_text(k->findings, k->sums, to);
}

static void warn_of_bad(const ct_dataset *ds)
{
    for (int64_t i = 0; i < ct_dataset_bad_count(ds); i++) {
        ct_bad bad = ct_dataset_bad(ds, i);
        ct_warn("left out: %s: %s", bad.name, bad.reason);
    }
}

/* Opens model and samples, and plans. */
static ct_status prepare(scoring *k, ct_view *view, int64_t *rows)
{
    const ct_eval_opts *o = k->o;
    ct_session *s = &k->use.session;
    CT_TRY(ct_model_use_begin(&k->use, o->model, &o->common));
    s->join = ct_peers_join(k->peers);
    s->device_opts.index = ct_peers_device(k->peers);
    const ct_model_file *file = &k->use.file;
    const int64_t usual = ct_model_clip(&s->spec.model) ? CLIPS : PICTURES;
    const int64_t batch = *rows = o->batch > 0 ? o->batch : usual;
    CT_TRY(ct_options_check(file->task, "eval", o->option, o->noptions));
    CT_TRY(ct_config_clone(file->cfg, &k->cfg)); /* the model's specification points into its own */
    if (file->task->scored) CT_TRY(file->task->scored(k->cfg, o->data, o->option, o->noptions));
    CT_TRY(ct_datasets_open_scored(k->cfg, file->task, file->facts, o->data, &k->ds));
    *view = (ct_view){ k->ds, NULL, ct_dataset_size(k->ds) };
    CT_TRY(ct_session_add_eval(s, view, batch, false));
    const ct_place place = ct_session_place(s, file->cfg, file->facts);
    CT_TRY(file->task->look(&place, view, true, o->option, o->noptions, &k->findings));
    return ct_model_use_ready(&k->use);
}

/* Weights, samples and version are the same everywhere. */
static ct_status agree(scoring *k, const ct_view *view)
{
    char hash[33], key[33];
    if (!k->peers) return CT_OK;
    CT_TRY(ct_peers_same(k->peers, "version of captrain", ct_version()));
    CT_TRY(ct_weights_hash(&k->use.session, hash));
    CT_TRY(ct_peers_same(k->peers, "model", hash));
    CT_TRY(ct_view_key(view, key));
    CT_TRY(ct_peers_same(k->peers, "set of samples", key));
    CT_TRY(ct_peers_name_group(k->peers, k->use.session.backend, &k->use.session.join));
    return ct_session_join(&k->use.session);
}

static ct_status score(scoring *k)
{
    ct_view view;
    int64_t batch = 0;
    CT_TRY(ct_peers_settle(k->peers, prepare(k, &view, &batch), &k->told));
    ct_crash_at(CT_AT_SCORE);
    ct_status st = agree(k, &view);
    if (st == CT_ECONFIG) k->told = ct_peers_rank(k->peers) > 0; /* all found the same */
    CT_TRY(st);
    const int workers = (int)k->use.file.cfg->train.workers;
    CT_TRY(ct_evaluate(&k->use.session, false, &view, batch, workers, NULL, k->findings, k->sums));
    if (ct_peers_rank(k->peers) == 0) warn_of_bad(k->ds);
    return CT_OK;
}

/* What the processes tell each other while they score waits this long, in seconds: batches take seconds, not
 * minutes. */
#define DEADLINE 120

static ct_status meet_others(const ct_identity *id, const ct_eval_opts *o, scoring *k)
{
    ct_meeting m = { .engine = "auto", .deadline = DEADLINE };
    if (id->size <= 1) return CT_OK;
    CT_TRY(ct_backend_choose(o->common.backend, &m.backend, NULL, 0));
    return ct_peers_meet(id, &m, &k->told, &k->peers);
}

/* To whoever started this process; the message stays. */
static void tell_failure(ct_status st)
{
    char why[4096];
    snprintf(why, sizeof why, "%s", ct_error_message());
    if (ct_identity_tell_failure(why) != CT_OK) ct_warn("%s", ct_error_message());
    ct_fail(st, "%s", why);
}

ct_status ct_run_eval(const ct_eval_opts *given, FILE *to)
{
    ct_eval_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_eval_opts"));
    const ct_eval_opts *o = &own;
    ct_status st;
    scoring k = { .o = o };
    if (!o->model || !o->data) return ct_fail(CT_EINVAL, "eval: needs a model file and a folder of labelled images");
    ct_identity id;
    CT_GOTO(st, ct_identity_read(&id));
    CT_GOTO(st, meet_others(&id, o, &k));
    CT_GOTO(st, score(&k));
    if (id.rank > 0) goto fail; /* the first one tells */
    CT_GOTO(st, o->json ? write_json(&k, to) : print_table(&k, to));
    if (fflush(to) != 0 || ferror(to)) st = ct_fail(CT_EIO, "eval: the result cannot be written");
fail:
    if (st != CT_OK && !k.told) tell_failure(st);
    if (k.findings) k.findings->task->drop(k.findings);
    ct_peers_part(k.peers, st == CT_OK); /* before the graphs go, whose names tell where this process is */
    if (st != CT_OK && k.told) ct_fail_told(st);
    ct_model_use_end(&k.use);
    ct_dataset_close(k.ds);
    ct_config_free(k.cfg);
    return st;
}
