/* swap, and the recurrence of LSTM layers (ref/sequence.c has the formulas).
 *
 * One launch for each step and both directions: steps depend on each other, everything within one does not. A block takes SAMPLES by
 * UNITS hidden units; the recurrent product runs over tiles in shared memory. In a captured step the launches cost what a node of the
 * graph costs. Sums are f32 in an order fixed by the shape; what goes from step to step does so in f32, whatever is stored. */
#include <string.h>

#include "backends/cuda/dev.cuh"
#include "ops/math/lstm_math.h"

enum { SAMPLES = 8, UNITS = 8, DEPTH = 32, WIDE = 32 };

/* ---- swap: x [A,B,...] -> y [B,A,...], inner elements moved in units of U bytes ---- */

template <typename U> __global__ void swap_axes(const U *x, U *y, int64_t a, int64_t b, int64_t inner)
{
    for (CT_EACH(i, a * b * inner)) {
        int64_t k = i % inner, ai = i / inner % a, bi = i / (inner * a);
        y[i] = x[(ai * b + bi) * inner + k];
    }
}

template <typename U> static void run_swap(ct_stream *s, const ct_call *c, int64_t bytes)
{
    const int64_t *d = c->in[0].desc.dim;
    int64_t inner = bytes / (int64_t)sizeof(U);
    auto k = &swap_axes<U>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(d[0] * d[1] * inner)), CT_THREADS, s, (const U *)c->in[0].data, (U *)c->out[0].data, d[0], d[1],
              inner);
}

struct alignas(16) unit16 { uint32_t v[4]; };

static ct_accept swap_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status swap_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc;
    int64_t bytes = ct_cuda_numel(x) / (x->dim[0] * x->dim[1]) * (x->dtype == CT_F32 ? 4 : 2); /* of what stays together */
    if (bytes % 16 == 0) run_swap<unit16>(s, c, bytes);
    else if (bytes % 4 == 0) run_swap<uint32_t>(s, c, bytes);
    else run_swap<uint16_t>(s, c, bytes);
    CT_LAUNCHED("swap");
}

/* ---- LSTM ---- */

/* The tensors of one direction; y and dy have rows of `width`, of which H from `first` on are this direction's. */
template <typename T> struct direction {
    const T *xg, *w, *b; /* b may be NULL */
    T *gates, *dxg;
    const T *saved;
    float *cell;
    float *h;  /* [2,N,H]: y of the step before and of this one, by turns */
    float *dc; /* [N,H]: gradient of the cell that comes from the next step */
    float *da; /* [T,N,4H]: dxg in f32 (itself, if it is) */
    int64_t first;
};
template <typename T> struct layer {
    direction<T> dir[2];
    T *y;
    const T *dy;
    const int32_t *len;
    int64_t steps, n, h, width;
};

/* Time of the s-th step of sample n in a direction; -1: it has no such step. */
template <typename T> __device__ static inline int64_t time_of(const layer<T> &l, int dir, int64_t n, int64_t s)
{
    int64_t len = l.len ? l.len[n] : l.steps;
    if (n >= l.n || s < 0 || s >= len) return -1;
    return dir ? len - 1 - s : s;
}

/* One step: thread = (sample, gate, unit). */
template <typename T> __global__ void lstm_step(layer<T> l, int64_t s)
{
    __shared__ float h_tile[SAMPLES][DEPTH + 1], w_tile[4 * UNITS][DEPTH + 1], sums[SAMPLES][4][UNITS];
    const int dir = (int)blockIdx.y, tid = (int)threadIdx.x;
    const direction<T> d = l.dir[dir];
    int64_t tiles = (l.h + UNITS - 1) / UNITS, n0 = (int64_t)blockIdx.x / tiles * SAMPLES, u0 = (int64_t)blockIdx.x % tiles * UNITS;
    int sample = tid / (4 * UNITS), column = tid % (4 * UNITS), gate = column / UNITS;
    int64_t n = n0 + sample, u = u0 + column % UNITS;
    int64_t t = n < l.n ? time_of(l, dir, n, s) : -1, before = n < l.n ? time_of(l, dir, n, s - 1) : -1;
    bool mine = t >= 0 && u < l.h;
    float sum = 0;
    if (mine) sum = ct_get(d.xg[(t * l.n + n) * 4 * l.h + gate * l.h + u]) + (d.b ? ct_get(d.b[gate * l.h + u]) : 0);
    for (int64_t k0 = 0; s > 0 && k0 < l.h; k0 += DEPTH) {
        /* Rows of w: the four gates of the block's units. */
        for (int i = tid; i < 4 * UNITS * DEPTH; i += CT_THREADS) {
            int r = i / DEPTH, k = i % DEPTH;
            int64_t unit = u0 + r % UNITS;
            w_tile[r][k] = unit < l.h && k0 + k < l.h ? ct_get(d.w[((int64_t)(r / UNITS) * l.h + unit) * l.h + k0 + k]) : 0;
        }
        for (int i = tid; i < SAMPLES * DEPTH; i += CT_THREADS) {
            int r = i / DEPTH, k = i % DEPTH;
            int64_t m = n0 + r, q = m < l.n ? time_of(l, dir, m, s - 1) : -1;
            bool there = q >= 0 && time_of(l, dir, m, s) >= 0 && k0 + k < l.h;
            h_tile[r][k] = there ? d.h[((s - 1) % 2 * l.n + m) * l.h + k0 + k] : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++) sum += h_tile[sample][k] * w_tile[column][k];
        __syncthreads();
    }
    sums[sample][gate][column % UNITS] = sum;
    __syncthreads();
    if (gate != 0 || n >= l.n || u >= l.h) return;
    if (t < 0) { /* behind the sample's end, where both directions have nothing */
        const int64_t at = s * l.n + n;
        for (int i = 0; i < 4; i++) ct_put(d.gates + at * 4 * l.h + i * l.h + u, 0);
        d.cell[at * l.h + u] = 0;
        ct_put(l.y + at * l.width + d.first + u, 0);
        return;
    }
    int j = column % UNITS;
    ct_lstm_gates_f32 a = { sums[sample][0][j], sums[sample][1][j], sums[sample][2][j], sums[sample][3][j] };
    float c, h, c_prev = before >= 0 ? d.cell[(before * l.n + n) * l.h + u] : 0;
    a = ct_lstm_unit_f32(a, c_prev, &c, &h);
    T *g = d.gates + (t * l.n + n) * 4 * l.h + u;
    ct_put(g, a.i);
    ct_put(g + l.h, a.f);
    ct_put(g + 2 * l.h, a.g);
    ct_put(g + 3 * l.h, a.o);
    d.cell[(t * l.n + n) * l.h + u] = c;
    d.h[(s % 2 * l.n + n) * l.h + u] = h;
    ct_put(l.y + (t * l.n + n) * l.width + d.first + u, h);
}

/* One step backwards: thread = (sample, unit), SAMPLES by WIDE. */
template <typename T> __global__ void lstm_step_bwd(layer<T> l, int64_t s)
{
    __shared__ float g_tile[SAMPLES][DEPTH + 1], w_tile[DEPTH][WIDE + 1];
    const int dir = (int)blockIdx.y, tid = (int)threadIdx.x;
    const direction<T> d = l.dir[dir];
    int64_t tiles = (l.h + WIDE - 1) / WIDE, n0 = (int64_t)blockIdx.x / tiles * SAMPLES, u0 = (int64_t)blockIdx.x % tiles * WIDE;
    int sample = tid / WIDE, column = tid % WIDE;
    int64_t n = n0 + sample, u = u0 + column, rows = 4 * l.h;
    float dh = 0;
    for (int64_t k0 = 0; s + 1 < l.steps && k0 < rows; k0 += DEPTH) {
        for (int i = tid; i < SAMPLES * DEPTH; i += CT_THREADS) {
            int r = i / DEPTH, k = i % DEPTH;
            int64_t m = n0 + r, q = m < l.n ? time_of(l, dir, m, s + 1) : -1;
            g_tile[r][k] = q >= 0 && k0 + k < rows ? d.da[(q * l.n + m) * rows + k0 + k] : 0;
        }
        for (int i = tid; i < DEPTH * WIDE; i += CT_THREADS) {
            int r = i / WIDE, k = i % WIDE;
            w_tile[r][k] = k0 + r < rows && u0 + k < l.h ? ct_get(d.w[(k0 + r) * l.h + u0 + k]) : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++) dh += g_tile[sample][k] * w_tile[k][column];
        __syncthreads();
    }
    if (n >= l.n || u >= l.h) return;
    int64_t t = time_of(l, dir, n, s), before = time_of(l, dir, n, s - 1), next = time_of(l, dir, n, s + 1);
    if (t < 0) { /* behind the sample's end */
        T *none = d.dxg + (s * l.n + n) * rows + u;
        for (int i = 0; i < 4; i++) ct_put(none + i * l.h, 0);
        return;
    }
    const T *g = d.saved + (t * l.n + n) * rows + u;
    ct_lstm_gates_f32 a = { ct_get(g[0]), ct_get(g[l.h]), ct_get(g[2 * l.h]), ct_get(g[3 * l.h]) };
    float dc = next >= 0 ? d.dc[n * l.h + u] : 0, c_prev = before >= 0 ? d.cell[(before * l.n + n) * l.h + u] : 0;
    dh += ct_get(l.dy[(t * l.n + n) * l.width + d.first + u]);
    a = ct_lstm_unit_bwd_f32(a, d.cell[(t * l.n + n) * l.h + u], c_prev, dh, &dc);
    d.dc[n * l.h + u] = dc;
    T *to = d.dxg + (t * l.n + n) * rows + u;
    ct_put(to, a.i);
    ct_put(to + l.h, a.f);
    ct_put(to + 2 * l.h, a.g);
    ct_put(to + 3 * l.h, a.o);
    if ((const void *)d.da == (const void *)d.dxg) return;
    float *wide = d.da + (t * l.n + n) * rows + u;
    wide[0] = a.i;
    wide[l.h] = a.f;
    wide[2 * l.h] = a.g;
    wide[3 * l.h] = a.o;
}

/* dw_hh [4H,H] = sum over t and n of dxg[t,n,k]*y[step before,n,j]: a block for WIDE columns of SAMPLES rows of w. */
template <typename T> __global__ void lstm_weights(layer<T> l, int dir, T *dw)
{
    __shared__ float a_tile[DEPTH][SAMPLES], y_tile[DEPTH][WIDE + 1];
    const direction<T> d = l.dir[dir];
    int tid = (int)threadIdx.x, row = tid / WIDE, column = tid % WIDE;
    int64_t tiles = (l.h + WIDE - 1) / WIDE, k0 = (int64_t)blockIdx.x / tiles * SAMPLES, u0 = (int64_t)blockIdx.x % tiles * WIDE;
    int64_t total = l.steps * l.n;
    float sum = 0;
    for (int64_t m0 = 0; m0 < total; m0 += DEPTH) {
        for (int i = tid; i < DEPTH * WIDE; i += CT_THREADS) {
            int r = i / WIDE, k = i % WIDE;
            int64_t m = m0 + r, t = m / l.n, n = m % l.n, q = -1;
            if (m < total) {
                int64_t len = l.len ? l.len[n] : l.steps;
                if (t < len) q = dir ? (t + 1 < len ? t + 1 : -1) : t - 1;
            }
            y_tile[r][k] = q >= 0 && u0 + k < l.h ? ct_get(l.y[(q * l.n + n) * l.width + d.first + u0 + k]) : 0;
            if (k < SAMPLES) a_tile[r][k] = q >= 0 && k0 + k < 4 * l.h ? d.da[m * 4 * l.h + k0 + k] : 0;
        }
        __syncthreads();
        for (int r = 0; r < DEPTH; r++) sum += a_tile[r][row] * y_tile[r][column];
        __syncthreads();
    }
    if (k0 + row < 4 * l.h && u0 + column < l.h) ct_put(dw + (k0 + row) * l.h + u0 + column, sum);
}

static ct_accept accept_lstm(const ct_desc *type, const ct_desc *cell, size_t scratch)
{
    if (!ct_cuda_type(type->dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    return cell->dtype == CT_F32 ? ct_accept_yes(scratch) : ct_accept_no("cuda: the cell is not f32");
}

static ct_accept lstm_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const ct_desc *cell = &c->out[2].desc;
    return accept_lstm(&c->in[0].desc, cell, (size_t)(cell->dim[0] * 2 * cell->dim[2] * cell->dim[3]) * sizeof(float));
}

template <typename T> static layer<T> layer_of(const ct_desc *cell, const ct_call *c)
{
    layer<T> l;
    memset(&l, 0, sizeof l);
    l.steps = cell->dim[1];
    l.n = cell->dim[2];
    l.h = cell->dim[3];
    l.width = cell->dim[0] * l.h;
    l.len = ct_cuda_has(c, 6) ? (const int32_t *)c->in[6].data : (const int32_t *)NULL;
    return l;
}

static int64_t tiles_of(int64_t n, int64_t h, int64_t units) { return (n + SAMPLES - 1) / SAMPLES * ((h + units - 1) / units); }

static ct_status lstm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_desc *cell = &c->out[2].desc;
    int64_t directions = cell->dim[0];
    CT_BY_TYPE(c->in[0].desc.dtype, {
        layer<T> l = layer_of<T>(cell, c);
        l.y = (T *)c->out[0].data;
        int64_t plane = l.steps * l.n * l.h;
        for (int64_t d = 0; d < directions; d++) {
            l.dir[d].xg = (const T *)c->in[3 * d].data;
            l.dir[d].w = (const T *)c->in[3 * d + 1].data;
            l.dir[d].b = ct_cuda_has(c, (int)(3 * d + 2)) ? (const T *)c->in[3 * d + 2].data : (const T *)NULL;
            l.dir[d].gates = (T *)c->out[1].data + 4 * d * plane;
            l.dir[d].cell = (float *)c->out[2].data + d * plane;
            l.dir[d].h = (float *)scratch + d * 2 * l.n * l.h;
            l.dir[d].first = d * l.h;
        }
        auto k = &lstm_step<T>;
        for (int64_t step = 0; step < l.steps; step++)
            CT_LAUNCH(k, CT_GRID2(tiles_of(l.n, l.h, UNITS), directions), CT_THREADS, s, l, step);
    })
    CT_LAUNCHED("lstm");
}

static ct_accept lstm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const ct_desc *cell = &c->in[3].desc;
    int64_t carried = cell->dim[0] * cell->dim[2] * cell->dim[3]; /* dc, and da where dxg is not f32 */
    int64_t kept = c->in[0].desc.dtype == CT_F32 ? 0 : 4 * carried * cell->dim[1];
    return accept_lstm(&c->in[0].desc, cell, (size_t)(carried + kept) * sizeof(float));
}

static ct_status lstm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_desc *cell = &c->in[3].desc;
    int64_t directions = cell->dim[0];
    size_t element = c->in[0].desc.dtype == CT_F32 ? 4 : 2;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        layer<T> l = layer_of<T>(cell, c);
        l.dy = (const T *)c->in[0].data;
        l.y = (T *)c->in[1].data;
        int64_t plane = l.steps * l.n * l.h;
        for (int64_t d = 0; d < directions; d++) {
            l.dir[d].w = (const T *)c->in[4 + d].data;
            l.dir[d].saved = (const T *)c->in[2].data + 4 * d * plane;
            l.dir[d].cell = (float *)c->in[3].data + d * plane;
            l.dir[d].dxg = (T *)c->out[2 * d].data;
            l.dir[d].dc = (float *)scratch + d * l.n * l.h;
            l.dir[d].da = element == 4 ? (float *)c->out[2 * d].data : (float *)scratch + directions * l.n * l.h + 4 * d * plane;
            l.dir[d].first = d * l.h;
        }
        auto back = &lstm_step_bwd<T>;
        auto weights = &lstm_weights<T>;
        for (int64_t step = l.steps - 1; step >= 0; step--)
            CT_LAUNCH(back, CT_GRID2(tiles_of(l.n, l.h, WIDE), directions), CT_THREADS, s, l, step);
        for (int d = 0; d < (int)directions; d++)
            CT_LAUNCH(weights, CT_GRID1(tiles_of(4 * l.h, l.h, WIDE)), CT_THREADS, s, l, d, (T *)c->out[2 * d + 1].data);
    })
    CT_LAUNCHED("lstm_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_SWAP, "cuda.kernel", CT_CUDA_TUNED, swap_accept, swap_run },
    { CT_OP_LSTM, "cuda.kernel", CT_CUDA_TUNED, lstm_accept, lstm_run },
    { CT_OP_LSTM_BWD, "cuda.kernel", CT_CUDA_TUNED, lstm_bwd_accept, lstm_bwd_run },
};
CT_CUDA_SET(sequence)
