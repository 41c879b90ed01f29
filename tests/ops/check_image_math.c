/* What becomes of a picture's pixels on their way to a model (ops/math/image_math.h), against values worked out by hand. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/math/image_math.h"
#include "tests/ct_check.h"

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-12)

static ct_image_attrs plain(int64_t h, int64_t w)
{
    ct_image_attrs a = { .out_h = h, .out_w = w, .nstd = 3, .std = { 1, 1, 1 } };
    return a;
}

static double sample(const ct_image_attrs *a, const ct_image_draw *d, const uint8_t *src, int64_t hs, int64_t ws,
                     int64_t i, int64_t j)
{
    ct_image_point p = ct_image_locate(d, hs, ws, i, j);
    return ct_image_fetch(src, ws, 1, &p, 0, a->fill);
}

START_TEST(test_image_identity_is_exact)
{
    uint8_t src[6 * 5];
    for (int i = 0; i < 30; i++) src[i] = (uint8_t)(i * 37);
    ct_image_attrs a = plain(6, 5);
    a.mean[0] = 0.25;
    a.std[0] = 0.5;
    ct_image_draw d = ct_image_draw_sample(&a, 6, 5, 3, 4);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 5; j++) {
            double v = sample(&a, &d, src, 6, 5, i, j);
            ck_assert(v == src[i * 5 + j]);
            ck_assert(ct_image_finish(&a, &d, v, 0, 0) == (src[i * 5 + j] / 255.0 - 0.25) / 0.5);
        }
}
END_TEST

/* Half-pixel centres: [0,100] to four pixels is 0, 25, 75, 100; four pixels 0,40,80,120 to two are 20, 100. */
START_TEST(test_image_resize)
{
    const uint8_t two[2] = { 0, 100 }, four[4] = { 0, 40, 80, 120 };
    ct_image_attrs up = plain(1, 4), down = plain(1, 2);
    ct_image_draw d = ct_image_draw_sample(&up, 1, 2, 0, 0);
    NEAR(sample(&up, &d, two, 1, 2, 0, 0), 0);
    NEAR(sample(&up, &d, two, 1, 2, 0, 1), 25);
    NEAR(sample(&up, &d, two, 1, 2, 0, 2), 75);
    NEAR(sample(&up, &d, two, 1, 2, 0, 3), 100);
    d = ct_image_draw_sample(&down, 1, 4, 0, 0);
    NEAR(sample(&down, &d, four, 1, 4, 0, 0), 20);
    NEAR(sample(&down, &d, four, 1, 4, 0, 1), 100);
}
END_TEST

/* A shift by whole pixels moves the picture, and `fill` comes in from outside; half a pixel mixes. */
START_TEST(test_image_shift)
{
    const uint8_t src[4] = { 10, 20, 30, 40 };
    ct_image_attrs a = plain(1, 4);
    a.fill = 1;
    ct_image_draw d = ct_image_draw_sample(&a, 1, 4, 0, 0);
    d.augmented = true;
    d.shift_x = 1;
    NEAR(sample(&a, &d, src, 1, 4, 0, 0), 255);
    NEAR(sample(&a, &d, src, 1, 4, 0, 1), 10);
    NEAR(sample(&a, &d, src, 1, 4, 0, 3), 30);
    d.shift_x = -0.5;
    NEAR(sample(&a, &d, src, 1, 4, 0, 0), 15);
    NEAR(sample(&a, &d, src, 1, 4, 0, 3), 0.5 * 40 + 0.5 * 255);
    d.shift_x = 100;
    NEAR(sample(&a, &d, src, 1, 4, 0, 0), 255);
}
END_TEST

/* A quarter turn about the centre of a 3x3 picture, through the same matrix the draws fill. Rows grow downwards, so the
 * forward map (x,y) -> (-y,x) takes the right column to the bottom row. */
START_TEST(test_image_rotation)
{
    const uint8_t src[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const int turned[9] = { 7, 4, 1, 8, 5, 2, 9, 6, 3 };
    ct_image_attrs a = plain(3, 3);
    ct_image_draw d = ct_image_draw_sample(&a, 3, 3, 0, 0);
    d.augmented = true;
    d.ixx = 0, d.ixy = 1, d.iyx = -1, d.iyy = 0; /* inverse of (x,y) -> (-y,x) */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) NEAR(sample(&a, &d, src, 3, 3, i, j), turned[i * 3 + j]);
}
END_TEST

/* The drawn inverse undoes scale * rotation * shear, and every parameter keeps to its range and uses it. */
START_TEST(test_image_draws)
{
    ct_image_attrs a = plain(60, 160);
    a.augment = 1, a.seed = 11, a.prob = 1, a.shift_x = 3, a.shift_y = 2, a.scale = 0.2, a.rotate = 30, a.shear = 20;
    a.brightness = 0.1, a.contrast = 0.3, a.noise = 0.05, a.blur = 1.5;
    double low[7] = { 9, 9, 9, 9, 9, 9, 9 }, high[7] = { -9, -9, -9, -9, -9, -9, -9 };
    int radii[3] = { 0 };
    for (int id = 0; id < 2000; id++) {
        ct_image_draw d = ct_image_draw_sample(&a, 60, 160, id, 7);
        double det = d.ixx * d.iyy - d.ixy * d.iyx, s = 1 / sqrt(det);
        /* Forward matrix = inverse of the inverse; its first column is s(cos, sin). */
        double fx = d.iyy / det, fy = -d.iyx / det, gx = -d.ixy / det, gy = d.ixx / det;
        double angle = atan2(fy, fx);
        double k = (gx * fx + gy * fy) / (s * s); /* shear: projection of the second column on the first */
        double got[7] = { d.shift_x / 3,
                          d.shift_y / 2,
                          (s - 1) / 0.2,
                          angle / (30 * M_PI / 180),
                          atan(k) / (20 * M_PI / 180),
                          d.brightness / 0.1,
                          (d.contrast - 1) / 0.3 };
        for (int i = 0; i < 7; i++) {
            ck_assert_msg(fabs(got[i]) <= 1 + 1e-9, "parameter %d is %g of its range", i, got[i]);
            low[i] = fmin(low[i], got[i]);
            high[i] = fmax(high[i], got[i]);
        }
        NEAR(fx * fx + fy * fy, s * s);
        ck_assert(d.noise >= 0 && d.noise < 0.05);
        double taps = d.tap[0] + 2 * (d.tap[1] + d.tap[2]);
        NEAR(taps, 1);
        ck_assert_int_le(d.radius, 2);
        radii[d.radius]++;
    }
    for (int i = 0; i < 7; i++)
        ck_assert_msg(low[i] < -0.98 && high[i] > 0.98, "parameter %d stays in [%g, %g]", i, low[i], high[i]);
    ck_assert_int_gt(radii[1], 500);
    ck_assert_int_gt(radii[2], 500);
}
END_TEST

/* Shifts are whole pixels, each as often as any other, and a fraction is left out. */
START_TEST(test_image_whole_shifts)
{
    ct_image_attrs a = plain(10, 10);
    int seen[7] = { 0 }, draws = 7000;
    a.augment = 1, a.seed = 5, a.prob = 1, a.shift_x = 3.9, a.shift_y = 0.9;
    for (int i = 0; i < draws; i++) {
        const ct_image_draw d = ct_image_draw_sample(&a, 10, 10, i, 0);
        ck_assert(d.shift_x == rint(d.shift_x) && fabs(d.shift_x) <= 3 && d.shift_y == 0);
        seen[(int)d.shift_x + 3]++;
    }
    for (int i = 0; i < 7; i++) ck_assert_int_lt(abs(seen[i] - draws / 7), 5 * 30); /* sqrt(7000/7 * 6/7) = 29.3 */
}
END_TEST

/* A draw depends on (seed, epoch, sample) alone, and on each of them; prob is the share of samples augmented. */
START_TEST(test_image_draw_keys)
{
    ct_image_attrs a = plain(10, 10);
    a.augment = 1, a.seed = 5, a.prob = 1, a.brightness = 0.5;
    double x = ct_image_draw_sample(&a, 10, 10, 3, 1).brightness;
    ck_assert(x == ct_image_draw_sample(&a, 10, 10, 3, 1).brightness);
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 4, 1).brightness);
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 3, 2).brightness);
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 1, 3).brightness);
    a.seed = 6;
    ck_assert(x != ct_image_draw_sample(&a, 10, 10, 3, 1).brightness);
    int augmented = 0;
    a.prob = 0.25;
    for (int i = 0; i < 4000; i++) augmented += ct_image_draw_sample(&a, 10, 10, i, 0).augmented;
    ck_assert_int_lt(abs(augmented - 1000), 5 * 28); /* sqrt(4000*0.25*0.75) = 27.4 */
    a.prob = 0;
    ck_assert(!ct_image_draw_sample(&a, 10, 10, 0, 0).augmented);
}
END_TEST

/* What is drawn for a sample is part of what a run can be repeated from. */
START_TEST(test_image_draws_stay)
{
    ct_image_attrs a = plain(60, 160);
    a.augment = 1, a.seed = 11, a.prob = 1, a.shift_x = 4, a.shift_y = 2, a.brightness = 0.5, a.contrast = 0.25, a.noise = 1;
    const ct_image_draw d = ct_image_draw_sample(&a, 60, 160, 3, 7);
    ck_assert(d.shift_x == -4 && d.shift_y == -1 && d.brightness == -0x1.1f32cp-6);
    ck_assert(d.contrast == 0x1.befd0bp-1 && d.noise == 0x1.083e98p-2 && d.ratio_x == 1 && d.ratio_y == 1);
    ck_assert(d.left == 0 && d.top == 0 && !d.mirrored);
    a.crop_h = 30, a.crop_w = 80, a.flip = 1; /* drawn beside them */
    const ct_image_draw e = ct_image_draw_sample(&a, 60, 160, 3, 7);
    ck_assert(e.shift_x == d.shift_x && e.shift_y == d.shift_y && e.brightness == d.brightness);
    ck_assert(e.contrast == d.contrast && e.noise == d.noise && e.ratio_x == 0.5 && e.ratio_y == 0.5 && e.mirrored);
}
END_TEST

/* A crop lies anywhere in the source, both ends included, as likely here as there, and mirrors are as many as was
 * asked, independent of it; whatever prob says. Without augmentation it is the middle, rounded to the left and up. */
START_TEST(test_image_view)
{
    enum { N = 8000, DOWN = 4, ACROSS = 9 };
    ct_image_attrs a = plain(13, 10);
    int down[DOWN + 1] = { 0 }, across[ACROSS + 1] = { 0 }, mirrored = 0, low = 0, first = 0;
    a.crop_h = 13, a.crop_w = 10;
    ct_image_draw d = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, 3, 4);
    ck_assert(d.top == 2 && d.left == 4 && !d.mirrored && d.ratio_x == 1 && d.ratio_y == 1);
    a.augment = 1, a.prob = 0, a.shift_x = 3, a.flip = 0.3, a.seed = 2;
    for (int i = 0; i < N; i++) {
        d = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, i, 1);
        ck_assert(!d.augmented && d.top >= 0 && d.top <= DOWN && d.left >= 0 && d.left <= ACROSS);
        ck_assert(d.top == floor(d.top) && d.left == floor(d.left));
        down[(int)d.top]++;
        across[(int)d.left]++;
        mirrored += d.mirrored;
        low += d.mirrored && d.left < 5;
        first += d.top < 1 && d.left < 5;
    }
    /* Standard deviations: sqrt(N p (1-p)). */
    for (int i = 0; i <= DOWN; i++) ck_assert_int_lt(abs(down[i] - N / 5), 5 * 36);
    for (int i = 0; i <= ACROSS; i++) ck_assert_int_lt(abs(across[i] - N / 10), 5 * 27);
    ck_assert_int_lt(abs(mirrored - 3 * N / 10), 5 * 41);
    ck_assert_int_lt(abs(low - 15 * N / 100), 5 * 32);
    ck_assert_int_lt(abs(first - N / 10), 5 * 27);
    int again = 0;
    for (int i = 0; i < 1000; i++) { /* another epoch, another place */
        const ct_image_draw e = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, i, 2);
        d = ct_image_draw_sample(&a, 13 + DOWN, 10 + ACROSS, i, 1);
        again += d.top == e.top && d.left == e.left;
    }
    ck_assert_int_lt(again, 20 + 5 * 5);
}
END_TEST

/* With a crop, what an augmentation moves in is the source's own as far as there is any; a mirror turns the picture before
 * it is moved, and a point goes where its pixel does. */
START_TEST(test_image_crop_and_mirror)
{
    const uint8_t src[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };
    ct_image_attrs a = plain(1, 4);
    a.fill = 1, a.crop_h = 1, a.crop_w = 4;
    ct_image_draw d = ct_image_draw_sample(&a, 1, 8, 0, 0);
    for (int j = 0; j < 4; j++) ck_assert(sample(&a, &d, src, 1, 8, 0, j) == 30 + 10 * j);
    d.mirrored = true;
    for (int j = 0; j < 4; j++) ck_assert(sample(&a, &d, src, 1, 8, 0, j) == 60 - 10 * j);
    d.augmented = true;
    d.shift_x = 1; /* 60 50 40 30 moves right, and 70 comes in */
    for (int j = 0; j < 4; j++) ck_assert(sample(&a, &d, src, 1, 8, 0, j) == 70 - 10 * j);
    d.shift_x = 4; /* 70, 80 and then nothing */
    ck_assert(sample(&a, &d, src, 1, 8, 0, 0) == 255 && sample(&a, &d, src, 1, 8, 0, 1) == 255);
    ck_assert(sample(&a, &d, src, 1, 8, 0, 2) == 80 && sample(&a, &d, src, 1, 8, 0, 3) == 70);
    double x, y;
    ct_image_move(&d, 6.5, 0.5, &x, &y); /* the middle of 70 */
    ck_assert(x == 3.5 && y == 0.5);
    const double window[4] = { 7, 0, 8, 1 }; /* pixels of the source: that of 80 */
    for (int j = 0; j < 4; j++) ck_assert_int_eq(ct_image_inside(&d, window, 1, 8, 0, j), j == 2);
}
END_TEST

/* A clip's frames share what is drawn of it but the noise; the first has that of a picture. */
START_TEST(test_image_noise_of_frames)
{
    ct_image_attrs a = plain(60, 160);
    a.augment = 1, a.seed = 11, a.prob = 1, a.shift_x = 4, a.brightness = 0.5, a.noise = 1;
    const int32_t row[3][4] = { { 9, 3, 7, 0 }, { 8, 3, 7, 1 }, { 2, 3, 7, 1 } };
    const ct_image_draw d = ct_image_draw_row(&a, 60, 160, row[0], 3), e = ct_image_draw_row(&a, 60, 160, row[1], 4),
                        f = ct_image_draw_row(&a, 60, 160, row[2], 4), g = ct_image_draw_row(&a, 60, 160, row[0], 4);
    double z[4][4];
    ck_assert(d.shift_x == e.shift_x && d.brightness == e.brightness && d.noise == e.noise);
    ct_image_noise4(&d, 5, z[0]);
    ct_image_noise4(&e, 5, z[1]);
    ct_image_noise4(&f, 5, z[2]);
    ct_image_noise4(&g, 5, z[3]);
    for (int i = 0; i < 4; i++) ck_assert(z[0][i] != z[1][i] && z[1][i] == z[2][i] && z[0][i] == z[3][i]);
}
END_TEST

START_TEST(test_image_noise_is_normal)
{
    ct_image_attrs a = plain(10, 10);
    a.augment = 1, a.prob = 1, a.noise = 0.1;
    ct_image_draw d = ct_image_draw_sample(&a, 10, 10, 1, 1);
    const int blocks = 20000;
    double sum = 0, squares = 0, fourth = 0, pairs = 0;
    for (int b = 0; b < blocks; b++) {
        double z[4];
        ct_image_noise4(&d, (uint64_t)b, z);
        for (int i = 0; i < 4; i++) {
            sum += z[i];
            squares += z[i] * z[i];
            fourth += z[i] * z[i] * z[i] * z[i];
        }
        pairs += z[0] * z[1] + z[1] * z[2];
    }
    const double n = 4.0 * blocks;
    ck_assert_double_lt(fabs(sum / n), 5 / sqrt(n));
    ck_assert_double_lt(fabs(squares / n - 1), 5 * sqrt(2 / n));
    ck_assert_double_lt(fabs(fourth / n - 3), 5 * sqrt(96 / n));
    ck_assert_double_lt(fabs(pairs / blocks), 5 * sqrt(2.0 / blocks));
}
END_TEST

START_TEST(test_image_values)
{
    ct_image_attrs a = plain(1, 1);
    a.mean[1] = 0.5, a.std[1] = 0.25;
    ct_image_draw d = ct_image_draw_sample(&a, 1, 1, 0, 0);
    d.augmented = true;
    d.contrast = 2;
    d.brightness = 0.1;
    NEAR(ct_image_finish(&a, &d, 0.4 * 255, 0, 0), 0.4); /* (0.4-0.5)*2 + 0.5 + 0.1 */
    NEAR(ct_image_finish(&a, &d, 0.4 * 255, 0, 1), (0.4 - 0.5) / 0.25);
    NEAR(ct_image_finish(&a, &d, 255, 0, 0), 1); /* clamped */
    NEAR(ct_image_finish(&a, &d, 0, 0, 0), 0);
    d.noise = 0.05;
    NEAR(ct_image_finish(&a, &d, 0.4 * 255, -2, 0), 0.3);
    d.augmented = false; /* nothing but the scaling */
    NEAR(ct_image_finish(&a, &d, 51, -2, 0), 0.2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("image arithmetic");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_image_identity_is_exact);
    tcase_add_test(t, test_image_resize);
    tcase_add_test(t, test_image_shift);
    tcase_add_test(t, test_image_rotation);
    tcase_add_test(t, test_image_draws);
    tcase_add_test(t, test_image_whole_shifts);
    tcase_add_test(t, test_image_draw_keys);
    tcase_add_test(t, test_image_draws_stay);
    tcase_add_test(t, test_image_view);
    tcase_add_test(t, test_image_crop_and_mirror);
    tcase_add_test(t, test_image_noise_of_frames);
    tcase_add_test(t, test_image_noise_is_normal);
    tcase_add_test(t, test_image_values);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
