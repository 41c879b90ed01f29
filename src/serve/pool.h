/* Sessions of one model, one for each read that goes on at a time. */
#ifndef CT_SERVE_POOL_H
#define CT_SERVE_POOL_H

#include <pthread.h>

#include "session/session.h"
#include "weights/checkpoint.h"

/* A program that a read needs: so many samples of one length. */
typedef struct ct_pool_need {
    int64_t length; /* as ct_session_add() */
    int64_t rows;
} ct_pool_need;

typedef struct ct_pool_slot {
    ct_session session;
    bool busy, ready;   /* ready: the session can run what is in have */
    ct_pool_need *have; /* [n] its programs */
    size_t n, cap;
} ct_pool_slot;

typedef struct ct_pool {
    const char *path; /* of the file, for messages */
    ct_model_file *file;
    ct_common common;
    ct_pool_slot *slot; /* [slots] */
    int slots;
    pthread_mutex_t lock;   /* over busy */
    pthread_cond_t idle;    /* a slot is */
    pthread_mutex_t making; /* the file is read by one at a time */
} ct_pool;

/* path, file and what common points to stay the caller's and must outlive the pool. */
ct_status ct_pool_make(ct_pool *p, const char *path, ct_model_file *file, const ct_common *common, int slots);
void ct_pool_free(ct_pool *p); /* one that was not made, zeroed, is fine */
/* The programs that the samples of a set need, in batches of at most `batch`; clips (clip not NULL) come one by one.
 * *out [*n]: ct_free(). */
ct_status ct_pool_needs(const ct_dataset *ds, const ct_clip_rule *clip, int64_t batch, ct_pool_need **out, size_t *n);
/* A session that can run all of need [n], n at least 1, for the caller alone until ct_pool_give(); waits for one. What
 * it lacks is planned anew, with the programs that it has. */
ct_status ct_pool_take(ct_pool *p, const ct_pool_need *need, size_t n, ct_pool_slot **out);
void ct_pool_give(ct_pool *p, ct_pool_slot *slot);

#endif
