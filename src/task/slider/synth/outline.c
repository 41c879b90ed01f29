/* Outlines of pieces: 81 jigsaw pieces and simple shapes. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "task/slider/synth/internal.h"

enum { KNOB = 14, ROUND = 56, CORNER = 6 }; /* sides of the polygons that stand for arcs */

static void put(ct_outline *o, double x, double y)
{
    if (o->n == CT_OUTLINE_MAX) return;
    o->x[o->n] = (float)x;
    o->y[o->n] = (float)y;
    o->n++;
}

/* An edge of a jigsaw piece from corner `k` of its square on, seen from the middle with the edge on top: the frame is
 * turned by k quarters. kind 0 flat, 1 knob out, 2 knob in; radius and offset of the knob's circle from the edge. */
static void put_edge(ct_outline *o, int k, int kind, double side, double radius, double offset)
{
    static const double c[] = { 1, 0, -1, 0 }, s[] = { 0, 1, 0, -1 };
    const double up = kind == 2 ? -1 : 1, lean = asin(offset / radius);
    double px = -side / 2, py = -side / 2; /* y grows downwards: the top edge runs from left to right */
    put(o, px * c[k] - py * s[k], px * s[k] + py * c[k]);
    for (int i = 0; kind != 0 && i <= KNOB; i++) {
        const double a = CT_PI + lean - (CT_PI + 2 * lean) * i / KNOB;
        px = radius * cos(a);
        py = -side / 2 - up * (offset + radius * sin(a));
        put(o, px * c[k] - py * s[k], px * s[k] + py * c[k]);
    }
}

/* The reference's knobs are half discs of 0.2 sides; others have necks. */
static void jigsaw(ct_rng *r, double size, ct_outline *o)
{
    const uint32_t which = ct_rng_below(r, 81);
    const int kind[4] = { (int)(which / 27), (int)(which / 9 % 3), (int)(which / 3 % 3), (int)(which % 3) };
    const bool plain = ct_chance(r, 0.6);
    const double radius = plain ? 0.2 : ct_rng_uniform(r, 0.15, 0.21);
    const double offset = plain ? 0 : ct_rng_uniform(r, 0, 0.6) * radius;
    const double side = size / (1 + 2 * (radius + offset));
    for (int k = 0; k < 4; k++) put_edge(o, k, kind[k], side, radius * side, offset * side);
    memcpy(o->name, "jigsaw-", 7);
    for (int k = 0; k < 4; k++) o->name[7 + k] = (char)('0' + kind[k]);
    o->name[11] = '\0';
}

/* n corners on an ellipse. */
static void regular(ct_outline *o, int n, double rx, double ry, double turn)
{
    for (int i = 0; i < n; i++) {
        const double a = turn + 2 * CT_PI * i / n;
        put(o, rx * cos(a), ry * sin(a));
    }
}

static void box(ct_outline *o, double hx, double hy, double round)
{
    static const double cx[] = { 1, -1, -1, 1 }, cy[] = { 1, 1, -1, -1 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i <= (round > 0 ? CORNER : 0); i++) {
            const double a = CT_PI / 2 * (k + (round > 0 ? (double)i / CORNER : 0));
            put(o, cx[k] * (hx - round) + round * cos(a), cy[k] * (hy - round) + round * sin(a));
        }
}

static void polygon(ct_rng *r, ct_outline *o)
{
    const int n = 5 + (int)ct_rng_below(r, 8);
    const double step = 2 * CT_PI / n, turn = ct_rng_uniform(r, 0, step);
    for (int i = 0; i < n; i++) {
        const double a = turn + step * i + ct_rng_uniform(r, -step / 10, step / 10), d = ct_rng_uniform(r, 0.8, 1);
        put(o, d * cos(a), d * sin(a));
    }
}

/* Signed area and centroid of the polygon. */
static void centre(const ct_outline *o, double *x, double *y)
{
    double area = 0;
    *x = *y = 0;
    for (int i = 0; i < o->n; i++) {
        const int k = i + 1 < o->n ? i + 1 : 0;
        const double cross = (double)o->x[i] * o->y[k] - (double)o->x[k] * o->y[i];
        area += cross;
        *x += (o->x[i] + (double)o->x[k]) * cross;
        *y += (o->y[i] + (double)o->y[k]) * cross;
    }
    *x /= 3 * area;
    *y /= 3 * area;
}

void ct_outline_extent(const ct_outline *o, double extent[4])
{
    for (int k = 0; k < 4; k++) extent[k] = 0;
    for (int i = 0; i < o->outer; i++) {
        extent[0] = fmax(extent[0], -o->x[i]);
        extent[1] = fmax(extent[1], -o->y[i]);
        extent[2] = fmax(extent[2], o->x[i]);
        extent[3] = fmax(extent[3], o->y[i]);
    }
}

/* The centroid to the origin; simple shapes are then made to reach as far as they may. */
static void settle(ct_outline *o, double half, bool fill)
{
    double x, y, extent[4], reach = 0;
    centre(o, &x, &y);
    for (int i = 0; i < o->n; i++) {
        o->x[i] -= (float)x;
        o->y[i] -= (float)y;
    }
    o->outer = o->n;
    ct_outline_extent(o, extent);
    for (int k = 0; k < 4; k++) reach = fmax(reach, extent[k]);
    if (!fill && reach <= half) return;
    for (int i = 0; i < o->n; i++) {
        o->x[i] = (float)(o->x[i] * (half / reach));
        o->y[i] = (float)(o->y[i] * (half / reach));
    }
}

/* Four simple shapes to six jigsaw pieces, as in the reference. */
void ct_outline_draw(ct_rng *r, double size, ct_outline *o)
{
    static const char *const name[] = { "circle",   "square",  "rectangle", "rounded_rect",
                                        "triangle", "hexagon", "polygon" };
    o->n = 0;
    if (!ct_chance(r, 0.4)) {
        jigsaw(r, size, o);
        settle(o, size / 2, false);
        return;
    }
    const int which = (int)ct_rng_below(r, 7);
    const bool tall = ct_chance(r, 0.5);
    const double slim = ct_rng_uniform(r, 0.6, 0.85), turn = ct_chance(r, 0.5) ? CT_PI / 2 : 0;
    switch (which) {
    case 0: regular(o, ROUND, 1, 1, 0); break;
    case 1: box(o, 1, 1, 0); break;
    case 2: box(o, tall ? slim : 1, tall ? 1 : slim, 0); break;
    case 3: box(o, 1, slim > 0.7 ? 1 : slim, 0.3); break; /* of the side: 0.15 */
    case 4: regular(o, 3, 1, ct_rng_uniform(r, 0.85, 1.15), tall ? -CT_PI / 2 : CT_PI / 2); break;
    case 5: regular(o, 6, 1, 1, turn); break;
    default: polygon(r, o); break;
    }
    snprintf(o->name, sizeof o->name, "%s", name[which]);
    settle(o, size / 2, true);
}

void ct_outline_hollow(ct_outline *o, double ratio)
{
    for (int i = 0; i < o->outer && o->n < CT_OUTLINE_MAX; i++)
        put(o, o->x[i] * ratio, o->y[i] * ratio);
}

void ct_outline_turn(const ct_outline *in, double angle, double scale, ct_outline *out)
{
    const double c = scale * cos(angle * CT_PI / 180), s = scale * sin(angle * CT_PI / 180);
    *out = *in;
    for (int i = 0; i < in->n; i++) { /* y grows downwards: counter-clockwise to the eye */
        out->x[i] = (float)(c * in->x[i] + s * in->y[i]);
        out->y[i] = (float)(c * in->y[i] - s * in->x[i]);
    }
}
