#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"
#include "data/build.h"
#include "data/dataset_internal.h"
#include "data/loader.h"
#include "data/workers.h"

/* Batches are numbered by tickets 0, 1, 2 ... from the start position on. Ticket t lives in slot t % depth. A worker
 * takes the next ticket when its slot is free (t < released + depth), copies the sample numbers under the lock and
 * fills the slot without it. The consumer takes ticket after ticket; asking for the next one releases the last. */

typedef struct slot {
    ct_batch batch;
    bool ready;
    int64_t *id;        /* [N] sample numbers */
    uint8_t *px;        /* [N,H,W,C], W: the widest; NULL when resident */
    uint8_t *field[CT_MAX_FIELDS]; /* [N,dim..] each */
    int32_t *index;     /* [N,3] */
    int32_t *widths;    /* [N] */
    float (*windows)[4]; /* [N] */
    ct_status st;       /* streams: drawing the batch failed, with this message (owned, may be NULL) */
    char *message;
} slot;

/* How many samples of an epoch each bucket has, and how many batches that makes. */
typedef struct tally {
    int buckets;
    int64_t *count;     /* [buckets] samples */
    int64_t *first;     /* [buckets] sum of the batches of the buckets in front */
    int64_t batches;
} tally;

/* The batches of one epoch. With one bucket all but order stays NULL. */
typedef struct schedule {
    int64_t epoch;
    int64_t *order;     /* [n] sample numbers, batch after batch */
    int64_t *walk;      /* [n] the permutation they come from */
    int64_t *start;     /* [batches + 1] where each batch begins in order */
    int64_t *place;     /* [batches of all buckets] position in the epoch of batch j of bucket b, at first[b] + j */
    int64_t *seen;      /* [buckets] */
} schedule;

struct ct_loader {
    ct_loader_spec spec;
    int64_t n;              /* samples of an epoch */
    tally tally;
    int64_t per_epoch;      /* batches of an epoch */
    int64_t first;          /* position of ticket 0: epoch * per_epoch + batch */
    int64_t total;          /* tickets */
    size_t px_bytes;        /* of one sample of the widest bucket */
    int depth;
    int fields;             /* of the set */
    size_t field_bytes[CT_MAX_FIELDS]; /* of one sample */

    pthread_mutex_t lock;   /* guards everything below and the slots' `ready` and `id` */
    pthread_cond_t freed, filled;
    bool stop;
    int64_t next;           /* next ticket to be taken */
    int64_t released;       /* tickets whose slot may be used again */
    schedule plan;

    slot *slots;            /* [depth] */
    void *pen;              /* streams without workers: the caller's drawing state */
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

/* ---- batches of an epoch ---- */

static int64_t batches_of(const ct_loader_spec *s, int64_t n)
{
    return s->drop_last ? n / s->batch : n / s->batch + (n % s->batch != 0);
}

static int64_t samples_of(const ct_loader_spec *s)
{
    return s->index ? s->n : ct_dataset_size(s->data);
}

static void tally_free(tally *t)
{
    ct_free(t->count);
    ct_free(t->first);
    *t = (tally){ 0 };
}

static ct_status tally_make(const ct_loader_spec *s, tally *t)
{
    *t = (tally){ .buckets = ct_dataset_buckets(s->data) };
    t->count = ct_calloc((size_t)t->buckets, sizeof *t->count, "loader buckets");
    t->first = ct_calloc((size_t)t->buckets, sizeof *t->first, "loader buckets");
    if (!t->count || !t->first) {
        tally_free(t);
        return CT_ENOMEM;
    }
    int64_t n = samples_of(s);
    for (int64_t i = 0; i < n; i++) t->count[ct_dataset_sample_bucket(s->data, s->index ? s->index[i] : i)]++;
    for (int b = 0; b < t->buckets; b++) {
        t->first[b] = t->batches;
        t->batches += batches_of(s, t->count[b]);
    }
    return CT_OK;
}

/* Fills plan for `epoch`: batches take their places when the walk completes them, short ones behind its end. */
static void schedule_epoch(const ct_loader_spec *s, int64_t n, const tally *t, int64_t epoch, schedule *plan)
{
    plan->epoch = epoch;
    ct_loader_order(s, n, epoch, t->buckets > 1 ? plan->walk : plan->order);
    if (t->buckets == 1) return;

    int64_t next = 0, at = 0;
    memset(plan->seen, 0, (size_t)t->buckets * sizeof *plan->seen);
    for (int64_t i = 0; i < n; i++) {
        int b = ct_dataset_sample_bucket(s->data, plan->walk[i]);
        if (++plan->seen[b] % s->batch != 0) continue;
        plan->start[next] = at;
        at += s->batch;
        plan->place[t->first[b] + plan->seen[b] / s->batch - 1] = next++;
    }
    for (int b = 0; b < t->buckets && !s->drop_last; b++) {
        int64_t rest = t->count[b] % s->batch;
        if (rest == 0) continue;
        plan->start[next] = at;
        at += rest;
        plan->place[t->first[b] + t->count[b] / s->batch] = next++;
    }
    plan->start[next] = at;

    memset(plan->seen, 0, (size_t)t->buckets * sizeof *plan->seen);
    for (int64_t i = 0; i < n; i++) {
        int b = ct_dataset_sample_bucket(s->data, plan->walk[i]);
        int64_t k = plan->seen[b]++, j = k / s->batch;
        if (j >= batches_of(s, t->count[b])) continue; /* of a short batch that is dropped */
        plan->order[plan->start[plan->place[t->first[b] + j]] + k % s->batch] = plan->walk[i];
    }
}

static ct_status schedule_make(int64_t n, const tally *t, schedule *plan)
{
    *plan = (schedule){ .epoch = -1 };
    plan->order = ct_malloc((size_t)n * sizeof *plan->order, "sample order");
    if (!plan->order) return CT_ENOMEM;
    if (t->buckets == 1) return CT_OK;
    plan->walk = ct_malloc((size_t)n * sizeof *plan->walk, "sample order");
    plan->start = ct_malloc((size_t)(t->batches + 1) * sizeof *plan->start, "sample order");
    plan->place = ct_malloc((size_t)t->batches * sizeof *plan->place, "sample order");
    plan->seen = ct_malloc((size_t)t->buckets * sizeof *plan->seen, "sample order");
    return plan->walk && plan->start && plan->place && plan->seen ? CT_OK : CT_ENOMEM;
}

static void schedule_free(schedule *plan)
{
    ct_free(plan->order);
    ct_free(plan->walk);
    ct_free(plan->start);
    ct_free(plan->place);
    ct_free(plan->seen);
}

/* ---- making a batch ---- */

/* Position and sample numbers of ticket t into its slot; lock held (or no workers). */
static slot *prepare(ct_loader *l, int64_t t)
{
    slot *s = &l->slots[t % l->depth];
    int64_t pos = l->first + t, epoch = pos / l->per_epoch, batch = pos % l->per_epoch;
    if (l->plan.epoch != epoch) schedule_epoch(&l->spec, l->n, &l->tally, epoch, &l->plan);
    int64_t from = batch * l->spec.batch, to = from + l->spec.batch < l->n ? from + l->spec.batch : l->n;
    if (l->plan.start) {
        from = l->plan.start[batch];
        to = l->plan.start[batch + 1];
    }
    memcpy(s->id, l->plan.order + from, (size_t)(to - from) * sizeof *s->id);
    int bucket = ct_dataset_sample_bucket(l->spec.data, s->id[0]);
    s->batch = (ct_batch){ .epoch = epoch,
                           .batch = batch,
                           .last = batch == l->per_epoch - 1,
                           .n = (int)(to - from),
                           .width = ct_dataset_bucket_width(l->spec.data, bucket),
                           .px = s->px,
                           .data = l->spec.data,
                           .index = s->index,
                           .widths = s->widths,
                           .windows = (const float *)s->windows };
    for (int k = 0; k < l->fields; k++) s->batch.field[k] = s->field[k];
    s->ready = false;
    return s;
}

/* Row i of a batch of a stream: the picture is drawn now. *pen is made when it is first needed. */
static ct_status draw(const ct_loader *l, slot *s, int i, size_t bytes, void **pen)
{
    const ct_dataset *ds = l->spec.data;
    const ct_source *src = ct_dataset_stream(ds);
    const int64_t picture = src->first + s->batch.epoch * src->n + s->id[i];
    const ct_labels *labels = ct_dataset_label_reader(ds);
    char *label = NULL;
    void *row[CT_MAX_FIELDS];
    ct_image im;
    if (!*pen) CT_TRY(src->open(src->user, pen));
    CT_TRY(src->render(*pen, picture, &im, &label));
    const int w = im.w, h = im.h;
    ct_status st = ct_fit_image(&ds->spec, src->name, &im, NULL);
    if (st == CT_OK && (im.h != ct_dataset_height(ds) || im.w != s->batch.width || im.c != ct_dataset_channels(ds)))
        st = ct_fail(CT_EINTERNAL, "%s: picture %" PRId64 " has %dx%dx%d pixels", src->name, picture, im.w, im.h, im.c);
    else if (st == CT_OK) memcpy(s->px + (size_t)i * bytes, im.px, bytes);
    ct_image_free(&im);
    for (int k = 0; k < l->fields; k++) row[k] = s->field[k] + (size_t)i * l->field_bytes[k];
    ct_label_in in = { .name = ct_dataset_name(ds, s->id[i]), .text = label, .width = s->batch.width,
                       .height = ct_dataset_height(ds), .from_width = w, .from_height = h };
    ct_fit_of(&ds->spec, w, h, &in.fit);
    memcpy(s->windows[i], in.fit.window, sizeof in.fit.window);
    if (st == CT_OK) st = labels->ops->encode(labels, &in, row);
    ct_free(label);
    return st;
}

/* Fills a batch of a stream; a failure is kept for the consumer. */
static void fill_drawn(const ct_loader *l, slot *s, size_t bytes, void **pen)
{
    s->st = CT_OK;
    for (int i = 0; i < s->batch.n && s->st == CT_OK; i++) {
        s->st = draw(l, s, i, bytes, pen);
        s->index[3 * i] = i;
        s->index[3 * i + 1] = (int32_t)s->id[i];
        s->index[3 * i + 2] = (int32_t)s->batch.epoch;
        s->widths[i] = s->batch.width;
    }
    if (s->st != CT_OK) {
        ct_free(s->message);
        s->message = ct_strdup(ct_error_message(), "message");
    }
}

static void fill(const ct_loader *l, slot *s, void **pen)
{
    const ct_dataset *ds = l->spec.data;
    const size_t bytes = (size_t)ct_dataset_height(ds) * (size_t)s->batch.width * (size_t)ct_dataset_channels(ds);
    if (ct_dataset_stream(ds)) {
        fill_drawn(l, s, bytes, pen);
        return;
    }
    for (int i = 0; i < s->batch.n; i++) {
        int64_t id = s->id[i];
        if (s->px) memcpy(s->px + (size_t)i * bytes, ct_dataset_pixels(ds, id), bytes);
        for (int k = 0; k < l->fields; k++)
            memcpy(s->field[k] + (size_t)i * l->field_bytes[k], ct_dataset_field(ds, k, id), l->field_bytes[k]);
        s->index[3 * i] = s->px ? i : (int32_t)ct_dataset_sample_row(ds, id);
        s->index[3 * i + 1] = (int32_t)id;
        s->index[3 * i + 2] = (int32_t)s->batch.epoch;
        s->widths[i] = ct_dataset_sample_width(ds, id);
        ct_fit fit;
        ct_dataset_fit(ds, id, &fit);
        memcpy(s->windows[i], fit.window, sizeof fit.window);
    }
}

static void *worker_main(void *arg)
{
    ct_loader *l = arg;
    void *pen = NULL;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->stop && l->next < l->total && l->next >= l->released + l->depth) {
            pthread_cond_wait(&l->freed, &l->lock);
        }
        if (l->stop || l->next >= l->total) break;
        slot *s = prepare(l, l->next++);
        pthread_mutex_unlock(&l->lock);
        fill(l, s, &pen);
        pthread_mutex_lock(&l->lock);
        s->ready = true;
        pthread_cond_signal(&l->filled); /* one waiter at most: the consumer */
    }
    pthread_mutex_unlock(&l->lock);
    if (pen) ct_dataset_stream(l->spec.data)->close(pen);
    return NULL;
}

/* ---- opening ---- */

/* The set and the batch: what is needed to count batches. */
static ct_status check_set(const ct_loader_spec *s)
{
    int64_t all = ct_dataset_size(s->data), n = samples_of(s);
    if (s->batch < 1) return ct_fail(CT_EINVAL, "the batch size is %d", s->batch);
    if (s->resident && ct_dataset_stream(s->data))
        return ct_fail(CT_EINVAL, "the pictures of a stream cannot be resident");
    if (n < 1) return ct_fail(CT_EINVAL, "the data set is empty");
    if (all > INT32_MAX) return ct_fail(CT_EINVAL, "%" PRId64 " samples; at most 2^31-1 are possible", all);
    for (int64_t i = 0; s->index && i < n; i++) {
        if (s->index[i] < 0 || s->index[i] >= all) {
            return ct_fail(CT_EINVAL, "the subset names sample %" PRId64 ", but there are %" PRId64, s->index[i], all);
        }
    }
    return CT_OK;
}

static ct_status check_batches(const ct_loader_spec *s, const tally *t)
{
    if (t->batches > 0) return CT_OK;
    return ct_fail(CT_EINVAL,
                   "a batch of %d does not fit %" PRId64 " samples%s, and short batches are dropped: nothing is left",
                   s->batch, samples_of(s), t->buckets > 1 ? " of one width" : "");
}

static ct_status check_position(const ct_loader_spec *s, int64_t per_epoch)
{
    if (s->workers < 0 || s->depth < 0) return ct_fail(CT_EINVAL, "loader: workers and depth must not be negative");
    if (s->start_epoch < 0 || s->start_batch < 0 || s->start_batch > per_epoch || s->start_epoch > INT32_MAX) {
        return ct_fail(CT_EINVAL,
                       "loader position: batch %" PRId64 " of epoch %" PRId64 "; an epoch has %" PRId64 " batches",
                       s->start_batch, s->start_epoch, per_epoch);
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
        s->index = ct_aligned_alloc(rows * 3 * sizeof *s->index, "loader ring");
        s->widths = ct_aligned_alloc(rows * sizeof *s->widths, "loader ring");
        s->windows = ct_aligned_alloc(rows * sizeof *s->windows, "loader ring");
        if (!s->id || !s->index || !s->widths || !s->windows) return CT_ENOMEM;
        /* A program may have more rows than the last batch of a pass: rows that no batch has filled ask for the first
         * picture. */
        memset(s->index, 0, rows * 3 * sizeof *s->index);
        memset(s->windows, 0, rows * sizeof *s->windows);
        for (int k = 0; k < l->fields; k++) {
            s->field[k] = ct_aligned_alloc(rows * l->field_bytes[k], "loader ring");
            if (!s->field[k]) return CT_ENOMEM;
        }
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

/* Bytes of a sample of the widest bucket that occurs. */
static size_t widest_bytes(const ct_loader_spec *s, const tally *t)
{
    int b = t->buckets - 1;
    while (b > 0 && t->count[b] == 0) b--;
    return (size_t)ct_dataset_height(s->data) * (size_t)ct_dataset_bucket_width(s->data, b) *
           (size_t)ct_dataset_channels(s->data);
}

ct_status ct_loader_open(const ct_loader_spec *spec, ct_loader **out)
{
    ct_status st = CT_OK;
    *out = NULL;
    CT_TRY(check_set(spec));
    ct_loader *l = ct_calloc(1, sizeof *l, "loader");
    if (!l) return CT_ENOMEM;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->freed, NULL);
    pthread_cond_init(&l->filled, NULL);
    l->spec = *spec;
    l->n = samples_of(spec);
    CT_GOTO(st, tally_make(spec, &l->tally));
    CT_GOTO(st, check_batches(spec, &l->tally));
    l->per_epoch = l->tally.batches;
    CT_GOTO(st, check_position(spec, l->per_epoch));
    l->first = spec->start_epoch * l->per_epoch + spec->start_batch;
    l->total = spec->epochs < 0 ? INT64_MAX : spec->epochs * l->per_epoch - l->first;
    l->px_bytes = widest_bytes(spec, &l->tally);
    const ct_field *field = ct_dataset_fields(spec->data, &l->fields);
    for (int k = 0; k < l->fields; k++) l->field_bytes[k] = ct_field_bytes(&field[k]);
    /* The consumer holds one slot, so with workers a ring of one would stand still. */
    l->depth = spec->workers == 0 ? 1 : spec->depth == 0 ? spec->workers + 2 : spec->depth < 2 ? 2 : spec->depth;

    CT_GOTO(st, schedule_make(l->n, &l->tally, &l->plan));
    l->threads = ct_calloc((size_t)spec->workers + 1, sizeof *l->threads, "loader threads");
    if (!l->threads) {
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
        for (int k = 0; k < l->fields; k++) ct_free(l->slots[i].field[k]);
        ct_free(l->slots[i].index);
        ct_free(l->slots[i].widths);
        ct_free(l->slots[i].windows);
        ct_free(l->slots[i].message);
    }
    if (l->pen) ct_dataset_stream(l->spec.data)->close(l->pen);
    ct_free(l->slots);
    ct_free(l->threads);
    schedule_free(&l->plan);
    tally_free(&l->tally);
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
        fill(l, s, &l->pen);
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
    if (s->st != CT_OK) return ct_fail(s->st, "%s", s->message ? s->message : ct_status_name(s->st));
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

int64_t ct_loader_count(const ct_loader_spec *spec)
{
    enum { CHUNK = 256 }; /* buckets at a time: their number has no small bound, and nothing is allocated here */
    int64_t batches = 0, n = samples_of(spec);
    int buckets = ct_dataset_buckets(spec->data);
    if (spec->batch < 1) return 0;
    for (int b = 0; b < buckets; b += CHUNK) {
        int64_t count[CHUNK] = { 0 };
        for (int64_t i = 0; i < n; i++) {
            int k = ct_dataset_sample_bucket(spec->data, spec->index ? spec->index[i] : i) - b;
            if (k >= 0 && k < CHUNK) count[k]++;
        }
        for (int k = 0; k < CHUNK; k++) batches += batches_of(spec, count[k]);
    }
    return batches;
}

ct_status ct_loader_shapes(const ct_loader_spec *spec, ct_batch_shape **out, size_t *n)
{
    tally t;
    *out = NULL;
    *n = 0;
    CT_TRY(check_set(spec));
    CT_TRY(tally_make(spec, &t));
    ct_status st = check_batches(spec, &t);
    ct_batch_shape *s = st == CT_OK ? ct_calloc(2 * (size_t)t.buckets, sizeof *s, "batch shapes") : NULL;
    if (st == CT_OK && !s) st = CT_ENOMEM;
    for (int b = 0; st == CT_OK && b < t.buckets; b++) {
        int width = ct_dataset_bucket_width(spec->data, b), rest = (int)(t.count[b] % spec->batch);
        if (t.count[b] >= spec->batch) s[(*n)++] = (ct_batch_shape){ width, spec->batch };
        if (rest > 0 && !spec->drop_last) s[(*n)++] = (ct_batch_shape){ width, rest };
    }
    *out = s;
    tally_free(&t);
    return st;
}

ct_loader_stats ct_loader_get_stats(const ct_loader *l)
{
    return l->stats;
}
