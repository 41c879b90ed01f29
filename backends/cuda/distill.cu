/* distill and its gradient, f32: a warp to a row, which is a step of a sample. The rows' divergences are added up by one
 * block, so that the order does not depend on the card. */
#include "backends/cuda/dev.cuh"

/* The largest of inv*x, and the logarithm of the sum of exp(inv*x - largest). */
struct peak { float top, rest; };

__device__ static inline peak peak_of(const float *x, float inv, int64_t n, int lane)
{
    peak p = { -INFINITY, 0 };
    float sum = 0;
    for (int64_t k = lane; k < n; k += 32) p.top = x[k] * inv > p.top ? x[k] * inv : p.top;
    p.top = ct_warp_max(p.top);
    for (int64_t k = lane; k < n; k += 32) sum += expf(x[k] * inv - p.top);
    p.rest = logf(ct_warp_sum(sum));
    return p;
}

/* Whether the step of this row is one that its sample has. */
__device__ static inline bool counts(const int *len, int64_t row, int64_t samples)
{
    return !len || row / samples < len[row % samples];
}

__global__ void rows_apart(const float *s, const float *t, const int *len, float *kl, int64_t rows, int64_t samples,
                           int64_t classes, int64_t first, float inv)
{
    int lane = (int)threadIdx.x % 32;
    int64_t n = classes - first;
    for (CT_EACH_WARP(i, rows)) {
        const float *a = s + i * classes + first, *b = t + i * classes + first;
        float sum = 0;
        if (counts(len, i, samples)) {
            peak p = peak_of(a, inv, n, lane), q = peak_of(b, inv, n, lane);
            float apart = q.top - p.top + (q.rest - p.rest);
            for (int64_t k = lane; k < n; k += 32) {
                float share = expf(b[k] * inv - q.top - q.rest);
                sum += share > 0 ? share * ((b[k] - a[k]) * inv - apart) : share;
            }
        }
        sum = ct_warp_sum(sum);
        if (lane == 0) kl[i] = sum;
    }
}

/* Steps that count, by all threads of the only block. */
__device__ static inline double steps_of(const int *len, int64_t rows, int64_t samples, double *room)
{
    double n = 0;
    if (!len) return (double)rows;
    for (int64_t i = threadIdx.x; i < samples; i += CT_THREADS) n += len[i];
    n = ct_block_sum(n, room);
    if (threadIdx.x == 0) room[0] = n;
    __syncthreads();
    return room[0];
}

__global__ void add_rows(const float *kl, const int *len, float *loss, int64_t rows, int64_t samples, double square)
{
    __shared__ double room[CT_THREADS / 32];
    double sum = 0;
    for (int64_t i = threadIdx.x; i < rows; i += CT_THREADS) sum += (double)kl[i];
    sum = ct_block_sum(sum, room);
    __syncthreads();
    double n = steps_of(len, rows, samples, room);
    if (threadIdx.x == 0) loss[0] = (float)(square * sum / n);
}

/* What each row's gradient is multiplied by. */
__global__ void factor(const int *len, const float *dloss, float *g, int64_t rows, int64_t samples, double tau)
{
    __shared__ double room[CT_THREADS / 32];
    double n = steps_of(len, rows, samples, room);
    if (threadIdx.x == 0) g[0] = (float)((double)dloss[0] * tau / n);
}

__global__ void rows_back(const float *s, const float *t, const int *len, const float *kl, const float *factor_of,
                          float *ds, float *dt, int64_t rows, int64_t samples, int64_t classes, int64_t first, float inv)
{
    int lane = (int)threadIdx.x % 32;
    int64_t n = classes - first;
    float g = factor_of[0];
    for (CT_EACH_WARP(i, rows)) {
        int64_t at = i * classes;
        bool count = counts(len, i, samples);
        for (int64_t k = lane; k < (count ? first : classes); k += 32) {
            ds[at + k] = 0;
            if (dt) dt[at + k] = 0;
        }
        if (!count) continue;
        at += first;
        peak p = peak_of(s + at, inv, n, lane), q = peak_of(t + at, inv, n, lane);
        float apart = q.top - p.top + (q.rest - p.rest), less = kl[i];
        for (int64_t k = lane; k < n; k += 32) {
            float a = s[at + k], b = t[at + k];
            float of_s = expf(a * inv - p.top - p.rest), of_t = expf(b * inv - q.top - q.rest);
            ds[at + k] = g * (of_s - of_t);
            if (dt) dt[at + k] = g * (of_t > 0 ? of_t * ((b - a) * inv - apart - less) : of_t);
        }
    }
}

static ct_accept accept_f32(const ct_call *c, size_t scratch)
{
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(scratch) : ct_accept_no("cuda: distill of f32 only");
}

static const int *lengths(const ct_call *c) { return ct_present(&c->in[2]) ? (const int *)c->in[2].data : NULL; }

static ct_accept distill_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c, 0);
}
static ct_status distill_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_distill_attrs *a = &c->attrs.distill;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), samples = c->in[0].desc.dim[1];
    CT_LAUNCH(&rows_apart, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data,
              (const float *)c->in[1].data, lengths(c), (float *)c->out[1].data, rows, samples,
              ct_cuda_cols(&c->in[0].desc), a->first, (float)(1 / a->temperature));
    CT_LAUNCH(&add_rows, CT_GRID1(1), CT_THREADS, s, (const float *)c->out[1].data, lengths(c), (float *)c->out[0].data, rows,
              samples, a->temperature * a->temperature);
    CT_LAUNCHED("distill");
}

static ct_accept distill_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c, sizeof(float));
}
static ct_status distill_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_distill_attrs *a = &c->attrs.distill;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), samples = c->in[0].desc.dim[1];
    CT_LAUNCH(&factor, CT_GRID1(1), CT_THREADS, s, lengths(c), (const float *)c->in[4].data, (float *)scratch, rows, samples,
              a->temperature);
    CT_LAUNCH(&rows_back, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data,
              (const float *)c->in[1].data, lengths(c), (const float *)c->in[3].data, (const float *)scratch,
              (float *)c->out[0].data, a->detach ? (float *)NULL : (float *)c->out[1].data, rows, samples,
              ct_cuda_cols(&c->in[0].desc), a->first, (float)(1 / a->temperature));
    CT_LAUNCHED("distill_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_DISTILL, "cuda.kernel", CT_CUDA_TUNED, distill_accept, distill_run },
    { CT_OP_DISTILL_BWD, "cuda.kernel", CT_CUDA_TUNED, distill_bwd_accept, distill_bwd_run },
};
CT_CUDA_SET(distill)
