/* Configuration: what the table of keys gives and takes: added values, numbers as text, the manual; and failing allocations. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/config.h"
#include "config/doc/doc.h"
#include "config/internal.h"
#include "tests/config/config_util.h"
#include "tests/ct_check.h"

/* The fewest digits that are read back as the same number; whole ones below 1e16 with all of theirs. */
START_TEST(numbers_as_text)
{
    static const struct { double v; const char *text; } some[] = {
        { 0, "0" }, { -0.0, "-0" }, { 5, "5" }, { -7, "-7" }, { 9007199254740992, "9007199254740992" },
        { 9999999999999998, "9999999999999998" }, { -9999999999999998, "-9999999999999998" }, { 1e16, "1e+16" }, { -1e300, "-1e+300" },
        { 0.1, "0.1" }, { -2.5e-7, "-2.5e-07" }, { 0.1 + 0.2, "0.30000000000000004" },
        { -1.7976931348623157e308, "-1.7976931348623157e+308" }, { HUGE_VAL, "inf" },
    };
    char buf[32];
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) ck_assert_str_eq(ct_format_double(some[i].v, buf), some[i].text);
}
END_TEST

/* Names that a program adds to a table (ct_task_add) count like the others, whatever their case; what is there stays. */
START_TEST(added_values)
{
    char name[48];
    ct_config *c;
    BAD("model.name: mine\n", "t.yaml:1:13: model.name: must be one of textcnn, textcnn-small, crnn, crnn-stacked, crnn-small, "
                              "reader, reader-large, resnet18, resnet34, resnet50, resnet101, resnet152, slider, slider-small, hrnet-w32, hrnet-w48, tfnet, tfnet-small (got 'mine')");
    ck_assert_int_eq(ct_config_add_value("model.name", "mine"), CT_OK);
    ck_assert_int_eq(ct_config_add_value("data.train", "synth:mine"), CT_OK);
    c = GOOD("model.name: MINE\ndata.train: synth:mine\n");
    ck_assert_str_eq(c->model.name, "mine");
    ck_assert_str_eq(c->data.train, "synth:mine");
    ct_config_free(c);
    c = GOOD("model.name: resnet50\n");
    ck_assert_str_eq(c->model.name, "resnet50");
    ct_config_free(c);
    BAD("model.name: yours\n", "t.yaml:1:13: model.name: must be one of textcnn, textcnn-small, crnn, crnn-stacked, "
                               "crnn-small, reader, reader-large, resnet18, resnet34, resnet50, resnet101, resnet152, slider, slider-small, hrnet-w32, hrnet-w48, tfnet, tfnet-small, mine (got 'yours')");
    BAD("data.val: synth:yours\n", "t.yaml:1:1: data.val: no generator 'synth:yours'; there is synth:text, synth:slider, synth:gestures, synth:mine");
    ck_assert(!ct_config_value_name(ct_config_find_row("train.backend"), 3, name, sizeof name));
    ck_assert_int_eq(ct_config_add_value("model.name", "Mine"), CT_EINVAL);
    ck_assert_int_eq(ct_config_add_value("model.name", "textcnn_small"), CT_EINVAL);
    ck_assert_int_eq(ct_config_add_value("loss.name", "mine"), CT_EINVAL); /* kept as a number */
    ck_assert_int_eq(ct_config_add_value("data.val", "mine"), CT_EINVAL);  /* any path */
    ck_assert_int_eq(ct_config_add_value("no.key", "mine"), CT_EINVAL);
}
END_TEST

START_TEST(out_of_memory)
{
    static const char text[] = "name: x\ntrain: {pin_memory: true, amp: true}\n"
                               "optimizer: {betas: [0.8, 0.9], lr: 0.1}\n"
                               "data: {train: a, charset: abc, momentum: 3}\n";
    static const char fine[] = "name: x\ntrain: {pin_memory: true, amp: true}\noptimizer: {betas: [0.8, 0.9]}\n";
    const char *both[2] = { "schedule.milestones=1,2", "data.train=b" };
    ct_config *c;
    int failures = 0;
    for (long n = 0;; n++) {
        ct_alloc_fail_after(n);
        ct_status st = ct_config_parse(fine, strlen(fine), "t.yaml", both, 2, &c);
        long made = ct_alloc_fail_after(-1);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_ptr_null(c);
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "memory"));
        failures++;
    }
    ck_assert_int_gt(failures, 50);
    for (long n = 0;; n++) { /* the way of messages */
        ct_config *e;
        ct_alloc_fail_after(n);
        ct_status st = ct_config_parse(text, strlen(text), "t.yaml", both, 2, &e);
        long made = ct_alloc_fail_after(-1);
        ck_assert_ptr_null(e);
        if (made <= n) {
            ck_assert_int_eq(st, CT_ECONFIG);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
    }
    for (long n = 0;; n++) { /* changing and writing */
        ct_alloc_fail_after(n);
        ct_status st = ct_config_set(c, "data.val", "folder", "--val");
        char *y = st == CT_OK ? ct_config_yaml(c, true) : NULL;
        char *j = y ? ct_config_json(c) : NULL;
        long made = ct_alloc_fail_after(-1);
        bool done = j != NULL;
        ct_free(y);
        ct_free(j);
        if (done) break;
        ck_assert_int_gt(made, n);
    }
    ck_assert_str_eq(c->data.val, "folder");
    ct_config_free(c);
}
END_TEST

/* doc/configuration.md is what the table says. CT_UPDATE=1 writes it anew. */
START_TEST(manual_is_current)
{
    char *text = NULL, *path = ct_asprintf("%s/doc/configuration.md", ct_check_srcdir());
    size_t size;
    uint8_t *old;
    FILE *f = open_memstream(&text, &size);
    ct_config_print_markdown(f);
    ck_assert_int_eq(fclose(f), 0);
    if (getenv("CT_UPDATE")) ck_assert_int_eq(ct_file_write_atomic(path, text, size), CT_OK);
    ck_assert_msg(ct_file_read(path, 1 << 20, &old, &size) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(strcmp((const char *)old, text) == 0, "doc/configuration.md is not what the table says");
    ct_free(old);
    ct_free(path);
    free(text);
    f = open_memstream(&text, &size);
    ct_config_print_help(f);
    ct_config_print_roff(f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_ptr_nonnull(strstr(text, "train.batch_size = 64"));
    ck_assert_ptr_nonnull(strstr(text, ".BR train.batch_size"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("config table");
    TCase *t = tcase_create("config table");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, numbers_as_text);
    tcase_add_test(t, added_values);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, manual_is_current);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
