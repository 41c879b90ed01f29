/* Gradient of a bias; rows that are a bias, for lt.c to add a product to; and matrix products as plain loops with f64 sums ("cuda.direct"): the yardstick on the device, and what
 * remains where cuBLASLt has no algorithm. Rows are all dimensions but the last. */
#include <limits.h>

#include "backends/cuda/columns.cuh"

/* ---- bias_grad: dy [M,K] -> db [K] ---- */

template <typename T, int V> __global__ void column_sums(const T *x, ct_sheet sheet, ct_gather gather, T *out)
{
    const int c0 = ct_sheet_column<V>(sheet);
    float sum[1][V] = {};
    if (c0 < sheet.columns)
        ct_sheet_rows<CT_AHEAD>(
            sheet, [&](int64_t m) { return ct_fetch<T, V>(x + m * sheet.columns + c0); },
            [&](const ct_pack<T, V> &row, int64_t) {
#pragma unroll
                for (int k = 0; k < V; k++) sum[0][k] += ct_get(row.e[k]);
            });
    ct_sheet_finish<1, V>(sheet, gather, sum, [&](int c, const double total[1]) { ct_put(out + c, (float)total[0]); });
}

template <typename T, int V> static void run_sums(ct_stream *s, const ct_call *c, void *scratch)
{
    const ct_desc *d = &c->in[0].desc;
    const ct_sheet sheet = ct_sheet_of(ct_cuda_rows(d), ct_cuda_cols(d), V);
    auto sums = &column_sums<T, V>;
    CT_LAUNCH(sums, CT_GRID2(ct_sheet_groups(sheet, V), ct_sheet_parts(sheet, V)), CT_THREADS, s, (const T *)c->in[0].data, sheet,
              ct_sheet_gather(s, sheet, V, 1, scratch), (T *)c->out[0].data);
}

static ct_accept bias_grad_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const ct_desc *d = &c->in[0].desc;
    if (!ct_cuda_type(d->dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    if (ct_cuda_cols(d) > INT_MAX / 64) return ct_accept_no("cuda: more columns than 32-bit indices reach");
    const int v = d->dtype == CT_F32 ? ct_column_vector<float>(ct_cuda_cols(d)) : ct_column_vector<ct_b16>(ct_cuda_cols(d));
    return ct_accept_yes(ct_sheet_bytes(ct_sheet_of(ct_cuda_rows(d), ct_cuda_cols(d), v), v, 1));
}
static ct_status bias_grad_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (ct_cuda_cols(&c->in[0].desc) % ct_width<T>::value == 0) run_sums<T, ct_width<T>::value>(s, c, scratch);
        else run_sums<T, 1>(s, c, scratch);
    })
    CT_LAUNCHED("bias_grad");
}

/* ---- rows that are a bias ---- */

template <int V> __global__ void fill_rows(const uint16_t *bias, uint16_t *y, int64_t packs, int64_t all)
{
    for (CT_EACH(i, all)) *reinterpret_cast<ct_pack<uint16_t, V> *>(y + i * V) = ct_fetch<uint16_t, V>(bias + i % packs * V);
}

extern "C" ct_status ct_cuda_fill_rows(ct_stream *s, const void *bias, void *y, int64_t rows, int64_t cols)
{
    const int v = cols % 8 == 0 ? 8 : 1;
    auto k = v == 8 ? &fill_rows<8> : &fill_rows<1>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(rows * (cols / v))), CT_THREADS, s, (const uint16_t *)bias, (uint16_t *)y, cols / v, rows * (cols / v));
    CT_LAUNCHED("linear");
}

/* ---- direct products ---- */

template <typename T>
__global__ void product(const T *x, const T *w, const T *bias, T *y, int64_t rows, int64_t in, int64_t out)
{
    for (CT_EACH(i, rows * out)) {
        int64_t r = i / out, o = i % out;
        double sum = bias ? (double)ct_get(bias[o]) : 0;
        for (int64_t k = 0; k < in; k++) sum += (double)ct_get(x[r * in + k]) * (double)ct_get(w[o * in + k]);
        ct_put(y + i, (float)sum);
    }
}
template <typename T> __global__ void product_dgrad(const T *dy, const T *w, T *dx, int64_t rows, int64_t in, int64_t out)
{
    for (CT_EACH(i, rows * in)) {
        int64_t r = i / in, k = i % in;
        double sum = 0;
        for (int64_t o = 0; o < out; o++) sum += (double)ct_get(dy[r * out + o]) * (double)ct_get(w[o * in + k]);
        ct_put(dx + i, (float)sum);
    }
}
template <typename T> __global__ void product_wgrad(const T *x, const T *dy, T *dw, int64_t rows, int64_t in, int64_t out)
{
    for (CT_EACH(i, out * in)) {
        int64_t o = i / in, k = i % in;
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) sum += (double)ct_get(x[r * in + k]) * (double)ct_get(dy[r * out + o]);
        ct_put(dw + i, (float)sum);
    }
}

static ct_accept linear_direct_accept(const ct_device *dev, const ct_call *c)
{
    return ct_cuda_factors(dev, c);
}
static ct_status linear_direct_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), in = ct_cuda_cols(&c->in[0].desc), out = c->in[1].desc.dim[0];
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &product<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(rows * out)), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data,
                  ct_cuda_has(c, 2) ? (const T *)c->in[2].data : (const T *)NULL, (T *)c->out[0].data, rows, in, out);
    })
    CT_LAUNCHED("linear");
}
static ct_accept linear_dgrad_direct_accept(const ct_device *dev, const ct_call *c)
{
    return ct_cuda_factors(dev, c);
}
static ct_status linear_dgrad_direct_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), out = ct_cuda_cols(&c->in[0].desc), in = c->in[1].desc.dim[1];
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &product_dgrad<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(rows * in)), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data,
                  (T *)c->out[0].data, rows, in, out);
    })
    CT_LAUNCHED("linear_dgrad");
}
static ct_accept linear_wgrad_direct_accept(const ct_device *dev, const ct_call *c)
{
    return ct_cuda_factors(dev, c);
}
static ct_status linear_wgrad_direct_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), in = ct_cuda_cols(&c->in[0].desc), out = ct_cuda_cols(&c->in[1].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &product_wgrad<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(out * in)), CT_THREADS, s, (const T *)c->in[0].data, (const T *)c->in[1].data,
                  (T *)c->out[0].data, rows, in, out);
    })
    CT_LAUNCHED("linear_wgrad");
}

static const ct_impl impls[] = {
    { CT_OP_LINEAR, "cuda.direct", CT_CUDA_YARDSTICK, linear_direct_accept, linear_direct_run },
    { CT_OP_LINEAR_DGRAD, "cuda.direct", CT_CUDA_YARDSTICK, linear_dgrad_direct_accept, linear_dgrad_direct_run },
    { CT_OP_LINEAR_WGRAD, "cuda.direct", CT_CUDA_YARDSTICK, linear_wgrad_direct_accept, linear_wgrad_direct_run },
    { CT_OP_BIAS_GRAD, "cuda.kernel", CT_CUDA_TUNED, bias_grad_accept, bias_grad_run },
};
CT_CUDA_SET(linear)
