#include "config.h"

#include "task/calibration.h"

#include <math.h>

void ct_reliability_add(ct_reliability *r, double confidence, bool right)
{
    int bin = (int)(confidence * CT_RELIABILITY_BINS);
    if (!(confidence > 0)) bin = 0;
    else if (bin >= CT_RELIABILITY_BINS) bin = CT_RELIABILITY_BINS - 1;
    r->count[bin]++;
    r->right[bin] += right;
    r->confidence[bin] += confidence;
}

double ct_reliability_error(const ct_reliability *r)
{
    double sum = 0;
    int64_t n = 0;
    for (int k = 0; k < CT_RELIABILITY_BINS; k++) {
        sum += fabs((double)r->right[k] - r->confidence[k]); /* |accuracy - confidence| times the bin's samples */
        n += r->count[k];
    }
    return n > 0 ? sum / (double)n : NAN;
}

json_t *ct_reliability_json(const ct_reliability *r)
{
    json_t *bins = json_array();
    for (int k = 0; bins && k < CT_RELIABILITY_BINS; k++) {
        const double n = (double)r->count[k];
        if (r->count[k] == 0) continue;
        if (json_array_append_new(bins, json_pack("{s:f,s:f,s:I}", "confidence", r->confidence[k] / n, "accuracy",
                                                  (double)r->right[k] / n, "count", (json_int_t)r->count[k])) == 0)
            continue;
        json_decref(bins);
        return NULL;
    }
    return bins;
}

json_t *ct_calibration_json(const ct_calibration *c)
{
    return json_pack("{s:f,s:I,s:o,s:o,s:o}", "temperature", c->temperature, "fitted", (json_int_t)c->fitted,
                     "ece_before", ct_json_number(c->ece_before), "ece_after", ct_json_number(c->ece_after), "bins",
                     ct_reliability_json(&c->after));
}

double ct_calibration_cost(double log_prob, int64_t n)
{
    const double share = 1 / ((double)n + 2);
    if (!isfinite(log_prob)) return 0;
    const double wrong = -expm1(log_prob); /* 0 and a little less where sums of floats came out at 1 */
    return -(1 - share) * log_prob - share * log(fmax(wrong, 1e-9));
}

double ct_temperature_fit(double (*cost)(const void *user, double temperature), const void *user)
{
    const double ratio = (sqrt(5) - 1) / 2;
    double lo = log(CT_TEMPERATURE_MIN), hi = log(CT_TEMPERATURE_MAX);
    double a = hi - ratio * (hi - lo), b = lo + ratio * (hi - lo);
    double at_a = cost(user, exp(a)), at_b = cost(user, exp(b));
    while (hi - lo > 1e-3) {
        if (at_a <= at_b) {
            hi = b;
            b = a;
            at_b = at_a;
            a = hi - ratio * (hi - lo);
            at_a = cost(user, exp(a));
        } else {
            lo = a;
            a = b;
            at_a = at_b;
            b = lo + ratio * (hi - lo);
            at_b = cost(user, exp(b));
        }
    }
    return exp((lo + hi) / 2);
}
