/* Inside backends/cpu only: conv2d and conv2d_dgrad as products of gathered rows. Every output pixel of a class sees the same taps; number by number
 *
 *   out[pixel][k] = bias[k] + sum over taps t and channels c of in[pixel moved by t][c] * w[k][t][c].
 *
 * The data gradient is the same with x and y exchanged: with stride s the pixels of dx fall into s*s classes, each of which sees its own subset of the
 * taps, so nothing is multiplied by zeros. Linear layers are convolutions of 1x1 images. */
#ifndef CT_CPU_CONV_GATHER_H
#define CT_CPU_CONV_GATHER_H

#include "backends/cpu/conv.h"

#define CT_GATHER_CLASSES 64 /* stride_h * stride_w of dgrad */

/* Output pixels that see the same taps: rows first_h + i*step_h (0 <= i < rows), columns alike; tap t of the class (in
 * the order of packing) of output (i,j) reads input pixel (i*in_step_h + off_h[tap0+t], j*in_step_w +
 * off_w[tap0+t]). */
typedef struct ct_pixel_class {
    int64_t first_h, first_w, rows, cols, tap0, taps;
} ct_pixel_class;

typedef struct ct_conv_gather {
    const void *in, *weights, *bias; /* bias may be NULL */
    void *out;
    ct_dtype in_type, out_type, w_type, bias_type;
    int64_t n, in_h, in_w, out_h, out_w, out_c; /* whole tensors; out_c = columns over all groups */
    int64_t groups, channels, cols;             /* channels in and out, per group */
    int64_t taps, classes;
    int64_t step_h, step_w, in_step_h, in_step_w;
    ct_pixel_class cls[CT_GATHER_CLASSES];
    int64_t off_h[CT_CONV_MAX_TAPS], off_w[CT_CONV_MAX_TAPS];
    int64_t tap_of[CT_CONV_MAX_TAPS]; /* place in the filter of packed tap t */
    bool transposed;                  /* weights [channels][taps][cols] (dgrad) instead of [cols][taps][channels] */
    bool adds;                        /* out has what is added to (dgrad) */
    bool flat;                        /* the images' rows are those of one long image: nothing is padded */
    ct_conv_geom geom;
} ct_conv_gather;

/* Of conv2d, linear, their data gradients and those of their filters, for which in is x, out is dy and weights are dw. */
ct_conv_geom ct_conv_gather_geometry(const ct_call *call);
/* What ct_conv_refuse refuses, and too many classes: NULL, or the reason. */
const char *ct_conv_gather_refuse(const ct_call *call);
/* The same for products of f32 made of those of bf16 by tiles (cpu.split), and where these do not pay. */
const char *ct_split_refuse(const ct_device *dev, const ct_call *call);
/* Of a call that is not refused. */
void ct_conv_gather_make(ct_conv_gather *g, const ct_call *call);

/* Where pixels first .. first+count-1 of a class lie, all images counted through, of f32: out [count], a group's columns; and what each of the class's taps
 * reads for them: in [taps][ld], a group's channels, or `zeros` in the padding. */
void ct_conv_gather_find(const ct_conv_gather *g, const ct_pixel_class *c, int64_t group, int64_t first, int64_t count, const float *zeros,
                         const float **in, int64_t ld, float **out);

#endif
