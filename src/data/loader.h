/* Loader: host batches in a fixed order, filled ahead by worker threads through a bounded ring.
 *
 * The order of epoch e is the Philox permutation of (seed, CT_RNG_SHUFFLE, e), or 0..n-1 without shuffling; batch b of
 * it are the samples b*batch .. A position (epoch, batch) is all the state there is: opening at any position continues
 * exactly there. Nothing depends on the number of workers. Augmentation is done by the PREPROCESS operator from (epoch,
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
    bool drop_last;          /* true: a shorter last batch is left out; false: it is delivered short */
    bool resident;           /* true: no pixels are copied (px NULL); index column 0 is the sample number */
    uint64_t seed;
    int workers;             /* 0: batches are made in the caller's thread */
    int depth;               /* batches in the ring; 0: workers + 2 */
    int64_t epochs;          /* epochs 0..epochs-1 are delivered; < 0: endless */
    int64_t start_epoch;     /* position of the first batch */
    int64_t start_batch;     /* may equal the batches per epoch: means the next epoch's first */
} ct_loader_spec;

typedef struct ct_batch {
    int64_t epoch, batch;    /* position */
    bool last;               /* the last batch of its epoch */
    int n;                   /* rows, <= spec.batch */
    const uint8_t *px;       /* [n,H,W,C]; 64-byte aligned */
    const int32_t *labels;   /* [n,L] class ids, -1 behind shorter labels */
    const int32_t *index;    /* [n,3] (row in px, sample id, epoch) */
} ct_batch;

typedef struct ct_loader_stats {
    int64_t batches, samples; /* delivered */
    double wait_s;            /* seconds the consumer waited for (or, without workers, spent making) batches */
} ct_loader_stats;

typedef struct ct_loader ct_loader;

/* CT_EINVAL: an empty set, batch < 1, drop_last that leaves no batch at all, a position outside the epoch, a subset
 * index outside the data set, more than 2^31-1 samples. CT_ENOMEM. */
ct_status ct_loader_open(const ct_loader_spec *spec, ct_loader **out);
/* The next batch, in order; *batch is NULL after the last. It stays valid until the next call or close. */
ct_status ct_loader_next(ct_loader *l, const ct_batch **batch);
/* Stops the workers, whatever they are doing, and frees everything; NULL is fine. */
void ct_loader_close(ct_loader *l);

int64_t ct_loader_batches(const ct_loader *l);              /* batches per epoch */
ct_loader_stats ct_loader_get_stats(const ct_loader *l);    /* to be called by the consumer */

/* The sample order of one epoch, as the loader uses it: n numbers into out. */
void ct_loader_order(const ct_loader_spec *spec, int64_t n, int64_t epoch, int64_t *out);

#endif
