/* What the best weights get wrong: by position, by character, and picture by picture. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/svg.h"
#include "report/report_html.h"
#include "task/text/text.h"

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
    fputs("<td class=\"wide\">", f);
    if (n > 0) fprintf(f, "<div class=\"meter\" style=\"width:%.1f%%\"></div>", 100.0 * (double)n / (double)most);
    fprintf(f, "</td><td class=\"n\">%" PRId64 "</td></tr>\n", n);
}

static void positions(FILE *f, const ct_detail *d)
{
    int64_t most = 0;
    for (int p = 0; p < d->columns; p++)
        if (d->errors[p] > most) most = d->errors[p];
    fputs("<div><h3>Wrong characters by position</h3><table>", f);
    for (int p = 0; p < d->columns; p++) {
        fprintf(f, "<tr><th class=\"n\">%d</th>", p + 1);
        meter_row(f, d->errors[p], most);
    }
    fputs("</table></div>\n", f);
}

/* Kinds of edits between labels and predictions of any length. */
static void edits(FILE *f, const ct_detail *d)
{
    const struct {
        const char *name;
        int64_t n;
    } kind[] = { { "substitutions", d->substitutions },
                 { "insertions", d->insertions },
                 { "deletions", d->deletions } };
    int64_t most = 0;
    for (int k = 0; k < 3; k++)
        if (kind[k].n > most) most = kind[k].n;
    fputs("<div><h3>Edits by kind</h3><table>", f);
    for (int k = 0; k < 3; k++) {
        fprintf(f, "<tr><th>%s</th>", kind[k].name);
        meter_row(f, kind[k].n, most);
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
        fputs("<tr><td><code>", f);
        ct_svg_escape(f, ct_confusion_text(&ct_text_facts(rep->run->data.facts)->charset, c[k].label, text));
        fputs(" \xe2\x86\x92 ", f); /* arrow to the right */
        ct_svg_escape(f, ct_confusion_text(&ct_text_facts(rep->run->data.facts)->charset, c[k].pred, text));
        fputs("</code></td>", f);
        meter_row(f, c[k].n, c[0].n);
    }
    fputs("</table></div>\n", f);
}

/* One character of a prediction; `wrong` marks it. */
static void letter(FILE *f, const ct_charset *cs, int32_t ch, bool wrong)
{
    char text[32];
    if (wrong) fputs("<span class=\"x\">", f);
    ct_svg_escape(f, ch < 0 ? "\xc2\xb7" : ct_charset_decode(cs, &ch, 1, text, sizeof text)); /* a dot: not read */
    if (wrong) fputs("</span>", f);
}

/* The prediction, edits marked. */
static ct_status marked(FILE *f, const ct_charset *cs, const int32_t *label, int64_t nl, const int32_t *pred,
                        int64_t np)
{
    ct_edit e = { 0 };
    ct_status st = ct_edit_align(&e, label, nl, pred, np);
    if (st != CT_OK) goto fail;
    fputs("<code>", f);
    for (int64_t k = 0; k < e.pairs; k++) letter(f, cs, e.pair[k].pred, e.pair[k].label != e.pair[k].pred);
    fputs("</code>", f);
fail:
    ct_edit_free(&e);
    return st;
}

/* The prediction of a model with fixed positions, wrong characters marked. */
static void marked_positions(FILE *f, const ct_charset *cs, const int32_t *label, const int32_t *pred, int n)
{
    fputs("<code>", f);
    for (int k = 0; k < n; k++) letter(f, cs, pred[k], label[k] != pred[k]);
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
    CT_TRY(ct_run_picture(v, i, &im));
    const int w = im.w, h = im.h;
    ct_status st = ct_image_encode_png(&im, &png, &size);
    ct_image_free(&im);
    if (st != CT_OK) return st;
    fprintf(f, "<figure><img width=\"%d\" height=\"%d\" alt=\"", w, h);
    ct_svg_escape(f, ct_dataset_label_text(v->data, s));
    fputs("\" src=\"data:image/png;base64,", f);
    ct_report_base64(f, png, size);
    fputs("\"><figcaption><code>", f);
    ct_svg_escape(f, ct_dataset_label_text(v->data, s));
    fputs("</code> read as ", f);
    const int32_t *label = ct_text_ids(v->data, s), *pred = d->pred + i * d->columns;
    if (d->sequence)
        st = marked(f, &ct_text_facts(rep->run->data.facts)->charset, label, ct_edit_length(label, ct_text_columns(v->data)), pred,
                    ct_detail_length(d, i));
    else
        marked_positions(f, &ct_text_facts(rep->run->data.facts)->charset, label, pred, d->columns);
    fprintf(f, "<small>%.1f %% sure; ", 100 * ct_detail_confidence(d, i));
    ct_svg_escape(f, ct_dataset_name(v->data, s));
    fputs("</small></figcaption></figure>\n", f);
    ct_free(png);
    return st;
}

ct_status ct_report_errors(FILE *f, const ct_report *rep)
{
    const ct_detail *d = rep->detail;
    if (!d) return CT_OK;
    fprintf(f, "<section><h2>Errors of the best weights</h2><p class=\"none\">%" PRId64 " of %" PRId64 " strings",
            rep->val->samples - rep->val->strings, rep->val->samples);
    if (d->sequence)
        fprintf(f, " of the validation set are wrong; %" PRId64 " edits in %" PRId64 " characters.", rep->val->edits,
                rep->val->chars);
    else
        fprintf(f, " and %" PRId64 " of %" PRId64 " characters of the validation set are wrong.", rep->val->edits,
                rep->val->chars);
    if (rep->val->infeasible > 0)
        fprintf(f, " %" PRId64 " labels do not fit into their image's time steps.", rep->val->infeasible);
    fputs("</p><div class=\"cols\">\n", f);
    if (d->sequence)
        edits(f, d);
    else
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
    if (shown > 0 && d->sequence) fputs("<p class=\"none\">A dot stands for a character that was not read.</p>", f);
    if (shown == 0) fputs("<p class=\"none\">None: every validation string was read.</p>", f);
    fputs("</section>\n", f);
    return CT_OK;
}
