/* The geometry of a data set: which size a picture gets, and bringing it there. */
#include "config.h"

#include <string.h>

#include "data/build.h"

ct_pack_shape ct_fit_shape(const ct_dataset_spec *s)
{
    int step = s->size_rule == CT_SIZE_FIT_HEIGHT ? s->width_step : 0;
    return (ct_pack_shape){ .h = s->height, .w = s->width, .c = s->channels, .step = step };
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

/* Adds columns of background at the right. */
static ct_status pad(const ct_dataset_spec *s, int width, ct_image *im)
{
    uint8_t color[3];
    ct_image one = { 1, 1, 3, color }, out;
    memcpy(color, s->background, sizeof color);
    if (im->c == 1) ct_image_to_gray(&one);
    CT_TRY(ct_image_make(width, im->h, im->c, color[0], &out));
    size_t c = (size_t)im->c, from = (size_t)im->w * c, to = (size_t)width * c;
    for (int y = 0; y < im->h; y++) {
        uint8_t *row = out.px + (size_t)y * to;
        memcpy(row, im->px + (size_t)y * from, from);
        for (size_t x = from; c == 3 && x < to; x++) row[x] = color[x % 3];
    }
    ct_image_free(im);
    *im = out;
    return CT_OK;
}

ct_status ct_fit_image(const ct_dataset_spec *spec, const char *name, ct_image *im, int *width)
{
    int w = ct_fit_width(spec, im->w, im->h), bucket = ct_fit_bucket(spec, w);
    if (width) *width = w;
    if (spec->channels == 1) ct_image_to_gray(im);
    if (im->w != w || im->h != spec->height) {
        ct_image fitted;
        if (spec->size_rule == CT_SIZE_REFUSE) {
            return ct_fail(CT_EDATA, "%s: the picture is %dx%d, %dx%d is expected (size rule: refuse)", name, im->w,
                           im->h, spec->width, spec->height);
        }
        CT_TRY(ct_image_resize_bilinear(im, w, spec->height, &fitted));
        ct_image_free(im);
        *im = fitted;
    }
    if (im->c != spec->channels) CT_TRY(replicate_gray(im));
    return bucket > w ? pad(spec, bucket, im) : CT_OK;
}
