/* Text files of records: csv with quotes, or lines that are cut at a separator. */
#ifndef CT_LISTS_TABLE_H
#define CT_LISTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CT_TABLE_FIELDS 32 /* of a record, at most */

typedef struct ct_table {
    char *at, *end;      /* rest of the text */
    int64_t line;        /* number of the line `at` begins */
    char sep;            /* '\t', ',', ';', '|' or ' ' (the last run of blanks) */
    bool quotes;         /* csv: fields may be quoted, with line ends in them */
    int most;            /* fields that a record is cut into; of fewer than CT_TABLE_FIELDS the last is the rest */
    const char *path;    /* for messages */
} ct_table;

/* Begins with `text` [size], which is changed in place and must have a NUL behind it; a byte order mark is passed over.
 * Set sep and quotes then. CT_EFORMAT: NUL bytes, or another encoding than UTF-8. */
ct_status ct_table_open(char *text, size_t size, const char *path, ct_table *out);
/* The fields of the next record, while at < end. They point into the text. CT_EFORMAT naming path and line: a quote
 * that is not closed, text behind one, too many fields. */
ct_status ct_table_next(ct_table *t, char *field[CT_TABLE_FIELDS], int *n);
/* CT_EFORMAT for a text that is UTF-16, GBK or Shift-JIS by its bytes, with the command that makes it UTF-8. GBK and
 * Shift-JIS are refused where most lines that are not ASCII are so; single damaged lines pass. */
ct_status ct_table_encoding(const char *text, size_t size, const char *path);

#endif
