/* Floor 1, numbers: element types and their conversions, tensor descriptors, random numbers. */
#include "config.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/philox.h"
#include "base/shortest.h"
#include "tests/ct_check.h"

/* ---- element types ---- */

/* The value of a binary float with the given field widths, by arithmetic. */
static double by_definition(unsigned bits, int exponent_bits, int fraction_bits)
{
    unsigned fraction = bits & ((1u << fraction_bits) - 1), exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double sign = bits >> (exponent_bits + fraction_bits) & 1u ? -1.0 : 1.0;
    if (exponent == (1u << exponent_bits) - 1) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp((double)fraction, 1 - bias - fraction_bits);
    return sign * ldexp(1.0 + ldexp((double)fraction, -fraction_bits), (int)exponent - bias);
}

static uint16_t f64_to(ct_dtype d, double v)
{
    uint16_t h;
    ct_store(d, &h, 0, v);
    return h;
}

static uint16_t f32_to(ct_dtype d, float v)
{
    return d == CT_F16 ? ct_f32_to_f16(v) : ct_f32_to_bf16(v);
}

START_TEST(all_16_bit_values)
{
    static const struct { ct_dtype d; int exponent, fraction; } kinds[] = { { CT_F16, 5, 10 }, { CT_BF16, 8, 7 } };
    ct_dtype d = kinds[_i].d;
    for (unsigned u = 0; u < 0x10000u; u++) {
        uint16_t h = (uint16_t)u;
        double want = by_definition(u, kinds[_i].exponent, kinds[_i].fraction);
        float got = d == CT_F16 ? ct_f16_to_f32(h) : ct_bf16_to_f32(h);
        if (isnan(want)) {
            ck_assert_msg(isnan(got), "%s %04x is NaN", ct_dtype_name(d), u);
            ck_assert(isnan(ct_load(d, &h, 0)));
            uint16_t back = f32_to(d, got);
            ck_assert_msg(isnan(ct_load(d, &back, 0)), "%s %04x stays NaN", ct_dtype_name(d), u);
            ck_assert_uint_eq(back >> 15, h >> 15);
            continue;
        }
        ck_assert_msg((double)got == want && !signbit(got) == !signbit(want), "%s %04x: %a, not %a", ct_dtype_name(d), u,
                      (double)got, want);
        ck_assert_uint_eq(f32_to(d, got), h);
        ck_assert_uint_eq(f64_to(d, want), h);
    }
}
END_TEST

/* Between every two neighbours: the tie goes to the even one, anything beside the tie to the nearer one; from f32 and, with a
 * distance from the tie that f32 cannot hold, from f64. */
START_TEST(rounding_between_16_bit_values)
{
    ct_dtype d = _i ? CT_BF16 : CT_F16;
    unsigned infinity = _i ? 0x7f80u : 0x7c00u;
    double beyond = _i ? 0x1p128 : 0x1p16; /* takes the place of infinity as the upper neighbour */
    for (unsigned u = 0; u < infinity; u++) {
        uint16_t h = (uint16_t)u, up = (uint16_t)(u + 1);
        double a = ct_load(d, &h, 0), b = u + 1 == infinity ? beyond : ct_load(d, &up, 0);
        double tie = (a + b) / 2;
        uint16_t even = u & 1u ? up : h;
        for (int sign = 0; sign < 2; sign++) {
            uint16_t s = sign ? 0x8000u : 0;
            double m = sign ? -1 : 1;
            if (d == CT_F16 || u < infinity - 1) { /* exact in f32 */
                ck_assert_uint_eq(f32_to(d, (float)(m * tie)), s | even);
                ck_assert_uint_eq(f32_to(d, nextafterf((float)(m * tie), 0)), s | h);
                ck_assert_uint_eq(f32_to(d, nextafterf((float)(m * tie), (float)m * INFINITY)), s | up);
            }
            ck_assert_uint_eq(f64_to(d, m * tie), s | even);
            ck_assert_uint_eq(f64_to(d, nextafter(m * tie, 0)), s | h);
            ck_assert_uint_eq(f64_to(d, nextafter(m * tie, m * (double)INFINITY)), s | up);
        }
    }
    ck_assert_uint_eq(f64_to(d, (double)INFINITY), infinity);
    ck_assert_uint_eq(f64_to(d, -1e300), 0x8000u | infinity);
    ck_assert_uint_eq(f64_to(d, -1e-300), 0x8000u);
}
END_TEST

START_TEST(load_and_store)
{
    for (int t = 0; t < CT_DTYPE_COUNT; t++) {
        ct_dtype d = (ct_dtype)t, parsed;
        unsigned char buf[64];
        for (int i = 0; i < 4; i++) ct_store(d, buf, i, (double)(i * 3));
        for (int i = 0; i < 4; i++) ck_assert_double_eq(ct_load(d, buf, i), (double)(i * 3));
        ck_assert(ct_dtype_parse(ct_dtype_name(d), &parsed));
        ck_assert_int_eq(parsed, d);
        if (ct_dtype_is_float(d)) {
            ct_store(d, buf, 0, 1.0 + ct_dtype_eps(d));
            ck_assert_double_eq(ct_load(d, buf, 0), 1.0 + ct_dtype_eps(d));
            ct_store(d, buf, 0, 1.0 + ct_dtype_eps(d) / 2); /* tie: to even */
            ck_assert_double_eq(ct_load(d, buf, 0), 1.0);
        } else {
            static const double in[] = { -1e30, 1e30, 2.5, 3.5, -0.5, 254.6 };
            double lo = d == CT_U8 ? 0 : d == CT_I32 ? -0x1p31 : -0x1p63;
            ct_store(d, buf, 0, in[0]);
            ck_assert_double_eq(ct_load(d, buf, 0), lo);
            ct_store(d, buf, 0, in[1]);
            ck_assert_double_eq(ct_load(d, buf, 0), d == CT_U8 ? 255 : d == CT_I32 ? 2147483647.0 : 0x1p63);
            ct_store(d, buf, 0, in[2]);
            ck_assert_double_eq(ct_load(d, buf, 0), 2);
            ct_store(d, buf, 0, in[3]);
            ck_assert_double_eq(ct_load(d, buf, 0), 4);
            ct_store(d, buf, 0, in[5]);
            ck_assert_double_eq(ct_load(d, buf, 0), 255);
            ct_store(d, buf, 0, (double)NAN);
            ck_assert_double_eq(ct_load(d, buf, 0), 0);
        }
    }
    ct_dtype none = CT_F32;
    ck_assert(!ct_dtype_parse("f8", &none));
    ck_assert(!ct_dtype_parse("", &none));
}
END_TEST

START_TEST(descriptors)
{
    char s[CT_DESC_STR];
    ct_desc t = ct_desc4(CT_BF16, 64, 60, 160, 1), back, one = ct_desc_make(CT_F64, 0, NULL);
    ck_assert_str_eq(ct_desc_str(&t, s), "bf16[64,60,160,1]");
    ck_assert_int_eq(ct_desc_numel(&t), 614400);
    ck_assert_uint_eq(ct_desc_bytes(&t), 1228800);
    ck_assert(ct_desc_parse(s, &back) && ct_desc_equal(&t, &back));
    back.dtype = CT_F32;
    ck_assert(!ct_desc_equal(&t, &back) && ct_desc_same_shape(&t, &back));
    back.dim[3] = 2;
    ck_assert(!ct_desc_same_shape(&t, &back));
    ck_assert_str_eq(ct_desc_str(&one, s), "f64[]");
    ck_assert_int_eq(ct_desc_numel(&one), 1);
    ck_assert(ct_desc_parse("f64[]", &back) && ct_desc_equal(&one, &back));
    ct_desc empty = ct_desc2(CT_F32, 5, 0), huge = ct_desc2(CT_F32, INT64_MAX / 2, 3), line = ct_desc1(CT_I32, 7);
    ck_assert_int_eq(ct_desc_numel(&empty), 0);
    ck_assert_uint_eq(ct_desc_bytes(&empty), 0);
    ck_assert_int_eq(ct_desc_numel(&huge), INT64_MAX);
    ck_assert_uint_eq(ct_desc_bytes(&huge), SIZE_MAX);
    ck_assert_uint_eq(ct_desc_bytes(&line), 28);
    /* The longest text is cut, not overrun. */
    ct_desc wide = ct_desc_make(CT_BF16, 5, (const int64_t[]){ INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX });
    ct_desc_str(&wide, s);
    ck_assert_uint_eq(strlen(s), CT_DESC_STR - 1);
    static const char *const bad[] = { "", "f32", "f32[", "f32[]x", "f32[1,]", "f32[,1]", "f32[-1]", "f32[01]", "f32[1 ]", "f32[ 1]",
                                       "f33[1]", "[1]", "f32[1,2,3,4,5,6]", "f32[9223372036854775808]", "f32[1,2", "bf16bf16bf16[1]" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) ck_assert_msg(!ct_desc_parse(bad[i], &back), "%s was parsed", bad[i]);
    ck_assert(ct_desc_parse("i64[0,9223372036854775807]", &back));
    ck_assert_int_eq(back.dim[1], INT64_MAX);
}
END_TEST

/* ---- random numbers ---- */

START_TEST(philox_known_answers)
{
    /* Random123's kat_vectors, philox4x32 with 10 rounds: counter words 0..3, key words 0..1, result. */
    static const struct { uint64_t key, hi, lo; uint32_t want[4]; } kat[] = {
        { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof kat / sizeof *kat; i++) {
        ct_philox got = ct_philox4x32(kat[i].key, kat[i].hi, kat[i].lo);
        for (int w = 0; w < 4; w++) ck_assert_msg(got.v[w] == kat[i].want[w], "vector %zu word %d: %08x", i, w, got.v[w]);
    }
    ck_assert_float_eq(ct_u01(0), 0);
    ck_assert(ct_u01(UINT32_MAX) < 1.0f);
}
END_TEST

START_TEST(streams_do_not_meet)
{
    ct_rng a, b, c;
    ct_rng_init(&a, 1, CT_RNG_TEST, 5);
    ct_rng_init(&b, 1, CT_RNG_TEST, 5);
    for (int i = 0; i < 9; i++) ck_assert_uint_eq(ct_rng_u32(&a), ct_rng_u32(&b));
    ct_rng_init(&a, 1, CT_RNG_TEST, 6);
    ct_rng_init(&b, 1, CT_RNG_SPLIT, 5);
    ct_rng_init(&c, 2, CT_RNG_TEST, 5);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t x = ct_rng_u32(&a), y = ct_rng_u32(&b), z = ct_rng_u32(&c);
        same += x == y || y == z || x == z;
    }
    ck_assert_int_eq(same, 0);
    /* The first block is the one of the documented counter. */
    ct_rng_init(&a, 42, CT_RNG_SHUFFLE, 3);
    ct_philox first = ct_philox4x32(42, (uint64_t)CT_RNG_SHUFFLE << 56 | 3, 0);
    for (int i = 0; i < 4; i++) ck_assert_uint_eq(ct_rng_u32(&a), first.v[i]);
}
END_TEST

START_TEST(distributions)
{
    ct_rng r;
    ct_rng_init(&r, 7, CT_RNG_TEST, 0);
    long count[6] = { 0 };
    for (int i = 0; i < 60000; i++) count[ct_rng_below(&r, 6)]++;
    for (int i = 0; i < 6; i++) ck_assert_msg(labs(count[i] - 10000) < 500, "%d: %ld", i, count[i]); /* 5.5 sigma */
    /* A bound just above 2^31 rejects nearly half the draws; its halves must still be equally likely. */
    long low = 0;
    for (int i = 0; i < 20000; i++) low += ct_rng_below(&r, 0x80000002u) <= 0x40000000u;
    ck_assert_int_lt(labs(low - 10000), 400);
    ck_assert_uint_eq(ct_rng_below(&r, 1), 0);
    ck_assert_uint_eq(ct_rng_below(&r, 0), 0);
    double sum = 0, squares = 0, lo = 1, hi = 0;
    for (int i = 0; i < 100000; i++) {
        double z = ct_rng_normal(&r), u = ct_rng_uniform(&r, -2, 3);
        ck_assert(isfinite(z));
        sum += z;
        squares += z * z;
        lo = fmin(lo, u);
        hi = fmax(hi, u);
        ck_assert(u >= -2 && u < 3);
    }
    ck_assert_double_lt(fabs(sum / 1e5), 0.02);
    ck_assert_double_lt(fabs(squares / 1e5 - 1), 0.03);
    ck_assert_double_lt(lo, -1.99);
    ck_assert_double_gt(hi, 2.99);
    /* An interval of one unit in the last place: the sum would round up to its end. */
    for (int i = 0; i < 100; i++) ck_assert(ct_rng_uniform(&r, 1.0, nextafter(1.0, 2.0)) == 1.0);
}
END_TEST

START_TEST(permutations)
{
    enum { N = 1000 };
    static int64_t p[N], q[N];
    bool seen[N] = { false };
    int fixed = 0;
    ct_rng_permutation(1, CT_RNG_SHUFFLE, 0, N, p);
    for (int i = 0; i < N; i++) {
        ck_assert(p[i] >= 0 && p[i] < N && !seen[p[i]]);
        seen[p[i]] = true;
        fixed += p[i] == i;
    }
    ck_assert_int_lt(fixed, 8);
    ct_rng_permutation(1, CT_RNG_SHUFFLE, 0, N, q);
    ck_assert_mem_eq(p, q, sizeof p);
    ct_rng_permutation(1, CT_RNG_SHUFFLE, 1, N, q);
    ck_assert_mem_ne(p, q, sizeof p);
    ct_rng_permutation(1, CT_RNG_SHUFFLE, 0, 0, p);
    ct_rng_permutation(1, CT_RNG_SHUFFLE, 0, 1, p);
    ck_assert_int_eq(p[0], 0);
    /* All 6 orders of 3 come up equally often. */
    int orders[27] = { 0 };
    for (uint64_t e = 0; e < 6000; e++) {
        ct_rng_permutation(9, CT_RNG_SHUFFLE, e, 3, p);
        orders[p[0] * 9 + p[1] * 3 + p[2]]++;
    }
    int kinds = 0;
    for (int i = 0; i < 27; i++) {
        if (!orders[i]) continue;
        kinds++;
        ck_assert_msg(orders[i] > 840 && orders[i] < 1160, "order %d: %d times", i, orders[i]);
    }
    ck_assert_int_eq(kinds, 6);
}
END_TEST

/* ---- shortest decimals ---- */

/* Digits of a decimal, without the zeros that only say where the point is. */
static int digits_of(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (n == 0 && *text == '0')) continue;
        if (*text == '0') zeros++;
        else n += zeros + 1, zeros = 0;
    }
    return n;
}

/* What Python's repr() says, which is David Gay's shortest; the form is ours. */
START_TEST(shortest_known)
{
    static const struct { double v; const char *text; } k[] = {
        { 0, "0.0" }, { -0.0, "-0.0" }, { 1, "1.0" }, { 100, "100.0" }, { 0.985, "0.985" }, { -0.1, "-0.1" },
        { 0.1 + 0.2, "0.30000000000000004" }, { 1.0 / 3, "0.3333333333333333" }, { 123456.789, "123456.789" },
        { 0.0001, "0.0001" }, { 0.00001, "1e-5" }, { 1.5e-7, "1.5e-7" }, { 1e15, "1000000000000000.0" },
        { 1e16, "1e16" }, { 1.5e300, "1.5e300" }, { 1e23, "1e23" }, { 9007199254740993.0, "9007199254740992.0" },
        { 5e-324, "5e-324" }, { 2.2250738585072014e-308, "2.2250738585072014e-308" },
        { 1.7976931348623157e308, "1.7976931348623157e308" },
        { 0x1p-44, "5.684341886080802e-14" }, /* the nearest of 16 digits, ...801e-14, is another number */
        { 0x1p-1074 * 3, "1.5e-323" }, { 9.5, "9.5" }, { 0.999999, "0.999999" },
    };
    char buf[CT_SHORTEST_BYTES];
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) ck_assert_str_eq(ct_shortest(k[i].v, buf), k[i].text);
}
END_TEST

/* Any bits read back, and the nearest decimal of a digit less does not. */
START_TEST(shortest_reads_back)
{
    ct_rng rng;
    char buf[CT_SHORTEST_BYTES];
    ct_rng_init(&rng, 7, 0, 0);
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = (uint64_t)ct_rng_u32(&rng) << 32 | ct_rng_u32(&rng);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (i % 4 == 0) v = ldexp(1, (int)(bits % 2046) - 1022);
        if (!isfinite(v)) continue;
        ck_assert_double_eq(strtod(ct_shortest(v, buf), NULL), v);
        const int digits = digits_of(buf);
        ck_assert_int_le(digits, 17);
        if (digits == 1) continue;
        char less[64];
        snprintf(less, sizeof less, "%.*e", digits - 2, v);
        ck_assert(strtod(less, NULL) != v);
    }
}
END_TEST

START_TEST(shortest_of_floats)
{
    ct_rng rng;
    ct_rng_init(&rng, 8, 0, 0);
    char buf[CT_SHORTEST_BYTES];
    ck_assert_double_eq(ct_shortest_float(0.1f), 0.1);
    ck_assert_double_eq(ct_shortest_float(0.985f), 0.985);
    ck_assert_double_eq(ct_shortest_float(16777216.0f), 16777216.0);
    ck_assert_str_eq(ct_shortest(ct_shortest_float(FLT_MAX), buf), "3.4028235e38");
    ck_assert_str_eq(ct_shortest(ct_shortest_float(1.4e-45f), buf), "1e-45");
    ck_assert(isnan(ct_shortest_float(NAN)));
    for (int i = 0; i < 20000; i++) {
        const uint32_t bits = ct_rng_u32(&rng);
        float v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        ck_assert(strtof(ct_shortest(ct_shortest_float(v), buf), NULL) == v);
        ck_assert_int_le(digits_of(buf), 9);
    }
}
END_TEST

/* A locale whose point is a comma, where the machine has one, changes nothing. */
START_TEST(shortest_in_any_locale)
{
    char buf[CT_SHORTEST_BYTES];
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) setlocale(LC_NUMERIC, "de_DE");
    ck_assert_str_eq(ct_shortest(0.985, buf), "0.985");
    ck_assert_double_eq(ct_shortest_float(0.985f), 985.0 / 1000);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

static Suite *base_numbers_suite(void)
{
    Suite *s = suite_create("base_numbers");
    TCase *t = tcase_create("dtype");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, all_16_bit_values, 0, 2);
    tcase_add_loop_test(t, rounding_between_16_bit_values, 0, 2);
    tcase_add_test(t, load_and_store);
    tcase_add_test(t, descriptors);
    suite_add_tcase(s, t);
    t = tcase_create("shortest");
    tcase_add_test(t, shortest_known);
    tcase_add_test(t, shortest_reads_back);
    tcase_add_test(t, shortest_of_floats);
    tcase_add_test(t, shortest_in_any_locale);
    suite_add_tcase(s, t);
    t = tcase_create("philox");
    tcase_add_test(t, philox_known_answers);
    tcase_add_test(t, streams_do_not_meet);
    tcase_add_test(t, distributions);
    tcase_add_test(t, permutations);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(base_numbers_suite());
}
