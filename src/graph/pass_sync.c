/* Batch norms over the batch of a whole group: each takes its statistics from moments that are summed over all members. */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "graph/internal.h"

static bool is_live_norm(const ct_node *n)
{
    return n->op == CT_OP_BATCHNORM && n->attrs.norm.update_stats;
}

/* Appends what gives the moments of x over the group. */
static ct_status append_moments(ct_graph *g, const ct_node *norm, ct_val *moments)
{
    const ct_attrs none = { .conv = { 0 } };
    char *own = ct_asprintf("%s.moments", norm->name), *all = ct_asprintf("%s.group", norm->name);
    ct_status st = own && all ? CT_OK : CT_ENOMEM;
    if (st == CT_OK) st = ct_graph_node(g, CT_OP_BATCHNORM_MOMENTS, &none, own, 1, norm->in, 1, 1, moments);
    if (st == CT_OK) st = ct_graph_node(g, CT_OP_GROUP_SUM, &none, all, 1, moments, 1, 1, moments);
    ct_free(own);
    ct_free(all);
    return st;
}

/* Rows of a tensor: all but its channels. */
static int64_t rows_of(const ct_desc *x) { return ct_desc_numel(x) / x->dim[x->ndim - 1]; }

static ct_status join(ct_graph *g, ct_node *n, int64_t samples, int64_t of)
{
    const int64_t rows = rows_of(&g->values[n->in[0]].desc);
    if (rows % samples != 0)
        return ct_fail(CT_EINVAL, "sync: node '%s' normalises %" PRId64 " rows of %" PRId64 " samples", n->name, rows,
                       samples);
    CT_TRY(append_moments(g, n, &n->in[6]));
    if (n->nin < 6) n->in[5] = CT_NOVAL;
    n->op = CT_OP_BATCHNORM_JOINT;
    n->nin = 7;
    n->attrs.norm.total = rows / samples * of;
    return CT_OK;
}

ct_status ct_pass_sync(ct_graph *g, int64_t samples, int64_t of, int *joined)
{
    ct_status st = CT_OK;
    int count = 0;
    if (ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "sync: the graph has gradients already");
    /* as in the cast pass the nodes move over one by one, and both lists are there until the end */
    ct_node *old = g->nodes;
    const size_t nold = g->nnodes;
    const ct_phase phase = g->phase;
    size_t moved = 0;
    g->nodes = NULL;
    g->nnodes = g->cap_nodes = 0;
    for (; moved < nold; moved++) {
        g->phase = old[moved].phase;
        if (is_live_norm(&old[moved])) {
            CT_GOTO(st, join(g, &old[moved], samples, of));
            count++;
        }
        CT_GOTO(st, ct_graph_push(g, &old[moved]));
    }
    if (joined) *joined = count;
fail:
    for (size_t i = moved; i < nold; i++) ct_free(old[i].name);
    ct_free(old);
    g->phase = phase;
    return st;
}

/* ---- gradients ---- */

/* The node of this kind that alone gives v, which one other node reads and nobody else has an interest in; NULL. */
static const ct_node *only_from(const ct_graph *g, const int *uses, ct_val v, ct_op op)
{
    const int i = g->values[v].producer;
    if (i < 0 || uses[v] != 1 || g->values[v].keep || g->nodes[i].op != op || g->nodes[i].out[0] != v) return NULL;
    return &g->nodes[i];
}

static bool reads(const ct_node *n, ct_val v)
{
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] == v) return true;
    return false;
}

/* dx with mean and invstd held, to which node `sum` adds what comes through the moments: one node in the sum's place. */
static void join_gradient(ct_graph *g, const int *uses, size_t sum, bool *drop, int *count)
{
    ct_node *last = &g->nodes[sum];
    const ct_node *norm = NULL, *through = NULL;
    for (int k = 0; k < 2 && !(norm && through); k++) {
        norm = only_from(g, uses, last->in[k], CT_OP_BATCHNORM_JOINT_BWD);
        through = only_from(g, uses, last->in[1 - k], CT_OP_BATCHNORM_MOMENTS_BWD);
    }
    if (!norm || !through || norm->nin > 8 || through->in[0] != norm->in[1]) return;
    const size_t from = (size_t)(norm - g->nodes);
    for (size_t i = from + 1; i < sum && norm->nout > 1; i++) /* it moves behind these */
        if (reads(&g->nodes[i], norm->out[1])) return;
    ct_node one = *norm;
    for (int k = one.nin; k < 8; k++) one.in[k] = CT_NOVAL;
    one.in[8] = through->in[1];
    one.nin = 9;
    one.out[0] = last->out[0];
    one.name = last->name; /* the norm keeps its own until it is dropped */
    *last = one;
    for (int k = 0; k < one.nout; k++)
        if (one.out[k] != CT_NOVAL) g->values[one.out[k]].producer = (int)sum;
    for (int k = 1; k < one.nout; k++) g->nodes[from].out[k] = CT_NOVAL;
    drop[from] = drop[through - g->nodes] = true;
    (*count)++;
}

ct_status ct_pass_sync_gradients(ct_graph *g, int *joined)
{
    int count = 0, *uses = ct_graph_uses(g);
    bool *drop = ct_calloc(g->nnodes + 1, sizeof *drop, "nodes to drop");
    ct_status st = uses && drop ? CT_OK : CT_ENOMEM;
    for (size_t i = 0; st == CT_OK && i < g->nnodes; i++)
        if (g->nodes[i].op == CT_OP_ADD && g->nodes[i].phase == CT_PHASE_BACKWARD)
            join_gradient(g, uses, i, drop, &count);
    if (st == CT_OK && count > 0) st = ct_graph_drop(g, drop);
    ct_free(uses);
    ct_free(drop);
    if (joined) *joined = count;
    return st;
}
