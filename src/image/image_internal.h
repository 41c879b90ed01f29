/* What the files of this room share: pixels.c stands below the two decoders, image.c above them. */
#ifndef CT_IMAGE_IMAGE_INTERNAL_H
#define CT_IMAGE_IMAGE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "image/image.h"

/* Pixels as a decoder delivers them: [H,W,C] uint8 with c = 1 gray, 2 gray + alpha, 3 RGB, 4 RGBA. */
typedef struct ct_raw {
    int w, h, c;
    uint8_t *px; /* owned */
} ct_raw;

/* Checks the sides and the pixel count against the limits of image.h; CT_EFORMAT. */
ct_status ct_image_check_size(const char *name, uint64_t w, uint64_t h);

/* Composites over opts->background, converts to the wanted channels. Takes the pixels of `raw` over, also on failure. */
ct_status ct_raw_finish(ct_raw *raw, const ct_image_opts *opts, ct_image *out);

/* peek: only w and h are filled in, and nothing is allocated for pixels. JPEG: orientation is applied in both cases. */
ct_status ct_png_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out);
ct_status ct_jpeg_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out);
ct_status ct_bmp_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out);
ct_status ct_webp_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out);

/* The orientation (1..8) in an EXIF APP1 segment of `size` bytes that starts at "Exif\0\0"; 1 if there is none or the
 * segment is malformed. Reads inside the segment only. */
int ct_exif_orientation(const uint8_t *seg, size_t size);

#endif
