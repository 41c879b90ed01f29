/* Body of the kernels with a sigmoid in them: sigmoid and SiLU (z sigmoid(z)) alone, and SiLU behind batch norm. Included
 * after kern_soft.h by kern_table.h. What is left of a row behind whole vectors goes through them too, padded: the same
 * bits wherever an element lies. */

/* e^-|x| over 1 + e^-|x|, or 1 over it: never an overflow. NaN stays. */
KERN_INLINE vf silu_sigmoid(vf x)
{
    const vi negative = x < vsplat(0);
    const vf e = soft_exp(vselect(negative, x, -x));
    return vselect(negative, e, vsplat(1)) / (e + 1.0f);
}

KERN_INLINE vf silu_slope(vf z)
{
    const vf s = silu_sigmoid(z);
    return s * (1.0f + z * (1.0f - s));
}

static void sigmoid(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += KERN_VL) soft_store(y, i, n, silu_sigmoid(soft_load(x, i, n, 0)));
}

static void silu(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += KERN_VL) {
        const vf v = soft_load(x, i, n, 0);
        soft_store(y, i, n, v * silu_sigmoid(v));
    }
}

static void silu_bwd(int64_t n, const float *dy, const float *x, float *dx)
{
    for (int64_t i = 0; i < n; i += KERN_VL)
        soft_store(dx, i, n, soft_load(dy, i, n, 0) * silu_slope(soft_load(x, i, n, 0)));
}

/* Elements c.. of a row of n: a whole vector of them where that is known. */
KERN_INLINE vf silu_load(const float *row, int64_t c, int64_t n, const bool whole)
{
    return whole ? vload(row + c) : soft_load(row, c, n, 0);
}

/* What SiLU is applied to, columns c.. of row r. */
KERN_INLINE vf silu_z(const ct_bn_block *b, int64_t r, int64_t c, const bool add, const bool whole)
{
    const vf d = silu_load(b->x + r * b->ld, c, b->cols, whole) - silu_load(b->mean, c, b->cols, whole);
    const vf z = d * silu_load(b->scale, c, b->cols, whole) + silu_load(b->beta, c, b->cols, whole);
    return add ? z + silu_load(b->add + r * b->ld, c, b->cols, whole) : z;
}

KERN_INLINE void silu_apply_rows(const ct_bn_block *b, const bool add, const bool stream)
{
    for (int64_t r = 0; r < b->rows; r++) {
        float *y = b->out + r * b->ld;
        int64_t c = 0;
        for (; c + KERN_VL <= b->cols; c += KERN_VL) {
            const vf z = silu_z(b, r, c, add, true);
            vstore_past(y + c, z * silu_sigmoid(z), stream);
        }
        if (c == b->cols) continue;
        const vf z = silu_z(b, r, c, add, false);
        soft_store(y, c, b->cols, z * silu_sigmoid(z));
    }
    stream_end(stream);
}

static void silu_apply(const ct_bn_block *b)
{
    if (b->add && b->stream)
        silu_apply_rows(b, true, true);
    else if (b->add)
        silu_apply_rows(b, true, false);
    else if (b->stream)
        silu_apply_rows(b, false, true);
    else
        silu_apply_rows(b, false, false);
}

/* The sums of nv vectors of columns from c on over a few rows; the last vector of a row alone may not be whole. */
KERN_INLINE void silu_sums_tile(const ct_bn_block *b, int64_t r0, int64_t r1, int64_t c, double *s, double *q,
                                const int nv, const bool add, const bool whole)
{
    vf vs[KERN_NV], vq[KERN_NV];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) vs[v] = vq[v] = vsplat(0);
    for (int64_t r = r0; r < r1; r++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            const int64_t at = c + v * KERN_VL;
            const vf d = silu_load(b->x + r * b->ld, at, b->cols, whole) - silu_load(b->mean, at, b->cols, whole);
            const vf g = silu_load(b->dy + r * b->ld, at, b->cols, whole) * silu_slope(silu_z(b, r, at, add, whole));
            vs[v] += g;
            vq[v] += g * d;
        }
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        float part_s[KERN_VL], part_q[KERN_VL];
        vstore(part_s, vs[v]);
        vstore(part_q, vq[v]);
        for (int64_t i = 0, at = c + v * KERN_VL; i < KERN_VL && at + i < b->cols; i++) {
            s[at + i] += (double)part_s[i];
            q[at + i] += (double)part_q[i];
        }
    }
}

KERN_INLINE void silu_sums_rows(const ct_bn_block *b, double *s, double *q, const bool add)
{
    for (int64_t r0 = 0; r0 < b->rows; r0 += KERN_BLOCK) {
        const int64_t r1 = b->rows < r0 + KERN_BLOCK ? b->rows : r0 + KERN_BLOCK;
        int64_t c = 0;
        for (; c + KERN_NV * KERN_VL <= b->cols; c += KERN_NV * KERN_VL)
            silu_sums_tile(b, r0, r1, c, s, q, KERN_NV, add, true);
        for (; c + KERN_VL <= b->cols; c += KERN_VL) silu_sums_tile(b, r0, r1, c, s, q, 1, add, true);
        if (c < b->cols) silu_sums_tile(b, r0, r1, c, s, q, 1, add, false);
    }
}

static void silu_bwd_sums(const ct_bn_block *b, double *s, double *q)
{
    if (b->add)
        silu_sums_rows(b, s, q, true);
    else
        silu_sums_rows(b, s, q, false);
}

KERN_INLINE void silu_bwd_apply_rows(const ct_bn_block *b, const bool add, const bool two, const bool stream)
{
    for (int64_t r = 0; r < b->rows; r++) {
        const float *x = b->x + r * b->ld, *dy = b->dy + r * b->ld;
        float *dx = b->out + r * b->ld, *dadd = two ? b->out2 + r * b->ld : NULL;
        int64_t c = 0;
        for (; c + KERN_VL <= b->cols; c += KERN_VL) {
            const vf g = vload(dy + c) * silu_slope(silu_z(b, r, c, add, true));
            const vf d = vload(x + c) - vload(b->mean + c);
            const vf v = vload(b->scale + c) * g + (vload(b->shift + c) * d + vload(b->bias + c));
            if (two) vstore_past(dadd + c, g, stream);
            if (two) /* dx over dy is the rule there */
                vstore(dx + c, v);
            else
                vstore_past(dx + c, v, stream);
        }
        if (c == b->cols) continue;
        const int64_t n = b->cols;
        const vf g = soft_load(dy, c, n, 0) * silu_slope(silu_z(b, r, c, add, false));
        const vf d = soft_load(x, c, n, 0) - soft_load(b->mean, c, n, 0);
        const vf rest = soft_load(b->shift, c, n, 0) * d + soft_load(b->bias, c, n, 0);
        const vf v = soft_load(b->scale, c, n, 0) * g + rest;
        if (two) soft_store(dadd, c, n, g);
        soft_store(dx, c, n, v);
    }
    stream_end(stream);
}

static void silu_bwd_apply(const ct_bn_block *b)
{
    if (b->out2 && b->stream2)
        silu_bwd_apply_rows(b, true, true, true);
    else if (b->out2)
        silu_bwd_apply_rows(b, true, true, false);
    else if (b->add)
        silu_bwd_apply_rows(b, true, false, false);
    else if (b->stream)
        silu_bwd_apply_rows(b, false, false, true);
    else
        silu_bwd_apply_rows(b, false, false, false);
}

static const ct_kern_silu silu_kernels = {
    .sigmoid = sigmoid,
    .silu = silu,
    .silu_bwd = silu_bwd,
    .apply = silu_apply,
    .bwd_sums = silu_bwd_sums,
    .bwd_apply = silu_bwd_apply,
};
