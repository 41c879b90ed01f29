/* Between the files of the slider generator. From low to high: outline.c (shapes), mask.c (what they cover), tiles.c,
 * canvas.c (textures, polygons), scene.c, ground.c and folder.c (backgrounds), look.c (styles), paint.c (gap and
 * piece), place.c (what is where), draw.c. All are functions of what they are given; the state in their structs is
 * memory that is used again. */
#ifndef CT_TASK_SLIDER_SYNTH_INTERNAL_H
#define CT_TASK_SLIDER_SYNTH_INTERNAL_H

#include "base/philox.h"
#include "task/slider/synth/synth.h"

#define CT_PI 3.14159265358979323846

/* What a picture draws from: each purpose has numbers of its own, so that one does not shift another. */
enum ct_slider_lot {
    CT_LOT_GROUP,   /* by background: size, the background itself */
    CT_LOT_BLOCK,   /* by hundred pictures: the order of the confusions */
    CT_LOT_PICTURE, /* by picture: shape, places, look */
    CT_LOT_TILES    /* once: textures */
};
static inline void ct_slider_lot(ct_rng *r, uint64_t seed, enum ct_slider_lot lot, uint64_t index)
{
    ct_rng_init(r, seed, CT_RNG_SYNTH, (uint64_t)lot << 52 ^ index);
}

static inline bool ct_chance(ct_rng *r, double p) { return ct_rng_uniform(r, 0, 1) < p; }
static inline float ct_between(ct_rng *r, double lo, double hi) { return (float)ct_rng_uniform(r, lo, hi); }
static inline float ct_clampf(float v, float lo, float hi) { return v < lo ? lo : v > hi ? hi : v; }

/* ---- outlines ---- */

enum { CT_OUTLINE_MAX = 192 };

/* A closed polygon, pixels, centroid at the origin; of a hollow one vertices [outer,n) are the hole. */
typedef struct ct_outline {
    int n, outer;
    float x[CT_OUTLINE_MAX], y[CT_OUTLINE_MAX];
    char name[CT_SLIDER_SHAPE];
} ct_outline;

/* An outline by lot that reaches at most half = size / 2 from its centroid to each side. */
void ct_outline_draw(ct_rng *r, double size, ct_outline *out);
/* The hole of a hollow one: the outline itself at `ratio`. */
void ct_outline_hollow(ct_outline *o, double ratio);
/* `in` turned by `angle` degrees (counter-clockwise as one sees it) and scaled. */
void ct_outline_turn(const ct_outline *in, double angle, double scale, ct_outline *out);
/* How far it reaches from the origin: left, top, right, bottom (all positive). */
void ct_outline_extent(const ct_outline *o, double extent[4]);

/* ---- masks ---- */

/* What an outline covers: a box of the picture around it, cut at the picture's edges. */
typedef struct ct_mask {
    int x0, y0, w, h;     /* the box, pixels */
    float *alpha;         /* [h,w] coverage 0..1 */
    float *dist;          /* [h,w] distance from the outline, pixels: negative inside; exact near it, at least CT_BAND
                             outside of that band */
    float deepest;        /* the greatest depth inside, pixels */
    double cx, cy;        /* centroid of the coverage */
    float *buffer;        /* owned */
    uint8_t *inside;      /* [h,w] owned */
    size_t cap;           /* pixels there is room for */
} ct_mask;

#define CT_BAND 12.0f     /* pixels */

/* The mask of `o` with its centroid at (x, y) in a picture of w x h pixels. soft: pixels over which an edge fades. */
ct_status ct_mask_make(const ct_outline *o, double x, double y, double soft, int w, int h, ct_mask *m);
void ct_mask_free(ct_mask *m);

/* ---- textures ---- */

enum { CT_TILE = 256, CT_TILES = 8 };
enum ct_tile_kind {
    CT_TILE_SMOOTH, CT_TILE_CLOUD, CT_TILE_RIDGE, CT_TILE_GRAIN, CT_TILE_CELLS, CT_TILE_CRACKS, CT_TILE_STREAKS,
    CT_TILE_LEAVES
};
/* [CT_TILE,CT_TILE] values, each tile periodic, mean about 128. */
typedef struct ct_tiles { uint8_t px[CT_TILES][CT_TILE * CT_TILE]; } ct_tiles;
ct_status ct_tiles_make(uint64_t seed, ct_tiles *t); /* CT_ENOMEM */

/* A texture laid over a picture: turned, stretched, shifted. */
typedef struct ct_cloth {
    const uint8_t *px;            /* of a tile */
    int32_t u, v;                 /* at pixel (0,0), 1/65536 of a texel */
    int32_t ux, vx, uy, vy;       /* steps to the right and down */
} ct_cloth;
/* step: texels per pixel; stretch: times as long along one direction, which `angle` (radians) turns. */
ct_cloth ct_cloth_lay(const ct_tiles *t, enum ct_tile_kind kind, ct_rng *r, double step, double stretch, double angle);
/* Values -128..127 at pixels (x,y), (x+1,y), ... */
void ct_cloth_row(const ct_cloth *c, int x, int y, int n, int16_t *out);


/* ---- canvas ---- */

enum { CT_SHAPE_MAX = 96 };

/* What a background is painted on: three planes of levels. */
typedef struct ct_canvas {
    int w, h;
    float *ch[3];          /* [h,w] */
    float *spare;          /* [h,w] for the painting's own use */
    float *cover, *blend;  /* [w + 4] one row */
    int16_t *texture;      /* [w] */
    float *buffer;         /* owned: all of these */
    size_t cap;
} ct_canvas;

/* A black canvas of w x h pixels; the memory is reused. CT_ENOMEM. */
ct_status ct_canvas_make(ct_canvas *v, int w, int h);
void ct_canvas_free(ct_canvas *v);

/* A polygon in pixels. */
typedef struct ct_shape { int n; float x[CT_SHAPE_MAX], y[CT_SHAPE_MAX]; } ct_shape;

/* Colours from `rgb` to `to`: at t 0 and 1, t = at + dx * x + dy * y, or the distance from (cx, cy) in `reach`, plus
 * `mix` times the texture's value (-1..1); `grit` times it is added to all channels. */
typedef struct ct_paint {
    float rgb[3], to[3];
    float at, dx, dy;
    bool radial;
    float cx, cy, reach;
    const ct_cloth *cloth; /* NULL: no texture */
    float mix, grit;
    float opacity;
} ct_paint;

ct_paint ct_paint_flat(const float rgb[3]);
/* From `rgb` to `to` across the shape, in direction `angle`. */
ct_paint ct_paint_fade(const float rgb[3], const float to[3], const ct_shape *s, double angle);
void ct_shape_ellipse(ct_shape *s, float cx, float cy, float rx, float ry, double turn);
void ct_shape_corners(ct_shape *s, int n, float cx, float cy, float rx, float ry, double turn);
void ct_shape_box(ct_shape *s, float left, float top, float right, float bottom);
void ct_shape_turn(ct_shape *s, float cx, float cy, double turn);
/* Fills a shape; edges cover parts of pixels. */
void ct_canvas_fill(ct_canvas *v, const ct_shape *s, const ct_paint *p);
/* Smooths with weights 1 2 1 both ways, `passes` times. */
void ct_canvas_blur(ct_canvas *v, int passes);
/* A scene by lot. */
void ct_scene_draw(ct_canvas *v, const ct_tiles *t, ct_rng *r);

/* ---- looks ---- */

typedef struct ct_line {
    float rgb[3];
    float width, opacity; /* pixels; 0..1, 0: none */
    float place;          /* of its middle: distance from the outline, negative inside */
} ct_line;

enum ct_pattern { CT_PATTERN_NONE, CT_PATTERN_HATCH, CT_PATTERN_CHECK, CT_PATTERN_TILE, CT_PATTERN_ELSEWHERE };

/* How a picture's gap and piece look. Levels are those of 8-bit pixels. */
typedef struct ct_look {
    float soft;                   /* pixels over which edges fade */
    /* the gap, in this order */
    int blur;                     /* radius, pixels; 0: sharp */
    float gray;                   /* colour taken away, 0..1 */
    enum ct_pattern pattern;
    float pattern_level;          /* levels; of CT_PATTERN_ELSEWHERE: opacity of what stands elsewhere in the picture */
    float pattern_step, turn;     /* pixels, radians; of CT_PATTERN_ELSEWHERE: how far and where */
    enum ct_tile_kind tile;       /* of CT_PATTERN_TILE */
    float base, edge, slope;      /* levels added everywhere, at the outline, along the light; negative: darker */
    float light;                  /* where the light comes from, radians */
    float over[3], opacity;       /* a colour laid over it */
    float inner, inner_dx, inner_dy, inner_reach; /* shadow that its edge throws into it: opacity, pixels */
    float glare, glare_width, glare_decay;        /* white along its edge: lightness 0..100, pixels */
    bool smooth;                  /* 3x3 Gaussian inside, sigma 0.8 */
    ct_line line;
    /* the piece */
    float rim, rim_width, rim_decay; /* white along its edge */
    float rim_slope;              /* more of it along the light */
    float tone;                   /* levels added */
    float perlin;                 /* strength of a pattern added, 50 levels each */
    ct_line border;
    float shadow, shadow_dx, shadow_dy, shadow_reach; /* below it: opacity, pixels */
} ct_look;

/* A look of style `style` by lot, with the confusions (bits) that change looks. */
void ct_look_draw(ct_rng *r, int style, unsigned confusions, ct_look *out);

/* ---- painting ---- */

/* Patches of a mask's size to work in. */
typedef struct ct_patches {
    float *v[3]; /* [h,w,3] each */
    size_t cap;
} ct_patches;
void ct_patches_free(ct_patches *p);

/* A gap (or a copy) into `pic`. `lot`: a pattern lies where it says. */
ct_status ct_paint_gap(const ct_look *k, const ct_tiles *t, const ct_mask *m, uint32_t lot, ct_patches *p,
                       ct_image *pic);
/* The piece: what stands in `clean` `shift` pixels to the right, into `pic`. rgba: [h,w,4] of the picture, all zero, or
 * NULL. */
ct_status ct_paint_piece(const ct_look *k, const ct_tiles *t, const ct_mask *m, int shift, uint32_t lot,
                         const ct_image *clean, ct_patches *p, ct_image *pic, uint8_t *rgba);

/* ---- backgrounds ---- */

/* A drawn background of w x h RGB pixels into px. The canvas is only reused. */
ct_status ct_ground_draw(ct_canvas *v, const ct_tiles *t, ct_rng *r, int w, int h, uint8_t *px);

/* Pictures of a folder, decoded. */
typedef struct ct_folder {
    ct_image *im;          /* [n] */
    int64_t n;
    char hash[33];         /* over all pixels */
} ct_folder;
/* keep: pixels; longer sides are brought to that. CT_EIO, CT_EDATA (no picture), CT_EFORMAT naming the file,
 * CT_ENOMEM. */
ct_status ct_folder_open(const char *dir, int keep, ct_folder *out);
void ct_folder_close(ct_folder *f);
/* A part of picture i by lot, brought to w x h pixels. CT_ENOMEM. */
ct_status ct_folder_cut(const ct_folder *f, int64_t i, ct_rng *r, int w, int h, ct_image *out);

/* ---- places ---- */

/* All that is decided about a picture before it is painted. */
typedef struct ct_plan {
    int w, h, size;
    ct_outline piece;      /* upright, centroid at the origin */
    double gap_x, piece_x, y;
    double angle;
    int fakes;
    ct_slider_fake fake[CT_SLIDER_COPIES];
    ct_slider_confusion confusion;
    unsigned confusions;
    int style;
    ct_look look;
    uint32_t lot;
} ct_plan;

/* Size of a background's pictures. */
int ct_plan_usual_share(ct_slider_confusion c); /* of CT_SLIDER_BLOCK pictures, as in the reference */
void ct_plan_size(const ct_slider_params *p, ct_rng *r, int *w, int *h);
/* Picture `index` of w x h pixels. */
void ct_plan_picture(const ct_slider_params *p, uint64_t seed, int64_t index, int w, int h, ct_plan *out);

#endif
