/* heat_rows and its gradient, f32 and f64 (ops/math/heatmap_math.h has the formulas): a warp to a row of cells, then to
 * a distribution over the rows. All of it is f64, and no sum depends on the number of blocks. */
#include "backends/cuda/heatmap.cuh"

struct rows_size { int64_t samples, h, w; };

static rows_size rows_of(const ct_call *c)
{
    const int64_t *d = c->in[0].desc.dim;
    return rows_size{ d[0], d[1], d[2] };
}

/* mean [N,2,h] of p over the rows of cells of both maps */
template <typename T> __global__ void row_means(const T *logits, rows_size z, double *mean)
{
    const int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, z.samples * z.h)) {
        double a = 0, b = 0;
        for (int64_t x = lane; x < z.w; x += 32) {
            a += ct_heat_cell_at((double)logits[2 * (i * z.w + x)]).p;
            b += ct_heat_cell_at((double)logits[2 * (i * z.w + x) + 1]).p;
        }
        a = ct_warp_sum(a);
        b = ct_warp_sum(b);
        double *to = mean + i / z.h * 2 * z.h + i % z.h;
        if (lane == 0) to[0] = a / (double)z.w;
        if (lane == 0) to[z.h] = b / (double)z.w;
    }
}

/* Row of point i, counted through samples and maps; -1: none. */
template <typename T>
__device__ static inline int64_t row_of(const T *points, int64_t i, const ct_heat_attrs &a, int64_t h)
{
    return ct_heat_row((double)points[2 * i], (double)points[2 * i + 1], a.stride, h);
}

__device__ static inline double warp_top(double v)
{
    for (int d = 16; d > 0; d >>= 1) {
        const double o = __shfl_xor_sync(0xffffffffu, v, d);
        v = o > v ? o : v;
    }
    return v;
}

/* ct_heat_rows() of each map: q [N,2,h] and what is stored of it, and lost [N,2], -log q of the point's row. */
template <typename T>
__global__ void row_shares(const double *mean, const T *points, rows_size z, ct_heat_attrs a, double *q, double *lost,
                           T *rows)
{
    const int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, 2 * z.samples)) {
        const double *m = mean + i * z.h;
        double *to = q + i * z.h, top = -INFINITY, sum = 0;
        for (int64_t k = lane; k < z.h; k += 32) {
            to[k] = log(m[k] + a.eps) / a.tau;
            top = to[k] > top ? to[k] : top;
        }
        top = warp_top(top);
        for (int64_t k = lane; k < z.h; k += 32) {
            to[k] = exp(to[k] - top);
            sum += to[k];
        }
        sum = ct_warp_sum(sum);
        for (int64_t k = lane; k < z.h; k += 32) {
            to[k] /= sum;
            rows[i * z.h + k] = (T)to[k];
        }
        const int64_t row = row_of(points, i, a, z.h);
        if (lane == 0) lost[i] = row < 0 ? 0 : top + log(sum) - log(m[row] + a.eps) / a.tau;
    }
}

/* How many points of each map and how many samples count. A whole block; every thread gets them. */
template <typename T>
__device__ static void count_rows(const T *points, rows_size z, const ct_heat_attrs &a, double *room, double count[3])
{
    count[0] = count[1] = count[2] = 0;
    for (int64_t n = threadIdx.x; n < z.samples; n += CT_THREADS) {
        const bool first = row_of(points, 2 * n, a, z.h) >= 0, second = row_of(points, 2 * n + 1, a, z.h) >= 0;
        count[0] += first;
        count[1] += second;
        count[2] += first && second;
    }
    for (int k = 0; k < 3; k++) count[k] = ct_block_sum(count[k], room);
}

/* One block: a thread to a sample. */
template <typename T>
__global__ void rows_loss(const double *q, const double *lost, const T *points, rows_size z, ct_heat_attrs a, T *ce,
                          T *emd)
{
    __shared__ double room[CT_THREADS / 32];
    double count[3], sum[3] = { 0, 0, 0 };
    count_rows(points, z, a, room, count);
    for (int64_t n = threadIdx.x; n < z.samples; n += CT_THREADS) {
        for (int p = 0; p < 2; p++) sum[p] += lost[2 * n + p];
        if (row_of(points, 2 * n, a, z.h) >= 0 && row_of(points, 2 * n + 1, a, z.h) >= 0)
            sum[2] += ct_heat_emd(q + 2 * n * z.h, q + (2 * n + 1) * z.h, z.h) / (double)z.h;
    }
    for (int k = 0; k < 3; k++) {
        sum[k] = ct_block_sum(sum[k], room);
        if (count[k] > 0) sum[k] /= count[k];
    }
    if (threadIdx.x != 0) return;
    *ce = (T)(sum[0] + sum[1]);
    *emd = (T)sum[2];
}

/* mean [N,2,h] becomes the derivative with respect to it: a thread to a map of a sample. dce, demd: NULL where not
 * given. q [N,2,2,h]: room. */
template <typename T>
__global__ void row_slopes(const T *points, const T *rows, const T *dce, const T *demd, rows_size z, ct_heat_attrs a,
                           double *q, double *mean)
{
    __shared__ double room[CT_THREADS / 32];
    double count[3];
    count_rows(points, z, a, room, count);
    for (CT_EACH(i, 2 * z.samples)) {
        const int64_t first = i / 2 * 2, row = row_of(points, i, a, z.h);
        const bool both = row >= 0 && row_of(points, i % 2 ? first : first + 1, a, z.h) >= 0;
        const double emd = both && demd ? (double)*demd / (count[2] * (double)z.h) : 0;
        const double ce = row >= 0 && dce ? (double)*dce / count[i % 2] : 0;
        double *own = q + i * 2 * z.h; /* a copy of both distributions for each of the two */
        for (int64_t k = 0; k < 2 * z.h; k++) own[k] = (double)rows[first * z.h + k];
        ct_heat_rows_slope(own, own + z.h, (int)(i % 2), z.h, emd, ce, row, a.eps, a.tau, mean + i * z.h);
    }
}

template <typename T> __global__ void cell_slopes(const T *logits, const double *slope, rows_size z, T *dlogits)
{
    for (CT_EACH(i, 2 * z.samples * z.h * z.w)) {
        const int64_t y = i / 2 / z.w, n = y / z.h;
        const ct_heat_cell c = ct_heat_cell_at((double)logits[i]);
        dlogits[i] = (T)(slope[(2 * n + i % 2) * z.h + y % z.h] / (double)z.w * (c.p * c.q));
    }
}

/* ---- launches ---- */

template <typename T> static void launch_means(ct_stream *s, const ct_call *c, double *mean)
{
    const rows_size z = rows_of(c);
    CT_LAUNCH(&row_means<T>, CT_GRID1(ct_blocks(z.samples * z.h * 32)), CT_THREADS, s, heat_in<T>(c, 0), z, mean);
}

template <typename T> static void forward(ct_stream *s, const ct_call *c, double *mean)
{
    const rows_size z = rows_of(c);
    double *q = mean + 2 * z.samples * z.h, *lost = q + 2 * z.samples * z.h;
    const T *points = heat_in<T>(c, 1);
    launch_means<T>(s, c, mean);
    CT_LAUNCH(&row_shares<T>, CT_GRID1(ct_blocks(2 * z.samples * 32)), CT_THREADS, s, (const double *)mean, points, z,
              c->attrs.heat, q, lost, heat_out<T>(c, 2));
    CT_LAUNCH(&rows_loss<T>, CT_GRID1(1), CT_THREADS, s, (const double *)q, (const double *)lost, points, z,
              c->attrs.heat, heat_out<T>(c, 0), heat_out<T>(c, 1));
}

template <typename T> static void backward(ct_stream *s, const ct_call *c, double *mean)
{
    const rows_size z = rows_of(c);
    const T *dce = ct_cuda_has(c, 3) ? heat_in<T>(c, 3) : NULL, *demd = ct_cuda_has(c, 4) ? heat_in<T>(c, 4) : NULL;
    launch_means<T>(s, c, mean);
    CT_LAUNCH(&row_slopes<T>, CT_GRID1(ct_blocks(2 * z.samples)), CT_THREADS, s, heat_in<T>(c, 1), heat_in<T>(c, 2),
              dce, demd, z, c->attrs.heat, mean + 2 * z.samples * z.h, mean);
    CT_LAUNCH(&cell_slopes<T>, CT_GRID1(ct_blocks(2 * z.samples * z.h * z.w)), CT_THREADS, s, heat_in<T>(c, 0),
              (const double *)mean, z, heat_out<T>(c, 0));
}

static ct_accept heat_rows_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const rows_size z = rows_of(c);
    return heat_accept(c, 4 * z.samples * z.h + 2 * z.samples);
}
static ct_status heat_rows_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_WIDTH(c, forward<T>(s, c, (double *)scratch));
    CT_LAUNCHED("heat_rows");
}

static ct_accept heat_rows_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const rows_size z = rows_of(c);
    return heat_accept(c, 6 * z.samples * z.h);
}
static ct_status heat_rows_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_WIDTH(c, backward<T>(s, c, (double *)scratch));
    CT_LAUNCHED("heat_rows_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_HEAT_ROWS, "cuda.kernel", CT_CUDA_TUNED, heat_rows_accept, heat_rows_run },
    { CT_OP_HEAT_ROWS_BWD, "cuda.kernel", CT_CUDA_TUNED, heat_rows_bwd_accept, heat_rows_bwd_run },
};
CT_CUDA_SET(heatmap_rows)
