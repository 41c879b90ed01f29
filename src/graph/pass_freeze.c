/* Parameters that are not trained. */
#include "config.h"

#include <fnmatch.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

bool ct_name_matches(const char *pattern, const char *name)
{
    size_t len = strlen(pattern);
    if (strpbrk(pattern, "*?[")) return fnmatch(pattern, name, 0) == 0;
    return strncmp(pattern, name, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

bool ct_name_matches_any(char *const *patterns, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (ct_name_matches(patterns[i], name)) return true;
    return false;
}

/* Clears needs_grad of the parameters that match; every pattern must match one, and one parameter none of them. */
static ct_status mark(ct_graph *g, char *const *patterns, size_t n)
{
    bool *hit = ct_calloc(n + 1, sizeof *hit, "patterns of frozen parameters");
    bool trained = false;
    ct_status st = CT_OK;
    if (!hit) return CT_ENOMEM;
    for (size_t v = 0; v < g->nvalues; v++) {
        ct_value *x = &g->values[v];
        if (!ct_graph_is_weight(g, (ct_val)v) || x->arena != CT_ARENA_PARAM) continue;
        for (size_t i = 0; i < n; i++) {
            if (!ct_name_matches(patterns[i], x->name)) continue;
            hit[i] = true;
            x->needs_grad = false;
        }
        trained = trained || x->needs_grad;
    }
    for (size_t i = 0; i < n && st == CT_OK; i++)
        if (!hit[i]) st = ct_fail(CT_ECONFIG, "'%s' matches no parameter of the model", patterns[i]);
    if (st == CT_OK && !trained)
        st = ct_fail(CT_ECONFIG, "every parameter of the model is frozen: there is nothing to train");
    ct_free(hit);
    return st;
}

/* A batch norm with frozen scale and shift is the affine map it is in evaluation: the running statistics stay. */
static ct_status fix_statistics(ct_graph *g, ct_node *n)
{
    if (g->values[n->in[0]].needs_grad)
        return ct_fail(CT_ECONFIG,
                       "the batch norm '%s' is frozen, but layers in front of it are trained; freeze those, too, or "
                       "leave the batch norm out",
                       n->name);
    n->op = CT_OP_BATCHNORM_INFER;
    n->attrs.norm.momentum = 0;
    n->attrs.norm.update_stats = 0;
    for (int i = 1; i < n->nout; i++) {
        if (n->out[i] != CT_NOVAL) g->values[n->out[i]].producer = -1;
        n->out[i] = CT_NOVAL;
    }
    n->nout = 1;
    return CT_OK;
}

ct_status ct_pass_freeze(ct_graph *g, char *const *patterns, size_t n)
{
    if (n == 0) return CT_OK;
    if (ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "freeze: the graph has been differentiated already");
    CT_TRY(mark(g, patterns, n));
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_node *node = &g->nodes[i];
        bool needs = false;
        if (node->op == CT_OP_BATCHNORM && !g->values[node->in[1]].needs_grad && !g->values[node->in[2]].needs_grad)
            CT_TRY(fix_statistics(g, node));
        for (int k = 0; k < node->nin; k++)
            needs = needs || (node->in[k] != CT_NOVAL && g->values[node->in[k]].needs_grad);
        for (int k = 0; k < node->nout; k++) /* as when the node was added, but never more than then */
            if (node->out[k] != CT_NOVAL && !needs) g->values[node->out[k]].needs_grad = false;
    }
    return CT_OK;
}
