/* What a scoring pass collects of texts. Private to this folder. */
#ifndef CT_TASK_TEXT_FINDINGS_H
#define CT_TASK_TEXT_FINDINGS_H

#include "task/beam.h"
#include "task/confusions.h"
#include "task/edit.h"
#include "task/text/text.h"

/* What is counted on the host, to compare with the device or, with beam search, instead of it. */
typedef struct ct_text_counts {
    int64_t strings, chars, chars_ok, edits;
} ct_text_counts;

typedef struct ct_text_findings {
    ct_findings base;
    const struct ct_text_facts *facts;
    int64_t n;      /* samples */
    bool sequence;  /* texts of any length (CTC) */
    int columns;    /* positions; sequences: most characters a prediction may have */
    int characters; /* of the charset */
    int beam;       /* width of the beam; 0: greedy */
    int32_t *pred;   /* [n,columns] characters, in the order of the view; -1 behind a shorter text */
    float *conf;     /* [n,columns] probability of each character; 0 behind the text */
    int64_t *errors; /* [columns] wrong characters per position; NULL for sequences */
    ct_confusions edits; /* of characters, once they have been settled in order */
    ct_text_counts device, decoder; /* as the device decodes (greedy), and as the decoder of these findings does */
    /* of the pass */
    ct_beam *search; /* NULL: greedy */
    ct_edit edit;
    int32_t *text;    /* [columns] what beam search read */
    float *text_conf; /* [columns] */
    ct_beam *placer;  /* NULL: places are not wanted */
    int32_t (*place)[2]; /* [n,columns] time steps of each character: see ct_beam_places() */
    int32_t *steps;   /* [n] that a sample's bucket has, its padding included */
    ct_restriction limit; /* what may be read */
    ct_best_path path;  /* sequences under a restriction, greedy */
    int32_t *refused;   /* [n] 1 + time steps of samples that have no text under it, 0 the others; NULL: none is */
    /* confidence.c */
    double temperature; /* of the model; 0: it is not calibrated */
    int64_t classes;    /* of the scores, where they are looked at */
    float *tempered;    /* [columns,classes] log-probabilities of one sample at a temperature; NULL: not looked at */
    double *work;       /* [2 * columns + 1] sequences */
    double *sure;       /* [n] probability of each text; NULL: the product over its characters */
    ct_beam *pacer;     /* finds the characters' */
    int64_t every, kept; /* places 0, every, 2 * every.. are kept for a fit, so many; 0: none is */
    int64_t *kept_steps; /* [kept] */
    float *kept_score;   /* [kept,columns,classes] log-probabilities */
} ct_text_findings;

/* The scores of one sample: that of class c at step (position) t is element first + t*stride + c. */
typedef struct ct_text_scores {
    ct_dtype type;
    const void *score;
    int64_t first, stride, steps, classes;
} ct_text_scores;

static inline const ct_text_findings *ct_text_findings_of(const ct_findings *f) { return (const ct_text_findings *)f; }

/* The members of the task. */
ct_status ct_text_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                       ct_findings **out);
ct_status ct_text_collect(ct_findings *f, const ct_outcome *o);
ct_status ct_text_settle(ct_findings *f, double sums[CT_METRIC_COUNT]);
void ct_text_drop(ct_findings *f);
bool ct_text_right(const ct_findings *f, int64_t i);
double ct_text_confidence(const ct_findings *f, int64_t i);
/* confidence.c */
void ct_text_want_scores(ct_findings *f);
/* Of row i of a batch. CT_EINTERNAL. */
ct_status ct_text_scores_of(const ct_outcome *o, int64_t i, ct_text_scores *out);
ct_status ct_text_sure_reserve(ct_text_findings *t, int64_t classes);
/* How sure the n characters of the text read at a place are, and it. CT_ENOMEM. */
ct_status ct_text_sure(ct_text_findings *t, const ct_text_scores *s, int64_t place, const int32_t *text, int64_t n,
                       float *conf);
void ct_text_kept(ct_text_findings *t, const ct_text_scores *s, int64_t place);
ct_status ct_text_keep(ct_findings *f, int64_t *every);
double ct_text_cost(const ct_findings *f, double temperature);
void ct_text_temper(ct_facts *facts, double temperature);
/* places.c */
ct_status ct_text_locate(ct_findings *f);
/* The places of the n characters of row i, which is sample o->place[i] of the view. */
ct_status ct_text_place(ct_text_findings *t, const ct_outcome *o, int64_t i, const int32_t *text, int64_t n);
/* reading.c */
ct_status ct_text_reading(const ct_findings *f, int64_t i, ct_reading_draft *into);
ct_status ct_text_beside(const ct_place *p, char **name, char **text);
size_t ct_text_symbols(const ct_facts *facts);
const char *ct_text_symbol(const ct_facts *facts, size_t i, char buf[CT_SYMBOL_BYTES]);

/* restrict.c */
/* What the options charset and length say. CT_ECONFIG naming the option. *r: ct_restriction_free(), also on failure. */
ct_status ct_text_restrict(const ct_place *p, const ct_option *option, size_t options, ct_restriction *r);
/* The most probable character that may be of each position. */
void ct_text_allowed(const ct_restriction *r, const ct_text_scores *s, int32_t *text);
const char *ct_text_unread(const ct_findings *f, int64_t i, char *buf, size_t size);

/* found.c */
/* The label of a sample; none where there are no labels. */
const int32_t *ct_found_label_of(const ct_text_findings *t, int64_t sample, int64_t *n);
/* The label of sample i of the view: *n characters, classes. */
const int32_t *ct_found_label(const ct_text_findings *t, int64_t i, int64_t *n);
/* Characters of prediction i. */
int ct_found_length(const ct_text_findings *t, int64_t i);
/* Probability of the whole text: of calibrated models with CTC over all paths that spell it, else the product over its
 * characters; of an empty one 0. */
double ct_found_confidence(const ct_text_findings *t, int64_t i);
/* Prediction i as text: ct_free(), NULL without memory. */
char *ct_found_text(const ct_text_findings *t, int64_t i);

/* "e", or "(nothing)" for -1. Returns buf. */
char *ct_confusion_text(const ct_charset *cs, int ch, char buf[32]);

#endif
