/* The tiles of a Winograd convolution: where they lie, what positions they have, the pixels they see (wino.h), and where the algorithm pays. */
#include "config.h"

#include "backends/cpu/wino.h"

#define LEAST_CHANNELS 8 /* of x and of y */

/* Tiles of m pixels along a side of `pixels`: one that is short lacks one of them. */
static int64_t full(int m, int64_t pixels)
{
    const int64_t tiles = ct_ceil_div(pixels, m);
    return ct_max64(0, tiles - (tiles * m - pixels));
}

ct_wino_grid ct_wino_make_grid(int m, int64_t stride, int64_t n, int64_t h, int64_t w, int64_t p, int64_t q, int64_t pad_h,
                               int64_t pad_w)
{
    ct_wino_grid g = { .m = m, .side = stride == 1 ? m + 2 : m + 1, .phases = stride == 1 ? 1 : CT_WINO_PHASES, .h = h, .w = w, .p = p, .q = q };
    g.positions = g.side * g.side;
    g.pad_h = pad_h;
    g.pad_w = pad_w;
    g.rows = ct_ceil_div(p, m);
    g.cols = ct_ceil_div(q, m);
    g.count = n * g.rows * g.cols;
    g.full_rows = full(m, p);
    g.full_cols = full(m, q);
    const int64_t low = g.rows - g.full_rows, narrow = g.cols - g.full_cols;
    const int64_t kinds[CT_WINO_KINDS] = { low * g.full_cols, g.full_rows * g.full_cols, g.full_rows * narrow, low * narrow };
    for (int k = 0, before = 0; k < CT_WINO_KINDS; before = k++) g.end[k] = n * kinds[k] + (k ? g.end[before] : 0);
    return g;
}

ct_wino_spot ct_wino_locate(const ct_wino_grid *g, int64_t i)
{
    int kind = 0;
    while (i >= g->end[kind]) kind++;
    const bool low = kind == CT_WINO_LOW || kind == CT_WINO_CORNER, narrow = kind == CT_WINO_NARROW || kind == CT_WINO_CORNER;
    const int64_t rows = low ? g->rows - g->full_rows : g->full_rows, cols = narrow ? g->cols - g->full_cols : g->full_cols;
    if (kind) i -= g->end[kind - 1];
    const int64_t row = i / cols, col = i % cols, m = g->m;
    ct_wino_spot s = { .image = row / rows };
    s.y = low ? g->full_rows * m + row % rows * (m - 1) : row % rows * m;
    s.x = narrow ? g->full_cols * m + col * (m - 1) : col * m;
    s.h = (int)ct_min64(low ? m - 1 : m, g->p - s.y);
    s.w = (int)ct_min64(narrow ? m - 1 : m, g->q - s.x);
    return s;
}

void ct_wino_having(const ct_wino_grid *g, int x, int64_t first, int64_t count, int64_t *from, int64_t *to)
{
    const bool last_row = x / g->side == g->side - 1, last_col = x % g->side == g->side - 1;
    const int64_t begin = last_row ? g->end[CT_WINO_LOW] : 0;
    const int64_t end = g->end[last_col ? CT_WINO_FULL : last_row ? CT_WINO_NARROW : CT_WINO_CORNER];
    *from = ct_max64(0, begin - first);
    *to = ct_min64(count, end - first);
    if (*from >= *to) *from = *to = 0;
}

void ct_wino_positions(const ct_wino_grid *g, const ct_wino_spot *s, int phase, ct_wino_tile *t)
{
    t->down = g->side - (s->h < g->m || ct_wino_odd_row(g, phase) ? 1 : 0);
    t->across = g->side - (s->w < g->m || ct_wino_odd_col(g, phase) ? 1 : 0);
}

void ct_wino_phases_of(const ct_wino_grid *g, int x, int *first, int *last)
{
    *first = x % g->side == g->side - 1 ? CT_WINO_EVEN_EVEN : 0;
    *last = x / g->side == g->side - 1 ? CT_WINO_EVEN_EVEN : x % g->side == g->side - 1 ? CT_WINO_ODD_EVEN : CT_WINO_ODD_ODD;
    if (g->phases == 1) *first = *last = 0;
}

bool ct_wino_has(const ct_wino_grid *g, int phase, int x)
{
    int first, last;
    ct_wino_phases_of(g, x, &first, &last);
    return phase >= first && phase <= last;
}

void ct_wino_taps(const ct_wino_grid *g, int phase, bool turned, int64_t pixel, ct_wino_tile *t)
{
    const bool phased = g->phases > 1, odd_row = ct_wino_odd_row(g, phase), odd_col = ct_wino_odd_col(g, phase);
    const int64_t even = turned ? 2 : 0, step = phased ? 2 : 1;
    t->origin = ((odd_row ? 1 : even) * 3 + (odd_col ? 1 : even)) * pixel;
    t->pixel = (turned ? -step : step) * pixel;
    t->row = 3 * t->pixel;
    t->h0 = t->w0 = 0;
    t->h1 = odd_row ? 1 : phased ? 2 : 3;
    t->w1 = odd_col ? 1 : phased ? 2 : 3;
    t->side = g->side;
    t->down = g->side - odd_row;
    t->across = g->side - odd_col;
}

ct_wino_images ct_wino_view(const ct_kern *k, const ct_tensor *t, int64_t first, int64_t n)
{
    const int64_t *d = t->desc.dim;
    return (ct_wino_images){ k, t->data, t->desc.dtype, d[1], d[2], d[3], first, n, ct_round_up(n, k->vl), 1 };
}

static bool read_in_place(const ct_wino_images *v) { return v->type == CT_F32 && v->n == v->wide; }

int64_t ct_wino_patch_floats(const ct_wino_images *v, int side)
{
    return read_in_place(v) ? 0 : side * side * v->wide;
}

void ct_wino_window(const ct_wino_images *v, int64_t image, int64_t y, int64_t x, int side, float *patch,
                    ct_wino_tile *t)
{
    const int64_t step = v->step;
    t->h0 = (int)ct_max64(0, ct_ceil_div(-y, step));
    t->w0 = (int)ct_max64(0, ct_ceil_div(-x, step));
    t->h1 = (int)ct_max64(t->h0, ct_min64(side, ct_ceil_div(v->h - y, step)));
    t->w1 = (int)ct_max64(t->w0, ct_min64(side, ct_ceil_div(v->w - x, step)));
    t->n = v->wide;
    if (read_in_place(v)) {
        t->in = v->data;
        t->origin = ((image * v->h + y) * v->w + x) * v->c + v->first;
        t->pixel = step * v->c;
        t->row = step * v->w * v->c;
        return;
    }
    t->in = patch;
    t->origin = 0;
    t->pixel = v->wide;
    t->row = side * v->wide;
    for (int i = t->h0; i < t->h1; i++) {
        const int64_t from = ((image * v->h + y + i * step) * v->w + x + t->w0 * step) * v->c + v->first, pixels = t->w1 - t->w0;
        float *to = patch + i * t->row + t->w0 * t->pixel;
        if (v->c == v->wide && step == 1) {
            ct_cpu_to_f32(v->kern, v->type, v->data, from, pixels * v->c, to);
            continue;
        }
        for (int64_t j = 0; j < pixels; j++, to += v->wide) {
            ct_cpu_to_f32(v->kern, v->type, v->data, from + j * step * v->c, v->n, to);
            for (int64_t c = v->n; c < v->wide; c++) to[c] = 0;
        }
    }
}

int64_t ct_wino_next(const ct_wino_grid *g, const ct_wino_tile *t, const float *patch, const ct_wino_spot *spot, int64_t i)
{
    if (t->in == patch || i >= g->count) return 0;
    const ct_wino_spot next = ct_wino_locate(g, i);
    return next.image == spot->image ? (next.y - spot->y) * t->row + (next.x - spot->x) * t->pixel : 0;
}

void ct_wino_read(const ct_wino_grid *g, const ct_wino_images *v, int phase, int64_t i, float *patch, ct_wino_tile *t)
{
    const ct_wino_spot s = ct_wino_locate(g, i);
    const int64_t y = s.y * v->step + ct_wino_odd_row(g, phase), x = s.x * v->step + ct_wino_odd_col(g, phase);
    ct_wino_window(v, s.image, y - g->pad_h, x - g->pad_w, g->side, patch, t);
    t->next = ct_wino_next(g, t, patch, &s, i + 1);
    ct_wino_positions(g, &s, phase, t);
}

/* Time of F(m x m, 3 x 3) in units of one multiplication of the product: the products themselves, the transforms of
 * every tile of both images, and that of the filters. The weights of the last two were measured (Zen 4, one core, all
 * three sets of loops): a pixel transform takes the time of about 700 multiplications a tile and channel of the input
 * and 470 of the output for m = 4 and half of that for m = 2; a filter that of 400, or 200. */
static double cost(int m, const ct_conv_geom *g, int64_t p, int64_t q, int64_t depth, int64_t cols, double transforms)
{
    const ct_wino_grid t = ct_wino_make_grid(m, g->stride_h, g->n, 0, 0, p, q, 0, 0);
    const double c = (double)depth, k = (double)cols;
    /* Products of all phases along an axis; what a phase has of 36, or 16, positions. */
    const int64_t side = t.phases == 1 ? t.side : 2 * t.side - 1;
    const double positions = (double)(g->n * (t.rows * side - (t.rows - t.full_rows)) * (t.cols * side - (t.cols - t.full_cols)));
    const double many = t.phases == 1 ? 1 : 81 / 36.0, few = t.phases == 1 ? 1 : 25 / 36.0, filter = many * (m == 4 ? 500 : 220);
    const bool phased_in = depth == g->c; /* as if of conv2d */
    return c * k * (positions + transforms * filter) +
           transforms * (double)t.count * (m == 4 ? 1 : 0.5) * (700 * c * (phased_in ? many : few) + 470 * k * (phased_in ? few : many));
}

const char *ct_wino_pairs_refuse(const ct_device *dev, const ct_call *call)
{
    const char *no = ct_pairs_refuse(dev, call);
    if (!no && !dev->kern->pairs->wino_gemm) no = "cpu.winograd16: with these loops transforms would take longer than they save";
    return no;
}

int ct_wino_choose(const ct_kern *kern, const ct_conv_geom *g, int64_t p, int64_t q, int64_t depth, int64_t cols, bool pairs, const char **reason)
{
    const bool phased = g->stride_h == 2 && g->stride_w == 2;
    *reason = NULL;
    if (g->r != 3 || g->s != 3)
        *reason = "cpu.winograd: only 3x3 filters";
    else if (!phased && (g->stride_h != 1 || g->stride_w != 1))
        *reason = "cpu.winograd: only stride 1, or 2 both ways";
    else if (phased && (pairs || kern->split))
        *reason = "cpu.winograd: stride 2 only with products of f32 by vectors";
    else if (phased && (g->pad_h != 1 || g->pad_w != 1 || g->c % CT_WINO_PHASE_C != 0))
        *reason = "cpu.winograd: stride 2 only with padding 1 and a multiple of 32 channels";
    else if (g->dil_h != 1 || g->dil_w != 1)
        *reason = "cpu.winograd: only dilation 1";
    else if (g->groups != 1)
        *reason = "cpu.winograd: only one group";
    else if (g->pad_h > 2 || g->pad_w > 2)
        *reason = "cpu.winograd: only padding up to 2";
    else if (depth < LEAST_CHANNELS || cols < LEAST_CHANNELS)
        *reason = "cpu.winograd: does not pay below 8 channels";
    if (*reason) return 0;
    if (phased) {
        p = g->p;
        q = g->q;
    }
    const double direct = 9 * (double)(g->n * p * q) * (double)depth * (double)cols;
    const double transforms = pairs ? 2 : 1; /* in units that take half the time */
    const double four = cost(4, g, p, q, depth, cols, transforms), two = phased ? four : cost(2, g, p, q, depth, cols, transforms);
    /* The direct product reaches somewhat less of a processor's peak; with stride 2, whose filters are more, no more than that was measured. */
    if ((four < two ? four : two) > (phased ? 1.0 : 1.1) * direct) {
        *reason = "cpu.winograd: transforms would take longer than they save for so few pixels or channels";
        return 0;
    }
    return four <= two ? 4 : 2;
}
