/* What every task has: the loss as a metric, options by key. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/task.h"

const char *ct_option_find(const ct_option *option, size_t n, const char *key)
{
    for (size_t i = n; i-- > 0;) /* a later one wins */
        if (strcmp(option[i].key, key) == 0) return option[i].value;
    return NULL;
}

/* ---- metrics ---- */

static double loss_value(const double sums[CT_METRIC_COUNT])
{
    return sums[CT_METRIC_SAMPLES] > 0 ? sums[CT_METRIC_LOSS] / sums[CT_METRIC_SAMPLES] : NAN;
}

const ct_metric_row ct_metric_loss = { .key = "loss",
                                       .label = "loss",
                                       .unit = "",
                                       .plot = "Loss",
                                       .smaller_is_better = true,
                                       .training = true,
                                       .value = loss_value };
