/* Is a confidence a probability? How far it is from one, and the temperature that brings it nearer (C. Guo et al., "On
 * Calibration of Modern Neural Networks", 2017): scores are divided by one number before they become probabilities,
 * which changes no answer, only how sure it is. */
#ifndef CT_TASK_CALIBRATION_H
#define CT_TASK_CALIBRATION_H

#include "formats/json.h"

enum { CT_RELIABILITY_BINS = 15 };
#define CT_TEMPERATURE_MIN 0.25
#define CT_TEMPERATURE_MAX 16.0

/* Samples by confidence, in bins of equal width. */
typedef struct ct_reliability {
    int64_t count[CT_RELIABILITY_BINS], right[CT_RELIABILITY_BINS];
    double confidence[CT_RELIABILITY_BINS]; /* sums */
} ct_reliability;

typedef struct ct_calibration {
    double temperature;
    int64_t fitted, measured; /* samples it was fitted on, and others that the rest was measured on */
    double ece_before, ece_after;
    ct_reliability after;
} ct_calibration;

void ct_reliability_add(ct_reliability *r, double confidence, bool right);
/* The expected calibration error: |accuracy - mean confidence| of each bin, weighted by its share of the samples. NAN
 * without samples. */
double ct_reliability_error(const ct_reliability *r);
/* [{confidence, accuracy, count}] of the bins that hold samples, in their order. NULL without memory. */
json_t *ct_reliability_json(const ct_reliability *r);
/* {temperature, ece_before, ece_after, bins}. NULL without memory. */
json_t *ct_calibration_json(const ct_calibration *c);

/* The temperature within CT_TEMPERATURE_MIN..MAX for which nll, the negative log-likelihood of the right answers, is
 * least: by golden section over its logarithm, to a thousandth. */
double ct_temperature_fit(double (*nll)(const void *user, double temperature), const void *user);

#endif
