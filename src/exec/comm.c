#include "config.h"

#include "exec/comm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/file.h"
#include "exec/internal.h"
#include "exec/staged.h"

/* ---- buckets ---- */

static bool lies_in(const ct_graph *g, ct_val v, ct_arena arena, int64_t first, int64_t end)
{
    if (v == CT_NOVAL) return false;
    const ct_value *x = &g->values[g->values[v].root];
    return x->arena == arena && x->offset >= 0 && x->offset < end && x->offset + (int64_t)ct_desc_bytes(&x->desc) > first;
}

/* Last node that writes into bytes [first, end) of the arena; -1: none does. */
static int last_writer(const ct_graph *g, ct_arena arena, int64_t first, int64_t end)
{
    for (size_t i = g->nnodes; i-- > 0;) {
        const ct_node *n = &g->nodes[i];
        const unsigned mutates = ct_op_get(n->op)->rules->mutates;
        for (int k = 0; k < n->nout; k++)
            if (lies_in(g, n->out[k], arena, first, end)) return (int)i;
        for (int k = 0; k < n->nin; k++)
            if ((mutates >> k & 1) && lies_in(g, n->in[k], arena, first, end)) return (int)i;
    }
    return -1;
}

static int falling(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static int first_ready(const void *a, const void *b)
{
    const ct_bucket *x = a, *y = b;
    if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
    return x->first < y->first ? 1 : x->first > y->first ? -1 : 0;
}

/* Where the arena may be cut, falling: the beginnings of tensors within (0, end). Of an arena that the graph knows in one piece only
 * (the sums of micro-steps) there are none. */
static ct_status find_cuts(const ct_graph *g, ct_arena arena, int64_t end, int64_t **cut, size_t *n)
{
    *n = 0;
    if (!(*cut = ct_calloc(g->nvalues + 1, sizeof **cut, "places to cut the gradients"))) return CT_ENOMEM;
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        if (v->arena == arena && !v->range && v->root == (ct_val)i && v->offset > 0 && v->offset < end) (*cut)[(*n)++] = v->offset;
    }
    qsort(*cut, *n, sizeof **cut, falling);
    return CT_OK;
}

/* Beginning of the bucket that ends at `end` and must not reach below `floor`: the first cut behind which there is enough, else the
 * last one, since a tensor alone is sooner summed than several. */
static int64_t bucket_begin(const int64_t *cut, size_t n, int64_t floor, int64_t end, int64_t bytes)
{
    if (bytes == CT_BUCKET_WHOLE) return floor;
    if (n == 0) return end - floor > bytes ? end - (bytes + CT_ALIGN - 1) / CT_ALIGN * CT_ALIGN : floor;
    const int64_t left = end - floor;
    int64_t want = left - left / 4, begin = floor;
    if (want < CT_BUCKET_LEAST) want = CT_BUCKET_LEAST;
    if (want > bytes) want = bytes;
    for (size_t i = 0; i < n && cut[i] > floor; i++) {
        if (cut[i] >= end) continue;
        if (end - cut[i] >= want) return cut[i];
        begin = cut[i];
    }
    return left > CT_BUCKET_LEAST && bytes >= CT_BUCKET_LEAST ? begin : floor;
}

ct_status ct_buckets_make(const ct_graph *g, const ct_layout *layout, ct_arena arena, int64_t bytes, ct_buckets *out)
{
    const int64_t size = (int64_t)ct_dtype_size(layout->dtype), all = layout->train_elems * size;
    const int64_t decay = layout->decay_elems < layout->train_elems ? layout->decay_elems * size : all;
    int64_t *cut = NULL;
    size_t ncuts = 0, cap = 0;
    ct_status st;
    *out = (ct_buckets){ .arena = arena, .update = -1 };
    for (size_t i = g->nnodes; i-- > 0;)
        if (g->nodes[i].phase == CT_PHASE_UPDATE) out->update = (int)i;
    if (out->update < 0) return ct_fail(CT_EINVAL, "a program without an update has no gradients to sum");
    CT_GOTO(st, find_cuts(g, arena, all, &cut, &ncuts));
    for (int64_t end = all; end > 0;) {
        CT_GOTO(st, ct_grow(&out->bucket, out->n, &cap, sizeof *out->bucket, "buckets of gradients"));
        ct_bucket *b = &out->bucket[out->n++];
        b->end = end;
        b->first = end = bucket_begin(cut, ncuts, end > decay ? decay : 0, end, bytes);
        b->ready = last_writer(g, arena, b->first, b->end);
        if (b->ready < out->update) continue;
        st = ct_fail(CT_EINTERNAL, "node '%s' of the update writes gradients", g->nodes[b->ready].name);
        goto fail;
    }
    if (out->n > 1) qsort(out->bucket, out->n, sizeof *out->bucket, first_ready);
    ct_free(cut);
    return CT_OK;
fail:
    ct_free(cut);
    ct_buckets_free(out);
    return st;
}

void ct_buckets_free(ct_buckets *b)
{
    ct_free(b->bucket);
    *b = (ct_buckets){ .bucket = NULL };
}

/* ---- groups ---- */

struct ct_group {
    ct_arenas *store;
    int rank, size;
    bool alone; /* there is nothing to sum, and so nothing of what follows */
    bool tree, sync, divides;
    double deadline;
    const ct_comm_ops *ops; /* NULL when alone, as all that follows */
    ct_comm *comm;
    ct_comm *narrow;   /* of nodes group_sum, so that these do not wait for gradients; NULL unless `sync` */
    ct_arenas_sum sum;
    ct_stream *stream; /* of the sums */
    ct_event *event;
    ct_arenas_watch watch; /* while the host waits for the device */
    const ct_group_talk *talk;
    const ct_patience *patience;
    double judged;         /* seconds of a waiting after which `patience` was asked last; 0: not yet */

    /* Of an engine alone, whose sums have to be moved. */
    bool asked;        /* for memory in which sums cost least */
    void *lent;        /* the arenas of gradients lie there; NULL: in memory of their own */
    void *common;      /* weights, moments and averages of all members; NULL: each has its own */
    double word;       /* summed to see that all have come */
    bool queued;       /* some may be on their way */
    double begun;      /* when the first of them was queued */
    double polled;     /* when they were moved last */
    double sums, waited;
    ct_arenas_between between;
};

/* Seconds between two polls: seldom enough to cost nothing, often enough that a message of 25 MB, which takes milliseconds, seldom
 * waits for its next piece. */
#define POLL_EVERY 2e-4

ct_status ct_group_id(const ct_backend *b, unsigned char id[CT_COMM_ID])
{
    if (!b->comm) return ct_fail(CT_EUNSUPPORTED, "backend %s has groups of one device only", b->name);
    return b->comm->id(id);
}

ct_status ct_group_ready(const ct_backend *b)
{
    if (!b->comm) return ct_fail(CT_EUNSUPPORTED, "backend %s has groups of one device only", b->name);
    return b->comm->ready ? b->comm->ready() : CT_OK;
}

static ct_status look(void *self, double waited);
static ct_status move_on(void *self);
static ct_status sum_now(void *self, void *buf, int64_t n, ct_dtype type);

/* Whose sums: the engine's where one is given, else the backend's. */
static ct_status choose_ops(ct_group *g, const ct_comm_ops *engine)
{
    const ct_backend *b = g->store->backend;
    const bool staged = engine && !b->host_memory;
    if (staged && !b->host_alloc)
        return ct_fail(CT_EUNSUPPORTED, "backend %s: groups of processes need a device whose memory the host reads, or copies", b->name);
    if (!engine && !b->comm)
        return ct_fail(CT_EUNSUPPORTED, "backend %s has groups of one device only, not of %d", b->name, g->size);
    g->ops = staged ? &ct_staged_ops : engine ? engine : b->comm;
    if (g->tree && !(engine ? engine : b->comm)->tree_sum)
        return ct_fail(CT_EUNSUPPORTED, "backend %s: these groups add in an order of their own (train.parts wants a fixed one)", b->name);
    if (g->sync && (staged || !g->ops->finish))
        return ct_fail(CT_EUNSUPPORTED, "backend %s: these groups cannot join batch norms (train.sync_norm)", b->name);
    if (g->tree && (g->size & (g->size - 1)) != 0)
        return ct_fail(CT_EINVAL, "%d members cannot add in pairs of pairs: their number must be a power of two", g->size);
    return CT_OK;
}

/* An end of the group, through the host where an engine does not read the device's memory. */
static ct_status make_comm(ct_group *g, const ct_group_opts *o, ct_comm **out)
{
    const ct_comm_ops *ops = o->ops ? o->ops : g->ops;
    ct_comm *c = NULL;
    CT_TRY(ops->create(g->store->device, o->id, g->rank, g->size, g->deadline, &c));
    if (g->ops == ops) return *out = c, CT_OK;
    return ct_staged_create(g->store, ops, c, g->size, g->tree, out);
}

ct_status ct_group_join(ct_arenas *store, const ct_group_opts *opts, ct_group **out)
{
    const ct_backend *b = store->backend;
    *out = NULL;
    ct_group *g = ct_calloc(1, sizeof *g, "group of devices");
    if (!g) return CT_ENOMEM;
    g->store = store;
    g->rank = opts ? opts->rank : 0;
    g->size = opts && opts->size > 1 ? opts->size : 1;
    g->alone = g->size == 1 && !(opts && opts->one);
    g->tree = opts && opts->tree;
    g->sync = opts && opts->sync;
    g->divides = opts && opts->divides;
    g->deadline = opts && opts->deadline > 0 ? opts->deadline : 60;
    ct_status st = CT_OK;
    if (g->rank < 0 || g->rank >= g->size) {
        st = ct_fail(CT_EINVAL, "member %d of a group of %d: they are counted from 0", g->rank, g->size);
        goto fail;
    }
    if (!g->alone) {
        CT_GOTO(st, choose_ops(g, opts->ops));
        CT_GOTO(st, b->stream_create(store->device, &g->stream));
        CT_GOTO(st, b->event_create(store->device, &g->event));
        g->talk = opts->talk;
        g->patience = opts->patience;
        CT_GOTO(st, make_comm(g, opts, &g->comm));
        if (g->sync) CT_GOTO(st, make_comm(g, opts, &g->narrow));
        g->sum = (ct_arenas_sum){ sum_now, g };
        if (g->sync) store->sum = &g->sum;
        g->between = (ct_arenas_between){ move_on, g };
        g->watch = (ct_arenas_watch){ look, g };
        store->watch = &g->watch;
    }
    *out = g;
    return CT_OK;
fail:
    ct_group_leave(g);
    return st;
}

/* Arenas that lie in memory of the engine's, if it has some: those that are summed, and those that members can hold together. */
static const ct_arena gradient_arenas[] = { CT_ARENA_GRAD, CT_ARENA_GACC, CT_ARENA_COUNT };
static const ct_arena common_arenas[] = { CT_ARENA_PARAM, CT_ARENA_OPT1, CT_ARENA_OPT2, CT_ARENA_EMA, CT_ARENA_COUNT };

static bool is_common(ct_arena a)
{
    for (const ct_arena *c = common_arenas; *c != CT_ARENA_COUNT; c++)
        if (*c == a) return true;
    return false;
}

static ct_arena home(const ct_graph *g, ct_val v)
{
    return v == CT_NOVAL ? CT_ARENA_COUNT : g->values[g->values[v].root].arena;
}

/* Whether a node writes into arenas that members can hold together. */
static bool writes_common(const ct_graph *g, const ct_node *n)
{
    const unsigned mutates = ct_op_get(n->op)->rules->mutates;
    for (int k = 0; k < n->nin; k++)
        if ((mutates >> k & 1) && is_common(home(g, n->in[k]))) return true;
    for (int k = 0; k < n->nout; k++)
        if (is_common(home(g, n->out[k]))) return true;
    return false;
}

bool ct_group_divides(const ct_graph *g)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        const bool flat = n->phase == CT_PHASE_UPDATE && (ct_op_get(n->op)->rules->flags & CT_OPF_FLAT);
        if (n->phase == CT_PHASE_LOAD || (!flat && writes_common(g, n))) return false;
        for (int k = 0; k < n->nin; k++)
            if (home(g, n->in[k]) == CT_ARENA_PARAM16) return false;
    }
    return true;
}

static size_t bytes_of(const ct_arenas *s, const ct_arena *list)
{
    size_t bytes = 0;
    for (; *list != CT_ARENA_COUNT; list++)
        if (s->base[*list]) bytes += ct_align_up(s->bytes[*list], CT_ALIGN);
    return bytes;
}

/* Places arenas one behind the other at p; `keep`: with what they hold. */
static ct_status place(ct_arenas *s, const ct_arena *list, char *p, bool keep)
{
    for (; *list != CT_ARENA_COUNT; list++) {
        if (!s->base[*list]) continue;
        if (keep) CT_TRY(s->backend->copy(s->device, s->stream, p, s->base[*list], s->bytes[*list]));
        ct_arenas_move(s, *list, p);
        p += ct_align_up(s->bytes[*list], CT_ALIGN);
    }
    return CT_OK;
}

static ct_status take_memory(ct_group *g)
{
    ct_arenas *s = g->store;
    const ct_comm_memory none = { 0, 0 }, m = { bytes_of(s, gradient_arenas), g->divides ? bytes_of(s, common_arenas) : 0 };
    void *unused[2];
    if (!g->ops->memory || g->asked) return CT_OK;
    g->asked = true;
    if (g->narrow) CT_TRY(g->ops->memory(g->narrow, &none, g->deadline, &unused[0], &unused[1]));
    CT_TRY(g->ops->memory(g->comm, &m, g->deadline, &g->lent, &g->common));
    if (!g->lent) return CT_OK;
    CT_TRY(place(s, gradient_arenas, g->lent, false));
    if (m.common == 0) g->common = NULL;
    return g->common ? place(s, common_arenas, g->common, g->rank == 0) : CT_OK;
}

static void return_memory(ct_group *g)
{
    for (int a = 0; a < CT_ARENA_COUNT && g->lent; a++)
        if (g->store->lent[a]) ct_arenas_move(g->store, (ct_arena)a, NULL);
    if (g->lent) g->ops->release(g->lent);
    g->lent = g->common = NULL;
}

void ct_group_leave(ct_group *g)
{
    if (!g) return;
    const ct_backend *b = g->store->backend;
    return_memory(g);
    if (g->store->watch == &g->watch) g->store->watch = NULL;
    if (g->store->between == &g->between) g->store->between = NULL;
    if (g->store->sum == &g->sum) g->store->sum = NULL;
    if (!g->alone) ct_arenas_unrecord(g->store); /* a library may wait for recorded sums to be given up before it ends */
    if (g->ops) g->ops->destroy(g->narrow);
    if (g->ops) g->ops->destroy(g->comm);
    if (g->event) b->event_destroy(g->store->device, g->event);
    if (g->stream) b->stream_destroy(g->store->device, g->stream);
    ct_free(g);
}

int ct_group_rank(const ct_group *g)
{
    return g->rank;
}

int ct_group_size(const ct_group *g)
{
    return g->size;
}

/* A group whose work was given up is there only to be left. */
static ct_status check_whole(const ct_group *g)
{
    return g->comm ? CT_OK : ct_fail(CT_EBACKEND, "this group of %d devices was given up", g->size);
}

static ct_status give_up(ct_group *g, ct_status st)
{
    if (g->store->between == &g->between) g->store->between = NULL;
    g->queued = false;
    ct_arenas_unrecord(g->store);
    g->ops->abort(g->comm);
    g->ops->destroy(g->narrow);
    g->ops->destroy(g->comm);
    g->comm = g->narrow = NULL;
    return st;
}

void ct_group_abandon(ct_group *g)
{
    if (g && g->comm) give_up(g, CT_OK);
}

/* What was just queued has to be moved from now on. */
static void note_queued(ct_group *g)
{
    if (!g->ops->finish || g->queued) return;
    g->queued = true;
    g->begun = g->polled = ct_now();
    g->store->between = &g->between;
}

static void note_done(ct_group *g)
{
    g->queued = false;
    g->sums += ct_now() - g->begun;
    g->store->between = NULL;
}

/* Between two nodes of a plan. */
static ct_status move_on(void *self)
{
    ct_group *g = self;
    const double now = ct_now();
    bool done = false;
    if (now - g->polled < POLL_EVERY) return CT_OK;
    ct_status st = g->ops->poll(g->comm, &done);
    if (st != CT_OK) return give_up(g, st);
    g->polled = ct_now();
    if (done) note_done(g);
    return CT_OK;
}

/* Waits until an engine has done all that was queued. Nothing where sums are the device's own. */
static ct_status settle(ct_group *g)
{
    if (!g->queued) return CT_OK;
    const double started = ct_now();
    ct_crash_doing("a sum over the group", NULL);
    ct_status st = g->ops->finish(g->comm, g->deadline);
    ct_crash_doing(NULL, NULL);
    g->waited += ct_now() - started;
    if (st != CT_OK) return give_up(g, st);
    note_done(g);
    return CT_OK;
}

ct_status ct_group_gather(ct_group *g, const void *mine, size_t bytes, void *all)
{
    if (g->alone) {
        memcpy(all, mine, bytes);
        return CT_OK;
    }
    CT_TRY(check_whole(g));
    if (!g->talk && !g->ops->gather)
        return ct_fail(CT_EUNSUPPORTED, "backend %s: members cannot tell each other anything", g->store->backend->name);
    ct_crash_doing("telling the group", NULL);
    ct_status st = g->talk ? g->talk->gather(g->talk->self, mine, bytes, all, g->deadline)
                           : g->ops->gather(g->comm, mine, bytes, all, g->deadline);
    ct_crash_doing(NULL, NULL);
    if (st == CT_OK && g->queued && !g->talk) note_done(g);
    return st == CT_EBACKEND ? give_up(g, st) : st;
}

bool ct_group_times(const ct_group *g, double *sums, double *waited)
{
    *sums = g->sums;
    *waited = g->waited;
    return g->alone || g->ops->finish;
}

ct_status ct_group_share(ct_group *g)
{
    static const ct_arena what[] = { CT_ARENA_PARAM, CT_ARENA_BUFFER, CT_ARENA_OPT1, CT_ARENA_OPT2,
                                     CT_ARENA_EMA,   CT_ARENA_EMABUF, CT_ARENA_STATE };
    ct_arenas *s = g->store;
    if (g->alone) return CT_OK;
    CT_TRY(check_whole(g));
    CT_TRY(take_memory(g));
    s->copied = CT_ARENA_INPUT; /* the weights change */
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++) {
        if (!s->base[what[i]] || (g->common && is_common(what[i]))) continue; /* the state comes behind them */
        note_queued(g);
        CT_TRY(g->ops->broadcast(g->comm, s->stream, s->base[what[i]], (int64_t)s->bytes[what[i]], 0));
        CT_TRY(ct_group_wait(g)); /* those that go through the host need room for one at a time */
    }
    g->sums = g->waited = 0; /* members begin at different times: that is nobody's waiting for sums */
    return CT_OK;
}

/* `later` goes on when what `now` holds at this moment is done. */
static ct_status follow(ct_group *g, ct_stream *now, ct_stream *later)
{
    const ct_arenas *s = g->store;
    CT_TRY(s->backend->event_record(s->device, g->event, now));
    return s->backend->event_wait(s->device, later, g->event);
}

/* Queues the sum over the group of n elements. */
static ct_status sum(ct_group *g, void *buf, int64_t n, ct_dtype type)
{
    note_queued(g);
    return (g->tree ? g->ops->tree_sum : g->ops->all_reduce_sum)(g->comm, g->stream, buf, n, type);
}

ct_status ct_comm_reduce_gradients(ct_group *g, const ct_buckets *b, size_t bucket)
{
    const ct_arenas *s = g->store;
    const ct_bucket *k = &b->bucket[bucket];
    if (g->alone) return CT_OK;
    CT_TRY(check_whole(g));
    CT_TRY(follow(g, s->stream, g->stream));
    return sum(g, (char *)s->base[b->arena] + k->first, (k->end - k->first) / (int64_t)ct_dtype_size(s->layout.dtype),
               s->layout.dtype);
}

/* A node group_sum: what comes behind it reads the sum. */
static ct_status sum_now(void *self, void *buf, int64_t n, ct_dtype type)
{
    ct_group *g = self;
    const double started = ct_now();
    CT_TRY(check_whole(g));
    ct_status st = g->ops->all_reduce_sum(g->narrow, g->stream, buf, n, type);
    if (st == CT_OK) st = g->ops->finish(g->narrow, g->deadline);
    g->waited += ct_now() - started;
    g->sums += ct_now() - started;
    return st == CT_OK ? CT_OK : give_up(g, st);
}

/* Queues the mean of the running statistics over the group; what reads them next is the update or a later step. */
static ct_status average_statistics(ct_group *g)
{
    const ct_arenas *s = g->store;
    char *base = s->base[CT_ARENA_BUFFER];
    const ct_dtype type = s->layout.dtype;
    const int64_t n = base ? (int64_t)s->bytes[CT_ARENA_BUFFER] / (int64_t)ct_dtype_size(type) : 0;
    if (n == 0) return CT_OK;
    CT_TRY(follow(g, s->stream, g->stream));
    if (g->sync) {
        note_queued(g);
        return g->ops->broadcast(g->comm, g->stream, base, (int64_t)s->bytes[CT_ARENA_BUFFER], g->size - 1);
    }
    if (g->ops->all_reduce_mean) {
        note_queued(g);
        return g->ops->all_reduce_mean(g->comm, g->stream, base, n, type);
    }
    if (!s->backend->host_memory) return ct_fail(CT_EUNSUPPORTED, "backend %s: these groups have no means", s->backend->name);
    for (int64_t i = 0; i < n; i++) ct_store(type, base, i, ct_load(type, base, i) / g->size);
    return sum(g, base, n, type);
}

/* Queues what is done when all members have come here. */
static ct_status queue_meeting(ct_group *g)
{
    g->word = 0;
    return sum(g, &g->word, 1, CT_F64);
}

/* The update of what members hold together: each computes its share of the elements, in whole vectors, and nobody reads them before all
 * are there. */
static ct_status divided_update(ct_group *g, ct_plan *p, size_t first)
{
    enum { UNIT = 1024 };
    const ct_graph *graph = ct_plan_graph(p);
    const int64_t units = (g->store->layout.train_elems + UNIT - 1) / UNIT;
    const int64_t from = units * g->rank / g->size * UNIT;
    const int64_t end = g->rank == g->size - 1 ? INT64_MAX : units * (g->rank + 1) / g->size * UNIT;
    for (size_t i = first; i < graph->nnodes; i++)
        CT_TRY(writes_common(graph, &graph->nodes[i]) ? ct_plan_run_range(p, i, from, end) : ct_plan_run_nodes(p, i, i + 1));
    CT_TRY(queue_meeting(g));
    return settle(g);
}

/* Behind the backward pass: what is still on its way comes in, then the update. */
static ct_status update(ct_group *g, ct_plan *p, const ct_buckets *b)
{
    CT_TRY(check_whole(g));
    CT_TRY(average_statistics(g));
    if (g->common) CT_TRY(queue_meeting(g)); /* no member's backward pass reads weights any more */
    CT_TRY(settle(g));
    CT_TRY(follow(g, g->stream, g->store->stream));
    return g->common ? divided_update(g, p, (size_t)b->update) : ct_plan_run_nodes(p, (size_t)b->update, ct_plan_graph(p)->nnodes);
}

ct_status ct_group_idle_nodes(ct_group *g, ct_plan *p, size_t settle, size_t first, size_t end)
{
    const ct_arenas *s = g->store;
    for (size_t i = first; i < end && i < settle && s->sum; i++) {
        if (ct_plan_graph(p)->nodes[i].op != CT_OP_GROUP_SUM) continue;
        const ct_impl *impl;
        const ct_tensor *t = &ct_plan_call(p, i, &impl)->out[0];
        CT_TRY(s->backend->clear(s->device, s->stream, t->data, ct_desc_bytes(&t->desc)));
        CT_TRY(s->sum->call(s->sum->self, t->data, ct_desc_numel(&t->desc), t->desc.dtype));
    }
    if (first < settle) first = settle;
    return first < end ? ct_plan_run_nodes(p, first, end) : CT_OK;
}

/* Sums are begun where members with samples begin them: all must come to them in one order. */
ct_status ct_group_idle_step(ct_group *g, ct_plan *p, const ct_buckets *b, size_t settle)
{
    const ct_arenas *s = g->store;
    size_t at = 0;
    CT_TRY(s->backend->clear(s->device, s->stream, s->base[b->arena], s->bytes[b->arena]));
    for (size_t i = 0; i < b->n; i++) {
        const size_t end = (size_t)(b->bucket[i].ready + 1);
        if (end > at) CT_TRY(ct_group_idle_nodes(g, p, settle, at, end));
        if (end > at) at = end;
        CT_TRY(ct_comm_reduce_gradients(g, b, i));
    }
    CT_TRY(ct_group_idle_nodes(g, p, settle, at, (size_t)b->update));
    return update(g, p, b);
}

/* A step of a member. */
typedef struct stride {
    ct_group *g;
    ct_plan *p;
    const ct_buckets *b;
} stride;

static ct_status queue_step(void *self)
{
    const stride *k = self;
    const ct_buckets *b = k->b;
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        const size_t end = (size_t)(b->bucket[i].ready + 1);
        if (end > at) CT_TRY(ct_plan_run_nodes(k->p, at, end));
        if (end > at) at = end;
        CT_TRY(ct_comm_reduce_gradients(k->g, b, i));
    }
    CT_TRY(ct_plan_run_nodes(k->p, at, (size_t)b->update));
    return update(k->g, k->p, b);
}

ct_status ct_group_step(ct_group *g, ct_plan *p, const ct_buckets *b, bool all)
{
    stride k = { g, p, b };
    if (g->alone) return ct_plan_run(p);
    CT_TRY(check_whole(g));
    return all && !g->ops->finish ? ct_plan_run_as(p, queue_step, &k) : queue_step(&k);
}

ct_status ct_group_metrics(ct_group *g)
{
    const ct_arenas *s = g->store;
    if (g->alone) return CT_OK;
    CT_TRY(check_whole(g));
    note_queued(g);
    CT_TRY(g->ops->all_reduce_sum(g->comm, s->stream, s->base[CT_ARENA_METRIC], CT_METRIC_COUNT, CT_F64));
    return settle(g); /* whoever reads them next waits for the device at most */
}

static ct_status ask_patience(ct_group *g, double waited)
{
    if (waited < g->judged) g->judged = 0; /* it waits for something else now */
    if (waited < g->judged + 0.1) return CT_OK;
    const bool first = g->judged == 0;
    g->judged = waited;
    ct_status st = g->patience->look(g->patience->self, first, g->deadline);
    return st == CT_OK ? CT_OK : give_up(g, st);
}

/* Whoever waits for this member's device waits for the others, too: a step of its ends when theirs have come to the same sum. */
static ct_status look(void *self, double waited)
{
    ct_group *g = self;
    CT_TRY(check_whole(g));
    ct_status st = g->ops->check(g->comm);
    if (st != CT_OK) return give_up(g, ct_fail_context(st, "member %d of %d", g->rank, g->size));
    if (g->patience) return ask_patience(g, waited);
    if (waited <= g->deadline) return CT_OK;
    return give_up(g, ct_fail(CT_EBACKEND, "member %d of %d waited %g s for the others: one of them is gone or stands still",
                              g->rank, g->size, g->deadline));
}

ct_status ct_group_wait(ct_group *g)
{
    const ct_arenas *s = g->store;
    if (g->alone) return CT_OK;
    CT_TRY(check_whole(g));
    CT_TRY(settle(g));
    CT_TRY(s->backend->event_record(s->device, g->event, s->stream));
    return ct_arenas_await(s, g->event);
}
