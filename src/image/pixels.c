/* Pixels of a picture: limits, making, gray, compositing. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "image/image_internal.h"

void ct_image_free(ct_image *im)
{
    if (!im) return;
    ct_free(im->px);
    *im = (ct_image){ 0 };
}

ct_status ct_image_check_size(const char *name, uint64_t w, uint64_t h)
{
    if (w == 0 || h == 0) return ct_fail(CT_EFORMAT, "%s: picture without pixels", name);
    if (w > CT_IMAGE_MAX_SIDE || h > CT_IMAGE_MAX_SIDE || w * h > (uint64_t)CT_IMAGE_MAX_PIXELS) {
        return ct_fail(CT_EFORMAT, "%s: %llux%llu pixels is too large (limit: %d a side, %ld in all)", name,
                       (unsigned long long)w, (unsigned long long)h, CT_IMAGE_MAX_SIDE, CT_IMAGE_MAX_PIXELS);
    }
    return CT_OK;
}

ct_status ct_image_make(int w, int h, int c, uint8_t fill, ct_image *out)
{
    *out = (ct_image){ 0 };
    if (w < 1 || h < 1 || (c != 1 && c != 3)) return ct_fail(CT_EINVAL, "no picture of %dx%dx%d", w, h, c);
    CT_TRY(ct_image_check_size("new picture", (uint64_t)w, (uint64_t)h));
    size_t bytes = (size_t)w * (size_t)h * (size_t)c;
    uint8_t *px = ct_malloc(bytes, "picture");
    if (!px) return CT_ENOMEM;
    memset(px, fill, bytes);
    *out = (ct_image){ .w = w, .h = h, .c = c, .px = px };
    return CT_OK;
}

static inline uint8_t gray_of(const uint8_t *rgb)
{
    /* Weights of 0.299, 0.587, 0.114 in units of 1/65536; they sum to 65536, so R = G = B is unchanged. */
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

static void shrink(ct_image *im)
{
    /* A smaller block is a courtesy: if it cannot be had, the old one serves. Small ones are not worth a copy. */
    size_t bytes = (size_t)im->w * (size_t)im->h * (size_t)im->c;
    if (bytes < (1u << 20)) return;
    uint8_t *px = ct_realloc(im->px, bytes, 1, "picture");
    if (px) im->px = px;
}

void ct_image_to_gray(ct_image *im)
{
    if (im->c != 3) return;
    size_t n = (size_t)im->w * (size_t)im->h;
    for (size_t i = 0; i < n; i++) im->px[i] = gray_of(im->px + 3 * i);
    im->c = 1;
    shrink(im);
}

static inline uint8_t over(unsigned v, unsigned a, unsigned bg)
{
    return (uint8_t)((a * v + (255u - a) * bg + 127u) / 255u);
}

ct_status ct_raw_finish(ct_raw *raw, const ct_image_opts *opts, ct_image *out)
{
    size_t n = (size_t)raw->w * (size_t)raw->h;
    const uint8_t *bg = opts->background;
    uint8_t *px = raw->px;
    bool gray_bg = bg[0] == bg[1] && bg[1] == bg[2];
    bool grow = false; /* one channel in, three out: needs a larger block */

    if (raw->c == 4) {
        for (size_t i = 0; i < n; i++) {
            unsigned a = px[4 * i + 3];
            for (int k = 0; k < 3; k++) px[3 * i + k] = over(px[4 * i + k], a, bg[k]);
        }
        raw->c = 3;
    } else if (raw->c == 2 && gray_bg) {
        for (size_t i = 0; i < n; i++) px[i] = over(px[2 * i], px[2 * i + 1], bg[0]);
        raw->c = 1;
    }
    grow = raw->c == 2 || (raw->c == 1 && opts->channels == 3);
    if (grow) {
        uint8_t *rgb = ct_malloc(3 * n, "picture");
        if (!rgb) {
            ct_free(raw->px);
            *raw = (ct_raw){ 0 };
            return CT_ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
            for (int k = 0; k < 3; k++) {
                rgb[3 * i + k] = raw->c == 2 ? over(px[2 * i], px[2 * i + 1], bg[k]) : px[i];
            }
        }
        ct_free(raw->px);
        raw->px = rgb;
        raw->c = 3;
    }
    *out = (ct_image){ .w = raw->w, .h = raw->h, .c = raw->c, .px = raw->px };
    *raw = (ct_raw){ 0 };
    if (opts->channels == 1) ct_image_to_gray(out);
    else shrink(out);
    return CT_OK;
}
