/* captrain fit-style: parameters of the text generator whose pictures look like given ones. Private to this room, but
 * for ct_text_fit_style().
 *
 * Pictures are told apart by numbers that need no labels (a "look"): colours, shares of ink, where it stands, how wide
 * its strokes are, how many pieces it comes in, which way its edges run. What is measured directly (size, colours,
 * noise, fades) becomes parameters at once; the rest is found by drawing: parameters are changed by lot, pictures drawn
 * and looked at, and what brings the two looks nearer is kept. */
#ifndef CT_TASK_TEXT_STYLE_STYLE_H
#define CT_TASK_TEXT_STYLE_STYLE_H

#include <stdio.h>

#include "captrain.h"
#include "image/image.h"
#include "task/text/synth/synth.h"

/* Numbers of one picture. */
enum ct_look_number {
    CT_LOOK_BACKGROUND, CT_LOOK_CONTRAST, CT_LOOK_INK, CT_LOOK_DEEP, CT_LOOK_INK_SD, CT_LOOK_TINT, CT_LOOK_INK_TINT,
    CT_LOOK_COLOURS, CT_LOOK_NOISE, CT_LOOK_FADE_X, CT_LOOK_FADE_Y, CT_LOOK_TOP, CT_LOOK_BOTTOM, CT_LOOK_LEFT,
    CT_LOOK_RIGHT, CT_LOOK_RUN_X, CT_LOOK_RUN_Y, CT_LOOK_STROKE, CT_LOOK_THIN, CT_LOOK_THICK, CT_LOOK_SPECKS,
    CT_LOOK_PIECES, CT_LOOK_LETTERS, CT_LOOK_LARGEST, CT_LOOK_GAPS, CT_LOOK_UNEVEN, CT_LOOK_SLANT,
    CT_LOOK_NUMBERS
};
enum { CT_LOOK_BINS = 16 };                       /* of gray, and of columns and rows */
enum { CT_LOOK_GRAY, CT_LOOK_COLUMNS, CT_LOOK_ROWS, CT_LOOK_EDGES, CT_LOOK_PROFILES };

typedef struct ct_look_row {
    const char *name;
    double scale;       /* a difference so large is a clear one */
} ct_look_row;
extern const ct_look_row ct_look_rows[CT_LOOK_NUMBERS];
extern const char *const ct_look_profiles[CT_LOOK_PROFILES];

typedef struct ct_look_one {
    double number[CT_LOOK_NUMBERS];
    double profile[CT_LOOK_PROFILES][CT_LOOK_BINS]; /* gray: shares, sum 1; columns, rows: share of ink; edges: which
                                                       way they run, shares of half a turn */
} ct_look_one;

/* Of many. */
typedef struct ct_look {
    int64_t n;
    double mean[CT_LOOK_NUMBERS], sd[CT_LOOK_NUMBERS];
    double profile[CT_LOOK_PROFILES][CT_LOOK_BINS];
} ct_look;

/* ---- look.c ---- */
/* CT_ENOMEM. */
ct_status ct_look_at(const ct_image *im, ct_look_one *out);
void ct_look_join(const ct_look_one *one, int64_t n, ct_look *out);
/* 0: the same. About 1: differs clearly in every number. */
double ct_look_distance(const ct_look *a, const ct_look *b);

/* ---- drawn.c ---- */
/* The look of n pictures that p draws; keep [n] gets them, NULL: nobody wants them. */
ct_status ct_look_drawn(const ct_text_params *p, uint64_t seed, int64_t n, int threads, ct_image *keep, ct_look *out);

/* ---- fit.c ---- */
typedef struct ct_style_fit {
    ct_look real;
    int width, height, channels; /* of the pictures */
    const char *charset;         /* what is drawn; NULL: 0-9A-Z */
    int length_min, length_max;  /* of what is drawn; 0: found */
    const char *without;         /* a built-in style not to begin with; NULL: all are tried */
    uint64_t seed;
    int64_t rounds;              /* changes that are tried */
    int threads;
    ct_text_params found;
    double distance;             /* of what it draws, in the last round */
    char from[32];               /* the built-in style it began with */
    double began;                /* distance of that */
} ct_style_fit;
ct_status ct_fit_search(ct_style_fit *f);

/* ---- page.c ---- */
ct_status ct_fit_page(const char *path, const ct_style_fit *f, const ct_look *drawn, double distance,
                      const ct_image *real, const ct_image *made, int64_t n);

/* ---- verb.c ---- */
/* CT_EIO, CT_EDATA (no picture), CT_ECONFIG. */
ct_status ct_text_fit_style(const ct_fit_style_opts *o, FILE *to);

#endif
