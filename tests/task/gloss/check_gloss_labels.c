/* Labels of clips: words, the clean-up of glosses, label files, folders, and the reader that joins them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "task/gloss/cleanup.h"
#include "task/gloss/gloss.h"
#include "task/gloss/reader.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

/* ---- words ---- */

START_TEST(vocabulary)
{
    static const char *const words[] = { "tree", "\xe6\xa0\x91", "a", "tree", "B", "a" };
    char *dir = ct_util_tempdir();
    const char *path = ct_util_path(dir, "vocabulary.json");
    ct_vocabulary v, w;
    ck_assert_int_eq(ct_vocabulary_of(words, 6, &v), CT_OK);
    ck_assert_int_eq(v.n, 4); /* by bytes */
    ck_assert(!strcmp(v.word[0], "B") && !strcmp(v.word[1], "a") && !strcmp(v.word[2], "tree"));
    ck_assert_int_eq(ct_vocabulary_find(&v, "tree"), 2);
    ck_assert_int_eq(ct_vocabulary_find(&v, "\xe6\xa0\x91"), 3);
    ck_assert_int_eq(ct_vocabulary_find(&v, "tre"), -1);
    ck_assert_int_eq(ct_vocabulary_find(&v, "trees"), -1);
    ck_assert_int_eq(ct_vocabulary_find_part(&v, "trees", 4), 2);
    ck_assert_int_eq(ct_vocabulary_write(&v, path), CT_OK);
    ck_assert_int_eq(ct_vocabulary_read(path, &w), CT_OK);
    ck_assert(ct_vocabulary_equal(&v, &w));
    ct_vocabulary_free(&w);
    json_t *o;
    ck_assert_int_eq(ct_json_read(path, 1 << 20, &o), CT_OK);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "vocab_size")), 5);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(o, "idx2word"), 0)), " ");
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(o, "word2idx"), "tree")), 3);
    json_decref(o);

    json_t *list = ct_vocabulary_list(&v);
    ck_assert_int_eq(ct_vocabulary_from_list(list, "m", &w), CT_OK);
    ck_assert(ct_vocabulary_equal(&v, &w));
    ct_vocabulary_free(&w);
    json_array_append_new(list, json_string("A")); /* not behind the last */
    ck_assert_int_eq(ct_vocabulary_from_list(list, "m", &w), CT_EFORMAT);
    json_decref(list);
    ct_util_text(dir, "words.txt", "\xef\xbb\xbftree\r\na\n\nB\n");
    ck_assert_int_eq(ct_vocabulary_read(ct_util_path(dir, "words.txt"), &w), CT_OK);
    ck_assert_int_eq(w.n, 3);
    ct_vocabulary_free(&w);
    static const char *const bad[] = { "", "a/b\n", "a\n\xff\n", "{\"idx2word\": 3}", "{\"idx2word\": [\" \", 7]}" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ct_util_text(dir, "bad", bad[i]);
        ck_assert_msg(ct_vocabulary_read(ct_util_path(dir, "bad"), &w) == CT_EFORMAT, "%s", bad[i]);
        ck_assert_ptr_null(w.word);
    }
    ct_vocabulary_free(&v);
    ct_util_remove(dir);
}
END_TEST

/* A rule of the original in each row. */
START_TEST(cleanup)
{
    static const struct { const char *from, *to; } row[] = {
        { "tree", "tree" },
        { "\xe7\x9c\x8b" "1", "\xe7\x9c\x8b" },   /* a variant's number */
        { "a12", "a1" },                          /* one digit */
        { "12", "12" },                           /* a number stays */
        { "7", "7" },
        { "007", "7" },
        { "0", "0" },
        { "\xef\xbc\x92", "2" },                  /* full width */
        { "10%", "10%" },
        { "2nd3", "2nd3" },                       /* begins with a digit */
        { "give(me)", "give" },
        { "give\xef\xbc\x88me)", "give" },        /* any bracket closes any */
        { "(you)give2(me)", "give" },
        { "a[b]c{d}e", "ace" },
        { "give(me", "give" },                    /* to the end, and not closed */
        { "a)b", "a)b" },
        { ",", "\xef\xbc\x8c" },
        { "?", "\xef\xbc\x9f" },
        { "\xe3\x80\x82", "\xe3\x80\x82" },       /* punctuation is a gloss */
        { " a ", "a" },
        { "(all)", "" },
        { "", "" },
    };
    char out[64];
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        bool closed;
        const size_t n = ct_gloss_clean(row[i].from, strlen(row[i].from), out, &closed);
        ck_assert_int_eq(closed, strcmp(row[i].from, "give(me") != 0);
        ck_assert_msg(strcmp(out, row[i].to) == 0, "'%s' became '%s', not '%s'", row[i].from, out, row[i].to);
        ck_assert_uint_eq(n, strlen(row[i].to));
    }
}
END_TEST

/* ---- label files ---- */

static ct_status parse(const char *text, ct_gloss_list *out)
{
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", text);
    return ct_gloss_rows_parse(copy, strlen(copy), "L", out);
}

#define HEAD "Number,Translator,Chinese Sentences,Gloss,Note\n"

START_TEST(rows)
{
    ct_gloss_list r;
    ck_assert_int_eq(parse("\xef\xbb\xbf" HEAD "t-1,A,\"x, \"\"y\"\"\",go1/(you)/2,\r\nt-2,B,z,\"a/b\",n\r\n\nt-3,,z,(b)/,\n", &r),
                     CT_OK);
    ck_assert_int_eq(r.n, 3);
    ck_assert(!strcmp(r.row[0].id, "t-1") && !strcmp(r.row[0].signer, "A") && !strcmp(r.row[0].words, "go/2"));
    ck_assert(!strcmp(r.row[1].words, "a/b") && r.row[1].line == 3 && !r.row[1].bad);
    ck_assert(r.row[2].bad && strstr(r.row[2].bad, "no gloss is left of '(b)/'"));
    ct_gloss_rows_free(&r);
    ck_assert_int_eq(parse("id|folder|signer|annotation\nx-1|x-1/1/*.png|S4|ICH  OSTERN1/ (A)\n", &r), CT_OK);
    ck_assert_str_eq(r.row[0].folder, "x-1/1");
    ck_assert_str_eq(r.row[0].words, "ICH/OSTERN1/(A)"); /* nothing is cleaned there */
    ct_gloss_rows_free(&r);
    ck_assert_int_eq(parse(HEAD "t-1,A,x,go/give(me/now,\nt-2,A,x,a(b]c,\n", &r), CT_OK);
    ck_assert_msg(r.row[0].bad && strstr(r.row[0].bad, "nothing closes the bracket in 'give(me'"), "%s", r.row[0].bad);
    ck_assert(!r.row[1].bad && !strcmp(r.row[1].words, "ac")); /* any kind closes, as in the original */
    ct_gloss_rows_free(&r);
    static const struct { const char *text, *says; } bad[] = {
        { "t-1,A,x,go,\n", "L:1: the first line must name the columns" },
        { HEAD, "has no rows" },
        { HEAD "t-1,A,x,go,\nt-2,A,x,go,\nt-1,A,x,go,\n", "L:4: t-1 is in line 2 already" },
        { HEAD ",A,x,go,\n", "L:2: a row without a number" },
        { HEAD "../t,A,x,go,\n", "is no name of a clip" },
        { HEAD "t-1,A,\"x,go,\n", "the quote opened here is not closed" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(parse(bad[i].text, &r), CT_EFORMAT);
        ck_assert_msg(strstr(ct_error_message(), bad[i].says) != NULL, "'%s'", ct_error_message());
        ck_assert_ptr_null(r.row);
    }
}
END_TEST

/* ---- folders ---- */

static void clip(const char *dir, const char *name, int frames)
{
    char file[256], part[256];
    snprintf(part, sizeof part, "%s", name);
    for (char *s = part; (s = strchr(s, '/')); *s++ = '/') {
        *s = '\0';
        mkdir(ct_util_path(dir, part), 0755);
    }
    mkdir(ct_util_path(dir, name), 0755);
    for (int i = 1; i <= frames; i++) {
        snprintf(file, sizeof file, "%s/%05d.png", name, i);
        ct_util_picture(dir, file, 4, 4, (unsigned)i);
    }
}

static const ct_sample *sample(const ct_scan *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->s[i].name, name) == 0) return &s->s[i];
    ck_abort_msg("there is no sample '%s'", name);
}

START_TEST(folder)
{
    char *dir = ct_util_tempdir(), *found, *tried;
    ct_scan s;
    bool yes;
    clip(dir, "train/A/t-1", 3);
    clip(dir, "train/t-2", 2);
    clip(dir, "train/B/t-4", 1);
    clip(dir, "train/B/t-5", 0);
    ct_util_text(dir, "train.csv", HEAD "t-1,A,x,go/up,\nt-2,B,x,up,\nt-3,B,x,up,\nt-5,B,x,up,\nt-6,B,x,(a),\n");
    ck_assert_int_eq(ct_gloss_find_labels(ct_util_path(dir, "train/"), &found, &tried), CT_OK);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(ct_gloss_scan(ct_util_path(dir, "train"), found, &s), CT_OK);
    ct_free(found);
    ck_assert_uint_eq(s.n, 6);
    ck_assert_str_eq(sample(&s, "A/t-1")->text, "go/up (A)");
    ck_assert_int_eq(sample(&s, "A/t-1")->frames, 3);
    ck_assert_str_eq(sample(&s, "A/t-1")->frame[2], "A/t-1/00003.png");
    ck_assert(!sample(&s, "t-2")->bad && sample(&s, "t-2")->frames == 2);
    static const struct { const char *name, *says; } bad[] = { { "t-3", "there is no such folder" },
                                                               { "B/t-4", "has no row for it" },
                                                               { "B/t-5", "no PNG, JPEG, BMP or WebP pictures" },
                                                               { "t-6", "there is no such folder" } };
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(strstr(sample(&s, bad[i].name)->bad, bad[i].says) != NULL, "%s", sample(&s, bad[i].name)->bad);
    ct_scan_free(&s);
    ck_assert_int_eq(ct_gloss_claims(ct_util_path(dir, "train"), &yes), CT_OK);
    ck_assert(yes);
    ck_assert_int_eq(ct_gloss_claims(ct_util_path(dir, "train/A"), &yes), CT_OK);
    ck_assert(!yes);
    ck_assert_int_eq(ct_gloss_find_labels(ct_util_path(dir, "none"), &found, &tried), CT_OK);
    ck_assert(!found && strstr(tried, "none.corpus.csv"));
    ct_free(tried);

    clip(dir, "f/x/train/c-1/1", 2); /* PHOENIX-2014 */
    clip(dir, "annotations/manual", 0);
    ct_util_text(dir, "annotations/manual/train.corpus.csv", "id|folder|signer|annotation\nc-1|c-1/1/*.png|S1|ICH DU\n");
    ck_assert_int_eq(ct_gloss_find_labels(ct_util_path(dir, "f/x/train"), &found, &tried), CT_OK);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(ct_gloss_scan(ct_util_path(dir, "f/x/train"), found, &s), CT_OK);
    ck_assert_str_eq(sample(&s, "c-1/1")->text, "ICH/DU (S1)");
    ck_assert_ptr_null(sample(&s, "c-1/1")->bad);
    ct_scan_free(&s);
    ct_free(found);
    ct_util_remove(dir);
}
END_TEST

/* ---- the reader ---- */

static int64_t four(const void *user, int64_t pictures)
{
    (void)user;
    return ((pictures - 4) / 2 - 4) / 2;
}

static ct_status no_file(const ct_config *cfg, const char *path, char **out)
{
    (void)cfg;
    (void)path;
    *out = NULL;
    return CT_OK;
}

static ct_labels *reader(const ct_vocabulary *v)
{
    const ct_gloss_rules rules = { .clip = { 6, 12, 4 }, .vocabulary = v, .label_file = no_file, .steps = four, .user = "", .user_bytes = 0 };
    ct_labels *l;
    ck_assert_int_eq(ct_gloss_reader(&rules, &l), CT_OK);
    return l;
}

START_TEST(reading)
{
    static const char *const text[] = { "b/a/c (X)", "a/a (Y)", "c" };
    char name[16];
    int32_t id[8];
    void *row[1] = { id };
    ct_labels *l = reader(NULL);
    ck_assert_int_eq(l->ops->learn(l, text, 3), CT_OK);
    ck_assert_int_eq(l->field[0].dim[0], 3);
    ck_assert_int_eq(ct_gloss_reader_vocabulary(l)->n, 3);
    ck_assert_str_eq(ct_gloss_signer_of(text[0], name, sizeof name), "X");
    ck_assert_str_eq(ct_gloss_signer_of(text[2], name, sizeof name), "");
    ck_assert_int_eq(ct_gloss_count(text[0]), 3);
    ck_assert_int_eq(ct_gloss_needs(text[1]), 3); /* a blank between equal neighbours */
    for (int frames = 1; frames <= 300; frames++)
        ck_assert_int_eq(ct_gloss_reader_steps(l, frames), (frames + 3) / 4);
    ck_assert_int_eq(l->ops->least(l, text[1]), 9);
    ck_assert_int_eq(l->ops->least(l, text[2]), 1);
    ct_label_in in = { .name = "clip", .text = text[0], .frames = 9, .width = 4, .height = 4 };
    ck_assert_int_eq(l->ops->encode(l, &in, row), CT_OK);
    ck_assert(id[0] == 1 && id[1] == 0 && id[2] == 2);
    in.text = text[1];
    ck_assert_int_eq(l->ops->encode(l, &in, row), CT_OK);
    ck_assert(id[0] == 0 && id[1] == 0 && id[2] == -1);
    in.frames = 8;
    ck_assert_int_eq(l->ops->encode(l, &in, row), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "its 2 glosses need 3 time steps, its 8 frames give 2"));
    ck_assert_str_eq(l->ops->fault(l, &in), "steps");
    in.text = "b/zoo";
    ck_assert_int_eq(l->ops->encode(l, &in, row), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "the word 'zoo' is not in the vocabulary"));
    ck_assert_str_eq(l->ops->fault(l, &in), "vocabulary");
    in.text = "a/b/a/b";
    ck_assert_int_eq(l->ops->encode(l, &in, row), CT_EDATA);
    ck_assert_str_eq(l->ops->fault(l, &in), "length");

    ct_vocabulary given;
    static const char *const more[] = { "a", "b", "c", "zoo" };
    ck_assert_int_eq(ct_vocabulary_of(more, 4, &given), CT_OK);
    ct_labels *k = reader(&given);
    ct_vocabulary_free(&given);
    ck_assert_int_eq(k->ops->learn(k, text, 3), CT_OK); /* another set of a model that knows more */
    ck_assert_int_eq(ct_gloss_reader_vocabulary(k)->n, 4);
    ct_labels_close(k);
    ct_labels_close(l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gloss labels");
    TCase *t = tcase_create("gloss labels");
    tcase_add_test(t, vocabulary);
    tcase_add_test(t, cleanup);
    tcase_add_test(t, rows);
    tcase_add_test(t, folder);
    tcase_add_test(t, reading);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
