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

/* Where samples are: see doc/formats.md. */
typedef struct ct_scan_source {
    const char *path;   /* a folder, or a label file */
    const char *labels; /* of a folder: its label file, a path within it or from here; NULL, "": found by its name */
    const char *root;   /* what the names in a label file are relative to; NULL, "": its folder, or images/ there */
} ct_scan_source;

/* The samples of one source, or of several (base/paths.h), by their names; those of several are called by their whole
 * paths, dir is "" and label_file tells of each. Errors as the reader's scan; CT_EDATA: a source is named twice. */
ct_status ct_scan_sources(ct_labels *l, const char *paths, ct_scan *out);
const char *ct_scan_place(const ct_scan *s); /* dir, or the sources: for people */
/* Samples of a folder or of a list. Errors as ct_scan_folder(). */
ct_status ct_scan_from(const ct_scan_source *from, ct_scan_label *label, const void *user, ct_scan *out);
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

/* The message of this thread's last failure as an own string (ct_free), without a leading "name: ". NULL: no memory. */
char *ct_reason_dup(const char *name);

#endif
