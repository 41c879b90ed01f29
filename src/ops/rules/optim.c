/* The optimizer over flat arenas, and the step state f64[CT_STATE_COUNT] that rules it. */
#include "config.h"

#include <float.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };
static const ct_attr_field schedule_fields[] = {
    CT_FIELD_INT(schedule, kind), CT_FIELD_REAL(schedule, base_lr), CT_FIELD_REAL(schedule, min_lr),
    CT_FIELD_INT(schedule, warmup_steps), CT_FIELD_INT(schedule, total_steps),
    CT_FIELD_INTS(schedule, milestones, nmilestones), CT_FIELD_REAL(schedule, gamma),
    CT_FIELD_INT(schedule, t0), CT_FIELD_INT(schedule, t_mult), CT_FIELD_REAL(schedule, start_lr),
    CT_FIELD_REAL(schedule, peak), CT_FIELD_END
};
static const ct_attr_field norm_fields[] = { CT_FIELD_REAL(optim, max_norm), CT_FIELD_END };
static const ct_attr_field adamw_fields[] = {
    CT_FIELD_REAL(optim, beta1), CT_FIELD_REAL(optim, beta2), CT_FIELD_REAL(optim, eps),
    CT_FIELD_REAL(optim, weight_decay), CT_FIELD_INT(optim, decoupled), CT_FIELD_REAL(optim, lr_factor), CT_FIELD_END
};
static const ct_attr_field sgd_fields[] = {
    CT_FIELD_REAL(optim, weight_decay), CT_FIELD_REAL(optim, momentum), CT_FIELD_INT(optim, nesterov),
    CT_FIELD_REAL(optim, lr_factor), CT_FIELD_END
};
static const ct_attr_field muon_fields[] = {
    CT_FIELD_INT(optim, rows), CT_FIELD_INT(optim, cols), CT_FIELD_INT(optim, stride), CT_FIELD_INT(optim, steps),
    CT_FIELD_REAL(optim, weight_decay), CT_FIELD_REAL(optim, momentum), CT_FIELD_INT(optim, nesterov),
    CT_FIELD_REAL(optim, scale), CT_FIELD_REAL(optim, lr_factor), CT_FIELD_END
};
static const ct_attr_field ema_fields[] = { CT_FIELD_REAL(optim, decay), CT_FIELD_INT(optim, warmup), CT_FIELD_END };
static const ct_attr_field end_fields[] = {
    CT_FIELD_INT(optim, dynamic), CT_FIELD_REAL(optim, growth), CT_FIELD_REAL(optim, backoff),
    CT_FIELD_INT(optim, growth_interval), CT_FIELD_REAL(optim, max_scale), CT_FIELD_END
};

/* Inputs 0..n-1 are flat ranges of one length and of one type, f32 or f64. */
static ct_status check_ranges(const ct_call *c, int n, const char *const *names)
{
    CT_TRY(ct_rule_ndim(c, 0, names[0], 1));
    CT_TRY(ct_rule_accum(c, 0, names[0]));
    for (int i = 1; i < n; i++) CT_TRY(ct_rule_same(c, i, names[i], 0, names[0]));
    return CT_OK;
}

static bool is_half(ct_dtype d) { return d == CT_BF16 || d == CT_F16; }

/* A gradient, input i, of the ranges of input 0: of their type, or of 16 bits where they are f32. */
static ct_status check_gradient(const ct_call *c, int i)
{
    if (!is_half(c->in[i].desc.dtype) || c->in[0].desc.dtype != CT_F32) return ct_rule_same(c, i, "g", 0, "p");
    return ct_rule_same_shape(c, i, "g", 0, "p");
}

/* Input i, if it is there: the parameters in 16 bits. */
static ct_status check_copy(const ct_call *c, int i)
{
    if (c->nin <= i || !ct_present(&c->in[i])) return CT_OK;
    if (!is_half(c->in[i].desc.dtype) || c->in[0].desc.dtype != CT_F32)
        return ct_rule_fail(c, "copy is %s, and p %s: a copy is bf16 or f16, of f32",
                            ct_dtype_name(c->in[i].desc.dtype), ct_dtype_name(c->in[0].desc.dtype));
    return ct_rule_same_shape(c, i, "copy", 0, "p");
}

static ct_status schedule_shape(ct_call *c)
{
    const ct_schedule_attrs *a = &c->attrs.schedule;
    CT_TRY(ct_rule_state(c, 0));
    CT_TRY(ct_rule_int(c, "kind", a->kind, 0, CT_SCHED_COUNT - 1));
    CT_TRY(ct_rule_real(c, "base_lr", a->base_lr, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "min_lr", a->min_lr, 0, DBL_MAX));
    CT_TRY(ct_rule_int(c, "warmup_steps", a->warmup_steps, 0, INT64_MAX));
    const bool cycle = a->kind == CT_SCHED_ONE_CYCLE || a->kind == CT_SCHED_TRIANGULAR;
    if (a->kind == CT_SCHED_COSINE || cycle) CT_TRY(ct_rule_int(c, "total_steps", a->total_steps, 1, INT64_MAX));
    if (cycle) CT_TRY(ct_rule_real(c, "start_lr", a->start_lr, 0, DBL_MAX));
    if (cycle) CT_TRY(ct_rule_real(c, "peak", a->peak, -1, (double)a->total_steps));
    if (a->kind == CT_SCHED_MULTISTEP) {
        CT_TRY(ct_rule_int(c, "milestones' length", a->nmilestones, 0, CT_MAX_MILESTONES));
        for (int64_t i = 0; i < a->nmilestones; i++)
            CT_TRY(ct_rule_int(c, "milestones", a->milestones[i], 1, INT64_MAX));
        CT_TRY(ct_rule_real(c, "gamma", a->gamma, 0, DBL_MAX));
    }
    if (a->kind == CT_SCHED_WARM_RESTARTS) {
        CT_TRY(ct_rule_int(c, "t0", a->t0, 1, INT64_MAX));
        CT_TRY(ct_rule_int(c, "t_mult", a->t_mult, 1, INT64_MAX));
    }
    return CT_OK;
}

static ct_status norm_shape(ct_call *c)
{
    for (int i = 0; i < c->nin; i += 2) { /* g, rest? */
        if (!ct_present(&c->in[i])) continue;
        const char *name = i ? "rest" : "g";
        CT_TRY(ct_rule_ndim(c, i, name, 1));
        CT_TRY(ct_rule_float(c, i, name));
        if ((c->in[i].desc.dtype == CT_F64) != (c->in[0].desc.dtype == CT_F64))
            return ct_rule_fail(c, "rest is %s and g %s", ct_dtype_name(c->in[i].desc.dtype),
                                ct_dtype_name(c->in[0].desc.dtype));
    }
    CT_TRY(ct_rule_real(c, "max_norm", c->attrs.optim.max_norm, 0, DBL_MAX));
    return ct_rule_state(c, 1);
}

static ct_status adamw_shape(ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    CT_TRY(check_ranges(c, 1, (const char *const[]){ "p" }));
    CT_TRY(check_gradient(c, 1));
    CT_TRY(ct_rule_same(c, 2, "m", 0, "p"));
    CT_TRY(ct_rule_same(c, 3, "v", 0, "p"));
    CT_TRY(ct_rule_state(c, 4));
    CT_TRY(check_copy(c, 5));
    CT_TRY(ct_rule_real(c, "beta1", a->beta1, 0, 1 - DBL_EPSILON / 2));
    CT_TRY(ct_rule_real(c, "beta2", a->beta2, 0, 1 - DBL_EPSILON / 2));
    CT_TRY(ct_rule_real(c, "eps", a->eps, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "weight_decay", a->weight_decay, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "lr_factor", a->lr_factor, 0, DBL_MAX));
    return ct_rule_int(c, "decoupled", a->decoupled, 0, 1);
}

static ct_status sgd_shape(ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    CT_TRY(check_ranges(c, 1, (const char *const[]){ "p" }));
    CT_TRY(check_gradient(c, 1));
    CT_TRY(ct_rule_same(c, 2, "buf", 0, "p"));
    CT_TRY(ct_rule_state(c, 3));
    CT_TRY(check_copy(c, 4));
    CT_TRY(ct_rule_real(c, "momentum", a->momentum, 0, 1));
    CT_TRY(ct_rule_real(c, "weight_decay", a->weight_decay, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "lr_factor", a->lr_factor, 0, DBL_MAX));
    CT_TRY(ct_rule_int(c, "nesterov", a->nesterov, 0, 1));
    if (a->nesterov && a->momentum <= 0) return ct_rule_fail(c, "nesterov=1 needs a momentum above 0");
    return CT_OK;
}

/* Longest side of a matrix: the products' libraries count in 32 bits. */
#define MUON_SIDE ((int64_t)1 << 30)
#define MUON_STEPS 20

static ct_status muon_shape(ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    CT_TRY(check_ranges(c, 1, (const char *const[]){ "p" }));
    CT_TRY(check_gradient(c, 1));
    CT_TRY(ct_rule_same(c, 2, "m", 0, "p"));
    CT_TRY(ct_rule_state(c, 3));
    CT_TRY(check_copy(c, 4));
    CT_TRY(ct_rule_int(c, "rows", a->rows, 1, MUON_SIDE));
    CT_TRY(ct_rule_int(c, "cols", a->cols, 1, MUON_SIDE));
    CT_TRY(ct_rule_int(c, "stride", a->stride, a->rows * a->cols, INT64_MAX));
    CT_TRY(ct_rule_int(c, "steps", a->steps, 1, MUON_STEPS));
    CT_TRY(ct_rule_real(c, "momentum", a->momentum, 0, 1 - DBL_EPSILON / 2));
    CT_TRY(ct_rule_real(c, "weight_decay", a->weight_decay, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "scale", a->scale, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "lr_factor", a->lr_factor, 0, DBL_MAX));
    CT_TRY(ct_rule_int(c, "nesterov", a->nesterov, 0, 1));
    const int64_t n = c->in[0].desc.dim[0];
    if (n > 0 && n % a->stride == 0) return CT_OK;
    return ct_rule_fail(c, "p has %lld elements, which are no whole number of matrices of %lld", (long long)n,
                        (long long)a->stride);
}

static ct_status ema_shape(ct_call *c)
{
    CT_TRY(check_ranges(c, 2, (const char *const[]){ "shadow", "src" }));
    CT_TRY(ct_rule_state(c, 2));
    CT_TRY(ct_rule_real(c, "decay", c->attrs.optim.decay, 0, 1));
    return ct_rule_int(c, "warmup", c->attrs.optim.warmup, 0, 1);
}

static ct_status end_shape(ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    CT_TRY(ct_rule_state(c, 0));
    CT_TRY(ct_rule_int(c, "dynamic", a->dynamic, 0, 1));
    if (a->dynamic) {
        CT_TRY(ct_rule_real(c, "growth", a->growth, 1, DBL_MAX));
        CT_TRY(ct_rule_real(c, "backoff", a->backoff, DBL_MIN, 1));
        CT_TRY(ct_rule_int(c, "growth_interval", a->growth_interval, 1, INT64_MAX));
        CT_TRY(ct_rule_real(c, "max_scale", a->max_scale, 0, DBL_MAX)); /* 0: no limit */
    }
    return CT_OK;
}

static double scalar_flops(const ct_call *c)
{
    (void)c;
    return CT_STATE_COUNT;
}

/* Elements of g and rest. */
static int64_t norm_reduction(const ct_call *c)
{
    const bool rest = c->nin > 2 && ct_present(&c->in[2]);
    return ct_desc_numel(&c->in[0].desc) + (rest ? ct_desc_numel(&c->in[2].desc) : 0);
}

static double norm_flops(const ct_call *c) { return 2.0 * (double)norm_reduction(c); }
static ct_status draw_shape(ct_call *c) { return ct_rule_state(c, 0); }

static double adamw_flops(const ct_call *c) { return 15.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double sgd_flops(const ct_call *c) { return 7.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* As the definition has it, by products of whole matrices: with r the shorter side and c the other, X X' and its square,
 * then one with X, in each step. */
static double muon_flops(const ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    const double r = (double)(a->rows < a->cols ? a->rows : a->cols), all = (double)(a->rows * a->cols);
    const double matrices = (double)(ct_desc_numel(&c->in[0].desc) / a->stride);
    return matrices * ((double)a->steps * (4 * r * all + 2 * r * r * r) + 8 * all);
}

/* The longest of the sums that follow one another. */
static int64_t muon_reduction(const ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    return a->rows > a->cols ? a->rows : a->cols;
}

static double ema_flops(const ct_call *c) { return 3.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* The copy is only written. */
static double adamw_read(const ct_call *c, int i)
{
    (void)c;
    return i != 5;
}
static double muon_read(const ct_call *c, int i)
{
    (void)c;
    return i != 4;
}
static double sgd_read(const ct_call *c, int i)
{
    (void)c;
    return i != 4;
}

static const ct_domain first_moment = CT_IS(ZERO); /* what Adam starts from */

const ct_op_rules ct_optim_rules[] = {
    { .op = CT_OP_LR_SCHEDULE,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 0,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = schedule_fields,
      .shape = schedule_shape,
      .flops = scalar_flops,
      .roundings = 1,
      .domain = { CT_IS(STATE) } },
    { .op = CT_OP_GRAD_NORM,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 1,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = norm_fields,
      .shape = norm_shape,
      .flops = norm_flops,
      .reduction = norm_reduction,
      .roundings = 1,
      .domain = { CT_ANY_OR(ct_domain_nan), CT_IS(STATE), CT_ANY } },
    { .op = CT_OP_ADAMW,
      .flags = CT_OPF_NO_GRAD | CT_OPF_FLAT,
      .mutates = 1u << 0 | 1u << 2 | 1u << 3 | 1u << 5,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = adamw_fields,
      .shape = adamw_shape,
      .flops = adamw_flops,
      .read = adamw_read,
      .roundings = 4,
      .domain = { CT_ANY, CT_ANY, CT_ANY_OR(first_moment),
                  { .kind = CT_DOM_RANGE, .lo = 0.01, .hi = 1, .special = &first_moment },
                  CT_IS(STATE), CT_ANY } },
    { .op = CT_OP_SGD,
      .flags = CT_OPF_NO_GRAD | CT_OPF_FLAT,
      .mutates = 1u << 0 | 1u << 2 | 1u << 4,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = sgd_fields,
      .shape = sgd_shape,
      .flops = sgd_flops,
      .read = sgd_read,
      .roundings = 4,
      .domain = { CT_ANY, CT_ANY, CT_ANY_OR(ct_domain_nan),
                  CT_IS(STATE), CT_ANY } /* at the first step the buffer may hold anything */ },
    { .op = CT_OP_MUON,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 0 | 1u << 2 | 1u << 4,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = muon_fields,
      .shape = muon_shape,
      .flops = muon_flops,
      .reduction = muon_reduction,
      .read = muon_read,
      .roundings = 16, /* each step multiplies the rounding before it by up to 3.4, where singular values are small */
      .inexact = 8,
      .domain = { CT_ANY, CT_ANY, CT_ANY_OR(first_moment), CT_IS(STATE), CT_ANY } },
    { .op = CT_OP_EMA,
      .flags = CT_OPF_NO_GRAD | CT_OPF_FLAT,
      .mutates = 1u << 0,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = ema_fields,
      .shape = ema_shape,
      .flops = ema_flops,
      .roundings = 1,
      .domain = { CT_ANY, CT_ANY, CT_IS(STATE) } },
    { .op = CT_OP_STEP_END,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 0,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = end_fields,
      .shape = end_shape,
      .flops = scalar_flops,
      .roundings = 1,
      .domain = { CT_IS(STATE) } },
    { .op = CT_OP_NEXT_DRAW,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 0,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = draw_shape,
      .flops = scalar_flops,
      .roundings = 1,
      .domain = { CT_IS(STATE) } },
    { .shape = NULL },
};
