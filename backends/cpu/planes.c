/* Convolutions of few channels, to few channels: images as they are, the gates over time of tfnet. Vectors of channels
 * would be mostly empty there, and rows of a product shorter than what it takes to list them. So a piece of a row is
 * taken apart into one plane a channel, with the padding's zeros around it, the planes of the rows that the filter sees
 * are kept in a ring, and every multiply-add has a vector of pixels and one weight. The data gradient at stride 1 is the
 * same with the filter turned round. The filter gradient sums vectors of products, in chunks whose number the shape
 * gives, and adds them up in order. */
#include "config.h"

#include "backends/cpu/conv.h"

#include <string.h>

#define MAX_CHANNELS 8      /* of either side */
#define MAX_TAPS 25         /* R*S */
#define MAX_TERMS (MAX_TAPS * MAX_CHANNELS)
#define RING_BYTES (24 << 10) /* of a ring and what it gives: they stay in the L1 cache */
#define MOST_COLUMNS 1024
#define FEWEST_ROWS 16      /* of an item: each reads r - 1 more */
#define MAX_CHUNKS 16

typedef struct planes {
    const ct_kern *kern;
    const ct_tensor *in, *out; /* out: dy of the filter gradient, which is read */
    int64_t n, in_h, in_w, in_c, out_h, out_w, out_c, r, s;
    int64_t pad_h, pad_w;      /* output (i,j) sees rows i - pad_h on, columns j - pad_w on; negative in some gradients */
    int64_t terms;             /* r*s*in_c: a tap and a channel */
    int64_t kw;                /* out_c rounded up */
    int64_t cols, col_blocks, rows, row_blocks; /* of the output in an item; items in a row, in a column */
    int64_t in_ld, out_ld;     /* floats of a plane */
    int64_t chunks, chunk_items;
    float *w, *bias;           /* [terms][kw], [kw] */
    float *parts;              /* [chunks][terms][kw][CT_KERN_LINE] */
    char *threads;
    size_t per_thread;
} planes;

/* Buffers of a thread. */
typedef struct room {
    float *ring;          /* [r][in_c][in_ld], row h of the image in slot h % r */
    float *out;           /* [kw][out_ld] */
    float *in_f32, *out_f32; /* a row's piece of 16 bits */
    int64_t held[MAX_TAPS];  /* [r] which row is there; -1: none */
} room;

static room rooms(const planes *g, ct_carve *t)
{
    room r;
    r.ring = ct_carve_take(t, (size_t)(g->r * g->in_c * g->in_ld) * sizeof(float));
    r.out = ct_carve_take(t, (size_t)(g->kw * g->out_ld) * sizeof(float));
    r.in_f32 = ct_carve_take(t, (size_t)((g->cols + g->s) * g->in_c) * sizeof(float));
    r.out_f32 = ct_carve_take(t, (size_t)(g->cols * g->out_c) * sizeof(float));
    for (int64_t i = 0; i < g->r; i++) r.held[i] = -1;
    return r;
}

static room thread_room(const planes *g, int thread)
{
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    return rooms(g, &t);
}

/* ---- what an item is ---- */

typedef struct piece {
    int64_t n, i0, i1, j0, count; /* sample; rows i0 to i1 - 1; columns j0 on */
} piece;

static piece find_piece(const planes *g, int64_t item)
{
    const int64_t col = item % g->col_blocks, row = item / g->col_blocks % g->row_blocks;
    piece p = { .n = item / (g->col_blocks * g->row_blocks), .i0 = row * g->rows, .j0 = col * g->cols };
    p.i1 = ct_min64(g->out_h, p.i0 + g->rows);
    p.count = ct_min64(g->cols, g->out_w - p.j0);
    return p;
}

/* Planes of row h of the image, what p sees of it: [in_c][in_ld], zeros where there is none. */
static float *input_row(const planes *g, room *b, const piece *p, int64_t h)
{
    const int64_t slot = h % g->r, first = p->j0 - g->pad_w, seen = p->count + g->s - 1;
    float *to = b->ring + slot * g->in_c * g->in_ld;
    if (b->held[slot] == h) return to;
    b->held[slot] = h;
    const int64_t lo = ct_min64(seen, ct_max64(0, -first)), hi = ct_max64(lo, ct_min64(seen, g->in_w - first));
    for (int64_t c = 0; c < g->in_c; c++) {
        memset(to + c * g->in_ld, 0, (size_t)lo * sizeof *to);
        memset(to + c * g->in_ld + hi, 0, (size_t)(g->in_ld - hi) * sizeof *to);
    }
    if (hi == lo) return to;
    const int64_t at = ((p->n * g->in_h + h) * g->in_w + first + lo) * g->in_c;
    const float *x = ct_cpu_read(g->kern, g->in->desc.dtype, g->in->data, at, (hi - lo) * g->in_c, b->in_f32);
    g->kern->planes->split(hi - lo, g->in_c, x, to + lo, g->in_ld);
    return to;
}

/* Lists what row i of the output reads: returns how many terms, of which *first is the first. */
static int64_t list_terms(const planes *g, room *b, const piece *p, int64_t i, const float *in[MAX_TERMS],
                          int64_t *first)
{
    int64_t n = 0;
    *first = 0;
    for (int64_t r = 0; r < g->r; r++) {
        const int64_t h = i - g->pad_h + r;
        if (h < 0) *first = (r + 1) * g->s * g->in_c;
        if (h < 0 || h >= g->in_h) continue;
        const float *row = input_row(g, b, p, h);
        for (int64_t s = 0; s < g->s; s++)
            for (int64_t c = 0; c < g->in_c; c++) in[n++] = row + c * g->in_ld + s;
    }
    return n;
}

static int64_t output_at(const planes *g, const piece *p, int64_t i)
{
    return ((p->n * g->out_h + i) * g->out_w + p->j0) * g->out_c;
}

/* ---- geometry ---- */

static const char *refuse(const ct_call *call, const ct_conv_geom *c)
{
    if (c->groups != 1 || c->c > MAX_CHANNELS || c->k > MAX_CHANNELS) return "cpu.planes: more than eight channels";
    if (c->stride_h * c->stride_w != 1 || c->dil_h * c->dil_w != 1) return "cpu.planes: stride or dilation";
    if (c->r * c->s > MAX_TAPS) return "cpu.planes: filters of more than 25 taps";
    if (ct_conv_adds(call)) return "cpu.planes: nothing is added to";
    return ct_conv_refuse(call, c);
}

/* How the output is divided: pieces whose planes stay in the cache, enough of them for many threads. */
static void divide(planes *g)
{
    const int64_t line = (g->r * g->in_c + g->kw) * (int64_t)sizeof(float);
    const int64_t most = ct_max64(CT_PLANES_STEP, ct_min64(MOST_COLUMNS, RING_BYTES / line));
    g->col_blocks = ct_ceil_div(g->out_w, most);
    g->cols = ct_round_up(ct_ceil_div(g->out_w, g->col_blocks), CT_PLANES_STEP);
    g->col_blocks = ct_ceil_div(g->out_w, g->cols);
    g->rows = ct_max64(FEWEST_ROWS, g->n * g->out_h * g->col_blocks / 64);
    g->rows = ct_min64(g->rows, g->out_h);
    g->row_blocks = ct_ceil_div(g->out_h, g->rows);
    g->out_ld = g->cols;
    g->in_ld = ct_round_up(g->cols + g->s - 1, CT_KERN_LINE);
}

/* Of the forward operator, turned round for the data gradient. */
static planes make(const ct_device *dev, const ct_conv_geom *c, bool turned)
{
    planes g = { .kern = dev->kern, .n = c->n, .r = c->r, .s = c->s };
    g.in_h = turned ? c->p : c->h;
    g.in_w = turned ? c->q : c->w;
    g.in_c = turned ? c->k : c->c;
    g.out_h = turned ? c->h : c->p;
    g.out_w = turned ? c->w : c->q;
    g.out_c = turned ? c->c : c->k;
    g.pad_h = turned ? c->r - 1 - c->pad_h : c->pad_h;
    g.pad_w = turned ? c->s - 1 - c->pad_w : c->pad_w;
    g.terms = g.r * g.s * g.in_c;
    g.kw = ct_round_up(g.out_c, CT_PLANES_WIDE);
    divide(&g);
    const int64_t items = g.n * g.row_blocks * g.col_blocks;
    g.chunk_items = ct_ceil_div(items, MAX_CHUNKS);
    g.chunks = ct_ceil_div(items, g.chunk_items);
    return g;
}

/* The scratch block; `sums`: with room for the filters' gradients instead of filters. */
static size_t lay_out(planes *g, bool sums, int threads, void *base)
{
    ct_carve c = { base, 0 }, t = { NULL, 0 };
    if (sums) {
        g->parts = ct_carve_take(&c, (size_t)(g->chunks * g->terms * g->kw * CT_KERN_LINE) * sizeof(float));
    } else {
        g->w = ct_carve_take(&c, (size_t)(g->terms * g->kw) * sizeof(float));
        g->bias = ct_carve_take(&c, (size_t)g->kw * sizeof(float));
    }
    rooms(g, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)threads;
}

/* ---- forward, data gradient ---- */

static void rows_item(void *arg, int64_t item, int thread)
{
    const planes *g = arg;
    const piece p = find_piece(g, item);
    const float *in[MAX_TERMS];
    room b = thread_room(g, thread);
    for (int64_t i = p.i0; i < p.i1; i++) {
        const int64_t at = output_at(g, &p, i);
        int64_t first;
        ct_planes_row a = { .in = in, .bias = g->bias, .out = b.out, .out_ld = g->out_ld, .n = p.count, .k = g->out_c,
                            .kw = g->kw };
        a.terms = list_terms(g, &b, &p, i, in, &first);
        a.w = g->w + first * g->kw;
        g->kern->planes->row(&a);
        float *y = ct_cpu_write(g->out->desc.dtype, g->out->data, at, b.out_f32);
        g->kern->planes->join(p.count, g->out_c, b.out, g->out_ld, y);
        ct_cpu_write_end(g->kern, g->out->desc.dtype, g->out->data, at, p.count * g->out_c, y);
    }
}

/* Filters [K,R,S,C] as weights [terms][kw]. */
static void arrange_filters(const planes *g, const ct_tensor *w, bool turned)
{
    const int64_t k_n = w->desc.dim[0], c_n = w->desc.dim[3], taps = g->r * g->s;
    float tap[MAX_TERMS];
    memset(g->w, 0, (size_t)(g->terms * g->kw) * sizeof *g->w);
    for (int64_t k = 0; k < k_n; k++) {
        ct_cpu_to_f32(g->kern, w->desc.dtype, w->data, k * taps * c_n, taps * c_n, tap);
        for (int64_t t = 0; t < taps; t++)
            for (int64_t c = 0; c < c_n; c++) {
                const int64_t term = turned ? (taps - 1 - t) * k_n + k : t * c_n + c;
                g->w[term * g->kw + (turned ? c : k)] = tap[t * c_n + c];
            }
    }
}

static ct_status run_rows(const ct_device *dev, const ct_call *call, bool turned, void *scratch)
{
    const ct_tensor *x = &call->in[0], *w = &call->in[1], *y = &call->out[0];
    const ct_conv_geom c = turned ? ct_conv_geometry(&call->attrs.conv, &y->desc, &w->desc, &x->desc)
                                  : ct_conv_geometry(&call->attrs.conv, &x->desc, &w->desc, &y->desc);
    planes g = make(dev, &c, turned);
    g.in = x;
    g.out = y;
    lay_out(&g, false, dev->threads, scratch);
    arrange_filters(&g, w, turned);
    memset(g.bias, 0, (size_t)g.kw * sizeof *g.bias);
    if (!turned && call->nin > 2 && ct_present(&call->in[2]))
        ct_cpu_to_f32(g.kern, call->in[2].desc.dtype, call->in[2].data, 0, g.out_c, g.bias);
    ct_cpu_for(dev, g.n * g.row_blocks * g.col_blocks, rows_item, &g);
    ct_conv_measure(dev, call, scratch);
    return CT_OK;
}

static ct_accept accept(const ct_device *dev, const ct_call *call, const ct_conv_geom *c, bool turned, bool sums)
{
    const char *no = refuse(call, c);
    if (no) return ct_accept_no(no);
    planes g = make(dev, c, turned);
    return ct_accept_yes(ct_conv_scratch(dev, call, lay_out(&g, sums, dev->threads, NULL)));
}

static ct_accept planes_accept(const ct_device *dev, const ct_call *call)
{
    const ct_conv_geom c =
        ct_conv_geometry(&call->attrs.conv, &call->in[0].desc, &call->in[1].desc, &call->out[0].desc);
    return accept(dev, call, &c, false, false);
}

static ct_accept planes_dgrad_accept(const ct_device *dev, const ct_call *call)
{
    const ct_conv_geom c =
        ct_conv_geometry(&call->attrs.conv, &call->out[0].desc, &call->in[1].desc, &call->in[0].desc);
    return accept(dev, call, &c, true, false);
}

static ct_status planes_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_rows(dev, c, false, scratch);
}

static ct_status planes_dgrad_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_rows(dev, c, true, scratch);
}

/* ---- filter gradient ---- */

static void sum_piece(const planes *g, int64_t item, room *b, float *part)
{
    const piece p = find_piece(g, item);
    const float *in[MAX_TERMS];
    const int64_t whole = ct_round_up(p.count, CT_PLANES_STEP);
    for (int64_t i = 0; i < g->r; i++) b->held[i] = -1;
    for (int64_t k = 0; k < g->kw; k++) /* what stands behind a row adds nothing */
        memset(b->out + k * g->out_ld + p.count, 0, (size_t)(whole - p.count) * sizeof *b->out);
    for (int64_t i = p.i0; i < p.i1; i++) {
        int64_t first;
        const float *dy = ct_cpu_read(g->kern, g->out->desc.dtype, g->out->data, output_at(g, &p, i),
                                      p.count * g->out_c, b->out_f32);
        ct_planes_sum a = { .x = in, .dy = b->out, .dy_ld = g->out_ld, .n = whole, .k = g->out_c, .kw = g->kw };
        g->kern->planes->split(p.count, g->out_c, dy, b->out, g->out_ld);
        a.terms = list_terms(g, b, &p, i, in, &first);
        a.part = part + first * g->kw * CT_KERN_LINE;
        g->kern->planes->sum(&a);
    }
}

static void chunk_item(void *arg, int64_t item, int thread)
{
    const planes *g = arg;
    const int64_t end = ct_min64(g->n * g->row_blocks * g->col_blocks, (item + 1) * g->chunk_items);
    const int64_t size = g->terms * g->kw * CT_KERN_LINE;
    float *part = g->parts + item * size;
    room b = thread_room(g, thread);
    memset(part, 0, (size_t)size * sizeof *part);
    for (int64_t i = item * g->chunk_items; i < end; i++) sum_piece(g, i, &b, part);
}

/* The sums of all chunks and lanes, in order. */
static float total(const planes *g, int64_t term, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < g->chunks; i++) {
        const float *lane = g->parts + ((i * g->terms + term) * g->kw + k) * CT_KERN_LINE;
        for (int v = 0; v < g->kern->vl; v++) sum += (double)lane[v];
    }
    return (float)sum;
}

static ct_accept planes_wgrad_accept(const ct_device *dev, const ct_call *call)
{
    const ct_conv_geom c =
        ct_conv_geometry(&call->attrs.conv, &call->in[0].desc, &call->out[0].desc, &call->in[1].desc);
    return accept(dev, call, &c, false, true);
}

static ct_status planes_wgrad_run(ct_device *dev, ct_stream *s, const ct_call *call, void *scratch)
{
    (void)s;
    const ct_tensor *dw = &call->out[0];
    const ct_conv_geom c = ct_conv_geometry(&call->attrs.conv, &call->in[0].desc, &dw->desc, &call->in[1].desc);
    planes g = make(dev, &c, false);
    float row[MAX_TERMS];
    g.in = &call->in[0];
    g.out = &call->in[1];
    lay_out(&g, true, dev->threads, scratch);
    ct_cpu_for(dev, g.chunks, chunk_item, &g);
    for (int64_t k = 0; k < g.out_c; k++) {
        for (int64_t t = 0; t < g.terms; t++) row[t] = total(&g, t, k);
        ct_cpu_to_type(g.kern, dw->desc.dtype, row, g.terms, dw->data, k * g.terms);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cpu.planes", CT_CPU_TUNED, planes_accept, planes_run },
    { CT_OP_CONV2D_DGRAD, "cpu.planes", CT_CPU_TUNED, planes_dgrad_accept, planes_dgrad_run },
    { CT_OP_CONV2D_WGRAD, "cpu.planes", CT_CPU_TUNED, planes_wgrad_accept, planes_wgrad_run },
};
const ct_impl_set ct_cpu_planes_impls = CT_IMPL_SET(impls);
