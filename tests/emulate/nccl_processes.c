/* A stand-in for NCCL whose members are processes, each with an emulated card: they share a piece of memory that the group's name
 * leads to. A call is queued in the emulated stream, is recorded where that is captured, and keeps its stream where it is until all members have
 * come to it: the host goes on meanwhile, as with a card. Members add in the order of ranks, so all have the same bits.
 *
 * As the library: a member that is gone is not noticed, what waits for it waits until the communicator is aborted; one that ends in peace while
 * recorded calls still hold it would wait for ever, which is an error here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "tests/emulate/fake_nccl.h"

enum { SUM = 0, MEAN = 4, SEND = -1 };
enum { U8 = 1, F32 = 7, F64 = 8 };
enum { MOST = 8, CHUNK = 1 << 20 };

/* Chunk number k of all that the group ever moves lies in slot k % 2 of each member. */
typedef struct shared {
    _Atomic int joined;
    struct { _Atomic uint64_t given, taken; } member[MOST]; /* chunks */
    char slot[MOST][2][CHUNK];
} shared;

struct fake_comm {
    char name[sizeof(fake_id)];
    shared *s;
    int rank, size, refs, recorded, pending, aborted;
    uint64_t next; /* chunk of the next call that runs */
};

typedef struct call {
    fake_comm *c;
    int op, type, root, recorded;
    const char *from;
    char *to;
    size_t bytes, at; /* of all; done */
    uint64_t chunk;
    int running, given;
} call;

/* ---- the emulated card, which was loaded for itself alone ---- */

static int (*enqueue)(void *stream, int (*step)(void *), void (*drop)(void *), void *arg);

static int look(struct dl_phdr_info *i, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!strstr(i->dlpi_name, "captrain-cuda.so")) return 0;
    void *lib = dlopen(i->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    void *f = lib ? dlsym(lib, "emu_enqueue") : NULL;
    memcpy(&enqueue, &f, sizeof f);
    return f != NULL;
}

/* ---- calls ---- */

static void release(fake_comm *c)
{
    if (--c->refs > 0) return;
    munmap(c->s, sizeof *c->s);
    free(c);
}

static size_t width(int type) { return type == F64 ? 8 : type == F32 ? 4 : 1; }

static void add_up(const call *k, size_t bytes, int slot)
{
    const fake_comm *c = k->c;
    const size_t n = bytes / width(k->type);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int m = 0; m < c->size; m++) {
            const char *part = c->s->slot[m][slot];
            sum += k->type == F64 ? ((const double *)(const void *)part)[i] : (double)((const float *)(const void *)part)[i];
        }
        if (k->op == MEAN) sum /= c->size;
        if (k->type == F64) ((double *)(void *)(k->to + k->at))[i] = sum;
        else ((float *)(void *)(k->to + k->at))[i] = (float)sum;
    }
}

static int all_beyond(const fake_comm *c, int given, uint64_t k)
{
    for (int m = 0; m < c->size; m++)
        if ((given ? c->s->member[m].given : c->s->member[m].taken) < k) return 0;
    return 1;
}

/* Goes as far as it can; 1: to its end. */
static int step(void *arg)
{
    call *k = arg;
    fake_comm *c = k->c;
    if (!k->running) {
        k->running = 1;
        k->chunk = c->next;
        c->next += (k->bytes + CHUNK - 1) / CHUNK;
        k->at = 0;
    }
    while (k->at < k->bytes && !c->aborted) {
        const size_t left = k->bytes - k->at, bytes = left < CHUNK ? left : CHUNK;
        const int slot = (int)(k->chunk % 2);
        if (!k->given) {
            if (k->chunk > 0 && !all_beyond(c, 0, k->chunk - 1)) return 0; /* somebody still reads this slot */
            if (k->op != SEND || k->root == c->rank) memcpy(c->s->slot[c->rank][slot], k->from + k->at, bytes);
            c->s->member[c->rank].given = k->chunk + 1;
            k->given = 1;
        }
        if (!all_beyond(c, 1, k->chunk + 1)) return 0;
        if (k->op != SEND) add_up(k, bytes, slot);
        else if (k->root != c->rank) memcpy(k->to + k->at, c->s->slot[k->root][slot], bytes);
        c->s->member[c->rank].taken = k->chunk + 1;
        k->given = 0;
        k->chunk++;
        k->at += bytes;
    }
    k->running = k->given = 0;
    if (!k->recorded) c->pending--;
    return 1;
}

static void drop(void *arg)
{
    call *k = arg;
    k->c->recorded -= k->recorded;
    release(k->c);
    free(k);
}

static int queue(const call *as, void *stream)
{
    call *k = malloc(sizeof *k);
    if (!k) return INTERNAL;
    *k = *as;
    k->c->refs++;
    k->c->pending++;
    if (!enqueue(stream, step, drop, k)) return IN_PROGRESS; /* which may have ended and gone */
    k->recorded = 1;
    k->c->recorded++;
    k->c->pending--;
    return IN_PROGRESS;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, fake_comm *c, void *stream)
{
    if ((op != SUM && op != MEAN) || (type != F32 && type != F64)) return INVALID;
    return queue(&(call){ .c = c, .op = op, .type = type, .from = from, .to = to, .bytes = n * width(type) }, stream);
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, fake_comm *c, void *stream)
{
    if (type != U8 || root < 0 || root >= c->size) return INVALID;
    return queue(&(call){ .c = c, .op = SEND, .type = type, .root = root, .from = from, .to = to, .bytes = n }, stream);
}

/* ---- communicators ---- */

int ncclGetVersion(int *version) { return *version = 22809, DONE; }

int ncclGetUniqueId(fake_id *id)
{
    unsigned char random[16];
    memset(id, 0, sizeof *id);
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return SYSTEM;
    strcpy(id->internal, "/fake-nccl-");
    for (size_t i = 0; i < sizeof random; i++) sprintf(id->internal + strlen(id->internal), "%02x", random[i]);
    return DONE;
}

int ncclCommInitRankConfig(fake_comm **out, int size, fake_id id, int rank, fake_config *config)
{
    if (config->magic != 0xcafebeef || config->size < 20 || config->blocking != 0 || size > MOST || rank < 0 || rank >= size ||
        strncmp(id.internal, "/fake-nccl-", 11) != 0)
        return INVALID;
    if (!enqueue) dl_iterate_phdr(look, NULL);
    fake_comm *c = enqueue ? calloc(1, sizeof *c) : NULL;
    if (!c) return INTERNAL;
    snprintf(c->name, sizeof c->name, "%s", id.internal);
    c->rank = rank;
    c->size = size;
    c->refs = 1;
    const int fd = shm_open(c->name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *c->s) != 0) return free(c), SYSTEM;
    c->s = mmap(NULL, sizeof *c->s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c->s == MAP_FAILED) return free(c), SYSTEM;
    if (++c->s->joined == size) shm_unlink(c->name);
    *out = c;
    return IN_PROGRESS;
}

int ncclCommGetAsyncError(fake_comm *c, int *result)
{
    return *result = c->s->joined < c->size ? IN_PROGRESS : DONE, DONE;
}

int ncclCommFinalize(fake_comm *c) { return (void)c, IN_PROGRESS; }

int ncclCommDestroy(fake_comm *c)
{
    if (c->recorded || c->pending) {
        fprintf(stderr, "fake NCCL: a communicator that %d recorded calls hold, and %d are queued on, is destroyed\n", c->recorded, c->pending);
        abort();
    }
    return release(c), DONE;
}

int ncclCommAbort(fake_comm *c)
{
    c->aborted = 1;
    shm_unlink(c->name); /* where not all have come */
    return release(c), DONE;
}

const char *ncclGetErrorString(int result)
{
    return result == SYSTEM ? "unhandled system error" : result == INVALID ? "invalid argument" : "internal error";
}
const char *ncclGetLastError(fake_comm *c) { return (void)c, "fake: no more to say"; }
