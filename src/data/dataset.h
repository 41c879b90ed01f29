/* Data sets: a folder of labelled pictures, or a generator, validated and packed once into [n,H,W,C] uint8. What
 * labels say, and which fields samples have beside their pixels, is the matter of a label reader (data/labels.h).
 *
 * Sizes. With the rules `resize` and `refuse` all samples have height x width pixels. With `fit_height` a picture is
 * resized to `height` rows and to round(its width * height / its height) columns (halves upwards), but at least
 * min_width (a narrower one is stretched) and at most `width` (a wider one is squeezed): its true width. At its right
 * it is padded with the background to its bucket: the next multiple of width_step, at most `width`. Samples of one
 * bucket have one size, so they can be a batch. The other rules are the case of one bucket, as wide as `width`.
 * With `letterbox` a picture is resized by one factor for both sides, the largest that fits, s = min(width / its width,
 * height / its height), to round(s * side) pixels, and stands in the middle of the background (of an odd rest the
 * larger half lies right and below): what was at (x, y) is at (s x + left, s y + top). ct_dataset_fit() says so of any
 * sample.
 *
 * Clips. Samples of some label readers are clips, rows of pictures of one size (resized as said above, fit_height and
 * letterbox apart): see ct_dataset_frames().
 *
 * Samples. A label reader may have rules of its own; ct_scan_folder() knows pictures with the label in the name, where
 * the reader finds it (DIR/ABCD_1.png), label files of all layouts (lists/label_files.h), and databases (database.c).
 * Another list of a folder's pictures, while labels come from names, is an error. Several sources make one set:
 * ct_scan_sources().
 * The search is flat (sub-folders are not entered). Samples: files that end in .png .jpg .jpeg .gif .bmp .webp .tif
 * .tiff (any case), and files of any other name that begin like a PNG or JPEG. Dot files are not samples. Order: by the
 * bytes of the relative path, so it never depends on the file system.
 *
 * Bad samples (undecodable, of the wrong size when the rule is `refuse`, label missing or refused by the reader, listed
 * but absent, present but not listed) are counted and listed; more than spec.max_bad make the open fail with CT_EDATA
 * and the first CT_BAD_SHOWN of them in the message. Those within the limit are left out and warned about.
 *
 * Packed cache. Pixels are decoded once, by `workers` threads, into CACHEDIR/data/<key>.ctpack and mapped read-only
 * from then on. The key is XXH3-128 over geometry, rules, decoder version and every file's name, size and content hash:
 * so every open reads all files once (about 1 GB/s per core from the page cache) but decodes none, and a changed file
 * can never meet a stale cache. Files are created atomically, so processes may race. A damaged cache is rebuilt with a
 * warning; where none can be written the pixels stay in memory, with an info line. While it is being built, a set takes
 * its packed size in memory. */
#ifndef CT_DATA_DATASET_H
#define CT_DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clip.h"
#include "base/status.h"
#include "data/labels.h"
#include "image/image.h"

#define CT_BAD_SHOWN 20 /* bad samples listed in a message */

typedef enum ct_size_rule {
    CT_SIZE_RESIZE,    /* ct_image_resize_bilinear() to height x width */
    CT_SIZE_REFUSE,    /* another size makes the sample bad */
    CT_SIZE_FIT_HEIGHT, /* to height, keeping the aspect ratio; padded to a bucket's width */
    CT_SIZE_LETTERBOX  /* into height x width, keeping the aspect ratio; padded all round */
} ct_size_rule;

/* What a pack holds of pictures that are files. */
typedef enum ct_keep {
    CT_KEEP_PIXELS, /* decoded once */
    CT_KEEP_FILES,  /* as they are: smaller, and decoded anew whenever a batch has them */
    CT_KEEP_AUTO    /* pixels up to CT_KEEP_PIXELS_UP_TO bytes */
} ct_keep;
#define CT_KEEP_PIXELS_UP_TO (INT64_C(8) << 30)

typedef struct ct_dataset_spec {
    const char *path;           /* folder; unused for a generator */
    int height, width;          /* pixels; both 0: the size of the first decodable sample */
    int channels;               /* 1 or 3 */
    ct_size_rule size_rule;
    int width_step;             /* fit_height: buckets are multiples of this, pixels */
    int min_width;              /* fit_height: least true width, pixels */
    int min_side;               /* letterbox: least side, pixels, of the resized picture; less makes the sample bad */
    uint8_t background[3];      /* RGB under transparent pixels and of the padding */
    int max_frames;             /* clips: a longer one gives so many of its frames, evenly spaced; 0: all */
    int64_t max_bad;            /* bad samples that are tolerated */
    bool cache;                 /* false: keep the pixels in memory, write nothing */
    ct_keep keep;               /* what is packed */
} ct_dataset_spec;

/* Gray, white background, size of the first sample, no bad sample tolerated, cache on; width_step 32, min_width 1,
 * min_side 1, all frames, pixels are kept. */
void ct_dataset_spec_init(ct_dataset_spec *spec);

/* What a generator of clips has beside ct_source: clip `index` is a pure function of index. */
typedef struct ct_clip_source {
    int (*frames)(const void *user, int64_t index); /* how many, at least 1 */
    ct_status (*label)(const void *user, int64_t index, char **label); /* an own string (ct_free()) */
    ct_status (*frame)(void *state, int64_t index, int frame, ct_image *out);
} ct_clip_source;

/* A generator: picture `index` is a pure function of index. Sample i of the data set is picture first + i, so that sets
 * of one generator need not overlap. One `state` per worker thread. */
typedef struct ct_source {
    const char *name;   /* for messages, e.g. "synth:text" */
    int64_t first, n;   /* pictures first .. first+n-1 */
    char key[33];       /* hex digest of everything the samples depend on; "" switches the cache off */
    int width, height;  /* of every picture it draws, pixels; 0: they differ, or labels do not need it */
    const void *user;
    ct_status (*open)(const void *user, void **state);
    /* *label: an own string (ct_free()). NULL: `clip` draws. */
    ct_status (*render)(void *state, int64_t index, ct_image *out, char **label);
    const ct_clip_source *clip; /* samples are clips; NULL: pictures */
    void (*close)(void *state);  /* NULL is fine */
    void (*release)(const void *user); /* NULL: user is the caller's; else the set owns it, also when the open fails */
} ct_source;

typedef struct ct_bad {
    const char *name;   /* relative path */
    const char *reason;
} ct_bad;

typedef struct ct_dataset ct_dataset;

/* Opens a folder (spec->path) or a generator. The set owns `labels` from now on, also when the open fails. workers:
 * threads that decode, at least 1 (0 means 1); the result does not depend on it. The spec is copied. Errors: CT_EIO
 * (folder), CT_EDATA (no sample, or too many bad ones), CT_EFORMAT (label file), CT_EINVAL (spec), CT_ENOMEM. */
ct_status ct_dataset_open(const ct_dataset_spec *spec, ct_labels *labels, int workers, ct_dataset **out);
ct_status ct_dataset_open_source(const ct_dataset_spec *spec, const ct_source *src, ct_labels *labels, int workers,
                                 ct_dataset **out);
/* A generator that draws when a loader asks, new pictures in every epoch: in epoch e sample i is picture
 * first + e * n + i. Nothing is packed: such a set has n samples of spec->width x spec->height pixels, which must be
 * given, in one bucket, but no pixels, empty texts, and blank fields; the loader fills them in. CT_EDATA where the
 * reader cannot vouch for labels that are not drawn yet. src->release is called when the set is closed. */
ct_status ct_dataset_open_stream(const ct_dataset_spec *spec, const ct_source *src, ct_labels *labels,
                                 ct_dataset **out);
const ct_source *ct_dataset_stream(const ct_dataset *ds);           /* NULL: not a stream */
/* Pictures of a stream begin here: behind every one of a set of fixed size. */
#define CT_STREAM_FIRST (INT64_C(1) << 40)
/* The pictures path[0..n), or clips, which are folders of frames; n at least 1. They need not lie in one folder: for
 * `labels` that find something to say about an empty text, such as ct_labels_none(). Good samples and bad ones both
 * keep the order of the list and are called by their paths. However many are bad, none of them makes the open fail,
 * spec->max_bad does not count; with no good one the set is empty, and has one empty bucket. */
ct_status ct_dataset_open_files(const ct_dataset_spec *spec, ct_labels *labels, const char *const *path, int64_t n,
                                int workers, ct_dataset **out);
void ct_dataset_close(ct_dataset *ds);                              /* NULL is fine */

/* As it was opened, what it found out filled in; path is not valid any more. */
const ct_dataset_spec *ct_dataset_spec_of(const ct_dataset *ds);

/* Everything below is read-only and may be called from any thread. Samples i = 0..size-1 are the good ones,
 * in order. */
int64_t ct_dataset_size(const ct_dataset *ds);
int ct_dataset_height(const ct_dataset *ds);
int ct_dataset_width(const ct_dataset *ds);                         /* of the widest bucket, pixels */
int ct_dataset_channels(const ct_dataset *ds);
bool ct_dataset_packs_files(const ct_dataset *ds); /* pixels are decoded when they are asked for: ct_dataset_read() */
/* The pixels of a sample, or of frame 0.. of a clip, to `to` [H,W,C], W: the width of its bucket. CT_EDATA, CT_EFORMAT,
 * CT_ENOMEM where they are decoded. */
ct_status ct_dataset_read(const ct_dataset *ds, int64_t i, int frame, uint8_t *to);
/* 32 hex digits over what a sample has packed: pixels or files. */
void ct_dataset_digest(const ct_dataset *ds, int64_t i, char out[33]);
/* The same in memory; NULL where files are packed. */
const uint8_t *ct_dataset_pixels(const ct_dataset *ds, int64_t i);  /* samples of a bucket lie one after another ... */
bool ct_dataset_contiguous(const ct_dataset *ds);                   /* ... as one [n,H,W,C] block, if this is true */
const char *ct_dataset_name(const ct_dataset *ds, int64_t i);       /* relative path, or "synth:text/17" */
const char *ct_dataset_label_text(const ct_dataset *ds, int64_t i); /* label as text, UTF-8; "" in streams */
const char *ct_dataset_root(const ct_dataset *ds);                  /* folder of the pictures, or generator */
const char *ct_dataset_key(const ct_dataset *ds);                   /* 32 hex digits: the content key of the pixels */
bool ct_dataset_was_cached(const ct_dataset *ds);                   /* pixels came from an existing cache file */
int64_t ct_dataset_bad_count(const ct_dataset *ds);
ct_bad ct_dataset_bad(const ct_dataset *ds, int64_t i);

/* Buckets b = 0.. in ascending width; there are no empty ones, and always at least one. */
int ct_dataset_buckets(const ct_dataset *ds);
int ct_dataset_bucket_width(const ct_dataset *ds, int b);           /* pixels */
int64_t ct_dataset_bucket_count(const ct_dataset *ds, int b);       /* samples */
const uint8_t *ct_dataset_bucket_pixels(const ct_dataset *ds, int b); /* of its first sample: see contiguous */
int ct_dataset_sample_bucket(const ct_dataset *ds, int64_t i);
int64_t ct_dataset_sample_row(const ct_dataset *ds, int64_t i);     /* its number among the samples of its bucket */
int ct_dataset_sample_width(const ct_dataset *ds, int64_t i);       /* true width, without padding, pixels */
/* How the picture of sample i came to its place in the set. Where its own size is not known (streams), nothing moved.
 */
void ct_dataset_fit(const ct_dataset *ds, int64_t i, ct_fit *out);
/* Width and height of the picture of sample i before that, pixels; 0: not known. */
void ct_dataset_source_size(const ct_dataset *ds, int64_t i, int *w, int *h);
/* Sample i as a picture of its true width, without the padding of its bucket: ct_image_free(). Not for streams. */
ct_status ct_dataset_picture(const ct_dataset *ds, int64_t i, ct_image *out);

/* Clips: a sample is a row of frames, which lie one after another; all have one size. */
const ct_clip_rule *ct_dataset_clip(const ct_dataset *ds);          /* NULL: samples are pictures */
int ct_dataset_frames(const ct_dataset *ds, int64_t i);             /* own ones, without copies; 1 of a picture */
const uint8_t *ct_dataset_frame_pixels(const ct_dataset *ds, int64_t i, int frame); /* [H,W,C] */
ct_status ct_dataset_frame(const ct_dataset *ds, int64_t i, int frame, ct_image *out); /* ct_image_free() */
int ct_dataset_least_frames(const ct_dataset *ds, int64_t i);       /* so many a shortened clip keeps at least */

/* Fields k = 0.. of a sample, in the order of the reader. */
const ct_field *ct_dataset_fields(const ct_dataset *ds, int *n);    /* [*n] */
int ct_dataset_find_field(const ct_dataset *ds, const char *name);  /* number of a field; -1: there is none */
const void *ct_dataset_field(const ct_dataset *ds, int k, int64_t i); /* [dim..]; samples lie one after another */
/* The reader it was opened with, owned by the set. Who changes the shapes of its fields calls ct_dataset_refield(). */
ct_labels *ct_dataset_label_reader(const ct_dataset *ds);
/* Lays all fields out as the reader has them now, and encodes them again from the texts, so that several sets fit one
 * program. Pointers into fields become invalid: not while a loader is open. CT_EDATA where a label does not fit,
 * CT_ENOMEM: the set is as before then. */
ct_status ct_dataset_refield(ct_dataset *ds);

/* Splits 0..n-1: round(n * fraction) numbers (at least 1, at most n-1, for 0 < fraction < 1) drawn by the Philox
 * permutation of (seed, CT_RNG_SPLIT) into `held`, the others into `kept`, both ascending. Arrays are owned by the
 * caller (ct_free).
 * CT_EINVAL if fraction is outside [0,1) or n < 2 with a fraction above 0. */
typedef struct ct_subset {
    int64_t n;
    int64_t *index; /* [n] sample numbers */
} ct_subset;
ct_status ct_split(int64_t n, double fraction, uint64_t seed, ct_subset *kept, ct_subset *held);
/* The same for the samples of a set, by its reader's groups: of these the share is held out, whole. */
ct_status ct_dataset_split(const ct_dataset *ds, double fraction, uint64_t seed, ct_subset *kept, ct_subset *held);
void ct_subset_free(ct_subset *s);

#endif
