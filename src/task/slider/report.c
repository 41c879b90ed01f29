/* How far off the best weights are: how often, where, and picture by picture. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/html.h"
#include "formats/svg.h"
#include "task/slider/findings.h"

#define SIDE 512        /* pixels of a picture's width that overlays have at least */
#define ARM 7           /* of a cross, pixels */
#define PLACES 16       /* parts of the width in which errors are averaged */

/* ---- errors ---- */

static void histogram(const ct_slider_findings *t, FILE *f)
{
    static const double edge[] = { 0.25, 0.5, 1, 2, 5, 10, 50, HUGE_VAL };
    enum { BINS = sizeof edge / sizeof edge[0] };
    int64_t n[BINS] = { 0 }, most = 1;
    for (int64_t i = 0; i < t->base.view.n; i++) {
        const double e = ct_slider_error(&t->f[i], 0);
        int k = 0;
        while (k < BINS - 1 && !(e <= edge[k])) k++;
        if (++n[k] > most) most = n[k];
    }
    fputs("<div><h3>Samples by error</h3><table>", f);
    for (int k = 0; k < BINS; k++) {
        if (k < BINS - 1) fprintf(f, "<tr><th class=\"n\">up to %g px</th>", edge[k]);
        else fprintf(f, "<tr><th class=\"n\">more</th>");
        ct_html_meter(f, n[k], most);
    }
    fputs("</table></div>\n", f);
}

/* Mean error of gap and piece over where they are, as shares of the picture's width. */
static ct_status over_position(const ct_slider_findings *t, FILE *f)
{
    double x[PLACES], sum[2][PLACES] = { { 0 } }, n[2][PLACES] = { { 0 } };
    for (int64_t i = 0; i < t->base.view.n; i++) {
        const int64_t s = ct_view_sample(&t->base.view, i);
        const float *at = ct_dataset_field(t->base.view.data, CT_SLIDER_POINTS, s);
        ct_fit fit;
        ct_dataset_fit(t->base.view.data, s, &fit);
        for (int k = 0; k < 2; k++) {
            const double share = ((double)at[2 * k] - (double)fit.window[0]) / (double)(fit.window[2] - fit.window[0]);
            const int bin = share < 0 ? 0 : share >= 1 ? PLACES - 1 : (int)(share * PLACES);
            sum[k][bin] += t->f[i].error[0][k];
            n[k][bin]++;
        }
    }
    for (int b = 0; b < PLACES; b++) {
        x[b] = 100 * (b + 0.5) / PLACES;
        for (int k = 0; k < 2; k++) sum[k][b] = n[k][b] > 0 ? sum[k][b] / n[k][b] : NAN;
    }
    const ct_svg_series series[2] = { { .label = "gap", .x = x, .y = sum[0], .n = PLACES, .markers = true },
                                      { .label = "piece", .x = x, .y = sum[1], .n = PLACES, .markers = true } };
    const ct_svg_plot plot = { .title = "Error over position", .x_label = "place, percent of the width",
                               .y_label = "px", .y_from_zero = true, .series = series, .count = 2 };
    return ct_svg_write(f, &plot);
}

/* ---- pictures ---- */

static void dot(ct_image *im, int64_t x, int64_t y, const uint8_t rgb[3])
{
    if (x >= 0 && x < im->w && y >= 0 && y < im->h) memcpy(im->px + 3 * (y * im->w + x), rgb, 3);
}

/* A cross at (x, y), or lying on its side. */
static void cross(ct_image *im, double x, double y, bool lying, const uint8_t rgb[3])
{
    if (!isfinite(x) || !isfinite(y)) return;
    const int64_t cx = (int64_t)floor(x), cy = (int64_t)floor(y);
    for (int64_t k = -ARM; k <= ARM; k++)
        for (int64_t w = 0; w < 2; w++) {
            dot(im, cx + k, cy + w + (lying ? k : 0), rgb);
            dot(im, cx + w + (lying ? -k : 0), cy + k, rgb);
        }
}

/* The gap's map reddens, the piece's makes blue; map [h,w,2]. */
static void tint(const ct_slider_findings *t, const uint8_t *map, ct_image *im)
{
    for (int64_t y = 0; y < im->h; y++)
        for (int64_t x = 0; x < im->w; x++) {
            const int64_t cell = y * t->map_h / im->h * t->map_w + x * t->map_w / im->w;
            uint8_t *p = im->px + 3 * (y * im->w + x);
            for (int k = 0; k < 2; k++) {
                const int a = map[2 * cell + k] / 2; /* of 255: half of the colour at most */
                for (int c = 0; c < 3; c++)
                    p[c] = (uint8_t)((p[c] * (255 - a) + a * (c == 2 * k ? 255 : 0)) / 255);
            }
        }
}

/* The picture as the set holds it, in colour, `zoom` times as large. */
static ct_status enlarge(const ct_dataset *set, int64_t sample, int zoom, ct_image *out)
{
    ct_image im, large = { 0 };
    CT_TRY(ct_dataset_picture(set, sample, &im));
    ct_status st = ct_image_resize_bilinear(&im, zoom * im.w, zoom * im.h, &large);
    if (st == CT_OK) st = ct_image_make(large.w, large.h, 3, 0, out);
    for (int64_t i = 0; st == CT_OK && i < 3 * (int64_t)large.w * large.h; i++)
        out->px[i] = large.px[large.c == 3 ? i : i / 3];
    ct_image_free(&im);
    ct_image_free(&large);
    return st;
}

static ct_status overlay(const ct_slider_findings *t, const ct_slider_kept *k, ct_image *out)
{
    static const uint8_t green[3] = { 0, 210, 0 }, red[3] = { 240, 0, 0 };
    const ct_dataset *set = t->base.view.data;
    const int64_t sample = ct_view_sample(&t->base.view, k->i);
    const float *truth = ct_dataset_field(set, CT_SLIDER_POINTS, sample);
    const int w = ct_dataset_width(set), zoom = w < SIDE ? (SIDE + w - 1) / w : 1;
    CT_TRY(enlarge(set, sample, zoom, out));
    if (t->heatmaps) tint(t, k->heat, out);
    for (int p = 0; p < 2; p++) {
        cross(out, zoom * (double)truth[2 * p], zoom * (double)truth[2 * p + 1], false, green);
        cross(out, zoom * t->f[k->i].at[p][0], zoom * t->f[k->i].at[p][1], true, red);
    }
    return CT_OK;
}

static ct_status figure(const ct_slider_findings *t, const ct_slider_kept *k, FILE *to)
{
    const int64_t sample = ct_view_sample(&t->base.view, k->i);
    const ct_slider_found *d = &t->f[k->i];
    ct_image im = { 0 };
    uint8_t *png = NULL;
    size_t size = 0;
    ct_slider_label l;
    CT_TRY(ct_slider_label_of(&t->base, k->i, &l));
    ct_status st = overlay(t, k, &im);
    if (st == CT_OK) st = ct_image_encode_png(&im, &png, &size);
    if (st == CT_OK) {
        ct_html_figure(to, im.w, im.h, "gap and piece", png, size);
        fprintf(to, "%.2f px off: gap %.2f, piece %.2f<small>%.0f %% sure of the gap, %.0f %% of the piece; ", k->error,
                d->error[0][0], d->error[0][1], 100 * d->conf[0], 100 * d->conf[1]);
        if (*l.style || *l.confusion) {
            ct_svg_escape(to, l.style);
            fputs(*l.style && *l.confusion ? ", " : "", to);
            ct_svg_escape(to, l.confusion);
            fputs("; ", to);
        }
        ct_svg_escape(to, ct_dataset_name(t->base.view.data, sample));
        fputs("</small></figcaption></figure>\n", to);
    }
    ct_image_free(&im);
    ct_free(png);
    return st;
}

static ct_status gallery_of(const ct_slider_findings *t, int list, const char *title, int64_t *left, FILE *to)
{
    int n = 0;
    while (n < t->keep[list] && n < *left && t->kept[list][n].heat) n++;
    if (n == 0) return CT_OK;
    fprintf(to, "<section><h2>%s</h2>\n<div class=\"gallery\">\n", title);
    for (int k = 0; k < n; k++) CT_TRY(figure(t, &t->kept[list][k], to));
    fputs("</div></section>\n", to);
    *left -= n;
    return CT_OK;
}

ct_status ct_slider_report(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to)
{
    const ct_slider_findings *t = ct_slider_findings_of(f);
    fprintf(to,
            "<section><h2>Errors of the model</h2><p class=\"none\">%.3f px on average over %" PRId64
            " samples, in pixels of %d x %d; %.2f %% within 2 px, %.2f %% within 5 px.</p>\n<div class=\"cols\">\n",
            ct_slider_metrics[0].value(sums), f->view.n, CT_SLIDER_WIDTH, CT_SLIDER_HEIGHT,
            ct_slider_metrics[5].value(sums), ct_slider_metrics[6].value(sums));
    histogram(t, to);
    fputs("</div>\n", to);
    CT_TRY(over_position(t, to));
    fputs("</section>\n", to);
    if (gallery == 0) return CT_OK;
    CT_TRY(gallery_of(t, CT_SLIDER_WORST, "Furthest off", &gallery, to));
    CT_TRY(gallery_of(t, CT_SLIDER_RANDOM, "Drawn by lot", &gallery, to));
    CT_TRY(gallery_of(t, CT_SLIDER_BEST, "Nearest", &gallery, to));
    fprintf(to, "<p class=\"none\">Upright green crosses: the labels; lying red ones: what was found.%s</p>\n",
            t->heatmaps ? " Red: where the model sees the gap; blue: the piece." : "");
    return CT_OK;
}
