/* What the best weights get wrong: by position, by character, and picture by picture. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/html.h"
#include "formats/svg.h"
#include "task/text/findings.h"
#include "task/text/grades.h"

#define CONFUSIONS 12

static void positions(FILE *f, const ct_text_findings *d)
{
    int64_t most = 0;
    for (int p = 0; p < d->columns; p++)
        if (d->errors[p] > most) most = d->errors[p];
    fputs("<div><h3>Wrong characters by position</h3><table>", f);
    for (int p = 0; p < d->columns; p++) {
        fprintf(f, "<tr><th class=\"n\">%d</th>", p + 1);
        ct_html_meter(f, d->errors[p], most);
    }
    fputs("</table></div>\n", f);
}

/* Kinds of edits between labels and predictions of any length. */
static void edits(FILE *f, const ct_text_findings *d)
{
    const struct {
        const char *name;
        int64_t n;
    } kind[] = { { "substitutions", d->edits.substitutions },
                 { "insertions", d->edits.insertions },
                 { "deletions", d->edits.deletions } };
    int64_t most = 0;
    for (int k = 0; k < 3; k++)
        if (kind[k].n > most) most = kind[k].n;
    fputs("<div><h3>Edits by kind</h3><table>", f);
    for (int k = 0; k < 3; k++) {
        fprintf(f, "<tr><th>%s</th>", kind[k].name);
        ct_html_meter(f, kind[k].n, most);
    }
    fputs("</table></div>\n", f);
}

static void confusions(FILE *f, const ct_text_findings *d)
{
    const ct_charset *cs = &d->facts->charset;
    char text[32];
    const ct_confusion *c;
    const int n = ct_confusions_most(&d->edits, CONFUSIONS, &c);
    fputs("<div><h3>Most frequent confusions (label read as)</h3>", f);
    if (n == 0) fputs("<p class=\"none\">None.</p>", f);
    fputs("<table>", f);
    for (int k = 0; k < n; k++) {
        fputs("<tr><td><code>", f);
        ct_svg_escape(f, ct_confusion_text(cs, c[k].label, text));
        fputs(" \xe2\x86\x92 ", f); /* arrow to the right */
        ct_svg_escape(f, ct_confusion_text(cs, c[k].pred, text));
        fputs("</code></td>", f);
        ct_html_meter(f, c[k].n, c[0].n);
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

static ct_status figure(FILE *f, const ct_text_findings *d, int64_t i)
{
    const ct_view *v = &d->base.view;
    const ct_charset *cs = &d->facts->charset;
    const int64_t s = ct_view_sample(v, i);
    const char *text = ct_dataset_label_text(v->data, s);
    ct_image im;
    uint8_t *png = NULL;
    size_t size = 0;
    int64_t chars;
    CT_TRY(ct_dataset_picture(v->data, s, &im));
    const int w = im.w, h = im.h;
    ct_status st = ct_image_encode_png(&im, &png, &size);
    ct_image_free(&im);
    if (st != CT_OK) return st;
    ct_html_figure(f, w, h, text, png, size);
    fputs("<code>", f);
    ct_svg_escape(f, text);
    fputs("</code> read as ", f);
    const int32_t *label = ct_found_label(d, i, &chars), *pred = d->pred + i * d->columns;
    if (d->sequence) st = marked(f, cs, label, chars, pred, ct_found_length(d, i));
    else marked_positions(f, cs, label, pred, d->columns);
    fprintf(f, "<small>%.1f %% sure; ", 100 * ct_found_confidence(d, i));
    ct_svg_escape(f, ct_dataset_name(v->data, s));
    fputs("</small></figcaption></figure>\n", f);
    ct_free(png);
    return st;
}

/* The sentence above the tables. */
static void summary(FILE *f, const ct_text_findings *d, const double sums[CT_METRIC_COUNT])
{
    const int64_t samples = (int64_t)sums[CT_METRIC_SAMPLES], strings = (int64_t)sums[CT_TEXT_STRINGS];
    const int64_t chars = (int64_t)sums[CT_TEXT_CHARS], edits = (int64_t)ct_text_edits(sums);
    fprintf(f, "<section><h2>Errors of the model</h2><p class=\"none\">%" PRId64 " of %" PRId64 " strings",
            samples - strings, samples);
    if (d->sequence)
        fprintf(f, " of the validation set are wrong; %" PRId64 " edits in %" PRId64 " characters.", edits, chars);
    else fprintf(f, " and %" PRId64 " of %" PRId64 " characters of the validation set are wrong.", edits, chars);
    if (sums[CT_TEXT_INFEASIBLE] > 0)
        fprintf(f, " %" PRId64 " labels do not fit into their image's time steps.", (int64_t)sums[CT_TEXT_INFEASIBLE]);
    fputs("</p>", f);
}

/* Pictures of strings that were read rightly or not, from the surest on or from the least sure on; at most `max`.
 * Returns how many through *shown. */
static ct_status gallery_of(FILE *f, const ct_text_grades *g, bool right, bool surest, int64_t max, int64_t *shown)
{
    const int64_t n = g->of->n;
    *shown = 0;
    for (int64_t k = 0; k < n && *shown < max; k++) {
        const int64_t i = g->order[surest ? k : n - 1 - k];
        if (g->right[i] != right) continue;
        CT_TRY(figure(f, g->of, i));
        ++*shown;
    }
    return CT_OK;
}

static ct_status galleries(FILE *f, const ct_text_grades *g, int64_t gallery)
{
    int64_t shown;
    fputs("<section><h2>Wrong predictions, the surest first</h2>\n<div class=\"gallery\">\n", f);
    CT_TRY(gallery_of(f, g, false, true, gallery, &shown));
    fputs("</div>", f);
    if (shown > 0 && g->of->sequence) fputs("<p class=\"none\">A dot stands for a character that was not read.</p>", f);
    if (shown == 0) fputs("<p class=\"none\">None: every validation string was read.</p>", f);
    fputs("</section>\n<section><h2>Right, but least sure</h2>\n<div class=\"gallery\">\n", f);
    CT_TRY(gallery_of(f, g, true, false, (gallery + 1) / 2, &shown));
    fputs("</div>", f);
    if (shown == 0) fputs("<p class=\"none\">None: no validation string was read.</p>", f);
    fputs("</section>\n", f);
    return CT_OK;
}

ct_status ct_text_report(const ct_findings *findings, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *f)
{
    const ct_text_findings *d = ct_text_findings_of(findings);
    ct_text_grades g;
    ct_status st;
    CT_TRY(ct_text_grade(d, &g));
    summary(f, d, sums);
    fputs("<div class=\"cols\">\n", f);
    if (d->sequence) edits(f, d);
    else positions(f, d);
    confusions(f, d);
    fputs("</div>\n", f);
    CT_GOTO(st, ct_text_grades_html(&g, f));
    st = gallery > 0 ? galleries(f, &g, gallery) : CT_OK;
fail:
    ct_text_grades_free(&g);
    return st;
}
