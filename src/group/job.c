#include "config.h"

#include "group/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "group/kin.h"

enum { BROKE = 75 };

typedef struct orphan {
    double seen, looked; /* ct_now() */
    bool ended;
} orphan;

/* In the child: becomes the program, or tells why not. Only what is allowed behind fork(). `parent`: whose end the
 * program is not to outlive. */
static void become(char *const argv[], pid_t parent, int null, int out, int told)
{
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    /* what is ignored would stay so; SIGHUP does under nohup, which is meant */
    signal(SIGPIPE, SIG_DFL);
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_DFL);
#endif
    dup2(null, 0);
    if (out >= 0) dup2(out, 1);
    if (out >= 0) dup2(out, 2);
    if (getppid() == parent) execv(argv[0], argv);
    const int why = errno;
    const ssize_t written = write(told, &why, sizeof why);
    (void)written;
    raise(SIGKILL); /* there is nothing to tidy up, and exit handlers are the parent's */
}

/* out: where the program writes; -1: where this process does. */
static ct_status start(char *const argv[], int out, pid_t *pid)
{
    int told[2], why = 0;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) return ct_fail(CT_EIO, "/dev/null: %s", strerror(errno));
    if (pipe2(told, O_CLOEXEC) != 0) {
        close(null);
        return ct_fail(CT_EIO, "%s: no pipe: %s", argv[0], strerror(errno));
    }
    const pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) become(argv, parent, null, out, told[1]);
    const int failure = errno;
    close(null);
    close(told[1]);
    ssize_t n = 0;
    if (*pid > 0)
        do n = read(told[0], &why, sizeof why);
        while (n < 0 && errno == EINTR);
    close(told[0]);
    if (*pid < 0) return ct_fail(CT_EIO, "%s: no process: %s", argv[0], strerror(failure));
    if (n <= 0) return CT_OK;
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) continue;
    return ct_fail(CT_EIO, "%s cannot be run: %s", argv[0], strerror(why));
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Seconds without any of the processes that the program started here, until it is killed: asked to end, Open MPI's
 * falls over machines that are gone. */
#define ALONE 5.0

/* mpirun may wait for ever for machines that it cannot reach any more, when its own processes have long ended. */
static void end_if_left(const char *verb, orphan *o, pid_t pid)
{
    const double now = ct_now();
    if (now - o->looked < 0.5) return;
    o->looked = now;
    if (ct_kin_alike(pid) > 0) {
        o->seen = now;
        return;
    }
    if (o->seen <= 0 || now - o->seen < ALONE || o->ended) return;
    ct_warn("%s: all processes here have ended, and mpirun has not: it is ended", verb);
    o->ended = true;
    kill(-pid, SIGKILL);
}

static ct_status await(const char *verb, char *const argv[], bool saves, pid_t pid, int *code)
{
    /* Signals come with SA_RESTART, through which a wait would sleep on. */
    const struct timespec moment = { .tv_nsec = 50000000 };
    int status = 0, sent = 0;
    orphan left = { .seen = 0 };
    pid_t ended;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (ct_stop_signal && !sent) {
            sent = (int)ct_stop_signal;
            ct_info("%s: %s: the processes are asked to %s", verb, ct_signal_name(sent),
                    saves ? "save and end" : "end");
            kill(pid, saves ? SIGUSR1 : sent);
        }
        if (saves) end_if_left(verb, &left, pid);
        nanosleep(&moment, NULL);
    }
    if (ended < 0) return ct_fail(CT_EIO, "%s: waiting for it: %s", argv[0], strerror(errno));
    *code = left.ended ? BROKE : code_of(status);
    return CT_OK;
}

ct_status ct_job_run(const char *verb, char *const argv[], bool saves, int *code)
{
    bool former;
    pid_t pid;
    ct_kin_adopt(&former);
    ct_status st = start(argv, -1, &pid);
    if (st == CT_OK) {
        st = await(verb, argv, saves, pid, code);
        ct_kin_end(2);
    }
    ct_kin_release(former);
    return st;
}

ct_status ct_job_ask(char *const argv[], char *said, size_t size)
{
    int out[2], status;
    pid_t pid;
    size_t n = 0;
    char rest[256];
    if (pipe2(out, O_CLOEXEC) != 0) return ct_fail(CT_EIO, "%s: no pipe: %s", argv[0], strerror(errno));
    const ct_status st = start(argv, out[1], &pid);
    close(out[1]);
    while (st == CT_OK) {
        const bool room = n + 1 < size;
        const ssize_t k = room ? read(out[0], said + n, size - 1 - n) : read(out[0], rest, sizeof rest);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        if (room) n += (size_t)k;
    }
    close(out[0]);
    said[n] = '\0';
    if (st != CT_OK) return st;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return CT_OK;
}
