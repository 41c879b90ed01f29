/* upsample_bilinear and its gradient, one output row an item: first across the rows, where whole rows are added to one
 * another, then along the row. 16-bit rows are converted to thread scratch. upsample_nearest and its gradient, one row of the
 * small image an item: pixels are moved as bytes, squares of them summed as a pool does. */
#include "config.h"

#include "backends/cpu/cpu.h"
#include "ops/math/resample_math.h"

#include <string.h>

typedef struct upsample {
    const ct_kern *kern;
    const ct_tensor *in, *out;
    int64_t h, w, c; /* of the small image */
    int shift;
    char *threads;
    size_t per_thread;
} upsample;

/* Buffers of a thread; those of 16 bits alone are NULL in f32. */
typedef struct room {
    float *sum; /* a row of the input */
    float *in, *out;
} room;

static room rooms(const upsample *g, ct_carve *t)
{
    const size_t in = (size_t)(g->in->desc.dim[2] * g->c) * 4, out = (size_t)(g->out->desc.dim[2] * g->c) * 4;
    room r = { .sum = ct_carve_take(t, in) };
    if (g->in->desc.dtype != CT_F32) r.in = ct_carve_take(t, in);
    if (g->out->desc.dtype != CT_F32) r.out = ct_carve_take(t, out);
    return r;
}

static upsample make(const ct_device *dev, const ct_call *c, bool bwd)
{
    const ct_desc *small = bwd ? &c->out[0].desc : &c->in[0].desc;
    upsample g = { .kern = dev->kern, .in = &c->in[0], .out = &c->out[0] };
    ct_carve t = { NULL, 0 };
    g.shift = ct_upsample_shift(c->attrs.resample.scale);
    g.h = small->dim[1];
    g.w = small->dim[2];
    g.c = small->dim[3];
    rooms(&g, &t);
    g.per_thread = t.used;
    return g;
}

/* sum = weight * row i of sample n of the input, added to what is there unless it is the first. */
static void add_row(const upsample *g, const room *r, int64_t n, int64_t i, double weight, bool first)
{
    const int64_t line = g->in->desc.dim[2] * g->c, at = (n * g->in->desc.dim[1] + i) * line;
    const float *x = ct_cpu_read(g->kern, g->in->desc.dtype, g->in->data, at, line, r->in);
    g->kern->element->axpby(line, (float)weight, x, first ? 0 : 1, r->sum);
}

static void forward_item(void *arg, int64_t item, int thread)
{
    const upsample *g = arg;
    const int64_t n = item / (g->h << g->shift), p = item % (g->h << g->shift), line = (g->w << g->shift) * g->c;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = rooms(g, &t);
    int64_t i0, i1;
    const double w = ct_upsample_axis(p, g->shift, g->h, &i0, &i1);
    add_row(g, &r, n, i0, 1 - w, true);
    if (w > 0) add_row(g, &r, n, i1, w, false);
    float *y = ct_cpu_write(g->out->desc.dtype, g->out->data, item * line, r.out);
    g->kern->resample->row(g->w, g->c, g->shift, r.sum, y);
    ct_cpu_write_end(g->kern, g->out->desc.dtype, g->out->data, item * line, line, y);
}

static void backward_item(void *arg, int64_t item, int thread)
{
    const upsample *g = arg;
    const int64_t n = item / g->h, i = item % g->h, line = g->w * g->c;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = rooms(g, &t);
    int64_t p0, p1;
    ct_upsample_range(i, g->shift, g->h, &p0, &p1);
    for (int64_t p = p0; p < p1; p++) add_row(g, &r, n, p, ct_upsample_weight(p, i, g->shift, g->h), p == p0);
    float *dx = ct_cpu_write(g->out->desc.dtype, g->out->data, item * line, r.out);
    g->kern->resample->row_bwd(g->w, g->c, g->shift, r.sum, dx);
    ct_cpu_write_end(g->kern, g->out->desc.dtype, g->out->data, item * line, line, dx);
}

static ct_accept accept(const ct_device *dev, const ct_call *c, bool bwd)
{
    if (!ct_cpu_type(c->in[0].desc.dtype) || !ct_cpu_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    return ct_accept_yes(make(dev, c, bwd).per_thread * (size_t)dev->threads);
}

static ct_status run(const ct_device *dev, const ct_call *c, bool bwd, void *scratch)
{
    upsample g = make(dev, c, bwd);
    g.threads = scratch;
    ct_cpu_for(dev, c->out[0].desc.dim[0] * c->out[0].desc.dim[1], bwd ? backward_item : forward_item, &g);
    return CT_OK;
}

static ct_accept upsample_accept(const ct_device *dev, const ct_call *c)
{
    return accept(dev, c, false);
}

static ct_status upsample_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run(dev, c, false, scratch);
}

static ct_accept upsample_bwd_accept(const ct_device *dev, const ct_call *c)
{
    return accept(dev, c, true);
}

static ct_status upsample_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run(dev, c, true, scratch);
}

/* ---- nearest ---- */

typedef struct nearest {
    const ct_kern *kern;
    const ct_tensor *small, *big;
    int64_t w, c, s; /* of the small image; scale */
    char *threads;   /* backward, 16 bits: the s rows of a square [s][s*w*c], and a row of the result [w*c] */
    size_t per_thread;
} nearest;

static void nearest_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const nearest *g = arg;
    const size_t pixel = (size_t)g->c * ct_dtype_size(g->small->desc.dtype), line = pixel * (size_t)(g->w * g->s);
    const char *x = (const char *)g->small->data + (size_t)item * pixel * (size_t)g->w;
    char *y = (char *)g->big->data + (size_t)item * line * (size_t)g->s;
    for (int64_t p = 0; p < g->s; p++, y += line)
        for (int64_t k = 0; k < g->s; k++) {
            char *to = y + (size_t)k * pixel;
            if (pixel % sizeof(float) == 0) {
                const int64_t n = (int64_t)(pixel / sizeof(float));
                g->kern->copy->rows(g->w, n, (const float *)(const void *)x, n, (float *)(void *)to, g->s * n);
                continue;
            }
            for (int64_t j = 0; j < g->w; j++)
                memcpy(to + (size_t)(j * g->s) * pixel, x + (size_t)j * pixel, pixel);
        }
}

static void nearest_bwd_item(void *arg, int64_t item, int thread)
{
    const nearest *g = arg;
    const int64_t line = g->w * g->s * g->c, n = g->w * g->c;
    int64_t off[64];
    float *in = (float *)(void *)(g->threads + g->per_thread * (size_t)thread);
    const float *dy = ct_cpu_read(g->kern, g->big->desc.dtype, g->big->data, item * g->s * line, g->s * line, in);
    float *dx = ct_cpu_write(g->small->desc.dtype, g->small->data, item * n, in + g->s * line);
    for (int64_t t = 0; t < g->s * g->s; t++) off[t] = t / g->s * line + t % g->s * g->c;
    g->kern->pool->sum_row(g->w, g->c, dy, g->s * g->c, g->s * g->s, off, 1, dx, g->c);
    ct_cpu_write_end(g->kern, g->small->desc.dtype, g->small->data, item * n, n, dx);
}

static nearest make_nearest(const ct_device *dev, const ct_tensor *small, const ct_tensor *big, int64_t scale)
{
    nearest g = { .kern = dev->kern, .small = small, .big = big, .s = scale };
    g.w = small->desc.dim[2];
    g.c = small->desc.dim[3];
    if (small->desc.dtype != CT_F32)
        g.per_thread = ct_align_up((size_t)((scale * scale + 1) * g.w * g.c) * sizeof(float), CT_ALIGN);
    return g;
}

static ct_accept upsample_nearest_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return ct_accept_yes(0);
}

static ct_status upsample_nearest_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    nearest g = make_nearest(dev, &c->in[0], &c->out[0], c->attrs.resample.scale);
    ct_cpu_for(dev, c->in[0].desc.dim[0] * c->in[0].desc.dim[1], nearest_item, &g);
    return CT_OK;
}

static ct_accept upsample_nearest_bwd_accept(const ct_device *dev, const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    const nearest g = make_nearest(dev, &c->out[0], &c->in[0], c->attrs.resample.scale);
    return ct_accept_yes(g.per_thread * (size_t)dev->threads);
}

static ct_status upsample_nearest_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    nearest g = make_nearest(dev, &c->out[0], &c->in[0], c->attrs.resample.scale);
    g.threads = scratch;
    ct_cpu_for(dev, c->out[0].desc.dim[0] * c->out[0].desc.dim[1], nearest_bwd_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_UPSAMPLE_BILINEAR, "cpu.vector", CT_CPU_TUNED, upsample_accept, upsample_run },
    { CT_OP_UPSAMPLE_BILINEAR_BWD, "cpu.vector", CT_CPU_TUNED, upsample_bwd_accept, upsample_bwd_run },
    { CT_OP_UPSAMPLE_NEAREST, "cpu.rows", CT_CPU_TUNED, upsample_nearest_accept, upsample_nearest_run },
    { CT_OP_UPSAMPLE_NEAREST_BWD, "cpu.vector", CT_CPU_TUNED, upsample_nearest_bwd_accept, upsample_nearest_bwd_run },
};
const ct_impl_set ct_cpu_resample_impls = CT_IMPL_SET(impls);
