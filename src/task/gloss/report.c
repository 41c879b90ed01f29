/* What the best weights get wrong: by signer, by length, by word, and clip by clip, as strips of frames with what was
 * read below what is signed. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/html.h"
#include "formats/svg.h"
#include "task/gloss/findings.h"

enum { CONFUSIONS = 12, STRIP = 8 /* frames */, SIDE = 96 /* pixels of a frame in a strip, at most */ };

/* ---- tables ---- */

static void edits(FILE *f, const ct_gloss_findings *t)
{
    const struct { const char *name; int64_t n; } kind[] = { { "substitutions", t->edits.substitutions },
                                                             { "deletions", t->edits.deletions },
                                                             { "insertions", t->edits.insertions } };
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

static void confusions(FILE *f, const ct_gloss_findings *t)
{
    const ct_confusion *c;
    const int n = ct_confusions_most(&t->edits, CONFUSIONS, &c);
    fputs("<div><h3>Most frequent confusions (label read as)</h3>", f);
    if (n == 0) fputs("<p class=\"none\">None.</p>", f);
    fputs("<table>", f);
    for (int k = 0; k < n; k++) {
        fputs("<tr><td><code>", f);
        ct_svg_escape(f, ct_signed_word(t, c[k].label));
        fputs(" \xe2\x86\x92 ", f); /* arrow to the right */
        ct_svg_escape(f, ct_signed_word(t, c[k].pred));
        fputs("</code></td>", f);
        ct_html_meter(f, c[k].n, c[0].n);
    }
    fputs("</table></div>\n", f);
}

/* Word errors of parts of the samples, per mille, as bars. */
static void parts(FILE *f, const char *title, const ct_gloss_part *part, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++) {
        const double wer = part[k].words > 0 ? (double)part[k].edits / (double)part[k].words : 0;
        if (wer > most) most = wer;
    }
    fprintf(f, "<div><h3>%s</h3><table>", title);
    for (size_t k = 0; k < n; k++) {
        const double wer = part[k].words > 0 ? (double)part[k].edits / (double)part[k].words : 0;
        fputs("<tr><th>", f);
        if (!part[k].name) fprintf(f, "%" PRId64 " gloss%s", part[k].length, part[k].length == 1 ? "" : "es");
        else ct_svg_escape(f, *part[k].name ? part[k].name : "not known");
        fprintf(f, "</th><td style=\"width:40%%;vertical-align:middle\">"
                "<div class=\"meter\" style=\"width:%.1f%%\"></div></td>"
                "<td class=\"n\">%.1f %%</td><td class=\"n\">%" PRId64 " clip%s</td></tr>",
                most > 0 ? 100 * wer / most : 0, 100 * wer, part[k].samples, part[k].samples == 1 ? "" : "s");
    }
    fputs("</table></div>\n", f);
}

static ct_status by_parts(FILE *f, const ct_gloss_findings *t)
{
    ct_gloss_part *part;
    size_t n;
    CT_TRY(ct_gloss_by_signer(t, &part, &n));
    if (n > 1 || (n == 1 && *part[0].name)) parts(f, "Word errors by signer", part, n);
    ct_free(part);
    CT_TRY(ct_gloss_by_length(t, &part, &n));
    parts(f, "Word errors by length", part, n);
    ct_free(part);
    return CT_OK;
}

/* ---- clips ---- */

/* Frames of a clip, evenly spaced, side by side: RGB or gray as the set is. */
static ct_status strip(const ct_dataset *ds, int64_t sample, ct_image *out)
{
    const int frames = ct_dataset_frames(ds, sample), n = frames < STRIP ? frames : STRIP;
    const int h = ct_dataset_height(ds), w = ct_dataset_width(ds), longer = h > w ? h : w;
    const int side_h = longer > SIDE ? h * SIDE / longer : h, side_w = longer > SIDE ? w * SIDE / longer : w;
    const size_t c = (size_t)ct_dataset_channels(ds);
    ct_status st = CT_OK;
    CT_TRY(ct_image_make(n * (side_w > 0 ? side_w : 1), side_h > 0 ? side_h : 1, (int)c, 0, out));
    for (int k = 0; k < n && st == CT_OK; k++) {
        ct_image im, small;
        st = ct_dataset_frame(ds, sample, (int)ct_clip_thin(frames, n, k), &im);
        if (st != CT_OK) break;
        st = ct_image_resize_bilinear(&im, out->w / n, out->h, &small);
        ct_image_free(&im);
        if (st != CT_OK) break;
        const size_t row = (size_t)small.w * c, all = (size_t)out->w * c;
        for (int y = 0; y < out->h; y++)
            memcpy(out->px + (size_t)y * all + (size_t)k * row, small.px + (size_t)y * row, row);
        ct_image_free(&small);
    }
    if (st != CT_OK) ct_image_free(out);
    return st;
}

/* A cell of an alignment, by its edit: substitution, deletion, insertion or none. */
static const char *cell(const ct_edit_pair *p)
{
    if (p->label == p->pred) return "<td>";
    return p->pred < 0 ? "<td class=\"d\">" : p->label < 0 ? "<td class=\"i\">" : "<td class=\"x\">";
}

/* One row of an alignment: labels, or predictions. */
static void aligned_row(FILE *f, const ct_gloss_findings *t, const ct_edit *e, bool label)
{
    fprintf(f, "<tr><th>%s</th>", label ? "label" : "read");
    for (int64_t k = 0; k < e->pairs; k++) {
        const int32_t word = label ? e->pair[k].label : e->pair[k].pred;
        fputs(cell(&e->pair[k]), f);
        if (word < 0) fputs("\xc2\xb7", f); /* a dot: nothing there */
        else ct_svg_escape(f, ct_signed_word(t, word));
        fputs("</td>", f);
    }
    fputs("</tr>", f);
}

static ct_status alignment(FILE *f, const ct_gloss_findings *t, int64_t i)
{
    ct_edit e = { 0 };
    int64_t words, n;
    const int32_t *label = ct_signed_label(t, i, &words), *read = ct_signed_read(t, i, &n);
    const ct_status st = ct_edit_align(&e, label, words, read, n);
    if (st == CT_OK) {
        fputs("<div class=\"scroll\"><table class=\"aligned\">", f);
        aligned_row(f, t, &e, true);
        aligned_row(f, t, &e, false);
        fputs("</table></div>", f);
    }
    ct_edit_free(&e);
    return st;
}

static ct_status figure(FILE *f, const ct_gloss_findings *t, int64_t i)
{
    const ct_view *v = &t->base.view;
    const int64_t s = ct_view_sample(v, i);
    ct_image im;
    uint8_t *png = NULL;
    size_t size = 0;
    CT_TRY(strip(v->data, s, &im));
    const int w = im.w, h = im.h;
    ct_status st = ct_image_encode_png(&im, &png, &size);
    ct_image_free(&im);
    if (st != CT_OK) return st;
    ct_html_figure(f, w, h, ct_dataset_label_text(v->data, s), png, size);
    ct_free(png);
    CT_TRY(alignment(f, t, i));
    fprintf(f, "<small>%d edit%s, %.1f %% sure, %d frames; ", t->edited[i], t->edited[i] == 1 ? "" : "s",
            100 * ct_signed_confidence(t, i), ct_dataset_frames(v->data, s));
    ct_svg_escape(f, ct_dataset_name(v->data, s));
    fputs("</small></figcaption></figure>\n", f);
    return CT_OK;
}

/* A clip and how wrong it was read. */
typedef struct wrong {
    int64_t i;
    double share; /* edits / glosses */
} wrong;

static int by_share(const void *a, const void *b)
{
    const wrong *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* The worst clips first. */
static ct_status gallery_of(FILE *f, const ct_gloss_findings *t, int64_t most)
{
    int64_t n = 0;
    wrong *w = ct_calloc(t->n > 0 ? (size_t)t->n : 1, sizeof *w, "clips of the report");
    ct_status st = CT_OK;
    if (!w) return CT_ENOMEM;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t words;
        ct_signed_label(t, i, &words);
        if (t->edited[i] > 0) w[n++] = (wrong){ i, (double)t->edited[i] / (double)(words > 0 ? words : 1) };
    }
    qsort(w, (size_t)n, sizeof *w, by_share);
    fputs("<section><h2>Wrong predictions</h2>\n<div class=\"films\">\n", f);
    for (int64_t k = 0; k < n && k < most && st == CT_OK; k++) st = figure(f, t, w[k].i);
    fputs("</div>", f);
    if (n > 0) fputs("<p class=\"none\">The worst first. A dot stands for a word that is not there: "
                     "<span class=\"aligned\"><span class=\"d\">not read</span>, or <span class=\"i\">read where there "
                     "is none</span>; <span class=\"x\">read as another</span></span>.</p>", f);
    else fputs("<p class=\"none\">None: every validation clip was read.</p>", f);
    fputs("</section>\n", f);
    ct_free(w);
    return st;
}

ct_status ct_gloss_report(const ct_findings *findings, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *f)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(findings);
    fprintf(f, "<section><h2>Errors of the model</h2><p class=\"none\">%.0f of %.0f sentences of the validation "
            "set are wrong; %.0f edits in %.0f glosses.", sums[CT_METRIC_SAMPLES] - sums[CT_GLOSS_SENTENCES],
            sums[CT_METRIC_SAMPLES], sums[CT_GLOSS_EDITS], sums[CT_GLOSS_WORDS]);
    if (sums[CT_GLOSS_INFEASIBLE] > 0)
        fprintf(f, " %.0f labels do not fit into their clips' time steps.", sums[CT_GLOSS_INFEASIBLE]);
    fputs("</p><div class=\"cols\">\n", f);
    edits(f, t);
    confusions(f, t);
    CT_TRY(by_parts(f, t));
    fputs("</div></section>\n", f);
    return gallery > 0 ? gallery_of(f, t, gallery) : CT_OK;
}
