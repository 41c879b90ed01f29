/* activation, activation_bwd, dropout_mask. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <math.h>

#include "ops/math/dropout_math.h"

#define BUF 1024
#define PIECE 65536 /* least elements of a piece: below this, waking other threads costs more than it saves */

typedef struct act {
    const ct_kern *kern;
    const ct_call *call;
    ct_pieces pieces;
    int64_t n;
} act;

static void forward(const act *g, int64_t n, const float *x, float *y)
{
    const ct_act_attrs *a = &g->call->attrs.act;
    switch ((ct_act_kind)a->kind) {
    case CT_ACT_RELU: g->kern->element->leaky(n, x, 0, y); break;
    case CT_ACT_LEAKY_RELU: g->kern->element->leaky(n, x, (float)a->alpha, y); break;
    case CT_ACT_SIGMOID: g->kern->silu->sigmoid(n, x, y); break;
    case CT_ACT_TANH:
        for (int64_t i = 0; i < n; i++) y[i] = tanhf(x[i]);
        break;
    case CT_ACT_SILU: g->kern->silu->silu(n, x, y); break;
    case CT_ACT_SOFTPLUS:
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] < 0 ? 0 : x[i]) + log1pf(expf(x[i] < 0 ? x[i] : -x[i]));
        break;
    case CT_ACT_COUNT: break;
    }
}

static void backward(const act *g, int64_t n, const float *dy, const float *saved, float *dx)
{
    const ct_act_attrs *a = &g->call->attrs.act;
    switch ((ct_act_kind)a->kind) {
    case CT_ACT_RELU: g->kern->element->leaky_bwd(n, dy, saved, 0, dx); break;
    case CT_ACT_LEAKY_RELU: g->kern->element->leaky_bwd(n, dy, saved, (float)a->alpha, dx); break;
    case CT_ACT_SIGMOID: g->kern->element->sigmoid_bwd(n, dy, saved, dx); break;
    case CT_ACT_TANH: g->kern->element->tanh_bwd(n, dy, saved, dx); break;
    case CT_ACT_SILU: g->kern->silu->silu_bwd(n, dy, saved, dx); break;
    case CT_ACT_SOFTPLUS:
        for (int64_t i = 0; i < n; i++) {
            const float e = expf(-fabsf(saved[i])); /* of a number <= 0 only: no overflow on either side */
            dx[i] = dy[i] * ((saved[i] < 0 ? e : 1) / (1 + e));
        }
        break;
    case CT_ACT_COUNT: break;
    }
}

static void act_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const act *g = arg;
    const bool bwd = g->call->op == CT_OP_ACTIVATION_BWD;
    const ct_tensor *a = &g->call->in[0], *b = &g->call->in[1], *y = &g->call->out[0];
    const int64_t end = ct_min64(g->n, (item + 1) * g->pieces.size);
    float buf[3][BUF];
    for (int64_t i = item * g->pieces.size; i < end; i += BUF) {
        const int64_t len = ct_min64(BUF, end - i);
        const float *x = ct_cpu_read(g->kern, a->desc.dtype, a->data, i, len, buf[0]);
        float *out = ct_cpu_write(y->desc.dtype, y->data, i, buf[2]);
        if (bwd)
            backward(g, len, x, ct_cpu_read(g->kern, b->desc.dtype, b->data, i, len, buf[1]), out);
        else
            forward(g, len, x, out);
        ct_cpu_write_end(g->kern, y->desc.dtype, y->data, i, len, out);
    }
}

static ct_status run(ct_device *dev, const ct_call *c)
{
    act g = { .kern = dev->kern, .call = c, .n = ct_desc_numel(&c->in[0].desc) };
    g.pieces = ct_cpu_pieces(g.n, BUF, PIECE);
    ct_cpu_for(dev, g.pieces.count, act_item, &g);
    return CT_OK;
}

static ct_accept accept_floats(const ct_call *c)
{
    for (int i = 0; i < c->nin; i++)
        if (!ct_cpu_type(c->in[i].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (!ct_cpu_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    return ct_accept_yes(0);
}

static ct_accept activation_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status activation_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run(dev, c);
}

static ct_accept activation_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status activation_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run(dev, c);
}

/* ---- dropout_mask ---- */

typedef struct mask {
    const ct_kern *kern;
    uint8_t *out;
    int64_t n;
    uint64_t seed, stream, draw;
    int64_t first, run, pitch;
    uint32_t threshold;
    ct_pieces pieces; /* multiples of 4 elements: one block of random words */
} mask;

static void mask_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const mask *g = arg;
    const int64_t end = ct_min64(g->n, (item + 1) * g->pieces.size);
    for (int64_t i = item * g->pieces.size, n; i < end; i += n) {
        const int64_t e = ct_dropout_element(g->first, g->run, g->pitch, i);
        n = g->run == 0 ? end - i : ct_min64(end - i, g->run - i % g->run); /* that lie together in the whole batch */
        const uint64_t block = (uint64_t)e / 4; /* runs are whole blocks */
        g->kern->random->keep(n / 4, g->seed, ct_dropout_upper(g->stream, g->draw), block, g->threshold, g->out + i);
        if (n % 4 == 0) continue;
        const ct_philox b = ct_dropout_words(g->seed, g->stream, g->draw, block + (uint64_t)n / 4);
        for (int64_t k = 0; k < n % 4; k++) g->out[i + n / 4 * 4 + k] = ct_dropout_keep_word(b.v[k], g->threshold);
    }
}

static ct_accept dropout_mask_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[0].desc.dtype != CT_F64) return ct_accept_no("cpu: the state is not f64");
    if (c->out[0].desc.dtype != CT_U8) return ct_accept_no("cpu: the mask is not u8");
    return ct_accept_yes(0);
}

static ct_status dropout_mask_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const double *state = c->in[0].data;
    const ct_dropout_attrs *a = &c->attrs.dropout;
    mask g = { .kern = dev->kern,
               .out = c->out[0].data,
               .n = ct_desc_numel(&c->out[0].desc),
               .seed = (uint64_t)a->seed,
               .stream = (uint64_t)a->stream,
               .first = a->first,
               .run = a->run,
               .pitch = a->pitch };
    g.draw = (uint64_t)state[CT_STATE_DRAWS];
    g.threshold = ct_dropout_threshold(a->p);
    g.pieces = ct_cpu_pieces(g.n, 4, PIECE);
    ct_cpu_for(dev, g.pieces.count, mask_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_ACTIVATION, "cpu.vector", CT_CPU_TUNED, activation_accept, activation_run },
    { CT_OP_ACTIVATION_BWD, "cpu.vector", CT_CPU_TUNED, activation_bwd_accept, activation_bwd_run },
    { CT_OP_DROPOUT_MASK, "cpu.vector", CT_CPU_TUNED, dropout_mask_accept, dropout_mask_run },
};
const ct_impl_set ct_cpu_activation_impls = CT_IMPL_SET(impls);
