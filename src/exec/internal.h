/* Between the files of src/exec only. */
#ifndef CT_EXEC_INTERNAL_H
#define CT_EXEC_INTERNAL_H

#include "exec/exec.h"

/* Makes ACT and INPUT at least this large (bytes) and, if they moved, binds all plans of the store anew. */
ct_status ct_arenas_grow(ct_arenas *s, int64_t act_bytes, int64_t input_bytes);

/* Writes the addresses of the store's arenas into the plan's calls. */
void ct_plan_bind(ct_plan *p);
ct_plan *ct_plan_next(const ct_plan *p); /* in the store's list */

#endif
