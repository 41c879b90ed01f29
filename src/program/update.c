#include "config.h"

#include "program/update.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "program/groups.h"

ct_status ct_update_part(ct_graph *g, const char *name, ct_arena arena, const ct_layout *l, int64_t first, int64_t end,
                         ct_val *out)
{
    CT_TRY(ct_graph_range(g, name, arena, l->dtype, first, end - first, out));
    g->values[*out].range = true;
    return CT_OK;
}

/* What an update is built of. */
typedef struct update {
    const ct_program_spec *s;
    ct_graph *g;
    const ct_graph *weights;
    const ct_layout *l;
    ct_arena grad;  /* where its gradients are: GRAD or GACC; the first flat->grads elements in GRAD16 */
    const ct_flat *flat;
    ct_val state;
} update;

/* Elements [first, end) of a flat arena, as value "<name>.<part>". */
static ct_status update_part(const update *u, const char *name, const char *part, ct_arena arena, int64_t first,
                             int64_t end, ct_val *out)
{
    const bool half = arena == CT_ARENA_PARAM16 || arena == CT_ARENA_GRAD16;
    char *both = ct_asprintf("%s.%s", name, part);
    if (!both) return CT_ENOMEM;
    ct_status st = ct_graph_range(u->g, both, arena, half ? u->flat->half : u->l->dtype, first, end - first, out);
    ct_free(both);
    return st;
}

/* How a parameter is updated. Those with equal settings that lie side by side take one call. */
typedef struct settings {
    double lr, decay;    /* factor of the rate, weight decay */
    int64_t rows, cols;  /* by Muon, as a matrix; 0: by Adam or SGD */
} settings;

static bool alike(const settings *a, const settings *b)
{
    return a->lr == b->lr && a->decay == b->decay && a->rows == b->rows && a->cols == b->cols;
}

/* Whether parameters differ in anything but whether they decay. */
static bool has_settings(const ct_program_spec *s) { return s->optimizer == CT_OPT_MUON || s->ngroups > 0; }

static ct_status settings_of(const ct_program_spec *s, const ct_value *v, settings *out)
{
    settings t = { .lr = 1, .decay = v->decay || s->decay_norm_bias ? s->optim.weight_decay : 0 };
    bool muon = s->optimizer == CT_OPT_MUON && (s->muon.first || !v->first || v->last) && (s->muon.last || !v->last);
    for (size_t i = 0; i < s->ngroups; i++) {
        ct_group_rule r;
        CT_TRY(ct_group_rule_read(s->groups[i], &r));
        if (!ct_name_matches(r.pattern, v->name)) continue;
        if (r.lr > 0) t.lr = r.lr;
        if (r.decay >= 0) t.decay = r.decay;
        if (r.by != CT_BY_ANY) muon = r.by == CT_BY_MUON;
    }
    if (muon && v->desc.ndim >= 2) {
        t.rows = v->desc.dim[0];
        t.cols = ct_desc_numel(&v->desc) / t.rows;
        t.lr *= s->muon.lr_factor;
    }
    *out = t;
    return CT_OK;
}

/* Every rule is about some parameter. */
static ct_status check_rules(const ct_program_spec *s, const ct_graph *g)
{
    for (size_t i = 0; i < s->ngroups; i++) {
        ct_group_rule r;
        bool hit = false;
        CT_TRY(ct_group_rule_read(s->groups[i], &r));
        if (r.by != CT_BY_ANY && s->optimizer != CT_OPT_MUON)
            return ct_fail(CT_ECONFIG, "optimizer.groups: '%s': by= is for optimizer.name: muon alone", s->groups[i]);
        for (size_t v = 0; v < g->nvalues && !hit; v++)
            hit = ct_graph_is_weight(g, (ct_val)v) && g->values[v].arena == CT_ARENA_PARAM &&
                  ct_name_matches(r.pattern, g->values[v].name);
        if (!hit) return ct_fail(CT_ECONFIG, "optimizer.groups: '%s' matches no parameter of the model", r.pattern);
    }
    return CT_OK;
}

ct_status ct_update_sort(const ct_program_spec *s, ct_graph *g)
{
    ct_status st = CT_OK;
    int n = 0;
    if (!has_settings(s)) return CT_OK;
    CT_TRY(check_rules(s, g));
    settings *seen = ct_calloc(g->nvalues + 1, sizeof *seen, "settings of parameters");
    if (!seen) return CT_ENOMEM;
    for (size_t i = 0; i < g->nvalues; i++) {
        ct_value *v = &g->values[i];
        settings t;
        if (!ct_graph_is_weight(g, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
        CT_GOTO(st, settings_of(s, v, &t));
        int k = 0;
        while (k < n && !alike(&seen[k], &t)) k++;
        if (k == n) seen[n++] = t;
        v->group = k;
    }
fail:
    ct_free(seen);
    return st;
}

/* The operator that a call with these settings is, and its attributes. A factor of 1 is left out. */
static ct_op optimizer(const ct_program_spec *s, const settings *t, int64_t stride, ct_attrs *a)
{
    const ct_optim_attrs *o = &s->optim;
    *a = (ct_attrs){ .optim = { .weight_decay = t->decay, .lr_factor = t->lr == 1 ? 0 : t->lr } };
    if (t->rows > 0) {
        const double rows = (double)t->rows, cols = (double)t->cols;
        a->optim.rows = t->rows;
        a->optim.cols = t->cols;
        a->optim.stride = stride;
        a->optim.momentum = s->muon.momentum;
        a->optim.nesterov = s->muon.nesterov;
        a->optim.steps = s->muon.steps;
        a->optim.scale = s->muon.match_rms ? 0.2 * sqrt(fmax(rows, cols)) : sqrt(fmax(1, rows / cols));
        return CT_OP_MUON;
    }
    if (s->optimizer == CT_OPT_SGD) {
        a->optim.momentum = o->momentum;
        a->optim.nesterov = o->nesterov;
        return CT_OP_SGD;
    }
    a->optim.beta1 = o->beta1;
    a->optim.beta2 = o->beta2;
    a->optim.eps = o->eps;
    a->optim.decoupled = s->optimizer != CT_OPT_ADAM;
    return CT_OP_ADAMW;
}

/* One optimizer call over elements [first, end), whose gradients are of one type; `name` makes those of its values
 * unique. stride: elements of a parameter, padding included, where it is a matrix to Muon. */
static ct_status update_range(const update *u, const char *name, int64_t first, int64_t end, const settings *t,
                              int64_t stride)
{
    ct_attrs a;
    ct_val in[6];
    int n = 0;
    const ct_op op = optimizer(u->s, t, stride, &a);
    CT_TRY(update_part(u, name, "p", CT_ARENA_PARAM, first, end, &in[n++]));
    CT_TRY(update_part(u, name, "g", end <= u->flat->grads ? CT_ARENA_GRAD16 : u->grad, first, end, &in[n++]));
    CT_TRY(update_part(u, name, "m", CT_ARENA_OPT1, first, end, &in[n++]));
    if (op == CT_OP_ADAMW) CT_TRY(update_part(u, name, "v", CT_ARENA_OPT2, first, end, &in[n++]));
    in[n++] = u->state;
    if (u->flat->copies) CT_TRY(update_part(u, name, "copy", CT_ARENA_PARAM16, first, end, &in[n++]));
    return ct_graph_node(u->g, op, &a, name, n, in, 0, 0, NULL);
}

/* The optimizer over elements [first, end): a call for those whose gradients have 16 bits, one for the others. */
static ct_status update_ranges(const update *u, const char *name, int64_t first, int64_t end, const settings *t,
                               int64_t stride)
{
    const int64_t cut = u->flat->grads;
    if (first >= end) return CT_OK;
    if (cut <= first || cut >= end) return update_range(u, name, first, end, t, stride);
    char *rest = ct_asprintf("%s.rest", name);
    if (!rest) return CT_ENOMEM;
    ct_status st = update_range(u, name, first, cut, t, stride);
    if (st == CT_OK) st = update_range(u, rest, cut, end, t, stride);
    ct_free(rest);
    return st;
}

/* All parameters are updated alike, but for some that do not decay. */
static ct_status update_all(const update *u)
{
    const ct_layout *l = u->l;
    const double wd = u->s->optim.weight_decay;
    const settings decay = { .lr = 1, .decay = wd }, none = { .lr = 1 };
    if (u->s->decay_norm_bias || wd == 0) return update_ranges(u, "update.all", 0, l->train_elems, &decay, 0);
    const int64_t split = l->decay_elems < l->train_elems ? l->decay_elems : l->train_elems;
    CT_TRY(update_ranges(u, "update.decay", 0, split, &decay, 0));
    return update_ranges(u, "update.no_decay", split, l->train_elems, &none, 0);
}

/* A trained parameter where it lies. */
typedef struct placed {
    const ct_value *v;
    int64_t first, end; /* elements, padding included */
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The trained parameters in the order in which they lie, into list; how many. */
static size_t trained(const update *u, placed *list)
{
    const size_t size = ct_dtype_size(u->l->dtype);
    size_t n = 0;
    for (size_t i = 0; i < u->weights->nvalues; i++) {
        const ct_value *v = &u->weights->values[i];
        if (!ct_graph_is_weight(u->weights, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
        const size_t at = (size_t)v->offset, end = ct_align_up(at + ct_desc_bytes(&v->desc), CT_ALIGN);
        if (at >= (size_t)u->l->train_elems * size) continue;
        list[n++] = (placed){ v, (int64_t)(at / size), (int64_t)(end / size) };
    }
    qsort(list, n, sizeof *list, by_place);
    return n;
}

/* A call for each run of parameters with the same settings, named after the first of them. */
static ct_status update_runs(const update *u)
{
    ct_status st = CT_OK;
    placed *list = ct_calloc(u->weights->nvalues + 1, sizeof *list, "trained parameters");
    char *name = NULL;
    if (!list) return CT_ENOMEM;
    const size_t n = trained(u, list);
    for (size_t i = 0, end; i < n; i = end) {
        settings t, next;
        CT_GOTO(st, settings_of(u->s, list[i].v, &t));
        for (end = i + 1; end < n && list[end].first == list[end - 1].end; end++) {
            CT_GOTO(st, settings_of(u->s, list[end].v, &next));
            if (!alike(&t, &next)) break;
        }
        ct_free(name);
        name = ct_asprintf("update.%s", list[i].v->name);
        if (!name) st = CT_ENOMEM;
        if (st == CT_OK)
            st = update_ranges(u, name, list[i].first, list[end - 1].end, &t, list[i].end - list[i].first);
        if (st != CT_OK) goto fail;
    }
fail:
    ct_free(name);
    ct_free(list);
    return st;
}

/* Norm and clip of all gradients, in the order in which they lie whatever their types are. */
static ct_status update_norm(const update *u)
{
    const int64_t half = u->flat->grads, all = u->l->train_elems;
    const ct_attrs a = { .optim = { .max_norm = u->s->optim.max_norm } };
    ct_val in[3] = { CT_NOVAL, u->state };
    int n = 2;
    if (all == 0) return CT_OK;
    CT_TRY(update_part(u, "grad_norm", "g", half > 0 ? CT_ARENA_GRAD16 : u->grad, 0, half > 0 ? half : all, &in[0]));
    if (half > 0 && half < all) CT_TRY(update_part(u, "grad_norm", "rest", u->grad, half, all, &in[n++]));
    return ct_graph_node(u->g, CT_OP_GRAD_NORM, &a, "grad_norm", n, in, 0, 0, NULL);
}

static ct_status average(const ct_program_spec *s, ct_graph *g, const ct_layout *l, const char *name, ct_arena shadow,
                         ct_arena src, int64_t elems, ct_val state)
{
    if (elems == 0) return CT_OK;
    char *shadow_name = ct_asprintf("%s.shadow", name), *src_name = ct_asprintf("%s.src", name);
    ct_status st = CT_ENOMEM;
    ct_val in[3] = { CT_NOVAL, CT_NOVAL, state };
    if (!shadow_name || !src_name) goto fail;
    CT_GOTO(st, ct_update_part(g, shadow_name, shadow, l, 0, elems, &in[0]));
    CT_GOTO(st, ct_update_part(g, src_name, src, l, 0, elems, &in[1]));
    ct_attrs a = { .optim = { .decay = s->optim.decay, .warmup = s->optim.warmup } };
    st = ct_graph_node(g, CT_OP_EMA, &a, name, 3, in, 0, 0, NULL);
fail:
    ct_free(shadow_name);
    ct_free(src_name);
    return st;
}

ct_status ct_update_build(const ct_program_spec *s, ct_graph *g, const ct_graph *weights, const ct_layout *l,
                          ct_arena grad, const ct_flat *flat)
{
    update u = { .s = s, .g = g, .weights = weights, .l = l, .grad = grad, .flat = flat };
    g->phase = CT_PHASE_UPDATE;
    CT_TRY(ct_graph_state(g, &u.state));
    const ct_val state = u.state;
    ct_attrs schedule = { .schedule = s->schedule };
    CT_TRY(ct_graph_node(g, CT_OP_LR_SCHEDULE, &schedule, "lr", 1, &state, 0, 0, NULL));
    CT_TRY(update_norm(&u));
    CT_TRY(has_settings(s) ? update_runs(&u) : update_all(&u));
    if (s->optim.decay > 0) {
        CT_TRY(average(s, g, l, "ema", CT_ARENA_EMA, CT_ARENA_PARAM, l->param_elems, state));
        CT_TRY(average(s, g, l, "ema_buffers", CT_ARENA_EMABUF, CT_ARENA_BUFFER, l->buffer_elems, state));
    }
    ct_attrs end = { .optim = { .dynamic = s->optim.dynamic,
                                .growth = s->optim.growth,
                                .backoff = s->optim.backoff,
                                .growth_interval = s->optim.growth_interval,
                                .max_scale = s->optim.max_scale } };
    return ct_graph_node(g, CT_OP_STEP_END, &end, "step_end", 1, &state, 0, 0, NULL);
}

