/* The label reader of the task: clips of a folder and their glosses. Texts of samples are words with '/' between them,
 * and behind them, if it is known, who signs: "10/年/鱼 (A)". */
#ifndef CT_TASK_GLOSS_READER_H
#define CT_TASK_GLOSS_READER_H

#include "config/config.h"
#include "data/dataset.h"
#include "task/gloss/rows.h"
#include "task/gloss/vocabulary.h"

/* How labels are read. cfg is the caller's and outlives the reader. */
typedef struct ct_gloss_rules {
    ct_clip_rule clip;
    const ct_vocabulary *vocabulary; /* copied; NULL: the words of the set, and of the files in `more` */
    const ct_config *cfg;            /* for label_file() */
    /* The label file of a folder, an own string; *out NULL: there is none. NULL: of a generator. */
    ct_status (*label_file)(const ct_config *cfg, const char *folder, char **out);
    char *more[2];                   /* label files whose words count, too, or NULL; copied */
    int columns;                     /* at least so many */
    /* Time steps that so many pictures give. */
    int64_t (*steps)(const void *user, int64_t pictures);
    const void *user;                /* [user_bytes] for steps; copied */
    size_t user_bytes;
} ct_gloss_rules;

/* CT_ENOMEM. */
ct_status ct_gloss_reader(const ct_gloss_rules *rules, ct_labels **out);

/* Who signs: of the text of a sample, into buf, "" where it does not say; returns buf. */
char *ct_gloss_signer_of(const char *text, char *buf, size_t size);
/* Bytes of a sample's text that are its words. */
size_t ct_gloss_words_of(const char *text);
/* Words and time steps of a text: CTC needs a step for each word, and one between equal neighbours. */
int ct_gloss_count(const char *text);
int ct_gloss_needs(const char *text);
/* Time steps that a clip of so many own frames gives. */
int64_t ct_gloss_reader_steps(const ct_labels *l, int frames);
const ct_vocabulary *ct_gloss_reader_vocabulary(const ct_labels *l);
bool ct_gloss_reader_set_columns(ct_labels *l, int columns); /* true: they were others */

/* ---- folder.c ---- */

/* The label file of a folder of clips: *out NULL if there is none where it might be; then *tried (ct_free()) lists
 * where that is. */
ct_status ct_gloss_find_labels(const char *folder, char **out, char **tried);
/* Folders in `root`, or in one of its folders, that are sets of clips with a label file: *out "root/dev, root/train"
 * (ct_free()); NULL: none. */
ct_status ct_gloss_sets_in(const char *root, char **out);
/* Clips of `folder` by the rows of label file `labels`. Rows without a folder, folders without a row and clips without
 * frames are bad samples. */
ct_status ct_gloss_scan(const char *folder, const char *labels, ct_scan *out);

/* ---- survey.c ---- */
ct_status ct_gloss_survey(const ct_labels *l, ct_survey **out);

#endif
