/* Text: UTF-8, words that are nearly the same, and numbers as people read them. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/ct_check.h"

/* ---- UTF-8 ---- */

START_TEST(decoding)
{
    const char *s = "a\xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80";
    const int32_t want[] = { 'a', 0xe4, 0x4e2d, 0x1f600, 0, 0 };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) ck_assert_int_eq(ct_utf8_next(&s), want[i]);
    /* alone, overlong, surrogate, above U+10FFFF, cut off */
    static const char *const bad[] = { "\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe4\xb8", "\xf0\x9f\x98" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *p = bad[i];
        ck_assert_int_eq(ct_utf8_next(&p), -1);
        ck_assert_ptr_eq(p, bad[i]);
        ck_assert_int_eq(ct_utf8_len(bad[i]), -1);
    }
    char out[5];
    const uint32_t edge[] = { 1, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff };
    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++) {
        const char *p = out;
        const int n = ct_utf8_put(edge[i], out);
        ck_assert_int_eq(ct_utf8_next(&p), (int32_t)edge[i]);
        ck_assert_int_eq(p - out, n);
    }
}
END_TEST

START_TEST(cutting)
{
    static const char text[] = "a\xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80z"; /* characters at 0, 1, 3, 6, 10 */
    static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) ck_assert_uint_eq(ct_utf8_cut(text, i), want[i]);
    ck_assert_uint_eq(ct_utf8_cut("", 5), 0);
}
END_TEST

/* ---- words ---- */

static int distance(const char *a, const char *b)
{
    return ct_word_distance(a, strlen(a), b, strlen(b));
}

START_TEST(distances)
{
    ck_assert_int_eq(distance("", ""), 0);
    ck_assert_int_eq(distance("", "abc"), 3);
    ck_assert_int_eq(distance("train", "TRAIN"), 0);
    ck_assert_int_eq(distance("train", "trian"), 1); /* a swap of neighbours is one step */
    ck_assert_int_eq(distance("ca", "abc"), 3);      /* but nothing is changed twice */
    ck_assert_int_eq(distance("kitten", "sitting"), 3);
    char a[200], b[200];
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    b[CT_WORD_BYTES] = 'y'; /* not looked at */
    ck_assert_int_eq(ct_word_distance(a, sizeof a, b, sizeof b), 0);
    b[CT_WORD_BYTES - 1] = 'y';
    ck_assert_int_eq(ct_word_distance(a, sizeof a, b, sizeof b), 1);
}
END_TEST

/* ---- numbers ---- */

START_TEST(numbers)
{
    char b[32];
    ck_assert_str_eq(ct_text_count(0, b, sizeof b), "0");
    ck_assert_str_eq(ct_text_count(999, b, sizeof b), "999");
    ck_assert_str_eq(ct_text_count(741792, b, sizeof b), "741,792");
    ck_assert_str_eq(ct_text_count(1234567890, b, sizeof b), "1,234,567,890");
    ck_assert_str_eq(ct_text_count(-1000, b, sizeof b), "-1,000");
    ck_assert_str_eq(ct_text_count(INT64_MIN, b, sizeof b), "-9,223,372,036,854,775,808");
    ck_assert_str_eq(ct_text_duration(7.4, b, sizeof b), "7 s");
    ck_assert_str_eq(ct_text_duration(123, b, sizeof b), "2:03");
    ck_assert_str_eq(ct_text_duration(3723, b, sizeof b), "1:02:03");
    ck_assert_str_eq(ct_text_duration(-1, b, sizeof b), "?");
    ck_assert_str_eq(ct_text_duration(NAN, b, sizeof b), "?");
    ck_assert_str_eq(ct_text_bytes(999, b, sizeof b), "999 B");
    ck_assert_str_eq(ct_text_bytes(1500000, b, sizeof b), "1.50 MB");
    ck_assert_str_eq(ct_text_bytes(152000000, b, sizeof b), "152 MB");
    ck_assert_str_eq(ct_text_megabytes(9999, b, sizeof b), "9999 B");
    ck_assert_str_eq(ct_text_megabytes(10000, b, sizeof b), "10.0 kB");
    ck_assert_str_eq(ct_text_megabytes(9999949, b, sizeof b), "9999.9 kB");
    ck_assert_str_eq(ct_text_megabytes(10000000, b, sizeof b), "10.0 MB");
    ck_assert_str_eq(ct_text_megabytes(12345600000, b, sizeof b), "12345.6 MB");
    ck_assert_str_eq(ct_text_short(9999, b, sizeof b), "9999");
    ck_assert_str_eq(ct_text_short(812000, b, sizeof b), "812 k");
    ck_assert_str_eq(ct_text_short(19070000, b, sizeof b), "19.07 M");
    ck_assert_str_eq(ct_text_short(2.5e9, b, sizeof b), "2.50 G");
}
END_TEST

/* Nothing that a terminal would obey is left; what is cut is cut between characters. */
START_TEST(made_visible)
{
    static const struct { const char *text, *shown; } rows[] = {
        { "", "" }, { "plain \xc3\xa4\xe4\xb8\xad", "plain \xc3\xa4\xe4\xb8\xad" }, { "\x1b[2J", "\\x1b[2J" },
        { "a\nb\tc\rd", "a\\nb\\tc\\rd" }, { "\xc2\x9b" "31m", "\\u009b31m" }, { "\xff\x7f", "\\xff\\x7f" },
        { "back\\slash", "back\\slash" },
    };
    char buf[64], read[64] = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_str_eq(ct_text_visible(rows[i].text, buf, sizeof buf), rows[i].shown);
    ck_assert_str_eq(ct_text_visible("ab\xe4\xb8\xad", buf, 5), "ab");
    ck_assert_str_eq(ct_text_visible("ab\xe4\xb8\xad", buf, 6), "ab\xe4\xb8\xad");
    ck_assert_str_eq(ct_text_visible("\x1b", buf, 4), "");
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    ct_text_put(f, "a\n\tb\x1b", true);
    ct_text_put(f, "\n", false);
    rewind(f);
    read[fread(read, 1, sizeof read - 1, f)] = '\0';
    fclose(f);
    ck_assert_str_eq(read, "a\n\tb\\x1b\\n");
}
END_TEST

/* A line is one write, so that other processes' do not come in between; a long one is whole. */
START_TEST(lines_are_one_write)
{
    static char got[20000], text[10001];
    int end[2];
    ck_assert_int_eq(pipe2(end, O_DIRECT), 0); /* a read gives what one write wrote */
    FILE *f = fdopen(end[1], "w");
    ck_assert_ptr_nonnull(f);
    setvbuf(f, NULL, _IONBF, 0);
    ct_text_say(f, "captrain: ", "one\nand \xc3\xa4 \x1b[2J\xff");
    ssize_t n = read(end[0], got, sizeof got - 1);
    ck_assert_int_gt(n, 0);
    got[n] = '\0';
    ck_assert_str_eq(got, "captrain: one\nand \xc3\xa4 \\x1b[2J\\xff\n");
    memset(text, 'x', sizeof text - 1);
    ct_text_say(f, "", text);
    fclose(f);
    size_t all = 0;
    while ((n = read(end[0], got + all, sizeof got - all)) > 0) all += (size_t)n;
    ck_assert_uint_eq(all, sizeof text);
    ck_assert_mem_eq(got, text, sizeof text - 1);
    ck_assert_int_eq(got[all - 1], '\n');
    close(end[0]);
}
END_TEST

static Suite *text_suite(void)
{
    Suite *s = suite_create("text");
    TCase *t = tcase_create("text");
    tcase_add_test(t, decoding);
    tcase_add_test(t, cutting);
    tcase_add_test(t, distances);
    tcase_add_test(t, numbers);
    tcase_add_test(t, made_visible);
    tcase_add_test(t, lines_are_one_write);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(text_suite());
}
