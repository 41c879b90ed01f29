/* Pictures: decoding of PNG, JPEG, BMP and WebP into 8-bit pixels, gray conversion, resizing, PNG and JPEG writing.
 *
 * The rules, stated once (doc/formats repeats them):
 *   - The format is found by the first bytes of the file, never by the name's extension.
 *   - Sizes: each side 1..CT_IMAGE_MAX_SIDE, at most CT_IMAGE_MAX_PIXELS pixels; more is an error before any
 *     pixel memory is allocated.
 *   - Damage (truncation, bad checksum, anything libpng or libjpeg calls a warning about image data) is an error.
 *   - 16-bit samples become 8-bit ones by rounding v * 255 / 65535. Gray of 1, 2, 4 bits is scaled to 0..255.
 *   - Alpha (channel or tRNS) is composited over the background colour in the stored (non-linear) values:
 *     out = (a * v + (255 - a) * background + 127) / 255.
 *   - Gray: Y = 0.299 R + 0.587 G + 0.114 B, rounded to nearest, in 16-bit fixed point (19595, 38470, 7471) / 65536:
 *     the same bits as Pillow's convert("L"). R = G = B = v gives v.
 *   - JPEG: gray, YCbCr, RGB, CMYK and YCCK (Adobe's inverted form when the Adobe marker is present); R = C*K/255 etc.
 *     The EXIF orientation (1..8) is applied. Colour profiles and PNG gamma are ignored.
 *   - BMP: uncompressed, 1 to 32 bits a pixel. WebP: where captrain was built with libwebp, no animations. */
#ifndef CT_IMAGE_IMAGE_H
#define CT_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CT_IMAGE_MAX_SIDE 32767            /* pixels */
#define CT_IMAGE_MAX_PIXELS (64L << 20)    /* pixels: width * height */
#define CT_IMAGE_MAX_FILE (256UL << 20)    /* bytes of a file */

/* Pixels [H,W,C], uint8, interleaved, rows without padding. c is 1 (gray) or 3 (RGB). `px` is owned (ct_free). */
typedef struct ct_image {
    int w, h, c;
    uint8_t *px;
} ct_image;

/* How to decode. channels: 1 gray, 3 RGB, 0 whichever the file holds (gray files give 1, all others 3). */
typedef struct ct_image_opts {
    int channels;
    uint8_t background[3]; /* RGB under transparent pixels */
} ct_image_opts;

#define CT_IMAGE_OPTS_DEFAULT { 0, { 255, 255, 255 } }

/* True if the first bytes are those of a PNG, JPEG, BMP or WebP. `name` (may be NULL) gets "PNG", "JPEG", "BMP", "WebP"
 * or, for formats that are recognised but not read, "GIF", "TIFF" (with result false), else NULL. */
int ct_image_sniff(const uint8_t *data, size_t size, const char **name);
bool ct_webp_there(void); /* was captrain built with libwebp? */

/* Decodes a picture. opts NULL means CT_IMAGE_OPTS_DEFAULT. `name` stands in messages. On failure *out is empty.
 * Errors: CT_EIO (cannot be read), CT_EFORMAT (in no format that is read, damaged, too large), CT_ENOMEM. */
ct_status ct_image_read_file(const char *path, const ct_image_opts *opts, ct_image *out);
ct_status ct_image_read_mem(const uint8_t *data, size_t size, const char *name, const ct_image_opts *opts,
                            ct_image *out);

/* Pixels in memory: c bytes each (1 gray, 3 RGB, 4 RGBA), rows `stride` bytes apart (0: without a gap), all within `bytes`. */
typedef struct ct_pixel_block {
    const uint8_t *px;
    size_t bytes, stride;
    int w, h, c;
} ct_pixel_block;
/* A picture of them, as the decoders make theirs. CT_EINVAL: sizes that have no meaning, rows that overlap or end behind the bytes.
 * CT_ENOMEM. */
ct_status ct_image_read_pixels(const char *name, const ct_pixel_block *p, const ct_image_opts *opts, ct_image *out);

/* The size of a picture from its header alone, orientation applied; nothing is decoded. */
ct_status ct_image_peek_mem(const uint8_t *data, size_t size, const char *name, int *w, int *h);

/* A new picture of w x h x c (c 1 or 3), all bytes `fill`. */
ct_status ct_image_make(int w, int h, int c, uint8_t fill, ct_image *out);

/* Releases the pixels and empties the struct; an empty or NULL picture is fine. */
void ct_image_free(ct_image *im);

/* RGB -> gray by the rule above, in place (a gray picture stays as it is). Cannot fail. */
void ct_image_to_gray(ct_image *im);

/* `in` resampled to w x h, in a new picture. Triangle filter with half-pixel centres: output pixel i looks at input
 * coordinate (i + 0.5) * in/out - 0.5; enlarging is plain bilinear, shrinking widens the triangle by in/out
 * (antialiased, what Pillow calls BILINEAR). Edges: weights outside the picture are dropped and the rest normalised.
 * Separable, horizontal first, 8-bit result of each pass rounded to nearest. The aspect ratio is not kept.
 * Equal size gives a copy. */
ct_status ct_image_resize_bilinear(const ct_image *in, int w, int h, ct_image *out);

/* The same with one scale for both sides, output pixels per input pixel, whatever w and h are: output pixel i looks at
 * (i + 0.5) / scale - 0.5. w and h should be the sides times scale, rounded. */
ct_status ct_image_resize_scale(const ct_image *in, double scale, int w, int h, ct_image *out);

/* PNG of 8-bit gray or RGB, written atomically. */
ct_status ct_image_write_png(const char *path, const ct_image *im);
/* The same into memory: *data (ct_free), *size bytes. */
ct_status ct_image_encode_png(const ct_image *im, uint8_t **data, size_t *size);
/* For files by the thousand: px [h,w,c] with c 1, 3 or 4 (RGBA), written several times as fast into a somewhat larger
 * file. */
ct_status ct_image_encode_png_fast(const uint8_t *px, int w, int h, int c, uint8_t **data, size_t *size);

/* Baseline JPEG of 8-bit gray or RGB (stored as YCbCr with colours at full resolution), quality 1..100, into memory:
 * *data (ct_free), *size bytes, a function of pixels and quality. CT_EINVAL, CT_ENOMEM. */
ct_status ct_image_encode_jpeg(const ct_image *im, int quality, uint8_t **data, size_t *size);
/* The same written atomically. */
ct_status ct_image_write_jpeg(const char *path, const ct_image *im, int quality);

#endif
