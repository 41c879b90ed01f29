/* Probabilities of rows of symbols under scores at a temperature. */
#ifndef CT_TASK_PATHS_H
#define CT_TASK_PATHS_H

#include <stdint.h>

#include "base/dtype.h"

/* out [steps,classes] = log_softmax(score / temperature) of each row; score: of type `type`, that of class c in row t
 * is element first + t*stride + c. A NaN counts as probability 0. */
void ct_paths_temper(ct_dtype type, const void *score, int64_t first, int64_t stride, int64_t steps, int64_t classes,
                     double temperature, float *out);
/* The logarithm of the probability that a model with CTC gives a row of n symbols: over all paths that spell it. logp
 * [steps,classes], class 0 being the blank, class k+1 symbol k; work [2n+1]. -INFINITY: no path does. */
double ct_paths_log_prob(const float *logp, int64_t steps, int64_t classes, const int32_t *row, int64_t n,
                         double *work);

#endif
