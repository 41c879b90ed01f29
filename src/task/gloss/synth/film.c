/* Shapes on pixels, and from levels to 8 bits. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/gloss/synth/internal.h"

#define FAR 1e6f

ct_status ct_film_open(int size, ct_film *f)
{
    const size_t n = (size_t)size * (size_t)size, row = (size_t)size;
    *f = (ct_film){ .size = size };
    f->buffer = ct_calloc(4 * n + 4 * row, sizeof *f->buffer, "film");
    if (!f->buffer) return CT_ENOMEM;
    for (int c = 0; c < 3; c++) f->ch[c] = f->buffer + (size_t)c * n;
    f->spare = f->buffer + 3 * n;
    for (int k = 0; k < 4; k++) f->row[k] = f->buffer + 4 * n + (size_t)k * row;
    return CT_OK;
}

void ct_film_close(ct_film *f)
{
    if (!f) return;
    ct_free(f->buffer);
    *f = (ct_film){ 0 };
}

/* Pixels that [lo,hi] touches, cut at the picture's edges. */
static void span(float lo, float hi, int size, int *first, int *end)
{
    *first = lo <= 0 ? 0 : lo >= (float)size ? size : (int)lo;
    *end = hi <= 0 ? 0 : hi >= (float)size - 1 ? size : (int)hi + 1;
}

/* Distances of the pixels (x0.., y) from a bone, the smaller of them and what is there. */
static void bone_row(const ct_bone *b, float y, int x0, int n, float *restrict d)
{
    const float dx = b->bx - b->ax, dy = b->by - b->ay, len = dx * dx + dy * dy;
    const float inv = len > 1e-6f ? 1 / len : 0, py = y - b->ay, dr = b->rb - b->ra;
    for (int i = 0; i < n; i++) {
        const float px = (float)(x0 + i) + 0.5f - b->ax;
        float t = (px * dx + py * dy) * inv;
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        const float qx = px - t * dx, qy = py - t * dy;
        const float v = sqrtf(qx * qx + qy * qy) - (b->ra + t * dr);
        d[i] = v < d[i] ? v : d[i];
    }
}

/* Lays ink over the pixels (x0.., y), whose distances from the shape's edge are d; dark: how much darker each is made,
 * or NULL. */
static void ink_row(ct_film *f, const ct_ink *k, int y, int x0, int n, const float *restrict d, const float *dark)
{
    const size_t at = (size_t)y * (size_t)f->size + (size_t)x0;
    float band = 1;
    if (k->stripe > 0) {
        const float v = ((float)y + 0.5f - k->stripe_at) / k->stripe_step;
        band = 1 + k->stripe * (v - floorf(v) < 0.5f ? 1 : -1);
    }
    const float per = k->depth > 0 ? 1 / k->depth : 0;
    for (int c = 0; c < 3; c++) {
        float *restrict px = f->ch[c] + at;
        const float rgb = k->rgb[c] * band, rim = k->rim_rgb[c];
        for (int i = 0; i < n; i++) {
            const float cover = ct_clamp1(0.5f - d[i]), line = ct_clamp1(0.5f - d[i] + k->rim);
            float v = rgb * (1 - k->round * ct_clamp1(1 + d[i] * per));
            if (dark) v *= 1 - dark[i];
            const float under = k->rim > 0 ? px[i] + line * (rim - px[i]) : px[i];
            px[i] = under + cover * (v - under);
        }
    }
}

/* Distances of all bones into row[0]; of fingers, how dark the line between two of them is into row[1]. */
static void crease_row(ct_film *f, const ct_bone *b, int n, const ct_ink *ink, float y, int x0, int w)
{
    float *d = f->row[0], *dark = f->row[1], *best = f->row[2], *one = f->row[3];
    for (int i = 0; i < w; i++) {
        d[i] = best[i] = FAR;
        dark[i] = 0;
    }
    for (int k = 0; k < n;) {
        const int part = b[k].part;
        for (int i = 0; i < w; i++) one[i] = FAR;
        for (; k < n && b[k].part == part; k++) bone_row(&b[k], y, x0, w, one);
        for (int i = 0; i < w; i++) {
            const float gap = part > 0 ? fabsf(best[i] - one[i]) : FAR;
            const float v = ink->crease * ct_clamp1(1 - gap) * ct_clamp1(0.5f - one[i]);
            dark[i] = one[i] < best[i] ? v : v > dark[i] ? v : dark[i];
            if (part > 0 && one[i] < best[i]) best[i] = one[i];
            d[i] = one[i] < d[i] ? one[i] : d[i];
        }
    }
}

void ct_film_bones(ct_film *f, const ct_bone *b, int n, const ct_ink *ink)
{
    float lo[2] = { FAR, FAR }, hi[2] = { -FAR, -FAR };
    int x0, x1, y0, y1;
    for (int k = 0; k < n; k++) {
        const float r = (b[k].ra > b[k].rb ? b[k].ra : b[k].rb) + ink->rim + 1;
        lo[0] = fminf(lo[0], fminf(b[k].ax, b[k].bx) - r);
        hi[0] = fmaxf(hi[0], fmaxf(b[k].ax, b[k].bx) + r);
        lo[1] = fminf(lo[1], fminf(b[k].ay, b[k].by) - r);
        hi[1] = fmaxf(hi[1], fmaxf(b[k].ay, b[k].by) + r);
    }
    span(lo[0], hi[0], f->size, &x0, &x1);
    span(lo[1], hi[1], f->size, &y0, &y1);
    for (int y = y0; y < y1 && x0 < x1; y++) {
        if (ink->crease > 0) {
            crease_row(f, b, n, ink, (float)y + 0.5f, x0, x1 - x0);
            ink_row(f, ink, y, x0, x1 - x0, f->row[0], f->row[1]);
            continue;
        }
        for (int i = 0; i < x1 - x0; i++) f->row[0][i] = FAR;
        for (int k = 0; k < n; k++) bone_row(&b[k], (float)y + 0.5f, x0, x1 - x0, f->row[0]);
        ink_row(f, ink, y, x0, x1 - x0, f->row[0], NULL);
    }
}

/* The distance from an ellipse is that of its first-order approximation: exact at the edge. */
void ct_film_ellipse(ct_film *f, float cx, float cy, float rx, float ry, const ct_ink *ink)
{
    int x0, x1, y0, y1;
    const float more = ink->rim + 1;
    span(cx - rx - more, cx + rx + more, f->size, &x0, &x1);
    span(cy - ry - more, cy + ry + more, f->size, &y0, &y1);
    for (int y = y0; y < y1 && x0 < x1; y++) {
        const float v = ((float)y + 0.5f - cy) / ry;
        for (int i = 0; i < x1 - x0; i++) {
            const float u = ((float)(x0 + i) + 0.5f - cx) / rx, k = sqrtf(u * u + v * v);
            const float slope = sqrtf(u * u / (rx * rx) + v * v / (ry * ry));
            f->row[0][i] = slope > 1e-6f ? (k - 1) * k / slope : -fminf(rx, ry);
        }
        ink_row(f, ink, y, x0, x1 - x0, f->row[0], NULL);
    }
}

/* ---- development ---- */

/* Weights b, 1 - 2 b, b, both ways; the picture's edge is repeated. */
static void blur(ct_film *f, float *restrict px, float b)
{
    const int n = f->size;
    float *restrict tmp = f->spare;
    for (int y = 0; y < n; y++) {
        const float *restrict in = px + (size_t)y * (size_t)n;
        float *restrict out = tmp + (size_t)y * (size_t)n;
        out[0] = in[0] + b * (in[1] - in[0]);
        out[n - 1] = in[n - 1] + b * (in[n - 2] - in[n - 1]);
        for (int x = 1; x < n - 1; x++) out[x] = in[x] + b * (in[x - 1] + in[x + 1] - 2 * in[x]);
    }
    for (int y = 0; y < n; y++) {
        const float *restrict in = tmp + (size_t)y * (size_t)n;
        const float *restrict up = y > 0 ? in - n : in, *restrict low = y < n - 1 ? in + n : in;
        float *restrict out = px + (size_t)y * (size_t)n;
        for (int x = 0; x < n; x++) out[x] = in[x] + b * (up[x] + low[x] - 2 * in[x]);
    }
}

/* Sixteen values of noise from one block, uniform, of variance 1. */
static void noise16(uint64_t seed, uint64_t hi, uint64_t lo, float *out)
{
    const ct_philox a = ct_philox4x32(seed, hi, lo);
    for (int k = 0; k < 16; k++)
        out[k] = ((float)(a.v[k / 4] >> 8 * (k % 4) & 255) - 127.5f) * (1 / 73.9f);
}

void ct_film_develop(ct_film *f, const ct_look *k, uint64_t seed, int64_t index, int frame, uint8_t *px)
{
    const int n = f->size;
    const uint64_t hi = (uint64_t)CT_RNG_SYNTH << 56 ^ (uint64_t)CT_LOT_NOISE << 52 ^ (uint64_t)index;
    float grain[16 * ((3 * 512 + 15) / 16)];
    for (int c = 0; c < 3; c++) blur(f, f->ch[c], k->blur);
    for (int y = 0; y < n; y++) {
        const float fy = 2 * ((float)y + 0.5f) / (float)n - 1;
        for (int i = 0; i < 3 * n; i += 16)
            noise16(seed, hi, (uint64_t)frame << 32 | (uint64_t)(y << 8 | i / 16), grain + i);
        for (int x = 0; x < n; x++) {
            const float fx = 2 * ((float)x + 0.5f) / (float)n - 1;
            const float light = 1 + k->slope_x * fx + k->slope_y * fy;
            for (int c = 0; c < 3; c++) {
                const float v = f->ch[c][y * n + x] * k->gain[c] * light + k->noise * grain[3 * x + c] + 0.5f;
                px[3 * (y * n + x) + c] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
        }
    }
}
