/* What an open data set holds: for the files that open one and that ask one. */
#ifndef CT_DATA_DATASET_INTERNAL_H
#define CT_DATA_DATASET_INTERNAL_H

#include "data/dataset.h"
#include "data/pack.h"

typedef struct bad_entry { char *name, *reason; } bad_entry;

struct ct_dataset {
    ct_dataset_spec spec;    /* path and charset are not used after the open */
    char *root;
    char key[33];
    bool cached;
    ct_charset charset;
    ct_pack pack;
    int64_t n;               /* good samples */
    int64_t *row;            /* [n] row of the pack */
    char **name, **text;     /* [n] owned */
    int32_t *label;          /* [n,L] */
    int L;
    int n_buckets;
    int *bucket_width;       /* [n_buckets] ascending */
    int64_t *bucket_count, *bucket_first; /* [n_buckets] samples, and the first of them */
    int32_t *bucket;         /* [n], NULL with one bucket */
    int64_t *rank;           /* [n] number of the sample within its bucket, NULL with one bucket */
    bad_entry *bad;
    size_t n_bad, cap_bad;
    ct_source stream;        /* of ct_dataset_open_stream(), else render is NULL */
};

#endif
