/* batchnorm -> relu, and batchnorm -> add -> relu, become one batchnorm with act=relu, and the same with silu; then
 * batchnorm -> add, where no activation has taken it, one with a summand: one pass over memory instead of three, and
 * the values in between are never stored. A pass of its own (fuse_more) makes one of batchnorm with relu and a
 * max-pooling that halves, or the mean over all pixels, and of batchnorm with relu and a summand that a batchnorm of its
 * own gives (the shortcut of a residual block). */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct fuser {
    ct_graph *g;
    int *uses;   /* [nvalues] */
    bool *drop;  /* [nnodes] */
} fuser;

/* v is read by one node only, and the host has no interest in it. */
static bool read_once(const fuser *f, ct_val v)
{
    const ct_value *x = &f->g->values[v];
    return f->uses[v] == 1 && !x->keep && x->arena == CT_ARENA_ACT && x->root == v;
}

/* Where v stands among the checkpoints; NULL: it is none. */
static ct_val *checkpoint(const fuser *f, ct_val v)
{
    for (size_t i = 0; i < f->g->ncheckpoints; i++)
        if (f->g->checkpoints[i] == v) return &f->g->checkpoints[i];
    return NULL;
}

/* v is read by one node only, and nobody else has an interest in it. */
static bool passing(const fuser *f, ct_val v) { return read_once(f, v) && !checkpoint(f, v); }

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

/* Puts `norm`, with activation `act` and the summand, if any, in the place of node i, whose output it gives; what it gave before is
 * nobody's. */
static ct_status take_place(fuser *f, ct_node *norm, ct_norm_act act, ct_val summand, size_t i)
{
    ct_graph *g = f->g;
    ct_node *last = &g->nodes[i], fused = *norm;
    fused.attrs.norm.act = act;
    if (summand != CT_NOVAL) {
        fused.nin = 6;
        fused.in[5] = summand;
    }
    f->uses[norm->out[0]]--;
    f->drop[norm - g->nodes] = true;
    fused.out[0] = last->out[0];
    fused.name = last->name;
    last->name = norm->name;
    norm->name = fused.name;
    fused.name = last->name;
    for (int k = 1; k < norm->nout; k++) norm->out[k] = CT_NOVAL;
    *last = fused;
    for (int k = 0; k < fused.nout; k++)
        if (fused.out[k] != CT_NOVAL) g->values[fused.out[k]].producer = (int)i;
    return ct_graph_more_outputs(g, i); /* of a relu the mask, which its gradient reads */
}

/* The norm that may take in the sum at node `sum` and stand at node `before`, and the other summand; NULL: there is none. */
static ct_node *summed_norm(const fuser *f, const ct_node *sum, size_t before, ct_val *other)
{
    ct_node *norm = NULL;
    for (int k = 0; k < 2 && !norm; k++) {
        norm = plain_norm(f, sum->in[k], before);
        *other = sum->in[1 - k];
    }
    return norm;
}

/* Tries the activation at node i. */
static ct_status fuse_act(fuser *f, size_t i)
{
    ct_graph *g = f->g;
    const ct_norm_act act = norm_act(&g->nodes[i]);
    const ct_val x = g->nodes[i].in[0];
    ct_val other = CT_NOVAL;
    ct_node *norm = plain_norm(f, x, i), *sum = NULL;
    if (!norm && passing(f, x) && g->values[x].producer >= 0 && g->nodes[g->values[x].producer].op == CT_OP_ADD) {
        sum = &g->nodes[g->values[x].producer];
        norm = summed_norm(f, sum, i, &other);
    }
    if (!norm) return CT_OK;
    if (sum) {
        f->drop[sum - g->nodes] = true;
        f->uses[x]--;
    }
    return take_place(f, norm, act, sum ? other : CT_NOVAL, i);
}

/* Tries the sum at node i. */
static ct_status fuse_sum(fuser *f, size_t i)
{
    ct_val other = CT_NOVAL;
    ct_node *norm = summed_norm(f, &f->g->nodes[i], i, &other);
    return norm ? take_place(f, norm, CT_NORM_LINEAR, other, i) : CT_OK;
}

/* Lets `tries` mark nodes of f.drop, and takes those out of the graph. */
static ct_status fuse(ct_graph *g, ct_status (*tries)(fuser *f), int *removed)
{
    ct_status st = CT_ENOMEM;
    const size_t before = g->nnodes;
    fuser f = { .g = g };
    if (removed) *removed = 0;
    if (ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "fuse: the graph has gradients already");
    f.uses = ct_graph_uses(g);
    f.drop = ct_calloc(g->nnodes + 1, sizeof *f.drop, "fused nodes");
    if (!f.uses || !f.drop) goto fail;
    CT_GOTO(st, tries(&f));
    CT_GOTO(st, ct_graph_drop(g, f.drop));
    if (removed) *removed = (int)(before - g->nnodes);
fail:
    ct_free(f.uses);
    ct_free(f.drop);
    return st;
}

static ct_status try_norms(fuser *f)
{
    const ct_graph *g = f->g;
    for (size_t i = 0; i < g->nnodes; i++)
        if (norm_act(&g->nodes[i]) != CT_NORM_LINEAR) CT_TRY(fuse_act(f, i));
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == CT_OP_ADD && !f->drop[i]) CT_TRY(fuse_sum(f, i));
    return CT_OK;
}

ct_status ct_pass_fuse(ct_graph *g, int *removed) { return fuse(g, try_norms, removed); }

/* Windows of n that a batch norm can take in: 2x2, or 3x3 that overlap, 2 apart. */
static bool halves(const ct_node *n)
{
    const ct_pool_attrs *a = &n->attrs.pool;
    if (n->op != CT_OP_MAXPOOL2D || a->ker_h != a->ker_w || a->stride_h != 2 || a->stride_w != 2 || a->pad_h != a->pad_w) return false;
    return (a->ker_h == 2 && a->pad_h == 0) || (a->ker_h == 3 && a->pad_h == 1);
}

/* The batchnorm with relu whose y, v, has one reader, and of which nobody has read anything else; NULL: there is
 * none. */
static ct_node *gated_norm(const fuser *f, ct_val v)
{
    ct_graph *g = f->g;
    if (!read_once(f, v) || g->values[v].producer < 0) return NULL;
    ct_node *norm = &g->nodes[g->values[v].producer];
    if (norm->op != CT_OP_BATCHNORM || norm->attrs.norm.act != CT_NORM_RELU || norm->out[0] != v) return NULL;
    if (norm->nout < 4 || norm->out[1] == CT_NOVAL || norm->out[2] == CT_NOVAL) return NULL;
    for (int k = 1; k < 4; k++)
        if (norm->out[k] != CT_NOVAL && (f->uses[norm->out[k]] > 0 || g->values[norm->out[k]].keep)) return NULL;
    return norm;
}

/* Node i, which reads the norm's y, becomes one with it: operator `op` with the norm's inputs, statistics and `extra`
 * for its last output. It stays where it is, so that what is read in between stays in order. */
static void take_norm(fuser *f, ct_node *norm, ct_op op, ct_val extra, size_t i)
{
    ct_graph *g = f->g;
    ct_node *last = &g->nodes[i], fused = *last;
    fused.op = op;
    fused.attrs = (ct_attrs){ .norm = { .eps = norm->attrs.norm.eps, .momentum = norm->attrs.norm.momentum,
                                        .update_stats = norm->attrs.norm.update_stats } };
    fused.nin = norm->nin;
    for (int k = 0; k < norm->nin; k++) fused.in[k] = norm->in[k];
    fused.nout = 4;
    fused.out[1] = norm->out[1];
    fused.out[2] = norm->out[2];
    fused.out[3] = extra;
    fused.name = norm->name;
    norm->name = last->name;
    for (int k = 1; k < norm->nout; k++)
        if (k < 3 || norm->out[k] == extra) norm->out[k] = CT_NOVAL; /* they are the new node's */
    f->drop[norm - g->nodes] = true;
    *last = fused;
    for (int k = 1; k < 4; k++) g->values[fused.out[k]].producer = (int)i;
}

/* Tries the pooling at node i. */
static void fuse_pool(fuser *f, size_t i)
{
    ct_node *pool = &f->g->nodes[i];
    const bool overlap = pool->attrs.pool.ker_h == 3;
    ct_node *norm = gated_norm(f, pool->in[0]);
    if (!norm || checkpoint(f, pool->in[0]) || (norm->nin > 5 && norm->in[5] != CT_NOVAL)) return;
    norm->nin = 5;
    take_norm(f, norm, CT_OP_BATCHNORM_POOL, pool->out[1], i);
    pool->attrs.norm.overlap = overlap;
}

/* Tries the mean over all pixels at node i. A block of the model that ended in front of it ends behind it. */
static void fuse_mean(fuser *f, size_t i)
{
    const ct_node *mean = &f->g->nodes[i];
    ct_val *end = checkpoint(f, mean->in[0]);
    ct_node *norm = gated_norm(f, mean->in[0]);
    if (!norm || norm->out[3] == CT_NOVAL || (end && checkpoint(f, mean->out[0]))) return;
    take_norm(f, norm, CT_OP_BATCHNORM_MEAN, norm->out[3], i);
    if (end) *end = mean->out[0];
}

/* Tries the norm at node i, whose summand may be what another norm gives: they become one, which stands here. */
static ct_status fuse_summand(fuser *f, size_t i)
{
    ct_graph *g = f->g;
    ct_node *norm = &g->nodes[i];
    if (norm->attrs.norm.act != CT_NORM_RELU || norm->nin < 6 || norm->in[5] == CT_NOVAL || norm->nout < 4) return CT_OK;
    ct_node *other = plain_norm(f, norm->in[5], i);
    if (!other || other->op != CT_OP_BATCHNORM) return CT_OK;
    for (int k = 3; k < 5; k++) /* a norm that is used twice moves the same statistics twice, one behind the other */
        if (g->values[norm->in[k]].root == g->values[other->in[k]].root) return CT_OK;
    const ct_norm_attrs *a = &norm->attrs.norm, *b = &other->attrs.norm;
    if (a->eps != b->eps || a->momentum != b->momentum || a->update_stats != b->update_stats) return CT_OK;
    for (int k = 1; k < 3; k++)
        if (norm->out[k] == CT_NOVAL || other->out[k] == CT_NOVAL) return CT_OK;
    norm->op = CT_OP_BATCHNORM_SUM;
    norm->attrs = (ct_attrs){ .norm = { .eps = a->eps, .momentum = a->momentum, .update_stats = a->update_stats } };
    norm->nin = 10;
    for (int k = 0; k < 5; k++) norm->in[5 + k] = other->in[k];
    norm->nout = 6;
    for (int k = 1; k < 3; k++) {
        norm->out[3 + k] = other->out[k];
        g->values[other->out[k]].producer = (int)i;
        other->out[k] = CT_NOVAL;
    }
    f->drop[other - g->nodes] = true;
    return CT_OK;
}

static ct_status try_more(fuser *f)
{
    for (size_t i = 0; i < f->g->nnodes; i++)
        if (halves(&f->g->nodes[i])) fuse_pool(f, i);
    for (size_t i = 0; i < f->g->nnodes; i++)
        if (f->g->nodes[i].op == CT_OP_BATCHNORM && !f->drop[i]) CT_TRY(fuse_summand(f, i));
    for (size_t i = 0; i < f->g->nnodes; i++)
        if (f->g->nodes[i].op == CT_OP_GLOBAL_AVGPOOL) fuse_mean(f, i);
    return CT_OK;
}

ct_status ct_pass_fuse_more(ct_graph *g, int *removed) { return fuse(g, try_more, removed); }
