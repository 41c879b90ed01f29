/* Scoring passes. */
#include "config.h"

#include "session/evaluate.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "loader/loader.h"
#include "session/gather.h"

/* A pass that looks at what programs give: memory for one batch, grown to the largest. */
typedef struct look {
    ct_findings *f;        /* NULL: only the device's sums count */
    int64_t *row; /* [samples of the data set] place in the view; NULL: the sample's number. Batches hold samples of one
                     length */
    int64_t *place, *sample; /* [largest batch] */
    void *host[CT_PARTS_MAX];
    size_t cap[CT_PARTS_MAX];
    int64_t done;
    ct_gather *gather; /* groups: the first member's findings see what all got */
} look;

ct_place ct_session_place(const ct_session *s, const ct_config *cfg, const ct_facts *facts)
{
    return (ct_place){ .cfg = cfg, .facts = facts, .model = &s->spec.model, .goal = &s->spec.goal };
}

static void look_end(look *k)
{
    for (int i = 0; i < CT_PARTS_MAX; i++) ct_free(k->host[i]);
    ct_free(k->row);
    ct_free(k->place);
    ct_free(k->sample);
    ct_gather_free(k->gather);
}

static ct_status look_begin(look *k, const ct_session *s, ct_findings *f, const ct_view *v, int64_t batch)
{
    memset(k, 0, sizeof *k);
    k->f = f;
    if (!f) return CT_OK;
    if (ct_group_size(s->group) > 1) CT_TRY(ct_gather_make(s->group, &k->gather));
    k->place = ct_calloc((size_t)batch, sizeof *k->place, "places of samples");
    k->sample = ct_calloc((size_t)batch, sizeof *k->sample, "places of samples");
    if (!k->place || !k->sample) return CT_ENOMEM;
    if (!v->index) return CT_OK;
    k->row = ct_calloc((size_t)ct_dataset_size(v->data), sizeof *k->row, "places of samples");
    if (!k->row) return CT_ENOMEM;
    for (int64_t i = 0; i < v->n; i++) k->row[v->index[i]] = i;
    return CT_OK;
}

/* Brings output `name` of the unit to the host, into memory that grows with it. */
static ct_status fetch(look *k, ct_unit *u, int i, const char *name, ct_outcome *o)
{
    const ct_val v = ct_program_port(&u->prog, name);
    if (v == CT_NOVAL) return ct_fail(CT_EINTERNAL, "the program gives no '%s'", name);
    const ct_desc *d = ct_graph_desc(u->prog.graph, v);
    const size_t bytes = ct_desc_bytes(d);
    if (bytes > k->cap[i]) {
        ct_free(k->host[i]);
        k->cap[i] = 0;
        if (!(k->host[i] = ct_malloc(bytes, "results of a batch"))) return CT_ENOMEM;
        k->cap[i] = bytes;
    }
    o->output[i].name = name;
    o->output[i].desc = *d;
    o->output[i].host = k->host[i];
    o->outputs = i + 1;
    return ct_plan_download(u->plan, v, k->host[i]);
}

/* Shows the findings what a batch gave. */
static ct_status show(look *k, ct_session *s, ct_unit *u, const ct_batch *b)
{
    ct_findings *f = k->f;
    ct_outcome o = { .n = b->n, .batch = u->rows, .place = k->place, .sample = k->sample,
                     .steps = ct_program_role(&u->prog, CT_PORT_STEPS) == CT_NOVAL ? NULL : s->len };
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t sample = b->sample[i];
        k->sample[i] = sample;
        k->place[i] = k->row ? k->row[sample] : sample;
    }
    for (int i = 0; i < CT_PARTS_MAX && f->want[i]; i++) CT_TRY(fetch(k, u, i, f->want[i], &o));
    return k->gather ? ct_gather_collect(k->gather, &o, f) : f->task->collect(f, &o);
}

/* A part of a batch; or, without labels, all of this member's rows. */
static ct_status run_part(ct_session *s, bool ema, look *k, const ct_batch *b, int part)
{
    const bool labels = !k->f || k->f->labels;
    if (b->n == 0) return k->gather ? ct_gather_collect(k->gather, &(ct_outcome){ .n = 0 }, k->f) : CT_OK;
    ct_unit *u = labels ? ct_session_find(s, CT_PROGRAM_EVAL, b->all, b->length, 1, ema, part)
                        : ct_session_predictor(s, b->length, b->n);
    if (!u || u->rows < b->n)
        return ct_fail(CT_EINTERNAL, "no evaluation program for a batch of %d of length %d", b->n, b->length);
    CT_TRY(ct_session_upload(s, u, b));
    CT_TRY(ct_session_run(s, u));
    k->done += b->n;
    return k->f ? show(k, s, u, b) : CT_OK;
}

static ct_status run_batches(ct_session *s, bool ema, look *k, ct_loader *loader, int parts,
                             const volatile sig_atomic_t *stop)
{
    for (;;) {
        const ct_batch *b;
        if (stop && *stop) return ct_fail(CT_ESIGNAL, "evaluation interrupted by a signal");
        CT_TRY(ct_loader_next(loader, &b));
        if (!b) return CT_OK;
        for (int part = 0; part < parts; part++) {
            ct_batch rows;
            ct_loader_part(loader, b, part, &rows);
            CT_TRY(run_part(s, ema, k, &rows, part));
        }
    }
}

ct_status ct_evaluate(ct_session *s, bool ema, const ct_view *view, int64_t batch, int workers,
                      const volatile sig_atomic_t *stop, ct_findings *findings, double sums[CT_METRIC_COUNT])
{
    ct_status st;
    ct_loader *loader = NULL;
    look k;
    const bool labels = !findings || findings->labels;
    const ct_loader_spec spec = {
        .data = view->data, .index = view->index, .n = view->n, .batch = (int)batch, .epochs = 1,
        .workers = ct_session_workers(s, workers),
        .rank = ct_group_rank(s->group), .size = ct_group_size(s->group), .parts = labels ? ct_session_parts(s) : 1
    };
    const bool alone = spec.size == 1;
    CT_GOTO(st, look_begin(&k, s, findings, view, batch));
    CT_GOTO(st, ct_session_metrics_clear(s));
    CT_GOTO(st, ct_loader_open(&spec, &loader));
    CT_GOTO(st, run_batches(s, ema, &k, loader, spec.parts, stop));
    CT_GOTO(st, ct_session_metrics(s, sums));
    if ((alone && k.done != view->n) || (labels && sums[CT_METRIC_SAMPLES] != (double)view->n)) {
        st = ct_fail(CT_EINTERNAL, "%.0f of %" PRId64 " samples were scored (%" PRId64 " were run)",
                     sums[CT_METRIC_SAMPLES], view->n, k.done);
        goto fail;
    }
    if (findings && spec.rank == 0) st = findings->task->settle(findings, labels ? sums : NULL);
fail:
    look_end(&k);
    ct_loader_close(loader);
    return st;
}
