/* Biases in front of a batch norm.
 *
 * A batch norm that normalises by its own batch takes the mean away, and with it whatever was added to a whole channel before: the
 * gradient of that addition is the sum over the channel of dx = gamma/sigma (dy - mean(dy) - xhat mean(dy xhat)), which is zero, because the sums
 * of dy - mean(dy) and of xhat are. What is computed for it is rounding alone, and costs reading all of dx once more. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

/* The node that gives v, where it is this operator; NULL: another one, or none. */
static const ct_node *giver(const ct_graph *g, ct_val v, ct_op op)
{
    const int i = g->values[v].producer;
    return i >= 0 && g->nodes[i].op == op ? &g->nodes[i] : NULL;
}

/* Whether d, the gradient of a parameter, sums what a batch norm's gradient gives; *cast: by way of this cast, or NULL. */
static bool sums_norm(const ct_graph *g, ct_val d, const int *uses, const ct_node **sum, const ct_node **cast)
{
    *cast = giver(g, d, CT_OP_CAST);
    const ct_val v = *cast ? (*cast)->in[0] : d;
    *sum = giver(g, v, CT_OP_BIAS_GRAD);
    if (!*sum || (*cast && uses[v] != 1)) return false;
    const ct_val dx = (*sum)->in[0];
    const ct_node *norm = giver(g, dx, CT_OP_BATCHNORM_BWD), *two = giver(g, dx, CT_OP_BATCHNORM_SUM_BWD);
    if (!norm) norm = two ? two : giver(g, dx, CT_OP_BATCHNORM_POOL_BWD);
    if (!norm) norm = giver(g, dx, CT_OP_BATCHNORM_MEAN_BWD);
    return norm && (norm->out[0] == dx || (two && two->out[3] == dx));
}

ct_status ct_pass_still(ct_graph *g, int *found)
{
    ct_status st = CT_ENOMEM;
    bool *drop = ct_calloc(g->nnodes + 1, sizeof *drop, "gradients that are zero");
    int *uses = ct_graph_uses(g), n = 0;
    if (!drop || !uses) goto fail;
    for (size_t p = 0; p < g->nvalues; p++) {
        const ct_node *sum, *cast;
        const ct_val d = g->values[p].grad;
        if (!ct_graph_is_weight(g, (ct_val)p) || d == CT_NOVAL || uses[d] > 0 || !sums_norm(g, d, uses, &sum, &cast)) continue;
        drop[sum - g->nodes] = true;
        if (cast) drop[cast - g->nodes] = true;
        g->values[p].still = true;
        n++;
    }
    CT_GOTO(st, ct_graph_drop(g, drop));
    for (size_t p = 0; p < g->nvalues; p++) /* nobody writes them: they stay the zeros that the arena begins with */
        if (g->values[p].still) g->values[g->values[p].grad].arena = CT_ARENA_GRAD;
    if (found) *found = n;
fail:
    ct_free(drop);
    ct_free(uses);
    return st;
}
