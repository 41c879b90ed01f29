/* Batch norm with ReLU and the 2x2 max-pooling behind it, in one. What the ReLU gives is as large as x and only the pooling reads it: here
 * it is neither written nor read, and backward its gradient, three quarters of which are zeros, is not either. The index of a window says
 * which of its pixels was kept, and 4 that the ReLU was shut for all of them.
 *
 * Rows of the sheets (columns.cuh) are windows: a thread has V channels of the four pixels of one, which lie in two pairs. */
#include "backends/cuda/norm.cuh"

/* Pixels of x [N,h,w,C]; windows of a row and a column of it, those that hang over its edge included where that is said. */
struct window_grid { int h, w, p, q; };

static window_grid grid_of(const ct_desc *x, bool all)
{
    const int h = (int)x->dim[1], w = (int)x->dim[2], more = all ? 1 : 0;
    return { h, w, (h + more) / 2, (w + more) / 2 };
}

/* Where window m begins: its row and column within the image, and its first pixel's number among all. */
struct window_place {
    int i, j;
    int64_t pixel;
};
__device__ static inline window_place place_of(const window_grid &g, int64_t m)
{
    const int row = (int)m / g.q, i = row % g.p * 2, j = (int)m % g.q * 2;
    return { i, j, ((int64_t)(row / g.p) * g.h + i) * g.w + j };
}
__device__ static inline int64_t cell_of(const window_grid &g, const window_place &at, int k) { return at.pixel + k / 2 * g.w + k % 2; }

template <typename T, int V> struct window_row { ct_pack<T, V> x[4]; };

template <typename T, int V>
__global__ void pool_apply(const T *x, const float *gamma, const float *beta, const float *mean, const float *invstd, T *y, uint8_t *index,
                           window_grid grid, ct_sheet sheet)
{
    const int c0 = ct_sheet_column<V>(sheet);
    if (c0 >= sheet.columns) return;
    channel_numbers<V> n;
    read_channels<V, false>(&n, gamma, beta, mean, invstd, 0, c0);
    ct_sheet_rows<CT_AHEAD / 2>(
        sheet,
        [&](int64_t m) {
            const window_place at = place_of(grid, m);
            window_row<T, V> row;
#pragma unroll
            for (int k = 0; k < 4; k++) row.x[k] = ct_fetch<T, V>(x + cell_of(grid, at, k) * sheet.columns + c0);
            return row;
        },
        [&](const window_row<T, V> &row, int64_t m) {
            float best[V];
            ct_pack<uint8_t, V> which;
#pragma unroll
            for (int k = 0; k < 4; k++)
#pragma unroll
                for (int e = 0; e < V; e++) {
                    const float v = ct_stored<T>(normalised(ct_get(row.x[k].e[e]), n.slope[e], n.beta[e], n.mean[e], 0, CT_NORM_RELU));
                    if (k > 0 && !(v > best[e]) && !(isnan(v) && !isnan(best[e]))) continue; /* the first of equals, and the first NaN */
                    best[e] = v;
                    which.e[e] = (uint8_t)k;
                }
#pragma unroll
            for (int e = 0; e < V; e++)
                if (!(best[e] > 0)) which.e[e] = 4;
            ct_put_n<T, V>(y + m * sheet.columns + c0, best);
            *reinterpret_cast<ct_pack<uint8_t, V> *>(index + m * sheet.columns + c0) = which;
        });
}

/* ---- backward ---- */

template <typename T> struct pool_back {
    const T *dy, *dy2, *x; /* dy2 NULL: dy alone */
    const uint8_t *index;
    const float *gamma, *mean, *invstd;
    window_grid grid; /* of the windows that a kernel goes through */
    int p, q;         /* windows of dy */
    ct_sheet sheet;
};

template <typename T, int V> struct pool_back_row {
    ct_pack<T, V> x[4], dy, dy2;
    ct_pack<uint8_t, V> which;
    bool there; /* a window of dy: others hang over the edge and have no gradient */
    window_place at;
};

/* ALL: windows that hang over the edge as well. */
template <typename T, int V, bool ALL> __device__ static inline pool_back_row<T, V> fetch_window(const pool_back<T> &b, int64_t m, int c0)
{
    pool_back_row<T, V> row = {};
    row.at = place_of(b.grid, m);
    row.there = !ALL || (row.at.i / 2 < b.p && row.at.j / 2 < b.q);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (!ALL || (row.at.i + k / 2 < b.grid.h && row.at.j + k % 2 < b.grid.w))
            row.x[k] = ct_fetch<T, V>(b.x + cell_of(b.grid, row.at, k) * b.sheet.columns + c0);
    if (!row.there) return row;
    int64_t from = m;
    if (ALL) from = ((int64_t)((int)m / b.grid.q / b.grid.p) * b.p + row.at.i / 2) * b.q + row.at.j / 2;
    row.dy = ct_fetch<T, V>(b.dy + from * b.sheet.columns + c0);
    if (b.dy2) row.dy2 = ct_fetch<T, V>(b.dy2 + from * b.sheet.columns + c0);
    row.which = ct_fetch<uint8_t, V>(b.index + from * b.sheet.columns + c0);
    return row;
}

/* dy + dy2 where the window kept its pixel k, else 0. */
template <typename T, int V> __device__ static inline float kept(const pool_back_row<T, V> &row, int k, int e)
{
    return row.there && row.which.e[e] == k ? ct_get(row.dy.e[e]) + ct_get(row.dy2.e[e]) : 0;
}

template <typename T, int V> __global__ void pool_backward_sums(pool_back<T> b, ct_gather gather, float *dgamma, float *dbeta)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    float sum[2][V] = {};
    if (c0 < b.sheet.columns) {
        float mean[V];
#pragma unroll
        for (int e = 0; e < V; e++) mean[e] = b.mean[c0 + e];
        ct_sheet_rows_back<1>(
            b.sheet, [&](int64_t m) { return fetch_window<T, V, false>(b, m, c0); },
            [&](const pool_back_row<T, V> &row, int64_t) {
#pragma unroll
                for (int k = 0; k < 4; k++)
#pragma unroll
                    for (int e = 0; e < V; e++) {
                        const float g = kept(row, k, e);
                        sum[0][e] += g;
                        sum[1][e] += g * (ct_get(row.x[k].e[e]) - mean[e]);
                    }
            });
    }
    ct_sheet_finish<2, V>(b.sheet, gather, sum, [&](int c, const double total[2]) {
        dbeta[c] = (float)total[0];
        dgamma[c] = (float)(total[1] * (double)b.invstd[c]);
    });
}

template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 2) pool_backward_apply(pool_back<T> b, const float *dgamma, const float *dbeta, T *dx, float inv_rows)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    if (c0 >= b.sheet.columns) return;
    float mean[V], scale[V], slope[V], along[V], shift[V];
#pragma unroll
    for (int e = 0; e < V; e++) {
        mean[e] = b.mean[c0 + e];
        scale[e] = b.invstd[c0 + e];
        slope[e] = b.gamma[c0 + e] * scale[e];
        along[e] = dgamma[c0 + e] * inv_rows;
        shift[e] = dbeta[c0 + e] * inv_rows;
    }
    ct_sheet_rows<1>(
        b.sheet, [&](int64_t m) { return fetch_window<T, V, true>(b, m, c0); },
        [&](const pool_back_row<T, V> &row, int64_t) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (row.at.i + k / 2 >= b.grid.h || row.at.j + k % 2 >= b.grid.w) continue;
                float v[V];
#pragma unroll
                for (int e = 0; e < V; e++) {
                    const float xhat = (ct_get(row.x[k].e[e]) - mean[e]) * scale[e];
                    v[e] = slope[e] * (kept(row, k, e) - shift[e] - xhat * along[e]);
                }
                ct_put_n<T, V>(dx + cell_of(b.grid, row.at, k) * b.sheet.columns + c0, v);
            }
        });
}

/* ---- calls ---- */

static ct_accept accept_pool(const ct_call *c, const ct_desc *x, int64_t rows)
{
    if (c->attrs.norm.overlap) return ct_accept_no("cuda: windows that overlap have kernels of their own");
    if (ct_cuda_rows(x) > INT_MAX / 2) return ct_accept_no("cuda: more pixels than 32-bit indices reach");
    return ct_norm_accept(c, ct_norm_part_bytes(rows, x, 2));
}

template <typename T, int V> static void pool_forward(ct_stream *s, const ct_call *c, void *scratch)
{
    const statistics to = launch_statistics<T, V>(s, c->in, &c->out[1], &c->attrs.norm, scratch);
    const ct_sheet sheet = ct_norm_sheet(&c->out[0].desc, V);
    auto k = &pool_apply<T, V>;
    CT_LAUNCH(k, CT_GRID2(ct_sheet_groups(sheet, V), ct_sheet_parts(sheet, V)), CT_THREADS, s, (const T *)c->in[0].data,
              (const float *)c->in[1].data, (const float *)c->in[2].data, (const float *)to.mean, (const float *)to.invstd,
              (T *)c->out[0].data, (uint8_t *)c->out[3].data, grid_of(&c->in[0].desc, false), sheet);
}

static ct_accept batchnorm_pool_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 6)) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return accept_pool(c, &c->in[0].desc, ct_cuda_rows(&c->in[0].desc));
}
static ct_status batchnorm_pool_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) pool_forward<T, ct_width<T>::value>(s, c, scratch);
        else pool_forward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_pool");
}

template <typename T, int V> static void pool_backward(ct_stream *s, const ct_call *c, void *scratch)
{
    const ct_desc *dy = &c->in[0].desc, *x = &c->in[1].desc;
    pool_back<T> b = { (const T *)c->in[0].data,
                       ct_cuda_has(c, 6) ? (const T *)c->in[6].data : (const T *)NULL,
                       (const T *)c->in[1].data,
                       (const uint8_t *)c->in[5].data,
                       (const float *)c->in[2].data,
                       (const float *)c->in[3].data,
                       (const float *)c->in[4].data,
                       grid_of(x, false),
                       (int)dy->dim[1],
                       (int)dy->dim[2],
                       ct_norm_sheet(dy, V) };
    float *dgamma = (float *)c->out[1].data, *dbeta = (float *)c->out[2].data;
    auto sums = &pool_backward_sums<T, V>;
    CT_LAUNCH(sums, CT_GRID2(ct_sheet_groups(b.sheet, V), ct_sheet_parts(b.sheet, V)), CT_THREADS, s, b,
              ct_sheet_gather(s, b.sheet, V, 2, scratch), dgamma, dbeta);
    b.grid = grid_of(x, true);
    b.sheet = ct_sheet_of(x->dim[0] * b.grid.p * b.grid.q, b.sheet.columns, V);
    auto apply = &pool_backward_apply<T, V>;
    CT_LAUNCH(apply, CT_GRID2(ct_sheet_groups(b.sheet, V), ct_sheet_parts(b.sheet, V)), CT_THREADS, s, b, (const float *)dgamma,
              (const float *)dbeta, (T *)c->out[0].data, 1.0f / (float)ct_cuda_rows(x));
}

static ct_accept batchnorm_pool_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_pool(c, &c->in[1].desc, ct_cuda_rows(&c->in[0].desc));
}
static ct_status batchnorm_pool_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) pool_backward<T, ct_width<T>::value>(s, c, scratch);
        else pool_backward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_pool_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM_POOL, "cuda.kernel", CT_CUDA_TUNED, batchnorm_pool_accept, batchnorm_pool_run },
    { CT_OP_BATCHNORM_POOL_BWD, "cuda.kernel", CT_CUDA_TUNED, batchnorm_pool_bwd_accept, batchnorm_pool_bwd_run },
};
CT_CUDA_SET(norm_pool)
