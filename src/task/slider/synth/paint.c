/* Gap and piece: pixels under a mask, in a look. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/slider/synth/internal.h"

static const float white[3] = { 255, 255, 255 };

static int within(int v, int n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }
static float luma(const float *v) { return 0.299f * v[0] + 0.587f * v[1] + 0.114f * v[2]; }

/* ---- patches ---- */

void ct_patches_free(ct_patches *p)
{
    if (!p) return;
    for (int i = 0; i < 3; i++) ct_free(p->v[i]);
    *p = (ct_patches){ 0 };
}

static ct_status make_room(ct_patches *p, const ct_mask *m)
{
    const size_t n = (size_t)m->w * (size_t)m->h;
    if (n <= p->cap) return CT_OK;
    ct_patches_free(p);
    for (int i = 0; i < 3; i++)
        if (!(p->v[i] = ct_aligned_alloc(3 * n * sizeof *p->v[i], "slider patch"))) return CT_ENOMEM;
    p->cap = n;
    return CT_OK;
}

/* The pixels of a mask's box, moved by (dx, dy); beyond the picture its edge goes on. */
static void load(const ct_image *im, const ct_mask *m, int dx, int dy, float *v)
{
    for (int y = 0; y < m->h; y++) {
        const uint8_t *row = im->px + (size_t)within(m->y0 + y + dy, im->h) * (size_t)im->w * 3;
        float *to = v + (size_t)y * (size_t)m->w * 3;
        for (int x = 0; x < m->w; x++, to += 3) {
            const uint8_t *px = row + 3 * within(m->x0 + x + dx, im->w);
            for (int c = 0; c < 3; c++) to[c] = px[c];
        }
    }
}

static void store(const float *v, const ct_mask *m, ct_image *im)
{
    for (int y = 0; y < m->h; y++) {
        uint8_t *to = im->px + ((size_t)(m->y0 + y) * (size_t)im->w + (size_t)m->x0) * 3;
        const float *from = v + (size_t)y * (size_t)m->w * 3;
        for (int i = 0; i < 3 * m->w; i++) to[i] = (uint8_t)(ct_clampf(from[i], 0, 255) + 0.5f);
    }
}

/* Running means over 2 radius + 1 pixels along one direction: n lines of `length` values `step` apart. */
static void blur_lines(const float *from, float *to, int lines, size_t apart, int length, size_t step, int radius)
{
    const float each = 1 / (float)(2 * radius + 1);
    for (int i = 0; i < lines; i++) {
        for (int c = 0; c < 3; c++) {
            const float *a = from + (size_t)i * apart + c;
            float *b = to + (size_t)i * apart + c, sum = 0;
            for (int k = -radius; k <= radius; k++) sum += a[(size_t)within(k, length) * step];
            for (int k = 0; k < length; k++) {
                b[(size_t)k * step] = sum * each;
                sum += a[(size_t)within(k + radius + 1, length) * step] - a[(size_t)within(k - radius, length) * step];
            }
        }
    }
}

static void blur(float *v, float *work, const ct_mask *m, int radius)
{
    const size_t row = 3 * (size_t)m->w;
    for (int i = 0; i < 2; i++) {
        blur_lines(v, work, m->h, row, m->w, 3, radius);
        blur_lines(work, v, m->w, 3, m->h, row, radius);
    }
}

/* 3x3 Gaussian of sigma 0.8 where the mask covers at least half. */
static void smooth(float *v, float *work, const ct_mask *m)
{
    const float side = 0.2389f, middle = 1 - 2 * side;
    const size_t row = 3 * (size_t)m->w, n = row * (size_t)m->h;
    memcpy(work, v, n * sizeof *v);
    for (int y = 1; y < m->h - 1; y++) {
        float *w = work + row * (size_t)y;
        const float *a = v + row * (size_t)y;
        for (size_t i = 0; i < row; i++) w[i] = middle * a[i] + side * (a[i - row] + a[i + row]);
    }
    for (int y = 1; y < m->h - 1; y++) {
        const float *w = work + row * (size_t)y, *alpha = m->alpha + (size_t)y * (size_t)m->w;
        float *a = v + row * (size_t)y;
        for (int x = 1; x < m->w - 1; x++)
            for (int c = 0; c < 3 && alpha[x] >= 0.5f; c++)
                a[3 * x + c] = middle * w[3 * x + c] + side * (w[3 * x + c - 3] + w[3 * x + c + 3]);
    }
}

/* ---- effects ---- */

/* Coverage of a line at a distance from the outline. */
static float line_cover(const ct_line *l, float dist)
{
    return l->opacity * ct_clampf(0.5f + 0.5f * l->width - fabsf(dist - l->place), 0, 1);
}

static void draw_line(const ct_line *l, const ct_mask *m, float *v)
{
    const int n = m->w * m->h;
    for (int i = 0; i < n && l->opacity > 0; i++) {
        const float a = line_cover(l, m->dist[i]);
        if (a > 0)
            for (int c = 0; c < 3; c++) v[3 * i + c] += a * (l->rgb[c] - v[3 * i + c]);
    }
}

/* White along the edge: opacity at a depth. lightness 0..100. */
static float glare(float lightness, float width, float decay, float depth)
{
    if (depth > width) return 0;
    const float most = fminf(lightness / 100 * 0.7f, 0.7f), at = depth > 0 ? depth / width : 0;
    return most * 0.5f * (1 - tanhf((at - 0.5f) * 4 * decay));
}

/* How strong a shadow is at a signed distance from what throws it: 1 inside, 0 from `reach` on. */
static float fall(float dist, float reach)
{
    const float t = ct_clampf(1 - dist / reach, 0, 1);
    return t * t;
}

/* Distances of the mask moved by (dx, dy) whole pixels. */
static float moved(const ct_mask *m, int x, int y, int dx, int dy)
{
    return m->dist[(size_t)within(y - dy, m->h) * (size_t)m->w + (size_t)within(x - dx, m->w)];
}

static void add_level(float *v, float level)
{
    for (int c = 0; c < 3; c++) v[c] += level;
}

static void lay_over(float *v, const float rgb[3], float opacity)
{
    for (int c = 0; c < 3; c++) v[c] += opacity * (rgb[c] - v[c]);
}

/* ---- the gap ---- */

static void add_pattern(const ct_look *k, const ct_tiles *t, const ct_mask *m, uint32_t lot, const ct_image *pic,
                        ct_patches *p)
{
    const float c = cosf(k->turn) / k->pattern_step, s = sinf(k->turn) / k->pattern_step;
    float *v = p->v[1];
    int16_t row[2048];
    ct_rng r;
    ct_rng_init(&r, lot, CT_RNG_SYNTH, 0);
    if (k->pattern == CT_PATTERN_ELSEWHERE) {
        const float far = k->pattern_step;
        load(pic, m, (int)(far * cosf(k->turn)), (int)(far * sinf(k->turn)), p->v[2]);
        for (int i = 0; i < 3 * m->w * m->h; i++) v[i] += k->pattern_level * (p->v[2][i] - v[i]);
        return;
    }
    const ct_cloth cloth = ct_cloth_lay(t, k->tile, &r, 8 / k->pattern_step, 1, k->turn);
    for (int y = 0; y < m->h; y++) {
        if (k->pattern == CT_PATTERN_TILE) ct_cloth_row(&cloth, 0, y, m->w, row);
        for (int x = 0; x < m->w; x++) {
            const float u = (float)x * c + (float)y * s, w = (float)y * c - (float)x * s;
            const float a = ct_clampf(4 * fabsf(u - floorf(u) - 0.5f) - 1, -0.5f, 0.5f) * 2; /* -1..1, steep */
            const float b = ct_clampf(4 * fabsf(w - floorf(w) - 0.5f) - 1, -0.5f, 0.5f) * 2;
            const float level = k->pattern == CT_PATTERN_TILE    ? row[x] / 80.0f
                                : k->pattern == CT_PATTERN_HATCH ? a
                                                                 : a * b;
            add_level(v + 3 * ((size_t)y * (size_t)m->w + (size_t)x), k->pattern_level * level);
        }
    }
}

/* Shading from depth and direction: d is the depth, 1 at the deepest; the light counts from both sides. */
static void shade(const ct_look *k, const ct_mask *m, float *v)
{
    const float lx = cosf(k->light), ly = sinf(k->light), each = 1 / m->deepest;
    const float mx = (float)(m->cx - m->x0), my = (float)(m->cy - m->y0);
    for (int y = 0; y < m->h; y++)
        for (int x = 0; x < m->w; x++) {
            const size_t i = (size_t)y * (size_t)m->w + (size_t)x;
            if (m->alpha[i] <= 0) continue;
            const float qx = (float)x + 0.5f - mx, qy = (float)y + 0.5f - my;
            const float along = fabsf(qx * lx + qy * ly) / sqrtf(qx * qx + qy * qy + 1e-6f);
            const float depth = ct_clampf(-m->dist[i] * each, 0, 1);
            float *px = v + 3 * i;
            if (k->gray > 0) {
                const float gray = luma(px);
                for (int c = 0; c < 3; c++) px[c] += k->gray * (gray - px[c]);
            }
            add_level(px, k->base + (1 - depth) * k->edge + (0.5f + 0.5f * along) * k->slope);
            if (k->opacity > 0) lay_over(px, k->over, k->opacity);
            if (k->inner > 0) {
                const float shadow = fall(-moved(m, x, y, (int)k->inner_dx, (int)k->inner_dy), k->inner_reach);
                for (int c = 0; c < 3; c++) px[c] *= 1 - k->inner * shadow;
            }
            if (k->glare > 0) lay_over(px, white, glare(k->glare, k->glare_width, k->glare_decay, -m->dist[i]));
            for (int c = 0; c < 3; c++) px[c] = ct_clampf(px[c], 0, 255);
        }
}

/* A gap that can hardly be seen, on a background that is as dark or as light already, gets lighter or darker, and a
 * line. */
static void rescue(const ct_mask *m, const float *was, float *v)
{
    const int n = m->w * m->h;
    float change = 0, light = 0, area = 0;
    for (int i = 0; i < n; i++) {
        if (m->alpha[i] < 0.5f) continue;
        change += fabsf(luma(v + 3 * i) - luma(was + 3 * i));
        light += luma(v + 3 * i);
        area += 1;
    }
    if (change >= 12 * area) return;
    const float level = light > 110 * area ? -22 : 22, edge = light > 110 * area ? 40 : 230;
    const ct_line line = { .rgb = { edge, edge, edge }, .width = 1.6f, .opacity = 0.6f, .place = -0.8f };
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) v[3 * i + c] = ct_clampf(v[3 * i + c] + level, 0, 255);
    draw_line(&line, m, v);
}

ct_status ct_paint_gap(const ct_look *k, const ct_tiles *t, const ct_mask *m, uint32_t lot, ct_patches *p,
                       ct_image *pic)
{
    CT_TRY(make_room(p, m));
    float *was = p->v[0], *v = p->v[1];
    const int n = m->w * m->h;
    load(pic, m, 0, 0, was);
    memcpy(v, was, 3 * (size_t)n * sizeof *v);
    if (k->blur > 0) blur(v, p->v[2], m, k->blur);
    if (k->pattern != CT_PATTERN_NONE) add_pattern(k, t, m, lot, pic, p);
    shade(k, m, v);
    rescue(m, was, v);
    if (k->smooth) smooth(v, p->v[2], m);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) was[3 * i + c] += m->alpha[i] * (v[3 * i + c] - was[3 * i + c]);
    draw_line(&k->line, m, was);
    store(was, m, pic);
    return CT_OK;
}

/* ---- the piece ---- */

static void throw_shadow(const ct_look *k, const ct_mask *m, float *v)
{
    for (int y = 0; y < m->h && k->shadow > 0; y++)
        for (int x = 0; x < m->w; x++) {
            const float s = k->shadow * fall(moved(m, x, y, (int)k->shadow_dx, (int)k->shadow_dy), k->shadow_reach);
            float *px = v + 3 * ((size_t)y * (size_t)m->w + (size_t)x);
            for (int c = 0; c < 3; c++) px[c] *= 1 - s;
        }
}

/* The piece's own pixels: light along its edge, more of it along the light, most at the lower right. */
static void face(const ct_look *k, const ct_tiles *t, const ct_mask *m, uint32_t lot, float *v)
{
    const float lx = cosf(k->light), ly = sinf(k->light);
    const float mx = (float)(m->cx - m->x0), my = (float)(m->cy - m->y0);
    int16_t row[2048];
    ct_rng r;
    ct_rng_init(&r, lot, CT_RNG_SYNTH, 1);
    const ct_cloth cloth = ct_cloth_lay(t, CT_TILE_SMOOTH, &r, 3.2, 1, ct_rng_uniform(&r, 0, 2 * CT_PI));
    for (int y = 0; y < m->h; y++) {
        if (k->perlin > 0) ct_cloth_row(&cloth, 0, y, m->w, row);
        for (int x = 0; x < m->w; x++) {
            const size_t i = (size_t)y * (size_t)m->w + (size_t)x;
            float *px = v + 3 * i;
            if (m->alpha[i] <= 0) continue;
            add_level(px, k->tone);
            if (k->perlin > 0) add_level(px, 50 * k->perlin * ct_clampf(row[x] / 100.0f, -1, 1));
            if (k->rim > 0 && -m->dist[i] <= k->rim_width) {
                const float qx = (float)x + 0.5f - mx, qy = (float)y + 0.5f - my;
                const float along = (qx * lx + qy * ly) / sqrtf(qx * qx + qy * qy + 1e-6f);
                const float slope = k->rim_slope * fabsf(along * along * along) * (along > 0 ? 1.2f : 1) * 0.5f;
                const float edge = glare(k->rim, k->rim_width, k->rim_decay, -m->dist[i]);
                lay_over(px, white, edge + (1 - edge) * slope);
            }
            for (int c = 0; c < 3; c++) px[c] = ct_clampf(px[c], 0, 255);
        }
    }
    draw_line(&k->border, m, v);
}

static void store_rgba(const float *v, const ct_mask *m, int w, uint8_t *rgba)
{
    for (int y = 0; y < m->h; y++)
        for (int x = 0; x < m->w; x++) {
            const size_t i = (size_t)y * (size_t)m->w + (size_t)x;
            uint8_t *to = rgba + 4 * ((size_t)(m->y0 + y) * (size_t)w + (size_t)(m->x0 + x));
            to[3] = (uint8_t)(255 * m->alpha[i] + 0.5f);
            for (int c = 0; c < 3 && to[3] > 0; c++) to[c] = (uint8_t)(ct_clampf(v[3 * i + c], 0, 255) + 0.5f);
        }
}

ct_status ct_paint_piece(const ct_look *k, const ct_tiles *t, const ct_mask *m, int shift, uint32_t lot,
                         const ct_image *clean, ct_patches *p, ct_image *pic, uint8_t *rgba)
{
    CT_TRY(make_room(p, m));
    float *under = p->v[0], *v = p->v[1];
    load(pic, m, 0, 0, under);
    throw_shadow(k, m, under);
    load(clean, m, shift, 0, v);
    face(k, t, m, lot, v);
    for (int i = 0; i < m->w * m->h; i++)
        for (int c = 0; c < 3; c++) under[3 * i + c] += m->alpha[i] * (v[3 * i + c] - under[3 * i + c]);
    store(under, m, pic);
    if (rgba) store_rgba(v, m, pic->w, rgba);
    return CT_OK;
}
