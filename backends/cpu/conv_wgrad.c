/* conv2d_wgrad: dw[k][t][c] = sum over pixels of dy[pixel][k] * x[pixel moved by tap t][c], as sums of outer products
 * (ct_wgemm) with filters along the vector and the sums of a tile of channels in registers over a block of pixels. The
 * rows of all images are cut into chunks, a fixed number for a shape; every chunk sums into filters of its own,
 * [taps][channels][filters], and the chunks are added in order at the end: the same bits for any number of threads. */
#include "config.h"

#include "backends/cpu/conv.h"

#include <string.h>

#define BLOCK 192 /* most pixels of a block: their columns of dy stay in the L1 or L2 cache */
#define MAX_CHUNKS 16
#define CHUNK_BYTES ((int64_t)64 << 20) /* all chunks' filters together, unless there is one chunk */

typedef struct wgrad {
    const ct_kern *kern;
    ct_conv_geom c;
    ct_tensor x, dy, dw;
    int64_t taps, chunks, chunk_rows; /* rows of y, of all images */
    int64_t col_blocks, padded;       /* blocks of filters in a group; their columns, rounded up to vectors */
    int64_t block_rows;               /* rows of y in a block of pixels; 1 when a row is cut */
    int64_t block;                    /* pixels of a block */
    int64_t in_rows;                  /* rows of x a block sees */
    bool packed_rows, pack_dy;
    float *parts; /* [chunks][groups][col_blocks][taps][cg][kw] */
    float *zeros;
    char *threads;
    size_t per_thread;
} wgrad;

static size_t lay_out(wgrad *g, int threads, void *base)
{
    ct_carve c = { base, 0 };
    g->parts = ct_carve_take(&c, (size_t)(g->chunks * g->c.groups * g->padded * g->taps * g->c.cg) * 4);
    g->zeros = ct_carve_take(&c, (size_t)g->c.c * 4);
    size_t shared = c.used;
    ct_carve t = { NULL, 0 };
    ct_carve_take(&t, (size_t)g->block * sizeof(float *));
    if (g->packed_rows) ct_carve_take(&t, (size_t)(g->block * g->taps * g->c.cg) * 4);
    if (g->pack_dy) ct_carve_take(&t, (size_t)(g->block * g->kern->nr) * 4);
    if (g->x.desc.dtype != CT_F32) ct_carve_take(&t, (size_t)(g->in_rows * g->c.w * g->c.c) * 4);
    g->per_thread = t.used;
    g->threads = base ? (char *)base + shared : NULL;
    return shared + g->per_thread * (size_t)threads;
}

static void plan(wgrad *g, const ct_device *dev, const ct_call *call)
{
    memset(g, 0, sizeof *g);
    g->kern = dev->kern;
    g->x = call->in[0];
    g->dy = call->in[1];
    g->dw = call->out[0];
    g->c = ct_conv_geometry(&call->attrs.conv, &g->x.desc, &g->dw.desc, &g->dy.desc);
    const ct_conv_geom *c = &g->c;
    g->taps = c->r * c->s;
    g->col_blocks = ct_ceil_div(c->kg, g->kern->nr);
    g->padded = ct_round_up(c->kg, g->kern->vl);
    const int64_t bytes = c->groups * g->padded * g->taps * c->cg * 4, rows = c->n * c->p;
    g->chunks = ct_min64(MAX_CHUNKS, ct_max64(1, rows * c->q / 2048));
    g->chunks = ct_max64(1, ct_min64(g->chunks, CHUNK_BYTES / ct_max64(1, bytes)));
    g->chunks = ct_max64(1, ct_min64(g->chunks, rows));
    g->chunk_rows = ct_ceil_div(rows, ct_max64(1, g->chunks));
    g->chunks = ct_max64(1, ct_ceil_div(rows, ct_max64(1, g->chunk_rows)));
    g->block_rows = ct_max64(1, ct_min64(c->p, BLOCK / ct_max64(1, c->q)));
    g->block = ct_min64(BLOCK, g->block_rows * c->q);
    g->in_rows = ct_conv_rows_seen(c, g->block_rows);
    g->packed_rows = c->groups == 1 && c->c < CT_CONV_SMALL_C && g->taps > 1;
    g->pack_dy = g->dy.desc.dtype != CT_F32 || c->kg % g->kern->vl != 0;
}

/* Pointers to the channels that tap (r,s) sees at pixels (p,q), (p,q+1), ... of a block; x_rows holds rows from first_h
 * on. */
static void fill(const wgrad *g, const float *x_rows, int64_t first_h, int64_t t, int64_t p, int64_t q, int64_t count,
                 int64_t group, const float **list)
{
    const ct_conv_geom *c = &g->c;
    const int64_t dh = t / c->s * c->dil_h - c->pad_h, dw = t % c->s * c->dil_w - c->pad_w;
    for (int64_t i = 0; i < count; p++, q = 0) {
        const int64_t run = ct_min64(count - i, c->q - q), h = p * c->stride_h + dh;
        for (int64_t j = 0; j < run; j++) {
            const int64_t w = (q + j) * c->stride_w + dw;
            const bool inside = h >= 0 && h < c->h && w >= 0 && w < c->w;
            list[i + j] = inside ? x_rows + ((h - first_h) * c->w + w) * c->c + group * c->cg : g->zeros;
        }
        i += run;
    }
}

/* Copies `kn` columns of dy for `count` pixels to f32 rows of kw floats, zeros behind. */
static void copy_dy(const wgrad *g, int64_t pixel, int64_t col, int64_t count, int64_t kn, int64_t kw, float *out)
{
    for (int64_t i = 0; i < count; i++, out += kw) {
        ct_cpu_to_f32(g->kern, g->dy.desc.dtype, g->dy.data, (pixel + i) * g->c.k + col, kn, out);
        for (int64_t k = kn; k < kw; k++) out[k] = 0;
    }
}

/* One (chunk, group, block of filters). */
static void chunk_item(void *arg, int64_t item, int thread)
{
    const wgrad *g = arg;
    const ct_conv_geom *c = &g->c;
    const int64_t b = item % g->col_blocks, group = item / g->col_blocks % c->groups,
                  chunk = item / g->col_blocks / c->groups;
    const int64_t kn = ct_min64(g->kern->nr, c->kg - b * g->kern->nr), kw = ct_round_up(kn, g->kern->vl);
    const int64_t depth = g->taps * c->cg, line = c->w * c->c;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    const float **list = ct_carve_take(&t, (size_t)g->block * sizeof(float *));
    float *packed = g->packed_rows ? ct_carve_take(&t, (size_t)(g->block * depth) * 4) : NULL;
    float *dy_rows = g->pack_dy ? ct_carve_take(&t, (size_t)(g->block * g->kern->nr) * 4) : NULL;
    float *x_copy = g->x.desc.dtype != CT_F32 ? ct_carve_take(&t, (size_t)(g->in_rows * line) * 4) : NULL;
    float *part = g->parts + ((chunk * c->groups + group) * g->padded + b * g->kern->nr) * depth;
    ct_wgemm a = { .kw = kw, .ldw = kw, .in = list };

    for (int64_t row = chunk * g->chunk_rows, end = ct_min64(c->n * c->p, row + g->chunk_rows); row < end;) {
        const int64_t n = row / c->p, p = row % c->p;
        const int64_t rows = ct_min64(g->block_rows, ct_min64(end - row, c->p - p));
        const int64_t first_h = ct_max64(0, p * c->stride_h - c->pad_h);
        const float *x_rows;
        if (x_copy) {
            const int64_t last_h = ct_min64(c->h, (p + rows - 1) * c->stride_h - c->pad_h + (c->r - 1) * c->dil_h + 1);
            ct_cpu_to_f32(g->kern, g->x.desc.dtype, g->x.data, (n * c->h + first_h) * line, (last_h - first_h) * line,
                          x_copy);
            x_rows = x_copy;
        } else {
            x_rows = (const float *)g->x.data + n * c->h * line;
        }
        /* A block is `rows` whole rows, or a row that is longer than a block is cut. */
        for (int64_t q = 0; q < (rows > 1 ? 1 : c->q); q += g->block) {
            const int64_t count = rows > 1 ? rows * c->q : ct_min64(g->block, c->q - q), pixel = row * c->q + q;
            const int64_t origin = x_copy ? first_h : 0;
            a.np = count;
            if (dy_rows) {
                copy_dy(g, pixel, group * c->kg + b * g->kern->nr, count, kn, kw, dy_rows);
                a.dy = dy_rows;
                a.ldy = kw;
            } else {
                a.dy = (const float *)g->dy.data + pixel * c->k + group * c->kg + b * g->kern->nr;
                a.ldy = c->k;
            }
            if (packed) {
                ct_conv_pack(c, x_rows, origin, p, q, count, packed);
                for (int64_t i = 0; i < count; i++) list[i] = packed + i * depth;
                a.c_n = depth;
                a.dw = part;
                g->kern->wgemm(&a);
            } else {
                a.c_n = c->cg;
                for (int64_t tap = 0; tap < g->taps; tap++) {
                    fill(g, x_rows, origin, tap, p, q, count, group, list);
                    a.dw = part + tap * c->cg * kw;
                    g->kern->wgemm(&a);
                }
            }
            a.accumulate = true;
        }
        row += rows;
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
    const int64_t kn = ct_min64(g->kern->nr, c->kg - b * g->kern->nr), kw = ct_round_up(kn, g->kern->vl);
    float *sum = g->parts + (group * g->padded + b * g->kern->nr) * depth + first * kw;
    for (int64_t chunk = 1; chunk < g->chunks; chunk++)
        g->kern->add(count * kw, sum, sum + chunk * c->groups * g->padded * depth, sum);
    float row[TURN];
    for (int64_t k = 0; k < kn; k++) {
        const int64_t at = (group * c->kg + b * g->kern->nr + k) * depth + first;
        float *out = ct_cpu_write(g->dw.desc.dtype, g->dw.data, at, row);
        for (int64_t i = 0; i < count; i++) out[i] = sum[i * kw + k];
        ct_cpu_write_end(g->kern, g->dw.desc.dtype, g->dw.data, at, count, out);
    }
}

ct_accept ct_cpu_conv2d_wgrad_accept(const ct_device *dev, const ct_call *call)
{
    const ct_conv_geom c =
        ct_conv_geometry(&call->attrs.conv, &call->in[0].desc, &call->out[0].desc, &call->in[1].desc);
    const char *no = ct_conv_refuse(call, &c);
    if (no) return ct_accept_no(no);
    wgrad g;
    plan(&g, dev, call);
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

ct_status ct_cpu_conv2d_wgrad_run(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)stream;
    wgrad g;
    plan(&g, dev, call);
    lay_out(&g, dev->threads, scratch);
    memset(g.zeros, 0, (size_t)g.c.c * 4);
    ct_cpu_for(dev, g.chunks * g.c.groups * g.col_blocks, chunk_item, &g);
    ct_cpu_for(dev, g.c.groups * g.col_blocks * ct_ceil_div(g.taps * g.c.cg, TURN), sum_item, &g);
    return CT_OK;
}
