/* Backgrounds. */
#include "config.h"

#include <math.h>

#include "task/gloss/synth/internal.h"

enum { TRIES = 40 };
#define FROM_SKIN 75.0f  /* levels: hands beside the body are seen */
#define FROM_CLOTH 30.0f

/* A colour that neither hands nor clothes vanish in: the first of some by lot that is far enough from both, or the one
 * farthest from the skin. */
static void wall_colour(ct_rng *r, const ct_signer *s, float out[3])
{
    float best = -1;
    for (int k = 0; k < TRIES; k++) {
        float rgb[3];
        const float gray = ct_within(r, 50, 225), hue = ct_within(r, 0, 2 * CT_PI_F), tint = ct_within(r, 0, 38);
        for (int c = 0; c < 3; c++) rgb[c] = gray + tint * cosf(hue + 2 * CT_PI_F / 3 * (float)c);
        const float skin = ct_colour_distance(rgb, s->skin), cloth = ct_colour_distance(rgb, s->cloth);
        if (skin > best) {
            for (int c = 0; c < 3; c++) out[c] = rgb[c];
            best = skin;
        }
        if (skin >= FROM_SKIN && cloth >= FROM_CLOTH) {
            for (int c = 0; c < 3; c++) out[c] = rgb[c];
            return;
        }
    }
}

/* Soft ellipses: lighter and darker parts of a room. */
static void soft_shapes(ct_film *f, ct_rng *r, int shapes)
{
    const int n = f->size;
    for (int k = 0; k < shapes; k++) {
        const float side = (float)n, cx = ct_within(r, 0, side), cy = ct_within(r, 0, side);
        const float rx = ct_within(r, 0.12 * side, 0.5 * side), ry = ct_within(r, 0.12 * side, 0.5 * side);
        const float soft = ct_within(r, 0.08, 0.5);
        float by[3];
        const float all = ct_within(r, -22, 22);
        for (int c = 0; c < 3; c++) by[c] = all + ct_within(r, -6, 6);
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                const float u = ((float)x + 0.5f - cx) / rx, v = ((float)y + 0.5f - cy) / ry;
                const float a = ct_clamp1((1 - sqrtf(u * u + v * v)) / soft + 0.5f);
                for (int c = 0; c < 3; c++) f->ch[c][y * n + x] += a * by[c];
            }
    }
}

void ct_wall_draw(ct_film *f, uint64_t seed, int64_t index, const ct_signer *s, const ct_look *k)
{
    ct_rng r;
    float rgb[3] = { 0 }, slope[2] = { 0, 0 }, edge = 2, step = 0;
    const int n = f->size;
    ct_gesture_lot(&r, seed, CT_LOT_GROUND, (uint64_t)index);
    wall_colour(&r, s, rgb);
    const uint32_t kind = ct_rng_below(&r, 4); /* plain, gradient, soft shapes, a wall and what stands before it */
    if (kind >= 1) {
        slope[0] = ct_within(&r, -18, 18) + 6 * k->light_x;
        slope[1] = ct_within(&r, -18, 18) + 6 * k->light_y;
    }
    if (kind == 3) {
        edge = ct_within(&r, 0.45, 0.85);
        step = ct_within(&r, 10, 26) * (ct_rng_below(&r, 2) ? 1.0f : -1.0f);
    }
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const float fx = ((float)x + 0.5f) / (float)n, fy = ((float)y + 0.5f) / (float)n;
            const float more = slope[0] * (2 * fx - 1) + slope[1] * (2 * fy - 1) +
                               step * ct_clamp1((fy - edge) * (float)n + 0.5f);
            for (int c = 0; c < 3; c++) f->ch[c][y * n + x] = rgb[c] + more;
        }
    if (kind == 2) soft_shapes(f, &r, 2 + (int)ct_rng_below(&r, 4));
}
