/* Between the files of src/exec only. */
#ifndef CT_EXEC_INTERNAL_H
#define CT_EXEC_INTERNAL_H

#include "exec/exec.h"

/* From here until it leaves, `u` (the caller's memory) is told whenever arenas may have moved. */
void ct_arenas_join(ct_arenas *s, ct_arenas_user *u);
void ct_arenas_leave(ct_arenas *s, ct_arenas_user *u); /* one that never joined is fine */

/* Makes ACT and INPUT at least this large (bytes) and has all users of the store take their addresses anew. */
ct_status ct_arenas_grow(ct_arenas *s, int64_t act_bytes, int64_t input_bytes);

/* Has all users give up what they recorded, before something goes that it may hold. They record it anew when they are run again. */
void ct_arenas_unrecord(ct_arenas *s);

#endif
