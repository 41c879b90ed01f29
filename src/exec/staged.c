#include "config.h"

#include "exec/staged.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"

enum what { SUM, TREE, MEAN, SEND };

/* Pinned memory of one call. It can be another's once the call is over: both streams of a group wait for each other before they copy
 * anew, so no copy finds one that is still on its way. */
typedef struct block {
    void *host;
    size_t bytes;
    ct_event *there; /* the copy from the device */
    bool used;
} block;

/* A call that was queued. */
typedef struct piece {
    enum what what;
    void *at;       /* on the device */
    int64_t n;      /* elements; SEND: bytes */
    size_t bytes;
    ct_dtype type;
    int root;
    ct_stream *stream;
    size_t block;
} piece;

struct ct_comm {
    const ct_backend *backend;
    ct_device *device;
    const ct_comm_ops *ops; /* of the engine */
    ct_comm *engine;
    int size;
    bool tree;
    block *block;
    size_t blocks, cap_blocks;
    piece *piece; /* in the order of the calls, which is that of all members */
    size_t n, cap;
    size_t begun; /* of them those that the engine has */
};

ct_status ct_staged_create(const ct_arenas *store, const ct_comm_ops *ops, ct_comm *engine, int size, bool tree, ct_comm **out)
{
    ct_comm *c = *out = ct_calloc(1, sizeof *c, "sums through the host");
    if (!c) {
        ops->destroy(engine);
        return CT_ENOMEM;
    }
    c->backend = store->backend;
    c->device = store->device;
    c->ops = ops;
    c->engine = engine;
    c->size = size;
    c->tree = tree;
    return CT_OK;
}

/* The smallest block that is free and large enough, or a new one. */
static ct_status take_block(ct_comm *c, size_t bytes, size_t *which)
{
    size_t best = c->blocks;
    for (size_t i = 0; i < c->blocks; i++) {
        const block *b = &c->block[i];
        if (!b->used && b->bytes >= bytes && (best == c->blocks || b->bytes < c->block[best].bytes)) best = i;
    }
    if (best == c->blocks) {
        CT_TRY(ct_grow(&c->block, c->blocks, &c->cap_blocks, sizeof *c->block, "sums through the host"));
        block *b = &c->block[best];
        *b = (block){ .bytes = bytes };
        CT_TRY(c->backend->event_create(c->device, &b->there));
        const ct_status st = c->backend->host_alloc(c->device, bytes, "sums through the host", &b->host);
        if (st != CT_OK) {
            c->backend->event_destroy(c->device, b->there);
            return st;
        }
        c->blocks++;
    }
    *which = best;
    return CT_OK;
}

static ct_status queue(ct_comm *c, ct_stream *s, const piece *as)
{
    const ct_backend *b = c->backend;
    CT_TRY(ct_grow(&c->piece, c->n, &c->cap, sizeof *c->piece, "sums through the host"));
    piece *p = &c->piece[c->n];
    *p = *as;
    p->bytes = as->what == SEND ? (size_t)as->n : (size_t)as->n * ct_dtype_size(as->type);
    p->stream = s;
    CT_TRY(take_block(c, p->bytes, &p->block));
    block *k = &c->block[p->block];
    CT_TRY(b->download(c->device, s, k->host, p->at, p->bytes));
    CT_TRY(b->event_record(c->device, k->there, s));
    k->used = true;
    c->n++;
    return CT_OK;
}

static ct_status all_reduce_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    return queue(c, s, &(piece){ .what = SUM, .at = buf, .n = n, .type = type });
}

static ct_status tree_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    return queue(c, s, &(piece){ .what = TREE, .at = buf, .n = n, .type = type });
}

static ct_status all_reduce_mean(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    return queue(c, s, &(piece){ .what = MEAN, .at = buf, .n = n, .type = type });
}

static ct_status broadcast(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root)
{
    return queue(c, s, &(piece){ .what = SEND, .at = buf, .n = bytes, .root = root });
}

/* Hands a piece that has arrived to the engine. */
static ct_status begin(ct_comm *c, const piece *p)
{
    void *host = c->block[p->block].host;
    if (p->what == SEND) return c->ops->broadcast(c->engine, NULL, host, p->n, p->root);
    for (int64_t i = 0; p->what == MEAN && i < p->n; i++)
        ct_store(p->type, host, i, ct_load(p->type, host, i) / c->size);
    const bool tree = p->what == TREE || (p->what == MEAN && c->tree);
    return (tree ? c->ops->tree_sum : c->ops->all_reduce_sum)(c->engine, NULL, host, p->n, p->type);
}

/* Those that have arrived, in order. */
static ct_status begin_some(ct_comm *c)
{
    while (c->begun < c->n) {
        bool there;
        CT_TRY(c->backend->event_done(c->device, c->block[c->piece[c->begun].block].there, &there));
        if (!there) return CT_OK;
        CT_TRY(begin(c, &c->piece[c->begun]));
        c->begun++;
    }
    return CT_OK;
}

/* Never done before finish(): what was summed has to go back. */
static ct_status poll_staged(ct_comm *c, bool *done)
{
    bool all;
    *done = false;
    CT_TRY(begin_some(c));
    return c->begun > 0 ? c->ops->poll(c->engine, &all) : CT_OK;
}

static ct_status finish(ct_comm *c, double deadline)
{
    const struct timespec pause = { .tv_nsec = 20000 };
    bool done;
    CT_TRY(poll_staged(c, &done));
    while (c->begun < c->n) { /* this device computes: it is not the others that are waited for */
        nanosleep(&pause, NULL);
        CT_TRY(poll_staged(c, &done));
    }
    CT_TRY(c->ops->finish(c->engine, deadline));
    for (size_t i = 0; i < c->n; i++) {
        const piece *p = &c->piece[i];
        block *k = &c->block[p->block];
        CT_TRY(c->backend->upload(c->device, p->stream, p->at, k->host, p->bytes));
        k->used = false;
    }
    c->n = c->begun = 0;
    return CT_OK;
}

static ct_status gather(ct_comm *c, const void *mine, size_t bytes, void *all, double deadline)
{
    CT_TRY(finish(c, deadline));
    return c->ops->gather(c->engine, mine, bytes, all, deadline);
}

static ct_status check(ct_comm *c)
{
    return c->ops->check(c->engine);
}

static void give_up(ct_comm *c)
{
    c->ops->abort(c->engine);
}

static void destroy(ct_comm *c)
{
    if (!c) return;
    c->ops->destroy(c->engine);
    for (size_t i = 0; i < c->n; i++) c->backend->stream_sync(c->device, c->piece[i].stream);
    for (size_t i = 0; i < c->blocks; i++) {
        c->backend->event_destroy(c->device, c->block[i].there);
        c->backend->host_free(c->device, c->block[i].host);
    }
    ct_free(c->block);
    ct_free(c->piece);
    ct_free(c);
}

const ct_comm_ops ct_staged_ops = {
    .all_reduce_sum = all_reduce_sum,
    .broadcast = broadcast,
    .check = check,
    .abort = give_up,
    .destroy = destroy,
    .poll = poll_staged,
    .finish = finish,
    .gather = gather,
    .tree_sum = tree_sum,
    .all_reduce_mean = all_reduce_mean,
};
