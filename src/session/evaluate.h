/* Scoring a model on a data set. */
#ifndef CT_SESSION_EVALUATE_H
#define CT_SESSION_EVALUATE_H

#include <signal.h>

#include "session/session.h"
#include "task/datasets.h"
#include "task/track.h"
#include "task/text/edit.h"
#include "task/text/label.h"

/* How scores become text: the class with the largest score of each position or time step (greedy), or, for CTC models,
 * prefix beam search. */
typedef struct ct_decoder {
    int beam; /* width of the beam; 0: greedy */
} ct_decoder;

/* From the names that eval and predict take: decoder "greedy" (NULL) or "beam", width 0 for the default. CT_ECONFIG for
 * another name, a width out of range or without beam, and beam where `head` is not CT_HEAD_CTC; `model` names it. */
ct_status ct_decoder_parse(const char *decoder, int64_t width, const char *model, ct_head head, ct_decoder *out);

/* A character of a label that was read as another. -1: nothing, a character that was not read (pred) or that is not
 * there (label). */
typedef struct ct_confusion {
    int label, pred;
    int64_t n;
} ct_confusion;

/* What a scoring pass may collect beside the sums. */
typedef struct ct_detail {
    int64_t n;      /* samples */
    bool sequence;  /* texts of any length (CTC) */
    int columns;    /* positions; sequences: most characters a prediction may have */
    int characters; /* of the charset */
    ct_decoder decoder;
    int32_t *pred;   /* [n,columns] characters, in the order of the view; -1 behind a shorter text */
    float *conf;     /* [n,columns] probability of each character; 0 behind the text */
    int64_t *errors; /* [columns] wrong characters per position; NULL for sequences */
    int64_t substitutions, insertions, deletions;
    ct_confusion *confusion; /* edits that occurred, by falling count, then label, then prediction */
    size_t nconfusion, cap_confusion;
} ct_detail;

/* n: samples of the view. columns as above. */
ct_status ct_detail_init(ct_detail *d, int64_t n, int columns, int characters, bool sequence);
/* The same for a session that will score a view. */
ct_status ct_detail_for(ct_detail *d, const ct_session *s, const ct_view *v, int characters);
void ct_detail_free(ct_detail *d); /* empties */

/* Notes one edit (label != pred); ct_detail_settle() afterwards puts them in order. */
ct_status ct_detail_note(ct_detail *d, int label, int pred);
void ct_detail_settle(ct_detail *d);

/* Characters of prediction i. */
int ct_detail_length(const ct_detail *d, int64_t i);
/* Probability of the whole string: the product over its characters; of an empty one 0. */
double ct_detail_confidence(const ct_detail *d, int64_t i);
/* True if sample i of the view was read without an error. */
bool ct_detail_right(const ct_detail *d, const ct_view *v, int64_t i);
/* Text of prediction i into buf, cut to its size. Returns buf. */
char *ct_detail_text(const ct_detail *d, const ct_charset *cs, int64_t i, char *buf, size_t size);
/* Bytes that hold the text of any prediction. */
size_t ct_detail_text_size(const ct_detail *d);

/* The most frequent confusions, at most max; returns how many. */
int ct_detail_confusions(const ct_detail *d, ct_confusion *out, int max);
/* "e", or "(nothing)" for -1. Returns buf. */
char *ct_confusion_text(const ct_charset *cs, int ch, char buf[32]);

/* Runs the evaluation programs over the whole view, in order, without augmentation. ema: the averaged weights. detail
 * may be NULL; its decoder decides what is counted (without one: greedy). The number of samples the device scored must
 * be the number there are, and the strings and edits it counts those the host counts: anything else is CT_EINTERNAL.
 * `stop` (may be NULL) is looked at between batches: a pass that is interrupted returns CT_ESIGNAL. */
ct_status ct_evaluate(ct_session *s, bool ema, const ct_view *view, int64_t batch, int workers,
                      const volatile sig_atomic_t *stop, ct_detail *detail, ct_scores *out);

#endif
