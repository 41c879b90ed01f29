/* What the slider generator decides before it paints: outlines, masks, sizes, places, confusions. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/task/slider/synth/slider_util.h"

enum { PLANS = 5000 };

static ct_plan plan(const ct_slider_params *p, uint64_t seed, int64_t index)
{
    ct_plan out;
    ct_rng r;
    int w, h;
    ct_slider_lot(&r, seed, CT_LOT_GROUP, (uint64_t)index);
    ct_plan_size(p, &r, &w, &h);
    ct_plan_picture(p, seed, index, w, h, &out);
    return out;
}

/* ---- outlines and masks ---- */

/* An outline of this name, 56 pixels large. */
static ct_outline outline_named(const char *name)
{
    ct_rng r;
    ct_outline o;
    ct_rng_init(&r, 5, CT_RNG_TEST, 0);
    for (int i = 0; i < 100000; i++) {
        ct_outline_draw(&r, 56, &o);
        if (strcmp(o.name, name) == 0) return o;
    }
    ck_abort_msg("no outline %s", name);
    return o;
}

static double area_of(const ct_outline *o, double x, double y)
{
    ct_mask m = { 0 };
    double sum = 0;
    ck_ok(ct_mask_make(o, x, y, 1, 200, 200, &m));
    for (int i = 0; i < m.w * m.h; i++) sum += m.alpha[i];
    ck_assert(fabs(m.cx - x) < 0.03 && fabs(m.cy - y) < 0.03);
    ct_mask_free(&m);
    return sum;
}

START_TEST(all_outlines)
{
    static const char *const simple[] = { "circle", "square", "rectangle", "rounded_rect", "triangle", "hexagon",
                                          "polygon" };
    int jigsaw[81] = { 0 }, other[7] = { 0 }, total = 0;
    const ct_slider_params p = params(NULL, 320, 160);
    for (int i = 0; i < PLANS; i++) {
        const ct_plan q = plan(&p, 7, i);
        const char *d = q.piece.name + 7;
        if (strncmp(q.piece.name, "jigsaw-", 7) == 0) {
            ck_assert(strlen(d) == 4 && strspn(d, "012") == 4);
            jigsaw[27 * (d[0] - '0') + 9 * (d[1] - '0') + 3 * (d[2] - '0') + d[3] - '0']++;
            total++;
            continue;
        }
        int k = 0;
        while (k < 7 && strcmp(simple[k], q.piece.name) != 0) k++;
        ck_assert_msg(k < 7, "%s", q.piece.name);
        other[k]++;
    }
    ck_assert(total > 0.57 * PLANS && total < 0.63 * PLANS);
    for (int k = 0; k < 81; k++) ck_assert_msg(jigsaw[k] >= 10, "outline %d: %d", k, jigsaw[k]);
    for (int k = 0; k < 7; k++) ck_assert_msg(other[k] > 200, "%s: %d", simple[k], other[k]);
}
END_TEST

/* Knobs are where the name says, and areas are those of the figures. */
START_TEST(knobs)
{
    double e[4];
    ct_outline o = outline_named("jigsaw-0000");
    ct_outline_extent(&o, e);
    for (int k = 0; k < 4; k++) ck_assert(fabs(e[k] - e[0]) < 1e-4);
    ck_assert(fabs(area_of(&o, 91.3, 77.8) - 4 * e[0] * e[0]) < 3);
    static const char *const one[] = { "jigsaw-0100", "jigsaw-0010", "jigsaw-0001", "jigsaw-1000" };
    static const int side[] = { 2, 3, 0, 1 }; /* of the extent: left, top, right, bottom */
    for (int k = 0; k < 4; k++) {
        o = outline_named(one[k]);
        ct_outline_extent(&o, e);
        for (int i = 0; i < 4; i++)
            if (i != side[k]) ck_assert_msg(e[side[k]] > e[i] + 4, "%s %d: %f %f", one[k], i, e[side[k]], e[i]);
    }
    o = outline_named("circle");
    ck_assert(fabs(area_of(&o, 70.7, 60.1) - CT_PI * 28 * 28) < 0.01 * CT_PI * 28 * 28);
    ct_outline_hollow(&o, 0.4);
    ck_assert(fabs(area_of(&o, 70.2, 60.6) - 0.84 * CT_PI * 28 * 28) < 0.012 * CT_PI * 28 * 28);
}
END_TEST

/* Positive angles are counter-clockwise to the eye: what is to the right of the middle goes up. */
START_TEST(turning)
{
    ct_outline o = outline_named("jigsaw-0100"), t;
    int tip = 0;
    for (int i = 0; i < o.n; i++)
        if (o.x[i] > o.x[tip]) tip = i;
    ct_outline_turn(&o, 30, 2, &t);
    ck_assert(t.y[tip] < -0.9f * o.x[tip] && t.y[tip] > -1.1f * o.x[tip]); /* 2 sin 30 */
    ck_assert(fabsf(hypotf(t.x[tip], t.y[tip]) - 2 * hypotf(o.x[tip], o.y[tip])) < 1e-3f);
}
END_TEST

/* Distances of a circle's mask are those from the circle, everywhere near it and roughly in the middle. */
START_TEST(distances)
{
    ct_outline o = outline_named("circle");
    ct_mask m = { 0 };
    const double x = 60.37, y = 48.81;
    ck_ok(ct_mask_make(&o, x, y, 1, 120, 100, &m));
    for (int j = 0; j < m.h; j++)
        for (int i = 0; i < m.w; i++) {
            const double d = hypot(m.x0 + i + 0.5 - x, m.y0 + j + 0.5 - y) - 28, got = m.dist[j * m.w + i];
            if (fabs(d) < CT_BAND - 0.5) ck_assert_msg(fabs(got - d) < 0.06, "%d,%d: %f, not %f", i, j, got, d);
            else if (d < 0) ck_assert_msg(fabs(got - d) < 2.5, "%d,%d: %f, not %f", i, j, got, d);
            else ck_assert(got > CT_BAND - 0.6);
            const double cover = fmin(fmax(0.5 - d, 0), 1);
            ck_assert(fabs(m.alpha[j * m.w + i] - cover) < 0.06);
        }
    ck_assert(m.deepest > 25 && m.deepest < 31);
    ct_mask_free(&m);
}
END_TEST

/* ---- sizes ---- */

START_TEST(sizes)
{
    const ct_slider_params p = params(NULL, 0, 0);
    int usual = 0, seen[10] = { 0 };
    for (int i = 0; i < PLANS; i++) {
        const ct_plan q = plan(&p, 3, i);
        ck_assert(q.w >= 280 && q.w <= 480 && q.h >= 140 && q.h <= 240 && q.w % 2 == 0 && q.h % 2 == 0);
        ck_assert_msg(q.w >= 1.78 * q.h && q.w <= 2.42 * q.h, "%dx%d", q.w, q.h);
        usual += q.w == 2 * q.h && (q.w == 320 || q.w == 360 || q.w == 400 || q.w == 384);
        ck_assert(q.size >= 46 && q.size <= 64 && q.size % 2 == 0);
        seen[(q.size - 46) / 2]++;
    }
    ck_assert_msg(usual > 0.27 * PLANS && usual < 0.34 * PLANS, "%d", usual);
    for (int k = 0; k < 10; k++) ck_assert(seen[k] > 0.08 * PLANS && seen[k] < 0.12 * PLANS);
    const ct_slider_params small = params(NULL, 200, 100), large = params(NULL, 960, 480);
    for (int i = 0; i < 100; i++) {
        const ct_plan a = plan(&small, 3, i), b = plan(&large, 3, i);
        ck_assert(a.w == 200 && a.h == 100 && a.size >= 32 && a.size <= 46);
        ck_assert(b.w == 960 && b.h == 480 && b.size >= 92 && b.size <= 128);
    }
}
END_TEST

/* ---- places ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's distance of n values from a uniform distribution over [0,1], times sqrt(n). */
static double ks(double *u, int n)
{
    double most = 0;
    qsort(u, (size_t)n, sizeof *u, by_value);
    for (int i = 0; i < n; i++) most = fmax(most, fmax((i + 1.0) / n - u[i], u[i] - (double)i / n));
    return most * sqrt(n);
}

START_TEST(uniform)
{
    static double u[3][PLANS], at[PLANS];
    const ct_slider_params p = params(NULL, _i ? 320 : 0, _i ? 160 : 0);
    double product[3] = { 0 };
    for (int i = 0; i < PLANS; i++) {
        const ct_plan q = plan(&p, 11, i);
        const double half = q.size / 2.0;
        u[0][i] = (q.piece_x - half) / 10;
        u[1][i] = (q.gap_x - 3 * half - 20) / (q.w - 4 * half - 30);
        u[2][i] = (q.y - half - 10) / (q.h - 2 * half - 20);
        for (int k = 0; k < 3; k++) {
            ck_assert(u[k][i] >= 0 && u[k][i] <= 1);
            product[k] += 12 * (u[k][i] - 0.5) * (u[(k + 1) % 3][i] - 0.5) / PLANS;
        }
        at[i] = q.gap_x;
    }
    for (int k = 0; k < 3; k++) {
        ck_assert_msg(fabs(product[k]) < 4 / sqrt(PLANS), "places %d depend on each other: %f", k, product[k]);
        const double d = ks(u[k], PLANS);
        ck_assert_msg(d < 1.63, "places %d: %f", k, d); /* 1 % of uniform samples are farther off */
    }
    int distinct = 1;
    qsort(at, PLANS, sizeof *at, by_value);
    for (int i = 1; i < PLANS; i++) distinct += at[i] - at[i - 1] > 1e-6;
    ck_assert_int_gt(distinct, PLANS * 95 / 100);
}
END_TEST

typedef struct reach { double left, top, right, bottom; } reach;

static reach reach_of(const ct_outline *o, double angle, double scale, double x, double y)
{
    ct_outline t;
    double e[4];
    ct_outline_turn(o, angle, scale, &t);
    ct_outline_extent(&t, e);
    return (reach){ x - e[0], y - e[1], x + e[2], y + e[3] };
}

static bool inside(reach r, int w, int h)
{
    return r.left >= -0.001 && r.top >= -0.001 && r.right <= w + 0.001 && r.bottom <= h + 0.001;
}

static bool apart(reach a, reach b, double by)
{
    return a.right + by <= b.left || b.right + by <= a.left || a.bottom + by <= b.top || b.bottom + by <= a.top;
}

/* Everything lies in the picture, nothing touches anything. */
START_TEST(inside_and_apart)
{
    static const int size[3][2] = { { 0, 0 }, { 280, 140 }, { 200, 100 } };
    const ct_slider_params p = params(NULL, size[_i][0], size[_i][1]);
    for (int i = 0; i < PLANS; i++) {
        const ct_plan q = plan(&p, 19, i);
        reach r[4] = { reach_of(&q.piece, 0, 1, q.piece_x, q.y), reach_of(&q.piece, q.angle, 1, q.gap_x, q.y) };
        for (int k = 0; k < q.fakes; k++)
            r[2 + k] = reach_of(&q.piece, q.fake[k].angle, q.fake[k].scale, q.fake[k].x, q.fake[k].y);
        for (int a = 0; a < 2 + q.fakes; a++) {
            ck_assert_msg(inside(r[a], q.w, q.h), "picture %d, %s, thing %d", i, q.piece.name, a);
            for (int b = 0; b < a; b++)
                ck_assert_msg(apart(r[a], r[b], a == 1 ? 8 : 9.9), "picture %d, %s, things %d and %d", i,
                              q.piece.name, a, b);
        }
    }
}
END_TEST

/* ---- confusions ---- */

START_TEST(shares)
{
    static const int per_hundred[CT_SLIDER_CONFUSIONS] = { 30, 10, 5, 10, 20, 5, 10, 10 };
    const ct_slider_params p = params(NULL, 320, 160);
    ct_slider_confusion before = CT_SLIDER_NONE;
    int same = 0;
    for (int block = 0; block < 20; block++) {
        int n[CT_SLIDER_CONFUSIONS] = { 0 };
        for (int i = 0; i < 100; i++) {
            const ct_plan q = plan(&p, 23, 100 * block + i);
            n[q.confusion]++;
            same += q.confusion == before;
            before = q.confusion;
        }
        for (int c = 0; c < CT_SLIDER_CONFUSIONS; c++) ck_assert_int_eq(n[c], per_hundred[c]);
    }
    ck_assert_msg(same > 200 && same < 500, "%d", same); /* by lot: 2000 times the sum of the shares' squares, 350 */
}
END_TEST

/* Shares of one's own: each kind as often as it is named, among as many pictures as there are names. */
START_TEST(own_shares)
{
    static const char *const names[] = { "confusing_gap", "none", "confusing_gap", "combined", "confusing_gap" };
    static const char *const wrong[] = { "none", "fog" };
    const char *many[101];
    ct_slider_params p = params(NULL, 320, 160);
    ck_assert_int_eq(ct_slider_params_confusions(&p, names, 5), CT_OK);
    for (int block = 0; block < 20; block++) {
        int n[CT_SLIDER_CONFUSIONS] = { 0 };
        for (int i = 0; i < 5; i++) n[plan(&p, 23, 5 * block + i).confusion]++;
        ck_assert_int_eq(n[CT_SLIDER_CONFUSING_GAP], 3);
        ck_assert_int_eq(n[CT_SLIDER_NONE], 1);
        ck_assert_int_eq(n[CT_SLIDER_COMBINED], 1);
    }
    ck_assert_int_eq(ct_slider_params_confusions(&p, wrong, 2), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "there is no confusion 'fog'; the confusions are: none, rotation, perlin, "));
    for (int i = 0; i < 101; i++) many[i] = "none";
    ck_assert_int_eq(ct_slider_params_confusions(&p, many, 101), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "101 confusions; there can be 100"));
    ck_assert_int_eq(ct_slider_params_confusions(&p, NULL, 0), CT_OK);
    const ct_slider_params usual = params(NULL, 320, 160);
    ck_assert_mem_eq(p.share, usual.share, sizeof p.share);
}
END_TEST

START_TEST(what_confuses)
{
    const ct_slider_params p = params(NULL, 0, 0);
    int fakes = 0, with = 0, row = 0, combined[CT_SLIDER_CONFUSIONS] = { 0 };
    for (int i = 0; i < PLANS; i++) {
        const ct_plan q = plan(&p, 29, i);
        const unsigned bits = q.confusions;
        const int n = __builtin_popcount(bits);
        if (q.confusion == CT_SLIDER_COMBINED) {
            ck_assert(n == 2 || n == 3);
            for (int c = 0; c < CT_SLIDER_CONFUSIONS; c++) combined[c] += (int)(bits >> c & 1);
        } else {
            ck_assert(bits == (q.confusion == CT_SLIDER_NONE ? 0 : 1u << q.confusion));
        }
        ck_assert((q.angle != 0) == (bits >> CT_SLIDER_ROTATION & 1));
        if (q.angle != 0) ck_assert(fabs(q.angle) >= 0.5 && fabs(q.angle) <= 1.5);
        ck_assert((q.fakes > 0) == (bits >> CT_SLIDER_CONFUSING_GAP & 1));
        ck_assert((q.piece.n > q.piece.outer) == (bits >> CT_SLIDER_HOLLOW_CENTER & 1));
        ck_assert((q.look.perlin > 0) == (bits >> CT_SLIDER_PERLIN & 1));
        ck_assert((q.look.glare > 0) == (bits >> CT_SLIDER_GAP_EDGE_HIGHLIGHT & 1));
        if (bits >> CT_SLIDER_HIGHLIGHT & 1) ck_assert(q.look.base >= 20 && q.look.base <= 40 && q.look.opacity == 0);
        with += q.fakes > 0;
        fakes += q.fakes;
        for (int k = 0; k < q.fakes; k++) {
            const ct_slider_fake *f = &q.fake[k];
            row += fabs(f->y - q.y) <= 7;
            ck_assert(fabs(f->angle) >= 10 && fabs(f->angle) <= 30 && f->scale >= 0.5 && f->scale <= 1.2);
            if (strcmp(q.piece.name, "circle") == 0 && fabs(f->y - q.y) <= 7) ck_assert(fabs(f->scale - 1) >= 0.1);
        }
    }
    ck_assert_msg(fakes > 1.2 * with && fakes < 1.6 * with, "%d copies in %d pictures", fakes, with);
    ck_assert_msg(row > 0.3 * fakes && row < 0.85 * fakes, "%d of %d copies in the gap's row", row, fakes);
    ck_assert(combined[CT_SLIDER_HOLLOW_CENTER] == 0);
    ck_assert(combined[CT_SLIDER_PERLIN] > 150 && combined[CT_SLIDER_CONFUSING_GAP] > 150);
}
END_TEST

/* ---- styles ---- */

START_TEST(styles)
{
    ct_slider_params p = params(NULL, 320, 160);
    int n = 0, seen[CT_SLIDER_STYLES] = { 0 };
    for (; ct_slider_style_name(n); n++) ck_assert(strlen(ct_slider_style_doc(n)) > 20);
    ck_assert(n >= 6 && ct_slider_style_doc(n) == NULL && ct_slider_style_name(-1) == NULL);
    for (int i = 0; i < 1000; i++) seen[plan(&p, 2, i).style]++;
    for (int k = 0; k < n; k++) ck_assert_int_gt(seen[k], 1000 / n / 2);
    static const char *const some[] = { "outlined", "flat" }, *const out[] = { "flat" }, *const bad[] = { "nice" };
    ck_ok(ct_slider_params_styles(&p, some, 2, out, 1));
    for (int i = 0; i < 50; i++) ck_assert_str_eq(ct_slider_style_name(plan(&p, 2, i).style), "outlined");
    ck_ok(ct_slider_params_styles(&p, NULL, 0, some, 2));
    for (int i = 0; i < 300; i++) {
        const char *name = ct_slider_style_name(plan(&p, 2, i).style);
        ck_assert(strcmp(name, "outlined") != 0 && strcmp(name, "flat") != 0);
    }
    ck_assert_int_eq(ct_slider_params_styles(&p, bad, 1, NULL, 0), CT_ECONFIG);
    ck_message("'nice'");
    ck_message("darker");
    ck_assert_int_eq(ct_slider_params_styles(&p, NULL, 0, bad, 1), CT_ECONFIG);
    ck_assert_int_eq(ct_slider_params_styles(&p, out, 1, out, 1), CT_ECONFIG);
    ck_message("no style is left");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slider plans");
    TCase *t = tcase_create("plans");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, all_outlines);
    tcase_add_test(t, knobs);
    tcase_add_test(t, turning);
    tcase_add_test(t, distances);
    tcase_add_test(t, sizes);
    tcase_add_loop_test(t, uniform, 0, 2);
    tcase_add_loop_test(t, inside_and_apart, 0, 3);
    tcase_add_test(t, shares);
    tcase_add_test(t, own_shares);
    tcase_add_test(t, what_confuses);
    tcase_add_test(t, styles);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
