#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"
#include "data/loader.h"
#include "data/workers.h"

/* Batches are numbered by tickets 0, 1, 2 ... from the start position on. Ticket t lives in slot t % depth. A worker
 * takes the next ticket when its slot is free (t < released + depth), copies the sample numbers under the lock and
 * fills the slot without it. The consumer takes ticket after ticket; asking for the next one releases the last. */

typedef struct slot {
    ct_batch batch;
    bool ready;
    int64_t *id;        /* [N] sample numbers */
    uint8_t *px;        /* [N,H,W,C], NULL when resident */
    int32_t *labels;    /* [N,L] */
    int32_t *index;     /* [N,3] */
} slot;

struct ct_loader {
    ct_loader_spec spec;
    int64_t n;              /* samples of an epoch */
    int64_t per_epoch;      /* batches of an epoch */
    int64_t first;          /* position of ticket 0: epoch * per_epoch + batch */
    int64_t total;          /* tickets */
    size_t px_bytes;        /* of one sample */
    int depth, L;

    pthread_mutex_t lock;   /* guards everything below and the slots' `ready` and `id` */
    pthread_cond_t freed, filled;
    bool stop;
    int64_t next;           /* next ticket to be taken */
    int64_t released;       /* tickets whose slot may be used again */
    int64_t *order;         /* [n] of epoch order_epoch */
    int64_t order_epoch;

    slot *slots;            /* [depth] */
    pthread_t *threads;     /* [n_threads] */
    int n_threads;

    int64_t delivered;      /* consumer only */
    ct_loader_stats stats;  /* consumer only */
};

void ct_loader_order(const ct_loader_spec *spec, int64_t n, int64_t epoch, int64_t *out)
{
    if (spec->shuffle) {
        ct_rng_permutation(spec->seed, CT_RNG_SHUFFLE, (uint64_t)epoch, n, out);
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = i;
    }
    if (spec->index) {
        for (int64_t i = 0; i < n; i++) out[i] = spec->index[out[i]];
    }
}

/* Position and sample numbers of ticket t into its slot; lock held (or no workers). */
static slot *prepare(ct_loader *l, int64_t t)
{
    slot *s = &l->slots[t % l->depth];
    int64_t pos = l->first + t, epoch = pos / l->per_epoch, batch = pos % l->per_epoch;
    if (l->order_epoch != epoch) {
        ct_loader_order(&l->spec, l->n, epoch, l->order);
        l->order_epoch = epoch;
    }
    int64_t from = batch * l->spec.batch;
    int rows = (int)(l->n - from < l->spec.batch ? l->n - from : l->spec.batch);
    memcpy(s->id, l->order + from, (size_t)rows * sizeof *s->id);
    s->batch = (ct_batch){ .epoch = epoch, .batch = batch, .last = batch == l->per_epoch - 1, .n = rows,
                           .px = s->px, .labels = s->labels, .index = s->index };
    s->ready = false;
    return s;
}

static void fill(const ct_loader *l, slot *s)
{
    const ct_dataset *ds = l->spec.data;
    for (int i = 0; i < s->batch.n; i++) {
        int64_t id = s->id[i];
        if (s->px) memcpy(s->px + (size_t)i * l->px_bytes, ct_dataset_pixels(ds, id), l->px_bytes);
        memcpy(s->labels + (size_t)i * (size_t)l->L, ct_dataset_labels(ds, id), (size_t)l->L * sizeof *s->labels);
        s->index[3 * i] = s->px ? i : (int32_t)id;
        s->index[3 * i + 1] = (int32_t)id;
        s->index[3 * i + 2] = (int32_t)s->batch.epoch;
    }
}

static void *worker_main(void *arg)
{
    ct_loader *l = arg;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->stop && l->next < l->total && l->next >= l->released + l->depth) {
            pthread_cond_wait(&l->freed, &l->lock);
        }
        if (l->stop || l->next >= l->total) break;
        slot *s = prepare(l, l->next++);
        pthread_mutex_unlock(&l->lock);
        fill(l, s);
        pthread_mutex_lock(&l->lock);
        s->ready = true;
        pthread_cond_signal(&l->filled); /* one waiter at most: the consumer */
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static ct_status check_spec(const ct_loader_spec *s, int64_t n, int64_t per_epoch)
{
    int64_t all = ct_dataset_size(s->data);
    if (s->batch < 1) return ct_fail(CT_EINVAL, "the batch size is %d", s->batch);
    if (s->workers < 0 || s->depth < 0) return ct_fail(CT_EINVAL, "loader: workers and depth must not be negative");
    if (n < 1) return ct_fail(CT_EINVAL, "the data set is empty");
    if (all > INT32_MAX) return ct_fail(CT_EINVAL, "%" PRId64 " samples; at most 2^31-1 are possible", all);
    if (per_epoch < 1) {
        return ct_fail(CT_EINVAL,
                       "a batch of %d does not fit %" PRId64 " samples, and short batches are dropped: nothing is left",
                       s->batch, n);
    }
    if (s->start_epoch < 0 || s->start_batch < 0 || s->start_batch > per_epoch || s->start_epoch > INT32_MAX) {
        return ct_fail(CT_EINVAL,
                       "loader position: batch %" PRId64 " of epoch %" PRId64 "; an epoch has %" PRId64 " batches",
                       s->start_batch, s->start_epoch, per_epoch);
    }
    for (int64_t i = 0; s->index && i < n; i++) {
        if (s->index[i] < 0 || s->index[i] >= all) {
            return ct_fail(CT_EINVAL, "the subset names sample %" PRId64 ", but there are %" PRId64, s->index[i], all);
        }
    }
    return CT_OK;
}

static ct_status make_slots(ct_loader *l)
{
    size_t rows = (size_t)l->spec.batch;
    l->slots = ct_calloc((size_t)l->depth, sizeof *l->slots, "loader ring");
    if (!l->slots) return CT_ENOMEM;
    if (rows > SIZE_MAX / 64 / l->px_bytes) {
        return ct_fail(CT_ENOMEM, "batches of %zu pictures do not fit the memory", rows);
    }
    for (int i = 0; i < l->depth; i++) {
        slot *s = &l->slots[i];
        s->id = ct_malloc(rows * sizeof *s->id, "loader ring");
        s->labels = ct_aligned_alloc(rows * (size_t)l->L * sizeof *s->labels, "loader ring");
        s->index = ct_aligned_alloc(rows * 3 * sizeof *s->index, "loader ring");
        if (!s->id || !s->labels || !s->index) return CT_ENOMEM;
        if (l->spec.resident) continue;
        s->px = ct_aligned_alloc(rows * l->px_bytes, "loader ring");
        if (!s->px) return CT_ENOMEM;
    }
    return CT_OK;
}

static void start_threads(ct_loader *l)
{
    for (int i = 0; i < l->spec.workers; i++) {
        int err = ct_thread_start(&l->threads[i], worker_main, l);
        if (err) {
            ct_warn("loader: only %d of %d worker threads could be started: %s", i, l->spec.workers, strerror(err));
            break;
        }
        l->n_threads++;
    }
}

ct_status ct_loader_open(const ct_loader_spec *spec, ct_loader **out)
{
    ct_status st = CT_OK;
    int64_t n = spec->index ? spec->n : ct_dataset_size(spec->data);
    int64_t per_epoch = spec->batch < 1 ? 0 : spec->drop_last ? n / spec->batch : (n + spec->batch - 1) / spec->batch;

    *out = NULL;
    CT_TRY(check_spec(spec, n, per_epoch));
    ct_loader *l = ct_calloc(1, sizeof *l, "loader");
    if (!l) return CT_ENOMEM;
    l->spec = *spec;
    l->n = n;
    l->per_epoch = per_epoch;
    l->first = spec->start_epoch * per_epoch + spec->start_batch;
    l->total = spec->epochs < 0 ? INT64_MAX : spec->epochs * per_epoch - l->first;
    l->px_bytes = (size_t)ct_dataset_height(spec->data) * (size_t)ct_dataset_width(spec->data) *
                  (size_t)ct_dataset_channels(spec->data);
    l->L = ct_dataset_label_len(spec->data);
    l->order_epoch = -1;
    /* The consumer holds one slot, so with workers a ring of one would stand still. */
    l->depth = spec->workers == 0 ? 1 : spec->depth == 0 ? spec->workers + 2 : spec->depth < 2 ? 2 : spec->depth;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->freed, NULL);
    pthread_cond_init(&l->filled, NULL);

    l->order = ct_malloc((size_t)n * sizeof *l->order, "sample order");
    l->threads = ct_calloc((size_t)spec->workers + 1, sizeof *l->threads, "loader threads");
    if (!l->order || !l->threads) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, make_slots(l));
    start_threads(l);
    *out = l;
    return CT_OK;
fail:
    ct_loader_close(l);
    return st;
}

void ct_loader_close(ct_loader *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++) pthread_join(l->threads[i], NULL);
    for (int i = 0; l->slots && i < l->depth; i++) {
        ct_free(l->slots[i].id);
        ct_free(l->slots[i].px);
        ct_free(l->slots[i].labels);
        ct_free(l->slots[i].index);
    }
    ct_free(l->slots);
    ct_free(l->threads);
    ct_free(l->order);
    pthread_cond_destroy(&l->freed);
    pthread_cond_destroy(&l->filled);
    pthread_mutex_destroy(&l->lock);
    ct_free(l);
}

ct_status ct_loader_next(ct_loader *l, const ct_batch **batch)
{
    *batch = NULL;
    if (l->delivered >= l->total) return CT_OK;
    slot *s;
    if (l->n_threads == 0) {
        double start = ct_now();
        s = prepare(l, l->delivered);
        fill(l, s);
        l->stats.wait_s += ct_now() - start;
    } else {
        s = &l->slots[l->delivered % l->depth];
        pthread_mutex_lock(&l->lock);
        if (l->released != l->delivered) {
            l->released = l->delivered;
            pthread_cond_signal(&l->freed); /* one slot: one worker */
        }
        /* `ready` of a slot tells about its current ticket only once that ticket is taken. */
        if (l->next <= l->delivered || !s->ready) {
            double start = ct_now();
            while (l->next <= l->delivered || !s->ready) pthread_cond_wait(&l->filled, &l->lock);
            l->stats.wait_s += ct_now() - start;
        }
        pthread_mutex_unlock(&l->lock);
    }
    l->delivered++;
    l->stats.batches++;
    l->stats.samples += s->batch.n;
    *batch = &s->batch;
    return CT_OK;
}

int64_t ct_loader_batches(const ct_loader *l)
{
    return l->per_epoch;
}

ct_loader_stats ct_loader_get_stats(const ct_loader *l)
{
    return l->stats;
}
