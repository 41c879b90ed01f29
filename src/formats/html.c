#include "config.h"

#include "formats/html.h"

#include <inttypes.h>

#include "formats/svg.h"

void ct_html_base64(FILE *f, const uint8_t *data, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v =
            (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) | (i + 2 < n ? data[i + 2] : 0);
        fputc(digit[v >> 18], f);
        fputc(digit[v >> 12 & 63], f);
        fputc(i + 1 < n ? digit[v >> 6 & 63] : '=', f);
        fputc(i + 2 < n ? digit[v & 63] : '=', f);
    }
}

void ct_html_meter(FILE *f, int64_t n, int64_t most)
{
    fputs("<td class=\"wide\">", f);
    if (n > 0) fprintf(f, "<div class=\"meter\" style=\"width:%.1f%%\"></div>", 100.0 * (double)n / (double)most);
    fprintf(f, "</td><td class=\"n\">%" PRId64 "</td></tr>\n", n);
}

void ct_html_figure(FILE *f, int w, int h, const char *alt, const uint8_t *png, size_t n)
{
    fprintf(f, "<figure><img width=\"%d\" height=\"%d\" alt=\"", w, h);
    ct_svg_escape(f, alt);
    fputs("\" src=\"data:image/png;base64,", f);
    ct_html_base64(f, png, n);
    fputs("\"><figcaption>", f);
}
