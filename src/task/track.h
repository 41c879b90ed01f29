/* Scores of an evaluation, and the two independent judges of them: which weights are the best, and whether training
 * ends early. Pure functions of their arguments. */
#ifndef CT_TASK_TRACK_H
#define CT_TASK_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "ops/ops.h"

/* Slots of the metric accumulators (ops/ops.h) that a model which reads text counts in: in the order of metric_sums and
 * edit_sums. */
enum {
    CT_TEXT_STRINGS = CT_METRIC_FIRST, /* samples with every character right */
    CT_TEXT_CHARS,                     /* characters of the labels */
    CT_TEXT_CHARS_OK,                  /* right ones; edit_sums: characters - edits, at least 0, summed per sample */
    CT_TEXT_EDITS,                     /* edit_sums: insertions, deletions and substitutions that make the label */
    CT_TEXT_INFEASIBLE                 /* edit_sums: samples no path of whose length spells the label */
};

/* What one pass over a data set gave. */
typedef struct ct_scores {
    int64_t samples, strings; /* samples scored; with every character right */
    int64_t chars, chars_ok;  /* characters of the labels; right. Texts of any length: characters less edits, at least 0
                                 per sample */
    double loss;              /* mean over the samples; NaN when one was NaN */
    int64_t edits;            /* insertions, deletions, substitutions; with fixed positions the wrong characters */
    int64_t infeasible;       /* CTC: samples whose label does not fit into their time steps */
} ct_scores;

/* From metric accumulators f64[CT_METRIC_COUNT] (ops/ops.h). */
ct_scores ct_scores_from_sums(const double *sums);
double ct_scores_strings(const ct_scores *s); /* share 0..1; -1 when nothing was scored */
double ct_scores_cer(const ct_scores *s);     /* character error rate, edits / characters: 0 or more, above 1 with many
                                                 insertions; -1 as above */
double ct_scores_chars(const ct_scores *s);   /* 1 - character error rate, at least 0; -1 as above */
/* The number select_by asks for: an accuracy 0..1, the character error rate, or the loss. */
double ct_scores_value(const ct_scores *s, ct_cfg_select_by by);

/* The best weights so far. */
typedef struct ct_best {
    bool any;
    int64_t epoch, step; /* epochs complete and optimizer steps done when they were evaluated */
    ct_scores scores;
} ct_best;

/* Takes the new scores if they are better by `by`; among equals the smaller loss wins, then the earlier. Never depends
 * on early stopping. Scores with a loss of NaN or infinity are never the best. Returns true if taken. */
bool ct_best_update(ct_best *best, ct_cfg_select_by by, const ct_scores *s, int64_t epoch, int64_t step);

/* Early stopping: counts evaluations in a row that did not improve on its own reference by more than min_delta. */
typedef struct ct_stopper {
    bool any;
    double reference; /* value the counter was last reset at */
    int64_t stale;    /* evaluations since */
} ct_stopper;

/* Whether training should end, as of `epoch` complete epochs. A resumed run asks again: the rule may have changed. */
bool ct_stopper_done(const ct_stopper *stop, const ct_cfg_early_stopping *rule, int64_t epoch);
/* Notes an evaluation made when `epoch` epochs were complete. Returns true if training should end now. */
bool ct_stopper_update(ct_stopper *stop, const ct_cfg_early_stopping *rule, ct_cfg_select_by by, const ct_scores *s,
                       int64_t epoch);

#endif
