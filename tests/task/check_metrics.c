/* Metrics of a task, the best tracker, early stopping, the run's progress as JSON, which changes of the
 * configuration a resume takes. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/run.h"
#include "task/text/text.h"
#include "task/track.h"
#include "tests/ct_check.h"
#include "weights/checkpoint.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

/* What texts of four characters count: `right` of `of` samples, every character of the others wrong. */
static const double *sums_of(int64_t right, int64_t of, double loss)
{
    static double s[CT_METRIC_COUNT];
    s[CT_METRIC_SAMPLES] = (double)of;
    s[CT_METRIC_LOSS] = loss * (double)of;
    s[CT_TEXT_STRINGS] = (double)right;
    s[CT_TEXT_CHARS] = 4 * (double)of;
    s[CT_TEXT_CHARS_OK] = 4 * (double)right;
    s[CT_TEXT_EDITS] = 4 * (double)(of - right);
    return s;
}

static const ct_metric_row *metric(const char *key)
{
    const ct_metric_row *row = NULL;
    for (int i = 0; i < CT_TEXT_METRICS; i++)
        if (strcmp(ct_text_metrics[i].key, key) == 0) row = &ct_text_metrics[i];
    ck_assert_msg(row != NULL, "no metric %s", key);
    return row;
}

/* ---- a task of another kind: how far off points are, and whether there is one at all ---- */

enum { POINTS = CT_METRIC_FIRST, DISTANCE, FOUND, LOST, STRAY };

static double distance_of(const double sums[CT_METRIC_COUNT])
{
    return sums[POINTS] > 0 ? sums[DISTANCE] / sums[POINTS] : NAN;
}

static double found_of(const double sums[CT_METRIC_COUNT])
{
    return sums[CT_METRIC_SAMPLES] > 0 ? sums[FOUND] / sums[CT_METRIC_SAMPLES] : NAN;
}

static const ct_metric_row measures[] = {
    { .key = "distance", .label = "distance", .curve = "distance", .unit = "px", .smaller_is_better = true,
      .brief = true, .value = distance_of },
    { .key = "found", .label = "found", .curve = "found", .unit = "%", .brief = true, .value = found_of },
};
static const ct_count_row counts[] = { { "lost", LOST, false }, { "stray", STRAY, true } };
static const ct_task points = {
    .name = "points", .metric = measures, .metrics = 2, .count = counts, .counts = 2, .select = "distance"
};

/* Ten samples, as many points at `distance` pixels on the average. */
static const double *points_of(double distance, int found, double loss)
{
    static double s[CT_METRIC_COUNT];
    s[CT_METRIC_SAMPLES] = s[POINTS] = 10;
    s[CT_METRIC_LOSS] = 10 * loss;
    s[DISTANCE] = 10 * distance;
    s[FOUND] = found;
    s[LOST] = 10 - found;
    return s;
}

/* ---- as numbers and text ---- */

static char *compact(json_t *o)
{
    char *text = ct_json_text(o, 0);
    ck_assert_ptr_nonnull(text);
    json_decref(o);
    return text;
}

START_TEST(test_metrics_json)
{
    const double none[CT_METRIC_COUNT] = { 0 };
    double sums[CT_METRIC_COUNT];
    json_t *o = json_object();
    ok(ct_metrics_json(&points, none, o));
    char *text = compact(o);
    ck_assert_str_eq(text, "{\"loss\":null,\"distance\":null,\"found\":null,\"lost\":0}");
    ct_free(text);
    memcpy(sums, points_of(1.5, 8, 0.25), sizeof sums);
    sums[STRAY] = 3; /* rare: told where it occurs */
    ok(ct_metrics_json(&points, sums, o = json_object()));
    text = compact(o);
    ck_assert_str_eq(text, "{\"loss\":0.25,\"distance\":1.5,\"found\":0.8,\"lost\":2,\"stray\":3}");
    ct_free(text);
}
END_TEST

/* Where a loss has several terms each has its own mean; a loss of one term is told once. */
START_TEST(test_terms)
{
    static const char *const name[] = { "class", "point", "mask" };
    double sums[CT_METRIC_COUNT] = { [CT_METRIC_SAMPLES] = 8, [CT_METRIC_LOSS] = 24 };
    sums[CT_METRIC_TERMS] = 4;
    sums[CT_METRIC_TERMS + 1] = 10;
    sums[CT_METRIC_TERMS + 2] = NAN;
    json_t *o = json_object();
    ok(ct_metrics_terms(name, 0, sums, o));
    ok(ct_metrics_terms(name, 1, sums, o));
    ck_assert_uint_eq(json_object_size(o), 0);
    ok(ct_metrics_terms(name, 2, sums, o));
    char *text = compact(o);
    ck_assert_str_eq(text, "{\"losses\":{\"class\":0.5,\"point\":1.25}}");
    ct_free(text);
    ok(ct_metrics_terms(name, 3, sums, o = json_object()));
    text = compact(o);
    ck_assert_str_eq(text, "{\"losses\":{\"class\":0.5,\"point\":1.25,\"mask\":null}}");
    ct_free(text);
    sums[CT_METRIC_SAMPLES] = sums[CT_METRIC_TERMS] = 0; /* nothing was scored */
    ok(ct_metrics_terms(name, 2, sums, o = json_object()));
    text = compact(o);
    ck_assert_str_eq(text, "{\"losses\":{\"class\":null,\"point\":null}}");
    ct_free(text);
}
END_TEST

START_TEST(test_metric_text)
{
    static const ct_metric_row plain = { .key = "plain", .label = "plain", .curve = "plain", .unit = "" };
    char b[80], small[12];
    ck_assert_str_eq(ct_metric_text(&measures[0], 0.7149, b, sizeof b), "0.7149 px");
    ck_assert_str_eq(ct_metric_text(&measures[0], 1234.56, b, sizeof b), "1235 px");
    ck_assert_str_eq(ct_metric_text(&measures[1], 0.98204, b, sizeof b), "98.20 %");
    ck_assert_str_eq(ct_metric_text(&plain, 2, b, sizeof b), "2");
    ck_assert_str_eq(ct_metric_text(&measures[1], NAN, b, sizeof b), "-");
    ck_assert_str_eq(ct_metrics_brief(&points, points_of(1.5, 8, 0.25), b, sizeof b), "distance 1.5 px, found 80.00 %");
    ck_assert_str_eq(ct_metrics_brief(&points, points_of(1.5, 8, 0.25), small, sizeof small), "distance 1.");
    ct_metrics_brief(&ct_task_text, sums_of(5, 10, 1), b, sizeof b);
    ck_assert_str_eq(b, "strings 50.00 %, characters 50.00 %");
}
END_TEST

/* ---- eval.select_by ---- */

/* Names, the task's own, and what is no metric. */
START_TEST(test_select)
{
    static const char *const names[] = { "string_accuracy", "char_accuracy", "loss", "cer" };
    const ct_metric_row *by;
    ct_config *c;
    for (int i = 0; i < 4; i++) {
        char *upper = ct_asprintf("eval.select_by=%c%s", names[i][0] - 'a' + 'A', names[i] + 1), *kept;
        const char *sets[] = { upper };
        ok(ct_config_parse("", 0, "t.yaml", sets, 1, &c));
        ok(ct_metric_select(c, &ct_task_text, &by));
        ck_assert_ptr_eq(by, strcmp(names[i], "loss") == 0 ? &ct_metric_loss : metric(names[i]));
        ok(ct_metric_settle(c));
        kept = ct_config_value(c, "eval.select_by");
        ck_assert_str_eq(kept, names[i]);
        ct_free(kept);
        ct_free(upper);
        ct_config_free(c);
    }
    ok(ct_config_defaults(&c));
    ck_assert_str_eq(c->eval.select_by, "auto");
    ok(ct_metric_select(c, &points, &by)); /* each task has its own choice */
    ck_assert_ptr_eq(by, &measures[0]);
    ok(ct_metric_settle(c));
    ck_assert_str_eq(c->eval.select_by, "string_accuracy");
    ck_assert(!ct_config_is_set(c, "eval.select_by") && !ct_metric_keeps_last(c));
    ok(ct_config_set(c, "eval.select_by", "Last", "test"));
    ck_assert(ct_metric_keeps_last(c));
    ok(ct_metric_select(c, &points, &by)); /* for early stopping */
    ck_assert_ptr_eq(by, &measures[0]);
    ok(ct_metric_settle(c));
    ck_assert_str_eq(c->eval.select_by, "last");
    ct_config_free(c);
    static const char bad[] = "eval:\n  select_by: char_acuracy\n";
    ok(ct_config_parse(bad, strlen(bad), "t.yaml", NULL, 0, &c));
    ck_assert_int_eq(ct_metric_settle(c), CT_ECONFIG);
    ck_assert_str_eq(ct_error_message(),
                     "t.yaml:2:3: eval.select_by: no metric 'char_acuracy'; did you mean 'char_accuracy'?");
    /* a metric of one task is none of another */
    ok(ct_config_set(c, "eval.select_by", "fount", "test"));
    ck_assert_int_eq(ct_metric_select(c, &points, &by), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "no metric 'fount'; did you mean 'found'?"));
    ct_config_free(c);
}
END_TEST

/* ---- judges ---- */

START_TEST(test_best)
{
    const ct_metric_row *strings = metric("string_accuracy");
    ct_best b = { 0 };
    ck_assert(ct_best_update(&b, strings, sums_of(5, 10, 1.0), 1, 10));
    ck_assert(!ct_best_update(&b, strings, sums_of(4, 10, 0.1), 2, 20));
    ck_assert(ct_best_update(&b, strings, sums_of(5, 10, 0.8), 3, 30));
    ck_assert(ct_best_update(&b, strings, sums_of(5, 10, 0.9), 4, 40)); /* a tie: the later, whatever the loss */
    ck_assert(!ct_best_update(&b, strings, sums_of(9, 10, NAN), 5, 50));
    ck_assert(!ct_best_update(&b, strings, sums_of(9, 10, INFINITY), 5, 50));
    ck_assert_int_eq(b.epoch, 4);
    ck_assert_int_eq(b.step, 40);
    ck_assert_mem_eq(b.sums, sums_of(5, 10, 0.9), sizeof b.sums);
    ck_assert(ct_best_update(&b, &ct_metric_loss, sums_of(1, 10, 0.5), 6, 60));
    /* the smaller error rate wins, whatever the strings say */
    double s[CT_METRIC_COUNT];
    memcpy(s, sums_of(1, 10, 0.5), sizeof s);
    s[CT_TEXT_CHARS_OK] = 30;
    s[CT_TEXT_EDITS] = 12;
    ck_assert(ct_best_update(&b, metric("cer"), s, 7, 70));
    s[CT_TEXT_EDITS] = 13;
    s[CT_TEXT_STRINGS] = 9;
    ck_assert(!ct_best_update(&b, metric("cer"), s, 8, 80));
    ck_assert_int_eq(b.epoch, 7);
}
END_TEST

/* A metric of another task, in pixels: less is better. */
START_TEST(test_best_of_smaller)
{
    ct_best b = { 0 };
    double none[CT_METRIC_COUNT];
    memcpy(none, points_of(0, 10, 0), sizeof none);
    none[POINTS] = 0; /* the distance is not known */
    ck_assert(!ct_best_update(&b, &measures[0], none, 1, 10));
    ck_assert(!b.any);
    ck_assert(ct_best_update(&b, &measures[0], points_of(4, 2, 3), 1, 10));
    ck_assert(!ct_best_update(&b, &measures[0], points_of(4.5, 9, 0.1), 2, 20));
    ck_assert(ct_best_update(&b, &measures[0], points_of(3.5, 1, 9), 3, 30));
    ck_assert(ct_best_update(&b, &measures[0], points_of(3.5, 9, 8), 4, 40));
    ck_assert(ct_best_update(&b, &measures[0], points_of(3.5, 1, 9), 5, 50)); /* a tie: the later, whatever the loss */
    ck_assert(!ct_best_update(&b, &measures[0], points_of(1, 9, NAN), 6, 60));
    ck_assert(ct_best_update(&b, NULL, points_of(9, 1, 9), 6, 60)); /* the last, though it is worse */
    ck_assert_int_eq(b.step, 60);
    ck_assert(!ct_best_update(&b, NULL, points_of(1, 9, NAN), 7, 70));
    ck_assert(ct_best_update(&b, &measures[0], points_of(3.5, 1, 9), 7, 70));
    ck_assert(!ct_best_update(&b, &measures[0], none, 7, 70));
    ck_assert(b.any && b.epoch == 7 && b.step == 70 && distance_of(b.sums) == 3.5);
}
END_TEST

/* A tracker that is fed only when early stopping looks, which is after min_epochs, once made every epoch before "best"
 * and none after. Here the best epoch lies before min_epochs, and a worse one comes last. */
START_TEST(test_best_does_not_depend_on_early_stopping)
{
    static const int64_t right[] = { 3, 8, 5, 4, 6, 5, 2 };
    const ct_metric_row *strings = metric("string_accuracy");
    for (int enabled = 0; enabled < 2; enabled++) {
        ct_cfg_early_stopping rule = { .enabled = enabled == 1, .patience = 2, .min_epochs = 6 };
        ct_best b = { 0 };
        ct_stopper st = { 0 };
        int stopped = 0;
        for (int e = 1; e <= 7 && !stopped; e++) {
            const double *s = sums_of(right[e - 1], 10, 1);
            ct_best_update(&b, strings, s, e, 10 * e);
            if (ct_stopper_update(&st, &rule, strings, s, e)) stopped = e;
        }
        ck_assert_int_eq(b.epoch, 2);
        ck_assert(b.sums[CT_TEXT_STRINGS] == 8);
        ck_assert_int_eq(stopped, enabled ? 6 : 0); /* patience was spent long before, min_epochs holds it back */
    }
}
END_TEST

START_TEST(test_stopper)
{
    const ct_metric_row *strings = metric("string_accuracy");
    ct_cfg_early_stopping rule = { .enabled = true, .patience = 3, .min_delta = 0.05 };
    ct_stopper st = { 0 };
    ck_assert(!ct_stopper_update(&st, &rule, strings, sums_of(50, 100, 1), 1));
    /* better, but not by more than min_delta */
    ck_assert(!ct_stopper_update(&st, &rule, strings, sums_of(54, 100, 1), 2));
    ck_assert_int_eq(st.stale, 1);
    /* against the reference, not against the last */
    ck_assert(!ct_stopper_update(&st, &rule, strings, sums_of(58, 100, 1), 3));
    ck_assert_int_eq(st.stale, 0);
    ck_assert(!ct_stopper_update(&st, &rule, strings, sums_of(99, 100, NAN), 4));
    ck_assert(!ct_stopper_update(&st, &rule, strings, sums_of(99, 100, NAN), 5));
    ck_assert(ct_stopper_update(&st, &rule, strings, sums_of(99, 100, NAN), 6));
    ct_stopper by_loss = { 0 };
    ct_stopper_update(&by_loss, &rule, &ct_metric_loss, sums_of(0, 100, 2), 1);
    ct_stopper_update(&by_loss, &rule, &ct_metric_loss, sums_of(0, 100, 1.9), 2);
    ck_assert_int_eq(by_loss.stale, 0);
}
END_TEST

/* A second metric takes three evaluations back when it improves by more than its own min_delta. */
START_TEST(test_second_guard)
{
    const ct_cfg_second_guard rule = { .min_delta = 0.5 };
    ct_stopper st = { .stale = 5 };
    ct_stopper_guard(&st, &rule, NULL, points_of(8, 1, 1));
    ck_assert(!st.guarded && st.stale == 5);
    ct_stopper_guard(&st, &rule, &measures[0], points_of(8, 1, 1)); /* the first one: nothing has improved */
    ck_assert(st.guarded && st.guard == 8 && st.stale == 5);
    ct_stopper_guard(&st, &rule, &measures[0], points_of(7.75, 1, 1));
    ck_assert(st.guard == 8 && st.stale == 5);
    ct_stopper_guard(&st, &rule, &measures[0], points_of(7, 1, 1));
    ck_assert(st.guard == 7 && st.stale == 2);
    ct_stopper_guard(&st, &rule, &measures[0], points_of(6, 1, 1));
    ck_assert(st.guard == 6 && st.stale == 0);
}
END_TEST

/* min_delta is in the metric's own unit, here pixels that are to become fewer. */
START_TEST(test_stopper_of_smaller)
{
    ct_cfg_early_stopping rule = { .enabled = true, .patience = 2, .min_delta = 0.5 };
    ct_stopper st = { 0 };
    ck_assert(!ct_stopper_update(&st, &rule, &measures[0], points_of(8, 1, 1), 1));
    ck_assert(!ct_stopper_update(&st, &rule, &measures[0], points_of(7.75, 1, 1), 2)); /* fewer, but not by enough */
    ck_assert(st.stale == 1 && st.reference == 8);
    ck_assert(!ct_stopper_update(&st, &rule, &measures[0], points_of(7.25, 1, 1), 3));
    ck_assert(st.stale == 0 && st.reference == 7.25);
    ck_assert(!ct_stopper_update(&st, &rule, &measures[0], points_of(9, 9, 1), 4)); /* more is worse */
    ck_assert(ct_stopper_update(&st, &rule, &measures[0], points_of(20, 10, 1), 5));
    ck_assert(st.stale == 2 && st.reference == 7.25);
    rule.patience = 3; /* a resumed run asks again */
    ck_assert(!ct_stopper_done(&st, &rule, 5));
    rule.patience = 1;
    ck_assert(ct_stopper_done(&st, &rule, 5));
    rule.min_epochs = 6;
    ck_assert(!ct_stopper_done(&st, &rule, 5));
}
END_TEST

/* ---- progress ---- */

START_TEST(test_progress_round_trip)
{
    ct_progress p, q;
    char *text;
    memset(&p, 0, sizeof p);
    p.epoch = 3;
    p.batch = 17;
    p.step = 1234567890123;
    p.samples = 99;
    p.seconds = 0.1 + 0.2;
    p.step_seconds = 1.0 / 3;
    p.finished = true;
    p.best.any = true;
    p.best.epoch = 2;
    p.best.step = 55;
    memcpy(p.best.sums, sums_of(7, 11, 0.1), sizeof p.best.sums);
    p.best.sums[CT_TEXT_EDITS] = 19;
    p.best.sums[CT_TEXT_INFEASIBLE] = 2;
    p.best.sums[CT_METRIC_TERMS + 1] = 0.75;
    p.stopper.any = true;
    p.stopper.reference = 7.0 / 11;
    p.stopper.stale = 4;
    p.stopper.guarded = true;
    p.stopper.guard = 2.5;
    p.sums[CT_METRIC_LOSS] = 1e-300;
    p.journal_bytes = 4096;
    p.bad_in_a_row = 2;
    p.setup_seconds = 0.7;
    p.eval_seconds = 1e-3;
    p.scored = 50;
    p.target = (ct_arrival){ .reached = true, .metric = "char_accuracy", .value = 0.1 + 0.7, .step = 50, .samples = 3200 };
    p.target.seconds = 2.0 / 3;
    p.target.eval_seconds = 1.0 / 7;
    ok(ct_progress_to_json(&p, &text));
    ok(ct_progress_from_json(text, "test", &q));
    ck_assert_mem_eq(&p, &q, sizeof p);
    ck_assert_msg(strstr(text, "\"metric_sums\":[0.0,1e-300]"), "%s", text);
    /* anything missing is noticed */
    char *cut = strstr(text, "\"stale\"");
    ck_assert_ptr_nonnull(cut);
    memcpy(cut, "\"stalf\"", 7);
    ck_assert_int_eq(ct_progress_from_json(text, "test", &q), CT_EFORMAT);
    ck_assert_int_eq(ct_progress_from_json("{", "test", &q), CT_EFORMAT);
    ct_free(text);
    p.sums[CT_METRIC_COUNT - 1] = NAN;
    ok(ct_progress_to_json(&p, &text));
    ok(ct_progress_from_json(text, "test", &q));
    ck_assert(isnan(q.sums[CT_METRIC_COUNT - 1]) && q.sums[CT_METRIC_LOSS] == 1e-300);
    ct_free(text);
    p.sums[CT_METRIC_COUNT - 1] = 0;
    p.best.sums[CT_METRIC_LOSS] = NAN;
    ok(ct_progress_to_json(&p, &text));
    ok(ct_progress_from_json(text, "test", &q));
    ck_assert(isnan(q.best.sums[CT_METRIC_LOSS]) && q.best.sums[CT_TEXT_EDITS] == 19);
    ct_free(text);
}
END_TEST

/* Text of p's progress with `part` replaced: ct_free(). */
static char *with_other(const ct_progress *p, const char *part, const char *other)
{
    char *text, *whole;
    ok(ct_progress_to_json(p, &text));
    char *at = strstr(text, part);
    ck_assert_msg(at != NULL, "no %s in %s", part, text);
    whole = ct_asprintf("%.*s%s%s", (int)(at - text), text, other, at + strlen(part));
    ck_assert_ptr_nonnull(whole);
    ct_free(text);
    return whole;
}

/* Version 0.1: eight sums, in another order. */
START_TEST(test_progress_before)
{
    static const char sums[] = "\"metric_sums\":[0.0,0.0,0.0,7.0]", before[] = "\"sums\":[64,7,256,100,12.5,2,159,3]";
    ct_progress p, q;
    memset(&p, 0, sizeof p);
    p.sums[CT_TEXT_STRINGS] = 7;
    char *old = with_other(&p, sums, before);
    ok(ct_progress_from_json(old, "test", &q));
    p.sums[CT_METRIC_SAMPLES] = 64;
    p.sums[CT_METRIC_LOSS] = 12.5;
    p.sums[CT_METRIC_BATCHES] = 2;
    p.sums[CT_TEXT_CHARS] = 256;
    p.sums[CT_TEXT_CHARS_OK] = 100;
    p.sums[CT_TEXT_EDITS] = 159;
    p.sums[CT_TEXT_INFEASIBLE] = 3;
    ck_assert_mem_eq(&p, &q, sizeof p);
    /* one of them missing */
    memmove(strstr(old, ",159"), strstr(old, ",3]"), strlen(strstr(old, ",3]")) + 1);
    ck_assert_int_eq(ct_progress_from_json(old, "test", &q), CT_EFORMAT);
    ct_free(old);
}
END_TEST

/* Version 0.1: the best weights by name, with the mean of the loss; its first files had neither edits nor samples that
 * do not fit. */
START_TEST(test_best_before)
{
    static const char sums[] = "\"metric_sums\":[1.0]";
    static const struct { const char *tail; double loss, edits, infeasible; ct_status want; } row[] = {
        { "\"chars_ok\":68,\"edits\":13,\"infeasible\":2,\"loss\":1.25", 50, 13, 2, CT_OK },
        { "\"chars_ok\":68,\"loss\":1.25", 50, 0, 0, CT_OK },
        { "\"chars_ok\":68,\"loss\":null", NAN, 0, 0, CT_OK },
        { "\"loss\":1.25", 0, 0, 0, CT_EFORMAT },
        { "\"chars_ok\":68,\"edits\":\"13\",\"loss\":1.25", 0, 0, 0, CT_EFORMAT },
    };
    ct_progress p, q;
    memset(&p, 0, sizeof p);
    p.best = (ct_best){ .any = true, .epoch = 5, .step = 190, .sums = { [CT_METRIC_SAMPLES] = 1 } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *scores = ct_asprintf("\"samples\":40,\"strings\":28,\"chars\":81,%s", row[i].tail);
        char *old = with_other(&p, sums, scores);
        ck_assert_int_eq(ct_progress_from_json(old, "test", &q), row[i].want);
        ct_free(scores);
        ct_free(old);
        if (row[i].want != CT_OK) continue;
        const double *s = q.best.sums;
        ck_assert(q.best.any && q.best.epoch == 5 && q.best.step == 190);
        ck_assert(s[CT_METRIC_SAMPLES] == 40 && s[CT_TEXT_STRINGS] == 28);
        ck_assert(s[CT_TEXT_CHARS] == 81 && s[CT_TEXT_CHARS_OK] == 68);
        ck_assert(s[CT_TEXT_EDITS] == row[i].edits && s[CT_TEXT_INFEASIBLE] == row[i].infeasible);
        ck_assert(isnan(row[i].loss) ? isnan(s[CT_METRIC_LOSS]) : s[CT_METRIC_LOSS] == row[i].loss);
        /* edits are counted, or follow from the characters */
        ck_assert(metric("char_accuracy")->value(s) == 68.0 / 81);
    }
}
END_TEST

/* ---- what a resume takes ---- */

static ct_config *config(const char *a, const char *b)
{
    const char *sets[2] = { a, b };
    ct_config *cfg;
    ok(ct_config_load(NULL, sets, b ? 2 : a ? 1 : 0, &cfg));
    return cfg;
}

START_TEST(test_conflicts)
{
    char *list;
    ct_config *old = config(NULL, NULL), *now = config(NULL, NULL);
    ok(ct_resume_conflicts(old, now, true, &list));
    ck_assert_ptr_null(list);
    ct_config_free(now);
    now = config("train.workers=7", "log.interval_steps=3");
    ok(ct_resume_conflicts(old, now, true, &list));
    ck_assert_ptr_null(list);
    ct_config_free(now);
    now = config("optimizer.lr=0.125", "augment.shift=2");
    ok(ct_resume_conflicts(old, now, true, &list));
    ck_assert_ptr_nonnull(strstr(list, "optimizer.lr ("));
    ck_assert_ptr_nonnull(strstr(list, "-> 0.125"));
    ck_assert_ptr_nonnull(strstr(list, "augment.shift"));
    ct_free(list);
    ct_config_free(now);
    now = config("train.epochs=777", NULL);
    ok(ct_resume_conflicts(old, now, true, &list)); /* the learning rates stay */
    ck_assert_ptr_null(list);
    ok(ct_resume_conflicts(old, now, false, &list));
    ck_assert_ptr_nonnull(strstr(list, "train.epochs"));
    ct_free(list);
    /* without memory: an error, never a wrong answer */
    for (long n = 0;; n++) {
        ct_alloc_fail_after(n);
        ct_status st = ct_resume_conflicts(old, now, false, &list);
        bool done = st == CT_OK;
        ct_alloc_fail_after(-1);
        if (done) {
            ck_assert_ptr_nonnull(list);
            ct_free(list);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_ptr_null(list);
    }
    ct_config_free(now);
    ct_config_free(old);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_metrics_json);
    tcase_add_test(t, test_terms);
    tcase_add_test(t, test_metric_text);
    tcase_add_test(t, test_select);
    tcase_add_test(t, test_best);
    tcase_add_test(t, test_best_of_smaller);
    tcase_add_test(t, test_best_does_not_depend_on_early_stopping);
    tcase_add_test(t, test_stopper);
    tcase_add_test(t, test_stopper_of_smaller);
    tcase_add_test(t, test_second_guard);
    tcase_add_test(t, test_progress_round_trip);
    tcase_add_test(t, test_progress_before);
    tcase_add_test(t, test_best_before);
    tcase_add_test(t, test_conflicts);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(suite()); }
