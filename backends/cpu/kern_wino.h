/* Body of the Winograd kernels: transforms of tiles and the products between them. Included after kern_conv.h by
 * kern_table.h; kern_<isa>.c sets KERN_WINO_MR (tiles that wino_gemm multiplies at a time) and KERN_WINO_WMR (channels,
 * of wino_wgemm).
 *
 * The minimal algorithm F(m x m, 3 x 3) of S. Winograd, Arithmetic Complexity of Computations (1980), as A. Lavin and
 * S. Gray, Fast Algorithms for Convolutional Neural Networks (2016) nest it for images:
 *
 *   y = A' [(G g G') . (B' d B)] A        d: m+2 x m+2 pixels, g: 3 x 3 taps, y: m x m pixels
 *
 * The matrices follow from the points p_i at which the polynomials are evaluated, the last one infinity, with N_i the
 * product of p_i - p_j over the other finite points:
 *   A'[j][i] = p_i^j      G[i][k] = p_i^k / N_i      B'[i][.] = coefficients of prod over j != i of (x - p_j)
 *   last:  A' has 1 in its last row, G in its last column, B' the coefficients of prod over all j of (x - p_j).
 * m = 2: 0, 1, -1. m = 4: 0, a, -a, b, -b. The gradient of the filters is the transpose of the same product:
 *   dg = G' [(A dy A') . (B' d B)] G.
 * F(4, 2), of every other tap or pixel of a convolution of stride 2 (wino.h), has the points a, -a, b, -b, others than those of three taps, and infinity.
 * With one tap it is the same without infinity, whose tap is zero. */

#if defined(__clang__)
#define WINO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WINO_UNROLL _Pragma("GCC unroll 16")
#endif

#define WINO_NV 2 /* vectors of a block of columns */
#define WINO_MAX 6 /* most positions along one side: m + 2 */

/* The points of m = 4. Any a, b cost the same number of operations; these have small rounding errors because the powers
 * that the sums are weighted with stay close to 1. */
#define WINO_A 0.625f
#define WINO_B 1.5f

static const float wino_aa = WINO_A * WINO_A, wino_bb = WINO_B * WINO_B;

/* Those of two taps, and the factors 1 / N_i. Rows of -a and -b have their signs turned in B' and in G. */
#define WINO_A2 0.375f
#define WINO_B2 1.25f
static const float wino_aa2 = WINO_A2 * WINO_A2, wino_bb2 = WINO_B2 * WINO_B2;
#define WINO_NA2 (1 / (2 * WINO_A2 * (WINO_A2 * WINO_A2 - WINO_B2 * WINO_B2)))
#define WINO_NB2 (1 / (2 * WINO_B2 * (WINO_B2 * WINO_B2 - WINO_A2 * WINO_A2)))

/* B' times a column; n: positions, as everywhere below. */
KERN_INLINE void wino_bt(const int m, const int n, const vf *d, vf *o)
{
    if (n == 5) {
        const vf even_a = vsplat(WINO_A2) * (d[2] - vsplat(wino_bb2) * d[0]), odd_a = d[3] - vsplat(wino_bb2) * d[1];
        const vf even_b = vsplat(WINO_B2) * (d[2] - vsplat(wino_aa2) * d[0]), odd_b = d[3] - vsplat(wino_aa2) * d[1];
        o[0] = even_a + odd_a;
        o[1] = even_a - odd_a;
        o[2] = even_b + odd_b;
        o[3] = even_b - odd_b;
        o[4] = vsplat(wino_aa2 * wino_bb2) * d[0] + (d[4] - vsplat(wino_aa2 + wino_bb2) * d[2]);
        return;
    }
    if (m == 2) {
        o[0] = d[2] - d[0];
        o[1] = d[2] + d[1];
        o[2] = d[2] - d[1];
        o[3] = d[3] - d[1];
        return;
    }
    const vf a = vsplat(WINO_A), b = vsplat(WINO_B), aa = vsplat(wino_aa), bb = vsplat(wino_bb);
    const vf sum = vsplat(wino_aa + wino_bb), product = vsplat(wino_aa * wino_bb);
    vf even = d[4] - bb * d[2], odd = d[3] - bb * d[1];
    o[1] = even + a * odd;
    o[2] = even - a * odd;
    even = d[4] - aa * d[2];
    odd = d[3] - aa * d[1];
    o[3] = even + b * odd;
    o[4] = even - b * odd;
    o[0] = product * d[0] + (d[4] - sum * d[2]);
    o[5] = product * d[1] + (d[5] - sum * d[3]);
}

/* A' times a column. */
KERN_INLINE void wino_at(const int m, const int n, const vf *q, vf *o)
{
    if (n == 5) {
        const vf even_a = q[0] + q[1], odd_a = vsplat(WINO_A2) * (q[0] - q[1]), even_b = q[2] + q[3], odd_b = vsplat(WINO_B2) * (q[2] - q[3]);
        o[0] = even_a + even_b;
        o[1] = odd_a + odd_b;
        o[2] = vsplat(wino_aa2) * even_a + vsplat(wino_bb2) * even_b;
        o[3] = vsplat(wino_aa2) * odd_a + (vsplat(wino_bb2) * odd_b + q[4]);
        return;
    }
    if (m == 2) {
        o[0] = q[0] + (q[1] + q[2]);
        o[1] = (q[1] - q[2]) + q[3];
        return;
    }
    const vf a = vsplat(WINO_A), b = vsplat(WINO_B), aa = vsplat(wino_aa), bb = vsplat(wino_bb);
    const vf even_a = q[1] + q[2], odd_a = a * (q[1] - q[2]), even_b = q[3] + q[4], odd_b = b * (q[3] - q[4]);
    o[0] = q[0] + (even_a + even_b);
    o[1] = odd_a + odd_b;
    o[2] = aa * even_a + bb * even_b;
    o[3] = aa * odd_a + (bb * odd_b + q[5]);
}

/* A times a column. */
KERN_INLINE void wino_a(const int m, const int n, const vf *d, vf *o)
{
    if (n == 5) {
        vf even = d[0] + vsplat(wino_aa2) * d[2], odd = vsplat(WINO_A2) * (d[1] + vsplat(wino_aa2) * d[3]);
        o[0] = even + odd;
        o[1] = even - odd;
        even = d[0] + vsplat(wino_bb2) * d[2];
        odd = vsplat(WINO_B2) * (d[1] + vsplat(wino_bb2) * d[3]);
        o[2] = even + odd;
        o[3] = even - odd;
        o[4] = d[3];
        return;
    }
    if (m == 2) {
        o[0] = d[0];
        o[1] = d[0] + d[1];
        o[2] = d[0] - d[1];
        o[3] = d[1];
        return;
    }
    const vf a = vsplat(WINO_A), b = vsplat(WINO_B), aa = vsplat(wino_aa), bb = vsplat(wino_bb);
    vf even = d[0] + aa * d[2], odd = d[1] + aa * d[3];
    o[0] = d[0];
    o[1] = even + a * odd;
    o[2] = even - a * odd;
    even = d[0] + bb * d[2];
    odd = d[1] + bb * d[3];
    o[3] = even + b * odd;
    o[4] = even - b * odd;
    o[5] = d[3];
}

/* The factors 1 / N_i of m = 4: of 0, of +-a, of +-b. */
#define WINO_N0 (1 / (WINO_A * WINO_A * WINO_B * WINO_B))
#define WINO_NA (1 / (2 * WINO_A * WINO_A * (WINO_A * WINO_A - WINO_B * WINO_B)))
#define WINO_NB (1 / (2 * WINO_B * WINO_B * (WINO_B * WINO_B - WINO_A * WINO_A)))

/* G times a column. */
KERN_INLINE void wino_g(const int m, const int n, const vf *g, vf *o)
{
    if (n == 5) {
        vf even = vsplat(WINO_NA2) * g[0], odd = vsplat(WINO_NA2 * WINO_A2) * g[1];
        o[0] = even + odd;
        o[1] = even - odd;
        even = vsplat(WINO_NB2) * g[0];
        odd = vsplat(WINO_NB2 * WINO_B2) * g[1];
        o[2] = even + odd;
        o[3] = even - odd;
        o[4] = g[1];
        return;
    }
    if (m == 2) {
        const vf half = vsplat(0.5f), even = half * (g[0] + g[2]), odd = half * g[1];
        o[0] = -g[0];
        o[1] = even + odd;
        o[2] = even - odd;
        o[3] = g[2];
        return;
    }
    const vf na = vsplat(WINO_NA), nb = vsplat(WINO_NB);
    vf even = na * (g[0] + vsplat(wino_aa) * g[2]), odd = vsplat(WINO_NA * WINO_A) * g[1];
    o[0] = vsplat(WINO_N0) * g[0];
    o[1] = even + odd;
    o[2] = even - odd;
    even = nb * (g[0] + vsplat(wino_bb) * g[2]);
    odd = vsplat(WINO_NB * WINO_B) * g[1];
    o[3] = even + odd;
    o[4] = even - odd;
    o[5] = g[2];
}

/* G' times a column. */
KERN_INLINE void wino_gt(const int m, const int n, const vf *q, vf *o)
{
    if (n == 5) {
        o[0] = vsplat(WINO_NA2) * (q[0] + q[1]) + vsplat(WINO_NB2) * (q[2] + q[3]);
        o[1] = vsplat(WINO_NA2 * WINO_A2) * (q[0] - q[1]) + (vsplat(WINO_NB2 * WINO_B2) * (q[2] - q[3]) + q[4]);
        return;
    }
    if (m == 2) {
        const vf half = vsplat(0.5f), even = half * (q[1] + q[2]);
        o[0] = even - q[0];
        o[1] = half * (q[1] - q[2]);
        o[2] = even + q[3];
        return;
    }
    const vf even_a = vsplat(WINO_NA) * (q[1] + q[2]), even_b = vsplat(WINO_NB) * (q[3] + q[4]);
    o[0] = vsplat(WINO_N0) * q[0] + (even_a + even_b);
    o[1] = vsplat(WINO_NA * WINO_A) * (q[1] - q[2]) + vsplat(WINO_NB * WINO_B) * (q[3] - q[4]);
    o[2] = vsplat(wino_aa) * even_a + (vsplat(wino_bb) * even_b + q[5]);
}

/* Walks the channels of a position a vector at a time: `at` floats from the position's first. */
typedef struct wino_walk {
    int64_t at, within;
} wino_walk;
KERN_INLINE void wino_step(wino_walk *w, const ct_wino_tile *t)
{
    w->at += KERN_VL;
    w->within += KERN_VL;
    if (w->within < t->bw) return;
    w->at += t->bs - t->bw;
    w->within = 0;
}

/* Stores a vector of a position that begins at row, `at` from there. */
KERN_INLINE void wino_put(float *row, int64_t at, vf v, const int store, const bool upper)
{
    if (store == CT_WINO_F32) {
        vstore(row + at, v);
    } else if (store == CT_WINO_BF16) {
        vstore_bf16((uint16_t *)(void *)row + at, v);
    } else {
        const vi half = vround_bf16(v);
        vstore(row + at, (vf)(upper ? half << 16 | (vi)vload(row + at) : half));
    }
}

/* Calls a line of each pixel of the next tile's columns from `first` on into the cache, some rows for each vector of a
 * line: evenly, since a core waits for few lines at a time. */
KERN_INLINE void wino_fetch(const ct_wino_tile *t, const float *at, int64_t c, const int first, const int side)
{
    const int vectors = CT_KERN_LINE / KERN_VL;
    for (int i = (int)(c / KERN_VL) % vectors; i < side; i += vectors) {
        WINO_UNROLL
        for (int j = first; j < side; j++) KERN_FETCH_NEAR(at + i * t->row + j * t->pixel);
    }
}

/* Pixels to positions: B' d B, of n x n pixels, or, adjoint, A d A', of m x m. Pixels that do not exist count as zeros. */
KERN_INLINE void wino_analyse(const ct_wino_tile *t, const int m, const int n, const bool adjoint, const bool whole, const int store)
{
    const int side = adjoint ? m : n;
    const bool upper = t->store == CT_WINO_UPPER;
    wino_walk walk = { 0, 0 };
    for (int64_t c = 0; c < t->n; c += KERN_VL, wino_step(&walk, t)) {
        vf half[WINO_MAX][WINO_MAX], column[WINO_MAX], result[WINO_MAX]; /* half: [column][position] */
        const float *in = t->in + c;
        if (t->next) wino_fetch(t, in + t->origin + t->next, c, adjoint ? 0 : side - m, side);
        WINO_UNROLL
        for (int j = 0; j < side; j++) {
            const bool inside = whole || (j >= t->w0 && j < t->w1);
            WINO_UNROLL
            for (int i = 0; i < side; i++) {
                const bool seen = whole || (inside && i >= t->h0 && i < t->h1);
                column[i] = seen ? vload(in + (t->origin + i * t->row + j * t->pixel)) : vsplat(0);
            }
            if (adjoint)
                wino_a(m, n, column, half[j]);
            else
                wino_bt(m, n, column, half[j]);
        }
        WINO_UNROLL
        for (int i = 0; i < n; i++) {
            if (i == n - 1 && t->down < n) break;
            WINO_UNROLL
            for (int j = 0; j < side; j++) column[j] = half[j][i];
            if (adjoint)
                wino_a(m, n, column, result);
            else
                wino_bt(m, n, column, result);
            WINO_UNROLL
            for (int j = 0; j < n; j++)
                if (j < n - 1 || t->across == n) wino_put(t->out + (i * n + j) * t->xs, walk.at, result[j], store, upper);
        }
    }
}

KERN_INLINE bool wino_whole(const ct_wino_tile *t, int side)
{
    return t->h0 == 0 && t->w0 == 0 && t->h1 == side && t->w1 == side;
}

KERN_INLINE void wino_analyse_side(const ct_wino_tile *t, const int m, const int n, const bool adjoint, const int store)
{
    if (wino_whole(t, adjoint ? m : n))
        wino_analyse(t, m, n, adjoint, true, store);
    else
        wino_analyse(t, m, n, adjoint, false, store);
}

KERN_INLINE void wino_analyse_to(const ct_wino_tile *t, const bool adjoint, const int store)
{
    if (t->side == 6)
        wino_analyse_side(t, 4, 6, adjoint, store);
    else if (t->side == 5 && store == CT_WINO_F32)
        wino_analyse_side(t, 4, 5, adjoint, store);
    else
        wino_analyse_side(t, 2, 4, adjoint, store);
}

static void wino_in(const ct_wino_tile *t)
{
    switch (t->store) {
    case CT_WINO_F32: wino_analyse_to(t, false, CT_WINO_F32); break;
    case CT_WINO_BF16: wino_analyse_to(t, false, CT_WINO_BF16); break;
    default: wino_analyse_to(t, false, CT_WINO_LOWER); break;
    }
}

static void wino_out_adjoint(const ct_wino_tile *t)
{
    if (t->store == CT_WINO_F32)
        wino_analyse_to(t, true, CT_WINO_F32);
    else
        wino_analyse_to(t, true, CT_WINO_LOWER);
}

KERN_INLINE void wino_put_row(const ct_wino_tile *t, const int m, const int i, const bool whole, const vf *result, float *out, const bool stream,
                              const bool add)
{
    WINO_UNROLL
    for (int j = 0; j < m; j++)
        if (whole || (i >= t->h0 && i < t->h1 && j >= t->w0 && j < t->w1))
            vstore_past(out + j * t->pixel, add ? vload(out + j * t->pixel) + result[j] : result[j], stream);
}

/* Whether position (i, j) of n x n is one that is read. */
KERN_INLINE bool wino_there(const ct_wino_tile *t, const int n, const int i, const int j)
{
    return (i < n - 1 || t->down == n) && (j < n - 1 || t->across == n);
}

/* Adds row i of a tile's pixels to the moments of their channel. */
KERN_INLINE void wino_measure(const ct_wino_tile *t, const int m, const int i, const bool whole, const vf *y, const vf about, vf *sum, vf *square)
{
    WINO_UNROLL
    for (int j = 0; j < m; j++)
        if (whole || (i < t->h1 && j < t->w1)) {
            const vf d = y[j] - about;
            *sum += d;
            *square += d * d;
        }
}

/* Positions to the pixels of the tile's window: A' q A, and bias. Only stores depend on where they go: two copies of the sums might be rounded at
 * different places. */
KERN_INLINE void wino_synthesise(const ct_wino_tile *t, const int m, const int n, const bool whole)
{
    const bool stream = t->stream;
    wino_walk walk = { 0, 0 };
    for (int64_t c = 0; c < t->n; c += KERN_VL, wino_step(&walk, t)) {
        vf half[WINO_MAX][WINO_MAX], row[WINO_MAX], result[WINO_MAX]; /* half: [position's column][pixel's row] */
        const float *in = t->in + walk.at;
        WINO_UNROLL
        for (int j = 0; j < n; j++) {
            WINO_UNROLL
            for (int i = 0; i < n; i++) {
                const bool there = (whole && n != 5) || wino_there(t, n, i, j);
                row[i] = there ? vload(in + (i * n + j) * t->xs) : vsplat(0);
            }
            wino_at(m, n, row, half[j]);
        }
        const vf bias = t->bias ? vload(t->bias + c) : vsplat(0);
        float *moments = t->moments ? t->moments + c : NULL;
        vf about = vsplat(0), sum = vsplat(0), square = vsplat(0);
        WINO_UNROLL
        for (int i = 0; i < m; i++) {
            WINO_UNROLL
            for (int j = 0; j < n; j++) row[j] = half[j][i];
            wino_at(m, n, row, result);
            WINO_UNROLL
            for (int j = 0; j < m; j++) result[j] += bias;
            if (moments && i == 0) about = t->begin ? result[0] : vload(moments);
            if (moments) wino_measure(t, m, i, whole, result, about, &sum, &square);
            float *out = t->out + i * t->row + c;
            if (stream) wino_put_row(t, m, i, whole, result, out, true, false);
            else if (t->add) wino_put_row(t, m, i, whole, result, out, false, true);
            else wino_put_row(t, m, i, whole, result, out, false, false);
        }
        if (moments) {
            float *s = moments + CT_MOMENTS_SUM * t->n, *q = moments + CT_MOMENTS_SQUARE * t->n;
            vstore(moments, about);
            vstore(s, t->begin ? sum : vload(s) + sum);
            vstore(q, t->begin ? square : vload(q) + square);
        }
    }
}

KERN_INLINE void wino_synthesise_side(const ct_wino_tile *t, const int m, const int n)
{
    if (wino_whole(t, m))
        wino_synthesise(t, m, n, true);
    else
        wino_synthesise(t, m, n, false);
}

static void wino_out(const ct_wino_tile *t)
{
    switch (t->side) {
    case 6: wino_synthesise_side(t, 4, 6); break;
    case 5: wino_synthesise_side(t, 4, 5); break;
    default: wino_synthesise_side(t, 2, 4); break;
    }
}

static void wino_out_end(void) { stream_end(true); }

/* Taps to positions: G g G'; of two taps or one, those that do not exist count as zeros. */
KERN_INLINE void wino_filter_side(const ct_wino_tile *t, const int m, const int n, const int store)
{
    const int taps = n - m + 1;
    const bool upper = t->store == CT_WINO_UPPER;
    wino_walk walk = { 0, 0 };
    for (int64_t c = 0; c < t->n; c += KERN_VL, wino_step(&walk, t)) {
        vf half[3][WINO_MAX], column[WINO_MAX], result[WINO_MAX];
        const float *in = t->in + c;
        WINO_UNROLL
        for (int j = 0; j < taps; j++) {
            WINO_UNROLL
            for (int i = 0; i < taps; i++) {
                const bool there = taps == 3 || (i < t->h1 && j < t->w1);
                column[i] = there ? vload(in + (t->origin + i * t->row + j * t->pixel)) : vsplat(0);
            }
            wino_g(m, n, column, half[j]);
        }
        WINO_UNROLL
        for (int i = 0; i < n; i++) {
            WINO_UNROLL
            for (int j = 0; j < taps; j++) column[j] = half[j][i];
            wino_g(m, n, column, result);
            WINO_UNROLL
            for (int j = 0; j < n; j++)
                if (taps == 3 || wino_there(t, n, i, j)) wino_put(t->out + (i * n + j) * t->xs, walk.at, result[j], store, upper);
        }
    }
}

static void wino_filter(const ct_wino_tile *t)
{
    if (t->side == 5)
        wino_filter_side(t, 4, 5, CT_WINO_F32);
    else if (t->side == 6 && t->store == CT_WINO_F32)
        wino_filter_side(t, 4, 6, CT_WINO_F32);
    else if (t->side == 6)
        wino_filter_side(t, 4, 6, CT_WINO_LOWER);
    else if (t->store == CT_WINO_F32)
        wino_filter_side(t, 2, 4, CT_WINO_F32);
    else
        wino_filter_side(t, 2, 4, CT_WINO_LOWER);
}

/* Positions to taps: G' q G. */
KERN_INLINE void wino_filter_adjoint_side(const ct_wino_tile *t, const int m, const int n)
{
    const int taps = n - m + 1;
    wino_walk walk = { 0, 0 };
    for (int64_t c = 0; c < t->n; c += KERN_VL, wino_step(&walk, t)) {
        vf half[WINO_MAX][3], row[WINO_MAX], result[3];
        const float *in = t->in + walk.at;
        WINO_UNROLL
        for (int j = 0; j < n; j++) {
            WINO_UNROLL
            for (int i = 0; i < n; i++) row[i] = taps == 3 || wino_there(t, n, i, j) ? vload(in + (i * n + j) * t->xs) : vsplat(0);
            wino_gt(m, n, row, half[j]);
        }
        WINO_UNROLL
        for (int i = 0; i < taps; i++) {
            WINO_UNROLL
            for (int j = 0; j < n; j++) row[j] = half[j][i];
            wino_gt(m, n, row, result);
            WINO_UNROLL
            for (int j = 0; j < taps; j++)
                if (taps == 3 || (i < t->h1 && j < t->w1)) vstore(t->out + i * t->row + j * t->pixel + c, result[j]);
        }
    }
}

static void wino_filter_adjoint(const ct_wino_tile *t)
{
    switch (t->side) {
    case 6: wino_filter_adjoint_side(t, 4, 6); break;
    case 5: wino_filter_adjoint_side(t, 4, 5); break;
    default: wino_filter_adjoint_side(t, 2, 4); break;
    }
}

/* ---- products ---- */

/* mr tiles by nv vectors, all channels; sums in registers, from what is in out if they are added to it. */
KERN_INLINE void wino_gemm_tile(const ct_wino_gemm *g, int64_t row, const int mr, const int nv)
{
    float *out = g->out + row * WINO_NV * KERN_VL;
    vf acc[KERN_WINO_MR][WINO_NV];
    WINO_UNROLL
    for (int i = 0; i < mr; i++) {
        WINO_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = g->accumulate ? vload(out + (i * WINO_NV + v) * KERN_VL) : vsplat(0);
    }
    const float *a = g->a + row * CT_WINO_CB, *b = g->b;
    const int64_t next = row + 2 * mr <= g->rows ? mr : 0; /* the tiles after these, which the first columns find in no near cache */
    for (int64_t left = g->depth; left > 0; left -= CT_WINO_CB, a += g->a_block) {
        const int64_t n = left < CT_WINO_CB ? left : CT_WINO_CB;
        WINO_UNROLL
        for (int i = 0; i < mr; i++) KERN_FETCH_NEAR(a + (next + i) * CT_WINO_CB);
        for (int64_t c = 0; c < n; c++, b += WINO_NV * KERN_VL) {
            vf w[WINO_NV];
            WINO_UNROLL
            for (int v = 0; v < nv; v++) w[v] = vload(b + v * KERN_VL);
            WINO_UNROLL
            for (int i = 0; i < mr; i++) {
                const vf s = vsplat(a[i * CT_WINO_CB + c]);
                WINO_UNROLL
                for (int v = 0; v < nv; v++) acc[i][v] += s * w[v];
            }
        }
    }
    WINO_UNROLL
    for (int i = 0; i < mr; i++) {
        WINO_UNROLL
        for (int v = 0; v < nv; v++) vstore(out + (i * WINO_NV + v) * KERN_VL, acc[i][v]);
    }
}

KERN_INLINE void wino_gemm_rows(const ct_wino_gemm *g, const int nv)
{
    int64_t i = 0;
    for (; i + KERN_WINO_MR <= g->rows; i += KERN_WINO_MR) wino_gemm_tile(g, i, KERN_WINO_MR, nv);
    for (; i + 4 <= g->rows; i += 4) wino_gemm_tile(g, i, 4, nv);
    if (i + 2 <= g->rows) {
        wino_gemm_tile(g, i, 2, nv);
        i += 2;
    }
    if (i < g->rows) wino_gemm_tile(g, i, 1, nv);
}

static void wino_gemm(const ct_wino_gemm *g)
{
    if (g->kw == KERN_VL)
        wino_gemm_rows(g, 1);
    else
        wino_gemm_rows(g, 2);
}

/* mr channels from `first` of a block by nv vectors, all tiles; added to out. */
KERN_INLINE void wino_wgemm_tile(const ct_wino_gemm *g, int64_t first, const int mr, const int nv)
{
    float *out = g->out + first * WINO_NV * KERN_VL;
    vf acc[8][WINO_NV];
    /* The sums of all positions are more than an L2 cache holds. */
    WINO_UNROLL
    for (int i = 0; i < mr * WINO_NV * KERN_VL; i += CT_KERN_LINE) KERN_FETCH_NEAR(out + i);
    WINO_UNROLL
    for (int i = 0; i < mr; i++) {
        WINO_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vsplat(0);
    }
    const float *a = g->a + first / CT_WINO_CB * g->a_block + first % CT_WINO_CB, *b = g->b;
    for (int64_t t = 0; t < g->depth; t++, a += CT_WINO_CB, b += WINO_NV * KERN_VL) {
        vf w[WINO_NV];
        WINO_UNROLL
        for (int v = 0; v < nv; v++) w[v] = vload(b + v * KERN_VL);
        WINO_UNROLL
        for (int i = 0; i < mr; i++) {
            const vf s = vsplat(a[i]);
            WINO_UNROLL
            for (int v = 0; v < nv; v++) acc[i][v] += s * w[v];
        }
    }
    WINO_UNROLL
    for (int i = 0; i < mr; i++) sums_out(out + i * WINO_NV * KERN_VL, acc[i], nv, g->accumulate, false);
}

/* Rows come in whole blocks of channels. */
static void wino_wgemm(const ct_wino_gemm *g)
{
    for (int64_t i = 0; i < g->rows; i += KERN_WINO_WMR) {
        if (g->kw == KERN_VL)
            wino_wgemm_tile(g, i, KERN_WINO_WMR, 1);
        else
            wino_wgemm_tile(g, i, KERN_WINO_WMR, 2);
    }
}

/* ---- turning matrices round ---- */

typedef int32_t wino_mask __attribute__((vector_size(KERN_VL * 4)));

/* The lower, or the upper, halves of two vectors, element by element in turn. */
#if KERN_VL == 4
#define WINO_LOWER 0, 4, 1, 5
#define WINO_UPPER 2, 6, 3, 7
#elif KERN_VL == 8
#define WINO_LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define WINO_UPPER 4, 12, 5, 13, 6, 14, 7, 15
#else
#define WINO_LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define WINO_UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif
#if defined(__clang__)
#define WINO_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define WINO_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (wino_mask){ __VA_ARGS__ })
#endif

/* A square of vl x vl: as many perfect shuffles of its rows as vl has bits. */
KERN_INLINE void turn_lanes(vf a[KERN_VL])
{
    vf b[KERN_VL];
    WINO_UNROLL
    for (int bits = KERN_VL; bits > 1; bits /= 2) {
        WINO_UNROLL
        for (int i = 0; i < KERN_VL / 2; i++) {
            b[2 * i] = WINO_SHUFFLE(a[i], a[i + KERN_VL / 2], WINO_LOWER);
            b[2 * i + 1] = WINO_SHUFFLE(a[i], a[i + KERN_VL / 2], WINO_UPPER);
        }
        WINO_UNROLL
        for (int i = 0; i < KERN_VL; i++) a[i] = b[i];
    }
}

KERN_INLINE void turn_square(const float *x, int64_t ldx, float *out, int64_t ldo)
{
    vf a[KERN_VL];
    WINO_UNROLL
    for (int i = 0; i < KERN_VL; i++) a[i] = vload(x + i * ldx);
    turn_lanes(a);
    WINO_UNROLL
    for (int i = 0; i < KERN_VL; i++) vstore(out + i * ldo, a[i]);
}

static void turn(int64_t rows, int64_t cols, const float *x, int64_t ldx, float *out, int64_t ldo)
{
    int64_t i = 0;
    for (; i + KERN_VL <= rows; i += KERN_VL) {
        int64_t j = 0;
        for (; j + KERN_VL <= cols; j += KERN_VL) turn_square(x + i * ldx + j, ldx, out + j * ldo + i, ldo);
        for (; j < cols; j++)
            for (int64_t k = i; k < i + KERN_VL; k++) out[j * ldo + k] = x[k * ldx + j];
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) out[j * ldo + i] = x[i * ldx + j];
}

static const ct_kern_wino wino_kernels = {
    .nr = WINO_NV * KERN_VL,
    .in = wino_in,
    .out_adjoint = wino_out_adjoint,
    .out = wino_out,
    .out_end = wino_out_end,
    .filter = wino_filter,
    .filter_adjoint = wino_filter_adjoint,
    .gemm = wino_gemm,
    .wgemm = wino_wgemm,
    .turn = turn,
};
