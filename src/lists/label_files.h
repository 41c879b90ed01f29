/* Label files: which there are, how each is read. doc/formats.md has an example of each.
 *
 *   kind  file                                 lines
 *   't'   labels.txt                           name<tab, comma or blanks>label; perhaps a header
 *   'c'   labels.csv, any .csv                 csv, perhaps with a header (EasyOCR, pandas)
 *   'v'   labels.tsv, any .tsv                 the same with tabs
 *   'h'   metadata.csv                         csv with a header (Hugging Face)
 *   'j'   metadata.jsonl, any .jsonl           {"file_name": "a.png", "text": "..."} (Hugging Face)
 *   'g'   gt.txt, any other file               name, "text" or name<tab>text or name text (ICDAR)
 *   'p'   rec_gt*.txt                          name<tab>text (PaddleOCR)
 *   'm'   annotation*.txt, imlist.txt          ./2425/1/115_Lube_45484.jpg 45484 (MJSynth) */
#ifndef CT_LISTS_LABEL_FILES_H
#define CT_LISTS_LABEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { CT_LABEL_FILE_BYTES = 256 << 20 }; /* of a file of labels, at most */

/* One line of a label file. Strings point into the text given to ct_label_table_parse(). */
typedef struct ct_label_row {
    char *name, *text; /* text NULL: the line has no second field */
    int64_t line;      /* from 1 */
} ct_label_row;

typedef struct ct_label_table {
    ct_label_row *row;
    size_t n;
    char *words;       /* labels that do not stand in the text; may be NULL */
} ct_label_table;

void ct_label_table_free(ct_label_table *t); /* empties */

/* Parses a label file. `text` [size] is changed in place and must have a NUL behind it; `kind` is 't' txt, 'c' csv, 'v'
 * tsv, 'h' csv that must have a header. `exists` (may be NULL) says whether a file of this name is there: a first row
 * that looks like a header but names a file is none. Errors: CT_EFORMAT naming file and line (NUL bytes, open quotes, a
 * header without a label column),
 * CT_ENOMEM.
 * Two columns with the name first: the label is the rest of the line. More fields than the first line has, more than
 * two without a header: CT_EFORMAT. Rows are owned by the caller: ct_label_table_free(). */
ct_status ct_label_table_parse(char *text, size_t size, char kind, const char *path,
                               bool (*exists)(void *user, const char *name), void *user, ct_label_table *out);

/* Is there a file of labels of this name? One that is there but cannot be read as a file must not be passed over, or
 * labels would come from the names of the pictures: CT_EIO. CT_ENOMEM. */
ct_status ct_label_file_there(const char *dir, const char *name, bool *there);
/* Kind of the file of this name, 0: none that is found without being named. MJSynth's are known by their names alone
 * here. */
char ct_label_kind(const char *name);
/* Kind of a file that somebody named: never 0. */
char ct_label_kind_given(const char *path);
/* Label file of folder `dir` into *path (ct_free()) and *kind; NULL and 0: none. CT_EFORMAT where there are two,
 * CT_EIO, CT_ENOMEM. */
ct_status ct_label_file_find(const char *dir, char **path, char *kind);
/* Is `word` what a column or member of names (text: of labels) may be called? */
bool ct_label_word(const char *word, bool text);
bool ct_label_lines_mjsynth(const char *line); /* is this a line of an MJSynth list? */
/* As ct_label_table_parse(), for the kinds g, p, m and j. */
ct_status ct_label_lines_parse(char *text, size_t size, char kind, const char *path, ct_label_table *out);

#endif
