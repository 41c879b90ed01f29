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

template <typename T, int V> struct overlap_row { ct_pack<T, V> x[9]; };

template <typename T, int V>
__global__ void overlap_apply(const T *x, const float *gamma, const float *beta, const float *mean, const float *invstd, T *y, uint8_t *index,
                              overlap_grid grid, ct_sheet sheet)
{
    const int c0 = ct_sheet_column<V>(sheet);
    if (c0 >= sheet.columns) return;
    channel_numbers<V> n;
    read_channels<V, false>(&n, gamma, beta, mean, invstd, 0, c0);
    ct_sheet_rows<1>(
        sheet,
        [&](int64_t m) {
            const overlap_place at = overlap_at(grid, m);
            overlap_row<T, V> row = {};
#pragma unroll
            for (int k = 0; k < 9; k++) {
                const int64_t from = pixel_at(grid, at.n, 2 * at.i - 1 + k / 3, 2 * at.j - 1 + k % 3, sheet.columns);
                if (from >= 0) row.x[k] = ct_fetch<T, V>(x + from + c0);
            }
            return row;
        },
        [&](const overlap_row<T, V> &row, int64_t m) {
            const overlap_place at = overlap_at(grid, m);
            float best[V];
            ct_pack<uint8_t, V> which;
#pragma unroll
            for (int e = 0; e < V; e++) {
                best[e] = -1; /* less than what a ReLU gives: the first pixel that is there wins */
                which.e[e] = SHUT;
            }
#pragma unroll
            for (int k = 0; k < 9; k++) {
                if (pixel_at(grid, at.n, 2 * at.i - 1 + k / 3, 2 * at.j - 1 + k % 3, sheet.columns) < 0) continue;
#pragma unroll
                for (int e = 0; e < V; e++) {
                    const float v = ct_stored<T>(normalised(ct_get(row.x[k].e[e]), n.gamma[e], n.beta[e], n.mean[e], n.scale[e], 0, CT_NORM_RELU));
                    if (!(v > best[e]) && !(isnan(v) && !isnan(best[e]))) continue; /* the first of equals, and the first NaN */
                    best[e] = v;
                    which.e[e] = (uint8_t)k;
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

/* Of a cell the pixels x and the windows that hold them, those to the right and below second: element 2u+v of window (i+u, j+v). */
template <typename T, int V> struct overlap_back_row {
    ct_pack<T, V> x[4], dy[4], dy2[4];
    ct_pack<uint8_t, V> which[4];
};

template <typename T, int V> __device__ static inline overlap_back_row<T, V> fetch_cell(const overlap_back<T> &b, int64_t m, int c0)
{
    const overlap_place at = overlap_at(b.grid, m);
    overlap_back_row<T, V> row = {};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int64_t from = pixel_at(b.grid, at.n, 2 * at.i + k / 2, 2 * at.j + k % 2, b.sheet.columns);
        if (from >= 0) row.x[k] = ct_fetch<T, V>(b.x + from + c0);
        if (at.i + k / 2 < b.grid.p && at.j + k % 2 < b.grid.q) {
            const int64_t window = (m + k / 2 * b.grid.q + k % 2) * b.sheet.columns + c0;
            row.dy[k] = ct_fetch<T, V>(b.dy + window);
            if (b.dy2) row.dy2[k] = ct_fetch<T, V>(b.dy2 + window);
            row.which[k] = ct_fetch<uint8_t, V>(b.index + window);
        } else {
#pragma unroll
            for (int e = 0; e < V; e++) row.which[k].e[e] = SHUT;
        }
    }
    return row;
}

/* What the windows give pixel k of the cell. In window (i+u, j+v) pixel (a,b) of the cell has row 1+a-2u and column 1+b-2v; those of negative number
 * lie outside. */
template <typename T, int V> __device__ static inline float received(const overlap_back_row<T, V> &row, int k, int e)
{
    float g = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const int r = 1 + k / 2 - 2 * (w / 2), s = 1 + k % 2 - 2 * (w % 2);
        if (r >= 0 && s >= 0 && row.which[w].e[e] == 3 * r + s) g += ct_get(row.dy[w].e[e]) + ct_get(row.dy2[w].e[e]);
    }
    return g;
}

/* A thread has 12 loads of 16 bytes on their way, and 4 of 8: one block keeps a multiprocessor's memory busy, so both kernels may take the registers
 * that two blocks would share. */
template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 1) overlap_backward_sums(overlap_back<T> b, ct_gather gather, float *dgamma, float *dbeta)
{
    const int c0 = ct_sheet_column<V>(b.sheet);
    float sum[2][V] = {};
    if (c0 < b.sheet.columns) {
        float mean[V], scale[V];
#pragma unroll
        for (int e = 0; e < V; e++) {
            mean[e] = b.mean[c0 + e];
            scale[e] = b.invstd[c0 + e];
        }
        ct_sheet_rows<1>(
            b.sheet, [&](int64_t m) { return fetch_cell<T, V>(b, m, c0); },
            [&](const overlap_back_row<T, V> &row, int64_t m) {
                const overlap_place at = overlap_at(b.grid, m);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    if (2 * at.i + k / 2 >= b.grid.h || 2 * at.j + k % 2 >= b.grid.w) continue;
#pragma unroll
                    for (int e = 0; e < V; e++) {
                        const float g = received(row, k, e);
                        sum[0][e] += g;
                        sum[1][e] += g * ((ct_get(row.x[k].e[e]) - mean[e]) * scale[e]);
                    }
                }
            });
    }
    ct_sheet_finish<2, V>(b.sheet, gather, sum, [&](int c, const double total[2]) {
        dbeta[c] = (float)total[0];
        dgamma[c] = (float)total[1];
    });
}

/* dx = gamma*invstd*(g - dbeta/M - xhat*dgamma/M) */
template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 1)
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
        b.sheet, [&](int64_t m) { return fetch_cell<T, V>(b, m, c0); },
        [&](const overlap_back_row<T, V> &row, int64_t m) {
            const overlap_place at = overlap_at(b.grid, m);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int64_t to = pixel_at(b.grid, at.n, 2 * at.i + k / 2, 2 * at.j + k % 2, b.sheet.columns);
                if (to < 0) continue;
                float v[V];
#pragma unroll
                for (int e = 0; e < V; e++) v[e] = slope[e] * (received(row, k, e) - shift[e]) - along[e] * (ct_get(row.x[k].e[e]) - mean[e]);
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
    auto sums = &overlap_backward_sums<T, V>;
    CT_LAUNCH(sums, CT_GRID2(groups, parts), CT_THREADS, s, b, ct_sheet_gather(s, b.sheet, V, 2, scratch), dgamma, dbeta);
    auto apply = &overlap_backward_apply<T, V>;
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
