/* Sessions: programs, arenas and plans of one model on one device. */
#include "config.h"

#include "train/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "train/spec.h"

ct_status ct_session_begin(ct_session *s, const ct_program_spec *spec, bool train, const char *backend,
                           const ct_device_opts *opts, char *why, size_t why_size)
{
    memset(s, 0, sizeof *s);
    s->spec = *spec;
    s->train = train;
    s->device_opts = *opts;
    CT_TRY(ct_backend_choose(backend && *backend ? backend : "auto", &s->backend, why, why_size));
    return train ? ct_spec_settle(&s->spec, s->backend, opts) : CT_OK;
}

ct_unit *ct_session_find(ct_session *s, ct_program_kind kind, int64_t batch, int64_t accumulate, bool ema)
{
    for (size_t i = 0; i < s->units; i++) {
        ct_unit *u = &s->unit[i];
        bool micro = kind == CT_PROGRAM_MICRO_FIRST || kind == CT_PROGRAM_MICRO_NEXT;
        if (u->kind == kind && u->batch == batch && u->ema == ema && (!micro || u->accumulate == accumulate)) return u;
    }
    return NULL;
}

ct_status ct_session_add(ct_session *s, ct_program_kind kind, int64_t batch, int64_t accumulate, bool ema)
{
    if (ct_session_find(s, kind, batch, accumulate, ema)) return CT_OK;
    if (s->units == CT_SESSION_MAX_UNITS)
        return ct_fail(CT_EINTERNAL, "more than %d programs in a session", CT_SESSION_MAX_UNITS);
    ct_unit *u = &s->unit[s->units];
    memset(u, 0, sizeof *u);
    ct_program_spec spec = s->spec;
    spec.batch = batch;
    spec.accumulate = accumulate;
    const ct_graph *from = s->units > 0 ? s->unit[0].prog.graph : NULL;
    ct_status st = ct_program_build(&spec, kind, from, &s->layout, &u->prog);
    if (st != CT_OK) return st;
    u->kind = kind;
    u->batch = batch;
    u->accumulate = accumulate;
    u->ema = ema;
    s->units++;
    return CT_OK;
}

ct_status ct_session_add_eval(ct_session *s, int64_t n, int64_t batch, bool ema)
{
    if (n >= batch) CT_TRY(ct_session_add(s, CT_PROGRAM_EVAL, batch, 1, ema));
    if (n % batch > 0) CT_TRY(ct_session_add(s, CT_PROGRAM_EVAL, n % batch, 1, ema));
    return CT_OK;
}

static int by_name(const void *a, const void *b)
{
    const ct_tensor_ref *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Parameters and buffers are listed from a graph without optimizer: there, every value in these arenas is a tensor of
 * the model. */
static ct_status list_tensors(ct_session *s)
{
    for (size_t i = 0; i < s->units && !s->ref_graph; i++)
        if (s->unit[i].kind == CT_PROGRAM_EVAL || s->unit[i].kind == CT_PROGRAM_PREDICT)
            s->ref_graph = s->unit[i].prog.graph;
    if (!s->ref_graph) return ct_fail(CT_EINTERNAL, "a session without an evaluation program");
    const ct_graph *g = s->ref_graph;
    size_t n = 0;
    for (size_t v = 0; v < g->nvalues; v++)
        n += g->values[v].arena == CT_ARENA_PARAM || g->values[v].arena == CT_ARENA_BUFFER;
    s->tensor = ct_calloc(n ? n : 1, sizeof *s->tensor, "list of parameters");
    if (!s->tensor) return CT_ENOMEM;
    for (size_t v = 0; v < g->nvalues; v++) {
        const ct_value *x = &g->values[v];
        if (x->arena != CT_ARENA_PARAM && x->arena != CT_ARENA_BUFFER) continue;
        if (x->producer >= 0 || x->root != (ct_val)v) continue;
        ct_tensor_ref *t = &s->tensor[s->tensors++];
        t->name = x->name;
        t->val = (ct_val)v;
        t->arena = x->arena;
        t->desc = x->desc;
        t->trained =
            x->arena == CT_ARENA_PARAM && x->offset / (int64_t)ct_dtype_size(s->layout.dtype) < s->layout.train_elems;
        size_t bytes = ct_desc_bytes(&x->desc);
        if (bytes > s->host_bytes) s->host_bytes = bytes;
    }
    qsort(s->tensor, s->tensors, sizeof *s->tensor, by_name);
    s->host = ct_aligned_alloc(s->host_bytes ? s->host_bytes : 1, "staging of a tensor");
    return s->host ? CT_OK : CT_ENOMEM;
}

ct_status ct_session_ready(ct_session *s)
{
    ct_program_spec spec = s->spec;
    ct_arenas_needs needs = ct_program_needs(&spec, s->train);
    CT_TRY(ct_arenas_create(s->backend, &s->device_opts, &s->layout, &needs, false, &s->store));
    CT_TRY(s->backend->info(s->store->device, &s->device));
    for (size_t i = 0; i < s->units; i++)
        CT_TRY(ct_plan_create(s->store, s->unit[i].prog.graph, s->unit[i].ema, &s->unit[i].plan));
    return list_tensors(s);
}

void ct_session_end(ct_session *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->units; i++) ct_plan_free(s->unit[i].plan);
    ct_arenas_free(s->store);
    for (size_t i = 0; i < s->units; i++) ct_program_free(&s->unit[i].prog);
    ct_free(s->tensor);
    ct_free(s->host);
    memset(s, 0, sizeof *s);
}

ct_status ct_session_get(ct_session *s, size_t i, ct_arena arena, void *host)
{
    return ct_arenas_get(s->store, s->ref_graph, s->tensor[i].val, arena, host);
}

ct_status ct_session_set(ct_session *s, size_t i, ct_arena arena, const void *host)
{
    return ct_arenas_set(s->store, s->ref_graph, s->tensor[i].val, arena, host);
}

int64_t ct_session_peak(const ct_session *s)
{
    int64_t sum = 0;
    for (int a = 0; a < CT_ARENA_COUNT; a++) sum += (int64_t)s->store->bytes[a];
    return sum;
}

/* Joins `impl` to the entry of `op` unless it is named there already. */
static ct_status note_kernel(json_t *o, const char *op, const char *impl)
{
    const char *old = json_string_value(json_object_get(o, op));
    if (!old) return ct_json_set(o, op, json_string(impl));
    size_t n = strlen(impl);
    for (const char *p = old; (p = strstr(p, impl)); p += n)
        if ((p == old || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' ')) return CT_OK;
    char *both = ct_asprintf("%s + %s", old, impl);
    if (!both) return CT_ENOMEM;
    ct_status st = ct_json_set(o, op, json_string(both));
    ct_free(both);
    return st;
}

char *ct_session_kernels(const ct_session *s)
{
    char *text = NULL;
    json_t *o = json_object();
    if (!o) {
        ct_fail(CT_ENOMEM, "out of memory listing kernels");
        return NULL;
    }
    for (size_t u = 0; u < s->units; u++) {
        const ct_graph *g = s->unit[u].prog.graph;
        for (size_t i = 0; i < g->nnodes; i++)
            if (note_kernel(o, ct_op_get(g->nodes[i].op)->name, ct_plan_impl(s->unit[u].plan, i)) != CT_OK) goto fail;
    }
    text = ct_json_text(o, 0);
fail:
    json_decref(o);
    return text;
}
