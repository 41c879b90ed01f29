/* Grades as a section of report.html. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "formats/svg.h"
#include "task/text/grades.h"

#define HEAT_CHARACTERS 14 /* rows and columns at most */
#define WORST_CHARACTERS 16
#define COVERAGE_POINTS 100

static double percent(ct_grade g)
{
    return g.n > 0 ? 100 * (double)g.right / (double)g.n : 0;
}

/* ---- confusions ---- */

static int by_number(const void *pa, const void *pb)
{
    const int a = *(const int *)pa, b = *(const int *)pb;
    return a < b ? -1 : a > b;
}

/* The characters of the most frequent confusions, ascending: id [returned]. */
static int confused(const ct_confusions *c, int id[HEAT_CHARACTERS])
{
    int n = 0;
    for (size_t k = 0; k < c->n; k++) {
        const int both[2] = { c->list[k].label, c->list[k].pred };
        for (int s = 0; s < 2; s++) {
            bool in = both[s] < 0;
            for (int j = 0; j < n && !in; j++) in = id[j] == both[s];
            if (!in && n < HEAT_CHARACTERS) id[n++] = both[s];
        }
    }
    qsort(id, (size_t)n, sizeof *id, by_number);
    return n;
}

static int64_t times(const ct_confusions *c, int label, int pred)
{
    for (size_t k = 0; k < c->n; k++)
        if (c->list[k].label == label && c->list[k].pred == pred) return c->list[k].n;
    return 0;
}

static void heat_head(FILE *f, const ct_charset *cs, const char *tag, int id)
{
    char text[32];
    fprintf(f, "<th scope=\"%s\">", tag);
    ct_svg_escape(f, id < 0 ? "\xe2\x88\x85" : ct_confusion_text(cs, id, text)); /* empty set */
    fputs("</th>", f);
}

static void heat_cell(FILE *f, const ct_text_grades *g, int label, int pred)
{
    const ct_charset *cs = &g->of->facts->charset;
    const ct_confusions *c = &g->of->edits;
    char a[32], b[32];
    const int64_t n = label == pred ? g->character[label].right : times(c, label, pred);
    fputs("<td", f);
    if (label == pred) fputs(" class=\"ok\"", f);
    else if (n > 0)
        fprintf(f, " style=\"background:rgba(208,72,56,%.2f)\"", 0.12 + 0.6 * (double)n / (double)c->list[0].n);
    fputs(" title=\"", f);
    ct_svg_escape(f, ct_confusion_text(cs, label, a));
    fputs(" read as ", f);
    ct_svg_escape(f, ct_confusion_text(cs, pred, b));
    fprintf(f, ": %" PRId64, n);
    if (label >= 0) fprintf(f, " of %" PRId64, g->character[label].n);
    fputs("\">", f);
    if (n > 0) fprintf(f, "%" PRId64, n);
    fputs("</td>", f);
}

static void heat(FILE *f, const ct_text_grades *g)
{
    const ct_charset *cs = &g->of->facts->charset;
    int id[HEAT_CHARACTERS + 1];
    int n = confused(&g->of->edits, id);
    if (n == 0) return;
    if (g->of->sequence) id[n++] = -1; /* characters that were not read, or not there */
    fputs("<h3>Confusions: label (row) read as (column)</h3><div class=\"heat\"><table><tr><th></th>", f);
    for (int k = 0; k < n; k++) heat_head(f, cs, "col", id[k]);
    fputs("</tr>\n", f);
    for (int r = 0; r < n; r++) {
        fputs("<tr>", f);
        heat_head(f, cs, "row", id[r]);
        for (int k = 0; k < n; k++) {
            if (id[r] < 0 && id[k] < 0) fputs("<td></td>", f);
            else heat_cell(f, g, id[r], id[k]);
        }
        fputs("</tr>\n", f);
    }
    fputs("</table></div>", f);
    if (g->of->characters > HEAT_CHARACTERS)
        fputs("<p class=\"none\">The characters of the largest confusions.</p>", f);
    fputs("\n", f);
}

/* ---- rates ---- */

static void rate(FILE *f, const char *name, ct_grade g)
{
    fputs("<tr><th class=\"n\">", f);
    ct_svg_escape(f, name);
    fprintf(f, "</th><td class=\"wide\" title=\"%" PRId64 " of %" PRId64 "\">", g.right, g.n);
    fprintf(f, "<div class=\"meter\" style=\"width:%.1f%%\"></div></td>"
               "<td class=\"n\">%.1f %% of %" PRId64 "</td></tr>\n",
            percent(g), percent(g), g.n);
}

typedef struct worst {
    ct_grade g;
    int id;
} worst;

static int by_accuracy(const void *pa, const void *pb)
{
    const worst *a = pa, *b = pb;
    const double x = percent(a->g), y = percent(b->g);
    if (x != y) return x < y ? -1 : 1;
    if (a->g.n != b->g.n) return a->g.n > b->g.n ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static ct_status characters(FILE *f, const ct_text_grades *g)
{
    const int all = g->of->characters;
    char text[32];
    int n = 0;
    worst *w = ct_calloc((size_t)all + 1, sizeof *w, "characters");
    if (!w) return CT_ENOMEM;
    for (int c = 0; c < all; c++)
        if (g->character[c].n > 0) w[n++] = (worst){ g->character[c], c };
    qsort(w, (size_t)n, sizeof *w, by_accuracy);
    fputs("<div><h3>Right, by character (worst first)</h3><table>", f);
    for (int k = 0; k < n && k < WORST_CHARACTERS; k++)
        rate(f, ct_confusion_text(&g->of->facts->charset, w[k].id, text), w[k].g);
    fputs("</table>", f);
    if (n > WORST_CHARACTERS)
        fprintf(f, "<p class=\"none\">and %d more, each at least as good</p>", n - WORST_CHARACTERS);
    fputs("</div>\n", f);
    ct_free(w);
    return CT_OK;
}

/* Only where lengths differ. */
static void lengths(FILE *f, const ct_text_grades *g)
{
    char text[16];
    int different = 0;
    for (int n = 0; n <= CT_LABEL_MAX; n++) different += g->length[n].n > 0;
    if (different < 2) return;
    fputs("<div><h3>Strings right, by length of the label</h3><table>", f);
    for (int n = 0; n <= CT_LABEL_MAX; n++) {
        if (g->length[n].n == 0) continue;
        snprintf(text, sizeof text, "%d", n);
        rate(f, text, g->length[n]);
    }
    fputs("</table></div>\n", f);
}

/* ---- confidence ---- */

static ct_status plot(FILE *f, const char *title, const char *x, const char *y, const ct_svg_series *s, size_t n)
{
    const ct_svg_plot p = { title, x, y, 460, 280, false, true, s, n };
    fputs("<div>", f);
    CT_TRY(ct_svg_write(f, &p));
    fputs("</div>\n", f);
    return CT_OK;
}

/* Accuracy of the most certain x %. */
static ct_status coverage(FILE *f, const ct_text_grades *g)
{
    double x[COVERAGE_POINTS], y[COVERAGE_POINTS];
    const int64_t n = g->of->n, points = n < COVERAGE_POINTS ? n : COVERAGE_POINTS;
    int64_t right = 0, done = 0;
    for (int64_t k = 0; k < points; k++) {
        for (const int64_t end = n * (k + 1) / points; done < end; done++) right += g->right[g->order[done]];
        x[k] = 100 * (double)done / (double)n;
        y[k] = 100 * (double)right / (double)done;
    }
    const ct_svg_series s = { "right", x, y, (size_t)points, false, false };
    return plot(f, "Strings right of the surest x %", "surest strings, %", "%", &s, 1);
}

static ct_status reliability(FILE *f, const ct_text_grades *g)
{
    const double ideal[2] = { 0, 100 };
    double x[CT_RELIABILITY_BINS], y[CT_RELIABILITY_BINS];
    size_t n = 0;
    for (int b = 0; b < CT_RELIABILITY_BINS; b++) {
        if (g->bin[b].n == 0) continue;
        x[n] = 100 * g->bin_sure[b] / (double)g->bin[b].n;
        y[n++] = percent(g->bin[b]);
    }
    const ct_svg_series s[2] = { { "right", x, y, n, false, true },
                                 { "as sure as right", ideal, ideal, 2, true, false } };
    return plot(f, "Reliability", "confidence, %", "%", s, 2);
}

ct_status ct_text_grades_html(const ct_text_grades *g, FILE *f)
{
    heat(f, g);
    fputs("<div class=\"cols\">\n", f);
    CT_TRY(characters(f, g));
    lengths(f, g);
    fputs("</div></section>\n", f);
    if (g->of->n == 0) return CT_OK;
    fputs("<section><h2>Confidence</h2><div class=\"plots\">\n", f);
    CT_TRY(coverage(f, g));
    CT_TRY(reliability(f, g));
    fprintf(f,
            "</div><p class=\"none\">Calibration error (%d bins): %.3f. Where it is 0, 90 %% of the strings read "
            "with a confidence of 90 %% are right.</p></section>\n",
            CT_RELIABILITY_BINS, g->ece);
    return CT_OK;
}
