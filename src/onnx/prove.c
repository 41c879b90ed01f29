/* The proof of a file: what the model reads in pictures, and what the graph of the file reads in them. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/runner.h"
#include "session/evaluate.h"
#include "task/datasets.h"

#define OFF 1e-4 /* of scores: times the score where that is above 1 */
#define BATCH 32

/* What decodes scores: the end of the model's own program, fed with those of the file. */
typedef struct decoder {
    ct_graph *g;
    ct_parts parts;
    ct_val in;
    ct_arenas *store;
    ct_plan *plan;
} decoder;

/* For one program of the session: the file's graph for its batch and length. */
typedef struct pair {
    const ct_unit *unit;
    ct_onnx_runner run;
    decoder end;
    float *x, *file, *mine; /* [N,H,W,C]; scores as the file has them, and as the model gives them */
    void *own, *theirs;     /* scores of both programs */
} pair;

typedef struct proof {
    ct_model_use *use;
    const Onnx__ModelProto *model;
    const ct_onnx_form *form;
    const char *path;
    ct_dataset *owned;
    ct_datasets sets;
    ct_config *cfg;
    ct_view view;
    pair *pair;
    size_t pairs;
    ct_findings *own, *file;
    void *block[2][CT_PARTS_MAX]; /* outputs of a batch on the host */
    ct_onnx_proof *out;
} proof;

/* ---- pictures ---- */

static ct_status open_one(proof *p, const char *path)
{
    snprintf(p->out->from, sizeof p->out->from, "%s", path);
    CT_TRY(ct_datasets_open_scored(p->cfg, p->use->file.task, p->use->file.facts, path, &p->owned));
    p->view = (ct_view) { p->owned, NULL, ct_dataset_size(p->owned) };
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
        CT_TRY(open_one(p, from));
    } else if (from && *from && ct_path_exists(from)) {
        if (val) {
            CT_TRY(open_one(p, val));
        } else {
            CT_TRY(ct_datasets_open(p->cfg, &p->sets));
            p->view = p->sets.val;
            snprintf(p->out->from, sizeof p->out->from, "the validation part of %s", from);
        }
    } else if (f->task->generators > 0) {
        CT_TRY(open_one(p, f->task->generator[0].name));
        snprintf(p->out->from, sizeof p->out->from, "%s, as the run's own pictures%s%s are not here",
                 f->task->generator[0].name, from ? " " : "", from ? from : "");
    }
    if (!p->view.data || p->view.n < 1)
        return ct_fail(CT_EDATA,
                       "%s: there is no picture to prove it with: data.val or data.train of the run must be there",
                       p->path);
    if (p->view.n > most) p->view.n = most;
    return CT_OK;
}

/* ---- both programs ---- */

static ct_status open_decoder(const ct_session *s, const ct_unit *u, decoder *d)
{
    const ct_model_spec *m = &s->spec.model;
    const bool ctc = ct_model_head(m) == CT_HEAD_CTC;
    const ct_arenas_needs needs = { .train = false };
    ct_desc in = ct_desc2(CT_F32, u->rows, m->positions * m->classes);
    if (ctc) in = (ct_desc) { CT_F32, 3, { ct_model_steps(m, u->length), u->rows, m->classes } };
    const ct_model_info *info = ct_model_find(m->name);
    const ct_backend *cpu;
    ct_layout layout;
    if (!info) return CT_EINTERNAL;
    CT_TRY(ct_backend_load("cpu", &cpu));
    CT_TRY(ct_graph_create(&d->g));
    CT_TRY(ct_graph_input(d->g, "scores.file", in, &d->in));
    d->parts = (ct_parts) { .g = d->g,
                            .model = m,
                            .goal = &s->spec.goal,
                            .batch = u->rows,
                            .x = CT_NOVAL,
                            .steps = CT_NOVAL,
                            .scores = 1,
                            .moves = { .index = CT_NOVAL } };
    d->parts.out[0] = d->in;
    d->parts.score[0] = (ct_part) { info->output[0], d->in, 1 };
    CT_TRY(s->spec.goal.task->build(&d->parts));
    ct_graph_keep(d->g, d->parts.score[0].val);
    for (int i = 0; i < d->parts.results; i++) ct_graph_keep(d->g, d->parts.result[i].val);
    CT_TRY(ct_layout_make(d->g, &layout));
    CT_TRY(ct_arenas_create(cpu, &s->device_opts, &layout, &needs, false, &d->store));
    return ct_plan_create(d->store, d->g, false, &d->plan);
}

static ct_status open_pair(proof *p, const ct_unit *u, pair *q)
{
    const ct_session *s = &p->use->session;
    const ct_model_spec *m = &s->spec.model;
    const int64_t width = ct_model_elastic(m) ? u->length : m->width;
    q->unit = u;
    CT_TRY(open_decoder(s, u, &q->end));
    CT_TRY(ct_onnx_runner_open(p->path, p->model, &s->device_opts, u->rows, m->height, width, &q->run));
    const int64_t own = ct_desc_numel(ct_graph_desc(q->end.g, q->end.in)), file = ct_desc_numel(&q->run.out);
    const bool spread = ct_onnx_spread(p->form, p->use);
    const int64_t due = spread ? u->rows * (2 * m->positions - 1) * (m->classes + 1) : own;
    if (file != due)
        return ct_fail(CT_EDATA, "%s: gives %" PRId64 " scores where the model has %" PRId64, p->path, file, due);
    q->x = ct_malloc((size_t)(u->rows * m->height * width * m->channels) * sizeof *q->x, "pictures");
    q->file = ct_malloc((size_t)file * sizeof *q->file, "scores");
    q->mine = ct_malloc((size_t)own * sizeof *q->mine, "scores");
    q->theirs = ct_malloc((size_t)own * sizeof(double), "scores");
    q->own = ct_malloc((size_t)own * sizeof(double), "scores");
    return q->x && q->file && q->mine && q->own && q->theirs ? CT_OK : CT_ENOMEM;
}

static void close_pair(pair *q)
{
    ct_onnx_runner_close(&q->run);
    ct_plan_free(q->end.plan);
    ct_arenas_free(q->end.store);
    ct_graph_free(q->end.g);
    ct_free(q->x);
    ct_free(q->file);
    ct_free(q->mine);
    ct_free(q->own);
    ct_free(q->theirs);
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
                            .batch = p->form->target == CT_ONNX_ANYONE ? BATCH : 1 };
    CT_TRY(ct_loader_shapes(l, &shape, &n));
    ct_status st = CT_OK;
    for (size_t i = 0; i < n && st == CT_OK; i++)
        st = ct_session_add(s, CT_PROGRAM_PREDICT, shape[i].rows, shape[i].length, 1, false);
    ct_free(shape);
    CT_TRY(st);
    CT_TRY(ct_model_use_ready(p->use));
    if (!(p->pair = ct_calloc(s->units, sizeof *p->pair, "programs"))) return CT_ENOMEM;
    for (size_t i = 0; i < s->units; i++) CT_TRY(open_pair(p, &s->unit[i], &p->pair[p->pairs++]));
    return CT_OK;
}

/* ---- a batch ---- */

/* Pixels as the file wants them. */
static void fill(const proof *p, const pair *q, const ct_batch *b)
{
    const ct_onnx_affine a = ct_onnx_given(p->form, p->use);
    const int64_t c = p->use->session.spec.model.channels;
    const int64_t each = ct_desc_numel(ct_graph_desc(q->run.graph.g, q->run.graph.x)) / q->unit->rows;
    for (int64_t i = 0; i < q->unit->rows; i++) {
        const uint8_t *px = b->px + (i < b->n ? b->index[3 * i] : 0) * each;
        for (int64_t e = 0; e < each; e++) q->x[i * each + e] = (float)((px[e] / 255.0 - a.mean[e % c]) / a.std[e % c]);
    }
}

/* Scores of the file as the model gives them: [T,N,K] or [N,P*K]. */
static void arrange(const proof *p, const pair *q)
{
    const ct_model_spec *m = &p->use->session.spec.model;
    const int64_t n = q->unit->rows, k = m->classes;
    const ct_desc *d = ct_graph_desc(q->end.g, q->end.in);
    if (ct_onnx_spread(p->form, p->use)) {
        for (int64_t i = 0; i < m->positions; i++)
            memcpy(q->mine + i * k, q->file + 2 * i * (k + 1) + 1, (size_t)k * sizeof *q->mine);
    } else if (ct_model_head(m) == CT_HEAD_CTC && p->form->target == CT_ONNX_ANYONE) {
        const int64_t steps = d->dim[0];
        for (int64_t t = 0; t < steps; t++)
            for (int64_t i = 0; i < n; i++)
                memcpy(q->mine + (t * n + i) * k, q->file + (i * steps + t) * k, (size_t)k * sizeof *q->mine);
    } else {
        memcpy(q->mine, q->file, ct_desc_bytes(d));
    }
}

/* Rows [2P-1,K+1] of files with a blank between two positions: every second one reads the blank, the others never. */
static ct_status check_blanks(const proof *p, const pair *q, const ct_batch *b)
{
    const ct_model_spec *m = &p->use->session.spec.model;
    const int64_t steps = 2 * m->positions - 1, k = m->classes + 1;
    for (int64_t r = 0; r < b->n * steps; r++) {
        int64_t best = 0;
        for (int64_t c = 1; c < k; c++)
            if (q->file[r * k + c] > q->file[r * k + best]) best = c;
        if ((best == 0) != (r % steps % 2 == 1))
            return ct_fail(CT_EDATA, "%s: picture %s: step %" PRId64 " %s the blank", p->path,
                           ct_dataset_name(p->view.data, b->sample[r / steps]), r % steps,
                           best == 0 ? "reads" : "does not read");
    }
    return CT_OK;
}

static double score(const ct_desc *d, const void *v, int64_t i)
{
    return d->dtype == CT_F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

/* Scores of a batch against each other: log-probabilities [T,N,K], of positions logits [N,P*K]. */
static ct_status compare_scores(proof *p, pair *q, const ct_batch *b)
{
    const ct_val mine = ct_program_role(&q->unit->prog, CT_PORT_SCORE), theirs = q->end.parts.score[0].val;
    const ct_desc *d = ct_graph_desc(q->unit->prog.graph, mine), *e = ct_graph_desc(q->end.g, theirs);
    const bool ctc = d->ndim == 3;
    CT_TRY(ct_plan_download(q->unit->plan, mine, q->own));
    CT_TRY(ct_plan_download(q->end.plan, theirs, q->theirs));
    const int64_t row = d->dim[d->ndim - 1], n = ct_desc_numel(d);
    for (int64_t i = 0; i < n; i++) {
        const int64_t sample = ctc ? i / row % d->dim[1] : i / row;
        if (sample >= b->n) continue;
        const double x = score(d, q->own, i), y = score(e, q->theirs, i), by = fabs(x - y);
        if (isfinite(x) && by > p->out->worst) p->out->worst = by;
        if (by <= OFF * (fabs(x) > 1 ? fabs(x) : 1)) continue;
        return ct_fail(CT_EDATA,
                       "%s: picture %s: score %" PRId64 " is %.6g of the model and %.6g of the file, which is "
                       "more than %g off",
                       p->path, ct_dataset_name(p->view.data, b->sample[sample]), i, x, y, OFF);
    }
    return CT_OK;
}

/* Shows findings what a plan gave. */
static ct_status show(ct_findings *f, ct_plan *plan, const ct_graph *g, const ct_program *prog, const ct_parts *parts,
                      void **block, ct_outcome *o)
{
    for (int i = 0; i < CT_PARTS_MAX && f->want[i]; i++) {
        ct_val v = prog ? ct_program_port(prog, f->want[i]) : CT_NOVAL;
        for (int k = 0; !prog && k < parts->results; k++)
            if (strcmp(parts->result[k].name, f->want[i]) == 0) v = parts->result[k].val;
        if (!prog && strcmp(parts->score[0].name, f->want[i]) == 0) v = parts->score[0].val;
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
    pair *q = u ? &p->pair[u - s->unit] : NULL;
    int64_t place[BATCH];
    if (!q) return ct_fail(CT_EINTERNAL, "no program for a batch of %d of length %d", b->n, b->length);
    CT_TRY(run_own(s, u, b));
    fill(p, q, b);
    CT_TRY(ct_onnx_runner_run(&q->run, q->x, q->file));
    if (ct_onnx_spread(p->form, p->use)) CT_TRY(check_blanks(p, q, b));
    arrange(p, q);
    CT_TRY(ct_plan_upload(q->end.plan, q->end.in, q->mine));
    CT_TRY(ct_plan_run(q->end.plan));
    CT_TRY(compare_scores(p, q, b));
    for (int i = 0; i < b->n; i++) place[i] = first + i;
    ct_outcome o = { .n = b->n,
                     .batch = u->rows,
                     .place = place,
                     .sample = b->sample,
                     .steps = ct_program_role(&u->prog, CT_PORT_STEPS) == CT_NOVAL ? NULL : s->len };
    CT_TRY(show(p->own, u->plan, u->prog.graph, &u->prog, NULL, p->block[0], &o));
    return show(p->file, q->end.plan, q->end.g, NULL, &q->end.parts, p->block[1], &o);
}

/* ---- readings ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ct_status compare_readings(proof *p, const int64_t *sample)
{
    const ct_task *task = p->use->file.task;
    char **all = ct_calloc((size_t)p->view.n, sizeof *all, "readings");
    ct_status st = all ? CT_OK : CT_ENOMEM;
    for (int64_t i = 0; i < p->view.n && st == CT_OK; i++) {
        ct_reading_draft x = { 0 }, y = { 0 };
        st = task->reading(p->own, i, &x);
        if (st == CT_OK) st = task->reading(p->file, i, &y);
        const char *a = x.text ? x.text : "", *b = y.text ? y.text : "";
        if (st == CT_OK && strcmp(a, b) != 0)
            st = ct_fail(CT_EDATA, "%s: picture %s: the model reads \"%s\", the file \"%s\"", p->path,
                         ct_dataset_name(p->view.data, sample[i]), a, b);
        if (st == CT_OK && !(all[i] = ct_strdup(a, "readings"))) st = CT_ENOMEM;
        ct_reading_free(&x);
        ct_reading_free(&y);
    }
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
    while (p->out->pictures < p->view.n) {
        CT_GOTO(st, ct_loader_next(loader, &b));
        if (!b) break;
        memcpy(sample + p->out->pictures, b->sample, (size_t)b->n * sizeof *sample);
        CT_GOTO(st, prove_batch(p, b, p->out->pictures));
        p->out->pictures += b->n;
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
    for (size_t i = 0; i < p.pairs; i++) close_pair(&p.pair[i]);
    ct_free(p.pair);
    for (int i = 0; i < CT_PARTS_MAX; i++) {
        ct_free(p.block[0][i]);
        ct_free(p.block[1][i]);
    }
    ct_dataset_close(p.owned);
    ct_datasets_close(&p.sets);
    ct_config_free(p.cfg);
    return st;
}
