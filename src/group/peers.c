#include "config.h"

#include "group/peers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/text.h"
#include "exec/engine.h"
#include "group/watch.h"

enum { HOST = 64, MESSAGE = 4096, TEXT = 192 };

struct ct_peers {
    ct_identity id;
    const ct_engine *engine;
    ct_comm *comm;
    double deadline;
    bool parted; /* some failed: there is nothing to tell each other any more */
    int hosts, here; /* machines; processes on this one */
    int beside;      /* of these, those that may use the same processors as this one, itself among them */
    char name[HOST + 48];
    char (*host)[HOST]; /* [size] */
    ct_watch *watch;
};

/* ---- meeting and parting ---- */

static ct_status gather(ct_peers *p, const void *mine, size_t bytes, void *all)
{
    return p->engine->comm->gather(p->comm, mine, bytes, all, p->deadline > CT_PATIENCE ? p->deadline : CT_PATIENCE);
}

/* `torchrun` and srun start processes that no MPI knows of, unless Slurm brings its own. */
static ct_status choose_engine(const ct_identity *id, const char *name)
{
    if (strcmp(name, "auto") != 0 && strcmp(name, "mpi") != 0)
        return ct_fail(CT_ECONFIG, "group.engine: %s is not to be had for processes on the CPU: it is mpi", name);
    if (id->launcher == CT_LAUNCHER_TORCH)
        return ct_fail(CT_EBACKEND, "torchrun started %d processes, and on CPUs they need MPI: captrain launch -n %d "
                       "train ..., or mpirun -n %d captrain train ...", id->size, id->size, id->size);
    return CT_OK;
}

static ct_status learn_hosts(ct_peers *p)
{
    const int n = p->id.size;
    char mine[HOST] = "";
    const uint64_t cpus = ct_cpus_key();
    snprintf(mine, sizeof mine, "%.*s", (int)ct_utf8_cut(p->id.host, sizeof mine - 1), p->id.host);
    snprintf(p->name, sizeof p->name, "process %d of %d (%s)", p->id.rank, n, mine);
    if (!(p->host = ct_calloc((size_t)n, sizeof *p->host, "names of hosts"))) return CT_ENOMEM;
    CT_TRY(gather(p, mine, sizeof mine, p->host));
    uint64_t *each = ct_calloc((size_t)n, sizeof *each, "processors of processes");
    if (!each) return CT_ENOMEM;
    const ct_status st = gather(p, &cpus, sizeof cpus, each);
    for (int i = 0; i < n && st == CT_OK; i++) {
        int first = 0;
        while (strcmp(p->host[first], p->host[i]) != 0) first++;
        p->hosts += first == i;
        p->here += strcmp(mine, p->host[i]) == 0;
        p->beside += strcmp(mine, p->host[i]) == 0 && each[i] == cpus;
    }
    ct_free(each);
    return st;
}

/* From here on the others know where this process is, and the watch judges how long is waited. */
static ct_status begin_watch(ct_peers *p)
{
    ct_watch_at mine;
    CT_TRY(ct_watch_open(p->id.rank, p->id.size, p->deadline, &mine, &p->watch));
    ct_watch_at *all = ct_calloc((size_t)p->id.size, sizeof *all, "where processes are reached");
    if (!all) return CT_ENOMEM;
    ct_status st = gather(p, &mine, sizeof mine, all);
    if (st == CT_OK) st = ct_watch_begin(p->watch, all, p->host[0], HOST);
    if (st == CT_OK) p->engine->patience(ct_watch_patience(p->watch));
    ct_free(all);
    return st;
}

ct_status ct_peers_meet(const ct_identity *id, const char *engine, double deadline, ct_peers **out)
{
    static const unsigned char any[CT_COMM_ID];
    ct_status st;
    *out = NULL;
    if (id->size <= 1) return CT_OK;
    CT_TRY(choose_engine(id, engine));
    ct_peers *p = ct_calloc(1, sizeof *p, "the processes of a run");
    if (!p) return CT_ENOMEM;
    p->id = *id;
    p->deadline = deadline;
    CT_GOTO(st, ct_engine_open("mpi", &p->engine));
    CT_GOTO(st, p->engine->start(id->rank, id->size));
    CT_GOTO(st, p->engine->comm->create(NULL, any, id->rank, id->size, deadline, &p->comm));
    CT_GOTO(st, learn_hosts(p));
    CT_GOTO(st, begin_watch(p));
    *out = p;
    return CT_OK;
fail:
    ct_peers_part(p, false);
    return st;
}

void ct_peers_part(ct_peers *p, bool well)
{
    if (!p) return;
    if (p->comm) p->engine->comm->destroy(p->comm);
    if (p->engine && p->engine->stop(well ? CT_PATIENCE : 0) != CT_OK) ct_warn("%s", ct_error_message());
    if (p->engine) p->engine->patience(NULL);
    ct_watch_close(p->watch);
    ct_free(p->host);
    ct_free(p);
}

void ct_peers_over(ct_peers *p, ct_status st, const char *message)
{
    char text[MESSAGE];
    if (!p || !p->watch || p->parted) return;
    snprintf(text, sizeof text, "%s: %s", p->name, message);
    ct_watch_over(p->watch, st, text);
}

bool ct_peers_broke(const ct_peers *p)
{
    return p && p->watch && ct_watch_broke(p->watch);
}

int ct_peers_rank(const ct_peers *p) { return p ? p->id.rank : 0; }
int ct_peers_size(const ct_peers *p) { return p ? p->id.size : 1; }
int ct_peers_hosts(const ct_peers *p) { return p ? p->hosts : 1; }
const char *ct_peers_engine(const ct_peers *p) { return p ? p->engine->library : ""; }
const char *ct_peers_host(const ct_peers *p, int rank) { return p->host[rank]; }
const char *ct_peers_name(const ct_peers *p) { return p ? p->name : "the only process"; }

ct_group_opts ct_peers_join(const ct_peers *p)
{
    if (!p) return (ct_group_opts){ .size = 0 };
    return (ct_group_opts){ .rank = p->id.rank, .size = p->id.size, .here = p->here, .beside = p->beside,
                            .deadline = p->deadline, .ops = p->engine->comm };
}

/* ---- what all must know, and what must be the same ---- */

ct_status ct_peers_settle(ct_peers *p, ct_status st, bool *told)
{
    typedef struct fate {
        int32_t status;
        char message[MESSAGE];
    } fate;
    fate mine = { .status = (int32_t)st };
    ct_status all = st;
    if (told) *told = false;
    if (!p || p->parted) return st;
    if (st != CT_OK) {
        const char *why = ct_error_message();
        snprintf(mine.message, sizeof mine.message, "%.*s", (int)ct_utf8_cut(why, sizeof mine.message - 1), why);
    }
    fate *each = ct_calloc((size_t)p->id.size, sizeof *each, "how processes fared");
    if (!each) return CT_ENOMEM;
    const ct_status heard = gather(p, &mine, sizeof mine, each);
    int first = 0;
    while (heard == CT_OK && first < p->id.size && each[first].status == CT_OK) first++;
    if (heard != CT_OK) {
        if (st == CT_OK) all = heard;
        else ct_fail(st, "%s", mine.message);
    } else if (first < p->id.size) {
        if (told) *told = p->id.rank != 0;
        all = (ct_status)each[first].status;
        if (first == 0) ct_fail(all, "%s", each[first].message);
        else ct_fail(all, "process %d of %d (%s): %s", first, p->id.size, p->host[first], each[first].message);
    }
    p->parted = all != CT_OK;
    ct_free(each);
    return all;
}

ct_status ct_peers_text(ct_peers *p, char **text)
{
    ct_status st;
    char *mine = NULL, *all = NULL;
    int64_t bytes = *text ? (int64_t)strlen(*text) + 1 : 1;
    if (!p) return CT_OK;
    CT_TRY(ct_peers_extreme(p, false, &bytes));
    if (!(mine = ct_calloc(1, (size_t)bytes, "a text of process 0"))) return CT_ENOMEM;
    if (!(all = ct_calloc((size_t)p->id.size, (size_t)bytes, "a text of process 0"))) CT_GOTO(st, CT_ENOMEM);
    if (*text) strcpy(mine, *text);
    CT_GOTO(st, gather(p, mine, (size_t)bytes, all));
    ct_free(*text);
    *text = ct_strdup(all, "a text of process 0");
    st = *text ? CT_OK : CT_ENOMEM;
fail:
    ct_free(mine);
    ct_free(all);
    return st;
}

ct_status ct_peers_same(ct_peers *p, const char *what, const char *text)
{
    if (!p) return CT_OK;
    char mine[TEXT] = "";
    ct_status st = CT_OK;
    snprintf(mine, sizeof mine, "%.*s", (int)ct_utf8_cut(text, sizeof mine - 1), text);
    char(*each)[TEXT] = ct_calloc((size_t)p->id.size, sizeof *each, "what processes have");
    if (!each) return CT_ENOMEM;
    CT_GOTO(st, gather(p, mine, sizeof mine, each));
    for (int i = 1; i < p->id.size && st == CT_OK; i++)
        if (strcmp(each[i], each[0]) != 0)
            st = ct_fail(CT_ECONFIG, "process %d of %d (%s) has another %s than process 0 (%s): %s instead of %s", i,
                         p->id.size, p->host[i], what, p->host[0], each[i], each[0]);
fail:
    ct_free(each);
    return st;
}

ct_status ct_peers_extreme(ct_peers *p, bool least, int64_t *number)
{
    if (!p) return CT_OK;
    int64_t *each = ct_calloc((size_t)p->id.size, sizeof *each, "numbers of processes");
    if (!each) return CT_ENOMEM;
    ct_status st = gather(p, number, sizeof *number, each);
    for (int i = 0; i < p->id.size && st == CT_OK; i++)
        if (least ? each[i] < *number : each[i] > *number) *number = each[i];
    ct_free(each);
    return st;
}
