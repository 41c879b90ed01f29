/* Predictions and metric sums. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

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

static ct_accept accept_sums(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (call->in[0].desc.dtype != CT_I32 || call->in[1].desc.dtype != CT_I32)
        return ct_accept_no("predictions or targets are not i32");
    if (!ct_dtype_is_float(call->in[2].desc.dtype)) return ct_accept_no("the loss is not floating point");
    if (call->in[3].desc.dtype != CT_F64) return ct_accept_no("the sums are not f64");
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
    double *acc = call->in[3].data;
    acc[CT_METRIC_SAMPLES] += (double)samples;
    acc[CT_METRIC_STRINGS] += (double)strings;
    acc[CT_METRIC_CHARS] += (double)(samples * positions);
    acc[CT_METRIC_CHARS_OK] += (double)right;
    acc[CT_METRIC_LOSS_SUM] += ct_ref_at(&call->in[2], 0) * (double)samples;
    acc[CT_METRIC_BATCHES] += 1;
    return CT_OK;
}

const ct_impl ct_ref_metric_impls[2] = {
    { CT_OP_ARGMAX, "ref", CT_REF_FLAGS, accept_argmax, argmax },
    { CT_OP_METRIC_SUMS, "ref", CT_REF_FLAGS, accept_sums, metric_sums },
};
