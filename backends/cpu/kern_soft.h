/* Body of the kernels with exponentials in them: log-softmax of a row, two rows compared, and the lattice of CTC. Included after
 * kern_conv.h by kern_table.h.
 *
 * exp(x) = 2^n exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2, by the Taylor polynomial of exp around 0. Arguments
 * are
 * <= 0 here; what would be below the smallest normal number is 0, and NaN stays. */

#define SOFT_VD (KERN_VL / 2) /* doubles of a vector */
#define SOFT_ROUNDS 64        /* vectors summed in f32 before the sum goes on in double */

typedef int32_t soft_vi __attribute__((vector_size(KERN_VL * 4)));
typedef double soft_vd __attribute__((vector_size(KERN_VL * 4)));
typedef double soft_vdu __attribute__((vector_size(KERN_VL * 4), aligned(8), may_alias));
typedef int64_t soft_vl __attribute__((vector_size(KERN_VL * 4)));
typedef uint32_t soft_bits __attribute__((vector_size(KERN_VL * 4)));
typedef uint64_t soft_dbits __attribute__((vector_size(KERN_VL * 4)));

KERN_INLINE vf soft_select(soft_vi mask, vf a, vf b) { return (vf)(((soft_vi)a & mask) | ((soft_vi)b & ~mask)); }

/* x <= 0; seven terms: below one rounding of f32. */
KERN_INLINE vf soft_exp(vf x)
{
    const vf magic = vsplat(12582912.0f); /* 1.5 * 2^23: adding it rounds to a whole number in the lowest bits */
    const vf shifted = x * 1.44269504088896341f + magic;
    const vf n = shifted - magic;
    vf r = x - n * 0.693145751953125f; /* ln 2 in two parts, the first with zeros at its end */
    r = r - n * 1.42860682030941e-6f;
    vf p = vsplat(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const soft_bits power = (((soft_bits)shifted - (soft_bits)magic) + 127) << 23;
    return soft_select(x < -87.3f, vsplat(0), p * (vf)power);
}

KERN_INLINE double soft_lanes(vf v)
{
    double sum = 0;
    for (int i = 0; i < KERN_VL; i++) sum += (double)v[i];
    return sum;
}

/* Elements i.. of a row; behind its end `fill`. */
KERN_INLINE vf soft_load(const float *x, int64_t i, int64_t n, float fill)
{
    if (i + KERN_VL <= n) return vload(x + i);
    float edge[KERN_VL];
    for (int64_t k = 0; k < KERN_VL; k++) edge[k] = i + k < n ? x[i + k] : fill;
    return vload(edge);
}

KERN_INLINE void soft_store(float *y, int64_t i, int64_t n, vf v)
{
    if (i + KERN_VL <= n) {
        vstore(y + i, v);
        return;
    }
    float edge[KERN_VL];
    vstore(edge, v);
    for (int64_t k = 0; i + k < n; k++) y[i + k] = edge[k];
}

/* The largest of scale*x, and the sum of exp(scale*x - largest). */
typedef struct soft_row {
    float top;
    double sum;
} soft_row;

KERN_INLINE soft_row soft_row_of(int64_t n, const float *x, const float scale)
{
    vf top = soft_load(x, 0, n, -INFINITY) * scale, part = vsplat(0);
    for (int64_t i = KERN_VL; i < n; i += KERN_VL) {
        const vf v = soft_load(x, i, n, -INFINITY) * scale;
        top = soft_select(v > top, v, top);
    }
    soft_row row = { .top = top[0] };
    for (int i = 1; i < KERN_VL; i++) row.top = top[i] > row.top ? top[i] : row.top;
    for (int64_t i = 0; i < n; i += KERN_VL) {
        part += soft_exp(soft_load(x, i, n, -INFINITY) * scale - row.top);
        if (i / KERN_VL % SOFT_ROUNDS != SOFT_ROUNDS - 1) continue;
        row.sum += soft_lanes(part);
        part = vsplat(0);
    }
    row.sum += soft_lanes(part);
    return row;
}

static void log_softmax(int64_t n, const float *x, float *y)
{
    const soft_row row = soft_row_of(n, x, 1);
    const float rest = (float)log(row.sum);
    for (int64_t i = 0; i < n; i += KERN_VL) soft_store(y, i, n, (soft_load(x, i, n, 0) - row.top) - rest);
}

static void log_softmax_bwd(int64_t n, const float *dy, const float *y, float *dx)
{
    vf part = vsplat(0);
    double sum = 0;
    for (int64_t i = 0; i < n; i += KERN_VL) {
        part += soft_load(dy, i, n, 0);
        if (i / KERN_VL % SOFT_ROUNDS != SOFT_ROUNDS - 1) continue;
        sum += soft_lanes(part);
        part = vsplat(0);
    }
    const float total = (float)(sum + soft_lanes(part));
    for (int64_t i = 0; i < n; i += KERN_VL)
        soft_store(dx, i, n, soft_load(dy, i, n, 0) - soft_exp(soft_load(y, i, n, 0)) * total);
}

/* ---- two rows of scores compared ---- */

/* Differences of logarithms are taken of the scores, which may be near each other, less one number for the whole row. */
typedef struct soft_pair {
    float inv, top_s, rest_s, top_t, rest_t, apart;
} soft_pair;

KERN_INLINE soft_pair soft_pair_of(int64_t n, float inv, const float *s, const float *t)
{
    const soft_row a = soft_row_of(n, s, inv), b = soft_row_of(n, t, inv);
    const double log_a = log(a.sum), log_b = log(b.sum);
    return (soft_pair){ inv, a.top, (float)log_a, b.top, (float)log_b,
                        (float)((double)b.top - (double)a.top + log_b - log_a) };
}

/* log q - log p */
KERN_INLINE vf soft_apart(const soft_pair *r, vf s, vf t) { return (t - s) * r->inv - r->apart; }

static double distill(int64_t n, float inv, const float *s, const float *t)
{
    const soft_pair r = soft_pair_of(n, inv, s, t);
    vf part = vsplat(0);
    double sum = 0;
    for (int64_t i = 0; i < n; i += KERN_VL) {
        const vf a = soft_load(s, i, n, 0), b = soft_load(t, i, n, -INFINITY);
        const vf q = soft_exp((b * inv - r.top_t) - r.rest_t), v = q * soft_apart(&r, a, b);
        part += soft_select(q > 0, v, q); /* what has no probability says nothing, and NaN stays */
        if (i / KERN_VL % SOFT_ROUNDS != SOFT_ROUNDS - 1) continue;
        sum += soft_lanes(part);
        part = vsplat(0);
    }
    return sum + soft_lanes(part);
}

static void distill_bwd(int64_t n, float inv, float g, float kl, const float *s, const float *t, float *ds, float *dt)
{
    const soft_pair r = soft_pair_of(n, inv, s, t);
    for (int64_t i = 0; i < n; i += KERN_VL) {
        const vf a = soft_load(s, i, n, 0), b = soft_load(t, i, n, 0);
        const vf p = soft_exp((a * inv - r.top_s) - r.rest_s), q = soft_exp((b * inv - r.top_t) - r.rest_t);
        soft_store(ds, i, n, (p - q) * g);
        if (dt) soft_store(dt, i, n, soft_select(q > 0, q * (soft_apart(&r, a, b) - kl), q) * g);
    }
}

/* ---- CTC, in double ---- */

KERN_INLINE soft_vd soft_dload(const double *p) { return *(const soft_vdu *)p; }
KERN_INLINE void soft_dstore(double *p, soft_vd v) { *(soft_vdu *)p = v; }
KERN_INLINE soft_vd soft_dsplat(double s) { return s - (soft_vd){ 0 }; }
KERN_INLINE soft_vd soft_dselect(soft_vl mask, soft_vd a, soft_vd b)
{
    return (soft_vd)(((soft_vl)a & mask) | ((soft_vl)b & ~mask));
}

/* x <= 0; relative error below 1e-11: results are stored in f32. */
KERN_INLINE soft_vd soft_dexp(soft_vd x)
{
    const soft_vd magic = soft_dsplat(6755399441055744.0); /* 1.5 * 2^52 */
    const soft_vd shifted = x * 1.4426950408889634074 + magic;
    const soft_vd n = shifted - magic;
    soft_vd r = x - n * 0.69314718036912381649; /* ln 2 in two parts */
    r = r - n * 1.9082149292705877e-10;
    soft_vd p = soft_dsplat(1.0 / 362880);
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const soft_dbits power = (((soft_dbits)shifted - (soft_dbits)magic) + 1023) << 52;
    return soft_dselect(x < -708.0, soft_dsplat(0), p * (soft_vd)power);
}

/* log of 1 <= v <= 3: halved where that brings it nearer to 1, then 2 atanh((v-1)/(v+1)); error below 1e-11. */
KERN_INLINE soft_vd soft_dlog(soft_vd v)
{
    const soft_vl big = v > 1.68;
    v = soft_dselect(big, v * 0.5, v);
    const soft_vd z = (v - 1.0) / (v + 1.0), q = z * z;
    soft_vd p = soft_dsplat(1.0 / 17);
    p = p * q + 1.0 / 15;
    p = p * q + 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    p = p * q + 1.0;
    return 2.0 * z * p + soft_dselect(big, soft_dsplat(0.69314718055994530942), soft_dsplat(0));
}

static double ctc_step(int64_t n, const double *a, const double *b, const double *c, const double *skip,
                       const double *emit, double *out)
{
    soft_vd top = soft_dsplat(-INFINITY);
    for (int64_t s = 0; s < n; s += SOFT_VD) {
        const soft_vd x = soft_dload(a + s), y = soft_dload(b + s), w = soft_dload(c + s) + soft_dload(skip + s);
        const soft_vl xy = x > y;
        const soft_vd high = soft_dselect(xy, x, y), low = soft_dselect(xy, y, x);
        const soft_vl hw = high > w;
        const soft_vd m = soft_dselect(hw, high, w);
        const soft_vd other = soft_dselect(hw, w, high);
        const soft_vd v = soft_dload(emit + s) + m + soft_dlog(1.0 + (soft_dexp(other - m) + soft_dexp(low - m)));
        soft_dstore(out + s, v);
        top = soft_dselect(v > top, v, top);
    }
    double m = top[0];
    for (int i = 1; i < SOFT_VD; i++) m = top[i] > m ? top[i] : m;
    return m;
}

static double ctc_weights(int64_t n, double *g)
{
    soft_vd top = soft_dload(g), sum = soft_dsplat(0);
    for (int64_t s = SOFT_VD; s < n; s += SOFT_VD) {
        const soft_vd v = soft_dload(g + s);
        top = soft_dselect(v > top, v, top);
    }
    double m = top[0], total = 0;
    for (int i = 1; i < SOFT_VD; i++) m = top[i] > m ? top[i] : m;
    for (int64_t s = 0; s < n; s += SOFT_VD) {
        const soft_vd v = soft_dexp(soft_dload(g + s) - m);
        soft_dstore(g + s, v);
        sum += v;
    }
    for (int i = 0; i < SOFT_VD; i++) total += sum[i];
    return total;
}

static const ct_kern_soft soft_kernels = { .log_softmax = log_softmax, .log_softmax_bwd = log_softmax_bwd,
                                          .distill = distill, .distill_bwd = distill_bwd };
static const ct_kern_ctc ctc_kernels = { .step = ctc_step, .weights = ctc_weights };
