/* dft_magnitude and its gradient: products with a matrix of cosines and sines, which is made anew for each call: C sines
 * and as many copies as the matrix has elements are little beside the products of some rows, and no length is worse than another. */
#include "config.h"

#include "backends/cpu/cpu.h"
#include "ops/math/spectrum_math.h"

#include <math.h>

enum { ROWS = 16 }; /* of a piece; bits do not depend on the number of threads */

typedef struct spectrum {
    const ct_call *call;
    int64_t rows, cols, half; /* half: C/2 + 1 */
    float *wave;              /* [cols][2 half]: cosines, then sines */
    float *slope;             /* backward: [rows][2 half], gradients of the parts */
} spectrum;

static size_t carve(spectrum *g, bool backward, void *scratch)
{
    ct_carve c = { .base = scratch };
    g->wave = ct_carve_take(&c, (size_t)(g->cols * 2 * g->half) * sizeof(float));
    if (backward) g->slope = ct_carve_take(&c, (size_t)(g->rows * 2 * g->half) * sizeof(float));
    return c.used;
}

static spectrum make(const ct_call *c)
{
    const ct_desc *d = &c->in[0].desc;
    spectrum g = { .call = c, .cols = d->dim[d->ndim - 1] };
    g.rows = ct_desc_numel(d) / g.cols;
    g.half = g.cols / 2 + 1;
    return g;
}

/* Row 1 holds all roots of unity up to a half turn; the others repeat them, turned back by whole turns. */
static void make_wave(const spectrum *g)
{
    const double turn = 2 * acos(-1.0);
    const int64_t n = g->cols, half = g->half;
    for (int64_t k = 0; k < half; k++) {
        g->wave[k] = 1;
        g->wave[half + k] = 0;
        if (n < 2) continue;
        g->wave[2 * half + k] = (float)cos(turn * (double)k / (double)n);
        g->wave[3 * half + k] = (float)sin(turn * (double)k / (double)n);
    }
    const float *root = g->wave + 2 * half;
    for (int64_t c = 2; c < n; c++) {
        float *w = g->wave + c * 2 * half;
        for (int64_t k = 0, at = 0; k < half; k++, at = (at + c) % n) {
            const bool back = at >= half; /* root n - j is the conjugate of root j */
            w[k] = root[back ? n - at : at];
            w[half + k] = back ? -root[half + n - at] : root[half + at];
        }
    }
}

static void forward_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const spectrum *g = arg;
    const int64_t from = item * ROWS, n = ct_min64(ROWS, g->rows - from), half = g->half;
    const float share = (float)(1 / (double)g->cols);
    float *part = (float *)g->call->out[1].data + from * 2 * half;
    ct_cpu_sgemm(false, false, n, 2 * half, g->cols, (const float *)g->call->in[0].data + from * g->cols, g->cols,
                 g->wave, 2 * half, 0, part, 2 * half);
    for (int64_t r = 0; r < n; r++) {
        float *y = (float *)g->call->out[0].data + (from + r) * g->cols;
        for (int64_t k = 0; k < half; k++) {
            y[k] = share * hypotf(part[r * 2 * half + k], part[r * 2 * half + half + k]);
            if (k > 0) y[g->cols - k] = y[k];
        }
    }
}

static void backward_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const spectrum *g = arg;
    const int64_t from = item * ROWS, n = ct_min64(ROWS, g->rows - from), half = g->half;
    const float share = (float)(1 / (double)g->cols);
    for (int64_t r = from; r < from + n; r++) {
        const float *dy = (const float *)g->call->in[0].data + r * g->cols;
        const float *part = (const float *)g->call->in[1].data + r * 2 * half;
        float *slope = g->slope + r * 2 * half;
        for (int64_t k = 0; k < half; k++) {
            float along, across;
            const float both = k > 0 && 2 * k != g->cols ? dy[k] + dy[g->cols - k] : dy[k];
            ct_direction(part[k], part[half + k], &along, &across);
            slope[k] = share * both * along;
            slope[half + k] = share * both * across;
        }
    }
    ct_cpu_sgemm(false, true, n, g->cols, 2 * half, g->slope + from * 2 * half, 2 * half, g->wave, 2 * half, 0,
                 (float *)g->call->out[0].data + from * g->cols, g->cols);
}

static ct_accept accept_with(const ct_call *c, bool backward)
{
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    spectrum g = make(c);
    return ct_accept_yes(carve(&g, backward, NULL));
}

static ct_status run(ct_device *dev, const ct_call *c, bool backward, void *scratch)
{
    spectrum g = make(c);
    carve(&g, backward, scratch);
    make_wave(&g);
    ct_cpu_for(dev, ct_ceil_div(g.rows, ROWS), backward ? backward_item : forward_item, &g);
    return CT_OK;
}

static ct_accept magnitude_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_with(c, false);
}

static ct_status magnitude_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run(dev, c, false, scratch);
}

static ct_accept magnitude_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_with(c, true);
}

static ct_status magnitude_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run(dev, c, true, scratch);
}

static const ct_impl impls[] = {
    { CT_OP_DFT_MAGNITUDE, "cpu.gemm", CT_CPU_TUNED, magnitude_accept, magnitude_run },
    { CT_OP_DFT_MAGNITUDE_BWD, "cpu.gemm", CT_CPU_TUNED, magnitude_bwd_accept, magnitude_bwd_run },
};
const ct_impl_set ct_cpu_spectrum_impls = CT_IMPL_SET(impls);
