/* The slider generator: parameters, and pictures put together. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "task/slider/synth/internal.h"

/* Part of the cache key: to be raised whenever the same parameters give other pictures. */
#define GENERATOR_VERSION "captrain-slider-1"

enum { PER_BACKGROUND = 5, LEAST_WIDTH = 200, LEAST_HEIGHT = 100, MOST_SIDE = 1024, KEEP = 640 };

struct ct_slider_gen {
    ct_slider_params p;
    uint64_t seed;
    ct_tiles *tiles;
    ct_folder folder;
    char key[33];
};

struct ct_slider_pen {
    const ct_slider_gen *g;
    ct_canvas canvas;
    ct_mask mask;
    ct_patches patches;
    ct_image clean;   /* the background of pictures group * per_background and on, kept for the next picture */
    int64_t group;    /* -1: none yet */
};

/* ---- parameters ---- */

void ct_slider_params_init(ct_slider_params *p)
{
    *p = (ct_slider_params){ .per_background = PER_BACKGROUND };
    for (int i = 0; ct_slider_style_name(i); i++) p->style[i] = true;
    (void)ct_slider_params_confusions(p, NULL, 0); /* those of the reference are known */
}

/* The number of a name; name_of gives them all, and NULL behind the last. `what` says what they are names of. */
static ct_status find(const char *what, const char *(*name_of)(int i), const char *name, int *out)
{
    char known[256] = "";
    size_t n = 0;
    for (int i = 0; name_of(i); i++) {
        *out = i;
        if (strcmp(name_of(i), name) == 0) return CT_OK;
        if (n < sizeof known) n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", name_of(i));
    }
    return ct_fail(CT_ECONFIG, "there is no %s '%s'; the %ss are: %s", what, name, what, known);
}

ct_status ct_slider_params_styles(ct_slider_params *p, const char *const *with, size_t n, const char *const *without,
                                  size_t m)
{
    bool any = false;
    int k;
    for (int i = 0; i < CT_SLIDER_STYLES; i++) p->style[i] = n == 0 && ct_slider_style_name(i) != NULL;
    for (size_t i = 0; i < n; i++) {
        CT_TRY(find("style", ct_slider_style_name, with[i], &k));
        p->style[k] = true;
    }
    for (size_t i = 0; i < m; i++) {
        CT_TRY(find("style", ct_slider_style_name, without[i], &k));
        p->style[k] = false;
    }
    for (int i = 0; i < CT_SLIDER_STYLES; i++) any |= p->style[i];
    return any ? CT_OK : ct_fail(CT_ECONFIG, "no style is left to draw in");
}

ct_status ct_slider_params_confusions(ct_slider_params *p, const char *const *name, size_t n)
{
    int k;
    if (n > CT_SLIDER_BLOCK) return ct_fail(CT_ECONFIG, "%zu confusions; there can be %d", n, CT_SLIDER_BLOCK);
    for (int c = 0; c < CT_SLIDER_CONFUSIONS; c++) p->share[c] = n == 0 ? ct_plan_usual_share(c) : 0;
    for (size_t i = 0; i < n; i++) {
        CT_TRY(find("confusion", ct_slider_confusion_name, name[i], &k));
        p->share[k]++;
    }
    return CT_OK;
}

ct_status ct_slider_params_backgrounds(ct_slider_params *p, const char *dir)
{
    if (strlen(dir) >= sizeof p->backgrounds)
        return ct_fail(CT_ECONFIG, "%s: a path longer than %zu bytes", dir, sizeof p->backgrounds - 1);
    snprintf(p->backgrounds, sizeof p->backgrounds, "%s", dir);
    return CT_OK;
}

static ct_status check_params(const ct_slider_params *p)
{
    bool any = false;
    for (int i = 0; i < CT_SLIDER_STYLES; i++) {
        if (p->style[i] && !ct_slider_style_name(i))
            return ct_fail(CT_ECONFIG, "slider generator: there is no style %d", i);
        any |= p->style[i];
    }
    if (!any) return ct_fail(CT_ECONFIG, "slider generator: no style is left to draw in");
    int shares = 0;
    for (int c = 0; c < CT_SLIDER_CONFUSIONS; c++) {
        if (p->share[c] < 0) return ct_fail(CT_ECONFIG, "slider generator: a share of %d", p->share[c]);
        shares += p->share[c];
    }
    if (shares < 1 || shares > CT_SLIDER_BLOCK)
        return ct_fail(CT_ECONFIG, "slider generator: shares of 1 to %d pictures together, not %d", CT_SLIDER_BLOCK,
                       shares);
    if (p->per_background < 1)
        return ct_fail(CT_ECONFIG, "slider generator: %d pictures of a background", p->per_background);
    if (p->width == 0 && p->height == 0) return CT_OK;
    if (p->width < LEAST_WIDTH || p->width > MOST_SIDE || p->height < LEAST_HEIGHT || p->height > MOST_SIDE)
        return ct_fail(CT_ECONFIG,
                       "slider generator: pictures of %dx%d pixels; they can be %d to %d wide and %d to %d high",
                       p->width, p->height, LEAST_WIDTH, MOST_SIDE, LEAST_HEIGHT, MOST_SIDE);
    return CT_OK;
}

/* ---- the generator ---- */

static ct_status make_key(ct_slider_gen *g)
{
    char text[384];
    size_t n = (size_t)snprintf(text, sizeof text, "%s %" PRIu64 " %dx%d %d %s styles", GENERATOR_VERSION, g->seed,
                                g->p.width, g->p.height, g->p.per_background, g->folder.hash);
    for (int i = 0; ct_slider_style_name(i) && n < sizeof text; i++)
        if (g->p.style[i]) n += (size_t)snprintf(text + n, sizeof text - n, " %s", ct_slider_style_name(i));
    for (int c = 0; c < CT_SLIDER_CONFUSIONS && n < sizeof text; c++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %d", g->p.share[c]);
    if (n >= sizeof text) return ct_fail(CT_EINTERNAL, "slider generator: its key is too long");
    ct_hash_hex(text, n, g->key);
    return CT_OK;
}

ct_status ct_slider_gen_open(const ct_slider_params *p, uint64_t seed, ct_slider_gen **out)
{
    ct_status st = CT_OK;
    *out = NULL;
    CT_TRY(check_params(p));
    ct_slider_gen *g = ct_calloc(1, sizeof *g, "slider generator");
    if (!g) return CT_ENOMEM;
    g->p = *p;
    g->seed = seed;
    g->tiles = ct_malloc(sizeof *g->tiles, "slider generator");
    if (!g->tiles) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, ct_tiles_make(seed, g->tiles));
    if (p->backgrounds[0]) CT_GOTO(st, ct_folder_open(p->backgrounds, p->width > KEEP ? p->width : KEEP, &g->folder));
    CT_GOTO(st, make_key(g));
    *out = g;
    return CT_OK;
fail:
    ct_slider_gen_close(g);
    return st;
}

void ct_slider_gen_close(ct_slider_gen *g)
{
    if (!g) return;
    ct_folder_close(&g->folder);
    ct_free(g->tiles);
    ct_free(g);
}

const char *ct_slider_gen_key(const ct_slider_gen *g)
{
    return g->key;
}

ct_status ct_slider_pen_open(const ct_slider_gen *g, ct_slider_pen **out)
{
    *out = ct_calloc(1, sizeof **out, "slider pen");
    if (!*out) return CT_ENOMEM;
    (*out)->g = g;
    (*out)->group = -1;
    return CT_OK;
}

void ct_slider_pen_close(ct_slider_pen *pen)
{
    if (!pen) return;
    ct_canvas_free(&pen->canvas);
    ct_mask_free(&pen->mask);
    ct_patches_free(&pen->patches);
    ct_image_free(&pen->clean);
    ct_free(pen);
}

void ct_slider_drawn_free(ct_slider_drawn *d)
{
    if (!d) return;
    ct_image_free(&d->picture);
    ct_image_free(&d->clean);
    ct_free(d->piece_rgba);
    *d = (ct_slider_drawn){ 0 };
}

/* ---- a picture ---- */

/* The background of a group into pen->clean, unless it is there. */
static ct_status want_background(ct_slider_pen *pen, int64_t group)
{
    const ct_slider_gen *g = pen->g;
    ct_rng r;
    int w, h;
    if (pen->group == group) return CT_OK;
    pen->group = -1;
    ct_slider_lot(&r, g->seed, CT_LOT_GROUP, (uint64_t)group);
    ct_plan_size(&g->p, &r, &w, &h);
    ct_image_free(&pen->clean);
    if (g->folder.n > 0) {
        CT_TRY(ct_folder_cut(&g->folder, group % g->folder.n, &r, w, h, &pen->clean));
    } else {
        CT_TRY(ct_image_make(w, h, 3, 0, &pen->clean));
        CT_TRY(ct_ground_draw(&pen->canvas, g->tiles, &r, w, h, pen->clean.px));
    }
    pen->group = group;
    return CT_OK;
}

static ct_status copy_of(const ct_image *from, ct_image *to)
{
    CT_TRY(ct_image_make(from->w, from->h, 3, 0, to));
    memcpy(to->px, from->px, (size_t)from->w * (size_t)from->h * 3);
    return CT_OK;
}

/* In steps that are short in decimals, too. */
static double short_of(double v)
{
    return rint(v * 1024) / 1024;
}

/* A gap, turned and scaled, at `at`, which becomes the centroid of what was drawn. */
static ct_status draw_gap(ct_slider_pen *pen, const ct_plan *p, double angle, double scale, double at[2], ct_image *pic)
{
    ct_outline o;
    ct_outline_turn(&p->piece, angle, scale, &o);
    CT_TRY(ct_mask_make(&o, at[0], at[1], p->look.soft, p->w, p->h, &pen->mask));
    CT_TRY(ct_paint_gap(&p->look, pen->g->tiles, &pen->mask, p->lot, &pen->patches, pic));
    at[0] = short_of(pen->mask.cx);
    at[1] = short_of(pen->mask.cy);
    return CT_OK;
}

static ct_status draw_plan(ct_slider_pen *pen, const ct_plan *p, ct_slider_drawn *d)
{
    double at[2] = { p->gap_x, p->y }, copy[2];
    CT_TRY(draw_gap(pen, p, p->angle, 1, at, &d->picture));
    d->gap[0] = at[0];
    for (int i = 0; i < p->fakes; i++) {
        ct_slider_fake *f = &d->fake[i];
        copy[0] = f->x;
        copy[1] = f->y;
        CT_TRY(draw_gap(pen, p, f->angle, f->scale, copy, &d->picture));
        f->x = copy[0];
        f->y = copy[1];
    }
    CT_TRY(ct_mask_make(&p->piece, p->piece_x, p->y, p->look.soft, p->w, p->h, &pen->mask));
    CT_TRY(ct_paint_piece(&p->look, pen->g->tiles, &pen->mask, (int)rint(p->gap_x - p->piece_x), p->lot, &pen->clean,
                          &pen->patches, &d->picture, d->piece_rgba));
    d->piece[0] = short_of(pen->mask.cx);
    d->gap[1] = d->piece[1] = short_of((at[1] + pen->mask.cy) / 2); /* one row, to a hundredth of a pixel */
    return CT_OK;
}

static void describe(const ct_plan *p, int64_t background, ct_slider_drawn *d)
{
    d->angle = p->angle;
    d->fakes = p->fakes;
    memcpy(d->fake, p->fake, sizeof d->fake);
    d->size = p->size;
    d->style = p->style;
    d->confusion = p->confusion;
    d->confusions = p->confusions;
    memcpy(d->shape, p->piece.name, sizeof d->shape);
    d->background = background;
}

ct_status ct_slider_pen_draw(ct_slider_pen *pen, int64_t index, bool components, ct_slider_drawn *d)
{
    ct_status st = CT_OK;
    const ct_slider_gen *g = pen->g;
    const int64_t group = index / g->p.per_background;
    ct_plan p;
    *d = (ct_slider_drawn){ 0 };
    if (index < 0 || index >= INT64_C(1) << 52)
        return ct_fail(CT_EINVAL, "slider generator: there is no picture %" PRId64, index);
    CT_GOTO(st, want_background(pen, group));
    ct_plan_picture(&g->p, g->seed, index, pen->clean.w, pen->clean.h, &p);
    CT_GOTO(st, copy_of(&pen->clean, &d->picture));
    if (components) {
        CT_GOTO(st, copy_of(&pen->clean, &d->clean));
        d->piece_rgba = ct_calloc((size_t)p.w * (size_t)p.h, 4, "slider piece");
        if (!d->piece_rgba) {
            st = CT_ENOMEM;
            goto fail;
        }
    }
    describe(&p, g->folder.n > 0 ? group % g->folder.n : group, d);
    CT_GOTO(st, draw_plan(pen, &p, d));
    return CT_OK;
fail:
    ct_slider_drawn_free(d);
    return st;
}
