/* What the files that find samples share. */
#ifndef CT_DATA_SCAN_INTERNAL_H
#define CT_DATA_SCAN_INTERNAL_H

#include "data/scan.h"

/* The files of a folder. */
typedef struct ct_listing {
    char **name; /* [n] files that are samples, sorted; owned */
    size_t n, cap;
    int64_t ignored, folders;
} ct_listing;

ct_status ct_listing_make(const char *path, ct_listing *out); /* CT_EIO, CT_ENOMEM */
void ct_listing_free(ct_listing *l);                          /* empties */

/* How labels are read. */
typedef struct ct_scan_labels {
    ct_scan_label *label;
    const void *user;
} ct_scan_labels;

/* Is dir/name a regular file, or a link to one? *st: CT_ENOMEM. */
bool ct_scan_is_file(const char *dir, const char *name, ct_status *st);
/* Adds a sample; name is copied, text and bad (may be NULL), too. */
ct_status ct_scan_add(ct_scan *s, size_t *cap, const char *name, const char *text, const char *bad, int64_t line);
/* Adds sample `name` with the label that is read from text, or from the name. */
ct_status ct_scan_add_read(ct_scan *s, size_t *cap, const char *name, const ct_scan_labels *how, const char *text,
                           int64_t line);

/* database.c: is there a database in the folder, and its samples. */
ct_status ct_scan_database_there(const char *dir, bool *there);
ct_status ct_scan_database(const char *dir, const ct_scan_labels *how, ct_scan *out);

/* listed.c: the samples that s->label_file of this kind lists. Pictures are in dir[0] or, where its names do not lead
 * anywhere, dir[1]; either may be NULL. s->dir becomes the one. all: other pictures of that folder are samples without
 * a label, too. */
ct_status ct_scan_listed(ct_scan *s, char kind, char *const dir[2], bool all, const ct_scan_labels *how);

#endif
