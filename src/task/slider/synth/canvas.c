/* The canvas of drawn backgrounds: polygons filled with colours, gradients and textures, row by row. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/slider/synth/internal.h"

enum { LINES = 4 }; /* of a row of pixels that a shape's edges are sampled on */

ct_status ct_canvas_make(ct_canvas *v, int w, int h)
{
    const size_t plane = ct_align_up((size_t)w * (size_t)h, 16), row = ct_align_up((size_t)w + 4, 16);
    const size_t n = 4 * plane + 3 * row;
    if (n > v->cap) {
        ct_canvas_free(v);
        if (!(v->buffer = ct_aligned_alloc(n * sizeof *v->buffer, "slider background"))) return CT_ENOMEM;
        v->cap = n;
    }
    v->w = w;
    v->h = h;
    for (int c = 0; c < 3; c++) v->ch[c] = v->buffer + (size_t)c * plane;
    v->spare = v->buffer + 3 * plane;
    v->cover = v->buffer + 4 * plane;
    v->blend = v->cover + row;
    v->texture = (int16_t *)(v->blend + row);
    memset(v->buffer, 0, 3 * plane * sizeof *v->buffer); /* what was painted before must not shine through */
    return CT_OK;
}

void ct_canvas_free(ct_canvas *v)
{
    if (!v) return;
    ct_free(v->buffer);
    *v = (ct_canvas){ 0 };
}

/* ---- shapes ---- */

void ct_shape_turn(ct_shape *s, float cx, float cy, double turn)
{
    const float c = (float)cos(turn), k = (float)sin(turn);
    for (int i = 0; i < s->n; i++) {
        const float x = s->x[i] - cx, y = s->y[i] - cy;
        s->x[i] = cx + c * x - k * y;
        s->y[i] = cy + k * x + c * y;
    }
}

void ct_shape_corners(ct_shape *s, int n, float cx, float cy, float rx, float ry, double turn)
{
    const double step = 2 * CT_PI / n;
    s->n = n;
    for (int i = 0; i < n; i++) {
        s->x[i] = cx + rx * (float)cos(step * i);
        s->y[i] = cy + ry * (float)sin(step * i);
    }
    if (turn != 0) ct_shape_turn(s, cx, cy, turn);
}

void ct_shape_ellipse(ct_shape *s, float cx, float cy, float rx, float ry, double turn)
{
    const float reach = fmaxf(rx, ry);
    ct_shape_corners(s, reach < 4 ? 8 : reach < 14 ? 14 : reach < 50 ? 28 : 56, cx, cy, rx, ry, turn);
}

void ct_shape_box(ct_shape *s, float left, float top, float right, float bottom)
{
    *s = (ct_shape){ 4, { left, right, right, left }, { top, top, bottom, bottom } };
}

/* ---- paints ---- */

ct_paint ct_paint_flat(const float rgb[3])
{
    ct_paint p = { .opacity = 1 };
    memcpy(p.rgb, rgb, sizeof p.rgb);
    memcpy(p.to, rgb, sizeof p.to);
    return p;
}

ct_paint ct_paint_fade(const float rgb[3], const float to[3], const ct_shape *s, double angle)
{
    ct_paint p = ct_paint_flat(rgb);
    const float dx = (float)cos(angle), dy = (float)sin(angle);
    float least = 1e9f, most = -1e9f;
    memcpy(p.to, to, sizeof p.to);
    for (int i = 0; i < s->n; i++) {
        const float at = dx * s->x[i] + dy * s->y[i];
        least = fminf(least, at);
        most = fmaxf(most, at);
    }
    const float length = fmaxf(most - least, 1);
    p.dx = dx / length;
    p.dy = dy / length;
    p.at = -least / length;
    return p;
}

/* ---- filling ---- */

/* Where the line at height py crosses the outline, in order; at most `max`. */
static int crossings(const ct_shape *s, float py, float *at, int max)
{
    int k = 0;
    for (int i = 0, j = s->n - 1; i < s->n && k < max; j = i++) {
        if ((s->y[i] <= py) == (s->y[j] <= py)) continue;
        const float x = s->x[i] + (py - s->y[i]) * (s->x[j] - s->x[i]) / (s->y[j] - s->y[i]);
        int m = k++;
        for (; m > 0 && at[m - 1] > x; m--) at[m] = at[m - 1];
        at[m] = x;
    }
    return k;
}

/* A step of the coverage at x, of which the pixel there and the next have their shares. */
static void step_at(float *cover, float x, int w, float height)
{
    x = ct_clampf(x, 0, (float)w);
    const int i = (int)x;
    const float part = x - (float)i;
    cover[i] += height * (1 - part);
    cover[i + 1] += height * part;
}

/* Coverage of row y into v->cover; the pixels [*from,*to) can have some. */
static void cover_row(ct_canvas *v, const ct_shape *s, int y, int *from, int *to)
{
    float at[16], least = (float)v->w, most = 0;
    memset(v->cover, 0, ((size_t)v->w + 4) * sizeof *v->cover);
    for (int l = 0; l < LINES; l++) {
        const int k = crossings(s, (float)y + ((float)l + 0.5f) / LINES, at, 16);
        for (int i = 0; i + 1 < k; i += 2) {
            step_at(v->cover, at[i], v->w, 1.0f / LINES);
            step_at(v->cover, at[i + 1], v->w, -1.0f / LINES);
            least = fminf(least, at[i]);
            most = fmaxf(most, at[i + 1]);
        }
    }
    *from = (int)ct_clampf(floorf(least), 0, (float)v->w);
    *to = (int)ct_clampf(ceilf(most) + 1, 0, (float)v->w);
    float sum = 0;
    for (int x = *from; x < *to; x++) v->cover[x] = sum += v->cover[x];
}

/* Places of the paint's gradient for pixels [from,to) of row y, into v->blend. */
static void blend_row(ct_canvas *v, const ct_paint *p, int y, int from, int to)
{
    float *t = v->blend;
    const float py = (float)y + 0.5f;
    if (p->radial) {
        const float dy = (py - p->cy) / p->reach, each = 1 / p->reach;
        for (int x = from; x < to; x++) {
            const float dx = ((float)x + 0.5f - p->cx) * each;
            t[x] = sqrtf(dx * dx + dy * dy);
        }
    } else {
        const float at = p->at + p->dy * py;
        for (int x = from; x < to; x++) t[x] = at + p->dx * ((float)x + 0.5f);
    }
    if (p->cloth && p->mix != 0) {
        const float mix = p->mix / 128;
        for (int x = from; x < to; x++) t[x] += mix * v->texture[x];
    }
    for (int x = from; x < to; x++) {
        const float u = t[x] < 0 ? 0 : t[x];
        t[x] = u > 1 ? 1 : u;
    }
}

static void paint_row(ct_canvas *v, const ct_paint *p, int y, int from, int to)
{
    const size_t row = (size_t)y * (size_t)v->w;
    if (p->cloth) ct_cloth_row(p->cloth, from, y, to - from, v->texture + from);
    else memset(v->texture + from, 0, (size_t)(to - from) * sizeof *v->texture);
    blend_row(v, p, y, from, to);
    const float grit = p->cloth ? p->grit / 128 : 0, opacity = p->opacity;
    const float *t = v->blend, *cover = v->cover;
    const int16_t *texture = v->texture;
    for (int c = 0; c < 3; c++) {
        float *d = v->ch[c] + row;
        const float a = p->rgb[c], b = p->to[c] - a;
        for (int x = from; x < to; x++) {
            const float colour = a + t[x] * b + grit * texture[x];
            d[x] += opacity * cover[x] * (colour - d[x]);
        }
    }
}

void ct_canvas_fill(ct_canvas *v, const ct_shape *s, const ct_paint *p)
{
    float least = 1e9f, most = -1e9f;
    for (int i = 0; i < s->n; i++) {
        least = fminf(least, s->y[i]);
        most = fmaxf(most, s->y[i]);
    }
    const int top = (int)ct_clampf(floorf(least), 0, (float)v->h), end = (int)ct_clampf(ceilf(most), 0, (float)v->h);
    for (int y = top; y < end; y++) {
        int from, to;
        cover_row(v, s, y, &from, &to);
        if (from < to) paint_row(v, p, y, from, to);
    }
}

/* ---- blur ---- */

void ct_canvas_blur(ct_canvas *v, int passes)
{
    const int w = v->w, h = v->h;
    for (int i = 0; i < 3 * passes; i++) {
        float *d = v->ch[i % 3], *s = v->spare;
        for (int y = 0; y < h; y++) {
            const float *a = d + (size_t)y * (size_t)w;
            float *b = s + (size_t)y * (size_t)w;
            for (int x = 1; x < w - 1; x++) b[x] = 0.25f * (a[x - 1] + a[x + 1]) + 0.5f * a[x];
            b[0] = 0.75f * a[0] + 0.25f * a[1];
            b[w - 1] = 0.75f * a[w - 1] + 0.25f * a[w - 2];
        }
        for (int y = 0; y < h; y++) {
            const float *b = s + (size_t)y * (size_t)w, *up = y > 0 ? b - w : b, *low = y < h - 1 ? b + w : b;
            float *a = d + (size_t)y * (size_t)w;
            for (int x = 0; x < w; x++) a[x] = 0.25f * (up[x] + low[x]) + 0.5f * b[x];
        }
    }
}
