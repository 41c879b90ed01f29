/* Scoring a model on a data set. */
#ifndef CT_TRAIN_EVALUATE_H
#define CT_TRAIN_EVALUATE_H

#include <signal.h>

#include "train/datasets.h"
#include "train/session.h"
#include "train/track.h"

/* What a scoring pass may collect beside the sums. */
typedef struct ct_detail {
    int64_t n; /* samples */
    int positions, classes;
    int32_t *pred;      /* [n,positions] class ids, in the order of the view */
    float *conf;        /* [n,positions] softmax probability of the prediction */
    int64_t *errors;    /* [positions] wrong characters per position */
    int64_t *confusion; /* [classes,classes] label x prediction, wrong ones only */
} ct_detail;

ct_status ct_detail_init(ct_detail *d, int64_t n, int positions, int classes);
void ct_detail_free(ct_detail *d); /* empties */
/* Probability of the whole string: the product over the positions. */
double ct_detail_confidence(const ct_detail *d, int64_t i);
/* True if sample i of the view was read without an error. */
bool ct_detail_right(const ct_detail *d, const ct_view *v, int64_t i);

typedef struct ct_confusion {
    int label, pred;
    int64_t n;
} ct_confusion;
/* The most frequent confusions, at most max, by falling count, then class ids; returns how many. */
int ct_detail_confusions(const ct_detail *d, ct_confusion *out, int max);

/* Runs the evaluation programs over the whole view, in order, without augmentation. ema: the averaged weights. detail
 * may be NULL. The number of samples the device scored must be the number there are, and the strings it counts right
 * those the host counts: anything else is CT_EINTERNAL. `stop` (may be NULL) is looked at between batches: a pass that
 * is interrupted returns CT_ESIGNAL. */
ct_status ct_evaluate(ct_session *s, bool ema, const ct_view *view, int64_t batch, int workers,
                      const volatile sig_atomic_t *stop, ct_detail *detail, ct_scores *out);

#endif
