/* Metrics as numbers and text, and the two independent judges of them: which weights are the best, and whether training
 * ends early. Pure functions of their arguments; sums are f64[CT_METRIC_COUNT] as ops.h has them. */
#ifndef CT_TASK_TRACK_H
#define CT_TASK_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "task/task.h"

/* The loss, every metric of the task, and its counts, as members of an object: NULL where a number is not known. */
ct_status ct_metrics_json(const ct_task *task, const double sums[CT_METRIC_COUNT], json_t *into);
/* into["losses"] = {term: mean}, where a loss has several terms; names [n] as programs have them. */
ct_status ct_metrics_terms(const char *const *name, int n, const double sums[CT_METRIC_COUNT], json_t *into);
/* "strings 98.20 %, characters 99.50 %": the metrics of the task that are told in brief. Gives buf. */
char *ct_metrics_brief(const ct_task *task, const double sums[CT_METRIC_COUNT], char *buf, size_t size);
/* "98.20 %", "0.71 px". Gives buf. */
char *ct_metric_text(const ct_metric_row *row, double value, char *buf, size_t size);

/* The metric that eval.select_by names, whatever the case: of the task, or the loss; "auto" and "last" are the task's
 * own choice. CT_ECONFIG, naming the key, its place and the nearest name, if it is none. */
ct_status ct_metric_select(const ct_config *cfg, const ct_task *task, const ct_metric_row **by);
/* Whether eval.select_by is "last": the weights at the end are kept, whatever is better before. */
bool ct_metric_keeps_last(const ct_config *cfg);
/* The metric of early_stopping.second_guard; NULL: there is none. CT_ECONFIG likewise, and where its mode is not the
 * metric's. */
ct_status ct_metric_guard(const ct_config *cfg, const ct_task *task, const ct_metric_row **by);
#define CT_METRIC_NAME 48 /* bytes of a metric's key */

/* What train.target asks for; by NULL: nothing. */
typedef struct ct_target {
    const ct_metric_row *by;
    double value;
} ct_target;
/* CT_ECONFIG, naming the key and its place, for what is no METRIC=VALUE, or no metric of the task. */
ct_status ct_metric_target(const ct_config *cfg, const ct_task *task, ct_target *out);
/* When a run reached its target. */
typedef struct ct_arrival {
    bool reached;
    char metric[CT_METRIC_NAME];
    double value;                 /* of the metric, in the validation that reached it */
    int64_t step, samples;
    double seconds, eval_seconds; /* of the run up to there, its set-up included and scoring not; scoring */
} ct_arrival;
/* Whether a value of its metric is as good as the target, or better; one that is not known is not. */
bool ct_target_met(const ct_target *t, double value);
/* Puts the metric's name into eval.select_by in place of "auto", so that two runs which select by the same say the
 * same. To be called when a configuration has been loaded: a bad name is told before anything else begins. */
ct_status ct_metric_settle(ct_config *cfg);

/* The best weights so far. */
typedef struct ct_best {
    bool any;
    int64_t epoch, step; /* epochs complete and optimizer steps done when they were evaluated */
    double sums[CT_METRIC_COUNT];
} ct_best;

/* Takes the new sums if they are as good by `by`, or better: of equals the later have learnt more. (Not those with the
 * smaller loss: of a few dozen pictures one with a wrong label makes most of it, and the better a network reads the
 * others, the more.) by NULL: whatever they are. Never depends on early stopping. Sums with a loss of NaN or infinity
 * are never the best. Returns true if taken. */
bool ct_best_update(ct_best *best, const ct_metric_row *by, const double sums[CT_METRIC_COUNT], int64_t epoch,
                    int64_t step);

/* Early stopping: counts evaluations in a row that did not improve on its own reference by more than min_delta. */
typedef struct ct_stopper {
    bool any;
    double reference; /* value the counter was last reset at */
    int64_t stale;    /* evaluations since */
    bool guarded;
    double guard;     /* best value of the second guard's metric so far */
} ct_stopper;

/* Whether training should end, as of `epoch` complete epochs. A resumed run asks again: the rule may have changed. */
bool ct_stopper_done(const ct_stopper *stop, const ct_cfg_early_stopping *rule, int64_t epoch);
/* Notes an evaluation made when `epoch` epochs were complete. Returns true if training should end now. */
bool ct_stopper_update(ct_stopper *stop, const ct_cfg_early_stopping *rule, const ct_metric_row *by,
                       const double sums[CT_METRIC_COUNT], int64_t epoch);
/* Behind that, of the same evaluation: where a second metric has improved, three evaluations are taken back off those
 * without improvement. by NULL: there is none. Ask ct_stopper_done() then. */
void ct_stopper_guard(ct_stopper *stop, const ct_cfg_second_guard *rule, const ct_metric_row *by,
                      const double sums[CT_METRIC_COUNT]);

#endif
