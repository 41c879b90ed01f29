/* linear and its gradients in f32 with the kernels of convolutions, for layers that few rows pass through (64 samples and 18 million weights behind a flatten):
 * what counts there is that weights are read or written once, and multiplied where they lie or in the nearest cache.
 *
 *   linear        y^T = w x^T: rows of w are what is gathered (ct_igemm), and samples are its columns, for which x is turned round first. A piece of work
 *                 has some outputs, whose results stay in the cache while all inputs pass by, a block of them at a time.
 *   linear_dgrad  dx = dy w: rows of dy are gathered; of a strip of w's columns some rows are copied and multiplied for all samples, while the next ones are
 *                 called into the cache.
 *   linear_wgrad  dw = dy^T x: sums of outer products (ct_wgemm) over all samples, for a strip of x's columns.
 *
 * dy is copied to short rows first: in rows of 1024 numbers a column lies in one set of the L1 cache. Every result is summed by one thread in a fixed order. */
#include "config.h"

#include "backends/cpu/cpu.h"

#define MOST_ROWS 192 /* whose outer products are summed in registers; of more OpenBLAS multiplies large blocks about as fast */
#define LEAST_ROWS 8  /* in sets of wide vectors: OpenBLAS has loops of its own for fewer there, and few columns leave a vector half empty */
#define ITEMS 8       /* pieces of work aimed at, for any number of threads */
#define DEPTH 256     /* inputs multiplied at a time for y */
#define OUTPUTS 128   /* of a piece of y, at most */
#define STRIP 256     /* inputs of a piece of dw, at most */
#define SHORT_STRIP 128 /* and of dx, the same for the rows of w that are copied: some of them, and what is called ahead, fit in an L1 and an L2 cache */
#define NARROW 48     /* outputs of a short row of dy for dw: whole tiles of any set of loops */
#define LEAST 24      /* outputs or samples of a piece */

/* x [rows,ins], w [outs,ins], y [rows,outs]; result: y, dx or dw. */
typedef struct layer {
    const ct_kern *kern;
    ct_op op;
    const float *x, *w, *bias, *dy;
    float *result;
    int64_t rows, ins, outs;
    int64_t strip, strips; /* inputs of a piece of dx or dw, and what inputs are divided into; y: 0 and 1 */
    int64_t piece, pieces; /* samples of a piece of dx, outputs of one of y or dw, and what these are divided into */
    int64_t cut, cuts;     /* outputs of a short row of dy, and what it is divided into */
    /* scratch */
    float *turned;      /* y: x turned round, [ins / DEPTH][columns / nr][DEPTH][nr]; else dy in short rows, [cuts][rows][cut] */
    const float **from; /* [cuts][rows] of these */
    float **to;         /* [rows] of dx */
    char *threads;
    size_t per_thread;
} layer;

/* What a thread has of its own. */
typedef struct room {
    float *block;       /* y: [piece][columns] of y^T; dx: [cut][nr] of w; dw: [strip / nr][rows][nr] of x */
    float *edge;        /* [NARROW][nr] of dw, if inputs are no whole vectors */
    const float **from; /* [piece] rows of w */
    float **to;         /* [piece] rows of y^T */
} room;

/* Columns that n samples or inputs are: whole vectors. */
static int64_t columns_of(const layer *g, int64_t n) { return ct_round_up(n, g->kern->vl); }

static room take_room(const layer *g, ct_carve *t)
{
    room r = { .block = NULL };
    const int64_t nr = g->kern->conv->nr;
    if (g->op == CT_OP_LINEAR) {
        r.block = ct_carve_take(t, (size_t)(g->piece * columns_of(g, g->rows)) * 4);
        r.from = ct_carve_take(t, (size_t)g->piece * sizeof *r.from);
        r.to = ct_carve_take(t, (size_t)g->piece * sizeof *r.to);
    } else if (g->op == CT_OP_LINEAR_DGRAD) {
        r.block = ct_carve_take(t, (size_t)(g->cut * nr) * 4);
    } else {
        r.block = ct_carve_take(t, (size_t)(columns_of(g, g->strip) * g->rows) * 4);
        if (g->ins % g->kern->vl) r.edge = ct_carve_take(t, (size_t)(NARROW * nr) * 4);
    }
    return r;
}

static size_t lay_out(layer *g, int threads, void *base)
{
    ct_carve c = { base, 0 }, t = { NULL, 0 };
    if (g->op == CT_OP_LINEAR) {
        g->turned = ct_carve_take(&c, (size_t)(columns_of(g, g->rows) * g->ins) * 4);
    } else {
        g->turned = ct_carve_take(&c, (size_t)(g->cuts * g->rows * g->cut) * 4);
        g->from = ct_carve_take(&c, (size_t)(g->cuts * g->rows) * sizeof *g->from);
    }
    if (g->op == CT_OP_LINEAR_DGRAD) g->to = ct_carve_take(&c, (size_t)g->rows * sizeof *g->to);
    take_room(g, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)threads;
}

static room room_of(const layer *g, int thread)
{
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    return take_room(g, &t);
}

/* Fixed numbers of the division of work. */
static void divide(layer *g)
{
    const bool dx = g->op == CT_OP_LINEAR_DGRAD;
    g->strips = 1;
    if (g->op != CT_OP_LINEAR) {
        g->cut = dx ? ct_min64(SHORT_STRIP, g->outs) : NARROW;
        g->cuts = ct_ceil_div(g->outs, g->cut);
        g->strip = ct_min64(dx ? SHORT_STRIP : STRIP, g->ins);
        g->strips = ct_ceil_div(g->ins, g->strip);
    }
    const int64_t n = dx ? g->rows : g->outs;
    g->piece = ct_round_up(ct_ceil_div(n, ct_ceil_div(ITEMS, g->strips)), g->op == CT_OP_LINEAR_WGRAD ? NARROW : LEAST);
    if (g->op == CT_OP_LINEAR) g->piece = ct_min64(g->piece, OUTPUTS);
    g->pieces = ct_ceil_div(n, g->piece);
}

/* ---- y ---- */

/* x of one block of inputs, turned round. */
static void turn_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const layer *g = arg;
    const int64_t k0 = item * DEPTH, depth = ct_min64(DEPTH, g->ins - k0);
    float *to = g->turned + k0 * columns_of(g, g->rows);
    for (int64_t s = 0, valid, kw; s < g->rows; s += valid, to += depth * kw) {
        valid = ct_min64(g->kern->conv->nr, g->rows - s);
        kw = columns_of(g, valid);
        g->kern->copy->transpose(valid, depth, g->x + s * g->ins + k0, g->ins, to, kw);
        for (int64_t i = 0; i < depth; i++)
            for (int64_t j = valid; j < kw; j++) to[i * kw + j] = 0;
    }
}

/* Some outputs of all samples. */
static void forward_item(void *arg, int64_t item, int thread)
{
    const layer *g = arg;
    const int64_t k0 = item * g->piece, outs = ct_min64(g->piece, g->outs - k0), columns = columns_of(g, g->rows);
    const room r = room_of(g, thread);
    for (int64_t i = 0; i < outs; i++) {
        r.from[i] = g->w + (k0 + i) * g->ins;
        r.to[i] = r.block + i * columns;
        for (int64_t j = 0; j < columns; j++) r.to[i][j] = g->bias ? g->bias[k0 + i] : 0;
    }
    ct_igemm a = { .in = r.from, .in_stride = outs, .out = r.to, .np = outs, .taps = 1, .accumulate = true, .w = g->turned };
    for (; a.c_first < g->ins; a.c_first += a.c) {
        a.c = a.c_stride = ct_min64(DEPTH, g->ins - a.c_first);
        for (a.k_first = 0; a.k_first < columns; a.k_first += a.kw, a.w += a.c * a.kw) {
            a.kn = a.kw = ct_min64(g->kern->conv->nr, columns - a.k_first);
            g->kern->conv->igemm(&a);
        }
    }
    g->kern->copy->transpose(outs, g->rows, r.block, columns, g->result + k0, g->outs);
}

/* ---- both gradients ---- */

/* One cut of dy to short rows. */
static void cut_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const layer *g = arg;
    const int64_t first = item * g->cut;
    float *to = g->turned + first * g->rows;
    g->kern->copy->rows(g->rows, ct_min64(g->cut, g->outs - first), g->dy + first, g->outs, to, g->cut);
    for (int64_t i = 0; i < g->rows; i++) g->from[item * g->rows + i] = to + i * g->cut;
}

/* n columns of some rows of x or w to rows of whole vectors, with zeros at their ends. */
static void copy_columns(const layer *g, int64_t rows, int64_t n, const float *from, float *to)
{
    const int64_t kw = columns_of(g, n);
    g->kern->copy->rows(rows, n, from, g->ins, to, kw);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = n; j < kw; j++) to[i * kw + j] = 0;
}

/* dx of one (strip, samples). */
static void dgrad_item(void *arg, int64_t item, int thread)
{
    const layer *g = arg;
    const int64_t first = item / g->pieces * g->strip, n = ct_min64(g->strip, g->ins - first), nr = g->kern->conv->nr, slices = ct_ceil_div(n, nr);
    const int64_t sample = item % g->pieces * g->piece;
    const room r = room_of(g, thread);
    ct_igemm a = { .in_stride = g->rows, .out = g->to + sample, .np = ct_min64(g->piece, g->rows - sample), .taps = 1, .w = r.block,
                   .next_run = n / CT_KERN_LINE, .next_ld = g->ins };
    for (int64_t row = 0; row < g->outs; row += g->cut) {
        const bool last = row + g->cut >= g->outs; /* of the strip: the next one begins with the first rows */
        int64_t rows = last ? g->cut : ct_min64(g->cut, g->outs - row - g->cut);
        if (last && first + g->strip + n > g->ins) rows = 0;
        a.next = last ? g->w + first + g->strip : g->w + (row + g->cut) * g->ins + first;
        a.in = g->from + row / g->cut * g->rows + sample;
        a.c = a.c_stride = ct_min64(g->cut, g->outs - row);
        a.accumulate = row > 0;
        for (int64_t j = 0; j < n; j += a.kn, rows -= a.next_lines, a.next += a.next_lines * g->ins) {
            a.kn = ct_min64(nr, n - j);
            a.kw = columns_of(g, a.kn);
            a.k_first = first + j;
            a.next_lines = ct_ceil_div(rows, slices - j / nr);
            copy_columns(g, a.c, a.kn, g->w + row * g->ins + a.k_first, r.block);
            g->kern->conv->igemm(&a);
        }
    }
}

/* The last columns of some rows of dw where they are no whole vectors: of a product's result `cols` columns exist. */
static void wgrad_edge(const layer *g, ct_wgemm a, int64_t cols, float *edge)
{
    float *dw = a.dw;
    a.dw = edge;
    a.ldw = a.kw;
    a.stream = false;
    g->kern->conv->wgemm(&a);
    g->kern->copy->rows(a.c_n, cols, edge, a.kw, dw, g->ins);
}

/* dw of one (strip, outputs). */
static void wgrad_item(void *arg, int64_t item, int thread)
{
    const layer *g = arg;
    const int64_t first = item / g->pieces * g->strip, n = ct_min64(g->strip, g->ins - first), nr = g->kern->conv->nr;
    const int64_t begin = item % g->pieces * g->piece, end = ct_min64(begin + g->piece, g->outs);
    const room r = room_of(g, thread);
    ct_wgemm a = { .np = g->rows, .ldw = g->ins, .stream = ct_cpu_past_cache(g->kern, g->result, g->outs * g->ins, g->ins) };
    for (int64_t j = 0; j < n; j += nr) copy_columns(g, g->rows, ct_min64(nr, n - j), g->x + first + j, r.block + j * g->rows);
    for (int64_t k = begin; k < end; k += NARROW) {
        a.in = g->from + k / NARROW * g->rows;
        a.c_n = ct_min64(NARROW, end - k);
        for (int64_t j = 0; j < n; j += nr) {
            const int64_t cols = ct_min64(nr, n - j);
            a.kw = a.ldy = columns_of(g, cols);
            a.dy = r.block + j * g->rows;
            a.dw = g->result + k * g->ins + first + j;
            if (a.kw == cols) g->kern->conv->wgemm(&a);
            else wgrad_edge(g, a, cols, r.edge);
        }
    }
}

/* ---- the calls ---- */

static layer make(const ct_device *dev, const ct_call *c)
{
    layer g = { .kern = dev->kern, .op = c->op, .result = c->out[0].data, .rows = 1 };
    const bool dx = c->op == CT_OP_LINEAR_DGRAD, dw = c->op == CT_OP_LINEAR_WGRAD;
    const ct_desc *x = dx ? &c->out[0].desc : &c->in[0].desc, *w = dw ? &c->out[0].desc : &c->in[1].desc;
    g.outs = w->dim[0];
    g.ins = w->dim[1];
    for (int i = 0; i + 1 < x->ndim; i++) g.rows *= x->dim[i];
    if (dx) g.dy = c->in[0].data;
    else g.x = c->in[0].data;
    if (dw) g.dy = c->in[1].data;
    else g.w = c->in[1].data;
    if (!dx && !dw && c->nin > 2 && ct_present(&c->in[2])) g.bias = c->in[2].data;
    return g;
}

static ct_accept accept(const ct_device *dev, const ct_call *c)
{
    for (int i = 0; i < c->nin; i++)
        if (ct_present(&c->in[i]) && c->in[i].desc.dtype != CT_F32) return ct_accept_no("cpu.direct: f32 alone");
    if (c->out[0].desc.dtype != CT_F32) return ct_accept_no("cpu.direct: f32 alone");
    layer g = make(dev, c);
    if (g.rows <= 0 || g.ins <= 0 || g.outs <= 0) return ct_accept_no("cpu: an empty tensor");
    /* What is refused here OpenBLAS did as fast or faster in most shapes (doc/performance.md); without AVX2 nothing was measured. */
    const bool wide = g.kern->conv->nr > CT_KERN_LINE;
    if (g.kern->vl < 8) return ct_accept_no("cpu.direct: needs AVX2 or AVX-512");
    if (!wide && c->op == CT_OP_LINEAR_DGRAD) return ct_accept_no("cpu.direct: the data gradient needs AVX-512");
    if (g.rows > MOST_ROWS) return ct_accept_no("cpu.direct: more than 192 rows");
    if (g.rows < LEAST_ROWS && (wide || c->op == CT_OP_LINEAR_WGRAD)) return ct_accept_no("cpu.direct: fewer than 8 rows");
    divide(&g);
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    layer g = make(dev, c);
    divide(&g);
    lay_out(&g, dev->threads, scratch);
    for (int64_t i = 0; g.to && i < g.rows; i++) g.to[i] = g.result + i * g.ins;
    if (c->op == CT_OP_LINEAR) ct_cpu_for(dev, ct_ceil_div(g.ins, DEPTH), turn_item, &g);
    else ct_cpu_for(dev, g.cuts, cut_item, &g);
    ct_cpu_for(dev, g.pieces * g.strips, c->op == CT_OP_LINEAR ? forward_item : c->op == CT_OP_LINEAR_DGRAD ? dgrad_item : wgrad_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_LINEAR, "cpu.direct", CT_CPU_TUNED, accept, run },
    { CT_OP_LINEAR_DGRAD, "cpu.direct", CT_CPU_TUNED, accept, run },
    { CT_OP_LINEAR_WGRAD, "cpu.direct", CT_CPU_TUNED, accept, run },
};
const ct_impl_set ct_cpu_linear_direct_impls = CT_IMPL_SET(impls);
