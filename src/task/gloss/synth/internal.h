/* Between the files of the generator of gestures. From low to high: lexicon.c (what glosses are), cast.c (signers, and
 * how a clip looks), pose.c (where the hands are), script.c (what is signed when), film.c (shapes on pixels), hand.c,
 * body.c and ground.c (what is drawn), synth.c, write.c. All are functions of what they are given.
 *
 * Lengths of bodies are in units of half a signer's breadth of shoulders. Places of hands are (out, down) of the middle
 * of the shoulders: `out` is towards the side of the hand's own arm, so that one formula serves both. */
#ifndef CT_TASK_GLOSS_SYNTH_INTERNAL_H
#define CT_TASK_GLOSS_SYNTH_INTERNAL_H

#include "base/philox.h"
#include "task/gloss/synth/synth.h"

#define CT_PI_F 3.14159265f

/* What a clip draws from: each purpose has numbers of its own, so that one does not shift another. */
enum ct_gesture_lot {
    CT_LOT_LEXICON, /* once, of a constant seed */
    CT_LOT_SIGNER,  /* by signer */
    CT_LOT_CAST,    /* by clip: who signs */
    CT_LOT_SCRIPT,  /* by clip: glosses, their lengths, places, amplitudes */
    CT_LOT_LOOK,    /* by clip: light, place in the picture */
    CT_LOT_GROUND,  /* by clip: background */
    CT_LOT_NOISE    /* by clip and frame */
};
static inline void ct_gesture_lot(ct_rng *r, uint64_t seed, enum ct_gesture_lot lot, uint64_t index)
{
    ct_rng_init(r, seed, CT_RNG_SYNTH, (uint64_t)lot << 52 ^ index);
}

static inline float ct_within(ct_rng *r, double lo, double hi) { return (float)ct_rng_uniform(r, lo, hi); }
static inline float ct_clamp1(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
static inline float ct_mix(float a, float b, float t) { return a + (b - a) * t; }

/* ---- the lexicon ---- */

enum ct_path {
    CT_PATH_LIFT, CT_PATH_DROP, CT_PATH_PUSH, CT_PATH_PULL, CT_PATH_ROLL, CT_PATH_REEL, CT_PATH_ARCH, CT_PATH_DIP,
    CT_PATH_ZIG, CT_PATH_TAP, CT_PATH_SHAKE, CT_PATH_WAVE, CT_PATHS
};
enum ct_place {
    CT_PLACE_BROW, CT_PLACE_CHIN, CT_PLACE_CHEST, CT_PLACE_BELLY, CT_PLACE_SHOULDER, CT_PLACE_SIDE, CT_PLACE_HIGH,
    CT_PLACE_LOW, CT_PLACES
};
enum ct_shape {
    CT_SHAPE_FIST, CT_SHAPE_FLAT, CT_SHAPE_POINT, CT_SHAPE_VEE, CT_SHAPE_SPREAD, CT_SHAPE_HOOK, CT_SHAPE_HORN,
    CT_SHAPES, CT_SHAPE_LOOSE = CT_SHAPES /* at rest; not of the lexicon */
};
enum ct_hands { CT_HANDS_ONE, CT_HANDS_BOTH /* mirrored */, CT_HANDS_TWIN /* in parallel */ };

typedef struct ct_gloss {
    enum ct_path path;
    enum ct_place place;
    enum ct_shape shape;
    enum ct_hands hands;
    char name[32];
} ct_gloss;

/* The first n glosses, n <= CT_GESTURE_GLOSSES. */
void ct_lexicon_make(ct_gloss *out, int n);
/* Whether they differ in their paths alone. */
bool ct_gloss_only_path(const ct_gloss *a, const ct_gloss *b);
/* Whether somebody who sees 64x64 pixels can tell them apart. */
bool ct_gloss_clear(const ct_gloss *a, const ct_gloss *b);

/* ---- signers and looks ---- */

enum ct_hair { CT_HAIR_SHORT, CT_HAIR_LONG, CT_HAIR_BUN, CT_HAIR_NONE };

/* Colours are levels 0..255. */
typedef struct ct_signer {
    float unit;                  /* half the breadth of shoulders, of the picture's side */
    float x, y;                  /* middle of the shoulders, of the picture's side */
    float head_w, head_h, neck;  /* half axes; from the shoulders to the chin */
    float trunk, arm, limb;      /* half breadth of the trunk, length of an upper arm, thickness of arms (1: usual) */
    float hand;                  /* its length */
    float skin[3], cloth[3], hair_rgb[3];
    enum ct_hair hair;
    float sleeve;                /* share of the forearm that it covers, 0..1 */
    float stripe, stripe_step;   /* strength, 0: none; distance */
    float collar;                /* depth */
    float tempo, amplitude;      /* 1: usual */
} ct_signer;
/* All signers of a seed. */
void ct_signers_make(uint64_t seed, int n, ct_signer *out);
int ct_cast_signer(uint64_t seed, int64_t index, ct_gesture_cast cast, int signers);
/* Distance of two colours as the eye sees it, roughly; levels. */
float ct_colour_distance(const float a[3], const float b[3]);

/* How a clip looks. */
typedef struct ct_look {
    float unit, x, y;       /* pixels */
    float gain[3];          /* exposure and colour temperature */
    float slope_x, slope_y; /* of the light over the picture, -1..1 from edge to edge */
    float light_x, light_y; /* where it comes from, a unit vector */
    float noise;            /* levels */
    float blur;             /* weight of each neighbour */
    float sway[4];          /* frequency and phase of the body and of the head; radians a frame */
    float cloth[3];
} ct_look;
void ct_look_make(uint64_t seed, int64_t index, const ct_signer *s, int size, ct_look *out);

/* ---- scripts ---- */

/* A clip: its plan, and what varies from one time a gloss is signed to the next. */
typedef struct ct_script {
    ct_gesture_plan plan;
    struct ct_turn { float dx, dy, amplitude; } turn[CT_GESTURE_LENGTH]; /* by gloss */
    int rise, fall; /* frame where the hands leave rest, and where they are back */
} ct_script;
void ct_script_make(const ct_gloss *lexicon, const ct_gesture_params *p, uint64_t seed, int64_t index, int signer,
                    const ct_signer *s, ct_script *out);

/* ---- poses ---- */

enum { CT_FINGERS = 5 }; /* thumb, index, middle, ring, little finger */

/* A hand shape: of each finger how far it is stretched (0..1), its angle away from the hand's direction towards the
 * thumb, and the bend in its middle; degrees. */
typedef struct ct_fingers { float stretch[CT_FINGERS], angle[CT_FINGERS], bend[CT_FINGERS]; } ct_fingers;

/* A hand: its middle, where its fingers point (degrees: 0 up, positive outwards), which side of it is seen (1: the
 * palm, the thumb is inwards; -1: its back). */
typedef struct ct_hand {
    float out, down, angle, side;
    ct_fingers fingers;
} ct_hand;

const ct_fingers *ct_shape_fingers(enum ct_shape s);
/* hand[0] is the right one, hand[1] the left one. */
void ct_pose_at(const ct_gloss *lexicon, const ct_script *s, int frame, ct_hand hand[2]);
/* How far a hand has to go from the end of a to the beginning of b at most, NULL: rest. Units. */
float ct_pose_way(const ct_gloss *a, const ct_gloss *b);
/* Where a path is at phase 0..1: (out, down) in amplitudes, and the turn of the hand in degrees. */
void ct_path_at(enum ct_path path, float phase, float *out, float *down, float *turn);

/* ---- pixels ---- */

typedef struct ct_film {
    int size;
    float *ch[3];      /* [size,size] levels */
    float *row[4];     /* [size] each */
    float *spare;      /* [size,size] */
    float *buffer;     /* owned: all of these */
} ct_film;
ct_status ct_film_open(int size, ct_film *f); /* CT_ENOMEM */
void ct_film_close(ct_film *f);

/* A straight piece with round ends. part: 0, or the number of a finger from 1 on. Bones of a part stand together. */
typedef struct ct_bone { float ax, ay, bx, by, ra, rb; int part; } ct_bone;

/* How a shape is filled. Edges cover parts of pixels. */
typedef struct ct_ink {
    float rgb[3];
    float rim_rgb[3], rim;      /* a line around it; pixels, 0: none */
    float round, depth;         /* how much darker it is at its edge than `depth` pixels inside */
    float stripe, stripe_step, stripe_at; /* strength, pixels, a place between two */
    float crease;               /* how dark lines between fingers are, 0: none */
} ct_ink;
void ct_film_bones(ct_film *f, const ct_bone *b, int n, const ct_ink *ink);
void ct_film_ellipse(ct_film *f, float cx, float cy, float rx, float ry, const ct_ink *ink);
/* Blur, light and noise, into px [size,size,3]. */
void ct_film_develop(ct_film *f, const ct_look *k, uint64_t seed, int64_t index, int frame, uint8_t *px);

/* ---- what is drawn ---- */

/* A background for this signer into three planes [size,size]. */
void ct_wall_draw(ct_film *f, uint64_t seed, int64_t index, const ct_signer *s, const ct_look *k);
/* A hand. out: +1 where its `out` is to the right in the picture, else -1. Pixels. */
typedef struct ct_spot { float x, y; } ct_spot;
ct_spot ct_hand_middle(const ct_hand *h, const ct_look *k, int out);
ct_spot ct_hand_wrist(const ct_hand *h, const ct_signer *s, const ct_look *k, int out);
enum { CT_HAND_BONES = 3 + 2 * CT_FINGERS };
void ct_hand_bones(const ct_hand *h, const ct_signer *s, const ct_look *k, int out, ct_bone b[CT_HAND_BONES]);
void ct_hand_draw(ct_film *f, const ct_hand *h, const ct_signer *s, const ct_look *k, int out);
/* The signer of a frame. */
void ct_body_draw(ct_film *f, const ct_signer *s, const ct_look *k, const ct_hand hand[2], int frame);

#endif
