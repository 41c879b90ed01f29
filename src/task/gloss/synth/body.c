/* A signer: trunk, head, arms and hands, from the back to the front. */
#include "config.h"

#include <math.h>

#include "task/gloss/synth/internal.h"

/* Where the parts of a body are in a frame. */
typedef struct joints {
    ct_spot neck, head;             /* middle of the shoulders, of the head */
    ct_spot shoulder[2], elbow[2], wrist[2];
} joints;

/* Out: where the right and the left arm's outside is in the picture. */
static const int outside[2] = { -1, 1 };

static ct_ink ink_of(const float rgb[3], float gain, float rim_gain, float rim)
{
    ct_ink k = { .rim = rim };
    for (int c = 0; c < 3; c++) {
        k.rgb[c] = fminf(rgb[c] * gain, 252);
        k.rim_rgb[c] = rgb[c] * rim_gain;
    }
    return k;
}

static ct_spot towards(ct_spot from, ct_spot to, float length)
{
    const float dx = to.x - from.x, dy = to.y - from.y, d = sqrtf(dx * dx + dy * dy);
    if (d < 1e-4f) return from;
    return (ct_spot){ from.x + dx / d * length, from.y + dy / d * length };
}

static float apart(ct_spot a, ct_spot b)
{
    return hypotf(a.x - b.x, a.y - b.y);
}

/* The elbow of an arm that reaches for a wrist. An arm seen from the front may look shorter than it is but not longer:
 * the elbow hangs down and outwards, and follows as far as both halves have to. */
static ct_spot elbow_of(ct_spot shoulder, ct_spot wrist, float upper, float lower, float unit, int out)
{
    ct_spot e = { shoulder.x + 0.3f * (wrist.x - shoulder.x) + 0.42f * unit * (float)out,
                  shoulder.y + 0.3f * (wrist.y - shoulder.y) + 0.85f * unit };
    for (int k = 0; k < 6; k++) {
        if (apart(e, wrist) > lower) e = towards(wrist, e, lower);
        if (apart(e, shoulder) > upper) e = towards(shoulder, e, upper);
    }
    return e;
}

static joints find_joints(const ct_signer *s, const ct_look *k, const ct_hand hand[2], int frame)
{
    joints j;
    const float u = k->unit, t = (float)frame;
    const float sway = 0.035f * u * sinf(k->sway[0] * t + k->sway[1]);
    const float nod = 0.03f * u * sinf(k->sway[2] * t + k->sway[3]);
    j.neck = (ct_spot){ k->x + sway, k->y };
    j.head = (ct_spot){ j.neck.x + nod, k->y - (s->neck + s->head_h) * u + 0.5f * nod };
    for (int i = 0; i < 2; i++) {
        j.shoulder[i] = (ct_spot){ j.neck.x + 0.82f * u * (float)outside[i], k->y + 0.2f * u };
        j.wrist[i] = ct_hand_wrist(&hand[i], s, k, outside[i]);
        j.elbow[i] = elbow_of(j.shoulder[i], j.wrist[i], s->arm * u, (s->arm - 0.05f) * u, u, outside[i]);
    }
    return j;
}

static void draw_trunk(ct_film *f, const ct_signer *s, const ct_look *k, const joints *j)
{
    const float u = k->unit, x = j->neck.x, y = j->neck.y;
    const float waist = (s->trunk - 0.2f) * u, breast = waist + 0.04f * u;
    const ct_bone trunk[] = {
        { x, y + 0.1f * u, x - 0.72f * u, y + 0.26f * u, 0.2f * u, 0.24f * u, 0 },
        { x, y + 0.1f * u, x + 0.72f * u, y + 0.26f * u, 0.2f * u, 0.24f * u, 0 },
        { x - 0.2f * u, y + 0.75f * u, x - 0.2f * u, y + 4 * u, breast, waist, 0 },
        { x + 0.2f * u, y + 0.75f * u, x + 0.2f * u, y + 4 * u, breast, waist, 0 },
        { x - 0.4f * u, y + 0.5f * u, x + 0.4f * u, y + 0.5f * u, 0.4f * u, 0.4f * u, 0 },
    };
    const ct_bone neck = { x, y - (s->neck + 0.2f) * u, x, y + 0.02f * u, 0.2f * u, 0.22f * u, 0 };
    ct_ink cloth = ink_of(k->cloth, 1, 0.5f, 0.5f), skin = ink_of(s->skin, 0.86f, 0.6f, 0.35f);
    cloth.round = 0.22f;
    cloth.depth = 0.35f * u;
    cloth.stripe = s->stripe;
    cloth.stripe_step = s->stripe_step * u;
    cloth.stripe_at = y;
    ct_film_bones(f, trunk, (int)(sizeof trunk / sizeof *trunk), &cloth);
    ct_film_ellipse(f, x, y, 0.27f * u, s->collar * u, &skin);
    ct_film_bones(f, &neck, 1, &skin);
}

static void draw_hair_behind(ct_film *f, const ct_signer *s, const ct_look *k, const joints *j)
{
    const float u = k->unit, x = j->head.x, y = j->head.y, w = s->head_w * u, h = s->head_h * u;
    ct_ink hair = ink_of(s->hair_rgb, 0.85f, 0.5f, 0.4f);
    if (s->hair == CT_HAIR_LONG) {
        const ct_bone b[] = { { x - 0.72f * w, y - 0.2f * h, x - 0.85f * w, y + 1.25f * h, 0.45f * w, 0.3f * w, 0 },
                              { x + 0.72f * w, y - 0.2f * h, x + 0.85f * w, y + 1.25f * h, 0.45f * w, 0.3f * w, 0 } };
        ct_film_bones(f, b, 2, &hair);
    } else if (s->hair == CT_HAIR_BUN) {
        ct_film_ellipse(f, x, y - 1.08f * h, 0.45f * w, 0.28f * h, &hair);
    }
}

static void draw_head(ct_film *f, const ct_signer *s, const ct_look *k, const joints *j, int frame)
{
    const float u = k->unit, x = j->head.x, y = j->head.y, w = s->head_w * u, h = s->head_h * u;
    ct_ink skin = ink_of(s->skin, 0.93f, 0.5f, 0.4f), hair = ink_of(s->hair_rgb, 1, 0.6f, 0.3f);
    ct_ink dark = ink_of(s->skin, 0.25f, 0, 0), lips = ink_of(s->skin, 0.62f, 0, 0);
    ct_ink nose = ink_of(s->skin, 0.82f, 0, 0);
    skin.round = 0.15f;
    skin.depth = 0.3f * w;
    for (int i = 0; i < 2; i++)
        ct_film_ellipse(f, x + 0.97f * w * (float)outside[i], y + 0.1f * h, 0.16f * w, 0.17f * h, &skin);
    if (s->hair == CT_HAIR_NONE) {
        ct_film_ellipse(f, x, y, w, h, &skin);
    } else {
        ct_film_ellipse(f, x, y - 0.04f * h, 1.06f * w, 1.04f * h, &hair);
        ct_film_ellipse(f, x, y + 0.2f * h, 0.9f * w, 0.82f * h, &skin);
    }
    for (int i = 0; i < 2; i++) {
        const float ex = x + 0.38f * w * (float)outside[i];
        const ct_bone brow = { ex - 0.16f * w, y - 0.13f * h, ex + 0.16f * w, y - 0.13f * h, 0.05f * w, 0.05f * w, 0 };
        ct_film_ellipse(f, ex, y + 0.02f * h, 0.13f * w, 0.085f * h, &dark);
        ct_film_bones(f, &brow, 1, &dark);
    }
    const ct_bone ridge = { x, y + 0.06f * h, x, y + 0.3f * h, 0.07f * w, 0.1f * w, 0 };
    ct_film_bones(f, &ridge, 1, &nose);
    const float open = 0.05f + 0.04f * sinf(3.1f * k->sway[2] * (float)frame + k->sway[1]); /* the mouth moves along */
    ct_film_ellipse(f, x, y + 0.58f * h, 0.3f * w, open * h + 0.03f * h, &lips);
}

/* An arm to the wrist: the sleeve, and what it leaves bare. */
static void draw_arm(ct_film *f, const ct_signer *s, const ct_look *k, const joints *j, int i)
{
    const float u = k->unit * s->limb;
    const ct_spot e = j->elbow[i], w = j->wrist[i];
    const ct_spot cuff = { e.x + s->sleeve * (w.x - e.x), e.y + s->sleeve * (w.y - e.y) };
    ct_ink cloth = ink_of(k->cloth, 1.04f, 0.5f, fmaxf(0.5f, 0.04f * k->unit));
    ct_ink skin = ink_of(s->skin, 0.97f, 0.35f, 0.6f);
    cloth.round = skin.round = 0.2f;
    cloth.depth = skin.depth = 0.14f * u;
    const float at_cuff = ct_mix(0.165f, 0.125f, s->sleeve) * u;
    const ct_bone bare = { e.x, e.y, w.x, w.y, 0.14f * u, 0.1f * u, 0 };
    const ct_bone sleeve[] = { { j->shoulder[i].x, j->shoulder[i].y, e.x, e.y, 0.23f * u, 0.17f * u, 0 },
                               { e.x, e.y, cuff.x, cuff.y, 0.165f * u, at_cuff, 0 } };
    ct_film_bones(f, &bare, 1, &skin);
    ct_film_bones(f, sleeve, 2, &cloth);
}

void ct_body_draw(ct_film *f, const ct_signer *s, const ct_look *k, const ct_hand hand[2], int frame)
{
    const joints j = find_joints(s, k, hand, frame);
    draw_hair_behind(f, s, k, &j);
    draw_trunk(f, s, k, &j);
    draw_head(f, s, k, &j, frame);
    for (int i = 1; i >= 0; i--) { /* the right hand is nearest */
        draw_arm(f, s, k, &j, i);
        ct_hand_draw(f, &hand[i], s, k, outside[i]);
    }
}
