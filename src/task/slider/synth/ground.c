/* Drawn backgrounds as a camera would have taken them: a scene, blurred or sharp, with the brightness, contrast and
 * grain of photographs. */
#include "config.h"

#include <math.h>

#include "task/slider/synth/internal.h"

/* Mean and standard deviation of the brightness. */
static void measure(const ct_canvas *v, float *mean, float *spread)
{
    const size_t n = (size_t)v->w * (size_t)v->h;
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i += 7) { /* a part of them will do */
        const float y = 0.299f * v->ch[0][i] + 0.587f * v->ch[1][i] + 0.114f * v->ch[2][i];
        sum += y;
        square += (double)y * y;
    }
    const double count = (double)((n + 6) / 7);
    *mean = (float)(sum / count);
    *spread = (float)sqrt(fmax(square / count - sum / count * (sum / count), 1));
}

/* Gain and shift that bring brightness and contrast into the range of photographs. */
static void expose(const ct_canvas *v, ct_rng *r, float *gain, float *shift)
{
    float mean, spread;
    measure(v, &mean, &spread);
    const float aim = ct_between(r, 70, 190), least = ct_between(r, 14, 30), most = ct_between(r, 45, 75);
    const float want = ct_clampf(spread, least, most), to = mean + 0.7f * (aim - mean);
    *gain = ct_clampf(want / spread, 0.3f, 2.2f);
    *shift = to - *gain * mean;
}

/* One row to bytes: exposure, darker corners, grain of one tone and of each channel. */
static void develop(ct_canvas *v, int y, float gain, float shift, float corners, const ct_cloth *grain, float tone,
                    float colour, uint8_t *px)
{
    const size_t row = (size_t)y * (size_t)v->w;
    const float fy = 2 * ((float)y + 0.5f) / (float)v->h - 1, each = 2 / (float)v->w;
    float *dim = v->blend, *noise = v->cover;
    ct_cloth_row(grain, 0, y, v->w, v->texture);
    for (int x = 0; x < v->w; x++) {
        const float fx = ((float)x + 0.5f) * each - 1;
        dim[x] = 1 - corners * (fx * fx + fy * fy);
        noise[x] = tone * v->texture[x] + 0.5f;
    }
    for (int c = 0; c < 3; c++) {
        const float *from = v->ch[c] + row;
        /* the same grain, seen elsewhere, for each channel */
        ct_cloth_row(grain, 61 * (c + 1), y + 97, v->w, v->texture);
        for (int x = 0; x < v->w; x++) {
            float value = (from[x] * gain + shift) * dim[x] + noise[x] + colour * v->texture[x];
            value = value < 0 ? 0 : value;
            value = value > 255 ? 255 : value;
            px[3 * x + c] = (uint8_t)(int)value;
        }
    }
}

ct_status ct_ground_draw(ct_canvas *v, const ct_tiles *t, ct_rng *r, int w, int h, uint8_t *px)
{
    float gain, shift;
    CT_TRY(ct_canvas_make(v, w, h));
    ct_scene_draw(v, t, r);
    const double sharp = ct_rng_uniform(r, 0, 1);
    ct_canvas_blur(v, sharp < 0.35 ? 0 : sharp < 0.75 ? 1 : sharp < 0.9 ? 2 : 4);
    expose(v, r, &gain, &shift);
    const float corners = ct_chance(r, 0.3) ? ct_between(r, 0, 0.3) : 0;
    const float tone = ct_chance(r, 0.6) ? ct_between(r, 0, 0.12) : 0;
    const float colour = ct_chance(r, 0.3) ? ct_between(r, 0, 0.1) : 0;
    ct_cloth grain = ct_cloth_lay(t, CT_TILE_GRAIN, r, 1, 1, 0);
    grain.u &= ~0xffff; /* pixel for pixel: in between it would be softer */
    grain.v &= ~0xffff;
    for (int y = 0; y < h; y++)
        develop(v, y, gain, shift, corners, &grain, tone, colour, px + (size_t)y * (size_t)w * 3);
    return CT_OK;
}
