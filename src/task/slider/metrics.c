/* What is counted of points, and the numbers made of it. */
#include "config.h"

#include <math.h>

#include "task/slider/findings.h"

_Static_assert(CT_METRIC_FIRST + CT_SLIDER_SUMS <= CT_METRIC_TERMS, "the sums leave room for the terms of a loss");

/* Of sums from `first` on, over n samples. */
static double mean(const double *sums, double n, int k) { return n > 0 ? sums[k] / n : NAN; }
static double share(const double *sums, double n, int k) { return 100 * mean(sums, n, k); }

static double counted(const double s[CT_METRIC_COUNT]) { return s[CT_METRIC_FIRST + CT_SLIDER_SUM_COUNTED]; }
static double mae(const double *s) { return mean(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_ERROR); }
static double rmse(const double *s) { return sqrt(mean(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_SQUARE)); }
static double gap(const double *s) { return mean(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_GAP); }
static double piece(const double *s) { return mean(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_PIECE); }
static double hit_1(const double *s) { return share(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_1); }
static double hit_2(const double *s) { return share(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_2); }
static double hit_5(const double *s) { return share(s + CT_METRIC_FIRST, counted(s), CT_SLIDER_SUM_5); }

/* Shares are in percent, as the reference has them. */
const ct_metric_row ct_slider_metrics[CT_SLIDER_METRICS] = {
    { .key = "mae_px", .label = "mean error", .curve = "gap and piece", .unit = "px", .plot = "Error",
      .smaller_is_better = true, .training = true, .brief = true, .value = mae },
    { .key = "rmse_px", .label = "root of the mean squared error", .curve = "squared", .unit = "px", .plot = "Error",
      .smaller_is_better = true, .value = rmse },
    { .key = "gap_mae_px", .label = "mean error of the gap", .curve = "gap", .unit = "px", .plot = "Error",
      .smaller_is_better = true, .value = gap },
    { .key = "slider_mae_px", .label = "mean error of the piece", .curve = "piece", .unit = "px", .plot = "Error",
      .smaller_is_better = true, .value = piece },
    { .key = "hit_le_1px", .label = "within 1 px", .curve = "within 1 px", .unit = "percent", .plot = "Hits",
      .value = hit_1 },
    { .key = "hit_le_2px", .label = "within 2 px", .curve = "within 2 px", .unit = "percent", .plot = "Hits",
      .training = true, .brief = true, .value = hit_2 },
    { .key = "hit_le_5px", .label = "within 5 px", .curve = "within 5 px", .unit = "percent", .plot = "Hits",
      .brief = true, .value = hit_5 },
};

ct_status ct_slider_numbers(const double *s, double n, json_t *into)
{
    CT_TRY(ct_json_set(into, "mae_px", ct_json_number(mean(s, n, CT_SLIDER_SUM_ERROR))));
    CT_TRY(ct_json_set(into, "rmse_px", ct_json_number(sqrt(mean(s, n, CT_SLIDER_SUM_SQUARE)))));
    CT_TRY(ct_json_set(into, "gap_mae_px", ct_json_number(mean(s, n, CT_SLIDER_SUM_GAP))));
    CT_TRY(ct_json_set(into, "slider_mae_px", ct_json_number(mean(s, n, CT_SLIDER_SUM_PIECE))));
    CT_TRY(ct_json_set(into, "hit_le_1px", ct_json_number(share(s, n, CT_SLIDER_SUM_1))));
    CT_TRY(ct_json_set(into, "hit_le_2px", ct_json_number(share(s, n, CT_SLIDER_SUM_2))));
    return ct_json_set(into, "hit_le_5px", ct_json_number(share(s, n, CT_SLIDER_SUM_5)));
}
