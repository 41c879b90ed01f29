/* Sums of processes of one machine, in memory that all of them map: no copy of MPI's is made, and each member adds for
 * its share of the elements what all have.
 *
 * Every member makes one piece of memory without a name and tells the others where they find it (/proc/PID/fd/N), so
 * nothing is left behind by whoever dies, and no size of /dev/shm limits it. A piece holds two counters, room for short
 * sums of memory that lies elsewhere, and the memory that the executor asked for, at the same place in each. Behind
 * that of member 0 lies what the executor wants to be the same for all.
 *
 * All members begin the same calls in the same order. `posted` counts those whose numbers are there, `added` those
 * that its member has done its part of; both are written by that member alone, behind what they stand for (release),
 * and read before it is used (acquire). A long call is cut into shares: a member reads its share of all and writes the
 * sum to all. A short one each member adds for itself. Nothing here waits: who waits asks again, as with messages.
 *
 * The order of additions is that of the tree of messages (comm.c): members 2k and 2k + 1, then pairs of these, ..., the
 * last without another one as it is. For powers of two these are the bits that messages give. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "backends/mpi/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    LINE = 64,         /* bytes that processors pass around */
    PAGE = 4096,
    ROOM = 1 << 20,    /* for short sums that are on their way at once */
    SHORT = ROOM / 4,  /* bytes of the longest of them */
    BLOCK = 8192,      /* bytes that are added at a time, out of the first cache */
    LEVELS = 32
};

typedef struct head {
    uint64_t nonce; /* written before the others hear of it by message */
    _Alignas(LINE) _Atomic uint64_t posted;
    _Alignas(LINE) _Atomic uint64_t added;
} head;

/* A call that some member may not be done with. */
typedef struct call {
    char *buf;     /* of a short one; NULL: the numbers lie in the shared memory */
    int64_t at;    /* place in each member's piece */
    int64_t n;     /* elements */
    ct_dtype type;
    uint64_t end;  /* bytes of the room that were ever taken when it had its own */
} call;

struct ct_shared {
    int members;
    int fd;        /* -1: all have it mapped */
    char **piece;  /* [members] */
    size_t own;    /* bytes of it that are lent of every piece */
    size_t size;   /* bytes of a piece, with those that are common: member 0's, of the others never touched */
    bool lent;     /* the memory in it is the executor's, until ct_shared_release() */
    bool left;     /* by its group */
    call *call;    /* [room], call number i at i % room */
    uint64_t room, begun, posted, added, over; /* numbers of calls: `over` are those that all members are done with */
    uint64_t last; /* of the calls that are shared out: the number behind the last one */
    uint64_t taken, gone; /* bytes of the room that were ever taken, and of them those that nobody needs any more */
    char *block;   /* [LEVELS][BLOCK] */
    struct ct_shared *next;
};

static ct_shared *all; /* whose memory was lent */

static head *head_of(const ct_shared *s, int member) { return (head *)(void *)s->piece[member]; }

static int64_t element(ct_dtype type) { return type == CT_F64 ? 8 : 4; }

/* ---- making ---- */

/* This machine, and the processes that can be seen: only those with the same words may open each other's files. */
static void name_place(char *text, size_t size)
{
    struct utsname u;
    struct stat ids = { .st_ino = 0 };
    char boot[40] = "";
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t n = read(fd, boot, sizeof boot - 1);
        boot[n > 0 ? n : 0] = '\0';
        boot[strcspn(boot, "\n")] = '\0';
        close(fd);
    }
    if (uname(&u) != 0) u.nodename[0] = '\0';
    if (stat("/proc/self/ns/pid", &ids) != 0) ids.st_ino = 0;
    snprintf(text, size, "%.150s %s %llu", u.nodename, boot, (unsigned long long)ids.st_ino);
}

static uint64_t draw_nonce(void)
{
    const double now = ct_mpi_now();
    uint64_t x;
    memcpy(&x, &now, sizeof x);
    return (x ^ (uint64_t)getpid() << 32) * 0x9e3779b97f4a7c15u | 1;
}

/* This member's own piece; what is wrong goes to card->no, which all will read. */
static void make_piece(ct_shared *s, ct_shared_card *card)
{
    const char *wish = ct_mpi_core->env(CT_ENV_SHARED);
    name_place(card->place, sizeof card->place);
    card->pid = (int32_t)getpid();
    card->size = s->size;
    card->nonce = draw_nonce();
    if (wish && strcmp(wish, "0") == 0) {
        snprintf(card->no, sizeof card->no, "CAPTRAIN_SHARED is 0");
        return;
    }
    s->fd = memfd_create("captrain-sums", MFD_CLOEXEC);
    char *p = MAP_FAILED;
    if (s->fd >= 0 && ftruncate(s->fd, (off_t)s->size) == 0)
        p = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (p == MAP_FAILED) {
        snprintf(card->no, sizeof card->no, "%zu bytes of memory to share: %s", s->size, strerror(errno));
        return;
    }
    card->fd = s->fd;
    s->piece[ct_mpi.rank] = p;
    head_of(s, ct_mpi.rank)->nonce = card->nonce;
}

ct_shared *ct_shared_new(const ct_comm_memory *m, ct_shared_card *card)
{
    ct_shared *s = ct_mpi_core->alloc(sizeof *s, "shared sums of a group");
    memset(card, 0, sizeof *card);
    snprintf(card->no, sizeof card->no, "out of memory");
    if (!s) return NULL;
    *s = (ct_shared){ .members = ct_mpi.size, .fd = -1, .room = 64, .own = m->own };
    s->size = (PAGE + ROOM + m->own + m->common + PAGE - 1) / PAGE * PAGE;
    s->piece = ct_mpi_core->alloc((size_t)s->members * sizeof *s->piece, "shared sums of a group");
    s->call = ct_mpi_core->alloc(s->room * sizeof *s->call, "shared sums of a group");
    s->block = ct_mpi_core->alloc((size_t)LEVELS * BLOCK, "shared sums of a group");
    if (s->piece) memset(s->piece, 0, (size_t)s->members * sizeof *s->piece);
    if (!s->piece || !s->call || !s->block) {
        ct_shared_free(s);
        return NULL;
    }
    card->no[0] = '\0';
    make_piece(s, card);
    return s;
}

static const char *map_one(ct_shared *s, int member, const ct_shared_card *card)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)card->pid, (int)card->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    char *p = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const char *why = p == MAP_FAILED ? strerror(errno) : NULL;
    close(fd);
    if (why) return why;
    s->piece[member] = p;
    return head_of(s, member)->nonce == card->nonce ? NULL : "it is another's";
}

void ct_shared_map(ct_shared *s, const ct_shared_card *cards, char *no, size_t size)
{
    const ct_shared_card *mine = &cards[ct_mpi.rank];
    no[0] = '\0';
    for (int i = 0; i < s->members; i++) {
        const ct_shared_card *c = &cards[i];
        const char *why = NULL;
        if (*c->no) snprintf(no, size, "member %d: %s", i, c->no);
        else if (strcmp(c->place, mine->place) != 0) snprintf(no, size, "they are not all on one machine");
        else if (c->size != mine->size) snprintf(no, size, "member %d has another number of gradients", i);
        else if (i != ct_mpi.rank && (why = map_one(s, i, c)) != NULL)
            snprintf(no, size, "the memory of member %d at member %d: %s", i, ct_mpi.rank, why);
        if (*no) return;
    }
}

/* Behind the agreement that all have mapped all. */
void ct_shared_begin(ct_shared *s, void **mine, void **common)
{
    close(s->fd);
    s->fd = -1;
    if (s->own == 0) return;
    s->lent = true;
    s->next = all;
    all = s;
    *mine = s->piece[ct_mpi.rank] + PAGE + ROOM;
    *common = s->piece[0] + PAGE + ROOM + s->own;
}

static void forget(ct_shared *s)
{
    for (int i = 0; i < s->members && s->piece; i++)
        if (s->piece[i]) munmap(s->piece[i], s->size);
    if (s->fd >= 0) close(s->fd);
    ct_mpi_core->free(s->piece);
    ct_mpi_core->free(s->call);
    ct_mpi_core->free(s->block);
    ct_mpi_core->free(s);
}

/* What is lent stays. */
void ct_shared_free(ct_shared *s)
{
    if (!s) return;
    s->left = true;
    if (!s->lent) forget(s);
}

void ct_shared_release(void *p)
{
    for (ct_shared **link = &all; *link; link = &(*link)->next) {
        ct_shared *s = *link;
        if (s->piece[ct_mpi.rank] + PAGE + ROOM != (char *)p) continue;
        *link = s->next;
        s->lent = false;
        if (s->left) forget(s);
        return;
    }
}

/* ---- adding ---- */

/* In the same place or not: out may be a. */
static void add(ct_dtype type, void *out, const void *a, const void *b, int64_t n)
{
    if (type == CT_F64) {
        double *o = out;
        const double *x = a, *y = b;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) o[i] = x[i] + y[i];
    } else {
        float *o = out;
        const float *x = a, *y = b;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) o[i] = x[i] + y[i];
    }
}

/* The sum over `count` members from `first` on of n elements at `at`, which fit into a block; it lies in `block` or, of
 * one member, where that has it. */
static const char *tree(const ct_shared *s, const call *c, int64_t at, int64_t n, int first, int count, char *block)
{
    int half = 1;
    if (count == 1) return s->piece[first] + at;
    while (2 * half < count) half *= 2;
    const char *a = tree(s, c, at, n, first, half, block);
    const char *b = tree(s, c, at, n, first + half, count - half, block + BLOCK);
    add(c->type, block, a, b, n);
    return block;
}

/* This member's part of a call: all of a short one, of another its share, in whole lines. */
static void add_part(ct_shared *s, const call *c)
{
    const int64_t size = element(c->type), line = LINE / size, lines = (c->n + line - 1) / line;
    int64_t from = 0, end = c->n;
    if (!c->buf) {
        from = lines * ct_mpi.rank / s->members * line;
        end = lines * (ct_mpi.rank + 1) / s->members * line;
        if (end > c->n) end = c->n;
    }
    for (int64_t i = from; i < end; i += BLOCK / size) {
        const int64_t n = end - i < BLOCK / size ? end - i : BLOCK / size;
        const char *sum = tree(s, c, c->at + i * size, n, 0, s->members, s->block);
        if (c->buf) memcpy(c->buf + i * size, sum, (size_t)(n * size));
        for (int k = 0; k < s->members && !c->buf; k++)
            memcpy(s->piece[k] + c->at + i * size, sum, (size_t)(n * size));
    }
}

/* ---- calls ---- */

/* Room for one call more. */
static ct_status make_room(ct_shared *s)
{
    if (s->begun - s->over < s->room) return CT_OK;
    call *longer = ct_mpi_core->alloc(2 * s->room * sizeof *longer, "shared sums of a group");
    if (!longer) return CT_ENOMEM;
    for (uint64_t i = s->over; i < s->begun; i++) longer[i % (2 * s->room)] = s->call[i % s->room];
    ct_mpi_core->free(s->call);
    s->call = longer;
    s->room *= 2;
    return CT_OK;
}

/* Which way a sum goes is the same for all members: their memory lies alike. */
bool ct_shared_takes(const ct_shared *s, const void *buf, int64_t n, ct_dtype type)
{
    if (type != CT_F32 && type != CT_F64) return false;
    const char *first = s->piece[ct_mpi.rank] + PAGE + ROOM, *end = first + s->own, *p = buf;
    const int64_t bytes = n * element(type);
    return bytes <= SHORT || (p >= first && p < end && bytes <= end - p);
}

/* Whether nobody needs any more what lay in the room where call number i is to lie. */
static bool has_room(const ct_shared *s, uint64_t i)
{
    return s->call[i % s->room].end - s->gone <= ROOM;
}

/* Shows the others the numbers of calls that have begun. */
static void post(ct_shared *s)
{
    head *mine = head_of(s, ct_mpi.rank);
    while (s->posted < s->begun && has_room(s, s->posted)) {
        const call *c = &s->call[s->posted % s->room];
        if (c->buf) memcpy(s->piece[ct_mpi.rank] + c->at, c->buf, (size_t)(c->n * element(c->type)));
        atomic_store_explicit(&mine->posted, ++s->posted, memory_order_release);
    }
}

ct_status ct_shared_sum(ct_shared *s, void *buf, int64_t n, ct_dtype type)
{
    const char *mine = s->piece[ct_mpi.rank];
    CT_TRY(make_room(s));
    call *c = &s->call[s->begun % s->room];
    *c = (call){ .n = n, .type = type, .end = s->taken };
    if ((char *)buf >= mine + PAGE + ROOM && (char *)buf < mine + PAGE + ROOM + s->own) {
        c->at = (char *)buf - mine;
        s->last = s->begun + 1;
    } else {
        const uint64_t bytes = (uint64_t)(n * element(type) + LINE - 1) / LINE * LINE;
        if (s->taken % ROOM + bytes > ROOM) s->taken += ROOM - s->taken % ROOM; /* in one piece */
        c->buf = buf;
        c->at = PAGE + (int64_t)(s->taken % ROOM);
        c->end = s->taken += bytes;
    }
    s->begun++;
    post(s); /* adding is left to those who ask after it: a call only queues */
    return CT_OK;
}

static uint64_t least(const ct_shared *s, bool added)
{
    uint64_t n = UINT64_MAX;
    for (int i = 0; i < s->members; i++) {
        head *h = head_of(s, i);
        const uint64_t k = atomic_load_explicit(added ? &h->added : &h->posted, memory_order_acquire);
        if (k < n) n = k;
    }
    return n;
}

static void note_over(ct_shared *s)
{
    const uint64_t over = least(s, true);
    if (over == s->over) return;
    s->over = over;
    s->gone = s->call[(over - 1) % s->room].end;
}

void ct_shared_advance(ct_shared *s)
{
    head *mine = head_of(s, ct_mpi.rank);
    if (s->over == s->begun) return;
    note_over(s);
    post(s);
    for (const uint64_t there = least(s, false); s->added < there && s->added < s->begun;) {
        add_part(s, &s->call[s->added % s->room]);
        atomic_store_explicit(&mine->added, ++s->added, memory_order_release);
    }
    note_over(s);
}

bool ct_shared_done(const ct_shared *s)
{
    return s->added == s->begun && s->over >= s->last;
}
