/* Prefix beam search over the output of a CTC model (A. Graves, "Supervised Sequence Labelling with Recurrent Neural
 * Networks", 2008, section 7.5.2; A. Hannun et al., "First-Pass Large Vocabulary Continuous Speech Recognition using
 * Bi-Directional Recurrent DNNs", 2014).
 *
 * What a model reads is a row of symbols 0.., symbol k being its class k+1. Many paths spell one row; the best path
 * (ctc_greedy) need not spell the most probable one. The search walks the time steps with the `width` most probable
 * beginnings of rows, and for each the probability of its paths that end in a blank and of those that end in its last
 * symbol. With a width that holds every beginning it finds the most probable row. No language model. */
#ifndef CT_TASK_BEAM_H
#define CT_TASK_BEAM_H

#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "task/best_path.h"
#include "task/task.h"

#define CT_BEAM_WIDTH 10 /* used where none is given */
#define CT_BEAM_WIDTH_MAX 1000

/* What the options decoder (greedy, which is what none means, or beam) and beam_width of a verb ask for: *width of the
 * beam, 0: greedy. CT_ECONFIG naming the option. */
ct_status ct_beam_option(const ct_option *option, size_t options, int *width);

typedef struct ct_beam ct_beam;

/* classes: blank and symbols, at least 1. CT_EINVAL, CT_ENOMEM. */
ct_status ct_beam_new(int width, int64_t classes, ct_beam **out);
void ct_beam_free(ct_beam *b); /* NULL is fine */
/* From now on only rows that keep r are followed, which must outlive b: symbols that may not be are passed over, and
 * beginnings that the steps to come cannot bring to a length that may be. NULL: all. */
void ct_beam_restrict(ct_beam *b, const ct_restriction *r);

/* The most probable row found. logp: log-probabilities of type `type`; that of class c at step t is element first +
 * t*stride + c; class 0 is the blank, class k+1 symbol k. row [steps] and conf [steps] receive *n symbols and for each
 * the greatest probability it has within its run of time steps on the best path that spells the row; *log_prob (may be
 * NULL) the logarithm of the row's probability, over the paths that were followed. A NaN counts as probability 0.
 * *n -1: no row keeps the restriction. CT_ENOMEM. */
ct_status ct_beam_decode(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride, int64_t steps,
                         int32_t *row, float *conf, int64_t *n, double *log_prob);
/* conf[k]: the greatest probability of symbol k of a row within its run of time steps on the best path that spells the
 * row, however it was decoded. CT_ENOMEM. */
ct_status ct_beam_confidences(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride,
                              int64_t steps, const int32_t *row, int64_t n, float *conf);
/* Where the n symbols of a row stand on the best path that spells it, however it was decoded: symbol k in the time
 * steps [place[k][0], place[k][1]). CT_ENOMEM. */
ct_status ct_beam_places(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride, int64_t steps,
                         const int32_t *row, int64_t n, int32_t (*place)[2]);

#endif
