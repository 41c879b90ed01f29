/* Two batch norms, the addition of what they give and the ReLU behind it, in one: where the shortcut of a residual block has a norm of its
 * own. Neither what that norm gives nor its gradient, which is what the ReLU let through of dy, is written or read.
 *
 * Forward: the statistics of each (norm.cuh), then one pass that applies both. Backward: one pass for the sums of both, whose dbeta is the same, and
 * one that gives dx and dx2. */
#include "backends/cuda/norm.cuh"
#include "ops/math/mask_math.h"

/* What is known of V channels: gamma*invstd and the mean of each norm, and the sum of both betas. */
template <int V> struct sum_numbers { float slope[2][V], mean[2][V], beta[V]; };

struct sum_parameters { const float *gamma[2], *beta[2], *mean[2], *invstd[2]; };

template <int V> __device__ static inline void read_sum_channels(sum_numbers<V> *n, const sum_parameters &p, int c0)
{
#pragma unroll
    for (int k = 0; k < V; k++) {
#pragma unroll
        for (int j = 0; j < 2; j++) {
            n->slope[j][k] = p.gamma[j][c0 + k] * p.invstd[j][c0 + k];
            n->mean[j][k] = p.mean[j][c0 + k];
        }
        n->beta[k] = p.beta[0][c0 + k] + p.beta[1][c0 + k];
    }
}

__device__ static inline float summed(float x, float x2, float slope, float slope2, float mean, float mean2, float beta)
{
    const float z = slope * (x - mean) + slope2 * (x2 - mean2) + beta;
    return z < 0 ? 0 : z;
}

template <typename T> struct sum_pair { ct_pack<T, 8> x, x2; };

/* A thread takes the 8 channels of a byte of the mask. */
template <typename T>
__global__ void sum_apply(const T *x, const T *x2, sum_parameters p, T *y, uint8_t *mask, ct_sheet sheet)
{
    const int c0 = ct_sheet_column<8>(sheet);
    if (c0 >= sheet.columns) return;
    sum_numbers<8> n;
    read_sum_channels<8>(&n, p, c0);
    ct_sheet_rows<CT_AHEAD / 2>(
        sheet,
        [&](int64_t m) {
            const int64_t at = m * sheet.columns + c0;
            sum_pair<T> row;
            row.x = ct_fetch<T, 8>(x + at);
            row.x2 = ct_fetch<T, 8>(x2 + at);
            return row;
        },
        [&](const sum_pair<T> &row, int64_t m) {
            const int64_t at = m * sheet.columns + c0;
            float v[8], stored[8];
#pragma unroll
            for (int k = 0; k < 8; k++) {
                v[k] = summed(ct_get(row.x.e[k]), ct_get(row.x2.e[k]), n.slope[0][k], n.slope[1][k], n.mean[0][k], n.mean[1][k], n.beta[k]);
                stored[k] = ct_stored<T>(v[k]);
            }
            ct_put_n<T, 8>(y + at, v);
            mask[at / 8] = ct_mask_pack(stored, 8, 0);
        });
}

/* The same where a row's last byte of the mask is not full. */
template <typename T>
__global__ void sum_apply_ragged(const T *x, const T *x2, sum_parameters p, T *y, uint8_t *mask, int64_t bytes, int64_t channels)
{
    const int64_t row_bytes = ct_mask_bytes(channels);
    for (CT_EACH(i, bytes)) {
        const int64_t c0 = i % row_bytes * 8, at = i / row_bytes * channels + c0;
        float stored[8] = {};
        for (int k = 0; k < 8 && c0 + k < channels; k++) {
            sum_numbers<1> n;
            read_sum_channels<1>(&n, p, (int)c0 + k);
            const float v = summed(ct_get(x[at + k]), ct_get(x2[at + k]), n.slope[0][0], n.slope[1][0], n.mean[0][0], n.mean[1][0], n.beta[0]);
            stored[k] = ct_stored<T>(v);
            ct_put(y + at + k, v);
        }
        mask[i] = ct_mask_pack(stored, 8, 0);
    }
}

/* ---- backward ---- */

template <typename T> struct sum_back {
    const T *dy, *x[2];
    second_gradient<T> dy2;
    const uint8_t *mask;
    const float *gamma[2], *mean[2], *invstd[2];
    ct_sheet sheet;
};

template <typename T, int V> struct sum_back_row {
    ct_pack<T, V> dy, dy2, x[2];
    unsigned bits;
};

template <typename T, int V> __device__ static inline sum_back_row<T, V> fetch_sum(const sum_back<T> &b, int64_t m, int c0)
{
    const int64_t at = m * b.sheet.columns + c0;
    sum_back_row<T, V> row = {};
    row.dy = ct_fetch<T, V>(b.dy + at);
    row.dy2 = fetch_second<T, V>(b.dy2, m, b.sheet.columns, c0);
    for (int j = 0; j < 2; j++) row.x[j] = ct_fetch<T, V>(b.x[j] + at);
    row.bits = ct_mask_from(b.mask + m * ct_mask_bytes(b.sheet.columns), c0);
    return row;
}

/* g of element k: dy + dy2 where the ReLU was open, else 0. */
template <typename T, int V> __device__ static inline float let_through(const sum_back_row<T, V> &row, int k)
{
    return row.bits >> k & 1u ? ct_get(row.dy.e[k]) + ct_get(row.dy2.e[k]) : 0;
}

template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 2)
    sum_backward_sums(sum_back<T> b, ct_gather gather, float *dgamma, float *dbeta, float *dgamma2, float *dbeta2)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    float sum[3][V] = {};
    if (c0 < b.sheet.columns) {
        float mean[2][V];
#pragma unroll
        for (int k = 0; k < 2 * V; k++) mean[k / V][k % V] = b.mean[k / V][c0 + k % V];
        ct_sheet_rows_back<CT_AHEAD / 2>(
            b.sheet, [&](int64_t m) { return fetch_sum<T, V>(b, m, c0); },
            [&](const sum_back_row<T, V> &row, int64_t) {
#pragma unroll
                for (int k = 0; k < V; k++) {
                    const float g = let_through(row, k);
                    sum[0][k] += g;
#pragma unroll
                    for (int j = 0; j < 2; j++) sum[1 + j][k] += g * (ct_get(row.x[j].e[k]) - mean[j][k]);
                }
            });
    }
    ct_sheet_finish<3, V>(b.sheet, gather, sum, [&](int c, const double total[3]) {
        dbeta[c] = dbeta2[c] = (float)total[0];
        dgamma[c] = (float)(total[1] * (double)b.invstd[0][c]);
        dgamma2[c] = (float)(total[2] * (double)b.invstd[1][c]);
    });
}

/* dx = gamma*invstd*(g - dbeta/M - xhat*dgamma/M) of both. */
template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 2)
    sum_backward_apply(sum_back<T> b, const float *dgamma, const float *dgamma2, const float *dbeta, T *dx, T *dx2, float inv_rows)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    if (c0 >= b.sheet.columns) return;
    float slope[2][V], mean[2][V], along[2][V], shift[V]; /* dx = slope*(g - shift) - along*(x - mean) */
#pragma unroll
    for (int k = 0; k < V; k++) {
        shift[k] = dbeta[c0 + k] * inv_rows;
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const float scale = b.invstd[j][c0 + k];
            slope[j][k] = b.gamma[j][c0 + k] * scale;
            mean[j][k] = b.mean[j][c0 + k];
            along[j][k] = slope[j][k] * scale * (j ? dgamma2 : dgamma)[c0 + k] * inv_rows;
        }
    }
    ct_sheet_rows<1>(
        b.sheet, [&](int64_t m) { return fetch_sum<T, V>(b, m, c0); },
        [&](const sum_back_row<T, V> &row, int64_t m) {
            const int64_t at = m * b.sheet.columns + c0;
#pragma unroll
            for (int j = 0; j < 2; j++) {
                float v[V];
#pragma unroll
                for (int k = 0; k < V; k++)
                    v[k] = slope[j][k] * (let_through(row, k) - shift[k]) - along[j][k] * (ct_get(row.x[j].e[k]) - mean[j][k]);
                ct_put_n<T, V>((j ? dx2 : dx) + at, v);
            }
        });
}

/* ---- calls ---- */

template <typename T, int V> static void sum_forward(ct_stream *s, const ct_call *c, void *scratch)
{
    const statistics to[2] = { launch_statistics<T, V>(s, c->in, &c->out[1], &c->attrs.norm, scratch),
                               launch_statistics<T, V>(s, c->in + 5, &c->out[4], &c->attrs.norm, scratch) };
    const T *x = (const T *)c->in[0].data, *x2 = (const T *)c->in[5].data;
    T *y = (T *)c->out[0].data;
    uint8_t *mask = (uint8_t *)c->out[3].data;
    sum_parameters p;
    for (int j = 0; j < 2; j++) {
        p.gamma[j] = (const float *)c->in[5 * j + 1].data;
        p.beta[j] = (const float *)c->in[5 * j + 2].data;
        p.mean[j] = to[j].mean;
        p.invstd[j] = to[j].invstd;
    }
    if (ct_cuda_cols(&c->in[0].desc) % 8 == 0) {
        const ct_sheet sheet = ct_norm_sheet(&c->in[0].desc, 8);
        auto k = &sum_apply<T>;
        CT_LAUNCH(k, CT_GRID2(ct_sheet_groups(sheet, 8), ct_sheet_parts(sheet, 8)), CT_THREADS, s, x, x2, p, y, mask, sheet);
    } else {
        const int64_t bytes = ct_cuda_numel(&c->out[3].desc);
        auto k = &sum_apply_ragged<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(bytes)), CT_THREADS, s, x, x2, p, y, mask, bytes, ct_cuda_cols(&c->in[0].desc));
    }
}

static ct_accept batchnorm_sum_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 10) || ct_cuda_has(c, 11)) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return ct_norm_accept(c, ct_norm_part_bytes(ct_cuda_rows(&c->in[0].desc), &c->in[0].desc, 2));
}
static ct_status batchnorm_sum_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) sum_forward<T, ct_width<T>::value>(s, c, scratch);
        else sum_forward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_sum");
}

template <typename T, int V> static void sum_backward(ct_stream *s, const ct_call *c, void *scratch)
{
    sum_back<T> b;
    b.dy = (const T *)c->in[0].data;
    b.dy2 = second_of<T>(c, 10);
    b.mask = (const uint8_t *)c->in[5].data;
    b.sheet = ct_norm_sheet(&c->in[0].desc, V);
    for (int j = 0; j < 2; j++) {
        const ct_tensor *in = c->in + (j ? 6 : 1);
        b.x[j] = (const T *)in[0].data;
        b.gamma[j] = (const float *)in[1].data;
        b.mean[j] = (const float *)in[2].data;
        b.invstd[j] = (const float *)in[3].data;
    }
    const int64_t groups = ct_sheet_groups(b.sheet, V), parts = ct_sheet_parts(b.sheet, V);
    float *dgamma = (float *)c->out[1].data, *dbeta = (float *)c->out[2].data, *dgamma2 = (float *)c->out[4].data;
    auto sums = &sum_backward_sums<T, V>;
    CT_LAUNCH(sums, CT_GRID2(groups, parts), CT_THREADS, s, b, ct_sheet_gather(s, b.sheet, V, 3, scratch), dgamma, dbeta, dgamma2,
              (float *)c->out[5].data);
    auto apply = &sum_backward_apply<T, V>;
    CT_LAUNCH(apply, CT_GRID2(groups, parts), CT_THREADS, s, b, (const float *)dgamma, (const float *)dgamma2, (const float *)dbeta,
              (T *)c->out[0].data, (T *)c->out[3].data, 1.0f / (float)b.sheet.rows);
}

static ct_accept batchnorm_sum_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_norm_accept_back(c, 3);
}
static ct_status batchnorm_sum_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) sum_backward<T, ct_width<T>::value>(s, c, scratch);
        else sum_backward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_sum_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM_SUM, "cuda.kernel", CT_CUDA_TUNED, batchnorm_sum_accept, batchnorm_sum_run },
    { CT_OP_BATCHNORM_SUM_BWD, "cuda.kernel", CT_CUDA_TUNED, batchnorm_sum_bwd_accept, batchnorm_sum_bwd_run },
};
CT_CUDA_SET(norm_sum)
