/* What the best weights get wrong: by position, by character, and picture by picture. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/svg.h"
#include "train/report_html.h"

#define CONFUSIONS 12

void ct_report_base64(FILE *f, const uint8_t *data, size_t n)
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

static void meter_row(FILE *f, int64_t n, int64_t most)
{
    fprintf(f,
            "<td class=\"wide\"><div class=\"meter\" style=\"width:%.1f%%\"></div></td><td class=\"n\">%" PRId64
            "</td></tr>\n",
            most > 0 ? 100.0 * (double)n / (double)most : 0.0, n);
}

static void positions(FILE *f, const ct_detail *d)
{
    int64_t most = 0;
    for (int p = 0; p < d->positions; p++)
        if (d->errors[p] > most) most = d->errors[p];
    fputs("<div><h3>Wrong characters by position</h3><table>", f);
    for (int p = 0; p < d->positions; p++) {
        fprintf(f, "<tr><th class=\"n\">%d</th>", p + 1);
        meter_row(f, d->errors[p], most);
    }
    fputs("</table></div>\n", f);
}

static void confusions(FILE *f, const ct_report *rep)
{
    char text[32];
    ct_confusion c[CONFUSIONS];
    int n = ct_detail_confusions(rep->detail, c, CONFUSIONS);
    fputs("<div><h3>Most frequent confusions (label read as)</h3>", f);
    if (n == 0) fputs("<p class=\"none\">None.</p>", f);
    fputs("<table>", f);
    for (int k = 0; k < n; k++) {
        int32_t label = c[k].label, pred = c[k].pred;
        fputs("<tr><td><code>", f);
        ct_svg_escape(f, ct_charset_decode(&rep->run->data.charset, &label, 1, text, sizeof text));
        fputs(" \xe2\x86\x92 ", f); /* arrow to the right */
        ct_svg_escape(f, ct_charset_decode(&rep->run->data.charset, &pred, 1, text, sizeof text));
        fputs("</code></td>", f);
        meter_row(f, c[k].n, c[0].n);
    }
    fputs("</table></div>\n", f);
}

/* The prediction, wrong characters marked. */
static void marked(FILE *f, const ct_charset *cs, const int32_t *label, const int32_t *pred, int n)
{
    char text[32];
    fputs("<code>", f);
    for (int k = 0; k < n; k++) {
        bool wrong = label[k] != pred[k];
        if (wrong) fputs("<span class=\"x\">", f);
        ct_svg_escape(f, ct_charset_decode(cs, pred + k, 1, text, sizeof text));
        if (wrong) fputs("</span>", f);
    }
    fputs("</code>", f);
}

static ct_status figure(FILE *f, const ct_report *rep, int64_t i)
{
    const ct_view *v = &rep->run->data.val;
    const ct_detail *d = rep->detail;
    int64_t s = ct_view_sample(v, i);
    ct_image im;
    uint8_t *png = NULL;
    size_t size = 0;
    int h = ct_dataset_height(v->data), w = ct_dataset_width(v->data), c = ct_dataset_channels(v->data);
    CT_TRY(ct_image_make(w, h, c, 0, &im));
    memcpy(im.px, ct_dataset_pixels(v->data, s), (size_t)h * (size_t)w * (size_t)c);
    ct_status st = ct_image_encode_png(&im, &png, &size);
    ct_image_free(&im);
    if (st != CT_OK) return st;
    fprintf(f, "<figure><img width=\"%d\" height=\"%d\" alt=\"", w, h);
    ct_svg_escape(f, ct_dataset_text(v->data, s));
    fputs("\" src=\"data:image/png;base64,", f);
    ct_report_base64(f, png, size);
    fputs("\"><figcaption><code>", f);
    ct_svg_escape(f, ct_dataset_text(v->data, s));
    fputs("</code> read as ", f);
    marked(f, &rep->run->data.charset, ct_dataset_labels(v->data, s), d->pred + i * d->positions, d->positions);
    fprintf(f, "<small>%.1f %% sure; ", 100 * ct_detail_confidence(d, i));
    ct_svg_escape(f, ct_dataset_name(v->data, s));
    fputs("</small></figcaption></figure>\n", f);
    ct_free(png);
    return CT_OK;
}

ct_status ct_report_errors(FILE *f, const ct_report *rep)
{
    const ct_detail *d = rep->detail;
    if (!d) return CT_OK;
    fprintf(f,
            "<section><h2>Errors of the best weights</h2><p class=\"none\">%" PRId64 " of %" PRId64
            " strings and %" PRId64 " of %" PRId64
            " characters of the validation set are wrong.</p><div class=\"cols\">\n",
            rep->val->samples - rep->val->strings, rep->val->samples, rep->val->chars - rep->val->chars_ok,
            rep->val->chars);
    positions(f, d);
    confusions(f, rep);
    fputs("</div></section>\n", f);
    if (rep->run->cfg->report.gallery == 0) return CT_OK;
    fputs("<section><h2>Wrong predictions</h2>\n<div class=\"gallery\">\n", f);
    int64_t shown = 0;
    for (int64_t i = 0; i < d->n && shown < rep->run->cfg->report.gallery; i++) {
        if (ct_detail_right(d, &rep->run->data.val, i)) continue;
        CT_TRY(figure(f, rep, i));
        shown++;
    }
    fputs("</div>", f);
    if (shown == 0) fputs("<p class=\"none\">None: every validation string was read.</p>", f);
    fputs("</section>\n", f);
    return CT_OK;
}
