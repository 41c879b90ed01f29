/* conv2d_wgrad of 3 x 3 filters with stride 1, or 2, by Winograd's minimal algorithm, the transpose of the forward one
 * (kern_wino.h): tiles of x and of dy become (m+2)^2 positions each, at every position the gradient is a sum of
 * products over all tiles, [c, tiles] x [tiles, k], and the sums are transformed back to 3 x 3 taps once, at the end.
 *
 * The tiles are cut into chunks and the channels of x and dy into panels, all by the shape alone; one item of work is a
 * (chunk, phase of x if the stride is 2, panel of x, panel of dy). Its sums are the thread's own; the chunks' taps are added in order. cpu.winograd16 keeps
 * positions in words of two tiles' bf16. Where tiles of bf16 multiply f32 faster than vectors do (kern_split.h), a block's positions are laid out for them
 * one after the other. */
#include "config.h"

#include "backends/cpu/wino.h"

#include <string.h>

#define BLOCK_BYTES ((int64_t)1280 << 10) /* transformed pixels of a block of tiles: more than many an L2 cache, but so are the sums, which every block reads and writes */
#define BLOCK_MOST 64                    /* tiles of a block */
#define PANEL 128                        /* channels of a panel, of x and of dy */
#define CHUNK_TILES 256                  /* tiles that pay for transforming a chunk's sums back */
#define MAX_ITEMS 16
#define SPLIT_LEAST 128 /* channels of x and of dy, from which on numbers are split for tiles of bf16 */
#define SPLIT_WORK 16384 /* tiles of a chunk times channels */
#define SPLIT_BYTES ((int64_t)10 << 20) /* transformed pixels of a block then: sums are read and written for each */
#define SPLIT_PANEL 256 /* and channels of a panel */

typedef struct wgrad {
    const ct_kern *kern;
    ct_wino_grid grid;
    bool pairs;
    bool split; /* products by tiles of bf16 (kern_split.h) */
    ct_tensor x, dy, dw;
    int64_t c, k, k_blocks;
    int64_t panel_c, panel_k, panels_c, panels_k; /* channels; numbers of panels, of x in a phase */
    int64_t chunks, chunk_tiles, block;
    /* floats: between blocks of channels, between positions */
    int64_t v_block, v_pos, d_block, d_pos, sum_block, sum_pos;
    int64_t v_tile, d_tile, sum_row; /* between tiles (words of two with pairs), and between channels of sums */
    int64_t runs;                    /* of a block's tiles */
    int64_t patch;
    float *parts; /* [chunks][k_blocks][9][c][wino_nr] */
    char *threads;
    size_t per_thread;
} wgrad;

/* What a thread has of its own. With pairs a block's tiles are words of two. */
typedef struct local {
    float *v;    /* [positions][channels / CT_WINO_CB][block][CT_WINO_CB] */
    float *d;    /* [positions][k block][block][wino_nr] */
    float *sums; /* [positions][k block][channels][wino_nr] */
    float *patch;
    /* split: */
    float *rows, *cols;  /* v and d of a position, laid out */
    const float **tiles[2]; /* [block] of v and d, at position 0 */
    float **sum;            /* [channels] */
} local;

static local carve_local(const wgrad *g, void *base, size_t *used)
{
    ct_carve t = { base, 0 };
    local l = { NULL };
    l.v = ct_carve_take(&t, (size_t)(g->grid.positions * g->v_pos) * 4);
    l.d = ct_carve_take(&t, (size_t)(g->grid.positions * g->d_pos) * 4);
    l.sums = ct_carve_take(&t, (size_t)(g->grid.positions * g->sum_pos) * 4);
    l.patch = ct_carve_take(&t, (size_t)g->patch * 4);
    if (g->split) {
        l.rows = ct_carve_take(&t, (size_t)(ct_ceil_div(g->panel_c, CT_SPLIT) * g->runs * CT_SPLIT_ROWS) * 4);
        l.cols = ct_carve_take(&t, (size_t)(ct_ceil_div(g->panel_k, ct_split_wide(g->kern)) * g->runs * ct_split_cols_words(g->kern)) * 4);
        for (int i = 0; i < 2; i++) l.tiles[i] = ct_carve_take(&t, (size_t)g->block * sizeof(float *));
        l.sum = ct_carve_take(&t, (size_t)g->panel_c * sizeof(float *));
    }
    *used = t.used;
    return l;
}

static int64_t items(const wgrad *g) { return g->chunks * g->grid.phases * g->panels_c * g->panels_k; }

static size_t lay_out(wgrad *g, int threads, void *base)
{
    ct_carve c = { base, 0 };
    g->parts = ct_carve_take(&c, (size_t)(g->chunks * g->k_blocks * g->kern->wino->nr * 9 * g->c) * 4);
    carve_local(g, NULL, &g->per_thread);
    g->threads = base ? (char *)base + c.used : NULL;
    return c.used + g->per_thread * (size_t)ct_min64(threads, items(g));
}

/* Chunks, and panels of so many channels; each panel of x is a phase's. */
static void divide(wgrad *g, int64_t panel)
{
    const int64_t nr = g->kern->wino->nr, tiles = g->grid.count;
    g->panels_c = ct_ceil_div(g->c, panel);
    g->panels_k = ct_ceil_div(g->k, panel);
    g->panel_c = ct_round_up(ct_ceil_div(g->c, g->panels_c), CT_WINO_CB);
    g->panel_k = ct_round_up(ct_ceil_div(g->k, g->panels_k), nr);
    g->panels_c = ct_ceil_div(g->c, g->panel_c);
    g->panels_k = ct_ceil_div(g->k, g->panel_k);
    /* Some chunks to share out even if their sums are transformed back more often than is best. */
    const int64_t most = ct_max64(1, MAX_ITEMS / (g->grid.phases * g->panels_c * g->panels_k));
    const int64_t least = ct_min64(4, tiles / (CHUNK_TILES / 3));
    g->chunks = ct_min64(most, ct_cpu_even(ct_max64(1, ct_max64(least, tiles / CHUNK_TILES))));
    g->chunk_tiles = ct_ceil_div(tiles, g->chunks);
    g->chunks = ct_ceil_div(tiles, g->chunk_tiles);
}

static void plan(wgrad *g)
{
    const int64_t nr = g->kern->wino->nr;
    g->k_blocks = ct_ceil_div(g->k, nr);
    divide(g, SPLIT_PANEL);
    g->split = g->kern->split && !g->pairs && g->grid.phases == 1 && ct_min64(g->c, g->k) >= SPLIT_LEAST && items(g) > 1 && g->chunk_tiles * ct_min64(g->c, g->k) >= SPLIT_WORK;
    if (!g->split) divide(g, PANEL);
    const int64_t tile = g->grid.positions * (int64_t)sizeof(float) * (g->panel_c + g->panel_k), wide = g->pairs ? 2 : 1;
    g->block = g->split ? ct_max64(CT_SPLIT, SPLIT_BYTES / tile) : wide * ct_max64(12, ct_min64(BLOCK_MOST, BLOCK_BYTES / tile));
    g->block = ct_ceil_div(g->chunk_tiles, ct_ceil_div(g->chunk_tiles, g->block));
    g->block = ct_round_up(g->block, wide);
    if (g->split) {
        g->runs = ct_ceil_div(g->block, CT_SPLIT);
        g->v_block = CT_WINO_CB;
        g->v_tile = ct_wino_odd_lines(g->panel_c);
        g->v_pos = ct_wino_odd_lines(g->block * g->v_tile);
        g->d_block = nr;
        g->d_tile = ct_wino_odd_lines(g->panel_k);
        g->d_pos = ct_wino_odd_lines(g->block * g->d_tile);
        g->sum_block = nr;
        g->sum_row = ct_wino_odd_lines(g->panel_k);
        g->sum_pos = ct_wino_odd_lines(g->panel_c * g->sum_row);
        return;
    }
    const int64_t rows = ct_ceil_div(g->block, wide);
    g->v_tile = CT_WINO_CB;
    g->d_tile = g->sum_row = nr;
    g->v_block = rows * CT_WINO_CB + CT_WINO_CB;
    g->v_pos = ct_wino_odd_lines(g->panel_c / CT_WINO_CB * g->v_block);
    g->d_block = rows * nr + CT_WINO_CB;
    g->d_pos = ct_wino_odd_lines(g->panel_k / nr * g->d_block);
    g->sum_block = g->panel_c * nr + CT_WINO_CB;
    g->sum_pos = ct_wino_odd_lines(g->panel_k / nr * g->sum_block);
}

/* Where tile i of a block is stored, in steps of rows, and how. */
static int64_t place(const wgrad *g, int64_t i, ct_wino_tile *t)
{
    if (!g->pairs) return i;
    t->store = i % 2 ? CT_WINO_UPPER : CT_WINO_LOWER;
    return i / 2;
}

/* Positions that a tile goes without are written nevertheless with pairs, whose other tile may have them; they are zeros of dy. */
static void write_all(const wgrad *g, ct_wino_tile *t)
{
    if (g->pairs) t->down = t->across = g->grid.side;
}

/* Of tiles first .. first+count-1 those whose products at position x are summed, from an even one on with pairs. */
static void having(const wgrad *g, int x, int64_t first, int64_t count, int64_t *from, int64_t *to)
{
    ct_wino_having(&g->grid, x, first, count, from, to);
    if (g->pairs) *from -= *from % 2;
}

/* Pixels of tiles first .. first+count-1 to the positions of a phase: of x from (-pad, -pad) on; of dy, m x m. */
static void transform_x(const wgrad *g, const ct_wino_images *x, int phase, int64_t first, int64_t count, const local *l)
{
    const ct_wino_grid *grid = &g->grid;
    ct_wino_tile t = { .m = grid->m, .side = grid->side, .xs = g->v_pos, .bs = g->v_block, .bw = CT_WINO_CB };
    for (int64_t i = 0; i < count; i++) {
        ct_wino_read(grid, x, phase, first + i, l->patch, &t);
        write_all(g, &t);
        t.out = l->v + place(g, i, &t) * g->v_tile;
        g->kern->wino->in(&t);
    }
}

static void transform_dy(const wgrad *g, const ct_wino_images *dy, int phase, int64_t first, int64_t count, const local *l)
{
    const ct_wino_grid *grid = &g->grid;
    const int64_t nr = g->kern->wino->nr;
    ct_wino_tile t = { .m = grid->m, .side = grid->side, .xs = g->d_pos, .bs = g->d_block, .bw = nr };
    for (int64_t i = 0; i < count; i++) {
        const ct_wino_spot s = ct_wino_locate(grid, first + i);
        ct_wino_window(dy, s.image, s.y, s.x, grid->m, l->patch, &t);
        t.h1 = (int)ct_min64(t.h1, s.h); /* pixels behind a short tile are of the next */
        t.w1 = (int)ct_min64(t.w1, s.w);
        t.next = ct_wino_next(grid, &t, l->patch, &s, first + i + 1);
        ct_wino_positions(grid, &s, phase, &t);
        write_all(g, &t);
        t.out = l->d + place(g, i, &t) * g->d_tile;
        g->kern->wino->out_adjoint(&t);
    }
}

/* sums (+)= x' dy at all positions of a phase, of tiles first .. first+count-1; x and dy: views of the two panels. */
static void multiply(const wgrad *g, const ct_wino_images *x, const ct_wino_images *dy, int phase, int64_t first, int64_t count, bool more,
                     const local *l)
{
    const int64_t nr = g->kern->wino->nr, wide = g->pairs ? 2 : 1;
    ct_wino_gemm a = { .a_block = g->v_block, .rows = x->wide, .accumulate = more };
    for (int pos = 0; pos < g->grid.positions; pos++) {
        int64_t from, to;
        having(g, pos, first, count, &from, &to);
        if (!ct_wino_has(&g->grid, phase, pos) || (more && from == to)) continue;
        a.depth = ct_ceil_div(to - from, wide);
        for (int64_t b = 0; b * nr < dy->n; b++) {
            a.kw = dy->n - b * nr > g->kern->vl ? nr : g->kern->vl;
            a.a = l->v + pos * g->v_pos + from / wide * g->v_tile;
            a.b = l->d + pos * g->d_pos + b * g->d_block + from / wide * g->d_tile;
            a.out = l->sums + pos * g->sum_pos + b * g->sum_block;
            if (g->pairs) g->kern->pairs->wino_wgemm(&a);
            else g->kern->wino->wgemm(&a);
        }
    }
}

/* The same by tiles of bf16. */
static void multiply_split(const wgrad *g, const ct_wino_images *x, const ct_wino_images *dy, int64_t first, int64_t count, bool more, const local *l)
{
    for (int64_t i = 0; i < count; i++) {
        l->tiles[0][i] = l->v + i * g->v_tile;
        l->tiles[1][i] = l->d + i * g->d_tile;
    }
    for (int64_t c = 0; c < x->wide; c++) l->sum[c] = l->sums + c * g->sum_row;
    ct_split_gemm a = { .a = l->rows, .b = l->cols, .rows = x->wide, .cols = dy->wide, .out = l->sum, .accumulate = more };
    for (int pos = 0; pos < g->grid.positions; pos++) {
        int64_t from, to;
        having(g, pos, first, count, &from, &to);
        if (from == to) {
            for (int64_t c = 0; c < x->wide && !more; c++) memset(l->sum[c] + pos * g->sum_pos, 0, (size_t)dy->wide * sizeof(float));
            continue;
        }
        a.runs = ct_ceil_div(to - from, CT_SPLIT);
        a.a_block = a.runs * CT_SPLIT_ROWS;
        a.b_block = a.runs * ct_split_cols_words(g->kern);
        g->kern->split->rows_turned(x->wide, to - from, l->tiles[0] + from, pos * g->v_pos, l->rows, a.a_block);
        g->kern->split->cols(to - from, dy->wide, l->tiles[1] + from, pos * g->d_pos, l->cols, a.b_block);
        a.first = pos * g->sum_pos;
        g->kern->split->gemm(&a);
    }
}

/* One (chunk, phase, panel of x, panel of dy). */
static void chunk_item(void *arg, int64_t item, int thread)
{
    const wgrad *g = arg;
    size_t used;
    const local l = carve_local(g, g->threads + g->per_thread * (size_t)thread, &used);
    const int64_t nr = g->kern->wino->nr, k0 = item % g->panels_k * g->panel_k,
                  c0 = item / g->panels_k % g->panels_c * g->panel_c, chunk = item / g->panels_k / g->panels_c / g->grid.phases;
    const int phase = (int)(item / g->panels_k / g->panels_c % g->grid.phases);
    ct_wino_images x = ct_wino_view(g->kern, &g->x, c0, ct_min64(g->panel_c, g->c - c0));
    const ct_wino_images dy = ct_wino_view(g->kern, &g->dy, k0, ct_min64(g->panel_k, g->k - k0));
    if (g->grid.phases > 1) x.step = 2;
    const int64_t begin = chunk * g->chunk_tiles, end = ct_min64(g->grid.count, begin + g->chunk_tiles);
    for (int64_t first = begin; first < end; first += g->block) {
        const int64_t count = ct_min64(g->block, end - first);
        transform_x(g, &x, phase, first, count, &l);
        transform_dy(g, &dy, phase, first, count, &l);
        if (g->split) multiply_split(g, &x, &dy, first, count, first > begin, &l);
        else multiply(g, &x, &dy, phase, first, count, first > begin, &l);
    }
    float *part = g->parts + (chunk * g->k_blocks + k0 / nr) * 9 * g->c * nr;
    ct_wino_tile t = { .m = g->grid.m, .xs = g->sum_pos, .bs = nr, .bw = nr };
    ct_wino_taps(&g->grid, phase, false, g->c * nr, &t);
    for (int64_t b = 0; b * nr < dy.n; b++)
        for (int64_t c = 0; c < x.n; c++) {
            t.n = ct_min64(nr, dy.wide - b * nr);
            t.in = l.sums + b * g->sum_block + c * g->sum_row;
            t.out = part + t.origin + (b * 9 * g->c + c0 + c) * nr;
            g->kern->wino->filter_adjoint(&t);
        }
}

#define TURN 64    /* channels turned round at a time */
#define WIDEST 32  /* wino_nr of any set */

/* Adds the chunks of one (block of columns, tap, TURN channels) and turns [channels][columns] round into dw. */
static void sum_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const wgrad *g = arg;
    const int64_t nr = g->kern->wino->nr, turns = ct_ceil_div(g->c, TURN), c0 = item % turns * TURN,
                  count = ct_min64(TURN, g->c - c0), tap = item / turns % 9, b = item / turns / 9;
    const int64_t at = (b * nr * 9 + tap) * g->c + c0, valid = ct_min64(nr, g->k - b * nr);
    float *sum = g->parts + ((b * 9 + tap) * g->c + c0) * nr, rows[WIDEST * TURN];
    for (int64_t chunk = 1; chunk < g->chunks; chunk++)
        g->kern->element->add(count * nr, sum, sum + chunk * g->k_blocks * 9 * g->c * nr, sum);
    if (g->dw.desc.dtype == CT_F32) {
        g->kern->wino->turn(count, valid, sum, nr, (float *)g->dw.data + at, 9 * g->c);
        return;
    }
    g->kern->wino->turn(count, valid, sum, nr, rows, count);
    for (int64_t j = 0; j < valid; j++)
        ct_cpu_to_type(g->kern, g->dw.desc.dtype, rows + j * count, count, g->dw.data, at + j * 9 * g->c);
}

/* Sets up the sums; false with a reason if they are refused. */
static bool set_up(wgrad *g, const ct_device *dev, const ct_call *call, bool pairs, const char **reason)
{
    const ct_conv_geom c =
        ct_conv_geometry(&call->attrs.conv, &call->in[0].desc, &call->out[0].desc, &call->in[1].desc);
    *reason = pairs ? ct_wino_pairs_refuse(dev, call) : NULL;
    if (!*reason) *reason = ct_conv_refuse(call, &c);
    if (*reason) return false;
    const int m = ct_wino_choose(dev->kern, &c, c.p, c.q, c.c, c.k, pairs, reason);
    if (m == 0) return false;
    memset(g, 0, sizeof *g);
    g->pairs = pairs;
    g->kern = dev->kern;
    g->grid = ct_wino_make_grid(m, c.stride_h, c.n, c.h, c.w, c.p, c.q, c.pad_h, c.pad_w);
    g->x = call->in[0];
    g->dy = call->in[1];
    g->dw = call->out[0];
    g->c = c.c;
    g->k = c.k;
    plan(g);
    const ct_wino_images x = ct_wino_view(dev->kern, &g->x, 0, ct_min64(g->panel_c, g->c));
    const ct_wino_images x_last = ct_wino_view(dev->kern, &g->x, 0, g->c - (g->panels_c - 1) * g->panel_c);
    const ct_wino_images dy = ct_wino_view(dev->kern, &g->dy, 0, ct_min64(g->panel_k, g->k));
    const ct_wino_images dy_last = ct_wino_view(dev->kern, &g->dy, 0, g->k - (g->panels_k - 1) * g->panel_k);
    g->patch = ct_max64(
        ct_max64(ct_wino_patch_floats(&x, g->grid.side), ct_wino_patch_floats(&x_last, g->grid.side)),
        ct_max64(ct_wino_patch_floats(&dy, g->grid.m), ct_wino_patch_floats(&dy_last, g->grid.m)));
    return true;
}

static ct_accept accept(const ct_device *dev, const ct_call *call, bool pairs)
{
    wgrad g;
    const char *reason;
    if (!set_up(&g, dev, call, pairs, &reason)) return ct_accept_no(reason);
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status run(const ct_device *dev, const ct_call *call, void *scratch, bool pairs)
{
    wgrad g;
    const char *reason;
    if (!set_up(&g, dev, call, pairs, &reason)) return ct_fail(CT_EINTERNAL, "%s", reason);
    lay_out(&g, dev->threads, scratch);
    ct_cpu_for(dev, items(&g), chunk_item, &g);
    ct_cpu_for(dev, g.k_blocks * 9 * ct_ceil_div(g.c, TURN), sum_item, &g);
    return CT_OK;
}

CT_CPU_TWO_FORMS(accept, run)

static const ct_impl pairs_impls[] = {
    { CT_OP_CONV2D_WGRAD, CT_CPU_PAIRS_WINO, CT_CPU_FEWER_PRODUCTS | CT_IMPL_ROUNDS, pairs_accept, pairs_run },
};
const ct_impl_set ct_cpu_wino_wgrad_pairs_impls = CT_IMPL_SET(pairs_impls);

static const ct_impl impls[] = {
    { CT_OP_CONV2D_WGRAD, "cpu.winograd", CT_CPU_FEWER_PRODUCTS, f32_accept, f32_run },
};
const ct_impl_set ct_cpu_wino_wgrad_impls = CT_IMPL_SET(impls);
