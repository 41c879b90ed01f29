/* What the model was shown: samples as training has them. */
#include "config.h"

#include "base/alloc.h"
#include "formats/html.h"
#include "formats/svg.h"
#include "report/report_html.h"
#include "session/augmented.h"

static ct_status figure(FILE *f, const ct_augmented *a, const char *name)
{
    uint8_t *png = NULL;
    size_t bytes = 0;
    CT_TRY(ct_image_encode_png(&a->image, &png, &bytes));
    ct_html_figure(f, a->image.w, a->image.h, a->label, png, bytes);
    fputs("<code>", f);
    ct_svg_escape(f, a->label);
    fputs("</code><small>", f);
    ct_svg_escape(f, name);
    fputs("</small></figcaption></figure>\n", f);
    ct_free(png);
    return CT_OK;
}

ct_status ct_report_samples(FILE *f, const ct_report *rep)
{
    const ct_run *r = rep->run;
    const int64_t most = r->cfg->report.gallery / 2;
    ct_augmented *a;
    int n;
    ct_status st = CT_OK;
    if (most == 0) return CT_OK;
    CT_TRY(ct_augmented_draw(&r->session, r->cfg, &r->data.train,
                             most < CT_AUGMENTED_MOST ? (int)most : CT_AUGMENTED_MOST, &a, &n));
    fputs("<section><h2>What the model was shown</h2><p class=\"none\">Training samples as the first epoch had them, "
          "resized and augmented; the next epoch has others.</p>\n<div class=\"gallery\">\n", f);
    for (int i = 0; i < n && st == CT_OK; i++) st = figure(f, &a[i], ct_dataset_name(r->data.train.data, a[i].sample));
    fputs("</div></section>\n", f);
    ct_augmented_free(a, n);
    return st;
}
