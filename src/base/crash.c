#include "config.h"

#include "base/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_EXECINFO_H
#include <execinfo.h>
#endif

#include "base/version.h"

/* Any thread may say what it does, and the handler reads it. */
static atomic_int log_fd = -1;
static _Atomic int64_t step = -1;
static _Atomic(const char *) backend, node, impl;

void ct_crash_log(int fd) { atomic_store_explicit(&log_fd, fd, memory_order_relaxed); }
void ct_crash_step(int64_t n) { atomic_store_explicit(&step, n, memory_order_relaxed); }
void ct_crash_backend(const char *name) { atomic_store_explicit(&backend, name, memory_order_relaxed); }

void ct_crash_doing(const char *what, const char *how)
{
    atomic_store_explicit(&node, what, memory_order_relaxed);
    atomic_store_explicit(&impl, how, memory_order_relaxed);
}

static _Atomic ct_activity activity = CT_AT_START;

static const struct { const char *name; bool alone; } what[CT_AT_COUNT] = {
    [CT_AT_START] = { "starting", true },
    [CT_AT_STEP] = { "between two operators", false },
    [CT_AT_BATCH] = { "loading a batch", false },
    [CT_AT_CACHE] = { "building the packed cache", true },
    [CT_AT_TUNE] = { "measuring implementations", true },
    [CT_AT_SCORE] = { "scoring", true },
    [CT_AT_SAVE] = { "saving", true },
    [CT_AT_REPORT] = { "writing the report", true },
};

ct_activity ct_crash_at(ct_activity now) { return atomic_exchange_explicit(&activity, now, memory_order_relaxed); }
const char *ct_activity_name(ct_activity a) { return what[a].name; }
bool ct_activity_alone(ct_activity a) { return what[a].alone; }

void ct_crash_where(ct_whereabouts *out)
{
    out->at = atomic_load_explicit(&activity, memory_order_relaxed);
    out->step = atomic_load_explicit(&step, memory_order_relaxed);
    /* names of nodes are read in steps alone, whose graphs stay */
    const char *on = out->at == CT_AT_STEP ? atomic_load_explicit(&node, memory_order_relaxed) : NULL;
    snprintf(out->doing, sizeof out->doing, "%s", on ? on : what[out->at].name);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
/* The sanitizer's own report says more. */
void ct_crash_begin(void)
{
    (void)step;
    (void)backend;
    (void)node;
    (void)impl;
    (void)log_fd;
}
#else

static void put(const char *text)
{
    const int fd[2] = { STDERR_FILENO, log_fd };
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0 && write(fd[i], text, strlen(text)) < 0) continue; /* nothing can be done about it */
}

static void put_number(int64_t v)
{
    char digits[24], *p = digits + sizeof digits;
    const bool minus = v < 0;
    *--p = '\0';
    for (uint64_t u = minus ? 0 - (uint64_t)v : (uint64_t)v; u > 0 || !*p; u /= 10) *--p = (char)('0' + u % 10);
    if (minus) *--p = '-';
    put(p);
}

static const struct { int number; const char *name; } caught[] = {
    { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" }, { SIGFPE, "SIGFPE" }, { SIGILL, "SIGILL" }, { SIGABRT, "SIGABRT" },
};
enum { CAUGHT = sizeof caught / sizeof caught[0] };

static void put_stack(void)
{
#ifdef HAVE_EXECINFO_H
    void *frame[48];
    const int n = backtrace(frame, 48);
    put("call stack:\n");
    backtrace_symbols_fd(frame, n, STDERR_FILENO);
    if (log_fd >= 0) backtrace_symbols_fd(frame, n, log_fd);
#endif
}

static void report(int sig)
{
    const char *name = "a signal";
    for (int i = 0; i < CAUGHT; i++)
        if (caught[i].number == sig) name = caught[i].name;
    put("\ncaptrain: died of ");
    put(name);
    put("; captrain ");
    put(ct_version());
    put(", built with ");
    put(CT_BUILD);
    put("\n");
    const int64_t at = step;
    const char *on = backend, *doing = node, *by = impl;
    if (at >= 0) {
        put("step: ");
        put_number(at);
        put("\n");
    }
    if (on) {
        put("backend: ");
        put(on);
        put("\n");
    }
    if (doing) {
        put("operator call: node '");
        put(doing);
        put(by ? "' by " : "'");
        put(by ? by : "");
        put("\n");
    }
    put_stack();
    put("This is a fault of captrain, of a library or driver below it, or of the machine's memory. A run goes on from "
        "its last checkpoint: captrain train --out DIR --resume. If it happens again, report these lines and how they "
        "came about.\n");
}

/* The handlers are taken away first (SA_RESETHAND): a fault in here ends the process, too. */
static void handle(int sig)
{
    static volatile sig_atomic_t entered;
    if (!entered) {
        entered = 1;
        report(sig);
    }
    raise(sig); /* pending until the handler returns; then its default action */
}

void ct_crash_begin(void)
{
    static char stack[1 << 16]; /* a stack that has overflown holds no handler */
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction a;
#ifdef HAVE_EXECINFO_H
    void *frame[2];
    backtrace(frame, 2); /* loads what it needs while that is allowed */
#endif
    sigaltstack(&own, NULL);
    memset(&a, 0, sizeof a);
    sigemptyset(&a.sa_mask);
    a.sa_handler = handle;
    a.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK);
    for (int i = 0; i < CAUGHT; i++) sigaction(caught[i].number, &a, NULL);
}
#endif
