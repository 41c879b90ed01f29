/* Scoring passes. */
#include "config.h"

#include "session/evaluate.h"

#include <string.h>

#include "base/alloc.h"
#include "data/loader.h"
#include "task/text/beam.h"

/* What the host counts, to compare with the device or, with beam search, instead of it. */
typedef struct counts {
    int64_t strings, chars, chars_ok, edits;
} counts;

/* A pass that looks at predictions: memory for one batch, grown to the largest. */
typedef struct look {
    ct_detail *d;
    int64_t *row;  /* [samples of the data set] place in the view; NULL: the sample's number. Batches hold images of one
                      width */
    ct_beam *beam; /* NULL: greedy */
    ct_edit edit;
    int32_t *pred;       /* [N,T] */
    void *conf, *logits; /* [N,T], [T,N,C] of the program's type */
    size_t cap_pred, cap_conf, cap_logits;
    int32_t *text;          /* [columns] what beam search read */
    float *text_conf;       /* [columns] */
    counts device, decoder; /* as the device decodes (greedy), and as the detail's decoder does */
} look;

static void look_end(look *k)
{
    ct_beam_free(k->beam);
    ct_edit_free(&k->edit);
    ct_free(k->pred);
    ct_free(k->conf);
    ct_free(k->logits);
    ct_free(k->text);
    ct_free(k->text_conf);
    ct_free(k->row);
}

static ct_status look_begin(look *k, ct_detail *d, const ct_view *v, int64_t classes)
{
    memset(k, 0, sizeof *k);
    k->d = d;
    if (d && v->index) {
        k->row = ct_calloc((size_t)ct_dataset_size(v->data), sizeof *k->row, "places of samples");
        if (!k->row) return CT_ENOMEM;
        for (int64_t i = 0; i < v->n; i++) k->row[v->index[i]] = i;
    }
    if (!d || d->decoder.beam == 0) return CT_OK;
    CT_TRY(ct_beam_new(d->decoder.beam, classes, &k->beam));
    k->text = ct_calloc((size_t)d->columns, sizeof *k->text, "texts");
    k->text_conf = ct_calloc((size_t)d->columns, sizeof *k->text_conf, "confidences");
    return k->text && k->text_conf ? CT_OK : CT_ENOMEM;
}

/* Place of row i of a batch in the view. */
static int64_t place(const look *k, const ct_batch *b, int64_t i)
{
    const int32_t sample = b->index[3 * i + 1];
    return k->row ? k->row[sample] : sample;
}

/* Brings a value of the unit to the host, into memory that grows with it. */
static ct_status fetch(ct_unit *u, ct_val v, void **at, size_t *cap)
{
    const size_t bytes = ct_desc_bytes(ct_graph_desc(u->prog.graph, v));
    if (bytes > *cap) {
        ct_free(*at);
        *cap = 0;
        if (!(*at = ct_malloc(bytes, "results of a batch"))) return CT_ENOMEM;
        *cap = bytes;
    }
    return ct_plan_download(u->plan, v, *at);
}

static void count(counts *c, int64_t chars, int64_t edits)
{
    c->strings += edits == 0;
    c->chars += chars;
    c->chars_ok += chars > edits ? chars - edits : 0;
    c->edits += edits;
}

/* Puts a text into row i of the detail, and the edits of the alignment just made. */
static ct_status keep_text(look *k, int64_t i, const int32_t *text, int64_t n, const float *conf)
{
    ct_detail *d = k->d;
    for (int64_t c = 0; c < d->columns; c++) {
        d->pred[i * d->columns + c] = c < n ? text[c] : -1;
        d->conf[i * d->columns + c] = c < n ? conf[c] : 0;
    }
    for (int64_t p = 0; p < k->edit.pairs; p++) {
        const ct_edit_pair *pair = &k->edit.pair[p];
        if (pair->label != pair->pred) CT_TRY(ct_detail_note(d, pair->label, pair->pred));
    }
    return CT_OK;
}

/* Adds one batch of a CTC model. */
static ct_status collect_texts(look *k, ct_session *s, ct_unit *u, const ct_batch *b)
{
    ct_detail *d = k->d;
    void *pred = k->pred;
    ct_status st = fetch(u, u->prog.pred, &pred, &k->cap_pred);
    k->pred = pred;
    CT_TRY(st);
    CT_TRY(fetch(u, u->prog.conf, &k->conf, &k->cap_conf));
    if (k->beam) CT_TRY(fetch(u, u->prog.logits, &k->logits, &k->cap_logits));
    const ct_desc *logits = ct_graph_desc(u->prog.graph, u->prog.logits);
    const ct_dtype conf_type = ct_graph_desc(u->prog.graph, u->prog.conf)->dtype;
    const int64_t steps = logits->dim[0], classes = logits->dim[2];
    const int columns = (int)ct_graph_desc(u->prog.graph, u->prog.target)->dim[1];
    if (steps > d->columns)
        return ct_fail(CT_EINTERNAL, "%lld time steps, room for %d characters", (long long)steps, d->columns);
    for (int64_t i = 0; i < b->n; i++) {
        const int32_t *label = (const int32_t *)b->field[0] + i * columns, *text = k->pred + i * steps;
        const int64_t chars = ct_edit_length(label, columns);
        int64_t n = ct_edit_length(text, steps);
        for (int64_t c = 0; c < n; c++)
            if (text[c] >= d->characters)
                return ct_fail(CT_EINTERNAL, "predicted character %d of %d", (int)text[c], d->characters);
        CT_TRY(ct_edit_align(&k->edit, label, chars, text, n));
        count(&k->device, chars, k->edit.distance);
        float *conf = d->conf + place(k, b, i) * d->columns;
        const float *sure = conf;
        if (k->beam) {
            CT_TRY(ct_beam_decode(k->beam, logits->dtype, k->logits, i * classes, b->n * classes, s->len[i], k->text,
                                  k->text_conf, &n, NULL));
            text = k->text;
            sure = k->text_conf;
            CT_TRY(ct_edit_align(&k->edit, label, chars, text, n));
        } else {
            for (int64_t c = 0; c < n; c++) conf[c] = (float)ct_load(conf_type, k->conf, i * steps + c);
        }
        count(&k->decoder, chars, k->edit.distance);
        CT_TRY(keep_text(k, place(k, b, i), text, n, sure));
    }
    return CT_OK;
}

/* Adds one batch of a model with fixed positions. */
static ct_status collect_positions(look *k, ct_unit *u, const ct_batch *b)
{
    ct_detail *d = k->d;
    const ct_dtype type = ct_graph_desc(u->prog.graph, u->prog.conf)->dtype;
    void *pred = k->pred;
    ct_status st = fetch(u, u->prog.pred, &pred, &k->cap_pred);
    k->pred = pred;
    CT_TRY(st);
    CT_TRY(fetch(u, u->prog.conf, &k->conf, &k->cap_conf));
    for (int64_t i = 0; i < b->n; i++) {
        int64_t at = place(k, b, i) * d->columns, wrong = 0;
        for (int c = 0; c < d->columns; c++) {
            const int64_t cell = i * d->columns + c;
            const int32_t read = k->pred[cell], label = ((const int32_t *)b->field[0])[cell];
            d->pred[at + c] = read;
            d->conf[at + c] = (float)ct_load(type, k->conf, cell);
            if (read < 0 || read >= d->characters)
                return ct_fail(CT_EINTERNAL, "predicted class %d of %d", (int)read, d->characters);
            if (read == label) continue;
            wrong++;
            d->errors[c]++;
            CT_TRY(ct_detail_note(d, label, read));
        }
        count(&k->device, d->columns, wrong);
    }
    k->decoder = k->device;
    return CT_OK;
}

/* Everything was scored, and device and host agree on it. */
static ct_status check_counts(const look *k, const ct_view *view, int64_t done, const ct_scores *sc)
{
    if (done != view->n || sc->samples != view->n)
        return ct_fail(CT_EINTERNAL, "%lld of %lld samples were scored (%lld were run)", (long long)sc->samples,
                       (long long)view->n, (long long)done);
    if (!k->d) return CT_OK;
    const counts *c = &k->device;
    if (sc->strings != c->strings)
        return ct_fail(CT_EINTERNAL, "the device counts %lld right strings, the predictions hold %lld",
                       (long long)sc->strings, (long long)c->strings);
    if (sc->chars != c->chars || sc->chars_ok != c->chars_ok || sc->edits != c->edits)
        return ct_fail(CT_EINTERNAL,
                       "the device counts %lld edits in %lld characters (%lld right), the predictions hold %lld in "
                       "%lld (%lld right)",
                       (long long)sc->edits, (long long)sc->chars, (long long)sc->chars_ok, (long long)c->edits,
                       (long long)c->chars, (long long)c->chars_ok);
    return CT_OK;
}

static ct_status run_batch(ct_session *s, bool ema, look *k, const ct_batch *b)
{
    ct_unit *u = ct_session_find(s, CT_PROGRAM_EVAL, b->n, b->width, 1, ema);
    if (!u) return ct_fail(CT_EINTERNAL, "no evaluation program for a batch of %d, %d pixels wide", b->n, b->width);
    CT_TRY(ct_session_upload(s, u, b));
    CT_TRY(ct_plan_run(u->plan));
    if (!k->d) return CT_OK;
    return k->d->sequence ? collect_texts(k, s, u, b) : collect_positions(k, u, b);
}

ct_status ct_evaluate(ct_session *s, bool ema, const ct_view *view, int64_t batch, int workers,
                      const volatile sig_atomic_t *stop, ct_detail *detail, ct_scores *out)
{
    ct_status st;
    ct_loader *loader = NULL;
    look k;
    double sums[CT_METRIC_COUNT];
    const ct_loader_spec spec = {
        .data = view->data, .index = view->index, .n = view->n, .batch = (int)batch, .workers = workers, .epochs = 1
    };
    CT_GOTO(st, look_begin(&k, detail, view, s->spec.model.classes));
    CT_GOTO(st, ct_arenas_get_metrics(s->store, sums, true));
    CT_GOTO(st, ct_loader_open(&spec, &loader));
    int64_t done = 0;
    for (;;) {
        const ct_batch *b;
        if (stop && *stop) {
            st = ct_fail(CT_ESIGNAL, "evaluation interrupted by a signal");
            goto fail;
        }
        CT_GOTO(st, ct_loader_next(loader, &b));
        if (!b) break;
        CT_GOTO(st, run_batch(s, ema, &k, b));
        done += b->n;
    }
    CT_GOTO(st, ct_arenas_get_metrics(s->store, sums, true));
    *out = ct_scores_from_sums(sums);
    CT_GOTO(st, check_counts(&k, view, done, out));
    if (!detail) goto fail;
    ct_detail_settle(detail);
    out->strings = k.decoder.strings;
    out->chars_ok = k.decoder.chars_ok;
    out->edits = k.decoder.edits;
fail:
    look_end(&k);
    ct_loader_close(loader);
    return st;
}
