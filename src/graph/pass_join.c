/* Sums of gradients in front of a batch norm's.
 *
 * Where two paths leave a residual block, autodiff adds their gradients, and the gradient of the batch norm that closes the block reads the
 * sum. It reads both of them instead here: neither is the sum written nor read again, and a call less is made.
 *
 * The gradient of a 1x1 convolution with a stride (the shortcut of a block that makes pictures smaller) is zero but for the pixels that
 * the convolution reads. As a second gradient it is given as those alone: what a convolution without a stride gives. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

/* The input of n that a second gradient is; -1: it takes none. */
static int second_input(const ct_node *n)
{
    return n->op == CT_OP_BATCHNORM_BWD ? 8 : n->op == CT_OP_BATCHNORM_SUM_BWD ? 10 : n->op == CT_OP_BATCHNORM_POOL_BWD ? 6 : -1;
}

/* The addition whose sum only node n reads, as the gradient that comes into a batch norm; NULL: there is none. */
static const ct_node *summed(const ct_graph *g, const ct_node *n, const int *uses)
{
    const int second = second_input(n);
    if (second < 0 || (n->nin > second && n->in[second] != CT_NOVAL)) return NULL;
    const ct_val dy = n->in[0];
    if (uses[dy] != 1 || !ct_value_is_act_root(g, dy) || g->values[dy].keep) return NULL;
    const ct_node *sum = &g->nodes[g->values[dy].producer];
    return sum->op == CT_OP_ADD && sum->phase == CT_PHASE_BACKWARD ? sum : NULL;
}

/* The gradient of a 1x1 convolution with a stride that gives v for one reader alone; NULL: v is something else. */
static ct_node *sparse(const ct_graph *g, ct_val v, const int *uses)
{
    if (uses[v] != 1 || !ct_value_is_act_root(g, v) || g->values[v].keep || g->values[v].producer < 0) return NULL;
    ct_node *n = &g->nodes[g->values[v].producer];
    if (n->op != CT_OP_CONV2D_DGRAD) return NULL;
    const ct_conv_attrs *a = &n->attrs.conv;
    const ct_desc *w = ct_graph_desc(g, n->in[1]);
    if (w->dim[1] != 1 || w->dim[2] != 1 || a->pad_h != 0 || a->pad_w != 0) return NULL;
    return a->stride_h > 1 && a->stride_h == a->stride_w ? n : NULL;
}

/* Lets a sparse gradient give its pixels without the zeros in between; returns the step from one to the next. */
static int64_t condense(ct_graph *g, ct_node *n)
{
    ct_conv_attrs *a = &n->attrs.conv;
    const ct_desc *dy = ct_graph_desc(g, n->in[0]);
    ct_desc *dx = &g->values[n->out[0]].desc;
    const int64_t step = a->stride_h;
    a->stride_h = a->stride_w = 1;
    a->in_h = dx->dim[1] = dy->dim[1];
    a->in_w = dx->dim[2] = dy->dim[2];
    return step;
}

/* n reads both gradients of the sum. */
static void join(ct_graph *g, ct_node *n, const ct_node *sum, const int *uses)
{
    const int second = second_input(n);
    const int last = sparse(g, sum->in[0], uses) ? 0 : 1;
    ct_node *shortcut = n->op == CT_OP_BATCHNORM_POOL_BWD ? NULL : sparse(g, sum->in[last], uses);
    for (int k = n->nin; k < second; k++) n->in[k] = CT_NOVAL;
    n->nin = second + 1;
    n->in[0] = sum->in[1 - last];
    n->in[second] = sum->in[last];
    if (shortcut) n->attrs.norm.dy2_step = condense(g, shortcut);
}

ct_status ct_pass_join(ct_graph *g, int *found)
{
    ct_status st = CT_ENOMEM;
    bool *drop = ct_calloc(g->nnodes + 1, sizeof *drop, "sums of gradients");
    int *uses = ct_graph_uses(g), n = 0;
    if (!drop || !uses) goto fail;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *sum = summed(g, &g->nodes[i], uses);
        if (!sum) continue;
        join(g, &g->nodes[i], sum, uses);
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
