/* A race that goes on: what race.json says is done is not run again. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "race/race.h"

#define MAX_RACE (64 << 20)

static ct_status damaged(const ct_race *r)
{
    return ct_fail(CT_EFORMAT, "%s/race.json: not what a race writes", r->dir);
}

static ct_status take_run(const ct_race *r, ct_racer *c, const json_t *o)
{
    const json_t *seed = json_object_get(o, "seed"), *failed = json_object_get(o, "failed");
    if (!json_is_integer(seed)) return damaged(r);
    for (int64_t i = 0; i < r->o->seeds; i++) {
        ct_race_run *run = &c->run[i];
        if (run->seed != json_integer_value(seed)) continue;
        if (json_is_string(failed)) snprintf(run->failed, sizeof run->failed, "%s", json_string_value(failed));
        run->done = true;
        return c->config ? ct_race_look(r, c, run) : ct_race_lines(r, c, run);
    }
    return CT_OK; /* fewer seeds are asked for than there were */
}

static ct_status take_racer(const ct_race *r, ct_racer *c, const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "name")), *hash =
        json_string_value(json_object_get(o, "hash"));
    const json_t *runs = json_object_get(o, "runs"), *run;
    size_t i;
    if (!name || !hash || !json_is_array(runs)) return damaged(r);
    if (strcmp(name, c->name) != 0)
        return ct_fail(CT_ECONFIG, "race: --resume: in %s '%s' races where '%s' is given now", r->dir, name, c->name);
    if (strcmp(hash, c->hash) != 0)
        return ct_fail(CT_ECONFIG, "race: --resume: %s is not as it was in the race in %s; another race takes another "
                       "--out", c->config ? c->config : "--command", r->dir);
    json_array_foreach (runs, i, run) CT_TRY(take_run(r, c, run));
    return CT_OK;
}

ct_status ct_race_take_up(ct_race *r)
{
    json_t *doc = NULL;
    ct_status st;
    char *path = ct_path_join(r->dir, "race.json");
    if (!path) return CT_ENOMEM;
    CT_GOTO(st, ct_json_read(path, MAX_RACE, &doc));
    const json_t *others = json_object_get(doc, "others");
    const char *key = json_string_value(json_object_get(doc, "metric"));
    if (!key || !json_is_array(others)) CT_GOTO(st, damaged(r));
    if (strcmp(key, r->target.by->key) != 0 ||
        json_number_value(json_object_get(doc, "wanted")) != r->target.value)
        CT_GOTO(st, ct_fail(CT_ECONFIG, "race: --resume: the race in %s has another target", r->dir));
    if ((int)json_array_size(others) + 1 != r->racers)
        CT_GOTO(st, ct_fail(CT_ECONFIG, "race: --resume: in %s there are %zu racers, and %d are given now", r->dir,
                            json_array_size(others) + 1, r->racers));
    CT_GOTO(st, take_racer(r, &r->racer[0], doc));
    for (int k = 1; k < r->racers; k++)
        CT_GOTO(st, take_racer(r, &r->racer[k], json_array_get(others, (size_t)k - 1)));
fail:
    json_decref(doc);
    ct_free(path);
    return st;
}
