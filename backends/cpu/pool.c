/* Pooling, one output row an item. Windows (or, backwards, pixels) whose taps all exist are one kernel call for the run
 * of them; those at the borders get a shorter list of taps. 16-bit rows are converted to thread scratch. */
#include "config.h"

#include "backends/cpu/pool.h"

#include <string.h>

typedef struct pool {
    const ct_kern *kern;
    const ct_call *call;
    const ct_tensor *big, *small; /* x or dx [n,h,w,c]; y or dy [n,p,q,c] */
    ct_pool_shape shape;
    bool max;
    int64_t rows_seen; /* of the input, by one row of the output */
    char *threads;
    size_t per_thread;
} pool;

static pool make(const ct_device *dev, const ct_call *c, bool bwd)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    pool g = { .kern = dev->kern, .call = c };
    g.big = bwd ? &c->out[0] : &c->in[0];
    g.small = bwd ? &c->in[0] : &c->out[0];
    const int64_t *big = g.big->desc.dim, *small = g.small->desc.dim;
    g.shape = (ct_pool_shape){ big[0], big[1], big[2], big[3], small[1], small[2],
                               a->ker_h, a->ker_w, a->stride_h, a->stride_w, a->pad_h, a->pad_w };
    g.max = c->op == CT_OP_MAXPOOL2D || c->op == CT_OP_MAXPOOL2D_BWD;
    g.rows_seen = bwd ? ct_min64(small[1], ct_ceil_div(a->ker_h, a->stride_h)) : ct_min64(big[1], a->ker_h);
    return g;
}

static size_t lay_out(pool *g, int threads, bool bwd, void *base)
{
    const ct_tensor *in = bwd ? g->small : g->big, *out = bwd ? g->big : g->small;
    const ct_pool_shape *s = &g->shape;
    ct_carve t = { NULL, 0 };
    if (in->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)(g->rows_seen * (bwd ? s->q : s->w) * s->c) * 4);
    if (out->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)((bwd ? s->w : s->q) * s->c) * 4);
    g->per_thread = t.used;
    g->threads = base;
    return g->per_thread * (size_t)threads;
}

/* Rows r0..r1-1 (of `width` pixels) of image n of t as f32; buf is used for 16 bits. */
static const float *input_rows(const pool *g, const ct_tensor *t, int64_t height, int64_t width, int64_t n, int64_t r0,
                               int64_t r1, float *buf)
{
    const int64_t line = width * g->shape.c;
    return ct_cpu_read(g->kern, t->desc.dtype, t->data, (n * height + r0) * line, (r1 - r0) * line, buf);
}

void ct_pool_rows(const ct_pool_shape *g, int64_t p, int64_t *r0, int64_t *r1)
{
    const int64_t top = p * g->stride_h - g->pad_h;
    *r0 = ct_max64(0, top);
    *r1 = ct_min64(g->h, top + g->ker_h);
}

bool ct_pool_windows(const ct_pool_shape *g, int64_t p, ct_pool_run *run)
{
    const int64_t q = run->first + run->n, top = p * g->stride_h - g->pad_h, left = q * g->stride_w - g->pad_w;
    const int64_t r0 = ct_max64(0, -top), r1 = ct_min64(g->ker_h, g->h - top); /* taps that exist */
    const int64_t s0 = ct_max64(0, -left), s1 = ct_min64(g->ker_w, g->w - left);
    if (q >= g->q) return false;
    run->first = q;
    run->n = 1;
    if (s0 == 0 && s1 == g->ker_w) /* whole windows as far as they go */
        run->n = ct_min64(g->q - q, (g->w - g->ker_w - left) / g->stride_w + 1);
    run->from = (left + s0) * g->c;
    run->taps = 0;
    for (int64_t r = r0; r < r1; r++)
        for (int64_t s = s0; s < s1; s++, run->taps++) {
            run->off[run->taps] = ((r - r0) * g->w + s - s0) * g->c;
            run->number[run->taps] = (int32_t)(r * g->ker_w + s);
        }
    return true;
}

static void forward_item(void *arg, int64_t item, int thread)
{
    const pool *g = arg;
    const ct_pool_shape *s = &g->shape;
    const ct_kern_pool *kern = g->kern->pool;
    const int64_t n = item / s->p, p = item % s->p, step = s->stride_w * s->c;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *in_buf = g->big->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->rows_seen * s->w * s->c) * 4) : NULL;
    float *out_buf = g->small->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(s->q * s->c) * 4) : NULL;
    int64_t r0, r1;
    ct_pool_rows(s, p, &r0, &r1);
    const float *x = input_rows(g, g->big, s->h, s->w, n, r0, r1, in_buf);
    const int64_t at = item * s->q * s->c;
    float *y = ct_cpu_write(g->small->desc.dtype, g->small->data, at, out_buf);
    uint8_t *code = g->max ? (uint8_t *)g->call->out[1].data + at : NULL;
    for (ct_pool_run run = { .n = 0 }; ct_pool_windows(s, p, &run);) {
        const int64_t to = run.first * s->c;
        if (g->max)
            kern->max_row(run.n, s->c, x + run.from, step, run.taps, run.off, run.number, y + to, code + to);
        else
            kern->sum_row(run.n, s->c, x + run.from, step, run.taps, run.off, 1.0f / (float)(s->ker_h * s->ker_w), y + to, s->c);
    }
    ct_cpu_write_end(g->kern, g->small->desc.dtype, g->small->data, at, s->q * s->c, y);
}

/* Taps of one axis that reach input pixel i: for each, o = window, k = tap of it. Returns how many. */
static int64_t covering(int64_t i, int64_t ker, int64_t stride, int64_t pad, int64_t windows, int64_t *o, int64_t *k)
{
    int64_t n = 0;
    for (int64_t r = 0; r < ker; r++) {
        const int64_t d = i + pad - r;
        if (d < 0 || d % stride != 0 || d / stride >= windows) continue;
        o[n] = d / stride;
        k[n++] = r;
    }
    return n;
}

void ct_pool_window_rows(const ct_pool_shape *g, int64_t h, int64_t *p0, int64_t *p1)
{
    int64_t p[CT_POOL_TAPS], r[CT_POOL_TAPS];
    const int64_t np = covering(h, g->ker_h, g->stride_h, g->pad_h, g->p, p, r); /* p falls as r rises */
    *p0 = np > 0 ? p[np - 1] : 0;
    *p1 = np > 0 ? p[0] + 1 : 0;
}

/* The pixel that the next run begins with: the next of this residue, else the first of the next. */
static int64_t next_pixel(const ct_pool_shape *g, const ct_pool_run *run)
{
    const int64_t w = run->first + run->n * g->stride_w;
    if (run->n == 0 || w < g->w) return w;
    const int64_t residue = run->first % g->stride_w + 1;
    return residue < g->stride_w ? residue : g->w;
}

/* The next run of pixels of row h, in rows *p0.. of windows; those of no window have no taps. false: there are no more. */
static bool next_pixels(const ct_pool_shape *g, int64_t h, ct_pool_run *run)
{
    int64_t p[CT_POOL_TAPS], r[CT_POOL_TAPS], q[CT_POOL_TAPS], s[CT_POOL_TAPS];
    const int64_t w = next_pixel(g, run);
    if (w >= g->w) return false;
    const int64_t np = covering(h, g->ker_h, g->stride_h, g->pad_h, g->p, p, r);
    const int64_t nq = np > 0 ? covering(w, g->ker_w, g->stride_w, g->pad_w, g->q, q, s) : 0;
    /* The following pixels of this residue see the same taps, one window further each, until the last window or one
     * that begins to the right of here is reached: possible only when all taps of the residue exist already. */
    int64_t all = 0;
    for (int64_t k = 0; k < g->ker_w; k++) all += (w + g->pad_w - k) % g->stride_w == 0;
    run->first = w;
    run->n = nq == all && nq > 0 ? ct_min64(g->q - q[0], ct_ceil_div(g->w - w, g->stride_w)) : 1;
    run->from = nq > 0 ? q[nq - 1] * g->c : 0;
    run->taps = 0;
    for (int64_t i = 0; i < np; i++)
        for (int64_t j = 0; j < nq; j++, run->taps++) {
            run->off[run->taps] = ((p[i] - p[np - 1]) * g->q + q[j] - q[nq - 1]) * g->c;
            run->number[run->taps] = (int32_t)(r[i] * g->ker_w + s[j]);
        }
    return true;
}

/* A row of a gradient: dx [w,c] of row h from dy, and for the largest from the numbers of the cells that were it (code; NULL: of the mean), both from row
 * *p0 of windows on. */
static void row_bwd(const ct_kern *k, const ct_pool_shape *g, int64_t h, const float *dy, const uint8_t *code, float *dx)
{
    const int64_t step = g->stride_w * g->c;
    for (ct_pool_run run = { .n = 0 }; next_pixels(g, h, &run);) {
        float *to = dx + run.first * g->c;
        if (run.taps == 0)
            memset(to, 0, (size_t)g->c * sizeof *to);
        else if (code)
            k->pool->max_row_bwd(run.n, g->c, dy + run.from, code + run.from, run.taps, run.off, run.number, to, step);
        else
            k->pool->sum_row(run.n, g->c, dy + run.from, g->c, run.taps, run.off, 1.0f / (float)(g->ker_h * g->ker_w), to, step);
    }
}

static void backward_item(void *arg, int64_t item, int thread)
{
    const pool *g = arg;
    const ct_pool_shape *s = &g->shape;
    const int64_t n = item / s->h, h = item % s->h, at = item * s->w * s->c;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *in_buf = g->small->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->rows_seen * s->q * s->c) * 4) : NULL;
    float *out_buf = g->big->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(s->w * s->c) * 4) : NULL;
    float *dx = ct_cpu_write(g->big->desc.dtype, g->big->data, at, out_buf);
    int64_t p0, p1;
    ct_pool_window_rows(s, h, &p0, &p1);
    const float *dy = p0 < p1 ? input_rows(g, g->small, s->p, s->q, n, p0, p1, in_buf) : NULL;
    const uint8_t *code = g->max ? (const uint8_t *)g->call->in[1].data + (n * s->p + p0) * s->q * s->c : NULL;
    row_bwd(g->kern, s, h, dy, code, dx);
    ct_cpu_write_end(g->kern, g->big->desc.dtype, g->big->data, at, s->w * s->c, dx);
}

static ct_accept accept_pool(const ct_device *dev, const ct_call *c, bool bwd)
{
    pool g = make(dev, c, bwd);
    if (!ct_cpu_type(g.big->desc.dtype) || !ct_cpu_type(g.small->desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (g.max && (bwd ? c->in[1].desc.dtype : c->out[1].desc.dtype) != CT_U8)
        return ct_accept_no("cpu: the index is not u8");
    if (g.shape.ker_h * g.shape.ker_w > CT_POOL_TAPS) return ct_accept_no("cpu: a window of more than 256 cells");
    if (g.shape.pad_h >= g.shape.ker_h || g.shape.pad_w >= g.shape.ker_w) return ct_accept_no("cpu: padding not smaller than the window");
    return ct_accept_yes(lay_out(&g, dev->threads, bwd, NULL));
}

static ct_status run_pool(const ct_device *dev, const ct_call *c, bool bwd, void *scratch)
{
    pool g = make(dev, c, bwd);
    lay_out(&g, dev->threads, bwd, scratch);
    ct_cpu_for(dev, g.shape.n * (bwd ? g.shape.h : g.shape.p), bwd ? backward_item : forward_item, &g);
    return CT_OK;
}

static ct_accept maxpool2d_accept(const ct_device *dev, const ct_call *c) { return accept_pool(dev, c, false); }
static ct_accept maxpool2d_bwd_accept(const ct_device *dev, const ct_call *c) { return accept_pool(dev, c, true); }
static ct_accept avgpool2d_accept(const ct_device *dev, const ct_call *c) { return accept_pool(dev, c, false); }
static ct_accept avgpool2d_bwd_accept(const ct_device *dev, const ct_call *c) { return accept_pool(dev, c, true); }

static ct_status maxpool2d_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_pool(dev, c, false, scratch);
}

static ct_status maxpool2d_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_pool(dev, c, true, scratch);
}

static ct_status avgpool2d_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_pool(dev, c, false, scratch);
}

static ct_status avgpool2d_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_pool(dev, c, true, scratch);
}

/* ---- global average ---- */

#define TILE 256 /* channels summed at a time */

typedef struct global {
    const ct_kern *kern;
    const ct_call *call;
    int64_t pixels, c;
} global;

static void global_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const global *g = arg;
    const ct_tensor *x = &g->call->in[0], *y = &g->call->out[0];
    float buf[8 * TILE], out[TILE];
    double sum[TILE];
    for (int64_t c = 0; c < g->c; c += TILE) {
        const int64_t cols = ct_min64(TILE, g->c - c);
        for (int64_t i = 0; i < cols; i++) sum[i] = 0;
        if (x->desc.dtype == CT_F32) {
            g->kern->sum->columns(g->pixels, cols, g->c, (const float *)x->data + item * g->pixels * g->c + c, sum);
        } else {
            for (int64_t p = 0; p < g->pixels; p += 8) {
                const int64_t rows = ct_min64(8, g->pixels - p);
                for (int64_t i = 0; i < rows; i++)
                    ct_cpu_to_f32(g->kern, x->desc.dtype, x->data, (item * g->pixels + p + i) * g->c + c, cols,
                                  buf + i * cols);
                g->kern->sum->columns(rows, cols, cols, buf, sum);
            }
        }
        for (int64_t i = 0; i < cols; i++) out[i] = (float)(sum[i] / (double)g->pixels);
        ct_cpu_to_type(g->kern, y->desc.dtype, out, cols, y->data, item * g->c + c);
    }
}

static void global_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const global *g = arg;
    const ct_tensor *dy = &g->call->in[0], *dx = &g->call->out[0];
    float v[TILE];
    for (int64_t c = 0; c < g->c; c += TILE) {
        const int64_t cols = ct_min64(TILE, g->c - c);
        ct_cpu_to_f32(g->kern, dy->desc.dtype, dy->data, item * g->c + c, cols, v);
        for (int64_t i = 0; i < cols; i++) v[i] /= (float)g->pixels;
        for (int64_t p = 0; p < g->pixels; p++)
            ct_cpu_to_type(g->kern, dx->desc.dtype, v, cols, dx->data, (item * g->pixels + p) * g->c + c);
    }
}

static ct_accept accept_global(const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype) || !ct_cpu_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    return ct_accept_yes(0);
}

static ct_status run_global(const ct_device *dev, const ct_call *c, const ct_desc *big, ct_cpu_body body)
{
    global g = { .kern = dev->kern, .call = c, .pixels = big->dim[1] * big->dim[2], .c = big->dim[3] };
    ct_cpu_for(dev, big->dim[0], body, &g);
    return CT_OK;
}

static ct_accept global_avgpool_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_global(c);
}

static ct_accept global_avgpool_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_global(c);
}

static ct_status global_avgpool_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run_global(dev, c, &c->in[0].desc, global_item);
}

static ct_status global_avgpool_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run_global(dev, c, &c->out[0].desc, global_bwd_item);
}

static const ct_impl impls[] = {
    { CT_OP_MAXPOOL2D, "cpu.vector", CT_CPU_TUNED, maxpool2d_accept, maxpool2d_run },
    { CT_OP_MAXPOOL2D_BWD, "cpu.vector", CT_CPU_TUNED, maxpool2d_bwd_accept, maxpool2d_bwd_run },
    { CT_OP_AVGPOOL2D, "cpu.vector", CT_CPU_TUNED, avgpool2d_accept, avgpool2d_run },
    { CT_OP_AVGPOOL2D_BWD, "cpu.vector", CT_CPU_TUNED, avgpool2d_bwd_accept, avgpool2d_bwd_run },
    { CT_OP_GLOBAL_AVGPOOL, "cpu.vector", CT_CPU_TUNED, global_avgpool_accept, global_avgpool_run },
    { CT_OP_GLOBAL_AVGPOOL_BWD, "cpu.vector", CT_CPU_TUNED, global_avgpool_bwd_accept, global_avgpool_bwd_run },
};
const ct_impl_set ct_cpu_pool_impls = CT_IMPL_SET(impls);
