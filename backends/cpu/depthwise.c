/* Depthwise conv2d (groups = C = K) and its gradients: channels along the vector, one multiply-add per tap, no matrix
 * product. Filters are turned into [taps][C] first. Forward and data gradient go row by row of the output; the filter
 * gradient sums chunks of rows of dy into filters of their own, added in order at the end. */
#include "config.h"

#include "backends/cpu/conv.h"

#include <string.h>

#define MAX_CHUNKS 16

typedef struct depthwise {
    const ct_kern *kern;
    ct_conv_geom c;
    const ct_tensor *in, *w, *bias, *out; /* forward and dgrad; bias may be NULL */
    const ct_tensor *x, *dy, *dw;         /* wgrad */
    int64_t taps;
    int64_t chunks, chunk_rows;
    float *w_f32, *bias_f32; /* [taps][C], [C] */
    float *parts;            /* [chunks][taps][C] */
    char *threads;
    size_t per_thread;
} depthwise;

static const char *refuse(const ct_call *call, const ct_conv_geom *g)
{
    if (!ct_conv_is_depthwise(g)) return "cpu.depthwise: groups are not single channels";
    return ct_conv_refuse(call, g);
}

static void turn_filters(depthwise *g)
{
    float v[CT_CONV_MAX_TAPS];
    for (int64_t k = 0; k < g->c.c; k++) {
        ct_cpu_to_f32(g->kern, g->w->desc.dtype, g->w->data, k * g->taps, g->taps, v);
        for (int64_t t = 0; t < g->taps; t++) g->w_f32[t * g->c.c + k] = v[t];
    }
}

/* One row of the output from rows of the input: in_row(t) exists where 0 <= (row number) < height. The pixel (row, col)
 * of the input that tap (r,s) reads for output column j: forward j*stride - pad + s*dil; dgrad (j + pad - s*dil)/stride
 * where exact. */
static void row_item(void *arg, int64_t item, int thread, bool dgrad)
{
    const depthwise *g = arg;
    const ct_conv_geom *c = &g->c;
    const ct_kern_element *k = g->kern->element;
    const int64_t out_h = dgrad ? c->h : c->p, out_w = dgrad ? c->w : c->q, in_h = dgrad ? c->p : c->h,
                  in_w = dgrad ? c->q : c->w;
    const int64_t n = item / out_h, i = item % out_h, line = in_w * c->c;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *in_buf = g->in->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)line * 4) : NULL;
    float *out_buf = g->out->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(out_w * c->c) * 4) : NULL;
    float *out = ct_cpu_write(g->out->desc.dtype, g->out->data, item * out_w * c->c, out_buf);
    for (int64_t j = 0; j < out_w; j++) {
        if (g->bias)
            memcpy(out + j * c->c, g->bias_f32, (size_t)c->c * 4);
        else
            memset(out + j * c->c, 0, (size_t)c->c * 4);
    }
    for (int64_t r = 0; r < c->r; r++) {
        int64_t h = dgrad ? i + c->pad_h - r * c->dil_h : i * c->stride_h - c->pad_h + r * c->dil_h;
        if (dgrad) {
            if (h < 0 || h % c->stride_h != 0) continue;
            h /= c->stride_h;
        }
        if (h < 0 || h >= in_h) continue;
        const float *in = ct_cpu_read(g->kern, g->in->desc.dtype, g->in->data, (n * in_h + h) * line, line, in_buf);
        for (int64_t s = 0; s < c->s; s++) {
            const float *w = g->w_f32 + (r * c->s + s) * c->c;
            for (int64_t j = 0; j < out_w; j++) {
                int64_t col = dgrad ? j + c->pad_w - s * c->dil_w : j * c->stride_w - c->pad_w + s * c->dil_w;
                if (dgrad) {
                    if (col < 0 || col % c->stride_w != 0) continue;
                    col /= c->stride_w;
                }
                if (col >= 0 && col < in_w) k->mac(c->c, in + col * c->c, w, out + j * c->c);
            }
        }
    }
    ct_cpu_write_end(g->kern, g->out->desc.dtype, g->out->data, item * out_w * c->c, out_w * c->c, out);
}

static void forward_item(void *arg, int64_t item, int thread) { row_item(arg, item, thread, false); }
static void dgrad_item(void *arg, int64_t item, int thread) { row_item(arg, item, thread, true); }

static size_t lay_out(depthwise *g, int threads, bool dgrad, void *base)
{
    ct_carve c = { base, 0 };
    g->w_f32 = ct_carve_take(&c, (size_t)(g->taps * g->c.c) * 4);
    g->bias_f32 = ct_carve_take(&c, (size_t)g->c.c * 4);
    size_t shared = c.used;
    ct_carve t = { NULL, 0 };
    if (g->in->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)((dgrad ? g->c.q : g->c.w) * g->c.c) * 4);
    if (g->out->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)((dgrad ? g->c.w : g->c.q) * g->c.c) * 4);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + shared : NULL;
    return shared + g->per_thread * (size_t)threads;
}

static depthwise make(const ct_device *dev, const ct_call *call, bool dgrad)
{
    depthwise g = { .kern = dev->kern, .in = &call->in[0], .w = &call->in[1], .out = &call->out[0] };
    g.c = dgrad ? ct_conv_geometry(&call->attrs.conv, &g.out->desc, &g.w->desc, &g.in->desc)
                : ct_conv_geometry(&call->attrs.conv, &g.in->desc, &g.w->desc, &g.out->desc);
    if (!dgrad && call->nin > 2 && ct_present(&call->in[2])) g.bias = &call->in[2];
    g.taps = g.c.r * g.c.s;
    return g;
}

static ct_accept accept_rows(const ct_device *dev, const ct_call *call, bool dgrad)
{
    depthwise g = make(dev, call, dgrad);
    const char *no = refuse(call, &g.c);
    return no ? ct_accept_no(no) : ct_accept_yes(lay_out(&g, dev->threads, dgrad, NULL));
}

static ct_status run_rows(const ct_device *dev, const ct_call *call, bool dgrad, void *scratch)
{
    depthwise g = make(dev, call, dgrad);
    lay_out(&g, dev->threads, dgrad, scratch);
    turn_filters(&g);
    if (g.bias) ct_cpu_to_f32(g.kern, g.bias->desc.dtype, g.bias->data, 0, g.c.c, g.bias_f32);
    ct_cpu_for(dev, g.c.n * (dgrad ? g.c.h : g.c.p), dgrad ? dgrad_item : forward_item, &g);
    return CT_OK;
}

static ct_accept depthwise_accept(const ct_device *dev, const ct_call *c) { return accept_rows(dev, c, false); }
static ct_accept depthwise_dgrad_accept(const ct_device *dev, const ct_call *c) { return accept_rows(dev, c, true); }

static ct_status depthwise_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_rows(dev, c, false, scratch);
}

static ct_status depthwise_dgrad_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_rows(dev, c, true, scratch);
}

/* ---- filter gradient ---- */

static void chunk_item(void *arg, int64_t item, int thread)
{
    const depthwise *g = arg;
    const ct_conv_geom *c = &g->c;
    const ct_kern_element *k = g->kern->element;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *x_buf = g->x->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(c->w * c->c) * 4) : NULL;
    float *dy_buf = g->dy->desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(c->q * c->c) * 4) : NULL;
    float *part = g->parts + item * g->taps * c->c;
    memset(part, 0, (size_t)(g->taps * c->c) * 4);
    for (int64_t row = item * g->chunk_rows, end = ct_min64(c->n * c->p, row + g->chunk_rows); row < end; row++) {
        const int64_t n = row / c->p, p = row % c->p, x_line = c->w * c->c, y_line = c->q * c->c;
        const float *dy = ct_cpu_read(g->kern, g->dy->desc.dtype, g->dy->data, row * y_line, y_line, dy_buf);
        for (int64_t r = 0; r < c->r; r++) {
            const int64_t h = p * c->stride_h - c->pad_h + r * c->dil_h;
            if (h < 0 || h >= c->h) continue;
            const float *x = ct_cpu_read(g->kern, g->x->desc.dtype, g->x->data, (n * c->h + h) * x_line, x_line, x_buf);
            for (int64_t s = 0; s < c->s; s++)
                for (int64_t q = 0; q < c->q; q++) {
                    const int64_t w = q * c->stride_w - c->pad_w + s * c->dil_w;
                    if (w >= 0 && w < c->w) k->mac(c->c, x + w * c->c, dy + q * c->c, part + (r * c->s + s) * c->c);
                }
        }
    }
}

static size_t lay_out_wgrad(depthwise *g, int threads, void *base)
{
    ct_carve c = { base, 0 };
    g->parts = ct_carve_take(&c, (size_t)(g->chunks * g->taps * g->c.c) * 4);
    size_t shared = c.used;
    ct_carve t = { NULL, 0 };
    if (g->x->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)(g->c.w * g->c.c) * 4);
    if (g->dy->desc.dtype != CT_F32) ct_carve_take(&t, (size_t)(g->c.q * g->c.c) * 4);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + shared : NULL;
    return shared + g->per_thread * (size_t)threads;
}

static depthwise make_wgrad(const ct_device *dev, const ct_call *call)
{
    depthwise g = { .kern = dev->kern, .x = &call->in[0], .dy = &call->in[1], .dw = &call->out[0] };
    g.c = ct_conv_geometry(&call->attrs.conv, &g.x->desc, &g.dw->desc, &g.dy->desc);
    g.taps = g.c.r * g.c.s;
    const int64_t rows = ct_max64(1, g.c.n * g.c.p);
    g.chunk_rows = ct_ceil_div(rows, MAX_CHUNKS);
    g.chunks = ct_ceil_div(rows, g.chunk_rows);
    return g;
}

static ct_accept depthwise_wgrad_accept(const ct_device *dev, const ct_call *call)
{
    depthwise g = make_wgrad(dev, call);
    const char *no = refuse(call, &g.c);
    return no ? ct_accept_no(no) : ct_accept_yes(lay_out_wgrad(&g, dev->threads, NULL));
}

static ct_status depthwise_wgrad_run(ct_device *dev, ct_stream *s, const ct_call *call, void *scratch)
{
    (void)s;
    depthwise g = make_wgrad(dev, call);
    lay_out_wgrad(&g, dev->threads, scratch);
    ct_cpu_for(dev, g.chunks, chunk_item, &g);
    const int64_t n = g.taps * g.c.c;
    for (int64_t i = 1; i < g.chunks; i++) g.kern->element->add(n, g.parts, g.parts + i * n, g.parts);
    float v[CT_CONV_MAX_TAPS];
    for (int64_t k = 0; k < g.c.c; k++) {
        for (int64_t t = 0; t < g.taps; t++) v[t] = g.parts[t * g.c.c + k];
        ct_cpu_to_type(g.kern, g.dw->desc.dtype, v, g.taps, g.dw->data, k * g.taps);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cpu.depthwise", CT_CPU_TUNED, depthwise_accept, depthwise_run },
    { CT_OP_CONV2D_DGRAD, "cpu.depthwise", CT_CPU_TUNED, depthwise_dgrad_accept, depthwise_dgrad_run },
    { CT_OP_CONV2D_WGRAD, "cpu.depthwise", CT_CPU_TUNED, depthwise_wgrad_accept, depthwise_wgrad_run },
};
const ct_impl_set ct_cpu_depthwise_impls = CT_IMPL_SET(impls);
