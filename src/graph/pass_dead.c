/* Removes nodes whose results nobody wants. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

/* Does output v matter, given how often live nodes read each value? A view of something is wanted only where it is
 * read. */
static bool wanted(const ct_graph *g, const int *uses, ct_val v)
{
    const ct_value *x = &g->values[v];
    return uses[v] > 0 || x->keep || (x->root == v && x->arena != CT_ARENA_ACT);
}

ct_status ct_graph_remove_dead(ct_graph *g, bool backward_only)
{
    ct_status st = CT_ENOMEM;
    bool *drop = ct_calloc(g->nnodes + 1, sizeof *drop, "dead nodes");
    int *uses = ct_graph_uses(g);
    if (!drop || !uses) goto fail;
    for (size_t i = g->nnodes; i-- > 0;) {
        const ct_node *n = &g->nodes[i];
        bool live = ct_node_mutates(n) != 0 || (backward_only && n->phase != CT_PHASE_BACKWARD);
        for (int k = 0; k < n->nout && !live; k++) live = n->out[k] != CT_NOVAL && wanted(g, uses, n->out[k]);
        if (live) continue;
        drop[i] = true;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] != CT_NOVAL) uses[n->in[k]]--;
    }
    CT_GOTO(st, ct_graph_drop(g, drop));
    for (size_t v = 0; v < g->nvalues; v++) {
        ct_val d = g->values[v].grad;
        if (d != CT_NOVAL && g->values[d].arena == CT_ARENA_ACT && g->values[d].producer < 0)
            g->values[v].grad = CT_NOVAL;
    }
fail:
    ct_free(drop);
    ct_free(uses);
    return st;
}

ct_status ct_pass_dead(ct_graph *g)
{
    return ct_graph_remove_dead(g, false);
}
