/* Body of the batch-norm kernels: statistics of columns, and what is made of them row by row. */

#define KERN_BN_AHEAD 16 /* rows fetched ahead where a pass takes a part of each row: what processors do not foresee */

KERN_INLINE void bn_stats_tile(const ct_bn_block *b, int64_t r0, int64_t r1, int64_t c, double *s, double *q,
                               const int nv)
{
    vf vs[KERN_WIDE], vq[KERN_WIDE], shift[KERN_WIDE];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        shift[v] = vload(b->shift + c + v * KERN_VL);
        vs[v] = vq[v] = vsplat(0);
    }
    const int64_t ahead = nv == KERN_WIDE ? KERN_BN_AHEAD * b->ld : 0;
    for (int64_t r = r0; r < r1; r++) {
        const float *x = b->x + r * b->ld + c;
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            KERN_FETCH(x + ahead + v * KERN_VL);
            vf d = vload(x + v * KERN_VL) - shift[v];
            vs[v] += d;
            vq[v] += d * d;
        }
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        vadd_to(s + c + v * KERN_VL, vs[v]);
        vadd_to(q + c + v * KERN_VL, vq[v]);
    }
}

static void bn_stats(const ct_bn_block *b, double *s, double *q)
{
    const int64_t ld = b->ld, cols = b->cols;
    for (int64_t r0 = 0; r0 < b->rows; r0 += KERN_BLOCK) {
        const int64_t r1 = b->rows < r0 + KERN_BLOCK ? b->rows : r0 + KERN_BLOCK;
        int64_t c = 0;
        for (; c + KERN_WIDE * KERN_VL <= cols; c += KERN_WIDE * KERN_VL) bn_stats_tile(b, r0, r1, c, s, q, KERN_WIDE);
        for (; c + KERN_NV * KERN_VL <= cols; c += KERN_NV * KERN_VL) bn_stats_tile(b, r0, r1, c, s, q, KERN_NV);
        for (; c + 2 * KERN_VL <= cols; c += 2 * KERN_VL) bn_stats_tile(b, r0, r1, c, s, q, 2);
        for (; c + KERN_VL <= cols; c += KERN_VL) bn_stats_tile(b, r0, r1, c, s, q, 1);
        for (; c < cols; c++) {
            float vs = 0, vq = 0;
            for (int64_t r = r0; r < r1; r++) {
                float d = b->x[r * ld + c] - b->shift[c];
                vs += d;
                vq += d * d;
            }
            s[c] += (double)vs;
            q[c] += (double)vq;
        }
    }
}

/* Bit i: lane i of a comparison's result is set; and back. */
KERN_INLINE unsigned vbits(vi lanes)
{
#ifdef KERN_BITS
    return (unsigned)KERN_BITS(lanes);
#else
    unsigned bits = 0;
    for (int i = 0; i < KERN_VL; i++) bits |= ((unsigned)lanes[i] & 1u) << i;
    return bits;
#endif
}

KERN_INLINE vi vlanes(unsigned bits)
{
#ifdef KERN_LANES
    return (vi)KERN_LANES(bits);
#else
    vi lane;
    for (int i = 0; i < KERN_VL; i++) lane[i] = 1 << i;
    return (lane & (int32_t)bits) != 0;
#endif
}

/* The bits of the KERN_VL columns from c on in a row of a mask, and their writing, in order; c is a multiple of KERN_VL. */
KERN_INLINE unsigned mask_bits(const uint8_t *row, int64_t c)
{
#if KERN_VL == 16
    return row[c / 8] | (unsigned)row[c / 8 + 1] << 8;
#else
    return ct_mask_from(row, c);
#endif
}

KERN_INLINE void mask_write(uint8_t *row, int64_t c, unsigned bits)
{
#if KERN_VL == 16
    row[c / 8] = (uint8_t)bits;
    row[c / 8 + 1] = (uint8_t)(bits >> 8);
#else
    row[c / 8] = (uint8_t)((c % 8 == 0 ? 0 : row[c / 8]) | bits << (c % 8));
#endif
}

KERN_INLINE void bn_apply_all(const ct_bn_block *b, const bool add, const bool relu, const bool masked, const bool stream)
{
    for (int64_t r = 0; r < b->rows; r++) {
        const float *x = b->x + r * b->ld, *z = add ? b->add + r * b->ld : NULL;
        float *y = b->out + r * b->ld;
        uint8_t *mask = masked ? b->mask + r * b->mask_ld : NULL;
        int64_t c = 0;
        for (; c + KERN_VL <= b->cols; c += KERN_VL) {
            vf v = (vload(x + c) - vload(b->mean + c)) * vload(b->scale + c) + vload(b->bias + c);
            if (add) v += vload(z + c);
            if (masked) mask_write(mask, c, vbits(v > vsplat(b->floor)));
            if (relu) v = (vf)((vi)v & ~(v < vsplat(0))); /* NaN stays */
            vstore_past(y + c, v, stream);
        }
        for (; c < b->cols; c++) {
            float v = (x[c] - b->mean[c]) * b->scale[c] + b->bias[c];
            if (add) v += z[c];
            if (masked) ct_mask_put(mask, c, v > b->floor);
            y[c] = relu && v < 0 ? 0 : v;
        }
    }
    stream_end(stream);
}

KERN_INLINE void bn_apply_stored(const ct_bn_block *b, const bool add, const bool stream)
{
    if (!b->relu)
        bn_apply_all(b, add, false, false, stream);
    else if (b->mask)
        bn_apply_all(b, add, true, true, stream);
    else
        bn_apply_all(b, add, true, false, stream);
}

static void bn_apply(const ct_bn_block *b)
{
    if (b->add && b->stream)
        bn_apply_stored(b, true, true);
    else if (b->add)
        bn_apply_stored(b, true, false);
    else if (b->stream)
        bn_apply_stored(b, false, true);
    else
        bn_apply_stored(b, false, false);
}

/* dy of KERN_VL columns of row r where the ReLU let them through; all of dy without one. */
KERN_INLINE vf bn_gated(const ct_bn_block *b, int64_t r, int64_t c, const bool relu)
{
    vf g = vload(b->dy + r * b->ld + c);
    return relu ? (vf)((vi)g & vlanes(mask_bits(b->mask + r * b->mask_ld, c))) : g;
}

KERN_INLINE float bn_gated_one(const ct_bn_block *b, int64_t r, int64_t c, const bool relu)
{
    return relu && !ct_mask_at(b->mask + r * b->mask_ld, c) ? 0 : b->dy[r * b->ld + c];
}

KERN_INLINE void bn_bwd_sums_tile(const ct_bn_block *b, int64_t r0, int64_t r1, int64_t c, double *s, double *q,
                                  const int nv, const bool relu)
{
    vf vs[KERN_WIDE], vq[KERN_WIDE], mean[KERN_WIDE];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        mean[v] = vload(b->mean + c + v * KERN_VL);
        vs[v] = vq[v] = vsplat(0);
    }
    const int64_t ahead = nv == KERN_WIDE ? KERN_BN_AHEAD * b->ld : 0;
    for (int64_t r = r0; r < r1; r++) {
        const int64_t at = r * b->ld + c;
        KERN_UNROLL
        for (int v = 0; v < nv; v++) {
            KERN_FETCH(b->x + at + ahead + v * KERN_VL);
            KERN_FETCH(b->dy + at + ahead + v * KERN_VL);
            vf g = bn_gated(b, r, c + v * KERN_VL, relu);
            vs[v] += g;
            vq[v] += g * (vload(b->x + at + v * KERN_VL) - mean[v]);
        }
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        vadd_to(s + c + v * KERN_VL, vs[v]);
        vadd_to(q + c + v * KERN_VL, vq[v]);
    }
}

KERN_INLINE void bn_bwd_sums_rows(const ct_bn_block *b, double *s, double *q, const bool relu)
{
    const int64_t ld = b->ld, cols = b->cols;
    for (int64_t r0 = 0; r0 < b->rows; r0 += KERN_BLOCK) {
        const int64_t r1 = b->rows < r0 + KERN_BLOCK ? b->rows : r0 + KERN_BLOCK;
        int64_t c = 0;
        for (; c + KERN_WIDE * KERN_VL <= cols; c += KERN_WIDE * KERN_VL)
            bn_bwd_sums_tile(b, r0, r1, c, s, q, KERN_WIDE, relu);
        for (; c + KERN_NV * KERN_VL <= cols; c += KERN_NV * KERN_VL)
            bn_bwd_sums_tile(b, r0, r1, c, s, q, KERN_NV, relu);
        for (; c + 2 * KERN_VL <= cols; c += 2 * KERN_VL) bn_bwd_sums_tile(b, r0, r1, c, s, q, 2, relu);
        for (; c + KERN_VL <= cols; c += KERN_VL) bn_bwd_sums_tile(b, r0, r1, c, s, q, 1, relu);
        for (; c < cols; c++) {
            float vs = 0, vq = 0;
            for (int64_t r = r0; r < r1; r++) {
                float g = bn_gated_one(b, r, c, relu);
                vs += g;
                vq += g * (b->x[r * ld + c] - b->mean[c]);
            }
            s[c] += (double)vs;
            q[c] += (double)vq;
        }
    }
}

static void bn_bwd_sums(const ct_bn_block *b, double *s, double *q)
{
    if (b->mask)
        bn_bwd_sums_rows(b, s, q, true);
    else
        bn_bwd_sums_rows(b, s, q, false);
}

KERN_INLINE void bn_bwd_apply_all(const ct_bn_block *b, const bool relu, const bool two, const bool stream,
                                  const bool stream2)
{
    for (int64_t r = 0; r < b->rows; r++) {
        const int64_t at = r * b->ld;
        int64_t c = 0;
        for (; c + KERN_VL <= b->cols; c += KERN_VL) {
            const vf g = bn_gated(b, r, c, relu), d = vload(b->x + at + c) - vload(b->mean + c);
            const vf dx = vload(b->scale + c) * g + (vload(b->shift + c) * d + vload(b->bias + c));
            if (two) vstore_past(b->out2 + at + c, g, stream2);
            vstore_past(b->out + at + c, dx, stream);
        }
        for (; c < b->cols; c++) {
            float g = bn_gated_one(b, r, c, relu);
            float d = b->x[at + c] - b->mean[c];
            if (two) b->out2[at + c] = g;
            b->out[at + c] = b->scale[c] * g + (b->shift[c] * d + b->bias[c]);
        }
    }
    stream_end(stream || stream2);
}

static void bn_bwd_apply(const ct_bn_block *b)
{
    const bool s = b->stream, s2 = b->stream2;
    if (b->mask && b->out2 && s2)
        bn_bwd_apply_all(b, true, true, false, true); /* dx over dy is the rule there */
    else if (b->mask && b->out2)
        bn_bwd_apply_all(b, true, true, false, false);
    else if (b->out2)
        bn_bwd_apply_all(b, false, true, false, false);
    else if (b->mask && s)
        bn_bwd_apply_all(b, true, false, true, false);
    else if (b->mask)
        bn_bwd_apply_all(b, true, false, false, false);
    else if (s)
        bn_bwd_apply_all(b, false, false, true, false);
    else
        bn_bwd_apply_all(b, false, false, false, false);
}

static const ct_kern_norm norm_kernels = {
    .stats = bn_stats,
    .apply = bn_apply,
    .bwd_sums = bn_bwd_sums,
    .bwd_apply = bn_bwd_apply,
};
