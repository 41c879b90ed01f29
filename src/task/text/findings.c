/* What a scoring pass collects of texts: predictions, confidences, edits. */
#include "config.h"

#include "task/text/findings.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

/* ---- beginning and end ---- */

/* How scores become text: the class with the largest score of each position or time step (greedy), or, for models with
 * time steps, prefix beam search. */
static ct_status find_decoder(const ct_place *p, const ct_option *option, size_t options, int *beam)
{
    CT_TRY(ct_beam_option(option, options, beam));
    if (*beam == 0 || ct_model_head(p->model) == CT_HEAD_CTC) return CT_OK;
    return ct_fail(CT_ECONFIG, "--decoder beam: %s reads a fixed number of positions, each by itself; beam search is "
                   "for CTC models", p->model->name);
}

static ct_status reserve(ct_text_findings *t, int64_t classes)
{
    const size_t cells = (size_t)(t->n > 0 ? t->n : 1) * (size_t)t->columns;
    t->pred = ct_calloc(cells, sizeof *t->pred, "predictions");
    t->conf = ct_calloc(cells, sizeof *t->conf, "confidences");
    if (!t->sequence) t->errors = ct_calloc((size_t)t->columns, sizeof *t->errors, "errors per position");
    if (!t->pred || !t->conf || (!t->sequence && !t->errors)) return CT_ENOMEM;
    if (t->limit.any) t->refused = ct_calloc((size_t)(t->n > 0 ? t->n : 1), sizeof *t->refused, "texts");
    if (t->limit.any && !t->refused) return CT_ENOMEM;
    if (t->beam == 0 && !t->limit.any) return CT_OK;
    t->text = ct_calloc((size_t)t->columns, sizeof *t->text, "texts");
    t->text_conf = ct_calloc((size_t)t->columns, sizeof *t->text_conf, "confidences");
    if (!t->text || !t->text_conf) return CT_ENOMEM;
    if (t->beam == 0) return CT_OK;
    CT_TRY(ct_beam_new(t->beam, classes, &t->search));
    ct_beam_restrict(t->search, &t->limit);
    return CT_OK;
}

ct_status ct_text_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                       ct_findings **out)
{
    ct_text_findings *t = ct_calloc(1, sizeof *t, "findings");
    ct_status st;
    *out = NULL;
    if (!t) return CT_ENOMEM;
    t->base = (ct_findings){ .task = p->goal->task, .view = *v, .labels = labels, .want = { "pred", "conf" } };
    t->facts = ct_text_facts(p->facts);
    t->n = v->n;
    t->sequence = ct_model_head(p->model) == CT_HEAD_CTC;
    t->characters = t->facts->charset.n;
    const int64_t columns = t->sequence
                                ? ct_model_steps(p->model, v->data ? ct_dataset_width(v->data) : p->model->width)
                                : p->model->positions;
    t->columns = (int)(columns > 0 ? columns : 1);
    CT_GOTO(st, find_decoder(p, option, options, &t->beam));
    CT_GOTO(st, ct_text_restrict(p, option, options, &t->limit));
    if (t->beam) ct_text_want_scores(&t->base);
    CT_GOTO(st, reserve(t, p->model->classes));
    t->temperature = t->facts->temperature;
    if (t->temperature > 0 || t->limit.any) CT_GOTO(st, ct_text_sure_reserve(t, p->model->classes));
    *out = &t->base;
    return CT_OK;
fail:
    ct_text_drop(&t->base);
    return st;
}

void ct_text_drop(ct_findings *f)
{
    ct_text_findings *t = (ct_text_findings *)f;
    if (!t) return;
    ct_beam_free(t->search);
    ct_beam_free(t->placer);
    ct_free(t->place);
    ct_free(t->steps);
    ct_restriction_free(&t->limit);
    ct_best_path_free(&t->path);
    ct_free(t->refused);
    ct_free(t->tempered);
    ct_free(t->work);
    ct_free(t->sure);
    ct_beam_free(t->pacer);
    ct_free(t->kept_steps);
    ct_free(t->kept_score);
    ct_edit_free(&t->edit);
    ct_free(t->text);
    ct_free(t->text_conf);
    ct_free(t->pred);
    ct_free(t->conf);
    ct_free(t->errors);
    ct_confusions_free(&t->edits);
    ct_free(t);
}

/* ---- collecting ---- */

static void count(ct_text_counts *c, int64_t chars, int64_t edits)
{
    c->strings += edits == 0;
    c->chars += chars;
    c->chars_ok += chars > edits ? chars - edits : 0;
    c->edits += edits;
}

/* Puts a text into place i. */
static void keep_text(ct_text_findings *t, int64_t i, const int32_t *text, int64_t n, const float *conf)
{
    for (int64_t c = 0; c < t->columns; c++) {
        t->pred[i * t->columns + c] = c < n ? text[c] : -1;
        t->conf[i * t->columns + c] = c < n ? conf[c] : 0;
    }
}

/* Decodes row i anew, where the device's greedy text is not what is asked for; under a restriction that leaves none it
 * is empty. */
static ct_status decode(ct_text_findings *t, const ct_text_scores *s, int64_t place, int64_t *n)
{
    if (t->search)
        CT_TRY(ct_beam_decode(t->search, s->type, s->score, s->first, s->stride, s->steps, t->text, t->text_conf, n,
                              NULL));
    else
        CT_TRY(ct_best_path_decode(&t->path, &t->limit, s->type, s->score, s->first, s->stride, s->steps, t->text, n));
    if (*n >= 0) return CT_OK;
    *n = 0;
    if (t->refused) t->refused[place] = (int32_t)s->steps + 1;
    return CT_OK;
}

/* Row i of a model with time steps. */
static ct_status collect_text(ct_text_findings *t, const ct_outcome *o, int64_t i)
{
    const int32_t *pred = o->output[0].host;
    const int64_t steps = o->output[0].desc.dim[1];
    const ct_dtype conf_type = o->output[1].desc.dtype;
    const int32_t *text = pred + i * steps;
    int64_t n = ct_edit_length(text, steps), chars;
    const int32_t *label = ct_found_label_of(t, o->sample[i], &chars);
    for (int64_t c = 0; c < n; c++)
        if (text[c] >= t->characters)
            return ct_fail(CT_EINTERNAL, "predicted character %d of %d", (int)text[c], t->characters);
    if (t->base.labels) {
        CT_TRY(ct_edit_align(&t->edit, label, chars, text, n));
        count(&t->device, chars, t->edit.distance);
    }
    float *conf = t->conf + o->place[i] * t->columns;
    ct_text_scores s = { 0 };
    if (t->search || t->tempered) CT_TRY(ct_text_scores_of(o, i, &s));
    if (t->search || t->limit.any) {
        CT_TRY(decode(t, &s, o->place[i], &n));
        text = t->text;
        conf = t->text_conf;
        if (t->base.labels) CT_TRY(ct_edit_align(&t->edit, label, chars, text, n));
    } else {
        for (int64_t c = 0; c < n; c++) conf[c] = (float)ct_load(conf_type, o->output[1].host, i * steps + c);
    }
    if (t->kept > 0) ct_text_kept(t, &s, o->place[i]);
    if (t->pacer) CT_TRY(ct_text_sure(t, &s, o->place[i], text, n, conf));
    if (t->placer) CT_TRY(ct_text_place(t, o, i, text, n));
    keep_text(t, o->place[i], text, n, conf);
    if (!t->base.labels) return CT_OK;
    count(&t->decoder, chars, t->edit.distance);
    return ct_confusions_align(&t->edits, &t->edit);
}

/* Row i of a model with fixed positions. */
static ct_status collect_positions(ct_text_findings *t, const ct_outcome *o, int64_t i)
{
    const int32_t *pred = (const int32_t *)o->output[0].host + i * t->columns;
    const ct_dtype type = o->output[1].desc.dtype;
    int32_t *read = t->pred + o->place[i] * t->columns;
    float *conf = t->conf + o->place[i] * t->columns;
    int64_t wrong = 0, device_wrong = 0, chars;
    const int32_t *label = ct_found_label_of(t, o->sample[i], &chars);
    for (int c = 0; c < t->columns; c++) {
        if (pred[c] < 0 || pred[c] >= t->characters)
            return ct_fail(CT_EINTERNAL, "predicted class %d of %d", (int)pred[c], t->characters);
        read[c] = pred[c];
        conf[c] = (float)ct_load(type, o->output[1].host, i * t->columns + c);
        device_wrong += label && pred[c] != label[c];
    }
    if (t->tempered) {
        ct_text_scores s;
        CT_TRY(ct_text_scores_of(o, i, &s));
        if (t->kept > 0) ct_text_kept(t, &s, o->place[i]);
        if (t->limit.any) ct_text_allowed(&t->limit, &s, read);
        if (t->limit.any || t->temperature > 0) CT_TRY(ct_text_sure(t, &s, o->place[i], read, t->columns, conf));
    }
    for (int c = 0; label && c < t->columns; c++) {
        if (read[c] == label[c]) continue;
        wrong++;
        t->errors[c]++;
        CT_TRY(ct_confusions_note(&t->edits, label[c], read[c]));
    }
    if (label) count(&t->device, t->columns, device_wrong);
    if (label) count(&t->decoder, t->columns, wrong);
    return CT_OK;
}

ct_status ct_text_collect(ct_findings *f, const ct_outcome *o)
{
    ct_text_findings *t = (ct_text_findings *)f;
    if (o->output[0].desc.dim[1] > t->columns)
        return ct_fail(CT_EINTERNAL, "%" PRId64 " time steps, room for %d characters", o->output[0].desc.dim[1],
                       t->columns);
    for (int64_t i = 0; i < o->n; i++) CT_TRY(t->sequence ? collect_text(t, o, i) : collect_positions(t, o, i));
    return CT_OK;
}

/* The device and the host agree. */
static ct_status check_counts(const ct_text_findings *t, const double *sums)
{
    const ct_text_counts *c = &t->device;
    const int64_t strings = (int64_t)sums[CT_TEXT_STRINGS], chars = (int64_t)sums[CT_TEXT_CHARS],
                  ok = (int64_t)sums[CT_TEXT_CHARS_OK];
    const int64_t edits = (int64_t)ct_text_edits(sums);
    if (strings != c->strings)
        return ct_fail(CT_EINTERNAL, "the device counts %" PRId64 " right strings, the predictions hold %" PRId64,
                       strings, c->strings);
    if (chars != c->chars || ok != c->chars_ok || edits != c->edits)
        return ct_fail(CT_EINTERNAL,
                       "the device counts %" PRId64 " edits in %" PRId64 " characters (%" PRId64
                       " right), the predictions hold %" PRId64 " in %" PRId64 " (%" PRId64 " right)",
                       edits, chars, ok, c->edits, c->chars, c->chars_ok);
    return CT_OK;
}

ct_status ct_text_settle(ct_findings *f, double sums[CT_METRIC_COUNT])
{
    ct_text_findings *t = (ct_text_findings *)f;
    if (!sums) return CT_OK;
    CT_TRY(check_counts(t, sums));
    ct_confusions_sort(&t->edits);
    sums[CT_TEXT_STRINGS] = (double)t->decoder.strings;
    sums[CT_TEXT_CHARS_OK] = (double)t->decoder.chars_ok;
    sums[CT_TEXT_EDITS] = (double)t->decoder.edits;
    return CT_OK;
}
