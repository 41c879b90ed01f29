/* A race as JSON, as a table of its runs and as a plot. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/shortest.h"
#include "base/version.h"
#include "formats/svg.h"
#include "race/race.h"

/* ---- JSON ---- */

static ct_status run_json(const ct_race_run *run, json_t *o)
{
    CT_TRY(ct_json_set(o, "seed", json_integer(run->seed)));
    CT_TRY(ct_json_set(o, "reached", json_boolean(run->reached)));
    CT_TRY(ct_json_set(o, "seconds", ct_json_number(run->seconds)));
    CT_TRY(ct_json_set(o, "eval_seconds", ct_json_number(run->eval_seconds)));
    CT_TRY(ct_json_set(o, "samples", json_integer(run->samples)));
    CT_TRY(ct_json_set(o, "steps", json_integer(run->steps)));
    CT_TRY(ct_json_set(o, "value", ct_json_number(run->value)));
    return *run->failed ? ct_json_set(o, "failed", ct_json_any(run->failed)) : CT_OK;
}

static ct_status spread_json(const ct_race *r, const ct_racer *c, double (*of)(const ct_race_run *run),
                             const char *what, json_t *o)
{
    const ct_spread s = ct_race_spread(r, c, of);
    const struct { const char *name; double value; } part[] = { { "mean", s.mean }, { "sd", s.sd }, { "min", s.min },
                                                                { "max", s.max } };
    char key[32];
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        snprintf(key, sizeof key, "%s_%s", part[i].name, what);
        CT_TRY(ct_json_set(o, key, ct_json_number(part[i].value)));
    }
    return CT_OK;
}

static ct_status put_known(json_t *o, const char *key, const char *text)
{
    return ct_json_set(o, key, text ? ct_json_any(text) : json_null());
}

static ct_status racer_json(const ct_race *r, const ct_racer *c, json_t *o)
{
    json_t *runs = json_array();
    CT_TRY(ct_json_set(o, "name", ct_json_any(c->name)));
    CT_TRY(ct_json_set(o, c->config ? "config" : "command", ct_json_any(c->config ? c->config : r->o->command)));
    CT_TRY(ct_json_set(o, "hash", json_string(c->hash)));
    CT_TRY(put_known(o, "model", c->model));
    CT_TRY(put_known(o, "precision", c->precision));
    CT_TRY(put_known(o, "backend", c->backend));
    CT_TRY(put_known(o, "processor", c->processor));
    CT_TRY(put_known(o, "kernels", c->kernels));
    CT_TRY(ct_json_set(o, "threads", c->threads ? json_integer(c->threads) : json_null()));
    CT_TRY(ct_json_set(o, "params", c->params ? json_integer(c->params) : json_null()));
    CT_TRY(ct_json_set(o, "reached", json_integer(ct_race_spread(r, c, ct_race_seconds).n)));
    CT_TRY(spread_json(r, c, ct_race_seconds, "seconds", o));
    CT_TRY(spread_json(r, c, ct_race_samples, "samples", o));
    CT_TRY(ct_json_set(o, "runs", runs)); /* o owns it from here on */
    for (int64_t i = 0; i < r->o->seeds; i++) {
        json_t *run = json_object();
        if (!c->run[i].done) {
            json_decref(run);
            continue;
        }
        if (json_array_append_new(runs, run) != 0) return ct_fail(CT_ENOMEM, "out of memory: runs of a race");
        CT_TRY(run_json(&c->run[i], run));
    }
    return CT_OK;
}

static ct_status fill(const ct_race *r, json_t *o)
{
    json_t *others = json_array();
    char target[96], value[CT_SHORTEST_BYTES];
    snprintf(target, sizeof target, "%s=%s", r->target.by->key, ct_shortest(r->target.value, value));
    CT_TRY(ct_json_set(o, "captrain", json_string(ct_version())));
    CT_TRY(ct_json_set(o, "target", json_string(target)));
    CT_TRY(ct_json_set(o, "metric", json_string(r->target.by->key)));
    CT_TRY(ct_json_set(o, "wanted", ct_json_number(r->target.value)));
    CT_TRY(ct_json_set(o, "seeds", json_integer(r->o->seeds)));
    CT_TRY(racer_json(r, &r->racer[0], o));
    CT_TRY(ct_json_set(o, "others", others));
    for (int k = 1; k < r->racers; k++) {
        json_t *one = json_object();
        if (json_array_append_new(others, one) != 0) return ct_fail(CT_ENOMEM, "out of memory: racers");
        CT_TRY(racer_json(r, &r->racer[k], one));
    }
    return CT_OK;
}

ct_status ct_race_document(const ct_race *r, json_t **out)
{
    json_t *o = json_object();
    const ct_status st = o ? fill(r, o) : ct_fail(CT_ENOMEM, "out of memory: race.json");
    *out = st == CT_OK ? o : NULL;
    if (st != CT_OK) json_decref(o);
    return st;
}

/* ---- race.csv ---- */

static void put_number(FILE *f, double v)
{
    if (isfinite(v)) fprintf(f, ",%.6g", v);
    else fputc(',', f);
}

/* Names of files may hold anything: quotes in quotes are doubled. */
static void put_text(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"') fputc('"', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

static ct_status table(FILE *f, const ct_race *r)
{
    fputs("racer,seed,reached,seconds,eval_seconds,samples,steps,value,processor\n", f);
    for (int k = 0; k < r->racers; k++)
        for (int64_t i = 0; i < r->o->seeds; i++) {
            const ct_race_run *run = &r->racer[k].run[i];
            if (!run->done) continue;
            put_text(f, r->racer[k].name);
            fprintf(f, ",%" PRId64 ",%d", run->seed, run->reached);
            put_number(f, run->seconds);
            put_number(f, run->eval_seconds);
            fprintf(f, ",%" PRId64 ",%" PRId64, run->samples, run->steps);
            put_number(f, run->value);
            fputc(',', f);
            put_text(f, r->racer[k].processor ? r->racer[k].processor : "");
            fputc('\n', f);
        }
    return CT_OK;
}

/* ---- race.svg ---- */

static double shown(const ct_race *r, double v) { return strcmp(r->target.by->unit, "%") == 0 ? 100 * v : v; }

/* All seeds of a racer are one curve, with gaps: they have one colour. */
typedef struct curve { double *x, *y; size_t n; } curve;

static ct_status draw(const ct_race *r, const ct_racer *c, curve *out, double *latest)
{
    size_t n = 0;
    for (int64_t i = 0; i < r->o->seeds; i++) n += c->run[i].n + 1;
    out->x = ct_calloc(n, sizeof *out->x, "curves of a race");
    out->y = ct_calloc(n, sizeof *out->y, "curves of a race");
    if (!out->x || !out->y) return CT_ENOMEM;
    for (int64_t i = 0; i < r->o->seeds; i++) {
        const ct_race_run *run = &c->run[i];
        for (size_t k = 0; k < run->n; k++) {
            out->x[out->n] = run->lap[k].seconds;
            out->y[out->n++] = shown(r, run->lap[k].value);
            *latest = fmax(*latest, run->lap[k].seconds);
        }
        out->x[out->n] = out->y[out->n] = NAN;
        out->n++;
    }
    return CT_OK;
}

static ct_status plot(FILE *f, const ct_race *r)
{
    ct_svg_series s[CT_RACERS_MOST + 1];
    curve c[CT_RACERS_MOST] = { { NULL, NULL, 0 } };
    double latest = 0, ends[2], level[2];
    char title[96];
    ct_status st = CT_OK;
    for (int k = 0; k < r->racers; k++) {
        CT_GOTO(st, draw(r, &r->racer[k], &c[k], &latest));
        s[k] = (ct_svg_series){ r->racer[k].name, c[k].x, c[k].y, c[k].n, false, true };
    }
    ends[0] = 0, ends[1] = latest;
    level[0] = level[1] = shown(r, r->target.value);
    s[r->racers] = (ct_svg_series){ "target", ends, level, 2, true, false };
    snprintf(title, sizeof title, "%s, validation", r->target.by->label);
    const ct_svg_plot p = { title, "seconds", *r->target.by->unit ? r->target.by->unit : NULL, 720, 400, false, false,
                            s, (size_t)r->racers + 1 };
    st = ct_svg_write(f, &p);
fail:
    for (int k = 0; k < r->racers; k++) {
        ct_free(c[k].x);
        ct_free(c[k].y);
    }
    return st;
}

/* ---- files ---- */

static ct_status write_file(const ct_race *r, const char *name, ct_status (*make)(FILE *f, const ct_race *r))
{
    ct_printed to;
    char *path = ct_path_join(r->dir, name);
    if (!path) return CT_ENOMEM;
    ct_status st = ct_printed_open(&to, path);
    if (st == CT_OK) st = ct_printed_close(&to, make(to.f, r));
    ct_free(path);
    return st;
}

ct_status ct_race_write(const ct_race *r)
{
    json_t *doc = NULL;
    char *path = ct_path_join(r->dir, "race.json");
    if (!path) return CT_ENOMEM;
    ct_status st = ct_race_document(r, &doc);
    if (st == CT_OK) st = ct_json_write(path, doc, 2);
    json_decref(doc);
    ct_free(path);
    CT_TRY(st);
    CT_TRY(write_file(r, "race.csv", table));
    return write_file(r, "race.svg", plot);
}
