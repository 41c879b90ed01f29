/* Each sample of x [N,...] as torch.nn.functional.layer_norm over all dimensions but the first, without weights:
 *   mean = x0 + sum (x - x0) / n; var = sum (x - mean)^2 / n; invstd = 1/sqrt(var + eps); y = (x - mean)*invstd
 * with n elements, of which x0 is the first: of a constant picture nothing is left, not even a rounding. Backward:
 *   dx = invstd*(dy - sum dy / n - y * sum (dy*y) / n). */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <math.h>

static int64_t size_of(const ct_call *call)
{
    return ct_desc_numel(&call->in[0].desc) / call->in[0].desc.dim[0];
}

/* Room for two samples of doubles. */
static ct_accept accept_samples(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    return ct_accept_yes(2 * (size_t)size_of(call) * sizeof(double));
}

static double mean_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] - x[0];
    return x[0] + sum / (double)n;
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t count = call->in[0].desc.dim[0], n = size_of(call);
    double *x = scratch;
    for (int64_t m = 0; m < count; m++) {
        ct_ref_load(&call->in[0], m * n, n, x);
        const double mean = mean_of(x, n);
        for (int64_t i = 0; i < n; i++) x[i] -= mean;
        const double invstd = 1 / sqrt(ct_ref_dot(x, x, n) / (double)n + call->attrs.norm.eps);
        for (int64_t i = 0; i < n; i++) x[i] *= invstd;
        ct_ref_store(&call->out[0], m * n, n, x);
        ct_ref_put(&call->out[1], m, invstd);
    }
    return CT_OK;
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t count = call->in[0].desc.dim[0], n = size_of(call);
    double *dy = scratch, *y = dy + n;
    for (int64_t m = 0; m < count; m++) {
        ct_ref_load(&call->in[0], m * n, n, dy);
        ct_ref_load(&call->in[1], m * n, n, y);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += dy[i];
        const double mean = sum / (double)n, along = ct_ref_dot(dy, y, n) / (double)n;
        const double invstd = ct_ref_at(&call->in[2], m);
        for (int64_t i = 0; i < n; i++) dy[i] = invstd * (dy[i] - mean - y[i] * along);
        ct_ref_store(&call->out[0], m * n, n, dy);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_STANDARDIZE, "ref", CT_REF_FLAGS, accept_samples, forward },
    { CT_OP_STANDARDIZE_BWD, "ref", CT_REF_FLAGS, accept_samples, backward },
};
const ct_impl_set ct_ref_standardize_impls = CT_IMPL_SET(impls);
