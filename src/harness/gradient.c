/* Finite differences. For a forward operator y = f(in...), a random weight w for output 0 (and for others that a
 * gradient may come through) and a random direction d for one input, the derivative of L(h) = sum w * f(in + h d) at
 * h = 0 is sum d * din, where din is the gradient that the operator's rule composes for dout = w. The numerical
 * derivative is the five-point formula
 *   (8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12 h,  error O(h^4).
 * Both sides use the f64 reference. The rule's nodes are evaluated as they are emitted.
 *
 * Kinks (relu, maximum): a case where some output changes sides between the four points is drawn anew. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/harness_priv.h"

#define STEP 2.5e-4    /* h; inputs are of size 1 */
#define REFINEMENTS 3  /* h, h/4, h/16 */
#define TOLERANCE 1e-8 /* of the size of the terms of the sum */
#define MAX_VALUES 64
#define MAX_ELEMENTS 20000 /* larger calls of the tables are left out */
#define ATTEMPTS 50

/* ---- a graph that is evaluated while it is built ---- */

typedef struct evaluator {
    ct_desc desc[MAX_VALUES];
    void *data[MAX_VALUES];
    bool owned[MAX_VALUES];
    int count;
} evaluator;

static ct_status add_value(evaluator *e, const ct_desc *d, void *data, bool owned, ct_val *v)
{
    if (e->count == MAX_VALUES) {
        if (owned) ct_free(data);
        return ct_fail(CT_EINTERNAL, "a gradient rule makes more than %d values", MAX_VALUES);
    }
    *v = e->count++;
    e->desc[*v] = *d;
    e->data[*v] = data;
    e->owned[*v] = owned;
    return CT_OK;
}

static void evaluator_free(evaluator *e)
{
    for (int i = 0; i < e->count; i++)
        if (e->owned[i]) ct_free(e->data[i]);
    e->count = 0;
}

static const ct_desc *value_desc(void *self, ct_val v)
{
    return &((evaluator *)self)->desc[v];
}

static ct_status emit(void *self, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in, int nout,
                      unsigned out_mask, ct_val *outs)
{
    evaluator *e = self;
    const ct_op_rules *rules = ct_op_get(op)->rules;
    ct_call call = { .op = op, .nin = nin, .nout = nout, .attrs = *attrs };
    for (int i = 0; i < nin; i++) {
        call.in[i].desc = in[i] == CT_NOVAL ? ct_absent_desc() : e->desc[in[i]];
        call.in[i].data = in[i] == CT_NOVAL ? NULL : e->data[in[i]];
    }
    CT_TRY(ct_call_infer(&call));
    for (int i = 0; i < nout; i++) outs[i] = CT_NOVAL;
    if (rules->flags & CT_OPF_VIEW) return add_value(e, &call.out[0].desc, call.in[0].data, false, &outs[0]);
    for (int i = 0; i < call.nout; i++) {
        if (!ct_present(&call.out[i])) continue;
        call.out[i].data = ct_aligned_alloc(ct_desc_bytes(&call.out[i].desc), "gradient value");
        if (!call.out[i].data) return CT_ENOMEM;
        ct_val v = CT_NOVAL;
        CT_TRY(add_value(e, &call.out[i].desc, call.out[i].data, true, &v));
        if (out_mask >> i & 1u) outs[i] = v;
    }
    return ct_reference_run(&call);
}

/* ---- one case ---- */

typedef struct check {
    const ct_selftest_opts *o;
    ct_selftest_report *report;
} check;

/* Inputs that have a gradient: floating, not written by the operator, and not given. */
static bool wants_gradient(const ct_call *call, int i)
{
    const ct_op_rules *r = ct_op_get(call->op)->rules;
    return ct_present(&call->in[i]) && ct_dtype_is_float(call->in[i].desc.dtype) &&
           !((r->mutates | r->constants) >> i & 1u);
}

/* Outputs whose weighted sum is differentiated: the first, and others that a gradient may come through. */
static bool is_weighted(const ct_call *call, int o)
{
    return ct_present(&call->out[o]) && ((1u | ct_op_get(call->op)->rules->grad_outs) >> o & 1u);
}

/* Runs the reference on copies of the written inputs, so that a call can be repeated. */
static ct_status run_forward(const ct_call *host)
{
    const ct_op_rules *rules = ct_op_get(host->op)->rules;
    ct_call call = *host;
    ct_status st = CT_OK;
    for (int i = 0; i < call.nin; i++) {
        if (!(rules->mutates >> i & 1u) || !ct_present(&call.in[i])) continue;
        size_t bytes = ct_desc_bytes(&call.in[i].desc);
        void *copy = ct_aligned_alloc(bytes, "copy of a written input");
        if (copy) memcpy(copy, host->in[i].data, bytes);
        if (!copy) st = CT_ENOMEM;
        call.in[i].data = copy;
    }
    if (st != CT_OK) goto fail;
    if (rules->flags & CT_OPF_VIEW)
        memcpy(call.out[0].data, call.in[0].data, ct_desc_bytes(&call.out[0].desc));
    else
        st = ct_reference_run(&call);
fail:
    for (int i = 0; i < call.nin; i++)
        if (call.in[i].data != host->in[i].data) ct_free(call.in[i].data);
    return st;
}

/* Which side of a kink every output element is on: signs of output 0 where they matter, and the values of integer
 * outputs (the index of a maximum). */
static uint64_t sides(const ct_call *host)
{
    uint64_t h = 14695981039346656037u;
    const ct_op_rules *rules = ct_op_get(host->op)->rules;
    const bool kink = rules->kink && rules->kink(&host->attrs);
    for (int o = 0; o < host->nout; o++) {
        const ct_tensor *t = &host->out[o];
        if (!ct_present(t)) continue;
        bool whole = !ct_dtype_is_float(t->desc.dtype);
        if (!whole && !(o == 0 && kink)) continue;
        for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
            double v = ct_load(t->desc.dtype, t->data, i);
            h = (h ^ (uint64_t)(whole ? v : v > 0)) * 1099511628211u;
        }
    }
    return h;
}

/* Weights of the outputs that have them, random; NULL where an output has none. */
typedef struct weights {
    double *of[CT_MAX_OUT];
} weights;

/* sum w * outputs, or of the terms' sizes. */
static double weighted(const ct_call *host, const weights *w, bool sizes)
{
    double sum = 0;
    for (int o = 0; o < host->nout; o++) {
        const double *y = host->out[o].data;
        for (int64_t k = 0; w->of[o] && k < ct_desc_numel(&host->out[o].desc); k++)
            sum += sizes ? fabs(w->of[o][k] * y[k]) : w->of[o][k] * y[k];
    }
    return sum;
}

/* sum w * outputs with input i moved by h*d; *side as sides(). */
static ct_status loss_at(const ct_call *host, int i, const double *d, double h, const weights *w, double *loss,
                         uint64_t *side)
{
    double *x = host->in[i].data;
    int64_t n = ct_desc_numel(&host->in[i].desc);
    double *before = ct_malloc((size_t)n * sizeof *before, "input before a step");
    if (!before) return CT_ENOMEM;
    memcpy(before, x, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) x[k] += h * d[k];
    ct_status st = run_forward(host);
    memcpy(x, before, (size_t)n * sizeof *x);
    ct_free(before);
    if (st != CT_OK) return st;
    *loss = weighted(host, w, false);
    *side = sides(host);
    return CT_OK;
}

/* The five-point formula at step h along d, with its own bound for the rounding of L; *again: a kink is in the way. */
static ct_status differentiate(const ct_call *host, int i, const double *d, double h, const weights *w, double *numeric,
                               double *rounding, bool *again)
{
    const double steps[4] = { h, -h, 2 * h, -2 * h };
    double loss[4];
    uint64_t side[4];
    for (int s = 0; s < 4; s++) CT_TRY(loss_at(host, i, d, steps[s], w, &loss[s], &side[s]));
    *again = side[0] != side[1] || side[0] != side[2] || side[0] != side[3];
    *numeric = (8 * (loss[0] - loss[1]) - (loss[2] - loss[3])) / (12 * h);
    *rounding = 0x1p-50 * weighted(host, w, true) / h;
    return CT_OK;
}

/* Compares the derivative along a random direction of input i. *worst as a multiple of the tolerance; *again: a kink
 * was in the way. Where the function bends sharply (a batch of two, say), smaller steps are tried: a wrong gradient
 * stays wrong. */
static ct_status check_input(const ct_case *c, const ct_call *host, int i, const weights *w, const double *din,
                             double *worst, double *analytic, double *numeric, bool *again)
{
    ct_rng rng;
    int64_t n = ct_desc_numel(&host->in[i].desc);
    double size = 0, h = STEP;
    double *d = ct_malloc((size_t)n * sizeof *d, "direction");
    if (!d) return CT_ENOMEM;
    ct_rng_init(&rng, c->seed, CT_RNG_TEST, ct_case_hash(c->text, c->data, 1000 + i));
    *analytic = 0;
    for (int64_t k = 0; k < n; k++) {
        d[k] = ct_rng_uniform(&rng, -1, 1);
        *analytic += d[k] * din[k];
        size += fabs(d[k] * din[k]);
    }
    ct_status st = CT_OK;
    *worst = INFINITY;
    *numeric = NAN;
    for (int refined = 0; refined<REFINEMENTS && * worst> 1; refined++, h /= 4) {
        double value, rounding;
        CT_GOTO(st, differentiate(host, i, d, h, w, &value, &rounding, again));
        if (*again) break;
        double error = fabs(value - *analytic), ratio = error == 0 ? 0 : error / (TOLERANCE * size + rounding);
        if (refined > 0 && !(ratio < *worst)) continue;
        *worst = isnan(ratio) ? INFINITY : ratio;
        *numeric = value;
    }
fail:
    ct_free(d);
    return st;
}

/* The outputs of a call as values of their own, out[0..nout): those of the call change with every step of the differences, and
   the rule may pass dout on. */
static ct_status add_outputs(evaluator *e, const ct_call *host, ct_val *out)
{
    for (int i = 0; i < host->nout; i++) {
        out[i] = CT_NOVAL;
        if (!ct_present(&host->out[i])) continue;
        void *copy = ct_aligned_alloc(ct_desc_bytes(&host->out[i].desc), "saved output");
        if (!copy) return CT_ENOMEM;
        memcpy(copy, host->out[i].data, ct_desc_bytes(&host->out[i].desc));
        CT_TRY(add_value(e, &host->out[i].desc, copy, true, &out[i]));
    }
    return CT_OK;
}

/* Draws the weights, which are what comes in from behind: dout of these outputs. */
static ct_status draw_weights(evaluator *e, const ct_case *c, const ct_call *host, int attempt, weights *w,
                              ct_val *dout)
{
    ct_rng rng;
    ct_rng_init(&rng, c->seed, CT_RNG_TEST, ct_case_hash(c->text, c->data, 2000 + attempt));
    for (int o = 0; o < host->nout; o++) {
        dout[o] = CT_NOVAL;
        if (!is_weighted(host, o)) continue;
        const int64_t m = ct_desc_numel(&host->out[o].desc);
        w->of[o] = ct_aligned_alloc((size_t)m * sizeof(double), "output weights");
        if (!w->of[o]) return CT_ENOMEM;
        for (int64_t k = 0; k < m; k++) w->of[o][k] = ct_rng_uniform(&rng, -1, 1);
        CT_TRY(add_value(e, &host->out[o].desc, w->of[o], true, &dout[o]));
    }
    return CT_OK;
}

/* Runs forward, the rule, and the comparison for all inputs on one draw of the data. */
static ct_status check_draw(const ct_case *c, const ct_call *host, int attempt, double *worst, char *message,
                            size_t size, bool *again)
{
    evaluator e = { .count = 0 };
    ct_status st = CT_OK;
    ct_val in[CT_MAX_IN], out[CT_MAX_OUT], dout[CT_MAX_OUT], din[CT_MAX_IN];
    bool need[CT_MAX_IN] = { false };
    weights w = { { NULL } };
    *worst = 0;
    *again = false;
    ct_generate(c, host, true, attempt);
    CT_GOTO(st, run_forward(host));
    for (int i = 0; i < host->nin; i++) {
        in[i] = din[i] = CT_NOVAL;
        need[i] = wants_gradient(host, i);
        if (ct_present(&host->in[i])) CT_GOTO(st, add_value(&e, &host->in[i].desc, host->in[i].data, false, &in[i]));
    }
    CT_GOTO(st, add_outputs(&e, host, out));
    CT_GOTO(st, draw_weights(&e, c, host, attempt, &w, dout));
    ct_grad_ctx g = { .self = &e,
                      .attrs = &host->attrs,
                      .nin = host->nin,
                      .nout = host->nout,
                      .in = in,
                      .out = out,
                      .dout = dout,
                      .need = need,
                      .din = din,
                      .desc = value_desc,
                      .emit = emit };
    st = ct_op_get(host->op)->rules->grad(&g);
    if (st != CT_OK) {
        snprintf(message, size, "gradient rule: %s", ct_error_message());
        *worst = INFINITY;
        st = CT_OK;
        goto fail;
    }
    for (int i = 0; i < host->nin && !*again; i++) {
        if (!need[i]) continue;
        if (din[i] == CT_NOVAL || !ct_desc_equal(&e.desc[din[i]], &host->in[i].desc)) {
            snprintf(message, size, "input %d: the rule gives %s", i,
                     din[i] == CT_NOVAL ? "no gradient" : "a gradient of another type or shape");
            *worst = INFINITY;
            break;
        }
        double ratio = 0, analytic = 0, numeric = 0;
        CT_GOTO(st, check_input(c, host, i, &w, e.data[din[i]], &ratio, &analytic, &numeric, again));
        if (*again || ratio <= *worst) continue;
        *worst = ratio;
        snprintf(
            message, size,
            "input %d: derivative along a random direction is %.12g, the rule says %.12g: %.3g times the tolerance", i,
            numeric, analytic, ratio);
    }
fail:
    evaluator_free(&e);
    return st;
}

static ct_status gradient_case(void *user, const ct_case *c)
{
    const check *k = user;
    const ct_op_rules *rules = ct_op_get(c->call.op)->rules;
    ct_call host = c->call;
    char message[256] = "";
    double worst = 0;
    bool again = true, small = true;
    ct_status st = CT_OK;
    if (!rules->grad || c->data != CT_DATA_UNIFORM || ct_case_dtype(&c->call) != CT_F64) return CT_OK;
    for (int i = 0; i < host.nin; i++)
        if (ct_present(&host.in[i]) && ct_desc_numel(&host.in[i].desc) > MAX_ELEMENTS) small = false;
    /* A cast to a narrower type is a staircase: it has no derivative. */
    if (!small || host.out[0].desc.dtype != CT_F64) return CT_OK;
    CT_GOTO(st, ct_host_alloc(&host));
    for (int attempt = 1; again && attempt <= ATTEMPTS; attempt++)
        CT_GOTO(st, check_draw(c, &host, attempt, &worst, message, sizeof message, &again));
    if (again) {
        snprintf(message, sizeof message, "no draw without a kink in %d attempts", ATTEMPTS);
        worst = INFINITY;
    }
    ct_selftest_row *row = ct_report_row(k->report, host.op, CT_IMPL_GRADIENT, false, CT_F64, CT_IMPL_REFERENCE);
    st = row ? ct_report_case(k->report, row, k->o, c, NULL, worst, message) : CT_ENOMEM;
fail:
    ct_host_free(&host);
    return st;
}

ct_status ct_selftest_gradients(const ct_selftest_opts *o, ct_selftest_report *out)
{
    check k = { o, out };
    if (o->impl && strcmp(o->impl, CT_IMPL_GRADIENT) != 0) return CT_OK;
    return ct_cases_visit(o, gradient_case, &k);
}
