/* What golden files of models with time steps have in common, whatever the steps say. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "task/task.h"

/* Tensor `name` I32 [n], every element within lo..hi, into *out (ct_free). */
static ct_status read_lengths(const char *path, const ct_safetensors *st, const char *name, int64_t n, int64_t lo,
                              int64_t hi, int32_t **out)
{
    const ct_st_tensor *t;
    CT_TRY(ct_safetensors_need(st, name, 1, &t));
    if (t->desc.dim[0] != n || t->desc.dtype != CT_I32)
        return ct_fail(CT_EFORMAT, "%s: '%s' must be I32 [batch]", path, name);
    if (!(*out = ct_calloc((size_t)n, sizeof **out, "golden lengths"))) return CT_ENOMEM;
    ct_st_read(t, CT_I32, *out);
    for (int64_t i = 0; i < n; i++)
        if ((*out)[i] < lo || (*out)[i] > hi)
            return ct_fail(CT_EFORMAT, "%s: '%s' of sample %" PRId64 " is %d, not within %" PRId64 "..%" PRId64, path,
                           name, i, (int)(*out)[i], lo, hi);
    return CT_OK;
}

int32_t *ct_golden_target(ct_golden_batch *b, int64_t elems)
{
    int32_t *target = ct_calloc((size_t)elems, sizeof *target, "golden targets");
    b->field[0].name = "target";
    b->field[0].host = target;
    b->field[0].dtype = CT_I32;
    b->field[0].elems = elems;
    b->fields = 1;
    return target;
}

ct_status ct_golden_sequences(const char *path, const ct_safetensors *st, const char *output, ct_model_spec *model,
                              ct_golden_batch *b)
{
    const ct_st_tensor *t, *scores;
    int32_t *lengths = NULL, *target;
    ct_status status;
    CT_TRY(ct_safetensors_need(st, "input.target", 2, &t));
    CT_TRY(ct_safetensors_need(st, output, 3, &scores));
    const int64_t n = b->n, columns = t->desc.dim[1], classes = scores->desc.dim[2];
    if (t->desc.dim[0] != n || t->desc.dtype != CT_I32 || columns < 1)
        return ct_fail(CT_EFORMAT, "%s: input.target must be I32 [batch, length of a label]", path);
    CT_GOTO(status, read_lengths(path, st, "input.out_lens", n, 1, scores->desc.dim[0], &b->steps));
    CT_GOTO(status, read_lengths(path, st, "input.target_lens", n, 0, columns, &lengths));
    target = ct_golden_target(b, n * columns);
    if (!target) CT_GOTO(status, CT_ENOMEM);
    ct_st_read(t, CT_I32, target);
    for (int64_t i = 0; i < n * columns; i++) {
        const bool behind = i % columns >= lengths[i / columns];
        if (!behind && (target[i] < 1 || target[i] >= classes)) {
            status = ct_fail(CT_EFORMAT, "%s: input.target of sample %" PRId64 " has class %d of %" PRId64, path,
                             i / columns, (int)target[i], classes);
            goto fail;
        }
        target[i] = behind ? -1 : target[i] - 1;
    }
    model->positions = columns;
    model->classes = classes;
fail:
    ct_free(lengths);
    return status;
}

void ct_golden_log_softmax(const ct_desc *d, void *x)
{
    const int64_t n = ct_desc_numel(d), classes = d->dim[d->ndim - 1];
    for (int64_t first = 0; first < n; first += classes) {
        double most = ct_load(d->dtype, x, first), sum = 0;
        for (int64_t c = 1; c < classes; c++) most = fmax(most, ct_load(d->dtype, x, first + c));
        for (int64_t c = 0; c < classes; c++) sum += exp(ct_load(d->dtype, x, first + c) - most);
        for (int64_t c = 0; c < classes; c++)
            ct_store(d->dtype, x, first + c, ct_load(d->dtype, x, first + c) - most - log(sum));
    }
}
