#include "config.h"

#include <ftw.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

#include "base/alloc.h"
#include "tests/data/data_util.h"

static void must(int ok, const char *what)
{
    if (ok) return;
    perror(what);
    abort();
}

char *ct_util_tempdir(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = malloc(4096);
    must(dir != NULL, "malloc");
    snprintf(dir, 4096, "%s/ct_test_XXXXXX", base && base[0] ? base : "/tmp");
    must(mkdtemp(dir) != NULL, dir);
    return dir;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
    (void)s;
    (void)kind;
    (void)f;
    return remove(path);
}

void ct_util_remove(char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

const char *ct_util_path(const char *dir, const char *name)
{
    static char buf[8][4096];
    static int next = 0;
    char *b = buf[next++ % 8];
    snprintf(b, sizeof buf[0], "%s/%s", dir, name);
    return b;
}

void ct_util_write(const char *dir, const char *name, const void *data, size_t size)
{
    FILE *f = fopen(ct_util_path(dir, name), "wb");
    must(f != NULL, name);
    must(size == 0 || fwrite(data, 1, size, f) == size, name);
    must(fclose(f) == 0, name);
}

void ct_util_text(const char *dir, const char *name, const char *text)
{
    ct_util_write(dir, name, text, strlen(text));
}

static void on_write(png_structp png, png_bytep data, size_t n)
{
    ct_blob *b = png_get_io_ptr(png);
    b->data = realloc(b->data, b->size + n);
    must(b->data != NULL, "realloc");
    memcpy(b->data + b->size, data, n);
    b->size += n;
}

static void on_flush(png_structp png)
{
    (void)png;
}

ct_blob ct_util_png(const ct_png_kind *k, uint8_t *const *rows)
{
    ct_blob out = { NULL, 0 };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, on_write, on_flush);
    png_set_IHDR(png, info, (png_uint_32)k->w, (png_uint_32)k->h, k->depth, k->color,
                 k->interlace ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (k->n_palette) {
        png_color c[256];
        for (int i = 0; i < k->n_palette; i++) {
            c[i] = (png_color){ k->palette[3 * i], k->palette[3 * i + 1], k->palette[3 * i + 2] };
        }
        png_set_PLTE(png, info, c, k->n_palette);
    }
    if (k->n_trns) {
        png_byte alpha[256];
        png_color_16 color = { 0 };
        for (int i = 0; i < k->n_trns; i++) alpha[i] = (png_byte)k->trns[i];
        color.gray = k->trns[0];
        if (k->n_trns == 3) {
            color.red = k->trns[0];
            color.green = k->trns[1];
            color.blue = k->trns[2];
        }
        if (k->color == PNG_COLOR_TYPE_PALETTE) png_set_tRNS(png, info, alpha, k->n_trns, NULL);
        else png_set_tRNS(png, info, NULL, 0, &color);
    }
    png_write_info(png, info);
    png_bytep *r = malloc((size_t)k->h * sizeof *r);
    must(r != NULL, "malloc");
    for (int y = 0; y < k->h; y++) r[y] = rows[y];
    png_write_image(png, r);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(r);
    return out;
}

ct_blob ct_util_jpeg(const ct_jpeg_kind *k, const uint8_t *px)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    unsigned char *buf = NULL;
    unsigned long size = 0;
    c.err = jpeg_std_error(&err);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &buf, &size);
    c.image_width = (JDIMENSION)k->w;
    c.image_height = (JDIMENSION)k->h;
    c.input_components = k->space;
    c.in_color_space = k->space == 1 ? JCS_GRAYSCALE : k->space == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&c);
    if (k->space == 4) {
        jpeg_set_colorspace(&c, k->adobe == 2 ? JCS_YCCK : JCS_CMYK);
        c.write_Adobe_marker = k->adobe ? TRUE : FALSE;
    }
    jpeg_set_quality(&c, k->quality, TRUE);
    if (k->space == 3 && !k->subsample) c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
    if (k->progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    if (k->exif) {
        static const uint8_t le[] = { 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0,
                                      0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        static const uint8_t be[] = { 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0,
                                      0, 1, 0, 0, 0, 0, 0, 0, 0, 0 };
        uint8_t seg[sizeof le];
        memcpy(seg, k->big ? be : le, sizeof seg);
        seg[k->big ? 25 : 24] = (uint8_t)k->exif;
        jpeg_write_marker(&c, JPEG_APP0 + 1, seg, sizeof seg);
    }
    for (int y = 0; y < k->h; y++) {
        JSAMPROW row = (JSAMPROW)(px + (size_t)y * (size_t)k->w * (size_t)k->space);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return (ct_blob){ buf, size };
}

void ct_util_picture(const char *dir, const char *name, int w, int h, unsigned seed)
{
    ct_image im;
    must(ct_image_make(w, h, 3, 0, &im) == CT_OK, "picture");
    for (size_t i = 0; i < (size_t)w * (size_t)h * 3; i++) {
        im.px[i] = (uint8_t)((i * 31 + seed * 7919u + i * i * (seed + 3)) >> 2);
    }
    uint8_t *data;
    size_t size;
    must(ct_image_encode_png(&im, &data, &size) == CT_OK, "picture");
    ct_util_write(dir, name, data, size);
    ct_free(data);
    ct_image_free(&im);
}
