/* Bare libpng: one png_struct per picture, since libpng has no way to reuse one. Bare libjpeg: one decompressor for all
 * pictures, colours in RGB, the exact transform (JDCT_ISLOW), which ct_image_read_mem() asks for, too. */
#include "tests/bench/bare.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <string.h>

#include <jpeglib.h>

typedef struct source {
    const uint8_t *data;
    size_t size, at;
} source;

static void on_read(png_structp png, png_bytep out, size_t n)
{
    source *s = png_get_io_ptr(png);
    if (n > s->size - s->at) png_error(png, "too short");
    memcpy(out, s->data + s->at, n);
    s->at += n;
}

int bare_png(const uint8_t *data, size_t size, uint8_t *px, size_t room, int *w, int *h)
{
    source s = { .data = data, .size = size };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    volatile int channels = 0;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return 0;
    }
    png_set_read_fn(png, &s, on_read);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_scale_16(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    *w = (int)png_get_image_width(png, info);
    *h = (int)png_get_image_height(png, info);
    size_t row = png_get_rowbytes(png, info);
    if (row * (size_t)*h > room) png_error(png, "too large");
    for (int p = 0; p < passes; p++)
        for (int y = 0; y < *h; y++) png_read_row(png, px + row * (size_t)y, NULL);
    png_read_end(png, NULL);
    channels = png_get_channels(png, info);
    png_destroy_read_struct(&png, &info, NULL);
    return channels;
}

static jmp_buf gave_up;

static void on_error(j_common_ptr c)
{
    (void)c;
    longjmp(gave_up, 1);
}

int bare_jpeg(const uint8_t *data, size_t size, uint8_t *px, size_t room, int *w, int *h)
{
    static struct jpeg_decompress_struct d;
    static struct jpeg_error_mgr err;
    static bool made;
    if (!made) {
        d.err = jpeg_std_error(&err);
        err.error_exit = on_error;
        jpeg_create_decompress(&d);
        made = true;
    }
    if (setjmp(gave_up)) {
        jpeg_abort_decompress(&d);
        return 0;
    }
    jpeg_mem_src(&d, data, size);
    jpeg_read_header(&d, TRUE);
    if (d.out_color_space != JCS_GRAYSCALE) d.out_color_space = JCS_RGB;
    d.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&d);
    *w = (int)d.output_width;
    *h = (int)d.output_height;
    const size_t row = (size_t)d.output_width * (size_t)d.output_components;
    if (row * d.output_height > room) on_error((j_common_ptr)&d);
    while (d.output_scanline < d.output_height) {
        JSAMPROW p = px + row * d.output_scanline;
        jpeg_read_scanlines(&d, &p, 1);
    }
    const int channels = d.output_components;
    jpeg_finish_decompress(&d);
    return channels;
}
