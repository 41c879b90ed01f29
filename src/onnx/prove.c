/* The proof of a file: what the model reads in pictures, and what the graph of the file reads in them. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/pair.h"
#include "session/evaluate.h"
#include "task/datasets.h"

#define BATCH 32
#define BATCH_OF_CLIPS 2
#define PIXEL 0.01 /* that points may be apart */

typedef struct proof {
    ct_model_use *use;
    const Onnx__ModelProto *model;
    const ct_onnx_form *form;
    const char *path;
    ct_dataset *owned;
    ct_datasets sets;
    ct_config *cfg;
    ct_view view;
    int64_t *first; /* [view.n] the numbers of the samples, where the set has more of them */
    ct_onnx_pair *pair;
    size_t pairs;
    ct_onnx_shared shared;
    ct_findings *own, *file;
    void *block[2][CT_PARTS_MAX]; /* outputs of a batch on the host */
    ct_onnx_proof *out;
} proof;

/* ---- pictures ---- */

/* What is drawn whatever the model reads may have labels that it knows nothing of: nobody asks for them. */
static ct_status open_one(proof *p, const char *path, bool drawn)
{
    const ct_task *task = p->use->file.task;
    const ct_facts *facts = drawn && !task->like ? NULL : p->use->file.facts;
    snprintf(p->out->from, sizeof p->out->from, "%s", path);
    CT_TRY(ct_datasets_open_scored(p->cfg, task, facts, path, &p->owned));
    p->view = (ct_view) { p->owned, NULL, ct_dataset_size(p->owned) };
    return CT_OK;
}

/* A loader reads a whole set, unless it is told which of its samples. */
static ct_status take_first(proof *p, int64_t n)
{
    if (!(p->first = ct_calloc((size_t)n, sizeof *p->first, "pictures"))) return CT_ENOMEM;
    for (int64_t i = 0; i < n; i++) p->first[i] = p->view.index ? p->view.index[i] : i;
    p->view.index = p->first;
    p->view.n = n;
    return CT_OK;
}

/* The validation pictures of the run; where they are not there any more, pictures of the task's generator. */
static ct_status open_pictures(proof *p, int64_t most)
{
    const ct_model_file *f = &p->use->file;
    const ct_generator *gen = NULL;
    CT_TRY(ct_config_clone(f->cfg, &p->cfg));
    const ct_cfg_data *d = &p->cfg->data;
    const char *val = d->val && *d->val ? d->val : NULL, *from = val ? val : d->train;
    if (from && *from) CT_TRY(ct_datasets_generator(f->task, from, &gen));
    if (p->cfg->data.synth.val_count > most || p->cfg->data.synth.val_count < 1) p->cfg->data.synth.val_count = most;
    if (gen) {
        CT_TRY(open_one(p, from, true));
    } else if (from && *from && ct_path_exists(from)) {
        if (val) {
            CT_TRY(open_one(p, val, false));
        } else {
            CT_TRY(ct_datasets_open(p->cfg, &p->sets));
            p->view = p->sets.val;
            snprintf(p->out->from, sizeof p->out->from, "the validation part of %s", from);
        }
    } else if (f->task->generators > 0) {
        CT_TRY(open_one(p, f->task->generator[0].name, true));
        snprintf(p->out->from, sizeof p->out->from, "%s, as the run's own %ss%s%s are not here",
                 f->task->generator[0].name, ct_onnx_sample(p->use), from ? " " : "", from ? from : "");
    }
    if (!p->view.data || p->view.n < 1)
        return ct_fail(CT_EDATA,
                       "%s: there is no %s to prove it with: data.val or data.train of the run must be there",
                       p->path, ct_onnx_sample(p->use));
    return p->view.n > most ? take_first(p, most) : CT_OK;
}

/* ---- both programs ---- */

/* Clips take as many times the memory as they have pictures. */
static int batch_of(const proof *p)
{
    if (p->form->target != CT_ONNX_ANYONE) return 1;
    return ct_model_clip(&p->use->session.spec.model) ? BATCH_OF_CLIPS : BATCH;
}

static ct_status open_programs(proof *p, ct_loader_spec *l)
{
    ct_session *s = &p->use->session;
    ct_batch_shape *shape = NULL;
    size_t n = 0;
    *l = (ct_loader_spec) { .data = p->view.data,
                            .index = p->view.index,
                            .n = p->view.n,
                            .epochs = 1,
                            .batch = batch_of(p) };
    CT_TRY(ct_loader_shapes(l, &shape, &n));
    ct_status st = CT_OK;
    for (size_t i = 0; i < n && st == CT_OK; i++)
        st = ct_session_add(s, CT_PROGRAM_PREDICT, shape[i].rows, shape[i].length, 1, false);
    ct_free(shape);
    CT_TRY(st);
    CT_TRY(ct_model_use_ready(p->use));
    if (!(p->pair = ct_calloc(s->units, sizeof *p->pair, "programs"))) return CT_ENOMEM;
    for (size_t i = 0; i < s->units; i++)
        CT_TRY(ct_onnx_pair_open(p->use, p->model, p->form, p->path, &s->unit[i], &p->shared,
                                 &p->pair[p->pairs++]));
    return CT_OK;
}

/* ---- a batch ---- */

/* Shows findings what a plan gave. */
static ct_status show(ct_findings *f, ct_plan *plan, const ct_graph *g, const ct_program *prog, const ct_parts *parts,
                      void **block, ct_outcome *o)
{
    for (int i = 0; i < CT_PARTS_MAX && f->want[i]; i++) {
        ct_val v = prog ? ct_program_port(prog, f->want[i]) : CT_NOVAL;
        for (int k = 0; !prog && k < parts->results; k++)
            if (strcmp(parts->result[k].name, f->want[i]) == 0) v = parts->result[k].val;
        for (int k = 0; !prog && k < parts->scores; k++)
            if (strcmp(parts->score[k].name, f->want[i]) == 0) v = parts->score[k].val;
        if (v == CT_NOVAL) return ct_fail(CT_EINTERNAL, "the program gives no '%s'", f->want[i]);
        ct_free(block[i]);
        if (!(block[i] = ct_malloc(ct_desc_bytes(ct_graph_desc(g, v)), "results of a batch"))) return CT_ENOMEM;
        CT_TRY(ct_plan_download(plan, v, block[i]));
        o->output[i].name = f->want[i];
        o->output[i].desc = *ct_graph_desc(g, v);
        o->output[i].host = block[i];
        o->outputs = i + 1;
    }
    return f->task->collect(f, o);
}

/* Every picture counts with all its columns, in both. */
static ct_status run_own(ct_session *s, ct_unit *u, const ct_batch *b)
{
    const ct_val len = ct_program_role(&u->prog, CT_PORT_STEPS);
    CT_TRY(ct_session_upload(s, u, b));
    if (len != CT_NOVAL) {
        for (int64_t i = 0; i < u->rows; i++) s->len[i] = (int32_t)ct_model_steps(&s->spec.model, u->length);
        CT_TRY(ct_plan_upload(u->plan, len, s->len));
    }
    return ct_session_run(s, u);
}

static ct_status prove_batch(proof *p, const ct_batch *b, int64_t first)
{
    ct_session *s = &p->use->session;
    ct_unit *u = ct_session_predictor(s, b->length, b->n);
    ct_onnx_pair *q = u ? &p->pair[u - s->unit] : NULL;
    int64_t place[BATCH];
    if (!q) return ct_fail(CT_EINTERNAL, "no program for a batch of %d of length %d", b->n, b->length);
    CT_TRY(run_own(s, u, b));
    CT_TRY(ct_onnx_pair_run(q, b));
    CT_TRY(ct_onnx_pair_compare(q, b, &p->out->worst));
    for (int i = 0; i < b->n; i++) place[i] = first + i;
    ct_outcome o = { .n = b->n,
                     .batch = u->rows,
                     .place = place,
                     .sample = b->sample,
                     .steps = ct_program_role(&u->prog, CT_PORT_STEPS) == CT_NOVAL ? NULL : s->len };
    CT_TRY(show(p->own, u->plan, u->prog.graph, &u->prog, NULL, p->block[0], &o));
    return show(p->file, q->end_plan, q->end, NULL, &q->parts, p->block[1], &o);
}

/* ---- readings ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A reading in words: its text, or its points. ct_free(); NULL without memory. */
static char *words_of(const ct_reading_draft *d)
{
    char *all = ct_strdup(d->text ? d->text : "", "readings");
    for (size_t i = 0; all && i < d->out.points; i++) {
        const ct_point *p = d->point[i];
        char *more = ct_asprintf("%s%s%s %.2f %.2f", all, *all ? ", " : "", p->name, p->x, p->y);
        ct_free(all);
        all = more;
    }
    return all;
}

/* Nowhere is where nowhere is. */
static bool at_one_place(const ct_reading_draft *x, const ct_reading_draft *y)
{
    if (x->out.points != y->out.points) return false;
    for (size_t i = 0; i < x->out.points; i++) {
        const ct_point *a = x->point[i], *b = y->point[i];
        const bool none = isnan(a->x) && isnan(b->x);
        if (!none && !(fabs(a->x - b->x) <= PIXEL && fabs(a->y - b->y) <= PIXEL)) return false;
    }
    return true;
}

/* Sample i as the model reads it, in words that are the caller's; CT_EDATA where the file reads something else. */
static ct_status compare_reading(proof *p, const char *name, int64_t i, char **out)
{
    const ct_task *task = p->use->file.task;
    const ct_leaving *l = task->leaving;
    ct_reading_draft x = { 0 }, y = { 0 };
    char *a = NULL, *b = NULL, buf[160];
    const char *more, *what = ct_onnx_sample(p->use);
    ct_status st;
    CT_GOTO(st, task->reading(p->own, i, &x));
    CT_GOTO(st, task->reading(p->file, i, &y));
    a = words_of(&x);
    b = words_of(&y);
    if (!a || !b) CT_GOTO(st, CT_ENOMEM);
    if (strcmp(x.text ? x.text : "", y.text ? y.text : "") != 0 || !at_one_place(&x, &y))
        CT_GOTO(st, ct_fail(CT_EDATA, "%s: %s %s: the model reads \"%s\", the file \"%s\"", p->path, what, name, a, b));
    if (l->differs && (more = l->differs(p->own, p->file, i, buf, sizeof buf)))
        CT_GOTO(st, ct_fail(CT_EDATA, "%s: %s %s: the model reads %s", p->path, what, name, more));
    *out = a;
    a = NULL;
fail:
    ct_free(a);
    ct_free(b);
    ct_reading_free(&x);
    ct_reading_free(&y);
    return st;
}

static ct_status compare_readings(proof *p, const int64_t *sample)
{
    char **all = ct_calloc((size_t)p->view.n, sizeof *all, "readings");
    ct_status st = all ? CT_OK : CT_ENOMEM;
    for (int64_t i = 0; i < p->view.n && st == CT_OK; i++)
        st = compare_reading(p, ct_dataset_name(p->view.data, sample[i]), i, &all[i]);
    if (st == CT_OK) qsort(all, (size_t)p->view.n, sizeof *all, by_text);
    for (int64_t i = 0; st == CT_OK && i < p->view.n; i++)
        p->out->distinct += i == 0 || strcmp(all[i], all[i - 1]) != 0;
    for (int64_t i = 0; all && i < p->view.n; i++) ct_free(all[i]);
    ct_free(all);
    return st;
}

static ct_status prove(proof *p, int64_t most)
{
    const ct_model_file *f = &p->use->file;
    ct_loader_spec l;
    ct_loader *loader = NULL;
    int64_t *sample = NULL;
    const ct_batch *b;
    ct_status st;
    CT_TRY(open_pictures(p, most));
    CT_TRY(open_programs(p, &l));
    const ct_place place = ct_session_place(&p->use->session, f->cfg, f->facts);
    CT_TRY(f->task->look(&place, &p->view, false, NULL, 0, &p->own));
    CT_TRY(f->task->look(&place, &p->view, false, NULL, 0, &p->file));
    if (!(sample = ct_calloc((size_t)p->view.n, sizeof *sample, "pictures"))) return CT_ENOMEM;
    CT_GOTO(st, ct_loader_open(&l, &loader));
    while (p->out->samples < p->view.n) {
        CT_GOTO(st, ct_loader_next(loader, &b));
        if (!b) break;
        memcpy(sample + p->out->samples, b->sample, (size_t)b->n * sizeof *sample);
        CT_GOTO(st, prove_batch(p, b, p->out->samples));
        p->out->samples += b->n;
    }
    CT_GOTO(st, f->task->settle(p->own, NULL));
    CT_GOTO(st, f->task->settle(p->file, NULL));
    st = compare_readings(p, sample);
fail:
    ct_loader_close(loader);
    ct_free(sample);
    return st;
}

ct_status ct_onnx_prove(ct_model_use *use, const Onnx__ModelProto *m, const ct_onnx_form *form, const char *path,
                        int64_t most, ct_onnx_proof *out)
{
    memset(out, 0, sizeof *out);
    proof p = { .use = use, .model = m, .form = form, .path = path, .out = out };
    const ct_status st = prove(&p, most);
    if (p.own) use->file.task->drop(p.own);
    if (p.file) use->file.task->drop(p.file);
    for (size_t i = p.pairs; i-- > 0;) ct_onnx_pair_close(&p.pair[i]);
    ct_onnx_shared_free(&p.shared);
    ct_free(p.pair);
    ct_free(p.first);
    for (int i = 0; i < CT_PARTS_MAX; i++) {
        ct_free(p.block[0][i]);
        ct_free(p.block[1][i]);
    }
    ct_dataset_close(p.owned);
    ct_datasets_close(&p.sets);
    ct_config_free(p.cfg);
    return st;
}
