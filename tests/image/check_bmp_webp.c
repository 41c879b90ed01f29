/* BMP of every kind that is read, against pixels known beforehand; WebP there and back; damage of both. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_WEBP
#include <webp/encode.h>
#endif

#include "image/image.h"

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (8 * i));
}

/* 3 x 2 pixels: the upper row red, green, blue, the lower white, black, gray of 136 (of 132 with five bits). */
static const uint8_t colour[6][3] = { { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 255, 255, 255 }, { 0, 0, 0 },
                                      { 136, 136, 136 } };

static uint32_t value_of(int bits, int i)
{
    const uint8_t *c = colour[i];
    if (bits <= 8) return (uint32_t)i;
    if (bits == 16) return (uint32_t)(c[0] >> 3) << 10 | (uint32_t)(c[1] >> 3) << 5 | c[2] >> 3;
    return (uint32_t)c[0] << 16 | (uint32_t)c[1] << 8 | c[2];
}

/* Such a file of `bits` per pixel; the first row is the uppermost if `down`; core: the header of OS/2. */
static size_t make(int bits, bool down, bool core, uint8_t out[256])
{
    const size_t head = core ? 12 : 40, each = core ? 3 : 4, colours = bits <= 8 ? (size_t)1 << bits : 0;
    const size_t palette = 14 + head, shown = colours > 8 ? 8 : colours;
    const size_t pixels = palette + (core ? colours : shown) * each, row = ((size_t)bits * 3 + 31) / 32 * 4;
    memset(out, 0, 256);
    memcpy(out, "BM", 2);
    put32(out + 10, (uint32_t)pixels);
    put32(out + 14, (uint32_t)head);
    if (core) {
        out[18] = 3;
        out[20] = 2;
        out[22] = 1;
        out[24] = (uint8_t)bits;
    } else {
        put32(out + 18, 3);
        put32(out + 22, down ? (uint32_t)-2 : 2);
        out[26] = 1;
        out[28] = (uint8_t)bits;
        put32(out + 46, (uint32_t)shown);
    }
    for (size_t i = 0; i < shown && i < 6; i++)
        for (int k = 0; k < 3; k++) out[palette + i * each + (size_t)k] = colour[i][2 - k];
    for (int i = 0; i < 6; i++) {
        const int x = i % 3, y = i / 3;
        uint8_t *at = out + pixels + (size_t)(down ? y : 1 - y) * row;
        const uint32_t v = value_of(bits, i);
        if (bits == 4) at[x / 2] |= (uint8_t)(v << (x % 2 ? 0 : 4));
        for (int k = 0; bits >= 8 && k < bits / 8; k++) at[x * bits / 8 + k] = (uint8_t)(v >> (8 * k));
    }
    return pixels + 2 * row;
}

static const struct { int bits; bool down, core; } kinds[] = {
    { 4, false, false }, { 4, true, true }, { 8, false, false }, { 16, false, false }, { 16, true, false },
    { 24, false, false }, { 24, true, false }, { 24, false, true }, { 32, false, false },
};

START_TEST(bmp)
{
    uint8_t file[256];
    const size_t n = make(kinds[_i].bits, kinds[_i].down, kinds[_i].core, file);
    const ct_image_opts opts = { .channels = 3 };
    ct_image im;
    int w, h;
    /* a file of OS/2 has no sign: its rows stand upside down */
    if (kinds[_i].core && kinds[_i].down) return;
    ck_assert_msg(ct_image_read_mem(file, n, "f", &opts, &im) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_image_peek_mem(file, n, "f", &w, &h), CT_OK);
    ck_assert(im.w == 3 && im.h == 2 && im.c == 3 && w == 3 && h == 2);
    for (int i = 0; i < 18; i++) {
        const int want = kinds[_i].bits == 16 && i >= 15 ? (136 >> 3) * 255 / 31 : colour[i / 3][i % 3];
        ck_assert_msg(abs(im.px[i] - want) <= (kinds[_i].bits == 16), "byte %d: %d, not %d", i, im.px[i], want);
    }
    ct_image_free(&im);
    for (size_t cut = 2; cut < n; cut++) {
        ck_assert_int_eq(ct_image_read_mem(file, cut, "f", &opts, &im), CT_EFORMAT);
        ck_assert_ptr_null(im.px);
    }
}
END_TEST

/* Claims that no memory may be taken for, and what is not read. */
START_TEST(bmp_refused)
{
    static const struct { int at; uint32_t v; const char *want; } bad[] = {
        { 18, 0x7fffffff, "too large" }, { 22, 0x80000000u, "without pixels" }, { 18, 0, "without pixels" },
        { 18, 32767, "ends too early" }, { 14, 13, "a BMP header of 13 bytes" }, { 30, 1, "compressed" },
        { 10, 5000, "ends too early" }, { 28, 5, "5 bits per pixel" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t file[256];
        ct_image im;
        const size_t n = make(24, false, false, file);
        put32(file + bad[i].at, bad[i].v);
        ck_assert_int_eq(ct_image_read_mem(file, n, "f", NULL, &im), CT_EFORMAT);
        ck_assert_msg(strstr(ct_error_message(), bad[i].want) != NULL, "%s", ct_error_message());
    }
    uint8_t file[256];
    ct_image im;
    const size_t n = make(8, false, false, file);
    file[n - 4] = 200; /* of 8 colours */
    ck_assert_int_eq(ct_image_read_mem(file, n, "f", NULL, &im), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "not in its palette"));
}
END_TEST

START_TEST(webp)
{
    static const uint8_t riff[] = "RIFF\x20\0\0\0WEBPVP8 ";
    ct_image im;
#ifdef HAVE_WEBP
    const ct_image_opts opts = { .channels = 3 };
    uint8_t *file = NULL;
    const size_t n = WebPEncodeLosslessRGB(&colour[0][0], 3, 2, 9, &file);
    ck_assert_msg(ct_image_read_mem(file, n, "f", &opts, &im) == CT_OK, "%s", ct_error_message());
    ck_assert(im.w == 3 && im.h == 2 && memcmp(im.px, colour, sizeof colour) == 0);
    ct_image_free(&im);
    for (size_t cut = 12; cut < n; cut++) {
        if (ct_image_read_mem(file, cut, "f", &opts, &im) == CT_OK) ck_assert(cut + 1 == n); /* a byte of padding */
        ct_image_free(&im);
    }
    WebPFree(file);
#endif
    ck_assert_int_eq(ct_image_read_mem(riff, 16, "f", NULL, &im), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), ct_webp_there() ? "WebP" : "built without libwebp"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bmp and webp");
    TCase *t = tcase_create("bmp and webp");
    tcase_add_loop_test(t, bmp, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(t, bmp_refused);
    tcase_add_test(t, webp);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
