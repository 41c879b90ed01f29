/* Whole files: what format they have, reading, writing. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/image_internal.h"

static const ct_image_opts default_opts = CT_IMAGE_OPTS_DEFAULT;

static bool starts(const uint8_t *d, size_t size, const char *magic, size_t n)
{
    return size >= n && memcmp(d, magic, n) == 0;
}

typedef ct_status decoder(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out);

/* What a file begins with; `mark` stands `at` bytes behind the beginning. decode NULL: known, but not read. */
static const struct format {
    const char *name, *magic;
    size_t bytes;
    const char *mark;
    size_t at, least;
    decoder *decode;
} formats[] = {
    { "PNG", "\x89PNG\r\n\x1a\n", 8, "", 0, 8, ct_png_decode },
    { "JPEG", "\xff\xd8\xff", 3, "", 0, 3, ct_jpeg_decode },
    { "GIF", "GIF8", 4, "", 0, 4, NULL },
    { "WebP", "RIFF", 4, "WEBP", 8, 12, ct_webp_decode },
    { "TIFF", "II*\0", 4, "", 0, 4, NULL },
    { "TIFF", "MM\0*", 4, "", 0, 4, NULL },
    { "BMP", "BM", 2, "", 0, 26, ct_bmp_decode },
};

static const struct format *format_of(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *f = &formats[i];
        if (size >= f->least && starts(data, size, f->magic, f->bytes) &&
            memcmp(data + f->at, f->mark, strlen(f->mark)) == 0)
            return f;
    }
    return NULL;
}

int ct_image_sniff(const uint8_t *data, size_t size, const char **name)
{
    const struct format *f = format_of(data, size);
    if (name) *name = f ? f->name : NULL;
    return f && f->decode;
}

static ct_status decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *raw)
{
    const struct format *f = format_of(data, size);
    *raw = (ct_raw){ 0 };
    if (size == 0) return ct_fail(CT_EFORMAT, "%s: empty file", name);
    if (!f) return ct_fail(CT_EFORMAT, "%s: none of PNG, JPEG, BMP and WebP", name);
    if (!f->decode) return ct_fail(CT_EFORMAT, "%s: a %s file; PNG, JPEG, BMP and WebP are read", name, f->name);
    return f->decode(data, size, name, peek, raw);
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
    return ct_raw_finish(&raw, opts, out);
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
