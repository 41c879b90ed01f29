/* conv2d_wgrad: dw[k][t][c] = sum over pixels of dy[pixel][k] * x[pixel moved by tap t][c], as sums of outer products
 * (ct_wgemm) with filters along the vector and the sums of a tile of channels in registers over a block of pixels. Both
 * operands of a block are copied to rows of a length that is no power of two: read where they lie, rows of 512 or 1024
 * channels would fight for the same few sets of the L1 cache. x is copied for some units (a tap's slice of channels) at a time, dy for one block of filters,
 * by the first product that reads it, and stays near until it is multiplied by those units. Of first layers (few channels; ct_window_sum) only rows of
 * x are copied, and dy is read where it lies if its rows are whole vectors. The rows of all images are cut into chunks, a fixed number
 * for a shape; every chunk sums into filters of its own, [taps][channels][filters], and the chunks are added in order at
 * the end: the same bits for any number of threads.
 *
 * Products of bf16 (cpu.bf16, linear layers as well) are the same with pixels in pairs: the copies hold words of two pixels'
 * numbers, the second of a last single pixel zero. */
#include "config.h"

#include "backends/cpu/conv.h"

#include <string.h>

#define BLOCK 192 /* most pixels of a block */
#define NEAR_BYTES (32 << 10) /* and of its filters' gradients in f32, which every tile of channels reads anew from the L1 cache */
#define SLICE 192 /* channels copied at a time */
#define COPIED_BYTES ((int64_t)320 << 10) /* of x copied before filters pass by: each of them copies its part of dy anew */
#define WIDEST 64 /* filters of a block, in any set of loops */
#define SPAN 4   /* blocks of filters for which a copy of x is used, at least; the number of chunks follows from it */
#define WIDE 256 /* filters for which a copy of x is used where there are pieces enough nevertheless */
#define ITEMS 64  /* pieces of work aimed at, for any number of threads */
#define LEAST_ITEMS 6 /* for each thread, if they can be had */
#define MAX_CHUNKS 16
#define CHUNK_PIXELS 640                  /* least pixels of a chunk */
#define LONG_PIXELS 8192                  /* with more of them a chunk is cut even where there are pieces enough */
#define CHUNK_BYTES ((int64_t)16 << 20) /* all chunks' filters together, unless there is one chunk */

typedef struct wgrad {
    const ct_kern *kern;
    ct_conv_geom c;
    ct_tensor x, dy, dw;
    int64_t taps, chunks, chunk_rows; /* rows of y, of all images */
    int64_t col_blocks, padded;       /* blocks of filters in a group; their columns, rounded up to vectors */
    int64_t span, spans;              /* blocks of filters for which a copy of x is used; numbers of these */
    int64_t slices, units, parts;     /* slices of channels in a tap; (tap, slice) pairs; what they are divided into */
    int64_t copied;                   /* units whose x is copied at a time */
    int64_t block_rows;               /* rows of y in a block of pixels; 1 when a row is cut */
    int64_t block;                    /* pixels of a block */
    int64_t in_rows;                  /* rows of x a block sees, where windows or packed taps are made of them */
    int64_t line;                     /* floats of a row of x that windows read */
    int64_t x_width;                  /* floats from one pixel of the copy of x to the next */
    bool pairs;                       /* products of bf16 */
    bool windows;                     /* few channels: all taps of a pixel, one unit, are read where a copy of x's rows has them */
    bool dy_there;                    /* with windows: dy is read where it lies */
    bool packed_rows;                 /* few channels of bf16: all taps of a pixel in one row of the copy, one unit */
    float *parts_sum; /* [chunks][groups][col_blocks][taps][cg][kw] */
    char *threads;
    size_t per_thread;
} wgrad;

/* One thread's copies. */
typedef struct room {
    const float **list; /* [copied][block] rows of the copy of x; with windows where those of a row of y begin */
    const float **x_ahead, **dy_at; /* [block] first channel of x in the block after this, of dy in this; NULL if not fetched ahead */
    float *x, *rows;    /* [copied][block][x_width], or [in_rows][line] with windows; rows of x as f32 for packing */
    int64_t *at;        /* [x_width] where windows have taps and channels */
    float *dy;          /* [block][nr] of one block of filters, which stay near */
    /* with pairs: where the pixels of x or dy lie; packed taps, in f32 and bf16, [block][x_width] */
    const uint16_t **pixel;
    float *taps;
    uint16_t *taps16;
    float *turned; /* [copied][x_width][turned_width] the copy of x turned round, where the kernel wants it so; else NULL */
} room;

/* Rows of a block's copies: pixels, or pairs of them. */
static int64_t rows_of(const wgrad *g, int64_t pixels) { return g->pairs ? ct_ceil_div(pixels, 2) : pixels; }

/* Words of a row of the copy that is turned round: whole tiles, and no two rows in a set of the cache. */
static int64_t turned_width(const wgrad *g) { return ct_round_up(rows_of(g, g->block), CT_KERN_TILE) + CT_KERN_TILE; }

/* Floats of a copy of x turned round. */
static int64_t turned_floats(const wgrad *g) { return ct_round_up(g->x_width, CT_KERN_TILE) * turned_width(g); }

/* Whether x of the next block, or dy of the next filters, is called into the cache while this one is multiplied. */
static bool fetches_x(const wgrad *g) { return g->x.desc.dtype == CT_F32 && g->taps == 1 && g->c.pad_h == 0 && g->c.pad_w == 0; }
static bool fetches_dy(const wgrad *g) { return g->dy.desc.dtype == CT_F32 && !g->windows; }

static room take_room(const wgrad *g, ct_carve *t)
{
    room r = { .rows = NULL };
    const int64_t rows = rows_of(g, g->block);
    const size_t list = (size_t)g->block * sizeof(float *);
    r.list = ct_carve_take(t, (size_t)(g->copied * rows) * sizeof(float *));
    if (fetches_x(g)) r.x_ahead = ct_carve_take(t, list);
    if (fetches_dy(g)) r.dy_at = ct_carve_take(t, list);
    if (g->windows) r.at = ct_carve_take(t, (size_t)g->x_width * sizeof(int64_t));
    r.x = ct_carve_take(t, (size_t)(g->windows ? g->in_rows * g->line : g->copied * rows * g->x_width) * 4);
    r.dy = ct_carve_take(t, (size_t)(rows * g->kern->conv->nr) * 4);
    if (g->pairs) r.pixel = ct_carve_take(t, (size_t)g->block * sizeof(uint16_t *));
    if (g->pairs && g->packed_rows) {
        r.taps = ct_carve_take(t, (size_t)(g->block * g->x_width) * 4);
        r.taps16 = ct_carve_take(t, (size_t)(2 * rows * g->x_width) * 2);
    }
    if (g->pairs && g->kern->pairs->turned) r.turned = ct_carve_take(t, (size_t)(g->copied * turned_floats(g)) * 4);
    if (g->packed_rows)
        r.rows = ct_carve_take(t, (size_t)(g->in_rows * g->c.w * g->c.c) * 4);
    return r;
}

static size_t lay_out(wgrad *g, int threads, void *base)
{
    ct_carve c = { base, 0 };
    g->parts_sum = ct_carve_take(&c, (size_t)(g->chunks * g->c.groups * g->padded * g->taps * g->c.cg) * 4);
    size_t shared = c.used;
    ct_carve t = { NULL, 0 };
    take_room(g, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + shared : NULL;
    return shared + g->per_thread * (size_t)threads;
}

static ct_conv_geom geometry(const ct_call *call)
{
    const ct_desc *x = &call->in[0].desc, *dy = &call->in[1].desc, *dw = &call->out[0].desc;
    return call->op == CT_OP_LINEAR_WGRAD ? ct_linear_geometry(x, dw) : ct_conv_geometry(&call->attrs.conv, x, dw, dy);
}

static void plan(wgrad *g, const ct_device *dev, const ct_call *call, bool pairs)
{
    memset(g, 0, sizeof *g);
    g->kern = dev->kern;
    g->x = call->in[0];
    g->dy = call->in[1];
    g->dw = call->out[0];
    g->c = geometry(call);
    g->pairs = pairs;
    const ct_conv_geom *c = &g->c;
    g->taps = c->r * c->s;
    g->col_blocks = ct_ceil_div(c->kg, g->kern->conv->nr);
    g->padded = ct_round_up(c->kg, g->kern->vl);
    const bool few = c->groups == 1 && c->c < CT_CONV_SMALL_C && g->taps > 1;
    g->windows = few && !pairs;
    g->dy_there = g->windows && g->dy.desc.dtype == CT_F32 && c->k % g->kern->vl == 0;
    g->packed_rows = few && pairs;
    g->slices = ct_ceil_div(c->cg, SLICE);
    g->units = few ? 1 : g->taps * g->slices;
    g->x_width = few ? g->taps * c->cg : ct_min64(ct_round_up(c->cg, 16), SLICE) + 16;

    /* Enough chunks for the threads, as few as the filters' size allows; then the rest by channels. */
    const int64_t bytes = c->groups * g->padded * g->taps * c->cg * 4, rows = c->n * c->p;
    const int64_t others = c->groups * ct_ceil_div(g->col_blocks, SPAN) * ct_max64(1, g->units / 2);
    g->chunks = ct_max64(ct_ceil_div(ITEMS, others), rows * c->q / LONG_PIXELS);
    g->chunks = ct_min64(g->chunks, ct_min64(MAX_CHUNKS, rows * c->q / CHUNK_PIXELS));
    if (g->chunks * others < ITEMS) g->chunks = ct_cpu_even(g->chunks);
    g->chunks = ct_min64(g->chunks, ct_min64(rows, CHUNK_BYTES / ct_max64(1, bytes)));
    g->chunks = ct_max64(1, g->chunks);
    g->chunk_rows = ct_max64(1, ct_ceil_div(rows, g->chunks));
    g->chunks = ct_max64(1, ct_ceil_div(rows, g->chunk_rows));
    /* Wide spans copy x less often; how work is shared out within a chunk changes no sum. */
    for (g->span = ct_max64(SPAN, WIDE / g->kern->conv->nr);; g->span = ct_max64(SPAN, g->span / 2)) {
        g->spans = ct_ceil_div(g->col_blocks, g->span);
        g->parts = ct_ceil_div(ITEMS, g->chunks * c->groups * g->spans);
        g->parts = ct_max64(1, ct_min64(g->parts, g->units / 2));
        if (g->span == SPAN || g->chunks * c->groups * g->spans * g->parts >= LEAST_ITEMS * dev->threads) break;
    }
    g->span = ct_min64(g->span, g->col_blocks);

    const int64_t most = pairs ? 2 * BLOCK : ct_min64(BLOCK, NEAR_BYTES / (g->kern->conv->nr * (int64_t)sizeof(float)));
    g->block_rows = ct_max64(1, most / ct_max64(1, c->q));
    g->block = ct_min64(most, g->block_rows * c->q);
    const int64_t high = (c->r - 1) * c->dil_h + 1, wide = (c->s - 1) * c->dil_w + 1;
    g->in_rows = ct_conv_rows_seen(c, ct_min64(c->p, g->block_rows));
    g->copied = ct_max64(1, ct_min64(ct_ceil_div(g->units, g->parts), COPIED_BYTES / (rows_of(g, g->block) * g->x_width * 4)));
    if (!g->windows) return;
    g->in_rows = g->block_rows * ct_max64(high, c->stride_h); /* as many as there are where every row is another image's */
    g->line = ((ct_min64(g->block, c->q) - 1) * c->stride_w + wide) * c->c;
}

static const uint16_t no_pixel[SLICE > WIDEST ? SLICE : WIDEST]; /* zeros */

/* The copy of x of a unit that is the i-th copied, as it is and turned round. */
static float *x_copy(const wgrad *g, const room *r, int64_t i) { return r->x + i * rows_of(g, g->block) * g->x_width; }
static float *turned_copy(const wgrad *g, const room *r, int64_t i) { return r->turned ? r->turned + i * turned_floats(g) : NULL; }

/* Words of `count` pixels, n numbers of each. */
static void zip_pixels(const wgrad *g, const uint16_t *const *pixel, int64_t count, int64_t n, float *out, int64_t ld_out)
{
    for (int64_t i = 0; i < count; i += 2)
        g->kern->pairs->zip(n, pixel[i], i + 1 < count ? pixel[i + 1] : no_pixel, out + i / 2 * ld_out);
}

/* zip_pixels of what copy_x copies. */
static void zip_x(const wgrad *g, const room *r, int64_t row, int64_t q, int64_t count, int64_t tap, int64_t c0, int64_t n, float *out)
{
    const ct_conv_geom *c = &g->c;
    const int64_t dh = tap / c->s * c->dil_h - c->pad_h, dw = tap % c->s * c->dil_w - c->pad_w;
    for (int64_t i = 0, run; i < count; i += run, row++, q = 0) {
        const int64_t image = row / c->p, h = row % c->p * c->stride_h + dh;
        int64_t lo = 0, hi = 0;
        run = ct_min64(count - i, c->q - q);
        if (h >= 0 && h < c->h) ct_conv_inside(c, dw, q, run, &lo, &hi);
        const int64_t at = (image * c->h + h) * c->w + q * c->stride_w + dw;
        for (int64_t j = 0; j < run; j++)
            r->pixel[i + j] = j < lo || j >= hi ? no_pixel : (const uint16_t *)g->x.data + (at + j * c->stride_w) * c->c + c0;
    }
    zip_pixels(g, r->pixel, count, n, out, g->x_width);
}

/* And of dy's filters k0 .. k0+n-1. */
static void zip_dy(const wgrad *g, const room *r, int64_t row, int64_t q, int64_t count, int64_t k0, int64_t n, float *out,
                   int64_t ld_out)
{
    for (int64_t i = 0; i < count; i++)
        r->pixel[i] = (const uint16_t *)g->dy.data + (row * g->c.q + q + i) * g->c.k + k0;
    zip_pixels(g, r->pixel, count, n, out, ld_out);
}

/* Copies `rows` rows of n elements from element `at` of t on, ld apart, to f32 rows of out. */
static void copy_rows(const wgrad *g, const ct_tensor *t, int64_t at, int64_t ld, int64_t rows, int64_t n, float *out,
                      int64_t ld_out)
{
    if (t->desc.dtype == CT_F32) {
        g->kern->copy->rows(rows, n, (const float *)t->data + at, ld, out, ld_out);
        return;
    }
    for (int64_t i = 0; i < rows; i++) ct_cpu_to_f32(g->kern, t->desc.dtype, t->data, at + i * ld, n, out + i * ld_out);
}

/* Channels c0 .. c0+n-1 that a tap sees at `count` pixels from column q of row `row` on (rows of y, of all images)
 * -> out; zeros in the padding. */
static void copy_x(const wgrad *g, int64_t row, int64_t q, int64_t count, int64_t tap, int64_t c0, int64_t n, float *out)
{
    const ct_conv_geom *c = &g->c;
    const int64_t dh = tap / c->s * c->dil_h - c->pad_h, dw = tap % c->s * c->dil_w - c->pad_w, ld = g->x_width;
    if (ct_conv_is_product(c)) {
        copy_rows(g, &g->x, (row * c->w + q) * c->c + c0, c->c, count, n, out, ld);
        return;
    }
    for (int64_t run; count > 0; count -= run, out += run * ld, row++, q = 0) {
        const int64_t image = row / c->p, h = row % c->p * c->stride_h + dh;
        int64_t lo = 0, hi = 0; /* pixels of this run that lie inside */
        run = ct_min64(count, c->q - q);
        if (h >= 0 && h < c->h) ct_conv_inside(c, dw, q, run, &lo, &hi);
        for (int64_t j = 0; j < lo; j++) memset(out + j * ld, 0, (size_t)n * 4);
        if (lo < hi)
            copy_rows(g, &g->x, ((image * c->h + h) * c->w + (q + lo) * c->stride_w + dw) * c->c + c0,
                      c->stride_w * c->c, hi - lo, n, out + lo * ld, ld);
        for (int64_t j = hi; j < run; j++) memset(out + j * ld, 0, (size_t)n * 4);
    }
}

/* All taps of those pixels -> out, for few channels; an image at a time. */
static void pack_taps(const wgrad *g, const room *r, int64_t row, int64_t q, int64_t count, float *out)
{
    const ct_conv_geom *c = &g->c;
    const int64_t line = c->w * c->c;
    for (int64_t n; count > 0; count -= n, out += n * g->x_width, row += c->p - row % c->p, q = 0) {
        const int64_t image = row / c->p, p = row % c->p;
        n = ct_min64(count, (c->p - p) * c->q - q);
        const int64_t rows = ct_ceil_div(q + n, c->q), first = ct_max64(0, p * c->stride_h - c->pad_h),
                      last = ct_min64(c->h, (p + rows - 1) * c->stride_h - c->pad_h + (c->r - 1) * c->dil_h + 1);
        if (first < last)
            ct_cpu_to_f32(g->kern, g->x.desc.dtype, g->x.data, (image * c->h + first) * line, (last - first) * line,
                          r->rows);
        ct_conv_pack(g->kern, c, r->rows, first, p, q, n, out);
    }
}

/* Rows of x that `count` pixels see, with zeros for the padding -> r->x, and where the windows of each of their rows begin there -> r->list. */
static void copy_windows(const wgrad *g, const room *r, int64_t row, int64_t q, int64_t count)
{
    const ct_conv_geom *c = &g->c;
    const int64_t first = (q * c->stride_w - c->pad_w) * c->c, left = ct_min64(g->line, ct_max64(0, -first));
    const int64_t n = ct_max64(0, ct_min64(g->line - left, c->w * c->c - (first + left)));
    float *to = r->x;
    for (int64_t i = 0, run; i < count; i += run * c->q, row += run) {
        const int64_t image = row / c->p, p = row % c->p, h0 = p * c->stride_h - c->pad_h;
        run = ct_min64(ct_ceil_div(count - i, c->q), c->p - p); /* rows of y in this image */
        const int64_t rows = (run - 1) * c->stride_h + (c->r - 1) * c->dil_h + 1;
        for (int64_t y = 0; y < run; y++) r->list[i / c->q + y] = to + y * c->stride_h * g->line;
        for (int64_t h = h0; h < h0 + rows; h++, to += g->line) {
            const int64_t begin = h < 0 || h >= c->h ? g->line : left, length = h < 0 || h >= c->h ? 0 : n;
            memset(to, 0, (size_t)begin * 4);
            if (length > 0) ct_cpu_to_f32(g->kern, g->x.desc.dtype, g->x.data, ((image * c->h + h) * c->w) * c->c + first + left, length, to + begin);
            memset(to + begin + length, 0, (size_t)(g->line - begin - length) * 4);
        }
    }
}

static void pack_x(const wgrad *g, const room *r, int64_t row, int64_t q, int64_t count)
{
    const int64_t n = g->x_width;
    pack_taps(g, r, row, q, count, g->pairs ? r->taps : r->x);
    if (!g->pairs) return;
    g->kern->copy->to_bf16(count * n, r->taps, r->taps16);
    if (count % 2) memset(r->taps16 + count * n, 0, (size_t)n * 2);
    for (int64_t i = 0; i < count; i += 2)
        g->kern->pairs->zip(n, r->taps16 + i * n, r->taps16 + (i + 1) * n, r->x + i / 2 * n);
}

/* Turns a copy of x round: words of `rows` pairs of pixels, n channels; zeros fill up a row's last tile. */
static void turn_x(const wgrad *g, const float *x, int64_t rows, int64_t n, float *turned)
{
    const int64_t ld = turned_width(g), wide = ct_round_up(rows, CT_KERN_TILE);
    g->kern->wino->turn(rows, n, x, g->x_width, turned, ld);
    for (int64_t i = 0; i < n && rows < wide; i++) memset(turned + i * ld + rows, 0, (size_t)(wide - rows) * 4);
}

/* Filters of block b of a group, and their width rounded up to vectors. */
static int64_t block_cols(const wgrad *g, int64_t b, int64_t *kw)
{
    const int64_t kn = ct_min64(g->kern->conv->nr, g->c.kg - b * g->kern->conv->nr);
    *kw = ct_round_up(kn, g->kern->vl);
    return kn;
}

/* Consecutive pixels of y: `count` from column q of row `row` (of all images) on; whole rows, or a part of one that is
 * longer than a block. count 0: behind the end. */
typedef struct pixels {
    int64_t row, q, count;
} pixels;

static pixels pixels_at(const wgrad *g, int64_t row, int64_t q, int64_t end)
{
    pixels b = { row, q, 0 };
    if (row < end) b.count = ct_min64(g->block, q > 0 ? g->c.q - q : ct_min64(g->block_rows, end - row) * g->c.q);
    return b;
}

static pixels pixels_after(const wgrad *g, pixels b, int64_t end)
{
    const int64_t at = b.q + b.count;
    return pixels_at(g, b.row + at / g->c.q, at % g->c.q, end);
}

/* Where the pixels of a block lie in x; the last one again up to the block's size. */
static void find_x(const wgrad *g, pixels b, int64_t group, const float **list)
{
    const ct_conv_geom *c = &g->c;
    const float *x = (const float *)g->x.data + group * c->cg;
    for (int64_t i = 0; i < g->block; i++) {
        list[i] = x + ((b.row / c->p * c->h + b.row % c->p * c->stride_h) * c->w + b.q * c->stride_w) * c->c;
        if (i + 1 >= b.count) continue;
        if (++b.q == c->q) {
            b.q = 0;
            b.row++;
        }
    }
}

/* And in dy, where all pixels follow each other. */
static void find_dy(const wgrad *g, pixels b, int64_t group, const float **list)
{
    const float *dy = (const float *)g->dy.data + (b.row * g->c.q + b.q) * g->c.k + group * g->c.kg;
    for (int64_t i = 0; i < b.count; i++) list[i] = dy + i * g->c.k;
}

/* What a thread is at: units u0 .. u1-1 times filter blocks b0 .. b1-1 of a group, at some pixels; `more`: these are added to what is in the sums; last:
 * there are none behind them. */
typedef struct work {
    int64_t group, b0, b1, u0, u1;
    pixels at;
    float *sums;
    bool more, last;
} work;

/* Lets the product for filter block b and channels c0.. of a unit fetch its share of what is read next: in the first block those channels of x, in the
 * first unit of those copied (of which the last one is the item's last, or not) dy of the block after it. */
static void fetch_ahead(const wgrad *g, const room *r, const work *k, ct_wgemm *a, bool first_unit, bool end, int64_t b, int64_t c0)
{
    if (r->x_ahead && b == k->b0 && !k->last) {
        a->ahead[0] = r->x_ahead;
        a->first[0] = c0;
        a->lines[0] = ct_ceil_div(a->c_n, CT_KERN_LINE);
    }
    const int64_t next = b + 1 < k->b1 ? b + 1 : k->b0;
    const bool here = b + 1 < k->b1 || !end;
    if (!r->dy_at || !first_unit || (!here && k->last)) return;
    a->ahead[1] = r->dy_at;
    a->first[1] = next * g->kern->conv->nr + (here ? 0 : k->at.count * g->c.k);
    block_cols(g, next, &a->lines[1]);
    a->lines[1] = ct_ceil_div(a->lines[1], CT_KERN_LINE);
}

/* Filter block b where x is read as windows. */
static void sum_windows(const wgrad *g, const room *r, const work *k, int64_t b)
{
    const ct_conv_geom *c = &g->c;
    const int64_t depth = g->taps * c->cg, nr = g->kern->conv->nr, count = k->at.count;
    ct_window_sum a = { .in = r->list, .at = r->at, .rows = ct_ceil_div(count, c->q), .np = ct_min64(count, c->q) };
    a.step = c->stride_w * c->c;
    a.c_n = depth;
    block_cols(g, b, &a.kw);
    a.ldw = a.kw;
    a.dw = k->sums + b * nr * depth;
    a.accumulate = k->more;
    a.ldy = a.kw;
    a.dy = r->dy;
    if (g->dy_there) {
        a.ldy = c->k;
        a.dy = (const float *)g->dy.data + (k->at.row * c->q + k->at.q) * c->k + b * nr;
        if (!k->last) { /* each filter block calls its share of the rows behind these */
            a.next_floats = count * a.kw;
            a.next = a.dy - b * nr + count * c->k + b * nr * count;
        }
    }
    g->kern->conv->window_sums(&a);
}

/* Channels of unit u from *c0 on. */
static int64_t unit_channels(const wgrad *g, int64_t u, int64_t *c0)
{
    *c0 = u % g->slices * SLICE;
    return g->packed_rows || g->windows ? g->taps * g->c.cg : ct_min64(SLICE, g->c.cg - *c0);
}

/* x of unit u, the i-th that is copied. */
static void copy_unit(const wgrad *g, const room *r, const work *k, int64_t u, int64_t i)
{
    const pixels at = k->at;
    int64_t c0;
    const int64_t n = unit_channels(g, u, &c0), first = k->group * g->c.cg + c0;
    float *x = x_copy(g, r, i);
    if (g->windows) copy_windows(g, r, at.row, at.q, at.count);
    else if (g->packed_rows) pack_x(g, r, at.row, at.q, at.count);
    else if (g->pairs) zip_x(g, r, at.row, at.q, at.count, u / g->slices, first, n, x);
    else copy_x(g, at.row, at.q, at.count, u / g->slices, first, n, x);
    if (r->turned) turn_x(g, x, rows_of(g, at.count), n, turned_copy(g, r, i));
}

/* Copies dy of filter block b; columns behind the last filter are zeros. Whole vectors of f32 are left for the first product to copy: where they lie, else
 * NULL. */
static const float *copy_dy(const wgrad *g, const room *r, const work *k, int64_t b)
{
    const pixels at = k->at;
    int64_t kw;
    const int64_t kn = block_cols(g, b, &kw), k0 = k->group * g->c.kg + b * g->kern->conv->nr, from = (at.row * g->c.q + at.q) * g->c.k + k0;
    if (!g->pairs && !g->windows && g->dy.desc.dtype == CT_F32 && kn == kw) return (const float *)g->dy.data + from;
    if (kn < kw) memset(r->dy, 0, (size_t)(rows_of(g, at.count) * kw) * 4);
    if (g->pairs) zip_dy(g, r, at.row, at.q, at.count, k0, kn, r->dy, kw);
    else copy_rows(g, &g->dy, from, g->c.k, at.count, kn, r->dy, kw);
    return NULL;
}

/* One block of pixels: some units' x is copied, then each block of filters of dy, which they are multiplied by while it is near. */
static void block_of_pixels(const wgrad *g, const room *r, const work *k)
{
    const int64_t depth = g->taps * g->c.cg, nr = g->kern->conv->nr, rows = rows_of(g, g->block);
    for (int64_t u0 = k->u0, u1; u0 < k->u1; u0 = u1) {
        u1 = ct_min64(k->u1, u0 + g->copied);
        for (int64_t u = u0; u < u1; u++) copy_unit(g, r, k, u, u - u0);
        for (int64_t b = k->b0; b < k->b1; b++) {
            const float *from = g->dy_there ? NULL : copy_dy(g, r, k, b);
            if (g->windows) {
                sum_windows(g, r, k, b);
                continue;
            }
            for (int64_t u = u0; u < u1; u++) {
                int64_t c0;
                ct_wgemm a = { .in = r->list + (u - u0) * rows, .dy = r->dy, .np = rows_of(g, k->at.count), .c_n = unit_channels(g, u, &c0) };
                block_cols(g, b, &a.kw);
                a.ldy = a.ldw = a.kw;
                a.dw = k->sums + b * nr * depth + (u / g->slices * g->c.cg + c0) * a.kw;
                a.accumulate = k->more;
                if (u == u0) a.dy_from = from;
                a.ld_from = g->c.k;
                a.turned = turned_copy(g, r, u - u0);
                a.ld_turned = turned_width(g);
                fetch_ahead(g, r, k, &a, u == u0, u1 == k->u1, b, c0);
                if (g->pairs) g->kern->pairs->wgemm(&a);
                else g->kern->conv->wgemm(&a);
            }
        }
    }
}

/* One (chunk, group, span of filters, part of the channels). */
static void chunk_item(void *arg, int64_t item, int thread)
{
    const wgrad *g = arg;
    const ct_conv_geom *c = &g->c;
    const int64_t part = item % g->parts, span = item / g->parts % g->spans, group = item / g->parts / g->spans % c->groups,
                  chunk = item / g->parts / g->spans / c->groups;
    work k = { .group = group, .b0 = span * g->span, .b1 = ct_min64((span + 1) * g->span, g->col_blocks) };
    k.u0 = g->units * part / g->parts;
    k.u1 = g->units * (part + 1) / g->parts;
    k.sums = g->parts_sum + (chunk * c->groups + group) * g->padded * g->taps * c->cg;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const room r = take_room(g, &t);
    for (int64_t i = 0; i < g->copied * rows_of(g, g->block) && !g->windows; i++) r.list[i] = r.x + i * g->x_width;
    for (int64_t i = 0; i < g->x_width && g->windows; i++) {
        const int64_t tap = i / c->c;
        r.at[i] = tap / c->s * c->dil_h * g->line + tap % c->s * c->dil_w * c->c + i % c->c;
    }
    /* what fills up the last tile of channels is multiplied, too, though nobody sees the results */
    if (r.turned) memset(r.turned, 0, (size_t)(g->copied * turned_floats(g)) * 4);

    const int64_t first = chunk * g->chunk_rows, end = ct_min64(c->n * c->p, first + g->chunk_rows);
    k.at = pixels_at(g, first, 0, end);
    for (pixels next; k.at.count > 0; k.at = next, k.more = true) {
        next = pixels_after(g, k.at, end);
        k.last = next.count == 0;
        if (r.dy_at) find_dy(g, k.at, group, r.dy_at);
        if (r.x_ahead && !k.last) find_x(g, next, group, r.x_ahead);
        block_of_pixels(g, &r, &k);
    }
}

#define TURN 64 /* (tap, channel) pairs turned round at a time */

/* Adds the chunks and turns [taps*cg][filters] into [filters][taps*cg] for one (group, block of filters, TURN
 * pairs). */
static void sum_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const wgrad *g = arg;
    const ct_conv_geom *c = &g->c;
    const int64_t depth = g->taps * c->cg, turns = ct_ceil_div(depth, TURN), first = item % turns * TURN,
                  count = ct_min64(TURN, depth - first);
    const int64_t b = item / turns % g->col_blocks, group = item / turns / g->col_blocks;
    const int64_t kn = ct_min64(g->kern->conv->nr, c->kg - b * g->kern->conv->nr), kw = ct_round_up(kn, g->kern->vl);
    float *sum = g->parts_sum + (group * g->padded + b * g->kern->conv->nr) * depth + first * kw;
    for (int64_t chunk = 1; chunk < g->chunks; chunk++)
        g->kern->element->add(count * kw, sum, sum + chunk * c->groups * g->padded * depth, sum);
    const int64_t at = (group * c->kg + b * g->kern->conv->nr) * depth + first;
    if (g->dw.desc.dtype == CT_F32) {
        g->kern->copy->transpose(count, kn, sum, kw, (float *)g->dw.data + at, depth);
        return;
    }
    float rows[TURN * TURN]; /* TURN filters at a time */
    for (int64_t k = 0; k < kn; k += TURN) {
        const int64_t n = ct_min64(TURN, kn - k);
        g->kern->copy->transpose(count, n, sum + k, kw, rows, TURN);
        for (int64_t i = 0; i < n; i++)
            ct_cpu_to_type(g->kern, g->dw.desc.dtype, rows + i * TURN, count, g->dw.data, at + (k + i) * depth);
    }
}

static ct_accept accept(const ct_device *dev, const ct_call *call, bool pairs)
{
    const ct_conv_geom c = geometry(call);
    const char *no = pairs ? ct_pairs_refuse(dev, call) : NULL;
    if (!no) no = ct_conv_refuse(call, &c);
    if (no) return ct_accept_no(no);
    wgrad g;
    plan(&g, dev, call, pairs);
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status run(ct_device *dev, const ct_call *call, void *scratch, bool pairs)
{
    wgrad g;
    plan(&g, dev, call, pairs);
    lay_out(&g, dev->threads, scratch);
    ct_cpu_for(dev, g.chunks * g.c.groups * g.spans * g.parts, chunk_item, &g);
    ct_cpu_for(dev, g.c.groups * g.col_blocks * ct_ceil_div(g.taps * g.c.cg, TURN), sum_item, &g);
    return CT_OK;
}

CT_CPU_TWO_FORMS(accept, run)

static const ct_impl pairs_impls[] = {
    { CT_OP_CONV2D_WGRAD, CT_CPU_PAIRS, CT_CPU_TUNED, pairs_accept, pairs_run },
    { CT_OP_LINEAR_WGRAD, CT_CPU_PAIRS, CT_CPU_TUNED, pairs_accept, pairs_run },
};
const ct_impl_set ct_cpu_conv_wgrad_pairs_impls = CT_IMPL_SET(pairs_impls);

static const ct_impl impls[] = {
    { CT_OP_CONV2D_WGRAD, "cpu.outer", CT_CPU_TUNED, f32_accept, f32_run },
};
const ct_impl_set ct_cpu_conv_wgrad_impls = CT_IMPL_SET(impls);
