/* Scoring a model on a data set, or reading it: one pass over samples in evaluation mode. */
#ifndef CT_SESSION_EVALUATE_H
#define CT_SESSION_EVALUATE_H

#include <signal.h>

#include "session/session.h"
#include "task/task.h"

/* What a task may know of a session. */
ct_place ct_session_place(const ct_session *s, const ct_config *cfg, const ct_facts *facts);

/* Runs the evaluation programs over the whole view, in order, without augmentation. ema: the averaged weights. findings
 * (may be NULL) are of this view: they collect what the programs give for each sample, and are settled at the end;
 * where they want no labels, the programs are those of kind PREDICT, and sums stay zero. sums: the metric sums of the
 * pass; a task whose findings count differently by design (another decoder) replaces the device's. The number of
 * samples scored must be the number there are, and what the device counts must be what the findings hold: anything else
 * is CT_EINTERNAL. `stop` (may be NULL) is looked at between batches: a pass that is interrupted returns CT_ESIGNAL. */
ct_status ct_evaluate(ct_session *s, bool ema, const ct_view *view, int64_t batch, int workers,
                      const volatile sig_atomic_t *stop, ct_findings *findings, double sums[CT_METRIC_COUNT]);

#endif
