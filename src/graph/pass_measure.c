/* Moments from where they are made.
 *
 * A batch norm reads its input twice: for the mean and the variance of each channel, and to normalise it. Where a convolution gives that
 * input, it gives the sums of it and of its squares as well, while it lies in registers, and the norm takes its statistics from these: one
 * pass over memory less. */
#include "config.h"

#include "graph/internal.h"

/* The convolution that gives v in the same phase, of one group, or NULL; its node's number in *at. Depthwise ones multiply too little to sum besides, and what
 * is rounded to 16 bits as it leaves the registers would be read again for its sums. */
static const ct_node *convolution(const ct_graph *g, ct_val v, ct_phase phase, size_t *at)
{
    if (!ct_value_is_act_root(g, v) || ct_accum_dtype(g->values[v].desc.dtype) != g->values[v].desc.dtype) return NULL;
    *at = (size_t)g->values[v].producer;
    const ct_node *n = &g->nodes[*at];
    return n->op == CT_OP_CONV2D && n->phase == phase && n->attrs.conv.groups == 1 ? n : NULL;
}

/* Norms that n is made of: of the second one x stands at input 5. */
static int norms_in(const ct_node *n)
{
    if (n->op == CT_OP_BATCHNORM_SUM) return 2;
    return n->op == CT_OP_BATCHNORM || n->op == CT_OP_BATCHNORM_POOL || n->op == CT_OP_BATCHNORM_MEAN;
}

/* Moments become input i of n. */
static void take(ct_node *n, int i, ct_val moments)
{
    for (int k = n->nin; k < i; k++) n->in[k] = CT_NOVAL;
    n->in[i] = moments;
    if (n->nin <= i) n->nin = i + 1;
}

ct_status ct_pass_measure(ct_graph *g, int *found)
{
    int count = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        size_t at;
        for (int k = 0; k < norms_in(&g->nodes[i]); k++) {
            if (!convolution(g, g->nodes[i].in[5 * k], g->nodes[i].phase, &at)) continue;
            if (!g->nodes[at].attrs.conv.moments) {
                g->nodes[at].attrs.conv.moments = 1;
                CT_TRY(ct_graph_more_outputs(g, at));
            }
            take(&g->nodes[i], norms_in(&g->nodes[i]) == 2 ? 10 + k : 6, g->nodes[at].out[1]);
            count++;
        }
    }
    if (found) *found = count;
    return CT_OK;
}
