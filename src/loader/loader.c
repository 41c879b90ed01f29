#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"
#include "data/build.h"
#include "loader/schedule.h"
#include "loader/tempo.h"
#include "base/workers.h"

/* Batches are numbered by tickets 0, 1, 2 ... from the start position on. Ticket t lives in slot t % depth. A worker
 * takes the next ticket when its slot is free (t < released + depth), copies the sample numbers under the lock and
 * fills the slot without it. The consumer takes ticket after ticket; asking for the next one releases the last. */

typedef struct slot {
    ct_batch batch;
    bool ready;
    int64_t *id;        /* [N] sample numbers, of all members; the rest is of this one's rows, R of a full batch */
    uint8_t *px;        /* [R,H,W,C], W: the widest; NULL when resident */
    uint8_t *field[CT_MAX_FIELDS]; /* [R,dim..] each */
    int32_t *index;     /* [R,3]; of clips [R*F,4], F: the most pictures of one */
    int32_t *lengths;   /* [R] */
    float (*windows)[4]; /* [R], NULL for clips */
    int32_t *pick;      /* clips: [F] frames of the one that is being filled in */
    ct_status st;       /* drawing or decoding the batch failed, with this message (owned, may be NULL) */
    char *message;
} slot;

struct ct_loader {
    ct_loader_spec spec;
    int64_t n;              /* samples of an epoch */
    int64_t rows;           /* R: the most rows of this member */
    ct_tally tally;
    int64_t per_epoch;      /* batches of an epoch */
    int64_t first;          /* position of ticket 0: epoch * per_epoch + batch */
    int64_t total;          /* tickets */
    size_t px_bytes;        /* of one sample of the widest bucket, or of the longest clip */
    int64_t most;           /* pictures of the longest clip, 1 where samples are pictures */
    ct_tempo tempo;         /* clips */
    int depth;
    int parts;              /* of this member's rows, at least 1 */
    int fields;             /* of the set */
    size_t field_bytes[CT_MAX_FIELDS]; /* of one sample */

    pthread_mutex_t lock;   /* guards everything below and the slots' `ready` and `id` */
    pthread_cond_t freed, filled;
    bool stop;
    int64_t next;           /* next ticket to be taken */
    int64_t released;       /* tickets whose slot may be used again */
    ct_schedule plan;

    slot *slots;            /* [depth] */
    void *pen;              /* streams without workers: the caller's drawing state */
    pthread_t *threads;     /* [n_threads] */
    int n_threads;

    int64_t delivered;      /* consumer only */
    ct_loader_stats stats;  /* consumer only */
};

/* ---- making a batch ---- */

/* Frames that sample i gives in an epoch. */
static int frames_of(const ct_loader *l, int64_t epoch, int64_t i, int32_t *pick)
{
    const ct_dataset *ds = l->spec.data;
    return ct_tempo_draw(&l->tempo, epoch, i, ct_dataset_frames(ds, i), ct_dataset_least_frames(ds, i), pick);
}

/* Pictures that each clip of a slot gets. */
static int pictures_of(const ct_loader *l, const slot *s, int64_t epoch, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        const int64_t own = ct_clip_padded(l->tempo.clip, frames_of(l, epoch, s->id[i], NULL));
        if (own > most) most = own;
    }
    return (int)ct_loader_pictures(&l->spec, most);
}

/* Position and sample numbers of ticket t into its slot; lock held (or no workers). */
static slot *prepare(ct_loader *l, int64_t t)
{
    slot *s = &l->slots[t % l->depth];
    int64_t pos = l->first + t, epoch = pos / l->per_epoch, batch = pos % l->per_epoch;
    if (l->plan.epoch != epoch) ct_schedule_epoch(&l->spec, l->n, &l->tally, epoch, &l->plan);
    int64_t from = batch * l->spec.batch, to = from + l->spec.batch < l->n ? from + l->spec.batch : l->n;
    if (l->plan.start) {
        from = l->plan.start[batch];
        to = l->plan.start[batch + 1];
    }
    memcpy(s->id, l->plan.order + from, (size_t)(to - from) * sizeof *s->id);
    const int all = (int)(to - from), bucket = ct_dataset_sample_bucket(l->spec.data, s->id[0]);
    const int width = ct_dataset_bucket_width(l->spec.data, bucket);
    const int frames = l->tempo.clip ? pictures_of(l, s, epoch, all) : 1;
    const int64_t first = ct_share_first(all, l->spec.rank, l->spec.size);
    s->batch = (ct_batch){ .epoch = epoch,
                           .batch = batch,
                           .last = batch == l->per_epoch - 1,
                           .n = (int)(ct_share_first(all, l->spec.rank + 1, l->spec.size) - first),
                           .all = all,
                           .samples = s->id,
                           .width = width,
                           .frames = frames,
                           .length = l->tempo.clip ? frames : width,
                           .px = s->px,
                           .sample = s->id + first,
                           .data = l->spec.data,
                           .index = s->index,
                           .lengths = s->lengths,
                           .windows = l->tempo.clip ? NULL : (const float *)s->windows };
    for (int k = 0; k < l->fields; k++) s->batch.field[k] = s->field[k];
    s->ready = false;
    return s;
}

/* Bytes of a picture of a batch. */
static size_t picture_bytes(const ct_loader *l, const ct_batch *b)
{
    const ct_dataset *ds = l->spec.data;
    return (size_t)ct_dataset_height(ds) * (size_t)b->width * (size_t)ct_dataset_channels(ds);
}

/* First row of a part of this member's rows of a batch of `all`. */
static int64_t part_first(const ct_loader *l, int64_t all, int part)
{
    const int members = l->spec.size > 1 ? l->spec.size : 1, first = l->spec.rank * l->parts, of = members * l->parts;
    return ct_share_first(all, first + part, of) - ct_share_first(all, first, of);
}

/* Row i of a batch of a stream: the picture is drawn now. *pen is made when it is first needed. */
static ct_status draw(const ct_loader *l, slot *s, int i, size_t bytes, void **pen)
{
    const ct_dataset *ds = l->spec.data;
    const ct_source *src = ct_dataset_stream(ds);
    const int64_t picture = src->first + s->batch.epoch * src->n + s->batch.sample[i];
    const ct_labels *labels = ct_dataset_label_reader(ds);
    char *label = NULL;
    void *row[CT_MAX_FIELDS];
    ct_image im;
    if (!*pen) CT_TRY(src->open(src->user, pen));
    CT_TRY(src->render(*pen, picture, &im, &label));
    const int w = im.w, h = im.h;
    ct_status st = ct_fit_image(ct_dataset_spec_of(ds), src->name, &im, NULL);
    if (st == CT_OK && (im.h != ct_dataset_height(ds) || im.w != s->batch.width || im.c != ct_dataset_channels(ds)))
        st = ct_fail(CT_EINTERNAL, "%s: picture %" PRId64 " has %dx%dx%d pixels", src->name, picture, im.w, im.h, im.c);
    else if (st == CT_OK) memcpy(s->px + (size_t)i * bytes, im.px, bytes);
    ct_image_free(&im);
    for (int k = 0; k < l->fields; k++) row[k] = s->field[k] + (size_t)i * l->field_bytes[k];
    ct_label_in in = { .name = ct_dataset_name(ds, s->batch.sample[i]), .text = label, .width = s->batch.width,
                       .height = ct_dataset_height(ds), .from_width = w, .from_height = h };
    ct_fit_of(ct_dataset_spec_of(ds), w, h, &in.fit);
    memcpy(s->windows[i], in.fit.window, sizeof in.fit.window);
    if (st == CT_OK) st = labels->ops->encode(labels, &in, row);
    ct_free(label);
    return st;
}

/* Rows [first, end), a part. */
static ct_status fill_drawn(const ct_loader *l, slot *s, int first, int end, size_t bytes, void **pen)
{
    for (int i = first; i < end; i++) {
        CT_TRY(draw(l, s, i, bytes, pen));
        s->index[CT_INDEX_OF_PICTURES * i] = i - first;
        s->index[CT_INDEX_OF_PICTURES * i + 1] = (int32_t)s->batch.sample[i];
        s->index[CT_INDEX_OF_PICTURES * i + 2] = (int32_t)s->batch.epoch;
        s->lengths[i] = s->batch.width;
    }
    return CT_OK;
}

static void fill_fields(const ct_loader *l, slot *s, int i)
{
    for (int k = 0; k < l->fields; k++)
        memcpy(s->field[k] + (size_t)i * l->field_bytes[k], ct_dataset_field(l->spec.data, k, s->batch.sample[i]),
               l->field_bytes[k]);
}

/* Clip i of a batch; *rows: of its part's pictures at px that are taken. A frame that is shown more than once, as those
 * at the ends are, is one row. */
static ct_status fill_clip(const ct_loader *l, slot *s, int i, uint8_t *px, size_t bytes, int32_t *rows)
{
    const ct_dataset *ds = l->spec.data;
    const ct_batch *b = &s->batch;
    const int64_t id = b->sample[i];
    const int own = frames_of(l, b->epoch, id, s->pick);
    int64_t shown = -1; /* frame that the last row is */
    fill_fields(l, s, i);
    s->lengths[i] = (int32_t)ct_clip_padded(l->tempo.clip, own);
    for (int p = 0; p < b->frames; p++) {
        const int64_t frame = s->pick[ct_clip_frame(l->tempo.clip, own, p)];
        int32_t *row = s->index + CT_INDEX_OF_CLIPS * ((int64_t)i * b->frames + p);
        if (frame != shown) CT_TRY(ct_dataset_read(ds, id, (int)frame, px + (size_t)(*rows)++ * bytes));
        shown = frame;
        row[0] = *rows - 1;
        row[1] = (int32_t)id;
        row[2] = (int32_t)b->epoch;
        row[3] = (int32_t)frame;
    }
    return CT_OK;
}

static ct_status fill_clips(const ct_loader *l, slot *s, int first, int end, size_t bytes)
{
    uint8_t *px = s->px + (size_t)first * (size_t)s->batch.frames * bytes;
    int32_t rows = 0;
    for (int i = first; i < end; i++) CT_TRY(fill_clip(l, s, i, px, bytes, &rows));
    return CT_OK;
}

static void clear_other_clips(const ct_loader *l, slot *s)
{
    const ct_batch *b = &s->batch;
    /* other rows may be from a longer batch, and name pictures that a program of this length has no room for */
    const size_t filled = (size_t)b->n * (size_t)b->frames, all = (size_t)l->rows * (size_t)b->frames;
    memset(s->index + CT_INDEX_OF_CLIPS * filled, 0, CT_INDEX_OF_CLIPS * (all - filled) * sizeof *s->index);
}

static ct_status fill_pictures(const ct_loader *l, slot *s, int first, int end, size_t bytes)
{
    const ct_dataset *ds = l->spec.data;
    for (int i = first; i < end; i++) {
        const int64_t id = s->batch.sample[i];
        if (s->px) CT_TRY(ct_dataset_read(ds, id, 0, s->px + (size_t)i * bytes));
        fill_fields(l, s, i);
        s->index[CT_INDEX_OF_PICTURES * i] = s->px ? i - first : (int32_t)ct_dataset_sample_row(ds, id);
        s->index[CT_INDEX_OF_PICTURES * i + 1] = (int32_t)id;
        s->index[CT_INDEX_OF_PICTURES * i + 2] = (int32_t)s->batch.epoch;
        s->lengths[i] = ct_dataset_sample_width(ds, id);
        ct_fit fit;
        ct_dataset_fit(ds, id, &fit);
        memcpy(s->windows[i], fit.window, sizeof fit.window);
    }
    return CT_OK;
}

/* Fills a batch; a failure is kept for the consumer. */
static void fill(const ct_loader *l, slot *s, void **pen)
{
    const ct_dataset *ds = l->spec.data;
    const size_t bytes = picture_bytes(l, &s->batch);
    s->st = CT_OK;
    for (int k = 0; k < l->parts && s->st == CT_OK; k++) {
        const int first = (int)part_first(l, s->batch.all, k), end = (int)part_first(l, s->batch.all, k + 1);
        s->st = ct_dataset_stream(ds) ? fill_drawn(l, s, first, end, bytes, pen)
                : l->tempo.clip       ? fill_clips(l, s, first, end, bytes)
                                      : fill_pictures(l, s, first, end, bytes);
    }
    if (l->tempo.clip) clear_other_clips(l, s);
    if (s->st == CT_OK) return;
    ct_free(s->message);
    s->message = ct_strdup(ct_error_message(), "message");
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
    int64_t all = ct_dataset_size(s->data), n = ct_loader_samples(s);
    if (s->batch < 1) return ct_fail(CT_EINVAL, "the batch size is %d", s->batch);
    if (s->resident && ct_dataset_stream(s->data))
        return ct_fail(CT_EINVAL, "the pictures of a stream cannot be resident");
    if (s->resident && (ct_dataset_clip(s->data) || ct_dataset_packs_files(s->data)))
        return ct_fail(CT_EINVAL, "clips, and pictures that are packed as files, cannot be resident");
    if (s->frames_step < 0 || !(s->tempo >= 0 && s->tempo <= 0.5))
        return ct_fail(CT_EINVAL, "loader: clips in steps of %d frames, tempo %g", s->frames_step, s->tempo);
    if (s->parts < 0) return ct_fail(CT_EINVAL, "loader: %d parts", s->parts);
    if (s->rank < 0 || s->rank >= (s->size > 1 ? s->size : 1))
        return ct_fail(CT_EINVAL, "loader: member %d of a group of %d", s->rank, s->size);
    if (n < 1) return ct_fail(CT_EINVAL, "the data set is empty");
    if (all > INT32_MAX) return ct_fail(CT_EINVAL, "%" PRId64 " samples; at most 2^31-1 are possible", all);
    for (int64_t i = 0; s->index && i < n; i++) {
        if (s->index[i] < 0 || s->index[i] >= all) {
            return ct_fail(CT_EINVAL, "the subset names sample %" PRId64 ", but there are %" PRId64, s->index[i], all);
        }
    }
    return CT_OK;
}

int ct_loader_workers(int64_t wanted, int threads, int here, int beside)
{
    enum { MOST = 4, MACHINE = 16 };
    if (wanted >= 0) return (int)wanted;
    if (here < 1) here = 1;
    /* A launcher that binds gives each process its own processors; else all of them share those there are. */
    int n = ct_cpus() / (beside > 1 ? beside : 1) - threads;
    if (n > MOST) n = MOST;
    if (n > MACHINE / here) n = MACHINE / here;
    return n > 1 ? n : 1;
}

static ct_status check_batches(const ct_loader_spec *s, const ct_tally *t)
{
    if (t->batches > 0) return CT_OK;
    return ct_fail(CT_EINVAL,
                   "a batch of %d does not fit %" PRId64 " samples%s, and short batches are dropped: nothing is left",
                   s->batch, ct_loader_samples(s),
                   t->kinds == 1 ? "" : ct_dataset_clip(s->data) ? " of like length" : " of one width");
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

/* The most rows that a member can have, whatever the length of a batch; at least 1. */
static int64_t most_rows(const ct_loader_spec *s)
{
    const int64_t members = s->size > 1 ? s->size : 1;
    return (s->batch + members - 1) / members;
}

static ct_status make_slots(ct_loader *l)
{
    const size_t rows = (size_t)l->rows, pictures = rows * (size_t)l->most;
    const size_t cells = pictures * (l->tempo.clip ? CT_INDEX_OF_CLIPS : CT_INDEX_OF_PICTURES);
    l->slots = ct_calloc((size_t)l->depth, sizeof *l->slots, "loader ring");
    if (!l->slots) return CT_ENOMEM;
    if (rows > SIZE_MAX / 64 / l->px_bytes) {
        return ct_fail(CT_ENOMEM, "batches of %zu pictures do not fit the memory", rows);
    }
    for (int i = 0; i < l->depth; i++) {
        slot *s = &l->slots[i];
        s->id = ct_malloc((size_t)l->spec.batch * sizeof *s->id, "loader ring");
        s->index = ct_aligned_alloc(cells * sizeof *s->index, "loader ring");
        s->lengths = ct_aligned_alloc(rows * sizeof *s->lengths, "loader ring");
        s->windows = ct_aligned_alloc(rows * sizeof *s->windows, "loader ring");
        s->pick = ct_calloc((size_t)l->most, sizeof *s->pick, "loader ring");
        if (!s->id || !s->index || !s->lengths || !s->windows || !s->pick) return CT_ENOMEM;
        /* A program may have more rows than the last batch of a pass: rows that no batch has filled ask for the first
         * picture. */
        memset(s->index, 0, cells * sizeof *s->index);
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
static size_t widest_bytes(const ct_loader *l)
{
    const ct_dataset *ds = l->spec.data;
    int b = ct_dataset_buckets(ds) - 1;
    while (!l->tempo.clip && b > 0 && l->tally.count[b] == 0) b--;
    return (size_t)ct_dataset_height(ds) * (size_t)ct_dataset_bucket_width(ds, b) * (size_t)ct_dataset_channels(ds) *
           (size_t)l->most;
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
    l->n = ct_loader_samples(spec);
    l->rows = most_rows(spec);
    l->parts = spec->parts > 1 ? spec->parts : 1;
    l->tempo = ct_loader_tempo(spec);
    l->most = l->tempo.clip ? ct_loader_longest(spec) : 1;
    CT_GOTO(st, ct_tally_make(spec, &l->tally));
    CT_GOTO(st, check_batches(spec, &l->tally));
    l->per_epoch = l->tally.batches;
    CT_GOTO(st, check_position(spec, l->per_epoch));
    l->first = spec->start_epoch * l->per_epoch + spec->start_batch;
    l->total = spec->epochs < 0 ? INT64_MAX : spec->epochs * l->per_epoch - l->first;
    l->px_bytes = widest_bytes(l);
    const ct_field *field = ct_dataset_fields(spec->data, &l->fields);
    for (int k = 0; k < l->fields; k++) l->field_bytes[k] = ct_field_bytes(&field[k]);
    /* The consumer holds one slot, so with workers a ring of one would stand still. */
    l->depth = spec->workers == 0 ? 1 : spec->depth == 0 ? spec->workers + 2 : spec->depth < 2 ? 2 : spec->depth;

    CT_GOTO(st, ct_schedule_make(l->n, &l->tally, &l->plan));
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
        ct_free(l->slots[i].lengths);
        ct_free(l->slots[i].windows);
        ct_free(l->slots[i].pick);
        ct_free(l->slots[i].message);
    }
    if (l->pen) ct_dataset_stream(l->spec.data)->close(l->pen);
    ct_free(l->slots);
    ct_free(l->threads);
    ct_schedule_free(&l->plan);
    ct_tally_free(&l->tally);
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
        const ct_activity before = ct_crash_at(CT_AT_BATCH);
        double start = ct_now();
        s = prepare(l, l->delivered);
        fill(l, s, &l->pen);
        l->stats.wait_s += ct_now() - start;
        ct_crash_at(before);
    } else {
        s = &l->slots[l->delivered % l->depth];
        pthread_mutex_lock(&l->lock);
        if (l->released != l->delivered) {
            l->released = l->delivered;
            pthread_cond_signal(&l->freed); /* one slot: one worker */
        }
        /* `ready` of a slot tells about its current ticket only once that ticket is taken. */
        if (l->next <= l->delivered || !s->ready) {
            const ct_activity before = ct_crash_at(CT_AT_BATCH);
            double start = ct_now();
            while (l->next <= l->delivered || !s->ready) pthread_cond_wait(&l->filled, &l->lock);
            l->stats.wait_s += ct_now() - start;
            ct_crash_at(before);
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

void ct_loader_part(const ct_loader *l, const ct_batch *b, int part, ct_batch *out)
{
    const int64_t first = part_first(l, b->all, part), pictures = first * b->frames;
    *out = *b;
    out->n = (int)(part_first(l, b->all, part + 1) - first);
    if (b->px) out->px = b->px + (size_t)pictures * picture_bytes(l, b);
    out->sample = b->sample + first;
    for (int k = 0; k < l->fields; k++)
        out->field[k] = (const uint8_t *)b->field[k] + (size_t)first * l->field_bytes[k];
    out->index = b->index + pictures * (l->tempo.clip ? CT_INDEX_OF_CLIPS : CT_INDEX_OF_PICTURES);
    out->lengths = b->lengths + first;
    if (b->windows) out->windows = b->windows + 4 * first;
}

int64_t ct_loader_batches(const ct_loader *l)
{
    return l->per_epoch;
}

ct_status ct_loader_count(const ct_loader_spec *spec, int64_t *batches)
{
    ct_tally t;
    *batches = 0;
    if (spec->batch < 1) return CT_OK;
    CT_TRY(ct_tally_make(spec, &t));
    *batches = t.batches;
    ct_tally_free(&t);
    return CT_OK;
}

/* A full batch and a short one of `count` samples of one kind and this length; *n counts on. */
static void add_shapes(const ct_loader_spec *s, int64_t count, int64_t length, ct_batch_shape *out, size_t *n)
{
    const int rest = (int)(count % s->batch);
    if (count >= s->batch) out[(*n)++] = (ct_batch_shape){ (int)length, s->batch };
    if (rest > 0 && !s->drop_last) out[(*n)++] = (ct_batch_shape){ (int)length, rest };
}

static int by_length(const void *a, const void *b)
{
    const ct_batch_shape *x = a, *y = b;
    return x->length != y->length ? x->length - y->length : y->rows - x->rows;
}

static void widths(const ct_loader_spec *s, const ct_tally *t, ct_batch_shape *out, size_t *n)
{
    for (int b = 0; b < t->kinds; b++) add_shapes(s, t->count[b], ct_dataset_bucket_width(s->data, b), out, n);
}

/* Of each kind the numbers of pictures from the shortest that one of its clips may have to the longest: so many shapes
 * at most. */
static ct_status clip_lengths(const ct_loader_spec *s, const ct_tally *t, ct_batch_shape **out, size_t *n)
{
    ct_status st = CT_OK;
    size_t cap = 0;
    int64_t *low = ct_calloc((size_t)t->kinds, sizeof *low, "batch shapes");
    int64_t *high = ct_calloc((size_t)t->kinds, sizeof *high, "batch shapes");
    if (!low || !high) CT_GOTO(st, CT_ENOMEM);
    const int64_t samples = ct_loader_samples(s);
    for (int64_t i = 0; i < samples; i++) {
        const int64_t id = s->index ? s->index[i] : i;
        const int kind = ct_loader_kind(s, id);
        const int64_t least = ct_loader_least(s, id), most = ct_loader_most(s, id);
        if (low[kind] == 0 || least < low[kind]) low[kind] = least;
        if (most > high[kind]) high[kind] = most;
    }
    for (int k = 0; k < t->kinds; k++)
        for (int64_t f = low[k]; t->count[k] > 0 && f <= high[k]; f = ct_loader_pictures(s, f + 1)) {
            CT_GOTO(st, ct_grow(out, *n + 1, &cap, sizeof **out, "batch shapes"));
            add_shapes(s, t->count[k], f, *out, n);
        }
    size_t kept = 0;
    qsort(*out, *n, sizeof **out, by_length);
    for (size_t i = 0; i < *n; i++)
        if (i == 0 || by_length(&(*out)[i], &(*out)[kept - 1]) != 0) (*out)[kept++] = (*out)[i];
    *n = kept;
fail:
    ct_free(low);
    ct_free(high);
    return st;
}

ct_status ct_loader_shapes(const ct_loader_spec *spec, ct_batch_shape **out, size_t *n)
{
    ct_tally t;
    *out = NULL;
    *n = 0;
    CT_TRY(check_set(spec));
    CT_TRY(ct_tally_make(spec, &t));
    ct_status st = check_batches(spec, &t);
    if (st == CT_OK && ct_dataset_clip(spec->data)) {
        st = clip_lengths(spec, &t, out, n);
    } else if (st == CT_OK) {
        *out = ct_calloc(2 * (size_t)t.kinds, sizeof **out, "batch shapes");
        if (*out) widths(spec, &t, *out, n);
        else st = CT_ENOMEM;
    }
    if (st != CT_OK) {
        ct_free(*out);
        *out = NULL;
        *n = 0;
    }
    ct_tally_free(&t);
    return st;
}

ct_loader_stats ct_loader_get_stats(const ct_loader *l)
{
    return l->stats;
}
