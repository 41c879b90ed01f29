/* A bounded number of threads over a list of independent items. */
#ifndef CT_BASE_WORKERS_H
#define CT_BASE_WORKERS_H

#include <pthread.h>
#include <stdint.h>

#include "base/pace.h"
#include "base/status.h"

/* Handles item i. `worker` is 0..workers-1, for per-thread state. Must not depend on the order of the items. */
typedef ct_status (*ct_item_fn)(void *user, int worker, int64_t i);

/* Calls fn for i = 0..n-1 from `workers` threads (fewer if n is small; with one, from the caller). The first failure
 * stops the hand-out of items; of several failures the one with the lowest i is returned, with its message, so the
 * outcome does not depend on the number of threads. Threads that cannot be started are done without. pace: says how far
 * it is, from the caller's thread, and has n more before it at the end; NULL: nothing is said. */
ct_status ct_parallel_for(int64_t n, int workers, ct_item_fn fn, void *user, ct_pace *pace);

/* pthread_create with all signals blocked in the new thread, so that they are delivered to the program's main thread.
 * 0 or an errno value. */
int ct_thread_start(pthread_t *t, void *(*run)(void *), void *arg);

#endif
