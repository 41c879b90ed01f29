/* Sums of gradients in front of a batch norm's.
 *
 * Where two paths leave a residual block, autodiff adds their gradients, and the gradient of the batch norm that closes the block reads the
 * sum. It reads both of them instead here: neither is the sum written nor read again, and a call less is made. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

enum { SECOND = 8 }; /* input dy2 of batchnorm_bwd */

/* The addition whose sum only node n reads, as the gradient that comes into a batch norm; NULL: there is none. */
static const ct_node *summed(const ct_graph *g, const ct_node *n, const int *uses)
{
    if (n->op != CT_OP_BATCHNORM_BWD || (n->nin > SECOND && n->in[SECOND] != CT_NOVAL)) return NULL;
    const ct_val dy = n->in[0];
    if (uses[dy] != 1 || !ct_value_is_act_root(g, dy) || g->values[dy].keep) return NULL;
    const ct_node *sum = &g->nodes[g->values[dy].producer];
    return sum->op == CT_OP_ADD && sum->phase == CT_PHASE_BACKWARD ? sum : NULL;
}

ct_status ct_pass_join(ct_graph *g, int *found)
{
    ct_status st = CT_ENOMEM;
    bool *drop = ct_calloc(g->nnodes + 1, sizeof *drop, "sums of gradients");
    int *uses = ct_graph_uses(g), n = 0;
    if (!drop || !uses) goto fail;
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_node *norm = &g->nodes[i];
        const ct_node *sum = summed(g, norm, uses);
        if (!sum) continue;
        for (int k = norm->nin; k < SECOND; k++) norm->in[k] = CT_NOVAL;
        norm->nin = SECOND + 1;
        norm->in[0] = sum->in[0];
        norm->in[SECOND] = sum->in[1];
        drop[sum - g->nodes] = true;
        n++;
    }
    CT_GOTO(st, ct_graph_drop(g, drop));
    if (found) *found = n;
fail:
    ct_free(drop);
    ct_free(uses);
    return st;
}
