/* Losses on maps of cells, f32 and f64 (ops/math/heatmap_math.h has the formulas): a thread to a cell, a warp to a row. Everything is
 * added in f64, in parts whose number the shape decides; one block adds the parts. */
#include "backends/cuda/dev.cuh"
#include "ops/math/heatmap_math.h"

static const int64_t MOST_PARTS = 128; /* blocks that share the sum of a map */

#define BY_WIDTH(call, ...)                            \
    do {                                               \
        if ((call)->in[0].desc.dtype == CT_F64) {      \
            typedef double T;                          \
            __VA_ARGS__                                \
        } else {                                       \
            typedef float T;                           \
            __VA_ARGS__                                \
        }                                              \
    } while (0)

static ct_accept accept_width(const ct_call *c, int64_t doubles)
{
    const ct_dtype t = c->in[0].desc.dtype;
    if (t != CT_F32 && t != CT_F64) return ct_accept_no("cuda: only f32 and f64");
    return ct_accept_yes((size_t)doubles * sizeof(double));
}

static int64_t cells_of(const ct_desc *map) { return map->dim[0] * map->dim[1] * map->dim[2]; }
static int64_t parts_of(int64_t cells)
{
    const int64_t b = ct_blocks(cells);
    return b < MOST_PARTS ? b : MOST_PARTS;
}

/* ---- what all of them have in common ---- */

/* part [maps][parts][2]: of what is lost, and of what it is divided by. The grid is parts by maps. */
template <typename F> __global__ void sum_cells(F f, int64_t cells, double *part)
{
    __shared__ double room[CT_THREADS / 32];
    double lost = 0, weight = 0;
    for (CT_EACH(i, cells)) f.add(i, blockIdx.y, &lost, &weight);
    lost = ct_block_sum(lost, room);
    weight = ct_block_sum(weight, room);
    if (threadIdx.x != 0) return;
    double *to = part + 2 * ((int64_t)blockIdx.y * gridDim.x + blockIdx.x);
    to[0] = lost;
    to[1] = weight;
}

/* loss: the sum over the maps of the one sum over the other, `none` for a map where that is 0. */
template <typename T> __global__ void close_loss(const double *part, int64_t parts, int64_t maps, double none, T *loss, T *weight)
{
    __shared__ double room[CT_THREADS / 32];
    double total = 0;
    for (int64_t p = 0; p < maps; p++) {
        double a = 0, b = 0;
        for (int64_t i = threadIdx.x; i < parts; i += CT_THREADS) {
            a += part[2 * (p * parts + i)];
            b += part[2 * (p * parts + i) + 1];
        }
        a = ct_block_sum(a, room);
        b = ct_block_sum(b, room);
        total += b == 0 ? none : a / b;
        if (threadIdx.x == 0) weight[p] = (T)b;
    }
    if (threadIdx.x == 0) *loss = (T)total;
}

/* A cell's derivatives times dloss over what its map's sum was divided by. The grid's second dimension are the maps. */
template <typename F, typename T> __global__ void slope_cells(F f, int64_t cells, const T *weight, const T *dloss, double none)
{
    const double w = (double)weight[blockIdx.y], factor = w == 0 ? none : (double)*dloss / w;
    for (CT_EACH(i, cells)) f.slope(i, blockIdx.y, factor);
}

template <typename F> static void launch_sums(ct_stream *s, const F &f, int64_t cells, int64_t maps, double *part)
{
    CT_LAUNCH(&sum_cells<F>, CT_GRID2(parts_of(cells), maps), CT_THREADS, s, f, cells, part);
}

template <typename T> static void launch_loss(ct_stream *s, const ct_call *c, int64_t cells, int64_t maps, double none, const double *part)
{
    CT_LAUNCH(&close_loss<T>, CT_GRID1(1), CT_THREADS, s, part, parts_of(cells), maps, none, (T *)c->out[0].data, (T *)c->out[1].data);
}

template <typename F, typename T>
static void launch_slopes(ct_stream *s, const F &f, int64_t cells, int64_t maps, const T *weight, const T *dloss, double none)
{
    CT_LAUNCH((&slope_cells<F, T>), CT_GRID2(ct_blocks(cells), maps), CT_THREADS, s, f, cells, weight, dloss, none);
}

template <typename T> static const T *in(const ct_call *c, int i) { return (const T *)c->in[i].data; }
template <typename T> static T *out(const ct_call *c, int i) { return (T *)c->out[i].data; }

/* ---- heat_focal ---- */

template <typename T> struct focal {
    const T *logits, *heat, *mask;
    T *dlogits;
    int64_t maps;
    ct_heat_attrs a;

    __device__ double at(int64_t i, int64_t p, double *slope) const
    {
        const int64_t k = i * maps + p;
        return ct_heat_focal((double)logits[k], (double)heat[k], a.alpha, a.beta, a.threshold, a.eps, slope);
    }
    __device__ void add(int64_t i, int64_t p, double *lost, double *weight) const
    {
        double slope;
        *lost += (double)mask[i] * at(i, p, &slope);
        if ((double)heat[i * maps + p] >= a.threshold) *weight += (double)mask[i];
    }
    __device__ void slope(int64_t i, int64_t p, double factor) const
    {
        double slope;
        at(i, p, &slope);
        dlogits[i * maps + p] = (T)(factor * ((double)mask[i] * slope));
    }
};

template <typename T> static focal<T> focal_of(const ct_call *c, T *dlogits)
{
    return focal<T>{ in<T>(c, 0), in<T>(c, 1), in<T>(c, 2), dlogits, c->in[0].desc.dim[3], c->attrs.heat };
}

extern "C" ct_accept ct_cuda_heat_focal_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 2 * parts_of(cells_of(&c->in[0].desc)) * c->in[0].desc.dim[3]);
}
extern "C" ct_status ct_cuda_heat_focal_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[0].desc), maps = c->in[0].desc.dim[3];
    BY_WIDTH(c, launch_sums(s, focal_of<T>(c, (T *)NULL), cells, maps, (double *)scratch);
                launch_loss<T>(s, c, cells, maps, NAN, (double *)scratch););
    CT_LAUNCHED("heat_focal");
}

extern "C" ct_accept ct_cuda_heat_focal_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 0);
}
extern "C" ct_status ct_cuda_heat_focal_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    BY_WIDTH(c, launch_slopes(s, focal_of<T>(c, out<T>(c, 0)), cells_of(&c->in[0].desc), c->in[0].desc.dim[3], in<T>(c, 3),
                              in<T>(c, 4), NAN););
    CT_LAUNCHED("heat_focal_bwd");
}

/* ---- heat_offset ---- */

template <typename T> struct offsets {
    const T *offset, *target, *heat, *mask;
    T *doffset;
    int64_t maps;
    double beta;

    __device__ double at(int64_t k, double *slope) const
    {
        return ct_heat_smooth((double)offset[k] - (double)target[k], beta, slope);
    }
    __device__ void add(int64_t i, int64_t p, double *lost, double *weight) const
    {
        const int64_t k = i * maps + p;
        const double w = (double)mask[i] * (double)heat[k];
        double slope;
        *lost += w * (at(2 * k, &slope) + at(2 * k + 1, &slope));
        *weight += w;
    }
    __device__ void slope(int64_t i, int64_t p, double factor) const
    {
        const double w = factor * ((double)mask[i] * (double)heat[i * maps + p]);
        for (int64_t k = 2 * (i * maps + p), end = k + 2; k < end; k++) {
            double slope;
            at(k, &slope);
            doffset[k] = (T)(w * slope);
        }
    }
};

template <typename T> static offsets<T> offsets_of(const ct_call *c, T *doffset)
{
    return offsets<T>{ in<T>(c, 0), in<T>(c, 1), in<T>(c, 2), in<T>(c, 3), doffset, c->in[2].desc.dim[3], c->attrs.heat.beta };
}

extern "C" ct_accept ct_cuda_heat_offset_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 2 * parts_of(cells_of(&c->in[2].desc)) * c->in[2].desc.dim[3]);
}
extern "C" ct_status ct_cuda_heat_offset_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[2].desc), maps = c->in[2].desc.dim[3];
    BY_WIDTH(c, launch_sums(s, offsets_of<T>(c, (T *)NULL), cells, maps, (double *)scratch);
                launch_loss<T>(s, c, cells, maps, NAN, (double *)scratch););
    CT_LAUNCHED("heat_offset");
}

extern "C" ct_accept ct_cuda_heat_offset_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 0);
}
extern "C" ct_status ct_cuda_heat_offset_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    BY_WIDTH(c, launch_slopes(s, offsets_of<T>(c, out<T>(c, 0)), cells_of(&c->in[2].desc), c->in[2].desc.dim[3], in<T>(c, 4),
                              in<T>(c, 5), NAN););
    CT_LAUNCHED("heat_offset_bwd");
}

/* ---- heat_angle ---- */

template <typename T> struct angles {
    const T *direction, *target, *heat;
    T *ddirection;
    int64_t maps, cells; /* cells of a sample */
    double threshold;

    /* The target of cell i's sample is known, and its heat above the threshold. */
    __device__ bool counts(int64_t i) const
    {
        const T *t = target + 2 * (i / cells);
        return (double)heat[i * maps] > threshold && !isnan((double)t[0]) && !isnan((double)t[1]);
    }
    __device__ void add(int64_t i, int64_t, double *lost, double *weight) const
    {
        if (!counts(i)) return;
        const T *t = target + 2 * (i / cells), *d = direction + 2 * i;
        *lost += 1 - ((double)d[0] * (double)t[0] + (double)d[1] * (double)t[1]);
        *weight += 1;
    }
    __device__ void slope(int64_t i, int64_t, double factor) const
    {
        const bool here = counts(i);
        for (int k = 0; k < 2; k++) ddirection[2 * i + k] = here ? (T)(-factor * (double)target[2 * (i / cells) + k]) : (T)0;
    }
};

/* target is input t, heat the next */
template <typename T> static angles<T> angles_of(const ct_call *c, int t, const T *direction, T *ddirection)
{
    const int64_t *d = c->in[t + 1].desc.dim;
    return angles<T>{ direction, in<T>(c, t), in<T>(c, t + 1), ddirection, d[3], d[1] * d[2], c->attrs.heat.threshold };
}

extern "C" ct_accept ct_cuda_heat_angle_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 2 * parts_of(cells_of(&c->in[2].desc)));
}
extern "C" ct_status ct_cuda_heat_angle_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[2].desc);
    BY_WIDTH(c, launch_sums(s, angles_of<T>(c, 1, in<T>(c, 0), (T *)NULL), cells, 1, (double *)scratch);
                launch_loss<T>(s, c, cells, 1, 0, (double *)scratch););
    CT_LAUNCHED("heat_angle");
}

extern "C" ct_accept ct_cuda_heat_angle_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 0);
}
extern "C" ct_status ct_cuda_heat_angle_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    BY_WIDTH(c, launch_slopes(s, angles_of<T>(c, 0, (const T *)NULL, out<T>(c, 0)), cells_of(&c->in[1].desc), 1, in<T>(c, 2),
                              in<T>(c, 3), 0););
    CT_LAUNCHED("heat_angle_bwd");
}

/* ---- heat_padding ---- */

template <typename T> struct padding {
    const T *logits, *mask;
    T *dlogits;
    int64_t maps;
    double eps, cap;

    /* Before the cap. */
    __device__ double cost(int64_t i) const
    {
        double sum = 0, slope;
        for (int64_t k = i * maps; k < (i + 1) * maps; k++) sum += ct_heat_padding((double)logits[k], eps, &slope);
        return sum;
    }
    __device__ void add(int64_t i, int64_t, double *lost, double *weight) const
    {
        const double w = 1 - (double)mask[i], here = w == 0 ? 0 : cost(i);
        *lost += w * (here > cap ? cap : here);
        *weight += w;
    }
    __device__ void slope(int64_t i, int64_t, double factor) const
    {
        const double w = factor * (1 - (double)mask[i]);
        const bool none = w == 0 || cost(i) > cap;
        for (int64_t k = i * maps; k < (i + 1) * maps; k++) {
            double slope = 0;
            if (!none) ct_heat_padding((double)logits[k], eps, &slope);
            dlogits[k] = (T)(w * slope);
        }
    }
};

template <typename T> static padding<T> padding_of(const ct_call *c, T *dlogits)
{
    const ct_heat_attrs *a = &c->attrs.heat;
    return padding<T>{ in<T>(c, 0), in<T>(c, 1), dlogits, c->in[0].desc.dim[3], a->eps, a->cap };
}

extern "C" ct_accept ct_cuda_heat_padding_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 2 * parts_of(cells_of(&c->in[0].desc)));
}
extern "C" ct_status ct_cuda_heat_padding_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[0].desc);
    BY_WIDTH(c, launch_sums(s, padding_of<T>(c, (T *)NULL), cells, 1, (double *)scratch);
                launch_loss<T>(s, c, cells, 1, 0, (double *)scratch););
    CT_LAUNCHED("heat_padding");
}

extern "C" ct_accept ct_cuda_heat_padding_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 0);
}
extern "C" ct_status ct_cuda_heat_padding_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    BY_WIDTH(c, launch_slopes(s, padding_of<T>(c, out<T>(c, 0)), cells_of(&c->in[0].desc), 1, in<T>(c, 2), in<T>(c, 3), 0););
    CT_LAUNCHED("heat_padding_bwd");
}

/* ---- margin_rank: a thread to a sample ---- */

template <typename T> __device__ static inline bool is_fake(const T *points, int64_t i)
{
    return !isnan((double)points[2 * i]) && !isnan((double)points[2 * i + 1]);
}

/* One block. */
template <typename T>
__global__ void margin_forward(const T *s, const T *fake, const T *points, int64_t samples, int64_t most, double margin, T *loss, T *weight)
{
    __shared__ double room[CT_THREADS / 32];
    double having = 0, sum = 0;
    for (int64_t n = threadIdx.x; n < samples; n += CT_THREADS) {
        bool any = false;
        for (int64_t i = n * most; i < (n + 1) * most; i++) any = any || is_fake(points, i);
        having += any;
    }
    having = ct_block_sum(having, room);
    for (int64_t n = threadIdx.x; n < samples; n += CT_THREADS) {
        double fakes = 0;
        for (int64_t i = n * most; i < (n + 1) * most; i++) fakes += is_fake(points, i);
        for (int64_t i = n * most; i < (n + 1) * most; i++) {
            const bool there = is_fake(points, i);
            const double w = there ? 1 / (having * fakes) : 0, lack = margin - (double)s[n] + (double)fake[i];
            if (there) sum += w * (lack < 0 ? 0 : lack);
            weight[i] = (T)w;
        }
    }
    sum = ct_block_sum(sum, room);
    if (threadIdx.x == 0) *loss = (T)sum;
}

template <typename T>
__global__ void margin_backward(const T *s, const T *fake, const T *weight, const T *dloss, int64_t samples, int64_t most, double margin,
                                T *ds, T *dfake)
{
    const double d = (double)*dloss;
    for (CT_EACH(n, samples)) {
        double sum = 0;
        for (int64_t i = n * most; i < (n + 1) * most; i++) {
            const double lack = margin - (double)s[n] + (double)fake[i], w = (double)weight[i];
            const double slope = w == 0 || lack < 0 ? 0 : d * w;
            sum += slope;
            dfake[i] = (T)slope;
        }
        ds[n] = (T)-sum;
    }
}

extern "C" ct_accept ct_cuda_margin_rank_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 0);
}
extern "C" ct_status ct_cuda_margin_rank_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[1].desc.dim;
    BY_WIDTH(c, CT_LAUNCH(&margin_forward<T>, CT_GRID1(1), CT_THREADS, s, in<T>(c, 0), in<T>(c, 1), in<T>(c, 2), d[0], d[1],
                          c->attrs.heat.margin, out<T>(c, 0), out<T>(c, 1)););
    CT_LAUNCHED("margin_rank");
}

extern "C" ct_accept ct_cuda_margin_rank_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_width(c, 0);
}
extern "C" ct_status ct_cuda_margin_rank_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[1].desc.dim;
    BY_WIDTH(c, CT_LAUNCH(&margin_backward<T>, CT_GRID1(ct_blocks(d[0])), CT_THREADS, s, in<T>(c, 0), in<T>(c, 1), in<T>(c, 2),
                          in<T>(c, 3), d[0], d[1], c->attrs.heat.margin, out<T>(c, 0), out<T>(c, 1)););
    CT_LAUNCHED("margin_rank_bwd");
}

/* ---- heat_rows: a warp to a row of cells, then to a distribution over the rows ---- */

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
template <typename T> __device__ static inline int64_t row_of(const T *points, int64_t i, const ct_heat_attrs &a, int64_t h)
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
__global__ void row_shares(const double *mean, const T *points, rows_size z, ct_heat_attrs a, double *q, double *lost, T *rows)
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
__global__ void rows_loss(const double *q, const double *lost, const T *points, rows_size z, ct_heat_attrs a, T *ce, T *emd)
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

/* mean [N,2,h] becomes the derivative with respect to it: a thread to a map of a sample. dce, demd: NULL where not given. */
template <typename T>
__global__ void row_slopes(const T *points, const T *rows, const T *dce, const T *demd, rows_size z, ct_heat_attrs a, double *q, double *mean)
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

extern "C" ct_accept ct_cuda_heat_rows_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const rows_size z = rows_of(c);
    return accept_width(c, 4 * z.samples * z.h + 2 * z.samples);
}
extern "C" ct_status ct_cuda_heat_rows_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const rows_size z = rows_of(c);
    double *mean = (double *)scratch, *q = mean + 2 * z.samples * z.h, *lost = q + 2 * z.samples * z.h;
    const ct_heat_attrs a = c->attrs.heat;
    BY_WIDTH(c, CT_LAUNCH(&row_means<T>, CT_GRID1(ct_blocks(z.samples * z.h * 32)), CT_THREADS, s, in<T>(c, 0), z, mean);
                CT_LAUNCH(&row_shares<T>, CT_GRID1(ct_blocks(2 * z.samples * 32)), CT_THREADS, s, (const double *)mean, in<T>(c, 1), z, a,
                          q, lost, out<T>(c, 2));
                CT_LAUNCH(&rows_loss<T>, CT_GRID1(1), CT_THREADS, s, (const double *)q, (const double *)lost, in<T>(c, 1), z, a,
                          out<T>(c, 0), out<T>(c, 1)););
    CT_LAUNCHED("heat_rows");
}

extern "C" ct_accept ct_cuda_heat_rows_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const rows_size z = rows_of(c);
    return accept_width(c, 6 * z.samples * z.h);
}
extern "C" ct_status ct_cuda_heat_rows_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const rows_size z = rows_of(c);
    double *mean = (double *)scratch, *q = mean + 2 * z.samples * z.h;
    const int64_t n = 2 * z.samples * z.h * z.w;
    BY_WIDTH(c, const T *dce = ct_cuda_has(c, 3) ? in<T>(c, 3) : NULL; const T *demd = ct_cuda_has(c, 4) ? in<T>(c, 4) : NULL;
                CT_LAUNCH(&row_means<T>, CT_GRID1(ct_blocks(z.samples * z.h * 32)), CT_THREADS, s, in<T>(c, 0), z, mean);
                CT_LAUNCH(&row_slopes<T>, CT_GRID1(ct_blocks(2 * z.samples)), CT_THREADS, s, in<T>(c, 1), in<T>(c, 2), dce, demd, z,
                          c->attrs.heat, q, mean);
                CT_LAUNCH(&cell_slopes<T>, CT_GRID1(ct_blocks(n)), CT_THREADS, s, in<T>(c, 0), (const double *)mean, z, out<T>(c, 0)););
    CT_LAUNCHED("heat_rows_bwd");
}
