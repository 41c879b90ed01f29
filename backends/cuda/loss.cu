/* Losses over P positions of K classes: logits [N,P*K] f32, target i32 [N,P]. A warp takes a row of K logits; the row losses are
 * added by one block in f64. A target outside 0..K-1 cannot be reported from here (the loader never makes one): it gives NaN, which
 * the run's NaN policy finds. */
#include "backends/cuda/dev.cuh"

__global__ void seed_kernel(const double *state, double alpha, float *seed) { *seed = (float)(state[CT_STATE_LOSS_SCALE] * alpha); }

static ct_accept loss_seed_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->out[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: the seed is not f32");
}
static ct_status loss_seed_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_LAUNCH(&seed_kernel, CT_GRID1(1), 1, s, (const double *)c->in[0].data, c->attrs.loss.alpha, (float *)c->out[0].data);
    CT_LAUNCHED("loss_seed");
}

/* loss = sum of row[0..n-1] / divisor */
__global__ void mean_rows(const float *row, int64_t n, double divisor, float *loss)
{
    __shared__ double room[CT_THREADS / 32];
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += CT_THREADS) sum += (double)row[i];
    sum = ct_block_sum(sum, room);
    if (threadIdx.x == 0) *loss = (float)(sum / divisor);
}

__global__ void xent_rows(const float *logits, const int32_t *target, int64_t rows, int64_t classes, float smoothing, float *lse,
                          float *row)
{
    int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, rows)) {
        const float *x = logits + i * classes;
        float top = -INFINITY, sum = 0, sum_x = 0;
        for (int64_t k = lane; k < classes; k += 32) top = x[k] > top ? x[k] : top;
        top = ct_warp_max(top);
        for (int64_t k = lane; k < classes; k += 32) {
            sum += expf(x[k] - top);
            sum_x += x[k] - top; /* small numbers add up better than large ones */
        }
        sum = ct_warp_sum(sum);
        sum_x = ct_warp_sum(sum_x);
        if (lane != 0) continue;
        int32_t t = target[i];
        float rest = logf(sum), at = t >= 0 && t < classes ? x[t] - top : NAN;
        lse[i] = top + rest;
        row[i] = (1 - smoothing) * (rest - at) + smoothing * (rest - sum_x / (float)classes);
    }
}

static ct_accept accept_logits(const ct_call *c, bool rows)
{
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cuda: logits are not f32");
    return ct_accept_yes(rows ? (size_t)ct_cuda_numel(&c->in[1].desc) * sizeof(float) : 0);
}

static ct_accept softmax_xent_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_logits(c, true);
}
static ct_status softmax_xent_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    int64_t rows = ct_cuda_numel(&c->in[1].desc);
    float *row = (float *)scratch;
    CT_LAUNCH(&xent_rows, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data, (const int32_t *)c->in[1].data,
              rows, c->attrs.loss.classes, (float)c->attrs.loss.smoothing, (float *)c->out[1].data, row);
    CT_LAUNCH(&mean_rows, CT_GRID1(1), CT_THREADS, s, (const float *)row, rows, (double)rows, (float *)c->out[0].data);
    CT_LAUNCHED("softmax_xent");
}

__global__ void xent_backward(const float *logits, const int32_t *target, const float *lse, const float *dloss, int64_t rows,
                              int64_t classes, float smoothing, float *dx)
{
    float factor = *dloss / (float)rows, rest = smoothing / (float)classes;
    for (CT_EACH(i, rows * classes)) {
        int64_t r = i / classes, k = i % classes;
        dx[i] = factor * (expf(logits[i] - lse[r]) - (k == target[r] ? 1 - smoothing : 0) - rest);
    }
}

static ct_accept softmax_xent_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_logits(c, false);
}
static ct_status softmax_xent_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_numel(&c->in[1].desc), n = ct_cuda_numel(&c->in[0].desc);
    CT_LAUNCH(&xent_backward, CT_GRID1(ct_blocks(n)), CT_THREADS, s, (const float *)c->in[0].data, (const int32_t *)c->in[1].data,
              (const float *)c->in[2].data, (const float *)c->in[3].data, rows, c->attrs.loss.classes,
              (float)c->attrs.loss.smoothing, (float *)c->out[0].data);
    CT_LAUNCHED("softmax_xent_bwd");
}

__global__ void margin_rows(const float *logits, const int32_t *target, int64_t rows, int64_t classes, float *row)
{
    int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, rows)) {
        const float *x = logits + i * classes;
        int32_t t = target[i];
        float sum = t >= 0 && t < classes ? 0 : NAN;
        for (int64_t k = lane; k < classes; k += 32)
            sum += (x[k] > 0 ? x[k] : 0) - (k == t ? x[k] : 0) + log1pf(expf(-fabsf(x[k])));
        sum = ct_warp_sum(sum);
        if (lane == 0) row[i] = sum;
    }
}

static ct_accept soft_margin_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_logits(c, true);
}
static ct_status soft_margin_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    int64_t rows = ct_cuda_numel(&c->in[1].desc), classes = c->attrs.loss.classes;
    float *row = (float *)scratch;
    CT_LAUNCH(&margin_rows, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data,
              (const int32_t *)c->in[1].data, rows, classes, row);
    CT_LAUNCH(&mean_rows, CT_GRID1(1), CT_THREADS, s, (const float *)row, rows, (double)(rows * classes), (float *)c->out[0].data);
    CT_LAUNCHED("soft_margin");
}

__global__ void margin_backward(const float *logits, const int32_t *target, const float *dloss, int64_t rows, int64_t classes,
                                float *dx)
{
    float factor = *dloss / (float)(rows * classes);
    for (CT_EACH(i, rows * classes)) {
        float x = logits[i], e = expf(-fabsf(x)), sigmoid = x >= 0 ? 1 / (1 + e) : e / (1 + e);
        dx[i] = factor * (sigmoid - (i % classes == target[i / classes] ? 1.0f : 0.0f));
    }
}

static ct_accept soft_margin_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_logits(c, false);
}
static ct_status soft_margin_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_numel(&c->in[1].desc), n = ct_cuda_numel(&c->in[0].desc);
    CT_LAUNCH(&margin_backward, CT_GRID1(ct_blocks(n)), CT_THREADS, s, (const float *)c->in[0].data, (const int32_t *)c->in[1].data,
              (const float *)c->in[2].data, rows, c->attrs.loss.classes, (float *)c->out[0].data);
    CT_LAUNCHED("soft_margin_bwd");
}

/* ---- weighted_sum ---- */

struct losses { const float *loss[CT_MAX_IN]; }; /* by value into the kernel */

/* One warp: lane i takes loss i. */
__global__ void weighted(losses in, ct_weights_attrs a, float *sum)
{
    const int i = (int)threadIdx.x;
    double v = i < a.n ? a.w[i] * (double)*in.loss[i] : 0;
    v = ct_warp_sum(v);
    if (i == 0) *sum = (float)v;
}

static ct_accept weighted_sum_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: the losses are not f32");
}
static ct_status weighted_sum_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    losses in = {};
    for (int i = 0; i < c->nin; i++) in.loss[i] = (const float *)c->in[i].data;
    CT_LAUNCH(&weighted, CT_GRID1(1), 32, s, in, c->attrs.weights, (float *)c->out[0].data);
    CT_LAUNCHED("weighted_sum");
}

static const ct_impl impls[] = {
    { CT_OP_LOSS_SEED, "cuda.kernel", CT_CUDA_TUNED, loss_seed_accept, loss_seed_run },
    { CT_OP_SOFTMAX_XENT, "cuda.kernel", CT_CUDA_TUNED, softmax_xent_accept, softmax_xent_run },
    { CT_OP_SOFTMAX_XENT_BWD, "cuda.kernel", CT_CUDA_TUNED, softmax_xent_bwd_accept, softmax_xent_bwd_run },
    { CT_OP_SOFT_MARGIN, "cuda.kernel", CT_CUDA_TUNED, soft_margin_accept, soft_margin_run },
    { CT_OP_SOFT_MARGIN_BWD, "cuda.kernel", CT_CUDA_TUNED, soft_margin_bwd_accept, soft_margin_bwd_run },
    { CT_OP_WEIGHTED_SUM, "cuda.kernel", CT_CUDA_TUNED, weighted_sum_accept, weighted_sum_run },
};
CT_CUDA_SET(loss)
