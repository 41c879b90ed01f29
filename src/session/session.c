/* Sessions: programs, arenas and plans of one model on one device. */
#include "config.h"

#include "session/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "program/spec.h"
#include "session/memory.h"
#include "session/parts.h"
#include "session/resident.h"

ct_status ct_session_begin(ct_session *s, const ct_program_spec *spec, bool train, const char *backend,
                           const ct_device_opts *opts, char *why, size_t why_size)
{
    memset(s, 0, sizeof *s);
    s->spec = *spec;
    s->train = train;
    s->device_opts = *opts;
    CT_TRY(ct_backend_choose(backend && *backend ? backend : "auto", &s->backend, why, why_size));
    if (train) CT_TRY(ct_spec_device(&s->spec, s->backend, &s->device_opts));
    ct_spec_fit_device(&s->spec, s->backend, &s->device_opts);
    return train ? ct_spec_settle(&s->spec, s->backend, &s->device_opts) : CT_OK;
}

int64_t ct_session_length(const ct_session *s)
{
    return ct_model_clip(&s->spec.model) ? s->spec.model.frames : s->spec.src_w;
}

ct_unit *ct_session_like(ct_session *s, const ct_unit *like)
{
    const ct_program_kind kind = ct_session_kind(s, like->kind, like->part);
    const bool micro = kind == CT_PROGRAM_MICRO_FIRST || kind == CT_PROGRAM_MICRO_NEXT;
    for (size_t i = 0; i < s->units; i++) {
        ct_unit *u = &s->unit[i];
        if (u->kind == kind && u->batch == like->batch && u->length == like->length && u->ema == like->ema &&
            u->part == like->part && u->small == like->small && (!micro || u->accumulate == like->accumulate))
            return u;
    }
    return NULL;
}

ct_unit *ct_session_find(ct_session *s, ct_program_kind kind, int64_t batch, int64_t length, int64_t accumulate,
                         bool ema, int part)
{
    return ct_session_like(s, &(ct_unit){ .kind = kind, .batch = batch, .length = length, .accumulate = accumulate,
                                          .ema = ema, .part = part });
}

ct_unit *ct_session_predictor(ct_session *s, int64_t length, int64_t rows)
{
    ct_unit *best = NULL;
    for (size_t i = 0; i < s->units; i++) {
        ct_unit *u = &s->unit[i];
        if (u->kind != CT_PROGRAM_PREDICT || u->length != length || u->rows < rows) continue;
        if (!best || u->rows < best->rows) best = u;
    }
    return best;
}

/* Kinds whose programs compute one of this member's parts; others compute all of its rows. */
static bool in_parts(ct_program_kind kind)
{
    return kind == CT_PROGRAM_STEP || kind == CT_PROGRAM_PART || kind == CT_PROGRAM_EVAL;
}

/* First row, of a batch, of a part of this member's; `part` may be their number: the first row behind all. */
static int64_t first_row(const ct_session *s, ct_program_kind kind, int64_t batch, int part)
{
    const int parts = in_parts(kind) ? ct_session_parts(s) : 1, members = s->join.size > 1 ? s->join.size : 1;
    return ct_share_first(batch, s->join.rank * parts + part, members * parts);
}

static int64_t rows_of(const ct_session *s, ct_program_kind kind, int64_t batch, int part)
{
    return first_row(s, kind, batch, part + 1) - first_row(s, kind, batch, part);
}

/* The specification of a unit: only elastic models have programs of several lengths. */
static ct_program_spec unit_spec(const ct_session *s, const ct_unit *u)
{
    ct_program_spec spec = s->spec;
    const int64_t rows = rows_of(s, u->kind, u->batch, u->part);
    spec.batch = rows > 0 ? rows : 1; /* never run: what it knows of weights and update is wanted */
    spec.accumulate = u->accumulate;
    spec.members = s->parts > 0 ? s->parts : s->join.size;
    spec.parts = ct_session_parts(s);
    spec.part = u->part;
    spec.sync_norm = s->join.sync && s->join.size > 1;
    spec.model.row = first_row(s, u->kind, u->batch, u->part);
    spec.model.of = u->batch;
    if (s->resident) spec.resident = ct_dataset_size(s->resident);
    if (ct_model_elastic(&spec.model)) {
        ct_model_set_length(&spec.model, u->length);
        if (!ct_model_clip(&spec.model)) spec.src_w = u->length;
    }
    return spec;
}

static bool has_kind(const ct_session *s, ct_program_kind kind, int part)
{
    for (size_t i = 0; i < s->units; i++)
        if (s->unit[i].kind == kind && s->unit[i].part == part) return true;
    return false;
}

static ct_status add_unit(ct_session *s, const ct_unit *as)
{
    if (rows_of(s, as->kind, as->batch, as->part) == 0 && has_kind(s, as->kind, as->part)) return CT_OK;
    CT_TRY(ct_grow(&s->unit, s->units, &s->cap_units, sizeof *s->unit, "programs of a session"));
    ct_unit *u = &s->unit[s->units];
    *u = *as;
    const ct_program_spec spec = unit_spec(s, u);
    const ct_graph *from = s->units > 0 ? s->unit[0].prog.graph : NULL;
    CT_TRY((u->small ? ct_program_build_small : ct_program_build)(&spec, u->kind, from, &s->layout, &u->prog));
    u->rows = spec.batch;
    s->units++;
    const bool updates = u->kind == CT_PROGRAM_STEP || u->kind == CT_PROGRAM_UPDATE;
    const ct_arena sums = u->kind == CT_PROGRAM_STEP ? CT_ARENA_GRAD : CT_ARENA_GACC;
    const int64_t bytes = s->bucket_bytes > 0 ? s->bucket_bytes : CT_BUCKET_BYTES;
    return updates ? ct_buckets_make(u->prog.graph, &s->layout, sums, bytes, &u->buckets) : CT_OK;
}

/* A unit for each part that is not there. */
static ct_status add_parts(ct_session *s, ct_unit like)
{
    const ct_program_kind kind = like.kind;
    if (!ct_model_elastic(&s->spec.model) && like.length != s->spec.src_w)
        return ct_fail(CT_EINTERNAL, "a program for images of width %" PRId64 " of a model for %" PRId64, like.length,
                       s->spec.src_w);
    CT_TRY(ct_session_check_parts(s, kind));
    const int parts = in_parts(kind) ? ct_session_parts(s) : 1;
    for (like.part = 0; like.part < parts; like.part++) {
        like.kind = ct_session_kind(s, kind, like.part);
        if (!ct_session_like(s, &like)) CT_TRY(add_unit(s, &like));
    }
    return CT_OK;
}

ct_status ct_session_add(ct_session *s, ct_program_kind kind, int64_t batch, int64_t length, int64_t accumulate,
                         bool ema)
{
    return add_parts(s, (ct_unit){ .kind = kind, .batch = batch, .length = length, .accumulate = accumulate,
                                   .ema = ema });
}

ct_status ct_session_add_small(ct_session *s, ct_program_kind kind, int64_t batch, int64_t length, int64_t accumulate)
{
    return add_parts(s, (ct_unit){ .kind = kind, .batch = batch, .length = length, .accumulate = accumulate,
                                   .small = true });
}

ct_status ct_session_add_eval(ct_session *s, const ct_view *view, int64_t batch, bool ema)
{
    const ct_loader_spec l = { .data = view->data, .index = view->index, .n = view->n, .batch = (int)batch };
    ct_batch_shape *shape = NULL;
    size_t n = 0;
    CT_TRY(ct_loader_shapes(&l, &shape, &n));
    ct_status st = CT_OK;
    const ct_task *task = s->spec.goal.task;
    if (task->fit) task->fit(&s->spec.model, view->data);
    for (size_t i = 0; i < n && st == CT_OK; i++)
        st = ct_session_add(s, CT_PROGRAM_EVAL, shape[i].rows, shape[i].length, 1, ema);
    ct_free(shape);
    return st;
}

/* Time steps of a sample of this length in a unit. */
static int64_t steps_in(const ct_session *s, const ct_unit *u, int64_t length)
{
    const bool narrow = u->small && !ct_model_clip(&s->spec.model);
    return ct_model_steps(&s->spec.model, narrow ? ct_program_small_side(s->spec.small.width, length) : length);
}

static void fill_steps(ct_session *s, const ct_unit *u, const int32_t *lengths, int64_t n)
{
    const int64_t all = steps_in(s, u, u->length);
    for (int64_t i = 0; i < u->rows; i++) {
        int64_t steps = i < n ? steps_in(s, u, lengths[i]) : all;
        s->len[i] = (int32_t)(steps < 1 ? 1 : steps > all ? all : steps);
    }
}

/* Where the host has what an input of a unit reads. */
static ct_status find_source(ct_session *s, const ct_unit *u, const ct_port *port, const ct_batch *b, const void **host)
{
    switch (port->role) {
    case CT_PORT_PIXELS: *host = b->px; return CT_OK;
    case CT_PORT_WINDOW: *host = b->windows; return CT_OK;
    case CT_PORT_INDEX: *host = b->index; return CT_OK;
    case CT_PORT_STEPS:
        fill_steps(s, u, b->lengths, b->n);
        *host = s->len;
        return CT_OK;
    case CT_PORT_FIELD: {
        const int k = ct_dataset_find_field(b->data, port->name);
        if (k < 0)
            return ct_fail(CT_EINTERNAL, "the samples of %s have no field '%s'", ct_dataset_root(b->data), port->name);
        *host = b->field[k];
        return CT_OK;
    }
    default: return ct_fail(CT_EINTERNAL, "no batch holds input '%s'", port->name);
    }
}

ct_status ct_session_upload(ct_session *s, ct_unit *u, const ct_batch *b)
{
    ct_feed_part part[CT_MAX_PORTS];
    int n = 0;
    for (int i = 0; i < u->prog.ports; i++) {
        const ct_port *port = &u->prog.port[i];
        if (!ct_port_is_input(port->role)) continue;
        part[n].input = port->val;
        CT_TRY(find_source(s, u, port, b, &part[n++].host));
    }
    if (s->feed) return ct_feed_send(s->feed, u->plan, part, n);
    for (int i = 0; i < n; i++) CT_TRY(ct_plan_upload(u->plan, part[i].input, part[i].host));
    return CT_OK;
}

/* Bytes of the largest batch. */
static size_t largest_batch(const ct_session *s)
{
    size_t most = 0;
    for (size_t i = 0; i < s->units; i++) {
        const ct_program *p = &s->unit[i].prog;
        size_t bytes = 0;
        for (int k = 0; k < p->ports; k++)
            if (ct_port_is_input(p->port[k].role))
                bytes += ct_align_up(ct_desc_bytes(ct_graph_desc(p->graph, p->port[k].val)), CT_ALIGN);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* What batches come from and go through, once the arenas are there. */
static ct_status open_inputs(ct_session *s)
{
    if (s->resident) CT_TRY(ct_resident_upload(s->store, s->resident));
    return ct_feed_open(s->store, largest_batch(s), &s->feed);
}

static int by_name(const void *a, const void *b)
{
    const ct_tensor_ref *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Parameters and buffers are listed from a graph without optimizer. */
static ct_status list_tensors(ct_session *s)
{
    for (size_t i = 0; i < s->units && !s->ref_graph; i++)
        if (s->unit[i].kind == CT_PROGRAM_EVAL || s->unit[i].kind == CT_PROGRAM_PREDICT)
            s->ref_graph = s->unit[i].prog.graph;
    if (!s->ref_graph) return ct_fail(CT_EINTERNAL, "a session without an evaluation program");
    const ct_graph *g = s->ref_graph;
    size_t n = 0;
    for (size_t v = 0; v < g->nvalues; v++)
        n += ct_graph_is_weight(g, (ct_val)v);
    s->tensor = ct_calloc(n ? n : 1, sizeof *s->tensor, "list of parameters");
    if (!s->tensor) return CT_ENOMEM;
    for (size_t v = 0; v < g->nvalues; v++) {
        const ct_value *x = &g->values[v];
        if (!ct_graph_is_weight(g, (ct_val)v) || x->producer >= 0) continue;
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
    spec.members = s->parts > 0 ? s->parts : s->join.size;
    spec.parts = ct_session_parts(s);
    ct_arenas_needs needs = ct_program_needs(&spec, s->train);
    CT_TRY(ct_arenas_create(s->backend, &s->device_opts, &s->layout, &needs, true, &s->store));
    CT_TRY(s->backend->info(s->store->device, &s->device));
    if (s->resident) {
        const ct_dataset *d = s->resident;
        CT_TRY(ct_arenas_hold(s->store, ct_dataset_size(d) * ct_dataset_height(d) * ct_dataset_width(d) *
                                            ct_dataset_channels(d)));
    }
    CT_TRY(ct_session_count_parts(s));
    int64_t rows = 0;
    for (size_t i = 0; i < s->units; i++) {
        CT_TRY(ct_plan_create(s->store, s->unit[i].prog.graph, s->unit[i].ema, &s->unit[i].plan));
        if (s->unit[i].rows > rows) rows = s->unit[i].rows;
    }
    CT_TRY(ct_memory_take(s->store, s->train ? &s->spec : NULL, "train.batch_size"));
    if (ct_model_elastic(&s->spec.model) &&
        !(s->len = ct_calloc((size_t)rows, sizeof *s->len, "time steps of a batch")))
        return CT_ENOMEM;
    CT_TRY(open_inputs(s));
    if (s->join.size <= 1) CT_TRY(ct_session_join(s));
    return list_tensors(s);
}

ct_status ct_session_join(ct_session *s)
{
    s->join.divides = true;
    for (size_t i = 0; i < s->units; i++) s->join.divides = s->join.divides && ct_group_divides(s->unit[i].prog.graph);
    return ct_group_join(s->store, &s->join, &s->group);
}

void ct_session_end(ct_session *s)
{
    if (!s) return;
    ct_group_leave(s->group);
    ct_feed_close(s->feed);
    for (size_t i = 0; i < s->units; i++) ct_plan_free(s->unit[i].plan);
    ct_arenas_free(s->store);
    for (size_t i = 0; i < s->units; i++) {
        ct_program_free(&s->unit[i].prog);
        ct_buckets_free(&s->unit[i].buckets);
    }
    ct_free(s->unit);
    ct_free(s->tensor);
    ct_free(s->host);
    ct_free(s->len);
    ct_free(s->counted);
    memset(s, 0, sizeof *s);
}

/* The graph that knows tensor i in `arena`, and its value there: of what type a gradient is only a step knows. */
static const ct_graph *graph_of(const ct_session *s, size_t i, ct_arena arena, ct_val *v)
{
    for (size_t u = 0; u < s->units && arena == CT_ARENA_GRAD; u++) {
        const ct_graph *g = s->unit[u].prog.graph;
        if (s->unit[u].kind != CT_PROGRAM_STEP) continue;
        *v = ct_graph_find(g, s->tensor[i].name);
        return g;
    }
    *v = s->tensor[i].val;
    return s->ref_graph;
}

ct_status ct_session_get(ct_session *s, size_t i, ct_arena arena, void *host)
{
    ct_val v;
    const ct_graph *g = graph_of(s, i, arena, &v);
    return ct_arenas_get(s->store, g, v, arena, host);
}

ct_status ct_session_see(ct_session *s, size_t i, ct_arena arena, const void **p)
{
    ct_val v;
    const ct_graph *g = graph_of(s, i, arena, &v);
    return ct_arenas_see(s->store, g, v, arena, s->host, p);
}

void ct_session_rest(ct_session *s)
{
    ct_pages_rest(s->host, s->host_bytes);
}

ct_status ct_session_set(ct_session *s, size_t i, ct_arena arena, const void *host)
{
    return ct_arenas_set(s->store, s->ref_graph, s->tensor[i].val, arena, host);
}

ct_status ct_session_set_part(ct_session *s, size_t i, ct_arena arena, size_t at, const void *host, size_t bytes)
{
    return ct_arenas_set_part(s->store, s->ref_graph, s->tensor[i].val, arena, at, host, bytes);
}

int64_t ct_session_peak(const ct_session *s)
{
    int64_t sum = ct_feed_bytes(s->feed);
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

static bool is_whole(const ct_session *s, const ct_unit *u)
{
    for (size_t i = 0; i < s->units; i++)
        if (s->unit[i].kind == u->kind && s->unit[i].batch > u->batch) return false;
    return true;
}

char *ct_session_kernels(const ct_session *s, bool whole)
{
    char *text = NULL;
    json_t *o = json_object();
    if (!o) {
        ct_fail(CT_ENOMEM, "out of memory listing kernels");
        return NULL;
    }
    for (size_t u = 0; u < s->units; u++) {
        const ct_graph *g = s->unit[u].prog.graph;
        if (whole && !is_whole(s, &s->unit[u])) continue;
        for (size_t i = 0; i < g->nnodes; i++)
            if (note_kernel(o, ct_op_get(g->nodes[i].op)->name, ct_plan_impl(s->unit[u].plan, i)) != CT_OK) goto fail;
    }
    text = ct_json_text(o, 0);
fail:
    json_decref(o);
    return text;
}
