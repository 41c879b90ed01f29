/* Scoring passes. */
#include "config.h"

#include "train/evaluate.h"

#include <string.h>

#include "base/alloc.h"
#include "data/loader.h"

ct_status ct_detail_init(ct_detail *d, int64_t n, int positions, int classes)
{
    memset(d, 0, sizeof *d);
    d->n = n;
    d->positions = positions;
    d->classes = classes;
    size_t p = (size_t)positions, c = (size_t)classes, cells = (size_t)(n > 0 ? n : 1) * p;
    d->pred = ct_calloc(cells, sizeof *d->pred, "predictions");
    d->conf = ct_calloc(cells, sizeof *d->conf, "confidences");
    d->errors = ct_calloc(p, sizeof *d->errors, "errors per position");
    d->confusion = ct_calloc(c, c * sizeof *d->confusion, "confusions");
    if (d->pred && d->conf && d->errors && d->confusion) return CT_OK;
    ct_detail_free(d);
    return CT_ENOMEM;
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

double ct_detail_confidence(const ct_detail *d, int64_t i)
{
    double p = 1;
    for (int k = 0; k < d->positions; k++) p *= (double)d->conf[i * d->positions + k];
    return p;
}

bool ct_detail_right(const ct_detail *d, const ct_view *v, int64_t i)
{
    const int32_t *label = ct_dataset_labels(v->data, ct_view_sample(v, i));
    return memcmp(label, d->pred + i * d->positions, (size_t)d->positions * sizeof *label) == 0;
}

int ct_detail_confusions(const ct_detail *d, ct_confusion *out, int max)
{
    int n = 0;
    for (int a = 0; a < d->classes; a++) {
        for (int b = 0; b < d->classes; b++) {
            int64_t count = d->confusion[(int64_t)a * d->classes + b];
            if (count == 0 || (n == max && (max == 0 || out[n - 1].n >= count))) continue;
            int at = n < max ? n++ : n - 1;
            for (; at > 0 && out[at - 1].n < count; at--) out[at] = out[at - 1];
            out[at].label = a;
            out[at].pred = b;
            out[at].n = count;
        }
    }
    return n;
}

/* Adds one batch of predictions to the detail. `first` = number of its first sample within the view. */
static ct_status collect(ct_unit *u, ct_dtype conf_type, const ct_batch *b, int64_t first, void *scratch, ct_detail *d)
{
    int64_t cells = (int64_t)b->n * d->positions;
    int32_t *pred = d->pred + first * d->positions;
    CT_TRY(ct_plan_download(u->plan, u->prog.pred, pred));
    CT_TRY(ct_plan_download(u->plan, u->prog.conf, scratch));
    for (int64_t k = 0; k < cells; k++) {
        d->conf[first * d->positions + k] = (float)ct_load(conf_type, scratch, k);
        if (pred[k] < 0 || pred[k] >= d->classes)
            return ct_fail(CT_EINTERNAL, "predicted class %d of %d", (int)pred[k], d->classes);
        if (pred[k] == b->labels[k]) continue;
        d->errors[k % d->positions]++;
        if (b->labels[k] >= 0) d->confusion[(int64_t)b->labels[k] * d->classes + pred[k]]++;
    }
    return CT_OK;
}

ct_status ct_evaluate(ct_session *s, bool ema, const ct_view *view, int64_t batch, int workers,
                      const volatile sig_atomic_t *stop, ct_detail *detail, ct_scores *out)
{
    ct_status st;
    ct_loader *loader = NULL;
    void *scratch = NULL;
    double sums[CT_METRIC_COUNT];
    ct_loader_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.data = view->data;
    spec.index = view->index;
    spec.n = view->n;
    spec.batch = (int)batch;
    spec.workers = workers;
    spec.epochs = 1;
    CT_TRY(ct_arenas_get_metrics(s->store, sums, true));
    CT_GOTO(st, ct_loader_open(&spec, &loader));
    int64_t done = 0, right = 0;
    for (;;) {
        const ct_batch *b;
        if (stop && *stop) {
            st = ct_fail(CT_ESIGNAL, "evaluation interrupted by a signal");
            goto fail;
        }
        CT_GOTO(st, ct_loader_next(loader, &b));
        if (!b) break;
        ct_unit *u = ct_session_find(s, CT_PROGRAM_EVAL, b->n, 1, ema);
        if (!u) {
            st = ct_fail(CT_EINTERNAL, "no evaluation program for a batch of %d", b->n);
            goto fail;
        }
        CT_GOTO(st, ct_plan_upload(u->plan, u->prog.src, b->px));
        CT_GOTO(st, ct_plan_upload(u->plan, u->prog.index, b->index));
        CT_GOTO(st, ct_plan_upload(u->plan, u->prog.target, b->labels));
        CT_GOTO(st, ct_plan_run(u->plan));
        if (detail) {
            const ct_desc *conf = ct_graph_desc(u->prog.graph, u->prog.conf);
            if (!scratch && !(scratch = ct_malloc((size_t)(batch * detail->positions) * sizeof(double),
                                                  "confidences of a batch"))) {
                st = CT_ENOMEM;
                goto fail;
            }
            CT_GOTO(st, collect(u, conf->dtype, b, done, scratch, detail));
            for (int64_t i = 0; i < b->n; i++) right += ct_detail_right(detail, view, done + i);
        }
        done += b->n;
    }
    CT_GOTO(st, ct_arenas_get_metrics(s->store, sums, true));
    *out = ct_scores_from_sums(sums);
    if (done != view->n || out->samples != view->n)
        st = ct_fail(CT_EINTERNAL, "%lld of %lld samples were scored (%lld were run)", (long long)out->samples,
                     (long long)view->n, (long long)done);
    else if (detail && out->strings != right)
        st = ct_fail(CT_EINTERNAL, "the device counts %lld right strings, the predictions hold %lld",
                     (long long)out->strings, (long long)right);
fail:
    ct_free(scratch);
    ct_loader_close(loader);
    return st;
}
