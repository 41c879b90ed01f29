/* A group of one card, on a machine that has only one: joins it, sums and broadcasts in it, records a sum with the copy before it, and
 * replays both over other numbers each time. What is shown is that the library is found, takes our calls and can be recorded; that
 * members add up needs more cards.
 *
 *   tests/gpu/group [BACKEND]     default cuda
 *
 * Exit 0 with one line of times, 1 with the reason, 77: the backend has no groups. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"
#include "exec/exec.h"

enum { N = 1 << 22, REPLAYS = 10 };
static float host[N], back[N];

typedef struct one {
    const ct_backend *b;
    ct_device *dev;
    ct_stream *stream;
    ct_comm *comm;
    ct_capture *graph;
    ct_event *from, *to;
    void *src, *at; /* f32[N] on the device: what is copied into `at`, which is summed */
    double join, queued, replayed; /* seconds */
} one;

static void leave(one *m)
{
    const ct_backend *b = m->b;
    if (!m->dev) return;
    if (m->graph) b->capture_destroy(m->dev, m->graph);
    if (m->from) b->event_destroy(m->dev, m->from);
    if (m->to) b->event_destroy(m->dev, m->to);
    if (m->comm) b->comm->destroy(m->comm);
    b->free(m->dev, m->src);
    b->free(m->dev, m->at);
    if (m->stream) b->stream_destroy(m->dev, m->stream);
    b->close(m->dev);
}

static ct_status join(one *m)
{
    const ct_backend *b = m->b;
    const ct_device_opts opts = { .index = 0 };
    unsigned char id[CT_COMM_ID];
    CT_TRY(b->open(&opts, &m->dev));
    CT_TRY(b->stream_create(m->dev, &m->stream));
    CT_TRY(b->event_create(m->dev, &m->from));
    CT_TRY(b->event_create(m->dev, &m->to));
    CT_TRY(b->alloc(m->dev, sizeof host, "what is copied", &m->src));
    CT_TRY(b->alloc(m->dev, sizeof host, "what is summed", &m->at));
    const double t0 = ct_now();
    CT_TRY(b->comm->id(id));
    CT_TRY(b->comm->create(m->dev, id, 0, 1, 60, &m->comm));
    m->join = ct_now() - t0;
    return CT_OK;
}

/* Other numbers in `src` and none in `at`. */
static ct_status fill(one *m, int round)
{
    for (int i = 0; i < N; i++) host[i] = (float)(i % 1000) + (float)round;
    CT_TRY(m->b->upload(m->dev, m->stream, m->src, host, sizeof host));
    return m->b->clear(m->dev, m->stream, m->at, sizeof host);
}

static ct_status copy_and_sum(one *m)
{
    CT_TRY(m->b->copy(m->dev, m->stream, m->at, m->src, sizeof host));
    return m->b->comm->all_reduce_sum(m->comm, m->stream, m->at, N, CT_F32);
}

/* The sum over one member is what it brought. */
static ct_status judge(one *m, const char *what)
{
    memset(back, 0, sizeof back);
    CT_TRY(m->b->download(m->dev, m->stream, back, m->at, sizeof back));
    CT_TRY(m->b->stream_sync(m->dev, m->stream));
    CT_TRY(m->b->comm->check(m->comm));
    for (int i = 0; i < N; i++) {
        if (back[i] != host[i])
            return ct_fail(CT_EBACKEND, "%s: element %d is %g instead of %g", what, i, (double)back[i], (double)host[i]);
    }
    return CT_OK;
}

static ct_status queued(one *m)
{
    CT_TRY(fill(m, 1));
    CT_TRY(copy_and_sum(m)); /* the library sets itself up at the first */
    CT_TRY(m->b->event_record(m->dev, m->from, m->stream));
    CT_TRY(m->b->comm->all_reduce_sum(m->comm, m->stream, m->at, N, CT_F32));
    CT_TRY(m->b->event_record(m->dev, m->to, m->stream));
    CT_TRY(judge(m, "a queued sum"));
    CT_TRY(m->b->event_seconds(m->dev, m->from, m->to, &m->queued));
    CT_TRY(m->b->comm->broadcast(m->comm, m->stream, m->at, sizeof host, 0));
    return judge(m, "a broadcast");
}

static ct_status recorded(one *m)
{
    CT_TRY(m->b->capture_begin(m->dev, m->stream));
    const ct_status st = copy_and_sum(m);
    CT_TRY(m->b->capture_end(m->dev, m->stream, &m->graph));
    if (st != CT_OK) return st;
    for (int i = 0; i < REPLAYS; i++) {
        CT_TRY(fill(m, 2 + i));
        CT_TRY(m->b->event_record(m->dev, m->from, m->stream));
        CT_TRY(m->b->capture_replay(m->dev, m->stream, m->graph));
        CT_TRY(m->b->event_record(m->dev, m->to, m->stream));
        CT_TRY(judge(m, "a replayed sum"));
        CT_TRY(m->b->event_seconds(m->dev, m->from, m->to, &m->replayed));
    }
    return CT_OK;
}

int main(int argc, char **argv)
{
    one m = { .b = NULL };
    ct_status st = ct_backend_load(argc > 1 ? argv[1] : "cuda", &m.b);
    if (st == CT_OK && (!m.b->comm || !m.b->capture_begin)) {
        printf("backend %s has no groups, or records nothing\n", m.b->name);
        return 77;
    }
    if (st == CT_OK) st = join(&m);
    if (st == CT_OK) st = queued(&m);
    if (st == CT_OK) st = recorded(&m);
    if (st == CT_OK)
        printf("a group of one: joined in %.3f s; a sum of %.1f MB took %.3f ms queued, %.3f ms replayed with a copy\n", m.join,
               1e-6 * (double)sizeof host, 1e3 * m.queued, 1e3 * m.replayed);
    else
        fprintf(stderr, "group: %s\n", ct_error_message());
    if (m.b) leave(&m);
    return st == CT_OK ? 0 : 1;
}
