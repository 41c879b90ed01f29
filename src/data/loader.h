/* Loader: host batches in a fixed order, filled ahead by worker threads through a bounded ring.
 *
 * The order of epoch e is the Philox permutation of (seed, CT_RNG_SHUFFLE, e), or 0..n-1 without shuffling. It is
 * walked from its start; each sample joins the open batch of its bucket, and a batch is delivered when it is full. What
 * is open at the end is delivered in ascending bucket order, unless short batches are dropped. With one bucket batch b
 * is simply the samples b*batch .. of the order. An epoch has the sum over the buckets of ceil(n/batch) batches, or
 * floor(n/batch) when short ones are dropped: always the same number.
 *
 * A position (epoch, batch) is all the state there is: opening at any position continues exactly there. Nothing depends
 * on the number of workers. Augmentation is done by the PREPROCESS operator from (epoch,
 * sample id), which each row carries. */
#ifndef CT_DATA_LOADER_H
#define CT_DATA_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "data/dataset.h"

typedef struct ct_loader_spec {
    const ct_dataset *data;  /* must outlive the loader */
    const int64_t *index;    /* [n] samples of a subset, kept by the caller; NULL: all */
    int64_t n;               /* with index: its length */
    int batch;               /* N: rows of a full batch */
    bool shuffle;
    bool drop_last;          /* true: shorter last batches are left out; false: they are delivered short */
    bool resident;           /* true: no pixels are copied (px NULL); index column 0 is ct_dataset_sample_row(): the
                                row in the bucket's block, with one bucket the sample number */
    uint64_t seed;
    int workers;             /* 0: batches are made in the caller's thread */
    int depth;               /* batches in the ring; 0: workers + 2 */
    int64_t epochs;          /* epochs 0..epochs-1 are delivered; < 0: endless */
    int64_t start_epoch;     /* position of the first batch */
    int64_t start_batch;     /* may equal the batches per epoch: means the next epoch's first */
} ct_loader_spec;

/* Pointers are 64-byte aligned and have room for spec.batch rows; those behind n hold whatever an earlier batch left
 * there. */
typedef struct ct_batch {
    int64_t epoch, batch;    /* position */
    bool last;               /* the last batch of its epoch */
    int n;                   /* rows, <= spec.batch */
    int width;               /* W of all rows: they are of one bucket, pixels */
    const uint8_t *px;       /* [n,H,W,C] */
    const ct_dataset *data;  /* whose fields these are */
    const void *field[CT_MAX_FIELDS]; /* [n,dim..] each, in the order of the set's fields */
    const int32_t *index; /* [n,3] (row in px, sample id, epoch); the other rows of the memory, up to spec.batch, name a
                             picture, too */
    const int32_t *widths;   /* [n] true widths, pixels */
    const float *windows;    /* [n,4] left, top, right, bottom of the pictures in px, pixels: the rest is padding; 0 in
                                rows that no batch has filled */
} ct_batch;

typedef struct ct_batch_shape { int width, rows; } ct_batch_shape;

typedef struct ct_loader_stats {
    int64_t batches, samples; /* delivered */
    double wait_s;            /* seconds the consumer waited for (or, without workers, spent making) batches */
} ct_loader_stats;

typedef struct ct_loader ct_loader;

/* CT_EINVAL: an empty set, batch < 1, drop_last that leaves no batch at all, a position outside the epoch, a subset
 * index outside the data set, more than 2^31-1 samples. CT_ENOMEM. */
ct_status ct_loader_open(const ct_loader_spec *spec, ct_loader **out);
/* The next batch, in order; *batch is NULL after the last. It stays valid until the next call or close. Fails for
 * streams (ct_dataset_open_stream()) only, whose pictures are drawn by the workers: then the same batch fails again.
 * */
ct_status ct_loader_next(ct_loader *l, const ct_batch **batch);
/* Stops the workers, whatever they are doing, and frees everything; NULL is fine. */
void ct_loader_close(ct_loader *l);

int64_t ct_loader_batches(const ct_loader *l);              /* batches per epoch */
ct_loader_stats ct_loader_get_stats(const ct_loader *l);    /* to be called by the consumer */

/* The same without a loader; only data, index, n, batch and drop_last of spec are looked at. 0: none, which
 * ct_loader_open() refuses. */
int64_t ct_loader_count(const ct_loader_spec *spec);
/* The different shapes that the batches of an epoch have: *out [*n] (ct_free), widths ascending, of one width the full
 * batch first. Looks at the same fields, fails in the same cases. */
ct_status ct_loader_shapes(const ct_loader_spec *spec, ct_batch_shape **out, size_t *n);

/* The sample order of one epoch, as the loader walks it: n numbers into out. */
void ct_loader_order(const ct_loader_spec *spec, int64_t n, int64_t epoch, int64_t *out);

#endif
