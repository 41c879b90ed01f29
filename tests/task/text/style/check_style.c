/* fit-style on pictures whose style is known: what was drawn by a built-in style is fitted without beginning with it,
 * and what is found draws nearer to it than every other built-in style does. CT_STYLES names others than the two that
 * are quick, CT_ROUNDS another number of rounds. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "task/text/style/style.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static ct_text_params style(const char *name)
{
    ct_text_params p;
    ok(ct_text_params_init(&p, name));
    return p;
}

/* The same pictures are at no distance, other lots of a style at a small one, and another style is further. */
START_TEST(distances)
{
    static const char *const names[] = { "simple", "plain", "lines", "dots", "dark", "grid" };
    enum { N = 6 };
    ct_look a[N], b[N];
    for (int i = 0; i < N; i++) {
        const ct_text_params p = style(names[i]);
        ok(ct_look_drawn(&p, 1, 60, 2, NULL, &a[i]));
        ok(ct_look_drawn(&p, 2, 60, 1, NULL, &b[i]));
        ck_assert(ct_look_distance(&a[i], &a[i]) == 0);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            if (i == k) continue;
            ck_assert_msg(ct_look_distance(&a[i], &b[k]) > 2 * ct_look_distance(&a[i], &b[i]), "%s and %s: %.3f, %.3f",
                          names[i], names[k], ct_look_distance(&a[i], &b[k]), ct_look_distance(&a[i], &b[i]));
        }
}
END_TEST

/* Numbers of a picture that is known: a bar of 10 x 30 pixels on a background of 200 in a picture of 60 x 60. */
START_TEST(numbers)
{
    ct_image im;
    ct_look_one o;
    ok(ct_image_make(60, 60, 1, 200, &im));
    for (int y = 15; y < 45; y++) memset(im.px + y * 60 + 24, 50, 10);
    ok(ct_look_at(&im, &o));
    ck_assert_double_eq_tol(o.number[CT_LOOK_BACKGROUND], 200, 0.5);
    ck_assert_double_eq_tol(o.number[CT_LOOK_CONTRAST], 150, 0.5);
    ck_assert_double_eq_tol(o.number[CT_LOOK_INK], 300.0 / 3600, 1e-9);
    ck_assert_double_eq_tol(o.number[CT_LOOK_RUN_X], 10, 1e-9);
    ck_assert_double_eq_tol(o.number[CT_LOOK_RUN_Y], 30, 1e-9);
    ck_assert_double_eq_tol(o.number[CT_LOOK_STROKE], 10, 1e-9);
    ck_assert_double_eq_tol(o.number[CT_LOOK_TOP], (15 + 0.05 * 30) / 60, 1e-6);
    ck_assert_double_eq_tol(o.number[CT_LOOK_BOTTOM], (15 + 0.95 * 30) / 60, 1e-6);
    ck_assert_double_eq_tol(o.number[CT_LOOK_LEFT], (24 + 0.03 * 10) / 60, 1e-6);
    ck_assert(o.number[CT_LOOK_LETTERS] == 1 && o.number[CT_LOOK_SPECKS] == 0 && o.number[CT_LOOK_LARGEST] == 1);
    ck_assert(o.number[CT_LOOK_NOISE] == 0 && o.number[CT_LOOK_GAPS] == 0 && o.number[CT_LOOK_FADE_X] == 0);
    ct_image_free(&im);
}
END_TEST

/* Noise of a known size is measured. */
START_TEST(noise)
{
    for (double sigma = 3; sigma <= 12; sigma *= 2) {
        ct_text_params p = style("plain");
        ct_look l;
        p.background = (ct_range){ 150, 160 };
        p.noise = (ct_range){ sigma, sigma };
        ok(ct_look_drawn(&p, 1, 20, 1, NULL, &l));
        ck_assert_msg(fabs(l.mean[CT_LOOK_NOISE] - sigma) < 0.2 * sigma + 0.3, "%g: %g", sigma, l.mean[CT_LOOK_NOISE]);
    }
}
END_TEST

static void fit_one(const char *name, int64_t rounds)
{
    enum { N = 200 };
    static ct_style_fit f, again;
    ct_look drawn, other;
    const char *own = name, *nearest = "";
    ct_text_params p = style(name);
    double least = INFINITY;
    memset(&f, 0, sizeof f);
    f.width = 160, f.height = 60, f.channels = 3, f.seed = 1, f.threads = 2, f.rounds = rounds, f.without = own;
    ok(ct_look_drawn(&p, 99, N, 2, NULL, &f.real));
    again = f;
    ok(ct_fit_search(&f));
    ok(ct_look_drawn(&f.found, 7, N, 2, NULL, &drawn));
    const double found = ct_look_distance(&f.real, &drawn);
    for (int i = 0; ct_text_style_name(i); i++) {
        p = style(ct_text_style_name(i));
        if (p.mixed || strcmp(ct_text_style_name(i), own) == 0) continue;
        ok(ct_look_drawn(&p, 7, N, 2, NULL, &other));
        const double d = ct_look_distance(&f.real, &other);
        if (d < least) least = d, nearest = ct_text_style_name(i);
    }
    p = style(name);
    ok(ct_look_drawn(&p, 7, N, 2, NULL, &other));
    printf("%-8s  found %.3f  from %-8s  nearest other %-8s %.3f  itself %.3f\n", name, found, f.from, nearest, least,
           ct_look_distance(&f.real, &other));
    printf("          ink %.4f %.4f  stroke %.2f %.2f  top %.3f %.3f  bottom %.3f %.3f\n", f.real.mean[CT_LOOK_INK],
           drawn.mean[CT_LOOK_INK], f.real.mean[CT_LOOK_STROKE], drawn.mean[CT_LOOK_STROKE], f.real.mean[CT_LOOK_TOP],
           drawn.mean[CT_LOOK_TOP], f.real.mean[CT_LOOK_BOTTOM], drawn.mean[CT_LOOK_BOTTOM]);
    ck_assert_msg(found < least, "%s: %.3f, and %s is at %.3f", name, found, nearest, least);
    if (rounds > 40) return;
    again.threads = 1; /* the same whatever the threads */
    ok(ct_fit_search(&again));
    ck_assert(again.distance == f.distance && memcmp(&again.found.sizes, &f.found.sizes, sizeof f.found.sizes) == 0);
}

START_TEST(known_styles)
{
    const char *given = getenv("CT_STYLES"), *rounds = getenv("CT_ROUNDS");
    char names[256], *rest = names;
    snprintf(names, sizeof names, "%s", given ? given : "plain lines");
    for (char *name; (name = strtok_r(rest, " ", &rest));) fit_one(name, rounds ? atoi(rounds) : 40);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("style");
    TCase *t = tcase_create("style");
    ct_log_set_level(CT_LOG_ERROR);
    tcase_set_timeout(t, 3000);
    tcase_add_test(t, distances);
    tcase_add_test(t, numbers);
    tcase_add_test(t, noise);
    tcase_add_test(t, known_styles);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
