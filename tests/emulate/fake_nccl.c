/* A stand-in for NCCL: the members of a group are threads of one process, streams run at once, and what goes wrong is chosen by
 * fake_nccl_mode(). Knows one group at a time. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulate/fake_nccl.h"

enum { MOST = 8 };

struct fake_comm { int rank, size, asked, sums, questions; };

static struct {
    char mode[16]; /* "": all is well */
    int aborted, destroyed, finalized;
    int joined;
    const void *part[MOST];
    int waiting;
    unsigned round;
} fake;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;

/* "": works; "alone": joining is never done; "refuse": joining fails; "lost": the second sum reports, later, a lost member; "stuck": sums are
 * never done; "stay": finalizing is never done; "slow": what is called is done at the tenth question. Forgets what was counted. */
void fake_nccl_mode(const char *mode);
void fake_nccl_counts(int *aborted, int *finalized, int *destroyed);

static int is(const char *mode) { return strcmp(fake.mode, mode) == 0; }

void fake_nccl_mode(const char *mode)
{
    memset(&fake, 0, sizeof fake);
    strncpy(fake.mode, mode, sizeof fake.mode - 1);
}

void fake_nccl_counts(int *aborted, int *finalized, int *destroyed)
{
    *aborted = fake.aborted;
    *finalized = fake.finalized;
    *destroyed = fake.destroyed;
}

int ncclGetVersion(int *version) { return *version = 22809, DONE; }
int ncclGetUniqueId(fake_id *id) { return memset(id, 42, sizeof *id), DONE; }

#ifndef FAKE_NCCL_OLD
int ncclCommInitRankConfig(fake_comm **c, int size, fake_id id, int rank, fake_config *config)
{
    if (config->magic != 0xcafebeef || config->size < 20 || config->blocking != 0 || id.internal[127] != 42 || size > MOST) return INVALID;
    if (!(*c = calloc(1, sizeof **c))) return INTERNAL;
    (*c)->rank = rank;
    (*c)->size = size;
    pthread_mutex_lock(&lock);
    fake.joined++;
    pthread_mutex_unlock(&lock);
    return is("refuse") ? REMOTE : IN_PROGRESS;
}
#endif

int ncclCommGetAsyncError(fake_comm *c, int *result)
{
    pthread_mutex_lock(&lock);
    const int all = fake.joined >= c->size;
    pthread_mutex_unlock(&lock);
    *result = !all || is("alone") || is("stuck") ? IN_PROGRESS : is("lost") && c->sums >= 2 ? REMOTE : DONE;
    if (is("stuck") && c->sums == 0) *result = all ? DONE : IN_PROGRESS;
    if (is("slow") && ++c->questions % 10 != 0) *result = IN_PROGRESS;
    if (is("stay") && c->asked) *result = IN_PROGRESS;
    return DONE;
}

int ncclCommFinalize(fake_comm *c)
{
    pthread_mutex_lock(&lock);
    fake.finalized++;
    c->asked = 1;
    pthread_mutex_unlock(&lock);
    return IN_PROGRESS;
}

int ncclCommDestroy(fake_comm *c)
{
    pthread_mutex_lock(&lock);
    fake.destroyed++;
    pthread_mutex_unlock(&lock);
    return free(c), DONE;
}

int ncclCommAbort(fake_comm *c)
{
    pthread_mutex_lock(&lock);
    fake.aborted++;
    pthread_mutex_unlock(&lock);
    return free(c), DONE;
}

/* All members meet here. */
static void meet(int size)
{
    pthread_mutex_lock(&lock);
    const unsigned round = fake.round;
    if (++fake.waiting == size) {
        fake.waiting = 0;
        fake.round++;
        pthread_cond_broadcast(&met);
    }
    while (fake.round == round) pthread_cond_wait(&met, &lock);
    pthread_mutex_unlock(&lock);
}

static double element(const void *p, int type, size_t i)
{
    return type == 8 ? ((const double *)p)[i] : type == 7 ? (double)((const float *)p)[i] : (double)((const int32_t *)p)[i];
}

static void put(void *p, int type, size_t i, double v)
{
    if (type == 8) ((double *)p)[i] = v;
    else if (type == 7) ((float *)p)[i] = (float)v;
    else ((int32_t *)p)[i] = (int32_t)v;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, fake_comm *c, void *stream)
{
    (void)stream;
    if (op != 0 || (type != 2 && type != 7 && type != 8)) return INVALID;
    c->sums++;
    if (is("stuck")) return IN_PROGRESS;
    double *sum = malloc(n * sizeof *sum);
    if (!sum) return INTERNAL;
    fake.part[c->rank] = from;
    meet(c->size);
    for (size_t i = 0; i < n; i++) {
        sum[i] = element(fake.part[0], type, i);
        for (int k = 1; k < c->size; k++) {
            double v = element(fake.part[k], type, i);
            sum[i] += v;
        }
    }
    meet(c->size);
    for (size_t i = 0; i < n; i++) put(to, type, i, sum[i]);
    free(sum);
    meet(c->size);
    return is("lost") ? DONE : IN_PROGRESS;
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, fake_comm *c, void *stream)
{
    (void)stream;
    if (type != 1) return INVALID;
    fake.part[c->rank] = from;
    meet(c->size);
    if (c->rank != root) memcpy(to, fake.part[root], n);
    meet(c->size);
    return IN_PROGRESS;
}

const char *ncclGetErrorString(int result)
{
    return result == REMOTE ? "remote process exited or there was a network error" : result == INVALID ? "invalid argument" : "internal error";
}
const char *ncclGetLastError(fake_comm *c) { return (void)c, "fake: no more to say"; }
