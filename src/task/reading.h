/* What a task says of one sample to a program that calls the library: ct_reading, piece by piece. */
#ifndef CT_TASK_READING_H
#define CT_TASK_READING_H

#include "captrain.h"

#define CT_SYMBOL_BYTES 8 /* of a character in UTF-8, with room */

/* A reading being made, and what it points to. Zeroed: an empty one. */
typedef struct ct_reading_draft {
    ct_reading out;
    ct_symbol **symbol;
    ct_point **point;
    char *text, *error, *json; /* owned; NULL: "" */
    size_t cap_symbols, cap_points;
} ct_reading_draft;

/* Strings are copied. CT_ENOMEM. */
ct_status ct_reading_put_text(ct_reading_draft *d, const char *text, double confidence);
ct_status ct_reading_add_symbol(ct_reading_draft *d, const ct_symbol *symbol);
/* name: a literal, or one that outlives the reading. */
ct_status ct_reading_add_point(ct_reading_draft *d, const char *name, const double at[2], double confidence);
/* It could not be read; why: the message of the last failure. */
ct_status ct_reading_refuse(ct_reading_draft *d, ct_status status);
/* Fills in the lists of out: nothing is added any more. */
void ct_reading_seal(ct_reading_draft *d);
void ct_reading_free(ct_reading_draft *d); /* empties */

#endif
