#include "config.h"

#include "race/race.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "group/identity.h"

enum { SEEDS_MOST = 1000 };

/* ---- who races ---- */

/* The file's name without its suffix, or the last part of a folder's; another racer may have it already. */
static char *name_of(const ct_race *r, const char *config)
{
    const char *base = config, *dot;
    for (const char *p = config; *p; p++)
        if (*p == '/' && p[1]) base = p + 1;
    size_t n = strcspn(base, "/");
    if ((dot = strrchr(base, '.')) && dot > base && (size_t)(dot - base) < n) n = (size_t)(dot - base);
    for (int k = 1;; k++) {
        char *name = k == 1 ? ct_strndup(base, n, "name of a racer") : ct_asprintf("%.*s-%d", (int)n, base, k);
        bool taken = false;
        for (int i = 0; name && i < r->racers; i++) taken |= strcmp(r->racer[i].name, name) == 0;
        if (!taken) return name;
        ct_free(name);
    }
}

static ct_status add_racer(ct_race *r, const char *config)
{
    ct_racer *c = &r->racer[r->racers];
    c->config = config;
    if (!(c->name = name_of(r, config ? config : "command"))) return CT_ENOMEM;
    if (!(c->run = ct_calloc((size_t)r->o->seeds, sizeof *c->run, "runs of a race"))) return CT_ENOMEM;
    r->racers++;
    for (int64_t i = 0; i < r->o->seeds; i++) {
        c->run[i].seed = r->o->seed + i;
        c->run[i].value = NAN;
    }
    if (config) return ct_race_enter(r, c);
    ct_hash_hex(r->o->command, strlen(r->o->command), c->hash);
    return CT_OK;
}

static ct_status gather(ct_race *r)
{
    const ct_race_opts *o = r->o;
    for (size_t i = 0; i < o->nconfigs; i++) CT_TRY(add_racer(r, o->configs[i]));
    if (o->command) CT_TRY(add_racer(r, NULL));
    return o->nconfigs ? CT_OK : ct_race_any_target(r);
}

static void release(ct_race *r)
{
    for (int k = 0; k < CT_RACERS_MOST; k++) {
        ct_racer *c = &r->racer[k];
        for (int64_t i = 0; c->run && i < r->o->seeds; i++) ct_free(c->run[i].lap);
        ct_free(c->run);
        ct_free(c->name);
        ct_free(c->model);
        ct_free(c->precision);
        ct_free(c->backend);
        ct_free(c->processor);
        ct_free(c->kernels);
    }
    ct_free(r->dir);
}

/* ---- where ---- */

static char *default_directory(void)
{
    char date[32];
    const time_t t = time(NULL);
    struct tm tm;
    localtime_r(&t, &tm);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm);
    return ct_asprintf("runs/%s-race", date);
}

static ct_status open_directory(ct_race *r)
{
    if (!r->o->out && r->o->resume)
        return ct_fail(CT_ECONFIG, "race: --resume needs the race's folder: give --out DIR");
    r->dir = r->o->out ? ct_strdup(r->o->out, "folder of a race") : default_directory();
    if (!r->dir) return CT_ENOMEM;
    for (size_t n = strlen(r->dir); n > 1 && r->dir[n - 1] == '/'; n--) r->dir[n - 1] = '\0';
    char *file = ct_path_join(r->dir, "race.json");
    if (!file) return CT_ENOMEM;
    const bool there = ct_path_exists(file);
    ct_free(file);
    if (there && !r->o->resume)
        return ct_fail(CT_ECONFIG, "%s holds a race already (race.json): continue it with --resume, or give another "
                       "--out", r->dir);
    if (there) return ct_race_take_up(r);
    if (r->o->resume) ct_warn("no race.json in %s: starting anew", r->dir);
    return ct_mkdir_p(r->dir);
}

/* ---- the race ---- */

static ct_status run_one(ct_race *r, ct_racer *c, ct_race_run *run)
{
    if (run->done) return CT_OK;
    ct_info("race: %s, seed %" PRId64, c->name, run->seed);
    const ct_status st = c->config ? ct_race_train(r, c, run, r->o->resume) : ct_race_call(r, c, run);
    if (st == CT_ENUMERIC) { /* this seed does not reach it */
        snprintf(run->failed, sizeof run->failed, "%s", ct_error_message());
        ct_warn("race: %s, seed %" PRId64 ": %s", c->name, run->seed, run->failed);
        run->done = true;
    } else if (st != CT_OK) return st;
    return ct_race_write(r);
}

static ct_status race(ct_race *r)
{
    for (int64_t i = 0; i < r->o->seeds; i++)
        for (int k = 0; k < r->racers; k++) CT_TRY(run_one(r, &r->racer[k], &r->racer[k].run[i]));
    return CT_OK;
}

static ct_status print(const ct_race *r, FILE *to)
{
    json_t *doc = NULL;
    if (r->o->json) {
        CT_TRY(ct_race_document(r, &doc));
        const ct_status st = ct_json_print(doc, 2, to);
        json_decref(doc);
        CT_TRY(st);
    } else ct_race_print(r, to);
    if (fflush(to) != 0 || ferror(to)) return ct_fail(CT_EIO, "race: the table could not be written");
    return CT_OK;
}

static ct_status check(const ct_race_opts *o)
{
    ct_identity id;
    CT_TRY(ct_identity_read(&id));
    if (id.size > 1)
        return ct_fail(CT_ECONFIG, "race: this process is number %d of %d, says %s: a race is run by one", id.rank,
                       id.size, ct_launcher_name(id.launcher));
    const size_t racers = o->nconfigs + (o->command != NULL);
    if (racers == 0) return ct_fail(CT_EINVAL, "race: needs a configuration, or --command");
    if (racers > CT_RACERS_MOST)
        return ct_fail(CT_EINVAL, "race: takes at most %d configurations and commands, not %zu", CT_RACERS_MOST,
                       racers);
    if (o->seeds < 1 || o->seeds > SEEDS_MOST)
        return ct_fail(CT_EINVAL, "race: --seeds is 1 to %d, not %" PRId64, SEEDS_MOST, o->seeds);
    return CT_OK;
}

/* What ended it stays the message, whatever is still written. */
static ct_status end(ct_race *r, ct_status st, FILE *to)
{
    char why[4096];
    if (st == CT_OK) return print(r, to);
    if (st != CT_ESIGNAL) return st;
    snprintf(why, sizeof why, "%s", ct_error_message());
    CT_TRY(ct_race_write(r));
    CT_TRY(print(r, to));
    return ct_fail(CT_ESIGNAL, "race: %s; captrain race ... --out %s --resume goes on", why, r->dir);
}

ct_status ct_run_race(const ct_race_opts *given, FILE *to, int *signal)
{
    ct_race_opts o;
    ct_race r;
    ct_status st;
    *signal = 0;
    CT_TRY(ct_sized_take(&o, sizeof o, given, "ct_race_opts"));
    if (o.seeds == 0) o.seeds = 3;
    if (o.seed == 0) o.seed = 1;
    memset(&r, 0, sizeof r);
    r.o = &o;
    CT_GOTO(st, check(&o));
    CT_GOTO(st, gather(&r));
    CT_GOTO(st, open_directory(&r));
    CT_GOTO(st, ct_race_write(&r));
    st = end(&r, race(&r), to);
    *signal = r.signal;
fail:
    release(&r);
    return st;
}
