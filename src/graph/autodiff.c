/* Reverse-mode differentiation: walks the forward nodes backwards and lets each operator's gradient rule add nodes. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct tape {
    ct_graph *g;
    ct_val *grad;        /* [nvalues] gradient of each forward value so far */
    size_t nvalues;      /* forward values: those there were at the start */
    const ct_node *node; /* the node being differentiated (a copy) */
} tape;

static const ct_desc *grad_desc(void *self, ct_val v)
{
    return ct_graph_desc(((tape *)self)->g, v);
}

/* "features.0" and conv2d -> conv2d_dgrad: "features.0.dgrad"; the forward operator again: "features.0.bwd". */
static char *backward_name(const ct_node *n, ct_op op)
{
    const char *fwd = ct_op_get(n->op)->name, *bwd = ct_op_get(op)->name;
    size_t len = strlen(fwd);
    if (op == n->op) return ct_asprintf("%s.bwd", n->name);
    if (strncmp(fwd, bwd, len) == 0 && bwd[len] == '_') return ct_asprintf("%s.%s", n->name, bwd + len + 1);
    return ct_asprintf("%s.%s", n->name, bwd);
}

static ct_status grad_emit(void *self, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in, int nout,
                           unsigned out_mask, ct_val *outs)
{
    tape *t = self;
    char *name = backward_name(t->node, op);
    if (!name) return CT_ENOMEM;
    ct_status st = ct_graph_node(t->g, op, attrs, name, nin, in, nout, out_mask, outs);
    ct_free(name);
    return st;
}

/* One more gradient of v: where two paths meet, they add up. */
static ct_status contribute(tape *t, ct_val v, ct_val d)
{
    if (t->grad[v] == CT_NOVAL) {
        t->grad[v] = d;
        return CT_OK;
    }
    char *name = ct_asprintf("%s.grad_sum", t->g->values[v].name);
    if (!name) return CT_ENOMEM;
    ct_val in[2] = { t->grad[v], d }, sum = CT_NOVAL;
    ct_status st = ct_graph_node(t->g, CT_OP_ADD, NULL, name, 2, in, 1, 1u, &sum);
    ct_free(name);
    t->grad[v] = sum;
    return st;
}

static ct_status differentiate(tape *t, const ct_node *n)
{
    ct_graph *g = t->g;
    const ct_op_rules *r = ct_op_get(n->op)->rules;
    ct_val dout[CT_MAX_OUT], din[CT_MAX_IN];
    bool need[CT_MAX_IN] = { false }, flows = false, wanted = false;
    unsigned mutates = ct_node_mutates(n);
    for (int i = 0; i < CT_MAX_OUT; i++) {
        dout[i] = i < n->nout && n->out[i] != CT_NOVAL ? t->grad[n->out[i]] : CT_NOVAL;
        flows = flows || dout[i] != CT_NOVAL;
    }
    for (int i = 0; i < CT_MAX_IN; i++) {
        din[i] = CT_NOVAL;
        need[i] = i < n->nin && n->in[i] != CT_NOVAL && g->values[n->in[i]].needs_grad && !(mutates >> i & 1u);
        wanted = wanted || need[i];
    }
    if (!flows || !wanted) return CT_OK;
    for (int i = 0; i < n->nin; i++)
        if (need[i] && r->constants >> i & 1u)
            return ct_fail(CT_EUNSUPPORTED, "autodiff: node '%s': %s has no gradient for its input %d, '%s'", n->name,
                           ct_op_get(n->op)->name, i, g->values[n->in[i]].name);
    if (!r->grad)
        return ct_fail(CT_EUNSUPPORTED, "autodiff: node '%s': %s is not differentiable", n->name,
                       ct_op_get(n->op)->name);
    t->node = n;
    ct_grad_ctx ctx = { t, &n->attrs, n->nin, n->nout, n->in, n->out, dout, need, din, grad_desc, grad_emit };
    ct_status st = r->grad(&ctx);
    if (st != CT_OK) return ct_fail_context(st, "autodiff: node '%s'", n->name);
    for (int i = 0; i < n->nin; i++) {
        if (!need[i] || din[i] == CT_NOVAL) continue;
        if (!ct_desc_equal(ct_graph_desc(g, din[i]), ct_graph_desc(g, n->in[i]))) {
            char a[CT_DESC_STR], b[CT_DESC_STR];
            return ct_fail(CT_EINTERNAL, "autodiff: node '%s': the gradient of input %d is %s, the input %s", n->name,
                           i, ct_desc_str(ct_graph_desc(g, din[i]), a), ct_desc_str(ct_graph_desc(g, n->in[i]), b));
        }
        CT_TRY(contribute(t, n->in[i], din[i]));
    }
    return CT_OK;
}

/* Puts parameter p's gradient into the GRAD arena: the node that gives it writes there. Where that is not possible (a
 * view, the seed, or already another parameter's gradient) a copy is made. */
static ct_status place_gradient(tape *t, size_t first_backward, ct_val p)
{
    ct_graph *g = t->g;
    ct_val d = t->grad[p];
    const ct_value *v = &g->values[d];
    bool own = v->arena == CT_ARENA_ACT && v->root == d && v->producer >= (int)first_backward;
    if (!own) {
        ct_attrs a = { .cast = { v->desc.dtype } };
        char *name = ct_asprintf("%s.grad", g->values[p].name);
        if (!name) return CT_ENOMEM;
        ct_status st = ct_graph_node(g, CT_OP_CAST, &a, name, 1, &d, 1, 1u, &d);
        ct_free(name);
        if (st != CT_OK) return st;
        t->grad[p] = d;
    }
    g->values[d].arena = CT_ARENA_GRAD;
    g->values[d].offset = g->values[p].offset;
    /* Views of it are in that arena as well. */
    for (size_t w = t->nvalues; w < g->nvalues; w++) {
        if (g->values[w].root != d) continue;
        g->values[w].arena = CT_ARENA_GRAD;
        g->values[w].offset = g->values[d].offset;
    }
    return CT_OK;
}

static ct_status check_loss(const ct_graph *g, ct_val loss, ct_val seed)
{
    if (loss < 0 || (size_t)loss >= g->nvalues || seed < 0 || (size_t)seed >= g->nvalues)
        return ct_fail(CT_EINVAL, "autodiff: loss or seed does not exist");
    const ct_value *l = &g->values[loss], *s = &g->values[seed];
    char a[CT_DESC_STR], b[CT_DESC_STR];
    if (!ct_dtype_is_float(l->desc.dtype) || ct_desc_numel(&l->desc) != 1)
        return ct_fail(CT_EINVAL, "autodiff: the loss '%s' is %s, not one number", l->name, ct_desc_str(&l->desc, a));
    if (!ct_desc_equal(&l->desc, &s->desc))
        return ct_fail(CT_EINVAL, "autodiff: the loss '%s' is %s, but the seed '%s' is %s", l->name,
                       ct_desc_str(&l->desc, a), s->name, ct_desc_str(&s->desc, b));
    if (!l->needs_grad) return ct_fail(CT_EINVAL, "autodiff: the loss '%s' does not depend on any parameter", l->name);
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].grad != CT_NOVAL) return ct_fail(CT_EINVAL, "autodiff: the graph has gradients already");
    return CT_OK;
}

ct_status ct_autodiff(ct_graph *g, ct_val loss, ct_val seed)
{
    ct_status st = CT_OK;
    CT_TRY(check_loss(g, loss, seed));
    ct_phase phase = g->phase;
    size_t nforward = g->nnodes;
    tape t = { .g = g, .nvalues = g->nvalues };
    t.grad = ct_calloc(t.nvalues, sizeof *t.grad, "gradients of values");
    if (!t.grad) return CT_ENOMEM;
    for (size_t v = 0; v < t.nvalues; v++) t.grad[v] = CT_NOVAL;
    t.grad[loss] = seed;
    g->phase = CT_PHASE_BACKWARD;
    for (size_t i = nforward; i-- > 0;) {
        ct_node n = g->nodes[i]; /* emitting moves the array */
        CT_GOTO(st, differentiate(&t, &n));
    }
    for (size_t p = 0; p < t.nvalues; p++)
        if (ct_graph_is_weight(g, (ct_val)p) && g->values[p].arena == CT_ARENA_PARAM && t.grad[p] != CT_NOVAL)
            CT_GOTO(st, place_gradient(&t, nforward, (ct_val)p));
    for (size_t v = 0; v < t.nvalues; v++) g->values[v].grad = t.grad[v];
    st = ct_graph_remove_dead(g, true);
fail:
    g->phase = phase;
    ct_free(t.grad);
    return st;
}
