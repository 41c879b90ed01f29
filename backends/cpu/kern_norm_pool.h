/* Body of the kernels of batch norms that have taken in a pooling: the largest of windows, and the gradient of windows that do not overlap. */

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
                const vi wins = (v > best) | ((v != v) & (best == best));
                best = vselect(wins, v, best);
                at = (at & ~wins) | (((vi){ 0 } + w->number[t]) & wins);
            }
            const vi above = best > vsplat(0);
            at = (at & above) | (((vi){ 0 } + w->none) & ~above);
            vstore(y + ch, (vf)((vi)best & ~(best < vsplat(0)))); /* NaN stays */
            vb small = __builtin_convertvector(at, vb);
            memcpy(code + ch, &small, sizeof small);
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

static const ct_kern_norm_pool norm_pool_kernels = { .max_row = norm_max_row, .quad_sums = quad_sums, .quad_apply = quad_apply };
