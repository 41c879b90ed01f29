/* What the kernels of LSTM layers share: a layer, times, and a unit of one sample (ref/sequence.c has the formulas). */
#ifndef CT_CUDA_SEQUENCE_LSTM_CUH
#define CT_CUDA_SEQUENCE_LSTM_CUH

#include <string.h>

#include "backends/cuda/dev.cuh"
#include "ops/math/lstm_math.h"

/* The tensors of one direction; y and dy have rows of `width`, of which H from `first` on are this direction's. */
template <typename T> struct direction {
    const T *xg, *w, *b; /* b may be NULL */
    T *gates, *dxg;
    const T *saved;
    float *cell;
    float *h;  /* [2,N,H]: y of the step before and of this one, by turns */
    float *dc; /* [N,H]: gradient of the cell that comes from the next step */
    float *da; /* [T,N,4H]: dxg in f32 (itself, if it is) */
    T *rest;   /* in place of h and da, where not NULL: what is left of y and of dxg when they are stored as T, in two parts (put_rest) */
    T *dw;
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
    if (n >= l.n || s < 0) return -1;
    int64_t len = l.len ? l.len[n] : l.steps;
    return s >= len ? -1 : dir ? len - 1 - s : s;
}

/* v - T(v) as two numbers of type T, at to and to + plane: of bf16, whose products matrix units form, three parts are all 24 bits of an f32. */
template <typename T, int V> __device__ static inline void put_rest(T *to, int64_t plane, const float v[V])
{
    float rest[V], low[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
        rest[k] = v[k] - ct_stored<T>(v[k]);
        low[k] = rest[k] - ct_stored<T>(rest[k]);
    }
    ct_put_n<T, V>(to, rest);
    ct_put_n<T, V>(to + plane, low);
}

/* ---- V units of one sample, from u on ---- */

/* The cell that step s begins with; before: time of the step before. */
template <typename T, int V>
__device__ static inline void cell_before(const layer<T> &l, const direction<T> &d, int64_t n, int64_t u, int64_t before, float c[V])
{
#pragma unroll
    for (int k = 0; k < V; k++) c[k] = 0;
    if (before >= 0) ct_get_n<float, V>(d.cell + (before * l.n + n) * l.h + u, c);
}

/* The sums of the gates of step s are there: the units' values, stored. t: time of this step. */
template <typename T, int V>
__device__ static inline void units_forward(const layer<T> &l, const direction<T> &d, int64_t n, int64_t u, int64_t s, int64_t t,
                                            const float c_prev[V], const ct_lstm_gates_f32 sum[V])
{
    const int64_t at = (t < 0 ? s : t) * l.n + n; /* t < 0: behind the sample's end, where both directions have nothing */
    float v[6][V]; /* four gates, cell, h */
#pragma unroll
    for (int k = 0; k < V; k++) {
        const ct_lstm_gates_f32 a = ct_lstm_unit_f32(sum[k], c_prev[k], &v[4][k], &v[5][k]);
        v[0][k] = a.i;
        v[1][k] = a.f;
        v[2][k] = a.g;
        v[3][k] = a.o;
    }
    if (t < 0)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < V; k++) v[i][k] = 0;
    for (int i = 0; i < 4; i++) ct_put_n<T, V>(d.gates + at * 4 * l.h + i * l.h + u, v[i]);
    ct_put_n<float, V>(d.cell + at * l.h + u, v[4]);
    ct_put_n<T, V>(l.y + at * l.width + d.first + u, v[5]);
    if (d.rest) put_rest<T, V>(d.rest + (s % 2 * 2 * l.n + n) * l.h + u, l.n * l.h, v[5]);
    else ct_put_n<float, V>(d.h + (s % 2 * l.n + n) * l.h + u, v[5]);
}

/* What step s of the backward pass needs beside what the next step gives; t < 0: nothing. */
template <int V> struct kept { float gate[4][V], c[V], c_prev[V], dc[V], dy[V]; };
template <typename T, int V>
__device__ static inline kept<V> fetch_kept(const layer<T> &l, const direction<T> &d, int dir, int64_t n, int64_t u, int64_t s, int64_t t)
{
    kept<V> k = {};
    if (t < 0) return k;
    const int64_t row = t * l.n + n;
    for (int i = 0; i < 4; i++) ct_get_n<T, V>(d.saved + row * 4 * l.h + i * l.h + u, k.gate[i]);
    ct_get_n<float, V>(d.cell + row * l.h + u, k.c);
    cell_before<T, V>(l, d, n, u, time_of(l, dir, n, s - 1), k.c_prev);
    if (time_of(l, dir, n, s + 1) >= 0) ct_get_n<float, V>(d.dc + n * l.h + u, k.dc);
    ct_get_n<T, V>(l.dy + row * l.width + d.first + u, k.dy);
    return k;
}

/* dh: what the next step gives; dy is added here. */
template <typename T, int V>
__device__ static inline void units_backward(const layer<T> &l, const direction<T> &d, int64_t n, int64_t u, int64_t s, int64_t t, kept<V> k,
                                             const float dh[V])
{
    const int64_t rows = 4 * l.h, at = ((t < 0 ? s : t) * l.n + n) * rows + u; /* t < 0: behind the sample's end */
    float v[4][V] = {};
    if (t >= 0) {
#pragma unroll
        for (int e = 0; e < V; e++) {
            ct_lstm_gates_f32 a = { k.gate[0][e], k.gate[1][e], k.gate[2][e], k.gate[3][e] };
            a = ct_lstm_unit_bwd_f32(a, k.c[e], k.c_prev[e], dh[e] + k.dy[e], &k.dc[e]);
            v[0][e] = a.i;
            v[1][e] = a.f;
            v[2][e] = a.g;
            v[3][e] = a.o;
        }
        ct_put_n<float, V>(d.dc + n * l.h + u, k.dc);
    }
    for (int i = 0; i < 4; i++) {
        ct_put_n<T, V>(d.dxg + at + i * l.h, v[i]);
        if (d.rest) put_rest<T, V>(d.rest + at + i * l.h, l.steps * l.n * rows, v[i]);
        else if ((const void *)d.da != (const void *)d.dxg) ct_put_n<float, V>(d.da + at + i * l.h, v[i]);
    }
}

/* What step s adds the recurrent product to. */
template <typename T>
__device__ static inline float outside(const layer<T> &l, const direction<T> &d, int64_t t, int64_t n, int gate, int64_t u)
{
    const int64_t k = gate * l.h + u;
    return ct_get(d.xg[(t * l.n + n) * 4 * l.h + k]) + (d.b ? ct_get(d.b[k]) : 0);
}

/* dw_hh [n] = the sum over the parts' [parts][n], in their order. */
template <typename T> __global__ void lstm_weights_add(const float *part, int parts, int64_t n, T *dw)
{
    for (CT_EACH(i, n)) {
        float sum = 0;
        for (int p = 0; p < parts; p++) sum += part[p * n + i];
        ct_put(dw + i, sum);
    }
}

/* ---- the tensors of a call; scratch is left to the caller ---- */

static const int FEW = 8; /* samples of a block where there are few: up to twice as many */

template <typename T> static layer<T> layer_of(const ct_desc *cell, const ct_call *c)
{
    layer<T> l;
    memset(&l, 0, sizeof l);
    l.steps = cell->dim[1];
    l.n = cell->dim[2];
    l.h = cell->dim[3];
    l.width = cell->dim[0] * l.h;
    l.len = ct_cuda_has(c, 6) ? (const int32_t *)c->in[6].data : (const int32_t *)NULL;
    for (int64_t d = 0; d < cell->dim[0]; d++) l.dir[d].first = d * l.h;
    return l;
}

template <typename T> static layer<T> layer_forward(const ct_call *c)
{
    const ct_desc *cell = &c->out[2].desc;
    layer<T> l = layer_of<T>(cell, c);
    const int64_t plane = l.steps * l.n * l.h;
    l.y = (T *)c->out[0].data;
    for (int64_t d = 0; d < cell->dim[0]; d++) {
        l.dir[d].xg = (const T *)c->in[3 * d].data;
        l.dir[d].w = (const T *)c->in[3 * d + 1].data;
        l.dir[d].b = ct_cuda_has(c, (int)(3 * d + 2)) ? (const T *)c->in[3 * d + 2].data : (const T *)NULL;
        l.dir[d].gates = (T *)c->out[1].data + 4 * d * plane;
        l.dir[d].cell = (float *)c->out[2].data + d * plane;
    }
    return l;
}

template <typename T> static layer<T> layer_backward(const ct_call *c)
{
    const ct_desc *cell = &c->in[3].desc;
    layer<T> l = layer_of<T>(cell, c);
    const int64_t plane = l.steps * l.n * l.h;
    l.dy = (const T *)c->in[0].data;
    l.y = (T *)c->in[1].data;
    for (int64_t d = 0; d < cell->dim[0]; d++) {
        l.dir[d].w = (const T *)c->in[4 + d].data;
        l.dir[d].saved = (const T *)c->in[2].data + 4 * d * plane;
        l.dir[d].cell = (float *)c->in[3].data + d * plane;
        l.dir[d].dxg = (T *)c->out[2 * d].data;
        l.dir[d].dw = (T *)c->out[2 * d + 1].data;
    }
    return l;
}

/* Tiles of `samples` by `units`. */
static inline int64_t tiles_of(const ct_desc *cell, int64_t samples, int64_t units)
{
    return (cell->dim[2] + samples - 1) / samples * ((cell->dim[3] + units - 1) / units);
}

#endif
