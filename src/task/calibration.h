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
    double ece_before, ece_after; /* NAN: nothing measured */
    ct_reliability after;
} ct_calibration;

void ct_reliability_add(ct_reliability *r, double confidence, bool right);
/* The expected calibration error: |accuracy - mean confidence| of each bin, weighted by its share of the samples. NAN
 * without samples. */
double ct_reliability_error(const ct_reliability *r);
/* [{confidence, accuracy, count}] of the bins that hold samples, in their order. NULL without memory. */
json_t *ct_reliability_json(const ct_reliability *r);
/* {temperature, fitted, ece_before, ece_after, bins}: the errors null and the bins none where no sample was left to
 * measure on. NULL without memory. */
json_t *ct_calibration_json(const ct_calibration *c);

/* What one of n samples costs whose right answer has this log-probability, -INFINITY too: the cross-entropy to
 * (n + 1) / (n + 2) for "right". Even n right ones of n show no more (Laplace's rule of succession, as in J. Platt,
 * "Probabilistic Outputs for Support Vector Machines", 1999); with 1 in its place a few pictures that are all read
 * would make a network as sure as scores allow. Nothing where no temperature gives the answer a probability. */
double ct_calibration_cost(double log_prob, int64_t n);
/* The temperature within CT_TEMPERATURE_MIN..MAX for which cost, the sum over the samples, is least: by golden section
 * over its logarithm, to a thousandth. */
double ct_temperature_fit(double (*cost)(const void *user, double temperature), const void *user);

#endif
