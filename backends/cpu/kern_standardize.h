/* Body of the kernels of one sample's mean and deviation: sums of long arrays, and what is made of them element by
 * element. */

#define KERN_SIDES 4 /* sums side by side, so that an addition does not wait for the one before */

/* Adds what was summed side by side to *sum. */
KERN_INLINE void sides_to(double *sum, const vf side[KERN_SIDES])
{
    *sum += lanes_sum((side[0] + side[1]) + (side[2] + side[3]));
}

/* Adds to sum the sums of d = x - shift and of d * y, or of d * d where y is NULL. */
KERN_INLINE void sample_sums(int64_t n, const float *x, float shift, const float *y, double sum[2])
{
    const vf less = vsplat(shift);
    int64_t i = 0;
    while (i + KERN_SIDES * KERN_VL <= n) {
        const int64_t end = i + KERN_BLOCK * KERN_VL < n ? i + KERN_BLOCK * KERN_VL : n;
        vf s[KERN_SIDES] = { 0 }, q[KERN_SIDES] = { 0 };
        for (; i + KERN_SIDES * KERN_VL <= end; i += KERN_SIDES * KERN_VL) {
            KERN_UNROLL
            for (int v = 0; v < KERN_SIDES; v++) {
                const vf d = vload(x + i + v * KERN_VL) - less;
                s[v] += d;
                q[v] += d * (y ? vload(y + i + v * KERN_VL) : d);
            }
        }
        sides_to(&sum[0], s);
        sides_to(&sum[1], q);
    }
    for (; i < n; i++) {
        const double d = (double)(x[i] - shift);
        sum[0] += d;
        sum[1] += d * (y ? (double)y[i] : d);
    }
}

static void sample_moments(int64_t n, const float *x, float shift, double sum[2])
{
    sample_sums(n, x, shift, NULL, sum);
}

static void sample_bwd_sums(int64_t n, const float *dy, const float *y, double sum[2])
{
    sample_sums(n, dy, 0, y, sum);
}

static void sample_apply(int64_t n, const float *x, const float mean[2], float scale, float *y)
{
    const float high = mean[0], low = mean[1];
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = ((x[i] - high) - low) * scale;
}

static void sample_bwd_apply(int64_t n, const float *dy, const float *y, float mean, float along, float scale, float *dx)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) dx[i] = scale * ((dy[i] - mean) - y[i] * along);
}

static const ct_kern_standardize standardize_kernels = {
    .moments = sample_moments,
    .apply = sample_apply,
    .bwd_sums = sample_bwd_sums,
    .bwd_apply = sample_bwd_apply,
};
