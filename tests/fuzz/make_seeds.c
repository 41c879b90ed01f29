/* Writes the seed corpora of fuzz_image and fuzz_label: make_seeds DIR fills DIR/image and DIR/label. The files are
 * checked in (tests/fuzz/corpus); this says where they come from. Those of fuzz_lmdb are made by tests/data/make_lmdb. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef HAVE_WEBP
#include <webp/encode.h>
#endif

#include "tests/data/data_util.h"

static void pngs(const char *dir)
{
    static const struct { const char *name; int color, depth, channels; } kinds[] = {
        { "gray1", 0, 1, 1 }, { "gray16", 0, 16, 1 }, { "gray_alpha8", 4, 8, 2 }, { "rgb8", 2, 8, 3 }, { "rgba16", 6,
                                                                                                         16, 4 },
        { "palette4", 3, 4, 1 },
    };
    static const uint8_t palette[48] = { 255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9 };
    static const uint16_t trns[2] = { 0, 128 };
    uint8_t data[6][64], *rows[6];
    for (int y = 0; y < 6; y++) {
        rows[y] = data[y];
        for (int x = 0; x < 64; x++) data[y][x] = (uint8_t)(x * 37 + y * 101);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ct_png_kind k = { .w = 7, .h = 6, .depth = kinds[i].depth, .color = kinds[i].color, .interlace = (int)(i & 1) };
        if (k.color == 3) {
            k.palette = palette;
            k.n_palette = 16;
            k.trns = trns;
            k.n_trns = 2;
        }
        ct_blob b = ct_util_png(&k, rows);
        char name[64];
        snprintf(name, sizeof name, "%s.png", kinds[i].name);
        ct_util_write(dir, name, b.data, b.size);
        free(b.data);
    }
}

/* Lossy and lossless, each with transparent pixels and without. */
static void webps(const char *dir)
{
#ifdef HAVE_WEBP
    uint8_t px[9 * 10 * 4];
    for (int kind = 0; kind < 4; kind++) {
        uint8_t *file = NULL;
        char name[64];
        for (size_t i = 0; i < sizeof px; i++) px[i] = i % 4 == 3 && kind % 2 == 0 ? 255 : (uint8_t)(i * 29 >> 2);
        const size_t size = kind < 2 ? WebPEncodeRGBA(px, 9, 10, 36, 50, &file)
                                     : WebPEncodeLosslessRGBA(px, 9, 10, 36, &file);
        if (size == 0) abort();
        snprintf(name, sizeof name, "%d.webp", kind);
        ct_util_write(dir, name, file, size);
        WebPFree(file);
    }
#else
    (void)dir;
#endif
}

static void jpegs(const char *dir)
{
    uint8_t px[9 * 10 * 4];
    for (size_t i = 0; i < sizeof px; i++) px[i] = (uint8_t)(i * 29 >> 2);
    static const ct_jpeg_kind kinds[] = {
        { .w = 9, .h = 10, .space = 1, .quality = 50 },
        { .w = 9, .h = 10, .space = 3, .quality = 50, .progressive = 1, .subsample = 1 },
        { .w = 9, .h = 10, .space = 3, .quality = 50, .exif = 6, .big = 1 },
        { .w = 9, .h = 10, .space = 4, .quality = 50, .adobe = 2 },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ct_blob b = ct_util_jpeg(&kinds[i], px);
        char name[64];
        snprintf(name, sizeof name, "%zu.jpg", i);
        ct_util_write(dir, name, b.data, b.size);
        free(b.data);
    }
}

static void labels(const char *dir)
{
    static const char *const text[] = {
        "\x05" "a.png\tAB\nb.png\tCD\n", "\x05" "file label\r\nmy file.png  AB\r\n",
        "\x06" "label,x,file\n\"A\"\"B\",1,\"c,d.png\"\n",
        "\x06" "a.png;AB\nb.png;CD\n", "\x07" "a b.png\tx,y\n", "\x08" "ABCD_1_2.png",
        "\x0d" "\xc3\xa9\xe6\xbc\xa2_9.png",
        "\x04" "0123\xc3\xa9\xe6\xbc\xa2",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu", i);
        ct_util_text(dir, name, text[i]);
    }
}

int main(int argc, char **argv)
{
    char image[4096], label[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIR\n", argv[0]);
        return 2;
    }
    snprintf(image, sizeof image, "%s/image", argv[1]);
    snprintf(label, sizeof label, "%s/label", argv[1]);
    mkdir(argv[1], 0777);
    mkdir(image, 0777);
    mkdir(label, 0777);
    pngs(image);
    jpegs(image);
    webps(image);
    labels(label);
    return 0;
}
