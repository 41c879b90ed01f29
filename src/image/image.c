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
