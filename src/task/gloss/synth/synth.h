/* Generator of sign language clips. Clip (seed, index) is a pure function of the parameters, seed and index, and each
 * of its frames of these and its number: no state, any number of threads, any order. Nothing lies on a grid: places,
 * sizes and colours are drawn from continuous ranges.
 *
 * Gestures. A clip shows a signer from the hips up who signs a sentence of a few glosses before a background: hands at
 * rest, the glosses with short transitions between them, hands at rest again. A gloss is a path of the hands (LIFT,
 * ROLL, TAP, ...) at a place (CHIN, BELLY, SIDE, ...) with a hand shape (FIST, VEE, SPREAD, ...), with one hand, both
 * mirrored or both in parallel; its name says all four: "LIFT-CHIN-FIST", "PUSH-BELLY-FLAT-TWIN". The lexicon does not
 * depend on the seed, and a small one is the beginning of a larger one, so that a gloss is the same in all sets. Of
 * every five glosses three differ in their paths alone, and two of these three are each other's reverse or mirror
 * image: what tells them apart is movement. Sentences are uniform over the lexicon; the same gloss may follow itself,
 * then the hands return to its beginning in between.
 *
 * A signer (there are a few, by seed) has proportions, skin, hair, clothes, a place in the picture, a tempo and a size
 * of movements; all sign with the right hand, which is left in the picture. By clip vary tempo, light, colour
 * temperature, background, sharpness and noise; by gloss its length, place and amplitude, each a little.
 *
 * Lengths: a gloss takes 6 to 13 frames, mostly 7 to 11, a transition 2 to 4, so that 2 to 5 glosses are some 24 to 70
 * frames. */
#ifndef CT_TASK_GLOSS_SYNTH_SYNTH_H
#define CT_TASK_GLOSS_SYNTH_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "image/image.h"

#define CT_GESTURE_GLOSSES 200 /* of a lexicon, at most */
#define CT_GESTURE_SIGNERS 26  /* at most: a letter each */
#define CT_GESTURE_LENGTH 12   /* glosses of a clip, at most */

typedef struct ct_gesture_params {
    int glosses;     /* of the lexicon: 2..CT_GESTURE_GLOSSES */
    int signers;     /* 1..CT_GESTURE_SIGNERS */
    int least, most; /* glosses of a clip, each number as often as the others: 1..CT_GESTURE_LENGTH */
    int size;        /* pixels: frames are [size,size,3]: 32..512 */
} ct_gesture_params;

/* 40 glosses, 8 signers, 2 to 5 glosses a clip, 96 pixels. */
void ct_gesture_params_init(ct_gesture_params *p);
/* CT_ECONFIG naming the option (--glosses, --signers, --length, --size) and its range. */
ct_status ct_gesture_params_check(const ct_gesture_params *p);

/* Whom one may meet. The last signer is kept for tests: a model never sees that person in training. Where there is one
 * signer only, it is in both. */
typedef enum ct_gesture_cast {
    CT_GESTURE_SEEN, /* training and validation: all but the last, each as often as the others */
    CT_GESTURE_ALL   /* test: the last in 2 of 5 clips, else one of the others by lot */
} ct_gesture_cast;

/* A prepared generator. Read-only, so it may be shared by threads. CT_ECONFIG (ct_gesture_params_check), CT_ENOMEM. */
typedef struct ct_gesture_gen ct_gesture_gen;
ct_status ct_gesture_gen_open(const ct_gesture_params *p, uint64_t seed, ct_gesture_gen **out);
void ct_gesture_gen_close(ct_gesture_gen *g);            /* NULL is fine */
/* 32 hex digits over parameters, seed and version: all that frames depend on but clip, cast and number of the frame. */
const char *ct_gesture_gen_key(const ct_gesture_gen *g);
/* The name of gloss i: upper-case ASCII letters and '-', unique; NULL outside 0..glosses-1. */
const char *ct_gesture_gen_gloss(const ct_gesture_gen *g, int i);
int ct_gesture_gen_glosses(const ct_gesture_gen *g);

/* What a clip is. Frames before first[0] and behind last[glosses-1] and those between glosses are rest and
 * transitions. The cast changes nothing but who signs, and how fast and large. */
typedef struct ct_gesture_plan {
    int signer;                      /* 0..signers-1 */
    int glosses;
    int gloss[CT_GESTURE_LENGTH];    /* numbers in the lexicon */
    int first[CT_GESTURE_LENGTH], last[CT_GESTURE_LENGTH]; /* frames, inclusive, from 0 on */
    int frames;
} ct_gesture_plan;
/* Plans clip `index`, 0 .. 2^52-1 (CT_EINVAL outside of it), without drawing: a microsecond. */
ct_status ct_gesture_gen_plan(const ct_gesture_gen *g, int64_t index, ct_gesture_cast cast, ct_gesture_plan *out);

/* Drawing state of one thread. It keeps the background of the last clip, so frames of one clip in a row are faster. */
typedef struct ct_gesture_pen ct_gesture_pen;
ct_status ct_gesture_pen_open(const ct_gesture_gen *g, ct_gesture_pen **out);
void ct_gesture_pen_close(ct_gesture_pen *pen);          /* NULL is fine */
/* Draws frame `frame` of clip `index` into a new picture [size,size,3] (ct_image_free), empty on failure. CT_EINVAL for
 * a clip or frame that does not exist, CT_ENOMEM. */
ct_status ct_gesture_pen_frame(ct_gesture_pen *pen, int64_t index, ct_gesture_cast cast, int frame, ct_image *out);

/* ---- as files ---- */

typedef struct ct_gesture_written {
    int64_t clips[3], frames[3]; /* of train, dev, test */
    double draw_s;               /* processor time of all threads that went into drawing */
    double total_s;              /* and into everything */
} ct_gesture_written;

/* Writes `count` clips in the layout of CE-CSL: DIR/{train,dev,test}/SIGNER/NUMBER/00001.jpg and on (quality 95), and
 * DIR/{train,dev,test}.csv with the columns Number,Translator,Chinese Sentences,Gloss,Note; SIGNER is a letter, NUMBER
 * train-00001, dev-00001, ... 8 of 100 clips are dev, 12 are test (at least one of each; count: 3 at least), the others
 * train; dev is of cast SEEN, test of ALL. A clip of a part does not depend on count: a larger set holds the smaller
 * ones. DIR is created; one that is not empty is CT_EIO unless `force`, which takes what stands there over: frames are
 * written anew, those behind a clip's end are removed, clips that no table names stay. A table is written when all the
 * clips it names are there; old ones are removed first. CT_ECONFIG, CT_EINVAL (count), CT_EIO, CT_ENOMEM. */
ct_status ct_gesture_write(const ct_gesture_params *p, uint64_t seed, const char *dir, int64_t count, int threads,
                           bool force, ct_gesture_written *stats);

#endif
