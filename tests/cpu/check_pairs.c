/* Products of bf16 (kern_pairs.h), in each set of loops that has them: against plain loops, and the processor's own instruction
 * against its emulation, bit by bit. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "tests/ct_check.h"

enum { MAX_P = 35, MAX_T = 3, MAX_C = 35, MAX_K = 64, GUARD = 8, TURNED = 48 + 16 };

static uint32_t rng_state;

static uint32_t draw(void) { return (rng_state = rng_state * 1664525u + 1013904223u) >> 8; }

static uint16_t small_bf16(void) { return ct_f32_to_bf16((float)(int)(draw() % 9) - 4); } /* -4..4 */

static void fill(uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = small_bf16();
}

/* Word w of a row of pairs as two numbers: their sum of products with another's. */
static float product(const float *a, const float *b)
{
    uint16_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ct_bf16_to_f32(x[0]) * ct_bf16_to_f32(y[0]) + ct_bf16_to_f32(x[1]) * ct_bf16_to_f32(y[1]);
}

/* Small whole numbers: every order of summing gives the same bits, and what is stored is rounded once. */
static void igemm_case(const ct_kern *k, int np, int kn, bool with_bias)
{
    static float x[MAX_T * MAX_P][MAX_C + 2], w[MAX_T * MAX_C * MAX_K], bias[MAX_K];
    static uint16_t out[MAX_P][MAX_K + GUARD], want[MAX_P][MAX_K + GUARD];
    const float *in[MAX_T * MAX_P];
    uint16_t *outs[MAX_P];
    const int taps = np % (MAX_T + 1), c = 1 + (kn + np) % MAX_C, kw = (kn + k->vl - 1) / k->vl * k->vl;
    fill((uint16_t *)x, (int64_t)(sizeof x / 2));
    fill((uint16_t *)w, (int64_t)(sizeof w / 2));
    fill(out[0], (int64_t)(sizeof out / 2));
    memcpy(want, out, sizeof want);
    for (int i = 0; i < MAX_K; i++) bias[i] = (float)(draw() % 300) + 0.25f;
    for (int i = 0; i < taps * np; i++) in[i] = x[i];
    if (np % 4 == 3 && taps) { /* rows that lie anywhere */
        in[0] = x[2];
        in[2] = x[0];
    }
    for (int p = 0; p < np; p++) {
        outs[p] = out[p];
        for (int i = 0; i < kn; i++) {
            float sum = with_bias ? bias[i] : 0;
            for (int t = 0; t < taps; t++)
                for (int j = 0; j < c; j++) sum += product(&in[t * np + p][2 + j], &w[(t * c + j) * kw + i]);
            want[p][i] = ct_f32_to_bf16(sum);
        }
    }
    const ct_igemm a = { .in = in, .in_stride = np, .out16 = outs, .np = np, .taps = taps, .c = c, .c_first = 2, .w = w,
                         .c_stride = c, .kn = kn, .kw = kw, .bias = with_bias ? bias : NULL };
    k->pairs->igemm(&a);
    ck_assert_msg(memcmp(out, want, sizeof out) == 0, "%s: np %d kn %d bias %d", k->name, np, kn, with_bias);
}

START_TEST(igemm_against_loops)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    int had = 0;
    rng_state = 5;
    for (int set = 0; set < n; set++) {
        if (!sets[set]->pairs) continue;
        had++;
        for (int np = 1; np <= MAX_P; np += np < 19 ? 1 : 4)
            for (int kn = 1; kn <= sets[set]->conv->nr; kn += kn < 20 ? 1 : 11) {
                igemm_case(sets[set], np, kn, false);
                igemm_case(sets[set], np, kn, true);
            }
    }
    ck_assert_int_ge(had, 1); /* the emulation is everywhere */
}
END_TEST

enum { ROWS = 20 };

/* Rows of n words as a kernel wants them: as they lie, or turned round to `turned` [c][TURNED], filled up with zeros. */
static void rows_for(const ct_kern *k, int n, int c, const float *const *in, float (*turned)[TURNED], ct_wgemm *a)
{
    a->in = in;
    if (!k->pairs->turned) return;
    memset(turned, 0, sizeof(float[2 * CT_KERN_TILE][TURNED]));
    for (int p = 0; p < n; p++)
        for (int i = 0; i < c; i++) memcpy(&turned[i][p], &in[p][i], sizeof(float));
    a->in = NULL;
    a->turned = turned[0];
    a->ld_turned = TURNED;
}

static void wgemm_case(const ct_kern *k, int np, int c, int kw, bool accumulate)
{
    static float x[MAX_P][ROWS], dy[MAX_P][MAX_K + 3], dw[ROWS][MAX_K + 1], want[ROWS][MAX_K + 1], turned[2 * CT_KERN_TILE][TURNED];
    const float *in[MAX_P];
    fill((uint16_t *)x, (int64_t)(sizeof x / 2));
    fill((uint16_t *)dy, (int64_t)(sizeof dy / 2));
    for (int p = 0; p < np; p++) in[p] = x[p];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MAX_K + 1; j++) {
            dw[i][j] = want[i][j] = (float)(draw() % 9);
            if (i >= c || j >= kw) continue;
            if (!accumulate) want[i][j] = 0;
            for (int p = 0; p < np; p++) want[i][j] += product(&x[p][i], &dy[p][j]);
        }
    ct_wgemm a = { .dy = dy[0], .np = np, .c_n = c, .kw = kw, .ldy = MAX_K + 3, .ldw = MAX_K + 1, .dw = dw[0], .accumulate = accumulate };
    rows_for(k, np, c, in, turned, &a);
    k->pairs->wgemm(&a);
    ck_assert_msg(memcmp(dw, want, sizeof dw) == 0, "%s: np %d c %d kw %d", k->name, np, c, kw);
}

START_TEST(wgemm_against_loops)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    rng_state = 6;
    for (int set = 0; set < n; set++)
        for (int np = 1; sets[set]->pairs && np <= MAX_P; np += np < 19 ? 1 : 4)
            for (int c = 1; c <= ROWS; c++)
                for (int kw = sets[set]->vl; kw <= sets[set]->conv->nr; kw += sets[set]->vl) {
                    wgemm_case(sets[set], np, c, kw, false);
                    wgemm_case(sets[set], np, c, kw, true);
                }
}
END_TEST

START_TEST(words_are_zipped)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    uint16_t lower[41], upper[41], words[82];
    rng_state = 7;
    for (int i = 0; i < 41; i++) {
        lower[i] = (uint16_t)draw();
        upper[i] = (uint16_t)draw();
    }
    for (int set = 0; set < n; set++)
        for (int len = 0; sets[set]->pairs && len <= 40; len++) {
            memset(words, 0xee, sizeof words);
            sets[set]->pairs->zip(len, lower, upper, (float *)(void *)words);
            for (int i = 0; i < 41; i++) {
                ck_assert_uint_eq(words[2 * i], i < len ? lower[i] : 0xeeee);
                ck_assert_uint_eq(words[2 * i + 1], i < len ? upper[i] : 0xeeee);
            }
        }
}
END_TEST

/* A number of any size; every fourth near the smallest normal ones, where products and sums fall below. */
static uint16_t any_bf16(int i)
{
    const uint32_t sign = draw() & 1, fraction = draw() & 0x7f;
    const uint32_t exponent = i % 4 == 0 ? draw() % 3 : i % 4 == 1 ? 60 + draw() % 8 : 100 + draw() % 56;
    return (uint16_t)(sign << 15 | exponent << 7 | fraction);
}

enum { WORDS = 37 };

/* Sums of n words' products: the order of all products, rounding and small numbers are in every bit of them. */
static void sums_of(const ct_kern *k, int n, const float *x, float *dy, float *dw)
{
    static float turned[2 * CT_KERN_TILE][TURNED];
    const float *in[WORDS];
    for (int i = 0; i < n; i++) in[i] = x + i;
    ct_wgemm a = { .dy = dy, .np = n, .c_n = 1, .kw = k->vl, .ldy = MAX_K, .ldw = MAX_K, .dw = dw };
    rows_for(k, n, 1, in, turned, &a);
    k->pairs->wgemm(&a);
}

/* Whether a processor that has a set sums as the set that emulates it. */
static bool agrees(const char *name, const ct_kern *emulated)
{
    const ct_kern *sets[CT_KERN_SETS], *real = NULL;
    const int n = ct_kern_list(sets);
    for (int i = 0; i < n; i++)
        if (strcmp(sets[i]->name, name) == 0) real = sets[i];
    if (!real) return false; /* nothing to hold the emulation against */
    rng_state = 8;
    for (int round = 0; round < 20000; round++) {
        static float x[WORDS], dy[WORDS][MAX_K];
        float got[MAX_K], want[MAX_K];
        uint16_t *h = (uint16_t *)x, *d = (uint16_t *)dy;
        const int words = round % 5 ? 3 : WORDS;
        for (int i = 0; i < 2 * words; i++) h[i] = any_bf16(round + i / 2);
        for (int i = 0; i < 2 * words * MAX_K; i++) d[i] = any_bf16(round / 4 + i % 3);
        sums_of(real, words, x, dy[0], got);
        sums_of(emulated, words, x, dy[0], want);
        for (int i = 0; i < emulated->vl; i++)
            ck_assert_msg(memcmp(got + i, want + i, sizeof *got) == 0, "%s, round %d: %a, emulated %a", name, round, (double)got[i],
                          (double)want[i]);
    }
    return true;
}

START_TEST(instruction_and_emulation_agree)
{
    if (!agrees("avx512bf16", &ct_kern_basebf16)) puts("no AVX512-BF16 to hold its emulation against");
    if (!agrees("amx", &ct_kern_baseamx)) puts("no AMX to hold its emulation against");
}
END_TEST

static Suite *pairs_suite(void)
{
    Suite *s = suite_create("pairs");
    TCase *t = tcase_create("kernels");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, igemm_against_loops);
    tcase_add_test(t, wgemm_against_loops);
    tcase_add_test(t, words_are_zipped);
    tcase_add_test(t, instruction_and_emulation_agree);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(pairs_suite()); }
