/* What a scoring pass collects of glosses. Private to this folder. */
#ifndef CT_TASK_GLOSS_FINDINGS_H
#define CT_TASK_GLOSS_FINDINGS_H

#include "task/beam.h"
#include "task/confusions.h"
#include "task/edit.h"
#include "task/gloss/gloss.h"

/* What is counted on the host, to compare with the device or, with beam search, instead of it. */
typedef struct ct_gloss_counts {
    int64_t sentences, words, words_ok, edits, substitutions, deletions, insertions;
    double shares; /* sum over samples of edits / glosses of the label */
} ct_gloss_counts;

typedef struct ct_gloss_findings {
    ct_findings base;
    const struct ct_gloss_facts *facts;
    int64_t n;        /* samples */
    int columns;      /* most words a prediction may have */
    int beam;         /* width of the beam; 0: greedy */
    int32_t *pred;    /* [n,columns] words, in the order of the view; -1 behind a shorter row */
    float *conf;      /* [n,columns] probability of each word; 0 behind them */
    int32_t *steps;   /* [n] time steps */
    int32_t *edited;  /* [n] edits between label and prediction */
    ct_confusions edits;
    ct_gloss_counts device, decoder; /* as the device decodes (greedy), and as the decoder of these findings does */
    /* of the pass */
    ct_beam *search;  /* NULL: greedy */
    ct_edit edit;
    int32_t *row;     /* [columns] what beam search read */
    float *row_conf;  /* [columns] */
} ct_gloss_findings;

static inline const ct_gloss_findings *ct_gloss_findings_of(const ct_findings *f)
{
    return (const ct_gloss_findings *)f;
}

/* The label of sample i of the view: *n words. */
const int32_t *ct_signed_label(const ct_gloss_findings *t, int64_t i, int64_t *n);
const int32_t *ct_signed_read(const ct_gloss_findings *t, int64_t i, int64_t *n); /* the prediction, likewise */
/* Probability of the whole row: the product over its words; of an empty one 0. */
double ct_signed_confidence(const ct_gloss_findings *t, int64_t i);
/* A row of words with blanks between them: ct_free(), NULL without memory. */
char *ct_signed_text(const ct_gloss_findings *t, const int32_t *word, int64_t n);
/* The word, or "(nothing)" for -1. */
const char *ct_signed_word(const ct_gloss_findings *t, int word);

/* Scores of a part of the samples, by who signs or how long the label is. */
typedef struct ct_gloss_part {
    const char *name; /* of the signer; NULL: parts are lengths */
    int64_t length;   /* glosses */
    int64_t samples, words, edits;
} ct_gloss_part;
/* By signer in the order of their names; by length, ascending: *out [*n] (ct_free). CT_ENOMEM. */
ct_status ct_gloss_by_signer(const ct_gloss_findings *t, ct_gloss_part **out, size_t *n);
ct_status ct_gloss_by_length(const ct_gloss_findings *t, ct_gloss_part **out, size_t *n);

#endif
