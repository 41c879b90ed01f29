/* Pieces of HTML that several pages need. Text is escaped by ct_svg_escape(). */
#ifndef CT_FORMATS_HTML_H
#define CT_FORMATS_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Base64 (RFC 4648) of n bytes. */
void ct_html_base64(FILE *f, const uint8_t *data, size_t n);
/* The end of a table row: a bar of n out of `most`, and n. */
void ct_html_meter(FILE *f, int64_t n, int64_t most);
/* The beginning of a figure: its picture, w x h pixels, PNG of n bytes, with `alt` for those who do not see it; a
 * figcaption is open behind it. */
void ct_html_figure(FILE *f, int w, int h, const char *alt, const uint8_t *png, size_t n);

#endif
