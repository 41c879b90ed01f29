/* Casts between a model's parameters and a 16-bit type as few calls over flat arenas, in place of one for each
 * tensor.
 *
 * pass_cast gives every parameter that is computed with in 16 bits a cast of its own, and autodiff one back for its
 * gradient: tens of tiny calls a step, each of which costs a device more to start than to do. Here the 16-bit values
 * move into arenas of their own, PARAM16 and GRAD16, where they have the parameters' places: one call casts the
 * parameters, and only where the update has not done it already, and one each run of gradients that lie side by side,
 * behind the last of them, unless the update reads them as they are. Elements are cast as before, so all results are
 * the same bit for bit. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph/internal.h"

/* A gradient that a node gives: of those that are cast from 16 bits, the cast. */
typedef struct gradient {
    int64_t first, end; /* elements of GRAD, padding included */
    int node;           /* its cast; -1: it is f32 from the start */
} gradient;

typedef struct flat {
    ct_graph *g;
    ct_dtype half;     /* what is cast to and from */
    int64_t params;    /* elements of PARAM: all are cast, so that every program of a model finds the same copies */
    gradient *grad;    /* [ngrads] by place */
    size_t ngrads;
    size_t left;       /* the first `left` of them stay where they are */
    bool *drop;        /* [nnodes] casts that are done by others */
    int *run;          /* [nnodes] nodes behind which a run is complete: number of its first gradient; else -1 */
} flat;

static bool is_half(ct_dtype d)
{
    return d == CT_BF16 || d == CT_F16;
}

static int64_t padded(int64_t elems)
{
    return (int64_t)ct_align_up((size_t)elems * sizeof(float), CT_ALIGN) / (int64_t)sizeof(float);
}

/* Moves v, and what are views of it, to where parameter or gradient `like` (f32) has its place. */
static void move_to(ct_graph *g, ct_val v, ct_arena arena, int64_t first)
{
    for (size_t i = 0; i < g->nvalues; i++) {
        if (g->values[i].root != v) continue;
        g->values[i].arena = arena;
        g->values[i].offset = first * (int64_t)ct_dtype_size(g->values[v].desc.dtype);
    }
}

/* The parameter that a node casts to 16 bits; CT_NOVAL: it does something else. */
static ct_val cast_param(const flat *f, const ct_node *n)
{
    const ct_graph *g = f->g;
    if (n->op != CT_OP_CAST || !ct_graph_is_weight(g, n->in[0]) || g->values[n->in[0]].arena != CT_ARENA_PARAM) return CT_NOVAL;
    const ct_value *x = &g->values[n->in[0]];
    return x->desc.dtype == CT_F32 && g->values[n->out[0]].desc.dtype == f->half && x->offset >= 0 ? n->in[0] : CT_NOVAL;
}

/* Whether a node does nothing but cast a gradient from 16 bits, which nobody else reads. */
static bool casts_gradient(const flat *f, const ct_node *n, const int *uses)
{
    const ct_graph *g = f->g;
    if (n->op != CT_OP_CAST || g->values[n->out[0]].arena != CT_ARENA_GRAD || g->values[n->out[0]].desc.dtype != CT_F32) return false;
    const ct_value *x = &g->values[n->in[0]];
    return x->desc.dtype == f->half && ct_value_is_act_root(g, n->in[0]) && !x->keep && uses[n->in[0]] == 1;
}

static int by_place(const void *a, const void *b)
{
    const gradient *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Lists what nodes write into GRAD, and marks the casts of parameters. */
static ct_status look(flat *f)
{
    const ct_graph *g = f->g;
    int *uses = ct_graph_uses(g);
    if (!uses) return CT_ENOMEM;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        for (int k = 0; k < n->nout; k++) {
            if (n->out[k] == CT_NOVAL) continue;
            const ct_value *x = &g->values[n->out[k]];
            if (x->arena != CT_ARENA_GRAD || x->root != n->out[k] || x->range) continue;
            const int64_t first = x->offset / (int64_t)sizeof(float);
            f->grad[f->ngrads++] = (gradient){ first, first + padded(ct_desc_numel(&x->desc)), casts_gradient(f, n, uses) ? (int)i : -1 };
        }
        if (cast_param(f, n) != CT_NOVAL) f->drop[i] = true;
    }
    qsort(f->grad, f->ngrads, sizeof *f->grad, by_place);
    ct_free(uses);
    return CT_OK;
}

/* End of the run of casts that begins with gradient i: they lie side by side. */
static size_t run_end(const flat *f, size_t i)
{
    size_t end = i + 1;
    while (end < f->ngrads && f->grad[end].node >= 0 && f->grad[end].first == f->grad[end - 1].end) end++;
    return end;
}

/* Marks the casts of runs of two and more, and the node behind which each run is complete. */
static void mark_runs(flat *f)
{
    for (size_t i = 0; i < f->ngrads;) {
        if (f->grad[i].node < 0) {
            i++;
            continue;
        }
        const size_t end = run_end(f, i);
        const bool stays = i < f->left;
        int last = -1;
        for (size_t k = i; k < end && (stays || end - i > 1); k++) {
            f->drop[f->grad[k].node] = true;
            if (f->grad[k].node > last) last = f->grad[k].node;
        }
        if (last >= 0 && !stays) f->run[last] = (int)i;
        i = end;
    }
}

/* The gradients in front of all others that are cast: an update can read them with one call. Parameters then have the
 * 16-bit values for gradients. */
static void leave_run(flat *f)
{
    ct_graph *g = f->g;
    if (f->ngrads == 0 || f->grad[0].node < 0 || f->grad[0].first != 0) return;
    f->left = run_end(f, 0);
    for (size_t p = 0; p < g->nvalues; p++) {
        ct_val *d = &g->values[p].grad;
        for (size_t k = 0; *d != CT_NOVAL && k < f->left; k++) {
            const ct_node *n = &g->nodes[f->grad[k].node];
            if (n->out[0] != *d) continue;
            *d = n->in[0];
            break;
        }
    }
}

/* Appends the cast of elements [first, end) of one flat arena into another. */
static ct_status append(ct_graph *g, const char *name, ct_arena from, ct_dtype type, ct_arena to, ct_dtype want, int64_t first, int64_t end)
{
    const ct_attrs a = { .cast = { want } };
    ct_val in, out;
    char *source = ct_asprintf("%s.from", name);
    if (!source) return CT_ENOMEM;
    ct_status st = ct_graph_range(g, source, from, type, first, end - first, &in);
    ct_free(source);
    if (st == CT_OK) st = ct_graph_node(g, CT_OP_CAST, &a, name, 1, &in, 1, 1u, &out);
    if (st != CT_OK) return st;
    g->values[out].range = true;
    move_to(g, out, to, first);
    return CT_OK;
}

static ct_status append_run(flat *f, size_t i)
{
    char *name = ct_asprintf("gradients.%lld", (long long)f->grad[i].first);
    if (!name) return CT_ENOMEM;
    ct_status st = append(f->g, name, CT_ARENA_GRAD16, f->half, CT_ARENA_GRAD, CT_F32, f->grad[i].first, f->grad[run_end(f, i) - 1].end);
    ct_free(name);
    return st;
}

/* The nodes move into a new list, without the casts that others do. */
static ct_status rebuild(flat *f)
{
    ct_graph *g = f->g;
    ct_status st = CT_OK;
    ct_node *old = g->nodes;
    const size_t nold = g->nnodes;
    size_t moved = 0;
    const ct_phase phase = g->phase;
    g->nodes = NULL;
    g->nnodes = g->cap_nodes = 0;
    g->phase = CT_PHASE_LOAD;
    if (f->params > 0) CT_GOTO(st, append(g, "parameters", CT_ARENA_PARAM, CT_F32, CT_ARENA_PARAM16, f->half, 0, f->params));
    g->phase = CT_PHASE_BACKWARD;
    for (; moved < nold; moved++) {
        const ct_node *n = &old[moved];
        if (!f->drop[moved]) {
            CT_GOTO(st, ct_graph_push(g, n));
            continue;
        }
        const ct_val param = cast_param(f, n);
        const ct_val v = param == CT_NOVAL ? n->in[0] : n->out[0]; /* the 16-bit value */
        const ct_val place = param == CT_NOVAL ? n->out[0] : param;
        move_to(g, v, param == CT_NOVAL ? CT_ARENA_GRAD16 : CT_ARENA_PARAM16, g->values[place].offset / (int64_t)sizeof(float));
        g->values[n->out[0]].producer = -1;
        if (f->run[moved] >= 0) CT_GOTO(st, append_run(f, (size_t)f->run[moved]));
        ct_free(n->name);
    }
fail:
    for (size_t i = moved; i < nold; i++) ct_free(old[i].name);
    ct_free(old);
    g->phase = phase;
    return st;
}

ct_status ct_pass_flat(ct_graph *g, ct_dtype half, int64_t elems, bool leave, ct_flat *out)
{
    ct_status st = CT_ENOMEM;
    flat f = { .g = g, .half = half, .params = elems };
    *out = (ct_flat){ .half = half };
    if (!is_half(half)) return CT_OK;
    f.grad = ct_calloc(g->nvalues + 1, sizeof *f.grad, "gradients");
    f.drop = ct_calloc(g->nnodes + 1, sizeof *f.drop, "casts");
    f.run = ct_calloc(g->nnodes + 1, sizeof *f.run, "runs of gradients");
    if (!f.grad || !f.drop || !f.run) goto fail;
    for (size_t i = 0; i < g->nnodes; i++) f.run[i] = -1;
    CT_GOTO(st, look(&f));
    if (leave) leave_run(&f);
    mark_runs(&f);
    CT_GOTO(st, rebuild(&f));
    out->copies = elems > 0;
    out->grads = f.left > 0 ? f.grad[f.left - 1].end : 0;
fail:
    ct_free(f.grad);
    ct_free(f.drop);
    ct_free(f.run);
    return st;
}
