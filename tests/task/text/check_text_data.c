/* Labels of folders as texts: lengths, columns, time steps (CTC), any script, letter case. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"
#include "tests/task/text/text_folder.h"

/* As many steps as a model with one per four pixels would have. */
static int64_t quarter(const void *user, int width)
{
    return width / 4 - *(const int *)user;
}

START_TEST(label_steps)
{
    static const int32_t id[6] = { 3, 3, 3, 0, 0, -1 };
    ck_assert_int_eq(ct_label_steps(id, 6), 5 + 3);
    ck_assert_int_eq(ct_label_steps(id, 1), 1);
    ck_assert_int_eq(ct_label_steps(id, 2), 3);
    ck_assert_int_eq(ct_label_steps(id + 5, 1), 0);
}
END_TEST

START_TEST(infeasible)
{
    int less = 0;
    ct_dataset *ds;
    ct_util_picture(dir, "AAB_1.png", 12, 10, 1);       /* needs 4, has 3 */
    ct_util_picture(dir, "ABC_2.png", 12, 10, 2);       /* needs 3, has 3 */
    ct_util_picture(dir, "AAAA_3.png", 28, 10, 3);      /* needs 7, has 7 */
    ct_util_picture(dir, "ABABABABABC_4.png", 40, 10, 4); /* needs 11, has 10: the longest label */
    ct_util_picture(dir, "A_5.png", 30, 10, 5);
    ct_dataset_spec s = fit_spec(10, 64, 16);
    rules.steps = quarter;
    rules.user = &less;
    rules.user_bytes = sizeof less;
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    ck_message("2 of 5 samples cannot be used (0 are tolerated, data.max_bad)");
    ck_message("AAB_1.png: label 'AAB' needs 4 time steps, the image of 12 pixels gives 3");
    ck_message("ABABABABABC_4.png: label 'ABABABABABC' needs 11 time steps, the image of 40 pixels gives 10");
    s.max_bad = 2;
    ds = must_open(&s, 2);
    ck_assert_int_eq(ct_dataset_size(ds), 3);
    ck_assert_int_eq(ct_dataset_bad_count(ds), 2);
    ck_assert_int_eq(ct_text_columns(ds), 4); /* of those that stay */
    static const int32_t want[3][4] = { { 0, 0, 0, 0 }, { 0, 1, 2, -1 }, { 0, -1, -1, -1 } };
    for (int i = 0; i < 3; i++) ck_assert_mem_eq(ct_text_ids(ds, i), want[i], sizeof want[i]);
    ct_dataset_close(ds);

    less = 100; /* too narrow for anything: no negative numbers in messages */
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    ck_message("A_5.png: label 'A' needs 1 time steps, the image of 30 pixels gives 0");

    less = 0;
    s.size_rule = CT_SIZE_RESIZE; /* every image gets the whole width */
    s.height = 10;
    s.width = 44;
    s.max_bad = 0;
    ds = must_open(&s, 2);
    ck_assert(ct_dataset_size(ds) == 5 && ct_dataset_buckets(ds) == 1 && ct_dataset_sample_width(ds, 0) == 44);
    ct_dataset_close(ds);
}
END_TEST

START_TEST(label_limits)
{
    ct_dataset *ds;
    ct_util_picture(dir, "AB_1.png", 12, 10, 1);
    ct_util_picture(dir, "ABCD_2.png", 12, 10, 2);
    ct_dataset_spec s = fit_spec(10, 64, 16);
    rules.most = 3;
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EDATA);
    ck_message("ABCD_2.png: label \"ABCD\" has 4 characters, at most 3 are possible");
    rules.most = 6; /* given: the columns, however long the longest is */
    ds = must_open(&s, 1);
    ck_assert_int_eq(ct_text_columns(ds), 6);
    ck_assert(ct_text_length(ds, 0) == 4 && ct_text_length(ds, 1) == 2);
    ck_assert_int_eq(ct_text_set_columns(ds, 3), CT_EINVAL);
    ck_assert_int_eq(ct_text_set_columns(ds, CT_LABEL_MAX + 1), CT_EINVAL);
    ck_assert_int_eq(ct_text_columns(ds), 6);
    static const int columns[] = { 4, 9, 6 };
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(ct_text_set_columns(ds, columns[k]), CT_OK);
        ck_assert_int_eq(ct_text_columns(ds), columns[k]);
        for (int i = 0; i < columns[k]; i++) {
            ck_assert_int_eq(ct_text_ids(ds, 0)[i], i < 4 ? i : -1);
            ck_assert_int_eq(ct_text_ids(ds, 1)[i], i < 2 ? i : -1);
        }
    }
    ct_alloc_fail_after(0);
    ct_status st = ct_text_set_columns(ds, 12);
    ct_alloc_fail_after(-1);
    ck_assert_int_eq(st, CT_ENOMEM);
    ck_assert_int_eq(ct_text_columns(ds), 6);
    ct_dataset_close(ds);
}
END_TEST

/* Characters of three and four bytes, in names and in label files; the charset ascends by code point. */
START_TEST(chinese)
{
    static const char *const charset = "A" "\xe4\xb8\xad" "\xe5\x9b\xbd" "\xe6\x96\x87" "\xf0\xa0\x80\x80";
    for (int from_file = 0; from_file < 2; from_file++) {
        char *old = dir;
        if (from_file) {
            dir = ct_util_tempdir();
            ct_util_picture(dir, "1.png", 40, 10, 1);
            ct_util_picture(dir, "2.png", 20, 10, 2);
            ct_util_text(dir, "labels.csv", "file,label\n1.png,\xe5\x9b\xbd\xe6\x96\x87\xe4\xb8\xad\n"
                                            "2.png,\"\xf0\xa0\x80\x80" "A\"\n");
        } else {
            ct_util_picture(dir, "\xe5\x9b\xbd\xe6\x96\x87\xe4\xb8\xad_1.png", 40, 10, 1);
            ct_util_picture(dir, "\xf0\xa0\x80\x80" "A_2.png", 20, 10, 2);
        }
        int less = 0;
        ct_dataset_spec s = fit_spec(10, 64, 16);
        rules.steps = quarter;
        rules.user = &less;
    rules.user_bytes = sizeof less;
        ct_dataset *ds = must_open(&s, 1);
        ck_assert_str_eq(ct_text_charset(ds)->utf8, charset);
        ck_assert_int_eq(ct_text_columns(ds), 3);
        int32_t want[2][3] = { { 2, 3, 1 }, { 4, 0, -1 } };
        for (int i = 0; i < 2; i++) {
            char text[32];
            ck_assert_mem_eq(ct_text_ids(ds, i), want[i], sizeof want[i]);
            ct_charset_decode(ct_text_charset(ds), ct_text_ids(ds, i), 3, text, sizeof text);
            ck_assert_str_eq(text, ct_dataset_label_text(ds, i));
        }
        ct_dataset_close(ds);
        if (from_file) {
            ct_util_remove(dir);
            dir = old;
        }
    }
}
END_TEST

/* Folding joins letters before classes are counted and repeats are looked for. */
START_TEST(folding)
{
    int less = 0;
    ct_dataset *ds;
    ct_util_picture(dir, "aAb_1.png", 12, 10, 1);
    ct_util_picture(dir, "\xc3\x84\xc3\xa4_2.png", 40, 10, 2);
    ct_dataset_spec s = fit_spec(10, 64, 16);
    rules.steps = quarter;
    rules.user = &less;
    rules.user_bytes = sizeof less;
    ds = must_open(&s, 1);
    ck_assert_str_eq(ct_text_charset(ds)->utf8, "Aab\xc3\x84\xc3\xa4");
    ct_dataset_close(ds);
    rules.rule.fold = CT_CASE_LOWER;
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EDATA);
    ck_message("label 'aab' needs 4 time steps, the image of 12 pixels gives 3");
    s.max_bad = 1;
    ds = must_open(&s, 1);
    ck_assert_str_eq(ct_dataset_label_text(ds, 0), "\xc3\xa4\xc3\xa4");
    ck_assert_str_eq(ct_text_charset(ds)->utf8, "ab\xc3\xa4");
    ct_dataset_close(ds);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text data");
    TCase *t = tcase_create("text data");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, label_steps);
    tcase_add_test(t, infeasible);
    tcase_add_test(t, label_limits);
    tcase_add_test(t, chinese);
    tcase_add_test(t, folding);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
