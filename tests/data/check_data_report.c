/* The analysis behind `captrain check`. */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "check/check.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"
#include "tests/task/text/text_util.h"

static char *dir, *val;
static ct_text_rules rules; /* how labels are read */

static void set_up(void)
{
    dir = ct_util_tempdir();
    val = ct_util_tempdir();
    ct_text_rules_init(&rules);
}

static void tear_down(void)
{
    ct_util_remove(dir);
    ct_util_remove(val);
}

static ct_check_spec spec_for(const char *path)
{
    ct_check_spec s = { .workers = 3 };
    ct_dataset_spec_init(&s.data);
    s.data.path = path;
    return s;
}

static ct_status run(const ct_check_spec *s, ct_check_report *r)
{
    ct_labels *labels;
    *r = (ct_check_report){ 0 };
    CT_TRY(ct_text_labels(&rules, &labels));
    return ct_check_run(s, labels, r);
}

static void must_run(const ct_check_spec *s, ct_check_report *r)
{
    ck_assert_msg(run(s, r) == CT_OK, "%s", ct_error_message());
}

static const ct_text_survey *survey_of(const ct_check_report *r) { return (const ct_text_survey *)r->survey; }
static const char *charset_of(const ct_check_report *r) { return ct_text_reader_charset(r->labels)->utf8; }

static const ct_issue *issue_of(const ct_check_report *r, const char *name)
{
    for (size_t i = 0; i < r->n_issues; i++) {
        if (strcmp(r->issues[i].name, name) == 0) return &r->issues[i];
    }
    return NULL;
}

START_TEST(clean_folder)
{
    ct_check_report r;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_util_picture(dir, "CAD_2.png", 16, 8, 2);
    ct_util_picture(dir, "CA_3.png", 20, 8, 3);
    ct_util_text(dir, "notes.txt", "x");
    ct_check_spec s = spec_for(dir);
    must_run(&s, &r);
    ck_assert(r.ok);
    ck_assert(r.samples[0] == 3 && r.good[0] == 3 && r.ignored[0] == 1 && r.n_issues == 0 && r.n_dups == 0);
    ck_assert_str_eq(charset_of(&r), "ABCD");
    ck_assert(survey_of(&r)->lengths[2] == 2 && survey_of(&r)->lengths[3] == 1);
    ck_assert_uint_eq(r.n_sizes, 2);
    ck_assert(r.sizes[0].w == 16 && r.sizes[0].h == 8 && r.sizes[0].n == 2 && r.sizes[1].w == 20 && r.sizes[1].n == 1);
    ck_assert_uint_eq(survey_of(&r)->n_chars, 4);
    ct_char_count c = { 0 };
    ck_assert(ct_text_survey_next(survey_of(&r), &c) && c.cp == 'A' && c.n == 3);
    ct_check_free(&r);
}
END_TEST

START_TEST(duplicates)
{
    ct_check_report r;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_util_picture(dir, "AB_2.png", 16, 8, 1);  /* the same picture, the same label */
    ct_util_picture(dir, "CD_3.png", 16, 8, 5);
    ct_util_picture(dir, "CE_4.png", 16, 8, 5);  /* another label */
    ct_util_picture(dir, "EA_5.png", 16, 8, 6);
    ct_util_picture(dir, "EA_6.png", 8, 16, 6);  /* the same bytes in another shape: no duplicate */
    ct_util_picture(val, "EA_9.png", 16, 8, 6);  /* in training, too */
    ct_check_spec s = spec_for(dir);
    s.val_path = val;
    must_run(&s, &r);
    ck_assert(r.ok); /* reported, but no reason to fail */
    ck_assert_uint_eq(r.n_dups, 3);
    ck_assert(r.dup_samples == 3 && r.dup_conflicts == 1 && r.dup_across == 1);
    ck_assert_str_eq(r.dups[0].name[1], "AB_2.png");
    ck_assert(!r.dups[0].conflict && !r.dups[0].across);
    ck_assert(r.dups[1].conflict);
    ck_assert_str_eq(r.dups[1].text[0], "CD");
    ck_assert_str_eq(r.dups[1].text[1], "CE");
    ck_assert(r.dups[2].across && r.dups[2].set[0] == 0 && r.dups[2].set[1] == 1);
    ct_check_free(&r);
}
END_TEST

START_TEST(issues)
{
    ct_check_report r;
    ct_charset cs;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_util_picture(dir, "AX_2.png", 16, 8, 2);
    ct_util_picture(dir, "ABA_3.png", 16, 8, 3);
    ct_util_picture(dir, "BA_4.png", 9, 8, 4);
    ct_util_picture(dir, "_5.png", 16, 8, 5);
    ct_util_text(dir, "BB_6.png", "");
    ct_check_spec s = spec_for(dir);

    must_run(&s, &r); /* without a configuration: only unreadable files count */
    ck_assert(!r.ok);
    ck_assert_str_eq(r.verdict, "1 file cannot be read");
    ck_assert(ct_check_count(&r, CT_ISSUE_UNREADABLE) == 1 && ct_check_count(&r, CT_ISSUE_LABEL) == 1);
    ck_assert(r.n_issues == 2);
    ck_assert_str_eq(charset_of(&r), "ABX");
    ck_assert_str_eq(issue_of(&r, "BB_6.png")->reason, "empty file");
    ct_check_free(&r);

    ck_assert_int_eq(ct_charset_parse("AB", &cs), CT_OK);
    s.with_config = true;
    rules.charset = &cs;
    rules.length = 2;
    s.data.size_rule = CT_SIZE_REFUSE;
    must_run(&s, &r);
    ck_assert(!r.ok);
    ck_assert_int_eq(r.good[0], 1);
    static const struct { const char *name; const char *kind; } want[] = {
        { "AX_2.png", "charset" }, { "ABA_3.png", "length" }, { "BA_4.png", CT_ISSUE_SIZE },
        { "_5.png", CT_ISSUE_LABEL }, { "BB_6.png", CT_ISSUE_UNREADABLE },
    };
    for (int i = 0; i < 5; i++) {
        const ct_issue *x = issue_of(&r, want[i].name);
        ck_assert_msg(x && strcmp(x->kind, want[i].kind) == 0, "%s", want[i].name);
        ck_assert_int_eq(ct_check_count(&r, want[i].kind), 1);
    }
    ck_assert_ptr_nonnull(strstr(r.verdict, "5 of 6 training samples"));
    ct_check_free(&r);

    /* ok says what ct_dataset_open() does, for any limit. */
    s.data.cache = false;
    for (int limit = 0; limit < 8; limit++) {
        ct_dataset *ds;
        s.data.max_bad = limit;
        must_run(&s, &r);
        ct_status st = open_text(&s.data, &rules, 1, &ds);
        ck_assert_int_eq(r.ok, st == CT_OK);
        ck_assert_int_eq(r.ok, limit >= 5);
        ct_dataset_close(ds);
        ct_check_free(&r);
    }
    ct_charset_free(&cs);
}
END_TEST

/* As many steps as a model with one per four pixels would have. */
static int64_t quarter(const void *user, int width)
{
    (void)user;
    return width / 4;
}

static ct_check_spec sequence_spec(void)
{
    ct_check_spec s = spec_for(dir);
    s.with_config = true;
    s.data.size_rule = CT_SIZE_FIT_HEIGHT;
    s.data.height = 16;
    s.data.width = 64;
    s.data.width_step = 16;
    rules.steps = quarter;
    s.data.cache = false;
    return s;
}

/* What print and JSON say of the pictures of the test below. */
static void sequences_told(const ct_check_report *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    ct_check_print(r, f);
    fclose(f);
    static const char *const lines[] = { "labels that need more time steps (CTC) than their pictures give: 1",
                                         "   48                2   15.6 %",
                                         "time steps (CTC): 5 of 6 labels fit their pictures, 1 with none to spare",
                                         "tightest: training/ABC_2.png needs 3 of 3" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no \"%s\" in:\n%s", lines[i], text);
    }
    free(text);
    f = open_memstream(&text, &size);
    ck_assert_int_eq(ct_check_write_json(r, f), CT_OK);
    fclose(f);
    json_t *j = json_loads(text, 0, NULL), *b = json_array_get(json_object_get(j, "buckets"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(b, "count")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(j, "counts"), "steps")), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(j, "time_steps")), 6);
    json_decref(j);
    free(text);
}

START_TEST(sequences)
{
    ct_check_report r;
    ct_util_picture(dir, "AAB_1.png", 12, 16, 1);   /* needs 4 time steps, has 3 */
    ct_util_picture(dir, "ABC_2.png", 12, 16, 2);   /* 3 of 3 */
    ct_util_picture(dir, "A_3.png", 32, 32, 3);     /* 16 pixels: no padding */
    ct_util_picture(dir, "ABAB_4.png", 40, 16, 4);  /* 48 pixels, 40 of them picture */
    ct_util_picture(dir, "ABCDE_5.png", 900, 16, 5);
    ct_util_text(dir, "A_6.png", "");
    ct_util_picture(val, "BA_1.png", 41, 16, 6);
    ct_check_spec s = sequence_spec();
    s.val_path = val;
    must_run(&s, &r);
    ck_assert(!r.ok && r.n_issues == 2 && ct_check_count(&r, "steps") == 1 && ct_check_count(&r, "unreadable") == 1);
    ck_assert_str_eq(issue_of(&r, "AAB_1.png")->reason,
                     "label 'AAB' needs 4 time steps, the image of 12 pixels gives 3");
    static const ct_bucket_count want[] = { { 16, 2, 1 - 28.0 / 32 }, { 48, 2, 1 - 81.0 / 96 }, { 64, 1, 0 } };
    ck_assert_uint_eq(r.n_buckets, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert(r.buckets[i].width == want[i].width && r.buckets[i].n == want[i].n);
        ck_assert_double_eq_tol(r.buckets[i].padding, want[i].padding, 1e-12);
    }
    static const struct { int set, needs, gives; const char *name; } steps[] = {
        { 0, 4, 3, "AAB_1.png" }, { 0, 5, 16, "ABCDE_5.png" }, { 0, 3, 3, "ABC_2.png" }, { 0, 4, 10, "ABAB_4.png" },
        { 0, 1, 4, "A_3.png" }, { 1, 2, 10, "BA_1.png" },
    };
    ck_assert_uint_eq(survey_of(&r)->n_steps, 6);
    for (size_t i = 0; i < 6; i++) {
        size_t k = 0;
        const ct_step_count *c = survey_of(&r)->steps;
        while (k < 6 && (strcmp(c[k].name, steps[i].name) != 0 || c[k].set != steps[i].set)) k++;
        ck_assert_msg(k < 6, "no %s", steps[i].name);
        ck_assert(survey_of(&r)->steps[k].needs == steps[i].needs && survey_of(&r)->steps[k].gives == steps[i].gives);
    }
    sequences_told(&r);
    ct_check_free(&r);

    s.val_path = NULL;
    for (int limit = 0; limit < 4; limit++) { /* ok says what ct_dataset_open() does, for any limit */
        ct_dataset *ds;
        s.data.max_bad = limit;
        must_run(&s, &r);
        ck_assert_int_eq(r.ok, open_text(&s.data, &rules, 1, &ds) == CT_OK);
        ck_assert_int_eq(r.ok, limit >= 2);
        ct_dataset_close(ds);
        ct_check_free(&r);
    }
    rules.most = 4; /* the most characters */
    must_run(&s, &r);
    ck_assert(ct_check_count(&r, "length") == 1 && strcmp(issue_of(&r, "ABCDE_5.png")->kind, "length") == 0);
    ct_check_free(&r);
}
END_TEST

START_TEST(validation_charset)
{
    ct_check_report r;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_util_picture(val, "AC_1.png", 16, 8, 2); /* C does not occur in training */
    ct_check_spec s = spec_for(dir);
    s.val_path = val;
    s.with_config = true;
    must_run(&s, &r);
    ck_assert(!r.ok);
    ck_assert_ptr_nonnull(strstr(r.verdict, "1 of 1 validation samples"));
    ck_assert_int_eq(r.issues[0].set, 1);
    ct_check_free(&r);
    ct_util_picture(dir, "CB_1.png", 16, 8, 3);
    must_run(&s, &r);
    ck_assert(r.ok);
    ct_check_free(&r);
}
END_TEST

START_TEST(empty)
{
    ct_check_report r;
    ct_check_spec s = spec_for(dir);
    ck_assert_int_eq(run(&s, &r), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "no PNG, JPEG"));
    s.data.path = "/no/such/folder";
    ck_assert_int_eq(run(&s, &r), CT_EIO);
}
END_TEST

START_TEST(output)
{
    ct_check_report r;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_util_picture(dir, "AC_2.png", 16, 8, 1);
    ct_util_text(dir, "bad\xff_1.png", ""); /* a name that is no UTF-8 */
    ct_check_spec s = spec_for(dir);
    must_run(&s, &r);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    ct_check_print(&r, f);
    fclose(f);
    static const char *const lines[] = { "samples: 3, usable: 2", "unreadable files: 1", "bad\\xff_1.png: empty file",
                                         "duplicates: 1 groups", "[different labels]", "16 x 8",
                                         "charset, 3 characters: \"ABC\"", "NOT GOOD: 1 file cannot be read" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no \"%s\" in:\n%s", lines[i], text);
    }
    free(text);

    f = open_memstream(&text, &size);
    ck_assert_int_eq(ct_check_write_json(&r, f), CT_OK);
    fclose(f);
    json_error_t e;
    json_t *j = json_loads(text, 0, &e);
    ck_assert_msg(j != NULL, "%s in: %s", e.text, text);
    ck_assert(json_is_false(json_object_get(j, "ok")));
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(j, "samples"), "train")), 3);
    json_t *first = json_array_get(json_object_get(j, "issues"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "kind")), "unreadable");
    ck_assert_str_eq(json_string_value(json_object_get(first, "file")), "bad\xef\xbf\xbd_1.png");
    ck_assert_str_eq(json_string_value(json_object_get(j, "charset")), "ABC");
    ck_assert_int_eq(json_integer_value(json_object_get(j, "duplicate_conflicts")), 1);
    json_decref(j);
    free(text);
    ct_check_free(&r);
}
END_TEST

START_TEST(out_of_memory)
{
    ct_util_picture(dir, "AB_1.png", 6, 8, 1);
    ct_util_picture(dir, "AC_2.png", 6, 8, 1);
    ct_util_text(dir, "AD_3.png", "");
    ct_util_picture(dir, "_4.png", 6, 8, 1);
    for (long n = 0;; n++) {
        ct_check_spec s = sequence_spec();
        ct_check_report r;
        s.workers = 1 + (int)(n & 1);
        ct_alloc_fail_after(n);
        ct_status st = run(&s, &r);
        long made = ct_alloc_fail_after(-1);
        ct_check_free(&r);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            ck_assert_int_gt(n, 40);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed, status %d: %s", n, (int)st, ct_error_message());
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("check report");
    TCase *t = tcase_create("check report");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, clean_folder);
    tcase_add_test(t, duplicates);
    tcase_add_test(t, issues);
    tcase_add_test(t, sequences);
    tcase_add_test(t, validation_charset);
    tcase_add_test(t, empty);
    tcase_add_test(t, output);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
