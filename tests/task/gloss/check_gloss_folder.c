/* Folders of clips beyond what is plain: whose they are, where labels may lie, videos, folders named twice, large
 * files, and want of memory at any place. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "task/gloss/cleanup.h"
#include "task/gloss/gloss.h"
#include "task/gloss/reader.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

#define HEAD "Number,Translator,Chinese Sentences,Gloss,Note\n"

/* Folder dir/name with its parents; `frames` pictures in it. */
static void clip(const char *dir, const char *name, int frames)
{
    char file[256];
    ck_assert_int_eq(ct_mkdir_p(ct_util_path(dir, name)), CT_OK);
    for (int i = 1; i <= frames; i++) {
        snprintf(file, sizeof file, "%s/%05d.png", name, i);
        ct_util_picture(dir, file, 4, 4, (unsigned)i);
    }
}

static bool claims(const char *dir, const char *name)
{
    bool yes;
    ck_assert_int_eq(ct_gloss_claims(ct_util_path(dir, name), &yes), CT_OK);
    return yes;
}

/* A folder of clips is known by a label file of theirs, however broken its rows, or by its pictures. */
START_TEST(whose)
{
    char *dir = ct_util_tempdir();
    clip(dir, "rows/x", 0);
    ct_util_text(dir, "rows.csv", HEAD "t-1,A,x,go,\nt-1,A,x,go,\n\"open");
    ck_assert(claims(dir, "rows"));
    ct_util_text(dir, "rows.csv", "file,label\nx.png,AB\n");
    ck_assert(!claims(dir, "rows"));
    ct_util_text(dir, "rows.csv", "\n\nid|folder|signer|annotation");
    ck_assert(claims(dir, "rows/"));
    clip(dir, "two/A/t-1", 2);
    ck_assert(claims(dir, "two"));
    ck_assert(!claims(dir, "two/A")); /* one level only */
    ct_util_text(dir, "two/labels.txt", "A/t-1/00001.png AB\n");
    ck_assert(!claims(dir, "two"));
    clip(dir, "gap/A/t-1", 3);
    ck_assert_int_eq(unlink(ct_util_path(dir, "gap/A/t-1/00002.png")), 0);
    ck_assert(!claims(dir, "gap"));
    clip(dir, "named/A/t-1", 0);
    ct_util_picture(dir, "named/A/t-1/a.png", 4, 4, 1);
    ct_util_picture(dir, "named/A/t-1/b.png", 4, 4, 2);
    ck_assert(!claims(dir, "named"));
    ck_assert(!claims(dir, "none"));
    ck_assert(!claims(dir, "rows.csv"));
    ct_util_remove(dir);
}
END_TEST

/* Where a label file is found, and what is told where there is none. */
START_TEST(places)
{
    static const struct { const char *folder, *file, *text; bool found; } row[] = {
        { "a/train", "a/train.csv", "anything", true },
        { "b/dev", "b/dev.corpus.csv", "anything", true },
        { "c/video/train", "c/train.csv", HEAD, true },
        { "d/video/train", "d/label/train.csv", HEAD, true },
        { "e/video/train", "e/train.csv", "file,label\n", false }, /* of something else */
        { "f/features/x/dev", "f/annotations/manual/dev.corpus.csv", "id|folder|signer|annotation\n", true },
        { "g/train", "g/train/train.csv", HEAD, false },
    };
    char *dir = ct_util_tempdir(), *found, *tried, part[256];
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        clip(dir, row[i].folder, 0);
        snprintf(part, sizeof part, "%.*s", (int)(strrchr(row[i].file, '/') - row[i].file), row[i].file);
        clip(dir, part, 0);
        ct_util_text(dir, row[i].file, row[i].text);
        ck_assert_int_eq(ct_gloss_find_labels(ct_util_path(dir, row[i].folder), &found, &tried), CT_OK);
        ck_assert_msg((found != NULL) == row[i].found, "%s", row[i].folder);
        ck_assert((tried != NULL) != row[i].found);
        ct_free(found);
        ct_free(tried);
    }
    clip(dir, "far", 0); /* a link is beside what it is called by */
    clip(dir, "h/video", 0);
    ck_assert_int_eq(symlink("../../far", ct_util_path(dir, "h/video/train")), 0);
    ct_util_text(dir, "h/train.csv", HEAD);
    ck_assert_int_eq(ct_gloss_find_labels(ct_util_path(dir, "h/video/train"), &found, &tried), CT_OK);
    ck_assert(found && strstr(found, "/h/train.csv"));
    ct_free(found);
    char *old = getcwd(NULL, 0);
    ck_assert_int_eq(chdir(ct_util_path(dir, "a/train")), 0);
    ck_assert_int_eq(ct_gloss_find_labels("./", &found, &tried), CT_OK);
    ck_assert(found && strstr(found, "/a/train.csv"));
    ct_free(found);
    ck_assert_int_eq(chdir(ct_util_path(dir, "c")), 0); /* few parts, and parts that are no names */
    static const char *const told[] = { "video/train", "video/../video/train", "video//train/", "./video/train" };
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        ck_assert_int_eq(ct_gloss_find_labels(told[i], &found, &tried), CT_OK);
        ck_assert_msg(found && ct_path_is_file(found), "%s", told[i]);
        ct_free(found);
    }
    ck_assert_int_eq(chdir(old), 0);
    free(old);
    ct_util_remove(dir);
}
END_TEST

static const ct_sample *sample(const ct_scan *s, const char *name, int64_t line)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->s[i].name, name) == 0 && s->s[i].line == line) return &s->s[i];
    ck_abort_msg("there is no sample '%s' of line %" PRId64, name, line);
}

START_TEST(faults)
{
    static const struct { const char *name; int64_t line; const char *says; } row[] = {
        { "a", 2, NULL },
        { "a", 3, "names its folder again" },
        { "film", 4, "film.avi: is a video; clips are folders of pictures" },
        { "S/film2", 0, NULL },
        { "b", 5, "its signer 'S/T' has a slash or a bracket" },
        { "c", 6, "its glosses are not plain text: U+0007" },
        { "d", 7, "its signer is not UTF-8" },
        { "e", 8, "no gloss is left of '  '" },
        { "f", 10, NULL },
    };
    char *dir = ct_util_tempdir();
    ct_scan s;
    for (const char *name = "abcdef"; *name; name++) {
        const char folder[] = { 's', '/', *name, '\0' };
        clip(dir, folder, 2);
    }
    ct_util_text(dir, "s/film.avi", "x");
    clip(dir, "s/S", 0);
    ct_util_text(dir, "s/S/film2.mp4", "x");
    ct_util_text(dir, "s.csv", "id|folder|signer|annotation\n"
                               "one|a/*.png|S|ICH DU\n"
                               "two|a/*.png|S|ER\n"
                               "film||S|ER\n"
                               "b||S/T|ER\n"
                               "c||S|E\aR\n"
                               "d||\xff|ER\n"
                               "e||S|  \n"
                               "film2||S|ER\n"
                               "f||S|ICH / DU\n");
    ck_assert_int_eq(ct_gloss_scan(ct_util_path(dir, "s"), ct_util_path(dir, "s.csv"), &s), CT_OK);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *name = strcmp(row[i].name, "S/film2") == 0 ? "film2" : row[i].name;
        const ct_sample *x = sample(&s, name, name == row[i].name ? row[i].line : 9);
        const char *says = name == row[i].name ? row[i].says : "S/film2.mp4: is a video";
        if (!says) ck_assert_msg(!x->bad && x->frames == 2, "%s: %s", name, x->bad);
        else ck_assert_msg(x->bad && strstr(x->bad, says), "%s: %s", name, x->bad);
    }
    ct_scan_free(&s);
    ct_util_remove(dir);
}
END_TEST

/* What is left in front of a variant's number is no blank. */
START_TEST(cleanup)
{
    char out[16];
    bool closed;
    ct_gloss_clean("go 2", 4, out, &closed);
    ck_assert_str_eq(out, "go");
    ct_gloss_clean("go(x) 2(y) ", 11, out, &closed);
    ck_assert_str_eq(out, "go");
}
END_TEST

/* 100,000 rows are no burden: what is compared with each other is sorted. */
START_TEST(many)
{
    enum { ROWS = 100000 };
    char *text = malloc(ROWS * 48 + 64), *at = text;
    ct_gloss_list r;
    ck_assert_ptr_nonnull(text);
    at += sprintf(at, HEAD);
    for (int i = 0; i < ROWS; i++) at += sprintf(at, "t-%06d,A,x,w%d/w%d,\n", (i * 7919) % ROWS, i % 5000, i % 977);
    ck_assert_int_eq(ct_gloss_rows_parse(text, (size_t)(at - text), "L", &r), CT_OK);
    ck_assert_int_eq(r.n, ROWS);
    const char **word = calloc(ROWS, sizeof *word);
    ct_vocabulary v;
    for (int i = 0; i < ROWS; i++) word[i] = r.row[i].words;
    ck_assert_int_eq(ct_vocabulary_of(word, ROWS, &v), CT_OK);
    for (int i = 0; i < ROWS; i++) ck_assert(ct_vocabulary_find(&v, word[i]) >= 0);
    ct_vocabulary_free(&v);
    free((void *)word);
    ct_gloss_rows_free(&r);
    free(text);
}
END_TEST

/* Whichever allocation fails, the scan says so and keeps nothing. */
START_TEST(memory)
{
    char *dir = ct_util_tempdir(), *found, *tried;
    ct_scan s;
    bool yes;
    ct_status st = CT_ENOMEM;
    clip(dir, "s/A/t-1", 2);
    clip(dir, "s/t-4", 1);
    ct_util_text(dir, "s/t-2.mp4", "x");
    ct_util_text(dir, "s.csv", HEAD "t-1,A,x,go1/up,\nt-2,A,x,go,\nt-3,A,x,(a),\n");
    char *path = ct_strdup(ct_util_path(dir, "s"), "path"), *labels = ct_strdup(ct_util_path(dir, "s.csv"), "path");
    for (long n = 0; st != CT_OK; n++) {
        ct_alloc_fail_after(n);
        st = ct_gloss_scan(path, labels, &s);
        ct_alloc_fail_after(-1);
        ck_assert_msg(st == CT_OK || st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
        if (st != CT_OK) ck_assert(!s.s && !s.dir && s.n == 0);
    }
    ck_assert_uint_eq(s.n, 4);
    ct_scan_free(&s);
    for (long n = 0; n < 200; n++) {
        ct_alloc_fail_after(n);
        st = ct_gloss_find_labels(path, &found, &tried);
        ct_alloc_fail_after(-1);
        ck_assert(st == CT_OK ? found != NULL : st == CT_ENOMEM && !found && !tried);
        ct_free(found);
        ct_alloc_fail_after(n);
        st = ct_gloss_claims(path, &yes);
        ct_alloc_fail_after(-1);
        ck_assert(st == CT_OK ? yes : st == CT_ENOMEM);
    }
    ct_free(path);
    ct_free(labels);
    ct_util_remove(dir);
}
END_TEST

/* The same of readers, vocabularies and what a model file holds of them. */
static int64_t quarter(const void *user, int64_t pictures)
{
    (void)user;
    return pictures / 4;
}

static ct_status use_reader(const char *path)
{
    static const char *const text[] = { "b/a (X)", "c/c (Y)" };
    const ct_gloss_rules rules = { .clip = { 6, 12, 4 }, .steps = quarter, .user = "", .more = { (char *)path } };
    const ct_label_in in = { .name = "clip", .text = text[0], .frames = 40, .width = 4, .height = 4 };
    ct_labels *l;
    ct_survey *s = NULL;
    json_t *o = NULL;
    CT_TRY(ct_gloss_reader(&rules, &l));
    ct_status st;
    CT_GOTO(st, l->ops->learn(l, text, 2));
    ck_assert_int_eq(ct_gloss_reader_vocabulary(l)->n, 5);
    CT_GOTO(st, ct_gloss_survey(l, &s));
    CT_GOTO(st, s->ops->add(s, 0, &in, NULL));
    if (!(o = json_object())) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, s->ops->json(s, CT_SURVEY_LABELS, o));
    CT_GOTO(st, s->ops->json(s, CT_SURVEY_FIT, o));
fail:
    json_decref(o);
    if (s) s->ops->close(s);
    ct_labels_close(l);
    return st;
}

static const char *get(const void *user, const char *key) { return strcmp(key, "columns") == 0 ? "4" : user; }

static ct_status use_words(const char *path)
{
    ct_vocabulary v = { 0 }, w = { 0 };
    ct_facts *facts = NULL;
    ct_status st;
    CT_GOTO(st, ct_vocabulary_read(path, &v));
    CT_GOTO(st, ct_vocabulary_write(&v, path));
    CT_GOTO(st, ct_vocabulary_copy(&v, &w));
    CT_GOTO(st, ct_gloss_read("m", get, "[\"a\",\"b\"]", &facts));
fail:
    ct_gloss_forget(facts);
    ct_vocabulary_free(&v);
    ct_vocabulary_free(&w);
    return st;
}

START_TEST(memory_of_words)
{
    char *dir = ct_util_tempdir();
    ct_util_text(dir, "more.csv", HEAD "t-1,A,x,e/d,\n");
    ct_util_text(dir, "words.txt", "a\nb\n");
    char *more = ct_strdup(ct_util_path(dir, "more.csv"), "path");
    char *words = ct_strdup(ct_util_path(dir, "words.txt"), "path");
    for (int k = 0; k < 2; k++) {
        ct_status st = CT_ENOMEM;
        for (long n = 0; st != CT_OK; n++) {
            ct_alloc_fail_after(n);
            st = k ? use_words(words) : use_reader(more);
            ct_alloc_fail_after(-1);
            ck_assert_msg(st == CT_OK || st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
        }
    }
    ct_free(more);
    ct_free(words);
    ct_util_remove(dir);
}
END_TEST

/* A number of columns that is none. */
static const char *get_bad(const void *user, const char *key) { return strcmp(key, "columns") == 0 ? user : "[\"a\"]"; }

START_TEST(model_files)
{
    static const char *const bad[] = { "", "0", "4x", "-1", "257", "99999999999999999999" };
    ct_facts *facts;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(ct_gloss_read("m", get_bad, bad[i], &facts) == CT_EFORMAT, "'%s'", bad[i]);
        ck_assert_ptr_null(facts);
    }
    static const char *const lists[] = { "[]", "{}", "[\"b\",\"a\"]", "[\"a\",\"a\"]",
                                         "[\"a/b\"]", "[\"\"]", "[1]", "[\"a\"" };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ck_assert_msg(ct_gloss_read("m", get, lists[i], &facts) == CT_EFORMAT, "'%s'", lists[i]);
    ck_assert_int_eq(ct_gloss_read("m", get, "[\"a\",\"b\"]", &facts), CT_OK);
    ck_assert(ct_gloss_facts(facts)->vocabulary.n == 2 && ct_gloss_facts(facts)->columns == 4);
    ct_gloss_forget(facts);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gloss folders");
    TCase *t = tcase_create("gloss folders");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, whose);
    tcase_add_test(t, places);
    tcase_add_test(t, faults);
    tcase_add_test(t, cleanup);
    tcase_add_test(t, many);
    tcase_add_test(t, memory);
    tcase_add_test(t, memory_of_words);
    tcase_add_test(t, model_files);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
