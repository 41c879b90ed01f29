#include "config.h"

#include "group/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/env.h"
#include "base/text.h"

enum { MOST_PROCESSES = 65536 };

/* ---- the machine ---- */

/* The first hardware thread of the core that `cpu` belongs to. */
static int first_sibling(int cpu)
{
    char path[96];
    int first = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "re");
    if (!f) return cpu;
    if (fscanf(f, "%d", &first) != 1 || first < 0 || first >= CPU_SETSIZE) first = cpu;
    fclose(f);
    return first;
}

void ct_launch_look(ct_launch *l)
{
    cpu_set_t usable, cores;
    l->root = geteuid() == 0;
    l->cpus = l->cores = 1;
    l->part = false;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    CPU_ZERO(&cores);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &usable)) CPU_SET(first_sibling(i), &cores);
    l->cpus = CPU_COUNT(&usable);
    l->cores = CPU_COUNT(&cores);
    l->part = l->cpus < ct_cpus_online();
}

/* ---- where ---- */

/* One of --hosts: its name, and how many processes it takes (0: not said). */
static ct_status read_host(const char *s, size_t n, int64_t *count)
{
    char name[256];
    const char *colon = memchr(s, ':', n);
    const size_t len = colon ? (size_t)(colon - s) : n;
    *count = 0;
    if (len == 0) return ct_fail(CT_ECONFIG, "launch: --hosts: a name is missing");
    for (size_t i = 0; i < len; i++) {
        const char c = s[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter || c == '.' || c == '_' || (c == '-' && i > 0)) continue;
        char part[64];
        snprintf(part, sizeof part, "%.*s", (int)(len < 60 ? len : 60), s);
        return ct_fail(CT_ECONFIG, "launch: --hosts: '%s' is no name of a machine",
                       ct_text_visible(part, name, sizeof name));
    }
    if (!colon) return CT_OK;
    char *end;
    const long v = colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : 0;
    if (v >= 1 && v <= MOST_PROCESSES && end == s + n) return *count = v, CT_OK;
    snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), s);
    return ct_fail(CT_ECONFIG, "launch: --hosts: behind '%s:' stands no whole number from 1 to %d", name,
                   MOST_PROCESSES);
}

/* Machines of the list, processes that it counts (0: it counts none), the most of one. */
static ct_status survey_hosts(const char *hosts, int64_t *machines, int64_t *sum, int64_t *most)
{
    int64_t counted = 0, count;
    *machines = *sum = *most = 0;
    for (const char *s = hosts;; s++) {
        const size_t n = strcspn(s, ",");
        CT_TRY(read_host(s, n, &count));
        ++*machines;
        counted += count > 0;
        *sum += count;
        if (count > *most) *most = count;
        s += n;
        if (!*s) break;
    }
    if (counted == 0 || counted == *machines) return CT_OK;
    return ct_fail(CT_ECONFIG, "launch: --hosts: either every machine has a number of processes (A:4,B:4) or none");
}

/* "A:2,B:2" of "A,B". */
static char *make_slots(const char *hosts, int64_t machines, int64_t each)
{
    const size_t size = strlen(hosts) + (size_t)machines * 8 + 1;
    char *out = ct_malloc(size, "launch: hosts"), *p = out;
    if (!out) return NULL;
    for (const char *s = hosts; *s;) {
        const size_t n = strcspn(s, ",");
        p += snprintf(p, size - (size_t)(p - out), "%s%.*s:%" PRId64, s == hosts ? "" : ",", (int)n, s, each);
        s += n + (s[n] == ',');
    }
    return out;
}

static ct_status settle_hosts(ct_launch *l)
{
    int64_t machines, sum, most;
    CT_TRY(survey_hosts(l->hosts, &machines, &sum, &most));
    if (l->processes == 0) l->processes = sum ? sum : machines * l->devices;
    if (sum && l->processes > sum)
        return ct_fail(CT_ECONFIG, "launch: --hosts %s is room for %" PRId64 " processes, -n asks for %" PRId64,
                       l->hosts, sum, l->processes);
    l->local = sum ? most : (l->processes + machines - 1) / machines;
    l->slots = sum ? ct_strdup(l->hosts, "launch: hosts") : make_slots(l->hosts, machines, l->local);
    return l->slots ? CT_OK : CT_ENOMEM;
}

ct_status ct_launch_settle(ct_launch *l)
{
    if (l->hosts) {
        CT_TRY(settle_hosts(l));
    } else {
        if (l->processes == 0) l->processes = l->devices;
        l->local = l->processes;
    }
    if (l->local > l->processes) l->local = l->processes;
    l->oversubscribed = l->local > l->cores;
    /* mpirun counts the cores of the machine, not those that it may use: it would bind to others */
    l->bound = !l->oversubscribed && !l->part;
    l->threads_each = l->threads ? 0 : l->cpus > l->local ? (int)(l->cpus / l->local) : 1;
    return CT_OK;
}

void ct_launch_free(ct_launch *l)
{
    ct_free(l->slots);
    l->slots = NULL;
}

/* ---- the command ---- */

static ct_status add(ct_words *w, const char *word)
{
    CT_TRY(ct_grow(&w->v, w->n + 1, &w->cap, sizeof *w->v, "launch: words")); /* one more for the NULL behind */
    w->v[w->n] = ct_strdup(word, "launch: words");
    if (!w->v[w->n]) return CT_ENOMEM;
    w->v[++w->n] = NULL;
    return CT_OK;
}

static ct_status add_pair(ct_words *w, const char *option, const char *value)
{
    CT_TRY(add(w, option));
    return add(w, value);
}

static ct_status add_number(ct_words *w, const char *before, int64_t v)
{
    char text[64];
    snprintf(text, sizeof text, "%s%" PRId64, before, v);
    return add(w, text);
}

/* Open MPI takes its own variables along to other machines, and of others those that are named. */
static ct_status add_variables(ct_words *w)
{
    static const char *const prefix[] = { "CAPTRAIN_", "OMP_", "OPENBLAS_", "NCCL_", "UCX_", "LD_LIBRARY_PATH=" };
    const char *s;
    for (size_t i = 0; (s = ct_env_at(i)); i++)
        for (size_t k = 0; k < sizeof prefix / sizeof *prefix; k++) {
            char name[128];
            if (strncmp(s, prefix[k], strlen(prefix[k])) != 0) continue;
            if ((size_t)snprintf(name, sizeof name, "%.*s", (int)strcspn(s, "="), s) < sizeof name)
                CT_TRY(add_pair(w, "-x", name));
        }
    return CT_OK;
}

static ct_status add_openmpi(const ct_launch *l, ct_words *w)
{
    if (l->root) CT_TRY(add(w, "--allow-run-as-root"));
    CT_TRY(add(w, "-n"));
    CT_TRY(add_number(w, "", l->processes));
    if (l->slots) CT_TRY(add_pair(w, "--host", l->slots));
    if (l->oversubscribed) CT_TRY(add(w, "--oversubscribe"));
    if (l->bound) {
        CT_TRY(add(w, "--map-by"));
        CT_TRY(add_number(w, "slot:PE=", l->cores / l->local));
    }
    /* said in any case: by itself it binds each of two processes to a single core */
    CT_TRY(add_pair(w, "--bind-to", l->bound ? "core" : "none"));
    return l->slots ? add_variables(w) : CT_OK;
}

static ct_status add_mpich(const ct_launch *l, ct_words *w)
{
    CT_TRY(add(w, "-n"));
    CT_TRY(add_number(w, "", l->processes));
    if (l->slots) CT_TRY(add_pair(w, "-hosts", l->slots));
    CT_TRY(add(w, "-bind-to"));
    return l->bound ? add_number(w, "core:", l->cores / l->local) : add(w, "none");
}

ct_status ct_launch_compose(const ct_launch *l, bool resume, ct_words *w)
{
    CT_TRY(add(w, l->mpirun));
    CT_TRY(l->family == CT_MPI_OPEN ? add_openmpi(l, w) : add_mpich(l, w));
    CT_TRY(add_pair(w, l->program, l->words[0]));
    if (l->threads_each) {
        CT_TRY(add(w, "--threads"));
        CT_TRY(add_number(w, "", l->threads_each));
    }
    if (resume) CT_TRY(add(w, "--resume"));
    for (size_t i = 1; i < l->nwords; i++) CT_TRY(add(w, l->words[i]));
    return CT_OK;
}

static bool plain(const char *s)
{
    return *s && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")] == '\0';
}

char *ct_words_text(const ct_words *w)
{
    size_t size = 1;
    for (size_t i = 0; i < w->n; i++) size += 4 * strlen(w->v[i]) + 3; /* ' becomes '\'' */
    char *out = ct_malloc(size, "launch: the command"), *p = out;
    if (!out) return NULL;
    for (size_t i = 0; i < w->n; i++) {
        const char *s = w->v[i];
        const bool quote = !plain(s);
        if (i) *p++ = ' ';
        if (quote) *p++ = '\'';
        for (; *s; s++) {
            if (*s == '\'') p = stpcpy(p, "'\\''");
            else *p++ = *s;
        }
        if (quote) *p++ = '\'';
    }
    *p = '\0';
    return out;
}

void ct_words_free(ct_words *w)
{
    for (size_t i = 0; i < w->n; i++) ct_free(w->v[i]);
    ct_free(w->v);
    *w = (ct_words){ NULL, 0, 0 };
}
