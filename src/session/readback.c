#include "config.h"

#include "session/readback.h"

#include <string.h>

#include "base/alloc.h"

struct ct_readback {
    ct_arenas *store;
    double *host; /* pinned: [CT_METRIC_COUNT] sums, [CT_STATE_COUNT] state */
    ct_event *arrived;
    bool asked;
};

ct_status ct_readback_open(ct_arenas *store, ct_readback **out)
{
    const ct_backend *d = store->backend;
    ct_status st;
    void *host = NULL;
    *out = NULL;
    if (!d->host_alloc) return CT_OK;
    ct_readback *b = ct_calloc(1, sizeof *b, "reading metrics back");
    if (!b) return CT_ENOMEM;
    b->store = store;
    CT_GOTO(st, d->event_create(store->device, &b->arrived));
    CT_GOTO(st, d->host_alloc(store->device, (CT_METRIC_COUNT + CT_STATE_COUNT) * sizeof(double),
                              "metrics on their way", &host));
    b->host = host;
    *out = b;
    return CT_OK;
fail:
    ct_readback_close(b);
    return st;
}

void ct_readback_close(ct_readback *b)
{
    if (!b) return;
    const ct_backend *d = b->store->backend;
    d->stream_sync(b->store->device, b->store->stream); /* copies into the block */
    if (b->arrived) d->event_destroy(b->store->device, b->arrived);
    if (b->host) d->host_free(b->store->device, b->host);
    ct_free(b);
}

ct_status ct_readback_ask(ct_readback *b)
{
    const ct_arenas *s = b->store;
    const ct_backend *d = s->backend;
    const size_t sums = CT_METRIC_COUNT * sizeof(double);
    if (b->asked) return ct_fail(CT_EINTERNAL, "metrics are asked for before the last answer was taken");
    CT_TRY(d->download(s->device, s->stream, b->host, s->base[CT_ARENA_METRIC], sums));
    CT_TRY(d->download(s->device, s->stream, b->host + CT_METRIC_COUNT, s->base[CT_ARENA_STATE],
                       CT_STATE_COUNT * sizeof(double)));
    CT_TRY(d->clear(s->device, s->stream, s->base[CT_ARENA_METRIC], sums));
    CT_TRY(d->event_record(s->device, b->arrived, s->stream));
    b->asked = true;
    return CT_OK;
}

ct_status ct_readback_there(const ct_readback *b, bool *there)
{
    *there = false;
    return b->asked ? b->store->backend->event_done(b->store->device, b->arrived, there) : CT_OK;
}

ct_status ct_readback_take(ct_readback *b, double metrics[CT_METRIC_COUNT], double state[CT_STATE_COUNT])
{
    if (!b->asked) return ct_fail(CT_EINTERNAL, "metrics are taken that nobody asked for");
    CT_TRY(ct_arenas_await(b->store, b->arrived));
    memcpy(metrics, b->host, CT_METRIC_COUNT * sizeof *metrics);
    memcpy(state, b->host + CT_METRIC_COUNT, CT_STATE_COUNT * sizeof *state);
    b->asked = false;
    return CT_OK;
}
