/* Text: UTF-8, words that are nearly the same, and numbers as people read them. */
#ifndef CT_BASE_TEXT_H
#define CT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
/* Text from outside (names of files, labels, words of a model file) for a terminal or a log: control characters as \n,
 * \t, \r, \x1b or \u009b, bytes that are no UTF-8 as \xff. What does not fit into buf is cut, never within a character.
 * Returns buf. */
char *ct_text_visible(const char *text, char *buf, size_t size);
/* The same, written to a stream. lines: newlines and tabs stay, as in messages of several lines. */
void ct_text_put(FILE *to, const char *text, bool lines);
/* `front` as it is, `text` as ct_text_put() has it with its lines, and a newline, in one write as far as 8 kB go: what
 * other processes print on the same terminal does not come in between. */
void ct_text_say(FILE *to, const char *front, const char *text);
/* How many bytes of `text` to keep so that they are at most `bytes` and no character is broken. */
size_t ct_utf8_cut(const char *text, size_t bytes);

/* ---- words ---- */

/* Insertions, deletions, substitutions and swaps of neighbours that turn a[0..na) into b[0..nb); case is ignored
 * (optimal string alignment distance). Words of more than CT_WORD_BYTES are compared by their beginning. */
#define CT_WORD_BYTES 96
int ct_word_distance(const char *a, size_t na, const char *b, size_t nb);

/* ---- numbers ---- */

/* "1:02:03", "2:03" or "45 s" into buf (32 bytes at least); returns buf. */
char *ct_text_duration(double seconds, char *buf, size_t size);
/* "1.5 GB" into buf; returns buf. */
char *ct_text_bytes(int64_t bytes, char *buf, size_t size);
/* "9999 B", "9999.9 kB", "10.0 MB", "12345.6 MB": sizes that stand below each other, none above MB. Returns buf. */
char *ct_text_megabytes(int64_t bytes, char *buf, size_t size);
/* "1,234,567" into buf (32 bytes at least); returns buf. */
char *ct_text_count(int64_t v, char *buf, size_t size);
/* "19.07 M", "812 k" into buf; returns buf. */
char *ct_text_short(double v, char *buf, size_t size);

#endif
