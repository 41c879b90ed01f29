/* batchnorm, batchnorm_infer, batchnorm_bwd; batchnorm_moments and what goes with it (l2_normalize: norm_length.c). Rows
 * are cut into pieces, the same for any number of threads. Training forward reads x twice: sums of every piece about a
 * value near its own mean, added up in f64 (Chan, Golub & LeVeque's pairwise formula), then y. Backward reads its inputs
 * twice: the two sums, then dx. The second pass goes backwards, so that it begins with what the first left in the cache.
 * 16-bit tensors pass through f32 blocks on the stack. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "ops/math/mask_math.h"

#define PIECE_ROWS 64 /* least rows of a piece */
#define STREAM_BYTES (16 << 20) /* a tensor of this size is not in the cache when it is read next */
#define CHANNELS 64                /* whose pieces' sums are added up together */
#define TILE 2048    /* f32 of a block on a thread's stack: three of them lie in an L1 cache */
#define SUM_COLS 128 /* columns of a block that is summed: long enough pieces of a row, and rows enough for each sum */

typedef struct norm {
    const ct_call *call;
    const ct_kern *kern;
    ct_tensor x, add, dy, out, out2; /* absent ones have ndim -1 */
    uint8_t *mask;                   /* of y, written forward and read backward; NULL where there is none */
    int64_t rows, cols;
    ct_pieces pieces;
    bool relu, silu, whole;                      /* whole: all tensors f32, so that kernels take full rows */
    double *part_s, *part_q;                     /* [pieces][cols] */
    float *mean, *scale, *shift, *bias, *origin; /* [cols]; origin [pieces][cols] */
    const float *beta;                           /* [cols] of SiLU: what its argument is shifted by */
} norm;

static bool given(const ct_tensor *t) { return t->desc.ndim >= 0; }

/* Calls n 16-bit numbers into the cache: processors do not foresee parts of rows. */
static void fetch(const void *p, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i += 64) __builtin_prefetch((const char *)p + i, 0, 2);
}

static const float *rows_at(const norm *g, const ct_tensor *t, int64_t r, int64_t rows, int64_t c, int64_t cols,
                            float *buf)
{
    if (!given(t)) return NULL;
    if (g->whole) return (const float *)t->data + r * g->cols;
    if (cols == g->cols) {
        ct_cpu_to_f32(g->kern, t->desc.dtype, t->data, r * cols, rows * cols, buf);
        return buf;
    }
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (r + i) * g->cols + c;
        if (r + i + rows < g->rows) fetch(ct_at(t->data, t->desc.dtype, at + rows * g->cols), cols);
        ct_cpu_to_f32(g->kern, t->desc.dtype, t->data, at, cols, buf + i * cols);
    }
    return buf;
}

static float *out_at(const norm *g, const ct_tensor *t, int64_t r, float *buf)
{
    if (!given(t)) return NULL;
    return g->whole ? (float *)t->data + r * g->cols : buf;
}

static void out_end(const norm *g, const ct_tensor *t, int64_t r, int64_t rows, int64_t c, int64_t cols,
                    const float *buf)
{
    if (!given(t) || g->whole) return;
    if (cols == g->cols) {
        ct_cpu_to_type(g->kern, t->desc.dtype, buf, rows * cols, t->data, r * cols);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        ct_cpu_to_type(g->kern, t->desc.dtype, buf + i * cols, cols, t->data, (r + i) * g->cols + c);
}

enum pass { STATS, APPLY, BWD_SUMS, BWD_APPLY };

/* Whether results for t are written past the caches: it is large, none of the inputs lies there (its lines are in the
 * cache then), and rows are whole cache lines. */
static bool past_cache(const norm *g, const ct_tensor *t)
{
    if (!given(t) || !g->whole || g->rows * g->cols * 4 < STREAM_BYTES) return false;
    const void *p = t->data;
    if (p == g->x.data || (given(&g->dy) && p == g->dy.data) || (given(&g->add) && p == g->add.data)) return false;
    return (uintptr_t)p % 64 == 0 && g->cols % 16 == 0;
}

/* The largest f32 that becomes zero in a type: half its smallest number. */
static float floor_of(ct_dtype t)
{
    return t == CT_F16 ? 0x1p-25f : t == CT_BF16 ? 0x1p-134f : 0;
}

/* One pass over rows r0..r1-1; `at` is the piece's place in the partial sums. */
static void walk(const norm *g, enum pass pass, int64_t r0, int64_t r1, int64_t at)
{
    const int64_t most = pass == STATS || pass == BWD_SUMS ? SUM_COLS : TILE;
    const int64_t step_c = g->whole ? g->cols : ct_min64(g->cols, most);
    const int64_t step_r = g->whole ? r1 - r0 : TILE / step_c;
    float buf[3][TILE];
    for (int64_t r = r0; r < r1; r += step_r)
        for (int64_t c = 0; c < g->cols; c += step_c) {
            const int64_t rows = ct_min64(step_r, r1 - r), cols = ct_min64(step_c, g->cols - c);
            ct_bn_block b = { .rows = rows, .cols = cols, .ld = cols, .relu = g->relu };
            b.x = rows_at(g, &g->x, r, rows, c, cols, buf[0]);
            b.mean = g->mean + c;
            b.scale = g->scale + c;
            b.shift = (pass == STATS ? g->origin + at : g->shift) + c;
            b.bias = g->bias + c;
            b.beta = g->silu ? g->beta + c : NULL;
            b.mask_ld = ct_mask_bytes(g->cols);
            b.mask = g->mask ? g->mask + r * b.mask_ld + c / 8 : NULL;
            switch (pass) {
            case STATS: g->kern->norm->stats(&b, g->part_s + at + c, g->part_q + at + c); break;
            case APPLY:
                b.add = rows_at(g, &g->add, r, rows, c, cols, buf[1]);
                b.out = out_at(g, &g->out, r, buf[2]);
                b.stream = past_cache(g, &g->out);
                b.floor = floor_of(g->out.desc.dtype);
                (g->silu ? g->kern->silu->apply : g->kern->norm->apply)(&b);
                out_end(g, &g->out, r, rows, c, cols, b.out);
                break;
            case BWD_SUMS:
                b.dy = rows_at(g, &g->dy, r, rows, c, cols, buf[1]);
                b.add = rows_at(g, &g->add, r, rows, c, cols, buf[2]);
                (g->silu ? g->kern->silu->bwd_sums : g->kern->norm->bwd_sums)(&b, g->part_s + at + c, g->part_q + at + c);
                break;
            case BWD_APPLY:
                b.dy = rows_at(g, &g->dy, r, rows, c, cols, buf[1]);
                b.add = rows_at(g, &g->add, r, rows, c, cols, buf[2]);
                b.out = out_at(g, &g->out, r,
                               buf[0]); /* the kernel reads an element's inputs before it writes its outputs */
                b.out2 = out_at(g, &g->out2, r, buf[1]);
                b.stream = past_cache(g, &g->out);
                b.stream2 = past_cache(g, &g->out2);
                (g->silu ? g->kern->silu->bwd_apply : g->kern->norm->bwd_apply)(&b);
                out_end(g, &g->out, r, rows, c, cols, b.out);
                out_end(g, &g->out2, r, rows, c, cols, b.out2);
                break;
            }
        }
}

static void piece_rows(const norm *g, int64_t item, int64_t *r0, int64_t *r1)
{
    *r0 = item * g->pieces.size;
    *r1 = ct_min64(g->rows, *r0 + g->pieces.size);
}

static int64_t rows_of(const norm *g, int64_t item)
{
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    return r1 - r0;
}

static void stats_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    /* About what to sum: the mean of a few rows of this piece, so that little is lost when squares are subtracted. */
    const int64_t at = item * g->cols, samples = ct_min64(8, r1 - r0);
    float *origin = g->origin + at, line[SUM_COLS];
    double *s = g->part_s + at, *q = g->part_q + at;
    for (int64_t c = 0; c < g->cols; c += SUM_COLS) {
        const int64_t cols = ct_min64(SUM_COLS, g->cols - c);
        for (int64_t i = 0; i < cols; i++) origin[c + i] = 0;
        for (int64_t k = 0; k < samples; k++) {
            ct_cpu_to_f32(g->kern, g->x.desc.dtype, g->x.data, (r0 + k * ((r1 - r0) / samples)) * g->cols + c, cols,
                          line);
            g->kern->element->axpby(cols, 1.0f / (float)samples, line, 1.0f, origin + c);
        }
    }
    for (int64_t c = 0; c < g->cols; c++) s[c] = q[c] = 0;
    walk(g, STATS, r0, r1, at);
    /* Sums about the origin -> mean and sum of squares about it. */
    const double n = (double)(r1 - r0);
    for (int64_t c = 0; c < g->cols; c++) {
        const double d = s[c] / n;
        q[c] -= s[c] * d;
        s[c] = (double)origin[c] + d;
    }
}

static void apply_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, g->pieces.count - 1 - item, &r0, &r1);
    walk(g, APPLY, r0, r1, 0);
}

static void bwd_sums_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    const int64_t at = item * g->cols;
    for (int64_t c = 0; c < g->cols; c++) g->part_s[at + c] = g->part_q[at + c] = 0;
    walk(g, BWD_SUMS, r0, r1, at);
}

static void bwd_apply_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, g->pieces.count - 1 - item, &r0, &r1);
    walk(g, BWD_APPLY, r0, r1, 0);
}

static size_t lay_out(norm *g, bool sums, bool origins, void *base)
{
    ct_carve c = { base, 0 };
    const size_t cols = (size_t)g->cols, parts = (size_t)(g->pieces.count * g->cols);
    g->mean = ct_carve_take(&c, cols * 4);
    g->scale = ct_carve_take(&c, cols * 4);
    g->shift = ct_carve_take(&c, cols * 4);
    g->bias = ct_carve_take(&c, cols * 4);
    if (sums) {
        g->part_s = ct_carve_take(&c, parts * sizeof(double));
        g->part_q = ct_carve_take(&c, parts * sizeof(double));
    }
    if (origins) g->origin = ct_carve_take(&c, parts * 4);
    return c.used;
}

static norm make(const ct_device *dev, const ct_tensor *x)
{
    norm g = { .kern = dev->kern, .x = *x };
    g.add.desc = g.dy.desc = g.out.desc = g.out2.desc = ct_absent_desc();
    g.cols = x->desc.ndim > 0 ? x->desc.dim[x->desc.ndim - 1] : 1;
    g.rows = 1;
    for (int i = 0; i + 1 < x->desc.ndim; i++) g.rows *= x->desc.dim[i];
    g.pieces = ct_cpu_pieces(g.rows, PIECE_ROWS, ct_max64(PIECE_ROWS, 16384 / ct_max64(1, g.cols)));
    return g;
}

static norm make_forward(const ct_device *dev, const ct_call *c)
{
    norm g = make(dev, &c->in[0]);
    if (c->nin > 5) g.add = c->in[5];
    g.call = c;
    g.out = c->out[0];
    g.relu = c->attrs.norm.act == CT_NORM_RELU;
    g.silu = c->attrs.norm.act == CT_NORM_SILU;
    g.beta = c->in[2].data;
    if (c->nout > 3 && ct_present(&c->out[3])) g.mask = c->out[3].data;
    g.whole = g.x.desc.dtype == CT_F32 && g.out.desc.dtype == CT_F32 && (!given(&g.add) || g.add.desc.dtype == CT_F32);
    return g;
}

static norm make_backward(const ct_device *dev, const ct_call *c)
{
    norm g = make(dev, &c->in[1]);
    g.call = c;
    g.dy = c->in[0];
    if (c->attrs.norm.act == CT_NORM_RELU) g.mask = c->in[5].data;
    g.silu = c->attrs.norm.act == CT_NORM_SILU;
    if (g.silu) g.beta = c->in[6].data;
    if (c->nin > 7) g.add = c->in[7];
    g.out = c->out[0];
    if (c->nout > 3) g.out2 = c->out[3];
    g.whole = g.x.desc.dtype == CT_F32 && g.dy.desc.dtype == CT_F32 && g.out.desc.dtype == CT_F32 &&
              (!given(&g.out2) || g.out2.desc.dtype == CT_F32) && (!given(&g.add) || g.add.desc.dtype == CT_F32);
    return g;
}

/* The tensors with one element a pixel may have 16 bits; per-channel ones (first..last of in, and of out, and SiLU's beta) are f32. Masks
 * are what the rules say. */
static const char *refuse(const ct_call *c, int first, int last, int out_first, int out_last)
{
    for (int i = 0; i < c->nin; i++) {
        if (!ct_present(&c->in[i]) || c->in[i].desc.dtype == CT_U8) continue;
        const ct_dtype d = c->in[i].desc.dtype;
        if ((i >= first && i <= last) || i == 6 ? d != CT_F32 : !ct_cpu_type(d)) return CT_CPU_NO_TYPE;
    }
    for (int i = 0; i < c->nout; i++) {
        if (!ct_present(&c->out[i]) || c->out[i].desc.dtype == CT_U8) continue;
        const ct_dtype d = c->out[i].desc.dtype;
        if (i >= out_first && i <= out_last ? d != CT_F32 : !ct_cpu_type(d)) return CT_CPU_NO_TYPE;
    }
    return NULL;
}

/* What y = (x - mean)*scale + bias takes, from the statistics as they are stored: batchnorm_infer can repeat the y of
 * batchnorm bit for bit. */
static void set_channels(norm *g, const float *gamma, const float *beta, const float *mean, const float *invstd)
{
    for (int64_t k = 0; k < g->cols; k++) {
        g->mean[k] = mean[k];
        g->scale[k] = (float)((double)gamma[k] * (double)invstd[k]);
        g->bias[k] = beta[k];
    }
}

static ct_accept batchnorm_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = refuse(c, 1, 4, 1, 2);
    if (no) return ct_accept_no(no);
    norm g = make_forward(dev, c);
    if (g.rows < 2) return ct_accept_no("cpu: one value per channel has no variance");
    return ct_accept_yes(lay_out(&g, true, true, NULL));
}

/* Mean, and sum of squares about it, of `count` channels from c0 on, from those of the pieces: always added in their order. */
static void join_pieces(const norm *g, int64_t c0, int64_t count, double mean[CHANNELS], double m2[CHANNELS])
{
    const double n = (double)g->rows;
    for (int64_t k = 0; k < count; k++) mean[k] = m2[k] = 0;
    for (int64_t i = 0; i < g->pieces.count; i++) {
        const double *s = g->part_s + i * g->cols + c0, share = (double)rows_of(g, i) / n;
        for (int64_t k = 0; k < count; k++) mean[k] += s[k] * share;
    }
    for (int64_t i = 0; i < g->pieces.count; i++) {
        const double *s = g->part_s + i * g->cols + c0, *q = g->part_q + i * g->cols + c0, rows = (double)rows_of(g, i);
        for (int64_t k = 0; k < count; k++) m2[k] += q[k] + (s[k] - mean[k]) * (s[k] - mean[k]) * rows;
    }
}

/* What n rows say of `count` channels from c0 on: mean and invstd as they are stored, and the running statistics. */
static void put_statistics(const norm *g, int64_t c0, int64_t count, double n, const double *mean, double *m2)
{
    const ct_call *c = g->call;
    const ct_norm_attrs *a = &c->attrs.norm;
    float *run_mean = (float *)c->in[3].data + c0, *run_var = (float *)c->in[4].data + c0;
    float *mean_out = (float *)c->out[1].data + c0, *invstd_out = (float *)c->out[2].data + c0;
    for (int64_t k = 0; k < count; k++) {
        if (m2[k] < 0) m2[k] = 0; /* rounding; NaN stays */
        mean_out[k] = (float)mean[k];
        invstd_out[k] = (float)(1 / sqrt(m2[k] / n + a->eps));
        if (!a->update_stats) continue;
        const float m = (float)((1 - a->momentum) * (double)run_mean[k] + a->momentum * mean[k]);
        const float v = (float)((1 - a->momentum) * (double)run_var[k] + a->momentum * (m2[k] / (n - 1)));
        if (isfinite(m) && isfinite(v)) { /* a batch that overflowed must not stay in them */
            run_mean[k] = m;
            run_var[k] = v;
        }
    }
}

/* The statistics of a block of channels. */
static void statistics_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const norm *g = arg;
    const int64_t c0 = item * CHANNELS, count = ct_min64(CHANNELS, g->cols - c0);
    double mean[CHANNELS], m2[CHANNELS];
    join_pieces(g, c0, count, mean, m2);
    put_statistics(g, c0, count, (double)g->rows, mean, m2);
}

static ct_status batchnorm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    norm g = make_forward(dev, c);
    lay_out(&g, true, true, scratch);
    ct_cpu_for(dev, g.pieces.count, stats_item, &g);
    ct_cpu_for(dev, ct_ceil_div(g.cols, CHANNELS), statistics_item, &g);
    set_channels(&g, c->in[1].data, c->in[2].data, c->out[1].data, c->out[2].data);
    ct_cpu_for(dev, g.pieces.count, apply_item, &g);
    return CT_OK;
}

/* ---- statistics of a whole group ---- */

static ct_accept moments_accept(const ct_device *dev, const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    norm g = make(dev, &c->in[0]);
    return ct_accept_yes(lay_out(&g, true, true, NULL));
}

static void moments_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const norm *g = arg;
    const int64_t c0 = item * CHANNELS, count = ct_min64(CHANNELS, g->cols - c0);
    double mean[CHANNELS], m2[CHANNELS], *sum = (double *)g->call->out[0].data + c0, *square = sum + g->cols;
    join_pieces(g, c0, count, mean, m2);
    for (int64_t k = 0; k < count; k++) {
        sum[k] = mean[k] * (double)g->rows;
        square[k] = m2[k] + mean[k] * sum[k];
    }
}

static ct_status moments_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    norm g = make(dev, &c->in[0]);
    g.call = c;
    g.whole = g.x.desc.dtype == CT_F32;
    lay_out(&g, true, true, scratch);
    ct_cpu_for(dev, g.pieces.count, stats_item, &g);
    ct_cpu_for(dev, ct_ceil_div(g.cols, CHANNELS), moments_item, &g);
    return CT_OK;
}

static ct_accept moments_bwd_accept(const ct_device *dev, const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    norm g = make(dev, &c->in[0]);
    return ct_accept_yes(lay_out(&g, false, false, NULL));
}

/* dS + 2 x dQ is (x - m)*2dQ with m = -dS/2dQ, near the mean of x: written so, little is lost where x is far from 0. */
static ct_status moments_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    norm g = make(dev, &c->in[0]);
    const double *ds = c->in[1].data, *dq = ds + g.cols;
    g.call = c;
    g.out = c->out[0];
    g.whole = g.x.desc.dtype == CT_F32;
    lay_out(&g, false, false, scratch);
    for (int64_t k = 0; k < g.cols; k++) {
        const double middle = -ds[k] / (2 * dq[k]);
        const bool shifted = fabs(middle) < 1e6; /* else, or where that is no number, x is small beside dS */
        g.mean[k] = shifted ? (float)middle : 0;
        g.scale[k] = (float)(2 * dq[k]);
        g.bias[k] = (float)(ds[k] + 2 * dq[k] * (double)g.mean[k]);
    }
    ct_cpu_for(dev, g.pieces.count, apply_item, &g);
    return CT_OK;
}

static ct_accept joint_accept(const ct_device *dev, const ct_call *c)
{
    ct_call seen = *c;
    seen.nin = 6; /* moments are always f64 */
    const char *no = refuse(&seen, 1, 4, 1, 2);
    if (no) return ct_accept_no(no);
    norm g = make_forward(dev, &seen);
    return ct_accept_yes(lay_out(&g, false, false, NULL));
}

static ct_status joint_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    norm g = make_forward(dev, c);
    const double n = (double)c->attrs.norm.total, *sum = c->in[6].data, *square = sum + g.cols;
    lay_out(&g, false, false, scratch);
    for (int64_t c0 = 0; c0 < g.cols; c0 += CHANNELS) {
        const int64_t count = ct_min64(CHANNELS, g.cols - c0);
        double mean[CHANNELS], m2[CHANNELS];
        for (int64_t k = 0; k < count; k++) {
            mean[k] = sum[c0 + k] / n;
            m2[k] = square[c0 + k] - sum[c0 + k] * mean[k];
        }
        put_statistics(&g, c0, count, n, mean, m2);
    }
    set_channels(&g, c->in[1].data, c->in[2].data, c->out[1].data, c->out[2].data);
    ct_cpu_for(dev, g.pieces.count, apply_item, &g);
    return CT_OK;
}

static ct_accept batchnorm_infer_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = refuse(c, 1, 4, 1, 0);
    if (no) return ct_accept_no(no);
    norm g = make_forward(dev, c);
    return ct_accept_yes(lay_out(&g, false, false, NULL));
}

static ct_status batchnorm_infer_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    norm g = make_forward(dev, c);
    lay_out(&g, false, false, scratch);
    const float *gamma = c->in[1].data, *beta = c->in[2].data, *mean = c->in[3].data, *var = c->in[4].data;
    if (c->attrs.norm.given_invstd)
        set_channels(&g, gamma, beta, mean, var);
    else
        for (int64_t k = 0; k < g.cols; k++) {
            g.mean[k] = mean[k];
            g.scale[k] = (float)((double)gamma[k] / sqrt((double)var[k] + c->attrs.norm.eps));
            g.bias[k] = beta[k];
        }
    ct_cpu_for(dev, g.pieces.count, apply_item, &g);
    return CT_OK;
}

static ct_accept batchnorm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = refuse(c, 2, 4, 1, 2);
    if (no) return ct_accept_no(no);
    if (c->nin > 8 && ct_present(&c->in[8])) return ct_accept_no("cpu: one dy alone; programs of this backend have no second one");
    if (c->attrs.norm.act == CT_NORM_RELU && (c->nin < 6 || !ct_present(&c->in[5]))) return ct_accept_no("cpu: act=relu needs the mask");
    norm g = make_backward(dev, c);
    return ct_accept_yes(lay_out(&g, true, false, NULL));
}

/* What SiLU's slope takes: the factors of y = (x - mean)*scale + beta, which dx takes too. */
static void set_slope(norm *g)
{
    const float *gamma = g->call->in[2].data, *invstd = g->call->in[4].data;
    for (int64_t k = 0; k < g->cols; k++) g->scale[k] = (float)((double)gamma[k] * (double)invstd[k]);
}

/* Sums of e, and of e*(x-mean), of `count` channels from c0 on, from those of the pieces. */
static void join_sums(const norm *g, int64_t c0, int64_t count, double sum[CHANNELS], double sum_x[CHANNELS])
{
    for (int64_t k = 0; k < count; k++) sum[k] = sum_x[k] = 0;
    for (int64_t i = 0; i < g->pieces.count; i++) {
        const double *s = g->part_s + i * g->cols + c0, *q = g->part_q + i * g->cols + c0;
        for (int64_t k = 0; k < count; k++) {
            sum[k] += s[k];
            sum_x[k] += q[k];
        }
    }
}

/* dgamma and dbeta of a block of channels, and what dx takes of them. */
static void gradients_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    norm *g = arg;
    const ct_call *c = g->call;
    const int64_t c0 = item * CHANNELS, count = ct_min64(CHANNELS, g->cols - c0);
    const float *gamma = (const float *)c->in[2].data + c0, *invstd = (const float *)c->in[4].data + c0;
    float *dgamma = (float *)c->out[1].data + c0, *dbeta = (float *)c->out[2].data + c0;
    const double n = (double)g->rows;
    double sum[CHANNELS], sum_x[CHANNELS];
    join_sums(g, c0, count, sum, sum_x);
    for (int64_t k = 0; k < count; k++) {
        const double is = (double)invstd[k], scale = (double)gamma[k] * is;
        dgamma[k] = (float)(sum_x[k] * is);
        dbeta[k] = (float)sum[k];
        g->scale[c0 + k] = (float)scale;
        g->shift[c0 + k] = (float)(-scale * is * is * sum_x[k] / n);
        g->bias[c0 + k] = (float)(-scale * sum[k] / n);
    }
}

/* Of a norm over a whole group: dgamma and dbeta of this member's rows, and what goes to the moments. */
static void joint_sums_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    norm *g = arg;
    const ct_call *c = g->call;
    const int64_t c0 = item * CHANNELS, count = ct_min64(CHANNELS, g->cols - c0);
    const float *gamma = (const float *)c->in[2].data + c0, *mean = (const float *)c->in[3].data + c0;
    const float *invstd = (const float *)c->in[4].data + c0;
    float *dgamma = (float *)c->out[0].data + c0, *dbeta = (float *)c->out[1].data + c0;
    const double n = (double)c->attrs.norm.total;
    double *ds = (double *)c->out[2].data + c0, *dq = ds + g->cols, sum[CHANNELS], sum_x[CHANNELS];
    join_sums(g, c0, count, sum, sum_x);
    for (int64_t k = 0; k < count; k++) {
        const double is = (double)invstd[k], scale = (double)gamma[k] * is;
        dgamma[k] = (float)(sum_x[k] * is);
        dbeta[k] = (float)sum[k];
        ds[k] = -scale * (sum[k] - (double)mean[k] * is * is * sum_x[k]) / n;
        dq[k] = -scale * is * is * sum_x[k] / (2 * n);
    }
}

/* Its calls as batchnorm_bwd's, whose outputs are dx, dgamma, dbeta, dadd; moments, which are always f64, are left out. */
static ct_call as_backward(const ct_call *c)
{
    ct_call b = *c;
    const bool sums = c->op == CT_OP_BATCHNORM_JOINT_SUMS;
    if (b.nin > 8) b.nin = 8;
    b.nout = 4;
    for (int i = 0; i < 4; i++) b.out[i].desc = ct_absent_desc();
    if (!sums) b.out[0] = c->out[0];
    if (!sums && c->nout > 1) b.out[3] = c->out[1];
    return b;
}

static ct_accept joint_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const ct_call seen = as_backward(c);
    const char *no = refuse(&seen, 2, 4, 1, 2);
    if (no) return ct_accept_no(no);
    norm g = make_backward(dev, &seen);
    return ct_accept_yes(lay_out(&g, c->op == CT_OP_BATCHNORM_JOINT_SUMS, false, NULL));
}

static ct_status joint_sums_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const ct_call seen = as_backward(c);
    norm g = make_backward(dev, &seen);
    g.whole = g.x.desc.dtype == CT_F32 && g.dy.desc.dtype == CT_F32 && (!given(&g.add) || g.add.desc.dtype == CT_F32);
    g.call = c;
    lay_out(&g, true, false, scratch);
    memcpy(g.mean, c->in[3].data, (size_t)g.cols * sizeof *g.mean);
    set_slope(&g);
    ct_cpu_for(dev, g.pieces.count, bwd_sums_item, &g);
    ct_cpu_for(dev, ct_ceil_div(g.cols, CHANNELS), joint_sums_item, &g);
    return CT_OK;
}

/* dx = scale*e + dS + 2 x dQ, the latter about the mean of x, so that little is lost where x is far from 0. */
static ct_status joint_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const ct_call seen = as_backward(c);
    norm g = make_backward(dev, &seen);
    const double *ds = c->nin > 8 && ct_present(&c->in[8]) ? c->in[8].data : NULL;
    lay_out(&g, false, false, scratch);
    memcpy(g.mean, c->in[3].data, (size_t)g.cols * sizeof *g.mean);
    set_slope(&g);
    for (int64_t k = 0; k < g.cols; k++) {
        g.shift[k] = ds ? (float)(2 * ds[g.cols + k]) : 0;
        g.bias[k] = ds ? (float)(ds[k] + 2 * ds[g.cols + k] * (double)g.mean[k]) : 0;
    }
    ct_cpu_for(dev, g.pieces.count, bwd_apply_item, &g);
    return CT_OK;
}

static ct_status batchnorm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    norm g = make_backward(dev, c);
    lay_out(&g, true, false, scratch);
    memcpy(g.mean, c->in[3].data, (size_t)g.cols * sizeof *g.mean);
    if (g.silu) set_slope(&g);
    ct_cpu_for(dev, g.pieces.count, bwd_sums_item, &g);
    ct_cpu_for(dev, ct_ceil_div(g.cols, CHANNELS), gradients_item, &g);
    ct_cpu_for(dev, g.pieces.count, bwd_apply_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM, "cpu.vector", CT_CPU_TUNED, batchnorm_accept, batchnorm_run },
    { CT_OP_BATCHNORM_MOMENTS, "cpu.vector", CT_CPU_TUNED, moments_accept, moments_run },
    { CT_OP_BATCHNORM_MOMENTS_BWD, "cpu.vector", CT_CPU_TUNED, moments_bwd_accept, moments_bwd_run },
    { CT_OP_BATCHNORM_JOINT, "cpu.vector", CT_CPU_TUNED, joint_accept, joint_run },
    { CT_OP_BATCHNORM_JOINT_SUMS, "cpu.vector", CT_CPU_TUNED, joint_bwd_accept, joint_sums_run },
    { CT_OP_BATCHNORM_JOINT_BWD, "cpu.vector", CT_CPU_TUNED, joint_bwd_accept, joint_bwd_run },
    { CT_OP_BATCHNORM_INFER, "cpu.vector", CT_CPU_TUNED, batchnorm_infer_accept, batchnorm_infer_run },
    { CT_OP_BATCHNORM_BWD, "cpu.vector", CT_CPU_TUNED, batchnorm_bwd_accept, batchnorm_bwd_run },
};
const ct_impl_set ct_cpu_norm_impls = CT_IMPL_SET(impls);
