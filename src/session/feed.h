/* Batches on their way to a device that has memory of its own: a ring of pinned host blocks and of blocks on the
 * device, and a stream for the copies. While a step runs, the host fills the next block and its copy goes on beside the
 * step; the step's own stream waits for the copy with an event and moves the block to where the program reads it. The
 * host waits only when the whole ring is under way. */
#ifndef CT_SESSION_FEED_H
#define CT_SESSION_FEED_H

#include "exec/exec.h"

typedef struct ct_feed ct_feed;

typedef struct ct_feed_part {
    ct_val input;     /* of the plan */
    const void *host; /* as many bytes as the input has; free to be used again when ct_feed_send() returns */
} ct_feed_part;

/* For batches of at most `bytes`, each part counted in multiples of CT_ALIGN. *out is NULL where the backend has no
 * pinned memory: there is no way to go then, ct_plan_upload() does it. CT_ENOMEM. */
ct_status ct_feed_open(ct_arenas *store, size_t bytes, ct_feed **out);
void ct_feed_close(ct_feed *f); /* NULL is fine */
int64_t ct_feed_bytes(const ct_feed *f); /* on the device; NULL: 0 */

/* Sends the n parts of a batch to a plan, whose next run will read them. */
ct_status ct_feed_send(ct_feed *f, ct_plan *p, const ct_feed_part *part, int n);

#endif
