#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/alphabet.h"
#include "base/text.h"
#include "image/font.h"
#include "task/text/synth/internal.h"

/* Part of the cache key: to be raised whenever the same parameters give other pictures. */
#define GENERATOR_VERSION "captrain-text-1"

enum { MAX_FONT_FILE = 64 << 20 }; /* bytes */

/* ---- fonts ---- */

/* The same file in another style of a mixed generator, whose styles so far are pool[0..n): it is read once. */
static const ct_font_file *shared_font(ct_text_gen *const *pool, int n, const char *path)
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < pool[k]->p.n_fonts; i++) {
            if (!pool[k]->font[i].borrowed && strcmp(pool[k]->font[i].path, path) == 0) return &pool[k]->font[i];
        }
    }
    return NULL;
}

static ct_status load_fonts(ct_text_gen *g, ct_text_gen *const *pool, int n)
{
    for (int i = 0; i < g->p.n_fonts; i++) {
        ct_font_file *f = &g->font[i];
        CT_TRY(ct_font_find(g->p.fonts[i], &f->path));
        const ct_font_file *other = shared_font(pool, n, f->path);
        if (other) {
            ct_free(f->path);
            *f = *other;
            f->borrowed = true;
        } else {
            CT_TRY(ct_file_read_plain(f->path, MAX_FONT_FILE, &f->data, &f->size));
        }
    }
    return ct_text_check_fonts(g);
}

/* ---- parameters ---- */

static bool bad_range(ct_range r, double lo, double hi)
{
    return !(r.lo <= r.hi && r.lo >= lo && r.hi <= hi);
}

static bool bad_count(int lo, int hi, int least, int most)
{
    return lo < least || hi < lo || hi > most;
}

static ct_status check_params(const ct_text_params *p)
{
    const ct_range warp_x = { 0, p->warp_x }, warp_y = { 0, p->warp_y };
    const ct_range overlap = { 0, p->overlap }, gap = { 0, p->gap_probability };
    const ct_range outline = { 0, p->outline }, shadow = { 0, p->shadow };
    bool waves = p->wave_x.hi > 0 || p->wave_y.hi > 0;
    const struct { bool bad; const char *what; } rule[] = {
        { bad_count(p->width, p->width, 8, 4096), "the width must be 8 to 4096 pixels" },
        { bad_count(p->height, p->height, 8, 4096), "the height must be 8 to 4096 pixels" },
        { p->channels != 1 && p->channels != 3, "channels must be 1 or 3" },
        { bad_count(p->length_min, p->length_max, 1, CT_TEXT_LENGTH), "the length must be 1 to 64 characters" },
        { bad_count(p->n_fonts, p->n_fonts, !p->mixed, CT_TEXT_MAX_FONTS), "1 to 16 fonts must be given" },
        { bad_count(p->n_sizes, p->n_sizes, !p->mixed, CT_TEXT_MAX_SIZES), "1 to 8 font sizes must be given" },
        { bad_range(p->background, 0, 256), "background colours must be 0 to 256" },
        { bad_range(p->ink, 0, 256), "ink colours must be 0 to 256" },
        { bad_range(p->alpha, 0, 256), "alpha must be 0 to 256" },
        { bad_range(p->dx, -100, 100), "dx must be -100 to 100 pixels" },
        { bad_range(p->dy, -100, 100), "dy must be -100 to 100 pixels" },
        { bad_range(p->rotation, -180, 180), "the rotation must be -180 to 180 degrees" },
        { bad_range(warp_x, 0, 0.45) || bad_range(warp_y, 0, 0.45), "the warp must be 0 to 0.45" },
        { bad_range(p->place, 0, 1), "place must be 0 to 1" },
        { bad_range(overlap, 0, 0.9), "the overlap must be 0 to 0.9" },
        { bad_range(gap, 0, 1), "the gap probability must be 0 to 1" },
        { bad_count(p->dots_min, p->dots_max, 0, 10000), "there must be 0 to 10000 dots" },
        { bad_count(p->lines_min, p->lines_max, 0, 100), "there must be 0 to 100 lines" },
        { bad_count(p->arcs_min, p->arcs_max, 0, 100), "there must be 0 to 100 arcs" },
        { bad_range(p->dot_size, 0, 100), "dot sizes must be 0 to 100 pixels" },
        { bad_range(p->stroke, 0, 100), "strokes must be 0 to 100 pixels wide" },
        { bad_range(outline, 0, 20), "the outline must be 0 to 20 pixels wide" },
        { bad_range(shadow, 0, 1), "the probability of a shadow must be 0 to 1" },
        { bad_range(p->shadow_offset, 0, 100), "shadows must be 0 to 100 pixels away" },
        { p->grid.hi != 0 && bad_range(p->grid, 2, 1000), "grid lines must be 2 to 1000 pixels apart" },
        { bad_range(p->wave_x, 0, 30) || bad_range(p->wave_y, 0, 30), "waves must be 0 to 30 pixels high" },
        { waves && bad_range(p->wave_length, 8, 10000), "waves must be 8 to 10000 pixels long" },
    };
    const char *what = NULL;
    for (size_t i = 0; !what && i < sizeof rule / sizeof *rule; i++) {
        if (rule[i].bad) what = rule[i].what;
    }
    for (int i = 0; !what && i < p->n_sizes; i++) {
        if (!(p->sizes[i] >= 4 && p->sizes[i] <= 400)) what = "font sizes must be 4 to 400";
    }
    return what ? ct_fail(CT_ECONFIG, "text generator: %s", what) : CT_OK;
}

ct_status ct_text_params_fonts(ct_text_params *p, const char *const *fonts, size_t n)
{
    if (n == 0) return CT_OK;
    if (n > CT_TEXT_MAX_FONTS)
        return ct_fail(CT_ECONFIG, "text generator: %zu fonts, at most %d are possible", n, CT_TEXT_MAX_FONTS);
    for (size_t i = 0; i < n; i++) {
        if (strlen(fonts[i]) >= sizeof p->fonts[i])
            return ct_fail(CT_ECONFIG, "text generator: the name of font %s is longer than %zu bytes", fonts[i],
                           sizeof p->fonts[i] - 1);
        snprintf(p->fonts[i], sizeof p->fonts[i], "%s", fonts[i]);
    }
    p->n_fonts = (int)n;
    return CT_OK;
}

ct_status ct_text_params_sizes(ct_text_params *p, const double *sizes, size_t n)
{
    if (n == 0) return CT_OK;
    if (n > CT_TEXT_MAX_SIZES)
        return ct_fail(CT_ECONFIG, "text generator: %zu font sizes, at most %d are possible", n, CT_TEXT_MAX_SIZES);
    memcpy(p->sizes, sizes, n * sizeof *sizes);
    p->n_sizes = (int)n;
    return CT_OK;
}

/* Text that grows; a failure is remembered. */
typedef struct ct_text_buf { char *s; size_t len, cap; ct_status st; } ct_text_buf;

static void add(ct_text_buf *b, const char *fmt, ...) CT_PRINTF(2, 3);
static void add(ct_text_buf *b, const char *fmt, ...)
{
    va_list ap;
    char piece[1200];
    va_start(ap, fmt);
    int n = vsnprintf(piece, sizeof piece, fmt, ap);
    va_end(ap);
    while (b->st == CT_OK && b->len + (size_t)n + 1 > b->cap) {
        b->st = ct_grow(&b->s, b->cap, &b->cap, 1, "generator key");
    }
    if (b->st != CT_OK) return;
    memcpy(b->s + b->len, piece, (size_t)n + 1);
    b->len += (size_t)n;
}

static void add_range(ct_text_buf *b, ct_range r)
{
    add(b, " %.17g..%.17g", r.lo, r.hi);
}

/* Parameters that came later than version 1: named only where they are in use, so that the keys of others stay. */
static void add_extras(ct_text_buf *b, const ct_text_params *p)
{
    if (p->fade) add(b, " fade");
    if (p->outline > 0) add(b, " outline %.17g", p->outline);
    if (p->shadow > 0) {
        add(b, " shadow %.17g", p->shadow);
        add_range(b, p->shadow_offset);
    }
    if (p->grid.hi > 0) {
        add(b, " grid");
        add_range(b, p->grid);
    }
    if (p->wave_x.hi > 0 || p->wave_y.hi > 0) {
        const ct_range wave[] = { p->wave_x, p->wave_y, p->wave_length };
        add(b, " wave");
        for (int i = 0; i < 3; i++) add_range(b, wave[i]);
    }
}

static ct_status make_key(ct_text_gen *g)
{
    const ct_text_params *p = &g->p;
    ct_text_buf b = { 0 };
    char text[33];
    const char *letters = p->alphabet;
    if (strlen(letters) > 1000) { /* longer than the buffer of add() */
        ct_hash_hex(p->alphabet, strlen(p->alphabet), text);
        letters = text;
    }
    add(&b, "%s %" PRIu64 " %dx%dx%d length %d..%d charset %s", GENERATOR_VERSION, g->seed, p->width, p->height,
        p->channels, p->length_min, p->length_max, letters);
    for (int i = 0; i < p->n_fonts; i++) {
        char hash[33];
        ct_hash_hex(g->font[i].data, g->font[i].size, hash);
        add(&b, " font %s", hash);
    }
    for (int i = 0; i < p->n_sizes; i++) add(&b, " size %.17g", p->sizes[i]);
    const ct_range all[] = { p->background, p->ink, p->alpha, p->dx, p->dy, p->rotation, p->place, p->dot_size,
                             p->stroke };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) add_range(&b, all[i]);
    add(&b, " %d %.17g %.17g %.17g %.17g", p->ink_per_char, p->warp_x, p->warp_y, p->overlap, p->gap_probability);
    add(&b, " %d..%d %d..%d %d..%d %d", p->dots_min, p->dots_max, p->lines_min, p->lines_max, p->arcs_min, p->arcs_max,
        p->smooth);
    add_extras(&b, p);
    for (int i = 0; i < g->n_styles; i++) add(&b, " style %s", g->style[i]->key);
    if (b.st == CT_OK) ct_hash_hex(b.s, b.len, g->key);
    ct_free(b.s);
    return b.st;
}

void ct_text_gen_close(ct_text_gen *g)
{
    if (!g) return;
    for (int i = 0; i < g->n_styles; i++) ct_text_gen_close(g->style[i]);
    for (int i = 0; i < CT_TEXT_MAX_FONTS; i++) {
        if (g->font[i].borrowed) continue;
        ct_free(g->font[i].path);
        ct_free(g->font[i].data);
    }
    ct_free(g->cp);
    ct_free(g);
}

/* A generator of one look; pool[0..n) are those opened before it for the same mixed generator. */
static ct_status open_style(const ct_text_params *p, uint64_t seed, ct_text_gen *const *pool, int n, ct_text_gen **out)
{
    ct_status st = CT_OK;
    *out = NULL;
    CT_TRY(check_params(p));
    ct_text_gen *g = ct_calloc(1, sizeof *g, "text generator");
    if (!g) return CT_ENOMEM;
    g->p = *p;
    g->seed = seed;
    CT_GOTO(st, ct_utf8_alphabet("alphabet", p->alphabet, CT_TEXT_ALPHABET_BYTES, &g->cp, &g->letters));
    CT_GOTO(st, load_fonts(g, pool, n));
    CT_GOTO(st, make_key(g));
    *out = g;
    return CT_OK;
fail:
    ct_text_gen_close(g);
    return st;
}

/* All styles but the mixed ones, into g->style. */
static ct_status open_styles(ct_text_gen *g)
{
    ct_text_params *p = ct_malloc(sizeof *p, "text generator");
    ct_status st = p ? CT_OK : CT_ENOMEM;
    for (int i = 0; st == CT_OK && ct_text_style_name(i); i++) {
        st = ct_text_style_of_mixed(&g->p, i, p);
        if (st != CT_OK || p->mixed) continue;
        st = open_style(p, g->seed, g->style, g->n_styles, &g->style[g->n_styles]);
        if (st == CT_OK) g->n_styles++;
    }
    ct_free(p);
    return st;
}

ct_status ct_text_gen_open(const ct_text_params *p, uint64_t seed, ct_text_gen **out)
{
    ct_status st = CT_OK;
    if (!p->mixed) return open_style(p, seed, NULL, 0, out);
    *out = NULL;
    CT_TRY(check_params(p));
    ct_text_gen *g = ct_calloc(1, sizeof *g, "text generator");
    if (!g) return CT_ENOMEM;
    g->p = *p;
    g->seed = seed;
    CT_GOTO(st, ct_utf8_alphabet("alphabet", p->alphabet, CT_TEXT_ALPHABET_BYTES, &g->cp, &g->letters));
    CT_GOTO(st, open_styles(g));
    g->p.n_fonts = 0; /* read and checked by the styles */
    CT_GOTO(st, make_key(g));
    *out = g;
    return CT_OK;
fail:
    ct_text_gen_close(g);
    return st;
}

const char *ct_text_gen_key(const ct_text_gen *g)
{
    return g->key;
}

ct_status ct_synth_text(const ct_text_params *p, uint64_t seed, int64_t index, ct_image *out,
                        char label[CT_TEXT_BYTES])
{
    ct_status st = CT_OK;
    ct_text_gen *g = NULL;
    ct_text_pen *pen = NULL;
    *out = (ct_image){ 0 };
    CT_GOTO(st, ct_text_gen_open(p, seed, &g));
    CT_GOTO(st, ct_text_pen_open(g, &pen));
    CT_GOTO(st, ct_text_pen_draw(pen, index, out, label));
fail:
    ct_text_pen_close(pen);
    ct_text_gen_close(g);
    return st;
}
