/* conv2d, conv2d_dgrad, linear and linear_dgrad in f32 on processors that multiply tiles of bf16 (kern_split.h): a product of gathered rows
 * (conv_gather.h) whose operands are split into three numbers of bf16 each, and laid out as tiles, before they are multiplied.
 *
 * Of many pixels filters are laid out once for all threads. The pixels of all images are divided into blocks; a thread lays out as much of a block's depth
 * as stays in the L2 cache beside the filters that pass by, and multiplies it by all columns. Of few pixels it is the other way round: these are laid out
 * once, and a thread lays out a part of the columns, a piece of the depth at a time, so that split filters never leave the cache. Every output is one sum
 * in one order, wherever blocks, parts and pieces begin and end. */
#include "config.h"

#include "backends/cpu/conv_gather.h"

#include <string.h>

#define BLOCK 256         /* most pixels that are multiplied at a time */
#define FEW_PIXELS 512    /* of a class: up to so many are few */
#define RUNS 16           /* that are laid out at a time: of BLOCK pixels 768 KiB */
#define ITEMS 4           /* pieces of work aimed at, for each thread: results do not depend on it */
#define FEW_ITEMS 2       /* of few pixels */
#define MANY_COLUMNS 256  /* least columns of a piece of a block of pixels, which are split for them alone */
#define FEW_COLUMNS 64    /* least columns of a part, which all pixels are read for, */
#define PART 256          /* and most */
#define LEAST 64          /* pixels of a block, where there are fewer blocks than threads */

typedef struct split {
    const ct_kern *kern;
    ct_conv_gather p;
    bool few;                 /* few pixels */
    int64_t runs;             /* of a tap's channels */
    int64_t wide, col_blocks; /* columns of a block of filters; these blocks in a group */
    int64_t words;            /* of a run of a block of filters */
    int64_t col_parts;        /* what a group's blocks of columns are divided into */
    int64_t size[CT_GATHER_CLASSES], blocks[CT_GATHER_CLASSES]; /* pixels of a block; blocks of a class */
    int64_t block, deep;      /* most pixels of a block, most runs laid out at a time, in any class */
    /* scratch: what is laid out before; of filters [groups][col_blocks][taps][runs][words], of few pixels [classes][groups][pixels / CT_SPLIT][the class's
     * runs][CT_SPLIT_ROWS], a class's from at[class] on */
    float *laid;
    int64_t at[CT_GATHER_CLASSES + 1];
    float *zeros; /* [channels] what the padding has */
    char *threads;
    size_t per_thread;
} split;

/* What a thread has of its own. */
typedef struct room {
    const float **in; /* [taps][block] */
    float **out;      /* [block] */
    float *laid;      /* [block / CT_SPLIT][deep][CT_SPLIT_ROWS], or of a part of the columns [blocks][deep][words] */
} room;

static room take_room(const split *g, ct_carve *t)
{
    room r;
    const int64_t laid = g->few ? ct_ceil_div(g->col_blocks, g->col_parts) * g->words : ct_ceil_div(g->block, CT_SPLIT) * CT_SPLIT_ROWS;
    r.in = ct_carve_take(t, (size_t)(g->p.taps * g->block) * sizeof(float *));
    r.out = ct_carve_take(t, (size_t)g->block * sizeof(float *));
    r.laid = ct_carve_take(t, (size_t)(g->deep * laid) * 4);
    return r;
}

static size_t lay_out(split *g, int threads, void *base)
{
    ct_carve c = { base, 0 }, t = { NULL, 0 };
    g->laid = ct_carve_take(&c, (size_t)(g->few ? g->at[g->p.classes] : g->p.groups * g->col_blocks * g->p.taps * g->runs * g->words) * 4);
    g->zeros = ct_carve_take(&c, (size_t)g->p.channels * 4);
    take_room(g, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)threads;
}

static int64_t pixels_of(const split *g, int64_t k) { return g->p.n * g->p.cls[k].rows * g->p.cls[k].cols; }

static void set_up(split *g, const ct_device *dev, const ct_call *call)
{
    memset(g, 0, sizeof *g);
    g->kern = dev->kern;
    ct_conv_gather_make(&g->p, call);
    g->runs = ct_ceil_div(g->p.channels, CT_SPLIT);
    g->wide = ct_split_wide(g->kern);
    g->words = ct_split_cols_words(g->kern);
    g->col_blocks = ct_ceil_div(g->p.cols, g->wide);
    g->few = g->p.classes * g->p.groups * (g->p.cols / FEW_COLUMNS) >= dev->threads; /* else there are too few parts */
    for (int64_t k = 0; k < g->p.classes; k++) g->few = g->few && pixels_of(g, k) <= FEW_PIXELS;
    int64_t items = 0;
    for (int64_t k = 0; k < g->p.classes; k++) {
        const int64_t pixels = pixels_of(g, k), all = g->p.cls[k].taps * g->runs;
        g->at[k + 1] = g->at[k] + g->p.groups * ct_ceil_div(pixels, CT_SPLIT) * all * CT_SPLIT_ROWS;
        if (pixels == 0) continue;
        const int64_t pieces = ct_max64(ct_ceil_div(pixels, BLOCK), ct_min64(dev->threads, pixels / LEAST));
        g->size[k] = ct_round_up(ct_ceil_div(pixels, ct_cpu_even(pieces)), CT_KERN_TILE);
        g->size[k] = g->few ? pixels : ct_min64(BLOCK, g->size[k]);
        g->blocks[k] = ct_ceil_div(pixels, g->size[k]);
        g->block = ct_max64(g->block, g->size[k]);
        g->deep = ct_max64(g->deep, ct_min64(RUNS, all));
        items += g->blocks[k];
    }
    const int64_t parts = ct_ceil_div((g->few ? FEW_ITEMS : ITEMS) * dev->threads, ct_max64(1, items * g->p.groups));
    g->col_parts = ct_max64(1, ct_min64(parts, g->p.cols / (g->few ? FEW_COLUMNS : MANY_COLUMNS)));
    if (g->few) g->col_parts = ct_max64(g->col_parts, ct_ceil_div(g->col_blocks, PART / g->wide));
}

static float *filters_at(const split *g, int64_t group, int64_t b, int64_t tap, int64_t run)
{
    return g->laid + (((group * g->col_blocks + b) * g->p.taps + tap) * g->runs + run) * g->words;
}

/* Lays out a group's columns k0 .. k0+cols-1, at most PART of them unless filters are transposed, of n channels, at most RUNS runs, of a tap from c0 on;
 * `block` words between their blocks. */
static void lay_columns(const split *g, int64_t group, int64_t k0, int64_t cols, int64_t tap, int64_t c0, int64_t n, float *out, int64_t block)
{
    const ct_conv_gather *p = &g->p;
    const float *w = p->weights, *row[RUNS * CT_SPLIT];
    if (p->transposed) { /* [channels][taps][cols] */
        for (int64_t i = 0; i < n; i++) row[i] = w + ((group * p->channels + c0 + i) * p->taps + p->tap_of[tap]) * p->cols;
        g->kern->split->cols(n, cols, row, k0, out, block);
    } else { /* [cols][taps][channels] */
        for (int64_t i = 0; i < cols; i++) row[i] = w + (group * p->cols + k0 + i) * p->taps * p->channels;
        g->kern->split->cols_turned(n, cols, row, tap * p->channels + c0, out, block);
    }
}

/* Of many pixels: a block of columns, or of transposed filters a run of channels. */
static void filters_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const split *g = arg;
    const ct_conv_gather *p = &g->p;
    const int64_t group = item / (p->transposed ? g->runs : g->col_blocks), at = item % (p->transposed ? g->runs : g->col_blocks);
    for (int64_t t = 0; t < p->taps; t++) {
        if (p->transposed) {
            lay_columns(g, group, 0, p->cols, t, at * CT_SPLIT, ct_min64(CT_SPLIT, p->channels - at * CT_SPLIT), filters_at(g, group, 0, t, at),
                        p->taps * g->runs * g->words);
            continue;
        }
        for (int64_t run = 0; run < g->runs; run += RUNS)
            lay_columns(g, group, at * g->wide, ct_min64(g->wide, p->cols - at * g->wide), t, run * CT_SPLIT,
                        ct_min64(RUNS * CT_SPLIT, p->channels - run * CT_SPLIT), filters_at(g, group, at, t, run), 0);
    }
}

/* Runs at .. at+n-1 of all of a class's taps: n runs from c0 on, channels of a tap, at a time. */
typedef struct piece {
    int64_t tap, c0, channels, runs; /* tap of the class */
} piece;

static piece piece_at(const split *g, int64_t at, int64_t n)
{
    piece q = { .tap = at / g->runs, .c0 = at % g->runs * CT_SPLIT, .runs = ct_min64(n, g->runs - at % g->runs) };
    q.channels = ct_min64(q.runs * CT_SPLIT, g->p.channels - q.c0);
    return q;
}

/* Lays out runs at .. at+n-1 of the pixels in the lists. */
static void lay_rows(const split *g, const room *r, int64_t count, int64_t at, int64_t n, float *out, int64_t block)
{
    for (int64_t i = 0; i < n;) {
        const piece q = piece_at(g, at + i, n - i);
        g->kern->split->rows(count, q.channels, r->in + q.tap * g->block, q.c0, out + i * CT_SPLIT_ROWS, block);
        i += q.runs;
    }
}

/* What an item is of: a class, a group, pixels first .. first+count-1, columns k0 .. k0+cols-1. */
typedef struct work {
    int64_t k, group, first, count, k0, cols, runs; /* runs: of all the class's taps */
    const ct_pixel_class *c;
} work;

static work work_of(const split *g, int64_t item)
{
    work a = { .group = item / g->col_parts % g->p.groups };
    const int64_t part = item % g->col_parts;
    int64_t block = item / g->col_parts / g->p.groups;
    for (; block >= g->blocks[a.k]; a.k++) block -= g->blocks[a.k];
    a.c = &g->p.cls[a.k];
    a.runs = a.c->taps * g->runs;
    a.first = block * g->size[a.k];
    a.count = ct_min64(g->size[a.k], pixels_of(g, a.k) - a.first);
    a.k0 = g->col_blocks * part / g->col_parts * g->wide;
    a.cols = ct_min64(g->col_blocks * (part + 1) / g->col_parts * g->wide, g->p.cols) - a.k0;
    return a;
}

/* The product that an item is, and the lists of its pixels; false where nothing is summed: its outputs are zero then. */
static bool begin(const split *g, const work *w, const room *r, ct_split_gemm *a)
{
    const ct_conv_gather *p = &g->p;
    ct_conv_gather_find(p, w->c, w->group, w->first, w->count, g->zeros, r->in, g->block, r->out);
    *a = (ct_split_gemm){ .cols = w->cols, .first = w->k0 };
    a->stream = !p->adds && w->runs <= RUNS && ct_cpu_past_cache(g->kern, p->out, p->n * p->out_h * p->out_w * p->out_c, p->cols);
    a->bias = p->bias ? (const float *)p->bias + w->group * p->cols + w->k0 : NULL;
    for (int64_t i = 0; i < w->count && w->runs == 0 && !p->adds; i++) memset(r->out[i] + w->k0, 0, (size_t)w->cols * sizeof(float));
    return w->runs > 0;
}

/* Of many pixels: a block of them by a part of the columns. */
static void block_item(void *arg, int64_t item, int thread)
{
    const split *g = arg;
    const work w = work_of(g, item);
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = take_room(g, &t);
    ct_split_gemm a;
    if (!begin(g, &w, &r, &a)) return;
    a.a = r.laid;
    a.rows = w.count;
    a.out = r.out;
    a.b_block = g->p.taps * g->runs * g->words;
    for (int64_t at = 0; at < w.runs; at += a.runs) {
        a.runs = ct_min64(RUNS, w.runs - at);
        a.a_block = a.runs * CT_SPLIT_ROWS;
        lay_rows(g, &r, w.count, at, a.runs, r.laid, a.a_block);
        a.b = filters_at(g, w.group, w.k0 / g->wide, w.c->tap0, 0) + at * g->words;
        a.accumulate = g->p.adds || at > 0;
        g->kern->split->gemm(&a);
    }
}

/* Where the pixels of an item of few lie, laid out. */
static float *few_at(const split *g, const work *w)
{
    return g->laid + g->at[w->k] + w->group * ct_ceil_div(w->count, CT_SPLIT) * w->runs * CT_SPLIT_ROWS;
}

/* Of few pixels: lays out a piece of their depth; items are those of part_item, and within one of these pieces. */
static void few_item(void *arg, int64_t item, int thread)
{
    const split *g = arg;
    const work w = work_of(g, item);
    const int64_t part = item % g->col_parts, at = w.runs * part / g->col_parts, n = w.runs * (part + 1) / g->col_parts - at;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = take_room(g, &t);
    ct_conv_gather_find(&g->p, w.c, w.group, w.first, w.count, g->zeros, r.in, g->block, r.out);
    lay_rows(g, &r, w.count, at, n, few_at(g, &w) + at * CT_SPLIT_ROWS, w.runs * CT_SPLIT_ROWS);
}

/* All of them by a part of the columns. */
static void part_item(void *arg, int64_t item, int thread)
{
    const split *g = arg;
    const work w = work_of(g, item);
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = take_room(g, &t);
    ct_split_gemm a;
    if (!begin(g, &w, &r, &a)) return;
    a.a_block = w.runs * CT_SPLIT_ROWS;
    a.b = r.laid;
    for (int64_t at = 0; at < w.runs; at += a.runs) {
        a.runs = ct_min64(RUNS, w.runs - at);
        a.b_block = a.runs * g->words;
        a.accumulate = g->p.adds || at > 0;
        for (int64_t i = 0; i < a.runs;) {
            const piece q = piece_at(g, at + i, a.runs - i);
            lay_columns(g, w.group, w.k0, w.cols, w.c->tap0 + q.tap, q.c0, q.channels, r.laid + i * g->words, a.b_block);
            i += q.runs;
        }
        for (int64_t i = 0; i < w.count; i += BLOCK) {
            a.a = few_at(g, &w) + i / CT_SPLIT * a.a_block + at * CT_SPLIT_ROWS;
            a.rows = ct_min64(BLOCK, w.count - i);
            a.out = r.out + i;
            g->kern->split->gemm(&a);
        }
    }
}

static ct_accept accept(const ct_device *dev, const ct_call *call)
{
    const char *no = ct_split_refuse(dev, call);
    if (no) return ct_accept_no(no);
    split g;
    set_up(&g, dev, call);
    return ct_accept_yes(ct_conv_scratch(dev, call, lay_out(&g, dev->threads, NULL)));
}

static ct_status run(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)stream;
    split g;
    set_up(&g, dev, call);
    lay_out(&g, dev->threads, scratch);
    memset(g.zeros, 0, (size_t)g.p.channels * sizeof *g.zeros);
    ct_conv_begin_sum(dev, call);
    int64_t blocks = 0;
    for (int64_t k = 0; k < g.p.classes; k++) blocks += g.blocks[k];
    const int64_t items = blocks * g.p.groups * g.col_parts;
    if (g.few) ct_cpu_for(dev, items, few_item, &g);
    else ct_cpu_for(dev, g.p.groups * (g.p.transposed ? g.runs : g.col_blocks), filters_item, &g);
    ct_cpu_for(dev, items, g.few ? part_item : block_item, &g);
    ct_conv_measure(dev, call, scratch);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, CT_CPU_SPLIT, CT_CPU_TUNED, accept, run },
    { CT_OP_CONV2D_DGRAD, CT_CPU_SPLIT, CT_CPU_TUNED, accept, run },
    { CT_OP_LINEAR, CT_CPU_SPLIT, CT_CPU_TUNED, accept, run },
    { CT_OP_LINEAR_DGRAD, CT_CPU_SPLIT, CT_CPU_TUNED, accept, run },
};
const ct_impl_set ct_cpu_conv_split_impls = CT_IMPL_SET(impls);
