/* distill: a row is a step of a sample; log p and log q are log-softmaxes of s/tau and t/tau over classes >= first. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <math.h>

/* log p and log q of a row. */
static ct_accept accept_rows(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = NULL;
    for (int i = 0; !reason && i < call->nin; i++)
        if (i != 2 && !ct_dtype_is_float(call->in[i].desc.dtype)) reason = "ref: scores must be floating";
    return reason ? ct_accept_no(reason) : ct_accept_yes(2 * (size_t)ct_ref_cols(&call->in[0]) * sizeof(double));
}

/* Whether step t of sample n counts. */
static bool counts(const ct_call *call, int64_t row)
{
    const int64_t samples = call->in[0].desc.dim[1];
    if (!ct_present(&call->in[2])) return true;
    return row / samples < ((const int32_t *)call->in[2].data)[row % samples];
}

static double steps_that_count(const ct_call *call)
{
    const int64_t rows = ct_ref_rows(&call->in[0]);
    double n = 0;
    for (int64_t r = 0; r < rows; r++) n += counts(call, r);
    return n;
}

static void log_softmax(const ct_tensor *t, int64_t row, double temperature, int64_t first, double *y)
{
    const int64_t cols = ct_ref_cols(t);
    double largest = -INFINITY, sum = 0;
    ct_ref_load(t, row * cols, cols, y);
    for (int64_t c = first; c < cols; c++) {
        y[c] /= temperature;
        if (!(y[c] <= largest)) largest = y[c]; /* a NaN is seen */
    }
    for (int64_t c = first; c < cols; c++) sum += exp(y[c] - largest);
    for (int64_t c = first; c < cols; c++) y[c] = y[c] - largest - log(sum);
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_distill_attrs *a = &call->attrs.distill;
    const int64_t cols = ct_ref_cols(&call->in[0]), rows = ct_ref_rows(&call->in[0]);
    double *p = scratch, *q = p + cols, total = 0;
    for (int64_t r = 0; r < rows; r++) {
        double kl = 0;
        if (counts(call, r)) {
            log_softmax(&call->in[0], r, a->temperature, a->first, p);
            log_softmax(&call->in[1], r, a->temperature, a->first, q);
            for (int64_t c = a->first; c < cols; c++)
                if (exp(q[c]) != 0) kl += exp(q[c]) * (q[c] - p[c]);
        }
        total += kl;
        ct_ref_put(&call->out[1], r, kl);
    }
    ct_ref_put(&call->out[0], 0, a->temperature * a->temperature * total / steps_that_count(call));
    return CT_OK;
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_distill_attrs *a = &call->attrs.distill;
    const int64_t cols = ct_ref_cols(&call->in[0]), rows = ct_ref_rows(&call->in[0]);
    const double g = ct_ref_at(&call->in[4], 0) * a->temperature / steps_that_count(call);
    double *p = scratch, *q = p + cols;
    for (int64_t r = 0; r < rows; r++) {
        const double kl = ct_ref_at(&call->in[3], r);
        const bool count = counts(call, r);
        if (count) {
            log_softmax(&call->in[0], r, a->temperature, a->first, p);
            log_softmax(&call->in[1], r, a->temperature, a->first, q);
        }
        for (int64_t c = 0; c < cols; c++) {
            const bool in = count && c >= a->first;
            const double sp = in ? exp(p[c]) : 0, sq = in ? exp(q[c]) : 0;
            const double dt = sq != 0 ? g * sq * (q[c] - p[c] - kl) : 0;
            p[c] = in ? g * (sp - sq) : 0;
            q[c] = dt;
        }
        ct_ref_store(&call->out[0], r * cols, cols, p);
        if (!a->detach) ct_ref_store(&call->out[1], r * cols, cols, q);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_DISTILL, "ref", CT_REF_FLAGS, accept_rows, forward },
    { CT_OP_DISTILL_BWD, "ref", CT_REF_FLAGS, accept_rows, backward },
};
const ct_impl_set ct_ref_distill_impls = CT_IMPL_SET(impls);
