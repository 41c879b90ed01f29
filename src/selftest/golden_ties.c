/* Decisions on a knife's edge: where a ReLU, leaky or not, or a max-pool of an f32 run decides otherwise than the f64
 * reference because the values lie within rounding of a tie, the two gradients belong to different linear pieces of the
 * same function, and comparing them says nothing about either. Such decisions are settled as in f64 between forward and
 * backward pass; any other stays, and shows. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/math/mask_math.h"
#include "selftest/golden.h"

/* How far two values may lie apart, as a share of the tensor's largest magnitude, and still count as rounding of one
 * another: f32 eps times a depth of some fifty rounded layers. A wrong operator is off by far more, and then nothing is
 * settled. */
#define TIE_MARGIN (64.0 * FLT_EPSILON)
/* Winograd convolutions lose about three bits more. */
#define TIE_MARGIN_INEXACT (8 * TIE_MARGIN)

typedef struct tie_run {
    ct_plan *f32, *f64;
    const ct_graph *g32, *g64;
    size_t forward;       /* nodes [0, forward) are the forward pass */
    double margin;        /* share of the largest magnitude */
    ct_golden_ties *ties;
} tie_run;

size_t ct_golden_forward_end(const ct_graph *g)
{
    size_t n = 0;
    while (n < g->nnodes && g->nodes[n].phase == CT_PHASE_FORWARD) n++;
    return n;
}

/* Whether v's memory still holds v when the forward pass is over: it is kept, or a later node reads it. */
static bool alive(const tie_run *r, ct_val v)
{
    if (r->g32->values[v].keep && r->g64->values[v].keep) return true;
    for (size_t i = r->forward; i < r->g32->nnodes; i++) {
        const ct_node *n = &r->g32->nodes[i];
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] != CT_NOVAL && r->g32->values[n->in[k]].root == r->g32->values[v].root) return true;
    }
    return false;
}

static ct_status fetch(ct_plan *p, const ct_graph *g, ct_val v, void **out)
{
    *out = ct_malloc(ct_desc_bytes(ct_graph_desc(g, v)), "golden tie");
    return *out ? ct_plan_download(p, v, *out) : CT_ENOMEM;
}

static double largest(const double *y, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(y[i]));
    return m;
}

/* Whether rounding may have decided between these two. */
static bool tie(double a, double b, double margin)
{
    return (a > 0) != (b > 0) && fmax(a, b) <= margin;
}

/* Slope below 0 of an activation that decides by the sign of what goes in, 0 of a ReLU; -1: it does not decide. */
static double slope_of(const ct_act_attrs *a)
{
    return a->kind == CT_ACT_RELU ? 0 : a->kind == CT_ACT_LEAKY_RELU ? a->alpha : -1;
}

/* y = z above 0, slope z below, of an activation: the backward pass looks at y > 0. Values lie close to a tie as they
 * go in: below 0 y is nearer by the slope, whose inverse brings it back. */
static ct_status settle_act(tie_run *r, ct_val v32, ct_val v64, double slope)
{
    const double back = slope > 0 ? 1 / slope : 1;
    float *a = NULL;
    double *b = NULL;
    ct_status st;
    int64_t n = ct_desc_numel(ct_graph_desc(r->g32, v32)), settled = 0;
    CT_GOTO(st, fetch(r->f32, r->g32, v32, (void **)&a));
    CT_GOTO(st, fetch(r->f64, r->g64, v64, (void **)&b));
    const double margin = r->margin * largest(b, n);
    for (int64_t i = 0; i < n; i++) {
        if (!tie(a[i], b[i], margin) || -fmin(a[i], b[i]) * back > margin) continue;
        a[i] = b[i] > 0 ? FLT_MIN : slope > 0 ? -FLT_MIN : 0;
        settled++;
    }
    r->ties->decisions += n;
    r->ties->settled += settled;
    if (settled) st = ct_plan_patch(r->f32, v32, a);
fail:
    ct_free(a);
    ct_free(b);
    return st;
}

/* y = max(0, z) of a batch norm: the backward pass looks at its mask. */
static ct_status settle_norm(tie_run *r, const ct_node *n32, const ct_node *n64)
{
    float *a = NULL;
    double *b = NULL;
    uint8_t *mask = NULL;
    ct_status st;
    const ct_desc *y = ct_graph_desc(r->g32, n32->out[0]);
    const int64_t n = ct_desc_numel(y), cols = y->dim[y->ndim - 1];
    int64_t settled = 0;
    CT_GOTO(st, fetch(r->f32, r->g32, n32->out[0], (void **)&a));
    CT_GOTO(st, fetch(r->f64, r->g64, n64->out[0], (void **)&b));
    CT_GOTO(st, fetch(r->f32, r->g32, n32->out[3], (void **)&mask));
    const double margin = r->margin * largest(b, n);
    for (int64_t i = 0; i < n; i++) {
        if (!tie(a[i], b[i], margin)) continue;
        mask[i / cols * ct_mask_bytes(cols) + i % cols / 8] ^= (uint8_t)(1u << (i % cols % 8));
        settled++;
    }
    r->ties->decisions += n;
    r->ties->settled += settled;
    if (settled) st = ct_plan_patch(r->f32, n32->out[3], mask);
fail:
    ct_free(a);
    ct_free(b);
    ct_free(mask);
    return st;
}

/* y and the place of the maximum within its window: equal maxima to within the margin at two places are a tie. */
static ct_status settle_pool(tie_run *r, const ct_node *n32, const ct_node *n64)
{
    float *a = NULL;
    double *b = NULL;
    uint8_t *ia = NULL, *ib = NULL;
    ct_status st;
    int64_t n = ct_desc_numel(ct_graph_desc(r->g32, n32->out[0])), settled = 0;
    CT_GOTO(st, fetch(r->f32, r->g32, n32->out[0], (void **)&a));
    CT_GOTO(st, fetch(r->f64, r->g64, n64->out[0], (void **)&b));
    CT_GOTO(st, fetch(r->f32, r->g32, n32->out[1], (void **)&ia));
    CT_GOTO(st, fetch(r->f64, r->g64, n64->out[1], (void **)&ib));
    double margin = r->margin * largest(b, n);
    for (int64_t i = 0; i < n; i++) {
        if (ia[i] == ib[i] || !(fabs(a[i] - b[i]) <= margin)) continue;
        ia[i] = ib[i];
        settled++;
    }
    r->ties->decisions += n;
    r->ties->settled += settled;
    if (settled) st = ct_plan_patch(r->f32, n32->out[1], ia);
fail:
    ct_free(a);
    ct_free(b);
    ct_free(ia);
    ct_free(ib);
    return st;
}

ct_status ct_golden_settle(ct_plan *f32, ct_plan *f64, bool inexact, ct_golden_ties *ties)
{
    tie_run r = {
        f32, f64, ct_plan_graph(f32), ct_plan_graph(f64), 0, inexact ? TIE_MARGIN_INEXACT : TIE_MARGIN, ties
    };
    r.forward = ct_golden_forward_end(r.g32);
    if (r.forward != ct_golden_forward_end(r.g64))
        return ct_fail(CT_EINTERNAL, "golden: the f32 and the f64 program differ");
    for (size_t i = 0; i < r.forward; i++) {
        const ct_node *a = &r.g32->nodes[i], *b = &r.g64->nodes[i];
        if (a->op != b->op)
            return ct_fail(CT_EINTERNAL, "golden: node %zu is '%s' in f32 and '%s' in f64", i, a->name, b->name);
        const double slope = a->op == CT_OP_ACTIVATION ? slope_of(&a->attrs.act) : -1;
        if (slope >= 0 && alive(&r, a->out[0])) CT_TRY(settle_act(&r, a->out[0], b->out[0], slope));
        const bool fused = a->op == CT_OP_BATCHNORM && a->attrs.norm.act == CT_NORM_RELU;
        if (fused && alive(&r, a->out[0]) && alive(&r, a->out[3]))
            CT_TRY(settle_norm(&r, a, b));
        if (a->op == CT_OP_MAXPOOL2D && alive(&r, a->out[0]) && alive(&r, a->out[1])) CT_TRY(settle_pool(&r, a, b));
    }
    return CT_OK;
}
