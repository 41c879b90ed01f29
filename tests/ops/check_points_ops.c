/* Points and maps of cells against values worked out by hand: which cell, which offset, what is read between cells,
 * which of the two points moves when they are aligned, what an error counts as, and which pixels a window takes in. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "harness/harness_priv.h"
#include "ops/math/points_math.h"
#include "tests/ct_check.h"

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-12)

/* A call of f64 tensors with room for all of them. */
static ct_call make(const char *text)
{
    ct_call c;
    ck_assert_msg(ct_call_parse(text, &c) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    return c;
}

static void run(const ct_call *c)
{
    ck_assert_msg(ct_reference_run(c) == CT_OK, "%s", ct_error_message());
}

START_TEST(test_cells)
{
    static const struct {
        double x, offset;
        int64_t cell;
    } want[] = { { 0, -0.5, 0 },   { 2, 0, 0 },        { 3, 0.25, 0 },       { 4, -0.5, 1 },  { 19, 0.25, 4 },
                 { 20, 0, -1 },    { -1e-9, 0, -1 },   { 1e300, 0, -1 },     { -0.0, -0.5, 0 }, { INFINITY, 0, -1 },
                 { NAN, 0, -1 },   { -INFINITY, 0, -1 } };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        double offset;
        const int64_t cell = ct_cell_of(want[i].x, 4, 5, &offset);
        ck_assert_msg(cell == want[i].cell && offset == want[i].offset, "%g lies in cell %lld%+g", want[i].x,
                      (long long)cell, offset);
        if (cell >= 0) ck_assert(ct_cell_place(cell, offset, 4) == want[i].x);
    }
}
END_TEST

/* With sigma 1.5 the Gaussian reaches 4 cells, and 5 cells are at least 0.8; two points of a sample are drawn each on a
 * map of its own. */
START_TEST(test_target)
{
    ct_call c = make("heat_target{out_h=12 out_w=15 stride=4 sigma=1.5}(f64[3,2,2])");
    const double points[3][2][2] = { { { 30.5, 22 }, { 0, 47.5 } },
                                     { { 60, 10 }, { NAN, 10 } },
                                     { { 10, -0.5 }, { 10, NAN } } };
    memcpy(c.in[0].data, points, sizeof points);
    run(&c);
    const double *heat = c.out[0].data, *offset = c.out[1].data;
    int drawn[2] = { 0, 0 }, positive[2] = { 0, 0 };
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 15; j++)
            for (int p = 0; p < 2; p++) {
                const int down = i - (p ? 11 : 5), right = j - (p ? 0 : 7), at = (i * 15 + j) * 2 + p;
                const bool square = abs(down) <= 4 && abs(right) <= 4, here = down == 0 && right == 0;
                NEAR(heat[at], square ? exp(-(down * down + right * right) / 4.5) : 0);
                NEAR(offset[2 * at], here ? (p ? -0.5 : 0.125) : 0);
                NEAR(offset[2 * at + 1], here ? (p ? 0.375 : 0) : 0);
                drawn[p] += heat[at] > 0;
                positive[p] += heat[at] >= 0.8;
            }
    ck_assert(drawn[0] == 81 && positive[0] == 5 && drawn[1] == 25 &&
              positive[1] == 3); /* the second lies in a corner */
    for (int i = 12 * 15 * 2; i < 3 * 12 * 15 * 2; i++)
        ck_assert(heat[i] == 0 && offset[2 * i] == 0 && offset[2 * i + 1] == 0);
    ct_host_free(&c);
}
END_TEST

/* With `around` all cells of the Gaussian lead to the point: those next to it straight there, if it lies towards them,
 * others as far as offsets reach. */
START_TEST(test_target_around)
{
    ct_call c = make("heat_target{out_h=12 out_w=15 stride=4 sigma=1 around=1}(f64[1,2,2])");
    const double points[2][2] = { { 30.5, 23 }, { NAN, 10 } }; /* cell 7, 5: offsets 0.125 and 0.25 */
    memcpy(c.in[0].data, points, sizeof points);
    run(&c);
    const double *heat = c.out[0].data, *offset = c.out[1].data;
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 15; j++) {
            const int down = i - 5, right = j - 7, at = (i * 15 + j) * 2;
            const bool drawn = abs(down) <= 3 && abs(right) <= 3;
            ck_assert((heat[at] > 0) == drawn);
            NEAR(offset[2 * at], !drawn ? 0 : right == 0 ? 0.125 : right < 0 ? 0.5 : -0.5);
            NEAR(offset[2 * at + 1], !drawn ? 0 : down == 0 ? 0.25 : down < 0 ? 0.5 : -0.5);
            ck_assert(heat[at + 1] == 0 && offset[2 * at + 2] == 0 && offset[2 * at + 3] == 0);
        }
    ct_host_free(&c);
}
END_TEST

/* In the middle of cells the map's own values, between them what lies between, beyond the outermost middles theirs. */
START_TEST(test_sample)
{
    ct_call c = make("sample_points{stride=4 channel=1}(f64[1,2,3,2], f64[1,9,2])");
    const double points[9][2] = { { 2, 2 },    { 10, 6 }, { 4, 2 },   { 6, 4 },  { 3, 5 },
                                  { -100, 0 }, { 12, 8 }, { NAN, 2 }, { 2, NAN } };
    const double want[9] = { 0, 12, 0.5, 6, 7.75, 0, 12, 0, 0 };
    double *map = c.in[0].data;
    for (int i = 0; i < 6; i++) map[2 * i] = 1000, map[2 * i + 1] = i % 3 + 10 * (i / 3);
    memcpy(c.in[1].data, points, sizeof points);
    run(&c);
    for (int k = 0; k < 9; k++) NEAR(((double *)c.out[0].data)[k], want[k]);
    ct_host_free(&c);
}
END_TEST

/* Two maps of 4 x 4 cells, all of -9, and what is put into them: {map, row, column, logit}. */
static void decode(ct_call *c, int align, int n, const double set[][4])
{
    *c = make(align ? "heat_decode{stride=4 align=1}(f64[1,4,4,2], f64[1,4,4,4], f64[1,4,4])"
                    : "heat_decode{stride=4}(f64[1,4,4,2], f64[1,4,4,4], f64[1,4,4])");
    double *logits = c->in[0].data, *offset = c->in[1].data, *least = c->in[2].data;
    for (int i = 0; i < 32; i++) logits[i] = -9;
    for (int i = 0; i < 64; i++) offset[i] = i % 4 == 0 ? 0.25 : i % 4 == 1 ? -0.25 : 0;
    for (int i = 0; i < 16; i++) least[i] = i % 4 == 3 ? 0.01 : 0.02; /* the last column is padding */
    for (int k = 0; k < n; k++) logits[2 * (4 * (int)set[k][1] + (int)set[k][2]) + (int)set[k][0]] = set[k][3];
    run(c);
}

static void check_decoded(ct_call *c, const double want[6])
{
    const double *points = c->out[0].data, *conf = c->out[1].data;
    for (int k = 0; k < 4; k++) {
        if (isnan(want[k])) ck_assert(isnan(points[k]));
        else NEAR(points[k], want[k]);
    }
    for (int k = 0; k < 2; k++) NEAR(conf[k], isinf(want[4 + k]) ? 0 : 1 / (1 + exp(-want[4 + k])));
    ct_host_free(c);
}

START_TEST(test_decode)
{
    ct_call c;
    /* The first of equals; padding cannot win, a NaN neither. */
    const double plain[][4] = { { 0, 2, 1, 3 }, { 0, 2, 2, 3 }, { 0, 0, 3, 8 }, { 1, 3, 0, NAN }, { 1, 1, 2, 1 } };
    decode(&c, 0, 5, plain);
    check_decoded(&c, (double[]){ 7, 9, 10, 6, 3, 1 });
    /* The weaker is searched again: point 1 within rows 1 to 3, though row 0 has a greater value. */
    const double second[][4] = { { 0, 2, 1, 3 }, { 1, 0, 1, 2 }, { 1, 1, 2, 1 }, { 1, 3, 0, 0.5 } };
    decode(&c, 1, 4, second);
    check_decoded(&c, (double[]){ 7, 9, 10, 6, 3, 1 });
    const double first[][4] = { { 1, 0, 0, 3 }, { 0, 3, 1, 2 }, { 0, 1, 2, 1 }, { 0, 2, 0, 1.5 } };
    decode(&c, 1, 4, first);
    check_decoded(&c, (double[]){ 11, 5, 2, 2, 1, 3 });
    /* At a tie it is point 1. */
    const double tie[][4] = { { 0, 0, 0, 2 }, { 1, 3, 1, 2 }, { 1, 1, 1, -4 } };
    decode(&c, 1, 3, tie);
    check_decoded(&c, (double[]){ 3, 1, 6, 6, 2, -4 });
    /* Without align it stays. */
    decode(&c, 0, 3, tie);
    check_decoded(&c, (double[]){ 3, 1, 6, 14, 2, 2 });
}
END_TEST

/* Where no cell may be chosen there is no point, and the other is not searched near it. */
START_TEST(test_decode_nothing)
{
    for (int align = 0; align < 2; align++) {
        ct_call c;
        double set[17][4];
        for (int i = 0; i < 16; i++) memcpy(set[i], (double[]){ 0, i / 4, i % 4, NAN }, sizeof set[i]);
        memcpy(set[16], (double[]){ 1, 1, 1, 2 }, sizeof set[16]);
        decode(&c, align, 17, (const double(*)[4])set);
        check_decoded(&c, (double[]){ NAN, NAN, 6, 6, -INFINITY, 2 });
        decode(&c, align, 0, NULL);
        for (int i = 0; i < 16; i++) ((double *)c.in[2].data)[i] = 0;
        run(&c);
        check_decoded(&c, (double[]){ NAN, NAN, NAN, NAN, -INFINITY, -INFINITY });
    }
}
END_TEST

/* Errors of (3,1) and (0,4) pixels of the network: 2 and 2, 2 together; with unit 0.5 and scale 2, half of that. And
 * one sample whose truth is absent. */
START_TEST(test_sums)
{
    ct_call c = make("point_sums{first=5 unit=0.5}(f64[3,2,2], f64[3,2,2], f64[3,1], f64[64])");
    const double truth[12] = { 10, 20, 30, 40, 5, 5, 50, NAN, 100, 100, 200, 100 };
    const double pred[12] = { 13, 21, 30, 36, 5, 5, 50, 50, 84, 100, 200, 112 };
    const double scale[3] = { 2, 2, 0.5 };
    /* e, e^2, e0, e1, e <= 1, 2, 5; sample 0: 1, sample 2: (8 + 6)/2 * 0.5 = 3.5 */
    const double want[18] = { 4.5, 13.25, 5, 4,  1, 1, 2, /* in units: 1, 1, 1 and 3.5, 4, 3 */
                              15,  197,   17, 13, 1, 1, 1, /* in pixels of the picture: 1, 1, 1 and 14, 16, 12 */
                              33.5, 1, 1, 2 };              /* distances of 1.5 and 32 */
    double *acc = c.in[3].data;
    for (int i = 0; i < 64; i++) acc[i] = i;
    memcpy(c.in[0].data, pred, sizeof pred);
    memcpy(c.in[1].data, truth, sizeof truth);
    memcpy(c.in[2].data, scale, sizeof scale);
    run(&c);
    for (int i = 0; i < 64; i++) NEAR(acc[i] - i, i >= 5 && i < 23 ? want[i - 5] : 0);
    /* What was not found is wrong by nobody knows how much: no hit, and the sums say so. */
    ((double *)c.in[0].data)[0] = NAN;
    memset(acc, 0, 64 * sizeof *acc);
    run(&c);
    for (int i = 0; i < 18; i++) {
        const bool sum = i % 7 < 3 && i < 14;
        if (sum || i == 14) ck_assert(isnan(acc[5 + i]));
        else ck_assert(!isnan(acc[5 + i]));
    }
    ck_assert(acc[5 + 4] == 0 && acc[5 + 6] == 1 && acc[5 + 17] == 2);
    ct_host_free(&c);
}
END_TEST

START_TEST(test_pool)
{
    ct_call c = make("mask_pool{channel=1 factor=2}(f64[1,2,6,2])");
    const double mask[12] = { 1, 1, 1, 0, 1, NAN, 1, 1, 0, 0.5, 1, 1 };
    double *x = c.in[0].data, *mean = c.out[0].data, *least = c.out[1].data;
    for (int i = 0; i < 12; i++) x[2 * i] = -7, x[2 * i + 1] = mask[i];
    run(&c);
    ck_assert(mean[0] == 1 && mean[1] == 0.375 && isnan(mean[2]));
    ck_assert(least[0] == 1 && least[1] == 0 && isnan(least[2]));
    ct_host_free(&c);
}
END_TEST

/* A window takes in its left and top edge, not its right and bottom one, and nothing beyond the source; a NaN takes in
 * nothing. */
START_TEST(test_window)
{
    const ct_image_attrs a = { .out_h = 4, .out_w = 8, .nstd = 1, .std = { 1 } };
    const ct_image_draw d = ct_image_draw_sample(&a, 4, 8, 0, 0);
    const double window[4] = { 2.5, 1, 5.5, 2.5 }, beyond[4] = { -9, -9, 99, 99 }, absent[4] = { 0, 0, NAN, 4 };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++) {
            ck_assert(ct_image_inside(&d, window, 4, 8, i, j) == (j >= 2 && j < 5 && i == 1));
            ck_assert(ct_image_inside(&d, beyond, 4, 8, i, j) && !ct_image_inside(&d, absent, 4, 8, i, j));
        }
    ct_image_draw moved = d;
    moved.augmented = true;
    moved.shift_x = 3;
    for (int j = 0; j < 8; j++) {
        ck_assert(ct_image_inside(&moved, window, 4, 8, 1, j) == (j >= 5));
        ck_assert(ct_image_inside(&moved, beyond, 4, 8, 1, j) == (j >= 3));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("points and maps");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_cells);
    tcase_add_test(t, test_target);
    tcase_add_test(t, test_target_around);
    tcase_add_test(t, test_sample);
    tcase_add_test(t, test_decode);
    tcase_add_test(t, test_decode_nothing);
    tcase_add_test(t, test_sums);
    tcase_add_test(t, test_pool);
    tcase_add_test(t, test_window);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
