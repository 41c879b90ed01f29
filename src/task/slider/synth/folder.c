/* Backgrounds from pictures of a folder: decoded once, then cut and scaled. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "task/slider/synth/internal.h"

/* Shrinks a picture whose longer side has more than `keep` pixels, so that a folder of photographs fits into memory. */
static ct_status shrink(ct_image *im, int keep)
{
    const int side = im->w > im->h ? im->w : im->h;
    ct_image small;
    if (side <= keep) return CT_OK;
    const int w = im->w * (int64_t)keep / side > 0 ? (int)(im->w * (int64_t)keep / side) : 1;
    const int h = im->h * (int64_t)keep / side > 0 ? (int)(im->h * (int64_t)keep / side) : 1;
    CT_TRY(ct_image_resize_bilinear(im, w, h, &small));
    ct_image_free(im);
    *im = small;
    return CT_OK;
}

/* Over names' order, sizes and pixels. CT_ENOMEM. */
static ct_status hash_all(ct_folder *f)
{
    const size_t each = 64;
    char *text = ct_calloc((size_t)f->n, each, "backgrounds");
    if (!text) return CT_ENOMEM;
    for (int64_t i = 0; i < f->n; i++) {
        const ct_image *im = &f->im[i];
        char hash[33];
        ct_hash_hex(im->px, (size_t)im->w * (size_t)im->h * 3, hash);
        snprintf(text + (size_t)i * each, each, "%dx%d %s", im->w, im->h, hash);
    }
    ct_hash_hex(text, (size_t)f->n * each, f->hash);
    ct_free(text);
    return CT_OK;
}

ct_status ct_folder_open(const char *dir, int keep, ct_folder *out)
{
    ct_status st = CT_OK;
    char **path = NULL;
    size_t n = 0;
    const ct_image_opts opts = { 3, { 255, 255, 255 } };
    *out = (ct_folder){ 0 };
    CT_TRY(ct_scan_pictures(dir, &path, &n));
    out->im = ct_calloc(n, sizeof *out->im, "backgrounds");
    if (!out->im) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (; (size_t)out->n < n; out->n++) {
        CT_GOTO(st, ct_image_read_file(path[out->n], &opts, &out->im[out->n]));
        CT_GOTO(st, shrink(&out->im[out->n], keep));
    }
    st = hash_all(out);
fail:
    for (size_t i = 0; i < n; i++) ct_free(path[i]);
    ct_free(path);
    if (st != CT_OK) ct_folder_close(out);
    return st;
}

void ct_folder_close(ct_folder *f)
{
    if (!f) return;
    for (int64_t i = 0; i < f->n; i++) ct_image_free(&f->im[i]);
    ct_free(f->im);
    *f = (ct_folder){ 0 };
}

/* A part with the picture's proportions, at least half as large as can be, perhaps mirrored. */
ct_status ct_folder_cut(const ct_folder *f, int64_t i, ct_rng *r, int w, int h, ct_image *out)
{
    const ct_image *im = &f->im[i];
    const double most = fmin((double)im->w / w, (double)im->h / h), scale = most * ct_rng_uniform(r, 0.5, 1);
    const int cw = (int)fmax(1, fmin(im->w, rint(w * scale))), ch = (int)fmax(1, fmin(im->h, rint(h * scale)));
    const int x0 = (int)ct_rng_below(r, (uint32_t)(im->w - cw) + 1);
    const int y0 = (int)ct_rng_below(r, (uint32_t)(im->h - ch) + 1);
    const bool mirror = ct_chance(r, 0.5);
    ct_image part;
    CT_TRY(ct_image_make(cw, ch, 3, 0, &part));
    for (int y = 0; y < ch; y++) {
        const uint8_t *from = im->px + ((size_t)(y0 + y) * (size_t)im->w + (size_t)x0) * 3;
        uint8_t *to = part.px + (size_t)y * (size_t)cw * 3;
        if (!mirror) {
            memcpy(to, from, (size_t)cw * 3);
            continue;
        }
        for (int x = 0; x < cw; x++) memcpy(to + 3 * (size_t)x, from + 3 * (size_t)(cw - 1 - x), 3);
    }
    ct_status st = ct_image_resize_bilinear(&part, w, h, out);
    ct_image_free(&part);
    return st;
}
