#include "config.h"

#include "group/kin.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/alloc.h"
#include "base/file.h"

typedef struct kin {
    pid_t pid, parent;
    bool dead; /* nobody has asked how it ended yet */
} kin;

/* Who is who's child: "PID (NAME) STATE PARENT ...", and NAME may hold anything. */
static bool read_stat(pid_t pid, kin *k)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    const char *s = strrchr(line, ')');
    int parent;
    char state;
    if (!s || sscanf(s + 1, " %c %d", &state, &parent) != 2) return false;
    *k = (kin){ .pid = pid, .parent = parent, .dead = state == 'Z' || state == 'X' };
    return true;
}

/* All processes: *out [n] (ct_free). */
static size_t list_all(kin **out)
{
    size_t n = 0, cap = 0;
    DIR *d = opendir("/proc");
    *out = NULL;
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (!isdigit((unsigned char)*e->d_name)) continue;
        if (ct_grow(out, n, &cap, sizeof **out, "processes") != CT_OK) break;
        n += read_stat((pid_t)atoi(e->d_name), &(*out)[n]);
    }
    closedir(d);
    return n;
}

static bool descends(const kin *all, size_t n, pid_t pid, pid_t root)
{
    for (int far = 0; far < 64 && pid > 1; far++) {
        size_t i = 0;
        while (i < n && all[i].pid != pid) i++;
        if (i == n) return false;
        pid = all[i].parent;
        if (pid == root) return true;
    }
    return false;
}

static bool same_program(pid_t pid)
{
    char path[64], own[4096], its[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    const ssize_t a = readlink("/proc/self/exe", own, sizeof own), b = readlink(path, its, sizeof its);
    return a > 0 && a == b && memcmp(own, its, (size_t)a) == 0;
}

int ct_kin_alike(pid_t root)
{
    kin *all;
    int found = 0;
    const size_t n = list_all(&all);
    for (size_t i = 0; i < n; i++)
        found += !all[i].dead && same_program(all[i].pid) && descends(all, n, all[i].pid, root);
    ct_free(all);
    return found;
}

#ifdef __linux__
/* Children that this process had before are not its to end. */
static pid_t *earlier;
static size_t earliers;

void ct_kin_adopt(bool *former)
{
    int was = 0;
    kin *all;
    const size_t n = list_all(&all);
    prctl(PR_GET_CHILD_SUBREAPER, &was);
    *former = was != 0;
    earliers = 0;
    earlier = ct_calloc(n + 1, sizeof *earlier, "processes");
    for (size_t i = 0; i < n && earlier; i++)
        if (all[i].parent == getpid()) earlier[earliers++] = all[i].pid;
    ct_free(all);
    if (earlier) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void ct_kin_release(bool former)
{
    prctl(PR_SET_CHILD_SUBREAPER, former ? 1 : 0);
    ct_free(earlier);
    earlier = NULL;
}

/* Sends the signal to children of late; those that are over are buried. How many live. */
static int sweep(int sig)
{
    kin *all;
    int left = 0;
    const size_t n = list_all(&all);
    for (size_t i = 0; i < n; i++) {
        bool late = all[i].parent == getpid();
        for (size_t k = 0; k < earliers && late; k++) late = earlier[k] != all[i].pid;
        if (!late || waitpid(all[i].pid, NULL, WNOHANG) != 0) continue;
        left++;
        if (sig) kill(all[i].pid, sig);
    }
    ct_free(all);
    return left;
}

void ct_kin_end(double seconds)
{
    const struct timespec moment = { .tv_nsec = 20000000 };
    const double began = ct_now();
    bool asked = false;
    if (!earlier) return;
    while (sweep(0) > 0 && ct_now() - began < seconds + 2) {
        const double passed = ct_now() - began;
        if (!asked && passed > seconds / 2) asked = sweep(SIGTERM) >= 0; /* most end by themselves */
        if (passed > seconds) sweep(SIGKILL);
        nanosleep(&moment, NULL);
    }
}
#else
void ct_kin_adopt(bool *former) { *former = false; }
void ct_kin_release(bool former) { (void)former; }
void ct_kin_end(double seconds) { (void)seconds; }
#endif
