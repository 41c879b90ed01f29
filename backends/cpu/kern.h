/* The inner loops of the CPU backend, compiled once per instruction set (kern_base.c, kern_avx2.c, kern_avx512.c from
 * the bodies kern_*.h) and chosen when a device is opened. Kernels are leaves: they know nothing of threads, scratch or
 * calls, take f32 arrays that need no alignment beyond an element's, and give the same bits for the same arguments
 * wherever they lie. */
#ifndef CT_CPU_KERN_H
#define CT_CPU_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/math/lstm_math.h"
#include "ops/math/mask_math.h"
#include "base/status.h"
#include "ops/math/optim_math.h"
#include "ops/math/resample_math.h"

/* Product of gathered rows with a packed block of columns:
 *
 *   out[p][k_first + k] = start + sum over t, c of in[t*in_stride + p][c_first + c] * w[(t*c_stride + c)*kw + k]
 *
 * for 0 <= p < np, 0 <= k < kn, with start = out[p][k_first + k] if accumulate, else bias[k], else 0. Convolution: p are
 * pixels, t filter taps, c channels, k filters. */
typedef struct ct_igemm {
    const float *const *in; /* [taps][in_stride] rows of at least c_first + c floats */
    int64_t in_stride;      /* pointers from one tap to the next, >= np */
    float *const *out;      /* [np] rows of at least k_first + kn floats */
    int64_t np, taps, c;
    int64_t c_first;   /* added to every row pointer: a slice of the channels */
    const float *w;    /* [taps][c_stride][kw], from the slice's first row on */
    int64_t c_stride;  /* rows of w from one tap to the next, >= c */
    int64_t k_first;   /* added to every output pointer */
    int64_t kn, kw;    /* columns stored; width of w's rows, floats: kn rounded up to a multiple of vl, at most nr */
    const float *bias; /* [kn] or NULL */
    float *moments;    /* [3][nr] or NULL, see below; f32 alone */
    bool accumulate;   /* f32 alone */
    bool stream;       /* out may be written past the caches: columns stored are whole lines; not with accumulate, nor for kernels of pairs */
    uint16_t *const *out16; /* in out's place where words are pairs of bf16 */
    /* What is read next, so many lines: called into the L2 cache evenly over the work of this call, where that pays. Changes no result; not for kernels of pairs. */
    const float *next;
    int64_t next_lines;
    /* With next_run: so many rows of next_run lines, next_ld floats apart, in sets whose tiles are four lines wide and where columns are a whole tile's. */
    int64_t next_run, next_ld;
} ct_igemm;

/* What a kernel that is asked for moments leaves of the columns it stores: a number near them, one of the first pixels', and the sums over all pixels of
 * what they are above it, and of the squares of that. About a number so near little is lost where squares are subtracted. */
enum { CT_MOMENTS_ABOUT, CT_MOMENTS_SUM, CT_MOMENTS_SQUARE, CT_MOMENTS };

#define CT_KERN_LINE 16 /* floats of a cache line */
#define CT_KERN_COLS 64 /* most columns of a tile, nr of every set; and of Winograd's that are transformed back together */

/* The same product where what a pixel sees of each tap is `step` floats behind what the pixel before it sees, as windows of a
 * picture's rows are: out[p*ld + k] = start + sum over t, c of in[t][p*step + c] * w[t][c][k], 0 <= p < np, 0 <= k < kn, with start =
 * bias[k], else 0. */
typedef struct ct_window_gemm {
    const float *const *in; /* [taps] rows of at least (np - 1)*step + c floats */
    int64_t np, taps, c, step;
    const float *w;    /* [taps][c][kw] */
    int64_t kn, kw;    /* as of ct_igemm */
    const float *bias; /* [kn] or NULL */
    float *moments;    /* as of ct_igemm */
    float *out;
    int64_t ld;
    bool stream; /* as of ct_igemm */
} ct_window_gemm;

/* Sum of outer products: dw[c*ldw + k] (+)= sum over p of in[p][c] * dy[p*ldy + k], 0 <= c < c_n, 0 <= k < kw. */
typedef struct ct_wgemm {
    const float *const *in;        /* [np] rows of at least c_n floats */
    float *dy;                     /* [np] rows, ldy floats apart, of at least kw floats; read alone unless there is dy_from */
    int64_t np, c_n, kw, ldy, ldw; /* kw: a multiple of vl, at most nr */
    float *dw;                     /* [c_n] rows */
    bool accumulate;
    bool stream; /* dw may be written past the caches: rows are aligned to a vector, and kw columns whole lines; not with accumulate, nor for kernels of pairs */
    /* The rows that dy shall have, ld_from floats apart: the first channels are multiplied by these, which are copied to dy for the others. NULL: dy has
     * them. Not for kernels of pairs. */
    const float *dy_from;
    int64_t ld_from;
    /* What is read next: while it sums, the kernel calls lines[i] cache lines from ahead[i][p] + first[i] on, 0 <= p <
     * np, into the L2 cache, i = 0 first, as far as the work of this call lasts. Changes no result. */
    const float *const *ahead[2];
    int64_t first[2], lines[2];
    /* In in's place for kernels of pairs that want it turned round: [c_n][ld_turned], of which rows are filled up with zeros to whole tiles,
     * and there are as many rows as whole tiles have. */
    const float *turned;
    int64_t ld_turned;
} ct_wgemm;

/* The same of windows of a picture's rows, `step` floats apart: dw[c*ldw + k] (+)= sum over r, p of
 * in[r][at[c] + p*step] * dy[(r*np + p)*ldy + k], 0 <= r < rows, 0 <= p < np, 0 <= c < c_n, 0 <= k < kw. */
typedef struct ct_window_sum {
    const float *const *in; /* [rows] where the first window of each begins */
    const int64_t *at;      /* [c_n] where a window has its numbers, in floats from its begin */
    int64_t rows, np, step;
    const float *dy;
    int64_t c_n, kw, ldy, ldw; /* as of ct_wgemm */
    float *dw;
    bool accumulate;
    const float *next; /* floats that are read next, so many: called into the L2 cache while it sums. Changes no result */
    int64_t next_floats;
} ct_window_sum;

#define CT_KERN_TILE 16 /* rows of a tile, and words of its rows: of kernels that multiply tiles */

#define CT_WINO_CB 16 /* channels of a block of transformed pixels: a multiple of every vl */

/* How positions are stored: as f32; as bf16, channels side by side (bs, bw in bf16, xs in floats); in words of two bf16, this tile's or
 * channel's the lower halves, the upper ones then zero; or the upper halves of words whose lower ones stand. */
enum ct_wino_store { CT_WINO_F32, CT_WINO_BF16, CT_WINO_LOWER, CT_WINO_UPPER };

/* One tile of a Winograd transform between pixels (or taps), whose n channels lie side by side, and positions of the
 * transformed square. Pixel (i,j) begins at i*row + j*pixel, when read with `origin` added; channel c of position x at
 * x*xs + c/bw*bs + c%bw; floats, in `in` or `out` as the kernel says. */
typedef struct ct_wino_tile {
    int m;             /* 2 or 4: a tile gives m x m pixels */
    int side;          /* positions each way: m + 2, of 3 taps; or m + 1, of two taps or one, if m is 4 */
    int down, across;  /* positions that are written or read, each way: side, or one less if the last pixel is not wanted, or of one tap of two */
    int64_t n;         /* channels, a multiple of vl */
    const float *in;
    float *out;
    int64_t origin, row, pixel; /* negative strides turn a filter round */
    int64_t next;           /* 0, or floats to the tile that is read next: `in` and `out_adjoint` call its pixels into the L1 cache */
    int64_t xs, bs, bw;     /* bw: a multiple of vl */
    int h0, h1, w0, w1;     /* rows and columns of pixels, or of two taps, that exist; the others are zeros, or not written */
    const float *bias;      /* [n] or NULL: added to what wino_out writes */
    float *moments;         /* [CT_MOMENTS][n] or NULL: what wino_out writes is added to these, or begins them: as of ct_igemm */
    bool begin;
    bool add;               /* wino_out adds to what is there */
    bool stream;            /* wino_out may write past the caches: pixels are aligned to 64 bytes; call ct_kern_wino.out_end behind it */
    int store;              /* enum ct_wino_store, of what `in`, `out_adjoint` and `filter` write */
} ct_wino_tile;

/* Product of one position. wino_gemm: out[t][k] (+)= sum over c of a[t][c] * b[c][k] for `rows` tiles and `depth`
 * channels; wino_wgemm: out[c][k] (+)= sum over t of a[t][c] * b[t][k] for `rows` channels, a multiple of CT_WINO_CB,
 * and `depth` tiles. */
typedef struct ct_wino_gemm {
    const float *a;  /* [channel / CT_WINO_CB][tile][CT_WINO_CB], the blocks a_block floats apart */
    const float *b;  /* [depth][wino_nr] */
    float *out;      /* [rows][wino_nr] */
    int64_t a_block, rows, depth;
    int64_t kw;      /* columns computed: vl or wino_nr */
    bool accumulate; /* to what is in out */
} ct_wino_gemm;

/* Depthwise convolution of neighbouring outputs with the same taps: out[j*out_step + k] = bias[k] + sum over t of
 * in[t][j*in_step + k] * w[t][k], 0 <= j < n, 0 <= k < c. */
typedef struct ct_depthwise_row {
    const float *const *in, *const *w; /* [taps] what tap t reads for output 0; its weights [c] */
    const float *bias;                 /* [c] or NULL */
    float *out;
    int64_t n, c, taps;
    int64_t in_step, out_step; /* floats from an output's pixels to the next one's */
    const float *const *ahead; /* [fetch] pixels that the outputs after the first are the first to read, as they lie for output 0: what */
    int64_t fetch;             /* they are for later outputs is fetched into the cache. Changes no result. */
} ct_depthwise_row;

/* The gradient of its filters: dw[t][k] += sum over j of x[t][j*x_step + k] * dy[j*dy_step + k]. */
typedef struct ct_depthwise_sum {
    const float *const *x; /* [taps] */
    float *const *dw;      /* [taps] rows of c floats */
    const float *dy;
    int64_t n, c, taps;
    int64_t x_step, dy_step;
    const float *const *ahead; /* [fetch] as above */
    int64_t fetch;
} ct_depthwise_sum;

#define CT_PLANES_WIDE 4  /* channels that are summed side by side */
#define CT_PLANES_STEP 32 /* pixels: a multiple of what is summed side by side, whatever vl */

/* Convolution of few channels, pixels along the vector: out[k*out_ld + j] = bias[k] + sum over t of in[t][j] *
 * w[t*kw + k], 0 <= j < n, 0 <= k < k_n. A term t is a tap and a channel. Reads and writes up to n rounded up to
 * CT_PLANES_STEP. */
typedef struct ct_planes_row {
    const float *const *in; /* [terms] */
    const float *w, *bias;  /* [terms][kw], [kw] */
    float *out;
    int64_t out_ld, n, terms, k, kw; /* kw: k rounded up to CT_PLANES_WIDE */
} ct_planes_row;

/* The gradient of its filters, by lanes: part[(t*kw + k)*CT_KERN_LINE + lane] += sum over j = lane, lane + vl, ... of
 * x[t][j] * dy[k*dy_ld + j]. n: a multiple of CT_PLANES_STEP. */
typedef struct ct_planes_sum {
    const float *const *x; /* [terms] */
    const float *dy;
    float *part;
    int64_t dy_ld, n, terms, k, kw;
} ct_planes_sum;

/* A block of rows of a [rows, cols] matrix seen by the batch-norm kernels; rows are `ld` floats apart. */
typedef struct ct_bn_block {
    int64_t rows, cols, ld;
    const float *x, *add, *dy; /* add may be NULL */
    uint8_t *mask;             /* where the ReLU's output is above `floor` (mask_math.h), or NULL: bn_apply writes it, bn_bwd_* read it */
    int64_t mask_ld;           /* bytes from a row of it to the next */
    float floor;               /* outputs up to here are stored as zero */
    const float *mean, *scale, *shift, *bias; /* [cols] per-channel numbers; meaning stands beside each kernel */
    const float *beta;                        /* [cols] SiLU is applied to (x - mean)*scale + beta [+ add] */
    float *out, *out2;                        /* out2 may be NULL */
    bool relu;
    bool stream, stream2; /* out, out2 may be written past the caches: their rows are aligned to 64 bytes */
} ct_bn_block;

/* Products of bf16, sums in f32: of in, w, dy (all their lengths and distances) a float is then a word of two bf16, the lower
 * half first, that are multiplied with their like. igemm: two neighbouring channels, the results rounded to bf16 rows of out16; c_stride is c.
 * wgemm: the same channel of two pixels; results are f32. The sums of one call are made in one go. */
typedef struct ct_kern_pairs {
    void (*igemm)(const ct_igemm *a);
    void (*wgemm)(const ct_wgemm *a); /* fetches nothing ahead */
    /* Words of two channels, and of two tiles; out: f32. NULL where products are so fast that Winograd's transforms do not pay. */
    void (*wino_gemm)(const ct_wino_gemm *g);
    void (*wino_wgemm)(const ct_wino_gemm *g);
    /* words[i] = lower[i], upper[i] */
    void (*zip)(int64_t n, const uint16_t *lower, const uint16_t *upper, float *words);
    bool turned; /* wgemm takes ct_wgemm.turned, not in */
} ct_kern_pairs;

/* Products of f32 by tiles of bf16 (kern_split.h): every number as three of bf16. Operands are laid out first, CT_SPLIT numbers deep, a run: of
 * CT_SPLIT rows in CT_SPLIT_ROWS words, of ct_split_wide columns in ct_split_cols_words. A block of so many rows, or columns, has its runs behind
 * each other. */
#define CT_SPLIT (2 * CT_KERN_TILE)
#define CT_SPLIT_ROWS (3 * CT_KERN_TILE * CT_SPLIT)

/* out[r][first + k] = start + sum of a[r][d] * b[d][k] over the depth, 0 <= r < rows, 0 <= k < cols, with start = out[r][first + k] if accumulate, else
 * bias[k], else 0. */
typedef struct ct_split_gemm {
    const float *a, *b;
    int64_t a_block, b_block; /* words from a block to the next */
    int64_t runs, rows, cols; /* runs > 0 */
    float *const *out;        /* [rows] */
    int64_t first;
    const float *bias; /* [cols] or NULL */
    bool accumulate;
    bool stream; /* as of ct_igemm */
} ct_split_gemm;

/* Lay out n numbers in depth of some rows or columns, `block` words between their blocks; what fills up the last run is zero. Of rows: number d of row r is
 * x[r][first + d]; turned: x[d][first + r]. Of columns: number d of column k is x[d][first + k]; turned: x[k][first + d]. */
typedef struct ct_kern_split {
    void (*rows)(int64_t rows, int64_t n, const float *const *x, int64_t first, float *out, int64_t block);
    void (*rows_turned)(int64_t rows, int64_t n, const float *const *x, int64_t first, float *out, int64_t block);
    void (*cols)(int64_t n, int64_t cols, const float *const *x, int64_t first, float *out, int64_t block);
    void (*cols_turned)(int64_t n, int64_t cols, const float *const *x, int64_t first, float *out, int64_t block);
    void (*gemm)(const ct_split_gemm *g);
} ct_kern_split;

/* The kernels by purpose; each table stands behind the bodies in kern_<purpose>.h. */

typedef struct ct_kern_conv {
    int nr; /* widest block of columns, floats: a small multiple of vl */
    void (*igemm)(const ct_igemm *a);
    void (*windows)(const ct_window_gemm *a);
    void (*wgemm)(const ct_wgemm *a);
    void (*window_sums)(const ct_window_sum *a);
} ct_kern_conv;

typedef struct ct_kern_depthwise {
    void (*row)(const ct_depthwise_row *a);
    void (*sum)(const ct_depthwise_sum *a);
} ct_kern_depthwise;

/* split: planes[k*ld + i] = x[i*c + k], 0 <= i < n, 0 <= k < c; join: the other way. */
typedef struct ct_kern_planes {
    void (*row)(const ct_planes_row *a);
    void (*sum)(const ct_planes_sum *a);
    void (*split)(int64_t n, int64_t c, const float *x, float *planes, int64_t ld);
    void (*join)(int64_t n, int64_t c, const float *planes, int64_t ld, float *x);
} ct_kern_planes;

/* Winograd convolution. Pixels to positions: of the input, and, for the gradient of the filters, of the output's
 * gradient. Positions to pixels. Taps to positions, and positions to the taps' gradient. */
typedef struct ct_kern_wino {
    int nr; /* widest block of columns, floats: 2 vl */
    void (*in)(const ct_wino_tile *t);
    void (*out_adjoint)(const ct_wino_tile *t);
    void (*out)(const ct_wino_tile *t);
    void (*out_end)(void);
    void (*filter)(const ct_wino_tile *t);
    void (*filter_adjoint)(const ct_wino_tile *t);
    void (*gemm)(const ct_wino_gemm *g);
    void (*wgemm)(const ct_wino_gemm *g);
    /* out[j*ldo + i] = x[i*ldx + j] for 0 <= i < rows, 0 <= j < cols */
    void (*turn)(int64_t rows, int64_t cols, const float *x, int64_t ldx, float *out, int64_t ldo);
} ct_kern_wino;

typedef struct ct_kern_copy {
    /* dst[r*ld_dst + i] = src[r*ld_src + i], 0 <= r < rows, 0 <= i < n */
    void (*rows)(int64_t rows, int64_t n, const float *src, int64_t ld_src, float *dst, int64_t ld_dst);
    /* dst[c*ld_dst + r] = src[r*ld_src + c], 0 <= r < rows, 0 <= c < cols */
    void (*transpose)(int64_t rows, int64_t cols, const float *src, int64_t ld_src, float *dst, int64_t ld_dst);
    /* 16-bit floats <-> f32; n elements. */
    void (*from_bf16)(int64_t n, const uint16_t *x, float *y);
    void (*to_bf16)(int64_t n, const float *x, uint16_t *y);
    void (*from_f16)(int64_t n, const uint16_t *x, float *y);
    void (*to_f16)(int64_t n, const float *x, uint16_t *y);
} ct_kern_copy;

typedef struct ct_kern_element {
    void (*add)(int64_t n, const float *a, const float *b, float *y);
    void (*mul)(int64_t n, const float *a, const float *b, float *y);
    /* y = alpha*x + beta*y; beta 0 does not read y */
    void (*axpby)(int64_t n, float alpha, const float *x, float beta, float *y);
    /* y = mask ? x*s : 0 */
    void (*mask_scale)(int64_t n, const float *x, const uint8_t *mask, float s, float *y);
    /* y = x < 0 ? alpha*x : x; NaN stays */
    void (*leaky)(int64_t n, const float *x, float alpha, float *y);
    /* dx = y > 0 ? dy : alpha*dy */
    void (*leaky_bwd)(int64_t n, const float *dy, const float *y, float alpha, float *dx);
    /* dy*y*(1-y) */
    void (*sigmoid_bwd)(int64_t n, const float *dy, const float *y, float *dx);
    /* dy*(1-y*y) */
    void (*tanh_bwd)(int64_t n, const float *dy, const float *y, float *dx);
    /* y = x*g, g [cols] for each of `rows` rows */
    void (*mul_rows)(int64_t rows, int64_t cols, const float *x, const float *g, float *y);
    /* y = p*a + q*b */
    void (*blend)(int64_t n, float p, const float *a, float q, const float *b, float *y);
} ct_kern_element;

typedef struct ct_kern_sum {
    /* sum[c] += sum over rows of x[r*ld + c] */
    void (*columns)(int64_t rows, int64_t cols, int64_t ld, const float *x, double *sum);
    /* sum[c] += sum over rows of x[r*ld + c]*y[r*ld + c] */
    void (*products)(int64_t rows, int64_t cols, int64_t ld, const float *x, const float *y, double *sum);
    /* da = p*dy, db = q*dy; sum[0] += sum of dy*a, sum[1] += sum of dy*b. da and db may lie on any of the others. */
    void (*blend_bwd)(int64_t n, float p, float q, const float *dy, const float *a, const float *b, float *da, float *db,
                      double sum[2]);
    /* sum of x^2; *finite is cleared when an element is NaN or infinite */
    double (*squares)(int64_t n, const float *x, bool *finite);
} ct_kern_sum;

typedef struct ct_kern_norm {
    /* s[c] += sum of x - shift, q[c] += sum of (x - shift)^2 */
    void (*stats)(const ct_bn_block *b, double *s, double *q);
    /* out = (x - mean)*scale + bias [+ add], with relu: max(0, .), and its mask */
    void (*apply)(const ct_bn_block *b);
    /* g = dy, but 0 where a mask is given and not set; s[c] += sum of g, q[c] += sum of g*(x - mean) */
    void (*bwd_sums)(const ct_bn_block *b, double *s, double *q);
    /* out = scale*g + shift*(x - mean) + bias; out2 = g */
    void (*bwd_apply)(const ct_bn_block *b);
} ct_kern_norm;

/* Arrays of one sample; outputs may lie on the inputs. */
typedef struct ct_kern_standardize {
    /* sum[0] += sum of x - shift, sum[1] += sum of (x - shift)^2 */
    void (*moments)(int64_t n, const float *x, float shift, double sum[2]);
    /* y = ((x - mean[0]) - mean[1])*scale: the mean in two parts, lest its rounding show where x is far from 0 */
    void (*apply)(int64_t n, const float *x, const float mean[2], float scale, float *y);
    /* sum[0] += sum of dy, sum[1] += sum of dy*y */
    void (*bwd_sums)(int64_t n, const float *dy, const float *y, double sum[2]);
    /* dx = scale*((dy - mean) - y*along) */
    void (*bwd_apply)(int64_t n, const float *dy, const float *y, float mean, float along, float scale, float *dx);
} ct_kern_standardize;

/* Masks of dropout: of element 4*b + k of out word k of the Philox block with counter (hi, lo + b) and key seed is at least `threshold` in
 * its upper 24 bits; threshold <= 2^24. */
typedef struct ct_kern_random {
    void (*keep)(int64_t blocks, uint64_t seed, uint64_t hi, uint64_t lo, uint32_t threshold, uint8_t *out);
} ct_kern_random;

/* Sigmoid and SiLU, s(z) = z/(1 + e^-z); their inputs and outputs may lie on each other. Behind batch norm, with z = (x - mean)*scale
 * + beta [+ add]: */
typedef struct ct_kern_silu {
    void (*sigmoid)(int64_t n, const float *x, float *y);
    void (*silu)(int64_t n, const float *x, float *y);
    void (*silu_bwd)(int64_t n, const float *dy, const float *x, float *dx); /* dy*s'(x) */
    void (*apply)(const ct_bn_block *b);                                     /* out = s(z) */
    void (*bwd_sums)(const ct_bn_block *b, double *s, double *q); /* as of ct_kern_norm, with g = dy*s'(z) */
    void (*bwd_apply)(const ct_bn_block *b);                      /* alike; out2 only where there is add */
} ct_kern_silu;

typedef struct ct_kern_pool {
    /* Pools over a row of windows, n of them, c channels each; window i's cell t begins at x + i*step + off[t]
     * (floats). y[i*c + ch] = largest cell, code its number[t]; the first of equals, and the first NaN before all. taps
     * >= 1. */
    void (*max_row)(int64_t n, int64_t c, const float *x, int64_t step, int64_t taps, const int64_t *off,
                    const int32_t *number, float *y, uint8_t *code);
    /* dx[i*dx_step + ch] = sum over t of code[i*c + off[t] + ch] == number[t] ? dy[i*c + off[t] + ch] : 0 */
    void (*max_row_bwd)(int64_t n, int64_t c, const float *dy, const uint8_t *code, int64_t taps, const int64_t *off,
                        const int32_t *number, float *dx, int64_t dx_step);
    /* y[i*y_step + ch] = factor * sum over t of x[i*step + off[t] + ch] */
    void (*sum_row)(int64_t n, int64_t c, const float *x, int64_t step, int64_t taps, const int64_t *off, float factor,
                    float *y, int64_t y_step);
} ct_kern_pool;

/* A row of windows as ct_kern_pool.max_row has it, of max(0, (x - mean)*scale + bias), with the numbers of channels; mean NULL: of x, which is not
 * negative. Where the largest is not above 0, code is `none`. */
typedef struct ct_norm_windows {
    int64_t n, c, step, taps;
    const float *x, *mean, *scale, *bias;
    const int64_t *off;
    const int32_t *number;
    int32_t none;
    float *y;
    uint8_t *code;
} ct_norm_windows;

/* A row of n windows of 2x2 pixels that do not overlap: two rows of 2*n pixels with c channels, `line` floats apart; dy and code [n,c]. g of a
 * pixel is dy where code is its number (0 to 3 as they are read), else 0. */
typedef struct ct_norm_quads {
    int64_t n, c, line;
    const float *x, *dy;
    const uint8_t *code;
    const float *mean, *scale, *shift, *bias; /* [c] */
    float *out;                               /* as x */
    bool stream;                              /* as of ct_bn_block */
} ct_norm_quads;

/* n pixels of a row, from pixel `first` on, in windows of 3x3 pixels that overlap: 2 apart, with 1 pixel of padding. The row lies in `rows` rows of q
 * windows, the lower one first if there are two. g of a pixel is the sum of dy over the windows whose code is the pixel's number in them. */
typedef struct ct_norm_overlap {
    int64_t first, n, c, q;
    int rows;               /* 1 or 2 */
    const float *dy[2];     /* [q,c] each */
    const uint8_t *code[2]; /* like it */
    int32_t left[2];        /* number of a window's leftmost pixel of this row */
    const float *x;         /* [n,c] */
    const float *mean, *scale, *shift, *bias; /* [c] */
    float *out;             /* as x */
    bool stream;            /* as of ct_bn_block */
} ct_norm_overlap;

typedef struct ct_kern_norm_pool {
    void (*max_row)(const ct_norm_windows *w);
    /* as of ct_kern_norm: s[c] += sum of g, q[c] += sum of g*(x - mean); out = scale*g + shift*(x - mean) + bias */
    void (*quad_sums)(const ct_norm_quads *w, double *s, double *q);
    void (*quad_apply)(const ct_norm_quads *w);
    void (*overlap_sums)(const ct_norm_overlap *w, double *s, double *q);
    void (*overlap_apply)(const ct_norm_overlap *w);
} ct_kern_norm_pool;

typedef struct ct_kern_resample {
    /* A row t of w pixels with c channels, enlarged along itself 2^shift times to y; and from t of w 2^shift pixels its
     * gradient dx of w. Weights: ops/math/resample_math.h. */
    void (*row)(int64_t w, int64_t c, int shift, const float *t, float *y);
    void (*row_bwd)(int64_t w, int64_t c, int shift, const float *t, float *dx);
} ct_kern_resample;

typedef struct ct_kern_soft {
    /* A row of n, n >= 1: y = x - log sum exp(x); dx = dy - exp(y) * sum dy. The output may lie on the first input. */
    void (*log_softmax)(int64_t n, const float *x, float *y);
    void (*log_softmax_bwd)(int64_t n, const float *dy, const float *y, float *dx);
    /* Rows of distill: p = softmax(inv*s), q = softmax(inv*t); gives the sum of q (log q - log p). */
    double (*distill)(int64_t n, float inv, const float *s, const float *t);
    /* ds = g (p - q); dt = g q (log q - log p - kl), unless it is NULL. */
    void (*distill_bwd)(int64_t n, float inv, float g, float kl, const float *s, const float *t, float *ds, float *dt);
} ct_kern_soft;

typedef struct ct_kern_ctc {
    /* One step of CTC's lattice over n states, a multiple of vl / 2, in double without infinities:
     * out = emit + log(exp(a) + exp(b) + exp(c + skip)); returns the greatest. */
    double (*step)(int64_t n, const double *a, const double *b, const double *c, const double *skip, const double *emit,
                   double *out);
    /* g = exp(g - greatest) for n values as above; returns their sum. */
    double (*weights)(int64_t n, double *g);
} ct_kern_ctc;

typedef struct ct_kern_lstm {
    /* One step of a sample through the n units of an LSTM; the arithmetic is that of ops/math/lstm_math.h. gates [4n]
     * (i, f, g, o, n each) holds the recurrent sums and then the gates' values; xg [4n] is added to the sums. c, h: [n]
     * new cell and output. */
    void (*units)(int64_t n, const float *xg, float *gates, const float *c_prev, float *c, float *h);
    /* Its gradient: dh = dy + dh_next; dc [n] as ct_lstm_unit_bwd_f32; da [4n]: of what the gates' functions were
     * applied to. */
    void (*units_bwd)(int64_t n, const float *gates, const float *c, const float *c_prev, const float *dy,
                      const float *dh_next, float *dc, float *da);
} ct_kern_lstm;

/* Optimizer updates of n elements; the arithmetic is that of ops/math/optim_math.h. */
typedef struct ct_kern_optim {
    void (*adam)(int64_t n, const ct_adam_coef_f32 *coef, const float *g, float *p, float *m, float *v);
    void (*sgd)(int64_t n, const ct_sgd_coef *coef, const float *g, float *p, float *buf);
    /* the momentum m, and in u what of it is made orthogonal */
    void (*muon)(int64_t n, const ct_muon_coef *coef, const float *g, float *m, float *u);
    void (*ema)(int64_t n, float d, float one_minus_d, const float *src, float *shadow);
} ct_kern_optim;

typedef struct ct_kern {
    const char *name; /* "amx", "avx512bf16", "avx512", "avx2", "base", "basebf16", "baseamx" */
    int vl;           /* floats of a vector */
    bool streams;     /* whether it writes past the caches where it may */
    int64_t l2_bytes; /* of the L2 cache of a core that has these instructions, at least, in most of them */
    const ct_kern_pairs *pairs; /* NULL where the processor does not multiply bf16 */
    const ct_kern_split *split; /* NULL where it multiplies no tiles */
    const ct_kern_conv *conv;
    const ct_kern_wino *wino;
    const ct_kern_depthwise *depthwise;
    const ct_kern_planes *planes;
    const ct_kern_copy *copy;
    const ct_kern_element *element;
    const ct_kern_sum *sum;
    const ct_kern_norm *norm;
    const ct_kern_standardize *standardize;
    const ct_kern_pool *pool;
    const ct_kern_norm_pool *norm_pool;
    const ct_kern_resample *resample;
    const ct_kern_soft *soft;
    const ct_kern_silu *silu;
    const ct_kern_random *random;
    const ct_kern_ctc *ctc;
    const ct_kern_lstm *lstm;
    const ct_kern_optim *optim;
} ct_kern;

static inline int64_t ct_split_wide(const ct_kern *k) { return 2 * k->vl; }
static inline int64_t ct_split_cols_words(const ct_kern *k) { return 3 * CT_KERN_TILE * ct_split_wide(k); }

extern const ct_kern ct_kern_base, ct_kern_avx2, ct_kern_avx512, ct_kern_avx512bf16, ct_kern_amx;
extern const ct_kern ct_kern_basebf16, ct_kern_baseamx; /* base with products of bf16 emulated: run anywhere, for tests; never the best */

#define CT_KERN_SETS 7
/* Sets this processor can run, best first, those for tests last; their number. */
int ct_kern_list(const ct_kern *sets[CT_KERN_SETS]);
/* The best set this processor runs. */
const ct_kern *ct_kern_best(void);
/* That set, or the one CAPTRAIN_KERNELS names: CT_EBACKEND where that one is not to be had. */
ct_status ct_kern_choose(const ct_kern **out);

#endif
