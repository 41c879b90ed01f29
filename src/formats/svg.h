/* Line plots as self-contained SVG: no script, no font file, colours that follow the reader's light or dark scheme.
 * Several plots may stand in one HTML page. */
#ifndef CT_FORMATS_SVG_H
#define CT_FORMATS_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

#define CT_SVG_MAX_SERIES 8

typedef struct ct_svg_series {
    const char *label;   /* in the legend; NULL or "" = none */
    const double *x, *y; /* n points; a NaN or infinite part (or y <= 0 on a log axis) interrupts the line */
    size_t n;
    bool dashed;
    bool markers;        /* a dot at every point (a series of one point always gets one) */
} ct_svg_series;

typedef struct ct_svg_plot {
    const char *title, *x_label, *y_label; /* NULL = none */
    double width, height;                  /* user units (pixels); 0 = 640 x 320 */
    bool log_y;
    bool y_from_zero;                      /* the linear y axis starts at 0 */
    const ct_svg_series *series;
    size_t count;                          /* 1..CT_SVG_MAX_SERIES */
} ct_svg_plot;

/* Writes one <svg> element. A plot without any finite point shows its axes and "no data". More than about 2 points a
 * pixel column are thinned to the column's smallest and largest, so files stay small. Errors: CT_EINVAL, CT_EIO
 * (ferror), CT_ENOMEM. */
ct_status ct_svg_write(FILE *f, const ct_svg_plot *plot);

/* Writes s with & < > " ' escaped and control characters and broken UTF-8 replaced, for SVG and HTML text and
 * attributes. */
void ct_svg_escape(FILE *f, const char *s);

/* Round axis positions for [lo, hi] (lo < hi, both finite): at most `want`+2 multiples of 1, 2 or 5 times a power of
 * ten, in out[] (room for max); returns how many. */
int ct_svg_ticks(double lo, double hi, int want, double *out, int max);

#endif
