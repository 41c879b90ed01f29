/* What a scoring pass collects: predictions, confidences, edits. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "task/text/beam.h"
#include "session/evaluate.h"
#include "task/text/text.h"

ct_status ct_decoder_parse(const char *decoder, int64_t width, const char *model, ct_head head, ct_decoder *out)
{
    *out = (ct_decoder){ 0 };
    const bool beam = decoder && strcmp(decoder, "beam") == 0;
    if (decoder && !beam && strcmp(decoder, "greedy") != 0)
        return ct_fail(CT_ECONFIG, "--decoder: '%s' is neither greedy nor beam", decoder);
    if (width != 0 && !beam) return ct_fail(CT_ECONFIG, "--beam-width belongs to --decoder beam");
    if (!beam) return CT_OK;
    if (head != CT_HEAD_CTC)
        return ct_fail(
            CT_ECONFIG,
            "--decoder beam: %s reads a fixed number of positions, each by itself; beam search is for CTC models",
            model);
    if (width < 0 || width > CT_BEAM_WIDTH_MAX)
        return ct_fail(CT_ECONFIG, "--beam-width: %" PRId64 " is not 1 to %d", width, CT_BEAM_WIDTH_MAX);
    out->beam = width > 0 ? (int)width : CT_BEAM_WIDTH;
    return CT_OK;
}

ct_status ct_detail_init(ct_detail *d, int64_t n, int columns, int characters, bool sequence)
{
    memset(d, 0, sizeof *d);
    d->n = n;
    d->sequence = sequence;
    d->columns = columns;
    d->characters = characters;
    const size_t cells = (size_t)(n > 0 ? n : 1) * (size_t)columns;
    d->pred = ct_calloc(cells, sizeof *d->pred, "predictions");
    d->conf = ct_calloc(cells, sizeof *d->conf, "confidences");
    if (!sequence) d->errors = ct_calloc((size_t)columns, sizeof *d->errors, "errors per position");
    if (d->pred && d->conf && (sequence || d->errors)) return CT_OK;
    ct_detail_free(d);
    return CT_ENOMEM;
}

ct_status ct_detail_for(ct_detail *d, const ct_session *s, const ct_view *v, int characters)
{
    const bool sequence = s->spec.loss == CT_LOSS_CTC;
    const int64_t columns =
        sequence ? ct_model_steps(&s->spec.model, ct_dataset_width(v->data)) : s->spec.model.positions;
    return ct_detail_init(d, v->n, (int)(columns > 0 ? columns : 1), characters, sequence);
}

void ct_detail_free(ct_detail *d)
{
    if (!d) return;
    ct_free(d->pred);
    ct_free(d->conf);
    ct_free(d->errors);
    ct_free(d->confusion);
    memset(d, 0, sizeof *d);
}

/* ---- edits ---- */

ct_status ct_detail_note(ct_detail *d, int label, int pred)
{
    int64_t *kind = label < 0 ? &d->insertions : pred < 0 ? &d->deletions : &d->substitutions;
    CT_TRY(ct_grow(&d->confusion, d->nconfusion, &d->cap_confusion, sizeof *d->confusion, "confusions"));
    d->confusion[d->nconfusion++] = (ct_confusion){ label, pred, 1 };
    ++*kind;
    return CT_OK;
}

static int by_characters(const void *pa, const void *pb)
{
    const ct_confusion *a = pa, *b = pb;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    return a->pred < b->pred ? -1 : a->pred > b->pred;
}

static int by_count(const void *pa, const void *pb)
{
    const ct_confusion *a = pa, *b = pb;
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    return by_characters(pa, pb);
}

void ct_detail_settle(ct_detail *d)
{
    size_t kept = 0;
    if (d->nconfusion == 0) return;
    qsort(d->confusion, d->nconfusion, sizeof *d->confusion, by_characters);
    for (size_t i = 1; i < d->nconfusion; i++) {
        if (by_characters(&d->confusion[i], &d->confusion[kept]) == 0)
            d->confusion[kept].n += d->confusion[i].n;
        else
            d->confusion[++kept] = d->confusion[i];
    }
    d->nconfusion = kept + 1;
    qsort(d->confusion, d->nconfusion, sizeof *d->confusion, by_count);
}

int ct_detail_confusions(const ct_detail *d, ct_confusion *out, int max)
{
    int n = 0;
    while (n < max && (size_t)n < d->nconfusion) {
        out[n] = d->confusion[n];
        n++;
    }
    return n;
}

char *ct_confusion_text(const ct_charset *cs, int ch, char buf[32])
{
    const int32_t id = ch;
    if (ch < 0) return strcpy(buf, "(nothing)");
    return ct_charset_decode(cs, &id, 1, buf, 32);
}

/* ---- predictions ---- */

int ct_detail_length(const ct_detail *d, int64_t i)
{
    return (int)ct_edit_length(d->pred + i * d->columns, d->columns);
}

double ct_detail_confidence(const ct_detail *d, int64_t i)
{
    const int n = ct_detail_length(d, i);
    double p = n > 0 ? 1 : 0;
    for (int k = 0; k < n; k++) p *= (double)d->conf[i * d->columns + k];
    return p;
}

bool ct_detail_right(const ct_detail *d, const ct_view *v, int64_t i)
{
    const int64_t sample = ct_view_sample(v, i);
    const int32_t *label = ct_text_ids(v->data, sample);
    const int n = ct_detail_length(d, i);
    return n == ct_edit_length(label, ct_text_columns(v->data)) &&
           memcmp(label, d->pred + i * d->columns, (size_t)n * sizeof *label) == 0;
}

char *ct_detail_text(const ct_detail *d, const ct_charset *cs, int64_t i, char *buf, size_t size)
{
    return ct_charset_decode(cs, d->pred + i * d->columns, ct_detail_length(d, i), buf, size);
}

size_t ct_detail_text_size(const ct_detail *d) { return 4 * (size_t)d->columns + 1; }
