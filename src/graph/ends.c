/* Which matrices of a model are its first and its last. */
#include "config.h"

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct ends {
    ct_graph *g;
    ct_val *matrix; /* [nvalues] the parameter that a value is made of and nothing else: itself, a view */
    bool *behind;   /* [nvalues] a product with a matrix lies before it */
    bool *before;   /* [nvalues] one lies behind it */
} ends;

/* What a node makes of a parameter alone; CT_NOVAL: it reads something else, too. */
static ct_val only_matrix(const ends *e, const ct_node *n)
{
    ct_val found = CT_NOVAL;
    for (int k = 0; k < n->nin; k++) {
        if (n->in[k] == CT_NOVAL) continue;
        const ct_val m = e->matrix[n->in[k]];
        if (m == CT_NOVAL || (found != CT_NOVAL && found != m)) return CT_NOVAL;
        found = m;
    }
    return found;
}

static bool has_matrix(const ends *e, const ct_node *n)
{
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] != CT_NOVAL && e->matrix[n->in[k]] != CT_NOVAL) return true;
    return false;
}

static void forward(const ends *e, const ct_node *n)
{
    const ct_val only = only_matrix(e, n);
    const bool product = has_matrix(e, n);
    bool behind = false;
    for (int k = 0; k < n->nin; k++) behind = behind || (n->in[k] != CT_NOVAL && e->behind[n->in[k]]);
    for (int k = 0; only == CT_NOVAL && product && k < n->nin; k++)
        if (n->in[k] != CT_NOVAL && e->matrix[n->in[k]] != CT_NOVAL) e->g->values[e->matrix[n->in[k]]].first = !behind;
    for (int k = 0; k < n->nout; k++) {
        if (n->out[k] == CT_NOVAL) continue;
        e->matrix[n->out[k]] = only;
        e->behind[n->out[k]] = behind || (product && only == CT_NOVAL);
    }
}

static void backward(const ends *e, const ct_node *n)
{
    const bool product = only_matrix(e, n) == CT_NOVAL && has_matrix(e, n);
    bool before = false;
    for (int k = 0; k < n->nout; k++) before = before || (n->out[k] != CT_NOVAL && e->before[n->out[k]]);
    for (int k = 0; k < n->nin; k++) {
        if (n->in[k] == CT_NOVAL) continue;
        if (product && e->matrix[n->in[k]] != CT_NOVAL) e->g->values[e->matrix[n->in[k]]].last = !before;
        e->before[n->in[k]] = e->before[n->in[k]] || before || product;
    }
}

ct_status ct_graph_ends(ct_graph *g)
{
    ct_status st = CT_ENOMEM;
    ends e = { .g = g };
    e.matrix = ct_calloc(g->nvalues + 1, sizeof *e.matrix, "matrices of a graph");
    e.behind = ct_calloc(g->nvalues + 1, sizeof *e.behind, "values behind matrices");
    e.before = ct_calloc(g->nvalues + 1, sizeof *e.before, "values before matrices");
    if (!e.matrix || !e.behind || !e.before) goto fail;
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        const bool is = ct_graph_is_weight(g, (ct_val)i) && v->arena == CT_ARENA_PARAM && v->desc.ndim >= 2;
        e.matrix[i] = is ? (ct_val)i : CT_NOVAL;
    }
    for (size_t i = 0; i < g->nnodes; i++) forward(&e, &g->nodes[i]);
    for (size_t i = g->nnodes; i > 0; i--) backward(&e, &g->nodes[i - 1]);
    st = CT_OK;
fail:
    ct_free(e.matrix);
    ct_free(e.behind);
    ct_free(e.before);
    return st;
}
