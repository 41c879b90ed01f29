/* Body of the element-wise, reduction and pooling kernels: plain loops that the compiler vectorises. Included after
 * kern_conv.h by kern_<isa>.c. Sums run in f32 over blocks of at most KERN_BLOCK rows and then in double, so that
 * neither the length of the array nor the number of threads costs accuracy. */

#define KERN_BLOCK 64

typedef int32_t vi __attribute__((vector_size(KERN_VL * 4)));
typedef uint8_t vb __attribute__((vector_size(KERN_VL)));

/* Bytes -> 32-bit integers; gcc 12 takes __builtin_convertvector apart here, so sets with an instruction for it name
 * it. */
KERN_INLINE vi vwiden(const uint8_t *p)
{
#ifdef KERN_WIDEN
    return (vi)KERN_WIDEN(p);
#else
    vb small;
    memcpy(&small, p, sizeof small);
    return __builtin_convertvector(small, vi);
#endif
}

KERN_INLINE vf vselect(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }

static void from_bf16(int64_t n, const uint16_t *restrict x, float *restrict y)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)x[i] << 16;
        memcpy(y + i, &u, sizeof u);
    }
}

static void to_bf16(int64_t n, const float *restrict x, uint16_t *restrict y)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, x + i, sizeof u);
        uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
        uint32_t quiet = (u >> 16) | 0x40u;
        y[i] = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
    }
}

static void from_f16(int64_t n, const uint16_t *restrict x, float *restrict y)
{
    int64_t i = 0;
#ifdef KERN_F16C
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
#endif
    for (; i < n; i++) y[i] = ct_f16_to_f32(x[i]);
}

static void to_f16(int64_t n, const float *restrict x, uint16_t *restrict y)
{
    int64_t i = 0;
#ifdef KERN_F16C
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++) y[i] = ct_f32_to_f16(x[i]);
}

/* Outputs may lie on an input here (in-place calls), so no restrict: iterations are independent all the same. */
#if defined(__clang__)
#define KERN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KERN_INDEPENDENT _Pragma("GCC ivdep")
#endif

static void add(int64_t n, const float *a, const float *b, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

static void mul(int64_t n, const float *a, const float *b, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

static void axpby(int64_t n, float alpha, const float *x, float beta, float *y)
{
    if (beta == 0) {
        KERN_INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = alpha * x[i];
        return;
    }
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = beta * y[i] + alpha * x[i];
}

static void mask_scale(int64_t n, const float *x, const uint8_t *mask, float s, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float v = x[i] * s;
        y[i] = mask[i] ? v : 0;
    }
}

static void leaky(int64_t n, const float *x, float alpha, float *y)
{
    if (alpha == 0) { /* ReLU: 0 * infinity must not come into it */
        KERN_INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
        return;
    }
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float v = x[i], low = alpha * v;
        y[i] = v < 0 ? low : v;
    }
}

static void leaky_bwd(int64_t n, const float *dy, const float *y, float alpha, float *dx)
{
    if (alpha == 0) {
        KERN_INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            float g = dy[i];
            dx[i] = y[i] > 0 ? g : 0;
        }
        return;
    }
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = dy[i], low = alpha * g;
        dx[i] = y[i] > 0 ? g : low;
    }
}

static void sigmoid_bwd(int64_t n, const float *dy, const float *y, float *dx)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * (y[i] * (1 - y[i]));
}

static void tanh_bwd(int64_t n, const float *dy, const float *y, float *dx)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * (1 - y[i] * y[i]);
}

static void mac(int64_t n, const float *restrict a, const float *restrict b, float *restrict y)
{
    for (int64_t i = 0; i < n; i++) y[i] += a[i] * b[i];
}

/* total[i] += v[i]; through memory, so that the widening is done by vectors. */
KERN_INLINE void vadd_to(double *restrict total, vf v)
{
    float part[KERN_VL];
    vstore(part, v);
    for (int i = 0; i < KERN_VL; i++) total[i] += (double)part[i];
}

/* The column reductions below take nv vectors of columns side by side (KERN_WIDE, KERN_NV, 2 or 1): long pieces of a
 * row, which is what the memory is good at, and independent sums. */
#define KERN_WIDE (2 * KERN_NV)

KERN_INLINE void col_sums_tile(int64_t rows, int64_t ld, const float *x, double *sum, const int nv)
{
    vf s[KERN_WIDE];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) s[v] = vsplat(0);
    for (int64_t r = 0; r < rows; r++, x += ld) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) s[v] += vload(x + v * KERN_VL);
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) vadd_to(sum + v * KERN_VL, s[v]);
}

static void col_sums(int64_t rows, int64_t cols, int64_t ld, const float *x, double *sum)
{
    for (int64_t r0 = 0; r0 < rows; r0 += KERN_BLOCK) {
        const int64_t n = rows < r0 + KERN_BLOCK ? rows - r0 : KERN_BLOCK;
        const float *block = x + r0 * ld;
        int64_t c = 0;
        for (; c + KERN_WIDE * KERN_VL <= cols; c += KERN_WIDE * KERN_VL)
            col_sums_tile(n, ld, block + c, sum + c, KERN_WIDE);
        for (; c + KERN_NV * KERN_VL <= cols; c += KERN_NV * KERN_VL) col_sums_tile(n, ld, block + c, sum + c, KERN_NV);
        for (; c + 2 * KERN_VL <= cols; c += 2 * KERN_VL) col_sums_tile(n, ld, block + c, sum + c, 2);
        for (; c + KERN_VL <= cols; c += KERN_VL) col_sums_tile(n, ld, block + c, sum + c, 1);
        for (; c < cols; c++) {
            float s = 0;
            for (int64_t r = 0; r < n; r++) s += block[r * ld + c];
            sum[c] += (double)s;
        }
    }
}

static double sum_squares(int64_t n, const float *x, bool *finite)
{
    double sum = 0;
    int64_t i = 0;
    while (i + KERN_VL <= n) {
        int64_t end = i + KERN_BLOCK * KERN_VL < n ? i + KERN_BLOCK * KERN_VL : n;
        vf q = vsplat(0), bad = vsplat(0);
        for (; i + KERN_VL <= end; i += KERN_VL) {
            vf v = vload(x + i);
            q += v * v;
            bad += v * 0; /* stays 0 unless an element is NaN or infinite */
        }
        for (int k = 0; k < KERN_VL; k++) {
            sum += (double)q[k];
            if (bad[k] != 0) *finite = false;
        }
    }
    for (; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
        if (x[i] * 0 != 0) *finite = false;
    }
    return sum;
}

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

/* A store that goes past the caches where the set has one and `stream` says so: p is then aligned to a vector. */
KERN_INLINE void vstore_past(float *p, vf v, const bool stream)
{
#ifdef KERN_STREAM
    if (stream) {
        KERN_STREAM(p, v);
        return;
    }
#else
    (void)stream;
#endif
    vstore(p, v);
}

KERN_INLINE void stream_end(const bool stream)
{
#ifdef KERN_STREAM_END
    if (stream) KERN_STREAM_END();
#else
    (void)stream;
#endif
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

/* ---- copying ---- */

static void copy_rows(int64_t rows, int64_t n, const float *src, int64_t ld_src, float *dst, int64_t ld_dst)
{
    for (int64_t r = 0; r < rows; r++, src += ld_src, dst += ld_dst) {
        int64_t i = 0;
        for (; i + KERN_VL <= n; i += KERN_VL) vstore(dst + i, vload(src + i));
        if (i == n) continue;
        if (n >= KERN_VL) /* the last vector overlaps the one before */
            vstore(dst + n - KERN_VL, vload(src + n - KERN_VL));
        else
            for (; i < n; i++) dst[i] = src[i];
    }
}

/* Lanes of two vectors in turn, from their first or second halves. */
#if KERN_VL == 16
#define KERN_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define KERN_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif KERN_VL == 8
#define KERN_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define KERN_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define KERN_LOW 0, 4, 1, 5
#define KERN_HIGH 2, 6, 3, 7
#endif

static void transpose(int64_t rows, int64_t cols, const float *src, int64_t ld_src, float *dst, int64_t ld_dst)
{
    int64_t r = 0;
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
    /* A square of vectors at a time: when rows i and i + half are merged lane by lane, log2(KERN_VL) times, each ends
     * as a column. */
    for (; r + KERN_VL <= rows; r += KERN_VL) {
        int64_t c = 0;
        for (; c + KERN_VL <= cols; c += KERN_VL) {
            vf a[KERN_VL], b[KERN_VL];
            KERN_UNROLL_LANES
            for (int i = 0; i < KERN_VL; i++) a[i] = vload(src + (r + i) * ld_src + c);
            for (int round = KERN_VL; round > 1; round /= 4) {
                KERN_UNROLL_LANES
                for (int i = 0; i < KERN_VL / 2; i++) {
                    b[2 * i] = __builtin_shufflevector(a[i], a[i + KERN_VL / 2], KERN_LOW);
                    b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + KERN_VL / 2], KERN_HIGH);
                }
                if (round == 2) {
                    KERN_UNROLL_LANES
                    for (int i = 0; i < KERN_VL; i++) a[i] = b[i];
                    break;
                }
                KERN_UNROLL_LANES
                for (int i = 0; i < KERN_VL / 2; i++) {
                    a[2 * i] = __builtin_shufflevector(b[i], b[i + KERN_VL / 2], KERN_LOW);
                    a[2 * i + 1] = __builtin_shufflevector(b[i], b[i + KERN_VL / 2], KERN_HIGH);
                }
            }
            KERN_UNROLL_LANES
            for (int i = 0; i < KERN_VL; i++) vstore(dst + (c + i) * ld_dst + r, a[i]);
        }
        for (; c < cols; c++)
            for (int i = 0; i < KERN_VL; i++) dst[c * ld_dst + r + i] = src[(r + i) * ld_src + c];
    }
#endif
#endif
    for (; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) dst[c * ld_dst + r] = src[r * ld_src + c];
}

/* ---- pooling ---- */

static void max_row(int64_t n, int64_t c, const float *x, int64_t step, int64_t taps, const int64_t *off,
                    const int32_t *number, float *y, uint8_t *code)
{
    for (int64_t i = 0; i < n; i++, x += step, y += c, code += c) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf best = vload(x + off[0] + ch);
            vi at = (vi){ 0 } + number[0];
            for (int64_t t = 1; t < taps; t++) {
                vf v = vload(x + off[t] + ch);
                vi wins = (v > best) | ((v != v) & (best == best));
                best = vselect(wins, v, best);
                at = (at & ~wins) | (((vi){ 0 } + number[t]) & wins);
            }
            vstore(y + ch, best);
            vb small = __builtin_convertvector(at, vb);
            memcpy(code + ch, &small, sizeof small);
        }
        for (; ch < c; ch++) {
            float best = x[off[0] + ch];
            int32_t at = number[0];
            for (int64_t t = 1; t < taps; t++) {
                float v = x[off[t] + ch];
                if (!(v > best || (v != v && best == best))) continue;
                best = v;
                at = number[t];
            }
            y[ch] = best;
            code[ch] = (uint8_t)at;
        }
    }
}

static void max_row_bwd(int64_t n, int64_t c, const float *dy, const uint8_t *code, int64_t taps, const int64_t *off,
                        const int32_t *number, float *dx, int64_t dx_step)
{
    for (int64_t i = 0; i < n; i++, dy += c, code += c, dx += dx_step) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf sum = vsplat(0);
            for (int64_t t = 0; t < taps; t++) {
                vi won = vwiden(code + off[t] + ch) == (vi){ 0 } + number[t];
                sum += vselect(won, vload(dy + off[t] + ch), vsplat(0));
            }
            vstore(dx + ch, sum);
        }
        for (; ch < c; ch++) {
            float sum = 0;
            for (int64_t t = 0; t < taps; t++)
                if (code[off[t] + ch] == number[t]) sum += dy[off[t] + ch];
            dx[ch] = sum;
        }
    }
}

static void sum_row(int64_t n, int64_t c, const float *x, int64_t step, int64_t taps, const int64_t *off, float factor,
                    float *y, int64_t y_step)
{
    for (int64_t i = 0; i < n; i++, x += step, y += y_step) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf sum = vsplat(0);
            for (int64_t t = 0; t < taps; t++) sum += vload(x + off[t] + ch);
            vstore(y + ch, sum * vsplat(factor));
        }
        for (; ch < c; ch++) {
            float sum = 0;
            for (int64_t t = 0; t < taps; t++) sum += x[off[t] + ch];
            y[ch] = sum * factor;
        }
    }
}

/* ---- LSTM ---- */

static void lstm_units(int64_t n, const float *restrict xg, float *restrict gates, const float *restrict c_prev,
                       float *restrict c, float *restrict h)
{
    for (int64_t j = 0; j < n; j++) {
        ct_lstm_gates_f32 a = { gates[j] + xg[j], gates[n + j] + xg[n + j], gates[2 * n + j] + xg[2 * n + j],
                                gates[3 * n + j] + xg[3 * n + j] };
        a = ct_lstm_unit_f32(a, c_prev[j], &c[j], &h[j]);
        gates[j] = a.i;
        gates[n + j] = a.f;
        gates[2 * n + j] = a.g;
        gates[3 * n + j] = a.o;
    }
}

static void lstm_units_bwd(int64_t n, const float *restrict gates, const float *restrict c,
                           const float *restrict c_prev, const float *restrict dy, const float *restrict dh_next,
                           float *restrict dc, float *restrict da)
{
    for (int64_t j = 0; j < n; j++) {
        ct_lstm_gates_f32 v = { gates[j], gates[n + j], gates[2 * n + j], gates[3 * n + j] };
        v = ct_lstm_unit_bwd_f32(v, c[j], c_prev[j], dy[j] + dh_next[j], &dc[j]);
        da[j] = v.i;
        da[n + j] = v.f;
        da[2 * n + j] = v.g;
        da[3 * n + j] = v.o;
    }
}

/* ---- optimizer ---- */

static void adam(int64_t n, const ct_adam_coef_f32 *coef, const float *restrict g, float *restrict p, float *restrict m,
                 float *restrict v)
{
    const ct_adam_coef_f32 c = *coef;
    for (int64_t i = 0; i < n; i++) ct_adam_f32(&c, g[i], p + i, m + i, v + i);
}

static void sgd(int64_t n, const ct_sgd_coef *coef, const float *restrict g, float *restrict p, float *restrict buf)
{
    const ct_sgd_coef c = *coef;
    if (c.first) {
        for (int64_t i = 0; i < n; i++) buf[i] = 0; /* what it holds is not to be read, not even as a factor of 0 */
    }
    for (int64_t i = 0; i < n; i++) ct_sgd_f32(&c, g[i], p + i, buf + i);
}

static void ema(int64_t n, float d, float one_minus_d, const float *restrict src, float *restrict shadow)
{
    for (int64_t i = 0; i < n; i++) shadow[i] = ct_ema_f32(d, one_minus_d, shadow[i], src[i]);
}
