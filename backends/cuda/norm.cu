/* Batch normalisation over the rows of x [M,C] (ref/norm.c has the formulas), fused with the addition and the ReLU or SiLU behind it;
 * and rows made one long.
 *
 * What the ReLU let through is a bit mask (mask_math.h): backward passes read an eighth of a byte where y would be two or four. What SiLU
 * is applied to is computed again by both backward passes.
 *
 * Forward: partial sums of x-K and (x-K)^2 with K = the first row, which keeps the difference of large numbers out of the variance;
 * one small kernel that finishes the statistics; one pass that applies them. Backward: partial sums of dy and dy*xhat, a finish, a
 * pass for dx and dadd. Partial sums lie in scratch as [parts][2][C]; how rows are cut into parts depends on the shape alone. */
#include "backends/cuda/columns.cuh"
#include "ops/math/mask_math.h"

template <typename T, int V> __global__ void forward_sums(const T *x, int64_t rows, int64_t channels, float *part)
{
    int64_t c0 = ct_column<V>();
    float sum[2][V] = {}, shift[V], v[V];
    if (c0 < channels) {
        ct_get_n<T, V>(x + c0, shift);
        for (CT_EACH_ROW(m, rows)) {
            ct_get_n<T, V>(x + m * channels + c0, v);
#pragma unroll
            for (int k = 0; k < V; k++) {
                float d = v[k] - shift[k];
                sum[0][k] += d;
                sum[1][k] += d * d;
            }
        }
    }
    ct_write_part<2, V>(sum, c0, channels, part);
}

template <typename T>
__global__ void forward_finish(const T *x, const float *part, int64_t parts, int64_t rows, int64_t channels, ct_norm_attrs at,
                               float *run_mean, float *run_var, float *mean, float *invstd)
{
    int64_t c = ct_column<1>();
    double total[2], n = (double)rows;
    if (!ct_column_totals<2>(part, parts, channels, total)) return;
    double d = total[0] / n, m = (double)ct_get(x[c]) + d, square = total[1] - total[0] * d; /* sum of (x-mean)^2 */
    if (square < 0) square = 0; /* NaN stays */
    mean[c] = (float)m;
    invstd[c] = (float)(1 / sqrt(square / n + at.eps));
    if (!at.update_stats) return;
    float rm = (float)((1 - at.momentum) * (double)run_mean[c] + at.momentum * m);
    float rv = (float)((1 - at.momentum) * (double)run_var[c] + at.momentum * (square / (n - 1)));
    if (!isfinite(rm) || !isfinite(rv)) return; /* no skipped step could undo it */
    run_mean[c] = rm;
    run_var[c] = rv;
}

/* y = act(gamma*(x-mean)*invstd + beta [+ add]) of one element, from the mean and invstd that are stored, so that the backward pass
 * can repeat it bit for bit. */
__device__ static inline float normalised(float x, float gamma, float beta, float mean, float invstd, float add, int act)
{
    float r = gamma * ((x - mean) * invstd) + beta + add;
    return act == CT_NORM_RELU && r < 0 ? 0 : act == CT_NORM_SILU ? r * ct_sigmoid(r) : r;
}

/* INFER: `scale` holds the running variance instead of invstd. */
template <typename T, int V, bool INFER>
__global__ void apply(const T *x, const float *gamma, const float *beta, const float *mean, const float *scale, const T *add,
                      T *y, int64_t vectors, int64_t channels, float eps, int act)
{
    for (CT_EACH(i, vectors)) {
        int64_t at = i * V, c = at % channels;
        float v[V], a[V] = {};
        ct_get_n<T, V>(x + at, v);
        if (add) ct_get_n<T, V>(add + at, a);
#pragma unroll
        for (int k = 0; k < V; k++) {
            float s = INFER ? 1 / sqrtf(scale[c + k] + eps) : scale[c + k];
            v[k] = normalised(v[k], gamma[c + k], beta[c + k], mean[c + k], s, a[k], act);
        }
        ct_put_n<T, V>(y + at, v);
    }
}

/* The same with a ReLU and its mask; a thread takes the elements of one byte of the mask, V at a time. */
template <typename T, int V>
__global__ void apply_masked(const T *x, const float *gamma, const float *beta, const float *mean, const float *invstd,
                             const T *add, T *y, uint8_t *mask, int64_t bytes, int64_t channels)
{
    const int64_t row_bytes = ct_mask_bytes(channels);
    for (CT_EACH(i, bytes)) {
        int64_t c0 = i % row_bytes * 8, at = i / row_bytes * channels + c0;
        float stored[8] = {};
#pragma unroll
        for (int j = 0; j < 8; j += V) {
            if (V == 1 && c0 + j >= channels) break; /* wider ones come where all bytes are full */
            float v[V], a[V] = {};
            ct_get_n<T, V>(x + at + j, v);
            if (add) ct_get_n<T, V>(add + at + j, a);
#pragma unroll
            for (int k = 0; k < V; k++) {
                int64_t c = c0 + j + k;
                v[k] = normalised(v[k], gamma[c], beta[c], mean[c], invstd[c], a[k], CT_NORM_RELU);
                stored[j + k] = ct_stored<T>(v[k]);
            }
            ct_put_n<T, V>(y + at + j, v);
        }
        mask[i] = ct_mask_pack(stored, 8, 0);
    }
}

template <typename T, int V> static void launch_masked(ct_stream *s, const ct_call *c, const float *mean, const float *invstd)
{
    int64_t bytes = ct_cuda_numel(&c->out[3].desc);
    auto k = &apply_masked<T, V>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(bytes)), CT_THREADS, s, (const T *)c->in[0].data, (const float *)c->in[1].data,
              (const float *)c->in[2].data, mean, invstd, ct_cuda_has(c, 5) ? (const T *)c->in[5].data : (const T *)NULL,
              (T *)c->out[0].data, (uint8_t *)c->out[3].data, bytes, ct_cuda_cols(&c->in[0].desc));
}

template <typename T, int V, bool INFER>
static void launch_apply(ct_stream *s, const ct_call *c, const float *mean, const float *scale)
{
    int64_t channels = ct_cuda_cols(&c->in[0].desc), vectors = ct_cuda_numel(&c->in[0].desc) / V;
    auto k = &apply<T, V, INFER>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(vectors)), CT_THREADS, s, (const T *)c->in[0].data, (const float *)c->in[1].data,
              (const float *)c->in[2].data, mean, scale, ct_cuda_has(c, 5) ? (const T *)c->in[5].data : (const T *)NULL,
              (T *)c->out[0].data, vectors, channels, (float)c->attrs.norm.eps, (int)c->attrs.norm.act);
}

/* What shape rules leave open: the storage type of x. Statistics, gamma and beta are f32 then. */
static ct_accept accept_x(const ct_call *c, size_t scratch)
{
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(scratch) : ct_accept_no(CT_CUDA_NO_TYPE);
}

extern "C" ct_accept ct_cuda_batchnorm_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const ct_desc *x = &c->in[0].desc;
    return accept_x(c, ct_part_bytes(x, 2));
}

template <typename T, int V> static void forward(ct_stream *s, const ct_call *c, float *part)
{
    int64_t channels = ct_cuda_cols(&c->in[0].desc), rows = ct_cuda_rows(&c->in[0].desc);
    int64_t groups = ct_column_groups(channels, V), parts = ct_row_parts(rows, groups);
    const T *x = (const T *)c->in[0].data;
    float *mean = (float *)c->out[1].data, *invstd = (float *)c->out[2].data;
    auto sums = &forward_sums<T, V>;
    CT_LAUNCH(sums, CT_GRID2(groups, parts), CT_THREADS, s, x, rows, channels, part);
    auto finish = &forward_finish<T>;
    CT_LAUNCH(finish, CT_GRID1((channels + CT_LANES - 1) / CT_LANES), CT_THREADS, s, x, (const float *)part, parts, rows, channels,
              c->attrs.norm, (float *)c->in[3].data, (float *)c->in[4].data, mean, invstd);
    if (c->nout < 4 || !ct_present(&c->out[3])) launch_apply<T, V, false>(s, c, mean, invstd);
    else if (channels % 8 == 0) launch_masked<T, V>(s, c, mean, invstd);
    else launch_masked<T, 1>(s, c, mean, invstd); /* a row's last byte is not full */
}

extern "C" ct_status ct_cuda_batchnorm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) forward<T, ct_width<T>::value>(s, c, (float *)scratch);
        else forward<T, 1>(s, c, (float *)scratch);
    })
    CT_LAUNCHED("batchnorm");
}

extern "C" ct_accept ct_cuda_batchnorm_infer_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_x(c, 0);
}

extern "C" ct_status ct_cuda_batchnorm_infer_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const float *mean = (const float *)c->in[3].data, *var = (const float *)c->in[4].data;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        bool wide = ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0, given = c->attrs.norm.given_invstd != 0;
        if (given && wide) launch_apply<T, ct_width<T>::value, false>(s, c, mean, var); /* var is invstd then */
        else if (given) launch_apply<T, 1, false>(s, c, mean, var);
        else if (wide) launch_apply<T, ct_width<T>::value, true>(s, c, mean, var);
        else launch_apply<T, 1, true>(s, c, mean, var);
    })
    CT_LAUNCHED("batchnorm_infer");
}

/* ---- backward ---- */

/* What a backward pass reads. mask NULL without a ReLU; beta and add, which may be NULL, are SiLU's. */
template <typename T> struct back {
    const T *dy, *x, *add;
    const uint8_t *mask;
    const float *gamma, *beta, *mean, *invstd;
    int64_t rows, channels;
};

/* V columns from c on of row m: x, and g = dy, zero where the ReLU was closed, times the slope with SILU. They lie within one byte of the
 * mask. */
template <typename T, int V, bool SILU>
__device__ static inline void gated(const back<T> &b, int64_t m, int64_t c, float g[V], float v[V])
{
    int64_t at = m * b.channels + c;
    ct_get_n<T, V>(b.dy + at, g);
    ct_get_n<T, V>(b.x + at, v);
    if (SILU) {
        float a[V] = {};
        if (b.add) ct_get_n<T, V>(b.add + at, a);
#pragma unroll
        for (int k = 0; k < V; k++) {
            int64_t i = c + k;
            g[k] *= ct_silu_slope(normalised(v[k], b.gamma[i], b.beta[i], b.mean[i], b.invstd[i], a[k], CT_NORM_LINEAR));
        }
    } else if (b.mask) {
        unsigned bits = ct_mask_from(b.mask + m * ct_mask_bytes(b.channels), c);
#pragma unroll
        for (int k = 0; k < V; k++)
            if (!(bits >> k & 1u)) g[k] = 0;
    }
}

template <typename T, int V, bool SILU> __global__ void backward_sums(back<T> b, float *part)
{
    int64_t c0 = ct_column<V>();
    float sum[2][V] = {}, v[V], g[V], mu[V], is[V];
    if (c0 < b.channels) {
#pragma unroll
        for (int k = 0; k < V; k++) {
            mu[k] = b.mean[c0 + k];
            is[k] = b.invstd[c0 + k];
        }
        for (CT_EACH_ROW(m, b.rows)) {
            gated<T, V, SILU>(b, m, c0, g, v);
#pragma unroll
            for (int k = 0; k < V; k++) {
                sum[0][k] += g[k];
                sum[1][k] += g[k] * ((v[k] - mu[k]) * is[k]);
            }
        }
    }
    ct_write_part<2, V>(sum, c0, b.channels, part);
}

__global__ void backward_finish(const float *part, int64_t parts, int64_t channels, float *dgamma, float *dbeta)
{
    int64_t c = ct_column<1>();
    double total[2];
    if (!ct_column_totals<2>(part, parts, channels, total)) return;
    dbeta[c] = (float)total[0];
    dgamma[c] = (float)total[1];
}

/* dx = gamma*invstd*(g - dbeta/M - xhat*dgamma/M); dadd = g. dx may lie on dy. */
template <typename T, int V, bool SILU>
__global__ void backward_apply(back<T> b, const float *dgamma, const float *dbeta, T *dx, T *dadd, float inv_rows)
{
    for (CT_EACH(i, b.rows * b.channels / V)) {
        int64_t at = i * V, c = at % b.channels;
        float g[V], v[V];
        gated<T, V, SILU>(b, at / b.channels, c, g, v);
#pragma unroll
        for (int k = 0; k < V; k++) {
            float is = b.invstd[c + k], xhat = (v[k] - b.mean[c + k]) * is;
            v[k] = b.gamma[c + k] * is * (g[k] - dbeta[c + k] * inv_rows - xhat * (dgamma[c + k] * inv_rows));
        }
        ct_put_n<T, V>(dx + at, v);
        if (dadd) ct_put_n<T, V>(dadd + at, g);
    }
}

template <typename T, int V, bool SILU> static void backward(ct_stream *s, const ct_call *c, float *part)
{
    const back<T> b = { (const T *)c->in[0].data,
                        (const T *)c->in[1].data,
                        ct_cuda_has(c, 7) ? (const T *)c->in[7].data : (const T *)NULL,
                        ct_cuda_has(c, 5) ? (const uint8_t *)c->in[5].data : (const uint8_t *)NULL,
                        (const float *)c->in[2].data,
                        ct_cuda_has(c, 6) ? (const float *)c->in[6].data : (const float *)NULL,
                        (const float *)c->in[3].data,
                        (const float *)c->in[4].data,
                        ct_cuda_rows(&c->in[0].desc),
                        ct_cuda_cols(&c->in[0].desc) };
    int64_t groups = ct_column_groups(b.channels, V), parts = ct_row_parts(b.rows, groups);
    float *dgamma = (float *)c->out[1].data, *dbeta = (float *)c->out[2].data;
    T *dadd = c->nout > 3 && ct_present(&c->out[3]) ? (T *)c->out[3].data : (T *)NULL;
    auto sums = &backward_sums<T, V, SILU>;
    CT_LAUNCH(sums, CT_GRID2(groups, parts), CT_THREADS, s, b, part);
    CT_LAUNCH(&backward_finish, CT_GRID1((b.channels + CT_LANES - 1) / CT_LANES), CT_THREADS, s, (const float *)part, parts, b.channels,
              dgamma, dbeta);
    auto apply = &backward_apply<T, V, SILU>;
    CT_LAUNCH(apply, CT_GRID1(ct_blocks(b.rows * b.channels / V)), CT_THREADS, s, b, (const float *)dgamma, (const float *)dbeta,
              (T *)c->out[0].data, dadd, 1.0f / (float)b.rows);
}

template <typename T, int V> static void backward_act(ct_stream *s, const ct_call *c, float *part)
{
    if (c->attrs.norm.act == CT_NORM_SILU) backward<T, V, true>(s, c, part);
    else backward<T, V, false>(s, c, part);
}

extern "C" ct_accept ct_cuda_batchnorm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_x(c, ct_part_bytes(&c->in[0].desc, 2));
}

extern "C" ct_status ct_cuda_batchnorm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) backward_act<T, ct_width<T>::value>(s, c, (float *)scratch);
        else backward_act<T, 1>(s, c, (float *)scratch);
    })
    CT_LAUNCHED("batchnorm_bwd");
}

/* ---- rows made one long: a thread takes a short row, a warp a long one ---- */

enum { SHORT_ROW = 16 };

/* Sums of a row's squares and of its products with dy (NULL: none), in the threads that share the row. */
template <typename T, bool WARP>
__device__ static inline void row_sums(const T *x, const T *dy, int64_t cols, int64_t first, int64_t step, float *square, float *along)
{
    float s = 0, a = 0;
    for (int64_t c = first; c < cols; c += step) {
        float v = ct_get(x[c]);
        s += v * v;
        if (dy) a += v * ct_get(dy[c]);
    }
    *square = WARP ? ct_warp_sum(s) : s;
    *along = WARP && dy ? ct_warp_sum(a) : a;
}

/* BWD: out = (dy - y*(y.dy))/r with y = x/r; else x/r. r = max(||x||, 1e-12), below which y does not turn. out may lie on dy, or on x. */
template <typename T, bool WARP, bool BWD> __global__ void lengths(const T *dy, const T *x, T *out, int64_t rows, int64_t cols)
{
    const int64_t share = WARP ? 32 : 1, lane = WARP ? threadIdx.x % 32 : 0, threads = (int64_t)gridDim.x * blockDim.x;
    for (int64_t m = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / share; m < rows; m += threads / share) {
        const int64_t at = m * cols;
        float square, along;
        row_sums<T, WARP>(x + at, BWD ? dy + at : (const T *)NULL, cols, lane, share, &square, &along);
        const float length = sqrtf(square), least = (float)CT_NORM_LEAST, r = length > least ? length : least;
        const float turn = length < least ? 0 : along / r;
        for (int64_t c = lane; c < cols; c += share) {
            const float y = ct_get(x[at + c]) / r;
            ct_put(out + at + c, BWD ? (ct_get(dy[at + c]) - y * turn) / r : y);
        }
    }
}

template <bool BWD> static ct_status run_lengths(ct_stream *s, const ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    int64_t rows = ct_cuda_rows(x), cols = ct_cuda_cols(x);
    CT_BY_TYPE(x->dtype, {
        auto k = cols > SHORT_ROW ? &lengths<T, true, BWD> : &lengths<T, false, BWD>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(cols > SHORT_ROW ? rows * 32 : rows)), CT_THREADS, s, (const T *)c->in[0].data,
                  (const T *)c->in[BWD ? 1 : 0].data, (T *)c->out[0].data, rows, cols);
    })
    CT_LAUNCHED(BWD ? "l2_normalize_bwd" : "l2_normalize");
}

extern "C" ct_accept ct_cuda_l2_normalize_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_x(c, 0);
}
extern "C" ct_status ct_cuda_l2_normalize_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_lengths<false>(s, c);
}
extern "C" ct_accept ct_cuda_l2_normalize_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_x(c, 0);
}
extern "C" ct_status ct_cuda_l2_normalize_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_lengths<true>(s, c);
}
