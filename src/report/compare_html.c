/* captrain compare --html: one self-contained page. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/version.h"
#include "formats/svg.h"
#include "report/compare.h"
#include "report/report_html.h"

static ct_status row_html(void *user, const char *what, char *const *text, const bool *best)
{
    FILE *f = user;
    fputs("<tr><th>", f);
    ct_svg_escape(f, what);
    fputs("</th>", f);
    for (size_t i = 0; text[i]; i++) {
        fputs(best && best[i] ? "<td><b title=\"the best\">" : "<td>", f);
        ct_svg_escape(f, text[i]);
        fputs(best && best[i] ? "</b></td>" : "</td>", f);
    }
    fputs("</tr>\n", f);
    return CT_OK;
}

/* The same curve of all runs of a task (NULL: of all), as many as a plot has colours for. */
static ct_status plot(FILE *f, const char *title, const char *unit, const ct_compared *run, size_t n, size_t curve,
                      const ct_task *task)
{
    ct_svg_series s[CT_SVG_MAX_SERIES];
    char *name[CT_SVG_MAX_SERIES] = { NULL };
    size_t count = 0;
    ct_status st = CT_OK;
    for (size_t i = 0; i < n && count < CT_SVG_MAX_SERIES; i++) {
        const ct_compared_curve *const all[] = { &run[i].loss, &run[i].val_loss, &run[i].score }, *c = all[curve];
        if (c->n == 0 || (task && run[i].task != task)) continue;
        if (!(name[count] = ct_compared_name(&run[i]))) CT_GOTO(st, CT_ENOMEM);
        s[count] = (ct_svg_series){ name[count], c->x, c->y, c->n, false, curve > 0 && c->n <= 40 };
        count++;
    }
    if (count == 0) goto fail;
    const ct_svg_plot p = { title, "step", unit && *unit ? unit : NULL, 460, 280, false, curve == 2, s, count };
    fputs("<div>", f);
    CT_GOTO(st, ct_svg_write(f, &p));
    fputs("</div>\n", f);
fail:
    for (size_t i = 0; i < CT_SVG_MAX_SERIES; i++) ct_free(name[i]);
    return st;
}

static ct_status plots(FILE *f, const ct_compared *run, size_t n)
{
    fputs("<section><h2>Curves</h2><div class=\"plots\">\n", f);
    for (size_t i = 0; i < n; i++) {
        const ct_metric_row *m = ct_compared_lead(&run[i]);
        bool again = false;
        for (size_t k = 0; k < i; k++) again |= run[k].task == run[i].task;
        char title[160];
        snprintf(title, sizeof title, "%s, validation", m->label);
        if (!again) CT_TRY(plot(f, title, m->unit, run, n, 2, run[i].task));
    }
    CT_TRY(plot(f, "Loss, training", NULL, run, n, 0, NULL));
    CT_TRY(plot(f, "Loss, validation", NULL, run, n, 1, NULL));
    fputs("</div>", f);
    if (n > CT_SVG_MAX_SERIES)
        fprintf(f, "<p class=\"none\">The first %d runs that have such a curve are drawn.</p>", CT_SVG_MAX_SERIES);
    fputs("</section>\n", f);
    return CT_OK;
}

static ct_status page(FILE *f, const ct_compared *run, size_t n)
{
    fputs("\xef\xbb\xbf<!DOCTYPE html>\n<html lang=\"en\"><head>"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
          "<title>Runs compared \xe2\x80\x93 captrain</title>", f);
    fprintf(f, "<style>%s</style></head><body><main>\n<header><h1>%zu runs compared</h1><p>captrain %s</p></header>\n",
            ct_report_style, n, ct_version());
    fputs("<section><h2>Results</h2><div class=\"scroll\"><table class=\"runs\">\n", f);
    CT_TRY(ct_compare_rows(run, n, row_html, f));
    fputs("</table></div></section>\n", f);
    CT_TRY(plots(f, run, n));
    fputs("<section><h2>Keys that differ</h2><div class=\"scroll\"><table class=\"runs\">\n", f);
    CT_TRY(ct_compare_keys(run, n, row_html, f));
    fputs("</table></div></section>\n</main></body></html>\n", f);
    return CT_OK;
}

ct_status ct_compare_html(const char *path, const ct_compared *run, size_t n)
{
    ct_printed to;
    CT_TRY(ct_printed_open(&to, path));
    return ct_printed_close(&to, page(to.f, run, n));
}
