/* Body of the matrix kernels of bf16: the tiles of kern_conv.h with words that hold two numbers. Included by kern_<isa>.c behind
 * kern_vec.h for sets that have KERN_DOT(sums, a, b): each lane's sum plus the two products of its words of a and b. Without
 * the instruction KERN_DOT_EMULATED does what VDPBF16PS does (Intel SDM; compared bit by bit by tests/cpu/check_pairs.c):
 * first the product of the upper halves is added, then that of the lower ones; a product of two bf16 is exact in f32, each sum
 * is rounded to nearest even; numbers below the smallest normal one count as zero, before and after. */

#ifdef KERN_DOT_EMULATED
KERN_INLINE vf dot_flush(vf v)
{
    const vi bits = (vi)v, small = (bits & 0x7f800000) == 0;
    return (vf)(bits & ~(small & 0x7fffffff));
}

KERN_INLINE vf dot_emulated(vf sum, vi a, vi b)
{
    const vf upper = dot_flush(dot_flush((vf)(a & (int32_t)0xffff0000)) * dot_flush((vf)(b & (int32_t)0xffff0000)));
    const vf lower = dot_flush(dot_flush((vf)(a << 16)) * dot_flush((vf)(b << 16)));
    return dot_flush(dot_flush(dot_flush(sum) + upper) + lower);
}
#define KERN_DOT(sum, a, b) dot_emulated(sum, a, b)
#endif

/* A word in every lane; words are only moved, never computed with. */
KERN_INLINE vi wsplat(const float *p)
{
    int32_t bits;
    memcpy(&bits, p, sizeof bits);
    return bits - (vi){ 0 };
}

KERN_INLINE vi wload(const float *p) { return (vi)vload(p); }

/* A vector of sums to bf16. What KERN_DOT gives is no number below the smallest normal one, which the instruction for it would drop. */
KERN_INLINE void pairs_store(uint16_t *p, vf v)
{
#ifdef KERN_STORE_BF16
    KERN_STORE_BF16(p, v);
#else
    vstore_bf16(p, v);
#endif
}

/* As igemm_tile, to rows of bf16; sums begin at start [nv * vl]. */
KERN_INLINE void pairs_tile(const ct_igemm *a, const float *start, int64_t p, const int mr, const int nv)
{
    vf acc[KERN_MR][KERN_NV];
    const int64_t kn = a->kn;
    const bool whole = kn == nv * KERN_VL;
    uint16_t edge[KERN_NV * KERN_VL];

    KERN_UNROLL
    for (int i = 0; i < mr; i++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vload(start + v * KERN_VL);
        KERN_FETCH_W(a->out16[p + i] + a->k_first);
        KERN_FETCH_W(a->out16[p + i] + a->k_first + kn - 1);
    }
    const float *w = a->w;
    for (int64_t t = 0; t < a->taps; t++, w += (a->c_stride - a->c) * nv * KERN_VL) {
        const float *x[KERN_MR], *const *list = a->in + t * a->in_stride + p;
        const int64_t next = p + 2 * mr <= a->np ? mr : 0; /* the tile after this reads there */
        KERN_UNROLL
        for (int i = 0; i < mr; i++) x[i] = list[i] + a->c_first;
        for (int64_t c = 0; c < a->c;) {
            const int64_t end = c + CT_KERN_LINE < a->c ? c + CT_KERN_LINE : a->c;
            KERN_UNROLL
            for (int i = 0; i < mr; i++) KERN_FETCH(list[next + i] + a->c_first + c);
            for (; c < end; c++, w += nv * KERN_VL) {
                vi b[KERN_NV];
                KERN_UNROLL
                for (int v = 0; v < nv; v++) b[v] = wload(w + v * KERN_VL);
                KERN_UNROLL
                for (int i = 0; i < mr; i++) {
                    const vi s = wsplat(x[i] + c);
                    KERN_UNROLL
                    for (int v = 0; v < nv; v++) acc[i][v] = KERN_DOT(acc[i][v], s, b[v]);
                }
            }
        }
    }
    KERN_UNROLL
    for (int i = 0; i < mr; i++) {
        uint16_t *out = a->out16[p + i] + a->k_first, *dst = whole ? out : edge;
        KERN_UNROLL
        for (int v = 0; v < nv; v++) pairs_store(dst + v * KERN_VL, acc[i][v]);
        if (!whole)
            for (int64_t k = 0; k < kn; k++) out[k] = edge[k];
    }
}

KERN_INLINE void pairs_rows(const ct_igemm *a, const int nv)
{
    float start[KERN_NV * KERN_VL];
    for (int64_t k = 0; k < nv * KERN_VL; k++) start[k] = a->bias && k < a->kn ? a->bias[k] : 0;
    int64_t p = 0;
    for (; p + KERN_MR <= a->np; p += KERN_MR) pairs_tile(a, start, p, KERN_MR, nv);
    for (; p + 2 <= a->np; p += 2) pairs_tile(a, start, p, 2, nv);
    if (p < a->np) pairs_tile(a, start, p, 1, nv);
}

static void pairs_igemm(const ct_igemm *a)
{
    switch (a->kw / KERN_VL) {
    case 1: pairs_rows(a, 1); break;
    case 2: pairs_rows(a, 2); break;
#if KERN_NV >= 4
    case 3: pairs_rows(a, 3); break;
    case 4: pairs_rows(a, 4); break;
#endif
    default: break;
    }
}

/* As wgemm_tile. */
KERN_INLINE void pairs_wtile(const ct_wgemm *a, int64_t c, const int mr, const int nv)
{
    vf acc[KERN_MR][KERN_NV];
    KERN_UNROLL
    for (int i = 0; i < mr; i++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vsplat(0);
    }
    const float *dy = a->dy;
    for (int64_t p = 0; p < a->np; p++, dy += a->ldy) {
        const float *x = a->in[p] + c;
        vi b[KERN_NV];
        KERN_UNROLL
        for (int v = 0; v < nv; v++) b[v] = wload(dy + v * KERN_VL);
        KERN_UNROLL
        for (int i = 0; i < mr; i++) {
            const vi s = wsplat(x + i);
            KERN_UNROLL
            for (int v = 0; v < nv; v++) acc[i][v] = KERN_DOT(acc[i][v], s, b[v]);
        }
    }
    KERN_UNROLL
    for (int i = 0; i < mr; i++) sums_out(a->dw + (c + i) * a->ldw, acc[i], nv, a->accumulate, false);
}

KERN_INLINE void pairs_wrows(const ct_wgemm *a, const int nv)
{
    int64_t c = 0;
    for (; c + KERN_MR <= a->c_n; c += KERN_MR) pairs_wtile(a, c, KERN_MR, nv);
    for (; c + 2 <= a->c_n; c += 2) pairs_wtile(a, c, 2, nv);
    if (c < a->c_n) pairs_wtile(a, c, 1, nv);
}

static void pairs_wgemm(const ct_wgemm *a)
{
    switch (a->kw / KERN_VL) {
    case 1: pairs_wrows(a, 1); break;
    case 2: pairs_wrows(a, 2); break;
#if KERN_NV >= 4
    case 3: pairs_wrows(a, 3); break;
    case 4: pairs_wrows(a, 4); break;
#endif
    default: break;
    }
}

/* As wino_gemm_tile. */
KERN_INLINE void pairs_wino_tile(const ct_wino_gemm *g, int64_t row, const int mr, const int nv)
{
    float *out = g->out + row * WINO_NV * KERN_VL;
    vf acc[KERN_WINO_MR][WINO_NV];
    WINO_UNROLL
    for (int i = 0; i < mr; i++) {
        WINO_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = g->accumulate ? vload(out + (i * WINO_NV + v) * KERN_VL) : vsplat(0);
    }
    const float *a = g->a + row * CT_WINO_CB, *b = g->b;
    for (int64_t left = g->depth; left > 0; left -= CT_WINO_CB, a += g->a_block) {
        const int64_t n = left < CT_WINO_CB ? left : CT_WINO_CB;
        for (int64_t c = 0; c < n; c++, b += WINO_NV * KERN_VL) {
            vi w[WINO_NV];
            WINO_UNROLL
            for (int v = 0; v < nv; v++) w[v] = wload(b + v * KERN_VL);
            WINO_UNROLL
            for (int i = 0; i < mr; i++) {
                const vi s = wsplat(a + i * CT_WINO_CB + c);
                WINO_UNROLL
                for (int v = 0; v < nv; v++) acc[i][v] = KERN_DOT(acc[i][v], s, w[v]);
            }
        }
    }
    WINO_UNROLL
    for (int i = 0; i < mr; i++) {
        WINO_UNROLL
        for (int v = 0; v < nv; v++) vstore(out + (i * WINO_NV + v) * KERN_VL, acc[i][v]);
    }
}

KERN_INLINE void pairs_wino_rows(const ct_wino_gemm *g, const int nv)
{
    int64_t i = 0;
    for (; i + KERN_WINO_MR <= g->rows; i += KERN_WINO_MR) pairs_wino_tile(g, i, KERN_WINO_MR, nv);
    for (; i + 4 <= g->rows; i += 4) pairs_wino_tile(g, i, 4, nv);
    for (; i < g->rows; i++) pairs_wino_tile(g, i, 1, nv);
}

static void pairs_wino_gemm(const ct_wino_gemm *g)
{
    if (g->kw == KERN_VL)
        pairs_wino_rows(g, 1);
    else
        pairs_wino_rows(g, 2);
}

/* As wino_wgemm_tile. */
KERN_INLINE void pairs_wino_wtile(const ct_wino_gemm *g, int64_t first, const int mr, const int nv)
{
    vf acc[8][WINO_NV];
    WINO_UNROLL
    for (int i = 0; i < mr; i++) {
        WINO_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vsplat(0);
    }
    const float *a = g->a + first / CT_WINO_CB * g->a_block + first % CT_WINO_CB, *b = g->b;
    for (int64_t t = 0; t < g->depth; t++, a += CT_WINO_CB, b += WINO_NV * KERN_VL) {
        vi w[WINO_NV];
        WINO_UNROLL
        for (int v = 0; v < nv; v++) w[v] = wload(b + v * KERN_VL);
        WINO_UNROLL
        for (int i = 0; i < mr; i++) {
            const vi s = wsplat(a + i);
            WINO_UNROLL
            for (int v = 0; v < nv; v++) acc[i][v] = KERN_DOT(acc[i][v], s, w[v]);
        }
    }
    float *out = g->out + first * WINO_NV * KERN_VL;
    WINO_UNROLL
    for (int i = 0; i < mr; i++) sums_out(out + i * WINO_NV * KERN_VL, acc[i], nv, g->accumulate, false);
}

static void pairs_wino_wgemm(const ct_wino_gemm *g)
{
    for (int64_t i = 0; i < g->rows; i += KERN_WINO_WMR) {
        if (g->kw == KERN_VL)
            pairs_wino_wtile(g, i, KERN_WINO_WMR, 1);
        else
            pairs_wino_wtile(g, i, KERN_WINO_WMR, 2);
    }
}

static void pairs_zip(int64_t n, const uint16_t *lower, const uint16_t *upper, float *words)
{
    int64_t i = 0;
    for (; i + KERN_VL <= n; i += KERN_VL) {
        const vi a = vwiden16(lower + i), b = vwiden16(upper + i);
        vstore(words + i, (vf)(a | b << 16));
    }
    for (; i < n; i++) {
        const uint32_t word = lower[i] | (uint32_t)upper[i] << 16;
        memcpy(words + i, &word, sizeof word);
    }
}

static const ct_kern_pairs pairs_kernels = {
    .igemm = pairs_igemm,
    .wgemm = pairs_wgemm,
    .wino_gemm = pairs_wino_gemm,
    .wino_wgemm = pairs_wino_wgemm,
    .zip = pairs_zip,
};
