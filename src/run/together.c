/* Several processes that train one model: they meet, the first writes RUN, and all stop behind the same step. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/version.h"
#include "run/run.h"

/* Keys that each process may have its own of: they say how it computes and where it finds things, not what. */
static const char *const own_keys[] = { "name",        "data.train",    "data.val",     "data.test", "data.cache",
                                        "train.threads", "train.workers" };

/* ---- meeting ---- */

static ct_status settle_batch_per_process(ct_run *r)
{
    char number[32];
    const int64_t each = r->cfg->train.batch_per_process;
    if (each == 0) return CT_OK;
    snprintf(number, sizeof number, "%" PRId64, each * ct_peers_size(r->peers));
    return ct_config_set(r->cfg, "train.batch_size", number, "train.batch_per_process");
}

ct_status ct_run_meet(ct_run *r, ct_status st)
{
    ct_identity id;
    char why[4096];
    snprintf(why, sizeof why, "%s", ct_error_message()); /* what follows may have a message of its own */
    r->lead = true;
    const ct_status read = ct_identity_read(&id);
    if (read != CT_OK) return st == CT_OK ? read : ct_fail(st, "%s", why);
    r->lead = id.rank == 0;
    ct_meeting m = { .engine = "auto", .deadline = 30 };
    if (st == CT_OK && id.size > 1) {
        m = (ct_meeting){ .engine = r->cfg->group.engine,
                          .port = r->cfg->group.port,
                          .deadline = r->cfg->group.deadline };
        st = ct_backend_choose(r->cfg->train.backend, &m.backend, NULL, 0);
        if (st != CT_OK) snprintf(why, sizeof why, "%s", ct_error_message());
    }
    const ct_status met = ct_peers_meet(&id, &m, &r->told, &r->peers);
    ct_signals_again();
    if (st != CT_OK) ct_fail(st, "%s", why);
    if (st == CT_OK) st = met;
    if (st == CT_OK && r->peers &&
        !((r->word = ct_calloc((size_t)id.size, sizeof *r->word, "words of all processes")) &&
          (r->own = ct_calloc(2 * (size_t)id.size, sizeof *r->own, "times of all processes"))))
        st = CT_ENOMEM;
    if (met == CT_OK) st = ct_peers_settle(r->peers, st, &r->told);
    return st == CT_OK ? settle_batch_per_process(r) : st;
}

/* ---- RUN ---- */

/* RUN/ranks/NNNN.log, and RUN/run.log for warnings. */
static ct_status open_own_log(ct_run *r)
{
    char *dir = ct_path_join(r->out, "ranks"), *path = NULL, *shared = ct_path_join(r->out, "run.log");
    ct_status st = dir && shared ? ct_mkdir_p(dir) : CT_ENOMEM;
    if (st == CT_OK && !(path = ct_asprintf("%s/%04d.log", dir, ct_peers_rank(r->peers)))) st = CT_ENOMEM;
    if (st == CT_OK && !(r->log = fopen(path, "a"))) st = ct_fail(CT_EIO, "%s: %s", path, strerror(errno));
    if (st == CT_OK && !(r->shared_log = fopen(shared, "a"))) st = ct_fail(CT_EIO, "%s: %s", shared, strerror(errno));
    if (st == CT_OK) {
        ct_crash_log(fileno(r->log));
        ct_log_set_file(r->log);
        ct_log_set_quiet(r->shared_log, ct_peers_name(r->peers));
    }
    ct_free(dir);
    ct_free(path);
    ct_free(shared);
    return st;
}

ct_status ct_run_follow(ct_run *r, ct_status st)
{
    if (!r->peers) return st;
    CT_TRY(ct_peers_settle(r->peers, st, &r->told));
    CT_TRY(ct_peers_text(r->peers, &r->out));
    if (!r->lead) {
        r->checkpoints = ct_path_join(r->out, "checkpoints");
        st = r->checkpoints ? open_own_log(r) : CT_ENOMEM;
    }
    return ct_peers_settle(r->peers, st, &r->told);
}

/* ---- what must be the same ---- */

static bool is_own(const char *key)
{
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        if (strcmp(key, own_keys[i]) == 0) return true;
    return strncmp(key, "log.", 4) == 0 || strncmp(key, "report.", 7) == 0;
}

/* The configuration of process 0 against this one's. */
static ct_status same_config(ct_run *r)
{
    ct_status st = CT_OK;
    ct_config *first = NULL;
    const ct_config_row *row;
    char *text = ct_config_json(r->cfg);
    if (!text) return CT_ENOMEM;
    CT_GOTO(st, ct_peers_text(r->peers, &text));
    CT_GOTO(st, ct_config_parse(text, strlen(text), "the configuration of process 0", NULL, 0, &first));
    for (size_t i = 0; st == CT_OK && (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY || is_own(row->name)) continue;
        char *a = ct_config_value(first, row->name), *b = ct_config_value(r->cfg, row->name);
        if (!a || !b) st = CT_ENOMEM;
        else if (strcmp(a, b) != 0)
            st = ct_fail(CT_ECONFIG, "%s is %s, but %s at process 0: processes that train together need the same "
                         "configuration", row->name, b, a);
        ct_free(a);
        ct_free(b);
    }
fail:
    ct_config_free(first);
    ct_free(text);
    return st;
}

/* Implementations may differ where processors do: sums of all are the same for all, but not those of one alone. */
static ct_status compare_kernels(ct_run *r)
{
    char hash[33];
    if (r->cfg->train.parts > 0) {
        CT_TRY(ct_peers_same(r->peers, "arithmetic (train.parts promises the same bits)", r->session.device.kernels));
        ct_hash_hex(r->meta.kernels, strlen(r->meta.kernels), hash);
        return ct_peers_same(r->peers, "choice of implementations (train.parts)", hash);
    }
    ct_hash_hex(r->meta.kernels, strlen(r->meta.kernels), hash);
    hash[15] = '\0';
    int64_t most = strtoll(hash, NULL, 16), least = most;
    CT_TRY(ct_peers_extreme(r->peers, false, &most));
    CT_TRY(ct_peers_extreme(r->peers, true, &least));
    if (most != least && r->lead)
        ct_warn("the processes compute with other implementations, on processors that are not alike: each sums up in "
                "its own order, and results depend on which of them has which samples");
    return CT_OK;
}

static ct_status agree(ct_run *r)
{
    char at[64];
    CT_TRY(ct_peers_same(r->peers, "version of captrain", ct_version()));
    CT_TRY(ct_peers_settle(r->peers, same_config(r), &r->told));
    CT_TRY(ct_peers_same(r->peers, "set of training samples", r->meta.train_key));
    CT_TRY(ct_peers_same(r->peers, "set of validation samples", r->meta.val_key));
    snprintf(at, sizeof at, "step %" PRId64 ", epoch %" PRId64 ", batch %" PRId64, r->p.step, r->p.epoch, r->p.batch);
    CT_TRY(ct_peers_same(r->peers, "position", at));
    return compare_kernels(r);
}

ct_status ct_run_agree(ct_run *r, ct_status st)
{
    if (!r->peers) return st;
    CT_TRY(ct_peers_settle(r->peers, st, &r->told));
    st = agree(r);
    if (st == CT_ECONFIG) r->told = !r->lead; /* which all of them found */
    return st;
}

/* ---- signals, the end ---- */

ct_status ct_run_stops(ct_run *r)
{
    const int n = ct_peers_size(r->peers);
    ct_word mine = { .stop = ct_stop_signal, .own_s = r->own_s };
    r->stop = mine.stop;
    r->own_s = 0;
    if (!r->peers) return CT_OK;
    /* as in the sums of a step, nobody waits here longer than group.deadline */
    CT_TRY(ct_group_gather(r->session.group, &mine, sizeof mine, r->word));
    for (int i = 0; i < n; i++) {
        if (r->word[i].stop > r->stop) r->stop = r->word[i].stop;
        r->own[i] += r->word[i].own_s;
        r->own[n + i] += r->word[i].own_s;
    }
    return CT_OK;
}

int ct_run_slowest(const ct_run *r, bool all, double *ratio)
{
    const int n = ct_peers_size(r->peers);
    int most = 0, least = 0;
    *ratio = 1;
    if (!r->own) return -1;
    const double *own = all ? r->own + n : r->own;
    for (int i = 1; i < n; i++) {
        if (own[i] > own[most]) most = i;
        if (own[i] < own[least]) least = i;
    }
    if (own[least] <= 0) return -1;
    *ratio = own[most] / own[least];
    return most;
}

void ct_run_part(ct_run *r, ct_status st)
{
    const bool same = st == CT_OK || st == CT_ESIGNAL || st == CT_ENUMERIC; /* which all of them come to */
    if (same) r->told = !r->lead;
    else ct_peers_over(r->peers, st, ct_error_message());
    if (!same) ct_group_abandon(r->session.group);
    ct_peers_part(r->peers, same);
    r->peers = NULL;
    if (r->shared_log) {
        ct_log_set_quiet(NULL, NULL);
        fclose(r->shared_log);
        r->shared_log = NULL;
    }
}
