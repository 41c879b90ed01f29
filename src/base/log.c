#include "config.h"

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "base/text.h"

/* One lock for everything that is printed: lines of several threads do not mix, and the hooks see one line at a time.
 * A hook runs under it and must not log. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file, *shared_file;
static const char *shared_name;
static void (*hook_before)(void *);
static void (*hook_after)(void *);
static void *hook_user;

static atomic_int max_level = CT_LOG_INFO;
static _Thread_local const ct_log_sink *sink; /* of this thread; NULL: what is above */

static const char *const topic_names[CT_TOPIC_COUNT] = {
    [CT_TOPIC_DISPATCH] = "dispatch",
    [CT_TOPIC_PLAN] = "plan",
    [CT_TOPIC_LOADER] = "loader",
    [CT_TOPIC_SAMPLES] = "samples",
};
static pthread_once_t topics_once = PTHREAD_ONCE_INIT;
static unsigned topics_on; /* bit per topic; written once */

static const char *const prefix[] = {
    [CT_LOG_ERROR] = "captrain: error: ",
    [CT_LOG_WARN] = "captrain: warning: ",
    [CT_LOG_INFO] = "",
    [CT_LOG_DEBUG] = "debug: ",
};

void ct_log_set_level(ct_log_level level)
{
    atomic_store(&max_level, (int)level);
}

const ct_log_sink *ct_log_redirect(const ct_log_sink *to)
{
    const ct_log_sink *before = sink;
    sink = to;
    return before;
}

ct_log_level ct_log_get_level(void)
{
    if (sink) return sink->level;
    return (ct_log_level)atomic_load(&max_level);
}

void ct_log_set_file(FILE *f)
{
    pthread_mutex_lock(&lock);
    log_file = f;
    pthread_mutex_unlock(&lock);
}

void ct_log_set_hooks(void (*before)(void *), void (*after)(void *), void *user)
{
    pthread_mutex_lock(&lock);
    hook_before = before;
    hook_after = after;
    hook_user = user;
    pthread_mutex_unlock(&lock);
}

void ct_log_set_quiet(FILE *shared, const char *name)
{
    pthread_mutex_lock(&lock);
    shared_file = shared;
    shared_name = name;
    pthread_mutex_unlock(&lock);
}

/* A line of a file, lock held. One that several processes write to is open to append, and a line is one write. */
static void write_stamped(FILE *to, const char *who, const char *front, const char *separator, const char *text)
{
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm)) strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ ", &tm);
    fprintf(to, "%s%s%s%s%s", stamp, who, *who ? ": " : "", front, separator);
    ct_text_put(to, text, true);
    fputc('\n', to);
    fflush(to); /* the last lines before a crash are the ones wanted */
}

/* Longer than any message of ct_fail() with something in front of it. */
#define LINE_BYTES 8192

/* A line may hold names from outside: nothing in it may move the cursor or change the terminal. */
static void write_line(ct_log_level level, const char *front, const char *separator, const char *fmt, va_list ap)
{
    int saved = errno;
    char text[LINE_BYTES];
    if (vsnprintf(text, sizeof text, fmt, ap) >= LINE_BYTES)
        memcpy(text + ct_utf8_cut(text, LINE_BYTES - 4), "...", 4);
    if (sink) { /* the caller's own function: no lock of ours is held */
        if (sink->line) sink->line(sink->user, (int)level, text);
        errno = saved;
        return;
    }
    pthread_mutex_lock(&lock);
    if (!shared_file) {
        if (hook_before) hook_before(hook_user);
        char head[64];
        snprintf(head, sizeof head, "%s%s", front, separator);
        ct_text_say(stderr, head, text);
        if (hook_after) hook_after(hook_user);
    }
    if (log_file) write_stamped(log_file, "", front, separator, text);
    if (shared_file && level <= CT_LOG_WARN) write_stamped(shared_file, shared_name, front, separator, text);
    pthread_mutex_unlock(&lock);
    errno = saved;
}

static void read_topics(void)
{
    const char *s = ct_env_get(CT_ENV_VERBOSE);
    while (s && *s) {
        size_t n = strcspn(s, ",");
        bool known = n == 0;
        for (int t = 0; t < CT_TOPIC_COUNT; t++) {
            bool this_one = strlen(topic_names[t]) == n && strncmp(s, topic_names[t], n) == 0;
            if (this_one || (n == 3 && strncmp(s, "all", 3) == 0)) {
                topics_on |= 1u << t;
                known = true;
            }
        }
        if (!known)
            ct_warn("%s: unknown topic \"%.*s\"; topics are dispatch, plan, loader, samples, all",
                    ct_env_table()[CT_ENV_VERBOSE].name, (int)n, s);
        s += n;
        if (*s == ',') s++;
    }
}

bool ct_log_topic_on(ct_log_topic topic)
{
    pthread_once(&topics_once, read_topics);
    return (unsigned)topic < (unsigned)CT_TOPIC_COUNT && (topics_on >> topic & 1u);
}

void ct_log(ct_log_level level, const char *fmt, ...)
{
    if (level > ct_log_get_level()) return;
    va_list ap;
    va_start(ap, fmt);
    write_line(level, prefix[level], "", fmt, ap);
    va_end(ap);
}

void ct_log_topic_line(ct_log_topic topic, const char *fmt, ...)
{
    if (!ct_log_topic_on(topic)) return;
    va_list ap;
    va_start(ap, fmt);
    write_line(CT_LOG_DEBUG, topic_names[topic], ": ", fmt, ap);
    va_end(ap);
}
