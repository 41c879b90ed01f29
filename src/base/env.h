/* The environment variables captrain reads: one table (env.c), the only place that calls getenv().
 * `captrain doctor` and the man page print the table. Variables that other programs set for the processes they start
 * (mpirun, srun, torchrun) are nobody's settings and so no rows of it: group/identity.c has theirs. */
#ifndef CT_BASE_ENV_H
#define CT_BASE_ENV_H

#include <stddef.h>

typedef enum ct_env {
    CT_ENV_VERBOSE,          /* CAPTRAIN_VERBOSE: topics, see base/log.h */
    CT_ENV_BACKEND_PATH,     /* CAPTRAIN_BACKEND_PATH: folders of plug-ins, before the installed one */
    CT_ENV_CACHE_DIR,        /* CAPTRAIN_CACHE_DIR: packed caches; default captrain/ in $XDG_CACHE_HOME or ~/.cache */
    CT_ENV_CACHE_GB,         /* CAPTRAIN_CACHE_GB: how much of them is kept, see base/cache.h */
    CT_ENV_XDG_CACHE_HOME,   /* XDG_CACHE_HOME */
    CT_ENV_HOME,             /* HOME */
    CT_ENV_SEED,             /* CAPTRAIN_SEED: seed of the self-test and the test harness */
    CT_ENV_FONT_PATH,        /* CAPTRAIN_FONT_PATH: directories searched for fonts before the system's */
    CT_ENV_DATA_DIR,         /* CAPTRAIN_DATADIR: shipped examples; default the installed, then the source tree's */
    CT_ENV_OPENBLAS_CORETYPE,/* OPENBLAS_CORETYPE: read by OpenBLAS; a pin below the CPU's best is warned about */
    CT_ENV_KERNELS,          /* CAPTRAIN_KERNELS: inner loops of the CPU by name; default the best */
    CT_ENV_NO_COLOR,         /* NO_COLOR: plain progress bar */
    CT_ENV_NVML,             /* CAPTRAIN_NVML: library that tells about NVIDIA cards; default libnvidia-ml.so.1 */
    CT_ENV_NCCL,             /* CAPTRAIN_NCCL: NCCL, which groups of NVIDIA cards need; default libnccl.so.2 */
    CT_ENV_MPIRUN,           /* CAPTRAIN_MPIRUN: program that `captrain launch` starts processes with */
    CT_ENV_SHARED,           /* CAPTRAIN_SHARED: 0: processes of one machine sum by messages of MPI */
    CT_ENV_COUNT
} ct_env;

typedef struct ct_env_row {
    const char *name; /* variable */
    const char *doc;  /* one sentence */
} ct_env_row;

const ct_env_row *ct_env_table(void);   /* CT_ENV_COUNT rows */
const char *ct_env_get(ct_env e);       /* value, or NULL if unset or empty */
/* Value of a variable of other programs, likewise. */
const char *ct_env_foreign(const char *name);
/* "NAME=VALUE" of variable i = 0, 1, ... of all; NULL behind the last. */
const char *ct_env_at(size_t i);

#endif
