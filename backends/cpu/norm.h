/* Inside backends/cpu only: batch norms over rows, shared by norm.c, norm_joint.c and norm_more.c. Rows are cut into pieces, the same for
 * any number of threads; a thread takes a piece at a time. */
#ifndef CT_CPU_NORM_H
#define CT_CPU_NORM_H

#include "backends/cpu/cpu.h"

#define CT_NORM_CHANNELS 64 /* whose pieces' sums are added up together */
#define CT_NORM_TILE 2048   /* f32 of a block on a thread's stack: three of them lie in an L1 cache */

typedef struct ct_norm ct_norm;
/* Writes rows r .. r+rows-1 of what is no tensor, all their columns, to out [rows, cols]. */
typedef void (*ct_norm_rows)(const ct_norm *g, int64_t r, int64_t rows, float *out, int thread);

struct ct_norm {
    const ct_call *call;
    const ct_kern *kern;
    ct_tensor x, add, dy, out, out2; /* absent ones have ndim -1 */
    ct_norm_rows make_add, make_dy;  /* they give add, or dy, in place of a tensor; NULL */
    const void *maker;               /* what these need besides */
    int64_t made_rows;               /* at a time; pieces are of a multiple of it */
    float *made;                     /* [threads][made_rows, cols] */
    uint8_t *mask;                   /* of y, written forward and read backward; NULL where there is none */
    int64_t rows, cols;
    const ct_tensor *moments; /* f64 [2,cols] sums of x and of x*x over `total` rows, where these are given and x is not read for them; NULL */
    int64_t total;
    int64_t averaged; /* rows that the gradient's sums are over */
    int threads;
    ct_pieces pieces;
    bool relu, silu, whole;                      /* whole: all tensors f32, so that kernels take full rows */
    double *part_s, *part_q;                     /* [pieces][cols] */
    float *mean, *scale, *shift, *bias, *origin; /* [cols]; origin [pieces][cols] */
    const float *beta;                           /* [cols] of SiLU: what its argument is shifted by */
};

/* Over the rows of x, without anything else. */
ct_norm ct_norm_make(const ct_device *dev, const ct_tensor *x);
/* Of a call with batchnorm's inputs and outputs; with those of batchnorm_bwd. */
ct_norm ct_norm_forward(const ct_device *dev, const ct_call *c);
ct_norm ct_norm_backward(const ct_device *dev, const ct_call *c);

/* Why tensors' types are not taken, or NULL: those with one element a pixel may have 16 bits; per-channel ones (first..last of in, and of out, and
 * SiLU's beta) are f32. Masks are what the rules say, and so are moments, the only inputs of f64 beside others. */
const char *ct_norm_refuse(const ct_call *c, int first, int last, int out_first, int out_last);

/* Lets rows be made, `at_once` of them at a time, a thread each: before scratch is laid out. Refuses what ct_norm_refuse does not: a reason, or NULL. */
const char *ct_norm_make_rows(ct_norm *g, int64_t at_once);

/* Scratch: its bytes, and with base where they are; sums: of pieces, about origins or not, unless moments are given. */
size_t ct_norm_lay_out(ct_norm *g, bool sums, bool origins, void *base);

/* Sums of every piece, and of squares about its mean, in part_s and part_q; and mean and sum of squares about it of all rows, for `count` channels from c0
 * on: always added in the same order. */
void ct_norm_stats(const ct_device *dev, ct_norm *g);
void ct_norm_join_pieces(const ct_norm *g, int64_t c0, int64_t count, double mean[CT_NORM_CHANNELS], double m2[CT_NORM_CHANNELS]);
/* What y = (x - mean)*scale + bias takes, from the statistics as they are stored: batchnorm_infer can repeat the y of
 * batchnorm bit for bit. */
void ct_norm_set_channels(ct_norm *g, const float *gamma, const float *beta, const float *mean, const float *invstd);
/* Statistics of the batch, or those that moments say, and all that is said of them: batchnorm but for y. */
void ct_norm_measure(const ct_device *dev, ct_norm *g);
/* The same of one tensor x [...,C] as sums of x and of x*x, f64 [2,C], by the bytes of scratch that the first of these gives. */
size_t ct_norm_moments_bytes(const ct_device *dev, const ct_tensor *x);
void ct_norm_moments(const ct_device *dev, const ct_tensor *x, double *moments, void *scratch);
/* y, and its mask. */
void ct_norm_apply(const ct_device *dev, ct_norm *g);
/* The same for rows r .. r+rows-1, CT_NORM_TILE elements at most, as it is before it is stored, to out [rows, cols]. */
void ct_norm_apply_to(const ct_norm *g, int64_t r, int64_t rows, float *out);

/* mean and the scale of y, which SiLU's slope takes and dx where the statistics are held. */
void ct_norm_begin_backward(ct_norm *g);
/* Sums of e, and of e*(x-mean), of every piece; and of `count` channels from c0 on. */
void ct_norm_bwd_sums(const ct_device *dev, ct_norm *g);
void ct_norm_join_sums(const ct_norm *g, int64_t c0, int64_t count, double sum[CT_NORM_CHANNELS], double sum_x[CT_NORM_CHANNELS]);
/* dgamma and dbeta from the sums, which are over so many rows, and what dx takes of them. */
void ct_norm_put_gradients(const ct_device *dev, ct_norm *g, int64_t rows);
/* dx = scale*e + shift*(x - mean) + bias. */
void ct_norm_bwd_apply(const ct_device *dev, ct_norm *g);
/* All of batchnorm_bwd, laid out. */
void ct_norm_differentiate(const ct_device *dev, ct_norm *g);

/* Whether results for t are written past the caches: it is large, none of the inputs lies there (its lines are in the
 * cache then), and rows are whole cache lines. */
bool ct_norm_past_cache(const ct_norm *g, const ct_tensor *t);

static inline bool ct_norm_given(const ct_tensor *t) { return t->desc.ndim >= 0; }

#endif
