/* Finding the samples of a folder and their labels; nothing is decoded here. The rules stand in data/dataset.h. */
#ifndef CT_DATA_SCAN_H
#define CT_DATA_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/labels.h"

typedef struct ct_sample {
    char *name;   /* relative to ct_scan.dir; what the label file says for bad lines */
    char *text;   /* the label; NULL if there is none */
    char *bad;    /* NULL, or why the sample cannot be used */
    int64_t line; /* in the label file; 0: not from there */
    bool file;    /* there is a regular file of this name */
    char **frame; /* [frames] clips: files of its pictures, relative to ct_scan.dir, first to last; owned. NULL: the
                     sample is the picture `name` */
    int64_t frames;
} ct_sample;

struct ct_scan {
    char *root;         /* as given */
    char *dir;          /* folder of the pictures: root or root/images */
    char *label_file;   /* path, or NULL: labels from file names */
    ct_sample *s;       /* [n] by the bytes of name */
    size_t n;
    int64_t ignored;    /* files of dir that are no samples; dot files and label files are not counted */
    int64_t folders;    /* sub-folders, which are not entered */
};

/* The label of sample `name` (relative path) as an own string (ct_free()). text: what the label file says; NULL:
 * there is no label file, the label is in the name. CT_EDATA with a message: the sample is bad. */
typedef ct_status ct_scan_label(const void *user, const char *name, const char *text, char **out);

enum { CT_SCAN_LABEL_BYTES = 256 << 20 }; /* of a file of labels, at most */
/* Is there a file of labels of this name? One that is there but cannot be read as a file must not be passed over, or
 * labels would come from the names of the pictures: CT_EIO. CT_ENOMEM. */
ct_status ct_scan_label_file(const char *dir, const char *name, bool *there);

/* Samples with labels from their names or from a label file: see data/dataset.h. Errors: CT_EIO (folder or label
 * file), CT_EDATA (no sample at all), CT_EFORMAT (label file), CT_ENOMEM. */
ct_status ct_scan_folder(const char *path, ct_scan_label *label, const void *user, ct_scan *out);
/* For a folder whose labels come from names: CT_EFORMAT naming a list of its pictures that lies beside them or in the
 * folder above and is in no form that is read (gt.txt, metadata.csv ...), or a text that is not read beside every
 * second picture (a.txt of a.png) and says something else than its name. s->s is sorted. CT_ENOMEM. */
ct_status ct_scan_other_lists(const ct_scan *s);
/* Samples with empty labels: every picture of the folder. */
ct_status ct_scan_unlabelled(const char *path, ct_scan *out);
void ct_scan_free(ct_scan *s); /* empties; NULL is fine */

/* Paths of the pictures that lie in a folder, by the bytes of their names; labels do not matter, sub-folders are not
 * entered. Each is the caller's, and so is the list (ct_free). Errors: CT_EIO, CT_EDATA (no picture), CT_ENOMEM. */
ct_status ct_scan_pictures(const char *path, char ***paths, size_t *n);

/* Pictures of the clip in folder `path`, in their order: *frame [*n] names within it (ct_free, and each). Names that
 * are numbers (00001.jpg) stand by these and must have no gap; others by their bytes. CT_EDATA naming what is wrong: no
 * picture (a video instead is told how to become pictures), a gap; CT_EIO, CT_ENOMEM. */
ct_status ct_scan_frames(const char *path, char ***frame, int64_t *n);

/* One line of a label file. Strings point into the text given to ct_label_table_parse(). */
typedef struct ct_label_row {
    char *name, *text; /* text NULL: the line has no second field */
    int64_t line;      /* from 1 */
} ct_label_row;

typedef struct ct_label_table {
    ct_label_row *row;
    size_t n;
} ct_label_table;

/* Parses a label file. `text` [size] is changed in place and must have a NUL behind it; `kind` is 't' txt, 'c' csv, 'v'
 * tsv. `exists` (may be NULL) says whether a file of this name is there: a first row that looks like a header but names
 * a file is none. Errors: CT_EFORMAT naming file and line (NUL bytes, open quotes, a header without a label column),
 * CT_ENOMEM.
 * Rows are owned by the caller: ct_free(out->row). */
ct_status ct_label_table_parse(char *text, size_t size, char kind, const char *path,
                               bool (*exists)(void *user, const char *name), void *user, ct_label_table *out);

/* The message of this thread's last failure as an own string (ct_free), without a leading "name: ". NULL: no memory. */
char *ct_reason_dup(const char *name);

#endif
