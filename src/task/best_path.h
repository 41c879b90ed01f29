/* What texts may be decoded to, and the best path of a CTC model among those that spell such a text.
 *
 * The path maximises the product of its steps' probabilities over all paths whose row (repeats merged, blanks dropped)
 * keeps the restriction: dynamic programming over (step, symbols so far, last symbol), exact. */
#ifndef CT_TASK_BEST_PATH_H
#define CT_TASK_BEST_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct ct_restriction {
    bool any;           /* there is one */
    int32_t *symbol;    /* [symbols] those that may be, ascending; owned */
    int64_t symbols;
    uint8_t *may;       /* [all symbols] whether each may be; owned */
    int64_t least, most; /* symbols of a row; most 0: any number */
} ct_restriction;

void ct_restriction_free(ct_restriction *r); /* empties; a zeroed one is fine */
/* The most symbols that `steps` steps can give: one symbol alone needs a blank between two of it. */
int64_t ct_restriction_reach(const ct_restriction *r, int64_t steps);

typedef struct ct_best_path {
    double *score;   /* [2][levels+1][1 + symbols] */
    uint8_t *from;   /* [steps][levels+1][1 + symbols] */
    int32_t *top;    /* [steps][levels+1][2] */
    size_t cap_score, cap_from, cap_top;
} ct_best_path;
void ct_best_path_free(ct_best_path *m); /* a zeroed one is fine */

/* The row of the best path: row [steps] gets *n symbols; *n -1: no path keeps the restriction. logp as for
 * ct_beam_decode(). CT_ENOMEM. */
ct_status ct_best_path_decode(ct_best_path *m, const ct_restriction *r, ct_dtype type, const void *logp, int64_t first,
                              int64_t stride, int64_t steps, int32_t *row, int64_t *n);

#endif
