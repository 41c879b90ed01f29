/* batchnorm_pool and its gradient: a batch norm with ReLU and the largest of its windows, whose full y is never stored. A row of windows an item normalises
 * the pixels of its cells as it compares them; 16-bit ones are normalised and rounded before, in thread scratch, since what is compared is what would
 * have been stored. Backwards both passes read dy of windows, a quarter of the gradient that pooling would have stored: kernels give it to the pixels
 * of windows of 2x2; where windows overlap, they add it up for the pixels of a row. */
#include "config.h"

#include "backends/cpu/norm.h"
#include "backends/cpu/pool.h"

#include <string.h>

#include "ops/math/mask_math.h"

#define PIECE_ELEMS 16384 /* least of x in a piece */

typedef struct pooled {
    ct_norm norm;
    ct_pool_shape shape;
    const ct_tensor *small; /* y or dy [n,p,q,c] */
    uint8_t *index;         /* like it */
    int64_t rows_seen;      /* of pixels, by a row of windows; of windows, by a row of pixels */
    char *threads;
    size_t per_thread;
} pooled;

static bool narrow(const ct_tensor *t) { return t->desc.dtype != CT_F32; }

static void set_shape(pooled *g, const ct_tensor *x, const ct_tensor *small, bool overlap)
{
    const int64_t *d = x->desc.dim, *e = small->desc.dim, ker = overlap ? 3 : 2, pad = overlap;
    g->shape = (ct_pool_shape){ d[0], d[1], d[2], d[3], e[1], e[2], ker, ker, 2, 2, pad, pad };
    g->small = small;
}

static void *of_thread(const pooled *g, int thread) { return g->threads + g->per_thread * (size_t)thread; }

/* ---- forward ---- */

/* Scratch of each thread, behind that of the norm: 16-bit pixels of a row of windows, once more as f32, and its y. */
static size_t lay_out_forward(pooled *g, void *base)
{
    const ct_pool_shape *s = &g->shape;
    const size_t line = (size_t)(s->w * s->c);
    const size_t norm = ct_norm_lay_out(&g->norm, true, true, base);
    ct_carve t = { NULL, 0 };
    if (narrow(&g->norm.x)) {
        ct_carve_take(&t, (size_t)g->rows_seen * line * 4);
        ct_carve_take(&t, (size_t)g->rows_seen * line * 2);
        ct_carve_take(&t, (size_t)(s->q * s->c) * 4);
    }
    g->per_thread = t.used;
    g->threads = base ? (char *)base + norm : NULL;
    return norm + g->per_thread * (size_t)g->norm.threads;
}

static pooled make_forward(const ct_device *dev, const ct_call *c)
{
    pooled g = { .norm = ct_norm_forward(dev, c), .index = c->out[3].data };
    set_shape(&g, &c->in[0], &c->out[0], c->attrs.norm.overlap != 0);
    g.norm.mask = NULL;
    g.norm.whole = g.norm.x.desc.dtype == CT_F32;
    g.rows_seen = ct_min64(g.shape.h, g.shape.ker_h);
    return g;
}

/* Rows r0..r1-1 of image n, normalised and as they would be stored, to buf; as16 is room for them. */
static const float *rounded_rows(const pooled *g, int64_t n, int64_t r0, int64_t r1, float *buf, void *as16)
{
    const ct_pool_shape *s = &g->shape;
    const ct_norm *m = &g->norm;
    const ct_dtype type = m->x.desc.dtype;
    const int64_t pixels = (r1 - r0) * s->w, elems = pixels * s->c;
    ct_cpu_to_f32(m->kern, type, m->x.data, (n * s->h + r0) * s->w * s->c, elems, buf);
    const ct_bn_block b = { .rows = pixels, .cols = s->c, .ld = s->c, .relu = true, .x = buf, .out = buf,
                            .mean = m->mean, .scale = m->scale, .bias = m->bias };
    m->kern->norm->apply(&b);
    ct_cpu_to_type(m->kern, g->small->desc.dtype, buf, elems, as16, 0);
    ct_cpu_to_f32(m->kern, g->small->desc.dtype, as16, 0, elems, buf);
    return buf;
}

static void forward_item(void *arg, int64_t item, int thread)
{
    const pooled *g = arg;
    const ct_pool_shape *s = &g->shape;
    const ct_norm *m = &g->norm;
    const int64_t n = item / s->p, p = item % s->p, line = s->w * s->c, at = item * s->q * s->c;
    ct_carve t = { of_thread(g, thread), 0 };
    ct_norm_windows v = { .c = s->c, .step = 2 * s->c, .none = (int32_t)(s->ker_h * s->ker_w) };
    int64_t r0, r1;
    const float *x;
    ct_pool_rows(s, p, &r0, &r1);
    if (narrow(&m->x)) {
        float *buf = ct_carve_take(&t, (size_t)(g->rows_seen * line) * 4);
        x = rounded_rows(g, n, r0, r1, buf, ct_carve_take(&t, (size_t)(g->rows_seen * line) * 2));
    } else {
        x = (const float *)m->x.data + (n * s->h + r0) * line;
        v.mean = m->mean;
        v.scale = m->scale;
        v.bias = m->bias;
    }
    float *y = ct_cpu_write(g->small->desc.dtype, g->small->data, at,
                            narrow(g->small) ? ct_carve_take(&t, (size_t)(s->q * s->c) * 4) : NULL);
    for (ct_pool_run run = { .n = 0 }; ct_pool_windows(s, p, &run);) {
        v.n = run.n;
        v.x = x + run.from;
        v.taps = run.taps;
        v.off = run.off;
        v.number = run.number;
        v.y = y + run.first * s->c;
        v.code = g->index + at + run.first * s->c;
        m->kern->norm_pool->max_row(&v);
    }
    ct_cpu_write_end(m->kern, g->small->desc.dtype, g->small->data, at, s->q * s->c, y);
}

static ct_accept batchnorm_pool_accept(const ct_device *dev, const ct_call *c)
{
    ct_call seen = *c;
    seen.nout = 3; /* the index is what the rules say */
    const char *no = ct_norm_refuse(&seen, 1, 4, 1, 2);
    if (no) return ct_accept_no(no);
    pooled g = make_forward(dev, c);
    if (g.norm.x.desc.dtype != g.small->desc.dtype) return ct_accept_no("cpu: y is not of the type of x");
    if (g.norm.rows < 2) return ct_accept_no("cpu: one value per channel has no variance");
    return ct_accept_yes(lay_out_forward(&g, NULL));
}

static ct_status batchnorm_pool_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    pooled g = make_forward(dev, c);
    lay_out_forward(&g, scratch);
    ct_norm_measure(dev, &g.norm);
    ct_cpu_for(dev, g.shape.n * g.shape.p, forward_item, &g);
    return CT_OK;
}

/* ---- backward ---- */

/* A row an item of a piece: of windows of 2x2 and its two rows of pixels, or of pixels where windows overlap. */

static bool overlaps(const pooled *g) { return g->shape.ker_h == 3; }

/* Pixels that kernels take at a time where windows overlap: 16-bit ones as many as stay in the L1 cache as f32. */
static int64_t strip(const pooled *g)
{
    return g->norm.whole ? g->shape.w : ct_min64(g->shape.w, ct_max64(1, CT_NORM_TILE / g->shape.c));
}

/* Scratch of each thread, behind that of the norm. */
static size_t lay_out_backward(pooled *g, void *base)
{
    const ct_pool_shape *s = &g->shape;
    const bool x16 = narrow(&g->norm.x), out16 = narrow(&g->norm.out);
    const size_t pixels = (size_t)((overlaps(g) ? strip(g) : 2 * s->w) * s->c) * 4, small = (size_t)(s->q * s->c) * 4;
    const size_t norm = ct_norm_lay_out(&g->norm, true, false, base);
    ct_carve t = { NULL, 0 };
    if (narrow(g->small)) ct_carve_take(&t, (size_t)g->rows_seen * small);
    if (x16) ct_carve_take(&t, pixels);
    if (out16) ct_carve_take(&t, pixels);
    if (!overlaps(g)) ct_carve_take(&t, (size_t)ct_mask_bytes(s->c));
    g->per_thread = t.used;
    g->threads = base ? (char *)base + norm : NULL;
    return norm + g->per_thread * (size_t)g->norm.threads;
}

/* Windows of 2x2 do not overlap: kernels take a row of them and its two rows of pixels at a time. */
typedef struct quads {
    ct_norm_quads v;
    int64_t big;     /* element of x that they begin with */
    float *out;      /* room for two rows of pixels with 16 bits */
    float *rest;     /* and for one */
    uint8_t *closed; /* the mask of a pixel without a gradient */
} quads;

static quads quads_at(const pooled *g, int64_t row, int thread)
{
    const ct_pool_shape *s = &g->shape;
    const ct_norm *m = &g->norm;
    const int64_t line = s->w * s->c, elems = s->q * s->c, small = row * elems;
    quads q = { .big = (row / s->p * s->h + row % s->p * 2) * line };
    ct_carve t = { of_thread(g, thread), 0 };
    float *dy = narrow(g->small) ? ct_carve_take(&t, (size_t)(g->rows_seen * elems) * 4) : NULL;
    float *x = narrow(&m->x) ? ct_carve_take(&t, (size_t)line * 8) : NULL;
    q.out = narrow(&m->out) ? ct_carve_take(&t, (size_t)line * 8) : NULL;
    q.rest = x;
    q.closed = ct_carve_take(&t, (size_t)ct_mask_bytes(s->c));
    q.v = (ct_norm_quads){ .n = s->q, .c = s->c, .line = line, .code = g->index + small,
                           .mean = m->mean, .scale = m->scale, .shift = m->shift, .bias = m->bias };
    q.v.x = ct_cpu_read(m->kern, m->x.desc.dtype, m->x.data, q.big, 2 * line, x);
    q.v.dy = ct_cpu_read(m->kern, g->small->desc.dtype, g->small->data, small, elems, dy);
    q.v.out = ct_cpu_write(m->out.desc.dtype, m->out.data, q.big, q.out);
    q.v.stream = ct_norm_past_cache(m, &m->out);
    return q;
}

/* dx of pixels that are in no window. */
static void rest_apply(const quads *q, const ct_norm *m, int64_t pixels, const float *x, float *out)
{
    const ct_bn_block b = { .rows = pixels, .cols = m->cols, .ld = m->cols, .x = x, .dy = x, .mask = q->closed, .out = out,
                            .mean = m->mean, .scale = m->scale, .shift = m->shift, .bias = m->bias };
    m->kern->norm->bwd_apply(&b);
}

static void quads_apply(const pooled *g, int64_t row, int thread)
{
    const ct_pool_shape *s = &g->shape;
    const ct_norm *m = &g->norm;
    const ct_dtype type = m->out.desc.dtype;
    const int64_t line = s->w * s->c;
    const quads q = quads_at(g, row, thread);
    m->kern->norm_pool->quad_apply(&q.v);
    memset(q.closed, 0, (size_t)ct_mask_bytes(s->c));
    for (int64_t r = 0; s->w % 2 != 0 && r < 2; r++) {
        const int64_t last = (r + 1) * line - s->c;
        rest_apply(&q, m, 1, q.v.x + last, q.v.out + last);
    }
    ct_cpu_write_end(m->kern, type, m->out.data, q.big, 2 * line, q.v.out);
    if (s->h % 2 == 0 || row % s->p != s->p - 1) return;
    const int64_t below = q.big + 2 * line;
    const float *x = ct_cpu_read(m->kern, m->x.desc.dtype, m->x.data, below, line, q.rest);
    float *out = ct_cpu_write(type, m->out.data, below, q.out);
    rest_apply(&q, m, s->w, x, out);
    ct_cpu_write_end(m->kern, type, m->out.data, below, line, out);
}

/* A row of pixels in windows that overlap, a strip of it at a time. */
typedef struct overlap {
    ct_norm_overlap v;
    int64_t row, big;       /* of all images; element of x that the strip begins with */
    float *x_buf, *out_buf; /* room for a strip with 16 bits */
} overlap;

static overlap overlap_at(const pooled *g, int64_t row, int thread)
{
    const ct_pool_shape *s = &g->shape;
    const ct_norm *m = &g->norm;
    const int64_t n = row / s->h, h = row % s->h, line = s->q * s->c;
    const size_t pixels = (size_t)(strip(g) * s->c) * 4;
    int64_t p0, p1;
    ct_pool_window_rows(s, h, &p0, &p1);
    const int64_t small = (n * s->p + p0) * line, seen = (p1 - p0) * line;
    ct_carve t = { of_thread(g, thread), 0 };
    float *buf = narrow(g->small) ? ct_carve_take(&t, (size_t)(g->rows_seen * line) * 4) : NULL;
    const float *dy = ct_cpu_read(m->kern, g->small->desc.dtype, g->small->data, small, seen, buf);
    overlap o = { .row = row };
    o.x_buf = narrow(&m->x) ? ct_carve_take(&t, pixels) : NULL;
    o.out_buf = narrow(&m->out) ? ct_carve_take(&t, pixels) : NULL;
    o.v = (ct_norm_overlap){ .c = s->c, .q = s->q, .rows = (int)(p1 - p0), .stream = ct_norm_past_cache(m, &m->out),
                             .mean = m->mean, .scale = m->scale, .shift = m->shift, .bias = m->bias };
    for (int k = 0; k < o.v.rows; k++) { /* the lower one first */
        const int64_t p = p1 - 1 - k;
        o.v.dy[k] = dy + (p - p0) * line;
        o.v.code[k] = g->index + small + (p - p0) * line;
        o.v.left[k] = (int32_t)((h + s->pad_h - p * s->stride_h) * s->ker_w);
    }
    return o;
}

/* The next strip of the row; false: there is none. */
static bool next_strip(const pooled *g, overlap *o)
{
    const ct_pool_shape *s = &g->shape;
    const ct_norm *m = &g->norm;
    ct_norm_overlap *v = &o->v;
    v->first += v->n;
    v->n = ct_min64(strip(g), s->w - v->first);
    if (v->n == 0) return false;
    o->big = (o->row * s->w + v->first) * s->c;
    v->x = ct_cpu_read(m->kern, m->x.desc.dtype, m->x.data, o->big, v->n * s->c, o->x_buf);
    v->out = ct_cpu_write(m->out.desc.dtype, m->out.data, o->big, o->out_buf);
    return true;
}

static void overlap_apply(const pooled *g, int64_t row, int thread)
{
    const ct_norm *m = &g->norm;
    for (overlap o = overlap_at(g, row, thread); next_strip(g, &o);) {
        m->kern->norm_pool->overlap_apply(&o.v);
        ct_cpu_write_end(m->kern, m->out.desc.dtype, m->out.data, o.big, o.v.n * m->cols, o.v.out);
    }
}

static void sums_item(void *arg, int64_t item, int thread)
{
    const pooled *g = arg;
    const ct_norm *m = &g->norm;
    const int64_t first = item * m->pieces.size, end = ct_min64(m->rows, first + m->pieces.size), at = item * m->cols;
    double *sum = m->part_s + at, *sum_x = m->part_q + at;
    for (int64_t c = 0; c < m->cols; c++) sum[c] = sum_x[c] = 0;
    for (int64_t row = first; row < end; row++) {
        if (overlaps(g)) {
            for (overlap o = overlap_at(g, row, thread); next_strip(g, &o);) m->kern->norm_pool->overlap_sums(&o.v, sum, sum_x);
        } else {
            const quads q = quads_at(g, row, thread);
            m->kern->norm_pool->quad_sums(&q.v, sum, sum_x);
        }
    }
}

static void apply_item(void *arg, int64_t item, int thread)
{
    const pooled *g = arg;
    const ct_norm *m = &g->norm;
    const int64_t first = item * m->pieces.size;
    for (int64_t row = ct_min64(m->rows, first + m->pieces.size) - 1; row >= first; row--)
        (overlaps(g) ? overlap_apply : quads_apply)(g, row, thread);
}

static pooled make_backward(const ct_device *dev, const ct_call *c)
{
    pooled g = { .norm = ct_norm_backward(dev, c), .index = c->in[5].data };
    ct_norm *m = &g.norm;
    set_shape(&g, &c->in[1], &c->in[0], c->attrs.norm.overlap != 0);
    m->whole = !narrow(&m->x) && !narrow(&m->out);
    if (overlaps(&g)) {
        g.rows_seen = ct_min64(g.shape.p, 2);
        m->rows = g.shape.n * g.shape.h;
        m->pieces.size = ct_ceil_div(m->pieces.size, g.shape.w); /* the norm's, in whole rows */
        m->pieces.count = ct_ceil_div(m->rows, m->pieces.size);
    } else {
        g.rows_seen = 1;
        m->rows = g.shape.n * g.shape.p;
        m->pieces = ct_cpu_pieces(m->rows, 1, ct_max64(1, PIECE_ELEMS / (2 * g.shape.w * g.shape.c)));
    }
    return g;
}

static ct_accept batchnorm_pool_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const char *no = ct_norm_refuse(c, 2, 4, 1, 2);
    if (no) return ct_accept_no(no);
    if (c->nin > 6 && ct_present(&c->in[6])) return ct_accept_no("cpu: one dy alone; programs of this backend have no second one");
    pooled g = make_backward(dev, c);
    return ct_accept_yes(lay_out_backward(&g, NULL));
}

static ct_status batchnorm_pool_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    pooled g = make_backward(dev, c);
    lay_out_backward(&g, scratch);
    ct_norm_begin_backward(&g.norm);
    ct_cpu_for(dev, g.norm.pieces.count, sums_item, &g);
    ct_norm_put_gradients(dev, &g.norm, g.shape.n * g.shape.h * g.shape.w);
    ct_cpu_for_back(dev, g.norm.pieces.count, apply_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM_POOL, "cpu.vector", CT_CPU_TUNED, batchnorm_pool_accept, batchnorm_pool_run },
    { CT_OP_BATCHNORM_POOL_BWD, "cpu.vector", CT_CPU_TUNED, batchnorm_pool_bwd_accept, batchnorm_pool_bwd_run },
};
const ct_impl_set ct_cpu_norm_pool_impls = CT_IMPL_SET(impls);
