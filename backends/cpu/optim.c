/* grad_norm, adamw, sgd, ema over flat f32 ranges; the arithmetic is ops/math/optim_math.h. Scalar operators
 * (lr_schedule, step_end) have nothing to gain here: the reference runs them. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include "ops/math/optim_math.h"

#define PIECE 65536 /* least elements of a piece */

typedef struct update {
    const ct_kern *kern;
    const ct_call *call;
    int64_t n;
    ct_pieces pieces;
    double *sums; /* [pieces] sum of squares; NaN where an element is not finite */
    ct_adam_coef_f32 adam;
    ct_sgd_coef sgd;
    double decay;
} update;

static update make(const ct_device *dev, const ct_call *c)
{
    update u = { .kern = dev->kern, .call = c, .n = ct_desc_numel(&c->in[0].desc) };
    u.pieces = ct_cpu_pieces(u.n, 1024, PIECE);
    return u;
}

static float *range(const update *u, int tensor, int64_t item, int64_t *n)
{
    *n = ct_min64(u->pieces.size, u->n - item * u->pieces.size);
    return (float *)u->call->in[tensor].data + item * u->pieces.size;
}

static double *state_of(const ct_call *c) { return c->in[c->nin - 1].data; }

static ct_accept accept_flat(const ct_call *c, size_t scratch)
{
    for (int i = 0; i + 1 < c->nin; i++)
        if (c->in[i].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    const ct_desc *s = &c->in[c->nin - 1].desc;
    if (s->dtype != CT_F64 || ct_desc_numel(s) != CT_STATE_COUNT) return ct_accept_no("cpu: the state is not f64[16]");
    return ct_accept_yes(scratch);
}

static void norm_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const update *u = arg;
    int64_t n;
    const float *g = range(u, 0, item, &n);
    bool finite = true;
    const double sum = u->kern->sum->squares(n, g, &finite);
    u->sums[item] = finite ? sum : (double)NAN;
}

static ct_accept grad_norm_accept(const ct_device *dev, const ct_call *c)
{
    const update u = make(dev, c);
    return accept_flat(c, (size_t)u.pieces.count * sizeof(double));
}

static ct_status grad_norm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    update u = make(dev, c);
    u.sums = scratch;
    ct_cpu_for(dev, u.pieces.count, norm_item, &u);
    double sum = 0;
    bool finite = true;
    for (int64_t i = 0; i < u.pieces.count; i++) {
        sum += u.sums[i];
        finite = finite && !isnan(u.sums[i]);
    }
    ct_grad_norm_finish(c->attrs.optim.max_norm, sum, finite, state_of(c));
    return CT_OK;
}

static void adam_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const update *u = arg;
    int64_t n;
    float *p = range(u, 0, item, &n), *g = range(u, 1, item, &n), *m = range(u, 2, item, &n),
          *v = range(u, 3, item, &n);
    u->kern->optim->adam(n, &u->adam, g, p, m, v);
}

static ct_accept adamw_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_flat(c, 0);
}

static ct_status adamw_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    if (ct_step_skipped(state_of(c))) return CT_OK;
    update u = make(dev, c);
    const ct_adam_coef coef = ct_adam_coefficients(&c->attrs.optim, state_of(c));
    u.adam = ct_adam_narrow(&coef);
    ct_cpu_for(dev, u.pieces.count, adam_item, &u);
    return CT_OK;
}

static void sgd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const update *u = arg;
    int64_t n;
    float *p = range(u, 0, item, &n), *g = range(u, 1, item, &n), *buf = range(u, 2, item, &n);
    u->kern->optim->sgd(n, &u->sgd, g, p, buf);
}

static ct_accept sgd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_flat(c, 0);
}

static ct_status sgd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    if (ct_step_skipped(state_of(c))) return CT_OK;
    update u = make(dev, c);
    u.sgd = ct_sgd_coefficients(&c->attrs.optim, state_of(c));
    ct_cpu_for(dev, u.pieces.count, sgd_item, &u);
    return CT_OK;
}

static void ema_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const update *u = arg;
    int64_t n;
    float *shadow = range(u, 0, item, &n), *src = range(u, 1, item, &n);
    u->kern->optim->ema(n, (float)u->decay, (float)(1 - u->decay), src, shadow);
}

static ct_accept ema_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_flat(c, 0);
}

static ct_status ema_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    if (ct_step_skipped(state_of(c))) return CT_OK;
    update u = make(dev, c);
    u.decay = ct_ema_decay(&c->attrs.optim, state_of(c));
    ct_cpu_for(dev, u.pieces.count, ema_item, &u);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_GRAD_NORM, "cpu.vector", CT_CPU_TUNED, grad_norm_accept, grad_norm_run },
    { CT_OP_ADAMW, "cpu.vector", CT_CPU_TUNED, adamw_accept, adamw_run },
    { CT_OP_SGD, "cpu.vector", CT_CPU_TUNED, sgd_accept, sgd_run },
    { CT_OP_EMA, "cpu.vector", CT_CPU_TUNED, ema_accept, ema_run },
};
const ct_impl_set ct_cpu_optim_impls = CT_IMPL_SET(impls);
