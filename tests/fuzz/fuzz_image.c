/* libFuzzer target: any bytes as a picture. Must end in a picture within the limits or in an error with a message. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "image/image_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
