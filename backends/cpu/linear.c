/* linear, its gradients, and bias_grad; few rows: linear_direct.c. The products are OpenBLAS calls on blocks of the result, each by one of the
 * backend's threads; blocks are the same for any number of threads. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <string.h>

#define BLOCK_M 256 /* rows and columns of a block of the result */
#define BLOCK_N 256
#define SHARED_WORK 1.6e7 /* multiplications from which on other threads are woken for it: about 0.2 ms of one core */
#define BLOCK_K 2048      /* depth converted at a time when an operand has 16 bits */

/* C [m,n] = A' B' (+ bias along n): A' [m,k] is A [m,k] or, with ta, the transpose of A [k,m]; B alike. All dense. */
typedef struct product {
    const ct_kern *kern;
    const ct_tensor *a, *b, *bias, *c; /* bias may be NULL */
    bool ta, tb;
    int64_t m, n, k, blocks_m, blocks_n;
    bool convert;
    char *threads;
    size_t per_thread;
} product;

static size_t lay_out(product *g, int threads, void *base)
{
    ct_carve t = { NULL, 0 };
    if (g->convert) {
        const size_t k = (size_t)ct_min64(g->k, BLOCK_K);
        ct_carve_take(&t, (size_t)ct_min64(g->m, BLOCK_M) * k * 4);
        ct_carve_take(&t, (size_t)ct_min64(g->n, BLOCK_N) * k * 4);
        ct_carve_take(&t, (size_t)(ct_min64(g->m, BLOCK_M) * ct_min64(g->n, BLOCK_N)) * 4);
    }
    g->per_thread = t.used;
    g->threads = base;
    return g->per_thread * (size_t)threads;
}

static product product_make(const ct_device *dev, const ct_tensor *a, bool ta, const ct_tensor *b, bool tb,
                            const ct_tensor *bias, const ct_tensor *c, int64_t m, int64_t n, int64_t k)
{
    product g = { .kern = dev->kern, .a = a, .b = b, .bias = bias, .c = c, .ta = ta, .tb = tb, .m = m, .n = n, .k = k };
    g.blocks_m = ct_ceil_div(m, BLOCK_M);
    g.blocks_n = ct_ceil_div(n, BLOCK_N);
    g.convert = a->desc.dtype != CT_F32 || b->desc.dtype != CT_F32 || c->desc.dtype != CT_F32;
    return g;
}

/* The part [r0, r0+rows) x [c0, c0+cols) of a row-major matrix with `width` columns as f32, its rows *ld floats
 * apart. */
static const float *part(const ct_kern *k, const ct_tensor *t, int64_t width, int64_t r0, int64_t rows, int64_t c0,
                         int64_t cols, float *buf, int64_t *ld)
{
    if (t->desc.dtype == CT_F32) {
        *ld = width;
        return (const float *)t->data + r0 * width + c0;
    }
    *ld = cols;
    for (int64_t r = 0; r < rows; r++)
        ct_cpu_to_f32(k, t->desc.dtype, t->data, (r0 + r) * width + c0, cols, buf + r * cols);
    return buf;
}

static void product_item(void *arg, int64_t item, int thread)
{
    const product *g = arg;
    const int64_t m0 = item / g->blocks_n * BLOCK_M, n0 = item % g->blocks_n * BLOCK_N;
    const int64_t m = ct_min64(BLOCK_M, g->m - m0), n = ct_min64(BLOCK_N, g->n - n0);
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *buf_a = NULL, *buf_b = NULL, *buf_c = NULL;
    if (g->convert) {
        const size_t depth = (size_t)ct_min64(g->k, BLOCK_K);
        buf_a = ct_carve_take(&t, (size_t)ct_min64(g->m, BLOCK_M) * depth * 4);
        buf_b = ct_carve_take(&t, (size_t)ct_min64(g->n, BLOCK_N) * depth * 4);
        buf_c = ct_carve_take(&t, (size_t)(ct_min64(g->m, BLOCK_M) * ct_min64(g->n, BLOCK_N)) * 4);
    }
    const bool direct = g->c->desc.dtype == CT_F32;
    float *c = direct ? (float *)g->c->data + m0 * g->n + n0 : buf_c;
    const int64_t ldc = direct ? g->n : n, step = g->convert ? BLOCK_K : g->k;
    for (int64_t i = 0; i < m; i++) {
        if (g->bias) ct_cpu_to_f32(g->kern, g->bias->desc.dtype, g->bias->data, n0, n, c + i * ldc);
    }
    for (int64_t k0 = 0; k0 < g->k; k0 += step) {
        const int64_t k = ct_min64(step, g->k - k0);
        int64_t lda, ldb;
        const float *a = g->ta ? part(g->kern, g->a, g->m, k0, k, m0, m, buf_a, &lda)
                               : part(g->kern, g->a, g->k, m0, m, k0, k, buf_a, &lda);
        const float *b = g->tb ? part(g->kern, g->b, g->k, n0, n, k0, k, buf_b, &ldb)
                               : part(g->kern, g->b, g->n, k0, k, n0, n, buf_b, &ldb);
        ct_cpu_sgemm(g->ta, g->tb, m, n, k, a, lda, b, ldb, g->bias || k0 > 0 ? 1.0f : 0.0f, c, ldc);
    }
    for (int64_t i = 0; i < m && !direct; i++)
        ct_cpu_write_end(g->kern, g->c->desc.dtype, g->c->data, (m0 + i) * g->n + n0, n, c + i * ldc);
}

static ct_accept product_accept(const ct_device *dev, const ct_call *call, product *g)
{
    for (int i = 0; i < call->nin; i++)
        if (ct_present(&call->in[i]) && !ct_cpu_type(call->in[i].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (!ct_cpu_type(call->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (g->m <= 0 || g->n <= 0 || g->k <= 0) return ct_accept_no("cpu: an empty tensor");
    if (g->m > INT32_MAX || g->n > INT32_MAX || g->k > INT32_MAX)
        return ct_accept_no("cpu.blas: a dimension beyond 2^31");
    return ct_accept_yes(lay_out(g, dev->threads, NULL));
}

static void product_run(const ct_device *dev, product *g, void *scratch)
{
    lay_out(g, dev->threads, scratch);
    const int64_t items = g->blocks_m * g->blocks_n;
    if ((double)g->m * (double)g->n * (double)g->k >= SHARED_WORK) {
        ct_cpu_for(dev, items, product_item, g);
        return;
    }
    for (int64_t i = 0; i < items; i++) product_item(g, i, 0);
}

/* Elements before the last dimension. */
static int64_t rows_of(const ct_desc *d)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < d->ndim; i++) n *= d->dim[i];
    return n;
}

static int64_t last_of(const ct_desc *d) { return d->ndim > 0 ? d->dim[d->ndim - 1] : 1; }

static product forward(const ct_device *dev, const ct_call *c)
{
    const ct_tensor *bias = c->nin > 2 && ct_present(&c->in[2]) ? &c->in[2] : NULL;
    return product_make(dev, &c->in[0], false, &c->in[1], true, bias, &c->out[0], rows_of(&c->in[0].desc),
                        c->in[1].desc.dim[0], c->in[1].desc.dim[1]);
}

static product dgrad(const ct_device *dev, const ct_call *c)
{
    return product_make(dev, &c->in[0], false, &c->in[1], false, NULL, &c->out[0], rows_of(&c->in[0].desc),
                        c->in[1].desc.dim[1], c->in[1].desc.dim[0]);
}

static product wgrad(const ct_device *dev, const ct_call *c)
{
    return product_make(dev, &c->in[1], true, &c->in[0], false, NULL, &c->out[0], last_of(&c->in[1].desc),
                        last_of(&c->in[0].desc), rows_of(&c->in[0].desc));
}

static ct_accept linear_accept(const ct_device *dev, const ct_call *c)
{
    product g = forward(dev, c);
    return product_accept(dev, c, &g);
}

static ct_status linear_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    product g = forward(dev, c);
    product_run(dev, &g, scratch);
    return CT_OK;
}

static ct_accept linear_dgrad_accept(const ct_device *dev, const ct_call *c)
{
    product g = dgrad(dev, c);
    return product_accept(dev, c, &g);
}

static ct_status linear_dgrad_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    product g = dgrad(dev, c);
    product_run(dev, &g, scratch);
    return CT_OK;
}

static ct_accept linear_wgrad_accept(const ct_device *dev, const ct_call *c)
{
    product g = wgrad(dev, c);
    return product_accept(dev, c, &g);
}

static ct_status linear_wgrad_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    product g = wgrad(dev, c);
    product_run(dev, &g, scratch);
    return CT_OK;
}

/* ---- bias_grad: column sums of dy [rows,K] ---- */

#define COLS 256 /* columns, and 64 rows, read at a time when dy has 16 bits */
#define ROWS 64

typedef struct bias_sum {
    const ct_kern *kern;
    const ct_tensor *dy;
    int64_t rows, cols;
    ct_pieces pieces;
    double *parts; /* [pieces][cols] */
} bias_sum;

static void bias_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const bias_sum *g = arg;
    double *sum = g->parts + item * g->cols;
    const int64_t r0 = item * g->pieces.size, r1 = ct_min64(g->rows, r0 + g->pieces.size);
    for (int64_t c = 0; c < g->cols; c++) sum[c] = 0;
    if (g->dy->desc.dtype == CT_F32) {
        g->kern->sum->columns(r1 - r0, g->cols, g->cols, (const float *)g->dy->data + r0 * g->cols, sum);
        return;
    }
    float buf[ROWS * COLS];
    for (int64_t r = r0; r < r1; r += ROWS)
        for (int64_t c = 0; c < g->cols; c += COLS) {
            const int64_t rows = ct_min64(ROWS, r1 - r), cols = ct_min64(COLS, g->cols - c);
            for (int64_t i = 0; i < rows; i++)
                ct_cpu_to_f32(g->kern, g->dy->desc.dtype, g->dy->data, (r + i) * g->cols + c, cols, buf + i * cols);
            g->kern->sum->columns(rows, cols, cols, buf, sum + c);
        }
}

static bias_sum bias_make(const ct_call *c)
{
    bias_sum g = { .dy = &c->in[0], .rows = rows_of(&c->in[0].desc), .cols = last_of(&c->in[0].desc) };
    g.pieces = ct_cpu_pieces(g.rows, ROWS, ct_max64(ROWS, 65536 / ct_max64(1, g.cols)));
    return g;
}

static ct_accept bias_grad_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (!ct_cpu_type(c->in[0].desc.dtype) || !ct_cpu_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    bias_sum g = bias_make(c);
    return ct_accept_yes((size_t)(g.pieces.count * g.cols) * sizeof(double));
}

static ct_status bias_grad_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    bias_sum g = bias_make(c);
    g.kern = dev->kern;
    g.parts = scratch;
    ct_cpu_for(dev, g.pieces.count, bias_item, &g);
    for (int64_t k = 0; k < g.cols; k++) {
        double sum = 0;
        for (int64_t i = 0; i < g.pieces.count; i++) sum += g.parts[i * g.cols + k];
        float f = (float)sum;
        ct_cpu_to_type(dev->kern, c->out[0].desc.dtype, &f, 1, c->out[0].data, k);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_LINEAR, "cpu.blas", CT_CPU_TUNED, linear_accept, linear_run },
    { CT_OP_LINEAR_DGRAD, "cpu.blas", CT_CPU_TUNED, linear_dgrad_accept, linear_dgrad_run },
    { CT_OP_LINEAR_WGRAD, "cpu.blas", CT_CPU_TUNED, linear_wgrad_accept, linear_wgrad_run },
    { CT_OP_BIAS_GRAD, "cpu.vector", CT_CPU_TUNED, bias_grad_accept, bias_grad_run },
};
const ct_impl_set ct_cpu_linear_impls = CT_IMPL_SET(impls);
