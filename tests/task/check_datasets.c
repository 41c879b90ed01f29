/* From the keys data.* and the model to data sets: sizes, lengths, columns, keys of checkpoints. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"
#include "task/datasets.h"
#include "task/text/text.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static char *dir, *val, *cache;

static void set_up(void)
{
    dir = ct_util_tempdir();
    val = ct_util_tempdir();
    cache = ct_util_tempdir();
    setenv("CAPTRAIN_CACHE_DIR", cache, 1);
    ct_log_set_level(CT_LOG_ERROR);
}

static void tear_down(void)
{
    ct_util_remove(dir);
    ct_util_remove(val);
    ct_util_remove(cache);
}

/* The built-in defaults with the two folders, and key=value settings up to a NULL. */
static ct_config *config_of(const char *const *sets)
{
    ct_config *cfg;
    ck_assert_msg(ct_config_defaults(&cfg) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_config_set(cfg, "data.train", dir, "test"), CT_OK);
    ck_assert_int_eq(ct_config_set(cfg, "data.val", val, "test"), CT_OK);
    for (; *sets; sets++) {
        char key[64];
        size_t n = strcspn(*sets, "=");
        memcpy(key, *sets, n);
        key[n] = '\0';
        ck_assert_msg(ct_config_set(cfg, key, *sets + n + 1, "test") == CT_OK, "%s", ct_error_message());
    }
    return cfg;
}

#define CRNN "model.name=crnn-small", "data.height=32", "data.width=200"

static void pictures(void)
{
    ct_util_picture(dir, "ab_1.png", 60, 32, 1);
    ct_util_picture(dir, "abA_2.png", 100, 32, 2);
    ct_util_picture(dir, "bB_3.png", 150, 64, 3);
    ct_util_picture(val, "abababab_1.png", 190, 32, 4);
}

START_TEST(ctc_sets)
{
    static const char *const sets[] = { CRNN, "data.size_rule=fit_height", NULL };
    static const char *const less[] = { CRNN, "data.size_rule=fit_height", "data.length=3", NULL };
    static const char *const more[] = { CRNN, "data.size_rule=fit_height", "data.length=20", NULL };
    static const char *const lower[] = { CRNN, "data.letter_case=lower", NULL };
    ct_datasets d;
    pictures();
    ct_config *cfg = config_of(sets);
    ck_assert(ct_text_sequence(cfg));
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_facts(d.facts)->positions, 8); /* of the validation set's label */
    ck_assert_int_eq(ct_text_columns(d.train.data), 8);
    ck_assert_int_eq(ct_text_columns(d.val.data), 8);
    ck_assert_str_eq(ct_text_facts(d.facts)->charset.utf8, "ABab");
    ck_assert_int_eq(ct_dataset_buckets(d.train.data), 3); /* 64, 96 and 128 pixels: 60, 75, 100 of picture */
    ck_assert_int_eq(ct_dataset_bucket_width(d.train.data, 2), 128);
    char key[33], other[33];
    ck_assert_int_eq(ct_view_key(&d.train, key), CT_OK);
    ct_datasets_close(&d);
    ct_config_free(cfg);

    cfg = config_of(less); /* given: longer labels are bad */
    ck_assert_int_eq(ct_datasets_open(cfg, &d), CT_EDATA);
    ck_message("data.val");
    ck_message("abababab_1.png: label \"abababab\" has 8 characters, at most 3 are possible");
    ct_config_free(cfg);

    cfg = config_of(more);
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_facts(d.facts)->positions, 20);
    ck_assert_int_eq(ct_text_columns(d.val.data), 20);
    ck_assert_int_eq(ct_view_key(&d.train, other), CT_OK);
    ck_assert_str_eq(key, other); /* columns are no property of the data */
    ct_datasets_close(&d);
    ct_config_free(cfg);

    cfg = config_of(lower); /* without fit_height: one bucket */
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert_str_eq(ct_text_facts(d.facts)->charset.utf8, "ab");
    ck_assert(ct_dataset_buckets(d.train.data) == 1 && ct_dataset_width(d.train.data) == 200);
    ct_datasets_close(&d);
    ct_config_free(cfg);
}
END_TEST

/* What a model scores may have longer labels than what it was trained on. */
START_TEST(scored)
{
    static const char *const sets[] = { CRNN, NULL };
    ct_datasets d;
    ct_dataset *ds;
    pictures();
    ct_config *cfg = config_of(sets);
    ck_assert_int_eq(ct_config_set(cfg, "data.val", "", "test"), CT_OK);
    ck_assert_int_eq(ct_config_set(cfg, "data.val_fraction", "0.4", "test"), CT_OK);
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_facts(d.facts)->positions, 3);
    ck_assert_msg(ct_datasets_open_scored(cfg, d.task, d.facts, val, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_columns(ds), 8);
    ct_dataset_close(ds);
    ((struct ct_text_facts *)d.facts)->positions = 11;
    ck_assert_msg(ct_datasets_open_scored(cfg, d.task, d.facts, val, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_columns(ds), 11);
    ct_dataset_close(ds);
    ct_datasets_close(&d);
    ct_config_free(cfg);
}
END_TEST

START_TEST(narrow)
{
    static const char *const sets[] = { CRNN, "data.size_rule=fit_height", NULL };
    static const char *const wider[] = { CRNN, "data.size_rule=fit_height", "data.min_width=40", NULL };
    ct_datasets d;
    pictures();
    ct_util_picture(dir, "aabb_4.png", 3, 32, 5);
    ct_config *cfg = config_of(sets);
    ct_dataset_spec s;
    ct_text_rules rules;
    ct_text_given own;
    ct_datasets_spec(cfg, ct_task_find("text"), dir, &s);
    ck_assert_int_eq(ct_text_rules_config(cfg, NULL, &own, &rules), CT_OK);
    ck_assert(rules.steps && rules.length == 0 && rules.most == 0 && s.width_step == 32);
    ck_assert_int_ge(rules.steps(rules.user, s.min_width), 1); /* the least width the model can read, and no more */
    if (s.min_width > 1) ck_assert_int_lt(rules.steps(rules.user, s.min_width - 1), 1);
    ck_assert_int_eq(ct_datasets_open(cfg, &d), CT_EDATA);
    ck_message("aabb_4.png: label 'aabb' needs 6 time steps, the image of");
    ct_config_free(cfg);
    cfg = config_of(wider);
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_dataset_sample_width(d.train.data, 0), 40);
    ct_datasets_close(&d);
    ct_config_free(cfg);
}
END_TEST

/* A model of fixed length: one length, in all sets. */
START_TEST(fixed_length)
{
    static const char *const sets[] = { "model.name=textcnn-small", "data.height=32", "data.width=128", NULL };
    ct_datasets d;
    pictures();
    ct_config *cfg = config_of(sets);
    ck_assert(!ct_text_sequence(cfg));
    ck_assert_int_eq(ct_datasets_open(cfg, &d), CT_EDATA);
    ck_message("a fixed-length model needs labels of one length");
    remove(ct_util_path(dir, "abA_2.png"));
    ck_assert_int_eq(ct_datasets_open(cfg, &d), CT_EDATA);
    ck_message("abababab_1.png: label \"abababab\" has 8 characters, 2 are expected");
    remove(ct_util_path(val, "abababab_1.png"));
    ct_util_picture(val, "Ba_1.png", 190, 32, 4);
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert(ct_dataset_buckets(d.train.data) == 1 && ct_dataset_width(d.train.data) == 128);
    ck_assert_int_eq(ct_dataset_sample_width(d.train.data, 0), 128);
    ck_assert_int_eq(ct_text_facts(d.facts)->positions, 2);
    ct_datasets_close(&d);
    ct_config_free(cfg);
}
END_TEST

START_TEST(generated)
{
    static const char *const ctc[] = { CRNN,
                                       "data.synth.length_min=2",
                                       "data.synth.length_max=5",
                                       "data.synth.count=20",
                                       "data.synth.val_count=5",
                                       "data.val=",
                                       NULL };
    static const char *const fixed[] = { "data.synth.length_min=2", "data.synth.length_max=5", "data.val=", NULL };
    ct_datasets d;
    ct_config *cfg = config_of(ctc);
    ck_assert_int_eq(ct_config_set(cfg, "data.train", "synth:text", "test"), CT_OK);
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    int seen[8] = { 0 };
    for (int64_t i = 0; i < d.train.n; i++) seen[ct_text_length(d.train.data, i)]++;
    ck_assert(seen[1] == 0 && seen[6] == 0 && seen[2] + seen[3] + seen[4] + seen[5] == 20 && seen[5] < 20);
    ck_assert_int_eq(ct_text_columns(d.val.data), ct_text_facts(d.facts)->positions);
    ct_datasets_close(&d);
    ct_config_free(cfg);
    cfg = config_of(fixed);
    ck_assert_int_eq(ct_config_set(cfg, "data.train", "synth:text", "test"), CT_OK);
    ck_assert_int_eq(ct_datasets_open(cfg, &d), CT_ECONFIG);
    ck_message("reads text of one length");
    ct_config_free(cfg);
}
END_TEST

/* Equal pictures across sets are found by what is in them, at whatever width they lie. */
START_TEST(shared)
{
    static const char *const sets[] = { CRNN, "data.size_rule=fit_height", NULL };
    ct_datasets d;
    int64_t n;
    pictures();
    ct_util_picture(val, "ab_7.png", 60, 32, 1);
    ct_util_picture(val, "aB_8.png", 100, 32, 9);
    ct_config *cfg = config_of(sets);
    ck_assert_msg(ct_datasets_open(cfg, &d) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_datasets_shared(&d.train, &d.val, &n), CT_OK);
    ck_assert_int_eq(n, 1);
    ct_datasets_close(&d);
    ct_config_free(cfg);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("datasets");
    TCase *t = tcase_create("datasets");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, ctc_sets);
    tcase_add_test(t, scored);
    tcase_add_test(t, narrow);
    tcase_add_test(t, fixed_length);
    tcase_add_test(t, generated);
    tcase_add_test(t, shared);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
