/* The generator of gestures: parameters, and frames put together. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "task/gloss/synth/internal.h"

/* Part of the key: to be raised whenever the same parameters give other frames. */
#define GENERATOR_VERSION "captrain-gesture-1"

enum { LEAST_GLOSSES = 2, LEAST_SIZE = 32, MOST_SIZE = 512 };

struct ct_gesture_gen {
    ct_gesture_params p;
    uint64_t seed;
    ct_gloss lexicon[CT_GESTURE_GLOSSES];
    ct_signer signer[CT_GESTURE_SIGNERS];
    char key[33];
};

struct ct_gesture_pen {
    const ct_gesture_gen *g;
    ct_film film, ground; /* of these, the ground is that of the clip below */
    int64_t index;        /* the clip that the rest is of; -1: none yet */
    ct_gesture_cast cast;
    ct_script script;
    ct_look look;
};

/* ---- parameters ---- */

void ct_gesture_params_init(ct_gesture_params *p)
{
    *p = (ct_gesture_params){ .glosses = 40, .signers = 8, .least = 2, .most = 5, .size = 96 };
}

static ct_status in_range(const char *option, const char *what, int v, int lo, int hi)
{
    if (v >= lo && v <= hi) return CT_OK;
    return ct_fail(CT_ECONFIG, "gestures: --%s: %d %s; there can be %d to %d", option, v, what, lo, hi);
}

ct_status ct_gesture_params_check(const ct_gesture_params *p)
{
    CT_TRY(in_range("glosses", "glosses", p->glosses, LEAST_GLOSSES, CT_GESTURE_GLOSSES));
    CT_TRY(in_range("signers", "signers", p->signers, 1, CT_GESTURE_SIGNERS));
    CT_TRY(in_range("length", "glosses of a clip", p->least, 1, CT_GESTURE_LENGTH));
    CT_TRY(in_range("length", "glosses of a clip", p->most, 1, CT_GESTURE_LENGTH));
    if (p->least > p->most)
        return ct_fail(CT_ECONFIG, "gestures: --length: at least %d and at most %d glosses of a clip", p->least,
                       p->most);
    return in_range("size", "pixels to each side of a frame", p->size, LEAST_SIZE, MOST_SIZE);
}

/* ---- the generator ---- */

ct_status ct_gesture_gen_open(const ct_gesture_params *p, uint64_t seed, ct_gesture_gen **out)
{
    char text[160];
    *out = NULL;
    CT_TRY(ct_gesture_params_check(p));
    ct_gesture_gen *g = ct_calloc(1, sizeof *g, "generator of gestures");
    if (!g) return CT_ENOMEM;
    g->p = *p;
    g->seed = seed;
    ct_lexicon_make(g->lexicon, p->glosses);
    ct_signers_make(seed, p->signers, g->signer);
    const int n = snprintf(text, sizeof text, "%s %" PRIu64 " %d glosses %d signers %d-%d %d px", GENERATOR_VERSION,
                           seed, p->glosses, p->signers, p->least, p->most, p->size);
    ct_hash_hex(text, (size_t)n, g->key);
    *out = g;
    return CT_OK;
}

void ct_gesture_gen_close(ct_gesture_gen *g)
{
    ct_free(g);
}

const char *ct_gesture_gen_key(const ct_gesture_gen *g)
{
    return g->key;
}

const char *ct_gesture_gen_gloss(const ct_gesture_gen *g, int i)
{
    return i >= 0 && i < g->p.glosses ? g->lexicon[i].name : NULL;
}

int ct_gesture_gen_glosses(const ct_gesture_gen *g)
{
    return g->p.glosses;
}

static ct_status make_script(const ct_gesture_gen *g, int64_t index, ct_gesture_cast cast, ct_script *out)
{
    if (index < 0 || index >= INT64_C(1) << 52)
        return ct_fail(CT_EINVAL, "generator of gestures: there is no clip %" PRId64, index);
    const int signer = ct_cast_signer(g->seed, index, cast, g->p.signers);
    ct_script_make(g->lexicon, &g->p, g->seed, index, signer, &g->signer[signer], out);
    return CT_OK;
}

ct_status ct_gesture_gen_plan(const ct_gesture_gen *g, int64_t index, ct_gesture_cast cast, ct_gesture_plan *out)
{
    ct_script s;
    CT_TRY(make_script(g, index, cast, &s));
    *out = s.plan;
    return CT_OK;
}

/* ---- frames ---- */

ct_status ct_gesture_pen_open(const ct_gesture_gen *g, ct_gesture_pen **out)
{
    *out = NULL;
    ct_gesture_pen *pen = ct_calloc(1, sizeof *pen, "pen of gestures");
    if (!pen) return CT_ENOMEM;
    pen->g = g;
    pen->index = -1;
    ct_status st = ct_film_open(g->p.size, &pen->film);
    if (st == CT_OK) st = ct_film_open(g->p.size, &pen->ground);
    if (st != CT_OK) {
        ct_gesture_pen_close(pen);
        return st;
    }
    *out = pen;
    return CT_OK;
}

void ct_gesture_pen_close(ct_gesture_pen *pen)
{
    if (!pen) return;
    ct_film_close(&pen->film);
    ct_film_close(&pen->ground);
    ct_free(pen);
}

/* What all frames of a clip share into the pen, unless it is there. */
static ct_status want_clip(ct_gesture_pen *pen, int64_t index, ct_gesture_cast cast)
{
    const ct_gesture_gen *g = pen->g;
    if (pen->index == index && pen->cast == cast) return CT_OK;
    pen->index = -1;
    CT_TRY(make_script(g, index, cast, &pen->script));
    const ct_signer *s = &g->signer[pen->script.plan.signer];
    ct_look_make(g->seed, index, s, g->p.size, &pen->look);
    ct_wall_draw(&pen->ground, g->seed, index, s, &pen->look);
    pen->index = index;
    pen->cast = cast;
    return CT_OK;
}

ct_status ct_gesture_pen_frame(ct_gesture_pen *pen, int64_t index, ct_gesture_cast cast, int frame, ct_image *out)
{
    const ct_gesture_gen *g = pen->g;
    const size_t pixels = (size_t)g->p.size * (size_t)g->p.size;
    ct_hand hand[2];
    *out = (ct_image){ 0 };
    CT_TRY(want_clip(pen, index, cast));
    if (frame < 0 || frame >= pen->script.plan.frames)
        return ct_fail(CT_EINVAL, "generator of gestures: clip %" PRId64 " has no frame %d, it has %d", index, frame,
                       pen->script.plan.frames);
    CT_TRY(ct_image_make(g->p.size, g->p.size, 3, 0, out));
    for (int c = 0; c < 3; c++) memcpy(pen->film.ch[c], pen->ground.ch[c], pixels * sizeof *pen->film.ch[c]);
    ct_pose_at(g->lexicon, &pen->script, frame, hand);
    ct_body_draw(&pen->film, &g->signer[pen->script.plan.signer], &pen->look, hand, frame);
    ct_film_develop(&pen->film, &pen->look, g->seed, index, frame, out->px);
    return CT_OK;
}
