/* The recurrence of LSTM layers in bf16 with many samples: as sequence_lstm.cu has it, with its products on matrix units.
 *
 * What goes from step to step does so in f32 here, too: y, and backward dxg, are multiplied as three numbers of bf16 each, which together are all
 * of an f32: the one that is stored anyway, and two beside it for what is left. Their products with a weight are exact, so that sums differ from
 * those of f32 products in their order alone, and by how matrix units add.
 *
 * A step is bound by how long it waits: factors go from memory to registers (mma.cuh), with nothing in between that threads would have to
 * wait for together. */
#include "backends/cuda/mma.cuh"
#include "backends/cuda/sequence_lstm.cuh"

typedef ct_b16 E;

enum { PARTS = 3, SAMPLES = 64, UNITS = 16, BACK = 32, DEPTH = 32, ROWS = 64, COLUMNS = 32, WARPS = CT_THREADS / 32 };

/* Rows of a factor that has come in three parts, from where each begins. */
struct origin { const E *part[PARTS]; };

__device__ static inline origin origin_of(const E *first, const E *rest, int64_t plane)
{
    origin o = { { first, rest, rest + plane } };
    return o;
}

/* ---- forward ---- */

/* 32 units before: of two samples, and their weights in the four gates of a unit. */
struct ahead { ct_words<E, 8> x[2][PARTS], w[4]; };

/* A block has 64 samples by 16 units; a warp 16 by 8, whose four gates are four products, so that a lane ends with all gates of two units of two
 * samples. */
__global__ void __launch_bounds__(CT_THREADS) lstm_mma(layer<E> l, int64_t s)
{
    const int dir = (int)blockIdx.y, warp = (int)threadIdx.x / 32, g = (int)threadIdx.x % 32 / 4, q = (int)threadIdx.x % 4;
    const direction<E> d = l.dir[dir];
    const int64_t tiles = l.h / UNITS, n0 = (int64_t)blockIdx.x / tiles * SAMPLES + warp % 4 * 16 + g;
    const int64_t u0 = (int64_t)blockIdx.x % tiles * UNITS + warp / 4 * 8, u = u0 + 2 * q;
    int64_t t[2];
    origin x[2] = {};
    float c[2][2], sum[4][4] = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t n = n0 + 8 * i, before = time_of(l, dir, n, s - 1);
        t[i] = time_of(l, dir, n, s);
        cell_before<E, 2>(l, d, n, u, before, c[i]);
        if (t[i] < 0) continue;
        if (s > 0) x[i] = origin_of(l.y + (before * l.n + n) * l.width + d.first + 8 * q, d.rest + ((s + 1) % 2 * 2 * l.n + n) * l.h + 8 * q, l.n * l.h);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float bias[2] = {};
            ct_get_n<E, 2>(d.xg + (t[i] * l.n + n) * 4 * l.h + k * l.h + u, sum[k] + 2 * i);
            if (d.b) ct_get_n<E, 2>(d.b + k * l.h + u, bias);
            sum[k][2 * i] += bias[0];
            sum[k][2 * i + 1] += bias[1];
        }
    }
    const E *w = d.w + (u0 + g) * l.h + 8 * q;
    ct_pipeline<ahead, 3, DEPTH>(s > 0 ? l.h : 0,
        [&](ahead &a, int64_t k) {
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int p = 0; p < PARTS; p++) a.x[i][p] = ct_fetch_words<8>(x[i].part[p] ? x[i].part[p] + k : (const E *)NULL);
#pragma unroll
            for (int i = 0; i < 4; i++) a.w[i] = ct_fetch_words<8>(w + i * l.h * l.h + k);
        },
        [&](const ahead &a) {
#pragma unroll
            for (int j = 0; j < 4; j += 2)
#pragma unroll
                for (int p = 0; p < PARTS; p++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        ct_mma(sum[i], a.x[0][p].w[j], a.x[1][p].w[j], a.x[0][p].w[j + 1], a.x[1][p].w[j + 1], a.w[i].w[j], a.w[i].w[j + 1]);
        });
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t n = n0 + 8 * i;
        const ct_lstm_gates_f32 a[2] = { { sum[0][2 * i], sum[1][2 * i], sum[2][2 * i], sum[3][2 * i] },
                                         { sum[0][2 * i + 1], sum[1][2 * i + 1], sum[2][2 * i + 1], sum[3][2 * i + 1] } };
        if (n < l.n) units_forward<E, 2>(l, d, n, u, s, t[i], c[i], a);
    }
}

/* ---- backward ---- */

/* 32 rows of the weights by the four units of a lane in each of 8 columns, and the gradients of two samples that belong to them. */
struct behind { ct_words<E, 8> x[2][PARTS]; ct_words<E, 4> w[8]; };

/* A block has 32 samples by 32 units; a warp 16 by 32 of them, of one gate, and the gates' sums are added at the end. Products of columns 0 to 7
 * are units 4g + i, for i = 0..3: so a lane ends with the units 8q..8q+7 of two samples. */
__global__ void __launch_bounds__(CT_THREADS) lstm_mma_bwd(layer<E> l, int64_t s)
{
    alignas(16) __shared__ float room[4][BACK][BACK];
    const int dir = (int)blockIdx.y, tid = (int)threadIdx.x, warp = tid / 32, g = tid % 32 / 4, q = tid % 4, gate = warp / 2, r0 = warp % 2 * 16 + g;
    const direction<E> d = l.dir[dir];
    const int64_t tiles = l.h / BACK, n0 = (int64_t)blockIdx.x / tiles * BACK, u0 = (int64_t)blockIdx.x % tiles * BACK, rows = 4 * l.h;
    /* What this thread ends with: four units of one sample. */
    const int64_t n = n0 + tid / 8, u = u0 + tid % 8 * 4, t = time_of(l, dir, n, s);
    const kept<4> k = fetch_kept<E, 4>(l, d, dir, n, u, s, t);
    origin x[2] = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t m = n0 + r0 + 8 * i, next = time_of(l, dir, m, s + 1), at = (next * l.n + m) * rows + gate * l.h + 8 * q;
        if (next >= 0) x[i] = origin_of(d.dxg + at, d.rest + at, l.steps * l.n * rows);
    }
    const E *w = d.w + (gate * l.h + 8 * q) * l.h + u0 + 4 * g;
    float sum[4][4] = {};
    ct_pipeline<behind, 2, DEPTH>(s + 1 < l.steps ? l.h : 0,
        [&](behind &b, int64_t row) {
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int p = 0; p < PARTS; p++) b.x[i][p] = ct_fetch_words<8>(x[i].part[p] ? x[i].part[p] + row : (const E *)NULL);
#pragma unroll
            for (int i = 0; i < 8; i++) b.w[i] = ct_fetch_words<4>(w + (row + i) * l.h);
        },
        [&](const behind &b) {
#pragma unroll
            for (int j = 0; j < 4; j += 2)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const uint32_t b0 = ct_pair(b.w[2 * j], b.w[2 * j + 1], i), b1 = ct_pair(b.w[2 * j + 2], b.w[2 * j + 3], i);
#pragma unroll
                    for (int p = 0; p < PARTS; p++)
                        ct_mma(sum[i], b.x[0][p].w[j], b.x[1][p].w[j], b.x[0][p].w[j + 1], b.x[1][p].w[j + 1], b0, b1);
                }
        });
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float four[4] = { sum[0][i], sum[1][i], sum[2][i], sum[3][i] };
        ct_put_n<float, 4>(&room[gate][r0 + i / 2 * 8][8 * q + i % 2 * 4], four);
    }
    __syncthreads();
    float dh[4] = {};
#pragma unroll
    for (int p = 0; p < 4; p++) {
        float four[4];
        ct_get_n<float, 4>(&room[p][tid / 8][tid % 8 * 4], four);
#pragma unroll
        for (int i = 0; i < 4; i++) dh[i] += four[i];
    }
    if (n < l.n) units_backward<E, 4>(l, d, n, u, s, t, k, dh);
}

/* ---- gradient of the recurrent weights ---- */

/* 16 rows (t,n), of which four are a lane's: of dxg 8 of 64 columns, of y 4 of 32. */
struct both { ct_words<E, 8> a[PARTS][4]; ct_words<E, 4> y[4]; };

/* dw_hh [4H,H] = sum over t and n of dxg[t,n,k] y[step before,n,j]. Both are 0 where a sample has ended, so that the step before is N rows away
 * for all of them. A warp has 64 rows of dw by 32 columns, of the rows (t,n) from blockIdx.y on; to: as of lstm_weights. */
__global__ void __launch_bounds__(CT_THREADS) lstm_mma_weights(layer<E> l, int dir, int64_t part_rows, float *to)
{
    const int g = (int)threadIdx.x % 32 / 4, q = (int)threadIdx.x % 4;
    const direction<E> d = l.dir[dir];
    const int64_t rows = 4 * l.h, across = l.h / COLUMNS, tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (tile >= rows / ROWS * across) return;
    const int64_t r = tile / across * ROWS + 8 * g, u0 = tile % across * COLUMNS, total = l.steps * l.n, first = (int64_t)blockIdx.y * part_rows;
    const int64_t last = first + part_rows < total ? first + part_rows : total, plane = total * rows;
    float sum[4][4][4] = {}; /* [two rows of dw][column of y's four][] */
    ct_pipeline<both, 1, 16>(last - first,
        [&](both &b, int64_t m0) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int64_t m = first + m0 + 2 * q + i % 2 + i / 2 * 8, before = dir ? m + l.n : m - l.n;
                const bool is = m < last && before >= 0 && before < total;
                const E *a = d.dxg + m * rows + r, *rest = d.rest + m * rows + r;
                b.a[0][i] = ct_fetch_words<8>(is ? a : (const E *)NULL);
                b.a[1][i] = ct_fetch_words<8>(is ? rest : (const E *)NULL);
                b.a[2][i] = ct_fetch_words<8>(is ? rest + plane : (const E *)NULL);
                b.y[i] = ct_fetch_words<4>(is ? l.y + before * l.width + d.first + u0 + 4 * g : (const E *)NULL);
            }
        },
        [&](const both &b) {
            uint32_t y[4][2];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                y[j][0] = ct_pair(b.y[0], b.y[1], j);
                y[j][1] = ct_pair(b.y[2], b.y[3], j);
            }
#pragma unroll
            for (int p = 0; p < PARTS; p++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const uint32_t a0 = ct_pair(b.a[p][0], b.a[p][1], 2 * i), a1 = ct_pair(b.a[p][0], b.a[p][1], 2 * i + 1);
                    const uint32_t a2 = ct_pair(b.a[p][2], b.a[p][3], 2 * i), a3 = ct_pair(b.a[p][2], b.a[p][3], 2 * i + 1);
#pragma unroll
                    for (int j = 0; j < 4; j++) ct_mma(sum[i][j], a0, a1, a2, a3, y[j][0], y[j][1]);
                }
        });
#pragma unroll
    for (int i = 0; i < 8; i++) { /* row r+i of dw, whose columns 8q..8q+7 are here */
        float eight[8];
#pragma unroll
        for (int j = 0; j < 8; j++) eight[j] = sum[i / 2][j % 4][i % 2 * 2 + j / 4];
        const int64_t at = (r + i) * l.h + u0 + 8 * q;
        if (to) {
            ct_put_n<float, 4>(to + (int64_t)blockIdx.y * rows * l.h + at, eight);
            ct_put_n<float, 4>(to + (int64_t)blockIdx.y * rows * l.h + at + 4, eight + 4);
        } else {
            ct_put_n<E, 8>(d.dw + at, eight);
        }
    }
}

/* ---- calls ---- */

/* How the rows (t,n) are cut for the weights' gradient: as many blocks as a large card has multiprocessors. */
struct cut { int64_t blocks, parts, part_rows; };
static cut cut_of(const ct_desc *cell)
{
    const int64_t total = cell->dim[1] * cell->dim[2], h = cell->dim[3], tiles = 4 * h / ROWS * (h / COLUMNS);
    cut c;
    c.blocks = (tiles + WARPS - 1) / WARPS;
    int64_t parts = (128 + c.blocks - 1) / c.blocks, most = (total + 255) / 256;
    if (parts > most) parts = most;
    c.part_rows = ((total + parts - 1) / parts + 15) / 16 * 16;
    c.parts = (total + c.part_rows - 1) / c.part_rows;
    return c;
}

static ct_accept accept_mma(const ct_device *dev, const ct_desc *type, const ct_desc *cell, size_t scratch)
{
    if (type->dtype != CT_BF16) return ct_accept_no("cuda: matrix units multiply bf16 here");
    if (dev->major < 8) return ct_accept_no("cuda: matrix units for bf16 need compute capability 8.0, which this card has not");
    if (cell->dtype != CT_F32) return ct_accept_no("cuda: the cell is not f32");
    if (cell->dim[2] <= 2 * FEW) return ct_accept_no("cuda: few samples, for which the weights are all that is read");
    if (cell->dim[3] % DEPTH != 0) return ct_accept_no("cuda: units are no multiple of 32");
    return ct_accept_yes(scratch);
}

static ct_accept lstm_accept(const ct_device *dev, const ct_call *c)
{
    const ct_desc *cell = &c->out[2].desc;
    return accept_mma(dev, &c->in[0].desc, cell, (size_t)(cell->dim[0] * 4 * cell->dim[2] * cell->dim[3]) * sizeof(E));
}

static ct_status lstm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_desc *cell = &c->out[2].desc;
    layer<E> l = layer_forward<E>(c);
    for (int64_t d = 0; d < cell->dim[0]; d++) l.dir[d].rest = (E *)scratch + d * 4 * l.n * l.h;
    for (int64_t step = 0; step < l.steps; step++)
        CT_LAUNCH(&lstm_mma, CT_GRID2(tiles_of(cell, SAMPLES, UNITS), cell->dim[0]), CT_THREADS, s, l, step);
    CT_LAUNCHED("lstm");
}

/* Scratch of the backward pass, in bytes: dc of each direction; what is left of dxg; the parts' sums for the weights of one direction. */
struct back_room { size_t dc, rest, parts; };
static back_room room_of(const ct_desc *cell)
{
    const cut k = cut_of(cell);
    const int64_t units = cell->dim[0] * cell->dim[2] * cell->dim[3];
    back_room r;
    r.dc = ct_cuda_align((size_t)units * sizeof(float));
    r.rest = ct_cuda_align((size_t)(units * cell->dim[1] * 4 * 2) * sizeof(E));
    r.parts = k.parts > 1 ? (size_t)(k.parts * 4 * cell->dim[3] * cell->dim[3]) * sizeof(float) : 0;
    return r;
}

static ct_accept lstm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const ct_desc *cell = &c->in[3].desc;
    if (cell->dim[3] % DEPTH != 0) return accept_mma(dev, &c->in[0].desc, cell, 0); /* there is nothing to cut */
    const back_room r = room_of(cell);
    return accept_mma(dev, &c->in[0].desc, cell, r.dc + r.rest + r.parts);
}

static ct_status lstm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_desc *cell = &c->in[3].desc;
    const cut k = cut_of(cell);
    const back_room room = room_of(cell);
    layer<E> l = layer_backward<E>(c);
    char *const at = (char *)scratch;
    float *const parts = k.parts > 1 ? (float *)(at + room.dc + room.rest) : (float *)NULL;
    for (int64_t d = 0; d < cell->dim[0]; d++) {
        l.dir[d].dc = (float *)at + d * l.n * l.h;
        l.dir[d].rest = (E *)(at + room.dc) + d * 2 * l.steps * l.n * 4 * l.h;
    }
    for (int64_t step = l.steps - 1; step >= 0; step--)
        CT_LAUNCH(&lstm_mma_bwd, CT_GRID2(tiles_of(cell, BACK, BACK), cell->dim[0]), CT_THREADS, s, l, step);
    const int64_t n = 4 * l.h * l.h;
    for (int d = 0; d < (int)cell->dim[0]; d++) {
        CT_LAUNCH(&lstm_mma_weights, CT_GRID2(k.blocks, k.parts), CT_THREADS, s, l, d, k.part_rows, parts);
        if (parts) CT_LAUNCH(&lstm_weights_add<E>, CT_GRID1(ct_blocks(n)), CT_THREADS, s, (const float *)parts, (int)k.parts, n, l.dir[d].dw);
    }
    CT_LAUNCHED("lstm_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_LSTM, "cuda.mma", CT_CUDA_TUNED, lstm_accept, lstm_run },
    { CT_OP_LSTM_BWD, "cuda.mma", CT_CUDA_TUNED, lstm_bwd_accept, lstm_bwd_run },
};
CT_CUDA_SET(sequence_lstm_mma)
