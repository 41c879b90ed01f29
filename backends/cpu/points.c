/* Maps of cells and points, f32 but for the images of mask_pool; the numbers are those of ops/math/points_math.h. An
 * item is a sample, of mask_pool a row of windows. point_sums is left to the reference: a batch has as many points as a
 * row of a picture has pixels. */
#include "config.h"

#include "backends/cpu/cpu.h"
#include "ops/math/points_math.h"

#include <math.h>
#include <string.h>

/* ---- mask_pool ---- */

typedef struct pool {
    const ct_kern *kern;
    const ct_call *call;
    char *threads;
    size_t per_thread;
} pool;

/* Buffers of a thread; raw is of 16 bits alone. */
typedef struct pool_room {
    double *sum;   /* [w] */
    float *mask;   /* [W]: the channel, of one row of x */
    uint16_t *raw; /* [W]: as it is stored */
} pool_room;

static pool_room pool_rooms(const ct_call *c, ct_carve *t)
{
    const size_t width = (size_t)c->in[0].desc.dim[2];
    pool_room r = { .sum = ct_carve_take(t, (size_t)c->out[0].desc.dim[2] * sizeof *r.sum) };
    r.mask = ct_carve_take(t, width * sizeof *r.mask);
    if (c->in[0].desc.dtype != CT_F32) r.raw = ct_carve_take(t, width * sizeof *r.raw);
    return r;
}

/* The channel, of row r of all rows of x [N*H,W,C], as r->mask. */
static void read_mask(const pool *g, const pool_room *room, int64_t r)
{
    const ct_tensor *x = &g->call->in[0];
    const int64_t w = x->desc.dim[2], c = x->desc.dim[3], at = r * w * c + g->call->attrs.points.channel;
    if (x->desc.dtype == CT_F32) {
        const float *from = (const float *)x->data + at;
        for (int64_t j = 0; j < w; j++) room->mask[j] = from[j * c];
    } else {
        const uint16_t *from = (const uint16_t *)x->data + at;
        for (int64_t j = 0; j < w; j++) room->raw[j] = from[j * c];
        ct_cpu_to_f32(g->kern, x->desc.dtype, room->raw, 0, w, room->mask);
    }
}

static void pool_item(void *arg, int64_t item, int thread)
{
    const pool *g = arg;
    const ct_call *c = g->call;
    const int64_t w = c->out[0].desc.dim[2], f = c->attrs.points.factor;
    float *mean = (float *)c->out[0].data + item * w, *least = (float *)c->out[1].data + item * w;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const pool_room room = pool_rooms(c, &t);
    for (int64_t j = 0; j < w; j++) room.sum[j] = 0, least[j] = INFINITY;
    for (int64_t r = item * f; r < (item + 1) * f; r++) { /* no rows are left over between two samples */
        read_mask(g, &room, r);
        for (int64_t j = 0; j < w; j++) {
            double sum = room.sum[j];
            float low = least[j];
            for (int64_t s = j * f; s < (j + 1) * f; s++) {
                const float v = room.mask[s];
                sum += (double)v;
                low = isnan(low) || low <= v ? low : v; /* NaN wins and stays */
            }
            room.sum[j] = sum;
            least[j] = low;
        }
    }
    for (int64_t j = 0; j < w; j++) mean[j] = (float)(room.sum[j] / (double)(f * f));
}

static ct_accept mask_pool_accept(const ct_device *dev, const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    ct_carve t = { NULL, 0 };
    (void)pool_rooms(c, &t);
    return ct_accept_yes(t.used * (size_t)dev->threads);
}

static ct_status mask_pool_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_carve t = { NULL, 0 };
    (void)pool_rooms(c, &t);
    pool g = { .kern = dev->kern, .call = c, .threads = scratch, .per_thread = t.used };
    ct_cpu_for(dev, c->out[0].desc.dim[0] * c->out[0].desc.dim[1], pool_item, &g);
    return CT_OK;
}

/* ---- heat_target ---- */

/* A point: its cell, and where it lies in it. */
typedef struct target {
    int64_t row, col;
    double du, dv;
} target;

/* Draws the Gaussian of a point into every `points`-th element of heat [out_h,out_w,points]. */
static void draw_heat(const ct_points_attrs *a, const target *t, int64_t points, float *heat)
{
    const int64_t radius = ct_heat_radius(a->sigma);
    const int64_t top = ct_max64(t->row - radius, 0), end = ct_min64(t->row + radius + 1, a->out_h);
    const int64_t left = ct_max64(t->col - radius, 0), right = ct_min64(t->col + radius + 1, a->out_w);
    for (int64_t i = top; i < end; i++) {
        const double down = ct_heat_weight(i - t->row, a->sigma);
        for (int64_t j = left; j < right; j++)
            heat[(i * a->out_w + j) * points] = (float)(down * ct_heat_weight(j - t->col, a->sigma));
    }
}

/* Its offsets into every `points`-th pair of offset [out_h,out_w,points,2]: at its cell, with `around` wherever the
 * Gaussian is drawn. */
static void draw_offset(const ct_points_attrs *a, const target *t, int64_t points, float *offset)
{
    const int64_t radius = a->around ? ct_heat_radius(a->sigma) : 0;
    const int64_t top = ct_max64(t->row - radius, 0), end = ct_min64(t->row + radius + 1, a->out_h);
    const int64_t left = ct_max64(t->col - radius, 0), right = ct_min64(t->col + radius + 1, a->out_w);
    for (int64_t i = top; i < end; i++)
        for (int64_t j = left; j < right; j++) {
            float *here = offset + 2 * (i * a->out_w + j) * points;
            here[0] = (float)ct_heat_offset(j - t->col, t->du);
            here[1] = (float)ct_heat_offset(i - t->row, t->dv);
        }
}

static void target_item(void *arg, int64_t n, int thread)
{
    (void)thread;
    const ct_call *c = arg;
    const ct_points_attrs *a = &c->attrs.points;
    const int64_t points = c->in[0].desc.dim[1], elements = a->out_h * a->out_w * points;
    const float *at = (const float *)c->in[0].data + 2 * n * points;
    float *heat = (float *)c->out[0].data + n * elements, *offset = (float *)c->out[1].data + 2 * n * elements;
    memset(heat, 0, (size_t)elements * sizeof *heat);
    memset(offset, 0, 2 * (size_t)elements * sizeof *offset);
    for (int64_t p = 0; p < points; p++) {
        target t;
        t.col = ct_cell_of((double)at[2 * p], a->stride, a->out_w, &t.du);
        t.row = ct_cell_of((double)at[2 * p + 1], a->stride, a->out_h, &t.dv);
        if (t.row < 0 || t.col < 0) continue;
        draw_heat(a, &t, points, heat + p);
        draw_offset(a, &t, points, offset + 2 * p);
    }
}

/* All that follow: f32, no scratch. */
static ct_accept accept_f32(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    return ct_accept_yes(0);
}

static ct_status heat_target_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    ct_cpu_for(dev, c->in[0].desc.dim[0], target_item, (void *)(uintptr_t)c);
    return CT_OK;
}

/* ---- sample_points and its gradient ---- */

/* The four cells that point k of sample n reads, as elements of map [h,w,channels], and their weights; false: there is
 * no point. */
static bool taps(const ct_call *c, const int64_t *map, int64_t n, int64_t k, int64_t at[4], double weight[4])
{
    const float *place = (const float *)c->in[1].data + 2 * (n * c->in[1].desc.dim[1] + k);
    const ct_image_point p = ct_map_locate((double)place[0], (double)place[1], c->attrs.points.stride, map[1], map[2]);
    for (int t = 0; t < 4; t++) {
        const int64_t row = t < 2 ? p.row0 : p.row1, col = t % 2 ? p.col1 : p.col0;
        at[t] = (row * map[2] + col) * map[3] + c->attrs.points.channel;
        weight[t] = (t < 2 ? 1 - p.wr : p.wr) * (t % 2 ? p.wc : 1 - p.wc);
    }
    return p.cover > 0;
}

static void sample_item(void *arg, int64_t n, int thread)
{
    (void)thread;
    const ct_call *c = arg;
    const int64_t *d = c->in[0].desc.dim, points = c->in[1].desc.dim[1];
    const float *map = (const float *)c->in[0].data + n * d[1] * d[2] * d[3];
    float *v = (float *)c->out[0].data + n * points;
    for (int64_t k = 0; k < points; k++) {
        int64_t at[4];
        double weight[4], sum = 0;
        if (taps(c, d, n, k, at, weight))
            for (int t = 0; t < 4; t++) sum += weight[t] * (double)map[at[t]];
        v[k] = (float)sum;
    }
}

/* Points of a sample are added one after the other: their order decides the bits, not the threads. */
static void sample_bwd_item(void *arg, int64_t n, int thread)
{
    (void)thread;
    const ct_call *c = arg;
    const int64_t *d = c->out[0].desc.dim, points = c->in[1].desc.dim[1], elements = d[1] * d[2] * d[3];
    const float *dv = (const float *)c->in[0].data + n * points;
    float *dmap = (float *)c->out[0].data + n * elements;
    memset(dmap, 0, (size_t)elements * sizeof *dmap);
    for (int64_t k = 0; k < points; k++) {
        int64_t at[4];
        double weight[4];
        if (!taps(c, d, n, k, at, weight)) continue;
        for (int t = 0; t < 4; t++)
            if (weight[t] > 0) dmap[at[t]] = (float)((double)dmap[at[t]] + weight[t] * (double)dv[k]);
    }
}

static ct_status sample_points_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    ct_cpu_for(dev, c->in[0].desc.dim[0], sample_item, (void *)(uintptr_t)c);
    return CT_OK;
}

static ct_status sample_points_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    ct_cpu_for(dev, c->in[0].desc.dim[0], sample_bwd_item, (void *)(uintptr_t)c);
    return CT_OK;
}

/* ---- heat_decode ---- */

typedef struct choice {
    int64_t cell; /* -1: none may be chosen */
    float logit;
} choice;

/* First maximum of map p of a sample's logits [h,w,maps] in cells [from, to); NaN is none. */
static choice choose(const float *logits, const float *least, int64_t maps, int64_t p, int64_t from, int64_t to)
{
    choice best = { -1, -INFINITY };
    for (int64_t cell = from; cell < to; cell++) {
        const float v = logits[cell * maps + p];
        if (!(v > best.logit) && (best.cell >= 0 || isnan(v))) continue;
        if ((double)least[cell] > CT_DECODE_LEAST) best = (choice){ cell, v };
    }
    return best;
}

static void decode_item(void *arg, int64_t n, int thread)
{
    (void)thread;
    const ct_call *c = arg;
    const ct_points_attrs *a = &c->attrs.points;
    const int64_t *d = c->in[0].desc.dim, maps = d[3], w = d[2], cells = d[1] * w;
    const float *logits = (const float *)c->in[0].data + n * cells * maps;
    const float *offset = (const float *)c->in[1].data + 2 * n * cells * maps;
    const float *least = (const float *)c->in[2].data + n * cells;
    float *place = (float *)c->out[0].data + 2 * n * maps, *conf = (float *)c->out[1].data + n * maps;
    choice pair[2] = { { -1, 0 }, { -1, 0 } };
    for (int p = 0; p < 2 && a->align; p++) pair[p] = choose(logits, least, maps, p, 0, cells);
    if (pair[0].cell >= 0 && pair[1].cell >= 0) {
        const int weak = pair[0].logit < pair[1].logit ? 0 : 1;
        const int64_t row = pair[1 - weak].cell / w, from = ct_max64(row - 1, 0), to = ct_min64(row + 2, d[1]);
        pair[weak] = choose(logits, least, maps, weak, from * w, to * w);
    }
    for (int64_t p = 0; p < maps; p++) {
        const choice best = a->align ? pair[p] : choose(logits, least, maps, p, 0, cells);
        place[2 * p] = place[2 * p + 1] = NAN;
        conf[p] = 0;
        if (best.cell < 0) continue;
        const float *off = offset + 2 * (best.cell * maps + p);
        place[2 * p] = (float)ct_cell_place(best.cell % w, (double)off[0], a->stride);
        place[2 * p + 1] = (float)ct_cell_place(best.cell / w, (double)off[1], a->stride);
        conf[p] = (float)ct_sigmoid_f64((double)best.logit);
    }
}

static ct_status heat_decode_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    ct_cpu_for(dev, c->in[0].desc.dim[0], decode_item, (void *)(uintptr_t)c);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_MASK_POOL, "cpu.threads", CT_CPU_TUNED, mask_pool_accept, mask_pool_run },
    { CT_OP_HEAT_TARGET, "cpu.threads", CT_CPU_TUNED, accept_f32, heat_target_run },
    { CT_OP_SAMPLE_POINTS, "cpu.threads", CT_CPU_TUNED, accept_f32, sample_points_run },
    { CT_OP_SAMPLE_POINTS_BWD, "cpu.threads", CT_CPU_TUNED, accept_f32, sample_points_bwd_run },
    { CT_OP_HEAT_DECODE, "cpu.threads", CT_CPU_TUNED, accept_f32, heat_decode_run },
};
const ct_impl_set ct_cpu_points_impls = CT_IMPL_SET(impls);
