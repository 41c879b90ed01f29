/* Edit distance of two rows of symbols (Levenshtein, "Binary codes capable of correcting deletions, insertions and
 * reversals", 1966), with an alignment. A row is numbers from 0 on; it ends in front of its first negative one. */
#ifndef CT_TASK_EDIT_H
#define CT_TASK_EDIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A column of an alignment: a symbol of the label and one of the prediction. Equal: no edit. -1 on one side: the symbol
 * on the other was deleted (label) or inserted (prediction). */
typedef struct ct_edit_pair {
    int32_t label, pred;
} ct_edit_pair;

/* Memory of alignments, used again and again. Starts zeroed. */
typedef struct ct_edit {
    int32_t *cost; /* (np+1) x (nl+1) */
    ct_edit_pair *pair;
    size_t cap_cost, cap_pair;
    int64_t pairs;    /* of the last alignment */
    int64_t distance; /* pairs of it whose sides differ */
} ct_edit;

void ct_edit_free(ct_edit *e); /* empties; NULL is fine */

/* Symbols of a row in so many columns. */
int64_t ct_edit_length(const int32_t *row, int64_t columns);

/* Aligns a prediction of np symbols with a label of nl: e->pair[e->pairs] from left to right, with as few edits as can
 * be. Among equal alignments the one that, from the right, prefers a pair to a deletion and a deletion to an insertion.
 * CT_ENOMEM. */
ct_status ct_edit_align(ct_edit *e, const int32_t *label, int64_t nl, const int32_t *pred, int64_t np);

#endif
