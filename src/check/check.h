/* What `captrain check DATA [--config C]` finds out: decodes everything, judges labels, finds duplicates. */
#ifndef CT_CHECK_CHECK_H
#define CT_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "data/dataset.h"

typedef struct ct_check_spec {
    ct_dataset_spec data;    /* path, background; with_config: sizes, max_bad */
    const char *val_path;    /* NULL, or the validation folder: compared with the first for duplicates */
    bool with_config;        /* judge by what a training with this spec would do */
    int workers;
} ct_check_spec;

#define CT_LABELS_FROM_NAMES "the names of the files"
#define CT_ISSUE_KINDS 16
/* Kinds of issues, in this order: those below, the reader's own (ct_labels_ops.faults), the size. */
#define CT_ISSUE_UNREADABLE "unreadable" /* cannot be opened or decoded, listed but absent */
#define CT_ISSUE_LABEL "label"           /* no label, malformed, not in the label file */
#define CT_ISSUE_SIZE "size"             /* other size, with the rule `refuse` */

typedef struct ct_issue {
    const char *kind;
    int set;              /* 0 first folder, 1 validation folder */
    char *name, *reason;
} ct_issue;

/* Samples with equal pixels (size, channels and values after decoding to RGB). */
typedef struct ct_dup_group {
    int64_t n;
    int *set;             /* [n] */
    char **name;          /* [n] */
    char **text;          /* [n] labels ("" if none) */
    bool conflict;        /* the labels differ */
    bool across;          /* members in both folders */
} ct_dup_group;

/* Usable samples of one bucket; padding: share of its columns that are no picture, 0..1. */
typedef struct ct_bucket_count { int width; int64_t n; double padding; } ct_bucket_count;

typedef struct ct_size_count { int w, h; int64_t n; } ct_size_count;

typedef struct ct_check_report {
    int64_t samples[2], good[2];          /* per folder */
    int64_t ignored[2];                   /* other files and sub-folders */
    char *labels_from[2];                 /* label file, or "the names of the pictures"; NULL: no such set */
    ct_issue *issues;  size_t n_issues;   /* by set, then by name */
    int kinds;
    ct_label_fault kind[CT_ISSUE_KINDS];  /* [kinds] */
    int64_t count[CT_ISSUE_KINDS];        /* [kinds] issues of each */
    ct_dup_group *dups; size_t n_dups;
    int64_t dup_samples, dup_conflicts, dup_across; /* samples beyond the first of a group; groups; groups */
    ct_size_count *sizes; size_t n_sizes; /* most frequent first */
    ct_bucket_count *buckets; size_t n_buckets; /* with_config: ascending widths */
    ct_labels *labels;                    /* the reader, which learnt from the first folder; owned */
    ct_survey *survey;                    /* what it tells beside; NULL: nothing */
    int64_t coloured;                     /* pictures that are not gray alone */
    char *one_label;                      /* that all usable samples of the first folder have; NULL: they differ */
    bool ok;                              /* exit 0? */
    char *verdict;                        /* one sentence: why (not) */
} ct_check_report;

/* Runs the analysis. The report owns `labels` from now on, also when this fails. CT_OK also when problems were found
 * (see ok); fails with CT_EIO (folder), CT_EDATA (empty folder), CT_EFORMAT (label file), CT_ENOMEM. Without
 * with_config only unreadable files make ok false; with it, ok says whether ct_dataset_open() with this spec and such
 * labels would succeed for both folders. */
ct_status ct_check_run(const ct_check_spec *spec, ct_labels *labels, ct_check_report *out);
/* Issues of a kind. */
int64_t ct_check_count(const ct_check_report *r, const char *kind);
void ct_check_free(ct_check_report *r);   /* empties; NULL is fine */
void ct_check_print(const ct_check_report *r, FILE *out);           /* for people */
ct_status ct_check_write_json(const ct_check_report *r, FILE *out); /* one JSON object and a newline */

#endif
