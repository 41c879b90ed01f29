/* Slider CAPTCHA generator. Picture (seed, index) is a pure function of the parameters, the pictures it takes
 * backgrounds from, seed and index: no state, any number of threads, any order. Nothing lies on a grid: positions,
 * angles and looks are drawn from continuous uniform ranges.
 *
 * How a picture is made: a background, drawn or cut from a picture of a folder; an outline (a jigsaw piece, a circle,
 * ...) that is set at two places of one row, the gap and, near the left edge, the piece; the gap and copies of it that
 * are no gap are shaded in the style of the picture; the piece is cut from the clean background at the gap and laid
 * over its place. Edges are covered by parts of pixels, so that places between pixels are real.
 *
 * Points are (x, y) in pixels, pixel i covers [i,i+1). Centres are centroids of the drawn coverage (alpha). Angles are
 * degrees, positive ones counter-clockwise as one sees it (y grows downwards). */
#ifndef CT_TASK_SLIDER_SYNTH_SYNTH_H
#define CT_TASK_SLIDER_SYNTH_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "image/image.h"

#define CT_SLIDER_STYLES 16  /* at most */
#define CT_SLIDER_COPIES 2
#define CT_SLIDER_SHAPE 16   /* bytes of a shape's name, NUL included */
#define CT_SLIDER_PATH 1024
#define CT_SLIDER_BLOCK 100  /* pictures at most of which each kind of confusion has its share */

/* What makes a picture harder. CT_SLIDER_COMBINED: two or three of the others. */
typedef enum ct_slider_confusion {
    CT_SLIDER_NONE, CT_SLIDER_ROTATION, CT_SLIDER_PERLIN, CT_SLIDER_HIGHLIGHT, CT_SLIDER_CONFUSING_GAP,
    CT_SLIDER_HOLLOW_CENTER, CT_SLIDER_GAP_EDGE_HIGHLIGHT, CT_SLIDER_COMBINED, CT_SLIDER_CONFUSIONS
} ct_slider_confusion;
/* "confusing_gap"; NULL behind the last. */
const char *ct_slider_confusion_name(int i);

typedef struct ct_slider_params {
    int width, height;   /* pixels, of every picture; 0, 0: each background has a size of its own, 280..480 x
                            140..240 */
    bool style[CT_SLIDER_STYLES]; /* which of the styles take part, each as likely as the others */
    int share[CT_SLIDER_CONFUSIONS]; /* pictures of each kind among as many in a row as all shares together */
    int per_background;  /* pictures in a row that share a background */
    char backgrounds[CT_SLIDER_PATH]; /* folder of pictures to take backgrounds from; "": they are drawn */
} ct_slider_params;

/* All styles, the reference's shares, sizes by lot, drawn backgrounds. */
void ct_slider_params_init(ct_slider_params *p);
/* The styles with[0..n) (n 0: all), without those of without[0..m). CT_ECONFIG for an unknown name (the message lists
 * them), or where none is left. */
ct_status ct_slider_params_styles(ct_slider_params *p, const char *const *with, size_t n, const char *const *without,
                                  size_t m);
/* Kinds of confusion, each as often as it stands in name[0..n); n 0: as often as in the reference. CT_ECONFIG for an
 * unknown name (the message lists them), or more than CT_SLIDER_BLOCK names. */
ct_status ct_slider_params_confusions(ct_slider_params *p, const char *const *name, size_t n);
/* CT_ECONFIG where the name is too long. */
ct_status ct_slider_params_backgrounds(ct_slider_params *p, const char *dir);

/* Name and one-line description of style i, from 0 on; NULL behind the last. */
const char *ct_slider_style_name(int i);
const char *ct_slider_style_doc(int i);

/* A prepared generator: parameters checked, background pictures decoded. Read-only afterwards, so it may be shared by
 * threads. CT_ECONFIG, CT_EIO and CT_EDATA (the folder), CT_ENOMEM. */
typedef struct ct_slider_gen ct_slider_gen;
ct_status ct_slider_gen_open(const ct_slider_params *p, uint64_t seed, ct_slider_gen **out);
void ct_slider_gen_close(ct_slider_gen *g);            /* NULL is fine */
const char *ct_slider_gen_key(const ct_slider_gen *g); /* 32 hex digits over parameters, seed, backgrounds, version */

/* A copy of the gap that is none. */
typedef struct ct_slider_fake { double x, y, angle, scale; } ct_slider_fake;

/* A picture and everything there is to know about it. */
typedef struct ct_slider_drawn {
    ct_image picture;               /* RGB */
    ct_image clean;                 /* the background alone, RGB; empty unless asked for */
    uint8_t *piece_rgba;            /* [h,w,4] the piece at its place, nothing else; NULL unless asked for */
    double gap[2], piece[2];        /* centres; gap[1] == piece[1] */
    double angle;                   /* of the gap against the piece, degrees; 0 unless it is turned */
    int fakes;
    ct_slider_fake fake[CT_SLIDER_COPIES];
    int size;                       /* of the piece with its knobs, pixels */
    int style;                      /* number of the style */
    ct_slider_confusion confusion;
    unsigned confusions;            /* bits 1 << confusion of what was done to it: several in combined ones */
    char shape[CT_SLIDER_SHAPE];    /* "circle", "jigsaw-0120": edges top, right, bottom, left: 0 flat, 1 out, 2 in */
    int64_t background;             /* number of its background: pictures that share it have the same */
} ct_slider_drawn;

/* Drawing state of one thread. */
typedef struct ct_slider_pen ct_slider_pen;
ct_status ct_slider_pen_open(const ct_slider_gen *g, ct_slider_pen **out);
void ct_slider_pen_close(ct_slider_pen *pen);          /* NULL is fine */
/* Picture `index`, 0 .. 2^52-1. components: with clean and piece_rgba. *out is empty on failure. */
ct_status ct_slider_pen_draw(ct_slider_pen *pen, int64_t index, bool components, ct_slider_drawn *out);
void ct_slider_drawn_free(ct_slider_drawn *d);         /* an empty or NULL one is fine */

#endif
