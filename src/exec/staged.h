/* Sums of an engine for a device with memory of its own: they go through pinned memory of the host. What is to be summed is copied there
 * behind what its stream holds, the engine adds as soon as it has arrived, and finish() has it copied back in that stream. */
#ifndef CT_EXEC_STAGED_H
#define CT_EXEC_STAGED_H

#include "exec/exec.h"

/* What groups of these can: tree_sum where the engine's can. Made by ct_staged_create() alone. */
extern const ct_comm_ops ct_staged_ops;

/* A member's end. `engine`: a group of the engine `ops`, which becomes this one's, also upon failure. tree: means are sums by the
 * tree, too. */
ct_status ct_staged_create(const ct_arenas *store, const ct_comm_ops *ops, ct_comm *engine, int size, bool tree, ct_comm **out);

#endif
