#include "config.h"

#include "group/peers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/text.h"
#include "exec/engine.h"
#include "exec/plugin.h"
#include "group/star.h"
#include "group/watch.h"

enum { HOST = 64, MESSAGE = 4096, TEXT = 192, PLACE = 64 };

struct ct_peers {
    ct_identity id;
    const ct_engine *engine; /* MPI; NULL where nobody brings it */
    ct_comm *comm;
    ct_star *star;           /* what they tell each other goes over this then */
    double deadline;
    bool cards;  /* sums are the devices' own */
    int device;  /* of this process, on its machine */
    bool parted; /* some failed: there is nothing to tell each other any more */
    int hosts, here, local; /* machines; processes on this one, and which of them this is */
    int beside;             /* of these, those that may use the same processors as this one, itself among them */
    char name[HOST + 48], means[192];
    char (*host)[HOST]; /* [size] */
    ct_watch *watch;
    ct_patience patience;   /* the watch's, and whether connections are whole */
    ct_group_talk talk;
};

/* ---- meeting and parting ---- */

static ct_status gather_for(ct_peers *p, const void *mine, size_t bytes, void *all, double deadline)
{
    return p->star ? ct_star_gather(p->star, mine, bytes, all, deadline)
                   : p->engine->comm->gather(p->comm, mine, bytes, all, deadline);
}

static ct_status gather(ct_peers *p, const void *mine, size_t bytes, void *all)
{
    return gather_for(p, mine, bytes, all, p->deadline > CT_PATIENCE ? p->deadline : CT_PATIENCE);
}

/* What carries sums. Why the devices' own cannot is in *why, for those who then need MPI. */
static ct_status choose_sums(ct_peers *p, const ct_meeting *m, char *why, size_t size)
{
    const bool own = m->backend && m->backend->comm;
    why[0] = '\0';
    if (strcmp(m->engine, "mpi") == 0) return CT_OK;
    if (strcmp(m->engine, "nccl") == 0 && m->backend && !own)
        return ct_fail(CT_ECONFIG, "group.engine: nccl is not to be had for processes on backend %s: it is mpi",
                       m->backend->name);
    if (!own) return CT_OK;
    p->cards = true;
    const ct_status st = ct_group_ready(m->backend);
    if (st == CT_OK || strcmp(m->engine, "nccl") == 0) return st;
    p->cards = false;
    snprintf(why, size, "%s", ct_error_message());
    return CT_OK;
}

/* torchrun, and srun unless Slurm brings one, start processes that no MPI knows of. */
static ct_status need_mpi(const ct_peers *p, const ct_meeting *m, const char *why)
{
    const ct_identity *id = &p->id;
    const bool cpu = !m->backend || m->backend->host_memory;
    if (id->launcher != CT_LAUNCHER_TORCH) return CT_OK;
    return ct_fail(CT_EBACKEND, "torchrun started %d processes, and %s they need MPI%s%s%s: captrain launch -n %d "
                   "train ..., or mpirun -n %d captrain train ...", id->size, cpu ? "on CPUs" : "here",
                   *why ? " (" : "", why, *why ? ")" : "", id->size, id->size);
}

/* Where process 0 is met without MPI. */
static ct_status find_place(const ct_peers *p, const ct_meeting *m, ct_star_at *at, char *named, size_t size)
{
    const ct_identity *id = &p->id;
    *at = (ct_star_at){ .rank = id->rank, .size = id->size, .address = id->master, .named = named, .run = id->run,
                        .here = id->local_size == id->size };
    if (!*id->master && at->here) at->address = "127.0.0.1";
    if (!*at->address)
        return ct_fail(CT_ECONFIG, "process %d of %d does not know where process 0 is: MASTER_ADDR is not set (the "
                       "name or address of its machine, such as $(scontrol show hostnames $SLURM_JOB_NODELIST | "
                       "head -1))", id->rank, id->size);
    if (m->port > 0) {
        at->port = (int)m->port;
        snprintf(named, size, "group.port");
    } else if (id->port > 0) { /* which torchrun holds itself */
        at->port = id->port < 65535 ? id->port + 1 : id->port - 1;
        snprintf(named, size, "MASTER_PORT %c 1", id->port < 65535 ? '+' : '-');
    } else {
        at->port = CT_GROUP_PORT;
        snprintf(named, size, "the default of group.port");
    }
    return CT_OK;
}

static ct_status meet_over_mpi(ct_peers *p, const ct_meeting *m)
{
    static const unsigned char any[CT_COMM_ID];
    const ct_identity *id = &p->id;
    CT_TRY(ct_engine_open("mpi", &p->engine));
    CT_TRY(p->engine->start(id->rank, id->size));
    CT_TRY(p->engine->comm->create(NULL, any, id->rank, id->size, m->deadline, &p->comm));
    const bool staged = !p->cards && m->backend && !m->backend->host_memory;
    snprintf(p->means, sizeof p->means, "%s%s%s", p->cards ? "NCCL, and words over " : "", p->engine->library,
             staged ? ", through the host's memory" : "");
    return CT_OK;
}

/* All are to have ended with a message of their own when the deadline, which most leave at half a minute, is over. */
static ct_status meet_over_tcp(ct_peers *p, const ct_meeting *m)
{
    char named[48];
    ct_star_at at;
    CT_TRY(find_place(p, m, &at, named, sizeof named));
    CT_TRY(ct_star_meet(&at, m->deadline * 5 / 6, &p->star));
    snprintf(p->means, sizeof p->means, "NCCL, and words over TCP at port %d (%s)", at.port, named);
    return CT_OK;
}

static ct_status meet(ct_peers *p, const ct_meeting *m, bool *alike)
{
    char why[512];
    CT_TRY(choose_sums(p, m, why, sizeof why));
    if (!p->cards && m->backend) CT_TRY(need_mpi(p, m, why));
    if (*why && p->id.rank == 0) ct_warn("group.engine: auto is mpi, through the host's memory: %s", why);
    const bool words = p->cards || (!m->backend && !p->id.pmi);
    *alike = p->id.pmi; /* else others may meet elsewhere; and of a network's fault each sees another part */
    if (!words || (p->id.pmi && ct_plugin_there("mpi"))) return meet_over_mpi(p, m);
    *alike = false;
    return meet_over_tcp(p, m);
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
        if (strcmp(mine, p->host[i]) != 0) continue;
        p->here++;
        p->local += i < p->id.rank;
        p->beside += each[i] == cpus;
    }
    if (p->id.local_rank >= 0) p->local = p->id.local_rank;
    ct_free(each);
    return st;
}

static ct_status look(void *self, bool first, double deadline)
{
    ct_peers *p = self;
    const ct_patience *w = ct_watch_patience(p->watch);
    if (p->star) CT_TRY(ct_star_check(p->star));
    return w->look(w->self, first, deadline);
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
    if (st == CT_OK && p->star) ct_star_patience(p->star, ct_watch_patience(p->watch));
    else if (st == CT_OK) p->engine->patience(ct_watch_patience(p->watch));
    p->patience = (ct_patience){ look, p };
    ct_free(all);
    return st;
}

static ct_status talk(void *self, const void *mine, size_t bytes, void *all, double deadline)
{
    return gather_for(self, mine, bytes, all, deadline);
}

/* What each is about to compute with. */
typedef struct post {
    char sums[8];      /* "nccl", "mpi"; "": it cannot know, and will say why */
    char place[PLACE]; /* of its card; "": none */
} post;

static ct_status check_sums(const ct_peers *p, const post *all)
{
    int first = 0;
    for (int i = 0; i < p->id.size; i++) {
        if (!*all[first].sums) first = i;
        if (*all[i].sums && strcmp(all[i].sums, all[first].sums) != 0)
            return ct_fail(CT_ECONFIG, "process %d of %d (%s) adds over %s (group.engine), and process %d (%s) over %s",
                           i, p->id.size, p->host[i], all[i].sums, first, p->host[first], all[first].sums);
    }
    return CT_OK;
}

/* Two processes on one card: what adds on cards wants one for each. */
static ct_status check_cards(const ct_peers *p, const post *all, int cards)
{
    const int n = p->id.size, me = p->id.rank;
    for (int i = 0; i < n && p->cards; i++) {
        if (i == me || strcmp(p->host[i], p->host[me]) != 0 || strcmp(all[i].place, all[me].place) != 0) continue;
        return ct_fail(CT_ECONFIG, "processes %d and %d of %d share the card %s of %s: it has %d of the processes and "
                       "shows %d card%s (CUDA_VISIBLE_DEVICES may hide others), and NCCL wants one for each; with "
                       "group.engine mpi they share them", i < me ? i : me, i < me ? me : i, n, all[me].place,
                       p->host[me], p->here, cards, cards == 1 ? "" : "s");
    }
    return CT_OK;
}

/* Card by card in the order of the machine's processes; a launcher may also show each of them its own card alone. All
 * tell each other, those without a backend as well. */
static ct_status choose_device(ct_peers *p, const ct_backend *b)
{
    post mine = { .sums = "" };
    const int cards = b && b->device_place ? b->device_count() : 0;
    if (b) snprintf(mine.sums, sizeof mine.sums, "%s", p->cards ? "nccl" : "mpi");
    p->device = cards > 0 ? p->local % cards : 0;
    if (cards > 0) b->device_place(p->device, mine.place, sizeof mine.place);
    post *all = ct_calloc((size_t)p->id.size, sizeof *all, "cards of processes");
    if (!all) return CT_ENOMEM;
    ct_status st = gather(p, &mine, sizeof mine, all);
    if (st == CT_OK) st = check_sums(p, all);
    if (st == CT_OK && cards > 0) st = check_cards(p, all, cards);
    if (st == CT_OK && !p->cards && cards > 0 && p->here > cards && p->local == 0)
        ct_info("%d processes share %d card%s of %s", p->here, cards, cards == 1 ? "" : "s", p->host[p->id.rank]);
    ct_free(all);
    return st;
}

ct_status ct_peers_meet(const ct_identity *id, const ct_meeting *m, bool *told, ct_peers **out)
{
    static const struct timespec modest = { .tv_sec = 2 };
    ct_status st;
    bool alike = true;
    *out = NULL;
    *told = false;
    if (id->size <= 1) return CT_OK;
    ct_peers *p = ct_calloc(1, sizeof *p, "the processes of a run");
    if (!p) return CT_ENOMEM;
    p->id = *id;
    p->deadline = m->deadline;
    p->talk = (ct_group_talk){ talk, p };
    CT_GOTO(st, meet(p, m, &alike));
    alike = true;
    CT_GOTO(st, learn_hosts(p));
    CT_GOTO(st, begin_watch(p));
    CT_GOTO(st, ct_peers_settle(p, choose_device(p, m->backend), told));
    *out = p;
    return CT_OK;
fail:
    ct_peers_part(p, false);
    /* a signal in this time is the launcher's, which has heard process 0 */
    if (alike && !*told && id->rank > 0) *told = nanosleep(&modest, NULL) != 0;
    return st;
}

void ct_peers_part(ct_peers *p, bool well)
{
    if (!p) return;
    if (p->comm) p->engine->comm->destroy(p->comm);
    if (p->engine && p->engine->stop(well ? CT_PATIENCE : 0) != CT_OK) ct_warn("%s", ct_error_message());
    if (p->star && well && ct_star_gather(p->star, "", 0, p->name, CT_PATIENCE) != CT_OK)
        ct_warn("%s", ct_error_message());
    if (p->engine) p->engine->patience(NULL);
    ct_watch_close(p->watch); /* its last words go out before a connection ends */
    ct_star_close(p->star);
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
    return p && ((p->watch && ct_watch_broke(p->watch)) || (p->star && ct_star_broke(p->star)));
}

int ct_peers_rank(const ct_peers *p) { return p ? p->id.rank : 0; }
int ct_peers_size(const ct_peers *p) { return p ? p->id.size : 1; }
int ct_peers_hosts(const ct_peers *p) { return p ? p->hosts : 1; }
int ct_peers_device(const ct_peers *p) { return p ? p->device : 0; }
const char *ct_peers_means(const ct_peers *p) { return p ? p->means : ""; }
const char *ct_peers_host(const ct_peers *p, int rank) { return p->host[rank]; }
const char *ct_peers_name(const ct_peers *p) { return p ? p->name : "the only process"; }

ct_group_opts ct_peers_join(const ct_peers *p)
{
    if (!p) return (ct_group_opts){ .size = 0 };
    return (ct_group_opts){ .rank = p->id.rank, .size = p->id.size, .here = p->here, .beside = p->beside,
                            .deadline = p->deadline, .ops = p->cards ? NULL : p->engine->comm,
                            .talk = p->cards ? &p->talk : NULL, .patience = p->cards ? &p->patience : NULL };
}

ct_status ct_peers_name_group(ct_peers *p, const ct_backend *b, ct_group_opts *join)
{
    unsigned char mine[CT_COMM_ID] = { 0 };
    if (!p || !p->cards) return CT_OK;
    CT_TRY(ct_peers_settle(p, p->id.rank == 0 ? ct_group_id(b, mine) : CT_OK, NULL));
    unsigned char(*all)[CT_COMM_ID] = ct_calloc((size_t)p->id.size, sizeof *all, "the name of a group");
    if (!all) return CT_ENOMEM;
    const ct_status st = gather(p, mine, sizeof mine, all);
    memcpy(join->id, all[0], sizeof join->id);
    ct_free(all);
    return st;
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
