/* The label reader for texts: a sample's label is a text, and its one field "target" i32 [columns] has a class id for
 * each character and -1 behind a shorter text. */
#ifndef CT_TASK_TEXT_READER_H
#define CT_TASK_TEXT_READER_H

#include "data/dataset.h"
#include "task/text/label/label.h"

#define CT_TEXT_FIELD "target"

typedef struct ct_text_rules {
    const char *labels, *of;   /* label file of the folder `of`, which others do not have; NULL: found by its name */
    const char *root;          /* what names in label files are relative to; NULL: their folder. All three are copied */
    ct_label_rule rule;
    const ct_charset *charset; /* NULL: collected from the labels, ascending */
    int length;                /* characters of every label; 0: any */
    int most;                  /* with length 0: the most characters, and the columns; 0: the longest label decides */
    int drawn;                 /* of a generator: the most characters it draws; 0: not known */
    int columns;               /* at least so many, whatever else is said */
    /* Time steps that a picture of `width` pixels gives a sequence model (CTC), non-decreasing; NULL: no such model.
     * With it a label of more characters + equal neighbours than its picture's true width gives steps makes a bad
     * sample. */
    int64_t (*steps)(const void *user, int width);
    const void *user;          /* [user_bytes] for steps; copied */
    size_t user_bytes;
} ct_text_rules;

/* Labels before the first '_', of any length, in any characters. */
void ct_text_rules_init(ct_text_rules *rules);
/* A reader by these rules, which are copied. It vouches for labels not drawn yet if rules->drawn and charset are
 * given and no text of that length can need more time steps than there are. CT_EINVAL for lengths outside
 * 0..CT_LABEL_MAX. */
ct_status ct_text_labels(const ct_text_rules *rules, ct_labels **out);

/* Of a set that was opened with such a reader: */
const ct_charset *ct_text_charset(const ct_dataset *ds);
int ct_text_columns(const ct_dataset *ds);                      /* L */
const int32_t *ct_text_ids(const ct_dataset *ds, int64_t i);    /* [L] class ids, -1 behind a shorter label */
int ct_text_length(const ct_dataset *ds, int64_t i);            /* characters of a label; 0 in streams */
/* Lays the labels out in L columns, at least as many as the longest label has. Pointers into fields become invalid:
 * not while a loader is open. CT_EINVAL, CT_ENOMEM (nothing is changed then). */
ct_status ct_text_set_columns(ct_dataset *ds, int L);

/* What a reader learnt, and the time steps it judges by. */
const ct_charset *ct_text_reader_charset(const ct_labels *l);
bool ct_text_reader_sequence(const ct_labels *l);
/* Steps that a picture gives, at least 0. For sequences. */
int64_t ct_text_reader_steps(const ct_labels *l, int width);

/* ---- survey.c: what `captrain check` tells about texts ---- */

typedef struct ct_char_count { uint32_t cp; int64_t n; } ct_char_count;
enum { CT_CHAR_PAGE = 256, CT_CHAR_PAGES = 0x110000 / CT_CHAR_PAGE };

/* What CTC needs for a label, and what its picture gives. */
typedef struct ct_step_count {
    int set, needs;
    int64_t gives;
    char *name;
} ct_step_count;

typedef struct ct_text_survey {
    ct_survey base;
    const ct_labels *labels;
    int64_t lengths[CT_LABEL_MAX + 1];    /* labels with so many characters */
    double tightest; /* most steps that a label needs for a picture as wide as high */
    ct_step_count *steps; size_t n_steps, cap_steps; /* for sequences: samples with picture and label, in order */
    int64_t *page[CT_CHAR_PAGES]; /* of each [CT_CHAR_PAGE] how often its characters occur; NULL: none of them does */
    size_t n_chars;               /* different ones */
} ct_text_survey;

ct_status ct_text_survey_open(const ct_labels *l, ct_survey **out);
/* The next counted character, ascending; begins with c->n 0. False behind the last. */
bool ct_text_survey_next(const ct_text_survey *v, ct_char_count *c);

#endif
