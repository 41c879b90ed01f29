/* Inside backends/cpu only: the geometry of a convolution, shared by conv.c, conv_wgrad.c, depthwise.c
 * and planes.c, and what goes with their results (conv_moments.c). */
#ifndef CT_CPU_CONV_H
#define CT_CPU_CONV_H

#include "backends/cpu/cpu.h"

#define CT_CONV_MAX_TAPS 256 /* R*S */
#define CT_CONV_SMALL_C 8    /* below this many channels, taps and channels are packed into one row per pixel */

/* x [n,h,w,c], filters [k,r,s,cg], y [n,p,q,k]; cg = c/groups, kg = k/groups; sizes in elements. */
typedef struct ct_conv_geom {
    int64_t n, h, w, c, k, r, s, p, q, groups, cg, kg;
    int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w;
} ct_conv_geom;

/* From the three tensors' descriptors of any of the three operators. */
ct_conv_geom ct_conv_geometry(const ct_conv_attrs *a, const ct_desc *x, const ct_desc *w, const ct_desc *y);

/* A linear layer as a convolution: rows of x [..., c] are pixels, one below the other; w [k,c]. */
ct_conv_geom ct_linear_geometry(const ct_desc *x, const ct_desc *w);

/* Why a product cannot be one of bf16 (cpu.bf16), or NULL. */
const char *ct_pairs_refuse(const ct_device *dev, const ct_call *call);

/* What all convolution implementations here refuse: NULL, or the reason. */
const char *ct_conv_refuse(const ct_call *call, const ct_conv_geom *g);

/* Whether a call gives moments beside its y. */
static inline bool ct_conv_measures(const ct_call *call) { return call->op == CT_OP_CONV2D && call->nout > 1; }
/* Made as y leaves the registers: what a kernel has left of n pixels' columns, [CT_MOMENTS][ld], added to their sums of y and of y*y. */
void ct_conv_add_moments(const float *moments, int64_t ld, int64_t cols, int64_t n, double *sums, double *squares);
/* The sums of all `parts`, [parts][2][k] in order, to [2][k]. */
void ct_conv_join_moments(const ct_device *dev, const double *sums, int64_t parts, int64_t k, double *moments);
/* Made afterwards, of y as it is stored, in the scratch that the call had for itself: the bytes of it, `own` of which are the call's; and the moments, if any
 * are wanted. */
size_t ct_conv_scratch(const ct_device *dev, const ct_call *call, size_t own);
void ct_conv_measure(const ct_device *dev, const ct_call *call, void *scratch);

/* Whether a data gradient is added to something, input 2; and the first step of that: dx becomes it, if it does not lie there already. */
static inline bool ct_conv_adds(const ct_call *call) { return call->op == CT_OP_CONV2D_DGRAD && call->nin > 2 && ct_present(&call->in[2]); }
void ct_conv_begin_sum(const ct_device *dev, const ct_call *call);

static inline bool ct_conv_is_depthwise(const ct_conv_geom *g) { return g->cg == 1 && g->kg == 1 && g->groups > 1; }

/* 1x1, stride 1, no padding: pixels of x are pixels of y. */
static inline bool ct_conv_is_product(const ct_conv_geom *g)
{
    return g->r * g->s == 1 && g->stride_h == 1 && g->stride_w == 1 && g->pad_h == 0 && g->pad_w == 0;
}

/* Packs what `count` pixels of y from (p,q) on, row-major within an image, see through all taps: out [count][r*s*cg],
 * zeros in the padding; for one group. rows: the image's rows of x from first_h on. */
void ct_conv_pack(const ct_kern *kern, const ct_conv_geom *g, const float *rows, int64_t first_h, int64_t p, int64_t q,
                  int64_t count, float *out);

/* Of `run` pixels of y from column q on, those whose column of x, (q+j)*stride_w + off, lies inside: lo <= j < hi. */
static inline void ct_conv_inside(const ct_conv_geom *g, int64_t off, int64_t q, int64_t run, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    if (off >= g->w) return;
    *lo = ct_min64(run, ct_max64(0, (off < 0 ? ct_ceil_div(-off, g->stride_w) : 0) - q));
    *hi = ct_max64(*lo, ct_min64(run, (g->w - 1 - off) / g->stride_w + 1 - q));
}

/* Most rows of x that `rows` rows of y see, not more than h. */
static inline int64_t ct_conv_rows_seen(const ct_conv_geom *g, int64_t rows)
{
    return ct_min64(g->h, (rows - 1) * g->stride_h + (g->r - 1) * g->dil_h + 1);
}

#endif
