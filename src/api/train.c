/* captrain train. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/sized.h"
#include "base/version.h"
#include "measure/tune.h"
#include "run/receipt.h"
#include "run/run.h"

static ct_status write_config(const ct_run *r)
{
    char *path = ct_path_join(r->out, "config.yaml"), *text = ct_config_yaml(r->cfg, true);
    ct_status st = path && text ? ct_file_write_atomic(path, text, strlen(text)) : CT_ENOMEM;
    ct_free(path);
    ct_free(text);
    return st;
}

static ct_status write_task_files(const ct_run *r)
{
    const ct_place place = ct_session_place(&r->session, r->cfg, r->data.facts);
    return r->data.task->files ? r->data.task->files(&place, r->out) : CT_OK;
}

static ct_status write_choices(const ct_run *r)
{
    if (!r->choices) return CT_OK;
    char *path = ct_path_join(r->out, "choices.json");
    ct_status st = path ? ct_choices_write(r->choices, path) : CT_ENOMEM;
    ct_free(path);
    return st;
}

/* Steps of the "resume" events in metrics.jsonl, and how many processes computed each part. Files of former versions,
 * which had one process, do not say. */
static ct_status gather_parts(void *user, const char *event, const json_t *line)
{
    ct_run *r = user;
    const bool resume = strcmp(event, "resume") == 0;
    if (!resume && strcmp(event, "start") != 0) return CT_OK;
    const json_t *n = json_object_get(line, "processes");
    if (resume && json_array_append(r->resumed, json_object_get(line, "step")) != 0)
        return ct_fail(CT_ENOMEM, "out of memory");
    return json_array_append_new(r->resumed_with, json_integer(n ? json_integer_value(n) : 1)) == 0
               ? CT_OK
               : ct_fail(CT_ENOMEM, "out of memory");
}

static ct_status open_journal(ct_run *r, bool resumed)
{
    bool tb = r->cfg->log.tensorboard;
    const json_int_t processes = ct_peers_size(r->peers);
    CT_TRY(ct_journal_open(r->out, tb, resumed ? r->p.journal_bytes : -1, r->p.step, &r->journal));
    if (resumed) {
        CT_TRY(ct_journal_event(r->journal, "resume",
                                json_pack("{s:I,s:I,s:I,s:I}", "step", (json_int_t)r->p.step, "epoch",
                                          (json_int_t)r->p.epoch, "batch", (json_int_t)r->p.batch, "processes",
                                          processes)));
        CT_TRY(ct_journal_sync(r->journal));
    } else {
        json_t *o = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:s,s:I}", "captrain_version", ct_version(), "model",
                              r->session.spec.model.name, "params", (json_int_t)r->session.layout.params,
                              "train_samples", (json_int_t)r->data.train.n, "val_samples", (json_int_t)r->data.val.n,
                              "total_steps", (json_int_t)r->total_steps, "precision", ct_run_precision(&r->session),
                              "processes", processes);
        CT_TRY(ct_journal_event(r->journal, "start", o));
    }
    if (ct_journal_shows(r->journal) && !ct_journal_begun(r->journal)) {
        CT_TRY(ct_journal_begin(r->journal, r->p.step, r->cfg));
        CT_TRY(ct_run_show_augmented(r));
    }
    r->resumed = json_array();
    r->resumed_with = json_array();
    if (!r->resumed || !r->resumed_with) return ct_fail(CT_ENOMEM, "out of memory");
    return ct_journal_read(r->out, gather_parts, r);
}

static ct_status not_removed(const ct_run *r, ct_status st)
{
    char *why = ct_strdup(ct_error_message(), "a reason");
    if (!why) return CT_ENOMEM;
    ct_status gone = ct_run_directory_there(r);
    if (gone == CT_OK && st != CT_OK) ct_fail(st, "%s", why);
    ct_free(why);
    return gone == CT_OK ? st : gone;
}

/* Data, programs, weights: everything up to the first step but the files that say so. */
static ct_status prepare(ct_run *r, const ct_train_opts *o, bool *resumed)
{
    if (o->resume) CT_TRY(ct_run_look_back(r));
    *resumed = r->from != NULL;
    if (!*resumed && *r->cfg->train.tune && !ct_tune_is_auto(r->cfg))
        CT_TRY(ct_choices_read(r->cfg->train.tune, &r->choices));
    if (!*resumed && r->choices)
        ct_info("implementations: %zu measured choices from %s", ct_choices_count(r->choices), r->cfg->train.tune);
    CT_TRY(ct_run_build(r));
    CT_TRY(ct_receipt_check(r));
    if (*resumed) CT_TRY(ct_run_resume(r));
    if (o->resume && !*resumed) ct_warn("no checkpoint in %s: starting anew", r->checkpoints);
    if (!*resumed) CT_TRY(ct_run_start(r, o->init));
    else if (o->init) ct_info("--init %s is not used: the run goes on from its own weights", o->init);
    ct_session_rest(&r->session);
    return CT_OK;
}

static ct_status write_files(ct_run *r, bool resumed)
{
    CT_TRY(write_config(r));
    CT_TRY(write_choices(r));
    CT_TRY(write_task_files(r));
    CT_TRY(ct_receipt_write(r));
    CT_TRY(ct_mkdir_p(r->checkpoints));
    return open_journal(r, resumed);
}

static ct_status train(ct_run *r, const ct_train_opts *o, ct_train_result *res)
{
    bool resumed = false;
    CT_TRY(ct_run_meet(r, ct_run_configure(r, o)));
    CT_TRY(ct_run_follow(r, r->lead ? ct_run_directory(r, o) : CT_OK));
    snprintf(res->out, sizeof res->out, "%s", r->out);
    CT_TRY(ct_run_agree(r, prepare(r, o, &resumed)));
    CT_TRY(ct_peers_settle(r->peers, r->lead ? write_files(r, resumed) : CT_OK, &r->told));
    r->part_started = ct_now() - r->p.seconds;
    r->p.setup_seconds += ct_now() - r->began;
    ct_run_describe(r);
    if (r->lead) CT_TRY(ct_receipt_log(r));
    if (r->lead) ct_bar_begin(&r->bar, stderr);
    ct_status st = ct_run_loop(r);
    ct_bar_end(&r->bar);
    res->steps = r->p.step;
    res->epochs = r->p.epoch;
    res->broke = st == CT_EBACKEND && r->peers;
    if (st == CT_OK) st = ct_run_finish(r, res);
    /* whatever else failed then failed for this reason, and what went well is not there */
    return r->lead && (st == CT_OK || st == CT_EIO) ? not_removed(r, st) : st;
}

/* From the other processes; what failed keeps its message. */
static void part(ct_run *r, ct_status st)
{
    char why[4096];
    snprintf(why, sizeof why, "%s", ct_error_message());
    /* who never met the others may be the reason why, and whoever started it wants to name one */
    if (st != CT_OK && !r->told && ct_identity_tell_failure(why) != CT_OK) ct_warn("%s", ct_error_message());
    if (r->peers) ct_run_part(r, st);
    if (st != CT_OK) ct_fail(st, "%s", why);
}

ct_status ct_run_train(const ct_train_opts *given, ct_train_result *result)
{
    ct_train_opts own;
    ct_train_result full;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_train_opts"));
    const ct_train_opts *opts = &own;
    ct_run r;
    memset(&r, 0, sizeof r);
    r.dir = -1;
    r.began = ct_now();
    memset(&full, 0, sizeof full);
    CT_TRY(ct_sized_give(result, &full, sizeof full, "ct_train_result")); /* before hours have passed */
    ct_signals_begin();
    ct_status st = train(&r, opts, &full);
    if (st == CT_ESIGNAL) full.signal = r.stop;
    FILE *const log[] = { r.log, ct_peers_broke(r.peers) ? r.shared_log : NULL };
    for (int i = 0; i < 2 && st != CT_OK; i++) {
        if (!log[i]) continue;
        if (i == 1) fprintf(log[i], "%s: ", ct_peers_name(r.peers));
        ct_text_put(log[i], ct_error_message(), true);
        fputc('\n', log[i]);
        fflush(log[i]);
    }
    if (st == CT_EBACKEND && ct_peers_broke(r.peers)) full.broke = true;
    part(&r, st);
    full.told = r.told;
    ct_run_release(&r);
    ct_signals_end();
    ct_status told = ct_sized_give(result, &full, sizeof full, "ct_train_result");
    return st != CT_OK ? st : told;
}
