/* The training loop: steps, read-backs, evaluations, checkpoints. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "program/spec.h"
#include "run/run.h"

bool ct_run_complete(const ct_run *r)
{
    if (r->p.stopped_early || r->p.target.reached) return true;
    return r->p.epoch >= r->cfg->train.epochs || (r->cfg->train.steps > 0 && r->p.step >= r->cfg->train.steps);
}

static void window_reset(ct_run *r)
{
    memset(&r->window, 0, sizeof r->window);
    r->window.started = ct_now();
}

/* ---- one step ---- */

/* Which samples this process trains with: of several each writes its own down. */
static void tell_samples(const ct_run *r, const ct_batch *b)
{
    enum { EACH = 32 };
    if (!ct_log_topic_on(CT_TOPIC_SAMPLES)) return;
    for (int first = 0; first < b->n; first += EACH) {
        char text[EACH * 22];
        size_t n = 0;
        for (int i = first; i < b->n && i < first + EACH; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %" PRId64, b->sample[i]);
        ct_log_topic_line(CT_TOPIC_SAMPLES, "step %" PRId64 ", process %d, %d of %d:%s", r->p.step + 1,
                          ct_peers_rank(r->peers), b->n, b->all, text);
    }
}

static ct_status run_batch(ct_run *r, const ct_batch *b, int64_t in_group, int64_t group)
{
    ct_session *s = &r->session;
    ct_program_kind kind = r->accumulate == 1 ? CT_PROGRAM_STEP
                           : in_group == 0    ? CT_PROGRAM_MICRO_FIRST
                                              : CT_PROGRAM_MICRO_NEXT;
    for (int i = 0; i < b->all; i++) r->ids[r->nids++] = (int32_t)b->samples[i];
    tell_samples(r, b);
    return ct_session_train(s, kind, r->loader, b, group, r->p.step < s->spec.small.steps);
}

/* Seconds that the bar's rate looks back: the first steps are slow, and what else the machine does changes. */
#define PACE_SECONDS 15.0

static void keep_pace(ct_run *r, double seconds)
{
    const double keep = exp(-seconds / PACE_SECONDS);
    r->pace_seconds = keep * r->pace_seconds + seconds;
    r->pace_steps = keep * r->pace_steps + 1;
    r->p.step_seconds += seconds;
}

/* One optimizer step: a batch, or a group of micro-batches. A group never reaches over the end of an epoch. */
static ct_status run_step(ct_run *r)
{
    int64_t left = r->batches - r->p.batch, group = r->accumulate < left ? r->accumulate : left;
    double started = ct_now(), waited = ct_loader_get_stats(r->loader).wait_s, sums, before, after;
    ct_group_times(r->session.group, &sums, &before);
    r->nids = 0;
    for (int64_t k = 0; k < group; k++) {
        const ct_batch *b;
        CT_TRY(ct_loader_next(r->loader, &b));
        if (!b || b->epoch != r->p.epoch || b->batch != r->p.batch + k)
            return ct_fail(CT_EINTERNAL,
                           "the loader gave batch %" PRId64 " of epoch %" PRId64 " instead of %" PRId64 " of %" PRId64,
                           b ? b->batch : -1, b ? b->epoch : -1, r->p.batch + k, r->p.epoch);
        CT_TRY(run_batch(r, b, k, group));
    }
    if (r->accumulate > 1) {
        ct_unit *u =
            ct_session_find(&r->session, CT_PROGRAM_UPDATE, r->batch, ct_session_length(&r->session), r->accumulate,
                            false, 0);
        if (!u) return ct_fail(CT_EINTERNAL, "no update program");
        CT_TRY(ct_session_run(&r->session, u));
    }
    r->p.batch += group;
    ct_crash_step(++r->p.step);
    r->p.samples += r->nids;
    r->window.steps++;
    r->window.samples += r->nids;
    r->window.wait += ct_loader_get_stats(r->loader).wait_s - waited;
    keep_pace(r, ct_now() - started);
    ct_group_times(r->session.group, &sums, &after);
    r->own_s = ct_now() - started - (after - before);
    return CT_OK;
}

/* ---- reading the device's numbers ---- */

static double epochs_done(const ct_run *r) { return (double)r->p.epoch + (double)r->p.batch / (double)r->batches; }

static ct_moment now(const ct_run *r)
{
    return (ct_moment){ .step = r->p.step, .epochs = epochs_done(r), .time = ct_now(), .ids = r->ids, .nids = r->nids };
}

/* Metric sums and state of a moment have come: r->state skipped so many steps before. Adds to the window they belong
 * to, and judges. */
static ct_status absorb(ct_run *r, const ct_moment *at, const double sums[CT_METRIC_COUNT], double skipped,
                        ct_window *w)
{
    if (r->state[CT_STATE_STEP] != (double)at->step)
        return ct_fail(CT_EINTERNAL, "the device counts %g steps, the run %" PRId64, r->state[CT_STATE_STEP], at->step);
    r->read_step = at->step;
    double loss = sums[CT_METRIC_SAMPLES] > 0 ? sums[CT_METRIC_LOSS] / sums[CT_METRIC_SAMPLES] : NAN;
    if (isfinite(loss)) {
        for (int i = 0; i < CT_METRIC_COUNT; i++) {
            w->sums[i] += sums[i];
            r->p.sums[i] += sums[i];
        }
        r->last_loss = loss;
    }
    return ct_run_judge(r, at, (int64_t)(r->state[CT_STATE_SKIPPED] - skipped), loss);
}

static ct_status put_metrics(const ct_run *r, const double sums[CT_METRIC_COUNT], json_t *o)
{
    CT_TRY(ct_metrics_json(r->data.task, sums, o));
    return ct_metrics_terms(r->term, r->terms, sums, o);
}

/* A "step" event: averages of a window that ended at a moment. */
static ct_status log_step(ct_run *r, const ct_moment *at, const ct_window *w)
{
    ct_status st;
    double seconds = at->time - w->started;
    json_t *o = json_object();
    CT_GOTO(st, ct_json_set(o, "step", json_integer(at->step)));
    CT_GOTO(st, ct_json_set(o, "epoch", ct_json_number(at->epochs)));
    CT_GOTO(st, put_metrics(r, w->sums, o));
    CT_GOTO(st, ct_json_set(o, "lr", ct_json_number(r->state[CT_STATE_LR])));
    CT_GOTO(st, ct_json_set(o, "grad_norm", ct_json_number(r->state[CT_STATE_GRAD_NORM])));
    CT_GOTO(st, ct_json_set(o, "clip_coef", ct_json_number(r->state[CT_STATE_CLIP_COEF])));
    CT_GOTO(st, ct_json_set(o, "loss_scale", ct_json_number(r->state[CT_STATE_LOSS_SCALE])));
    CT_GOTO(st, ct_json_set(o, "skipped", json_integer((json_int_t)r->state[CT_STATE_SKIPPED])));
    CT_GOTO(st, ct_json_set(o, "samples_per_s", ct_json_number((double)w->samples / seconds)));
    CT_GOTO(st, ct_json_set(o, "steps_per_s", ct_json_number((double)w->steps / seconds)));
    CT_GOTO(st, ct_json_set(o, "data_s", ct_json_number(w->wait)));
    CT_GOTO(st, ct_json_set(o, "compute_s", ct_json_number(seconds - w->wait)));
    if (r->peers) {
        double sums, waited, ratio;
        const int slowest = ct_run_slowest(r, false, &ratio), n = ct_peers_size(r->peers);
        const bool timed = ct_group_times(r->session.group, &sums, &waited);
        if (slowest >= 0) CT_GOTO(st, ct_json_set(o, "slowest_rank", json_integer(slowest)));
        memset(r->own, 0, (size_t)n * sizeof *r->own);
        CT_GOTO(st, ct_json_set(o, "comm_s", timed ? ct_json_number(sums - r->comm_s) : json_null()));
        CT_GOTO(st, ct_json_set(o, "comm_wait_s", timed ? ct_json_number(waited - r->comm_wait_s) : json_null()));
        r->comm_s = sums;
        r->comm_wait_s = waited;
    }
    /* where something else than training comes next, the energy until here must be known */
    const bool last = at->step == r->p.step && (r->p.batch == r->batches || ct_run_complete(r));
    if (ct_gauge_read(&r->gauge, ct_now(), r->p.samples, last))
        CT_GOTO(st, ct_json_set(o, "device", ct_gauge_json(&r->gauge)));
    return ct_journal_event(r->journal, "step", o);
fail:
    json_decref(o);
    return st;
}

/* The answer that is on its way, if one is: waits for it. */
static ct_status take_answer(ct_run *r)
{
    double sums[CT_METRIC_COUNT], skipped = r->state[CT_STATE_SKIPPED];
    if (!r->asked) return CT_OK;
    r->asked = false;
    CT_TRY(ct_readback_take(r->readback, sums, r->state));
    CT_TRY(absorb(r, &r->asked_at, sums, skipped, &r->asked_window));
    return log_step(r, &r->asked_at, &r->asked_window);
}

/* Takes the answer if it is there. */
static ct_status look_for_answer(ct_run *r)
{
    bool there;
    if (!r->asked) return CT_OK;
    CT_TRY(ct_readback_there(r->readback, &there));
    return there ? take_answer(r) : CT_OK;
}

/* Brings metrics and state to the host and judges them. Afterwards the device's metric sums are zero. */
static ct_status read_back(ct_run *r)
{
    double sums[CT_METRIC_COUNT];
    CT_TRY(take_answer(r));
    if (r->read_step == r->p.step) return CT_OK;
    const double skipped = r->state[CT_STATE_SKIPPED];
    const ct_moment at = now(r);
    CT_TRY(ct_session_metrics(&r->session, sums));
    CT_TRY(ct_group_wait(r->session.group));
    CT_TRY(ct_arenas_get_state(r->session.store, r->state));
    return absorb(r, &at, sums, skipped, &r->window);
}

static ct_status log_window(ct_run *r)
{
    const ct_moment at = now(r);
    if (r->window.steps == 0) return CT_OK;
    CT_TRY(log_step(r, &at, &r->window));
    window_reset(r);
    return CT_OK;
}

/* The end of a window within an epoch: its numbers are asked for, and logged when they have come; steps go on
 * meanwhile. */
static ct_status end_window(ct_run *r)
{
    if (!r->readback) {
        CT_TRY(read_back(r));
        return log_window(r);
    }
    CT_TRY(take_answer(r));
    if (r->window.steps == 0) return CT_OK;
    CT_TRY(ct_readback_ask(r->readback));
    r->asked = true;
    r->asked_at = now(r);
    memcpy(r->asked_ids, r->ids, (size_t)r->nids * sizeof *r->ids);
    r->asked_at.ids = r->asked_ids;
    r->asked_window = r->window;
    window_reset(r);
    return CT_OK;
}

static void show(ct_run *r, bool force)
{
    char what[64];
    ct_bar_state b;
    if (!r->lead) return;
    double per_step = r->pace_steps > 0 ? r->pace_seconds / r->pace_steps : 0;
    snprintf(what, sizeof what, "epoch %" PRId64 "/%" PRId64, r->p.epoch + 1, r->cfg->train.epochs);
    b.what = what;
    b.done = (r->p.batch + r->accumulate - 1) / r->accumulate;
    b.total = r->steps_per_epoch;
    b.steps_per_s = per_step > 0 ? 1 / per_step : 0;
    b.loss = r->last_loss;
    b.lr = r->state[CT_STATE_LR];
    b.eta_s = per_step > 0 ? (double)(r->total_steps - r->p.step) * per_step : -1;
    b.memory = r->peak_bytes;
    b.power = r->gauge.works ? r->gauge.now.power : NAN;
    b.busy = r->gauge.works ? r->gauge.now.busy : NAN;
    ct_bar_update(&r->bar, &b, force);
}

/* ---- checkpoints and evaluation ---- */

static ct_status save_now(ct_run *r)
{
    double started = ct_now();
    CT_TRY(read_back(r));
    r->saved_epoch = r->p.epoch;
    r->saved_batch = r->p.batch;
    if (!r->lead) return CT_OK;
    CT_TRY(ct_run_directory_there(r)); /* what is written elsewhere is no checkpoint */
    r->p.seconds = started - r->part_started;
    CT_TRY(ct_journal_sync(r->journal)); /* the checkpoint counts on these bytes */
    r->p.journal_bytes = ct_journal_bytes(r->journal);
    CT_TRY(ct_checkpoint_save(&r->session, &r->meta, &r->p, r->checkpoints, r->cfg->checkpoint.keep));
    json_t *o = json_pack("{s:I,s:f,s:f}", "step", (json_int_t)r->p.step, "epoch", epochs_done(r), "seconds",
                          ct_now() - started);
    return ct_journal_event(r->journal, "checkpoint", o);
}

static ct_status save(ct_run *r)
{
    const ct_activity before = ct_crash_at(CT_AT_SAVE);
    ct_status st = save_now(r);
    ct_crash_at(before);
    return st;
}

static ct_status write_best(ct_run *r)
{
    if (!r->lead) return CT_OK;
    CT_TRY(ct_run_directory_there(r));
    char *path = ct_path_join(r->checkpoints, "best.safetensors");
    if (!path) return CT_ENOMEM;
    ct_status st = ct_checkpoint_write(&r->session, &r->meta, &r->p, false, path);
    ct_free(path);
    return st;
}

/* Seconds of the run up to ct_now() `at`: its set-up included, scoring the validation set not. */
static double elapsed(const ct_run *r, double at)
{
    return r->p.setup_seconds + (at - r->part_started) - r->p.eval_seconds;
}

/* What one scoring of the validation set, begun at `started`, gave, as an event. */
static ct_status log_eval(ct_run *r, const double sums[CT_METRIC_COUNT], bool best, double started, double seconds)
{
    ct_status st;
    json_t *o = json_object();
    CT_GOTO(st, ct_json_set(o, "step", json_integer(r->p.step)));
    CT_GOTO(st, ct_json_set(o, "epoch", ct_json_number(epochs_done(r))));
    CT_GOTO(st, ct_json_set(o, "samples", json_integer((json_int_t)sums[CT_METRIC_SAMPLES])));
    CT_GOTO(st, put_metrics(r, sums, o));
    CT_GOTO(st, ct_json_set(o, "best", json_boolean(best)));
    CT_GOTO(st, ct_json_set(o, "ema", json_boolean(r->eval_ema)));
    CT_GOTO(st, ct_json_set(o, "stale", json_integer(r->p.stopper.stale)));
    CT_GOTO(st, ct_json_set(o, "seconds", ct_json_number(seconds)));
    CT_GOTO(st, ct_json_set(o, "elapsed", ct_json_number(elapsed(r, started))));
    CT_GOTO(st, ct_json_set(o, "seen", json_integer(r->p.samples)));
    return ct_journal_event(r->journal, "eval", o);
fail:
    json_decref(o);
    return st;
}

/* Whether these sums, of a scoring that began at `started` and took so long, reach train.target. */
static void look_at_target(ct_run *r, const double sums[CT_METRIC_COUNT], double started, double seconds)
{
    char value[48], wanted[48];
    const ct_target *t = &r->target;
    ct_arrival *a = &r->p.target;
    if (!t->by || a->reached || !ct_target_met(t, t->by->value(sums))) return;
    *a = (ct_arrival){ .reached = true,
                       .value = t->by->value(sums),
                       .step = r->p.step,
                       .samples = r->p.samples,
                       .seconds = elapsed(r, started),
                       .eval_seconds = r->p.eval_seconds + seconds };
    snprintf(a->metric, sizeof a->metric, "%s", t->by->key);
    ct_info("target reached: %s %s, %s was wanted; step %" PRId64 ", %" PRId64 " samples, %.1f s, and %.1f s of "
            "scoring", t->by->label, ct_metric_text(t->by, a->value, value, sizeof value),
            ct_metric_text(t->by, t->value, wanted, sizeof wanted), a->step, a->samples, a->seconds, a->eval_seconds);
}

/* Scores the validation set, and tells the judges, as of `epoch` complete epochs. */
static ct_status validate_now(ct_run *r, int64_t epoch)
{
    double sums[CT_METRIC_COUNT], started = ct_now();
    char training[48] = "", brief[160];
    CT_TRY(ct_evaluate(&r->session, r->eval_ema, &r->data.val, r->batch, (int)r->cfg->train.workers,
                       r->peers ? NULL : &ct_stop_signal, NULL, sums)); /* of several, all score to the end */
    const bool last = ct_metric_keeps_last(r->cfg);
    const bool best = ct_best_update(&r->p.best, last ? NULL : r->select, sums, epoch, r->p.step);
    const ct_cfg_early_stopping *rule = &r->cfg->early_stopping;
    const ct_metric_row *guard;
    CT_TRY(ct_metric_guard(r->cfg, r->data.task, &guard));
    ct_stopper_update(&r->p.stopper, rule, r->select, sums, epoch);
    ct_stopper_guard(&r->p.stopper, &rule->second_guard, guard, sums);
    const bool stop = ct_stopper_done(&r->p.stopper, rule, epoch);
    const double loss = ct_metric_loss.value(sums), so_far = ct_metric_loss.value(r->p.sums); /* of this epoch */
    if (r->p.sums[CT_METRIC_SAMPLES] > 0) snprintf(training, sizeof training, "training loss %.4f, ", so_far);
    ct_info("epoch %.4g: %svalidation loss %.4f, %s%s (step %" PRId64 ", scored in %.1f s)", epochs_done(r), training,
            isnan(loss) ? NAN : loss, ct_metrics_brief(r->data.task, sums, brief, sizeof brief),
            best && !last ? ", best so far" : "", r->p.step, ct_now() - started);
    const double seconds = ct_now() - started;
    if (!isfinite(loss)) ct_warn("the validation loss is not a finite number: these weights cannot be the best");
    CT_TRY(log_eval(r, sums, best, started, seconds));
    look_at_target(r, sums, started, seconds);
    r->p.eval_seconds += seconds;
    r->p.scored = r->p.step;
    if (best) CT_TRY(write_best(r));
    if (stop) {
        r->p.stopped_early = true;
        ct_info("early stopping: no improvement in %" PRId64 " evaluations", r->p.stopper.stale);
    }
    return CT_OK;
}

static ct_status validate(ct_run *r, int64_t epoch)
{
    const ct_activity before = ct_crash_at(CT_AT_SCORE);
    ct_status st = validate_now(r, epoch);
    ct_crash_at(before);
    return st;
}

static ct_status log_epoch(ct_run *r, int64_t epoch)
{
    ct_status st;
    json_t *o = json_object();
    CT_GOTO(st, ct_json_set(o, "step", json_integer(r->p.step)));
    CT_GOTO(st, ct_json_set(o, "epoch", json_integer(epoch)));
    CT_GOTO(st, ct_json_set(o, "samples", json_integer((json_int_t)r->p.sums[CT_METRIC_SAMPLES])));
    CT_GOTO(st, put_metrics(r, r->p.sums, o));
    return ct_journal_event(r->journal, "epoch", o);
fail:
    json_decref(o);
    return st;
}

/* Whether eval.every_steps has the validation set scored behind a step. */
static bool scores_at(const ct_run *r, int64_t step)
{
    const int64_t every = r->cfg->eval.every_steps;
    return r->data.val.data && every > 0 && step > 0 && step % every == 0;
}

/* That, within an epoch: what a checkpoint of this step does not have yet is done when the run goes on from it. */
static ct_status score_within_epoch(ct_run *r)
{
    CT_TRY(read_back(r));
    CT_TRY(log_window(r));
    show(r, r->bar.to != NULL);
    CT_TRY(validate(r, r->p.epoch));
    window_reset(r);
    ct_gauge_skip(&r->gauge, ct_now(), r->p.samples);
    return CT_OK;
}

/* All batches of the epoch are done: evaluate if it is due, move on, save if it is due. */
static ct_status end_epoch(ct_run *r)
{
    const ct_config *cfg = r->cfg;
    int64_t epoch = r->p.epoch + 1;
    bool last = epoch >= cfg->train.epochs || (cfg->train.steps > 0 && r->p.step >= cfg->train.steps);
    CT_TRY(read_back(r));
    CT_TRY(log_window(r));
    show(r, r->bar.to != NULL);
    const bool due = epoch % cfg->eval.every_epochs == 0 || last || scores_at(r, r->p.step);
    if (r->data.val.data && due && r->p.scored != r->p.step) CT_TRY(validate(r, epoch));
    CT_TRY(log_epoch(r, epoch));
    r->p.epoch = epoch;
    r->p.batch = 0;
    memset(r->p.sums, 0, sizeof r->p.sums);
    r->p.finished = ct_run_complete(r);
    if (r->p.finished || (cfg->checkpoint.every_epochs > 0 && epoch % cfg->checkpoint.every_epochs == 0))
        CT_TRY(save(r));
    window_reset(r);
    ct_gauge_skip(&r->gauge, ct_now(), r->p.samples);
    return CT_OK;
}

/* train.steps ends the run within an epoch. */
static ct_status end_within_epoch(ct_run *r)
{
    CT_TRY(read_back(r));
    CT_TRY(log_window(r));
    if (r->data.val.data && r->p.batch > 0 && r->p.scored != r->p.step) CT_TRY(validate(r, r->p.epoch));
    r->p.finished = true;
    return save(r);
}

static ct_status open_loader(ct_run *r)
{
    ct_loader_spec spec;
    ct_spec_loader(r->cfg, &r->data.train, &spec);
    spec.resident = r->session.resident != NULL;
    spec.start_epoch = r->p.epoch;
    spec.start_batch = r->p.batch;
    spec.rank = ct_peers_rank(r->peers);
    spec.size = ct_peers_size(r->peers);
    spec.parts = ct_session_parts(&r->session);
    spec.workers = ct_session_workers(&r->session, spec.workers);
    return ct_loader_open(&spec, &r->loader);
}

static ct_status stop_for_signal(ct_run *r)
{
    const char *name = ct_signal_name(r->stop);
    if (r->saved_epoch != r->p.epoch || r->saved_batch != r->p.batch) CT_TRY(save(r));
    CT_TRY(
        ct_journal_event(r->journal, "signal", json_pack("{s:I,s:s}", "step", (json_int_t)r->p.step, "signal", name)));
    return ct_fail(CT_ESIGNAL,
                   "stopped by %s after step %" PRId64 " and saved; captrain train --out %s --resume goes on", name,
                   r->p.step, r->out);
}

ct_status ct_run_loop(ct_run *r)
{
    ct_status st = CT_OK;
    const ct_config *cfg = r->cfg;
    r->saved_epoch = r->saved_batch = -1;
    r->last_loss = NAN;
    ct_crash_step(r->p.step);
    CT_TRY(ct_group_share(r->session.group));
    CT_TRY(ct_arenas_get_state(r->session.store, r->state));
    r->read_step = r->p.step;
    CT_TRY(ct_session_metrics_clear(&r->session));
    /* the limits may have been raised since */
    r->p.stopped_early = r->p.stopped_early && ct_stopper_done(&r->p.stopper, &cfg->early_stopping, r->p.epoch);
    if (r->p.target.reached && (!r->target.by || strcmp(r->p.target.metric, r->target.by->key) != 0 ||
                                !ct_target_met(&r->target, r->p.target.value)))
        r->p.target = (ct_arrival){ .reached = false };
    if (!ct_run_complete(r)) r->p.finished = false;
    window_reset(r);
    ct_crash_at(CT_AT_STEP);
    ct_gauge_begin(&r->gauge, r->session.backend, r->session.device_opts.index, ct_now(), r->p.samples);
    while (!r->p.finished) {
        CT_TRY(ct_run_stops(r));
        if (r->stop) return stop_for_signal(r);
        if (r->p.batch == r->batches) {
            st = end_epoch(r);
            if (st == CT_ESIGNAL) continue;
        } else if (scores_at(r, r->p.step) && r->p.scored != r->p.step) {
            st = score_within_epoch(r);
            if (st == CT_ESIGNAL) continue;
        } else if (ct_run_complete(r)) {
            st = end_within_epoch(r);
            if (st == CT_ESIGNAL) continue;
        } else {
            if (!r->loader) CT_TRY(open_loader(r));
            CT_TRY(run_step(r));
            CT_TRY(ct_run_zero_gradients(r));
            CT_TRY(look_for_answer(r));
            if (!r->readback && r->p.step % r->readback_every == 0) CT_TRY(read_back(r));
            if (r->p.step % cfg->log.interval_steps == 0) CT_TRY(end_window(r));
            show(r, false);
            if (cfg->checkpoint.every_steps > 0 && r->p.step % cfg->checkpoint.every_steps == 0) st = save(r);
        }
        if (st != CT_OK) return st;
    }
    if (!ct_group_times(r->session.group, &r->comm_s, &r->comm_wait_s)) r->comm_s = r->comm_wait_s = NAN;
    ct_loader_close(r->loader);
    r->loader = NULL;
    r->p.seconds = ct_now() - r->part_started;
    return CT_OK;
}
