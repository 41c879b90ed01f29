/* The slider generator's pictures: a pure function of (parameters, seed, index), labels that are where things were
 * drawn, errors. CT_UPDATE=1 writes doc/slider-styles.png anew. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "tests/data/data_util.h"
#include "tests/task/slider/synth/slider_util.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- a pure function ---- */

static bool same_label(const ct_slider_drawn *a, const ct_slider_drawn *b)
{
    bool same = memcmp(a->gap, b->gap, sizeof a->gap) == 0 && memcmp(a->piece, b->piece, sizeof a->piece) == 0 &&
                a->angle == b->angle && a->fakes == b->fakes && a->size == b->size && a->style == b->style &&
                a->confusions == b->confusions && strcmp(a->shape, b->shape) == 0 && a->background == b->background;
    for (int i = 0; same && i < a->fakes; i++)
        same = a->fake[i].x == b->fake[i].x && a->fake[i].y == b->fake[i].y && a->fake[i].angle == b->fake[i].angle &&
               a->fake[i].scale == b->fake[i].scale;
    return same;
}

START_TEST(pure_function)
{
    static const int64_t order[] = { 7, 0, 7, 123456789012, 1, 7, (INT64_C(1) << 52) - 1 };
    const ct_slider_params p = params(NULL, _i ? 320 : 0, _i ? 160 : 0);
    pair x = pair_open(&p, 3), other = pair_open(&p, 4), far = pair_open(&p, 3 + (UINT64_C(1) << 40));
    for (int k = 0; k < 7; k++) {
        ct_slider_drawn a, b = draw_alone(&p, 3, order[k]), c;
        ck_ok(ct_slider_pen_draw(x.pen, order[k], k & 1, &a));
        ck_assert(same_picture(&a.picture, &b.picture) && same_label(&a, &b));
        ck_assert((a.clean.px != NULL) == (k & 1) && (a.piece_rgba != NULL) == (k & 1));
        ck_ok(ct_slider_pen_draw(other.pen, order[k], false, &c)); /* another seed */
        ck_assert(!same_picture(&a.picture, &c.picture));
        ct_slider_drawn_free(&c);
        ck_ok(ct_slider_pen_draw(far.pen, order[k], false, &c)); /* every bit of it counts */
        ck_assert(!same_picture(&a.picture, &c.picture));
        ct_slider_drawn_free(&c);
        for (int bit = 3; bit < 52 && k == 0; bit += 16) { /* and every bit of the index */
            ck_ok(ct_slider_pen_draw(x.pen, order[k] ^ INT64_C(1) << bit, false, &c));
            ck_assert(!same_picture(&a.picture, &c.picture));
            ct_slider_drawn_free(&c);
        }
        ct_slider_drawn_free(&a);
        ct_slider_drawn_free(&b);
    }
    pair_close(&x);
    pair_close(&other);
    pair_close(&far);
}
END_TEST

/* Pictures that share a background have its number, and no others. */
START_TEST(backgrounds_shared)
{
    const ct_slider_params p = params(NULL, 0, 0);
    pair x = pair_open(&p, 9);
    ct_slider_drawn before = { 0 }, d;
    for (int i = 0; i < 30; i++) {
        ck_ok(ct_slider_pen_draw(x.pen, i, true, &d));
        ck_assert_int_eq(d.background, i / p.per_background);
        if (i > 0) ck_assert(same_picture(&d.clean, &before.clean) == (d.background == before.background));
        ct_slider_drawn_free(&before);
        before = d;
    }
    ct_slider_drawn_free(&before);
    pair_close(&x);
}
END_TEST

/* ---- labels ---- */

/* Centroid of the pixels right of the piece that differ from the background, and how much these differ in the mean. */
static void seen_gap(const ct_slider_drawn *d, double at[2], double *change)
{
    const ct_image *a = &d->picture, *b = &d->clean;
    double n = 0, sx = 0, sy = 0, sum = 0;
    const int from = (int)(d->piece[0] + d->size / 2 + 12); /* its shadow, too */
    for (int y = 0; y < a->h; y++)
        for (int x = from; x < a->w; x++) {
            const uint8_t *u = a->px + 3 * ((size_t)y * (size_t)a->w + (size_t)x), *v = b->px + (u - a->px);
            int most = 0;
            for (int c = 0; c < 3; c++) most = abs(u[c] - v[c]) > most ? abs(u[c] - v[c]) : most;
            if (most <= 8) continue;
            n += 1;
            sx += x + 0.5;
            sy += y + 0.5;
            sum += most;
        }
    ck_assert(n > 0);
    at[0] = sx / n;
    at[1] = sy / n;
    *change = sum / n;
}

static void alpha_centre(const ct_slider_drawn *d, double at[2])
{
    double n = 0, sx = 0, sy = 0;
    for (int y = 0; y < d->picture.h; y++)
        for (int x = 0; x < d->picture.w; x++) {
            const double a = d->piece_rgba[4 * ((size_t)y * (size_t)d->picture.w + (size_t)x) + 3];
            n += a;
            sx += a * (x + 0.5);
            sy += a * (y + 0.5);
        }
    at[0] = sx / n;
    at[1] = sy / n;
}

/* Each style: what differs from the clean background is where the label says, and it can be seen. */
START_TEST(labels_are_centroids)
{
    enum { N = 150 };
    const char *name = ct_slider_style_name(_i);
    const ct_slider_params p = params(name, 0, 0);
    pair x = pair_open(&p, 31);
    double off[N], seen[N];
    int n = 0;
    for (int i = 0; i < N; i++) {
        ct_slider_drawn d;
        double at[2];
        ck_ok(ct_slider_pen_draw(x.pen, i, true, &d));
        ck_assert_int_eq(d.style, _i);
        ck_assert(d.gap[1] == d.piece[1]);
        alpha_centre(&d, at);
        ck_assert_msg(hypot(at[0] - d.piece[0], at[1] - d.piece[1]) < 0.05, "%s, picture %d: piece", name, i);
        if (d.fakes == 0) {
            seen_gap(&d, at, &seen[n]);
            off[n++] = hypot(at[0] - d.gap[0], at[1] - d.gap[1]);
        }
        ct_slider_drawn_free(&d);
    }
    qsort(off, (size_t)n, sizeof *off, by_value);
    qsort(seen, (size_t)n, sizeof *seen, by_value);
    ck_assert_msg(off[n / 2] < 0.35 && off[n * 9 / 10] < 0.7, "%s: half %.2f, nine tenths %.2f pixels off", name,
                  off[n / 2], off[n * 9 / 10]);
    ck_assert_msg(seen[0] >= 12 && seen[n / 2] >= 20, "%s: a gap of %.1f levels, half of %.1f", name, seen[0],
                  seen[n / 2]);
    pair_close(&x);
}
END_TEST

/* Centroid of what differs from the background near copy k, nearer than to other copies, beside gap and piece. */
static double seen_copy(const ct_slider_drawn *d, int k, double at[2])
{
    const ct_slider_fake *f = &d->fake[k];
    const double half = d->size * 0.55, shade = d->size / 2.0 + 9;
    double n = 0;
    at[0] = at[1] = 0;
    for (int y = 0; y < d->picture.h; y++)
        for (int x = 0; x < d->picture.w; x++) {
            const size_t i = 3 * ((size_t)y * (size_t)d->picture.w + (size_t)x);
            const double near = hypot(x - f->x, y - f->y);
            bool other = near > 0.75 * d->size * f->scale ||
                         (fabs(x - d->gap[0]) < half && fabs(y - d->gap[1]) < half) ||
                         (fabs(x - d->piece[0]) < shade && fabs(y - d->gap[1]) < shade);
            for (int m = 0; m < d->fakes; m++)
                other |= m != k && hypot(x - d->fake[m].x, y - d->fake[m].y) < near;
            if (other || abs(d->picture.px[i] - d->clean.px[i]) + abs(d->picture.px[i + 1] - d->clean.px[i + 1]) < 6)
                continue;
            n += 1;
            at[0] += x + 0.5;
            at[1] += y + 0.5;
        }
    at[0] /= n;
    at[1] /= n;
    return n;
}

START_TEST(copies)
{
    const ct_slider_params p = params("darker", 320, 160);
    pair x = pair_open(&p, 5);
    int tried = 0;
    for (int i = 0; i < 300 && tried < 40; i++) {
        ct_slider_drawn d;
        double at[2];
        ck_ok(ct_slider_pen_draw(x.pen, i, true, &d));
        for (int k = 0; k < d.fakes; k++, tried++) {
            const double n = seen_copy(&d, k, at);
            ck_assert_msg(n > 300 && hypot(at[0] - d.fake[k].x, at[1] - d.fake[k].y) < 2,
                          "picture %d, copy %d: %.0f pixels at %.1f %.1f, not %.1f %.1f", i, k, n, at[0], at[1],
                          d.fake[k].x, d.fake[k].y);
        }
        ct_slider_drawn_free(&d);
    }
    ck_assert_int_ge(tried, 40);
    pair_close(&x);
}
END_TEST

/* ---- backgrounds from a folder ---- */

START_TEST(folder)
{
    ct_slider_params p = params(NULL, 320, 160);
    char *dir = ct_util_tempdir(), key[33];
    ct_util_picture(dir, "b.png", 500, 333, 2);
    ct_util_picture(dir, "a.png", 90, 1500, 1); /* too narrow and too large: enlarged, brought to size */
    ck_ok(ct_slider_params_backgrounds(&p, dir));
    pair x = pair_open(&p, 4);
    snprintf(key, sizeof key, "%s", ct_slider_gen_key(x.g));
    for (int i = 0; i < 25; i++) {
        ct_slider_drawn d;
        ck_ok(ct_slider_pen_draw(x.pen, i, true, &d));
        ck_assert_int_eq(d.background, i / p.per_background % 2); /* the number of the file */
        ck_assert(d.picture.w == 320 && d.picture.h == 160 && !same_picture(&d.picture, &d.clean));
        ct_slider_drawn_free(&d);
    }
    pair_close(&x);
    ct_util_picture(dir, "a.png", 90, 1500, 3);
    x = pair_open(&p, 4);
    ck_assert_str_ne(key, ct_slider_gen_key(x.g));
    pair_close(&x);
    ct_slider_gen *g;
    ct_util_text(dir, "c.png", "no picture");
    ck_assert_int_eq(ct_slider_gen_open(&p, 4, &g), CT_EFORMAT);
    ck_message("c.png");
    ck_ok(ct_slider_params_backgrounds(&p, ct_util_path(dir, "nowhere")));
    ck_assert(ct_slider_gen_open(&p, 4, &g) != CT_OK);
    ck_message("nowhere");
    ct_util_remove(dir);
}
END_TEST

/* ---- errors ---- */

START_TEST(keys_and_errors)
{
    ct_slider_params p = params(NULL, 0, 0), q = p;
    ct_slider_gen *g;
    pair a = pair_open(&p, 1), b = pair_open(&p, 2), c;
    ck_assert(strlen(ct_slider_gen_key(a.g)) == 32 && strcmp(ct_slider_gen_key(a.g), ct_slider_gen_key(b.g)) != 0);
    q.style[0] = false;
    c = pair_open(&q, 1);
    ck_assert_str_ne(ct_slider_gen_key(a.g), ct_slider_gen_key(c.g));
    pair_close(&c);
    ct_slider_drawn d;
    ck_assert_int_eq(ct_slider_pen_draw(a.pen, -1, false, &d), CT_EINVAL);
    ck_assert_int_eq(ct_slider_pen_draw(a.pen, INT64_C(1) << 52, false, &d), CT_EINVAL);
    pair_close(&a);
    pair_close(&b);
    q.width = 100;
    q.height = 50;
    ck_assert_int_eq(ct_slider_gen_open(&q, 1, &g), CT_ECONFIG);
    ck_message("100x50");
    q = p;
    memset(q.style, 0, sizeof q.style);
    ck_assert_int_eq(ct_slider_gen_open(&q, 1, &g), CT_ECONFIG);
    char longer[CT_SLIDER_PATH + 8];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    ck_assert_int_eq(ct_slider_params_backgrounds(&p, longer), CT_ECONFIG);
}
END_TEST

START_TEST(out_of_memory)
{
    const ct_slider_params p = params(NULL, 200, 100);
    for (long n = 0;; n++) {
        ct_slider_gen *g = NULL;
        ct_slider_pen *pen = NULL;
        ct_slider_drawn d = { 0 };
        ct_alloc_fail_after(n);
        ct_status st = ct_slider_gen_open(&p, 1, &g);
        if (st == CT_OK) st = ct_slider_pen_open(g, &pen);
        if (st == CT_OK) st = ct_slider_pen_draw(pen, 3, true, &d);
        const long made = ct_alloc_fail_after(-1);
        ct_slider_drawn_free(&d);
        ct_slider_pen_close(pen);
        ct_slider_gen_close(g);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            ck_assert_int_gt(n, 8);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed, status %d: %s", n, (int)st, ct_error_message());
    }
}
END_TEST

/* ---- the picture of the documentation ---- */

START_TEST(sheet)
{
    enum { COLUMNS = 3, W = 200, H = 100, GAP = 3 };
    if (!getenv("CT_UPDATE")) return;
    int rows = 0;
    while (ct_slider_style_name(rows)) rows++;
    ct_image all;
    ck_ok(ct_image_make(COLUMNS * (W + GAP) - GAP, rows * (H + GAP) - GAP, 3, 255, &all));
    for (int y = 0; y < rows; y++) {
        const ct_slider_params p = params(ct_slider_style_name(y), W, H);
        pair x = pair_open(&p, 1);
        for (int i = 0, n = 0; n < COLUMNS; i++) { /* where nothing but copies of the gap confuses */
            ct_slider_drawn d;
            ck_ok(ct_slider_pen_draw(x.pen, (int64_t)p.per_background * (y * 100 + i), false, &d));
            for (int r = 0; r < H && (d.confusions & ~(1u << CT_SLIDER_CONFUSING_GAP)) == 0; r++)
                memcpy(all.px + 3 * ((size_t)(y * (H + GAP) + r) * (size_t)all.w + (size_t)(n * (W + GAP))),
                       d.picture.px + (size_t)r * W * 3, W * 3);
            n += (d.confusions & ~(1u << CT_SLIDER_CONFUSING_GAP)) == 0;
            ct_slider_drawn_free(&d);
        }
        pair_close(&x);
    }
    ck_ok(ct_image_write_png(ct_util_path(ct_check_srcdir(), "doc/slider-styles.png"), &all));
    ct_image_free(&all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slider pictures");
    TCase *t = tcase_create("pictures");
    int styles = 0;
    while (ct_slider_style_name(styles)) styles++;
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, pure_function, 0, 2);
    tcase_add_test(t, backgrounds_shared);
    tcase_add_loop_test(t, labels_are_centroids, 0, styles);
    tcase_add_test(t, copies);
    tcase_add_test(t, folder);
    tcase_add_test(t, keys_and_errors);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, sheet);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
