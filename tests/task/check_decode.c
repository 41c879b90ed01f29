/* Rows of symbols: edit distance against plain recursion, alignments, prefix beam search against the sum over all paths
 * and against a search that looks at everything. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "task/beam.h"
#include "task/edit.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

/* ---- edit distance ---- */

static int64_t plain_distance(const int32_t *a, int64_t na, const int32_t *b, int64_t nb)
{
    if (na == 0 || nb == 0) return na + nb;
    int64_t pair = plain_distance(a + 1, na - 1, b + 1, nb - 1) + (a[0] != b[0]);
    int64_t drop = plain_distance(a + 1, na - 1, b, nb) + 1, insert = plain_distance(a, na, b + 1, nb - 1) + 1;
    if (drop < pair) pair = drop;
    return insert < pair ? insert : pair;
}

START_TEST(test_distance)
{
    ct_edit e = { 0 };
    ct_rng rng;
    ct_rng_init(&rng, 9, CT_RNG_TEST, 0);
    for (int round = 0; round < 300; round++) {
        int32_t label[6], pred[6];
        int64_t nl = ct_rng_below(&rng, 7), np = ct_rng_below(&rng, 7), differ = 0, i = 0, j = 0;
        for (int k = 0; k < 6; k++) label[k] = (int32_t)ct_rng_below(&rng, 3), pred[k] = (int32_t)ct_rng_below(&rng, 3);
        ok(ct_edit_align(&e, label, nl, pred, np));
        ck_assert_int_eq(e.distance, plain_distance(label, nl, pred, np));
        for (int64_t k = 0; k < e.pairs; k++) { /* the sides, read one after another, are the texts */
            ck_assert(e.pair[k].label >= 0 || e.pair[k].pred >= 0);
            if (e.pair[k].label >= 0) ck_assert_int_eq(e.pair[k].label, label[i++]);
            if (e.pair[k].pred >= 0) ck_assert_int_eq(e.pair[k].pred, pred[j++]);
            differ += e.pair[k].label != e.pair[k].pred;
        }
        ck_assert_int_eq(i, nl);
        ck_assert_int_eq(j, np);
        ck_assert_int_eq(differ, e.distance);
    }
    ct_edit_free(&e);
}
END_TEST

START_TEST(test_alignment)
{
    /* ABCD read as AXCDE: one substitution, one insertion */
    static const int32_t label[] = { 0, 1, 2, 3 }, pred[] = { 0, 9, 2, 3, 4, -1, 7 };
    static const ct_edit_pair want[] = { { 0, 0 }, { 1, 9 }, { 2, 2 }, { 3, 3 }, { -1, 4 } };
    ct_edit e = { 0 };
    ck_assert_int_eq(ct_edit_length(pred, 7), 5);
    ck_assert_int_eq(ct_edit_length(label, 4), 4);
    ok(ct_edit_align(&e, label, 4, pred, ct_edit_length(pred, 7)));
    ck_assert_int_eq(e.distance, 2);
    ck_assert_int_eq(e.pairs, 5);
    ck_assert_mem_eq(e.pair, want, sizeof want);
    ok(ct_edit_align(&e, label, 2, pred, 0));
    ck_assert(e.pairs == 2 && e.pair[0].pred == -1 && e.pair[1].label == 1);
    ok(ct_edit_align(&e, label, 0, pred, 0));
    ck_assert(e.pairs == 0 && e.distance == 0);
    ct_edit_free(&e);
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_edit_align(&e, label, 4, pred, 5), CT_ENOMEM);
    ct_alloc_fail_after(1);
    ck_assert_int_eq(ct_edit_align(&e, label, 4, pred, 5), CT_ENOMEM);
    ct_alloc_fail_after(-1);
    ct_edit_free(&e);
}
END_TEST

/* ---- beam search ---- */

#define LONGEST 8

typedef struct text {
    int32_t ch[LONGEST];
    int n;
    double blank, letter; /* log-probabilities */
} text;

static double lse(double a, double b)
{
    double m = fmax(a, b);
    return m == -INFINITY ? m : m + log(exp(a - m) + exp(b - m));
}

static double total(const text *t) { return lse(t->blank, t->letter); }

static text *find(text *list, size_t *n, const int32_t *ch, int count)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i].n == count && memcmp(list[i].ch, ch, (size_t)count * sizeof *ch) == 0) return &list[i];
    text *t = &list[(*n)++];
    *t = (text){ .n = count, .blank = -INFINITY, .letter = -INFINITY };
    memcpy(t->ch, ch, (size_t)count * sizeof *ch);
    return t;
}

static int by_total(const void *a, const void *b)
{
    double x = total(a), y = total(b);
    return x > y ? -1 : x < y;
}

/* The same search without a tree: every character behind every text, equal texts found by comparing. */
static text plain_search(const double *logp, int steps, int classes, size_t width)
{
    text *now = calloc(width, sizeof *now), *next = calloc(width * (size_t)(classes + 1), sizeof *next), best;
    size_t n = 1;
    ck_assert(now && next);
    now[0] = (text){ .letter = -INFINITY };
    for (int t = 0; t < steps; t++) {
        const double *row = logp + t * classes;
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
            const text *from = &now[i];
            int32_t longer[LONGEST], last = from->n ? from->ch[from->n - 1] : -1;
            text *same = find(next, &m, from->ch, from->n);
            same->blank = lse(same->blank, total(from) + row[0]);
            if (last >= 0) same->letter = lse(same->letter, from->letter + row[last + 1]);
            memcpy(longer, from->ch, sizeof longer);
            for (int32_t c = 0; c + 1 < classes; c++) {
                longer[from->n] = c;
                text *to = find(next, &m, longer, from->n + 1);
                to->letter = lse(to->letter, row[c + 1] + (c == last ? from->blank : total(from)));
            }
        }
        qsort(next, m, sizeof *next, by_total);
        n = m < width ? m : width;
        memcpy(now, next, n * sizeof *next);
    }
    best = now[0];
    free(now);
    free(next);
    return best;
}

/* Rows of log-probabilities, now and then of equals or of near certainty. */
static void draw(ct_rng *rng, double *logp, int steps, int classes)
{
    for (int t = 0; t < steps; t++) {
        double sum = 0, sharp = ct_rng_uniform(rng, 0, 6);
        for (int c = 0; c < classes; c++) sum += exp(logp[t * classes + c] = ct_rng_uniform(rng, -sharp, sharp));
        for (int c = 0; c < classes; c++) logp[t * classes + c] -= log(sum);
    }
}

START_TEST(test_beam_is_the_plain_search)
{
    static const struct {
        int steps, classes, width;
    } sizes[] = { { 7, 3, 1 },  { 7, 3, 2 },  { 7, 4, 5 }, { 6, 12, 3 },
                  { 5, 40, 4 }, { 6, 2, 10 }, { 4, 1, 3 }, { 7, 6, 60 }, { 3, 500, 3 } };
    double logp[8 * 500];
    int32_t ch[LONGEST];
    float conf[LONGEST];
    ct_rng rng;
    ct_rng_init(&rng, 4, CT_RNG_TEST, 0);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        ct_beam *b;
        ok(ct_beam_new(sizes[s].width, sizes[s].classes, &b));
        for (int round = 0; round < 40; round++) {
            int64_t n;
            double p;
            draw(&rng, logp, sizes[s].steps, sizes[s].classes);
            text want = plain_search(logp, sizes[s].steps, sizes[s].classes, (size_t)sizes[s].width);
            ok(ct_beam_decode(b, CT_F64, logp, 0, sizes[s].classes, sizes[s].steps, ch, conf, &n, &p));
            ck_assert_int_eq(n, want.n);
            ck_assert_mem_eq(ch, want.ch, (size_t)n * sizeof *ch);
            ck_assert_double_eq_tol(p, total(&want), 1e-9);
            for (int64_t k = 0; k < n; k++) ck_assert(conf[k] > 0 && conf[k] <= 1);
        }
        ct_beam_free(b);
    }
}
END_TEST

/* A beam that holds everything finds the text whose paths have most probability together. */
START_TEST(test_beam_finds_the_most_probable)
{
    enum { STEPS = 5, CLASSES = 3, PATHS = 243 };
    double logp[STEPS * CLASSES];
    int32_t ch[LONGEST];
    float conf[LONGEST];
    ct_rng rng;
    ct_beam *b;
    int unlike = 0;
    ct_rng_init(&rng, 8, CT_RNG_TEST, 0);
    ok(ct_beam_new(200, CLASSES, &b));
    for (int round = 0; round < 200; round++) {
        text list[PATHS];
        size_t m = 0;
        double most = -INFINITY, p;
        text best_path = { .n = 0 };
        draw(&rng, logp, STEPS, CLASSES);
        for (int path = 0; path < PATHS; path++) {
            text t = { .n = 0 };
            int rest = path, before = 0;
            double v = 0;
            for (int k = 0; k < STEPS; k++, rest /= CLASSES) {
                int c = rest % CLASSES;
                v += logp[k * CLASSES + c];
                if (c && c != before) t.ch[t.n++] = c - 1;
                before = c;
            }
            if (v > most) most = v, best_path = t;
            text *at = find(list, &m, t.ch, t.n);
            at->letter = lse(at->letter, v);
        }
        qsort(list, m, sizeof *list, by_total);
        int64_t n;
        ok(ct_beam_decode(b, CT_F64, logp, 0, CLASSES, STEPS, ch, conf, &n, &p));
        ck_assert_int_eq(n, list[0].n);
        ck_assert_mem_eq(ch, list[0].ch, (size_t)n * sizeof *ch);
        ck_assert_double_eq_tol(p, list[0].letter, 1e-9);
        unlike += best_path.n != n || memcmp(best_path.ch, ch, (size_t)n * sizeof *ch) != 0;
    }
    ck_assert_int_gt(unlike, 0); /* what greedy decoding would have got wrong */
    ct_beam_free(b);
}
END_TEST

/* The same where there are many classes: all rows of at most two symbols are looked at. */
START_TEST(test_beam_finds_the_most_probable_of_many)
{
    enum { CLASSES = 400, SYMBOLS = CLASSES - 1 };
    static double logp[2 * CLASSES];
    int32_t ch[LONGEST];
    float conf[LONGEST];
    ct_rng rng;
    ct_beam *b;
    int lengths[3] = { 0 };
    ct_rng_init(&rng, 12, CT_RNG_TEST, 0);
    ok(ct_beam_new(CT_BEAM_WIDTH_MAX, CLASSES, &b));
    for (int round = 0; round < 12; round++) {
        draw(&rng, logp, 2, CLASSES);
        logp[0] += round % 3; /* now and then a blank stands out; rows need not sum to one */
        logp[CLASSES] += round % 2;
        double most = logp[0] + logp[CLASSES], p;
        int32_t want[2] = { -1, -1 };
        for (int32_t i = 0; i < SYMBOLS; i++) {
            const double x = logp[i + 1], y = logp[CLASSES + i + 1];
            const double one = lse(lse(x + logp[CLASSES], logp[0] + y), x + y);
            if (one > most) most = one, want[0] = i, want[1] = -1;
            for (int32_t j = 0; j < SYMBOLS; j++) {
                const double two = x + logp[CLASSES + j + 1];
                if (i != j && two > most) most = two, want[0] = i, want[1] = j;
            }
        }
        int64_t n;
        ok(ct_beam_decode(b, CT_F64, logp, 0, CLASSES, 2, ch, conf, &n, &p));
        ck_assert_int_eq(n, ct_edit_length(want, 2));
        ck_assert_mem_eq(ch, want, (size_t)n * sizeof *ch);
        ck_assert_double_eq_tol(p, most, 1e-9);
        lengths[n]++;
    }
    ck_assert(lengths[1] > 0 && lengths[2] > 0);
    ct_beam_free(b);
}
END_TEST

/* Where every step is sure of its class, the search reads what the best path says. */
START_TEST(test_beam_of_sure_steps_is_greedy)
{
    enum { STEPS = 40, CLASSES = 3516 };
    static float logp[STEPS * CLASSES];
    int32_t ch[STEPS], want[STEPS];
    float conf[STEPS];
    ct_rng rng;
    ct_beam *b;
    ct_rng_init(&rng, 13, CT_RNG_TEST, 0);
    ok(ct_beam_new(CT_BEAM_WIDTH, CLASSES, &b));
    for (int round = 0; round < 5; round++) {
        int64_t n, words = 0;
        int before = 0;
        for (int t = 0; t < STEPS; t++) {
            /* a blank, a new symbol, or the same again, which is one run of it */
            const uint32_t draw = ct_rng_below(&rng, 3);
            const int now = draw == 0 ? 0 : draw == 1 ? before : 1 + (int)ct_rng_below(&rng, CLASSES - 1);
            if (now != 0 && now != before) want[words++] = now - 1;
            before = now;
            for (int c = 0; c < CLASSES; c++) logp[t * CLASSES + c] = c == now ? logf(0.99f) : logf(0.01f / (CLASSES - 1));
        }
        ok(ct_beam_decode(b, CT_F32, logp, 0, CLASSES, STEPS, ch, conf, &n, NULL));
        ck_assert_int_eq(n, words);
        ck_assert_mem_eq(ch, want, (size_t)n * sizeof *ch);
        for (int64_t k = 0; k < n; k++) ck_assert(fabsf(conf[k] - 0.99f) < 1e-5f);
        ck_assert_int_gt(words, 5);
    }
    ct_beam_free(b);
}
END_TEST

START_TEST(test_beam_confidence)
{
    /* - A A - A B as f32, two samples of a batch of 3 between others: element (t,c) at first + t*stride + c */
    enum { N = 3, C = 3, T = 6 };
    static const int best[T] = { 0, 1, 1, 0, 1, 2 };
    static const float high[T] = { 0.9f, 0.8f, 0.95f, 0.9f, 0.7f, 0.6f };
    float logp[T][N][C], conf[T];
    int32_t ch[T];
    int64_t n;
    ct_beam *b;
    for (int t = 0; t < T; t++)
        for (int s = 0; s < N; s++)
            for (int c = 0; c < C; c++) logp[t][s][c] = s != 1 ? NAN : logf(c == best[t] ? high[t] : (1 - high[t]) / 2);
    ok(ct_beam_new(CT_BEAM_WIDTH, C, &b));
    ok(ct_beam_decode(b, CT_F32, logp, 1 * C, N * C, T, ch, conf, &n, NULL));
    static const int32_t want[] = { 0, 0, 1 };
    ck_assert_int_eq(n, 3);
    ck_assert_mem_eq(ch, want, sizeof want);
    ck_assert(fabsf(conf[0] - 0.95f) < 1e-6f && fabsf(conf[1] - 0.7f) < 1e-6f && fabsf(conf[2] - 0.6f) < 1e-6f);
    ok(ct_beam_decode(b, CT_F32, logp, 0, N * C, T, ch, conf, &n, NULL)); /* all NaN: some text, no harm */
    ck_assert_int_le(n, T);
    ct_beam_free(b);
    ck_assert_int_eq(ct_beam_new(0, 3, &b), CT_EINVAL);
    ck_assert_int_eq(ct_beam_new(CT_BEAM_WIDTH_MAX + 1, 3, &b), CT_EINVAL);
    ck_assert_int_eq(ct_beam_new(3, 0, &b), CT_EINVAL);
    for (int after = 0;; after++) { /* out of memory at every place */
        ct_alloc_fail_after(after);
        ct_status st = ct_beam_new(3, C, &b);
        if (st == CT_OK) st = ct_beam_decode(b, CT_F32, logp, 1 * C, N * C, T, ch, conf, &n, NULL);
        ct_alloc_fail_after(-1);
        ct_beam_free(b);
        if (st == CT_OK) break;
        ck_assert_int_eq(st, CT_ENOMEM);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decode");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_distance);
    tcase_add_test(t, test_alignment);
    tcase_add_test(t, test_beam_is_the_plain_search);
    tcase_add_test(t, test_beam_finds_the_most_probable);
    tcase_add_test(t, test_beam_finds_the_most_probable_of_many);
    tcase_add_test(t, test_beam_of_sure_steps_is_greedy);
    tcase_add_test(t, test_beam_confidence);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
