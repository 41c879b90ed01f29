/* What one picture looks like, in numbers. Lengths are pixels of a picture 60 pixels high, as the generator's are. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "task/text/style/style.h"

const ct_look_row ct_look_rows[CT_LOOK_NUMBERS] = {
    [CT_LOOK_BACKGROUND] = { "background, gray level", 25 },
    [CT_LOOK_CONTRAST] = { "ink against background, gray levels", 25 },
    [CT_LOOK_INK] = { "share of ink", 0.06 },
    [CT_LOOK_DEEP] = { "share of ink of full depth", 0.05 },
    [CT_LOOK_INK_SD] = { "variation of ink, gray levels", 15 },
    [CT_LOOK_TINT] = { "colour of the background", 12 },
    [CT_LOOK_INK_TINT] = { "colour of the ink", 30 },
    [CT_LOOK_COLOURS] = { "variation of the ink's colour in a picture", 20 },
    [CT_LOOK_NOISE] = { "noise, standard deviation in gray levels", 3 },
    [CT_LOOK_FADE_X] = { "background, right less left", 20 },
    [CT_LOOK_FADE_Y] = { "background, below less above", 20 },
    [CT_LOOK_TOP] = { "upper end of the ink, share of the height", 0.06 },
    [CT_LOOK_BOTTOM] = { "lower end of the ink", 0.06 },
    [CT_LOOK_LEFT] = { "left end of the ink, share of the width", 0.06 },
    [CT_LOOK_RIGHT] = { "right end of the ink", 0.06 },
    [CT_LOOK_RUN_X] = { "runs of ink along rows, pixels", 2.5 },
    [CT_LOOK_RUN_Y] = { "runs of ink along columns, pixels", 2.5 },
    [CT_LOOK_STROKE] = { "width of strokes, pixels", 1 },
    [CT_LOOK_THIN] = { "share of ink in thin strokes", 0.15 },
    [CT_LOOK_THICK] = { "share of ink in thick strokes", 0.15 },
    [CT_LOOK_SPECKS] = { "pieces of dots' size", 10 },
    [CT_LOOK_PIECES] = { "small pieces", 4 },
    [CT_LOOK_LETTERS] = { "large pieces", 1.5 },
    [CT_LOOK_LARGEST] = { "share of ink in the largest piece", 0.2 },
    [CT_LOOK_GAPS] = { "share of columns without ink between the ends", 0.1 },
    [CT_LOOK_UNEVEN] = { "variation of ink over columns", 0.08 },
    [CT_LOOK_SLANT] = { "slant of upright strokes, degrees", 6 },
};

const char *const ct_look_profiles[CT_LOOK_PROFILES] = { "gray levels", "ink over columns", "ink over rows",
                                                         "directions of edges" };

enum { CELLS_X = 6, CELLS_Y = 3 };

typedef struct view {
    const ct_image *im;
    int w, h;
    double unit;        /* pixels of this picture per pixel of one 60 high */
    uint8_t *gray;      /* [h,w] */
    float *depth;       /* [h,w] away from the background, towards the ink: gray levels */
    uint8_t *ink;       /* [h,w] 1: ink */
    int *piece;         /* [h,w] stack of a flood fill */
    double cell[CELLS_Y][CELLS_X]; /* background's level */
    bool dark;          /* background: ink is lighter */
} view;

static int value_at(const int64_t *hist, int64_t n, double share)
{
    int64_t below = 0;
    for (int v = 0; v < 256; v++)
        if ((below += hist[v]) > share * (double)n) return v;
    return 255;
}

/* ---- background ---- */

/* Most of a cell is background, so that a level not far from its lighter end is; of dark ones the darker end. */
static void find_background(view *v)
{
    int64_t all[256] = { 0 };
    for (int i = 0; i < v->w * v->h; i++) all[v->gray[i]]++;
    const double median = value_at(all, v->w * v->h, 0.5), low = value_at(all, v->w * v->h, 0.02),
                 high = value_at(all, v->w * v->h, 0.98);
    v->dark = median - low < high - median;
    for (int cy = 0; cy < CELLS_Y; cy++)
        for (int cx = 0; cx < CELLS_X; cx++) {
            int64_t hist[256] = { 0 }, n = 0;
            for (int y = cy * v->h / CELLS_Y; y < (cy + 1) * v->h / CELLS_Y; y++)
                for (int x = cx * v->w / CELLS_X; x < (cx + 1) * v->w / CELLS_X; x++, n++)
                    hist[v->gray[y * v->w + x]]++;
            v->cell[cy][cx] = n ? value_at(hist, n, v->dark ? 0.3 : 0.7) : median;
        }
}

static double clamp(double v, double hi) { return v < 0 ? 0 : v > hi ? hi : v; }

static double background_at(const view *v, int x, int y)
{
    const double fx = clamp((x + 0.5) * CELLS_X / v->w - 0.5, CELLS_X - 1);
    const double fy = clamp((y + 0.5) * CELLS_Y / v->h - 0.5, CELLS_Y - 1);
    const int x0 = fx < CELLS_X - 1 ? (int)fx : CELLS_X - 2, y0 = fy < CELLS_Y - 1 ? (int)fy : CELLS_Y - 2;
    const double a = fx - x0, b = fy - y0;
    return (1 - b) * ((1 - a) * v->cell[y0][x0] + a * v->cell[y0][x0 + 1]) +
           b * ((1 - a) * v->cell[y0 + 1][x0] + a * v->cell[y0 + 1][x0 + 1]);
}

static void find_ink(view *v, ct_look_one *o)
{
    int64_t hist[256] = { 0 };
    const int n = v->w * v->h;
    for (int y = 0; y < v->h; y++)
        for (int x = 0; x < v->w; x++) {
            const int i = y * v->w + x;
            const double d = (v->gray[i] - background_at(v, x, y)) * (v->dark ? 1 : -1);
            v->depth[i] = (float)d;
            hist[(int)clamp(d, 255)]++;
        }
    const double full = value_at(hist, n, 0.985), least = fmax(18, 0.35 * full);
    double ink = 0, deep = 0, sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        v->ink[i] = v->depth[i] > least;
        ink += v->ink[i];
        deep += v->depth[i] > 0.8 * full && v->ink[i];
        if (!v->ink[i]) continue;
        sum += v->depth[i];
        squares += (double)v->depth[i] * v->depth[i];
    }
    o->number[CT_LOOK_INK] = ink / n;
    o->number[CT_LOOK_DEEP] = deep / n;
    o->number[CT_LOOK_CONTRAST] = full;
    o->number[CT_LOOK_INK_SD] = ink > 0 ? sqrt(fmax(0, squares / ink - sum / ink * (sum / ink))) : 0;
}

static void tell_background(const view *v, ct_look_one *o)
{
    double all = 0, left = 0, right = 0, above = 0, below = 0;
    for (int cy = 0; cy < CELLS_Y; cy++)
        for (int cx = 0; cx < CELLS_X; cx++) {
            all += v->cell[cy][cx] / (CELLS_X * CELLS_Y);
            left += cx == 0 ? v->cell[cy][cx] / CELLS_Y : 0;
            right += cx == CELLS_X - 1 ? v->cell[cy][cx] / CELLS_Y : 0;
            above += cy == 0 ? v->cell[cy][cx] / CELLS_X : 0;
            below += cy == CELLS_Y - 1 ? v->cell[cy][cx] / CELLS_X : 0;
        }
    o->number[CT_LOOK_BACKGROUND] = all;
    o->number[CT_LOOK_FADE_X] = right - left;
    o->number[CT_LOOK_FADE_Y] = below - above;
}

/* Noise: what a pixel differs from its two neighbours' mean in rows without ink nearby, by the median, which edges do
 * not move: of Gaussian noise 0.6745 x 1.2247 standard deviations. */
static void find_noise(const view *v, ct_look_one *o)
{
    int64_t hist[256] = { 0 }, n = 0;
    for (int y = 0; y < v->h; y++)
        for (int x = 1; x + 1 < v->w; x++) {
            const int i = y * v->w + x;
            if (v->ink[i - 1] || v->ink[i] || v->ink[i + 1]) continue;
            hist[abs(2 * v->gray[i] - v->gray[i - 1] - v->gray[i + 1]) / 2]++;
            n++;
        }
    if (n == 0) return;
    int64_t below = 0;
    for (int k = 0; k < 256; k++) { /* within a bin linearly */
        if (below + hist[k] > n / 2) {
            o->number[CT_LOOK_NOISE] = fmax(0, k + (n / 2.0 - (double)below) / (double)hist[k] - 0.5) / 0.826;
            return;
        }
        below += hist[k];
    }
}

/* ---- colours ---- */

static double tint(const uint8_t *px)
{
    const int hi = px[0] > px[1] ? (px[0] > px[2] ? px[0] : px[2]) : (px[1] > px[2] ? px[1] : px[2]);
    const int lo = px[0] < px[1] ? (px[0] < px[2] ? px[0] : px[2]) : (px[1] < px[2] ? px[1] : px[2]);
    return hi - lo;
}

static void find_colours(const view *v, ct_look_one *o)
{
    double back = 0, backs = 0, ink = 0, inks = 0, sum[2] = { 0 }, squares[2] = { 0 };
    if (v->im->c != 3) return;
    for (int i = 0; i < v->w * v->h; i++) {
        const uint8_t *px = &v->im->px[3 * i];
        if (v->depth[i] > 0.8 * o->number[CT_LOOK_CONTRAST] && v->ink[i]) {
            const double c[2] = { px[0] - px[1], px[2] - px[1] };
            ink += tint(px);
            inks++;
            for (int k = 0; k < 2; k++) sum[k] += c[k], squares[k] += c[k] * c[k];
        } else if (fabs(v->depth[i]) < 12) {
            back += tint(px);
            backs++;
        }
    }
    if (backs > 0) o->number[CT_LOOK_TINT] = back / backs;
    if (inks > 0) o->number[CT_LOOK_INK_TINT] = ink / inks;
    for (int k = 0; k < 2 && inks > 0; k++)
        o->number[CT_LOOK_COLOURS] += sqrt(fmax(0, squares[k] / inks - sum[k] / inks * (sum[k] / inks)));
}

/* ---- where ink stands ---- */

static double quantile(const double *mass, int n, double share)
{
    double all = 0, below = 0;
    for (int i = 0; i < n; i++) all += mass[i];
    for (int i = 0; i < n && all > 0; i++) {
        if (below + mass[i] > share * all) return (i + (share * all - below) / mass[i]) / n;
        below += mass[i];
    }
    return 0.5;
}

static ct_status find_places(const view *v, ct_look_one *o)
{
    double *row = ct_calloc((size_t)(v->w + v->h), sizeof *row, "a picture's look"), *col = row + v->h;
    if (!row) return CT_ENOMEM;
    for (int y = 0; y < v->h; y++)
        for (int x = 0; x < v->w; x++) {
            const double ink = v->ink[y * v->w + x];
            row[y] += ink;
            col[x] += ink;
            o->profile[CT_LOOK_ROWS][y * CT_LOOK_BINS / v->h] += ink * CT_LOOK_BINS / (v->w * v->h);
            o->profile[CT_LOOK_COLUMNS][x * CT_LOOK_BINS / v->w] += ink * CT_LOOK_BINS / (v->w * v->h);
        }
    o->number[CT_LOOK_TOP] = quantile(row, v->h, 0.05);
    o->number[CT_LOOK_BOTTOM] = quantile(row, v->h, 0.95);
    o->number[CT_LOOK_LEFT] = quantile(col, v->w, 0.03);
    o->number[CT_LOOK_RIGHT] = quantile(col, v->w, 0.97);
    const int x0 = (int)(o->number[CT_LOOK_LEFT] * v->w), x1 = (int)(o->number[CT_LOOK_RIGHT] * v->w);
    double empty = 0, sum = 0, squares = 0, n = 0;
    for (int x = x0; x <= x1 && x < v->w; x++, n++) {
        empty += col[x] == 0;
        sum += col[x] / v->h;
        squares += col[x] / v->h * (col[x] / v->h);
    }
    if (n > 0) o->number[CT_LOOK_GAPS] = empty / n;
    if (n > 0) o->number[CT_LOOK_UNEVEN] = sqrt(fmax(0, squares / n - sum / n * (sum / n)));
    ct_free(row);
    return CT_OK;
}

/* ---- strokes ---- */

static int run_from(const view *v, int i, int step, int left)
{
    int n = 0;
    for (; left > 0 && v->ink[i]; i += step, left--) n++;
    return n;
}

/* Runs of ink through each pixel, along its row and its column; the shorter is the stroke's width, nearly. */
static void find_strokes(const view *v, ct_look_one *o)
{
    double runs[2] = { 0 }, length[2] = { 0 }, ink = 0, width = 0, thin = 0, thick = 0;
    for (int y = 0; y < v->h; y++)
        for (int x = 0; x < v->w; x++) {
            const int i = y * v->w + x;
            if (!v->ink[i]) continue;
            const int right = run_from(v, i, 1, v->w - x), down = run_from(v, i, v->w, v->h - y);
            const int left = run_from(v, i, -1, x + 1), up = run_from(v, i, -v->w, y + 1);
            const double a = (right + left - 1) / v->unit, b = (down + up - 1) / v->unit, w = a < b ? a : b;
            if (left == 1) runs[0]++, length[0] += a;
            if (up == 1) runs[1]++, length[1] += b;
            ink++;
            width += w;
            thin += w < 3;
            thick += w > 6.5;
        }
    if (ink == 0) return;
    o->number[CT_LOOK_RUN_X] = length[0] / runs[0];
    o->number[CT_LOOK_RUN_Y] = length[1] / runs[1];
    o->number[CT_LOOK_STROKE] = width / ink;
    o->number[CT_LOOK_THIN] = thin / ink;
    o->number[CT_LOOK_THICK] = thick / ink;
}

/* ---- pieces ---- */

static int flood(view *v, int from)
{
    int n = 0, top = 0;
    v->piece[top++] = from;
    v->ink[from] = 2;
    while (top > 0) {
        const int i = v->piece[--top], x = i % v->w, y = i / v->w;
        n++;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int xx = x + dx, yy = y + dy;
                if (xx < 0 || yy < 0 || xx >= v->w || yy >= v->h || v->ink[yy * v->w + xx] != 1) continue;
                v->ink[yy * v->w + xx] = 2;
                v->piece[top++] = yy * v->w + xx;
            }
    }
    return n;
}

static void find_pieces(view *v, ct_look_one *o)
{
    double largest = 0, ink = 0;
    for (int i = 0; i < v->w * v->h; i++) {
        if (v->ink[i] != 1) continue;
        const double n = flood(v, i), area = n / (v->unit * v->unit);
        ink += n;
        if (n > largest) largest = n;
        o->number[area < 12 ? CT_LOOK_SPECKS : area < 80 ? CT_LOOK_PIECES : CT_LOOK_LETTERS]++;
    }
    if (ink > 0) o->number[CT_LOOK_LARGEST] = largest / ink;
}

/* ---- edges ---- */

#define TURN 3.14159265358979323846 /* half of one */

/* Directions in which gray levels change, by how much they do. Those within 40 degrees of the row's are the sides of
 * upright strokes: their mean is how these lean. */
static void find_edges(const view *v, ct_look_one *o)
{
    double all = 0, leaning = 0, upright = 0;
    for (int y = 1; y + 1 < v->h; y++)
        for (int x = 1; x + 1 < v->w; x++) {
            const uint8_t *p = &v->gray[y * v->w + x];
            const int w = v->w;
            const double gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[-1 + w];
            const double gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[-w + 1];
            const double size = sqrt(gx * gx + gy * gy);
            if (size < 100) continue;
            double angle = atan2(gy, gx);
            if (angle < 0) angle += TURN;
            o->profile[CT_LOOK_EDGES][(int)(angle / TURN * CT_LOOK_BINS + 0.5) % CT_LOOK_BINS] += size;
            all += size;
            if (angle > TURN / 2) angle -= TURN;
            if (fabs(angle) > 40 * TURN / 180) continue;
            leaning += size * angle * 180 / TURN;
            upright += size;
        }
    for (int k = 0; k < CT_LOOK_BINS && all > 0; k++) o->profile[CT_LOOK_EDGES][k] /= all;
    if (upright > 0) o->number[CT_LOOK_SLANT] = leaning / upright;
}

static void measure_gray(const view *v, ct_look_one *o)
{
    for (int i = 0; i < v->w * v->h; i++)
        o->profile[CT_LOOK_GRAY][v->gray[i] * CT_LOOK_BINS / 256] += 1.0 / (v->w * v->h);
}

ct_status ct_look_at(const ct_image *im, ct_look_one *out)
{
    const size_t n = (size_t)im->w * (size_t)im->h;
    view v = { .im = im, .w = im->w, .h = im->h, .unit = im->h / 60.0 };
    ct_status st = CT_OK;
    memset(out, 0, sizeof *out);
    v.gray = ct_malloc(n, "a picture's look");
    v.depth = ct_malloc(n * sizeof *v.depth, "a picture's look");
    v.ink = ct_malloc(n, "a picture's look");
    v.piece = ct_malloc(n * sizeof *v.piece, "a picture's look");
    if (!v.gray || !v.depth || !v.ink || !v.piece) CT_GOTO(st, CT_ENOMEM);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = &im->px[i * (size_t)im->c];
        v.gray[i] = im->c == 1 ? p[0] : (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
    }
    find_background(&v);
    find_ink(&v, out);
    tell_background(&v, out);
    find_noise(&v, out);
    find_colours(&v, out);
    CT_GOTO(st, find_places(&v, out));
    find_strokes(&v, out);
    find_edges(&v, out);
    measure_gray(&v, out);
    find_pieces(&v, out);
fail:
    ct_free(v.gray);
    ct_free(v.depth);
    ct_free(v.ink);
    ct_free(v.piece);
    return st;
}

/* ---- of many ---- */

void ct_look_join(const ct_look_one *one, int64_t n, ct_look *out)
{
    memset(out, 0, sizeof *out);
    out->n = n;
    for (int k = 0; k < CT_LOOK_NUMBERS; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) sum += one[i].number[k];
        out->mean[k] = sum / (double)n;
        for (int64_t i = 0; i < n; i++)
            squares += (one[i].number[k] - out->mean[k]) * (one[i].number[k] - out->mean[k]);
        out->sd[k] = sqrt(squares / (double)n);
    }
    for (int p = 0; p < CT_LOOK_PROFILES; p++)
        for (int k = 0; k < CT_LOOK_BINS; k++)
            for (int64_t i = 0; i < n; i++) out->profile[p][k] += one[i].profile[p][k] / (double)n;
}

/* Differences far beyond a clear one count less and less, so that one number does not hide the others. */
static double soft(double d) { return d < 1 ? d : 1 + log(d); }

double ct_look_distance(const ct_look *a, const ct_look *b)
{
    double sum = 0, parts = 0;
    for (int k = 0; k < CT_LOOK_NUMBERS; k++) {
        const double scale = ct_look_rows[k].scale;
        sum += soft(fabs(a->mean[k] - b->mean[k]) / scale) + 0.5 * soft(fabs(a->sd[k] - b->sd[k]) / scale);
        parts += 1.5;
    }
    static const double weight[CT_LOOK_PROFILES] = { 4, 2, 2, 3 };
    for (int p = 0; p < CT_LOOK_PROFILES; p++) {
        double d = 0, all = 0;
        for (int k = 0; k < CT_LOOK_BINS; k++) {
            d += fabs(a->profile[p][k] - b->profile[p][k]);
            all += a->profile[p][k] + b->profile[p][k];
        }
        sum += weight[p] * (all > 0 ? 2 * d / all : 0);
        parts += weight[p];
    }
    return sum / parts;
}
