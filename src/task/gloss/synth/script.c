/* What is signed in a clip, and when. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/gloss/synth/internal.h"

enum { LEAST_GLOSS = 6, MOST_GLOSS = 13, LEAST_TRANSITION = 2, MOST_TRANSITION = 4 };

/* Frames of a path at the usual tempo. */
static void usual_frames(enum ct_path p, double *lo, double *hi)
{
    const bool several = p >= CT_PATH_ZIG, round = p == CT_PATH_ROLL || p == CT_PATH_REEL;
    *lo = several ? 8.5 : round ? 8 : 7;
    *hi = several ? 11 : round ? 10.5 : 9.5;
}

static int frames_of(double usual, double tempo, int least, int most)
{
    const int n = (int)lrint(usual / tempo);
    return n < least ? least : n > most ? most : n;
}

/* Frames between two glosses, or one and rest (NULL): the farther, the more. Returning to the beginning of the same one
 * takes longest: it must be seen. */
static int transition(ct_rng *r, const ct_gloss *a, const ct_gloss *b, double tempo)
{
    const double usual = ct_rng_uniform(r, 1.3, 2.3) + 0.8 * (double)ct_pose_way(a, b);
    return frames_of(usual, tempo, a == b ? MOST_TRANSITION : LEAST_TRANSITION, MOST_TRANSITION);
}

void ct_script_make(const ct_gloss *lexicon, const ct_gesture_params *p, uint64_t seed, int64_t index, int signer,
                    const ct_signer *s, ct_script *out)
{
    ct_rng r;
    double lo, hi;
    ct_gesture_lot(&r, seed, CT_LOT_SCRIPT, (uint64_t)index);
    memset(out, 0, sizeof *out);
    ct_gesture_plan *plan = &out->plan;
    const double tempo = s->tempo * ct_rng_uniform(&r, 0.9, 1.12);
    const float amplitude = s->amplitude * ct_within(&r, 0.92, 1.08);
    plan->signer = signer;
    plan->glosses = p->least + (int)ct_rng_below(&r, (uint32_t)(p->most - p->least + 1));
    int at = (int)ct_rng_below(&r, 3);
    out->rise = at;
    const ct_gloss *before = NULL;
    for (int k = 0; k < plan->glosses; k++) {
        const ct_gloss *g = &lexicon[plan->gloss[k] = (int)ct_rng_below(&r, (uint32_t)p->glosses)];
        at += transition(&r, before, g, tempo);
        usual_frames(g->path, &lo, &hi);
        plan->first[k] = at;
        at += frames_of(ct_rng_uniform(&r, lo, hi), tempo, LEAST_GLOSS, MOST_GLOSS);
        plan->last[k] = at - 1;
        out->turn[k] = (struct ct_turn){ ct_within(&r, -0.07, 0.07), ct_within(&r, -0.07, 0.07),
                                         amplitude * ct_within(&r, 0.93, 1.07) };
        before = g;
    }
    at += transition(&r, before, NULL, tempo);
    out->fall = at;
    plan->frames = at + 1 + (int)ct_rng_below(&r, 2);
}
