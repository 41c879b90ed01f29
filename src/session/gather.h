/* Outcomes of all members of a group, at the first. */
#ifndef CT_SESSION_GATHER_H
#define CT_SESSION_GATHER_H

#include "exec/comm.h"
#include "task/task.h"

typedef struct ct_gather ct_gather; /* memory for the outcomes of a batch, which grows with them */

ct_status ct_gather_make(ct_group *group, ct_gather **out);
void ct_gather_free(ct_gather *g); /* NULL is fine */
/* Brings what each member got for its rows of a batch to the first, which hands them to `findings` in the order of
 * ranks. All members call it for every batch; one that has no rows with outputs 0, n 0. */
ct_status ct_gather_collect(ct_gather *g, const ct_outcome *mine, ct_findings *findings);

#endif
