/* The recurrence of LSTM layers (ref/sequence.c has the formulas).
 *
 * One launch for each step and both directions: steps depend on each other, everything within one does not. In a captured step the launches
 * cost what a node of the graph costs. Sums are f32 in an order fixed by the shape; what goes from step to step does so in f32, whatever is
 * stored. Two ways through a step, chosen by the shape alone (a third, on matrix units, is sequence_lstm_mma.cu's):
 *
 * wide: many samples. A thread has 4x4 sums of a tile of the product, whose factors come through shared memory as f32, the next part of them on
 * its way in registers meanwhile. Forward the four columns of a thread are the gates of one unit, so that nothing is exchanged before the unit is
 * computed. Backward four groups of threads share the products of a tile, whose sum is longer.
 *
 * slim: few samples, for which the weights are all that is read. Forward a warp has one unit, its lanes take turns along the sum. Backward lanes
 * have a unit each and the warps take turns along the sum. */
#include "backends/cuda/sequence_lstm.cuh"

/* ---- a tile of a factor on its way from memory to shared memory ---- */

/* ROWS x COLS elements, V at a time, a share of them in this thread's registers. TURN: the tile is [COLS][ROWS], else [ROWS][COLS]. */
template <typename E, int V, int ROWS, int COLS, bool TURN> struct panel {
    static const int COUNT = ROWS * COLS / V / CT_THREADS, WIDTH = TURN ? ROWS : COLS;
    static_assert(COUNT * V * CT_THREADS == ROWS * COLS, "a panel is shared out evenly");
    ct_pack<E, V> part[COUNT];

    __device__ static inline int row_of(int i) { return TURN ? i % ROWS : i / (COLS / V); }
    __device__ static inline int column_of(int i) { return (TURN ? i / ROWS : i % (COLS / V)) * V; }

    /* at(row, column): where V elements are; NULL for zeros. */
    template <typename AT> __device__ inline void fetch(AT at)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int e = (int)threadIdx.x + i * CT_THREADS;
            const E *p = at(row_of(e), column_of(e));
            ct_pack<E, V> none = {};
            part[i] = p ? ct_fetch<E, V>(p) : none;
        }
    }
    __device__ inline void store(float (*tile)[WIDTH]) const
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int e = (int)threadIdx.x + i * CT_THREADS, row = row_of(e), column = column_of(e);
#pragma unroll
            for (int k = 0; k < V; k++) {
                if (TURN) tile[column + k][row] = ct_get(part[i].e[k]);
                else tile[row][column + k] = ct_get(part[i].e[k]);
            }
        }
    }
};

/* sum[i][j] += a[k][i] * b[k][j] over k = 0..N-1, of rows of A and B numbers. */
template <int N, int A, int B> __device__ static inline void multiply(const float (*a)[A], const float (*b)[B], int i0, int j0, float sum[4][4])
{
#pragma unroll 8
    for (int k = 0; k < N; k++) {
        float x[4], w[4];
        ct_get_n<float, 4>(&a[k][i0], x);
        ct_get_n<float, 4>(&b[k][j0], w);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) sum[i][j] += x[i] * w[j];
    }
}

template <typename T>
__device__ static inline void one_backward(const layer<T> &l, const direction<T> &d, int dir, int64_t n, int64_t u, int64_t s, float dh)
{
    const int64_t t = time_of(l, dir, n, s);
    units_backward<T, 1>(l, d, n, u, s, t, fetch_kept<T, 1>(l, d, dir, n, u, s, t), &dh);
}

/* ---- wide ---- */

enum { SAMPLES = 64, UNITS = 16, DEPTH = 32 }; /* forward: a tile of 64 samples by 4 gates of 16 units */

/* V: elements of a load of w; loads of h are 4 or 1. */
template <typename T, int V> __global__ void lstm_step(layer<T> l, int64_t s)
{
    alignas(16) __shared__ float h_tile[2][DEPTH][SAMPLES];
    alignas(16) __shared__ float w_tile[2][DEPTH][4 * UNITS];
    const int VH = V == 1 ? 1 : 4, dir = (int)blockIdx.y, tid = (int)threadIdx.x, row = tid / UNITS * 4, column = tid % UNITS;
    const direction<T> d = l.dir[dir];
    const int64_t tiles = (l.h + UNITS - 1) / UNITS, n0 = (int64_t)blockIdx.x / tiles * SAMPLES, u0 = (int64_t)blockIdx.x % tiles * UNITS;
    const int64_t u = u0 + column;
    const float *h = d.h + (s + 1) % 2 * l.n * l.h; /* of the step before */
    panel<float, VH, SAMPLES, DEPTH, true> hs;
    panel<T, V, 4 * UNITS, DEPTH, true> ws;
    float sum[4][4] = {};
    int64_t t[4], before[4];
    /* Rows of the tile of w: the gates of unit 0, of unit 1, ... */
    auto fetch = [&](int64_t k0) {
        hs.fetch([&](int r, int k) { return n0 + r < l.n && k0 + k < l.h ? h + (n0 + r) * l.h + k0 + k : (const float *)NULL; });
        ws.fetch([&](int r, int k) {
            return u0 + r / 4 < l.h && k0 + k < l.h ? d.w + (r % 4 * l.h + u0 + r / 4) * l.h + k0 + k : (const T *)NULL;
        });
    };
    if (s > 0) fetch(0);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        t[i] = time_of(l, dir, n0 + row + i, s);
        before[i] = time_of(l, dir, n0 + row + i, s - 1);
#pragma unroll
        for (int g = 0; g < 4; g++)
            if (t[i] >= 0 && u < l.h) sum[i][g] = outside(l, d, t[i], n0 + row + i, g, u);
    }
    int at = 0;
    for (int64_t k0 = 0; s > 0 && k0 < l.h; k0 += DEPTH, at ^= 1) {
        hs.store(h_tile[at]);
        ws.store(w_tile[at]);
        __syncthreads(); /* nobody is still at what was stored there two tiles ago */
        if (k0 + DEPTH < l.h) fetch(k0 + DEPTH);
        multiply<DEPTH>(h_tile[at], w_tile[at], row, 4 * column, sum);
    }
    for (int i = 0; i < 4; i++) {
        const ct_lstm_gates_f32 a = { sum[i][0], sum[i][1], sum[i][2], sum[i][3] };
        if (n0 + row + i >= l.n || u >= l.h) continue;
        float c[1];
        cell_before<T, 1>(l, d, n0 + row + i, u, before[i], c);
        units_forward<T, 1>(l, d, n0 + row + i, u, s, t[i], c, &a);
    }
}

enum { BACK = 32, BACK_DEPTH = 64, BACK_GROUPS = 4 }; /* backward: a tile of 32 samples by 32 units */

template <typename T, int V> __global__ void lstm_step_bwd(layer<T> l, int64_t s)
{
    alignas(16) __shared__ float g_tile[2][BACK_DEPTH][BACK];
    alignas(16) __shared__ float w_tile[2][BACK_DEPTH][BACK];
    const int VG = V == 1 ? 1 : 4, dir = (int)blockIdx.y, tid = (int)threadIdx.x;
    const int group = tid / (CT_THREADS / BACK_GROUPS), in_group = tid % (CT_THREADS / BACK_GROUPS), row = in_group / 8 * 4, column = in_group % 8 * 4;
    const direction<T> d = l.dir[dir];
    const int64_t tiles = (l.h + BACK - 1) / BACK, n0 = (int64_t)blockIdx.x / tiles * BACK, u0 = (int64_t)blockIdx.x % tiles * BACK;
    const int64_t rows = 4 * l.h, share = BACK_DEPTH / BACK_GROUPS;
    panel<float, VG, BACK, BACK_DEPTH, true> gs;
    panel<T, V, BACK_DEPTH, BACK, false> ws;
    float sum[4][4] = {};
    auto fetch = [&](int64_t k0) {
        gs.fetch([&](int r, int k) {
            const int64_t q = k0 + k < rows ? time_of(l, dir, n0 + r, s + 1) : -1;
            return q >= 0 ? d.da + (q * l.n + n0 + r) * rows + k0 + k : (const float *)NULL;
        });
        ws.fetch([&](int k, int r) { return k0 + k < rows && u0 + r < l.h ? d.w + (k0 + k) * l.h + u0 + r : (const T *)NULL; });
    };
    const bool any = s + 1 < l.steps;
    int at = 0;
    if (any) fetch(0);
    for (int64_t k0 = 0; any && k0 < rows; k0 += BACK_DEPTH, at ^= 1) {
        gs.store(g_tile[at]);
        ws.store(w_tile[at]);
        __syncthreads();
        if (k0 + BACK_DEPTH < rows) fetch(k0 + BACK_DEPTH);
        multiply<BACK_DEPTH / BACK_GROUPS>(g_tile[at] + group * share, w_tile[at] + group * share, row, column, sum);
    }
    /* The groups' shares of a sum, in their order; the tiles are not needed any more. */
    float(*room)[BACK][BACK] = reinterpret_cast<float(*)[BACK][BACK]>(&g_tile[0][0][0]); /* [BACK_GROUPS], as large as both tiles of g */
    static_assert(BACK_GROUPS * BACK <= 2 * BACK_DEPTH, "the groups' sums fit where the tiles were");
    __syncthreads();
    for (int i = 0; i < 4; i++) ct_put_n<float, 4>(&room[group][row + i][column], sum[i]);
    __syncthreads();
    for (int e = tid; e < BACK * BACK; e += CT_THREADS) {
        const int r = e / BACK, c = e % BACK;
        float dh = 0;
        for (int g = 0; g < BACK_GROUPS; g++) dh += room[g][r][c];
        if (n0 + r < l.n && u0 + c < l.h) one_backward(l, d, dir, n0 + r, u0 + c, s, dh);
    }
}

/* ---- slim ---- */

enum { WARPS = CT_THREADS / 32, CHUNK = 512, SLIM_AHEAD = 8 };

/* Lane i gets the sum over the warp of each lane's v[i]; v is spent. Halves of what is left are exchanged, so that 31 additions do. */
template <int HALF> struct across {
    __device__ static inline float sum(float v[2 * HALF])
    {
        const bool upper = ((int)threadIdx.x & HALF) != 0;
#pragma unroll
        for (int i = 0; i < HALF; i++) {
            const float give = upper ? v[i] : v[i + HALF], keep = upper ? v[i + HALF] : v[i];
            v[i] = keep + __shfl_xor_sync(0xffffffffu, give, HALF);
        }
        return across<HALF / 2>::sum(v);
    }
};
template <> struct across<0> {
    __device__ static inline float sum(const float *v) { return v[0]; }
};

template <typename T, int V> __global__ void lstm_step_slim(layer<T> l, int64_t s)
{
    alignas(16) __shared__ float h_part[FEW][CHUNK];
    const int dir = (int)blockIdx.y, tid = (int)threadIdx.x, lane = tid % 32;
    const direction<T> d = l.dir[dir];
    const int64_t tiles = (l.h + WARPS - 1) / WARPS, n0 = (int64_t)blockIdx.x / tiles * FEW, u = (int64_t)blockIdx.x % tiles * WARPS + tid / 32;
    const float *h = d.h + (s + 1) % 2 * l.n * l.h;
    float sum[32] = {}; /* [gate][sample] */
    for (int64_t k0 = 0; s > 0 && k0 < l.h; k0 += CHUNK) {
        for (int e = tid; e < FEW * CHUNK; e += CT_THREADS) {
            const int r = e / CHUNK, k = e % CHUNK;
            h_part[r][k] = n0 + r < l.n && k0 + k < l.h ? h[(n0 + r) * l.h + k0 + k] : 0;
        }
        __syncthreads();
        if (u < l.h) {
#pragma unroll 2
            for (int k = lane * V; k < CHUNK; k += 32 * V) {
                float w[4][V];
#pragma unroll
                for (int g = 0; g < 4; g++) {
                    ct_pack<T, V> none = {};
                    const ct_pack<T, V> p = k0 + k < l.h ? ct_fetch<T, V>(d.w + (g * l.h + u) * l.h + k0 + k) : none;
#pragma unroll
                    for (int i = 0; i < V; i++) w[g][i] = ct_get(p.e[i]);
                }
#pragma unroll
                for (int r = 0; r < FEW; r++) {
                    float x[V];
                    ct_get_n<float, V>(&h_part[r][k], x);
#pragma unroll
                    for (int g = 0; g < 4; g++)
#pragma unroll
                        for (int i = 0; i < V; i++) sum[g * FEW + r] += w[g][i] * x[i];
                }
            }
        }
        __syncthreads();
    }
    const float mine = across<16>::sum(sum); /* lane = gate * FEW + sample */
    ct_lstm_gates_f32 a;
    a.i = __shfl_sync(0xffffffffu, mine, lane % FEW);
    a.f = __shfl_sync(0xffffffffu, mine, lane % FEW + FEW);
    a.g = __shfl_sync(0xffffffffu, mine, lane % FEW + 2 * FEW);
    a.o = __shfl_sync(0xffffffffu, mine, lane % FEW + 3 * FEW);
    const int64_t n = n0 + lane;
    if (lane >= FEW || n >= l.n || u >= l.h) return;
    const int64_t t = time_of(l, dir, n, s), before = time_of(l, dir, n, s - 1);
    if (t >= 0) {
        a.i += outside(l, d, t, n, 0, u);
        a.f += outside(l, d, t, n, 1, u);
        a.g += outside(l, d, t, n, 2, u);
        a.o += outside(l, d, t, n, 3, u);
    }
    float c[1];
    cell_before<T, 1>(l, d, n, u, before, c);
    units_forward<T, 1>(l, d, n, u, s, t, c, &a);
}

template <typename T> __global__ void lstm_step_bwd_slim(layer<T> l, int64_t s)
{
    alignas(16) __shared__ float g_part[WARPS][32][FEW];
    __shared__ float room[WARPS][FEW][32];
    const int dir = (int)blockIdx.y, tid = (int)threadIdx.x, lane = tid % 32, warp = tid / 32;
    const direction<T> d = l.dir[dir];
    const int64_t tiles = (l.h + 31) / 32, n0 = (int64_t)blockIdx.x / tiles * FEW, u = (int64_t)blockIdx.x % tiles * 32 + lane, rows = 4 * l.h;
    float sum[FEW] = {};
    for (int64_t k0 = 32 * warp; s + 1 < l.steps && k0 < rows; k0 += 32 * WARPS) {
        float part[FEW];
#pragma unroll
        for (int r = 0; r < FEW; r++) {
            const int64_t q = k0 + lane < rows ? time_of(l, dir, n0 + r, s + 1) : -1;
            part[r] = q >= 0 ? d.da[(q * l.n + n0 + r) * rows + k0 + lane] : 0;
        }
        __syncwarp();
        ct_put_n<float, 4>(&g_part[warp][lane][0], part);
        ct_put_n<float, 4>(&g_part[warp][lane][4], part + 4);
        __syncwarp();
        for (int k = 0; k < 32; k += SLIM_AHEAD) {
            float w[SLIM_AHEAD];
#pragma unroll
            for (int i = 0; i < SLIM_AHEAD; i++) w[i] = u < l.h && k0 + k + i < rows ? ct_get(d.w[(k0 + k + i) * l.h + u]) : 0;
#pragma unroll
            for (int i = 0; i < SLIM_AHEAD; i++) {
                float g[FEW];
                ct_get_n<float, 4>(&g_part[warp][k + i][0], g);
                ct_get_n<float, 4>(&g_part[warp][k + i][4], g + 4);
#pragma unroll
                for (int r = 0; r < FEW; r++) sum[r] += g[r] * w[i];
            }
        }
    }
#pragma unroll
    for (int r = 0; r < FEW; r++) room[warp][r][lane] = sum[r];
    __syncthreads();
    float dh = 0; /* of sample `warp` */
    for (int p = 0; p < WARPS; p++) dh += room[p][warp][lane];
    static_assert(WARPS == FEW, "a warp ends a sample");
    if (n0 + warp < l.n && u < l.h) one_backward(l, d, dir, n0 + warp, u, s, dh);
}

/* ---- gradient of the recurrent weights ---- */

enum { TILE = 64 };

/* dw_hh [4H,H] = sum over t and n of da[t,n,k]*y[step before,n,j]: a tile of TILE by TILE, of a part of the rows (t,n) from blockIdx.y on. to: the
 * parts' sums [parts][4H][H]; NULL where there is only one. */
template <typename T, int V> __global__ void lstm_weights(layer<T> l, int dir, int64_t part_rows, float *to)
{
    alignas(16) __shared__ float a_tile[2][DEPTH][TILE];
    alignas(16) __shared__ float y_tile[2][DEPTH][TILE];
    const int VA = V == 1 ? 1 : 4, tid = (int)threadIdx.x, row = tid / 16 * 4, column = tid % 16 * 4;
    const direction<T> d = l.dir[dir];
    const int64_t rows = 4 * l.h, tiles = (l.h + TILE - 1) / TILE;
    const int64_t r0 = (int64_t)blockIdx.x / tiles * TILE, u0 = (int64_t)blockIdx.x % tiles * TILE, first = (int64_t)blockIdx.y * part_rows;
    const int64_t last = first + part_rows < l.steps * l.n ? first + part_rows : l.steps * l.n;
    panel<float, VA, DEPTH, TILE, false> as;
    panel<T, V, DEPTH, TILE, false> ys;
    float sum[4][4] = {};
    auto before = [&](int64_t m) -> int64_t { /* of (t,n) number m the time of the step before; -1: none */
        if (m >= last) return -1;
        const int64_t t = m / l.n, n = m % l.n, len = l.len ? l.len[n] : l.steps;
        return t >= len ? -1 : !dir ? t - 1 : t + 1 < len ? t + 1 : -1;
    };
    auto fetch = [&](int64_t m0) {
        as.fetch([&](int m, int k) { return r0 + k < rows && before(m0 + m) >= 0 ? d.da + (m0 + m) * rows + r0 + k : (const float *)NULL; });
        ys.fetch([&](int m, int k) {
            const int64_t q = u0 + k < l.h ? before(m0 + m) : -1;
            return q >= 0 ? l.y + (q * l.n + (m0 + m) % l.n) * l.width + d.first + u0 + k : (const T *)NULL;
        });
    };
    int at = 0;
    if (first < last) fetch(first);
    for (int64_t m0 = first; m0 < last; m0 += DEPTH, at ^= 1) {
        as.store(a_tile[at]);
        ys.store(y_tile[at]);
        __syncthreads();
        if (m0 + DEPTH < last) fetch(m0 + DEPTH);
        multiply<DEPTH>(a_tile[at], y_tile[at], row, column, sum);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int64_t r = r0 + row + i, u = u0 + column + j;
            if (r >= rows || u >= l.h) continue;
            if (to) to[((int64_t)blockIdx.y * rows + r) * l.h + u] = sum[i][j];
            else ct_put(d.dw + r * l.h + u, sum[i][j]);
        }
}

/* ---- calls ---- */

/* How an LSTM is cut. */
struct cut {
    bool slim;
    int64_t parts, part_rows; /* of the rows (t,n), for the weights' gradient */
};
static cut cut_of(const ct_desc *cell)
{
    const int64_t total = cell->dim[1] * cell->dim[2], h = cell->dim[3];
    const int64_t tiles = (4 * h + TILE - 1) / TILE * ((h + TILE - 1) / TILE);
    int64_t parts = (256 + tiles - 1) / tiles, most = (total + 8 * DEPTH - 1) / (8 * DEPTH);
    if (parts > most) parts = most;
    cut c;
    c.slim = cell->dim[2] <= 2 * FEW;
    c.part_rows = ((total + parts - 1) / parts + DEPTH - 1) / DEPTH * DEPTH;
    c.parts = (total + c.part_rows - 1) / c.part_rows;
    return c;
}

/* Vectors where rows of H begin at multiples of 16 bytes whatever the type. */
static bool vectors(const ct_desc *cell) { return cell->dim[3] % 8 == 0; }

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

static ct_status lstm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_desc *cell = &c->out[2].desc;
    const int64_t directions = cell->dim[0];
    const bool slim = cut_of(cell).slim, vector = vectors(cell);
    const int64_t blocks = slim ? tiles_of(cell, FEW, WARPS) : tiles_of(cell, SAMPLES, UNITS);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        layer<T> l = layer_forward<T>(c);
        for (int64_t d = 0; d < directions; d++) l.dir[d].h = (float *)scratch + d * 2 * l.n * l.h;
        auto k = slim ? vector ? &lstm_step_slim<T, 4> : &lstm_step_slim<T, 1> : vector ? &lstm_step<T, ct_width<T>::value> : &lstm_step<T, 1>;
        for (int64_t step = 0; step < l.steps; step++) CT_LAUNCH(k, CT_GRID2(blocks, directions), CT_THREADS, s, l, step);
    })
    CT_LAUNCHED("lstm");
}

/* Scratch of the backward pass, in floats: dc of each direction; da where dxg is not f32; the parts' sums for the weights of one direction. */
struct back_room { int64_t dc, da, parts; };
static back_room room_of(const ct_call *c)
{
    const ct_desc *cell = &c->in[3].desc;
    const cut k = cut_of(cell);
    back_room r;
    r.dc = cell->dim[0] * cell->dim[2] * cell->dim[3];
    r.da = c->in[0].desc.dtype == CT_F32 ? 0 : 4 * r.dc * cell->dim[1];
    r.parts = k.parts > 1 ? k.parts * 4 * cell->dim[3] * cell->dim[3] : 0;
    r.dc = (r.dc + 3) / 4 * 4; /* what follows is read in vectors */
    return r;
}

static ct_accept lstm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const back_room r = room_of(c);
    if (cut_of(&c->in[3].desc).parts > 65535) return ct_accept_no("cuda: more steps and samples than a grid has parts for");
    return accept_lstm(&c->in[0].desc, &c->in[3].desc, (size_t)(r.dc + r.da + r.parts) * sizeof(float));
}

static ct_status lstm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_desc *cell = &c->in[3].desc;
    const int64_t directions = cell->dim[0];
    const cut k = cut_of(cell);
    const bool vector = vectors(cell);
    const back_room room = room_of(c);
    const int64_t blocks = k.slim ? tiles_of(cell, FEW, 32) : tiles_of(cell, BACK, BACK);
    float *const dc = (float *)scratch, *const da = dc + room.dc, *const parts = k.parts > 1 ? da + room.da : (float *)NULL;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        layer<T> l = layer_backward<T>(c);
        for (int64_t d = 0; d < directions; d++) {
            l.dir[d].dc = dc + d * l.n * l.h;
            l.dir[d].da = room.da ? da + 4 * d * l.steps * l.n * l.h : (float *)c->out[2 * d].data;
        }
        auto back = k.slim ? &lstm_step_bwd_slim<T> : vector ? &lstm_step_bwd<T, ct_width<T>::value> : &lstm_step_bwd<T, 1>;
        for (int64_t step = l.steps - 1; step >= 0; step--) CT_LAUNCH(back, CT_GRID2(blocks, directions), CT_THREADS, s, l, step);
        auto weights = vector ? &lstm_weights<T, ct_width<T>::value> : &lstm_weights<T, 1>;
        auto add = &lstm_weights_add<T>;
        const int64_t n = 4 * l.h * l.h, tiles = (4 * l.h + TILE - 1) / TILE * ((l.h + TILE - 1) / TILE);
        for (int d = 0; d < (int)directions; d++) {
            CT_LAUNCH(weights, CT_GRID2(tiles, k.parts), CT_THREADS, s, l, d, k.part_rows, parts);
            if (parts) CT_LAUNCH(add, CT_GRID1(ct_blocks(n)), CT_THREADS, s, (const float *)parts, (int)k.parts, n, l.dir[d].dw);
        }
    })
    CT_LAUNCHED("lstm_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_LSTM, "cuda.kernel", CT_CUDA_TUNED, lstm_accept, lstm_run },
    { CT_OP_LSTM_BWD, "cuda.kernel", CT_CUDA_TUNED, lstm_bwd_accept, lstm_bwd_run },
};
CT_CUDA_SET(sequence_lstm)
