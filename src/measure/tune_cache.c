#include "config.h"

#include "measure/tune.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/version.h"

typedef struct cache {
    const ct_backend *backend;
    const ct_device_opts *opts;
    ct_device *dev;
    char *made_for, *path; /* path NULL: nowhere to keep it */
    ct_choices *known;
} cache;

static void cache_close(cache *c)
{
    if (c->dev) c->backend->close(c->dev);
    ct_choices_free(c->known);
    ct_free(c->made_for);
    ct_free(c->path);
}

/* What times depend on, in words. The program's version stands behind the rest, which alone names the file. */
static ct_status find_place(cache *c)
{
    const ct_device_opts *o = c->opts;
    ct_device_info info;
    ct_status st = CT_OK;
    char hash[33], *dir = NULL, *what = NULL;
    CT_TRY(c->backend->info(c->dev, &info));
    what = ct_asprintf("%s: %s; %s; %d threads%s%s%s", c->backend->name, info.name, info.detail, info.threads,
                       o->exact ? "; exact" : "", o->deterministic ? "; deterministic" : "", o->tf32 ? "; tf32" : "");
    c->made_for = what ? ct_asprintf("%s; captrain %s", what, ct_version()) : NULL;
    if (!c->made_for) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, ct_cache_dir("tune", &dir));
    if (!dir) goto fail;
    ct_hash_hex(what, strlen(what), hash);
    c->path = ct_asprintf("%s/%s-%s.json", dir, c->backend->name, hash);
    if (!c->path) st = CT_ENOMEM;
fail:
    ct_free(dir);
    ct_free(what);
    return st;
}

/* What is in the file; nothing where it is not there or not good. */
static ct_status load(cache *c)
{
    if (c->path && ct_path_is_file(c->path)) {
        ct_status st = ct_choices_read(c->path, &c->known);
        if (st == CT_ENOMEM) return st;
        if (st != CT_OK) {
            ct_warn("the cache of measured implementations cannot be used and is made anew: %s", ct_error_message());
        } else if (strcmp(ct_choices_made_for(c->known), c->made_for) != 0) {
            ct_info("%s: made for another captrain or device (%s); it is made anew", c->path,
                    ct_choices_made_for(c->known));
            ct_choices_free(c->known);
            c->known = NULL;
        }
    }
    if (!c->known) CT_TRY(ct_choices_new(&c->known));
    return ct_choices_set_made_for(c->known, c->made_for);
}

static ct_status cache_open(const ct_backend *b, const ct_device_opts *opts, cache *c)
{
    *c = (cache){ .backend = b, .opts = opts };
    CT_TRY(b->open(opts, &c->dev));
    CT_TRY(find_place(c));
    return load(c);
}

/* That the cache cannot be written is no failure: the run has its choices. */
static void keep(const cache *c)
{
    if (!c->path) {
        ct_info("no cache directory is known (CAPTRAIN_CACHE_DIR): what was measured is kept in the run only");
        return;
    }
    char *dir = ct_strndup(c->path, (size_t)(strrchr(c->path, '/') - c->path), "a folder");
    ct_status st = dir ? ct_mkdir_p(dir) : CT_ENOMEM;
    if (st == CT_OK) st = ct_choices_write(c->known, c->path);
    if (st != CT_OK) ct_warn("the cache of measured implementations is not written: %s", ct_error_message());
    ct_free(dir);
}

/* Whether a call must be measured: the cache has no choice for it, or one that cannot be obeyed any more, and there is
 * a choice. */
static ct_status look_up(const cache *c, const ct_call_use *u, bool *open)
{
    ct_device_opts opts = *c->opts;
    ct_choice choice;
    const char *impl;
    CT_TRY(ct_choices_find(c->known, &u->call, &impl));
    *open = !impl && ct_measure_ways(c->backend, c->dev, c->opts, &u->call) >= 2;
    if (!impl) return CT_OK;
    opts.choices = c->known;
    ct_status st = ct_dispatch(c->backend, c->dev, &opts, &u->call, &choice);
    if (st == CT_OK || st == CT_ENOMEM) return st;
    ct_warn("%s; it is measured anew", ct_error_message());
    *open = true;
    return CT_OK;
}

static ct_status measure(cache *c, const ct_call_use *u)
{
    ct_measured m;
    CT_TRY(ct_measure_call(c->backend, c->dev, c->opts, &u->call, CT_TUNE_SECONDS, &m));
    ct_status st = ct_choices_put(c->known, u->text, m.c[m.fastest].name);
    ct_measured_free(&m);
    return st;
}

/* Measures the `n` calls marked in `open`. *done: how many it came to. */
static ct_status measure_open(cache *c, const ct_call_list *calls, const bool *open, size_t n, size_t *done)
{
    *done = 0;
    if (n > 0) ct_info("train.tune auto: measuring %zu of %zu distinct calls", n, calls->n);
    for (size_t i = 0; i < calls->n; i++) {
        if (!open[i]) continue;
        if (ct_stop_signal)
            return ct_fail(CT_ESIGNAL,
                           "stopped by a signal while implementations were measured, before the first step");
        CT_TRY(measure(c, &calls->use[i]));
        ++*done;
    }
    return CT_OK;
}

/* The rows of these calls alone: a run keeps no others. */
static ct_status select_rows(const cache *c, const ct_call_list *calls, ct_choices **out)
{
    ct_choices *mine;
    ct_status st;
    CT_TRY(ct_choices_new(&mine));
    CT_GOTO(st, ct_choices_set_made_for(mine, c->made_for));
    for (size_t i = 0; i < calls->n; i++) {
        const char *impl;
        CT_GOTO(st, ct_choices_find(c->known, &calls->use[i].call, &impl));
        if (impl) CT_GOTO(st, ct_choices_put(mine, calls->use[i].text, impl));
    }
    *out = mine;
    return CT_OK;
fail:
    ct_choices_free(mine);
    return st;
}

ct_status ct_tune_auto(const ct_backend *b, const ct_device_opts *opts, const ct_call_list *calls, ct_choices **out)
{
    cache c;
    ct_status st;
    size_t n = 0, done = 0;
    bool *open = ct_calloc(calls->n + 1, sizeof *open, "calls to be measured");
    *out = NULL;
    if (!open) return CT_ENOMEM;
    CT_GOTO(st, cache_open(b, opts, &c));
    for (size_t i = 0; i < calls->n; i++) {
        CT_GOTO(st, look_up(&c, &calls->use[i], &open[i]));
        n += open[i];
    }
    st = measure_open(&c, calls, open, n, &done);
    if (done > 0) keep(&c);
    if (st != CT_OK) goto fail;
    CT_GOTO(st, select_rows(&c, calls, out));
    ct_info("implementations: %zu measured choices, %zu of them now%s%s", ct_choices_count(*out), done,
            c.path ? "; the cache is " : "", c.path ? c.path : "");
fail:
    cache_close(&c);
    ct_free(open);
    return st;
}

ct_status ct_tune_cached(const ct_backend *b, const ct_device_opts *opts, ct_choices **out)
{
    cache c;
    ct_status st = cache_open(b, opts, &c);
    *out = NULL;
    if (st == CT_OK) {
        ct_info(
            "train.tune auto: %zu calls have been measured on this device; the others would be before the first step",
            ct_choices_count(c.known));
        *out = c.known;
        c.known = NULL;
    }
    cache_close(&c);
    return st;
}
