/* The program that starts processes: mpirun of Open MPI, or mpiexec of MPICH and its kin. */
#ifndef CT_GROUP_MPIRUN_H
#define CT_GROUP_MPIRUN_H

#include "base/status.h"

typedef enum ct_mpi_family { CT_MPI_OPEN, CT_MPI_MPICH } ct_mpi_family;

typedef struct ct_mpirun {
    char path[4096];
    ct_mpi_family family;
} ct_mpirun;

/* "Open MPI", "MPICH" */
const char *ct_mpi_family_name(ct_mpi_family f);
/* What `mpirun --version` prints; CT_EFORMAT if it is neither's. */
ct_status ct_mpi_family_of(const char *version, ct_mpi_family *out);

/* CAPTRAIN_MPIRUN, or the program of the family that `built_with` names (NULL: any), in PATH. CT_EBACKEND: there is
 * none (the message names packages), or it is the other family's, whose processes would not find each other. */
ct_status ct_mpirun_find(const char *built_with, ct_mpirun *out);

#endif
