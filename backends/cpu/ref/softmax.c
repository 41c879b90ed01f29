/* Rows of C: y = x - lse, lse = m + log sum exp(x - m) with m the largest; dx = dy - exp(y) * sum dy. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <math.h>

static ct_accept accept_rows(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    return ct_accept_yes(2 * (size_t)ct_ref_cols(&call->in[0]) * sizeof(double));
}

static ct_status log_softmax(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t cols = ct_ref_cols(&call->in[0]), rows = ct_ref_rows(&call->in[0]);
    double *x = scratch;
    for (int64_t i = 0; i < rows; i++) {
        ct_ref_load(&call->in[0], i * cols, cols, x);
        double largest = x[0], sum = 0;
        for (int64_t k = 1; k < cols; k++)
            if (x[k] > largest) largest = x[k];
        for (int64_t k = 0; k < cols; k++) sum += exp(x[k] - largest);
        for (int64_t k = 0; k < cols; k++) x[k] = x[k] - largest - log(sum);
        ct_ref_store(&call->out[0], i * cols, cols, x);
    }
    return CT_OK;
}

static ct_status log_softmax_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t cols = ct_ref_cols(&call->in[0]), rows = ct_ref_rows(&call->in[0]);
    double *dy = scratch, *y = dy + cols;
    for (int64_t i = 0; i < rows; i++) {
        ct_ref_load(&call->in[0], i * cols, cols, dy);
        ct_ref_load(&call->in[1], i * cols, cols, y);
        double sum = 0;
        for (int64_t k = 0; k < cols; k++) sum += dy[k];
        for (int64_t k = 0; k < cols; k++) dy[k] -= exp(y[k]) * sum;
        ct_ref_store(&call->out[0], i * cols, cols, dy);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_LOG_SOFTMAX, "ref", CT_REF_FLAGS, accept_rows, log_softmax },
    { CT_OP_LOG_SOFTMAX_BWD, "ref", CT_REF_FLAGS, accept_rows, log_softmax_bwd },
};
const ct_impl_set ct_ref_softmax_impls = CT_IMPL_SET(impls);
