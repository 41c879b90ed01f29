/* What eval and predict say about texts. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/calibration.h"
#include "task/text/findings.h"

#define SHOWN_CONFUSIONS 10
#define SHOWN_WRONG 10

static double metric(int row, const double *sums) { return ct_text_metrics[row].value(sums); }

/* ---- eval ---- */

/* Counts of edits and the most frequent ones. */
static ct_status put_edits(json_t *out, const ct_text_findings *t)
{
    const ct_charset *cs = &t->facts->charset;
    char a[32], b[32];
    json_t *list;
    if (t->sequence) {
        CT_TRY(ct_json_set(out, "substitutions", json_integer(t->edits.substitutions)));
        CT_TRY(ct_json_set(out, "insertions", json_integer(t->edits.insertions)));
        CT_TRY(ct_json_set(out, "deletions", json_integer(t->edits.deletions)));
    } else {
        CT_TRY(ct_json_set(out, "position_errors", list = json_array()));
        for (int p = 0; p < t->columns; p++) json_array_append_new(list, json_integer(t->errors[p]));
    }
    const ct_confusion *c;
    const int n = ct_confusions_most(&t->edits, SHOWN_CONFUSIONS, &c);
    CT_TRY(ct_json_set(out, "confusions", list = json_array()));
    for (int k = 0; k < n; k++) {
        const char *label = c[k].label < 0 ? "" : ct_confusion_text(cs, c[k].label, a);
        const char *read = c[k].pred < 0 ? "" : ct_confusion_text(cs, c[k].pred, b);
        json_array_append_new(
            list, json_pack("{s:s,s:s,s:I}", "label", label, "predicted", read, "count", (json_int_t)c[k].n));
    }
    return CT_OK;
}

/* Every sample that was not read right. */
static ct_status put_wrong(json_t *out, const ct_text_findings *t)
{
    const ct_view *v = &t->base.view;
    json_t *list = json_array();
    CT_TRY(ct_json_set(out, "wrong", list));
    for (int64_t i = 0; i < t->n; i++) {
        if (ct_text_right(&t->base, i)) continue;
        const int64_t s = ct_view_sample(v, i);
        char *got = ct_found_text(t, i);
        if (!got) return CT_ENOMEM;
        json_array_append_new(list, json_pack("{s:o,s:s,s:s,s:o}", "file", ct_json_any(ct_dataset_name(v->data, s)),
                                              "label", ct_dataset_label_text(v->data, s), "predicted", got,
                                              "confidence", ct_json_number(ct_found_confidence(t, i))));
        ct_free(got);
    }
    return CT_OK;
}

static double calibration_error(const ct_text_findings *t)
{
    ct_reliability r = { 0 };
    for (int64_t i = 0; i < t->n; i++) ct_reliability_add(&r, ct_found_confidence(t, i), ct_text_right(&t->base, i));
    return ct_reliability_error(&r);
}

/* null: uncalibrated. */
static json_t *temperature_of(const ct_text_findings *t)
{
    return t->temperature > 0 ? json_real(t->temperature) : json_null();
}

static ct_status put_confidence(json_t *out, const ct_text_findings *t)
{
    CT_TRY(ct_json_set(out, "temperature", temperature_of(t)));
    return ct_json_set(out, "calibration_error", ct_json_number(calibration_error(t)));
}

ct_status ct_text_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *out)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    CT_TRY(ct_json_set(out, "decoder", json_string(t->beam ? "beam" : "greedy")));
    if (t->beam) CT_TRY(ct_json_set(out, "beam_width", json_integer(t->beam)));
    CT_TRY(ct_json_set(out, "strings_right", json_integer((json_int_t)sums[CT_TEXT_STRINGS])));
    CT_TRY(ct_json_set(out, "chars", json_integer((json_int_t)sums[CT_TEXT_CHARS])));
    CT_TRY(ct_json_set(out, "chars_right", json_integer((json_int_t)sums[CT_TEXT_CHARS_OK])));
    CT_TRY(ct_json_set(out, "edits", json_integer((json_int_t)ct_text_edits(sums))));
    if (t->sequence) CT_TRY(ct_json_set(out, "infeasible", json_integer((json_int_t)sums[CT_TEXT_INFEASIBLE])));
    CT_TRY(put_confidence(out, t));
    CT_TRY(put_edits(out, t));
    return put_wrong(out, t);
}

static void print_edits(const ct_text_findings *t, FILE *to)
{
    const ct_charset *cs = &t->facts->charset;
    char a[32], b[32];
    if (t->sequence) {
        fprintf(to, "edits:  substitutions %" PRId64 "  insertions %" PRId64 "  deletions %" PRId64 "\n",
                t->edits.substitutions, t->edits.insertions, t->edits.deletions);
    } else {
        fprintf(to, "errors by position:");
        for (int p = 0; p < t->columns; p++) fprintf(to, "  %d: %" PRId64, p + 1, t->errors[p]);
        fputc('\n', to);
    }
    const ct_confusion *c;
    const int n = ct_confusions_most(&t->edits, SHOWN_CONFUSIONS, &c);
    if (n > 0) fprintf(to, "most frequent confusions (label read as):\n");
    for (int k = 0; k < n; k++)
        fprintf(to, "  %s -> %s  %" PRId64 "\n", ct_confusion_text(cs, c[k].label, a),
                ct_confusion_text(cs, c[k].pred, b), c[k].n);
}

static ct_status print_wrong(const ct_text_findings *t, FILE *to)
{
    const ct_view *v = &t->base.view;
    int shown = 0;
    for (int64_t i = 0; i < t->n && shown < SHOWN_WRONG; i++) {
        if (ct_text_right(&t->base, i)) continue;
        char *got = ct_found_text(t, i);
        if (!got) return CT_ENOMEM;
        if (shown++ == 0) fprintf(to, "wrong (the first %d):\n", SHOWN_WRONG);
        const int64_t s = ct_view_sample(v, i);
        fputs("  ", to);
        ct_text_put(to, ct_dataset_name(v->data, s), false);
        fprintf(to, "  %s read as %s (%.1f %%)\n", ct_dataset_label_text(v->data, s), got,
                100 * ct_found_confidence(t, i));
        ct_free(got);
    }
    return CT_OK;
}

ct_status ct_text_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    const int64_t chars = (int64_t)sums[CT_TEXT_CHARS];
    if (t->beam) fprintf(to, "decoder          beam of %d\n", t->beam);
    fprintf(to, "string accuracy  %.2f %%  (%" PRId64 " right)\n", 100 * metric(0, sums),
            (int64_t)sums[CT_TEXT_STRINGS]);
    if (t->sequence)
        fprintf(to, "character errors %.2f %%  (%" PRId64 " edits in %" PRId64 " characters)\n", 100 * metric(2, sums),
                (int64_t)ct_text_edits(sums), chars);
    else
        fprintf(to, "char accuracy    %.2f %%  (%" PRId64 " of %" PRId64 ")\n", 100 * metric(1, sums),
                (int64_t)sums[CT_TEXT_CHARS_OK], chars);
    fprintf(to, "loss             %.5f\n", ct_metric_loss.value(sums));
    if (sums[CT_TEXT_INFEASIBLE] > 0)
        fprintf(to,
                "infeasible       %" PRId64 " labels do not fit into their image's time steps: no part of the loss\n",
                (int64_t)sums[CT_TEXT_INFEASIBLE]);
    fprintf(to, "confidence       ");
    if (t->temperature > 0) fprintf(to, "calibrated (temperature %g)", t->temperature);
    else fprintf(to, "uncalibrated");
    fprintf(to, ", %.4f from the accuracy (expected calibration error)\n", calibration_error(t));
    print_edits(t, to);
    return print_wrong(t, to);
}

/* ---- predict ---- */

ct_status ct_text_predict_json(const ct_findings *f, int64_t i, json_t *row)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    const int n = ct_found_length(t, i);
    json_t *chars;
    char *text = ct_found_text(t, i);
    if (!text) return CT_ENOMEM;
    ct_status st = ct_json_set(row, "text", json_string(text));
    ct_free(text);
    CT_TRY(st);
    CT_TRY(ct_json_set(row, "confidence", ct_json_number(ct_found_confidence(t, i))));
    CT_TRY(ct_json_set(row, "calibrated", json_boolean(t->temperature > 0)));
    CT_TRY(ct_json_set(row, "char_confidence", chars = json_array()));
    for (int k = 0; k < n; k++) json_array_append_new(chars, ct_json_float(t->conf[i * t->columns + k]));
    return CT_OK;
}

ct_status ct_text_predict_text(const ct_findings *f, int64_t i, FILE *to)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    char *text = ct_found_text(t, i);
    if (!text) return CT_ENOMEM;
    fprintf(to, "%s\t%.4f", text, ct_found_confidence(t, i));
    ct_free(text);
    return CT_OK;
}

ct_status ct_text_example(const ct_findings *f, int64_t i, char **label, char **predicted)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    *label = ct_strdup(ct_dataset_label_text(f->view.data, ct_view_sample(&f->view, i)), "label");
    *predicted = ct_found_text(t, i);
    if (*label && *predicted) return CT_OK;
    ct_free(*label);
    ct_free(*predicted);
    *label = *predicted = NULL;
    return CT_ENOMEM;
}
