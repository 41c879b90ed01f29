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
#ifndef CT_TASK_SLIDER_DRAW_H
#define CT_TASK_SLIDER_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "data/dataset.h"
#include "image/image.h"
#include "task/slider/label.h"
#include "task/task.h"

#define CT_SLIDER_STYLES 16  /* at most */
#define CT_SLIDER_PATH 1024

typedef struct ct_slider_params {
    int width, height;   /* pixels, of every picture; 0, 0: each background has a size of its own, 280..480 x 140..240 */
    bool style[CT_SLIDER_STYLES]; /* which of the styles take part, each as likely as the others */
    int per_background;  /* pictures in a row that share a background */
    char backgrounds[CT_SLIDER_PATH]; /* folder of pictures to take backgrounds from; "": they are drawn */
} ct_slider_params;

/* All styles, sizes by lot, drawn backgrounds. */
void ct_slider_params_init(ct_slider_params *p);
/* The styles with[0..n) (n 0: all), without those of without[0..m). CT_ECONFIG for an unknown name (the message lists
 * them), or where none is left. */
ct_status ct_slider_params_styles(ct_slider_params *p, const char *const *with, size_t n, const char *const *without,
                                  size_t m);
/* CT_ECONFIG where the name is too long. */
ct_status ct_slider_params_backgrounds(ct_slider_params *p, const char *dir);

/* Name and one-line description of style i, from 0 on; NULL behind the last. */
const char *ct_slider_style_name(int i);
const char *ct_slider_style_doc(int i);

/* What makes a picture harder. CONFUSION_COMBINED: two or three of the others. */
typedef enum ct_slider_confusion {
    CT_SLIDER_NONE, CT_SLIDER_ROTATION, CT_SLIDER_PERLIN, CT_SLIDER_HIGHLIGHT, CT_SLIDER_CONFUSING_GAP,
    CT_SLIDER_HOLLOW_CENTER, CT_SLIDER_GAP_EDGE_HIGHLIGHT, CT_SLIDER_COMBINED, CT_SLIDER_CONFUSIONS
} ct_slider_confusion;
/* "confusing_gap"; NULL behind the last. */
const char *ct_slider_confusion_name(int i);

/* A prepared generator: parameters checked, background pictures decoded. Read-only afterwards, so it may be shared by
 * threads. CT_ECONFIG, CT_EIO and CT_EDATA (the folder), CT_ENOMEM. */
typedef struct ct_slider_gen ct_slider_gen;
ct_status ct_slider_gen_open(const ct_slider_params *p, uint64_t seed, ct_slider_gen **out);
void ct_slider_gen_close(ct_slider_gen *g);            /* NULL is fine */
const char *ct_slider_gen_key(const ct_slider_gen *g); /* 32 hex digits over parameters, seed, backgrounds, version */

/* A picture and everything there is to know about it. */
typedef struct ct_slider_drawn {
    ct_image picture;               /* RGB */
    ct_image clean;                 /* the background alone, RGB; empty unless asked for */
    uint8_t *piece_rgba;            /* [h,w,4] the piece at its place, nothing else; NULL unless asked for */
    ct_slider_label label;          /* gap[1] == piece[1]; angle 0 unless the gap is turned; pic: number of the background;
                                       side: of the piece with its knobs; shape "circle", "jigsaw-0120": edges top,
                                       right, bottom, left: 0 flat, 1 out, 2 in */
    int style;                      /* number of the style */
    ct_slider_confusion confusion;
    unsigned confusions;            /* bits 1 << confusion of what was done to it: several in combined ones */
} ct_slider_drawn;

/* Drawing state of one thread. */
typedef struct ct_slider_pen ct_slider_pen;
ct_status ct_slider_pen_open(const ct_slider_gen *g, ct_slider_pen **out);
void ct_slider_pen_close(ct_slider_pen *pen);          /* NULL is fine */
/* Picture `index`, 0 .. 2^52-1. components: with clean and piece_rgba. *out is empty on failure. */
ct_status ct_slider_pen_draw(ct_slider_pen *pen, int64_t index, bool components, ct_slider_drawn *out);
void ct_slider_drawn_free(ct_slider_drawn *d);         /* an empty or NULL one is fine */

/* The generator as a data set: the text of a label is ct_slider_label_text(). The source owns what it needs
 * (ct_source.release). */
ct_status ct_slider_source(const ct_slider_params *p, uint64_t seed, ct_source *out);

/* Writes pictures 0..count-1 as DIR/captchas/NAME.png and DIR/labels/all_labels.json; with components also
 * DIR/components/NAME_background.png and NAME_piece.png (RGBA), all of the picture's size. NAME is
 * Pic%04d_Bgx{}Bgy{}_Sdx{}Sdy{}_{hash8}: background, rounded centres of gap and piece, hash of the pixels. DIR is
 * created; one that is not empty is an error (CT_EIO) unless overwrite. */
typedef struct ct_slider_written {
    int64_t images;
    double draw_s;       /* processor time of all threads that went into drawing */
    double total_s;      /* and into everything */
} ct_slider_written;
ct_status ct_slider_write(const ct_slider_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                          bool components, int threads, ct_slider_written *out);

/* `captrain gen slider`, as ct_task.generate has it: options style, without_style, backgrounds, width, height,
 * components, json. */
ct_status ct_slider_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                             int threads, bool force, FILE *to);

#endif
