/* Styles as files: what is printed reads back as the same generator; what is wrong in a file is told with its place. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/data/data_util.h"
#include "tests/task/text/synth/synth_util.h"

static char *dir;

static void setup(void) { dir = ct_util_tempdir(); }
static void teardown(void) { ct_util_remove(dir); }

static const char *file_of(const char *text)
{
    ct_util_text(dir, "s.yaml", text);
    return ct_util_path(dir, "s.yaml");
}

static char *print(const ct_text_params *p)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    ck_assert_msg(ct_text_style_print(p, f) == CT_OK, "%s", ct_error_message());
    fclose(f);
    return text;
}

static void same_generator(const ct_text_params *a, const ct_text_params *b)
{
    ct_text_gen *x, *y;
    char s[CT_TEXT_BYTES], t[CT_TEXT_BYTES];
    ck_assert_int_eq(ct_text_gen_open(a, 5, &x), CT_OK);
    ck_assert_int_eq(ct_text_gen_open(b, 5, &y), CT_OK);
    ck_assert_str_eq(ct_text_gen_key(x), ct_text_gen_key(y));
    ct_text_gen_close(x);
    ct_text_gen_close(y);
    ct_image p = draw(a, 5, 3, s), q = draw(b, 5, 3, t);
    ck_assert_str_eq(s, t);
    ck_assert_mem_eq(p.px, q.px, (size_t)p.w * (size_t)p.h * (size_t)p.c);
    ct_image_free(&p);
    ct_image_free(&q);
}

START_TEST(round_trip)
{
    for (int i = 0; ct_text_style_name(i); i++) {
        ct_text_params p = style(ct_text_style_name(i)), q;
        if (p.mixed) continue;
        char *text = print(&p);
        ck_assert_msg(ct_text_params_init(&q, file_of(text)) == CT_OK, "%s", ct_error_message());
        same_generator(&p, &q);
        free(text);
    }
}
END_TEST

/* Every parameter is in the file, and in the key: another value gives other pictures to the cache. */
START_TEST(all_parameters)
{
    ct_text_params p = style("dark"), q;
    p.width = 133, p.height = 47, p.length_min = 2, p.length_max = 5;
    strcpy(p.alphabet, "A\"\\B");
    p.fade_angle = (ct_range){ -10, 20.5 };
    p.background2 = (ct_range){ 90, 100 };
    p.noise = (ct_range){ 2, 9.25 };
    p.shadow = 0.5, p.shadow_offset = (ct_range){ 1, 2 };
    p.grid = (ct_range){ 9, 10 };
    p.wave_x = (ct_range){ 1, 2 }, p.wave_y = (ct_range){ 0.1, 0.3 }, p.wave_length = (ct_range){ 50, 60 };
    char *text = print(&p);
    ck_assert_msg(ct_text_params_init(&q, file_of(text)) == CT_OK, "%s", ct_error_message());
    same_generator(&p, &q);
    static const size_t at[] = { offsetof(ct_text_params, fade_angle.lo), offsetof(ct_text_params, background2.hi),
                                 offsetof(ct_text_params, noise.hi), offsetof(ct_text_params, rotation.lo) };
    ct_text_gen *x, *y;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        q = p;
        *(double *)((char *)&q + at[i]) += 0.5;
        ck_assert_int_eq(ct_text_gen_open(&p, 5, &x), CT_OK);
        ck_assert_int_eq(ct_text_gen_open(&q, 5, &y), CT_OK);
        ck_assert_str_ne(ct_text_gen_key(x), ct_text_gen_key(y));
        ct_text_gen_close(x);
        ct_text_gen_close(y);
    }
    free(text);
}
END_TEST

/* The angle of the fade and its second colour: dark at the left, light at the right. */
START_TEST(fade)
{
    ct_text_params p = style("shadow");
    char label[CT_TEXT_BYTES];
    p.fade_angle = (ct_range){ 0, 0 };
    p.background = (ct_range){ 150, 151 };
    p.background2 = (ct_range){ 250, 251 };
    p.dots_min = p.dots_max = p.arcs_min = p.arcs_max = 0;
    for (int i = 0; i < 8; i++) {
        ct_image im = draw(&p, 1, i, label);
        ck_assert_int_lt(im.px[0], 155);
        ck_assert_int_gt(im.px[3 * (im.w - 1)], 245);
        ct_image_free(&im);
    }
}
END_TEST

/* Noise of 10: so much around the background's colour, and the same picture again without it. */
START_TEST(noise)
{
    ct_text_params p = style("plain"), q = p;
    char label[CT_TEXT_BYTES], same[CT_TEXT_BYTES];
    p.noise = (ct_range){ 10, 10 };
    double sum = 0, squares = 0, n = 0;
    for (int i = 0; i < 4; i++) {
        ct_image x = draw(&p, 1, i, label), y = draw(&q, 1, i, same);
        ck_assert_str_eq(label, same);
        for (int k = 0; k < x.w * x.h * 3; k++) {
            if (y.px[k] < 60 || y.px[k] > 200) continue; /* where noise is cut off */
            sum += x.px[k] - y.px[k];
            squares += (x.px[k] - y.px[k]) * (x.px[k] - y.px[k]);
            n++;
        }
        ct_image_free(&x);
        ct_image_free(&y);
    }
    ck_assert_double_lt(sum / n * (sum / n), 1);
    ck_assert_double_gt(squares / n, 80);
    ck_assert_double_lt(squares / n, 120);
}
END_TEST

START_TEST(wrong)
{
    static const char fonts[] = "fonts: [DejaVuSans.ttf]\nsizes: [40]\n";
    static const struct { const char *text, *want; } bad[] = {
        { "fonts: [a.ttf]\nsizes: [40]\nbackgrond: [1, 2]\n", "s.yaml:3:1: no parameter 'backgrond' of a style; did "
                                                               "you mean 'background'?" },
        { "ink: 3\n", "s.yaml:1:6: ink: must be two numbers, [least, most]" },
        { "ink: [1, x]\n", "s.yaml:1:6: ink: must be two numbers" },
        { "dots: [1, 2.5]\n", "s.yaml:1:7: dots: must be two whole numbers" },
        { "width: wide\n", "s.yaml:1:8: width: must be a whole number" },
        { "smooth: 1\n", "s.yaml:1:9: smooth: must be true or false" },
        { "fonts: []\n", "s.yaml:1:8: fonts: must be a list of 1 to 16 fonts" },
        { "noise: [1, 2]\nnoise: [1, 2]\n", "s.yaml:2:1: noise: must be given once" },
        { "- 1\n", "s.yaml: not a style" },
        { "ink: [1, 2\n", "not valid YAML" },
        { "", "s.yaml: not a style" },
    };
    ct_text_params p;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(ct_text_params_init(&p, file_of(bad[i].text)) == CT_ECONFIG, "%s was read", bad[i].text);
        ck_message(bad[i].want);
    }
    char text[200];
    snprintf(text, sizeof text, "%srotation: [0, 500]\n", fonts);
    ck_assert_int_eq(ct_text_params_init(&p, file_of(text)), CT_ECONFIG);
    ck_message("s.yaml");
    ck_message("rotation");
    ck_assert_int_eq(ct_text_params_init(&p, file_of(fonts)), CT_OK);
    ck_assert(p.width == 160 && p.n_fonts == 1 && p.sizes[0] == 40 && p.lines_max == 0);
    ck_assert_int_eq(ct_text_params_init(&p, ct_util_path(dir, "none.yaml")), CT_EIO);
    p = style("mixed");
    ck_assert_int_eq(ct_text_style_print(&p, stdout), CT_ECONFIG);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("style files");
    TCase *t = tcase_create("style files");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, round_trip);
    tcase_add_test(t, all_parameters);
    tcase_add_test(t, fade);
    tcase_add_test(t, noise);
    tcase_add_test(t, wrong);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
