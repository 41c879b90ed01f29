/* Small helpers over jansson. */
#ifndef CT_FORMATS_JSON_H
#define CT_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "base/status.h"

/* A number, or null where JSON has none (NaN, infinity). NULL without memory. */
json_t *ct_json_number(double v);
/* The same for what is stored as a float: its text is the shortest decimal that reads back as this float. */
json_t *ct_json_float(float v);

/* A JSON string of any bytes: what is not UTF-8 (file names may be anything) becomes U+FFFD. NULL without memory. */
json_t *ct_json_any(const char *text);

/* obj[key] = value; takes over the reference to value, also on failure. value NULL (a constructor that failed) or no
 * memory: CT_ENOMEM, recorded with the key. */
ct_status ct_json_set(json_t *obj, const char *key, json_t *value);
/* A text that must be UTF-8: CT_EINVAL naming the key if it is not. */
ct_status ct_json_set_text(json_t *obj, const char *key, const char *text);

/* Text of a value, keys in the order they were set; JSONL wants indent 0. Numbers that are not whole are the shortest
 * decimals that read back the same (base/shortest.h), whatever the locale. ct_free(); NULL with CT_ENOMEM recorded. */
char *ct_json_text(const json_t *v, int indent);

/* json_loadb() that survives a lack of memory. CT_ENOMEM, recorded; CT_EFORMAT with the place and the reason in *e and
 * nothing recorded. */
ct_status ct_json_load(const char *text, size_t size, size_t flags, json_error_t *e, json_t **out);

/* Parses text of `size` bytes; `source` names it in the message, with line and column. Duplicate keys are errors.
 * *out: json_decref(). CT_EFORMAT, CT_ENOMEM. */
ct_status ct_json_parse(const char *text, size_t size, const char *source, json_t **out);

ct_status ct_json_print(const json_t *v, int indent, FILE *to);               /* ct_json_text() and a newline */
ct_status ct_json_read(const char *path, size_t max_bytes, json_t **out);     /* CT_EIO, CT_EFORMAT, CT_ENOMEM */
ct_status ct_json_write(const char *path, const json_t *v, int indent);       /* atomically, with a final newline */

#endif
