/* Sums over the rows of a matrix [M,C], a column at a time: what batch norm and bias gradients stand on.
 *
 * A block of CT_THREADS threads is CT_LANES lanes by CT_TEAMS teams. A lane holds V neighbouring columns, the teams take rows in turn,
 * the grid's second dimension cuts the rows into parts. Each block leaves S sums for each of its columns in part [parts][S][C]; a
 * second small kernel adds the parts in f64. How rows are cut depends on the shape alone. */
#ifndef CT_CUDA_COLUMNS_CUH
#define CT_CUDA_COLUMNS_CUH

#include "backends/cuda/dev.cuh"

enum { CT_LANES = 32, CT_TEAMS = CT_THREADS / CT_LANES, CT_MAX_PARTS = 256, CT_LEAST_ROWS = 8 };

/* Columns a lane takes at once: a 16-byte access where the row length allows it. */
template <typename T> static inline int ct_column_vector(int64_t columns)
{
    return columns % ct_width<T>::value == 0 ? ct_width<T>::value : 1;
}
static inline int64_t ct_column_groups(int64_t columns, int v) { return (columns + CT_LANES * v - 1) / (CT_LANES * v); }

/* Parts of the rows: enough blocks for a big card, each with at least CT_LEAST_ROWS rows for each of its teams. */
static inline int64_t ct_row_parts(int64_t rows, int64_t groups)
{
    int64_t most = (rows + CT_TEAMS * CT_LEAST_ROWS - 1) / (CT_TEAMS * CT_LEAST_ROWS), wanted = 1024 / groups + 1;
    int64_t p = most < wanted ? most : wanted;
    return p < 1 ? 1 : p > CT_MAX_PARTS ? (int64_t)CT_MAX_PARTS : p;
}

/* Bytes of S sums per part and column for x [M,C]. */
static inline size_t ct_part_bytes(const ct_desc *x, int sums)
{
    int64_t columns = ct_cuda_cols(x);
    int v = x->dtype == CT_F32 ? ct_column_vector<float>(columns) : ct_column_vector<ct_b16>(columns);
    return (size_t)(ct_row_parts(ct_cuda_rows(x), ct_column_groups(columns, v)) * sums * columns) * sizeof(float);
}

/* This thread's first column, and its first row and the step to the next one. */
template <int V> __device__ static inline int64_t ct_column() { return ((int64_t)blockIdx.x * CT_LANES + threadIdx.x % CT_LANES) * V; }
#define CT_EACH_ROW(m, rows)                                                                            \
    int64_t m = (int64_t)blockIdx.y * CT_TEAMS + threadIdx.x / CT_LANES; m < (rows); m += (int64_t)gridDim.y * CT_TEAMS

/* Adds up what the teams of a block hold and writes this block's part. All threads of the block call it. */
template <int S, int V>
__device__ static inline void ct_write_part(const float sum[S][V], int64_t c0, int64_t columns, float *part)
{
    __shared__ float room[S * V][CT_TEAMS][CT_LANES + 1];
    int lane = (int)threadIdx.x % CT_LANES, team = (int)threadIdx.x / CT_LANES;
    for (int i = 0; i < S; i++)
        for (int k = 0; k < V; k++) room[i * V + k][team][lane] = sum[i][k];
    __syncthreads();
    if (team != 0 || c0 >= columns) return;
    for (int i = 0; i < S; i++)
        for (int k = 0; k < V; k++) {
            float a = 0;
            for (int t = 0; t < CT_TEAMS; t++) a += room[i * V + k][t][lane];
            part[((int64_t)blockIdx.y * S + i) * columns + c0 + k] = a;
        }
}

/* The S totals of column c, a lane each; true for the threads that hold a column's. All threads of the block call it. */
template <int S> __device__ static inline bool ct_column_totals(const float *part, int64_t parts, int64_t columns, double total[S])
{
    __shared__ double room[S][CT_TEAMS][CT_LANES];
    int lane = (int)threadIdx.x % CT_LANES, team = (int)threadIdx.x / CT_LANES;
    int64_t c = (int64_t)blockIdx.x * CT_LANES + lane;
    for (int i = 0; i < S; i++) {
        double a = 0;
        if (c < columns)
#pragma unroll 8
            for (int64_t p = team; p < parts; p += CT_TEAMS) a += (double)part[(p * S + i) * columns + c];
        room[i][team][lane] = a;
    }
    __syncthreads();
    if (team != 0 || c >= columns) return false;
    for (int i = 0; i < S; i++) {
        total[i] = 0;
        for (int t = 0; t < CT_TEAMS; t++) total[i] += room[i][t][lane];
    }
    return true;
}

/* ---- sheets: the same for whole activations ----
 *
 * Here the threads of a block are as many lanes as a row has vectors, up to 32, by teams that fill the rest of the block: rows of 32
 * channels keep all threads busy, and what a warp reads lies side by side whatever the row's length. A thread fetches CT_AHEAD rows before
 * it uses the first of them, so that enough loads are on their way to cover the memory's latency. How rows are cut depends on the shape
 * alone, and every column is summed in an order that the cut fixes.
 *
 * Sums over all rows end in the kernel that makes them, without a second one: of CT_FOLD blocks that lie one above the other the one that is
 * done last adds up what they left, and of all folds the last adds up those. Which block is the last is chance; what it adds, and in which
 * order, is not. Who is last is counted with tickets of the stream, which stand at 0 between kernels. */

enum { CT_AHEAD = 4, CT_SHEET_ROWS = 8, CT_FOLD = 32 };

/* Blocks that a sheet is cut into at most, and at most where that many would not be resident three times over: a round of blocks that few are left
 * for takes as long as a full one. Two blocks of most of these kernels fit a multiprocessor, and 132 of these is what big cards have by now; as
 * how rows are cut decides the order of sums, it is the same number on every card. */
enum { CT_SHEET_ROUND = 2 * 132, CT_SHEET_BLOCKS = 4 * CT_SHEET_ROUND };

struct ct_sheet {
    int64_t rows;
    int columns, bits; /* 1 << bits lanes */
};

/* For x [M,C], V columns to a lane: of the powers of two from 4 (or what a row has) to 32, the one that leaves fewest lanes idle. */
static inline ct_sheet ct_sheet_of(int64_t rows, int64_t columns, int v)
{
    const int64_t vectors = (columns + v - 1) / v;
    ct_sheet s = { rows, (int)columns, 0 };
    int64_t least = INT64_MAX;
    for (int bits = 5; bits >= 0; bits--) {
        const int64_t lanes = (int64_t)1 << bits, taken = (vectors + lanes - 1) / lanes * lanes;
        if (taken < least && (bits >= 2 || lanes >= vectors)) {
            least = taken;
            s.bits = bits;
        }
    }
    return s;
}
static inline int64_t ct_sheet_groups(const ct_sheet &s, int v) { return (s.columns + ((int64_t)v << s.bits) - 1) / ((int64_t)v << s.bits); }
static inline int64_t ct_sheet_parts(const ct_sheet &s, int v)
{
    const int64_t teams = CT_THREADS >> s.bits, most = (s.rows + teams * CT_SHEET_ROWS - 1) / (teams * CT_SHEET_ROWS);
    const int64_t groups = ct_sheet_groups(s, v), blocks = groups * most < 3 * CT_SHEET_ROUND ? CT_SHEET_ROUND : CT_SHEET_BLOCKS;
    const int64_t wanted = groups < blocks ? blocks / groups : 1;
    return most < 1 ? 1 : most < wanted ? most : wanted;
}
static inline int64_t ct_sheet_folds(int64_t parts) { return (parts + CT_FOLD - 1) / CT_FOLD; }
static inline size_t ct_sheet_parts_bytes(const ct_sheet &s, int v, int sums)
{
    return ct_cuda_align((size_t)(ct_sheet_parts(s, v) * sums * s.columns) * sizeof(float));
}
/* Scratch for S sums per column: of each part, and behind them of each fold. */
static inline size_t ct_sheet_bytes(const ct_sheet &s, int v, int sums)
{
    return ct_sheet_parts_bytes(s, v, sums) + (size_t)(ct_sheet_folds(ct_sheet_parts(s, v)) * sums * s.columns) * sizeof(double);
}

/* Where sums are gathered: part [parts][S][C], fold [folds][S][C], and for each group of columns a ticket for each fold and one for
 * all. Groups that share rows out to more than one part are fewer than CT_SHEET_BLOCKS, so CT_TICKETS suffice. */
struct ct_gather {
    float *part;
    double *fold;
    unsigned *tickets;
};
static inline ct_gather ct_sheet_gather(const ct_stream *stream, const ct_sheet &s, int v, int sums, void *scratch)
{
    ct_gather g = { (float *)scratch, (double *)((char *)scratch + ct_sheet_parts_bytes(s, v, sums)), stream->tickets };
    return g;
}

/* This thread's first column; it has none where that is beyond the last. */
template <int V> __device__ static inline int ct_sheet_column(const ct_sheet &s)
{
    return (int)(((blockIdx.x << s.bits) + (threadIdx.x & ((1u << s.bits) - 1))) * V);
}

/* Calls use(fetch(m), m) for this thread's rows m, rising; N fetches go ahead of their uses. */
template <int N, typename FETCH, typename USE> __device__ static inline void ct_sheet_rows(const ct_sheet &s, FETCH fetch, USE use)
{
    const int teams = CT_THREADS >> s.bits, step = teams * (int)gridDim.y;
    int64_t m = (int64_t)blockIdx.y * teams + (threadIdx.x >> s.bits);
    for (; m + (N - 1) * (int64_t)step < s.rows; m += N * (int64_t)step) {
        decltype(fetch(m)) row[N];
#pragma unroll
        for (int i = 0; i < N; i++) row[i] = fetch(m + i * (int64_t)step);
#pragma unroll
        for (int i = 0; i < N; i++) use(row[i], m + i * (int64_t)step);
    }
    for (; m < s.rows; m += step) use(fetch(m), m);
}

/* The same from the last row to the first, for sums: what the kernel before this one wrote last may still lie in the L2, and what this one reads
 * last is what the pass over the same rows that follows begins with. */
template <int N, typename FETCH, typename USE> __device__ static inline void ct_sheet_rows_back(const ct_sheet &s, FETCH fetch, USE use)
{
    const int64_t last = s.rows - 1;
    ct_sheet_rows<N>(s, [&](int64_t m) { return fetch(last - m); }, [&](const decltype(fetch(last)) &row, int64_t m) { use(row, last - m); });
}

/* Adds up what the teams of a block hold and writes this block's part. All threads of the block call it. */
template <int S, int V> __device__ static inline void ct_sheet_write(const ct_sheet &s, const float sum[S][V], float *part)
{
    __shared__ float room[S * V][CT_THREADS / 32][32];
    const int lanes = 1 << s.bits, in_warp = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < S * V; i++) {
        float a = sum[i / V][i % V];
        for (int d = 16; d >= lanes; d >>= 1) a += __shfl_xor_sync(0xffffffffu, a, d); /* teams of one warp */
        if (in_warp < lanes) room[i][warp][in_warp] = a;
    }
    __syncthreads();
    for (int e = (int)threadIdx.x; e < S * V * lanes; e += CT_THREADS) {
        const int i = e / (V * lanes), at = e % (V * lanes), c = (int)(blockIdx.x << s.bits) * V + at;
        float a = 0;
        for (int w = 0; w < CT_THREADS / 32; w++) a += room[i * V + at % V][w][at / V];
        if (c < s.columns) part[((int64_t)blockIdx.y * S + i) * s.columns + c] = a;
    }
}

/* True in the block that is the last of n to come here with this ticket; what the others wrote before is there for its threads to be read.
 * The ticket is 0 again afterwards. All threads of the block call it. */
__device__ static inline bool ct_sheet_last(unsigned *ticket, unsigned n)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(ticket, n - 1) == n - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

/* total = the sums of rows first, first + step, ... of n rows [S][C] at column c, in their order. */
template <int S, typename T>
__device__ static inline void ct_sheet_add(const T *from, int first, int step, int n, int columns, int c, double total[S])
{
#pragma unroll
    for (int i = 0; i < S; i++) total[i] = 0;
#pragma unroll 8
    for (int p = first; p < n; p += step)
#pragma unroll
        for (int i = 0; i < S; i++) total[i] += (double)from[((int64_t)p * S + i) * columns + c];
}

/* The sums of n rows [S][C] from column c0 on, of as many columns as a block has: those threads that stand for one get its total. All threads of the
 * block call it and share the rows of a column; in which order shares are added is fixed. */
template <int S, int V, typename T>
__device__ static inline void ct_sheet_total(const ct_sheet &s, const T *from, int n, int c0, double total[S])
{
    __shared__ double room[S][CT_THREADS];
    const int width = V << s.bits, tid = (int)threadIdx.x, c = c0 + tid % width;
    double share[S] = {};
    if (c < s.columns) ct_sheet_add<S>(from, tid / width, CT_THREADS / width, n, s.columns, c, share);
#pragma unroll
    for (int i = 0; i < S; i++) room[i][tid] = share[i];
    __syncthreads();
    for (int i = 0; i < S && tid < width; i++) {
        total[i] = 0;
        for (int k = tid; k < CT_THREADS; k += width) total[i] += room[i][k];
    }
    __syncthreads(); /* the room may be needed again */
}

/* Behind the rows, by all threads of the block, with zeros in `sum` where a thread has no column: writes this block's part, and in the last
 * block calls finish(c, total) for each of its columns c, with the S sums over all rows. */
template <int S, int V, typename FINISH>
__device__ static inline void ct_sheet_finish(const ct_sheet &s, const ct_gather &g, const float sum[S][V], FINISH finish)
{
    const int parts = (int)gridDim.y, folds = (parts + CT_FOLD - 1) / CT_FOLD, fold = (int)blockIdx.y / CT_FOLD;
    const int first = fold * CT_FOLD, n = parts - first < CT_FOLD ? parts - first : CT_FOLD;
    const int at = (int)(blockIdx.x << s.bits) * V + (int)threadIdx.x;
    const bool mine = (int)threadIdx.x < V << s.bits && at < s.columns;
    unsigned *ticket = g.tickets + (int64_t)blockIdx.x * (folds + 1);
    double total[S] = {};
    ct_sheet_write<S, V>(s, sum, g.part);
    if (parts == 1) {
        __syncthreads();
    } else if (!ct_sheet_last(ticket + fold, (unsigned)n)) {
        return;
    }
    ct_sheet_total<S, V>(s, g.part + (int64_t)first * S * s.columns, n, at - (int)threadIdx.x, total);
    if (folds > 1) {
        for (int i = 0; i < S && mine; i++) g.fold[((int64_t)fold * S + i) * s.columns + at] = total[i];
        if (!ct_sheet_last(ticket + folds, (unsigned)folds)) return;
        ct_sheet_total<S, V>(s, g.fold, folds, at - (int)threadIdx.x, total);
    }
    if (mine) finish(at, total);
}

#endif
