/* Preprocessing arithmetic shared by every backend: what is drawn for a sample, where a pixel comes from, and what
 * becomes of its value. All in f64, rounded once, to the type of x; backends/cuda/image.cu goes on in f32 from the place of a pixel on.
 *
 * Geometry: pixel (row i, column j) covers the square [j,j+1) x [i,i+1), so its centre is (j+0.5, i+0.5). Output pixels
 * are mapped back: the inverse of the augmentation about the centre of the output image, then the mirror x -> W - x,
 * then the resize and the crop u = x*Wc/W + left, v = y*Hc/H + top, where the crop is Hc x Wc pixels of the source (all
 * of it unless crop_h and crop_w say otherwise), then bilinear interpolation between the four nearest source centres.
 *   Not augmented: beyond the outermost centres the edge value goes on (torch interpolate, align_corners=False); with
 *   equal sizes of output and crop the result is exactly the source's value.
 *   Augmented: pixels outside the source have the value `fill`.
 * A crop is a look at part of the source, not a source of its own: what is beyond its edges but within the source is
 * picture, for interpolation and for what an augmentation moves in.
 * Order: sample, blur, contrast and brightness, noise, clamp to [0,1], (v-mean)/std of the channel.
 * With a window, (left, top, right, bottom) in pixels of the source: a pixel is picture if its centre comes from inside
 * of it; the others have the value (fill-mean)/std whatever the colours do.
 *
 * Draws: Philox with key `seed` and counter (AUGMENT, epoch, sample id; block). Blocks 0..2 hold the parameters, block 3
 * mirror and crop, noise begins at block 2^32 (1 + frame). A draw depends on nothing else, so neither workers nor batches
 * change it, and rows of one sample id (frames of a clip) have the same in one epoch: crop, mirror, all of the
 * augmentation but the noise. */
#ifndef CT_OPS_MATH_IMAGE_MATH_H
#define CT_OPS_MATH_IMAGE_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/clip.h"
#include "base/philox.h"
#include "ops/ops.h"

#define CT_BLUR_MAX_RADIUS 2   /* pixels: 5x5 taps */
#define CT_BLUR_WIDE_SIGMA 0.6 /* pixels: up to here 3x3 taps, above 5x5 */
#define CT_VIEW_BLOCK 3        /* words: mirrored?, top, left */
#define CT_NOISE_FIRST_BLOCK ((uint64_t)1 << 32)

/* What is done to one sample. */
typedef struct ct_image_draw {
    uint64_t seed, counter; /* Philox key and counter high word of this sample */
    uint32_t frame;         /* of a clip, for the noise; 0 where samples are pictures */
    bool augmented, mirrored;
    double left, top;          /* of the crop, whole pixels of the source */
    double cx, cy;             /* centre of the output image, pixels */
    double shift_x, shift_y;   /* pixels of the output */
    double ixx, ixy, iyx, iyy; /* inverse of the linear map: (dx,dy) of the output -> of the unaugmented image */
    double ratio_x, ratio_y;   /* source pixels per output pixel: of the crop's size */
    double contrast, brightness, noise; /* factor, addend, sigma; values in [0,1] */
    int radius;                         /* of the blur, pixels; 0 = none */
    double tap[CT_BLUR_MAX_RADIUS + 1]; /* weight at distance 0..radius along one axis; tap[0] + 2*sum(others) = 1 */
} ct_image_draw;

/* Where an output pixel's centre lies in the source, as weights of four pixels. */
typedef struct ct_image_point {
    int64_t row0, row1, col0, col1; /* inside the source */
    double wr, wc;                  /* weight of row1, col1 */
    double cover;                   /* share of the value that comes from the source; the rest is fill */
} ct_image_point;

/* The attributes of move_points that go with those of a preprocess of sources of hs x ws pixels. */
static inline ct_image_attrs ct_image_geometry(const ct_image_attrs *a, int64_t hs, int64_t ws)
{
    ct_image_attrs g;
    memset(&g, 0, sizeof g);
    g.out_h = a->out_h;
    g.out_w = a->out_w;
    g.src_h = hs;
    g.src_w = ws;
    g.crop_h = a->crop_h;
    g.crop_w = a->crop_w;
    if (!a->augment) return g;
    g.augment = 1;
    g.seed = a->seed;
    g.prob = a->prob;
    g.shift_x = a->shift_x;
    g.shift_y = a->shift_y;
    g.scale = a->scale;
    g.rotate = a->rotate;
    g.shear = a->shear;
    g.flip = a->flip;
    return g;
}

/* Uniform in [-range, range). */
CT_HD static inline double ct_image_symmetric(uint32_t word, double range)
{
    return range * (2.0 * (double)ct_u01(word) - 1.0);
}

/* One of the whole numbers from -range to range, a range's fraction left out. Pictures that are only shifted so are not interpolated: what tells an
 * O from a 0 may be one pixel, and is washed out by half of one. */
CT_HD static inline double ct_image_whole(uint32_t word, double range)
{
    const double most = floor(range);
    return floor((double)ct_u01(word) * (2 * most + 1)) - most;
}

/* Size of what takes the source's place along one axis: the crop, or all of the source's n pixels. */
CT_HD static inline int64_t ct_image_extent(int64_t crop, int64_t n) { return crop > 0 ? crop : n; }

/* One of 0..n-1, each as likely; n < 2^32. */
CT_HD static inline double ct_image_choose(uint32_t word, int64_t n)
{
    return (double)((uint64_t)word * (uint64_t)n >> 32);
}

/* Where the crop of a source [hs,ws] lies and whether it is mirrored: in the middle as it is, with augment by lot, whatever
 * attr prob says of the other augmentations. */
CT_HD static inline void ct_image_draw_view(const ct_image_attrs *a, int64_t hs, int64_t ws, ct_image_draw *d)
{
    const int64_t down = hs - ct_image_extent(a->crop_h, hs), across = ws - ct_image_extent(a->crop_w, ws);
    d->mirrored = false;
    d->top = (double)(down / 2);
    d->left = (double)(across / 2);
    if (!a->augment || !(a->crop_h > 0 || a->flip > 0)) return;
    const ct_philox b = ct_philox4x32(d->seed, d->counter, CT_VIEW_BLOCK);
    d->mirrored = (double)ct_u01(b.v[0]) < a->flip;
    d->top = ct_image_choose(b.v[1], down + 1);
    d->left = ct_image_choose(b.v[2], across + 1);
}

/* The draw of one sample for source [hs,ws] and output a->out_h, a->out_w. */
CT_HD static inline ct_image_draw ct_image_draw_sample(const ct_image_attrs *a, int64_t hs, int64_t ws, int32_t sample,
                                                       int32_t epoch)
{
    const double degree = 0.017453292519943295769;
    ct_image_draw d;
    d.seed = (uint64_t)a->seed;
    d.counter = ((uint64_t)CT_RNG_AUGMENT << 56) ^ ((uint64_t)(uint32_t)epoch << 32) ^ (uint64_t)(uint32_t)sample;
    d.frame = 0;
    d.augmented = false;
    d.cx = 0.5 * (double)a->out_w;
    d.cy = 0.5 * (double)a->out_h;
    d.shift_x = d.shift_y = 0;
    d.ixx = d.iyy = 1;
    d.ixy = d.iyx = 0;
    d.ratio_x = (double)ct_image_extent(a->crop_w, ws) / (double)a->out_w;
    d.ratio_y = (double)ct_image_extent(a->crop_h, hs) / (double)a->out_h;
    ct_image_draw_view(a, hs, ws, &d);
    d.contrast = 1;
    d.brightness = d.noise = 0;
    d.radius = 0;
    d.tap[0] = 1;
    for (int i = 1; i <= CT_BLUR_MAX_RADIUS; i++) d.tap[i] = 0;
    if (!a->augment) return d;
    ct_philox b0 = ct_philox4x32(d.seed, d.counter, 0);
    if (!((double)ct_u01(b0.v[0]) < a->prob)) return d;
    ct_philox b1 = ct_philox4x32(d.seed, d.counter, 1), b2 = ct_philox4x32(d.seed, d.counter, 2);
    d.augmented = true;
    d.shift_x = ct_image_whole(b0.v[1], a->shift_x);
    d.shift_y = ct_image_whole(b0.v[2], a->shift_y);
    /* Forward map: scale * rotation * horizontal shear = s [[c, c*k - n], [n, n*k + c]], k = tan(shear), determinant
     * s^2. */
    double s = 1 + ct_image_symmetric(b0.v[3], a->scale);
    double angle = degree * ct_image_symmetric(b1.v[0], a->rotate);
    double k = tan(degree * ct_image_symmetric(b1.v[1], a->shear));
    double c = cos(angle), n = sin(angle);
    d.ixx = (n * k + c) / s;
    d.ixy = (n - c * k) / s;
    d.iyx = -n / s;
    d.iyy = c / s;
    d.brightness = ct_image_symmetric(b1.v[2], a->brightness);
    d.contrast = 1 + ct_image_symmetric(b1.v[3], a->contrast);
    d.noise = a->noise * (double)ct_u01(b2.v[0]);
    double sigma = a->blur * (double)ct_u01(b2.v[1]);
    if (sigma > 0) {
        double sum = 1;
        d.radius = sigma <= CT_BLUR_WIDE_SIGMA ? 1 : 2;
        for (int i = 1; i <= d.radius; i++) {
            d.tap[i] = exp(-0.5 * (double)(i * i) / (sigma * sigma));
            sum += 2 * d.tap[i];
        }
        for (int i = 0; i <= d.radius; i++) d.tap[i] /= sum;
    }
    return d;
}

/* The same for a row of an index [N,columns]: (row of src, sample id, epoch) and, where there are four, the frame. */
CT_HD static inline ct_image_draw ct_image_draw_row(const ct_image_attrs *a, int64_t hs, int64_t ws, const int32_t *row,
                                                    int64_t columns)
{
    ct_image_draw d = ct_image_draw_sample(a, hs, ws, row[1], row[2]);
    if (columns == CT_INDEX_OF_CLIPS) d.frame = (uint32_t)row[3];
    return d;
}

/* One axis: centre coordinate u (pixels) in a line of n pixels -> the two nearest pixels, held inside, the weight of
 * the second, and the share of the interpolation that falls on real pixels. */
CT_HD static inline double ct_image_axis(double u, int64_t n, int64_t *i0, int64_t *i1, double *w1)
{
    double f = u - 0.5, last = (double)(n - 1);
    double cover = 1;
    if (f < 0) {
        cover = f > -1 ? 1 + f : 0;
        f = 0;
    } else if (f > last) {
        cover = f < last + 1 ? last + 1 - f : 0;
        f = last;
    }
    *i0 = (int64_t)floor(f);
    *i1 = *i0 + 1 < n ? *i0 + 1 : *i0;
    *w1 = f - (double)*i0;
    return cover;
}

/* Place (x,y) in the unaugmented, unmirrored image of the centre of output pixel (row i, column j). */
CT_HD static inline void ct_image_unmoved(const ct_image_draw *d, int64_t i, int64_t j, double *ux, double *uy)
{
    double x = (double)j + 0.5, y = (double)i + 0.5;
    if (d->augmented) {
        double dx = x - d->cx - d->shift_x, dy = y - d->cy - d->shift_y;
        x = d->cx + d->ixx * dx + d->ixy * dy;
        y = d->cy + d->iyx * dx + d->iyy * dy;
    }
    if (d->mirrored) x = 2 * d->cx - x;
    *ux = x;
    *uy = y;
}

/* Source point of output pixel (row i, column j) for a source of hs x ws pixels. */
CT_HD static inline ct_image_point ct_image_locate(const ct_image_draw *d, int64_t hs, int64_t ws, int64_t i, int64_t j)
{
    double x, y;
    ct_image_point p;
    ct_image_unmoved(d, i, j, &x, &y);
    double cc = ct_image_axis(x * d->ratio_x + d->left, ws, &p.col0, &p.col1, &p.wc);
    double cr = ct_image_axis(y * d->ratio_y + d->top, hs, &p.row0, &p.row1, &p.wr);
    p.cover = d->augmented ? cc * cr : 1;
    return p;
}

/* Is output pixel (row i, column j) picture: does its centre come from within the source and the window, (left, top,
 * right, bottom) in pixels of the source? A window with a NaN has nothing within it. */
CT_HD static inline bool ct_image_inside(const ct_image_draw *d, const double window[4], int64_t hs, int64_t ws,
                                         int64_t i, int64_t j)
{
    double x, y;
    ct_image_unmoved(d, i, j, &x, &y);
    const double u = x * d->ratio_x + d->left, v = y * d->ratio_y + d->top;
    return u >= window[0] && u < window[2] && u >= 0 && u < (double)ws && v >= window[1] && v < window[3] && v >= 0 &&
           v < (double)hs;
}

/* Where point (u,v) of the source lies in the output: crop, resize, mirror, then the augmentation; the inverse of what
 * ct_image_locate does to the centre of an output pixel. It may lie outside. A NaN in u or v is one in both: the point
 * is absent. */
CT_HD static inline void ct_image_move(const ct_image_draw *d, double u, double v, double *x, double *y)
{
    if (isnan(u) || isnan(v)) {
        *x = *y = NAN;
        return;
    }
    *x = (u - d->left) / d->ratio_x;
    *y = (v - d->top) / d->ratio_y;
    if (d->mirrored) *x = 2 * d->cx - *x;
    if (!d->augmented) return;
    const double dx = *x - d->cx, dy = *y - d->cy, det = d->ixx * d->iyy - d->ixy * d->iyx;
    *x = d->cx + d->shift_x + (d->iyy * dx - d->ixy * dy) / det;
    *y = d->cy + d->shift_y + (d->ixx * dy - d->iyx * dx) / det;
}

/* Channel ch at point p of one source image [hs,ws,channels]; result in [0,255] (fill in [0,1]). */
CT_HD static inline double ct_image_fetch(const uint8_t *src, int64_t ws, int64_t channels, const ct_image_point *p,
                                          int64_t ch, double fill)
{
    double a = (double)src[(p->row0 * ws + p->col0) * channels + ch],
           b = (double)src[(p->row0 * ws + p->col1) * channels + ch];
    double c = (double)src[(p->row1 * ws + p->col0) * channels + ch],
           e = (double)src[(p->row1 * ws + p->col1) * channels + ch];
    double top = a + (b - a) * p->wc, bottom = c + (e - c) * p->wc;
    double v = top + (bottom - top) * p->wr;
    return p->cover < 1 ? v * p->cover + 255.0 * fill * (1 - p->cover) : v;
}

/* The random words that the normal numbers of elements 4*block .. 4*block+3 of a sample's [H,W,C] are made of. */
CT_HD static inline ct_philox ct_image_noise_words(const ct_image_draw *d, uint64_t block)
{
    return ct_philox4x32(d->seed, d->counter, CT_NOISE_FIRST_BLOCK * (1 + (uint64_t)d->frame) + block);
}

/* Standard normal numbers of these elements (Box-Muller). */
CT_HD static inline void ct_image_noise4(const ct_image_draw *d, uint64_t block, double out[4])
{
    ct_philox b = ct_image_noise_words(d, block);
    for (int i = 0; i < 4; i += 2) {
        double u = ((double)b.v[i] + 1.0) * (1.0 / 4294967296.0); /* (0,1]: its logarithm is finite */
        double turn = 6.283185307179586476925 * ((double)b.v[i + 1] * (1.0 / 4294967296.0));
        double r = sqrt(-2.0 * log(u));
        out[i] = r * cos(turn);
        out[i + 1] = r * sin(turn);
    }
}

/* Value v in [0,1] of channel ch -> value of x; that of padding is this of `fill`. */
CT_HD static inline double ct_image_normalise(const ct_image_attrs *a, double v, int64_t ch)
{
    /* chosen, not indexed: on a card an index would send the attributes through memory */
    double mean = ch == 0 ? a->mean[0] : ch == 1 ? a->mean[1] : a->mean[2];
    double stddev = ch == 0 ? a->std[0] : ch == 1 ? a->std[1] : a->std[2];
    return (v - mean) / stddev;
}

/* Value of channel ch after sampling and blur, in [0,255], and the element's normal number -> value of x. */
CT_HD static inline double ct_image_finish(const ct_image_attrs *a, const ct_image_draw *d, double v, double normal,
                                           int64_t ch)
{
    v /= 255.0;
    if (d->augmented) {
        v = (v - 0.5) * d->contrast + 0.5 + d->brightness + d->noise * normal;
        v = v < 0 ? 0 : v > 1 ? 1 : v;
    }
    return ct_image_normalise(a, v, ch);
}

#endif
