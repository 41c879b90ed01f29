#include "config.h"

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_GLYPH_H
#include FT_MODULE_H
#include FT_STROKER_H
#include FT_SYSTEM_H
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "base/text.h"
#include "task/text/synth/internal.h"

#define DEGREE (3.14159265358979323846 / 180.0)

/* Coverage of one glyph, cut to its ink, in a frame of zeros a pixel wide: [h+2,w+2] uint8. A glyph without ink has
 * w = h = 0. */
typedef struct glyph {
    bool made;
    int w, h;
    uint8_t *cover;
} glyph;

struct ct_text_pen {
    const ct_text_gen *g;
    struct FT_MemoryRec_ memory; /* so that FreeType's memory comes from base/alloc.h, too */
    bool no_memory;                /* an allocation failed; FreeType does without what is optional, we do not */
    FT_Library lib;
    FT_Face face[CT_TEXT_MAX_FONTS];
    glyph *glyphs;  /* [n_fonts, n_sizes, letters]: drawn once, used often */
    float *layer;   /* [H,W] coverage of what is being drawn */
    double *across; /* [W] where each column lies in a letter's box, from 0 to 1 */
    FT_Stroker stroker; /* for outlined letters, else NULL */
    ct_text_pen *style[CT_TEXT_MAX_STYLES]; /* [g->n_styles] mixed: a pen for each, nothing else is in use then */
};

/* ---- FreeType ---- */

static void *ft_alloc(FT_Memory m, long size)
{
    ct_text_pen *pen = m->user;
    void *p = ct_malloc((size_t)size, "font");
    if (!p) pen->no_memory = true;
    return p;
}

static void ft_free(FT_Memory m, void *p)
{
    (void)m;
    ct_free(p);
}

static void *ft_realloc(FT_Memory m, long old, long size, void *p)
{
    ct_text_pen *pen = m->user;
    (void)old;
    void *q = ct_realloc(p, (size_t)size, 1, "font");
    if (!q) pen->no_memory = true;
    return q;
}

static ct_status font_failure(const ct_text_pen *pen, int font, const char *what)
{
    if (pen->no_memory) return CT_ENOMEM;
    return ct_fail(CT_EFORMAT, "%s: %s", pen->g->font[font].path, what);
}

void ct_text_pen_close(ct_text_pen *pen)
{
    if (!pen) return;
    for (int i = 0; i < pen->g->n_styles; i++) ct_text_pen_close(pen->style[i]);
    size_t n = (size_t)pen->g->p.n_fonts * (size_t)pen->g->p.n_sizes * (size_t)pen->g->letters;
    for (size_t i = 0; pen->glyphs && i < n; i++) ct_free(pen->glyphs[i].cover);
    ct_free(pen->glyphs);
    ct_free(pen->layer);
    ct_free(pen->across);
    for (int i = 0; i < pen->g->p.n_fonts; i++) {
        if (pen->face[i]) FT_Done_Face(pen->face[i]);
    }
    if (pen->stroker) FT_Stroker_Done(pen->stroker);
    if (pen->lib) FT_Done_Library(pen->lib);
    ct_free(pen);
}

static ct_status open_mixed(const ct_text_gen *g, ct_text_pen **out)
{
    ct_text_pen *pen = ct_calloc(1, sizeof *pen, "text generator");
    if (!pen) return CT_ENOMEM;
    pen->g = g;
    for (int i = 0; i < g->n_styles; i++) {
        ct_status st = ct_text_pen_open(g->style[i], &pen->style[i]);
        if (st == CT_OK) continue;
        ct_text_pen_close(pen);
        return st;
    }
    *out = pen;
    return CT_OK;
}

ct_status ct_text_pen_open(const ct_text_gen *g, ct_text_pen **out)
{
    ct_status st = CT_OK;
    size_t n = (size_t)g->p.n_fonts * (size_t)g->p.n_sizes * (size_t)g->letters;
    *out = NULL;
    if (g->n_styles > 0) return open_mixed(g, out);
    ct_text_pen *pen = ct_calloc(1, sizeof *pen, "text generator");
    if (!pen) return CT_ENOMEM;
    pen->g = g;
    pen->memory = (struct FT_MemoryRec_){ .user = pen, .alloc = ft_alloc, .free = ft_free, .realloc = ft_realloc };
    pen->glyphs = ct_calloc(n, sizeof *pen->glyphs, "glyphs");
    pen->layer = ct_malloc((size_t)g->p.width * (size_t)g->p.height * sizeof *pen->layer, "text layer");
    pen->across = ct_malloc((size_t)g->p.width * sizeof *pen->across, "text columns");
    if (!pen->glyphs || !pen->layer || !pen->across) {
        st = CT_ENOMEM;
        goto fail;
    }
    if (FT_New_Library(&pen->memory, &pen->lib) != 0) {
        st = pen->no_memory ? CT_ENOMEM : ct_fail(CT_EINTERNAL, "FreeType cannot be started");
        goto fail;
    }
    FT_Add_Default_Modules(pen->lib);
    if (pen->no_memory) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (int i = 0; i < g->p.n_fonts; i++) {
        if (FT_New_Memory_Face(pen->lib, g->font[i].data, (FT_Long)g->font[i].size, 0, &pen->face[i]) != 0 ||
            pen->no_memory) {
            st = font_failure(pen, i, "not a font that FreeType can read");
            goto fail;
        }
    }
    if (g->p.outline > 0 && FT_Stroker_New(pen->lib, &pen->stroker) != 0) {
        st = pen->no_memory ? CT_ENOMEM : ct_fail(CT_EINTERNAL, "FreeType cannot draw outlines");
        goto fail;
    }
    *out = pen;
    return CT_OK;
fail:
    ct_text_pen_close(pen);
    return st;
}

ct_status ct_text_check_fonts(const ct_text_gen *g)
{
    ct_text_pen *pen;
    ct_status st = ct_text_pen_open(g, &pen);
    for (int f = 0; st == CT_OK && f < g->p.n_fonts; f++) {
        for (int c = 0; st == CT_OK && c < g->letters; c++) {
            char show[32];
            if (FT_Get_Char_Index(pen->face[f], g->cp[c]) != 0) continue;
            st = ct_fail(CT_ECONFIG, "%s: this font has no glyph for %s", g->font[f].path,
                         ct_utf8_show(g->cp[c], show));
        }
    }
    ct_text_pen_close(pen);
    return st;
}

/* Copies FreeType's picture of a glyph. */
static ct_status take_bitmap(ct_text_pen *pen, int f, const FT_Bitmap *b, glyph *gl)
{
    if (b->width == 0 || b->rows == 0) return CT_OK;
    if (b->pixel_mode != FT_PIXEL_MODE_GRAY) return font_failure(pen, f, "a glyph is not an outline");
    const size_t row_bytes = (size_t)b->width + 2;
    gl->cover = ct_calloc((size_t)b->rows + 2, row_bytes, "glyph");
    if (!gl->cover) return CT_ENOMEM;
    for (unsigned y = 0; y < b->rows; y++) {
        /* A negative pitch means that the last row comes first. */
        const uint8_t *row = b->pitch >= 0 ? b->buffer + (size_t)y * (size_t)b->pitch
                                           : b->buffer + (size_t)(b->rows - 1 - y) * (size_t)-b->pitch;
        memcpy(gl->cover + (y + 1) * row_bytes + 1, row, b->width);
    }
    gl->w = (int)b->width;
    gl->h = (int)b->rows;
    return CT_OK;
}

/* The contour of the loaded glyph, p.outline pixels wide. */
static ct_status take_outline(ct_text_pen *pen, int f, glyph *gl)
{
    FT_Glyph own = NULL;
    ct_status st = CT_OK;
    double width = fmax(pen->g->p.outline * pen->g->p.height / 60.0, 0.5);
    FT_Stroker_Set(pen->stroker, (FT_Fixed)lround(width / 2.0 * 64.0), FT_STROKER_LINECAP_ROUND,
                   FT_STROKER_LINEJOIN_ROUND, 0);
    if (FT_Get_Glyph(pen->face[f]->glyph, &own) != 0 || FT_Glyph_Stroke(&own, pen->stroker, 1) != 0 ||
        FT_Glyph_To_Bitmap(&own, FT_RENDER_MODE_NORMAL, NULL, 1) != 0 || pen->no_memory) {
        st = font_failure(pen, f, "the outline of a glyph cannot be drawn");
    } else {
        st = take_bitmap(pen, f, &((FT_BitmapGlyph)own)->bitmap, gl);
    }
    if (own) FT_Done_Glyph(own);
    return st;
}

/* The coverage of character c in font f and size s. */
static ct_status get_glyph(ct_text_pen *pen, int f, int s, int c, const glyph **out)
{
    const ct_text_gen *g = pen->g;
    glyph *gl = &pen->glyphs[((size_t)f * (size_t)g->p.n_sizes + (size_t)s) * (size_t)g->letters + (size_t)c];
    *out = gl;
    if (gl->made) return CT_OK;
    FT_Face face = pen->face[f];
    /* 26.6 fixed point pixels per em; unhinted, so that the shape does not depend on the pixel grid. */
    FT_F26Dot6 em = (FT_F26Dot6)lround(g->p.sizes[s] * g->p.height / 60.0 * 64.0);
    FT_Int32 flags = FT_LOAD_NO_HINTING | (pen->stroker ? FT_LOAD_NO_BITMAP : FT_LOAD_RENDER);
    if (FT_Set_Char_Size(face, em, em, 72, 72) != 0 || FT_Load_Char(face, g->cp[c], flags) != 0 ||
        pen->no_memory) {
        return font_failure(pen, f, "a glyph cannot be drawn");
    }
    if (pen->stroker) CT_TRY(take_outline(pen, f, gl));
    else CT_TRY(take_bitmap(pen, f, &face->glyph->bitmap, gl));
    gl->made = true;
    return CT_OK;
}

/* ---- one character ---- */

/* A character with all that was drawn by lot for it. */
typedef struct letter {
    const glyph *gl;
    int id;             /* class */
    double em;          /* pixels */
    double co, si;      /* cosine and sine of the angle, counter-clockwise */
    double q[4];        /* x1, x2, y1, y2 of the corners, fractions of the box */
    double dx, dy;      /* pixels */
    double overlap;     /* fraction of the mean width */
    bool gap;
    double ink[3], alpha;
    double scale;       /* picture pixels per glyph pixel */
    double w, h;        /* box of the turned glyph, pixels */
    double x, y;        /* its place, before the row is squeezed */
} letter;

static double draw_range(ct_rng *r, ct_range v)
{
    return ct_rng_uniform(r, v.lo, v.hi);
}

static int draw_int(ct_rng *r, int lo, int hi)
{
    return lo + (int)ct_rng_below(r, (uint32_t)(hi - lo) + 1u);
}

static void draw_color(ct_rng *r, ct_range v, double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = fmin(255.0, floor(draw_range(r, v)));
}

/* Draws the lots of one character: always the same number of them, whatever comes out. */
static ct_status draw_letter(ct_text_pen *pen, ct_rng *r, const double ink[3], letter *t)
{
    const ct_text_params *p = &pen->g->p;
    double unit = p->height / 60.0, own[3];
    t->id = (int)ct_rng_below(r, (uint32_t)pen->g->letters);
    int f = (int)ct_rng_below(r, (uint32_t)p->n_fonts), s = (int)ct_rng_below(r, (uint32_t)p->n_sizes);
    t->em = p->sizes[s] * unit;
    double angle = draw_range(r, p->rotation) * DEGREE;
    t->co = cos(angle);
    t->si = sin(angle);
    for (int k = 0; k < 4; k++) {
        double v = k < 2 ? p->warp_x : p->warp_y;
        t->q[k] = ct_rng_uniform(r, -v, v);
    }
    t->dx = draw_range(r, p->dx) * unit;
    t->dy = draw_range(r, p->dy) * unit;
    t->overlap = ct_rng_uniform(r, 0.0, p->overlap);
    t->gap = ct_rng_uniform(r, 0.0, 1.0) < p->gap_probability;
    draw_color(r, p->ink, own);
    memcpy(t->ink, p->ink_per_char ? own : ink, sizeof t->ink);
    t->alpha = fmin(255.0, draw_range(r, p->alpha)) / 255.0;

    CT_TRY(get_glyph(pen, f, s, t->id, &t->gl));
    double c = fabs(t->co), n = fabs(t->si);
    t->w = t->gl->w * c + t->gl->h * n;
    t->h = t->gl->w * n + t->gl->h * c;
    double room = p->height - 2.0;
    t->scale = t->h > room ? room / t->h : 1.0;
    t->w *= t->scale;
    t->h *= t->scale;
    return CT_OK;
}

/* Sets x and y of the letters; returns the factor by which the row must be squeezed to fit. */
static double lay_out(const ct_text_params *p, double place, letter *t, int n)
{
    double mean = 0.0;
    for (int i = 0; i < n; i++) mean += t[i].w / n;
    double margin = 0.1 * mean, x = margin, right = margin;
    for (int i = 0; i < n; i++) {
        if (t[i].gap) x += 0.3 * t[i].em;
        x += t[i].dx;
        if (x < margin) x = margin;
        t[i].x = x;
        double top = (p->height - t[i].h) / 2.0 + t[i].dy, last = p->height - t[i].h;
        t[i].y = top < 0.0 ? 0.0 : top > last ? fmax(last, 0.0) : top;
        right = fmax(right, x + t[i].w);
        x += t[i].w - t[i].overlap * mean;
    }
    double need = right + margin;
    if (need > p->width) return p->width / need;
    for (int i = 0; i < n; i++) t[i].x += place * (p->width - need);
    return 1.0;
}

/* Coverage 0..1 of a glyph at (x, y) in its own pixels, where pixel k spans k .. k+1; nothing outside. */
static inline double sample(const glyph *g, double x, double y)
{
    x += 0.5; /* into the frame, and from a pixel's edge to its middle */
    y += 0.5;
    if (!(x > 0.0 && y > 0.0 && x < g->w + 1 && y < g->h + 1)) return 0.0;
    const int x0 = (int)x, y0 = (int)y, row = g->w + 2;
    const uint8_t *v = g->cover + (size_t)y0 * (size_t)row + (size_t)x0;
    const double fx = x - x0, fy = y - y0;
    return ((v[0] * (1 - fx) + v[1] * fx) * (1 - fy) + (v[row] * (1 - fx) + v[row + 1] * fx) * fy) / 255.0;
}

/* Where (u, v) in 0..1 of a letter's box lies in its glyph. The box's corners are moved to
 *     nw (x1, y1)   ne (1 - x2, -y1)   sw (-x1, 1 - y2)   se (1 + x2, 1 + y2)
 * with bilinear interpolation between them; then the point is turned back into the glyph. */
static void letter_at(const letter *t, double u, double v, double at[2])
{
    double x1 = t->q[0], x2 = t->q[1], y1 = t->q[2], y2 = t->q[3];
    double a = (1 - u) * (1 - v), b = u * (1 - v), c = (1 - u) * v, d = u * v;
    double bx = (a * x1 + b * (1 - x2) - c * x1 + d * (1 + x2)) * t->w / t->scale;
    double by = (a * y1 - b * y1 + c * (1 - y2) + d * (1 + y2)) * t->h / t->scale;
    double cx = bx - t->w / t->scale / 2.0, cy = by - t->h / t->scale / 2.0;
    /* y points down: counter-clockwise on the screen is (x, y) -> (x cos + y sin, -x sin + y cos); this is
     * its inverse. */
    at[0] = cx * t->co - cy * t->si + t->gl->w / 2.0;
    at[1] = cx * t->si + cy * t->co + t->gl->h / 2.0;
}

/* Blends a colour over the picture through coverage[i] * alpha, within columns x0..x1-1 and rows y0..y1-1. */
static void blend(ct_image *im, const float *layer, int x0, int x1, int y0, int y1, const double ink[3], double alpha)
{
    for (int y = y0; y < y1; y++) {
        for (int x = x0; x < x1; x++) {
            size_t at = (size_t)y * (size_t)im->w + (size_t)x;
            double a = layer[at] * alpha;
            if (a <= 0.0) continue;
            for (int k = 0; k < 3; k++) {
                uint8_t *px = &im->px[3 * at + (size_t)k];
                *px = (uint8_t)(*px + (ink[k] - *px) * a + 0.5);
            }
        }
    }
}

static int clip(double v, int limit)
{
    return v <= 0.0 ? 0 : v >= limit ? limit : (int)v;
}

/* Draws a letter, or (shade and away given) its shadow: in that colour, away[0] pixels to the right, away[1] down. */
static void paint_letter(ct_text_pen *pen, const letter *t, double squeeze, const double *shade, const double *away,
                         ct_image *im)
{
    if (t->gl->w == 0) return;
    double left = t->x * squeeze + (away ? away[0] : 0), top = t->y + (away ? away[1] : 0), width = t->w * squeeze;
    int x0 = clip(floor(left) - 1, im->w), x1 = clip(ceil(left + width) + 1, im->w);
    int y0 = clip(floor(top) - 1, im->h), y1 = clip(ceil(top + t->h) + 1, im->h);
    /* Squeezed rows are sampled more densely than the glyph's pixels need at full width, so that thin stems stay
     * even. */
    int taps = (int)ceil(1.0 / (squeeze * t->scale) - 0.05);
    double step = 1.0 / taps / width;
    for (int x = x0; x < x1; x++) pen->across[x] = (x + 0.5 / taps - left) / width;
    for (int y = y0; y < y1; y++) {
        /* A row of the box is a straight line in the glyph. */
        double v = (y + 0.5 - top) / t->h, from[2], to[2];
        letter_at(t, 0, v, from);
        letter_at(t, 1, v, to);
        const double way[2] = { to[0] - from[0], to[1] - from[1] };
        for (int x = x0; x < x1; x++) {
            double sum = 0.0;
            for (int k = 0; k < taps; k++) {
                double u = pen->across[x] + k * step;
                sum += sample(t->gl, from[0] + u * way[0], from[1] + u * way[1]);
            }
            pen->layer[(size_t)y * (size_t)im->w + (size_t)x] = (float)(sum / taps);
        }
    }
    blend(im, pen->layer, x0, x1, y0, y1, shade ? shade : t->ink, t->alpha);
}

/* ---- dots, lines, arcs ---- */

/* Raises the layer to the coverage of a segment with round ends: 1 inside, falling to 0 over one pixel at the edge. */
static void add_segment(float *layer, const ct_image *im, const double a[2], const double b[2], double width,
                        int box[4])
{
    double reach = width / 2.0 + 0.5, dx = b[0] - a[0], dy = b[1] - a[1], len2 = dx * dx + dy * dy;
    int x0 = clip(floor(fmin(a[0], b[0]) - reach), im->w), x1 = clip(ceil(fmax(a[0], b[0]) + reach), im->w);
    int y0 = clip(floor(fmin(a[1], b[1]) - reach), im->h), y1 = clip(ceil(fmax(a[1], b[1]) + reach), im->h);
    for (int y = y0; y < y1; y++) {
        for (int x = x0; x < x1; x++) {
            double px = x + 0.5 - a[0], py = y + 0.5 - a[1];
            double s = len2 > 0.0 ? fmin(1.0, fmax(0.0, (px * dx + py * dy) / len2)) : 0.0;
            double ex = px - s * dx, ey = py - s * dy, cover = fmin(1.0, reach - sqrt(ex * ex + ey * ey));
            float *at = &layer[(size_t)y * (size_t)im->w + (size_t)x];
            if (cover > *at) *at = (float)cover;
        }
    }
    if (x0 < box[0]) box[0] = x0;
    if (x1 > box[1]) box[1] = x1;
    if (y0 < box[2]) box[2] = y0;
    if (y1 > box[3]) box[3] = y1;
}

/* Draws a polyline of n points in one colour, as one stroke. */
static void stroke(ct_text_pen *pen, ct_image *im, double (*pt)[2], int n, double width, const double ink[3],
                   double alpha)
{
    int box[4] = { im->w, 0, im->h, 0 };
    memset(pen->layer, 0, (size_t)im->w * (size_t)im->h * sizeof *pen->layer);
    for (int i = 0; i + 1 < n; i++) add_segment(pen->layer, im, pt[i], pt[i + 1], width, box);
    if (n == 1) add_segment(pen->layer, im, pt[0], pt[0], width, box);
    blend(im, pen->layer, box[0], box[1], box[2], box[3], ink, alpha);
}

/* The colour of a noise element: the picture's, or one of its own. Draws three numbers in either case. */
static void noise_ink(const ct_text_params *p, ct_rng *r, const double ink[3], double out[3])
{
    draw_color(r, p->ink, out);
    if (!p->ink_per_char) memcpy(out, ink, 3 * sizeof *out);
}

static void paint_noise(ct_text_pen *pen, ct_rng *r, const double ink[3], double alpha, ct_image *im)
{
    enum { ARC_POINTS = 49 };
    const ct_text_params *p = &pen->g->p;
    double w = im->w, h = im->h, color[3], pt[ARC_POINTS][2];

    int dots = draw_int(r, p->dots_min, p->dots_max);
    for (int i = 0; i < dots; i++) {
        int box[4] = { im->w, 0, im->h, 0 };
        noise_ink(p, r, ink, color);
        pt[0][0] = ct_rng_uniform(r, 0, w);
        pt[0][1] = ct_rng_uniform(r, 0, h);
        double size = draw_range(r, p->dot_size);
        double reach = size / 2.0 + 1.5; /* all that add_segment() looks at */
        int x0 = clip(pt[0][0] - reach, im->w), x1 = clip(pt[0][0] + reach + 1, im->w);
        for (int y = clip(pt[0][1] - reach, im->h); y < clip(pt[0][1] + reach + 1, im->h); y++) {
            memset(pen->layer + (size_t)y * (size_t)im->w + x0, 0, (size_t)(x1 - x0) * sizeof *pen->layer);
        }
        add_segment(pen->layer, im, pt[0], pt[0], size, box);
        blend(im, pen->layer, box[0], box[1], box[2], box[3], color, alpha);
    }
    int lines = draw_int(r, p->lines_min, p->lines_max);
    for (int i = 0; i < lines; i++) { /* from the left third to the right third */
        noise_ink(p, r, ink, color);
        pt[0][0] = ct_rng_uniform(r, 0, w / 3);
        pt[0][1] = ct_rng_uniform(r, 0, h);
        pt[1][0] = ct_rng_uniform(r, 2 * w / 3, w);
        pt[1][1] = ct_rng_uniform(r, 0, h);
        stroke(pen, im, pt, 2, draw_range(r, p->stroke), color, alpha);
    }
    int arcs = draw_int(r, p->arcs_min, p->arcs_max);
    for (int i = 0; i < arcs; i++) { /* of an ellipse in a box of most of the width; angles clockwise from the right */
        noise_ink(p, r, ink, color);
        double x0 = ct_rng_uniform(r, 0, w / 5), x1 = ct_rng_uniform(r, 4 * w / 5, w);
        double y0 = ct_rng_uniform(r, h / 5, 4 * h / 5), y1 = ct_rng_uniform(r, y0, 4 * h / 5);
        double from = ct_rng_uniform(r, 0, 20) * DEGREE, to = ct_rng_uniform(r, 160, 200) * DEGREE;
        for (int k = 0; k < ARC_POINTS; k++) {
            double a = from + (to - from) * k / (ARC_POINTS - 1);
            pt[k][0] = (x0 + x1) / 2 + (x1 - x0) / 2 * cos(a);
            pt[k][1] = (y0 + y1) / 2 + (y1 - y0) / 2 * sin(a);
        }
        stroke(pen, im, pt, ARC_POINTS, draw_range(r, p->stroke), color, alpha);
    }
}

/* out = (sum of the 3x3 neighbourhood + 4 * centre) / 13, rounded; the edge rows and columns stay as they are. */
static void smooth(const ct_image *in, ct_image *out)
{
    size_t row = (size_t)in->w * 3;
    memcpy(out->px, in->px, row * (size_t)in->h);
    for (int y = 1; y + 1 < in->h; y++) {
        const uint8_t *a = in->px + row * (size_t)(y - 1), *b = a + row, *c = b + row;
        uint8_t *o = out->px + row * (size_t)y;
        for (size_t x = 3; x + 3 < row; x++) {
            unsigned sum = a[x - 3] + a[x] + a[x + 3] + b[x - 3] + 5u * b[x] + b[x + 3] + c[x - 3] + c[x] + c[x + 3];
            o[x] = (uint8_t)((2 * sum + 13) / 26);
        }
    }
}

/* ---- background, shadows, waves ---- */

/* What is drawn by lot for a picture's background, shadows and waves; a style without them draws nothing, so that its
 * other numbers do not move. */
typedef struct scenery {
    double back[3], back2[3], fade[2]; /* two colours; unit vector from one to the other */
    bool shadow;
    double away[2], shade[3];
    double grid, grid_at[2], grid_ink[3]; /* distance and first lines */
    double wave[2], length[2], phase[2];  /* of rows, of columns; pixels, pixels, radians */
} scenery;

static void mix(const double a[3], const double b[3], double part_b, double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = a[k] + (b[k] - a[k]) * part_b;
}

static void draw_scenery(const ct_text_params *p, ct_rng *r, const double back[3], const double ink[3], scenery *s)
{
    double unit = p->height / 60.0;
    *s = (scenery){ .shadow = false };
    memcpy(s->back, back, sizeof s->back);
    if (p->fade) {
        double angle = draw_range(r, p->fade_angle) * DEGREE;
        draw_color(r, p->background2.hi > 0 ? p->background2 : p->background, s->back2);
        s->fade[0] = cos(angle);
        s->fade[1] = sin(angle);
    }
    if (p->shadow > 0) {
        s->shadow = ct_rng_uniform(r, 0, 1) < p->shadow;
        for (int k = 0; k < 2; k++) {
            double size = draw_range(r, p->shadow_offset) * unit;
            s->away[k] = ct_rng_below(r, 4) == 0 ? -size : size; /* mostly to the lower right */
        }
        mix(back, ink, 0.45, s->shade);
    }
    if (p->grid.hi > 0) {
        s->grid = fmax(draw_range(r, p->grid) * unit, 2);
        for (int k = 0; k < 2; k++) s->grid_at[k] = ct_rng_uniform(r, 0, s->grid);
        mix(back, ink, ct_rng_uniform(r, 0.3, 0.6), s->grid_ink);
    }
    if (p->wave_x.hi > 0 || p->wave_y.hi > 0) {
        const ct_range amplitude[2] = { p->wave_x, p->wave_y };
        for (int k = 0; k < 2; k++) {
            s->wave[k] = draw_range(r, amplitude[k]) * unit;
            s->length[k] = draw_range(r, p->wave_length) * unit;
            s->phase[k] = ct_rng_uniform(r, 0, 360) * DEGREE;
        }
    }
}

static void paint_background(const ct_text_params *p, const scenery *s, ct_image *im)
{
    double reach = fabs(s->fade[0]) * im->w + fabs(s->fade[1]) * im->h;
    for (int y = 0; y < im->h; y++) {
        for (int x = 0; x < im->w; x++) {
            uint8_t *px = &im->px[3 * ((size_t)y * (size_t)im->w + (size_t)x)];
            double color[3];
            memcpy(color, s->back, sizeof color);
            if (p->fade) {
                double along = (x + 0.5 - im->w / 2.0) * s->fade[0] + (y + 0.5 - im->h / 2.0) * s->fade[1];
                mix(s->back, s->back2, along / reach + 0.5, color);
            }
            for (int k = 0; k < 3; k++) px[k] = (uint8_t)color[k];
        }
    }
}

static void paint_grid(ct_text_pen *pen, const scenery *s, ct_image *im)
{
    double w = im->w, h = im->h;
    for (double x = s->grid_at[0]; s->grid > 0 && x < w; x += s->grid) {
        double pt[2][2] = { { x, 0 }, { x, h } };
        stroke(pen, im, pt, 2, 1, s->grid_ink, 1);
    }
    for (double y = s->grid_at[1]; s->grid > 0 && y < h; y += s->grid) {
        double pt[2][2] = { { 0, y }, { w, y } };
        stroke(pen, im, pt, 2, 1, s->grid_ink, 1);
    }
}

/* out(x, y) = in(x + a sin(2 pi y / length + phase), y + b sin(2 pi x / length' + phase')), bilinear; the edge goes on
 * outside. */
static void bend(const scenery *s, const ct_image *in, ct_image *out)
{
    for (int y = 0; y < in->h; y++) {
        for (int x = 0; x < in->w; x++) {
            double fx = x + s->wave[0] * sin(360 * DEGREE * y / s->length[0] + s->phase[0]);
            double fy = y + s->wave[1] * sin(360 * DEGREE * x / s->length[1] + s->phase[1]);
            fx = fmin(fmax(fx, 0), in->w - 1);
            fy = fmin(fmax(fy, 0), in->h - 1);
            int x0 = (int)fx, y0 = (int)fy, x1 = x0 + (x0 + 1 < in->w), y1 = y0 + (y0 + 1 < in->h);
            const uint8_t *a = in->px + 3 * (size_t)y0 * (size_t)in->w, *b = in->px + 3 * (size_t)y1 * (size_t)in->w;
            for (int k = 0; k < 3; k++) {
                double top = a[3 * x0 + k] + (a[3 * x1 + k] - a[3 * x0 + k]) * (fx - x0);
                double low = b[3 * x0 + k] + (b[3 * x1 + k] - b[3 * x0 + k]) * (fx - x0);
                out->px[3 * ((size_t)y * (size_t)in->w + (size_t)x) + (size_t)k] =
                    (uint8_t)(top + (low - top) * (fy - y0) + 0.5);
            }
        }
    }
}

/* Passes *im through a filter. */
static ct_status filtered(ct_image *im, const scenery *waves)
{
    ct_image next;
    CT_TRY(ct_image_make(im->w, im->h, 3, 0, &next));
    if (waves) bend(waves, im, &next);
    else smooth(im, &next);
    ct_image_free(im);
    *im = next;
    return CT_OK;
}

/* The same for all colours of a pixel; drawn behind everything else, so that no other lot moves. */
static void add_noise(const ct_text_params *p, ct_rng *r, ct_image *im)
{
    const double sigma = p->noise.hi > 0 ? draw_range(r, p->noise) : 0;
    for (size_t i = 0; sigma > 0 && i < (size_t)im->w * (size_t)im->h; i++) {
        const double d = sigma * ct_rng_normal(r);
        for (size_t k = 3 * i; k < 3 * i + 3; k++) im->px[k] = (uint8_t)fmin(fmax(im->px[k] + d + 0.5, 0), 255);
    }
}

/* The style of picture `index`: a stream of its own, since every style uses its numbers from the first on. */
static ct_text_pen *pen_of(ct_text_pen *pen, int64_t index)
{
    ct_rng r;
    if (pen->g->n_styles == 0) return pen;
    ct_rng_init(&r, ~pen->g->seed, CT_RNG_SYNTH, (uint64_t)index);
    return pen->style[ct_rng_below(&r, (uint32_t)pen->g->n_styles)];
}

ct_status ct_text_pen_draw(ct_text_pen *pen, int64_t index, ct_image *out, char label[CT_TEXT_BYTES])
{
    pen = pen_of(pen, index);
    const ct_text_params *p = &pen->g->p;
    ct_status st = CT_OK;
    letter t[CT_TEXT_LENGTH];
    ct_rng r;
    double back[3], ink[3];
    char *end = label;
    scenery s;
    ct_image im = { 0 };

    *out = (ct_image){ 0 };
    ct_rng_init(&r, pen->g->seed, CT_RNG_SYNTH, (uint64_t)index);
    int n = draw_int(&r, p->length_min, p->length_max);
    draw_color(&r, p->background, back);
    draw_color(&r, p->ink, ink);
    double alpha = fmin(255.0, draw_range(&r, p->alpha)) / 255.0, place = draw_range(&r, p->place);
    draw_scenery(p, &r, back, ink, &s);
    for (int i = 0; i < n; i++) {
        CT_GOTO(st, draw_letter(pen, &r, ink, &t[i]));
        end += ct_utf8_put(pen->g->cp[t[i].id], end);
    }
    double squeeze = lay_out(p, place, t, n);

    CT_GOTO(st, ct_image_make(p->width, p->height, 3, 0, &im));
    paint_background(p, &s, &im);
    paint_grid(pen, &s, &im);
    for (int i = 0; i < n && s.shadow; i++) paint_letter(pen, &t[i], squeeze, s.shade, s.away, &im);
    for (int i = 0; i < n; i++) paint_letter(pen, &t[i], squeeze, NULL, NULL, &im);
    paint_noise(pen, &r, ink, alpha, &im);
    if (s.wave[0] > 0 || s.wave[1] > 0) CT_GOTO(st, filtered(&im, &s));
    if (p->smooth) CT_GOTO(st, filtered(&im, NULL));
    add_noise(p, &r, &im);
    if (p->channels == 1) ct_image_to_gray(&im);
    *out = im;
    return CT_OK;
fail:
    ct_image_free(&im);
    return st;
}
