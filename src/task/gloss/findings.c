/* What a scoring pass collects of glosses: predictions, confidences, edits. */
#include "config.h"

#include "task/gloss/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- beginning and end ---- */

static ct_status reserve(ct_gloss_findings *t, int64_t classes)
{
    const size_t n = t->n > 0 ? (size_t)t->n : 1, cells = n * (size_t)t->columns;
    t->pred = ct_calloc(cells, sizeof *t->pred, "predictions");
    t->conf = ct_calloc(cells, sizeof *t->conf, "confidences");
    t->steps = ct_calloc(n, sizeof *t->steps, "time steps");
    t->edited = ct_calloc(n, sizeof *t->edited, "edits");
    if (!t->pred || !t->conf || !t->steps || !t->edited) return CT_ENOMEM;
    if (t->beam == 0) return CT_OK;
    t->row = ct_calloc((size_t)t->columns, sizeof *t->row, "glosses");
    t->row_conf = ct_calloc((size_t)t->columns, sizeof *t->row_conf, "confidences");
    if (!t->row || !t->row_conf) return CT_ENOMEM;
    return ct_beam_new(t->beam, classes, &t->search);
}

/* Time steps of the longest clip of a view, without copies that a batch might add. */
static int64_t most_steps(const ct_place *p, const ct_view *v)
{
    int64_t most = 1;
    for (int64_t i = 0; v->data && i < v->n; i++) {
        const int64_t frames = ct_dataset_frames(v->data, ct_view_sample(v, i));
        const int64_t steps = ct_model_steps(p->model, ct_clip_padded(ct_model_clip(p->model), frames));
        if (steps > most) most = steps;
    }
    return most;
}

ct_status ct_gloss_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                        ct_findings **out)
{
    ct_gloss_findings *t = ct_calloc(1, sizeof *t, "findings");
    ct_status st;
    *out = NULL;
    if (!t) return CT_ENOMEM;
    t->base = (ct_findings){ .task = p->goal->task, .view = *v, .labels = labels, .want = { "pred", "conf" } };
    t->facts = ct_gloss_facts(p->facts);
    t->n = v->n;
    t->columns = (int)most_steps(p, v);
    CT_GOTO(st, ct_beam_option(option, options, &t->beam));
    if (t->beam) t->base.want[2] = "lp5";
    CT_GOTO(st, reserve(t, p->model->classes));
    *out = &t->base;
    return CT_OK;
fail:
    ct_gloss_drop(&t->base);
    return st;
}

void ct_gloss_drop(ct_findings *f)
{
    ct_gloss_findings *t = (ct_gloss_findings *)f;
    if (!t) return;
    ct_beam_free(t->search);
    ct_edit_free(&t->edit);
    ct_confusions_free(&t->edits);
    ct_free(t->row);
    ct_free(t->row_conf);
    ct_free(t->pred);
    ct_free(t->conf);
    ct_free(t->steps);
    ct_free(t->edited);
    ct_free(t);
}

/* ---- collecting ---- */

/* Counts the alignment e of a sample with a label of so many words. */
static void count(ct_gloss_counts *c, int64_t words, const ct_edit *e)
{
    c->sentences += e->distance == 0;
    c->words += words;
    c->words_ok += words > e->distance ? words - e->distance : 0;
    c->edits += e->distance;
    c->shares += (double)e->distance / (double)(words > 0 ? words : 1);
    for (int64_t k = 0; k < e->pairs; k++) {
        const ct_edit_pair *p = &e->pair[k];
        if (p->label == p->pred) continue;
        if (p->label < 0) c->insertions++;
        else if (p->pred < 0) c->deletions++;
        else c->substitutions++;
    }
}

static const int32_t *label_of(const ct_gloss_findings *t, int64_t sample, int64_t *n)
{
    *n = 0;
    if (!t->base.labels) return NULL;
    const int32_t *id = ct_gloss_ids(t->base.view.data, sample);
    *n = ct_edit_length(id, ct_gloss_columns(t->base.view.data));
    return id;
}

/* What the device read of row i, [*n] words. */
static ct_status device_row(const ct_gloss_findings *t, const ct_outcome *o, int64_t i, const int32_t **row, int64_t *n)
{
    const int64_t steps = o->output[0].desc.dim[1];
    *row = (const int32_t *)o->output[0].host + i * steps;
    *n = ct_edit_length(*row, steps);
    if (*n > t->columns)
        return ct_fail(CT_EINTERNAL, "%" PRId64 " words are predicted, there is room for %d", *n, t->columns);
    for (int64_t c = 0; c < *n; c++)
        if ((*row)[c] >= t->facts->vocabulary.n)
            return ct_fail(CT_EINTERNAL, "predicted word %d of %" PRId64, (int)(*row)[c], t->facts->vocabulary.n);
    return CT_OK;
}

static ct_status collect_row(ct_gloss_findings *t, const ct_outcome *o, int64_t i)
{
    const int64_t place = o->place[i], steps = o->output[0].desc.dim[1];
    const int32_t *row;
    int64_t n, words;
    float *conf = t->conf + place * t->columns;
    if (o->steps[i] > t->columns)
        return ct_fail(CT_EINTERNAL, "a clip has %d time steps, there is room for %d", o->steps[i], t->columns);
    CT_TRY(device_row(t, o, i, &row, &n));
    const int32_t *label = label_of(t, o->sample[i], &words);
    if (t->base.labels) {
        CT_TRY(ct_edit_align(&t->edit, label, words, row, n));
        count(&t->device, words, &t->edit);
    }
    if (t->search) {
        const ct_desc *scores = &o->output[2].desc;
        const int64_t classes = scores->dim[2];
        CT_TRY(ct_beam_decode(t->search, scores->dtype, o->output[2].host, i * classes, o->batch * classes, o->steps[i],
                              t->row, t->row_conf, &n, NULL));
        row = t->row;
        if (t->base.labels) CT_TRY(ct_edit_align(&t->edit, label, words, row, n));
    }
    for (int64_t c = 0; c < t->columns; c++) {
        t->pred[place * t->columns + c] = c < n ? row[c] : -1;
        conf[c] = c >= n        ? 0
                  : t->search   ? t->row_conf[c]
                                : (float)ct_load(o->output[1].desc.dtype, o->output[1].host, i * steps + c);
    }
    t->steps[place] = o->steps[i];
    if (!t->base.labels) return CT_OK;
    count(&t->decoder, words, &t->edit);
    t->edited[place] = (int32_t)t->edit.distance;
    return ct_confusions_align(&t->edits, &t->edit);
}

ct_status ct_gloss_collect(ct_findings *f, const ct_outcome *o)
{
    ct_gloss_findings *t = (ct_gloss_findings *)f;
    if (!o->steps) return ct_fail(CT_EINTERNAL, "glosses are read without time steps");
    for (int64_t i = 0; i < o->n; i++) CT_TRY(collect_row(t, o, i));
    return CT_OK;
}

/* What the host counts, in the device's slots. */
static void put_counts(const ct_gloss_counts *c, double *sums)
{
    sums[CT_GLOSS_SENTENCES] = (double)c->sentences;
    sums[CT_GLOSS_WORDS] = (double)c->words;
    sums[CT_GLOSS_WORDS_OK] = (double)c->words_ok;
    sums[CT_GLOSS_EDITS] = (double)c->edits;
    sums[CT_GLOSS_SENTENCE_WER] = c->shares;
    sums[CT_GLOSS_SUBSTITUTIONS] = (double)c->substitutions;
    sums[CT_GLOSS_DELETIONS] = (double)c->deletions;
    sums[CT_GLOSS_INSERTIONS] = (double)c->insertions;
}

/* The device and the host agree; shares may have been added in another order. */
static ct_status check_counts(const ct_gloss_counts *c, const double *sums)
{
    static const struct {
        int slot;
        const char *what;
    } row[] = { { CT_GLOSS_SENTENCES, "right sentences" },   { CT_GLOSS_WORDS, "glosses" },
                { CT_GLOSS_WORDS_OK, "right glosses" },      { CT_GLOSS_EDITS, "edits" },
                { CT_GLOSS_SENTENCE_WER, "edits / glosses" }, { CT_GLOSS_SUBSTITUTIONS, "substitutions" },
                { CT_GLOSS_DELETIONS, "deletions" },         { CT_GLOSS_INSERTIONS, "insertions" } };
    double ours[CT_METRIC_COUNT] = { 0 };
    put_counts(c, ours);
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const double device = sums[row[k].slot], host = ours[row[k].slot];
        if (!(fabs(device - host) <= 1e-9 * host))
            return ct_fail(CT_EINTERNAL, "the device counts %.9g %s, the predictions hold %.9g", device, row[k].what,
                           host);
    }
    return CT_OK;
}

ct_status ct_gloss_settle(ct_findings *f, double sums[CT_METRIC_COUNT])
{
    ct_gloss_findings *t = (ct_gloss_findings *)f;
    if (!sums) return CT_OK;
    CT_TRY(check_counts(&t->device, sums));
    ct_confusions_sort(&t->edits);
    if (t->beam) put_counts(&t->decoder, sums);
    return CT_OK;
}

/* ---- asking ---- */

const int32_t *ct_signed_label(const ct_gloss_findings *t, int64_t i, int64_t *n)
{
    return label_of(t, ct_view_sample(&t->base.view, i), n);
}

const int32_t *ct_signed_read(const ct_gloss_findings *t, int64_t i, int64_t *n)
{
    const int32_t *row = t->pred + i * t->columns;
    *n = ct_edit_length(row, t->columns);
    return row;
}

double ct_signed_confidence(const ct_gloss_findings *t, int64_t i)
{
    int64_t n;
    ct_signed_read(t, i, &n);
    double p = n > 0 ? 1 : 0;
    for (int64_t k = 0; k < n; k++) p *= (double)t->conf[i * t->columns + k];
    return p;
}

bool ct_gloss_right(const ct_findings *f, int64_t i) { return ct_gloss_findings_of(f)->edited[i] == 0; }

const char *ct_signed_word(const ct_gloss_findings *t, int word)
{
    return word < 0 ? "(nothing)" : t->facts->vocabulary.word[word];
}

char *ct_signed_text(const ct_gloss_findings *t, const int32_t *word, int64_t n)
{
    size_t size = 1, at = 0;
    for (int64_t k = 0; k < n; k++) size += strlen(ct_signed_word(t, word[k])) + 1;
    char *text = ct_malloc(size, "glosses");
    if (!text) return NULL;
    for (int64_t k = 0; k < n; k++) {
        const char *w = ct_signed_word(t, word[k]);
        const size_t bytes = strlen(w);
        if (k > 0) text[at++] = ' ';
        memcpy(text + at, w, bytes);
        at += bytes;
    }
    text[at] = '\0';
    return text;
}

/* ---- parts ---- */

static int by_part(const void *a, const void *b)
{
    const ct_gloss_part *x = a, *y = b;
    if (x->name) return strcmp(x->name, y->name);
    return x->length < y->length ? -1 : x->length > y->length;
}

/* A part for each sample, then one for all that are equal. */
static ct_status parts_of(const ct_gloss_findings *t, bool signers, ct_gloss_part **out, size_t *n)
{
    const ct_view *v = &t->base.view;
    *n = 0;
    *out = ct_calloc(t->n > 0 ? (size_t)t->n : 1, sizeof **out, "parts of a score");
    if (!*out) return CT_ENOMEM;
    for (int64_t i = 0; i < t->n; i++) {
        ct_gloss_part *p = &(*out)[i];
        *p = (ct_gloss_part){ .samples = 1, .edits = t->edited[i] };
        ct_signed_label(t, i, &p->words);
        p->length = p->words;
        if (signers) p->name = ct_gloss_signer(v->data, ct_view_sample(v, i));
    }
    qsort(*out, (size_t)t->n, sizeof **out, by_part);
    for (int64_t i = 0; i < t->n; i++) {
        const ct_gloss_part *p = &(*out)[i];
        if (*n == 0 || by_part(&(*out)[*n - 1], p) != 0) {
            (*out)[(*n)++] = *p;
            continue;
        }
        ct_gloss_part *sum = &(*out)[*n - 1];
        sum->samples++;
        sum->words += p->words;
        sum->edits += p->edits;
    }
    return CT_OK;
}

ct_status ct_gloss_by_signer(const ct_gloss_findings *t, ct_gloss_part **out, size_t *n)
{
    return parts_of(t, true, out, n);
}

ct_status ct_gloss_by_length(const ct_gloss_findings *t, ct_gloss_part **out, size_t *n)
{
    return parts_of(t, false, out, n);
}
