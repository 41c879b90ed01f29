#include "config.h"

#include "program/tree.h"

#include "base/alloc.h"

int ct_tree_levels(int64_t parts)
{
    int levels = 0;
    while (parts > (int64_t)1 << levels) levels++;
    return levels;
}

void ct_tree_sum(double *rows, int64_t parts, int64_t n)
{
    for (int64_t stride = 1; stride < parts; stride *= 2)
        for (int64_t p = 0; p + stride < parts; p += 2 * stride)
            for (int64_t i = 0; i < n; i++) rows[p * n + i] += rows[(p + stride) * n + i];
}

/* One of the flat arenas that parts are summed in: what a part gives, and the subtrees that wait for their neighbour,
 * one of 2^l parts at elements [l * stride, l * stride + elems). */
typedef struct tree {
    ct_graph *g;
    ct_dtype type;
    const char *name;
    ct_arena own, waiting;
    int64_t elems, stride;
} tree;

enum { OWN = -1 }; /* in a level's place: what the part gives */

/* "<name><nodes so far>.<what>", which no other value of the graph is called. */
static char *name_of(const tree *t, const char *what)
{
    return ct_asprintf("%s%zu%s", t->name, t->g->nnodes, what);
}

static ct_status place(const tree *t, int level, const char *what, ct_val *out)
{
    char *name = name_of(t, what);
    if (!name) return CT_ENOMEM;
    ct_status st = ct_graph_range(t->g, name, level == OWN ? t->own : t->waiting, t->type,
                                  level == OWN ? 0 : level * t->stride, t->elems, out);
    ct_free(name);
    return st;
}

/* to = beta * to + alpha * from. */
static ct_status add(const tree *t, int from, int to, double alpha, double beta)
{
    const ct_attrs a = { .scale = { .alpha = alpha, .beta = beta } };
    ct_val in[2];
    CT_TRY(place(t, from, ".src", &in[0]));
    CT_TRY(place(t, to, ".acc", &in[1]));
    char *name = name_of(t, "");
    if (!name) return CT_ENOMEM;
    ct_status st = ct_graph_node(t->g, CT_OP_ACCUMULATE, &a, name, 2, in, 0, 0, NULL);
    ct_free(name);
    return st;
}

static ct_status join(const tree *t, int64_t part, int64_t parts)
{
    int level = 0;
    if (t->elems == 0) return CT_OK;
    for (; part >> level & 1; level++) CT_TRY(add(t, level, OWN, 1, 1));
    return part < parts - 1 ? add(t, OWN, level, 1, 0) : CT_OK;
}

ct_status ct_tree_build(ct_graph *g, const ct_layout *l, int64_t part, int64_t parts)
{
    const tree grads = { g, l->dtype, "parts.grad", CT_ARENA_GRAD, CT_ARENA_GACC, l->train_elems, l->param_elems };
    const tree stats = { g, l->dtype, "parts.stat", CT_ARENA_BUFFER, CT_ARENA_MEANS, l->buffer_elems, l->buffer_elems };
    if (parts <= 1) return CT_OK;
    g->phase = CT_PHASE_BACKWARD;
    CT_TRY(join(&grads, part, parts));
    CT_TRY(join(&stats, part, parts));
    if (part < parts - 1 || stats.elems == 0) return CT_OK;
    CT_TRY(add(&stats, OWN, 0, 1.0 / (double)parts, 0)); /* level 0 waits for nobody any more */
    return add(&stats, 0, OWN, 1, 0);
}

void ct_tree_count(ct_graph *g, int64_t part)
{
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].arena == CT_ARENA_METRIC)
            g->values[v].offset = part * CT_METRIC_COUNT * (int64_t)sizeof(double);
}
