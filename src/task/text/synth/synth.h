/* Text CAPTCHA generator. Sample (seed, index) is a pure function of the parameters, the font files, seed and index: no
 * state, any number of threads, any order. All geometry is drawn from continuous uniform ranges.
 *
 * How a picture is made: a background of one colour, or one that fades into another, and a grid on it; glyphs
 * rasterised by FreeType (8-bit coverage; filled, or their outlines), each rotated, sheared by moving its four corners
 * (inverse bilinear sampling), set side by side with overlap and vertical jitter, the row shrunk if it is wider than
 * the picture, shadows below; then dots, lines and arcs, drawn with coverage; then the picture is bent along sine
 * waves; then a 3x3 smoothing (weights 1, centre 5, over 13). */
#ifndef CT_TASK_TEXT_SYNTH_SYNTH_H
#define CT_TASK_TEXT_SYNTH_SYNTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "image/image.h"

#define CT_TEXT_MAX_FONTS 16
#define CT_TEXT_MAX_SIZES 8
#define CT_TEXT_MAX_STYLES 16
#define CT_TEXT_ALPHABET_BYTES 32768 /* some 10,000 Chinese characters */
#define CT_TEXT_LENGTH 64               /* characters of a picture, at most */
#define CT_TEXT_BYTES (4 * CT_TEXT_LENGTH + 1)

typedef struct ct_range { double lo, hi; } ct_range; /* uniform in [lo,hi) */

typedef struct ct_text_params {
    int width, height;              /* pixels */
    int channels;                   /* 3, or 1 (the same picture converted) */
    char alphabet[CT_TEXT_ALPHABET_BYTES]; /* UTF-8; characters drawn uniformly */
    int length_min, length_max;     /* characters, uniform, inclusive */
    int n_fonts;
    char fonts[CT_TEXT_MAX_FONTS][256]; /* file names (see image/font.h) or paths; one drawn per character */
    int n_sizes;
    double sizes[CT_TEXT_MAX_SIZES];    /* pixels per em in a picture 60 pixels high (scaled with the height);
                                           one drawn per character */
    ct_range background;            /* each of R, G, B */
    ct_range ink;                   /* each of R, G, B; one colour per picture */
    bool ink_per_char;              /* a colour per character instead */
    ct_range alpha;                 /* opacity of the ink, 0..255 */
    ct_range dx, dy;                /* jitter of a glyph, pixels at height 60 */
    ct_range rotation;              /* degrees */
    double warp_x, warp_y;          /* corner displacement, fraction of the glyph's width and height, U[-v,v] */
    ct_range place;                 /* where free room goes: 0 leaves the row at the left edge, 1 at the right one */
    double overlap;                 /* neighbours overlap by U[0,v] of the mean glyph width */
    double gap_probability;         /* of a blank before a glyph */
    int dots_min, dots_max;         /* noise dots */
    ct_range dot_size;              /* pixels (diameter) */
    int lines_min, lines_max;       /* straight lines across */
    int arcs_min, arcs_max;         /* elliptic arcs */
    ct_range stroke;                /* width of lines and arcs, pixels */
    bool smooth;                    /* the 3x3 filter at the end */
    /* All of these are off when zero. */
    bool fade;                      /* a second background colour; one fades into the other in a random direction */
    double outline;                 /* letters are hollow: width of their contour, pixels at height 60; 0: filled */
    double shadow;                  /* probability of shadows behind the letters of a picture */
    ct_range shadow_offset;         /* pixels at height 60, to either side and down or up */
    ct_range grid;                  /* distance of grid lines, pixels; hi 0: no grid */
    ct_range wave_x, wave_y;        /* amplitude of the sine waves along which rows and columns move, pixels at
                                       height 60 */
    ct_range wave_length;           /* of these waves, pixels at height 60 */
    ct_range fade_angle;            /* degrees; 0 to 360 unless it is said */
    ct_range background2;           /* the colour that the background fades into; hi 0: drawn from background */
    ct_range noise;                 /* standard deviation of Gaussian noise, the same in R, G and B; of a picture */
    bool mixed;                     /* each picture in one of the other styles; what else stands here but size,
                                       channels, alphabet and length is theirs, fonts and sizes where n_fonts and
                                       n_sizes are 0 */
} ct_text_params;

/* Parameters of a style for digits and capital letters, 4 characters, 160x60 RGB, or of a style's file, which may say
 * these, too: a name with a '/', or that ends in .yaml. CT_ECONFIG for another name, the message lists them, and for
 * what is wrong in a file, with line and key; CT_EIO. */
ct_status ct_text_params_init(ct_text_params *p, const char *style);
/* Name and one-line description of style i, from 0 on; NULL behind the last. "simple" and "plain" never change: their
 * pictures are part of recorded results. */
const char *ct_text_style_name(int i);
const char *ct_text_style_doc(int i);
void ct_text_style_list(FILE *to); /* a line each */
/* Writes a style as such a file has it. CT_ECONFIG for the mixed one. */
ct_status ct_text_style_print(const ct_text_params *p, FILE *to);
/* Whether parameters are within their bounds; CT_ECONFIG. */
ct_status ct_text_params_check(const ct_text_params *p);
/* Replaces the fonts or sizes of p; n 0 leaves them. CT_ECONFIG for too many of them or a name that is too long. */
ct_status ct_text_params_fonts(ct_text_params *p, const char *const *fonts, size_t n);
ct_status ct_text_params_sizes(ct_text_params *p, const double *sizes, size_t n);
/* A prepared generator: parameters checked, font files read. Read-only afterwards, so it may be shared by threads. */
typedef struct ct_text_gen ct_text_gen;
ct_status ct_text_gen_open(const ct_text_params *p, uint64_t seed, ct_text_gen **out); /* CT_ECONFIG, CT_EFORMAT */
void ct_text_gen_close(ct_text_gen *g);                                                /* NULL is fine */
const char *ct_text_gen_key(const ct_text_gen *g); /* 32 hex digits over parameters, seed, fonts, generator version */

/* Drawing state of one thread. */
typedef struct ct_text_pen ct_text_pen;
ct_status ct_text_pen_open(const ct_text_gen *g, ct_text_pen **out);
void ct_text_pen_close(ct_text_pen *pen);          /* NULL is fine */
/* Sample `index`: a new picture and its text. */
ct_status ct_text_pen_draw(ct_text_pen *pen, int64_t index, ct_image *out, char label[CT_TEXT_BYTES]);

/* All of it for one picture. */
ct_status ct_synth_text(const ct_text_params *p, uint64_t seed, int64_t index, ct_image *out,
                        char label[CT_TEXT_BYTES]);

/* Writes samples 0..count-1 as DIR/LABEL_INDEX.png (INDEX with as many digits as count-1 needs, at least 6) with
 * `threads` threads. DIR is created; one that is not empty is an error (CT_EIO) unless overwrite. */
ct_status ct_synth_text_write(const ct_text_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                              int threads);

#endif
