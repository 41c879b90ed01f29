#include "config.h"

#include "base/env.h"

#include <stdlib.h>
#include <unistd.h>

extern char **environ; /* no header is bound to declare it */

static const ct_env_row table[CT_ENV_COUNT] = {
    [CT_ENV_VERBOSE] = { "CAPTRAIN_VERBOSE",
                         "Comma-separated topics to print details about: dispatch, plan, loader, samples, all." },
    [CT_ENV_BACKEND_PATH] = { "CAPTRAIN_BACKEND_PATH",
                              "Colon-separated directories searched for plug-ins before the installed one; "
                              "without it a program that was not installed looks beside itself first." },
    [CT_ENV_CACHE_DIR] = { "CAPTRAIN_CACHE_DIR",
                           "Directory of packed data caches; default $XDG_CACHE_HOME/captrain or ~/.cache/captrain." },
    [CT_ENV_CACHE_GB] = { "CAPTRAIN_CACHE_GB",
                          "Gigabytes of packed data that are kept: of more, what has not been used for a day goes, the "
                          "longest unused first; default 20, 0: no limit." },
    [CT_ENV_XDG_CACHE_HOME] = { "XDG_CACHE_HOME",
                                "The user's cache directory; used if CAPTRAIN_CACHE_DIR is not set." },
    [CT_ENV_HOME] = { "HOME", "The user's home directory; its .cache is used if no other cache directory is set." },
    [CT_ENV_SEED] = { "CAPTRAIN_SEED", "Seed of the self-test and of the test harness." },
    [CT_ENV_FONT_PATH] = { "CAPTRAIN_FONT_PATH",
                           "Colon-separated directories searched for fonts before the system's." },
    [CT_ENV_DATA_DIR] = { "CAPTRAIN_DATADIR",
                          "Directory of the shipped examples; default the installed one, then the source tree." },
    [CT_ENV_OPENBLAS_CORETYPE] = { "OPENBLAS_CORETYPE",
                                   "Read by OpenBLAS: its kernel set; a pin below the CPU's best is warned about." },
    [CT_ENV_KERNELS] = { "CAPTRAIN_KERNELS",
                         "Inner loops of the CPU backend: amx, avx512bf16, avx512, avx2 or base; default the best this "
                         "processor has. Each has its own last bits. basebf16 and baseamx emulate products of bf16." },
    [CT_ENV_NO_COLOR] = { "NO_COLOR", "If set, the progress bar uses no colour." },
    [CT_ENV_NVML] = { "CAPTRAIN_NVML",
                      "Library that tells the CUDA backend about power, clocks and memory of the cards; default "
                      "libnvidia-ml.so.1, which comes with the driver." },
    [CT_ENV_NCCL] = { "CAPTRAIN_NCCL",
                      "Library of NCCL, loaded by the CUDA backend for groups of cards; default libnccl.so.2." },
    [CT_ENV_MPIRUN] = { "CAPTRAIN_MPIRUN",
                        "Program that captrain launch starts processes with: mpirun of Open MPI or mpiexec of MPICH; "
                        "default the one that belongs to the MPI this program was built with, else mpirun." },
    [CT_ENV_SHARED] = { "CAPTRAIN_SHARED",
                        "0: processes of one machine sum gradients by messages of MPI, as those of several do, "
                        "and not in memory that they share." },
};

const ct_env_row *ct_env_table(void)
{
    return table;
}

const char *ct_env_get(ct_env e)
{
    if ((unsigned)e >= (unsigned)CT_ENV_COUNT) return NULL;
    const char *v = getenv(table[e].name);
    return v && v[0] ? v : NULL;
}

const char *ct_env_foreign(const char *name)
{
    const char *v = getenv(name);
    return v && v[0] ? v : NULL;
}

const char *ct_env_at(size_t i)
{
    size_t n = 0;
    while (environ && environ[n] && n < i) n++;
    return environ ? environ[n] : NULL;
}
