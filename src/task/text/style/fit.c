/* The search: begins with the built-in styles, each as it is and with what was measured in its place, goes on from the
 * nearest, and keeps changes that bring what is drawn nearer to what was seen. Every candidate draws the same lots, so
 * that two differ by their parameters alone. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/philox.h"
#include "task/text/style/style.h"

enum { DRAWN = 48 }; /* pictures of a candidate */

static double clamp(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }

/* A uniform range of this mean and standard deviation, within bounds. */
static ct_range spread(double mean, double sd, double lo, double hi)
{
    const double half = sqrt(3) * sd, a = clamp(mean - half, lo, hi - 1), b = clamp(mean + half, a + 1, hi);
    return (ct_range){ floor(a), ceil(b) };
}

/* ---- what is measured at once ---- */

static void set_geometry(const ct_style_fit *f, ct_text_params *p)
{
    p->width = f->width;
    p->height = f->height;
    p->channels = f->channels;
    if (f->length_min > 0) {
        p->length_min = f->length_min;
        p->length_max = f->length_max;
    }
    if (f->charset) snprintf(p->alphabet, sizeof p->alphabet, "%s", f->charset);
}

/* Background, ink, noise and a fade that goes one way. Gray pictures are the mean of three channels that are drawn one
 * by one, which vary by sqrt(3) more than it. */
static void set_measured(const ct_look *l, ct_text_params *p)
{
    const double back = l->mean[CT_LOOK_BACKGROUND], x = l->mean[CT_LOOK_FADE_X], y = l->mean[CT_LOOK_FADE_Y];
    const double sd = l->sd[CT_LOOK_BACKGROUND];
    const bool light = back > 127;
    const double ink = back + (light ? -1 : 1) * l->mean[CT_LOOK_CONTRAST];
    p->background = spread(back, 1.5 * sd, 0, 256);
    p->ink = spread(ink, 1.5 * l->sd[CT_LOOK_CONTRAST], 0, 256);
    const double noise = l->mean[CT_LOOK_NOISE];
    if (noise > 1) p->noise = spread(noise, l->sd[CT_LOOK_NOISE], 0, 128);
    const double steep = sqrt(x * x + y * y);
    if (steep < 12 || steep < 1.5 * fmax(l->sd[CT_LOOK_FADE_X], l->sd[CT_LOOK_FADE_Y])) return;
    const double angle = atan2(y, x) * 180 / 3.14159265358979323846, half = 0.6 * steep;
    p->fade = true;
    p->fade_angle = (ct_range){ angle, angle };
    p->background = spread(back - half, sd, 0, 256);
    p->background2 = spread(back + half, sd, 0, 256);
}

/* ---- changes ---- */

static void shift_range(ct_rng *r, ct_range *v, double by, double lo, double hi)
{
    const double d = by * ct_rng_normal(r);
    v->lo = clamp(v->lo + d, lo, hi);
    v->hi = clamp(v->hi + d, v->lo, hi);
}

static void widen_range(ct_rng *r, ct_range *v, double by, double lo, double hi)
{
    const double mid = (v->lo + v->hi) / 2;
    const double half = fmax(0, (v->hi - v->lo) / 2 * exp(0.4 * ct_rng_normal(r)) + by * ct_rng_normal(r));
    v->lo = clamp(mid - half, lo, hi);
    v->hi = clamp(mid + half, v->lo, hi);
}

static void change_range(ct_rng *r, ct_range *v, double by, double lo, double hi)
{
    if (ct_rng_below(r, 2) == 0) shift_range(r, v, by, lo, hi);
    else widen_range(r, v, by, lo, hi);
}

static void change_share(ct_rng *r, double *v, double by, double hi)
{
    *v = ct_rng_below(r, 8) == 0 ? 0 : clamp(*v + by * ct_rng_normal(r), 0, hi);
}

static void change_count(ct_rng *r, int *v, double by, int least, int most)
{
    int *const one = &v[ct_rng_below(r, 2)];
    *one = (int)clamp(round(*one * exp(0.3 * ct_rng_normal(r)) + by * ct_rng_normal(r)), least, most);
    if (v[0] > v[1]) *(one == v ? &v[1] : &v[0]) = *one;
}

static void change_sizes(ct_rng *r, ct_text_params *p)
{
    const double by = exp(0.12 * ct_rng_normal(r));
    for (int i = 0; i < p->n_sizes; i++) p->sizes[i] = clamp(round(10 * p->sizes[i] * by) / 10, 4, 400);
}

static void change_fonts(ct_rng *r, ct_text_params *p)
{
    static const char *const known[] = { "DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf",
                                         "DejaVuSansMono-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf" };
    const char *font = known[ct_rng_below(r, sizeof known / sizeof *known)];
    const uint32_t what = ct_rng_below(r, 3);
    int at = 0;
    if (what == 0) p->n_fonts = 1;
    else if (what == 1 && p->n_fonts < 6) at = p->n_fonts++;
    else if (p->n_fonts > 1) at = --p->n_fonts - 1;
    snprintf(p->fonts[at], sizeof p->fonts[at], "%s", font);
}

static void change_waves(ct_rng *r, ct_text_params *p)
{
    if (p->wave_length.hi == 0) p->wave_length = (ct_range){ 45, 100 };
    switch (ct_rng_below(r, 4)) {
    case 0: change_range(r, &p->wave_x, 1, 0, 30); break;
    case 1: change_range(r, &p->wave_y, 1, 0, 30); break;
    case 2: change_range(r, &p->wave_length, 15, 8, 1000); break;
    default: p->wave_x = p->wave_y = (ct_range){ 0, 0 }; break;
    }
}

static void change_looks(ct_rng *r, ct_text_params *p)
{
    switch (ct_rng_below(r, 7)) {
    case 0: p->smooth = !p->smooth; break;
    case 1: p->ink_per_char = !p->ink_per_char; break;
    case 2: p->fade = !p->fade; break;
    case 3: p->outline = p->outline > 0 ? 0 : 1.5; break;
    case 4:
        p->shadow = p->shadow > 0 ? 0 : 1;
        p->shadow_offset = (ct_range){ 1.5, 3.5 };
        break;
    case 5: p->grid = p->grid.hi > 0 ? (ct_range){ 0, 0 } : (ct_range){ 8, 16 }; break;
    default: change_range(r, &p->noise, 1, 0, 128); break;
    }
}

static void change_row(ct_rng *r, ct_text_params *p)
{
    switch (ct_rng_below(r, 8)) {
    case 0: change_count(r, &p->length_min, 0.7, 1, CT_TEXT_LENGTH); break;
    case 1: change_range(r, &p->dx, 2, -20, 40); break;
    case 2: change_range(r, &p->dy, 2, -30, 30); break;
    case 3: change_range(r, &p->rotation, 6, -90, 90); break;
    case 4: change_share(r, ct_rng_below(r, 2) ? &p->warp_x : &p->warp_y, 0.06, 0.45); break;
    case 5: change_range(r, &p->place, 0.15, 0, 1); break;
    case 6: change_share(r, &p->overlap, 0.08, 0.9); break;
    default: change_share(r, &p->gap_probability, 0.1, 1); break;
    }
}

static void change_clutter(ct_rng *r, ct_text_params *p)
{
    switch (ct_rng_below(r, 6)) {
    case 0: change_count(r, &p->dots_min, 8, 0, 2000); break;
    case 1: change_range(r, &p->dot_size, 0.4, 0.5, 10); break;
    case 2: change_count(r, &p->lines_min, 1, 0, 30); break;
    case 3: change_count(r, &p->arcs_min, 0.8, 0, 10); break;
    case 4: change_range(r, &p->stroke, 0.4, 0.5, 10); break;
    default: p->dots_min = p->dots_max = 0; break;
    }
}

static void change_colours(ct_rng *r, ct_text_params *p)
{
    switch (ct_rng_below(r, 4)) {
    case 0: change_range(r, &p->background, 10, 0, 256); break;
    case 1: change_range(r, &p->ink, 15, 0, 256); break;
    case 2: change_range(r, &p->alpha, 15, 60, 256); break;
    default:
        if (p->background2.hi > 0) change_range(r, &p->background2, 10, 0, 256);
        else change_range(r, &p->background, 10, 0, 256);
        break;
    }
}

/* One to three changes. */
static void change(ct_rng *r, ct_text_params *p)
{
    static void (*const kind[])(ct_rng *, ct_text_params *) = { change_colours, change_row,   change_row,
                                                                change_clutter, change_clutter, change_sizes,
                                                                change_fonts,   change_waves, change_looks };
    const uint32_t n = 1 + ct_rng_below(r, 3);
    for (uint32_t i = 0; i < n; i++) kind[ct_rng_below(r, sizeof kind / sizeof *kind)](r, p);
}

/* ---- the search ---- */

static ct_status try(ct_style_fit *f, const ct_text_params *p, const char *from, bool *better)
{
    ct_look drawn;
    CT_TRY(ct_look_drawn(p, f->seed, DRAWN, f->threads, NULL, &drawn));
    const double d = ct_look_distance(&f->real, &drawn);
    *better = d < f->distance;
    if (!*better) return CT_OK;
    f->distance = d;
    f->found = *p;
    if (from) {
        snprintf(f->from, sizeof f->from, "%s", from);
        f->began = d;
    }
    return CT_OK;
}

static ct_status begin(ct_style_fit *f, ct_text_params *p)
{
    const char *name;
    bool better;
    f->distance = INFINITY;
    for (int i = 0; (name = ct_text_style_name(i)); i++) {
        if (f->without && strcmp(name, f->without) == 0) continue;
        CT_TRY(ct_text_params_init(p, name));
        if (p->mixed) continue;
        set_geometry(f, p);
        CT_TRY(try(f, p, name, &better));
        set_measured(&f->real, p);
        CT_TRY(try(f, p, name, &better));
    }
    return CT_OK;
}

ct_status ct_fit_search(ct_style_fit *f)
{
    ct_text_params *p = ct_malloc(sizeof *p, "a style");
    ct_rng r;
    ct_status st;
    if (!p) return CT_ENOMEM;
    CT_GOTO(st, begin(f, p));
    ct_info("fit-style: nearest of the built-in styles: %s, distance %.3f", f->from, f->began);
    ct_rng_init(&r, f->seed, CT_RNG_SYNTH, UINT64_MAX);
    for (int64_t i = 0; i < f->rounds; i++) {
        bool better;
        *p = f->found;
        change(&r, p);
        set_geometry(f, p);
        if (ct_text_params_check(p) != CT_OK) continue;
        CT_GOTO(st, try(f, p, NULL, &better));
        if (better) ct_log(CT_LOG_DEBUG, "fit-style: round %" PRId64 ": %.4f", i + 1, f->distance);
    }
fail:
    ct_free(p);
    return st;
}
