/* Loader: host batches in a fixed order, filled ahead by worker threads through a bounded ring.
 *
 * The order of epoch e is the Philox permutation of (seed, CT_RNG_SHUFFLE, e), or 0..n-1 without shuffling. It is
 * walked from its start; each sample joins the open batch of its bucket, and a batch is delivered when it is full. What
 * is open at the end is delivered in ascending bucket order, unless short batches are dropped. With one bucket batch b
 * is simply the samples b*batch .. of the order. An epoch has the sum over the buckets of ceil(n/batch) batches, or
 * floor(n/batch) when short ones are dropped: always the same number.
 *
 * Clips. Batches hold clips of like length: of one number of frames as multiples of frames_step. Every clip of a batch
 * gets as many pictures as the longest has by the clip rule (base/clip.h), rounded up so that few numbers occur; with
 * tempo, clips of an epoch are longer or shorter (loader/tempo.h), but which are a batch does not depend on that, nor
 * does the number of batches.
 *
 * Groups. Every member walks the same batches and fills in its own rows of each; what a batch is like (width,
 * pictures of a clip) is settled for all of its rows. Where a member computes its rows in parts, one after another, the
 * rows of each part are laid out as if they were a batch of their own.
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
    int batch;               /* N: rows of a full batch, of all members of a group together */
    int rank, size;          /* this member of the group, whose rows it delivers; size 0 or 1: all */
    int parts;               /* in which they are cut, as even as can be; 0: 1 */
    bool shuffle;
    bool drop_last;          /* true: shorter last batches are left out; false: they are delivered short */
    bool resident;           /* true: no pixels are copied (px NULL); index column 0 is ct_dataset_sample_row(): the
                                row in the bucket's block, with one bucket the sample number */
    uint64_t seed;
    int frames_step;         /* clips: see above; 0: no clip gets more pictures than it has by itself */
    double tempo;            /* clips: 0 to 0.5; 0: every frame once */
    int workers;             /* 0: batches are made in the caller's thread */
    int depth;               /* batches in the ring; 0: workers + 2 */
    int64_t epochs;          /* epochs 0..epochs-1 are delivered; < 0: endless */
    int64_t start_epoch;     /* position of the first batch */
    int64_t start_batch;     /* may equal the batches per epoch: means the next epoch's first */
} ct_loader_spec;

/* Worker threads of one process: `wanted`, or for a negative number (auto) its share of the processors that it may use,
 * which `beside` processes of the run do, less the `threads` that compute, at least 1 and at most 4, and at most 16 for
 * all `here` processes of the run on this machine. */
int ct_loader_workers(int64_t wanted, int threads, int here, int beside);

/* The rows of member `rank` of a group of `size` in a batch of n samples: [first(rank), first(rank + 1)), as even as
 * can be. A batch of fewer samples than members leaves some without any. */
static inline int64_t ct_share_first(int64_t n, int rank, int size)
{
    return size > 1 ? n * rank / size : rank > 0 ? n : 0;
}

/* Pointers are 64-byte aligned and have room for this member's rows of a full batch; those behind n hold whatever an
 * earlier batch left there. */
typedef struct ct_batch {
    int64_t epoch, batch;    /* position */
    bool last;               /* the last batch of its epoch */
    int n;                   /* rows of this member, <= spec.batch; 0: it has none of this batch */
    int all;                 /* rows of all members; n where one is alone */
    const int64_t *samples;  /* [all] their numbers in the data set */
    int width;               /* W of all rows: they are of one bucket, pixels */
    int frames;              /* pictures of each clip; 1 where samples are pictures */
    int length;              /* what programs of elastic models differ in: width, or frames of clips */
    const uint8_t *px;       /* [n*frames,H,W,C]; of clips those that index names */
    const int64_t *sample;   /* [n] numbers in the data set */
    const ct_dataset *data;  /* whose fields these are */
    const void *field[CT_MAX_FIELDS]; /* [n,dim..] each, in the order of the set's fields */
    const int32_t *index; /* [n,3] (row in px, sample id, epoch); of clips [n*frames,4]: and which frame it shows, the
                             pictures of a clip in a row; the other rows of the memory, up to spec.batch*frames, name a
                             picture, too */
    const int32_t *lengths;  /* [n] true ones: widths without padding, pixels; of clips the pictures they have by
                                themselves */
    const float *windows;    /* [n,4] left, top, right, bottom of the pictures in px, pixels: the rest is padding; 0 in
                                rows that no batch has filled; NULL for clips */
} ct_batch;

typedef struct ct_batch_shape { int length, rows; } ct_batch_shape; /* as in ct_batch; samples */

typedef struct ct_loader_stats {
    int64_t batches, samples; /* delivered */
    double wait_s;            /* seconds the consumer waited for (or, without workers, spent making) batches */
} ct_loader_stats;

typedef struct ct_loader ct_loader;

/* CT_EINVAL: an empty set, batch < 1, drop_last that leaves no batch at all, a position outside the epoch, a subset
 * index outside the data set, more than 2^31-1 samples. CT_ENOMEM. */
ct_status ct_loader_open(const ct_loader_spec *spec, ct_loader **out);
/* The next batch, in order; *batch is NULL after the last. It stays valid until the next call or close. Fails for
 * streams (ct_dataset_open_stream()) and packed files only, whose pictures the workers draw or decode: then the same
 * batch fails again. */
ct_status ct_loader_next(ct_loader *l, const ct_batch **batch);
/* Part `part` of a batch that this loader delivered: a view of its rows, which is valid as long as the batch is. n is 0
 * where the part has none; all and samples are the whole batch's. */
void ct_loader_part(const ct_loader *l, const ct_batch *b, int part, ct_batch *out);
/* Stops the workers, whatever they are doing, and frees everything; NULL is fine. */
void ct_loader_close(ct_loader *l);

int64_t ct_loader_batches(const ct_loader *l);              /* batches per epoch */
ct_loader_stats ct_loader_get_stats(const ct_loader *l);    /* to be called by the consumer */

/* The same without a loader; only data, index, n, batch, drop_last and frames_step of spec are looked at. 0: none,
 * which ct_loader_open() refuses. CT_ENOMEM. */
ct_status ct_loader_count(const ct_loader_spec *spec, int64_t *batches);
/* The different shapes that the batches of an epoch have, with tempo those they may have: *out [*n] (ct_free), lengths
 * ascending, of one length the full batch first. Looks at frames_step and tempo, too; fails in the same cases. */
ct_status ct_loader_shapes(const ct_loader_spec *spec, ct_batch_shape **out, size_t *n);

/* Pictures of the longest clip that a batch may hold; 0 where samples are pictures. Looks at the same fields. */
int64_t ct_loader_longest(const ct_loader_spec *spec);

/* The sample order of one epoch, as the loader walks it: n numbers into out. */
void ct_loader_order(const ct_loader_spec *spec, int64_t n, int64_t epoch, int64_t *out);

#endif
