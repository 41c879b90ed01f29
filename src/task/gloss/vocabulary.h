/* Words that a model of sign language knows: glosses in UTF-8, without repetition, sorted by their bytes. Word k is
 * class k + 1 of the model, class 0 being the blank. */
#ifndef CT_TASK_GLOSS_VOCABULARY_H
#define CT_TASK_GLOSS_VOCABULARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/json.h"

#define CT_VOCABULARY_MAX ((1 << 20) - 1) /* words */

typedef struct ct_vocabulary {
    int64_t n;
    char **word; /* [n] ascending by bytes; owned */
} ct_vocabulary;

/* The number of a word; -1: it is not known. */
int64_t ct_vocabulary_find(const ct_vocabulary *v, const char *word);
/* The same for one of `bytes` bytes, which need not end there. */
int64_t ct_vocabulary_find_part(const ct_vocabulary *v, const char *word, size_t bytes);
void ct_vocabulary_free(ct_vocabulary *v); /* empties; NULL is fine */

/* Of the words word[0..n), in any order and as often as may be. CT_EDATA: more than CT_VOCABULARY_MAX. CT_ENOMEM. */
ct_status ct_vocabulary_of(const char *const *word, int64_t n, ct_vocabulary *out);
ct_status ct_vocabulary_copy(const ct_vocabulary *v, ct_vocabulary *out);
bool ct_vocabulary_equal(const ct_vocabulary *a, const ct_vocabulary *b);

/* A JSON list of the words, and back: CT_EFORMAT naming `source` unless they are words in ascending order. */
json_t *ct_vocabulary_list(const ct_vocabulary *v);
ct_status ct_vocabulary_from_list(const json_t *list, const char *source, ct_vocabulary *out);

/* vocabulary.json as the original's port has it: word2idx (the class of each word), idx2word (of each class, the blank
 * " " first) and vocab_size, the number of classes. CT_EIO, CT_ENOMEM. */
ct_status ct_vocabulary_write(const ct_vocabulary *v, const char *path);
/* A file of that form, or a text with a word in each line. CT_EIO, CT_EFORMAT, CT_ENOMEM. */
ct_status ct_vocabulary_read(const char *path, ct_vocabulary *out);

#endif
