/* log_softmax over rows of C, f32: a warp to a row. */
#include "backends/cuda/dev.cuh"

__global__ void log_softmax(const float *in, float *out, int64_t rows, int64_t classes)
{
    int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, rows)) {
        const float *x = in + i * classes;
        float top = -INFINITY, sum = 0;
        for (int64_t k = lane; k < classes; k += 32) top = x[k] > top ? x[k] : top;
        top = ct_warp_max(top);
        for (int64_t k = lane; k < classes; k += 32) sum += expf(x[k] - top);
        float rest = logf(ct_warp_sum(sum));
        for (int64_t k = lane; k < classes; k += 32) out[i * classes + k] = x[k] - top - rest;
    }
}

/* dx may lie on dy. */
__global__ void log_softmax_bwd(const float *dy, const float *y, float *dx, int64_t rows, int64_t classes)
{
    int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, rows)) {
        float sum = 0;
        for (int64_t k = lane; k < classes; k += 32) sum += dy[i * classes + k];
        sum = ct_warp_sum(sum);
        for (int64_t k = lane; k < classes; k += 32) dx[i * classes + k] = dy[i * classes + k] - expf(y[i * classes + k]) * sum;
    }
}

static ct_accept log_softmax_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: log_softmax of f32 only");
}
static ct_status log_softmax_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_rows(&c->in[0].desc);
    CT_LAUNCH(&log_softmax, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data, (float *)c->out[0].data, rows,
              ct_cuda_cols(&c->in[0].desc));
    CT_LAUNCHED("log_softmax");
}
static ct_accept log_softmax_bwd_accept(const ct_device *dev, const ct_call *c)
{
    return log_softmax_accept(dev, c);
}
static ct_status log_softmax_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_rows(&c->in[0].desc);
    CT_LAUNCH(&log_softmax_bwd, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data,
              (const float *)c->in[1].data, (float *)c->out[0].data, rows, ct_cuda_cols(&c->in[0].desc));
    CT_LAUNCHED("log_softmax_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_LOG_SOFTMAX, "cuda.kernel", CT_CUDA_TUNED, log_softmax_accept, log_softmax_run },
    { CT_OP_LOG_SOFTMAX_BWD, "cuda.kernel", CT_CUDA_TUNED, log_softmax_bwd_accept, log_softmax_bwd_run },
};
CT_CUDA_SET(softmax)
