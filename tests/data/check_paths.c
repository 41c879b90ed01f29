/* Several paths in one text, and in a configuration. */
#include "config.h"

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/paths.h"
#include "config/config.h"
#include "tests/ct_check.h"

START_TEST(paths)
{
    const char *at = "a" CT_PATHS_BETWEEN "b c/" CT_PATHS_BETWEEN "d";
    const char *const want[] = { "a", "b c/", "d" };
    char *one, *shown = ct_paths_show(at);
    ck_assert_str_eq(shown, "a, b c/, d");
    ck_assert(ct_paths_several(at) && !ct_paths_several("a, b"));
    ct_free(shown);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ct_paths_next(&at, &one), CT_OK);
        ck_assert_str_eq(one, want[i]);
        ct_free(one);
    }
    ck_assert_int_eq(ct_paths_next(&at, &one), CT_OK);
    ck_assert_ptr_null(one);
}
END_TEST

/* What is written gives the same again, as a file and as --set. */
START_TEST(in_configurations)
{
    ct_config *c, *again;
    static const char text[] = "data: {train: [a b, \"c, #d\", \"bytes:%FF\"], val: [v], test: t}";
    ck_assert_int_eq(ct_config_parse(text, strlen(text), "t.yaml", NULL, 0, &c), CT_OK);
    ck_assert_str_eq(c->data.train, "a b" CT_PATHS_BETWEEN "c, #d" CT_PATHS_BETWEEN "\xff");
    ck_assert_str_eq(c->data.val, "v");
    char *yaml = ct_config_yaml(c, false), *json = ct_config_json(c);
    ck_assert_int_eq(ct_config_parse(yaml, strlen(yaml), "again", NULL, 0, &again), CT_OK);
    ck_assert(ct_config_equal(c, again));
    ct_config_free(again);
    ck_assert_int_eq(ct_config_parse(json, strlen(json), "again", NULL, 0, &again), CT_OK);
    ck_assert(ct_config_equal(c, again));
    ct_config_free(again);
    ct_free(yaml);
    ct_free(json);
    ct_config_free(c);
    const char *const set[] = { "data.train=[x, y/z]", "data.val=./[a]" };
    ck_assert_int_eq(ct_config_parse("", 0, "t", set, 2, &c), CT_OK);
    ck_assert_str_eq(c->data.train, "x" CT_PATHS_BETWEEN "y/z");
    ck_assert_str_eq(c->data.val, "./[a]");
    ct_config_free(c);
}
END_TEST

START_TEST(refused)
{
    static const char *const bad[][2] = {
        { "data: {train: []}", "must be a path, or a list of 1 to 64" },
        { "data: {train: [a, [b]]}", "with lists or maps inside" },
        { "data: {train: [a, synth:text]}", "a generator stands alone" },
        { "data: {train: [a, \"\"]}", "an empty path" },
        { "data: {train: \"bytes:a//%0Ab\"}", "is no path" },
        { "data: {train: [a, b], labels: c.csv}", "data.labels names the label file of one folder" },
        { "{model: {name: tfnet-small}, data: {train: [a, b]}}", "data.train: a list; models of sign language" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ct_config *c = NULL;
        ck_assert_msg(ct_config_parse(bad[i][0], strlen(bad[i][0]), "t.yaml", NULL, 0, &c) == CT_ECONFIG, "%s", bad[i][0]);
        ck_assert_msg(strstr(ct_error_message(), bad[i][1]) != NULL, "%s: %s", bad[i][0], ct_error_message());
    }
}
END_TEST

START_TEST(out_of_memory)
{
    static const char text[] = "data: {train: [a, b, c]}";
    for (long n = 0;; n++) {
        ct_config *c = NULL;
        ct_alloc_fail_after(n);
        const ct_status st = ct_config_parse(text, strlen(text), "t.yaml", NULL, 0, &c);
        const long made = ct_alloc_fail_after(-1);
        ct_config_free(c);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed, status %d: %s", n, (int)st, ct_error_message());
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("paths");
    TCase *t = tcase_create("paths");
    tcase_add_test(t, paths);
    tcase_add_test(t, in_configurations);
    tcase_add_test(t, refused);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
