/* Sessions of one model for several threads. */
#include "config.h"

#include "serve/pool.h"

#include <string.h>

#include "base/alloc.h"
#include "weights/use.h"

/* A session that would have more programs is begun anew with those that are needed: clips may have any length. */
#define PROGRAMS_MAX 48

ct_status ct_pool_make(ct_pool *p, const char *path, ct_model_file *file, const ct_common *common, int slots)
{
    *p = (ct_pool){ .path = path, .file = file, .common = *common };
    p->slot = ct_calloc((size_t)slots, sizeof *p->slot, "sessions of a model");
    if (!p->slot) return CT_ENOMEM;
    p->slots = slots;
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->making, NULL);
    pthread_cond_init(&p->idle, NULL);
    return CT_OK;
}

/* Programs come in few sizes: the next power of two. */
static int64_t rows_for(int64_t n, int64_t batch)
{
    int64_t rows = 1;
    if (n >= batch) return batch;
    while (rows < n) rows *= 2;
    return rows < batch ? rows : batch;
}

ct_status ct_pool_needs(const ct_dataset *ds, const ct_clip_rule *clip, int64_t batch, ct_pool_need **out, size_t *n)
{
    const int64_t count = clip ? ct_dataset_size(ds) : ct_dataset_buckets(ds);
    *n = 0;
    if (!(*out = ct_calloc((size_t)count, sizeof **out, "programs of a model"))) return CT_ENOMEM;
    for (int64_t i = 0; i < count; i++) {
        ct_pool_need *x = &(*out)[(*n)++];
        if (clip) {
            *x = (ct_pool_need){ ct_clip_padded(clip, ct_dataset_frames(ds, i)), 1 };
        } else {
            x->length = ct_dataset_bucket_width(ds, (int)i);
            x->rows = rows_for(ct_dataset_bucket_count(ds, (int)i), batch);
        }
    }
    return CT_OK;
}

static void slot_end(ct_pool_slot *s)
{
    ct_session_end(&s->session);
    s->ready = false;
    s->n = 0;
}

void ct_pool_free(ct_pool *p)
{
    if (!p->slot) return;
    for (int i = 0; i < p->slots; i++) {
        slot_end(&p->slot[i]);
        ct_free(p->slot[i].have);
    }
    ct_free(p->slot);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->making);
    pthread_cond_destroy(&p->idle);
    *p = (ct_pool){ 0 };
}

static bool has(const ct_pool_slot *s, const ct_pool_need *need)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->have[i].length == need->length && s->have[i].rows == need->rows) return true;
    return false;
}

static bool has_all(const ct_pool_slot *s, const ct_pool_need *need, size_t n)
{
    if (!s->ready) return false;
    for (size_t i = 0; i < n; i++)
        if (!has(s, &need[i])) return false;
    return true;
}

/* Adds what it lacks to the list. */
static ct_status want(ct_pool_slot *s, const ct_pool_need *need, size_t n)
{
    if (!s->ready || s->n + n > PROGRAMS_MAX) s->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (has(s, &need[i])) continue;
        CT_TRY(ct_grow(&s->have, s->n, &s->cap, sizeof *s->have, "programs of a model"));
        s->have[s->n++] = need[i];
    }
    return CT_OK;
}

/* A session with the programs of the list. */
static ct_status begin(const ct_pool *p, ct_pool_slot *s)
{
    ct_session_end(&s->session);
    CT_TRY(ct_model_session(p->file, &p->common, &s->session));
    for (size_t i = 0; i < s->n; i++)
        CT_TRY(ct_session_add(&s->session, CT_PROGRAM_PREDICT, s->have[i].rows, s->have[i].length, 1, false));
    CT_TRY(ct_session_ready(&s->session));
    return ct_checkpoint_load_weights(&s->session, p->file->st, p->path, p->file->prefix, false);
}

/* The best that is idle: one that need not be planned anew, else one that has been used, else a new one. Lock held. */
static ct_pool_slot *find_idle(ct_pool *p, const ct_pool_need *need, size_t n)
{
    ct_pool_slot *used = NULL, *fresh = NULL;
    for (int i = 0; i < p->slots; i++) {
        ct_pool_slot *s = &p->slot[i];
        if (s->busy) continue;
        if (has_all(s, need, n)) return s;
        if (s->ready && !used) used = s;
        if (!s->ready && !fresh) fresh = s;
    }
    return used ? used : fresh;
}

ct_status ct_pool_take(ct_pool *p, const ct_pool_need *need, size_t n, ct_pool_slot **out)
{
    ct_pool_slot *s;
    ct_status st = CT_OK;
    *out = NULL;
    pthread_mutex_lock(&p->lock);
    while (!(s = find_idle(p, need, n))) pthread_cond_wait(&p->idle, &p->lock);
    s->busy = true;
    pthread_mutex_unlock(&p->lock);
    if (!has_all(s, need, n)) {
        pthread_mutex_lock(&p->making);
        st = want(s, need, n);
        if (st == CT_OK) st = begin(p, s);
        pthread_mutex_unlock(&p->making);
        s->ready = st == CT_OK;
    }
    if (st == CT_OK) {
        *out = s;
        return CT_OK;
    }
    slot_end(s);
    ct_pool_give(p, s);
    return st;
}

void ct_pool_give(ct_pool *p, ct_pool_slot *s)
{
    pthread_mutex_lock(&p->lock);
    s->busy = false;
    pthread_cond_signal(&p->idle);
    pthread_mutex_unlock(&p->lock);
}
