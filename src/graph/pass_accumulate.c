/* Sums of gradients that are made where one of them is written.
 *
 * Where two paths leave a residual block, autodiff adds their gradients. If the later one is the data gradient of a convolution, it is added to the other as
 * it leaves registers, in the other's place: one tensor less is written and read again, and of a convolution with a stride, whose gradient is zero but for
 * the pixels that it reads, the rest is not touched at all. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

/* Whether v is ACT's own and node `sum` alone reads it. */
static bool passing(const ct_graph *g, ct_val v, const int *uses)
{
    return uses[v] == 1 && ct_value_is_act_root(g, v) && !g->values[v].keep;
}

/* The data gradient that gives input k of an addition behind what gives the other one; NULL: something else does. Not of 16 bits: it would be rounded
 * once less. And of one group: depthwise convolutions have loops of their own. */
static ct_node *gradient(const ct_graph *g, const ct_node *sum, int k, const int *uses)
{
    const ct_val v = sum->in[k], other = sum->in[1 - k];
    if (!passing(g, v, uses) || !passing(g, other, uses) || ct_accum_dtype(g->values[v].desc.dtype) != g->values[v].desc.dtype) return NULL;
    ct_node *n = &g->nodes[g->values[v].producer];
    const bool later = g->values[other].producer < g->values[v].producer;
    return n->op == CT_OP_CONV2D_DGRAD && n->nin == 2 && n->attrs.conv.groups == 1 && later ? n : NULL;
}

ct_status ct_pass_accumulate(ct_graph *g, int *found)
{
    ct_status st = CT_ENOMEM;
    bool *drop = ct_calloc(g->nnodes + 1, sizeof *drop, "sums of gradients");
    int *uses = ct_graph_uses(g), count = 0;
    if (!drop || !uses) goto fail;
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_node *sum = &g->nodes[i], *n = NULL;
        if (sum->op != CT_OP_ADD || sum->phase != CT_PHASE_BACKWARD) continue;
        int k = 0;
        for (; k < 2 && !n; k++) n = gradient(g, sum, k, uses);
        if (!n) continue;
        n->in[2] = sum->in[2 - k];
        n->nin = 3;
        n->out[0] = sum->out[0];
        g->values[n->out[0]].producer = (int)(n - g->nodes);
        sum->out[0] = CT_NOVAL;
        drop[i] = true;
        count++;
    }
    CT_GOTO(st, ct_graph_drop(g, drop));
    if (found) *found = count;
fail:
    ct_free(drop);
    ct_free(uses);
    return st;
}
