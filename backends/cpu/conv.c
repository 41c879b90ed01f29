/* conv2d and conv2d_dgrad as products of gathered rows ("indirect" convolution): instead of copying pixels into
 * columns, a list of pointers says for every tap and output pixel where its channels lie; taps in the padding point at
 * a row of zeros. The kernel (ct_igemm) walks the lists with sums in registers. The data gradient is the same product
 * with x and y exchanged: with stride s the pixels of dx fall into s*s classes, each of which sees its own subset of
 * the taps, so nothing is multiplied by zeros. Work is divided by image and band of output rows; every output is summed
 * by one thread in a fixed order.
 *
 * Moments that are wanted beside an f32 y are summed while it lies in registers: by the band, which are added up in order behind.
 *
 * The same lists serve products of bf16 (cpu.bf16): channels are then counted in words of two (ct_kern_pairs), pixels are
 * read where they lie if a group's channels are whole words, and outputs are rounded once, as they leave the registers. Linear
 * layers are convolutions of 1x1 images there. */
#include "config.h"

#include "backends/cpu/conv_gather.h"

#include <string.h>

#define POINTERS 4096  /* row pointers of one block of pixels, all taps together */
#define DEPTH 512      /* taps*channels multiplied at a time */
#define BLOCK_FLOATS 98304 /* channels of a block of pixels, so many of them as DEPTH takes: half an L2 cache */
#define ITEMS 64       /* pieces of work aimed at, for any number of threads */
#define BAND 96        /* least pixels of a band that sees the same taps: all filters are read for each */
#define FAR_BYTES ((int64_t)2 << 20) /* of filters, from which on the next columns' are called into the cache: an L2 cache has not kept them */
#define PACK 64        /* rows and columns of filters packed at a time */

/* A gathered product over a batch, divided into work. */
typedef struct gather {
    const ct_kern *kern;
    ct_conv_gather p;
    int64_t in_c;    /* of a pixel, in floats or words */
    int64_t depth;   /* channels in, per group: words of two with pairs */
    bool pairs;      /* products of bf16 */
    bool measures;   /* moments are summed on the way */
    int64_t w_rows;  /* rows of a group's packed filters */
    int64_t bands, band_rows; /* of output rows, per image */
    int64_t col_parts;        /* what the column blocks are divided into */
    int64_t in_rows;          /* most input rows a band sees */
    int64_t block;            /* pixels of one list */
    bool windows;             /* few channels, forward: a tap is a row of the filter, all of whose channels lie behind each other */
    bool packed_rows;         /* few channels, forward, where they do not: one packed row of taps*depth per pixel */
    int64_t col_blocks;
    /* scratch */
    float *w_packed; /* [groups][col_blocks][taps][depth][kw] */
    float *zeros;    /* [in_c], at least a tap's depth and a block of columns; with windows a row of the input */
    float *bias_f32; /* [out_c] */
    double *sums;    /* [n][bands][2][out_c] of y and of y*y, if it measures */
    char *threads;
    size_t per_thread;
} gather;

static void zero_cells(float *dst, int64_t n, int64_t cells, int64_t width)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; c < cells; c++) dst[j * width + c] = 0;
}

void ct_conv_pack(const ct_kern *kern, const ct_conv_geom *g, const float *rows, int64_t first_h, int64_t p, int64_t q,
                  int64_t count, float *out)
{
    const int64_t ch = g->c, width = g->r * g->s * ch, line = g->w * ch, step = g->stride_w * ch;
    /* Neighbouring taps of a filter's row lie behind each other in x: pixels that see all of them copy them at once. */
    const int64_t ends = (g->s - 1) * g->dil_w;
    for (int64_t n; count > 0; count -= n, out += n * width, p++, q = 0) {
        n = ct_min64(count, g->q - q);
        for (int64_t r = 0; r < g->r; r++) {
            const int64_t h = p * g->stride_h - g->pad_h + r * g->dil_h;
            float *dst = out + r * g->s * ch;
            if (h < 0 || h >= g->h) {
                zero_cells(dst, n, g->s * ch, width);
                continue;
            }
            const float *src = rows + (h - first_h) * line;
            int64_t first_lo, first_hi, last_lo, last_hi;
            ct_conv_inside(g, -g->pad_w, q, n, &first_lo, &first_hi);
            ct_conv_inside(g, ends - g->pad_w, q, n, &last_lo, &last_hi);
            const bool together = g->dil_w == 1 && first_lo < last_hi;
            if (together)
                kern->copy->rows(last_hi - first_lo, g->s * ch, src + ((q + first_lo) * g->stride_w - g->pad_w) * ch,
                                 step, dst + first_lo * width, width);
            for (int64_t s = 0; s < g->s; s++) {
                const int64_t off = s * g->dil_w - g->pad_w;
                int64_t lo, hi;
                ct_conv_inside(g, off, q, n, &lo, &hi);
                float *to = dst + s * ch;
                zero_cells(to, lo, ch, width);
                for (int64_t j = lo; j < hi; j++) {
                    if (together && j == first_lo) j = last_hi;
                    if (j >= hi) break;
                    for (int64_t c = 0; c < ch; c++) to[j * width + c] = src[((q + j) * g->stride_w + off) * ch + c];
                }
                zero_cells(to + hi * width, n - hi, ch, width);
            }
        }
    }
}

/* Width of column block b, floats, rounded up to vectors; *valid: columns that exist. */
static int64_t block_width(const ct_kern *k, int64_t cols, int64_t b, int64_t *valid)
{
    *valid = ct_min64(k->conv->nr, cols - b * k->conv->nr);
    return ct_round_up(*valid, k->vl);
}

/* Floats before column block b of one group: all blocks before it are nr wide. */
static int64_t block_start(const gather *g, int64_t group, int64_t b)
{
    return (group * ct_round_up(g->p.cols, g->kern->vl) + b * g->kern->conv->nr) * g->w_rows;
}

/* What becomes of the input before it is multiplied: a thread's copy of its band as f32, or as f32 with what the windows see of the
 * padding on both sides; with pairs a copy whose groups of channels are whole words, or as f32 where taps are packed; nothing. */
enum input { IN_PLACE, AS_F32, PADDED, AS_WORDS };
static enum input input_of(const gather *g)
{
    if (g->windows) return PADDED;
    if (!g->pairs) return g->p.in_type == CT_F32 ? IN_PLACE : AS_F32;
    if (g->packed_rows) return AS_F32;
    return g->p.channels % 2 == 0 ? IN_PLACE : AS_WORDS;
}

/* Channels as `in` has them, in f32 or words. */
static int64_t in_width(const gather *g)
{
    const enum input as = input_of(g);
    return g->p.groups * (as == AS_F32 || as == PADDED ? g->p.channels : g->depth);
}

/* Fixed numbers of the division of work, from the fields above `bands`. */
static void plan(gather *g)
{
    g->col_blocks = ct_ceil_div(g->p.cols, g->kern->conv->nr);
    if (g->p.flat) {
        g->p.in_h *= g->p.n;
        g->p.out_h *= g->p.n;
        for (int64_t k = 0; k < g->p.classes; k++) g->p.cls[k].rows *= g->p.n;
        g->p.n = 1;
    }
    g->bands = ct_min64(g->p.out_h, ct_ceil_div(ITEMS, g->p.n));
    g->bands = ct_max64(1, ct_min64(g->bands, g->p.out_h * g->p.out_w / (BAND * g->p.step_h * g->p.step_w)));
    g->band_rows = ct_round_up(ct_ceil_div(g->p.out_h, g->bands), g->p.step_h);
    g->bands = ct_ceil_div(g->p.out_h, g->band_rows);
    /* Few pixels: the columns are divided as well, where the results need no conversion. */
    g->col_parts = 1;
    if (g->p.groups == 1 && (g->pairs || g->p.out_type == CT_F32)) g->col_parts = ct_ceil_div(ITEMS, g->p.n * g->bands);
    g->col_parts = ct_min64(g->col_parts, g->col_blocks);
    g->packed_rows = g->p.groups == 1 && g->p.channels < CT_CONV_SMALL_C && g->p.taps > 1 && !g->p.transposed && !g->windows;
    g->in_c = in_width(g);
    if (g->packed_rows) g->w_rows = g->pairs ? ct_ceil_div(g->p.taps * g->p.channels, 2) : g->p.taps * g->p.channels;
    else g->w_rows = g->p.taps * g->depth;
    g->block = ct_min64(480, ct_min64(POINTERS / g->p.taps, BLOCK_FLOATS / ct_min64(DEPTH, ct_max64(1, g->depth))));
    g->block = ct_max64(12, g->block / 6 * 6);
    g->in_rows = g->p.in_h;
    if (g->bands > 1) {
        int64_t low = 0, high = 0;
        for (int64_t t = 0; t < g->p.taps; t++) {
            low = ct_min64(low, g->p.off_h[t]);
            high = ct_max64(high, g->p.off_h[t]);
        }
        g->in_rows = ct_min64(g->p.in_h, ct_ceil_div(g->band_rows, g->p.step_h) * g->p.in_step_h + high - low + 1);
    }
}

/* One image's band as the pixels see it. */
typedef struct band {
    const float *in; /* rows in_first.. of the image, f32 or words */
    int64_t in_first, image;
    float *out; /* rows out_first.. of the image, f32; without pairs */
    int64_t out_first;
    const float **rows; /* [taps][block]; NULL with windows, as outs */
    float **outs;       /* [block]; with pairs out16 */
    uint16_t **out16;
    float *packed;      /* [block][w_rows] or NULL */
    float *taps;        /* the same in f32, with pairs */
    double *sums;       /* [2][out_c] or NULL */
    float *copy, *out_copy; /* of the input, of the output, or NULL */
} band;

static band take_band(const gather *g, ct_carve *t)
{
    band s = { .out_first = 0 };
    if (!g->windows) {
        s.rows = ct_carve_take(t, (size_t)(g->p.taps * g->block) * sizeof(float *));
        if (g->pairs) s.out16 = ct_carve_take(t, (size_t)g->block * sizeof(uint16_t *));
        else s.outs = ct_carve_take(t, (size_t)g->block * sizeof(float *));
    }
    if (g->packed_rows) s.packed = ct_carve_take(t, (size_t)(g->block * g->w_rows) * 4);
    if (g->packed_rows && g->pairs) s.taps = ct_carve_take(t, (size_t)(g->block * g->p.taps * g->p.channels) * 4);
    if (input_of(g) != IN_PLACE) s.copy = ct_carve_take(t, (size_t)(g->in_rows * g->p.in_w * g->in_c) * 4);
    if (!g->pairs && g->p.out_type != CT_F32) s.out_copy = ct_carve_take(t, (size_t)(g->band_rows * g->p.out_w * g->p.out_c) * 4);
    return s;
}

static size_t zeros_bytes(const gather *g)
{
    const int64_t most = g->windows ? g->p.in_w * g->in_c : ct_max64(g->in_c, g->depth);
    return (size_t)ct_max64(most, g->kern->conv->nr) * 4;
}

/* Lays out the scratch; with base NULL only its size. */
static size_t lay_out(gather *g, int threads, void *base)
{
    ct_carve c = { base, 0 };
    g->w_packed = ct_carve_take(&c, (size_t)(g->p.groups * ct_round_up(g->p.cols, g->kern->vl) * g->w_rows) * 4);
    g->zeros = ct_carve_take(&c, zeros_bytes(g));
    g->bias_f32 = ct_carve_take(&c, (size_t)g->p.out_c * 4);
    if (g->measures) g->sums = ct_carve_take(&c, (size_t)(g->p.n * g->bands * 2 * g->p.out_c) * sizeof *g->sums);
    size_t shared = c.used;
    ct_carve t = { NULL, 0 };
    take_band(g, &t);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + shared : NULL;
    return shared + g->per_thread * (size_t)threads;
}

/* Word i of n channels of bf16; the last one is filled up with zero. */
static uint32_t word_of(const uint16_t *x, int64_t i, int64_t n)
{
    return x[2 * i] | (2 * i + 1 < n ? (uint32_t)x[2 * i + 1] << 16 : 0);
}

/* Filters first .. first+valid-1 of bf16 to words: each tap's channels, or all taps' as they lie where these are packed. */
static void pack_words(const gather *g, int64_t first, int64_t valid, int64_t kw, float *dst)
{
    const uint16_t *w = (const uint16_t *)g->p.weights + first * g->p.taps * g->p.channels;
    const int64_t runs = g->packed_rows ? 1 : g->p.taps, n = g->p.taps * g->p.channels / runs, words = ct_ceil_div(n, 2);
    for (int64_t i = 0; i < g->w_rows && valid < kw; i++) memset(dst + i * kw + valid, 0, (size_t)(kw - valid) * 4);
    if (n % 2 == 0) {
        g->kern->copy->transpose(valid, g->w_rows, (const float *)(const void *)w, g->w_rows, dst, kw);
        return;
    }
    for (int64_t j = 0; j < valid; j++)
        for (int64_t t = 0; t < runs; t++)
            for (int64_t i = 0; i < words; i++) {
                const uint32_t word = word_of(w + (j * runs + t) * n, i, n);
                memcpy(dst + (t * words + i) * kw + j, &word, sizeof word);
            }
}

/* Packs the filters of one (group, column block): [cols][taps*depth] is turned round. */
static void pack_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const gather *g = arg;
    const int64_t group = item / g->col_blocks, b = item % g->col_blocks, rows = g->p.taps * g->depth;
    int64_t valid;
    const int64_t kw = block_width(g->kern, g->p.cols, b, &valid);
    const int64_t first = (group * g->p.cols + b * g->kern->conv->nr) * rows;
    float *dst = g->w_packed + block_start(g, group, b), buf[PACK * PACK];
    if (g->pairs) {
        pack_words(g, group * g->p.cols + b * g->kern->conv->nr, valid, kw, dst);
        return;
    }
    for (int64_t i = 0; i < rows && valid < kw; i++)
        for (int64_t j = valid; j < kw; j++) dst[i * kw + j] = 0;
    if (g->p.w_type == CT_F32) {
        g->kern->copy->transpose(valid, rows, (const float *)g->p.weights + first, rows, dst, kw);
        return;
    }
    for (int64_t at = 0; at < rows; at += PACK)
        for (int64_t j = 0; j < valid; j += PACK) {
            const int64_t len = ct_min64(PACK, rows - at), n = ct_min64(PACK, valid - j);
            for (int64_t i = 0; i < n; i++)
                ct_cpu_to_f32(g->kern, g->p.w_type, g->p.weights, first + (j + i) * rows + at, len, buf + i * PACK);
            g->kern->copy->transpose(n, len, buf, PACK, dst + at * kw + j, kw);
        }
}

/* Columns k0 .. k0+n-1 of two rows of a tap of transposed filters; the row behind the last is zeros, as `zeros` has them. */
static void zip_rows(const gather *g, int64_t group, int64_t t, int64_t word, int64_t k0, int64_t n, float *dst)
{
    const uint16_t *row[2];
    for (int64_t i = 0; i < 2; i++) {
        const int64_t d = 2 * word + i, at = ((group * g->p.channels + d) * g->p.taps + g->p.tap_of[t]) * g->p.cols + k0;
        row[i] = d < g->p.channels ? (const uint16_t *)g->p.weights + at : (const uint16_t *)(const void *)g->zeros;
    }
    g->kern->pairs->zip(n, row[0], row[1], dst);
}

/* The same from transposed filters [depth][taps][cols]: rows of one group's columns, PACK of its depth at a time. */
static void pack_rows_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const gather *g = arg;
    const int64_t runs = ct_ceil_div(g->depth, PACK), group = item / runs, d0 = item % runs * PACK, rows = ct_min64(PACK, g->depth - d0);
    const int64_t nr = g->kern->conv->nr, ld = g->p.taps * g->p.cols;
    for (int64_t t = 0; t < g->p.taps; t++)
        for (int64_t b = 0; b < g->col_blocks; b++) {
            int64_t valid;
            const int64_t kw = block_width(g->kern, g->p.cols, b, &valid);
            const int64_t at = ((group * g->depth + d0) * g->p.taps + g->p.tap_of[t]) * g->p.cols + b * nr;
            float *dst = g->w_packed + block_start(g, group, b) + (t * g->depth + d0) * kw;
            if (!g->pairs && g->p.w_type == CT_F32) g->kern->copy->rows(rows, valid, (const float *)g->p.weights + at, ld, dst, kw);
            for (int64_t d = 0; d < rows && (g->pairs || g->p.w_type != CT_F32); d++) {
                if (g->pairs) zip_rows(g, group, t, d0 + d, b * nr, valid, dst + d * kw);
                else ct_cpu_to_f32(g->kern, g->p.w_type, g->p.weights, at + d * ld, valid, dst + d * kw);
            }
            for (int64_t d = 0; d < rows && valid < kw; d++) memset(dst + d * kw + valid, 0, (size_t)(kw - valid) * sizeof *dst);
        }
}

/* Fills the lists for pixels first .. first+count-1 of a class's part of a band (row-major, i0 = its first row). */
static void fill(const gather *g, const band *s, const ct_pixel_class *c, int64_t group, int64_t i0, int64_t first,
                 int64_t count)
{
    int64_t i = i0 + first / c->cols, j = first % c->cols;
    for (int64_t x = 0; x < count; x++) {
        const int64_t row = c->first_h + i * g->p.step_h - s->out_first, col = c->first_w + j * g->p.step_w;
        const int64_t at = (row * g->p.out_w + col) * g->p.out_c + group * g->p.cols;
        if (g->pairs) s->out16[x] = (uint16_t *)g->p.out + s->image * g->p.out_h * g->p.out_w * g->p.out_c + at;
        else s->outs[x] = s->out + at;
        if (++j == c->cols) {
            j = 0;
            i++;
        }
    }
    if (s->packed) {
        const int64_t width = g->p.taps * g->p.channels;
        float *taps = g->pairs ? s->taps : s->packed;
        ct_conv_pack(g->kern, &g->p.geom, s->in, s->in_first, i0 + first / c->cols, first % c->cols, count, taps);
        for (int64_t x = 0; x < count; x++) {
            float *row = s->packed + x * g->w_rows;
            s->rows[x] = row;
            if (!g->pairs) continue;
            if (width % 2) memset(row + g->w_rows - 1, 0, sizeof *row);
            g->kern->copy->to_bf16(width, taps + x * width, (uint16_t *)(void *)row);
        }
        return;
    }
    for (int64_t t = 0; t < c->taps; t++) {
        const float **list = s->rows + t * g->block;
        const int64_t off_h = g->p.off_h[c->tap0 + t], off_w = g->p.off_w[c->tap0 + t];
        i = i0 + first / c->cols;
        j = first % c->cols;
        for (int64_t x = 0; x < count;) {
            const int64_t run = ct_min64(count - x, c->cols - j), h = i * g->p.in_step_h + off_h;
            if (h < 0 || h >= g->p.in_h) {
                for (int64_t y = 0; y < run; y++) list[x + y] = g->zeros;
            } else {
                const float *line = s->in + (h - s->in_first) * g->p.in_w * g->in_c + group * g->depth;
                for (int64_t y = 0; y < run; y++) {
                    const int64_t w = (j + y) * g->p.in_step_w + off_w;
                    list[x + y] = w < 0 || w >= g->p.in_w ? g->zeros : line + w * g->in_c;
                }
            }
            x += run;
            j = 0;
            i++;
        }
    }
}

/* Whether results, made in one go, are written past the caches. */
static bool past_cache(const gather *g)
{
    const int64_t n = g->p.n * g->p.out_h * g->p.out_w * g->p.out_c;
    return !g->pairs && !g->p.adds && g->p.out_type == CT_F32 && ct_cpu_past_cache(g->kern, g->p.out, n, g->p.cols);
}

/* Zeros for the pixels in the lists, of a class without taps: columns of blocks b0 .. b1-1. */
static void write_zeros(const gather *g, const band *s, int64_t count, int64_t b0, int64_t b1)
{
    const int64_t first = b0 * g->kern->conv->nr, n = ct_min64(b1 * g->kern->conv->nr, g->p.cols) - first;
    for (int64_t x = 0; x < count; x++) {
        if (g->pairs) memset(s->out16[x] + first, 0, (size_t)n * sizeof(uint16_t));
        else memset(s->outs[x] + first, 0, (size_t)n * sizeof(float));
    }
}

/* Adds to the band's sums what a kernel has left of n pixels' columns first .. first+cols-1. */
static void add_moments(const gather *g, const band *s, int64_t first, int64_t cols, int64_t n, const float *moments)
{
    ct_conv_add_moments(moments, g->kern->conv->nr, cols, n, s->sums + first, s->sums + g->p.out_c + first);
}

/* Zeros for the sums of column blocks b0 .. b1-1 of all groups. */
static void clear_moments(const gather *g, const band *s, int64_t b0, int64_t b1)
{
    const int64_t first = b0 * g->kern->conv->nr, n = ct_min64(b1 * g->kern->conv->nr, g->p.cols) - first;
    for (int64_t i = 0; i < 2 * g->p.groups; i++) memset(s->sums + i * g->p.cols + first, 0, (size_t)n * sizeof *s->sums);
}

/* All columns of one group for the pixels in the lists: whole taps at a time while they fit DEPTH, else one tap in
 * slices of channels. The pixels' part of a slice stays in the cache while the blocks of filters pass by. */
static void multiply(const gather *g, const band *s, const ct_pixel_class *c, int64_t group, int64_t count, int64_t b0,
                     int64_t b1)
{
    ct_igemm a = { .in = s->rows, .out = s->outs, .out16 = s->out16, .np = count, .in_stride = g->block };
    const int64_t taps = s->packed ? 1 : c->taps, depth = s->packed ? g->w_rows : g->depth;
    /* Results that are rounded as they leave the registers are made in one go. */
    const int64_t most = g->pairs ? INT64_MAX : DEPTH, step_d = ct_min64(depth, most);
    const int64_t step_t = step_d < depth ? 1 : ct_max64(1, most / ct_max64(1, depth));
    a.stream = step_d == depth && step_t >= taps && past_cache(g);
    const bool far = g->p.cols * g->w_rows * (int64_t)sizeof(float) > FAR_BYTES;
    float moments[CT_MOMENTS * CT_KERN_COLS];
    int64_t valid;
    for (int64_t t = 0; t < taps; t += step_t)
        for (int64_t d = 0; d < depth; d += step_d) {
            a.in = s->rows + t * g->block;
            a.taps = ct_min64(step_t, taps - t);
            a.c = ct_min64(step_d, depth - d);
            a.c_first = d;
            a.c_stride = depth;
            a.accumulate = g->p.adds || t > 0 || d > 0;
            a.moments = s->sums && t + step_t >= taps && d + step_d >= depth ? moments : NULL;
            for (int64_t b = b0; b < b1; b++) {
                a.k_first = b * g->kern->conv->nr;
                a.kw = block_width(g->kern, g->p.cols, b, &a.kn);
                a.bias = g->p.bias ? g->bias_f32 + group * g->p.cols + a.k_first : NULL;
                a.w = g->w_packed + block_start(g, group, b) + (c->tap0 * g->depth + t * depth + d) * a.kw;
                a.next = NULL;
                a.next_lines = 0;
                if (far && b + 1 < b1) {
                    a.next = a.w + g->w_rows * a.kw;
                    a.next_lines = a.taps * a.c * block_width(g->kern, g->p.cols, b + 1, &valid) / CT_KERN_LINE;
                }
                if (g->pairs) g->kern->pairs->igemm(&a);
                else g->kern->conv->igemm(&a);
                if (a.moments) add_moments(g, s, group * g->p.cols + a.k_first, a.kn, count, moments);
            }
        }
}

/* Rows low .. high-1 of an image as f32, behind pad_w pixels of zeros and before as many as windows reach. */
static void copy_padded(const gather *g, const band *s, int64_t low, int64_t high)
{
    const ct_conv_geom *c = &g->p.geom;
    const int64_t line = g->p.in_w * g->in_c, left = ct_min64(line, c->pad_w * c->c), n = ct_min64(c->w * c->c, line - left);
    for (int64_t h = low; h < high; h++) {
        float *to = s->copy + (h - low) * line;
        zero_cells(to, 1, left, 0);
        ct_cpu_to_f32(g->kern, g->p.in_type, g->p.in, (s->image * c->h + h) * c->w * c->c, n, to + left);
        zero_cells(to + left + n, 1, line - left - n, 0);
    }
}

/* The rows of the input that rows r0 .. r1-1 of the output see, copied. */
static void copy_band(const gather *g, band *s, int64_t r0, int64_t r1)
{
    int64_t low = g->p.in_h, high = 0;
    for (int64_t k = 0; k < g->p.classes; k++) {
        const ct_pixel_class *c = &g->p.cls[k];
        const int64_t i0 = ct_max64(0, ct_ceil_div(r0 - c->first_h, g->p.step_h)),
                      i1 = ct_min64(c->rows, ct_ceil_div(r1 - c->first_h, g->p.step_h));
        for (int64_t x = 0; x < c->taps && i0 < i1; x++) {
            low = ct_min64(low, i0 * g->p.in_step_h + g->p.off_h[c->tap0 + x]);
            high = ct_max64(high, (i1 - 1) * g->p.in_step_h + g->p.off_h[c->tap0 + x] + 1);
        }
    }
    low = ct_max64(low, 0);
    high = ct_min64(high, g->p.in_h);
    const int64_t pixels = ct_max64(0, high - low) * g->p.in_w, first = (s->image * g->p.in_h + low) * g->p.in_w;
    if (g->windows) copy_padded(g, s, low, high);
    if (input_of(g) == AS_F32) ct_cpu_to_f32(g->kern, g->p.in_type, g->p.in, first * g->in_c, pixels * g->in_c, s->copy);
    for (int64_t i = 0; i < pixels * g->p.groups && input_of(g) == AS_WORDS; i++)
        for (int64_t j = 0; j < g->depth; j++) {
            const uint32_t word = word_of((const uint16_t *)g->p.in + (first * g->p.groups + i) * g->p.channels, j, g->p.channels);
            memcpy(s->copy + i * g->depth + j, &word, sizeof word);
        }
    s->in = s->copy;
    s->in_first = low;
}

/* Rows r0 .. r1-1 of the output, where taps are windows: column blocks b0 .. b1-1. */
static void multiply_windows(const gather *g, const band *s, int64_t r0, int64_t r1, int64_t b0, int64_t b1)
{
    const float *row[CT_CONV_MAX_TAPS];
    float moments[CT_MOMENTS * CT_KERN_COLS];
    ct_window_gemm a = { .in = row, .np = g->p.out_w, .taps = g->p.taps, .c = g->depth, .ld = g->p.out_c };
    a.step = g->p.in_step_w * g->in_c;
    a.stream = past_cache(g);
    a.moments = s->sums ? moments : NULL;
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t t = 0; t < g->p.taps; t++) {
            const int64_t h = r * g->p.in_step_h + g->p.off_h[t];
            row[t] = h < 0 || h >= g->p.in_h ? g->zeros : s->in + (h - s->in_first) * g->p.in_w * g->in_c;
        }
        for (int64_t b = b0; b < b1; b++) {
            const int64_t first = b * g->kern->conv->nr;
            a.kw = block_width(g->kern, g->p.cols, b, &a.kn);
            a.w = g->w_packed + block_start(g, 0, b);
            a.bias = g->p.bias ? g->bias_f32 + first : NULL;
            a.out = s->out + (r - s->out_first) * g->p.out_w * g->p.out_c + first;
            g->kern->conv->windows(&a);
            if (a.moments) add_moments(g, s, first, a.kn, g->p.out_w, moments);
        }
    }
}

/* The same of every class, by lists of the pixels. */
static void multiply_classes(const gather *g, const band *s, int64_t r0, int64_t r1, int64_t b0, int64_t b1)
{
    for (int64_t k = 0; k < g->p.classes; k++) {
        const ct_pixel_class *c = &g->p.cls[k];
        const int64_t i0 = ct_max64(0, ct_ceil_div(r0 - c->first_h, g->p.step_h)),
                      i1 = ct_min64(c->rows, ct_ceil_div(r1 - c->first_h, g->p.step_h));
        const int64_t pixels = i1 > i0 ? (i1 - i0) * c->cols : 0;
        for (int64_t first = 0; first < pixels; first += g->block) {
            const int64_t count = ct_min64(g->block, pixels - first);
            for (int64_t group = 0; group < g->p.groups; group++) {
                fill(g, s, c, group, i0, first, count);
                if (c->taps == 0 && !g->p.adds) write_zeros(g, s, count, b0, b1);
                else if (c->taps > 0) multiply(g, s, c, group, count, b0, b1);
            }
        }
    }
}

static void band_item(void *arg, int64_t item, int thread)
{
    const gather *g = arg;
    const int64_t part = item % g->col_parts, band_no = item / g->col_parts, n = band_no / g->bands;
    const int64_t r0 = band_no % g->bands * g->band_rows, r1 = ct_min64(g->p.out_h, r0 + g->band_rows);
    const int64_t b0 = g->col_blocks * part / g->col_parts, b1 = g->col_blocks * (part + 1) / g->col_parts;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    band s = take_band(g, &t);
    const int64_t out_at = n * g->p.out_h * g->p.out_w * g->p.out_c;
    s.image = n;
    if (g->measures) {
        s.sums = g->sums + band_no * 2 * g->p.out_c;
        clear_moments(g, &s, b0, b1);
    }
    if (s.copy) copy_band(g, &s, r0, r1);
    else s.in = (const float *)g->p.in + n * g->p.in_h * g->p.in_w * g->in_c;
    if (s.out_copy) {
        const int64_t line = g->p.out_w * g->p.out_c;
        if (g->p.adds) ct_cpu_to_f32(g->kern, g->p.out_type, g->p.out, out_at + r0 * line, (r1 - r0) * line, s.out_copy);
        s.out = s.out_copy;
        s.out_first = r0;
    } else if (!g->pairs) {
        s.out = (float *)g->p.out + out_at;
    }
    if (g->windows) multiply_windows(g, &s, r0, r1, b0, b1);
    else multiply_classes(g, &s, r0, r1, b0, b1);
    if (s.out_copy)
        ct_cpu_write_end(g->kern, g->p.out_type, g->p.out, out_at + r0 * g->p.out_w * g->p.out_c,
                         (r1 - r0) * g->p.out_w * g->p.out_c, s.out);
}

static void run_gather(const ct_device *dev, gather *g, void *scratch)
{
    lay_out(g, dev->threads, scratch);
    memset(g->zeros, 0, zeros_bytes(g));
    if (g->p.bias) ct_cpu_to_f32(g->kern, g->p.bias_type, g->p.bias, 0, g->p.out_c, g->bias_f32);
    if (g->p.transposed)
        ct_cpu_for(dev, g->p.groups * ct_ceil_div(g->depth, PACK), pack_rows_item, g);
    else
        ct_cpu_for(dev, g->p.groups * g->col_blocks, pack_item, g);
    ct_cpu_for(dev, g->p.n * g->bands * g->col_parts, band_item, g);
}

/* Few channels: a tap is a row of the filter, whose columns and channels lie behind each other in the picture's rows. */
static void take_windows(gather *g)
{
    ct_conv_gather *p = &g->p;
    const ct_conv_geom *c = &p->geom;
    p->taps = p->cls[0].taps = c->r;
    g->depth = c->s * c->c;
    p->in_w = (c->q - 1) * c->stride_w + c->s;
    for (int64_t r = 0; r < c->r; r++) {
        p->off_h[r] = r * c->dil_h - c->pad_h;
        p->off_w[r] = 0;
    }
}

static void set_up(gather *g, const ct_device *dev, const ct_call *call, bool pairs)
{
    memset(g, 0, sizeof *g);
    g->kern = dev->kern;
    ct_conv_gather_make(&g->p, call);
    const ct_conv_geom *c = &g->p.geom;
    g->pairs = pairs;
    g->depth = pairs ? ct_ceil_div(g->p.channels, 2) : g->p.channels;
    g->windows = !pairs && !g->p.transposed && c->groups == 1 && c->c < CT_CONV_SMALL_C && g->p.taps > 1 && c->dil_w == 1;
    if (g->windows) take_windows(g);
    plan(g);
    g->measures = !pairs && ct_conv_measures(call) && g->p.out_type == CT_F32;
}

static ct_accept accept(const ct_device *dev, const ct_call *call, bool pairs)
{
    const char *no = pairs ? ct_pairs_refuse(dev, call) : NULL;
    if (!no) no = ct_conv_gather_refuse(call);
    if (!no && pairs && call->out[0].desc.dtype != CT_BF16) no = "cpu.bf16: results of bf16 alone";
    if (!no && pairs && ct_conv_adds(call)) no = "cpu.bf16: nothing is added to";
    if (no) return ct_accept_no(no);
    gather g;
    set_up(&g, dev, call, pairs);
    const size_t bytes = lay_out(&g, dev->threads, NULL);
    return ct_accept_yes(g.measures ? bytes : ct_conv_scratch(dev, call, bytes));
}

static ct_status run(ct_device *dev, const ct_call *call, void *scratch, bool pairs)
{
    gather g;
    set_up(&g, dev, call, pairs);
    ct_conv_begin_sum(dev, call);
    run_gather(dev, &g, scratch);
    if (g.measures) ct_conv_join_moments(dev, g.sums, g.p.n * g.bands, g.p.out_c, call->out[1].data);
    else ct_conv_measure(dev, call, scratch);
    return CT_OK;
}

CT_CPU_TWO_FORMS(accept, run)

static const ct_impl pairs_impls[] = {
    { CT_OP_CONV2D, CT_CPU_PAIRS, CT_CPU_TUNED, pairs_accept, pairs_run },
    { CT_OP_CONV2D_DGRAD, CT_CPU_PAIRS, CT_CPU_TUNED, pairs_accept, pairs_run },
    { CT_OP_LINEAR, CT_CPU_PAIRS, CT_CPU_TUNED, pairs_accept, pairs_run },
    { CT_OP_LINEAR_DGRAD, CT_CPU_PAIRS, CT_CPU_TUNED, pairs_accept, pairs_run },
};
const ct_impl_set ct_cpu_conv_pairs_impls = CT_IMPL_SET(pairs_impls);

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cpu.indirect", CT_CPU_TUNED, f32_accept, f32_run },
    { CT_OP_CONV2D_DGRAD, "cpu.indirect", CT_CPU_TUNED, f32_accept, f32_run },
};
const ct_impl_set ct_cpu_conv_impls = CT_IMPL_SET(impls);
