/* The end of a run: the best weights scored once more, result.json, the report. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/log.h"
#include "base/shortest.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/version.h"
#include "run/run.h"
#include "task/calibration.h"

/* Puts the best weights on the device. Without a validation set, or without any usable evaluation, the last ones are
 * the best. */
static ct_status take_best(ct_run *r, const char *path)
{
    if (!r->p.best.any) return ct_checkpoint_write(&r->session, &r->meta, &r->p, false, path);
    ct_model_file m;
    ct_status st = ct_model_file_open(path, &m);
    if (st == CT_EFORMAT || st == CT_EIO) {
        ct_warn("%s: the last weights take the place of the best", ct_error_message());
        return ct_checkpoint_write(&r->session, &r->meta, &r->p, false, path);
    }
    if (st != CT_OK) return st;
    st = ct_checkpoint_load_weights(&r->session, m.st, path, "model.", false);
    if (st == CT_OK && r->has_ema) st = ct_checkpoint_load_weights(&r->session, m.st, path, "ema.", true);
    ct_model_file_close(&m);
    return st;
}

/* A set that was scored; findings NULL: there is none. */
typedef struct scored {
    ct_findings *findings;
    double sums[CT_METRIC_COUNT];
} scored;

/* every: the findings are to keep what a calibration needs of every so manyth sample, or fewer, which is set; NULL:
 * nothing. */
static ct_status score(ct_run *r, const ct_view *v, int64_t *every, scored *out)
{
    const ct_place place = ct_session_place(&r->session, r->cfg, r->data.facts);
    CT_TRY(r->data.task->look(&place, v, true, NULL, 0, &out->findings));
    if (every) CT_TRY(r->data.task->keep(out->findings, every));
    return ct_evaluate(&r->session, r->eval_ema, v, r->batch, (int)r->cfg->train.workers, NULL, out->findings,
                       out->sums);
}

/* Cuts at `size` bytes without breaking a UTF-8 character. */
static void copy_text(char *dst, size_t size, const char *src)
{
    const size_t n = ct_utf8_cut(src, size - 1);
    memcpy(dst, src, n);
    dst[n] = '\0';
}

/* DIR/<label>_<k>.png; a label may hold '/', a file name not, and blanks, which a file name better has not. */
static char *example_path(const char *dir, const char *label, int k)
{
    char *path = ct_asprintf("%s/%s_%d.png", dir, label, k);
    if (!path) return NULL;
    for (char *p = path + strlen(dir) + 1; *p; p++)
        *p = *p == '/' ? '-' : *p == ' ' ? '_' : *p;
    return path;
}

/* Where sample i of the validation set can be looked at: its file, or RUN/examples/<label>_<k>.png, which is made.
 * ct_free(). */
static ct_status example_file(const ct_view *v, int64_t i, const char *dir, const char *label, int k, char **out)
{
    const int64_t sample = ct_view_sample(v, i);
    ct_image im;
    *out = dir ? example_path(dir, label, k + 1)
               : ct_path_join(ct_dataset_root(v->data), ct_dataset_name(v->data, sample));
    if (!*out) return CT_ENOMEM;
    if (!dir) return CT_OK;
    CT_TRY(ct_dataset_picture(v->data, sample, &im));
    ct_status st = ct_image_write_png(*out, &im);
    ct_image_free(&im);
    return st;
}

static ct_status example(ct_run *r, const ct_findings *f, int64_t i, int k, const char *dir, ct_train_result *res)
{
    char *label = NULL, *predicted = NULL, *file = NULL;
    ct_status st;
    CT_GOTO(st, r->data.task->example(f, i, &label, &predicted));
    CT_GOTO(st, example_file(&r->data.val, i, dir, label, k, &file));
    copy_text(res->example_file[k], sizeof res->example_file[k], file);
    copy_text(res->example_label[k], sizeof res->example_label[k], label);
    copy_text(res->example_predicted[k], sizeof res->example_predicted[k], predicted);
    res->examples = k + 1;
fail:
    ct_free(label);
    ct_free(predicted);
    ct_free(file);
    return st;
}

/* Three samples of the validation set with their predictions. Generated pictures are written to RUN/examples, so that
 * they can be looked at. */
static ct_status examples(ct_run *r, const ct_findings *f, ct_train_result *res)
{
    const ct_view *v = &r->data.val;
    char *dir = NULL;
    ct_status st = CT_OK;
    if (!ct_path_is_dir(ct_dataset_root(v->data))) {
        if (!(dir = ct_path_join(r->out, "examples"))) return CT_ENOMEM;
        CT_GOTO(st, ct_mkdir_p(dir));
    }
    for (int k = 0; k < 3 && k < v->n; k++) CT_GOTO(st, example(r, f, v->n < 3 ? k : k * v->n / 3, k, dir, res));
fail:
    ct_free(dir);
    return st;
}

static ct_status put_set(json_t *o, const char *key, const ct_task *task, const scored *s)
{
    const double *sums = s->sums;
    json_t *set = json_object();
    CT_TRY(ct_json_set(o, key, set)); /* o owns it from here on */
    CT_TRY(ct_json_set(set, "samples", json_integer((json_int_t)sums[CT_METRIC_SAMPLES])));
    CT_TRY(ct_metrics_json(task, sums, set));
    return task->result ? task->result(s->findings, sums, set) : CT_OK;
}

/* The numbers of the best weights; without a validation set there are none. */
static void put_metrics(const ct_task *task, const double *val, ct_train_result *res)
{
    for (int i = -1; val && i < task->metrics && res->nmetrics < CT_METRICS_MAX; i++) {
        const ct_metric_row *row = i < 0 ? &ct_metric_loss : &task->metric[i];
        ct_metric_value *m = &res->metric[res->nmetrics++];
        copy_text(m->key, sizeof m->key, row->key);
        copy_text(m->label, sizeof m->label, row->label);
        copy_text(m->unit, sizeof m->unit, row->unit);
        m->value = row->value(val);
    }
}

/* Who trained, and what their sums cost. */
static ct_status put_group(const ct_run *r, json_t *o)
{
    CT_TRY(ct_json_set(o, "processes", json_integer(ct_peers_size(r->peers))));
    CT_TRY(ct_json_set(o, "hosts", json_integer(ct_peers_hosts(r->peers))));
    CT_TRY(ct_json_set(o, "comm_s", ct_json_number(r->comm_s)));
    CT_TRY(ct_json_set(o, "comm_wait_s", ct_json_number(r->comm_wait_s)));
    double ratio;
    const int slowest = ct_run_slowest(r, true, &ratio);
    CT_TRY(ct_json_set(o, "slowest_rank", slowest < 0 ? json_null() : json_integer(slowest)));
    return ct_json_set(o, "slowest_ratio", slowest < 0 ? json_null() : ct_json_number(ratio));
}

/* Whether train.target was reached, and when; of a run that was given none nothing. */
static ct_status put_target(const ct_run *r, json_t *o)
{
    const ct_target *t = &r->target;
    const ct_arrival *a = &r->p.target;
    json_t *target = json_object();
    if (!t->by) {
        json_decref(target);
        return CT_OK;
    }
    CT_TRY(ct_json_set(o, "target", target)); /* o owns it from here on */
    CT_TRY(ct_json_set(target, "metric", json_string(t->by->key)));
    CT_TRY(ct_json_set(target, "wanted", ct_json_number(t->value)));
    CT_TRY(ct_json_set(target, "reached", json_boolean(a->reached)));
    if (!a->reached) return CT_OK;
    CT_TRY(ct_json_set(target, "value", ct_json_number(a->value)));
    CT_TRY(ct_json_set(target, "step", json_integer(a->step)));
    CT_TRY(ct_json_set(target, "samples", json_integer(a->samples)));
    CT_TRY(ct_json_set(target, "seconds", ct_json_number(a->seconds)));
    return ct_json_set(target, "eval_seconds", ct_json_number(a->eval_seconds));
}

/* val, test: findings NULL where there is no such set. */
static ct_status write_result(const ct_report *rep, const scored *val, const scored *test)
{
    ct_status st;
    const ct_run *r = rep->run;
    const ct_train_result *res = rep->result;
    const ct_task *task = r->data.task;
    char *path = ct_path_join(r->out, "result.json");
    json_t *o = json_object();
    if (!path) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, ct_json_set(o, "captrain_version", json_string(ct_version())));
    CT_GOTO(st, ct_json_set(o, "name", ct_json_any(r->cfg->name)));
    for (int i = 0; i < task->metrics; i++)
        CT_GOTO(st,
                ct_json_set(o, task->metric[i].key,
                            val->findings ? ct_json_number(task->metric[i].value(val->sums)) : json_null()));
    CT_GOTO(st, ct_json_set(o, "epochs", json_integer(res->epochs)));
    CT_GOTO(st, ct_json_set(o, "steps", json_integer(res->steps)));
    CT_GOTO(st, ct_json_set(o, "samples", json_integer(r->p.samples)));
    CT_GOTO(st, ct_json_set(o, "seconds", ct_json_number(res->seconds)));
    CT_GOTO(st, ct_json_set(o, "setup_seconds", ct_json_number(r->p.setup_seconds)));
    CT_GOTO(st, ct_json_set(o, "eval_seconds", ct_json_number(r->p.eval_seconds)));
    CT_GOTO(st, ct_json_set(o, "samples_per_s", ct_json_number(res->samples_per_s)));
    CT_GOTO(st, ct_json_set(o, "peak_bytes", json_integer(res->peak_bytes)));
    if (isfinite(ct_gauge_each(&r->gauge))) {
        CT_GOTO(st, ct_json_set(o, "joules_per_sample", ct_json_number(ct_gauge_each(&r->gauge))));
        CT_GOTO(st, ct_json_set(o, "mean_power", ct_json_number(ct_gauge_power(&r->gauge))));
    }
    CT_GOTO(st, ct_json_set(o, "weights_hash", json_string(res->weights_hash)));
    CT_GOTO(st, ct_json_set(o, "resumed_from_steps", json_incref(r->resumed)));
    CT_GOTO(st, ct_json_set(o, "resumed_with", json_incref(r->resumed_with)));
    CT_GOTO(st, ct_json_set(o, "stopped_early", json_boolean(r->p.stopped_early)));
    CT_GOTO(st, put_target(r, o));
    CT_GOTO(st, ct_json_set(o, "skipped_steps", json_integer((json_int_t)r->state[CT_STATE_SKIPPED])));
    if (r->p.best.any) {
        CT_GOTO(st, ct_json_set(o, "best_epoch", json_integer(r->p.best.epoch)));
        CT_GOTO(st, ct_json_set(o, "best_step", json_integer(r->p.best.step)));
    }
    if (val->findings) CT_GOTO(st, put_set(o, "validation", task, val));
    if (test->findings) CT_GOTO(st, put_set(o, "test", task, test));
    if (rep->calibration) CT_GOTO(st, ct_json_set(o, "calibration", ct_calibration_json(rep->calibration)));
    CT_GOTO(st, ct_json_set(o, "model", json_string(r->session.spec.model.name)));
    CT_GOTO(st, ct_json_set(o, "params", json_integer(r->session.layout.params)));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(r->session.backend->name)));
    CT_GOTO(st, ct_json_set(o, "precision", json_string(ct_run_precision(&r->session))));
    CT_GOTO(st, ct_json_set(o, "threads", json_integer(r->session.device.threads)));
    CT_GOTO(st, put_group(r, o));
    CT_GOTO(st, ct_json_set(o, "model_file", json_string("checkpoints/best.safetensors")));
    CT_GOTO(st, ct_json_set(o, "report", json_string("report.html")));
    CT_GOTO(st, ct_json_write(path, o, 2));
fail:
    json_decref(o);
    ct_free(path);
    return st;
}

/* Scores the best weights, which are on the device, on the validation set. */
static ct_status score_best(ct_run *r, int64_t *every, scored *out)
{
    const ct_task *task = r->data.task;
    const ct_best *best = &r->p.best;
    const double *sums = out->sums;
    char a[48], b[48];
    CT_TRY(score(r, &r->data.val, every, out));
    for (int i = 0; r->lead && best->any && i < task->metrics; i++) {
        const ct_metric_row *m = &task->metric[i];
        if (m->exact && m->value(sums) != m->value(best->sums))
            ct_warn("the best weights have %s %s, at step %" PRId64 " it was %s", m->label,
                    ct_metric_text(m, m->value(sums), a, sizeof a), best->step,
                    ct_metric_text(m, m->value(best->sums), b, sizeof b));
    }
    return CT_OK;
}

/* ---- calibration ---- */

enum { /* samples of the validation set */
    CALIBRATION_MIN = 10, /* of fewer nothing can be said */
    MEASURE_MIN = 100     /* of fewer all are needed for the fit, and none is left to measure the error on */
};

/* By confidence, the samples that no temperature was fitted on. */
static void weigh(const ct_findings *f, int64_t every, ct_reliability *out)
{
    for (int64_t i = 0; i < f->view.n; i++)
        if (i % every != 0) ct_reliability_add(out, f->task->confidence(f, i), f->task->right(f, i));
}

static double cost(const void *user, double temperature)
{
    const ct_findings *f = user;
    return f->task->cost(f, temperature);
}

/* Fits the temperature on a part of the validation set, whose findings are in *val, puts it into the model file, and
 * scores the set again with it: *val is then of that pass. The findings of the first process have seen all samples;
 * the others' temperature is any, since what they ask the programs for must be the same. */
static ct_status calibrate(ct_run *r, const char *best, int64_t every, scored *val, ct_calibration *out)
{
    const ct_task *task = r->data.task;
    ct_reliability before = { 0 };
    scored again = { .findings = NULL };
    char number[CT_SHORTEST_BYTES];
    const int64_t n = r->data.val.n;
    out->fitted = (n + every - 1) / every;
    out->measured = n - out->fitted;
    out->temperature = 1;
    if (r->lead) {
        weigh(val->findings, every, &before);
        out->temperature = round(1e4 * ct_temperature_fit(cost, val->findings)) / 1e4;
    }
    task->temper(r->data.facts, out->temperature);
    const ct_status st = score(r, &r->data.val, NULL, &again);
    task->drop(st == CT_OK ? val->findings : again.findings);
    CT_TRY(st);
    *val = again;
    if (!r->lead) return CT_OK;
    weigh(val->findings, every, &out->after);
    out->ece_before = ct_reliability_error(&before);
    out->ece_after = ct_reliability_error(&out->after);
    CT_TRY(ct_model_file_note(best, "temperature", ct_shortest(out->temperature, number)));
    if (out->measured > 0)
        ct_info("confidence: temperature %s, fitted on %" PRId64 " validation samples; calibration error on the other "
                "%" PRId64 ": %.4f, without it %.4f", number, out->fitted, out->measured, out->ece_after,
                out->ece_before);
    else
        ct_info("confidence: temperature %s, fitted on all %" PRId64 " validation samples, too few to measure its "
                "error", number, out->fitted);
    return ct_journal_event(r->journal, "calibration", ct_calibration_json(out));
}

static void say_done(const ct_run *r, const ct_train_result *res, const double *val)
{
    char t[32], place[CT_BEST_PLACE], brief[160];
    ct_text_duration(res->seconds, t, sizeof t);
    if (val)
        ct_info("done: %" PRId64 " steps in %s; %s weights (%s): %s", res->steps, t,
                ct_metric_keeps_last(r->cfg) ? "last" : "best", ct_run_best_place(r, place),
                ct_metrics_brief(r->data.task, val, brief, sizeof brief));
    else ct_info("done: %" PRId64 " steps in %s; there was no validation set", res->steps, t);
}

ct_status ct_run_finish(ct_run *r, ct_train_result *res)
{
    ct_status st;
    scored vals = { .findings = NULL }, tests = { .findings = NULL };
    const double *val = r->data.val.data ? vals.sums : NULL, *test = r->data.test.data ? tests.sums : NULL;
    ct_calibration sure = { 0 };
    int64_t every = r->data.val.n < MEASURE_MIN ? 1 : 2;
    const bool fit = val && r->p.best.any && r->data.task->keep && r->data.val.n >= CALIBRATION_MIN;
    char brief[160], *best = ct_path_join(r->checkpoints, "best.safetensors");
    if (!best) return CT_ENOMEM;
    ct_crash_at(CT_AT_SCORE);
    snprintf(res->model, sizeof res->model, "%s", best);
    snprintf(res->report, sizeof res->report, "%s/report.html", r->out);
    res->epochs = r->p.epoch;
    res->steps = r->p.step;
    res->seconds = r->p.seconds;
    res->samples_per_s = r->p.step_seconds > 0 ? (double)r->p.samples / r->p.step_seconds : 0;
    res->peak_bytes = r->peak_bytes;
    CT_GOTO(st, ct_weights_hash(&r->session, res->weights_hash));
    CT_GOTO(st, ct_peers_settle(r->peers, r->lead ? take_best(r, best) : CT_OK, &r->told));
    CT_GOTO(st, ct_group_share(r->session.group));
    if (val) CT_GOTO(st, score_best(r, fit ? &every : NULL, &vals));
    if (fit) CT_GOTO(st, calibrate(r, best, every, &vals, &sure));
    if (test) CT_GOTO(st, score(r, &r->data.test, NULL, &tests));
    ct_crash_at(CT_AT_REPORT);
    if (!r->lead) goto fail; /* the first writes and tells */
    if (val) CT_GOTO(st, examples(r, vals.findings, res));
    put_metrics(r->data.task, val, res);
    if (test) {
        ct_info("test: %s of %.0f samples", ct_metrics_brief(r->data.task, test, brief, sizeof brief),
                test[CT_METRIC_SAMPLES]);
    }
    CT_GOTO(st, ct_journal_event(r->journal, "end",
                                 json_pack("{s:I,s:I,s:f,s:s}", "step", (json_int_t)r->p.step, "epochs",
                                           (json_int_t)r->p.epoch, "seconds", r->p.seconds, "weights_hash",
                                           res->weights_hash)));
    if (val) CT_GOTO(st, ct_run_show_wrong(r, vals.findings)); /* behind the end, which a run that goes on cuts off */
    const ct_report rep = { r, res, vals.findings, val, test, res->peak_bytes, fit ? &sure : NULL };
    CT_GOTO(st, ct_report_write(&rep));
    CT_GOTO(st, write_result(&rep, &vals, &tests));
    say_done(r, res, val);
fail:
    r->data.task->drop(vals.findings);
    r->data.task->drop(tests.findings);
    ct_free(best);
    return st;
}
