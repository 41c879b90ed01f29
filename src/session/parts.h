/* Inside src/session only: parts of a batch that a member computes one after another. */
#ifndef CT_SESSION_PARTS_H
#define CT_SESSION_PARTS_H

#include "session/session.h"

/* Of the parts of a STEP the last one alone is a STEP, the others are of kind PART. */
ct_program_kind ct_session_kind(const ct_session *s, ct_program_kind kind, int part);
/* Whether batches can be cut as s->parts says, for a program of this kind: as ct_session_add() fails. */
ct_status ct_session_check_parts(const ct_session *s, ct_program_kind kind);
/* Takes what is needed to count in parts, where sums must not depend on who has which. */
ct_status ct_session_count_parts(ct_session *s);

#endif
