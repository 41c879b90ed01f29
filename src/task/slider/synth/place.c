/* What a picture shows and where: sizes, places, confusions. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "task/slider/synth/internal.h"

#define APART 10.0 /* pixels between things that must not touch */

static const struct { const char *name; int per_block; } confusions[CT_SLIDER_CONFUSIONS] = {
    [CT_SLIDER_NONE] = { "none", 30 },
    [CT_SLIDER_ROTATION] = { "rotation", 10 },
    [CT_SLIDER_PERLIN] = { "perlin", 5 },
    [CT_SLIDER_HIGHLIGHT] = { "highlight", 10 },
    [CT_SLIDER_CONFUSING_GAP] = { "confusing_gap", 20 },
    [CT_SLIDER_HOLLOW_CENTER] = { "hollow_center", 5 },
    [CT_SLIDER_GAP_EDGE_HIGHLIGHT] = { "gap_edge_highlight", 10 },
    [CT_SLIDER_COMBINED] = { "combined", 10 },
};

const char *ct_slider_confusion_name(int i)
{
    return i >= 0 && i < CT_SLIDER_CONFUSIONS ? confusions[i].name : NULL;
}

int ct_plan_usual_share(ct_slider_confusion c) { return confusions[c].per_block; }

/* Of every block of pictures in a row each kind has its share, in an order by lot. */
static ct_slider_confusion confusion_of(const ct_slider_params *p, uint64_t seed, int64_t index)
{
    ct_rng r;
    uint8_t order[CT_SLIDER_BLOCK];
    int n = 0;
    for (int c = 0; c < CT_SLIDER_CONFUSIONS; c++)
        for (int i = 0; i < p->share[c] && n < CT_SLIDER_BLOCK; i++) order[n++] = (uint8_t)c;
    ct_slider_lot(&r, seed, CT_LOT_BLOCK, (uint64_t)(index / n));
    const int at = (int)(index % n);
    for (int i = n - 1; i >= at; i--) { /* as far as the order is asked for, from behind */
        const int k = (int)ct_rng_below(&r, (uint32_t)i + 1);
        const uint8_t c = order[i];
        order[i] = order[k];
        order[k] = c;
    }
    return order[at];
}

/* Two or three of five. */
static unsigned combination(ct_rng *r)
{
    ct_slider_confusion of[] = { CT_SLIDER_PERLIN, CT_SLIDER_ROTATION, CT_SLIDER_HIGHLIGHT, CT_SLIDER_CONFUSING_GAP,
                                 CT_SLIDER_GAP_EDGE_HIGHLIGHT };
    const int n = 2 + (int)ct_rng_below(r, 2);
    unsigned bits = 0;
    for (int i = 0; i < n; i++) {
        const int k = i + (int)ct_rng_below(r, (uint32_t)(5 - i));
        const ct_slider_confusion c = of[k];
        of[k] = of[i];
        bits |= 1u << c;
    }
    return bits;
}

void ct_plan_size(const ct_slider_params *p, ct_rng *r, int *w, int *h)
{
    static const int usual[4][2] = { { 320, 160 }, { 360, 180 }, { 400, 200 }, { 384, 192 } };
    if (p->width > 0) {
        *w = p->width;
        *h = p->height;
    } else if (ct_chance(r, 0.3)) {
        const int *size = usual[ct_rng_below(r, 4)];
        *w = size[0];
        *h = size[1];
    } else { /* even, 1.8 to 2.4 times as wide as high */
        *w = 280 + 2 * (int)ct_rng_below(r, 101);
        *h = 140 + 2 * (int)ct_rng_below(r, 51);
        if (*h * 2.4 < *w) *h = 2 * (int)ceil(*w / 2.4 / 2);
        if (*h * 1.8 > *w) *h = 2 * (int)(*w / 1.8 / 2);
    }
}

/* 46, 48, ... 64 pixels; in pictures that are smaller or larger than any of the reference in proportion. */
static int piece_size(ct_rng *r, int w, int h)
{
    const int size = 46 + 2 * (int)ct_rng_below(r, 10);
    const double less = fmin(1, fmin(w / 280.0, h / 140.0)), more = fmax(1, fmin(w / 480.0, h / 240.0));
    return 2 * (int)(size * less * more / 2);
}

/* In steps that are short in decimals: labels say exactly what was drawn. */
static double short_of(double v)
{
    return rint(v * 1024) / 1024;
}

static double between(ct_rng *r, double least, double most)
{
    return short_of(ct_rng_uniform(r, least + 0x1p-10, most - 0x1p-10));
}

/* ---- copies of the gap ---- */

typedef struct box { double left, top, right, bottom; } box;

static box box_of(const ct_outline *o, double angle, double scale, double x, double y)
{
    ct_outline turned;
    double e[4];
    ct_outline_turn(o, angle, scale, &turned);
    ct_outline_extent(&turned, e);
    return (box){ x - e[0], y - e[1], x + e[2], y + e[3] };
}

static bool apart(const box *a, const box *b)
{
    return a->right + APART <= b->left || b->right + APART <= a->left || a->bottom + APART <= b->top ||
           b->bottom + APART <= a->top;
}

/* Inside of the picture and away from gap, piece and other copies. */
static bool fits(const ct_plan *p, const ct_slider_fake *f)
{
    const box b = box_of(&p->piece, f->angle, f->scale, f->x, f->y);
    if (b.left < 1 || b.top < 1 || b.right > p->w - 1 || b.bottom > p->h - 1) return false;
    const box gap = box_of(&p->piece, p->angle, 1, p->gap_x, p->y), piece = box_of(&p->piece, 0, 1, p->piece_x, p->y);
    if (!apart(&b, &gap) || !apart(&b, &piece)) return false;
    for (int i = 0; i < p->fakes; i++) {
        const box other = box_of(&p->piece, p->fake[i].angle, p->fake[i].scale, p->fake[i].x, p->fake[i].y);
        if (!apart(&b, &other)) return false;
    }
    return true;
}

/* Turned by 10 to 30 degrees and 0.8 to 1.2 times as large; a circle in the gap's row, which turning does not change,
 * is at least a tenth smaller or larger. */
static void fake_form(const ct_plan *p, ct_rng *r, double least, double most, ct_slider_fake *f)
{
    const double turn = ct_rng_uniform(r, 10, 30);
    f->angle = ct_chance(r, 0.5) ? turn : -turn;
    f->scale = between(r, least, most);
    if (strcmp(p->piece.name, "circle") == 0 && fabs(f->y - p->y) <= 7 && fabs(f->scale - 1) < 0.1)
        f->scale = f->scale < 1 ? between(r, 0.8, 0.9) : between(r, 1.1, 1.2);
    f->angle = short_of(f->angle);
}

/* By lot, as often as it takes, at last hardly turned and small, where there is always room. */
static bool place_fake(ct_plan *p, ct_rng *r, bool must)
{
    ct_slider_fake f;
    for (int i = 0; i < (must ? 400 : 60); i++) {
        const bool tight = i >= 60;
        f.y = ct_chance(r, tight ? 0.3 : 0.5) ? p->y + ct_rng_uniform(r, -3, 3) : ct_rng_uniform(r, 0, p->h);
        f.x = ct_rng_uniform(r, 0, p->w);
        fake_form(p, r, tight ? 0.7 : 0.8, tight ? 0.85 : 1.2, &f);
        if (tight) f.angle = f.angle > 0 ? 10 : -10;
        if (!fits(p, &f)) continue;
        p->fake[p->fakes++] = f;
        return true;
    }
    return false;
}

/* Where there is no room by lot: in the gap's row at the middle of the larger free part, as small as it takes. */
static void squeeze_fake(ct_plan *p)
{
    const box gap = box_of(&p->piece, p->angle, 1, p->gap_x, p->y), piece = box_of(&p->piece, 0, 1, p->piece_x, p->y);
    const double before = gap.left - piece.right - 2 * APART, behind = p->w - 1 - gap.right - APART;
    const double room = fmax(before, behind);
    ct_slider_fake f = { .y = p->y, .angle = 10, .scale = 0.7 };
    const box b = box_of(&p->piece, f.angle, f.scale, 0, p->y);
    f.scale = floor(1024 * f.scale * fmin(1, (room - 0.5) / (b.right - b.left))) / 1024;
    f.x = before >= behind ? piece.right + APART + 0.25 : gap.right + APART + 0.25;
    f.x -= b.left * f.scale / 0.7;
    p->fake[p->fakes++] = f;
}

/* ---- the picture ---- */

static void choose_style(const ct_slider_params *p, ct_rng *r, ct_plan *out)
{
    int which[CT_SLIDER_STYLES], n = 0;
    for (int i = 0; ct_slider_style_name(i); i++)
        if (p->style[i]) which[n++] = i;
    out->style = which[ct_rng_below(r, (uint32_t)n)];
}

void ct_plan_picture(const ct_slider_params *p, uint64_t seed, int64_t index, int w, int h, ct_plan *out)
{
    ct_rng r;
    memset(out, 0, sizeof *out);
    ct_slider_lot(&r, seed, CT_LOT_PICTURE, (uint64_t)index);
    out->w = w;
    out->h = h;
    out->confusion = confusion_of(p, seed, index);
    out->confusions = out->confusion == CT_SLIDER_COMBINED ? combination(&r)
                      : out->confusion == CT_SLIDER_NONE   ? 0
                                                           : 1u << out->confusion;
    choose_style(p, &r, out);
    out->size = piece_size(&r, w, h);
    ct_outline_draw(&r, out->size, &out->piece);
    const double half = out->size / 2.0;
    out->piece_x = ct_rng_uniform(&r, half, half + APART);
    out->gap_x = ct_rng_uniform(&r, 3 * half + 2 * APART, w - half - APART);
    out->y = ct_rng_uniform(&r, half + APART, h - half - APART);
    if (out->confusions & 1u << CT_SLIDER_ROTATION) {
        const double turn = ct_rng_uniform(&r, 0.5, 1.5);
        out->angle = short_of(ct_chance(&r, 0.5) ? turn : -turn);
    }
    if (out->confusions & 1u << CT_SLIDER_CONFUSING_GAP) {
        const bool two = ct_chance(&r, 0.5);
        if (!place_fake(out, &r, true)) squeeze_fake(out);
        if (two) place_fake(out, &r, false);
    }
    if (out->confusions & 1u << CT_SLIDER_HOLLOW_CENTER) ct_outline_hollow(&out->piece, ct_rng_uniform(&r, 0.3, 0.4));
    ct_look_draw(&r, out->style, out->confusions, &out->look);
    out->lot = ct_rng_u32(&r);
}
