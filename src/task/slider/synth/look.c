/* Styles: how gaps and pieces look, numbers by lot. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/slider/synth/internal.h"

static const float white[3] = { 255, 255, 255 }, black[3] = { 0, 0, 0 };

static void set_rgb(float to[3], const float from[3])
{
    memcpy(to, from, 3 * sizeof *to);
}

static void any_colour(ct_rng *r, float rgb[3])
{
    const float hue = ct_between(r, 0, 6), pale = ct_between(r, 0, 0.6), value = ct_between(r, 110, 255);
    for (int c = 0; c < 3; c++) {
        const float d = fabsf(fmodf(hue + 2 * (float)c, 6) - 3) - 1; /* 0 or less, rising, 1 or more: of this channel */
        rgb[c] = value * (pale + (1 - pale) * ct_clampf(d, 0, 1));
    }
}

/* White, dark or coloured. */
static void line_colour(ct_rng *r, double light, double dark, float rgb[3])
{
    const double u = ct_rng_uniform(r, 0, 1);
    if (u < light) set_rgb(rgb, white);
    else if (u < light + dark) rgb[0] = rgb[1] = rgb[2] = ct_between(r, 0, 60);
    else any_colour(r, rgb);
}

static ct_line line_of(ct_rng *r, double least, double most, double lo, double hi)
{
    ct_line l = { .width = ct_between(r, least, most), .opacity = ct_between(r, lo, hi) };
    line_colour(r, 0.55, 0.25, l.rgb);
    return l;
}

/* A line around a gap that has more to it, of which there may be less then. */
static void gap_line(ct_rng *r, double probability, ct_look *k)
{
    if (!ct_chance(r, probability)) return;
    k->line = line_of(r, 0.8, 2, 0.3, 0.9);
    k->line.place = ct_between(r, -0.5, 0.3) * k->line.width;
    if (!ct_chance(r, 0.25)) return;
    const float less = ct_between(r, 0.5, 1);
    k->base *= less;
    k->opacity *= less;
}

/* The piece's edge: light along it as in the reference, a border, a shadow; seldom a shadow alone. */
static void piece_look(ct_rng *r, double rim, double border, double shadow, ct_look *k)
{
    const double a = ct_rng_uniform(r, 0, 1), b = ct_rng_uniform(r, 0, 1), c = ct_rng_uniform(r, 0, 1);
    k->tone = ct_chance(r, 0.25) ? ct_between(r, -12, 18) : 0;
    if (a < rim || (b >= border && (c >= shadow || ct_chance(r, 0.7)))) {
        k->rim = ct_between(r, 70, 100);
        k->rim_width = ct_between(r, 3, 7);
        k->rim_decay = ct_between(r, 1.5, 2.5);
        k->rim_slope = ct_between(r, 0, 0.4f);
    }
    if (b < border) {
        k->border = line_of(r, 0.8, 2.2, 0.5, 1);
        k->border.place = -0.5f * k->border.width;
    }
    if (c < shadow) {
        k->shadow = ct_between(r, 0.25, 0.7);
        k->shadow_dx = ct_between(r, -1, 3);
        k->shadow_dy = ct_between(r, -1, 3);
        k->shadow_reach = ct_between(r, 3, 9);
    }
}

static void inner_shadow(ct_rng *r, double probability, ct_look *k)
{
    if (!ct_chance(r, probability)) return;
    k->inner = ct_between(r, 0.25, 0.75);
    k->inner_dx = ct_between(r, -1, 2.5);
    k->inner_dy = ct_between(r, -1, 3);
    k->inner_reach = ct_between(r, 2.5, 8);
}

/* Every second one with exactly the reference's numbers. */
static void darker(ct_rng *r, ct_look *k)
{
    const bool exact = ct_chance(r, 0.5);
    k->base = exact ? -40 : -ct_between(r, 28, 60);
    k->edge = exact ? -50 : -ct_between(r, 20, 65);
    k->slope = exact ? -20 : -ct_between(r, 5, 35);
    k->smooth = true;
    if (exact) {
        k->rim = 100;
        k->rim_width = 6;
        k->rim_decay = 2;
        k->rim_slope = 0.3f;
        return;
    }
    k->light = ct_between(r, 0, 2 * CT_PI);
    gap_line(r, 0.15, k);
    piece_look(r, 0.75, 0.2, 0.3, k);
}

static void lighter(ct_rng *r, ct_look *k)
{
    if (ct_chance(r, 0.5)) {
        k->base = ct_between(r, 25, 60);
        k->edge = ct_between(r, -10, 50);
        k->slope = ct_between(r, 0, 30);
        k->light = ct_between(r, 0, 2 * CT_PI);
        k->smooth = true;
    } else {
        set_rgb(k->over, white);
        k->opacity = ct_between(r, 0.3, 0.7);
    }
    inner_shadow(r, 0.35, k);
    gap_line(r, 0.4, k);
    piece_look(r, 0.5, 0.4, 0.5, k);
}

static void outlined(ct_rng *r, ct_look *k)
{
    const float fill = ct_between(r, 10, 28);
    k->base = ct_chance(r, 0.6) ? -fill : fill;
    k->line = line_of(r, 1, 2.8, 0.75, 1);
    k->line.place = ct_between(r, -0.5, 0.2) * k->line.width;
    piece_look(r, 0.2, 0.4, 0.3, k);
    if (ct_chance(r, 0.6)) { /* the same line around the piece */
        k->border = k->line;
        k->border.place = -0.5f * k->line.width;
    }
}

static void blurred(ct_rng *r, ct_look *k)
{
    const float level = ct_between(r, 16, 45);
    k->blur = 2 + (int)ct_rng_below(r, 4);
    k->gray = ct_chance(r, 0.4) ? ct_between(r, 0.2, 0.8) : 0;
    k->base = ct_chance(r, 0.6) ? -level : level;
    inner_shadow(r, 0.4, k);
    gap_line(r, 0.4, k);
    piece_look(r, 0.3, 0.4, 0.6, k);
}

static void textured(ct_rng *r, ct_look *k)
{
    static const enum ct_tile_kind tile[] = { CT_TILE_CLOUD, CT_TILE_GRAIN, CT_TILE_CELLS, CT_TILE_CRACKS,
                                              CT_TILE_STREAKS, CT_TILE_LEAVES };
    const float level = ct_between(r, 15, 50);
    k->pattern = CT_PATTERN_HATCH + (enum ct_pattern)ct_rng_below(r, 4);
    k->tile = tile[ct_rng_below(r, 6)];
    k->turn = ct_between(r, 0, 2 * CT_PI);
    k->base = ct_chance(r, 0.65) ? -level : level;
    if (k->pattern == CT_PATTERN_ELSEWHERE) {
        k->pattern_level = ct_between(r, 0.6, 1);
        k->pattern_step = ct_between(r, 20, 60);
    } else {
        k->pattern_level = ct_between(r, 12, 36);
        k->pattern_step = ct_between(r, 4, 10);
    }
    inner_shadow(r, 0.3, k);
    gap_line(r, 0.4, k);
    piece_look(r, 0.4, 0.5, 0.4, k);
}

static void shadowed(ct_rng *r, ct_look *k)
{
    set_rgb(k->over, black);
    k->opacity = ct_between(r, 0.3, 0.65);
    inner_shadow(r, 1, k);
    gap_line(r, 0.4, k);
    piece_look(r, 0.3, 0.6, 0.9, k);
}

static void flat(ct_rng *r, ct_look *k)
{
    line_colour(r, 0.35, 0.35, k->over);
    if (ct_chance(r, 0.3)) k->over[0] = k->over[1] = k->over[2] = ct_between(r, 40, 235);
    k->opacity = ct_between(r, 0.8, 1);
    const float opacity = k->opacity;
    inner_shadow(r, 0.4, k);
    gap_line(r, 0.5, k);
    k->opacity = opacity;
    piece_look(r, 0.4, 0.5, 0.5, k);
}

static void tinted(ct_rng *r, ct_look *k)
{
    const float level = ct_between(r, 12, 40);
    any_colour(r, k->over);
    k->opacity = ct_between(r, 0.3, 0.6);
    k->gray = ct_between(r, 0.3, 1);
    k->base = ct_chance(r, 0.6) ? -level : level;
    k->edge = ct_chance(r, 0.4) ? ct_between(r, -40, 40) : 0;
    gap_line(r, 0.6, k);
    piece_look(r, 0.4, 0.5, 0.4, k);
}

static const struct {
    const char *name, *doc;
    void (*draw)(ct_rng *r, ct_look *k);
} styles[] = {
    { "darker", "gap darkened, most at its edge, as in the reference; piece with light along its edge", darker },
    { "lighter", "gap brightened or under translucent white; piece with light along its edge, a border or a shadow",
      lighter },
    { "outlined", "gap hardly filled, with a line around it; piece with a border", outlined },
    { "blurred", "gap like frosted glass: blurred, somewhat darker or lighter; piece with a shadow or a border",
      blurred },
    { "textured", "gap with hatching, squares, grain or another part of the picture; piece with a border", textured },
    { "shadowed", "gap under translucent black, its edge throws a shadow into it; piece with a shadow and a border",
      shadowed },
    { "flat", "gap filled with one colour; piece with a border, a shadow or light along its edge", flat },
    { "tinted", "gap in gray under a translucent colour, with a line around it; piece with a border", tinted },
};
enum { STYLES = sizeof styles / sizeof *styles };
_Static_assert(STYLES <= CT_SLIDER_STYLES, "styles fit into the parameters");

const char *ct_slider_style_name(int i)
{
    return i >= 0 && i < STYLES ? styles[i].name : NULL;
}

const char *ct_slider_style_doc(int i)
{
    return i >= 0 && i < STYLES ? styles[i].doc : NULL;
}

void ct_look_draw(ct_rng *r, int style, unsigned confusions, ct_look *k)
{
    memset(k, 0, sizeof *k);
    k->soft = ct_between(r, 0.4, 1.5);
    k->light = (float)CT_PI / 4;
    styles[style].draw(r, k);
    if (confusions & 1u << CT_SLIDER_HIGHLIGHT) {
        k->base = ct_between(r, 20, 40);
        k->edge = ct_between(r, 40, 60);
        k->slope = ct_between(r, 15, 30);
        k->opacity = k->inner = 0;
    }
    if (confusions & 1u << CT_SLIDER_GAP_EDGE_HIGHLIGHT) {
        k->glare = ct_between(r, 90, 100);
        k->glare_width = ct_between(r, 6, 7);
        k->glare_decay = ct_between(r, 2, 2.5);
    }
    if (confusions & 1u << CT_SLIDER_PERLIN) k->perlin = ct_between(r, 0.2, 0.5);
}
