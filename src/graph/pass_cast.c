/* Mixed precision: inserts casts so that matrix work and activations are in a 16-bit type while parameters, statistics
 * and losses stay in f32. What an operator asks for stands in its rules (ct_precision_rule). */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct made_cast { ct_val from, to; } made_cast;

typedef struct caster {
    ct_graph *g;
    ct_dtype compute;
    made_cast *made; /* casts that can be used again */
    size_t nmade, cap_made;
    const ct_node *behind; /* [nbehind] nodes that have not moved yet */
    size_t nbehind;
} caster;

static bool state_like(const ct_value *v)
{
    return v->arena == CT_ARENA_STATE || v->arena == CT_ARENA_METRIC;
}

/* *v in type `want`: itself, an earlier cast of it, or a new cast. */
static ct_status in_type(caster *c, ct_dtype want, ct_val *v)
{
    ct_graph *g = c->g;
    if (ct_graph_desc(g, *v)->dtype == want) return CT_OK;
    for (size_t i = 0; i < c->nmade; i++) {
        if (c->made[i].from == *v && ct_graph_desc(g, c->made[i].to)->dtype == want) {
            *v = c->made[i].to;
            return CT_OK;
        }
    }
    CT_TRY(ct_grow(&c->made, c->nmade, &c->cap_made, sizeof *c->made, "casts"));
    ct_attrs a = { .cast = { want } };
    char *name = ct_asprintf("%s.%s", g->values[*v].name, ct_dtype_name(want));
    if (!name) return CT_ENOMEM;
    ct_val to = CT_NOVAL;
    ct_status st = ct_graph_node(g, CT_OP_CAST, &a, name, 1, v, 1, 1u, &to);
    ct_free(name);
    if (st != CT_OK) return st;
    c->made[c->nmade++] = (made_cast){ *v, to };
    *v = to;
    return CT_OK;
}

/* Is what n gives standardized first? Rounded to 16 bits a faint picture would lose most of what is in it. */
static bool measured_first(const caster *c, const ct_node *n)
{
    const ct_value *values = c->g->values;
    for (size_t i = 0; i < c->nbehind; i++)
        if (c->behind[i].op == CT_OP_STANDARDIZE && values[c->behind[i].in[0]].root == values[n->out[0]].root) return true;
    return false;
}

/* Casts the inputs of n as its operator's rule says. */
static ct_status cast_inputs(caster *c, ct_node *n)
{
    const ct_op_rules *r = ct_op_get(n->op)->rules;
    int first = -1; /* first floating input */
    for (int i = 0; i < n->nin; i++) {
        if (n->in[i] == CT_NOVAL) continue;
        const ct_value *v = &c->g->values[n->in[i]];
        if (!ct_dtype_is_float(v->desc.dtype) || state_like(v) || (r->mutates >> i & 1u)) continue;
        if (first < 0) first = i;
        ct_dtype want = v->desc.dtype;
        switch (r->precision) {
        case CT_PREC_COMPUTE: want = c->compute; break;
        case CT_PREC_ACCUM: want = ct_accum_dtype(c->compute); break;
        case CT_PREC_FLOW:
        case CT_PREC_ALIKE: {
            const ct_desc *lead = ct_graph_desc(c->g, n->in[first]);
            if (r->precision == CT_PREC_ALIKE || ct_desc_same_shape(lead, &v->desc)) want = lead->dtype;
            break;
        }
        }
        CT_TRY(in_type(c, want, &n->in[i]));
    }
    /* Pixels go straight into the type in which the first layer wants them. */
    if (n->op == CT_OP_PREPROCESS && !measured_first(c, n)) n->attrs.image.dtype = (int64_t)c->compute;
    return CT_OK;
}

/* Descriptors of the outputs again, now that inputs have changed. */
static ct_status infer_again(ct_graph *g, const ct_node *n)
{
    ct_call call;
    memset(&call, 0, sizeof call);
    call.op = n->op;
    call.attrs = n->attrs;
    call.nin = n->nin;
    call.nout = n->nout;
    for (int i = 0; i < n->nin; i++)
        call.in[i].desc = n->in[i] == CT_NOVAL ? ct_absent_desc() : g->values[n->in[i]].desc;
    ct_status st = ct_call_infer(&call);
    if (st != CT_OK) return ct_fail_context(st, "cast: node '%s'", n->name);
    for (int i = 0; i < n->nout; i++)
        if (n->out[i] != CT_NOVAL) g->values[n->out[i]].desc = call.out[i].desc;
    return CT_OK;
}

ct_status ct_pass_cast(ct_graph *g, ct_dtype compute)
{
    ct_status st = CT_OK;
    caster c = { .g = g, .compute = compute };
    if (compute == CT_F32 || compute == CT_F64) return CT_OK;
    if (!ct_dtype_is_float(compute))
        return ct_fail(CT_EINVAL, "cast: %s is no type to compute in", ct_dtype_name(compute));
    if (ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "cast: the graph has gradients already");
    for (size_t v = 0; v < g->nvalues; v++) {
        if (ct_graph_is_weight(g, (ct_val)v) && g->values[v].desc.dtype != CT_F32)
            return ct_fail(CT_EINVAL, "cast: '%s' is %s; computing in %s needs a model of f32", g->values[v].name,
                           ct_dtype_name(g->values[v].desc.dtype), ct_dtype_name(compute));
    }

    /* The nodes move over one by one into a new list, casts in between. Until it is over both lists are needed to free
     * all names. */
    ct_node *old = g->nodes;
    size_t nold = g->nnodes, moved = 0;
    ct_phase phase = g->phase;
    g->nodes = NULL;
    g->nnodes = g->cap_nodes = 0;
    for (; moved < nold; moved++) {
        g->phase = old[moved].phase;
        c.behind = &old[moved + 1];
        c.nbehind = nold - moved - 1;
        CT_GOTO(st, cast_inputs(&c, &old[moved]));
        CT_GOTO(st, infer_again(g, &old[moved]));
        CT_GOTO(st, ct_graph_push(g, &old[moved]));
    }
fail:
    for (size_t i = moved; i < nold; i++) ct_free(old[i].name);
    ct_free(old);
    ct_free(c.made);
    g->phase = phase;
    return st;
}
