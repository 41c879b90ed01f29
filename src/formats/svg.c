#include "config.h"

#include "formats/svg.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define MAX_TICKS 24
#define CHAR_WIDTH 6.3 /* of the 11 px font, roughly: legends are laid out without measuring */

#define HOVER_POINTS 60  /* of a series: places that tell their values, so that files stay small */
#define KEY_LINE 16      /* height of a line of the legend */

/* Where data is drawn and which values its sides stand for. */
typedef struct frame {
    double x0, y0, x1, y1;         /* user units; y0 is the upper side */
    double lo_x, hi_x, lo_y, hi_y; /* on a log axis the logarithms */
    bool log_y;
} frame;

void ct_svg_escape(FILE *f, const char *s)
{
    while (*s) {
        const char *from = s;
        const int32_t cp = ct_utf8_next(&s);
        if (cp < 0 || (cp < 0x20 && cp != '\t' && cp != '\n') || cp == 0x7f || cp == 0xfffe || cp == 0xffff) {
            fputs("&#xFFFD;", f); /* not a character of XML */
            if (cp < 0) s++;
            continue;
        }
        switch (cp) {
        case '&': fputs("&amp;", f); break;
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '"': fputs("&quot;", f); break;
        case '\'': fputs("&#39;", f); break;
        default: fwrite(from, 1, (size_t)(s - from), f); break;
        }
    }
}

/* ---- axes ---- */

int ct_svg_ticks(double lo, double hi, int want, double *out, int max)
{
    if (!(lo < hi) || want < 1) return 0;
    double raw = (hi - lo) / want, power = pow(10, floor(log10(raw))), step = 10 * power;
    if (raw <= power * 1.0001) step = power;
    else if (raw <= 2 * power * 1.0001) step = 2 * power;
    else if (raw <= 5 * power * 1.0001) step = 5 * power;
    int n = 0;
    double first = ceil(lo / step - 1e-9);
    for (int i = 0; n < max; i++) {
        double v = (first + i) * step;
        if (v > hi + 1e-9 * step) break;
        out[n++] = fabs(v) < 1e-9 * step ? 0 : v;
    }
    return n;
}

/* Ticks of a log axis, as logarithms: whole decades, or 1, 2, 5 in each when there are few. */
static int log_ticks(double lo, double hi, int want, double *out, int max)
{
    static const double all[] = { 1, 2, 5 };
    double decades = floor(hi + 1e-9) - ceil(lo - 1e-9) + 1;
    int per = decades < 3 ? 3 : 1, every = decades > want ? (int)ceil(decades / want) : 1, n = 0;
    for (double d = floor(lo); d <= hi && n < max; d += 1) {
        if (per == 1 && fmod(d, every) != 0) continue;
        for (int i = 0; i < per && n < max; i++) {
            double v = d + log10(all[i]);
            if (v >= lo - 1e-9 && v <= hi + 1e-9) out[n++] = v;
        }
    }
    return n;
}

/* Text of a tick, with k and M for thousands and millions where the axis has them. */
static void tick_text(double v, double largest, char buf[32])
{
    double a = fabs(largest);
    if (a >= 1e15 || (a < 1e-4 && a > 0)) snprintf(buf, 32, "%.3g", v);
    else if (v != 0 && a >= 1e6) snprintf(buf, 32, "%.6gM", v / 1e6);
    else if (v != 0 && a >= 1e4) snprintf(buf, 32, "%.6gk", v / 1e3);
    else snprintf(buf, 32, "%.6g", v);
}

static double map_x(const frame *r, double x)
{
    return r->x0 + (x - r->lo_x) / (r->hi_x - r->lo_x) * (r->x1 - r->x0);
}

static double map_y(const frame *r, double y)
{
    return r->y1 - (y - r->lo_y) / (r->hi_y - r->lo_y) * (r->y1 - r->y0);
}

static bool usable(const ct_svg_plot *p, double x, double y)
{
    return isfinite(x) && isfinite(y) && fabs(x) < 1e300 && fabs(y) < 1e300 && (!p->log_y || y > 0);
}

/* Widens a range without extent; half of its own size, or 1 about zero. */
static void widen(double *lo, double *hi)
{
    double span = *hi - *lo, size = fmax(fabs(*lo), fabs(*hi));
    if (span > 1e-12 * size) return;
    *lo -= size > 0 ? 0.05 * size : 1;
    *hi += size > 0 ? 0.05 * size : 1;
}

/* The ranges of the data; false if there is no point at all. */
static bool find_ranges(const ct_svg_plot *p, frame *r)
{
    bool any = false;
    for (size_t s = 0; s < p->count; s++)
        for (size_t i = 0; i < p->series[s].n; i++) {
            double x = p->series[s].x[i], y = p->series[s].y[i];
            if (!usable(p, x, y)) continue;
            if (p->log_y) y = log10(y);
            if (!any || x < r->lo_x) r->lo_x = x;
            if (!any || x > r->hi_x) r->hi_x = x;
            if (!any || y < r->lo_y) r->lo_y = y;
            if (!any || y > r->hi_y) r->hi_y = y;
            any = true;
        }
    if (!any) {
        r->lo_x = 0;
        r->hi_x = 1;
        r->lo_y = p->log_y ? -1 : 0;
        r->hi_y = p->log_y ? 0 : 1;
        return false;
    }
    if (p->y_from_zero && !p->log_y) {
        r->lo_y = fmin(r->lo_y, 0);
        r->hi_y = fmax(r->hi_y, 0);
    }
    widen(&r->lo_x, &r->hi_x);
    if (p->log_y && r->hi_y - r->lo_y < 0.1) {
        r->lo_y -= 0.1;
        r->hi_y += 0.1;
    }
    if (!p->log_y && r->lo_y == 0 && r->hi_y == 0) r->hi_y = 1; /* nothing so far: of what may well not be negative */
    widen(&r->lo_y, &r->hi_y);
    double pad = 0.04 * (r->hi_y - r->lo_y);
    r->hi_y += pad;
    if (!p->y_from_zero || p->log_y || r->lo_y < 0) r->lo_y -= pad;
    return true;
}

static void axes(FILE *f, const ct_svg_plot *p, const frame *r)
{
    double tick[MAX_TICKS];
    char text[32];
    int n = p->log_y ? log_ticks(r->lo_y, r->hi_y, 8, tick, MAX_TICKS)
                     : ct_svg_ticks(r->lo_y, r->hi_y, (int)fmax(2, (r->y1 - r->y0) / 34), tick, MAX_TICKS);
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(tick[i]));
    for (int i = 0; i < n; i++) {
        double y = map_y(r, tick[i]), v = p->log_y ? pow(10, tick[i]) : tick[i];
        tick_text(v, p->log_y ? v : largest, text);
        fprintf(f, "<line class=\"g\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", r->x0, y, r->x1, y);
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", r->x0 - 6, y + 3.8, text);
    }
    n = ct_svg_ticks(r->lo_x, r->hi_x, (int)fmax(2, (r->x1 - r->x0) / 76), tick, MAX_TICKS);
    largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(tick[i]));
    for (int i = 0; i < n; i++) {
        double x = map_x(r, tick[i]);
        tick_text(tick[i], largest, text);
        fprintf(f, "<line class=\"a\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x, r->y1, x, r->y1 + 4);
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, r->y1 + 17, text);
    }
    fprintf(f, "<line class=\"a\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", r->x0, r->y1, r->x1, r->y1);
    if (p->x_label && *p->x_label) {
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (r->x0 + r->x1) / 2, r->y1 + 34);
        ct_svg_escape(f, p->x_label);
        fputs("</text>\n", f);
    }
    if (p->y_label && *p->y_label) {
        fprintf(f, "<text transform=\"translate(13 %.1f) rotate(-90)\" text-anchor=\"middle\">", (r->y0 + r->y1) / 2);
        ct_svg_escape(f, p->y_label);
        fputs("</text>\n", f);
    }
}

/* ---- lines ---- */

/* A stretch of `n` mapped points without gaps (interleaved x, y), as a path of at most two points a pixel column. */
static void stretch(FILE *f, const double *xy, size_t n, const frame *r)
{
    bool thin = n > (size_t)(4 * (r->x1 - r->x0));
    for (size_t i = 0; i < n;) {
        size_t end = i + 1, lo = i, hi = i;
        if (thin)
            for (; end < n && floor(xy[2 * end]) == floor(xy[2 * i]); end++) {
                if (xy[2 * end + 1] < xy[2 * lo + 1]) lo = end;
                if (xy[2 * end + 1] > xy[2 * hi + 1]) hi = end;
            }
        size_t a = lo < hi ? lo : hi, b = lo < hi ? hi : lo;
        fprintf(f, "%s%.1f %.1f", i == 0 ? "M" : "L", xy[2 * a], xy[2 * a + 1]);
        if (b != a) fprintf(f, "L%.1f %.1f", xy[2 * b], xy[2 * b + 1]);
        i = end;
    }
}

/* Places along the line that tell where they are when the pointer rests on them. */
static void hovers(FILE *f, const ct_svg_plot *p, const ct_svg_series *s, const frame *r)
{
    const size_t every = (s->n + HOVER_POINTS - 1) / HOVER_POINTS;
    for (size_t k = 0; k < s->n; k += every) {
        const size_t i = s->n - 1 - k; /* from the last on: that is the one looked for */
        const double x = s->x[i], y = s->y[i];
        if (!usable(p, x, y)) continue;
        fprintf(f, "<circle class=\"h\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>", map_x(r, x),
                map_y(r, p->log_y ? log10(y) : y));
        if (s->label && *s->label) ct_svg_escape(f, s->label), fputs(": ", f);
        fprintf(f, "%.4g", y);
        if (p->y_label && *p->y_label) fputc(' ', f), ct_svg_escape(f, p->y_label);
        fputs(" at ", f);
        if (p->x_label && *p->x_label) ct_svg_escape(f, p->x_label), fputc(' ', f);
        fprintf(f, "%.4g</title></circle>\n", x);
    }
}

static ct_status draw(FILE *f, const ct_svg_plot *p, size_t index, const frame *r)
{
    const ct_svg_series *s = &p->series[index];
    size_t points = 0, from = 0;
    double *xy;
    if (s->n == 0) return CT_OK;
    if (!(xy = ct_calloc(s->n, 2 * sizeof *xy, "plot"))) return CT_ENOMEM;
    fprintf(f, "<g class=\"s%zu\">", index);
    if (s->label && *s->label) {
        fputs("<title>", f);
        ct_svg_escape(f, s->label);
        fputs("</title>", f);
    }
    fprintf(f, "<path class=\"l\"%s d=\"", s->dashed ? " stroke-dasharray=\"5 4\"" : "");
    for (size_t i = 0; i <= s->n; i++) {
        if (i < s->n && usable(p, s->x[i], s->y[i])) {
            xy[2 * points] = map_x(r, s->x[i]);
            xy[2 * points + 1] = map_y(r, p->log_y ? log10(s->y[i]) : s->y[i]);
            points++;
        } else if (points > from) { /* a gap, or the end */
            stretch(f, xy + 2 * from, points - from, r);
            from = points;
        }
    }
    fputs("\"/>", f);
    if (s->markers || points == 1)
        for (size_t i = 0; i < points; i++)
            fprintf(f, "<circle class=\"m\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/>", xy[2 * i], xy[2 * i + 1]);
    hovers(f, p, s, r);
    fputs("</g>\n", f);
    ct_free(xy);
    return CT_OK;
}

static double text_width(const char *s)
{
    const int64_t n = ct_utf8_len(s);
    return (n >= 0 ? (double)n : (double)strlen(s)) * CHAR_WIDTH;
}

static double legend_width(const ct_svg_plot *p)
{
    double w = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->series[i].label && *p->series[i].label) w += 26 + text_width(p->series[i].label) + 14;
    return w > 0 ? w - 14 : 0;
}

/* Keys from (x, y) on, in further lines at `left` where one would pass `right`; f NULL: only counts. Returns the lines
 * begun behind the first. */
static int legend(FILE *f, const ct_svg_plot *p, double x, double y, double left, double right)
{
    int lines = 0;
    for (size_t i = 0; i < p->count; i++) {
        const ct_svg_series *s = &p->series[i];
        if (!s->label || !*s->label) continue;
        const double w = 26 + text_width(s->label);
        if (x + w > right && x > left) {
            x = left;
            y += KEY_LINE;
            lines++;
        }
        if (f) {
            fprintf(f, "<g class=\"s%zu\"><line class=\"l\"%s x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/></g>", i,
                    s->dashed ? " stroke-dasharray=\"5 4\"" : "", x, y - 4, x + 20, y - 4);
            fprintf(f, "<text class=\"k\" x=\"%.1f\" y=\"%.1f\">", x + 26, y);
            ct_svg_escape(f, s->label);
            fputs("</text>\n", f);
        }
        x += w + 14;
    }
    return lines;
}

/* Okabe and Ito's colours, which people with any colour vision tell apart; darkened on white, lightened on black. */
static const char style[] =
    "<style>.ct-plot{color-scheme:light dark;font:11px system-ui,-apple-system,'Segoe UI',sans-serif}"
    ".ct-plot text{fill:#57606a}.ct-plot .t{fill:#1f2328;font-size:13px;font-weight:600}.ct-plot .k{fill:#1f2328}"
    ".ct-plot .g{stroke:#d8dee4;stroke-width:1}.ct-plot .a{stroke:#8c959f;stroke-width:1}"
    ".ct-plot .l{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}"
    ".ct-plot .m{fill:currentColor;stroke:none}.ct-plot .h{fill:transparent}.ct-plot .h:hover{fill:currentColor}"
    ".ct-plot .s0{color:#0072b2}.ct-plot .s1{color:#d55e00}.ct-plot .s2{color:#009e73}.ct-plot .s3{color:#b2527f}"
    ".ct-plot .s4{color:#8a6d00}.ct-plot .s5{color:#3a9bd0}.ct-plot .s6{color:#5b4bb5}.ct-plot .s7{color:#555}"
    "@media (prefers-color-scheme:dark){.ct-plot text{fill:#9da7b1}.ct-plot .t,.ct-plot .k{fill:#e6edf3}"
    ".ct-plot .g{stroke:#30363d}.ct-plot .a{stroke:#6e7681}"
    ".ct-plot .s0{color:#58a6e0}.ct-plot .s1{color:#f0883e}.ct-plot .s2{color:#3fc796}.ct-plot .s3{color:#e08ab5}"
    ".ct-plot .s4{color:#e3c341}.ct-plot .s5{color:#8fd0f5}.ct-plot .s6{color:#a99cf0}.ct-plot .s7{color:#bbb}}"
    "</style>\n";

ct_status ct_svg_write(FILE *f, const ct_svg_plot *plot)
{
    double w = plot->width > 0 ? plot->width : 640, h = plot->height > 0 ? plot->height : 320;
    bool title = plot->title && *plot->title;
    if (plot->count < 1 || plot->count > CT_SVG_MAX_SERIES || !plot->series)
        return ct_fail(CT_EINVAL, "a plot has 1 to %d series, not %zu", CT_SVG_MAX_SERIES, plot->count);
    if (w < 160 || h < 120 || w > 10000 || h > 10000)
        return ct_fail(CT_EINVAL, "a plot of %.0f x %.0f is too small or too large", w, h);

    double keys = legend_width(plot), title_width = title ? 13 + text_width(plot->title) * 13 / 11 : 0;
    frame r = { .x0 = plot->y_label && *plot->y_label ? 66 : 52, .x1 = w - 16, .log_y = plot->log_y };
    /* Title and legend share a line if they fit. */
    bool own_line = title && keys > 0 && title_width + keys + 24 > r.x1 - r.x0;
    r.y0 = !title && keys <= 0 ? 12 : own_line ? 50 : 34;
    const double keys_x = own_line || !title ? r.x0 : r.x0 + title_width + 24;
    r.y0 += KEY_LINE * legend(NULL, plot, keys_x, 0, r.x0, r.x1);
    r.y1 = h - (plot->x_label && *plot->x_label ? 42 : 26);
    bool any = find_ranges(plot, &r);

    fprintf(f, "<svg class=\"ct-plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
               "height=\"%.0f\" role=\"img\"", w, h, w, h);
    if (title) {
        fputs(" aria-label=\"", f);
        ct_svg_escape(f, plot->title);
        fputc('"', f);
    }
    fputs(">\n", f);
    fputs(style, f);
    if (title) {
        fprintf(f, "<text class=\"t\" x=\"%.1f\" y=\"20\">", r.x0);
        ct_svg_escape(f, plot->title);
        fputs("</text>\n", f);
    }
    /* Behind the title, not at the far side: where a narrow page cuts the plot off, the keys are still seen. */
    legend(f, plot, keys_x, own_line ? 38 : 20, r.x0, r.x1);
    axes(f, plot, &r);
    for (size_t i = 0; i < plot->count; i++) CT_TRY(draw(f, plot, i, &r));
    if (!any)
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">no data</text>\n", (r.x0 + r.x1) / 2,
                (r.y0 + r.y1) / 2);
    fputs("</svg>\n", f);
    return ferror(f) ? ct_fail(CT_EIO, "a plot could not be written") : CT_OK;
}
