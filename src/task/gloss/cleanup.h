/* Glosses as label files have them, made words: the rules of the original (woshisad159/TFNet,
 * CE-CSLDataPreProcess.py). */
#ifndef CT_TASK_GLOSS_CLEANUP_H
#define CT_TASK_GLOSS_CLEANUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A gloss [bytes], UTF-8, into `out`, which has room for bytes + 3: what stands in brackets ( [ { （ up to the next
 * ) ] } ）, of whatever kind, is left out, with them; one digit at the end of a gloss that does not begin with one,
 * which numbers a sign's variants. A comma and a question mark at the beginning become their Chinese forms. A number,
 * in digits of full width, too, becomes what it is in ASCII, without zeros in front. Blanks around it are left out. May
 * become empty. Returns its bytes. *closed: whether every bracket has its end; what stands behind one that has none is
 * left out, which is not what anybody meant. */
size_t ct_gloss_clean(const char *gloss, size_t bytes, char *out, bool *closed);

#endif
