#include "config.h"

#include "group/star.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { NEW = 32, NAME = 96, WHY = 400 };
#define MAGIC "captrain star 1" /* with its end 16 bytes */
#define SILENT 5.0              /* seconds in which who connects has to say who he is */

/* What a process says first, and what it is told: WELCOME, then BEGIN when all are there; or why not. */
typedef struct hello {
    char magic[16];
    uint32_t rank, size;
    char run[NAME];
} hello;
enum verdict { WELCOME, BEGIN, OTHER_RUN, OTHER_SIZE, TAKEN, OVER };
typedef struct answer {
    char magic[16];
    uint32_t verdict, size;
    char why[WHY]; /* OVER */
} answer;

/* In front of what is told. */
typedef struct head {
    uint64_t magic, number, bytes;
} head;
#define HEAD UINT64_C(0x6c6c65742e747063)

/* A connection, and how far what goes over it has come. */
typedef struct line {
    int fd;      /* -1: none */
    size_t done; /* bytes of head and what follows it */
    head head;
} line;

/* Who has connected and not said yet who he is. */
typedef struct stranger {
    int fd;
    size_t got;
    double since;
    hello hello;
} stranger;

struct ct_star {
    int rank, size;
    line *line; /* [size]: of process 0 those to all others, of others line[0] */
    struct pollfd *poll; /* [size + NEW + 1] */
    uint64_t number; /* of what is told next */
    const ct_patience *patience;
    bool broke;
};

/* ---- sockets ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void settle_options(int fd)
{
    const int on = 1;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static bool would_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* "" for what cannot be found out, which is told then as a failure of its own. */
static struct addrinfo *look_up(const char *address, int port, bool any, char why[WHY])
{
    char number[16];
    struct addrinfo *list = NULL;
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
                                    .ai_flags = any ? AI_PASSIVE : 0 };
    snprintf(number, sizeof number, "%d", port);
    const int code = getaddrinfo(any ? NULL : address, number, &hints, &list);
    if (code == 0) return list;
    snprintf(why, WHY, "%s", gai_strerror(code));
    return NULL;
}

static int listen_on(const struct addrinfo *a)
{
    const int on = 1, off = 0;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 128) == 0) return settle_options(fd), fd;
    const int err = errno;
    close(fd);
    errno = err;
    return -1;
}

/* Where all are on this machine its address alone is listened at, else all are. IPv6 first, which takes IPv4 along. */
static int open_port(const ct_star_at *at, char why[WHY])
{
    int fd = -1;
    for (int any = at->here ? 0 : 1; any < 2 && fd < 0; any++) {
        struct addrinfo *list = look_up(at->address, at->port, any, why);
        if (!list) return -1;
        for (int six = 1; six >= 0 && fd < 0; six--)
            for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
                if ((a->ai_family == AF_INET6) != six || (fd = listen_on(a)) >= 0) continue;
                snprintf(why, WHY, "%s", strerror(errno));
                if (errno != EADDRINUSE) continue;
                freeaddrinfo(list); /* at another address of this machine the others would not look first */
                return -1;
            }
        freeaddrinfo(list);
    }
    return fd;
}

/* ---- process 0 meets the others ---- */

typedef struct meeting {
    ct_star *s;
    const ct_star_at *at;
    stranger from[NEW];
    int there; /* processes, with this one */
} meeting;

static void tell(int fd, enum verdict v, int size, const char *why)
{
    answer a = { .magic = MAGIC, .verdict = v, .size = (uint32_t)size };
    snprintf(a.why, sizeof a.why, "%s", why);
    /* so little finds room in a connection that has carried nothing yet */
    (void)!send(fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Somebody has said who he is. */
static void judge_hello(meeting *m, stranger *x)
{
    const ct_star_at *at = m->at;
    const hello *h = &x->hello;
    enum verdict v = WELCOME;
    if (strncmp(h->run, at->run, sizeof h->run) != 0) v = OTHER_RUN;
    else if (h->size != (uint32_t)at->size) v = OTHER_SIZE;
    else if (h->rank == 0 || h->rank >= h->size || m->s->line[h->rank].fd >= 0) v = TAKEN;
    tell(x->fd, v, at->size, "");
    if (v == WELCOME) {
        m->s->line[h->rank].fd = x->fd;
        m->there++;
        x->fd = -1;
    } else {
        close_fd(&x->fd);
    }
}

static void hear_stranger(meeting *m, stranger *x)
{
    const ssize_t n = recv(x->fd, (char *)&x->hello + x->got, sizeof x->hello - x->got, 0);
    if (n < 0 && would_wait()) return;
    if (n > 0) x->got += (size_t)n;
    const size_t seen = x->got < sizeof x->hello.magic ? x->got : sizeof x->hello.magic;
    if (n <= 0 || memcmp(x->hello.magic, MAGIC, seen) != 0) close_fd(&x->fd);
    else if (x->got == sizeof x->hello) judge_hello(m, x);
}

/* Takes the place of the one that has been silent for longest, where there is no other. */
static void let_in(meeting *m, int fd)
{
    stranger *place = &m->from[0];
    for (int i = 1; i < NEW && place->fd >= 0; i++)
        if (m->from[i].fd < 0 || m->from[i].since < place->since) place = &m->from[i];
    close_fd(&place->fd);
    settle_options(fd);
    *place = (stranger){ .fd = fd, .since = ct_now() };
}

/* A process that came and went is missing again. */
static void look_after(meeting *m, int rank)
{
    char byte;
    line *l = &m->s->line[rank];
    const ssize_t n = recv(l->fd, &byte, 1, MSG_PEEK);
    if (n > 0 || (n < 0 && would_wait())) return;
    close_fd(&l->fd);
    m->there--;
}

static void meet_for_a_while(meeting *m, int port)
{
    ct_star *s = m->s;
    struct pollfd *p = s->poll;
    for (int i = 0; i < s->size; i++) p[i] = (struct pollfd){ .fd = s->line[i].fd, .events = POLLIN };
    for (int i = 0; i < NEW; i++) p[s->size + i] = (struct pollfd){ .fd = m->from[i].fd, .events = POLLIN };
    p[s->size + NEW] = (struct pollfd){ .fd = port, .events = POLLIN };
    if (poll(p, (nfds_t)(s->size + NEW + 1), 100) <= 0) return;
    for (int i = 0; i < s->size; i++)
        if (p[i].revents && s->line[i].fd >= 0) look_after(m, i);
    for (int i = 0; i < NEW; i++) {
        stranger *x = &m->from[i];
        if (p[s->size + i].revents && x->fd >= 0) hear_stranger(m, x);
        if (x->fd >= 0 && ct_now() - x->since > SILENT) close_fd(&x->fd);
    }
    if (!p[s->size + NEW].revents) return;
    const int fd = accept(port, NULL, NULL);
    if (fd < 0) return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    let_in(m, fd);
}

/* "1, 2, 5" */
static const char *missing(const ct_star *s, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (int i = 1; i < s->size && n < size; i++)
        if (s->line[i].fd < 0) n += (size_t)snprintf(buf + n, size - n, "%s%d", n ? ", " : "", i);
    return buf;
}

static ct_status gather_in(meeting *m, int port, double deadline)
{
    ct_star *s = m->s;
    char who[160], why[WHY];
    const double started = ct_now();
    while (m->there < s->size && ct_now() - started < deadline) meet_for_a_while(m, port);
    const bool all = m->there == s->size;
    if (!all)
        snprintf(why, sizeof why, "process 0 of %d waited %.3g s at port %d (%s) of %s for the others: missing %s",
                 s->size, deadline, m->at->port, m->at->named, m->at->address, missing(s, who, sizeof who));
    for (int i = 1; i < s->size; i++)
        if (s->line[i].fd >= 0) tell(s->line[i].fd, all ? BEGIN : OVER, s->size, all ? "" : why);
    return all ? CT_OK : ct_fail(CT_EBACKEND, "%s", why);
}

static ct_status be_centre(ct_star *s, const ct_star_at *at, double deadline)
{
    char why[WHY] = "";
    meeting m = { .s = s, .at = at, .there = 1 };
    const double started = ct_now();
    const struct timespec pause = { .tv_nsec = 100000000 };
    int port = -1;
    for (int i = 0; i < NEW; i++) m.from[i].fd = -1;
    /* the port may be that of a run which is just ending */
    while ((port = open_port(at, why)) < 0 && ct_now() - started < 2) nanosleep(&pause, NULL);
    if (port < 0)
        return ct_fail(CT_EBACKEND, "process 0 of %d cannot be met at port %d (%s) of %s: %s; group.port takes another",
                       at->size, at->port, at->named, at->address, why);
    ct_status st = gather_in(&m, port, deadline);
    for (int i = 0; i < NEW; i++) close_fd(&m.from[i].fd);
    close(port);
    return st;
}

/* ---- others find process 0 ---- */

/* Reads or writes all of it by `until`; false with *why where that fails. */
static bool pass(int fd, void *data, size_t bytes, bool out, double until, char why[WHY])
{
    for (size_t done = 0; done < bytes;) {
        struct pollfd p = { .fd = fd, .events = out ? POLLOUT : POLLIN };
        const double left = until - ct_now();
        if (left <= 0) return snprintf(why, WHY, "nothing is answered there"), false;
        if (poll(&p, 1, left > 0.1 ? 100 : 1 + (int)(1000 * left)) <= 0) continue;
        char *at = (char *)data + done;
        const ssize_t n = out ? send(fd, at, bytes - done, MSG_NOSIGNAL) : recv(fd, at, bytes - done, 0);
        if (n > 0) done += (size_t)n;
        else if (n == 0 || !would_wait())
            return snprintf(why, WHY, "%s", n == 0 ? "who listens there hung up" : strerror(errno)), false;
    }
    return true;
}

static int connect_to(const struct addrinfo *a, double until, char why[WHY])
{
    int err = 0;
    socklen_t len = sizeof err;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return snprintf(why, WHY, "%s", strerror(errno)), -1;
    settle_options(fd);
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) err = errno;
    while (err == EINPROGRESS || err == EINTR) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        if (ct_now() > until) err = ETIMEDOUT;
        else if (poll(&p, 1, 100) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
    }
    if (err == 0) return fd;
    snprintf(why, WHY, "%s", strerror(err));
    return close(fd), -1;
}

/* What process 0 has to say, in words; false: nothing yet, or it is no process of ours. */
static bool refused(const ct_star_at *at, const answer *a, char why[WHY])
{
    switch ((enum verdict)a->verdict) {
    case OTHER_RUN: return snprintf(why, WHY, "another run of captrain meets there"), true;
    case OTHER_SIZE:
        return snprintf(why, WHY, "process 0 there is one of %u, not of %d", (unsigned)a->size, at->size), true;
    case TAKEN: return snprintf(why, WHY, "there is a process %d already", at->rank), true;
    case OVER: return snprintf(why, WHY, "%.*s", (int)strnlen(a->why, sizeof a->why - 1), a->why), true;
    case WELCOME:
    case BEGIN: break;
    }
    return false;
}

/* One try. *final: another one would end the same way. */
static bool try_once(ct_star *s, const ct_star_at *at, double until, bool *final, char why[WHY])
{
    hello h = { .magic = MAGIC, .rank = (uint32_t)at->rank, .size = (uint32_t)at->size };
    answer a;
    int fd = -1;
    struct addrinfo *list = look_up(at->address, at->port, false, why);
    for (const struct addrinfo *i = list; i && fd < 0; i = i->ai_next) fd = connect_to(i, until, why);
    if (list) freeaddrinfo(list);
    if (fd < 0) return false;
    snprintf(h.run, sizeof h.run, "%s", at->run);
    const double soon = ct_now() + 2 * SILENT < until ? ct_now() + 2 * SILENT : until;
    bool good = pass(fd, &h, sizeof h, true, soon, why) && pass(fd, &a, sizeof a, false, soon, why);
    for (int part = 0; good && part < 2; part++) {
        const bool ours = memcmp(a.magic, MAGIC, sizeof a.magic) == 0;
        if (!ours) snprintf(why, WHY, "another program answers there");
        *final = ours && refused(at, &a, why);
        good = ours && !*final;
        /* that all are there it learns last, and process 0 says so when its own deadline has passed, too */
        if (good && part == 0) good = pass(fd, &a, sizeof a, false, until + 2, why);
    }
    if (good) s->line[0].fd = fd;
    else close(fd);
    return good;
}

static ct_status find_centre(ct_star *s, const ct_star_at *at, double deadline)
{
    const struct timespec pause = { .tv_nsec = 100000000 };
    char why[WHY] = "nobody answers";
    bool final = false;
    for (const double until = ct_now() + deadline; !final && ct_now() < until; nanosleep(&pause, NULL))
        if (try_once(s, at, until, &final, why)) return CT_OK;
    return ct_fail(CT_EBACKEND, "process %d of %d did not meet process 0 at port %d (%s) of %s within %.3g s: %s",
                   at->rank, at->size, at->port, at->named, at->address, deadline, why);
}

ct_status ct_star_meet(const ct_star_at *at, double deadline, ct_star **out)
{
    ct_status st = CT_ENOMEM;
    *out = NULL;
    ct_star *s = ct_calloc(1, sizeof *s, "connections of processes");
    if (!s) return CT_ENOMEM;
    s->rank = at->rank;
    s->size = at->size;
    s->line = ct_calloc((size_t)at->size, sizeof *s->line, "connections of processes");
    s->poll = ct_calloc((size_t)at->size + NEW + 1, sizeof *s->poll, "connections of processes");
    for (int i = 0; s->line && i < at->size; i++) s->line[i].fd = -1;
    if (s->line && s->poll) st = at->rank == 0 ? be_centre(s, at, deadline) : find_centre(s, at, deadline);
    if (st == CT_OK) *out = s;
    else ct_star_close(s);
    return st;
}

/* ---- telling each other ---- */

void ct_star_patience(ct_star *s, const ct_patience *p)
{
    s->patience = p;
}

bool ct_star_broke(const ct_star *s)
{
    return s->broke;
}

/* Waiting that goes on, and when the judge was asked last. */
typedef struct wait {
    double started, deadline, asked; /* asked: seconds waited then; < 0: not yet */
} wait;

static ct_status go_on(const ct_star *s, wait *w)
{
    const double waited = ct_now() - w->started;
    if (!s->patience && waited > w->deadline)
        return ct_fail(CT_EBACKEND, "process %d of %d waited %.3g s for the others: one of them is gone or "
                       "stands still", s->rank, s->size, w->deadline);
    if (!s->patience || waited < w->asked + 0.1) return CT_OK;
    const bool first = w->asked < 0;
    w->asked = waited;
    return s->patience->look(s->patience->self, first, w->deadline);
}

/* A connection ended. Why its process did may be on its way by datagram: it is waited for a little. */
static ct_status gone(ct_star *s, int rank)
{
    const struct timespec pause = { .tv_nsec = 100000000 };
    s->broke = true;
    for (int i = 0; i < 10 && s->patience; i++) {
        CT_TRY(s->patience->look(s->patience->self, i == 0, 60));
        nanosleep(&pause, NULL);
    }
    return ct_fail(CT_EBACKEND, "process %d of %d is gone: it ended without a word", rank, s->size);
}

/* Moves what it can of head and data. *done: all of it. */
static ct_status move(ct_star *s, int rank, char *data, size_t bytes, bool out, bool *done)
{
    line *l = &s->line[rank];
    *done = false;
    for (;;) {
        const bool in_head = l->done < sizeof l->head;
        char *at = in_head ? (char *)&l->head + l->done : data + (l->done - sizeof l->head);
        const size_t left = in_head ? sizeof l->head - l->done : bytes + sizeof l->head - l->done;
        if (left == 0) return *done = true, CT_OK;
        const ssize_t n = out ? send(l->fd, at, left, MSG_NOSIGNAL) : recv(l->fd, at, left, 0);
        if (n == 0 || (n < 0 && !would_wait())) return gone(s, rank);
        if (n < 0) return CT_OK;
        l->done += (size_t)n;
        if (out || l->done != sizeof l->head) continue;
        const head *h = &l->head;
        if (h->magic != HEAD || h->number != s->number || h->bytes != bytes)
            return ct_fail(CT_EBACKEND, "process %d of %d is at another place than process %d: word %" PRIu64
                           " of %" PRIu64 " bytes, not %" PRIu64 " of %zu",
                           rank, s->size, s->rank, h->number, h->bytes, s->number, bytes);
    }
}

/* Moves `bytes` over each of the lines [first, end) until all of it has passed: to each the same, or from each to its
 * place. */
static ct_status pass_all(ct_star *s, int first, int end, char *data, size_t bytes, bool out, wait *w)
{
    int left = end - first;
    for (int i = first; i < end; i++) {
        s->line[i].done = 0;
        s->line[i].head = (head){ HEAD, s->number, bytes };
        s->poll[i] = (struct pollfd){ .fd = s->line[i].fd, .events = out ? POLLOUT : POLLIN };
    }
    while (left > 0) {
        const int ready = poll(s->poll + first, (nfds_t)(end - first), 50);
        for (int i = first; i < end && ready > 0; i++) {
            bool done = false;
            if (s->poll[i].fd < 0 || !s->poll[i].revents) continue;
            CT_TRY(move(s, i, out || s->rank > 0 ? data : data + (size_t)i * bytes, bytes, out, &done));
            if (!done) continue;
            s->poll[i].fd = -1; /* this one is through */
            left--;
        }
        if (left > 0) CT_TRY(go_on(s, w));
    }
    return CT_OK;
}

ct_status ct_star_gather(ct_star *s, const void *mine, size_t bytes, void *all, double deadline)
{
    wait w = { ct_now(), deadline, -1 };
    const size_t whole = bytes * (size_t)s->size;
    if (s->broke) return ct_fail(CT_EBACKEND, "the connections of %d processes are broken", s->size);
    ct_status st;
    if (s->rank == 0) {
        memmove(all, mine, bytes);
        CT_GOTO(st, pass_all(s, 1, s->size, all, bytes, false, &w));
        CT_GOTO(st, pass_all(s, 1, s->size, all, whole, true, &w));
    } else {
        CT_GOTO(st, pass_all(s, 0, 1, (char *)(uintptr_t)mine, bytes, true, &w));
        CT_GOTO(st, pass_all(s, 0, 1, all, whole, false, &w));
    }
    s->number++;
    return CT_OK;
fail:
    s->broke = true; /* what is on its way would be taken for what is told next */
    return st;
}

ct_status ct_star_check(ct_star *s)
{
    for (int i = 0; i < s->size; i++) {
        char byte;
        if (s->line[i].fd < 0) continue;
        const ssize_t n = recv(s->line[i].fd, &byte, 1, MSG_PEEK);
        if (n == 0 || (n < 0 && !would_wait())) return gone(s, i);
    }
    return CT_OK;
}

void ct_star_close(ct_star *s)
{
    if (!s) return;
    for (int i = 0; s->line && i < s->size; i++) close_fd(&s->line[i].fd);
    ct_free(s->line);
    ct_free(s->poll);
    ct_free(s);
}
