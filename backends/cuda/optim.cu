/* Optimizer operators over flat ranges [n] f32, gradients of 16 bits and 16-bit copies of the parameters, with the
 * arithmetic of ops/math that every backend shares. The step state f64[16] lives on the device: no operator needs the
 * host to know the learning rate, the loss scale or whether the step counts. */
#include "backends/cuda/dev.cuh"
#include "ops/math/optim_math.h"
#include "ops/math/schedule_math.h"

enum { NORM_PARTS = 512, NORM_AHEAD = 4 };

static const ct_tensor *optional(const ct_call *c, int i)
{
    return c->nin > i && c->in[i].desc.ndim >= 0 ? &c->in[i] : NULL;
}

/* Beside the state, input `at`, all is f32, but for what bit i of `half` allows to have 16 bits. */
static ct_accept accept_ranges(const ct_call *c, int at, unsigned half)
{
    for (int i = 0; i < c->nin; i++) {
        const ct_dtype d = c->in[i].desc.dtype;
        if (i == at || d == CT_F32 || !optional(c, i)) continue;
        if (!(half >> i & 1u) || (d != CT_BF16 && d != CT_F16))
            return ct_accept_no("cuda: optimizer ranges are f32, or gradients and copies in 16 bits");
    }
    return ct_accept_yes(0);
}

static double *state_of(const ct_call *c, int at) { return (double *)c->in[at].data; }

/* ---- on the state alone: one thread ---- */

__global__ void lr_schedule(ct_schedule_attrs a, double *state) { state[CT_STATE_LR] = ct_schedule_lr(&a, state[CT_STATE_STEP]); }
__global__ void step_end(ct_optim_attrs a, double *state) { ct_step_end(&a, state); }
__global__ void next_draw(double *state) { state[CT_STATE_DRAWS] += 1; }

static ct_accept lr_schedule_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return ct_accept_yes(0);
}
static ct_status lr_schedule_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_LAUNCH(&lr_schedule, CT_GRID1(1), 1, s, c->attrs.schedule, state_of(c, 0));
    CT_LAUNCHED("lr_schedule");
}
static ct_accept step_end_accept(const ct_device *dev, const ct_call *c)
{
    return lr_schedule_accept(dev, c);
}
static ct_status step_end_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_LAUNCH(&step_end, CT_GRID1(1), 1, s, c->attrs.optim, state_of(c, 0));
    CT_LAUNCHED("step_end");
}
static ct_accept next_draw_accept(const ct_device *dev, const ct_call *c)
{
    return lr_schedule_accept(dev, c);
}
static ct_status next_draw_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_LAUNCH(&next_draw, CT_GRID1(1), 1, s, state_of(c, 0));
    CT_LAUNCHED("next_draw");
}

/* ---- grad_norm: sums of squares of NORM_PARTS interleaved parts, then one block adds them. A NaN or infinity shows in the sum; a
 * sum of f64 squares of f32 numbers cannot overflow. ---- */

/* `sum` and the squares of elements [at, at+4) of g, as far as they are below n, one after the other. */
template <typename G> __device__ __forceinline__ double add_squares(const G *g, int64_t at, int64_t n, double sum)
{
    if (at + 4 <= n) {
        float v[4];
        ct_get_n<G, 4>(g + at, v);
#pragma unroll
        for (int k = 0; k < 4; k++) sum += (double)v[k] * (double)v[k];
    } else {
        for (int64_t k = at; k < n; k++) sum += (double)ct_get(g[k]) * (double)ct_get(g[k]);
    }
    return sum;
}

/* g [n], and behind it rest [m], four elements at a time wherever g ends: the sums are those of one range. NORM_AHEAD
 * vectors of g are fetched before the first of them is added. */
template <typename G> __global__ void square_sums(const G *g, int64_t n, const float *rest, int64_t m, double *part)
{
    __shared__ double room[CT_THREADS / 32];
    double sum = 0;
    const bool even = n % 4 == 0; /* else what rest gives to four elements lies across vectors of it */
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (NORM_AHEAD - 1) * step < n / 4; i += NORM_AHEAD * step) {
        ct_pack<G, 4> row[NORM_AHEAD];
#pragma unroll
        for (int a = 0; a < NORM_AHEAD; a++) row[a] = ct_fetch<G, 4>(g + 4 * (i + a * step));
#pragma unroll
        for (int a = 0; a < NORM_AHEAD; a++)
#pragma unroll
            for (int k = 0; k < 4; k++) sum += (double)ct_get(row[a].e[k]) * (double)ct_get(row[a].e[k]);
    }
    for (; i < (n + m + 3) / 4; i += step) {
        const int64_t at = 4 * i;
        if (at < n) sum = add_squares(g, at, n, sum);
        if (at >= n && even) sum = add_squares(rest, at - n, m, sum);
        for (int64_t k = at < n ? n : at; !even && k < at + 4 && k < n + m; k++)
            sum += (double)rest[k - n] * (double)rest[k - n];
    }
    sum = ct_block_sum(sum, room);
    if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

__global__ void norm_finish(const double *part, double max_norm, double *state)
{
    __shared__ double room[CT_THREADS / 32];
    double sum = 0;
    for (int i = (int)threadIdx.x; i < NORM_PARTS; i += CT_THREADS) sum += part[i];
    sum = ct_block_sum(sum, room);
    if (threadIdx.x == 0) ct_grad_norm_finish(max_norm, sum, isfinite(sum), state);
}

static ct_accept grad_norm_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    ct_accept a = accept_ranges(c, 1, 1u << 0);
    if (a.ok) a.scratch = NORM_PARTS * sizeof(double);
    return a;
}
static ct_status grad_norm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_tensor *rest = optional(c, 2);
    CT_BY_TYPE(c->in[0].desc.dtype,
               CT_LAUNCH(&square_sums<T>, CT_GRID1(NORM_PARTS), CT_THREADS, s, (const T *)c->in[0].data,
                         ct_cuda_numel(&c->in[0].desc), rest ? (const float *)rest->data : NULL,
                         rest ? ct_cuda_numel(&rest->desc) : 0, (double *)scratch););
    CT_LAUNCH(&norm_finish, CT_GRID1(1), CT_THREADS, s, (const double *)scratch, c->attrs.optim.max_norm,
              state_of(c, 1));
    CT_LAUNCHED("grad_norm");
}

/* ---- updates ---- */

/* The parameters in 16 bits, to be written beside them; data NULL: nobody wants them. The type is the same for all of
 * a launch, so that a kernel for each would gain nothing. */
struct half_copy {
    void *data;
    bool bf16; /* or f16 */
};

static half_copy copy_of(const ct_call *c, int i)
{
    const ct_tensor *t = optional(c, i);
    const half_copy k = { t ? t->data : NULL, t && t->desc.dtype == CT_BF16 };
    return k;
}

template <int V> __device__ __forceinline__ void put_copy(half_copy c, int64_t at, const float v[V])
{
    if (!c.data) return;
    if (c.bf16) ct_put_n<ct_b16, V>((ct_b16 *)c.data + at, v);
    else ct_put_n<ct_h16, V>((ct_h16 *)c.data + at, v);
}

template <typename G>
__global__ void adamw(float *p, const G *g, float *m, float *v, const double *state, half_copy copy, int64_t n,
                      ct_optim_attrs a)
{
    __shared__ ct_adam_coef_f32 shared_coef;
    __shared__ int skip;
    if (threadIdx.x == 0) {
        ct_adam_coef wide = ct_adam_coefficients(&a, state); /* two pow() in f64: once for a block */
        shared_coef = ct_adam_narrow(&wide);
        skip = ct_step_skipped(state);
    }
    __syncthreads();
    if (skip) return;
    ct_adam_coef_f32 coef = shared_coef;
    for (CT_EACH(i, (n + 3) / 4)) {
        int64_t at = 4 * i;
        if (at + 4 <= n) {
            float pv[4], gv[4], mv[4], vv[4];
            ct_get_n<float, 4>(p + at, pv);
            ct_get_n<G, 4>(g + at, gv);
            ct_get_n<float, 4>(m + at, mv);
            ct_get_n<float, 4>(v + at, vv);
#pragma unroll
            for (int k = 0; k < 4; k++) ct_adam_f32(&coef, gv[k], &pv[k], &mv[k], &vv[k]);
            ct_put_n<float, 4>(p + at, pv);
            ct_put_n<float, 4>(m + at, mv);
            ct_put_n<float, 4>(v + at, vv);
            put_copy<4>(copy, at, pv);
        } else {
            for (int64_t k = at; k < n; k++) {
                ct_adam_f32(&coef, ct_get(g[k]), p + k, m + k, v + k);
                put_copy<1>(copy, k, p + k);
            }
        }
    }
}

/* Blocks of an update: few enough that the coefficients of each are not what it costs. */
static int64_t update_blocks(int64_t n)
{
    int64_t b = ct_blocks(n / 4 + 1);
    return b > 2048 ? 2048 : b;
}

static ct_accept adamw_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_ranges(c, 4, 1u << 1 | 1u << 5);
}
static ct_status adamw_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[1].desc.dtype,
               CT_LAUNCH(&adamw<T>, CT_GRID1(update_blocks(n)), CT_THREADS, s, (float *)c->in[0].data,
                         (const T *)c->in[1].data, (float *)c->in[2].data, (float *)c->in[3].data,
                         (const double *)state_of(c, 4), copy_of(c, 5), n, c->attrs.optim););
    CT_LAUNCHED("adamw");
}

template <typename G>
__global__ void sgd(float *p, const G *g, float *buf, const double *state, half_copy copy, int64_t n, ct_optim_attrs a)
{
    if (ct_step_skipped(state)) return;
    ct_sgd_coef coef = ct_sgd_coefficients(&a, state);
    for (CT_EACH(i, n)) {
        ct_sgd_f32(&coef, ct_get(g[i]), p + i, buf + i);
        put_copy<1>(copy, i, p + i);
    }
}

static ct_accept sgd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_ranges(c, 3, 1u << 1 | 1u << 4);
}
static ct_status sgd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[1].desc.dtype,
               CT_LAUNCH(&sgd<T>, CT_GRID1(update_blocks(4 * n)), CT_THREADS, s, (float *)c->in[0].data,
                         (const T *)c->in[1].data, (float *)c->in[2].data, (const double *)state_of(c, 3),
                         copy_of(c, 4), n, c->attrs.optim););
    CT_LAUNCHED("sgd");
}

__global__ void ema(float *shadow, const float *src, const double *state, int64_t n, ct_optim_attrs a)
{
    if (ct_step_skipped(state)) return;
    double d = ct_ema_decay(&a, state);
    float keep = (float)d, take = (float)(1 - d);
    for (CT_EACH(i, n)) shadow[i] = ct_ema_f32(keep, take, shadow[i], src[i]);
}

static ct_accept ema_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_ranges(c, 2, 0);
}
static ct_status ema_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_LAUNCH(&ema, CT_GRID1(update_blocks(4 * n)), CT_THREADS, s, (float *)c->in[0].data, (const float *)c->in[1].data,
              (const double *)state_of(c, 2), n, c->attrs.optim);
    CT_LAUNCHED("ema");
}

static const ct_impl impls[] = {
    { CT_OP_LR_SCHEDULE, "cuda.kernel", CT_CUDA_TUNED, lr_schedule_accept, lr_schedule_run },
    { CT_OP_GRAD_NORM, "cuda.kernel", CT_CUDA_TUNED, grad_norm_accept, grad_norm_run },
    { CT_OP_ADAMW, "cuda.kernel", CT_CUDA_TUNED, adamw_accept, adamw_run },
    { CT_OP_SGD, "cuda.kernel", CT_CUDA_TUNED, sgd_accept, sgd_run },
    { CT_OP_EMA, "cuda.kernel", CT_CUDA_TUNED, ema_accept, ema_run },
    { CT_OP_STEP_END, "cuda.kernel", CT_CUDA_TUNED, step_end_accept, step_end_run },
    { CT_OP_NEXT_DRAW, "cuda.kernel", CT_CUDA_TUNED, next_draw_accept, next_draw_run },
};
CT_CUDA_SET(optim)
