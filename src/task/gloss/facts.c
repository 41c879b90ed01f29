/* What the training data decide: the vocabulary, and how many glosses a label has at most. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "task/gloss/gloss.h"
#include "task/gloss/lexicon.h"
#include "task/gloss/reader.h"

enum { USUAL_COLUMNS = 32 }; /* where no labels are at hand */

const struct ct_gloss_facts *ct_gloss_facts(const ct_facts *facts) { return (const struct ct_gloss_facts *)facts; }

void ct_gloss_forget(ct_facts *facts)
{
    struct ct_gloss_facts *f = (struct ct_gloss_facts *)facts;
    if (!f) return;
    ct_vocabulary_free(&f->vocabulary);
    ct_free(f);
}

/* Takes the vocabulary over, also when it fails. */
static ct_status facts_of(ct_vocabulary *v, int columns, ct_facts **out)
{
    struct ct_gloss_facts *f = ct_malloc(sizeof *f, "facts");
    *out = (ct_facts *)f;
    if (!f) {
        ct_vocabulary_free(v);
        return CT_ENOMEM;
    }
    *f = (struct ct_gloss_facts){ .vocabulary = *v, .columns = columns };
    return CT_OK;
}

/* ---- label files and vocabularies of a configuration ---- */

static int64_t steps(const void *user, int64_t pictures) { return ct_model_steps(user, pictures); }

/* The same but for slashes at their ends? */
static bool same_path(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    while (n > 1 && a[n - 1] == '/') n--;
    while (m > 1 && b[m - 1] == '/') m--;
    return n == m && memcmp(a, b, n) == 0;
}

/* The key that names the label file of a folder of the configuration, and its value. */
static const char *labels_key(const ct_config *cfg, const char *path)
{
    const ct_cfg_data *d = &cfg->data;
    if (*d->test_labels && same_path(path, d->test)) return d->test_labels; /* what --labels says comes first */
    if (*d->train_labels && same_path(path, d->train)) return d->train_labels;
    if (*d->val_labels && same_path(path, d->val)) return d->val_labels;
    return "";
}

/* The label file of one of the configuration's folders; NULL: it has none, or is no folder. */
static ct_status labels_of(const ct_config *cfg, const char *path, char **out)
{
    char *tried = NULL;
    const char *given = labels_key(cfg, path);
    *out = NULL;
    if (!*path || strncmp(path, "synth:", 6) == 0) return CT_OK;
    if (*given) return (*out = ct_strdup(given, "label file")) ? CT_OK : CT_ENOMEM;
    const ct_status st = ct_gloss_find_labels(path, out, &tried);
    ct_free(tried);
    return st;
}

/* captrain eval --labels FILE */
ct_status ct_gloss_scored(ct_config *cfg, const char *path, const ct_option *option, size_t options)
{
    const char *file = ct_option_find(option, options, "labels");
    if (!file) return CT_OK;
    CT_TRY(ct_config_set(cfg, "data.test", path, "eval"));
    return ct_config_set(cfg, "data.test_labels", file, "--labels");
}

/* Where words come from, where there are no facts yet. */
typedef struct chosen {
    char *more[2];      /* label files of data.val and data.test */
    ct_vocabulary file; /* data.vocab: FILE */
} chosen;

static void chosen_free(chosen *c)
{
    ct_free(c->more[0]);
    ct_free(c->more[1]);
    ct_vocabulary_free(&c->file);
}

static bool names_file(const char *vocab) { return strcmp(vocab, "all") != 0 && strcmp(vocab, "train") != 0; }

/* A set finds its label file by its folder, so two sets of one folder cannot have two. */
static ct_status check_folders(const ct_config *cfg)
{
    const ct_cfg_data *d = &cfg->data;
    const struct { const char *key, *folder, *labels; } set[] = { { "data.train", d->train, d->train_labels },
                                                                  { "data.val", d->val, d->val_labels },
                                                                  { "data.test", d->test, d->test_labels } };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            if (*set[i].folder && same_path(set[i].folder, set[k].folder) && strcmp(set[i].labels, set[k].labels) != 0)
                return ct_fail(CT_ECONFIG, "%s and %s are one folder, %s, but %s_labels and %s_labels are not one "
                               "file: a folder has one label file, which names every clip in it",
                               set[k].key, set[i].key, set[i].folder, set[k].key, set[i].key);
    return CT_OK;
}

static ct_status choose(const ct_config *cfg, chosen *c)
{
    *c = (chosen){ 0 };
    CT_TRY(check_folders(cfg));
    if (names_file(cfg->data.vocab)) {
        const ct_status st = ct_vocabulary_read(cfg->data.vocab, &c->file);
        return st == CT_OK ? st : ct_fail_context(st, "data.vocab");
    }
    if (strcmp(cfg->data.vocab, "train") == 0) return CT_OK;
    CT_TRY(labels_of(cfg, cfg->data.val, &c->more[0]));
    return labels_of(cfg, cfg->data.test, &c->more[1]);
}

static ct_status open_reader(const ct_config *cfg, const ct_facts *facts, const chosen *c, bool drawn, ct_labels **out)
{
    /* captrain check may ask without a model: all of the task have one rule */
    const ct_model_info *info = ct_model_find(cfg->model.name);
    const ct_model_spec model = { .name = info && info->clip.multiple > 0 ? info->name : "tfnet" };
    const struct ct_gloss_facts *f = ct_gloss_facts(facts);
    const ct_clip_rule *clip = ct_model_clip(&model);
    if (!clip) return ct_fail(CT_EINTERNAL, "model %s has no clips", model.name);
    const ct_gloss_rules rules = { .clip = *clip,
                                   .cfg = cfg,
                                   .vocabulary = f ? &f->vocabulary : c->file.word ? &c->file : NULL,
                                   .label_file = drawn ? NULL : labels_of,
                                   .more = { c->more[0], c->more[1] },
                                   .columns = f ? f->columns : 0,
                                   .steps = steps,
                                   .user = &model,
                                   .user_bytes = sizeof model };
    return ct_gloss_reader(&rules, out);
}

ct_status ct_gloss_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out)
{
    chosen c = { .more = { NULL } };
    *out = NULL;
    ct_status st = facts ? CT_OK : choose(cfg, &c);
    if (st == CT_OK) st = open_reader(cfg, facts, &c, false, out);
    chosen_free(&c);
    return st;
}

/* All words of the lexicon are known, whether they occur or not. */
ct_status ct_gloss_drawn_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out)
{
    chosen c = { .more = { NULL } };
    *out = NULL;
    ct_status st = facts ? CT_OK : ct_gloss_drawn_words(cfg, &c.file);
    if (st == CT_OK) st = open_reader(cfg, facts, &c, true, out);
    chosen_free(&c);
    return st;
}

/* ---- facts ---- */

ct_status ct_gloss_learn(const ct_config *cfg, const ct_dataset *train, ct_facts **out)
{
    ct_vocabulary v;
    (void)cfg;
    *out = NULL;
    CT_TRY(ct_vocabulary_copy(ct_gloss_reader_vocabulary(ct_dataset_label_reader(train)), &v));
    return facts_of(&v, ct_gloss_columns(train), out);
}

/* The words of the file that data.vocab names. */
static ct_status facts_of_file(const ct_config *cfg, ct_facts **out)
{
    ct_vocabulary v;
    const ct_status st = ct_vocabulary_read(cfg->data.vocab, &v);
    return st == CT_OK ? facts_of(&v, USUAL_COLUMNS, out) : ct_fail_context(st, "data.vocab");
}

ct_status ct_gloss_foresee(const ct_config *cfg, bool must, ct_facts **out)
{
    ct_vocabulary v;
    *out = NULL;
    if (strcmp(cfg->data.train, CT_GLOSS_GENERATOR) == 0) {
        CT_TRY(ct_gloss_drawn_words(cfg, &v));
        return facts_of(&v, (int)cfg->data.synth.glosses_max, out);
    }
    if (names_file(cfg->data.vocab)) return facts_of_file(cfg, out);
    if (!must) return CT_OK;
    return ct_fail(CT_ECONFIG, "data.vocab names no file, and there is no data.train to take the vocabulary from");
}

/* One program trains and scores: all sets get as many columns as the longest label of any. */
ct_status ct_gloss_agree(ct_dataset *const *set, int n, ct_facts *facts)
{
    struct ct_gloss_facts *f = (struct ct_gloss_facts *)facts;
    for (int i = 0; i < n; i++)
        if (set[i] && ct_gloss_columns(set[i]) > f->columns) f->columns = ct_gloss_columns(set[i]);
    for (int i = 0; i < n; i++)
        if (set[i] && ct_gloss_reader_set_columns(ct_dataset_label_reader(set[i]), f->columns))
            CT_TRY(ct_dataset_refield(set[i]));
    return CT_OK;
}

bool ct_gloss_same(const ct_facts *now, const ct_facts *then, char *why, size_t size)
{
    const ct_vocabulary *x = &ct_gloss_facts(now)->vocabulary, *y = &ct_gloss_facts(then)->vocabulary;
    if (ct_vocabulary_equal(x, y)) return true;
    int64_t i = 0;
    while (i < x->n && i < y->n && strcmp(x->word[i], y->word[i]) == 0) i++;
    snprintf(why, size, "the vocabulary has %" PRId64 " words, it has %" PRId64 "; the first that differs is '%.60s', "
             "there '%.60s'", x->n, y->n, i < x->n ? x->word[i] : "", i < y->n ? y->word[i] : "");
    return false;
}

/* ---- model files ---- */

ct_status ct_gloss_write(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value),
                         void *user)
{
    const struct ct_gloss_facts *f = ct_gloss_facts(p->facts);
    char number[16];
    json_t *list = ct_vocabulary_list(&f->vocabulary);
    char *text = list ? ct_json_text(list, 0) : NULL;
    json_decref(list);
    if (!text) return ct_fail(CT_ENOMEM, "out of memory writing the vocabulary");
    snprintf(number, sizeof number, "%d", f->columns);
    ct_status st = put(user, "vocabulary", text);
    if (st == CT_OK) st = put(user, "columns", number);
    if (st == CT_OK)
        st = put(user, "decode", "lp5: scores of classes for each time step, class 0 the blank, class k word k - 1 of "
                                 "the vocabulary; of each time step the best class, runs of one class once, blanks "
                                 "left out; ceil(frames / 4) time steps count");
    ct_free(text);
    return st;
}

ct_status ct_gloss_read(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                        ct_facts **out)
{
    const char *words = get(user, "vocabulary"), *number = get(user, "columns");
    char *end = NULL;
    const long columns = number ? strtol(number, &end, 10) : 0;
    json_t *list = NULL;
    ct_vocabulary v = { 0 };
    *out = NULL;
    if (!words) return ct_fail(CT_EFORMAT, "%s: no 'vocabulary'", path);
    if (columns < 1 || columns > CT_GLOSS_MAX || *end)
        return ct_fail(CT_EFORMAT, "%s: 'columns' is %s, not 1 to %d", path, number ? number : "missing", CT_GLOSS_MAX);
    CT_TRY(ct_json_parse(words, strlen(words), path, &list));
    ct_status st = ct_vocabulary_from_list(list, path, &v);
    json_decref(list);
    if (st == CT_OK && v.n == 0) st = ct_fail(CT_EFORMAT, "%s: the vocabulary has no words", path);
    if (st == CT_OK) return facts_of(&v, (int)columns, out);
    ct_vocabulary_free(&v);
    return st;
}

/* captrain import-torch --vocab FILE */
ct_status ct_gloss_given(ct_config *cfg, const ct_option *option, size_t options, ct_facts **out)
{
    const char *file = ct_option_find(option, options, "vocab");
    *out = NULL;
    if (file) CT_TRY(ct_config_set(cfg, "data.vocab", file, "--vocab"));
    if (!names_file(cfg->data.vocab))
        return ct_fail(CT_ECONFIG, "import-torch: --vocab (or data.vocab) must name the file of the words, which says "
                       "what the classes mean");
    return facts_of_file(cfg, out); /* whatever data.train is, by default a generator with words of its own */
}

/* What a run's folder holds of the task. */
ct_status ct_gloss_files(const ct_place *p, const char *dir)
{
    char *path = ct_path_join(dir, "vocabulary.json");
    if (!path) return CT_ENOMEM;
    const ct_status st = ct_vocabulary_write(&ct_gloss_facts(p->facts)->vocabulary, path);
    ct_free(path);
    return st;
}
