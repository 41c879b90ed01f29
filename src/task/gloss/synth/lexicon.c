/* The lexicon: what each gloss is. Independent of every seed. */
#include "config.h"

#include <stdio.h>

#include "task/gloss/synth/internal.h"

static const char *const path_name[CT_PATHS] = { "LIFT", "DROP", "PUSH", "PULL", "ROLL", "REEL",
                                                 "ARCH", "DIP",  "ZIG",  "TAP",  "SHAKE", "WAVE" };
static const char *const place_name[CT_PLACES] = { "BROW",     "CHIN", "CHEST", "BELLY",
                                                   "SHOULDER", "SIDE", "HIGH",  "LOW" };
static const char *const shape_name[CT_SHAPES] = { "FIST", "FLAT", "POINT", "VEE", "SPREAD", "HOOK", "HORN" };
static const char *const hands_name[] = { "", "-BOTH", "-TWIN" };

/* Glosses come in fives: two paths that are each other's reverse or mirror image and a third one, all three of one
 * form; then two others. */
enum { BLOCK = 5, TRIES = 20 };
static const enum ct_path twins[][2] = { { CT_PATH_LIFT, CT_PATH_DROP }, { CT_PATH_ROLL, CT_PATH_REEL },
                                         { CT_PATH_PUSH, CT_PATH_PULL }, { CT_PATH_ARCH, CT_PATH_DIP } };
enum { TWINS = sizeof twins / sizeof *twins };
static const enum ct_path third[] = { CT_PATH_TAP, CT_PATH_ZIG, CT_PATH_SHAKE, CT_PATH_WAVE };
enum { THIRDS = sizeof third / sizeof *third };

bool ct_gloss_only_path(const ct_gloss *a, const ct_gloss *b)
{
    return a->path != b->path && a->place == b->place && a->shape == b->shape && a->hands == b->hands;
}

/* Shapes of a kind are few pixels apart: two fingers up; a fist, with a finger or without. */
static bool alike(enum ct_shape a, enum ct_shape b)
{
    static const int kind[CT_SHAPES] = { [CT_SHAPE_FIST] = 0, [CT_SHAPE_POINT] = 0, [CT_SHAPE_VEE] = 1,
                                         [CT_SHAPE_HORN] = 1, [CT_SHAPE_FLAT] = 2, [CT_SHAPE_SPREAD] = 3,
                                         [CT_SHAPE_HOOK] = 4 };
    return kind[a] == kind[b];
}

/* Whether both hands move in parallel or mirrored is no difference by itself: paths up and down look the same. */
bool ct_gloss_clear(const ct_gloss *a, const ct_gloss *b)
{
    return a->path != b->path || a->place != b->place || (a->hands == CT_HANDS_ONE) != (b->hands == CT_HANDS_ONE) ||
           !alike(a->shape, b->shape);
}

/* A fist that turns about its wrist hardly shows it, and both hands on the shoulders would be hands on the chest. Hands
 * that move up and down only cannot show that they do so in parallel. */
static bool possible(const ct_gloss *g)
{
    if (g->path == CT_PATH_WAVE && g->shape == CT_SHAPE_FIST) return false;
    if (g->place == CT_PLACE_SHOULDER && g->hands != CT_HANDS_ONE) return false;
    const bool upright = g->path == CT_PATH_LIFT || g->path == CT_PATH_DROP || g->path == CT_PATH_TAP;
    return g->hands != CT_HANDS_TWIN || !upright;
}

static bool fits(const ct_gloss *list, int n, const ct_gloss *g)
{
    if (!possible(g)) return false;
    for (int i = 0; i < n; i++)
        if (!ct_gloss_clear(&list[i], g)) return false;
    return true;
}

static enum ct_hands hands_by_lot(ct_rng *r)
{
    const uint32_t v = ct_rng_below(r, 10);
    return v < 6 ? CT_HANDS_ONE : v < 8 ? CT_HANDS_BOTH : CT_HANDS_TWIN;
}

/* Block b from list[n] on. The constants let places and shapes take turns, so that small lexicons have all of them;
 * where a form has been had, the next shape is tried. */
static void make_block(ct_rng *r, ct_gloss *list, int n, int b)
{
    ct_gloss g;
    bool ok;
    int tries = 0;
    do {
        const enum ct_place place = (enum ct_place)((uint32_t)(3 * b + 5 + b / 8) % CT_PLACES);
        const enum ct_shape shape = (enum ct_shape)((uint32_t)(4 * b + 2 + tries++ / TRIES) % CT_SHAPES);
        const enum ct_hands hands = hands_by_lot(r);
        const enum ct_path path[3] = { twins[b % TWINS][0], twins[b % TWINS][1], third[ct_rng_below(r, THIRDS)] };
        ok = true;
        for (int k = 0; k < 3 && ok; k++) {
            list[n + k] = (ct_gloss){ .path = path[k], .place = place, .shape = shape, .hands = hands };
            ok = fits(list, n + k, &list[n + k]);
        }
    } while (!ok);
    for (int k = 3; k < BLOCK; k++) {
        do {
            g = (ct_gloss){ .path = (enum ct_path)ct_rng_below(r, CT_PATHS),
                            .place = (enum ct_place)ct_rng_below(r, CT_PLACES),
                            .shape = (enum ct_shape)ct_rng_below(r, CT_SHAPES), .hands = hands_by_lot(r) };
        } while (!fits(list, n + k, &g));
        list[n + k] = g;
    }
}

void ct_lexicon_make(ct_gloss *out, int n)
{
    ct_gloss list[CT_GESTURE_GLOSSES + BLOCK];
    ct_rng r;
    ct_gesture_lot(&r, 1, CT_LOT_LEXICON, 0);
    for (int b = 0; b * BLOCK < n; b++) make_block(&r, list, b * BLOCK, b);
    for (int i = 0; i < n; i++) {
        out[i] = list[i];
        snprintf(out[i].name, sizeof out[i].name, "%s-%s-%s%s", path_name[list[i].path], place_name[list[i].place],
                 shape_name[list[i].shape], hands_name[list[i].hands]);
    }
}
