/* Losses on maps of cells and margin_rank, f32 and f64 (ops/math/heatmap_math.h has the formulas): a thread to a cell or
 * a sample. Everything is added in f64, in parts whose number the shape decides; one block adds the parts. */
#include "backends/cuda/heatmap.cuh"

static const int64_t MOST_PARTS = 128; /* blocks that share the sum of a map */

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
template <typename T>
__global__ void close_loss(const double *part, int64_t parts, int64_t maps, double none, T *loss, T *weight)
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
template <typename F, typename T>
__global__ void slope_cells(F f, int64_t cells, const T *weight, const T *dloss, double none)
{
    const double w = (double)weight[blockIdx.y], factor = w == 0 ? none : (double)*dloss / w;
    for (CT_EACH(i, cells)) f.slope(i, blockIdx.y, factor);
}

/* The loss, output 0, and what it was divided by, output 1. `maps` of them have sums of their own. */
template <typename T, typename F>
static void launch_loss(ct_stream *s, const ct_call *c, const F &f, int64_t cells, int64_t maps, double none,
                        double *part)
{
    const int64_t parts = parts_of(cells);
    CT_LAUNCH(&sum_cells<F>, CT_GRID2(parts, maps), CT_THREADS, s, f, cells, part);
    CT_LAUNCH(&close_loss<T>, CT_GRID1(1), CT_THREADS, s, (const double *)part, parts, maps, none, heat_out<T>(c, 0),
              heat_out<T>(c, 1));
}

/* The gradient; inputs `weight`, what the loss was divided by, and behind it dloss. */
template <typename T, typename F>
static void launch_slopes(ct_stream *s, const ct_call *c, const F &f, int64_t cells, int64_t maps, int weight,
                          double none)
{
    CT_LAUNCH((&slope_cells<F, T>), CT_GRID2(ct_blocks(cells), maps), CT_THREADS, s, f, cells, heat_in<T>(c, weight),
              heat_in<T>(c, weight + 1), none);
}

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
    return focal<T>{ heat_in<T>(c, 0), heat_in<T>(c, 1), heat_in<T>(c, 2), dlogits, c->in[0].desc.dim[3],
                     c->attrs.heat };
}

static ct_accept heat_focal_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 2 * parts_of(cells_of(&c->in[0].desc)) * c->in[0].desc.dim[3]);
}
static ct_status heat_focal_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[0].desc), maps = c->in[0].desc.dim[3];
    CT_BY_WIDTH(c, launch_loss<T>(s, c, focal_of<T>(c, NULL), cells, maps, NAN, (double *)scratch));
    CT_LAUNCHED("heat_focal");
}

static ct_accept heat_focal_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 0);
}
static ct_status heat_focal_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t cells = cells_of(&c->in[0].desc), maps = c->in[0].desc.dim[3];
    CT_BY_WIDTH(c, launch_slopes<T>(s, c, focal_of<T>(c, heat_out<T>(c, 0)), cells, maps, 3, NAN));
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
        if (w == 0) return;
        *lost += w * (at(2 * k, &slope) + at(2 * k + 1, &slope));
        *weight += w;
    }
    __device__ void slope(int64_t i, int64_t p, double factor) const
    {
        const double w = factor * ((double)mask[i] * (double)heat[i * maps + p]);
        for (int64_t k = 2 * (i * maps + p), end = k + 2; k < end; k++) {
            double slope = 0;
            if (w != 0) at(k, &slope);
            doffset[k] = (T)(w * slope);
        }
    }
};

template <typename T> static offsets<T> offsets_of(const ct_call *c, T *doffset)
{
    return offsets<T>{ heat_in<T>(c, 0), heat_in<T>(c, 1), heat_in<T>(c, 2), heat_in<T>(c, 3), doffset,
                       c->in[2].desc.dim[3], c->attrs.heat.beta };
}

static ct_accept heat_offset_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 2 * parts_of(cells_of(&c->in[2].desc)) * c->in[2].desc.dim[3]);
}
static ct_status heat_offset_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[2].desc), maps = c->in[2].desc.dim[3];
    CT_BY_WIDTH(c, launch_loss<T>(s, c, offsets_of<T>(c, NULL), cells, maps, NAN, (double *)scratch));
    CT_LAUNCHED("heat_offset");
}

static ct_accept heat_offset_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 0);
}
static ct_status heat_offset_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t cells = cells_of(&c->in[2].desc), maps = c->in[2].desc.dim[3];
    CT_BY_WIDTH(c, launch_slopes<T>(s, c, offsets_of<T>(c, heat_out<T>(c, 0)), cells, maps, 4, NAN));
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
        const T *t = target + 2 * (i / cells);
        for (int k = 0; k < 2; k++) ddirection[2 * i + k] = here ? (T)(-factor * (double)t[k]) : (T)0;
    }
};

/* target is input t, heat the next */
template <typename T> static angles<T> angles_of(const ct_call *c, int t, const T *direction, T *ddirection)
{
    const int64_t *d = c->in[t + 1].desc.dim;
    return angles<T>{ direction, heat_in<T>(c, t), heat_in<T>(c, t + 1), ddirection, d[3], d[1] * d[2],
                      c->attrs.heat.threshold };
}

static ct_accept heat_angle_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 2 * parts_of(cells_of(&c->in[2].desc)));
}
static ct_status heat_angle_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[2].desc);
    CT_BY_WIDTH(c, launch_loss<T>(s, c, angles_of<T>(c, 1, heat_in<T>(c, 0), NULL), cells, 1, 0, (double *)scratch));
    CT_LAUNCHED("heat_angle");
}

static ct_accept heat_angle_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 0);
}
static ct_status heat_angle_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t cells = cells_of(&c->in[1].desc);
    CT_BY_WIDTH(c, launch_slopes<T>(s, c, angles_of<T>(c, 0, NULL, heat_out<T>(c, 0)), cells, 1, 2, 0));
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
    return padding<T>{ heat_in<T>(c, 0), heat_in<T>(c, 1), dlogits, c->in[0].desc.dim[3], a->eps, a->cap };
}

static ct_accept heat_padding_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 2 * parts_of(cells_of(&c->in[0].desc)));
}
static ct_status heat_padding_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const int64_t cells = cells_of(&c->in[0].desc);
    CT_BY_WIDTH(c, launch_loss<T>(s, c, padding_of<T>(c, NULL), cells, 1, 0, (double *)scratch));
    CT_LAUNCHED("heat_padding");
}

static ct_accept heat_padding_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 0);
}
static ct_status heat_padding_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t cells = cells_of(&c->in[0].desc);
    CT_BY_WIDTH(c, launch_slopes<T>(s, c, padding_of<T>(c, heat_out<T>(c, 0)), cells, 1, 2, 0));
    CT_LAUNCHED("heat_padding_bwd");
}

/* ---- margin_rank: a thread to a sample ---- */

template <typename T> __device__ static inline bool is_fake(const T *points, int64_t i)
{
    return !isnan((double)points[2 * i]) && !isnan((double)points[2 * i + 1]);
}

/* One block. */
template <typename T>
__global__ void margin_forward(const T *s, const T *fake, const T *points, int64_t samples, int64_t most, double margin,
                               T *loss, T *weight)
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
__global__ void margin_backward(const T *s, const T *fake, const T *weight, const T *dloss, int64_t samples,
                                int64_t most, double margin, T *ds, T *dfake)
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

static ct_accept margin_rank_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 0);
}
static ct_status margin_rank_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[1].desc.dim;
    CT_BY_WIDTH(c, CT_LAUNCH(&margin_forward<T>, CT_GRID1(1), CT_THREADS, s, heat_in<T>(c, 0), heat_in<T>(c, 1),
                             heat_in<T>(c, 2), d[0], d[1], c->attrs.heat.margin, heat_out<T>(c, 0), heat_out<T>(c, 1)));
    CT_LAUNCHED("margin_rank");
}

static ct_accept margin_rank_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return heat_accept(c, 0);
}
static ct_status margin_rank_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[1].desc.dim;
    CT_BY_WIDTH(c, CT_LAUNCH(&margin_backward<T>, CT_GRID1(ct_blocks(d[0])), CT_THREADS, s, heat_in<T>(c, 0),
                             heat_in<T>(c, 1), heat_in<T>(c, 2), heat_in<T>(c, 3), d[0], d[1], c->attrs.heat.margin,
                             heat_out<T>(c, 0), heat_out<T>(c, 1)));
    CT_LAUNCHED("margin_rank_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_HEAT_FOCAL, "cuda.kernel", CT_CUDA_TUNED, heat_focal_accept, heat_focal_run },
    { CT_OP_HEAT_FOCAL_BWD, "cuda.kernel", CT_CUDA_TUNED, heat_focal_bwd_accept, heat_focal_bwd_run },
    { CT_OP_HEAT_OFFSET, "cuda.kernel", CT_CUDA_TUNED, heat_offset_accept, heat_offset_run },
    { CT_OP_HEAT_OFFSET_BWD, "cuda.kernel", CT_CUDA_TUNED, heat_offset_bwd_accept, heat_offset_bwd_run },
    { CT_OP_HEAT_ANGLE, "cuda.kernel", CT_CUDA_TUNED, heat_angle_accept, heat_angle_run },
    { CT_OP_HEAT_ANGLE_BWD, "cuda.kernel", CT_CUDA_TUNED, heat_angle_bwd_accept, heat_angle_bwd_run },
    { CT_OP_MARGIN_RANK, "cuda.kernel", CT_CUDA_TUNED, margin_rank_accept, margin_rank_run },
    { CT_OP_MARGIN_RANK_BWD, "cuda.kernel", CT_CUDA_TUNED, margin_rank_bwd_accept, margin_rank_bwd_run },
    { CT_OP_HEAT_PADDING, "cuda.kernel", CT_CUDA_TUNED, heat_padding_accept, heat_padding_run },
    { CT_OP_HEAT_PADDING_BWD, "cuda.kernel", CT_CUDA_TUNED, heat_padding_bwd_accept, heat_padding_bwd_run },
};
CT_CUDA_SET(heatmap)
