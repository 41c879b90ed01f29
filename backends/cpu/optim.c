/* grad_norm, adamw, sgd, ema over flat f32 ranges, with gradients and copies of the parameters in 16 bits; the
 * arithmetic is ops/math/optim_math.h. Scalar operators (lr_schedule, step_end) have nothing to gain here: the
 * reference runs them. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include "ops/math/optim_math.h"

#define PIECE 65536 /* least elements of a piece */
#define PART 2048   /* elements of a part */

typedef struct update {
    const ct_kern *kern;
    const ct_call *call;
    int64_t n;
    ct_pieces pieces;
    double *sums; /* [pieces] sum of squares; NaN where an element is not finite */
    float *room;  /* [threads][pieces.size] gradients that are not f32 and in one piece in memory */
    const ct_tensor *copy; /* the parameters in 16 bits; NULL: not wanted */
    ct_adam_coef_f32 adam;
    ct_sgd_coef sgd;
    double decay;
} update;

static const ct_tensor *optional(const ct_call *c, int i)
{
    return c->nin > i && ct_present(&c->in[i]) ? &c->in[i] : NULL;
}

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

static double *state_of(const ct_call *c, int at) { return c->in[at].data; }

/* Inputs before the state, number `at`, are f32, but for gradients. */
static ct_accept accept_flat(const ct_call *c, int at, size_t scratch)
{
    for (int i = 0; i < c->nin; i++) {
        if (i == at || !ct_present(&c->in[i])) continue;
        const ct_dtype d = c->in[i].desc.dtype;
        const bool gradient = c->op == CT_OP_GRAD_NORM || (i == 1 && c->op != CT_OP_EMA);
        if (d != CT_F32 && !(ct_dtype_size(d) == 2 && (gradient || i > at)))
            return ct_accept_no("cpu: only f32, gradients in 16 bits; the reference takes the rest");
    }
    const ct_desc *s = &c->in[at].desc;
    if (s->dtype != CT_F64 || ct_desc_numel(s) != CT_STATE_COUNT) return ct_accept_no("cpu: the state is not f64[16]");
    return ct_accept_yes(scratch);
}

/* Elements [at, at+n) of g and what stands behind it, as f32: themselves, or a copy in buf [n]. */
static const float *gather(const update *u, int64_t at, int64_t n, float *buf)
{
    const ct_tensor *g = &u->call->in[0], *rest = optional(u->call, 2);
    const int64_t own = ct_desc_numel(&g->desc);
    if (at + n <= own) return ct_cpu_read(u->kern, g->desc.dtype, g->data, at, n, buf);
    const int64_t head = ct_max64(0, own - at);
    if (head > 0) ct_cpu_to_f32(u->kern, g->desc.dtype, g->data, at, head, buf);
    ct_cpu_to_f32(u->kern, rest->desc.dtype, rest->data, at + head - own, n - head, buf + head);
    return buf;
}

static void norm_item(void *arg, int64_t item, int thread)
{
    const update *u = arg;
    const int64_t at = item * u->pieces.size, n = ct_min64(u->pieces.size, u->n - at);
    bool finite = true;
    const double sum = u->kern->sum->squares(n, gather(u, at, n, u->room + thread * u->pieces.size), &finite);
    u->sums[item] = finite ? sum : (double)NAN;
}

/* The pieces of g and rest, which are summed as if they stood in one range. */
static update make_norm(const ct_device *dev, const ct_call *c)
{
    update u = make(dev, c);
    const ct_tensor *rest = optional(c, 2);
    if (rest) u.n += ct_desc_numel(&rest->desc);
    u.pieces = ct_cpu_pieces(u.n, 1024, PIECE);
    return u;
}

/* Bytes of the sums, and of room for gradients: none where they are f32 in one range. */
static size_t norm_scratch(const ct_device *dev, const ct_call *c, const update *u, size_t *sums)
{
    const bool plain = c->in[0].desc.dtype == CT_F32 && !optional(c, 2);
    *sums = ct_align_up((size_t)u->pieces.count * sizeof(double), CT_ALIGN);
    return *sums + (plain ? 0 : (size_t)(dev->threads * u->pieces.size) * sizeof(float));
}

static ct_accept grad_norm_accept(const ct_device *dev, const ct_call *c)
{
    const update u = make_norm(dev, c);
    size_t sums;
    return accept_flat(c, 1, norm_scratch(dev, c, &u, &sums));
}

static ct_status grad_norm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    update u = make_norm(dev, c);
    size_t sums;
    norm_scratch(dev, c, &u, &sums);
    u.sums = scratch;
    u.room = (float *)(void *)((char *)scratch + sums);
    ct_cpu_for(dev, u.pieces.count, norm_item, &u);
    double sum = 0;
    bool finite = true;
    for (int64_t i = 0; i < u.pieces.count; i++) {
        sum += u.sums[i];
        finite = finite && !isnan(u.sums[i]);
    }
    ct_grad_norm_finish(c->attrs.optim.max_norm, sum, finite, state_of(c, 1));
    return CT_OK;
}

/* A part of a piece: small enough that gradients of 16 bits and the copy come out of the cache. */
typedef struct part {
    int64_t at, n;
    const float *g;
    float *p, *m, *v;
} part;

/* Calls `step` for the parts of a piece: the whole of it where all is f32. */
static void update_item(const update *u, int64_t item, void (*step)(const update *u, const part *k))
{
    float buf[PART];
    const ct_tensor *in = u->call->in, *g = &in[1];
    const int64_t first = item * u->pieces.size, end = ct_min64(first + u->pieces.size, u->n);
    const int64_t most = g->desc.dtype == CT_F32 && !u->copy ? end - first : PART;
    for (int64_t at = first; at < end; at += most) {
        const int64_t n = ct_min64(most, end - at);
        float *p = (float *)in[0].data + at;
        const part k = { at, n, ct_cpu_read(u->kern, g->desc.dtype, g->data, at, n, buf), p, (float *)in[2].data + at,
                         u->call->op == CT_OP_ADAMW ? (float *)in[3].data + at : NULL };
        step(u, &k);
        if (u->copy) ct_cpu_to_type(u->kern, u->copy->desc.dtype, p, n, u->copy->data, at);
    }
}

static void adam_part(const update *u, const part *k) { u->kern->optim->adam(k->n, &u->adam, k->g, k->p, k->m, k->v); }

static void adam_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    update_item(arg, item, adam_part);
}

static ct_accept adamw_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_flat(c, 4, 0);
}

static ct_status adamw_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const double *state = state_of(c, 4);
    if (ct_step_skipped(state)) return CT_OK;
    update u = make(dev, c);
    const ct_adam_coef coef = ct_adam_coefficients(&c->attrs.optim, state);
    u.adam = ct_adam_narrow(&coef);
    u.copy = optional(c, 5);
    ct_cpu_for(dev, u.pieces.count, adam_item, &u);
    return CT_OK;
}

static void sgd_part(const update *u, const part *k) { u->kern->optim->sgd(k->n, &u->sgd, k->g, k->p, k->m); }

static void sgd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    update_item(arg, item, sgd_part);
}

static ct_accept sgd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_flat(c, 3, 0);
}

static ct_status sgd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const double *state = state_of(c, 3);
    if (ct_step_skipped(state)) return CT_OK;
    update u = make(dev, c);
    u.sgd = ct_sgd_coefficients(&c->attrs.optim, state);
    u.copy = optional(c, 4);
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
    return accept_flat(c, 2, 0);
}

static ct_status ema_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    if (ct_step_skipped(state_of(c, 2))) return CT_OK;
    update u = make(dev, c);
    u.decay = ct_ema_decay(&c->attrs.optim, state_of(c, 2));
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
