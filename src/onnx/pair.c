/* A model and the graph of a file side by side. */
#include "config.h"

#include "onnx/pair.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define OFF 1e-4 /* of scores: times the score where that is above 1 */

/* ---- graphs without weights ---- */

static ct_status plan_end(const ct_onnx_pair *q, ct_graph *g, ct_plan **plan)
{
    const ct_arenas_needs needs = { .train = false };
    const ct_backend *cpu;
    ct_layout layout;
    CT_TRY(ct_backend_load("cpu", &cpu));
    CT_TRY(ct_layout_make(g, &layout));
    if (!q->shared->ends)
        CT_TRY(ct_arenas_create(cpu, &q->use->session.device_opts, &layout, &needs, false, &q->shared->ends));
    return ct_plan_create(q->shared->ends, g, false, plan);
}

void ct_onnx_shared_free(ct_onnx_shared *s)
{
    ct_arenas_free(s->file.arenas);
    ct_arenas_free(s->ends);
    ct_free(s->x);
}

/* What takes pixels to the model, without augmentation and before the normalisation: the file has its own. */
static ct_status open_input(ct_onnx_pair *q, int64_t frames)
{
    ct_program_spec s = q->use->session.spec;
    s.image.augment = 0;
    s.src_w = ct_model_elastic(&s.model) && !ct_model_clip(&s.model) ? q->unit->length : s.src_w;
    if (ct_model_elastic(&s.model)) ct_model_set_length(&s.model, q->unit->length);
    CT_TRY(ct_program_pictures(&s, q->unit->rows * (frames > 0 ? frames : 1), &q->input));
    return plan_end(q, q->input.graph, &q->input_plan);
}

/* ---- the end: what reads scores, fed with those of the file ---- */

/* Places of the model's outputs in the order of the file's. */
static int find_outputs(const ct_onnx_pair *q, int place[CT_MODEL_OUTPUTS])
{
    const ct_leaving_output *o = q->use->file.task->leaving->output;
    const ct_model_info *info = ct_model_find(q->use->session.spec.model.name);
    int n = 0;
    for (; info && n < CT_MODEL_OUTPUTS && o[n].name; n++) {
        place[n] = 0;
        while (strcmp(info->output[place[n]], o[n].output) != 0) place[n]++;
    }
    return n;
}

/* Scores [N*P,K] and [T,N,K] of rows; maps as the file has them. */
static ct_desc end_input(const ct_onnx_pair *q, int i)
{
    const ct_model_spec *m = &q->use->session.spec.model;
    const ct_unit *u = q->unit;
    if (!q->use->file.task->leaving->output[i].rows) return q->run.out[i];
    if (ct_model_head(m) == CT_HEAD_CTC)
        return (ct_desc) { CT_F32, 3, { ct_model_steps(m, u->length), u->rows, m->classes } };
    return ct_desc2(CT_F32, u->rows, m->positions * m->classes);
}

static ct_status open_end(ct_onnx_pair *q)
{
    static const char *const names[CT_MODEL_OUTPUTS] = { "file.0", "file.1", "file.2", "file.3",
                                                         "file.4", "file.5", "file.6", "file.7" };
    const ct_session *s = &q->use->session;
    const ct_model_spec *m = &s->spec.model;
    const ct_model_info *info = ct_model_find(m->name);
    int place[CT_MODEL_OUTPUTS];
    if (!info) return CT_EINTERNAL;
    const int n = find_outputs(q, place);
    ct_parts *p = &q->parts;
    CT_TRY(ct_graph_create(&q->end));
    *p = (ct_parts) { .g = q->end,
                      .model = m,
                      .goal = &s->spec.goal,
                      .batch = q->unit->rows,
                      .steps = CT_NOVAL,
                      .moves = { .index = CT_NOVAL } };
    CT_TRY(ct_graph_input(q->end, "x", *ct_graph_desc(q->run.graph.g, q->run.graph.x), &q->end_x));
    p->x = q->end_x;
    if (ct_model_elastic(m)) CT_TRY(ct_graph_input(q->end, "len", ct_desc1(CT_I32, q->unit->rows), &p->steps));
    q->end_len = p->steps;
    for (; p->scores < ct_model_outputs(m); p->scores++) {
        p->out[p->scores] = CT_NOVAL; /* does not leave */
        for (int i = 0; i < n; i++) {
            if (place[i] != p->scores) continue;
            CT_TRY(ct_graph_input(q->end, names[i], end_input(q, i), &q->scores[i]));
            p->out[p->scores] = q->scores[i];
        }
        p->score[p->scores] = (ct_part) { info->output[p->scores], p->out[p->scores], 1 };
    }
    CT_TRY(s->spec.goal.task->build(p));
    for (int i = 0; i < p->scores; i++)
        if (p->score[i].val != CT_NOVAL) ct_graph_keep(q->end, p->score[i].val);
    for (int i = 0; i < p->results; i++) ct_graph_keep(q->end, p->result[i].val);
    return plan_end(q, q->end, &q->end_plan);
}

/* Room for the scores, which must be as many as the model has. */
static ct_status make_room(ct_onnx_pair *q)
{
    const ct_model_spec *m = &q->use->session.spec.model;
    size_t most = 1;
    for (int i = 0; i < q->run.graph.outs; i++) {
        const int64_t own = ct_desc_numel(ct_graph_desc(q->end, q->scores[i])), file = ct_desc_numel(&q->run.out[i]);
        const bool spread = ct_onnx_spread(q->form, q->use);
        const int64_t due = spread ? q->unit->rows * (2 * m->positions - 1) * (m->classes + 1) : own;
        if (file != due)
            return ct_fail(CT_EDATA, "%s: gives %" PRId64 " scores where the model has %" PRId64, q->path, file, due);
        q->file[i] = ct_malloc((size_t)file * sizeof(float), "scores");
        q->mine[i] = ct_malloc((size_t)own * sizeof(float), "scores");
        if (!q->file[i] || !q->mine[i]) return CT_ENOMEM;
        if ((size_t)own > most) most = (size_t)own;
    }
    const size_t bytes = ct_desc_bytes(ct_graph_desc(q->run.graph.g, q->run.graph.x));
    if (bytes > q->shared->bytes) {
        ct_free(q->shared->x);
        q->shared->x = ct_malloc(bytes, "pictures");
        q->shared->bytes = q->shared->x ? bytes : 0;
    }
    q->own = ct_malloc(most * sizeof(double), "scores");
    q->theirs = ct_malloc(most * sizeof(double), "scores");
    return q->shared->x && q->own && q->theirs ? CT_OK : CT_ENOMEM;
}

ct_status ct_onnx_pair_open(ct_model_use *use, const Onnx__ModelProto *m, const ct_onnx_form *form, const char *path,
                            const ct_unit *unit, ct_onnx_shared *shared, ct_onnx_pair *q)
{
    const ct_model_spec *spec = &use->session.spec.model;
    int place[CT_MODEL_OUTPUTS];
    *q = (ct_onnx_pair) { .use = use, .form = form, .path = path, .unit = unit, .shared = shared };
    const bool clip = ct_model_clip(spec) != NULL, wide = ct_model_elastic(spec) && !clip;
    const ct_onnx_size size = { unit->rows, clip ? unit->length : 0, spec->height, wide ? unit->length : spec->width };
    CT_TRY(ct_onnx_runner_open(path, m, &use->session.device_opts, &size, &shared->file, &q->run));
    const int due = find_outputs(q, place);
    if (q->run.graph.outs != due)
        return ct_fail(CT_EDATA, "%s: has %d outputs, not %d", path, q->run.graph.outs, due);
    CT_TRY(open_input(q, size.frames));
    CT_TRY(open_end(q));
    return make_room(q);
}

void ct_onnx_pair_close(ct_onnx_pair *q)
{
    ct_onnx_runner_close(&q->run);
    ct_plan_free(q->input_plan);
    ct_program_free(&q->input);
    ct_plan_free(q->end_plan);
    ct_graph_free(q->end);
    for (int i = 0; i < CT_MODEL_OUTPUTS; i++) {
        ct_free(q->file[i]);
        ct_free(q->mine[i]);
    }
    ct_free(q->own);
    ct_free(q->theirs);
}

/* ---- a batch ---- */

/* Pixels as the file wants them; rows behind the batch's hold what an earlier one left. */
static ct_status fill(ct_onnx_pair *q, const ct_batch *b)
{
    const ct_onnx_affine a = ct_onnx_given(q->form, q->use);
    const ct_val window = ct_program_role(&q->input, CT_PORT_WINDOW), x = ct_program_port(&q->input, "x");
    const ct_desc *d = ct_graph_desc(q->input.graph, x);
    CT_TRY(ct_plan_upload(q->input_plan, ct_program_role(&q->input, CT_PORT_PIXELS), b->px));
    CT_TRY(ct_plan_upload(q->input_plan, ct_program_role(&q->input, CT_PORT_INDEX), b->index));
    if (window != CT_NOVAL) CT_TRY(ct_plan_upload(q->input_plan, window, b->windows));
    CT_TRY(ct_plan_run(q->input_plan));
    float *px = q->shared->x;
    CT_TRY(ct_plan_download(q->input_plan, x, px));
    const int64_t c = d->dim[3], n = ct_desc_numel(d);
    for (int64_t e = 0; e < n; e++) px[e] = (float)(((double)px[e] - a.mean[e % c]) / a.std[e % c]);
    return CT_OK;
}

/* Scores of output i as the model gives them: of rows [T,N,K] or [N,P*K]. */
static void arrange(const ct_onnx_pair *q, int i)
{
    const ct_model_spec *m = &q->use->session.spec.model;
    const int64_t n = q->unit->rows, k = m->classes;
    const ct_desc *d = ct_graph_desc(q->end, q->scores[i]);
    const bool rows = q->use->file.task->leaving->output[i].rows;
    const float *file = q->file[i];
    float *mine = q->mine[i];
    if (rows && ct_onnx_spread(q->form, q->use)) {
        for (int64_t p = 0; p < m->positions; p++)
            memcpy(mine + p * k, file + 2 * p * (k + 1) + 1, (size_t)k * sizeof *mine);
    } else if (rows && ct_model_head(m) == CT_HEAD_CTC && q->form->target == CT_ONNX_ANYONE) {
        const int64_t steps = d->dim[0];
        for (int64_t t = 0; t < steps; t++)
            for (int64_t s = 0; s < n; s++)
                memcpy(mine + (t * n + s) * k, file + (s * steps + t) * k, (size_t)k * sizeof *mine);
    } else {
        memcpy(mine, file, ct_desc_bytes(d));
    }
}

/* Rows [2P-1,K+1] of files with a blank between two positions: every second one reads the blank, the others never. */
static ct_status check_blanks(const ct_onnx_pair *q, const ct_batch *b)
{
    const ct_model_spec *m = &q->use->session.spec.model;
    const int64_t steps = 2 * m->positions - 1, k = m->classes + 1;
    const float *row = q->file[0];
    for (int64_t r = 0; r < b->n * steps; r++, row += k) {
        int64_t best = 0;
        for (int64_t c = 1; c < k; c++)
            if (row[c] > row[best]) best = c;
        if ((best == 0) != (r % steps % 2 == 1))
            return ct_fail(CT_EDATA, "%s: picture %s: step %" PRId64 " %s the blank", q->path,
                           ct_dataset_name(b->data, b->sample[r / steps]), r % steps,
                           best == 0 ? "reads" : "does not read");
    }
    return CT_OK;
}

ct_status ct_onnx_pair_run(ct_onnx_pair *q, const ct_batch *b)
{
    CT_TRY(fill(q, b));
    CT_TRY(ct_onnx_runner_run(&q->run, q->shared->x, q->file));
    if (ct_onnx_spread(q->form, q->use)) CT_TRY(check_blanks(q, b));
    for (int i = 0; i < q->run.graph.outs; i++) {
        arrange(q, i);
        CT_TRY(ct_plan_upload(q->end_plan, q->scores[i], q->mine[i]));
    }
    CT_TRY(ct_plan_upload(q->end_plan, q->end_x, q->shared->x));
    if (q->end_len != CT_NOVAL) CT_TRY(ct_plan_upload(q->end_plan, q->end_len, q->use->session.len));
    return ct_plan_run(q->end_plan);
}

/* ---- scores ---- */

static double score(const ct_desc *d, const void *v, int64_t i)
{
    return d->dtype == CT_F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

/* Of scores whose samples are in a row, or, of time steps [T,N,K], in every step. */
static int64_t sample_of(const ct_desc *d, int64_t batch, int64_t i)
{
    const int64_t row = d->dim[d->ndim - 1];
    return d->ndim == 3 ? i / row % d->dim[1] : i / (ct_desc_numel(d) / batch);
}

static ct_status compare(ct_onnx_pair *q, const ct_batch *b, const ct_part *part, double *worst)
{
    const ct_val mine = ct_program_port(&q->unit->prog, part->name);
    if (mine == CT_NOVAL) return ct_fail(CT_EINTERNAL, "the program gives no '%s'", part->name);
    const ct_desc *d = ct_graph_desc(q->unit->prog.graph, mine), *e = ct_graph_desc(q->end, part->val);
    CT_TRY(ct_plan_download(q->unit->plan, mine, q->own));
    CT_TRY(ct_plan_download(q->end_plan, part->val, q->theirs));
    const int64_t n = ct_desc_numel(d);
    for (int64_t i = 0; i < n; i++) {
        const int64_t sample = sample_of(d, q->unit->rows, i);
        if (sample >= b->n) continue;
        const double x = score(d, q->own, i), y = score(e, q->theirs, i), by = fabs(x - y);
        if (isfinite(x) && by > *worst) *worst = by;
        if (by <= OFF * (fabs(x) > 1 ? fabs(x) : 1)) continue;
        const char *name = ct_dataset_name(b->data, b->sample[sample]);
        return ct_fail(CT_EDATA,
                       "%s: %s %s: score %" PRId64 " of %s is %.6g of the model and %.6g of the file, which is "
                       "more than %g off",
                       q->path, ct_onnx_sample(q->use), name, i, part->name, x, y, OFF);
    }
    return CT_OK;
}

/* Whether a score is compared everywhere. */
static bool everywhere(const ct_onnx_pair *q, const char *output)
{
    const ct_leaving_output *o = q->use->file.task->leaving->output;
    for (int i = 0; i < CT_MODEL_OUTPUTS && o[i].name; i++)
        if (strcmp(o[i].output, output) == 0) return !o[i].where_read;
    return false;
}

ct_status ct_onnx_pair_compare(ct_onnx_pair *q, const ct_batch *b, double *worst)
{
    for (int i = 0; i < q->parts.scores; i++)
        if (q->parts.score[i].val != CT_NOVAL && everywhere(q, q->parts.score[i].name))
            CT_TRY(compare(q, b, &q->parts.score[i], worst));
    return CT_OK;
}
