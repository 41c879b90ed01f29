/* Scenes: what drawn backgrounds show. None of them is meant to be anything; together they have the colours, edges,
 * textures and sizes of things that pictures have. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/slider/synth/internal.h"

enum { COLOURS = 6 };

typedef struct scene {
    ct_canvas *v;
    const ct_tiles *t;
    ct_rng *r;
    float w, h;
    float colour[COLOURS][3];
} scene;

/* ---- colours ---- */

/* hue in sixths of the circle, saturation and value 0..1. */
static void hsv(float hue, float saturation, float value, float rgb[3])
{
    hue = hue - 6 * floorf(hue / 6);
    for (int c = 0; c < 3; c++) {
        const float d = fabsf(fmodf(hue + (c == 0 ? 0 : c == 1 ? 4.0f : 2.0f), 6) - 3) - 1;
        rgb[c] = 255 * value * (1 - saturation + saturation * ct_clampf(d, 0, 1));
    }
}

/* Colours that go together: related hues, hues all around, or those of land and sky; pale or strong. */
static void palette(scene *s)
{
    ct_rng *r = s->r;
    const int kind = (int)ct_rng_below(r, 4);
    const float hue = ct_between(r, 0, 6), spread = kind == 0 ? 0.7f : 6;
    const float strong = ct_chance(r, 0.75) ? ct_between(r, 0.05, 0.5) : ct_between(r, 0.5, 0.95);
    static const float land[] = { 0.5f, 0.9f, 1.6f, 2.1f, 3.3f, 3.6f }; /* brown, sand, greens, sky, water */
    for (int i = 0; i < COLOURS; i++) {
        const float h = kind == 2 ? land[ct_rng_below(r, 6)] + ct_between(r, -0.2, 0.2)
                        : kind == 3 ? hue + (ct_chance(r, 0.5) ? 3 : 0) + ct_between(r, -0.4, 0.4)
                                    : hue + ct_between(r, -0.5, 0.5) * spread;
        hsv(h, ct_clampf(strong * ct_between(r, 0.3, 1.3), 0, 1), ct_between(r, 0.18, 1), s->colour[i]);
    }
}

static const float *any(scene *s) { return s->colour[ct_rng_below(s->r, COLOURS)]; }
static double turn(scene *s) { return ct_rng_uniform(s->r, 0, 2 * CT_PI); }

static ct_cloth cloth(scene *s, enum ct_tile_kind kind, double least, double most)
{
    const double step = least * pow(most / least, ct_rng_uniform(s->r, 0, 1));
    return ct_cloth_lay(s->t, kind, s->r, step, ct_chance(s->r, 0.3) ? ct_rng_uniform(s->r, 1, 4) : 1, turn(s));
}

static enum ct_tile_kind some_tile(scene *s) { return (enum ct_tile_kind)ct_rng_below(s->r, CT_TILES); }

/* All of the canvas: a gradient, perhaps with a texture. */
static void ground(scene *s, const float *a, const float *b, double angle, float grit)
{
    ct_shape all;
    ct_shape_box(&all, 0, 0, s->w, s->h);
    ct_paint p = ct_paint_fade(a, b, &all, angle);
    const ct_cloth c = cloth(s, some_tile(s), 0.5, 4);
    if (grit > 0) {
        p.cloth = &c;
        p.grit = grit;
        p.mix = ct_chance(s->r, 0.5) ? ct_between(s->r, 0, 0.5) : 0;
    }
    ct_canvas_fill(s->v, &all, &p);
}

/* A paint for a thing: plain, faded, or textured with *c. */
static ct_paint stuff(scene *s, const ct_shape *shape, ct_cloth *c)
{
    ct_paint p = ct_paint_fade(any(s), any(s), shape, turn(s));
    const float mild = ct_chance(s->r, 0.7) ? ct_between(s->r, 0, 0.5) : 1; /* not all the way to the second colour */
    for (int i = 0; i < 3; i++) p.to[i] = p.rgb[i] + mild * (p.to[i] - p.rgb[i]);
    if (ct_chance(s->r, 0.55)) {
        *c = cloth(s, some_tile(s), 0.4, 5);
        p.cloth = c;
        p.grit = ct_between(s->r, 3, 45);
        p.mix = ct_chance(s->r, 0.4) ? ct_between(s->r, 0, 0.8) : 0;
    }
    return p;
}

/* ---- kinds ---- */

static void gradients(scene *s)
{
    ground(s, any(s), any(s), turn(s), ct_chance(s->r, 0.5) ? ct_between(s->r, 2, 20) : 0);
    for (int i = (int)ct_rng_below(s->r, 5); i > 0; i--) { /* glows */
        ct_shape all;
        ct_shape_box(&all, 0, 0, s->w, s->h);
        ct_paint p = ct_paint_flat(any(s));
        p.radial = true;
        p.cx = ct_between(s->r, 0, s->w);
        p.cy = ct_between(s->r, 0, s->h);
        p.reach = ct_between(s->r, 0.2, 0.8) * s->w;
        p.opacity = ct_between(s->r, 0.3, 0.7);
        memcpy(p.to, any(s), sizeof p.to);
        ct_canvas_fill(s->v, &all, &p);
    }
}

/* Noise that is the gradient: clouds, marble, wood, stone. */
static void noises(scene *s)
{
    ct_shape all;
    ct_shape_box(&all, 0, 0, s->w, s->h);
    const int layers = 1 + (int)ct_rng_below(s->r, 3);
    for (int i = 0; i < layers; i++) {
        const ct_cloth c = cloth(s, some_tile(s), 0.25, 3);
        ct_paint p = ct_paint_fade(any(s), any(s), &all, turn(s));
        p.cloth = &c;
        p.mix = ct_between(s->r, 0.4, 1.6);
        p.at = p.at * 0.4f + 0.3f;
        p.dx *= 0.4f;
        p.dy *= 0.4f;
        p.opacity = i == 0 ? 1 : ct_between(s->r, 0.3, 0.6);
        ct_canvas_fill(s->v, &all, &p);
    }
}

/* A line of hills: a polygon from noise of three wavelengths down to the bottom. */
static void hills(scene *s, float level, float rough, ct_shape *out)
{
    float phase[3], height[3];
    const int n = CT_SHAPE_MAX - 2;
    for (int k = 0; k < 3; k++) {
        phase[k] = ct_between(s->r, 0, 2 * CT_PI);
        height[k] = rough * ct_between(s->r, 0.3, 1) / (float)(1 << k);
    }
    out->n = n + 2;
    for (int i = 0; i < n; i++) {
        const float x = s->w * ((float)i / (float)(n - 1));
        float y = level;
        for (int k = 0; k < 3; k++) y += height[k] * sinf(phase[k] + x / s->w * 4.5f * (float)(1 + k * k));
        out->x[i] = x;
        out->y[i] = y + ct_between(s->r, -0.05, 0.05) * rough;
    }
    out->x[n] = s->w;
    out->x[n + 1] = 0;
    out->y[n] = out->y[n + 1] = s->h + 1;
}

static void land(scene *s)
{
    float sky[3], low[3], haze[3], near[3];
    const float hue = ct_between(s->r, 2.8, 4.2), day = ct_between(s->r, 0.45, 1);
    hsv(ct_chance(s->r, 0.7) ? hue : ct_between(s->r, 0, 6), ct_between(s->r, 0.15, 0.8), day, sky);
    hsv(ct_between(s->r, 0, 6), ct_between(s->r, 0, 0.4), ct_clampf(day * 1.2f, 0, 1), low);
    hsv(ct_between(s->r, 0.3, 4), ct_between(s->r, 0.1, 0.4), day * ct_between(s->r, 0.5, 0.8), haze);
    hsv(ct_between(s->r, 0.4, 2.4), ct_between(s->r, 0.2, 0.8), day * ct_between(s->r, 0.25, 0.65), near);
    ground(s, sky, low, CT_PI / 2, 0);
    if (ct_chance(s->r, 0.7)) { /* clouds */
        ct_shape all;
        ct_shape_box(&all, 0, 0, s->w, s->h);
        const float step = ct_between(s->r, 0.4, 1.6), stretch = ct_between(s->r, 1, 3);
        const ct_cloth c = ct_cloth_lay(s->t, CT_TILE_CLOUD, s->r, step, stretch, 0);
        ct_paint p = ct_paint_flat(sky);
        memcpy(p.to, (const float[3]){ 255 * day, 255 * day, 255 * day }, sizeof p.to);
        p.cloth = &c;
        p.mix = ct_between(s->r, 0.8, 2);
        p.at = ct_between(s->r, -0.2, 0.3);
        p.opacity = 0.8f;
        ct_canvas_fill(s->v, &all, &p);
    }
    const int rows = 2 + (int)ct_rng_below(s->r, 4);
    const float start = ct_between(s->r, 0.15, 0.6) * s->h;
    for (int i = 0; i < rows; i++) {
        ct_shape hill;
        float a[3], b[3];
        const float far = (float)(i + 1) / (float)rows, f = ct_between(s->r, 0.8, 1.2);
        hills(s, start + (s->h - start) * (float)i / (float)rows, s->h * ct_between(s->r, 0.04, 0.2), &hill);
        for (int c = 0; c < 3; c++) {
            a[c] = f * (haze[c] + far * (near[c] - haze[c]));
            b[c] = a[c] * 0.6f + 0.2f * haze[c];
        }
        const ct_cloth c = cloth(s, i + 1 == rows ? CT_TILE_LEAVES : some_tile(s), 0.6, 3);
        ct_paint p = ct_paint_fade(a, b, &hill, CT_PI / 2);
        p.cloth = &c;
        p.grit = 8 + 40 * far * ct_between(s->r, 0.2, 1);
        ct_canvas_fill(s->v, &hill, &p);
    }
}

static void thing(scene *s, float size, ct_shape *out)
{
    const float cx = ct_between(s->r, -0.05, 1.05) * s->w, cy = ct_between(s->r, -0.05, 1.05) * s->h;
    const float slim = ct_between(s->r, 0.25, 1);
    switch (ct_rng_below(s->r, 4)) {
    case 0: ct_shape_ellipse(out, cx, cy, size, size * slim, turn(s)); break;
    case 1: ct_shape_corners(out, 3 + (int)ct_rng_below(s->r, 5), cx, cy, size, size * slim, turn(s)); break;
    case 2:
        ct_shape_box(out, cx - size, cy - size * slim, cx + size, cy + size * slim);
        if (ct_chance(s->r, 0.7)) ct_shape_turn(out, cx, cy, turn(s));
        break;
    default: /* a blob */
        ct_shape_ellipse(out, cx, cy, size, size * slim, 0);
        for (int i = 0; i < out->n; i++) {
            const float f = 0.8f + 0.2f * sinf((float)i * 2.1f * slim) + ct_between(s->r, -0.08, 0.08);
            out->x[i] = cx + f * (out->x[i] - cx);
            out->y[i] = cy + f * (out->y[i] - cy);
        }
        ct_shape_turn(out, cx, cy, turn(s));
        break;
    }
}

/* Things of all sizes that hide each other, many small ones, few large: edges and contrasts as in photographs. */
static void heap(scene *s)
{
    ground(s, any(s), any(s), turn(s), ct_between(s->r, 0, 30));
    const int n = 40 + (int)ct_rng_below(s->r, 110);
    const float least = ct_between(s->r, 3, 9), most = ct_between(s->r, 0.15, 0.4) * s->w;
    for (int i = 0; i < n; i++) {
        ct_shape shape;
        ct_cloth c;
        const float u = ct_between(s->r, 0, 1); /* areas as often as their inverse, larger ones first */
        thing(s, least / sqrtf(u + (least / most) * (least / most)), &shape);
        const ct_paint p = stuff(s, &shape, &c);
        ct_canvas_fill(s->v, &shape, &p);
    }
}

/* Few things, some translucent, some with a dark contour. */
static void drawing(scene *s)
{
    const bool contours = ct_chance(s->r, 0.4);
    ground(s, any(s), any(s), turn(s), 0);
    for (int i = 6 + (int)ct_rng_below(s->r, 25); i > 0; i--) {
        ct_shape shape;
        const float size = ct_between(s->r, 0.02, 0.22) * s->w;
        thing(s, size, &shape);
        ct_paint p = ct_paint_fade(any(s), any(s), &shape, turn(s));
        if (ct_chance(s->r, 0.6)) memcpy(p.to, p.rgb, sizeof p.to);
        p.opacity = ct_chance(s->r, 0.3) ? ct_between(s->r, 0.3, 0.8) : 1;
        if (contours) {
            ct_shape larger = shape;
            float cx = 0, cy = 0;
            for (int k = 0; k < shape.n; k++) {
                cx += shape.x[k] / (float)shape.n;
                cy += shape.y[k] / (float)shape.n;
            }
            for (int k = 0; k < shape.n; k++) {
                larger.x[k] = cx + (shape.x[k] - cx) * (1 + 2 / size);
                larger.y[k] = cy + (shape.y[k] - cy) * (1 + 2 / size);
            }
            const ct_paint dark = ct_paint_flat((const float[3]){ 25, 20, 30 });
            ct_canvas_fill(s->v, &larger, &dark);
        }
        ct_canvas_fill(s->v, &shape, &p);
    }
}

/* Stripes, squares, bricks: in rows, turned. */
static void tiles(scene *s)
{
    const float high = ct_between(s->r, 6, 40), wide = high * (ct_chance(s->r, 0.3) ? 40 : ct_between(s->r, 1, 3));
    const float seam = ct_chance(s->r, 0.5) ? ct_between(s->r, 0, 0.15) * high : 0, uneven = ct_between(s->r, 0, 40);
    const float shift = ct_chance(s->r, 0.5) ? 0.5f : 0, round = ct_chance(s->r, 0.2) ? 1 : 0;
    const double angle = ct_chance(s->r, 0.5) ? 0 : turn(s);
    const float mx = s->w / 2, my = s->h / 2, reach = angle == 0 ? mx : hypotf(mx, my);
    const int rows = (int)((angle == 0 ? my : reach) / high) + 1, columns = (int)(reach / wide) + 1;
    const bool textured = ct_chance(s->r, 0.5);
    ground(s, any(s), any(s), turn(s), ct_between(s->r, 0, 15));
    const ct_cloth c = cloth(s, some_tile(s), 0.5, 3);
    for (int j = -rows; j < rows; j++)
        for (int i = -columns - 1; i <= columns; i++) {
            ct_shape box;
            const float x = mx + ((float)i + (j & 1 ? shift : 0)) * wide, y = my + (float)j * high;
            if (round > 0)
                ct_shape_ellipse(&box, x + wide / 2, y + high / 2, wide / 2 - seam, high / 2 - seam, 0);
            else
                ct_shape_box(&box, x + seam, y + seam, x + wide - seam, y + high - seam);
            if (angle != 0) ct_shape_turn(&box, mx, my, angle);
            ct_paint p = ct_paint_flat(s->colour[shift > 0 ? 1 : (i + j) & 1]);
            const float level = ct_between(s->r, -uneven, uneven);
            for (int k = 0; k < 3; k++) p.rgb[k] += level, p.to[k] += 0.7f * level;
            if (textured) {
                p.cloth = &c;
                p.grit = 25;
            }
            ct_canvas_fill(s->v, &box, &p);
        }
}

/* Houses with windows before a sky. */
static void houses(scene *s)
{
    ground(s, any(s), any(s), CT_PI / 2, ct_between(s->r, 0, 10));
    for (float x = ct_between(s->r, -30, 0); x < s->w;) {
        const float wide = ct_between(s->r, 0.06, 0.22) * s->w, top = ct_between(s->r, 0.05, 0.75) * s->h;
        const float pitch = ct_between(s->r, 6, 14), lit = ct_between(s->r, 0.1, 0.9);
        ct_shape box;
        ct_cloth c;
        ct_shape_box(&box, x, top, x + wide, s->h + 1);
        ct_paint wall = stuff(s, &box, &c);
        ct_canvas_fill(s->v, &box, &wall);
        const ct_paint a = ct_paint_flat(any(s)), b = ct_paint_flat(any(s));
        for (float wy = top + 4; wy < s->h; wy += pitch * 1.4f)
            for (float wx = x + 4; wx < x + wide - 0.6f * pitch; wx += pitch) {
                ct_shape_box(&box, wx, wy, wx + 0.55f * pitch, wy + 0.8f * pitch);
                ct_canvas_fill(s->v, &box, ct_chance(s->r, lit) ? &a : &b);
            }
        x += wide * ct_between(s->r, 0.7, 1.15);
    }
}

/* Balls and blocks on a table, lit from one side. */
static void objects(scene *s)
{
    ct_shape shape;
    const float edge = ct_between(s->r, 0.25, 0.7) * s->h, side = ct_chance(s->r, 0.5) ? 1 : -1;
    ground(s, any(s), any(s), turn(s), ct_between(s->r, 0, 15));
    ct_shape_box(&shape, 0, edge, s->w, s->h + 1);
    ct_cloth c;
    ct_paint p = stuff(s, &shape, &c);
    ct_canvas_fill(s->v, &shape, &p);
    for (int i = 4 + (int)ct_rng_below(s->r, 12); i > 0; i--) {
        const float size = ct_between(s->r, 0.04, 0.16) * s->w, cx = ct_between(s->r, 0, s->w);
        const float cy = ct_between(s->r, edge - size, s->h);
        ct_paint shadow = ct_paint_flat((const float[3]){ 10, 10, 15 });
        shadow.opacity = 0.45f;
        ct_shape_ellipse(&shape, cx + side * 0.3f * size, cy + 0.85f * size, 1.1f * size, 0.3f * size, 0);
        ct_canvas_fill(s->v, &shape, &shadow);
        if (ct_chance(s->r, 0.6)) ct_shape_ellipse(&shape, cx, cy, size, size, 0);
        else ct_shape_box(&shape, cx - 0.7f * size, cy - size, cx + 0.7f * size, cy + size);
        p = stuff(s, &shape, &c);
        p.radial = true;
        p.cx = cx - side * 0.4f * size;
        p.cy = cy - 0.4f * size;
        p.reach = 1.7f * size;
        for (int k = 0; k < 3; k++) {
            p.to[k] = 0.25f * p.rgb[k];
            p.rgb[k] = p.rgb[k] * 0.8f + 50;
        }
        ct_canvas_fill(s->v, &shape, &p);
    }
}

/* Discs of light before something dark. */
static void lights(scene *s)
{
    float dark[3];
    for (int c = 0; c < 3; c++) dark[c] = 0.4f * s->colour[0][c];
    ground(s, dark, s->colour[1], turn(s), ct_between(s->r, 0, 12));
    for (int i = 10 + (int)ct_rng_below(s->r, 40); i > 0; i--) {
        ct_shape shape;
        const float size = ct_between(s->r, 3, 0.1 * s->w);
        ct_shape_ellipse(&shape, ct_between(s->r, 0, s->w), ct_between(s->r, 0, s->h), size, size, 0);
        ct_paint p = ct_paint_flat(any(s));
        p.opacity = ct_between(s->r, 0.15, 0.6);
        ct_canvas_fill(s->v, &shape, &p);
    }
}

void ct_scene_draw(ct_canvas *v, const ct_tiles *t, ct_rng *r)
{
    static const struct { void (*draw)(scene *s); int share; } kinds[] = {
        { gradients, 6 }, { noises, 14 }, { land, 20 }, { heap, 24 }, { drawing, 10 },
        { tiles, 7 },     { houses, 7 },  { objects, 8 }, { lights, 4 },
    };
    scene s = { .v = v, .t = t, .r = r, .w = (float)v->w, .h = (float)v->h };
    int at = (int)ct_rng_below(r, 100), k = 0;
    palette(&s);
    while (at >= kinds[k].share) at -= kinds[k++].share;
    kinds[k].draw(&s);
}
