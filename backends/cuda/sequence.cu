/* swap: x [A,B,...] -> y [B,A,...]. The recurrence of LSTM layers is in sequence_lstm.cu. */
#include "backends/cuda/dev.cuh"

/* Inner elements are moved in units of U bytes. */
template <typename U> __global__ void swap_axes(const U *x, U *y, int64_t a, int64_t b, int64_t inner)
{
    for (CT_EACH(i, a * b * inner)) {
        int64_t k = i % inner, ai = i / inner % a, bi = i / (inner * a);
        y[i] = x[(ai * b + bi) * inner + k];
    }
}

template <typename U> static void run_swap(ct_stream *s, const ct_call *c, int64_t bytes)
{
    const int64_t *d = c->in[0].desc.dim;
    int64_t inner = bytes / (int64_t)sizeof(U);
    auto k = &swap_axes<U>;
    CT_LAUNCH(k, CT_GRID1(ct_blocks(d[0] * d[1] * inner)), CT_THREADS, s, (const U *)c->in[0].data, (U *)c->out[0].data, d[0], d[1],
              inner);
}

struct alignas(16) unit16 { uint32_t v[4]; };

static ct_accept swap_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}
static ct_status swap_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc;
    int64_t bytes = ct_cuda_numel(x) / (x->dim[0] * x->dim[1]) * (x->dtype == CT_F32 ? 4 : 2); /* of what stays together */
    if (bytes % 16 == 0) run_swap<unit16>(s, c, bytes);
    else if (bytes % 4 == 0) run_swap<uint32_t>(s, c, bytes);
    else run_swap<uint16_t>(s, c, bytes);
    CT_LAUNCHED("swap");
}

static const ct_impl impls[] = {
    { CT_OP_SWAP, "cuda.kernel", CT_CUDA_TUNED, swap_accept, swap_run },
};
CT_CUDA_SET(sequence)
