/* batchnorm, batchnorm_joint, batchnorm_infer, batchnorm_bwd, and what all batch norms share (norm.h). Rows
 * are cut into pieces, the same for any number of threads. Training forward reads x twice: sums of every piece about a
 * value near its own mean, added up in f64 (Chan, Golub & LeVeque's pairwise formula), unless moments are given, then y. Backward reads its inputs
 * twice: the two sums, then dx. The second pass goes backwards, so that it begins with what the first left in the cache.
 * 16-bit tensors pass through f32 blocks on the stack. */
#include "config.h"

#include "backends/cpu/norm.h"

#include <math.h>
#include <string.h>

#include "ops/math/mask_math.h"

#define PIECE_ROWS 64 /* least rows of a piece */
#define SUM_COLS 128 /* columns of a block that is summed: long enough pieces of a row, and rows enough for each sum */

/* Calls n 16-bit numbers into the cache: processors do not foresee parts of rows. */
static void fetch(const void *p, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i += 64) __builtin_prefetch((const char *)p + i, 0, 2);
}

static const float *rows_at(const ct_norm *g, const ct_tensor *t, int64_t r, int64_t rows, int64_t c, int64_t cols,
                            float *buf)
{
    if (!ct_norm_given(t)) return NULL;
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

static float *out_at(const ct_norm *g, const ct_tensor *t, int64_t r, float *buf)
{
    if (!ct_norm_given(t)) return NULL;
    return g->whole ? (float *)t->data + r * g->cols : buf;
}

static void out_end(const ct_norm *g, const ct_tensor *t, int64_t r, int64_t rows, int64_t c, int64_t cols,
                    const float *buf)
{
    if (!ct_norm_given(t) || g->whole) return;
    if (cols == g->cols) {
        ct_cpu_to_type(g->kern, t->desc.dtype, buf, rows * cols, t->data, r * cols);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        ct_cpu_to_type(g->kern, t->desc.dtype, buf + i * cols, cols, t->data, (r + i) * g->cols + c);
}

enum pass { STATS, APPLY, BWD_SUMS, BWD_APPLY };

bool ct_norm_past_cache(const ct_norm *g, const ct_tensor *t)
{
    if (!ct_norm_given(t) || !g->whole || t->desc.dtype != CT_F32) return false;
    const void *p = t->data;
    if (p == g->x.data || (ct_norm_given(&g->dy) && p == g->dy.data) || (ct_norm_given(&g->add) && p == g->add.data)) return false;
    return ct_cpu_past_cache(g->kern, p, ct_desc_numel(&t->desc), g->cols);
}

/* The largest f32 that becomes zero in a type: half its smallest number. */
static float floor_of(ct_dtype t)
{
    return t == CT_F16 ? 0x1p-25f : t == CT_BF16 ? 0x1p-134f : 0;
}

/* What all passes' kernels take of rows r.. and columns c.. alike. */
static ct_bn_block block_at(const ct_norm *g, int64_t r, int64_t rows, int64_t c, int64_t cols)
{
    ct_bn_block b = { .rows = rows, .cols = cols, .ld = cols, .relu = g->relu };
    b.mean = g->mean + c;
    b.scale = g->scale + c;
    b.shift = g->shift + c;
    b.bias = g->bias + c;
    b.beta = g->silu ? g->beta + c : NULL;
    b.mask_ld = ct_mask_bytes(g->cols);
    b.mask = g->mask ? g->mask + r * b.mask_ld + c / 8 : NULL;
    b.floor = floor_of(g->out.desc.dtype);
    return b;
}

/* One pass over a block of rows; made: the rows made for it, or NULL. */
static void walk_block(const ct_norm *g, enum pass pass, int64_t r0, int64_t r1, int64_t at, const float *made)
{
    const int64_t most = pass == STATS || pass == BWD_SUMS ? SUM_COLS : CT_NORM_TILE;
    const int64_t step_c = g->whole || made ? g->cols : ct_min64(g->cols, most);
    const int64_t step_r = g->whole ? r1 - r0 : CT_NORM_TILE / step_c;
    float buf[3][CT_NORM_TILE];
    for (int64_t r = r0; r < r1; r += step_r)
        for (int64_t c = 0; c < g->cols; c += step_c) {
            const int64_t rows = ct_min64(step_r, r1 - r), cols = ct_min64(step_c, g->cols - c);
            const float *given = made ? made + (r - r0) * g->cols : NULL;
            ct_bn_block b = block_at(g, r, rows, c, cols);
            b.x = rows_at(g, &g->x, r, rows, c, cols, buf[0]);
            switch (pass) {
            case STATS:
                b.shift = g->origin + at + c;
                g->kern->norm->stats(&b, g->part_s + at + c, g->part_q + at + c);
                break;
            case APPLY:
                b.add = given ? given : rows_at(g, &g->add, r, rows, c, cols, buf[1]);
                b.out = out_at(g, &g->out, r, buf[2]);
                b.stream = ct_norm_past_cache(g, &g->out);
                (g->silu ? g->kern->silu->apply : g->kern->norm->apply)(&b);
                out_end(g, &g->out, r, rows, c, cols, b.out);
                break;
            case BWD_SUMS:
                b.dy = given ? given : rows_at(g, &g->dy, r, rows, c, cols, buf[1]);
                b.add = rows_at(g, &g->add, r, rows, c, cols, buf[2]);
                (g->silu ? g->kern->silu->bwd_sums : g->kern->norm->bwd_sums)(&b, g->part_s + at + c, g->part_q + at + c);
                break;
            case BWD_APPLY:
                b.dy = given ? given : rows_at(g, &g->dy, r, rows, c, cols, buf[1]);
                b.add = rows_at(g, &g->add, r, rows, c, cols, buf[2]);
                b.out = out_at(g, &g->out, r,
                               buf[0]); /* the kernel reads an element's inputs before it writes its outputs */
                b.out2 = out_at(g, &g->out2, r, buf[1]);
                b.stream = ct_norm_past_cache(g, &g->out);
                b.stream2 = ct_norm_past_cache(g, &g->out2);
                (g->silu ? g->kern->silu->bwd_apply : g->kern->norm->bwd_apply)(&b);
                out_end(g, &g->out, r, rows, c, cols, b.out);
                out_end(g, &g->out2, r, rows, c, cols, b.out2);
                break;
            }
        }
}

/* One pass over rows r0..r1-1; `at` is the piece's place in the partial sums. */
static void walk(const ct_norm *g, enum pass pass, int64_t r0, int64_t r1, int64_t at, int thread)
{
    const ct_norm_rows make = pass == APPLY ? g->make_add : pass == STATS ? NULL : g->make_dy;
    if (!make) {
        walk_block(g, pass, r0, r1, at, NULL);
        return;
    }
    float *made = g->made + (int64_t)thread * g->made_rows * g->cols;
    for (int64_t r = r0; r < r1; r += g->made_rows) {
        const int64_t rows = ct_min64(g->made_rows, r1 - r);
        make(g, r, rows, made, thread);
        walk_block(g, pass, r, r + rows, at, made);
    }
}

void ct_norm_apply_to(const ct_norm *g, int64_t r, int64_t rows, float *out)
{
    float buf[2][CT_NORM_TILE];
    ct_bn_block b = block_at(g, r, rows, 0, g->cols);
    b.x = rows_at(g, &g->x, r, rows, 0, g->cols, buf[0]);
    b.add = rows_at(g, &g->add, r, rows, 0, g->cols, buf[1]);
    b.out = out;
    g->kern->norm->apply(&b);
}

static void piece_rows(const ct_norm *g, int64_t item, int64_t *r0, int64_t *r1)
{
    *r0 = item * g->pieces.size;
    *r1 = ct_min64(g->rows, *r0 + g->pieces.size);
}

static int64_t rows_of(const ct_norm *g, int64_t item)
{
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    return r1 - r0;
}

static void stats_item(void *arg, int64_t item, int thread)
{
    const ct_norm *g = arg;
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
    walk(g, STATS, r0, r1, at, thread);
    /* Sums about the origin -> sum, exact where its terms are short numbers, and sum of squares about the mean. */
    const double n = (double)(r1 - r0);
    for (int64_t c = 0; c < g->cols; c++) {
        q[c] -= s[c] * (s[c] / n);
        s[c] += n * (double)origin[c];
    }
}

static void apply_item(void *arg, int64_t item, int thread)
{
    const ct_norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    walk(g, APPLY, r0, r1, 0, thread);
}

static void bwd_sums_item(void *arg, int64_t item, int thread)
{
    const ct_norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    const int64_t at = item * g->cols;
    for (int64_t c = 0; c < g->cols; c++) g->part_s[at + c] = g->part_q[at + c] = 0;
    walk(g, BWD_SUMS, r0, r1, at, thread);
}

static void bwd_apply_item(void *arg, int64_t item, int thread)
{
    const ct_norm *g = arg;
    int64_t r0, r1;
    piece_rows(g, item, &r0, &r1);
    walk(g, BWD_APPLY, r0, r1, 0, thread);
}

void ct_norm_stats(const ct_device *dev, ct_norm *g) { ct_cpu_for(dev, g->pieces.count, stats_item, g); }
void ct_norm_apply(const ct_device *dev, ct_norm *g) { ct_cpu_for_back(dev, g->pieces.count, apply_item, g); }
void ct_norm_bwd_sums(const ct_device *dev, ct_norm *g) { ct_cpu_for(dev, g->pieces.count, bwd_sums_item, g); }
void ct_norm_bwd_apply(const ct_device *dev, ct_norm *g) { ct_cpu_for_back(dev, g->pieces.count, bwd_apply_item, g); }

size_t ct_norm_lay_out(ct_norm *g, bool sums, bool origins, void *base)
{
    ct_carve c = { base, 0 };
    const size_t cols = (size_t)g->cols, parts = (size_t)(g->pieces.count * g->cols);
    g->mean = ct_carve_take(&c, cols * 4);
    g->scale = ct_carve_take(&c, cols * 4);
    g->shift = ct_carve_take(&c, cols * 4);
    g->bias = ct_carve_take(&c, cols * 4);
    if (sums && !g->moments) {
        g->part_s = ct_carve_take(&c, parts * sizeof(double));
        g->part_q = ct_carve_take(&c, parts * sizeof(double));
    }
    if (origins && !g->moments) g->origin = ct_carve_take(&c, parts * 4);
    if (g->made_rows > 0) g->made = ct_carve_take(&c, (size_t)(g->threads * g->made_rows * g->cols) * 4);
    return c.used;
}

ct_norm ct_norm_make(const ct_device *dev, const ct_tensor *x)
{
    ct_norm g = { .kern = dev->kern, .threads = dev->threads, .x = *x };
    g.add.desc = g.dy.desc = g.out.desc = g.out2.desc = ct_absent_desc();
    g.cols = x->desc.ndim > 0 ? x->desc.dim[x->desc.ndim - 1] : 1;
    g.rows = 1;
    for (int i = 0; i + 1 < x->desc.ndim; i++) g.rows *= x->desc.dim[i];
    g.pieces = ct_cpu_pieces(g.rows, PIECE_ROWS, ct_max64(PIECE_ROWS, 16384 / ct_max64(1, g.cols)));
    return g;
}

const char *ct_norm_make_rows(ct_norm *g, int64_t at_once)
{
    g->made_rows = at_once;
    g->pieces.size = ct_round_up(g->pieces.size, at_once);
    g->pieces.count = ct_ceil_div(g->rows, g->pieces.size);
    return !g->whole && g->cols > CT_NORM_TILE ? "cpu: more than 2048 channels of 16 bits" : NULL;
}

ct_norm ct_norm_forward(const ct_device *dev, const ct_call *c)
{
    ct_norm g = ct_norm_make(dev, &c->in[0]);
    if (c->nin > 5) g.add = c->in[5];
    if (c->nin > 6 && ct_present(&c->in[6])) g.moments = &c->in[6];
    g.total = c->op == CT_OP_BATCHNORM_JOINT ? c->attrs.norm.total : g.rows;
    g.call = c;
    g.out = c->out[0];
    g.relu = c->attrs.norm.act == CT_NORM_RELU;
    g.silu = c->attrs.norm.act == CT_NORM_SILU;
    g.beta = c->in[2].data;
    if (c->nout > 3 && ct_present(&c->out[3])) g.mask = c->out[3].data;
    g.whole = g.x.desc.dtype == CT_F32 && g.out.desc.dtype == CT_F32 && (!ct_norm_given(&g.add) || g.add.desc.dtype == CT_F32);
    return g;
}

ct_norm ct_norm_backward(const ct_device *dev, const ct_call *c)
{
    ct_norm g = ct_norm_make(dev, &c->in[1]);
    g.call = c;
    g.dy = c->in[0];
    if (c->attrs.norm.act == CT_NORM_RELU) g.mask = c->in[5].data;
    g.silu = c->attrs.norm.act == CT_NORM_SILU;
    if (g.silu) g.beta = c->in[6].data;
    if (c->nin > 7) g.add = c->in[7];
    g.out = c->out[0];
    if (c->nout > 3) g.out2 = c->out[3];
    g.whole = g.x.desc.dtype == CT_F32 && g.dy.desc.dtype == CT_F32 && g.out.desc.dtype == CT_F32 &&
              (!ct_norm_given(&g.out2) || g.out2.desc.dtype == CT_F32) && (!ct_norm_given(&g.add) || g.add.desc.dtype == CT_F32);
    return g;
}

const char *ct_norm_refuse(const ct_call *c, int first, int last, int out_first, int out_last)
{
    for (int i = 0; i < c->nin; i++) {
        if (!ct_present(&c->in[i]) || c->in[i].desc.dtype == CT_U8 || (i >= 6 && c->in[i].desc.dtype == CT_F64)) continue;
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

void ct_norm_set_channels(ct_norm *g, const float *gamma, const float *beta, const float *mean, const float *invstd)
{
    for (int64_t k = 0; k < g->cols; k++) {
        g->mean[k] = mean[k];
        g->scale[k] = (float)((double)gamma[k] * (double)invstd[k]);
        g->bias[k] = beta[k];
    }
}

static ct_accept batchnorm_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = ct_norm_refuse(c, 1, 4, 1, 2);
    if (no) return ct_accept_no(no);
    ct_norm g = ct_norm_forward(dev, c);
    if (g.total < 2) return ct_accept_no("cpu: one value per channel has no variance");
    return ct_accept_yes(ct_norm_lay_out(&g, true, true, NULL));
}

void ct_norm_join_pieces(const ct_norm *g, int64_t c0, int64_t count, double mean[CT_NORM_CHANNELS], double m2[CT_NORM_CHANNELS])
{
    const double n = (double)g->rows;
    for (int64_t k = 0; k < count; k++) mean[k] = m2[k] = 0;
    for (int64_t i = 0; i < g->pieces.count; i++) {
        const double *s = g->part_s + i * g->cols + c0;
        for (int64_t k = 0; k < count; k++) mean[k] += s[k];
    }
    for (int64_t k = 0; k < count; k++) mean[k] /= n;
    for (int64_t i = 0; i < g->pieces.count; i++) {
        const double *s = g->part_s + i * g->cols + c0, *q = g->part_q + i * g->cols + c0, rows = (double)rows_of(g, i);
        for (int64_t k = 0; k < count; k++) {
            const double d = s[k] / rows - mean[k];
            m2[k] += q[k] + d * d * rows;
        }
    }
}

/* What n rows say of `count` channels from c0 on: mean and invstd as they are stored, and the running statistics, of batchnorm's call. */
static void put_statistics(const ct_norm *g, int64_t c0, int64_t count, double n, const double *mean, double *m2)
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
    const ct_norm *g = arg;
    const int64_t c0 = item * CT_NORM_CHANNELS, count = ct_min64(CT_NORM_CHANNELS, g->cols - c0);
    const double n = (double)g->total;
    double mean[CT_NORM_CHANNELS], m2[CT_NORM_CHANNELS];
    if (g->moments) {
        const double *sum = (const double *)g->moments->data + c0, *square = sum + g->cols;
        for (int64_t k = 0; k < count; k++) {
            mean[k] = sum[k] / n;
            m2[k] = square[k] - sum[k] * mean[k];
        }
    } else {
        ct_norm_join_pieces(g, c0, count, mean, m2);
    }
    put_statistics(g, c0, count, n, mean, m2);
}

void ct_norm_measure(const ct_device *dev, ct_norm *g)
{
    const ct_call *c = g->call;
    if (!g->moments) ct_norm_stats(dev, g);
    ct_cpu_for(dev, ct_ceil_div(g->cols, CT_NORM_CHANNELS), statistics_item, g);
    ct_norm_set_channels(g, c->in[1].data, c->in[2].data, c->out[1].data, c->out[2].data);
}

static ct_status batchnorm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_norm g = ct_norm_forward(dev, c);
    ct_norm_lay_out(&g, true, true, scratch);
    ct_norm_measure(dev, &g);
    ct_norm_apply(dev, &g);
    return CT_OK;
}

static ct_accept batchnorm_infer_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = ct_norm_refuse(c, 1, 4, 1, 0);
    if (no) return ct_accept_no(no);
    ct_norm g = ct_norm_forward(dev, c);
    return ct_accept_yes(ct_norm_lay_out(&g, false, false, NULL));
}

static ct_status batchnorm_infer_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_norm g = ct_norm_forward(dev, c);
    ct_norm_lay_out(&g, false, false, scratch);
    const float *gamma = c->in[1].data, *beta = c->in[2].data, *mean = c->in[3].data, *var = c->in[4].data;
    if (c->attrs.norm.given_invstd)
        ct_norm_set_channels(&g, gamma, beta, mean, var);
    else
        for (int64_t k = 0; k < g.cols; k++) {
            g.mean[k] = mean[k];
            g.scale[k] = (float)((double)gamma[k] / sqrt((double)var[k] + c->attrs.norm.eps));
            g.bias[k] = beta[k];
        }
    ct_norm_apply(dev, &g);
    return CT_OK;
}

static ct_accept batchnorm_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = ct_norm_refuse(c, 2, 4, 1, 2);
    if (no) return ct_accept_no(no);
    if (c->nin > 8 && ct_present(&c->in[8])) return ct_accept_no("cpu: one dy alone; programs of this backend have no second one");
    if (c->attrs.norm.act == CT_NORM_RELU && (c->nin < 6 || !ct_present(&c->in[5]))) return ct_accept_no("cpu: act=relu needs the mask");
    ct_norm g = ct_norm_backward(dev, c);
    return ct_accept_yes(ct_norm_lay_out(&g, true, false, NULL));
}

/* What SiLU's slope takes: the factors of y = (x - mean)*scale + beta, which dx takes too. */
static void set_slope(ct_norm *g)
{
    const float *gamma = g->call->in[2].data, *invstd = g->call->in[4].data;
    for (int64_t k = 0; k < g->cols; k++) g->scale[k] = (float)((double)gamma[k] * (double)invstd[k]);
}

void ct_norm_join_sums(const ct_norm *g, int64_t c0, int64_t count, double sum[CT_NORM_CHANNELS], double sum_x[CT_NORM_CHANNELS])
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
    ct_norm *g = arg;
    const ct_call *c = g->call;
    const int64_t c0 = item * CT_NORM_CHANNELS, count = ct_min64(CT_NORM_CHANNELS, g->cols - c0);
    const float *gamma = (const float *)c->in[2].data + c0, *invstd = (const float *)c->in[4].data + c0;
    float *dgamma = (float *)c->out[1].data + c0, *dbeta = (float *)c->out[2].data + c0;
    const double n = (double)g->averaged;
    double sum[CT_NORM_CHANNELS], sum_x[CT_NORM_CHANNELS];
    ct_norm_join_sums(g, c0, count, sum, sum_x);
    for (int64_t k = 0; k < count; k++) {
        const double is = (double)invstd[k], scale = (double)gamma[k] * is;
        dgamma[k] = (float)(sum_x[k] * is);
        dbeta[k] = (float)sum[k];
        g->scale[c0 + k] = (float)scale;
        g->shift[c0 + k] = (float)(-scale * is * is * sum_x[k] / n);
        g->bias[c0 + k] = (float)(-scale * sum[k] / n);
    }
}

void ct_norm_begin_backward(ct_norm *g)
{
    memcpy(g->mean, g->call->in[3].data, (size_t)g->cols * sizeof *g->mean);
    set_slope(g);
}

void ct_norm_put_gradients(const ct_device *dev, ct_norm *g, int64_t rows)
{
    g->averaged = rows;
    ct_cpu_for(dev, ct_ceil_div(g->cols, CT_NORM_CHANNELS), gradients_item, g);
}

void ct_norm_differentiate(const ct_device *dev, ct_norm *g)
{
    ct_norm_begin_backward(g);
    ct_norm_bwd_sums(dev, g);
    ct_norm_put_gradients(dev, g, g->rows);
    ct_norm_bwd_apply(dev, g);
}

static ct_status batchnorm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_norm g = ct_norm_backward(dev, c);
    ct_norm_lay_out(&g, true, false, scratch);
    ct_norm_differentiate(dev, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM, "cpu.vector", CT_CPU_TUNED, batchnorm_accept, batchnorm_run },
    { CT_OP_BATCHNORM_JOINT, "cpu.vector", CT_CPU_TUNED, batchnorm_accept, batchnorm_run },
    { CT_OP_BATCHNORM_INFER, "cpu.vector", CT_CPU_TUNED, batchnorm_infer_accept, batchnorm_infer_run },
    { CT_OP_BATCHNORM_BWD, "cpu.vector", CT_CPU_TUNED, batchnorm_bwd_accept, batchnorm_bwd_run },
};
const ct_impl_set ct_cpu_norm_impls = CT_IMPL_SET(impls);
