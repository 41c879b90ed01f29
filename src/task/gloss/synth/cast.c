/* Signers, who signs a clip, and how a clip looks. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/gloss/synth/internal.h"

static const float skins[][3] = { { 244, 208, 182 }, { 230, 184, 150 }, { 205, 150, 114 }, { 166, 112, 80 },
                                  { 142, 96, 70 } };
enum { SKINS = sizeof skins / sizeof *skins };
static const float cloths[][3] = { { 34, 40, 66 },   { 40, 42, 46 },   { 226, 228, 226 }, { 112, 118, 126 },
                                   { 40, 104, 72 },  { 26, 112, 124 }, { 116, 26, 46 },   { 88, 60, 132 },
                                   { 54, 96, 182 },  { 60, 72, 40 },   { 196, 214, 232 }, { 210, 196, 60 } };
enum { CLOTHS = sizeof cloths / sizeof *cloths };
static const float hairs[][3] = { { 24, 20, 20 }, { 52, 34, 24 }, { 96, 64, 38 }, { 170, 132, 78 }, { 150, 150, 150 },
                                  { 120, 52, 28 } };
enum { HAIRS = sizeof hairs / sizeof *hairs };
#define LEAST_CONTRAST 122.0f /* levels between skin and clothes: hands are seen before the trunk */

float ct_colour_distance(const float a[3], const float b[3])
{
    static const float weight[3] = { 0.9f, 1.5f, 0.6f };
    float sum = 0;
    for (int c = 0; c < 3; c++) sum += weight[c] * (a[c] - b[c]) * (a[c] - b[c]);
    return sqrtf(sum);
}

static void vary(ct_rng *r, const float from[3], float by, float out[3])
{
    const float all = ct_within(r, -by, by);
    for (int c = 0; c < 3; c++) {
        const float v = from[c] + all + ct_within(r, -by, by) / 2;
        out[c] = v < 8 ? 8 : v > 250 ? 250 : v;
    }
}

/* at: 0 the lightest skin, 1 the darkest. */
static void skin_at(float at, float out[3])
{
    const float v = at * (SKINS - 1);
    const int i = v >= SKINS - 1 ? SKINS - 2 : (int)v;
    for (int c = 0; c < 3; c++) out[c] = ct_mix(skins[i][c], skins[i + 1][c], v - (float)i);
}

static void dress(ct_rng *r, ct_signer *s)
{
    do {
        vary(r, cloths[ct_rng_below(r, CLOTHS)], 14, s->cloth);
    } while (ct_colour_distance(s->cloth, s->skin) < LEAST_CONTRAST); /* most colours are far from any skin */
    vary(r, hairs[ct_rng_below(r, HAIRS)], 8, s->hair_rgb);
    s->hair = (enum ct_hair)(ct_rng_below(r, 20) == 0 ? CT_HAIR_NONE : ct_rng_below(r, 3));
    s->sleeve = ct_rng_below(r, 5) < 3 ? ct_within(r, 0.75, 0.92) : ct_within(r, 0, 0.15);
    s->stripe = ct_rng_below(r, 3) == 0 ? ct_within(r, 0.08, 0.18) : 0;
    s->stripe_step = ct_within(r, 0.25, 0.5);
    s->collar = ct_within(r, 0.12, 0.4);
}

/* Skins are spread evenly over the signers, in an order by lot; all else is by lot. */
void ct_signers_make(uint64_t seed, int n, ct_signer *out)
{
    int64_t order[CT_GESTURE_SIGNERS];
    ct_rng_permutation(seed, CT_RNG_SYNTH, (uint64_t)CT_LOT_SIGNER << 52 ^ UINT32_MAX, n, order);
    for (int i = 0; i < n; i++) {
        ct_signer *s = &out[i];
        ct_rng r;
        ct_gesture_lot(&r, seed, CT_LOT_SIGNER, (uint64_t)i);
        memset(s, 0, sizeof *s);
        s->unit = ct_within(&r, 0.160, 0.174);
        s->x = 0.5f + ct_within(&r, -0.012, 0.012);
        s->y = 0.483f + ct_within(&r, -0.01, 0.018);
        s->head_w = ct_within(&r, 0.37, 0.44);
        s->head_h = ct_within(&r, 0.52, 0.6);
        s->neck = ct_within(&r, 0.16, 0.26);
        s->trunk = ct_within(&r, 0.62, 0.8);
        s->arm = ct_within(&r, 1.25, 1.4);
        s->limb = ct_within(&r, 0.85, 1.12);
        s->hand = ct_within(&r, 1.03, 1.12);
        skin_at(((float)order[i] + ct_within(&r, 0.1, 0.9)) / (float)n, s->skin);
        s->tempo = ct_within(&r, 0.92, 1.1);
        s->amplitude = ct_within(&r, 0.92, 1.1);
        dress(&r, s);
    }
}

int ct_cast_signer(uint64_t seed, int64_t index, ct_gesture_cast cast, int signers)
{
    ct_rng r;
    if (signers == 1) return 0;
    ct_gesture_lot(&r, seed, CT_LOT_CAST, (uint64_t)index);
    const uint32_t last = ct_rng_below(&r, 5), other = ct_rng_below(&r, (uint32_t)signers - 1);
    return cast == CT_GESTURE_ALL && last < 2 ? signers - 1 : (int)other;
}

void ct_look_make(uint64_t seed, int64_t index, const ct_signer *s, int size, ct_look *out)
{
    ct_rng r;
    const float side = (float)size;
    ct_gesture_lot(&r, seed, CT_LOT_LOOK, (uint64_t)index);
    memset(out, 0, sizeof *out);
    out->unit = side * s->unit * ct_within(&r, 0.96, 1.03);
    out->x = side * (s->x + ct_within(&r, -0.02, 0.02));
    out->y = side * (s->y + ct_within(&r, -0.015, 0.015));
    const float exposure = ct_within(&r, 0.88, 1.08), warm = ct_within(&r, -0.07, 0.07);
    out->gain[0] = exposure * (1 + warm);
    out->gain[1] = exposure * (1 + ct_within(&r, -0.02, 0.02));
    out->gain[2] = exposure * (1 - warm);
    const float from = ct_within(&r, 0, 2 * CT_PI_F), slope = ct_within(&r, 0, 0.2);
    out->light_x = cosf(from);
    out->light_y = -fabsf(sinf(from)); /* from above */
    out->slope_x = slope * out->light_x;
    out->slope_y = slope * out->light_y;
    out->noise = ct_within(&r, 1, 5);
    out->blur = ct_within(&r, 0, 0.1);
    for (int k = 0; k < 4; k += 2) {
        out->sway[k] = ct_within(&r, 0.06, 0.2);
        out->sway[k + 1] = ct_within(&r, 0, 2 * CT_PI_F);
    }
    vary(&r, s->cloth, 4, out->cloth);
}
