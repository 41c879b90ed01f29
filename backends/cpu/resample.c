/* upsample_bilinear and its gradient, one output row an item: first across the rows, where whole rows are added to one
 * another, then along the row. 16-bit rows are converted to thread scratch. */
#include "config.h"

#include "backends/cpu/cpu.h"
#include "ops/math/resample_math.h"

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

static const ct_impl impls[] = {
    { CT_OP_UPSAMPLE_BILINEAR, "cpu.vector", CT_CPU_TUNED, upsample_accept, upsample_run },
    { CT_OP_UPSAMPLE_BILINEAR_BWD, "cpu.vector", CT_CPU_TUNED, upsample_bwd_accept, upsample_bwd_run },
};
const ct_impl_set ct_cpu_resample_impls = CT_IMPL_SET(impls);
