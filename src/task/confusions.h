/* What was read as what, and how often: edits between labels and predictions (edit.h). */
#ifndef CT_TASK_CONFUSIONS_H
#define CT_TASK_CONFUSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "task/edit.h"

/* An id of a label that was read as another. -1: nothing, an id that was not read (pred) or that is not there (label).
 */
typedef struct ct_confusion {
    int label, pred;
    int64_t n;
} ct_confusion;

typedef struct ct_confusions {
    int64_t substitutions, insertions, deletions;
    ct_confusion *list; /* [n]; sorted: by falling count, then label, then prediction */
    size_t n, cap;
} ct_confusions;

void ct_confusions_free(ct_confusions *c); /* empties */
/* Notes an edit (label != pred). CT_ENOMEM. */
ct_status ct_confusions_note(ct_confusions *c, int label, int pred);
/* Notes all edits of an alignment. */
ct_status ct_confusions_align(ct_confusions *c, const ct_edit *e);
/* All are noted: puts them in order, each pair once. */
void ct_confusions_sort(ct_confusions *c);
/* The most frequent ones, sorted, at most max: *list [returned]. */
int ct_confusions_most(const ct_confusions *c, int max, const ct_confusion **list);

#endif
