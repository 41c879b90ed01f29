/* The MPI engine's table: which library is there, beginning, ending. */
#include "backends/mpi/internal.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MPI has no common ABI: handles are pointers here and numbers there, and mpi.h has decided which. */
#if defined(OMPI_MAJOR_VERSION)
#define FAMILY "Open MPI"
#define MAJOR OMPI_MAJOR_VERSION
#elif defined(MPICH_NUMVERSION)
#define FAMILY "MPICH"
#define MAJOR (MPICH_NUMVERSION / 10000000) /* 40002300: 4.0.2 */
#else
#error "this MPI is neither Open MPI nor MPICH"
#endif

/* Bytes of a version: MPI_MAX_LIBRARY_VERSION_STRING would be that of the family that this was compiled for alone. */
enum { LONGEST = 16384 };

const ct_services *ct_mpi_core;
ct_mpi_state ct_mpi;
static pthread_t starter; /* MPI_THREAD_FUNNELED: all calls are its */
static bool ours;         /* we began MPI, so we end it */

double ct_mpi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void ct_mpi_breathe(double waited)
{
    const struct timespec pause = { .tv_nsec = 50000 };
    if (waited < 0.05) sched_yield(); /* a sum takes milliseconds: sleeping would add to each of its rounds */
    else nanosleep(&pause, NULL);
}

ct_status ct_mpi_wait_on(double waited, double deadline, double *next, bool *late)
{
    const ct_patience *p = ct_mpi.patience;
    *late = !p && waited > deadline;
    if (*late) return CT_EBACKEND;
    if (!p || waited < (*next > 0 ? *next : 0.1)) return CT_OK;
    const bool first = !(*next > 0);
    *next = waited + 0.1;
    ct_status st = p->look(p->self, first, deadline);
    if (st != CT_OK) ct_mpi.broken = true;
    return st;
}

ct_status ct_mpi_usable(void)
{
    if (ct_mpi.started && !pthread_equal(starter, pthread_self()))
        return ct_mpi_core->fail(CT_EINTERNAL, "mpi: called from another thread than the one that started it");
    if (!ct_mpi.started || ct_mpi.stopped)
        return ct_mpi_core->fail(CT_EBACKEND, "mpi: the engine was %s", ct_mpi.stopped ? "stopped" : "not started");
    if (ct_mpi.broken) return ct_mpi_core->fail(CT_EBACKEND, "mpi: the group of %d members was given up", ct_mpi.size);
    return CT_OK;
}

ct_status ct_mpi_failed(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    ct_mpi.broken = true;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) snprintf(text, sizeof text, "error %d", code);
    return ct_mpi_core->fail(CT_EBACKEND, "mpi: %s: %s (member %d of %d)", what, text, ct_mpi.rank, ct_mpi.size);
}

/* ---- beginning ---- */

static ct_status begin(void)
{
    int there = 0, level = MPI_THREAD_SINGLE;
    int code = MPI_Initialized(&there);
    if (code == MPI_SUCCESS && there) code = MPI_Query_thread(&level);
    else if (code == MPI_SUCCESS) code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (code != MPI_SUCCESS) return ct_mpi_failed(code, "beginning");
    ours = !there;
    starter = pthread_self();
    ct_mpi.started = true;
    if (level < MPI_THREAD_FUNNELED)
        return ct_mpi_core->fail(CT_EBACKEND, "mpi: this library knows no threads (level %d of %d)", level,
                                 MPI_THREAD_FUNNELED);
    /* Else an error ends the process, with a message of the library's alone. */
    code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, &ct_mpi.rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, &ct_mpi.size);
    return code == MPI_SUCCESS ? CT_OK : ct_mpi_failed(code, "asking for the number of members");
}

extern const ct_engine ct_mpi_engine;

static ct_status start(int rank, int size)
{
    if (ct_mpi.started || ct_mpi.stopped) return ct_mpi_core->fail(CT_EINVAL, "mpi: started before in this process");
    ct_status st = begin();
    if (st == CT_OK && (rank != ct_mpi.rank || size != ct_mpi.size))
        st = ct_mpi_core->fail(CT_EBACKEND,
                               "mpi: the launcher says that this is process %d of %d, but for %s it is process %d of "
                               "%d: was it started by the mpirun of another MPI?",
                               rank, size, ct_mpi_engine.library, ct_mpi.rank, ct_mpi.size);
    if (st != CT_OK) ct_mpi.broken = true;
    return st;
}

/* ---- ending ---- */

static ct_status stop(double deadline)
{
    int done = 0;
    MPI_Request all;
    if (!ct_mpi.started || ct_mpi.stopped) return CT_OK;
    if (!pthread_equal(starter, pthread_self())) return ct_mpi_usable();
    ct_mpi.stopped = true;
    /* MPI_Finalize waits for all members, for ever if need be: whether they come is asked first. */
    if (ct_mpi.size > 1) {
        if (ct_mpi.broken || deadline <= 0) return CT_OK;
        const double started = ct_mpi_now();
        double next = 0;
        bool late;
        int code = MPI_Ibarrier(MPI_COMM_WORLD, &all);
        while (code == MPI_SUCCESS && (code = MPI_Test(&all, &done, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !done) {
            const double waited = ct_mpi_now() - started;
            ct_status st = ct_mpi_wait_on(waited, deadline, &next, &late);
            if (late)
                return ct_mpi_core->fail(CT_EBACKEND,
                                         "mpi: not all %d members came to the end within %g s (this is member %d)",
                                         ct_mpi.size, deadline, ct_mpi.rank);
            if (st != CT_OK) return st;
            ct_mpi_breathe(waited);
        }
        if (code != MPI_SUCCESS) return ct_mpi_failed(code, "ending");
    }
    int code = ours ? MPI_Finalize() : MPI_SUCCESS;
    return code == MPI_SUCCESS ? CT_OK : ct_mpi_failed(code, "ending");
}

/* ---- which library ---- */

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." become "Open MPI 4.1.4" and "MPICH 4.0.2" and their
 * major number, others their first line and 0. */
static int name_library(const char *says, char *name, size_t size)
{
    static const char *const row[][2] = { { "Open MPI v", "Open MPI" }, { "MPICH Version:", "MPICH" } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const size_t n = strlen(row[i][0]);
        if (strncmp(says, row[i][0], n) != 0) continue;
        const char *version = says + n + strspn(says + n, " \t");
        snprintf(name, size, "%s %.*s", row[i][1], (int)strcspn(version, " ,\t\n"), version);
        return atoi(version);
    }
    snprintf(name, size, "%.*s", (int)strcspn(says, "\n"), says);
    return 0;
}

static void judge(const ct_patience *p)
{
    ct_mpi.patience = p;
}

static char library[128];

const ct_engine ct_mpi_engine = {
    .abi = CT_ENGINE_ABI,
    .size = sizeof(ct_engine),
    .name = "mpi",
    .library = library,
    .start = start,
    .stop = stop,
    .comm = &ct_mpi_comm,
    .patience = judge,
};

const ct_engine *ct_engine_entry(const ct_services *services);

const ct_engine *ct_engine_entry(const ct_services *services)
{
    static char says[LONGEST];
    int n = 0;
    /* The table's own head tells what is wrong then. */
    if (services->abi != CT_ENGINE_ABI || services->size != sizeof(ct_services)) return &ct_mpi_engine;
    ct_mpi_core = services;
    if (MPI_Get_library_version(says, &n) != MPI_SUCCESS) {
        services->fail(CT_EBACKEND, "its MPI does not tell its version");
        return NULL;
    }
    const int major = name_library(says, library, sizeof library);
    if (strncmp(library, FAMILY " ", sizeof FAMILY) != 0 || major != MAJOR) {
        services->fail(CT_EBACKEND, "it was built for %s %d and finds %s: MPI libraries cannot be exchanged", FAMILY,
                       MAJOR, library);
        return NULL;
    }
    return &ct_mpi_engine;
}
