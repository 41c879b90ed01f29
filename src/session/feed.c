#include "config.h"

#include "session/feed.h"

#include <string.h>

#include "base/alloc.h"

enum { SLOTS = 3 }; /* one that a step reads, one that is copied, one that is filled */

typedef struct slot {
    void *host, *device; /* [bytes] */
    ct_event *arrived;   /* the copy to the device */
    ct_event *taken;     /* the move to where the program reads: afterwards both blocks are free */
    bool used;
} slot;

struct ct_feed {
    ct_arenas *store;
    ct_stream *copies;
    size_t bytes;
    slot slot[SLOTS];
    int next;
};

static ct_status open_slot(ct_feed *f, slot *s)
{
    const ct_backend *b = f->store->backend;
    ct_device *dev = f->store->device;
    CT_TRY(b->event_create(dev, &s->arrived));
    CT_TRY(b->event_create(dev, &s->taken));
    CT_TRY(b->alloc(dev, f->bytes, "a batch on its way", &s->device));
    return b->host_alloc(dev, f->bytes, "a batch on its way", &s->host);
}

ct_status ct_feed_open(ct_arenas *store, size_t bytes, ct_feed **out)
{
    ct_status st;
    *out = NULL;
    if (!store->backend->host_alloc || bytes == 0) return CT_OK;
    ct_feed *f = ct_calloc(1, sizeof *f, "ring of batches");
    if (!f) return CT_ENOMEM;
    f->store = store;
    f->bytes = bytes;
    CT_GOTO(st, store->backend->stream_create(store->device, &f->copies));
    for (int i = 0; i < SLOTS; i++) CT_GOTO(st, open_slot(f, &f->slot[i]));
    *out = f;
    return CT_OK;
fail:
    ct_feed_close(f);
    return st;
}

void ct_feed_close(ct_feed *f)
{
    if (!f) return;
    const ct_backend *b = f->store->backend;
    ct_device *dev = f->store->device;
    if (f->copies) b->stream_sync(dev, f->copies);
    b->stream_sync(dev, f->store->stream);
    for (int i = 0; i < SLOTS; i++) {
        slot *s = &f->slot[i];
        if (s->arrived) b->event_destroy(dev, s->arrived);
        if (s->taken) b->event_destroy(dev, s->taken);
        if (s->host) b->host_free(dev, s->host);
        if (s->device) b->free(dev, s->device);
    }
    if (f->copies) b->stream_destroy(dev, f->copies);
    ct_free(f);
}

int64_t ct_feed_bytes(const ct_feed *f)
{
    return f ? (int64_t)(SLOTS * f->bytes) : 0;
}

/* Until a block is free again: with three of them, while two steps are still to be run. */
static ct_status wait_for(const ct_feed *f, const slot *s)
{
    return s->used ? ct_arenas_await(f->store, s->taken) : CT_OK;
}

ct_status ct_feed_send(ct_feed *f, ct_plan *p, const ct_feed_part *part, int n)
{
    const ct_backend *b = f->store->backend;
    ct_device *dev = f->store->device;
    ct_stream *steps = f->store->stream;
    slot *s = &f->slot[f->next];
    size_t used = 0;
    CT_TRY(wait_for(f, s));
    for (int i = 0; i < n; i++) {
        const size_t bytes = ct_desc_bytes(ct_graph_desc(ct_plan_graph(p), part[i].input));
        if (used + bytes > f->bytes)
            return ct_fail(CT_EINTERNAL, "a batch of more than the %zu bytes its ring was made for", f->bytes);
        memcpy((char *)s->host + used, part[i].host, bytes);
        used += ct_align_up(bytes, CT_ALIGN);
    }
    CT_TRY(b->upload(dev, f->copies, s->device, s->host, used < f->bytes ? used : f->bytes));
    CT_TRY(b->event_record(dev, s->arrived, f->copies));
    CT_TRY(b->event_wait(dev, steps, s->arrived));
    used = 0;
    for (int i = 0; i < n; i++) {
        CT_TRY(ct_plan_fill(p, part[i].input, (char *)s->device + used));
        used += ct_align_up(ct_desc_bytes(ct_graph_desc(ct_plan_graph(p), part[i].input)), CT_ALIGN);
    }
    CT_TRY(b->event_record(dev, s->taken, steps));
    s->used = true;
    f->next = (f->next + 1) % SLOTS;
    return CT_OK;
}
