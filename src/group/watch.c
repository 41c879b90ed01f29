#include "config.h"

#include "group/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#define EVERY 0.05 /* seconds between two positions of a process, where there are up to CROWD others */
#define STEPPED 1.0 /* more than this between two looks at the clock, and this process was stopped */
enum { MAGIC = 0x63740101, CROWD = 32, WORTH = (int)sizeof(ct_beat) };

typedef struct other {
    ct_watch_at at;
    struct in_addr learned; /* where its last datagram came from; 0: not known yet */
    double heard;           /* on the watch's clock; < 0: never */
    ct_beat last;
} other;

struct ct_watch {
    int rank, size, fd;
    double deadline;
    uint64_t key;
    const char *host;
    size_t width;
    other *other;   /* [size] */
    pthread_t thread;
    bool running;
    ct_patience patience;

    pthread_mutex_t lock; /* of all that follows */
    double clock, looked; /* seconds that this process was awake, as of ct_now() */
    double asked;         /* on the clock: when the main thread waited for the others last; < 0: never */
    double since;         /* the clock when this waiting began */
    ct_beat over;         /* .over: the run is; what the others are told */
    bool broke, leave;
};

/* ---- datagrams ---- */

bool ct_beat_read(const void *data, size_t bytes, uint64_t key, int to, int size, ct_beat *out)
{
    if (bytes != sizeof *out) return false;
    memcpy(out, data, sizeof *out);
    return out->magic == MAGIC && out->key == key && out->to == (uint32_t)to && out->from < (uint32_t)size &&
           out->from != out->to && out->at < CT_AT_COUNT && out->over <= CT_EINTERNAL &&
           memchr(out->text, 0, sizeof out->text);
}

static void advance(ct_watch *w)
{
    const double now = ct_now(), passed = now - w->looked;
    w->clock += passed < STEPPED ? passed : 0;
    w->looked = now;
}

static void send_to(const ct_watch *w, ct_beat *b, int to)
{
    const other *o = &w->other[to];
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = o->at.port };
    const bool known = o->learned.s_addr != 0;
    b->to = (uint32_t)to;
    for (size_t i = 0; o->at.port && i < (known ? 1 : sizeof o->at.address / sizeof *o->at.address); i++) {
        a.sin_addr.s_addr = known ? o->learned.s_addr : o->at.address[i];
        /* what does not arrive is said again, or missed as it should be */
        if (a.sin_addr.s_addr) (void)sendto(w->fd, b, sizeof *b, MSG_DONTWAIT, (struct sockaddr *)&a, sizeof a);
    }
}

static void tell_all(ct_watch *w)
{
    ct_whereabouts here;
    ct_beat b = w->over;
    b.magic = MAGIC;
    b.key = w->key;
    b.from = (uint32_t)w->rank;
    if (!b.over) {
        ct_crash_where(&here);
        b.at = (uint8_t)here.at;
        b.step = here.step;
        b.waiting = w->asked >= 0 && w->clock - w->asked < 0.5;
        snprintf(b.text, sizeof b.text, "%s", here.doing);
    }
    for (int i = 0; i < w->size; i++)
        if (i != w->rank) send_to(w, &b, i);
}

static void hear(ct_watch *w)
{
    char data[WORTH + 1]; /* a longer one is none */
    struct sockaddr_in from;
    for (;;) {
        ct_beat b;
        socklen_t len = sizeof from;
        const ssize_t n = recvfrom(w->fd, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
        if (n < 0) return;
        if (!ct_beat_read(data, (size_t)n, w->key, w->rank, w->size, &b)) continue;
        other *o = &w->other[b.from];
        o->learned = from.sin_addr;
        o->heard = w->clock;
        o->last = b;
        if (b.over && !w->over.over) w->over = b;
    }
}

static void *watch_main(void *arg)
{
    ct_watch *w = arg;
    const int crowd = w->size > CROWD ? w->size / CROWD : 1;
    struct pollfd p = { .fd = w->fd, .events = POLLIN };
    double next = 0;
    for (bool leave = false; !leave;) {
        const double left = next - ct_now();
        if (left > 0) poll(&p, 1, 1 + (int)(1000 * left));
        pthread_mutex_lock(&w->lock);
        advance(w);
        hear(w);
        if (ct_now() >= next || w->leave) {
            tell_all(w);
            next = ct_now() + EVERY * crowd;
        }
        for (int i = 0; i < w->size; i++) /* it may have come to be reached another way */
            if (w->clock - w->other[i].heard > 2) w->other[i].learned.s_addr = 0;
        leave = w->leave;
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

/* ---- the judge ---- */

static ct_status end(ct_watch *w, ct_status st, const char *message)
{
    w->broke = true;
    if (!w->over.over) {
        w->over.over = (uint8_t)st;
        snprintf(w->over.text, sizeof w->over.text, "%.*s", (int)ct_utf8_cut(message, sizeof w->over.text - 1),
                 message);
        tell_all(w);
    }
    return ct_fail(st, "%s", message);
}

/* Who is behind, and why that is said. */
static ct_status name_it(ct_watch *w, int rank, const char *why, double seconds)
{
    char message[CT_BEAT_WORDS], doing[128], step[48] = "";
    const other *o = &w->other[rank];
    if (o->heard < 0) {
        snprintf(message, sizeof message, "rank %d (%s) is behind: it was waited for %.3g s, and where it is was never "
                 "heard", rank, w->host + (size_t)rank * w->width, seconds);
        return end(w, CT_EBACKEND, message);
    }
    if (o->last.step >= 0) snprintf(step, sizeof step, "step %" PRId64 ", ", o->last.step + 1);
    snprintf(message, sizeof message, "rank %d (%s) is behind: %s%s (%s %.3g s)", rank,
             w->host + (size_t)rank * w->width, step, ct_text_visible(o->last.text, doing, sizeof doing), why, seconds);
    return end(w, CT_EBACKEND, message);
}

/* Of those who do not wait themselves the one that has come least far; a rank that was never heard of before it. -1:
 * all wait for each other. */
static int last_one(const ct_watch *w)
{
    int last = -1;
    for (int i = 0; i < w->size; i++) {
        const other *o = &w->other[i];
        if (i == w->rank || (o->heard >= 0 && o->last.waiting)) continue;
        const other *l = last < 0 ? NULL : &w->other[last];
        if (!l || o->heard < 0 || (l->heard >= 0 && o->last.step < l->last.step)) last = i;
    }
    return last;
}

static ct_status judge(ct_watch *w, double deadline)
{
    const double waited = w->clock - w->since;
    if (w->over.over) return end(w, (ct_status)w->over.over, w->over.text);
    for (int i = 0; i < w->size; i++) {
        const other *o = &w->other[i];
        if (i != w->rank && o->heard >= 0 && w->clock - o->heard > w->deadline)
            return name_it(w, i, "nothing was heard of it for", w->clock - o->heard);
    }
    if (waited <= deadline) return CT_OK;
    const int last = last_one(w);
    if (last >= 0) {
        const other *o = &w->other[last];
        const bool alone = o->heard >= 0 && ct_activity_alone((ct_activity)o->last.at);
        return alone && waited < CT_PATIENCE ? CT_OK : name_it(w, last, "the others have waited", waited);
    }
    if (waited <= deadline + 1) return CT_OK; /* whoever came just now may need a moment */
    char message[160];
    snprintf(message, sizeof message, "all %d processes wait for each other since %.3g s: what they send does not get "
             "through", w->size, waited);
    return end(w, CT_EBACKEND, message);
}

static ct_status look(void *self, bool first, double deadline)
{
    ct_watch *w = self;
    pthread_mutex_lock(&w->lock);
    advance(w);
    if (first) w->since = w->clock;
    w->asked = w->clock;
    const ct_status st = judge(w, deadline);
    pthread_mutex_unlock(&w->lock);
    return st;
}

const ct_patience *ct_watch_patience(const ct_watch *w)
{
    return &w->patience;
}

void ct_watch_over(ct_watch *w, ct_status st, const char *message)
{
    pthread_mutex_lock(&w->lock);
    if (!w->over.over) {
        w->over.over = (uint8_t)st;
        snprintf(w->over.text, sizeof w->over.text, "%.*s", (int)ct_utf8_cut(message, sizeof w->over.text - 1),
                 message);
    }
    pthread_mutex_unlock(&w->lock);
}

bool ct_watch_broke(const ct_watch *w)
{
    return w->broke; /* of the thread that waits, which asks */
}

/* ---- beginning, ending ---- */

/* This machine's own addresses, that of the loop first. */
static void list_addresses(ct_watch_at *at)
{
    struct ifaddrs *all = NULL;
    size_t n = 0;
    at->address[n++] = htonl(INADDR_LOOPBACK);
    if (getifaddrs(&all) != 0) return;
    for (struct ifaddrs *a = all; a && n < sizeof at->address / sizeof *at->address; a = a->ifa_next) {
        struct sockaddr_in in;
        if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP)) continue;
        if (a->ifa_flags & IFF_LOOPBACK) continue;
        memcpy(&in, a->ifa_addr, sizeof in);
        at->address[n++] = in.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

static bool open_socket(ct_watch *w, ct_watch_at *mine)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t len = sizeof a;
    w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || bind(w->fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockname(w->fd, (struct sockaddr *)&a, &len) != 0 ||
        getrandom(&mine->key, sizeof mine->key, GRND_NONBLOCK) != (ssize_t)sizeof mine->key)
        return false;
    list_addresses(mine);
    mine->port = a.sin_port;
    return true;
}

ct_status ct_watch_open(int rank, int size, double deadline, ct_watch_at *mine, ct_watch **out)
{
    memset(mine, 0, sizeof *mine);
    *out = NULL;
    ct_watch *w = ct_calloc(1, sizeof *w, "where processes are");
    if (!w) return CT_ENOMEM;
    w->rank = rank;
    w->size = size;
    w->deadline = deadline;
    w->fd = w->since = w->asked = -1;
    w->patience = (ct_patience){ look, w };
    pthread_mutex_init(&w->lock, NULL);
    if (!(w->other = ct_calloc((size_t)size, sizeof *w->other, "where processes are"))) {
        ct_watch_close(w);
        return CT_ENOMEM;
    }
    if (!open_socket(w, mine))
        ct_warn("no UDP (%s): if one process falls behind, the others cannot say where it was", strerror(errno));
    *out = w;
    return CT_OK;
}

ct_status ct_watch_begin(ct_watch *w, const ct_watch_at *all, const char *host, size_t width)
{
    w->key = all[0].key;
    w->host = host;
    w->width = width;
    w->looked = ct_now();
    for (int i = 0; i < w->size; i++) w->other[i] = (other){ .at = all[i], .heard = -1 };
    if (!all[w->rank].port || !w->key) return CT_OK;
    sigset_t none, old; /* signals are the main thread's */
    sigfillset(&none);
    pthread_sigmask(SIG_SETMASK, &none, &old);
    const int err = pthread_create(&w->thread, NULL, watch_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    w->running = err == 0;
    return err == 0 ? CT_OK : ct_fail(CT_ENOMEM, "no thread: %s", strerror(err));
}

void ct_watch_close(ct_watch *w)
{
    if (!w) return;
    if (w->running) {
        pthread_mutex_lock(&w->lock);
        w->leave = true;
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    if (w->fd >= 0) close(w->fd);
    pthread_mutex_destroy(&w->lock);
    ct_free(w->other);
    ct_free(w);
}
