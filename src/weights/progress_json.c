/* The run's progress as JSON, for the metadata of a checkpoint. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "weights/checkpoint.h"

/* Metric sums, zeros behind the last left out. NULL without memory. JSON has no NaN: such numbers are null. */
static json_t *sums_json(const double sums[CT_METRIC_COUNT])
{
    json_t *list = json_array();
    int used = CT_METRIC_COUNT;
    while (used > 0 && sums[used - 1] == 0) used--;
    for (int i = 0; list && i < used; i++) json_array_append_new(list, ct_json_number(sums[i]));
    return list;
}

static ct_status put_best(json_t *o, const ct_best *b)
{
    json_t *best = json_object();
    if (!b->any) {
        json_decref(best);
        return CT_OK;
    }
    CT_TRY(ct_json_set(o, "best", best)); /* o owns it from here on */
    CT_TRY(ct_json_set(best, "metric_sums", sums_json(b->sums)));
    CT_TRY(ct_json_set(best, "epoch", json_integer(b->epoch)));
    return ct_json_set(best, "step", json_integer(b->step));
}

static ct_status put_arrival(json_t *o, const ct_arrival *a)
{
    if (!a->reached) return CT_OK;
    json_t *target = json_object();
    CT_TRY(ct_json_set(o, "target", target)); /* o owns it from here on */
    CT_TRY(ct_json_set(target, "metric", json_string(a->metric)));
    CT_TRY(ct_json_set(target, "value", ct_json_number(a->value)));
    CT_TRY(ct_json_set(target, "step", json_integer(a->step)));
    CT_TRY(ct_json_set(target, "samples", json_integer(a->samples)));
    CT_TRY(ct_json_set(target, "seconds", ct_json_number(a->seconds)));
    return ct_json_set(target, "eval_seconds", ct_json_number(a->eval_seconds));
}

ct_status ct_progress_to_json(const ct_progress *p, char **out)
{
    ct_status st = CT_OK;
    *out = NULL;
    json_t *o = json_object();
    CT_GOTO(st, ct_json_set(o, "metric_sums", sums_json(p->sums)));
    CT_GOTO(st, ct_json_set(o, "epoch", json_integer(p->epoch)));
    CT_GOTO(st, ct_json_set(o, "batch", json_integer(p->batch)));
    CT_GOTO(st, ct_json_set(o, "step", json_integer(p->step)));
    CT_GOTO(st, ct_json_set(o, "samples", json_integer(p->samples)));
    CT_GOTO(st, ct_json_set(o, "seconds", ct_json_number(p->seconds)));
    CT_GOTO(st, ct_json_set(o, "step_seconds", ct_json_number(p->step_seconds)));
    CT_GOTO(st, ct_json_set(o, "setup_seconds", ct_json_number(p->setup_seconds)));
    CT_GOTO(st, ct_json_set(o, "eval_seconds", ct_json_number(p->eval_seconds)));
    CT_GOTO(st, ct_json_set(o, "scored", json_integer(p->scored)));
    CT_GOTO(st, put_arrival(o, &p->target));
    CT_GOTO(st, ct_json_set(o, "finished", json_boolean(p->finished)));
    CT_GOTO(st, ct_json_set(o, "stopped_early", json_boolean(p->stopped_early)));
    CT_GOTO(st, ct_json_set(o, "bad_in_a_row", json_integer(p->bad_in_a_row)));
    CT_GOTO(st, ct_json_set(o, "journal_bytes", json_integer(p->journal_bytes)));
    CT_GOTO(st, put_best(o, &p->best));
    if (p->stopper.any) CT_GOTO(st, ct_json_set(o, "stop_reference", ct_json_number(p->stopper.reference)));
    CT_GOTO(st, ct_json_set(o, "stale", json_integer(p->stopper.stale)));
    if (p->stopper.guarded) CT_GOTO(st, ct_json_set(o, "stop_guard", ct_json_number(p->stopper.guard)));
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

/* Files of version 0.1, which knew one task: what it counted has its slots in this order. */
enum { OLD_STRINGS = CT_METRIC_FIRST, OLD_CHARS, OLD_CHARS_OK, OLD_EDITS, OLD_INFEASIBLE };

/* Metric sums; or, under another key, those of version 0.1: always eight, in an order of their own. */
static bool get_sums(const json_t *o, double out[CT_METRIC_COUNT])
{
    static const int before[] = { CT_METRIC_SAMPLES, OLD_STRINGS,       OLD_CHARS, OLD_CHARS_OK,
                                  CT_METRIC_LOSS,    CT_METRIC_BATCHES, OLD_EDITS, OLD_INFEASIBLE };
    const json_t *sums = json_object_get(o, "metric_sums"), *old = json_object_get(o, "sums");
    const size_t count = json_array_size(sums ? sums : old);
    bool ok = sums ? json_is_array(sums) && count <= CT_METRIC_COUNT : count == sizeof before / sizeof before[0];
    for (size_t i = 0; ok && i < count; i++)
        out[sums ? (int)i : before[i]] = get_number(json_array_get(sums ? sums : old, i), &ok);
    return ok;
}

/* The best weights' scores as version 0.1 wrote them: by name, with the mean of the loss. */
static void get_old_scores(const json_t *o, double out[CT_METRIC_COUNT], bool *ok)
{
    out[CT_METRIC_SAMPLES] = (double)get_int(o, "samples", ok);
    out[CT_METRIC_LOSS] = get_number(json_object_get(o, "loss"), ok) * out[CT_METRIC_SAMPLES];
    out[OLD_STRINGS] = (double)get_int(o, "strings", ok);
    out[OLD_CHARS] = (double)get_int(o, "chars", ok);
    out[OLD_CHARS_OK] = (double)get_int(o, "chars_ok", ok);
    if (json_object_get(o, "edits")) out[OLD_EDITS] = (double)get_int(o, "edits", ok);
    if (json_object_get(o, "infeasible")) out[OLD_INFEASIBLE] = (double)get_int(o, "infeasible", ok);
}

static void get_best(const json_t *o, ct_best *b, bool *ok)
{
    if (!o) return;
    b->any = true;
    b->epoch = get_int(o, "epoch", ok);
    b->step = get_int(o, "step", ok);
    if (!json_object_get(o, "metric_sums")) get_old_scores(o, b->sums, ok);
    else if (!get_sums(o, b->sums)) *ok = false;
}

static void get_arrival(const json_t *o, ct_arrival *a, bool *ok)
{
    if (!o) return;
    const char *metric = json_string_value(json_object_get(o, "metric"));
    if (!metric || strlen(metric) >= sizeof a->metric) {
        *ok = false;
        return;
    }
    a->reached = true;
    memcpy(a->metric, metric, strlen(metric) + 1);
    a->value = get_number(json_object_get(o, "value"), ok);
    a->step = get_int(o, "step", ok);
    a->samples = get_int(o, "samples", ok);
    a->seconds = get_number(json_object_get(o, "seconds"), ok);
    a->eval_seconds = get_number(json_object_get(o, "eval_seconds"), ok);
}

/* Files of former versions do not say how long set-up and scoring took, nor where they scored last. */
static void get_times(const json_t *o, ct_progress *p, bool *ok)
{
    if (!json_object_get(o, "scored")) return;
    p->setup_seconds = get_number(json_object_get(o, "setup_seconds"), ok);
    p->eval_seconds = get_number(json_object_get(o, "eval_seconds"), ok);
    p->scored = get_int(o, "scored", ok);
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
    const json_t *guard = json_object_get(o, "stop_guard");
    if (guard) {
        p->stopper.guarded = true;
        p->stopper.guard = get_number(guard, &ok);
    }
    if (ref) {
        p->stopper.any = true;
        p->stopper.reference = get_number(ref, &ok);
    }
    if (!get_sums(o, p->sums)) ok = false;
    get_best(best, &p->best, &ok);
    get_times(o, p, &ok);
    get_arrival(json_object_get(o, "target"), &p->target, &ok);
    if (p->epoch < 0 || p->batch < 0 || p->step < 0) ok = false;
    json_decref(o);
    return ok ? CT_OK : ct_fail(CT_EFORMAT, "%s: the run's progress is incomplete", source);
}
