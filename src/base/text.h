/* Text: UTF-8, and numbers as people read them. */
#ifndef CT_BASE_TEXT_H
#define CT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- UTF-8 ---- */

/* Decodes one code point at *s (NUL-terminated) and steps over it; -1 (and no step) for malformed, overlong or
 * surrogate sequences, 0 at the end. */
int32_t ct_utf8_next(const char **s);
/* Encodes cp into out (at most 4 bytes and NUL); returns the number of bytes. */
int ct_utf8_put(uint32_t cp, char out[5]);
/* Number of characters; -1 if `s` is not valid UTF-8. */
int64_t ct_utf8_len(const char *s);
/* "'x' (U+0078)" for messages; control characters show as the number only. Returns buf. */
char *ct_utf8_show(uint32_t cp, char buf[32]);
/* A character without a shape of its own: C0, DEL, C1. */
bool ct_utf8_control(uint32_t cp);
/* The characters of utf8, in their order: *cp [*n] (ct_free()), from 1 to `most` different ones with a shape.
 * CT_ECONFIG where it is anything else, naming the character; `what` it is begins the message ("charset"). CT_ENOMEM.
 * */
ct_status ct_utf8_alphabet(const char *what, const char *utf8, int64_t most, uint32_t **cp, int *n);

/* ---- numbers ---- */

/* "1:02:03", "2:03" or "45 s" into buf (32 bytes at least); returns buf. */
char *ct_text_duration(double seconds, char *buf, size_t size);
/* "1.5 GB" into buf; returns buf. */
char *ct_text_bytes(int64_t bytes, char *buf, size_t size);
/* "1,234,567" into buf (32 bytes at least); returns buf. */
char *ct_text_count(int64_t v, char *buf, size_t size);

#endif
