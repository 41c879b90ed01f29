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
} ct_text_findings;

static inline const ct_text_findings *ct_text_findings_of(const ct_findings *f) { return (const ct_text_findings *)f; }

/* The members of the task. */
ct_status ct_text_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                       ct_findings **out);
ct_status ct_text_collect(ct_findings *f, const ct_outcome *o);
ct_status ct_text_settle(ct_findings *f, double sums[CT_METRIC_COUNT]);
void ct_text_drop(ct_findings *f);
bool ct_text_right(const ct_findings *f, int64_t i);

/* The label of sample i of the view: *n characters, classes. */
const int32_t *ct_found_label(const ct_text_findings *t, int64_t i, int64_t *n);
/* Characters of prediction i. */
int ct_found_length(const ct_text_findings *t, int64_t i);
/* Probability of the whole text: the product over its characters; of an empty one 0. */
double ct_found_confidence(const ct_text_findings *t, int64_t i);
/* Prediction i as text: ct_free(), NULL without memory. */
char *ct_found_text(const ct_text_findings *t, int64_t i);

/* "e", or "(nothing)" for -1. Returns buf. */
char *ct_confusion_text(const ct_charset *cs, int ch, char buf[32]);

#endif
