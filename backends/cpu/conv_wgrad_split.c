/* conv2d_wgrad and linear_wgrad in f32 on processors that multiply tiles of bf16 (kern_split.h): dw[k][t][c] = sum over pixels of dy[pixel][k] *
 * x[pixel moved by tap t][c] is a product of matrices whose depth are pixels. The pixels of all images are cut into chunks, a fixed number for a shape;
 * within one, blocks of pixels are laid out, dy for some filters and x for a tap's channels, and their product is added to the chunk's filters. The first
 * chunk's are dw itself; the others are added to it in order at the end: the same bits for any number of threads. */
#include "config.h"

#include "backends/cpu/conv_gather.h"

#include <string.h>

#define RUNS 16         /* of pixels in a block: 512 of them */
#define ROWS 256        /* filters that are multiplied at a time */
#define MOST_ROWS 512   /* and laid out */
#define COLUMNS 256     /* channels laid out at a time */
#define LEAST_ROWS 128  /* filters of a piece of work */
#define ITEMS 16        /* pieces of work aimed at, for any number of threads */
#define CHUNK_BYTES ((int64_t)16 << 20) /* all chunks' filters together, unless there is one chunk */
#define MAX_CHUNKS 16

typedef struct wgrad {
    const ct_kern *kern;
    ct_conv_gather p;
    float *dw;                     /* [groups*cols][taps][channels] */
    int64_t pixels, blocks;        /* of all images; blocks of RUNS runs */
    int64_t chunks, chunk_blocks;
    int64_t slices, units;         /* of COLUMNS channels in a tap; (tap, slice) pairs */
    int64_t row_parts, unit_parts; /* what filters and units are divided into */
    int64_t rows, runs;            /* most filters of a part; most runs of a block */
    /* scratch */
    float *sums;  /* [chunks-1] filters like dw */
    float *zeros; /* [channels] what the padding has */
    char *threads;
    size_t per_thread;
} wgrad;

/* What a thread has of its own. */
typedef struct room {
    const float **x; /* [taps][pixels of a block] */
    float **dy;      /* [pixels of a block] */
    float **dw;      /* [rows] */
    float *rows;     /* [rows / CT_SPLIT][runs][CT_SPLIT_ROWS] of dy */
    float *cols;     /* [blocks of columns][runs][words] of x */
} room;

static room take_room(const wgrad *g, ct_carve *t)
{
    room r;
    const int64_t wide = ct_split_wide(g->kern), blocks = ct_ceil_div(ct_min64(COLUMNS, g->p.channels), wide);
    r.x = ct_carve_take(t, (size_t)(g->p.taps * g->runs * CT_SPLIT) * sizeof(float *));
    r.dy = ct_carve_take(t, (size_t)(g->runs * CT_SPLIT) * sizeof(float *));
    r.dw = ct_carve_take(t, (size_t)g->rows * sizeof(float *));
    r.rows = ct_carve_take(t, (size_t)(ct_ceil_div(g->rows, CT_SPLIT) * g->runs * CT_SPLIT_ROWS) * 4);
    r.cols = ct_carve_take(t, (size_t)(blocks * g->runs * ct_split_cols_words(g->kern)) * 4);
    return r;
}

/* Elements of dw. */
static int64_t filters(const wgrad *g) { return g->p.groups * g->p.cols * g->p.taps * g->p.channels; }

static size_t lay_out(wgrad *g, int threads, void *base)
{
    ct_carve c = { base, 0 }, t = { NULL, 0 };
    g->sums = ct_carve_take(&c, (size_t)((g->chunks - 1) * filters(g)) * 4);
    g->zeros = ct_carve_take(&c, (size_t)g->p.channels * 4);
    take_room(g, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)threads;
}

static void set_up(wgrad *g, const ct_device *dev, const ct_call *call)
{
    memset(g, 0, sizeof *g);
    g->kern = dev->kern;
    ct_conv_gather_make(&g->p, call);
    g->dw = call->out[0].data;
    g->pixels = g->p.n * g->p.out_h * g->p.out_w;
    g->blocks = ct_ceil_div(g->pixels, RUNS * CT_SPLIT);
    g->slices = ct_ceil_div(g->p.channels, COLUMNS);
    g->units = g->p.taps * g->slices;
    g->row_parts = ct_ceil_div(g->p.cols, MOST_ROWS);
    /* Enough chunks for the threads, as few as the filters' size allows; then the rest by filters and taps. */
    g->chunks = ct_ceil_div(ITEMS, g->p.groups * g->row_parts);
    g->chunks = ct_min64(ct_min64(g->chunks, MAX_CHUNKS), ct_min64(g->blocks, CHUNK_BYTES / (filters(g) * 4)));
    g->chunks = ct_max64(1, g->chunks);
    g->chunk_blocks = ct_ceil_div(g->blocks, g->chunks);
    g->chunks = ct_ceil_div(g->blocks, g->chunk_blocks);
    const int64_t more = ct_ceil_div(ITEMS, g->chunks * g->p.groups);
    g->row_parts = ct_max64(g->row_parts, ct_min64(more, g->p.cols / LEAST_ROWS));
    g->unit_parts = ct_max64(1, ct_min64(more / g->row_parts, g->units));
    g->rows = ct_round_up(ct_ceil_div(g->p.cols, g->row_parts), CT_SPLIT);
    g->row_parts = ct_ceil_div(g->p.cols, g->rows);
    g->runs = ct_min64(RUNS, ct_ceil_div(g->pixels, CT_SPLIT));
}

/* `count` pixels from `first` on: adds to filters k0 .. k0+n-1 of a group what units u0 .. u1-1 of these have. */
static void block_of_pixels(const wgrad *g, const room *r, int64_t group, int64_t first, int64_t count, int64_t k0, int64_t n, int64_t u0, int64_t u1,
                            bool more)
{
    const ct_conv_gather *p = &g->p;
    const int64_t ld = g->runs * CT_SPLIT;
    ct_conv_gather_find(p, &p->cls[0], group, first, count, g->zeros, r->x, ld, r->dy);
    const bool last = g->pixels <= RUNS * CT_SPLIT && ct_cpu_past_cache(g->kern, g->dw, filters(g), p->channels);
    ct_split_gemm a = { .stream = last, .b = r->cols, .runs = ct_ceil_div(count, CT_SPLIT), .accumulate = more };
    a.a_block = a.runs * CT_SPLIT_ROWS;
    a.b_block = a.runs * ct_split_cols_words(g->kern);
    g->kern->split->rows_turned(n, count, (const float *const *)r->dy, k0, r->rows, a.a_block);
    for (int64_t u = u0; u < u1; u++) {
        const int64_t tap = u / g->slices, c0 = u % g->slices * COLUMNS;
        a.cols = ct_min64(COLUMNS, p->channels - c0);
        a.first = tap * p->channels + c0;
        g->kern->split->cols(count, a.cols, r->x + tap * ld, c0, r->cols, a.b_block);
        for (int64_t k = 0; k < n; k += ROWS) {
            a.a = r->rows + k / CT_SPLIT * a.a_block;
            a.rows = ct_min64(ROWS, n - k);
            a.out = r->dw + k;
            g->kern->split->gemm(&a);
        }
    }
}

/* One (chunk, group, part of the filters, part of the units). */
static void chunk_item(void *arg, int64_t item, int thread)
{
    const wgrad *g = arg;
    const ct_conv_gather *p = &g->p;
    const int64_t u = item % g->unit_parts, k = item / g->unit_parts % g->row_parts, group = item / g->unit_parts / g->row_parts % p->groups;
    const int64_t chunk = item / g->unit_parts / g->row_parts / p->groups, block = RUNS * CT_SPLIT;
    const int64_t k0 = k * g->rows, n = ct_min64(g->rows, p->cols - k0);
    const int64_t begin = chunk * g->chunk_blocks * block, end = ct_min64(g->pixels, begin + g->chunk_blocks * block);
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = take_room(g, &t);
    float *dw = chunk == 0 ? g->dw : g->sums + (chunk - 1) * filters(g);
    for (int64_t i = 0; i < n; i++) r.dw[i] = dw + (group * p->cols + k0 + i) * p->taps * p->channels;
    for (int64_t first = begin; first < end; first += block)
        block_of_pixels(g, &r, group, first, ct_min64(block, end - first), k0, n, g->units * u / g->unit_parts, g->units * (u + 1) / g->unit_parts,
                        first > begin);
}

#define SUM 16384 /* elements added at a time */

static void sum_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const wgrad *g = arg;
    const int64_t n = filters(g), at = item * SUM, count = ct_min64(SUM, n - at);
    for (int64_t i = 0; i + 1 < g->chunks; i++) g->kern->element->add(count, g->dw + at, g->sums + i * n + at, g->dw + at);
}

static ct_accept accept(const ct_device *dev, const ct_call *call)
{
    const char *no = ct_split_refuse(dev, call);
    if (no) return ct_accept_no(no);
    wgrad g;
    set_up(&g, dev, call);
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status run(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)stream;
    wgrad g;
    set_up(&g, dev, call);
    lay_out(&g, dev->threads, scratch);
    memset(g.zeros, 0, (size_t)g.p.channels * sizeof *g.zeros);
    ct_cpu_for(dev, g.chunks * g.p.groups * g.row_parts * g.unit_parts, chunk_item, &g);
    if (g.chunks > 1) ct_cpu_for(dev, ct_ceil_div(filters(&g), SUM), sum_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D_WGRAD, CT_CPU_SPLIT, CT_CPU_TUNED, accept, run },
    { CT_OP_LINEAR_WGRAD, CT_CPU_SPLIT, CT_CPU_TUNED, accept, run },
};
const ct_impl_set ct_cpu_conv_wgrad_split_impls = CT_IMPL_SET(impls);
