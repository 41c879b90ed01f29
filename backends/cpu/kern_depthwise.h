/* Body of the kernels of depthwise convolution: channels along the vector, a few pixels side by side, so that their sums
 * are independent and a tap's weights are loaded once for all of them. */

#define KERN_DW_PIXELS 8 /* outputs summed side by side */
#define KERN_DW_FEW 4    /* with so few taps memory is what it costs: pixel after pixel, as it lies there */
#define KERN_DW_TAPS 9   /* filter taps whose gradients are summed side by side */
#define KERN_DW_RUN 16   /* outputs whose products are summed before they are added to the gradients in memory */

/* Channels c.. to c + KERN_VL - 1 of np outputs from j on. */
KERN_INLINE void dw_tile(const ct_depthwise_row *a, int64_t j, int64_t c, const int np)
{
    vf sum[KERN_DW_PIXELS];
    KERN_UNROLL
    for (int i = 0; i < np; i++) sum[i] = a->bias ? vload(a->bias + c) : vsplat(0);
    for (int64_t t = 0; t < a->taps; t++) {
        const vf w = vload(a->w[t] + c);
        const float *x = a->in[t] + j * a->in_step + c;
        if (t < a->fetch) { /* between the products, or it would wait for the cache */
            const float *next = a->ahead[t] + (j + np) * a->in_step + c;
            KERN_UNROLL
            for (int i = 0; i < np; i++) KERN_FETCH(next + i * a->in_step);
        }
        KERN_UNROLL
        for (int i = 0; i < np; i++) sum[i] += vload(x + i * a->in_step) * w;
    }
    float *y = a->out + j * a->out_step + c;
    KERN_UNROLL
    for (int i = 0; i < np; i++) vstore(y + i * a->out_step, sum[i]);
}

KERN_INLINE void dw_pixels(const ct_depthwise_row *a, int64_t j, const int np)
{
    int64_t c = 0;
    for (; c + KERN_VL <= a->c; c += KERN_VL) dw_tile(a, j, c, np);
    for (; c < a->c; c++)
        for (int i = 0; i < np; i++) {
            float sum = a->bias ? a->bias[c] : 0;
            for (int64_t t = 0; t < a->taps; t++) sum += a->in[t][(j + i) * a->in_step + c] * a->w[t][c];
            a->out[(j + i) * a->out_step + c] = sum;
        }
}

static void depthwise_row(const ct_depthwise_row *a)
{
    int64_t j = 0;
    for (; a->taps > KERN_DW_FEW && j + KERN_DW_PIXELS <= a->n; j += KERN_DW_PIXELS) dw_pixels(a, j, KERN_DW_PIXELS);
    for (; j + 2 <= a->n; j += 2) dw_pixels(a, j, 2);
    for (; j < a->n; j++) dw_pixels(a, j, 1);
}

/* nt taps from t on, channels c.. to c + KERN_VL - 1, outputs j0 to j1 - 1. */
KERN_INLINE void dw_sum_tile(const ct_depthwise_sum *a, int64_t j0, int64_t j1, int64_t c, int64_t t, const int nt)
{
    vf sum[KERN_DW_TAPS];
    const float *x[KERN_DW_TAPS], *dy = a->dy + j0 * a->dy_step + c;
    KERN_UNROLL_LANES
    for (int i = 0; i < nt; i++) {
        sum[i] = vsplat(0);
        x[i] = a->x[t + i] + j0 * a->x_step + c;
    }
    for (int64_t j = 0; j < j1 - j0; j++, dy += a->dy_step) {
        const vf g = vload(dy);
        if (t == 0) { /* for the run behind this one */
            KERN_FETCH(dy + KERN_DW_RUN * a->dy_step);
            for (int64_t k = 0; k < a->fetch; k++) KERN_FETCH(a->ahead[k] + (j0 + j + KERN_DW_RUN) * a->x_step + c);
        }
        KERN_UNROLL_LANES
        for (int i = 0; i < nt; i++) sum[i] += vload(x[i] + j * a->x_step) * g;
    }
    KERN_UNROLL_LANES
    for (int i = 0; i < nt; i++) vstore(a->dw[t + i] + c, vload(a->dw[t + i] + c) + sum[i]);
}

static void depthwise_sum(const ct_depthwise_sum *a)
{
    for (int64_t j0 = 0; j0 < a->n; j0 += KERN_DW_RUN) {
        const int64_t j1 = a->n < j0 + KERN_DW_RUN ? a->n : j0 + KERN_DW_RUN;
        int64_t c = 0;
        for (; c + KERN_VL <= a->c; c += KERN_VL) {
            int64_t t = 0;
            for (; t + KERN_DW_TAPS <= a->taps; t += KERN_DW_TAPS) dw_sum_tile(a, j0, j1, c, t, KERN_DW_TAPS);
            for (; t + 3 <= a->taps; t += 3) dw_sum_tile(a, j0, j1, c, t, 3);
            for (; t < a->taps; t++) dw_sum_tile(a, j0, j1, c, t, 1);
        }
        for (; c < a->c; c++)
            for (int64_t t = 0; t < a->taps; t++) {
                float sum = 0;
                for (int64_t j = j0; j < j1; j++) sum += a->x[t][j * a->x_step + c] * a->dy[j * a->dy_step + c];
                a->dw[t][c] += sum;
            }
    }
}

static const ct_kern_depthwise depthwise_kernels = { .row = depthwise_row, .sum = depthwise_sum };
