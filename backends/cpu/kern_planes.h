/* Body of the kernels of convolutions with few channels: pixels along the vector, each channel in a plane of its own,
 * since vectors of channels would be mostly empty. */

#define KERN_PL_NV 2    /* vectors of pixels side by side */
#define KERN_PL_TERMS 2 /* of the filters' gradient: terms whose products with the same outputs are summed side by side */

/* Pixels j on, nk channels from k on. */
KERN_INLINE void pl_tile(const ct_planes_row *a, int64_t j, int64_t k, const int nk)
{
    vf sum[CT_PLANES_WIDE][KERN_PL_NV];
    const float *w = a->w + k;
    KERN_UNROLL
    for (int i = 0; i < nk; i++) {
        KERN_UNROLL
        for (int v = 0; v < KERN_PL_NV; v++) sum[i][v] = vsplat(a->bias[k + i]);
    }
    for (int64_t t = 0; t < a->terms; t++, w += a->kw) {
        const float *in = a->in[t] + j;
        vf x[KERN_PL_NV];
        KERN_UNROLL
        for (int v = 0; v < KERN_PL_NV; v++) x[v] = vload(in + v * KERN_VL);
        KERN_UNROLL
        for (int i = 0; i < nk; i++) {
            const vf wi = vsplat(w[i]);
            KERN_UNROLL
            for (int v = 0; v < KERN_PL_NV; v++) sum[i][v] += x[v] * wi;
        }
    }
    KERN_UNROLL
    for (int i = 0; i < nk; i++) {
        KERN_UNROLL
        for (int v = 0; v < KERN_PL_NV; v++) vstore(a->out + (k + i) * a->out_ld + j + v * KERN_VL, sum[i][v]);
    }
}

KERN_INLINE void pl_channels(const ct_planes_row *a, int64_t k, const int nk)
{
    for (int64_t j = 0; j < a->n; j += KERN_PL_NV * KERN_VL) pl_tile(a, j, k, nk);
}

static void planes_row(const ct_planes_row *a)
{
    for (int64_t k = 0; k < a->k; k += CT_PLANES_WIDE) {
        switch (a->k - k) {
        case 1: pl_channels(a, k, 1); break;
        case 2: pl_channels(a, k, 2); break;
        case 3: pl_channels(a, k, 3); break;
        default: pl_channels(a, k, CT_PLANES_WIDE);
        }
    }
}

/* nt terms from t on, nk channels of dy from k on. */
KERN_INLINE void pl_sum_tile(const ct_planes_sum *a, int64_t t, const int nt, int64_t k, const int nk)
{
    vf sum[KERN_PL_TERMS][CT_PLANES_WIDE];
    float *part = a->part + (t * a->kw + k) * CT_KERN_LINE;
    const int64_t next = a->kw * CT_KERN_LINE; /* from a term's sums to the next one's */
    KERN_UNROLL
    for (int u = 0; u < nt; u++) {
        KERN_UNROLL
        for (int i = 0; i < nk; i++) sum[u][i] = vload(part + u * next + i * CT_KERN_LINE);
    }
    for (int64_t j = 0; j < a->n; j += KERN_VL) {
        vf x[KERN_PL_TERMS];
        KERN_UNROLL
        for (int u = 0; u < nt; u++) x[u] = vload(a->x[t + u] + j);
        KERN_UNROLL
        for (int i = 0; i < nk; i++) {
            const vf dy = vload(a->dy + (k + i) * a->dy_ld + j);
            KERN_UNROLL
            for (int u = 0; u < nt; u++) sum[u][i] += x[u] * dy;
        }
    }
    KERN_UNROLL
    for (int u = 0; u < nt; u++) {
        KERN_UNROLL
        for (int i = 0; i < nk; i++) vstore(part + u * next + i * CT_KERN_LINE, sum[u][i]);
    }
}

KERN_INLINE void pl_sum_channels(const ct_planes_sum *a, int64_t k, const int nk)
{
    int64_t t = 0;
    for (; t + KERN_PL_TERMS <= a->terms; t += KERN_PL_TERMS) pl_sum_tile(a, t, KERN_PL_TERMS, k, nk);
    for (; t < a->terms; t++) pl_sum_tile(a, t, 1, k, nk);
}

static void planes_sum(const ct_planes_sum *a)
{
    for (int64_t k = 0; k < a->k; k += CT_PLANES_WIDE) {
        switch (a->k - k) {
        case 1: pl_sum_channels(a, k, 1); break;
        case 2: pl_sum_channels(a, k, 2); break;
        case 3: pl_sum_channels(a, k, 3); break;
        default: pl_sum_channels(a, k, CT_PLANES_WIDE);
        }
    }
}

/* m channels of pixels that have c: where both are numbers that the compiler knows, and the planes' pointers its own, it
 * makes shuffles of whole vectors of this. */
KERN_INLINE void pl_split(int64_t n, const int64_t c, const int64_t m, const float *restrict x, float *planes, int64_t ld)
{
    float *restrict a = planes, *restrict b = planes + ld, *restrict d = planes + 2 * ld, *restrict e = planes + 3 * ld;
    for (int64_t i = 0; i < n; i++) {
        a[i] = x[i * c];
        if (m > 1) b[i] = x[i * c + 1];
        if (m > 2) d[i] = x[i * c + 2];
        if (m > 3) e[i] = x[i * c + 3];
    }
}

KERN_INLINE void pl_join(int64_t n, const int64_t c, const int64_t m, const float *planes, int64_t ld, float *restrict x)
{
    const float *restrict a = planes, *restrict b = planes + ld, *restrict d = planes + 2 * ld;
    const float *restrict e = planes + 3 * ld;
    for (int64_t i = 0; i < n; i++) {
        x[i * c] = a[i];
        if (m > 1) x[i * c + 1] = b[i];
        if (m > 2) x[i * c + 2] = d[i];
        if (m > 3) x[i * c + 3] = e[i];
    }
}

static void planes_split(int64_t n, int64_t c, const float *x, float *planes, int64_t ld)
{
    switch (c) {
    case 1: pl_split(n, 1, 1, x, planes, ld); break;
    case 2: pl_split(n, 2, 2, x, planes, ld); break;
    case 3: pl_split(n, 3, 3, x, planes, ld); break;
    case 4: pl_split(n, 4, 4, x, planes, ld); break;
    case 8: pl_split(n, 8, 4, x, planes, ld), pl_split(n, 8, 4, x + 4, planes + 4 * ld, ld); break;
    default:
        for (int64_t k = 0; k < c; k++) pl_split(n, c, 1, x + k, planes + k * ld, ld);
    }
}

static void planes_join(int64_t n, int64_t c, const float *planes, int64_t ld, float *x)
{
    switch (c) {
    case 1: pl_join(n, 1, 1, planes, ld, x); break;
    case 2: pl_join(n, 2, 2, planes, ld, x); break;
    case 3: pl_join(n, 3, 3, planes, ld, x); break;
    case 4: pl_join(n, 4, 4, planes, ld, x); break;
    case 8: pl_join(n, 8, 4, planes, ld, x), pl_join(n, 8, 4, planes + 4 * ld, ld, x + 4); break;
    default:
        for (int64_t k = 0; k < c; k++) pl_join(n, c, 1, planes + k * ld, ld, x + k);
    }
}

static const ct_kern_planes planes_kernels = {
    .row = planes_row, .sum = planes_sum, .split = planes_split, .join = planes_join
};
