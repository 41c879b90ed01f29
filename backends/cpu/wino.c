/* conv2d and conv2d_dgrad of 3 x 3 filters with stride 1, or 2, by Winograd's minimal algorithm (kern_wino.h has the
 * matrices): every tile of m x m output pixels becomes (m+2)^2 positions, and at each position the convolution is a
 * product [tiles, c] x [c, k] of matrices: 36 multiplications for the 144 of a direct one if m = 4, 16 for 36 if m = 2.
 * The data gradient is the same with x and y exchanged, the filters turned round and padding 2 - pad.
 *
 * With stride 2 (wino.h) a product has the channels of all phases of x one behind the other, and each position those of the phases that have it; the data
 * gradient's has the columns of all phases, which are made of the same pixels of dy and written to every other pixel of dx.
 *
 * Work is divided into blocks of tiles whose transformed pixels and products stay in the L2 cache. Filters are
 * transformed once, before, unless they are many: then all tiles' pixels are kept, and a thread takes a panel of output
 * channels, transforms its filters and multiplies all tiles by them. Where tiles are so few that their products with a panel
 * stay in that cache, it does so a slice of input channels at a time, and transformed filters never leave the cache, either:
 * they are four times the weights, and written to memory and read again they would take longer than the products do. Blocks
 * and the order of every sum follow from the shape and the set of loops alone.
 *
 * cpu.winograd16 multiplies bf16: transforms are made in f32, what they give is rounded and stored in words of two channels,
 * products are summed in f32.
 *
 * Where tiles of bf16 multiply f32 faster than vectors do (kern_split.h), transformed filters are laid out for them once, and a block's pixels a position
 * at a time, before they are multiplied by all columns. Blocks are so large then that filters, which are read for each, take less time than the products:
 * as large as the number of threads allows. */
#include "config.h"

#include "backends/cpu/wino.h"

#include <string.h>

#define BLOCK_BYTES ((int64_t)448 << 10) /* transformed pixels and products of a block: half an L2 cache of 1 MiB */
#define LARGE_L2 ((int64_t)2 << 20)      /* from which on blocks grow with it */
#define WHOLE_BYTES ((int64_t)10 << 20)  /* transformed filters held at once */
#define KEPT_BYTES ((int64_t)16 << 20)   /* if they are more: transformed pixels kept at a time */
#define BLOCK_MOST 96                    /* tiles of a block */
#define KEEP_TILES 4                     /* of a block that is all there is, transformed by a thread at a time */
#define MANY_BLOCKS 16                   /* enough to share out among threads */
#define PANEL 64                         /* output channels multiplied before they are transformed back, unless all are; and transformed at a time */
#define SLICE (2 * CT_WINO_CB)           /* input channels whose filters are transformed before they are multiplied, if a slice at a time; */
#define LONG_SLICE (2 * SLICE)           /* and where their products are more than BLOCK_BYTES, which are added to for each slice, */
#define LONG_BYTES ((int64_t)5 << 18)    /* and at most so many */
#define TOGETHER_BYTES ((int64_t)7 << 17) /* pixels and products of a block, up to which all columns are multiplied before they are transformed back */
#define SPLIT_LEAST 128                  /* channels of x and of y, from which on numbers are split for tiles */
#define SPLIT_SMALL 64                   /* the same, where all filters stay in the L2 cache */
#define SPLIT_TILES 96                   /* and tiles, for what laying out the filters costs */
#define SPLIT_BLOCK 512                  /* tiles of a block then */
#define SPLIT_FILTERS ((int64_t)64 << 20) /* bytes of filters laid out */
#define SPLIT_BYTES ((int64_t)24 << 20)  /* transformed pixels and products of a block */
#define SLICED_BYTES ((int64_t)1 << 20)  /* transformed filters that are worth it */

typedef struct wino {
    const ct_kern *kern;
    ct_wino_grid grid;
    ct_wino_images in;
    const void *filters, *bias; /* bias may be NULL */
    ct_dtype filter_type, bias_type, out_type;
    void *out;    /* [n,out_h,out_w,k], of k / out_phases channels */
    int64_t out_h, out_w;
    bool turned;  /* filters are [c,3,3,k], to be turned round (dgrad), instead of [k,3,3,c] */
    bool pairs;   /* products of bf16 */
    int64_t c, k; /* channels of the input and of the output of this product: of all phases, if there are several */
    int64_t phase_c;         /* then, of one phase: of x */
    int64_t in_phases, out_phases; /* the input's (conv2d), or the output's (dgrad) */
    int64_t depth, c_blocks; /* channels, or words of two; blocks of CT_WINO_CB of these */
    int64_t k_blocks, panel; /* blocks of wino_nr columns; in a panel */
    bool whole;              /* all filters are transformed before, not a panel's at a time */
    int64_t slice;           /* or so many channels of a panel's at a time; 0: no */
    bool split;              /* products by tiles of bf16 (kern_split.h): all filters are transformed before, a panel are all columns */
    int64_t runs, u_words;   /* then: of the channels; words of a run of filters */
    int64_t block, blocks, kept;          /* tiles of a block; blocks; blocks whose pixels are kept at a time */
    /* floats: between blocks of channels, between positions, in all */
    int64_t v_block, v_pos, v_size, m_block, m_pos, u_block, u_pos;
    int64_t v_tile, m_tile;    /* between tiles */
    int64_t patch, edge; /* floats of per-thread copies */
    bool stream;         /* pixels of the output are written past the caches */
    bool measures;       /* moments are summed as they are */
    bool adds;           /* they are added to what is there */
    /* scratch */
    float *u;        /* [positions][k block][depth][wino_nr], if they are transformed before; split: [positions][k block][runs][u_words] */
    float *v;        /* [kept blocks][positions][c_blocks][block][CT_WINO_CB], if they are not */
    float *bias_f32; /* [k_blocks * wino_nr] */
    double *sums;    /* [blocks][2][k] of y and of y*y, if it measures */
    char *threads;
    size_t per_thread;
    /* the pass */
    int64_t first_block; /* of those whose pixels are kept */
} wino;

/* What a thread has of its own. */
typedef struct local {
    float *u, *v, *products, *patch, *edge, *taps, *rows; /* u: as wino.u, of a panel or a slice of it, or of CT_SPLIT channels of a block; or NULL */
    float *laid;              /* [tiles / CT_SPLIT][runs][CT_SPLIT_ROWS] a block's pixels at a position, split */
    const float **tiles;      /* [block] where they lie, at position 0 */
    float **sums;             /* [block] and their products */
} local;

/* ---- division of work and scratch ---- */

/* The division of work and the layouts for tiles of bf16, where these pay. */
static void plan_split(wino *g, int threads)
{
    const int64_t nr = g->kern->wino->nr, row = g->grid.positions * (int64_t)sizeof(float);
    g->split = g->kern->split && !g->pairs && g->grid.phases == 1 && g->slice == 0 && ct_min64(g->c, g->k) >= SPLIT_SMALL && g->grid.count >= SPLIT_TILES;
    if (!g->split) return;
    g->runs = ct_ceil_div(g->c, CT_SPLIT);
    g->u_words = ct_split_cols_words(g->kern);
    g->u_block = g->runs * g->u_words;
    g->u_pos = g->k_blocks * g->u_block;
    const bool near = row * g->u_pos <= g->kern->l2_bytes / 2;
    g->split = near || (ct_min64(g->c, g->k) >= SPLIT_LEAST && row * g->u_pos <= SPLIT_FILTERS);
    if (!g->split) return;
    g->whole = true;
    g->panel = g->k_blocks;
    g->v_tile = ct_wino_odd_lines(ct_round_up(g->c, CT_WINO_CB));
    g->m_tile = ct_wino_odd_lines(g->k_blocks * nr);
    /* Filters that stay in the L2 cache leave some of it to a block; where they do not, a block is as large as is of use, and there are as many for
     * each thread. */
    const int64_t tile = row * (g->v_tile + g->m_tile), l2 = g->kern->l2_bytes;
    if (near) {
        g->block = ct_max64(CT_KERN_TILE, l2 / 4 / tile / CT_KERN_TILE * CT_KERN_TILE);
    } else {
        g->blocks = ct_round_up(ct_ceil_div(g->grid.count, ct_max64(CT_SPLIT, ct_min64(SPLIT_BLOCK, SPLIT_BYTES / tile))), threads);
        g->block = ct_round_up(ct_max64(CT_SPLIT, ct_ceil_div(g->grid.count, g->blocks)), CT_KERN_TILE);
    }
    g->blocks = ct_ceil_div(g->grid.count, g->block);
    g->v_block = CT_WINO_CB;
    g->v_pos = ct_wino_odd_lines(g->block * g->v_tile);
    g->v_size = g->grid.positions * g->v_pos;
    g->kept = g->blocks;
    g->m_block = nr;
    g->m_pos = ct_wino_odd_lines(g->block * g->m_tile);
}

static void plan(wino *g, int threads)
{
    const int64_t nr = g->kern->wino->nr, row = g->grid.positions * (int64_t)sizeof(float);
    g->depth = g->pairs ? ct_ceil_div(g->c, 2) : g->c;
    g->c_blocks = ct_ceil_div(g->depth, CT_WINO_CB);
    g->k_blocks = ct_ceil_div(g->k, nr);
    g->panel = ct_min64((g->out_phases > 1 && g->phase_c % PANEL != 0 ? CT_WINO_PHASE_C : PANEL) / nr, g->k_blocks);
    const int64_t filters = row * g->depth * g->k_blocks * nr;
    const int64_t products = row * g->grid.count * g->panel * nr;
    const int64_t most = g->kern->split ? BLOCK_BYTES : LONG_BYTES; /* tiles of bf16 are faster than vectors that wait for a cache */
    if (filters > SLICED_BYTES && products <= most && row * g->grid.count * g->c_blocks * CT_WINO_CB <= KEPT_BYTES)
        g->slice = products <= BLOCK_BYTES ? SLICE : LONG_SLICE;
    plan_split(g, threads);
    if (g->split) return;
    g->whole = g->slice == 0 && filters <= WHOLE_BYTES;
    const int64_t tile = row * ((g->whole ? g->c_blocks * CT_WINO_CB : 0) + g->panel * nr);
    /* Filters that are larger than an L2 cache come from farther away for each block: where the cache is large, blocks are, too. (With 2 MiB
     * 448 KiB was slower by 4 to 15 %, and faster where the filters fit; smaller caches keep what was measured for 1 MiB.) */
    const int64_t l2 = g->kern->l2_bytes, bytes = l2 >= LARGE_L2 && filters > l2 ? l2 / 8 * 5 : BLOCK_BYTES;
    g->block = ct_max64(12, ct_min64(BLOCK_MOST, bytes / tile) / 12 * 12);
    /* Enough blocks to share out, also of few tiles. */
    if (g->whole) g->block = ct_min64(g->block, ct_round_up(ct_ceil_div(g->grid.count, MANY_BLOCKS), 12));
    g->block = g->slice ? g->grid.count : ct_min64(g->block, g->grid.count);
    /* Then each position's pixels and filters are read once, in a row. */
    const bool together = g->whole && g->out_phases == 1 && row * g->block * (g->c_blocks * CT_WINO_CB + g->k_blocks * nr) <= TOGETHER_BYTES;
    if (together) g->panel = g->k_blocks;
    g->blocks = ct_ceil_div(g->grid.count, g->block);
    g->v_tile = CT_WINO_CB;
    g->m_tile = nr;
    g->v_block = g->block * CT_WINO_CB + CT_WINO_CB;
    g->v_pos = ct_wino_odd_lines(g->c_blocks * g->v_block);
    g->v_size = g->grid.positions * g->v_pos;
    g->kept = g->whole ? g->blocks : ct_min64(g->blocks, ct_max64(1, KEPT_BYTES / (g->v_size * 4)));
    g->m_block = g->block * nr + CT_WINO_CB;
    g->m_pos = ct_wino_odd_lines(g->panel * g->m_block);
    g->u_block = (g->slice ? g->slice : g->depth) * nr;
    g->u_pos = ct_wino_odd_lines((g->whole ? g->k_blocks : g->panel) * g->u_block);
}

/* Work items that transform the pixels of so many blocks: a block each, or, of one that is all, a few tiles. */
static int64_t keep_items(const wino *g, int64_t blocks) { return g->slice ? ct_ceil_div(g->grid.count, KEEP_TILES) : blocks; }

static local carve_local(const wino *g, void *base, size_t *used)
{
    ct_carve t = { base, 0 };
    local l = { NULL };
    if (g->whole) l.v = ct_carve_take(&t, (size_t)g->v_size * 4);
    if (g->split) {
        l.u = ct_carve_take(&t, (size_t)(g->grid.positions * CT_SPLIT * g->kern->wino->nr) * 4);
        l.laid = ct_carve_take(&t, (size_t)(ct_ceil_div(g->block, CT_SPLIT) * g->runs * CT_SPLIT_ROWS) * 4);
        l.tiles = ct_carve_take(&t, (size_t)g->block * sizeof(float *));
        l.sums = ct_carve_take(&t, (size_t)g->block * sizeof(float *));
    }
    if (!g->whole) l.u = ct_carve_take(&t, (size_t)(g->grid.positions * g->u_pos) * 4);
    /* Unless products wait for the next slice, the filters' taps need their room before there are products. */
    const int64_t tap = CT_WINO_CB * g->kern->wino->nr;
    l.taps = g->slice ? ct_carve_take(&t, (size_t)(10 * tap) * 4) : NULL;
    l.products = ct_carve_take(&t, (size_t)ct_max64(g->grid.positions * g->m_pos, 10 * tap) * 4);
    if (g->slice == 0) l.taps = l.products;
    l.rows = l.taps ? l.taps + 9 * tap : NULL;
    l.patch = ct_carve_take(&t, (size_t)g->patch * 4);
    l.edge = ct_carve_take(&t, (size_t)g->edge * 4);
    *used = t.used;
    return l;
}

static size_t lay_out(wino *g, int threads, void *base)
{
    ct_carve c = { base, 0 };
    g->u = g->whole ? ct_carve_take(&c, (size_t)(g->grid.positions * g->u_pos) * 4) : NULL;
    g->v = g->whole ? NULL : ct_carve_take(&c, (size_t)(g->kept * g->v_size) * 4);
    g->bias_f32 = ct_carve_take(&c, (size_t)(g->k_blocks * g->kern->wino->nr) * 4);
    if (g->measures) g->sums = ct_carve_take(&c, (size_t)(g->blocks * 2 * g->k) * sizeof *g->sums);
    carve_local(g, NULL, &g->per_thread);
    g->threads = base ? (char *)base + c.used : NULL;
    /* No more threads than items have anything to do. */
    const int64_t most = ct_max64(keep_items(g, g->kept),
                                  g->split ? g->k_blocks * g->runs : g->whole ? g->k_blocks * ct_ceil_div(g->c, CT_WINO_CB) : ct_ceil_div(g->k_blocks, g->panel));
    return c.used + g->per_thread * (size_t)ct_min64(threads, most);
}

static local local_of(const wino *g, int thread)
{
    size_t used;
    return carve_local(g, g->threads + g->per_thread * (size_t)thread, &used);
}

/* ---- filters ---- */

/* Asks for n elements of `rows` rows before they are read: pieces of a few lines, far apart, which the processor does not foresee. */
static void fetch(const float *x, int64_t ldx, int64_t rows, int64_t n)
{
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(x + j * ldx + i);
}

/* Whether tap t is one of a phase's. */
static bool sees(const wino *g, int phase, int64_t t)
{
    return g->grid.phases == 1 || ((t / 3 == 1) == ct_wino_odd_row(&g->grid, phase) && (t % 3 == 1) == ct_wino_odd_col(&g->grid, phase));
}

/* taps[t][i][j]: tap t, if it is one of the phase's, of channels c0+i (0 <= i < n) and columns k0+j, zeros where there is no column; rows [nr][n] is
 * room for one tap as it lies in memory. */
static void turn_taps(const wino *g, int phase, int64_t c0, int64_t n, int64_t k0, float *taps, float *rows)
{
    const int64_t nr = g->kern->wino->nr, valid = ct_min64(nr, g->k - k0), tap = CT_WINO_CB * nr, ld = g->c / g->in_phases;
    for (int64_t t = 0; t < 9; t++) {
        const int64_t at = (k0 * 9 + t) * ld + c0;
        if (!sees(g, phase, t)) continue;
        if (g->filter_type == CT_F32 && valid == nr) {
            if (t < 8) fetch((const float *)g->filters + at + ld, 9 * ld, nr, n);
            g->kern->wino->turn(nr, n, (const float *)g->filters + at, 9 * ld, taps + t * tap, nr);
            continue;
        }
        for (int64_t j = 0; j < nr; j++) {
            if (j < valid)
                ct_cpu_to_f32(g->kern, g->filter_type, g->filters, at + j * 9 * ld, n, rows + j * n);
            else
                memset(rows + j * n, 0, (size_t)n * sizeof(float));
        }
        g->kern->wino->turn(nr, n, rows, n, taps + t * tap, nr);
    }
}

/* The same from filters [c,3,3,k]. */
static void copy_taps(const wino *g, int phase, int64_t c0, int64_t n, int64_t k0, float *taps)
{
    const int64_t nr = g->kern->wino->nr, ld = g->k / g->out_phases, valid = ct_min64(nr, ld - k0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < 9; t++) {
            float *to = taps + (t * CT_WINO_CB + i) * nr;
            if (!sees(g, phase, t)) continue;
            ct_cpu_to_f32(g->kern, g->filter_type, g->filters, ((c0 + i) * 9 + t) * ld + k0, valid, to);
            for (int64_t j = valid; j < nr; j++) to[j] = 0;
        }
}

/* The phase that block of columns b is of. */
static int out_phase(const wino *g, int64_t b) { return g->out_phases > 1 ? (int)(b * g->kern->wino->nr / g->phase_c) : 0; }

/* Transforms the filters of block of columns b, channels c0 and next, to u, where those of c0 begin; positions are u_pos apart. */
static void transform_filters(const wino *g, int64_t b, int64_t c0, float *u, int64_t u_pos, const local *l)
{
    const int64_t nr = g->kern->wino->nr, n = ct_min64(CT_WINO_CB, g->c - c0);
    const int phase = g->in_phases > 1 ? (int)(c0 / g->phase_c) : out_phase(g, b);
    float *taps = l->taps;
    ct_wino_tile t = { .m = g->grid.m, .n = nr, .xs = u_pos, .bs = nr, .bw = nr };
    if (g->turned)
        copy_taps(g, phase, c0, n, b * nr % (g->k / g->out_phases), taps);
    else
        turn_taps(g, phase, c0 % (g->c / g->in_phases), n, b * nr, taps, l->rows);
    ct_wino_taps(&g->grid, phase, g->turned, CT_WINO_CB * nr, &t);
    for (int64_t i = 0; i < n; i++) {
        t.in = taps + i * nr;
        t.out = u + (g->pairs ? i / 2 : i) * nr;
        if (g->pairs) t.store = i % 2 ? CT_WINO_UPPER : CT_WINO_LOWER;
        g->kern->wino->filter(&t);
    }
}

/* Floats, from those of the first channel on, to the transformed filters of channel c, which is even. */
static int64_t channel_at(const wino *g, int64_t c) { return (g->pairs ? c / 2 : c) * g->kern->wino->nr; }

/* One (block of columns, block of channels). */
static void filters_item(void *arg, int64_t item, int thread)
{
    const wino *g = arg;
    const int64_t c_blocks = ct_ceil_div(g->c, CT_WINO_CB), b = item / c_blocks, c0 = item % c_blocks * CT_WINO_CB;
    const local l = local_of(g, thread);
    transform_filters(g, b, c0, g->u + b * g->u_block + channel_at(g, c0), g->u_pos, &l);
}

/* One (block of columns, run of channels), laid out for tiles. */
static void split_filters_item(void *arg, int64_t item, int thread)
{
    const wino *g = arg;
    const int64_t nr = g->kern->wino->nr, b = item / g->runs, run = item % g->runs, c0 = run * CT_SPLIT, n = ct_min64(CT_SPLIT, g->c - c0);
    const local l = local_of(g, thread);
    const float *row[CT_SPLIT];
    for (int64_t c = 0; c < n; c += CT_WINO_CB) transform_filters(g, b, c0 + c, l.u + c * nr, CT_SPLIT * nr, &l);
    for (int64_t c = 0; c < n; c++) row[c] = l.u + c * nr;
    for (int64_t x = 0; x < g->grid.positions; x++)
        g->kern->split->cols(n, nr, row, x * CT_SPLIT * nr, g->u + x * g->u_pos + b * g->u_block + run * g->u_words, 0);
}

/* ---- tiles ---- */

/* Pixels of a block's tiles to positions in v, the channels of all phases. */
static void transform_pixels(const wino *g, int64_t first, int64_t count, float *v, float *patch)
{
    const ct_wino_grid *grid = &g->grid;
    ct_wino_tile t = { .m = grid->m, .side = grid->side, .xs = g->v_pos, .bs = g->v_block, .bw = CT_WINO_CB };
    if (g->pairs) { /* a block's words are so many bf16 */
        t.store = CT_WINO_BF16;
        t.bs *= 2;
        t.bw *= 2;
    }
    for (int p = 0; p < g->in_phases; p++, v += g->phase_c / CT_WINO_CB * g->v_block)
        for (int64_t i = 0; i < count; i++) {
            ct_wino_read(grid, &g->in, g->in_phases > 1 ? p : CT_WINO_EVEN_EVEN, first + i, patch, &t);
            t.out = v + i * g->v_tile;
            g->kern->wino->in(&t);
        }
}

/* Products of tiles first .. first+count-1 with one panel at all positions; u: its first block's filters. From channel (or word of two) d0 on, `depth` of them; added
 * to those of the channels before. */
static void multiply(const wino *g, int64_t first, int64_t count, const float *v, const float *u, int64_t block0, int64_t blocks, int64_t d0,
                     int64_t depth, float *products)
{
    const int64_t nr = g->kern->wino->nr;
    ct_wino_gemm a = { .a_block = g->v_block };
    for (int x = 0; x < g->grid.positions; x++) {
        int64_t from, to, begin = 0, end = g->depth; /* of tiles; of channels */
        ct_wino_having(&g->grid, x, first, count, &from, &to);
        a.rows = to - from;
        if (g->out_phases > 1 && !ct_wino_has(&g->grid, out_phase(g, block0), x)) continue;
        if (g->in_phases > 1) {
            int phase, last;
            ct_wino_phases_of(&g->grid, x, &phase, &last);
            begin = phase * g->phase_c;
            end = (last + 1) * g->phase_c;
        }
        const int64_t at = ct_max64(begin, d0);
        a.depth = ct_min64(end, d0 + depth) - at;
        a.accumulate = at > begin;
        if (a.depth <= 0) continue;
        for (int64_t b = 0; b < blocks; b++) {
            a.kw = g->k - (block0 + b) * nr > g->kern->vl ? nr : g->kern->vl;
            a.a = v + x * g->v_pos + at / CT_WINO_CB * g->v_block + from * g->v_tile;
            a.b = u + x * g->u_pos + b * g->u_block + (at - d0) * nr;
            a.out = products + x * g->m_pos + b * g->m_block + from * g->m_tile;
            if (g->pairs) g->kern->pairs->wino_gemm(&a);
            else g->kern->wino->gemm(&a);
        }
    }
}

/* Products of tiles first .. first+count-1 at all positions, by tiles of bf16. */
static void multiply_split(const wino *g, int64_t first, int64_t count, const local *l)
{
    for (int64_t i = 0; i < count; i++) {
        l->tiles[i] = l->v + i * g->v_tile;
        l->sums[i] = l->products + i * g->m_tile;
    }
    ct_split_gemm a = { .a = l->laid, .a_block = g->runs * CT_SPLIT_ROWS, .b_block = g->u_block, .runs = g->runs };
    a.cols = g->k_blocks * g->kern->wino->nr;
    for (int x = 0; x < g->grid.positions; x++) {
        int64_t from, to;
        ct_wino_having(&g->grid, x, first, count, &from, &to);
        if (from == to) continue;
        a.rows = to - from;
        a.out = l->sums + from;
        g->kern->split->rows(a.rows, g->c, l->tiles + from, x * g->v_pos, l->laid, a.a_block);
        a.b = g->u + x * g->u_pos;
        a.first = x * g->m_pos;
        g->kern->split->gemm(&a);
    }
}

/* Products of some blocks of columns to pixels of the output. */
static void transform_products(const wino *g, int64_t first, int64_t count, int64_t block0, int64_t blocks, const float *products,
                               const local *l)
{
    const ct_wino_grid *grid = &g->grid;
    /* A phase of the output is every other pixel: the odd ones are those that two taps see. */
    const int phase = g->out_phases > 1 ? out_phase(g, block0) : CT_WINO_EVEN_EVEN;
    const int64_t step = g->out_phases > 1 ? 2 : 1, y0 = step > 1 && !ct_wino_odd_row(grid, phase), x0 = step > 1 && !ct_wino_odd_col(grid, phase);
    const int64_t nr = g->kern->wino->nr, ld = g->k / g->out_phases, k0 = block0 * nr % ld, valid = ct_min64(blocks * nr, ld - k0);
    ct_wino_tile t = { .m = grid->m, .side = grid->side, .xs = g->m_pos, .bs = g->m_block, .bw = nr };
    t.n = ct_round_up(valid, g->kern->vl);
    t.bias = g->bias ? g->bias_f32 + k0 : NULL;
    t.stream = g->stream;
    t.add = g->adds && !g->edge;
    float moments[CT_MOMENTS * CT_KERN_COLS];
    int64_t pixels = 0;
    t.moments = g->measures ? moments : NULL;
    t.pixel = g->edge ? t.n : step * ld;
    t.row = t.pixel * (g->edge ? grid->m : g->out_w);
    for (int64_t i = 0; i < count; i++) {
        const ct_wino_spot s = ct_wino_locate(grid, first + i);
        const int64_t at = ((s.image * g->out_h + s.y * step + y0) * g->out_w + s.x * step + x0) * ld + k0;
        ct_wino_positions(grid, &s, phase, &t);
        t.in = products + i * g->m_tile;
        t.h1 = (int)ct_min64(s.h, ct_ceil_div(g->out_h - y0 - s.y * step, step));
        t.w1 = (int)ct_min64(s.w, ct_ceil_div(g->out_w - x0 - s.x * step, step));
        t.out = g->edge ? l->edge : (float *)g->out + at;
        t.begin = i == 0;
        pixels += t.h1 * t.w1;
        g->kern->wino->out(&t);
        for (int y = 0; g->edge && y < t.h1; y++)
            for (int x = 0; x < t.w1; x++) {
                const int64_t to = at + (y * step * g->out_w + x * step) * ld;
                const float *from = l->edge + y * t.row + x * t.pixel;
                if (g->adds) g->kern->element->axpby(valid, 1.0f, from, 1.0f, (float *)g->out + to);
                else ct_cpu_to_type(g->kern, g->out_type, from, valid, g->out, to);
            }
    }
    if (g->stream) g->kern->wino->out_end();
    if (g->measures) {
        double *sums = g->sums + first / g->block * 2 * g->k + k0, *squares = sums + g->k;
        for (int64_t k = 0; k < valid; k++) sums[k] = squares[k] = 0;
        ct_conv_add_moments(moments, t.n, valid, pixels, sums, squares);
    }
}

/* One block of those kept; or a few tiles of the one block there is. */
static void keep_item(void *arg, int64_t item, int thread)
{
    const wino *g = arg;
    if (g->slice) {
        const int64_t tile = item * KEEP_TILES, tiles = ct_min64(KEEP_TILES, g->grid.count - tile);
        transform_pixels(g, tile, tiles, g->v + tile * CT_WINO_CB, local_of(g, thread).patch);
        return;
    }
    const int64_t first = (g->first_block + item) * g->block, count = ct_min64(g->block, g->grid.count - first);
    transform_pixels(g, first, count, g->v + item * g->v_size, local_of(g, thread).patch);
}

/* One panel of a block, whose pixels have been transformed into v, and the panel's filters into u. */
static void run_panel(const wino *g, int64_t first, int64_t count, const float *v, const float *u, int64_t panel, const local *l)
{
    const int64_t block0 = panel * g->panel, blocks = ct_min64(g->panel, g->k_blocks - block0);
    multiply(g, first, count, v, u, block0, blocks, 0, g->depth, l->products);
    const int64_t most = PANEL / g->kern->wino->nr;
    for (int64_t b = 0; b < blocks; b += most)
        transform_products(g, first, count, block0 + b, ct_min64(most, blocks - b), l->products + b * g->m_block, l);
}

/* One block of tiles, all panels. */
static void block_item(void *arg, int64_t item, int thread)
{
    const wino *g = arg;
    const local l = local_of(g, thread);
    const int64_t first = item * g->block, count = ct_min64(g->block, g->grid.count - first);
    transform_pixels(g, first, count, l.v, l.patch);
    if (g->split) {
        multiply_split(g, first, count, &l);
        transform_products(g, first, count, 0, g->k_blocks, l.products, &l);
        return;
    }
    for (int64_t p = 0; p * g->panel < g->k_blocks; p++)
        run_panel(g, first, count, l.v, g->u + p * g->panel * g->u_block, p, &l);
}

/* One panel of output channels, all blocks whose pixels are kept. */
static void panel_item(void *arg, int64_t item, int thread)
{
    const wino *g = arg;
    const local l = local_of(g, thread);
    const int64_t end = ct_min64(g->blocks, g->first_block + g->kept);
    for (int64_t b = item * g->panel; b < ct_min64(g->k_blocks, (item + 1) * g->panel); b++)
        for (int64_t c0 = 0; c0 < g->c; c0 += CT_WINO_CB)
            transform_filters(g, b, c0, l.u + (b - item * g->panel) * g->u_block + channel_at(g, c0), g->u_pos, &l);
    for (int64_t i = g->first_block; i < end; i++) {
        const int64_t first = i * g->block;
        run_panel(g, first, ct_min64(g->block, g->grid.count - first), g->v + (i - g->first_block) * g->v_size, l.u, item, &l);
    }
}

/* One panel of output channels, all tiles, a slice of input channels after the other. */
static void sliced_item(void *arg, int64_t item, int thread)
{
    const wino *g = arg;
    const local l = local_of(g, thread);
    const int64_t block0 = item * g->panel, blocks = ct_min64(g->panel, g->k_blocks - block0), words = g->pairs ? g->slice / 2 : g->slice;
    for (int64_t c0 = 0, d0 = 0; c0 < g->c; c0 += g->slice, d0 += words) {
        for (int64_t b = 0; b < blocks; b++)
            for (int64_t c = c0; c < ct_min64(c0 + g->slice, g->c); c += CT_WINO_CB)
                transform_filters(g, block0 + b, c, l.u + b * g->u_block + channel_at(g, c - c0), g->u_pos, &l);
        multiply(g, 0, g->grid.count, g->v, l.u, block0, blocks, d0, ct_min64(words, g->depth - d0), l.products);
    }
    transform_products(g, 0, g->grid.count, block0, blocks, l.products, &l);
}

static void run(const ct_device *dev, wino *g, void *scratch)
{
    const int64_t c_blocks = ct_ceil_div(g->c, CT_WINO_CB);
    lay_out(g, dev->threads, scratch);
    if (g->bias) {
        ct_cpu_to_f32(g->kern, g->bias_type, g->bias, 0, g->k, g->bias_f32);
        for (int64_t k = g->k; k < g->k_blocks * g->kern->wino->nr; k++) g->bias_f32[k] = 0;
    }
    if (g->whole) {
        if (g->split) ct_cpu_for(dev, g->k_blocks * g->runs, split_filters_item, g);
        else ct_cpu_for(dev, g->k_blocks * c_blocks, filters_item, g);
        ct_cpu_for(dev, g->blocks, block_item, g);
        return;
    }
    for (g->first_block = 0; g->first_block < g->blocks; g->first_block += g->kept) {
        const int64_t kept = ct_min64(g->kept, g->blocks - g->first_block);
        ct_cpu_for(dev, keep_items(g, kept), keep_item, g);
        ct_cpu_for(dev, ct_ceil_div(g->k_blocks, g->panel), g->slice ? sliced_item : panel_item, g);
    }
}

/* ---- the two operators ---- */

/* Sets up the product; false with a reason if it is refused. The gradient of the input is the same product with x and y exchanged. */
static bool set_up(wino *g, const ct_device *dev, const ct_call *call, bool pairs, const char **reason)
{
    const bool turned = call->op == CT_OP_CONV2D_DGRAD, bias = !turned && call->nin > 2 && ct_present(&call->in[2]);
    const ct_tensor *in = &call->in[0], *w = &call->in[1], *out = &call->out[0], *x = turned ? out : in, *y = turned ? in : out;
    const ct_conv_geom c = ct_conv_geometry(&call->attrs.conv, &x->desc, &w->desc, &y->desc);
    *reason = pairs ? ct_wino_pairs_refuse(dev, call) : NULL;
    if (!*reason) *reason = ct_conv_refuse(call, &c);
    if (!*reason && ct_conv_adds(call) && out->desc.dtype != CT_F32) *reason = "cpu.winograd: f32 alone is added to";
    if (*reason) return false;
    const int64_t *d = in->desc.dim, *o = out->desc.dim;
    const int m = ct_wino_choose(dev->kern, &c, o[1], o[2], d[3], o[3], pairs, reason);
    if (m == 0) return false;
    memset(g, 0, sizeof *g);
    g->kern = dev->kern;
    g->pairs = pairs;
    const bool phased = c.stride_h > 1;
    g->in_phases = phased && !turned ? CT_WINO_PHASES : 1;
    g->out_phases = phased && turned ? CT_WINO_PHASES : 1;
    /* Phases of dx are counted by pixels of dy, from which they are made without padding. */
    if (g->out_phases > 1) g->grid = ct_wino_make_grid(m, c.stride_h, c.n, d[1], d[2], d[1], d[2], 0, 0);
    else g->grid = ct_wino_make_grid(m, c.stride_h, c.n, d[1], d[2], o[1], o[2], turned ? 2 - c.pad_h : c.pad_h, turned ? 2 - c.pad_w : c.pad_w);
    g->in = ct_wino_view(dev->kern, in, 0, d[3]);
    g->in.step = g->in_phases > 1 ? 2 : 1;
    g->phase_c = c.c;
    g->filters = w->data;
    g->filter_type = w->desc.dtype;
    g->bias = bias ? call->in[2].data : NULL;
    g->bias_type = bias ? call->in[2].desc.dtype : CT_F32;
    g->out = out->data;
    g->out_type = out->desc.dtype;
    g->out_h = o[1];
    g->out_w = o[2];
    g->turned = turned;
    g->c = g->in_phases * d[3];
    g->k = g->out_phases * o[3];
    plan(g, dev->threads);
    g->measures = ct_conv_measures(call) && out->desc.dtype == CT_F32 && !g->split;
    g->patch = ct_wino_patch_floats(&g->in, g->grid.side);
    /* A vector of each of a tile's pixels is written in turn: they must be whole lines. (Lines put together first, of two vectors with AVX2, gained nothing.) */
    g->adds = ct_conv_adds(call);
    g->stream = g->out_type == CT_F32 && !g->adds && g->kern->vl == CT_KERN_LINE && ct_cpu_past_cache(g->kern, g->out, c.n * o[1] * o[2] * o[3], o[3]);
    g->edge = g->out_type == CT_F32 && g->k % g->kern->vl == 0 ? 0 : m * m * g->panel * g->kern->wino->nr;
    return true;
}

static ct_accept accept(const ct_device *dev, const ct_call *call, bool pairs)
{
    wino g;
    const char *reason;
    if (!set_up(&g, dev, call, pairs, &reason)) return ct_accept_no(reason);
    const size_t bytes = lay_out(&g, dev->threads, NULL);
    return ct_accept_yes(g.measures ? bytes : ct_conv_scratch(dev, call, bytes));
}

static ct_status run_call(const ct_device *dev, const ct_call *call, void *scratch, bool pairs)
{
    wino g;
    const char *reason;
    if (!set_up(&g, dev, call, pairs, &reason)) return ct_fail(CT_EINTERNAL, "%s", reason);
    ct_conv_begin_sum(dev, call);
    run(dev, &g, scratch);
    if (g.measures) ct_conv_join_moments(dev, g.sums, g.blocks, g.k, call->out[1].data);
    else ct_conv_measure(dev, call, scratch);
    return CT_OK;
}

CT_CPU_TWO_FORMS(accept, run_call)

static const ct_impl pairs_impls[] = {
    { CT_OP_CONV2D, CT_CPU_PAIRS_WINO, CT_CPU_FEWER_PRODUCTS | CT_IMPL_ROUNDS, pairs_accept, pairs_run },
    { CT_OP_CONV2D_DGRAD, CT_CPU_PAIRS_WINO, CT_CPU_FEWER_PRODUCTS | CT_IMPL_ROUNDS, pairs_accept, pairs_run },
};
const ct_impl_set ct_cpu_wino_pairs_impls = CT_IMPL_SET(pairs_impls);

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cpu.winograd", CT_CPU_FEWER_PRODUCTS, f32_accept, f32_run },
    { CT_OP_CONV2D_DGRAD, "cpu.winograd", CT_CPU_FEWER_PRODUCTS, f32_accept, f32_run },
};
const ct_impl_set ct_cpu_wino_impls = CT_IMPL_SET(impls);
