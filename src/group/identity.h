/* Which one of several processes this is, as the program that started them says in the environment: mpirun of Open MPI,
 * mpiexec of MPICH and its kin, srun, torchrun. Nothing is asked of a library or of the network. */
#ifndef CT_GROUP_IDENTITY_H
#define CT_GROUP_IDENTITY_H

#include <stdbool.h>

#include "base/status.h"

typedef enum ct_launcher {
    CT_LAUNCHER_NONE,    /* alone */
    CT_LAUNCHER_OPENMPI, /* OMPI_COMM_WORLD_RANK ... */
    CT_LAUNCHER_MPICH,   /* PMI_RANK ...: MPICH, Intel MPI, srun --mpi=pmi2 */
    CT_LAUNCHER_SLURM,   /* SLURM_PROCID ... within a step */
    CT_LAUNCHER_TORCH,   /* RANK, LOCAL_RANK ... */
    CT_LAUNCHER_COUNT
} ct_launcher;

typedef struct ct_identity {
    int rank, size;             /* of all processes; 0, 1: alone */
    int local_rank, local_size; /* of those on this machine; -1, 0: the launcher does not tell */
    ct_launcher launcher;       /* whose numbers these are: of several that agree, the first in the list above */
    char master[256];           /* MASTER_ADDR; "": not told */
    int port;                   /* MASTER_PORT; 0: not told */
    char run[96];               /* what the launcher calls this run, start or step; "": nothing */
    bool pmi;                   /* there is a process manager that MPI asks: not behind torchrun, nor srun without */
    char host[256];             /* name of this machine */
} ct_identity;

/* "none", "openmpi", "mpich", "slurm", "torch" */
const char *ct_launcher_name(ct_launcher l);

/* Value of a variable, or NULL if it is unset or empty. */
typedef const char *(*ct_variable)(const char *name);

/* A function of what `get` gives alone; id->host stays empty. CT_ECONFIG naming variables and values for numbers that
 * are none or do not fit together, for launchers that disagree, and where one process per card is still to be started
 * (RANK without LOCAL_RANK is the number of a node, as Kubeflow's PyTorchJob sets it; only alone it may be so).
 * Slurm's numbers yield to another launcher's where the step has one process per node, which is how mpirun and torchrun
 * reach their nodes, and the other one has more than one process. */
ct_status ct_identity_find(ct_variable get, ct_identity *id);
/* The same of this process's environment, with the machine's name. */
ct_status ct_identity_read(ct_identity *id);

/* Tells torchrun, which then names this rank and `message` as the cause, why this process ends: writes the file
 * TORCHELASTIC_ERROR_FILE. CT_OK where nobody asks for it. */
ct_status ct_identity_tell_failure(const char *message);

#endif
