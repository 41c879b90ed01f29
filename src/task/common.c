/* What every task has: the loss as a metric, options by key. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "task/task.h"

const char *ct_option_find(const ct_option *option, size_t n, const char *key)
{
    for (size_t i = n; i-- > 0;) /* a later one wins */
        if (strcmp(option[i].key, key) == 0) return option[i].value;
    return NULL;
}

ct_status ct_propose_length(const ct_seen *seen, int64_t batch, int64_t steps, int64_t least, int64_t most,
                            ct_propose_put *put, void *user)
{
    char value[32], why[160];
    if (batch > seen->samples) batch = seen->samples > 0 ? seen->samples : 1;
    const int64_t each = (seen->samples + batch - 1) / batch;
    int64_t epochs = each > 0 ? (steps + each / 2) / each : most;
    epochs = epochs < least ? least : epochs > most ? most : epochs;
    snprintf(value, sizeof value, "%" PRId64, batch);
    snprintf(why, sizeof why, "pictures in a step: %" PRId64 " make an epoch of %" PRId64 " steps", seen->samples,
             each);
    CT_TRY(put(user, "train.batch_size", value, why));
    snprintf(value, sizeof value, "%" PRId64, epochs);
    snprintf(why, sizeof why, "%" PRId64 " steps in all; the best weights are kept, so that more do no harm",
             epochs * each);
    return put(user, "train.epochs", value, why);
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
