/* The least that a reader of pictures can do, as a yardstick: the decoder's library alone, the file in memory, rows
 * expanded to 8 bits and nothing else. */
#ifndef CT_TESTS_BARE_H
#define CT_TESTS_BARE_H

#include <stddef.h>
#include <stdint.h>

/* The picture of a PNG or JPEG file of `size` bytes into px (room for `room` bytes), *w x *h pixels. Returns bytes per
 * pixel, 1 to 4, or 0 if it fails. */
int bare_png(const uint8_t *data, size_t size, uint8_t *px, size_t room, int *w, int *h);
int bare_jpeg(const uint8_t *data, size_t size, uint8_t *px, size_t room, int *w, int *h);

#endif
