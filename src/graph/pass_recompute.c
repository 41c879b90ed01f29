/* Gradient checkpointing (Chen et al., "Training deep nets with sublinear memory cost", 2016).
 *
 * The forward nodes are cut into segments behind marked values. What a segment leaves for later segments stays in
 * memory; what only its own backward nodes read is given up and computed again by clones of the forward nodes, put just
 * before the first backward node that needs them. Clones run the same operators on the same bits (dropout masks are
 * functions of step and element, batch statistics of the same input), so gradients are the same bit for bit; running
 * statistics are not updated again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct recompute {
    ct_graph *g;
    size_t nforward;  /* nodes before the first backward node */
    int *cuts;        /* [ncuts] node after which a segment ends, ascending */
    int ncuts;        /* segments 0..ncuts-1 end at a cut; segment ncuts is the tail */
    bool *stays;      /* [nvalues] roots that stay in memory */
    bool *needed;     /* [nvalues] values to be computed again */
    ct_val *again;    /* [nvalues] the clone's value; CT_NOVAL */
    int *insert_at;   /* [ncuts+1] backward node before which a segment's clones go; -1: none */
    bool *clone;      /* [nforward] nodes to be cloned */
} recompute;

static int segment_of(const recompute *r, size_t node)
{
    int s = 0;
    while (s < r->ncuts && r->cuts[s] < (int)node) s++;
    return s;
}

static ct_val root_of(const ct_graph *g, ct_val v)
{
    return g->values[v].root;
}

/* Is v an activation of a forward node, so that it could be computed again? */
static bool forward_act(const recompute *r, ct_val v)
{
    const ct_value *x = &r->g->values[root_of(r->g, v)];
    return x->arena == CT_ARENA_ACT && x->producer >= 0 && (size_t)x->producer < r->nforward;
}

static int compare_int(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Cuts behind the marked values, then merged to about `segments`. */
static void find_cuts(recompute *r, int segments)
{
    const ct_graph *g = r->g;
    int n = 0;
    for (size_t i = 0; i < g->ncheckpoints; i++) {
        ct_val root = root_of(g, g->checkpoints[i]);
        if (forward_act(r, root)) r->cuts[n++] = g->values[g->checkpoints[i]].producer;
    }
    qsort(r->cuts, (size_t)n, sizeof *r->cuts, compare_int);
    int m = 0;
    for (int i = 0; i < n; i++)
        if (m == 0 || r->cuts[i] != r->cuts[m - 1]) r->cuts[m++] = r->cuts[i];
    if (segments > 0 && segments < m) {
        for (int j = 0; j < segments; j++) r->cuts[j] = r->cuts[(int)((int64_t)(j + 1) * m / segments) - 1];
        m = segments;
    }
    r->ncuts = m;
}

/* Bytes of segment s that backward nodes read. */
static int64_t saved_bytes(const recompute *r, int s)
{
    const ct_graph *g = r->g;
    int64_t sum = 0;
    for (size_t v = 0; v < g->nvalues; v++)
        if (root_of(g, (ct_val)v) == (ct_val)v && r->needed[v] && segment_of(r, (size_t)g->values[v].producer) == s)
            sum += (int64_t)ct_desc_bytes(&g->values[v].desc);
    return sum;
}

/* The backward pass starts at the end of the tail, while all of it is still in memory: it is never computed again.
 * Where the tail is little beside the last block (a classifier's head), giving that block up would gain next to nothing
 * as well, so it joins the tail. */
static void join_tail(recompute *r)
{
    const ct_graph *g = r->g;
    for (size_t i = r->nforward; i < g->nnodes; i++)
        for (int k = 0; k < g->nodes[i].nin; k++)
            if (g->nodes[i].in[k] != CT_NOVAL && forward_act(r, g->nodes[i].in[k]))
                r->needed[root_of(g, g->nodes[i].in[k])] = true;
    if (r->ncuts > 0 && 4 * saved_bytes(r, r->ncuts) <= saved_bytes(r, r->ncuts - 1)) r->ncuts--;
    memset(r->needed, 0, g->nvalues * sizeof *r->needed);
}

/* Which values stay: those read outside their segment by anything but backward nodes, those kept for the host; their
 * fellow outputs; and small ones beside a large one (batch statistics), whose loss would gain nothing. */
static void find_staying(recompute *r)
{
    const ct_graph *g = r->g;
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].keep) r->stays[root_of(g, (ct_val)v)] = true;
    for (size_t i = 0; i < g->ncheckpoints; i++) {
        ct_val c = g->checkpoints[i];
        for (int s = 0; s < r->ncuts; s++)
            if (g->values[c].producer == r->cuts[s]) r->stays[root_of(g, c)] = true;
    }
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        if (n->phase == CT_PHASE_BACKWARD) continue;
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] == CT_NOVAL || !forward_act(r, n->in[k])) continue;
            ct_val root = root_of(g, n->in[k]);
            bool outside = i >= r->nforward || segment_of(r, i) != segment_of(r, (size_t)g->values[root].producer);
            if (outside) r->stays[root] = true;
        }
    }
    for (size_t i = 0; i < r->nforward; i++) {
        const ct_node *n = &g->nodes[i];
        bool fellow = false;
        size_t largest = 0;
        for (int k = 0; k < n->nout; k++) {
            if (n->out[k] == CT_NOVAL) continue;
            fellow = fellow || r->stays[n->out[k]];
            size_t bytes = ct_desc_bytes(&g->values[n->out[k]].desc);
            if (bytes > largest) largest = bytes;
        }
        for (int k = 0; k < n->nout; k++) {
            if (n->out[k] == CT_NOVAL) continue;
            bool small = ct_desc_bytes(&g->values[n->out[k]].desc) <= largest / 16;
            if (fellow || small) r->stays[n->out[k]] = true;
        }
    }
}

/* Must v be computed again for its backward readers? The tail's values need not. */
static bool given_up(const recompute *r, ct_val v)
{
    if (v == CT_NOVAL || !forward_act(r, v)) return false;
    ct_val root = root_of(r->g, v);
    return !r->stays[root] && segment_of(r, (size_t)r->g->values[root].producer) < r->ncuts;
}

/* Whether n writes running statistics alone, which its attributes can forbid. */
static bool moves_statistics(const ct_node *n)
{
    return n->op == CT_OP_BATCHNORM || n->op == CT_OP_BATCHNORM_POOL || n->op == CT_OP_BATCHNORM_SUM ||
           n->op == CT_OP_BATCHNORM_MEAN;
}

/* Marks what backward nodes need again, where it must be ready, and the forward nodes that give it. */
static ct_status find_clones(recompute *r)
{
    ct_graph *g = r->g;
    for (int s = 0; s <= r->ncuts; s++) r->insert_at[s] = -1;
    for (size_t i = r->nforward; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        for (int k = 0; k < n->nin && n->phase == CT_PHASE_BACKWARD; k++) {
            if (!given_up(r, n->in[k])) continue;
            int s = segment_of(r, (size_t)g->values[root_of(g, n->in[k])].producer);
            r->needed[n->in[k]] = true;
            if (r->insert_at[s] < 0) r->insert_at[s] = (int)i;
        }
    }
    for (size_t i = r->nforward; i-- > 0;) {
        const ct_node *n = &g->nodes[i];
        for (int k = 0; k < n->nout; k++) r->clone[i] = r->clone[i] || (n->out[k] != CT_NOVAL && r->needed[n->out[k]]);
        if (!r->clone[i]) continue;
        if (ct_node_mutates(n) && !moves_statistics(n))
            return ct_fail(CT_EINTERNAL, "recompute: node '%s' writes its inputs and cannot run twice", n->name);
        for (int k = 0; k < n->nin; k++)
            if (given_up(r, n->in[k])) r->needed[n->in[k]] = true;
    }
    return CT_OK;
}

/* Adds clones of the marked nodes of segment s to the end of the list. */
static ct_status add_clones(recompute *r, const ct_node *forward, int s, int *count)
{
    ct_graph *g = r->g;
    for (size_t i = 0; i < r->nforward; i++) {
        if (!r->clone[i] || segment_of(r, i) != s) continue;
        const ct_node *n = &forward[i];
        ct_attrs attrs = n->attrs;
        ct_val in[CT_MAX_IN], out[CT_MAX_OUT];
        unsigned mask = 0;
        if (moves_statistics(n)) attrs.norm.update_stats = 0;
        for (int k = 0; k < n->nin; k++)
            in[k] = n->in[k] != CT_NOVAL && r->again[n->in[k]] != CT_NOVAL ? r->again[n->in[k]] : n->in[k];
        for (int k = 0; k < n->nout; k++)
            if (n->out[k] != CT_NOVAL) mask |= 1u << k;
        char *name = ct_asprintf("%s.again", n->name);
        if (!name) return CT_ENOMEM;
        ct_status st = ct_graph_node(g, n->op, &attrs, name, n->nin, in, n->nout, mask, out);
        ct_free(name);
        if (st != CT_OK) return st;
        g->nodes[g->nnodes - 1].clone_of = (int)i;
        for (int k = 0; k < n->nout; k++)
            if (n->out[k] != CT_NOVAL && r->needed[n->out[k]]) r->again[n->out[k]] = out[k];
        (*count)++;
    }
    return CT_OK;
}

/* The backward nodes move into a new list, clones in between. */
static ct_status rebuild(recompute *r, int *count)
{
    ct_graph *g = r->g;
    ct_status st = CT_OK;
    ct_node *old = g->nodes;
    size_t nold = g->nnodes, moved = 0;
    ct_phase phase = g->phase;
    g->nodes = NULL;
    g->nnodes = g->cap_nodes = 0;
    g->phase = CT_PHASE_BACKWARD;
    for (; moved < nold; moved++) {
        if (moved >= r->nforward) {
            for (int s = 0; s < r->ncuts; s++)
                if (r->insert_at[s] == (int)moved) CT_GOTO(st, add_clones(r, old, s, count));
        }
        ct_node n = old[moved];
        if (n.phase == CT_PHASE_BACKWARD)
            for (int k = 0; k < n.nin; k++)
                if (n.in[k] != CT_NOVAL && r->again[n.in[k]] != CT_NOVAL) n.in[k] = r->again[n.in[k]];
        CT_GOTO(st, ct_graph_push(g, &n));
    }
fail:
    for (size_t i = moved; i < nold; i++) ct_free(old[i].name);
    ct_free(old);
    g->phase = phase;
    return st;
}

ct_status ct_pass_recompute(ct_graph *g, int segments, int *recomputed)
{
    ct_status st = CT_ENOMEM;
    int count = 0;
    recompute r = { .g = g };
    if (recomputed) *recomputed = 0;
    if (!ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "recompute: the graph has no gradients yet");
    if (segments < 0) return ct_fail(CT_EINVAL, "recompute: %d segments", segments);
    while (g->nodes[r.nforward].phase != CT_PHASE_BACKWARD) r.nforward++;
    /* Clones add values while the maps are in use, but only maps of values that were there are read. */
    size_t nvalues = g->nvalues;
    r.cuts = ct_calloc(g->ncheckpoints + 1, sizeof *r.cuts, "segments");
    r.insert_at = ct_calloc(g->ncheckpoints + 1, sizeof *r.insert_at, "segments");
    r.stays = ct_calloc(nvalues + 1, sizeof *r.stays, "staying values");
    r.needed = ct_calloc(nvalues + 1, sizeof *r.needed, "values to compute again");
    r.again = ct_calloc(nvalues + 1, sizeof *r.again, "values computed again");
    r.clone = ct_calloc(r.nforward + 1, sizeof *r.clone, "nodes to clone");
    if (!r.cuts || !r.insert_at || !r.stays || !r.needed || !r.again || !r.clone) goto fail;
    for (size_t v = 0; v < nvalues; v++) r.again[v] = CT_NOVAL;
    find_cuts(&r, segments);
    join_tail(&r);
    find_staying(&r);
    CT_GOTO(st, find_clones(&r));
    CT_GOTO(st, rebuild(&r, &count));
    if (recomputed) *recomputed = count;
fail:
    ct_free(r.cuts);
    ct_free(r.insert_at);
    ct_free(r.stays);
    ct_free(r.needed);
    ct_free(r.again);
    ct_free(r.clone);
    return st;
}
