/* What `captrain check DATA [--config C]` finds out: decodes everything, judges labels, finds duplicates. */
#ifndef CT_DATA_CHECK_H
#define CT_DATA_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "data/dataset.h"

typedef struct ct_check_spec {
    ct_dataset_spec data;    /* path, label rule, background; with_config: charset, lengths, sizes, steps, max_bad */
    const char *val_path;    /* NULL, or the validation folder: compared with the first for duplicates */
    bool with_config;        /* judge by what a training with this spec would do */
    int workers;
} ct_check_spec;

typedef enum ct_issue_kind {
    CT_ISSUE_UNREADABLE, /* cannot be opened or decoded, listed but absent */
    CT_ISSUE_LABEL,      /* no label, malformed, not in the label file */
    CT_ISSUE_CHARSET,    /* characters outside the charset */
    CT_ISSUE_LENGTH,     /* wrong number of characters */
    CT_ISSUE_STEPS,      /* more time steps needed (CTC) than the picture gives */
    CT_ISSUE_SIZE,       /* other size, with the rule `refuse` */
    CT_ISSUE_KINDS
} ct_issue_kind;

typedef struct ct_issue {
    ct_issue_kind kind;
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

/* What CTC needs for a label, and what its picture gives. */
typedef struct ct_step_count {
    int set, needs;
    int64_t gives;
    char *name;
} ct_step_count;

/* Usable samples of one bucket; padding: share of its columns that are no picture, 0..1. */
typedef struct ct_bucket_count { int width; int64_t n; double padding; } ct_bucket_count;

typedef struct ct_size_count { int w, h; int64_t n; } ct_size_count;
typedef struct ct_char_count { uint32_t cp; int64_t n; } ct_char_count;

typedef struct ct_check_report {
    int64_t samples[2], good[2];          /* per folder */
    int64_t ignored[2];                   /* other files and sub-folders */
    ct_issue *issues;  size_t n_issues;   /* by set, then by name */
    int64_t count[CT_ISSUE_KINDS];
    ct_dup_group *dups; size_t n_dups;
    int64_t dup_samples, dup_conflicts, dup_across; /* samples beyond the first of a group; groups; groups */
    ct_size_count *sizes; size_t n_sizes; /* most frequent first */
    int64_t lengths[CT_LABEL_MAX + 1];    /* labels with so many characters */
    ct_bucket_count *buckets; size_t n_buckets; /* with_config: ascending widths */
    ct_step_count *steps; size_t n_steps; /* with spec.data.steps: samples with picture and label, by set, then name */
    ct_char_count *chars; size_t n_chars; /* ascending */
    ct_charset charset;                   /* the one of the spec, else collected */
    bool ok;                              /* exit 0? */
    char *verdict;                        /* one sentence: why (not) */
} ct_check_report;

/* Runs the analysis. CT_OK also when problems were found (see ok); fails with CT_EIO (folder), CT_EDATA (empty folder),
 * CT_EFORMAT (label file), CT_ENOMEM. Without with_config only unreadable files make ok false; with it, ok says whether
 * ct_dataset_open() with this spec would succeed for both folders. */
ct_status ct_check_run(const ct_check_spec *spec, ct_check_report *out);
void ct_check_free(ct_check_report *r);   /* empties; NULL is fine */
void ct_check_print(const ct_check_report *r, FILE *out);           /* for people */
ct_status ct_check_write_json(const ct_check_report *r, FILE *out); /* one JSON object and a newline */

#endif
