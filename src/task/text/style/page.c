/* The page of fit-style: what was seen and what is drawn, side by side. It needs no other file. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/version.h"
#include "formats/html.h"
#include "formats/svg.h"
#include "task/text/style/style.h"

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:0;background:#fff;color:#1c1f23}main{max-width:1100px;margin:auto;"
    "padding:24px}h1{font-size:26px;margin:0}h2{font-size:18px;margin:28px 0 8px}"
    ".two{display:grid;grid-template-columns:1fr 1fr;gap:24px}"
    ".pictures{display:flex;flex-wrap:wrap;gap:6px}.pictures img{border:1px solid #ccd0d5}"
    "table{border-collapse:collapse}td,th{padding:3px 14px 3px 0;text-align:right;border-bottom:1px solid #e3e6e9}"
    "td:first-child,th:first-child{text-align:left;font-weight:normal}.far{color:#b3261e;font-weight:600}"
    ".plots{display:flex;flex-wrap:wrap;gap:16px}pre{overflow:auto;background:#8881;padding:12px}"
    "@media(prefers-color-scheme:dark){body{background:#16181b;color:#e6e8ea}td,th{border-color:#33373c}"
    ".far{color:#ff8a80}}@media(max-width:700px){.two{grid-template-columns:1fr}}";

static ct_status pictures(FILE *f, const char *title, const ct_image *im, int64_t n)
{
    fprintf(f, "<div><h2>%s</h2><div class=\"pictures\">\n", title);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *png = NULL;
        size_t size = 0;
        CT_TRY(ct_image_encode_png(&im[i], &png, &size));
        fprintf(f, "<img width=\"%d\" height=\"%d\" alt=\"%s\" src=\"data:image/png;base64,", im[i].w, im[i].h, title);
        ct_html_base64(f, png, size);
        fputs("\">\n", f);
        ct_free(png);
    }
    fputs("</div></div>\n", f);
    return CT_OK;
}

/* Values that differ clearly stand out. */
static void table(FILE *f, const ct_look *a, const ct_look *b)
{
    fputs("<h2>Measured</h2><table><tr><th></th><th>seen</th><th>&#177;</th><th>drawn</th><th>&#177;</th></tr>\n", f);
    for (int k = 0; k < CT_LOOK_NUMBERS; k++) {
        fputs("<tr><td>", f);
        ct_svg_escape(f, ct_look_rows[k].name);
        fprintf(f, "</td><td>%.2f</td><td>%.2f</td><td%s>%.2f</td><td>%.2f</td></tr>\n", a->mean[k], a->sd[k],
                fabs(a->mean[k] - b->mean[k]) > ct_look_rows[k].scale ? " class=\"far\"" : "", b->mean[k], b->sd[k]);
    }
    fputs("</table>\n", f);
}

static ct_status plots(FILE *f, const ct_look *a, const ct_look *b)
{
    static const struct { double from, to; const char *unit; } axis[CT_LOOK_PROFILES] = {
        { 0, 256, "gray level" }, { 0, 1, "of the width" }, { 0, 1, "of the height" }, { 0, 180, "degrees" }
    };
    fputs("<h2>Distributions</h2><div class=\"plots\">\n", f);
    for (int p = 0; p < CT_LOOK_PROFILES; p++) {
        double x[CT_LOOK_BINS];
        const double shift = p == CT_LOOK_EDGES ? 0 : 0.5;
        for (int k = 0; k < CT_LOOK_BINS; k++)
            x[k] = axis[p].from + (k + shift) / CT_LOOK_BINS * (axis[p].to - axis[p].from);
        const ct_svg_series s[] = { { "seen", x, a->profile[p], CT_LOOK_BINS, false, false },
                                    { "drawn", x, b->profile[p], CT_LOOK_BINS, true, false } };
        const ct_svg_plot plot = { ct_look_profiles[p], axis[p].unit, "share", 460, 260, false, true, s, 2 };
        fputs("<div>", f);
        CT_TRY(ct_svg_write(f, &plot));
        fputs("</div>\n", f);
    }
    fputs("</div>\n", f);
    return CT_OK;
}

static ct_status parameters(FILE *f, const ct_text_params *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return ct_fail(CT_ENOMEM, "the page of a style: out of memory");
    ct_status st = ct_text_style_print(p, to);
    const ct_status closed = ct_memstream_close(to, "the page of a style");
    if (st == CT_OK) st = closed;
    if (st == CT_OK) {
        fputs("<h2>Parameters</h2><pre>", f);
        ct_svg_escape(f, text);
        fputs("</pre>\n", f);
    }
    ct_free(text);
    return st;
}

static ct_status write_page(FILE *f, const ct_style_fit *fit, const ct_look *drawn, double distance,
                            const ct_image *real, const ct_image *made, int64_t n)
{
    fprintf(f, "\xef\xbb\xbf<!DOCTYPE html>\n<html lang=\"en\"><head>"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
            "<title>A fitted style - captrain</title><style>%s</style></head><body><main>\n"
            "<header><h1>A fitted style</h1><p>%" PRId64 " pictures of %dx%d pixels were seen, %" PRId64
            " drawn. Distance %.3f; style %s, which it began with, had %.3f. captrain %s, seed %" PRIu64
            ".</p></header>\n<div class=\"two\">\n", style, fit->real.n, fit->width, fit->height, drawn->n, distance,
            fit->from, fit->began, ct_version(), fit->seed);
    CT_TRY(pictures(f, "seen", real, n));
    CT_TRY(pictures(f, "drawn", made, n));
    fputs("</div>\n", f);
    CT_TRY(plots(f, &fit->real, drawn));
    table(f, &fit->real, drawn);
    CT_TRY(parameters(f, &fit->found));
    fputs("</main></body></html>\n", f);
    return CT_OK;
}

ct_status ct_fit_page(const char *path, const ct_style_fit *fit, const ct_look *drawn, double distance,
                      const ct_image *real, const ct_image *made, int64_t n)
{
    ct_printed to;
    CT_TRY(ct_printed_open(&to, path));
    return ct_printed_close(&to, write_page(to.f, fit, drawn, distance, real, made, n));
}
