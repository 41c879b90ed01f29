/* Text CAPTCHA generator. Sample (seed, index) is a pure function of the parameters, the font files, seed and index: no
 * state, any number of threads, any order. All geometry is drawn from continuous uniform ranges.
 *
 * How a picture is made: glyphs rasterised by FreeType (8-bit coverage), each rotated, sheared by moving its four
 * corners (inverse bilinear sampling), set side by side with overlap and vertical jitter, the row shrunk if it is wider
 * than the picture; then dots, lines and arcs, drawn with coverage; then a 3x3 smoothing (weights 1, centre 5, over
 * 13). */
#ifndef CT_SYNTH_TEXT_H
#define CT_SYNTH_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/label.h"

#define CT_TEXT_MAX_FONTS 16
#define CT_TEXT_MAX_SIZES 8

typedef struct ct_range { double lo, hi; } ct_range; /* uniform in [lo,hi) */

typedef struct ct_text_params {
    int width, height;              /* pixels */
    int channels;                   /* 3, or 1 (the same picture converted) */
    char charset[1024];             /* UTF-8; characters drawn uniformly */
    int length_min, length_max;     /* characters, uniform, inclusive */
    int n_fonts;
    char fonts[CT_TEXT_MAX_FONTS][256]; /* file names (see ct_font_find) or paths; one drawn per character */
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
} ct_text_params;

/* Parameters of a style for digits and capital letters, 4 characters, 160x60 RGB:
 *   "simple" close to the `captcha` package's pictures: rotation +-30, warp, 30 dots, an arc, smoothing
 *   "plain"  readable: rotation +-10, little warp, few dots, a line
 *   "hard"   several fonts, colours per character, more overlap, lines, arcs and dots
 * CT_ECONFIG for another name; the message lists them. */
ct_status ct_text_params_init(ct_text_params *p, const char *style);
/* "simple", "plain", "hard"; NULL behind the last. */
const char *ct_text_style_name(int i);

/* The path of font `name` into *path (ct_free). A name with '/' is taken as it is; else the directories of
 * CAPTRAIN_FONT_PATH (colon-separated), then the system's DejaVu, Liberation, TTF and user font directories are
 * searched. CT_ECONFIG, naming the package to install, when it is nowhere. */
ct_status ct_font_find(const char *name, char **path);

/* A prepared generator: parameters checked, font files read. Read-only afterwards, so it may be shared by threads. */
typedef struct ct_text_gen ct_text_gen;
ct_status ct_text_gen_open(const ct_text_params *p, uint64_t seed, ct_text_gen **out); /* CT_ECONFIG, CT_EFORMAT */
void ct_text_gen_close(ct_text_gen *g);                                                /* NULL is fine */
const char *ct_text_gen_key(const ct_text_gen *g); /* 32 hex digits over parameters, seed, fonts, generator version */

/* Drawing state of one thread. */
typedef struct ct_text_pen ct_text_pen;
ct_status ct_text_pen_open(const ct_text_gen *g, ct_text_pen **out);
void ct_text_pen_close(ct_text_pen *pen);          /* NULL is fine */
/* Sample `index`: a new picture and its label. */
ct_status ct_text_pen_draw(ct_text_pen *pen, int64_t index, ct_image *out, char label[CT_LABEL_BYTES]);

/* All of it for one picture. */
ct_status ct_synth_text(const ct_text_params *p, uint64_t seed, int64_t index, ct_image *out,
                        char label[CT_LABEL_BYTES]);

/* A generator for ct_dataset_open_source(): samples first .. first+count-1. `g` must outlive it. */
void ct_synth_text_source(const ct_text_gen *g, int64_t first, int64_t count, ct_source *out);
/* The two steps in one: count samples from `first` on, packed (and cached) with geometry, charset and channels of p.
 * spec gives the rest: cache, max_bad; NULL: defaults. */
ct_status ct_synth_text_dataset(const ct_text_params *p, uint64_t seed, int64_t first, int64_t count,
                                const ct_dataset_spec *spec, int workers, ct_dataset **out);

/* Writes samples 0..count-1 as DIR/LABEL_INDEX.png (INDEX with as many digits as count-1 needs, at least 6) with
 * `threads` threads. DIR is created; one that is not empty is an error (CT_EIO) unless overwrite. */
ct_status ct_synth_text_write(const ct_text_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                              int threads);

#endif
