/* What a data set leaves to a task: where samples are found, what their labels say, and which tensors they become.
 *
 * A data set knows pictures, names and, for each sample, its label as a line of text, as the source has it: a word,
 * several words, an entry of a JSON file. A label reader makes fields of that text: small tensors of one shape for all
 * samples of a set. A task has a reader of its own as a struct that begins with ct_labels; a data set owns the one it
 * was opened with.
 *
 * Order of calls: scan (folders only), learn once with all labels of readable samples, encode for each, shape for
 * those that stay. A task may change the shapes of a reader's fields later and have the set laid out anew:
 * ct_dataset_refield(). Between these calls a reader is read-only, so that any thread may encode. */
#ifndef CT_DATA_LABELS_H
#define CT_DATA_LABELS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clip.h"
#include "base/dtype.h"
#include "base/status.h"
#include "formats/json.h"

#define CT_MAX_FIELDS 8     /* of a sample, pixels not counted */
#define CT_FIELD_NDIM 3

typedef enum ct_field_kind {
    CT_FIELD_IDS,    /* numbers that mean something by themselves: classes, flags, sizes. Left alone */
    CT_FIELD_POINTS  /* f32 [..,2]: (x, y) in pixels of the sample's picture as the set holds it, pixel i covers
                        [i,i+1). They move with their pixels when these are augmented or resized (operator
                        move_points). NaN: no such point */
} ct_field_kind;

/* One tensor of a sample beside its pixels. */
typedef struct ct_field {
    const char *name;            /* "target"; static, unique within the task: programs find it by this name */
    ct_dtype dtype;              /* CT_I32 or CT_F32 */
    ct_field_kind kind;
    int ndim;                    /* 1..CT_FIELD_NDIM */
    int64_t dim[CT_FIELD_NDIM];  /* of one sample, without the batch */
} ct_field;

static inline int64_t ct_field_elems(const ct_field *f)
{
    int64_t n = 1;
    for (int i = 0; i < f->ndim; i++) n *= f->dim[i];
    return n;
}
static inline size_t ct_field_bytes(const ct_field *f) { return (size_t)ct_field_elems(f) * ct_dtype_size(f->dtype); }

/* How a picture came to its place in a set: what was at (x, y) is at (scale[0] x + shift[0], scale[1] y + shift[1]).
 * window: left, top, right, bottom of the picture there, pixels; outside is padding. */
typedef struct ct_fit {
    double scale[2], shift[2];
    float window[4];
} ct_fit;

/* A sample as its label reader sees it. */
typedef struct ct_label_in {
    const char *name;  /* of the sample, for messages */
    const char *text;  /* its label */
    int frames;        /* own pictures of a clip, no copies; 1 where samples are pictures, 0: not known */
    int width, height; /* pixels in the set, without the padding of a bucket; 0: not known */
    int from_width, from_height; /* pixels before the picture was brought to that size: what a label that names places
                                    was written for; 0: not known */
    ct_fit fit;        /* from there to here; nothing moves where the sizes are not known */
} ct_label_in;

typedef struct ct_labels ct_labels;
typedef struct ct_scan ct_scan;     /* data/scan.h */

/* A kind of fault in a label: for the list of `captrain check`. */
typedef struct ct_label_fault {
    const char *word;  /* "length": in JSON */
    const char *title; /* "labels of the wrong length" */
} ct_label_fault;

/* What `captrain check` tells about the labels of one or two folders (set 0 and 1), beyond what is wrong with them. A
 * reader's own struct begins with ct_survey. */
typedef struct ct_survey ct_survey;

typedef enum ct_survey_part {
    CT_SURVEY_LABELS, /* what the labels consist of; told behind the sizes of the pictures */
    CT_SURVEY_FIT     /* how they suit their pictures; told behind the buckets */
} ct_survey_part;

typedef struct ct_survey_ops {
    /* A sample with a label, in the order of the sets and their names. in->width 0: its picture cannot be used.
     * fault: what is wrong with the label, NULL: nothing, or that is not known because the picture cannot be used. */
    ct_status (*add)(ct_survey *s, int set, const ct_label_in *in, const char *fault);
    /* mark[set]: stands in front of a sample's name. */
    void (*print)(const ct_survey *s, ct_survey_part part, const char *const mark[2], FILE *to);
    ct_status (*json)(const ct_survey *s, ct_survey_part part, json_t *into);
    /* What speaks against training with the samples as a whole, though each may be fine: a sentence (ct_free()), or
     * NULL. The pointer itself may be NULL: nothing ever does. CT_ENOMEM. */
    ct_status (*object)(const ct_survey *s, char **out);
    void (*close)(ct_survey *s); /* frees the survey itself, too */
} ct_survey_ops;

struct ct_survey {
    const ct_survey_ops *ops;
};

typedef struct ct_labels_ops {
    /* Finds the samples of a folder and their labels. NULL: the reader is for a generator only. Errors as
     * ct_scan_folder(). */
    ct_status (*scan)(ct_labels *l, const char *path, ct_scan *out);
    /* All labels of readable samples at once, in the order of the set: what none of them tells alone (classes,
     * columns) is settled, and l->field[0..fields) are filled in. n is 0 for streams, and where no sample can be
     * read. */
    ct_status (*learn)(ct_labels *l, const char *const *text, int64_t n);
    /* The shapes of the fields for these labels: the least that holds them, where labels decide that. What else was
     * learnt stays. NULL: shapes do not depend on labels. */
    ct_status (*shape)(ct_labels *l, const char *const *text, int64_t n);
    /* The fields of one sample: row[k] has room for field k. CT_EDATA: the sample is bad, the message begins with its
     * name and says why. */
    ct_status (*encode)(const ct_labels *l, const ct_label_in *in, void *const row[]);
    /* The fields of a sample whose label is not known yet. */
    void (*blank)(const ct_labels *l, void *const row[]);
    /* Samples with the same number stay on one side of a split into training and validation, such as pictures of one
     * background. -1: this one is alone. NULL: every one is. */
    int64_t (*group)(const ct_labels *l, const char *name, const char *text);
    /* Clips: with how many frames of its own a sample can at least be trained; one that is shortened keeps as many.
     * NULL: 1. */
    int (*least)(const ct_labels *l, const char *text);
    /* What kind of fault encode() found in a sample: a word of `faults`. NULL: always "label". */
    const char *(*fault)(const ct_labels *l, const ct_label_in *in);
    const ct_label_fault *faults; /* those kinds, a NULL word behind the last; may be NULL */
    /* Before a stream is opened (samples drawn when they are asked for, so that no label is known): CT_EDATA where
     * some could not be used. width: of the pictures, pixels. NULL: all can. */
    ct_status (*vouch)(const ct_labels *l, const char *name, int width);
    /* After learn. NULL: nothing is told. CT_ENOMEM. */
    ct_status (*survey)(const ct_labels *l, ct_survey **out);
    void (*close)(ct_labels *l); /* frees the reader itself, too */
} ct_labels_ops;

struct ct_labels {
    const ct_labels_ops *ops;
    ct_clip_rule clip; /* how a clip becomes pictures; zeroed: samples are single pictures */
    int fields;
    ct_field field[CT_MAX_FIELDS];
};

/* A reader without labels: every picture of a folder, or clip, is a sample with an empty label and no fields (predict).
 * clip NULL: pictures. CT_ENOMEM. */
ct_status ct_labels_none(const ct_clip_rule *clip, ct_labels **out);
void ct_labels_close(ct_labels *l); /* NULL is fine */

#endif
