#include "config.h"

#include "task/paths.h"

#include <math.h>

void ct_paths_temper(ct_dtype type, const void *score, int64_t first, int64_t stride, int64_t steps, int64_t classes,
                     double temperature, float *out)
{
    for (int64_t t = 0; t < steps; t++) {
        float *row = out + t * classes;
        double most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < classes; c++) {
            const double v = ct_load(type, score, first + t * stride + c) / temperature;
            row[c] = isnan(v) ? -INFINITY : (float)v;
            if ((double)row[c] > most) most = (double)row[c];
        }
        if (most == -INFINITY) continue;
        for (int64_t c = 0; c < classes; c++) sum += exp((double)row[c] - most);
        const double norm = most + log(sum);
        for (int64_t c = 0; c < classes; c++) row[c] = (float)((double)row[c] - norm);
    }
}

static double lse(double a, double b)
{
    const double m = a > b ? a : b;
    return m == -INFINITY ? m : m + log1p(exp((a > b ? b : a) - m));
}

/* The forward variables of states blank, row[0], blank, row[1], ...: in place from the last state on, since a state is
 * reached from itself and the two before it. */
double ct_paths_log_prob(const float *logp, int64_t steps, int64_t classes, const int32_t *row, int64_t n,
                         double *work)
{
    const int64_t states = 2 * n + 1;
    if (steps == 0) return n == 0 ? 0 : -INFINITY;
    for (int64_t s = 2; s < states; s++) work[s] = -INFINITY;
    work[0] = (double)logp[0];
    if (n > 0) work[1] = (double)logp[row[0] + 1];
    for (int64_t t = 1; t < steps; t++) {
        const float *p = logp + t * classes;
        for (int64_t s = states - 1; s >= 0; s--) {
            double sum = work[s];
            if (s >= 1) sum = lse(sum, work[s - 1]);
            if (s >= 3 && s % 2 && row[s / 2] != row[s / 2 - 1]) sum = lse(sum, work[s - 2]);
            work[s] = sum + (double)p[s % 2 ? row[s / 2] + 1 : 0];
        }
    }
    return n > 0 ? lse(work[states - 1], work[states - 2]) : work[0];
}
