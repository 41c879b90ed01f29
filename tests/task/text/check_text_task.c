/* The data half of the text task's table: facts from data and configurations, as metadata and back, options of verbs,
 * generators by name. */
#include "config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "task/task.h"
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
    char why[200] = "";
    ck_assert(ct_task_text.same(facts, facts, why, sizeof why));
    ck_assert_str_eq(why, "");
    ck_assert(ct_task_text.same(facts, more, why, sizeof why)); /* lengths are the samples' matter */
    ck_assert(!ct_task_text.same(facts, other, why, sizeof why));
    ck_assert_str_eq(why, "the charset is 'xyz', it is 'xzy'");
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
    char key[6][32], value[6][200];
    int n;
} metadata;

static ct_status put(void *user, const char *key, const char *value)
{
    metadata *m = user;
    ck_assert(m->n < (int)(sizeof m->key / sizeof *m->key) && strlen(key) < sizeof m->key[0] && strlen(value) < sizeof m->value[0]);
    strcpy(m->key[m->n], key);
    strcpy(m->value[m->n++], value);
    return CT_OK;
}

static const char *get(const void *user, const char *key)
{
    const metadata *m = user;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->key[i], key) == 0) return m->value[i];
    return NULL;
}

/* Facts and how the outputs of such a model are decoded. */
static void write_all(const ct_facts *facts, const char *model, metadata *m)
{
    const ct_model_spec spec = { .name = model };
    const ct_place place = { .facts = facts, .model = &spec };
    *m = (metadata){ .n = 0 };
    ck_assert_int_eq(ct_task_text.write(&place, put, m), CT_OK);
}

static ct_status refuse(void *user, const char *key, const char *value)
{
    (void)value;
    return strcmp(key, user) == 0 ? ct_fail(CT_EIO, "no room for %s", key) : CT_OK;
}

START_TEST(in_files)
{
    metadata m;
    char why[200];
    ct_facts *facts = foreseen((const char *const[]){ "data.charset=b\xc3\xa9" "a", "data.length=5", NULL }), *back;
    write_all(facts, "textcnn", &m);
    ck_assert_int_eq(m.n, 4);
    ck_assert_str_eq(get(&m, "unicode"), CT_TEXT_COMPOSED);
    ck_assert_str_eq(get(&m, "charset"), "b\xc3\xa9" "a");
    ck_assert_str_eq(get(&m, "positions"), "5");
    ck_assert_str_eq(get(&m, "decode"), "argmax per position; class k of a position is character k of charset");
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_OK);
    ck_assert(ct_task_text.same(facts, back, why, sizeof why));
    ct_task_text.forget(back);
    write_all(facts, "crnn", &m);
    ck_assert_int_eq(m.n, 4);
    ck_assert_str_eq(get(&m, "decode"), "CTC: class 0 of a time step is the blank, class k+1 is character k of "
                                        "charset; best path, repeats merged, blanks dropped");
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_OK);
    ck_assert(ct_task_text.same(facts, back, why, sizeof why));
    ck_assert_int_eq(ct_text_facts(back)->most, 0); /* nobody said */
    ct_task_text.forget(back);
    static const struct { const char *key; int least, most; } lengths[] = { { "4", 4, 4 }, { "3-7", 3, 7 } };
    for (size_t i = 0; i < 2; i++) { /* of the training labels: with CTC alone */
        ((struct ct_text_facts *)facts)->least = lengths[i].least;
        ((struct ct_text_facts *)facts)->most = lengths[i].most;
        write_all(facts, "textcnn", &m);
        ck_assert_ptr_null(get(&m, "lengths"));
        write_all(facts, "crnn", &m);
        ck_assert_str_eq(get(&m, "lengths"), lengths[i].key);
        ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_OK);
        ck_assert_int_eq(ct_text_facts(back)->least, lengths[i].least);
        ck_assert_int_eq(ct_text_facts(back)->most, lengths[i].most);
        ct_task_text.forget(back);
    }
    for (int i = 0; i < m.n; i++) { /* what cannot be written is told */
        const ct_model_spec spec = { .name = "crnn" };
        const ct_place place = { .facts = facts, .model = &spec };
        ck_assert_int_eq(ct_task_text.write(&place, refuse, m.key[i]), CT_EIO);
        ck_message(m.key[i]);
    }
    ct_task_text.forget(facts);
}
END_TEST

START_TEST(damaged_files)
{
    metadata m;
    ct_facts *facts = foreseen((const char *const[]){ "data.charset=ab", "data.length=5", NULL }), *back;
    write_all(facts, "textcnn", &m);
    ct_task_text.forget(facts);
    ck_assert_str_eq(m.key[1], "positions");
    strcpy(m.value[1], "65");
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_EFORMAT);
    ck_message("f: positions '65' is not within 1..64");
    ck_assert_ptr_null(back);
    strcpy(m.value[1], "5");
    strcpy(m.key[m.n], "lengths");
    static const char *const bad[] = { "", "0", "4-3", "65", "3-", "x", "-1", "3-7 " };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(m.value[m.n], bad[i]);
        m.n++;
        ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_EFORMAT);
        ck_message("are neither a number of characters nor two of them");
        ck_assert_ptr_null(back);
        m.n--;
    }
    m.n = 1;
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_EFORMAT);
    ck_message("f: not a captrain model (its metadata has no 'positions')");
    m.n = 0;
    ck_assert_int_eq(ct_task_text.read("f", get, &m, &back), CT_EFORMAT);
    ck_message("f: not a captrain model (its metadata has no 'charset')");
}
END_TEST

/* ---- options ---- */

/* The option of a verb at place i of the table of all tasks, as it is on the command line; fails if there is none. */
static ct_option_info option_at(const char *verb, size_t i)
{
    ct_option_info o;
    ck_assert_msg(ct_option_at(verb, i, &o), "%s has no option %d", verb ? verb : "the program", (int)i);
    return o;
}

START_TEST(listed_options)
{
    static const struct { const char *verb, *key[9]; } row[] = {
        { "eval", { "decoder", "beam_width", "charset", "length" } },
        { "predict", { "decoder", "beam_width", "charset", "length" } },
        { "gen", { "style", "print", "charset", "length", "width", "height", "font", "size" } },
        { "fit-style", { "charset", "length" } },
        { "import-torch", { "charset", "length" } },
        { "import", { NULL } }, /* a part of a verb is none */
        { "torch", { NULL } },
        { "train", { NULL } },
    };
    ct_option_info o;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        size_t n = 0;
        for (; row[r].key[n]; n++) {
            char name[32] = "--";
            o = option_at(row[r].verb, n);
            ck_assert_str_eq(o.key, row[r].key[n]);
            for (size_t k = 0; k <= strlen(o.key); k++) name[2 + k] = o.key[k] == '_' ? '-' : o.key[k];
            ck_assert_str_eq(o.name, name);
            ck_assert_str_eq(o.task, "text");
            ck_assert((!o.arg || *o.arg) && *o.doc); /* a flag has no argument */
        }
        ck_assert(!ct_option_at(row[r].verb, n, &o) || strcmp(o.task, "text") != 0);
    }
    size_t all = 0; /* of any verb: each row once, though eval and predict share two; those of other tasks stand behind */
    while (ct_option_at(NULL, all, &o) && strcmp(o.task, "text") == 0) all++;
    ck_assert_int_eq((int)all, ct_task_text.options);
    ck_assert_str_eq(option_at(NULL, 0).key, "decoder");
    ck_assert_str_eq(option_at(NULL, all - 1).key, "length");
    for (size_t i = all; ct_option_at(NULL, i, &o); i++) ck_assert_str_ne(o.task, "text");
}
END_TEST

/* Options of a second task stand behind those of the first, and are its own. */
START_TEST(options_of_two_tasks)
{
    static const ct_task_option own[] = {
        { "eval gen", "radius", "--radius", "PX", "how far off a point may be" },
        { "predict", "all", "--all", NULL, "every point" },
    };
    static const ct_task points = { .name = "points", .option = own, .options = 2 };
    ct_option_info o;
    ck_assert_int_eq(ct_task_add(&points), CT_OK);
    size_t last = 0; /* behind those of all tasks that are built in */
    while (ct_option_at("eval", last + 1, &o)) last++;
    ck_assert_str_eq(option_at("eval", last).key, "radius");
    ck_assert_str_eq(option_at("eval", last).task, "points");
    last = 0;
    while (ct_option_at("gen", last + 1, &o)) last++;
    ck_assert_str_eq(option_at("gen", last).name, "--radius");
    last = 0;
    while (ct_option_at("predict", last + 1, &o)) last++;
    o = option_at("predict", last);
    ck_assert_str_eq(o.key, "all");
    ck_assert_ptr_null(o.arg);
    const ct_option radius = { "radius", "3" }, decoder = { "decoder", "greedy" };
    ck_assert_int_eq(ct_options_check(&points, "eval", &radius, 1), CT_OK);
    ck_assert_int_eq(ct_options_check(&points, "eval", &decoder, 1), CT_ECONFIG);
    ck_message("eval: a model of the task points has no option 'decoder' (its own: radius)");
    ck_assert_int_eq(ct_options_check(&ct_task_text, "eval", &radius, 1), CT_ECONFIG);
    ck_message("eval: a model of the task text has no option 'radius' (its own: decoder, beam_width, charset, length)");
}
END_TEST

START_TEST(checked_options)
{
    static const ct_option good[] = { { "beam_width", "5" }, { "decoder", "beam" }, { "decoder", "nonsense" } };
    static const ct_option bad[] = { { "decoder", "beam" }, { "beam-width", "5" }, { "style", "plain" } };
    ck_assert_int_eq(ct_options_check(&ct_task_text, "eval", NULL, 0), CT_OK);
    ck_assert_int_eq(ct_options_check(&ct_task_text, "eval", good, 3), CT_OK); /* values are the task's to judge */
    ck_assert_int_eq(ct_options_check(&ct_task_text, "predict", good, 3), CT_OK);
    ck_assert_int_eq(ct_options_check(&ct_task_text, "eval", bad, 1), CT_OK);
    ck_assert_int_eq(ct_options_check(&ct_task_text, "eval", bad, 3), CT_ECONFIG);
    ck_message("has no option 'beam-width' (its own: decoder, beam_width, charset, length)"); /* the first of them */
    ck_assert_int_eq(ct_options_check(&ct_task_text, "eval", bad + 2, 1), CT_ECONFIG); /* another verb's */
    ck_message("has no option 'style'");
    ck_assert_int_eq(ct_options_check(&ct_task_text, "gen", bad + 2, 1), CT_OK);
    ck_assert_int_eq(ct_options_check(&ct_task_text, "train", bad, 1), CT_ECONFIG);
    ck_message("train: a model of the task text has no option 'decoder' (its own: none)");
    ck_assert_str_eq(ct_option_find(good, 3, "decoder"), "nonsense"); /* the last one of a key */
    ck_assert_str_eq(ct_option_find(good, 3, "beam_width"), "5");
    ck_assert_ptr_null(ct_option_find(good, 3, "beam"));
}
END_TEST

START_TEST(given_facts)
{
    static const ct_option both[] = { { "charset", "01" }, { "length", "3" } };
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
    static const struct { ct_option option; const char *want; } bad[] = {
        { { "length", "4-" }, "gen: --length: '4-' is not a number or a range LO-HI from 1 to 32" },
        { { "length", "5-4" }, "'5-4' is not a number or a range" },
        { { "width", "40-50" }, "gen: --width: '40-50' is not one number" },
        { { "height", "high" }, "gen: --height: 'high' is not a number" },
        { { "size", "12x" }, "gen: --size: '12x' is not a number" },
        { { "style", "fancy" }, "unknown text style 'fancy'" },
        { { "charset", "AA" }, "charset \"AA\": 'A' (U+0041) stands in it twice" },
    };
    static const ct_option good[] = { { "style", "plain" }, { "charset", "ab" }, { "length", "2-3" },
                                    { "width", "60" },    { "height", "30" }, { "size", "24" },
                                    { "size", "30" },     { "font", "DejaVuSans.ttf" } };
    const char *out = ct_util_path(dir, "pics");
    ct_status st = ct_task_text.generate(good, sizeof good / sizeof *good, out, 9, 3, 2, false, NULL);
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(pictures(out), 9);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(ct_task_text.generate(&bad[i].option, 1, ct_util_path(dir, "no"), 9, 3, 2, false, NULL),
                         CT_ECONFIG);
        ck_message(bad[i].want);
    }
    ct_option many[10];
    for (int i = 0; i < 10; i++) many[i] = (ct_option){ "size", "30" };
    ck_assert_int_eq(ct_task_text.generate(many, 10, ct_util_path(dir, "no"), 9, 3, 2, false, NULL), CT_ECONFIG);
    ck_message("font sizes, at most 8");
    ck_assert_int_eq(ct_task_text.generate(good, 1, NULL, 9, 3, 2, false, NULL), CT_ECONFIG);
    ck_assert_int_eq(pictures(ct_util_path(dir, "no")), 0);

    const ct_option list = { "style", "list" };
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
    ct_config *cfg =
        config_of((const char *const[]){ "data.synth.length=5", "data.synth.count=3", "data.synth.val_count=9", NULL });
    ck_assert_msg(ct_datasets_open_scored(cfg, &ct_task_text, facts, "synth:text", &ds) == CT_OK, "%s",
                  ct_error_message());
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
    ct_config *cfg = config_of((const char *const[]){ "model.name=crnn-small", "data.size_rule=fit_height",
                                                      "data.height=32", "data.width=96", "data.cache=false", NULL });
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
    tcase_add_test(t, damaged_files);
    tcase_add_test(t, listed_options);
    tcase_add_test(t, options_of_two_tasks);
    tcase_add_test(t, checked_options);
    tcase_add_test(t, given_facts);
    tcase_add_test(t, generated_files);
    tcase_add_test(t, by_name);
    tcase_add_test(t, for_a_model);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
