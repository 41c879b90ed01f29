/* Predictions and metric sums. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <inttypes.h>
#include <math.h>

static ct_accept accept_argmax(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("logits are not floating point");
    if (call->out[0].desc.dtype != CT_I32) return ct_accept_no("predictions are not i32");
    return ct_accept_yes((size_t)call->attrs.loss.classes * sizeof(double));
}

/* pred = first maximum of each row of K logits; conf = its softmax probability = 1 / sum exp(x - max). */
static ct_status argmax(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t classes = call->attrs.loss.classes, rows = ct_desc_numel(&call->out[0].desc);
    int32_t *pred = call->out[0].data;
    double *x = scratch;
    for (int64_t i = 0; i < rows; i++) {
        ct_ref_load(&call->in[0], i * classes, classes, x);
        int64_t best = 0;
        double sum = 0;
        for (int64_t k = 1; k < classes; k++)
            if (x[k] > x[best]) best = k;
        for (int64_t k = 0; k < classes; k++) sum += exp(x[k] - x[best]);
        pred[i] = (int32_t)best;
        ct_ref_put(&call->out[1], i, 1 / sum);
    }
    return CT_OK;
}

static ct_accept accept_batch(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    if (call->in[1].desc.dtype != CT_F64) return ct_accept_no("the sums are not f64");
    return ct_accept_yes(0);
}

static ct_status batch_sums(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const double samples = (double)call->attrs.sums.samples;
    double *acc = call->in[1].data;
    acc[CT_METRIC_SAMPLES] += samples;
    acc[CT_METRIC_LOSS] += ct_ref_at(&call->in[0], 0) * samples;
    acc[CT_METRIC_BATCHES] += 1;
    for (int i = 2; i < call->nin; i++) acc[call->attrs.sums.first + i - 2] += ct_ref_at(&call->in[i], 0) * samples;
    return CT_OK;
}

static ct_accept accept_sums(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (call->in[0].desc.dtype != CT_I32 || call->in[1].desc.dtype != CT_I32)
        return ct_accept_no("predictions or targets are not i32");
    if (call->in[2].desc.dtype != CT_F64) return ct_accept_no("the sums are not f64");
    return ct_accept_yes(0);
}

static ct_status metric_sums(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int32_t *pred = call->in[0].data, *target = call->in[1].data;
    int64_t samples = call->in[0].desc.dim[0], positions = call->in[0].desc.dim[1], strings = 0, right = 0;
    for (int64_t n = 0; n < samples; n++) {
        int64_t ok = 0;
        for (int64_t p = 0; p < positions; p++) ok += pred[n * positions + p] == target[n * positions + p];
        right += ok;
        strings += ok == positions;
    }
    double *acc = (double *)call->in[2].data + call->attrs.sums.first;
    acc[0] += (double)strings;
    acc[1] += (double)(samples * positions);
    acc[2] += (double)right;
    return CT_OK;
}

static ct_accept accept_greedy(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("log-probabilities are not floating point");
    if (call->out[0].desc.dtype != CT_I32) return ct_accept_no("predictions are not i32");
    return ct_accept_yes((size_t)call->in[0].desc.dim[2] * sizeof(double));
}

/* Class of the first maximum at each time step; a run of one class other than the blank (0) is one character. */
static ct_status ctc_greedy(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t steps = call->in[0].desc.dim[0], samples = call->in[0].desc.dim[1], classes = call->in[0].desc.dim[2];
    const int32_t *lens = ct_present(&call->in[1]) ? call->in[1].data : NULL;
    int32_t *pred = call->out[0].data;
    double *x = scratch;
    for (int64_t n = 0; n < samples; n++) {
        int64_t len = lens ? lens[n] : steps, count = 0, before = 0;
        double most = 0;
        if (len < 1 || len > steps)
            return ct_fail(CT_EDATA,
                           "ctc_greedy: sample %" PRId64 " of the batch has %" PRId64 " time steps, not 1 to %" PRId64,
                           n, len, steps);
        for (int64_t t = 0; t < len; t++) {
            ct_ref_load(&call->in[0], (t * samples + n) * classes, classes, x);
            int64_t best = 0;
            for (int64_t k = 1; k < classes; k++)
                if (x[k] > x[best]) best = k;
            if (best != 0) {
                if (best != before) count++;
                most = best != before || x[best] > most ? x[best] : most;
                pred[n * steps + count - 1] = (int32_t)(best - 1);
                ct_ref_put(&call->out[1], n * steps + count - 1, exp(most));
            }
            before = best;
        }
        for (; count < steps; count++) {
            pred[n * steps + count] = -1;
            ct_ref_put(&call->out[1], n * steps + count, 0);
        }
    }
    return CT_OK;
}

static ct_accept accept_edit(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (call->in[0].desc.dtype != CT_I32 || call->in[1].desc.dtype != CT_I32)
        return ct_accept_no("predictions or targets are not i32");
    if (call->in[3].desc.dtype != CT_F64) return ct_accept_no("the sums are not f64");
    return ct_accept_yes(2 * ((size_t)call->in[1].desc.dim[1] + 1) * sizeof(int64_t));
}

/* Characters before the first -1 of at most n. */
static int64_t text_length(const int32_t *text, int64_t n)
{
    int64_t len = 0;
    while (len < n && text[len] != -1) len++;
    return len;
}

/* Least number of edits that make label b of prediction a (Levenshtein), and how many of them are substitutions: row by
 * row of the table, row[j] being the distance between the characters of a so far and the first j of b. Of equal ways
 * the one that, from the right, prefers a pair to a deletion and a deletion to an insertion. row [2*(nb+1)]. */
static int64_t edit_distance(const int32_t *a, int64_t na, const int32_t *b, int64_t nb, int64_t *row,
                             int64_t *substitutions)
{
    int64_t *changes = row + nb + 1;
    for (int64_t j = 0; j <= nb; j++) {
        row[j] = j;
        changes[j] = 0;
    }
    for (int64_t i = 1; i <= na; i++) {
        int64_t corner = row[0], before = changes[0];
        row[0] = i;
        for (int64_t j = 1; j <= nb; j++) {
            const int64_t differ = a[i - 1] != b[j - 1];
            const int64_t pair = corner + differ, drop = row[j - 1] + 1, insert = row[j] + 1;
            const int64_t pair_changes = before + differ;
            corner = row[j];
            before = changes[j];
            row[j] = ct_ref_min(pair, ct_ref_min(drop, insert));
            if (row[j] == pair) changes[j] = pair_changes;
            else if (row[j] == drop) changes[j] = changes[j - 1];
        }
    }
    *substitutions = changes[nb];
    return row[nb];
}

static ct_status edit_sums(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int32_t *pred = call->in[0].data, *target = call->in[1].data;
    int64_t samples = call->in[0].desc.dim[0], width = call->in[0].desc.dim[1], columns = call->in[1].desc.dim[1];
    double *acc = (double *)call->in[3].data + call->attrs.sums.first;
    for (int64_t n = 0; n < samples; n++) {
        const int32_t *text = pred + n * width, *label = target + n * columns;
        int64_t chars = text_length(label, columns), read = text_length(text, width), changes;
        int64_t edits = edit_distance(text, read, label, chars, scratch, &changes);
        int64_t drops = (edits - changes + chars - read) / 2; /* drops - insertions = chars - read */
        acc[0] += edits == 0;
        acc[1] += (double)chars;
        acc[2] += (double)(chars > edits ? chars - edits : 0);
        acc[3] += (double)edits;
        acc[4] += ct_present(&call->in[2]) && ct_ref_at(&call->in[2], n) == INFINITY;
        acc[5] += (double)edits / (double)(chars > 0 ? chars : 1);
        acc[6] += (double)changes;
        acc[7] += (double)drops;
        acc[8] += (double)(edits - changes - drops);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_ARGMAX, "ref", CT_REF_FLAGS, accept_argmax, argmax },
    { CT_OP_BATCH_SUMS, "ref", CT_REF_FLAGS, accept_batch, batch_sums },
    { CT_OP_METRIC_SUMS, "ref", CT_REF_FLAGS, accept_sums, metric_sums },
    { CT_OP_CTC_GREEDY, "ref", CT_REF_FLAGS, accept_greedy, ctc_greedy },
    { CT_OP_EDIT_SUMS, "ref", CT_REF_FLAGS, accept_edit, edit_sums },
};
const ct_impl_set ct_ref_metric_impls = CT_IMPL_SET(impls);
