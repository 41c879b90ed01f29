/* Batch norm with ReLU and the max-pooling of 3x3 windows behind it, 2 apart with 1 pixel of padding: what norm_pool.cu does for windows that
 * do not overlap. The index of a window says which of its pixels was kept, and 9 that the ReLU was shut for all of them.
 *
 * Forward a thread has V channels of a window, whose pixels its neighbours read, too. Backward rows of the sheets (columns.cuh) are cells of 2x2
 * pixels: those of cell (i,j) lie in windows (i,j), (i,j+1), (i+1,j) and (i+1,j+1), which are all that a thread has to look at. There are
 * as many cells as windows. */
#include "backends/cuda/norm.cuh"

enum { SHUT = 9 };

/* Pixels of x [N,h,w,C], and windows, which are as many as cells: p x q. */
struct overlap_grid { int h, w, p, q; };

static overlap_grid overlap_of(const ct_desc *x)
{
    const int h = (int)x->dim[1], w = (int)x->dim[2];
    return { h, w, (h + 1) / 2, (w + 1) / 2 };
}

/* Row and column of window or cell m among those of its image, which is n. */
struct overlap_place { int n, i, j; };
__device__ static inline overlap_place overlap_at(const overlap_grid &g, int64_t m)
{
    const int row = (int)m / g.q;
    return { row / g.p, row % g.p, (int)m % g.q };
}

/* Of pixel (i,j) of image n the place of the first channel; -1 outside. */
__device__ static inline int64_t pixel_at(const overlap_grid &g, int n, int i, int j, int columns)
{
    return i >= 0 && j >= 0 && i < g.h && j < g.w ? (((int64_t)n * g.h + i) * g.w + j) * columns : -1;
}

/* Row by row of the window, so that two blocks share the registers of a multiprocessor. */
template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 2) overlap_apply(const T *x, const float *gamma, const float *beta, const float *mean, const float *invstd,
                                                               T *y, uint8_t *index, overlap_grid grid, ct_sheet sheet)
{
    const int c0 = ct_sheet_column<V>(sheet);
    if (c0 >= sheet.columns) return;
    channel_numbers<V> n;
    read_channels<V, false>(&n, gamma, beta, mean, invstd, 0, c0);
    ct_sheet_rows<1>(
        sheet, [&](int64_t m) { return overlap_at(grid, m); },
        [&](const overlap_place &at, int64_t m) {
            float best[V];
            ct_pack<uint8_t, V> which;
#pragma unroll
            for (int e = 0; e < V; e++) {
                best[e] = -1; /* less than what a ReLU gives: the first pixel that is there wins */
                which.e[e] = SHUT;
            }
#pragma unroll
            for (int r = 0; r < 3; r++) {
                ct_pack<T, V> row[3];
                int64_t from[3];
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    ct_pack<T, V> none = {};
                    from[k] = pixel_at(grid, at.n, 2 * at.i - 1 + r, 2 * at.j - 1 + k, sheet.columns);
                    row[k] = from[k] >= 0 ? ct_fetch<T, V>(x + from[k] + c0) : none;
                }
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    if (from[k] < 0) continue;
#pragma unroll
                    for (int e = 0; e < V; e++) {
                        const float v = ct_stored<T>(normalised(ct_get(row[k].e[e]), n.slope[e], n.beta[e], n.mean[e], 0, CT_NORM_RELU));
                        if (!(v > best[e]) && !(isnan(v) && !isnan(best[e]))) continue; /* the first of equals, and the first NaN */
                        best[e] = v;
                        which.e[e] = (uint8_t)(3 * r + k);
                    }
                }
            }
#pragma unroll
            for (int e = 0; e < V; e++)
                if (!(best[e] > 0)) which.e[e] = SHUT;
            ct_put_n<T, V>(y + m * sheet.columns + c0, best);
            *reinterpret_cast<ct_pack<uint8_t, V> *>(index + m * sheet.columns + c0) = which;
        });
}

/* ---- backward ---- */

template <typename T> struct overlap_back {
    const T *dy, *dy2, *x; /* dy2 NULL: dy alone */
    const uint8_t *index;
    const float *gamma, *mean, *invstd;
    overlap_grid grid;
    ct_sheet sheet; /* of cells */
};

/* What the windows give the pixels of cell m: g[k] of pixel k. In window (i+u, j+v) pixel (a,b) of the cell has row 1+a-2u and column 1+b-2v; those of
 * negative number lie outside. Windows are taken one after the other, the cell's own first, and only their sums are kept. */
template <typename T, int V, bool SECOND>
__device__ static inline void received(const overlap_back<T> &b, const overlap_place &at, int64_t m, int c0, float g[4][V])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
        for (int e = 0; e < V; e++) g[k][e] = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (at.i + w / 2 >= b.grid.p || at.j + w % 2 >= b.grid.q) continue;
        const int64_t window = (m + w / 2 * b.grid.q + w % 2) * b.sheet.columns + c0;
        ct_pack<T, V> none = {};
        const ct_pack<T, V> dy = ct_fetch<T, V>(b.dy + window), dy2 = SECOND ? ct_fetch<T, V>(b.dy2 + window) : none;
        const ct_pack<uint8_t, V> which = ct_fetch<uint8_t, V>(b.index + window);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int r = 1 + k / 2 - 2 * (w / 2), s = 1 + k % 2 - 2 * (w % 2);
            if (r < 0 || s < 0) continue;
#pragma unroll
            for (int e = 0; e < V; e++)
                if (which.e[e] == 3 * r + s) g[k][e] += SECOND ? ct_get(dy.e[e]) + ct_get(dy2.e[e]) : ct_get(dy.e[e]);
        }
    }
}

/* Of a cell the pixels x; those outside are zeros. */
template <typename T, int V> struct overlap_cell { ct_pack<T, V> x[4]; };

template <typename T, int V> __device__ static inline overlap_cell<T, V> fetch_cell(const overlap_back<T> &b, const overlap_place &at, int c0)
{
    overlap_cell<T, V> cell = {};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int64_t from = pixel_at(b.grid, at.n, 2 * at.i + k / 2, 2 * at.j + k % 2, b.sheet.columns);
        if (from >= 0) cell.x[k] = ct_fetch<T, V>(b.x + from + c0);
    }
    return cell;
}

template <typename T, int V, bool SECOND>
__global__ void __launch_bounds__(CT_THREADS, 2) overlap_backward_sums(overlap_back<T> b, ct_gather gather, float *dgamma, float *dbeta)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    float sum[2][V] = {};
    if (c0 < b.sheet.columns) {
        float mean[V];
#pragma unroll
        for (int e = 0; e < V; e++) mean[e] = b.mean[c0 + e];
        ct_sheet_rows_back<1>(
            b.sheet, [&](int64_t m) { return fetch_cell<T, V>(b, overlap_at(b.grid, m), c0); },
            [&](const overlap_cell<T, V> &cell, int64_t m) {
                const overlap_place at = overlap_at(b.grid, m);
                float g[4][V];
                received<T, V, SECOND>(b, at, m, c0, g);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    if (2 * at.i + k / 2 >= b.grid.h || 2 * at.j + k % 2 >= b.grid.w) continue;
#pragma unroll
                    for (int e = 0; e < V; e++) {
                        sum[0][e] += g[k][e];
                        sum[1][e] += g[k][e] * (ct_get(cell.x[k].e[e]) - mean[e]);
                    }
                }
            });
    }
    ct_sheet_finish<2, V>(b.sheet, gather, sum, [&](int c, const double total[2]) {
        dbeta[c] = (float)total[0];
        dgamma[c] = (float)(total[1] * (double)b.invstd[c]);
    });
}

/* dx = gamma*invstd*(g - dbeta/M - xhat*dgamma/M) */
template <typename T, int V, bool SECOND>
__global__ void __launch_bounds__(CT_THREADS, 2)
    overlap_backward_apply(overlap_back<T> b, const float *dgamma, const float *dbeta, T *dx, float inv_rows)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    if (c0 >= b.sheet.columns) return;
    float mean[V], slope[V], along[V], shift[V]; /* dx = slope*(g - shift) - along*(x - mean) */
#pragma unroll
    for (int e = 0; e < V; e++) {
        const float scale = b.invstd[c0 + e];
        mean[e] = b.mean[c0 + e];
        slope[e] = b.gamma[c0 + e] * scale;
        along[e] = slope[e] * scale * dgamma[c0 + e] * inv_rows;
        shift[e] = dbeta[c0 + e] * inv_rows;
    }
    ct_sheet_rows<1>(
        b.sheet, [&](int64_t m) { return overlap_at(b.grid, m); },
        [&](const overlap_place &at, int64_t m) {
            float g[4][V];
            received<T, V, SECOND>(b, at, m, c0, g);
            const overlap_cell<T, V> cell = fetch_cell<T, V>(b, at, c0);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int64_t to = pixel_at(b.grid, at.n, 2 * at.i + k / 2, 2 * at.j + k % 2, b.sheet.columns);
                if (to < 0) continue;
                float v[V];
#pragma unroll
                for (int e = 0; e < V; e++) v[e] = slope[e] * (g[k][e] - shift[e]) - along[e] * (ct_get(cell.x[k].e[e]) - mean[e]);
                ct_put_n<T, V>(dx + to + c0, v);
            }
        });
}

/* ---- calls ---- */

static ct_accept accept_overlap(const ct_call *c, const ct_desc *x, int64_t rows)
{
    if (!c->attrs.norm.overlap) return ct_accept_no("cuda: windows that do not overlap have kernels of their own");
    if (ct_cuda_rows(x) > INT_MAX / 2) return ct_accept_no("cuda: more pixels than 32-bit indices reach");
    return ct_norm_accept(c, ct_norm_part_bytes(rows, x, 2));
}

template <typename T, int V> static void overlap_forward(ct_stream *s, const ct_call *c, void *scratch)
{
    const statistics to = launch_statistics<T, V>(s, c->in, &c->out[1], &c->attrs.norm, scratch);
    const ct_sheet sheet = ct_norm_sheet(&c->out[0].desc, V);
    auto k = &overlap_apply<T, V>;
    CT_LAUNCH(k, CT_GRID2(ct_sheet_groups(sheet, V), ct_sheet_parts(sheet, V)), CT_THREADS, s, (const T *)c->in[0].data,
              (const float *)c->in[1].data, (const float *)c->in[2].data, (const float *)to.mean, (const float *)to.invstd,
              (T *)c->out[0].data, (uint8_t *)c->out[3].data, overlap_of(&c->in[0].desc), sheet);
}

static ct_accept batchnorm_overlap_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 6)) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return accept_overlap(c, &c->in[0].desc, ct_cuda_rows(&c->in[0].desc));
}
static ct_status batchnorm_overlap_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) overlap_forward<T, ct_width<T>::value>(s, c, scratch);
        else overlap_forward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_pool");
}

template <typename T, int V> static void overlap_backward(ct_stream *s, const ct_call *c, void *scratch)
{
    const ct_desc *x = &c->in[1].desc;
    const overlap_back<T> b = { (const T *)c->in[0].data,
                                ct_cuda_has(c, 6) ? (const T *)c->in[6].data : (const T *)NULL,
                                (const T *)c->in[1].data,
                                (const uint8_t *)c->in[5].data,
                                (const float *)c->in[2].data,
                                (const float *)c->in[3].data,
                                (const float *)c->in[4].data,
                                overlap_of(x),
                                ct_norm_sheet(&c->in[0].desc, V) };
    const int64_t groups = ct_sheet_groups(b.sheet, V), parts = ct_sheet_parts(b.sheet, V);
    float *dgamma = (float *)c->out[1].data, *dbeta = (float *)c->out[2].data;
    auto sums = b.dy2 ? &overlap_backward_sums<T, V, true> : &overlap_backward_sums<T, V, false>;
    CT_LAUNCH(sums, CT_GRID2(groups, parts), CT_THREADS, s, b, ct_sheet_gather(s, b.sheet, V, 2, scratch), dgamma, dbeta);
    auto apply = b.dy2 ? &overlap_backward_apply<T, V, true> : &overlap_backward_apply<T, V, false>;
    CT_LAUNCH(apply, CT_GRID2(groups, parts), CT_THREADS, s, b, (const float *)dgamma, (const float *)dbeta, (T *)c->out[0].data,
              1.0f / (float)ct_cuda_rows(x));
}

static ct_accept batchnorm_overlap_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_overlap(c, &c->in[1].desc, ct_cuda_rows(&c->in[0].desc));
}
static ct_status batchnorm_overlap_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) overlap_backward<T, ct_width<T>::value>(s, c, scratch);
        else overlap_backward<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("batchnorm_pool_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM_POOL, "cuda.overlap", CT_CUDA_TUNED, batchnorm_overlap_accept, batchnorm_overlap_run },
    { CT_OP_BATCHNORM_POOL_BWD, "cuda.overlap", CT_CUDA_TUNED, batchnorm_overlap_bwd_accept, batchnorm_overlap_bwd_run },
};
CT_CUDA_SET(norm_overlap)
