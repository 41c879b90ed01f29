/* add, mul, scale, cast, accumulate, fit_channels: one thread per 16 bytes where rows allow it. */
#include "backends/cuda/dev.cuh"

/* ---- add, mul ---- */

template <typename T, bool MUL> __global__ void binary(const T *a, const T *b, T *y, int64_t n)
{
    const int V = ct_width<T>::value;
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float u[V], w[V];
            ct_get_n<T, V>(a + at, u);
            ct_get_n<T, V>(b + at, w);
#pragma unroll
            for (int k = 0; k < V; k++) u[k] = MUL ? u[k] * w[k] : u[k] + w[k];
            ct_put_n<T, V>(y + at, u);
        } else {
            for (int64_t k = at; k < n; k++) {
                float u = ct_get(a[k]), w = ct_get(b[k]);
                ct_put(y + k, MUL ? u * w : u + w);
            }
        }
    }
}

static ct_accept accept_all(const ct_call *c)
{
    for (int i = 0; i < c->nin; i++)
        if (!ct_cuda_type(c->in[i].desc.dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    return ct_accept_yes(0);
}

template <bool MUL> static ct_status run_binary(ct_stream *s, const ct_call *c)
{
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &binary<T, MUL>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(n / ct_width<T>::value + 1)), CT_THREADS, s, (const T *)c->in[0].data,
                  (const T *)c->in[1].data, (T *)c->out[0].data, n);
    })
    CT_LAUNCHED("add or mul");
}

static ct_accept add_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_all(c);
}
static ct_status add_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_binary<false>(s, c);
}
static ct_accept mul_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_all(c);
}
static ct_status mul_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    return run_binary<true>(s, c);
}

/* ---- scale ---- */

template <typename T> __global__ void scale(const T *x, T *y, int64_t n, float alpha)
{
    const int V = ct_width<T>::value;
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float u[V];
            ct_get_n<T, V>(x + at, u);
#pragma unroll
            for (int k = 0; k < V; k++) u[k] *= alpha;
            ct_put_n<T, V>(y + at, u);
        } else {
            for (int64_t k = at; k < n; k++) ct_put(y + k, alpha * ct_get(x[k]));
        }
    }
}

static ct_accept scale_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_all(c);
}
static ct_status scale_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &scale<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(n / ct_width<T>::value + 1)), CT_THREADS, s, (const T *)c->in[0].data,
                  (T *)c->out[0].data, n, (float)c->attrs.scale.alpha);
    })
    CT_LAUNCHED("scale");
}

/* ---- cast ---- */

template <typename T, typename U> __global__ void cast(const T *x, U *y, int64_t n)
{
    const int V = 4;
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float u[V];
            ct_get_n<T, V>(x + at, u);
            ct_put_n<U, V>(y + at, u);
        } else {
            for (int64_t k = at; k < n; k++) ct_put(y + k, ct_get(x[k]));
        }
    }
}

template <typename T> static ct_status cast_from(ct_stream *s, const ct_call *c)
{
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    const T *x = (const T *)c->in[0].data;
    dim3 grid = CT_GRID1(ct_blocks(n / 4 + 1));
    switch (c->out[0].desc.dtype) {
    case CT_F32: {
        auto k = &cast<T, float>;
        CT_LAUNCH(k, grid, CT_THREADS, s, x, (float *)c->out[0].data, n);
    } break;
    case CT_BF16: {
        auto k = &cast<T, ct_b16>;
        CT_LAUNCH(k, grid, CT_THREADS, s, x, (ct_b16 *)c->out[0].data, n);
    } break;
    default: {
        auto k = &cast<T, ct_h16>;
        CT_LAUNCH(k, grid, CT_THREADS, s, x, (ct_h16 *)c->out[0].data, n);
    }
    }
    CT_LAUNCHED("cast");
}

static ct_accept cast_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) && ct_cuda_type(c->out[0].desc.dtype) ? ct_accept_yes(0)
                                                                                   : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status cast_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    CT_BY_TYPE(c->in[0].desc.dtype, { return cast_from<T>(s, c); })
    return CT_OK;
}

/* ---- accumulate: acc [n] f32 = beta*acc + alpha*src ---- */

template <typename T> __global__ void accumulate(const T *src, float *acc, int64_t n, float alpha, float beta)
{
    for (CT_EACH(i, n)) {
        float v = alpha * ct_get(src[i]);
        acc[i] = beta != 0 ? beta * acc[i] + v : v;
    }
}

static ct_accept accumulate_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[1].desc.dtype != CT_F32) return ct_accept_no("cuda: the sum is not f32");
    return accept_all(c);
}
static ct_status accumulate_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    const ct_scale_attrs *a = &c->attrs.scale;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &accumulate<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(n)), CT_THREADS, s, (const T *)c->in[0].data, (float *)c->in[1].data, n,
                  (float)a->alpha, (float)a->beta);
    })
    CT_LAUNCHED("accumulate");
}

/* ---- fit_channels: x [M,have] -> y [M,want], zeros behind what both have; a thread writes V elements of a row ---- */

template <typename T, int V> __global__ void fit_channels(const T *x, T *y, int64_t rows, int64_t have, int64_t want)
{
    int64_t groups = want / V;
    for (CT_EACH(i, rows * groups)) {
        int64_t m = i / groups, c = i % groups * V;
        ct_pack<T, V> k;
#pragma unroll
        for (int e = 0; e < V; e++) {
            if (c + e < have) k.e[e] = x[m * have + c + e];
            else ct_put(&k.e[e], 0);
        }
        *reinterpret_cast<ct_pack<T, V> *>(y + i * V) = k;
    }
}

static ct_accept fit_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_all(c);
}
static ct_status fit_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t have = ct_cuda_cols(&c->in[0].desc), want = ct_cuda_cols(&c->out[0].desc), rows = ct_cuda_rows(&c->out[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const int V = ct_width<T>::value;
        const T *x = (const T *)c->in[0].data;
        T *y = (T *)c->out[0].data;
        if (want % V == 0) {
            auto k = &fit_channels<T, V>;
            CT_LAUNCH(k, CT_GRID1(ct_blocks(rows * (want / V))), CT_THREADS, s, x, y, rows, have, want);
        } else {
            auto k = &fit_channels<T, 1>;
            CT_LAUNCH(k, CT_GRID1(ct_blocks(rows * want)), CT_THREADS, s, x, y, rows, have, want);
        }
    })
    CT_LAUNCHED("fit_channels");
}

static const ct_impl impls[] = {
    { CT_OP_ADD, "cuda.kernel", CT_CUDA_TUNED, add_accept, add_run },
    { CT_OP_MUL, "cuda.kernel", CT_CUDA_TUNED, mul_accept, mul_run },
    { CT_OP_SCALE, "cuda.kernel", CT_CUDA_TUNED, scale_accept, scale_run },
    { CT_OP_CAST, "cuda.kernel", CT_CUDA_TUNED, cast_accept, cast_run },
    { CT_OP_ACCUMULATE, "cuda.kernel", CT_CUDA_TUNED, accumulate_accept, accumulate_run },
    { CT_OP_FIT_CHANNELS, "cuda.kernel", CT_CUDA_TUNED, fit_channels_accept, fit_channels_run },
};
CT_CUDA_SET(elementwise)
