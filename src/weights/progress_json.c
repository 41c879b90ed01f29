/* The run's progress as JSON, for the metadata of a checkpoint. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "weights/checkpoint.h"

/* JSON has no NaN: such numbers are null. */
static json_t *scores_json(const ct_scores *s)
{
    json_t *o = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "samples", (json_int_t)s->samples, "strings", (json_int_t)s->strings,
                          "chars", (json_int_t)s->chars, "chars_ok", (json_int_t)s->chars_ok, "edits", (json_int_t)s->edits, "infeasible",
                          (json_int_t)s->infeasible);
    if (o && json_object_set_new(o, "loss", ct_json_number(s->loss)) == 0) return o;
    json_decref(o);
    return NULL;
}

ct_status ct_progress_to_json(const ct_progress *p, char **out)
{
    ct_status st = CT_OK;
    *out = NULL;
    json_t *o = json_object(), *sums = json_array(), *best = NULL;
    if (!o || !sums) {
        st = ct_fail(CT_ENOMEM, "out of memory writing the progress of a run");
        json_decref(sums);
        goto fail;
    }
    int used = CT_METRIC_COUNT;
    while (used > 0 && p->sums[used - 1] == 0) used--;
    for (int i = 0; i < used; i++) json_array_append_new(sums, ct_json_number(p->sums[i]));
    CT_GOTO(st, ct_json_set(o, "metric_sums", sums));
    CT_GOTO(st, ct_json_set(o, "epoch", json_integer(p->epoch)));
    CT_GOTO(st, ct_json_set(o, "batch", json_integer(p->batch)));
    CT_GOTO(st, ct_json_set(o, "step", json_integer(p->step)));
    CT_GOTO(st, ct_json_set(o, "samples", json_integer(p->samples)));
    CT_GOTO(st, ct_json_set(o, "seconds", ct_json_number(p->seconds)));
    CT_GOTO(st, ct_json_set(o, "step_seconds", ct_json_number(p->step_seconds)));
    CT_GOTO(st, ct_json_set(o, "finished", json_boolean(p->finished)));
    CT_GOTO(st, ct_json_set(o, "stopped_early", json_boolean(p->stopped_early)));
    CT_GOTO(st, ct_json_set(o, "bad_in_a_row", json_integer(p->bad_in_a_row)));
    CT_GOTO(st, ct_json_set(o, "journal_bytes", json_integer(p->journal_bytes)));
    if (p->best.any) {
        best = scores_json(&p->best.scores);
        if (best && (json_object_set_new(best, "epoch", json_integer(p->best.epoch)) ||
                     json_object_set_new(best, "step", json_integer(p->best.step)))) {
            json_decref(best);
            best = NULL;
        }
        CT_GOTO(st, ct_json_set(o, "best", best));
    }
    if (p->stopper.any) CT_GOTO(st, ct_json_set(o, "stop_reference", ct_json_number(p->stopper.reference)));
    CT_GOTO(st, ct_json_set(o, "stale", json_integer(p->stopper.stale)));
    if (!(*out = ct_json_text(o, 0))) st = CT_ENOMEM;
fail:
    json_decref(o);
    return st;
}

static int64_t get_int(const json_t *o, const char *key, bool *ok)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v)) *ok = false;
    return json_integer_value(v);
}

static double get_number(const json_t *v, bool *ok)
{
    if (json_is_null(v)) return NAN;
    if (!json_is_number(v)) *ok = false;
    return json_number_value(v);
}

static bool get_bool(const json_t *o, const char *key, bool *ok)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_boolean(v)) *ok = false;
    return json_is_true(v);
}

/* Metric sums, zeros behind the last left out; or, under another key, those of files of earlier versions: always eight,
 * in an order of their own. */
static bool get_sums(const json_t *o, double out[CT_METRIC_COUNT])
{
    static const int before[] = { CT_METRIC_SAMPLES, CT_TEXT_STRINGS,   CT_TEXT_CHARS, CT_TEXT_CHARS_OK,
                                  CT_METRIC_LOSS,    CT_METRIC_BATCHES, CT_TEXT_EDITS, CT_TEXT_INFEASIBLE };
    const json_t *sums = json_object_get(o, "metric_sums"), *old = json_object_get(o, "sums");
    const size_t count = json_array_size(sums ? sums : old);
    bool ok = sums ? json_is_array(sums) && count <= CT_METRIC_COUNT : count == sizeof before / sizeof before[0];
    for (size_t i = 0; ok && i < count; i++)
        out[sums ? (int)i : before[i]] = get_number(json_array_get(sums ? sums : old, i), &ok);
    return ok;
}

ct_status ct_progress_from_json(const char *text, const char *source, ct_progress *p)
{
    json_t *o;
    bool ok = true;
    memset(p, 0, sizeof *p);
    CT_TRY(ct_json_parse(text, strlen(text), source, &o));
    p->epoch = get_int(o, "epoch", &ok);
    p->batch = get_int(o, "batch", &ok);
    p->step = get_int(o, "step", &ok);
    p->samples = get_int(o, "samples", &ok);
    p->seconds = get_number(json_object_get(o, "seconds"), &ok);
    p->step_seconds = get_number(json_object_get(o, "step_seconds"), &ok);
    p->finished = get_bool(o, "finished", &ok);
    p->stopped_early = get_bool(o, "stopped_early", &ok);
    p->bad_in_a_row = get_int(o, "bad_in_a_row", &ok);
    p->journal_bytes = get_int(o, "journal_bytes", &ok);
    p->stopper.stale = get_int(o, "stale", &ok);
    const json_t *ref = json_object_get(o, "stop_reference"), *best = json_object_get(o, "best");
    if (ref) {
        p->stopper.any = true;
        p->stopper.reference = get_number(ref, &ok);
    }
    if (!get_sums(o, p->sums)) ok = false;
    if (best) {
        p->best.any = true;
        p->best.epoch = get_int(best, "epoch", &ok);
        p->best.step = get_int(best, "step", &ok);
        p->best.scores.samples = get_int(best, "samples", &ok);
        p->best.scores.strings = get_int(best, "strings", &ok);
        p->best.scores.chars = get_int(best, "chars", &ok);
        p->best.scores.chars_ok = get_int(best, "chars_ok", &ok);
        /* not in files of earlier versions, whose models had fixed positions */
        p->best.scores.edits = json_object_get(best, "edits") ? get_int(best, "edits", &ok) : p->best.scores.chars - p->best.scores.chars_ok;
        p->best.scores.infeasible = json_object_get(best, "infeasible") ? get_int(best, "infeasible", &ok) : 0;
        p->best.scores.loss = get_number(json_object_get(best, "loss"), &ok);
    }
    if (p->epoch < 0 || p->batch < 0 || p->step < 0) ok = false;
    json_decref(o);
    return ok ? CT_OK : ct_fail(CT_EFORMAT, "%s: the run's progress is incomplete", source);
}
