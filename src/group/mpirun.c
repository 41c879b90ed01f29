#include "config.h"

#include "group/mpirun.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "group/job.h"

const char *ct_mpi_family_name(ct_mpi_family f)
{
    return f == CT_MPI_OPEN ? "Open MPI" : "MPICH";
}

ct_status ct_mpi_family_of(const char *version, ct_mpi_family *out)
{
    static const struct { const char *word; ct_mpi_family family; } sign[] = {
        { "Open MPI", CT_MPI_OPEN }, { "OpenRTE", CT_MPI_OPEN }, { "HYDRA", CT_MPI_MPICH },
        { "MPICH", CT_MPI_MPICH },   { "mpich", CT_MPI_MPICH },  { "Intel(R) MPI", CT_MPI_MPICH },
    };
    char shown[128];
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++)
        if (strstr(version, sign[i].word)) return *out = sign[i].family, CT_OK;
    return ct_fail(CT_EFORMAT, "--version is neither Open MPI's nor MPICH's: '%s'",
                   ct_text_visible(version, shown, sizeof shown));
}

static bool runnable(const char *path)
{
    return ct_path_is_file(path) && access(path, X_OK) == 0;
}

/* A program by its path, or in PATH. */
static bool find(const char *name, char *path, size_t size)
{
    if (strchr(name, '/')) return (size_t)snprintf(path, size, "%s", name) < size && runnable(path);
    for (const char *s = ct_env_foreign("PATH"); s && *s;) {
        const size_t n = strcspn(s, ":");
        if (n && (size_t)snprintf(path, size, "%.*s/%s", (int)n, s, name) < size && runnable(path)) return true;
        s += n + (s[n] == ':');
    }
    return false;
}

#define PACKAGES "; packages that have one are openmpi-bin (Open MPI) and mpich; CAPTRAIN_MPIRUN may name another"

ct_status ct_mpirun_find(const char *built_with, ct_mpirun *out)
{
    /* where several are installed, Debian has each under its own name and one of them as mpirun */
    static const char *const names[][4] = {
        { "mpirun", "mpiexec", NULL },
        { "mpirun.openmpi", "mpirun", "mpiexec", NULL },
        { "mpiexec.hydra", "mpirun.mpich", "mpiexec", "mpirun" },
    };
    char shown[512], version[1024], flag[] = "--version";
    const char *given = ct_env_get(CT_ENV_MPIRUN);
    const char *const *name = names[!built_with ? 0 : strcmp(built_with, ct_mpi_family_name(CT_MPI_OPEN)) == 0 ? 1 : 2];
    bool found = given && find(given, out->path, sizeof out->path);
    if (given && !found)
        return ct_fail(CT_EBACKEND, "launch: CAPTRAIN_MPIRUN names no program: %s",
                       ct_text_visible(given, shown, sizeof shown));
    for (int i = 0; !found && i < 4 && name[i]; i++) found = find(name[i], out->path, sizeof out->path);
    if (!found) return ct_fail(CT_EBACKEND, "launch: there is no %s in PATH" PACKAGES, "mpirun or mpiexec");
    char *const argv[] = { out->path, flag, NULL };
    CT_TRY(ct_job_ask(argv, version, sizeof version));
    if (ct_mpi_family_of(version, &out->family) != CT_OK)
        return ct_fail_context(CT_EBACKEND, "launch: %s", ct_text_visible(out->path, shown, sizeof shown));
    if (!built_with || strcmp(built_with, ct_mpi_family_name(out->family)) == 0) return CT_OK;
    ct_text_visible(out->path, shown, sizeof shown);
    if (!given)
        return ct_fail(CT_EBACKEND, "launch: %s is %s's, captrain-mpi.so was built with %s" PACKAGES, shown,
                       ct_mpi_family_name(out->family), built_with);
    ct_warn("launch: %s is %s's, captrain-mpi.so was built with %s", shown, ct_mpi_family_name(out->family),
            built_with);
    return CT_OK;
}
