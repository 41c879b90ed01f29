/* What a scoring pass finds of dots, and how it is told. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/html.h"
#include "formats/svg.h"
#include "toy/toy.h"

typedef struct found {
    float x, y;     /* pixels */
    int32_t bright; /* 0, 1 */
    float conf;     /* probability of that */
    double off;     /* pixels from the label; 0 without one */
    bool right;     /* in its brightness */
} found;

typedef struct toy_findings {
    ct_findings base;
    found *f;       /* [view.n] */
    double squares; /* sum over the samples of the squared distance, pixels */
    double worst;   /* largest distance, pixels */
    int64_t bright; /* samples whose brightness is right */
} toy_findings;

static const toy_findings *of(const ct_findings *f) { return (const toy_findings *)f; }

/* ---- the pass ---- */

ct_status toy_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                   ct_findings **out)
{
    toy_findings *t = ct_calloc(1, sizeof *t, "findings");
    (void)option; /* there are none */
    (void)options;
    *out = NULL;
    if (!t) return CT_ENOMEM;
    t->base = (ct_findings){ .task = p->goal->task, .view = *v, .labels = labels, .want = { "where", "pred", "conf" } };
    t->f = ct_calloc((size_t)(v->n > 0 ? v->n : 1), sizeof *t->f, "findings");
    if (!t->f) {
        toy_drop(&t->base);
        return CT_ENOMEM;
    }
    *out = &t->base;
    return CT_OK;
}

void toy_drop(ct_findings *f)
{
    toy_findings *t = (toy_findings *)f;
    if (!t) return;
    ct_free(t->f);
    ct_free(t);
}

ct_status toy_collect(ct_findings *f, const ct_outcome *o)
{
    toy_findings *t = (toy_findings *)f;
    const int32_t *pred = o->output[1].host;
    for (int64_t i = 0; i < o->n; i++) {
        found *d = &t->f[o->place[i]];
        d->x = (float)ct_load(o->output[0].desc.dtype, o->output[0].host, 2 * i);
        d->y = (float)ct_load(o->output[0].desc.dtype, o->output[0].host, 2 * i + 1);
        d->bright = pred[i];
        d->conf = (float)ct_load(o->output[2].desc.dtype, o->output[2].host, i);
        if (!f->labels) continue;
        const toy_label label = toy_label_of(f->view.data, o->sample[i]);
        d->off = hypot((double)d->x - (double)label.x, (double)d->y - (double)label.y);
        d->right = d->bright == label.bright;
        t->squares += d->off * d->off;
        if (d->off > t->worst) t->worst = d->off;
        t->bright += d->right;
    }
    return CT_OK;
}

/* The device and the host agree; its sums are made of f32 numbers. */
ct_status toy_settle(ct_findings *f, double sums[CT_METRIC_COUNT])
{
    const toy_findings *t = of(f);
    if (!sums) return CT_OK;
    const double squares = 2.0 * TOY_SIZE * TOY_SIZE * sums[CT_METRIC_TERMS + TOY_TERM_POINT];
    if (t->bright != (int64_t)sums[TOY_BRIGHT_RIGHT] || !(fabs(squares - t->squares) <= 1e-3 * t->squares + 1e-6))
        return ct_fail(CT_EINTERNAL,
                       "scores disagree: on the device %.0f brightnesses right and %.6g px^2, "
                       "on the host %" PRId64 " and %.6g",
                       sums[TOY_BRIGHT_RIGHT], squares, t->bright, t->squares);
    return CT_OK;
}

bool toy_right(const ct_findings *f, int64_t i)
{
    const found *d = &of(f)->f[i];
    return d->right && d->off <= 1;
}

/* ---- eval, predict ---- */

ct_status toy_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into)
{
    CT_TRY(ct_json_set(into, "bright_right", json_integer((json_int_t)sums[TOY_BRIGHT_RIGHT])));
    return ct_json_set(into, "worst_px", ct_json_number(of(f)->worst));
}

ct_status toy_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to)
{
    fprintf(to, "distance         %.3f px  (at most %.3f)\n", toy_task.metric[TOY_RMSE].value(sums), of(f)->worst);
    fprintf(to, "brightness right %.2f %%\n", 100 * toy_task.metric[TOY_ACCURACY].value(sums));
    fprintf(to, "loss             %.5f\n", ct_metric_loss.value(sums));
    return CT_OK;
}

ct_status toy_predict_json(const ct_findings *f, int64_t i, json_t *into)
{
    const found *d = &of(f)->f[i];
    CT_TRY(ct_json_set(into, "point", json_pack("[o,o]", ct_json_number((double)d->x), ct_json_number((double)d->y))));
    CT_TRY(ct_json_set(into, "bright", json_boolean(d->bright)));
    return ct_json_set(into, "confidence", ct_json_number((double)d->conf));
}

ct_status toy_reading(const ct_findings *f, int64_t i, ct_reading_draft *into)
{
    const found *d = &of(f)->f[i];
    const double at[2] = { (double)d->x, (double)d->y };
    into->out.confidence = (double)d->conf;
    return ct_reading_add_point(into, "dot", at, (double)d->conf);
}

static const char *shade(int32_t bright) { return bright ? "bright" : "dark"; }

ct_status toy_predict_text(const ct_findings *f, int64_t i, FILE *to)
{
    const found *d = &of(f)->f[i];
    fprintf(to, "%.2f %.2f\t%s\t%.4f", (double)d->x, (double)d->y, shade(d->bright), (double)d->conf);
    return CT_OK;
}

ct_status toy_example(const ct_findings *f, int64_t i, char **label, char **predicted)
{
    const found *d = &of(f)->f[i];
    const toy_label l = toy_label_of(f->view.data, ct_view_sample(&f->view, i));
    *label = ct_asprintf("%.2f %.2f %s", (double)l.x, (double)l.y, shade(l.bright));
    *predicted = ct_asprintf("%.2f %.2f %s", (double)d->x, (double)d->y, shade(d->bright));
    if (*label && *predicted) return CT_OK;
    ct_free(*label);
    ct_free(*predicted);
    *label = *predicted = NULL;
    return CT_ENOMEM;
}

/* ---- report ---- */

#define ZOOM 4 /* of the pictures */

/* A cross of one colour at (x, y), pixels of the small picture. */
static void cross(ct_image *im, double x, double y, const uint8_t rgb[3])
{
    const int cx = (int)(x * ZOOM), cy = (int)(y * ZOOM);
    for (int k = -ZOOM; k <= ZOOM; k++) {
        const int at[2][2] = { { cx + k, cy }, { cx, cy + k } };
        for (int a = 0; a < 2; a++)
            if (at[a][0] >= 0 && at[a][0] < im->w && at[a][1] >= 0 && at[a][1] < im->h)
                memcpy(im->px + 3 * (at[a][1] * im->w + at[a][0]), rgb, 3);
    }
}

/* The picture, enlarged, with the label green and what was found red. */
static ct_status overlay(const ct_findings *f, int64_t i, ct_image *out)
{
    static const uint8_t green[3] = { 0, 200, 0 }, red[3] = { 230, 0, 0 };
    const int64_t sample = ct_view_sample(&f->view, i);
    const toy_label l = toy_label_of(f->view.data, sample);
    ct_image gray, large = { 0 };
    CT_TRY(ct_dataset_picture(f->view.data, sample, &gray));
    ct_status st = ct_image_resize_bilinear(&gray, ZOOM * gray.w, ZOOM * gray.h, &large);
    if (st == CT_OK) st = ct_image_make(large.w, large.h, 3, 0, out);
    if (st == CT_OK) {
        for (int k = 0; k < 3 * large.w * large.h; k++) out->px[k] = large.px[k / 3];
        cross(out, (double)l.x, (double)l.y, green);
        cross(out, (double)of(f)->f[i].x, (double)of(f)->f[i].y, red);
    }
    ct_image_free(&gray);
    ct_image_free(&large);
    return st;
}

static ct_status figure(const ct_findings *f, int64_t i, FILE *to)
{
    const int64_t sample = ct_view_sample(&f->view, i);
    ct_image im;
    uint8_t *png = NULL;
    size_t size = 0;
    CT_TRY(overlay(f, i, &im));
    ct_status st = ct_image_encode_png(&im, &png, &size);
    if (st == CT_OK) {
        ct_html_figure(to, im.w, im.h, ct_dataset_label_text(f->view.data, sample), png, size);
        fprintf(to, "%.2f px off<small>", of(f)->f[i].off);
        ct_svg_escape(to, ct_dataset_name(f->view.data, sample));
        fputs("</small></figcaption></figure>\n", to);
    }
    ct_image_free(&im);
    ct_free(png);
    return st;
}

typedef struct ranked {
    double off;
    int64_t i;
} ranked;

static int by_distance(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->off != y->off) return x->off > y->off ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

ct_status toy_report(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to)
{
    const toy_findings *t = of(f);
    const int64_t n = f->view.n;
    ct_status st = CT_OK;
    fprintf(to,
            "<section><h2>Errors of the model</h2>"
            "<p class=\"none\">%.3f px on average over %" PRId64 " dots, at most %.3f px.</p>\n",
            toy_task.metric[TOY_RMSE].value(sums), n, t->worst);
    ranked *r = ct_calloc((size_t)n + 1, sizeof *r, "worst samples");
    if (!r) return CT_ENOMEM;
    for (int64_t i = 0; i < n; i++) r[i] = (ranked){ t->f[i].off, i };
    qsort(r, (size_t)n, sizeof *r, by_distance);
    fputs("<h2>Furthest off</h2>\n<div class=\"gallery\">\n", to);
    for (int64_t k = 0; k < n && k < gallery; k++) CT_GOTO(st, figure(f, r[k].i, to));
    fputs("</div><p class=\"none\">Green: the label; red: what was found.</p></section>\n", to);
fail:
    ct_free(r);
    return st;
}
