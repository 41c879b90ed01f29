/* Slider labels, and where their places go: names, text, letterboxes of any size, cells and back, splits. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "data/build.h"
#include "task/slider/draw.h"
#include "task/slider/goal.h"
#include "task/slider/slider.h"
#include "tests/ct_check.h"

/* ---- labels ---- */

START_TEST(test_names)
{
    static const char *const none[] = { "Pic1_Bgx2Bgy3_Sdx4_a.png", "pic0001_Bgx2Bgy3_Sdx4Sdy5_a.png", "",
                                        "Pic0001_Bgx2Bgy3_Sdx4Sdy5.png", "Pic0001_Bgx-2Bgy3_Sdx4Sdy5_a.png",
                                        "Pic0001_Bgx2Bgy3_Sdx4Sdy5_a" };
    char name[128];
    ct_slider_label l;
    ck_assert(ct_slider_name_parse("x/Pic0012_Bgx210Bgy80_Sdx38Sdy81_0a1b2c3d.png", &l));
    ck_assert(l.pic == 12 && l.gap[0] == 210 && l.gap[1] == 80 && l.piece[0] == 38 && l.piece[1] == 81);
    ck_assert(isnan(l.angle) && l.fakes == 0);
    l.gap[0] = 209.6;
    ct_slider_name(&l, "0a1b2c3d", name, sizeof name);
    ck_assert_str_eq(name, "Pic0012_Bgx210Bgy80_Sdx38Sdy81_0a1b2c3d.png");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) ck_assert(!ct_slider_name_parse(none[i], &l));
}
END_TEST

START_TEST(test_text)
{
    ct_slider_label a = { .gap = { 210.25, 80.5 }, .piece = { 38, 80.5 }, .angle = -1.25, .scale = 1, .fakes = 2,
                          .fake = { { 100, 30 }, { 250, 90.75 } }, .fake_angle = { 12, -20 }, .fake_scale = { 1.1, 0.9 },
                          .pic = 7, .side = 48, .width = 320, .height = 160, .style = "darker",
                          .confusion = "confusing_gap", .shape = "jigsaw-0120" }, b;
    char *text = ct_slider_label_text(&a);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert_int_eq(ct_slider_label_parse("a.png", text, &b), CT_OK);
    ck_assert_mem_eq(a.gap, b.gap, sizeof a.gap);
    ck_assert_mem_eq(a.piece, b.piece, sizeof a.piece);
    ck_assert_mem_eq(a.fake, b.fake, sizeof a.fake);
    ck_assert(b.angle == a.angle && b.fakes == 2 && b.fake_angle[1] == -20 && b.fake_scale[0] == 1.1 && b.side == 48);
    ck_assert(b.pic == 7 && b.width == 320 && b.height == 160);
    ck_assert(strcmp(b.style, a.style) == 0 && strcmp(b.confusion, a.confusion) == 0 && strcmp(b.shape, a.shape) == 0);
    ct_free(text);
    ck_assert_int_eq(ct_slider_label_parse("a.png", "{\"labels\": 5}", &b), CT_EDATA);
    ck_assert_int_eq(ct_slider_label_parse("a.png", "no JSON", &b), CT_EDATA);
    ck_assert_int_eq(strncmp(ct_error_message(), "a.png: ", 7), 0);
}
END_TEST

/* ---- places ---- */

static ct_dataset_spec letterbox(int w, int h)
{
    ct_dataset_spec s;
    ct_dataset_spec_init(&s);
    s.width = w;
    s.height = h;
    s.channels = 3;
    s.size_rule = CT_SIZE_LETTERBOX;
    s.cache = false;
    return s;
}

/* A place of a picture of any size goes to its cell and comes back. */
START_TEST(test_places_survive)
{
    const ct_dataset_spec s = letterbox(512, 256);
    ct_rng rng;
    ct_rng_init(&rng, 3, CT_RNG_TEST, 0);
    for (int i = 0; i < 20000; i++) {
        const int w = 1 + (int)ct_rng_below(&rng, i % 2 ? 600 : 5000), h = 1 + (int)ct_rng_below(&rng, i % 3 ? 400 : 5000);
        const double at[2] = { ct_rng_uniform(&rng, 0, w), ct_rng_uniform(&rng, 0, h) };
        ct_fit fit;
        ct_fit_of(&s, w, h, &fit);
        ck_assert(fit.scale[0] == fit.scale[1] && fit.window[0] >= 0 && fit.window[1] >= 0);
        ck_assert(fit.window[2] <= 512 && fit.window[3] <= 256);
        for (int k = 0; k < 2; k++) {
            const float x = (float)(fit.scale[k] * at[k] + fit.shift[k]);
            const double cell = floor((double)x / CT_SLIDER_STRIDE);
            const float offset = (float)((double)x / CT_SLIDER_STRIDE - cell - 0.5);
            const double back = (CT_SLIDER_STRIDE * (cell + 0.5 + (double)offset) - fit.shift[k]) / fit.scale[k];
            ck_assert(fabs(back - at[k]) <= 0.01 * fmax(1, 1 / fit.scale[k]));
            ck_assert((double)x >= (double)fit.window[k] - 0.5 && (double)x <= (double)fit.window[k + 2] + 0.5);
        }
    }
}
END_TEST

/* The middle of what is dark in a picture [h,w,3]. */
static void centroid(const ct_image *im, double out[2])
{
    double sum = 0, x = 0, y = 0;
    for (int i = 0; i < im->w * im->h; i++) {
        const double v = 255 - im->px[3 * i];
        sum += v;
        x += v * (i % im->w + 0.5);
        y += v * (i / im->w + 0.5);
    }
    out[0] = x / sum;
    out[1] = y / sum;
}

/* What is drawn at a place is found where the fit says. */
START_TEST(test_pixels_go_along)
{
    static const int size[][2] = { { 320, 160 }, { 401, 200 }, { 333, 187 }, { 1000, 77 }, { 77, 300 }, { 1700, 901 } };
    const ct_dataset_spec s = letterbox(512, 256);
    for (size_t k = 0; k < sizeof size / sizeof size[0]; k++) {
        const int w = size[k][0], h = size[k][1];
        ct_image im;
        ct_fit fit;
        double before[2], after[2];
        ck_assert_int_eq(ct_image_make(w, h, 3, 255, &im), CT_OK);
        for (int y = h / 2; y < h - h / 8; y++)
            for (int x = w / 2; x < w - w / 8; x++) memset(im.px + 3 * (y * w + x), 0, 3);
        centroid(&im, before);
        ck_assert_int_eq(ct_fit_image(&s, "picture", &im, NULL), CT_OK);
        ck_assert(im.w == 512 && im.h == 256);
        centroid(&im, after);
        ct_fit_of(&s, w, h, &fit);
        for (int a = 0; a < 2; a++) ck_assert_double_eq_tol(fit.scale[a] * before[a] + fit.shift[a], after[a], 0.1);
        ct_image_free(&im);
    }
}
END_TEST

/* A picture of which a letterbox leaves less than the task asks for is refused by name, and one of just that much is
 * read. */
START_TEST(test_thin_pictures)
{
    static const struct {
        int w, h;
        bool fine;
    } size[] = { { 512, 8, true }, { 512, 7, false }, { 5000, 1, false }, { 3, 200, false }, { 1, 1, true } };
    ct_dataset_spec s = letterbox(512, 256);
    ct_task_slider.geometry(NULL, &s);
    for (size_t k = 0; k < sizeof size / sizeof size[0]; k++) {
        ct_image im;
        ck_assert_int_eq(ct_image_make(size[k].w, size[k].h, 3, 255, &im), CT_OK);
        const ct_status st = ct_fit_image(&s, "thin.png", &im, NULL);
        ck_assert_int_eq(st, size[k].fine ? CT_OK : CT_EDATA);
        if (st) ck_assert_ptr_nonnull(strstr(ct_error_message(), "thin.png: of "));
        ct_image_free(&im);
    }
}
END_TEST

/* ---- data sets ---- */

static ct_dataset *drawn(int n)
{
    const ct_dataset_spec s = letterbox(128, 64);
    ct_slider_params p;
    ct_source source;
    ct_labels *labels;
    ct_dataset *set;
    ct_slider_params_init(&p);
    ck_assert_int_eq(ct_slider_labels(NULL, NULL, &labels), CT_OK);
    ck_assert_int_eq(ct_slider_source(&p, 4, &source), CT_OK);
    source.first = 0;
    source.n = n;
    ck_assert_int_eq(ct_dataset_open_source(&s, &source, labels, 1, &set), CT_OK);
    return set;
}

START_TEST(test_fields)
{
    ct_dataset *set = drawn(30);
    for (int64_t i = 0; i < 30; i++) {
        const float *points = ct_dataset_field(set, CT_SLIDER_POINTS, i);
        const float *scale = ct_dataset_field(set, CT_SLIDER_SCALE, i), *fakes = ct_dataset_field(set, CT_SLIDER_FAKE, i);
        const float *arrow = ct_dataset_field(set, CT_SLIDER_DIRECTION, i);
        ct_slider_label l;
        ct_fit fit;
        int w, h;
        ck_assert_int_eq(ct_slider_label_parse("x", ct_dataset_label_text(set, i), &l), CT_OK);
        ct_dataset_fit(set, i, &fit);
        ct_dataset_source_size(set, i, &w, &h);
        ck_assert(w == l.width && h == l.height);
        ck_assert(fabs(fit.scale[0] - (double)*scale) < 1e-6);
        for (int k = 0; k < 2; k++) {
            ck_assert(fabs(fit.scale[k] * l.gap[k] + fit.shift[k] - (double)points[k]) < 1e-4);
            ck_assert(fabs(fit.scale[k] * l.piece[k] + fit.shift[k] - (double)points[2 + k]) < 1e-4);
        }
        for (int k = 0; k < CT_SLIDER_MAX_FAKES; k++) ck_assert(isnan(fakes[2 * k]) == (k >= l.fakes));
        ck_assert(!isnan(l.angle)); /* the generator knows it */
        const double angle = atan2((double)points[1] - (double)arrow[3], (double)arrow[2] - (double)points[0]);
        ck_assert(fabs(angle * 180 / M_PI - l.angle) < 0.01);
    }
    ct_dataset_close(set);
}
END_TEST

START_TEST(test_split_by_background)
{
    ct_dataset *set = drawn(60);
    ct_subset kept, held;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        ck_assert_int_eq(ct_dataset_split(set, 0.3, seed, &kept, &held), CT_OK);
        ck_assert(kept.n > 0 && held.n > 0 && kept.n + held.n == 60);
        for (int64_t i = 0; i < kept.n; i++)
            for (int64_t j = 0; j < held.n; j++) {
                ct_slider_label a, b;
                ct_slider_label_parse("a", ct_dataset_label_text(set, kept.index[i]), &a);
                ct_slider_label_parse("b", ct_dataset_label_text(set, held.index[j]), &b);
                ck_assert(a.pic >= 0 && a.pic != b.pic);
            }
        ct_subset_free(&kept);
        ct_subset_free(&held);
    }
    ct_dataset_close(set);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slider data");
    TCase *t = tcase_create("slider data");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_names);
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_places_survive);
    tcase_add_test(t, test_pixels_go_along);
    tcase_add_test(t, test_thin_pictures);
    tcase_add_test(t, test_fields);
    tcase_add_test(t, test_split_by_background);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
