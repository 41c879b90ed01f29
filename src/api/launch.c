/* captrain launch: a verb in several processes. */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/sized.h"
#include "base/text.h"
#include "captrain.h"
#include "exec/exec.h"
#include "group/identity.h"
#include "group/job.h"
#include "group/launch.h"

#ifdef CT_MPI_BUILT_WITH
#define BUILT_WITH CT_MPI_BUILT_WITH /* "Open MPI" or "MPICH": of captrain-mpi.so */
#else
#define BUILT_WITH NULL
#endif

enum { SAVED = 75 };

/* Who is one of several already starts no others. */
static ct_status check_alone(void)
{
    ct_identity id;
    CT_TRY(ct_identity_read(&id));
    if (id.size == 1) return CT_OK;
    return ct_fail(CT_ECONFIG, "launch: this process is number %d of %d already, says %s: start the verb itself",
                   id.rank, id.size, ct_launcher_name(id.launcher));
}

static ct_status count_devices(const ct_launch_opts *o, ct_launch *l)
{
    const ct_backend *b;
    l->devices = 1;
    if (o->processes || (o->hosts && strchr(o->hosts, ':'))) return CT_OK;
    CT_TRY(ct_backend_choose(o->common.backend, &b, NULL, 0));
    l->devices = b->device_count();
    if (l->devices < 1) l->devices = 1;
    ct_info("launch: -n is not given: one process for each device%s, and backend %s has %" PRId64,
            o->hosts ? " of each machine" : "", b->name, l->devices);
    return CT_OK;
}

/* What was decided by itself, a line each. */
static void tell(const ct_launch *l, bool train)
{
    if (l->oversubscribed)
        ct_info("launch: %" PRId64 " processes share %d core%s%s: none is bound%s", l->local, l->cores,
                l->cores == 1 ? "" : "s", l->slots ? " of each machine" : "",
                l->family == CT_MPI_OPEN ? ", --oversubscribe allows it" : "");
    else if (l->part)
        ct_info("launch: of this machine's hardware threads %d may be used: no process is bound", l->cpus);
    if (l->slots) ct_info("launch: every machine is taken to have %d core%s as this one has", l->cores,
                          l->cores == 1 ? "" : "s");
    if (l->root && l->family == CT_MPI_OPEN)
        ct_info("launch: this is root, whom mpirun refuses without --allow-run-as-root");
    if (train && l->threads_each)
        ct_debug("launch: --threads %d for each process stands above train.threads", l->threads_each);
}

static ct_status check_words(const ct_launch_opts *o, const ct_launch *l)
{
    const bool train = strcmp(o->words[0], "train") == 0;
    if (o->restarts && (!train || !o->can_resume))
        return ct_fail(CT_ECONFIG, "launch: only a training with a folder of its own can be started again");
    bool shared = train || strcmp(o->words[0], "eval") == 0 || strcmp(o->words[0], "profile") == 0;
    for (size_t i = 1; i < o->nwords; i++) /* a model of the catalogue alone is no training */
        if (strncmp(o->words[i], "--model", 7) == 0) shared = train;
    if (l->processes > 1 && !shared)
        ct_warn("launch: train, eval and profile of a training share their work among processes; each of %" PRId64
                " does all of %s", l->processes, o->words[0]);
    return CT_OK;
}

static ct_status print_command(const ct_words *w, bool dry, FILE *to)
{
    char *text = ct_words_text(w);
    if (!text) return CT_ENOMEM;
    if (dry) {
        ct_text_put(to, text, true);
        fputc('\n', to);
    } else {
        ct_info("launch: %s", text);
    }
    ct_free(text);
    return !dry || (fflush(to) == 0 && !ferror(to)) ? CT_OK : ct_fail(CT_EIO, "launch: a line could not be written");
}

/* The exit code to give where a signal came: what the verb alone would have given. mpirun forwards SIGUSR1 to its
 * processes and lets them end; upon the other signals Open MPI's kills what has not ended after a second. So a
 * training hears SIGUSR1 whatever came, and saves. MPICH's (4.0) forgets exit codes where it forwarded a signal: 0 may
 * be 75, and --resume of a training that is complete does no harm. */
static int code_after(int code, bool train, ct_mpi_family family)
{
    const int sig = (int)ct_stop_signal;
    if (!sig) return code;
    if (!train) return 128 + sig;
    if (code == 0 && family == CT_MPI_MPICH) code = SAVED;
    return code == SAVED && sig != SIGUSR1 ? 128 + sig : code;
}

/* A process that was killed, or fell, ends the others, and mpirun gives its signal: the training broke up and may go
 * on from its last checkpoint. What asks a training to stop is no such signal. */
static int code_of_group(int code, bool train)
{
    const int sig = code - 128;
    if (!train || sig <= 0 || sig == SIGINT || sig == SIGTERM || sig == SIGHUP || ct_stop_signal) return code;
    ct_warn("launch: a process was ended by signal %d (%s)", sig, strsignal(sig));
    return SAVED;
}

static ct_status run(const ct_launch_opts *o, const ct_launch *l, FILE *to, int *code)
{
    const bool train = strcmp(o->words[0], "train") == 0;
    ct_status st = CT_OK;
    for (int64_t tried = 0; st == CT_OK; tried++) {
        ct_words w = { NULL, 0, 0 };
        st = ct_launch_compose(l, tried > 0 && !o->resumes, &w);
        if (st == CT_OK) st = print_command(&w, o->dry_run, to);
        if (st == CT_OK && !o->dry_run) st = ct_job_run("launch", w.v, train, code);
        ct_words_free(&w);
        *code = code_of_group(*code, train);
        if (st != CT_OK || o->dry_run || *code != SAVED || ct_stop_signal || tried == o->restarts) break;
        ct_info("launch: exit code 75: going on from the last checkpoint, %" PRId64 " of at most %" PRId64
                " times", tried + 1, o->restarts);
    }
    *code = code_after(*code, train, l->family);
    return st;
}

ct_status ct_run_launch(const ct_launch_opts *given, FILE *to, int *code)
{
    ct_launch_opts own;
    ct_mpirun mpirun;
    char self[4096];
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_launch_opts"));
    const ct_launch_opts *o = &own;
    *code = 0;
    if (!o->nwords) return ct_fail(CT_EINVAL, "launch: there is no verb");
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = '\0';
    ct_launch l = { .processes = o->processes, .hosts = o->hosts, .threads = o->common.threads, .words = o->words,
                    .nwords = o->nwords, .program = n > 0 ? self : o->program };
    CT_TRY(check_alone());
    CT_TRY(count_devices(o, &l));
    ct_launch_look(&l);
    ct_status st;
    CT_GOTO(st, ct_launch_settle(&l));
    CT_GOTO(st, check_words(o, &l));
    CT_GOTO(st, ct_mpirun_find(BUILT_WITH, &mpirun));
    l.mpirun = mpirun.path;
    l.family = mpirun.family;
    tell(&l, strcmp(o->words[0], "train") == 0);
    ct_signals_begin();
    st = run(o, &l, to, code);
    ct_signals_end();
fail:
    ct_launch_free(&l);
    return st;
}
