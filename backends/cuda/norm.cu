/* Batch normalisation over the rows of x [M,C] (ref/norm.c has the formulas), fused with the addition and the ReLU or
 * SiLU behind it, and with the mean over all pixels behind a ReLU; and rows made one long.
 *
 * What the ReLU let through is a bit mask (mask_math.h): backward passes read an eighth of a byte where y would be
 * two or four. What SiLU is applied to is computed again by both backward passes.
 *
 * Forward: partial sums of x-K and (x-K)^2 with K = the first row, which keeps the difference of large numbers out of
 * the variance; and by the last block the statistics; one pass that applies them. Backward: partial sums of dy and
 * dy*(x-mean), and by the last block the gradients of gamma and beta; a pass for dx and dadd (columns.cuh). */
#include <limits.h>

#include "backends/cuda/norm.cuh"
#include "ops/math/mask_math.h"

template <typename T, int V> struct two_packs { ct_pack<T, V> x, add; };

/* MASKED, with a ReLU: its mask as well; V is 8 then, a byte of the mask. ADD: there is something to add, and half as many rows are on their way. */
template <typename T, int V, bool INFER, bool MASKED, bool ADD>
__global__ void __launch_bounds__(CT_THREADS, 3) apply(const T *x, const float *gamma, const float *beta, const float *mean, const float *scale,
                                                       const T *add, T *y, uint8_t *mask, ct_sheet sheet, float eps, int act)
{
    const int c0 = ct_sheet_column<V>(sheet);
    if (c0 >= sheet.columns) return;
    channel_numbers<V> n;
    read_channels<V, INFER>(&n, gamma, beta, mean, scale, eps, c0);
    ct_sheet_rows<ADD ? CT_AHEAD / 2 : CT_AHEAD>(
        sheet,
        [&](int64_t m) {
            const int64_t at = m * sheet.columns + c0;
            two_packs<T, V> row;
            row.x = ct_fetch<T, V>(x + at);
            if (ADD) row.add = ct_fetch<T, V>(add + at);
            return row;
        },
        [&](const two_packs<T, V> &row, int64_t m) {
            const int64_t at = m * sheet.columns + c0;
            float v[V], stored[V];
#pragma unroll
            for (int k = 0; k < V; k++) {
                v[k] = normalised(ct_get(row.x.e[k]), n.slope[k], n.beta[k], n.mean[k], ADD ? ct_get(row.add.e[k]) : 0, act);
                stored[k] = ct_stored<T>(v[k]);
            }
            ct_put_n<T, V>(y + at, v);
            if (MASKED) mask[at / 8] = ct_mask_pack(stored, V, 0);
        });
}

/* With a ReLU and its mask where a row's last byte is not full: a thread takes the elements of one byte. */
template <typename T>
__global__ void apply_ragged(const T *x, const float *gamma, const float *beta, const float *mean, const float *invstd, const T *add, T *y,
                             uint8_t *mask, int64_t bytes, int64_t channels)
{
    const int64_t row_bytes = ct_mask_bytes(channels);
    for (CT_EACH(i, bytes)) {
        int64_t c0 = i % row_bytes * 8, at = i / row_bytes * channels + c0;
        float stored[8] = {};
        for (int k = 0; k < 8 && c0 + k < channels; k++) {
            int64_t c = c0 + k;
            float v = normalised(ct_get(x[at + k]), gamma[c] * invstd[c], beta[c], mean[c], add ? ct_get(add[at + k]) : 0, CT_NORM_RELU);
            stored[k] = ct_stored<T>(v);
            ct_put(y + at + k, v);
        }
        mask[i] = ct_mask_pack(stored, 8, 0);
    }
}

template <typename T> static void launch_ragged(ct_stream *s, const ct_call *c, const float *mean, const float *invstd)
{
    int64_t bytes = ct_cuda_numel(&c->out[3].desc);
    auto k = &apply_ragged<T>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(bytes)), CT_THREADS, s, (const T *)c->in[0].data, (const float *)c->in[1].data,
              (const float *)c->in[2].data, mean, invstd, ct_cuda_has(c, 5) ? (const T *)c->in[5].data : (const T *)NULL,
              (T *)c->out[0].data, (uint8_t *)c->out[3].data, bytes, ct_cuda_cols(&c->in[0].desc));
}

template <typename T, int V, bool INFER, bool MASKED>
static void launch_apply(ct_stream *s, const ct_call *c, const float *mean, const float *scale)
{
    const ct_sheet sheet = ct_norm_sheet(&c->in[0].desc, V);
    const T *add = ct_cuda_has(c, 5) ? (const T *)c->in[5].data : (const T *)NULL;
    auto k = add ? &apply<T, V, INFER, MASKED, true> : &apply<T, V, INFER, MASKED, false>;
    CT_LAUNCH(k, CT_GRID2(ct_sheet_groups(sheet, V), ct_sheet_parts(sheet, V)), CT_THREADS, s, (const T *)c->in[0].data,
              (const float *)c->in[1].data, (const float *)c->in[2].data, mean, scale, add, (T *)c->out[0].data,
              MASKED ? (uint8_t *)c->out[3].data : (uint8_t *)NULL, sheet, (float)c->attrs.norm.eps, (int)c->attrs.norm.act);
}

static ct_accept batchnorm_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 6)) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return ct_norm_accept(c, ct_norm_part_bytes(ct_cuda_rows(&c->in[0].desc), &c->in[0].desc, 2));
}

template <typename T, int V> static void forward(ct_stream *s, const ct_call *c, void *scratch)
{
    const statistics to = launch_statistics<T, V>(s, c->in, &c->out[1], &c->attrs.norm, scratch);
    if (c->nout < 4 || !ct_present(&c->out[3])) launch_apply<T, V, false, false>(s, c, to.mean, to.invstd);
    else if (ct_cuda_cols(&c->in[0].desc) % 8 == 0) launch_apply<T, 8, false, true>(s, c, to.mean, to.invstd);
    else launch_ragged<T>(s, c, to.mean, to.invstd);
}

static ct_status batchnorm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) forward<T, ct_width<T>::value>(s, c, scratch);
        else forward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm");
}

static ct_accept batchnorm_infer_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_norm_accept(c, 0);
}

static ct_status batchnorm_infer_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const float *mean = (const float *)c->in[3].data, *var = (const float *)c->in[4].data;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        bool wide = ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0, given = c->attrs.norm.given_invstd != 0;
        if (given && wide) launch_apply<T, ct_width<T>::value, false, false>(s, c, mean, var); /* var is invstd then */
        else if (given) launch_apply<T, 1, false, false>(s, c, mean, var);
        else if (wide) launch_apply<T, ct_width<T>::value, true, false>(s, c, mean, var);
        else launch_apply<T, 1, true, false>(s, c, mean, var);
    })
    CT_LAUNCHED("batchnorm_infer");
}

/* ---- the mean over all pixels of a sample, of what a ReLU gives, which is not stored ---- */

enum { MEAN_TEAMS = CT_THREADS / 32, MEAN_AHEAD = 2 };

/* A lane has the eight channels of a byte of the mask, of which the last of a row may lack some, and teams take
 * pixels in turn: the order in which global_avgpool adds. VECTOR: none lacks any. */
template <typename T, bool VECTOR>
__global__ void apply_mean(const T *x, const float *gamma, const float *beta, const float *mean, const float *invstd,
                           const T *add, T *y, uint8_t *mask, int pixels, int channels)
{
    __shared__ float room[MEAN_TEAMS][8][33];
    const int lane = (int)threadIdx.x % 32, team = (int)threadIdx.x / 32;
    const int byte = (int)blockIdx.x * 32 + lane, c0 = 8 * byte;
    const int have = channels - c0 < 8 ? channels - c0 : 8;
    const int64_t first = (int64_t)blockIdx.y * pixels, row_bytes = ct_mask_bytes(channels);
    channel_numbers<8> n = {};
    float sum[8] = {};
    for (int k = 0; k < 8; k++) {
        if (k >= have) break;
        n.slope[k] = gamma[c0 + k] * invstd[c0 + k];
        n.beta[k] = beta[c0 + k];
        n.mean[k] = mean[c0 + k];
    }
    for (int i = team; i < pixels && have > 0; i += MEAN_AHEAD * MEAN_TEAMS) {
        two_packs<T, 8> row[MEAN_AHEAD] = {};
#pragma unroll
        for (int a = 0; a < MEAN_AHEAD; a++) {
            const int64_t at = (first + i + a * MEAN_TEAMS) * channels + c0;
            if (i + a * MEAN_TEAMS >= pixels) continue;
            if (VECTOR) row[a].x = ct_fetch<T, 8>(x + at);
            if (VECTOR && add) row[a].add = ct_fetch<T, 8>(add + at);
            for (int k = 0; k < have && !VECTOR; k++) {
                row[a].x.e[k] = x[at + k];
                if (add) row[a].add.e[k] = add[at + k];
            }
        }
#pragma unroll
        for (int a = 0; a < MEAN_AHEAD; a++) {
            float stored[8] = {};
            if (i + a * MEAN_TEAMS >= pixels) continue;
#pragma unroll
            for (int k = 0; k < 8; k++) {
                if (!VECTOR && k >= have) continue;
                const float v = normalised(ct_get(row[a].x.e[k]), n.slope[k], n.beta[k], n.mean[k], ct_get(row[a].add.e[k]), CT_NORM_RELU);
                stored[k] = ct_stored<T>(v);
                sum[k] += v;
            }
            mask[(first + i + a * MEAN_TEAMS) * row_bytes + byte] = ct_mask_pack(stored, 8, 0);
        }
    }
    for (int k = 0; k < 8; k++) room[team][k][lane] = sum[k];
    __syncthreads();
    const int k = (int)threadIdx.x % 8, from = (int)threadIdx.x / 8, c = ((int)blockIdx.x * 32 + from) * 8 + k;
    if (c >= channels) return;
    float total = 0;
    for (int t = 0; t < MEAN_TEAMS; t++) total += room[t][k][from];
    ct_put(y + (int64_t)blockIdx.y * channels + c, total / (float)pixels);
}

template <typename T, int V> static void forward_mean(ct_stream *s, const ct_call *c, void *scratch)
{
    const statistics to = launch_statistics<T, V>(s, c->in, &c->out[1], &c->attrs.norm, scratch);
    const int64_t *d = c->in[0].desc.dim;
    auto k = d[3] % 8 == 0 ? &apply_mean<T, true> : &apply_mean<T, false>;
    CT_LAUNCH(k, CT_GRID2((ct_mask_bytes(d[3]) + 31) / 32, d[0]), CT_THREADS, s, (const T *)c->in[0].data,
              (const float *)c->in[1].data, (const float *)c->in[2].data, (const float *)to.mean,
              (const float *)to.invstd, ct_cuda_has(c, 5) ? (const T *)c->in[5].data : (const T *)NULL,
              (T *)c->out[0].data, (uint8_t *)c->out[3].data, (int)(d[1] * d[2]), (int)d[3]);
}

/* Of both directions: samples in the grid's second dimension, and indices of pixels. */
static ct_accept accept_mean(const ct_call *c, const ct_desc *x)
{
    if (x->dim[0] > 65535) return ct_accept_no("cuda: more than 65535 samples");
    if (ct_cuda_rows(x) > INT_MAX / 2) return ct_accept_no("cuda: more pixels than 32-bit indices reach");
    return ct_norm_accept(c, ct_norm_part_bytes(ct_cuda_rows(x), x, 2));
}

static ct_accept batchnorm_mean_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 6)) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return accept_mean(c, &c->in[0].desc);
}

static ct_status batchnorm_mean_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) forward_mean<T, ct_width<T>::value>(s, c, scratch);
        else forward_mean<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_mean");
}

/* ---- backward ---- */

/* What stands between dy and e: nothing or a ReLU's mask; SiLU's slope; or the mean over all pixels behind a ReLU. */
enum gate { GATE_MASK, GATE_SILU, GATE_MEAN };

/* What a backward pass reads. mask NULL without a ReLU; beta and add, which may be NULL, are SiLU's; pixels and their
 * share of dy the mean's. */
template <typename T> struct back {
    const T *dy, *x, *add;
    second_gradient<T> dy2;
    const uint8_t *mask;
    const float *gamma, *beta, *mean, *invstd;
    int pixels;
    float share;
    ct_sheet sheet;
};

/* V columns of a row as they are stored. They lie within one byte of the mask. */
template <typename T, int V> struct back_row {
    ct_pack<T, V> dy, dy2, x, add;
    unsigned bits;
};

/* SECOND: there may be a second dy. */
template <typename T, int V, int GATE, bool SECOND>
__device__ static inline back_row<T, V> fetch_back(const back<T> &b, int64_t m, int c0)
{
    const int64_t at = m * b.sheet.columns + c0;
    back_row<T, V> row = {};
    row.dy = ct_fetch<T, V>(b.dy + (GATE == GATE_MEAN ? (int64_t)((int)m / b.pixels) * b.sheet.columns + c0 : at));
    if (SECOND) row.dy2 = fetch_second<T, V>(b.dy2, m, b.sheet.columns, c0);
    row.x = ct_fetch<T, V>(b.x + at);
    if (GATE == GATE_SILU && b.add) row.add = ct_fetch<T, V>(b.add + at);
    if (GATE != GATE_SILU && b.mask) row.bits = ct_mask_from(b.mask + m * ct_mask_bytes(b.sheet.columns), c0);
    return row;
}

template <typename T, int V, int GATE>
__device__ static inline void read_back_channels(channel_numbers<V> *n, const back<T> &b, int c0)
{
#pragma unroll
    for (int k = 0; k < V; k++) {
        n->slope[k] = b.gamma[c0 + k] * b.invstd[c0 + k];
        n->beta[k] = GATE == GATE_SILU ? b.beta[c0 + k] : 0;
        n->mean[k] = b.mean[c0 + k];
    }
}

/* g = dy [+ dy2], or a pixel's share of dy, zero where the ReLU was closed, times the slope with SiLU. */
template <typename T, int V, int GATE, bool SECOND>
__device__ static inline void gated(const back<T> &b, const back_row<T, V> &row, const channel_numbers<V> &n, float g[V])
{
#pragma unroll
    for (int k = 0; k < V; k++) {
        g[k] = GATE == GATE_MEAN ? ct_get(row.dy.e[k]) * b.share : SECOND ? ct_get(row.dy.e[k]) + ct_get(row.dy2.e[k]) : ct_get(row.dy.e[k]);
        if (GATE == GATE_SILU) {
            const float a = b.add ? ct_get(row.add.e[k]) : 0;
            g[k] *= ct_silu_slope(normalised(ct_get(row.x.e[k]), n.slope[k], n.beta[k], n.mean[k], a, CT_NORM_LINEAR));
        } else if (b.mask && !(row.bits >> k & 1u)) {
            g[k] = 0;
        }
    }
}

/* Sums of g and of g*(x-mean), the latter times invstd when they are whole. */
template <typename T, int V, int GATE, bool SECOND>
__global__ void __launch_bounds__(CT_THREADS, 2) backward_sums(back<T> b, ct_gather gather, float *dgamma, float *dbeta)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    float sum[2][V] = {};
    if (c0 < b.sheet.columns) {
        channel_numbers<V> n;
        read_back_channels<T, V, GATE>(&n, b, c0);
        ct_sheet_rows_back<GATE == GATE_SILU || SECOND ? CT_AHEAD / 2 : CT_AHEAD>(
            b.sheet, [&](int64_t m) { return fetch_back<T, V, GATE, SECOND>(b, m, c0); },
            [&](const back_row<T, V> &row, int64_t) {
                float g[V];
                gated<T, V, GATE, SECOND>(b, row, n, g);
#pragma unroll
                for (int k = 0; k < V; k++) {
                    sum[0][k] += g[k];
                    sum[1][k] += g[k] * (ct_get(row.x.e[k]) - n.mean[k]);
                }
            });
    }
    ct_sheet_finish<2, V>(b.sheet, gather, sum, [&](int c, const double total[2]) {
        dbeta[c] = (float)total[0];
        dgamma[c] = (float)(total[1] * (double)b.invstd[c]);
    });
}

/* dx = gamma*invstd*(g - dbeta/M - xhat*dgamma/M) = slope*(g - shift) - along*(x - mean); dadd = g. dx may lie on dy: a row is read before it is
 * written. */
template <typename T, int V, int GATE, bool SECOND>
__global__ void __launch_bounds__(CT_THREADS, 2)
    backward_apply(back<T> b, const float *dgamma, const float *dbeta, T *dx, T *dadd, float inv_rows)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    if (c0 >= b.sheet.columns) return;
    channel_numbers<V> n;
    float along[V], shift[V];
    read_back_channels<T, V, GATE>(&n, b, c0);
#pragma unroll
    for (int k = 0; k < V; k++) {
        along[k] = n.slope[k] * b.invstd[c0 + k] * dgamma[c0 + k] * inv_rows;
        shift[k] = dbeta[c0 + k] * inv_rows;
    }
    /* SiLU's derivative takes the registers that a second row would. */
    ct_sheet_rows<GATE == GATE_SILU ? 1 : CT_AHEAD / 2>(
        b.sheet, [&](int64_t m) { return fetch_back<T, V, GATE, SECOND>(b, m, c0); },
        [&](const back_row<T, V> &row, int64_t m) {
            const int64_t at = m * b.sheet.columns + c0;
            float g[V], v[V];
            gated<T, V, GATE, SECOND>(b, row, n, g);
#pragma unroll
            for (int k = 0; k < V; k++) v[k] = n.slope[k] * (g[k] - shift[k]) - along[k] * (ct_get(row.x.e[k]) - n.mean[k]);
            ct_put_n<T, V>(dx + at, v);
            if (dadd) ct_put_n<T, V>(dadd + at, g);
        });
}

template <typename T, int V, int GATE, bool SECOND> static void backward(ct_stream *s, const ct_call *c, void *scratch)
{
    const int64_t *d = c->in[1].desc.dim, pixels = GATE == GATE_MEAN ? d[1] * d[2] : 1;
    const back<T> b = { (const T *)c->in[0].data,
                        (const T *)c->in[1].data,
                        ct_cuda_has(c, 7) ? (const T *)c->in[7].data : (const T *)NULL,
                        second_of<T>(c, 8),
                        ct_cuda_has(c, 5) ? (const uint8_t *)c->in[5].data : (const uint8_t *)NULL,
                        (const float *)c->in[2].data,
                        ct_cuda_has(c, 6) ? (const float *)c->in[6].data : (const float *)NULL,
                        (const float *)c->in[3].data,
                        (const float *)c->in[4].data,
                        (int)pixels,
                        1.0f / (float)pixels,
                        ct_norm_sheet(&c->in[1].desc, V) };
    const int64_t groups = ct_sheet_groups(b.sheet, V), parts = ct_sheet_parts(b.sheet, V);
    float *dgamma = (float *)c->out[1].data, *dbeta = (float *)c->out[2].data;
    T *dadd = c->nout > 3 && ct_present(&c->out[3]) ? (T *)c->out[3].data : (T *)NULL;
    auto sums = &backward_sums<T, V, GATE, SECOND>;
    CT_LAUNCH(sums, CT_GRID2(groups, parts), CT_THREADS, s, b, ct_sheet_gather(s, b.sheet, V, 2, scratch), dgamma, dbeta);
    auto apply = &backward_apply<T, V, GATE, SECOND>;
    CT_LAUNCH(apply, CT_GRID2(groups, parts), CT_THREADS, s, b, (const float *)dgamma, (const float *)dbeta, (T *)c->out[0].data, dadd,
              1.0f / (float)b.sheet.rows);
}

template <typename T, int V> static void backward_act(ct_stream *s, const ct_call *c, void *scratch)
{
    if (c->op == CT_OP_BATCHNORM_MEAN_BWD) backward<T, V, GATE_MEAN, false>(s, c, scratch);
    else if (c->attrs.norm.act == CT_NORM_SILU) backward<T, V, GATE_SILU, true>(s, c, scratch);
    else if (ct_cuda_has(c, 8)) backward<T, V, GATE_MASK, true>(s, c, scratch);
    else backward<T, V, GATE_MASK, false>(s, c, scratch);
}

static ct_accept batchnorm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_norm_accept_back(c, 2);
}

static ct_status batchnorm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) backward_act<T, ct_width<T>::value>(s, c, scratch);
        else backward_act<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_bwd");
}

static ct_accept batchnorm_mean_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_mean(c, &c->in[1].desc);
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

static ct_accept l2_normalize_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_norm_accept(c, 0);
}
static ct_status l2_normalize_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_lengths<false>(s, c);
}
static ct_accept l2_normalize_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_norm_accept(c, 0);
}
static ct_status l2_normalize_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_lengths<true>(s, c);
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM, "cuda.kernel", CT_CUDA_TUNED, batchnorm_accept, batchnorm_run },
    { CT_OP_BATCHNORM_INFER, "cuda.kernel", CT_CUDA_TUNED, batchnorm_infer_accept, batchnorm_infer_run },
    { CT_OP_BATCHNORM_BWD, "cuda.kernel", CT_CUDA_TUNED, batchnorm_bwd_accept, batchnorm_bwd_run },
    { CT_OP_BATCHNORM_MEAN, "cuda.kernel", CT_CUDA_TUNED, batchnorm_mean_accept, batchnorm_mean_run },
    { CT_OP_BATCHNORM_MEAN_BWD, "cuda.kernel", CT_CUDA_TUNED, batchnorm_mean_bwd_accept, batchnorm_bwd_run },
    { CT_OP_L2_NORMALIZE, "cuda.kernel", CT_CUDA_TUNED, l2_normalize_accept, l2_normalize_run },
    { CT_OP_L2_NORMALIZE_BWD, "cuda.kernel", CT_CUDA_TUNED, l2_normalize_bwd_accept, l2_normalize_bwd_run },
};
CT_CUDA_SET(norm)
