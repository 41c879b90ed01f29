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

/* ---- keys ---- */

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
    if (p->fade && (p->fade_angle.lo != 0 || p->fade_angle.hi != 360)) add_range(b, p->fade_angle);
    if (p->fade && p->background2.hi > 0) {
        add(b, " into");
        add_range(b, p->background2);
    }
    if (p->noise.hi > 0) {
        add(b, " noise");
        add_range(b, p->noise);
    }
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
    CT_TRY(ct_text_params_check(p));
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
    CT_TRY(ct_text_params_check(p));
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
