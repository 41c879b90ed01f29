/* Pooling, one output row an item. Windows (or, backwards, pixels) whose taps all exist are one kernel call for the run
 * of them; those at the borders get a shorter list of taps. 16-bit rows are converted to thread scratch. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <string.h>

#define MAX_TAPS 256

typedef struct pool {
    const ct_kern *kern;
    const ct_call *call;
    const ct_tensor *big, *small; /* x or dx [n,h,w,c]; y or dy [n,p,q,c] */
    int64_t n, h, w, c, p, q;
    int64_t ker_h, ker_w, stride_h, stride_w, pad_h, pad_w;
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
    g.n = g.big->desc.dim[0];
    g.h = g.big->desc.dim[1];
    g.w = g.big->desc.dim[2];
    g.c = g.big->desc.dim[3];
    g.p = g.small->desc.dim[1];
    g.q = g.small->desc.dim[2];
    g.ker_h = a->ker_h;
    g.ker_w = a->ker_w;
    g.stride_h = a->stride_h;
    g.stride_w = a->stride_w;
    g.pad_h = a->pad_h;
    g.pad_w = a->pad_w;
    g.max = c->op == CT_OP_MAXPOOL2D || c->op == CT_OP_MAXPOOL2D_BWD;
    g.rows_seen = bwd ? ct_min64(g.p, ct_ceil_div(g.ker_h, g.stride_h)) : ct_min64(g.h, g.ker_h);
    return g;
}

static size_t lay_out(pool *g, int threads, bool bwd, void *base)
{
    const ct_tensor *in = bwd ? g->small : g->big, *out = bwd ? g->big : g->small;
    ct_carve t = { NULL, 0 };
    if (in->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)(g->rows_seen * (bwd ? g->q : g->w) * g->c) * 4);
    if (out->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)((bwd ? g->w : g->q) * g->c) * 4);
    g->per_thread = t.used;
    g->threads = base;
    return g->per_thread * (size_t)threads;
}

/* Rows r0..r1-1 (of `width` pixels) of image n of t as f32; buf is used for 16 bits. */
static const float *input_rows(const pool *g, const ct_tensor *t, int64_t height, int64_t width, int64_t n, int64_t r0,
                               int64_t r1, float *buf)
{
    const int64_t line = width * g->c;
    return ct_cpu_read(g->kern, t->desc.dtype, t->data, (n * height + r0) * line, (r1 - r0) * line, buf);
}

static void forward_item(void *arg, int64_t item, int thread)
{
    const pool *g = arg;
    const ct_kern_pool *kern = g->kern->pool;
    const int64_t n = item / g->p, p = item % g->p, top = p * g->stride_h - g->pad_h;
    const int64_t r0 = ct_max64(0, -top), r1 = ct_min64(g->ker_h, g->h - top); /* taps that exist */
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *in_buf = g->big->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->rows_seen * g->w * g->c) * 4) : NULL;
    float *out_buf = g->small->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->q * g->c) * 4) : NULL;
    const float *x = input_rows(g, g->big, g->h, g->w, n, top + r0, top + r1, in_buf); /* row r is at (r-r0)*w*c */
    const int64_t at = item * g->q * g->c;
    float *y = ct_cpu_write(g->small->desc.dtype, g->small->data, at, out_buf);
    uint8_t *code = g->max ? (uint8_t *)g->call->out[1].data + at : NULL;
    int64_t off[MAX_TAPS];
    int32_t number[MAX_TAPS];
    for (int64_t q = 0; q < g->q;) {
        const int64_t left = q * g->stride_w - g->pad_w, s0 = ct_max64(0, -left), s1 = ct_min64(g->ker_w, g->w - left);
        int64_t run = 1, taps = 0;
        if (s0 == 0 && s1 == g->ker_w) /* whole windows as far as they go */
            run = ct_min64(g->q - q, (g->w - g->ker_w - left) / g->stride_w + 1);
        for (int64_t r = r0; r < r1; r++)
            for (int64_t s = s0; s < s1; s++, taps++) {
                off[taps] = ((r - r0) * g->w + s - s0) * g->c;
                number[taps] = (int32_t)(r * g->ker_w + s);
            }
        const float *from = x + (left + s0) * g->c;
        if (g->max)
            kern->max_row(run, g->c, from, g->stride_w * g->c, taps, off, number, y + q * g->c, code + q * g->c);
        else
            kern->sum_row(run, g->c, from, g->stride_w * g->c, taps, off, 1.0f / (float)(g->ker_h * g->ker_w),
                          y + q * g->c, g->c);
        q += run;
    }
    ct_cpu_write_end(g->kern, g->small->desc.dtype, g->small->data, at, g->q * g->c, y);
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

static void backward_item(void *arg, int64_t item, int thread)
{
    const pool *g = arg;
    const ct_kern_pool *kern = g->kern->pool;
    const int64_t n = item / g->h, h = item % g->h;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *in_buf = g->small->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->rows_seen * g->q * g->c) * 4) : NULL;
    float *out_buf = g->big->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->w * g->c) * 4) : NULL;
    const int64_t at = item * g->w * g->c, line = g->q * g->c;
    float *dx = ct_cpu_write(g->big->desc.dtype, g->big->data, at, out_buf);
    int64_t p[MAX_TAPS], r[MAX_TAPS], q[MAX_TAPS], s[MAX_TAPS], off[MAX_TAPS];
    int32_t number[MAX_TAPS];
    const int64_t np = covering(h, g->ker_h, g->stride_h, g->pad_h, g->p, p, r);
    const float *dy = NULL;
    const uint8_t *code = NULL;
    int64_t p0 = 0;
    if (np > 0) { /* p falls as r rises */
        p0 = p[np - 1];
        dy = input_rows(g, g->small, g->p, g->q, n, p0, p[0] + 1, in_buf);
        if (g->max) code = (const uint8_t *)g->call->in[1].data + (n * g->p + p0) * line;
    }
    for (int64_t first = 0; first < ct_min64(g->stride_w, g->w); first++)
        for (int64_t w = first; w < g->w;) {
            const int64_t nq = np > 0 ? covering(w, g->ker_w, g->stride_w, g->pad_w, g->q, q, s) : 0;
            int64_t run = 1, taps = 0;
            /* The following pixels of this residue see the same taps, one window further each, until the last window or
             * one that begins to the right of here is reached: possible only when all taps of the residue exist
             * already. */
            int64_t all = 0;
            for (int64_t k = 0; k < g->ker_w; k++) all += (w + g->pad_w - k) % g->stride_w == 0;
            if (nq == all && nq > 0) run = ct_min64(g->q - q[0], ct_ceil_div(g->w - w, g->stride_w));
            for (int64_t i = 0; i < np; i++)
                for (int64_t j = 0; j < nq; j++, taps++) {
                    off[taps] = ((p[i] - p0) * g->q + q[j] - q[nq - 1]) * g->c;
                    number[taps] = (int32_t)(r[i] * g->ker_w + s[j]);
                }
            float *to = dx + w * g->c;
            const int64_t step = g->stride_w * g->c, from = nq > 0 ? q[nq - 1] * g->c : 0;
            if (taps == 0)
                memset(to, 0, (size_t)g->c * sizeof *to);
            else if (g->max)
                kern->max_row_bwd(run, g->c, dy + from, code + from, taps, off, number, to, step);
            else
                kern->sum_row(run, g->c, dy + from, g->c, taps, off, 1.0f / (float)(g->ker_h * g->ker_w), to, step);
            w += run * g->stride_w;
        }
    ct_cpu_write_end(g->kern, g->big->desc.dtype, g->big->data, at, g->w * g->c, dx);
}

static ct_accept accept_pool(const ct_device *dev, const ct_call *c, bool bwd)
{
    pool g = make(dev, c, bwd);
    if (!ct_cpu_type(g.big->desc.dtype) || !ct_cpu_type(g.small->desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (g.max && (bwd ? c->in[1].desc.dtype : c->out[1].desc.dtype) != CT_U8)
        return ct_accept_no("cpu: the index is not u8");
    if (g.ker_h * g.ker_w > MAX_TAPS) return ct_accept_no("cpu: a window of more than 256 cells");
    if (g.pad_h >= g.ker_h || g.pad_w >= g.ker_w) return ct_accept_no("cpu: padding not smaller than the window");
    return ct_accept_yes(lay_out(&g, dev->threads, bwd, NULL));
}

static ct_status run_pool(const ct_device *dev, const ct_call *c, bool bwd, void *scratch)
{
    pool g = make(dev, c, bwd);
    lay_out(&g, dev->threads, bwd, scratch);
    ct_cpu_for(dev, g.n * (bwd ? g.h : g.p), bwd ? backward_item : forward_item, &g);
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
