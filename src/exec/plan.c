#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/log.h"
#include "exec/internal.h"

/* Whole runs before one is recorded: libraries load kernels and set themselves up at the first. */
enum { WARM_RUNS = 2 };

struct ct_plan {
    ct_arenas *store;
    ct_graph *graph;
    bool ema;
    ct_arenas_user user; /* in the store's list */
    size_t nnodes;
    size_t loads;       /* the first of them are of phase LOAD */
    ct_call *calls;     /* [nnodes] with addresses */
    ct_choice *choices; /* [nnodes]; impl NULL for views */
    char **impl_names;  /* [nnodes] "cpu.im2col", "view" */
    void **scratch;     /* [nnodes] addresses; NULL if none */
    ct_memplan mem;
    ct_plan_stats stats;
    ct_capture *captured; /* the whole plan, recorded; NULL: not yet, or not with this backend */
    int runs;             /* whole ones since the calls were bound, up to WARM_RUNS */
    bool timing;
    double *seconds;   /* [nnodes] */
    ct_event **events; /* [nnodes + 1] with timing, where the backend tells the time between two; else NULL */
};

const ct_graph *ct_plan_graph(const ct_plan *p)
{
    return p->graph;
}

static bool is_view(const ct_node *n)
{
    return (ct_op_get(n->op)->rules->flags & CT_OPF_VIEW) != 0;
}

/* ---- addresses ---- */

static ct_arena bound_arena(const ct_plan *p, ct_arena a)
{
    if (p->ema && a == CT_ARENA_PARAM) return CT_ARENA_EMA;
    if (p->ema && a == CT_ARENA_BUFFER) return CT_ARENA_EMABUF;
    return a;
}

static void *address(const ct_plan *p, ct_val v)
{
    if (v == CT_NOVAL) return NULL;
    const ct_value *root = &p->graph->values[p->graph->values[v].root];
    char *base = p->store->base[bound_arena(p, root->arena)];
    return base && root->offset >= 0 ? base + root->offset : NULL;
}

/* What was recorded holds addresses. */
static void forget_capture(ct_plan *p)
{
    const ct_arenas *s = p->store;
    if (p->captured) s->backend->capture_destroy(s->device, p->captured);
    p->captured = NULL;
    p->runs = 0;
}

/* Writes the addresses of the store's arenas into the calls. */
static void rebind(void *self)
{
    ct_plan *p = self;
    forget_capture(p);
    char *act = p->store->base[CT_ARENA_ACT];
    for (size_t i = 0; i < p->nnodes; i++) {
        const ct_node *n = &p->graph->nodes[i];
        ct_call *c = &p->calls[i];
        for (int k = 0; k < n->nin; k++) c->in[k].data = address(p, n->in[k]);
        for (int k = 0; k < n->nout; k++) c->out[k].data = address(p, n->out[k]);
        p->scratch[i] =
            act && p->mem.scratch_offset && p->mem.scratch_offset[i] >= 0 ? act + p->mem.scratch_offset[i] : NULL;
    }
}

/* Every value must lie inside its arena: what this catches is a graph whose layout is not the store's. */
static ct_status check_places(const ct_plan *p)
{
    const ct_graph *g = p->graph;
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        if (v->root != (ct_val)i || v->arena == CT_ARENA_ACT || v->arena == CT_ARENA_INPUT) continue;
        ct_arena a = bound_arena(p, v->arena);
        if (v->offset < 0)
            return ct_fail(CT_EINVAL, "'%s' has no place in arena %s: the graph has no layout", v->name,
                           ct_arena_name(a));
        if ((size_t)v->offset + ct_desc_bytes(&v->desc) > p->store->bytes[a])
            return ct_fail(
                CT_EINVAL,
                "'%s' needs bytes %lld..%lld of arena %s, which has %zu: the store was made for other programs",
                v->name, (long long)v->offset, (long long)v->offset + (long long)ct_desc_bytes(&v->desc),
                ct_arena_name(a), p->store->bytes[a]);
    }
    return CT_OK;
}

/* ---- making ---- */

static ct_status choose_all(ct_plan *p, size_t *scratch)
{
    const ct_arenas *s = p->store;
    for (size_t i = 0; i < p->nnodes; i++) {
        const ct_node *n = &p->graph->nodes[i];
        ct_graph_call(p->graph, i, &p->calls[i]);
        if (is_view(n)) {
            p->impl_names[i] = ct_strdup("view", "implementation name");
        } else {
            ct_status st = ct_dispatch(s->backend, s->device, &s->opts, &p->calls[i], &p->choices[i]);
            if (st != CT_OK) return ct_fail_context(st, "node '%s'", n->name);
            scratch[i] = p->choices[i].scratch;
            p->impl_names[i] = ct_impl_full_name(s->backend, p->choices[i].impl);
        }
        if (!p->impl_names[i]) return CT_ENOMEM;
    }
    return CT_OK;
}

/* A plan that falls back to a yardstick works, and takes hours instead of minutes: nobody should find that out by waiting. */
static void warn_of_yardsticks(const ct_plan *p)
{
    size_t n = 0, first = 0;
    for (size_t i = p->nnodes; i-- > 0;) {
        if (!p->choices[i].impl || !(p->choices[i].impl->flags & CT_IMPL_YARDSTICK)) continue;
        n++;
        first = i;
    }
    if (n == 0) return;
    const char *why = p->choices[first].instead;
    ct_warn("node '%s'%s runs as %s, plain loops that are hundreds of times slower than a library: %s%s", p->graph->nodes[first].name,
            n > 1 ? " (and others)" : "", p->impl_names[first], why ? why : "it was chosen by name",
            n > 1 ? "; CAPTRAIN_VERBOSE=dispatch lists all of them" : "");
}

static void measure(ct_plan *p)
{
    const ct_arenas *s = p->store;
    ct_plan_stats *t = &p->stats;
    t->act_bytes = p->mem.act_bytes;
    t->input_bytes = p->mem.input_bytes;
    t->lower_bound = p->mem.lower_bound;
    t->unshared_bytes = p->mem.unshared_bytes;
    t->param_bytes = (int64_t)(s->bytes[CT_ARENA_PARAM] + s->bytes[CT_ARENA_PARAM16]);
    t->buffer_bytes = (int64_t)s->bytes[CT_ARENA_BUFFER];
    t->grad_bytes = (int64_t)(s->bytes[CT_ARENA_GRAD] + s->bytes[CT_ARENA_GACC] + s->bytes[CT_ARENA_GRAD16] +
                              s->bytes[CT_ARENA_MEANS]);
    t->optimizer_bytes = (int64_t)(s->bytes[CT_ARENA_OPT1] + s->bytes[CT_ARENA_OPT2]);
    t->ema_bytes = (int64_t)(s->bytes[CT_ARENA_EMA] + s->bytes[CT_ARENA_EMABUF]);
    t->peak_bytes = t->act_bytes + t->input_bytes + t->param_bytes + t->buffer_bytes + t->grad_bytes +
                    t->optimizer_bytes + t->ema_bytes + (int64_t)(s->bytes[CT_ARENA_STATE] + s->bytes[CT_ARENA_METRIC]);
    for (size_t i = p->loads; i < p->nnodes; i++) {
        if (is_view(&p->graph->nodes[i])) continue;
        t->flops += ct_call_flops(&p->calls[i]);
        t->bytes += ct_call_bytes(&p->calls[i]);
    }
}

ct_status ct_plan_create(ct_arenas *s, ct_graph *g, bool ema, ct_plan **out)
{
    *out = NULL;
    ct_status st = CT_OK;
    size_t n = g->nnodes, *scratch = NULL;
    if (ema && !s->bytes[CT_ARENA_EMA])
        return ct_fail(CT_EINVAL, "a plan over averaged weights needs a store that has them");
    ct_plan *p = ct_calloc(1, sizeof *p, "plan");
    if (!p) return CT_ENOMEM;
    p->store = s;
    p->graph = g;
    p->ema = ema;
    p->nnodes = n;
    while (p->loads < n && g->nodes[p->loads].phase == CT_PHASE_LOAD) p->loads++;
    p->calls = ct_calloc(n + 1, sizeof *p->calls, "calls of a plan");
    p->choices = ct_calloc(n + 1, sizeof *p->choices, "choices of a plan");
    p->impl_names = ct_calloc(n + 1, sizeof *p->impl_names, "names of a plan");
    p->scratch = ct_calloc(n + 1, sizeof *p->scratch, "scratch of a plan");
    p->seconds = ct_calloc(n + 1, sizeof *p->seconds, "times of a plan");
    scratch = ct_calloc(n + 1, sizeof *scratch, "scratch sizes");
    if (!p->calls || !p->choices || !p->impl_names || !p->scratch || !p->seconds || !scratch) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, choose_all(p, scratch));
    warn_of_yardsticks(p);
    CT_GOTO(st, ct_memplan_make(g, scratch, &p->mem));
    CT_GOTO(st, check_places(p));
    p->user = (ct_arenas_user){ .rebind = rebind, .self = p };
    ct_arenas_join(s, &p->user);
    CT_GOTO(st, ct_arenas_grow(s, p->mem.act_bytes, p->mem.input_bytes)); /* binds this one as well */
    measure(p);
    ct_log_topic_line(CT_TOPIC_PLAN,
                      "plan of %zu nodes: activations %lld bytes (at least %lld, unshared %lld), peak %lld", n,
                      (long long)p->mem.act_bytes, (long long)p->mem.lower_bound, (long long)p->mem.unshared_bytes,
                      (long long)p->stats.peak_bytes);
    ct_free(scratch);
    *out = p;
    return CT_OK;
fail:
    ct_free(scratch);
    ct_plan_free(p);
    return st;
}

static void free_events(ct_plan *p)
{
    const ct_arenas *s = p->store;
    for (size_t i = 0; i <= p->nnodes; i++)
        if (p->events[i]) s->backend->event_destroy(s->device, p->events[i]);
    ct_free(p->events);
    p->events = NULL;
}

void ct_plan_free(ct_plan *p)
{
    if (!p) return;
    if (p->store) forget_capture(p);
    if (p->events) free_events(p);
    if (p->store) ct_arenas_leave(p->store, &p->user);
    if (p->impl_names)
        for (size_t i = 0; i < p->nnodes; i++) ct_free(p->impl_names[i]);
    ct_memplan_free(&p->mem);
    ct_free(p->calls);
    ct_free(p->choices);
    ct_free(p->impl_names);
    ct_free(p->scratch);
    ct_free(p->seconds);
    ct_free(p);
}

/* ---- running ---- */

static ct_status check_memory(const ct_plan *p)
{
    const ct_arenas *s = p->store;
    if (s->planned_only) return ct_fail(CT_EINVAL, "this plan is for printing only: there is no memory behind it");
    if (s->bytes[CT_ARENA_ACT] < (size_t)p->mem.act_bytes || s->bytes[CT_ARENA_INPUT] < (size_t)p->mem.input_bytes)
        return ct_fail(CT_ENOMEM, "this plan has lost its memory: a later plan that did not fit took it");
    return CT_OK;
}

ct_status ct_plan_patch(ct_plan *p, ct_val v, const void *host)
{
    CT_TRY(check_memory(p));
    const ct_arenas *s = p->store;
    void *dst = address(p, v);
    if (!dst) return ct_fail(CT_EINVAL, "'%s' has no memory in this plan", p->graph->values[v].name);
    return s->backend->upload(s->device, s->stream, dst, host, ct_desc_bytes(&p->graph->values[v].desc));
}

ct_status ct_plan_upload(ct_plan *p, ct_val input, const void *host)
{
    const ct_value *v = &p->graph->values[input];
    if (v->arena != CT_ARENA_INPUT) return ct_fail(CT_EINVAL, "'%s' is not an input", v->name);
    return ct_plan_patch(p, input, host);
}

ct_status ct_plan_fill(ct_plan *p, ct_val input, const void *device)
{
    const ct_value *v = &p->graph->values[input];
    const ct_arenas *s = p->store;
    if (v->arena != CT_ARENA_INPUT) return ct_fail(CT_EINVAL, "'%s' is not an input", v->name);
    CT_TRY(check_memory(p));
    return s->backend->copy(s->device, s->stream, address(p, input), device, ct_desc_bytes(&v->desc));
}

/* Adds up what lies between the events around nodes [first, end). */
static ct_status read_events(ct_plan *p, size_t first, size_t end)
{
    const ct_arenas *s = p->store;
    CT_TRY(s->backend->stream_sync(s->device, s->stream));
    for (size_t i = first; i < end; i++) {
        double seconds = 0;
        if (!p->choices[i].impl) continue;
        CT_TRY(s->backend->event_seconds(s->device, p->events[i], p->events[i + 1], &seconds));
        p->seconds[i] += seconds;
    }
    return CT_OK;
}

static ct_status sum_over_group(const ct_arenas *s, const ct_tensor *t)
{
    return s->sum->call(s->sum->self, t->data, ct_desc_numel(&t->desc), t->desc.dtype);
}

static ct_status run_calls(ct_plan *p, size_t first, size_t end)
{
    CT_TRY(check_memory(p));
    const ct_arenas *s = p->store;
    const ct_backend *b = s->backend;
    if (p->events && first < end) CT_TRY(b->event_record(s->device, p->events[first], s->stream));
    for (size_t i = first; i < end; i++) {
        const ct_impl *m = p->choices[i].impl;
        double t0 = p->timing ? ct_now() : 0;
        ct_crash_doing(p->graph->nodes[i].name, p->impl_names[i]);
        ct_status st = m ? m->run(s->device, s->stream, &p->calls[i], p->scratch[i]) : CT_OK;
        if (st == CT_OK && s->sum && p->graph->nodes[i].op == CT_OP_GROUP_SUM)
            st = sum_over_group(s, &p->calls[i].out[0]);
        if (st == CT_OK && p->events) {
            st = b->event_record(s->device, p->events[i + 1], s->stream);
        } else if (st == CT_OK && p->timing && m) {
            st = b->stream_sync(s->device, s->stream);
            p->seconds[i] += ct_now() - t0;
        }
        if (st != CT_OK) return ct_fail_context(st, "node '%s' (%s)", p->graph->nodes[i].name, p->impl_names[i]);
        if (s->between) CT_TRY(s->between->call(s->between->self));
    }
    ct_crash_doing(NULL, NULL);
    return p->events && first < end ? read_events(p, first, end) : CT_OK;
}

/* Nodes of phase LOAD, where what they give is not there: what this plan's weights are in 16 bits. */
static ct_status load(ct_plan *p)
{
    ct_arenas *s = p->store;
    const ct_arena weights = bound_arena(p, CT_ARENA_PARAM);
    if (p->loads == 0 || s->copied == weights) return CT_OK;
    s->copied = CT_ARENA_INPUT;
    CT_TRY(run_calls(p, 0, p->loads));
    s->copied = weights;
    return CT_OK;
}

ct_status ct_plan_run_nodes(ct_plan *p, size_t first, size_t end)
{
    if (end > p->nnodes) end = p->nnodes;
    CT_TRY(load(p));
    return run_calls(p, first > p->loads ? first : p->loads, end);
}

ct_status ct_plan_run_range(ct_plan *p, size_t node, int64_t first, int64_t end)
{
    const ct_node *n = &p->graph->nodes[node];
    ct_call *call = &p->calls[node], whole = *call;
    const ct_value *v = &p->graph->values[p->graph->values[n->in[0]].root];
    const int64_t at = v->offset / (int64_t)ct_dtype_size(v->desc.dtype), all = at + ct_desc_numel(&v->desc);
    if (!(ct_op_get(n->op)->rules->flags & CT_OPF_FLAT))
        return ct_fail(CT_EINTERNAL, "node '%s' cannot be run in pieces", n->name);
    if (first < at) first = at;
    if (end > all) end = all;
    if (first >= end) return CT_OK;
    for (int k = 0; k < n->nin; k++) {
        ct_tensor *t = &call->in[k];
        if (!ct_present(t) || p->graph->values[p->graph->values[n->in[k]].root].arena == CT_ARENA_STATE) continue;
        t->data = (char *)t->data + (first - at) * (int64_t)ct_dtype_size(t->desc.dtype);
        t->desc.dim[0] = end - first;
    }
    const ct_status st = run_calls(p, node, node + 1);
    *call = whole;
    return st;
}

/* Records one run: the calls are queued into the capture instead of the stream. */
static ct_status capture(ct_plan *p, ct_status (*body)(void *self), void *self)
{
    const ct_arenas *s = p->store;
    ct_capture *c = NULL;
    CT_TRY(s->backend->capture_begin(s->device, s->stream));
    ct_status st = body(self);
    if (st != CT_OK) { /* the stream must leave the capture in any case; the message to keep is the node's */
        char *message = ct_strdup(ct_error_message(), "a message");
        if (s->backend->capture_end(s->device, s->stream, &c) == CT_OK) s->backend->capture_destroy(s->device, c);
        if (message) ct_fail(st, "%s", message);
        ct_free(message);
        return ct_fail_context(st, "capturing a step");
    }
    CT_TRY(s->backend->capture_end(s->device, s->stream, &c));
    p->captured = c;
    ct_log_topic_line(CT_TOPIC_PLAN, "plan of %zu nodes captured", p->nnodes);
    return CT_OK;
}

ct_status ct_plan_run_as(ct_plan *p, ct_status (*body)(void *self), void *self)
{
    const ct_arenas *s = p->store;
    bool captures = s->backend->capture_begin && !s->opts.eager && !p->timing;
    if (!captures || (!p->captured && p->runs < WARM_RUNS)) {
        if (p->runs < WARM_RUNS) p->runs++;
        return body(self);
    }
    CT_TRY(check_memory(p));
    CT_TRY(load(p));
    if (!p->captured) CT_TRY(capture(p, body, self));
    return s->backend->capture_replay(s->device, s->stream, p->captured);
}

static ct_status all_nodes(void *self)
{
    ct_plan *p = self;
    return ct_plan_run_nodes(p, 0, p->nnodes);
}

ct_status ct_plan_run(ct_plan *p)
{
    return ct_plan_run_as(p, all_nodes, p);
}

ct_status ct_plan_download(ct_plan *p, ct_val v, void *host)
{
    CT_TRY(check_memory(p));
    const ct_arenas *s = p->store;
    const void *src = address(p, v);
    if (!src) return ct_fail(CT_EINVAL, "'%s' has no memory in this plan", p->graph->values[v].name);
    CT_TRY(s->backend->download(s->device, s->stream, host, src, ct_desc_bytes(&p->graph->values[v].desc)));
    return s->backend->stream_sync(s->device, s->stream);
}

void ct_plan_get_stats(const ct_plan *p, ct_plan_stats *out)
{
    *out = p->stats;
}

const ct_call *ct_plan_call(const ct_plan *p, size_t node, const ct_impl **impl)
{
    *impl = p->choices[node].impl;
    return &p->calls[node];
}

const ct_arenas *ct_plan_store(const ct_plan *p)
{
    return p->store;
}

const char *ct_plan_impl(const ct_plan *p, size_t node)
{
    return p->impl_names[node];
}

ct_status ct_plan_set_timing(ct_plan *p, bool on)
{
    const ct_arenas *s = p->store;
    p->timing = on;
    if (!on && p->events) free_events(p);
    if (!on || p->events || !s->backend->event_seconds) return CT_OK;
    if (!(p->events = ct_calloc(p->nnodes + 1, sizeof *p->events, "events of a plan"))) return CT_ENOMEM;
    for (size_t i = 0; i <= p->nnodes; i++) CT_TRY(s->backend->event_create(s->device, &p->events[i]));
    return CT_OK;
}

double ct_plan_seconds(const ct_plan *p, size_t node)
{
    return p->seconds[node];
}
