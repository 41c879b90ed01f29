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

#endif
