/* What predict reads, in its order: the operands, of a folder all pictures in it, for `-` the lines of standard input
 * or the one picture that stands there. Nothing but the names in one folder is held beyond what is asked for. */
#ifndef CT_API_INPUTS_H
#define CT_API_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ct_inputs {
    const char *const *file; /* [files] operands */
    size_t files, at;        /* at: of the next one */
    bool clips;              /* a folder is one sample */
    char **name;             /* [names] of the folder at hand, next.. being still to come */
    size_t names, next;
    bool listing, ended;     /* standard input gives names; it has ended */
    char *line;              /* [cap] of it, from..+bytes is what was read and not yet taken */
    size_t from, bytes, cap;
    int64_t lines;           /* that were taken */
    uint8_t *picture;        /* bytes of the picture that stood on standard input; NULL: none */
    size_t picture_bytes;
} ct_inputs;

/* Zeroed, with file, files and clips filled in, is a beginning. */

/* The next inputs, at most `most`, to path[0..*n): ct_free() each; *n 0: there are no more. Waits for a line of
 * standard input only while there is nothing else to give, so that what reads the results may decide what comes next. A
 * picture on standard input comes alone: its name is "-", and in->picture has its bytes until the next call. Errors:
 * CT_EIO for a folder, or for standard input; CT_EINVAL for lines that are no names; CT_EFORMAT for a picture too
 * large; CT_ENOMEM. */
ct_status ct_inputs_take(ct_inputs *in, size_t most, char **path, size_t *n);
void ct_inputs_free(ct_inputs *in);

#endif
