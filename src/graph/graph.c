/* Building a graph, and the small questions everybody asks of it. */
#include "config.h"

#include "graph/graph.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

const char *ct_arena_name(ct_arena a)
{
    static const char *const names[CT_ARENA_COUNT] = {
        [CT_ARENA_INPUT] = "input", [CT_ARENA_PARAM] = "param",   [CT_ARENA_BUFFER] = "buffer",
        [CT_ARENA_GRAD] = "grad",   [CT_ARENA_GACC] = "gacc",     [CT_ARENA_OPT1] = "opt1",
        [CT_ARENA_OPT2] = "opt2",   [CT_ARENA_EMA] = "ema",       [CT_ARENA_EMABUF] = "emabuf",
        [CT_ARENA_STATE] = "state", [CT_ARENA_METRIC] = "metric", [CT_ARENA_ACT] = "act",
        [CT_ARENA_DATA] = "data",   [CT_ARENA_PARAM16] = "param16", [CT_ARENA_GRAD16] = "grad16",
        [CT_ARENA_MEANS] = "means",
    };
    return (unsigned)a < (unsigned)CT_ARENA_COUNT ? names[a] : "?";
}

const char *ct_phase_name(ct_phase p)
{
    switch (p) {
    case CT_PHASE_FORWARD: return "forward";
    case CT_PHASE_BACKWARD: return "backward";
    case CT_PHASE_UPDATE: return "update";
    case CT_PHASE_LOAD: return "load";
    }
    return "?";
}

ct_status ct_graph_create(ct_graph **out)
{
    *out = ct_calloc(1, sizeof **out, "graph");
    return *out ? CT_OK : CT_ENOMEM;
}

void ct_graph_free(ct_graph *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->nvalues; i++) ct_free(g->values[i].name);
    for (size_t i = 0; i < g->nnodes; i++) ct_free(g->nodes[i].name);
    ct_free(g->values);
    ct_free(g->nodes);
    ct_free(g->checkpoints);
    ct_free(g);
}

/* ---- names ---- */

/* FNV-1a, 32 bits. */
static uint32_t hash_name(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

ct_val ct_graph_find(const ct_graph *g, const char *name)
{
    uint32_t h = hash_name(name);
    for (size_t i = 0; i < g->nvalues; i++)
        if (g->values[i].name_hash == h && strcmp(g->values[i].name, name) == 0) return (ct_val)i;
    return CT_NOVAL;
}

/* A new string: "name" or "name.k", with "~2", "~3", ... behind it while that exists. */
static char *unique_name(const ct_graph *g, const char *name, int k)
{
    char *base = k == 0 ? ct_strdup(name, "value name") : ct_asprintf("%s.%d", name, k);
    char *s = base;
    for (int n = 2; s && ct_graph_find(g, s) != CT_NOVAL; n++) {
        if (s != base) ct_free(s);
        s = ct_asprintf("%s~%d", base, n);
    }
    if (s != base) ct_free(base);
    return s;
}

/* ---- values ---- */

/* Appends a value; there is room, and the name is taken over. */
static ct_val append_value(ct_graph *g, char *name, const ct_desc *desc, ct_arena arena)
{
    ct_val v = (ct_val)g->nvalues++;
    g->values[v] = (ct_value){ .name = name,
                               .name_hash = hash_name(name),
                               .desc = *desc,
                               .arena = arena,
                               .offset = -1,
                               .producer = -1,
                               .root = v,
                               .grad = CT_NOVAL };
    return v;
}

static ct_status reserve_values(ct_graph *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CT_TRY(ct_grow(&g->values, g->nvalues + i, &g->cap_values, sizeof *g->values, "graph values"));
    return CT_OK;
}

static ct_status new_value(ct_graph *g, const char *name, const ct_desc *desc, ct_arena arena, ct_val *out)
{
    char s[CT_DESC_STR];
    *out = CT_NOVAL;
    if (ct_graph_find(g, name) != CT_NOVAL)
        return ct_fail(CT_EINVAL, "graph: there is already a value named '%s'", name);
    for (int d = 0; d < desc->ndim; d++)
        if (desc->dim[d] < 1)
            return ct_fail(CT_EINVAL, "graph: value '%s' is %s: dimension %d must be at least 1", name,
                           ct_desc_str(desc, s), d);
    if (desc->ndim < 0 || desc->ndim > CT_MAX_DIMS || ct_desc_bytes(desc) > (size_t)PTRDIFF_MAX)
        return ct_fail(CT_EINVAL, "graph: value '%s' has no valid shape", name);
    CT_TRY(reserve_values(g, 1));
    char *copy = ct_strdup(name, "value name");
    if (!copy) return CT_ENOMEM;
    *out = append_value(g, copy, desc, arena);
    return CT_OK;
}

ct_status ct_graph_input(ct_graph *g, const char *name, ct_desc desc, ct_val *out)
{
    return new_value(g, name, &desc, CT_ARENA_INPUT, out);
}

ct_status ct_graph_resident(ct_graph *g, const char *name, ct_desc desc, ct_val *out)
{
    CT_TRY(new_value(g, name, &desc, CT_ARENA_DATA, out));
    g->values[*out].offset = 0;
    return CT_OK;
}

/* Parameters and buffers are of type A. */
static ct_status check_accum(const char *name, const ct_desc *desc)
{
    char s[CT_DESC_STR];
    if (desc->dtype == CT_F32 || desc->dtype == CT_F64) return CT_OK;
    return ct_fail(CT_EINVAL, "graph: '%s' is %s, but parameters and buffers must be f32 or f64", name,
                   ct_desc_str(desc, s));
}

ct_status ct_graph_param(ct_graph *g, const char *name, ct_desc desc, ct_init init, bool decay, ct_val *out)
{
    CT_TRY(check_accum(name, &desc));
    CT_TRY(new_value(g, name, &desc, CT_ARENA_PARAM, out));
    ct_value *v = &g->values[*out];
    v->init = init;
    v->decay = decay;
    v->needs_grad = true;
    return CT_OK;
}

ct_status ct_graph_buffer(ct_graph *g, const char *name, ct_desc desc, ct_init init, ct_val *out)
{
    CT_TRY(check_accum(name, &desc));
    CT_TRY(new_value(g, name, &desc, CT_ARENA_BUFFER, out));
    g->values[*out].init = init;
    return CT_OK;
}

/* The one value of an arena that has only one. */
static ct_status only_value(ct_graph *g, const char *name, ct_arena arena, int64_t count, ct_val *out)
{
    for (size_t i = 0; i < g->nvalues; i++) {
        if (g->values[i].arena == arena) {
            *out = g->values[i].root;
            return CT_OK;
        }
    }
    ct_desc d = ct_desc1(CT_F64, count);
    CT_TRY(new_value(g, name, &d, arena, out));
    g->values[*out].offset = 0;
    return CT_OK;
}

ct_status ct_graph_state(ct_graph *g, ct_val *out)
{
    return only_value(g, "state", CT_ARENA_STATE, CT_STATE_COUNT, out);
}

ct_status ct_graph_metrics(ct_graph *g, ct_val *out)
{
    return only_value(g, "metrics", CT_ARENA_METRIC, CT_METRIC_COUNT, out);
}

ct_status ct_graph_range(ct_graph *g, const char *name, ct_arena arena, ct_dtype dtype, int64_t first, int64_t count,
                         ct_val *out)
{
    *out = CT_NOVAL;
    if (arena == CT_ARENA_INPUT || arena == CT_ARENA_ACT || arena == CT_ARENA_STATE || arena == CT_ARENA_METRIC || arena == CT_ARENA_DATA)
        return ct_fail(CT_EINVAL, "graph: range '%s': arena %s is not flat", name, ct_arena_name(arena));
    if (first < 0 || count < 1 || first > INT64_MAX / (int64_t)sizeof(double) - count)
        return ct_fail(CT_EINVAL, "graph: range '%s': %" PRId64 " elements from %" PRId64 " is no range", name, count,
                       first);
    ct_desc d = ct_desc1(dtype, count);
    CT_TRY(new_value(g, name, &d, arena, out));
    g->values[*out].offset = first * (int64_t)ct_dtype_size(dtype);
    g->values[*out].range = true;
    return CT_OK;
}

void ct_graph_keep(ct_graph *g, ct_val v)
{
    if (v != CT_NOVAL) g->values[v].keep = true;
}

ct_status ct_graph_mark_checkpoint(ct_graph *g, ct_val v)
{
    if (v < 0 || (size_t)v >= g->nvalues || g->values[v].producer < 0)
        return ct_fail(CT_EINVAL, "graph: a checkpoint must be what some node gives");
    for (size_t i = 0; i < g->ncheckpoints; i++)
        if (g->checkpoints[i] == v) return CT_OK;
    CT_TRY(ct_grow(&g->checkpoints, g->ncheckpoints, &g->cap_checkpoints, sizeof *g->checkpoints, "graph checkpoints"));
    g->checkpoints[g->ncheckpoints++] = v;
    return CT_OK;
}

/* ---- nodes ---- */

unsigned ct_node_mutates(const ct_node *n)
{
    const ct_op_rules *rules = ct_op_get(n->op)->rules;
    if (rules->keeps && rules->keeps(&n->attrs)) return 0;
    unsigned bits = 0, mask = rules->mutates;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] != CT_NOVAL && (mask >> i & 1u)) bits |= 1u << i;
    return bits;
}

/* Fills `c` from values, infers it, and checks that exactly the outputs of out_mask come. */
static ct_status infer_node(const ct_graph *g, ct_call *c, const char *name, int nin, const ct_val *in, int nout,
                            unsigned out_mask)
{
    const ct_op_info *info = ct_op_get(c->op);
    if (nin < 0 || nin > CT_MAX_IN || nout < 0 || nout > CT_MAX_OUT)
        return ct_fail(CT_EINVAL, "graph: node '%s' (%s): %d inputs and %d outputs are too many", name, info->name, nin,
                       nout);
    for (int i = 0; i < nin; i++) {
        if (in[i] != CT_NOVAL && (in[i] < 0 || (size_t)in[i] >= g->nvalues))
            return ct_fail(CT_EINVAL, "graph: node '%s' (%s): input %d is value %d, which does not exist", name,
                           info->name, i, (int)in[i]);
        c->in[i].desc = in[i] == CT_NOVAL ? ct_absent_desc() : g->values[in[i]].desc;
    }
    c->nin = nin;
    c->nout = nout;
    ct_status st = ct_call_infer(c);
    if (st != CT_OK) return ct_fail_context(st, "graph: node '%s'", name);
    if (c->nout != nout)
        return ct_fail(CT_EINVAL, "graph: node '%s' (%s): %d outputs wanted, but it gives %d", name, info->name, nout,
                       c->nout);
    for (int i = 0; i < info->out_min; i++)
        if (!(out_mask >> i & 1u))
            return ct_fail(CT_EINVAL, "graph: node '%s' (%s): output %d cannot be left out", name, info->name, i);
    return CT_OK;
}

ct_status ct_graph_node(ct_graph *g, ct_op op, const ct_attrs *attrs, const char *name, int nin, const ct_val *in,
                        int nout, unsigned out_mask, ct_val *outs)
{
    ct_status st = CT_OK;
    char *names[CT_MAX_OUT] = { NULL };
    ct_call c;
    memset(&c, 0, sizeof c);
    if ((unsigned)op >= (unsigned)CT_OP_COUNT)
        return ct_fail(CT_EINVAL, "graph: node '%s': operator number %d does not exist", name, (int)op);
    ct_node node = { .op = op, .nin = nin, .nout = nout, .phase = g->phase, .clone_of = -1 };
    if (attrs) c.attrs = node.attrs = *attrs;
    c.op = op;
    CT_TRY(infer_node(g, &c, name, nin, in, nout, out_mask));

    /* All that can fail comes before anything is changed. */
    CT_GOTO(st, reserve_values(g, (size_t)nout));
    CT_GOTO(st, ct_grow(&g->nodes, g->nnodes, &g->cap_nodes, sizeof *g->nodes, "graph nodes"));
    for (int i = 0; i < nout; i++) {
        names[i] = unique_name(g, name, i);
        if (!names[i]) goto nomem;
    }
    node.name = ct_strdup(name, "node name");
    if (!node.name) goto nomem;

    const ct_op_rules *r = ct_op_get(op)->rules;
    bool needs_grad = false;
    for (int i = 0; i < nin; i++) {
        node.in[i] = in[i];
        if (in[i] != CT_NOVAL && g->values[in[i]].needs_grad) needs_grad = true;
    }
    /* Operators without a gradient pass the need on, so that autodiff notices when a gradient would have to go through
     * them. */
    needs_grad = needs_grad && g->phase == CT_PHASE_FORWARD;
    for (int i = 0; i < nout; i++) {
        node.out[i] = CT_NOVAL;
        if (out_mask >> i & 1u && ct_present(&c.out[i])) {
            ct_val v = node.out[i] = append_value(g, names[i], &c.out[i].desc, CT_ARENA_ACT);
            names[i] = NULL;
            g->values[v].producer = (int)g->nnodes;
            g->values[v].needs_grad = needs_grad && ct_dtype_is_float(c.out[i].desc.dtype);
            if (r->flags & CT_OPF_VIEW) {
                const ct_value *root = &g->values[g->values[in[0]].root];
                g->values[v].root = g->values[in[0]].root;
                g->values[v].arena = root->arena;
                g->values[v].offset = root->offset;
            }
        }
        outs[i] = node.out[i];
    }
    g->nodes[g->nnodes++] = node;
    for (int i = 0; i < nout; i++) ct_free(names[i]);
    return CT_OK;
nomem:
    st = CT_ENOMEM;
fail:
    for (int i = 0; i < CT_MAX_OUT; i++) ct_free(names[i]);
    return st;
}

void ct_graph_call(const ct_graph *g, size_t node, ct_call *out)
{
    const ct_node *n = &g->nodes[node];
    memset(out, 0, sizeof *out);
    out->op = n->op;
    out->attrs = n->attrs;
    out->nin = n->nin;
    out->nout = n->nout;
    for (int i = 0; i < CT_MAX_IN; i++) {
        ct_val v = i < n->nin ? n->in[i] : CT_NOVAL;
        out->in[i].desc = v == CT_NOVAL ? ct_absent_desc() : g->values[v].desc;
    }
    for (int i = 0; i < CT_MAX_OUT; i++) {
        ct_val v = i < n->nout ? n->out[i] : CT_NOVAL;
        out->out[i].desc = v == CT_NOVAL ? ct_absent_desc() : g->values[v].desc;
    }
}

/* ---- for the passes ---- */

ct_status ct_graph_push(ct_graph *g, const ct_node *node)
{
    CT_TRY(ct_grow(&g->nodes, g->nnodes, &g->cap_nodes, sizeof *g->nodes, "graph nodes"));
    for (int i = 0; i < node->nout; i++)
        if (node->out[i] != CT_NOVAL) g->values[node->out[i]].producer = (int)g->nnodes;
    g->nodes[g->nnodes++] = *node;
    return CT_OK;
}

ct_status ct_graph_more_outputs(ct_graph *g, size_t node)
{
    ct_call c;
    ct_graph_call(g, node, &c);
    c.nout = CT_MAX_OUT < ct_op_get(c.op)->out_max ? CT_MAX_OUT : ct_op_get(c.op)->out_max;
    CT_TRY(ct_call_infer(&c));
    const int had = g->nodes[node].nout;
    CT_TRY(reserve_values(g, CT_MAX_OUT));
    for (int i = 0; i < c.nout; i++) {
        ct_node *n = &g->nodes[node];
        if (i < had) {
            if (n->out[i] == CT_NOVAL || ct_desc_equal(&c.out[i].desc, &g->values[n->out[i]].desc)) continue;
            return ct_fail(CT_EINTERNAL, "graph: node '%s': output %d changes with its attributes", n->name, i);
        }
        char *name = unique_name(g, n->name, i);
        if (!name) return CT_ENOMEM;
        n->out[i] = append_value(g, name, &c.out[i].desc, CT_ARENA_ACT);
        g->values[n->out[i]].producer = (int)node;
        n->nout = i + 1;
    }
    return CT_OK;
}

ct_status ct_graph_drop(ct_graph *g, const bool *drop)
{
    int *renumbered = ct_calloc(g->nnodes + 1, sizeof *renumbered, "node numbers");
    if (!renumbered) return CT_ENOMEM;
    for (size_t v = 0; v < g->nvalues; v++) g->values[v].producer = -1;
    size_t kept = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (drop[i]) {
            renumbered[i] = -1;
            ct_free(g->nodes[i].name);
            for (int k = 0; k < g->nodes[i].nout; k++) {
                ct_val v = g->nodes[i].out[k];
                if (v == CT_NOVAL) continue;
                g->values[v].arena = CT_ARENA_ACT;
                g->values[v].root = v;
                g->values[v].offset = -1;
            }
            continue;
        }
        renumbered[i] = (int)kept;
        g->nodes[kept] = g->nodes[i];
        ct_node *n = &g->nodes[kept];
        if (n->clone_of >= 0) n->clone_of = renumbered[n->clone_of];
        for (int k = 0; k < n->nout; k++)
            if (n->out[k] != CT_NOVAL) g->values[n->out[k]].producer = (int)kept;
        kept++;
    }
    g->nnodes = kept;
    ct_free(renumbered);
    return CT_OK;
}

int *ct_graph_uses(const ct_graph *g)
{
    int *uses = ct_calloc(g->nvalues + 1, sizeof *uses, "use counts");
    if (!uses) return NULL;
    for (size_t i = 0; i < g->nnodes; i++)
        for (int k = 0; k < g->nodes[i].nin; k++)
            if (g->nodes[i].in[k] != CT_NOVAL) uses[g->nodes[i].in[k]]++;
    return uses;
}

bool ct_graph_has_backward(const ct_graph *g)
{
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].phase == CT_PHASE_BACKWARD) return true;
    return false;
}

void ct_graph_sync_views(ct_graph *g)
{
    for (size_t v = 0; v < g->nvalues; v++)
        if (g->values[v].root != (ct_val)v) g->values[v].offset = g->values[g->values[v].root].offset;
}
