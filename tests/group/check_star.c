/* Processes that meet at a port: threads stand for them, and strangers come, too. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "group/star.h"
#include "tests/ct_check.h"

enum { MOST = 4, LONG = 1 << 20 };

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* A socket bound to a port that was free; it listens if it is to be in the way. */
static int take_port(bool listens, int *port)
{
    struct sockaddr_in a = loopback(0);
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    if (listens) ck_assert_int_eq(listen(fd, 8), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static int free_port(void)
{
    int port;
    close(take_port(false, &port));
    return port;
}

typedef struct member {
    ct_star_at at;
    double deadline, wait; /* until it begins */
    bool leaves;           /* after the first word */
    ct_star *star;
    ct_status st;
    double took;
    char message[512], heard[2][MOST][8];
} member;

static void nap(double seconds)
{
    const struct timespec t = { (time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds)) };
    nanosleep(&t, NULL);
}

/* Words of all kinds of length: short ones, none, and those that no socket takes at once. */
static ct_status talk(member *m)
{
    const int n = m->at.size;
    char *mine = malloc(LONG), *all = malloc((size_t)n * LONG), none[1];
    ct_status st = CT_OK;
    snprintf(mine, LONG, "I am %d", m->at.rank);
    st = ct_star_gather(m->star, mine, 8, m->heard[0], m->deadline);
    if (st == CT_OK && !m->leaves) st = ct_star_gather(m->star, "", 0, none, m->deadline);
    memset(mine, 'a' + m->at.rank, LONG);
    if (st == CT_OK && !m->leaves) st = ct_star_gather(m->star, mine, LONG, all, m->deadline);
    for (int i = 0; st == CT_OK && !m->leaves && i < n; i++) {
        ck_assert_int_eq(all[(size_t)i * LONG], 'a' + i);
        ck_assert_int_eq(all[(size_t)(i + 1) * LONG - 1], 'a' + i);
    }
    free(mine);
    free(all);
    return st;
}

static void *be(void *arg)
{
    member *m = arg;
    nap(m->wait);
    const double started = ct_now();
    m->st = ct_star_meet(&m->at, m->deadline, &m->star);
    if (m->st == CT_OK) m->st = talk(m);
    m->took = ct_now() - started;
    snprintf(m->message, sizeof m->message, "%s", ct_error_message());
    if (m->star && !m->leaves) ck_assert(m->st == CT_OK || ct_star_broke(m->star));
    ct_star_close(m->star);
    return NULL;
}

static void prepare(member *m, int n, int port)
{
    for (int i = 0; i < n; i++)
        m[i] = (member){ .at = { i, n, "127.0.0.1", port, "group.port", "run", true }, .deadline = 5 };
}

/* Members [first, n) at once. */
static void together(member *m, int first, int n)
{
    pthread_t t[MOST];
    for (int i = first; i < n; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, be, &m[i]), 0);
    for (int i = first; i < n; i++) pthread_join(t[i], NULL);
}

static void well(const member *m, int n)
{
    char said[16];
    for (int i = 0; i < n; i++) {
        ck_assert_msg(m[i].st == CT_OK, "%d: %s", i, m[i].message);
        for (int k = 0; k < n; k++) {
            snprintf(said, sizeof said, "I am %d", k);
            ck_assert_str_eq(m[i].heard[0][k], said);
        }
    }
}

static void failed(const member *m, const char *part)
{
    ck_assert_int_eq(m->st, CT_EBACKEND);
    ck_assert_msg(strstr(m->message, part) != NULL, "'%s' is not in '%s'", part, m->message);
    ck_assert_msg(m->took < m->deadline + 3, "%g s", m->took);
}

/* In whatever order they come; on all addresses of the machine, too. */
START_TEST(meets)
{
    member m[MOST];
    const int n = 2 + _i % 3;
    prepare(m, n, free_port());
    m[_i % n].wait = 0.3;
    for (int i = 0; i < n && _i > 4; i++) m[i].at.here = false;
    together(m, 0, n);
    well(m, n);
}
END_TEST

/* Strangers: silent ones, one that speaks otherwise, a process of another run, one too many, one of another size. */
static void *knock(void *arg)
{
    const struct sockaddr_in a = loopback(*(int *)arg);
    int fd[40];
    char back[64];
    nap(0.2);
    for (int i = 0; i < 40; i++) { /* more than are heard at a time */
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
        (void)!connect(fd[i], (const struct sockaddr *)&a, sizeof a);
        if (i % 3 == 1) (void)!send(fd[i], "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
        if (i % 3 == 2) (void)!send(fd[i], "captrain", 8, MSG_NOSIGNAL);
    }
    (void)!recv(fd[1], back, sizeof back, 0); /* hung up */
    nap(1);
    for (int i = 0; i < 40; i++) close(fd[i]);
    return NULL;
}

START_TEST(strangers)
{
    member m[3], other[3];
    pthread_t t[4];
    int port = free_port();
    prepare(m, 3, port);
    prepare(other, 3, port);
    m[1].wait = m[2].wait = 1;
    other[0].at.rank = 1;
    other[0].at.run = "another";
    other[1].at.rank = 1;
    other[1].at.size = 2;
    other[2].at.rank = 1;
    other[2].wait = 0.5; /* comes before m[1], whose place it takes */
    pthread_create(&t[3], NULL, knock, &port);
    for (int i = 0; i < 2; i++) other[i].wait = 0.4;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, be, &other[i]);
    if (_i == 0) {
        together(m, 0, 3);
        well(m, 3);
    } else {
        member twice = m[1];
        m[1] = other[2];
        pthread_create(&t[2], NULL, be, &twice);
        together(m, 0, 3);
        pthread_join(t[2], NULL);
        well(m, 3);
        failed(&twice, "process 1 of 3 did not meet process 0 at port");
    }
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    pthread_join(t[3], NULL);
    failed(&other[0], "another run of captrain meets there");
    failed(&other[1], "process 0 there is one of 3, not of 2");
    ck_assert_msg(other[0].took < 2, "another try would have ended the same way, after %g s", other[0].took);
}
END_TEST

/* Somebody has the port: who never answers, or says something else. */
static void *answer(void *arg)
{
    const int port = *(int *)arg;
    for (;;) {
        int fd = accept(port, NULL, NULL);
        if (fd < 0) return NULL;
        for (int i = 0; i < 100; i++) (void)!send(fd, "220 mail.example.org\r\n", 22, MSG_NOSIGNAL);
        nap(0.1);
        close(fd);
    }
}

START_TEST(port_in_use)
{
    member m[2];
    pthread_t t;
    int port, fd = take_port(true, &port);
    char place[64];
    prepare(m, 2, port);
    m[1].deadline = 3;
    if (_i == 1) pthread_create(&t, NULL, answer, &fd);
    together(m, 0, 2);
    snprintf(place, sizeof place, "at port %d (group.port) of 127.0.0.1: Address already in use", port);
    failed(&m[0], place);
    failed(&m[1], _i == 1 ? "another program answers there" : "nothing is answered there");
    shutdown(fd, SHUT_RDWR);
    if (_i == 1) pthread_join(t, NULL);
    close(fd);
}
END_TEST

/* Who does not come is named, to those that did. */
START_TEST(missing)
{
    member m[3];
    prepare(m, 3, free_port());
    for (int i = 0; i < 3; i++) m[i].deadline = 1;
    if (_i == 0) {
        together(m, 0, 2);
        failed(&m[0], "process 0 of 3 waited 1 s at port");
        failed(&m[0], "missing 2");
        failed(&m[1], "missing 2");
    } else {
        together(m, 1, 3);
        failed(&m[1], "did not meet process 0 at port");
        failed(&m[2], "Connection refused");
    }
}
END_TEST

START_TEST(no_such_host)
{
    member m[2];
    prepare(m, 2, free_port());
    m[1].deadline = 1;
    m[1].at.address = "there-is-no-such-host.invalid";
    be(&m[1]);
    failed(&m[1], "there-is-no-such-host.invalid");
}
END_TEST

/* One leaves: the others learn it, whoever it is; and what is called then says so. */
START_TEST(one_leaves)
{
    member m[3];
    prepare(m, 3, free_port());
    m[_i].leaves = true;
    together(m, 0, 3);
    for (int i = 0; i < 3; i++) {
        char who[64];
        if (i == _i) continue;
        snprintf(who, sizeof who, "process %d of 3 is gone", i == 0 ? _i : 0);
        failed(&m[i], who);
    }
}
END_TEST

/* One stands still: the deadline, or whoever judges in its place, ends the waiting. */
static ct_status too_long(void *self, bool first, double deadline)
{
    int *asked = self;
    ck_assert_int_eq(first, *asked == 0);
    ck_assert_double_eq(deadline, 60);
    return ++*asked < 5 ? CT_OK : ct_fail(CT_EBACKEND, "the judge has had enough");
}

static void *stay(void *arg)
{
    member *m = arg;
    m->st = ct_star_meet(&m->at, m->deadline, &m->star);
    return NULL;
}

START_TEST(stands_still)
{
    member m[2];
    pthread_t t;
    char all[2];
    int asked = 0;
    const ct_patience judge = { too_long, &asked };
    const double started = ct_now();
    prepare(m, 2, free_port());
    ck_assert_int_eq(pthread_create(&t, NULL, stay, &m[1]), 0);
    ck_assert_int_eq(ct_star_meet(&m[0].at, 5, &m[0].star), CT_OK);
    pthread_join(t, NULL);
    ck_assert_int_eq(ct_star_check(m[0].star), CT_OK);
    if (_i == 1) ct_star_patience(m[0].star, &judge);
    ck_assert_int_eq(ct_star_gather(m[0].star, "x", 1, all, _i == 1 ? 60 : 0.3), CT_EBACKEND);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), _i == 1 ? "had enough" : "waited 0.3 s for the others"));
    ck_assert(ct_now() - started < 5);
    ck_assert_int_eq(ct_star_gather(m[0].star, "x", 1, all, 1), CT_EBACKEND);
    ct_star_close(m[1].star);
    if (_i == 0) ck_assert_int_eq(ct_star_check(m[0].star), CT_EBACKEND);
    ct_star_close(m[0].star);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("star");
    TCase *t = tcase_create("star");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, meets, 0, 8);
    tcase_add_loop_test(t, strangers, 0, 2);
    tcase_add_loop_test(t, port_in_use, 0, 2);
    tcase_add_loop_test(t, missing, 0, 2);
    tcase_add_test(t, no_such_host);
    tcase_add_loop_test(t, one_leaves, 0, 3);
    tcase_add_loop_test(t, stands_still, 0, 2);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
