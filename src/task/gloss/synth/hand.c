/* A hand. */
#include "config.h"

#include <math.h>

#include "task/gloss/synth/internal.h"

/* In lengths of a hand, from the wrist: x towards the thumb, y towards the fingers. */
#define MIDDLE 0.36f
static const struct root { float x, y, length, radius; } roots[CT_FINGERS] = {
    { 0.12f, 0.2f, 0.34f, 0.07f }, { 0.168f, 0.47f, 0.4f, 0.064f }, { 0.056f, 0.5f, 0.45f, 0.066f },
    { -0.056f, 0.49f, 0.41f, 0.064f }, { -0.168f, 0.45f, 0.32f, 0.06f } };
#define STUB 0.06f /* length of a finger that is not stretched at all */

/* From a hand's own coordinates to pixels. */
typedef struct frame_of { float x, y, ux, uy, vx, vy, scale; } frame_of;

ct_spot ct_hand_middle(const ct_hand *h, const ct_look *k, int out)
{
    return (ct_spot){ k->x + (float)out * h->out * k->unit, k->y + h->down * k->unit };
}

ct_spot ct_hand_wrist(const ct_hand *h, const ct_signer *s, const ct_look *k, int out)
{
    const ct_spot m = ct_hand_middle(h, k, out);
    const float a = h->angle * CT_PI_F / 180, back = MIDDLE * s->hand * k->unit;
    return (ct_spot){ m.x - (float)out * sinf(a) * back, m.y + cosf(a) * back };
}

static ct_bone bone(const frame_of *f, float ax, float ay, float bx, float by, float ra, float rb, int part)
{
    return (ct_bone){ f->x + f->ux * ax + f->vx * ay, f->y + f->uy * ax + f->vy * ay, f->x + f->ux * bx + f->vx * by,
                      f->y + f->uy * bx + f->vy * by, ra * f->scale, rb * f->scale, part };
}

/* A finger of two straight pieces. */
static int finger(const frame_of *f, const ct_fingers *g, int k, ct_bone *out)
{
    const struct root *r = &roots[k];
    const float length = STUB + g->stretch[k] * (r->length - STUB);
    const float a = g->angle[k] * CT_PI_F / 180, b = a + g->bend[k] * CT_PI_F / 180;
    const float mx = r->x + sinf(a) * length * 0.5f, my = r->y + cosf(a) * length * 0.5f;
    out[0] = bone(f, r->x, r->y, mx, my, r->radius, r->radius, k + 1);
    out[1] = bone(f, mx, my, mx + sinf(b) * length * 0.5f, my + cosf(b) * length * 0.5f, r->radius,
                  r->radius * 0.92f, k + 1);
    return 2;
}

void ct_hand_bones(const ct_hand *h, const ct_signer *s, const ct_look *k, int out, ct_bone b[CT_HAND_BONES])
{
    const ct_spot wrist = ct_hand_wrist(h, s, k, out);
    const float a = h->angle * CT_PI_F / 180, scale = s->hand * k->unit, o = (float)out;
    /* the thumb of a palm is inwards; a hand that turns over grows narrow in between */
    const float thumb = -o * h->side;
    const frame_of at = { .x = wrist.x, .y = wrist.y, .vx = o * sinf(a) * scale, .vy = -cosf(a) * scale,
                          .ux = thumb * cosf(a) * scale, .uy = thumb * o * sinf(a) * scale, .scale = scale };
    int n = 0;
    b[n++] = bone(&at, -0.05f, 0.1f, -0.1f, 0.42f, 0.12f, 0.125f, 0);
    b[n++] = bone(&at, 0.05f, 0.1f, 0.1f, 0.42f, 0.12f, 0.125f, 0);
    b[n++] = bone(&at, 0, 0.06f, 0, 0.4f, 0.13f, 0.14f, 0);
    for (int i = 1; i < CT_FINGERS; i++) n += finger(&at, &h->fingers, i, b + n);
    finger(&at, &h->fingers, 0, b + n);
}

void ct_hand_draw(ct_film *f, const ct_hand *h, const ct_signer *s, const ct_look *k, int out)
{
    ct_bone b[CT_HAND_BONES];
    ct_hand_bones(h, s, k, out, b);
    ct_ink ink = { .rim = fmaxf(0.66f, 0.055f * k->unit), .round = 0.12f, .depth = 0.1f * s->hand * k->unit,
                   .crease = 0.3f };
    for (int c = 0; c < 3; c++) {
        ink.rgb[c] = fminf(s->skin[c] * 1.08f, 252);
        ink.rim_rgb[c] = s->skin[c] * 0.3f;
    }
    ct_film_bones(f, b, CT_HAND_BONES, &ink);
}
