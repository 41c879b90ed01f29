/* Inside backends/cpu only: the windows of pooling, shared by pool.c and norm_pool.c. */
#ifndef CT_CPU_POOL_H
#define CT_CPU_POOL_H

#include "backends/cpu/cpu.h"

#define CT_POOL_TAPS 256 /* most cells of a window */

/* Windows over images [n,h,w,c], which give [n,p,q,c]. */
typedef struct ct_pool_shape {
    int64_t n, h, w, c, p, q;
    int64_t ker_h, ker_w, stride_h, stride_w, pad_h, pad_w;
} ct_pool_shape;

/* Windows of a row, or pixels, that have the same taps; all zero to begin with. */
typedef struct ct_pool_run {
    int64_t first, n;          /* windows, one behind another; pixels, stride_w apart */
    int64_t from, taps;        /* floats in front of the first one's taps: cells, or windows */
    int64_t off[CT_POOL_TAPS]; /* floats from there */
    int32_t number[CT_POOL_TAPS]; /* of the cell in its window */
} ct_pool_run;

/* Rows of the image that windows of row p have cells in: *r0 .. *r1-1. */
void ct_pool_rows(const ct_pool_shape *g, int64_t p, int64_t *r0, int64_t *r1);
/* The next run of windows of row p, in rows *r0.. of the image; false: there are no more. */
bool ct_pool_windows(const ct_pool_shape *g, int64_t p, ct_pool_run *run);

/* Rows of windows that pixels of row h are in: *p0 .. *p1-1; none where they are equal. */
void ct_pool_window_rows(const ct_pool_shape *g, int64_t h, int64_t *p0, int64_t *p1);
#endif
