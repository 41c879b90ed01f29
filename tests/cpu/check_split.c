/* Products of f32 by tiles of bf16 (kern_split.h), in each set of loops that has them: layouts, exactness of what is split, sums against double, numbers
 * that have no place among those of bf16. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "tests/ct_check.h"

enum { MOST = 75, RUNS = (MOST + CT_SPLIT - 1) / CT_SPLIT, LD = MOST + 5, WORDS = RUNS * RUNS * CT_SPLIT_ROWS };

static uint32_t rng_state;

static uint32_t draw(void) { return (rng_state = rng_state * 1664525u + 1013904223u) >> 8; }

/* Any number between 2^-(n/2) and 2^(n/2), of either sign, all bits of its fraction drawn. */
static float number(int n)
{
    const float f = ldexpf(1 + (float)(draw() & 0x7fffff) / 8388608.0f, (int)(draw() % (uint32_t)n) - n / 2);
    return draw() & 1 ? f : -f;
}

static void fill(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = number(6);
}

typedef void lay(int64_t, int64_t, const float *const *, int64_t, float *, int64_t);

/* Both ways give the same words, and write nothing behind the last run. */
static void same_words(const ct_kern *k, lay *plain, lay *turned, int64_t a, int64_t b, bool rows)
{
    static float x[MOST][LD], xt[MOST][LD], out[2][WORDS + 16];
    const float *list[MOST], *list_turned[MOST];
    const int64_t outer = rows ? a : b, inner = rows ? b : a, wide = rows ? CT_SPLIT : ct_split_wide(k);
    const int64_t words = rows ? CT_SPLIT_ROWS : ct_split_cols_words(k), deep = ct_ceil_div(inner, CT_SPLIT), block = deep * words;
    fill(x[0], MOST * LD);
    memset(out, 0, sizeof out);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t d = 0; d < inner; d++) xt[d][3 + i] = x[i][3 + d];
    for (int64_t i = 0; i < MOST; i++) {
        list[i] = x[i];
        list_turned[i] = xt[i];
    }
    const int64_t all = ct_ceil_div(outer, wide) * block;
    memset(out[0] + all, 0xee, sizeof out[0] - (size_t)all * 4);
    memset(out[1] + all, 0xee, sizeof out[1] - (size_t)all * 4);
    /* rows lie along the depth as they are, columns turned */
    plain(a, b, rows ? list : list_turned, 3, out[0], block);
    turned(a, b, rows ? list_turned : list, 3, out[1], block);
    ck_assert_msg(memcmp(out[0], out[1], sizeof out[0]) == 0, "%s: %s %d %d", k->name, rows ? "rows" : "cols", (int)a, (int)b);
}

START_TEST(layouts_agree)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    int had = 0;
    rng_state = 1;
    for (int set = 0; set < n; set++) {
        const ct_kern_split *s = sets[set]->split;
        if (!s) continue;
        had++;
        for (int64_t a = 1; a <= MOST; a += a < 36 ? 1 : 13)
            for (int64_t b = 1; b <= MOST; b += b < 36 ? 1 : 13) {
                same_words(sets[set], s->rows, s->rows_turned, a, b, true);
                same_words(sets[set], s->cols, s->cols_turned, a, b, false);
            }
    }
    ck_assert_int_ge(had, 1); /* the emulation is everywhere */
}
END_TEST

static float laid_rows[WORDS], laid_cols[WORDS];

/* out [rows][ld] (+)= a [rows][depth] b [depth][cols] + bias; a and b have rows of LD. `apart`: rows of out lie in no order. */
static void multiply(const ct_kern *k, int64_t rows, int64_t cols, int64_t depth, float (*a)[LD], float (*b)[LD], const float *bias, float *out, int64_t ld,
                     bool accumulate, bool apart)
{
    const float *list[MOST];
    float *outs[MOST];
    ct_split_gemm g = { .a = laid_rows, .b = laid_cols, .runs = ct_ceil_div(depth, CT_SPLIT), .rows = rows, .cols = cols, .out = outs, .first = 2, .bias = bias,
                        .accumulate = accumulate };
    g.a_block = g.runs * CT_SPLIT_ROWS;
    g.b_block = g.runs * ct_split_cols_words(k);
    memset(laid_rows, 0, sizeof laid_rows);
    memset(laid_cols, 0, sizeof laid_cols);
    for (int64_t i = 0; i < rows; i++) list[i] = a[i];
    k->split->rows(rows, depth, list, 0, laid_rows, g.a_block);
    for (int64_t i = 0; i < depth; i++) list[i] = b[i];
    k->split->cols(depth, cols, list, 0, laid_cols, g.b_block);
    for (int64_t i = 0; i < rows; i++) outs[i] = out + (apart ? i * 7 % rows : i) * ld;
    if (apart && rows % 7 == 0)
        for (int64_t i = 0; i < rows; i++) outs[i] = out + (rows - 1 - i) * ld;
    k->split->gemm(&g);
}

/* A number times one is that number, bit by bit: three numbers of bf16 hold all of it, and nothing else is added. */
START_TEST(split_numbers_are_whole)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    static float a[MOST][LD], one[MOST][LD], out[MOST][LD];
    rng_state = 2;
    for (int i = 0; i < 40; i++) one[i][i] = 1;
    for (int set = 0; set < n; set++)
        for (int round = 0; sets[set]->split && round < 50; round++) {
            for (int i = 0; i < 40; i++)
                for (int j = 0; j < 40; j++) a[i][j] = number(round % 2 ? 200 : 20);
            a[3][5] = 3.38e38f;
            a[4][6] = -3.38e38f;
            a[5][7] = 0;
            multiply(sets[set], 40, 40, 40, a, one, NULL, out[0], LD, false, false);
            for (int i = 0; i < 40; i++)
                for (int j = 0; j < 40; j++) ck_assert_msg(out[i][2 + j] == a[i][j], "%s: %a gives %a", sets[set]->name, (double)a[i][j], (double)out[i][2 + j]);
        }
}
END_TEST

static void sums_case(const ct_kern *k, int64_t rows, int64_t cols, int64_t depth, bool with_bias, bool accumulate, bool apart)
{
    static float a[MOST][LD], b[MOST][LD], out[MOST][LD], before[MOST][LD], bias[MOST];
    float guard = 0;
    fill(a[0], MOST * LD);
    fill(b[0], MOST * LD);
    fill(out[0], MOST * LD);
    fill(bias, MOST);
    memcpy(before, out, sizeof out);
    multiply(k, rows, cols, depth, a, b, with_bias ? bias : NULL, out[0], LD, accumulate, apart);
    for (int64_t i = 0; i < MOST; i++)
        for (int64_t j = 0; j < LD; j++)
            if (i >= rows || j < 2 || j >= 2 + cols) guard += (float)(memcmp(&out[i][j], &before[i][j], 4) != 0);
    ck_assert_msg(guard == 0, "%s: %d %d %d: what is no result was written", k->name, (int)rows, (int)cols, (int)depth);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            const int64_t at = !apart ? i : rows % 7 == 0 ? rows - 1 - i : i * 7 % rows;
            const float start = accumulate ? before[at][2 + j] : with_bias ? bias[j] : 0;
            double sum = (double)start, size = fabs((double)start);
            for (int64_t d = 0; d < depth; d++) {
                sum += (double)a[i][d] * (double)b[d][j];
                size += fabs((double)a[i][d] * (double)b[d][j]);
            }
            /* a rounding at the size of the sum of absolutes for each of six products of 32 numbers at a time, and what is left out */
            const double most = size * 0x1p-24 * (double)(6 * ct_ceil_div(depth, CT_SPLIT) + 2);
            ck_assert_msg(fabs((double)out[at][2 + j] - sum) <= most, "%s: %d %d %d at %d %d: %g, not %g", k->name, (int)rows, (int)cols, (int)depth, (int)i, (int)j,
                          (double)out[at][2 + j], sum);
        }
}

START_TEST(sums_against_double)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    rng_state = 3;
    for (int set = 0; set < n; set++)
        for (int64_t rows = 1; sets[set]->split && rows <= MOST; rows += rows == 15 || rows == 31 || rows == 63 ? 1 : 7)
            for (int64_t cols = 1; cols <= 40; cols += cols == 15 || cols == 31 ? 1 : 7)
                for (int64_t depth = 1; depth <= 70; depth += 23) {
                    const bool odd = draw() & 1;
                    sums_case(sets[set], rows, cols, depth, odd, draw() & 1, draw() & 1);
                    sums_case(sets[set], rows, cols, depth, !odd, false, false);
                }
}
END_TEST

/* The mean of squared errors is less than that of multiplications and additions one after the other. */
START_TEST(less_rounding_than_a_chain)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    static float a[MOST][LD], b[MOST][LD], out[MOST][LD];
    for (int set = 0; set < n; set++) {
        if (!sets[set]->split) continue;
        double split = 0, chain = 0;
        rng_state = 4;
        fill(a[0], MOST * LD);
        fill(b[0], MOST * LD);
        multiply(sets[set], MOST, MOST, MOST, a, b, NULL, out[0], LD, false, false);
        for (int i = 0; i < MOST; i++)
            for (int j = 0; j < MOST; j++) {
                double sum = 0;
                float f = 0;
                for (int d = 0; d < MOST; d++) {
                    sum += (double)a[i][d] * (double)b[d][j];
                    f = fmaf(a[i][d], b[d][j], f);
                }
                split += pow((double)out[i][2 + j] - sum, 2);
                chain += pow((double)f - sum, 2);
            }
        ck_assert_msg(split < chain, "%s: %g beside %g", sets[set]->name, split, chain);
    }
}
END_TEST

/* Numbers of which what is left is not normal share their words with others: beside numbers of usual size they change nothing, as zeros would. */
START_TEST(small_numbers_keep_to_themselves)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    static float x[2][MOST][LD], zeroed[2][MOST][LD], out[2][MOST][LD];
    float *const all = (float *)x, *const some = (float *)zeroed;
    rng_state = 6;
    for (int set = 0; set < n; set++)
        for (int round = 0; sets[set]->split && round < 20; round++) {
            fill(all, 2 * MOST * LD);
            memcpy(zeroed, x, sizeof x);
            for (int64_t i = 0; i < 2 * MOST * LD; i++)
                if (draw() % 3 == 0) {
                    all[i] = ldexpf(number(4), -100 - (int)(draw() % 49));
                    some[i] = 0;
                }
            memset(out, 0, sizeof out);
            multiply(sets[set], MOST, 40, MOST, x[0], x[1], NULL, out[0][0], LD, false, false);
            multiply(sets[set], MOST, 40, MOST, zeroed[0], zeroed[1], NULL, out[1][0], LD, false, false);
            ck_assert_msg(memcmp(out[0], out[1], sizeof out[0]) == 0, "%s: round %d", sets[set]->name, round);
        }
}
END_TEST

/* What is not finite, or rounds beyond the largest bf16, gives NaN where it is seen, and nowhere else. */
START_TEST(not_finite)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    static float a[MOST][LD], b[MOST][LD], out[MOST][LD];
    const float odd[] = { INFINITY, -INFINITY, NAN, 3.4e38f, -3.4e38f };
    rng_state = 5;
    for (int set = 0; set < n; set++)
        for (int i = 0; sets[set]->split && i < 5; i++) {
            fill(a[0], MOST * LD);
            fill(b[0], MOST * LD);
            a[20][33] = odd[i];
            multiply(sets[set], 40, 33, 40, a, b, NULL, out[0], LD, false, false);
            for (int r = 0; r < 40; r++)
                for (int c = 0; c < 33; c++) ck_assert_msg(isnan(out[r][2 + c]) == (r == 20), "%s: %g, row %d", sets[set]->name, (double)odd[i], r);
        }
}
END_TEST

static Suite *split_suite(void)
{
    Suite *s = suite_create("split");
    TCase *t = tcase_create("kernels");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, layouts_agree);
    tcase_add_test(t, split_numbers_are_whole);
    tcase_add_test(t, sums_against_double);
    tcase_add_test(t, less_rounding_than_a_chain);
    tcase_add_test(t, small_numbers_keep_to_themselves);
    tcase_add_test(t, not_finite);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(split_suite()); }
