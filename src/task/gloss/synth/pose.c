/* Where the hands are at a frame. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/gloss/synth/internal.h"

#define AMPLITUDE 0.58f /* of a path to each side, units */

/* Of a hand at a place: one hand, the distance outwards of each of two, height, direction, side seen. */
static const struct spot { float one, two, down, angle, side; } spots[CT_PLACES] = {
    [CT_PLACE_BROW] = { 0.42f, 0.62f, -1.22f, -12, 1 },
    [CT_PLACE_CHIN] = { 0.1f, 0.55f, -0.42f, -25, 1 },
    [CT_PLACE_CHEST] = { 0.1f, 0.55f, 0.47f, -60, -1 },
    [CT_PLACE_BELLY] = { 0.1f, 0.55f, 1.32f, -80, -1 },
    [CT_PLACE_SHOULDER] = { -0.85f, 0.85f, 0.12f, -50, -1 },
    [CT_PLACE_SIDE] = { 1.47f, 1.47f, 0.2f, 12, 1 },
    [CT_PLACE_HIGH] = { 1.3f, 1.3f, -1.05f, 5, 1 },
    [CT_PLACE_LOW] = { 1.36f, 1.36f, 1.3f, 38, 1 },
};
static const struct spot rest = { 0.6f, 0.6f, 2.1f, -150, -1 };

/* Thumb, index, middle, ring and little finger. */
static const ct_fingers shapes[CT_SHAPES + 1] = {
    [CT_SHAPE_FIST] = { { 0.1f, 0, 0, 0, 0 }, { 20, 0, 0, 0, 0 }, { 0 } },
    [CT_SHAPE_FLAT] = { { 0.55f, 1, 1, 1, 1 }, { 12, 1, 0, 0, -1 }, { 0 } },
    [CT_SHAPE_POINT] = { { 0.1f, 1.2f, 0, 0, 0 }, { 20, -4, 0, 0, 0 }, { 0 } },
    [CT_SHAPE_VEE] = { { 0.1f, 1.15f, 1.05f, 0, 0 }, { 20, 17, -19, 0, 0 }, { 0 } },
    [CT_SHAPE_SPREAD] = { { 1.1f, 1.05f, 1.05f, 1.05f, 1.1f }, { 74, 31, 9, -14, -38 }, { 0 } },
    [CT_SHAPE_HOOK] = { { 1.3f, 1.3f, 1.2f, 1, 0.8f }, { 88, -14, -12, -10, -8 }, { -50, 84, 80, 76, 72 } },
    [CT_SHAPE_HORN] = { { 0.1f, 1.15f, 0, 0, 1.35f }, { 20, 12, 0, 0, -16 }, { 0 } },
    [CT_SHAPE_LOOSE] = { { 0.7f, 0.7f, 0.72f, 0.7f, 0.7f }, { 24, 7, 1, -4, -10 }, { 0, 14, 14, 14, 14 } },
};

const ct_fingers *ct_shape_fingers(enum ct_shape s)
{
    return &shapes[s];
}

/* From 0 to 1 with no speed at either end. */
static float ease(float t)
{
    return t * t * (3 - 2 * t);
}

/* The same with some speed at the ends, so that no frame of a path stands still. */
static float half_ease(float t)
{
    return 0.55f * t + 0.45f * ease(t);
}

/* -1..1..-1, straight in between. */
static float triangle(float t)
{
    const float v = t - floorf(t);
    return v < 0.5f ? 4 * v - 1 : 3 - 4 * v;
}

void ct_path_at(enum ct_path path, float p, float *out, float *down, float *turn)
{
    const float along = 2 * half_ease(p) - 1;
    const float round = 2 * CT_PI_F * 1.15f * p;
    *out = *down = *turn = 0;
    switch (path) {
    case CT_PATH_LIFT: *down = -along; break;
    case CT_PATH_DROP: *down = along; break;
    case CT_PATH_PUSH: *out = along; break;
    case CT_PATH_PULL: *out = -along; break;
    case CT_PATH_ROLL: case CT_PATH_REEL: /* from the top; ROLL outwards first */
        *out = 0.85f * sinf(round) * (path == CT_PATH_ROLL ? 1 : -1);
        *down = -0.85f * cosf(round);
        break;
    case CT_PATH_ARCH: case CT_PATH_DIP: /* outwards over or under */
        *out = -0.9f * cosf(CT_PI_F * half_ease(p));
        *down = (path == CT_PATH_ARCH ? -1.35f : 1.35f) * (sinf(CT_PI_F * half_ease(p)) - 0.5f);
        break;
    case CT_PATH_ZIG: /* down in four strokes */
        *out = 0.85f * triangle(2 * p + 0.25f);
        *down = 1.05f * (2 * p - 1);
        break;
    case CT_PATH_TAP: { /* from below, twice */
        const float away = 0.5f + 0.5f * cosf(4 * CT_PI_F * p);
        *out = 0.55f * away;
        *down = 1.15f * away;
        break;
    }
    case CT_PATH_SHAKE: *out = 0.85f * sinf(4 * CT_PI_F * p); break;
    case CT_PATH_WAVE: { /* about a point below the hand */
        *turn = 40 * sinf(4 * CT_PI_F * p);
        break;
    }
    default: break;
    }
}

static ct_hand at_spot(const struct spot *s, float out, enum ct_shape shape)
{
    return (ct_hand){ .out = out, .down = s->down, .angle = s->angle, .side = s->side, .fingers = shapes[shape] };
}

/* Turn k of a script at a phase, of one hand. */
static ct_hand in_gloss(const ct_gloss *g, const struct ct_turn *t, float phase, int left)
{
    const struct spot *s = &spots[g->place];
    float out, down, turn;
    if (left && g->hands == CT_HANDS_ONE) return at_spot(&rest, rest.one, CT_SHAPE_LOOSE);
    ct_hand h = at_spot(s, g->hands == CT_HANDS_ONE ? s->one : s->two, g->shape);
    ct_path_at(g->path, phase, &out, &down, &turn);
    /* in parallel: the left hand goes where the right one goes, its own `out` is the other way */
    if (left && g->hands == CT_HANDS_TWIN) {
        out = -out;
        turn = -turn;
    }
    const float a = AMPLITUDE * t->amplitude;
    h.out += t->dx + a * out;
    h.down += t->dy + a * down;
    if (turn != 0) { /* the wrist stays where it is */
        const float arm = 0.4f, from = h.angle * CT_PI_F / 180, to = (h.angle + turn) * CT_PI_F / 180;
        h.out += arm * (sinf(to) - sinf(from));
        h.down -= arm * (cosf(to) - cosf(from));
        h.angle += turn;
    }
    return h;
}

/* Between two; sag: how far the hands sink in the middle, units. */
static ct_hand between(const ct_hand *a, const ct_hand *b, float t, float sag)
{
    ct_hand h;
    const float e = ease(t);
    h.out = ct_mix(a->out, b->out, e);
    h.down = ct_mix(a->down, b->down, e) + sag * sinf(CT_PI_F * t);
    h.angle = ct_mix(a->angle, b->angle, e);
    h.side = ct_mix(a->side, b->side, e);
    for (int k = 0; k < CT_FINGERS; k++) {
        h.fingers.stretch[k] = ct_mix(a->fingers.stretch[k], b->fingers.stretch[k], e);
        h.fingers.angle[k] = ct_mix(a->fingers.angle[k], b->fingers.angle[k], e);
        h.fingers.bend[k] = ct_mix(a->fingers.bend[k], b->fingers.bend[k], e);
    }
    return h;
}

float ct_pose_way(const ct_gloss *a, const ct_gloss *b)
{
    static const struct ct_turn usual = { 0, 0, 1 };
    float most = 0;
    for (int left = 0; left < 2; left++) {
        const ct_hand idle = at_spot(&rest, rest.one, CT_SHAPE_LOOSE);
        const ct_hand from = a ? in_gloss(a, &usual, 1, left) : idle, to = b ? in_gloss(b, &usual, 0, left) : idle;
        most = fmaxf(most, hypotf(from.out - to.out, from.down - to.down));
    }
    return most;
}

/* One hand. Phases of frames lie in the middle of their shares: a gloss of n frames has (i + 0.5) / n. */
static ct_hand hand_at(const ct_gloss *lexicon, const ct_script *s, int frame, int left)
{
    const ct_gesture_plan *p = &s->plan;
    const ct_hand idle = at_spot(&rest, rest.one, CT_SHAPE_LOOSE);
    int k = 0; /* the first gloss that is not over */
    while (k < p->glosses && frame > p->last[k]) k++;
    if (k < p->glosses && frame >= p->first[k]) {
        const float n = (float)(p->last[k] - p->first[k] + 1);
        return in_gloss(&lexicon[p->gloss[k]], &s->turn[k], ((float)(frame - p->first[k]) + 0.5f) / n, left);
    }
    const int from = k > 0 ? p->last[k - 1] + 1 : s->rise, to = k < p->glosses ? p->first[k] : s->fall;
    if (frame < from || frame >= to) return idle;
    const float t = ((float)(frame - from) + 0.5f) / (float)(to - from);
    const ct_hand a = k > 0 ? in_gloss(&lexicon[p->gloss[k - 1]], &s->turn[k - 1], 1, left) : idle;
    const ct_hand b = k < p->glosses ? in_gloss(&lexicon[p->gloss[k]], &s->turn[k], 0, left) : idle;
    const bool inner = k > 0 && k < p->glosses;
    const bool resting = left && inner && lexicon[p->gloss[k - 1]].hands == CT_HANDS_ONE &&
                         lexicon[p->gloss[k]].hands == CT_HANDS_ONE;
    const float sag = !inner || resting ? 0 : p->gloss[k - 1] == p->gloss[k] ? 0.55f : 0.15f;
    return between(&a, &b, t, sag);
}

void ct_pose_at(const ct_gloss *lexicon, const ct_script *s, int frame, ct_hand hand[2])
{
    for (int left = 0; left < 2; left++) hand[left] = hand_at(lexicon, s, frame, left);
}
