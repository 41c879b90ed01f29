/* Writing of JPEG. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/image.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

/* Some value of sample i of channel k. */
static uint8_t grain(int i, int k)
{
    unsigned v = (unsigned)(i * 7919 + k * 1299709 + 12345);
    v = (v ^ (v >> 7)) * 2654435761u;
    return (uint8_t)(v >> 16);
}

/* What is written as JPEG comes back nearly as it was, colours as sharp as brightness; the bytes are a function of pixels
 * and quality, and a better quality is nearer and larger. */
START_TEST(jpeg_round_trip)
{
    static const int quality[] = { 30, 75, 95, 100 };
    char *dir = ct_util_tempdir();
    for (int c = 1; c <= 3; c += 2) {
        ct_image im, back;
        size_t before = 0;
        double error = 1e9;
        const int n = 150 * 131 * c;
        ck_assert_int_eq(ct_image_make(150, 131, c, 0, &im), CT_OK);
        for (int i = 0; i < n; i++) { /* columns of red and blue of the same brightness, and grain */
            const int x = i / c % 150, k = i % c;
            im.px[i] = (uint8_t)(60 + (x & 1 ? (k == 0) * 120 : (k == 2) * 120) + (int)grain(i, k) % 16);
        }
        for (size_t q = 0; q < sizeof quality / sizeof *quality; q++) {
            uint8_t *data, *again;
            size_t size, twice;
            double sum = 0;
            ck_assert_int_eq(ct_image_encode_jpeg(&im, quality[q], &data, &size), CT_OK);
            ck_assert_int_eq(ct_image_encode_jpeg(&im, quality[q], &again, &twice), CT_OK);
            ck_assert(size == twice && memcmp(data, again, size) == 0);
            ck_assert_int_eq(ct_image_read_mem(data, size, "it", NULL, &back), CT_OK);
            ck_assert(back.w == 150 && back.h == 131 && back.c == c);
            for (int i = 0; i < n; i++) sum += abs(back.px[i] - im.px[i]);
            ck_assert_msg(sum < error && size > before, "quality %d: %f, %zu bytes", quality[q], sum / n, size);
            ck_assert_msg(quality[q] < 95 || sum / n < 3.5, "quality %d: %f levels", quality[q], sum / n);
            error = sum;
            before = size;
            ct_image_free(&back);
            ct_free(data);
            ct_free(again);
        }
        ck_assert_int_gt((int)before, 10000 * c); /* more than the buffer that it begins with */
        ck_assert_int_eq(ct_image_write_jpeg(ct_util_path(dir, "a.jpg"), &im, 100), CT_OK);
        ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, "a.jpg"), NULL, &back), CT_OK);
        for (int i = 0; i < n; i++) ck_assert_int_le(abs(back.px[i] - im.px[i]), 4);
        ct_image_free(&back);
        ck_assert_int_eq(ct_image_write_jpeg(ct_util_path(dir, "none/a.jpg"), &im, 95), CT_EIO);
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "none/a.jpg"));
        uint8_t *data;
        size_t size;
        ck_assert_int_eq(ct_image_encode_jpeg(&im, 0, &data, &size), CT_EINVAL);
        ck_assert_int_eq(ct_image_encode_jpeg(&im, 101, &data, &size), CT_EINVAL);
        ct_image_free(&im);
        ck_assert_int_eq(ct_image_encode_jpeg(&im, 95, &data, &size), CT_EINVAL);
        ck_assert(data == NULL && size == 0);
    }
    ct_util_remove(dir);
}
END_TEST

/* Allocations that fail are errors, never a file. */
START_TEST(jpeg_out_of_memory)
{
    ct_image im;
    uint8_t *data;
    size_t size;
    ct_status st = CT_ENOMEM;
    ck_assert_int_eq(ct_image_make(150, 131, 3, 0, &im), CT_OK);
    for (int i = 0; i < 150 * 131 * 3; i++) im.px[i] = grain(i, 0);
    int n = 0;
    for (; st != CT_OK; n++) {
        ct_alloc_fail_after(n);
        st = ct_image_encode_jpeg(&im, 95, &data, &size);
        ct_alloc_fail_after(-1);
        ck_assert(st == CT_OK || (st == CT_ENOMEM && data == NULL));
        ck_assert_int_lt(n, 10);
    }
    ck_assert_int_ge(n, 3);
    ct_free(data);
    ct_image_free(&im);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("JPEG writing");
    TCase *t = tcase_create("writing");
    tcase_add_test(t, jpeg_round_trip);
    tcase_add_test(t, jpeg_out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
