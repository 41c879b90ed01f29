/* batchnorm -> relu, and batchnorm -> add -> relu, become one batchnorm with act=relu, and the same with silu: one pass over
 * memory instead of three, and the values in between are never stored. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct fuser {
    ct_graph *g;
    int *uses;   /* [nvalues] */
    bool *drop;  /* [nnodes] */
} fuser;

/* v is read by one node only, and nobody else has an interest in it. */
static bool passing(const fuser *f, ct_val v)
{
    const ct_value *x = &f->g->values[v];
    if (f->uses[v] != 1 || x->keep || x->arena != CT_ARENA_ACT || x->root != v) return false;
    for (size_t i = 0; i < f->g->ncheckpoints; i++)
        if (f->g->checkpoints[i] == v) return false;
    return true;
}

/* The node that gives v if it is a plain batch normalisation that may take in what follows; else NULL. */
static ct_node *plain_norm(const fuser *f, ct_val v, size_t before)
{
    ct_graph *g = f->g;
    if (!passing(f, v) || g->values[v].producer < 0) return NULL;
    size_t at = (size_t)g->values[v].producer;
    ct_node *n = &g->nodes[at];
    if ((n->op != CT_OP_BATCHNORM && n->op != CT_OP_BATCHNORM_INFER) || n->attrs.norm.act != 0 || n->out[0] != v)
        return NULL;
    if (n->nin > 5 && n->in[5] != CT_NOVAL) return NULL;
    for (int k = 1; k < n->nout; k++)
        if (n->out[k] != CT_NOVAL && (f->uses[n->out[k]] > 0 || g->values[n->out[k]].keep)) return NULL;
    /* It moves to `before`: nothing in between may use the same running statistics. */
    for (size_t i = at + 1; i < before; i++) {
        const ct_node *m = &g->nodes[i];
        for (int k = 0; k < m->nin && !f->drop[i]; k++) {
            if (m->in[k] == CT_NOVAL) continue;
            ct_val root = g->values[m->in[k]].root;
            if (root == g->values[n->in[3]].root || root == g->values[n->in[4]].root) return NULL;
        }
    }
    return n;
}

/* What a batch norm calls the activation; CT_NORM_LINEAR if it cannot take it in. */
static ct_norm_act norm_act(const ct_node *n)
{
    if (n->op != CT_OP_ACTIVATION) return CT_NORM_LINEAR;
    return n->attrs.act.kind == CT_ACT_RELU ? CT_NORM_RELU : n->attrs.act.kind == CT_ACT_SILU ? CT_NORM_SILU : CT_NORM_LINEAR;
}

/* Tries the activation at node i. */
static ct_status fuse_act(fuser *f, size_t i)
{
    ct_graph *g = f->g;
    ct_node *act = &g->nodes[i];
    ct_val x = act->in[0], shortcut = CT_NOVAL;
    ct_node *norm = plain_norm(f, x, i), *sum = NULL;
    if (!norm && passing(f, x) && g->values[x].producer >= 0 && g->nodes[g->values[x].producer].op == CT_OP_ADD) {
        sum = &g->nodes[g->values[x].producer];
        for (int k = 0; k < 2 && !norm; k++) {
            norm = plain_norm(f, sum->in[k], i);
            shortcut = sum->in[1 - k];
        }
    }
    if (!norm) return CT_OK;

    /* The norm takes the activation's place and output; what it gave before is nobody's. */
    ct_node fused = *norm;
    fused.attrs.norm.act = norm_act(act);
    if (sum) {
        fused.nin = 6;
        fused.in[5] = shortcut;
        f->drop[sum - g->nodes] = true;
        f->uses[x]--;
    }
    f->uses[norm->out[0]]--;
    f->drop[norm - g->nodes] = true;
    fused.out[0] = act->out[0];
    fused.name = act->name;
    act->name = norm->name;
    norm->name = fused.name;
    fused.name = act->name;
    for (int k = 1; k < norm->nout; k++) norm->out[k] = CT_NOVAL;
    *act = fused;
    for (int k = 0; k < fused.nout; k++)
        if (fused.out[k] != CT_NOVAL) g->values[fused.out[k]].producer = (int)i;
    return ct_graph_more_outputs(g, i); /* of a relu the mask, which its gradient reads */
}

ct_status ct_pass_fuse(ct_graph *g, int *removed)
{
    ct_status st = CT_ENOMEM;
    size_t before = g->nnodes;
    fuser f = { .g = g };
    if (removed) *removed = 0;
    if (ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "fuse: the graph has gradients already");
    f.uses = ct_graph_uses(g);
    f.drop = ct_calloc(g->nnodes + 1, sizeof *f.drop, "fused nodes");
    if (!f.uses || !f.drop) goto fail;
    for (size_t i = 0; i < g->nnodes; i++)
        if (norm_act(&g->nodes[i]) != CT_NORM_LINEAR) CT_GOTO(st, fuse_act(&f, i));
    CT_GOTO(st, ct_graph_drop(g, f.drop));
    if (removed) *removed = (int)(before - g->nnodes);
fail:
    ct_free(f.uses);
    ct_free(f.drop);
    return st;
}
