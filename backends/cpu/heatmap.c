/* heat_*: pieces of cells over the threads, heat_rows: samples. Every piece leaves its sums in f64, and they are added
 * in the order of the pieces, which depends on the shape alone. The formulas stand in ops/math/heatmap_math.h.
 * margin_rank has so few numbers that the reference does. */
#include "config.h"

#include "backends/cpu/cpu.h"
#include "ops/math/heatmap_math.h"

#include <math.h>
#include <string.h>

#define PIECE 1024 /* least cells of a piece: some microseconds */

typedef struct heat {
    const ct_call *call;
    const ct_heat_attrs *a;
    bool wide; /* f64, else f32 */
    int64_t cells, maps;
    ct_pieces pieces; /* of the cells */
    double *sums;     /* forward [pieces][maps][2]: of what is lost, and of what it is divided by */
    double *factor;   /* backward [maps]: of a cell's derivative */
} heat;

static inline double get(const heat *g, int input, int64_t i)
{
    const void *p = g->call->in[input].data;
    return g->wide ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static inline void put(const heat *g, int output, int64_t i, double v)
{
    void *p = g->call->out[output].data;
    if (g->wide)
        ((double *)p)[i] = v;
    else
        ((float *)p)[i] = (float)v;
}

/* Maps like `like` [N,h,w,*], of which `maps` have sums of their own. */
static heat plan(const ct_call *c, const ct_desc *like, int64_t maps, void *scratch)
{
    heat g = { .call = c, .a = &c->attrs.heat, .wide = c->in[0].desc.dtype == CT_F64, .maps = maps };
    g.cells = like->dim[0] * like->dim[1] * like->dim[2];
    g.pieces = ct_cpu_pieces(g.cells, 1, PIECE);
    g.sums = g.factor = scratch;
    return g;
}

static ct_accept accept_sums(const ct_call *c, const ct_desc *like, int64_t maps)
{
    const heat g = plan(c, like, maps, NULL);
    return ct_accept_yes((size_t)(g.pieces.count * maps * 2) * sizeof(double));
}

static ct_accept accept_factors(int64_t maps) { return ct_accept_yes((size_t)maps * sizeof(double)); }

/* Cells [first, end) of a piece, and its sums, cleared. */
static double *open_piece(const heat *g, int64_t item, int64_t *first, int64_t *end)
{
    *first = item * g->pieces.size;
    *end = ct_min64(g->cells, *first + g->pieces.size);
    double *sums = g->sums + item * g->maps * 2;
    memset(sums, 0, (size_t)(g->maps * 2) * sizeof *sums);
    return sums;
}

/* Adds what the pieces left. The loss, output 0, is the sum over the maps of the one sum over the other, output 1, and
 * `none` for a map where that is 0. */
static ct_status close_loss(const heat *g, double none)
{
    double loss = 0;
    for (int64_t p = 0; p < g->maps; p++) {
        double lost = 0, weight = 0;
        for (int64_t i = 0; i < g->pieces.count; i++) {
            lost += g->sums[(i * g->maps + p) * 2];
            weight += g->sums[(i * g->maps + p) * 2 + 1];
        }
        loss += weight == 0 ? none : lost / weight;
        put(g, 1, p, weight);
    }
    put(g, 0, 0, loss);
    return CT_OK;
}

/* dloss over what each map's sum was divided by, input `weight`. */
static void open_gradient(const heat *g, int weight, int dloss, double none)
{
    for (int64_t p = 0; p < g->maps; p++) {
        const double w = get(g, weight, p);
        g->factor[p] = w == 0 ? none : get(g, dloss, 0) / w;
    }
}

static int64_t channels(const ct_call *c, int i) { return c->in[i].desc.dim[3]; }

/* ---- heat_focal ---- */

static inline double focal_at(const heat *g, double heat_here, int64_t i, double *slope)
{
    return ct_heat_focal(get(g, 0, i), heat_here, g->a->alpha, g->a->beta, g->a->threshold, g->a->eps, slope);
}

static void focal_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    int64_t first, end;
    double *sums = open_piece(g, item, &first, &end), slope;
    for (int64_t i = first; i < end; i++) {
        const double mask = get(g, 2, i);
        for (int64_t p = 0; p < g->maps; p++) {
            const double here = get(g, 1, i * g->maps + p);
            sums[2 * p] += mask * focal_at(g, here, i * g->maps + p, &slope);
            if (here >= g->a->threshold) sums[2 * p + 1] += mask;
        }
    }
}

static void focal_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    const int64_t first = item * g->pieces.size, end = ct_min64(g->cells, first + g->pieces.size);
    for (int64_t i = first; i < end; i++) {
        const double mask = get(g, 2, i);
        for (int64_t p = 0; p < g->maps; p++) {
            const int64_t at = i * g->maps + p;
            double slope;
            focal_at(g, get(g, 1, at), at, &slope);
            put(g, 0, at, g->factor[p] * (mask * slope));
        }
    }
}

static ct_accept heat_focal_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_sums(c, &c->in[0].desc, channels(c, 0));
}

static ct_status heat_focal_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[0].desc, channels(c, 0), scratch);
    ct_cpu_for(dev, g.pieces.count, focal_item, &g);
    return close_loss(&g, NAN);
}

static ct_accept heat_focal_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_factors(channels(c, 0));
}

static ct_status heat_focal_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[0].desc, channels(c, 0), scratch);
    open_gradient(&g, 3, 4, NAN);
    ct_cpu_for(dev, g.pieces.count, focal_bwd_item, &g);
    return CT_OK;
}

/* ---- heat_offset ---- */

static inline double offset_at(const heat *g, int64_t i, double *slope)
{
    return ct_heat_smooth(get(g, 0, i) - get(g, 1, i), g->a->beta, slope);
}

static void offset_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    int64_t first, end;
    double *sums = open_piece(g, item, &first, &end), slope;
    for (int64_t i = first; i < end; i++) {
        const double mask = get(g, 3, i);
        for (int64_t p = 0; p < g->maps; p++) {
            const int64_t at = i * g->maps + p;
            const double weight = mask * get(g, 2, at);
            if (weight == 0) continue;
            sums[2 * p] += weight * (offset_at(g, 2 * at, &slope) + offset_at(g, 2 * at + 1, &slope));
            sums[2 * p + 1] += weight;
        }
    }
}

static void offset_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    const int64_t first = item * g->pieces.size, end = ct_min64(g->cells, first + g->pieces.size);
    for (int64_t i = first; i < end; i++) {
        const double mask = get(g, 3, i);
        for (int64_t p = 0; p < g->maps; p++) {
            const int64_t at = i * g->maps + p;
            const double weight = g->factor[p] * (mask * get(g, 2, at));
            for (int64_t k = 2 * at; k < 2 * at + 2; k++) {
                double slope = 0;
                if (weight != 0) offset_at(g, k, &slope);
                put(g, 0, k, weight * slope);
            }
        }
    }
}

static ct_accept heat_offset_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_sums(c, &c->in[2].desc, channels(c, 2));
}

static ct_status heat_offset_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[2].desc, channels(c, 2), scratch);
    ct_cpu_for(dev, g.pieces.count, offset_item, &g);
    return close_loss(&g, NAN);
}

static ct_accept heat_offset_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_factors(channels(c, 2));
}

static ct_status heat_offset_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[2].desc, channels(c, 2), scratch);
    open_gradient(&g, 4, 5, NAN);
    ct_cpu_for(dev, g.pieces.count, offset_bwd_item, &g);
    return CT_OK;
}

/* ---- heat_angle ---- */

/* Whether cell i counts: the target [N,2], input t, of its sample is known, and its heat, the input behind, above the
 * threshold. */
static inline bool angle_at(const heat *g, int t, int64_t i, double target[2])
{
    const int64_t *d = g->call->in[t + 1].desc.dim, n = i / (d[1] * d[2]);
    target[0] = get(g, t, 2 * n);
    target[1] = get(g, t, 2 * n + 1);
    return get(g, t + 1, i * d[3]) > g->a->threshold && !isnan(target[0]) && !isnan(target[1]);
}

static void angle_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    int64_t first, end;
    double *sums = open_piece(g, item, &first, &end), target[2];
    for (int64_t i = first; i < end; i++) {
        if (!angle_at(g, 1, i, target)) continue;
        sums[0] += 1 - (get(g, 0, 2 * i) * target[0] + get(g, 0, 2 * i + 1) * target[1]);
        sums[1] += 1;
    }
}

static void angle_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    const int64_t first = item * g->pieces.size, end = ct_min64(g->cells, first + g->pieces.size);
    for (int64_t i = first; i < end; i++) {
        double target[2];
        const bool counts = angle_at(g, 0, i, target);
        for (int k = 0; k < 2; k++) put(g, 0, 2 * i + k, counts ? -g->factor[0] * target[k] : 0);
    }
}

static ct_accept heat_angle_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_sums(c, &c->in[2].desc, 1);
}

static ct_status heat_angle_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[2].desc, 1, scratch);
    ct_cpu_for(dev, g.pieces.count, angle_item, &g);
    return close_loss(&g, 0);
}

static ct_accept heat_angle_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return accept_factors(1);
}

static ct_status heat_angle_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[1].desc, 1, scratch);
    open_gradient(&g, 2, 3, 0);
    ct_cpu_for(dev, g.pieces.count, angle_bwd_item, &g);
    return CT_OK;
}

/* ---- heat_padding ---- */

/* What cell i costs, before the cap. */
static inline double padding_at(const heat *g, int64_t i)
{
    const int64_t maps = channels(g->call, 0);
    double sum = 0, slope;
    for (int64_t p = i * maps; p < (i + 1) * maps; p++) sum += ct_heat_padding(get(g, 0, p), g->a->eps, &slope);
    return sum;
}

static void padding_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    int64_t first, end;
    double *sums = open_piece(g, item, &first, &end);
    for (int64_t i = first; i < end; i++) {
        const double weight = 1 - get(g, 1, i), cost = weight == 0 ? 0 : padding_at(g, i);
        sums[0] += weight * (cost > g->a->cap ? g->a->cap : cost);
        sums[1] += weight;
    }
}

static void padding_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const heat *g = arg;
    const int64_t first = item * g->pieces.size, end = ct_min64(g->cells, first + g->pieces.size);
    const int64_t maps = channels(g->call, 0);
    for (int64_t i = first; i < end; i++) {
        const double weight = g->factor[0] * (1 - get(g, 1, i));
        const bool none = weight == 0 || padding_at(g, i) > g->a->cap;
        for (int64_t p = i * maps; p < (i + 1) * maps; p++) {
            double slope = 0;
            if (!none) ct_heat_padding(get(g, 0, p), g->a->eps, &slope);
            put(g, 0, p, weight * slope);
        }
    }
}

static ct_accept heat_padding_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_sums(c, &c->in[0].desc, 1);
}

static ct_status heat_padding_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[0].desc, 1, scratch);
    ct_cpu_for(dev, g.pieces.count, padding_item, &g);
    return close_loss(&g, 0);
}

static ct_accept heat_padding_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return accept_factors(1);
}

static ct_status heat_padding_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    heat g = plan(c, &c->in[0].desc, 1, scratch);
    open_gradient(&g, 2, 3, 0);
    ct_cpu_for(dev, g.pieces.count, padding_bwd_item, &g);
    return CT_OK;
}

/* ---- heat_rows ---- */

typedef struct rows {
    heat g;
    int64_t samples, h, w;
    double *room;     /* [threads][4][h]: both distributions, both maps' means */
    double *lost;     /* [N][3]: -log of both points' rows, distance */
    double weight[3]; /* of those of a sample: one over how many count */
    double dce, demd; /* 0 where not given */
} rows;

/* Row of point p of sample n, -1: none. */
static int64_t row_of(const rows *r, int64_t n, int64_t p)
{
    const int64_t i = 2 * (2 * n + p);
    return ct_heat_row(get(&r->g, 1, i), get(&r->g, 1, i + 1), r->g.a->stride, r->h);
}

static rows plan_rows(const ct_device *dev, const ct_call *c, void *scratch)
{
    const int64_t *d = c->in[0].desc.dim;
    rows r = { .g = plan(c, &c->in[0].desc, 2, NULL), .samples = d[0], .h = d[1], .w = d[2], .room = scratch };
    r.lost = scratch ? r.room + dev->threads * 4 * r.h : NULL;
    return r;
}

/* Before threads start: how many points and samples count. */
static void count_rows(rows *r)
{
    int64_t count[3] = { 0, 0, 0 };
    for (int64_t n = 0; n < r->samples; n++) {
        const bool first = row_of(r, n, 0) >= 0, second = row_of(r, n, 1) >= 0;
        count[0] += first;
        count[1] += second;
        count[2] += first && second;
    }
    for (int k = 0; k < 3; k++) r->weight[k] = count[k] ? 1 / (double)count[k] : 0;
}

/* Means of p over the rows of both maps of sample n, [2][h]. */
static void row_means(const rows *r, int64_t n, double *mean)
{
    for (int64_t y = 0; y < r->h; y++) {
        const int64_t first = (n * r->h + y) * r->w;
        double sum[2] = { 0, 0 };
        for (int64_t i = 2 * first; i < 2 * (first + r->w); i++) sum[i % 2] += ct_heat_cell_at(get(&r->g, 0, i)).p;
        for (int p = 0; p < 2; p++) mean[p * r->h + y] = sum[p] / (double)r->w;
    }
}

static void rows_item(void *arg, int64_t n, int thread)
{
    const rows *r = arg;
    const ct_heat_attrs *a = r->g.a;
    double *q = r->room + thread * 4 * r->h, *mean = q + 2 * r->h, *lost = r->lost + 3 * n;
    row_means(r, n, mean);
    bool both = true;
    for (int p = 0; p < 2; p++) {
        const int64_t row = row_of(r, n, p);
        const double rest = ct_heat_rows(mean + p * r->h, r->h, a->eps, a->tau, q + p * r->h);
        lost[p] = row < 0 ? 0 : rest - log(mean[p * r->h + row] + a->eps) / a->tau;
        both = both && row >= 0;
    }
    lost[2] = both ? ct_heat_emd(q, q + r->h, r->h) / (double)r->h : 0;
    for (int64_t k = 0; k < 2 * r->h; k++) put(&r->g, 2, 2 * n * r->h + k, q[k]);
}

static void rows_bwd_item(void *arg, int64_t n, int thread)
{
    const rows *r = arg;
    const ct_heat_attrs *a = r->g.a;
    double *q = r->room + thread * 4 * r->h, *mean = q + 2 * r->h;
    const int64_t row[2] = { row_of(r, n, 0), row_of(r, n, 1) };
    const double emd = row[0] >= 0 && row[1] >= 0 ? r->demd * r->weight[2] / (double)r->h : 0;
    row_means(r, n, mean);
    for (int64_t k = 0; k < 2 * r->h; k++) q[k] = get(&r->g, 2, 2 * n * r->h + k);
    for (int p = 0; p < 2; p++)
        ct_heat_rows_slope(q, q + r->h, p, r->h, emd, r->dce * r->weight[p], row[p], a->eps, a->tau, mean + p * r->h);
    for (int64_t y = 0; y < r->h; y++) {
        const double slope[2] = { mean[y] / (double)r->w, mean[r->h + y] / (double)r->w };
        const int64_t first = (n * r->h + y) * r->w;
        for (int64_t i = 2 * first; i < 2 * (first + r->w); i++) {
            const ct_heat_cell c = ct_heat_cell_at(get(&r->g, 0, i));
            put(&r->g, 0, i, slope[i % 2] * (c.p * c.q));
        }
    }
}

static ct_accept heat_rows_accept(const ct_device *dev, const ct_call *c)
{
    const rows r = plan_rows(dev, c, NULL);
    return ct_accept_yes((size_t)(dev->threads * 4 * r.h + 3 * r.samples) * sizeof(double));
}

static ct_status heat_rows_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    rows r = plan_rows(dev, c, scratch);
    double total[3] = { 0, 0, 0 };
    count_rows(&r);
    ct_cpu_for(dev, r.samples, rows_item, &r);
    for (int64_t i = 0; i < 3 * r.samples; i++) total[i % 3] += r.lost[i];
    put(&r.g, 0, 0, total[0] * r.weight[0] + total[1] * r.weight[1]);
    put(&r.g, 1, 0, total[2] * r.weight[2]);
    return CT_OK;
}

static ct_accept heat_rows_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const rows r = plan_rows(dev, c, NULL);
    return ct_accept_yes((size_t)(dev->threads * 4 * r.h) * sizeof(double));
}

static ct_status heat_rows_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    rows r = plan_rows(dev, c, scratch);
    count_rows(&r);
    if (ct_present(&c->in[3])) r.dce = get(&r.g, 3, 0);
    if (ct_present(&c->in[4])) r.demd = get(&r.g, 4, 0);
    ct_cpu_for(dev, r.samples, rows_bwd_item, &r);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_HEAT_FOCAL, "cpu.cells", CT_CPU_TUNED, heat_focal_accept, heat_focal_run },
    { CT_OP_HEAT_FOCAL_BWD, "cpu.cells", CT_CPU_TUNED, heat_focal_bwd_accept, heat_focal_bwd_run },
    { CT_OP_HEAT_OFFSET, "cpu.cells", CT_CPU_TUNED, heat_offset_accept, heat_offset_run },
    { CT_OP_HEAT_OFFSET_BWD, "cpu.cells", CT_CPU_TUNED, heat_offset_bwd_accept, heat_offset_bwd_run },
    { CT_OP_HEAT_ANGLE, "cpu.cells", CT_CPU_TUNED, heat_angle_accept, heat_angle_run },
    { CT_OP_HEAT_ANGLE_BWD, "cpu.cells", CT_CPU_TUNED, heat_angle_bwd_accept, heat_angle_bwd_run },
    { CT_OP_HEAT_PADDING, "cpu.cells", CT_CPU_TUNED, heat_padding_accept, heat_padding_run },
    { CT_OP_HEAT_PADDING_BWD, "cpu.cells", CT_CPU_TUNED, heat_padding_bwd_accept, heat_padding_bwd_run },
    { CT_OP_HEAT_ROWS, "cpu.rows", CT_CPU_TUNED, heat_rows_accept, heat_rows_run },
    { CT_OP_HEAT_ROWS_BWD, "cpu.rows", CT_CPU_TUNED, heat_rows_bwd_accept, heat_rows_bwd_run },
};
const ct_impl_set ct_cpu_heatmap_impls = CT_IMPL_SET(impls);
