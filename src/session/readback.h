/* Metric sums and step state on their way from a device with memory of its own to the host: asked for between two
 * steps, taken when they have arrived, while the steps go on. */
#ifndef CT_SESSION_READBACK_H
#define CT_SESSION_READBACK_H

#include "exec/exec.h"

typedef struct ct_readback ct_readback;

/* *out is NULL where the backend has no pinned memory: ct_arenas_get_metrics() and ct_arenas_get_state() are no slower
 * there. CT_ENOMEM. */
ct_status ct_readback_open(ct_arenas *store, ct_readback **out);
void ct_readback_close(ct_readback *b); /* NULL is fine */

/* Queues the copies behind the steps queued so far, and sets the metric sums to zero behind them. One question at a
 * time. */
ct_status ct_readback_ask(ct_readback *b);
/* *there: the answer to the last question has arrived; false if there is none open. Fails when the steps before it
 * have, and so does taking it. */
ct_status ct_readback_there(const ct_readback *b, bool *there);
/* The answer; waits for it. */
ct_status ct_readback_take(ct_readback *b, double metrics[CT_METRIC_COUNT], double state[CT_STATE_COUNT]);

#endif
