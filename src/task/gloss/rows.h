/* Label files of clips. CE-CSL: csv with a header that names Number, Translator and Gloss (glosses separated by '/').
 * PHOENIX-2014: id|folder|signer|annotation (glosses separated by blanks). */
#ifndef CT_TASK_GLOSS_ROWS_H
#define CT_TASK_GLOSS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ct_gloss_row {
    char *id;     /* "train-00001" */
    char *folder; /* as the file has it, "" where it says nothing: PHOENIX's without what comes behind its last '/' */
    char *signer; /* "A"; "": not known */
    char *words;  /* cleaned glosses, '/' between them: at least one */
    char *bad;    /* NULL, or why the row cannot be used */
    int64_t line;
} ct_gloss_row;

typedef struct ct_gloss_list {
    char *path;
    ct_gloss_row *row; /* [n] as in the file */
    int64_t n;
} ct_gloss_list;

/* CT_EIO (the file), CT_EFORMAT naming path and line (no such header, quotes, an id twice, no id), CT_ENOMEM. Rows
 * whose glosses are empty after cleaning are bad, as are those with a bracket that nothing closes. */
ct_status ct_gloss_rows_read(const char *path, ct_gloss_list *out);
void ct_gloss_rows_free(ct_gloss_list *r); /* empties; NULL is fine */

/* The same of a text [size], which is changed in place and must have a NUL behind it. */
ct_status ct_gloss_rows_parse(char *text, size_t size, const char *path, ct_gloss_list *out);

/* Does a file begin with the header of a label file of clips, whatever else is wrong with it? CT_ENOMEM. */
ct_status ct_gloss_rows_known(const char *path, bool *yes);

/* Calls see() for each word of a row of words. */
typedef ct_status ct_gloss_see(void *user, const char *word, size_t bytes);
ct_status ct_gloss_each(const char *words, ct_gloss_see *see, void *user);

#endif
