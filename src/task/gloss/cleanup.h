/* Glosses as label files have them, made words: the rules of the original (woshisad159/TFNet,
 * CE-CSLDataPreProcess.py). */
#ifndef CT_TASK_GLOSS_CLEANUP_H
#define CT_TASK_GLOSS_CLEANUP_H

#include <stddef.h>

#include "base/status.h"

/* A gloss [bytes] into `out`, which has room for bytes + 3: what stands in brackets ( ) [ ] { } （ ） is left out, with
 * them; one digit at the end of a gloss that does not begin with one, which numbers a sign's variants; zeros in front of
 * a number. A comma and a question mark at the beginning become their Chinese forms. Blanks around it are left out. May
 * become empty. Returns its bytes. */
size_t ct_gloss_clean(const char *gloss, size_t bytes, char *out);

#endif
