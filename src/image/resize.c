#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "image/image.h"

/* Weights in fixed point: 255 * 2^22 fits 31 bits, and integers give the same bits on every machine. */
#define WEIGHT_BITS 22

/* The filter of one output length: for output i the inputs first[i] .. first[i]+count[i]-1 with weight[i*taps + k]. */
typedef struct filter {
    int taps;          /* row length of weight */
    int *first, *count;
    int32_t *weight;
} filter;

static void filter_free(filter *f)
{
    ct_free(f->first);
    ct_free(f->count);
    ct_free(f->weight);
    *f = (filter){ 0 };
}

/* scale: input pixels per output pixel. */
static ct_status filter_make(int in, int out, double scale, filter *f)
{
    double radius = scale > 1.0 ? scale : 1.0;
    *f = (filter){ .taps = (int)ceil(2.0 * radius) + 1 };
    f->first = ct_calloc((size_t)out, sizeof *f->first, "resize filter");
    f->count = f->first ? ct_calloc((size_t)out, sizeof *f->count, "resize filter") : NULL;
    f->weight = f->count ? ct_calloc((size_t)out * (size_t)f->taps, sizeof *f->weight, "resize filter") : NULL;
    if (!f->weight) {
        filter_free(f);
        return CT_ENOMEM;
    }
    for (int i = 0; i < out; i++) {
        double centre = (i + 0.5) * scale; /* in input coordinates, where pixel j spans j .. j+1 */
        int lo = (int)floor(centre - radius + 0.5), hi = (int)ceil(centre + radius - 0.5);
        if (lo < 0) lo = 0;
        if (hi > in) hi = in;
        if (hi - lo > f->taps) hi = lo + f->taps;
        double sum = 0.0;
        for (int j = lo; j < hi; j++) sum += fmax(0.0, 1.0 - fabs(j + 0.5 - centre) / radius);
        f->first[i] = lo;
        f->count[i] = hi - lo;
        for (int j = lo; j < hi; j++) {
            double w = fmax(0.0, 1.0 - fabs(j + 0.5 - centre) / radius) / sum;
            f->weight[(size_t)i * (size_t)f->taps + (size_t)(j - lo)] = (int32_t)lround(w * (1 << WEIGHT_BITS));
        }
    }
    return CT_OK;
}

static inline uint8_t clamp_round(int64_t sum)
{
    sum = (sum + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* step_x, step_y: input pixels per output pixel. */
static ct_status resample(const ct_image *in, int w, int h, double step_x, double step_y, ct_image *out)
{
    ct_status st = CT_OK;
    filter fx = { 0 }, fy = { 0 };
    ct_image mid = { 0 }; /* [in.H, w, C] */
    int c = in->c;

    *out = (ct_image){ 0 };
    CT_TRY(ct_image_make(w, h, c, 0, out));
    if (w == in->w && h == in->h && step_x == 1 && step_y == 1) {
        memcpy(out->px, in->px, (size_t)w * (size_t)h * (size_t)c);
        return CT_OK;
    }
    CT_GOTO(st, ct_image_make(w, in->h, c, 0, &mid));
    CT_GOTO(st, filter_make(in->w, w, step_x, &fx));
    CT_GOTO(st, filter_make(in->h, h, step_y, &fy));

    for (int y = 0; y < in->h; y++) {
        const uint8_t *src = in->px + (size_t)y * (size_t)in->w * (size_t)c;
        uint8_t *dst = mid.px + (size_t)y * (size_t)w * (size_t)c;
        for (int x = 0; x < w; x++) {
            const int32_t *wt = fx.weight + (size_t)x * (size_t)fx.taps;
            for (int k = 0; k < c; k++) {
                const uint8_t *p = src + (size_t)fx.first[x] * (size_t)c + k;
                int64_t sum = 0;
                for (int j = 0; j < fx.count[x]; j++) sum += (int64_t)wt[j] * p[(size_t)j * (size_t)c];
                dst[(size_t)x * (size_t)c + (size_t)k] = clamp_round(sum);
            }
        }
    }
    size_t row = (size_t)w * (size_t)c;
    for (int y = 0; y < h; y++) {
        const int32_t *wt = fy.weight + (size_t)y * (size_t)fy.taps;
        const uint8_t *src = mid.px + (size_t)fy.first[y] * row;
        for (size_t x = 0; x < row; x++) {
            int64_t sum = 0;
            for (int j = 0; j < fy.count[y]; j++) sum += (int64_t)wt[j] * src[(size_t)j * row + x];
            out->px[(size_t)y * row + x] = clamp_round(sum);
        }
    }
fail:
    filter_free(&fx);
    filter_free(&fy);
    ct_image_free(&mid);
    if (st != CT_OK) ct_image_free(out);
    return st;
}

ct_status ct_image_resize_bilinear(const ct_image *in, int w, int h, ct_image *out)
{
    return resample(in, w, h, (double)in->w / w, (double)in->h / h, out);
}

ct_status ct_image_resize_scale(const ct_image *in, double scale, int w, int h, ct_image *out)
{
    return resample(in, w, h, 1 / scale, 1 / scale, out);
}
