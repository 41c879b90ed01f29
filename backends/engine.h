/* The contract of communication engines: what carries sums between processes where the devices themselves cannot.
 *
 * An engine is a plug-in like a backend's: captrain-<name>.so, found in the same folders, which exports
 * `const ct_engine *ct_engine_entry(const ct_services *)` and reaches the core only through ct_services. Its groups are of whole
 * processes, one member each, started by a launcher of the engine's own (mpirun); they work on the host's memory.
 *
 * All calls come from one thread of the process, the one that called start(). */
#ifndef CT_BACKENDS_ENGINE_H
#define CT_BACKENDS_ENGINE_H

#include "backends/backend.h"

#define CT_ENGINE_ABI CT_BACKEND_ABI

/* Asked some ten times a second while the process waits for the others, `first` when a waiting has just begun; `deadline`: seconds that
 * the call has. CT_OK: go on. Anything else is the group's end, with that failure. */
typedef struct ct_patience {
    ct_status (*look)(void *self, bool first, double deadline);
    void *self;
} ct_patience;

typedef struct ct_engine {
    uint32_t abi;        /* CT_ENGINE_ABI */
    uint32_t size;       /* sizeof(ct_engine) */
    const char *name;    /* "mpi" */
    const char *library; /* what it stands on, as that calls itself: "Open MPI 4.1.4" */

    /* Begins, once in a process. `rank` and `size` are what the launcher said; CT_EBACKEND naming both where the engine finds this
     * process to be another member, or of another number of them: a launcher of another kind started it. */
    ct_status (*start)(int rank, int size);
    /* Ends, once: in peace where all members come to it within `deadline` seconds, else CT_EBACKEND. Without the others where something
     * has failed before or the deadline is 0: the process should end then. Nothing can be started again. */
    ct_status (*stop)(double deadline);
    /* Groups of all processes: id() is a formality, create() wants the rank and size of start(). It ignores the device, which may be
     * NULL, and the streams. */
    const ct_comm_ops *comm;
    /* Who judges how long is waited, instead of the deadlines of calls; NULL: those again. It must stay. */
    void (*patience)(const ct_patience *p);
} ct_engine;

typedef const ct_engine *(*ct_engine_entry_fn)(const ct_services *services);

#endif
