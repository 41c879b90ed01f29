/* Which one of several processes this is: every launcher, every contradiction, and that messages name the variables. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/json.h"
#include "group/identity.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

/* Environments: "NAME=VALUE NAME=VALUE". */
static const char *environment;

static const char *get(const char *name)
{
    static char value[8][256];
    static int next;
    const size_t n = strlen(name);
    for (const char *s = environment; *s;) {
        const size_t len = strcspn(s, " ");
        if (len > n + 1 && strncmp(s, name, n) == 0 && s[n] == '=') {
            char *v = value[next++ % 8];
            memcpy(v, s + n + 1, len - n - 1);
            v[len - n - 1] = '\0';
            return v;
        }
        s += len + (s[len] == ' ');
    }
    return NULL;
}

#define SLURM_STEP "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=6 SLURM_STEP_TASKS_PER_NODE=2(x2),1(x2) SLURM_STEP_NUM_NODES=4"
#define SLURM_NODES "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_LOCALID=0"

static const struct good {
    const char *environment;
    int rank, size, local_rank, local_size;
    ct_launcher launcher;
} good[] = {
    { "", 0, 1, 0, 1, CT_LAUNCHER_NONE },
    { "HOME=/root WORLD_SIZE=1", 0, 1, 0, 1, CT_LAUNCHER_NONE },
    { "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2",
      3, 4, 1, 2, CT_LAUNCHER_OPENMPI },
    { "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", 0, 1, -1, 0, CT_LAUNCHER_OPENMPI },
    { "PMI_RANK=2 PMI_SIZE=3 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1", 2, 3, 0, 1, CT_LAUNCHER_MPICH },
    { "PMI_RANK=2 PMI_SIZE=3", 2, 3, -1, 0, CT_LAUNCHER_MPICH },
    { SLURM_STEP " SLURM_PROCID=5 SLURM_LOCALID=0 SLURM_NODEID=3", 5, 6, 0, 1, CT_LAUNCHER_SLURM },
    { SLURM_STEP " SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_NODEID=1", 3, 6, 1, 2, CT_LAUNCHER_SLURM },
    { "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2 SLURM_LOCALID=2", 2, 3, 2, 0, CT_LAUNCHER_SLURM },
    /* a list that nobody understands tells nothing */
    { "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2 SLURM_STEP_TASKS_PER_NODE=3(y2 SLURM_NODEID=0",
      2, 3, -1, 0, CT_LAUNCHER_SLURM },
    /* the batch script: it has a number, and is alone */
    { "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_NODEID=0", 0, 1, 0, 1, CT_LAUNCHER_NONE },
    { "SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_NTASKS=4", 0, 1, 0, 1, CT_LAUNCHER_NONE },
    { "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4", 5, 8, 1, 4, CT_LAUNCHER_TORCH },
    { "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 PET_NNODES=2 PET_NPROC_PER_NODE=4", 5, 8, 1, 4,
      CT_LAUNCHER_TORCH },
    /* a group of one node with one process */
    { "RANK=0 WORLD_SIZE=1 PET_NNODES=1", 0, 1, 0, 1, CT_LAUNCHER_NONE },
    /* several that agree: one learns from the other what it does not know */
    { "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 "
      "SLURM_LOCALID=1 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=2", 1, 2, 1, 2, CT_LAUNCHER_OPENMPI },
    { "PMI_RANK=1 PMI_SIZE=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NODEID=1 "
      "SLURM_STEP_TASKS_PER_NODE=1(x2)", 1, 2, 0, 1, CT_LAUNCHER_MPICH },
    { "RANK=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", 1, 2, -1, 0, CT_LAUNCHER_OPENMPI },
    /* steps of one process per node that started torchrun or were started by mpirun */
    { SLURM_NODES " SLURM_PROCID=1 RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4", 5, 8, 1, 4,
      CT_LAUNCHER_TORCH },
    { SLURM_NODES " SLURM_PROCID=1 OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_RANK=1 "
      "OMPI_COMM_WORLD_LOCAL_SIZE=2", 5, 6, 1, 2, CT_LAUNCHER_OPENMPI },
    /* pods with mpirun */
    { "PET_NNODES=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", 1, 2, -1, 0, CT_LAUNCHER_OPENMPI },
};

START_TEST(find_good)
{
    const struct good *g = &good[_i];
    ct_identity id;
    environment = g->environment;
    ok(ct_identity_find(get, &id));
    ck_assert_msg(id.rank == g->rank && id.size == g->size && id.local_rank == g->local_rank &&
                      id.local_size == g->local_size && id.launcher == g->launcher,
                  "%s: %d of %d, %d of %d here, %s", g->environment, id.rank, id.size, id.local_rank, id.local_size,
                  ct_launcher_name(id.launcher));
    ck_assert(id.master[0] == '\0' && id.port == 0);
}
END_TEST

#define OMPI(rank, size) "OMPI_COMM_WORLD_RANK=" rank " OMPI_COMM_WORLD_SIZE=" size

static const struct bad {
    const char *environment, *said[3];
} bad[] = {
    { OMPI("x", "2"), { "OMPI_COMM_WORLD_RANK=x is not a whole number" } },
    { OMPI("1.5", "2"), { "OMPI_COMM_WORLD_RANK=1.5 is not a whole number" } },
    { OMPI("+1", "2"), { "OMPI_COMM_WORLD_RANK=+1 is not a whole number" } },
    { OMPI("99999999999999999999", "2"), { "OMPI_COMM_WORLD_RANK=99999999999999999999 is not a whole number" } },
    { OMPI("-1", "2"), { "OMPI_COMM_WORLD_RANK=-1 is not in the range from 0" } },
    { OMPI("0", "0"), { "OMPI_COMM_WORLD_SIZE=0 is not in the range from 1" } },
    { OMPI("2", "2"), { "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=2" } },
    { "OMPI_COMM_WORLD_RANK=2", { "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE is not set" } },
    { "OMPI_COMM_WORLD_SIZE=2", { "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is not set" } },
    { OMPI("1", "4") " OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_LOCAL_SIZE=2",
      { "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2" } },
    { OMPI("1", "4") " OMPI_COMM_WORLD_LOCAL_RANK=4", { "OMPI_COMM_WORLD_LOCAL_RANK=4", "OMPI_COMM_WORLD_SIZE=4" } },
    { OMPI("1", "4") " OMPI_COMM_WORLD_LOCAL_SIZE=5", { "OMPI_COMM_WORLD_LOCAL_SIZE=5", "OMPI_COMM_WORLD_SIZE=4" } },
    { "PMI_RANK=a PMI_SIZE=3", { "PMI_RANK=a is not a whole number" } },
    { "PMI_RANK=3 PMI_SIZE=3", { "PMI_RANK=3", "PMI_SIZE=3" } },
    { "PMI_RANK=0 PMI_SIZE=3 MPI_LOCALRANKID=-1", { "MPI_LOCALRANKID=-1" } },
    { "PMI_RANK=0 PMI_SIZE=3 MPI_LOCALNRANKS=none", { "MPI_LOCALNRANKS=none" } },
    { "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=2", { "SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=2" } },
    { "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=two SLURM_PROCID=2", { "SLURM_STEP_NUM_TASKS=two" } },
    { SLURM_STEP " SLURM_PROCID=5 SLURM_LOCALID=1 SLURM_NODEID=3", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=1" } },
    { SLURM_STEP " SLURM_PROCID=5 SLURM_NODEID=x", { "SLURM_NODEID=x" } },
    { "RANK=eight WORLD_SIZE=8 LOCAL_RANK=1", { "RANK=eight is not a whole number" } },
    { "RANK=8 WORLD_SIZE=8 LOCAL_RANK=1", { "RANK=8", "WORLD_SIZE=8" } },
    { "RANK=1 LOCAL_RANK=1", { "RANK=1", "WORLD_SIZE is not set" } },
    { "RANK=1", { "RANK=1", "WORLD_SIZE is not set" } },
    { "WORLD_SIZE=2", { "WORLD_SIZE=2", "RANK is not set" } },
    { "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_PORT=0", { "MASTER_PORT=0" } },
    { "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_PORT=65536", { "MASTER_PORT=65536" } },
    /* numbers of nodes */
    { "RANK=1 WORLD_SIZE=2", { "RANK=1 without LOCAL_RANK is the number of this node", "WORLD_SIZE=2", "torchrun" } },
    { "RANK=0 WORLD_SIZE=2 PET_NNODES=2 PET_NPROC_PER_NODE=4",
      { "RANK=0 without LOCAL_RANK", "PET_NNODES=2, PET_NPROC_PER_NODE=4", "one process per card" } },
    { "RANK=0 WORLD_SIZE=1 PET_NNODES=1 PET_N_PROC_PER_NODE=8",
      { "RANK=0 without LOCAL_RANK", "PET_N_PROC_PER_NODE=8", "torchrun" } },
    { "PET_NNODES=2", { "PET_NNODES=2, but neither RANK nor LOCAL_RANK", "torchrun" } },
    /* contradictions */
    { "RANK=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", { "OMPI_COMM_WORLD_RANK=0", " RANK=1", "disagree" } },
    { "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 PMI_RANK=0 PMI_SIZE=2", { "PMI_RANK=0", " RANK=1", "disagree" } },
    { "RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 PMI_RANK=0 PMI_SIZE=2", { "PMI_SIZE=2", "WORLD_SIZE=4", "disagree" } },
    { OMPI("0", "2") " PMI_RANK=1 PMI_SIZE=2", { "OMPI_COMM_WORLD_RANK=0", "PMI_RANK=1", "disagree" } },
    { OMPI("0", "2") " SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1 SLURM_PROCID=1",
      { "OMPI_COMM_WORLD_RANK=0", "SLURM_PROCID=1", "disagree" } },
    /* srun mpirun -n 1: every one thinks that it is alone */
    { OMPI("0", "1") " " SLURM_NODES " SLURM_PROCID=0", { "OMPI_COMM_WORLD_SIZE=1", "SLURM_STEP_NUM_TASKS=2" } },
};

START_TEST(find_bad)
{
    const struct bad *b = &bad[_i];
    ct_identity id;
    environment = b->environment;
    ck_assert_msg(ct_identity_find(get, &id) == CT_ECONFIG, "%s: accepted", b->environment);
    for (int k = 0; k < 3 && b->said[k]; k++)
        ck_assert_msg(strstr(ct_error_message(), b->said[k]) != NULL, "%s: no '%s' in: %s", b->environment, b->said[k],
                      ct_error_message());
}
END_TEST

START_TEST(master)
{
    ct_identity id;
    environment = "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=node-1.example MASTER_PORT=29500";
    ok(ct_identity_find(get, &id));
    ck_assert_str_eq(id.master, "node-1.example");
    ck_assert_int_eq(id.port, 29500);
}
END_TEST

static void forget_launchers(void)
{
    static const char *const name[] = { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                                        "SLURM_STEP_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK", "PET_NNODES",
                                        "PET_NPROC_PER_NODE", "PET_N_PROC_PER_NODE", "MASTER_PORT" };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) unsetenv(name[i]);
}

/* The process's own environment, in which what is empty is not set. */
START_TEST(read_own)
{
    ct_identity id;
    forget_launchers();
    setenv("PMI_RANK", "", 1);
    ok(ct_identity_read(&id));
    ck_assert(id.size == 1 && id.launcher == CT_LAUNCHER_NONE && id.host[0] != '\0');
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "2", 1);
    ok(ct_identity_read(&id));
    ck_assert(id.rank == 1 && id.size == 2 && id.launcher == CT_LAUNCHER_MPICH);
}
END_TEST

/* What torch/distributed/elastic/multiprocessing/errors reads: message.extraInfo.timestamp is a text of whole seconds. */
START_TEST(failure_file)
{
    char path[] = "/tmp/captrain-failure.XXXXXX";
    const time_t before = time(NULL);
    json_t *root;
    const char *message, *timestamp;
    unsetenv("TORCHELASTIC_ERROR_FILE");
    ok(ct_identity_tell_failure("nobody asks"));
    const int fd = mkstemp(path);
    ck_assert(fd >= 0);
    close(fd);
    setenv("TORCHELASTIC_ERROR_FILE", path, 1);
    ok(ct_identity_tell_failure("rank 1: the loss is \"nan\"\xff"));
    ok(ct_json_read(path, 4096, &root));
    ck_assert(json_unpack(root, "{s:{s:s,s:{s:s}}}", "message", "message", &message, "extraInfo", "timestamp",
                          &timestamp) == 0);
    ck_assert_str_eq(message, "rank 1: the loss is \"nan\"\xef\xbf\xbd");
    ck_assert(strtol(timestamp, NULL, 10) >= before && strtol(timestamp, NULL, 10) <= time(NULL));
    json_decref(root);
    unlink(path);
    setenv("TORCHELASTIC_ERROR_FILE", "/nonexistent/folder/error.json", 1);
    ck_assert(ct_identity_tell_failure("x") == CT_EIO);
    ck_assert(strstr(ct_error_message(), "/nonexistent/folder/error.json") != NULL);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(ct_launcher_name(CT_LAUNCHER_NONE), "none");
    ck_assert_str_eq(ct_launcher_name(CT_LAUNCHER_TORCH), "torch");
    ck_assert_str_eq(ct_launcher_name(CT_LAUNCHER_COUNT), "unknown");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("identity");
    TCase *t = tcase_create("identity");
    tcase_add_loop_test(t, find_good, 0, (int)(sizeof good / sizeof *good));
    tcase_add_loop_test(t, find_bad, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(t, master);
    tcase_add_test(t, read_own);
    tcase_add_test(t, failure_file);
    tcase_add_test(t, names);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
