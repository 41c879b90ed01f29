/* CTC loss and gradient, f32 (ref/ctc.c has the formulas): a block to a sample, its threads share the states of a step. Forward and
 * backward variables are kept less the greatest of their step, so that f32 holds them at any length. A length or a character out of
 * range cannot be reported from here (the loader makes none): the sample then counts as infeasible. */
#include "backends/cuda/dev.cuh"

struct lattice {
    const float *logp;      /* of this sample: step t, class k at logp[t*stride + k] */
    const int32_t *label;   /* [chars] */
    int64_t stride, len, states;
    bool possible;
};

/* Every thread of the block reads the label for itself. */
__device__ static lattice open_lattice(const float *logp, const int32_t *target, const int32_t *lens, int64_t n, int64_t steps,
                                       int64_t samples, int64_t classes, int64_t columns)
{
    lattice g;
    int64_t count = 0, needed = 0;
    g.logp = logp + n * classes;
    g.stride = samples * classes;
    g.label = target + n * columns;
    g.len = lens ? lens[n] : steps;
    g.possible = g.len >= 1 && g.len <= steps;
    for (; count < columns && g.label[count] != -1; count++) {
        if (g.label[count] < 0 || g.label[count] >= classes - 1) g.possible = false;
        needed += count > 0 && g.label[count] == g.label[count - 1] ? 2 : 1;
    }
    g.states = 2 * count + 1;
    if (g.len < needed) g.possible = false;
    return g;
}

__device__ static inline float emission(const lattice &g, int64_t t, int64_t s)
{
    return g.logp[t * g.stride + (s % 2 ? g.label[s / 2] + 1 : 0)];
}
/* Whether a path may go from s-2 to s: to a character that differs from the one before. */
__device__ static inline bool may_skip(const lattice &g, int64_t s)
{
    return s % 2 == 1 && s >= 3 && g.label[s / 2] != g.label[s / 2 - 1];
}

__device__ static inline float lse3(float a, float b, float c)
{
    float m = fmaxf(a, fmaxf(b, c));
    return m == -INFINITY ? m : m + logf(expf(a - m) + expf(b - m) + expf(c - m));
}

/* Greatest value over the block; every thread gets it. `room` [CT_THREADS/32] is shared memory. */
__device__ static float block_max(float v, float *room)
{
    v = ct_warp_max(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
    __syncthreads();
    float m = room[0];
    for (int i = 1; i < CT_THREADS / 32; i++) m = room[i] > m ? room[i] : m;
    return m;
}

/* Some log-probability that the label needs is NaN. */
__device__ static bool has_nan(const lattice &g, float *room)
{
    float found = 0;
    for (int64_t i = threadIdx.x; i < g.len * g.states; i += CT_THREADS)
        if (isnan(emission(g, i / g.states, i % g.states))) found = 1;
    return block_max(found, room) > 0;
}

/* What smoothing adds of a sample, before it is weighted; every thread gets it. */
__device__ static double spread_of(const lattice &g, int64_t classes, double *room)
{
    double sum = 0;
    for (int64_t i = threadIdx.x; i < g.len * classes; i += CT_THREADS) sum -= (double)g.logp[i / classes * g.stride + i % classes];
    return ct_block_sum(sum, room) / (double)classes;
}

/* spread [samples]; NULL: nothing is smoothed. */
__global__ void ctc_forward(const float *logp, const int32_t *target, const int32_t *lens, int64_t steps, int64_t samples,
                            int64_t classes, int64_t columns, float *nll, float *alpha, double *spread)
{
    __shared__ float room[CT_THREADS / 32];
    __shared__ double wide[CT_THREADS / 32];
    for (int64_t n = blockIdx.x; n < samples; n += gridDim.x) {
        lattice g = open_lattice(logp, target, lens, n, steps, samples, classes, columns);
        int64_t width = 2 * columns + 1;
        float *rows = alpha + n * steps * width;
        double taken = 0;
        bool broken = g.possible && has_nan(g, room);
        float result = broken ? NAN : INFINITY;
        bool runs = g.possible && !broken;
        for (int64_t t = 0; runs && t < g.len; t++) {
            float *row = rows + t * width, *before = row - width, top = -INFINITY;
            int64_t first = g.states - 2 * (g.len - t), end = 2 * t + 2; /* reachable, and the end still is */
            for (int64_t s = threadIdx.x; s < g.states; s += CT_THREADS) {
                float a = -INFINITY;
                if (s >= first && s < end) {
                    a = emission(g, t, s);
                    if (t > 0) a += lse3(before[s], s >= 1 ? before[s - 1] : -INFINITY, may_skip(g, s) ? before[s - 2] : -INFINITY);
                }
                row[s] = a;
                top = a > top ? a : top;
            }
            top = block_max(top, room);
            if (top > -INFINITY)
                for (int64_t s = threadIdx.x; s < g.states; s += CT_THREADS) row[s] -= top;
            taken += (double)top;
            __syncthreads(); /* the next step reads this row */
        }
        if (runs) {
            const float *last = rows + (g.len - 1) * width + g.states;
            result = -(float)(taken + (double)lse3(last[-1], g.states > 1 ? last[-2] : -INFINITY, -INFINITY));
        }
        const double even = spread && runs ? spread_of(g, classes, wide) : 0;
        if (threadIdx.x == 0) {
            nll[n] = result;
            if (spread) spread[n] = even;
        }
        __syncthreads();
        /* What no path passes. */
        bool none = !runs || result == INFINITY;
        for (int64_t i = threadIdx.x; i < steps * width; i += CT_THREADS)
            if (none || i / width >= g.len || i % width >= g.states) rows[i] = -INFINITY;
        __syncthreads();
    }
}

/* loss = (sum of the finite and NaN nll)/N, or of (1 - smoothing) nll + smoothing spread */
__global__ void ctc_mean(const float *nll, const double *spread, double smoothing, int64_t samples, float *loss)
{
    __shared__ double room[CT_THREADS / 32];
    double sum = 0;
    for (int64_t n = threadIdx.x; n < samples; n += CT_THREADS)
        if (nll[n] != INFINITY) sum += spread ? (1 - smoothing) * (double)nll[n] + smoothing * spread[n] : (double)nll[n];
    sum = ct_block_sum(sum, room);
    if (threadIdx.x == 0) *loss = (float)(sum / (double)samples);
}

/* Gradient of a step from the occupancies share[s]: class by class, the first state of a class adds for all of them to `even`,
 * which stands there. */
__device__ static void put_step(const lattice &g, int64_t t, const float *share, float factor, float even, double *room, float *dlogp)
{
    double blank = 0;
    for (int64_t s = 2 * (int64_t)threadIdx.x; s < g.states; s += 2 * CT_THREADS) blank += (double)share[s];
    blank = ct_block_sum(blank, room);
    float *to = dlogp + t * g.stride;
    if (threadIdx.x == 0) to[0] = even - factor * (float)blank;
    for (int64_t s = 2 * (int64_t)threadIdx.x + 1; s < g.states; s += 2 * CT_THREADS) {
        int32_t character = g.label[s / 2];
        bool first = true;
        for (int64_t r = 1; r < s && first; r += 2) first = g.label[r / 2] != character;
        if (!first) continue;
        float sum = 0;
        for (int64_t r = s; r < g.states; r += 2)
            if (g.label[r / 2] == character) sum += share[r];
        to[character + 1] = even - factor * sum;
    }
}

/* room_rows [samples][3][2L+1]: backward variables of two steps, occupancies of one. */
__global__ void ctc_backward(const float *logp, const int32_t *target, const int32_t *lens, const float *nll, const float *alpha,
                             const float *dloss, float smoothing, int64_t steps, int64_t samples, int64_t classes, int64_t columns,
                             float *room_rows, float *dlogp)
{
    __shared__ float room[CT_THREADS / 32];
    __shared__ double wide[CT_THREADS / 32];
    const float all = *dloss / (float)samples, factor = (1 - smoothing) * all, even = smoothing > 0 ? -all * smoothing / (float)classes : 0;
    for (int64_t n = blockIdx.x; n < samples; n += gridDim.x) {
        lattice g = open_lattice(logp, target, lens, n, steps, samples, classes, columns);
        int64_t width = 2 * columns + 1;
        float *after = room_rows + n * 3 * width, *beta = after + width, *share = beta + width, *out = dlogp + n * classes;
        float cost = nll[n];
        bool broken = isnan(cost), runs = g.possible && !broken && cost != INFINITY;
        for (int64_t i = threadIdx.x; i < steps * classes; i += CT_THREADS)
            out[i / classes * g.stride + i % classes] = i / classes >= g.len ? 0 : broken ? NAN : runs ? even : 0;
        __syncthreads();
        for (int64_t t = g.len - 1; runs && t >= 0; t--) {
            float top = -INFINITY;
            for (int64_t s = threadIdx.x; s < g.states; s += CT_THREADS) {
                float b = s >= g.states - 2 ? 0 : -INFINITY;
                if (t < g.len - 1) {
                    float move[3] = { -INFINITY, -INFINITY, -INFINITY };
                    for (int64_t r = s; r <= s + 2 && r < g.states; r++)
                        if (r < s + 2 || may_skip(g, r)) move[r - s] = after[r] + emission(g, t + 1, r);
                    b = lse3(move[0], move[1], move[2]);
                }
                beta[s] = b;
                top = b > top ? b : top;
            }
            top = block_max(top, room);
            float most = -INFINITY;
            for (int64_t s = threadIdx.x; s < g.states; s += CT_THREADS) {
                if (top > -INFINITY) beta[s] -= top;
                share[s] = alpha[(n * steps + t) * width + s] + beta[s];
                most = share[s] > most ? share[s] : most;
            }
            most = block_max(most, room);
            double total = 0;
            for (int64_t s = threadIdx.x; s < g.states; s += CT_THREADS) {
                share[s] = expf(share[s] - most);
                total += (double)share[s];
            }
            total = ct_block_sum(total, wide);
            put_step(g, t, share, (float)((double)factor / total), even, wide, out);
            float *other = after;
            after = beta;
            beta = other;
            __syncthreads();
        }
        __syncthreads();
    }
}

static ct_accept accept_f32(const ct_call *c, size_t scratch)
{
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(scratch) : ct_accept_no("cuda: log-probabilities are not f32");
}

static ct_accept ctc_loss_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c, c->attrs.loss.smoothing > 0 ? (size_t)c->in[0].desc.dim[1] * sizeof(double) : 0);
}
static ct_status ctc_loss_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t *d = c->in[0].desc.dim;
    const double smoothing = c->attrs.loss.smoothing;
    float *nll = (float *)c->out[1].data;
    double *spread = smoothing > 0 ? (double *)scratch : NULL;
    CT_LAUNCH(&ctc_forward, CT_GRID1(d[1] < 65536 ? d[1] : 65536), CT_THREADS, s, (const float *)c->in[0].data,
              (const int32_t *)c->in[1].data, ct_cuda_has(c, 2) ? (const int32_t *)c->in[2].data : (const int32_t *)NULL, d[0], d[1],
              d[2], c->in[1].desc.dim[1], nll, (float *)c->out[2].data, spread);
    CT_LAUNCH(&ctc_mean, CT_GRID1(1), CT_THREADS, s, (const float *)nll, (const double *)spread, smoothing, d[1], (float *)c->out[0].data);
    CT_LAUNCHED("ctc_loss");
}

static ct_accept ctc_loss_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c, (size_t)(c->in[0].desc.dim[1] * 3 * (2 * c->in[1].desc.dim[1] + 1)) * sizeof(float));
}
static ct_status ctc_loss_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t *d = c->in[0].desc.dim;
    CT_LAUNCH(&ctc_backward, CT_GRID1(d[1] < 65536 ? d[1] : 65536), CT_THREADS, s, (const float *)c->in[0].data,
              (const int32_t *)c->in[1].data, ct_cuda_has(c, 2) ? (const int32_t *)c->in[2].data : (const int32_t *)NULL,
              (const float *)c->in[3].data, (const float *)c->in[4].data, (const float *)c->in[5].data,
              (float)c->attrs.loss.smoothing, d[0], d[1], d[2], c->in[1].desc.dim[1], (float *)scratch, (float *)c->out[0].data);
    CT_LAUNCHED("ctc_loss_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_CTC_LOSS, "cuda.kernel", CT_CUDA_TUNED, ctc_loss_accept, ctc_loss_run },
    { CT_OP_CTC_LOSS_BWD, "cuda.kernel", CT_CUDA_TUNED, ctc_loss_bwd_accept, ctc_loss_bwd_run },
};
CT_CUDA_SET(ctc)
