/* Pooling of x [N,H,W,C] to y [N,P,Q,C]: one thread for V neighbouring channels of one output pixel. Gradients gather from the
 * windows that cover a pixel, so nothing is added atomically. */
#include <limits.h>

#include "backends/cuda/columns.cuh"

struct pool_shape {
    int64_t n, h, w, p, q, c;
    int ker_h, ker_w, stride_h, stride_w, pad_h, pad_w;
};

static pool_shape shape_of(const ct_pool_attrs *a, const ct_desc *x, const ct_desc *y)
{
    pool_shape s = { x->dim[0], x->dim[1], x->dim[2], y->dim[1], y->dim[2], x->dim[3], (int)a->ker_h, (int)a->ker_w,
                     (int)a->stride_h, (int)a->stride_w, (int)a->pad_h, (int)a->pad_w };
    return s;
}

template <typename T, int V> __global__ void max_forward(const T *x, T *y, uint8_t *index, pool_shape s)
{
    int64_t cv = s.c / V;
    for (CT_EACH(i, s.n * s.p * s.q * cv)) {
        ct_pixel t = ct_locate(i, cv, s.q, s.p, V);
        float best[V], v[V];
        ct_pack<uint8_t, V> which;
        bool first = true;
#pragma unroll
        for (int k = 0; k < V; k++) {
            best[k] = -INFINITY;
            which.e[k] = 0;
        }
        for (int r = 0; r < s.ker_h; r++) {
            int64_t row = t.a * s.stride_h - s.pad_h + r;
            if (row < 0 || row >= s.h) continue;
            for (int j = 0; j < s.ker_w; j++) {
                int64_t col = t.b * s.stride_w - s.pad_w + j;
                if (col < 0 || col >= s.w) continue;
                ct_get_n<T, V>(x + ((t.n * s.h + row) * s.w + col) * s.c + t.c, v);
#pragma unroll
                for (int k = 0; k < V; k++) {
                    /* The first real cell is taken whatever it holds; the first NaN stays. */
                    if (!first && !(v[k] > best[k]) && !(isnan(v[k]) && !isnan(best[k]))) continue;
                    best[k] = v[k];
                    which.e[k] = (uint8_t)(r * s.ker_w + j);
                }
                first = false;
            }
        }
        ct_put_n<T, V>(y + i * V, best);
        *reinterpret_cast<ct_pack<uint8_t, V> *>(index + i * V) = which;
    }
}

/* The output row whose window cell r is input row i, or -1. */
__device__ static inline int64_t source_of(int64_t i, int r, int stride, int pad, int64_t count)
{
    int64_t d = i + pad - r;
    if (d < 0 || d % stride != 0 || d / stride >= count) return -1;
    return d / stride;
}

/* dx of a pixel: the sum of dy over the windows that cover it (MAX: where it won), times factor. */
template <typename T, int V, bool MAX> __global__ void spread(const T *dy, const uint8_t *index, T *dx, pool_shape s, float factor)
{
    int64_t cv = s.c / V;
    for (CT_EACH(i, s.n * s.h * s.w * cv)) {
        ct_pixel t = ct_locate(i, cv, s.w, s.h, V);
        float sum[V] = {}, g[V];
        for (int r = 0; r < s.ker_h; r++) {
            int64_t p = source_of(t.a, r, s.stride_h, s.pad_h, s.p);
            if (p < 0) continue;
            for (int j = 0; j < s.ker_w; j++) {
                int64_t q = source_of(t.b, j, s.stride_w, s.pad_w, s.q);
                if (q < 0) continue;
                int64_t from = ((t.n * s.p + p) * s.q + q) * s.c + t.c;
                ct_get_n<T, V>(dy + from, g);
                if (MAX) {
                    ct_pack<uint8_t, V> which = *reinterpret_cast<const ct_pack<uint8_t, V> *>(index + from);
#pragma unroll
                    for (int k = 0; k < V; k++)
                        if (which.e[k] == r * s.ker_w + j) sum[k] += g[k];
                } else {
#pragma unroll
                    for (int k = 0; k < V; k++) sum[k] += g[k];
                }
            }
        }
#pragma unroll
        for (int k = 0; k < V; k++) sum[k] *= factor;
        ct_put_n<T, V>(dx + i * V, sum);
    }
}

/* The same for square windows whose size is known to the compiler, K by K and S apart: in most models 2 by 2 and 3 by 3, every 2. A thread keeps
 * its column and its V channels and goes down the image, so that what remains to be worked out for a pixel is its row; no more than
 * (K+S-1)/S windows cover it in each direction. */
template <typename T, int V, int COVER> struct covering {
    ct_pack<T, V> dy[COVER * COVER];
    ct_pack<uint8_t, V> which[COVER * COVER];
    int cell[COVER * COVER]; /* of the window that this pixel is; -1: no such window */
};

/* Window u, counted from the last, of those that cover place i: its number, and in *cell which of its cells i is; -1: there is none. */
template <int K, int S> __device__ static inline int window_of(int i, int u, int pad, int count, int *cell)
{
    const int p = (i + pad) / S - u;
    *cell = i + pad - p * S;
    return p >= 0 && p < count && *cell < K ? p : -1;
}

template <typename T, int V, bool MAX, int K, int S>
__global__ void spread_square(const T *dy, const uint8_t *index, T *dx, pool_shape s, ct_sheet sheet, float factor)
{
    enum { COVER = (K + S - 1) / S };
    const int c0 = ct_sheet_column<V>(sheet), channels = (int)s.c, h = (int)s.h, pw = (int)s.q;
    if (c0 >= sheet.columns) return;
    const int column = c0 / channels, c = c0 % channels;
    int q[COVER], j[COVER];
#pragma unroll
    for (int u = 0; u < COVER; u++) q[u] = window_of<K, S>(column, u, s.pad_w, pw, &j[u]);
    ct_sheet_rows<COVER == 1 ? CT_AHEAD : 1>(
        sheet,
        [&](int64_t m) {
            const int n = (int)m / h, a = (int)m % h;
            covering<T, V, COVER> row = {};
#pragma unroll
            for (int u = 0; u < COVER; u++) {
                int r;
                const int p = window_of<K, S>(a, u, s.pad_h, (int)s.p, &r);
                const int64_t line = ((int64_t)n * s.p + p) * pw;
#pragma unroll
                for (int w = 0; w < COVER; w++) {
                    const int k = u * COVER + w;
                    row.cell[k] = p < 0 || q[w] < 0 ? -1 : r * K + j[w];
                    if (row.cell[k] < 0) continue;
                    const int64_t from = (line + q[w]) * channels + c;
                    row.dy[k] = ct_fetch<T, V>(dy + from);
                    if (MAX) row.which[k] = ct_fetch<uint8_t, V>(index + from);
                }
            }
            return row;
        },
        [&](const covering<T, V, COVER> &row, int64_t m) {
            float sum[V] = {};
#pragma unroll
            for (int w = 0; w < COVER * COVER; w++) {
                if (row.cell[w] < 0) continue;
#pragma unroll
                for (int k = 0; k < V; k++)
                    if (!MAX || row.which[w].e[k] == row.cell[w]) sum[k] += ct_get(row.dy[w].e[k]);
            }
#pragma unroll
            for (int k = 0; k < V; k++) sum[k] *= factor;
            ct_put_n<T, V>(dx + m * sheet.columns + c0, sum);
        });
}

template <typename T, int V> __global__ void avg_forward(const T *x, T *y, pool_shape s)
{
    int64_t cv = s.c / V;
    float factor = 1.0f / (float)(s.ker_h * s.ker_w);
    for (CT_EACH(i, s.n * s.p * s.q * cv)) {
        ct_pixel t = ct_locate(i, cv, s.q, s.p, V);
        float sum[V] = {}, v[V];
        for (int r = 0; r < s.ker_h; r++) {
            int64_t row = t.a * s.stride_h - s.pad_h + r;
            if (row < 0 || row >= s.h) continue;
            for (int j = 0; j < s.ker_w; j++) {
                int64_t col = t.b * s.stride_w - s.pad_w + j;
                if (col < 0 || col >= s.w) continue;
                ct_get_n<T, V>(x + ((t.n * s.h + row) * s.w + col) * s.c + t.c, v);
#pragma unroll
                for (int k = 0; k < V; k++) sum[k] += v[k];
            }
        }
#pragma unroll
        for (int k = 0; k < V; k++) sum[k] *= factor;
        ct_put_n<T, V>(y + i * V, sum);
    }
}

/* y [N,C] = mean over the pixels: a block takes 32 channels of a sample, its 8 teams share the pixels. */
template <typename T> __global__ void global_forward(const T *x, T *y, int64_t pixels, int64_t channels)
{
    __shared__ float room[CT_THREADS / 32][32];
    int lane = (int)threadIdx.x % 32, team = (int)threadIdx.x / 32;
    int64_t c = (int64_t)blockIdx.x * 32 + lane, n = blockIdx.y;
    float sum = 0;
    if (c < channels)
        for (int64_t i = team; i < pixels; i += CT_THREADS / 32) sum += ct_get(x[(n * pixels + i) * channels + c]);
    room[team][lane] = sum;
    __syncthreads();
    if (team != 0 || c >= channels) return;
    sum = 0;
    for (int t = 0; t < CT_THREADS / 32; t++) sum += room[t][lane];
    ct_put(y + n * channels + c, sum / (float)pixels);
}

template <typename T> __global__ void global_backward(const T *dy, T *dx, int64_t total, int64_t pixels, int64_t channels)
{
    float factor = 1.0f / (float)pixels;
    for (CT_EACH(i, total)) {
        int64_t c = i % channels, n = i / (pixels * channels);
        ct_put(dx + i, ct_get(dy[n * channels + c]) * factor);
    }
}

/* ---- calls ---- */

static ct_accept accept_type(const ct_call *c)
{
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}

static ct_accept maxpool2d_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->attrs.pool.ker_h * c->attrs.pool.ker_w > 256) return ct_accept_no("cuda: a window of more than 256 cells has no u8 index");
    return accept_type(c);
}
template <typename T, int V> static void run_max(ct_stream *s, const ct_call *c)
{
    auto k = &max_forward<T, V>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc) / V)), CT_THREADS, s, (const T *)c->in[0].data,
              (T *)c->out[0].data, (uint8_t *)c->out[1].data, shape_of(&c->attrs.pool, &c->in[0].desc, &c->out[0].desc));
}
static ct_status maxpool2d_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) run_max<T, ct_width<T>::value>(s, c);
        else run_max<T, 1>(s, c);
    })
    CT_LAUNCHED("maxpool2d");
}

template <typename T, int V, bool MAX, int K, int S> static void run_square(ct_stream *s, const ct_call *c, float factor)
{
    const pool_shape p = shape_of(&c->attrs.pool, &c->out[0].desc, &c->in[0].desc);
    const ct_sheet sheet = ct_sheet_of(p.n * p.h, p.w * p.c, V);
    auto k = &spread_square<T, V, MAX, K, S>;
    CT_LAUNCH(k, CT_GRID2(ct_sheet_groups(sheet, V), ct_sheet_parts(sheet, V)), CT_THREADS, s, (const T *)c->in[0].data,
              MAX ? (const uint8_t *)c->in[1].data : (const uint8_t *)NULL, (T *)c->out[0].data, p, sheet, factor);
}

/* Whether windows are k by k, `stride` apart, in an image whose rows and columns 32 bits count. */
static bool is_square(const ct_call *c, int k, int stride)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    const int64_t *d = c->out[0].desc.dim;
    return a->ker_h == k && a->ker_w == k && a->stride_h == stride && a->stride_w == stride && d[0] * d[1] < INT_MAX / 2 &&
           d[2] * d[3] < INT_MAX / 64;
}

template <typename T, int V, bool MAX> static void run_spread(ct_stream *s, const ct_call *c, float factor)
{
    if (is_square(c, 2, 2)) {
        run_square<T, V, MAX, 2, 2>(s, c, factor);
    } else if (is_square(c, 3, 2)) {
        run_square<T, V, MAX, 3, 2>(s, c, factor);
    } else {
        auto k = &spread<T, V, MAX>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc) / V)), CT_THREADS, s, (const T *)c->in[0].data,
                  MAX ? (const uint8_t *)c->in[1].data : (const uint8_t *)NULL, (T *)c->out[0].data,
                  shape_of(&c->attrs.pool, &c->out[0].desc, &c->in[0].desc), factor);
    }
}
static ct_accept maxpool2d_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status maxpool2d_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) run_spread<T, ct_width<T>::value, true>(s, c, 1);
        else run_spread<T, 1, true>(s, c, 1);
    })
    CT_LAUNCHED("maxpool2d_bwd");
}

static ct_accept avgpool2d_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
template <typename T, int V> static void run_avg(ct_stream *s, const ct_call *c)
{
    auto k = &avg_forward<T, V>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc) / V)), CT_THREADS, s, (const T *)c->in[0].data,
              (T *)c->out[0].data, shape_of(&c->attrs.pool, &c->in[0].desc, &c->out[0].desc));
}
static ct_status avgpool2d_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) run_avg<T, ct_width<T>::value>(s, c);
        else run_avg<T, 1>(s, c);
    })
    CT_LAUNCHED("avgpool2d");
}
static ct_accept avgpool2d_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status avgpool2d_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    float factor = 1.0f / (float)(c->attrs.pool.ker_h * c->attrs.pool.ker_w);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) run_spread<T, ct_width<T>::value, false>(s, c, factor);
        else run_spread<T, 1, false>(s, c, factor);
    })
    CT_LAUNCHED("avgpool2d_bwd");
}

/* One block for each sample in the grid's second dimension, which ends at 65535. */
static ct_accept global_avgpool_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[0].desc.dim[0] > 65535) return ct_accept_no("cuda: more than 65535 samples");
    return accept_type(c);
}
static ct_status global_avgpool_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &global_forward<T>;
        CT_LAUNCH(k, CT_GRID2((d[3] + 31) / 32, d[0]), CT_THREADS, s, (const T *)c->in[0].data, (T *)c->out[0].data,
                  d[1] * d[2], d[3]);
    })
    CT_LAUNCHED("global_avgpool");
}
static ct_accept global_avgpool_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status global_avgpool_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->out[0].desc.dim;
    int64_t total = ct_cuda_numel(&c->out[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &global_backward<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(total)), CT_THREADS, s, (const T *)c->in[0].data, (T *)c->out[0].data, total,
                  d[1] * d[2], d[3]);
    })
    CT_LAUNCHED("global_avgpool_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_MAXPOOL2D, "cuda.kernel", CT_CUDA_TUNED, maxpool2d_accept, maxpool2d_run },
    { CT_OP_MAXPOOL2D_BWD, "cuda.kernel", CT_CUDA_TUNED, maxpool2d_bwd_accept, maxpool2d_bwd_run },
    { CT_OP_AVGPOOL2D, "cuda.kernel", CT_CUDA_TUNED, avgpool2d_accept, avgpool2d_run },
    { CT_OP_AVGPOOL2D_BWD, "cuda.kernel", CT_CUDA_TUNED, avgpool2d_bwd_accept, avgpool2d_bwd_run },
    { CT_OP_GLOBAL_AVGPOOL, "cuda.kernel", CT_CUDA_TUNED, global_avgpool_accept, global_avgpool_run },
    { CT_OP_GLOBAL_AVGPOOL_BWD, "cuda.kernel", CT_CUDA_TUNED, global_avgpool_bwd_accept, global_avgpool_bwd_run },
};
CT_CUDA_SET(pool)
