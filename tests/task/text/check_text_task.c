/* The data half of the text task's table: facts from data and configurations, as metadata and back, options of verbs, generators by name. */
#include "config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "task/datasets.h"
#include "task/text/text.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static char *dir;

static void set_up(void)
{
    dir = ct_util_tempdir();
    setenv("CAPTRAIN_CACHE_DIR", dir, 1);
    ct_log_set_level(CT_LOG_ERROR);
}

static void tear_down(void)
{
    ct_util_remove(dir);
}

/* The built-in defaults without data, and key=value settings up to a NULL. */
static ct_config *config_of(const char *const *sets)
{
    ct_config *cfg;
    ck_assert_msg(ct_config_defaults(&cfg) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_config_set(cfg, "data.train", "", "test"), CT_OK);
    for (; *sets; sets++) {
        char key[64];
        size_t n = strcspn(*sets, "=");
        memcpy(key, *sets, n);
        key[n] = '\0';
        ck_assert_msg(ct_config_set(cfg, key, *sets + n + 1, "test") == CT_OK, "%s", ct_error_message());
    }
    return cfg;
}

static ct_facts *foreseen(const char *const *sets)
{
    ct_facts *facts;
    ct_config *cfg = config_of(sets);
    ck_assert_msg(ct_task_text.foresee(cfg, true, &facts) == CT_OK, "%s", ct_error_message());
    ct_config_free(cfg);
    return facts;
}

START_TEST(foresight)
{
    static const char *const open[] = { "data.length=5", NULL };
    ct_facts *facts = foreseen((const char *const[]){ "data.charset=xyz", "data.length=5", NULL });
    ck_assert_str_eq(ct_text_facts(facts)->charset.utf8, "xyz");
    ck_assert_int_eq(ct_text_facts(facts)->positions, 5);
    ct_facts *more = foreseen((const char *const[]){ "data.charset=xyz", "data.length=6", NULL });
    ct_facts *other = foreseen((const char *const[]){ "data.charset=xzy", "data.length=5", NULL });
    ck_assert(ct_task_text.same(facts, facts) && !ct_task_text.same(facts, more) && !ct_task_text.same(facts, other));
    ct_task_text.forget(more);
    ct_task_text.forget(other);
    ct_task_text.forget(facts);
    ct_task_text.forget(NULL);

    facts = foreseen((const char *const[]){ "data.train=synth:text", "data.synth.length=7", NULL });
    ck_assert(ct_text_facts(facts)->charset.n == 36 && ct_text_facts(facts)->positions == 7);
    ct_task_text.forget(facts);

    ct_config *cfg = config_of(open);
    ck_assert_int_eq(ct_task_text.foresee(cfg, false, &facts), CT_OK);
    ck_assert_ptr_null(facts);
    ck_assert_int_eq(ct_task_text.foresee(cfg, true, &facts), CT_ECONFIG);
    ck_message("data.charset and data.length are open");
    ct_config_free(cfg);
}
END_TEST

/* ---- metadata ---- */

typedef struct metadata {
    char key[4][32], value[4][32];
    int n;
} metadata;

static ct_status put(void *user, const char *key, const char *value)
{
    metadata *m = user;
    snprintf(m->key[m->n], 32, "%s", key);
    snprintf(m->value[m->n++], 32, "%s", value);
    return CT_OK;
}

static const char *get(const void *user, const char *key)
{
    const metadata *m = user;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->key[i], key) == 0) return m->value[i];
    return NULL;
}

START_TEST(in_files)
{
    metadata m = { .n = 0 };
    ct_facts *facts = foreseen((const char *const[]){ "data.charset=b\xc3\xa9" "a", "data.length=5", NULL }), *back;
    ck_assert_int_eq(ct_task_text.write(facts, put, &m), CT_OK);
    ck_assert_int_eq(m.n, 2);
    ck_assert_str_eq(get(&m, "charset"), "b\xc3\xa9" "a");
    ck_assert_str_eq(get(&m, "positions"), "5");
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_OK);
    ck_assert(ct_task_text.same(facts, back));
    ct_task_text.forget(back);
    ct_task_text.forget(facts);
    strcpy(m.value[1], "65");
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_EFORMAT);
    ck_message("f: positions '65' is not within 1..64");
    ck_assert_ptr_null(back);
    m.n = 1;
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_EFORMAT);
    ck_message("f: not a captrain model (its metadata has no 'positions')");
}
END_TEST

/* ---- options ---- */

START_TEST(given_facts)
{
    static const ct_pair both[] = { { "--charset", "01" }, { "--length", "3" } };
    ct_facts *facts;
    ct_config *cfg = config_of((const char *const[]){ "model.name=textcnn", NULL });
    ck_assert_int_eq(ct_task_text.given(cfg, NULL, 0, &facts), CT_ECONFIG);
    ck_message("import-torch: the characters of the classes must be given, in class order: --charset");
    ck_assert_int_eq(ct_task_text.given(cfg, both, 1, &facts), CT_OK);
    ck_assert(ct_text_facts(facts)->charset.n == 2 && ct_text_facts(facts)->positions == 4); /* the model's own */
    ct_task_text.forget(facts);
    ck_assert_int_eq(ct_task_text.given(cfg, both, 2, &facts), CT_OK);
    ck_assert_int_eq(ct_text_facts(facts)->positions, 3);
    ck_assert(cfg->data.length == 3 && cfg->data.synth.length == 3 && strcmp(cfg->data.charset, "01") == 0);
    ct_task_text.forget(facts);
    ct_config_free(cfg);
}
END_TEST

static int pictures(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, ".png") != NULL;
    if (d) closedir(d);
    return n;
}

START_TEST(generated_files)
{
    static const struct { ct_pair option; const char *want; } bad[] = {
        { { "--length", "4-" }, "gen: --length: '4-' is neither a number nor two like 3-5" },
        { { "--length", "5-4" }, "'5-4' is neither" },
        { { "--width", "40-50" }, "gen: --width: '40-50' is not one number" },
        { { "--height", "high" }, "gen: --height: 'high' is neither" },
        { { "--size", "12x" }, "gen: --size: '12x' is not a number" },
        { { "--style", "fancy" }, "unknown text style 'fancy'" },
        { { "--charset", "AA" }, "charset \"AA\": 'A' (U+0041) stands in it twice" },
    };
    static const ct_pair good[] = { { "--style", "plain" }, { "--charset", "ab" }, { "--length", "2-3" },
                                    { "--width", "60" },    { "--height", "30" }, { "--size", "24" },
                                    { "--size", "30" },     { "--font", "DejaVuSans.ttf" } };
    const char *out = ct_util_path(dir, "pics");
    ct_status st = ct_task_text.generate(good, sizeof good / sizeof *good, out, 9, 3, 2, false, NULL);
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(pictures(out), 9);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(ct_task_text.generate(&bad[i].option, 1, ct_util_path(dir, "no"), 9, 3, 2, false, NULL), CT_ECONFIG);
        ck_message(bad[i].want);
    }
    ct_pair many[10];
    for (int i = 0; i < 10; i++) many[i] = (ct_pair){ "--size", "30" };
    ck_assert_int_eq(ct_task_text.generate(many, 10, ct_util_path(dir, "no"), 9, 3, 2, false, NULL), CT_ECONFIG);
    ck_message("font sizes, at most 8");
    ck_assert_int_eq(ct_task_text.generate(good, 1, NULL, 9, 3, 2, false, NULL), CT_EINVAL);
    ck_assert_int_eq(pictures(ct_util_path(dir, "no")), 0);

    const ct_pair list = { "--style", "list" };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    ck_assert_int_eq(ct_task_text.generate(&list, 1, NULL, 0, 0, 1, false, f), CT_OK);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "\nplain     "));
    free(text);
}
END_TEST

/* ---- generators ---- */

START_TEST(by_name)
{
    const ct_generator *g;
    ck_assert_int_eq(ct_datasets_generator(&ct_task_text, "synth:text", &g), CT_OK);
    ck_assert_ptr_eq(g, &ct_text_generator);
    ck_assert_int_eq(ct_datasets_generator(&ct_task_text, "a/folder", &g), CT_OK);
    ck_assert_ptr_null(g);
    ck_assert_int_eq(ct_datasets_generator(&ct_task_text, "synth:texts", &g), CT_ECONFIG);
    ck_message("'synth:texts': the built-in generator is called synth:text");
}
END_TEST

/* A model's facts stand above the configuration: its characters are drawn, and only its length will do. */
START_TEST(for_a_model)
{
    ct_dataset *ds;
    ct_facts *facts = foreseen((const char *const[]){ "data.charset=xyz", "data.length=5", NULL });
    ct_config *cfg = config_of((const char *const[]){ "data.synth.length=5", "data.synth.count=3", "data.synth.val_count=9",
                                                      NULL });
    ck_assert_msg(ct_datasets_open_scored(cfg, &ct_task_text, facts, "synth:text", &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_dataset_size(ds), 9);
    ck_assert_str_eq(ct_dataset_name(ds, 0), "synth:text/12"); /* behind what it was trained and selected on */
    for (int64_t i = 0; i < 9; i++) {
        ck_assert_uint_eq(strspn(ct_dataset_label_text(ds, i), "xyz"), 5);
        for (int k = 0; k < 5; k++) ck_assert_int_eq(ct_text_ids(ds, i)[k], ct_dataset_label_text(ds, i)[k] - 'x');
    }
    ct_dataset_close(ds);
    ck_assert_int_eq(ct_config_set(cfg, "data.synth.length", "4", "test"), CT_OK);
    ck_assert_int_eq(ct_datasets_open_scored(cfg, &ct_task_text, facts, "synth:text", &ds), CT_ECONFIG);
    ck_message("synth:text makes labels of 4 characters (data.synth.length), the model reads 5");
    ct_task_text.forget(facts);
    ct_config_free(cfg);
}
END_TEST

/* Every allocation in turn fails while a run's sets are opened. */
START_TEST(out_of_memory)
{
    ct_config *cfg = config_of((const char *const[]){ "model.name=crnn-small", "data.size_rule=fit_height", "data.height=32",
                                                      "data.width=96", "data.cache=false", NULL });
    char *pics = ct_strdup(ct_util_path(dir, "pics"), "test");
    mkdir(pics, 0777);
    ct_util_picture(dir, "pics/ab_1.png", 60, 32, 1);
    ct_util_picture(dir, "pics/b_2.png", 90, 32, 2);
    ck_assert_int_eq(ct_config_set(cfg, "data.train", pics, "test"), CT_OK);
    ck_assert_int_eq(ct_config_set(cfg, "data.test", pics, "test"), CT_OK);
    ck_assert_int_eq(ct_config_set(cfg, "data.val_fraction", "0.5", "test"), CT_OK);
    for (long n = 0;; n++) {
        ct_datasets d;
        ct_alloc_fail_after(n);
        ct_status st = ct_datasets_open(cfg, &d);
        long made = ct_alloc_fail_after(-1);
        if (made <= n) {
            ck_assert_msg(st == CT_OK, "%s", ct_error_message());
            ck_assert_int_gt(n, 60);
            ck_assert(d.train.n == 1 && d.val.n == 1 && d.test.n == 2);
            ct_datasets_close(&d);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed, status %d: %s", n, (int)st, ct_error_message());
    }
    ct_free(pics);
    ct_config_free(cfg);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text task");
    TCase *t = tcase_create("text task");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, foresight);
    tcase_add_test(t, in_files);
    tcase_add_test(t, given_facts);
    tcase_add_test(t, generated_files);
    tcase_add_test(t, by_name);
    tcase_add_test(t, for_a_model);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
