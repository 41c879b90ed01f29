#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/workers.h"

int ct_thread_start(pthread_t *t, void *(*run)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(t, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

typedef struct crew {
    pthread_mutex_t lock;
    int64_t n, next;       /* next: first item not handed out */
    ct_item_fn fn;
    void *user;
    ct_pace *pace;         /* of worker 0 */
    int64_t failed_item;   /* lowest, or n */
    ct_status failed;
    char message[4096];    /* of failed_item; recorded in the thread that noticed, wanted in the caller's */
} crew;

typedef struct crew_member {
    crew *c;
    int worker;
    pthread_t thread;
} crew_member;

static void work(crew *c, int worker)
{
    for (;;) {
        pthread_mutex_lock(&c->lock);
        int64_t i = c->failed == CT_OK && c->next < c->n ? c->next++ : -1;
        pthread_mutex_unlock(&c->lock);
        if (i < 0) return;
        if (worker == 0) ct_pace_say(c->pace, i);
        ct_status st = c->fn(c->user, worker, i);
        if (st == CT_OK) continue;
        pthread_mutex_lock(&c->lock);
        if (i < c->failed_item) {
            c->failed_item = i;
            c->failed = st;
            snprintf(c->message, sizeof c->message, "%s", ct_error_message());
        }
        pthread_mutex_unlock(&c->lock);
    }
}

static void *member_main(void *arg)
{
    crew_member *m = arg;
    work(m->c, m->worker);
    return NULL;
}

ct_status ct_parallel_for(int64_t n, int workers, ct_item_fn fn, void *user, ct_pace *pace)
{
    if (n <= 0) return CT_OK;
    if (workers > n) workers = (int)n;
    if (workers <= 1) {
        for (int64_t i = 0; i < n; i++) {
            ct_pace_say(pace, i);
            CT_TRY(fn(user, 0, i));
        }
        if (pace) pace->before += n;
        return CT_OK;
    }
    crew *c = ct_calloc(1, sizeof *c, "worker threads");
    crew_member *m = c ? ct_calloc((size_t)workers, sizeof *m, "worker threads") : NULL;
    if (!m) {
        ct_free(c);
        return CT_ENOMEM;
    }
    *c = (crew){ .n = n, .fn = fn, .user = user, .pace = pace, .failed_item = n };
    pthread_mutex_init(&c->lock, NULL);
    int started = 1; /* the caller is worker 0 */
    for (; started < workers; started++) {
        m[started] = (crew_member){ .c = c, .worker = started };
        if (ct_thread_start(&m[started].thread, member_main, &m[started]) != 0) break;
    }
    work(c, 0);
    for (int i = 1; i < started; i++) pthread_join(m[i].thread, NULL);
    ct_status st = c->failed;
    if (st != CT_OK) ct_fail(st, "%s", c->message);
    pthread_mutex_destroy(&c->lock);
    ct_free(m);
    ct_free(c);
    if (pace && st == CT_OK) pace->before += n;
    return st;
}
