/* Linear: rows M = product of all dimensions but the last. x [M,I], w [O,I], y [M,O].
 *   y[m,o] = bias[o] + sum over i of x[m,i]*w[o,i];  dx[m,i] = sum over o of dy[m,o]*w[o,i];
 *   dw[o,i] = sum over m of dy[m,o]*x[m,i];          db[o] = sum over m of dy[m,o]. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

static void axpy(double alpha, const double *restrict x, double *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] += alpha * x[i];
}

static ct_accept accept_scratch(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    size_t bytes = 0;
    for (int i = 0; i < call->nin; i++) bytes += ct_ref_scratch(&call->in[i]);
    for (int i = 0; i < call->nout; i++) bytes += ct_ref_scratch(&call->out[i]);
    return ct_accept_yes(bytes);
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t rows = ct_ref_rows(&call->in[0]), ni = call->in[1].desc.dim[1], no = call->in[1].desc.dim[0];
    double *room = scratch;
    const double *x = ct_ref_in(&call->in[0], &room), *w = ct_ref_in(&call->in[1], &room);
    const double *bias = call->nin > 2 && ct_present(&call->in[2]) ? ct_ref_in(&call->in[2], &room) : NULL;
    double *y = ct_ref_out(&call->out[0], &room);
    for (int64_t m = 0; m < rows; m++)
        for (int64_t o = 0; o < no; o++) y[m * no + o] = ct_ref_dot(x + m * ni, w + o * ni, ni) + (bias ? bias[o] : 0);
    ct_ref_flush(&call->out[0], y);
    return CT_OK;
}

static ct_status dgrad(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t rows = ct_ref_rows(&call->in[0]), ni = call->in[1].desc.dim[1], no = call->in[1].desc.dim[0];
    double *room = scratch;
    const double *dy = ct_ref_in(&call->in[0], &room), *w = ct_ref_in(&call->in[1], &room);
    double *dx = ct_ref_out(&call->out[0], &room);
    for (int64_t m = 0; m < rows; m++) {
        for (int64_t i = 0; i < ni; i++) dx[m * ni + i] = 0;
        for (int64_t o = 0; o < no; o++) axpy(dy[m * no + o], w + o * ni, dx + m * ni, ni);
    }
    ct_ref_flush(&call->out[0], dx);
    return CT_OK;
}

static ct_status wgrad(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t rows = ct_ref_rows(&call->in[0]), ni = ct_ref_cols(&call->in[0]), no = ct_ref_cols(&call->in[1]);
    double *room = scratch;
    const double *x = ct_ref_in(&call->in[0], &room), *dy = ct_ref_in(&call->in[1], &room);
    double *dw = ct_ref_out(&call->out[0], &room);
    for (int64_t o = 0; o < no; o++) {
        for (int64_t i = 0; i < ni; i++) dw[o * ni + i] = 0;
        for (int64_t m = 0; m < rows; m++) axpy(dy[m * no + o], x + m * ni, dw + o * ni, ni);
    }
    ct_ref_flush(&call->out[0], dw);
    return CT_OK;
}

static ct_accept accept_bias(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    return ct_accept_yes(2 * (size_t)ct_ref_cols(&call->in[0]) * sizeof(double));
}

static ct_status bias_grad(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    double *sum = scratch, *row = sum + cols;
    for (int64_t c = 0; c < cols; c++) sum[c] = 0;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, row);
        for (int64_t c = 0; c < cols; c++) sum[c] += row[c];
    }
    ct_ref_store(&call->out[0], 0, cols, sum);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_LINEAR, "ref", CT_REF_FLAGS, accept_scratch, forward },
    { CT_OP_LINEAR_DGRAD, "ref", CT_REF_FLAGS, accept_scratch, dgrad },
    { CT_OP_LINEAR_WGRAD, "ref", CT_REF_FLAGS, accept_scratch, wgrad },
    { CT_OP_BIAS_GRAD, "ref", CT_REF_FLAGS, accept_bias, bias_grad },
};
const ct_impl_set ct_ref_linear_impls = CT_IMPL_SET(impls);
