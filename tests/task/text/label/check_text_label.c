/* Charsets and label rules. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "task/text/label/label.h"
#include "tests/ct_check.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

START_TEST(charset)
{
    ct_charset a, b;
    ck_assert_int_eq(ct_charset_parse("zA\xc3\xa9" "1", &a), CT_OK);
    ck_assert_int_eq(a.n, 4);
    ck_assert_int_eq(ct_charset_find(&a, 'z'), 0);
    ck_assert_int_eq(ct_charset_find(&a, 'A'), 1);
    ck_assert_int_eq(ct_charset_find(&a, 0xe9), 2);
    ck_assert_int_eq(ct_charset_find(&a, '1'), 3);
    ck_assert_int_eq(ct_charset_find(&a, 'B'), -1);
    char text[16];
    ck_assert_str_eq(ct_charset_decode(&a, (int32_t[]){ 3, -1, 2, 0 }, 4, text, sizeof text), "1\xc3\xa9z");
    ck_assert_str_eq(ct_charset_decode(&a, (int32_t[]){ 3, 2, 0 }, 3, text, 3), "1"); /* never half a character */
    ck_assert_int_eq(ct_charset_copy(&a, &b), CT_OK);
    ck_assert(ct_charset_equal(&a, &b));
    ct_charset_free(&b);
    ck_assert_int_eq(ct_charset_collect((const char *[]){ "1z", NULL, "A", "\xc3\xa9", "\xff" }, 5, &b), CT_OK);
    ck_assert_str_eq(b.utf8, "1Az\xc3\xa9");
    ck_assert(!ct_charset_equal(&a, &b));
    ct_charset_free(&a);
    ct_charset_free(&b);
    ck_assert_int_eq(ct_charset_parse("abca", &a), CT_ECONFIG);
    ck_message("'a' (U+0061) stands in it twice");
    ck_assert_int_eq(ct_charset_parse("", &a), CT_ECONFIG);
    ck_assert_int_eq(ct_charset_parse("a\tb", &a), CT_ECONFIG);
    ck_message("U+0009");
    ck_assert_int_eq(ct_charset_parse("a\xff", &a), CT_ECONFIG);
    ck_message("UTF-8");
}
END_TEST

/* ---- label rule ---- */

static const struct { const char *sep; ct_label_side side; ct_label_case fold; const char *name, *want; } names[] = {
    { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_KEEP, "ABCD_1_2.png", "ABCD" },
    { "_", CT_LABEL_BEFORE_LAST, CT_CASE_KEEP, "ABCD_1_2.png", "ABCD_1" },
    { "_", CT_LABEL_AFTER_FIRST, CT_CASE_KEEP, "ABCD_1_2.png", "1_2" },
    { "_", CT_LABEL_AFTER_LAST, CT_CASE_KEEP, "ABCD_1_2.png", "2" },
    { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_KEEP, "ABCD.png", "ABCD" },
    { "_", CT_LABEL_AFTER_LAST, CT_CASE_KEEP, "ABCD.png", "ABCD" },
    { "", CT_LABEL_BEFORE_FIRST, CT_CASE_KEEP, "A_B.jpeg", "A_B" },
    { "--", CT_LABEL_AFTER_LAST, CT_CASE_KEEP, "7---x.png", "x" },
    { "-", CT_LABEL_BEFORE_FIRST, CT_CASE_UPPER, "x/y-z/ab9-1.PNG", "AB9" },
    { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_LOWER, "AB9\xc3\x89\xd0\x96\xce\xa9_.png", "ab9\xc3\xa9\xd0\xb6\xcf\x89" },
    { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_UPPER, "a\xc3\xb7\xc3\xa9\xd1\x91_.png", "A\xc3\xb7\xc3\x89\xd0\x81" },
    { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_KEEP, "a.b.png", "a.b" },
    { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_KEEP, "noext", "noext" },
};

START_TEST(label_names)
{
    ct_label_rule rule = { .side = names[_i].side, .fold = names[_i].fold };
    char out[CT_LABEL_BYTES];
    strcpy(rule.separator, names[_i].sep);
    ck_assert_msg(ct_label_from_name(&rule, names[_i].name, out) == CT_OK, "%s", ct_error_message());
    ck_assert_str_eq(out, names[_i].want);
}
END_TEST

START_TEST(label_errors)
{
    ct_label_rule rule = CT_LABEL_RULE_DEFAULT;
    char out[CT_LABEL_BYTES], name[400];
    ck_assert_int_eq(ct_label_from_name(&rule, "_1.png", out), CT_EDATA);
    ck_message("_1.png: the label is empty");
    ck_assert_int_eq(ct_label_from_name(&rule, "ab\xff_1.png", out), CT_EDATA);
    ck_message("not valid UTF-8 (byte 0xff)");
    memset(name, 'x', 65);
    strcpy(name + 65, "_.png");
    ck_assert_int_eq(ct_label_from_name(&rule, name, out), CT_EDATA);
    ck_message("more than 64 characters");
    ck_assert_str_eq(out, "");

    ct_charset cs;
    int32_t id[6];
    int len;
    ck_assert_int_eq(ct_charset_parse("ABC1", &cs), CT_OK);
    ck_assert_int_eq(ct_label_encode(&cs, "f.png", "CA1", 0, id, 6, &len), CT_OK);
    ck_assert_int_eq(len, 3);
    ck_assert_mem_eq(id, ((int32_t[]){ 2, 0, 3, -1, -1, -1 }), sizeof id);
    ck_assert_int_eq(ct_label_encode(&cs, "f.png", "CA1", 4, id, 6, &len), CT_EDATA);
    ck_message("f.png: label \"CA1\" has 3 characters, 4 are expected");
    ck_assert_int_eq(ct_label_encode(&cs, "f.png", "CAc1", 4, id, 6, &len), CT_EDATA);
    ck_message("f.png: label \"CAc1\": character 'c' (U+0063) is not in the charset \"ABC1\"");
    for (int i = 0; i < 6; i++) ck_assert_int_eq(id[i], -1);
    ck_assert_int_eq(ct_label_encode(&cs, "f.png", "AAAAAAA", 0, id, 6, &len), CT_EDATA);
    ck_message("has 7 characters, at most 6");
    ck_assert_int_eq(ct_label_encode(&cs, "f.png", "", 0, id, 6, &len), CT_EDATA);
    ct_charset_free(&cs);
    ct_label_side side;
    ct_label_case fold;
    ck_assert(ct_label_side_parse("before", &side) && side == CT_LABEL_BEFORE_FIRST);
    ck_assert(ct_label_side_parse("after_first", &side) && side == CT_LABEL_AFTER_FIRST);
    ck_assert(!ct_label_side_parse("left", &side));
    ck_assert(ct_label_case_parse("upper", &fold) && fold == CT_CASE_UPPER);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text label");
    TCase *t = tcase_create("text label");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, charset);
    tcase_add_loop_test(t, label_names, 0, sizeof names / sizeof *names);
    tcase_add_test(t, label_errors);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
