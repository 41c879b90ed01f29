/* Labels: charsets, the rule that finds the label in a file name, text -> class ids. All text is UTF-8. */
#ifndef CT_TASK_TEXT_LABEL_H
#define CT_TASK_TEXT_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CT_LABEL_MAX 64                        /* characters of one label */
#define CT_LABEL_BYTES (4 * CT_LABEL_MAX + 1)  /* bytes of one label with its NUL */
#define CT_CHARSET_MAX 65536                   /* characters of a charset */

/* ---- charset ---- */

/* Class id k stands for code point cp[k]. Owned arrays. */
typedef struct ct_charset {
    int n;          /* characters */
    uint32_t *cp;   /* [n], in the order given or ascending when collected */
    char *utf8;     /* the same as text */
    uint32_t *sorted; /* [n] code points ascending, and */
    int32_t *id;    /* [n] their class ids: for look-up */
} ct_charset;

/* Charset with the characters of `utf8` in the order given. CT_ECONFIG for an empty text, malformed UTF-8, a control
 * character or a character given twice (named). */
ct_status ct_charset_parse(const char *utf8, ct_charset *out);
/* Charset of all characters in `labels` [n] (NULL entries are passed over), ascending by code point.
 * Malformed labels are passed over too: they are bad samples, found by ct_label_encode(). */
ct_status ct_charset_collect(const char *const *labels, int64_t n, ct_charset *out);
ct_status ct_charset_copy(const ct_charset *in, ct_charset *out);
void ct_charset_free(ct_charset *cs);                       /* empties; NULL is fine */
bool ct_charset_equal(const ct_charset *a, const ct_charset *b);
int ct_charset_find(const ct_charset *cs, uint32_t cp);     /* class id or -1 */
/* Text of n class ids (ids < 0 are left out) into buf of `size` bytes, always terminated; returns buf. */
char *ct_charset_decode(const ct_charset *cs, const int32_t *id, int n, char *buf, size_t size);

/* Unicode's name of a character that leaves no mark where it stands: blanks of all kinds, joiners, marks of direction,
 * fillers; NULL: one that is seen. */
const char *ct_invisible_name(uint32_t cp);
/* Is it drawn on the character before it (categories Mn and Me)? */
bool ct_label_mark(uint32_t cp);

/* ---- label rule ---- */

typedef enum ct_label_side {
    CT_LABEL_BEFORE_FIRST, /* "ABCD_1_2.png" -> ABCD: text before the first separator */
    CT_LABEL_BEFORE_LAST,  /* -> ABCD_1 */
    CT_LABEL_AFTER_FIRST,  /* -> 1_2 */
    CT_LABEL_AFTER_LAST    /* -> 2 */
} ct_label_side;

typedef enum ct_label_case { CT_CASE_KEEP, CT_CASE_UPPER, CT_CASE_LOWER } ct_label_case;

/* The file name without folder and extension (from the last '.') is cut at the separator; without a separator in it
 * the whole stem is the label. An empty separator never cuts. The case rule then applies (to labels from a label
 * file too): Unicode's simple mapping of single characters, whatever the locale: I and U+0130 (I with a dot) become i
 * when folded down, i and U+0131 (i without one) become I when folded up; a character without a single counterpart
 * stays. Before that a label is composed (NFC): e and a combining acute accent are one character. */
typedef struct ct_label_rule {
    char separator[16];
    ct_label_side side;
    ct_label_case fold;
    bool as_is; /* not composed: for models that were trained before labels were */
} ct_label_rule;

#define CT_LABEL_RULE_DEFAULT { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_KEEP, false }

bool ct_label_side_parse(const char *s, ct_label_side *out);   /* the names below; "before", "after" */
const char *ct_label_side_name(ct_label_side s);               /* "before_first" ... "after_last" */
bool ct_label_case_parse(const char *s, ct_label_case *out);   /* "keep" "upper" "lower" */
const char *ct_label_case_name(ct_label_case c);

/* Label of file `name` (a path; only its last part counts). CT_EDATA with a message for an empty label, malformed
 * UTF-8, has control characters or more than CT_LABEL_MAX characters. `out` is always terminated. */
ct_status ct_label_from_name(const ct_label_rule *rule, const char *name, char out[CT_LABEL_BYTES]);
/* Applies the case rule to `text` from a label file, with the same checks. */
ct_status ct_label_clean(const ct_label_rule *rule, const char *name, const char *text, char out[CT_LABEL_BYTES]);

/* Class ids of `text` into id[0..L-1], -1 behind its end. want_len > 0: the text must have exactly so many characters;
 * 0: any from 1 to L. *len gets the number of characters. `name` (the file) and the character or both lengths stand in
 * the message. CT_EDATA. */
ct_status ct_label_encode(const ct_charset *cs, const char *name, const char *text, int want_len, int32_t *id, int L,
                          int *len);

/* Time steps that CTC needs for a label: its characters, and one blank between equal neighbours. id [n]: class ids, the
 * label ends in front of the first negative one. */
int ct_label_steps(const int32_t *id, int n);

#endif
