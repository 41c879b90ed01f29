/* Groups of cards through NCCL, which is loaded when it is first needed: a training on one card works without it.
 *
 * The few declarations needed are written out here (they are part of NCCL's stable interface since 2.14), so that no header of its is
 * needed to build. Communicators are made non-blocking: a call that cannot finish says "in progress", and is asked after until it is
 * done or the deadline has passed. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/cuda.h"
#include "backends/cuda/nccl.h"
#include "base/env.h"

enum { DONE = 0, IN_PROGRESS = 7 };                     /* ncclResult_t */
enum { SUM = 0, MEAN = 4 };                             /* ncclRedOp_t; the mean since 2.10 */
enum { AT_ONCE = 16 };                                  /* questions without a sleep between them, and more within SPIN seconds */
#define SPIN 1e-4
enum { OLDEST = 21400 };                                /* 2.14: the first with non-blocking communicators */
typedef struct nccl_id { char internal[CT_COMM_ID]; } nccl_id; /* ncclUniqueId */
typedef struct nccl_comm nccl_comm;                     /* what ncclComm_t points to */

/* ncclConfig_t as of 2.14; later libraries read the size and take their defaults for what they have more. */
typedef struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
} nccl_config;

struct ct_comm {
    nccl_comm *c;
    int rank, size;
    double deadline; /* seconds a call may be in progress */
};

/* ---- the library ---- */

static struct {
    bool tried;
    void *lib;
    int version; /* 22809 */
    char why[256]; /* why it is not there */
    int (*get_version)(int *version);
    int (*get_id)(nccl_id *id);
    int (*init)(nccl_comm **c, int size, nccl_id id, int rank, nccl_config *config);
    int (*finalize)(nccl_comm *c);
    int (*destroy)(nccl_comm *c);
    int (*abort)(nccl_comm *c);
    int (*async_error)(nccl_comm *c, int *result);
    int (*all_reduce)(const void *from, void *to, size_t n, int type, int op, nccl_comm *c, cudaStream_t s);
    int (*broadcast)(const void *from, void *to, size_t n, int type, int root, nccl_comm *c, cudaStream_t s);
    const char *(*error_string)(int result);
    const char *(*last_error)(nccl_comm *c);
} nccl;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static bool find_symbols(void)
{
    const struct {
        const char *name;
        void *place; /* of the pointer to the function */
    } row[] = {
        { "ncclGetVersion", &nccl.get_version },
        { "ncclGetUniqueId", &nccl.get_id },
        { "ncclCommInitRankConfig", &nccl.init },
        { "ncclCommFinalize", &nccl.finalize },
        { "ncclCommDestroy", &nccl.destroy },
        { "ncclCommAbort", &nccl.abort },
        { "ncclCommGetAsyncError", &nccl.async_error },
        { "ncclAllReduce", &nccl.all_reduce },
        { "ncclBroadcast", &nccl.broadcast },
        { "ncclGetErrorString", &nccl.error_string },
        { "ncclGetLastError", &nccl.last_error },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        void *f = dlsym(nccl.lib, row[i].name);
        memcpy(row[i].place, &f, sizeof f); /* ISO C has no cast from an object's address to a function's */
        if (f) continue;
        snprintf(nccl.why, sizeof nccl.why, "it has no %s: an NCCL older than 2.14?", row[i].name);
        return false;
    }
    return true;
}

static void load(void)
{
    const char *given = ct_core->env(CT_ENV_NCCL), *file = given ? given : "libnccl.so.2";
    nccl.tried = true;
    nccl.lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!nccl.lib) {
        snprintf(nccl.why, sizeof nccl.why, "%s", dlerror());
        return;
    }
    if (find_symbols()) {
        if (nccl.get_version(&nccl.version) == DONE && nccl.version >= OLDEST) return;
        snprintf(nccl.why, sizeof nccl.why, "%s is NCCL %d, 2.14 or later is needed", file, nccl.version);
    }
    nccl.version = 0;
    dlclose(nccl.lib);
    nccl.lib = NULL;
}

static bool loaded(void)
{
    pthread_mutex_lock(&loading);
    if (!nccl.tried) load();
    const bool there = nccl.lib != NULL;
    pthread_mutex_unlock(&loading);
    return there;
}

static ct_status need(void)
{
    return loaded() ? CT_OK : ct_core->fail(CT_EBACKEND, "cuda: groups of cards need NCCL: %s", nccl.why);
}

void ct_cuda_nccl_version(char *buf, size_t size)
{
    buf[0] = '\0';
    if (loaded()) snprintf(buf, size, "NCCL %d.%d.%d", nccl.version / 10000, nccl.version / 100 % 100, nccl.version % 100);
}

/* ---- results ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ct_status failed(const ct_comm *c, int result, const char *what)
{
    const char *more = c && c->c ? nccl.last_error(c->c) : NULL;
    return ct_core->fail(CT_EBACKEND, "cuda: NCCL: %s: %s%s%s", what, nccl.error_string(result), more && *more ? ": " : "",
                         more ? more : "");
}

/* Asks after a call until it is no longer in progress: DONE, its error, or IN_PROGRESS still when the deadline has passed. A call in a
 * step is done within some microseconds and a sleep takes fifty at least, so the first questions follow each other at once. */
static int settle(const ct_comm *c, int result)
{
    const struct timespec pause = { .tv_nsec = 200000 };
    const double started = now();
    for (int asked = 0; result == IN_PROGRESS && now() - started < c->deadline; asked++) {
        if (asked >= AT_ONCE && now() - started > SPIN) nanosleep(&pause, NULL);
        int error = nccl.async_error(c->c, &result);
        if (error != DONE) return error;
    }
    return result;
}

static ct_status finish(const ct_comm *c, int result, const char *what)
{
    result = settle(c, result);
    if (result == DONE) return CT_OK;
    if (result != IN_PROGRESS) return failed(c, result, what);
    return ct_core->fail(CT_EBACKEND, "cuda: NCCL: %s: not done after %g s (member %d of %d)", what, c->deadline, c->rank, c->size);
}

/* ---- the table's functions ---- */

static ct_status group_id(unsigned char id[CT_COMM_ID])
{
    nccl_id made;
    ct_status st = need();
    if (st != CT_OK) return st;
    int result = nccl.get_id(&made);
    if (result != DONE) return failed(NULL, result, "naming a group");
    memcpy(id, made.internal, CT_COMM_ID);
    return CT_OK;
}

static void give_up(ct_comm *c)
{
    if (!c || !c->c) return;
    (void)nccl.abort(c->c); /* frees the communicator, too */
    c->c = NULL;
}

static ct_status create(ct_device *dev, const unsigned char id[CT_COMM_ID], int rank, int size, double deadline, ct_comm **out)
{
    nccl_config config = { .size = sizeof config, .magic = 0xcafebeef, .version = OLDEST, .blocking = 0 };
    nccl_id name;
    ct_status st = need();
    if (st != CT_OK) return st;
    CT_CUDA_TRY(cudaSetDevice(dev->index));
    ct_comm *c = ct_core->alloc(sizeof *c, "group of cards");
    if (!c) return CT_ENOMEM;
    *c = (ct_comm){ .rank = rank, .size = size, .deadline = deadline };
    memcpy(name.internal, id, CT_COMM_ID);
    int result = settle(c, nccl.init(&c->c, size, name, rank, &config));
    if (result == DONE) {
        *out = c;
        return CT_OK;
    }
    st = result == IN_PROGRESS
             ? ct_core->fail(CT_EBACKEND, "cuda: NCCL: after %g s not all %d members had joined (this is member %d, counted from 0)",
                             deadline, size, rank)
             : failed(c, result, "joining the group");
    give_up(c);
    ct_core->free(c);
    return st;
}

/* ncclDataType_t, -1: none. */
static int type_of(ct_dtype d)
{
    switch (d) {
    case CT_U8: return 1;
    case CT_I32: return 2;
    case CT_I64: return 4;
    case CT_F16: return 6;
    case CT_F32: return 7;
    case CT_F64: return 8;
    case CT_BF16: return 9;
    case CT_DTYPE_COUNT: break;
    }
    return -1;
}

static ct_status gone(const ct_comm *c)
{
    return ct_core->fail(CT_EBACKEND, "cuda: NCCL: the group of %d members was given up", c->size);
}

/* While the stream is captured the call is recorded, by a thread of the library: it is waited for here like any other. */
static ct_status all_reduce(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type, int op, const char *what)
{
    const int t = type_of(type);
    if (!c->c) return gone(c);
    if (t < 0) return ct_core->fail(CT_EINVAL, "cuda: NCCL: %s of elements of type %d", what, (int)type);
    return finish(c, nccl.all_reduce(buf, buf, (size_t)n, t, op, c->c, s->s), what);
}

static ct_status all_reduce_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    return all_reduce(c, s, buf, n, type, SUM, "a sum over the group");
}

static ct_status all_reduce_mean(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    return all_reduce(c, s, buf, n, type, MEAN, "a mean over the group");
}

static ct_status broadcast(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root)
{
    if (!c->c) return gone(c);
    return finish(c, nccl.broadcast(buf, buf, (size_t)bytes, type_of(CT_U8), root, c->c, s->s), "sending to the group");
}

static ct_status check(ct_comm *c)
{
    int result = DONE;
    if (!c->c) return gone(c);
    int error = nccl.async_error(c->c, &result);
    if (error != DONE) return failed(c, error, "asking after the group");
    return result == DONE || result == IN_PROGRESS ? CT_OK : failed(c, result, "a member of the group");
}

/* Leaves in peace where all are there, by force where that takes longer than the deadline. */
static void destroy(ct_comm *c)
{
    if (!c) return;
    if (c->c && settle(c, nccl.finalize(c->c)) == DONE) {
        (void)nccl.destroy(c->c);
        c->c = NULL;
    }
    give_up(c);
    ct_core->free(c);
}

const ct_comm_ops ct_cuda_comm = {
    .id = group_id,
    .create = create,
    .all_reduce_sum = all_reduce_sum,
    .broadcast = broadcast,
    .check = check,
    .abort = give_up,
    .destroy = destroy,
    .all_reduce_mean = all_reduce_mean,
    .ready = need,
};
