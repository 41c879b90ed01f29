/* UTF-8, label files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "lists/label_files.h"
#include "tests/ct_check.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

/* ---- UTF-8 ---- */

START_TEST(utf8)
{
    for (uint32_t cp = 1; cp < 0x110000; cp++) {
        char c[5];
        if (cp >= 0xd800 && cp < 0xe000) continue;
        int n = ct_utf8_put(cp, c);
        const char *s = c;
        int32_t back = ct_utf8_next(&s);
        if (back == (int32_t)cp && s - c == n) continue; /* a million ck_assert would be slow */
        ck_abort_msg("U+%04X comes back as %d", (unsigned)cp, (int)back);
    }
    static const char *const bad[] = { "\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                                       "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xff", "\xc3(" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *s = bad[i];
        ck_assert_int_eq(ct_utf8_next(&s), -1);
        ck_assert_ptr_eq(s, bad[i]);
        ck_assert_int_eq(ct_utf8_len(bad[i]), -1);
    }
    ck_assert_int_eq(ct_utf8_len("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), 4);
    char buf[32];
    ck_assert_str_eq(ct_utf8_show('q', buf), "'q' (U+0071)");
    ck_assert_str_eq(ct_utf8_show(7, buf), "U+0007");
}
END_TEST

/* ---- label files ---- */

static const struct { char kind; const char *text, *want; } tables[] = { /* want: "name=label@line;" ... */
    { 't', "a.png\tAB\nb.png\tCD\n", "a.png=AB@1;b.png=CD@2;" },
    { 't', "a.png AB\r\n\r\nmy file.png   C D\r\n", "a.png=AB@1;my file.png   C=D@3;" },
    { 't', "a.png,AB\nb.png,CD", "a.png=AB@1;b.png=CD@2;" },
    { 't', "\xef\xbb\xbf" "file label\na.png AB\nb.png\n", "a.png=AB@2;b.png=-@3;" },
    { 'c', "filename,label\na.png,AB\n", "a.png=AB@2;" },
    { 'c', "label;x;file\nAB;1;a.png\n", "a.png=AB@2;" },
    { 'c', "id,Image,Text\n1,a.png,AB\n", "a.png=AB@2;" },
    { 'c', "a.png,name\nb.png,CD\n", "a.png=name@1;b.png=CD@2;" },
    { 'c', "image;x;text\na.png;1;AB\n\nb.png\n", "a.png=AB@2;b.png=-@4;" },
    { 'c', "\"a,b.png\",\"A\"\"B\"\n\"c\nd.png\",X\ne.png,Y", "a,b.png=A\"B@1;c\nd.png=X@2;e.png=Y@4;" },
    { 'c', "a.png,\n", "a.png=@1;" },
    { 'c', "\"a\",\"b\"\r\n\"c\",\"d\"\r", "a=b@1;c=d@2;" },
    { 'v', "a b.png\tx,y\n", "a b.png=x,y@1;" },
    { 't', "", "" },
};

START_TEST(label_tables)
{
    size_t n = strlen(tables[_i].text);
    char *text = malloc(n + 1), got[512] = "";
    memcpy(text, tables[_i].text, n + 1);
    ct_label_table t;
    ck_assert_msg(ct_label_table_parse(text, n, tables[_i].kind, "L", NULL, NULL, &t) == CT_OK, "%s",
                  ct_error_message());
    for (size_t i = 0; i < t.n; i++) {
        sprintf(got + strlen(got), "%s=%s@%d;", t.row[i].name, t.row[i].text ? t.row[i].text : "-", (int)t.row[i].line);
    }
    ck_assert_str_eq(got, tables[_i].want);
    ct_free(t.row);
    free(text);
}
END_TEST

START_TEST(label_table_errors)
{
    static const struct { const char *text, *want; } bad[] = {
        { "a,b\n\"c,d\ne", "L:2: the quote opened here is not closed" },
        { "a,\"b\"\r9\n", "L:1: text behind a closing quote" },
        { "\"a\"b,c\n", "L:1: text behind a closing quote" },
        { "a,b\nc,\"d\ne,\"f\"\n", "L:2: the quote opened here is not closed: the next one, in line 3, has text behind it" },
        { "file,a,b\nx,y,z\n", "L:1: the header names no label column" },
    };
    ct_label_table t;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        strcpy(text, bad[i].text);
        ck_assert_int_eq(ct_label_table_parse(text, strlen(text), 'c', "L", NULL, NULL, &t), CT_EFORMAT);
        ck_message(bad[i].want);
    }
    char nul[] = "a,b\0c\n";
    ck_assert_int_eq(ct_label_table_parse(nul, 6, 'c', "L", NULL, NULL, &t), CT_EFORMAT);
    ck_message("NUL bytes");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("label");
    TCase *t = tcase_create("label");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, utf8);
    tcase_add_loop_test(t, label_tables, 0, sizeof tables / sizeof *tables);
    tcase_add_test(t, label_table_errors);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
