/* Numbers in the text that people write, read the same in every locale. */
#ifndef CT_BASE_NUMBER_H
#define CT_BASE_NUMBER_H

#include <stdbool.h>

enum { CT_NUMBER_BYTES = 64 };

/* Is `s` a number as people write it: [+-] digits [. digits] [e [+-] digits], underscores between digits? Copies it
 * without underscores to buf. *integer: no point and no exponent. */
bool ct_number_text(const char *s, char buf[CT_NUMBER_BYTES], bool *integer);
/* The number that such a copy is. */
double ct_number_read(const char *text);
/* Both; false, and *out as it was, for what is no number. */
bool ct_number_of(const char *s, double *out);

#endif
