/* libFuzzer target: any bytes as a picture. Must end in a picture within the limits or in an error with a message. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/status.h"
#include "image/image_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static uint32_t crc_of(const uint8_t *p, size_t n)
{
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

/* Chunks of a PNG stay whole: their checksums are made right, and mostly their lengths are, or no decoder would look
 * at what is in them. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max);
    if (size < 8 || memcmp(data, "\x89PNG\r\n\x1a\n", 8) != 0 || seed % 16 == 0) return size;
    for (size_t at = 8; at + 12 <= size;) {
        uint8_t *p = data + at;
        size_t n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        if (n > size - at - 12) {
            if (seed % 16 == 1) return size;
            n = size - at - 12; /* the last one takes what is left */
            for (int i = 0; i < 4; i++) p[i] = (uint8_t)(n >> (24 - 8 * i));
        }
        const uint32_t crc = crc_of(p + 4, n + 4);
        for (int i = 0; i < 4; i++) p[8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += 12 + n;
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ct_image_opts opts[2] = { { 1, { 255, 255, 255 } }, { 3, { 1, 2, 3 } } };
    ct_image im, small;
    int w, h;

    (void)ct_exif_orientation(data, size);
    ct_status peek = ct_image_peek_mem(data, size, "fuzz", &w, &h);
    if (peek == CT_OK && (long)w * h > 4000000) return 0; /* legal, but too slow to look at by the thousand */
    ct_status st = ct_image_read_mem(data, size, "fuzz", &opts[size & 1], &im);
    if (st != CT_OK) {
        if (ct_error_message()[0] == '\0' || im.px) abort();
        return 0;
    }
    if (peek != CT_OK || im.w != w || im.h != h || im.c != opts[size & 1].channels) abort();
    if (ct_image_resize_bilinear(&im, 1 + (int)(size % 40), 7, &small) == CT_OK) ct_image_free(&small);
    ct_image_free(&im);
    return 0;
}
