/* Decoding, gray rule, resizing, PNG writing. Every fixture is made here with libpng and libjpeg, and what must come
 * out is computed from the sample values, not by another decoder. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/image_internal.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

enum { W = 13, H = 7 };

/* Some sample value of a picture: pixel (x, y), channel k, in `depth` bits. */
static unsigned value(int x, int y, int k, int depth)
{
    unsigned v = (unsigned)(x * 7919 + y * 104729 + k * 1299709 + 12345);
    v = (v ^ (v >> 7)) * 2654435761u;
    return (v >> 8) & ((1u << depth) - 1u);
}

static int to8(unsigned v, int depth)
{
    return (int)floor(v * 255.0 / ((1 << depth) - 1) + 0.5);
}

static int composite(int v, int a, int bg)
{
    return (int)floor((a * v + (255 - a) * bg) / 255.0 + 0.5);
}

typedef struct mode { const char *name; int color, channels; bool alpha, trns; int depth; } mode;

static const mode modes[] = {
    { "gray1", 0, 1, false, false, 1 },       { "gray2", 0, 1, false, false, 2 },   { "gray4", 0, 1, false, false, 4 },
    { "gray8", 0, 1, false, false, 8 },       { "gray16", 0, 1, false, false, 16 },
    { "gray2 tRNS", 0, 1, false, true, 2 },
    { "gray8 tRNS", 0, 1, false, true, 8 },   { "gray16 tRNS", 0, 1, false, true, 16 },
    { "gray alpha 8", 4, 2, true, false, 8 }, { "gray alpha 16", 4, 2, true, false, 16 },
    { "rgb8", 2, 3, false, false, 8 },        { "rgb16", 2, 3, false, false, 16 },
    { "rgb8 tRNS", 2, 3, false, true, 8 },
    { "rgba8", 6, 4, true, false, 8 },        { "rgba16", 6, 4, true, false, 16 },
    { "palette1", 3, 1, false, false, 1 },    { "palette2", 3, 1, false, false, 2 },
    { "palette4", 3, 1, false, false, 4 },
    { "palette8", 3, 1, false, false, 8 },    { "palette4 tRNS", 3, 1, false, true, 4 },
    { "palette8 tRNS", 3, 1, false, true, 8 },
};
enum { MODES = sizeof modes / sizeof *modes };

static void put_sample(uint8_t *row, int i, int depth, unsigned v)
{
    if (depth == 16) {
        row[2 * i] = (uint8_t)(v >> 8);
        row[2 * i + 1] = (uint8_t)v;
    } else if (depth == 8) {
        row[i] = (uint8_t)v;
    } else {
        int bit = i * depth;
        row[bit / 8] |= (uint8_t)(v << (8 - depth - bit % 8));
    }
}

/* The RGB value that mode m must give at (x, y), over background bg. */
static void expected(const mode *m, int x, int y, const uint8_t *palette, const uint16_t *trns, const uint8_t bg[3],
                     int out[3])
{
    int c[3], a = 255;
    if (m->color == 3) {
        unsigned i = value(x, y, 0, m->depth);
        for (int k = 0; k < 3; k++) c[k] = palette[3 * i + (unsigned)k];
        if (m->trns) a = i < 2 ? trns[i] : 255;
    } else {
        bool rgb = m->color & 2;
        for (int k = 0; k < 3; k++) c[k] = to8(value(x, y, rgb ? k : 0, m->depth), m->depth);
        if (m->alpha) a = to8(value(x, y, rgb ? 3 : 1, m->depth), m->depth);
        if (m->trns && !rgb) a = value(x, y, 0, m->depth) == trns[0] ? 0 : 255;
        if (m->trns && rgb) {
            bool same = true;
            for (int k = 0; k < 3; k++) same = same && value(x, y, k, m->depth) == trns[k];
            a = same ? 0 : 255;
        }
    }
    for (int k = 0; k < 3; k++) out[k] = composite(c[k], a, bg[k]);
}

static ct_blob make_png(const mode *m, int interlace, uint8_t palette[768], uint16_t trns[3])
{
    uint8_t data[H][W * 8], *rows[H];
    memset(data, 0, sizeof data);
    for (int i = 0; i < 256; i++) {
        for (int k = 0; k < 3; k++) palette[3 * i + k] = (uint8_t)(i * 53 + k * 91 + 17);
    }
    for (int y = 0; y < H; y++) {
        rows[y] = data[y];
        for (int x = 0; x < W; x++) {
            for (int k = 0; k < m->channels; k++) {
                put_sample(data[y], x * m->channels + k, m->depth, value(x, y, k, m->depth));
            }
        }
    }
    /* transparent: a value that does occur in the picture */
    for (int k = 0; k < 3; k++) trns[k] = (uint16_t)value(3, 2, k, m->depth);
    if (m->color == 3) {
        trns[0] = 40;
        trns[1] = 200;
    }
    ct_png_kind k = { .w = W, .h = H, .depth = m->depth, .color = m->color, .interlace = interlace };
    if (m->color == 3) {
        k.palette = palette;
        k.n_palette = 1 << m->depth;
    }
    if (m->trns) {
        k.trns = trns;
        k.n_trns = m->color == 3 ? 2 : m->color & 2 ? 3 : 1;
    }
    return ct_util_png(&k, rows);
}

START_TEST(png_modes)
{
    const mode *m = &modes[_i % MODES];
    int interlace = _i / MODES;
    uint8_t palette[768];
    uint16_t trns[3];
    ct_blob b = make_png(m, interlace, palette, trns);
    for (int pass = 0; pass < 3; pass++) { /* RGB over white; RGB over a colour; gray over white */
        ct_image_opts o = { .channels = pass == 2 ? 1 : 3, .background = { 255, 255, 255 } };
        if (pass == 1) memcpy(o.background, (uint8_t[]){ 10, 120, 230 }, 3);
        ct_image im;
        ck_assert_msg(ct_image_read_mem(b.data, b.size, m->name, &o, &im) == CT_OK, "%s", ct_error_message());
        ck_assert_int_eq(im.w, W);
        ck_assert_int_eq(im.h, H);
        ck_assert_int_eq(im.c, o.channels);
        for (int y = 0; y < H; y++) {
            for (int x = 0; x < W; x++) {
                int e[3];
                expected(m, x, y, palette, trns, o.background, e);
                if (pass == 2) {
                    int gray = (int)floor(0.299 * e[0] + 0.587 * e[1] + 0.114 * e[2] + 0.5), got = im.px[y * W + x];
                    ck_assert_msg(abs(gray - got) <= 1, "%s (%d,%d): gray %d, not %d", m->name, x, y, got, gray);
                    if (e[0] == e[1] && e[1] == e[2]) ck_assert_int_eq(got, e[0]);
                } else {
                    for (int k = 0; k < 3; k++) {
                        ck_assert_msg(im.px[(y * W + x) * 3 + k] == e[k], "%s (%d,%d) channel %d: %d, not %d", m->name,
                                      x, y, k, im.px[(y * W + x) * 3 + k], e[k]);
                    }
                }
            }
        }
        ct_image_free(&im);
    }
    int w, h;
    ck_assert_int_eq(ct_image_peek_mem(b.data, b.size, "x", &w, &h), CT_OK);
    ck_assert_int_eq(w, W);
    ck_assert_int_eq(h, H);
    free(b.data);
}
END_TEST

START_TEST(native_channels)
{
    uint8_t palette[768];
    uint16_t trns[3];
    for (int i = 0; i < MODES; i++) {
        ct_blob b = make_png(&modes[i], 0, palette, trns);
        ct_image im;
        ck_assert_int_eq(ct_image_read_mem(b.data, b.size, "x", NULL, &im), CT_OK);
        ck_assert_int_eq(im.c, modes[i].color == 0 || modes[i].color == 4 ? 1 : 3);
        ct_image_free(&im);
        free(b.data);
    }
}
END_TEST

START_TEST(gray_rule)
{
    static const uint8_t in[][4] = { /* R, G, B, and what the 16-bit fixed point rule gives */
        { 255, 0, 0, 76 }, { 0, 255, 0, 150 }, { 0, 0, 255, 29 }, { 255, 255, 255, 255 }, { 0, 0, 0, 0 },
        { 1, 2, 3, 2 },
        { 200, 100, 50, 124 }, { 17, 17, 17, 17 },
    };
    enum { N = sizeof in / sizeof *in };
    ct_image im;
    ck_assert_int_eq(ct_image_make(N, 1, 3, 0, &im), CT_OK);
    for (int i = 0; i < N; i++) memcpy(im.px + 3 * i, in[i], 3);
    ct_image_to_gray(&im);
    ck_assert_int_eq(im.c, 1);
    for (int i = 0; i < N; i++) ck_assert_int_eq(im.px[i], in[i][3]);
    ct_image_to_gray(&im); /* once more changes nothing */
    for (int i = 0; i < N; i++) ck_assert_int_eq(im.px[i], in[i][3]);
    ct_image_free(&im);
}
END_TEST

/* ---- JPEG ---- */

static void smooth_picture(uint8_t *px, int w, int h, int c)
{
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            for (int k = 0; k < c; k++) {
                px[(y * w + x) * c + k] = (uint8_t)(128 + 100 * sin(0.11 * x + k) * cos(0.09 * y + 0.5 * k));
            }
        }
    }
}

START_TEST(jpeg_kinds)
{
    enum { JW = 37, JH = 29 };
    static uint8_t px[JW * JH * 3];
    for (int space = 1; space <= 3; space += 2) {
        smooth_picture(px, JW, JH, space);
        for (int i = 0; i < 4; i++) {
            ct_jpeg_kind k = { .w = JW, .h = JH, .space = space, .quality = 97, .progressive = i & 1,
                               .subsample = i >> 1 };
            ct_blob b = ct_util_jpeg(&k, px);
            ct_image im;
            ck_assert_msg(ct_image_read_mem(b.data, b.size, "x.jpg", NULL, &im) == CT_OK, "%s", ct_error_message());
            ck_assert(im.w == JW && im.h == JH && im.c == space);
            int worst = 0;
            for (int j = 0; j < JW * JH * space; j++) {
                if (abs(im.px[j] - px[j]) > worst) worst = abs(im.px[j] - px[j]);
            }
            ck_assert_msg(worst <= (k.subsample && space == 3 ? 20 : 6), "space %d kind %d: off by %d", space, i,
                          worst);
            if (i & 1) { /* progressive: the same coefficients, so the same pixels as baseline */
                ct_image base;
                k.progressive = 0;
                ct_blob b2 = ct_util_jpeg(&k, px);
                ck_assert_int_eq(ct_image_read_mem(b2.data, b2.size, "y.jpg", NULL, &base), CT_OK);
                ck_assert_mem_eq(base.px, im.px, (size_t)JW * JH * (size_t)space);
                ct_image_free(&base);
                free(b2.data);
            }
            ct_image_free(&im);
            free(b.data);
        }
    }
}
END_TEST

START_TEST(jpeg_cmyk)
{
    static const uint8_t ink[4][4] = { /* C, M, Y, K */
        { 0, 0, 0, 0 }, { 255, 0, 0, 0 }, { 0, 0, 255, 51 }, { 30, 60, 90, 100 },
    };
    for (int adobe = 0; adobe <= 2; adobe++) { /* plain CMYK; Adobe CMYK; Adobe YCCK */
        for (int i = 0; i < 4; i++) {
            uint8_t px[16 * 16 * 4];
            for (int j = 0; j < 16 * 16; j++) {
                for (int k = 0; k < 4; k++) px[4 * j + k] = (uint8_t)(adobe ? 255 - ink[i][k] : ink[i][k]);
            }
            ct_jpeg_kind k = { .w = 16, .h = 16, .space = 4, .quality = 100, .adobe = adobe };
            ct_blob b = ct_util_jpeg(&k, px);
            ct_image im;
            ck_assert_msg(ct_image_read_mem(b.data, b.size, "x.jpg", NULL, &im) == CT_OK, "%s", ct_error_message());
            ck_assert_int_eq(im.c, 3);
            for (int c = 0; c < 3; c++) {
                double want = (255.0 - ink[i][c]) * (255.0 - ink[i][3]) / 255.0;
                ck_assert_msg(fabs(im.px[(8 * 16 + 8) * 3 + c] - want) <= 3,
                              "adobe %d ink %d channel %d: %d, not %.0f", adobe, i, c,
                              im.px[(8 * 16 + 8) * 3 + c], want);
            }
            ct_image_free(&im);
            free(b.data);
        }
    }
}
END_TEST

/* Quadrants of the upright picture: 40 | 100 over 160 | 220, 32 wide and 16 high. The stored picture is what a camera
 * that was held in orientation o would have stored. */
START_TEST(jpeg_orientation)
{
    int o = _i / 2 + 1, big = _i % 2;
    enum { UW = 32, UH = 16 };
    int sw = o >= 5 ? UH : UW, sh = o >= 5 ? UW : UH;
    uint8_t px[UW * UH];
    for (int y = 0; y < UH; y++) {
        for (int x = 0; x < UW; x++) {
            int v = 40 + 60 * (x >= UW / 2) + 120 * (y >= UH / 2), sx = 0, sy = 0;
            switch (o) { /* EXIF 2.3: where the stored row 0 and column 0 are seen */
            case 1: sx = x; sy = y; break;                       /* row 0 top, column 0 left */
            case 2: sx = UW - 1 - x; sy = y; break;              /* top, right */
            case 3: sx = UW - 1 - x; sy = UH - 1 - y; break;     /* bottom, right */
            case 4: sx = x; sy = UH - 1 - y; break;              /* bottom, left */
            case 5: sx = y; sy = x; break;                       /* row 0 left, column 0 top */
            case 6: sx = y; sy = UW - 1 - x; break;              /* row 0 right, column 0 top */
            case 7: sx = UH - 1 - y; sy = UW - 1 - x; break;     /* row 0 right, column 0 bottom */
            case 8: sx = UH - 1 - y; sy = x; break;              /* row 0 left, column 0 bottom */
            }
            px[sy * sw + sx] = (uint8_t)v;
        }
    }
    ct_jpeg_kind k = { .w = sw, .h = sh, .space = 1, .quality = 100, .exif = o, .big = big };
    ct_blob b = ct_util_jpeg(&k, px);
    ct_image im;
    ck_assert_msg(ct_image_read_mem(b.data, b.size, "x.jpg", NULL, &im) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(im.w, UW);
    ck_assert_int_eq(im.h, UH);
    for (int q = 0; q < 4; q++) {
        int x = q & 1 ? UW - 3 : 2, y = q & 2 ? UH - 3 : 2, want = 40 + 60 * (q & 1) + 120 * (q >> 1);
        ck_assert_msg(abs(im.px[y * UW + x] - want) <= 2, "orientation %d: quadrant %d is %d, not %d", o, q,
                      im.px[y * UW + x], want);
    }
    int w, h;
    ck_assert_int_eq(ct_image_peek_mem(b.data, b.size, "x", &w, &h), CT_OK);
    ck_assert(w == UW && h == UH);
    ct_image_free(&im);
    free(b.data);
}
END_TEST

START_TEST(exif_hostile)
{
    static const uint8_t good[] = { 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0,
                                    0, 0, 6, 0, 0, 0 };
    ck_assert_int_eq(ct_exif_orientation(good, sizeof good), 6);
    for (size_t n = 0; n < sizeof good - 2; n++) { /* exact blocks, so that a sanitizer sees any step too far */
        uint8_t *p = malloc(n ? n : 1);
        memcpy(p, good, n);
        ck_assert_int_eq(ct_exif_orientation(p, n), 1);
        free(p);
    }
    uint32_t s = 1;
    for (int i = 0; i < 20000; i++) {
        uint8_t *p = malloc(sizeof good);
        memcpy(p, good, sizeof good);
        for (int k = 0; k < 3; k++) {
            s = s * 1664525u + 1013904223u;
            p[6 + (s >> 8) % (sizeof good - 6)] = (uint8_t)(s >> 24);
        }
        int o = ct_exif_orientation(p, sizeof good);
        ck_assert(o >= 1 && o <= 8);
        free(p);
    }
}
END_TEST

/* ---- damage ---- */

static void must_fail(const uint8_t *data, size_t size, const char *want)
{
    ct_image im = { 9, 9, 9, NULL };
    ct_status st = ct_image_read_mem(data, size, "some/file.png", NULL, &im);
    ck_assert_msg(st == CT_EFORMAT, "%zu bytes: status %d", size, (int)st);
    ck_assert_ptr_null(im.px);
    ck_assert_msg(strstr(ct_error_message(), "some/file.png") != NULL, "%s", ct_error_message());
    if (want) ck_assert_msg(strstr(ct_error_message(), want) != NULL, "no \"%s\" in: %s", want, ct_error_message());
}

static void every_prefix_fails(ct_blob b)
{
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *p = malloc(n ? n : 1);
        memcpy(p, b.data, n);
        must_fail(p, n, NULL);
        free(p);
    }
}

START_TEST(truncated)
{
    uint8_t palette[768], px[40 * 30 * 3];
    uint16_t trns[3];
    ct_blob b = make_png(&modes[13], _i & 1, palette, trns);
    every_prefix_fails(b);
    free(b.data);
    smooth_picture(px, 40, 30, 3);
    ct_jpeg_kind k = { .w = 40, .h = 30, .space = 3, .quality = 60, .progressive = _i & 1 };
    b = ct_util_jpeg(&k, px);
    every_prefix_fails(b);
    free(b.data);
}
END_TEST

START_TEST(flipped_bits)
{
    uint8_t palette[768], px[24 * 24 * 3];
    uint16_t trns[3];
    ct_blob b = make_png(&modes[13], 0, palette, trns);
    size_t failed = 0;
    for (size_t i = 0; i < b.size * 8; i++) {
        ct_image im;
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        if (ct_image_read_mem(b.data, b.size, "x", NULL, &im) != CT_OK) failed++;
        else ct_image_free(&im);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    ck_assert_uint_eq(failed, b.size * 8); /* the whole file is under checksums */
    free(b.data);
    smooth_picture(px, 24, 24, 3);
    ct_jpeg_kind k = { .w = 24, .h = 24, .space = 3, .quality = 60, .exif = 6 };
    b = ct_util_jpeg(&k, px);
    for (size_t i = 0; i < b.size * 8; i++) {
        ct_image im;
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        if (ct_image_read_mem(b.data, b.size, "x", NULL, &im) == CT_OK) ct_image_free(&im); /* may decode, not crash */
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    free(b.data);
}
END_TEST

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t crc32_of(const uint8_t *p, size_t n)
{
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

START_TEST(foreign_and_huge)
{
    uint8_t palette[768], px[16 * 16];
    uint16_t trns[3];
    must_fail(NULL, 0, "empty file");
    must_fail((const uint8_t *)"hello, world", 12, "none of PNG, JPEG, BMP and WebP");
    must_fail((const uint8_t *)"GIF89a\1\0\1\0........", 18, "GIF");
    must_fail((const uint8_t *)"RIFF....WEBPVP8 ", 16, "WebP");

    ct_blob b = make_png(&modes[10], 0, palette, trns);
    static const uint32_t sides[][2] = { { 100000, 100000 }, { 0x7fffffff, 1 }, { 30000, 30000 } };
    for (int i = 0; i < 3; i++) {
        char text[32];
        put32(b.data + 16, sides[i][0]);
        put32(b.data + 20, sides[i][1]);
        put32(b.data + 29, crc32_of(b.data + 12, 17));
        snprintf(text, sizeof text, "%ux%u", (unsigned)sides[i][0], (unsigned)sides[i][1]);
        must_fail(b.data, b.size, text);
    }
    put32(b.data + 16, 0);
    put32(b.data + 29, crc32_of(b.data + 12, 17));
    must_fail(b.data, b.size, NULL);
    free(b.data);

    memset(px, 77, sizeof px);
    ct_jpeg_kind k = { .w = 16, .h = 16, .space = 1, .quality = 90 };
    b = ct_util_jpeg(&k, px);
    for (size_t i = 0; i + 9 < b.size; i++) {
        if (b.data[i] != 0xff || b.data[i + 1] != 0xc0) continue;
        put32(b.data + i + 5, 0xea60ea60); /* 60000 x 60000 */
        break;
    }
    must_fail(b.data, b.size, "60000x60000");
    free(b.data);

    ct_image im;
    ck_assert_int_eq(ct_image_read_file("/no/such/file.png", NULL, &im), CT_EIO);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "/no/such/file.png"));
    ck_assert_int_eq(ct_image_make(100000, 2, 1, 0, &im), CT_EFORMAT);
}
END_TEST

/* ---- resizing ---- */

START_TEST(resize)
{
    ct_image in, out;
    ck_assert_int_eq(ct_image_make(2, 1, 1, 0, &in), CT_OK);
    in.px[1] = 255;
    /* Enlarging: output i looks at (i + 0.5) / 2 - 0.5 = -0.25, 0.25, 0.75, 1.25: the outer ones are the edge
     * pixels. */
    ck_assert_int_eq(ct_image_resize_bilinear(&in, 4, 1, &out), CT_OK);
    ck_assert_mem_eq(out.px, ((uint8_t[]){ 0, 64, 191, 255 }), 4);
    ct_image_free(&out);
    ct_image_free(&in);

    /* Shrinking 8 -> 4: the triangle has radius 2 and weights 1 3 3 1 (over 8; 3 3 1 over 7 at the edges). */
    static const uint8_t row[8] = { 0, 80, 160, 40, 200, 8, 16, 248 };
    ck_assert_int_eq(ct_image_make(8, 1, 1, 0, &in), CT_OK);
    memcpy(in.px, row, 8);
    ck_assert_int_eq(ct_image_resize_bilinear(&in, 4, 1, &out), CT_OK);
    uint8_t want[4];
    want[0] = (uint8_t)lround((3 * 0 + 3 * 80 + 160) / 7.0);
    want[1] = (uint8_t)lround((80 + 3 * 160 + 3 * 40 + 200) / 8.0);
    want[2] = (uint8_t)lround((40 + 3 * 200 + 3 * 8 + 16) / 8.0);
    want[3] = (uint8_t)lround((8 + 3 * 16 + 3 * 248) / 7.0);
    ck_assert_mem_eq(out.px, want, 4);
    ct_image_free(&out);
    /* The vertical direction is the same thing. */
    in.w = 1;
    in.h = 8;
    ck_assert_int_eq(ct_image_resize_bilinear(&in, 1, 4, &out), CT_OK);
    ck_assert_mem_eq(out.px, want, 4);
    ct_image_free(&out);
    ct_image_free(&in);

    /* A constant picture stays so, whatever the factor; equal size is a copy. */
    static const int sizes[][2] = { { 1, 1 }, { 3, 50 }, { 200, 7 }, { 31, 17 }, { 30, 17 }, { 64, 64 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_int_eq(ct_image_make(31, 17, 3, 201, &in), CT_OK);
        ck_assert_int_eq(ct_image_resize_bilinear(&in, sizes[i][0], sizes[i][1], &out), CT_OK);
        ck_assert(out.w == sizes[i][0] && out.h == sizes[i][1] && out.c == 3);
        for (int j = 0; j < out.w * out.h * 3; j++) ck_assert_int_eq(out.px[j], 201);
        ct_image_free(&out);
        ct_image_free(&in);
    }
}
END_TEST

START_TEST(png_round_trip)
{
    char *dir = ct_util_tempdir();
    for (int c = 1; c <= 3; c += 2) {
        ct_image im, back;
        ck_assert_int_eq(ct_image_make(33, 21, c, 0, &im), CT_OK);
        for (int i = 0; i < 33 * 21 * c; i++) im.px[i] = (uint8_t)value(i, c, 0, 8);
        ck_assert_int_eq(ct_image_write_png(ct_util_path(dir, "a.png"), &im), CT_OK);
        ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, "a.png"), NULL, &back), CT_OK);
        ck_assert(back.w == 33 && back.h == 21 && back.c == c);
        ck_assert_mem_eq(im.px, back.px, 33 * 21 * (size_t)c);
        ct_image_free(&back);
        ck_assert_int_eq(ct_image_write_png(ct_util_path(dir, "none/a.png"), &im), CT_EIO);
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "none/a.png"));
        ct_image_free(&im);
    }
    ct_util_remove(dir);
}
END_TEST

/* The fast writer's files say the same; RGBA comes back as it looks over black and over white. */
START_TEST(png_fast)
{
    uint8_t px[33 * 21 * 4], *data;
    size_t size;
    for (int c = 1; c <= 4; c += c == 1 ? 2 : 1) {
        ct_image im = { 0 }, back;
        for (int i = 0; i < 33 * 21 * c; i++) px[i] = (uint8_t)value(i, c, 0, 8);
        ck_assert_int_eq(ct_image_encode_png_fast(px, 33, 21, c, &data, &size), CT_OK);
        for (int v = 0; v < 256; v += 255) {
            const ct_image_opts o = { c == 1 ? 1 : 3, { (uint8_t)v, (uint8_t)v, (uint8_t)v } };
            ck_assert_int_eq(ct_image_read_mem(data, size, "it", &o, &back), CT_OK);
            ck_assert(back.w == 33 && back.h == 21 && back.c == (c == 1 ? 1 : 3));
            for (int i = 0; i < 33 * 21 * back.c; i++) {
                const uint8_t *from = px + (c < 4 ? i : i / 3 * 4 + i % 3);
                const int a = c < 4 ? 255 : px[i / 3 * 4 + 3];
                ck_assert_int_eq(back.px[i], (a * *from + (255 - a) * v + 127) / 255);
            }
            ct_image_free(&back);
        }
        ct_free(data);
        ck_assert_int_eq(ct_image_encode_png_fast(NULL, 33, 21, c, &data, &size), CT_EINVAL);
        ck_assert_int_eq(ct_image_encode_png(&im, &data, &size), CT_EINVAL);
    }
    ck_assert_int_eq(ct_image_encode_png_fast(px, 33, 21, 2, &data, &size), CT_EINVAL);
    /* A row of one colour is written as a run. */
    ct_image flat;
    ck_assert_int_eq(ct_image_make(300, 200, 3, 77, &flat), CT_OK);
    ck_assert_int_eq(ct_image_encode_png_fast(flat.px, 300, 200, 3, &data, &size), CT_OK);
    ck_assert_uint_lt(size, 3000);
    ct_free(data);
    ct_image_free(&flat);
}
END_TEST

/* Every allocation in turn fails: always CT_ENOMEM, never a crash or a leak (which a sanitizer would tell). */
START_TEST(out_of_memory)
{
    uint8_t palette[768], px[20 * 20 * 3];
    uint16_t trns[3];
    smooth_picture(px, 20, 20, 3);
    ct_jpeg_kind jk = { .w = 20, .h = 20, .space = 3, .quality = 80, .exif = 6 };
    ct_blob b[3] = { make_png(&modes[9], 1, palette, trns), make_png(&modes[3], 0, palette, trns),
                     ct_util_jpeg(&jk, px) };
    for (int i = 0; i < 3; i++) {
        ct_image_opts o = { .channels = 3, .background = { 1, 2, 3 } };
        for (long n = 0;; n++) {
            ct_image im = { 0 }, out = { 0 };
            uint8_t *png = NULL;
            size_t size = 0;
            ct_alloc_fail_after(n);
            ct_status st = ct_image_read_mem(b[i].data, b[i].size, "x", &o, &im);
            if (st == CT_OK) st = ct_image_resize_bilinear(&im, 9, 30, &out);
            if (st == CT_OK) st = ct_image_encode_png(&out, &png, &size);
            long made = ct_alloc_fail_after(-1);
            ct_image_free(&im);
            ct_image_free(&out);
            ct_free(png);
            if (made <= n) {
                ck_assert_int_eq(st, CT_OK);
                ck_assert_int_gt(n, 5);
                break;
            }
            ck_assert_msg(st == CT_ENOMEM, "allocation %ld of file %d failed, status %d", n, i, (int)st);
        }
        free(b[i].data);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("image");
    TCase *t = tcase_create("image");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, png_modes, 0, 2 * MODES);
    tcase_add_test(t, native_channels);
    tcase_add_test(t, gray_rule);
    tcase_add_test(t, jpeg_kinds);
    tcase_add_test(t, jpeg_cmyk);
    tcase_add_loop_test(t, jpeg_orientation, 0, 16);
    tcase_add_test(t, exif_hostile);
    tcase_add_loop_test(t, truncated, 0, 2);
    tcase_add_test(t, flipped_bits);
    tcase_add_test(t, foreign_and_huge);
    tcase_add_test(t, resize);
    tcase_add_test(t, png_round_trip);
    tcase_add_test(t, png_fast);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
