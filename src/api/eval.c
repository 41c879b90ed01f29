/* captrain eval: scores a model file on labelled images. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "captrain.h"
#include "program/spec.h"
#include "run/journal.h"
#include "session/evaluate.h"
#include "task/text/text.h"
#include "weights/checkpoint.h"
#include "weights/use.h"

#define SHOWN_CONFUSIONS 10
#define SHOWN_WRONG 10

/* Counts of edits and the most frequent ones. */
static ct_status put_edits(json_t *out, const ct_detail *d, const ct_charset *cs)
{
    ct_status st;
    char a[32], b[32];
    json_t *list;
    if (d->sequence) {
        CT_GOTO(st, ct_json_set(out, "substitutions", json_integer(d->substitutions)));
        CT_GOTO(st, ct_json_set(out, "insertions", json_integer(d->insertions)));
        CT_GOTO(st, ct_json_set(out, "deletions", json_integer(d->deletions)));
    } else {
        CT_GOTO(st, ct_json_set(out, "position_errors", list = json_array()));
        for (int p = 0; p < d->columns; p++) json_array_append_new(list, json_integer(d->errors[p]));
    }
    ct_confusion c[SHOWN_CONFUSIONS];
    int n = ct_detail_confusions(d, c, SHOWN_CONFUSIONS);
    CT_GOTO(st, ct_json_set(out, "confusions", list = json_array()));
    for (int k = 0; k < n; k++) {
        const char *label = c[k].label < 0 ? "" : ct_confusion_text(cs, c[k].label, a);
        const char *read = c[k].pred < 0 ? "" : ct_confusion_text(cs, c[k].pred, b);
        json_array_append_new(
            list, json_pack("{s:s,s:s,s:I}", "label", label, "predicted", read, "count", (json_int_t)c[k].n));
    }
    return CT_OK;
fail:
    return st;
}

/* Every sample that was not read right. */
static ct_status put_wrong(json_t *out, const ct_detail *d, const ct_view *v, const ct_charset *cs)
{
    json_t *list = json_array();
    char *got = ct_malloc(ct_detail_text_size(d), "text");
    ct_status st = got ? ct_json_set(out, "wrong", list) : CT_ENOMEM;
    if (!got) json_decref(list);
    for (int64_t i = 0; st == CT_OK && i < d->n; i++) {
        if (ct_detail_right(d, v, i)) continue;
        ct_detail_text(d, cs, i, got, ct_detail_text_size(d));
        int64_t s = ct_view_sample(v, i);
        json_array_append_new(list, json_pack("{s:o,s:s,s:s,s:o}", "file", ct_json_any(ct_dataset_name(v->data, s)),
                                              "label", ct_dataset_label_text(v->data, s), "predicted", got, "confidence",
                                              ct_json_number(ct_detail_confidence(d, i))));
    }
    ct_free(got);
    return st;
}

static ct_status write_json(const ct_detail *d, const ct_view *v, const ct_scores *sc, const ct_charset *cs,
                            const ct_eval_opts *o, FILE *to)
{
    ct_status st;
    json_t *out = json_object();
    CT_GOTO(st, ct_json_set(out, "model", ct_json_any(o->model)));
    CT_GOTO(st, ct_json_set(out, "data", ct_json_any(o->data)));
    CT_GOTO(st, ct_json_set(out, "decoder", json_string(d->decoder.beam ? "beam" : "greedy")));
    if (d->decoder.beam) CT_GOTO(st, ct_json_set(out, "beam_width", json_integer(d->decoder.beam)));
    CT_GOTO(st, ct_json_set(out, "samples", json_integer(sc->samples)));
    CT_GOTO(st, ct_json_set(out, "string_accuracy", ct_json_number(ct_scores_strings(sc))));
    CT_GOTO(st, ct_json_set(out, "char_accuracy", ct_json_number(ct_scores_chars(sc))));
    CT_GOTO(st, ct_json_set(out, "cer", ct_json_number(ct_scores_cer(sc))));
    CT_GOTO(st, ct_json_set(out, "loss", ct_json_number(sc->loss)));
    CT_GOTO(st, ct_json_set(out, "strings_right", json_integer(sc->strings)));
    CT_GOTO(st, ct_json_set(out, "chars", json_integer(sc->chars)));
    CT_GOTO(st, ct_json_set(out, "chars_right", json_integer(sc->chars_ok)));
    CT_GOTO(st, ct_json_set(out, "edits", json_integer(sc->edits)));
    if (d->sequence) CT_GOTO(st, ct_json_set(out, "infeasible", json_integer(sc->infeasible)));
    CT_GOTO(st, ct_json_set(out, "left_out", json_integer(ct_dataset_bad_count(v->data))));
    CT_GOTO(st, put_edits(out, d, cs));
    CT_GOTO(st, put_wrong(out, d, v, cs));
    st = ct_json_print(out, 2, to);
fail:
    json_decref(out);
    return st;
}

static void print_edits(const ct_detail *d, const ct_charset *cs, FILE *to)
{
    char a[32], b[32];
    if (d->sequence) {
        fprintf(to, "edits:  substitutions %" PRId64 "  insertions %" PRId64 "  deletions %" PRId64 "\n",
                d->substitutions, d->insertions, d->deletions);
    } else {
        fprintf(to, "errors by position:");
        for (int p = 0; p < d->columns; p++) fprintf(to, "  %d: %" PRId64, p + 1, d->errors[p]);
        fputc('\n', to);
    }
    ct_confusion c[SHOWN_CONFUSIONS];
    int n = ct_detail_confusions(d, c, SHOWN_CONFUSIONS);
    if (n > 0) fprintf(to, "most frequent confusions (label read as):\n");
    for (int k = 0; k < n; k++)
        fprintf(to, "  %s -> %s  %" PRId64 "\n", ct_confusion_text(cs, c[k].label, a),
                ct_confusion_text(cs, c[k].pred, b), c[k].n);
}

static ct_status print_table(const ct_detail *d, const ct_view *v, const ct_scores *sc, const ct_charset *cs, FILE *to)
{
    char *got = ct_malloc(ct_detail_text_size(d), "text");
    if (!got) return CT_ENOMEM;
    fprintf(to, "samples          %" PRId64 "\n", sc->samples);
    if (ct_dataset_bad_count(v->data) > 0)
        fprintf(to, "left out         %" PRId64 " (unusable)\n", ct_dataset_bad_count(v->data));
    if (d->decoder.beam) fprintf(to, "decoder          beam of %d\n", d->decoder.beam);
    fprintf(to, "string accuracy  %.2f %%  (%" PRId64 " right)\n", 100 * ct_scores_strings(sc), sc->strings);
    if (d->sequence)
        fprintf(to, "character errors %.2f %%  (%" PRId64 " edits in %" PRId64 " characters)\n",
                100 * ct_scores_cer(sc), sc->edits, sc->chars);
    else
        fprintf(to, "char accuracy    %.2f %%  (%" PRId64 " of %" PRId64 ")\n", 100 * ct_scores_chars(sc), sc->chars_ok,
                sc->chars);
    fprintf(to, "loss             %.5f\n", sc->loss);
    if (sc->infeasible > 0)
        fprintf(to,
                "infeasible       %" PRId64 " labels do not fit into their image's time steps: no part of the loss\n",
                sc->infeasible);
    print_edits(d, cs, to);
    int shown = 0;
    for (int64_t i = 0; i < d->n && shown < SHOWN_WRONG; i++) {
        if (ct_detail_right(d, v, i)) continue;
        if (shown++ == 0) fprintf(to, "wrong (the first %d):\n", SHOWN_WRONG);
        int64_t s = ct_view_sample(v, i);
        fprintf(to, "  %s  %s read as %s (%.1f %%)\n", ct_dataset_name(v->data, s), ct_dataset_label_text(v->data, s),
                ct_detail_text(d, cs, i, got, ct_detail_text_size(d)), 100 * ct_detail_confidence(d, i));
    }
    ct_free(got);
    return CT_OK;
}

ct_status ct_run_eval(const ct_eval_opts *o, FILE *to)
{
    ct_status st;
    ct_model_use use;
    ct_dataset *ds = NULL;
    ct_detail detail;
    ct_scores scores;
    memset(&use, 0, sizeof use);
    memset(&detail, 0, sizeof detail);
    int64_t batch = o->batch > 0 ? o->batch : 64;
    if (!o->model || !o->data) return ct_fail(CT_EINVAL, "eval: needs a model file and a folder of labelled images");
    CT_GOTO(st, ct_model_use_begin(&use, o->model, &o->common));
    ct_decoder decoder;
    const ct_model_spec *model = &use.session.spec.model;
    CT_GOTO(st, ct_decoder_parse(o->decoder, o->beam_width, model->name, ct_model_head(model), &decoder));
    CT_GOTO(st, ct_datasets_open_scored(use.file.cfg, use.file.task, use.file.facts, o->data, &ds));
    ct_view view = { ds, NULL, ct_dataset_size(ds) };
    CT_GOTO(st, ct_session_add_eval(&use.session, &view, batch, false));
    CT_GOTO(st, ct_model_use_ready(&use));
    CT_GOTO(st, ct_detail_for(&detail, &use.session, &view, ct_text_facts(use.file.facts)->charset.n));
    detail.decoder = decoder;
    CT_GOTO(st,
            ct_evaluate(&use.session, false, &view, batch, (int)use.file.cfg->train.workers, NULL, &detail, &scores));
    for (int64_t i = 0; i < ct_dataset_bad_count(ds); i++) {
        ct_bad bad = ct_dataset_bad(ds, i);
        ct_warn("left out: %s: %s", bad.name, bad.reason);
    }
    if (o->json)
        CT_GOTO(st, write_json(&detail, &view, &scores, &ct_text_facts(use.file.facts)->charset, o, to));
    else
        CT_GOTO(st, print_table(&detail, &view, &scores, &ct_text_facts(use.file.facts)->charset, to));
    if (fflush(to) != 0 || ferror(to)) st = ct_fail(CT_EIO, "eval: the result cannot be written");
fail:
    ct_detail_free(&detail);
    ct_model_use_end(&use);
    ct_dataset_close(ds);
    return st;
}
