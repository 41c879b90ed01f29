/* Liveness and the memory plan.
 *
 * Every value of the ACT arena is a block of bytes that is alive from the node that writes it to the last node that
 * reads it; a node's scratch is a block alive in that node only. Two blocks whose times overlap must not overlap in
 * memory. That is an interval packing problem; blocks are placed one after the other, each into the smallest gap
 * between those already placed that are alive at the same time. The order decides the quality: largest first is usually
 * best, and three orders are tried. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph/internal.h"

ct_status ct_liveness(const ct_graph *g, int *first, int *last)
{
    int end = (int)g->nnodes - 1;
    for (size_t v = 0; v < g->nvalues; v++) {
        const ct_value *x = &g->values[v];
        bool act = x->arena == CT_ARENA_ACT;
        first[v] = act ? x->producer : 0;
        last[v] = act ? x->producer : end;
    }
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] == CT_NOVAL) continue;
            ct_val root = g->values[n->in[k]].root;
            if (g->values[n->in[k]].producer < 0 && g->values[root].arena == CT_ARENA_ACT)
                return ct_fail(CT_EINTERNAL, "liveness: node '%s' reads '%s', which no node gives", n->name,
                               g->values[n->in[k]].name);
            if (last[root] < (int)i) last[root] = (int)i;
        }
    }
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].keep && first[g->values[v].root] >= 0) last[g->values[v].root] = end;
    for (size_t v = 0; v < g->nvalues; v++) {
        if (g->values[v].root == (ct_val)v) continue;
        first[v] = first[g->values[v].root];
        last[v] = last[g->values[v].root];
    }
    return CT_OK;
}

/* One block of memory: a value, several that follow each other in place, or scratch. */
typedef struct block {
    int64_t bytes;  /* a multiple of CT_ALIGN */
    int first, last;/* nodes */
    ct_val value;   /* the value that starts it, on CT_ALIGN; CT_NOVAL: scratch of node `first`, on CT_DEVICE_ALIGN */
    int64_t offset;
    int number;     /* breaks ties, so that the plan is a function of the graph alone */
} block;

static int64_t aligned(size_t bytes)
{
    return (int64_t)ct_align_up(bytes, CT_ALIGN);
}

/* ---- who may lie on whom ---- */

/* Root of the input that output k of node i may overwrite: it dies here, is nobody's view elsewhere, and has as many
 * bytes. Else CT_NOVAL. */
static ct_val dying_input(const ct_graph *g, const int *last, const bool *kept, size_t i, int *out)
{
    const ct_node *n = &g->nodes[i];
    const ct_op_rules *r = ct_op_get(n->op)->rules;
    if (r->inplace_out < 0 || (r->flags & CT_OPF_VIEW) || r->inplace_out >= n->nout || r->inplace_in >= n->nin)
        return CT_NOVAL;
    ct_val o = n->out[r->inplace_out], v = n->in[r->inplace_in];
    if (o == CT_NOVAL || v == CT_NOVAL || !ct_value_is_act_root(g, o)) return CT_NOVAL;
    ct_val root = g->values[v].root;
    if (!ct_value_is_act_root(g, root) || kept[root] || last[root] != (int)i || g->values[root].producer >= (int)i)
        return CT_NOVAL;
    if (ct_desc_bytes(&g->values[root].desc) != ct_desc_bytes(&g->values[o].desc)) return CT_NOVAL;
    int times = 0;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] != CT_NOVAL && g->values[n->in[k]].root == root) times++;
    *out = r->inplace_out;
    return times == 1 ? root : CT_NOVAL;
}

/* ---- packing ---- */

/* Where a block may stand that must not begin before `at`. */
static int64_t place(const block *b, int64_t at)
{
    return (int64_t)ct_align_up((size_t)at, b->value == CT_NOVAL ? CT_DEVICE_ALIGN : CT_ALIGN);
}

static int by_size(const void *pa, const void *pb)
{
    const block *a = pa, *b = pb;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->number - b->number;
}

static int by_area(const void *pa, const void *pb)
{
    const block *a = pa, *b = pb;
    double x = (double)a->bytes * (a->last - a->first + 1), y = (double)b->bytes * (b->last - b->first + 1);
    if (x != y) return x > y ? -1 : 1;
    return by_size(pa, pb);
}

static int by_time(const void *pa, const void *pb)
{
    const block *a = pa, *b = pb;
    if (a->first != b->first) return a->first - b->first;
    return by_size(pa, pb);
}

static int by_number(const void *pa, const void *pb)
{
    return ((const block *)pa)->number - ((const block *)pb)->number;
}

/* Places the blocks in their order; `placed` [n] is room for pointers. Returns the bytes needed. */
static int64_t pack(block *blocks, size_t n, block **placed)
{
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        block *b = &blocks[i];
        int64_t best = -1, best_gap = INT64_MAX, end = 0;
        /* placed[0..i-1] is sorted by offset: walk the gaps between those alive with b. */
        for (size_t k = 0; k < i; k++) {
            const block *p = placed[k];
            if (p->last < b->first || b->last < p->first) continue;
            int64_t begin = place(b, end), gap = p->offset - begin;
            if (gap >= b->bytes && gap < best_gap) {
                best = begin;
                best_gap = gap;
            }
            if (p->offset + p->bytes > end) end = p->offset + p->bytes;
        }
        b->offset = best >= 0 ? best : place(b, end);
        if (b->offset + b->bytes > total) total = b->offset + b->bytes;
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > b->offset; at--) placed[at] = placed[at - 1];
        placed[at] = b;
    }
    return total;
}

/* Packs in the order that needs least. Leaves the blocks in order of their number. */
static ct_status pack_best(block *blocks, size_t n, int64_t bound, int64_t *total)
{
    static int (*const orders[])(const void *, const void *) = { by_size, by_area, by_time };
    ct_status st = CT_OK;
    block **placed = ct_calloc(n + 1, sizeof(block *), "memory plan");
    int64_t *best = ct_calloc(n + 1, sizeof *best, "memory plan");
    if (!placed || !best) {
        st = CT_ENOMEM;
        goto fail;
    }
    *total = -1;
    for (size_t o = 0; o < sizeof orders / sizeof orders[0] && *total != bound; o++) {
        qsort(blocks, n, sizeof *blocks, orders[o]);
        int64_t t = pack(blocks, n, placed);
        if (*total >= 0 && t >= *total) continue;
        *total = t;
        for (size_t i = 0; i < n; i++) best[blocks[i].number] = blocks[i].offset;
    }
    qsort(blocks, n, sizeof *blocks, by_number);
    for (size_t i = 0; i < n; i++) blocks[i].offset = best[i];
fail:
    ct_free(placed);
    ct_free(best);
    return st;
}

/* Most bytes alive at one node. */
static ct_status live_maximum(const block *blocks, size_t n, size_t nnodes, int64_t *out)
{
    int64_t *change = ct_calloc(nnodes + 1, sizeof *change, "memory plan"), now = 0;
    *out = 0;
    if (!change) return CT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        change[blocks[i].first] += blocks[i].bytes;
        change[blocks[i].last + 1] -= blocks[i].bytes;
    }
    for (size_t i = 0; i < nnodes; i++) {
        now += change[i];
        if (now > *out) *out = now;
    }
    ct_free(change);
    return CT_OK;
}

/* Inputs lie behind each other: the host fills all of them before the first node runs. */
static int64_t place_inputs(ct_graph *g)
{
    int64_t at = 0;
    for (size_t v = 0; v < g->nvalues; v++) {
        ct_value *x = &g->values[v];
        if (x->arena != CT_ARENA_INPUT || x->root != (ct_val)v) continue;
        x->offset = at;
        at += aligned(ct_desc_bytes(&x->desc));
    }
    return at;
}

/* Fills blocks[] and, for each value with memory of its own, in_block[v] = its block. Returns the number of blocks. */
static size_t make_blocks(const ct_graph *g, const size_t *scratch, const int *first, const int *last, const bool *kept,
                          block *blocks, int *in_block)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *node = &g->nodes[i];
        int inplace = -1;
        ct_val under = dying_input(g, last, kept, i, &inplace);
        for (int k = 0; k < node->nout; k++) {
            ct_val v = node->out[k];
            if (v == CT_NOVAL || !ct_value_is_act_root(g, v)) continue;
            if (under != CT_NOVAL && k == inplace) {
                in_block[v] = in_block[under];
                blocks[in_block[v]].last = last[v];
                continue;
            }
            in_block[v] = (int)n;
            blocks[n] = (block){ aligned(ct_desc_bytes(&g->values[v].desc)), first[v], last[v], v, 0, (int)n };
            n++;
        }
        if (scratch && scratch[i] > 0) {
            blocks[n] = (block){ aligned(scratch[i]), (int)i, (int)i, CT_NOVAL, 0, (int)n };
            n++;
        }
    }
    return n;
}

ct_status ct_memplan_make(ct_graph *g, const size_t *scratch, ct_memplan *out)
{
    ct_status st = CT_ENOMEM;
    ct_memplan m = { 0 };
    size_t n = 0;
    block *blocks = ct_calloc(g->nvalues + g->nnodes + 1, sizeof *blocks, "memory plan");
    int *first = ct_calloc(g->nvalues + 1, sizeof *first, "liveness");
    int *last = ct_calloc(g->nvalues + 1, sizeof *last, "liveness");
    int *in_block = ct_calloc(g->nvalues + 1, sizeof *in_block, "memory plan");
    bool *kept = ct_calloc(g->nvalues + 1, sizeof *kept, "liveness");
    m.scratch_offset = ct_calloc(g->nnodes + 1, sizeof *m.scratch_offset, "scratch offsets");
    if (!blocks || !first || !last || !in_block || !kept || !m.scratch_offset) goto fail;
    m.nscratch = g->nnodes;
    CT_GOTO(st, ct_liveness(g, first, last));
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].keep) kept[g->values[v].root] = true;

    n = make_blocks(g, scratch, first, last, kept, blocks, in_block);
    CT_GOTO(st, live_maximum(blocks, n, g->nnodes, &m.lower_bound));
    CT_GOTO(st, pack_best(blocks, n, m.lower_bound, &m.act_bytes));

    for (size_t i = 0; i < g->nnodes; i++) m.scratch_offset[i] = -1;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].value == CT_NOVAL) {
            m.scratch_offset[blocks[i].first] = blocks[i].offset;
            m.unshared_bytes += aligned(scratch[blocks[i].first]);
        }
    for (size_t v = 0; v < g->nvalues; v++) {
        if (!ct_value_is_act_root(g, (ct_val)v)) continue;
        g->values[v].offset = blocks[in_block[v]].offset;
        m.unshared_bytes += aligned(ct_desc_bytes(&g->values[v].desc));
    }
    m.input_bytes = place_inputs(g);
    ct_graph_sync_views(g);
    *out = m;
    m.scratch_offset = NULL;
fail:
    ct_free(blocks);
    ct_free(first);
    ct_free(last);
    ct_free(in_block);
    ct_free(kept);
    ct_free(m.scratch_offset);
    return st;
}

void ct_memplan_free(ct_memplan *m)
{
    if (!m) return;
    ct_free(m->scratch_offset);
    *m = (ct_memplan){ 0 };
}
