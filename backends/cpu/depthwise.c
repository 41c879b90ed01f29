/* Depthwise conv2d (groups = C = K) and its gradients: channels along the vector, one multiply-add per tap, no matrix
 * product. Filters are turned into [taps][C] first. Forward and data gradient go row by row of the output, several rows
 * an item; outputs whose taps all lie inside the row are one kernel call, those at its ends get a list of taps each. The
 * filter gradient sums chunks of rows of dy into filters of their own, added in order at the end. 16-bit rows are
 * converted to thread scratch, each once for an item. */
#include "config.h"

#include "backends/cpu/conv.h"

#include <string.h>

#define MAX_CHUNKS 16
#define FEW_PIXELS 64
#define MAX_ROWS 8 /* of the output in an item: neighbours read the same rows of the input */

typedef struct depthwise {
    const ct_kern *kern;
    ct_conv_geom c;
    const ct_tensor *in, *w, *bias, *out; /* in: also x of wgrad; the others: forward and dgrad; bias may be NULL */
    const ct_tensor *dy, *dw;             /* wgrad */
    bool dgrad;
    int64_t taps;
    int64_t in_h, in_w, out_h, out_w; /* pixels of `in` and of what is gone through: out, or dy */
    int64_t block, blocks;            /* rows of an item; items of a sample */
    int64_t chunks, chunk_rows;
    int64_t slots;           /* rows of `in` that one output row sees, at most */
    float *w_f32, *bias_f32; /* [taps][C], [C] */
    float *parts;            /* [chunks][taps][C] */
    char *threads;
    size_t per_thread;
} depthwise;

/* Buffers of a thread, NULL in f32: rows of the input, row h of the sample in slot h % slots, and one of out or dy. */
typedef struct room {
    float *rows, *other;
    int64_t *held; /* [slots] which row is there; -1: none */
} room;

static room rooms(const depthwise *g, const ct_tensor *other, ct_carve *t)
{
    room r = { NULL, NULL, NULL };
    if (g->in->desc.dtype != CT_F32) {
        r.rows = ct_carve_take(t, (size_t)(g->slots * g->in_w * g->c.c) * sizeof(float));
        r.held = ct_carve_take(t, (size_t)g->slots * sizeof *r.held);
    }
    if (other->desc.dtype != CT_F32) r.other = ct_carve_take(t, (size_t)(g->out_w * g->c.c) * sizeof(float));
    return r;
}

static room thread_room(const depthwise *g, const ct_tensor *other, int thread)
{
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    return rooms(g, other, &t);
}

static void forget_rows(const depthwise *g, const room *r)
{
    for (int64_t i = 0; r->held && i < g->slots; i++) r->held[i] = -1;
}

/* Row h of sample n of the input as f32. */
static const float *input_row(const depthwise *g, const room *r, int64_t n, int64_t h)
{
    const int64_t line = g->in_w * g->c.c, at = (n * g->in_h + h) * line, slot = h % g->slots;
    if (!r->rows) return (const float *)g->in->data + at;
    float *row = r->rows + slot * line;
    if (r->held[slot] != h) ct_cpu_to_f32(g->kern, g->in->desc.dtype, g->in->data, at, line, row);
    r->held[slot] = h;
    return row;
}

static const char *refuse(const ct_call *call, const ct_conv_geom *g)
{
    if (!ct_conv_is_depthwise(g)) return "cpu.depthwise: groups are not single channels";
    if (ct_conv_measures(call)) return "cpu.depthwise: no moments beside y";
    if (ct_conv_adds(call)) return "cpu.depthwise: nothing is added to";
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

/* ---- which pixels an output reads ---- */

/* Outputs first, first + step, ... of a row, `count` of them, which read through the same columns of the filter: output
 * number u reads pixel base[i] + u*in_step of the input's rows through column s[i] of the filter, where there is such a
 * pixel. */
typedef struct line {
    int64_t nrows, r[CT_CONV_MAX_TAPS]; /* rows of the filter whose row of the input exists */
    const float *row[CT_CONV_MAX_TAPS]; /* that row */
    int64_t ncols, s[CT_CONV_MAX_TAPS], base[CT_CONV_MAX_TAPS];
    int64_t first, step, count, in_step;
} line;

/* One call's worth of outputs: what each tap reads for the first, and the taps' numbers. Of more than one output also the
 * pixels that each output is the first to read, in_step to a row; of one alone none. */
typedef struct tap_list {
    int64_t n, number[CT_CONV_MAX_TAPS], nahead;
    const float *in[CT_CONV_MAX_TAPS], *ahead[CT_CONV_MAX_TAPS];
} tap_list;

/* The rows that row i of the output reads: i*stride - pad + r*dil, or for the data gradient (i + pad - r*dil)/stride
 * where exact. */
static void find_rows(const depthwise *g, const room *buffers, int64_t n, int64_t i, line *l)
{
    const ct_conv_geom *c = &g->c;
    l->nrows = 0;
    for (int64_t r = 0; r < c->r; r++) {
        int64_t h = g->dgrad ? i + c->pad_h - r * c->dil_h : i * c->stride_h - c->pad_h + r * c->dil_h;
        if (h < 0 || (g->dgrad && h % c->stride_h != 0)) continue;
        if (g->dgrad) h /= c->stride_h;
        if (h >= g->in_h) continue;
        l->r[l->nrows] = r;
        l->row[l->nrows++] = input_row(g, buffers, n, h);
    }
}

/* Kinds of outputs that read through the same columns of the filter. */
static int64_t phases(const depthwise *g) { return g->dgrad ? g->c.stride_w : 1; }

static void find_columns(const depthwise *g, int64_t phase, line *l)
{
    const ct_conv_geom *c = &g->c;
    l->ncols = 0;
    l->first = phase;
    l->step = g->dgrad ? c->stride_w : 1;
    l->in_step = g->dgrad ? 1 : c->stride_w;
    l->count = ct_ceil_div(ct_max64(0, g->out_w - phase), l->step);
    for (int64_t s = 0; s < c->s; s++) {
        const int64_t at = g->dgrad ? phase + c->pad_w - s * c->dil_w : s * c->dil_w - c->pad_w;
        if (g->dgrad && at % c->stride_w != 0) continue;
        l->s[l->ncols] = s;
        l->base[l->ncols++] = g->dgrad ? at / c->stride_w : at;
    }
}

/* Outputs [*lo, *hi) read through all columns; the others are taken one by one. */
static void inside(const depthwise *g, const line *l, int64_t *lo, int64_t *hi)
{
    *lo = 0;
    *hi = l->count;
    for (int64_t i = 0; i < l->ncols; i++) {
        const int64_t last = g->in_w - 1 - l->base[i];
        if (l->base[i] < 0) *lo = ct_max64(*lo, ct_ceil_div(-l->base[i], l->in_step));
        *hi = ct_min64(*hi, last < 0 ? 0 : last / l->in_step + 1);
    }
    *lo = ct_min64(*lo, l->count);
    *hi = ct_max64(*lo, *hi);
}

/* For `count` outputs from number u on. */
static void list_taps(const depthwise *g, const line *l, int64_t u, int64_t count, tap_list *out)
{
    out->n = out->nahead = 0;
    for (int64_t k = 0; k < l->nrows; k++) {
        int64_t last = -1;
        for (int64_t i = 0; i < l->ncols; i++) {
            const int64_t col = l->base[i] + u * l->in_step;
            if (col < 0 || col >= g->in_w) continue;
            out->number[out->n] = l->r[k] * g->c.s + l->s[i];
            out->in[out->n++] = l->row[k] + col * g->c.c;
            last = ct_max64(last, col);
        }
        if (l->step > 1) continue; /* short rows against those written: fetching costs more than it brings */
        for (int64_t i = 0; count > 1 && i < l->in_step && i <= last && out->nahead < CT_CONV_MAX_TAPS; i++)
            out->ahead[out->nahead++] = l->row[k] + (last - i) * g->c.c;
    }
}

/* How many outputs from number u on are one call. */
static int64_t run_length(int64_t u, int64_t lo, int64_t hi) { return u >= lo && u < hi ? hi - u : 1; }

/* ---- forward, data gradient ---- */

/* Outputs u0 to u1 - 1 of a line. */
static void outputs(const depthwise *g, const line *l, int64_t u0, int64_t u1, float *out)
{
    const int64_t c = g->c.c;
    tap_list taps;
    const float *w[CT_CONV_MAX_TAPS];
    int64_t lo, hi;
    inside(g, l, &lo, &hi);
    hi = ct_min64(hi, u1);
    for (int64_t u = u0, n; u < u1; u += n) {
        n = run_length(u, lo, hi);
        list_taps(g, l, u, n, &taps);
        for (int64_t t = 0; t < taps.n; t++) w[t] = g->w_f32 + taps.number[t] * c;
        const ct_depthwise_row a = { .in = taps.in,
                                     .w = w,
                                     .bias = g->bias ? g->bias_f32 : NULL,
                                     .out = out + (l->first + u * l->step) * c,
                                     .n = n,
                                     .c = c,
                                     .taps = taps.n,
                                     .in_step = l->in_step * c,
                                     .out_step = l->step * c,
                                     .ahead = taps.ahead,
                                     .fetch = taps.nahead };
        g->kern->depthwise->row(&a);
    }
}

/* All kinds of outputs, a few of each in turn, so that what is written fills whole pieces of memory. */
static void output_row(const depthwise *g, line *l, float *out)
{
    const int64_t kinds = phases(g), few = kinds > 1 ? FEW_PIXELS : g->out_w, most = ct_ceil_div(g->out_w, kinds);
    for (int64_t u = 0; u < most; u += few)
        for (int64_t phase = 0; phase < kinds; phase++) {
            find_columns(g, phase, l);
            outputs(g, l, u, ct_min64(l->count, u + few), out);
        }
}

static void rows_item(void *arg, int64_t item, int thread)
{
    const depthwise *g = arg;
    const int64_t n = item / g->blocks, i0 = item % g->blocks * g->block, i1 = ct_min64(g->out_h, i0 + g->block);
    const int64_t size = g->out_w * g->c.c;
    const room r = thread_room(g, g->out, thread);
    line l;
    forget_rows(g, &r);
    for (int64_t i = i0; i < i1; i++) {
        const int64_t at = (n * g->out_h + i) * size;
        float *out = ct_cpu_write(g->out->desc.dtype, g->out->data, at, r.other);
        find_rows(g, &r, n, i, &l);
        output_row(g, &l, out);
        ct_cpu_write_end(g->kern, g->out->desc.dtype, g->out->data, at, size, out);
    }
}

static size_t lay_out(depthwise *g, int threads, void *base)
{
    ct_carve c = { base, 0 }, t = { NULL, 0 };
    g->w_f32 = ct_carve_take(&c, (size_t)(g->taps * g->c.c) * 4);
    g->bias_f32 = ct_carve_take(&c, (size_t)g->c.c * 4);
    rooms(g, g->out, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)threads;
}

static depthwise make(const ct_device *dev, const ct_call *call, bool dgrad)
{
    depthwise g = { .kern = dev->kern, .in = &call->in[0], .w = &call->in[1], .out = &call->out[0], .dgrad = dgrad };
    g.c = dgrad ? ct_conv_geometry(&call->attrs.conv, &g.out->desc, &g.w->desc, &g.in->desc)
                : ct_conv_geometry(&call->attrs.conv, &g.in->desc, &g.w->desc, &g.out->desc);
    if (!dgrad && call->nin > 2 && ct_present(&call->in[2])) g.bias = &call->in[2];
    g.taps = g.c.r * g.c.s;
    g.in_h = g.in->desc.dim[1];
    g.in_w = g.in->desc.dim[2];
    g.out_h = g.out->desc.dim[1];
    g.out_w = g.out->desc.dim[2];
    g.slots = ct_min64(g.in_h, (g.c.r - 1) * g.c.dil_h + 1);
    g.block = ct_max64(1, ct_min64(MAX_ROWS, g.c.n * g.out_h / 64));
    g.blocks = ct_ceil_div(g.out_h, g.block);
    return g;
}

static ct_accept accept_rows(const ct_device *dev, const ct_call *call, bool dgrad)
{
    depthwise g = make(dev, call, dgrad);
    const char *no = refuse(call, &g.c);
    return no ? ct_accept_no(no) : ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status run_rows(const ct_device *dev, const ct_call *call, bool dgrad, void *scratch)
{
    depthwise g = make(dev, call, dgrad);
    lay_out(&g, dev->threads, scratch);
    turn_filters(&g);
    if (g.bias) ct_cpu_to_f32(g.kern, g.bias->desc.dtype, g.bias->data, 0, g.c.c, g.bias_f32);
    ct_cpu_for(dev, g.c.n * g.blocks, rows_item, &g);
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

/* Adds what a row of dy and the rows of x it belongs to give to the filters part [taps][C]. */
static void add_row(const depthwise *g, const line *l, const float *dy, float *part)
{
    const int64_t c = g->c.c;
    tap_list taps;
    float *dw[CT_CONV_MAX_TAPS];
    int64_t lo, hi;
    inside(g, l, &lo, &hi);
    for (int64_t u = 0, n; u < l->count; u += n) {
        n = run_length(u, lo, hi);
        list_taps(g, l, u, n, &taps);
        for (int64_t t = 0; t < taps.n; t++) dw[t] = part + taps.number[t] * c;
        const ct_depthwise_sum a = { .x = taps.in,
                                     .dw = dw,
                                     .dy = dy + u * c,
                                     .n = n,
                                     .c = c,
                                     .taps = taps.n,
                                     .x_step = l->in_step * c,
                                     .dy_step = c,
                                     .ahead = taps.ahead,
                                     .fetch = taps.nahead };
        g->kern->depthwise->sum(&a);
    }
}

static void chunk_item(void *arg, int64_t item, int thread)
{
    const depthwise *g = arg;
    const int64_t end = ct_min64(g->c.n * g->out_h, (item + 1) * g->chunk_rows), size = g->out_w * g->c.c;
    const room r = thread_room(g, g->dy, thread);
    float *part = g->parts + item * g->taps * g->c.c;
    line l;
    find_columns(g, 0, &l);
    memset(part, 0, (size_t)(g->taps * g->c.c) * sizeof *part);
    for (int64_t row = item * g->chunk_rows; row < end; row++) {
        if (row == item * g->chunk_rows || row % g->out_h == 0) forget_rows(g, &r);
        find_rows(g, &r, row / g->out_h, row % g->out_h, &l);
        add_row(g, &l, ct_cpu_read(g->kern, g->dy->desc.dtype, g->dy->data, row * size, size, r.other), part);
    }
}

static size_t lay_out_wgrad(depthwise *g, int threads, void *base)
{
    ct_carve c = { base, 0 }, t = { NULL, 0 };
    g->parts = ct_carve_take(&c, (size_t)(g->chunks * g->taps * g->c.c) * 4);
    rooms(g, g->dy, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)threads;
}

static depthwise make_wgrad(const ct_device *dev, const ct_call *call)
{
    depthwise g = { .kern = dev->kern, .in = &call->in[0], .dy = &call->in[1], .dw = &call->out[0] };
    g.c = ct_conv_geometry(&call->attrs.conv, &g.in->desc, &g.dw->desc, &g.dy->desc);
    g.taps = g.c.r * g.c.s;
    g.in_h = g.c.h;
    g.in_w = g.c.w;
    g.out_h = g.c.p;
    g.out_w = g.c.q;
    g.slots = ct_min64(g.in_h, (g.c.r - 1) * g.c.dil_h + 1);
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
