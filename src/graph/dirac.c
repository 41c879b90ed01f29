/* Convolutions that start as the identity. */
#include "config.h"

#include "graph/internal.h"

void ct_graph_dirac(ct_graph *g)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        if (n->op != CT_OP_CONV2D || n->attrs.conv.groups > 1 || !ct_graph_is_weight(g, n->in[1])) continue;
        g->values[n->in[1]].dirac = true;
    }
}
