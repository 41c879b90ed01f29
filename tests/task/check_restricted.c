/* Decoding under a restriction, probabilities of texts and temperatures, against all paths and all texts. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "task/beam.h"
#include "task/best_path.h"
#include "task/calibration.h"
#include "task/paths.h"
#include "tests/ct_check.h"

enum { STEPS = 5, CLASSES = 4, SYMBOLS = CLASSES - 1, TEXTS = 1024 };

/* A text as a number in base CLASSES: its symbols + 1, the first one first. */
typedef struct world {
    double total[TEXTS], path[TEXTS]; /* log-probabilities: of all its paths, of the best one; -INFINITY: none */
} world;

static double lse(double a, double b)
{
    const double m = fmax(a, b);
    return m == -INFINITY ? m : m + log(exp(a - m) + exp(b - m));
}

static void draw(ct_rng *rng, int steps, float *logp)
{
    double raw[STEPS * CLASSES];
    for (int k = 0; k < steps * CLASSES; k++) raw[k] = 2.5 * ct_rng_normal(rng);
    ct_paths_temper(CT_F64, raw, 0, CLASSES, steps, CLASSES, 1, logp);
}

static void enumerate(const float *logp, int steps, world *w)
{
    int paths = 1;
    for (int t = 0; t < steps; t++) paths *= CLASSES;
    for (int k = 0; k < TEXTS; k++) w->total[k] = w->path[k] = -INFINITY;
    for (int p = 0; p < paths; p++) {
        int text = 0, last = 0, rest = p;
        double v = 0;
        for (int t = 0; t < steps; t++, rest /= CLASSES) {
            const int c = rest % CLASSES;
            v += (double)logp[t * CLASSES + c];
            if (c > 0 && c != last) text = text * CLASSES + c;
            last = c;
        }
        w->total[text] = lse(w->total[text], v);
        w->path[text] = fmax(w->path[text], v);
    }
}

static int number_of(const int32_t *row, int64_t n)
{
    int k = 0;
    for (int64_t i = 0; i < n; i++) k = k * CLASSES + row[i] + 1;
    return k;
}

static bool keeps(const ct_restriction *r, int text)
{
    int64_t n = 0;
    for (; text > 0; text /= CLASSES, n++)
        if (!r->may[text % CLASSES - 1]) return false;
    return r->most == 0 || (n >= r->least && n <= r->most);
}

static int best_of(const double *score, const ct_restriction *r)
{
    int best = -1;
    for (int k = 0; k < TEXTS; k++) {
        bool text = true; /* a number with a 0 among its digits is none */
        for (int x = k; x > 0; x /= CLASSES) text &= x % CLASSES > 0;
        if (text && score[k] > -INFINITY && keeps(r, k) && (best < 0 || score[k] > score[best])) best = k;
    }
    return best;
}

/* Every set of symbols, every pair of lengths, every number of steps. */
START_TEST(restricted_decoding)
{
    ct_rng rng;
    ct_best_path m = { 0 };
    ct_beam *wide, *narrow;
    int none = 0, some = 0;
    ct_rng_init(&rng, 11, 0, 0);
    ck_assert_int_eq(ct_beam_new(1000, CLASSES, &wide), CT_OK);
    ck_assert_int_eq(ct_beam_new(1, CLASSES, &narrow), CT_OK);
    for (int round = 0; round < 12; round++)
        for (int steps = 1; steps <= STEPS; steps++) {
            float logp[STEPS * CLASSES], conf[STEPS];
            world w;
            draw(&rng, steps, logp);
            enumerate(logp, steps, &w);
            for (int set = 1; set < 1 << SYMBOLS; set++)
                for (int64_t least = 0; least <= STEPS; least++)
                    for (int64_t most = least; most <= STEPS; most++) {
                        int32_t symbol[SYMBOLS], row[STEPS];
                        uint8_t may[SYMBOLS];
                        int64_t n;
                        double p;
                        ct_restriction r = { .any = true, .symbol = symbol, .may = may, .least = least, .most = most };
                        for (int32_t k = 0; k < SYMBOLS; k++)
                            if ((may[k] = set >> k & 1)) symbol[r.symbols++] = k;
                        if (most == 0) r.least = 0;
                        int want = best_of(w.path, &r);
                        ck_assert_int_eq(ct_best_path_decode(&m, &r, CT_F32, logp, 0, CLASSES, steps, row, &n), CT_OK);
                        ck_assert_int_eq(n < 0 ? -1 : number_of(row, n), want);
                        ck_assert_int_eq(want < 0, most > 0 && ct_restriction_reach(&r, steps) < least);
                        want < 0 ? none++ : some++;
                        want = best_of(w.total, &r);
                        ct_beam_restrict(wide, &r);
                        ck_assert_int_eq(ct_beam_decode(wide, CT_F32, logp, 0, CLASSES, steps, row, conf, &n, &p), CT_OK);
                        ck_assert_int_eq(n < 0 ? -1 : number_of(row, n), want);
                        if (want >= 0) ck_assert_double_eq_tol(p, w.total[want], 1e-6);
                        ct_beam_restrict(narrow, &r);
                        ck_assert_int_eq(ct_beam_decode(narrow, CT_F32, logp, 0, CLASSES, steps, row, conf, &n, &p), CT_OK);
                        ck_assert_int_eq(n < 0, want < 0);
                        if (n >= 0) ck_assert(keeps(&r, number_of(row, n)));
                    }
        }
    ck_assert_int_gt(none, 100);
    ck_assert_int_gt(some, 1000);
    ct_best_path_free(&m);
    ct_beam_free(wide);
    ct_beam_free(narrow);
}
END_TEST

/* Blanks and symbols of another stride and type; a NaN is no probability; no memory is said. */
START_TEST(restricted_odds)
{
    ct_best_path m = { 0 };
    int32_t symbol[1] = { 1 }, row[4];
    uint8_t may[2] = { 0, 1 };
    const ct_restriction r = { .any = true, .symbol = symbol, .symbols = 1, .may = may, .least = 2, .most = 2 };
    const double nan = NAN, logp[] = { 9, -5, -1, -1, 9, nan, -1, -1, 9, -5, -1, -2, 9, -1, -1, -5 };
    int64_t n;
    ck_assert_int_eq(ct_best_path_decode(&m, &r, CT_F64, logp, 1, 4, 3, row, &n), CT_OK);
    ck_assert_int_eq(n, -1); /* the blank that must stand in the middle cannot */
    ck_assert_int_eq(ct_best_path_decode(&m, &r, CT_F64, logp, 1, 4, 4, row, &n), CT_OK);
    ck_assert_int_eq(n, 2);
    ck_assert(row[0] == 1 && row[1] == 1);
    ct_best_path_free(&m);
    for (long k = 0; k < 3; k++) {
        ct_alloc_fail_after(k);
        ck_assert_int_eq(ct_best_path_decode(&m, &r, CT_F64, logp, 1, 4, 4, row, &n), CT_ENOMEM);
        ct_alloc_fail_after(-1);
        ct_best_path_free(&m);
    }
}
END_TEST

START_TEST(probabilities_of_texts)
{
    ct_rng rng;
    ct_rng_init(&rng, 12, 0, 0);
    for (int round = 0; round < 20; round++) {
        float raw[STEPS * CLASSES], logp[STEPS * CLASSES];
        double work[2 * STEPS + 1], sum = 0;
        const double temperature = round % 2 ? 1 : 1.7;
        world w;
        draw(&rng, STEPS, raw);
        ct_paths_temper(CT_F32, raw, 0, CLASSES, STEPS, CLASSES, temperature, logp);
        double z = 0;
        for (int c = 0; c < CLASSES; c++) z += exp((double)raw[c] / temperature);
        ck_assert_double_eq_tol((double)logp[2], (double)raw[2] / temperature - log(z), 1e-5);
        enumerate(logp, STEPS, &w);
        for (int k = 0; k < TEXTS; k++) {
            int32_t row[STEPS];
            int n = 0, digits = 0;
            bool text = true;
            for (int x = k; x > 0; x /= CLASSES, digits++) text &= x % CLASSES > 0;
            if (!text) continue;
            for (int x = k; x > 0; x /= CLASSES) row[digits - ++n] = x % CLASSES - 1;
            const double p = ct_paths_log_prob(logp, STEPS, CLASSES, row, n, work);
            if (w.total[k] == -INFINITY) ck_assert(p == -INFINITY);
            else ck_assert_double_eq_tol(p, w.total[k], 1e-5);
            sum += exp(p);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }
}
END_TEST

/* ---- calibration ---- */

typedef struct coin {
    double score[4000]; /* of "right"; of "wrong": 0 */
    bool right[4000];
} coin;

static double cost(const void *user, double temperature)
{
    const coin *k = user;
    double sum = 0;
    for (int i = 0; i < 4000; i++)
        sum += ct_calibration_cost(-log1p(exp((k->right[i] ? -1 : 1) * k->score[i] / temperature)), 4000);
    return sum;
}

/* Scores that are `_i` halves as large as they should be: the temperature finds it, and the error goes. */
START_TEST(temperature_is_found)
{
    static coin k;
    ct_rng rng;
    const double scale = _i / 2.0;
    ct_reliability before = { 0 }, after = { 0 };
    ct_rng_init(&rng, 13, 0, 0);
    for (int i = 0; i < 4000; i++) {
        const double s = 3 * ct_rng_normal(&rng);
        k.right[i] = ct_rng_uniform(&rng, 0, 1) < 1 / (1 + exp(-s));
        k.score[i] = s * scale;
    }
    const double t = ct_temperature_fit(cost, &k);
    ck_assert_double_eq_tol(t, scale, 0.1 * scale);
    ck_assert(cost(&k, t) <= cost(&k, t * 1.01) && cost(&k, t) <= cost(&k, t / 1.01));
    for (int i = 0; i < 4000; i++) {
        ct_reliability_add(&before, 1 / (1 + exp(-k.score[i])), k.right[i]);
        ct_reliability_add(&after, 1 / (1 + exp(-k.score[i] / t)), k.right[i]);
    }
    ck_assert_double_lt(ct_reliability_error(&after), 0.02);
    if (_i != 2) ck_assert_double_gt(ct_reliability_error(&before), 2 * ct_reliability_error(&after));
}
END_TEST

typedef struct pile {
    int n;
    double score;
} pile;

static double pile_cost(const void *user, double temperature)
{
    const pile *p = user;
    return p->n * ct_calibration_cost(-log1p(exp(-p->score / temperature)), p->n);
}

/* n samples, all right and equally sure: they are as sure afterwards as n right ones of n show, whether they were less
 * so before or more. */
START_TEST(right_ones_are_evidence)
{
    static const int n[] = { 20, 30, 99, 2048 };
    for (int i = 0; i < 4; i++)
        for (double score = 2; score < 20; score *= 2) {
            const pile p = { n[i], score };
            ck_assert_double_eq_tol(1 / (1 + exp(-score / ct_temperature_fit(pile_cost, &p))), (n[i] + 1.0) / (n[i] + 2),
                                    1e-3);
        }
    ck_assert_double_eq(ct_calibration_cost(-INFINITY, 30), 0);
    for (double log_prob = -1e-12; log_prob < 2e-6; log_prob += 1e-6) {
        ck_assert_double_gt(ct_calibration_cost(log_prob, 30), 0.1); /* a probability of 1 is too sure, and no infinity */
        ck_assert_double_lt(ct_calibration_cost(log_prob, 30), 1);
    }
}
END_TEST

START_TEST(reliability_by_hand)
{
    ct_reliability r = { 0 };
    ck_assert(isnan(ct_reliability_error(&r)));
    ct_reliability_add(&r, 1, true);
    ct_reliability_add(&r, 0.99, false);
    ct_reliability_add(&r, 0, false);
    ct_reliability_add(&r, 0.5, true);
    /* the last bin: |1 - 1.99|, the first |0 - 0|, the middle |1 - 0.5|, of 4 */
    ck_assert_double_eq_tol(ct_reliability_error(&r), (0.99 + 0 + 0.5) / 4, 1e-12);
    json_t *bins = ct_reliability_json(&r);
    ck_assert_uint_eq(json_array_size(bins), 3);
    const json_t *last = json_array_get(bins, 2);
    ck_assert_double_eq_tol(json_number_value(json_object_get(last, "confidence")), 0.995, 1e-12);
    ck_assert_double_eq_tol(json_number_value(json_object_get(last, "accuracy")), 0.5, 1e-12);
    ck_assert_int_eq(json_integer_value(json_object_get(last, "count")), 2);
    json_decref(bins);
}
END_TEST

static Suite *restricted_suite(void)
{
    Suite *s = suite_create("restricted");
    TCase *t = tcase_create("restricted");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, restricted_decoding);
    tcase_add_test(t, restricted_odds);
    tcase_add_test(t, probabilities_of_texts);
    tcase_add_loop_test(t, temperature_is_found, 1, 6);
    tcase_add_test(t, right_ones_are_evidence);
    tcase_add_test(t, reliability_by_hand);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(restricted_suite());
}
