/* l2_normalize, l2_normalize_bwd: vectors made one long. A few operations each, which nothing is gained by doing side by
 * side; a thread takes a piece of the rows. Sums are in f64; 16-bit tensors pass through f32 blocks on the stack. */
#include "config.h"

#include <math.h>

#include "backends/cpu/cpu.h"
#include "ops/math/mask_math.h"

#define TILE_COLS 128 /* elements of a row that are in a block */
#define LENGTH_ROWS 1024 /* least rows of a piece */

typedef struct lengths {
    const ct_kern *kern;
    const ct_call *call;
    ct_pieces pieces;
    int64_t rows, cols;
} lengths;

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The vector that piece `item` begins with, and the one behind its last. */
static int64_t first_row(const lengths *g, int64_t item) { return ct_min64(g->rows, item * g->pieces.size); }

static void length_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const lengths *g = arg;
    const ct_tensor *x = &g->call->in[0], *y = &g->call->out[0];
    float buf[TILE_COLS];
    for (int64_t m = first_row(g, item); m < first_row(g, item + 1); m++) {
        double square = 0;
        for (int64_t c = 0; c < g->cols; c += TILE_COLS) {
            const int64_t n = ct_min64(TILE_COLS, g->cols - c);
            const float *v = ct_cpu_read(g->kern, x->desc.dtype, x->data, m * g->cols + c, n, buf);
            square += dot(v, v, n);
        }
        const double r = fmax(sqrt(square), CT_NORM_LEAST);
        for (int64_t c = 0; c < g->cols; c += TILE_COLS) {
            const int64_t n = ct_min64(TILE_COLS, g->cols - c);
            const float *v = ct_cpu_read(g->kern, x->desc.dtype, x->data, m * g->cols + c, n, buf);
            float *out = ct_cpu_write(y->desc.dtype, y->data, m * g->cols + c, buf);
            for (int64_t i = 0; i < n; i++) out[i] = (float)((double)v[i] / r);
            ct_cpu_write_end(g->kern, y->desc.dtype, y->data, m * g->cols + c, n, out);
        }
    }
}

static void length_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const lengths *g = arg;
    const ct_tensor *dy = &g->call->in[0], *x = &g->call->in[1], *dx = &g->call->out[0];
    float buf[2][TILE_COLS];
    for (int64_t m = first_row(g, item); m < first_row(g, item + 1); m++) {
        double square = 0, along = 0;
        for (int64_t c = 0; c < g->cols; c += TILE_COLS) {
            const int64_t n = ct_min64(TILE_COLS, g->cols - c);
            const float *v = ct_cpu_read(g->kern, x->desc.dtype, x->data, m * g->cols + c, n, buf[0]);
            const float *d = ct_cpu_read(g->kern, dy->desc.dtype, dy->data, m * g->cols + c, n, buf[1]);
            square += dot(v, v, n);
            along += dot(v, d, n);
        }
        const double length = sqrt(square), r = fmax(length, CT_NORM_LEAST);
        const double share = length < CT_NORM_LEAST ? 0 : along / (r * r);
        for (int64_t c = 0; c < g->cols; c += TILE_COLS) {
            const int64_t n = ct_min64(TILE_COLS, g->cols - c);
            const float *v = ct_cpu_read(g->kern, x->desc.dtype, x->data, m * g->cols + c, n, buf[0]);
            const float *d = ct_cpu_read(g->kern, dy->desc.dtype, dy->data, m * g->cols + c, n, buf[1]);
            float *out = ct_cpu_write(dx->desc.dtype, dx->data, m * g->cols + c, buf[1]);
            for (int64_t i = 0; i < n; i++) out[i] = (float)(((double)d[i] - (double)v[i] * share) / r);
            ct_cpu_write_end(g->kern, dx->desc.dtype, dx->data, m * g->cols + c, n, out);
        }
    }
}

static ct_accept l2_normalize_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cpu_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CPU_NO_TYPE);
}

static ct_status run_lengths(const ct_device *dev, const ct_call *c, ct_cpu_body body)
{
    const ct_desc *x = &c->in[0].desc;
    lengths g = { .kern = dev->kern, .call = c, .cols = x->dim[x->ndim - 1] };
    g.rows = ct_desc_numel(x) / g.cols;
    g.pieces = ct_cpu_pieces(g.rows, 1, ct_max64(1, LENGTH_ROWS / g.cols));
    ct_cpu_for(dev, g.pieces.count, body, &g);
    return CT_OK;
}

static ct_status l2_normalize_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run_lengths(dev, c, length_item);
}

static ct_status l2_normalize_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run_lengths(dev, c, length_bwd_item);
}

static const ct_impl impls[] = {
    { CT_OP_L2_NORMALIZE, "cpu.rows", CT_CPU_TUNED, l2_normalize_accept, l2_normalize_run },
    { CT_OP_L2_NORMALIZE_BWD, "cpu.rows", CT_CPU_TUNED, l2_normalize_accept, l2_normalize_bwd_run },
};
const ct_impl_set ct_cpu_norm_length_impls = CT_IMPL_SET(impls);
