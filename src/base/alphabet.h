/* Alphabets: lists of characters that are all different. */
#ifndef CT_BASE_ALPHABET_H
#define CT_BASE_ALPHABET_H

#include <stdint.h>

#include "base/status.h"

/* The characters of utf8, in their order: *cp [*n] (ct_free()), from 1 to `most` different ones with a shape.
 * CT_ECONFIG where it is anything else, naming the character; `what` it is begins the message. CT_ENOMEM. */
ct_status ct_utf8_alphabet(const char *what, const char *utf8, int64_t most, uint32_t **cp, int *n);

#endif
