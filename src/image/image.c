#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/image_internal.h"

static const ct_image_opts default_opts = CT_IMAGE_OPTS_DEFAULT;

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

/* Composites, converts to the wanted channels. Takes the pixels of `raw` over, also on failure. */
static ct_status finish(ct_raw *raw, const ct_image_opts *opts, ct_image *out)
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

static bool starts(const uint8_t *d, size_t size, const char *magic, size_t n)
{
    return size >= n && memcmp(d, magic, n) == 0;
}

int ct_image_sniff(const uint8_t *data, size_t size, const char **name)
{
    const char *found = NULL;
    int ok = 0;
    if (starts(data, size, "\x89PNG\r\n\x1a\n", 8)) {
        found = "PNG";
        ok = 1;
    } else if (starts(data, size, "\xff\xd8\xff", 3)) {
        found = "JPEG";
        ok = 1;
    } else if (starts(data, size, "GIF8", 4)) {
        found = "GIF";
    } else if (starts(data, size, "RIFF", 4) && size >= 12 && memcmp(data + 8, "WEBP", 4) == 0) {
        found = "WebP";
    } else if (starts(data, size, "II*\0", 4) || starts(data, size, "MM\0*", 4)) {
        found = "TIFF";
    } else if (starts(data, size, "BM", 2) && size >= 26) {
        found = "BMP";
    }
    if (name) *name = found;
    return ok;
}

static ct_status decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *raw)
{
    const char *format;
    *raw = (ct_raw){ 0 };
    if (size == 0) return ct_fail(CT_EFORMAT, "%s: empty file", name);
    if (!ct_image_sniff(data, size, &format)) {
        if (format) return ct_fail(CT_EFORMAT, "%s: a %s file; only PNG and JPEG are read", name, format);
        return ct_fail(CT_EFORMAT, "%s: neither PNG nor JPEG", name);
    }
    return format[0] == 'P' ? ct_png_decode(data, size, name, peek, raw) : ct_jpeg_decode(data, size, name, peek, raw);
}

ct_status ct_image_read_mem(const uint8_t *data, size_t size, const char *name, const ct_image_opts *opts,
                            ct_image *out)
{
    ct_raw raw;
    *out = (ct_image){ 0 };
    if (!opts) opts = &default_opts;
    if (opts->channels != 0 && opts->channels != 1 && opts->channels != 3) {
        return ct_fail(CT_EINVAL, "pictures have 1 or 3 channels, not %d", opts->channels);
    }
    CT_TRY(decode(data, size, name, 0, &raw));
    return finish(&raw, opts, out);
}

ct_status ct_image_peek_mem(const uint8_t *data, size_t size, const char *name, int *w, int *h)
{
    ct_raw raw;
    CT_TRY(decode(data, size, name, 1, &raw));
    *w = raw.w;
    *h = raw.h;
    return CT_OK;
}

ct_status ct_image_read_file(const char *path, const ct_image_opts *opts, ct_image *out)
{
    uint8_t *data = NULL;
    size_t size = 0;
    *out = (ct_image){ 0 };
    CT_TRY(ct_file_read(path, CT_IMAGE_MAX_FILE, &data, &size));
    ct_status st = ct_image_read_mem(data, size, path, opts, out);
    ct_free(data);
    return st;
}

ct_status ct_image_write_png(const char *path, const ct_image *im)
{
    uint8_t *data = NULL;
    size_t size = 0;
    ct_status st = ct_image_encode_png(im, &data, &size);
    if (st != CT_OK) return ct_fail_context(st, "%s", path);
    st = ct_file_write_atomic(path, data, size);
    ct_free(data);
    return st;
}
