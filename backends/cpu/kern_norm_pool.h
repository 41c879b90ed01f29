/* Body of the kernels of batch norms that have taken in a pooling: the largest of windows, and the gradient of windows of 2x2 that do not overlap and of
 * windows of 3x3 that do. */

/* A pixel's KERN_VL channels from c on, normalised but for the ReLU. */
KERN_INLINE vf norm_cell(const ct_norm_windows *w, const float *x, int64_t c, const bool normal)
{
    const vf v = vload(x + c);
    return normal ? (v - vload(w->mean + c)) * vload(w->scale + c) + vload(w->bias + c) : v;
}

KERN_INLINE float norm_cell_one(const ct_norm_windows *w, const float *x, int64_t c, const bool normal)
{
    return normal ? (x[c] - w->mean[c]) * w->scale[c] + w->bias[c] : x[c];
}

/* The ReLU changes no comparison that decides: what it makes equal gives no code. */
KERN_INLINE void norm_max_windows(const ct_norm_windows *w, const bool normal, const int64_t taps)
{
    const float *x = w->x;
    float *y = w->y;
    uint8_t *code = w->code;
    for (int64_t i = 0; i < w->n; i++, x += w->step, y += w->c, code += w->c) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= w->c; ch += KERN_VL) {
            vf best = norm_cell(w, x + w->off[0], ch, normal);
            vi at = (vi){ 0 } + w->number[0];
            for (int64_t t = 1; t < taps; t++) {
                const vf v = norm_cell(w, x + w->off[t], ch, normal);
                const vi wins = vwins(v, best);
                best = vselect(wins, v, best);
                at = (at & ~wins) | (((vi){ 0 } + w->number[t]) & wins);
            }
            const vi above = best > vsplat(0);
            at = (at & above) | (((vi){ 0 } + w->none) & ~above);
            vstore(y + ch, (vf)((vi)best & ~(best < vsplat(0)))); /* NaN stays */
            vnarrow(code + ch, at);
        }
        for (; ch < w->c; ch++) {
            float best = norm_cell_one(w, x + w->off[0], ch, normal);
            int32_t at = w->number[0];
            for (int64_t t = 1; t < taps; t++) {
                const float v = norm_cell_one(w, x + w->off[t], ch, normal);
                if (!(v > best || (v != v && best == best))) continue;
                best = v;
                at = w->number[t];
            }
            y[ch] = best < 0 ? 0 : best;
            code[ch] = (uint8_t)(best > 0 ? at : w->none);
        }
    }
}

static void norm_max_row(const ct_norm_windows *w)
{
    if (!w->mean)
        norm_max_windows(w, false, w->taps);
    else if (w->taps == 4)
        norm_max_windows(w, true, 4);
    else if (w->taps == 9)
        norm_max_windows(w, true, 9);
    else
        norm_max_windows(w, true, w->taps);
}

/* Sums of the gradient of n windows: only the pixel that a window kept has one. */
KERN_INLINE void quad_sums_tile(const ct_norm_quads *w, int64_t first, int64_t n, int64_t c, double *s, double *q, const int nv)
{
    vf vs[KERN_NV], vq[KERN_NV], mean[KERN_NV];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        mean[v] = vload(w->mean + c + v * KERN_VL);
        vs[v] = vq[v] = vsplat(0);
    }
    const float *x = w->x + first * 2 * w->c + c, *dy = w->dy + first * w->c + c;
    const uint8_t *code = w->code + first * w->c + c;
    for (int64_t i = 0; i < n; i++, x += 2 * w->c, dy += w->c, code += w->c) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            const vi at = vwiden(code + v * KERN_VL);
            const float *cell = x + v * KERN_VL;
            vf kept = vload(cell);
            kept = vselect(at == 1, vload(cell + w->c), kept);
            kept = vselect(at == 2, vload(cell + w->line), kept);
            kept = vselect(at == 3, vload(cell + w->line + w->c), kept);
            const vf g = (vf)((vi)vload(dy + v * KERN_VL) & (at < 4));
            vs[v] += g;
            vq[v] += g * (kept - mean[v]);
        }
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        vadd_to(s + c + v * KERN_VL, vs[v]);
        vadd_to(q + c + v * KERN_VL, vq[v]);
    }
}

/* The floats from a window's first pixel to its pixel k. */
KERN_INLINE int64_t quad_cell(const ct_norm_quads *w, int k) { return k / 2 * w->line + k % 2 * w->c; }

static void quad_sums(const ct_norm_quads *w, double *s, double *q)
{
    for (int64_t first = 0; first < w->n; first += KERN_BLOCK) {
        const int64_t n = w->n - first < KERN_BLOCK ? w->n - first : KERN_BLOCK;
        int64_t c = 0;
        for (; c + KERN_NV * KERN_VL <= w->c; c += KERN_NV * KERN_VL) quad_sums_tile(w, first, n, c, s, q, KERN_NV);
        for (; c + 2 * KERN_VL <= w->c; c += 2 * KERN_VL) quad_sums_tile(w, first, n, c, s, q, 2);
        for (; c + KERN_VL <= w->c; c += KERN_VL) quad_sums_tile(w, first, n, c, s, q, 1);
        for (; c < w->c; c++) {
            float vs = 0, vq = 0;
            for (int64_t i = first; i < first + n; i++) {
                const int at = w->code[i * w->c + c];
                if (at > 3) continue;
                const float g = w->dy[i * w->c + c];
                vs += g;
                vq += g * (w->x[i * 2 * w->c + c + quad_cell(w, at)] - w->mean[c]);
            }
            s[c] += (double)vs;
            q[c] += (double)vq;
        }
    }
}

KERN_INLINE void quad_apply_all(const ct_norm_quads *w, const bool stream)
{
    const float *x = w->x, *dy = w->dy;
    const uint8_t *code = w->code;
    float *out = w->out;
    for (int64_t i = 0; i < w->n; i++, x += 2 * w->c, out += 2 * w->c, dy += w->c, code += w->c) {
        int64_t c = 0;
        for (; c + KERN_VL <= w->c; c += KERN_VL) {
            const vi at = vwiden(code + c);
            const vf g = vload(w->scale + c) * vload(dy + c), mean = vload(w->mean + c), shift = vload(w->shift + c);
            const vf bias = vload(w->bias + c);
            KERN_UNROLL
            for (int k = 0; k < 4; k++) {
                const int64_t cell = quad_cell(w, k) + c;
                const vf own = (vf)((vi)g & (at == k));
                vstore_past(out + cell, own + (shift * (vload(x + cell) - mean) + bias), stream);
            }
        }
        for (; c < w->c; c++)
            for (int k = 0; k < 4; k++) {
                const int64_t cell = quad_cell(w, k) + c;
                const float own = code[c] == k ? w->scale[c] * dy[c] : 0;
                out[cell] = own + (w->shift[c] * (x[cell] - w->mean[c]) + w->bias[c]);
            }
    }
    stream_end(stream);
}

static void quad_apply(const ct_norm_quads *w)
{
    if (w->stream)
        quad_apply_all(w, true);
    else
        quad_apply_all(w, false);
}

/* Pixel i of a row lies in window i/2 of a row of windows: in its middle if i is even, else on its right, and on the left of the next window, if there
 * is one, whose dy is added first. Kernels go from pixel to pixel with the window in registers. */
typedef struct overlap_window {
    vf dy[2][KERN_NV];
    vi code[2][KERN_NV];
} overlap_window;

enum { OVERLAP_PIXELS = 8 };

/* Vector v of row k of window j. */
KERN_INLINE void overlap_load(const ct_norm_overlap *w, overlap_window *to, int64_t j, int64_t c, const int k, const int v)
{
    const int64_t at = j * w->c + c + v * KERN_VL;
    to->dy[k][v] = vload(w->dy[k] + at);
    to->code[k][v] = vwiden(w->code[k] + at);
}

KERN_INLINE void overlap_load_all(const ct_norm_overlap *w, overlap_window *to, int64_t j, int64_t c, const int rows, const int nv)
{
    KERN_UNROLL
    for (int k = 0; k < rows; k++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) overlap_load(w, to, j, c, k, v);
    }
}

KERN_INLINE vf overlap_kept(const overlap_window *from, const int k, const int v, int32_t number)
{
    return (vf)((vi)from->dy[k][v] & (from->code[k][v] == number));
}

/* g of nv vectors of pixel i, whose window is given; behind an odd pixel it is the next one. */
KERN_INLINE void overlap_gradient(const ct_norm_overlap *w, overlap_window *own, int64_t i, int64_t c, vf g[KERN_NV], const int rows, const int nv)
{
    KERN_UNROLL
    for (int v = 0; v < nv; v++) g[v] = vsplat(0);
    const bool two = i % 2 != 0 && i / 2 + 1 < w->q;
    KERN_UNROLL
    for (int k = 0; k < rows; k++) {
        const int32_t number = w->left[k] + (i % 2 != 0 ? 2 : 1);
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            const vf right = overlap_kept(own, k, v, number);
            if (two) {
                overlap_load(w, own, i / 2 + 1, c, k, v);
                g[v] += overlap_kept(own, k, v, w->left[k]);
            }
            g[v] += right;
        }
    }
}

KERN_INLINE float overlap_gradient_one(const ct_norm_overlap *w, int64_t i, int64_t c)
{
    const bool odd = i % 2 != 0, two = odd && i / 2 + 1 < w->q;
    float g = 0;
    for (int k = 0; k < w->rows; k++) {
        const int64_t at = i / 2 * w->c + c;
        if (two && w->code[k][at + w->c] == w->left[k]) g += w->dy[k][at + w->c];
        if (w->code[k][at] == w->left[k] + (odd ? 2 : 1)) g += w->dy[k][at];
    }
    return g;
}

/* Of pixels i0 .. i1-1, counted from w->first on. */
KERN_INLINE void overlap_sums_tile(const ct_norm_overlap *w, int64_t i0, int64_t i1, int64_t c, double *s, double *q, const int rows, const int nv)
{
    vf vs[KERN_NV], vq[KERN_NV], mean[KERN_NV], g[KERN_NV];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        mean[v] = vload(w->mean + c + v * KERN_VL);
        vs[v] = vq[v] = vsplat(0);
    }
    overlap_window own;
    overlap_load_all(w, &own, (w->first + i0) / 2, c, rows, nv);
    for (int64_t i = i0; i < i1; i++) {
        overlap_gradient(w, &own, w->first + i, c, g, rows, nv);
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            vs[v] += g[v];
            vq[v] += g[v] * (vload(w->x + i * w->c + c + v * KERN_VL) - mean[v]);
        }
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        vadd_to(s + c + v * KERN_VL, vs[v]);
        vadd_to(q + c + v * KERN_VL, vq[v]);
    }
}

KERN_INLINE void overlap_sums_all(const ct_norm_overlap *w, double *s, double *q, const int rows)
{
    for (int64_t i0 = 0; i0 < w->n; i0 += KERN_BLOCK) {
        const int64_t i1 = w->n < i0 + KERN_BLOCK ? w->n : i0 + KERN_BLOCK;
        int64_t c = 0;
        for (; c + KERN_NV * KERN_VL <= w->c; c += KERN_NV * KERN_VL) overlap_sums_tile(w, i0, i1, c, s, q, rows, KERN_NV);
        for (; c + KERN_VL <= w->c; c += KERN_VL) overlap_sums_tile(w, i0, i1, c, s, q, rows, 1);
        for (; c < w->c; c++) {
            float vs = 0, vq = 0;
            for (int64_t i = i0; i < i1; i++) {
                const float g = overlap_gradient_one(w, w->first + i, c);
                vs += g;
                vq += g * (w->x[i * w->c + c] - w->mean[c]);
            }
            s[c] += (double)vs;
            q[c] += (double)vq;
        }
    }
}

static void overlap_sums(const ct_norm_overlap *w, double *s, double *q)
{
    if (w->rows == 2)
        overlap_sums_all(w, s, q, 2);
    else
        overlap_sums_all(w, s, q, 1);
}

/* Of pixels i0 .. i1-1, counted from w->first on. */
KERN_INLINE void overlap_apply_tile(const ct_norm_overlap *w, int64_t i0, int64_t i1, int64_t c, const int rows, const bool stream, const int nv)
{
    overlap_window own;
    vf g[KERN_NV];
    overlap_load_all(w, &own, (w->first + i0) / 2, c, rows, nv);
    for (int64_t i = i0; i < i1; i++) {
        overlap_gradient(w, &own, w->first + i, c, g, rows, nv);
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            const int64_t ch = c + v * KERN_VL, pos = i * w->c + ch;
            const vf d = vload(w->x + pos) - vload(w->mean + ch);
            vstore_past(w->out + pos, vload(w->scale + ch) * g[v] + (vload(w->shift + ch) * d + vload(w->bias + ch)), stream);
        }
    }
}

/* A few pixels at a time, so that memory is read and written nearly in order; a row at once where a tile has all channels. */
KERN_INLINE void overlap_apply_all(const ct_norm_overlap *w, const int rows, const bool stream)
{
    const int64_t some = w->c <= KERN_NV * KERN_VL ? w->n : OVERLAP_PIXELS;
    for (int64_t i0 = 0; i0 < w->n; i0 += some) {
        const int64_t i1 = w->n < i0 + some ? w->n : i0 + some;
        int64_t c = 0;
        for (; c + KERN_NV * KERN_VL <= w->c; c += KERN_NV * KERN_VL) overlap_apply_tile(w, i0, i1, c, rows, stream, KERN_NV);
        for (; c + KERN_VL <= w->c; c += KERN_VL) overlap_apply_tile(w, i0, i1, c, rows, stream, 1);
        for (; c < w->c; c++)
            for (int64_t i = i0; i < i1; i++) {
                const int64_t at = i * w->c + c;
                const float d = w->x[at] - w->mean[c];
                w->out[at] = w->scale[c] * overlap_gradient_one(w, w->first + i, c) + (w->shift[c] * d + w->bias[c]);
            }
    }
    stream_end(stream);
}

static void overlap_apply(const ct_norm_overlap *w)
{
    if (w->rows == 2 && w->stream)
        overlap_apply_all(w, 2, true);
    else if (w->rows == 2)
        overlap_apply_all(w, 2, false);
    else if (w->stream)
        overlap_apply_all(w, 1, true);
    else
        overlap_apply_all(w, 1, false);
}

static const ct_kern_norm_pool norm_pool_kernels = {
    .max_row = norm_max_row,
    .quad_sums = quad_sums,
    .quad_apply = quad_apply,
    .overlap_sums = overlap_sums,
    .overlap_apply = overlap_apply,
};
