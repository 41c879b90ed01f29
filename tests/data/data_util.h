/* What the tests of src/data and src/synth share: temporary folders, picture files of every kind. */
#ifndef CT_TESTS_DATA_UTIL_H
#define CT_TESTS_DATA_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include "image/image.h"

/* A new temporary folder; ct_util_remove() deletes it with all it holds. Freed by ct_util_remove. */
char *ct_util_tempdir(void);
void ct_util_remove(char *dir);

void ct_util_write(const char *dir, const char *name, const void *data, size_t size);
void ct_util_text(const char *dir, const char *name, const char *text);
/* "dir/name" in one of eight static buffers. */
const char *ct_util_path(const char *dir, const char *name);

/* Files in memory, malloc()ed. */
typedef struct ct_blob { uint8_t *data; size_t size; } ct_blob;

/* A PNG of any kind. rows: [h] packed rows as libpng takes them (16-bit big endian). palette [3*n_palette] for PNG
 * colour type 3; trns: n_trns alphas of a palette; for gray or RGB n_trns is 1 or 3, the transparent sample values. */
typedef struct ct_png_kind {
    int w, h, depth, color, interlace;
    const uint8_t *palette;
    int n_palette;
    const uint16_t *trns;
    int n_trns;
} ct_png_kind;
ct_blob ct_util_png(const ct_png_kind *k, uint8_t *const *rows);

/* A JPEG. space: 1 gray, 3 RGB (stored as YCbCr), 4 CMYK. exif 1..8 adds an orientation, big says its byte order. */
typedef struct ct_jpeg_kind {
    int w, h, space, quality;
    int progressive, adobe, subsample;
    int exif, big;
} ct_jpeg_kind;
ct_blob ct_util_jpeg(const ct_jpeg_kind *k, const uint8_t *px);

/* Writes an RGB PNG of w x h whose pixels are a function of `seed`. */
void ct_util_picture(const char *dir, const char *name, int w, int h, unsigned seed);

#endif
