/* Activations and dropout, element by element. */
#include "backends/cuda/dev.cuh"
#include "ops/math/dropout_math.h"

template <int KIND> __device__ static inline float activate(float x, float alpha)
{
    switch (KIND) {
    case CT_ACT_RELU: return x < 0 ? 0 : x;
    case CT_ACT_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case CT_ACT_SIGMOID: return ct_sigmoid(x);
    case CT_ACT_TANH: return tanhf(x);
    case CT_ACT_SILU: return x * ct_sigmoid(x);
    default: return (x > 0 ? x : 0) + log1pf(expf(-fabsf(x))); /* softplus */
    }
}

/* From what the forward operator saved: y for relu, leaky_relu, sigmoid, tanh; x for silu, softplus. */
template <int KIND> __device__ static inline float derivative(float saved, float alpha)
{
    switch (KIND) {
    case CT_ACT_RELU: return saved > 0 ? 1 : 0;
    case CT_ACT_LEAKY_RELU: return saved > 0 ? 1 : alpha;
    case CT_ACT_SIGMOID: return saved * (1 - saved);
    case CT_ACT_TANH: return 1 - saved * saved;
    case CT_ACT_SILU: return ct_silu_slope(saved);
    default: return ct_sigmoid(saved);
    }
}

template <typename T, int KIND> __global__ void forward(const T *x, T *y, int64_t n, float alpha)
{
    const int V = ct_width<T>::value;
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float u[V];
            ct_get_n<T, V>(x + at, u);
#pragma unroll
            for (int k = 0; k < V; k++) u[k] = activate<KIND>(u[k], alpha);
            ct_put_n<T, V>(y + at, u);
        } else {
            for (int64_t k = at; k < n; k++) ct_put(y + k, activate<KIND>(ct_get(x[k]), alpha));
        }
    }
}

template <typename T, int KIND> __global__ void backward(const T *dy, const T *saved, T *dx, int64_t n, float alpha)
{
    const int V = ct_width<T>::value;
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float g[V], u[V];
            ct_get_n<T, V>(dy + at, g);
            ct_get_n<T, V>(saved + at, u);
#pragma unroll
            for (int k = 0; k < V; k++) g[k] *= derivative<KIND>(u[k], alpha);
            ct_put_n<T, V>(dx + at, g);
        } else {
            for (int64_t k = at; k < n; k++) ct_put(dx + k, ct_get(dy[k]) * derivative<KIND>(ct_get(saved[k]), alpha));
        }
    }
}

/* Runs what follows with KIND a constant: the kind in the attributes. */
#define BY_KIND(kind, ...)                                                    \
    switch ((ct_act_kind)(kind)) {                                            \
    case CT_ACT_RELU: { enum { KIND = CT_ACT_RELU }; __VA_ARGS__ } break;     \
    case CT_ACT_LEAKY_RELU: { enum { KIND = CT_ACT_LEAKY_RELU }; __VA_ARGS__ } break; \
    case CT_ACT_SIGMOID: { enum { KIND = CT_ACT_SIGMOID }; __VA_ARGS__ } break; \
    case CT_ACT_TANH: { enum { KIND = CT_ACT_TANH }; __VA_ARGS__ } break;     \
    case CT_ACT_SILU: { enum { KIND = CT_ACT_SILU }; __VA_ARGS__ } break;     \
    case CT_ACT_SOFTPLUS: { enum { KIND = CT_ACT_SOFTPLUS }; __VA_ARGS__ } break; \
    case CT_ACT_COUNT: break;                                                 \
    }

static ct_accept activation_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->attrs.act.kind < 0 || c->attrs.act.kind >= CT_ACT_COUNT) return ct_accept_no("cuda: unknown activation");
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status activation_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, BY_KIND(c->attrs.act.kind, {
        auto k = &forward<T, KIND>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(n / ct_width<T>::value + 1)), CT_THREADS, s, (const T *)c->in[0].data,
                  (T *)c->out[0].data, n, (float)c->attrs.act.alpha);
    }))
    CT_LAUNCHED("activation");
}

static ct_accept activation_bwd_accept(const ct_device *dev, const ct_call *c)
{
    return activation_accept(dev, c);
}
static ct_status activation_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, BY_KIND(c->attrs.act.kind, {
        auto k = &backward<T, KIND>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(n / ct_width<T>::value + 1)), CT_THREADS, s, (const T *)c->in[0].data,
                  (const T *)c->in[1].data, (T *)c->out[0].data, n, (float)c->attrs.act.alpha);
    }))
    CT_LAUNCHED("activation_bwd");
}

/* ---- dropout ---- */

/* One thread draws a block of four words: elements 4i .. 4i+3. */
__global__ void dropout_mask(const double *state, uint8_t *mask, int64_t n, uint64_t seed, uint64_t stream,
                             int64_t first, int64_t run, int64_t pitch, uint32_t threshold)
{
    for (CT_EACH(i, (n + 3) / 4)) {
        const uint64_t block = (uint64_t)ct_dropout_element(first, run, pitch, 4 * i) / 4;
        ct_philox w = ct_dropout_words(seed, stream, (uint64_t)state[CT_STATE_DRAWS], block);
        for (int k = 0; k < 4 && 4 * i + k < n; k++) mask[4 * i + k] = ct_dropout_keep_word(w.v[k], threshold);
    }
}

static ct_accept dropout_mask_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return ct_accept_yes(0);
}
static ct_status dropout_mask_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_dropout_attrs *a = &c->attrs.dropout;
    int64_t n = ct_cuda_numel(&c->out[0].desc);
    CT_LAUNCH(&dropout_mask, CT_GRID1(ct_blocks(n / 4 + 1)), CT_THREADS, s, (const double *)c->in[0].data,
              (uint8_t *)c->out[0].data, n, (uint64_t)a->seed, (uint64_t)a->stream, a->first, a->run, a->pitch,
              ct_dropout_threshold(a->p));
    CT_LAUNCHED("dropout_mask");
}

template <typename T> __global__ void dropout_apply(const T *x, const uint8_t *mask, T *y, int64_t n, float factor)
{
    const int V = ct_width<T>::value;
    for (CT_EACH(i, (n + V - 1) / V)) {
        int64_t at = i * V;
        if (at + V <= n) {
            float u[V];
            ct_pack<uint8_t, V> m = *reinterpret_cast<const ct_pack<uint8_t, V> *>(mask + at);
            ct_get_n<T, V>(x + at, u);
#pragma unroll
            for (int k = 0; k < V; k++) u[k] = m.e[k] ? u[k] * factor : 0;
            ct_put_n<T, V>(y + at, u);
        } else {
            for (int64_t k = at; k < n; k++) ct_put(y + k, mask[k] ? ct_get(x[k]) * factor : 0.0f);
        }
    }
}

static ct_accept dropout_apply_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status dropout_apply_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t n = ct_cuda_numel(&c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        auto k = &dropout_apply<T>;
        CT_LAUNCH(k, CT_GRID1(ct_blocks(n / ct_width<T>::value + 1)), CT_THREADS, s, (const T *)c->in[0].data,
                  (const uint8_t *)c->in[1].data, (T *)c->out[0].data, n, (float)(1 / (1 - c->attrs.dropout.p)));
    })
    CT_LAUNCHED("dropout_apply");
}

static const ct_impl impls[] = {
    { CT_OP_ACTIVATION, "cuda.kernel", CT_CUDA_TUNED, activation_accept, activation_run },
    { CT_OP_ACTIVATION_BWD, "cuda.kernel", CT_CUDA_TUNED, activation_bwd_accept, activation_bwd_run },
    { CT_OP_DROPOUT_MASK, "cuda.kernel", CT_CUDA_TUNED, dropout_mask_accept, dropout_mask_run },
    { CT_OP_DROPOUT_APPLY, "cuda.kernel", CT_CUDA_TUNED, dropout_apply_accept, dropout_apply_run },
};
CT_CUDA_SET(activation)
