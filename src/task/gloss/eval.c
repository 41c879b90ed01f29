/* What eval and predict say about glosses. */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/gloss/findings.h"

#define SHOWN_CONFUSIONS 10
#define SHOWN_WRONG 10

static double share(int64_t n, int64_t of) { return of > 0 ? (double)n / (double)of : 0; }

/* ---- eval ---- */

static ct_status put_signers(json_t *out, const ct_gloss_findings *t)
{
    ct_gloss_part *part;
    size_t n;
    json_t *list = json_array();
    CT_TRY(ct_json_set(out, "by_signer", list));
    CT_TRY(ct_gloss_by_signer(t, &part, &n));
    ct_status st = CT_OK;
    for (size_t k = 0; k < n && st == CT_OK; k++) {
        json_t *row = json_object();
        if (json_array_append_new(list, row) != 0) st = ct_fail(CT_ENOMEM, "out of memory writing scores");
        if (st == CT_OK) st = ct_json_set(row, "signer", ct_json_any(part[k].name));
        if (st == CT_OK) st = ct_json_set(row, "samples", json_integer(part[k].samples));
        if (st == CT_OK) st = ct_json_set(row, "wer", ct_json_number(share(part[k].edits, part[k].words)));
    }
    ct_free(part);
    return st;
}

static ct_status put_confusions(json_t *out, const ct_gloss_findings *t)
{
    const ct_confusion *c;
    const int n = ct_confusions_most(&t->edits, SHOWN_CONFUSIONS, &c);
    json_t *list = json_array();
    CT_TRY(ct_json_set(out, "confusions", list));
    for (int k = 0; k < n; k++) {
        const char *label = c[k].label < 0 ? "" : ct_signed_word(t, c[k].label);
        const char *read = c[k].pred < 0 ? "" : ct_signed_word(t, c[k].pred);
        json_t *row = json_pack("{s:s,s:s,s:I}", "label", label, "predicted", read, "count", (json_int_t)c[k].n);
        if (json_array_append_new(list, row) != 0) return ct_fail(CT_ENOMEM, "out of memory writing scores");
    }
    return CT_OK;
}

/* A clip that was not read right, with its label and what was read. */
static ct_status put_wrong(json_t *list, const ct_gloss_findings *t, int64_t i)
{
    char *label, *read;
    json_t *row = json_object();
    if (json_array_append_new(list, row) != 0) return ct_fail(CT_ENOMEM, "out of memory writing scores");
    CT_TRY(ct_gloss_example(&t->base, i, &label, &read));
    const int64_t sample = ct_view_sample(&t->base.view, i);
    ct_status st = ct_json_set(row, "file", ct_json_any(ct_dataset_name(t->base.view.data, sample)));
    if (st == CT_OK) st = ct_json_set(row, "label", json_string(label));
    if (st == CT_OK) st = ct_json_set(row, "predicted", json_string(read));
    if (st == CT_OK) st = ct_json_set(row, "edits", json_integer(t->edited[i]));
    if (st == CT_OK) st = ct_json_set(row, "confidence", ct_json_number(ct_signed_confidence(t, i)));
    ct_free(label);
    ct_free(read);
    return st;
}

ct_status ct_gloss_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *out)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    json_t *wrong = json_array();
    CT_TRY(ct_json_set(out, "wrong", wrong));
    CT_TRY(ct_json_set(out, "decoder", json_string(t->beam ? "beam" : "greedy")));
    if (t->beam) CT_TRY(ct_json_set(out, "beam_width", json_integer(t->beam)));
    CT_TRY(ct_gloss_result(f, sums, out));
    CT_TRY(put_signers(out, t));
    CT_TRY(put_confusions(out, t));
    for (int64_t i = 0; i < t->n; i++)
        if (t->edited[i] > 0) CT_TRY(put_wrong(wrong, t, i));
    return CT_OK;
}

static ct_status print_signers(const ct_gloss_findings *t, FILE *to)
{
    ct_gloss_part *part;
    size_t n;
    CT_TRY(ct_gloss_by_signer(t, &part, &n));
    for (size_t k = 0; n > 1 && k < n; k++) {
        fputs(k == 0 ? "by signer        " : "                 ", to);
        ct_text_put(to, *part[k].name ? part[k].name : "(not known)", false);
        fprintf(to, "  %.2f %%  (%" PRId64 " clips)\n", 100 * share(part[k].edits, part[k].words), part[k].samples);
    }
    ct_free(part);
    return CT_OK;
}

static void print_confusions(const ct_gloss_findings *t, FILE *to)
{
    const ct_confusion *c;
    const int n = ct_confusions_most(&t->edits, SHOWN_CONFUSIONS, &c);
    fprintf(to, "edits:  substitutions %" PRId64 "  insertions %" PRId64 "  deletions %" PRId64 "\n",
            t->edits.substitutions, t->edits.insertions, t->edits.deletions);
    if (n > 0) fprintf(to, "most frequent confusions (label read as):\n");
    for (int k = 0; k < n; k++)
        fprintf(to, "  %s -> %s  %" PRId64 "\n", ct_signed_word(t, c[k].label), ct_signed_word(t, c[k].pred), c[k].n);
}

static ct_status print_wrong(const ct_gloss_findings *t, FILE *to)
{
    int shown = 0;
    for (int64_t i = 0; i < t->n && shown < SHOWN_WRONG; i++) {
        char *label, *read;
        if (t->edited[i] == 0) continue;
        CT_TRY(ct_gloss_example(&t->base, i, &label, &read));
        if (shown++ == 0) fprintf(to, "wrong (the first %d):\n", SHOWN_WRONG);
        fputs("  ", to);
        ct_text_put(to, ct_dataset_name(t->base.view.data, ct_view_sample(&t->base.view, i)), false);
        fprintf(to, "\n    label  %s\n    read   %s  (%.1f %%)\n", label, read, 100 * ct_signed_confidence(t, i));
        ct_free(label);
        ct_free(read);
    }
    return CT_OK;
}

ct_status ct_gloss_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    if (t->beam) fprintf(to, "decoder          beam of %d\n", t->beam);
    fprintf(to, "word errors      %.2f %%  (%.0f edits in %.0f glosses); mean over sentences %.2f %%\n",
            100 * ct_gloss_metrics[0].value(sums), sums[CT_GLOSS_EDITS], sums[CT_GLOSS_WORDS],
            100 * ct_gloss_metrics[1].value(sums));
    fprintf(to, "sentences right  %.2f %%  (%.0f)\n", 100 * ct_gloss_metrics[2].value(sums), sums[CT_GLOSS_SENTENCES]);
    fprintf(to, "loss             %.5f\n", ct_metric_loss.value(sums));
    if (sums[CT_GLOSS_INFEASIBLE] > 0)
        fprintf(to, "infeasible       %.0f labels do not fit into their clips' time steps: no part of the loss\n",
                sums[CT_GLOSS_INFEASIBLE]);
    CT_TRY(print_signers(t, to));
    print_confusions(t, to);
    return print_wrong(t, to);
}

/* ---- predict ---- */

double ct_gloss_confidence(const ct_findings *f, int64_t i)
{
    return ct_signed_confidence(ct_gloss_findings_of(f), i);
}

ct_status ct_gloss_predict_json(const ct_findings *f, int64_t i, json_t *row)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    int64_t n;
    const int32_t *word = ct_signed_read(t, i, &n);
    json_t *list = json_array();
    CT_TRY(ct_json_set(row, "glosses", list));
    for (int64_t k = 0; k < n; k++)
        if (json_array_append_new(list, json_string(ct_signed_word(t, word[k]))) != 0)
            return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    const int64_t frames = ct_dataset_frames(f->view.data, ct_view_sample(&f->view, i));
    CT_TRY(ct_json_set(row, "confidence", ct_json_number(ct_signed_confidence(t, i))));
    CT_TRY(ct_json_set(row, "gloss_confidence", list = json_array()));
    for (int64_t k = 0; k < n; k++)
        if (json_array_append_new(list, ct_json_float(t->conf[i * t->columns + k])) != 0)
            return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    CT_TRY(ct_json_set(row, "frames", json_integer(frames)));
    return ct_json_set(row, "steps", json_integer(t->steps[i]));
}

ct_status ct_gloss_predict_text(const ct_findings *f, int64_t i, FILE *to)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    int64_t n;
    const int32_t *word = ct_signed_read(t, i, &n);
    char *text = ct_signed_text(t, word, n);
    if (!text) return CT_ENOMEM;
    fprintf(to, "%s\t%.4f", text, ct_signed_confidence(t, i));
    ct_free(text);
    return CT_OK;
}

ct_status ct_gloss_example(const ct_findings *f, int64_t i, char **label, char **predicted)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    int64_t words, n;
    const int32_t *want = ct_signed_label(t, i, &words), *read = ct_signed_read(t, i, &n);
    *label = ct_signed_text(t, want, words);
    *predicted = ct_signed_text(t, read, n);
    if (*label && *predicted) return CT_OK;
    ct_free(*label);
    ct_free(*predicted);
    *label = *predicted = NULL;
    return CT_ENOMEM;
}
