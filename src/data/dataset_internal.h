/* What an open data set holds: for the files that open one and that ask one. */
#ifndef CT_DATA_DATASET_INTERNAL_H
#define CT_DATA_DATASET_INTERNAL_H

#include "data/dataset.h"
#include "data/pack.h"
#include "data/scan.h"

typedef struct bad_entry { char *name, *reason; } bad_entry;

/* The fields of all samples. */
typedef struct field_rows {
    int fields;
    ct_field field[CT_MAX_FIELDS]; /* [fields] as they were laid out */
    uint8_t *data[CT_MAX_FIELDS];  /* [fields][n, dim..] owned */
} field_rows;

struct ct_dataset {
    ct_dataset_spec spec;    /* path is not used after the open */
    ct_labels *labels;       /* owned */
    char *root;
    char key[33];
    bool cached;
    ct_pack pack;
    int64_t n;               /* good samples */
    int64_t *row;            /* [n] row of the pack; of a clip the first of several in a row */
    int *frames, *least;     /* [n] frames of clips, and so many a shortened one keeps; NULL: samples are pictures */
    char **name, **text;     /* [n] owned */
    field_rows rows;
    int n_buckets;
    int *bucket_width;       /* [n_buckets] ascending */
    int64_t *bucket_count, *bucket_first; /* [n_buckets] samples, and the first of them */
    int32_t *bucket;         /* [n], NULL with one bucket */
    int64_t *rank;           /* [n] number of the sample within its bucket, NULL with one bucket */
    bad_entry *bad;
    size_t n_bad, cap_bad;
    ct_source stream;        /* of ct_dataset_open_stream(), else open is NULL */
};

/* samples.c: room for n candidates. */
ct_status ct_dataset_room(ct_dataset *ds, int64_t n);
/* A candidate (name, text, row of the pack, frames) goes to place ds->n; takes the two strings over. */
void ct_dataset_keep(ct_dataset *ds, char *name, char *text, int64_t row, int frames);
ct_status ct_dataset_add_bad(ct_dataset *ds, const char *name, const char *reason);

/* fields.c: learns from the texts of the ds->n candidates and makes their fields; those whose labels do not fit go
 * over to the bad ones. */
ct_status ct_fields_read(ct_dataset *ds);
/* Fields of samples whose labels are not known yet. */
ct_status ct_fields_blank(ct_dataset *ds);
void ct_fields_free(ct_dataset *ds);

/* clips.c: what dataset.c does for pictures. */
ct_status ct_clips_scanned(ct_dataset *ds, ct_scan *scan, int workers);
ct_status ct_clips_files(ct_dataset *ds, const char *const *path, int64_t n, int workers);
ct_status ct_clips_drawn(ct_dataset *ds, const ct_source *src);

#endif
