/* Texts in golden files: input.target, input.target_lens and input.out_lens become the field "target". */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "task/text/text.h"

typedef struct source {
    const char *path;
    const ct_safetensors *st;
    ct_model_spec *model;
    ct_goal *goal;
    ct_golden_batch *b;
    int32_t *target; /* b's */
} source;

/* One-hot rows [N, P*K] of the multi-label loss -> class numbers [N,P]: P ones a sample, one in each of P slices. */
static ct_status read_one_hot(source *g, const ct_st_tensor *t)
{
    int64_t n = t->desc.dim[0], width = t->desc.dim[1], positions = 0, *column = NULL;
    ct_status st = CT_OK;
    double *hot = ct_malloc((size_t)(n * width) * sizeof *hot + 1, "golden targets");
    if (!hot) return CT_ENOMEM;
    ct_st_read(t, CT_F64, hot);
    for (int64_t j = 0; j < width; j++) positions += hot[j] == 1;
    if (positions == 0 || width % positions != 0) {
        st = ct_fail(CT_EFORMAT, "%s: input.target has %" PRId64 " ones in a row of %" PRId64, g->path, positions,
                     width);
        goto fail;
    }
    int64_t classes = width / positions;
    g->target = ct_golden_target(g->b, n * positions);
    column = ct_calloc((size_t)(n * positions), sizeof *column, "golden targets");
    if (!g->target || !column) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (int64_t i = 0; i < n * width; i++) {
        int64_t slot = i / classes;
        if (hot[i] == 0) continue;
        if (hot[i] != 1 || column[slot]) {
            st = ct_fail(CT_EFORMAT, "%s: input.target is not one-hot in sample %" PRId64, g->path, i / width);
            goto fail;
        }
        g->target[slot] = (int32_t)(i % classes);
        column[slot] = 1;
    }
    for (int64_t i = 0; i < n * positions; i++)
        if (!column[i]) {
            st = ct_fail(CT_EFORMAT, "%s: input.target has a position without a class in sample %" PRId64, g->path,
                         i / positions);
            goto fail;
        }
    g->model->positions = positions;
    g->model->classes = classes;
    g->goal->loss = CT_TEXT_SOFT_MARGIN;
fail:
    ct_free(column);
    ct_free(hot);
    return st;
}

static ct_status read_targets(source *g)
{
    const ct_st_tensor *t, *logits;
    if (ct_model_head(g->model) == CT_HEAD_CTC) {
        g->goal->loss = CT_TEXT_CTC;
        return ct_golden_sequences(g->path, g->st, "output.logits", g->model, g->b);
    }
    CT_TRY(ct_safetensors_need(g->st, "input.target", -1, &t));
    CT_TRY(ct_safetensors_need(g->st, "output.logits", 2, &logits));
    if (t->desc.ndim < 1 || t->desc.dim[0] != g->b->n)
        return ct_fail(CT_EFORMAT, "%s: input.target is for another batch than input.x", g->path);
    if (t->desc.ndim == 2) return read_one_hot(g, t);
    if (t->desc.ndim != 1 || t->desc.dtype != CT_I32)
        return ct_fail(CT_EFORMAT, "%s: input.target is neither one-hot rows nor class numbers", g->path);
    g->model->positions = 1;
    g->model->classes = logits->desc.dim[1];
    g->goal->loss = CT_TEXT_SOFTMAX;
    g->target = ct_golden_target(g->b, g->b->n);
    if (!g->target) return CT_ENOMEM;
    ct_st_read(t, CT_I32, g->target);
    for (int64_t i = 0; i < g->b->n; i++)
        if (g->target[i] < 0 || g->target[i] >= logits->desc.dim[1])
            return ct_fail(CT_EFORMAT, "%s: input.target of sample %" PRId64 " is class %d of %" PRId64, g->path, i,
                           (int)g->target[i], logits->desc.dim[1]);
    return CT_OK;
}

ct_status ct_text_golden(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                         ct_golden_batch *b)
{
    source g = { path, st, model, goal, b, NULL };
    *goal = (ct_goal){ .task = goal->task };
    return read_targets(&g);
}

/* Our programs give log-probabilities, the file what stands before a log_softmax: a constant added to all classes of a
 * time step is no difference. */
void ct_text_golden_score(const ct_goal *goal, const char *name, const ct_desc *d, void *theirs)
{
    (void)name; /* there is one */
    if (goal->loss == CT_TEXT_CTC) ct_golden_log_softmax(d, theirs);
}
