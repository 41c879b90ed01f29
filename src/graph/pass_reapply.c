/* Batch normalisation applied again.
 *
 * What a batch norm gives, y, is kept for its backward readers (the filter gradient behind it), and
 * so is what it takes, x. But y is a function of x and a few numbers per channel: one pass over memory. Here the backward
 * nodes read a second y instead, computed from the stored statistics just before the first of them needs it; the first y
 * dies with its last forward reader. Gradients stay the same bit for bit.
 *
 * Nothing may live longer for it: x must be read in the backward pass anyway, not earlier than y; the summand of a
 * residual block too, so that of two blocks in a row one keeps its output; or the summand is itself a batch norm's output
 * that the backward pass does not read (a shortcut's), and is computed again as well. Where there is memory for some of
 * the outputs, these are kept: that is the faster way. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct reapply {
    ct_graph *g;
    size_t nforward;    /* nodes before the first backward node */
    int *first, *last;  /* [nvalues] backward nodes that read the value itself; -1: none */
    bool *viewed;       /* [nvalues] roots that backward nodes read through a view */
    bool *again;        /* [nforward] batch norms to be applied again */
    ct_val *second;     /* [nvalues] what backward nodes read in its place; CT_NOVAL */
} reapply;

static void find_readers(reapply *r)
{
    const ct_graph *g = r->g;
    for (size_t v = 0; v < g->nvalues; v++) {
        r->first[v] = r->last[v] = -1;
        r->second[v] = CT_NOVAL;
    }
    for (size_t i = r->nforward; i < g->nnodes; i++)
        for (int k = 0; k < g->nodes[i].nin; k++) {
            const ct_val v = g->nodes[i].in[k];
            if (v == CT_NOVAL) continue;
            if (g->values[v].root != v) r->viewed[g->values[v].root] = true;
            if (r->first[v] < 0) r->first[v] = (int)i;
            r->last[v] = (int)i;
        }
}

/* Whether v is there at backward node `at` without living longer for it. */
static bool there(const reapply *r, ct_val v, int at)
{
    const ct_value *x = &r->g->values[v];
    if (x->arena != CT_ARENA_ACT) return true;
    if (x->root != v) return false;
    if (x->producer >= 0 && (size_t)x->producer < r->nforward && r->again[x->producer]) return false;
    return x->keep || r->last[v] >= at;
}

static bool normalises(const ct_node *n)
{
    return n->op == CT_OP_BATCHNORM || n->op == CT_OP_BATCHNORM_JOINT;
}

static bool is_norm(const reapply *r, ct_val v)
{
    const int i = r->g->values[v].producer;
    return i >= 0 && (size_t)i < r->nforward && normalises(&r->g->nodes[i]) && r->g->nodes[i].out[0] == v;
}

/* The summand of node n, or CT_NOVAL. */
static ct_val summand(const ct_node *n)
{
    return n->nin > 5 ? n->in[5] : CT_NOVAL;
}

/* A summand that has to be computed again itself: a plain batch norm's output that no backward node reads. */
static bool second_summand(const reapply *r, ct_val add, int at)
{
    if (add == CT_NOVAL || !is_norm(r, add) || r->first[add] >= 0 || r->g->values[add].keep) return false;
    const ct_node *m = &r->g->nodes[r->g->values[add].producer];
    return summand(m) == CT_NOVAL && there(r, m->in[0], at);
}

static bool worth(const reapply *r, const ct_node *n)
{
    const ct_graph *g = r->g;
    const ct_val y = n->out[0];
    if (!normalises(n) || y == CT_NOVAL || g->values[y].keep || r->viewed[y] || r->first[y] < 0) return false;
    if (g->values[y].arena != CT_ARENA_ACT || n->out[1] == CT_NOVAL || n->out[2] == CT_NOVAL) return false;
    for (size_t i = r->nforward; i < g->nnodes; i++) /* an update's node would want the first y */
        for (int k = 0; k < g->nodes[i].nin; k++)
            if (g->nodes[i].in[k] == y && g->nodes[i].phase != CT_PHASE_BACKWARD) return false;
    const int at = r->first[y];
    const ct_val add = summand(n);
    return there(r, n->in[0], at) && (add == CT_NOVAL || there(r, add, at) || second_summand(r, add, at));
}

/* Appends the node that gives y of batch norm n again; add: its summand or CT_NOVAL. */
static ct_status append(ct_graph *g, const ct_node *n, int number, ct_val add, ct_val *out)
{
    const ct_attrs a = { .norm = { .act = n->attrs.norm.act, .given_invstd = 1 } };
    const ct_val in[6] = { n->in[0], n->in[1], n->in[2], n->out[1], n->out[2], add };
    char *name = ct_asprintf("%s.again", n->name);
    if (!name) return CT_ENOMEM;
    ct_status st = ct_graph_node(g, CT_OP_BATCHNORM_INFER, &a, name, add == CT_NOVAL ? 5 : 6, in, 1, 1, out);
    ct_free(name);
    if (st == CT_OK) g->nodes[g->nnodes - 1].clone_of = number;
    return st;
}

/* Appends what the backward node `at` is the first to read. */
static ct_status append_before(reapply *r, const ct_node *old, size_t at, int *count)
{
    ct_graph *g = r->g;
    for (size_t i = 0; i < r->nforward; i++) {
        if (!r->again[i] || r->first[old[i].out[0]] != (int)at) continue;
        ct_val add = summand(&old[i]);
        if (second_summand(r, add, (int)at)) {
            const int m = g->values[add].producer;
            CT_TRY(append(g, &old[m], m, CT_NOVAL, &add));
            (*count)++;
        }
        CT_TRY(append(g, &old[i], (int)i, add, &r->second[old[i].out[0]]));
        (*count)++;
    }
    return CT_OK;
}

/* The nodes move into a new list, the second applications in between. */
static ct_status rebuild(reapply *r, int *count)
{
    ct_graph *g = r->g;
    ct_status st = CT_OK;
    ct_node *old = g->nodes;
    const size_t nold = g->nnodes, nvalues = g->nvalues;
    size_t moved = 0;
    const ct_phase phase = g->phase;
    g->nodes = NULL;
    g->nnodes = g->cap_nodes = 0;
    g->phase = CT_PHASE_BACKWARD;
    for (; moved < nold; moved++) {
        if (moved >= r->nforward) CT_GOTO(st, append_before(r, old, moved, count));
        ct_node n = old[moved];
        for (int k = 0; k < n.nin && moved >= r->nforward; k++)
            if (n.in[k] != CT_NOVAL && (size_t)n.in[k] < nvalues && r->second[n.in[k]] != CT_NOVAL)
                n.in[k] = r->second[n.in[k]];
        CT_GOTO(st, ct_graph_push(g, &n));
    }
fail:
    for (size_t i = moved; i < nold; i++) ct_free(old[i].name);
    ct_free(old);
    g->phase = phase;
    return st;
}

/* Chooses the norms. Those that are kept are there for the summands of others. */
static void choose(reapply *r, int64_t keep)
{
    for (size_t i = 0; i < r->nforward; i++) {
        if (!worth(r, &r->g->nodes[i])) continue;
        const int64_t bytes = (int64_t)ct_desc_bytes(&r->g->values[r->g->nodes[i].out[0]].desc);
        r->again[i] = bytes > keep;
        if (!r->again[i]) keep -= bytes;
    }
}

ct_status ct_pass_reapply(ct_graph *g, int64_t keep, int *added)
{
    ct_status st = CT_ENOMEM;
    int count = 0;
    reapply r = { .g = g };
    if (added) *added = 0;
    if (!ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "reapply: the graph has no gradients yet");
    while (g->nodes[r.nforward].phase != CT_PHASE_BACKWARD) r.nforward++;
    /* Values are added while the maps are in use, but only maps of values that were there are read. */
    r.first = ct_calloc(g->nvalues + 1, sizeof *r.first, "readers");
    r.last = ct_calloc(g->nvalues + 1, sizeof *r.last, "readers");
    r.viewed = ct_calloc(g->nvalues + 1, sizeof *r.viewed, "readers");
    r.again = ct_calloc(r.nforward + 1, sizeof *r.again, "nodes to apply again");
    r.second = ct_calloc(g->nvalues + 1, sizeof *r.second, "second values");
    if (!r.first || !r.last || !r.viewed || !r.again || !r.second) goto fail;
    find_readers(&r);
    choose(&r, keep);
    CT_GOTO(st, rebuild(&r, &count));
    if (added) *added = count;
fail:
    ct_free(r.first);
    ct_free(r.last);
    ct_free(r.viewed);
    ct_free(r.again);
    ct_free(r.second);
    return st;
}
