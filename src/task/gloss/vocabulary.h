/* Words that a model of sign language knows: glosses in UTF-8, without repetition, sorted by their bytes. Word k is
 * class k + 1 of the model, class 0 being the blank. */
#ifndef CT_TASK_GLOSS_VOCABULARY_H
#define CT_TASK_GLOSS_VOCABULARY_H

#include <stdint.h>

#include "base/status.h"

typedef struct ct_vocabulary {
    int64_t n;
    char **word; /* [n] ascending by bytes; owned */
} ct_vocabulary;

/* The number of a word; -1: it is not known. */
int64_t ct_vocabulary_find(const ct_vocabulary *v, const char *word);
void ct_vocabulary_free(ct_vocabulary *v); /* empties; NULL is fine */

#endif
