#include "config.h"

#include "task/slider/findings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shortest.h"

/* ---- beginning and end ---- */

/* Places that are shown whatever was found there: drawn by lot, the same in every run. */
static void draw_lots(ct_slider_kept *k, int n, int64_t all)
{
    ct_rng rng;
    ct_rng_init(&rng, 1, CT_RNG_SPLIT, 1);
    for (int i = 0; i < n && i < all; i++) {
        bool again = true;
        while (again) {
            k[i].i = (int64_t)ct_rng_below(&rng, (uint64_t)all);
            again = false;
            for (int j = 0; j < i; j++) again |= k[j].i == k[i].i;
        }
    }
}

static ct_status make_room(ct_slider_findings *t, const ct_config *cfg)
{
    const ct_cfg_visualization *v = &cfg->eval.visualization;
    const int64_t want[CT_SLIDER_KEPT] = { v->num_best_samples, v->num_worst_samples, v->num_heatmap_samples };
    t->heatmaps = v->save_heatmaps;
    for (int k = 0; k < CT_SLIDER_KEPT && v->save_predictions; k++) {
        t->keep[k] = (int)(want[k] < t->base.view.n ? want[k] : t->base.view.n);
        t->kept[k] = ct_calloc((size_t)t->keep[k] + 1, sizeof *t->kept[k], "samples to show");
        if (!t->kept[k]) return CT_ENOMEM;
        for (int i = 0; i < t->keep[k]; i++) t->kept[k][i].i = -1;
    }
    if (t->kept[CT_SLIDER_RANDOM]) draw_lots(t->kept[CT_SLIDER_RANDOM], t->keep[CT_SLIDER_RANDOM], t->base.view.n);
    return CT_OK;
}

ct_status ct_slider_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                         ct_findings **out)
{
    ct_slider_findings *t = ct_calloc(1, sizeof *t, "findings");
    (void)option; /* there are none */
    (void)options;
    *out = NULL;
    if (!t) return CT_ENOMEM;
    t->base = (ct_findings){ .task = p->goal->task, .view = *v, .labels = labels,
                             .want = { "found", "conf", "angle", labels ? "heat" : NULL } };
    t->unit = (double)CT_SLIDER_WIDTH / (double)p->model->width;
    t->turned = p->goal->value[CT_SLIDER_W_ANGLE] > 0;
    t->map_h = (int)(p->model->height / CT_SLIDER_STRIDE);
    t->map_w = (int)(p->model->width / CT_SLIDER_STRIDE);
    t->f = ct_calloc((size_t)(v->n > 0 ? v->n : 1), sizeof *t->f, "findings");
    ct_status st = t->f ? CT_OK : CT_ENOMEM;
    if (st == CT_OK && labels && p->cfg) st = make_room(t, p->cfg);
    if (st == CT_OK) *out = &t->base;
    else ct_slider_drop(&t->base);
    return st;
}

void ct_slider_drop(ct_findings *f)
{
    ct_slider_findings *t = (ct_slider_findings *)f;
    if (!t) return;
    for (int k = 0; k < CT_SLIDER_KEPT; k++) {
        for (int i = 0; i < t->keep[k] && t->kept[k]; i++) ct_free(t->kept[k][i].heat);
        ct_free(t->kept[k]);
    }
    ct_free(t->f);
    ct_free(t);
}

/* ---- places ---- */

ct_status ct_slider_label_of(const ct_findings *f, int64_t i, ct_slider_label *out)
{
    const int64_t s = ct_view_sample(&f->view, i);
    return ct_slider_label_parse(ct_dataset_name(f->view.data, s), ct_dataset_label_text(f->view.data, s), out);
}

void ct_slider_original(const ct_findings *f, int64_t i, const double at[2], double out[2])
{
    ct_fit fit;
    ct_dataset_fit(f->view.data, ct_view_sample(&f->view, i), &fit);
    for (int k = 0; k < 2; k++) out[k] = (at[k] - fit.shift[k]) / fit.scale[k];
}

/* ---- a batch ---- */

/* Numbers of a pass that one sample adds to. */
static void count(const ct_slider_found *d, double *sums)
{
    for (int kind = 0; kind < 2; kind++) {
        double *s = sums + kind * CT_SLIDER_PIXEL_SUMS;
        const double e = ct_slider_error(d, kind);
        s[CT_SLIDER_SUM_ERROR] += e;
        s[CT_SLIDER_SUM_SQUARE] += e * e;
        s[CT_SLIDER_SUM_GAP] += d->error[kind][0];
        s[CT_SLIDER_SUM_PIECE] += d->error[kind][1];
        s[CT_SLIDER_SUM_1] += e <= 1;
        s[CT_SLIDER_SUM_2] += e <= 2;
        s[CT_SLIDER_SUM_5] += e <= 5;
    }
    sums[CT_SLIDER_SUM_DISTANCE] += d->distance;
    sums[CT_SLIDER_SUM_DISTANCE_2] += d->distance <= 2;
    sums[CT_SLIDER_SUM_DISTANCE_5] += d->distance <= 5;
    sums[CT_SLIDER_SUM_COUNTED]++;
}

static void judge(ct_slider_findings *t, int64_t sample, ct_slider_found *d)
{
    const float *truth = ct_dataset_field(t->base.view.data, CT_SLIDER_POINTS, sample);
    const float *scale = ct_dataset_field(t->base.view.data, CT_SLIDER_SCALE, sample);
    double along[2];
    for (int k = 0; k < 2; k++) {
        const double dx = d->at[k][0] - (double)truth[2 * k], dy = d->at[k][1] - (double)truth[2 * k + 1];
        const double e = (fabs(dx) + fabs(dy)) / 2;
        d->error[0][k] = e * t->unit;
        d->error[1][k] = e / (double)*scale;
        along[k] = dx / (double)*scale;
    }
    d->distance = fabs(along[0] - along[1]);
    count(d, t->sums);
}

/* The direction [h,w,2] = (sin, cos) at the cell of the gap, in degrees. */
static double angle_at(const ct_outcome *o, int k, int64_t i, const double at[2])
{
    const ct_desc *d = &o->output[k].desc;
    const int64_t h = d->dim[1], w = d->dim[2];
    if (!isfinite(at[0]) || !isfinite(at[1])) return NAN;
    int64_t x = (int64_t)floor(at[0] / CT_SLIDER_STRIDE), y = (int64_t)floor(at[1] / CT_SLIDER_STRIDE);
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    const int64_t cell = ((i * h + y) * w + x) * 2;
    return atan2(ct_load(d->dtype, o->output[k].host, cell), ct_load(d->dtype, o->output[k].host, cell + 1)) *
           (180 / M_PI);
}

/* ---- samples to show ---- */

/* What the maps of row i say, as 0..255; NULL without memory. */
static uint8_t *heat_of(const ct_slider_findings *t, const ct_outcome *o, int k, int64_t i)
{
    const int64_t n = (int64_t)t->map_h * t->map_w * 2;
    uint8_t *heat = ct_malloc((size_t)n, "a heatmap");
    for (int64_t j = 0; heat && j < n; j++) {
        const double v = 1 / (1 + exp(-ct_load(o->output[k].desc.dtype, o->output[k].host, i * n + j)));
        heat[j] = (uint8_t)(isfinite(v) ? lround(255 * v) : 0);
    }
    return heat;
}

/* Whether error a stands in front of b in a list. */
static bool before(int list, double a, double b) { return list == CT_SLIDER_BEST ? a < b : a > b; }

static ct_status keep(ct_slider_findings *t, int list, const ct_outcome *o, int64_t row, int64_t place, double error)
{
    ct_slider_kept *k = t->kept[list];
    const int n = t->keep[list];
    int at = 0;
    if (n == 0) return CT_OK;
    if (list == CT_SLIDER_RANDOM) {
        while (at < n && k[at].i != place) at++;
        if (at == n) return CT_OK;
    } else {
        while (at < n && k[at].i >= 0 && !before(list, error, k[at].error)) at++;
        if (at == n) return CT_OK;
        ct_free(k[n - 1].heat);
        memmove(k + at + 1, k + at, (size_t)(n - 1 - at) * sizeof *k);
    }
    k[at] = (ct_slider_kept){ .i = place, .error = error, .heat = heat_of(t, o, 3, row) };
    return k[at].heat ? CT_OK : CT_ENOMEM;
}

ct_status ct_slider_collect(ct_findings *f, const ct_outcome *o)
{
    ct_slider_findings *t = (ct_slider_findings *)f;
    for (int64_t i = 0; i < o->n; i++) {
        ct_slider_found *d = &t->f[o->place[i]];
        for (int k = 0; k < 4; k++)
            d->at[k / 2][k % 2] = ct_load(o->output[0].desc.dtype, o->output[0].host, 4 * i + k);
        for (int k = 0; k < 2; k++)
            d->conf[k] = ct_shortest_float((float)ct_load(o->output[1].desc.dtype, o->output[1].host, 2 * i + k));
        d->angle = angle_at(o, 2, i, d->at[0]);
        if (!f->labels) continue;
        judge(t, o->sample[i], d);
        for (int list = 0; list < CT_SLIDER_KEPT; list++)
            CT_TRY(keep(t, list, o, i, o->place[i], ct_slider_error(d, 0)));
    }
    return CT_OK;
}

/* The device counts in f32, the host in f64; a sample on the edge of a hit may fall to either side. */
ct_status ct_slider_settle(ct_findings *f, double sums[CT_METRIC_COUNT])
{
    const ct_slider_findings *t = ct_slider_findings_of(f);
    if (!sums) return CT_OK;
    const double *device = sums + CT_METRIC_FIRST, n = t->sums[CT_SLIDER_SUM_COUNTED];
    const double a = device[CT_SLIDER_SUM_ERROR], b = t->sums[CT_SLIDER_SUM_ERROR];
    if (isnan(a) && isnan(b)) return CT_OK;
    if (device[CT_SLIDER_SUM_COUNTED] != n || !(fabs(a - b) <= 1e-4 * b + 1e-3 * n))
        return ct_fail(CT_EINTERNAL, "scores disagree: on the device %.0f samples are %.9g px off in sum, on the "
                       "host %.0f are %.9g", device[CT_SLIDER_SUM_COUNTED], a, n, b);
    return CT_OK;
}

bool ct_slider_right(const ct_findings *f, int64_t i)
{
    return ct_slider_error(&ct_slider_findings_of(f)->f[i], 0) <= 2;
}
