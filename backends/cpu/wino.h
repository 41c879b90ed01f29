/* Inside backends/cpu only: the tiles of a Winograd convolution, shared by wino.c and wino_wgrad.c. */
#ifndef CT_CPU_WINO_H
#define CT_CPU_WINO_H

#include "backends/cpu/conv.h"

/* Images cut into tiles of m x m output pixels, numbered n, row, column; 3 x 3 taps, stride 1. */
typedef struct ct_wino_grid {
    int m, side;    /* side: m + 2 pixels of input, and positions, each way */
    int positions;  /* side * side */
    int64_t h, w;   /* input */
    int64_t p, q;   /* output */
    int64_t pad_h, pad_w;
    int64_t rows, cols, count; /* tiles: down, across, of all images */
} ct_wino_grid;

/* Why products of bf16 are not made so: ct_pairs_refuse, or that the processor's are too fast; NULL if they are. */
const char *ct_wino_pairs_refuse(const ct_device *dev, const ct_call *call);

/* Tile size m for a convolution to p x q pixels of `cols` channels from `depth` channels: 4 or 2; 0 with a reason where
 * Winograd does not pay or cannot run. A function of the shape alone, so that results are. */
int ct_wino_choose(const ct_conv_geom *g, int64_t p, int64_t q, int64_t depth, int64_t cols, bool pairs, const char **reason);

ct_wino_grid ct_wino_make_grid(int m, int64_t n, int64_t h, int64_t w, int64_t p, int64_t q, int64_t pad_h,
                               int64_t pad_w);

/* Channels first .. first+n-1 of a tensor of images [N,h,w,c], of which square windows are read. */
typedef struct ct_wino_images {
    const ct_kern *kern;
    const void *data;
    ct_dtype type;
    int64_t h, w, c;
    int64_t first, n, wide; /* wide: n rounded up to vectors */
} ct_wino_images;
ct_wino_images ct_wino_view(const ct_kern *k, const ct_tensor *t, int64_t first, int64_t n);

/* Floats of the copy that ct_wino_window may make; 0 if it never does. */
int64_t ct_wino_patch_floats(const ct_wino_images *v, int side);

/* Makes t read the side x side pixels of an image from (y, x) on, which may lie outside in part: in place, or through a
 * copy in patch when the type is not f32 or the channels are no multiple of a vector. */
void ct_wino_window(const ct_wino_images *v, int64_t image, int64_t y, int64_t x, int side, float *patch,
                    ct_wino_tile *t);

/* Of a tile that ct_wino_window() has set: how many floats behind it the tile after it is read, the one below the row's first behind a row's
 * last; 0: there is none in this image, or pixels were copied to patch. */
int64_t ct_wino_next(const ct_wino_grid *g, const ct_wino_tile *t, const float *patch, int64_t row, int64_t col);

/* Floats rounded up to an odd number of cache lines, so that blocks one stride apart fall into different sets. */
static inline int64_t ct_wino_odd_lines(int64_t floats) { return (ct_ceil_div(floats, 16) | 1) * 16; }

#endif
