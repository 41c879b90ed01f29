/* The geometry of a data set: which size a picture gets, and bringing it there. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "data/build.h"

ct_pack_shape ct_fit_shape(const ct_dataset_spec *s)
{
    int step = s->size_rule == CT_SIZE_FIT_HEIGHT ? s->width_step : 0;
    return (ct_pack_shape){ .h = s->height, .w = s->width, .c = s->channels, .step = step,
                            .files = s->keep == CT_KEEP_FILES };
}

int ct_fit_width(const ct_dataset_spec *s, int w, int h)
{
    if (s->size_rule != CT_SIZE_FIT_HEIGHT) return s->width;
    int64_t fit = (2 * (int64_t)w * s->height + h) / (2 * (int64_t)h);
    if (fit < s->min_width) fit = s->min_width;
    return fit < s->width ? (int)fit : s->width;
}

int ct_fit_bucket(const ct_dataset_spec *s, int width)
{
    ct_pack_shape shape = ct_fit_shape(s);
    return ct_pack_width(&shape, width);
}

/* Pixels of a side of so many pixels in parts. */
static int64_t side(double pixels)
{
    const int64_t n = llround(pixels);
    return n < 1 ? 1 : n;
}

/* A picture of background. */
static ct_status ground(const ct_dataset_spec *s, int w, int h, int c, ct_image *out)
{
    uint8_t color[3];
    ct_image one = { 1, 1, 3, color };
    memcpy(color, s->background, sizeof color);
    if (c == 1) ct_image_to_gray(&one);
    CT_TRY(ct_image_make(w, h, c, color[0], out));
    const size_t n = (size_t)w * (size_t)h;
    for (size_t i = 0; c == 3 && i < n; i++) memcpy(out->px + 3 * i, color, 3);
    return CT_OK;
}

static ct_status replicate_gray(ct_image *im)
{
    ct_image rgb;
    CT_TRY(ct_image_make(im->w, im->h, 3, 0, &rgb));
    size_t n = (size_t)im->w * (size_t)im->h;
    for (size_t i = 0; i < n; i++) memset(rgb.px + 3 * i, im->px[i], 3);
    ct_image_free(im);
    *im = rgb;
    return CT_OK;
}

void ct_fit_of(const ct_dataset_spec *s, int w, int h, ct_fit *out)
{
    *out = (ct_fit){ .scale = { 1, 1 }, .window = { 0, 0, (float)s->width, (float)s->height } };
    if (w < 1 || h < 1) return;
    if (s->size_rule == CT_SIZE_LETTERBOX) {
        const double x = (double)s->width / w, y = (double)s->height / h, scale = x < y ? x : y;
        const int64_t nw = side(scale * w), nh = side(scale * h);
        const int64_t left = (s->width - nw) / 2, top = (s->height - nh) / 2;
        *out = (ct_fit){ .scale = { scale, scale }, .shift = { (double)left, (double)top },
                         .window = { (float)left, (float)top, (float)(left + nw), (float)(top + nh) } };
        return;
    }
    const int width = ct_fit_width(s, w, h);
    out->scale[0] = (double)width / w;
    out->scale[1] = (double)s->height / h;
    out->window[2] = (float)width;
}

ct_status ct_fit_check(const ct_dataset_spec *s, const char *name, int w, int h)
{
    if (s->size_rule == CT_SIZE_REFUSE && (w != s->width || h != s->height))
        return ct_fail(CT_EDATA, "%s: the picture is %dx%d, %dx%d is expected (size rule: refuse)", name, w, h,
                       s->width, s->height);
    if (s->size_rule != CT_SIZE_LETTERBOX) return CT_OK;
    ct_fit fit;
    ct_fit_of(s, w, h, &fit);
    const int nw = (int)(fit.window[2] - fit.window[0]), nh = (int)(fit.window[3] - fit.window[1]);
    if (nw >= s->min_side && nh >= s->min_side) return CT_OK;
    return ct_fail(CT_EDATA, "%s: of %dx%d pixels %dx%d would be left in %dx%d, which is too thin to be read (least "
                   "side: %d)", name, w, h, nw, nh, s->width, s->height, s->min_side);
}

/* Resized by the factor of a letterbox, in the middle of the background. */
static ct_status letterbox(const ct_dataset_spec *s, ct_image *im)
{
    ct_fit fit;
    ct_image small, out;
    ct_fit_of(s, im->w, im->h, &fit);
    const int left = (int)fit.window[0], top = (int)fit.window[1];
    const int w = (int)fit.window[2] - left, h = (int)fit.window[3] - top;
    CT_TRY(ct_image_resize_scale(im, fit.scale[0], w, h, &small));
    ct_status st = ground(s, s->width, s->height, im->c, &out);
    if (st == CT_OK) {
        const size_t c = (size_t)im->c, row = (size_t)w * c, to = (size_t)s->width * c;
        for (int y = 0; y < h; y++)
            memcpy(out.px + (size_t)(top + y) * to + (size_t)left * c, small.px + (size_t)y * row, row);
        ct_image_free(im);
        *im = out;
    }
    ct_image_free(&small);
    return st;
}

/* Adds columns of background at the right. */
static ct_status pad(const ct_dataset_spec *s, int width, ct_image *im)
{
    ct_image out;
    CT_TRY(ground(s, width, im->h, im->c, &out));
    size_t c = (size_t)im->c, from = (size_t)im->w * c, to = (size_t)width * c;
    for (int y = 0; y < im->h; y++) memcpy(out.px + (size_t)y * to, im->px + (size_t)y * from, from);
    ct_image_free(im);
    *im = out;
    return CT_OK;
}

ct_status ct_fit_image(const ct_dataset_spec *spec, const char *name, ct_image *im, int *width)
{
    int w = ct_fit_width(spec, im->w, im->h), bucket = ct_fit_bucket(spec, w);
    if (width) *width = w;
    if (spec->channels == 1) ct_image_to_gray(im);
    CT_TRY(ct_fit_check(spec, name, im->w, im->h));
    if (spec->size_rule == CT_SIZE_LETTERBOX) {
        CT_TRY(letterbox(spec, im));
        return im->c == spec->channels ? CT_OK : replicate_gray(im);
    }
    if (im->w != w || im->h != spec->height) {
        ct_image fitted;
        CT_TRY(ct_image_resize_bilinear(im, w, spec->height, &fitted));
        ct_image_free(im);
        *im = fitted;
    }
    if (im->c != spec->channels) CT_TRY(replicate_gray(im));
    return bucket > w ? pad(spec, bucket, im) : CT_OK;
}
