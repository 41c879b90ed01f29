#include "config.h"

#include "group/identity.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/text.h"
#include "formats/json.h"

/* The variables of a launcher; NULL: it has none for that. */
typedef struct launcher_row {
    const char *name, *rank, *size, *local_rank, *local_size;
} launcher_row;

static const launcher_row row[CT_LAUNCHER_COUNT] = {
    [CT_LAUNCHER_NONE] = { "none", NULL, NULL, NULL, NULL },
    [CT_LAUNCHER_OPENMPI] = { "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                              "OMPI_COMM_WORLD_LOCAL_SIZE" },
    [CT_LAUNCHER_MPICH] = { "mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
    [CT_LAUNCHER_SLURM] = { "slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL },
    [CT_LAUNCHER_TORCH] = { "torch", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE" },
};

/* What one launcher says. */
typedef struct claim {
    bool there;
    int rank, size, local_rank, local_size; /* size 0: it was not set */
} claim;

enum { MOST = 1 << 24 }; /* processes: more is a mistake */

const char *ct_launcher_name(ct_launcher l)
{
    return (unsigned)l < (unsigned)CT_LAUNCHER_COUNT ? row[l].name : "unknown";
}

static ct_status read_number(const char *name, const char *text, int min, int max, int *out)
{
    char shown[64], *end;
    errno = 0;
    const long v = strtol(text, &end, 10);
    const bool whole = end != text && !*end && (*text == '-' || (*text >= '0' && *text <= '9'));
    ct_text_visible(text, shown, sizeof shown);
    if (!whole || errno) return ct_fail(CT_ECONFIG, "environment: %s=%s is not a whole number", name, shown);
    if (v < min || v > max)
        return ct_fail(CT_ECONFIG, "environment: %s=%s is not in the range from %d to %d", name, shown, min, max);
    *out = (int)v;
    return CT_OK;
}

/* Leaves *out alone where the variable is not set; name may be NULL. */
static ct_status read_variable(ct_variable get, const char *name, int min, int *out)
{
    const char *text = name ? get(name) : NULL;
    return text ? read_number(name, text, min, MOST, out) : CT_OK;
}

static ct_status check_below(const char *name, int rank, const char *size_name, int size)
{
    if (rank < size) return CT_OK;
    return ct_fail(CT_ECONFIG, "environment: %s=%d, but %s=%d: ranks are counted from 0", name, rank, size_name, size);
}

/* Processes of a step on node `node`, out of "4(x2),3"; 0: it does not say. */
static int tasks_of_node(const char *text, int node)
{
    for (const char *s = text; *s;) {
        char *end;
        long tasks = strtol(s, &end, 10), times = 1;
        if (end == s || tasks < 1 || tasks > MOST) return 0;
        if (strncmp(end, "(x", 2) == 0) {
            s = end + 2;
            times = strtol(s, &end, 10);
            if (end == s || *end++ != ')' || times < 1) return 0;
        }
        if (*end && *end != ',') return 0;
        if (node < times) return (int)tasks;
        node -= (int)times;
        s = end + (*end == ',');
    }
    return 0;
}

/* Batch scripts and shells of an allocation have SLURM_PROCID, too: only a step has its own number of processes. */
static bool within_step(ct_variable get)
{
    return get("SLURM_STEP_ID") && get("SLURM_STEP_NUM_TASKS") && get("SLURM_PROCID");
}

/* mpirun and torchrun are started by srun once per node, and start the processes there. */
static bool one_per_node(ct_variable get, const claim *slurm)
{
    int nodes = 0;
    const char *text = get("SLURM_STEP_NUM_NODES");
    if (!text) text = get("SLURM_NNODES");
    return text && read_number("SLURM_STEP_NUM_NODES", text, 1, MOST, &nodes) == CT_OK && nodes == slurm->size;
}

static ct_status read_claim(ct_variable get, ct_launcher l, claim *c)
{
    const launcher_row *r = &row[l];
    *c = (claim){ .rank = 0, .size = 1, .local_rank = -1 };
    if (l == CT_LAUNCHER_SLURM && !within_step(get)) return CT_OK;
    c->there = get(r->rank) != NULL;
    CT_TRY(read_variable(get, r->rank, 0, &c->rank));
    CT_TRY(read_variable(get, r->size, 1, &c->size));
    if (!c->there && c->size == 1) return CT_OK; /* who is alone needs no number */
    if (!c->there)
        return ct_fail(CT_ECONFIG, "environment: %s=%d, but %s is not set", r->size, c->size, r->rank);
    if (!get(r->size)) return c->size = 0, CT_OK; /* another launcher may know better */
    CT_TRY(read_variable(get, r->local_rank, 0, &c->local_rank));
    CT_TRY(read_variable(get, r->local_size, 1, &c->local_size));
    const char *tasks = get("SLURM_STEP_TASKS_PER_NODE"), *node = get("SLURM_NODEID");
    if (l == CT_LAUNCHER_SLURM && tasks && node) {
        int n = 0;
        CT_TRY(read_number("SLURM_NODEID", node, 0, MOST, &n));
        c->local_size = tasks_of_node(tasks, n);
    }
    CT_TRY(check_below(r->rank, c->rank, r->size, c->size));
    if (c->local_rank >= 0) CT_TRY(check_below(r->local_rank, c->local_rank, r->size, c->size));
    if (c->local_rank >= 0 && c->local_size)
        CT_TRY(check_below(r->local_rank, c->local_rank, r->local_size ? r->local_size : "SLURM_STEP_TASKS_PER_NODE",
                           c->local_size));
    if (c->local_size > c->size)
        return ct_fail(CT_ECONFIG, "environment: %s=%d, but %s=%d: more on one machine than there are",
                       r->local_size ? r->local_size : "SLURM_STEP_TASKS_PER_NODE", c->local_size, r->size, c->size);
    return CT_OK;
}

/* Two launchers that both speak, neither of which merely started the other one. */
static ct_status check_agreement(const claim *c, int a, int b)
{
    if (c[a].rank != c[b].rank)
        return ct_fail(CT_ECONFIG,
                       "environment: %s=%d, but %s=%d: two programs say which process this is, and disagree; unset the "
                       "variables of the one that did not start it", row[a].rank, c[a].rank, row[b].rank, c[b].rank);
    if (c[a].size && c[b].size && c[a].size != c[b].size)
        return ct_fail(CT_ECONFIG,
                       "environment: %s=%d, but %s=%d: two programs say how many processes there are, and disagree; "
                       "unset the variables of the one that did not start them", row[a].size, c[a].size, row[b].size,
                       c[b].size);
    return CT_OK;
}

/* What PyTorch's operators for clusters say of processes per node that nobody has started yet; "": nothing. */
static const char *not_started(ct_variable get, char *buf, size_t size)
{
    static const char *const name[] = { "PET_NNODES", "PET_NPROC_PER_NODE", "PET_N_PROC_PER_NODE" };
    char shown[64];
    size_t n = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *v = get(name[i]);
        if (!v || strcmp(v, "1") == 0) continue;
        n += (size_t)snprintf(buf + n, n < size ? size - n : 0, "%s%s=%s", n ? ", " : "", name[i],
                              ct_text_visible(v, shown, sizeof shown));
        if (n >= size) return buf;
    }
    return buf;
}

#define PER_CARD \
    "one process per card is still to be started: torchrun --no-python captrain VERB ... does so, or RANK, " \
    "WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE set for each"

/* The number of a node is not the number of a process. */
static ct_status check_node(ct_variable get, const claim *torch)
{
    char more[256];
    if (torch->local_rank >= 0) return CT_OK;
    not_started(get, more, sizeof more);
    if (torch->there && (torch->size > 1 || *more))
        return ct_fail(CT_ECONFIG, "environment: RANK=%d without LOCAL_RANK is the number of this node "
                       "(WORLD_SIZE=%d%s%s): " PER_CARD, torch->rank, torch->size, *more ? ", " : "", more);
    if (*more) return ct_fail(CT_ECONFIG, "environment: %s, but neither RANK nor LOCAL_RANK: " PER_CARD, more);
    return CT_OK;
}

/* "12345.0" */
static void name_run(ct_variable get, ct_identity *id)
{
    static const char *const name[CT_LAUNCHER_COUNT][2] = {
        [CT_LAUNCHER_SLURM] = { "SLURM_JOB_ID", "SLURM_STEP_ID" },
        [CT_LAUNCHER_TORCH] = { "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT" },
    };
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        const char *v = name[id->launcher][i] ? get(name[id->launcher][i]) : NULL;
        if (v && n < sizeof id->run) n += (size_t)snprintf(id->run + n, sizeof id->run - n, "%s%s", n ? "." : "", v);
    }
}

static ct_status find_master(ct_variable get, ct_identity *id)
{
    const char *host = get("MASTER_ADDR"), *port = get("MASTER_PORT");
    if (host && strlen(host) >= sizeof id->master)
        return ct_fail(CT_ECONFIG, "environment: MASTER_ADDR has more than %zu characters", sizeof id->master - 1);
    if (host) memcpy(id->master, host, strlen(host) + 1);
    return port ? read_number("MASTER_PORT", port, 1, 65535, &id->port) : CT_OK;
}

/* The first of those that speak, which all agree, in *taken; what it does not tell it learns from the others. */
static ct_status take_one(claim *c, int *taken)
{
    for (int a = 1; a < CT_LAUNCHER_COUNT; a++) {
        if (!c[a].there) continue;
        if (!*taken) {
            *taken = a;
            continue;
        }
        claim *first = &c[*taken];
        CT_TRY(check_agreement(c, *taken, a));
        if (!first->size) first->size = c[a].size;
        if (first->local_rank < 0) first->local_rank = c[a].local_rank;
        if (!first->local_size) first->local_size = c[a].local_size;
    }
    if (!*taken || c[*taken].size) return CT_OK;
    return ct_fail(CT_ECONFIG, "environment: %s=%d, but %s is not set", row[*taken].rank, c[*taken].rank,
                   row[*taken].size);
}

ct_status ct_identity_find(ct_variable get, ct_identity *id)
{
    claim c[CT_LAUNCHER_COUNT] = { { false, 0, 1, -1, 0 } };
    int taken = CT_LAUNCHER_NONE;
    memset(id, 0, sizeof *id);
    for (int l = 1; l < CT_LAUNCHER_COUNT; l++) CT_TRY(read_claim(get, (ct_launcher)l, &c[l]));
    claim *slurm = &c[CT_LAUNCHER_SLURM];
    const bool yields = slurm->there && one_per_node(get, slurm);
    for (int l = 1; l < CT_LAUNCHER_COUNT; l++)
        if (l != CT_LAUNCHER_SLURM && yields && c[l].there && c[l].size > 1) slurm->there = false;
    CT_TRY(take_one(c, &taken));
    if (taken == CT_LAUNCHER_NONE || taken == CT_LAUNCHER_TORCH) CT_TRY(check_node(get, &c[CT_LAUNCHER_TORCH]));
    if (taken == CT_LAUNCHER_TORCH && c[taken].local_rank < 0) taken = CT_LAUNCHER_NONE; /* a node alone */
    id->launcher = (ct_launcher)taken;
    id->rank = c[taken].rank;
    id->size = c[taken].size;
    id->local_rank = taken ? c[taken].local_rank : 0;
    id->local_size = taken ? c[taken].local_size : 1;
    id->pmi = id->launcher == CT_LAUNCHER_OPENMPI || id->launcher == CT_LAUNCHER_MPICH || get("PMIX_RANK");
    name_run(get, id);
    return find_master(get, id);
}

ct_status ct_identity_read(ct_identity *id)
{
    CT_TRY(ct_identity_find(ct_env_foreign, id));
    if (gethostname(id->host, sizeof id->host - 1) != 0) snprintf(id->host, sizeof id->host, "localhost");
    return CT_OK;
}

ct_status ct_identity_tell_failure(const char *message)
{
    const char *path = ct_env_foreign("TORCHELASTIC_ERROR_FILE");
    char now[32];
    if (!path) return CT_OK;
    snprintf(now, sizeof now, "%lld", (long long)time(NULL));
    ct_status st = CT_OK;
    json_t *root = json_object(), *told = json_object(), *extra = json_object();
    CT_GOTO(st, ct_json_set(extra, "timestamp", json_string(now))); /* torchrun takes the earliest for the cause */
    CT_GOTO(st, ct_json_set(told, "message", ct_json_any(message)));
    CT_GOTO(st, ct_json_set(told, "extraInfo", json_incref(extra)));
    CT_GOTO(st, ct_json_set(root, "message", json_incref(told)));
    st = ct_json_write(path, root, 0);
fail:
    json_decref(extra);
    json_decref(told);
    json_decref(root);
    return st;
}
