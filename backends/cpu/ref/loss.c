/* Losses over logits [N,P*K] (position-major) and targets i32 [N,P]; a row is the K logits of one position.
 *   softmax_xent: per row lse - ((1-e)*x[t] + e/K * sum x), e = label smoothing; mean over the N*P rows, as
 *     torch.nn.CrossEntropyLoss(label_smoothing=e). Backward: dloss/(N*P) * (softmax - (1-e)*onehot - e/K).
 *   soft_margin: mean over N*P*K of max(x,0) - x*z + log(1+exp(-|x|)), z = one-hot of the target, as
 *     torch.nn.MultiLabelSoftMarginLoss. Backward: dloss/(N*P*K) * (sigmoid(x) - z). */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <inttypes.h>
#include <math.h>

static ct_accept accept_seed(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_ref_is_state(&call->in[0])) return ct_accept_no("the state is not f64[16]");
    if (!ct_dtype_is_float(call->out[0].desc.dtype)) return ct_accept_no("the seed is not floating point");
    return ct_accept_yes(0);
}

static ct_accept accept_weighted(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static ct_status weighted_sum(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double sum = 0;
    for (int i = 0; i < call->nin; i++) sum += call->attrs.weights.w[i] * ct_ref_at(&call->in[i], 0);
    ct_ref_put(&call->out[0], 0, sum);
    return CT_OK;
}

static ct_status loss_seed(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    ct_ref_put(&call->out[0], 0, ct_ref_at(&call->in[0], CT_STATE_LOSS_SCALE) * call->attrs.loss.alpha);
    return CT_OK;
}

static ct_accept accept_loss(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("logits are not floating point");
    if (call->in[1].desc.dtype != CT_I32) return ct_accept_no("targets are not i32");
    return ct_accept_yes((size_t)call->attrs.loss.classes * sizeof(double));
}

static ct_status check_target(const ct_call *call, int64_t row, int32_t target)
{
    int64_t positions = call->attrs.loss.positions;
    if (target >= 0 && target < call->attrs.loss.classes) return CT_OK;
    return ct_fail(CT_EDATA,
                   "%s: target of sample %" PRId64 ", position %" PRId64 " of the batch is %" PRId32
                   ", not one of %" PRId64 " classes",
                   ct_op_get(call->op)->name, row / positions, row % positions, target, call->attrs.loss.classes);
}

static ct_status xent_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_loss_attrs *a = &call->attrs.loss;
    const int32_t *target = call->in[1].data;
    int64_t classes = a->classes, rows = ct_desc_numel(&call->in[1].desc);
    double *x = scratch, total = 0;
    for (int64_t i = 0; i < rows; i++) {
        CT_TRY(check_target(call, i, target[i]));
        ct_ref_load(&call->in[0], i * classes, classes, x);
        double largest = x[0], sum = 0, sum_x = 0;
        for (int64_t k = 1; k < classes; k++)
            if (x[k] > largest) largest = x[k];
        for (int64_t k = 0; k < classes; k++) {
            sum += exp(x[k] - largest);
            sum_x += x[k];
        }
        double lse = largest + log(sum);
        total += (1 - a->smoothing) * (lse - x[target[i]]) + a->smoothing * (lse - sum_x / (double)classes);
        ct_ref_put(&call->out[1], i, lse);
    }
    ct_ref_put(&call->out[0], 0, total / (double)rows);
    return CT_OK;
}

static ct_status xent_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_loss_attrs *a = &call->attrs.loss;
    const int32_t *target = call->in[1].data;
    int64_t classes = a->classes, rows = ct_desc_numel(&call->in[1].desc);
    double *x = scratch, factor = ct_ref_at(&call->in[3], 0) / (double)rows, rest = a->smoothing / (double)classes;
    for (int64_t i = 0; i < rows; i++) {
        CT_TRY(check_target(call, i, target[i]));
        ct_ref_load(&call->in[0], i * classes, classes, x);
        double lse = ct_ref_at(&call->in[2], i);
        for (int64_t k = 0; k < classes; k++)
            x[k] = factor * (exp(x[k] - lse) - (k == target[i] ? 1 - a->smoothing : 0) - rest);
        ct_ref_store(&call->out[0], i * classes, classes, x);
    }
    return CT_OK;
}

static ct_status margin_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int32_t *target = call->in[1].data;
    int64_t classes = call->attrs.loss.classes, rows = ct_desc_numel(&call->in[1].desc);
    double *x = scratch, total = 0;
    for (int64_t i = 0; i < rows; i++) {
        CT_TRY(check_target(call, i, target[i]));
        ct_ref_load(&call->in[0], i * classes, classes, x);
        for (int64_t k = 0; k < classes; k++)
            total += (x[k] > 0 ? x[k] : 0) - (k == target[i] ? x[k] : 0) + log1p(exp(-fabs(x[k])));
    }
    ct_ref_put(&call->out[0], 0, total / (double)(rows * classes));
    return CT_OK;
}

static ct_status margin_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int32_t *target = call->in[1].data;
    int64_t classes = call->attrs.loss.classes, rows = ct_desc_numel(&call->in[1].desc);
    double *x = scratch, factor = ct_ref_at(&call->in[2], 0) / (double)(rows * classes);
    for (int64_t i = 0; i < rows; i++) {
        CT_TRY(check_target(call, i, target[i]));
        ct_ref_load(&call->in[0], i * classes, classes, x);
        for (int64_t k = 0; k < classes; k++) {
            double e = exp(-fabs(x[k])), sigmoid = x[k] >= 0 ? 1 / (1 + e) : e / (1 + e);
            x[k] = factor * (sigmoid - (k == target[i] ? 1 : 0));
        }
        ct_ref_store(&call->out[0], i * classes, classes, x);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_LOSS_SEED, "ref", CT_REF_FLAGS, accept_seed, loss_seed },
    { CT_OP_SOFTMAX_XENT, "ref", CT_REF_FLAGS, accept_loss, xent_forward },
    { CT_OP_SOFTMAX_XENT_BWD, "ref", CT_REF_FLAGS, accept_loss, xent_backward },
    { CT_OP_SOFT_MARGIN, "ref", CT_REF_FLAGS, accept_loss, margin_forward },
    { CT_OP_SOFT_MARGIN_BWD, "ref", CT_REF_FLAGS, accept_loss, margin_backward },
    { CT_OP_WEIGHTED_SUM, "ref", CT_REF_FLAGS, accept_weighted, weighted_sum },
};
const ct_impl_set ct_ref_loss_impls = CT_IMPL_SET(impls);
