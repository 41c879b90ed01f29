/* Maps of cells and points, with the numbers of ops/math/points_math.h: which cell is meant is decided in f64 as
 * everywhere. Every output element is written by one thread, or a block's choice does not depend on the order in which
 * cells are seen. */
#include "backends/cuda/dev.cuh"
#include "ops/math/points_math.h"

static ct_accept accept_f32(const ct_call *c)
{
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: only f32");
}

/* ---- mask_pool: a thread to a window ---- */

template <typename T>
__global__ void pool_windows(const T *x, float *mean, float *least, int64_t n, int64_t h, int64_t w, int64_t channels,
                             ct_points_attrs a)
{
    const int64_t f = a.factor;
    for (CT_EACH(e, n * h * w)) {
        const ct_pixel t = ct_locate(e, 1, w, h, 1);
        const T *from = x + ((t.n * h + t.a) * f * w + t.b) * f * channels + a.channel;
        double sum = 0;
        float low = INFINITY;
        for (int64_t r = 0; r < f; r++)
            for (int64_t s = 0; s < f; s++) {
                const float v = ct_get(from[(r * w * f + s) * channels]);
                sum += (double)v;
                if (v < low || isnan(v)) low = v;
            }
        mean[e] = (float)(sum / (double)(f * f));
        least[e] = low;
    }
}

static ct_accept mask_pool_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status mask_pool_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->out[0].desc.dim;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &pool_windows<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(d[0] * d[1] * d[2])), CT_THREADS, s, (const T *)c->in[0].data,
                  (float *)c->out[0].data, (float *)c->out[1].data, d[0], d[1], d[2], ct_cuda_cols(&c->in[0].desc),
                  c->attrs.points);
    })
    CT_LAUNCHED("mask_pool");
}

/* ---- heat_target: a thread to a cell and a point, which writes its heat and both its offsets ---- */

__global__ void draw_targets(const float *points, float *heat, float *offset, int64_t samples, int64_t each,
                             ct_points_attrs a)
{
    const int64_t radius = ct_heat_radius(a.sigma);
    for (CT_EACH(e, samples * a.out_h * a.out_w * each)) {
        const ct_pixel t = ct_locate(e, each, a.out_w, a.out_h, 1);
        const float *at = points + 2 * (t.n * each + t.c);
        double du, dv;
        const int64_t col = ct_cell_of((double)at[0], a.stride, a.out_w, &du);
        const int64_t row = ct_cell_of((double)at[1], a.stride, a.out_h, &dv);
        const int64_t down = t.a - row, right = t.b - col;
        const bool there = row >= 0 && col >= 0;
        const bool drawn = there && down >= -radius && down <= radius && right >= -radius && right <= radius;
        const bool here = a.around ? drawn : there && down == 0 && right == 0;
        heat[e] = drawn ? (float)(ct_heat_weight(down, a.sigma) * ct_heat_weight(right, a.sigma)) : 0;
        offset[2 * e] = here ? (float)ct_heat_offset(right, du) : 0;
        offset[2 * e + 1] = here ? (float)ct_heat_offset(down, dv) : 0;
    }
}

static ct_accept heat_target_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}
static ct_status heat_target_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    CT_LAUNCH(&draw_targets, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc))), CT_THREADS, s,
              (const float *)c->in[0].data, (float *)c->out[0].data, (float *)c->out[1].data, d[0], d[1],
              c->attrs.points);
    CT_LAUNCHED("heat_target");
}

/* ---- sample_points: a thread to a point; its gradient: a thread to an element of the map, which adds up its sample's
 * points ---- */

__global__ void sample_map(const float *map, const float *points, float *v, int64_t total, int64_t each, int64_t h,
                           int64_t w, int64_t channels, ct_points_attrs a)
{
    for (CT_EACH(e, total)) {
        const ct_image_point p = ct_map_locate((double)points[2 * e], (double)points[2 * e + 1], a.stride, h, w);
        const float *top = map + (e / each * h + p.row0) * w * channels + a.channel;
        const float *low = map + (e / each * h + p.row1) * w * channels + a.channel;
        double sum = 0;
        if (p.cover > 0) {
            sum += (1 - p.wr) * (1 - p.wc) * (double)top[p.col0 * channels];
            sum += (1 - p.wr) * p.wc * (double)top[p.col1 * channels];
            sum += p.wr * (1 - p.wc) * (double)low[p.col0 * channels];
            sum += p.wr * p.wc * (double)low[p.col1 * channels];
        }
        v[e] = (float)sum;
    }
}

__global__ void sample_map_bwd(const float *dv, const float *points, float *dmap, int64_t samples, int64_t each,
                               ct_points_attrs a)
{
    for (CT_EACH(e, samples * a.out_h * a.out_w * a.channels)) {
        const ct_pixel t = ct_locate(e, a.channels, a.out_w, a.out_h, 1);
        double sum = 0;
        for (int64_t k = t.n * each; k < (t.n + 1) * each && t.c == a.channel; k++) {
            const ct_image_point p =
                ct_map_locate((double)points[2 * k], (double)points[2 * k + 1], a.stride, a.out_h, a.out_w);
            const double weight = ct_map_weight(&p, t.a, t.b);
            if (weight > 0) sum += weight * (double)dv[k];
        }
        dmap[e] = (float)sum;
    }
}

static ct_accept sample_points_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}
static ct_status sample_points_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim, each = c->in[1].desc.dim[1];
    CT_LAUNCH(&sample_map, CT_GRID1(ct_blocks(d[0] * each)), CT_THREADS, s, (const float *)c->in[0].data,
              (const float *)c->in[1].data, (float *)c->out[0].data, d[0] * each, each, d[1], d[2], d[3],
              c->attrs.points);
    CT_LAUNCHED("sample_points");
}
static ct_accept sample_points_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}
static ct_status sample_points_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_LAUNCH(&sample_map_bwd, CT_GRID1(ct_blocks(ct_cuda_numel(&c->out[0].desc))), CT_THREADS, s,
              (const float *)c->in[0].data, (const float *)c->in[1].data, (float *)c->out[0].data, c->in[0].desc.dim[0],
              c->in[0].desc.dim[1], c->attrs.points);
    CT_LAUNCHED("sample_points_bwd");
}

/* ---- heat_decode: a block to a sample; its threads share the cells of a map ---- */

struct choice {
    int64_t cell; /* -1: none may be chosen */
    float logit;
};

/* The greater, the first of equals. */
__device__ static inline choice better(choice a, choice b)
{
    const bool second = b.cell >= 0 && (a.cell < 0 || b.logit > a.logit || (b.logit == a.logit && b.cell < a.cell));
    return second ? b : a;
}

/* What the block's threads found, the best of all; every thread gets it. */
__device__ static choice best_of_block(choice mine, choice *room)
{
    for (int d = 16; d > 0; d >>= 1) {
        choice other;
        other.cell = __shfl_xor_sync(0xffffffffu, mine.cell, d);
        other.logit = __shfl_xor_sync(0xffffffffu, mine.logit, d);
        mine = better(mine, other);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = mine;
    __syncthreads();
    choice best = room[0];
    for (int i = 1; i < CT_THREADS / 32; i++) best = better(best, room[i]);
    return best;
}

/* First maximum of map p of a sample's logits [h,w,maps] in cells [from, to); NaN is none. For all threads of a block. */
__device__ static choice choose(const float *logits, const float *least, int64_t maps, int64_t p, int64_t from,
                                int64_t to, choice *room)
{
    choice best = { -1, 0 };
    for (int64_t cell = from + threadIdx.x; cell < to; cell += CT_THREADS) {
        const choice here = { cell, logits[cell * maps + p] };
        if (!isnan(here.logit) && (double)least[cell] > CT_DECODE_LEAST) best = better(best, here);
    }
    return best_of_block(best, room);
}

__global__ void decode(const float *logits, const float *offset, const float *least, float *points, float *conf,
                       int64_t samples, int64_t h, int64_t w, int64_t maps, ct_points_attrs a)
{
    __shared__ choice room[CT_THREADS / 32];
    for (int64_t n = blockIdx.x; n < samples; n += gridDim.x) {
        const float *map = logits + n * h * w * maps, *share = least + n * h * w;
        for (int64_t p = 0; p < maps; p++) {
            choice best = choose(map, share, maps, p, 0, h * w, room);
            if (a.align) {
                const choice other = choose(map, share, maps, 1 - p, 0, h * w, room);
                const bool weaker = p == 0 ? best.logit < other.logit : best.logit <= other.logit;
                const int64_t row = other.cell / w, from = row > 0 ? row - 1 : 0, to = row + 2 < h ? row + 2 : h;
                if (weaker && best.cell >= 0 && other.cell >= 0)
                    best = choose(map, share, maps, p, from * w, to * w, room);
            }
            if (threadIdx.x != 0) continue;
            const int64_t at = n * maps + p;
            const float *off = offset + 2 * (n * h * w * maps + (best.cell < 0 ? 0 : best.cell) * maps + p);
            points[2 * at] = best.cell < 0 ? NAN : (float)ct_cell_place(best.cell % w, (double)off[0], a.stride);
            points[2 * at + 1] = best.cell < 0 ? NAN : (float)ct_cell_place(best.cell / w, (double)off[1], a.stride);
            conf[at] = best.cell < 0 ? 0 : (float)ct_sigmoid_f64((double)best.logit);
        }
    }
}

static ct_accept heat_decode_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}
static ct_status heat_decode_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    CT_LAUNCH(&decode, CT_GRID1(d[0] < 65536 ? d[0] : 65536), CT_THREADS, s, (const float *)c->in[0].data,
              (const float *)c->in[1].data, (const float *)c->in[2].data, (float *)c->out[0].data,
              (float *)c->out[1].data, d[0], d[1], d[2], d[3], c->attrs.points);
    CT_LAUNCHED("heat_decode");
}

/* ---- point_sums: one block counts; batches are small beside everything else of a step ---- */

__global__ void count_errors(const float *pred, const float *points, const float *scale, int64_t samples, double unit,
                             double *acc)
{
    __shared__ double room[CT_THREADS / 32];
    double sum[CT_POINT_SUMS] = { 0 };
    for (int64_t n = threadIdx.x; n < samples; n += CT_THREADS) {
        double p[4], t[4];
        for (int i = 0; i < 4; i++) p[i] = (double)pred[4 * n + i], t[i] = (double)points[4 * n + i];
        ct_point_count(p, t, (double)scale[n], unit, sum);
    }
    for (int i = 0; i < CT_POINT_SUMS; i++) {
        const double all = ct_block_sum(sum[i], room);
        if (threadIdx.x == 0) acc[i] += all;
    }
}

static ct_accept point_sums_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}
static ct_status point_sums_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_LAUNCH(&count_errors, CT_GRID1(1), CT_THREADS, s, (const float *)c->in[0].data, (const float *)c->in[1].data,
              (const float *)c->in[2].data, c->in[0].desc.dim[0], c->attrs.sums.unit,
              (double *)c->in[3].data + c->attrs.sums.first);
    CT_LAUNCHED("point_sums");
}

static const ct_impl impls[] = {
    { CT_OP_MASK_POOL, "cuda.kernel", CT_CUDA_TUNED, mask_pool_accept, mask_pool_run },
    { CT_OP_HEAT_TARGET, "cuda.kernel", CT_CUDA_TUNED, heat_target_accept, heat_target_run },
    { CT_OP_SAMPLE_POINTS, "cuda.kernel", CT_CUDA_TUNED, sample_points_accept, sample_points_run },
    { CT_OP_SAMPLE_POINTS_BWD, "cuda.kernel", CT_CUDA_TUNED, sample_points_bwd_accept, sample_points_bwd_run },
    { CT_OP_HEAT_DECODE, "cuda.kernel", CT_CUDA_TUNED, heat_decode_accept, heat_decode_run },
    { CT_OP_POINT_SUMS, "cuda.kernel", CT_CUDA_TUNED, point_sums_accept, point_sums_run },
};
CT_CUDA_SET(points)
