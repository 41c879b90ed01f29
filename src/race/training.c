/* A racer of ours: its configuration, its trainings, and what their folders tell. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/config.h"
#include "race/race.h"
#include "run/journal.h"

#define MAX_RESULT (4 << 20)
enum { OWN_SETS = 3 };

/* The keys that the race decides, behind those of --set. */
typedef struct keys {
    const char **v; /* [n] */
    size_t n;
    char target[192], every[48], seed[48];
} keys;

static ct_status collect(const ct_race *r, int64_t seed, keys *k)
{
    const ct_race_opts *o = r->o;
    *k = (keys){ .n = o->nsets };
    if (!(k->v = ct_calloc(o->nsets + OWN_SETS, sizeof *k->v, "keys of a race"))) return CT_ENOMEM;
    for (size_t i = 0; i < o->nsets; i++) k->v[i] = o->sets[i];
    if (o->target) {
        if ((size_t)snprintf(k->target, sizeof k->target, "train.target=%s", o->target) >= sizeof k->target)
            return ct_fail(CT_EINVAL, "race: --target: a text of %zu bytes is too long", strlen(o->target));
        k->v[k->n++] = k->target;
    }
    if (o->every > 0) {
        snprintf(k->every, sizeof k->every, "eval.every_steps=%" PRId64, o->every);
        k->v[k->n++] = k->every;
    }
    snprintf(k->seed, sizeof k->seed, "train.seed=%" PRId64, seed);
    k->v[k->n++] = k->seed;
    return CT_OK;
}

/* The target of a racer is the race's: the same metric, the same value. */
static ct_status settle_target(ct_race *r, const ct_racer *c, const ct_config *cfg, const ct_task *task)
{
    ct_target t;
    CT_TRY(ct_metric_target(cfg, task, &t));
    if (!t.by)
        return ct_fail(CT_ECONFIG, "race: %s has no train.target: give --target METRIC=VALUE, as in %s=0.99", c->config,
                       task->select);
    if (r->target.by && (strcmp(r->target.by->key, t.by->key) != 0 || r->target.value != t.value))
        return ct_fail(CT_ECONFIG, "race: %s: train.target is another than that of %s: give --target METRIC=VALUE",
                       c->config, r->racer[0].config);
    r->target = t;
    return CT_OK;
}

ct_status ct_race_enter(ct_race *r, ct_racer *c)
{
    ct_config *cfg = NULL;
    char *text = NULL;
    keys k;
    ct_status st;
    CT_GOTO(st, collect(r, r->o->seed, &k));
    CT_GOTO(st, ct_config_load(c->config, k.v, k.n, &cfg));
    CT_GOTO(st, ct_metric_settle(cfg));
    const ct_task *task = ct_task_of(cfg->model.name);
    if (!task) CT_GOTO(st, CT_ECONFIG);
    CT_GOTO(st, settle_target(r, c, cfg, task));
    if (!(c->model = ct_strdup(cfg->model.name, "name of a model"))) CT_GOTO(st, CT_ENOMEM);
    /* runs differ in their seeds */
    CT_GOTO(st, ct_config_set(cfg, "train.seed", "0", "race"));
    if (!(text = ct_config_json(cfg))) CT_GOTO(st, CT_ENOMEM);
    ct_hash_hex(text, strlen(text), c->hash);
fail:
    ct_free(text);
    ct_free(k.v);
    ct_config_free(cfg);
    return st;
}

/* ---- what a folder tells ---- */

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static int64_t whole(const json_t *o, const char *key) { return json_integer_value(json_object_get(o, key)); }

static ct_status keep(char **to, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (!text) return CT_OK;
    ct_free(*to);
    *to = ct_strdup(text, key);
    return *to ? CT_OK : CT_ENOMEM;
}

static ct_status read_file(const char *dir, const char *name, json_t **out)
{
    char *path = ct_path_join(dir, name);
    if (!path) return CT_ENOMEM;
    const ct_status st = ct_json_read(path, MAX_RESULT, out);
    ct_free(path);
    return st;
}

/* What every run of a racer says alike. */
static ct_status look_at_racer(ct_racer *c, const char *dir, const json_t *result)
{
    json_t *receipt = NULL;
    ct_status st;
    c->threads = whole(result, "threads");
    c->params = whole(result, "params");
    CT_TRY(keep(&c->precision, result, "precision"));
    CT_TRY(keep(&c->backend, result, "backend"));
    CT_TRY(read_file(dir, "receipt.json", &receipt));
    st = keep(&c->processor, receipt, "device");
    if (st == CT_OK) st = keep(&c->kernels, receipt, "detail");
    json_decref(receipt);
    return st;
}

typedef struct visit {
    const char *key;
    ct_race_run *run;
} visit;

static ct_status take_eval(void *user, const char *event, const json_t *line)
{
    const visit *v = user;
    return strcmp(event, "eval") == 0 ? ct_race_lap(v->run, number(line, "elapsed"), number(line, v->key)) : CT_OK;
}

static ct_status take_laps(const ct_race *r, const char *dir, ct_race_run *run)
{
    visit v = { r->target.by->key, run };
    run->n = 0;
    return ct_journal_read(dir, take_eval, &v);
}

ct_status ct_race_look(const ct_race *r, ct_racer *c, ct_race_run *run)
{
    char *dir = ct_race_folder(r, c, run);
    json_t *result = NULL;
    ct_status st;
    if (!dir) return CT_ENOMEM;
    CT_GOTO(st, take_laps(r, dir, run));
    if (*run->failed) goto fail; /* a run that failed has no result */
    CT_GOTO(st, read_file(dir, "result.json", &result));
    CT_GOTO(st, look_at_racer(c, dir, result));
    const json_t *t = json_object_get(result, "target");
    run->reached = json_is_true(json_object_get(t, "reached"));
    run->steps = run->reached ? whole(t, "step") : whole(result, "steps");
    run->samples = whole(run->reached ? t : result, "samples");
    run->eval_seconds = number(run->reached ? t : result, "eval_seconds");
    run->seconds = run->reached ? number(t, "seconds")
                                : number(result, "setup_seconds") + number(result, "seconds") - run->eval_seconds;
    run->value = run->reached ? number(t, "value") : run->n > 0 ? run->lap[run->n - 1].value : NAN;
    run->done = true;
fail:
    json_decref(result);
    ct_free(dir);
    return st;
}

ct_status ct_race_train(ct_race *r, ct_racer *c, ct_race_run *run, bool resume)
{
    static ct_train_result result; /* large */
    keys k;
    ct_status st;
    char *dir = ct_race_folder(r, c, run);
    if (!dir) return CT_ENOMEM;
    CT_GOTO(st, collect(r, run->seed, &k));
    const ct_train_opts o = { .size = sizeof o, .common = r->o->common, .config = c->config, .sets = k.v, .nsets = k.n,
                              .out = dir, .resume = resume && ct_path_exists(dir) };
    result.size = sizeof result;
    st = ct_run_train(&o, &result);
    if (st == CT_ESIGNAL) r->signal = result.signal;
    if (st == CT_OK) st = ct_race_look(r, c, run);
fail:
    ct_free(k.v);
    ct_free(dir);
    return st;
}
