/* Inside backends/cpu only: the tiles of a Winograd convolution, shared by wino.c and wino_wgrad.c (wino_grid.c). */
#ifndef CT_CPU_WINO_H
#define CT_CPU_WINO_H

#include "backends/cpu/conv.h"

/* A convolution of stride 2 and padding 1 is the sum of four of stride 1, phases: taps 0 and 2 see a window's even rows, tap 1 its odd ones, and columns
 * likewise. Four pixels of an axis take 5 + 4 products instead of 12; sums of all phases are made at the same positions, and transformed back once. Phases of
 * odd rows, or columns, lack that axis' last position (kern_wino.h). Their order is such that those that have a position follow each other. */
enum { CT_WINO_EVEN_ODD, CT_WINO_EVEN_EVEN, CT_WINO_ODD_EVEN, CT_WINO_ODD_ODD, CT_WINO_PHASES };
#define CT_WINO_PHASE_C 32 /* x has a multiple of so many channels then */

/* Images cut into tiles of m x m output pixels; 3 x 3 taps. Where m does not divide an image's side, the last rows or columns of
 * tiles are short, of m - 1 pixels (one may be of fewer): the last position of an axis, infinity, is part of a tile's last pixel alone, so that a short
 * one goes without it. 14 pixels are 4 + 4 + 3 + 3, of 22 positions, instead of four times 6.
 *
 * Tiles are numbered by kind: those of short rows, whole ones, those of short columns, those short both ways; each kind by image, row, column. So the
 * tiles that have a position follow each other. */
enum { CT_WINO_LOW, CT_WINO_FULL, CT_WINO_NARROW, CT_WINO_CORNER, CT_WINO_KINDS };
typedef struct ct_wino_grid {
    int m, side;    /* side: pixels of input that a phase sees, and positions, each way: m + 2 with stride 1, m + 1 with stride 2 */
    int positions;  /* side * side */
    int phases;     /* 1, or CT_WINO_PHASES with stride 2 */
    int64_t h, w;   /* input */
    int64_t p, q;   /* output */
    int64_t pad_h, pad_w;
    int64_t rows, cols, count; /* tiles: down, across, of all images */
    int64_t full_rows, full_cols; /* of these, the first ones, of m pixels */
    int64_t end[CT_WINO_KINDS];   /* number of the first tile that is not of this kind nor of one before */
} ct_wino_grid;

/* Whether a phase is of odd rows, or columns; never with stride 1. */
static inline bool ct_wino_odd_row(const ct_wino_grid *g, int phase) { return g->phases > 1 && phase >= CT_WINO_ODD_EVEN; }
static inline bool ct_wino_odd_col(const ct_wino_grid *g, int phase) { return g->phases > 1 && (phase == CT_WINO_EVEN_ODD || phase == CT_WINO_ODD_ODD); }

/* Why products of bf16 are not made so: ct_pairs_refuse, or that the processor's are too fast; NULL if they are. */
const char *ct_wino_pairs_refuse(const ct_device *dev, const ct_call *call);

/* Tile size m for a convolution to p x q pixels of `cols` channels from `depth` channels: 4 or 2; 0 with a reason where
 * Winograd does not pay or cannot run. A function of the shape and the set of loops alone, so that results are. */
int ct_wino_choose(const ct_kern *k, const ct_conv_geom *g, int64_t p, int64_t q, int64_t depth, int64_t cols, bool pairs, const char **reason);

ct_wino_grid ct_wino_make_grid(int m, int64_t stride, int64_t n, int64_t h, int64_t w, int64_t p, int64_t q, int64_t pad_h,
                               int64_t pad_w);

/* Where tile i of a grid writes: the image, its first pixel there, and its size, 1 to m; a tile of fewer than m goes without that axis' last position. */
typedef struct ct_wino_spot {
    int64_t image, y, x;
    int h, w;
} ct_wino_spot;
ct_wino_spot ct_wino_locate(const ct_wino_grid *g, int64_t i);

/* Sets the positions that a tile there has in a phase, of g->phases. */
void ct_wino_positions(const ct_wino_grid *g, const ct_wino_spot *s, int phase, ct_wino_tile *t);

/* Whether a phase has position x; and the first and the last that have. */
bool ct_wino_has(const ct_wino_grid *g, int phase, int x);
void ct_wino_phases_of(const ct_wino_grid *g, int x, int *first, int *last);

/* Makes t read or write the taps of a phase in filters of which neighbouring taps are `pixel` floats apart, 3 of them in a row; turned: the last tap
 * first. Also its positions. */
void ct_wino_taps(const ct_wino_grid *g, int phase, bool turned, int64_t pixel, ct_wino_tile *t);

/* Of tiles first .. first+count-1 those that have position x: *from .. *to-1, counted from `first`; none: both are 0. */
void ct_wino_having(const ct_wino_grid *g, int x, int64_t first, int64_t count, int64_t *from, int64_t *to);

/* Channels first .. first+n-1 of a tensor of images [N,h,w,c], of which square windows are read. */
typedef struct ct_wino_images {
    const ct_kern *kern;
    const void *data;
    ct_dtype type;
    int64_t h, w, c;
    int64_t first, n, wide; /* wide: n rounded up to vectors */
    int64_t step;           /* from a pixel of a window to the next: 1, or 2 */
} ct_wino_images;
ct_wino_images ct_wino_view(const ct_kern *k, const ct_tensor *t, int64_t first, int64_t n);

/* Floats of the copy that ct_wino_window may make; 0 if it never does. */
int64_t ct_wino_patch_floats(const ct_wino_images *v, int side);

/* Makes t read side x side pixels of an image from (y, x) on, which may lie outside in part: in place, or through a
 * copy in patch when the type is not f32 or the channels are no multiple of a vector. */
void ct_wino_window(const ct_wino_images *v, int64_t image, int64_t y, int64_t x, int side, float *patch,
                    ct_wino_tile *t);

/* Of a tile at `spot` that ct_wino_window() has set: how many floats behind it tile i is read; 0: there is none in this image, or pixels were copied
 * to patch. */
int64_t ct_wino_next(const ct_wino_grid *g, const ct_wino_tile *t, const float *patch, const ct_wino_spot *spot, int64_t i);

/* All of that for the pixels that tile i sees in a phase. */
void ct_wino_read(const ct_wino_grid *g, const ct_wino_images *v, int phase, int64_t i, float *patch, ct_wino_tile *t);

/* Floats rounded up to an odd number of cache lines, so that blocks one stride apart fall into different sets. */
static inline int64_t ct_wino_odd_lines(int64_t floats) { return (ct_ceil_div(floats, 16) | 1) * 16; }

#endif
